"""Cache points of a request.

The server keeps the request up to each point, in the order tools, system, messages, and reads the
longest beginning that it has kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wire.converse.families import Family
from wire.converse.types import (
    CachePointBlock,
    ContentBlock,
    ConverseRequest,
    SystemContentBlock,
    Tool,
    ToolConfig,
)
from wire.converse.types import Message as WireMessage
from wire.core.memory import Note
from wire.neutral.caching import MAX_BREAKPOINTS


def cache_point(caching: str | None) -> CachePointBlock:
    """Return the cache point of a request with this setting. Without a `ttl` it lives 5 minutes.

    >>> cache_point("long").ttl
    '1h'
    """
    return CachePointBlock(type="default", ttl="1h" if caching == "long" else None)


def may_precede_point(block: ContentBlock) -> bool:
    """Return whether a cache point may stand behind a block (B18)."""
    document = block.document
    is_other = block.reasoning_content is None and block.cache_point is None
    return is_other and (document is None or document.format == "pdf")


def with_auto_points(
    built: ConverseRequest, caching: str, family: Family, notes: list[Note]
) -> ConverseRequest:
    """Return the request with cache points after its last message, its system text or tools, and
    the message that the request before it ended with.

    The one at the end moves with the conversation: the next request reads what this one has
    written. A model of a family without a cache gets none.
    """
    if not family.caches:
        notes.append(Note("caching", "not sent: no cache points are known for this model"))
        return built
    point = cache_point(caching)
    left = MAX_BREAKPOINTS - _count(built)
    if left <= 0:
        notes.append(Note("caching", "left out: messages with cache have all the cache points"))
        return built
    messages = list(built.messages or ())
    left -= _mark(messages, len(messages) - 1, point)
    if left and built.system and built.system[-1].cache_point is None:
        system = [*built.system, SystemContentBlock(cache_point=point)]
        built, left = msgspec.structs.replace(built, system=system), left - 1
    elif left and not built.system and built.tool_config is not None:
        tools = [*(built.tool_config.tools or ()), Tool(cache_point=point)]
        config = ToolConfig(tools=tools, tool_choice=built.tool_config.tool_choice)
        built, left = msgspec.structs.replace(built, tool_config=config), left - 1
    previous = [index for index, each in enumerate(messages[:-1]) if each.role == "user"]
    if left and previous:
        _mark(messages, previous[-1], point)
    return msgspec.structs.replace(built, messages=messages)


def _count(built: ConverseRequest) -> int:
    contents: list[Sequence[ContentBlock | SystemContentBlock]] = [built.system or ()]
    contents += [message.content or () for message in built.messages or ()]
    return sum(block.cache_point is not None for content in contents for block in content)


def _mark(messages: list[WireMessage], index: int, point: CachePointBlock) -> bool:
    """Set a cache point at the end of a message, in place; false if it has one or cannot."""
    content = messages[index].content or []
    if not content or not may_precede_point(content[-1]):
        return False
    blocks = [*content, ContentBlock(cache_point=point)]
    messages[index] = msgspec.structs.replace(messages[index], content=blocks)
    return True
