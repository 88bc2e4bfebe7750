"""Sweeps: each cut of a conversation, each split of a stream, and what careless code does there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.testing.cassette.ways import Way
from wire import AsyncChat, Chat, Done, TextDelta, WireError
from wire.errors import CassetteError, ConfigurationError
from wire.testing import Record, SweepReport, async_sweep, sweep

FIXTURES = Path(__file__).parents[2] / "fixtures"
MODELS = {
    "gemini": "gemini:gemini-3.8-flash",
    "openai": "openai@chat:gpt-5.4",
    "anthropic": "anthropic:claude-opus-4-8",
    "responses": "openai:gpt-5.4",
}
OPTIONS: dict[str, Any] = {"api_key": "fake-key", "retry": None}


def _streams() -> Iterator[tuple[str, str, bytes]]:
    for wire in ("gemini", "anthropic", "responses"):
        for path in sorted((FIXTURES / wire / "streams").glob("*.sse")):
            yield wire, path.stem, path.read_bytes()
    for line in (FIXTURES / "openai" / "streams.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        yield "openai", case["id"], case["sse"].encode()


STREAMS = {f"{wire}/{name}": (wire, data) for wire, name, data in _streams()}


def answering(*bodies: bytes) -> httpx.MockTransport:
    """A server that sends these streams."""
    left = list(bodies)
    headers = {"content-type": "text/event-stream"}
    return httpx.MockTransport(
        lambda request: httpx.Response(200, headers=headers, content=left.pop(0))
    )


def recorded(path: Path, wire: str, *bodies: bytes) -> Path:
    """A cassette of a conversation that gets these streams."""
    with Chat(MODELS[wire], http=Record(answering(*bodies), path), **OPTIONS) as chat:
        for _ in bodies:
            try:
                with chat.stream("Hi") as events:
                    events.reply()
            except WireError:
                pass  # the stream is one that ends in an error
    return path


def _piece(event: Any) -> Any:
    """An event; of the last one what the model said, without what is known of the transfer."""
    if not isinstance(event, Done):
        return event
    return event.reply.text, event.reply.tool_calls, event.reply.stop


def reader(wire: str) -> Callable[[Any], Iterator[Any]]:
    def read(http: Any) -> Iterator[Any]:
        with Chat(MODELS[wire], http=http, **OPTIONS) as chat, chat.stream("Hi") as events:
            for event in events:
                yield _piece(event)
            events.reply()

    return read


def async_reader(wire: str) -> Callable[[Any], AsyncIterator[Any]]:
    async def read(http: Any) -> AsyncIterator[Any]:
        async with AsyncChat(MODELS[wire], http=http, **OPTIONS) as chat:
            async with chat.stream("Hi") as events:
                async for event in events:
                    yield _piece(event)
                await events.reply()

    return read


def swept(way: Way, path: Path, function: Any, **options: Any) -> SweepReport:
    """A sweep with a function for threads, or with one for asyncio and trio."""
    if way.name == "sync":
        return sweep(path, function, **options)

    async def main() -> SweepReport:
        return await async_sweep(path, function, **options)

    return anyio.run(main, backend=way.name)


def reader_of(way: Way, wire: str) -> Any:
    return reader(wire) if way.name == "sync" else async_reader(wire)


EARLY = {
    # The finish, by which a stream is complete, is not the last that the server sends: what
    # comes after it differs from the whole stream without an error.
    "cut": {
        "gemini/cut-after-finish": 2,
        "gemini/finish-early": 2,
        "gemini/finish-repeated": 4,
        "openai/baseten-text-after-finish": 2,
        "openai/together-finish-for-each-call": 2,
    },
    "garbage": {},
}
EARLY |= {"reset": EARLY["cut"], "stall": EARLY["cut"]}
EARLY["end"] = EARLY["cut"] | {
    "gemini/finish-early": 4,
    "openai/baseten-text-after-finish": 3,
    "openai/together-finish-for-each-call": 3,
    "openai/two-in-one": 1,
    "openai/damaged-chunk": 1,
}


@pytest.mark.row("C-34")
@pytest.mark.parametrize("fault", EARLY)
@pytest.mark.parametrize(
    "each_of", [pytest.param(1, marks=pytest.mark.slow, id="all"), pytest.param(30, id="some")]
)
def test_the_chat_survives_every_break_of_the_fixtures(
    each_of: int, fault: str, tmp_path: Path
) -> None:
    """0 hangs, 0 foreign errors, 0 lost pieces; no silent truncation before the finish."""
    path = tmp_path / "x.cassette.json"
    runs, found, early = 0, [], Counter[str]()
    swept = dict(list(STREAMS.items())[::each_of])
    for name, (wire, data) in swept.items():
        report = sweep(recorded(path, wire, data), reader(wire), fault=fault)
        runs += report.runs
        for each in report.failures:
            if each.kind == "silent truncation" and "Stop(reason=" in each.detail:
                early[name] += 1
            else:
                found.append(f"{name}: {each}")
    assert found == []
    assert early == {name: count for name, count in EARLY[fault].items() if name in swept}
    assert runs > 600 // each_of


STREAM = b"".join(
    f"data: {json.dumps(each, ensure_ascii=False)}\r\n\r\n".encode()
    for each in (
        {"candidates": [{"content": {"parts": [{"text": "High 潮"}], "role": "model"}}]},
        {"candidates": [{"content": {"parts": [{"text": " at 5."}], "role": "model"}}]},
        {"candidates": [{"content": {"parts": [], "role": "model"}, "finishReason": "STOP"}]},
    )
)


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    return recorded(tmp_path / "x.cassette.json", "gemini", STREAM)


@pytest.mark.row("C-34")
@pytest.mark.parametrize("wire", MODELS)
def test_a_sweep_on_threads_asyncio_and_trio(way: Way, wire: str, tmp_path: Path) -> None:
    name = "openai/two-choices" if wire == "openai" else f"{wire}/parallel-calls"
    path = recorded(tmp_path / "x.cassette.json", wire, STREAMS[name][1])
    report = swept(way, path, reader_of(way, wire))
    assert report.failures == ()
    events = STREAMS[name][1].replace(b"\r\n", b"\n").count(b"\n\n")
    assert report.runs == 1 + 3 * events  # before the first, twice inside and after each


@pytest.mark.row("C-32")
@pytest.mark.parametrize(
    "wire",
    [pytest.param(each, marks=() if each == "openai" else pytest.mark.slow) for each in MODELS],
)
def test_every_split_gives_the_same(wire: str, tmp_path: Path) -> None:
    """All splits of a short stream."""
    lengths = {len(data): data for name, data in STREAMS.values() if name == wire}
    data = lengths[min(each for each in lengths if each > 400)]
    path = recorded(tmp_path / "x.cassette.json", wire, data)
    report = sweep(path, reader(wire), chunks="every")
    assert (report.runs, report.failures) == (len(data) - 1, ())


@pytest.mark.row("C-32")
def test_every_split_in_an_event_loop(way: Way, tmp_path: Path) -> None:
    data = STREAM[: len(STREAM) // 3]
    path = recorded(tmp_path / "x.cassette.json", "gemini", data)
    report = swept(way, path, reader_of(way, "gemini"), chunks="every")
    assert (report.runs, report.failures) == (len(data) - 1, ())


# --- careless code --------------------------------------------------------------------------------


@pytest.fixture
def lines(cassette: Path) -> Callable[[Any], Iterator[str]]:
    """Sends the recorded request with httpx alone, and reads the texts of the response."""
    request = json.loads(cassette.read_text("utf-8"))["interactions"][0]["request"]

    def read(http: Any) -> Iterator[str]:
        with httpx.Client(transport=http) as client:
            body = request["body"]["json"]
            with client.stream("POST", request["url"], json=body) as response:
                for line in response.iter_lines():
                    if line:
                        value = json.loads(line.removeprefix("data: "))
                        parts = value["candidates"][0]["content"]["parts"]
                        yield "".join(part["text"] for part in parts)

    return read


def _counts(report: SweepReport) -> dict[str, int]:
    return dict(Counter(each.kind for each in report.failures))


@pytest.mark.row("C-34")
def test_code_that_lets_errors_through_survives(cassette: Path, lines: Any) -> None:
    for fault in ("cut", "reset", "stall"):
        report = sweep(cassette, lines, fault=fault, errors=httpx.HTTPError)
        assert str(report) == (
            "10 runs: 0 hangs, 0 foreign errors, 0 silent truncations, 0 lost pieces"
        )
        report.check()


@pytest.mark.row("C-34")
def test_code_that_swallows_the_error_truncates_in_silence(cassette: Path, lines: Any) -> None:
    def read(http: Any) -> list[str]:
        found = []
        try:
            for text in lines(http):
                found.append(text)
        except httpx.HTTPError:
            pass
        return found

    report = sweep(cassette, read)
    # At the last two places all texts were read.
    assert _counts(report) == {"silent truncation": 8}
    assert report.failures[0] == (
        "silent truncation",
        "interactions[0], before event 1, byte 0",
        "[]",
    )
    assert report.failures[-1].detail == "['High 潮', ' at 5.']"
    with pytest.raises(CassetteError, match=r"^10 runs: 0 hangs, 0 foreign errors, 8 silent trun"):
        report.check()


@pytest.mark.row("C-34")
def test_code_that_sees_no_finish_truncates_in_silence(cassette: Path, lines: Any) -> None:
    report = sweep(cassette, lines, fault="end", errors=httpx.HTTPError)
    # Half an event is no JSON here; before the last line end, it is whole.
    assert _counts(report) == {"silent truncation": 5, "foreign error": 3}
    assert {each.detail[:16] for each in report.failures if each.kind == "foreign error"} == {
        "JSONDecodeError("
    }


@pytest.mark.row("C-34")
def test_a_retry_that_repeats_pieces_is_found(cassette: Path, lines: Any) -> None:
    def read(http: Any) -> Iterator[str]:
        try:
            yield from lines(http)
        except httpx.HTTPError:
            yield from lines(http)

    always = sweep(cassette, read, errors=httpx.HTTPError)
    assert set(_counts(always)) == {"lost piece"}
    assert always.failures[0].detail.startswith("gave ['High 潮', 'High 潮'], then Remote")
    once = sweep(cassette, read, fault="cut; times=1", errors=httpx.HTTPError)
    assert set(_counts(once)) == {"silent truncation"}
    # Where nothing was given before the cut, a retry is right.
    assert len(once.failures) == len(always.failures) < once.runs


@pytest.mark.row("C-34")
def test_half_a_piece_is_another_piece(cassette: Path, lines: Any) -> None:
    def read(http: Any) -> Iterator[str]:
        try:
            yield from lines(http)
        except httpx.HTTPError:
            yield "half"
            raise

    report = sweep(cassette, read, errors=httpx.HTTPError)
    assert _counts(report) == {"lost piece": report.runs}


@pytest.mark.row("C-34")
def test_code_that_asks_for_ever_hangs(way: Way, cassette: Path, lines: Any) -> None:
    def read(http: Any) -> list[str]:
        while True:
            try:
                return list(lines(http))
            except Exception:
                pass

    request = json.loads(cassette.read_text("utf-8"))["interactions"][0]["request"]

    async def read_in_a_loop(http: Any) -> str:
        async with httpx.AsyncClient(transport=http) as client:
            while True:
                try:
                    return (await client.post(request["url"], json=request["body"]["json"])).text
                except httpx.HTTPError:
                    pass

    report = swept(way, cassette, read if way.name == "sync" else read_in_a_loop)
    assert _counts(report) == {"hang": report.runs}
    assert report.failures[0].detail == "_Hang('more than 100 requests')"


@pytest.mark.row("C-34")
def test_code_that_goes_on_with_half_a_response_truncates(tmp_path: Path) -> None:
    def read(http: Any) -> str:
        first = ""
        with Chat(MODELS["gemini"], http=http, **OPTIONS) as chat:
            try:
                with chat.stream("Hi") as events:
                    for event in events:
                        first += event.text if isinstance(event, TextDelta) else ""
            except WireError:
                pass
            with chat.stream(f"Repeat: {first}") as events:
                return events.reply().text

    path = tmp_path / "x.cassette.json"
    read(Record(answering(STREAM, STREAM), path))
    report = sweep(path, read)
    assert set(_counts(report)) == {"silent truncation"}
    assert {each.place.partition(",")[0] for each in report.failures} == {"interactions[0]"}
    assert "no recorded response to POST" in report.failures[0].detail


@pytest.mark.row("C-34")
def test_each_interaction_of_a_conversation_is_cut(tmp_path: Path) -> None:
    path = recorded(tmp_path / "x.cassette.json", "gemini", STREAM, STREAM)

    def read(http: Any) -> Iterator[Any]:
        with Chat(MODELS["gemini"], http=http, **OPTIONS) as chat:
            for _ in range(2):
                with chat.stream("Hi") as events:
                    yield from map(_piece, events)

    report = sweep(path, read)
    assert (report.runs, report.failures) == (20, ())

    def only_the_first(http: Any) -> Iterator[Any]:
        yield from reader("gemini")(http)

    with pytest.raises(CassetteError, match=r"the function did not request interactions\[1\]"):
        sweep(path, only_the_first)


# --- bad input ------------------------------------------------------------------------------------


def test_a_sweep_refuses_other_faults(cassette: Path) -> None:
    for fault in ("drop; after=1", "503", "repeat"):
        with pytest.raises(ConfigurationError, match=r"^fault: "):
            sweep(cassette, reader("gemini"), fault=fault)
    with pytest.raises(ConfigurationError, match=r"^chunks: "):
        sweep(cassette, reader("gemini"), chunks="each")


def test_a_sweep_refuses_a_function_of_the_other_kind(way: Way, cassette: Path) -> None:
    async def coroutine(http: Any) -> str:
        return ""

    kinds = [coroutine, async_reader("gemini")] if way.name == "sync" else [reader("gemini")]
    for function in kinds:
        with pytest.raises(ConfigurationError, match=r"^function: it returned .*sweep\(\) runs"):
            swept(way, cassette, function)


def test_a_sweep_raises_what_the_code_raises_without_a_fault(cassette: Path) -> None:
    def wrong(http: Any) -> None:
        raise LookupError("the code is wrong")

    with pytest.raises(LookupError, match="the code is wrong"):
        sweep(cassette, wrong)


def test_a_sweep_of_an_empty_cassette_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.cassette.json"
    path.write_text('{"wire_cassette": 1, "interactions": []}', "utf-8")
    with pytest.raises(CassetteError, match="the cassette is empty"):
        sweep(path, reader("gemini"))
