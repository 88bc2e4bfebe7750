"""Nodes that are agents, against the emulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.agents import Scripted
from tests.pipeline.pipelines import BACKENDS, connecting, run
from tests.property import sample
from wire import register_provider
from wire.agent.provider import LLMResponse
from wire.core.retry import ATTRACTOR, Retry
from wire.errors import ConfigurationError, PipelineError
from wire.history import check
from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.pipeline.codergen import MaxTurnsError, connect, model_of_node
from wire.pipeline.dot import parse
from wire.pipeline.engine import NodeError
from wire.pipeline.graph import Node, count
from wire.pipeline.linting import lint
from wire.pipeline.session import shortened
from wire.providers import FACTORIES
from wire.testing.emulator import Emulator

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
GEMINI, GPT = "gemini:gemini-3.8-flash", "openai:gpt-4o"


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An emulator whose script is at its end calls tools as it likes; it shall not do so here."""
    monkeypatch.chdir(tmp_path)


def one(attributes: str) -> str:
    return (
        f"digraph x {{ start [type=start]; n [type=codergen, {attributes}]; done [type=exit]; "
        f"start -> n -> done }}"
    )


def asked(emulator: Emulator) -> list[Any]:
    return [each["body"] for each in emulator.requests if each["method"] == "POST"]


@pytest.mark.row("S4-19", "S4-20", "P-27")
def test_the_example_asks_once_and_stores_the_answer(backend: str) -> None:
    emulator = Emulator([{"say": "A directed graph is points and arrows."}])
    ended = run(backend, (EXAMPLES / "gemini.dot").read_text("utf-8"), emulator=emulator)
    assert (
        ended.context["last_output"]
        == ended.context["ask_output"]
        == "A directed graph is points and arrows."
    )
    (body,) = asked(emulator)
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "Explain in two sentences what a directed graph is."}]}
    ]
    assert emulator.requests[0]["target"].startswith(
        "/v1beta/models/gemini-3.8-flash:generateContent"
    )
    assert [each["name"] for each in body["tools"][0]["functionDeclarations"]] == [
        "read_file",
        "write_file",
        "run_command",
        "list_dir",
        "search_file",
        "patch_file",
    ]


@pytest.mark.row("P-26")
@pytest.mark.parametrize(
    ("attributes", "variables", "said"),
    [
        ('prompt="About {{.seed}}.", label=L', {"seed": "tea"}, "About tea."),
        ("label=L", {"seed": "tea {{.x}}"}, "tea {{.x}}"),
        ('label="Make {{.it}}"', {"it": "tea"}, "Make tea"),
    ],
)
def test_prompt_then_seed_then_label(
    backend: str, attributes: str, variables: dict[str, str], said: str
) -> None:
    emulator = Emulator([{"say": "Ok."}])
    run(backend, one(f'model="{GEMINI}", {attributes}'), variables, emulator=emulator)
    assert asked(emulator)[0]["contents"][0]["parts"] == [{"text": said}]


@pytest.mark.row("P-26")
def test_without_any_of_them_the_node_fails(backend: str) -> None:
    with pytest.raises(NodeError, match=r"^node 'n': no prompt"):
        run(backend, one(f'model="{GEMINI}"'))


@pytest.mark.row("P-25")
def test_the_system_prompt_is_a_template_too(backend: str) -> None:
    emulator = Emulator([{"say": "Ok."}])
    run(
        backend,
        one(f'model="{GEMINI}", prompt=p, system_prompt="Like {{{{.seed}}}}."'),
        {"seed": "Ada"},
        emulator=emulator,
    )
    assert asked(emulator)[0]["systemInstruction"] == {"parts": [{"text": "Like Ada."}]}


