"""Runs code over a cassette again and again, with a fault at another place each time (C-34)."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import anyio
import httpx
from msgspec import UNSET

from wire.core.arguments import checked_arguments
from wire.core.errors import CassetteError, ConfigurationError, WireError
from wire.core.files import read_whole
from wire.testing.cassette.chunking import Chunking, chunking_of
from wire.testing.cassette.faults import ENDING, Fault, fault_of
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.instrument import recorded_events, with_fault
from wire.testing.cassette.matching import Match, redacting
from wire.testing.cassette.player import Played, Player
from wire.testing.cassette.playing import Playing, body_of, played_response
from wire.testing.cassette.transports import sent_of

_MAX_REQUESTS = 100
_MAX_READS_AFTER_ERROR = 1_000
_HANG_SECONDS = 10.0
_MAX_LISTED = 5
_MAX_DETAIL = 300
_FAULTS = (*ENDING, "stall", "garbage")

Kind = Literal["hang", "foreign error", "silent truncation", "lost piece"]
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("hang", "hangs"),
    ("foreign error", "foreign errors"),
    ("silent truncation", "silent truncations"),
    ("lost piece", "lost pieces"),
)


class SweepFailure(NamedTuple):
    """One run of a sweep that went wrong."""

    kind: Kind
    """`hang`: the code sent more than 100 requests, read on 1,000 times after the error, or, if it
    is asynchronous, took more than 10 s. `foreign error`: an exception of another class than
    `errors`. `silent truncation`: no exception, but another result than that of the whole response.
    `lost piece`: a piece that was received completely is missing or is another one."""
    place: str
    """The interaction, event and byte of the fault, as `interactions[0], event 2, byte 310`."""
    detail: str
    """The result of the code instead, or the exception."""

    def __str__(self) -> str:
        return f"{self.kind} at {self.place}: {self.detail}"


@dataclass(frozen=True, slots=True)
class SweepReport:
    """The result of a sweep; its text is `24 runs: 0 hangs, 0 foreign errors, ...`."""

    runs: int
    """How many times the code ran, without the run as recorded."""
    failures: tuple[SweepFailure, ...] = ()
    """The runs that went wrong, in the order of their places."""

    def check(self) -> None:
        """Raise `CassetteError` if a run went wrong, with the first of them."""
        if self.failures:
            raise CassetteError(str(self))

    def __str__(self) -> str:
        found = Counter(each.kind for each in self.failures)
        counts = ", ".join(f"{found[kind]} {name}" for kind, name in _KINDS)
        listed = "".join(f"; {each}" for each in self.failures[:_MAX_LISTED])
        return f"{self.runs} runs: {counts}{listed}"


Errors = type[Exception] | tuple[type[Exception], ...]
Reads = Callable[[Any], Any]


@checked_arguments(ConfigurationError)
def sweep(
    path: str | os.PathLike[str],
    function: Callable[[Any], Any],
    *,
    fault: str = "cut",
    chunks: str = "recorded",
    errors: Errors = WireError,
    match: Match | None = None,
) -> SweepReport:
    """Run `function` with a fault at each place of a cassette, and judge what it does (C-34).

    >>> def read(http):
    ...     with Client("gemini", http=http, retry=None) as client:
    ...         with client.stream(CALL) as chunks:
    ...             for chunk in chunks:
    ...                 yield chunk.text
    >>> sweep("tide.cassette.json", read).check()  # doctest: +SKIP

    `function` gets a transport for `http=` and returns what the program makes of the responses, a
    value that can be compared. A generator function yields each piece as it comes: then lost pieces
    are found too. It runs once with the responses as recorded, and then with the fault before,
    inside and after each event of each interaction. It is expected to raise one of `errors`, or to
    give the same result.

    With `chunks="every"` there is no fault. The function runs once for each position at which a
    response can be split into two chunks (C-32), and is expected to give the same result each time.

    Nothing waits, unless the code does: use `retry=Retry(base=0)`, or no retries.

    Raises `ConfigurationError` for an unknown fault, `CassetteError` for a cassette that is
    malformed or has a session, and
    what `function` raises with the responses as recorded, unless it is one of `errors`.

    Args:
        path: The cassette.
        function: The code under test.
        fault: `cut`, `reset`, `end`, `stall` or `garbage`, with settings: `cut; times=1` lets
            the second attempt succeed.
        chunks: How bytes are cut: as in `Replay`, or `every`.
        errors: The exceptions that the code may raise.
        match: Which recorded request answers a sent one.
    """
    cases = _Cases(path, fault, chunks, errors, match)
    for case in cases.all():
        case.got = _run(function, case)
        cases.judge(case)
    return cases.report()


@checked_arguments(ConfigurationError)
async def async_sweep(
    path: str | os.PathLike[str],
    function: Callable[[Any], Any],
    *,
    fault: str = "cut",
    chunks: str = "recorded",
    errors: Errors = WireError,
    match: Match | None = None,
) -> SweepReport:
    """Run `sweep` on asyncio and trio.

    `function` is a coroutine function or an asynchronous generator function.
    """
    cases = _Cases(path, fault, chunks, errors, match)
    for case in cases.all():
        case.got = await _async_run(function, case)
        cases.judge(case)
    return cases.report()


class _Hang(BaseException):
    """Ends code that would go on for ever; no `except Exception` catches it."""


class _Got(NamedTuple):
    """The result of the code."""

    pieces: list[Any]
    """The values that a generator function yielded."""
    places: list[_Read]
    """For each piece, `_Case.reading` when it came."""
    result: Any
    error: BaseException | None


class _Read(NamedTuple):
    """How far the responses were read; a later state is greater."""

    request: int = 0
    """The number of the request whose response was read last."""
    bytes: int = 0
    ended: bool = False
    """Whether the end of the body was read. What a client makes of the last bytes may depend on it:
    an event without its blank line."""


class _Case(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """One run: a transport that plays the cassette with a fault at one place."""

    def __init__(
        self,
        cases: _Cases,
        place: str = "",
        at: tuple[int, int] = (0, 0),
        fault: Fault | None = None,
        chunking: Chunking | None = None,
    ) -> None:
        self.place, self.at = place, at
        self.got = _Got([], [], None, None)
        self.reading = _Read()
        self.requested: dict[int, int] = {}
        """The number of the first request for each interaction."""
        self._cases, self._fault, self._chunking = cases, fault, chunking or cases.chunking
        self._requests = 0
        self._attempts: Counter[int] = Counter()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Play the recorded response."""
        played = self._played(sent_of(request, request.read()))
        body = _Watched(body_of(played, request), self)
        return played_response(played, body)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Play the recorded response."""
        played = self._played(sent_of(request, await request.aread()))
        body = _Watched(body_of(played, request), self)
        return played_response(played, body)

    def _played(self, sent: Sent) -> Played:
        self._requests += 1
        if self._requests > _MAX_REQUESTS:
            raise _Hang(f"more than {_MAX_REQUESTS} requests")
        player = self._cases.player
        index = player.take(sent)
        if index is None:
            raise player.unmatched(sent)
        self.reading = _Read(self._requests)
        self.requested.setdefault(index, self._requests)
        self._attempts[index] += 1
        played = self._cases.recorded[index]
        fault = self._fault
        if index == self.at[0] and fault is not None and fault.applies(self._attempts[index]):
            player.give_back(index)
            played = with_fault(played, fault)
        chunking = self._chunking
        if chunking.kind != "split" or index == self.at[0]:
            played = played._replace(chunks=chunking.cut(played.chunks))
        return played


class _Watched(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that tells how far it was read, and stops code that reads on after an error."""

    def __init__(self, body: Playing, case: _Case) -> None:
        self._body, self._case, self._number = body, case, case.reading.request
        self._read = self._reads_after_error = 0

    def __iter__(self) -> Iterator[bytes]:
        self._count_error()
        for data in self._body:
            yield self._counted(data)
        self._end()

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> bytes:
        self._count_error()
        try:
            return self._counted(await anext(self._body))
        except StopAsyncIteration:
            self._end()
            raise

    def _counted(self, data: bytes) -> bytes:
        self._reads_after_error = 0
        self._read += len(data)
        self._case.reading = _Read(self._number, self._read)
        return data

    def _end(self) -> None:
        self._case.reading = _Read(self._number, self._read, True)

    def _count_error(self) -> None:
        self._reads_after_error += 1
        if self._reads_after_error > _MAX_READS_AFTER_ERROR:
            raise _Hang(f"read on {_MAX_READS_AFTER_ERROR:,} times after the end")


