"""DOT as pipelines are written in it, in both dialects; and what is none."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.core.bounds import BOUNDS
from wire.errors import PipelineError
from wire.pipeline.dot import parse
from wire.pipeline.graph import Duration, Edge, Graph, Node, Position, Value, seconds, written
from wire.pipeline.node_types import NODE_TYPES


def edges(graph: Graph) -> list[str]:
    return [str(edge) for edge in graph.edges]


def attributes(text: str) -> dict[str, Value]:
    return dict(parse(f"digraph g {{ n [{text}] }}").nodes["n"].attributes)


def refusal(text: str) -> str:
    with pytest.raises(PipelineError) as caught:
        parse(text)
    return caught.value.message


# --- statements -----------------------------------------------------------------------------------


@pytest.mark.row("P-01", "P-18")
@joined(
    ("text", "told"),
    [
        ("", "line 1, column 1: unexpected end of file: a pipeline starts with digraph"),
        ("graph g { }", "line 1, column 1: unexpected 'graph': a pipeline starts with digraph"),
        (
            "strict digraph g { }",
            "line 1, column 1: unexpected 'strict': a pipeline starts with digraph",
        ),
        (
            "digraph a { }\n\ndigraph b { }",
            "line 3, column 1: unexpected 'digraph': a file holds one graph",
        ),
        (
            "digraph a { digraph b { } }",
            "line 1, column 13: unexpected 'digraph': a file holds one graph",
        ),
        ("digraph g {\n  a -- b\n}", "line 2, column 5: unexpected '--': an edge is written as ->"),
        (
            "digraph g {\n  a -> b--c\n}",
            "line 2, column 9: unexpected '--': an edge is written as ->",
        ),
        (
            "digraph g { a -> b } trailing",
            "line 1, column 22: unexpected 'trailing': a file holds one graph",
        ),
    ],
)
def test_a_file_is_one_digraph(text: str, told: str):
    assert refusal(text) == told


@pytest.mark.row("P-01")
def test_names_of_graphs():
    assert parse("digraph hello { }").name == "hello"
    assert parse("DiGraph hello { }", "file").name == "hello"
    assert parse("digraph { }", "file").name == "file"
    assert parse('digraph "a b" { }').name == "a b"
    assert parse("\ufeffdigraph hello { }").name == "hello"


@pytest.mark.row("P-02")
def test_nodes_edges_and_chains():
    graph = parse('digraph g { a [x=1]; b -> c [label="y"]; a -> b -> c -> a [weight=2] }')
    assert graph.nodes["a"].attributes == {"x": 1}
    assert edges(graph) == ["b -> c", "a -> b", "b -> c", "c -> a"]
    assert [edge.attributes for edge in graph.edges] == [
        {"label": "y"},
        {"weight": 2},
        {"weight": 2},
        {"weight": 2},
    ]
    assert [str(edge) for edge in graph.outgoing("b")] == ["b -> c", "b -> c"]
    assert [str(edge) for edge in graph.incoming("a")] == ["c -> a"]
    assert graph.outgoing("c") == (graph.edges[3],)


@pytest.mark.row("P-03")
def test_ids_bare_and_quoted():
    graph = parse('digraph g { "plan" [x=1] _a1 "plan" -> "_a1" }')
    assert list(graph.nodes) == ["plan", "_a1"]
    assert edges(graph) == ["plan -> _a1"]
    told = "an id has letters, digits and _, and starts with no digit; put other names into label"
    assert refusal('digraph g {\n "a b" }') == f"line 2, column 2: unexpected '\"a b\"': {told}"
    assert refusal('digraph g { a -> "" }') == f"line 1, column 18: unexpected '\"\"': {told}"
    assert refusal("digraph g { a.b [x=1] }") == f"line 1, column 13: unexpected 'a.b': {told}"
    assert refusal("digraph g { 1a }") == "line 1, column 13: unexpected '1a'"
    assert refusal("digraph g { my-node }") == "line 1, column 15: unexpected '-node'"
    assert refusal("digraph g { a -> node }") == f"line 1, column 18: unexpected 'node': {told}"
    assert refusal("digraph g { é }") == "line 1, column 13: unexpected 'é'"


@pytest.mark.row("P-04", "P-05")
@joined("separator", [", ", ",", "; ", ";", " ", "\n", "\t,\n", "] [", "]["])
def test_separators_of_attributes(separator: str):
    assert attributes(f'a=1{separator}b=two{separator}c="x"') == {"a": 1, "b": "two", "c": "x"}


@pytest.mark.row("P-04", "P-05")
def test_attribute_lists_may_be_empty_end_with_a_comma_and_span_lines():
    assert attributes("") == {}
    assert attributes("a=1,") == {"a": 1}
    assert attributes("\n  a = 1 ,\n  // between\n  b\n=\n2\n") == {"a": 1, "b": 2}
    assert attributes("a=1, a=2") == {"a": 2}
    assert (
        refusal("digraph g { n [a=1,,b=2] }")
        == "line 1, column 20: unexpected ',': expected the name of an attribute, or ']'"
    )
    assert (
        refusal("digraph g { n [bold] }") == "line 1, column 20: unexpected ']': bold has no value"
    )
    assert (
        refusal("digraph g { n [a=1")
        == "line 1, column 19: unexpected end of file: expected the name of an attribute, or ']'"
    )


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.row("P-06")
@joined(
    ("text", "value"),
    [
        ('"two words"', "two words"),
        ('""', ""),
        ("word", "word"),
        ("gemini:gemini-2.0-flash", "gemini:gemini-2.0-flash"),
        ("wait.human", "wait.human"),
        ("a-", "a-"),
        ("42", 42),
        ("-1", -1),
        ("007", 7),
        ("0.5", 0.5),
        (".5", 0.5),
        ("-3.14", -3.14),
        ("true", True),
        ("false", False),
        ('"true"', "true"),
        ("True", "True"),
        ('"5"', "5"),
        ("900s", Duration("900s")),
        ("250ms", Duration("250ms")),
        ("1h30m", Duration("1h30m")),
    ],
)
def test_values_have_types(text: str, value: Value):
    found = attributes(f"x={text}, y=1")["x"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.row("P-06", "P-18")
@joined(
    "text",
    [
        "5abc",
        "1.2.3",
        "1e5",
        "5.",
        "-",
        "<b>",
        "#ff0000",
        "'x'",
        "=",
        "5w",
        "1-2",
        "a/b",
        "-5m",
        "9" * 200,
    ],
)
def test_what_is_no_value(text: str):
    assert refusal(f"digraph g {{\n n [x={text}] }}").startswith("line 2, column ")


@pytest.mark.row("P-06")
def test_a_bare_value_does_not_swallow_an_arrow():
    graph = parse("digraph g { rankdir=LR a->b; b->c[x=y]c->d }")
    assert graph.attributes == {"rankdir": "LR"}
    assert edges(graph) == ["a -> b", "b -> c", "c -> d"]


@pytest.mark.row("P-06")
@joined(
    ("value", "expected"),
    [
        (Duration("250ms"), 0.25),
        (Duration("15m"), 900),
        ("2h", 7200),
        ("1d", 86400),
        ("1.5s", 1.5),
        (" 1m30s ", 90),
        (" 90 ", 90),
        ("90", 90),
        (5, 5),
        (0.5, 0.5),
    ],
)
def test_durations_in_seconds(value: Value, expected: float):
    assert seconds(value) == pytest.approx(expected)


@pytest.mark.row("P-06")
@joined(
    "value",
    [
        "",
        "5x",
        "-5s",
        "s",
        "5 s",
        0,
        "0s",
        -1,
        True,
        "1e400",
        float("inf"),
        float("nan"),
        "9" * 400 + "s",
    ],
)
def test_what_is_no_duration(value: Value):
    with pytest.raises(PipelineError):
        seconds(value)


@pytest.mark.row("P-07", "S4-41")
def test_escapes_are_decoded():
    assert attributes(r'x="a \"b\" \\ \n\t."') == {"x": 'a "b" \\ \n\t.'}
    assert attributes(r'x="\\n"') == {"x": r"\n"}
    assert attributes(r'x="\d+ \q"') == {"x": r"\d+ \q"}
    assert attributes('x="one \\\nline"') == {"x": "one line"}
    assert attributes(r'x="\\"') == {"x": "\\"}


@pytest.mark.row("P-08")
def test_strings_hold_anything():
    text = "one\ntwo { } // no comment /* nor this */ # -> -- [x=1]; ✓ 日本 'q'"
    graph = parse(f'digraph g {{ n [x="{text}"] n -> m }}')
    assert graph.nodes["n"].attributes == {"x": text}
    assert edges(graph) == ["n -> m"]
    assert graph.edges[0].position == Position(
        2, len("two { } // no comment /* nor this */ # -> -- [x=1]; ✓ 日本 'q'\"] ") + 1
    )


@pytest.mark.row("P-08", "P-18")
def test_a_string_that_is_not_closed_is_told_where_it_begins():
    assert (
        refusal('digraph g {\n  n [x="a\n b')
        == "line 2, column 8: unexpected end of file: this string is not closed"
    )
    assert (
        refusal('digraph g {\n  n [x="a\\"')
        == "line 2, column 8: unexpected end of file: this string is not closed"
    )


@pytest.mark.row("P-09")
def test_comments():
    graph = parse(
        "// ── Nodes ───\n/* block\n   ✓ ** / */digraph/**/g{# line\n a // one\n -> /* "
        "two */ b # three -> c\n # four\n}\n// end\n#"
    )
    assert edges(graph) == ["a -> b"]
    assert (
        refusal("digraph g { /* open }")
        == "line 1, column 13: unexpected end of file: this comment is not closed"
    )
    assert refusal("digraph g { a / b }") == "line 1, column 15: unexpected '/'"


@pytest.mark.row("P-10")
def test_semicolons_are_optional():
    expected = parse("digraph g { a [x=1] b a -> b k=v }")
    for text in (
        "digraph g { a [x=1]; b; a -> b; k=v; }",
        "digraph g {;; a [x=1];; b\n;a -> b; k=v }",
    ):
        graph = parse(text)
        assert (list(graph.nodes), edges(graph), graph.attributes) == (
            list(expected.nodes),
            edges(expected),
            expected.attributes,
        )


@pytest.mark.row("P-11")
def test_keys_may_have_dots():
    graph = parse('digraph g { tool_hooks.pre = "x"; n [human.default_choice=a, "type"=set] }')
    assert graph.attributes == {"tool_hooks.pre": "x"}
    assert graph.nodes["n"].attributes == {"human.default_choice": "a", "type": "set"}
    assert refusal("digraph g { n [.a=1] }").startswith("line 1, column 16: unexpected '.a'")
    assert refusal("digraph g { n [a.=1] }").startswith("line 1, column 17: unexpected '.'")


@pytest.mark.row("P-12")
def test_attributes_of_the_graph():
    graph = parse(
        'digraph g { graph [goal="a b", label=x] rankdir=LR; goal = "later"; "size" = 5 }'
    )
    assert graph.attributes == {"goal": "later", "label": "x", "rankdir": "LR", "size": 5}
    assert graph.nodes == {}


# --- defaults and subgraphs -----------------------------------------------------------------------


@pytest.mark.row("P-13")
def test_defaults_apply_to_later_statements():
    graph = parse(
        """digraph g {
        before [x=1]
        node [shape=box, timeout=900s]
        edge [weight=3]
        a; b [timeout=5s]; before -> c [weight=1]; c -> a
        node [timeout=1s]
        d
        }"""
    )
    assert graph.nodes["before"].attributes == {"x": 1}
    assert graph.nodes["a"].attributes == {"shape": "box", "timeout": Duration("900s")}
    assert graph.nodes["b"].attributes == {"shape": "box", "timeout": Duration("5s")}
    assert graph.nodes["c"].attributes == {"shape": "box", "timeout": Duration("900s")}
    assert graph.nodes["d"].attributes == {"shape": "box", "timeout": Duration("1s")}
    assert [edge.attributes for edge in graph.edges] == [{"weight": 1}, {"weight": 3}]
    assert refusal("digraph g { node; }") == "line 1, column 17: unexpected ';': expected '['"


@pytest.mark.row("P-13", "P-14")
def test_what_a_subgraph_says_stays_in_it():
    graph = parse(
        """digraph g {
        label = outer
        node [x=1]
        subgraph cluster_a {
            label = "Loop A!"; rankdir = TB; graph [goal=inner]
            node [x=2, y=3]
            edge [weight=7]
            a -> b
            b [y=4]
            subgraph { label="In  ner"; node [x=5]; c }
            c -> a
        }
        { d }
        e -> a
        b [z=1]
        }"""
    )
    assert graph.attributes == {"label": "outer"}
    assert {id: dict(node.attributes) for id, node in graph.nodes.items()} == {
        "a": {"x": 2, "y": 3, "class": "loop-a"},
        "b": {"x": 2, "y": 4, "z": 1, "class": "loop-a"},
        "c": {"x": 5, "y": 3, "class": "in-ner,loop-a"},
        "d": {"x": 1},
        "e": {"x": 1},
    }
    assert [(str(edge), edge.attributes.get("weight")) for edge in graph.edges] == [
        ("a -> b", 7),
        ("c -> a", 7),
        ("e -> a", None),
    ]


@pytest.mark.row("P-13", "P-14")
def test_keywords_in_any_case_as_in_dot():
    graph = parse(
        'digraph g { Node [x=1] EDGE [y=2] Graph [z=3] SubGraph s { label=" A b " a } a -> b }'
    )
    assert graph.nodes["a"].attributes == {"x": 1, "class": "a-b"}
    assert graph.edges[0].attributes == {"y": 2}
    assert graph.attributes == {"z": 3}
    assert (
        refusal("digraph g { STRICT }")
        == "line 1, column 13: unexpected 'STRICT': a file holds one graph"
    )
    assert refusal("digraph g { a -> Node }").startswith("line 1, column 18: unexpected 'Node'")
    assert edges(parse('digraph g { a -> "node" "graph" [x=1] }')) == ["a -> node"]


@pytest.mark.row("P-14")
def test_a_class_comes_to_those_that_a_node_has():
    graph = parse(
        'digraph g { subgraph s { a [class="code, critical"]; b; label="Code" } subgraph '
        't { b; label="T 2" } }'
    )
    assert graph.nodes["a"].get("class") == "code,critical"
    assert graph.nodes["b"].get("class") == "code,t-2"


@pytest.mark.row("P-13")
def test_a_subgraph_that_groups_nodes_gives_its_defaults_to_them():
    graph = parse(
        "digraph g { node [x=1] a [y=1]; b [x=9]; subgraph s { node [x=2]; a; b } node [x=3] a }"
    )
    assert graph.nodes["a"].attributes == {"x": 2, "y": 1}
    assert graph.nodes["b"].attributes == {"x": 9}


# --- nodes ----------------------------------------------------------------------------------------


@pytest.mark.row("P-15")
def test_an_id_that_only_edges_name_is_not_declared():
    graph = parse("digraph g { a -> b; a [x=1]; b -> c }")
    assert {id: node.declared for id, node in graph.nodes.items()} == {
        "a": True,
        "b": False,
        "c": False,
    }
    assert graph.nodes["a"].position == Position(1, 21)
    assert graph.nodes["c"].position == Position(1, 35)


@pytest.mark.row("P-16")
def test_a_node_declared_twice_merges_its_attributes():
    graph = parse("digraph g { a [x=1, y=1]; b; a [y=2, z=3] }")
    assert graph.nodes["a"].attributes == {"x": 1, "y": 2, "z": 3}
    assert graph.nodes["a"].position == Position(1, 13)


@pytest.mark.row("P-17")
def test_the_order_of_the_file_is_kept():
    ids = [f"n{number}" for number in random.Random(7).sample(range(1000), 200)]
    graph = parse(
        f"digraph g {{ {' '.join(ids)} "
        f"{' '.join(f'{a} -> {b}' for a, b in zip(ids, reversed(ids), strict=True))} }}"
    )
    assert list(graph.nodes) == ids
    assert edges(graph) == [f"{a} -> {b}" for a, b in zip(ids, reversed(ids), strict=True)]


@pytest.mark.row("P-18")
@joined(
    ("text", "told"),
    [
        ("digraph g", "line 1, column 10: unexpected end of file: expected '{'"),
        ("digraph g {\n\n  a -> \n}", "line 4, column 1: unexpected '}': an id has letters"),
        ("digraph g { a -> -> b }", "line 1, column 18: unexpected '->'"),
        ("digraph g { -> b }", "line 1, column 13: unexpected '->'"),
        ("digraph g { a:n -> b }", "line 1, column 14: unexpected ':'"),
        ("digraph g { a -> {b c} }", "line 1, column 18: unexpected '{'"),
        ("digraph g { a, b }", "line 1, column 14: unexpected ','"),
        ("digraph g { a [x=1]] }", "line 1, column 20: unexpected ']'"),
        ("digraph g { a [x:1] }", "line 1, column 17: unexpected ':': x has no value"),
        (
            "digraph g { " + "x" * 100 + " = }",
            "line 1, column 116: unexpected '}': expected a value",
        ),
        ("digraph g {", "line 1, column 12: unexpected end of file"),
        ("digraph g { " + "{" * 90, "line 1, column 103: unexpected end of file"),
        ("digraph g { } }", "line 1, column 15: unexpected '}'"),
        ("digraph g {\r\n\ta ?\r\n}", "line 2, column 4: unexpected '?'"),
        ("digraph g { a \x00 }", "line 1, column 15: unexpected '\\x00'"),
        (
            'digraph g { "' + "y" * 39 + ' y" }',
            "line 1, column 13: unexpected '\"" + "y" * 39 + "...'",
        ),
    ],
)
def test_errors_name_line_column_and_token(text: str, told: str):
    assert refusal(text).startswith(told)


@pytest.mark.row("P-20")
@joined(
    ("attributes", "type"),
    [
        ("", "codergen"),
        ("type=set", "set"),
        ('type="wait.human", shape=box', "wait.human"),
        ("shape=Mdiamond", "start"),
        ("shape=Msquare", "exit"),
        ("shape=box", "codergen"),
        ("shape=hexagon", "wait.human"),
        ("shape=component", "fan_out"),
        ("shape=tripleoctagon", "fan_in"),
        ("shape=diamond", "conditional"),
        ("shape=parallelogram", "tool"),
        ("shape=ellipse", "codergen"),
        ("shape=Mdiamond type=codergen", "codergen"),
        ("type=parallel", "fan_out"),
        ('type="parallel.fan_in"', "fan_in"),
        ('type=""', "codergen"),
        ("type=unheard_of", "unheard_of"),
    ],
)
def test_type_comes_before_shape(attributes: str, type: str):
    assert parse(f"digraph g {{ n [{attributes}] }}").nodes["n"].type == type


@pytest.mark.row("P-21")
@pytest.mark.parametrize("id", ["start", "Start"])
def test_start_by_type_shape_or_id(id: str):
    assert parse(f"digraph g {{ node [shape=box] {id} a }}").start.id == id
    assert parse(f"digraph g {{ go [type=start] {id} [prompt=x] }}").start.id == "go"
    assert parse(f"digraph g {{ go [shape=Mdiamond] {id} }}").start.id == "go"
    with pytest.raises(PipelineError, match="pipeline must have exactly one start node"):
        _ = parse(f"digraph g {{ {id} [shape=hexagon] }}").start
    with pytest.raises(PipelineError, match="2 start nodes; exactly one required"):
        _ = parse("digraph g { a [type=start] b [shape=Mdiamond] }").start


@pytest.mark.row("P-22")
@pytest.mark.parametrize("id", ["exit", "end"])
def test_exit_by_type_shape_or_id(id: str):
    assert parse(f"digraph g {{ a {id} }}").exit.id == id
    assert parse(f"digraph g {{ done [type=exit] {id} [prompt=x] }}").exit.id == "done"
    assert parse(f"digraph g {{ done [shape=Msquare] {id} [type=set] }}").exit.id == "done"
    with pytest.raises(PipelineError, match="pipeline must have exactly one exit node"):
        _ = parse(f"digraph g {{ {id} [type=codergen] }}").exit


@pytest.mark.row("P-25")
def test_a_model_in_either_dialect():
    assert Node("a", {"model": "openai:gpt-4o", "llm_model": "x"}).model == "openai:gpt-4o"
    assert Node("a", {"llm_provider": "openai", "llm_model": "gpt-4o"}).model == "openai:gpt-4o"
    assert Node("a", {"llm_model": "openai:gpt-4o"}).model == "openai:gpt-4o"
    assert Node("a").model == ""
    assert (
        Node("a", {"model": " ", "llm_model": " gpt-4o ", "llm_provider": " openai"}).model
        == "openai:gpt-4o"
    )
    assert Node("a", {"llm_provider": "openai"}).model == "openai:"


@pytest.mark.row("P-60", "P-61")
def test_the_condition_of_an_edge():
    lists = [
        '[label=" x == 1 "]',
        "[label=_]",
        "",
        '[label="go on", condition="outcome=success"]',
        '[condition=""]',
    ]
    graph = parse(f"digraph g {{ {' '.join(f'a -> b {each}' for each in lists)} }}")
    assert [edge.condition for edge in graph.edges] == ["x == 1", "", "", "outcome=success", ""]
    assert [edge.dialect for edge in graph.edges] == [
        "label",
        "label",
        "label",
        "condition",
        "condition",
    ]


@pytest.mark.row("S4-19")
def test_the_gemini_pipeline():
    graph = parse(
        """// gemini.dot
        digraph gemini {
            start [type=start]
            ask   [type=codergen, model="gemini:gemini-2.0-flash", prompt="{{.seed}}", max_turns=5]
            done  [type=exit]
            start -> ask -> done
        }"""
    )
    assert (graph.start.id, graph.exit.id, graph.nodes["ask"].type) == ("start", "done", "codergen")
    assert graph.nodes["ask"].attributes == {
        "type": "codergen",
        "model": "gemini:gemini-2.0-flash",
        "prompt": "{{.seed}}",
        "max_turns": 5,
    }
    assert edges(graph) == ["start -> ask", "ask -> done"]


@pytest.mark.row("P-12", "P-20")
def test_a_pipeline_of_the_other_dialect():
    graph = parse(
        """digraph Branch {
            graph [goal="Implement and validate a feature"]
            rankdir=LR
            node [shape=box, timeout="900s"]
            start [shape=Mdiamond, label="Start"]
            exit  [shape=Msquare, label="Exit"]
            gate  [shape=diamond, label="Good?"]
            start -> plan -> gate
            plan  [label="Plan for $goal", llm_provider=gemini, llm_model="gemini-3-pro-preview"]
            gate -> exit [label="Yes", condition="outcome=success"]
            gate -> plan [label="No", condition="outcome!=success"]
        }"""
    )
    assert {id: node.type for id, node in graph.nodes.items()} == {
        "start": "start",
        "exit": "exit",
        "gate": "conditional",
        "plan": "codergen",
    }
    assert graph.nodes["plan"].model == "gemini:gemini-3-pro-preview"
    assert [edge.condition for edge in graph.outgoing("gate")] == [
        "outcome=success",
        "outcome!=success",
    ]


# --- inputs without end ---------------------------------------------------------------------------


def quoted(text: str) -> str:
    return (
        '"'
        + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        + '"'
    )


@pytest.mark.row("P-07", "P-08")
@given(st.text())
def test_every_text_survives_quoting(text: str):
    assert attributes(f"x={quoted(text)}, y=1") == {"x": text, "y": 1}
    raw = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    assert attributes(f"x={raw}") == {"x": text}


identifiers = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True).filter(
    lambda id: id.lower() not in ("node", "edge", "graph", "digraph", "subgraph", "strict")
)
values = st.one_of(
    st.text(max_size=20),
    st.integers(-(10**9), 10**9),
    st.booleans(),
    st.decimals(-1000, 1000, places=3).map(lambda number: float(number)),
    st.builds(
        lambda number, unit: Duration(f"{number}{unit}"),
        st.integers(0, 999),
        st.sampled_from(["ms", "s", "m", "h", "d"]),
    ),
)
lists = st.dictionaries(identifiers, values, max_size=4)


def rendered(value: Value) -> str:
    return (
        quoted(value)
        if isinstance(value, str)
        else f"{value:.3f}"
        if isinstance(value, float)
        else written(value)
    )


@pytest.mark.row("P-02", "P-04", "P-06", "P-10", "P-17")
@given(
    st.dictionaries(identifiers, lists, max_size=6),
    st.lists(st.tuples(identifiers, identifiers, lists), max_size=8),
    lists,
    st.randoms(use_true_random=False),
)
def test_random_graphs_are_read_back(nodes, arrows, held, choice: random.Random):
    def blank() -> str:
        return choice.choice([" ", "\n", "\t", " /* x -> y */ ", "// [\n", "# }\n", "\r\n"])

    def listed(attributes: dict[str, Value]) -> str:
        pairs = [
            f"{key}{blank()}={blank()}{rendered(value)}{blank()}"
            for key, value in attributes.items()
        ]
        return "[" + "".join(pair + choice.choice([",", ";", ""]) for pair in pairs) + blank() + "]"

    statements = [f"{key}={rendered(value)}" for key, value in held.items()]
    statements += [f"{id}{blank()}{listed(attributes)}" for id, attributes in nodes.items()]
    statements += [
        f"{source}{blank()}->{blank()}{target}{blank()}{listed(attributes)}"
        for source, target, attributes in arrows
    ]
    graph = parse(
        f"digraph g{blank()}{{"
        + "".join(each + blank() + choice.choice([";", ""]) + blank() for each in statements)
        + "}"
    )

    mentioned = dict.fromkeys(
        [*nodes, *(id for source, target, _ in arrows for id in (source, target))]
    )
    assert list(graph.nodes) == list(mentioned)
    assert {id: dict(node.attributes) for id, node in graph.nodes.items() if node.declared} == nodes
    assert [(edge.source, edge.target, edge.attributes) for edge in graph.edges] == arrows
    assert graph.attributes == held


PIECES = [
    "digraph",
    "g",
    "{",
    "}",
    "[",
    "]",
    "a",
    "b",
    "->",
    "--",
    "=",
    ",",
    ";",
    '"',
    "\\",
    "/*",
    "*/",
    "//",
    "\n",
    "#",
    "1",
    "5m",
    ".",
    "-",
]
PIECES += [
    "node",
    "edge",
    "graph",
    "subgraph",
    "strict",
    "label",
    "é",
    "\x00",
    "'x'",
    "true",
    '"q"',
    " ",
]


@pytest.mark.row("P-18")
@given(
    st.one_of(
        st.text(),
        st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
        st.lists(st.sampled_from(PIECES)).map("".join),
    )
)
def test_garbage_gives_errors_with_a_place_and_nothing_else(text: str):
    for each in (text, f"digraph g {{ {text} }}", f"digraph g {{ a [{text}] }}"):
        told = ""
        try:
            assert isinstance(parse(each), Graph)
        except PipelineError as problem:
            told = problem.message
        assert told == "" or re.match(r"line \d+, column \d+: unexpected ", told)


@pytest.mark.row("P-18")
def test_a_file_that_is_cut_off_is_an_error():
    text = (
        'digraph g { a [x="y z", t=5m]; /* c */ subgraph s { node [k=v]; a -> b -> c '
        '[label="x == 1"] } }'
    )
    parse(text)
    for length in range(len(text)):
        assert refusal(text[:length]).startswith("line 1, column "), text[:length]


def test_a_graph_made_by_hand_is_one_too():
    graph = Graph(
        "g", {}, {"start": Node("start"), "b": Node("b", {"type": "exit"})}, (Edge("start", "b"),)
    )
    resolved = NODE_TYPES.resolve(graph)
    assert (resolved.start.id, resolved.exit.id, resolved.outgoing("start")) == (
        "start",
        "b",
        (Edge("start", "b"),),
    )
    assert (graph.nodes["b"].position, str(graph.edges[0].position)) == (
        Position(1, 1),
        "line 1, column 1",
    )
    assert (
        graph.nodes["b"].get("missing"),
        graph.nodes["b"].get("missing", 3),
        graph.nodes["b"].text("missing", "x"),
    ) == (None, 3, "x")


def test_values_as_text():
    assert [
        written(value)
        for value in (True, False, 5, 0.5, Duration("5m"), "x", None, ["é", 1], {"a": None})
    ] == [
        *("true", "false", "5", "0.5", "5m", "x", ""),
        *('["é", 1]', '{"a": null}'),
    ]


def test_subgraphs_are_nested_as_deep_as_files_may_be() -> None:
    levels = BOUNDS.file_depth
    parse(f"digraph g {{{'{' * levels}{'}' * levels}}}")
    message = rf"^line 1, column {12 + levels}: unexpected '{{': subgraphs are nested at most 100 "
    with pytest.raises(PipelineError, match=message):
        parse(f"digraph g {{{'{' * (levels + 1)}")


@pytest.mark.parametrize(
    ("count", "what", "line"), [(1001, "nodes", "n{}"), (3001, "edges", "a -> b")]
)
def test_a_pipeline_has_no_more_nodes_and_edges_than_its_rules_can_follow(
    count: int, what: str, line: str
) -> None:
    lines = [line.format(number) for number in range(count)]
    parse("digraph g {\n" + "\n".join(lines[:-1]) + "\n}")
    with pytest.raises(
        PipelineError, match=rf"^line {count + 2}, .*: a pipeline has at most .* {what}$"
    ):
        parse("digraph g {\n" + "\n".join(lines) + "\n}")
