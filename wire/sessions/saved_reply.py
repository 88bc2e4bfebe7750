"""A reply as bytes, for programs that keep each reply and go on with it in another process."""

from __future__ import annotations

from typing import Any

import msgspec

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.core.decoders import convert
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.core.json_values import json_of_file
from wire.core.memory import PARTIAL, TIER, Note, WireStruct, encode
from wire.neutral.messages import LAST, Reply, Stop, with_answer, with_reasks, with_tier
from wire.sessions.session_file import read_message, violation, written

FORMAT = "wire-reply"
VERSION = 1


class _Strict(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An unknown key is an error, because its value would be lost."""


class _Answer(_Strict, frozen=True):
    """The response of the vendor."""

    wire: str
    kind: str
    """The name of its struct in the package of the wire."""
    raw: str = ""
    base64: bytes = b""
    """Replaces `raw` for bytes that are not UTF-8."""


class _Fields(_Strict, frozen=True, kw_only=True):
    """The fields of a reply besides its output, whose type is the program's."""

    message: Any
    stop: Stop
    usage: Usage | None = None
    notes: list[Note] = []
    id: str = ""
    model: str = ""
    tier: str = ""
    answer: _Answer | None = None
    reasks: list[_Fields] = []
    hops: list[_Fields] = []
    last: _Fields | None = None
    """The last reply of those that were asked for again, with its own usage and notes."""


class _File(_Strict, frozen=True, kw_only=True):
    format: str
    version: int
    reply: _Fields


@checked_arguments(ConfigurationError)
def dump_reply(reply: Reply) -> bytes:
    """Encode a reply as bytes; `load_reply` returns an equal reply for them.

    The bytes have all that the reply was received with: the response of the vendor, the bytes of
    its parts, their origins, counts, notes, and why the model stopped. So the loaded reply costs
    the same, and goes back to the model unchanged. They have neither the account of the call, nor
    the errors in `failures` and the tokens of `RunResult.cache_lost`, whose notes stay.

    >>> from wire.neutral.messages import Message
    >>> reply = Reply(Message.assistant("Hello."), Stop("end"))
    >>> load_reply(dump_reply(reply)) == reply
    True

    Raises `RuleError` with the JSON path of a value that JSON cannot express.
    """
    try:
        file = _File(format=FORMAT, version=VERSION, reply=_fields(reply, "reply"))
        return msgspec.json.encode(file)
    except (TypeError, UnicodeEncodeError, RecursionError) as cause:
        raise RuleError(violations=[Violation("reply", str(cause))]) from None


def _fields(reply: Reply, path: str) -> _Fields:
    last: Reply | None = vars(reply).get(LAST)
    return _Fields(
        message=msgspec.Raw(written(reply.message, f"{path}.message")),
        stop=reply.stop,
        usage=reply.usage,
        notes=list(reply.notes),
        id=reply.id,
        model=reply.model,
        tier=vars(reply).get(TIER, ""),
        answer=_answer(reply.answer),
        reasks=[_fields(each, f"{path}.reasks[{at}]") for at, each in enumerate(reply.reasks)],
        hops=[_fields(each, f"{path}.hops[{at}]") for at, each in enumerate(reply.hops)],
        last=None if last is None else _fields(last, f"{path}.last"),
    )


def _answer(answer: Any) -> _Answer | None:
    if not isinstance(answer, WireStruct):
        return None
    from wire.wires.contract import WIRES  # a reply that was not received needs no wire

    kind = type(answer).__name__
    wire = next((name for name in WIRES if _kind_of(name, kind) is type(answer)), None)
    if wire is None:
        return None
    raw = answer.raw
    source = encode(answer) if raw is None else raw
    try:
        return _Answer(wire, kind, source.decode())
    except UnicodeDecodeError:
        return _Answer(wire, kind, base64=source)


def _kind_of(wire: str, name: str) -> Any:
    from wire.wires.contract import WIRES

    return getattr(WIRES[wire], name, None) if wire in WIRES else None


@checked_arguments(ConfigurationError)
def load_reply(source: bytes | str, name: str = "reply", *, output: Any = None) -> Reply:
    """Load the bytes of `dump_reply`.

    `output` is the type that the reply was asked for with: `reply.output` is its value again.

    Raises `ConfigurationError` with `name` and the JSON path of a value that is not valid, and
    `OutputError` for an answer that does not match `output`.
    """
    document = json_of_file(source, name, ConfigurationError)
    head = document if isinstance(document, dict) else {}
    if (head.get("format"), head.get("version")) != (FORMAT, VERSION):
        expected = f"expected {FORMAT!r}, version {VERSION}, the bytes of dump_reply"
        raise ConfigurationError(f"{name}: format: {expected}")
    try:
        file: _File = convert(document, _File)
    except msgspec.ValidationError as cause:
        problem = str(violation(cause, "")).lstrip(".")
        raise ConfigurationError(f"{name}: {problem}") from None
    reply = _reply(file.reply, "reply", name)
    if output is None or PARTIAL in reply.notes:
        return reply
    from wire.neutral.output import OutputType  # few replies have an output
    from wire.neutral.output_calls import read_output

    return read_output(reply, OutputType(output))


def _reply(fields: _Fields, path: str, name: str) -> Reply:
    reply = Reply(
        read_message(fields.message, f"{path}.message", f"{name}: "),
        fields.stop,
        fields.usage,
        tuple(fields.notes),
        fields.id,
        fields.model,
        reasks=tuple(
            _reply(each, f"{path}.reasks[{at}]", name) for at, each in enumerate(fields.reasks)
        ),
        hops=tuple(_reply(each, f"{path}.hops[{at}]", name) for at, each in enumerate(fields.hops)),
    )
    if fields.tier:
        with_tier(reply, fields.tier)
    if fields.answer is not None:
        with_answer(reply, _received(fields.answer, f"{name}: {path}.answer"))
    if fields.last is None:
        return reply
    last = _reply(fields.last, f"{path}.last", name)
    return with_reasks(last, reply.reasks, reply.usage, reply.notes)


def _received(answer: _Answer, path: str) -> WireStruct:
    """Decode the response of the vendor."""
    from wire.core.lenient import Unreadable, decoded

    kind = _kind_of(answer.wire, answer.kind)
    if not (isinstance(kind, type) and issubclass(kind, WireStruct)):
        problem = f"this release has no {answer.kind!r} of the wire {answer.wire!r}"
        raise ConfigurationError(f"{path}: {problem}")
    try:
        struct: WireStruct = decoded(answer.base64 or answer.raw.encode(), kind)
    except (Unreadable, msgspec.DecodeError, RecursionError) as cause:
        raise ConfigurationError(f"{path}.raw: {cause}") from None
    return struct
