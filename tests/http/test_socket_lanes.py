"""Requests of Responses that follow each other on WebSockets: `connection="socket"`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from tests.http.drive import EVERY, Drive
from tests.http.frames import Peer, accepted, close, served, text
from tests.http.loopback import Loopback, head, loopback, whole
from wire import (
    Agent,
    AsyncChat,
    Chat,
    Client,
    Message,
    Retry,
    Timeouts,
    answer_account,
    errors,
    tool,
)
from wire.http.socket_state import KEPT_SECONDS
from wire.openai import chat_completions, responses
from wire.openai import types as chat_types


def asked(*words: str) -> responses.ResponseRequest:
    items = [responses.Item(role="user", content=each) for each in words]
    return responses.ResponseRequest(model="m", input=items, store=False)


def streamed(*words: str) -> Any:
    return responses.stream_response(asked(*words))


def answer(words: str, id: str = "resp_1", item: Any = None) -> list[bytes]:
    """The messages of one response."""
    said = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed"}
    part = {"type": "output_text", "text": words, "annotations": []}
    done = item or {**said, "content": [part]}
    base = {"id": id, "object": "response", "model": "m"}
    place = {"output_index": 0, "content_index": 0, "item_id": "msg_1"}
    return [
        text({"type": "response.created", "response": {**base, "status": "in_progress"}}),
        text({"type": "response.output_text.delta", "delta": words, **place}),
        text({"type": "response.output_item.done", "output_index": 0, "item": done}),
        text(
            {
                "type": "response.completed",
                "response": {**base, "status": "completed", "output": [done], "usage": USAGE},
            }
        ),
    ]


USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}


def parrot(seen: list[Any]) -> Callable[[int, bytes], list[Any]]:
    """Answers each request by its last input; keeps what came, with the number of the socket."""

    def script(number: int, request: bytes) -> list[Any]:
        def serve(talk: Any) -> None:
            peer = Peer(talk)
            while (message := peer.message()) is not None:
                seen.append((number, message))
                peer.send(*answer(str(message["input"][-1]["content"]), f"resp_{len(seen)}"))

        return [accepted(request), serve, "close"]

    return script


def options(server: Loopback, **more: Any) -> dict[str, Any]:
    base = {"provider": "openai", "base_url": f"{server.url}/v1", "connection": "socket"}
    return {**base, **more}


@pytest.mark.parametrize("drive", EVERY)
def test_calls_follow_each_other_on_one_socket(drive: Drive) -> None:
    seen: list[Any] = []
    with loopback(parrot(seen)) as server:

        def work(door: Any) -> list[Any]:
            whole_one = door.send(responses.create_response(asked("Hi")))
            second = door.result(streamed("Ho"))
            again = responses.ResponseRequest(
                model="m", input=[*asked("Ho").input, *second.output, *asked("He").input]
            )
            third = door.result(responses.stream_response(again))
            account = answer_account(third)
            assert account is not None
            assert (account.attempts, account.status) == (1, 200)
            assert account.sent < answer_account(second).sent * 1.5  # type: ignore[union-attr]
            return [whole_one, second, third]

        got = drive.session(work, **options(server))
    assert [each.output[0].content[0].text for each in got] == ["Hi", "Ho", "He"]
    assert [each.usage.total_tokens for each in got] == [5, 5, 5]
    assert [number for number, _ in seen] == [0, 0, 0]
    assert [message.get("previous_response_id") for _, message in seen] == [None, None, "resp_2"]
    assert [len(message["input"]) for _, message in seen] == [1, 1, 1]
    assert all("stream" not in message for _, message in seen)
    assert b"authorization: Bearer fake-key" in server.requests[0]
    assert b"content-type" not in server.requests[0].lower()
    assert len(server.requests) == 1


@pytest.mark.parametrize("drive", EVERY)
def test_a_refusal_is_the_error_of_its_status_and_the_socket_stays(drive: Drive) -> None:
    def script(peer: Peer) -> None:
        for status, code in ((429, "rate_limit_exceeded"), (400, "invalid_prompt")):
            peer.message()
            error = {"message": "No fake-key.", "code": code, "type": "x"}
            peer.send(text({"type": "error", "status": status, "error": error}))
        peer.message()
        peer.send(*answer("Hello."))
        peer.frame()

    with loopback(served(script)) as server:

        def work(door: Any) -> Any:
            with pytest.raises(errors.BadRequestError) as caught:
                door.result(streamed("Hi"))
            return caught.value, door.result(streamed("Ho")).output[0].content[0].text

        error, words = drive.session(work, **options(server))
    assert str(error) == "openai: 400 invalid_prompt: No ***. (after 2 attempts)"
    assert (words, len(server.requests)) == ("Hello.", 1)


@pytest.mark.parametrize("drive", EVERY)
def test_what_the_server_has_forgotten_is_sent_whole(drive: Drive) -> None:
    got: list[Any] = []

    def script(peer: Peer) -> None:
        got.append(peer.message())
        peer.send(*answer("Hello."))
        got.append(peer.message())
        error = {"message": "Gone.", "code": "previous_response_not_found"}
        peer.send(text({"type": "error", "status": 400, "error": error}))
        got.append(peer.message())
        peer.send(*answer("Again."))
        peer.frame()

    with loopback(served(script)) as server:

        def work(door: Any) -> Any:
            first = door.result(streamed("Hi"))
            items = [*asked("Hi").input, *first.output, *asked("Ho").input]  # type: ignore[misc]
            again = responses.ResponseRequest(model="m", input=items)
            return door.result(responses.stream_response(again))

        reply = drive.session(work, **options(server))
    assert reply.output[0].content[0].text == "Again."
    assert [len(each["input"]) for each in got] == [1, 1, 3]
    assert [each.get("previous_response_id") for each in got] == [None, "resp_1", None]


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize("how", ["too old", "closed", "cut", "closed before it was used"])
def test_a_socket_that_ended_meanwhile_is_replaced(drive: Drive, how: str) -> None:
    closed = threading.Event()

    def script(number: int, request: bytes) -> list[Any]:
        def serve(talk: Any) -> None:
            peer = Peer(talk)
            peer.message()
            peer.send(*answer(f"socket {number}"))
            if number == 0:
                if how == "closed before it was used":
                    peer.send(close(1001))
                    closed.set()
                    return
                closed.set()
                peer.message()
                error = {"message": "60 minutes", "code": "websocket_connection_limit_reached"}
                ends = {
                    "too old": text({"type": "error", "status": 400, "error": error}),
                    "closed": close(1001),
                    "cut": b"",
                }
                peer.send(ends[how])
                if how == "too old":
                    peer.frame()
            else:
                peer.frame()

        return [accepted(request), serve, "close"]

    with loopback(script) as server:

        def work(door: Any) -> Any:
            one = door.result(streamed("Hi"))
            assert closed.wait(10)
            two = door.result(streamed("Ho"))
            account = answer_account(two)
            assert account is not None
            return [each.output[0].content[0].text for each in (one, two)], account.attempts

        assert drive.session(work, **options(server)) == (["socket 0", "socket 1"], 1)


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize(
    ("end", "kind", "words"),
    [
        (b"", "ConnectionLost", "the connection broke off"),
        (close(1011, "Overworked fake-key"), "ConnectionLost", "Overworked ***"),
        (b"\xc1\x00", "ConnectionLost", "not WebSocket"),
        (
            text({"type": "error", "error": {"message": "Oh.", "code": "server_error"}}),
            "ServerError",
            "server_error: Oh.",
        ),
        (
            text({"type": "response.failed",
                  "response": {"status": "failed", "error": {"code": "x", "message": "Oh."}}}),
            "ServerError",
            "x: Oh.",
        ),
    ],
    ids=["cut", "closed", "malformed", "error", "failed"],
)  # fmt: skip
def test_an_answer_that_breaks_off_has_its_partial(
    drive: Drive, end: bytes, kind: str, words: str
) -> None:
    def script(peer: Peer) -> None:
        peer.message()
        peer.send(*answer("Hel")[:2], end)
        if end[:1] == b"\x81":
            peer.frame()

    with loopback(served(script)) as server:
        result = drive.session(lambda door: door.read_events(streamed("Hi")), **options(server))
    error = result.error
    assert type(error).__name__ == kind
    assert words in str(error)
    assert error.partial.output[0].content[0].text == "Hel"
    assert not error.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize("drive", EVERY)
def test_a_silent_answer_is_ended_by_the_clocks(drive: Drive) -> None:
    def script(peer: Peer) -> None:
        peer.message()
        peer.frame()

    once = {"retry": Retry(attempts=1)}
    with loopback(served(script)) as server:
        with pytest.raises(errors.FirstByteClock, match=r"timeouts.first_byte of 0.2 s is over"):
            drive.session(
                lambda door: door.result(streamed("Hi")),
                **options(server, timeouts=Timeouts(first_byte=0.2), **once),
            )

    def begun(peer: Peer) -> None:
        peer.message()
        peer.send(*answer("Hel")[:2])
        peer.frame()

    with loopback(served(begun)) as server:
        with pytest.raises(errors.IdleClock, match=r"timeouts.idle of 0.2 s is over") as caught:
            drive.session(
                lambda door: door.result(streamed("Hi")),
                **options(server, timeouts=Timeouts(idle=0.2), **once),
            )
    assert caught.value.partial.output[0].content[0].text == "Hel"


@pytest.mark.parametrize("drive", EVERY)
def test_a_refused_handshake_is_the_error_of_its_status(drive: Drive) -> None:
    body = {"error": {"message": "Not here.", "code": "not_found"}}
    with loopback([whole(body, 404)]) as server:
        with pytest.raises(errors.NotFoundError, match="Not here"):
            drive.session(lambda door: door.result(streamed("Hi")), **options(server))
    with loopback([whole({"id": "resp_1"})]) as server:
        with pytest.raises(errors.StreamInvalid, match="status 200 in place of 101"):
            drive.session(lambda door: door.result(streamed("Hi")), **options(server))


@pytest.mark.parametrize("drive", EVERY)
def test_other_calls_go_over_http(drive: Drive) -> None:
    completion = {
        "object": "chat.completion",
        "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
    }
    request = chat_types.ChatCompletionRequest(
        model="m", messages=[chat_types.Message(role="user", content="Hi")]
    )
    in_background = responses.ResponseRequest(model="m", input="Hi", background=True)
    queued = {"id": "resp_1", "object": "response", "status": "queued", "background": True}
    with loopback(lambda number, _: [whole(queued if number else completion)]) as server:

        def work(door: Any) -> Any:
            door.send(chat_completions(request))
            return door.send(responses.create_response(in_background)).status

        assert drive.session(work, **options(server)) == "queued"
    assert [each.split(b" ")[0] for each in server.requests] == [b"POST", b"POST"]


@pytest.mark.parametrize("drive", EVERY)
def test_an_answer_that_is_left_ends_its_socket(drive: Drive) -> None:
    def script(peer: Peer) -> None:
        peer.message()
        peer.send(*answer("Hel")[:2])
        peer.frame()

    with loopback(served(script)) as server:

        def work(door: Any) -> None:
            door.read_events(streamed("Hi"), most=1)
            assert server.closed.acquire(timeout=10)

        drive.session(work, **options(server))


def test_a_socket_is_not_used_beyond_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    with loopback(parrot(seen)) as server:
        with Client(name="openai", api_key="fake-key", **without(options(server))) as client:
            client.send(responses.create_response(asked("Hi")))
            lanes = client._sockets
            assert lanes is not None
            lanes._idle[0].born -= KEPT_SECONDS
            client.send(responses.create_response(asked("Ho")))
    assert [number for number, _ in seen] == [0, 1]


def without(given: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in given.items() if key != "provider"}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_answers_at_the_same_time_have_a_socket_each(backend: str) -> None:
    seen: list[Any] = []

    async def main(server: Loopback) -> None:
        chat = AsyncChat("openai@responses:m", api_key="fake-key", **without(options(server)))
        replies: dict[str, str] = {}

        async def ask(words: str) -> None:
            replies[words] = (await chat.ask(words)).text

        async with chat:
            for _ in range(2):
                async with anyio.create_task_group() as tasks:
                    for words in ("a", "b", "c"):
                        tasks.start_soon(ask, words)
        assert replies == {"a": "a", "b": "b", "c": "c"}

    with loopback(parrot(seen)) as server:
        anyio.run(main, server, backend=backend)
        assert server.connections == 3
    assert sorted(number for number, _ in seen) == [0, 0, 1, 1, 2, 2]


def test_conversations_find_their_sockets() -> None:
    seen: list[Any] = []
    with loopback(parrot(seen)) as server:
        with Chat("openai@responses:m", api_key="fake-key", **without(options(server))) as chat:
            histories = [[Message.user("a")], [Message.user("b")]]
            with (
                chat.stream(messages=histories[0]) as one,
                chat.stream(messages=histories[1]) as two,
            ):
                for history, stream in zip(histories, (one, two), strict=True):
                    history += [stream.reply().message, Message.user("on")]
            for history in histories:
                assert chat.ask(messages=history).text == "on"
    assert [number for number, _ in seen] == [0, 1, 0, 1]
    assert [message.get("previous_response_id") for _, message in seen[2:]] == ["resp_1", "resp_2"]


def test_an_agent_keeps_its_socket_over_its_tools() -> None:
    got: list[Any] = []

    def script(peer: Peer) -> None:
        call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "tide",
                "arguments": '{"place":"Brest"}', "status": "completed"}  # fmt: skip
        got.append(peer.message())
        peer.send(*answer("", item=call))
        got.append(peer.message())
        peer.send(*answer("7 m.", "resp_2"))
        peer.frame()

    @tool
    def tide(place: str) -> str:
        """Tell the tide."""
        return f"7 m in {place}"

    with loopback(served(script)) as server:
        chat = Chat("openai@responses:m", api_key="fake-key", **without(options(server)))
        with chat:
            assert Agent(chat, tools=[tide]).run("How high is the tide?").text == "7 m."
        assert len(server.requests) == 1
    assert got[1]["previous_response_id"] == "resp_1"
    assert got[1]["input"] == [
        {"type": "function_call_output", "call_id": "c1", "output": "7 m in Brest"}
    ]


def test_without_the_extra_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "websockets.protocol", None)
    with pytest.raises(errors.ConfigurationError, match=r"pip install 'wire-llm\[live\]'"):
        Chat("openai@responses:m", api_key="fake-key", connection="socket")
    with Client("openai", api_key="fake-key", base_url="http://127.0.0.1:1/v1") as client:
        with pytest.raises(errors.ConfigurationError, match=r"pip install 'wire-llm\[live\]'"):
            client.connect(responses.socket()).__enter__()


def test_a_model_without_a_socket_is_refused() -> None:
    with Chat("openai@chat:m", api_key="fake-key", connection="socket") as chat:
        with pytest.raises(errors.ConfigurationError, match="openai@chat:m has no WebSocket"):
            chat.ask("Hi")
    with pytest.raises(errors.ConfigurationError, match="connection: expected 'http' or 'socket'"):
        Chat("openai:m", api_key="fake-key", connection="carrier pigeon")
    with Client("openai", api_key="fake-key", connection="socket") as client:
        assert client.describe()["connection"] == "socket"


def test_a_stream_of_http_is_not_taken_for_a_socket() -> None:
    """The server ignores the upgrade and streams an answer of its own."""
    with loopback([head(), b"data: {}\n\n", "close"]) as server:
        with Client(name="openai", api_key="fake-key", **without(options(server))) as client:
            with pytest.raises(errors.StreamInvalid, match="status 200"):
                client.send(responses.create_response(asked("Hi")))
