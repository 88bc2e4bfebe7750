"""Lint: each rule by a pipeline that breaks it and one that does not; all findings at once, without
a key or a client.
"""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from tests.joined import joined
from tests.property import sample
from wire.pipeline.dot import parse
from wire.pipeline.graph import Edge, Graph, Node, Position
from wire.pipeline.linting import Finding, lint, summary
from wire.pipeline.node_types import NODE_TYPES, NodeTypes

ENDS = "start [type=start] done [type=exit]"


def found(text: str, **options) -> list[Finding]:
    """Findings, with a model for nodes that name none, and with the keys x and again."""
    return lint(parse(text), **{"model": "gemini:m", "keys": ("x", "again"), **options})


def told(body: str, **options) -> list[tuple[str, str, str]]:
    """Rule, what it is about, message, of a pipeline that has a start and an exit."""
    findings = found(f"digraph g {{ {ENDS} {body} }}", **options)
    return [
        (each.rule, " -> ".join(each.edge) if each.edge else each.node_id, each.message)
        for each in findings
    ]


def errors(body: str, **options) -> list[str]:
    return [
        f"{each.rule} {each.node_id}".strip()
        for each in found(f"digraph g {{ {ENDS} {body} }}", **options)
        if each.severity == "error"
    ]


def with_type(name: str) -> NodeTypes:
    types = NodeTypes()
    types.register(name, lambda visit: None)
    return types


GEMINI = """digraph gemini {
  start [type=start]
  ask   [type=codergen, model="gemini:gemini-2.0-flash", prompt="{{.seed}}", max_turns=5]
  done  [type=exit]
  start -> ask -> done
}"""


@pytest.mark.row("S4-19", "S4-21", "P-113")
def test_the_line_of_a_pipeline_without_errors():
    graph = parse(GEMINI)
    assert lint(graph) == []
    assert summary(graph) == 'OK: pipeline "gemini" is valid (3 nodes, 2 edges)'


@pytest.mark.row("P-113")
def test_a_pipeline_of_the_other_dialect():
    graph = parse(
        """digraph Branch {
            graph [goal="Implement and validate"]
            node [shape=box, timeout="900s"]
            start [shape=Mdiamond, label="Start"]
            exit  [shape=Msquare, label="Exit"]
            plan  [label="Plan $goal", llm_provider=gemini, llm_model="gemini-3-pro-preview"]
            gate  [shape=diamond, label="Good?"]
            start -> plan -> gate
            gate -> exit [label="Yes", condition="outcome=success"]
            gate -> plan [label="No", condition="outcome!=success && context.tries!=3"]
        }"""
    )
    assert lint(graph) == []
    assert summary(graph) == 'OK: pipeline "Branch" is valid (4 nodes, 4 edges)'


@pytest.mark.row("P-100", "P-101")
def test_one_start_and_one_exit():
    assert [(each.rule, each.message) for each in found("digraph g { }")] == [
        ("start_node", "pipeline must have exactly one start node"),
        ("terminal_node", "pipeline must have exactly one exit node"),
    ]
    findings = found(
        "digraph g { a [type=start] b [shape=Mdiamond]\n c [type=exit] d [type=exit] e "
        "[type=exit] a -> c b -> d a -> e }"
    )
    assert [
        (each.rule, each.message, each.position.line, each.fix)
        for each in findings
        if each.severity == "error"
    ] == [
        ("start_node", "pipeline has 2 start nodes; exactly one required", 1, "they are a, b"),
        ("terminal_node", "pipeline has 3 exit nodes; exactly one required", 2, "they are c, d, e"),
    ]


