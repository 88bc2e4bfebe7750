"""Cached contents: create, get, list, update, delete. They expire by the emulator's clock."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from wire.gemini.types import CachedContent, GenerateContentRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.moments import timestamp
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.signing import digest
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.catalog import Traits
from wire.testing.emulator.vendors.gemini.prompt_tokens import prompt_tokens
from wire.testing.emulator.vendors.gemini.refusals import decoded, model_of, refusal, rule_refusal
from wire.testing.emulator.vendors.gemini.state import GeminiShelf

_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")
_HOUR = 3600.0


@dataclass(slots=True)
class Cached:
    """One cached content: its metadata and the request that it stands for."""

    id: str
    metadata: dict[str, Any]
    request: GenerateContentRequest
    tokens: int
    until: float
    """The time at which it expires, in seconds of the emulator's clock."""


class Caches(GeminiShelf[Cached]):
    """The cached contents of one emulator."""

    key = "cachedContents"
    sizes = (50, 1000)

    def missing(self, name: str) -> Exception:
        """Build the refusal of an unknown name (G84)."""
        return refusal(403, "CachedContent not found (or permission denied)", "G84")

    def describe(self, thing: Cached, request: Received) -> Any:
        """Return the metadata of a cached content."""
        return thing.metadata

    def create(self, request: Received, route: Route) -> Answer:
        """Store contents. Raises `Refusal` for too few tokens (G63) and for two expiry fields."""
        sent = decoded(request.body, CachedContent)
        of = replace(route, name=(sent.model or "").rpartition("models/")[2])
        model, held = model_of(of, self.settings), decoded(request.body, GenerateContentRequest)
        tokens = sum(prompt_tokens(held.contents or (), held).values())
        if tokens < model.min_cached_tokens:
            raise rule_refusal("G63", count=tokens, least=model.min_cached_tokens)
        self.number += 1
        expires, size = self._expires(sent), len(request.body)
        self.storage.add(size)
        id = digest(f"cache {self.number}")[:40]
        metadata = {
            "name": f"{route.parent}cachedContents/{id}",
            "model": sent.model or f"models/{model.name}",
            "createTime": timestamp(self.number),
            "updateTime": timestamp(self.number),
            "expireTime": expires,
            "displayName": sent.display_name or "",
            "usageMetadata": {"totalTokenCount": tokens},
        }
        self.put(id, Cached(id, metadata, held, tokens, self._until(sent)), size)
        return whole(metadata)

    def patch(self, request: Received, route: Route) -> Answer:
        """Change the expiry, the only field that can be changed."""
        cached, sent = self[route.name], decoded(request.body, CachedContent)
        mask = [each.strip() for each in request.query.get("updateMask", "").split(",")]
        given = {"ttl": sent.ttl, "expireTime": sent.expire_time}
        requested = ["expireTime" if each == "expire_time" else each for each in mask if each] or [
            name for name, value in given.items() if value
        ]
        if not requested or any(each not in ("ttl", "expireTime") for each in requested):
            raise refusal(400, "Only ttl and expire_time can be updated.")
        self.number += 1
        cached.metadata |= {"updateTime": timestamp(self.number), "expireTime": self._expires(sent)}
        cached.until = self._until(sent)
        return whole(cached.metadata)

    def __getitem__(self, name: str) -> Cached:
        self.newest()
        return super().__getitem__(name.rpartition("cachedContents/")[2])

    def newest(self) -> list[Cached]:
        """Return all that have not expired, the newest first."""
        now = self.settings.clock()
        for each in super().newest():
            if now >= each.until:
                self.remove(each.id)
        return super().newest()

    def apply(
        self, request: GenerateContentRequest, model: Traits
    ) -> tuple[GenerateContentRequest, int]:
        """Add the tools of its cached content to a request; return also the tokens of the content.

        Raises `Refusal` for a cached content of another model (G84).
        """
        if not request.cached_content:
            return request, 0
        cached = self[request.cached_content]
        if cached.metadata["model"].rpartition("/")[2] != model.name:
            raise rule_refusal("G84")
        return msgspec.structs.replace(
            request, tools=cached.request.tools, tool_config=cached.request.tool_config
        ), cached.tokens

    def _until(self, sent: CachedContent) -> float:
        """Return the time at which a cached content expires; `_expires` has checked the expiry.

        The clock has no dates, so a content with an expiry date never expires.
        """
        if sent.expire_time is not None:
            return math.inf
        return self.settings.clock() + (float(sent.ttl.removesuffix("s")) if sent.ttl else _HOUR)

    def _expires(self, sent: CachedContent) -> str:
        if sent.ttl is not None and sent.expire_time is not None:
            raise refusal(400, "Only one of ttl and expire_time can be set.")
        if sent.expire_time is not None:
            return sent.expire_time
        duration = _DURATION.fullmatch(sent.ttl) if sent.ttl is not None else None
        if sent.ttl is not None and duration is None:
            kind = "type.googleapis.com/google.protobuf.Duration"
            message = f"Invalid value at 'cached_content.ttl' ({kind}), {json.dumps(sent.ttl)}"
            raise refusal(400, message, "G1")
        return timestamp(self.number + (float(duration[1]) if duration else _HOUR))
