"""C-38: `with wire.record(path):` records the clients of its block; the command has an option."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import anyio
import pytest

import wire
from tests.http.drive import CALL, STREAM_CALL
from tests.http.loopback import ANSWER, GOOD_STREAM, whole
from tests.testing.cassette.ways import serving
from wire.cli import main
from wire.errors import CassetteError, ConfigurationError
from wire.testing import Replay
from wire.testing.cassette.format.file import load


def script(number: int, request: bytes) -> list[Any]:
    return list(GOOD_STREAM) if b":stream" in request.split(b"\r\n")[0] else [whole(ANSWER)]


def paths(cassette: Path) -> list[str]:
    interactions = load(cassette.read_bytes(), cassette.name).interactions
    return [each.request.url.rpartition(":")[2] for each in interactions]


@pytest.mark.row("C-38")
def test_all_clients_of_the_block_share_one_cassette(tmp_path: Path):
    path = tmp_path / "x.cassette.json"
    with serving(script) as server:
        options: Any = {"api_key": "fake-key", "base_url": server.url}

        async def stream() -> str:
            async with wire.AsyncClient("gemini", **options) as client:
                async with client.stream(STREAM_CALL) as chunks:
                    return (await chunks.result()).text

        with wire.record(path) as cassette:
            with wire.Client("gemini", **options) as client:
                first = client.send(CALL).text
            second = anyio.run(stream)
            with wire.Client("gemini", http=wire.Lanes(), **options) as client:
                client.send(CALL)  # a transport of its own is not recorded
        with wire.Client("gemini", **options) as client:
            client.send(CALL)  # after the block
    assert (first, second, len(server.requests)) == ("Hello.", "Hello.", 4)
    assert paths(path) == ["generateContent", "streamGenerateContent?alt=sse"]
    with wire.record(path, "none") as cassette:
        with wire.Client("gemini", **options) as client:  # nobody listens there any more
            assert client.send(CALL).text == "Hello."
        assert len(cassette.unplayed) == 1
        assert anyio.run(stream) == "Hello."
        cassette.check_all_played()


@pytest.mark.row("C-38")
def test_a_mode_and_a_match_apply(tmp_path: Path):
    with pytest.raises(CassetteError, match="cannot be read"), wire.record(tmp_path / "x", "none"):
        pass
    with pytest.raises(ConfigurationError, match="mode: expected one of"):
        with wire.record(tmp_path / "x", "never"):
            pass


@pytest.mark.row("C-38")
def test_blocks_nest_and_other_threads_do_not_record(tmp_path: Path):
    outer, inner = tmp_path / "outer.json", tmp_path / "inner.json"
    with serving(script) as server:
        options: Any = {"api_key": "fake-key", "base_url": server.url}

        def send() -> None:
            with wire.Client("gemini", **options) as client:
                client.send(CALL)

        with wire.record(outer):
            with wire.record(inner):
                send()
            send()
            anyio.run(anyio.to_thread.run_sync, send)  # a task that the block starts
    assert (len(paths(outer)), len(paths(inner))) == (2, 1)


@pytest.mark.row("C-38")
def test_on_the_command_line(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GEMINI_API_KEY", "fake-key")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    path = tmp_path / "x.cassette.json"
    with serving(script) as server:
        given = ["--model", "gemini:m", "--base-url", server.url, "--cassette", str(path), "Hi"]
        assert [main(["ask", *given]), main(["ask", *given])] == [0, 0]
    assert capsys.readouterr().out == "Hello.\nHello.\n"
    assert len(server.requests) == 1
    assert main(["ask", "--record-mode", "none", *given[:-1], "Ho"]) == 2
    refused = capsys.readouterr().err
    assert '$.contents[0].parts[0].text: recorded "Hi", sent "Ho"' in refused
    assert main(["ask", "--record-mode", "never", *given]) == 2
    assert capsys.readouterr().err.startswith("wire ask: --record-mode: expected one of none, once")


@pytest.mark.row("C-38")
def test_keys_are_not_written(tmp_path: Path):
    path = tmp_path / "x.cassette.json"
    with serving(script) as server, wire.record(path):
        with wire.Client("gemini", api_key="a-fake-key-of-mine", base_url=server.url) as client:
            client.send(CALL)
    assert "a-fake-key" not in path.read_text()
    assert json.loads(path.read_text())["wire_cassette"] == 1
    with wire.Client(
        "gemini", api_key="other-fake", base_url=server.url, http=Replay(path)
    ) as client:
        assert client.send(CALL).text == "Hello."
