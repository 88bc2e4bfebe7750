"""Sessions over WebSocket that a cassette plays: what matches, in which order, in which mode."""

from __future__ import annotations

import json
import os
import queue
import threading
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

import wire
from tests.http.drive import EVERY, Drive
from tests.http.frames import Peer, close, served, text
from tests.http.loopback import loopback
from tests.testing.cassette.session_ways import (
    CALL,
    NAMES,
    asked,
    cassette,
    echo,
    interactions,
    played,
    recorded,
    session,
    talk,
)
from wire import AsyncClient, Client, SocketCall, Timeouts, errors
from wire.openai import realtime, responses
from wire.testing import AsyncCassette, Cache, Cassette, Match, sweep
from wire.testing.cassette import played_links
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.player import Player
from wire.testing.emulator import Emulator

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
