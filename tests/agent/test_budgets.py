"""Budgets of a run: `max_cost`, `max_tokens_total`, `max_calls`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import anyio
import httpx
import pytest

import wire
from tests.agent.agents import Talk, talk
from tests.catalogue.conftest import TEST, price, row
from wire import Agent, AsyncChat, AsyncFallbackChat, Chat, FallbackChat, LLMAgent, Usage
from wire.agent.run_state import begin_run
from wire.agent.saved_runs import dump_run, load_run
from wire.agent.steps import Steps
from wire.catalogue import Catalogue, use
from wire.errors import ConfigurationError
from wire.neutral.messages import Message, Reply, Stop, ToolCall
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport, Outage
from wire.tools import Toolbox, ToolRun

MODEL = "anthropic:claude-sonnet-5"
STYLES = ["threads", "asyncio", "trio"]
CALL = {"name": "high_tide", "args": {"port": "Brest"}}
SCRIPT = [{"say": {"calls": [CALL]}}] * 9 + [{"say": "At 05:12."}]


@pytest.fixture(autouse=True)
def _round_prices(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv("WIRE_CATALOGUE", raising=False)
    rows = (row("anthropic", "claude-sonnet-5", price(input=2, output=10)),)
    use(Catalogue(rows, {"t": TEST}, "2026-11-23"))
    yield
    use(None)


def high_tide(port: str) -> str:
    """When the tide is high."""
    return "05:12"


def run(style: str, script: Any = SCRIPT, /, **options: Any) -> Talk:
    return talk(style, script, "When?", model=MODEL, tools=[high_tide], **options)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("style", STYLES)
def test_a_run_ends_before_the_request_after_its_budget(style: str, stream: bool) -> None:
    free = run(style, run={"stream": stream, "max_steps": 4})
    costs = [step.reply.cost.total for step in free.result.steps]
    assert all(costs)
    of_three = sum(cost for cost in costs[:3] if cost is not None)
    said = run(style, max_cost=of_three, run={"stream": stream})
    result = said.result
    assert (result.reason, len(said.requests)) == ("max_cost", 3)
    assert result.cost.total == of_three == result.state.spent
    assert (result.cost.source, result.cost.reason) == (TEST, "")
    # The calls of the last reply have run: the conversation can be continued.
    assert [each.result.content for each in result.runs] == ["05:12"] * 3
    assert result.state.open_calls == ()
    # A little more money buys one request more.
    more = run(style, max_cost=of_three + Decimal("0.0000001"), run={"stream": stream})
    assert (more.result.reason, len(more.requests)) == ("max_cost", 4)


@pytest.mark.parametrize("style", STYLES)
def test_tokens_of_a_run(style: str) -> None:
    usage = sum((step.reply.usage for step in run(style, max_calls=2).result.steps), Usage())
    said = run(style, max_tokens_total=usage.total)
    assert (said.result.reason, len(said.requests)) == ("max_tokens_total", 3)
    assert said.result.usage.total == usage.total


@pytest.mark.parametrize("style", STYLES)
def test_calls_of_a_run(style: str) -> None:
    two = [{"say": {"calls": [CALL, {"name": "high_tide", "args": {"port": "Faro"}}]}}] * 5
    said = run(style, two, max_calls=3)
    result = said.result
    assert (result.reason, len(said.requests), result.state.calls) == ("max_calls", 2, 3)
    refused = "refused: at most 3 calls of a run are run"
    answers = [each.result.content for each in result.runs]
    assert answers == ["05:12", "05:12", "05:12", refused]
    assert result.runs[3].result.error


@pytest.mark.parametrize("style", STYLES)
def test_the_answer_ends_a_run_whatever_it_costs(style: str) -> None:
    limits = {"max_cost": 1e-9, "max_tokens_total": 1, "max_calls": 1}
    said = run(style, [{"say": "At 05:12."}], **limits)
    assert (said.result.reason, said.result.text) == ("end", "At 05:12.")
    # A run that makes as many calls as it may gets its answer.
    one = run(style, [SCRIPT[0], SCRIPT[-1]], max_calls=1)
    assert (one.result.reason, one.result.text) == ("end", "At 05:12.")


def agent_of(script: Any = SCRIPT, model: str = MODEL, **options: Any) -> Agent:
    chat = Chat(model, api_key="fake-key", http=EmulatorTransport(Emulator(script)))
    return Agent(chat, tools=[high_tide], **options)


def test_a_larger_budget_continues_a_run_after_it_was_saved() -> None:
    with agent_of(max_cost=0.001) as agent:
        first = agent.run("When?")
        assert first.reason == "max_cost"
        saved = load_run(dump_run(first.state))
        assert saved == first.state
        # The same budget is used up already: nothing is sent.
        again = agent.resume(saved)
        assert (again.reason, again.steps, again.cost.total) == ("max_cost", (), 0)
        agent.max_cost = Decimal(1)
        last = agent.resume(again.state)
        assert (last.reason, last.text) == ("end", "At 05:12.")
        assert last.cost.total is not None
        assert last.state.spent == first.state.spent + last.cost.total


def test_the_calls_of_a_resumed_run_count_on() -> None:
    with agent_of(max_calls=2) as agent:
        first = agent.run("When?")
        assert (first.reason, first.state.calls) == ("max_calls", 2)
        agent.max_calls = 3
        second = agent.resume(load_run(dump_run(first.state)))
        assert (second.reason, second.state.calls) == ("max_calls", 3)
        assert [run.result.error for run in second.runs] == [False, True]


def replied(*calls: ToolCall, usage: Usage | None = None) -> Reply:
    return Reply(Message("assistant", calls), Stop("tool_calls"), usage=usage)


TOOLS = Toolbox([high_tide])
ONE = ToolCall(id="1", name="high_tide", arguments={"port": "Brest"})


@pytest.mark.parametrize(
    ("limit", "reason"),
    [({"max_cost": 5}, "max_cost"), ({"max_tokens_total": 9}, "max_tokens_total")],
)
def test_a_reply_that_does_not_tell_ends_the_run(limit: Any, reason: str) -> None:
    steps = Steps(begin_run([Message.user("Hi")]), TOOLS, **limit)
    steps.next()
    steps.replied(replied(ONE))
    steps.next()
    steps.answered([ToolRun(ONE, wire.ToolResult("1", "high_tide", "05:12"))])
    assert steps.next().result.reason == reason  # type: ignore[union-attr]
    assert steps.result.cost.total is None
    assert steps.result.cost.reason == "the message did not come from a model"


def test_empty_replies_are_paid() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        usage = {"input_tokens": 1000, "output_tokens": 100}
        body = {"role": "assistant", "content": [], "stop_reason": "end_turn", "usage": usage}
        return httpx.Response(200, json={"type": "message", "model": "claude-sonnet-5", **body})

    chat = Chat(MODEL, api_key="fake-key", http=httpx.MockTransport(answer))
    with Agent(chat, max_cost=1, retry=wire.Retry(attempts=2, base=0)) as agent:
        with pytest.raises(wire.errors.StreamIncomplete):
            agent.run("Hi")
        assert agent.last_run is not None
        assert agent.last_run.state.spent == Decimal("0.006")  # twice 0.002 + 0.001


BAD = (
    ("max_cost", 0),
    ("max_cost", -1),
    ("max_cost", True),
    ("max_cost", "1"),
    ("max_cost", float("nan")),
    ("max_cost", float("inf")),
    ("max_cost", Decimal("NaN")),
    ("max_tokens_total", 0),
    ("max_tokens_total", 1.5),
    ("max_calls", 0),
    ("max_calls", True),
)


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_limit_that_is_none_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name}: "):
        agent_of(**{name: value})
    with pytest.raises(ConfigurationError, match=f"^{name}: "):
        LLMAgent(AsyncChat(MODEL, api_key="fake-key"), **{name: value})
    with pytest.raises(ConfigurationError, match=f"^{name}: "):
        Steps(begin_run([Message.user("Hi")]), TOOLS, **{name: value})


def test_a_price_must_be_known_before_the_run() -> None:
    reason = "max_cost: the price of the model is unknown: the catalogue has no models of 'gemini'"
    with pytest.raises(ConfigurationError) as caught:
        agent_of(model="gemini:gemini-3.8-flash", max_cost=1)
    assert caught.value.message == reason
    other = AsyncChat("gemini:gemini-3.8-flash", api_key="fake-key")
    with pytest.raises(ConfigurationError, match="max_cost: the price of the model is unknown"):
        LLMAgent(other, max_cost=1)
    agent = LLMAgent(AsyncChat(MODEL, api_key="fake-key"), max_cost=1)
    with pytest.raises(ConfigurationError, match="max_cost: the price of the model is unknown"):
        agent.provider = other
    # OpenRouter sends the cost of each call.
    agent_of(model="openrouter:acme/acme-1", max_cost=1).close()


CHEAP = "openai@chat:gpt-5.4"


def stand_ins(kind: Any, *names: str) -> list[Any]:
    """The first model is down, the others call the tool again and again."""
    http = EmulatorTransport if kind is Chat else AsyncEmulatorTransport
    down = Emulator(outage=Outage(faults=["503"]))
    servers = [down, *(Emulator(SCRIPT) for _ in names[1:])]
    return [
        kind(name, api_key="fake-key", http=http(server), retry=None)
        for name, server in zip(names, servers, strict=True)
    ]


@pytest.mark.parametrize("style", STYLES)
def test_a_fallback_costs_what_the_model_that_answered_costs(style: str) -> None:
    of_claude = row("anthropic", "claude-sonnet-5", price(input=2, output=10))
    of_gpt = row("openai", "gpt-5.4", price(input=1, output=4))
    use(Catalogue((of_claude, of_gpt), {"t": TEST}, "2026-11-23"))

    def limited(chat: Any, kind: Any) -> Any:
        return kind(chat, tools=[high_tide], max_cost=0.0005)

    if style == "threads":
        with limited(FallbackChat(stand_ins(Chat, MODEL, CHEAP)), Agent) as agent:
            result = agent.run("When?")
    else:

        async def main() -> Any:
            chat = AsyncFallbackChat(stand_ins(AsyncChat, MODEL, CHEAP))
            async with limited(chat, LLMAgent) as agent:
                return await agent.run("When?")

        result = anyio.run(main, backend=style)
    assert result.reason == "max_cost"
    replies = [step.reply for step in result.steps]
    assert {each.message.origin.provider for each in replies} == {"openai@chat"}
    usages = [each.usage for each in replies]
    millionths = sum(usage.input + 4 * usage.output for usage in usages)
    assert result.state.spent == result.cost.total == Decimal(millionths).scaleb(-6)
    before = millionths - usages[-1].input - 4 * usages[-1].output
    assert before < 500 <= millionths


@pytest.mark.parametrize("style", ["threads", "async"])
def test_each_model_of_a_fallback_has_a_price(style: str) -> None:
    names = (MODEL, "openrouter:acme/acme-1", "anthropic:claude-4711", "gemini:gemini-3.8-flash")
    with pytest.raises(ConfigurationError) as caught:
        if style == "threads":
            Agent(FallbackChat(stand_ins(Chat, *names)), max_cost=1)
        else:
            LLMAgent(AsyncFallbackChat(stand_ins(AsyncChat, *names)), max_cost=1)
    assert caught.value.message == (
        "max_cost: the price of models[2] anthropic:claude-4711 is unknown: the catalogue of "
        "2026-11-23 has no model 'claude-4711' of anthropic; the price of models[3] "
        "gemini:gemini-3.8-flash is unknown: the catalogue has no models of 'gemini'"
    )


def test_the_price_of_a_provider_of_a_config() -> None:
    config = wire.LLMConfig("fake-key", provider="anthropic", model="claude-sonnet-5")
    assert LLMAgent.from_config(config, max_cost=1).max_cost == 1
    config = wire.LLMConfig("fake-key", provider="anthropic", model="claude-4711")
    with pytest.raises(ConfigurationError, match="max_cost: the price of the model is unknown"):
        LLMAgent.from_config(config, max_cost=1)


def test_a_model_of_ones_own_has_no_price() -> None:
    class Parrot:
        def ask(self, **_: Any) -> Reply:
            raise NotImplementedError

        def stream(self, **_: Any) -> Any:
            raise NotImplementedError

    Agent(Parrot(), max_tokens_total=5)
    with pytest.raises(ConfigurationError, match=r"^max_cost: the price of Parrot is unknown"):
        Agent(Parrot(), max_cost=1)