@pytest.mark.row("P-15", "P-102")
def test_edges_to_and_from_unknown_nodes():
    assert told("start -> ask -> don; ask [type=set, key=k] ask -> done") == [
        ("edge_target_exists", "ask -> don", "edge references unknown target node 'don'"),
        (
            "edge_order",
            "ask -> done",
            "never taken: ask -> don comes first and has no condition",
        ),
    ]
    assert [each.fix for each in found(f"digraph g {{ {ENDS} start -> don -> done }}")] == [
        "did you mean 'done'?"
    ] * 2
    assert [each.fix for each in found(f"digraph g {{ {ENDS} start -> DONE }}") if each.edge] == [
        "did you mean 'done'?"
    ]
    assert told("start -> done; x -> done") == [
        ("edge_target_exists", "x -> done", "edge references unknown source node 'x'")
    ]
    by_hand = Graph(
        "g",
        {},
        {id: Node(id) for id in ("start", "exit")},
        (Edge("start", "exit"), Edge("exit", "nowhere")),
    )
    assert [each.rule for each in lint(by_hand)] == ["edge_target_exists", "exit_no_outgoing"]


@pytest.mark.row("P-103")
def test_nodes_that_are_not_reachable():
    body = "start -> done; a [type=set key=k] b [type=set key=k] a -> b -> done"
    assert told(body) == [
        ("reachability", id, "node is not reachable from start") for id in ("a", "b")
    ]
    assert errors("start -> a -> b -> a -> done; a [type=set key=k] b [type=set key=k]") == []


BRANCHES = "f [type=fan_out] a [type=set key=a] b [type=set key=b] j [type=fan_in]"


@pytest.mark.row("P-104")
def test_a_fan_out_needs_a_fan_in():
    assert errors(f"{BRANCHES} start -> f -> a -> j; f -> b -> j -> done") == []
    assert told(
        "f [type=fan_out] a [type=set key=a] b [type=set key=b] start -> f -> a -> done; "
        "f -> b -> done"
    ) == [("fan_in", "f", "fan_out node has no reachable fan_in node")]
    assert errors("f [shape=component] start -> f -> done") == ["fan_in f"]
    assert errors("f [type=fan_out] g [type=fan_out] start -> f -> done; start -> g -> done") == [
        "fan_in f",
        "fan_in g",
    ]
    assert errors("f [type=fan_out] start -> f; start -> done") == ["fan_in f"]
    assert told(f"{BRANCHES} start -> f -> a -> j -> done; f -> b -> done") == [
        ("fan_in", "f -> b", "this branch has no reachable fan_in node")
    ]


@pytest.mark.row("P-37", "P-104")
def test_a_fan_in_belongs_to_the_fan_out_next_to_it():
    nested = (
        f"{BRANCHES} g [type=fan_out] k [type=fan_in] c [type=set key=c] start -> f -> g -> a "
        "-> k; g -> b -> k; f -> c -> j -> done;"
    )
    assert errors(f"{nested} k -> j") == []
    assert errors(f"{nested} k -> done") == ["fan_in"]
    # One fan_in for both: it is the inner one's, and the outer has none.
    assert errors(
        "f [type=fan_out] g [type=fan_out] a [type=set key=a] j [type=fan_in] start -> f "
        "-> g -> a -> j -> done"
    ) == ["fan_in f"]
    # In a circle the depth does not grow without end.
    assert errors(
        "f [type=fan_out] a [type=set key=a] start -> f -> a -> f; a -> done [label=x]"
    ) == ["fan_in f"]


@pytest.mark.row("P-104")
def test_branches_that_meet_at_several_fan_ins():
    (finding,) = [
        each
        for each in found(
            f"digraph g {{ {ENDS} {BRANCHES} k [type=fan_in] start -> f -> a -> j -> "
            f"done; f -> b -> k -> done }}"
        )
        if each.severity == "error"
    ]
    assert finding.rule == "fan_in"
    assert "node 'f'" in finding.message
    assert "reach several" in finding.message


