"""`Message(cache=True)` and `caching=` on each wire: what is sent, what a vendor then caches, and
what survives on the way there.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.history.histories import conversation
from tests.joined import joined
from wire import history
from wire.agent import Agent, CachePolicy, LLMAgent, RunState, dump_run, load_run
from wire.agent.config import LLMConfig
from wire.anthropic import parse_reply, render_request
from wire.anthropic.reader import parse_message
from wire.catalogue.usage import Usage
from wire.chat.chat import AsyncChat, Chat
from wire.core.memory import encode
from wire.core.retry import NONE
from wire.errors import ConfigurationError, RuleError, WireError
from wire.history import repair
from wire.history.order import with_results
from wire.neutral.messages import Message, Reply, Text, Thought, ToolCall, ToolResult, with_origin
from wire.neutral.request import Request, Tool
from wire.sessions import dump_session, load_session
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

LONG = "All about the tides of Brest. " * 300
UNASKED = [
    "openai:gpt-5.4",
    "openai@chat:gpt-4.1",
    "mistral:mistral-large-latest",
    "xai@chat:grok-4.5",
]
CLAUDE, GPT, OLD_GPT = "anthropic:claude-sonnet-5", "openai:gpt-5.6", "openai:gpt-5.4"
ROUTED = "openrouter:anthropic/claude-sonnet-5"
HI, NOW = Message.user("Hi"), ToolCall(id="call_1", name="now", arguments={})
MARK = {"type": "ephemeral"}
EXPLICIT = {"mode": "explicit"}


def body(model: str, *messages: Message, **settings: Any) -> dict[str, Any]:
    with Chat(model, api_key="fake-key") as chat:
        made: dict[str, Any] = json.loads(chat.call(messages=messages or [HI], **settings).body)
    return made


def told(model: str, *messages: Message, **settings: Any) -> list[str]:
    """The notes on caching."""
    with Chat(model, api_key="fake-key") as chat:
        notes = chat.call(messages=messages or [HI], **settings).notes
    return [str(note) for note in notes if "cach" in str(note)]


def marked(value: Any, key: str, path: str = "") -> list[str]:
    """The paths of the values in a body that have a key."""
    if isinstance(value, list):
        return [each for at, item in enumerate(value) for each in marked(item, key, f"{path}{at}.")]
    if not isinstance(value, dict):
        return []
    below = [each for name in value for each in marked(value[name], key, f"{path}{name}.")]
    return below + ([path.rstrip(".")] if key in value else [])


# --- messages -------------------------------------------------------------------------------------


def test_a_message_that_is_cached_shows_it_and_is_another_message() -> None:
    assert repr(Message.user("Hi", cache=True)) == "Message('user', 'Hi', cache=True)"
    assert Message.user("Hi", cache=True) != HI
    made = [getattr(Message, role)("Hi", cache=True) for role in ("system", "developer", "user")]
    made += [Message.assistant("Hi", cache=True)]
    made += [Message.tool_response(ToolResult("1", "now"), cache=True)]
    assert all(each.cache for each in made)
    with pytest.raises(RuleError, match=r"^message.cache: expected a bool, not str"):
        Message("user", (), cache="yes")  # type: ignore[arg-type]


def test_a_session_file_has_the_mark() -> None:
    messages = (Message.user("Hi", cache=True), Message.assistant("Hello."), HI)
    saved = dump_session(messages)
    assert [each.get("cache") for each in json.loads(saved)["messages"]] == [True, None, None]
    assert load_session(saved).messages == messages


def test_a_received_message_with_a_mark_survives_a_session_file() -> None:
    raw = (
        b'{"role":"assistant","content":[{"type":"text","text":"Hello."}],"stop_reason":"end_turn"}'
    )
    received = parse_reply(parse_message(raw), provider="anthropic", model="claude-sonnet-5")
    message = Message("assistant", received.message.parts, cache=True)
    [loaded] = load_session(dump_session([message])).messages
    assert (loaded, loaded.cache) == (message, True)


def test_history_keeps_the_mark() -> None:
    calls = Message.assistant(NOW)
    results = Message.tool_response(ToolResult("call_1", "now", "noon"), cache=True)
    talk = [HI, calls, Message.tool_response(cache=True), HI]
    assert with_results([*talk[:2], results], [ToolResult("call_2", "now", 1)])[-1].cache
    assert history.prune([HI, Message.assistant("a"), results, HI], 1)[-1] is HI
    joined = repair([HI, Message.assistant("a"), Message.assistant("b", cache=True), HI])
    assert [(each.text, each.cache) for each in joined] == [
        ("Hi", False),
        ("ab", True),
        ("Hi", False),
    ]
    two = [
        Message.assistant(ToolCall(id=id, name="now", response="r"), cache=id == "b")
        for id in ("a", "b")
    ]
    answers = [Message.tool_response(ToolResult(id, "now", 1)) for id in ("a", "b")]
    grouped = history.sendable([HI, two[0], answers[0], two[1], answers[1]], "openai", "m")
    assert grouped.messages[1].cache


# --- settings -------------------------------------------------------------------------------------


@joined("value", ["always", True, 1, "AUTO"])
def test_an_unknown_value_is_refused_at_construction(value: Any) -> None:
    words = r"^caching: expected auto, long or off, not "
    with pytest.raises(WireError, match=words):
        Chat(CLAUDE, api_key="fake-key", caching=value)
    with pytest.raises(RuleError, match=words):
        Request(messages=(HI,), caching=value)
    with Chat(CLAUDE, api_key="fake-key") as chat:
        with pytest.raises(RuleError, match=words):
            chat.call("Hi", caching=value)
        with pytest.raises(ConfigurationError, match=words):
            Agent(chat, caching=value)


@joined("model", [CLAUDE, GPT, "openai@chat:gpt-4.1", ROUTED, "gemini:gemini-3.8"])
def test_a_request_that_asks_for_nothing_is_sent_as_before(model: str) -> None:
    plain, off = body(model, system="Be brief."), {"system": "Be brief.", "caching": "off"}
    assert body(model, **off) == plain
    assert body(model, Message.user("Hi", cache=True), **off) == plain
    assert told(model, Message.user("Hi", cache=True), **off) == []
    assert not any("cache" in key for key in plain)


# --- Messages -------------------------------------------------------------------------------------


def test_a_cached_message_has_a_breakpoint_on_its_last_block() -> None:
    talk = (
        Message.system("Be brief.", "In French.", cache=True),
        Message.user("a", "b", cache=True),
        Message.assistant("c", NOW, cache=True),
        Message.tool_response(ToolResult("call_1", "now", "noon"), cache=True),
        HI,
    )
    made = body(CLAUDE, *talk)
    assert marked(made, "cache_control") == [
        "messages.0.content.1",
        "messages.1.content.1",
        "messages.2.content.0",
        "system.1",
    ]
    assert made["system"] == [
        {"type": "text", "text": "Be brief."},
        {"type": "text", "text": "In French.", "cache_control": MARK},
    ]
    assert made["messages"][2]["content"][0]["cache_control"] == MARK
    assert told(CLAUDE, *talk) == []


def test_the_last_four_of_more_marks_count() -> None:
    talk = [Message(role, (Text(f"{at}"),), cache=True) for at, role in enumerate(["user"] * 6)]
    assert marked(body(CLAUDE, *talk), "cache_control") == [
        f"messages.0.content.{at}" for at in (2, 3, 4, 5)
    ]
    assert told(CLAUDE, *talk, caching="auto") == [
        "messages[0].cache: left out: a request has at most 4 cache breakpoints",
        "messages[1].cache: left out: a request has at most 4 cache breakpoints",
        "caching: left out: messages with cache have all the breakpoints",
    ]


def test_results_of_two_messages_have_marks_of_their_own() -> None:
    calls = Message.assistant(*(ToolCall(id=id, name="now", arguments={}) for id in "abc"))
    first = Message.tool_response(ToolResult("b", "now", 1), ToolResult("a", "now", 2), cache=True)
    made = body(CLAUDE, HI, calls, first, Message.tool_response(ToolResult("c", "now", 3)))
    assert [
        (each["tool_use_id"], "cache_control" in each) for each in made["messages"][2]["content"]
    ] == [("a", False), ("b", True), ("c", False)]


def test_thoughts_are_not_marked_and_received_blocks_keep_their_bytes() -> None:
    blocks = [
        '{"type":"text","text":"Hello. \\u00e9","citations":null, "new":1}',
        '{"type":"thinking","thinking":"","signature":"c2ln"}',
    ]
    raw = f'{{"role":"assistant","content":[{",".join(blocks)}],"stop_reason":"end_turn"}}'
    reply = parse_reply(
        parse_message(raw.encode()), provider="anthropic", model="claude-sonnet-5"
    ).message
    again = with_origin(msgspec.structs.replace(reply, cache=True), reply.origin)
    request = Request(messages=(HI, again, HI), max_tokens=9)
    sent = encode(render_request(request, "claude-sonnet-5").messages[1].content).decode()
    head = blocks[0].removesuffix("}").replace(", ", ",")
    assert sent == f'[{head},"cache_control":{{"type":"ephemeral"}}}},{blocks[1]}]'

    only_thought = Message.assistant(Thought("Hm.", signature="c2ln"), cache=True)
    assert told(CLAUDE, HI, only_thought, HI) == [
        "messages[1].cache: left out: no part of it can be marked"
    ]


def test_auto_marks_the_end_the_beginning_and_the_end_before() -> None:
    talk = [HI, Message.assistant("b"), Message.user("c"), Message.assistant("d")]
    made = body(CLAUDE, *talk, Message.user("e"), system="Be brief.", caching="auto")
    assert marked(made, "cache_control") == [
        "messages.2.content.0",
        "messages.4.content.0",
        "system.0",
    ]
    tools = [Tool("now"), Tool("then")]
    assert marked(body(CLAUDE, tools=tools, caching="auto"), "cache_control") == [
        "messages.0.content.0",
        "tools.1",
    ]
    both = body(CLAUDE, tools=tools, system="Be brief.", caching="long")
    assert marked(both, "cache_control") == ["messages.0.content.0", "system.0"]
    assert {each["cache_control"]["ttl"] for each in both["system"]} == {"1h"}
    # Marks of messages come first: two of them leave room for the end and the beginning.
    talk = [Message.user("a", cache=True), Message.assistant("b", cache=True), HI]
    talk += [Message.assistant("c"), HI]
    made = body(CLAUDE, *talk, system="Be brief.", caching="auto")
    assert marked(made, "cache_control") == [
        "messages.0.content.0",
        "messages.1.content.0",
        "messages.4.content.0",
        "system.0",
    ]


def without_marks(value: Any) -> Any:
    """A body without breakpoints, in which a text and a list of this text are the same."""
    if isinstance(value, list):
        parts = [without_marks(each) for each in value]
        only = parts[0] if len(parts) == 1 else None
        plain = isinstance(only, dict) and only.keys() == {"type", "text"}
        return only["text"] if plain and only is not None else parts
    if isinstance(value, dict):
        return {key: without_marks(each) for key, each in value.items() if key != "cache_control"}
    return value


@given(st.integers(0, 2**32))
def test_caching_changes_nothing_but_marks(seed: int) -> None:
    request = Request(messages=tuple(conversation(random.Random(seed))), system="Be brief.")
    plain = json.loads(encode(render_request(request, "claude-sonnet-5")))
    auto = msgspec.structs.replace(request, caching="auto")
    made = json.loads(encode(render_request(auto, "claude-sonnet-5")))
    assert without_marks(made) == without_marks(plain)
    users = [each for each in plain["messages"] if each["role"] == "user"]
    assert len(marked(made, "cache_control")) == 1 + min(2, len(users))


# --- OpenAI ---------------------------------------------------------------------------------------


def key_of(model: str, *messages: Message, **settings: Any) -> str | None:
    made = body(model, *messages, **{"caching": "auto", **settings})
    key: str | None = made.get("prompt_cache_key")
    return key


@joined("model", [GPT, OLD_GPT, "openai@chat:gpt-4.1", "mistral:mistral-large"])
def test_the_key_is_that_of_the_beginning(model: str) -> None:
    first = key_of(model, system="Be brief.", tools=[Tool("now")])
    assert first is not None
    assert len(first) <= 64
    turns = [HI, Message.assistant("Hello."), Message.user("And now?")]
    assert key_of(model, *turns, system="Be brief.", tools=[Tool("now")]) == first
    others = {
        key_of(model, system="Be long.", tools=[Tool("now")]),
        key_of(model, system="Be brief.", tools=[Tool("then")]),
        key_of(model, system="Be brief."),
        key_of(model, Message.user("Hi")),
        key_of(model, Message.user("Ho")),
    }
    assert len(others - {None, first}) == 5
    # Without instructions it is the key of the conversation.
    assert key_of(model, *turns) == key_of(model, turns[0])
    assert key_of(model, options={model.partition(":")[0]: {"prompt_cache_key": "own"}}) == "own"


@joined(
    ("model", "retention"),
    [
        ("openai@chat:gpt-5.1", "24h"),
        ("openai:gpt-5.4", "24h"),
        ("openai:gpt-5.1-codex-max", "24h"),
        ("openai:gpt-5.6-sol", None),
        ("openai@chat:gpt-4.1", None),
        ("openai:gpt-5-mini", None),
        ("azure:my-deployment", None),
    ],
)
def test_long_asks_for_24_hours_where_the_model_has_them(model: str, retention: str | None) -> None:
    options = {"base_url": "https://x.openai.azure.com"} if model.startswith("azure") else {}
    with Chat(model, api_key="fake-key", caching="long", **options) as chat:  # type: ignore[arg-type]
        call = chat.call("Hi")
    made = json.loads(call.body)
    assert made.get("prompt_cache_retention") == retention
    words = "caching: sent as auto: this model has no longer lifetime to choose"
    assert [str(note) for note in call.notes] == ([] if retention else [words])


def test_breakpoints_of_gpt_5_6() -> None:
    talk = (
        Message.user("a", cache=True),
        Message.assistant(NOW, cache=True),
        Message.tool_response(ToolResult("call_1", "now", "noon"), cache=True),
    )
    chat = body("openai@chat:gpt-5.6", *talk, system="Be brief.", caching="auto")
    part = {"type": "text", "prompt_cache_breakpoint": EXPLICIT}
    assert [each["content"] for each in chat["messages"] if "content" in each] == [
        [{**part, "text": "Be brief."}],
        [{**part, "text": "a"}],
        [{**part, "text": "noon"}],
    ]
    assert "prompt_cache_options" not in chat  # the mode `implicit` adds one at the end
    made = body(GPT, *talk, system="Be brief.", caching="auto")
    part = {"type": "input_text", "prompt_cache_breakpoint": EXPLICIT}
    assert "instructions" not in made  # a text has no breakpoint, so they are the first item
    assert [each.get("content") or each.get("output") for each in made["input"]] == [
        [{**part, "text": "Be brief."}],
        [{**part, "text": "a"}],
        None,
        [{**part, "text": "noon"}],
    ]
    assert made["input"][0]["role"] == "developer"
    for model in (GPT, "openai@chat:gpt-5.6"):
        assert told(model, *talk) == [
            "messages[1].cache: left out: only messages of the user, instructions and results can "
            "be marked"
        ]
    assert body(GPT, *talk, system="Be brief.")["instructions"] == "Be brief."
    made = body(GPT, Message.system("Be brief.", cache=True), HI)
    assert made["input"][0]["content"] == [{**part, "text": "Be brief."}]
    assert "instructions" not in made
    # Earlier models cache on their own: a mark is not needed, and not missed.
    for model in (OLD_GPT, "openai@chat:gpt-4.1", "deepseek:deepseek-v4-pro"):
        assert body(model, *talk) == body(model, *talk, caching="off")
        assert told(model, *talk) == []


def test_openrouter_gets_marks_for_the_models_that_read_them() -> None:
    talk = (
        *(HI, Message.assistant(NOW), Message.tool_response(ToolResult("call_1", "now", "noon"))),
        *(Message.assistant("b"), Message.user("c")),
    )
    for model in (ROUTED, "openrouter:google/gemini-2.5-flash"):
        made = body(model, *talk, system="Be brief.", caching="long")
        assert marked(made, "cache_control") == [
            "messages.0.content.0",
            "messages.3.content.0",
            "messages.5.content.0",
        ]
        assert made["messages"][3]["content"][0]["cache_control"] == {**MARK, "ttl": "1h"}
        assert "prompt_cache_key" not in made
    five = [Message.user("a", cache=True)] * 5
    assert len(marked(body(ROUTED, *five, caching="auto"), "cache_control")) == 4
    assert marked(body("openrouter:openai/gpt-5.4", *talk, caching="auto"), "cache_control") == []


@joined(
    ("model", "words"),
    [
        ("groq:llama-3.3-70b", ["caching: prompt_cache_key left out: this host refuses it"]),
        ("gemini@openai:gemini-3.8", ["caching: prompt_cache_key left out: this host refuses it"]),
        ("deepseek:deepseek-v4-pro", []),
        ("xai@chat:grok-4.5", []),
        ("together:m", ["caching: left out: this host is not known to cache prompts"]),
        ("vllm@responses:m", ["caching: left out: this host is not known to cache prompts"]),
    ],
)
def test_what_a_host_does_not_have_is_left_out(model: str, words: list[str]) -> None:
    assert body(model, caching="auto") == body(model)
    assert told(model, caching="auto") == words
    unknown = "messages[0].cache: left out: this host is not known to cache prompts"
    marked_words = [unknown] if "not known" in "".join(words) else []
    assert told(model, Message.user("Hi", cache=True)) == marked_words


def test_xai_gets_the_key_in_a_header() -> None:
    """docs.x.ai (maximizing cache hits): requests with one value go to one server."""
    name = "x-grok-conv-id"

    def header(*messages: Message, model: str = "xai@chat:grok-4.5", **settings: Any) -> str | None:
        with Chat(model, api_key="fake-key") as chat:
            made = [
                chat.call(messages=messages or (HI,), **settings),
                chat.stream_call(messages=messages or (HI,), **settings),
            ]
            first, second = (chat.client.preview(each).headers.get(name) for each in made)
        assert first == second
        return first

    key = header(system="Be brief.", caching="auto")
    assert key is not None
    assert re.fullmatch("wire-[0-9a-f]{32}", key)
    talk = (HI, Message.assistant("At noon."), Message.user("And tomorrow?"))
    assert header(*talk, system="Be brief.", caching="auto") == key
    assert header(system="Be brief.", caching="long") == key
    assert header(system="Be long.", caching="auto") not in (key, None)
    assert header(*talk, caching="auto") == header(caching="auto") != key
    assert header(Message.user("Else"), caching="auto") != header(caching="auto")
    for caching in (None, "off"):
        assert header(system="Be brief.", caching=caching) is None
    assert header(system="Be brief.", caching="auto", headers={name: "mine"}) == "mine"
    assert "prompt_cache_key" not in body("xai@chat:grok-4.5", caching="auto")
    # Responses have a field for it.
    assert header(model="xai@responses:grok-4.5", caching="auto") is None
    assert body("xai@responses:grok-4.5", caching="auto")["prompt_cache_key"]


# --- what a vendor then caches --------------------------------------------------------------------


@pytest.fixture(params=["threads", "asyncio", "trio"])
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def asked(
    style: str, model: str, emulator: Emulator, *talks: Sequence[str], **options: Any
) -> list[Usage]:
    """The usages of the replies; each talk is a conversation of its own."""
    options = {"api_key": "fake-key", "retry": NONE, "system": LONG, **options}
    usages: list[Usage] = []

    def turns(talk: Sequence[str], reply: Reply, messages: list[Message], at: int) -> None:
        assert reply.usage is not None
        usages.append(reply.usage)
        messages += [reply.message, Message.user(talk[at + 1])] if at + 1 < len(talk) else []

    if style == "threads":
        with Chat(model, http=EmulatorTransport(emulator), **options) as chat:
            for talk in talks:
                messages = [Message.user(talk[0])]
                for at in range(len(talk)):
                    turns(talk, chat.ask(messages=messages), messages, at)
        return usages

    async def main() -> None:
        async with AsyncChat(model, http=AsyncEmulatorTransport(emulator), **options) as chat:
            for talk in talks:
                messages = [Message.user(talk[0])]
                for at in range(len(talk)):
                    turns(talk, await chat.ask(messages=messages), messages, at)

    anyio.run(main, backend=style)
    return usages


@joined("model", [CLAUDE, GPT, "openai@chat:gpt-5.6", ROUTED])
def test_a_conversation_reads_what_the_request_before_has_written(style: str, model: str) -> None:
    emulator = Emulator([{"say": "At 11:20."}] * 9)
    options = {"effort": "none"} if "@chat" in model else {}
    first, second, third, other = asked(
        style, model, emulator, ("a", "b", "c"), ("Another.",), caching="auto", **options
    )
    assert first.cached == 0
    assert first.cache_written == first.input > 2000
    assert (second.cached, second.cached + second.cache_written) == (first.input, second.input)
    assert (third.cached, third.cached + third.cache_written) == (second.input, third.input)
    assert first.input - 1 == other.cached  # the system text, without the question
    assert other.cache_written == other.input - other.cached


@pytest.mark.parametrize("model", [CLAUDE, ROUTED])
def test_without_the_setting_these_read_nothing(style: str, model: str) -> None:
    usages = asked(style, model, Emulator([{"say": "At 11:20."}] * 9), ("a", "b"))
    assert [(each.cached, each.cache_written) for each in usages] == [(0, 0), (0, 0)]


@joined(
    "model", [OLD_GPT, "openai@chat:gpt-4.1", "mistral:mistral-large-latest", "xai@chat:grok-4.5"]
)
def test_models_that_cache_unasked_read_steps_of_128(style: str, model: str) -> None:
    emulator = Emulator([{"say": "At 11:20."}] * 9)
    first, second = asked(style, model, emulator, ("a", "b"), caching="auto")
    assert (first.cached, first.cache_written) == (0, 0)
    assert second.cached == first.input // 128 * 128


@joined("model", [CLAUDE, GPT, OLD_GPT, ROUTED, "gemini:gemini-3.8-flash"])
def test_a_short_prompt_is_not_cached(style: str, model: str) -> None:
    emulator = Emulator([{"say": "At 11:20."}] * 9)
    usages = asked(style, model, emulator, ("a", "b"), caching="auto", system="Be brief.")
    assert [(each.cached, each.cache_written) for each in usages] == [(0, 0), (0, 0)]


@joined(
    ("model", "caching", "seconds"),
    [
        (CLAUDE, "auto", 300),
        (CLAUDE, "long", 3600),
        (ROUTED, "auto", 300),
        (GPT, "auto", 1800),
        (OLD_GPT, "auto", 600),
        (OLD_GPT, "long", 86400),
        ("gemini:gemini-3.8-flash", "auto", 300),
    ],
)
def test_what_is_cached_expires(model: str, caching: str, seconds: float) -> None:
    now = 0.0
    emulator = Emulator([{"say": "At 11:20."}] * 9, clock=lambda: now)
    asked("threads", model, emulator, ("a",), caching=caching)
    now += seconds - 1
    [kept] = asked("threads", model, emulator, ("a",), caching=caching)
    assert kept.cached > 0
    now += seconds
    [lost] = asked("threads", model, emulator, ("a",), caching=caching)
    assert lost.cached == 0


def test_a_turn_of_many_blocks_is_found_by_the_mark_before_it() -> None:
    """The server looks back over 20 blocks: a turn of 30 results would hide the conversation."""
    calls = [ToolCall(id=f"c{at}", name="now", arguments={}) for at in range(30)]
    results = Message.tool_response(ToolResult(call.id, "now", 1) for call in calls)
    emulator = Emulator([{"say": "At 11:20."}] * 9)
    with Chat(CLAUDE, api_key="fake-key", http=EmulatorTransport(emulator), caching="auto") as chat:
        talk = [Message.user(LONG)]
        first = chat.ask(messages=talk).usage
        talk += [Message.assistant(*calls), results]
        second = chat.ask(messages=talk).usage
        one = chat.ask(messages=talk, caching="off", options={"anthropic": {"cache_control": MARK}})
    assert first is not None
    assert second is not None
    assert one.usage is not None
    assert (second.cached, second.cached + second.cache_written) == (first.input, second.input)
    assert one.usage.cached == second.input


def test_a_handed_over_conversation_keeps_its_marks() -> None:
    """The mark is neutral: each model reads it in its own way, or needs none."""
    emulator = Emulator([{"say": "At 11:20."}] * 9)
    talk = [Message.user(LONG, cache=True)]
    written: list[tuple[str, int]] = []
    for model in (CLAUDE, GPT, "gemini:gemini-3.8-flash", "deepseek:deepseek-v4-pro", CLAUDE):
        with Chat(model, api_key="fake-key", http=EmulatorTransport(emulator)) as chat:
            reply = chat.ask(messages=talk)
        assert [note for note in reply.notes if "cache" in note.path] == []
        assert reply.usage is not None
        written.append((model.partition(":")[0], reply.usage.cache_written))
        talk += [reply.message, Message.user("And now?")]
    assert [each for each in written if each[1]] == [
        ("anthropic", written[0][1]),
        ("openai", written[1][1]),
    ]
    assert written[0][1] > 2000


# --- agents ---------------------------------------------------------------------------------------


def run_agent(
    style: str,
    model: str,
    emulator: Emulator,
    steps: Sequence[str | Callable[[], None]],
    **options: Any,
) -> tuple[list[Any], Any]:
    """The results of the runs, and the policy of the agent's context cache."""
    chat_options = {"api_key": "fake-key", "retry": NONE, **options.pop("chat", {})}
    results: list[Any] = []
    if style == "threads":
        chat = Chat(model, http=EmulatorTransport(emulator), **chat_options)
        with Agent(chat, LONG, **options) as agent:
            for step in steps:
                results.append(step() if callable(step) else agent.run(step))
        return results, getattr(agent.model, "policy", None)

    async def main() -> Any:
        chat = AsyncChat(model, http=AsyncEmulatorTransport(emulator), **chat_options)
        async with LLMAgent(chat, LONG, **options) as agent:
            for step in steps:
                results.append(step() if callable(step) else await agent.run(step))
        return getattr(agent.model, "policy", None)

    return results, anyio.run(main, backend=style)


