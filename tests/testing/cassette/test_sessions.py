"""Sessions over WebSocket in cassettes: recorded on loopback, and played without a server."""

from __future__ import annotations

import base64
import json
import math
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

from tests.http.drive import EVERY, Drive
from tests.http.frames import Peer, accepted, close, frame, text
from tests.http.loopback import loopback, whole
from tests.testing.cassette.session_ways import (
    CALL,
    NAMES,
    RAW,
    asked,
    cassette,
    interactions,
    played,
    recorded,
    session,
)
from wire import Limits, Timeouts, errors
from wire.openai import responses
from wire.testing import Match
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.plot import Ended, Plot, Said

REAL_WAIT = Plot.wait


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
def test_times_are_recorded_if_asked_for_and_kept_by_sleep(
    drive: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    for sleep in (True, False):
        waits: list[float] = []

        def wait(plot: Plot, now: float, *, timed: bool, waits: list[float] = waits) -> float:
            waits.append(seconds := REAL_WAIT(plot, now, timed=timed))
            return seconds

        monkeypatch.setattr(Plot, "wait", wait)
        assert played(drive, path, url, sleep=sleep)[0] == ["greeting", *NAMES]
        assert any(0 < each <= 0.06 for each in waits) is sleep


def test_a_plot_tells_when_a_message_comes() -> None:
    messages = [
        {"direction": "received", "after": 40, "body": {"text": ["a"]}},
        {"direction": "sent", "after": 900, "body": {"text": ["b"]}},
        {"direction": "received", "after": 50, "body": {"text": ["c"]}},
        {"direction": "received", "after": 20, "body": {"text": ["d"]}},
    ]
    one = {
        "request": {"method": "GET", "url": "wss://llm.example/v1"},
        "response": {"status": 101, "end": "cut"},
        "messages": messages,
    }
    file = json.dumps({"wire_cassette": 1, "interactions": [one]}).encode()
    plot = Plot(
        load(file, "s").interactions[0],
        Match(),
        Sent("GET", "wss://llm.example/v1", [], b""),
        "s: interactions[0]",
        "",
    )
    assert plot.wait(100.0, timed=True) == pytest.approx(0.04)
    assert plot.wait(100.0, timed=False) == 0
    assert plot.wait(100.5, timed=True) == 0
    assert plot.take(100.5) == Said(b"a", True)
    assert plot.wait(200.0, timed=True) == math.inf
    assert "which was recorded after messages[1]" in str(plot.stuck())
    assert plot.unsent == [1]
    plot.send(b"b", 300.0)
    assert plot.wait(300.0, timed=True) == pytest.approx(0.05)
    assert plot.take(300.25) == Said(b"c", True)
    assert plot.wait(300.25, timed=True) == pytest.approx(0.02)
    assert plot.take(301.0) == Said(b"d", True)
    assert plot.wait(301.0, timed=True) == 0
    assert plot.take(301.0) == Ended("cut", None)
    assert plot.unsent == []


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
