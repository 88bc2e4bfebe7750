"""Sessions over WebSocket in cassettes: recorded on loopback, and played without a server."""

from __future__ import annotations

import base64
import json
import os
import queue
import re
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

import wire
from tests.http.drive import EVERY, Drive
from tests.http.frames import Peer, accepted, close, frame, served, text
from tests.http.loopback import loopback, whole
from wire import AsyncClient, Client, Limits, SocketCall, Timeouts, errors
from wire.openai import realtime, responses
from wire.testing import AsyncCassette, Cache, Cassette, Match, sweep
from wire.testing.cassette import played_links
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.player import Player
from wire.testing.emulator import Emulator

CALL = responses.socket()
RAW = msgspec.structs.replace(CALL, parse=bytes)
NAMES = ["one", "two"]


def asked(words: str) -> responses.ResponseRequest:
    return responses.ResponseRequest(model="m", input=words, store=False)


def cassette(drive: Drive, path: Path, mode: str = "none", **options: Any) -> Any:
    return (Cassette if drive.name == "sync" else AsyncCassette)(path, mode, **options)


def echo(peer: Peer) -> None:
    """Greets, and answers each request by its own input."""
    peer.send(text({"type": "greeting"}))
    while (message := peer.message()) is not None:
        peer.send(text({"type": "response.output_text.delta", "delta": message["input"]}))


def talk(door: Any, names: list[str] = NAMES) -> list[str]:
    """Ask by each name; return what came."""
    with door.connect(CALL) as socket:
        got = [socket.next().type]
        for name in names:
            socket.send(asked(name))
            got.append(socket.next().delta)
    return got


def session(drive: Drive, http: Any, url: str, work: Any = talk, **options: Any) -> Any:
    return drive.session(work, provider="openai", base_url=url, http=http, **options)


def recorded(
    drive: Drive,
    path: Path,
    work: Any = talk,
    script: Any = echo,
    mode: str = "rewrite",
    client: dict[str, Any] | None = None,
    **options: Any,
) -> str:
    """Record a session; return the URL of its server, which is gone then."""
    with loopback(served(script)) as server:
        url = f"{server.url}/v1"
        session(drive, cassette(drive, path, mode, **options), url, work, **client or {})
    return url


