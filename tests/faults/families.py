"""The faults: what a hostile or broken server sends, and what a client must make of it.

The families are those of a failing network, a broken gateway and an attacker. `play` gives the
bytes of one response; the response to the first attempt may differ from that to the second.
"""

from __future__ import annotations

import enum
import functools
import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.faults.pieces import Pieces

# --- what a server can do -------------------------------------------------------------------------


class Do(enum.Enum):
    """A step that sends nothing."""

    HOLD = 1
    """Keep the connection open and silent."""
    RESET = 2
    """End the connection by RST."""
    CLOSE = 3
    """End the connection by FIN."""


@dataclass(frozen=True)
class Wait:
    """Send nothing for some seconds."""

    seconds: float


@dataclass(frozen=True)
class Repeat:
    """Send the same bytes again and again."""

    data: bytes
    gap: float = 0.0
    """Seconds between two of them."""
    times: int = 1_000_000


Step = bytes | Do | Wait | Repeat


@dataclass(frozen=True)
class Ask:
    """One request, as the faults see it."""

    attempt: int
    run: str
    """Name of the run; the key of the client contains it."""
    origin: str


@dataclass(frozen=True)
class Fault:
    """One thing that a server does wrong."""

    name: str
    family: str
    play: Callable[[Pieces, Ask], Iterable[Step]]
    expect: str
    """`Hello.` for a whole answer, else the classes of error that are right, between blanks."""
    streamed: bool = True
    clocks: Mapping[str, float] = field(default_factory=dict)
    """Fields of `Timeouts`; the other clocks are far away."""
    attempts: int = 1
    """Attempts that the client may make."""
    requests: int = 1
    """Requests that the server gets."""
    partial: str | None = None
    """The text that the error has kept."""
    only: str = ""
    """The name of the only wire that the fault concerns."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Values of fields of the error."""
    caller: str = ""
    """What the caller does once the first text has come, or after `LEFT_AFTER` seconds."""
    pause: float = 0.0
    """Seconds between the call and the next one."""
    refuses: bool = False
    """The server refuses each request because of its load. A row of a bulk run is asked again until
    its total clock ends."""
    own_pool: bool = False
    """Only the lanes of this library can hold the rule: httpx shows no byte that it has read after
    a response."""


FAULTS: dict[str, Fault] = {}

FAMILIES = {
    "odd events": "R-06 R-07 R-09",
    "cut": "R-01 R-02 R-15 R-20 R-36",
    "stall": "R-04 R-13 R-14",
    "drip": "R-10 R-13 R-14",
    "error under 200": "R-03 R-23",
    "wrong body": "R-05",
    "malformed": "R-04 R-08 R-09 R-44",
    "resource": "R-10 R-11",
    "http": "R-25 R-26",
    "status": "R-12 R-15 R-16 R-29 R-30",
    "caller": "R-21 R-22",
}
"""Each family with the promises that it tests; `docs/reliability.md` has them."""


def fault(
    family: str, expect: str = "Hello.", **options: Any
) -> Callable[[Callable[[Pieces, Ask], Iterable[Step]]], None]:
    """Add a fault to the table under the name of the function that plays it."""

    def added(play: Callable[[Pieces, Ask], Iterable[Step]]) -> None:
        name = play.__name__.strip("_")
        assert name not in FAULTS, name
        FAULTS[name] = Fault(name, family, play, expect, **options)

    return added


# --- HTTP -----------------------------------------------------------------------------------------

SSE = "text/event-stream"
JSON = "application/json"


def head(status: int = 200, kind: str = SSE, **headers: str) -> bytes:
    """The head of a response, chunked unless `headers` say how long the body is."""
    lines = [f"HTTP/1.1 {status} X", *([f"content-type: {kind}"] if kind else [])]
    if not {"content_length", "connection"} & headers.keys():
        lines.append("transfer-encoding: chunked")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST = b"0\r\n\r\n"


def stream(*bodies: bytes, kind: str = SSE) -> list[bytes]:
    """A chunked stream, one chunk for each body."""
    return [head(kind=kind), *map(chunk, filter(None, bodies)), LAST]


