"""The prompt caches of OpenAI and of hosts of its wires.

- Most hosts keep all beginnings of prompts without being asked, and count what is read in steps.
- From gpt-5.6 on, OpenAI keeps a prompt up to its breakpoints: the last three that the request has,
  and its own at the end; with the mode `explicit`, the last four that the request has.
- OpenRouter keeps the prompts of some models up to `cache_control`.

A beginning is read under the same `prompt_cache_key` only, at some hosts under the same value of a
header: another key leads to another server.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec

from wire.openai.common.dialect import Caching, matches_model
from wire.testing.emulator.prefixes import Piece, Prefixes, prefixes_of

MIN_CACHED_TOKENS = 1024
"""Minimum tokens of a beginning that is kept."""
STEP = 128
"""Without breakpoints, tokens are read in multiples of this."""
MAX_WRITTEN = 4
"""The most beginnings that one request writes."""
_LIFETIMES = {"": 600.0, "24h": 86400.0, "explicit": 1800.0, "5m": 300.0, "1h": 3600.0}
"""Kind of a breakpoint, or retention -> seconds; empty for what is kept unasked."""
_MARKS = ("cache_control", "prompt_cache_breakpoint")


class PromptTokens(NamedTuple):
    """The tokens of a prompt."""

    total: int
    cached: int = 0
    """Read from a cache."""
    written: int | None = None
    """Written to a cache; `None` if the host does not say."""

    @property
    def details(self) -> dict[str, int]:
        """As `prompt_tokens_details` and `input_tokens_details` have them."""
        written = {} if self.written is None else {"cache_write_tokens": self.written}
        return {"cached_tokens": self.cached, **written}


@dataclass(slots=True)
class PromptCache:
    """The beginnings that one emulator keeps for all hosts of OpenAI's wires."""

    prefixes: Prefixes

    def counter(
        self,
        request: Mapping[str, Any],
        pieces: list[Piece],
        how: Caching,
        headers: Mapping[str, str],
    ) -> Callable[[], PromptTokens]:
        """Return a function that counts the tokens of a request and keeps its beginnings, once.

        A request that is answered with an error is not counted, so that nothing of it is kept.
        """
        key = headers.get(how.key_header) if how.key_header else request.get("prompt_cache_key")
        return functools.cache(lambda: self._counted(request, pieces, how, key))

    def _counted(
        self, request: Mapping[str, Any], pieces: list[Piece], how: Caching, key: object
    ) -> PromptTokens:
        model = str(request.get("model") or "")
        prefixes = prefixes_of(f"{model} {key}", pieces)
        total = prefixes[-1].tokens if prefixes else 0
        long = [each for each in prefixes if each.tokens >= MIN_CACHED_TOKENS]
        has_breakpoints, has_marks = (
            bool(pattern) and matches_model(pattern, model)
            for pattern in (how.breakpoints, how.marks)
        )
        written = [each for each in long if each.mark]
        if has_breakpoints:
            explicit = (request.get("prompt_cache_options") or {}).get("mode") == "explicit"
            written = written[-(MAX_WRITTEN - (not explicit)) :]
            if not explicit:
                written += [replace(each, mark="explicit") for each in long[-1:] if not each.mark]
        elif has_marks:
            written = written[-MAX_WRITTEN:]
        elif how.unasked:
            kind = "24h" if request.get("prompt_cache_retention") == "24h" else ""
            written = [replace(each, mark=kind) for each in long]
        else:
            return PromptTokens(total)
        cached = self.prefixes.longest(long)
        for each in written:
            self.prefixes.keep(each.name, _LIFETIMES[each.mark])
        if not (has_breakpoints or has_marks):
            return PromptTokens(total, cached - cached % STEP)
        end = max((each.tokens for each in written), default=0)
        return PromptTokens(total, cached, max(0, end - cached))


def prompt_piece(value: Any, tokens: int) -> Piece:
    """Convert a message, an item or a list of tools to a piece of a prompt.

    A text and a list with this text alone are the same, with a breakpoint or without.
    """
    value = msgspec.to_builtins(value)
    mark = ""

    def plain(node: Any) -> Any:
        nonlocal mark
        if isinstance(node, list):
            return [plain(each) for each in node]
        if not isinstance(node, dict):
            return node
        for found in filter(None, map(node.get, _MARKS)):
            mark = found.get("ttl") or found.get("mode") or "5m"
        return {
            key: _as_parts(plain(each)) if key in ("content", "output") else plain(each)
            for key, each in node.items()
            if each is not None and key not in (*_MARKS, "id", "status")
        }

    content = json.dumps(plain(value), sort_keys=True).encode()
    return Piece(content, tokens, mark if mark in _LIFETIMES else "5m")


def _as_parts(content: Any) -> Any:
    """Convert content of one text to that text."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        only = content[0]
        if only.keys() == {"type", "text"}:
            return only["text"]
    return content
