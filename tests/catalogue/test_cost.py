"""What replies cost: the usage of each vendor, with figures computed by hand."""

from __future__ import annotations

import decimal
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import anyio
import httpx
import pytest

import wire
from tests.catalogue.conftest import TEST, price, row
from tests.joined import joined
from wire import AsyncChat, Chat, Cost, Message, Reply, Stop, Usage
from wire.catalogue import Catalogue, use
from wire.catalogue.cost import VENDOR, total_of, unpriced, vendor_figure
from wire.errors import ConfigurationError
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

pytestmark = pytest.mark.usefixtures("round_prices")


def gemini(usage: dict[str, Any], **candidate: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": "Hi."}]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", **candidate}],
        "usageMetadata": usage,
        "modelVersion": "gemini-3.8-flash",
    }


def claude(usage: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5-20260101",
        "content": [{"type": "text", "text": "Hi."}],
        "stop_reason": "end_turn",
        "usage": usage,
    }


def completion(usage: dict[str, Any] | None, model: str = "gpt-5.4", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "Hi.", **more.pop("message", {})}
    return {
        "object": "chat.completion",
        "created": 1_795_000_000,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": usage,
        **more,
    }


def response(usage: dict[str, Any], *items: dict[str, Any], **more: Any) -> dict[str, Any]:
    text = {"type": "output_text", "text": "Hi.", "annotations": []}
    message = {"type": "message", "role": "assistant", "status": "completed", "content": [text]}
    return {
        "object": "response",
        "created_at": 1_795_000_000,
        "model": "gpt-5.4-2026-03-05",
        "status": "completed",
        "output": [*items, message],
        "usage": usage,
        **more,
    }


def reply_of(model: str, body: dict[str, Any], **options: Any) -> Reply:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=body))
    with Chat(model, api_key="fake-key", http=transport, **options) as chat:
        return chat.ask("Hi")


def parts(cost: Cost) -> dict[str, Decimal]:
    """The parts that are not 0."""
    names = ("input", "output", "cached", "cache_written", "reasoning", "searches", "requests")
    return {name: value for name in names if (value := getattr(cost, name))}


D = Decimal
GEMINI, CLAUDE = "gemini:gemini-3.8-flash", "anthropic:claude-sonnet-5"

