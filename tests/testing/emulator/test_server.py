"""The server on loopback as raw HTTP sees it, and the command."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from wire.cli import main
from wire.errors import ConfigurationError
from wire.testing.emulator import Emulator, Server, serve

ROOT = Path(__file__).parents[3]
BODY = json.dumps({"contents": [{"parts": [{"text": "hi"}]}]})
HEADERS = {"x-goog-api-key": "k", "content-type": "application/json"}
STREAM = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Emulator()) as running:
        yield running


def port(server: Server) -> int:
    return int(server.url.rpartition(":")[2])


def test_a_connection_is_kept(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port(server), timeout=30)
    connection.request("POST", STREAM, BODY, HEADERS)
    answer = connection.getresponse()
    assert (
        answer.status,
        answer.getheader("transfer-encoding"),
        answer.getheader("content-type"),
    ) == (200, "chunked", "text/event-stream")
    assert answer.read().endswith(b"}\r\n\r\n")
    sock = connection.sock
    connection.request(
        "POST", STREAM.replace("streamGenerateContent?alt=sse", "generateContent"), BODY, HEADERS
    )
    answer = connection.getresponse()
    length = int(answer.getheader("content-length") or 0)
    assert len(answer.read()) == length > 0
    connection.request("GET", "/_wire/health")
    assert json.loads(connection.getresponse().read()) == {"status": "ok", "requests": 2}
    assert connection.sock is sock
    connection.close()


@pytest.mark.parametrize("path", [STREAM, "/v1/chat/completions", "/v1/messages", "/v1/responses"])
def test_the_list_of_requests_has_no_key_under_any_name(path: str) -> None:
    hush, key = "quiet-seal-of-the-harbour", "sk-" + "fake-4711-81a2-77f0-9c31"
    headers = {
        "api-key": hush, "x-key": hush, "x-token": hush, "cookie": f"a={hush}",
        "proxy-authorization": hush, "x-team": key, "x-other": f"Bearer {hush}", "x-plain": "tide",
    }  # fmt: skip
    query = f"token={hush}&key={hush}&api_key={hush}&a={key}&b=tide"
    emulator = Emulator()
    emulator.answer("POST", f"{path}?{query}".replace("sse?", "sse&"), headers, BODY.encode())
    emulator.answer("POST", f"/hook/{key}/v1", headers, BODY.encode())
    shown = json.dumps(emulator.requests) + repr(emulator.requests)
    assert len(emulator.requests) == 2
    assert emulator.requests[0]["headers"]["x-plain"] == "tide"
    assert emulator.requests[0]["target"].endswith("token=***&key=***&api_key=***&a=***&b=tide")
    assert emulator.requests[1]["target"] == "/hook/***/v1"
    assert hush not in shown
    assert key not in shown


def test_a_body_in_chunks(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port(server), timeout=30)
    connection.request(
        "POST", STREAM, iter([BODY[:10].encode(), BODY[10:].encode()]), HEADERS, encode_chunked=True
    )
    assert connection.getresponse().status == 200
    assert server.requests[0]["body"] == json.loads(BODY)
    connection.close()


def test_a_length_that_is_none_and_a_script_that_fails(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", port(server)), timeout=30) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 400"

    def fails(request: object) -> None:
        raise KeyError("no")

    with serve(Emulator(fails)) as failing:
        asked = http.client.HTTPConnection("127.0.0.1", port(failing), timeout=30)
        asked.request("POST", STREAM, BODY, HEADERS)
        answer = asked.getresponse()
        assert (answer.status, json.loads(answer.read())["error"]["message"]) == (
            500,
            "the emulator failed: KeyError: 'no'",
        )
        asked.close()


def raw(server: Server, fault: str) -> tuple[bytes, Exception | None]:
    """All bytes that come, and how they end."""
    request = (
        f"POST {STREAM} HTTP/1.1\r\nhost: x\r\nx-goog-api-key: k\r\nx-wire-fault: "
        f"{fault}\r\ncontent-length: {len(BODY)}\r\n\r\n{BODY}"
    )
    found = b""
    with socket.create_connection(("127.0.0.1", port(server)), timeout=30) as connection:
        connection.sendall(request.encode())
        try:
            while data := connection.recv(65536):
                found += data
        except OSError as error:
            return found, error
    return found, None


def test_breaks(server: Server) -> None:
    cut, ended = raw(server, "cut; after=2")
    assert (cut.count(b"data: "), cut.endswith(b"\r\n0\r\n\r\n"), ended) == (2, False, None)
    reset, ended = raw(server, "reset; after=0")
    assert reset == b"" or reset.startswith(b"HTTP/1.1 200")
    assert isinstance(ended, ConnectionResetError)


def test_a_server_that_stops_waits_for_nobody() -> None:
    with serve(Emulator()) as server:
        connection = http.client.HTTPConnection("127.0.0.1", port(server), timeout=30)
        connection.request("POST", STREAM, BODY, {**HEADERS, "x-wire-fault": "stall; seconds=3600"})
        answer = connection.getresponse()
        assert answer.read1().startswith(b"data: ")
    with pytest.raises((http.client.IncompleteRead, OSError)):
        answer.read()
    connection.close()


# --- the command ----------------------------------------------------------------------------------


def emulate(*options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "wire.cli", "emulate", "--port", "0", *options],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def test_the_command_says_where_it_is_and_answers(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"steps": [{"say": "from a file"}]}', "utf-8")
    running = emulate("--script", str(script), "--warnings-too", "--seed", "3")
    try:
        assert running.stdout is not None
        said = re.fullmatch(r"READY http://127\.0\.0\.1:(\d+)\n", running.stdout.readline())
        assert said is not None
        connection = http.client.HTTPConnection("127.0.0.1", int(said[1]), timeout=30)
        connection.request("POST", STREAM, BODY, HEADERS)
        assert b"from a " in connection.getresponse().read()
        connection.close()
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
    finally:
        running.kill()
        running.communicate()


def test_help_lists_the_subcommands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "emulate" in capsys.readouterr().out


def test_what_goes_wrong_is_one_line(capsys: pytest.CaptureFixture[str], server: Server) -> None:
    assert main(["emulate", "--script", "nowhere.json"]) == 2
    problem = "wire emulate: --script: nowhere.json: cannot be read: No such file or directory\n"
    assert capsys.readouterr().err == problem
    assert main(["emulate", "--port", str(port(server))]) == 2
    problem = f"wire emulate: --port: {port(server)} is in use on 127.0.0.1; 0 takes a free one\n"
    assert capsys.readouterr().err == problem
    for value in (-1, 65536, "80"):
        with pytest.raises(ConfigurationError, match=r"^port: expected a number from 0 to 65535"):
            with serve(Emulator(), value):  # type: ignore[arg-type]
                pass
    with pytest.raises(ConfigurationError, match=r"^host: expected a str, not int$"):
        with serve(Emulator(), host=127):  # type: ignore[arg-type]
            pass
    with pytest.raises(ConfigurationError, match=r"^host: 192\.0\.2\.1: "):
        with serve(Emulator(), host="192.0.2.1"):
            pass


def test_the_address_is_the_one_that_is_asked_for() -> None:
    with serve(Emulator(), host="localhost") as server:
        assert server.url == f"http://localhost:{port(server)}"
        connection = http.client.HTTPConnection("127.0.0.1", port(server), timeout=30)
        connection.request("GET", "/_wire/health")
        assert connection.getresponse().status == 200
        connection.close()


@pytest.mark.row("R-34")
def test_what_a_client_or_a_path_says_is_no_control_character_on_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines: list[str] = []
    with serve(Emulator(), log=lines.append) as server:  # type: ignore[arg-type]
        with socket.create_connection(("127.0.0.1", port(server))) as client:
            client.sendall(b"GET /a\x1b[2J\x9b HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            while client.recv(1 << 16):
                pass
    assert len(lines) == 1
    assert main(["emulate", "--script", "gone\x1b[2J\r\u202e.json"]) == 2
    with pytest.raises(SystemExit):
        main(["emulate", "--x\x1b[2J"])
    told = lines[0] + capsys.readouterr().err
    assert re.findall("(?!\n)[\x00-\x1f\x7f-\x9f\u202e]", told) == []


def test_the_command_and_the_plugin_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"] == {"wire": "wire.cli:main", "attractor": "wire.pipeline.cli:main"}
    assert project["entry-points"]["pytest11"] == {"wire": "wire_llm_pytest"}
