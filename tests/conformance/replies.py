"""The replies of the corpus, as a client reads them: for tests that write them again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tests.conformance import anthropic, gemini, openai, responses
from tests.conformance.records import Record, body_of, lines, path_of, row_of
from tests.property import ALL
from wire.core.limits import Limits
from wire.core.memory import with_notes
from wire.core.provider import Provider
from wire.errors import WireError
from wire.neutral.messages import Event, Message, Reply
from wire.neutral.request import Request
from wire.providers import PROVIDERS
from wire.wires.contract import WIRES

SHARED = Path(__file__).parents[3] / "shared" / "corpus"
SAMPLES = Path(__file__).parents[1] / "fixtures" / "corpus"
FILES = {
    "gemini": ("gemini",),
    "openai": ("openai-chat", "openai-chat-compatible", "openai-other"),
    "openai.responses": ("openai-responses", "openai-responses-compatible"),
    "anthropic": ("anthropic", "anthropic-compatible"),
    "converse": ("bedrock",),
    "ollama": ("ollama",),
    "gemini.interactions": ("gemini-interactions",),
}
"""Wire -> the files of recorded traffic that have exchanges of it."""
_OWN = {
    "openai.responses": "openai@responses",
    "converse": "bedrock",
    "gemini.interactions": "gemini@interactions",
}
_ASKED = Request(messages=(Message.user("Hi"),))


class RecordedReply(NamedTuple):
    """One recorded answer with output of a model, read as a client of its host does."""

    id: str
    """Of the record."""
    wire: str
    """Its name in `WIRES`."""
    provider: Provider
    """The row of the host, or of the wire's own vendor for a host without one."""
    model: str
    """The model that was asked."""
    body: Any
    """The JSON of a whole answer; `None` for a stream."""
    events: list[Any]
    """The JSON of each event of a stream; empty for a whole answer."""
    reply: Reply
    told: list[Event]
    """The neutral events of a stream, the last one is `Done`; empty for a whole answer."""
    record: Record
    """Its line in the file."""


def files(wire: str) -> list[Path]:
    """Files with exchanges of a wire: the corpus in `make test-slow`, if it lies beside the
    checkout; else the sample in this project.
    """
    paths = [SHARED / f"{file}.jsonl.gz" for file in FILES[wire]]
    return paths if ALL and paths[0].exists() else sorted(SAMPLES.glob("*.jsonl"))


def recorded_replies(wire: str = "") -> Iterator[RecordedReply]:
    """Yield each recorded reply that is whole, of one wire or of all, in `files`.

    Not among them are errors, streams that were cut, and answers that the library takes for none.
    """
    for name in (wire,) if wire else FILES:
        for path in files(name):
            for record in lines(path, ("id", "status", "response_body")):
                found = reply_of(name, record)
                if found is not None:
                    yield found


def generating(record: Record) -> str:
    """The wire whose endpoint for output of a model was asked; "" if it was another endpoint."""
    vendor = str(record.get("vendor"))
    if vendor == "gemini":
        asked = gemini._endpoint(record) in ("generateContent", "streamGenerateContent")
        return "gemini" if asked else ""
    if vendor.startswith("anthropic"):
        return "anthropic" if anthropic._endpoint(record) == "messages" else ""
    if vendor == "bedrock":
        return "converse" if re.search(r"/converse(-stream)?$", path_of(record)) else ""
    if vendor == "ollama":
        return "ollama" if path_of(record).endswith("/api/chat") else ""
    if vendor == "gemini-interactions":
        asked = record.get("method") == "POST" and path_of(record).endswith("/interactions")
        return "gemini.interactions" if asked else ""
    if not vendor.startswith("openai-"):
        return ""
    if responses._endpoint(record) == "create":
        return "openai.responses"
    return "openai" if openai._endpoint(record) == "chat.completions" else ""


def host_of(record: Record, wire: str) -> tuple[Provider, str]:
    """The row of the host, or of the wire's own vendor, and the model that was asked."""
    row = row_of(record, wire)
    body = record.get("request_body")
    asked = body.get("model") if isinstance(body, dict) else None
    model = str(asked or record.get("model") or "m").removeprefix("models/")
    return row if isinstance(row, Provider) else PROVIDERS[_OWN.get(wire, wire)], model


def reply_of(wire: str, record: Record) -> RecordedReply | None:
    """The reply of a record; `None` if it has no whole reply of the wire."""
    if record["status"] != 200 or generating(record) != wire or not str(record["response_body"]):
        return None
    row, model = host_of(record, wire)
    body = body_of(record)
    try:
        of_lines = wire == "ollama" and len(body.splitlines()) > 1
        if body.lstrip()[:1] == b"{" and not of_lines:
            reply = WIRES[wire].call(_ASKED, model, row).parse(body)
            plain = json.loads(body)
            return RecordedReply(record["id"], wire, row, model, plain, [], reply, [], record)
        return _streamed(wire, record, row, model, body)
    except WireError:
        return None


def _streamed(
    wire: str, record: Record, row: Provider, model: str, body: bytes
) -> RecordedReply | None:
    call = WIRES[wire].stream_call(_ASKED, model, row)
    reader = call.reader(Limits())
    chunks = [*reader.feed(body), *reader.close()]
    if reader.error is not None or not chunks:
        return None
    assert call.convert is not None
    assert call.events is not None
    raws = [msgspec.Raw(chunk.raw) for chunk in chunks]
    reply = call.convert(with_notes(call.fold(raws), reader.notes), None)
    source = call.events()
    told = [event for chunk in chunks for event in source.feed(chunk)]
    told += source.close(reply)
    events = [json.loads(raw) for raw in map(bytes, raws)]
    return RecordedReply(record["id"], wire, row, model, None, events, reply, told, record)
