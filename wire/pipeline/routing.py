"""Pure functions that decide which node follows, and which fan_in joins which fan_out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from wire.core.errors import PipelineError, one_line
from wire.pipeline.conditions import parse_condition, value_of
from wire.pipeline.graph import Graph, written

MAX_VISITS = 50
"""How often a run visits one node; more visits mean a loop without an end (P-72)."""
RUN_KEYS = {"outcome": "success", "preferred_label": ""}
"""Keys of the other dialect that conditions may read though no node sets them, and their values."""
_MAX_SHOWN_BYTES = 300
"""Of a value in an error."""


def following(
    graph: Graph, node_id: str, context: Mapping[str, Any], pairs: Mapping[str, str] | None = None
) -> str | None:
    """Return the id of the node after a completed one; `None` where the run ends.

    >>> from wire.pipeline.dot import parse
    >>> graph = parse('digraph { a -> b [label="mood == bad"]; a -> c }')
    >>> following(graph, "a", {"mood": "bad"}), following(graph, "a", {}), following(graph, "c", {})
    ('b', 'c', None)

    The first edge in the order of the file whose condition holds is taken. The edges of a fan_out
    are its branches, so its fan_in in `pairs` follows it.

    Raises `PipelineError` for an unknown node, and if there are edges and no condition holds; it
    shows the conditions, the answer of the node and the values that they compare.
    """
    if node_id not in graph.nodes:
        raise PipelineError(f"pipeline {graph.name!r} has no node {node_id!r}")
    node = graph.nodes[node_id]
    if node.type == "exit":
        return None
    if node.type == "fan_out":
        return (fan_ins(graph) if pairs is None else pairs)[node_id]
    edges = graph.outgoing(node_id)
    # Conditions of the other dialect test `outcome`; a node that failed never comes here.
    known = {**RUN_KEYS, **context}
    for edge in edges:
        if parse_condition(edge.condition).holds(known):
            return edge.target
    if edges:
        raise PipelineError(
            f"no outgoing edge condition matched for node {node_id!r}: "
            f"{'; '.join(f'{edge.target} needs {edge.condition}' for edge in edges)}; "
            f"{_values(node_id, [edge.condition for edge in edges], known)}"
        )
    return None


def _values(node_id: str, conditions: Iterable[str], context: Mapping[str, Any]) -> str:
    """List the answer of the node, if it has one, and the values that the conditions compare."""
    keys = dict.fromkeys(key for each in conditions for key in parse_condition(each).keys)
    if (answer := f"{node_id}_output") in context:
        keys = {answer: None, **keys}
    shown = (
        f"{key} is {one_line(written(value_of(key, context)), _MAX_SHOWN_BYTES)!r}"
        if value_of(key, context) is not None
        else f"{key} is not set"
        for key in keys
    )
    return ", ".join(shown)


def fan_ins(graph: Graph) -> dict[str, str]:
    """Map each fan_out to the fan_in that joins its branches; pairs nest as brackets do (P-37).

    Raises `PipelineError` for branches that reach no fan_in or several, and for a node that is
    reached at different depths.
    """
    return {node.id: _fan_in(graph, node.id) for node in graph.of_type("fan_out")}


def _fan_in(graph: Graph, fan_out: str) -> str:
    """Follow all edges and count the depth: each further fan_out opens a bracket, each fan_in
    closes one.
    """
    depths: dict[str, int] = {}
    joins: dict[str, None] = {}  # a dict, because a set has no order
    waiting = [(edge.target, 1) for edge in graph.outgoing(fan_out)]
    while waiting:
        id, depth = waiting.pop(0)
        if id not in graph.nodes:
            raise PipelineError(f"pipeline {graph.name!r} has no node {id!r}")
        kind = graph.nodes[id].type
        if kind == "fan_in" and depth == 1:
            joins[id] = None
            continue
        if id in depths:
            if depths[id] != depth:
                raise PipelineError(
                    f"node {fan_out!r}: paths of different depth lead to {id!r}: a fan_in is "
                    "missing, or there is one too many"
                )
            continue
        depths[id] = depth
        inner = depth + (kind == "fan_out") - (kind == "fan_in")
        waiting += [(edge.target, inner) for edge in graph.outgoing(id)]
    if len(joins) != 1:
        reached = f"reach several: {', '.join(joins)}" if joins else "reach none"
        raise PipelineError(
            f"node {fan_out!r}: expected one fan_in for its branches, but they {reached}"
        )
    if (fan_in := next(iter(joins))) in depths:
        raise PipelineError(
            f"node {fan_out!r}: paths of different depth lead to {fan_in!r}: a fan_in is "
            "missing, or there is one too many"
        )
    return fan_in