def _run(function: Reads, case: _Case) -> _Got:
    pieces: list[Any] = []
    places: list[_Read] = []
    try:
        result = function(case)
        if inspect.isawaitable(result) or inspect.isasyncgen(result):
            raise _wrong_function(result, "async_sweep() runs an asynchronous function")
        if inspect.isgenerator(result):
            for piece in result:
                pieces.append(piece)
                places.append(case.reading)
            result = pieces
    except (Exception, _Hang) as error:
        return _Got(pieces, places, None, error)
    return _Got(pieces, places, result, None)


async def _async_run(function: Reads, case: _Case) -> _Got:
    pieces: list[Any] = []
    places: list[_Read] = []
    try:
        result: Any = None
        with anyio.move_on_after(_HANG_SECONDS) as clock:
            result = function(case)
            if inspect.isasyncgen(result):
                async for piece in result:
                    pieces.append(piece)
                    places.append(case.reading)
                result = pieces
            elif inspect.isawaitable(result):
                result = await result
            else:
                raise _wrong_function(result, "sweep() runs a synchronous function")
        if clock.cancelled_caught:
            return _Got(pieces, places, None, _Hang(f"it took more than {_HANG_SECONDS:g} s"))
    except (Exception, _Hang) as error:
        return _Got(pieces, places, None, error)
    return _Got(pieces, places, result, None)


