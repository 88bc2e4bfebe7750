"""Cache breakpoints in the messages of a request, and the setting `caching`.

From gpt-5.6 on, OpenAI keeps the prompt up to a part with `prompt_cache_breakpoint`. OpenRouter
passes `cache_control` on to models of Anthropic and Google. Other hosts have no breakpoints: most
keep the beginnings of prompts on their own.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import msgspec

from wire.core.memory import Note
from wire.neutral.caching import MAX_BREAKPOINTS, prefix_key
from wire.neutral.messages import Message
from wire.neutral.request import Request
from wire.openai.chat.types import (
    CacheControl,
    ChatCompletionRequest,
    ContentPart,
    PromptCacheBreakpoint,
)
from wire.openai.chat.types import Message as WireMessage
from wire.openai.common.caching import (
    IMPLICIT_BREAKPOINTS,
    Breakpoints,
    breakpoints,
    cache_fields,
)
from wire.openai.common.dialect import Caching, Dialect, matches_model

Mark = dict[str, Any]
"""The field of a part that is a breakpoint, and its value."""

_MARKABLE = ("text", "image_url", "input_audio", "file")
_INSTRUCTIONS = ("system", "developer")


def breakpoints_of(
    request: Request,
    conversation: Sequence[tuple[str, Message]],
    model: str,
    dialect: Dialect,
    notes: list[Note],
) -> Breakpoints[WireMessage] | None:
    """Return the breakpoints of messages with `cache`; `None` if there are none on this host."""
    how = dialect.caching
    mark = _mark(how, model, request.caching)
    if mark is None:
        return breakpoints(request, conversation, how, None, notes)
    most = MAX_BREAKPOINTS if "cache_control" in mark else IMPLICIT_BREAKPOINTS
    marking = functools.partial(with_mark, mark=mark)
    return breakpoints(request, conversation, how, marking, notes, most)


def with_mark(message: WireMessage, mark: Mark) -> WireMessage | None:
    """Return the message with a breakpoint on its last part; `None` if it cannot have one.

    >>> message = WireMessage(role="user", content="Hi")
    >>> with_mark(message, {"cache_control": CacheControl(type="ephemeral")}).content
    [ContentPart(type='text', text='Hi', cache_control=CacheControl(type='ephemeral'))]
    """
    content = message.content
    parts = [ContentPart(type="text", text=content)] if isinstance(content, str) else content
    if message.role == "assistant" or not parts or not content:
        return None
    *others, last = parts
    if last.type not in _MARKABLE:
        return None
    return msgspec.structs.replace(
        message, content=[*others, msgspec.structs.replace(last, **mark)]
    )


def cached(
    built: ChatCompletionRequest,
    caching: str,
    dialect: Dialect,
    *,
    key_refused: bool,
    notes: list[Note],
) -> ChatCompletionRequest:
    """Return the request with the fields that the setting `caching` adds on this host.

    A key of its tools and instructions, or of its first message if it has neither; breakpoints
    after the instructions and, where the host sets none itself, at the end of this request and of
    the one before.
    """
    model, how = built.model or "", dialect.caching
    messages, count = list(built.messages), _instructions(built)
    fields = cache_fields(
        caching, model, how, key_refused=key_refused, beginning=_beginning(built), notes=notes
    )
    mark = _mark(how, model, caching)
    if mark is not None:
        last = [at for at, each in enumerate(messages) if each.role in ("user", "tool")]
        ends = [last[-1]] if last else []
        if last and (replies := [at for at in range(last[-1]) if messages[at].role == "assistant"]):
            ends += [at for at in last if at < replies[-1]][-1:]
        targets = [count - 1] if count else []
        # OpenAI sets a breakpoint at the end itself.
        targets = [*ends[:1], *targets, *ends[1:]] if "cache_control" in mark else targets
        left = MAX_BREAKPOINTS - sum(map(_is_marked, messages))
        for at in targets:
            made = None if _is_marked(messages[at]) else with_mark(messages[at], mark)
            if left > 0 and made is not None:
                messages[at], left = made, left - 1
    return msgspec.structs.replace(built, messages=messages, **fields)


def key_headers(built: ChatCompletionRequest, dialect: Dialect) -> dict[str, str]:
    """Return the header with the key of the request's beginning, for a host that reads it there.

    >>> request = ChatCompletionRequest(messages=[WireMessage(role="user", content="Hi")])
    >>> how = Caching(key_header="x-key")
    >>> key_headers(request, Dialect(caching=how))["x-key"][:5]
    'wire-'
    """
    name = dialect.caching.key_header
    key = prefix_key(_beginning(built)) if name else ""
    return {name: key} if key else {}


def _instructions(built: ChatCompletionRequest) -> int:
    """Count the messages with instructions that come first."""
    roles = (each.role for each in built.messages)
    first = (at for at, role in enumerate(roles) if role not in _INSTRUCTIONS)
    return next(first, len(built.messages))


def _beginning(built: ChatCompletionRequest) -> list[Any]:
    """Return the parts that all requests of a conversation share: tools and instructions, else the
    first message.
    """
    count = _instructions(built)
    if not built.tools and not count:
        return list(built.messages[:1])
    return [built.tools, built.messages[:count]]


def _is_marked(message: WireMessage) -> bool:
    return isinstance(message.content, list) and any(
        part.cache_control is not None or part.prompt_cache_breakpoint is not None
        for part in message.content
    )


def _mark(how: Caching, model: str, caching: str | None) -> Mark | None:
    """Return the fields that write a breakpoint; `None` if this model has none."""
    if how.breakpoints and matches_model(how.breakpoints, model):
        return {"prompt_cache_breakpoint": PromptCacheBreakpoint(mode="explicit")}
    if how.marks and matches_model(how.marks, model):
        ttl = "1h" if caching == "long" else None
        return {"cache_control": CacheControl(type="ephemeral", ttl=ttl)}
    return None
