"""Faults of sessions over WebSocket: of an answer, of all messages, and of the handshake."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

from websockets.exceptions import ConnectionClosed, InvalidMessage, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from wire.core.errors import ConfigurationError
from wire.testing.emulator import Emulator, Server, serve
from wire.testing.emulator.faults import fault_of

LIVE = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
SAY = {"say": "One two three four five six."}


class Api:
    """One API with sessions: where it is, how it is asked, and when it has answered."""

    def __init__(
        self, path: str, hello: list[Any], begun: str, asks: list[Any], done: str, binary: bool
    ) -> None:
        self.path, self.hello, self.begun = path, hello, begun
        self.asks, self.done, self.binary = asks, done, binary

    def opened(self, server: Server, **options: Any) -> ClientConnection:
        url = server.url.replace("http://", "ws://") + self.path
        headers = {"authorization": "Bearer fake-key"}
        return connect(url, additional_headers=headers, proxy=None, **options)

    def begin(self, socket: ClientConnection) -> None:
        for each in self.hello:
            socket.send(json.dumps(each))
        if self.begun:
            self.read(socket, self.begun)

    def ask(self, socket: ClientConnection) -> None:
        for each in self.asks:
            socket.send(json.dumps(each))

    def read(self, socket: ClientConnection, last: str = "") -> list[tuple[str, Any]]:
        """Kind and data of each message, up to one of a kind."""
        got: list[tuple[str, Any]] = []
        while not got or got[-1][0] != (last or self.done):
            data = socket.recv(timeout=20)
            got.append((kind_of(data), data))
        return got


def kind_of(data: str | bytes) -> str:
    try:
        value = json.loads(data)
    except ValueError:
        return "garbage"
    return value.get("type") or "+".join([*value.get("serverContent", {}), *value])


_MESSAGE = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
_TEXT = {"responseModalities": ["TEXT"]}
APIS = {
    "realtime": Api(
        "/v1/realtime?model=gpt-realtime",
        [
            {"type": "session.update", "session": {"type": "realtime", "tools": []}},
            {"type": "conversation.item.create", "item": _MESSAGE},
        ],
        "conversation.item.done",
        [{"type": "response.create"}],
        "response.done",
        False,
    ),
    "live": Api(
        LIVE,
        [{"setup": {"model": "models/gemini-3.1-flash-live-preview", "generationConfig": _TEXT}}],
        "setupComplete",
        [{"realtimeInput": {"text": "Hi"}}],
        "turnComplete+serverContent+usageMetadata",
        True,
    ),
    "responses.socket": Api(
        "/v1/responses",
        [],
        "",
        [{"type": "response.create", "model": "gpt-5.4", "input": "Hi", "store": False}],
        "response.completed",
        False,
    ),
}


def answer(api: Api, fault: str = "") -> list[tuple[str, Any]]:
    """The messages of an answer with a fault; the last is the close, or that of another answer."""
    step = {**SAY, **({"fault": fault} if fault else {})}
    got: list[tuple[str, Any]] = []
    with serve(Emulator([step])) as server, api.opened(server, max_size=None) as socket:
        api.begin(socket)
        api.ask(socket)
        try:
            while not got or got[-1][0] != api.done:
                data = socket.recv(timeout=20)
                got.append((kind_of(data), data))
        except ConnectionClosed as error:
            got.append(("close", (error.rcvd.code, error.rcvd.reason) if error.rcvd else None))
    return got


def names(messages: list[tuple[str, Any]]) -> list[str]:
    return [kind for kind, _ in messages]


EXPECTED: dict[str, Callable[[list[str]], list[str]]] = {
    "cut; after=2": lambda base: [*base[:2], "close"],
    "reset; after=2": lambda base: [*base[:2], "close"],
    "cut; after=2; bytes=9": lambda base: [*base[:2], "close"],
    "close; after=0": lambda base: ["close"],
    "close; after=2; code=1013; reason=Later.": lambda base: [*base[:2], "close"],
    "stall; after=2; seconds=0.05": lambda base: base,
    "slow; seconds=0.05": lambda base: base,
    "garbage; after=2": lambda base: [*base[:2], "garbage", *base[2:]],
    "repeat; after=2": lambda base: [*base[:2], base[1], *base[2:]],
    "drop; after=2": lambda base: [*base[:2], *base[3:]],
    "swap; after=1": lambda base: [base[0], base[2], base[1], *base[3:]],
    "huge; after=2; size=70000": lambda base: base,
    "frame; after=2": lambda base: base,
}


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("fault", EXPECTED)
def test_a_fault_is_at_its_message(name: str, fault: str) -> None:
    api = APIS[name]
    base = names(answer(api))
    assert len(base) > 3
    got = answer(api, fault)
    wanted = EXPECTED[fault](base)
    if fault.startswith("reset"):  # the system drops what the client has not read
        wanted = [*wanted[: len(got) - 1], "close"]
    assert names(got) == wanted
    # What is sent as text in a session of binary messages is the other frame.
    binary = [isinstance(data, bytes) for kind, data in got if kind != "close"]
    odd = {2} if fault.startswith("frame") else set()
    assert binary == [api.binary != (index in odd) for index in range(len(binary))]
    if fault.startswith("huge"):
        assert len(got[2][1]) == 70_000
        assert all(len(data) < 70_000 for index, (_, data) in enumerate(got) if index != 2)
    if got[-1][0] == "close":
        code, reason = got[-1][1] or (None, "")
        told = {"close; after=0": (1011, ""), "close; after=2": (1013, "Later.")}
        assert (code, reason) == told.get(fault.partition("; code")[0], (None, ""))


@pytest.mark.parametrize("name", APIS)
def test_an_answer_that_ends_too_soon_leaves_the_session_open(name: str) -> None:
    api = APIS[name]
    base = names(answer(api))
    for fault, missing in (("end; after=2", base[2:]), ("drop-finish", base[-1:])):
        script = [{**SAY, "fault": fault}, SAY]
        with serve(Emulator(script)) as server, api.opened(server) as socket:
            api.begin(socket)
            api.ask(socket)
            api.ask(socket)
            got = names(api.read(socket))
        assert got == [*base[: len(base) - len(missing)], *base]


def test_an_error_of_live_is_a_close() -> None:
    got = answer(APIS["live"], "error; after=1; message=Oh.")
    assert (len(got), got[-1]) == (2, ("close", (1011, "Oh.")))


@pytest.mark.parametrize("name", ["realtime", "responses.socket"])
def test_an_error_event_ends_the_answer_and_not_the_session(name: str) -> None:
    api = APIS[name]
    script = [{**SAY, "fault": "error; after=1; message=Oh."}, SAY]
    with serve(Emulator(script)) as server, api.opened(server) as socket:
        api.begin(socket)
        api.ask(socket)
        got = api.read(socket, "error")
        error = json.loads(got[-1][1])
        assert (len(got), (error.get("error") or error)["message"]) == (2, "Oh.")
        api.ask(socket)
        assert names(api.read(socket))[-1] == api.done


@pytest.mark.parametrize("name", APIS)
def test_a_place_behind_the_end_is_told_with_the_step(name: str) -> None:
    got = answer(APIS[name], "close; after=99")
    count = len(got) if APIS[name].done not in names(got) else names(got).index(APIS[name].done) + 1
    with serve(Emulator([{**SAY, "fault": "close; after=99"}])) as server:
        with APIS[name].opened(server) as socket:
            APIS[name].begin(socket)
            APIS[name].ask(socket)
            with pytest.raises(ConnectionClosed) as caught:
                while True:
                    socket.recv(timeout=20)
    assert caught.value.rcvd is not None
    assert (caught.value.rcvd.code, caught.value.rcvd.reason) == (
        1011,
        f"script: steps[0]: fault: close; after=99: the answer has {count} messages",
    )


@pytest.mark.parametrize("name", APIS)
def test_a_header_breaks_each_answer_of_a_session(name: str) -> None:
    api = APIS[name]
    url_headers = {"authorization": "Bearer fake-key", "x-wire-fault": "garbage; after=1"}
    with serve(Emulator()) as server:
        url = server.url.replace("http://", "ws://") + api.path
        with connect(url, additional_headers=url_headers, proxy=None) as socket:
            api.begin(socket)
            for _ in range(2):
                api.ask(socket)
                assert names(api.read(socket))[1] == "garbage"


# --- all messages of a session --------------------------------------------------------------------


def send_all(api: Api, socket: ClientConnection) -> None:
    with contextlib.suppress(ConnectionClosed):  # what came before the close can still be read
        for each in [*api.hello, *api.asks]:
            socket.send(json.dumps(each))


def whole(name: str, fault: str) -> list[str]:
    """The kinds of all messages of a session with a fault, up to its answer or its close."""
    api = APIS[name]
    step = {"match": {"endpoint": name}, "fault": fault}
    got: list[str] = []
    with serve(Emulator([step])) as server, api.opened(server) as socket:
        send_all(api, socket)
        try:
            while not got or got[-1] != api.done:
                got.append(kind_of(socket.recv(timeout=20)))
        except ConnectionClosed as error:
            got.append("lost" if error.rcvd is None else "close")
    return got


FIRST = {
    "realtime": "session.created",
    "live": "setupComplete",
    "responses.socket": "response.created",
}


@pytest.mark.parametrize("name", APIS)
def test_a_step_for_a_session_counts_all_its_messages(name: str) -> None:
    first = FIRST[name]
    assert whole(name, "close; after=1") == [first, "close"]
    assert whole(name, "close; after=0") == ["close"]
    assert whole(name, "garbage; after=1")[:2] == [first, "garbage"]
    assert whole(name, "drop; after=0")[0] != first
    assert whole(name, "swap; after=0")[1] == first


@pytest.mark.parametrize("name", APIS)
def test_a_silent_session_takes_messages_and_says_nothing_more(name: str) -> None:
    api = APIS[name]
    steps = [{"match": {"endpoint": name}, "fault": "end; after=1"}]
    with serve(Emulator(steps)) as server, api.opened(server) as socket:
        send_all(api, socket)
        assert kind_of(socket.recv(timeout=20)) == FIRST[name]
        # The pong comes behind all that the server has to say before it.
        assert socket.ping().wait(20)
        with pytest.raises(TimeoutError):
            socket.recv(timeout=0)
        assert server.requests[-1]["method"] == "POST"


@pytest.mark.parametrize("name", APIS)
def test_a_handshake_is_refused(name: str) -> None:
    api = APIS[name]
    match = {"match": {"endpoint": name}}
    steps = [match | {"fault": each} for each in ("429; retry-after=2", "quota", "refuse")]
    with serve(Emulator(steps)) as server:
        for _ in range(2):
            with pytest.raises(InvalidStatus) as caught:
                api.opened(server).__enter__()
            assert caught.value.response.status_code == 429
        with pytest.raises((InvalidMessage, OSError)):
            api.opened(server).__enter__()
        assert [each["status"] for each in server.requests] == [429, 429, 503]
        with api.opened(server) as socket:
            api.begin(socket)


def test_a_session_is_said_to_end_and_ends() -> None:
    ends: dict[str, tuple[list[str], int]] = {
        "realtime": (["error"], 1001),
        "live": (["goAway"], 1001),
        "responses.socket": (["error"], 1000),
    }
    for name, (told, code) in ends.items():
        api = APIS[name]
        step = {"match": {"endpoint": name}, "fault": "expire; after=1; seconds=0.05"}
        with serve(Emulator([step])) as server, api.opened(server) as socket:
            send_all(api, socket)
            got: list[str] = []
            with pytest.raises(ConnectionClosed) as caught:
                while True:
                    got.append(kind_of(socket.recv(timeout=20)))
        assert got[:2] == [FIRST[name], *told]
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == code


# --- a pause in which the client speaks -----------------------------------------------------------

STALL = {**SAY, "fault": "stall; after=6; seconds=60"}


@contextlib.contextmanager
def realtime(server: Server, **session: Any) -> Iterator[ClientConnection]:
    api = APIS["realtime"]
    with api.opened(server) as socket:
        given = {"type": "realtime", "output_modalities": ["text"], **session}
        socket.send(json.dumps({"type": "session.update", "session": given}))
        socket.send(json.dumps(api.hello[1]))
        api.read(socket, "conversation.item.done")
        yield socket


def test_a_response_is_cancelled_at_a_pause_of_the_script() -> None:
    api = APIS["realtime"]
    with serve(Emulator([STALL])) as server, realtime(server) as socket:
        api.ask(socket)
        got = api.read(socket, "response.output_text.delta")
        id = json.loads(got[0][1])["response"]["id"]
        text = json.loads(got[-1][1])["delta"]
        other = {"type": "response.cancel", "response_id": "resp_none"}
        for event, code in (
            ({"type": "response.create"}, "conversation_already_has_active_response"),
            (other, "response_cancel_not_active"),
        ):
            socket.send(json.dumps(event))
            while kind_of(data := socket.recv(timeout=20)) != "error":
                text += json.loads(data)["delta"]
            error = json.loads(data)["error"]
            assert error["code"] == code
            assert id in error["message"] or event is other
        at = {"item_id": json.loads(got[-1][1])["item_id"]}
        cut = {"type": "conversation.item.truncate", **at, "content_index": 0, "audio_end_ms": 9}
        for event, last in (
            (cut, "conversation.item.truncated"),
            ({"type": "conversation.item.retrieve", **at}, "conversation.item.retrieved"),
            ({"type": "conversation.item.delete", **at}, "error"),
        ):
            socket.send(json.dumps(event))
            assert names(api.read(socket, last)) == [last]
        socket.send(json.dumps({"type": "response.cancel", "event_id": "mine"}))
        item, done = (json.loads(data) for _, data in api.read(socket))
        assert item["type"] == "response.output_item.done"
        content = [{"type": "output_text", "text": text}]
        assert (item["item"]["status"], item["item"]["content"]) == ("incomplete", content)
        assert done["response"]["status"] == "cancelled"
        assert done["response"]["status_details"]["reason"] == "client_cancelled"
        assert done["response"]["output"] == [item["item"]]
        api.ask(socket)
        assert json.loads(api.read(socket)[-1][1])["response"]["status"] == "completed"
    said = [each["content"][0]["text"] for each in server.requests[-1]["body"]["input"]]
    assert said == ["Hi", text]


def test_a_call_is_cancelled_with_what_is_known_of_it() -> None:
    api = APIS["realtime"]
    step = {"say": {"calls": [{"name": "f", "args": {}}]}, "fault": "stall; after=4; seconds=60"}
    tools = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]
    with serve(Emulator([step])) as server, realtime(server, tools=tools) as socket:
        api.ask(socket)
        api.read(socket, "response.function_call_arguments.delta")
        socket.send(json.dumps({"type": "response.cancel"}))
        done = json.loads(api.read(socket)[-1][1])
    (item,) = done["response"]["output"]
    assert (item["status"], item["name"], item["arguments"]) == ("incomplete", "f", "{}")


def test_messages_are_answered_in_a_pause_and_the_answer_goes_on() -> None:
    api = APIS["realtime"]
    script = [{**SAY, "fault": "stall; after=1; seconds=0.2"}]
    with serve(Emulator(script)) as server, realtime(server) as socket:
        api.ask(socket)
        api.read(socket, "response.created")
        socket.send(json.dumps({"type": "input_audio_buffer.clear"}))
        got = names(api.read(socket))
    assert got[0] == "input_audio_buffer.cleared"
    assert got[-1] == "response.done"


def test_a_session_of_responses_has_one_answer_at_a_time() -> None:
    api = APIS["responses.socket"]
    script = [{**SAY, "fault": "stall; after=1; seconds=0.2"}, SAY]
    with serve(Emulator(script)) as server, api.opened(server) as socket:
        api.ask(socket)
        api.read(socket, "response.created")
        api.ask(socket)
        got = [*names(api.read(socket)), *names(api.read(socket))]
    assert [each for each in got if each in ("response.created", "response.completed")] == [
        "response.completed",
        "response.created",
        "response.completed",
    ]


def test_who_goes_away_in_a_pause_ends_the_session() -> None:
    with serve(Emulator([STALL])) as server:
        with realtime(server) as socket:
            APIS["realtime"].ask(socket)
            APIS["realtime"].read(socket, "response.output_text.delta")
            socket.socket.close()
        until = time.monotonic() + 20
        while len(server._crowd) and time.monotonic() < until:
            time.sleep(0.01)
        assert len(server._crowd) == 0


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["close", "frame", "huge", "swap"])
def test_a_word_of_sessions_is_none_of_an_answer_over_http(word: str) -> None:
    emulator = Emulator([{**SAY, "fault": word}])
    body = b'{"contents": [{"parts": [{"text": "Hi"}]}]}'
    path = "/v1beta/models/gemini-3.8-flash:generateContent"
    answered = emulator.answer("POST", path, {"x-goog-api-key": "any"}, body)
    message = json.loads(answered.body)["error"]["message"]
    assert (answered.status, message) == (
        400,
        f"script: steps[0]: fault: {word}: only a session has messages",
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("close; code=1006", "fault: code: no server may close with '1006'"),
        ("close; code=soon", "fault: code: expected a number, not 'soon'"),
        ("huge; size=0", "fault: size: expected 1 or more, not '0'"),
        ("huge; size=999999999", "fault: size: expected 268,435,456 at most, not '999999999'"),
    ],
)
def test_a_bad_setting_is_named(spec: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        fault_of(spec)
    assert caught.value.message == message