@pytest.mark.row("P-105")
@joined(
    ("node", "expected"),
    [
        (
            "[type=set, value=x]",
            [("required_attribute", "n", "missing required attribute 'key' for node type 'set'")],
        ),
        (
            '[type=set, key=" "]',
            [("required_attribute", "n", "missing required attribute 'key' for node type 'set'")],
        ),
        ("[type=set, key=k]", []),
        (
            "[type=codergen]",
            [("prompt_on_llm_nodes", "n", "node has no prompt: it runs only with a seed")],
        ),
        ("", [("prompt_on_llm_nodes", "n", "node has no prompt: it runs only with a seed")]),
        (
            '[prompt=""]',
            [("prompt_on_llm_nodes", "n", "node has no prompt: it runs only with a seed")],
        ),
        (
            '[prompt=" " label=" "]',
            [("prompt_on_llm_nodes", "n", "node has no prompt: it runs only with a seed")],
        ),
        ("[label=Plan]", []),
        ("[prompt=Plan]", []),
        ("[prompt=p, max_turns=5]", []),
        ('[prompt=p, max_turns="3"]', []),
        (
            "[prompt=p, max_turns=0]",
            [("attribute_value", "n", "max_turns: expected a whole number from 1 up, not '0'")],
        ),
        (
            "[prompt=p, max_turns=many]",
            [("attribute_value", "n", "max_turns: expected a whole number from 1 up, not 'many'")],
        ),
        ("[prompt=p, timeout=5m]", []),
        ('[prompt=p, timeout="900s"]', []),
        (
            "[prompt=p, timeout=0]",
            [("attribute_value", "n", "timeout: expected a time limit of more than 0, not 0")],
        ),
    ],
)
def test_attributes_of_nodes(node: str, expected: list[tuple[str, str, str]]):
    assert told(f"n {node} start -> n -> done") == expected


@pytest.mark.row("P-105")
def test_a_seed_stands_in_for_a_prompt():
    assert (
        found(
            'digraph g { start [type=start seed="a poem"] n [type=codergen] done '
            "[type=exit] start -> n -> done }"
        )
        == []
    )
    assert told("n [type=codergen] start -> n -> done", keys=["seed"]) == []


@pytest.mark.row("P-106")
@joined(
    ("attributes", "column"),
    [
        ('label="x =="', 5),
        ('label="[Y] Yes"', 1),
        ('label="Needs work"', 7),
        ('condition="outcome=success garbage"', 17),
        ('condition="&&", label="ok"', 1),
    ],
)
def test_conditions_that_do_not_parse(attributes: str, column: int):
    (finding,) = found(f"digraph g {{ {ENDS}\n  start -> done [{attributes}] }}")
    assert (finding.rule, finding.severity, finding.edge, finding.position) == (
        "condition_syntax",
        "error",
        ("start", "done"),
        Position(2, 3),
    )
    assert f": column {column}: unexpected " in finding.message
    assert bool(finding.fix) == attributes.startswith("label")


@pytest.mark.row("P-106", "P-61")
def test_a_label_beside_a_condition_is_a_caption():
    assert told('start -> done [label="[Y] Yes, please", condition="outcome=success"]') == []


@pytest.mark.row("P-107", "S4-01")
@joined(
    ("attributes", "message"),
    [
        (
            "model=gpt",
            "model: 'gpt': missing 'provider:model-name' format, such as 'gemini:gemini-3.8-flash'",
        ),
        ('model=":gpt"', "model: ':gpt': empty provider name"),
        ('model="openai:"', "model: 'openai:': empty model name"),
        (
            "llm_model=gpt",
            "model: 'gpt': missing 'provider:model-name' format, such as 'gemini:gemini-3.8-flash'",
        ),
        ("llm_provider=openai", "model: 'openai:': empty model name"),
    ],
)
def test_models_are_provider_and_model(attributes: str, message: str):
    (finding,) = found(f"digraph g {{ {ENDS} n [prompt=x, {attributes}] start -> n -> done }}")
    assert (finding.rule, finding.severity, finding.node_id, finding.message) == (
        "model_name",
        "error",
        "n",
        message,
    )


