"""The emulator steered over HTTP, asked by a browser, by many clients at once, and logged."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import sys
from typing import Any

import httpx
import pytest

from tests.joined import joined
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
    assert steer(emulator, "POST", "faults", {"fault": "429; retry-after=2"})[0] == 200
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


LOOPBACK = ["localhost", "localhost:8910", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:8910"]
FOREIGN = [
    "evil.example",
    "evil.example:8910",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "evil.example#@127.0.0.1",
    "0.0.0.0",
    "10.0.0.1",
    "[::2]",
    "[::1",
    "",
    "generativelanguage.googleapis.com",
]
CONTROLS = [
    ("GET", "requests"),
    ("DELETE", "requests"),
    ("GET", "health"),
    ("PUT", "script"),
    ("POST", "faults"),
    ("POST", "reset"),
    ("OPTIONS", "script"),
    ("GET", "nothing"),
]


@joined(("method", "name"), CONTROLS)
@joined("host", FOREIGN)
def test_a_host_that_is_not_this_machine_cannot_steer(method: str, name: str, host: str) -> None:
    """DNS rebinding: the page's own host name leads to this machine."""
    emulator = Emulator([{"say": "kept"}])
    ask(emulator)
    wanted = {"access-control-request-method": "PUT"}
    answers = [emulator.answer(method, f"/_wire/{name}", {"host": host, **wanted}, b"[]")]
    if host:
        target = f"http://{host.replace('#', '%23')}/_wire/{name}"
        answers.append(emulator.answer(method, target, {"host": "localhost"}, b"[]"))
    for answer in answers:
        assert answer.status in (400, 403)
        assert "error" in json.loads(answer.body)
        assert not [key for key, _ in answer.headers if key.startswith("access-control")]
    assert len(emulator.requests) == 1
    assert ask(emulator, host=host).status == 200  # the vendors' paths have any host


@joined("host", LOOPBACK)
def test_names_of_this_machine_steer(host: str) -> None:
    emulator = Emulator()
    for headers in ({"host": host}, {"host": host, "origin": f"http://{host}"}, {}):
        answer = emulator.answer("GET", "/_wire/health", headers, b"")
        assert (answer.status, answer.headers) == (200, (("content-type", "application/json"),))


@joined("origin", ["http://evil.example", "null", "http://[::1", "file://", "x"])
def test_a_page_from_elsewhere_cannot_steer(origin: str) -> None:
    headers = {"host": "localhost:8910", "origin": origin}
    answer = Emulator().answer("POST", "/_wire/reset", headers, b"")
    assert answer.status == 403
    assert answer.headers == (("content-type", "application/json"),)


@pytest.mark.parametrize(
    "host",
    ["localhost/", "localhost#evil.example", "localhost?evil.example", "localhost:abc", "[::1%25a]",
     "localhost:80:80", "localhost, evil.example"],
)  # fmt: skip
def test_a_host_with_anything_but_a_name_and_a_port_cannot_steer(host: str) -> None:
    for headers in ({"host": host}, {"host": "localhost", "origin": f"http://{host}"}):
        assert Emulator().answer("GET", "/_wire/requests", headers, b"").status == 403


@pytest.mark.parametrize("name", ["origin", "host"])
def test_none_of_two_headers_is_overlooked(name: str) -> None:
    values = {"origin": ("http://localhost", "http://evil.example"), "host": ("localhost", "evil")}
    for pair in (values[name], values[name][::-1]):
        headers = [(name, pair[0]), (name.title(), pair[1])]
        assert Emulator().answer("GET", "/_wire/requests", headers, b"").status == 403


def test_control_has_only_its_own_endpoints_and_methods() -> None:
    emulator = Emulator()
    answer = emulator.answer("GET", "/_wire/nothing", {}, b"")
    assert (answer.status, json.loads(answer.body)["error"]) == (
        404,
        "no endpoint; there are requests, health, script, faults, reset",
    )
    answer = emulator.answer("GET", "/_wire/script", {}, b"")
    assert (answer.status, dict(answer.headers)["allow"]) == (405, "PUT, POST, DELETE")
    # Encoded, it is the same path; with dots, it is another one.
    assert emulator.answer("GET", "/%5Fwire/health", {"host": "evil.example"}, b"").status == 403
    assert emulator.answer("GET", "/v1/../_wire/health", {}, b"").status == 404
    assert len(emulator.requests) == 1


NO_STEPS = [
    5,
    [5],
    [{"say": 5}],
    [{"say": {"text": 5}}],
    [{"say": {"calls": [5]}}],
    [{"say": {"calls": [{"args": {}}]}}],
    [{"say": {"thinking": "x"}}],
    [{"say": "x", "times": "x"}],
    [{"say": "x", "times": -1}],
    [{"say": "x", "status": 99999}],
    [{"say": "x", "status": True}],
    [{"say": "x", "match": 5}],
    [{"say": "x", "match": {"model": 5}}],
    [{"say": "x", "match": {"text": "("}}],
    [{"stream": 5}],
    [{"fault": [1]}],
    [{"fault": "9"}],
    [{"fault": {"fault": "stall", "seconds": "nan"}}],
    [{"fault": {"fault": "stall", "seconds": -1}}],
    [{"fault": {"fault": "cut", "after": 1e999}}],
]


@joined("steps", NO_STEPS, ids=json.dumps)
def test_values_of_other_types_are_no_steps(steps: Any) -> None:
    emulator = Emulator([{"say": "kept"}])
    status, found = steer(emulator, "POST", "script", steps)
    assert status == 400
    assert re.match("script: |fault: ", found["error"])
    status, found = steer(emulator, "POST", "faults", steps)
    assert status == 400
    assert text(ask(emulator)) == "kept"


def test_many_clients_connect_at_once() -> None:
    """The backlog holds 1,000; the test opens fewer, since file descriptors may be few."""
    with serve(Emulator()) as server, contextlib.ExitStack() as connections:
        address = ("127.0.0.1", server.port)
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
