"""Bulk runs whose rows are runs of an agent, on asyncio and trio."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import httpx
import msgspec
import pytest

from tests.bulk.row_agents import MODELS, agent_of, asks_for_tools, ids, prompts
from tests.joined import joined
from wire import Agent, AsyncChat, AsyncFallbackChat, Chat, LLMAgent, Message, bulk
from wire.agent import read_run
from wire.bulk.output_files import OutputFiles
from wire.errors import ConfigurationError, OutputError, RuleError, ServerError, WireError
from wire.neutral.messages import Reply
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, serve

EACH = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
STYLES = pytest.mark.parametrize("style", ["asyncio", "trio"])


class Killed(BaseException):
    """The process ends here."""


class Killing(AsyncEmulatorTransport):
    """Ends the process at a request, before the server gets it or after."""

    def __init__(self, emulator: Emulator, place: tuple[int, bool] = (-1, False)) -> None:
        super().__init__(emulator)
        self._place, self.count = place, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        number, self.count = self.count, self.count + 1
        if (number, False) == self._place:
            raise Killed
        response = await super().handle_async_request(request)
        if (number, True) == self._place:
            raise Killed
        return response


def run(
    rows: Any, agent: Any, to: Path | None = None, style: str = "asyncio", **options: Any
) -> dict[str, bulk.Result]:
    async def main() -> dict[str, bulk.Result]:
        made = bulk.run(rows, agent, to=to, **options)
        return {result.id: result async for result in made}

    return anyio.run(main, backend=style)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def runs(to: Path) -> list[str]:
    """The names of the saved runs."""
    folder = Path(f"{to}.runs")
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


# --- one run --------------------------------------------------------------------------------------


@STYLES
@EACH
def test_each_row_is_a_run_of_its_own(model: str, style: str, tmp_path: Path) -> None:
    log: list[str] = []
    emulator, to = Emulator(asks_for_tools(2, 2)), tmp_path / "out"
    results = run(prompts(3), agent_of(model, emulator, log), to, style)
    assert sorted(log) == ids(3, 2, 2)
    for number in (1, 2, 3):
        result = results[f"id-{number}"]
        assert result.reply is not None
        assert result.run is not None
        assert result.reply.text == result.run.text == f"Row {number} has 4 results."
        assert (result.run.reason, result.run.steps) == ("end", 3)
        roles = [each.role for each in result.run.messages]
        assert roles == ["assistant", "tool", "assistant", "tool", "assistant"]
    header, *read = lines(to)
    assert header["settings"]["agent"] is True
    assert header["settings"]["tools"][0]["name"] == "work"
    for line in read:
        run_ = results[line["id"]].run
        assert run_ is not None
        assert (line["text"], line["finish"], line["steps"]) == (run_.text, "end", 3)
        assert Decimal(line["cost"]) == run_.cost
        assert run_.cost
        assert line["usage"]["total"] == run_.usage.total
        assert [each["role"] for each in line["messages"]] == roles
    assert runs(to) == []


@EACH
def test_usage_and_cost_are_those_of_the_agent_alone(model: str) -> None:
    async def alone() -> tuple[Any, Any]:
        async with agent_of(model, Emulator(asks_for_tools())) as agent:
            result = await agent.run("Row 1.")
        return result.usage, result.cost.total

    run_ = run(prompts(1), agent_of(model, Emulator(asks_for_tools())))["id-1"].run
    assert run_ is not None
    assert (run_.usage, run_.cost) == anyio.run(alone)


class Tide(msgspec.Struct):
    port: str


def test_a_typed_agent_and_rows_with_settings_of_their_own() -> None:
    script = [
        {"match": {"text": "Row 1"}, "say": "No JSON."},
        {"match": {"text": "Row 1|JSON|fit"}, "say": '{"port": "Brest"}'},
    ]
    emulator = Emulator([*script, {"times": 0, "say": '{"size": 3}'}])
    own = {"type": "object", "properties": {"size": {"type": "integer"}}}
    rows: list[Any] = [
        {"id": "a", "prompt": "Row 1"},
        {"id": "b", "prompt": "Own", "output": own, "system": "Be exact.", "max_tokens": 77},
        {"id": "c", "prompt": "Other", "effort": "low"},
        {"id": "d", "prompt": "Never fits"},
    ]
    agent = agent_of(MODELS["chat"], emulator, output=Tide, tools=[])
    results = run(rows, agent, concurrent=1)
    assert results["a"].reply is not None
    assert results["a"].reply.output == Tide("Brest")
    assert results["a"].run is not None
    assert results["a"].run.steps == 2
    assert results["b"].reply is not None
    assert results["b"].reply.output == {"size": 3}
    sent = [json.loads(each["body"]) if isinstance(each["body"], str) else each["body"]
            for each in emulator.requests if "Own" in json.dumps(each["body"])]  # fmt: skip
    assert sent[0]["messages"][0]["content"] == "Be exact."
    assert 77 in sent[0].values()
    assert isinstance(results["c"].error, RuleError)
    assert results["c"].error.violations[0].path == "effort"
    of_run = run(prompts(1), agent_of(MODELS["chat"], Emulator(script), tools=[]), output=Tide)
    assert of_run["id-1"].reply is not None
    assert of_run["id-1"].reply.output == Tide("Brest")
    assert isinstance(results["d"].error, OutputError)
    assert results["d"].run is not None
    assert results["d"].run.steps == 2  # both answers were paid
    assert results["d"].run.cost


def test_a_row_may_be_a_conversation() -> None:
    said = [Message.user("Row 5."), Message.assistant("Yes?"), Message.user("Go.")]
    rows = [{"messages": [{"role": each.role, "content": each.text} for each in said]}]
    result = run(rows, agent_of(MODELS["gemini"], Emulator(asks_for_tools(1))))["1"]
    assert result.run is not None
    assert result.run.text == "Row 5 has 1 results."
    assert result.run.state.begun == 3


@pytest.mark.parametrize("kind", ["threads", "fallback"])
def test_agents_for_threads_and_of_several_models(kind: str, tmp_path: Path) -> None:
    log: list[str] = []

    def work(id: str) -> str:
        """Work."""
        log.append(id)
        return f"done:{id}"

    with serve(Emulator(asks_for_tools())) as server:
        if kind == "threads":
            chat = Chat(MODELS["gemini"], api_key="fake-key", base_url=server.url)
            agent: Any = Agent(chat, tools=[work])
        else:
            down = AsyncChat("openai:gpt-5.4", api_key="fake-key", base_url=f"{server.url}/none")
            up = AsyncChat(MODELS["gemini"], api_key="fake-key", base_url=server.url)
            agent = LLMAgent(AsyncFallbackChat([down, up], on=(WireError,)), tools=[work])
        results = run(prompts(2), agent)
    assert {each.run and each.run.reason for each in results.values()} == {"end"}
    assert sorted(log) == ids(2)


def test_one_pace_and_one_plan(tmp_path: Path) -> None:
    agent = agent_of(MODELS["anthropic"], Emulator(asks_for_tools()), max_tokens=100)

    async def main() -> None:
        made = bulk.run(prompts(2), agent, requests=100, tokens=1_000_000, concurrent=2)
        plan = made.plan()
        assert (plan.rows, plan.cost, plan.output_tokens) == (2, None, None)
        assert "first request of each row" in str(plan)
        assert plan.input_cost
        progress = await made.finish()
        assert (progress.answered, progress.steps) == (2, 6)
        assert "6 replies to agents" in str(progress)
        assert progress.summary()["steps"] == 6
        pace = made._executor._pace  # type: ignore[attr-defined]
        assert pace is not None

    anyio.run(main)


def test_budgets_of_the_agent_end_its_row_and_that_of_the_run_ends_the_run(tmp_path: Path) -> None:
    model, script = MODELS["gemini"], asks_for_tools(5)

    def reason(**options: Any) -> str:
        steps = options.pop("max_steps", 20)
        result = run(prompts(1), agent_of(model, Emulator(script), **options), max_steps=steps)[
            "id-1"
        ]
        assert result.run is not None
        return result.run.reason

    assert reason(max_steps=2) == "max_steps"
    assert reason(max_calls=1) == "max_calls"
    assert reason(max_tokens_total=10) == "max_tokens_total"
    assert reason(max_cost=Decimal("0.000001")) == "max_cost"
    to = tmp_path / "out"
    with pytest.raises(WireError) as caught:
        run(prompts(9), agent_of(model, Emulator(script)), to, max_cost=0.001, concurrent=1)
    assert caught.value.code == "max_cost"
    assert 1 <= len(lines(to)) - 1 < 9


# --- resumed --------------------------------------------------------------------------------------


@EACH
@STYLES
def test_a_row_that_failed_for_a_while_goes_on_where_it_was(
    model: str, style: str, tmp_path: Path
) -> None:
    emulator, to, log = Emulator([asks_for_tools()]), tmp_path / "out", list[str]()
    faulty = Emulator([
        lambda request: {"fault": "500"} if b"done:1-0-0" in request.body else None,
        asks_for_tools(),
    ])  # fmt: skip
    failed = run(prompts(2), agent_of(model, faulty, log), to, style)["id-1"]
    assert isinstance(failed.error, ServerError)
    assert failed.run is not None
    assert failed.run.steps == 1
    assert runs(to) == ["1.json", "1.json.journal"]
    [letter] = lines(Path(f"{to}.dead.jsonl"))
    assert (letter["steps"], letter["error"]["retryable"]) == (1, True)
    assert Decimal(letter["cost"]) == failed.run.cost
    results = run(prompts(2), agent_of(model, emulator, log), to, style)
    [result] = results.values()
    assert result.run is not None
    assert (result.run.text, result.run.steps) == ("Row 1 has 2 results.", 3)
    assert result.run.cost
    assert failed.run.cost
    assert result.run.cost > failed.run.cost
    assert sorted(log) == ids(2)
    assert runs(to) == []
    assert [each["id"] for each in lines(to)[1:]] == ["id-2", "id-1"]


@EACH
def test_a_run_is_killed_at_each_request(model: str, tmp_path: Path) -> None:
    """No tool runs twice, and each row has one line, with the cost of all its replies."""
    whole = run(prompts(2), agent_of(model, Emulator(asks_for_tools())), concurrent=1)
    for index, place in enumerate((at, after) for at in range(6) for after in (False, True)):
        style, to, log = ("asyncio", "trio")[index % 2], tmp_path / str(index), list[str]()
        emulator = Emulator(asks_for_tools())
        with pytest.raises(BaseException) as caught:  # noqa: PT011
            run(prompts(2), agent_of(model, Killing(emulator, place), log), to, style, concurrent=1)
        assert "Killed" in repr(caught.value)
        run(prompts(2), agent_of(model, emulator, log), to, style, concurrent=1)
        assert sorted(log) == ids(2), place
        found = {each["id"]: each for each in lines(to)[1:]}
        assert len(lines(to)) == 3
        for id, result in whole.items():
            assert result.run is not None
            assert found[id]["text"] == result.run.text
            assert (found[id]["steps"], Decimal(found[id]["cost"])) == (3, result.run.cost)
            assert found[id]["usage"]["total"] == result.run.usage.total
        assert runs(to) == []


@STYLES
def test_a_run_that_ended_without_its_line_is_not_asked_again(
    style: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [{"say": '{"port": "Brest"}'}]
    emulator, to = Emulator(script), tmp_path / "out"
    agent = agent_of(MODELS["chat"], emulator, output=Tide, tools=[])

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(BaseException) as caught:  # noqa: PT011
        patched.setattr(OutputFiles, "append", killed)
        run(prompts(1), agent, to, style)
    assert "Killed" in repr(caught.value)
    assert read_run(f"{to}.runs/1.json").reason == "end"
    asked = len(emulator.requests)
    result = run(prompts(1), agent_of(MODELS["chat"], emulator, output=Tide, tools=[]), to, style)
    assert result["id-1"].reply is not None
    assert result["id-1"].reply.output == Tide("Brest")
    assert len(emulator.requests) == asked
    assert lines(to)[1]["output"] == {"port": "Brest"}
    assert Decimal(lines(to)[1]["cost"]) > 0
    assert runs(to) == []


def left_by_a_kill(to: Path) -> Path:
    """A run that was killed in its second request; returns the saved run of its row."""
    with pytest.raises(BaseException):  # noqa: B017, PT011
        killing = Killing(Emulator(asks_for_tools()), (1, False))
        run(prompts(1), agent_of(MODELS["gemini"], killing), to)
    return Path(f"{to}.runs/1.json")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def without_figures(path: Path) -> None:
    session = json.loads(path.read_bytes())
    del session["metadata"]["bulk"]
    path.write_text(json.dumps(session))


@joined(
    ("damage", "words"),
    [
        (cut, "1.json: "),
        (without_figures, "1.json: metadata.bulk: "),
        (lambda path: path.write_bytes(b"\0" * 100), "1.json: "),
    ],
)
def test_a_damaged_run_is_told_before_its_row_is_asked(
    damage: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    to = tmp_path / damage.__name__
    path = left_by_a_kill(to)
    damage(path)
    emulator = Emulator(asks_for_tools())
    with pytest.raises(ConfigurationError, match=words):
        run(prompts(1), agent_of(MODELS["gemini"], emulator), to)
    assert list(emulator.requests) == []
    assert path.exists()


def test_rows_and_settings_that_have_changed_are_refused(tmp_path: Path) -> None:
    to = tmp_path / "out"
    left_by_a_kill(to)
    other = [{"id": "id-1", "prompt": "Row 2."}]
    emulator = Emulator(asks_for_tools())
    with pytest.raises(ConfigurationError, match="row 1 was another one when its run began"):
        run(other, agent_of(MODELS["gemini"], emulator), to)
    with pytest.raises(ConfigurationError, match="another run: max_tokens"):
        run(prompts(1), agent_of(MODELS["gemini"], emulator, max_tokens=7), to)
    with pytest.raises(ConfigurationError, match="another run: agent"):
        run(prompts(1), MODELS["gemini"], to, api_key="fake-key")
    assert list(emulator.requests) == []


def test_a_run_that_cannot_be_saved_ends_the_bulk_run(tmp_path: Path) -> None:
    to = tmp_path / "out"
    Path(f"{to}.runs").write_text("in the way")
    log: list[str] = []
    with pytest.raises(ConfigurationError, match="cannot be written"):
        run(prompts(3), agent_of(MODELS["gemini"], Emulator(asks_for_tools()), log), to)
    assert log == []
    assert len(lines(to)) == 1


class OwnModel:
    async def ask(self, **_: Any) -> Reply:
        raise AssertionError

    stream = ask


def cached() -> LLMAgent[Any]:
    return agent_of(MODELS["gemini"], Emulator(), caching="auto")


@joined(
    ("agent", "options", "words"),
    [
        (agent_of(MODELS["chat"], Emulator()), {"on": "tcp://x:1"}, "on: an agent"),
        (agent_of(MODELS["chat"], Emulator()), {"cache": "x"}, "cache: does not apply"),
        (
            agent_of(MODELS["chat"], Emulator()),
            {"max_tokens": 3},
            "max_tokens: an option of the ag",
        ),
        (agent_of(MODELS["chat"], Emulator()), {"http": "x"}, "http: an option of the agent"),
        (agent_of(MODELS["chat"], Emulator()), {"max_steps": 0}, "max_steps: expected"),
        (MODELS["chat"], {"max_steps": 3, "api_key": "fake-key"}, "max_steps: only an agent"),
        ([agent_of(MODELS["chat"], Emulator())], {}, r"model\[0\]: expected a name"),
        (LLMAgent(OwnModel()), {}, "model: the model of the agent is a OwnModel"),
        (cached(), {}, "caching: rows share no context cache"),
    ],
    ids=str,
)
def test_what_an_agent_has_not_is_refused(agent: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        bulk.run(["Hi"], agent, **options)


def test_a_hook_of_the_agent_is_called_and_the_agent_itself_stays_as_it_is() -> None:
    seen: list[int] = []
    agent = agent_of(
        MODELS["gemini"],
        Emulator(asks_for_tools(1)),
        on_change=lambda state: seen.append(state.asked),
    )
    run(prompts(2), agent)
    assert sorted(set(seen)) == [0, 1, 2]
    assert agent.history.messages == []
    assert agent.last_run is None
