"""The input of the rules: the request as plain JSON, with its messages and blocks, the model's
family, and the host's dialect.
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


class Turn:
    """A message, with its path in the request."""

    path: str
    role: str

    __slots__ = ("_types", "blocks", "is_empty", "path", "role")

    def __init__(self, path: str, message: Plain) -> None:
        content = message.get("content")
        self.path, self.role = path, str(message.get("role") or "")
        self.blocks: list[Block] = list(_blocks(f"{path}.content", content))
        self.is_empty: bool = content is None or content in ("", [])
        self._types = {block.type for block in self.blocks}

    def of(self, *types: str) -> list[Block]:
        """Its blocks of these types."""
        # Every rule calls this for every message, and most messages have no such block: without
        # the set a long conversation is slow to check.
        return (
            []
            if self._types.isdisjoint(types)
            else [block for block in self.blocks if block.type in types]
        )


@dataclass(frozen=True)
class RuleInput:
    """A request, with the model and the host that it is for."""

    plain: Plain
    model: str
    family: Family
    dialect: Dialect
    endpoint: str
    version: str = ""
    """Version of the API that the host is asked for; empty if it is unknown."""

    @property
    def at_anthropic(self) -> bool:
        """Whether the host enforces the rules of Anthropic's own API."""
        return self.dialect.vendor_rules

    @property
    def continues_thread(self) -> bool:
        """Whether the server holds the messages before these, with their tools and system text."""
        thread = self.plain.get("thread")
        return isinstance(thread, Mapping) and thread.get("type") == "continue"

    @functools.cached_property
    def turns(self) -> list[Turn]:
        """The messages."""
        return [
            Turn(f"messages[{index}]", message)
            for index, message in enumerate(as_objects(self.plain.get("messages")))
        ]

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

    @property
    def thinking(self) -> Plain:
        """The thinking settings; empty if the request has none."""
        return as_object(self.plain.get("thinking"))

    @property
    def config(self) -> Plain:
        """The output settings; empty if the request has none."""
        return as_object(self.plain.get("output_config"))


def as_object(value: Any) -> Plain:
    """The value if it is an object, otherwise an empty object."""
    return value if isinstance(value, Mapping) else {}


def as_objects(value: Any) -> list[Plain]:
    """The items of a list as objects; an item that is no object becomes empty.

    Such items are kept, so that the indices in paths are those of the request.
    """
    if not isinstance(value, (list, tuple)):
        return []
    return [each if isinstance(each, Mapping) else {} for each in value]


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
    """A violation with the error type of this server."""
    return Violation(path, message, rule, severity, remedy, code=ERROR_TYPE)


def server_path(path: str) -> str:
    """A path in the server's spelling.

    >>> server_path("messages[0].content[1]")
    'messages.0.content.1'
    """
    return re.sub(r"\[(\d+)\]", r".\1", path)
