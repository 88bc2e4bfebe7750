"""`result()`, `reply()` and `partial()` of a stream: nothing that was cut looks whole.

Tests run on threads, asyncio and trio, for each wire, at the raw and at the neutral door. A `Door`
hides the style, so that a test is written once, in plain calls.
"""

from __future__ import annotations

import functools
import json
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import anyio
import httpx
import msgspec
import pytest
from anyio.from_thread import start_blocking_portal

from tests.http.drive import Drive
from tests.http.loopback import LAST, STREAM, Loopback, Step, chunked, loopback, whole
from tests.http.loopback import text as gemini_text
from tests.joined import joined
from wire import AsyncClient, Client, Timeouts, anthropic, errors, gemini, notes, openai
from wire.chat.chat import AsyncChat, Chat
from wire.core.memory import PARTIAL
from wire.core.retry import NONE
from wire.neutral.messages import Done, Message, Stop, TextDelta, ToolResult


def sse(value: Any) -> bytes:
    """One event of any wire."""
    name = f"event: {value['type']}\n" if "type" in value else ""
    return f"{name}data: {json.dumps(value)}\n\n".encode()


@dataclass(frozen=True)
class Wire:
    """One answer ("Hello.") of one wire, whole and in pieces, and how each of its doors asks."""

    provider: str
    model: str
    plain: Any
    streamed: Any
    answer: dict[str, Any]
    begin: list[bytes]
    """Events up to the one that says "Hel": one chunk each."""
    end: list[bytes]
    """The other events. Without them the stream has no finish."""
    finish: str
    failure: bytes
    """An event with which the provider ends a stream by an error."""
    call_begins: list[bytes]
    """Events of a tool call that has begun and not ended; Gemini sends a call in one piece."""
    arguments: dict[str, Any] | None
    """What is known of the arguments by then."""


PART = {"functionCall": {"name": "now", "args": {"a": 1}, "id": "c"}}
REQUEST = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
GEMINI = Wire(
    provider="gemini",
    model="m",
    plain=gemini.generate_content("m", REQUEST),
    streamed=gemini.stream_generate_content("m", REQUEST),
    answer=gemini_text("Hello.", "STOP"),
    begin=[sse(gemini_text("Hel"))],
    end=[sse(gemini_text("lo.", "STOP"))],
    finish="STOP",
    failure=sse({"error": {"code": 503, "message": "Too busy.", "status": "UNAVAILABLE"}}),
    call_begins=[sse({"candidates": [{"content": {"role": "model", "parts": [PART]}}]})],
    arguments={"a": 1},
)


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse({"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


CALL = {"index": 0, "id": "c", "type": "function"}
SAID = openai.ChatCompletionRequest(model="m", messages=openai.messages("Hi"))
OPENAI = Wire(
    provider="openai",
    model="m",
    plain=openai.chat_completions(SAID),
    streamed=openai.stream_chat_completions(SAID),
    answer={
        "id": "c1",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hello."},
                "finish_reason": "stop",
            }
        ],
    },
    begin=[chunk({"role": "assistant", "content": "Hel"})],
    end=[chunk({"content": "lo."}), chunk({}, "stop"), b"data: [DONE]\n\n"],
    finish="stop",
    failure=sse({"error": {"message": "Too busy.", "type": "server_error", "code": 503}}),
    call_begins=[
        chunk({"tool_calls": [CALL | {"function": {"name": "now", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"ci'}}]}),
    ],
    arguments=None,
)

MODEL = "claude-sonnet-5"
HI = anthropic.Message(role="user", content="Hi")
ASKED = anthropic.MessageRequest(model=MODEL, max_tokens=9, messages=[HI])
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL}
ANTHROPIC = Wire(
    provider="anthropic",
    model=MODEL,
    plain=anthropic.create_message(ASKED),
    streamed=anthropic.stream_message(ASKED),
    answer={
        **MESSAGE,
        "content": [{"type": "text", "text": "Hello."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 2},
    },
    begin=[
        sse(
            {
                "type": "message_start",
                "message": {**MESSAGE, "content": [], "usage": {"input_tokens": 5}},
            }
        ),
        sse(
            {
                "type": "content_block_start",
                "index": 0,
                "content_block": {"type": "text", "text": ""},
            }
        ),
        sse(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "Hel"},
            }
        ),
    ],
    end=[
        sse(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "lo."},
            }
        ),
        sse({"type": "content_block_stop", "index": 0}),
        sse(
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"output_tokens": 2},
            }
        ),
        sse({"type": "message_stop"}),
    ],
    finish="end_turn",
    failure=sse({"type": "error", "error": {"type": "overloaded_error", "message": "Too busy."}}),
    call_begins=[
        sse(
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "id": "c", "name": "now", "input": {}},
            }
        ),
    ],
    arguments=None,
)
WIRES = [
    pytest.param(each, id=name)
    for name, each in (
        ("gemini", GEMINI),
        ("chat completions", OPENAI),
        ("messages", ANTHROPIC),
    )
]