class _Cases:
    """The runs of a sweep, and the judgement of each."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        fault: str,
        chunks: str,
        errors: Errors,
        match: Match | None,
    ) -> None:
        name = os.fspath(path)
        interactions = load(read_whole(path, CassetteError), name).interactions
        if not interactions:
            raise CassetteError(f"{name}: the cassette is empty")
        for index, each in enumerate(interactions):
            if each.messages is not UNSET:
                problem = "a session over WebSocket, which a sweep cannot play"
                raise CassetteError(f"{name}: interactions[{index}] is {problem}")
        compared = redacting(match or Match(), interactions)
        self.player = Player(interactions, compared, name, "")
        self.recorded = [self.player.played(index) for index in range(len(interactions))]
        self.chunking = chunking_of("recorded" if chunks == "every" else chunks)
        self._name, self._split_everywhere = name, chunks == "every"
        self._fault = fault_of(fault, _FAULTS)
        if self._fault.kind not in _FAULTS:
            raise ConfigurationError(f"fault: expected one of {', '.join(_FAULTS)}, not {fault!r}")
        self._errors = errors if isinstance(errors, tuple) else (errors,)
        if not all(isinstance(each, type) and issubclass(each, Exception) for each in self._errors):
            raise ConfigurationError("errors: expected a class of exceptions, or a tuple of them")
        self._whole: _Case | None = None
        self._runs = 0
        self._failures: list[SweepFailure] = []

    def all(self) -> Iterator[_Case]:
        """Yield the run as recorded, and then one for each place."""
        self._whole = self._new("as recorded")
        yield self._whole
        for index, played in enumerate(self.recorded):
            if index not in self._whole.requested:
                raise CassetteError(
                    f"{self._name}: the function did not request interactions[{index}]"
                )
            events = recorded_events(played)
            name = f"interactions[{index}]"
            if self._split_everywhere:
                for at in range(1, sum(map(len, events))):
                    chunking = Chunking("split", at)
                    yield self._new(f"{name}, split at byte {at}", (index, at), None, chunking)
                continue
            begin = 0
            yield self._at(index, "before event 1", (0, 0), 0)
            for number, event in enumerate(events):
                last = len(event) - 1
                for inside in dict.fromkeys((last // 2, last)):
                    # Garbage inside an event may leave JSON that no client can tell from the
                    # server's.
                    if inside > 0 and self._fault.kind != "garbage":
                        place = f"inside event {number + 1}"
                        yield self._at(index, place, (number, inside), begin + inside)
                begin += len(event)
                yield self._at(index, f"after event {number + 1}", (number + 1, 0), begin)

    def _at(self, index: int, where: str, place: tuple[int, int], byte: int) -> _Case:
        fault = replace(self._fault, after=place[0], bytes=place[1])
        return self._new(f"interactions[{index}], {where}, byte {byte}", (index, byte), fault)

    def _new(
        self,
        place: str,
        at: tuple[int, int] = (0, 0),
        fault: Fault | None = None,
        chunking: Chunking | None = None,
    ) -> _Case:
        self.player.rewind()
        return _Case(self, place, at, fault, chunking)

    def judge(self, case: _Case) -> None:
        """Count a run, and add what went wrong."""
        assert self._whole is not None
        error = case.got.error
        if isinstance(error, ConfigurationError) or (
            case is self._whole and error is not None and not self._is_allowed(error)
        ):
            raise error
        if case is self._whole:
            return
        self._runs += 1
        kind = self._kind(case, self._whole.got)
        if kind is not None:
            given = case.got.result if error is None else error
            detail = given if isinstance(given, str) else repr(given)
            if kind == "lost piece":
                detail = f"gave {case.got.pieces!r}, then {detail}"
            self._failures.append(SweepFailure(kind, case.place, detail[:_MAX_DETAIL]))

    def _kind(self, case: _Case, whole: _Got) -> Kind | None:
        got = case.got
        if isinstance(got.error, _Hang):
            return "hang"
        # With another request than those recorded, the code went on after part of a response.
        if got.error is None or isinstance(got.error, CassetteError):
            same = got.error is None and whole.error is None and got.result == whole.result
            return None if same else "silent truncation"
        if not self._is_allowed(got.error):
            return "foreign error"
        number = self._whole.requested[case.at[0]] if self._whole else 0
        until = _Read(number, case.at[1])
        received = [each <= until for each in whole.places].count(True)
        count = max(received, len(got.pieces))
        return None if got.pieces == whole.pieces[:count] else "lost piece"

    def _is_allowed(self, error: BaseException) -> bool:
        return isinstance(error, self._errors) and not isinstance(error, CassetteError)

    def report(self) -> SweepReport:
        """Return the report of all runs."""
        return SweepReport(self._runs, tuple(self._failures))


def _wrong_function(result: Any, remedy: str) -> ConfigurationError:
    if inspect.iscoroutine(result):
        result.close()  # else Python warns that it was never awaited
    return ConfigurationError(f"function: it returned {type(result).__name__}; {remedy}")
