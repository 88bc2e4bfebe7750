"""The types of pipeline nodes, one row each.

Lint, the engine, `attractor show` and `attractor types` read these rows, so that a new type is one
`NodeType` and its handler. The types `start`, `exit`, `fan_out` and `fan_in` also shape the run:
`routing.py` names them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias, get_args

from wire.core.arguments import checked_arguments
from wire.core.errors import PipelineError
from wire.core.secret import quoted
from wire.pipeline import handlers
from wire.pipeline.graph import Graph, Node, Value, count, seconds
from wire.pipeline.handlers import Handler

AttributeKind: TypeAlias = Literal["text", "template", "count", "seconds"]
"""`template`: text in which `{{.key}}` is replaced. `count`: a whole number from 1 up. `seconds`: a
duration such as `90s`, or a number of seconds."""

LintRule: TypeAlias = Literal["path_to_exit", "edge_order", "fan_in", "prompt_on_llm_nodes"]
"""The rules of lint that apply to some types only."""


@dataclasses.dataclass(frozen=True)
class Attribute:
    """An attribute that nodes of a type may have."""

    name: str
    """Name of the attribute in the file."""
    kind: AttributeKind = "text"
    """The kind of its value, such as `text`, `count`, `seconds` or `template`."""
    doc: str = ""
    """Its meaning, as one line for `attractor types`."""
    _: dataclasses.KW_ONLY
    default: Value = ""
    """The value of an attribute that is missing or blank; `{id}` stands for the node's id."""
    required: bool = False
    """Whether lint reports a node without it."""
    fallback: str = ""
    """The name of a template attribute that is used where this one is blank."""

    def problem(self, node: Node) -> str:
        """Return the problem of the attribute of this node; empty if there is none."""
        if self.kind in ("count", "seconds") and self.name in node.attributes:
            try:
                (count if self.kind == "count" else seconds)(node.attributes[self.name])
            except PipelineError as problem:
                return f"{self.name}: {problem.message}"
        return ""


EDGE_ATTRIBUTES = (
    Attribute("label", doc="the condition; beside a `condition` attribute, a caption"),
    Attribute("condition", doc="the condition in the other dialect"),
)
"""The attributes of edges that the engine reads."""

GRAPH_ATTRIBUTES = (Attribute("goal", doc="the text that `$goal` stands for in templates"),)
"""The attributes of a pipeline that the engine reads."""

TIMEOUT = Attribute("timeout", "seconds", "cancels the node, and fails it, after this time")
"""The attribute that nodes of every type may have."""


