"""Reads the interactions of a cassette as a conversation: turns, calls, results, replies.

The body of a request for a reply becomes turns. Its response is decoded by the parsers that a
client uses. Requests to other endpoints keep their JSON. Nothing here raises for a body that a
vendor did not send: what cannot be decoded is shown as it was recorded.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import msgspec
from msgspec import UNSET, UnsetType

from wire.core.close_codes import NO_CLOSE, NORMAL, closed_error
from wire.core.errors import WireError, one_line
from wire.core.lenient import Unreadable, fields_of, plain
from wire.testing.cassette.format.bodies import body_bytes, body_chunks
from wire.testing.cassette.format.kept_headers import kept_url
from wire.testing.cassette.format.structs import Close, End, Interaction, Message, Response
from wire.testing.cassette.views.parts import (
    Turn,
    part_of,
    tool_names,
)
from wire.testing.cassette.views.readable import Said, json_of, readable, said
from wire.testing.cassette.views.turns import WIRES, Wire, turns_of

_MODEL = re.compile(r"/model/([^/]+)|/(?:models|tunedModels|endpoints|deployments)/([^/:]+)")


class Stop(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Why the model stopped."""

    reason: str
    raw: str = ""
    """The vendor's word."""
    message: str = ""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The error that a client raises for a response."""

    type: str
    message: str


class Times(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """When the pieces of a response arrived, in milliseconds after the request."""

    started: int | UnsetType = UNSET
    """When the request was sent, in milliseconds after the first recorded one."""
    chunks: list[int]
    """One for each chunk of the body: the first is the time to the first byte."""
    events: list[int] = []
    """When each event was complete; empty if that is not known."""

    @property
    def first_byte(self) -> int:
        """When the body began; 0 if there is none."""
        return self.chunks[0] if self.chunks else 0

    @property
    def end(self) -> int:
        """When the last chunk arrived; 0 if there is none."""
        return self.chunks[-1] if self.chunks else 0

    @property
    def longest_gap(self) -> int:
        """The longest time between two chunks; 0 if there is one chunk."""
        return max((b - a for a, b in itertools.pairwise(self.chunks)), default=0)


class Exchange(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One request and its response."""

    number: int
    """Position in the cassette, from 1."""
    method: str
    url: str
    status: int
    end: End
    emulated: bool = False
    """Whether the emulator answered, and not the vendor."""
    wire: str = ""
    """Name of the wire, if the request is one for a reply; else empty."""
    model: str = ""
    attempt: int = 1
    """Above 1 if the same request, which failed, is recorded before."""
    retry_of: int = 0
    """Number of the attempt before; 0 if there is none."""
    of_attempts: int = 1
    settings: dict[str, Any] = {}
    """Fields of the request besides the conversation and the tools."""
    tools: list[str] = []
    """Names of the tools that the request declares."""
    turns: list[Turn] = []
    """The conversation that the request contains."""
    continues: int = 0
    """Number of the exchange whose conversation this request continues; 0 if it begins one."""
    known: int = 0
    """Number of first turns that are those of `continues` and of its reply."""
    reply: Turn | UnsetType = UNSET
    stop: Stop | UnsetType = UNSET
    usage: dict[str, Any] = {}
    """Token counts that are not 0."""
    notes: list[str] = []
    """Notes on values that the parser changed or dropped."""
    error: Failure | UnsetType = UNSET
    events: int = 0
    """Number of events of a streamed response."""
    messages: list[Said] | UnsetType = UNSET
    """The messages of a session, in both directions."""
    close: Close | UnsetType = UNSET
    """How the server closed a session."""
    retry_after: str = ""
    times: Times | UnsetType = UNSET
    request: Any = UNSET
    """The body of a request to another endpoint: JSON, a text, or type, size and digest of
    bytes.
    """
    response: Any = UNSET
    """The body of its response, or of one that could not be decoded."""

    @property
    def failed(self) -> bool:
        """Whether a client would not get a complete response, or its session broke off."""
        ends = ("eof", "closed by the caller") if self.messages is not UNSET else ("eof",)
        return self.status >= 400 or self.end not in ends or self.error is not UNSET


