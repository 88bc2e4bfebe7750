"""Session files: conversations that are saved and loaded without loss.

A loaded message equals the saved one, with its signatures and its received bytes. A file that is
not a session, or has another version, is refused and stays unchanged. Sessions from before the
format had a version are converted (`old_formats`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from wire.core.arguments import checked_arguments, items_of
from wire.core.decoders import convert, decoder
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.core.files import read_whole, write_whole
from wire.core.json_values import MAX_FILE_DEPTH, checked, json_of_file
from wire.core.memory import MetadataStruct, Note, Noted, with_notes
from wire.neutral import messages as chat
from wire.neutral.messages import Message, Origin, check_values, with_origin
from wire.sessions import file_format, old_formats

_KEYS = ("format", "version", "metadata", "notes", "messages")


class Session(MetadataStruct, frozen=True):
    """The messages of a conversation, with metadata of the application: any JSON object.

    >>> load_session(dump_session(Session((Message.user("Hi"),), {"title": "Greetings"}))).metadata
    {'title': 'Greetings'}
    """

    messages: tuple[Message, ...] = ()
    """The conversation, oldest message first."""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    """A JSON object of the application."""
    notes: tuple[Note, ...] = ()
    """Notes on what was dropped or changed; a `HistoryManager` adds its own through `messages`."""

    def __post_init__(self) -> None:
        if isinstance(self.messages, Noted):
            with_notes(self, self.messages.notes)
        msgspec.structs.force_setattr(self, "messages", items_of("messages", self.messages))


# --- writing --------------------------------------------------------------------------------------


@checked_arguments(ConfigurationError)
def serialize_message(message: Message) -> dict[str, Any]:
    """Convert a message to JSON, as in a session file; `deserialize_message` is the inverse.

    >>> serialize_message(Message.user("Hi"))
    {'role': 'user', 'parts': [{'type': 'text', 'text': 'Hi'}]}

    Raises `RuleError` with the JSON path of a value that JSON cannot express.
    """
    made: dict[str, Any] = msgspec.json.decode(written(message, "message"))
    return made


@checked_arguments(ConfigurationError)
def dump_session(session: Session | Iterable[Message]) -> bytes:
    """Encode a session file, with one line for each message.

    The notes of the session, or of the list in its place, are part of the file, so that after
    loading they show what a `HistoryManager` has dropped.

    >>> from wire.history import HistoryManager
    >>> turns = [Message.user("Hi"), Message.assistant("Hello."), Message.user("And now?")]
    >>> history = HistoryManager(turns, max_messages=2)
    >>> load_session(dump_session(history.messages)).notes
    (Note(path='messages[0]', message='dropped: 1 turn, 2 messages, for the limit of 2 messages'),)

    Raises `RuleError` with the JSON path of a value that JSON cannot express.
    """
    if not isinstance(session, Session):
        session = Session(session)  # type: ignore[arg-type]
    if not isinstance(session.metadata, dict):
        raise RuleError(
            violations=[
                Violation("metadata", f"expected an object, not {type(session.metadata).__name__}")
            ]
        )
    checked(session.metadata, "metadata", plain=True)
    lines = b",\n".join(
        written(message, f"messages[{index}]") for index, message in enumerate(session.messages)
    )
    fields: dict[str, Any] = {"format": file_format.FORMAT, "version": file_format.VERSION}
    fields["metadata"] = session.metadata
    if session.notes:
        fields["notes"] = session.notes
    head = msgspec.json.encode(fields)
    return head[:-1] + b',"messages":[\n' + lines + b"\n]}\n"


@checked_arguments(ConfigurationError)
def save_session(
    path: str | os.PathLike[str], session: Session | Iterable[Message]
) -> tuple[Note, ...]:
    """Write a session file completely or not at all (`wire.core.files.write_whole`).

    Returns the notes that are saved with the messages: what the limits of the history have dropped
    is not in the file. Raises as `dump_session`, and `ConfigurationError` if the file cannot be
    written; the old file is then unchanged.
    """
    if not isinstance(session, Session):
        session = Session(session)  # type: ignore[arg-type]
    write_whole(path, dump_session(session), ConfigurationError)
    return session.notes


def written(message: Message, path: str) -> bytes:
    """Encode a message as in a session file. Raises `RuleError` with `path`."""
    if not isinstance(message, Message):
        raise RuleError(
            violations=[Violation(path, f"expected a message, not {type(message).__name__}")]
        )
    check_values(message, path, plain=True)
    parts = [_stored_part(part, message.origin) for part in message.parts]
    origin = UNSET if message.origin is None else _stored_origin(message.origin)
    try:
        citations = [
            file_format.Citation(*msgspec.structs.astuple(each)) for each in message.citations
        ]
        line = msgspec.json.encode(
            file_format.Message(message.role, parts, origin, message.name, message.cache, citations)
        )
        decoder(file_format.Message).decode(line)  # refuses what `load_session` would refuse
    except (msgspec.ValidationError, TypeError, UnicodeEncodeError, RecursionError) as cause:
        raise RuleError(violations=[violation(cause, path)]) from None
    return line


def _stored_part(part: chat.Part, message: Origin | None) -> file_format.Part:
    fields: dict[str, Any] = {name: getattr(part, name) for name in part.__struct_fields__}
    if isinstance(part, chat.ToolResult):
        fields["media"] = [_stored_part(each, message) for each in part.media]
    elif isinstance(part, chat.Thought):
        fields["details"] = list(part.details)
    origin = part.origin
    if origin is not None:
        at = _range(origin, message)
        fields |= {"origin": _stored_origin(origin)} if at is None else {"at": at}
    return file_format.KINDS[type(part).__name__](**fields)


def _range(origin: Origin, message: Origin | None) -> list[int] | None:
    """Return the range of a part's bytes in those of its message, which are then stored once."""
    if message is None or (origin.provider, origin.model, origin.wire) != (
        message.provider,
        message.model,
        message.wire,
    ):
        return None
    start = message.raw.find(origin.raw)
    return None if start < 0 else [start, start + len(origin.raw)]


