"""The input of the rules: the request as plain JSON, with its messages and blocks, the model's
family, and the host's dialect.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

import msgspec

from wire.anthropic.dialect import Dialect
from wire.anthropic.families import Family, family
from wire.anthropic.types import CountTokensRequest, Message, MessageRequest
from wire.core.errors import Violation
from wire.core.memory import kept_bytes, raw_of

Plain = Mapping[str, Any]

ERROR_TYPE = "invalid_request_error"
"""Type of the error that the server sends for a breach of any of these rules."""


class Block:
    """A block or a tool, with its path in the request."""

    path: str
    plain: Plain

    __slots__ = ("path", "plain", "type")

    def __init__(self, path: str, plain: Plain) -> None:
        self.path, self.plain = path, plain
        self.type: str = str(plain.get("type") or "")

    @property
    def is_thinking(self) -> bool:
        """Whether it is a thinking block."""
        return self.type in ("thinking", "redacted_thinking")


BLOCKS = "messages[].content[]"
"""Stands among the keys of a request for a message that is not one text."""

TEXT_ONLY = frozenset({"text"})
"""The types of the blocks of most messages."""


class Turn:
    """A message, with its index in the request."""

    index: int
    role: str
    types: Set[str]
    """The types of its blocks."""
    text: str | None
    """The content if it is a text, or the text of its only block if that block has nothing else."""

    __slots__ = ("_blocks", "_content", "index", "role", "text", "types")

    def __init__(self, index: int, message: Message | Plain) -> None:
        if isinstance(message, Message):
            role, content = message.role, message.content
            if type(content) is not str:
                content = msgspec.to_builtins(content)
            if type(role) is not str:
                role = msgspec.to_builtins(role)
        else:
            role, content = message.get("role"), message.get("content")
        self.index = index
        self.role = role if type(role) is str else str(role or "")
        self._content = content
        self.text = content if isinstance(content, str) else _only_text(content)
        self._blocks: list[Block] | None = None
        if self.text is not None:
            self.types = TEXT_ONLY if content else frozenset()
        else:
            self.types = {block.type for block in self.blocks}

    @property
    def path(self) -> str:
        """Its path in the request."""
        return f"messages[{self.index}]"

    @property
    def blocks(self) -> list[Block]:
        """The blocks; a text is one block."""
        if self._blocks is None:  # most messages are a text, whose block no rule needs
            self._blocks = list(_blocks(f"{self.path}.content", self._content))
        return self._blocks

    @property
    def is_empty(self) -> bool:
        """Whether it has no content."""
        return not self.types and (self._content is None or self._content in ("", []))

    def of(self, *types: str) -> list[Block]:
        """Return the blocks of these types."""
        if self.types.isdisjoint(types):
            return []
        return [block for block in self.blocks if block.type in types]


class Body(msgspec.Struct, frozen=True, dict=True):
    """The body of a request. It is read once, and may be checked for one host after another."""

    request: MessageRequest | CountTokensRequest | bytes | Plain
    found: dict[tuple[str, str], dict[Any, tuple[Violation, ...]]] = msgspec.field(
        default_factory=dict
    )
    """Violations that depend on no host: model and endpoint to rule to its violations."""

    @functools.cached_property
    def plain(self) -> Plain:
        """The body as plain JSON; of another type if the request is not an object.

        The messages of a built request stay structs, since most rules need nothing of a text.
        """
        request: Any = self.request
        if isinstance(request, (MessageRequest, CountTokensRequest)):
            if raw_of(request) is None:
                rest: dict[str, Any]
                rest = msgspec.to_builtins(msgspec.structs.replace(request, messages=[]))
                messages: Any = request.messages
                if isinstance(messages, (list, tuple)):
                    messages = [
                        each if isinstance(each, Message) else msgspec.to_builtins(each)
                        for each in messages
                    ]
                rest["messages"] = messages
                return rest
            # A received struct is sent with its bytes, so these are checked and not its fields.
            request = bytes(kept_bytes(request))
        plain: Plain = json.loads(request) if isinstance(request, bytes) else request
        return plain

    @functools.cached_property
    def turns(self) -> list[Turn]:
        """The messages."""
        return [
            Turn(index, message)
            for index, message in enumerate(as_objects(self.plain.get("messages"), Message))
        ]

    @functools.cached_property
    def roles(self) -> frozenset[str]:
        """The roles that messages have."""
        return frozenset(turn.role for turn in self.turns)

    @functools.cached_property
    def turns_with_blocks(self) -> list[Turn]:
        """The messages that are not one text. A text has neither citations nor breakpoints."""
        return [turn for turn in self.turns if turn.text is None]

    @functools.cached_property
    def turns_beyond_text(self) -> list[Turn]:
        """The messages that have other blocks than texts. A long history has few of them."""
        return [turn for turn in self.turns if turn.types != TEXT_ONLY]

    @functools.cached_property
    def keys(self) -> frozenset[str]:
        """Its keys, and `BLOCKS` if a message is not one text."""
        has_blocks = self.turns_beyond_text or self.turns_with_blocks
        return frozenset((*self.plain, BLOCKS) if has_blocks else self.plain)

    @functools.cached_property
    def tools(self) -> list[Block]:
        """The tools, including tools that the server runs."""
        return [
            Block(f"tools[{index}]", tool)
            for index, tool in enumerate(as_objects(self.plain.get("tools")))
        ]

    @functools.cached_property
    def system(self) -> list[Block]:
        """The blocks of the system text."""
        return list(_blocks("system", self.plain.get("system")))


class RuleInput:
    """A request, with the model and the host that it is for."""

    def __init__(
        self, body: Body, model: str, dialect: Dialect, endpoint: str, version: str
    ) -> None:
        self.body, self.model, self.endpoint = body, model, endpoint
        self.family: Family = family(model)
        self.plain: Plain = body.plain
        self.turns: list[Turn] = body.turns
        self.thinking: Plain = as_object(body.plain.get("thinking"))
        """The thinking settings; empty if the request has none."""
        self._dialect, self._version = dialect, version
        self.has_read_host: bool = False
        """Whether a rule has read what depends on the host."""

    def breach(self, figure: str, path: str, message: str, rule: str, remedy: str) -> Violation:
        """Build the violation of a fact about the model, which may be inherited or inferred."""
        return violation(path, message, rule, remedy, self.family.known.severity(figure))

    @property
    def dialect(self) -> Dialect:
        """How the host differs from others."""
        self.has_read_host = True
        return self._dialect

    @property
    def version(self) -> str:
        """Version of the API that the host is asked for; empty if it is unknown."""
        self.has_read_host = True
        return self._version

    @property
    def at_anthropic(self) -> bool:
        """Whether the host enforces the rules of Anthropic's own API."""
        self.has_read_host = True
        return self._dialect.vendor_rules

    @property
    def continues_thread(self) -> bool:
        """Whether the server holds the messages before these, with their tools and system text."""
        thread = self.plain.get("thread")
        return isinstance(thread, Mapping) and thread.get("type") == "continue"

    def turns_with(self, *types: str) -> list[Turn]:
        """Return the messages that have blocks of these types, which are not texts."""
        return [turn for turn in self.body.turns_beyond_text if not turn.types.isdisjoint(types)]

    @property
    def config(self) -> Plain:
        """The output settings; empty if the request has none."""
        return as_object(self.plain.get("output_config"))