class Opened:
    """A stream that is used by plain calls, in whatever style it runs."""

    def __init__(self, stream: Any, door: Door, run: Callable[..., Any] | None) -> None:
        self.stream, self._door = stream, door
        self.run = run
        """How to run an async function: in the event loop of the block, after it in a new one."""

    def next(self) -> Any:
        return next(self.stream) if self.run is None else self.run(anext, self.stream)

    def rest(self) -> list[Any]:
        async def rest() -> list[Any]:
            return [each async for each in self.stream]

        return list(self.stream) if self.run is None else self.run(rest)

    def result(self) -> Any:
        """What the raw door calls `result()` and the neutral one `reply()`."""
        read = self.stream.reply if self._door.neutral else self.stream.result
        return read() if self.run is None else self.run(read)

    def partial(self) -> Any:
        return self.stream.partial()


@dataclass(frozen=True)
class Door:
    """The raw or the neutral door in one style."""

    style: str
    neutral: bool

    @contextmanager
    def opened(self, server: Loopback, wire: Wire, **options: Any) -> Iterator[Opened]:
        options = {"api_key": "fake-key", "base_url": server.url, "retry": NONE, **options}
        name = f"{wire.provider}:{wire.model}"
        if self.style == "sync" and self.neutral:
            with Chat(name, max_tokens=9, **options) as chat, chat.stream("Hi") as events:
                yield Opened(events, self, None)
        elif self.style == "sync":
            with Client(wire.provider, **options) as client, client.stream(wire.streamed) as chunks:
                yield Opened(chunks, self, None)
        else:
            with start_blocking_portal(self.style) as portal:
                chat = AsyncChat(name, max_tokens=9, **options)
                with portal.wrap_async_context_manager(chat):
                    call = chat.stream("Hi") if self.neutral else chat.client.stream(wire.streamed)
                    with portal.wrap_async_context_manager(call) as stream:
                        opened = Opened(stream, self, portal.call)
                        try:
                            yield opened
                        finally:
                            opened.run = functools.partial(anyio.run, backend=self.style)

    def begun(self, stream: Opened, wire: Wire) -> None:
        """Read the stream until "Hel" was handed out."""
        if self.neutral:
            assert stream.next() == TextDelta("Hel")
        else:
            for _ in wire.begin:
                stream.next()
        assert stream.partial().text == "Hel"


@pytest.fixture(params=["raw", "neutral"])
def door(request: pytest.FixtureRequest, drive: Drive) -> Door:
    return Door(drive.name, request.param == "neutral")


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    found: Wire = request.param
    return found


def script(wire: Wire, *between: threading.Event) -> list[Step]:
    """The whole answer; an event holds the second half back."""
    return [STREAM, *map(chunked, wire.begin), *between, *map(chunked, wire.end), LAST]


def at_once(wire: Wire) -> list[Step]:
    """All events in one chunk of HTTP: with the first of them the others are there too."""
    return [STREAM, chunked(b"".join([*wire.begin, *wire.end])), LAST]


def parked(wire: Wire) -> list[Step]:
    """The beginning of the answer, and a server that then waits for the client to go."""
    return [STREAM, *map(chunked, wire.begin), "hold"]


def stop_of(answer: Any) -> str | None:
    """The vendor's word for why it stopped, of a raw answer or a reply."""
    if hasattr(answer, "stop"):
        return answer.stop.raw
    if isinstance(answer, anthropic.MessageResponse):
        return answer.stop_reason
    first = (answer.candidates if hasattr(answer, "candidates") else answer.choices)[0]
    return first.finish_reason


def says_partial(answer: Any) -> bool:
    return PARTIAL in notes(answer)


# --- whole ----------------------------------------------------------------------------------------


def test_result_reads_to_the_end_without_iterating(door: Door, wire: Wire) -> None:
    with loopback(script(wire)) as server, door.opened(server, wire) as stream:
        answer = stream.result()
        assert (answer.text, stop_of(answer), says_partial(answer)) == (
            "Hello.",
            wire.finish,
            False,
        )
        assert stream.rest() == [], "what was skipped is not handed out afterwards"