COUNTED: dict[str, tuple[str, dict[str, Any], dict[str, Decimal]]] = {
    # 1,000 of which 400 cached: 600 x 1 + 400 x 0.25; 50 written and 150 thought, both at 4.
    "Gemini: cached is part of the prompt, thoughts are beside the candidates": (
        GEMINI,
        gemini(
            {
                "promptTokenCount": 1000,
                "cachedContentTokenCount": 400,
                "candidatesTokenCount": 50,
                "thoughtsTokenCount": 150,
                "totalTokenCount": 1200,
                "serviceTier": "standard",
            }
        ),
        {
            "input": D("0.0006"),
            "cached": D("0.0001"),
            "output": D("0.0002"),
            "reasoning": D("0.0006"),
        },
    ),
    # 1,000 prompt and 500 of built-in tools.
    "Gemini: what tools put into the prompt is paid as input": (
        GEMINI,
        gemini(
            {"promptTokenCount": 1000, "toolUsePromptTokenCount": 500, "candidatesTokenCount": 50}
        ),
        {"input": D("0.0015"), "output": D("0.0002")},
    ),
    # 300,000 tokens are above 200,000: all of them at 2, the reply at 6.
    "Gemini: a long request is paid in the long tier as a whole": (
        GEMINI,
        gemini({"promptTokenCount": 300_000, "candidatesTokenCount": 100}),
        {"input": D("0.6"), "output": D("0.0006")},
    ),
    # 900 audio of which 300 cached, 100 text: 100 x 1 + 600 x 3; 300 x 0.75.
    "Gemini: audio has prices of its own, cached and not": (
        GEMINI,
        gemini(
            {
                "promptTokenCount": 1000,
                "cachedContentTokenCount": 300,
                "promptTokensDetails": [
                    {"modality": "TEXT", "tokenCount": 100},
                    {"modality": "AUDIO", "tokenCount": 900},
                ],
                "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 300}],
                "candidatesTokenCount": 10,
            }
        ),
        {"input": D("0.0019"), "cached": D("0.000225"), "output": D("0.00004")},
    ),
    "Gemini: the flex tier": (
        GEMINI,
        gemini({"promptTokenCount": 1000, "candidatesTokenCount": 100, "serviceTier": "flex"}),
        {"input": D("0.0005"), "output": D("0.0002")},
    ),
    "Vertex: the flex tier in its words, at Gemini's prices": (
        "gemini@vertex:gemini-3.8-flash",
        gemini(
            {"promptTokenCount": 1000, "candidatesTokenCount": 100, "trafficType": "ON_DEMAND_FLEX"}
        ),
        {"input": D("0.0005"), "output": D("0.0002")},
    ),
    # 100 fresh x 2; 2,000 read x 0.2; 300 for 5 min x 2.5 + 700 for 1 h x 4; 60 x 10, 40 thought.
    "Anthropic: cached is beside the input, thoughts are part of the output": (
        CLAUDE,
        claude(
            {
                "input_tokens": 100,
                "cache_read_input_tokens": 2000,
                "cache_creation_input_tokens": 1000,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 300,
                    "ephemeral_1h_input_tokens": 700,
                },
                "output_tokens": 100,
                "output_tokens_details": {"thinking_tokens": 40},
                "service_tier": "standard",
                "inference_geo": "not_available",
            }
        ),
        {
            "input": D("0.0002"),
            "cached": D("0.0004"),
            "cache_written": D("0.00355"),
            "output": D("0.0006"),
            "reasoning": D("0.0004"),
        },
    ),
    "Anthropic: three searches of the server, at 10 for 1,000": (
        CLAUDE,
        claude(
            {
                "input_tokens": 1000,
                "output_tokens": 100,
                "server_tool_use": {"web_search_requests": 3},
            }
        ),
        {"input": D("0.002"), "output": D("0.001"), "searches": D("0.03")},
    ),
    "Anthropic: a batch; its searches cost what they cost elsewhere": (
        CLAUDE,
        claude(
            {
                "input_tokens": 1000,
                "output_tokens": 100,
                "server_tool_use": {"web_search_requests": 1},
                "service_tier": "batch",
            }
        ),
        {"input": D("0.001"), "output": D("0.0005"), "searches": D("0.01")},
    ),
    "Anthropic: the fast mode": (
        CLAUDE,
        claude({"input_tokens": 1000, "output_tokens": 100, "speed": "fast"}),
        {"input": D("0.02"), "output": D("0.01")},
    ),
    # 1,000 of which 600 cached: 400 x 2.5 + 600 x 0.25; 80 of which 30 thought, all at 15.
    "chat completions: cached is part of the prompt, thoughts of the completion": (
        "openai@chat:gpt-5.4",
        completion(
            {
                "prompt_tokens": 1000,
                "prompt_tokens_details": {"cached_tokens": 600},
                "completion_tokens": 80,
                "completion_tokens_details": {"reasoning_tokens": 30},
                "total_tokens": 1080,
            },
            service_tier="default",
        ),
        {
            "input": D("0.001"),
            "cached": D("0.00015"),
            "output": D("0.00075"),
            "reasoning": D("0.00045"),
        },
    ),
    # 1,000 of which 200 cached and 500 written: 300 x 4 + 200 x 0.4 + 500 x 5; 10 x 20.
    "Responses: tokens written to the cache": (
        "openai:gpt-5.6",
        response(
            {
                "input_tokens": 1000,
                "input_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 500},
                "output_tokens": 10,
                "total_tokens": 1010,
            },
            model="gpt-5.6",
        ),
        {
            "input": D("0.0012"),
            "cached": D("0.00008"),
            "cache_written": D("0.0025"),
            "output": D("0.0002"),
        },
    ),
    # One search and one opened page; only the search is charged.
    "Responses: web searches, but not pages that are opened": (
        "openai@responses:gpt-5.4",
        response(
            {"input_tokens": 1000, "output_tokens": 100},
            {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x"}},
            {"type": "web_search_call", "id": "ws_2", "action": {"type": "open_page", "url": "x"}},
        ),
        {"input": D("0.0025"), "output": D("0.0015"), "searches": D("0.01")},
    ),
    "Responses: searches as tool_usage counts them": (
        "openai@responses:gpt-5.4",
        response(
            {"input_tokens": 1000, "output_tokens": 100},
            {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x"}},
            tool_usage={"web_search": {"num_requests": 2}},
        ),
        {"input": D("0.0025"), "output": D("0.0015"), "searches": D("0.02")},
    ),
    # 1,000 of which 900 hits: 100 x 1 + 900 x 0.1; 50 x 2.
    "DeepSeek: hits of the cache in a field of their own": (
        "deepseek:deepseek-v4-pro",
        completion(
            {
                "prompt_tokens": 1000,
                "prompt_cache_hit_tokens": 900,
                "prompt_cache_miss_tokens": 100,
                "completion_tokens": 50,
            },
            "deepseek-v4-pro",
        ),
        {"input": D("0.0001"), "cached": D("0.00009"), "output": D("0.0001")},
    ),
    # 100 x 2; the 500 thoughts are beside the completion of 50: 550 x 6.
    "xAI: thoughts are beside the completion": (
        "xai@chat:grok-4.6",
        completion(
            {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "completion_tokens_details": {"reasoning_tokens": 500},
                "total_tokens": 650,
            },
            "grok-4.6",
        ),
        {"input": D("0.0002"), "output": D("0.0003"), "reasoning": D("0.003")},
    ),
}


@joined("name", COUNTED)
def test_counts_by_the_prices_of_the_catalogue(name: str) -> None:
    model, body, expected = COUNTED[name]
    options = {"project": "p", "location": "global"} if "vertex" in model else {}
    cost = reply_of(model, body, **options).cost
    assert parts(cost) == expected
    assert cost.total == cost.known == sum(expected.values())
    assert (cost.source, cost.reason) == (TEST, "")


USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}

