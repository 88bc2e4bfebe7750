"""Runs: the way through the graph, branches, circles, time limits. On asyncio and trio."""

from __future__ import annotations

import random
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.joined import joined
from tests.pipeline.pipelines import BACKENDS, Seen, run
from wire.errors import ConfigurationError, PipelineError
from wire.pipeline.checkpoint import load_checkpoint
from wire.pipeline.codergen import connect
from wire.pipeline.context import Context, variables
from wire.pipeline.dot import parse
from wire.pipeline.engine import Engine, LintError, NodeError
from wire.pipeline.handlers import Visit
from wire.pipeline.progress import Event, Progress
from wire.pipeline.routing import fan_ins, following

HEAD = "start [type=start]; done [type=exit];"


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# --- routing --------------------------------------------------------------------------------------


@pytest.mark.row("P-60", "P-62", "P-63")
@joined(
    ("context", "target"),
    [
        ({"mood": "good"}, "a"),
        ({"mood": "bad"}, "b"),
        ({"mood": "so so"}, "c"),
        ({}, "c"),
        ({"mood": "good", "late": "1"}, "late"),
    ],
)
def test_the_first_edge_whose_label_holds_is_taken(context: dict[str, str], target: str) -> None:
    edges = """n -> late [label="late"]; n -> a [label="mood == 'good'"];
        n -> b [label="mood == bad"]; n -> c [label="_"]; n -> d"""
    graph = parse(f"digraph x {{ {edges} }}")
    assert following(graph, "n", context) == target


@pytest.mark.row("P-61")
def test_beside_a_condition_a_label_is_a_caption() -> None:
    graph = parse(
        'digraph x { n -> a [label="Not good", condition="context.mood=bad"]; n -> b '
        '[label="else", condition="outcome=success"] }'
    )
    assert (following(graph, "n", {"mood": "bad"}), following(graph, "n", {})) == ("a", "b")


@pytest.mark.row("P-66")
def test_no_edge_that_can_be_taken_is_an_error(backend: str) -> None:
    edges = 'start -> n; n -> done [label="mood == good"]; n -> m [label="mood == bad"]; m -> done;'
    text = f"digraph x {{ {HEAD} n [type=conditional]; m [type=set, key=k]; {edges} }}"
    with pytest.raises(PipelineError) as caught:
        run(backend, text, {"mood": "none"})
    assert str(caught.value) == (
        "no outgoing edge condition matched for node 'n': done needs mood == good; m needs "
        "mood == bad; mood is 'none'"
    )


@pytest.mark.row("P-66")
def test_the_error_of_an_unmet_condition_shows_the_answer_and_the_values(
    backend: str,
) -> None:
    edges = """start -> n; n -> done [label="n_output == yes && !late"];
        n -> m [label="verdict == no || n_output == maybe"]; m -> done"""
    text = f'digraph x {{ {HEAD} n [model="gemini:g", prompt=p]; m [type=set, key=k]; {edges} }}'
    answer = "Well, that depends.\nOn what? " + "x" * 400
    with pytest.raises(PipelineError) as caught:
        run(backend, text, {"late": ""}, script=[{"say": answer}])
    assert str(caught.value).startswith(
        "no outgoing edge condition matched for node 'n': done needs n_output == yes && !late; "
        "m needs verdict == no || n_output == maybe; n_output is 'Well, that depends. On what? xxx"
    )
    assert str(caught.value).endswith("xxx', late is '', verdict is not set")
    assert len(str(caught.value)) < 520


@pytest.mark.row("P-67")
def test_a_run_ends_at_a_node_that_leads_nowhere(backend: str) -> None:
    told: list[Event] = []
    text = (
        f'digraph x {{ {HEAD} n [type=set, key=k, value=v]; start -> n [label="dead"]; start '
        f"-> done }}"
    )
    ended = run(backend, text, {"dead": "yes"}, report=told.append)
    assert (ended.last_node_id, ended.context) == (
        "n",
        {"dead": "yes", "start_time": "now", "k": "v"},
    )
    assert [(event.kind, event.node.id) for event in told] == [
        ("started", "start"),
        ("completed", "start"),
        ("started", "n"),
        ("completed", "n"),
        ("ended", "n"),
    ]