@pytest.mark.parametrize("model", [CLAUDE, GPT, ROUTED])
def test_an_agent_that_caches(style: str, model: str) -> None:
    call = {"name": "now", "args": {}}
    emulator = Emulator([{"say": {"calls": [call]}}, {"say": "At noon."}] * 2)

    def now() -> str:
        """The time."""
        return "noon"

    options: dict[str, Any] = {"caching": "auto", "tools": [now]}
    if model == GPT:
        options["chat"] = {"effort": "low"}
    [first, second], policy = run_agent(style, model, emulator, ["When?", "And now?"], **options)
    usages = [step.reply.usage for each in (first, second) for step in each.steps]
    assert usages[0].cached == 0
    assert [each.cached for each in usages[1:]] == [
        each.cached + each.cache_written for each in usages[:-1]
    ]
    assert all(each.cached > 2000 for each in usages[1:])
    assert policy is None


@joined("where", ["agent", "chat"])
@joined(("caching", "ttl"), [("auto", 300), ("long", 3600)])
def test_an_agent_on_gemini_keeps_a_context_cache(
    style: str, where: str, caching: str, ttl: float
) -> None:
    emulator = Emulator([{"say": "At noon."}] * 2)
    options: dict[str, Any] = {"caching": caching}
    options = options if where == "agent" else {"chat": options}
    [first], policy = run_agent(style, "gemini:gemini-3.8-flash", emulator, ["When?"], **options)
    assert policy == CachePolicy(ttl=ttl)
    [made] = [each for each in emulator.requests if each["target"].endswith("/cachedContents")]
    assert (made["body"]["ttl"], first.usage.cached > 2000) == (f"{ttl}s", True)
    assert emulator.requests[-1]["method"] == "DELETE"
    assert [note for note in first.reply.notes if "cach" in note.path] == []


