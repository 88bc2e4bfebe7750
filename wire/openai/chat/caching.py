"""Cache breakpoints in the messages of a request, and the setting `caching`.

From gpt-5.6 on, OpenAI keeps the prompt up to a part with `prompt_cache_breakpoint`. OpenRouter
passes `cache_control` on to models of Anthropic and Google. Other hosts have no breakpoints: most
keep the beginnings of prompts on their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from wire.core.memory import Note
from wire.neutral.caching import MAX_BREAKPOINTS, breakpoint_paths
from wire.neutral.messages import Message
from wire.neutral.request import Request
from wire.openai.chat.types import (
    CacheControl,
    ChatCompletionRequest,
    ContentPart,
    PromptCacheBreakpoint,
)
from wire.openai.chat.types import Message as WireMessage
from wire.openai.common.caching import IMPLICIT_BREAKPOINTS, NOT_MARKABLE, UNKNOWN, cache_fields
from wire.openai.common.dialect import Caching, Dialect, matches_model

Mark = dict[str, Any]
"""The field of a part that is a breakpoint, and its value."""

_MARKABLE = ("text", "image_url", "input_audio", "file")
_INSTRUCTIONS = ("system", "developer")


class Breakpoints(msgspec.Struct):
    """The messages that get a breakpoint, by path, and how it is written."""

    paths: frozenset[str]
    mark: Mark
    notes: list[Note]

    def marked(self, path: str, turns: Iterable[WireMessage]) -> list[WireMessage]:
        """The messages that the neutral message at `path` became, the last one with a breakpoint
        if it gets one.
        """
        turns = list(turns)
        if path not in self.paths:
            return turns
        last = with_mark(turns[-1], self.mark) if turns else None
        if last is None:
            self.notes.append(Note(f"{path}.cache", NOT_MARKABLE))
            return turns
        return [*turns[:-1], last]


def breakpoints_of(
    request: Request,
    conversation: Sequence[tuple[str, Message]],
    model: str,
    dialect: Dialect,
    notes: list[Note],
) -> Breakpoints | None:
    """The breakpoints of messages with `cache`; `None` if there are none on this host.

    A host that caches prompts on its own needs none, and gets no note.
    """
    how = dialect.caching
    mark = _mark(how, model, request.caching)
    if mark is None:
        if not how.unasked and request.caching != "off":
            notes += [Note(f"{path}.cache", UNKNOWN) for path, each in conversation if each.cache]
        return None
    most = MAX_BREAKPOINTS if "cache_control" in mark else IMPLICIT_BREAKPOINTS
    return Breakpoints(breakpoint_paths(request, conversation, notes, most), mark, notes)


def with_mark(message: WireMessage, mark: Mark) -> WireMessage | None:
    """The message with a breakpoint on its last part; `None` if it cannot have one.

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
    """The request with what the setting `caching` adds on this host.

    A key of its tools and instructions, or of its first message if it has neither; breakpoints
    after the instructions and, where the host sets none itself, at the end of this request and of
    the one before.
    """
    model, how = built.model or "", dialect.caching
    messages = list(built.messages)
    count = next(
        (at for at, each in enumerate(messages) if each.role not in _INSTRUCTIONS), len(messages)
    )
    beginning: list[Any] = [built.tools, messages[:count]]
    if not built.tools and not count:
        beginning = messages[:1]
    fields = cache_fields(
        caching, model, how, key_refused=key_refused, beginning=beginning, notes=notes
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


def _is_marked(message: WireMessage) -> bool:
    return isinstance(message.content, list) and any(
        part.cache_control is not None or part.prompt_cache_breakpoint is not None
        for part in message.content
    )


def _mark(how: Caching, model: str, caching: str | None) -> Mark | None:
    """How a breakpoint is written; `None` if this model has none."""
    if how.breakpoints and matches_model(how.breakpoints, model):
        return {"prompt_cache_breakpoint": PromptCacheBreakpoint(mode="explicit")}
    if how.marks and matches_model(how.marks, model):
        ttl = "1h" if caching == "long" else None
        return {"cache_control": CacheControl(type="ephemeral", ttl=ttl)}
    return None
