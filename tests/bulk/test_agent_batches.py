"""Agents whose requests go through batches, on the four wires, on asyncio and trio."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.bulk.row_agents import (
    MODELS,
    agent_of,
    asks_for_tools,
    ids,
    is_for_model,
    prompts,
    worker,
)
from tests.bulk.test_agents import Killed, Killing, Tide, lines, runs
from tests.bulk.test_batch import created
from tests.property import sample
from wire import Agent, AsyncChat, Chat, LLMAgent, Message, bulk, tool
from wire.agent import RunState
from wire.bulk import agent_batches, vendor_jobs
from wire.core.retry import Retry
from wire.errors import ConfigurationError, OutputError, RuleError, ServerError, WireError
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, serve

EACH = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
STYLES = pytest.mark.parametrize("style", ["asyncio", "trio"])


def made(rows: Any, agent: Any, to: Path, **options: Any) -> bulk.Run:
    return bulk.run(rows, agent, to=to, batch=True, **{"every": 0.0001, **options})


def run(
    rows: Any, agent: Any, to: Path, style: str = "asyncio", **options: Any
) -> dict[str, bulk.Result]:
    async def main() -> dict[str, bulk.Result]:
        results = [result async for result in made(rows, agent, to, **options)]
        assert len({each.id for each in results}) == len(results)
        return {each.id: each for each in results}

    return anyio.run(main, backend=style)


def events(to: Path) -> Counter[str]:
    return Counter(each["event"] for each in lines(Path(f"{to}.jobs.jsonl"))[1:])


def is_whole(to: Path, log: list[str], count: int, rounds: int = 2, at_once: int = 1) -> None:
    """Assert that each row has one line with its answer, and no tool ran twice."""
    assert sorted(log) == ids(count, rounds, at_once)
    read = lines(to)[1:]
    assert sorted(each["row"] for each in read) == list(range(1, count + 1))
    for each in read:
        assert each["id"] == f"id-{each['row']}"
        assert each["text"] == f"Row {each['row']} has {rounds * at_once} results."
        assert (each["finish"], each["steps"]) == ("end", rounds + 1)
    assert runs(to) == []
    assert lines(Path(f"{to}.dead.jsonl")) == []
    counts = events(to)
    assert counts["submitting"] == counts["merged"] + counts["dropped"]


# --- one run --------------------------------------------------------------------------------------


@STYLES
@EACH
def test_each_round_is_one_job(model: str, style: str, tmp_path: Path) -> None:
    log: list[str] = []
    emulator, to = Emulator(asks_for_tools(2, 2)), tmp_path / "out"
    results = run(prompts(5), agent_of(model, emulator, log), to, style)
    is_whole(to, log, 5, 2, 2)
    assert created(emulator) == 3
    assert events(to) == {"submitting": 3, "created": 3, "merged": 3}
    for number in range(1, 6):
        result = results[f"id-{number}"]
        assert result.run is not None
        assert result.reply is not None
        assert result.reply.text == result.run.text == f"Row {number} has 4 results."
        roles = [each.role for each in result.run.messages]
        assert roles == ["assistant", "tool", "assistant", "tool", "assistant"]


@EACH
def test_it_costs_half_and_else_is_the_same(model: str, tmp_path: Path) -> None:
    run(prompts(1), agent_of(model, Emulator(asks_for_tools())), tmp_path / "batch")

    async def alone() -> None:
        agent = agent_of(model, Emulator(asks_for_tools()))
        await bulk.run(prompts(1), agent, to=tmp_path / "alone").finish()

    anyio.run(alone)
    batch, single = lines(tmp_path / "batch")[1], lines(tmp_path / "alone")[1]
    assert Decimal(batch.pop("cost")) * 2 == Decimal(single.pop("cost"))
    for line in (batch, single):
        for message in line["messages"]:
            message.pop("origin", None)
            for part in message["parts"]:
                for name in ("id", "signature", "at", "response"):
                    part.pop(name, None)
    assert batch == single


def test_budgets_and_typed_answers_hold_in_batches(tmp_path: Path) -> None:
    fits = [{"say": "No JSON."}, {"times": 0, "say": '{"port": "Brest"}'}]
    for name, script, error in (("fits", fits, None), ("never", [{"times": 0, "say": "No."}], 1)):
        emulator = Emulator(script)
        agent = agent_of(MODELS["chat"], emulator, output=Tide, tools=[])
        typed = run(prompts(1), agent, tmp_path / name)["id-1"]
        assert typed.run is not None
        assert (typed.run.steps, created(emulator)) == (2, 2)
        if error:
            assert isinstance(typed.error, OutputError)
        else:
            assert typed.reply is not None
            assert typed.reply.output == Tide("Brest")
    for options, steps, reason in (
        ({}, 2, "max_steps"),
        ({"max_calls": 1}, 20, "max_calls"),
        ({"max_tokens_total": 10}, 20, "max_tokens_total"),
        ({"max_cost": Decimal("0.000001")}, 20, "max_cost"),
    ):
        agent = agent_of(MODELS["gemini"], Emulator(asks_for_tools(5)), **options)  # type: ignore[arg-type]
        result = run(prompts(1), agent, tmp_path / reason, max_steps=steps)["id-1"]
        assert result.run is not None
        assert result.run.reason == reason
        assert lines(tmp_path / reason)[1]["finish"] == reason


def test_the_plan_knows_the_price_and_the_figures_count_replies(tmp_path: Path) -> None:
    agent = agent_of(MODELS["anthropic"], Emulator(asks_for_tools()), max_tokens=99)

    async def main() -> None:
        run_ = made(prompts(3), agent, tmp_path / "out")
        plan = run_.plan()
        alone = bulk.run(prompts(3), agent_of(MODELS["anthropic"], Emulator(), max_tokens=99))
        assert plan.input_cost is not None
        assert plan.input_cost * 2 == alone.plan().input_cost
        progress = await run_.finish()
        assert (progress.answered, progress.steps) == (3, 9)

    anyio.run(main)


def test_what_cannot_go_through_batches_is_refused(tmp_path: Path) -> None:
    def refused(words: str, agent: Any = None, **options: Any) -> None:
        given = agent_of(MODELS["chat"], Emulator()) if agent is None else agent
        with pytest.raises(ConfigurationError, match=words):
            bulk.run(["Hi"], given, batch=True, **{"to": tmp_path / "out", **options})

    refused("early_tools: does not apply", agent_of(MODELS["chat"], Emulator(), early_tools=True))
    refused("batch: needs to", to=None)
    refused("max_cost: does not apply to batch", max_cost=1)
    refused("requests: does not apply to batch", requests=1)
    vertex = AsyncChat(
        "gemini@vertex:gemini-3.8-flash", project="p", location="global", token=lambda: "t"
    )
    refused("this host has no endpoint", LLMAgent(vertex))


def test_jobs_are_filled_up_to_their_limits_and_rows_begin_as_others_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendor_jobs, "MOST_ROWS", 3)
    log: list[str] = []
    emulator, to = Emulator(asks_for_tools()), tmp_path / "rows"
    run(prompts(7), agent_of(MODELS["anthropic"], emulator, log), to)
    is_whole(to, log, 7)
    assert created(emulator) >= 7  # 21 requests, 3 a job
    monkeypatch.setattr(vendor_jobs, "MOST_ROWS", 100)
    monkeypatch.setattr(agent_batches, "MOST_AGENTS", 4)
    log.clear()
    emulator, to = Emulator(asks_for_tools()), tmp_path / "agents"
    run(prompts(8), agent_of(MODELS["gemini"], emulator, log), to)
    is_whole(to, log, 8)
    assert created(emulator) == 6


# --- failures -------------------------------------------------------------------------------------


def faulty(fault: str = "500") -> Emulator:
    """The second request of row 2 fails."""
    return Emulator([
        lambda request: (
            {"fault": fault} if is_for_model(request) and b"done:2-0-0" in request.body else None
        ),
        asks_for_tools(),
    ])  # fmt: skip


@EACH
@STYLES
def test_a_request_that_failed_fails_its_row_which_goes_on_at_the_next_start(
    model: str, style: str, tmp_path: Path
) -> None:
    to, log = tmp_path / "out", list[str]()
    emulator = faulty()
    results = run(prompts(3), agent_of(model, emulator, log), to, style)
    error = results["id-2"].error
    assert isinstance(error, ServerError)
    assert error.retryable
    assert created(emulator) == 3
    [letter] = lines(Path(f"{to}.dead.jsonl"))
    assert (letter["id"], letter["steps"]) == ("id-2", 1)
    [result] = run(prompts(3), agent_of(model, Emulator(asks_for_tools()), log), to, style).values()
    assert result.run is not None
    assert (result.id, result.run.steps) == ("id-2", 3)
    is_whole(to, log, 3)


def test_a_request_that_is_refused_ends_its_row_alone(tmp_path: Path) -> None:
    to, log = tmp_path / "out", list[str]()
    results = run(prompts(3), agent_of(MODELS["anthropic"], faulty("400"), log), to)
    error = results["id-2"].error
    assert isinstance(error, WireError)
    assert not error.retryable
    assert runs(to) == []
    [letter] = lines(Path(f"{to}.dead.jsonl"))
    assert [each["role"] for each in letter["messages"]] == ["assistant", "tool"]
    assert run(prompts(3), agent_of(MODELS["anthropic"], Emulator(asks_for_tools()), log), to) == {}
    assert len(log) == 5


def test_a_job_that_is_refused_for_one_of_its_requests(tmp_path: Path) -> None:
    """Its halves are tried; the row alone fails, and the others go on."""
    to, log = tmp_path / "out", list[str]()

    def refuse(request: Any) -> Any:
        is_create = request.path.endswith(":batchGenerateContent")
        bad = is_create and b"done:2-0-0" in request.body
        return {"status": 400, "answer": {"error": {"code": 400, "message": "no"}}} if bad else None

    emulator = Emulator([refuse, asks_for_tools()])
    results = run(prompts(4), agent_of(MODELS["gemini"], emulator, log), to)
    failed = [id for id, each in results.items() if each.error is not None]
    assert failed in ([], ["id-2"])


def test_a_row_that_is_larger_than_a_batch_and_one_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wire.anthropic.batching.MAX_BYTES", 3000)
    rows = [*prompts(1), {"id": "large", "prompt": "a" * 3000}, {"id": "bad", "promt": "x"}]
    log: list[str] = []
    agent = agent_of(MODELS["anthropic"], Emulator(asks_for_tools(1)), log)
    results = run(rows, agent, tmp_path / "out")
    assert isinstance(results["large"].error, RuleError)
    assert "more than the 3,000 of a batch" in results["large"].error.message
    assert isinstance(results["bad"].error, RuleError)
    assert results["id-1"].reply is not None


@STYLES
def test_an_empty_reply_is_asked_for_again_in_the_next_round(style: str, tmp_path: Path) -> None:
    emptied: list[bytes] = []

    def empty_once(request: Any) -> Any:
        if is_for_model(request) and b"done:1-0-0" in request.body and not emptied:
            emptied.append(request.body)
            return {"say": ""}
        return None

    log: list[str] = []
    emulator, to = Emulator([empty_once, asks_for_tools(1)]), tmp_path / "out"
    agent = agent_of(MODELS["gemini"], emulator, log, retry=Retry(base=0))
    run(prompts(2), agent, to, style)
    assert emptied
    is_whole(to, log, 2, 1)
    assert created(emulator) == 3


# --- killed ---------------------------------------------------------------------------------------


def compared(to: Path, whole: Path) -> None:
    """Assert that the lines have the same figures as those of a run that was not killed."""
    figures = [
        {each["id"]: (each["text"], each["steps"], each["cost"], each["usage"]["total"])
         for each in lines(path)[1:]}
        for path in (to, whole)
    ]  # fmt: skip
    assert figures[0] == figures[1]


@pytest.mark.sampled
@EACH
def test_a_run_is_killed_at_each_request(model: str, tmp_path: Path) -> None:
    """Before the server gets it, and after. No job is created twice."""
    whole, counted = tmp_path / "whole", Killing(Emulator(asks_for_tools()))
    run(prompts(3), agent_of(model, counted), whole)
    places = [(number, answered) for number in range(counted.count) for answered in (False, True)]
    for index, place in enumerate(sample(places, 4)):
        style, to, log = ("asyncio", "trio")[index % 2], tmp_path / str(index), list[str]()
        emulator = Emulator(asks_for_tools())
        with pytest.raises(BaseException) as caught:  # noqa: PT011
            run(prompts(3), agent_of(model, Killing(emulator, place), log), to, style)
        assert "Killed" in repr(caught.value)
        run(prompts(3), agent_of(model, emulator, log), to, style)
        is_whole(to, log, 3)
        compared(to, whole)
        assert created(emulator) == 3, place


@EACH
def test_a_run_is_killed_at_each_state_of_a_row(model: str, tmp_path: Path) -> None:
    """Before a state is saved: replies that were read and not saved are read again."""
    whole = tmp_path / "whole"
    run(prompts(2), agent_of(model, Emulator(asks_for_tools())), whole)
    for place in range(1, 17, 3):
        to, log, emulator = tmp_path / str(place), list[str](), Emulator(asks_for_tools())
        count = 0

        def kill(state: RunState, place: int = place) -> None:
            nonlocal count
            count += 1
            if count == place:
                raise Killed

        with pytest.raises(BaseException) as caught:  # noqa: PT011
            run(prompts(2), agent_of(model, emulator, log, on_change=kill), to)
        assert "Killed" in repr(caught.value)
        run(prompts(2), agent_of(model, emulator, log), to)
        read = {each["id"]: each for each in lines(to)[1:]}
        assert len(log) == len(set(log)), place
        assert sorted(read) == ["id-1", "id-2"]
        assert {each["finish"] for each in read.values()} == {"end"}
        assert created(emulator) == 3, place


def test_another_request_of_a_row_is_asked_again_and_told(tmp_path: Path) -> None:
    """A hook of the agent changes what is sent: the reply of the job is to another request."""
    to, log, emulator = tmp_path / "out", list[str](), Emulator(asks_for_tools(1))
    polls = Killing(emulator, (2, True))
    with pytest.raises(BaseException):  # noqa: B017, PT011
        run(prompts(2), agent_of(MODELS["anthropic"], polls, log), to)
    assert created(emulator) == 1

    def view(messages: Any) -> Any:
        return [Message.user(f"{messages[0].text} Now."), *messages[1:]]

    agent = agent_of(MODELS["anthropic"], emulator, log, view=view)
    results = run(prompts(2), agent, to)
    is_whole(to, log, 2, 1)
    for result in results.values():
        assert result.reply is not None
        assert re.search("asked again: the reply in .* was to another", str(result.reply.notes))
    assert created(emulator) == 3


def test_a_start_without_batch_is_refused_while_jobs_are_open(tmp_path: Path) -> None:
    to = tmp_path / "out"
    emulator = Emulator(asks_for_tools())
    with pytest.raises(BaseException):  # noqa: B017, PT011
        run(prompts(2), agent_of(MODELS["gemini"], Killing(emulator, (3, True))), to)
    assert events(to)["created"]
    with pytest.raises(ConfigurationError, match="give batch=True"):
        bulk.run(prompts(2), agent_of(MODELS["gemini"], emulator), to=to)


@pytest.mark.parametrize(
    ("count", "model"),
    [
        (60, MODELS["gemini"]),
        *(pytest.param(1000, each, marks=pytest.mark.slow) for each in MODELS.values()),
    ],
)
def test_many_agents_with_two_rounds_of_tools(count: int, model: str, tmp_path: Path) -> None:
    log: list[str] = []
    emulator, to = Emulator(asks_for_tools(2)), tmp_path / "out"
    results = run(prompts(count), agent_of(model, emulator, log), to)
    assert len(results) == count
    is_whole(to, log, count)
    assert created(emulator) == 3


# --- options of agents ----------------------------------------------------------------------------


@EACH
def test_calls_that_wait_for_an_approval_end_their_row_and_the_run_can_be_resumed(
    model: str, tmp_path: Path
) -> None:
    log: list[str] = []

    @tool(needs_approval=True)
    def work(id: str) -> str:
        """Work."""
        log.append(id)
        return f"done:{id}"

    emulator = Emulator(asks_for_tools(1))
    results = run(prompts(2), agent_of(model, emulator, tools=[work]), tmp_path / "out")
    assert log == []
    assert [each["finish"] for each in lines(tmp_path / "out")[1:]] == ["waiting", "waiting"]
    ended = results["id-2"].run
    assert ended is not None
    [call] = ended.state.open_calls

    async def approve() -> str:
        agent = agent_of(model, emulator, tools=[work])
        return (await agent.resume(ended.state, verdicts={call.id: True})).text

    assert anyio.run(approve) == "Row 2 has 1 results."
    assert log == ["2-0-0"]
    agent = agent_of(model, emulator, tools=[work], approve=lambda call: True)
    run(prompts(2), agent, tmp_path / "approved")
    assert sorted(log) == ["1-0-0", "2-0-0", "2-0-0"]


def test_a_summary_goes_through_a_batch_too(tmp_path: Path) -> None:
    def look(at: str) -> str:
        """Look at a place."""
        return "wave " * 400

    call = {"say": {"calls": [{"name": "look", "args": {"at": "sea"}}]}}
    summary = {"match": {"text": "Summarise this"}, "times": 0, "say": "All seas were blue."}
    emulator = Emulator([summary, call, call, call, {"say": "Blue."}])
    agent = agent_of("openai@chat:gpt-4.1", emulator, tools=[look], compaction=600)
    result = run(prompts(1), agent, tmp_path / "out")["id-1"]
    assert result.run is not None
    assert result.run.state.compacted is not None
    assert result.run.text == "Blue."
    asked = [each for each in emulator.requests if each["target"].endswith("/chat/completions")]
    assert asked == []
    assert created(emulator) > result.run.steps == 4


def test_an_agent_for_threads_in_batches(tmp_path: Path) -> None:
    log: list[str] = []
    emulator = Emulator(asks_for_tools())
    with serve(emulator) as server:
        chat = Chat(MODELS["anthropic"], api_key="fake-key", base_url=server.url)
        run(prompts(3), Agent(chat, tools=[worker(log)]), tmp_path / "out")
    is_whole(tmp_path / "out", log, 3)


# --- jobs that end without results ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["gemini", "anthropic", "chat"])
def test_rows_of_a_job_that_was_cancelled_go_on_in_a_new_job(name: str, tmp_path: Path) -> None:
    """The second job is cancelled; no tool runs again for the third."""
    model, to, log = MODELS[name], tmp_path / "out", list[str]()
    emulator = Emulator(asks_for_tools())

    class Cancelling(AsyncEmulatorTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            path = request.url.path
            is_poll = request.method == "GET" and re.search(r"batches/[^/:]+$", path)
            if is_poll and created(emulator) == 2:
                verb = ":cancel" if name == "gemini" else "/cancel"
                url = str(request.url).partition("?")[0] + verb
                cancel = httpx.Request("POST", url, headers=request.headers)
                await super().handle_async_request(cancel)
            return await super().handle_async_request(request)

    results = run(prompts(2), agent_of(model, Cancelling(emulator), log), to)
    assert {each.error and each.error.code for each in results.values()} == {"batch_cancelled"}
    assert [each["steps"] for each in lines(Path(f"{to}.dead.jsonl"))] == [1, 1]
    run(prompts(2), agent_of(model, emulator, log), to)
    is_whole(to, log, 2)


def test_a_damaged_run_and_a_damaged_journal_are_told_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    to, log = tmp_path / "out", list[str]()
    run(prompts(2), agent_of(MODELS["gemini"], faulty(), log), to)
    saved, journal = Path(f"{to}.runs/2.json"), Path(f"{to}.jobs.jsonl")
    whole = {path: path.read_bytes() for path in (saved, journal)}
    for path, words in ((saved, "2.json: "), (journal, "jobs.jsonl: line 2: ")):
        path.write_bytes(whole[path].replace(b"{", b"[", 3) if path == saved else
                         whole[path].replace(b'"submitting"', b'"sub\0itting"', 1))  # fmt: skip
        emulator = Emulator(asks_for_tools())
        with pytest.raises(ConfigurationError, match=words):
            run(prompts(2), agent_of(MODELS["gemini"], emulator, log), to)
        assert list(emulator.requests) == []
        path.write_bytes(whole[path])
    run(prompts(2), agent_of(MODELS["gemini"], Emulator(asks_for_tools()), log), to)
    is_whole(to, log, 2)
