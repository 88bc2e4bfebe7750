"""A pipeline as values: nodes with attributes, and edges with conditions.

Nodes and edges keep the order of the file, so that runs and messages are the same each time (P-17).
The two dialects of pipelines write conditions and models in different attributes; `Edge.condition`
and `Node.model` read both.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from wire.core.errors import PipelineError
from wire.core.secret import quoted

DEFAULT_TYPE = "codergen"
"""The type of a node whose type, shape and id name none (P-20)."""

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|[smhd]))+")
_STEP = re.compile(r"([0-9.]+)(ms|[smhd])")


@dataclasses.dataclass(frozen=True)
class Position:
    """A position in a file. Lines and columns start at 1; a column is one character."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


FILE_START = Position(1, 1)
"""The position of what was not read from a file."""


@dataclasses.dataclass(frozen=True)
class Duration:
    """A duration: its text in the file, and its seconds.

    >>> Duration("15m").seconds, str(Duration("250ms"))
    (900.0, '250ms')

    Raises `PipelineError` for a text that is not a duration.
    """

    text: str

    def __post_init__(self) -> None:
        if not is_duration(self.text):
            raise PipelineError(
                f"{self.text!r} is not a duration: expected a number and ms, s, m, h or d, "
                "as in 90s or 5m"
            )

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return sum(float(number) * _SECONDS[unit] for number, unit in _STEP.findall(self.text))

    def __str__(self) -> str:
        return self.text


def is_duration(text: str) -> bool:
    """Return whether `text` is a duration such as `90s`, `250ms` or `1h30m`."""
    return _DURATION.fullmatch(text) is not None


Value: TypeAlias = str | int | float | bool | Duration
"""A value of an attribute."""


def seconds(value: Value) -> float:
    """Parse a time limit in seconds. It is given as a duration or a number, bare or quoted.

    >>> seconds("1m30s"), seconds(Duration("2h")), seconds(5)
    (90.0, 7200.0, 5.0)

    Raises `PipelineError` for anything else, and for a limit that is not more than 0.
    """
    if isinstance(value, str):
        number = re.fullmatch(r"[0-9]+(\.[0-9]+)?", value.strip())
        value = float(value) if number else Duration(value.strip())
    if isinstance(value, bool):
        raise PipelineError(f"{written(value)} is not a duration")
    limit = value.seconds if isinstance(value, Duration) else float(value)
    if not 0 < limit < float("inf"):
        raise PipelineError(f"expected a time limit of more than 0, not {written(value)}")
    return limit


def count(value: Value) -> int:
    """Parse a whole number from 1 up, bare or quoted.

    >>> count(3), count("12")
    (3, 12)

    Raises `PipelineError` for anything else.
    """
    text = written(value).strip()
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", text):
        raise PipelineError(f"expected a whole number from 1 up, not {quoted(text)}")
    return int(text)


