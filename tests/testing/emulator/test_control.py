"""The emulator steered over HTTP, asked by a browser, by many clients at once, and logged."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from typing import Any

import httpx
import pytest

from tests.testing.emulator.asks import GEMINI_3, KEY, parts, user
from wire.testing.emulator import Answer, Emulator, serve

ASK = f"{GEMINI_3}:generateContent"


def steer(emulator: Emulator, method: str, name: str, body: Any = None) -> tuple[int, Any]:
    data = b"" if body is None else json.dumps(body).encode()
    answer = emulator.answer(method, f"/_wire/{name}", {}, data)
    return answer.status, json.loads(answer.body)


def ask(emulator: Emulator, **headers: str) -> Answer:
    body = json.dumps({"contents": [user("hi")]}).encode()
    return emulator.answer("POST", ASK, {**KEY, **headers}, body)


def text(answer: Answer) -> str:
    return str(parts(json.loads(answer.body))[0]["text"])


def test_a_script_is_put_added_to_and_deleted() -> None:
    emulator = Emulator()
    assert steer(emulator, "PUT", "script", {"steps": [{"say": "b"}]}) == (200, {"steps": 1})
    assert steer(emulator, "POST", "script", [{"say": "a"}]) == (200, {"steps": 2})
    assert [text(ask(emulator)) for _ in range(2)] == ["a", "b"]
    assert text(ask(emulator)).endswith("You said: hi")
    steer(emulator, "PUT", "script", [{"say": "c", "times": 0}])
    assert steer(emulator, "DELETE", "script") == (200, {"steps": 0})
    assert text(ask(emulator)).endswith("You said: hi")


def test_a_fault_is_for_the_next_request() -> None:
    emulator = Emulator()
    assert steer(emulator, "POST", "faults", {"fault": "429", "retry_after": 2})[0] == 200
    refused = ask(emulator)
    assert (refused.status, dict(refused.headers)["retry-after"]) == (429, "2")
    assert ask(emulator).status == 200
    steer(emulator, "POST", "faults", {"fault": "503", "times": 2})
    assert [ask(emulator).status for _ in range(3)] == [503, 503, 200]
    steer(emulator, "POST", "faults", "500")
    assert ask(emulator).status == 500


def test_a_reset_starts_the_script_of_the_emulator_again() -> None:
    emulator = Emulator([{"say": "first"}])
    assert text(ask(emulator)) == "first"
    assert text(ask(emulator)).endswith("You said: hi")
    assert steer(emulator, "POST", "reset") == (200, {})
    assert emulator.requests == []
    assert text(ask(emulator)) == "first"


@pytest.mark.parametrize(
    ("name", "body", "wanted"),
    [
        ("script", {"steps": [{"sya": "x"}]}, "script: steps[0]: 'sya' is unknown"),
        ("script", "/etc/hosts", "script: expected"),
        ("faults", {"fault": "boom"}, "fault: 'boom' is unknown"),
    ],
)
def test_what_cannot_steer_is_refused_and_changes_nothing(
    name: str, body: Any, wanted: str
) -> None:
    emulator = Emulator([{"say": "kept"}])
    status, found = steer(emulator, "POST", name, body)
    assert status == 400
    assert found["error"].startswith(wanted)
    assert text(ask(emulator)) == "kept"


def test_a_browser_may_ask() -> None:
    emulator = Emulator()
    origin = {"origin": "http://localhost:3000"}
    wanted = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,x-goog-api-key",
    }
    allowed = emulator.answer("OPTIONS", ASK, {**origin, **wanted}, b"")
    headers = dict(allowed.headers)
    assert allowed.status == 204
    assert headers["access-control-allow-origin"] == "http://localhost:3000"
    assert headers["access-control-allow-headers"] == "content-type,x-goog-api-key"
    assert "POST" in headers["access-control-allow-methods"]
    assert emulator.requests == []
    answered = dict(ask(emulator, **origin).headers)
    assert answered["access-control-allow-origin"] == "http://localhost:3000"
    assert "access-control-allow-origin" not in dict(ask(emulator).headers)


def test_many_clients_connect_at_once() -> None:
    """The backlog holds 1,000; the test opens fewer, since file descriptors may be few."""
    with serve(Emulator()) as server, contextlib.ExitStack() as connections:
        assert server.request_queue_size >= 1000
        address = ("127.0.0.1", server.server_address[1])
        for _ in range(300):
            connections.enter_context(socket.create_connection(address, timeout=10))


def test_a_line_for_each_request() -> None:
    lines: list[str] = []
    with serve(Emulator(), log=lines.append) as server:
        httpx.get(f"{server.url}/v1beta/models?key=secret", trust_env=False)
        httpx.post(f"{server.url}{ASK}", headers=KEY, json={"contents": []}, trust_env=False)
    assert lines == ["GET /v1beta/models?key=*** 200", f"POST {ASK} 400 [G4]"]


def test_the_command_logs_to_stderr() -> None:
    command = [sys.executable, "-m", "wire.cli", "emulate", "--port", "0", "--verbose"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().removeprefix("READY ").strip()
        httpx.get(f"{url}/_wire/health", trust_env=False)
        assert process.stderr.readline() == "GET /_wire/health 200\n"
        process.terminate()
