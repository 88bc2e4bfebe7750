"""What a pipeline is: nodes with attributes, edges with conditions, each with its place in the
file.

Rules of this file:

- Nodes and edges stand in the order of the file, so that runs and messages are the same each time
  (P-17).
- What the two dialects say in different words has one name here: a type for each shape, one
  condition, one model.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from wire.errors import PipelineError

DEFAULT_TYPE = "codergen"
"""The type of a node whose type, shape and id name none (P-20)."""

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|[smhd]))+")
_STEP = re.compile(r"([0-9.]+)(ms|[smhd])")


@dataclasses.dataclass(frozen=True)
class Position:
    """Where something stands in its file; both counted from 1, columns in characters."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


FILE_START = Position(1, 1)
"""The place of what stands in no file."""


@dataclasses.dataclass(frozen=True)
class Duration:
    """A span of time as the file has it, and as seconds.

    >>> Duration("15m").seconds, str(Duration("250ms"))
    (900.0, '250ms')

    Raises `PipelineError` for a text that is none.
    """

    text: str

    def __post_init__(self) -> None:
        if not is_duration(self.text):
            raise PipelineError(
                f"{self.text!r} is no duration: a number and ms, s, m, h or d are wanted, "
                "as in 90s or 5m"
            )

    @property
    def seconds(self) -> float:
        """How many seconds that are."""
        return sum(float(number) * _SECONDS[unit] for number, unit in _STEP.findall(self.text))

    def __str__(self) -> str:
        return self.text


def is_duration(text: str) -> bool:
    """Whether `text` is a duration such as `90s`, `250ms` or `1h30m`."""
    return _DURATION.fullmatch(text) is not None


Value: TypeAlias = str | int | float | bool | Duration
"""What an attribute can be."""


def seconds(value: Value) -> float:
    """A time limit in seconds: a duration, bare or quoted, or a plain number of seconds.

    >>> seconds("1m30s"), seconds(Duration("2h")), seconds(5)
    (90.0, 7200.0, 5.0)

    Raises `PipelineError` for anything else, and for what is not more than nothing.
    """
    if isinstance(value, str):
        number = re.fullmatch(r"[0-9]+(\.[0-9]+)?", value.strip())
        value = float(value) if number else Duration(value.strip())
    if isinstance(value, bool):
        raise PipelineError(f"{written(value)} is no duration")
    found = value.seconds if isinstance(value, Duration) else float(value)
    if not 0 < found < float("inf"):
        raise PipelineError(f"a time limit is more than 0, not {written(value)}")
    return found


def count(value: Value) -> int:
    """A whole number from 1 up, bare or quoted.

    >>> count(3), count("12")
    (3, 12)

    Raises `PipelineError` for anything else.
    """
    text = written(value).strip()
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", text):
        raise PipelineError(f"expected a whole number from 1 up, not {text!r}")
    return int(text)


def written(value: object) -> str:
    """A value of an attribute or of the context as text, the way a template or a condition sees it.

    >>> written(True), written(5), written(Duration("5m")), written(None), written(["a"])
    ('true', '5', '5m', '', '["a"]')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else str(value)


@dataclasses.dataclass(frozen=True)
class Node:
    """One step of a pipeline.

    `declared` is false if only edges name it, which lint reports (P-15).
    """

    id: str
    attributes: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    position: Position = FILE_START
    declared: bool = True
    type: str = ""
    """The name of its `NodeType`. Shapes, aliases and ids count once `NodeTypes.resolve` was called.
    """

    def __post_init__(self) -> None:
        if not self.type:
            object.__setattr__(self, "type", self.text("type") or DEFAULT_TYPE)

    def get(self, name: str, default: Value | None = None) -> Value | None:
        """The attribute, or `default`."""
        return self.attributes.get(name, default)

    def text(self, name: str, default: str = "") -> str:
        """The attribute as text, or `default`."""
        return written(self.attributes[name]) if name in self.attributes else default

    @property
    def model(self) -> str:
        """What `model` or `llm_provider` and `llm_model` say, as `provider:model`; empty if they
        say nothing (P-25).

        >>> Node("plan", {"llm_provider": "gemini", "llm_model": "gemini-3-pro-preview"}).model
        'gemini:gemini-3-pro-preview'
        """
        provider, model = self.text("llm_provider").strip(), self.text("llm_model").strip()
        return self.text("model").strip() or (f"{provider}:{model}" if provider else model)


Dialect: TypeAlias = Literal["label", "condition"]


@dataclasses.dataclass(frozen=True)
class Edge:
    """A way from one node to another."""

    source: str
    target: str
    attributes: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    position: Position = FILE_START

    @property
    def dialect(self) -> Dialect:
        """The attribute that holds the condition; where there is a `condition`, the label is only a
        caption (P-61).
        """
        return "condition" if "condition" in self.attributes else "label"

    @property
    def condition(self) -> str:
        """When the edge is taken, for `parse_condition`; empty if always (P-60).

        >>> Edge("a", "b", {"label": "ok == 'yes'"}).condition, Edge("a", "b", {"label": "_"}).condition
        ("ok == 'yes'", '')
        """
        text = written(self.attributes.get(self.dialect, "")).strip()
        return "" if text == "_" else text

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclasses.dataclass(frozen=True)
class Graph:
    """A pipeline as it was read; nothing in it was checked by lint yet."""

    name: str
    attributes: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    nodes: Mapping[str, Node] = dataclasses.field(default_factory=dict)
    edges: tuple[Edge, ...] = ()

    @functools.cached_property
    def _outgoing(self) -> dict[str, tuple[Edge, ...]]:
        return _grouped((edge.source, edge) for edge in self.edges)

    @functools.cached_property
    def _incoming(self) -> dict[str, tuple[Edge, ...]]:
        return _grouped((edge.target, edge) for edge in self.edges)

    def outgoing(self, id: str) -> tuple[Edge, ...]:
        """The edges from that node, in the order of the file."""
        return self._outgoing.get(id, ())

    def incoming(self, id: str) -> tuple[Edge, ...]:
        """The edges to that node, in the order of the file."""
        return self._incoming.get(id, ())

    def of_type(self, type: str) -> tuple[Node, ...]:
        """All nodes of that type, in the order of the file."""
        return tuple(node for node in self.nodes.values() if node.type == type)

    @property
    def start(self) -> Node:
        """Where it begins. Raises `PipelineError` if there is not exactly one such node."""
        return self._only("start")

    @property
    def exit(self) -> Node:
        """Where it ends. Raises `PipelineError` if there is not exactly one such node."""
        return self._only("exit")

    def _only(self, type: str) -> Node:
        found = self.of_type(type)
        if len(found) != 1:
            raise PipelineError(not_one(type, len(found)))
        return found[0]


def not_one(type: str, count: int) -> str:
    """What is told of a pipeline that has not exactly one node of that type."""
    return (
        f"pipeline has {count} {type} nodes; exactly one required"
        if count
        else f"pipeline must have exactly one {type} node"
    )


def _grouped(pairs: Iterable[tuple[str, Edge]]) -> dict[str, tuple[Edge, ...]]:
    groups: dict[str, list[Edge]] = {}
    for id, edge in pairs:
        groups.setdefault(id, []).append(edge)
    return {id: tuple(group) for id, group in groups.items()}