@pytest.mark.row("P-72")
def test_a_node_is_visited_fifty_times_and_no_more(backend: str) -> None:
    seen = Seen()
    text = f'digraph x {{ {HEAD} n [type=seen]; start -> n; n -> done [label="stop"]; n -> n }}'
    with pytest.raises(NodeError, match=r"^node 'n': visited more than 50 times") as caught:
        run(backend, text, types={"seen": seen})
    assert (len(seen.nodes), caught.value.node_id) == (50, "n")


@pytest.mark.row("P-23", "P-24")
def test_start_and_exit_store_seed_and_times(backend: str) -> None:
    text = 'digraph x { start [type=start, seed="of the node"]; done [type=exit]; start -> done }'
    assert run(backend, text).context == {
        "seed": "of the node",
        "start_time": "now",
        "exit_time": "now",
    }
    assert run(backend, text, {"seed": "given"}).context["seed"] == "given"
    assert run(backend, text, {"seed": ""}).context["seed"] == ""
    assert "seed" not in run(backend, f"digraph x {{ {HEAD} start -> done }}").context


# --- branches -------------------------------------------------------------------------------------

FAN = (
    f"digraph x {{ {HEAD} fan [type=fan_out]; join [type=fan_in]; start -> fan; fan -> a; "
    "fan -> b; fan -> c; "
    "a -> join; b -> join; c -> join; join -> done; "
)


@pytest.mark.row("P-34")
def test_branches_run_at_once_each_with_a_context_of_its_own(backend: str) -> None:
    inside = 0
    together = anyio.Event

    def make() -> Any:
        state: dict[str, Any] = {}

        async def meet(visit: Visit) -> dict[str, Any]:
            nonlocal inside
            inside += 1
            all_there = state.setdefault("event", together())
            if inside == 3:
                all_there.set()
            await all_there.wait()  # nobody gets past it unless all three are running
            visit.context["mine"] = visit.node.id
            await anyio.lowlevel.checkpoint()
            return {visit.node.id: visit.context["mine"]}

        return meet

    ended = run(
        backend, FAN + "a [type=meet]; b [type=meet]; c [type=meet] }", types={"meet": make()}
    )
    assert {key: ended.context[key] for key in "abc"} == {"a": "a", "b": "b", "c": "c"}


@pytest.mark.row("P-35")
def test_the_last_branch_in_the_file_wins_and_none_undoes_another(backend: str) -> None:
    text = (
        FAN + "a [type=set, key=old, value=new]; b [type=set, key=both, value=b]; c [type=set, "
        'key=both, value="{{.old}}"] }'
    )
    context = run(backend, text, {"old": "old"}).context
    assert (context["old"], context["both"]) == ("new", "old")


@pytest.mark.row("P-36")
def test_all_branches_are_awaited_and_all_failures_told(backend: str) -> None:
    seen = Seen({"a": ValueError("no a"), "c": PipelineError("no c")})
    text = (
        FAN.replace("b -> join", "b -> b2 -> b3 -> join")
        + "".join(f"{id} [type=seen];" for id in ("a", "b", "b2", "b3", "c"))
        + "}"
    )
    with pytest.raises(NodeError) as caught:
        run(backend, text, types={"seen": seen})
    assert (
        str(caught.value)
        == "node 'fan': 2 of 3 branches failed: node 'a': ValueError: no a; node 'c': no c"
    )
    assert seen.nodes == ["b", "b2", "b3"]


@pytest.mark.row("P-37")
def test_an_inner_fan_in_belongs_to_the_inner_fan_out(backend: str) -> None:
    seen = Seen()
    text = f"""digraph x {{ {HEAD}
        outer [type=fan_out]; inner [type=fan_out];
        inner_join [type=fan_in]; outer_join [type=fan_in];
        a [type=seen]; b [type=seen]; c [type=seen]; between [type=seen]; after [type=seen];
        start -> outer; outer -> inner; outer -> c -> outer_join;
        inner -> a -> inner_join; inner -> b -> inner_join;
        inner_join -> between -> outer_join -> after -> done }}"""
    assert fan_ins(parse(text)) == {"outer": "outer_join", "inner": "inner_join"}
    run(backend, text, types={"seen": seen})
    assert sorted(seen.nodes) == ["a", "after", "b", "between", "c"]
    assert seen.nodes[-1] == "after"
    assert seen.nodes.index("between") > max(seen.nodes.index("a"), seen.nodes.index("b"))


