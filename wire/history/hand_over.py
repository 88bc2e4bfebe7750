"""Prepares a conversation for another model.

Signatures and encrypted thoughts are readable only by the model that wrote them. They are removed,
and each removal is reported as a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError, HistoryError, Violation, refuse
from wire.core.memory import Note, Noted
from wire.core.provider import Provider
from wire.core.secret import quoted
from wire.history.order import listed, violations
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
    origin_of,
    own_texts,
    with_origin,
)
from wire.neutral.pairing import Answers, Turn, turns
from wire.neutral.pairing import answers as answers_of
from wire.neutral.request import Request, texts_of

Thoughts: TypeAlias = Literal["withhold", "as_text"]


@checked_arguments()
def hand_over(
    messages: Iterable[Message], provider: str, model: str, *, thoughts: Thoughts = "withhold"
) -> Noted[Message]:
    """Return the messages without the parts that only another model can read.

    >>> from wire.neutral.messages import Origin
    >>> thought = with_origin(Thought("hm"), Origin("deepseek", "deepseek-chat", "openai"))
    >>> messages = [Message.user("Hi"), Message.assistant(thought, "Hello.")]
    >>> result = hand_over(messages, "gemini", "gemini-3.8-flash")
    >>> result[1].text, [str(note) for note in result.notes]
    ('Hello.', ['messages[1].parts[0]: withheld: a thought of another model'])

    Messages of this model of this provider stay the same objects, so that their received bytes
    are sent again. Messages of other models lose signatures, thoughts and vendor-specific parts.
    `thoughts="as_text"` turns their thoughts into text between `<thinking>` tags. Call ids stay:
    each wire maps them to ids that its host accepts. Parts that did not come from a model stay. A
    message without remaining parts is dropped. `wire.notes(result)` lists everything withheld.

    Raises `RuleError` for an item that is not a `Message`, `ConfigurationError` for an unknown
    value of `thoughts`.
    """
    remaining, notes = handed(messages, provider, model, thoughts=thoughts)
    return Noted(remaining.values(), notes)


@checked_arguments()
def handed(
    messages: Iterable[Message], provider: str, model: str, *, thoughts: Thoughts = "withhold"
) -> tuple[dict[int, Message], list[Note]]:
    """Hand over as `hand_over`; return the messages by input index, and the notes."""
    if thoughts not in get_args(Thoughts):
        raise ConfigurationError(f"thoughts: expected withhold or as_text, not {quoted(thoughts)}")
    as_text = thoughts == "as_text"
    notes: list[Note] = []
    return _handed(enumerate(listed(messages)), provider, model, notes, as_text=as_text), notes


def _handed(
    messages: Iterable[tuple[int, Message]],
    provider: str,
    model: str,
    notes: list[Note],
    *,
    as_text: bool = False,
) -> dict[int, Message]:
    result: dict[int, Message] = {}
    for index, message in messages:
        if message.role != "assistant" or _is_unread(message) or _is_own(message, provider, model):
            result[index] = message
            continue
        path = f"messages[{index}]"
        parts = tuple(
            kept
            for position, part in enumerate(message.parts)
            for kept in _kept(part, provider, model, f"{path}.parts[{position}]", notes, as_text)
        )
        same = (
            message.origin is None
            and len(parts) == len(message.parts)
            and all(a is b for a, b in zip(parts, message.parts, strict=True))
        )
        if message.citations:
            notes.append(Note(f"{path}.citations", "withheld: no other model takes them"))
        if parts or same:
            result[index] = message if same else msgspec.structs.replace(message, parts=parts)
        else:
            notes.append(Note(path, "dropped: no part of the message remains"))
    return result


def _grouped(
    history: Sequence[Message], turns: Iterable[Turn], notes: list[Note]
) -> dict[int, Message]:
    """Move all calls of one response to the first of its messages; return messages by index."""
    result = dict(enumerate(history))
    for turn in turns:
        if not turn.joined:
            continue
        parts, cache = [*result[turn.index].parts], result[turn.index].cache
        for index in turn.joined:
            joined = result.pop(index)
            parts += joined.parts
            cache = cache or joined.cache
            notes.append(
                Note(
                    f"messages[{index}]", f"joined to messages[{turn.index}]: calls of one response"
                )
            )
        result[turn.index] = Message("assistant", tuple(parts), cache=cache)
    return result


class Sendable(NamedTuple):
    """Messages that are about to be sent to one model."""

    messages: dict[int, Message]
    """The remaining messages by their input index."""
    notes: list[Note]
    """Reports of withheld parts."""
    answers: dict[str, Answers]
    """Path of a message with calls to their results, in the order of the calls."""


@checked_arguments()
def sendable(messages: Iterable[Message], provider: str, model: str) -> Sendable:
    """Check the turns, group calls by their response, apply `handed`, and pair calls with results.

    Raises `HistoryError` if `check` reports a violation.
    """
    history = listed(messages)
    return _sendable(history, own_texts(history).others, provider, model)


def sendable_request(
    request: Request,
    row: Provider,
    model: str,
    render: Callable[[Request, str, Provider], Any],
    check: Callable[[Any, str, Provider], list[Violation]],
) -> Sendable:
    """Prepare the messages of a request as `sendable`.

    Results of tools come without the media that the model does not read, by what `check` says of
    them in a request that `render` makes.
    """
    found = _sendable(request.messages, texts_of(request).others, row.name, model)
    for answers in found.answers.values():
        for each in answers.results:
            if each.result.media:
                from wire.history.lowered import lowered, refusal  # few tools bring media

                read = refusal(render, check, model, row)
                return found._replace(answers=lowered(found.answers, read, found.notes))
    return found


def _sendable(
    history: Sequence[Message], others: Sequence[int], provider: str, model: str
) -> Sendable:
    """Prepare messages as `sendable`.

    `others` is the list `others` of their `own_texts`. The texts are sent as they are.
    """
    paired = turns(history, others)
    refuse(violations(history, paired, others), HistoryError)
    notes: list[Note] = []
    remaining = _grouped(history, paired, notes)
    rest = [(index, remaining[index]) for index in others if index in remaining]
    handed = _handed(rest, provider, model, notes)
    for index, _ in rest:
        if index in handed:
            remaining[index] = handed[index]
        else:
            del remaining[index]
    if rest:
        candidates = [index for index, _ in rest if index in remaining]
        if has_compaction([remaining[index] for index in candidates]):
            _drop_compacted(remaining, candidates, notes)
    return Sendable(remaining, notes, answers_of(paired))


def _is_unread(message: Message) -> bool:
    """Return whether no model wrote the message or one of its parts."""
    return origin_of(message) is None and not any(map(origin_of, message.parts))


def _is_own(message: Message, provider: str, model: str) -> bool:
    return message.origin is not None and message.origin.is_of(provider, model)


def _kept(
    part: Part, provider: str, model: str, path: str, notes: list[Note], as_text: bool
) -> Iterator[Part]:
    origin = part.origin
    if origin is None or origin.is_of(provider, model):
        yield part
    elif isinstance(part, Thought):
        if as_text and part.text:
            notes.append(Note(path, "converted to text: a thought of another model"))
            yield Text(f"<thinking>\n{part.text}\n</thinking>\n")
        else:
            notes.append(Note(path, "withheld: a thought of another model"))
    elif isinstance(part, Other):
        notes.append(Note(path, f"withheld: {part.kind} is understood by its own vendor only"))
    elif isinstance(part, ServerToolCall | ServerToolResult):
        kind = "call" if isinstance(part, ServerToolCall) else "result"
        words = f"withheld: a {kind} of {part.name}, which the server of {origin.provider} ran"
        notes.append(Note(path, words))
    elif isinstance(part, ToolCall):
        if part.signature or part.extra:
            notes.append(
                Note(path, f"withheld: metadata of {origin.provider} in the call of {part.name}")
            )
        yield msgspec.structs.replace(part, signature="", extra=None)
    elif isinstance(part, Text):
        if part.signature:
            notes.append(Note(path, "withheld: the signature of another model"))
        if part.extra:
            names = ", ".join(part.extra)
            notes.append(Note(path, f"withheld: {names} of {origin.provider} in a text"))
        if part.text:
            yield msgspec.structs.replace(part, signature="", extra=None)
    elif isinstance(part, Media):
        yield from _kept_media(part, path, notes)
    else:
        yield with_origin(part, None)


def _kept_media(media: Media, path: str, notes: list[Note]) -> Iterator[Part]:
    if media.transcript:
        notes.append(Note(path, "sent as its transcript: a sound of another model"))
        yield Text(media.transcript)
    elif media.extra and media.url == media.extra.get("id"):
        notes.append(Note(path, "withheld: only its own vendor knows the id"))
    else:
        yield msgspec.structs.replace(media, extra=None)


# --- what a compaction of the server stands for --------------------------------------------------

_COMPACTION = "compaction"
"""The kind of the `Other` part in which a server hands out its summary."""


def is_compaction(message: Message) -> bool:
    """Return whether a message that came from a model has a compaction of its server."""
    if message.role != "assistant":
        return False
    return any(
        type(part) is Other
        and part.kind == _COMPACTION
        and (origin_of(message) or origin_of(part)) is not None
        for part in message.parts
    )


def has_compaction(messages: Iterable[Message]) -> bool:
    """Return whether one of the messages has a compaction; few conversations have."""
    for message in messages:
        for part in message.parts:
            if type(part) is Other and part.kind == _COMPACTION and is_compaction(message):
                return True
    return False


def _drop_compacted(
    messages: dict[int, Message], candidates: Iterable[int], notes: list[Note]
) -> None:
    """Remove the messages before the newest compaction, in place; a note tells their number.

    Its server ignores them. `candidates` are the indexes of messages that may have one, in order.
    System messages stay.
    """
    newest = max((each for each in candidates if is_compaction(messages[each])), default=None)
    if newest is None:
        return
    left = [index for index in messages if index < newest and not messages[index].instructs]
    if left:
        counted = "1 message" if len(left) == 1 else f"{len(left)} messages"
        words = f"not sent: {counted} before the compaction, which stands for them"
        notes.append(Note(f"messages[{left[0]}]", words))
    for index in left:
        del messages[index]