def test_result_is_what_the_plain_call_gives(door: Door, wire: Wire) -> None:
    def play(number: int, request: bytes) -> list[Step]:
        return [whole(wire.answer)] if number else script(wire)

    with loopback(play) as server:
        with door.opened(server, wire) as stream:
            result = stream.result()
        if door.neutral:
            options: Any = {"api_key": "fake-key", "base_url": server.url}
            with Chat(f"{wire.provider}:{wire.model}", max_tokens=9, **options) as chat:
                assert chat.ask("Hi") == result
        else:
            with Client(wire.provider, api_key="fake-key", base_url=server.url) as client:
                assert client.send(wire.plain) == result


def test_result_stays_after_the_block_and_is_the_same_twice(door: Door, wire: Wire) -> None:
    with loopback(script(wire)) as server:
        with door.opened(server, wire) as stream:
            told = stream.rest()
            first = stream.result()
        assert stream.result() is first
    assert first.text == stream.partial().text == "Hello."
    assert not says_partial(stream.partial())
    if door.neutral:
        assert told[-1].reply is first


def test_result_midway_reads_the_rest(door: Door, wire: Wire) -> None:
    go = threading.Event()
    with loopback(script(wire, go)) as server, door.opened(server, wire) as stream:
        door.begun(stream, wire)
        go.set()
        assert stream.result().text == "Hello."
        assert stream.rest() == []
        assert stream.result() is stream.result()


def test_result_skips_what_had_come_and_waited(door: Door, wire: Wire) -> None:
    with loopback(at_once(wire)) as server:
        with door.opened(server, wire) as stream:
            stream.next()
            answer = stream.result()
            assert (answer.text, stream.rest()) == ("Hello.", [])
        assert stream.result() is answer


def test_a_stream_read_by_result_gives_its_connection_back(drive: Drive, wire: Wire) -> None:
    with loopback(script(wire)) as server:

        def work(door: Any) -> None:
            for _ in range(3):
                assert door.result(wire.streamed).text == "Hello."

        drive.session(work, wire.provider, base_url=server.url)
        assert (server.connections, len(server.requests)) == (1, 3)


def test_the_answer_so_far_has_a_name_of_its_own(door: Door, wire: Wire) -> None:
    with loopback(parked(wire)) as server, door.opened(server, wire) as stream:
        door.begun(stream, wire)
        partial = stream.partial()
        assert (partial.text, stop_of(partial)) == ("Hel", None)
        assert [*map(str, notes(partial))][-1] == "partial: the response is incomplete"
        if door.neutral:
            assert partial.stop == Stop("other")
        assert stream.stream.account.attempts == 1


def test_each_door_has_its_own_word(drive: Drive) -> None:
    with loopback(script(GEMINI)) as server:
        with Door(drive.name, False).opened(server, GEMINI) as raw:
            assert not hasattr(raw.stream, "reply")
        with Door(drive.name, True).opened(server, GEMINI) as neutral:
            assert not hasattr(neutral.stream, "result")


# --- left early -----------------------------------------------------------------------------------


def failure(stream: Opened) -> errors.WireError:
    """What `result()` raises."""
    with pytest.raises(errors.WireError) as caught:
        stream.result()
    return caught.value


def test_a_stream_that_was_left_has_no_result(door: Door, wire: Wire) -> None:
    with loopback(parked(wire)) as server:
        with door.opened(server, wire) as stream:
            door.begun(stream, wire)
        error = failure(stream)
        assert type(error) is errors.StreamIncomplete
        assert "was left before its end" in str(error)
        assert (error.provider, error.attempts, error.retryable) == (wire.provider, 1, False)
        assert (error.partial.text, says_partial(error.partial)) == ("Hel", True)
        assert failure(stream) is error
        assert stream.partial().text == "Hel"
        assert says_partial(stream.partial())
        kept = pickle.loads(pickle.dumps(error))
        assert (kept.partial.text, says_partial(kept.partial)) == ("Hel", True)


def test_left_is_left_though_all_of_it_had_come(door: Door, wire: Wire) -> None:
    """Whether the rest had come in the same packet is chance, and decides nothing."""
    with loopback(at_once(wire)) as server:
        with door.opened(server, wire) as stream:
            assert stream.next() is not None
        error = failure(stream)
        assert type(error) is errors.StreamIncomplete
        assert says_partial(error.partial)
        if door.neutral:
            assert error.partial.stop.reason == "other"