def _nested(
    dice: random.Random, depth: int, names: list[str], pairs: dict[str, str], lines: list[str]
) -> tuple[str, str]:
    """A piece of a pipeline: its first and its last node.

    Fan_outs are bracketed as they should be found.
    """
    id = f"n{len(names)}"
    names.append(id)
    if depth == 0 or dice.random() < 0.3:
        lines.append(f"{id} [type=conditional];")
        return id, id
    if dice.random() < 0.5:
        lines.append(f"{id} [type=conditional];")
        first, last = _nested(dice, depth - 1, names, pairs, lines)
        lines.append(f"{id} -> {first};")
        return id, last
    lines.append(f"{id} [type=fan_out]; {id}_in [type=fan_in];")
    pairs[id] = f"{id}_in"
    for _ in range(dice.randint(1, 3)):
        if dice.random() < 0.2:
            lines.append(f"{id} -> {id}_in;")
            continue
        first, last = _nested(dice, depth - 1, names, pairs, lines)
        lines.append(f"{id} -> {first}; {last} -> {id}_in;")
    return id, f"{id}_in"


@pytest.mark.row("P-37")
@joined("seed", range(60))
def test_fan_outs_and_fan_ins_are_paired_as_brackets_are(seed: int) -> None:
    names: list[str] = []
    pairs: dict[str, str] = {}
    lines: list[str] = []
    _nested(random.Random(seed), 5, names, pairs, lines)
    random.Random(seed).shuffle(lines)
    assert fan_ins(parse(f"digraph x {{ {' '.join(lines)} }}")) == pairs


@pytest.mark.row("P-37", "P-104")
@joined(
    ("edges", "said"),
    [
        (
            "fan -> a -> join; fan -> b -> join2; join -> done; join2 -> done;",
            "but they reach several: join, join2",
        ),
        (
            "fan -> a -> done; fan -> b -> done; start -> join -> join2 -> done;",
            "but they reach none",
        ),
        ("fan -> a -> join -> a;  fan -> b -> join -> join2 -> done;", None),
        (
            "fan -> fan2 -> a -> join -> join2 -> done; fan -> b -> a;",
            "paths of different depth lead to 'a'",
        ),
        (
            "fan -> fan2 -> a -> join; fan -> b -> join -> join2 -> done;",
            "but they reach several: join, join2",
        ),
    ],
)
def test_what_cannot_be_paired_is_an_error(edges: str, said: str | None) -> None:
    nodes = (
        "fan [type=fan_out]; fan2 [type=fan_out]; join [type=fan_in]; join2 [type=fan_in]; a "
        "[type=set, key=k]; b [type=set, key=k];"
    )
    if "fan2 ->" not in edges:
        nodes = nodes.replace("fan2 [type=fan_out];", "")
    graph = parse(f"digraph x {{ {HEAD} {nodes} start -> fan; {edges} }}")
    if said is None:
        assert fan_ins(graph) == {"fan": "join"}
    else:
        with pytest.raises(PipelineError, match=said):
            fan_ins(graph)


@pytest.mark.row("P-38")
@pytest.mark.parametrize(
    ("edge", "said"),
    [
        (
            'b -> done [label="out"]',
            "node 'done': a branch reached the exit before its fan_in 'join'",
        ),
        ('b -> e [label="out"]', "node 'e': a branch ended here"),
    ],
)
def test_a_branch_that_never_comes_to_its_fan_in_is_an_error(
    backend: str, edge: str, said: str
) -> None:
    text = (
        FAN.replace("b -> join", f"{edge}; b -> join")
        + "".join(f"{id} [type=set, key={id}];" for id in ("a", "b", "c", "e"))
        + ("}" if "-> e" in edge else "start -> e [label=never] }")
    )
    with pytest.raises(NodeError, match=said) as caught:
        run(backend, text, {"out": "yes"})
    assert caught.value.node_id == "fan"
    assert run(backend, text).last_node_id == "done"


# --- failures, time limits ------------------------------------------------------------------------


@pytest.mark.row("P-45")
def test_what_a_handler_raises_fails_its_node(backend: str) -> None:
    told: list[Event] = []
    with pytest.raises(NodeError) as caught:
        run(
            backend,
            f"digraph x {{ {HEAD} n [type=seen]; start -> n -> done }}",
            types={"seen": Seen({"n": KeyError("x")})},
            report=told.append,
        )
    assert (str(caught.value), caught.value.node_id) == ("node 'n': KeyError: 'x'", "n")
    assert isinstance(caught.value.__cause__, KeyError)
    assert (told[-1].kind, told[-1].message) == ("failed", "node 'n': KeyError: 'x'")