def test_an_agent_on_vertex_names_the_model_in_full(style: str) -> None:
    """The server makes no cache for the short name of a model."""
    emulator = Emulator([{"say": "At noon."}] * 2)
    where = {"project": "my-project", "location": "global"}
    chat: dict[str, Any] = {**where, "token": lambda: "fake-token", "api_key": None}
    [first], _ = run_agent(
        style, "gemini@vertex:gemini-3.8-flash", emulator, ["When?"], chat=chat, caching="auto"
    )
    [made] = [each for each in emulator.requests if each["target"].endswith("/cachedContents")]
    parent = "projects/my-project/locations/global"
    assert made["body"]["model"] == f"{parent}/publishers/google/models/gemini-3.8-flash"
    assert first.usage.cached > 2000
    [sent] = [each["body"] for each in emulator.requests if "generateContent" in each["target"]]
    assert sorted(sent) == ["cachedContent", "contents"]
    assert first.reply.notes == ()


def test_an_agent_of_a_config_on_gemini_keeps_a_context_cache() -> None:
    emulator = Emulator([{"say": "At noon."}])
    config = LLMConfig("fake-key", provider="gemini", model="gemini-3.8-flash")

    async def main() -> Any:
        http = AsyncEmulatorTransport(emulator)
        async with LLMAgent.from_config(config, LONG, http=http, caching="auto") as agent:
            return await agent.run("When?")

    assert anyio.run(main).usage.cached > 2000
    assert emulator.requests[-1]["method"] == "DELETE"