def played(
    drive: Drive,
    path: Path,
    url: str,
    work: Any = talk,
    client: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Play the cassette; return the result of `work`, and the cassette."""
    http = cassette(drive, path, **options)
    return session(drive, http, url, work, **client or {}), http


def interactions(path: Path) -> list[Any]:
    found: list[Any] = json.loads(path.read_text("utf-8"))["interactions"]
    return found


@pytest.mark.parametrize("drive", EVERY)
def test_a_session_is_recorded_in_both_directions_and_played(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "s.cassette.json"
    url = recorded(drive, path)
    [found] = interactions(path)
    assert found["request"]["url"] == url.replace("http:", "ws:") + "/responses"
    assert (found["request"]["method"], found["response"]["status"]) == ("GET", 101)
    assert "fake-key" not in path.read_text("utf-8")
    assert found["response"]["end"] == "closed by the caller"
    told = [(each["direction"], each["body"]["json"]) for each in found["messages"]]
    assert [each for each, _ in told] == ["received", *["sent", "received"] * 2]
    assert [value.get("delta", value.get("input")) for _, value in told[1:]] == [
        each for name in NAMES for each in (name, name)
    ]
    got, http = played(drive, path, url)
    assert got == ["greeting", *NAMES]
    assert http.unplayed == []
    http.check_all_played()


# --- what is recorded -----------------------------------------------------------------------------


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize(
    ("end", "told", "kept"),
    [
        (close(1000), "None", {"close": {"code": 1000}, "end": "eof"}),
        (frame("close"), "ConnectionLost: ", {"close": {"code": 1005}, "end": "eof"}),
        (
            close(1007, "Bad field"),
            "BadRequestError: openai: 1007: Bad field",
            {"close": {"code": 1007, "reason": "Bad field"}, "end": "eof"},
        ),
        (b"", "ConnectionLost: openai: the socket was closed: 1006", {"end": "cut"}),
        (
            frame("text", b"[]"),
            "StreamInvalid: openai: not an event of Responses",
            {"end": "closed by the caller"},
        ),
        (frame("text", b"[" * 600), "LimitError: openai: ", {"end": "cut"}),
    ],
    ids=["regular", "no code", "refused", "cut", "no object", "too deep"],
)
def test_an_end_is_recorded_and_played_as_it_was(
    drive: Drive, tmp_path: Path, end: bytes, told: str, kept: dict[str, Any]
) -> None:
    path = tmp_path / "s.cassette.json"

    def script(peer: Peer) -> None:
        peer.send(text({"type": "first"}), end)

    def work(door: Any) -> str:
        with door.connect(CALL) as socket:
            assert socket.next().type == "first"
            try:
                return str(socket.next())
            except errors.WireError as error:
                return f"{type(error).__name__}: {error}"

    lived: list[str] = []
    url = recorded(drive, path, lambda door: lived.append(work(door)), script)
    [found] = interactions(path)
    assert {key: found["response"].get(key) for key in kept} == kept
    assert lived[0].startswith(told)
    assert played(drive, path, url, work)[0] == lived[0]


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize(
    "end", [b"\xc1\x00", frame("text", b"x" * 1500)], ids=["no frame", "too large"]
)
def test_what_is_no_message_is_played_as_a_connection_that_broke_off(
    drive: Drive, tmp_path: Path, end: bytes
) -> None:
    path, client = tmp_path / "s.cassette.json", {"limits": Limits(event=1000)}

    def work(door: Any) -> None:
        with door.connect(CALL) as socket, pytest.raises((errors.StreamInvalid, errors.LimitError)):
            socket.next()

    def again(door: Any) -> None:
        with door.connect(CALL) as socket, pytest.raises(errors.ConnectionLost, match="1006"):
            socket.next()

    url = recorded(drive, path, work, lambda peer: peer.send(end), client=client)
    played(drive, path, url, again, client)


@pytest.mark.parametrize("drive", EVERY)
def test_silence_of_the_server_is_recorded_and_played(drive: Drive, tmp_path: Path) -> None:
    path, client = tmp_path / "s.cassette.json", {"timeouts": Timeouts(idle=0.2)}

    def silent(peer: Peer) -> None:
        while peer.frame()[0] != "end":
            pass

    def work(door: Any) -> None:
        with door.connect(CALL) as socket, pytest.raises(errors.IdleClock, match="nothing came"):
            socket.next()

    url = recorded(drive, path, work, silent, client=client)
    assert interactions(path)[0]["response"]["end"] == "timeout"
    played(drive, path, url, work)


@pytest.mark.parametrize("drive", EVERY)
def test_a_session_that_ends_by_an_error_of_the_program_is_recorded(
    drive: Drive, tmp_path: Path
) -> None:
    path = tmp_path / "s.cassette.json"

    def work(door: Any) -> None:
        with pytest.raises(ZeroDivisionError), door.connect(CALL) as socket:
            socket.send(asked("one"))
            raise ZeroDivisionError

    recorded(drive, path, work)
    [found] = interactions(path)
    sent = [each for each in found["messages"] if each["direction"] == "sent"]
    assert [each["body"]["json"]["input"] for each in sent] == ["one"]
    assert found["response"]["end"] == "closed by the caller"


@pytest.mark.parametrize("drive", EVERY)
def test_a_refused_session_is_recorded_and_played(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "s.cassette.json"
    body = {"error": {"message": "No such model", "code": "model_not_found"}}

    def work(door: Any) -> None:
        with pytest.raises(errors.NotFoundError, match="model_not_found: No such model"):
            door.connect(CALL).__enter__()

    with loopback([whole(body, 404)]) as server:
        url = f"{server.url}/v1"
        session(drive, cassette(drive, path, "rewrite"), url, work)
    [found] = interactions(path)
    assert (found["response"]["status"], "messages" in found) == (404, False)
    assert found["request"]["url"].startswith("ws:")
    played(drive, path, url, work)


@pytest.mark.parametrize("drive", EVERY)
def test_an_answer_that_opens_no_websocket_is_recorded_and_played(
    drive: Drive, tmp_path: Path
) -> None:
    path = tmp_path / "s.cassette.json"

    def script(number: int, request: bytes) -> list[Any]:
        return [accepted(request).replace(b"Accept: ", b"Accept: x"), "hold"]

    def work(door: Any) -> None:
        with pytest.raises(errors.StreamInvalid, match="no WebSocket: "):
            door.connect(CALL).__enter__()

    with loopback(script) as server:
        url = f"{server.url}/v1"
        session(drive, cassette(drive, path, "rewrite"), url, work)
    assert "messages" not in interactions(path)[0]
    played(drive, path, url, work)


@pytest.mark.parametrize("drive", EVERY)
def test_text_and_binary_and_large_audio_are_kept_byte_for_byte(
    drive: Drive, tmp_path: Path
) -> None:
    path, sound = tmp_path / "s.cassette.json", bytes(range(256)) * 40
    audio = base64.b64encode(sound).decode()
    sent = [
        frame("text", b'{"type": "a",  "odd": 1.0}'),
        frame("binary", b'{"type":"b"}'),
        text({"type": "audio", "delta": audio}),
        frame("text", b'{"type":'),
        b"".join([frame("text", b'{"type":', fin=False), frame("cont", b'"joined"}')]),
    ]

    def work(door: Any) -> list[bytes]:
        got = []
        with door.connect(RAW) as socket:
            for _ in sent:
                got.append(socket.next())
        return got

    got: list[Any] = []
    url = recorded(drive, path, lambda door: got.extend(work(door)), lambda p: p.send(*sent))
    found = interactions(path)[0]["messages"]
    assert [each.get("binary", False) for each in found] == [False, True, False, False, False]
    assert got[0] == b'{"type": "a",  "odd": 1.0}'
    assert got[-1] == b'{"type":"joined"}'
    assert found[3]["body"] == {"text": ['{"type":']}
    [file] = found[2]["body"]["files"]
    assert found[2]["body"]["json"]["delta"] == f"<sha256:{file['sha256']}>"
    assert (tmp_path / "s.cassette.json.files" / file["sha256"]).read_bytes() == sound
    assert played(drive, path, url, work)[0] == got


@pytest.mark.parametrize("drive", EVERY)
def test_times_are_recorded_if_asked_for_and_kept_by_sleep(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "s.cassette.json"
    url = recorded(drive, path, timing=True)
    [found] = interactions(path)
    assert found["started"] == 0
    assert all(isinstance(each["after"], int) for each in found["messages"])
    plain = path.read_text("utf-8")
    assert '"times"' not in plain
    slow = json.loads(plain)
    for each, after in zip(slow["interactions"][0]["messages"], (40, 0, 60, 0, 50), strict=True):
        each["after"] = after
    path.write_text(json.dumps(slow), "utf-8")
    began = time.monotonic()
    assert played(drive, path, url, sleep=True)[0] == ["greeting", *NAMES]
    assert time.monotonic() - began >= 0.149


# --- secrets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize(
    "place", ["sent", "received", "split"], ids=["sent", "received", "over several messages"]
)
def test_a_key_in_a_message_is_not_written(drive: Drive, tmp_path: Path, place: str) -> None:
    path = tmp_path / "s.cassette.json"

    def script(peer: Peer) -> None:
        words = {"received": ["a fake-key-of-ours b"], "split": ["a fake-key", "-of-ours"]}
        for each in words.get(place, []):
            peer.send(text({"type": "x", "delta": each}))
        peer.message()
        peer.send(text({"type": "y"}))

    def work(door: Any) -> None:
        with door.connect(CALL) as socket:
            socket.send(asked("fake-key-of-ours" if place == "sent" else "Hi"))
            while socket.next().type != "y":
                pass

    with pytest.raises(errors.CassetteError, match="contains a secret") as caught:
        recorded(drive, path, work, script, client={"api_key": "fake-key-of-ours"})
    where = {
        "sent": r"the sent message \d, \$\.input",
        "received": r"the received message \d, \$\.delta",
        "split": r"the received messages, over several events at \$\.delta",
    }
    assert re.search(where[place], str(caught.value))
    assert "fake-key" not in str(caught.value)
    assert not path.exists()


def test_values_and_credentials_in_messages_are_redacted(tmp_path: Path) -> None:
    path, drive = tmp_path / "s.cassette.json", Drive("sync")
    tool = {"type": "mcp", "server_label": "s", "authorization": "fake-token-of-tool"}

    def work(door: Any, user: str = "u-1") -> str:
        with door.connect(CALL) as socket:
            assert socket.next().type == "greeting"
            event = msgspec.structs.replace(
                asked("Hi"), metadata={"user": user}, tools=[responses.Tool(**tool)]
            )
            socket.send(event)
            return str(socket.next().delta)

    url = recorded(drive, path, work, redact=["$.metadata.user", "$.delta"])
    [found] = interactions(path)
    assert found["request"]["redacted"] == ["$.metadata.user", "$.tools[0].authorization"]
    assert found["response"]["redacted"] == ["$.delta"]
    assert "u-1" not in path.read_text("utf-8")
    assert "fake-token" not in path.read_text("utf-8")
    assert played(drive, path, url, lambda door: work(door, "u-2"))[0] == "[redacted]"


def test_a_credential_in_a_sent_message_that_the_server_repeats_is_not_written(
    tmp_path: Path,
) -> None:
    path, drive = tmp_path / "s.cassette.json", Drive("sync")
    tool = responses.Tool(type="mcp", server_label="s", authorization="fake-token-of-tool")

    def work(door: Any) -> None:
        with door.connect(CALL) as socket:
            socket.send(msgspec.structs.replace(asked("Hi"), tools=[tool]))
            socket.next()

    def script(peer: Peer) -> None:
        message = peer.message()
        peer.send(text({"type": "x", "delta": message["tools"][0]["authorization"]}))

    with pytest.raises(errors.CassetteError, match="a credential in the request's body is in"):
        recorded(drive, path, work, script)
    assert not path.exists()


# --- what is played -------------------------------------------------------------------------------


@pytest.mark.parametrize("drive", EVERY)
def test_a_message_that_is_not_recorded_is_told_with_the_difference(
    drive: Drive, tmp_path: Path
) -> None:
    path = tmp_path / "s.cassette.json"
    url = recorded(drive, path)

    def work(door: Any) -> errors.CassetteError:
        with door.connect(CALL) as socket:
            assert socket.next().type == "greeting"
            with pytest.raises(errors.CassetteError) as caught:
                socket.send(asked("three"))
            return caught.value

    error = played(drive, path, url, work)[0]
    assert "interactions[0]: no recorded message of the client" in str(error)
    assert "the closest is messages[1]" in str(error)
    assert [tuple(each) for each in error.differences] == [("$.input", '"one"', '"three"')]
    assert "to record it again" in str(error)

    def twice(door: Any) -> None:
        with door.connect(CALL) as socket:
            socket.send(asked("one"))
            with pytest.raises(errors.CassetteError, match="recorded 1 time, and was sent 1 time"):
                socket.send(asked("one"))

    played(drive, path, url, twice)


@pytest.mark.parametrize("drive", EVERY)
def test_what_is_ignored_in_requests_is_ignored_in_messages(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "s.cassette.json"

    def work(door: Any, id: str = "a") -> str:
        with door.connect(CALL) as socket:
            assert socket.next().type == "greeting"
            socket.send(msgspec.structs.replace(asked("one"), metadata={"id": id}))
            return str(socket.next().delta)

    url = recorded(drive, path, work)
    match = Match(ignore=["$.metadata.id"])
    assert played(drive, path, url, lambda door: work(door, "b"), match=match)[0] == "one"
    with pytest.raises(errors.CassetteError, match=r"\$\.metadata\.id: recorded"):
        played(drive, path, url, lambda door: work(door, "b"))


@pytest.mark.parametrize("drive", EVERY)
def test_a_message_of_the_server_waits_for_those_that_were_sent_before_it(
    drive: Drive, tmp_path: Path
) -> None:
    path = tmp_path / "s.cassette.json"
    url = recorded(drive, path)

    def early(door: Any) -> list[str]:
        with door.connect(CALL) as socket:
            for name in reversed(NAMES):  # as of two threads
                socket.send(asked(name))
            return [socket.next().type, socket.next().delta, socket.next().delta]

    assert played(drive, path, url, early)[0] == ["greeting", *NAMES]

    def late(door: Any) -> None:
        with door.connect(CALL) as socket:
            assert socket.next().type == "greeting"
            socket.send(asked("two"))
            with pytest.raises(errors.CassetteError) as caught:
                socket.next()
            told = str(caught.value)
            assert "waits for messages[2], which was recorded after messages[1]" in told
            assert '"input": "one"' in told
            socket.send(asked("one"))
            assert [socket.next().delta, socket.next().delta] == NAMES

    played(drive, path, url, late, client={"timeouts": Timeouts(idle=0.1)})


@pytest.mark.parametrize("drive", EVERY)
def test_a_program_that_waits_for_more_than_was_recorded_is_told(
    drive: Drive, tmp_path: Path
) -> None:
    path = tmp_path / "s.cassette.json"
    url = recorded(drive, path)

    def work(door: Any) -> None:
        with door.connect(CALL) as socket:
            socket.next()
            for name in NAMES:
                socket.send(asked(name))
                socket.next()
            with pytest.raises(errors.CassetteError, match="in the recording it left here"):
                socket.next()

    played(drive, path, url, work, client={"timeouts": Timeouts(idle=0.1)})


@pytest.mark.parametrize("drive", EVERY)
def test_a_client_without_a_clock_does_not_wait_for_ever(
    drive: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(played_links, "_LONGEST", 0.05)
    path = tmp_path / "s.cassette.json"
    url = recorded(drive, path)
    slow = json.loads(path.read_text("utf-8"))
    slow["interactions"][0]["messages"][0]["after"] = 120  # longer than that, but it comes
    path.write_text(json.dumps(slow), "utf-8")

    def work(door: Any) -> None:
        with door.connect(CALL) as socket:
            assert socket.next().type == "greeting"
            with pytest.raises(errors.CassetteError, match="the program has not sent that"):
                socket.next()

    played(drive, path, url, work, client={"timeouts": None}, sleep=True)


def test_a_thread_that_listens_gets_what_others_send_for_and_the_end(tmp_path: Path) -> None:
    path, drive = tmp_path / "s.cassette.json", Drive("sync")

    def work(door: Any) -> list[str]:
        got: queue.Queue[str] = queue.Queue()
        with door.client.connect(CALL) as socket:

            def listen() -> None:
                for event in socket.events():
                    got.put(event.delta if event.delta is not None else event.type)
                got.put("end")

            listener = threading.Thread(target=listen)
            listener.start()
            heard = [got.get(timeout=20)]
            for name in NAMES:
                socket.send(asked(name))
                heard.append(got.get(timeout=20))
        listener.join(20)
        return [*heard, got.get(timeout=20)]

    url = recorded(drive, path, work)
    assert played(drive, path, url, work)[0] == ["greeting", *NAMES, "end"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_task_that_listens_gets_what_others_send_for_and_the_end(
    backend: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.cassette.json"

    async def main(url: str, mode: str) -> list[str]:
        heard: list[str] = []
        options: dict[str, Any] = {"api_key": "fake-key", "base_url": url}
        async with AsyncClient("openai", http=AsyncCassette(path, mode), **options) as client:
            async with anyio.create_task_group() as tasks:
                async with client.connect(CALL) as socket:
                    come = [anyio.Event() for _ in range(3)]

                    async def listen() -> None:
                        async for event in socket.events():
                            heard.append(event.delta if event.delta is not None else event.type)
                            come[len(heard) - 1].set()
                        heard.append("end")

                    tasks.start_soon(listen)
                    await come[0].wait()
                    for name, arrived in zip(NAMES, come[1:], strict=True):
                        await socket.send(asked(name))
                        await arrived.wait()
        return heard

    with loopback(served(echo)) as server:
        url = f"{server.url}/v1"
        assert anyio.run(main, url, "rewrite", backend=backend)[-1] == "end"
    assert anyio.run(main, url, "none", backend=backend) == ["greeting", *NAMES, "end"]


@pytest.mark.parametrize("drive", EVERY)
def test_messages_that_were_not_sent_are_told_at_the_end(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "s.cassette.json"
    url = recorded(drive, path)
    _, http = played(drive, path, url, lambda door: talk(door, ["one"]))
    where = url.replace("http:", "ws:") + "/responses"
    assert http.unplayed == [f"interactions[0] messages[3]: GET {where}"]
    with pytest.raises(errors.CassetteError, match=r"interactions\[0\] messages\[3\]: GET ws:"):
        http.check_all_played()


# --- modes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("drive", EVERY)
def test_a_session_that_is_not_recorded_is_the_error_of_any_request(
    drive: Drive, tmp_path: Path
) -> None:
    path = tmp_path / "s.cassette.json"
    url = recorded(drive, path)
    for other in (responses.create_response(asked("one")), realtime.socket("m")):

        def work(door: Any, call: Any = other) -> None:
            door.connect(call).__enter__() if isinstance(call, SocketCall) else door.send(call)

        with pytest.raises(errors.CassetteError, match="no recorded response to"):
            played(drive, path, url, work)

    def elsewhere(door: Any) -> None:
        with pytest.raises(errors.CassetteError, match="no recorded response to GET ws://"):
            door.connect(realtime.socket("m")).__enter__()

    played(drive, path, url, elsewhere)


@pytest.mark.parametrize("drive", EVERY)
def test_once_and_new_record_what_is_missing_and_play_the_rest(
    drive: Drive, tmp_path: Path
) -> None:
    for mode in ("once", "new_episodes"):
        path = tmp_path / f"{mode}.cassette.json"
        url = recorded(drive, path, mode=mode)
        assert len(interactions(path)) == 1
        assert played(drive, path, url, mode=mode)[0] == ["greeting", *NAMES]
        assert len(interactions(path)) == 1


@pytest.mark.parametrize("drive", EVERY)
def test_all_records_a_session_in_the_place_of_the_old_one(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "s.cassette.json"

    def other(peer: Peer) -> None:
        peer.send(text({"type": "welcome"}), close(1001, "Restart"))

    def work(door: Any) -> str:
        with door.connect(CALL) as socket:
            return str(socket.next().type)

    scripts = [echo, other]
    with loopback(lambda n, request: served(scripts[min(n, 1)])(n, request)) as server:
        url = f"{server.url}/v1"
        session(drive, cassette(drive, path, "rewrite"), url, work)
        session(drive, cassette(drive, path, "all"), url, work)
    [found] = interactions(path)
    assert found["messages"][0]["body"]["json"] == {"type": "welcome"}


@pytest.mark.parametrize("drive", EVERY)
def test_verify_tells_what_changed_in_the_messages(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "s.cassette.json"

    def other(peer: Peer) -> None:
        peer.send(text({"type": "greeting", "mood": "good"}))
        while peer.message() is not None:
            peer.send(text({"type": "response.output_text.delta", "delta": 7}))

    def work(door: Any) -> None:
        with door.connect(CALL) as socket:
            socket.next()
            socket.send(asked("one"))
            socket.next()

    scripts = [echo, other]
    with loopback(lambda n, request: served(scripts[min(n, 1)])(n, request)) as server:
        url = f"{server.url}/v1"
        session(drive, cassette(drive, path, "rewrite"), url, work)
        before = path.read_bytes()
        http = cassette(drive, path, "verify")
        session(drive, http, url, work)
    assert path.read_bytes() == before
    assert [str(each) for each in http.drift] == [
        "interactions[0]: event response.output_text.delta, $.delta: recorded text, live number",
        "interactions[0]: event greeting, $.mood: new, text",
    ]


@pytest.mark.parametrize("drive", EVERY)
def test_faults_break_a_session_or_refuse_it(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "s.cassette.json"
    url = recorded(drive, path)

    def cut(door: Any) -> None:
        with door.connect(CALL) as socket:
            assert socket.next().type == "greeting"
            with pytest.raises(errors.ConnectionLost, match="1006"):
                socket.next()

    played(drive, path, url, cut, faults="cut; after=1")

    def reset(door: Any) -> None:
        with door.connect(CALL) as socket:
            with pytest.raises(errors.ConnectionLost, match="the recording ends here: reset"):
                socket.next()

    played(drive, path, url, reset, faults="reset; after=0")
    assert played(drive, path, url, faults="503; attempt=1")[0] == ["greeting", *NAMES]
    with pytest.raises(errors.ConfigurationError, match="drop is not for sessions"):
        played(drive, path, url, faults="drop")


# --- what else uses cassettes ---------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["sync", "asyncio", "trio"])
def test_a_block_records_sessions_of_clients_without_a_transport(
    backend: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.cassette.json"

    def run(url: str, mode: str) -> list[str]:
        options: dict[str, Any] = {"api_key": "fake-key", "base_url": url}
        with wire.record(path, mode) as cassette:
            if backend == "sync":
                with Client("openai", **options) as client, client.connect(CALL) as socket:
                    socket.send(asked("one"))
                    got = [next(socket.events()) for _ in range(2)]
            else:

                async def main() -> list[Any]:
                    async with AsyncClient("openai", **options) as client:
                        async with client.connect(CALL) as socket:
                            await socket.send(asked("one"))
                            return [await anext(socket.events()) for _ in range(2)]

                got = anyio.run(main, backend=backend)
        assert cassette.unplayed == []
        return [each.type for each in got]

    with loopback(served(echo)) as server:
        url = f"{server.url}/v1"
        live = run(url, "rewrite")
    assert run(url, "none") == live == ["greeting", "response.output_text.delta"]


def test_calls_and_sessions_of_one_cassette_are_kept_apart(tmp_path: Path) -> None:
    path, drive = tmp_path / "s.cassette.json", Drive("sync")
    url = recorded(drive, path)
    sent = Sent("GET", f"{url}/responses", [], b"")
    player = Player(load(path.read_bytes(), "s").interactions, Match(), "s", "")
    assert player.take(sent) is None
    assert "the cassette has sessions over WebSocket only" in str(player.unmatched(sent))
    with pytest.raises(errors.CassetteError, match="is a session over WebSocket"):
        sweep(path, lambda http: None)


def test_a_cache_passes_sessions_on(tmp_path: Path) -> None:
    drive, folder = Drive("sync"), tmp_path / "cache"
    with loopback(served(echo)) as server:
        got = session(drive, Cache(folder), f"{server.url}/v1", talk)
    assert got == ["greeting", *NAMES]
    assert not folder.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_plays_its_own_session(tmp_path: Path) -> None:
    path, drive = tmp_path / "s.cassette.json", Drive("sync")
    url = recorded(drive, path)
    with Client("openai", api_key="fake-key", base_url=url, http=Cassette(path)) as client:
        with client.connect(CALL) as socket:
            with socket._link._changed:  # as another thread of the parent may hold it
                pid = os.fork()
                if not pid:
                    socket.send(asked("one"))
                    got = [next(socket.events()).type for _ in range(2)]
                    os._exit(0 if got == ["greeting", "response.output_text.delta"] else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            assert next(socket.events()).type == "greeting"


def test_the_emulator_plays_no_sessions_of_cassettes_and_says_so(tmp_path: Path) -> None:
    path, drive = tmp_path / "s.cassette.json", Drive("sync")
    recorded(drive, path)
    with pytest.raises(errors.CassetteError, match="is a session over WebSocket"):
        Emulator(path)


@pytest.mark.parametrize("drive", EVERY)
def test_the_fixture_is_played(drive: Drive) -> None:
    path = Path(__file__).parents[2] / "fixtures" / "cassettes" / "session.cassette.json"
    raw = msgspec.structs.replace(realtime.socket("gpt-realtime"), encode=bytes, parse=bytes)

    def work(door: Any) -> list[bytes]:
        with door.connect(raw) as socket:
            got = [socket.next()]
            prompt = {"id": "mine"}
            session = {"prompt": prompt, "type": "realtime"}
            socket.send(json.dumps({"session": session, "type": "session.update"}).encode())
            got.append(socket.next())
            socket.send(b"no JSON\nin two lines")
            got += [socket.next(), socket.next()]
            with pytest.raises(errors.ServerError, match="The session failed"):
                socket.next()
        return got

    http = cassette(drive, path)
    got = drive.session(work, provider="openai", http=http)
    assert got[1:] == [b'{"type":"session.updated"}', b"\xff\xfe", b""]
    http.check_all_played()
