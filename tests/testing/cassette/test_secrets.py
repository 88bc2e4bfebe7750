"""C-11, C-12: what nobody else may know does not reach the disk; the place is named, the value is
not.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_rate_limits import NOW, SPELLINGS
from tests.http.drive import STREAM_CALL, Drive
from tests.http.loopback import LAST, STREAM, chunked, event, text, whole
from tests.testing.cassette.samples import STREAMS
from tests.testing.cassette.ways import Got, Way, serving
from wire import AsyncClient, Client
from wire.core.credentials import secret_name
from wire.core.rate_limits import header_limits
from wire.errors import CassetteError, StreamIncomplete
from wire.http.async_lanes import AsyncLanes
from wire.testing import AsyncRecord
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.kept_headers import kept_url, request_headers, response_headers
from wire.testing.cassette.leaks import Known

KEY = "fake-Key/with+signs_0123456789"


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    return tmp_path / "x.cassette.json"


@pytest.fixture(autouse=True)
def _no_secret_of_the_machine(monkeypatch: pytest.MonkeyPatch):
    for name in list(os.environ):
        if re.search("(KEY|TOKEN|SECRET|PASSWORD)$", name, re.IGNORECASE):
            monkeypatch.delenv(name)


def refused(got: Got, cassette: Path) -> str:
    """The message of the refusal; nothing was written, and the key is nowhere but in `raw`."""
    assert type(got.error) is CassetteError
    assert not got.error.retryable
    shown = "".join(traceback.format_exception(got.error)) + repr(got.error) + repr(vars(got.error))
    assert KEY not in shown
    assert not cassette.exists()
    assert list(cassette.parent.iterdir()) == []
    return got.error.message.partition("secret: ")[2]


# --- headers and URLs -----------------------------------------------------------------------------


@pytest.mark.row("C-11")
def test_only_headers_of_the_list_are_written(way: Way, cassette: Path):
    sent = {
        "authorization": "Bearer canary-authorization",
        "x-goog-api-key": "canary-goog",
        "x-custom-token": "canary-custom",
        "cookie": "session=canary-cookie",
        "x-nobody-thought-of-it": "canary-unknown",
        "anthropic-version": "2023-06-01",
        "openai-beta": "assistants=v2",
        "user-agent": "canary-agent",
    }
    back = {
        "set_cookie": "session=canary-set-cookie",
        "openai_organization": "canary-organization",
        "x_request_id": "canary-request-id",
        "x_ratelimit_remaining_requests": "99",
        "retry_after": "3",
        "cf_ray": "canary-ray",
    }
    with serving([whole({}, **back)]) as server:
        assert way.get(way.record(cassette), server.url, headers=sent, json={}).error is None
    assert "canary" not in cassette.read_text("utf-8")
    [each] = json.loads(cassette.read_text("utf-8"))["interactions"]
    assert each["request"]["headers"] == {
        "accept": "*/*",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json",
        "openai-beta": "assistants=v2",
    }
    assert each["response"]["headers"] == {
        "content-type": "application/json",
        "retry-after": "3",
        "x-ratelimit-remaining-requests": "99",
        "x-request-id": "***",
    }


@pytest.mark.row("C-11")
@pytest.mark.parametrize("vendor", [each for each in SPELLINGS if each[-2:] not in (" 7", "10")])
def test_rate_limits_are_recorded_in_each_vendors_spelling(vendor: str) -> None:
    spelled, expected = SPELLINGS[vendor]
    headers = {name.replace("_", "-"): value for name, value in spelled.items()}
    assert set(header_limits(response_headers(headers.items()), NOW.timestamp())) == set(expected)


@pytest.mark.row("C-11")
@given(st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=20))
def test_a_header_that_nobody_thought_of_is_left_out(name):
    known = {
        "accept",
        "content-type",
        "content-encoding",
        "api-version",
        "openai-version",
        "openai-beta",
        "anthropic-version",
        "anthropic-beta",
    }
    if name not in known:
        assert request_headers([(name, "x")]) == {}
    if "ratelimit-" not in name and "id" not in name:
        assert set(response_headers([(name, "x")])) <= known | {
            "retry-after",
            "retry-after-ms",
            "x-should-retry",
        }


@pytest.mark.row("C-12")
@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://h/p?alt=sse&key=k1&x=%20a", "https://h/p?alt=sse&key=***&x=%20a"),
        (
            "https://h/p?access_token=a&api-key=b&X-Amz-Signature=c",
            "https://h/p?access_token=***&api-key=***&X-Amz-Signature=***",
        ),
        ("https://h/p?pageToken=next&maxTokens=3", "https://h/p?pageToken=next&maxTokens=3"),
        ("https://h/p?%6bey=k1", "https://h/p?%6bey=***"),
        ("https://me:pw@h:8080/p#frag", "https://h:8080/p"),
        ("https://h", "https://h"),
    ],
)
def test_urls_are_written_without_keys(url, kept):
    assert kept_url(url) == kept


@pytest.mark.row("C-12")
def test_the_key_in_a_url_is_never_written(way: Way, cassette: Path):
    with serving([whole({})]) as server:
        url = f"{server.url}/v1?alt=sse&key={quote(KEY, safe='')}"
        assert way.get(way.record(cassette), url).error is None
        other = f"{server.url}/v1?alt=sse&key=another-fake-key"
    assert (
        json.loads(cassette.read_text("utf-8"))["interactions"][0]["request"]["url"]
        == f"{server.url}/v1?alt=sse&key=***"
    )
    assert way.get(way.replay(cassette), other).body == b"{}", "another key is the same request"


# --- the values -----------------------------------------------------------------------------------

FORMS = {
    "raw": KEY,
    "percent-encoded": quote(KEY, safe=""),
    "percent-encoded, slash kept": quote(KEY),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64, one letter before": base64.b64encode(f"x{KEY}yy".encode()).decode(),
    "base64, two letters before": base64.b64encode(f"xx{KEY}".encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(f"?{KEY}??".encode()).decode(),
    "over lines": f"{KEY[:9]}\n  {KEY[9:]}",
}


def _stream(*words: str) -> list[Any]:
    return [STREAM, *(event(text(word)) for word in words), LAST]


HEADER = {"x-goog-api-key": KEY}
PLACES: dict[str, tuple[dict[str, Any], list[Any], str]] = {
    "body of the request": (
        {"json": {"a": [1, {"b": f"my key is {KEY}"}]}},
        [whole({})],
        "the request's body, $.a[1].b",
    ),
    "key of an object": ({"json": {"a": {KEY: 1}}}, [whole({})], "the request's body, $.a"),
    "text of the request": ({"content": f"key={KEY}".encode()}, [whole({})], "the request's body"),
    "header of the request": (
        {"headers": {"anthropic-beta": KEY}},
        [whole({})],
        "the request's header anthropic-beta",
    ),
    "header of the response": (
        {},
        [whole({}, x_ratelimit_limit=KEY)],
        "the response's header x-ratelimit-limit",
    ),
    "body of the response": (
        {},
        [whole({"echo": {"key": KEY}})],
        "the response's body, $.echo.key",
    ),
    "an error": (
        {},
        [whole({"error": {"message": f"bad key {KEY}"}}, 401)],
        "the response's body, $.error.message",
    ),
    "text of the response": (
        {},
        [whole(f"<p>{KEY}</p>".encode(), 502, "text/html")],
        "the response's body",
    ),
    "bytes": ({}, [whole(b"\xff" + KEY.encode())], "the response's body"),
    "escaped JSON": (
        {},
        [whole(json.dumps({"a": KEY}).replace("/", "\\/").encode())],
        "the response's body, $.a",
    ),
    "one event": (
        {},
        _stream("Hi", f"see {KEY}"),
        "the response's event 1, $.candidates[0].content.parts[0].text",
    ),
    "two events": (
        {},
        _stream("see " + KEY[:9], KEY[9:] + " there"),
        "the response's body, over several events at $.candidates[0].content.parts[0].text",
    ),
    "an event a letter": (
        {},
        _stream(*KEY),
        "the response's body, over several events at $.candidates[0].content.parts[0].text",
    ),
    "two parts": (
        {},
        [STREAM, event({"parts": [{"text": KEY[:9]}, {"text": KEY[9:]}]}), LAST],
        "the response's body, over several events at $.parts[*].text",
    ),
    "two values": (
        {},
        [whole({"a": KEY[:9], "b": KEY[9:]})],
        "the response's body, over several values",
    ),
    "an event that is no JSON": (
        {},
        [STREAM, chunked(f"data: {KEY}\n\n".encode()), LAST],
        "the response's event 0, $.data",
    ),
    "a comment": (
        {},
        [STREAM, chunked(f": {KEY}\n\ndata: x\n\n".encode()), LAST],
        "the response's event 0",
    ),
    "two chunks": (
        {},
        [STREAM, chunked(f"data: {KEY[:9]}".encode()), chunked(f"{KEY[9:]}\n\n".encode()), LAST],
        "the response's event 0, $.data",
    ),
}


@pytest.mark.row("C-12")
@pytest.mark.parametrize("where", PLACES)
def test_a_known_key_is_found_wherever_it_stands(way: Way, cassette: Path, where: str):
    request, answer, place = PLACES[where]
    request = {**request, "headers": {**HEADER, **request.get("headers", {})}}
    with serving(answer) as server:
        got = way.get(way.record(cassette), server.url, **request)
    assert (
        refused(got, cassette)
        == f"the value of header x-goog-api-key is in {place} (request 1 of this recording)"
    )


@pytest.mark.row("C-12")
def test_a_key_in_the_path(way: Way, cassette: Path):
    with serving([whole({})]) as server:
        got = way.get(
            way.record(cassette), f"{server.url}/bot/{quote(KEY, safe='')}/x", headers=HEADER
        )
    assert (
        refused(got, cassette)
        == "the value of header x-goog-api-key is in the request's URL (request 1 of "
        "this recording)"
    )


@pytest.mark.row("C-12")
@pytest.mark.parametrize("form", FORMS)
def test_in_every_form(way: Way, cassette: Path, form: str):
    with serving([whole({"echo": f"<{FORMS[form]}>"})]) as server:
        got = way.get(way.record(cassette), server.url, headers=HEADER)
    assert refused(got, cassette).startswith(
        "the value of header x-goog-api-key is in the response's body, $.echo"
    )


@pytest.mark.row("C-12")
@given(
    st.text(
        st.characters(codec="ascii", min_codepoint=33, max_codepoint=126), min_size=8, max_size=40
    ),
    st.binary(max_size=7),
    st.binary(max_size=7),
)
def test_base64_at_any_alignment(secret, before, after):
    known = Known()
    known.learn(secret, "it")
    assert known.within(base64.b64encode(before + secret.encode() + after).decode()) == "it"


SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "bearer": ({"authorization": f"Bearer {KEY}"}, {}, "the value of header authorization"),
    "basic": (
        {"authorization": "Basic " + base64.b64encode(f"me:{KEY}".encode()).decode()},
        {},
        "the value of header authorization",
    ),
    "cookie": ({"cookie": f"a=b; session={KEY}"}, {}, "the value of header cookie"),
    "one cookie": ({"cookie": f"session={KEY}"}, {}, "the value of header cookie"),
    "its own header": ({"x-custom-token": KEY}, {}, "the value of header x-custom-token"),
    "argument": ({}, {"secrets": ["other", KEY]}, "secrets[1]"),
    "argument, one text": ({}, {"secrets": KEY}, "secrets[0]"),
}


@pytest.mark.row("C-12")
@pytest.mark.parametrize("source", SOURCES)
def test_where_secrets_are_known_from(way: Way, cassette: Path, source: str):
    headers, options, name = SOURCES[source]
    with serving([whole({"a": KEY})]) as server:
        got = way.get(way.record(cassette, **options), server.url, headers=headers)
    assert refused(got, cassette).startswith(f"{name} is in the response's body, $.a")


@pytest.mark.row("C-12")
@pytest.mark.parametrize("name", ["SOME_API_KEY", "SOME_TOKEN", "Some_Secret", "DB_PASSWORD"])
def test_values_of_the_environment(
    way: Way, cassette: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setenv(name, KEY)
    with serving([whole({"a": KEY})]) as server:
        got = way.get(way.record(cassette), server.url)
    assert refused(got, cassette).startswith(
        f"environment variable {name} is in the response's body, $.a"
    )


@pytest.mark.row("C-12")
def test_what_is_too_short_or_not_named_so_is_no_secret(
    way: Way, cassette: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SOME_KEY", "elevenchars")
    monkeypatch.setenv("SOME_KEYBOARD", KEY)
    with serving([whole({"a": ["elevenchars", KEY, "test"]})]) as server:
        got = way.get(
            way.record(cassette), server.url, headers={"x-api-key": "test", "idempotency-key": KEY}
        )
    assert got.error is None


@pytest.mark.row("C-12")
def test_an_empty_secret_is_refused(way: Way, cassette: Path):
    with pytest.raises(CassetteError, match=re.escape("secrets[1]: expected a non-empty text")):
        way.record(cassette, secrets=["a", ""])


# --- what the caller keeps, what the file keeps ---------------------------------------------------


@pytest.mark.row("C-12")
def test_the_answer_is_not_lost(drive: Drive, cassette: Path):
    """All was handed out before the refusal; a plain answer stands in the error."""
    record = Way(drive.name).record
    with serving([whole(text(f"Your key: {KEY}", "STOP"))]) as server:
        with pytest.raises(CassetteError) as caught:
            drive.send(http=record(cassette), base_url=server.url, api_key=KEY)
        assert len(server.requests) == 1, "it is not tried again"
    assert json.loads(caught.value.raw) == text(f"Your key: {KEY}", "STOP")
    assert KEY not in str(caught.value) + repr(caught.value) + repr(vars(caught.value))
    read: list[str] = []
    with serving(_stream("one", KEY)) as server:
        with pytest.raises(
            CassetteError,
            match=re.escape("is in the response's event 1, $.candidates[0].content.parts[0].text"),
        ):
            drive.session(
                lambda door: _into(read, door),
                http=record(cassette),
                base_url=server.url,
                api_key=KEY,
            )
    assert read == ["one", KEY]
    assert not cassette.exists()


def _into(read: list[str], door: Any) -> None:
    """Read a stream to its end, which is one without a finish; leaving the block closes the
    body.
    """
    if isinstance(door.client, Client):
        with door.client.stream(STREAM_CALL) as chunks, contextlib.suppress(StreamIncomplete):
            for chunk in chunks:
                read.append(chunk.text)
        return

    async def main() -> None:
        async with door.client.stream(STREAM_CALL) as chunks:
            with contextlib.suppress(StreamIncomplete):
                async for chunk in chunks:
                    read.append(chunk.text)

    anyio.from_thread.run(main)


@pytest.mark.row("C-12")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_refusal_does_not_swallow_a_cancellation(cassette: Path, backend: str):
    async def main() -> None:
        async with AsyncClient(
            "gemini", api_key=KEY, base_url=server.url, http=AsyncRecord(AsyncLanes(), cassette)
        ) as client:
            with anyio.CancelScope() as scope:
                async with client.stream(STREAM_CALL) as chunks:
                    async for chunk in chunks:
                        assert chunk.text == KEY
                        scope.cancel()
            assert scope.cancelled_caught

    with serving([STREAM, event(text(KEY)), "hold"]) as server:
        anyio.run(main, backend=backend)
    assert not cassette.exists()


@pytest.mark.row("C-12")
def test_the_other_interactions_are_kept(way: Way, cassette: Path):
    answers = [{"n": 0}, {"n": KEY}, {"n": 2}]
    with serving(lambda number, request: [whole(answers[number])]) as server:
        got = way.gets(
            way.record(cassette),
            [{"url": f"{server.url}/{n}", "headers": HEADER} for n in range(3)],
        )
    assert [type(each.error) for each in got] == [type(None), CassetteError, type(None)]
    kept = load(cassette.read_bytes(), "x").interactions
    assert [each.request.url[-1] for each in kept] == ["0", "2"]


@pytest.mark.row("C-12")
def test_a_key_that_is_known_later_is_taken_out_of_what_was_written(way: Way, cassette: Path):
    with serving(lambda number, request: [whole({"n": KEY if number == 0 else number})]) as server:
        got = way.gets(
            way.record(cassette),
            [{"url": f"{server.url}/0"}, {"url": f"{server.url}/1", "headers": HEADER}],
        )
    assert got[0].error is None
    assert isinstance(got[1].error, CassetteError)
    assert got[1].error.message.endswith(
        "the value of header x-goog-api-key is in the response's body, $.n (request "
        "1 of this recording)"
    )
    assert KEY not in cassette.read_text("utf-8")
    assert [each.request.url[-1] for each in load(cassette.read_bytes(), "x").interactions] == ["1"]


@pytest.mark.row("C-12")
def test_an_unmatched_request_does_not_show_its_key(way: Way, cassette: Path):
    with serving([whole({})]) as server:
        way.get(way.record(cassette), server.url, json={"a": "one"})
    got = way.get(
        way.replay(cassette),
        f"{server.url}?key={quote(KEY, safe='')}",
        json={"a": KEY},
        headers=HEADER,
    )
    assert type(got.error) is CassetteError
    assert KEY not in str(got.error)
    assert '$.a: recorded "one", sent "***"' in str(got.error)


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("X-Api-Key", True),
        ("Authorization", True),
        ("x-session-token", True),
        ("idempotency-key", False),
        ("pageToken", False),
        ("accept", False),
    ],
)
def test_names_of_keys(name, secret):
    assert secret_name(name) is secret


def test_good_streams_are_no_leak(way: Way, cassette: Path):
    with serving([whole(STREAMS["gemini"], kind="text/event-stream")]) as server:
        assert way.get(way.record(cassette), server.url, headers=HEADER).error is None
