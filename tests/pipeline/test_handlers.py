"""What the nodes of each type do, and handlers of one's own."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.pipeline.pipelines import BACKENDS, run
from wire.errors import PipelineError
from wire.pipeline.engine import NodeError
from wire.pipeline.node_types import NodeTypes
from wire.pipeline.progress import Event

HEAD = "start [type=start]; done [type=exit];"


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class User:
    """Somebody who answers, one question at a time."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.shown: list[str] = []
        self._busy = False

    async def ask(self, text: str) -> str:
        assert not self._busy
        self._busy = True
        await anyio.lowlevel.checkpoint()
        self._busy = False
        self.shown.append(text)
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)


def asked(backend: str, attributes: str, *answers: str) -> tuple[dict[str, Any], list[str]]:
    user = User(*answers)
    context = run(
        backend,
        f"digraph x {{ {HEAD} n [type=wait.human, {attributes}]; start -> n -> done }}",
        {"seed": "tea"},
        ask=user.ask,
    ).context
    return {
        key: value
        for key, value in context.items()
        if key not in ("seed", "start_time", "exit_time")
    }, user.shown


@pytest.mark.row("P-30")
def test_what_the_user_says_is_stored(backend: str) -> None:
    assert asked(backend, 'prompt="How is the {{.seed}}?"', " good ") == (
        {"n_response": "good"},
        ["How is the tea?"],
    )
    assert asked(backend, 'prompt="How?", key=mood', "") == ({"mood": ""}, ["How?"])


@pytest.mark.row("P-30")
def test_options_are_chosen_by_number_or_text_until_one_is(backend: str) -> None:
    found, shown = asked(
        backend, 'prompt="Which?", options="Green, Black,2"', "3x", "4", "0", "", "black"
    )
    assert found == {"n_response": "Black"}
    assert shown[0] == "Which?\n  1) Green\n  2) Black\n  3) 2"
    assert shown[1:] == [
        f"{line!r} is not an option: enter a number from 1 to 3, or a text"
        for line in ("3x", "4", "0", "")
    ]
    assert asked(backend, 'options="Green,Black,2"', "1")[0] == {"n_response": "Green"}
    assert asked(backend, 'options="Green,Black,2"', "2")[0] == {"n_response": "2"}


@pytest.mark.row("P-32")
def test_the_end_of_the_input_fails_the_node(backend: str) -> None:
    with pytest.raises(NodeError, match=r"^node 'n': the input ended before an answer$"):
        asked(backend, 'options="a,b"', "c")


def test_without_anybody_to_ask_the_node_fails(backend: str) -> None:
    with pytest.raises(NodeError, match=r"^node 'n': the engine has no `ask` to reach a user$"):
        run(backend, f"digraph x {{ {HEAD} n [type=wait.human]; start -> n -> done }}")


@pytest.mark.row("P-30")
def test_two_branches_ask_one_after_the_other(backend: str) -> None:
    told: list[Event] = []
    user = User("one", "two")
    nodes = "f [type=fan_out]; j [type=fan_in]; a [shape=hexagon]; b [shape=hexagon];"
    text = f"digraph x {{ {HEAD} {nodes} start -> f; f -> a -> j; f -> b -> j; j -> done }}"
    context = run(backend, text, ask=user.ask, report=told.append).context
    assert sorted((context["a_response"], context["b_response"])) == ["one", "two"]
    assert sorted(event.node.id for event in told if event.kind == "asking") == ["a", "b"]


@pytest.mark.row("P-33", "P-50")
def test_set_stores_a_filled_in_template(backend: str) -> None:
    nodes = (
        r'a [type=set, key=one, value="{{.seed}} and {{ .seed }}\n"]; b [type=set, key=two, '
        r'value="<{{.one}}>"]; c [type=set, key=none];'
    )
    text = f"digraph x {{ {HEAD} {nodes} start -> a -> b -> c -> done }}"
    context = run(backend, text, {"seed": "tea"}).context
    assert (context["one"], context["two"], context["none"]) == (
        "tea and tea\n",
        "<tea and tea\n>",
        "",
    )


@pytest.mark.row("P-51")
def test_a_missing_key_names_node_and_key_once(backend: str) -> None:
    text = f'digraph x {{ {HEAD} n [type=set, key=k, value="{{{{.gone}}}}"]; start -> n -> done }}'
    with pytest.raises(NodeError) as caught:
        run(backend, text)
    assert str(caught.value).count("node 'n'") == 1
    assert "'gone'" in str(caught.value)


@pytest.mark.row("P-53")
def test_goal_is_that_of_the_graph(backend: str) -> None:
    text = (
        f'digraph x {{ {{goal}} {HEAD} n [type=set, key=k, value="for $goal"]; start -> n -> '
        f"done }}"
    )
    assert run(backend, text.replace("{goal}", 'graph [goal="peace"];')).context["k"] == "for peace"
    assert run(backend, text.replace("{goal}", "")).context["k"] == "for $goal"


@pytest.mark.row("P-40")
def test_conditional_passes_through(backend: str) -> None:
    text = f"digraph x {{ {HEAD} n [shape=diamond]; start -> n; n -> done }}"
    assert run(backend, text, {"a": 1}).context == {"a": 1, "start_time": "now", "exit_time": "now"}


@pytest.mark.row("P-44")
def test_the_registry_takes_functions_by_type() -> None:
    types = NodeTypes()
    built_in = {"start", "exit", "codergen", "set", "fan_out", "fan_in", "conditional"}
    assert set(types.runnable) == {*built_in, "wait.human"}
    types.register("mine", lambda visit: None)
    assert ("mine" in types.runnable, "mine" in NodeTypes()) == (True, False)
    with pytest.raises(
        PipelineError, match=r"^node type 'other': handler: expected a function, not str$"
    ):
        types.register("other", "nothing")  # type: ignore[arg-type]
    with pytest.raises(PipelineError, match=r"^node type: name: expected a non-empty text, not ''"):
        types.register("", lambda visit: None)


@pytest.mark.row("P-44")
def test_a_handler_gives_what_is_new_or_nothing(backend: str) -> None:
    text = f"digraph x {{ {HEAD} n [type=mine]; start -> n -> done }}"
    assert "k" not in run(backend, text, types={"mine": lambda visit: None}).context
    with pytest.raises(NodeError, match=r"^node 'n': "):
        run(backend, text, types={"mine": lambda visit: "text"})  # type: ignore