def test_the_last_event_is_the_end_of_a_neutral_stream(drive: Drive, wire: Wire) -> None:
    """Who leaves at `Done` has not left early."""
    with loopback(script(wire)) as server:
        with Door(drive.name, True).opened(server, wire) as stream:
            event = None
            while not isinstance(event, Done):
                event = stream.next()
        assert stream.result() is event.reply


def test_iterating_after_the_block_raises_the_same(door: Door) -> None:
    with loopback(parked(GEMINI)) as server:
        with door.opened(server, GEMINI) as stream:
            stream.next()
        with pytest.raises(errors.StreamIncomplete) as caught:
            stream.next()
        assert caught.value is failure(stream)


def test_an_exception_of_the_caller_leaves_the_stream(door: Door, wire: Wire) -> None:
    with loopback(parked(wire)) as server:
        with pytest.raises(ZeroDivisionError), door.opened(server, wire) as stream:
            door.begun(stream, wire)
            raise ZeroDivisionError
        assert type(failure(stream)) is errors.StreamIncomplete


# --- broken ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (["reset"], errors.ConnectionLost),
        (["close"], errors.ConnectionLost),
        ([LAST], errors.StreamIncomplete),
    ],
    ids=["reset", "close", "no finish"],
)
@pytest.mark.parametrize("iterated", [True, False], ids=["iterated", "not iterated"])
def test_a_stream_that_broke_raises_what_it_broke_with(
    door: Door,
    wire: Wire,
    end: list[Any],
    kind: type[errors.WireError],
    iterated: bool,
) -> None:
    with loopback([STREAM, *map(chunked, wire.begin), *end]) as server:
        with door.opened(server, wire) as stream:
            with pytest.raises(kind) as broke:
                stream.rest() if iterated else stream.result()
            with pytest.raises(kind) as again:
                stream.result()
            assert again.value is broke.value
            assert stream.partial().text == "Hel"
        assert failure(stream) is broke.value
    error = broke.value
    assert type(error) is kind
    assert (error.partial.text, says_partial(error.partial)) == ("Hel", True)
    if door.neutral:
        assert error.partial.stop == Stop("other")
    assert len(server.requests) == 1


def test_a_stream_that_stalls_ends_in_the_same_clock_each_time(door: Door) -> None:
    with loopback(parked(GEMINI)) as server:
        clocks = Timeouts(first_byte=10, idle=0.3)
        with door.opened(server, GEMINI, timeouts=clocks) as stream:
            error = failure(stream)
            assert (type(error), error.partial.text) == (errors.IdleClock, "Hel")
            assert failure(stream) is error


def test_an_error_of_the_provider_in_the_middle(door: Door, wire: Wire) -> None:
    events = [*wire.begin, wire.failure]
    with loopback([STREAM, *map(chunked, events), LAST]) as server:
        with door.opened(server, wire) as stream, pytest.raises(errors.APIError) as caught:
            stream.result()
    partial = caught.value.partial
    assert (partial.text, says_partial(partial)) == ("Hel", True)
    if door.neutral:
        assert partial.stop == Stop("error", message="Too busy.")


# --- what a reply so far claims -------------------------------------------------------------------


def test_a_call_in_the_middle_is_no_call_to_be_made(drive: Drive, wire: Wire) -> None:
    door = Door(drive.name, True)
    events = [*wire.begin, *wire.call_begins]
    with loopback([STREAM, *map(chunked, events), "hold"]) as server:
        with door.opened(server, wire) as stream:
            while not stream.partial().tool_calls:
                stream.next()
            partial = stream.partial()
        assert (partial.stop, says_partial(partial)) == (Stop("other"), True)
        (call,) = partial.tool_calls
        assert (call.id, call.name, call.arguments) == ("c", "now", wire.arguments)
        assert failure(stream).partial == partial


def test_a_partial_may_go_on_as_history_and_its_reply_says_nothing_of_it(drive: Drive) -> None:
    """The note is of the partial reply: a message says what it says."""
    door = Door(drive.name, True)
    with loopback(parked(OPENAI)) as server:
        with door.opened(server, OPENAI) as stream:
            door.begun(stream, OPENAI)
            partial = stream.partial()
    with loopback([whole(OPENAI.answer)]) as server:
        options: Any = {"api_key": "fake-key", "base_url": server.url}
        with Chat("openai:m", **options) as chat:
            said = [Message.user("Hi"), partial.message, Message.user("Go on.")]
            assert not says_partial(chat.ask(messages=said))
            body = json.loads(server.requests[0].partition(b"\r\n\r\n")[2])
    assert body["messages"][1] == {"role": "assistant", "content": "Hel"}


