"""What a request asks, as its rules look at it: plain JSON, the model's family, and the messages
with their blocks.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wire.anthropic.dialect import Dialect
from wire.anthropic.families import Family
from wire.errors import Violation

Plain = Mapping[str, Any]

CODE = "invalid_request_error"


class Block:
    """A block, and its place."""

    __slots__ = ("path", "plain", "type")

    def __init__(self, path: str, plain: Plain) -> None:
        self.path, self.plain = path, plain
        self.type = str(plain.get("type") or "")

    @property
    def thinks(self) -> bool:
        """It is a thought."""
        return self.type in ("thinking", "redacted_thinking")


class Turn:
    """A message, and its place."""

    __slots__ = ("_types", "blocks", "path", "role", "says_nothing")

    def __init__(self, path: str, message: Plain) -> None:
        content = message.get("content")
        self.path, self.role = path, str(message.get("role") or "")
        self.blocks = list(_blocks(f"{path}.content", content))
        self.says_nothing = content is None or content in ("", [])
        self._types = {block.type for block in self.blocks}

    def of(self, *types: str) -> list[Block]:
        """Its blocks of these types."""
        # Of a long conversation each rule asks this, and most messages have none of them.
        return (
            []
            if self._types.isdisjoint(types)
            else [block for block in self.blocks if block.type in types]
        )


@dataclass(frozen=True)
class RuleInput:
    """A request, and the model and host that it is for."""

    plain: Plain
    model: str
    family: Family
    dialect: Dialect
    endpoint: str

    @property
    def at_anthropic(self) -> bool:
        """It goes to a host that enforces the rules of Anthropic's own API."""
        return self.dialect.vendor_rules

    @functools.cached_property
    def turns(self) -> list[Turn]:
        """The messages."""
        return [
            Turn(f"messages[{index}]", message)
            for index, message in enumerate(objects(self.plain.get("messages")))
        ]

    @functools.cached_property
    def tools(self) -> list[Block]:
        """The tools, the server's own among them."""
        return [
            Block(f"tools[{index}]", tool)
            for index, tool in enumerate(objects(self.plain.get("tools")))
        ]

    @functools.cached_property
    def system(self) -> list[Block]:
        """What the system says."""
        return list(_blocks("system", self.plain.get("system")))

    @property
    def thinking(self) -> Plain:
        """How to think; empty if nothing is said of it."""
        return an_object(self.plain.get("thinking"))

    @property
    def config(self) -> Plain:
        """What the answer is to be."""
        return an_object(self.plain.get("output_config"))


def an_object(value: Any) -> Plain:
    """The object, or an empty one in place of anything else."""
    return value if isinstance(value, Mapping) else {}


def objects(value: Any) -> list[Plain]:
    """A list of objects; what else stands in it is empty, so that places stay what they are."""
    if not isinstance(value, (list, tuple)):
        return []
    return [each if isinstance(each, Mapping) else {} for each in value]


def _blocks(path: str, content: Any) -> Iterator[Block]:
    if isinstance(content, str):
        if content:
            yield Block(path, {"type": "text", "text": content})
    else:
        for place, plain in enumerate(objects(content)):
            yield Block(f"{path}[{place}]", plain)


def refused(
    path: str, message: str, rule: str, remedy: str = "", severity: str = "error"
) -> Violation:
    """A violation as this server tells of it."""
    return Violation(path, message, rule, severity, remedy, code=CODE)


def dotted(path: str) -> str:
    """A path as the server spells it: `messages.0.content.1`."""
    return re.sub(r"\[(\d+)\]", r".\1", path)
