"""A request as the emulator got it, and which endpoint it asks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from wire.testing.written_headers import SHOWN, kept_url, key_like


@dataclass(frozen=True, slots=True)
class Received:
    """One request; `number` counts from 1 since the list of requests was last cleared."""

    number: int
    method: str
    target: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    base: str
    """Scheme and host under which the emulator was called."""

    def shown(self) -> dict[str, Any]:
        """For `GET /_wire/requests`: without keys."""
        try:
            body: Any = json.loads(self.body) if self.body else None
        except ValueError:
            body = self.body.decode("utf-8", "replace")
        headers = {name: SHOWN if key_like(name) else value for name, value in self.headers.items()}
        return {
            "number": self.number,
            "method": self.method,
            "target": kept_url(self.target),
            "headers": headers,
            "body": body,
        }


def received(
    number: int,
    method: str,
    target: str,
    headers: Mapping[str, str] | Iterable[tuple[str, str]],
    body: bytes,
) -> Received:
    """The request with its target taken apart; the target is a path, or a whole URL."""
    named = {name.lower(): value for name, value in dict(headers).items()}
    parts = urlsplit(target)
    base = f"{parts.scheme or 'http'}://{parts.netloc or named.get('host', 'localhost')}"
    path = unquote(parts.path) or "/"
    shown = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return Received(
        number,
        method.upper(),
        shown,
        path,
        dict(parse_qsl(parts.query, keep_blank_values=True)),
        named,
        body,
        base,
    )


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint, and what its path says."""

    endpoint: str
    """`models.generateContent`, `files.get`, `chat.completions`, `messages`, ..."""
    host: str = "gemini"
    """`gemini`, `vertex`, or `openai` for chat completions; `compat` for those of Google;
    `anthropic` for Messages, `alike` for those of another host."""
    version: str = "v1beta"
    name: str = ""
    """The model, or the id of a file or cached content."""
    place: str = ""
    """Vertex: what stands before `publishers/`."""
    known: bool = True
    """False: the path is one of ours, and the method is not."""

    @property
    def wire(self) -> str:
        """`gemini`, `openai`, `anthropic`: whose shapes are spoken."""
        return {
            "openai": "openai",
            "compat": "openai",
            "anthropic": "anthropic",
            "alike": "anthropic",
        }.get(self.host, "gemini")

    @property
    def errors(self) -> str:
        """Whose shapes errors have: Google tells them in its own, whatever the rest is."""
        return "gemini" if self.host == "compat" else self.wire