@pytest.mark.row("P-107")
def test_each_node_is_looked_at():
    nodes = (
        "a [prompt=x] b [prompt=x model=gpt] c [prompt=x model=claude] d [prompt=x model=gemini:x]"
    )
    assert errors(f"{nodes} start -> a -> b -> c -> d -> done") == ["model_name b", "model_name c"]


@pytest.mark.row("P-107")
def test_only_nodes_that_ask_a_model_have_one():
    assert told("node [model=nonsense] a [type=set key=k] start -> a -> done") == []


@pytest.mark.row("P-108", "S4-21")
def test_unknown_providers_are_warnings():
    (finding,) = found(
        f'digraph g {{ {ENDS} n [prompt=x, model="gemnii:x:y"] start -> n -> done }}'
    )
    assert (finding.rule, finding.severity, finding.message) == (
        "provider_known",
        "warning",
        "unknown provider 'gemnii'",
    )
    assert finding.fix == "did you mean 'gemini'?"
    for model in ("openai:ft:gpt-4o:org::id", "kimi@cn:kimi-k2.6", "gemini:gemini-2.0-flash"):
        assert told(f'n [prompt=x, model="{model}"] start -> n -> done') == []


@pytest.mark.row("P-109")
def test_nothing_leads_to_start_or_from_exit():
    assert told("a [type=set key=k] start -> a -> done; a -> start [label=again]; done -> a") == [
        ("start_no_incoming", "a -> start", "the start node has an incoming edge"),
        (
            "edge_order",
            "a -> start",
            "never taken: a -> done comes first and has no condition",
        ),
        ("exit_no_outgoing", "done -> a", "the exit node has an outgoing edge"),
    ]


@pytest.mark.row("P-110")
@joined(
    ("body", "missing"),
    [
        ('n [type=set key=k value="{{.seed}} {{.start_time}}"] start -> n -> done', []),
        ('n [type=set key=k value="{{.k}}"] start -> n -> done', ["k"]),
        (
            'n [prompt="{{.a}} {{.b}} {{.a}}" system_prompt="{{.c}}"] start -> n -> done',
            ["a", "b", "c"],
        ),
        ('m [type=set key=a] n [prompt="{{.a}}"] start -> m -> n -> done', []),
        ('m [type=set key=a] n [prompt="{{.a}}"] start -> n -> m -> done', ["a"]),
        (
            'm [prompt=x] n [prompt="{{.last_output}} {{.m_output}} {{.n_output}}"] '
            "start -> m -> n -> done",
            ["n_output"],
        ),
        ('m [type="wait.human"] n [prompt="{{.m_response}}"] start -> m -> n -> done', []),
        (
            'm [type="wait.human" key=said] n [prompt="{{.said}} {{.m_response}}"] start '
            "-> m -> n -> done",
            ["m_response"],
        ),
        ('m [type="wait.human" prompt="{{.x}}" options="{{.y}}"] start -> m -> done', ["x", "y"]),
        ('m [label="{{.x}}" prompt="p"] start -> m -> done', []),
        ('m [label="{{.x}}" prompt=" "] start -> m -> done', ["x"]),
        ('m [type="wait.human" key=" "] n [prompt="{{.m_response}}"] start -> m -> n -> done', []),
        # In a circle what comes later comes before.
        (
            'a [prompt="{{.b_output}}"] b [prompt=x] start -> a -> b; b -> a '
            "[label=again] b -> done",
            [],
        ),
        # Branches do not see each other; after they met, they do.
        (
            f'{BRANCHES} a [value="{{{{.b}}}}"] z [type=set key=z value="{{{{.a}}}} {{{{.b}}}}"]'
            " start -> f -> a -> j; f -> b -> j -> z -> done",
            ["b"],
        ),
    ],
)
def test_templates_that_use_what_nobody_sets(body: str, missing: list[str]):
    findings = [
        each
        for each in found(f"digraph g {{ {ENDS} {body} }}", keys=())
        if each.rule == "template_key"
    ]
    assert [each.message for each in findings] == [
        f"its template uses {key!r}, which no node before it sets" for key in missing
    ]
    assert {each.severity for each in findings} <= {"warning"}
    assert errors(body) == []