@dataclasses.dataclass(frozen=True)
class NodeType:
    """One type of node: how a file names it, what runs it, what lint checks.

    >>> shout = NodeType(
    ...     "shout",
    ...     lambda visit: {"loud": visit.text("text").upper()},
    ...     "stores a text in capitals",
    ...     attributes=(Attribute("text", "template", required=True),),
    ...     sets=("loud",),
    ... )
    >>> shout.keys_set_by(Node("n", {"type": "shout", "text": "hi"}))
    ('loud',)
    """

    name: str
    """The value of the attribute `type` that means this type."""
    handler: Handler | None = None
    """Runs the node. `None`: lint refuses such nodes until a handler is registered."""
    doc: str = ""
    """The action of a node of this type, as one line for `attractor types`."""
    _: dataclasses.KW_ONLY
    aliases: tuple[str, ...] = ()
    """Other values of the attribute `type` that mean this type."""
    shapes: tuple[str, ...] = ()
    """Shapes of nodes that have no attribute `type`. `attractor show` draws the first (P-20)."""
    ids: tuple[str, ...] = ()
    """Ids of nodes without type and shape that mean this type, if no other node has it (P-21)."""
    attributes: tuple[Attribute, ...] = ()
    """The attributes that such a node may have."""
    sets: tuple[str, ...] | None = None
    """The keys of the context that it sets: `{id}` is the node's id, `{key}` its attribute `key`.

    `None` means not known: lint then reports no missing key in the nodes after it.
    """
    needs_model: bool = False
    """Whether its nodes use a model: the engine connects it, lint checks its name."""
    rules: tuple[LintRule, ...] = ("path_to_exit", "edge_order")
    """The rules of lint that apply to its nodes, in addition to those for all types."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise PipelineError(
                f"node type: name: expected a non-empty text, not {quoted(self.name)}"
            )
        if self.handler is not None and not callable(self.handler):
            raise PipelineError(
                f"node type {self.name!r}: handler: expected a function, "
                f"not {type(self.handler).__name__}"
            )
        for field in ("aliases", "shapes", "ids", "attributes", "rules"):
            if not isinstance(getattr(self, field), tuple):
                raise PipelineError(f"node type {quoted(self.name)}: {field}: expected a tuple")
        if unknown := [rule for rule in self.rules if rule not in get_args(LintRule)]:
            raise PipelineError(
                f"node type {quoted(self.name)}: rules: unknown rule {quoted(unknown[0])}"
            )

    def with_defaults(self, node: Node) -> Node:
        """Return the node, with the defaults of its type in place of blank attributes."""
        if not isinstance(node, Node):
            raise PipelineError(f"node: expected a Node, not {type(node).__name__}")
        missing = {
            each.name: _filled(each.default, node)
            for each in self.attributes
            if each.default != "" and not node.text(each.name).strip()
        }
        attributes = {**node.attributes, **missing}
        return dataclasses.replace(node, attributes=attributes) if missing else node

    def keys_set_by(self, node: Node) -> tuple[str, ...]:
        """Return the keys of the context that the node sets, as far as they are known."""
        node = self.with_defaults(node)
        return tuple(key for each in self.sets or () if (key := str(_filled(each, node)).strip()))

    def templates_of(self, node: Node) -> Iterator[str]:
        """Yield the texts of the node that are templates."""
        for each in self.attributes:
            if each.kind == "template":
                text = node.text(each.name)
                yield text if text.strip() or not each.fallback else node.text(each.fallback)


_FIELD = re.compile(r"\{(\w+)\}")


def _filled(pattern: Value, node: Node) -> Value:
    if not isinstance(pattern, str):
        return pattern
    return _FIELD.sub(
        lambda field: node.id if field[1] == "id" else node.text(field[1]),
        pattern,
    )


class NodeTypes(Mapping[str, NodeType]):
    """The types of nodes that a pipeline may have, by name: the built-in ones, and your own.

    >>> types = NodeTypes()
    >>> types.register("shout", lambda visit: {"loud": visit.text("text").upper()})
    >>> "shout" in types, "set" in types
    (True, True)

    A handler stores nothing between two visits, since branches run at the same time.
    """

    @checked_arguments(PipelineError, before=True)
    def __init__(self, rows: Iterable[NodeType] | None = None) -> None:
        self._rows: dict[str, NodeType] = {}
        self._names: dict[str, str] = {}
        self._shapes: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        for row in _BUILT_IN if rows is None else rows:
            self.add(row)

    @checked_arguments(PipelineError, before=True)
    def add(self, row: NodeType) -> None:
        """Add a type, in place of the one with the same name.

        Raises `PipelineError` if another type has one of its names, shapes or ids.
        """
        tables = {
            "name": (self._names, (row.name, *row.aliases)),
            "shape": (self._shapes, row.shapes),
            "id": (self._ids, row.ids),
        }
        for kind, (table, keys) in tables.items():
            for key in keys:
                if table.get(key, row.name) != row.name:
                    raise PipelineError(
                        f"node type {row.name!r}: {kind} {key!r} belongs to {table[key]!r}"
                    )
        for table, keys in tables.values():
            for key in [key for key, name in table.items() if name == row.name]:
                del table[key]
            table.update(dict.fromkeys(keys, row.name))
        self._rows[row.name] = row

    @checked_arguments(PipelineError)
    def register(self, type: str, handler: Handler) -> None:
        """Let `handler` run the nodes of a type; a new type is added.

        A type that exists keeps its row, but the engine connects no model for it: the handler has
        to connect its own. Raises `PipelineError` for an empty name and for a handler that is not
        callable.
        """
        if not callable(handler):
            raise PipelineError(
                f"node type {type!r}: handler: expected a function, not {_class_name(handler)}"
            )
        row = NodeType(type, handler)
        if type in self._rows:
            row = dataclasses.replace(self._rows[type], handler=handler, needs_model=False)
        self.add(row)

    def __getitem__(self, type: str) -> NodeType:
        return self._rows[type]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def runnable(self) -> tuple[str, ...]:
        """The names of the types that have a handler."""
        return tuple(name for name, row in self._rows.items() if row.handler is not None)

    @checked_arguments(PipelineError, before=True)
    def resolve(self, graph: Graph) -> Graph:
        """Return the graph with the type of each node: by its `type`, else shape, else id (P-20).

        A node with the id `start` is the start only if no other node is (P-21, P-22).
        """
        nodes = {id: self._resolved(node) for id, node in graph.nodes.items()}
        present = {node.type for node in nodes.values()}
        for id, type in self._ids.items():
            node = nodes.get(id)
            if (
                node is not None
                and type not in present
                and "type" not in node.attributes
                and node.text("shape", "box") == "box"
            ):
                nodes[id] = dataclasses.replace(node, type=type)
        return dataclasses.replace(graph, nodes=nodes)

    def _resolved(self, node: Node) -> Node:
        named = node.text("type")
        type = (
            self._names.get(named, named)
            if named
            else self._shapes.get(node.text("shape"), node.type)
        )
        return node if type == node.type else dataclasses.replace(node, type=type)


def _class_name(value: object) -> str:
    return type(value).__name__


_MODEL = (
    Attribute("model", doc="the model as `provider:model`"),
    Attribute("llm_provider", doc="the provider, where there is no `model`"),
    Attribute("llm_model", doc="the model of `llm_provider`"),
)

_BUILT_IN = (
    NodeType(
        "start",
        handlers.start,
        "begins the run; stores the seed and the time",
        shapes=("Mdiamond",),
        ids=("start", "Start"),
        attributes=(Attribute("seed", doc="the seed of a run that is given none"),),
        sets=("start_time",),
    ),
    NodeType(
        "exit",
        handlers.exit,
        "ends the run; stores the time",
        shapes=("Msquare",),
        ids=("exit", "Exit", "end", "End"),
        sets=(),
        rules=("edge_order",),
    ),
    NodeType(
        "codergen",
        handlers.codergen,
        "lets an agent work on a prompt; stores its answer",
        shapes=("box",),
        attributes=(
            *_MODEL,
            Attribute("prompt", "template", "the prompt for the model", fallback="label"),
            Attribute("system_prompt", "template", "the system instruction"),
            Attribute("max_turns", "count", "maximum number of requests to the model", default=50),
        ),
        sets=("last_output", "{id}_output"),
        needs_model=True,
        rules=("path_to_exit", "edge_order", "prompt_on_llm_nodes"),
    ),
    NodeType(
        "wait.human",
        handlers.wait_human,
        "asks the user; stores the line that the user enters",
        shapes=("hexagon",),
        attributes=(
            Attribute("prompt", "template", "the question", fallback="label"),
            Attribute("options", "template", "the allowed answers, separated by commas"),
            Attribute("key", doc="the key of the answer", default="{id}_response"),
        ),
        sets=("{key}",),
    ),
    NodeType(
        "set",
        handlers.set_value,
        "stores a value",
        attributes=(
            Attribute("value", "template", "the value"),
            Attribute("key", doc="the key of the value", required=True),
        ),
        sets=("{key}",),
    ),
    NodeType(
        "fan_out",
        handlers.fan_out,
        "runs all its branches at the same time, each with a copy of the context",
        aliases=("parallel",),
        shapes=("component",),
        sets=(),
        rules=("path_to_exit", "fan_in"),
    ),
    NodeType(
        "fan_in",
        handlers.pass_through,
        "joins the branches of a fan_out; of values with one key, the last branch wins",
        aliases=("parallel.fan_in",),
        shapes=("tripleoctagon",),
        sets=(),
    ),
    NodeType(
        "conditional",
        handlers.pass_through,
        "does nothing; the conditions of its edges decide what follows",
        shapes=("diamond",),
        sets=(),
    ),
    # Shapes of the other dialect. Treating them as prompts for a model would change the meaning of
    # the file, so they have no handler unless you register one.
    NodeType("tool", shapes=("parallelogram",)),
    NodeType("stack.manager_loop", shapes=("house",)),
)

NODE_TYPES = NodeTypes()
"""The built-in types, which `parse` and `lint` use.

The whole program shares them, so add your own types to a `NodeTypes()` instead."""
