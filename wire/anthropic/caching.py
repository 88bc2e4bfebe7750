"""Cache breakpoints of a request: `cache_control` of blocks and tools.

The server keeps the request up to each breakpoint, in the order tools, system, messages, and reads
the longest beginning that it has kept. From a breakpoint it looks back over 20 blocks only.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wire.anthropic.types import CacheControl, ContentBlock, MessageRequest
from wire.anthropic.types import Message as WireMessage
from wire.core.lenient import fields_of
from wire.core.memory import Note, encode, raw_of, remember
from wire.neutral.caching import MAX_BREAKPOINTS

_MARKABLE = frozenset(
    (
        *("text", "image", "document", "search_result", "container_upload", "mid_conv_system"),
        *("tool_use", "tool_result", "server_tool_use", "web_search_tool_result"),
        *("web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result"),
        *("text_editor_code_execution_tool_result", "tool_search_tool_result"),
    )
)
"""Types of blocks that may have `cache_control`, by the reference of 2026-08. Thinking may not."""


def cache_control(caching: str | None) -> CacheControl:
    """Return the breakpoint of a request with this setting. Without a `ttl` it lives for 5 minutes.

    >>> cache_control("long").ttl
    '1h'
    """
    return CacheControl(type="ephemeral", ttl="1h" if caching == "long" else None)


def marked(blocks: Sequence[ContentBlock], control: CacheControl) -> list[ContentBlock] | None:
    """Return the blocks with a breakpoint on the last one that may have one; `None` if none may.

    >>> blocks = [ContentBlock(type="text", text="Hi"), ContentBlock(type="thinking")]
    >>> [block.cache_control is not None for block in marked(blocks, cache_control(None))]
    [True, False]
    """
    for index in reversed(range(len(blocks))):
        block = blocks[index]
        if block.type in _MARKABLE and (block.type != "text" or block.text):
            return [*blocks[:index], _with_control(block, control), *blocks[index + 1 :]]
    return None


def _with_control(block: ContentBlock, control: CacheControl) -> ContentBlock:
    """Return the block with a breakpoint; all other values of a received one keep their bytes."""
    with_control = msgspec.structs.replace(block, cache_control=control)
    if raw_of(block) is None:
        return with_control
    fields = fields_of(encode(block)) | {"cache_control": msgspec.Raw(encode(control))}
    return remember(with_control, msgspec.json.encode(fields))


def with_auto_breakpoints(built: MessageRequest, caching: str, notes: list[Note]) -> MessageRequest:
    """Return the request with breakpoints after its last message, its system text or tools, and the
    message that the request before it ended with.

    `MAX_BREAKPOINTS` limits their number.

    The one at the end moves with the conversation: the next request reads what this one has
    written. The last one is for a turn of more blocks than the server looks back over.
    """
    control = cache_control(caching)
    left = MAX_BREAKPOINTS - _count(built)
    if left <= 0:
        notes.append(Note("caching", "left out: messages with cache have all the breakpoints"))
        return built
    messages = list(built.messages)
    if _mark_message(messages, len(messages) - 1, control):
        left -= 1
    if left and (beginning := _marked_beginning(built, control)) is not None:
        built, left = beginning, left - 1
    previous = [index for index, each in enumerate(messages[:-1]) if each.role == "user"]
    if left and previous:
        _mark_message(messages, previous[-1], control)
    return msgspec.structs.replace(built, messages=messages)


def _count(built: MessageRequest) -> int:
    """Count the breakpoints of the messages and the system text."""
    contents = [built.system, *(message.content for message in built.messages)]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return sum(block.cache_control is not None for block in blocks)


def _mark_message(messages: list[WireMessage], index: int, control: CacheControl) -> bool:
    """Set a breakpoint at the end of a message, in place; false if it has one or cannot."""
    content = messages[index].content
    blocks = [ContentBlock(type="text", text=content)] if isinstance(content, str) else content
    with_mark = marked(blocks or (), control)
    if with_mark is None or _has_mark(blocks or ()):
        return False
    messages[index] = msgspec.structs.replace(messages[index], content=with_mark)
    return True


def _has_mark(blocks: Sequence[ContentBlock]) -> bool:
    return bool(blocks) and blocks[-1].cache_control is not None


def _marked_beginning(built: MessageRequest, control: CacheControl) -> MessageRequest | None:
    """Return the request with a breakpoint after its system text, which the tools precede.

    Without a system text, the breakpoint is after the tools. The result is `None` if the request
    has one or there is neither.
    """
    if built.system:
        system = built.system
        blocks = [ContentBlock(type="text", text=system)] if isinstance(system, str) else system
        with_mark = None if _has_mark(blocks) else marked(blocks, control)
        return None if with_mark is None else msgspec.structs.replace(built, system=with_mark)
    if built.tools:
        *others, last = built.tools
        last = msgspec.structs.replace(last, cache_control=control)
        return msgspec.structs.replace(built, tools=[*others, last])
    return None