@pytest.mark.row("P-110")
def test_variables_and_nodes_of_others_set_keys_too():
    body = 'n [type=set key=k value="{{.city}}"] start -> n -> done'
    assert told(body, keys=["city"]) == []
    assert (
        told(
            f"h [type=http] start -> h -> n; {body.replace('start -> ', '')}",
            types=with_type("http"),
        )
        == []
    )
    behind_and_before = (
        'a [prompt="{{.x}}"] b [prompt="{{.y}}"] h [type=http] start -> b -> h -> a -> done'
    )
    assert [about for _, about, _ in told(behind_and_before, types=with_type("http"))] == ["b"]


@pytest.mark.row("P-52", "P-106")
def test_templates_that_are_none():
    (finding,) = found(f'digraph g {{ {ENDS} n [prompt="{{{{if .x}}}}"] start -> n -> done }}')
    assert (finding.rule, finding.severity, finding.node_id) == ("template_syntax", "error", "n")
    assert finding.message == "unsupported template syntax '{{if .x}}': only {{.key}} is"


@pytest.mark.row("P-111", "P-44")
def test_unknown_types():
    (finding,) = found(f"digraph g {{ {ENDS} n [type=codegen] start -> n -> done }}")
    assert (finding.rule, finding.severity, finding.node_id, finding.message) == (
        "type_known",
        "error",
        "n",
        "unknown type 'codegen'",
    )
    assert finding.fix == "did you mean 'codergen'?"
    assert told("n [shape=parallelogram] start -> n -> done") == [
        ("type_known", "n", "unknown type 'tool', by its shape parallelogram")
    ]
    assert told("n [type=http] start -> n -> done", types=with_type("http")) == []


@pytest.mark.row("P-112")
def test_all_findings_at_once_in_the_order_of_the_file():
    text = """digraph g {
  done [type=exit]
  lost [type=set, key=k]
  bad  [type=sset]
  start -> bad -> missing
  bad -> done [label="x =="]
  empty [type=set]
  start -> empty
  done -> empty
  start [type=start]
}"""
    findings = found(text)
    assert [str(each) for each in findings] == [
        "line 3, column 3: error: node 'lost': node is not reachable from start "
        "[reachability] (give it an incoming edge, or remove it)",
        "line 3, column 3: warning: node 'lost': node has no outgoing edge: the run ends "
        "there [path_to_exit]",
        "line 4, column 3: error: node 'bad': unknown type 'sset' [type_known] (did you "
        "mean 'set'?)",
        "line 5, column 12: error: edge bad -> missing: edge references unknown target "
        "node 'missing' [edge_target_exists] "
        "(declare it: missing [type=...])",
        "line 6, column 3: error: edge bad -> done: condition 'x ==': column 5: "
        "unexpected end: expected a value: a word, or a text in "
        "quotes [condition_syntax] (a label is a condition; to use it as a "
        "caption, add the attribute condition)",
        "line 6, column 3: warning: edge bad -> done: never taken: bad -> missing comes "
        "first and has no condition [edge_order]",
        "line 7, column 3: error: node 'empty': missing required attribute 'key' for "
        "node type 'set' [required_attribute]",
        "line 7, column 3: warning: node 'empty': node has no outgoing edge: the run "
        "ends there [path_to_exit]",
        "line 8, column 3: warning: edge start -> empty: never taken: start -> bad "
        "comes first and has no condition [edge_order]",
        "line 9, column 3: error: edge done -> empty: the exit node has an outgoing edge "
        "[exit_no_outgoing]",
    ]
    assert lint(parse(text)) == findings


