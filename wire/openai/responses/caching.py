"""Cache breakpoints in the items of a request, and the setting `caching`.

From gpt-5.6 on, OpenAI keeps the prompt up to a part with `prompt_cache_breakpoint`, and up to the
end of the request. Earlier models keep the beginnings of prompts without breakpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from wire.core.memory import Note
from wire.neutral.messages import Message
from wire.neutral.request import Request
from wire.openai.common.caching import Breakpoints, breakpoints, cache_fields
from wire.openai.common.dialect import matches_model
from wire.openai.responses.dialect import Dialect
from wire.openai.responses.types import ContentPart, Item, PromptCacheBreakpoint, ResponseRequest

_MARKABLE = ("input_text", "input_image", "input_file")
_INSTRUCTIONS = ("system", "developer")


def breakpoints_of(
    request: Request,
    conversation: Sequence[tuple[str, Message]],
    model: str,
    dialect: Dialect,
    notes: list[Note],
) -> Breakpoints[Item] | None:
    """Return the breakpoints of messages with `cache`; `None` if there are none on this host."""
    marking = with_mark if _has_breakpoints(dialect, model) else None
    return breakpoints(request, conversation, dialect.caching, marking, notes)


def _has_breakpoints(dialect: Dialect, model: str) -> bool:
    pattern = dialect.caching.breakpoints
    return bool(pattern) and matches_model(pattern, model)


def with_mark(item: Item) -> Item | None:
    """Return the item with a breakpoint on its last part; `None` if it cannot have one.

    >>> with_mark(Item(type="message", role="user", content="Hi")).content[0].text
    'Hi'
    """
    field = "output" if (item.type or "").endswith("_output") else "content"
    content = getattr(item, field)
    parts = [ContentPart(type="input_text", text=content)] if isinstance(content, str) else content
    if not content or not isinstance(parts, list) or parts[-1].type not in _MARKABLE:
        return None
    mark = PromptCacheBreakpoint(mode="explicit")
    last = msgspec.structs.replace(parts[-1], prompt_cache_breakpoint=mark)
    return msgspec.structs.replace(item, **{field: [*parts[:-1], last]})


def cached(
    built: ResponseRequest,
    caching: str,
    dialect: Dialect,
    *,
    key_refused: bool,
    notes: list[Note],
) -> ResponseRequest:
    """Return the request with the fields that the setting `caching` adds on this host.

    A key of its tools and instructions, or of its first item if it has neither; and a breakpoint
    after the instructions, which then are the first item, because only parts have breakpoints.
    OpenAI sets the one at the end of the request itself.
    """
    model = built.model or ""
    items: list[Any] = list(built.input) if isinstance(built.input, list) else []
    count = next((at for at, each in enumerate(items) if not _instructs(each)), len(items))
    beginning: list[Any] = [built.tools, built.instructions, items[:count]]
    if not built.tools and not built.instructions and not count:
        beginning = items[:1]
    fields = cache_fields(
        caching,
        model,
        dialect.caching,
        key_refused=key_refused,
        beginning=beginning,
        notes=notes,
    )
    if _has_breakpoints(dialect, model):
        if built.instructions:
            role = "developer" if dialect.developer_role else "system"
            items.insert(0, Item(type="message", role=role, content=built.instructions))
            fields["instructions"], count = None, count + 1
        made = with_mark(items[count - 1]) if count else None
        if made is not None:
            items[count - 1] = made
        fields["input"] = items
    return msgspec.structs.replace(built, **fields)


def _instructs(item: Item) -> bool:
    return item.type == "message" and item.role in _INSTRUCTIONS