TOLD: dict[str, tuple[str, dict[str, Any], Decimal, dict[str, Decimal]]] = {
    "OpenRouter, in chat completions": (
        "openrouter:openai/gpt-5.4",
        completion({**USAGE, "cost": 0.00123, "is_byok": False}, "openai/gpt-5.4"),
        D("0.00123"),
        {},
    ),
    "OpenRouter, a free model: 0 is what it costs": (
        "openrouter:openai/gpt-5.4",
        completion({**USAGE, "cost": 0}, "openai/gpt-5.4"),
        D(0),
        {},
    ),
    "OpenRouter with the caller's own key: its fee and the provider's price": (
        "openrouter:openai/gpt-5.4",
        completion(
            {
                **USAGE,
                "cost": 0.0001,
                "is_byok": True,
                "cost_details": {"upstream_inference_cost": 0.002},
            }
        ),
        D("0.0021"),
        {},
    ),
    "OpenRouter, in Responses": (
        "openrouter@responses:openai/gpt-5.4",
        response({"input_tokens": 21, "output_tokens": 6, "cost": 0.0000285}),
        D("0.0000285"),
        {},
    ),
    "OpenRouter, in Messages": (
        "openrouter@anthropic:anthropic/claude-sonnet-5",
        claude({"input_tokens": 21, "output_tokens": 6, "cost": 0.000102}),
        D("0.000102"),
        {},
    ),
    "Perplexity, with its parts": (
        "perplexity:sonar",
        completion(
            {
                **USAGE,
                "cost": {
                    "input_tokens_cost": 0.001,
                    "output_tokens_cost": 0.0001,
                    "request_cost": 0.005,
                    "total_cost": 0.0061,
                },
            },
            "sonar",
        ),
        D("0.0061"),
        {"input": D("0.001"), "output": D("0.0001"), "requests": D("0.005")},
    ),
    "xAI, in ticks": (
        "xai@chat:grok-4.6",
        completion({**USAGE, "cost_in_usd_ticks": 10_243_500}, "grok-4.6"),
        D("0.00102435"),
        {},
    ),
    "xAI, in ticks, in Responses": (
        "xai@responses:grok-4.6",
        response({"input_tokens": 1, "output_tokens": 1, "cost_in_usd_ticks": 6_881_000}),
        D("0.0006881"),
        {},
    ),
    "Venice says that it is USD": (
        "venice:m",
        completion(USAGE, "m", cost={"usd": 0.004, "diem": 1}),
        D("0.004"),
        {},
    ),
}