def _stored_origin(origin: Origin) -> file_format.Origin:
    try:
        return file_format.Origin(
            origin.provider, origin.model, origin.wire, raw=origin.raw.decode()
        )
    except UnicodeDecodeError:
        return file_format.Origin(origin.provider, origin.model, origin.wire, base64=origin.raw)


# --- reading --------------------------------------------------------------------------------------


@checked_arguments(ConfigurationError)
def deserialize_message(data: Mapping[str, Any]) -> Message:
    """Convert the JSON of `serialize_message` back. `wire.notes` reports as for `load_session`.

    >>> deserialize_message({"role": "model", "parts": [{"text": "Hi"}]})
    Message('assistant', 'Hi')

    Raises `ConfigurationError` with the JSON path of the problem.
    """
    data = dict(data) if isinstance(data, Mapping) else data
    _check_json(data, "message", "")
    notes: list[Note] = []
    message = _message(old_formats.today(data, "message", notes), "message", "", notes)
    return with_notes(message, notes)


@checked_arguments(ConfigurationError)
def load_session(
    source: bytes | str | Mapping[str, Any] | list[Any], name: str = "session"
) -> Session:
    """Load a session from the bytes or text of a file, or from its decoded JSON.

    `wire.notes` of the session reports what was converted from old formats, and messages that
    differ from the bytes that they were received with: their parts count, the bytes are dropped.

    >>> load_session('[{"role": "user", "parts": [{"text": "Hi"}]}]').messages
    (Message('user', 'Hi'),)

    Raises `ConfigurationError` with `name` and the JSON path of the problem.
    """
    if isinstance(source, bytes | str):
        document = json_of_file(source, name, ConfigurationError)
    else:
        document = dict(source) if isinstance(source, Mapping) else source
        _check_json(document, "", f"{name}: ")
    notes: list[Note] = []
    if isinstance(document, dict) and ("format" in document or "version" in document):
        _check_head(document, name)
        messages = [
            old_formats.today(each, f"messages[{index}]", notes)
            for index, each in enumerate(document["messages"])
        ]
        metadata = document.get("metadata", {})
        notes += _saved_notes(document, name)
    else:
        refusal = old_formats.refusal(document)
        if refusal:
            raise ConfigurationError(f"{name}: {refusal}")
        messages, metadata = old_formats.history(document, notes)
    read = tuple(
        _message(each, f"messages[{index}]", f"{name}: ", notes)
        for index, each in enumerate(messages)
    )
    return with_notes(Session(read, metadata), notes)


