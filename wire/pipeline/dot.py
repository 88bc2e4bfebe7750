"""Parser of DOT: one `digraph` becomes a `Graph` whose attributes have typed values.

- The parser takes a part of DOT. Anything else is an error with line, column and token, never a
  guess (P-18).
- Subgraphs are flattened: their nodes belong to the graph. The defaults and the class of a subgraph
  hold inside it only (P-13, P-14).
- Open scopes are on a list and not on the call stack, because a file of ten thousand `{` would
  overflow the stack of Python.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import re
from collections.abc import Callable

from wire.core.arguments import checked_arguments
from wire.core.bounds import BOUNDS
from wire.core.errors import PipelineError
from wire.pipeline.graph import Duration, Edge, Graph, Node, Position, Value, is_duration
from wire.pipeline.node_types import NODE_TYPES


@checked_arguments(PipelineError, before=True)
def parse(text: str, name: str = "") -> Graph:
    """Parse DOT. `name` is the name of a graph that has none in the file.

    >>> graph = parse('digraph hello { start; end [type=exit]; start -> end [label="seed != x"] }')
    >>> graph.name, list(graph.nodes), graph.edges[0].condition
    ('hello', ['start', 'end'], 'seed != x')

    An id that only edges name becomes a node with `declared=False`. Lint reports it, and everything
    else that is DOT but not a pipeline.

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
_TOKEN = re.compile(r'->|--|"(?:[^"\\\n]|\\.)*+"?|-?[A-Za-z0-9_.]+|.', re.DOTALL)
_MAX_TOKEN_SHOWN = 40  # characters of a token in an error

_KEYWORDS = frozenset({"digraph", "edge", "graph", "node", "strict", "subgraph"})
_AN_ID = "an id has letters, digits and _, and starts with no digit; put other names into label"


class _Tokens:
    """The text, and the offset up to which it was parsed.

    There is no list of tokens, because the grammar of a word depends on its context.
    """

    def __init__(self, text: str) -> None:
        self.text = text.removeprefix("\ufeff")
        self.at = 0
        self._line_ends = [match.start() for match in re.finditer("\n", self.text)]
        self._skip_blank()

    def position(self, at: int) -> Position:
        line = bisect.bisect_left(self._line_ends, at)
        return Position(line + 1, at - (self._line_ends[line - 1] if line else -1))

    def unexpected(self, hint: str = "", at: int | None = None) -> PipelineError:
        """Return the error for the token at offset `at`, by default the current one."""
        at = self.at if at is None else at
        match = _TOKEN.match(self.text, at)
        token = match.group() if match else ""
        shown = (
            repr(token[:_MAX_TOKEN_SHOWN] + ("..." if len(token) > _MAX_TOKEN_SHOWN else ""))
            if token
            else "end of file"
        )
        return PipelineError(
            f"{self.position(at)}: unexpected {shown}{f': {hint}' if hint else ''}"
        )

    def next_is(self, symbol: str) -> bool:
        return self.text.startswith(symbol, self.at)

    def take(self, symbol: str) -> bool:
        """Consume `symbol` if it comes next; whether it did."""
        is_next = self.next_is(symbol)
        if is_next:
            self._go_to(self.at + len(symbol))
        return is_next

    def expect(self, symbol: str, hint: str = "") -> None:
        if not self.take(symbol):
            raise self.unexpected(hint or f"expected {symbol!r}")

    def word(self, pattern: re.Pattern[str]) -> str:
        """Consume what `pattern` matches here; empty if it does not match."""
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self._go_to(match.end())
        return match.group()

    def quoted(self) -> str | None:
        """Consume a quoted string and decode its escapes (P-07); `None` if none comes next.

        A backslash before any other character stays in the text.
        """
        if not self.next_is('"'):
            return None
        match = _QUOTED.match(self.text, self.at)
        if match is None:
            raise PipelineError(
                f"{self.position(self.at)}: unexpected end of file: this string is not closed"
            )
        self._go_to(match.end())
        return _ESCAPE.sub(
            lambda escape: _ESCAPED.get(escape.group(1), escape.group()), match.group(1)
        )

    def _go_to(self, at: int) -> None:
        self.at = at
        self._skip_blank()

    def _skip_blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at
        if self.text.startswith("/*", self.at):
            raise PipelineError(
                f"{self.position(self.at)}: unexpected end of file: this comment is not closed"
            )


