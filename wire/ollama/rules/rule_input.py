"""The input of the rules: the request as plain JSON, what is known of the host and of the model."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from wire.core.errors import Violation
from wire.core.memory import built, kept_bytes, raw_of
from wire.ollama.dialect import Dialect
from wire.ollama.types import ChatRequest, EmbedRequest, GenerateRequest, Message

Plain: TypeAlias = Mapping[str, Any]
AnyRequest: TypeAlias = ChatRequest | GenerateRequest | EmbedRequest


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the server says of a model."""

    capabilities: frozenset[str] | None = None
    """Such as `tools`, `thinking` and `vision`; `None` if it is not known."""
    context_window: int | None = None
    """Tokens of the longest prompt and answer that the model was made for."""


class Body(msgspec.Struct, frozen=True, dict=True):
    """The body of a request. It is read once, and may be checked for one host after another."""

    request: AnyRequest | bytes | Plain

    @functools.cached_property
    def plain(self) -> Plain:
        """The body as plain JSON; of another type if the request is not an object.

        The messages of a built request stay structs.
        """
        request: Any = self.request
        if isinstance(request, (ChatRequest, GenerateRequest, EmbedRequest)):
            if raw_of(request) is None:
                messages = getattr(request, "messages", None)
                if messages is None:
                    return _plain(request)  # type: ignore[no-any-return]
                rest = msgspec.structs.replace(request, messages=None)
                return {**_plain(rest), "messages": messages}
            request = bytes(kept_bytes(request))
        plain: Plain = json.loads(request) if isinstance(request, bytes) else request
        return plain

    @functools.cached_property
    def messages(self) -> list[Plain]:
        """The messages as plain JSON."""
        found = self.plain.get("messages")
        return [_message(each) for each in found] if isinstance(found, (list, tuple)) else []

    @property
    def is_chat(self) -> bool:
        """Whether it is a request of /api/chat."""
        return isinstance(self.request, ChatRequest) or "messages" in self.plain


def _plain(value: Any) -> Any:
    return built(value, lambda raw: json.loads(bytes(raw)))


_NOTHING_ELSE = (None,) * (len(Message.__struct_fields__) - 2)


def _message(message: Any) -> Plain:
    if isinstance(message, Message):
        role, content, *others = msgspec.structs.astuple(message)
        if tuple(others) == _NOTHING_ELSE and isinstance(content, str):
            return {"role": role, "content": content}  # as most messages of a long history are
        message = _plain(message)
    return message if isinstance(message, Mapping) else {}


class RuleInput:
    """A request, with what is known of the host and the model."""

    def __init__(self, body: Body, dialect: Dialect, known: ModelFacts, model: str = "") -> None:
        self.body, self.dialect, self.known = body, dialect, known
        self.plain: Plain = body.plain
        self.model: Any = self.plain.get("model", model or None)

    @property
    def messages(self) -> Sequence[Plain]:
        """The messages."""
        return self.body.messages

    def lists(self, key: str) -> Iterator[tuple[str, str, Any]]:
        """Yield the path of each list under a key, in a message or in the body itself, the path of
        each item, and the item.
        """
        places = [(f"messages[{index}].", each) for index, each in enumerate(self.messages)]
        for path, place in [("", self.plain), *places]:
            items = place.get(key)
            for index, item in enumerate(items if isinstance(items, (list, tuple)) else ()):
                yield f"{path}{key}", f"{path}{key}[{index}]", item

    def lacks(self, capability: str) -> bool:
        """Return whether the model is known to lack a capability."""
        known = self.known.capabilities
        return known is not None and capability not in known


def as_object(value: Any) -> Plain:
    """Return the value if it is an object, otherwise an empty object."""
    return value if value and isinstance(value, Mapping) else {}


def violation(
    path: str,
    message: str,
    rule: str,
    remedy: str = "",
    words: str = "",
    severity: str = "error",
) -> Violation:
    """Build a violation; `words` are those of the server, if they are known."""
    return Violation(path, message, rule, severity, remedy, words=words)
