"""Cached contents: create, get, list, update, delete. They expire by the emulator's clock."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from wire.gemini.types import CachedContent, GenerateContentRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.received import Received
from wire.testing.emulator.storage import Storage
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.catalog import Traits
from wire.testing.emulator.vendors.gemini.prompt_tokens import prompt_tokens
from wire.testing.emulator.vendors.gemini.refusals import decoded, refusal, rule_refusal
from wire.testing.emulator.vendors.gemini.state import page, timestamp

_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")
_HOUR = 3600.0


@dataclass(slots=True)
class Cached:
    """One cached content: its metadata and the request that it stands for."""

    metadata: dict[str, Any]
    request: GenerateContentRequest
    tokens: int
    size: int
    """Bytes of the request that created it."""
    until: float
    """The time at which it expires, in seconds of the emulator's clock."""


@dataclass(slots=True)
class Caches:
    """The cached contents of one emulator."""

    storage: Storage
    clock: Callable[[], float]
    _caches: dict[str, Cached] = field(default_factory=dict)
    _stored: int = 0

    def create(self, request: Received, model: Traits, parent: str = "") -> Answer:
        """Store contents. Raises `Refusal` for too few tokens (G63) and for two expiry fields."""
        sent, held = (
            decoded(request.body, CachedContent),
            decoded(request.body, GenerateContentRequest),
        )
        tokens = sum(prompt_tokens(held.contents or (), held).values())
        if tokens < model.min_cached_tokens:
            raise rule_refusal("G63", count=tokens, least=model.min_cached_tokens)
        self._stored += 1
        expires, size = self._expires(sent), len(request.body)
        self.storage.add(size)
        name = hashlib.sha256(f"cache {self._stored}".encode()).hexdigest()[:40]
        metadata = {
            "name": f"{parent}cachedContents/{name}",
            "model": sent.model or f"models/{model.name}",
            "createTime": timestamp(self._stored),
            "updateTime": timestamp(self._stored),
            "expireTime": expires,
            "displayName": sent.display_name or "",
            "usageMetadata": {"totalTokenCount": tokens},
        }
        self._caches[name] = Cached(metadata, held, tokens, size, self._until(sent))
        return whole(metadata)

    def get(self, name: str) -> Answer:
        """Return the metadata of one cached content."""
        return whole(self.lookup(name).metadata)

    def patch(self, name: str, request: Received) -> Answer:
        """Change the expiry, the only field that can be changed."""
        cached, sent = self.lookup(name), decoded(request.body, CachedContent)
        mask = [
            each.strip() for each in request.query.get("updateMask", "").split(",") if each.strip()
        ]
        given = {"ttl": sent.ttl, "expireTime": sent.expire_time}
        requested = [_camel_case(each) for each in mask] or [
            name for name, value in given.items() if value
        ]
        if not requested or any(each not in ("ttl", "expireTime") for each in requested):
            raise refusal(400, "Only ttl and expire_time can be updated.")
        self._stored += 1
        cached.metadata |= {
            "updateTime": timestamp(self._stored),
            "expireTime": self._expires(sent),
        }
        cached.until = self._until(sent)
        return whole(cached.metadata)

    def delete(self, name: str) -> Answer:
        """Delete one."""
        self.storage.remove(self.lookup(name).size)
        del self._caches[name]
        return whole({})

    def listed(self, request: Received) -> Answer:
        """Return one page, the newest first."""
        self._forget_expired()
        return whole(
            page(
                "cachedContents",
                [each.metadata for each in self._caches.values()][::-1],
                request,
                50,
                1000,
            )
        )

    def lookup(self, name: str) -> Cached:
        """Return the cached content of a name. Raises `Refusal` if there is none (G84)."""
        self._forget_expired()
        cached = self._caches.get(name.rpartition("cachedContents/")[2])
        if cached is None:
            raise refusal(403, "CachedContent not found (or permission denied)", "G84")
        return cached

    def apply(
        self, request: GenerateContentRequest, model: Traits
    ) -> tuple[GenerateContentRequest, int]:
        """Add the tools of its cached content to a request; return also the tokens of the content.

        Raises `Refusal` for a cached content of another model (G84).
        """
        if not request.cached_content:
            return request, 0
        cached = self.lookup(request.cached_content)
        if cached.metadata["model"].rpartition("/")[2] != model.name:
            raise rule_refusal("G84")
        return msgspec.structs.replace(
            request, tools=cached.request.tools, tool_config=cached.request.tool_config
        ), cached.tokens

    def _forget_expired(self) -> None:
        now = self.clock()
        for name in [name for name, each in self._caches.items() if now >= each.until]:
            self.storage.remove(self._caches.pop(name).size)

    def _until(self, sent: CachedContent) -> float:
        """Return the time at which a cached content expires; `_expires` has checked the expiry.

        The clock has no dates, so a content with an expiry date never expires.
        """
        if sent.expire_time is not None:
            return math.inf
        return self.clock() + (float(sent.ttl.removesuffix("s")) if sent.ttl else _HOUR)

    def _expires(self, sent: CachedContent) -> str:
        if sent.ttl is not None and sent.expire_time is not None:
            raise refusal(400, "Only one of ttl and expire_time can be set.")
        if sent.expire_time is not None:
            return sent.expire_time
        duration = _DURATION.fullmatch(sent.ttl) if sent.ttl is not None else None
        if sent.ttl is not None and duration is None:
            kind = "type.googleapis.com/google.protobuf.Duration"
            raise refusal(
                400,
                f"Invalid value at 'cached_content.ttl' ({kind}), {json.dumps(sent.ttl)}",
                "G1",
            )
        return timestamp(self._stored, seconds=float(duration[1]) if duration else _HOUR)


def _camel_case(name: str) -> str:
    return {"expire_time": "expireTime"}.get(name, name)