@pytest.mark.row("P-44")
def test_handlers_may_be_replaced_and_may_be_plain_functions(backend: str) -> None:
    text = f"digraph x {{ {HEAD} n [type=set, key=k, value=v]; start -> n -> done }}"
    assert (
        run(backend, text, types={"set": lambda visit: {"k": visit.text("value") * 2}}).context["k"]
        == "vv"
    )
    without_model = text.replace("type=set", "prompt=p")
    assert (
        run(
            backend, without_model, types={"codergen": lambda visit: {"k": "mine"}}, connect=connect
        ).context["k"]
        == "mine"
    )


@pytest.mark.row("P-94")
def test_values_that_json_cannot_say_fail_the_node_and_name_the_key(backend: str) -> None:
    for value, said in (
        (object(), "expected a JSON value, not object"),
        (float("nan"), "nan is not a JSON number"),
    ):
        with pytest.raises(NodeError, match=rf"^node 'n': context: bad\.x\[0\]: {said}$"):
            run(
                backend,
                f"digraph x {{ {HEAD} n [type=odd]; start -> n -> done }}",
                types={"odd": lambda visit, value=value: {"bad": {"x": [value]}}},
            )


class Sleeper:
    """A handler that never ends; it counts how many are in it."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0

    async def __call__(self, visit: Visit) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await anyio.sleep_forever()
        finally:
            self.inside -= 1


@pytest.mark.row("P-75")
def test_a_time_limit_cancels_everything_that_runs(backend: str) -> None:
    sleeper = Sleeper()
    text = FAN + "a [type=sleep]; b [type=sleep]; c [type=set, key=k] }"
    with pytest.raises(
        PipelineError, match=r"^timeout: the pipeline took longer than 0.1 s and was cancelled$"
    ):
        run(backend, text, types={"sleep": sleeper}, timeout="100ms")
    assert (sleeper.most, sleeper.inside) == (2, 0)


@pytest.mark.row("P-75")
def test_a_node_has_a_time_limit_of_its_own(backend: str) -> None:
    sleeper = Sleeper()
    with pytest.raises(
        NodeError, match=r"^node 'n': timeout: the node took longer than 0.02 s and was cancelled$"
    ):
        run(
            backend,
            f"digraph x {{ {HEAD} n [type=sleep, timeout=20ms]; start -> n -> done }}",
            types={"sleep": sleeper},
        )
    assert (sleeper.most, sleeper.inside) == (1, 0)


def test_a_time_limit_that_is_not_reached_changes_nothing(backend: str) -> None:
    assert run(backend, f"digraph x {{ {HEAD} start -> done }}", timeout=60).last_node_id == "done"


@pytest.mark.row("P-75")
@joined("timeout", ["0s", "soon", -1, ""])
def test_what_is_no_time_limit_is_refused(timeout: Any) -> None:
    with pytest.raises(PipelineError):
        Engine(parse(f"digraph x {{ {HEAD} start -> done }}"), timeout=timeout)


@pytest.mark.row("P-112")
def test_an_engine_takes_no_pipeline_with_errors_and_tells_all_of_them() -> None:
    with pytest.raises(LintError) as caught:
        Engine(parse("digraph x { start [type=start]; start -> nowhere; odd [type=odd] }"))
    assert len(caught.value.findings) >= 3
    assert {finding.severity for finding in caught.value.findings} == {"error"}


@pytest.mark.row("S4-03", "S4-20")
def test_every_missing_key_is_named_before_the_first_node_runs(backend: str) -> None:
    seen = Seen()
    nodes = 'first [type=seen]; a [model="gemini:g", prompt=p]; b [model="openai:o", prompt=p];'
    text = f"digraph x {{ {HEAD} {nodes} start -> first -> a -> b -> done }}"
    with pytest.raises(ConfigurationError) as caught:
        run(backend, text, types={"seen": seen}, connect=connect)
    assert "node 'a': gemini: GEMINI_API_KEY environment variable not set" in str(caught.value)
    assert "GEMINI_API_KEY" in str(caught.value)
    assert "OPENAI_API_KEY" in str(caught.value)
    assert seen.nodes == []


@pytest.mark.row("P-29")
def test_a_node_without_a_model_needs_that_of_the_run() -> None:
    graph = parse(f"digraph x {{ {HEAD} n [type=codergen, prompt=p]; start -> n -> done }}")
    with pytest.raises(PipelineError, match=r"^node 'n': no model"):
        Engine(graph)
    with pytest.raises(PipelineError, match=r"missing 'provider:model-name' format"):
        Engine(graph, model="gpt")
    assert Engine(graph, model="openai:gpt").model == "openai:gpt"


# --- the context ----------------------------------------------------------------------------------


@pytest.mark.row("P-54")
def test_nobody_changes_a_context_from_outside() -> None:
    given: dict[str, Any] = {"list": [1, {"deep": "a"}]}
    context = Context(given)
    given["list"].append(2)
    clone, snapshot = context.clone(), context.snapshot()
    context["list"][1]["deep"] = "changed"
    snapshot["list"][1]["deep"] = "changed"
    clone["list"] = []
    assert context.snapshot() == {"list": [1, {"deep": "a"}]}
    context["tuple"] = (1, 2)
    assert context["tuple"] == [1, 2]
    with pytest.raises(PipelineError, match=r"expected a non-empty text as key"):
        context[1] = "x"  # type: ignore[index]


@pytest.mark.row("P-55")
def test_variables_seed_then_file_then_assignments() -> None:
    assert variables("s", '{"seed": "f", "a": [1], "b": 1}', ["b=2", "c=x=y", "d="]) == {
        "seed": "f",
        "a": [1],
        "b": "2",
        "c": "x=y",
        "d": "",
    }
    for bad in ("=x", "x", " =x", ""):
        with pytest.raises(PipelineError, match=r"--var: expected key=value"):
            variables(None, None, [bad])
    for bad in ("[1]", "nul", "3", b"\xff"):
        with pytest.raises(PipelineError, match=r"--var-file"):
            variables(None, bad)


# --- what is told ---------------------------------------------------------------------------------


class Out:
    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


def test_progress_is_lines_in_a_log_and_a_line_for_each_node_on_a_terminal() -> None:
    graph = parse(f"digraph x {{ {HEAD} start -> done }}")
    events = [
        Event("started", graph.nodes["start"]),
        Event("completed", graph.nodes["start"], 0.04),
        Event("failed", graph.nodes["done"], 2.0, "why"),
    ]
    for terminal, wanted in (
        (
            False,
            "started   start (start)\ncompleted start (start) in 0.0 s\nfailed    done "
            "(exit) in 2.0 s\n",
        ),
        (
            True,
            "\r\x1b[K… start\r\x1b[K\x1b[32m✓\x1b[0m start (start) in 0.0 "
            "s\n\r\x1b[K\x1b[31m✗\x1b[0m done (exit) in 2.0 s\n",
        ),
    ):
        out = Out()
        told = Progress(out, terminal=terminal)  # type: ignore[arg-type]
        for event in events:
            told(event)
        assert out.text == wanted


@pytest.mark.row("P-87")
def test_a_checkpoint_of_another_pipeline_is_refused(backend: str) -> None:
    with pytest.raises(
        PipelineError, match=r"^checkpoint: its last node 'gone' is not in pipeline 'x'$"
    ):
        run(
            backend,
            f"digraph x {{ {HEAD} start -> done }}",
            begin=load_checkpoint('{"last_node_id": "gone", "data": {}}'),
        )


@pytest.mark.row("P-46")
@pytest.mark.parametrize("backend", BACKENDS)
def test_one_engine_runs_many_times_at_once_and_nothing_mixes(backend: str) -> None:
    text = """digraph g {
        start [type=start] fork [type=fan_out] join [type=fan_in] done [type=exit]
        a [type=set, key=left, value="{{.n}} left"] b [type=set, key=right, value="{{.n}} right"]
        start -> fork fork -> a -> join fork -> b -> join join -> done
    }"""
    engine = Engine(parse(text, "test"))
    contexts: dict[int, dict[str, Any]] = {}

    async def one(n: int) -> None:
        contexts[n] = dict((await engine.run({"n": str(n)})).context)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for n in range(20):
                group.start_soon(one, n)

    anyio.run(main, backend=backend)
    assert {n: (context["left"], context["right"]) for n, context in contexts.items()} == {
        n: (f"{n} left", f"{n} right") for n in range(20)
    }