@joined("name", TOLD)
def test_the_vendors_own_figure_goes_first(name: str) -> None:
    model, body, total, of_parts = TOLD[name]
    options = {"base_url": "https://llm.example/v1"} if model[:3] in ("per", "ven") else {}
    cost = reply_of(model, body, **options).cost
    assert (cost.total, cost.known, cost.source, cost.reason) == (total, total, VENDOR, "")
    assert parts(cost) == of_parts


UNKNOWN: dict[str, tuple[str, dict[str, Any], str, Decimal]] = {
    "no counts": ("openai@chat:gpt-5.4", completion(None), "no token counts", D(0)),
    "an unknown model": (
        "openai@chat:gpt-99",
        completion(USAGE, "gpt-99"),
        "the catalogue of 2026-11-23 has no model 'gpt-99' of openai",
        D(0),
    ),
    "a host without prices": (
        "my-host:m",
        completion({**USAGE, "cost": 5}, "m"),  # of an unknown currency
        "the catalogue has no models of 'my-host'",
        D(0),
    ),
    "an unknown tier": (
        "openai@chat:gpt-5.4",
        completion(USAGE, service_tier="scale"),
        "no price of 'openai:gpt-5.4' in the tier 'scale'",
        D(0),
    ),
    "Vertex: provisioned throughput is paid by the hour": (
        GEMINI,
        gemini({"promptTokenCount": 1, "trafficType": "PROVISIONED_THROUGHPUT"}),
        "no price of 'gemini:gemini-3.8-flash' in the tier 'provisioned_throughput'",
        D(0),
    ),
    # The tokens are known: 1,000 x 1 + 100 x 4.
    "Gemini: searches above a number that is free": (
        GEMINI,
        gemini(
            {"promptTokenCount": 1000, "candidatesTokenCount": 100},
            groundingMetadata={"webSearchQueries": ["tide"]},
        ),
        "web searches are charged",
        D("0.0014"),
    ),
    # 1,000 x 2.5 + 100 x 15.
    "chat completions: searches that are not counted": (
        "openai@chat:gpt-5.4",
        completion(
            USAGE,
            message={"annotations": [{"type": "url_citation", "url_citation": {"url": "x"}}]},
        ),
        "web searches are charged",
        D("0.004"),
    ),
    "Responses: a container": (
        "openai@responses:gpt-5.4",
        response(
            {"input_tokens": 1000, "output_tokens": 100},
            {"type": "code_interpreter_call", "id": "ci_1"},
        ),
        "code_interpreter_call is charged apart",
        D("0.004"),
    ),
    "Anthropic: a compaction, whose tokens the counts leave out": (
        CLAUDE,
        claude(
            {
                "input_tokens": 1000,
                "output_tokens": 100,
                "iterations": [{"type": "compaction"}, {"type": "message"}],
            }
        ),
        "a run of the type compaction",
        D("0.003"),
    ),
    "Anthropic: inference in one region": (
        CLAUDE,
        claude({"input_tokens": 1000, "output_tokens": 100, "inference_geo": "us"}),
        "inference in one region",
        D("0.003"),
    ),
    "OpenRouter with the caller's own key, without the provider's price": (
        "openrouter:openai/gpt-5.4",
        completion({**USAGE, "cost": 0.0001, "is_byok": True}),
        "the caller's own key",
        D("0.0001"),
    ),
    "more cached tokens than tokens": (
        "deepseek:deepseek-v4-pro",
        completion({"prompt_tokens": 7, "prompt_cache_hit_tokens": 161}, "deepseek-v4-pro"),
        "more cached tokens than tokens of the request",
        D(0),
    ),
    "more thoughts than tokens": (
        "openai@chat:gpt-5.4",
        completion(
            {
                "prompt_tokens": 1,
                "completion_tokens": 5,
                "completion_tokens_details": {"reasoning_tokens": 6},
            }
        ),
        "more thoughts and media",
        D(0),
    ),
    "audio of which some is cached, without details": (
        GEMINI,
        gemini(
            {
                "promptTokenCount": 1000,
                "cachedContentTokenCount": 300,
                "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 1000}],
            }
        ),
        "which of its tokens are audio",
        D(0),
    ),
}


