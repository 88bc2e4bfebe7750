"""A type of node is one row: what a file calls it, what runs it, what lint checks."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.joined import joined
from tests.pipeline.pipelines import BACKENDS, connecting, run
from wire.errors import PipelineError
from wire.pipeline import cli
from wire.pipeline.conditions import FORMS, parse_condition
from wire.pipeline.context import GIVEN_KEYS
from wire.pipeline.dot import parse
from wire.pipeline.engine import Engine, LintError
from wire.pipeline.graph import Graph, Node, count
from wire.pipeline.handlers import Visit
from wire.pipeline.linting import lint
from wire.pipeline.node_types import NODE_TYPES, Attribute, NodeType, NodeTypes
from wire.pipeline.routing import RUN_KEYS
from wire.testing.emulator import Emulator

ROOT = Path(__file__).parent.parent.parent
HEAD = "start [type=start] done [type=exit]"


async def repeat(visit: Visit) -> dict[str, Any]:
    await anyio.lowlevel.checkpoint()
    words = visit.text("text").split()
    return {visit.node.text("key"): " ".join(words * count(visit.node.attributes["times"]))}


# Everything that the tests below see of the type `repeat`, and the only place where it is named.
REPEAT = NodeType(
    "repeat",
    repeat,
    "stores a text several times",
    aliases=("again",),
    shapes=("star",),
    ids=("echo",),
    attributes=(
        Attribute("text", "template", "the text", required=True, fallback="label"),
        Attribute("times", "count", "how often", default=2),
        Attribute("key", doc="the key", default="{id}_text"),
    ),
    sets=("{key}", "{id}_done"),
    rules=("edge_order",),
)


def types() -> NodeTypes:
    found = NodeTypes()
    found.add(REPEAT)
    return found


def findings(body: str, **options: Any) -> list[tuple[str, str]]:
    graph = parse(f"digraph g {{ {HEAD} {body} }}")
    given = {"types": types(), "keys": ("a",), **options}
    return [(each.rule, each.message) for each in lint(graph, **given)]


@joined("backend", BACKENDS)
@joined("node", ["n [type=repeat, {}]", "n [type=again, {}]", "n [shape=star, {}]", "echo [{}]"])
def test_a_new_type_is_linted_and_run_by_its_row(backend: str, node: str) -> None:
    id = node.split()[0]
    last = f'last [type=set, key=k, value="<{{{{.{id}_text}}}}>"]'
    text = 'text="{{.seed}}"'
    body = f"{node.format(text)} {last} start -> {id} -> last -> done"
    graph = parse(f"digraph g {{ {HEAD} {body} }}")
    assert lint(graph, types=types()) == []
    engine = Engine(graph, types=types())
    assert engine.graph.nodes[id].type == "repeat"
    context = anyio.run(engine.run, {"seed": "tea"}, backend=backend).context
    assert (context[f"{id}_text"], context["k"]) == ("tea tea", "<tea tea>")


@pytest.mark.parametrize("backend", BACKENDS)
def test_attributes_come_before_the_defaults_of_the_row(backend: str) -> None:
    graph = parse(
        f'digraph g {{ {HEAD} n [type=repeat text=a times=3 key=x] m [type=repeat text=b key=" "]'
        " start -> n -> m -> done }"
    )
    context = anyio.run(Engine(graph, types=types()).run, backend=backend).context
    assert (context["x"], context["m_text"]) == ("a a a", "b b")


def test_without_its_row_the_type_is_unknown() -> None:
    body = "n [type=repeat, text=x] start -> n -> done"
    assert findings(body, types=NodeTypes()) == [("type_known", "unknown type 'repeat'")]
    with pytest.raises(LintError, match="unknown type 'repeat'"):
        Engine(parse(f"digraph g {{ {HEAD} {body} }}"))
    assert parse("digraph g { n [shape=star] echo }").nodes["n"].type == "codergen"


def test_lint_checks_what_the_row_says() -> None:
    ways = "start -> n -> done"
    assert findings(f"n [type=repeat] {ways}") == [
        ("required_attribute", "missing required attribute 'text' for node type 'repeat'")
    ]
    assert findings(f"n [type=repeat, text=x, times=no, timeout=0] {ways}") == [
        ("attribute_value", "timeout: expected a time limit of more than 0, not 0"),
        ("attribute_value", "times: expected a whole number from 1 up, not 'no'"),
    ]
    assert findings(f'n [type=repeat, text="{{{{.x}}}}"] {ways}') == [
        ("template_key", "its template uses 'x', which no node before it sets")
    ]
    assert findings(f"n [type=reqeat, text=x] {ways}") == [("type_known", "unknown type 'reqeat'")]


def test_lint_knows_the_keys_that_the_row_sets() -> None:
    ways = "start -> n -> m -> done"
    m = 'm [type=set, key=k, value="{{.n_text}} {{.n_done}} {{.other}}"]'
    wanted = [("template_key", "its template uses 'other', which no node before it sets")]
    assert findings(f"n [type=repeat, text=x] {m} {ways}") == wanted
    missing = findings(f"n [type=repeat, text=x, key=mine] {m} {ways}")
    assert ("template_key", "its template uses 'n_text', which no node before it sets") in missing
    unknown = NodeTypes()
    unknown.add(dataclasses.replace(REPEAT, sets=None))
    assert findings(f"n [type=repeat, text=x] {m} {ways}", types=unknown) == []


def test_a_rule_holds_for_the_types_whose_rows_name_it() -> None:
    dead_end = "n [type=repeat, text=x] start -> n [label=a]; start -> done"
    assert findings(dead_end) == []
    with_rule = NodeTypes()
    with_rule.add(dataclasses.replace(REPEAT, rules=("path_to_exit", "prompt_on_llm_nodes")))
    assert [rule for rule, _ in findings(dead_end, types=with_rule)] == [
        "path_to_exit",
        "prompt_on_llm_nodes",
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_type_that_needs_a_model_gets_it_connected(backend: str) -> None:
    async def ask(visit: Visit) -> dict[str, Any]:
        (chat,) = visit.models.values()
        return {"said": (await chat.ask(visit.text("prompt"))).text}

    row = NodeType("ask", ask, attributes=(Attribute("model"),), needs_model=True, sets=("said",))
    with_ask = NodeTypes()
    with_ask.add(row)
    body = 'n [type=ask, prompt=Hi, model="{}"] start -> n -> done'
    assert findings(body.format("gpt"), types=with_ask) == [
        (
            "model_name",
            "model: 'gpt': missing 'provider:model-name' format, such as 'gemini:gemini-3.8-flash'",
        )
    ]
    engine = Engine(
        parse(f"digraph g {{ {HEAD} {body.format('gemini:gemini-3.8-flash')} }}"),
        types=with_ask,
        connect=connecting(Emulator([{"say": "Hello."}])),
    )
    assert anyio.run(engine.run, backend=backend).context["said"] == "Hello."


def test_shapes_without_a_handler_are_run_by_a_registered_one() -> None:
    text = f"digraph g {{ {HEAD} n [shape=parallelogram] start -> n -> done }}"
    with pytest.raises(LintError, match="unknown type 'tool', by its shape parallelogram"):
        Engine(parse(text))
    tools = NodeTypes()
    tools.register("tool", lambda visit: {"k": visit.node.type})
    assert anyio.run(Engine(parse(text), types=tools).run).context["k"] == "tool"


def test_a_graph_made_by_hand_is_resolved() -> None:
    graph = Graph("g", nodes={id: Node(id) for id in ("start", "echo", "end")})
    resolved = types().resolve(graph)
    assert [node.type for node in resolved.nodes.values()] == ["start", "repeat", "exit"]
    assert types().resolve(resolved) == resolved
    assert [node.type for node in graph.nodes.values()] == ["codergen"] * 3


@joined(
    ("row", "message"),
    [
        (
            NodeType("a", aliases=("parallel",)),
            "node type 'a': name 'parallel' belongs to 'fan_out'",
        ),
        (NodeType("parallel"), "node type 'parallel': name 'parallel' belongs to 'fan_out'"),
        (NodeType("a", aliases=("set",)), "node type 'a': name 'set' belongs to 'set'"),
        (NodeType("a", shapes=("star", "box")), "node type 'a': shape 'box' belongs to 'codergen'"),
        (NodeType("a", ids=("end",)), "node type 'a': id 'end' belongs to 'exit'"),
    ],
)
def test_two_types_cannot_share_a_name(row: NodeType, message: str) -> None:
    found = NodeTypes()
    with pytest.raises(PipelineError) as caught:
        found.add(row)
    assert str(caught.value) == message
    assert list(found) == list(NODE_TYPES)
    assert found.resolve(parse("digraph g { n [shape=star] }")).nodes["n"].type == "codergen"


def test_a_row_that_is_replaced_gives_its_names_free() -> None:
    found = types()
    found.add(NodeType("repeat", repeat, shapes=("egg",)))
    graph = Graph("g", nodes={each: Node(each, {"shape": each}) for each in ("star", "egg")})
    assert [node.type for node in found.resolve(graph).nodes.values()] == ["codergen", "repeat"]


def test_rows_that_are_wrong_are_refused() -> None:
    for fields, message in (
        ({"name": ""}, "^node type: name: expected a non-empty text, not ''$"),
        ({"name": 5}, "^node type: name: expected a non-empty text, not 5$"),
        ({"name": "a", "handler": "x"}, "^node type 'a': handler: expected a function, not str$"),
        ({"name": "a", "rules": ("nice",)}, "^node type 'a': rules: unknown rule 'nice'$"),
    ):
        with pytest.raises(PipelineError, match=message):
            NodeType(**fields)  # type: ignore[arg-type]


# --- what people read -----------------------------------------------------------------------------


def test_attractor_types_lists_every_type_with_its_attributes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["types"]) == 0
    text = capsys.readouterr().out
    assert [line.split()[0].rstrip(":") for line in text.splitlines() if line[:1].strip()] == [
        *NODE_TYPES.runnable,
        "Every",
    ]
    assert "\nfan_out (type=parallel, shape=component): runs all its branches" in text
    assert "\n  max_turns (count, default 50): " in text
    assert "\n  key (text, default {id}_response): " in text
    assert "\n  prompt (template, else label): " in text
    assert text.endswith("  timeout (seconds): cancels the node, and fails it, after this time\n")


def test_the_page_has_every_type_attribute_condition_and_key() -> None:
    """tests/test_pages.py compares the page with the rows."""
    page = (ROOT / "docs" / "pipelines.md").read_text("utf-8")
    for name in NODE_TYPES.runnable:
        row = NODE_TYPES[name]
        assert f"\n| `{name}` | " in page
        for each in row.attributes:
            assert f"\n| `{name}` | `{each.name}` | {each.kind} | " in page
        for key in row.sets or ():
            assert f"\n| `{key}` | " in page
    for condition in ("a && b", "a \\|\\| b", "key == 'text'"):
        assert f"\n| `{condition}` | " in page


@joined(("form", "place"), FORMS)
def test_each_form_of_a_condition_on_the_page_is_one(form: str, place: str) -> None:
    assert parse_condition(form).text == form


def test_the_keys_of_the_page_are_those_of_a_run() -> None:
    text = f'digraph x {{ {HEAD} n [model="gemini:g", prompt=p]; start -> n -> done }}'
    ended = run("asyncio", text, {"seed": "s"}, script=[{"say": "Hi."}])
    assert set(ended.context) == {*GIVEN_KEYS, "n_output"} - set(RUN_KEYS)
    assert set(RUN_KEYS) <= set(GIVEN_KEYS)