def as_object(value: Any) -> Plain:
    """Return the value if it is an object, otherwise an empty object."""
    # Most are absent, and a check against the abstract class takes as long as a rule.
    return value if value and isinstance(value, Mapping) else {}


def as_objects(value: Any, kind: type[Any] = dict) -> list[Any]:
    """Return the items of a list as objects, or unchanged if they are of the `kind`; other items
    become empty objects.

    Such items are kept, so that the indices in paths are those of the request.
    """
    if not isinstance(value, (list, tuple)):
        return []
    # A check against the abstract class costs more than the rest.
    return [
        each if isinstance(each, kind) or type(each) is dict or isinstance(each, Mapping) else {}
        for each in value
    ]


def _only_text(content: Any) -> str | None:
    """Return the text of a message as models send it: one block, which has a type and a text."""
    if type(content) is list and len(content) == 1 and type(content[0]) is dict:
        (block,) = content
        text = block.get("text")
        if type(text) is str and block.get("type") == "text" and len(block) == 2:
            return text
    return None


def _blocks(path: str, content: Any) -> Iterator[Block]:
    if isinstance(content, str):
        if content:
            yield Block(path, {"type": "text", "text": content})
    else:
        for index, plain in enumerate(as_objects(content)):
            yield Block(f"{path}[{index}]", plain)


def violation(
    path: str, message: str, rule: str, remedy: str = "", severity: str = "error"
) -> Violation:
    """Build a violation with the error type of this server."""
    return Violation(path, message, rule, severity, remedy, code=ERROR_TYPE)


def server_path(path: str) -> str:
    """Convert a path to the server's spelling.

    >>> server_path("messages[0].content[1]")
    'messages.0.content.1'
    """
    return re.sub(r"\[(\d+)\]", r".\1", path)