@joined("name", UNKNOWN)
def test_what_is_unknown_is_none_with_a_reason(name: str) -> None:
    model, body, reason, known = UNKNOWN[name]
    options = {"base_url": "https://llm.example/v1"} if model.startswith("my-host") else {}
    cost = reply_of(model, body, **options).cost
    assert (cost.total, cost.known, cost.source) == (None, known, None)
    assert reason in cost.reason
    assert str(cost).startswith("unknown, at least ")


def test_the_model_that_answered_is_paid_whatever_was_asked() -> None:
    body = completion(USAGE, "gpt-5.6-2026-06-01")
    by_name = reply_of("openai@chat:gpt-5.4", body).cost  # as a router answers
    assert by_name == wire.cost(Usage(input=1000, output=100), "openai:gpt-5.6")
    # A host that does not say who answered: the model that was asked.
    unnamed = reply_of("openai@chat:gpt-5.4", completion(USAGE, "")).cost
    assert unnamed == wire.cost(Usage(input=1000, output=100), "openai:gpt-5.4")


def test_a_deployment_has_a_name_of_its_own() -> None:
    use(Catalogue((row("azure", "gpt-5.4", price(input=3, output=15)),), {"t": TEST}, "2026-11-23"))
    options = {"base_url": "https://mine.openai.azure.com/openai/v1"}
    cost = reply_of("azure:my-deployment", completion(USAGE, "gpt-5.4-2026-03-05"), **options).cost
    assert cost.total == D("0.0045")


def test_a_reply_of_nobody_has_no_cost() -> None:
    reply = Reply(Message.assistant("Hi."), Stop("end"), usage=Usage(input=1), model="gpt-5.4")
    assert reply.cost == Cost(reason="the message did not come from a model")


SCRIPT = [{"say": {"text": "At 05:12.", "thoughts": "The table says so."}}]


@joined("model", [GEMINI, CLAUDE, "openai@chat:gpt-5.4", "openai:gpt-5.6"])
@joined("style", ["threads", "asyncio", "trio"])
def test_a_stream_costs_what_is_counted_at_its_end(style: str, model: str) -> None:
    async def main() -> tuple[Cost, Reply]:
        http = AsyncEmulatorTransport(Emulator(SCRIPT))
        async with AsyncChat(model, api_key="fake-key", http=http) as chat:
            async with chat.stream("Hi") as stream:
                return stream.partial().cost, await stream.reply()

    if style == "threads":
        http = EmulatorTransport(Emulator(SCRIPT))
        with Chat(model, api_key="fake-key", http=http) as chat, chat.stream("Hi") as stream:
            early, reply = stream.partial().cost, stream.reply()
    else:
        early, reply = anyio.run(main, backend=style)
    assert early.total is None
    assert early.reason.startswith("the reply is incomplete; ")
    assert reply.usage is not None
    assert reply.cost.total is not None
    # Gemini and Anthropic count from the first chunk on, the emulator's Gemini all tokens.
    assert (0 < early.known <= reply.cost.total) == (model in (GEMINI, CLAUDE))
    assert reply.usage.output > 3
    assert reply.cost == wire.cost(reply.usage, model)
    assert reply.cost.source == TEST


# --- wire.cost ------------------------------------------------------------------------------------


def test_a_model_is_named_or_given() -> None:
    usage = Usage(input=1000, cached=400, output=100)
    named = wire.cost(usage, "claude-sonnet-5")
    assert named == wire.cost(usage, CLAUDE) == wire.cost(usage, wire.model(CLAUDE))
    assert named.total == D("0.00228")  # 600 x 2 + 400 x 0.2 + 100 x 10
    assert wire.cost(usage, CLAUDE, tier="batch").total == D("0.00114")
    assert wire.cost(None, CLAUDE) == Cost(reason="the response has no token counts")


def test_a_price_that_changes_is_that_of_the_time() -> None:
    rows = [price(input=1, output=1), price(input=2, output=2, since="2027-01-01")]
    use(Catalogue((row("xai", "m", *rows),), {"t": TEST}, "2026-11-23"))
    usage = Usage(input=1_000_000)
    before, after = datetime(2026, 12, 31, 23, 59), datetime(2027, 1, 1, tzinfo=UTC)
    assert wire.cost(usage, "xai:m", at=before).total == 1
    assert wire.cost(usage, "xai:m", at=after).total == 2