@pytest.mark.row("P-112")
@pytest.mark.sampled
def test_random_graphs_are_linted_the_same_each_time():
    types = [*sorted(NODE_TYPES.runnable), "unknown"]
    for seed in sample(range(200)):
        choice = random.Random(seed)
        ids = [f"n{number}" for number in range(choice.randint(1, 8))]
        nodes = [
            f'{id} [type="{choice.choice(types)}", key=k{choice.randint(0, 2)}, '
            f'value="{{{{.k{choice.randint(0, 2)}}}}}"]'
            for id in ids
        ]
        arrows = [
            f"{choice.choice(ids)} -> {choice.choice([*ids, 'gone'])} "
            f'[label="{choice.choice(["", "_", "a == b", "a b"])}"]'
            for _ in range(choice.randint(0, 14))
        ]
        text = f"digraph g {{ {' '.join(nodes)} {' '.join(arrows)} }}"
        findings = found(text)
        assert [str(each) for each in findings] == [str(each) for each in found(text)]
        places = [(each.position.line, each.position.column) for each in findings]
        assert places == sorted(places)
        unknown = [
            id for id, node in parse(text).nodes.items() if node.declared and node.type == "unknown"
        ]
        assert [each.node_id for each in findings if each.rule == "type_known"] == unknown
        assert sum(each.rule == "condition_syntax" for each in findings) == sum(
            '"a b"' in arrow for arrow in arrows
        )
        assert sum(each.rule == "edge_target_exists" for each in findings) == sum(
            "-> gone" in arrow for arrow in arrows
        )


@pytest.mark.row("P-114", "S4-21")
def test_lint_builds_no_client_and_needs_no_key():
    program = (
        "import sys\n"
        "from wire.pipeline.dot import parse\nfrom wire.pipeline.linting import lint, summary\n"
        f"graph = parse({GEMINI!r})\nassert lint(graph) == []\nprint(summary(graph))\n"
        "print([name for name in ('httpx', 'anyio', 'asyncio', 'socket', 'ssl') if name "
        "in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={"PATH": ""},
        check=True,
    )
    assert done.stdout.splitlines() == ['OK: pipeline "gemini" is valid (3 nodes, 2 edges)', "[]"]


@pytest.mark.row("P-116")
def test_a_finding_says_rule_severity_place_and_what_to_do():
    (finding,) = found(f"digraph g {{\n{ENDS}\n  n [type=sett] start -> n -> done }}")
    assert finding == Finding(
        rule="type_known",
        severity="error",
        message="unknown type 'sett'",
        node_id="n",
        position=Position(3, 3),
        fix="did you mean 'set'?",
    )


@pytest.mark.row("P-67", "P-117")
def test_nodes_from_which_no_path_leads_to_exit():
    assert told(
        "a [type=set key=k] b [type=set key=k] start -> a -> b -> a; start -> done [label=x]"
    ) == [
        ("path_to_exit", "a", "no path leads from this node to exit"),
        ("path_to_exit", "b", "no path leads from this node to exit"),
        (
            "edge_order",
            "start -> done",
            "never taken: start -> a comes first and has no condition",
        ),
    ]
    (finding,) = found(
        f"digraph g {{ {ENDS} a [type=set key=k] start -> a [label=x] start -> done }}"
    )
    assert (finding.severity, finding.node_id, finding.message) == (
        "warning",
        "a",
        "node has no outgoing edge: the run ends there",
    )


@pytest.mark.row("P-118")
def test_edges_after_one_without_a_condition():
    never = "never taken: start -> a comes first and has no condition"
    nodes = "a [type=set key=k] a -> done;"
    assert told(f"{nodes} start -> a; start -> done [label=x]") == [
        ("edge_order", "start -> done", never)
    ]
    assert told(f"{nodes} start -> a [label=_] start -> done [condition=x]") == [
        ("edge_order", "start -> done", never)
    ]
    assert told(f"{nodes} start -> done [label=x] start -> a") == []
    assert (
        found(f"digraph g {{ {ENDS} {nodes} start -> a; start -> done }}")[0].severity == "warning"
    )
    assert told(f"{BRANCHES} start -> f -> a -> j; f -> b -> j -> done") == []