def test_a_saved_run_has_the_marks() -> None:
    state = RunState(messages=(Message.user("Hi", cache=True),), begun=1)
    assert load_run(dump_run(state)).messages == state.messages


def test_an_agent_on_gemini_without_a_context_cache(style: str) -> None:
    emulator = Emulator([{"say": "At noon."}] * 2)
    chat: dict[str, Any] = {"caching": "auto"}
    _, policy = run_agent(
        style, "gemini:gemini-3.8-flash", emulator, ["When?"], chat=chat, caching="off"
    )
    assert (policy, len(emulator.requests)) == (None, 1)


def test_a_chat_on_gemini_says_that_it_has_no_lifetime_to_choose() -> None:
    assert told("gemini:gemini-3.8-flash", caching="auto") == []
    assert told("gemini:gemini-3.8-flash", caching="long") == [
        "caching: sent as auto: implicit caching has no lifetime; an agent keeps a context cache"
    ]


def test_an_expired_context_cache_is_created_anew(style: str) -> None:
    """The server forgets it after `ttl`; the agent's own clock has not reached the refresh."""
    now = [0.0]
    emulator = Emulator([{"say": "At noon."}] * 9, clock=lambda: now[0])

    def later() -> None:
        now[0] += 300

    [first, _, second, third], _ = run_agent(
        style, "gemini:gemini-3.8-flash", emulator, ["a", later, "b", "c"], caching="auto"
    )
    notes = [[note.path for note in each.reply.notes] for each in (first, second, third)]
    assert notes == [[], ["contextCache.use"], []]
    assert [each.usage.cached > 2000 for each in (first, second, third)] == [True, False, True]
