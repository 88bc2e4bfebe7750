"""The input of the rules: the request as plain JSON, with its messages and blocks, and what is
known of the model and the host.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from wire.converse.dialect import Dialect
from wire.converse.families import Family, family
from wire.converse.types import ConverseRequest, ConverseTokensRequest, Message
from wire.core.errors import Violation
from wire.core.memory import built, kept_bytes, raw_of

Plain = Mapping[str, Any]

ERROR_TYPE = "ValidationException"
"""Type of the error that the server sends for a breach of any of these rules."""
TEXT_ONLY = frozenset({"text"})
"""The kinds of the blocks of most messages."""


class Block:
    """A block, with its path in the request."""

    path: str
    plain: Plain
    kinds: Sequence[str]
    """Its keys: one, in a block that is right."""

    __slots__ = ("kinds", "path", "plain")

    def __init__(self, path: str, plain: Plain) -> None:
        self.path, self.plain = path, plain
        self.kinds = [key for key, value in plain.items() if value is not None]

    @property
    def kind(self) -> str:
        """Its first key; empty without one."""
        return self.kinds[0] if self.kinds else ""

    def fields(self, kind: str) -> Plain:
        """Return the fields of a kind; empty if it has not that kind."""
        return as_object(self.plain.get(kind))


class Turn:
    """A message, with its index in the request."""

    index: int
    role: str
    blocks: list[Block]
    kinds: frozenset[str]
    """The kinds of its blocks."""

    __slots__ = ("blocks", "index", "kinds", "role")

    def __init__(self, index: int, message: Message | Plain) -> None:
        plain = _plain(message) if isinstance(message, Message) else message
        self.index = index
        role = plain.get("role")
        self.role = role if isinstance(role, str) else str(role or "")
        self.blocks = [
            Block(f"messages[{index}].content[{at}]", each)
            for at, each in enumerate(as_objects(plain.get("content")))
        ]
        self.kinds = frozenset(kind for block in self.blocks for kind in block.kinds)

    @property
    def path(self) -> str:
        """Its path in the request."""
        return f"messages[{self.index}]"

    def of(self, *kinds: str) -> list[Block]:
        """Return the blocks of these kinds."""
        if self.kinds.isdisjoint(kinds):
            return []
        return [block for block in self.blocks if block.kind in kinds]


def _plain(value: Any) -> Any:
    return built(value, lambda raw: json.loads(bytes(raw)))


class Body(msgspec.Struct, frozen=True, dict=True):
    """The body of a request. It is read once, and may be checked for one host after another."""

    request: ConverseRequest | ConverseTokensRequest | bytes | Plain

    @functools.cached_property
    def plain(self) -> Plain:
        """The body as plain JSON; of another type if the request is not an object.

        The messages of a built request stay structs.
        """
        request: Any = self.request
        if isinstance(request, (ConverseRequest, ConverseTokensRequest)):
            if raw_of(request) is None:
                rest: dict[str, Any]
                rest = _plain(msgspec.structs.replace(request, messages=None))
                if request.messages is not None:
                    rest["messages"] = request.messages
                return rest
            request = bytes(kept_bytes(request))
        plain: Plain = json.loads(request) if isinstance(request, bytes) else request
        return plain

    @functools.cached_property
    def turns(self) -> list[Turn]:
        """The messages."""
        messages = as_objects(self.plain.get("messages"), Message)
        return [Turn(index, message) for index, message in enumerate(messages)]

    @functools.cached_property
    def beyond_text(self) -> list[Turn]:
        """The messages that have other blocks than texts. A long history has few of them."""
        return [turn for turn in self.turns if turn.kinds != TEXT_ONLY]

    @functools.cached_property
    def tools(self) -> list[Block]:
        """The tools."""
        config = as_object(self.plain.get("toolConfig"))
        return [
            Block(f"toolConfig.tools[{index}]", tool)
            for index, tool in enumerate(as_objects(config.get("tools")))
        ]

    @functools.cached_property
    def system(self) -> list[Block]:
        """The blocks of the system prompt."""
        return [
            Block(f"system[{index}]", each)
            for index, each in enumerate(as_objects(self.plain.get("system")))
        ]


class RuleInput:
    """A request, with the model and the host that it is for."""

    def __init__(self, body: Body, model: str, dialect: Dialect) -> None:
        self.body, self.model, self.dialect = body, model, dialect
        self.family: Family = family(model)
        self.plain: Plain = body.plain
        self.turns: list[Turn] = body.turns

    @property
    def at_bedrock(self) -> bool:
        """Whether the host enforces the rules of Amazon Bedrock."""
        return self.dialect.vendor_rules

    def breach(self, figure: str, path: str, message: str, rule: str, remedy: str) -> Violation:
        """Build the violation of a fact about the model, which may be inherited or inferred."""
        return violation(path, message, rule, remedy, self.family.known.severity(figure))

    def with_kinds(self, *kinds: str) -> Iterator[tuple[Turn, Block]]:
        """Yield the blocks of these kinds, which are not texts, with their turns."""
        for turn in self.body.beyond_text:
            for block in turn.of(*kinds):
                yield turn, block

    @property
    def further(self) -> Plain:
        """The fields that the model itself reads."""
        return as_object(self.plain.get("additionalModelRequestFields"))


def as_object(value: Any) -> Plain:
    """Return the value if it is an object, otherwise an empty object."""
    return value if value and isinstance(value, Mapping) else {}


def as_objects(value: Any, kind: type[Any] = dict) -> list[Any]:
    """Return the items of a list as objects, or unchanged if they are of the `kind`; other items
    become empty objects, so that the indices in paths are those of the request.
    """
    if not isinstance(value, (list, tuple)):
        return []
    return [each if isinstance(each, (kind, Mapping)) else {} for each in value]


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


def constraint(path: str, problem: str, rule: str, remedy: str = "") -> Violation:
    """Build the violation of a constraint of the service's model, in the server's words.

    Its path counts from 1, with `member` behind each number.

    >>> constraint("toolConfig.tools[0].toolSpec.name", "Member must be short", "B1").words[:70]
    "1 validation error detected: Value at 'toolConfig.tools.1.member.toolS"
    """
    theirs = re.sub(r"\[(\d+)\]", lambda found: f".{int(found[1]) + 1}.member", path)
    value = f"Value at '{theirs}' failed to satisfy constraint: {problem}"
    words = f"1 validation error detected: {value}"
    return Violation(path, problem, rule, "error", remedy, code=ERROR_TYPE, words=words)
