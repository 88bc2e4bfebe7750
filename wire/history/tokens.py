"""How many tokens a message may be, counted without its model's tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from wire.neutral.messages import Media, Message, Other, Part, Text, Thought, ToolCall

Estimate: TypeAlias = Callable[[Message], int]
"""What counts the tokens of a message: `estimate_tokens`, or a tokenizer of your own."""

MEDIA_TOKENS = 258
"""What one image, sound or document counts: Gemini's number for a small image.

Count films and long documents yourself.
"""


def estimate_tokens(message: Message) -> int:
    """About how many tokens a message is: one for four ASCII characters, two for three others, such
    as those of Chinese.

    >>> (
    ...     estimate_tokens(Message.user("How high is the tide?")),
    ...     estimate_tokens(Message.user("東京の天気を教えてください。")),
    ... )
    (5, 10)

    Every part counts: texts and thoughts by their length, a call by twice its name and its printed
    arguments, a result by twice its name and its printed answer, media `MEDIA_TOKENS` each.
    Signatures and encrypted thoughts do not.
    """
    plain = other = media = 0
    for part in message.parts:
        for text in _printed(part):
            ascii_only = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
            plain += ascii_only
            other += len(text) - ascii_only
        media += isinstance(part, Media) + len(getattr(part, "media", ()))
    # Rounded up, since one character is never less than its share of a token.
    return plain // 4 - (-2 * other // 3) + media * MEDIA_TOKENS


def _printed(part: Part) -> Iterator[str]:
    """What of a part is counted by its characters."""
    if isinstance(part, (Text, Thought)):
        yield part.text
    elif isinstance(part, ToolCall):
        yield part.name * 2
        yield part.text if part.arguments is None else str(part.arguments)
    elif isinstance(part, Other):
        yield "" if part.data is None else str(part.data)
    elif not isinstance(part, Media):
        yield part.name * 2
        yield str(part.answer)
