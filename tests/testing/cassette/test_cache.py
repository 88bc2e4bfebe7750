"""A folder of responses: which requests are equal, what is kept, and for how long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.http.drive import Drive
from tests.testing.cassette.test_transports import HTTPX_LEAVES_ITS_GENERATORS
from tests.testing.cassette.ways import Way
from wire.errors import CassetteError, ConfigurationError
from wire.testing import AsyncCache, Cache, Match

GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/m"
CHAT = "https://api.openai.com/v1/chat/completions"
ASKED = {"contents": [{"parts": [{"text": "Hi"}]}]}


class Live:
    def __init__(self, status: int = 200, stream: bytes = b"") -> None:
        self.count, self.status, self.stream = 0, status, stream

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        if self.stream:
            return httpx.Response(
                200, content=self.stream, headers={"content-type": "text/event-stream"}
            )
        return httpx.Response(self.status, json={"live": self.count})


def cache(way: Way, folder: Path, live: Live, **options: Any) -> Any:
    inner: Any = httpx.MockTransport(live)
    return (Cache if way.name == "sync" else AsyncCache)(folder, inner=inner, **options)


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize(
    "url",
    [
        f"{GEMINI}:generateContent",
        f"{GEMINI}:streamGenerateContent?alt=sse",
        f"{GEMINI}:countTokens",
        f"{GEMINI}:batchEmbedContents",
        CHAT,
        "https://api.openai.com/v1/responses",
        "https://api.openai.com/v1/embeddings",
        "https://api.anthropic.com/v1/messages",
        "https://api.anthropic.com/v1/messages/count_tokens",
    ],
)
def test_an_equal_request_is_sent_once(way: Way, tmp_path: Path, url: str):
    live = Live()
    first, again = cache(way, tmp_path, live), cache(way, tmp_path, live)
    got = [way.get(each, url, "read", json=ASKED) for each in (first, again, again)]
    assert [json.loads(each.body) for each in got] == [{"live": 1}] * 3
    assert (live.count, len(entries(tmp_path))) == (1, 1)
    assert (first.hits, first.misses, again.hits, again.misses) == (0, 1, 2, 0)


def test_a_stream_comes_back_byte_for_byte(way: Way, tmp_path: Path):
    stream = b'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n'
    live = Live(stream=stream)
    for _ in range(2):
        assert way.get(cache(way, tmp_path, live), CHAT, json=ASKED).body == stream
    assert live.count == 1


@pytest.mark.parametrize(
    ("url", "request_"),
    [
        (CHAT, {"json": {**ASKED, "seed": 1}}),
        (CHAT.replace("api.openai.com", "llm.example"), {"json": ASKED}),
        (f"{CHAT}?api-version=2", {"json": ASKED}),
        (CHAT, {"json": ASKED, "headers": {"anthropic-beta": "files"}}),
        (CHAT, {"json": {**ASKED, "seed": True}}),
    ],
)
def test_another_request_is_sent(way: Way, tmp_path: Path, url: str, request_: Any):
    live = Live()
    http = cache(way, tmp_path, live)
    way.get(http, CHAT, "read", json=ASKED)
    way.get(http, url, "read", **request_)
    assert (live.count, http.misses) == (2, 2)


def test_keys_do_not_count_and_are_not_kept(way: Way, tmp_path: Path):
    live = Live()
    for key in ("first-fake-key-0001", "second-fake-key-0002"):
        headers = {"authorization": f"Bearer {key}"}
        way.get(
            cache(way, tmp_path, live), f"{CHAT}?key={key}", "read", headers=headers, json=ASKED
        )
    assert live.count == 1
    assert b"fake-key" not in entries(tmp_path)[0].read_bytes()


def test_match_says_what_does_not_count(way: Way, tmp_path: Path):
    live = Live()
    match = Match(ignore=["$.user"])
    for user in ("a", "b"):
        way.get(cache(way, tmp_path, live, match=match), CHAT, "read", json={**ASKED, "user": user})
    assert live.count == 1


@pytest.mark.parametrize(
    ("url", "request_"),
    [
        ("https://api.openai.com/v1/files", {"content": b"x"}),
        ("https://api.openai.com/v1/batches", {"json": ASKED}),
        ("https://api.openai.com/v1/responses/resp_1/cancel", {"json": {}}),
        ("https://api.openai.com/v1/responses", {"json": {**ASKED, "background": True}}),
        (f"{GEMINI}:batchGenerateContent", {"json": ASKED}),
        (CHAT, {"method": "GET"}),
    ],
)
def test_what_changes_something_is_sent_each_time(
    way: Way, tmp_path: Path, url: str, request_: Any
):
    live = Live()
    http = cache(way, tmp_path, live)
    for _ in range(2):
        way.get(http, url, "read", **request_)
    assert (live.count, http.hits, http.misses, entries(tmp_path)) == (2, 0, 0, [])


@pytest.mark.parametrize("status", [400, 429, 500])
def test_an_error_is_not_kept(way: Way, tmp_path: Path, status: int):
    live = Live(status)
    assert way.get(cache(way, tmp_path, live), CHAT, "read", json=ASKED).status == status
    live.status = 200
    assert json.loads(way.get(cache(way, tmp_path, live), CHAT, "read", json=ASKED).body) == {
        "live": 2
    }


@HTTPX_LEAVES_ITS_GENERATORS
def test_a_stream_that_was_left_early_is_not_kept(way: Way, tmp_path: Path):
    live = Live(stream=b"data: 1\n\n" * 50_000)
    way.get(cache(way, tmp_path, live), CHAT, "iter_raw", most=1, json=ASKED)
    assert entries(tmp_path) == []


def test_an_entry_has_an_age(way: Way, tmp_path: Path):
    live = Live()
    way.get(cache(way, tmp_path, live), CHAT, "read", json=ASKED)
    [entry] = entries(tmp_path)
    written = entry.stat().st_mtime - 100
    os.utime(entry, (written, written))
    assert way.get(cache(way, tmp_path, live, max_age=200), CHAT, "read", json=ASKED).status == 200
    assert live.count == 1
    way.get(cache(way, tmp_path, live, max_age=50), CHAT, "read", json=ASKED)
    assert live.count == 2
    assert entry.stat().st_mtime > written + 50


def test_the_folder_has_a_size(way: Way, tmp_path: Path):
    live = Live()
    http = cache(way, tmp_path, live)
    for number in range(4):
        way.get(http, CHAT, "read", json={**ASKED, "seed": number})
        for entry in entries(tmp_path):
            os.utime(entry, (entry.stat().st_mtime - 10,) * 2)
    size = entries(tmp_path)[0].stat().st_size
    small = cache(way, tmp_path, live, max_bytes=3 * size)
    way.get(small, CHAT, "read", json={**ASKED, "seed": 4})
    assert len(entries(tmp_path)) == 3
    for number in (2, 3, 4):
        way.get(small, CHAT, "read", json={**ASKED, "seed": number})
    assert (small.hits, live.count) == (3, 5)


def test_what_is_not_kept_is_reported(way: Way, tmp_path: Path):
    live = Live()
    http = cache(way, tmp_path, live, secrets=["live"])
    assert way.get(http, CHAT, "read", json=ASKED).error is None
    assert entries(tmp_path) == []
    [refused] = http.refused
    assert isinstance(refused, CassetteError)
    assert "secrets[0] is in" in str(refused)


def test_a_malformed_entry_is_named(way: Way, tmp_path: Path):
    live = Live()
    way.get(cache(way, tmp_path, live), CHAT, "read", json=ASKED)
    [entry] = entries(tmp_path)
    entry.write_text('{"wire_cassette": 1}')
    got = way.get(cache(way, tmp_path, live), CHAT, "read", json=ASKED)
    assert isinstance(got.error, CassetteError)
    assert str(entry) in str(got.error)


@pytest.mark.parametrize(
    "options", [{"max_age": 0}, {"max_age": -1.5}, {"max_bytes": -1}, {"max_bytes": 1.5}]
)
def test_bad_options(tmp_path: Path, options: Any):
    with pytest.raises(ConfigurationError, match=f"^{next(iter(options))}: expected"):
        Cache(tmp_path, **options)


def test_through_a_client(drive: Drive, tmp_path: Path):
    body = {"candidates": [{"content": {"parts": [{"text": "Hello."}]}, "finishReason": "STOP"}]}
    inner: Any = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    make = Cache if drive.name == "sync" else AsyncCache
    for _ in range(2):
        http = make(tmp_path, inner=inner)
        assert drive.send(http=http).text == "Hello."
    assert http.hits == 1


PROCESS = """
import json, sys
import httpx
from wire.testing import Cache
folder, number = sys.argv[1], int(sys.argv[2])
inner = httpx.MockTransport(lambda request: httpx.Response(200, content=request.content))
http = Cache(folder, inner=inner, max_bytes=4000)
with httpx.Client(transport=http) as client:
    for turn in range(60):
        seed = (turn * 7 + number) % 9
        got = client.post("https://api.openai.com/v1/embeddings", json={"seed": seed}).json()
        assert got == {"seed": seed}, got
print(http.hits + http.misses, len(http.refused))
"""


@pytest.mark.processes
def test_several_processes_use_one_folder(tmp_path: Path):
    """Each gets the response to its own request, while entries are written and removed."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(tmp_path), str(number)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    outputs = [each.communicate(timeout=60) for each in running]
    assert outputs == [("60 0\n", "")] * 4
    assert all(path.name.endswith(".cassette.json") for path in entries(tmp_path))