_VERSION = r"(?P<version>v1|v1beta|v1alpha|v1beta1)"
_PREFIX = r"/(?:anthropic|api/anthropic|apps/anthropic|coding|api)"  # of hosts that serve Messages beside their own wire
# A path, and the endpoint of each method that it has. The first that fits counts.
_PATHS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("wire", r"/_wire/(?P<name>requests|health)", {"GET": "wire.{name}", "DELETE": "wire.clear"}),
    ("compat", rf"/{_VERSION}/openai/chat/completions", {"POST": "chat.completions"}),
    ("compat", rf"/{_VERSION}/openai/models(?:/(?P<name>.+))?", {"GET": "chat.models"}),
    ("compat", rf"/{_VERSION}/openai/embeddings", {"POST": "chat.embeddings"}),
    ("openai", r"/(?:(?P<version>v1)/)?chat/completions", {"POST": "chat.completions"}),
    ("openai", r"/(?P<version>v1)/embeddings", {"POST": "chat.embeddings"}),
    ("anthropic", r"/v1/messages", {"POST": "messages"}),
    ("anthropic", r"/v1/messages/count_tokens", {"POST": "messages.count_tokens"}),
    ("alike", rf"{_PREFIX}/v1/messages", {"POST": "messages"}),
    ("alike", rf"{_PREFIX}/v1/messages/count_tokens", {"POST": "messages.count_tokens"}),
    ("gemini", rf"/upload/{_VERSION}/files", {"POST": "files.upload", "PUT": "files.upload"}),
    ("gemini", rf"/{_VERSION}/files", {"GET": "files.list", "POST": "files.create"}),
    (
        "gemini",
        rf"/{_VERSION}/files/(?P<name>[^/:]+)",
        {"GET": "files.get", "DELETE": "files.delete"},
    ),
    (
        "gemini",
        rf"/{_VERSION}/cachedContents",
        {"GET": "cachedContents.list", "POST": "cachedContents.create"},
    ),
    (
        "gemini",
        rf"/{_VERSION}/cachedContents/(?P<name>[^/:]+)",
        {
            "GET": "cachedContents.get",
            "PATCH": "cachedContents.patch",
            "DELETE": "cachedContents.delete",
        },
    ),
    (
        "vertex",
        rf"/{_VERSION}/(?P<place>projects/[^/]+/locations/[^/]+/)cachedContents",
        {"GET": "cachedContents.list", "POST": "cachedContents.create"},
    ),
    (
        "vertex",
        rf"/{_VERSION}/(?P<place>projects/[^/]+/locations/[^/]+/)cachedContents/(?P<name>[^/:]+)",
        {
            "GET": "cachedContents.get",
            "PATCH": "cachedContents.patch",
            "DELETE": "cachedContents.delete",
        },
    ),
    (
        "vertex",
        rf"/{_VERSION}/(?P<place>(?:projects/[^/]+/locations/[^/]+/)?)publishers/google/models/(?P<name>[^/:]+):(?P<action>\w+)",
        {"POST": "models.{action}"},
    ),
    (
        "vertex",
        rf"/{_VERSION}/(?P<place>(?:projects/[^/]+/locations/[^/]+/)?)publishers/google/models(?:/(?P<name>[^/:]+))?",
        {"GET": "models.{list}"},
    ),
    (
        "gemini",
        rf"/{_VERSION}/(?P<name>(?:models|tunedModels)/[^/:]+):(?P<action>\w+)",
        {"POST": "models.{action}"},
    ),
    ("gemini", rf"/{_VERSION}/models(?:/(?P<name>[^/:]+))?", {"GET": "models.{list}"}),
)
_COMPILED = tuple((host, re.compile(pattern), methods) for host, pattern, methods in _PATHS)

ACTIONS = (
    "generateContent",
    "streamGenerateContent",
    "countTokens",
    "embedContent",
    "batchEmbedContents",
)


def route(request: Received) -> Route | None:
    """Where a request goes; `None` for a path that no endpoint has."""
    for host, pattern, methods in _COMPILED:
        found = pattern.fullmatch(request.path)
        if found is None:
            continue
        said = {
            "version": "v1",
            "name": "",
            "place": "",
            "action": "",
            **{key: value or "" for key, value in found.groupdict().items()},
        }
        endpoint = methods.get(request.method, "").format(
            **said, list="get" if said["name"] else "list"
        )
        if (
            endpoint in ("models.list", "models.get")
            and host == "gemini"
            and request.path.startswith("/v1/")
        ):
            host, endpoint = _models_of(request, endpoint)
        name = said["name"].removeprefix("models/")
        if said["action"] and said["action"] not in ACTIONS:
            return None
        return Route(endpoint, host, said["version"], name, said["place"], known=bool(endpoint))
    return None


def of_anthropic(request: Received) -> bool:
    """Whether it is one of Anthropic's clients that asks."""
    return "anthropic-version" in request.headers or "x-api-key" in request.headers


def _models_of(request: Received, endpoint: str) -> tuple[str, str]:
    """All have `/v1/models`: Google's clients bring `x-goog-api-key` or `?key=`, Anthropic's their
    version or `x-api-key`, OpenAI's an `Authorization` alone."""
    if "key" in request.query or any(name.startswith("x-goog-") for name in request.headers):
        return "gemini", endpoint
    if of_anthropic(request):
        return "anthropic", "messages.models"
    return ("openai", "chat.models") if "authorization" in request.headers else ("gemini", endpoint)
