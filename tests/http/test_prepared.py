"""Prepared requests and responses are what httpx would make of the same parts, and what a transport
of the caller's changes in them counts.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st

from tests.http.drive import CALL, EVERY, Drive
from tests.http.loopback import loopback, text, whole
from tests.joined import joined
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes
from wire.http.prepared import (
    PreparedRequest,
    PreparedResponse,
    header_texts,
    raw_headers,
    request_body,
    request_head,
    request_origin,
    url_of,
)

ANSWER = whole(text("Hello.", "STOP"))
NAMES = st.from_regex(r"[A-Za-z0-9-]{1,12}", fullmatch=True)
TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
URLS = ["http://127.0.0.1:8/v1?a=b%20c", "https://ex\xe4mple.test/\xe4/b?\xe4", "https://[::1]/"]


def of_httpx(method: str, url: str, headers: list[tuple[str, str]], body: bytes) -> httpx.Request:
    return httpx.Request(method, url, headers=headers, stream=httpx.ByteStream(body))


@given(
    method=st.sampled_from(["GET", "post", "PATCH"]),
    url=st.sampled_from(URLS),
    headers=st.lists(st.tuples(NAMES, TEXTS), max_size=8),
    body=st.binary(max_size=20),
)
def test_a_prepared_request_is_the_one_of_httpx(
    method: str, url: str, headers: list[tuple[str, str]], body: bytes
) -> None:
    prepared = PreparedRequest(method, url_of(url), headers, body, {})
    expected = of_httpx(method, url, headers, body)
    assert request_head(prepared) == request_head(expected)
    assert request_origin(prepared) == request_origin(expected)
    assert (request_body(prepared), request_body(expected)) == (body, None)
    assert (prepared.method, prepared.url) == (expected.method, expected.url)
    assert prepared.headers.raw == expected.headers.raw
    assert prepared.content == prepared.read() == b"".join(prepared.stream) == body
    assert request_head(prepared) == request_head(expected)  # made again from what was read
    copied = pickle.loads(pickle.dumps(prepared))
    assert (copied.url, copied.headers, copied.content) == (expected.url, expected.headers, body)


@given(st.lists(st.tuples(NAMES, st.binary(max_size=12)), max_size=8))
def test_headers_of_a_response_are_those_of_httpx(pairs: list[tuple[str, bytes]]) -> None:
    raw = [(name.encode(), value) for name, value in pairs]
    stream = httpx.ByteStream(b"")
    prepared = PreparedResponse(200, raw, stream, {"reason_phrase": b"Fine"})
    expected = httpx.Response(200, headers=raw, stream=stream)
    assert raw_headers(prepared) == raw_headers(expected)
    assert header_texts(prepared) == header_texts(expected) == dict(expected.headers.items())
    assert (prepared.headers, prepared.reason_phrase) == (expected.headers, "Fine")
    prepared.headers["x-more"] = "1"
    assert header_texts(prepared)["x-more"] == "1"


def test_a_prepared_response_has_all_that_one_of_httpx_has() -> None:
    """A version of httpx that gives responses one attribute more fails here."""
    stream = httpx.ByteStream(b"")
    expected = vars(httpx.Response(200, stream=stream))
    prepared = PreparedResponse(200, [], stream, {})
    assert {name: getattr(prepared, name) for name in expected} == expected


def add_header(request: httpx.Request) -> None:
    request.headers["x-more"] = "1"


def replace_headers(request: httpx.Request) -> None:
    request.headers = httpx.Headers({"host": "other", "content-length": str(len(CALL.body))})


def change_path(request: httpx.Request) -> None:
    request.url = request.url.copy_with(path="/other")


def change_method(request: httpx.Request) -> None:
    request.method = "PUT"


def change_body(request: httpx.Request) -> None:
    request.stream = httpx.ByteStream(b"x" * len(CALL.body))


CHANGES: dict[str, tuple[Callable[[httpx.Request], None], Callable[[bytes], bool]]] = {
    "a further header": (add_header, lambda sent: b"\r\nx-more: 1\r\n" in sent),
    "other headers": (replace_headers, lambda sent: b"\r\nhost: other\r\n" in sent),
    "URL": (change_path, lambda sent: sent.startswith(b"POST /other HTTP/1.1\r\n")),
    "method": (change_method, lambda sent: sent.startswith(b"PUT /v1beta/")),
    "body": (change_body, lambda sent: sent.endswith(b"\r\n\r\n" + b"x" * len(CALL.body))),
}


class Changing(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport of the caller's over the connection pool."""

    def __init__(self, lanes: Any, change: Callable[[httpx.Request], None]) -> None:
        self._lanes, self._change = lanes, change

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._change(request)
        response: httpx.Response = self._lanes.handle_request(request)
        return response

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._change(request)
        response: httpx.Response = await self._lanes.handle_async_request(request)
        return response

    def close(self) -> None:
        self._lanes.close()

    async def aclose(self) -> None:
        await self._lanes.aclose()


@joined("change", CHANGES)
@joined("drive", EVERY)
def test_what_a_transport_changes_is_sent(drive: Drive, change: str) -> None:
    apply, is_sent = CHANGES[change]
    lanes = Lanes() if drive.name == "sync" else AsyncLanes()
    with loopback([ANSWER]) as server:
        answer = drive.send(base_url=server.url, http=Changing(lanes, apply), retry=None)
    assert answer.text == "Hello."
    assert is_sent(server.requests[0]), server.requests[0]
