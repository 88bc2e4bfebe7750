"""The prompt cache of Messages, and the tokens of a prompt.

A prompt is its tools, its system and its blocks, in this order. Every prefix that ends at a
`cache_control` is cached, for 5 minutes or an hour. A later prompt reads its longest cached prefix
that ends at one of its `cache_control`, or at one of the 20 blocks before one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from wire.testing.emulator.prefixes import Prefixes
from wire.testing.emulator.tokens import count, media_cost

MIN_CACHED_TOKENS = 1024
"""Minimum tokens of a prefix that is cached."""
LOOKBACK = 20
"""Blocks before a `cache_control` at which the server looks for a cached prefix (prompt caching
guide, 2026-07)."""
_LIFETIMES = {"5m": 300.0, "1h": 3600.0}
"""Seconds."""


@dataclass(frozen=True, slots=True)
class _Piece:
    plain: Mapping[str, Any]
    mark: str | None
    """`5m`, `1h`."""

    @property
    def tokens(self) -> int:
        return _tokens(self.plain)


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
        digest = hashlib.sha256(str(request.get("model")).encode())
        total = 0
        marks: list[tuple[int, str, str]] = []
        prefixes: list[tuple[int, str]] = []
        reached: set[int] = set()
        for piece in _pieces(request):
            plain = {key: value for key, value in piece.plain.items() if key != "cache_control"}
            digest.update(json.dumps(plain, sort_keys=True).encode())
            total += piece.tokens
            prefixes.append((total, digest.hexdigest()))
            if piece.mark is not None and total >= MIN_CACHED_TOKENS:
                marks.append((total, digest.hexdigest(), piece.mark))
                reached.update(range(max(0, len(prefixes) - 1 - LOOKBACK), len(prefixes)))
        end = marks[-1][0] if marks else 0
        found = (prefixes[at] for at in sorted(reached, reverse=True))
        read = next((tokens for tokens, name in found if self.prefixes.read(name)), 0)
        written = {"5m": 0, "1h": 0}
        begin = read
        for tokens, name, mark in marks:
            written[mark] += max(0, tokens - begin)
            begin = max(begin, tokens)
            self.prefixes.keep(name, _LIFETIMES[mark])
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
    return sum(piece.tokens for piece in _pieces(request))


def _pieces(request: Mapping[str, Any]) -> Iterator[_Piece]:
    """Yield the pieces of a prompt; `cache_control` of the request counts for the last piece."""
    pieces = [*_marked(request.get("tools"), "tool"), *_marked(request.get("system"))]
    for message in request.get("messages") or ():
        role = message.get("role")
        pieces += [
            _Piece({**piece.plain, "role": role}, piece.mark)
            for piece in _marked(message.get("content"))
        ]
    last = _mark(request)
    if pieces and last is not None and pieces[-1].mark is None:
        pieces[-1] = _Piece(pieces[-1].plain, last)
    yield from pieces


def _marked(content: Any, kind: str = "text") -> Iterator[_Piece]:
    if isinstance(content, str):
        yield _Piece({"type": "text", "text": content}, None)
        return
    for block in content or ():
        inner = block.get("content")
        marks = [
            _mark(block),
            *(
                _mark(each)
                for each in inner or ()
                if isinstance(inner, list) and isinstance(each, dict)
            ),
        ]
        yield _Piece({"type": kind, **block}, next((mark for mark in marks if mark), None))


def _mark(block: Mapping[str, Any]) -> str | None:
    mark = block.get("cache_control")
    return None if not mark else "1h" if mark.get("ttl") == "1h" else "5m"


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