class Conversation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A cassette as a person reads it."""

    name: str
    exchanges: list[Exchange]


def conversation(interactions: Sequence[Interaction], name: str = "") -> Conversation:
    """Read the interactions of a cassette."""
    exchanges: list[Exchange] = []
    bodies: list[bytes] = []
    for number, each in enumerate(interactions, 1):
        body = body_bytes(each.request.body)
        exchange = _exchange(number, each, body)
        attempt, retry_of = 1, 0
        for earlier, sent in zip(reversed(exchanges), reversed(bodies), strict=True):
            if (earlier.method, earlier.url, sent) == (exchange.method, exchange.url, body):
                if earlier.failed:
                    attempt, retry_of = earlier.attempt + 1, earlier.number
                break
        continues, known = _continued(exchange, exchanges)
        exchanges.append(
            msgspec.structs.replace(
                exchange, attempt=attempt, retry_of=retry_of, continues=continues, known=known
            )
        )
        bodies.append(body)
    return Conversation(name=name, exchanges=_with_attempts(exchanges, bodies))


def wire_of(method: str, url: str) -> str:
    """Return the name of the wire of a request for a reply; empty for another endpoint.

    >>> wire_of("POST", "https://api.openai.com/v1/chat/completions")
    'openai'
    >>> wire_of("POST", "https://api.openai.com/v1/embeddings")
    ''
    """
    path = split_url(url).path
    for name, wire in WIRES.items():
        if method in wire.methods and wire.path.search(path):
            return name
    return ""


def split_url(url: str) -> SplitResult:
    """Split a URL; a malformed one becomes a path.

    >>> split_url("https://[llm.example/v1").path
    'https://[llm.example/v1'
    """
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


def _without_keys(url: str) -> str:
    try:
        return kept_url(url)  # a recording of another tool, or one edited by hand, may have a key
    except ValueError:
        return url


def _exchange(number: int, interaction: Interaction, body: bytes) -> Exchange:
    request, response = interaction.request, interaction.response
    name = wire_of(request.method, request.url)
    head: dict[str, Any] = {
        "number": number,
        "method": request.method,
        "url": _without_keys(request.url),
        "emulated": response.emulated,
        "status": response.status,
        "end": response.end,
        "retry_after": response.headers.get("retry-after", ""),
    }
    if response.body is not UNSET and response.body.events is not UNSET:
        head["events"] = len(response.body.events)
    if interaction.messages is not UNSET:
        return Exchange(**head, **_session(interaction, interaction.messages))
    head["times"] = _times(interaction)
    sent = json_of(request.body)
    if not name or not (isinstance(sent, dict) or request.body is UNSET):
        return Exchange(
            **head,
            request=readable(request.body, request.headers),
            response=readable(response.body, response.headers),
        )
    wire, fields = WIRES[name], sent if isinstance(sent, dict) else {}
    kept = {key: value for key, value in fields.items() if key not in wire.conversation}
    model = ""
    if isinstance(kept.get("model"), str):
        model = kept.pop("model")
    elif found := _MODEL.search(split_url(request.url).path):
        model = unquote(found[1] or found[2])
    return Exchange(
        **head,
        wire=name,
        model=model,
        settings=kept,
        tools=tool_names(_tools_of(fields)),
        turns=list(turns_of(wire, fields)),
        **_reply(wire, interaction, body),
    )


def _session(interaction: Interaction, messages: Sequence[Message]) -> dict[str, Any]:
    """Return the fields of an exchange that a session has."""
    response, shown = interaction.response, said(messages)
    close = response.close
    code = close.code if close is not UNSET else NO_CLOSE if response.end == "cut" else NORMAL
    fields: dict[str, Any] = {"messages": shown, "close": close, "model": _model_of(interaction)}
    if code != NORMAL:
        fields["error"] = _failure(closed_error(code, close.reason if close is not UNSET else ""))
    times = [each.at for each in shown if each.at is not UNSET]
    if times:
        fields["times"] = Times(started=interaction.started, chunks=times)
    return fields


def _model_of(interaction: Interaction) -> str:
    """Return the model of a session: of its URL, or of the setup that the client sends first."""
    found = parse_qs(split_url(interaction.request.url).query).get("model", [""])[0]
    for each in (interaction.messages or ())[:1]:
        setup = fields_of(msgspec.Raw(body_bytes(each.body))).get("setup")
        named = plain(bytes(setup)) if setup is not None else None
        if not found and isinstance(named, dict) and isinstance(named.get("model"), str):
            found = named["model"].removeprefix("models/")
    return found


def _tools_of(fields: Mapping[str, Any]) -> Any:
    config = fields.get("toolConfig")
    inside = config.get("tools") if isinstance(config, dict) else None  # of Converse
    return fields.get("tools") or inside


def _times(interaction: Interaction) -> Times | UnsetType:
    response = interaction.response
    if not response.times and interaction.started is UNSET:
        return UNSET
    chunks = list(itertools.accumulate(response.times or ()))
    return Times(started=interaction.started, chunks=chunks, events=_event_times(response, chunks))


def _event_times(response: Response, times: Sequence[int]) -> list[int]:
    """Return the time when the chunk with the end of each event came."""
    if response.body is UNSET or response.body.events is UNSET:
        return []
    events = [len(each) for each in body_chunks(response.body)]
    chunks = events if response.chunks is UNSET else response.chunks
    if len(chunks) != len(times) or sum(chunks) != sum(events):
        return []
    ends = list(itertools.accumulate(chunks))
    return [times[bisect.bisect_left(ends, end)] for end in itertools.accumulate(events)]


def _reply(wire: Wire, interaction: Interaction, body: bytes) -> dict[str, Any]:
    """Return the fields of an exchange that the response has."""
    response = interaction.response
    data = body_bytes(response.body)
    if not 200 <= response.status < 300:
        error = wire.contract.parse_error(response.status, response.headers, data)
        return {"error": _failure(error)}
    failed: WireError | None = None
    try:
        answer = wire.read(data)
    except WireError as error:
        failed, answer = error, error.partial
    except (Unreadable, ValueError, RecursionError) as error:
        return {
            "error": Failure(type=type(error).__name__, message=one_line(str(error))),
            "response": readable(response.body, response.headers),
        }
    if answer is None:
        assert failed is not None
        shown = readable(response.body, response.headers) if data else UNSET
        return {"error": _failure(failed), "response": shown}
    reply = wire.contract.parse_reply(answer, body=body, error=failed)
    stop, counts = reply.stop, reply.usage
    return {
        "reply": Turn(role="assistant", parts=[part_of(part) for part in reply.message.parts]),
        "stop": Stop(reason=stop.reason, raw=stop.raw or "", message=stop.message),
        "usage": {
            name: value for name in counts.__struct_fields__ if (value := getattr(counts, name))
        }
        if counts
        else {},
        "notes": [str(note) for note in reply.notes],
        **({"error": _failure(failed)} if failed is not None else {}),
    }


def _failure(error: WireError) -> Failure:
    return Failure(type=type(error).__name__, message=one_line(error.message))


def _continued(exchange: Exchange, earlier: Sequence[Exchange]) -> tuple[int, int]:
    """Find the latest exchange whose conversation the request contains.

    Returns its number, and the number of turns that both have, the reply of that exchange included.
    """
    for other in reversed(earlier):
        if not exchange.turns or other.wire != exchange.wire or not other.turns:
            continue
        if exchange.turns[: len(other.turns)] != other.turns:
            continue
        known = len(other.turns)
        following = exchange.turns[known : known + 1]
        if other.reply is not UNSET and following and _say_same(following[0], other.reply):
            known += 1
        return other.number, known
    return 0, 0


def _say_same(sent: Turn, reply: Turn) -> bool:
    """Return whether a turn of a request is an earlier reply.

    A client may omit ids and thoughts of the reply.
    """

    def content(turn: Turn) -> list[Any]:
        return [
            (part.kind, part.text, part.name, part.value)
            for part in turn.parts
            if part.kind != "thought" and (part.kind != "text" or part.text)
        ]

    return sent.role == reply.role and content(sent) == content(reply)


def _with_attempts(exchanges: list[Exchange], bodies: list[bytes]) -> list[Exchange]:
    """Return the exchanges with the number of attempts of their request."""
    most: dict[int, int] = {}
    open_: dict[tuple[str, str, bytes], list[int]] = {}
    for index, (each, body) in enumerate(zip(exchanges, bodies, strict=True)):
        same = open_.setdefault((each.method, each.url, body), [])
        if each.attempt == 1:
            same.clear()
        same.append(index)
        most |= dict.fromkeys(same, each.attempt)
    return [
        msgspec.structs.replace(each, of_attempts=most[index])
        for index, each in enumerate(exchanges)
    ]
