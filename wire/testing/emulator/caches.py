"""Cached contents: made, looked up, listed, given another time to live, deleted.

None expires: there is no clock.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

from wire.gemini.types import CachedContent, GenerateContentRequest
from wire.testing.emulator.answer import Answer, whole
from wire.testing.emulator.catalog import Traits
from wire.testing.emulator.received import Received
from wire.testing.emulator.refusals import refusal, rule, typed
from wire.testing.emulator.state import page, timestamp
from wire.testing.emulator.tokens import counted

_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")
_HOUR = 3600.0


@dataclass(slots=True)
class Cached:
    """One cached content: what is told of it, and what it holds."""

    told: dict[str, Any]
    request: GenerateContentRequest
    tokens: int


@dataclass(slots=True)
class Caches:
    """The cached contents of one emulator."""

    _caches: dict[str, Cached] = field(default_factory=dict)
    _made: int = 0

    def create(self, request: Received, model: Traits, place: str = "") -> Answer:
        """Keep contents. Raises `Refusal` for too few tokens (G63), and for two times to live."""
        about, held = (
            typed(request.body, CachedContent),
            typed(request.body, GenerateContentRequest),
        )
        tokens = sum(counted(held.contents or (), held).values())
        if tokens < model.least_cached:
            raise rule("G63", count=tokens, least=model.least_cached)
        self._made += 1
        name = hashlib.sha256(f"cache {self._made}".encode()).hexdigest()[:40]
        told = {
            "name": f"{place}cachedContents/{name}",
            "model": about.model or f"models/{model.name}",
            "createTime": timestamp(self._made),
            "updateTime": timestamp(self._made),
            "expireTime": self._expires(about),
            "displayName": about.display_name or "",
            "usageMetadata": {"totalTokenCount": tokens},
        }
        self._caches[name] = Cached(told, held, tokens)
        return whole(told)

    def get(self, name: str) -> Answer:
        """One cached content, without what it holds."""
        return whole(self.found(name).told)

    def patch(self, name: str, request: Received) -> Answer:
        """Another time to live; nothing else can be changed."""
        cached, about = self.found(name), typed(request.body, CachedContent)
        mask = [
            each.strip() for each in request.query.get("updateMask", "").split(",") if each.strip()
        ]
        given = {"ttl": about.ttl, "expireTime": about.expire_time}
        wanted = [_one_spelling(each) for each in mask] or [
            name for name, value in given.items() if value
        ]
        if not wanted or any(each not in ("ttl", "expireTime") for each in wanted):
            raise refusal(400, "Only ttl and expire_time can be updated.")
        self._made += 1
        cached.told |= {"updateTime": timestamp(self._made), "expireTime": self._expires(about)}
        return whole(cached.told)

    def delete(self, name: str) -> Answer:
        """Forget one."""
        self.found(name)
        del self._caches[name]
        return whole({})

    def listed(self, request: Received) -> Answer:
        """One page, the newest first."""
        return whole(
            page(
                "cachedContents",
                [each.told for each in self._caches.values()][::-1],
                request,
                50,
                1000,
            )
        )

    def found(self, name: str) -> Cached:
        """The one of this name. Raises `Refusal` if there is none."""
        cached = self._caches.get(name.rpartition("cachedContents/")[2])
        if cached is None:
            raise refusal(403, "CachedContent not found (or permission denied)", "G84")
        return cached

    def used(
        self, request: GenerateContentRequest, model: Traits
    ) -> tuple[GenerateContentRequest, int]:
        """A request with the tools of its cached content, and how many tokens that brings.

        Raises `Refusal` for another model's.
        """
        if not request.cached_content:
            return request, 0
        cached = self.found(request.cached_content)
        if cached.told["model"].rpartition("/")[2] != model.name:
            raise rule("G84")
        return msgspec.structs.replace(
            request, tools=cached.request.tools, tool_config=cached.request.tool_config
        ), cached.tokens

    def _expires(self, about: CachedContent) -> str:
        if about.ttl is not None and about.expire_time is not None:
            raise refusal(400, "Only one of ttl and expire_time can be set.")
        if about.expire_time is not None:
            return about.expire_time
        found = _DURATION.fullmatch(about.ttl) if about.ttl is not None else None
        if about.ttl is not None and found is None:
            kind = "type.googleapis.com/google.protobuf.Duration"
            raise refusal(
                400,
                f"Invalid value at 'cached_content.ttl' ({kind}), {json.dumps(about.ttl)}",
                "G1",
            )
        return timestamp(self._made, seconds=float(found[1]) if found else _HOUR)


def _one_spelling(name: str) -> str:
    return {"expire_time": "expireTime"}.get(name, name)