def written(value: object) -> str:
    """Write a value of an attribute or of the context as text, as templates and conditions use it.

    >>> written(True), written(5), written(Duration("5m")), written(None), written(["a"])
    ('true', '5', '5m', '', '["a"]')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else str(value)


def _no_text(name: str, value: object) -> PipelineError:
    return PipelineError(f"{name}: expected a str, not {type(value).__name__}")


@dataclasses.dataclass(frozen=True)
class Node:
    """One step of a pipeline.

    `declared` is false for a node that only edges name; lint reports it (P-15).
    """

    id: str
    """Id of the node, unique in its pipeline."""
    attributes: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    """Name of an attribute to its value."""
    position: Position = FILE_START
    """Where the node stands in the file."""
    declared: bool = True
    """False for a node that only edges name."""
    type: str = ""
    """The name of its `NodeType`. `NodeTypes.resolve` sets it from alias, shape or id."""

    def __post_init__(self) -> None:
        if not isinstance(self.attributes, Mapping):
            raise PipelineError(
                f"node.attributes: expected a mapping, not {type(self.attributes).__name__}"
            )
        if not isinstance(self.id, str):
            raise _no_text("node.id", self.id)
        if not isinstance(self.type, str):
            raise _no_text("node.type", self.type)
        if not self.type:
            object.__setattr__(self, "type", self.text("type") or DEFAULT_TYPE)

    def get(self, name: str, default: Value | None = None) -> Value | None:
        """Return the attribute, or `default`."""
        if not isinstance(name, str):
            raise _no_text("name", name)
        return self.attributes.get(name, default)

    def text(self, name: str, default: str = "") -> str:
        """Return the attribute as text, or `default`."""
        if not isinstance(name, str):
            raise _no_text("name", name)
        return written(self.attributes[name]) if name in self.attributes else default

    @property
    def model(self) -> str:
        """The model as `provider:model`, empty if the node names none (P-25).

        It is given by `model`, or by `llm_provider` and `llm_model`.

        >>> Node("plan", {"llm_provider": "gemini", "llm_model": "gemini-3.8-flash"}).model
        'gemini:gemini-3.8-flash'
        """
        provider, model = self.text("llm_provider").strip(), self.text("llm_model").strip()
        return self.text("model").strip() or (f"{provider}:{model}" if provider else model)


Dialect: TypeAlias = Literal["label", "condition"]


@dataclasses.dataclass(frozen=True)
class Edge:
    """An edge from one node to another."""

    source: str
    """Id of the node where the edge begins."""
    target: str
    """Id of the node where the edge ends."""
    attributes: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    """Name of an attribute to its value."""
    position: Position = FILE_START
    """Where the edge stands in the file."""

    @property
    def dialect(self) -> Dialect:
        """The attribute that holds the condition: `condition` if there is one, else `label` (P-61).

        The label of an edge with a `condition` is a caption only.
        """
        return "condition" if "condition" in self.attributes else "label"

    @property
    def condition(self) -> str:
        """The condition of the edge, for `parse_condition`; empty if there is none (P-60).

        >>> [Edge("a", "b", {"label": label}).condition for label in ("ok == 'yes'", "_")]
        ["ok == 'yes'", '']
        """
        text = written(self.attributes.get(self.dialect, "")).strip()
        return "" if text == "_" else text

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclasses.dataclass(frozen=True)
class Graph:
    """A pipeline as it was parsed. Lint has not checked it yet."""

    name: str
    """Name of the pipeline."""
    attributes: Mapping[str, Value] = dataclasses.field(default_factory=dict)
    """Name of an attribute of the pipeline to its value."""
    nodes: Mapping[str, Node] = dataclasses.field(default_factory=dict)
    """Id of a node to the node, in the order of the file."""
    edges: tuple[Edge, ...] = ()
    """The edges, in the order of the file."""

    @functools.cached_property
    def _outgoing(self) -> dict[str, tuple[Edge, ...]]:
        return _grouped((edge.source, edge) for edge in self.edges)

    @functools.cached_property
    def _incoming(self) -> dict[str, tuple[Edge, ...]]:
        return _grouped((edge.target, edge) for edge in self.edges)

    def outgoing(self, id: str) -> tuple[Edge, ...]:
        """Return the edges from that node, in the order of the file."""
        if not isinstance(id, str):
            raise _no_text("id", id)
        return self._outgoing.get(id, ())

    def incoming(self, id: str) -> tuple[Edge, ...]:
        """Return the edges to that node, in the order of the file."""
        if not isinstance(id, str):
            raise _no_text("id", id)
        return self._incoming.get(id, ())

    def of_type(self, type: str) -> tuple[Node, ...]:
        """Return all nodes of that type, in the order of the file."""
        if not isinstance(type, str):
            raise _no_text("type", type)
        return tuple(node for node in self.nodes.values() if node.type == type)

    @property
    def start(self) -> Node:
        """The start node. Raises `PipelineError` if there is not exactly one."""
        return self._only("start")

    @property
    def exit(self) -> Node:
        """The exit node. Raises `PipelineError` if there is not exactly one."""
        return self._only("exit")

    def _only(self, type: str) -> Node:
        nodes = self.of_type(type)
        if len(nodes) != 1:
            raise PipelineError(not_one(type, len(nodes)))
        return nodes[0]


def not_one(type: str, count: int) -> str:
    """Return the message for a pipeline that does not have exactly one node of that type."""
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
