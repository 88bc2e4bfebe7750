"""Lint: checks a pipeline before it runs, and reports all findings at once.

It needs no key, no network and no client. A rule is a function from a graph to findings; `_RULES`
lists them. A node that only edges name is reported once, for its edges.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal, TypeAlias

from wire.catalogue.facts import facts
from wire.core.arguments import checked_arguments, suggestion
from wire.core.bounds import BOUNDS
from wire.core.errors import ConfigurationError, PipelineError
from wire.pipeline.conditions import parse_condition
from wire.pipeline.graph import FILE_START, Edge, Graph, Node, Position, not_one
from wire.pipeline.node_types import NODE_TYPES, TIMEOUT, LintRule, NodeType, NodeTypes
from wire.pipeline.routing import RUN_KEYS, fan_ins
from wire.pipeline.templates import keys_of
from wire.wires.providers import FACTORIES, PROVIDERS, model_of, nearest_provider

Severity: TypeAlias = Literal["error", "warning"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Finding:
    """One problem of a pipeline. An `error` prevents the run, a `warning` does not.

    `node_id` or `edge`, the ids of its two ends, is the subject; both are empty if the subject is
    the pipeline itself. `fix` proposes a change.
    """

    rule: str
    """Name of the rule."""
    severity: Severity
    """`error` prevents the run, `warning` does not."""
    message: str
    """The problem, as one sentence."""
    node_id: str = ""
    """Id of the node; empty if the subject is not a node."""
    edge: tuple[str, str] | None = None
    """The ids of the two ends of the edge; `None` if the subject is not an edge."""
    position: Position = FILE_START
    """Where the subject stands in the file."""
    fix: str = ""
    """A change that removes the problem; empty if no single change removes it."""

    def __str__(self) -> str:
        about = (
            f"edge {' -> '.join(self.edge)}: "
            if self.edge
            else f"node {self.node_id!r}: "
            if self.node_id
            else ""
        )
        return (
            f"{self.position}: {self.severity}: {about}{self.message} "
            f"[{self.rule}]{f' ({self.fix})' if self.fix else ''}"
        )


@checked_arguments(PipelineError, before=True)
def lint(
    graph: Graph,
    types: NodeTypes = NODE_TYPES,
    keys: Collection[str] = (),
    model: str = "",
    date: str = "",
) -> list[Finding]:
    """List all problems of a pipeline in the order of the file; an empty list if it has none.

    >>> from wire.pipeline.dot import parse
    >>> graph = parse("digraph g { start; greet [type=set]; exit; start -> greet -> exit }")
    >>> for finding in lint(graph):
    ...     print(finding.severity, finding.node_id, finding.message, sep=": ")
    error: greet: missing required attribute 'key' for node type 'set'

    `types` are the types that nodes may have. `keys` are the keys that the context has before the
    run, besides the seed. `model` is the model of nodes that name none. `date` is the day on which
    the pipeline runs, such as `2026-12-01`: models that end within 60 days are warnings.
    """
    graph = types.resolve(graph)
    subject = _Subject(graph, types, frozenset(keys), model, date)
    findings = [finding for rule in _RULES for finding in rule(subject)]
    if not any(finding.severity == "error" for finding in findings):
        findings += _nesting(graph)
    return sorted(
        findings,
        key=lambda each: (
            each.position.line,
            each.position.column,
            each.severity,
            each.rule,
            each.node_id,
            each.message,
        ),
    )


@checked_arguments(PipelineError, before=True)
def summary(graph: Graph) -> str:
    """Return the line that reports a pipeline without errors.

    >>> from wire.pipeline.dot import parse
    >>> summary(parse("digraph hello { start -> done }"))
    'OK: pipeline "hello" is valid (2 nodes, 1 edges)'
    """
    return (
        f'OK: pipeline "{graph.name}" is valid ({len(graph.nodes)} nodes, {len(graph.edges)} edges)'
    )


@dataclasses.dataclass(frozen=True)
class _Subject:
    graph: Graph
    types: NodeTypes
    keys: frozenset[str]
    model: str
    date: str

    @property
    def declared(self) -> list[Node]:
        return [node for node in self.graph.nodes.values() if node.declared]

    @functools.cached_property
    def rows(self) -> dict[str, NodeType]:
        """Id of a node -> the row of its type. A type without one gets the rules of all nodes."""
        return {
            id: self.types.get(node.type) or NodeType(node.type)
            for id, node in self.graph.nodes.items()
        }

    def under(self, rule: LintRule) -> list[Node]:
        """Return the nodes for which the rows of their types name a rule."""
        return [node for id, node in self.graph.nodes.items() if rule in self.rows[id].rules]


def _of_node(rule: str, severity: Severity, node: Node, message: str, fix: str = "") -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        message=message,
        node_id=node.id,
        position=node.position,
        fix=fix,
    )


def _of_edge(rule: str, severity: Severity, edge: Edge, message: str, fix: str = "") -> Finding:
    return Finding(
        rule=rule,
        severity=severity,
        message=message,
        edge=(edge.source, edge.target),
        position=edge.position,
        fix=fix,
    )


def _reached(first: Iterable[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    waiting, reached = list(first), set[str]()
    while waiting:
        id = waiting.pop()
        if id not in reached:
            reached.add(id)
            waiting += following(id)
    return reached


def _after(graph: Graph, first: Iterable[str]) -> set[str]:
    return _reached(first, lambda id: [edge.target for edge in graph.outgoing(id)])


def _before(graph: Graph, last: Iterable[str]) -> set[str]:
    return _reached(last, lambda id: [edge.source for edge in graph.incoming(id)])


def _ids(nodes: Iterable[Node]) -> list[str]:
    return [node.id for node in nodes]


# --- the graph ------------------------------------------------------------------------------------


def _one_start_and_one_exit(subject: _Subject) -> Iterator[Finding]:
    for type, rule in (("start", "start_node"), ("exit", "terminal_node")):
        nodes = subject.graph.of_type(type)
        if len(nodes) != 1:
            fix = f"they are {', '.join(_ids(nodes))}" if nodes else f"give one node type={type}"
            position = nodes[1].position if nodes else FILE_START
            yield Finding(
                rule=rule,
                severity="error",
                message=not_one(type, len(nodes)),
                position=position,
                fix=fix,
            )


def _known_ends(subject: _Subject) -> Iterator[Finding]:
    known = set(_ids(subject.declared))
    for edge in subject.graph.edges:
        for end, id in (("source", edge.source), ("target", edge.target)):
            if id not in known:
                fix = suggestion(id, known) or f"declare it: {id} [type=...]"
                yield _of_edge(
                    "edge_target_exists",
                    "error",
                    edge,
                    f"edge references unknown {end} node {id!r}",
                    fix,
                )


def _reachable(subject: _Subject) -> Iterator[Finding]:
    starts = _ids(subject.graph.of_type("start"))
    reached = _after(subject.graph, starts)
    for node in subject.declared if starts else ():
        if node.id not in reached:
            yield _of_node(
                "reachability",
                "error",
                node,
                "node is not reachable from start",
                "give it an incoming edge, or remove it",
            )


def _ways_out(subject: _Subject) -> Iterator[Finding]:
    graph = subject.graph
    exits = _ids(graph.of_type("exit"))
    leading_out = _before(graph, exits)
    for node in subject.under("path_to_exit"):
        if not node.declared:
            continue
        if not graph.outgoing(node.id):
            yield _of_node(
                "path_to_exit", "warning", node, "node has no outgoing edge: the run ends there"
            )
        elif exits and node.id not in leading_out:
            yield _of_node("path_to_exit", "warning", node, "no path leads from this node to exit")


def _ends_of_the_run(subject: _Subject) -> Iterator[Finding]:
    graph = subject.graph
    for edge in graph.edges:
        target, source = graph.nodes.get(edge.target), graph.nodes.get(edge.source)
        if target is not None and target.type == "start":
            yield _of_edge(
                "start_no_incoming", "error", edge, "the start node has an incoming edge"
            )
        if source is not None and source.type == "exit":
            yield _of_edge("exit_no_outgoing", "error", edge, "the exit node has an outgoing edge")


def _fan_ins_reached(subject: _Subject) -> Iterator[Finding]:
    graph = subject.graph
    nodes = subject.under("fan_in")
    meeting = _meeting(graph) if nodes else set()
    for node in nodes:
        lost = [edge for edge in graph.outgoing(node.id) if edge.target not in meeting]
        if len(lost) == len(graph.outgoing(node.id)):
            yield _of_node(
                "fan_in",
                "error",
                node,
                "fan_out node has no reachable fan_in node",
                "let its branches meet at a type=fan_in",
            )
            continue
        for edge in lost:
            yield _of_edge(
                "fan_in",
                "error",
                edge,
                "this branch has no reachable fan_in node",
                "let it meet the others at their fan_in",
            )


def _meeting(graph: Graph) -> set[str]:
    """Return the nodes from which a branch reaches the fan_in of its own fan_out (P-37).

    Each further fan_out on the way is paired with the next fan_in. The walk begins at the fan_ins
    and goes backwards, so that it is one for all branches; it counts the pairs around a node.
    """
    deepest = min(len(graph.of_type("fan_out")), BOUNDS.file_depth)
    opened = {node.id: 1 for node in graph.of_type("fan_out")}
    opened |= {node.id: -1 for node in graph.of_type("fan_in")}
    waiting = [(node.id, 1) for node in graph.of_type("fan_in")]
    reached = set(waiting)
    while waiting:
        id, depth = waiting.pop()
        for edge in graph.incoming(id):
            before = edge.source, depth - opened.get(edge.source, 0)
            if 1 <= before[1] <= deepest and before not in reached:
                reached.add(before)
                waiting.append(before)
    return {id for id, depth in reached if depth == 1}


def _nesting(graph: Graph) -> Iterator[Finding]:
    """Yield the pairs of fan_out and fan_in that the engine would refuse.

    Checked only if no other rule found an error, because its message would repeat theirs.
    """
    try:
        fan_ins(graph)
    except PipelineError as problem:
        yield Finding(rule="fan_in", severity="error", message=problem.message)


# --- edges ----------------------------------------------------------------------------------------


def _conditions(subject: _Subject) -> Iterator[Finding]:
    for edge in subject.graph.edges:
        try:
            parse_condition(edge.condition)
        except PipelineError as problem:
            fix = (
                "a label is a condition; to use it as a caption, add the attribute condition"
                if edge.dialect == "label"
                else ""
            )
            yield _of_edge("condition_syntax", "error", edge, problem.message, fix)


def _order_of_edges(subject: _Subject) -> Iterator[Finding]:
    for node in subject.under("edge_order"):
        always: Edge | None = None
        for edge in subject.graph.outgoing(node.id):
            if always is not None:
                yield _of_edge(
                    "edge_order",
                    "warning",
                    edge,
                    f"never taken: {always} comes first and has no condition",
                )
            elif not edge.condition:
                always = edge


# --- nodes ----------------------------------------------------------------------------------------


def _known_types(subject: _Subject) -> Iterator[Finding]:
    for node in subject.declared:
        if subject.rows[node.id].handler is None:
            by_shape = "" if "type" in node.attributes else f", by its shape {node.text('shape')}"
            yield _of_node(
                "type_known",
                "error",
                node,
                f"unknown type {node.type!r}{by_shape}",
                suggestion(node.type, subject.types.runnable),
            )


def _attributes(subject: _Subject) -> Iterator[Finding]:
    for node in subject.declared:
        for each in (*subject.rows[node.id].attributes, TIMEOUT):
            if each.required and not node.text(each.name).strip():
                message = f"missing required attribute {each.name!r} for node type {node.type!r}"
                yield _of_node("required_attribute", "error", node, message)
            if problem := each.problem(node):
                yield _of_node("attribute_value", "error", node, problem)


def _models(subject: _Subject) -> Iterator[Finding]:
    for node in subject.graph.nodes.values():
        if not subject.rows[node.id].needs_model or not node.declared:
            continue
        if not node.model:
            if not subject.model:
                message = "node names no model: it runs only with --model"
                fix = "give it a model, as in gemini:gemini-3.8-flash"
                yield _of_node("model_missing", "warning", node, message, fix)
            continue
        try:
            provider, name = model_of(node.model)
        except ConfigurationError as problem:
            yield _of_node(
                "model_name", "error", node, problem.message, "as in gemini:gemini-3.8-flash"
            )
            continue
        if subject.date and (notice := facts(name).notice(subject.date, provider)):
            yield _of_node("model_ends", "warning", node, notice)
        if provider not in PROVIDERS and provider.lower() not in FACTORIES:
            near = nearest_provider(provider, FACTORIES)
            yield _of_node(
                "provider_known",
                "warning",
                node,
                f"unknown provider {provider!r}",
                f"did you mean {near!r}?" if near else "",
            )


def _prompts(subject: _Subject) -> Iterator[Finding]:
    if "seed" in subject.keys or any(
        node.text("seed").strip() for node in subject.graph.of_type("start")
    ):
        return
    for node in subject.under("prompt_on_llm_nodes"):
        if node.declared and not node.text("prompt").strip() and not node.text("label").strip():
            yield _of_node(
                "prompt_on_llm_nodes",
                "warning",
                node,
                "node has no prompt: it runs only with a seed",
                "give it a prompt",
            )


def _templates(subject: _Subject) -> Iterator[Finding]:
    graph = subject.graph
    for node in subject.declared:
        used: list[str] = []
        for text in subject.rows[node.id].templates_of(node):
            try:
                used += keys_of(text)
            except PipelineError as problem:
                yield _of_node("template_syntax", "error", node, problem.message)
        known = _known_keys(subject, [edge.source for edge in graph.incoming(node.id)])
        for key in dict.fromkeys(used):
            if known is not None and key not in known:
                message = f"its template uses {key!r}, which no node before it sets"
                yield _of_node("template_key", "warning", node, message, _fix(key, known))


def _keys_of_conditions(subject: _Subject) -> Iterator[Finding]:
    for edge in subject.graph.edges:
        try:
            keys = parse_condition(edge.condition).keys
        except PipelineError:
            continue  # `_conditions` reports it
        known = _known_keys(subject, [edge.source]) if keys else None
        if known is None:
            continue
        for key in keys:
            # In the other dialect, `context.x` is set by handlers whose keys no row names.
            if key not in {*known, *RUN_KEYS} and not key.startswith("context."):
                message = f"its condition reads {key!r}, which no node before it sets"
                yield _of_edge("condition_key", "warning", edge, message, _fix(key, known))


def _known_keys(subject: _Subject, last: Iterable[str]) -> set[str] | None:
    """Return the keys that the context may have after these nodes; `None` if they are not known."""
    before = _before(subject.graph, last)
    rows = [
        (subject.rows[node.id], node) for id, node in subject.graph.nodes.items() if id in before
    ]
    if any(row.sets is None for row, _ in rows):
        return None
    return {"seed", *subject.keys, *(key for row, node in rows for key in row.keys_set_by(node))}


def _fix(key: str, known: Iterable[str]) -> str:
    return suggestion(key, known) or f"set it in a node before, or run with --var {key}=..."


_RULES: tuple[Callable[[_Subject], Iterator[Finding]], ...] = (
    _one_start_and_one_exit,
    _known_ends,
    _reachable,
    _ways_out,
    _ends_of_the_run,
    _fan_ins_reached,
    _conditions,
    _order_of_edges,
    _known_types,
    _attributes,
    _models,
    _prompts,
    _templates,
    _keys_of_conditions,
)