def _saved_notes(document: dict[str, Any], name: str) -> list[Note]:
    try:
        saved = convert(document.get("notes", []), list[file_format.Note])
    except msgspec.ValidationError as cause:
        raise ConfigurationError(f"{name}: {violation(cause, 'notes')}") from None
    return [Note(note.path, note.message) for note in saved]


@checked_arguments(ConfigurationError)
def read_session(path: str | os.PathLike[str]) -> Session:
    """Read a session from a file.

    Raises `ConfigurationError` with the name of the file and the JSON path of the problem.
    """
    data = read_whole(path, ConfigurationError)
    return load_session(data, os.fsdecode(path))


def _check_head(document: dict[str, Any], name: str) -> None:
    version = document.get("version")
    problem = ""
    if document.get("format") != file_format.FORMAT:
        problem = f"format: expected {file_format.FORMAT!r}, not {document.get('format')!r}"
    elif type(version) is not int or version != file_format.VERSION:
        problem = (
            f"version: unknown version {version!r}; this release reads version "
            f"{file_format.VERSION}"
        )
    elif unknown := [key for key in document if key not in _KEYS]:
        problem = f"{unknown[0]}: no such key; there are {', '.join(_KEYS)}"
    elif not isinstance(document.get("messages"), list):
        problem = "messages: expected a list"
    elif not isinstance(document.get("metadata", {}), dict):
        problem = "metadata: expected an object"
    if problem:
        raise ConfigurationError(f"{name}: {problem}")


def _message(data: Any, path: str, head: str, notes: list[Note]) -> Message:
    """Convert a message, and compare it with its received bytes; notes are added."""
    message = read_message(data, path, head)
    if message.origin is None and all(part.origin is None for part in message.parts):
        return message
    # Imported here, because a conversation without received messages needs no wire.
    from wire.sessions.received import checked_origins

    return checked_origins(message, path, notes)


def read_message(data: Any, path: str, head: str) -> Message:
    """Convert a message as it was saved. Errors start with `head`, followed by the path."""
    try:
        stored: file_format.Message = convert(data, file_format.Message)
    except msgspec.ValidationError as cause:
        raise ConfigurationError(f"{head}{violation(cause, path)}") from None
    origin = (
        None
        if stored.origin is UNSET
        else Origin(
            stored.origin.provider, stored.origin.model, stored.origin.wire, stored.origin.source
        )
    )
    parts = tuple(
        _part(part, origin, f"{head}{path}.parts[{index}]")
        for index, part in enumerate(stored.parts)
    )
    citations = tuple(chat.Citation(**msgspec.structs.asdict(each)) for each in stored.citations)
    return with_origin(Message(stored.role, parts, stored.name, stored.cache, citations), origin)


def _part(part: file_format.Part, message: Origin | None, path: str) -> chat.Part:
    fields: dict[str, Any] = {
        name: getattr(part, name) for name in part.__struct_fields__ if name not in ("origin", "at")
    }
    if isinstance(part, file_format.ToolResult):
        fields["media"] = tuple(
            _part(each, message, f"{path}.media[{index}]") for index, each in enumerate(part.media)
        )
    elif isinstance(part, file_format.Thought):
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
    if message is None or not start <= end <= len(message.raw):
        raise ConfigurationError(f"{path}.at: the message has no bytes from {start} to {end}")
    return with_origin(
        made, Origin(message.provider, message.model, message.wire, message.raw[start:end])
    )


# --- checks ---------------------------------------------------------------------------------------


def _check_json(value: Any, path: str, head: str) -> None:
    try:
        checked(value, path, plain=True, max_depth=MAX_FILE_DEPTH)
    except RuleError as cause:
        raise ConfigurationError(f"{head}{cause.message}") from None


def violation(cause: Exception, path: str) -> Violation:
    """Convert the decoder's error to a violation; its path is appended to `path`."""
    problem, _, where = str(cause).partition(" - at `$")
    return Violation(path + where.rstrip("`"), problem[:1].lower() + problem[1:])