@dataclasses.dataclass
class _Scope:
    """The file or one subgraph: the defaults that hold in it, and its nodes."""

    attributes: dict[str, Value]
    node_defaults: dict[str, Value]
    edge_defaults: dict[str, Value]
    members: dict[str, None] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class _NodeBuilder:
    """One node, collected from all statements that name it."""

    position: Position
    depth: int
    """How many scopes were open where its defaults come from.

    Defaults of an outer scope do not replace those of an inner one.
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
        self._nodes: dict[str, _NodeBuilder] = {}
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
            raise tokens.unexpected("a pipeline starts with digraph", at)
        quoted = tokens.quoted()
        name = (quoted if quoted is not None else tokens.word(_ID)) or name
        tokens.expect("{")
        while self._scopes:
            if tokens.take("}"):
                self._leave()
            else:
                self._statement()
                self._check_size()
        if tokens.at < len(tokens.text):
            raise tokens.unexpected("a file holds one graph")
        return Graph(
            name,
            self._file.attributes,
            {id: builder.node(id) for id, builder in self._nodes.items()},
            tuple(self._edges),
        )

    def _check_size(self) -> None:
        for count, most, what in (
            (len(self._nodes), BOUNDS.pipeline_nodes, "nodes"),
            (len(self._edges), 3 * BOUNDS.pipeline_nodes, "edges"),
        ):
            if count > most:
                raise self._tokens.unexpected(f"a pipeline has at most {most:,} {what}")

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
                raise tokens.unexpected("a file holds one graph", at)
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
        at = tokens.at
        tokens.expect("{")
        if len(self._scopes) > BOUNDS.file_depth:
            raise tokens.unexpected(f"subgraphs are nested at most {BOUNDS.file_depth} levels", at)
        outer = self._scopes[-1]
        self._scopes.append(_Scope({}, dict(outer.node_defaults), dict(outer.edge_defaults)))

    def _defaults(self, held: dict[str, Value]) -> None:
        if not self._tokens.next_is("["):
            raise self._tokens.unexpected("expected '['")
        held.update(self._attribute_lists())

    def _node_or_edges(self, id: str, at: int) -> None:
        tokens = self._tokens
        ends = [(id, at)]
        while tokens.take("->"):
            ends.append(self._end_of_edge())
        if tokens.next_is("--"):
            raise tokens.unexpected("an edge is written as ->")
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

    def _mention(self, id: str, position: Position) -> _NodeBuilder:
        scope = self._scopes[-1]
        builder = self._nodes.get(id)
        if builder is None:
            builder = self._nodes[id] = _NodeBuilder(
                position, len(self._scopes), defaults=dict(scope.node_defaults)
            )
            scope.members[id] = None
        return builder

    def _declare(self, id: str, position: Position, attributes: dict[str, Value]) -> None:
        builder = self._mention(id, position)
        if not builder.declared:
            builder.declared, builder.position = True, position
        scope = self._scopes[-1]
        scope.members[id] = None
        if len(self._scopes) >= builder.depth:
            builder.depth = len(self._scopes)
            builder.defaults.update(scope.node_defaults)
        builder.own.update(attributes)

    def _attribute_lists(self) -> dict[str, Value]:
        tokens = self._tokens
        attributes: dict[str, Value] = {}
        while tokens.take("["):
            while not tokens.take("]"):
                at = tokens.at
                quoted = tokens.quoted()
                key = tokens.word(_KEY) if quoted is None else quoted
                if not _KEY.fullmatch(key):
                    raise tokens.unexpected("expected the name of an attribute, or ']'", at)
                tokens.expect("=", f"{key} has no value")
                attributes[key] = self._value()
                if not tokens.take(","):
                    tokens.take(";")
        return attributes

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
            "expected a value; put it in quotes if it is more than a word or a number", at
        )


def _class_of(label: str) -> str:
    """Return the class that the label of a subgraph gives to its nodes (P-14)."""
    return re.sub(r"[^a-z0-9-]", "", re.sub(r"\s+", "-", label.strip().lower()))
