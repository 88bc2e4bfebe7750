"""Compaction at a token threshold: the block that a long prompt is answered with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wire.anthropic.compaction import COMPACT_BETA, COMPACT_EDIT
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendors.anthropic import errors

_DEFAULT_TRIGGER = 150_000
"""Tokens (guide "Compaction at a token threshold", 2026-11)."""


def edit_of(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the edit of a request that compacts it."""
    edits = (request.get("context_management") or {}).get("edits") or ()
    return next((each for each in edits if each.get("type") == COMPACT_EDIT), None)


def check_beta(request: Mapping[str, Any], betas: str) -> None:
    """Raise `Refusal` for the edit without its beta."""
    if edit_of(request) is not None and COMPACT_BETA not in betas.split(","):
        raise errors.refusal(400, "context_management: Extra inputs are not permitted")


def uncompacted(messages: Any) -> list[Any]:
    """Return the messages without what comes before the newest compaction block.

    >>> block = {"type": "compaction", "content": "They met."}
    >>> last = {"role": "assistant", "content": [{"type": "text", "text": "Hi"}, block]}
    >>> uncompacted([{"role": "user", "content": "Hello"}, last])
    [{'role': 'assistant', 'content': [{'type': 'compaction', 'content': 'They met.'}]}]
    """
    found: list[Any] = list(messages or ())
    for index in reversed(range(len(found))):
        content = found[index].get("content")
        blocks = content if isinstance(content, list) else []
        for position in reversed(range(len(blocks))):
            # A block without a summary is that of a compaction that failed.
            if blocks[position].get("type") == "compaction" and blocks[position].get("content"):
                kept = {**found[index], "content": blocks[position:]}
                return [kept, *found[index + 1 :]]
    return found


def summary_of(request: Mapping[str, Any], tokens: int) -> dict[str, Any] | None:
    """Return the block that a request is answered with first; `None` under its trigger."""
    edit = edit_of(request)
    if edit is None or tokens < (edit.get("trigger") or {}).get("value", _DEFAULT_TRIGGER):
        return None
    messages = len(uncompacted(request.get("messages")))
    return {"type": "compaction", "content": f"Summary of {messages} messages."}


def pauses(request: Mapping[str, Any]) -> bool:
    """Return whether a request is answered with its compaction alone."""
    return bool((edit_of(request) or {}).get("pause_after_compaction"))


def compacted(message: dict[str, Any], block: dict[str, Any], rest: int) -> dict[str, Any]:
    """Return a message that begins with a compaction, with the usage of both runs of the model.

    `rest` are the tokens of the prompt beside its messages.
    """
    usage = message["usage"]
    read = usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
    first = {
        "type": "compaction",
        "input_tokens": usage["input_tokens"] + read,
        "output_tokens": count(block["content"]),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    none = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    own = {**none, "input_tokens": rest + count(block["content"])}
    second = {"type": "message", **own, "output_tokens": usage["output_tokens"]}
    written = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    changed = {**usage, **own, "cache_creation": written, "iterations": [first, second]}
    return {
        **message,
        "content": [block, *message["content"]],
        "usage": changed,
        "context_management": {"applied_edits": [{"type": COMPACT_EDIT}]},
    }


def paused(message: dict[str, Any]) -> dict[str, Any]:
    """Return a compacted message without its answer, with which the server waits."""
    usage = message["usage"]
    none = {"input_tokens": 0, "output_tokens": 0, "iterations": usage["iterations"][:1]}
    return {
        **message,
        "content": message["content"][:1],
        "stop_reason": "compaction",
        "usage": {**usage, **none},
    }
