"""Where a run goes next: which edge is taken, and which fan_in ends the branches of which fan_out.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wire.errors import PipelineError
from wire.pipeline.conditions import parse_condition
from wire.pipeline.graph import Graph

MOST_VISITS = 50
"""How often a node is run at most: more is a circle that nobody leaves (P-72)."""


def following(
    graph: Graph, node_id: str, context: Mapping[str, Any], pairs: Mapping[str, str] | None = None
) -> str | None:
    """The node after a completed one; `None` where the run ends.

    >>> from wire.pipeline.dot import parse
    >>> graph = parse('digraph { a -> b [label="mood == bad"]; a -> c }')
    >>> following(graph, "a", {"mood": "bad"}), following(graph, "a", {}), following(graph, "c", {})
    ('b', 'c', None)

    Edges are tried in the order of the file, and the first whose condition holds is taken. After a
    fan_out comes the fan_in of `pairs`, since its edges are its branches. Raises `PipelineError` if
    there are edges and none can be taken, and for a node that is not there.
    """
    if node_id not in graph.nodes:
        raise PipelineError(f"there is no node {node_id!r} in pipeline {graph.name!r}")
    node = graph.nodes[node_id]
    if node.type == "exit":
        return None
    if node.type == "fan_out":
        return (fan_ins(graph) if pairs is None else pairs)[node_id]
    edges = graph.outgoing(node_id)
    # A completed node has not failed: what the other dialect asks of `outcome` is known.
    known = {"outcome": "success", **context}
    for edge in edges:
        if parse_condition(edge.condition).holds(known):
            return edge.target
    if edges:
        raise PipelineError(f"no outgoing edge condition matched for node {node_id!r}")
    return None


def fan_ins(graph: Graph) -> dict[str, str]:
    """Each fan_out -> the fan_in at which its branches meet, paired as brackets are (P-37).

    Raises `PipelineError` for branches that meet nowhere, at several nodes, or with one fan_in at
    different depths.
    """
    return {node.id: _fan_in(graph, node.id) for node in graph.of_type("fan_out")}


def _fan_in(graph: Graph, fan_out: str) -> str:
    """Walk along all edges; every further fan_out is a bracket that opens, every fan_in one that
    closes.
    """
    depths: dict[str, int] = {}
    met: dict[str, None] = {}  # in the order found
    waiting = [(edge.target, 1) for edge in graph.outgoing(fan_out)]
    while waiting:
        id, depth = waiting.pop(0)
        if id not in graph.nodes:
            raise PipelineError(f"there is no node {id!r} in pipeline {graph.name!r}")
        kind = graph.nodes[id].type
        if kind == "fan_in" and depth == 1:
            met[id] = None
            continue
        if id in depths:
            if depths[id] != depth:
                raise PipelineError(
                    f"node {fan_out!r}: ways of different depth lead to {id!r}: a fan_in "
                    "is missing, or is one too many"
                )
            continue
        depths[id] = depth
        inner = depth + (kind == "fan_out") - (kind == "fan_in")
        waiting += [(edge.target, inner) for edge in graph.outgoing(id)]
    if len(met) != 1:
        found = (
            f"its branches meet at several: {', '.join(met)}" if met else "its branches reach none"
        )
        raise PipelineError(f"node {fan_out!r}: one fan_in of its own is wanted, and {found}")
    if (both := next(iter(met))) in depths:
        raise PipelineError(
            f"node {fan_out!r}: ways of different depth lead to {both!r}: a fan_in is "
            "missing, or is one too many"
        )
    return both
