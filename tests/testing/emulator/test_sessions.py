"""Sessions over WebSocket of the emulator: Responses and Realtime, on loopback."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.http.drive import EVERY, Drive
from wire import AsyncLanes, Chat, Client, Lanes, Message, Retry, Timeouts, errors
from wire.openai import realtime, responses
from wire.testing import AsyncRecord, AsyncReplay, Record, Replay
from wire.testing.emulator import Emulator, Server, serve

TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Emulator()) as running:
        yield running


def opened(server: Server, path: str, key: str = "fake-key") -> ClientConnection:
    url = server.url.replace("http://", "ws://") + path
    return connect(url, additional_headers={"authorization": f"Bearer {key}"}, proxy=None)


def said(socket: ClientConnection, last: str, *events: Any) -> list[Any]:
    """Send events; return what comes, up to the first event of a type."""
    for event in events:
        socket.send(json.dumps(event))
    got: list[Any] = []
    while not got or got[-1]["type"] != last:
        got.append(json.loads(socket.recv(timeout=20)))
    return got


def create(text: Any, **keys: Any) -> dict[str, Any]:
    return {"type": "response.create", "model": "gpt-5.4", "input": text, "store": False, **keys}


# --- Responses ------------------------------------------------------------------------------------


def test_a_response_comes_as_the_events_of_http(server: Server) -> None:
    request = responses.ResponseRequest(model="gpt-5.4", input="Hi", store=False)
    with Client("openai", api_key="fake-key", base_url=f"{server.url}/v1") as client:
        with client.stream(responses.stream_response(request)) as chunks:
            over_http = [chunk.type for chunk in chunks]
    with opened(server, "/v1/responses") as socket:
        got = said(socket, "response.completed", create("Hi"))
    assert [each["type"] for each in got] == over_http
    assert [each["sequence_number"] for each in got] == list(range(len(got)))
    told = [(each["method"], each["target"], each["status"]) for each in server.requests]
    assert told == [
        ("POST", "/v1/responses", 200),
        ("GET", "/v1/responses", 101),
        ("POST", "/v1/responses", 200),
    ]


def test_the_last_response_of_a_session_is_known_although_it_is_not_stored(server: Server) -> None:
    with opened(server, "/v1/responses") as socket:
        first = said(socket, "response.completed", create("Hi"))[-1]["response"]
        again = create("And?", previous_response_id=first["id"])
        got = said(socket, "response.completed", again)
        assert {each["response"]["previous_response_id"] for each in got if "response" in each} == {
            first["id"]
        }
        (refused,) = said(socket, "error", again)
    body = json.loads(json.dumps(server.requests[-2]["body"]))
    assert [each["role"] for each in body["input"]] == ["user", "assistant", "user"]
    assert (refused["status"], refused["error"]["code"]) == (400, "previous_response_not_found")
    with opened(server, "/v1/responses") as other:
        (refused,) = said(other, "error", create("And?", previous_response_id=first["id"]))
    assert refused["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize("event", ["no json", "[]", '{"type": "response.steer"}'])
def test_what_is_no_request_is_refused_and_the_session_goes_on(server: Server, event: str) -> None:
    with opened(server, "/v1/responses") as socket:
        socket.send(event)
        (refused,) = said(socket, "error")
        assert (refused["status"], refused["error"]["type"]) == (400, "invalid_request_error")
        (bad,) = said(socket, "error", create("Hi", model="no-such-model"))
        assert bad["status"] == 400
        assert said(socket, "response.completed", create("Hi"))


def test_a_wrong_key_and_a_path_without_sessions_are_refused(server: Server) -> None:
    for path, key, status in (
        ("/v1/responses", "wrong", 401),
        ("/v1/chat/completions", "fake-key", 405),
        ("/v1/realtime", "fake-key", 400),
        ("/v1/nothing", "fake-key", 404),
    ):
        with pytest.raises(InvalidStatus) as caught:
            opened(server, path, key).__enter__()
        assert caught.value.response.status_code == status, path
    assert [each["status"] for each in server.requests] == [401, 405, 400, 404]


# --- our client on it -----------------------------------------------------------------------------


@pytest.mark.parametrize("drive", EVERY)
def test_scripts_and_faults_play_over_a_socket(drive: Drive) -> None:
    script = [
        {"status": 429, "answer": {"error": {"message": "Slow.", "code": "rate_limit_exceeded"}}},
        {"say": "Hello."},
        {"say": "Hello again.", "fault": "cut; after=3"},
        {"say": "Here I am."},
    ]
    call = responses.stream_response(
        responses.ResponseRequest(model="gpt-5.4", input="Hi", store=False)
    )
    with serve(Emulator(script)) as server:

        def work(door: Any) -> Any:
            first = door.result(call)
            with pytest.raises(errors.ConnectionLost) as caught:
                door.result(call)
            return first, caught.value, door.result(call)

        options = {"base_url": f"{server.url}/v1", "connection": "socket", "retry": Retry(base=0)}
        first, error, last = drive.session(work, "openai", **options)
        opened_sockets = sum(each["method"] == "GET" for each in server.requests)
    texts = [each.output[-1].content[0].text for each in (first, last)]
    assert texts == ["Hello.", "Here I am."]
    assert error.partial is not None
    assert opened_sockets == 2


def test_a_function_of_the_script_that_raises_ends_the_session() -> None:
    def broken(request: Any) -> Any:
        raise ZeroDivisionError("no tide")

    with serve(Emulator(broken)) as server, opened(server, "/v1/responses") as socket:
        with pytest.raises(ConnectionClosed, match="no tide") as caught:
            said(socket, "response.completed", create("Hi"))
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1011


def test_a_conversation_over_a_socket_is_the_one_over_http(server: Server) -> None:
    replies = []
    for connection in ("http", "socket"):
        with Chat(
            "openai@responses:gpt-5.4",
            api_key="fake-key",
            base_url=f"{server.url}/v1",
            connection=connection,
        ) as chat:
            history = [Message.user("Hi")]
            for _ in range(3):
                reply = chat.ask(messages=history)
                history += [reply.message, Message.user("And?")]
            replies.append([reply.text, reply.stop, reply.usage])
    assert replies[0] == replies[1]


@pytest.mark.parametrize("drive", EVERY)
def test_a_cassette_has_the_answers_of_a_socket_as_those_of_http(
    drive: Drive, tmp_path: Path
) -> None:
    call = responses.stream_response(
        responses.ResponseRequest(model="gpt-5.4", input="Hi", store=False)
    )
    kinds: Any = (Record, Replay) if drive.name == "sync" else (AsyncRecord, AsyncReplay)
    lanes = Lanes() if drive.name == "sync" else AsyncLanes()
    path = tmp_path / "socket.json"
    options = {"connection": "socket", "retry": None}

    def work(door: Any) -> list[Any]:
        return [door.result(call), door.result(call)]

    with serve(Emulator()) as server:
        options["base_url"] = f"{server.url}/v1"
        recorded = drive.session(work, "openai", http=kinds[0](lanes, path), **options)
        told = [(each["method"], each["status"]) for each in server.requests]
    assert told == [("GET", 101), ("POST", 200), ("POST", 200)]
    for connection in ("socket", "http"):
        replayed = drive.session(
            work, "openai", http=kinds[1](path), **{**options, "connection": connection}
        )
        assert replayed == recorded
        assert [each.raw for each in replayed] == [each.raw for each in recorded]


@pytest.mark.parametrize("drive", EVERY)
def test_a_session_of_realtime_by_our_structs(drive: Drive, server: Server) -> None:
    text = realtime.Part(type="input_text", text="Hi")
    item = realtime.Item(type="message", role="user", content=[text])

    def work(door: Any) -> str:
        with door.connect(realtime.socket("gpt-realtime")) as socket:
            assert socket.next().session.model == "gpt-realtime"
            session = realtime.Session(type="realtime", output_modalities=["text"])
            socket.send(realtime.ClientEvent(type="session.update", session=session))
            socket.send(realtime.ClientEvent(type="conversation.item.create", item=item))
            socket.send(realtime.ClientEvent(type="response.create"))
            words = ""
            while (event := socket.next()).type != "response.done":
                words += event.delta or "" if event.type == "response.output_text.delta" else ""
            assert event.response.usage.total_tokens == 16
            return words

    options = {"base_url": f"{server.url}/v1", "timeouts": Timeouts(idle=20)}
    assert drive.session(work, "openai", **options) == (
        "This is an emulator, and no model. You said: Hi"
    )


# --- Realtime -------------------------------------------------------------------------------------


def update(**session: Any) -> dict[str, Any]:
    return {"type": "session.update", "session": {"type": "realtime", **session}}


def words(text: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    item = {"type": "message", "role": "user", "content": content}
    return {"type": "conversation.item.create", "item": item}


def test_a_turn_has_its_events_in_order(server: Server) -> None:
    with opened(server, "/v1/realtime?model=gpt-realtime") as socket:
        assert said(socket, "session.created")[0]["session"]["output_modalities"] == ["audio"]
        got = said(socket, "response.done", words("Hi"), {"type": "response.create"})
    types = [each["type"] for each in got]
    deltas = ["response.output_audio_transcript.delta", "response.output_audio.delta"]
    assert types == [
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        *deltas * 10,
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
    ]
    audio = [each["delta"] for each in got if each["type"] == deltas[1]]
    assert {len(base64.b64decode(each)) for each in audio} == {9600}
    assert len({each["event_id"] for each in got}) == len(got)


def test_a_function_is_called_and_answered(server: Server) -> None:
    with opened(server, "/v1/realtime?model=gpt-realtime") as socket:
        said(socket, "session.updated", update(tools=[TOOL], output_modalities=["text"]))
        question = words("What is the weather in Paris?")
        got = said(socket, "response.done", question, {"type": "response.create"})
        call = next(each for each in got if each["type"].endswith("arguments.done"))
        assert (call["name"], json.loads(call["arguments"])) == ("get_weather", {"city": "Paris"})
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
        result = {"type": "conversation.item.create", "item": output}
        done = said(socket, "response.done", result, {"type": "response.create"})[-1]
    part = done["response"]["output"][0]["content"][0]
    assert part == {
        "type": "output_text",
        "text": 'Your tool get_weather says {"result": "sunny"}.',
    }


def test_audio_and_items_of_the_client(server: Server) -> None:
    silence = base64.b64encode(bytes(4800)).decode()
    with opened(server, "/v1/realtime?model=gpt-realtime") as socket:
        said(socket, "session.created")
        (empty,) = said(socket, "error", {"type": "input_audio_buffer.commit", "event_id": "e1"})
        assert empty["error"]["code"] == "input_audio_buffer_commit_empty"
        assert empty["error"]["event_id"] == "e1"
        append = {"type": "input_audio_buffer.append", "audio": silence}
        commit = {"type": "input_audio_buffer.commit"}
        got = said(socket, "conversation.item.done", append, commit)
        item = got[-1]["item"]
        assert [each["type"] for each in got] == [
            "input_audio_buffer.committed",
            "conversation.item.added",
            "conversation.item.done",
        ]
        at = {"item_id": item["id"]}
        cut = {"content_index": 0, "audio_end_ms": 10}
        for event, last in (
            ({"type": "conversation.item.retrieve", **at}, "conversation.item.retrieved"),
            ({"type": "conversation.item.truncate", **at, **cut}, "conversation.item.truncated"),
            ({"type": "conversation.item.delete", **at}, "conversation.item.deleted"),
            ({"type": "input_audio_buffer.clear"}, "input_audio_buffer.cleared"),
        ):
            assert said(socket, last, event)[-1]["type"] == last
        for event, code in (
            ({"type": "conversation.item.delete", **at}, "item_not_found"),
            ({"type": "conversation.item.retrieve", **at}, "item_not_found"),
            ({"type": "conversation.item.truncate", **at}, "item_not_found"),
            ({"type": "conversation.item.create"}, "missing_required_parameter"),
            ({"type": "input_audio_buffer.append", "audio": "?"}, "invalid_value"),
            ({"type": "session.update", "session": {}}, "missing_required_parameter"),
            ({"type": "response.cancel"}, "response_cancel_not_active"),
            ({"type": "nothing"}, "invalid_value"),
            ({"type": "session.update", "session": {"type": 5}}, "invalid_type"),
            ({"type": "conversation.item.create", "item": {"content": "Hi"}}, "invalid_type"),
        ):
            assert said(socket, "error", event)[-1]["error"]["code"] == code
        socket.send("no json")
        assert said(socket, "error")[-1]["error"]["code"] == "invalid_json"
        odd = {"type": "conversation.item.create", "item": {"type": "message"}}
        settings = {"tools": None, "output_modalities": None}
        done = said(socket, "response.done", odd, {"type": "response.create", "response": settings})
        assert done[-1]["response"]["status"] in ("completed", "failed")


def test_a_response_fails_and_a_connection_is_cut_by_the_script() -> None:
    script = [
        {"status": 500, "answer": {"error": {"message": "Oh.", "code": "server_error"}}},
        {"say": "Hello.", "fault": "cut"},
    ]
    with serve(Emulator(script)) as server:
        with opened(server, "/v1/realtime?model=gpt-realtime") as socket:
            done = said(socket, "response.done", words("Hi"), {"type": "response.create"})[-1]
            details = done["response"]["status_details"]
            assert (done["response"]["status"], details["error"]["message"]) == ("failed", "Oh.")
            with pytest.raises(ConnectionClosed):
                said(socket, "response.done", {"type": "response.create"})


# --- other hosts of Realtime ----------------------------------------------------------------------


def kinds(events: list[Any]) -> list[str]:
    """The types of events, runs of one type as one."""
    types = [each["type"] for each in events]
    return [each for index, each in enumerate(types) if types[index - 1 : index] != [each]]


HOSTS: dict[str, tuple[str, dict[str, str], list[str], dict[str, str]]] = {
    "xai": (
        "/v1/realtime?model=grok-voice-latest",
        {"authorization": "Bearer fake-key"},
        ["session.created", "conversation.created", "ping"],
        {},
    ),
    "azure": (
        "/voice-live/realtime?model=gpt-realtime",
        {"api-key": "fake-key"},
        ["session.created"],
        {
            "conversation.item.added": "conversation.item.created",
            "response.output_text.delta": "response.text.delta",
            "response.output_text.done": "response.text.done",
        },
    ),
}


@pytest.mark.parametrize("host", HOSTS)
def test_the_events_of_other_hosts_are_those_that_were_recorded(host: str) -> None:
    path, headers, opening, names = HOSTS[host]
    typed = update(output_modalities=["text"])
    asked = [typed, words("Hi"), {"type": "response.create"}]
    with serve(Emulator()) as server, opened(server, "/v1/realtime?model=gpt-realtime") as socket:
        base = kinds(said(socket, "response.done", *asked))
    script = [{"say": "Hi.", "fault": "429"}, {"say": "Hi."}]
    with serve(Emulator(script, provider=host)) as server:
        url = server.url.replace("http://", "ws://") + path
        with connect(url, additional_headers=headers, proxy=None) as socket:
            failed = said(socket, "response.done", *asked)[-1]["response"]["status_details"]
            assert failed["error"]["message"]
        with connect(url, additional_headers=headers, proxy=None) as socket:
            got = kinds(said(socket, "response.done", *asked))
    wanted = [names.get(each, each) for each in base if each != "conversation.item.done"]
    assert got == [*opening, *wanted[1:]]
