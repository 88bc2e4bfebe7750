"""A conversation as a file, and back: what is loaded equals what was saved, with every signature
and every byte that came from a wire.

A file of another version, or one that is no session, is refused in one sentence and left as it is.
Sessions from before there was a version are read too (`old_sessions`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from wire.core.decoders import convert, decoder
from wire.core.files import read_whole, write_whole
from wire.core.memory import Beside, Note, with_notes
from wire.errors import ConfigurationError, RuleError, Violation
from wire.neutral import messages as chat
from wire.neutral.messages import Message, Origin, with_origin
from wire.sessions import file_format as kept
from wire.sessions import old_formats as old_sessions

_KEYS = ("format", "version", "metadata", "messages")


class Session(Beside, frozen=True):
    """The messages of a conversation, and what its owner wants to know of it: any JSON object.

    >>> load_session(dump_session(Session((Message.user("Hi"),), {"title": "Greetings"}))).metadata
    {'title': 'Greetings'}
    """

    messages: tuple[Message, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "messages", tuple(self.messages))


# --- writing --------------------------------------------------------------------------------------


def serialize_message(message: Message) -> dict[str, Any]:
    """A message as JSON, as it stands in a session file; `deserialize_message` gives the same
    message back.

    >>> serialize_message(Message.user("Hi"))
    {'role': 'user', 'parts': [{'type': 'text', 'text': 'Hi'}]}

    Raises `RuleError` that names the JSON path of what JSON cannot say.
    """
    made: dict[str, Any] = msgspec.json.decode(_written(message, "message"))
    return made


def dump_session(session: Session | Iterable[Message]) -> bytes:
    """The bytes of a session file, a line for each message.

    Raises `RuleError` that names the JSON path of what JSON cannot say.
    """
    session = session if isinstance(session, Session) else Session(tuple(session))
    if not isinstance(session.metadata, dict):
        raise RuleError(
            violations=[
                Violation("metadata", f"an object is wanted, not {type(session.metadata).__name__}")
            ]
        )
    check_sayable(session.metadata, "metadata")
    lines = b",\n".join(
        _written(message, f"messages[{index}]") for index, message in enumerate(session.messages)
    )
    head = msgspec.json.encode(
        {"format": kept.FORMAT, "version": kept.VERSION, "metadata": session.metadata}
    )
    return head[:-1] + b',"messages":[\n' + lines + b"\n]}\n"


def save_session(path: str | os.PathLike[str], session: Session | Iterable[Message]) -> None:
    """Write a session file completely or not at all (`wire.core.files.write_whole`).

    Raises as `dump_session`, and `ConfigurationError` if the file cannot be written; the old file
    is then unchanged.
    """
    write_whole(path, dump_session(session), ConfigurationError)


def _written(message: Message, path: str) -> bytes:
    if not isinstance(message, Message):
        raise RuleError(
            violations=[Violation(path, f"a message is wanted, not {type(message).__name__}")]
        )
    for place, part in enumerate(message.parts):
        _check_part(part, f"{path}.parts[{place}]")
    parts = [_kept_part(part, message.origin) for part in message.parts]
    origin = UNSET if message.origin is None else _kept_origin(message.origin)
    try:
        written = msgspec.json.encode(kept.Message(message.role, parts, origin))
        decoder(kept.Message).decode(written)  # what could not be read again is not to be written
    except (msgspec.ValidationError, TypeError, UnicodeEncodeError, RecursionError) as cause:
        raise RuleError(violations=[_violation(cause, path)]) from None
    return written


def _check_part(part: chat.Part, path: str) -> None:
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if isinstance(part, chat.ToolResult) and name == "media":
            for place, each in enumerate(value):
                _check_part(each, f"{path}.media[{place}]")
        elif not isinstance(part, chat.Media) or name != "data":
            check_sayable(value, f"{path}.{name}")
        elif isinstance(value, str):  # it would come back as the bytes that it is base64 of
            raise RuleError(violations=[Violation(f"{path}.data", "bytes are wanted, not str")])


def _kept_part(part: chat.Part, whole: Origin | None) -> kept.Part:
    fields: dict[str, Any] = {name: getattr(part, name) for name in part.__struct_fields__}
    if isinstance(part, chat.ToolResult):
        fields["media"] = [_kept_part(each, whole) for each in part.media]
    elif isinstance(part, chat.Thought):
        fields["details"] = list(part.details)
    origin = part.origin
    if origin is not None:
        at = _place(origin, whole)
        fields |= {"origin": _kept_origin(origin)} if at is None else {"at": at}
    return kept.KINDS[type(part).__name__](**fields)


def _place(origin: Origin, whole: Origin | None) -> list[int] | None:
    """Where the bytes of a part stand in those of its message, so that they are not stored
    twice.
    """
    if whole is None or (origin.provider, origin.model, origin.wire) != (
        whole.provider,
        whole.model,
        whole.wire,
    ):
        return None
    start = whole.raw.find(origin.raw)
    return None if start < 0 else [start, start + len(origin.raw)]


def _kept_origin(origin: Origin) -> kept.Origin:
    try:
        return kept.Origin(origin.provider, origin.model, origin.wire, raw=origin.raw.decode())
    except UnicodeDecodeError:
        return kept.Origin(origin.provider, origin.model, origin.wire, base64=origin.raw)


# --- reading --------------------------------------------------------------------------------------


def deserialize_message(data: Mapping[str, Any]) -> Message:
    """The message that `serialize_message` made this of; one in older words is read too, and
    `wire.notes` of it tells what was changed.

    >>> deserialize_message({"role": "model", "parts": [{"text": "Hi", "thought_signature": "c2ln"}]})
    Message(role='assistant', parts=(Text(text='Hi', signature='c2ln'),))

    Raises `ConfigurationError` that names the JSON path of what is wrong.
    """
    data = dict(data) if isinstance(data, Mapping) else data
    _refuse_unsayable(data, "message", "")
    notes: list[Note] = []
    return with_notes(_message(old_sessions.today(data, "message", notes), "message", ""), notes)


def load_session(
    source: bytes | str | Mapping[str, Any] | list[Any], name: str = "session"
) -> Session:
    """The session that the bytes or text of a file are, or the value that its JSON is; `wire.notes`
    of it tells what was changed.

    >>> load_session('{"format": "wire-session", "version": 2, "messages": []}', "talk.json")
    Traceback (most recent call last):
    wire.errors.ConfigurationError: talk.json: version 2 of a session file is not known here; this release reads version 1

    Raises `ConfigurationError` with `name` and the JSON path of what is wrong.
    """
    document = _document(source, name)
    _refuse_unsayable(document, "", f"{name}: ")
    notes: list[Note] = []
    if isinstance(document, dict) and ("format" in document or "version" in document):
        _check_head(document, name)
        messages = [
            old_sessions.today(each, f"messages[{index}]", notes)
            for index, each in enumerate(document["messages"])
        ]
        metadata = document.get("metadata", {})
    else:
        refusal = old_sessions.refusal(document)
        if refusal:
            raise ConfigurationError(f"{name}: {refusal}")
        messages, metadata = old_sessions.history(document, notes)
    read = tuple(
        _message(each, f"messages[{index}]", f"{name}: ") for index, each in enumerate(messages)
    )
    return with_notes(Session(read, metadata), notes)


def read_session(path: str | os.PathLike[str]) -> Session:
    """The session that a file holds; nothing is written.

    Raises `ConfigurationError` with the file's name.
    """
    data = read_whole(path, ConfigurationError)
    return load_session(data, os.fspath(path))


def _document(source: Any, name: str) -> Any:
    if not isinstance(source, bytes | str):
        return dict(source) if isinstance(source, Mapping) else source
    try:
        text = source.decode("utf-8-sig") if isinstance(source, bytes) else source
        return msgspec.json.decode(text)
    except UnicodeDecodeError as cause:
        problem = f"byte {cause.start} is not UTF-8"
    except (msgspec.DecodeError, UnicodeEncodeError) as cause:
        problem = f"no JSON: {cause}"
    except RecursionError:
        problem = "nested too deeply"
    raise ConfigurationError(f"{name}: {problem}")


def _check_head(document: dict[str, Any], name: str) -> None:
    found = document.get("version")
    problem = ""
    if document.get("format") != kept.FORMAT:
        problem = (
            f"format {document.get('format')!r} is that of no session file; {kept.FORMAT!r} "
            "is wanted"
        )
    elif type(found) is not int or found != kept.VERSION:
        problem = (
            f"version {found!r} of a session file is not known here; this release reads "
            f"version {kept.VERSION}"
        )
    elif unknown := [key for key in document if key not in _KEYS]:
        problem = f"{unknown[0]}: no such key; there are {', '.join(_KEYS)}"
    elif not isinstance(document.get("messages"), list):
        problem = "messages: a list is wanted"
    elif not isinstance(document.get("metadata", {}), dict):
        problem = "metadata: an object is wanted"
    if problem:
        raise ConfigurationError(f"{name}: {problem}")


def _message(data: Any, path: str, head: str) -> Message:
    """`head` comes before the path in an error."""
    try:
        found: kept.Message = convert(data, kept.Message)
    except msgspec.ValidationError as cause:
        raise ConfigurationError(f"{head}{_violation(cause, path)}") from None
    origin = (
        None
        if found.origin is UNSET
        else Origin(
            found.origin.provider, found.origin.model, found.origin.wire, found.origin.source
        )
    )
    parts = tuple(
        _part(part, origin, f"{head}{path}.parts[{place}]")
        for place, part in enumerate(found.parts)
    )
    return with_origin(Message(found.role, parts), origin)


def _part(part: kept.Part, whole: Origin | None, path: str) -> chat.Part:
    fields: dict[str, Any] = {
        name: getattr(part, name) for name in part.__struct_fields__ if name not in ("origin", "at")
    }
    if isinstance(part, kept.ToolResult):
        fields["media"] = tuple(
            _part(each, whole, f"{path}.media[{place}]") for place, each in enumerate(part.media)
        )
    elif isinstance(part, kept.Thought):
        fields["details"] = tuple(part.details)
    try:
        made: chat.Part = getattr(chat, type(part).__name__)(**fields)
    except RuleError as cause:
        raise ConfigurationError(f"{path}: {cause.message}") from None
    if part.origin is not UNSET:
        return with_origin(
            made,
            Origin(part.origin.provider, part.origin.model, part.origin.wire, part.origin.source),
        )
    if part.at is UNSET:
        return made
    start, end = part.at
    if whole is None or not start <= end <= len(whole.raw):
        raise ConfigurationError(f"{path}.at: the message has no bytes from {start} to {end}")
    return with_origin(made, Origin(whole.provider, whole.model, whole.wire, whole.raw[start:end]))


# --- what JSON can say ----------------------------------------------------------------------------


def _unsayable(value: Any, path: str) -> Iterator[Violation]:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            yield Violation(
                path, "half of a surrogate pair stands in this text, which UTF-8 cannot say"
            )
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                yield Violation(path, f"a key is a text in JSON, not {key!r}")
            else:
                yield from _unsayable(key, path)
                yield from _unsayable(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _unsayable(item, f"{path}[{index}]")
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield Violation(path, f"{value} is no number of JSON")
    elif value is not None and not isinstance(value, int):
        yield Violation(path, f"a JSON value is wanted, not {type(value).__name__}")


def check_sayable(value: Any, path: str) -> None:
    """Raise `RuleError` with the JSON paths of what JSON in UTF-8 cannot say, or would say as
    something else.
    """
    try:
        problems = list(_unsayable(value, path))
    except RecursionError:
        problems = [Violation(path, "nested too deeply")]
    if problems:
        raise RuleError(violations=problems)


def _refuse_unsayable(value: Any, path: str, head: str) -> None:
    try:
        check_sayable(value, path)
    except RuleError as cause:
        raise ConfigurationError(f"{head}{cause.message}") from None


def _violation(cause: Exception, path: str) -> Violation:
    """What the decoder says, with its path below ours."""
    problem, _, where = str(cause).partition(" - at `$")
    return Violation(path + where.rstrip("`"), problem[:1].lower() + problem[1:])
