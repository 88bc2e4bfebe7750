"""Estimates the tokens of a message without the model's tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from wire.core.arguments import checked_arguments
from wire.neutral.messages import (
    Media,
    Message,
    Other,
    Part,
    ServerToolCall,
    ServerToolResult,
    Text,
    Thought,
    ToolCall,
    ToolResult,
)
from wire.neutral.request import Request, Tool

Estimate: TypeAlias = Callable[[Message], int]
"""A function that counts the tokens of a message: `estimate_tokens`, or your own tokenizer."""

MEDIA_TOKENS = 258
"""Tokens of one image, sound or document: Gemini's number for a small image.

Videos and long documents cost more; pass your own `estimate` for them.
"""


@checked_arguments()
def estimate_tokens(message: Message) -> int:
    """Estimate tokens: one per four ASCII characters, two per three other characters.

    >>> estimate_tokens(Message.user("How high is the tide?"))
    5
    >>> estimate_tokens(Message.user("東京の天気を教えてください。"))
    10

    Texts and thoughts count by their length. A call counts its name twice plus its printed
    arguments. A result counts its name twice plus its printed value. Each media part counts
    `MEDIA_TOKENS`. Signatures and encrypted thoughts count nothing.
    """
    plain = other = media = 0
    for part in message.parts:
        # Most parts are texts; a generator for each would cost more than the count.
        for text in (part.text,) if type(part) is Text else _printed(part):
            ascii_only = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
            plain += ascii_only
            other += len(text) - ascii_only
        media += len(part.media) if isinstance(part, ToolResult) else isinstance(part, Media)
    # Non-ASCII is rounded up: a single such character costs at least one token.
    return plain // 4 - (-2 * other // 3) + media * MEDIA_TOKENS


def estimate_request(request: Request) -> int:
    """Estimate the tokens of a request.

    They are those of its messages, of its system prompt, and of the JSON of its tools and of the
    schema of its output. A deferred tool counts once it was found or called, or if the request has
    no `find_tools`: then a host without a search gets it in full.

    >>> estimate_request(Request(messages=(Message.user("How high is the tide?"),)))
    5
    """
    further = [request.system]
    # The vendor's description of its own tools is unknown.
    functions = [("", tool) for tool in request.tools if isinstance(tool, Tool)]
    if any(tool.deferred for _, tool in functions):
        from wire.neutral.deferred import searched  # few requests have deferred tools

        functions, _ = searched(request, functions, [], None)
    for _, tool in functions:
        further += tool.name, tool.description, _json(tool.parameters)
    if request.output is not None:
        further.append(_json(request.output.schema))
    added = Message.user([Text(each) for each in further if each])
    return sum(map(estimate_tokens, (*request.messages, added)))


def _json(schema: object) -> str:
    return msgspec.json.encode(schema).decode()


def _printed(part: Part) -> Iterator[str]:
    """Yield the texts of a part that are counted by their characters."""
    if isinstance(part, (Text, Thought)):
        yield part.text
    elif isinstance(part, ToolCall):
        yield part.name * 2
        yield part.text if part.arguments is None else str(part.arguments)
    elif isinstance(part, Other):
        yield "" if part.data is None else str(part.data)
    elif isinstance(part, ServerToolCall):
        yield part.name * 2
        yield "" if part.arguments is None else str(part.arguments)
    elif isinstance(part, ServerToolResult):
        yield part.name * 2
        yield "" if part.content is None else str(part.content)
    elif isinstance(part, Media):
        yield part.transcript
    else:
        yield part.name * 2
        yield str(part.answer)
