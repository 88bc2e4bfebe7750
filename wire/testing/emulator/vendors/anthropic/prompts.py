"""The prompt cache of Messages, and the tokens of a prompt.

A prompt is its tools, its system and its blocks, in this order. Every prefix that ends at a
`cache_control` is cached, for 5 minutes or an hour. A later prompt reads its longest cached prefix
that ends at one of its `cache_control`, or at one of the 20 blocks before one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wire.testing.emulator.prefixes import Piece, Prefixes, prefixes_of
from wire.testing.emulator.tokens import count, media_cost
from wire.testing.emulator.vendors.anthropic.compaction import uncompacted

MIN_CACHED_TOKENS = 1024
"""Minimum tokens of a prefix that is cached."""
LOOKBACK = 20
"""Blocks before a `cache_control` at which the server looks for a cached prefix (prompt caching
guide, 2026-07)."""
_LIFETIMES = {"5m": 300.0, "1h": 3600.0}
"""Seconds."""


@dataclass(slots=True)
class PromptCache:
    """The cached prefixes of one emulator."""

    prefixes: Prefixes = field(default_factory=lambda: Prefixes(float))

    def usage(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Count the tokens of a prompt in the format of `usage`; cache its marked prefixes.

        >>> prompt = {"messages": [{"role": "user", "content": "Hello, world!"}]}
        >>> PromptCache().usage(prompt)["input_tokens"]
        6
        """
        prefixes = prefixes_of(str(request.get("model")), _pieces(request))
        total = prefixes[-1].tokens if prefixes else 0
        marked = [
            at for at, each in enumerate(prefixes) if each.mark and each.tokens >= MIN_CACHED_TOKENS
        ]
        reached = {at for end in marked for at in range(max(0, end - LOOKBACK), end + 1)}
        read = begin = self.prefixes.longest(prefixes[at] for at in sorted(reached))
        written = {"5m": 0, "1h": 0}
        for each in (prefixes[at] for at in marked):
            written[each.mark] += max(0, each.tokens - begin)
            begin = max(begin, each.tokens)
            self.prefixes.keep(each.name, _LIFETIMES[each.mark])
        end = prefixes[marked[-1]].tokens if marked else 0
        return {
            "input_tokens": total - end,
            "cache_creation_input_tokens": sum(written.values()),
            "cache_read_input_tokens": read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": written["5m"],
                "ephemeral_1h_input_tokens": written["1h"],
            },
        }


def prompt_tokens(request: Mapping[str, Any]) -> int:
    """Count the tokens of a prompt."""
    return sum(each.tokens for each in _pieces(request))


def _pieces(request: Mapping[str, Any]) -> list[Piece]:
    """Return the pieces of a prompt; `cache_control` of the request counts for the last piece."""
    pieces = [*_marked(request.get("tools"), "tool"), *_marked(request.get("system"))]
    for message in uncompacted(request.get("messages")):
        pieces += _marked(message.get("content"), role=message.get("role"))
    if pieces and not pieces[-1].mark:
        pieces[-1] = replace(pieces[-1], mark=_mark(request))
    return pieces


def _marked(content: Any, kind: str = "text", **more: Any) -> Iterator[Piece]:
    """Yield blocks as pieces: the mark of one is its own, or that of a block in it."""
    for block in [{"text": content}] if isinstance(content, str) else content or ():
        inner = block.get("content")
        within = (
            [each for each in inner if isinstance(each, dict)] if isinstance(inner, list) else []
        )
        plain = {"type": kind, **block, **more}
        kept = {key: value for key, value in plain.items() if key != "cache_control"}
        mark = next(filter(None, map(_mark, [block, *within])), "")
        yield Piece(json.dumps(kept, sort_keys=True).encode(), _tokens(plain), mark)


def _mark(block: Mapping[str, Any]) -> str:
    mark = block.get("cache_control")
    return "" if not mark else "1h" if mark.get("ttl") == "1h" else "5m"


def _tokens(block: Any) -> int:
    if isinstance(block, str):
        return count(block)
    kind = block.get("type")
    source = block.get("source")
    if kind == "text":
        return count(block.get("text") or "")
    if kind == "thinking":
        return count(block.get("thinking") or "")
    if kind == "image":
        return media_cost("image/")[1]
    if kind == "document" and isinstance(source, dict):
        inner = source.get("content") if source.get("type") == "content" else source.get("data")
        return (
            _all(inner)
            if source.get("type") in ("text", "content")
            else media_cost("application/pdf")[1]
        )
    if kind == "compaction":
        return count(block.get("content") or "")
    if kind == "tool_result":
        return _all(block.get("content"))
    return count(
        json.dumps(
            {key: value for key, value in block.items() if key not in ("role", "cache_control")},
            ensure_ascii=False,
        )
    )


def _all(content: Any) -> int:
    return sum(map(_tokens, [content] if isinstance(content, str) else content or ()))