@pytest.mark.row("S4-22")
def test_three_providers_in_sequence():
    text = """digraph multi_provider {
        start [type=start]
        plan [type=codergen, model="anthropic:claude-sonnet-4-6", prompt="Plan: {{ .seed }}"]
        impl [type=codergen, model="openai:gpt-4o", prompt="Plan:\\n{{ .plan_output }}"]
        review [type=codergen, model="gemini:gemini-2.0-flash", max_turns="3",
            prompt="{{ .impl_output }} {{.last_output}}"]
        done [type=exit]
        start -> plan -> impl -> review -> done
    }"""
    assert [each for each in found(text) if each.severity == "error"] == []
    assert summary(parse(text)) == 'OK: pipeline "multi_provider" is valid (5 nodes, 4 edges)'


# --- keys of conditions, and models ---------------------------------------------------------------


@pytest.mark.row("P-110")
@joined(
    ("condition", "missing"),
    [
        ("n_output == yes && last_output != no", []),
        ("verdict == yes || !(n_ouput == no)", ["n_ouput", "verdict"]),
        ("outcome=success && preferred_label=x", []),
        ("context.tries != 3", []),
        ("seed && start_time && tone", []),
        ("later == 1", ["later"]),
    ],
)
def test_conditions_that_read_what_nobody_sets(condition: str, missing: list[str]):
    body = (
        "n [type=codergen prompt=p] m [type=set key=later] start -> n "
        f'n -> done [label="{condition}"] n -> m -> done'
    )
    findings = found(f"digraph g {{ {ENDS} {body} }}", keys=("tone",))
    assert [(each.rule, each.severity, each.edge) for each in findings] == [
        ("condition_key", "warning", ("n", "done")) for _ in missing
    ]
    assert [each.message for each in findings] == [
        f"its condition reads {key!r}, which no node before it sets" for key in missing
    ]
    fixes = {"n_ouput": "did you mean 'n_output'?"}
    assert [each.fix for each in findings] == [
        fixes.get(key, f"set it in a node before, or run with --var {key}=...") for key in missing
    ]


def test_a_handler_whose_keys_are_not_known_may_set_the_keys_of_a_condition():
    body = (
        "h [type=http] start -> h h -> done [label=verdict] h -> n [label=_] n [prompt=p] n -> done"
    )
    assert told(body, types=with_type("http")) == []
    assert [rule for rule, _, _ in told(body.replace("[type=http]", "[type=set key=k]"))] == [
        "condition_key"
    ]


def test_a_node_without_a_model_runs_only_with_a_model_of_the_command_line():
    (finding,) = found(f"digraph g {{ {ENDS} n [prompt=p] start -> n -> done }}", model="")
    assert (finding.rule, finding.severity, finding.node_id) == ("model_missing", "warning", "n")
    assert finding.message == "node names no model: it runs only with --model"
    assert told('n [prompt=p model="gemini:g"] start -> n -> done', model="") == []
    assert told("n [prompt=p] start -> n -> done", model="gemini:g") == []
    assert told("n [type=set key=k] start -> n -> done", model="") == []


def test_a_model_that_ends_soon_is_a_warning():
    node = 'n [prompt=x, model="gemini:gemini-2.5-pro"]'
    graph = parse(f"digraph g {{ {ENDS} {node} start -> n -> done }}")
    told_on = {
        day: [each.message for each in lint(graph, date=day) if each.rule == "model_ends"]
        for day in ("", "2026-09-01", "2026-11-28", "2026-12-24")
    }
    then = "gemini-3.8-flash answers in its place"
    assert told_on == {
        "": [],
        "2026-09-01": [],
        "2026-11-28": [f"gemini-2.5-pro ends on 2026-12-01; {then}"],
        "2026-12-24": [f"gemini-2.5-pro ended on 2026-12-01; {then}"],
    }
