"""The keys that Anthropic's server knows in a request of Messages.

It refuses any other key: `messages.1.reasoning_details: Extra inputs are not permitted` (public
threads; recorded requests that were accepted have no other key). The path of the message names the
type of a block or tool, as in `tools.0.custom.parameters`.

They cannot be derived from the wire's structs: one struct has the fields of all types of blocks,
and a key is refused by type. The tables have the names of Anthropic's SDK 2.12.0 (November 2026)
and of SDK 0.121.0 (August 2026), which still has the sampling parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wire.testing.emulator.tables import table

_KEYS: Mapping[str, Any] = table(__file__, "keys")
_PROMPT, _REQUEST, _TOOL = (frozenset(_KEYS[of]) for of in ("prompt", "request", "tool"))
_MESSAGE = frozenset({"role", "content"})
_SYSTEM_MESSAGE = _MESSAGE | {"clear_at", "output_config"}
_CACHE_CONTROL = frozenset({"type", "ttl"})
_BLOCKS: Mapping[str, frozenset[str]] = {
    kind: frozenset(names) for kind, names in _KEYS["blocks"].items()
}


def unknown_keys(request: Mapping[str, Any], endpoint: str) -> Iterator[str]:
    """Yield the path of each key that the server refuses, as its message spells it.

    `endpoint` is `messages` or `count_tokens`, which counts a prompt and takes no options of the
    answer.

    >>> block = {"type": "text", "text": "Hi", "id": "1"}
    >>> list(unknown_keys({"messages": [{"role": "user", "content": [block]}]}, "messages"))
    ['messages.0.content.0.text.id']
    """
    known = _PROMPT if endpoint == "count_tokens" else _PROMPT | _REQUEST
    yield from (key for key in request if key not in known)
    yield from _cache_control(request, "")
    for path, block in _objects(request.get("system"), "system"):
        yield from (f"{path}.{key}" for key in block if key not in _BLOCKS["text"])
        yield from _cache_control(block, f"{path}.")
    for path, message in _objects(request.get("messages"), "messages"):
        keys = _SYSTEM_MESSAGE if message.get("role") == "system" else _MESSAGE
        yield from (f"{path}.{key}" for key in message if key not in keys)
        yield from _blocks(message.get("content"), f"{path}.content")
    for path, tool in _objects(request.get("tools"), "tools"):
        # Tools of the server have a dated type, and options of their own.
        if tool.get("type") in (None, "custom"):
            yield from (f"{path}.custom.{key}" for key in tool if key not in _TOOL)
            yield from _cache_control(tool, f"{path}.custom.")


def _blocks(content: Any, path: str) -> Iterator[str]:
    for at, block in _objects(content, path):
        kind = block.get("type")
        keys = _BLOCKS.get(kind) if isinstance(kind, str) else None
        if keys is None:
            continue  # a type that is newer than this table
        yield from (f"{at}.{kind}.{key}" for key in block if key not in keys)
        yield from _cache_control(block, f"{at}.{kind}.")
        if kind in ("tool_result", "search_result", "mid_conv_system"):
            yield from _blocks(block.get("content"), f"{at}.{kind}.content")


def _cache_control(holder: Mapping[str, Any], path: str) -> Iterator[str]:
    control = holder.get("cache_control")
    for key in control if isinstance(control, Mapping) else ():
        if key not in _CACHE_CONTROL:
            yield f"{path}cache_control.ephemeral.{key}"


def _objects(value: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, Mapping):
            yield f"{path}.{index}", item