def test_a_response_is_paid_at_the_prices_of_its_own_time() -> None:
    rows = [price(input=1, output=1), price(input=2, output=2, since="2026-11-18")]
    use(Catalogue((row("openai", "gpt-5.4", *rows),), {"t": TEST}, "2026-11-23"))
    for created, total in ((1_795_000_000, D("0.0022")), (1_790_000_000, D("0.0011"))):
        body = completion(USAGE, created=created)
        assert reply_of("openai@chat:gpt-5.4", body).cost.total == total


def test_prices_of_hours_of_a_day() -> None:
    rows = [
        price(input=1, output=1, since="2026-01-01"),
        price(input=2, output=1, hours="01:00-04:00"),
        price(input=3, output=1, hours="22:00-00:30"),
    ]
    use(Catalogue((row("xai", "m", *rows),), {"t": TEST}, "2026-11-23"))
    usage = Usage(input=1_000_000)
    for time, total in ((0, 3), (1, 2), (3, 2), (4, 1), (12, 1), (22, 3)):
        assert wire.cost(usage, "xai:m", at=datetime(2026, 11, 23, time)).total == total


def test_money_is_exact_whatever_the_programs_decimal_context() -> None:
    usage = Usage(input=123_457, output=98_765)
    with decimal.localcontext(prec=3):
        assert wire.cost(usage, "openai:gpt-5.4").total == D("1.7901175")


def test_an_hour_in_the_cache_has_a_price_or_none() -> None:
    usage = Usage(input=1000, cache_written=1000, cache_written_1h=1000)
    assert wire.cost(usage, CLAUDE).total == D("0.004")
    assert "one hour" in wire.cost(usage, "openai:gpt-5.6").reason
    odd = Usage(input=1000, cache_written=10, cache_written_1h=20)
    assert wire.cost(odd, CLAUDE).total is None


@joined("model", ["", "  ", 5, None])
def test_what_is_no_name_is_refused(model: Any) -> None:
    with pytest.raises(ConfigurationError, match="model: "):
        wire.cost(Usage(input=1), model)


# --- sums -----------------------------------------------------------------------------------------


def test_costs_add_up() -> None:
    usage = Usage(input=1000, output=100)
    one = wire.cost(usage, CLAUDE)
    assert one + one == sum([one, one]) == wire.cost(usage + usage, CLAUDE)
    other = Cost(total=D("0.1"), known=D("0.1"), source=VENDOR)
    mixed = one + other
    assert (mixed.total, mixed.source, mixed.input) == (D("0.103"), None, None)
    assert total_of(()) == sum([], Cost(total=D(0))) == Cost(total=D(0))
    assert one + Cost(total=D(0)) == Cost(total=D(0)) + one == one
    with pytest.raises(TypeError):
        one + 1  # type: ignore[operator]


def test_one_unknown_cost_makes_the_sum_unknown_and_keeps_what_is_known() -> None:
    known = wire.cost(Usage(input=1000), CLAUDE)
    total = sum([known, Cost(known=D("0.5"), reason="why"), known])
    assert (total.total, total.known, total.reason) == (None, D("0.504"), "why")
    assert str(total) == "unknown, at least 0.504 USD: why"
    assert str(Cost()) == "unknown, at least 0 USD"


# --- small parts ----------------------------------------------------------------------------------


@joined("cost", [None, "x", True, -1, float("nan"), [], {}, {"total_cost": None}])
def test_an_odd_figure_is_none(cost: Any) -> None:
    assert vendor_figure(cost) is None


def test_which_models_have_a_price_before_they_are_asked() -> None:
    assert unpriced(CLAUDE) == unpriced("openrouter:acme/m") == unpriced("xai@responses:m") == ""
    assert "no model 'acme-1'" in unpriced("anthropic:acme-1")
    use(Catalogue((row("xai", "m"), row("groq", "m")), {"t": TEST}, "2026-11-23"))
    assert unpriced("groq:m") == "the catalogue has no price of 'groq:m'"