def test_a_call_of_a_partial_needs_its_result_as_any_other(drive: Drive) -> None:
    door = Door(drive.name, True)
    events = [*OPENAI.begin, *OPENAI.call_begins]
    with loopback([STREAM, *map(chunked, events), "hold"]) as server:
        with door.opened(server, OPENAI) as stream:
            while not stream.partial().tool_calls:
                stream.next()
            message = stream.partial().message
    with Chat("openai:m", api_key="fake-key") as chat:
        with pytest.raises(errors.HistoryError, match="has no result"):
            chat.call(messages=[Message.user("Hi"), message, Message.user("Go on.")])
        result = Message.tool_response(ToolResult("c", "now", "noon"))
        assert chat.call(messages=[Message.user("Hi"), message, result]).body


def test_a_call_of_ones_own_may_fold_to_anything(drive: Drive) -> None:
    counting = replace(
        GEMINI,
        streamed=msgspec.structs.replace(GEMINI.streamed, fold=len),
    )
    go = threading.Event()
    with loopback(script(GEMINI, go)) as server:
        with Door(drive.name, False).opened(server, counting) as stream:
            stream.next()
            assert stream.partial() == 1
            go.set()
            assert stream.result() == 2


# --- several readers ------------------------------------------------------------------------------


HEL = b'data: {"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}\n\n'
LO = b'data: {"candidates":[{"content":{"parts":[{"text":"lo."}]},"finishReason":"STOP"}]}\n\n'


class Held(httpx.SyncByteStream):
    """A body whose second half is held back until `go`; `waiting` is set by who reads for it."""

    def __init__(self) -> None:
        self.waiting, self.go = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield HEL
        self.waiting.set()
        assert self.go.wait(5)
        yield LO


def test_a_second_thread_that_reads_gets_an_error_and_the_first_goes_on() -> None:
    body, read = Held(), list[str]()
    http = httpx.MockTransport(lambda _: httpx.Response(200, stream=body))
    with Client("gemini", api_key="fake-key", http=http) as client:
        with client.stream(GEMINI.streamed) as chunks:
            next(chunks)
            reader = threading.Thread(target=lambda: read.extend(each.text for each in chunks))
            reader.start()
            assert body.waiting.wait(5)
            with pytest.raises(errors.StreamError, match="is being read by another"):
                chunks.result()
            body.go.set()
            reader.join(5)
            assert read == ["lo."]
            assert chunks.result().text == "Hello."


@joined("neutral", [False, True])
@joined("backend", ["asyncio", "trio"])
def test_a_second_task_that_reads_gets_an_error_too(backend: str, neutral: bool) -> None:
    second = threading.Event()

    def play(number: int, request: bytes) -> Iterator[bytes]:
        yield STREAM
        yield from map(chunked, GEMINI.begin)
        assert second.wait(5)
        yield from map(chunked, GEMINI.end)
        yield LAST

    async def main(url: str) -> tuple[list[str], str]:
        read: list[str] = []

        async def reader() -> None:
            async for each in stream:
                read.extend([each.text] if hasattr(each, "text") else [])

        options: Any = {"api_key": "fake-key", "base_url": url}
        async with AsyncChat("gemini:m", **options) as chat:
            call = chat.stream("Hi") if neutral else chat.client.stream(GEMINI.streamed)
            async with call as stream:
                await anext(stream)
                result = stream.reply if neutral else stream.result  # type: ignore[union-attr]
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(reader)
                    await anyio.wait_all_tasks_blocked()
                    with pytest.raises(errors.StreamError, match="is being read by another"):
                        await result()
                    second.set()
                return read, (await result()).text

    with loopback(play) as server:
        assert anyio.run(main, server.url, backend=backend) == (["lo."], "Hello.")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_task_that_still_reads_when_the_block_is_left_is_told_so(backend: str) -> None:
    ended: list[errors.WireError] = []

    async def main(url: str) -> None:
        async def reader() -> None:
            with pytest.raises(errors.WireError) as caught:
                await stream.result()
            ended.append(caught.value)

        async with AsyncClient("gemini", api_key="fake-key", base_url=url) as client:
            async with anyio.create_task_group() as tasks:
                async with client.stream(GEMINI.streamed) as stream:
                    tasks.start_soon(reader)
                    await anyio.wait_all_tasks_blocked()
            with pytest.raises(errors.StreamIncomplete) as again:
                await stream.result()
            assert again.value is ended[0]

    with loopback(parked(GEMINI)) as server:
        anyio.run(main, server.url, backend=backend)
    assert "left before its end" in str(ended[0])
