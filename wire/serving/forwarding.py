"""Files and batches: a backend of the client's own API gets their requests as they are."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from wire.chat.chat import AsyncChat
from wire.core.call import Call
from wire.core.errors import APIError, NotFoundError
from wire.core.memory import MetadataStruct
from wire.serving.backends import Backends
from wire.serving.failures import refuses_key
from wire.serving.state import Remembered
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.wires.contract import WIRES

FORWARDED = ("files.", "batches.", "messages.batches.", "batchGenerate", "asyncBatchEmbed")
"""How the names of endpoints of files and batches begin."""
_SENT = ("content-type", "anthropic-", "x-goog-upload-")
_RECEIVED = ("content-type", "request-id", "x-request-id", "retry-after", "x-goog-upload-")
"""How the names of headers begin that are passed on."""
_KEYS = ("key", "access_token")
"""Parameters that are keys of the client."""
_RESULTS = re.compile(rb'("results_url"\s*:\s*")[^"]*(?=/messages/batches/)')
_MAX_UPLOADS, _MAX_UPLOAD_BYTES = 10_000, 16 << 20


class _Response(MetadataStruct, frozen=True):
    body: bytes
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


class Forwarding:
    """Passes on requests for files and batches, and the uploads that are under way."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends
        self._uploads: Remembered[tuple[AsyncChat, str]] = Remembered(
            _MAX_UPLOADS, _MAX_UPLOAD_BYTES
        )

    def is_upload(self, request: Received, route: Route) -> bool:
        """Return whether a request has the address of an upload that this gateway gave a client.

        The address authorises it: clients send no key to it.
        """
        return self._upload(request, route) is not None

    def _upload(self, request: Received, route: Route) -> tuple[AsyncChat, str] | None:
        id = request.query.get("upload_id", "") if route.takes_files else ""
        return self._uploads.get(id)

    async def answer(self, request: Received, route: Route, wires: Sequence[str]) -> Answer:
        """Return the response of the first backend that speaks one of `wires`.

        Raises `NotFoundError` if there is none.
        """
        upload = self._upload(request, route)
        backend = self._backends.of_wires(wires) if upload is None else upload[0]
        steps = request.path.split("/")
        if backend is None or "." in steps or ".." in steps:
            words = f"no backend has the client's API, there is {self._backends}"
            raise NotFoundError(f"The gateway does not serve {route.endpoint}: {words}", status=404)
        call = _call(request, route, backend, "" if upload is None else upload[1])
        try:
            response = await backend.client.send(call)
        except APIError as error:
            if (error.status or 0) < 400 or refuses_key(error):
                raise
            raw: bytes = backend.client._target.mask.value(error.raw)
            return _answer(error.status or 0, raw, error.response_headers or {})
        account = backend.client.account(response)
        status = 200 if account is None or account.status is None else account.status
        headers = dict(response.headers)
        if "x-goog-upload-url" in headers:
            headers["x-goog-upload-url"] = self._address(request, backend, headers)
        body = response.body
        if route.endpoint.startswith("messages.") and route.endpoint != "messages.batches.results":
            # Clients fetch the results from this address, with the key of the gateway.
            base = f"{request.base}{route.prefix}".encode()
            body = _RESULTS.sub(lambda found: found[1] + base, body)
        return _answer(status, body, headers)

    def _address(self, request: Received, backend: AsyncChat, headers: Mapping[str, str]) -> str:
        """Return an address of the gateway for that of an upload at the backend's server."""
        id, url = secrets.token_urlsafe(), headers["x-goog-upload-url"]
        self._uploads.add(id, (backend, url), len(url))
        return f"{request.base}{request.path}?upload_id={id}&upload_protocol=resumable"


def _call(request: Received, route: Route, backend: AsyncChat, url: str) -> Call[_Response]:
    """Build the request for the backend's server; `url` is that of an upload."""
    before, path = "", request.path.removeprefix(route.prefix)
    if route.version:
        before, _, path = request.path.partition(f"/{route.version}")
    fields: dict[str, Any] = {"url": url}
    if not url:
        query: dict[str, list[str]] = {}
        for name, value in parse_qsl(urlsplit(request.target).query, keep_blank_values=True):
            if name not in _KEYS:
                query.setdefault(name, []).append(value)
        # The address of a download redirects to another one, and redirects are not followed.
        prefix = "/download" if route.endpoint == "files.redirect" else before
        fields = {"query": query, "path_prefix": prefix}
    return Call(
        backend.row.wire,
        request.method,
        "" if url else path,
        request.body,
        headers=_passed(request.headers, _SENT),
        parse=_Response,
        read_error=WIRES[backend.row.wire].parse_error,
        read_headers=_with_headers,
        idempotent=request.method != "POST",
        **fields,
    )


def _with_headers(response: _Response, headers: Mapping[str, str]) -> _Response:
    return msgspec.structs.replace(response, headers=_passed(headers, _RECEIVED))


def _passed(headers: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {
        name: value
        for name, value in headers.items()
        if name.startswith(names) and name != "x-goog-upload-control-url"
    }


def _answer(status: int, body: bytes, headers: Mapping[str, str]) -> Answer:
    return Answer(status, tuple(_passed(headers, _RECEIVED).items()), (body,))