def sized(body: bytes, status: int = 200, kind: str = JSON, **headers: str) -> list[bytes]:
    """A response whose length is declared."""
    return [head(status, kind, content_length=str(len(body)), **headers) + body]


# --- a good answer, for the call after each fault -------------------------------------------------


@fault("none", "next", streamed=False)
def ok(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.answer(f"next-{ask.run}"))


@fault("none", streamed=True)
def good(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(pieces.stream)


@fault("none")
def paced(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    """Twenty events in a second."""
    silent = pieces.event(pieces.opening[-1].replace(b"Hel", b""))
    ending = pieces.events((*pieces.ending, *pieces.terminator))
    opening = chunk(pieces.events(pieces.opening))
    return [head(), opening, Repeat(chunk(silent), 0.05, 20), chunk(ending), LAST]


@fault("none", "left")
def idle(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    """One event, then silence."""
    return [head(), chunk(pieces.events(pieces.opening)), Do.HOLD]


# --- legal but odd events -------------------------------------------------------------------------

odd = fault("odd events")


@odd
def crlf(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(pieces.events(pieces.all, b"\r\n"))


@odd
def cr(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(pieces.events(pieces.all, b"\r"))


@odd
def crlf_split_over_chunks(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    lines = pieces.events(pieces.all, b"\r\n").split(b"\n")
    return stream(*(line + b"\n" if at else line for at, line in enumerate(_cut_before_lf(lines))))


def _cut_before_lf(lines: list[bytes]) -> list[bytes]:
    """Bytes cut between each CR and its LF; the first piece has no LF in front."""
    joined = b"\n".join(lines)
    pieces = joined.split(b"\r\n")
    return [pieces[0] + b"\r", *(b"\n" + each + b"\r" for each in pieces[1:-1]), b"\n"]


@odd
def bom(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(b"\xef\xbb\xbf" + pieces.stream)


@odd
def bom_split(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(b"\xef", b"\xbb", b"\xbf", pieces.stream)


@odd
def comments(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(b": ping\n\n", *(b": keep-alive\n" + pieces.event(each) for each in pieces.all))


@odd
def empty_comments(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(b":\n\n:\n:\n\n" + pieces.stream)


@odd
def comment_as_data(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(b"data: : keepalive\n\n" + pieces.stream)


@odd
def data_without_space(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(pieces.stream.replace(b"data: ", b"data:"))


@odd
def several_data_lines(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    opening, *others = pieces.all
    lines = json.dumps(json.loads(opening), indent=1).encode().split(b"\n")
    return stream(b"".join(b"data: %s\n" % line for line in lines) + b"\n", pieces.events(others))


@odd
def id_and_retry(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(
        *(b"id: %d\nretry: 3000\n" % at + pieces.event(each) for at, each in enumerate(pieces.all))
    )


@odd
def unknown_fields(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(*(b"mood: calm\nweight\n" + pieces.event(each) for each in pieces.all))


@odd
def no_last_blank_line(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(pieces.stream.rstrip(b"\n"))


@odd
def byte_by_byte(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(*(bytes([each]) for each in pieces.stream))


@odd
def blank_lines_first(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(b"\n\n\r\n" + pieces.stream)


@odd
def empty_data(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(*(b"data:\n\ndata: \n\n" + pieces.event(each) for each in pieces.all))


@odd
def no_content_type(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(pieces.stream, kind="")


@odd
def charset_lie(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(pieces.stream, kind="text/event-stream; charset=iso-8859-1")


@odd
def events_as_text_plain(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(pieces.stream, kind="text/plain")


@odd
def chunk_extensions(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    body = pieces.stream
    return [head(), b"%x;name=value\r\n%s\r\n" % (len(body), body), LAST]


@odd
def no_framing(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(connection="close"), pieces.stream, Do.CLOSE]


# --- cut ------------------------------------------------------------------------------------------

CUT = "StreamIncomplete ConnectionLost"
NO_ANSWER = "ConnectionLost"


def _cuts() -> None:
    """Each place where a connection may break, by FIN and by RST."""

    def whole_events(pieces: Pieces) -> list[bytes]:
        return [head(), chunk(pieces.events(pieces.opening))]

    def in_an_event(pieces: Pieces) -> list[bytes]:
        ending = pieces.event(pieces.ending[0])
        return [*whole_events(pieces), chunk(ending[: len(ending) // 2])]

    def in_a_chunk(pieces: Pieces) -> list[bytes]:
        ending = chunk(pieces.event(pieces.ending[0]))
        return [*whole_events(pieces), ending[: len(ending) // 2]]

    def in_a_chunk_size(pieces: Pieces) -> list[bytes]:
        return [*whole_events(pieces), b"4"]

    def after_the_head(pieces: Pieces) -> list[bytes]:
        return [head()]

    def in_the_head(pieces: Pieces) -> list[bytes]:
        return [head()[:25]]

    def before_the_head(pieces: Pieces) -> list[bytes]:
        return []

    with_text = (whole_events, in_an_event, in_a_chunk, in_a_chunk_size)
    for place in (*with_text, after_the_head, in_the_head, before_the_head):
        for end in (Do.CLOSE, Do.RESET):
            name = f"{end.name.lower()}_{place.__name__.strip('_')}"

            def play(
                pieces: Pieces,
                ask: Ask,
                place: Callable[[Pieces], list[bytes]] = place,
                end: Do = end,
            ) -> Iterable[Step]:
                # A RST may overtake what was sent before it, so its reader gets a moment.
                return [*place(pieces), Wait(0.1), end]

            partial = "Hel" if place in with_text else None
            expect = NO_ANSWER if place in (in_the_head, before_the_head) else CUT
            # A caller that has a text gets no second answer, whatever the policy allows.
            requests = 1 if partial else 3
            FAULTS[name] = Fault(
                name, "cut", play, expect, partial=partial, attempts=3, requests=requests
            )


_cuts()


@fault("cut", "StreamIncomplete", partial="Hel")
def clean_end_without_finish(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(pieces.events(pieces.opening))


@fault("cut", "StreamIncomplete", partial="Hel")
def close_without_framing_and_finish(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(connection="close"), pieces.events(pieces.opening), Do.CLOSE]


@fault("cut", CUT, partial="Hel")
def shorter_than_declared(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    body = pieces.events(pieces.opening)
    return [head(content_length=str(len(body) + 100)) + body, Wait(0.05), Do.CLOSE]


@fault("cut", "StreamIncomplete", partial="Hel")
def longer_than_declared(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    body = pieces.events(pieces.opening)
    return [head(content_length=str(len(body))) + pieces.stream, Do.CLOSE]


@fault("cut", CUT, streamed=False)
def whole_body_cut(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    (answer,) = sized(pieces.answer())
    return [answer[:-20], Wait(0.05), Do.CLOSE]


@fault("cut", "StreamIncomplete StreamInvalid", streamed=False)
def whole_json_cut_but_framed(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.answer()[:-20])


# --- stalls and drips -----------------------------------------------------------------------------

FIRST_BYTE = {"first_byte": 0.4}
IDLE = {"idle": 0.4}
TOTAL = {"total": 2.0}
DRIP = 0.05


@fault("stall", "FirstByteClock", clocks=FIRST_BYTE)
def silence_before_the_head(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [Do.HOLD]


@fault("stall", "FirstByteClock", clocks=FIRST_BYTE, streamed=False)
def silence_before_the_head_of_a_whole_answer(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [Do.HOLD]


@fault("stall", "FirstByteClock", clocks=FIRST_BYTE)
def silence_in_the_head(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head()[:30], Do.HOLD]


@fault("stall", "IdleClock", clocks=IDLE)
def silence_after_the_head(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(), Do.HOLD]


@fault("stall", "IdleClock", clocks=IDLE, partial="Hel")
def silence_between_events(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(), chunk(pieces.events(pieces.opening)), Do.HOLD]


@fault("stall", "IdleClock", clocks=IDLE, partial="Hel")
def silence_in_an_event(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    ending = pieces.event(pieces.ending[0])
    return [head(), chunk(pieces.events(pieces.opening) + ending[: len(ending) // 2]), Do.HOLD]


@fault("stall", clocks=IDLE, only="openai")
def silence_after_the_finish(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(), chunk(pieces.events((*pieces.opening, *pieces.ending))), Do.HOLD]


@fault("stall")
def silence_after_the_terminator(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    if not pieces.terminator:  # Gemini: a stream ends with its body
        return stream(pieces.stream)
    return [head(), chunk(pieces.stream), Do.HOLD]


@fault("stall", "IdleClock TotalClock", clocks=IDLE, streamed=False)
def silence_in_a_whole_body(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    (answer,) = sized(pieces.answer())
    return [answer[:-20], Do.HOLD]


@fault("drip", "FirstByteClock", clocks=FIRST_BYTE)
def drip_in_the_status_line(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [b"HTTP/1.1 200 ", Repeat(b"K", DRIP)]


@fault("drip", "FirstByteClock", clocks=FIRST_BYTE)
def drip_in_a_header(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head()[:-4], b"\r\nx-slow: ", Repeat(b"z", DRIP)]


@fault("drip", "FirstByteClock", clocks=FIRST_BYTE, streamed=False)
def drip_of_headers(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head()[:-2], Repeat(b"x-slow: 1\r\n", DRIP)]


@fault("drip", "FirstByteClock", clocks=FIRST_BYTE)
def drip_of_interim_responses(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [Repeat(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", DRIP)]


@fault("drip", "FirstByteClock ConnectionLost", clocks=FIRST_BYTE)
def flood_of_interim_responses(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [Repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)]


@fault("drip", "IdleClock", clocks=IDLE, partial="Hel")
def drip_in_a_line(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [
        head(),
        chunk(pieces.events(pieces.opening)),
        chunk(b"data: {"),
        Repeat(chunk(b" "), DRIP),
    ]


@fault("drip", "IdleClock", clocks=IDLE, partial="Hel")
def drip_of_comments(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(), chunk(pieces.events(pieces.opening)), Repeat(chunk(b": ping\n\n"), DRIP)]


@fault("drip", "IdleClock", clocks=IDLE, partial="Hel")
def drip_of_blank_lines(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(), chunk(pieces.events(pieces.opening)), Repeat(chunk(b"\n"), DRIP)]


@fault("drip", "IdleClock", clocks=IDLE, partial="Hel")
def drip_in_a_chunk_size(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(), chunk(pieces.events(pieces.opening)), b"5;x=", Repeat(b"y", DRIP)]


@fault("drip", "IdleClock LimitError", clocks=IDLE, partial="Hel")
def flood_of_comments(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(), chunk(pieces.events(pieces.opening)), Repeat(chunk(b": ping\n\n" * 1000))]


@fault("drip", "IdleClock LimitError", clocks=IDLE, partial="Hel")
def flood_of_blank_lines(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(), chunk(pieces.events(pieces.opening)), Repeat(chunk(b"\n" * 8000))]


@fault("drip", "TotalClock", clocks=TOTAL, partial="Hel")
def events_for_ever(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    silent = pieces.event(pieces.opening[-1].replace(b"Hel", b""))
    return [head(), chunk(pieces.events(pieces.opening)), Repeat(chunk(silent), DRIP)]


@fault("drip", "TotalClock", clocks=TOTAL, streamed=False)
def drip_in_a_whole_body(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(200, JSON), chunk(b"{"), Repeat(chunk(b" "), DRIP)]


@fault("drip", "TotalClock", clocks=TOTAL, streamed=False)
def drip_in_the_chunk_size_of_a_whole_body(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(200, JSON), chunk(b"{"), b"5;x=", Repeat(b"y", DRIP)]


@fault("drip", "ServerError TotalClock", clocks=TOTAL, streamed=False)
def drip_in_an_error_body(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(500, JSON), chunk(pieces.error(500, "It broke.")), Repeat(chunk(b" "), DRIP)]


@fault("drip", "RateLimitError", clocks=IDLE, refuses=True)
def silence_in_an_error_body(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(429, JSON), chunk(pieces.error(429, "Slow down.")), Do.HOLD]


@fault("drip", "Hello. TotalClock IdleClock", clocks={"total": 1.0, "idle": 0.5})
def drip_in_the_trailers(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(), chunk(pieces.stream), b"0\r\nx-slow: ", Repeat(b"z", DRIP)]


@fault("drip", "TotalClock IdleClock", clocks={"total": 1.0, "idle": 0.5}, streamed=False)
def drip_in_the_trailers_of_a_whole_body(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(200, JSON), chunk(pieces.answer()), b"0\r\nx-slow: ", Repeat(b"z", DRIP)]


# --- an error under 200 ---------------------------------------------------------------------------


def _errors() -> None:
    """Each way to write an error into a stream whose status was 200."""
    spellings: dict[str, Callable[[Pieces, bytes], list[bytes]]] = {
        "as_data": lambda pieces, error: [b"data: " + error + b"\n\n"],
        "named": lambda pieces, error: [b"event: error\ndata: " + error + b"\n\n"],
        "bare_line": lambda pieces, error: [error + b"\n"],
        "as_json": lambda pieces, error: [error],
        "as_list": lambda pieces, error: [b"[" + error + b"]"],
        "then_done": lambda pieces, error: [
            b"data: " + error + b"\n\n",
            pieces.events((*pieces.ending, *pieces.terminator)),
        ],
    }
    for name, spelling in spellings.items():
        for late in (False, True):
            if late and name in ("as_json", "as_list"):
                continue

            def play(
                pieces: Pieces,
                ask: Ask,
                spelling: Callable[[Pieces, bytes], list[bytes]] = spelling,
                late: bool = late,
            ) -> Iterable[Step]:
                opening = [pieces.events(pieces.opening)] if late else []
                return stream(*opening, *spelling(pieces, pieces.error(429, "Slow down.")))

            full = f"error_{name}{'_after_text' if late else ''}"
            FAULTS[full] = Fault(
                full, "error under 200", play, "RateLimitError", partial="Hel" if late else None
            )


_errors()


@fault("error under 200", "OverloadedError", streamed=False)
def error_in_a_whole_answer(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.error(503, "Overloaded."))


# --- the wrong body -------------------------------------------------------------------------------

HTML = b"<html><head><title>Sign in</title></head><body>Sign in first.</body></html>"
WRONG = "StreamInvalid StreamIncomplete"


@fault("wrong body", WRONG)
def html(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(HTML, kind="text/html")


@fault("wrong body", WRONG, streamed=False)
def html_for_a_whole_answer(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(HTML, kind="text/html")


@fault("wrong body", WRONG)
def empty(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(b"", kind=SSE)


@fault("wrong body", WRONG, streamed=False)
def empty_for_a_whole_answer(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(b"")


@fault("wrong body", WRONG)
def no_content(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [b"HTTP/1.1 204 No Content\r\n\r\n"]


@fault("wrong body")
def json_for_a_stream(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.answer())


@fault("wrong body", streamed=False)
def stream_for_a_whole_answer(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(pieces.stream)


@fault("wrong body", streamed=False)
def json_as_text_html(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.answer(), kind="text/html; charset=utf-16")


@fault("wrong body", WRONG, streamed=False)
def json_null(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(b"null")


@fault("wrong body", WRONG, streamed=False)
def json_list(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(b"[1, 2, 3]")


@fault("wrong body", WRONG)
def only_comments(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return stream(b": hello\n\n: there\n\n")


# --- malformed ------------------------------------------------------------------------------------


def _with(pieces: Pieces, event: bytes) -> list[bytes]:
    """A stream with one more event after the first text."""
    ending = pieces.events((*pieces.ending, *pieces.terminator))
    return stream(pieces.events(pieces.opening), event, ending)


@fault("malformed", "StreamInvalid", partial="Hel")
def truncated_json_in_an_event(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return _with(pieces, pieces.event(pieces.opening[-1])[:-6] + b"\n\n")


@fault("malformed", "StreamInvalid", partial="Hel")
def nul_in_a_string(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return _with(pieces, b"data: " + pieces.opening[-1].replace(b"Hel", b"a\0b") + b"\n\n")


@fault("malformed", "Hello.")
def late_events(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    late = pieces.event(pieces.opening[-1]) if pieces.terminator else b": late\n\n"
    return stream(pieces.stream + late)


@fault("malformed", "Hello.")
def unknown_event(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    body = b'{"type": "mood_changed", "mood": "calm"}' if pieces.names else b'{"choices": []}'
    if pieces.wire == "gemini.interactions":
        body = b'{"event_type": "mood.changed", "mood": "calm"}'
    return _with(
        pieces, b"event: mood\ndata: " + (body if pieces.wire != "gemini" else b"{}") + b"\n\n"
    )


@fault("malformed", "StreamInvalid Hel\ufffdlo.")
def invalid_utf8(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return _with(pieces, b"data: " + pieces.opening[-1].replace(b"Hel", b"\xff") + b"\n\n")


@fault("malformed", "StreamInvalid Hel\ufffdlo. Hel\ud83dlo.")
def half_a_surrogate_pair(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return _with(pieces, b"data: " + pieces.opening[-1].replace(b"Hel", b"\\ud83d") + b"\n\n")


@fault("malformed", "Hel\U0001f600lo.")
def surrogate_pair_over_two_events(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    halves = [pieces.opening[-1].replace(b"Hel", half) for half in (b"\\ud83d", b"\\ude00")]
    return _with(pieces, b"".join(b"data: " + half + b"\n\n" for half in halves))


@fault("malformed", "StreamInvalid Hello.")
def events_of_wrong_types(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    wrong = {
        "gemini": b'{"candidates": 7}',
        "openai": b'{"choices": "none"}',
        "openai.responses": b'{"type": "response.output_text.delta", "output_index": "a"}',
        "anthropic": b'{"type": "content_block_delta", "index": "a", "delta": 5}',
        "converse": b'{"contentBlockDelta": {"contentBlockIndex": "a", "delta": 5}}',
        "ollama": b'{"message": 5, "done": false}',
        "gemini.interactions": b'{"event_type": "step.delta", "index": "a", "delta": 5}',
    }
    return _with(pieces, b"data: " + wrong[pieces.wire] + b"\n\n")


@fault("malformed", "Hello.", streamed=False)
def bom_before_json(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(b"\xef\xbb\xbf" + pieces.answer())


@fault("malformed", "StreamInvalid StreamIncomplete", streamed=False)
def whole_json_with_a_nul(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.answer().replace(b"Hello.", b"a\0b"))


# --- resources ------------------------------------------------------------------------------------

MIB = 1024 * 1024


@fault("resource", "LimitError", partial="Hel")
def giant_line(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    line = Repeat(chunk(b"x" * 65536), times=64 * MIB // 65536)
    return [head(), chunk(pieces.events(pieces.opening)), chunk(b"data: "), line, LAST]


@functools.cache
def _bomb(megabytes: int) -> bytes:
    return gzip.compress(b"[" + b" " * (megabytes * MIB), compresslevel=9)


@fault("resource", "LimitError")
def gzip_bomb(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(_bomb(64), kind=SSE, content_encoding="gzip")


@fault("resource", "LimitError", streamed=False)
def gzip_bomb_in_a_whole_answer(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(_bomb(64), content_encoding="gzip")


@fault("resource", "ServerError LimitError", streamed=False)
def gzip_bomb_in_an_error(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(_bomb(64), 500, content_encoding="gzip")


@fault("resource", streamed=True)
def gzip_good(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(gzip.compress(pieces.stream), kind=SSE, content_encoding="gzip")


@fault("resource", streamed=False)
def deflate_good(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(zlib.compress(pieces.answer()), content_encoding="deflate")


@fault("resource", "StreamInvalid")
def gzip_corrupt(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    body = bytearray(gzip.compress(pieces.stream))
    body[len(body) // 2] ^= 0xFF
    return sized(bytes(body), kind=SSE, content_encoding="gzip")


@fault("resource", "StreamInvalid StreamIncomplete", streamed=False)
def gzip_cut(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(gzip.compress(pieces.answer())[:-12], content_encoding="gzip")


@fault("resource", "StreamInvalid")
def gzip_mislabelled(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.stream, kind=SSE, content_encoding="gzip")


@fault("resource", "StreamInvalid")
def unknown_encoding(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.stream, kind=SSE, content_encoding="zstd")


@fault("resource", "ConnectionLost LimitError")
def header_bomb(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head()[:-2], Repeat(b"x-bomb: " + b"z" * 8000 + b"\r\n", times=1000), b"\r\n"]


@fault("resource", "StreamInvalid LimitError", streamed=False)
def deep_json(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.answer()[:-1] + b', "deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")


@fault("resource", "LimitError StreamInvalid", streamed=False)
def many_small_values(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    names = {
        "gemini": b"candidates",
        "openai": b"choices",
        "openai.responses": b"output",
        "anthropic": b"content",
        "converse": b"output",
        "ollama": b"message",
        "gemini.interactions": b"steps",
    }
    return sized(b'{"%s": [' % names[pieces.wire] + b"{}," * 500_000 + b"{}]}")


@fault("resource", "Hello.")
def many_small_events(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    silent = pieces.event(pieces.opening[-1].replace(b"Hel", b""))
    many = chunk(silent * 1000)
    ending = pieces.events((*pieces.ending, *pieces.terminator))
    return [
        head(),
        chunk(pieces.events(pieces.opening)),
        Repeat(many, times=10),
        chunk(ending),
        LAST,
    ]


@fault("resource", "LimitError ServerError", streamed=False)
def endless_error_body(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(500, JSON), Repeat(chunk(b" " * 65536), times=2000), LAST]


# --- HTTP -----------------------------------------------------------------------------------------


@fault("http", CUT, partial="Hel")
def bad_chunk_size(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(), chunk(pieces.events(pieces.opening)), Wait(0.05), b"zz\r\nxx\r\n"]


@fault("http", NO_ANSWER)
def bad_status_line(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [b"HELLO there\r\n\r\n", Do.CLOSE]


@fault("http", NO_ANSWER)
def bad_header(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n", Do.CLOSE]


@fault("http", NO_ANSWER)
def two_lengths(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    body = pieces.stream
    top = head(content_length=str(len(body))).replace(b"\r\n\r\n", b"\r\ncontent-length: 3\r\n\r\n")
    return [top, body, Do.CLOSE]


@fault("http", streamed=False, own_pool=True)
def response_after_the_response(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    """A forged response in the same bytes: the next call must not read it (R-25)."""
    (first,), (forged,) = sized(pieces.answer()), sized(pieces.answer("forged"))
    return [first + forged]


@fault("http", own_pool=True)
def response_after_the_stream(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    """The same after a stream (R-25)."""
    return [b"".join(stream(pieces.stream)) + b"".join(sized(pieces.answer("forged")))]


@fault("http", streamed=False, pause=0.5, own_pool=True)
def response_a_moment_after_the_response(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    """The forged response comes while the connection is idle (R-25)."""
    return [*sized(pieces.answer()), Wait(0.02), *sized(pieces.answer("forged"))]


@fault("http")
def early_hints(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", *stream(pieces.stream)]


@fault("http")
def trailers(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(), chunk(pieces.stream), b"0\r\nx-sum: 1\r\n\r\n"]


@fault("http")
def http_1_0(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [b"HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", pieces.stream, Do.CLOSE]


@fault("http", streamed=False, pause=0.2)
def closed_after_the_response(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    """The server closes a connection that it seemed to keep (R-26)."""
    return [*sized(pieces.answer()), Do.CLOSE]


# --- status ---------------------------------------------------------------------------------------


def _refused_once(status: int, name: str, **headers: str) -> None:
    def play(pieces: Pieces, ask: Ask) -> Iterable[Step]:
        if ask.attempt > 1:
            return stream(pieces.stream)
        return sized(pieces.error(status, "Not now."), status, **headers)

    FAULTS[name] = Fault(name, "status", play, "Hello.", attempts=3, requests=2)


_refused_once(429, "rate_limit_with_seconds", retry_after="0")
_refused_once(429, "rate_limit_with_milliseconds", retry_after_ms="50")
_refused_once(429, "rate_limit_with_a_past_date", retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
_refused_once(429, "rate_limit_with_garbage", retry_after="soon")
_refused_once(503, "overloaded_once")
_refused_once(408, "timeout_once")


@fault("status", "RateLimitError", attempts=3, fields={"retry_after": 86400.0}, refuses=True)
def rate_limit_for_a_day(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.error(429, "Tomorrow."), 429, retry_after="86400")


@fault("status", attempts=3, requests=2, only="gemini")
def rate_limit_in_the_body(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    if ask.attempt > 1:
        return stream(pieces.stream)
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.05s"}
    body = json.loads(pieces.error(429, "Slow down."))
    body["error"]["details"] = [info]
    return sized(json.dumps(body).encode(), 429)


@fault("status", attempts=3, requests=3)
def unavailable_twice(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    if ask.attempt > 2:
        return stream(pieces.stream)
    return sized(pieces.error(503, "Not now."), 503)


@fault("status", "ServerError", attempts=3, requests=3, fields={"attempts": 3})
def always_500(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.error(500, "It broke."), 500)


@fault("status", "ServerError", fields={"status": 502})
def html_502(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(HTML, 502, kind="text/html")


@fault("status", "BadRequestError", attempts=3)
def bad_request(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.error(400, "No such field."), 400)


@fault("status", "AuthenticationError", attempts=3)
def key_repeated(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    """A 401 that shows the key (R-29)."""
    return sized(pieces.error(401, f"bad key {canary(ask.run)}"), 401, x_request_id=canary(ask.run))


@fault("status", "APIError")
def odd_error(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(b'{"message": ["a", {"b": 1}]}', 418)


@fault("status", "APIError")
def empty_error(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(b"", 404)


@fault("status", "APIError")
def error_with_control_characters(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return sized(pieces.error(400, "a\nb\x1b[2J\r\u202ec" + "d" * 100_000), 400)


def _redirects() -> None:
    """A redirect is an error: the key and the prompt go to no other place (R-30)."""
    places = {
        "to_another_host": "http://127.0.0.2:9/steal",
        "to_the_same_host": "/elsewhere",
        "to_a_file": "file:///etc/passwd",
    }
    for name, place in places.items():
        for status in (302, 307):

            def play(
                pieces: Pieces, ask: Ask, place: str = place, status: int = status
            ) -> Iterable[Step]:
                return sized(b"", status, location=place)

            full = f"redirect_{status}_{name}"
            FAULTS[full] = Fault(full, "status", play, "APIError", fields={"status": status})


_redirects()


# --- the caller -----------------------------------------------------------------------------------

LEFT_AFTER = 0.3


def _callers() -> None:
    """Each way to leave a call; the server would go on, or is silent."""
    silent = {"cancel_before_the_head": True, "cancel_between_events": False}
    going_on = dict.fromkeys(("break", "raise", "cancel_in_a_flood"), False)
    for caller, at_once in {**silent, **going_on}.items():

        def play(
            pieces: Pieces, ask: Ask, caller: str = caller, at_once: bool = at_once
        ) -> Iterable[Step]:
            if at_once:
                return [Do.HOLD]
            rest = (
                Repeat(chunk(pieces.event(pieces.opening[-1]))) if caller in going_on else Do.HOLD
            )
            return [head(), chunk(pieces.events(pieces.opening)), rest]

        name = f"caller_{caller}"
        FAULTS[name] = Fault(name, "caller", play, "left", caller=caller)


_callers()


@fault("caller", "left", streamed=False, caller="cancel_before_the_head")
def caller_cancel_a_whole_answer(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [Do.HOLD]


@fault("caller", "left", streamed=False, caller="cancel_before_the_head")
def caller_cancel_in_a_whole_body(pieces: Pieces, ask: Ask) -> Iterable[Step]:
    return [head(200, JSON), chunk(b"{"), Do.HOLD]


def canary(run: str) -> str:
    """The key of a run: no sink may show it."""
    return f"fake-canary-{run}-000111222333"