@pytest.mark.row("P-25", "P-29")
@pytest.mark.parametrize(
    ("attributes", "default", "model"),
    [
        ({"model": "openai:ft:gpt:x"}, "gemini:g", "openai:ft:gpt:x"),
        ({"llm_model": "gpt", "llm_provider": "openai"}, "", "openai:gpt"),
        ({"llm_model": "openai:gpt"}, "", "openai:gpt"),
        ({"model": "a:b", "llm_model": "gpt", "llm_provider": "openai"}, "", "a:b"),
        ({}, "gemini:g", "gemini:g"),
    ],
)
def test_which_model_a_node_asks(attributes: dict[str, Any], default: str, model: str) -> None:
    assert model_of_node(Node("n", attributes), default) == model


@pytest.mark.row("P-107")
@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({}, "no model"),
        ({"model": "gpt"}, "missing 'provider:model-name' format"),
        ({"model": ":gpt"}, "empty provider name"),
        ({"model": "openai:"}, "empty model name"),
    ],
)
def test_a_model_without_its_provider_is_an_error(attributes: dict[str, Any], said: str) -> None:
    with pytest.raises(PipelineError, match=f"^node 'n': .*{said}"):
        model_of_node(Node("n", attributes))


@pytest.mark.row("S4-23", "P-28")
def test_tools_work_in_the_work_folder(backend: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("red\nblue sky\n")
    emulator = Emulator(
        [
            {
                "say": {
                    "calls": [
                        {"name": "search_file", "args": {"pattern": "blue"}},
                        {"name": "read_file", "args": {"path": "../x"}},
                    ]
                }
            },
            {
                "say": {
                    "calls": [{"name": "run_command", "args": {"command": "cat notes.txt; exit 3"}}]
                }
            },
            {"say": "The sky."},
        ]
    )
    ended = run(
        backend,
        one(f'model="{GEMINI}", prompt="What is blue?"'),
        emulator=emulator,
        workdir=tmp_path,
    )
    assert ended.context["n_output"] == "The sky."
    found, refused = (
        part["functionResponse"]["response"] for part in asked(emulator)[1]["contents"][2]["parts"]
    )
    assert found == {"result": "notes.txt:2: blue sky"}
    assert list(refused) == ["error"]
    ran = asked(emulator)[2]["contents"][4]["parts"][0]["functionResponse"]["response"]["result"]
    assert (ran.startswith("red\nblue sky\n"), "exit status 3" in ran) == (True, True)


def calls(path: str = ".") -> dict[str, Any]:
    return {"text": "I look.", "calls": [{"name": "list_dir", "args": {"path": path}}]}


@pytest.mark.row("S4-24")
@pytest.mark.parametrize(
    ("attributes", "turns"), [("max_turns=3", 3), ('max_turns="2"', 2), ("", 50)]
)
def test_an_agent_without_an_end_is_stopped(
    backend: str, tmp_path: Path, attributes: str, turns: int
) -> None:
    emulator = Emulator([{"times": 0, "say": calls()}], lenient=True)
    with pytest.raises(NodeError) as caught:
        run(
            backend,
            one(f'model="{GPT}", prompt=p, {attributes}'),
            emulator=emulator,
            workdir=tmp_path,
        )
    assert str(caught.value) == f"node 'n': agent loop exceeded maximum turns ({turns})"
    assert (caught.value.partial, len(asked(emulator))) == ("I look.", turns)
    assert isinstance(caught.value.__cause__, MaxTurnsError)


@pytest.mark.row("S4-24")
@pytest.mark.parametrize("turns", ["0", "-1", "1.5", "many", "true"])
def test_what_is_no_number_of_turns_fails_the_node(backend: str, turns: str) -> None:
    with pytest.raises(PipelineError, match=r"max_turns"):
        run(backend, one(f'model="{GEMINI}", prompt=p, max_turns={turns}'))
    node = parse(one(f"max_turns={turns}")).nodes["n"]
    with pytest.raises(PipelineError, match=rf"^expected a whole number from 1 up, not '{turns}'$"):
        count(node.attributes["max_turns"])


@pytest.mark.row("S4-25")
def test_the_third_identical_call_is_steered(backend: str, tmp_path: Path) -> None:
    emulator = Emulator([*({"say": calls()} for _ in range(3)), {"say": "Done."}])
    run(backend, one(f'model="{GEMINI}", prompt=p'), emulator=emulator, workdir=tmp_path)
    answers = [
        part["functionResponse"]["response"]
        for content in asked(emulator)[3]["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert [list(each) for each in answers] == [["result"], ["result"], ["error"]]
    assert "Try something else" in answers[2]["error"]


@pytest.mark.row("S4-26")
def test_of_a_long_session_the_first_and_the_last_messages_are_sent(
    backend: str, tmp_path: Path
) -> None:
    script = [*({"say": calls(f"{number}")} for number in range(11)), {"say": "Done."}]
    emulator = Emulator(script)
    run(backend, one(f'model="{GEMINI}", prompt="Look."'), emulator=emulator, workdir=tmp_path)
    # 1, 3, 5, ... messages: the ninth request would be of 17, the tenth of 19.
    assert [len(body["contents"]) for body in asked(emulator)] == [
        1,
        3,
        5,
        7,
        9,
        11,
        13,
        15,
        17,
        11,
        11,
        11,
    ]
    last = asked(emulator)[-1]["contents"]
    assert last[0] == {"role": "user", "parts": [{"text": "Look."}]}
    assert [content["role"] for content in last] == ["user", *["model", "user"] * 5]
    assert last[1]["parts"][-1]["functionCall"]["args"] == {"path": "6"}


def groups(counts: list[int], *, split: bool = False) -> list[Message]:
    """A talk: of each number n, n calls and their results, in one message or in n; of 0, a text and
    a question.
    """
    said = [Message.user("First.")]
    for turn, calls in enumerate(counts):
        if calls == 0:
            said += [Message.assistant(f"text {turn}"), Message.user(f"question {turn}")]
            continue
        made = [ToolCall(id=f"c{turn}_{number}", name="now") for number in range(calls)]
        results = [ToolResult(call.id, "now", "1") for call in made]
        said.append(Message.assistant(*made))
        said += (
            [Message.tool_response([each]) for each in results]
            if split
            else [Message.tool_response(results)]
        )
    return said


@pytest.mark.row("S4-26", "S1-42", "S1-43")
@pytest.mark.sampled
def test_no_call_is_parted_from_its_results() -> None:
    import random

    cut = 0
    for seed in sample(range(400)):
        dice = random.Random(seed)
        said = groups(
            [dice.choice([0, 1, 2, 5, 12]) for _ in range(dice.randint(1, 15))],
            split=dice.random() < 0.7,
        )
        assert check(said) == []
        short = shortened(said)
        assert check(short) == []
        assert short[0] == said[0]
        assert short[1:] == said[len(said) - len(short) + 1 :]
        if len(said) <= 17:
            assert (list(short), short.notes) == (said, ())
        elif len(short) < len(said):
            cut += 1
            assert short[1].role == "assistant"
            # No shorter than it must be: ten messages or fewer from the first turn among them, or
            # one turn alone that is longer.
            assert len(short) <= 11 or sum(message.role == "assistant" for message in short) == 1
            assert f"{len(said) - len(short)} messages" in str(short.notes[0])
    assert cut > 20


@pytest.mark.row("S4-22", "P-27")
def test_each_node_gets_the_work_of_the_one_before(backend: str) -> None:
    text = f"""digraph x {{ start [type=start]; done [type=exit];
        a [type=codergen, model="{GPT}", prompt="Write about {{{{.seed}}}}."]
        b [type=codergen, model="{GEMINI}", prompt="Judge: {{{{.a_output}}}}"]
        c [type=codergen, model="{GPT}", prompt="{{{{.last_output}}}} / {{{{.a_output}}}}"]
        start -> a -> b -> c -> done }}"""
    emulator = Emulator(
        [
            {"match": {"text": f"^{words}"}, "say": say}
            for words, say in (("Write", "Rain."), ("Judge: Rain", "Wet."), ("Wet", "Good."))
        ],
        lenient=True,
    )
    made: list[Any] = []

    def noted(name: str) -> Any:
        made.append((name, connecting(emulator)(name)))
        return made[-1][1]

    context = run(backend, text, {"seed": "rain"}, connect=noted).context
    assert {key: context[key] for key in ("a_output", "b_output", "c_output", "last_output")} == {
        "a_output": "Rain.",
        "b_output": "Wet.",
        "c_output": "Good.",
        "last_output": "Good.",
    }
    assert asked(emulator)[2]["messages"][-1]["content"] == "Wet. / Rain."
    assert [name for name, _ in made] == [GPT, GEMINI]  # one for each, shared by the nodes


@pytest.mark.row("S4-22")
def test_three_vendors_one_after_the_other(backend: str) -> None:
    says = [("claude-*", "A train."), ("gpt-*", "Add snow."), ("gemini-*", "A train in the snow.")]
    emulator = Emulator([{"match": {"model": model}, "say": say} for model, say in says])
    ended = run(backend, (EXAMPLES / "multi_provider.dot").read_text("utf-8"), emulator=emulator)
    assert [ended.context[f"{id}_output"] for id in ("draft", "review", "revise")] == [
        say for _, say in says
    ]
    assert ended.context["last_output"] == "A train in the snow."
    draft, review, revise = asked(emulator)
    assert "a night train through the mountains" in json.dumps(draft["messages"])
    assert "A train." in review["input"][-1]["content"]
    (said,) = revise["contents"][0]["parts"]
    assert "A train." in said["text"]
    assert "Add snow." in said["text"]


def test_an_answer_that_was_cut_is_told(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    run(
        backend,
        one(f'model="{GEMINI}", prompt=p'),
        script=[{"say": {"text": "Once upon", "finish": "MAX_TOKENS"}}],
    )
    run(backend, one(f'model="{GEMINI}", prompt=p'), script=[{"say": "The end."}])
    told = [record.getMessage() for record in caplog.records if record.name == "wire.pipeline"]
    assert told == ["the answer of gemini-3.8-flash stopped with length: it may be incomplete"]


@pytest.mark.row("P-83", "S4-27", "S4-40")
def test_the_client_tries_again_before_the_node_fails(backend: str) -> None:
    busy = {
        "answer": {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}},
        "status": 503,
    }
    quick = Retry(attempts=ATTRACTOR.attempts, base=0)
    emulator = Emulator([{**busy, "times": 3}, {"say": "At last."}])
    assert (
        run(
            backend, one(f'model="{GEMINI}", prompt=p'), connect=connecting(emulator, retry=quick)
        ).context["n_output"]
        == "At last."
    )
    emulator = Emulator([{**busy, "times": 0}])
    with pytest.raises(
        NodeError, match=r"^node 'n': gemini: 503 UNAVAILABLE: busy \(after 4 attempts\)$"
    ):
        run(backend, one(f'model="{GEMINI}", prompt=p'), connect=connecting(emulator, retry=quick))
    assert len(asked(emulator)) == 4
    emulator = Emulator(
        [
            {
                "answer": {"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}},
                "status": 400,
            }
        ]
    )
    with pytest.raises(NodeError, match=r"400 INVALID_ARGUMENT: bad$"):
        run(backend, one(f'model="{GEMINI}", prompt=p'), connect=connecting(emulator, retry=quick))
    assert len(asked(emulator)) == 1


@pytest.mark.row("S4-27")
def test_where_the_models_are_is_told_by_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GEMINI_BASE_URL", "http://127.0.0.1:8910")
    monkeypatch.setenv("KIMI_CN_BASE_URL", "http://127.0.0.1:8911/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", " ")
    for variable in ("GEMINI_API_KEY", "KIMI_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, "fake-key")
    found = {
        name: connect(f"{name}:m").client.describe()["base_url"]
        for name in ("gemini", "kimi@cn", "openai")
    }
    assert found == {
        "gemini": "http://127.0.0.1:8910/v1beta",
        "kimi@cn": "http://127.0.0.1:8911/v1",
        "openai": "https://api.openai.com/v1",
    }
    assert connect("openai:m").client._target.retry == ATTRACTOR


@pytest.mark.row("P-25")
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.dot")), ids=lambda path: path.name)
def test_the_examples_name_a_model_for_every_agent(path: Path) -> None:
    graph = parse(path.read_text("utf-8"))
    assert all(model_of_node(node) for node in graph.of_type("codergen"))
    assert json.dumps(graph.name) == f'"{path.stem}"'


# --- providers of one's own -----------------------------------------------------------------------


class Closable(Scripted):
    """A provider with an `aclose`, as one that holds connections has it."""

    closings = 0

    async def aclose(self) -> None:
        self.closings += 1


def writer() -> Closable:
    """A provider that writes a file with a tool, then answers."""
    call = ToolCall(
        id="c0", name="write_file", arguments={"path": "poem.txt", "content": "Rain.\n"}
    )
    return Closable(LLMResponse(function_calls=(call,)), LLMResponse(text="Written."))


def test_a_provider_of_ones_own_works_in_a_pipeline(backend: str, tmp_path: Path) -> None:
    provider = writer()
    names: list[str] = []

    def mine(name: str) -> Closable:
        names.append(name)
        return provider

    text = one('model="mine:m", prompt="Write {{.seed}}", system_prompt="Be brief."')
    ended = run(backend, text, {"seed": "rain"}, connect=mine, workdir=tmp_path)
    assert ended.context["n_output"] == ended.context["last_output"] == "Written."
    assert (tmp_path / "poem.txt").read_text() == "Rain.\n"
    assert (names, provider.closings) == (["mine:m"], 1)
    (first, asked), (second, again) = provider.asked
    assert first == second == "generate"
    assert asked["system_prompt"] == "Be brief."
    assert [message.text for message in asked["messages"]] == ["Write rain"]
    assert "write_file" in [tool.name for tool in asked["tools"]]
    (result,) = again["messages"][-1].tool_results
    assert (result.id, result.error) == ("c0", False)


def test_a_registered_provider_is_a_model_of_a_pipeline(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, Any]] = []
    provider = writer()

    def factory(**arguments: Any) -> Closable:
        made.append(arguments)
        return provider

    monkeypatch.setenv("MINE_BASE_URL", "https://mine.example")
    monkeypatch.setenv("MINE_API_KEY", "fake-key")
    text = one('model="mine:m", prompt="Write"')
    unknown = [finding.rule for finding in lint(parse(text))]
    register_provider("mine", factory)
    try:
        assert unknown == ["provider_known"]
        assert lint(parse(text)) == []
        ended = run(backend, text, connect=connect, workdir=tmp_path)
    finally:
        del FACTORIES["mine"]
    assert ended.context["last_output"] == "Written."
    assert made == [{"api_key": "fake-key", "model": "m", "api_base": "https://mine.example"}]
    assert provider.closings == 1


def test_a_failure_of_a_provider_of_ones_own_names_the_node(backend: str, tmp_path: Path) -> None:
    provider = Closable(RuntimeError("no power"))
    text = one('model="mine:m", prompt="Write"')
    with pytest.raises(NodeError, match="no power") as raised:
        run(backend, text, connect=lambda name: provider, workdir=tmp_path)
    assert (raised.value.node_id, provider.closings) == ("n", 1)


def test_what_is_no_model_is_refused_before_the_first_node(backend: str, tmp_path: Path) -> None:
    text = one('model="mine:m", prompt="Write"')
    with pytest.raises(
        ConfigurationError, match="node 'n': provider: expected an object with generate"
    ):
        run(backend, text, connect=lambda name: object(), workdir=tmp_path)
