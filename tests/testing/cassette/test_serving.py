"""`wire cassette serve`: a server on loopback that plays cassettes to clients of any kind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from wire import Chat, errors
from wire.testing import Record
from wire.testing.cassette.instrument import Instrument
from wire.testing.emulator import Emulator, EmulatorTransport, serve
from wire.testing.emulator.recorded import Recorded

MODELS = {
    "gemini": "gemini:gemini-3.8-flash",
    "openai": "openai@chat:gpt-5.4",
    "anthropic": "anthropic:claude-opus-4-8",
    "responses": "openai:gpt-5.4",
}
PATHS = {"gemini": "", "openai": "/v1", "anthropic": "", "responses": "/v1"}
"""What the base URL of each wire ends with."""


def ask(model: str, **options: Any) -> str:
    options = {"api_key": "fake-key", "retry": None, **options}
    with Chat(model, **options) as chat, chat.stream("When is high tide?") as events:
        return events.reply().text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a cassette of each wire, in two folders of its own."""
    for wire, model in MODELS.items():
        path = tmp_path / "cassettes" / wire / "tide.json"
        vendor = EmulatorTransport(Emulator([{"say": f"At 05:12, says {wire}."}]))
        assert ask(model, http=Record(vendor, path)) == f"At 05:12, says {wire}."
    (tmp_path / "cassettes" / "notes.json").write_text("[]", "utf-8")
    return tmp_path / "cassettes"


@contextlib.contextmanager
def served(path: Path, *options: str) -> Iterator[str]:
    """The URL of the command's server."""
    command = [sys.executable, "-m", "wire.cli", "cassette", "serve", str(path), "--port", "0"]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, text=True, env={**os.environ}
    )
    try:
        assert process.stdout is not None
        ready, url = process.stdout.readline().split()
        assert ready == "READY"
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        process.stdout.close()  # type: ignore[union-attr]


@pytest.mark.row("C-36")
def test_a_folder_is_served_to_every_wire(folder: Path) -> None:
    with served(folder, "--chunks", "bytes:7") as url:
        for wire, model in MODELS.items():
            assert ask(model, base_url=url + PATHS[wire]) == f"At 05:12, says {wire}."
        with pytest.raises(errors.BadRequestError) as raised:
            ask(MODELS["gemini"], base_url=url)  # each interaction is played once
    assert "it is recorded 1 time, and each was played once" in raised.value.message


@pytest.mark.row("C-36")
def test_an_unmatched_request_gets_the_difference_in_the_vendors_words(folder: Path) -> None:
    with serve(Emulator(Recorded(folder))) as server:
        for wire, model in MODELS.items():
            with pytest.raises(errors.BadRequestError) as raised:
                with Chat(model, api_key="fake-key", base_url=server.url + PATHS[wire]) as chat:
                    with chat.stream("When is low tide?") as events:
                        events.reply()
            message = raised.value.message
            assert f"the closest is {wire}/tide.json interactions[0], different in $." in message
            assert 'recorded "When is high tide?", sent "When is low tide?"' in message
            error = json.loads(raised.value.raw)["error"]
            kinds = {"gemini": ("status", "FAILED_PRECONDITION")}
            name, value = kinds.get(wire, ("type", "invalid_request_error"))
            assert error[name] == value


@pytest.mark.row("C-36")
@pytest.mark.parametrize("wire", MODELS)
def test_faults_are_served_in_the_vendors_words(folder: Path, wire: str) -> None:
    instrument = Instrument("recorded", ["429; retry-after=1; attempt=1", "cut; bytes=40"])
    with serve(Emulator(Recorded(folder / wire, instrument))) as server:
        options = {"base_url": server.url + PATHS[wire]}
        with pytest.raises(errors.RateLimitError) as limited:
            ask(MODELS[wire], **options)
        assert limited.value.retry_after == 1
        assert "a fault answers" not in limited.value.message
        with pytest.raises(errors.ConnectionLost):
            ask(MODELS[wire], **options)


@pytest.mark.row("C-36")
def test_a_server_plays_the_last_of_equal_requests_again(folder: Path) -> None:
    with served(folder / "gemini" / "tide.json", "--repeats") as url:
        answers = [ask(MODELS["gemini"], base_url=url) for _ in range(3)]
    assert answers == ["At 05:12, says gemini."] * 3


@pytest.mark.row("C-36")
def test_bytes_are_those_of_the_cassette(tmp_path: Path) -> None:
    """A client in another language reads the recorded bytes, over a socket and in other chunks."""
    body = 'data: {"a": "潮 \\u00e9", "n": 1.0}\r\n\r\n: still here\n\ndata:[DONE]\n\n'.encode()
    answer = httpx.MockTransport(
        lambda request: httpx.Response(
            200, headers={"content-type": "text/event-stream"}, content=body
        )
    )
    path = tmp_path / "x.json"
    with httpx.Client(transport=Record(answer, path)) as client:
        client.post("https://api.openai.com/v1/chat/completions", json={"stream": True})
    for chunks in ("recorded", "one", "bytes:1", "seed:5"):
        with serve(Emulator(Recorded(path, Instrument(chunks)))) as server:
            url = f"{server.url}/v1/chat/completions"
            assert httpx.post(url, json={"stream": True}, trust_env=False).content == body


@pytest.mark.row("C-36")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.json",), "nothing.json: cannot be read: "),
        ((".",), ".: the folder has no cassette (*.json)"),
        (("x.json", "--chunks", "every"), "--chunks: expected one of recorded, one, "),
        (("x.json", "--fault", "explode"), "--fault: 'explode' is unknown; there are "),
        (("x.json", "--fault", "cut; interaction=1"), "--fault: interaction=1: x.json has 0"),
        (("x.json", "--port", "99999"), "--port: expected a whole number from 0 to"),
    ],
)
def test_bad_input_exits_with_2(
    tmp_path: Path, arguments: tuple[str, ...], message: str, monkeypatch: Any, capsys: Any
) -> None:
    from wire.cli import main

    monkeypatch.chdir(tmp_path)
    if arguments[0] == "x.json":
        Path("x.json").write_text('{"wire_cassette": 1, "interactions": []}', "utf-8")
    try:
        status = main(["cassette", "serve", *arguments])
    except SystemExit as left:
        status = int(left.code or 0)
    assert status == 2
    assert message in capsys.readouterr().err


def test_the_emulator_takes_a_cassette_with_a_fault(folder: Path) -> None:
    """The same cassette in the process, without a socket."""
    path = folder / "gemini" / "tide.json"
    emulator = Emulator(Recorded(path, Instrument(faults="503; times=1")))
    with pytest.raises(errors.OverloadedError):
        ask(MODELS["gemini"], http=EmulatorTransport(emulator))
    assert ask(MODELS["gemini"], http=EmulatorTransport(emulator)) == "At 05:12, says gemini."
    emulator.reset()
    with pytest.raises(errors.OverloadedError):
        ask(MODELS["gemini"], http=EmulatorTransport(emulator))
