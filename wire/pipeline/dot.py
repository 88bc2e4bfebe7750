"""DOT to a graph: one `digraph`, what Graphviz would draw of it, and values with types.

Rules of this file:

- What is read is a part of DOT: anything else is an error with line, column and the token, never a
  guess (P-18).
- Subgraphs have no life of their own: their nodes are the graph's, their defaults and their class
  end with them (P-13, P-14).
- Scopes are kept on a list and not on the call stack: a file of ten thousand `{` is an error of
  ours, not of Python.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import re
from collections.abc import Callable

from wire.errors import PipelineError
from wire.pipeline.graph import Duration, Edge, Graph, Node, Position, Value, is_duration
from wire.pipeline.node_types import NODE_TYPES


def parse(text: str, name: str = "") -> Graph:
    r"""The graph that `text` draws; `name` is its name if the file gives none.

    >>> graph = parse('digraph hello { start [type=start]; start -> done [label="ok == \'yes\'"]; done [type=exit] }')
    >>> graph.name, list(graph.nodes), graph.edges[0].condition
    ('hello', ['start', 'done'], "ok == 'yes'")

    An id that only edges name becomes a node with `declared=False`; that and all else that makes a
    graph no pipeline is for lint.

    Raises `PipelineError`, as in `line 3, column 7: unexpected '--'`.
    """
    return NODE_TYPES.resolve(_Parser(_Tokens(text)).graph(name))


_BLANK = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_BARE = re.compile(
    r"[A-Za-z_](?:[A-Za-z0-9_.:]|-(?!>))*"
)  # `a=b->c` would otherwise lose its arrow to the value
_NUMBER = re.compile(r"-?[0-9.][A-Za-z0-9_.]*")
_INTEGER = re.compile(r"-?[0-9]{1,100}")
_FLOAT = re.compile(r"-?[0-9]{0,100}\.[0-9]{1,100}")
_QUOTED = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "\n": ""}
_TOKEN = re.compile(r'->|--|"(?:[^"\\\n]|\\.)*"?|-?[A-Za-z0-9_.]+|.', re.DOTALL)
_TOLD = 40  # letters of a token that an error shows

_KEYWORDS = frozenset({"digraph", "edge", "graph", "node", "strict", "subgraph"})
_AN_ID = "an id is letters, digits and _, and begins with no digit; other names go into label"


class _Tokens:
    """The text and how far it was read.

    What a word is depends on where it stands, so there is no list of tokens.
    """

    def __init__(self, text: str) -> None:
        self.text = text.removeprefix("\ufeff")
        self.at = 0
        self._line_ends = [found.start() for found in re.finditer("\n", self.text)]
        self._skip_blank()

    def position(self, at: int) -> Position:
        line = bisect.bisect_left(self._line_ends, at)
        return Position(line + 1, at - (self._line_ends[line - 1] if line else -1))

    def unexpected(self, hint: str = "", at: int | None = None) -> PipelineError:
        """The error of what stands at `at`, or here, and cannot stand there."""
        at = self.at if at is None else at
        found = _TOKEN.match(self.text, at)
        token = found.group() if found else ""
        told = (
            repr(token[:_TOLD] + ("..." if len(token) > _TOLD else "")) if token else "end of file"
        )
        return PipelineError(f"{self.position(at)}: unexpected {told}{f': {hint}' if hint else ''}")

    def next_is(self, symbol: str) -> bool:
        return self.text.startswith(symbol, self.at)

    def take(self, symbol: str) -> bool:
        """Go past `symbol` if it comes next."""
        found = self.next_is(symbol)
        if found:
            self._go_to(self.at + len(symbol))
        return found

    def expect(self, symbol: str, hint: str = "") -> None:
        if not self.take(symbol):
            raise self.unexpected(hint or f"{symbol!r} is wanted")

    def word(self, pattern: re.Pattern[str]) -> str:
        """What `pattern` finds here; empty if nothing."""
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self._go_to(found.end())
        return found.group()

    def quoted(self) -> str | None:
        """The string in quotes that comes next, its escapes decoded (P-07); what is no escape stays
        as it is.
        """
        if not self.next_is('"'):
            return None
        found = _QUOTED.match(self.text, self.at)
        if found is None:
            raise PipelineError(
                f"{self.position(self.at)}: unexpected end of file: this string is not closed"
            )
        self._go_to(found.end())
        return _ESCAPE.sub(
            lambda escape: _ESCAPED.get(escape.group(1), escape.group()), found.group(1)
        )

    def _go_to(self, at: int) -> None:
        self.at = at
        self._skip_blank()

    def _skip_blank(self) -> None:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at
        if self.text.startswith("/*", self.at):
            raise PipelineError(
                f"{self.position(self.at)}: unexpected end of file: this comment is not closed"
            )


@dataclasses.dataclass
class _Scope:
    """The file itself, or one subgraph: which defaults hold in it, and which nodes it has."""

    attributes: dict[str, Value]
    node_defaults: dict[str, Value]
    edge_defaults: dict[str, Value]
    members: dict[str, None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class _Seen:
    """What is known so far of one node."""

    position: Position
    depth: int
    """How deep in subgraphs its defaults were found: what is said of it further out does not undo
    them.
    """
    declared: bool = False
    defaults: dict[str, Value] = dataclasses.field(default_factory=dict)
    own: dict[str, Value] = dataclasses.field(default_factory=dict)
    classes: dict[str, None] = dataclasses.field(default_factory=dict)

    def node(self, id: str) -> Node:
        attributes = {**self.defaults, **self.own}
        if self.classes:
            named = (each.strip() for each in str(attributes.get("class", "")).split(","))
            attributes["class"] = ",".join(dict.fromkeys([*filter(None, named), *self.classes]))
        return Node(id, attributes, self.position, self.declared)


class _Parser:
    def __init__(self, tokens: _Tokens) -> None:
        self._tokens = tokens
        self._file = _Scope({}, {}, {})
        self._scopes = [self._file]
        self._nodes: dict[str, _Seen] = {}
        self._edges: list[Edge] = []
        self._statements: dict[str, Callable[[], None]] = {
            "node": lambda: self._defaults(self._scopes[-1].node_defaults),
            "edge": lambda: self._defaults(self._scopes[-1].edge_defaults),
            "graph": lambda: self._defaults(self._scopes[-1].attributes),
            "subgraph": self._subgraph,
        }

    def graph(self, name: str) -> Graph:
        tokens = self._tokens
        at = tokens.at
        if tokens.word(_ID).lower() != "digraph":
            raise tokens.unexpected("a pipeline begins with digraph", at)
        quoted = tokens.quoted()
        name = (quoted if quoted is not None else tokens.word(_ID)) or name
        tokens.expect("{")
        while self._scopes:
            if tokens.take("}"):
                self._leave()
            else:
                self._statement()
        if tokens.at < len(tokens.text):
            raise tokens.unexpected("a file has one graph")
        return Graph(
            name,
            self._file.attributes,
            {id: seen.node(id) for id, seen in self._nodes.items()},
            tuple(self._edges),
        )

    def _leave(self) -> None:
        scope = self._scopes.pop()
        if not self._scopes:
            return
        self._scopes[-1].members.update(scope.members)
        name = _class_of(str(scope.attributes.get("label", "")))
        if name:
            for id in scope.members:
                self._nodes[id].classes[name] = None

    def _statement(self) -> None:
        tokens = self._tokens
        if tokens.take(";"):
            return
        if tokens.next_is("{"):
            self._subgraph()
            return
        at = tokens.at
        quoted = tokens.quoted()
        word = tokens.word(_KEY) if quoted is None else quoted
        if quoted is None and word.lower() in _KEYWORDS:
            if word.lower() not in self._statements:
                raise tokens.unexpected("a file has one graph", at)
            self._statements[word.lower()]()
        elif _KEY.fullmatch(word) and tokens.take("="):
            self._scopes[-1].attributes[word] = self._value()
        else:
            if not _ID.fullmatch(word):
                raise tokens.unexpected(_AN_ID if word else "", at)
            self._node_or_edges(word, at)

    def _subgraph(self) -> None:
        tokens = self._tokens
        if tokens.quoted() is None:
            tokens.word(_ID)
        tokens.expect("{")
        outer = self._scopes[-1]
        self._scopes.append(_Scope({}, dict(outer.node_defaults), dict(outer.edge_defaults)))

    def _defaults(self, held: dict[str, Value]) -> None:
        if not self._tokens.next_is("["):
            raise self._tokens.unexpected("'[' is wanted")
        held.update(self._attribute_lists())

    def _node_or_edges(self, id: str, at: int) -> None:
        tokens = self._tokens
        ends = [(id, at)]
        while tokens.take("->"):
            ends.append(self._end_of_edge())
        if tokens.next_is("--"):
            raise tokens.unexpected("edges are written ->")
        attributes = self._attribute_lists()
        if len(ends) == 1:
            self._declare(id, self._tokens.position(at), attributes)
            return
        attributes = {**self._scopes[-1].edge_defaults, **attributes}
        for each, offset in ends:
            self._mention(each, tokens.position(offset))
        for (source, offset), (target, _) in itertools.pairwise(ends):
            self._edges.append(Edge(source, target, dict(attributes), tokens.position(offset)))

    def _end_of_edge(self) -> tuple[str, int]:
        at = self._tokens.at
        quoted = self._tokens.quoted()
        id = self._tokens.word(_ID) if quoted is None else quoted
        if not _ID.fullmatch(id) or (quoted is None and id.lower() in _KEYWORDS):
            raise self._tokens.unexpected(_AN_ID, at)
        return id, at

    def _mention(self, id: str, position: Position) -> _Seen:
        scope = self._scopes[-1]
        seen = self._nodes.get(id)
        if seen is None:
            seen = self._nodes[id] = _Seen(
                position, len(self._scopes), defaults=dict(scope.node_defaults)
            )
            scope.members[id] = None
        return seen

    def _declare(self, id: str, position: Position, attributes: dict[str, Value]) -> None:
        seen = self._mention(id, position)
        if not seen.declared:
            seen.declared, seen.position = True, position
        scope = self._scopes[-1]
        scope.members[id] = None
        if len(self._scopes) >= seen.depth:
            seen.depth = len(self._scopes)
            seen.defaults.update(scope.node_defaults)
        seen.own.update(attributes)

    def _attribute_lists(self) -> dict[str, Value]:
        tokens = self._tokens
        found: dict[str, Value] = {}
        while tokens.take("["):
            while not tokens.take("]"):
                at = tokens.at
                quoted = tokens.quoted()
                key = tokens.word(_KEY) if quoted is None else quoted
                if not _KEY.fullmatch(key):
                    raise tokens.unexpected("the name of an attribute is wanted, or ']'", at)
                tokens.expect("=", f"{key} has no value")
                found[key] = self._value()
                if not tokens.take(","):
                    tokens.take(";")
        return found

    def _value(self) -> Value:
        tokens = self._tokens
        at = tokens.at
        quoted = tokens.quoted()
        if quoted is not None:
            return quoted
        word = tokens.word(_BARE)
        if word:
            return word == "true" if word in ("true", "false") else word
        word = tokens.word(_NUMBER)
        if _INTEGER.fullmatch(word):
            return int(word)
        if _FLOAT.fullmatch(word):
            return float(word)
        if is_duration(word):
            return Duration(word)
        raise tokens.unexpected(
            "a value is wanted; put it in quotes if it is more than a word or a number", at
        )


def _class_of(label: str) -> str:
    """The class that a subgraph's label gives its nodes (P-14)."""
    return re.sub(r"[^a-z0-9-]", "", re.sub(r"\s+", "-", label.strip().lower()))
