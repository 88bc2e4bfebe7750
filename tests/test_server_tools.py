"""Tools that the vendor's server runs: what is sent, what is refused, and what comes back."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

import wire
from tests.chat.test_chat import Door
from tests.chat.test_chat import door as door
from tests.joined import joined
from wire.agent import Agent, LLMAgent
from wire.chat.chat import AsyncChat, Chat
from wire.errors import RuleError
from wire.neutral.messages import (
    Citation,
    Message,
    Other,
    Reply,
    ServerToolCall,
    ServerToolResult,
    Text,
    Thought,
    ToolCall,
)
from wire.neutral.request import Location, Request, ServerTool, Tool
from wire.providers import PROVIDERS
from wire.sessions import dump_session, export, load_session
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

BREST = Location(city="Brest", country="FR")
GEMINI, VERTEX = "gemini:gemini-3.8-flash", "gemini@vertex:gemini-3.8-flash"
CLAUDE, RESPONSES = "anthropic:claude-sonnet-5", "openai@responses:gpt-5.4"
SEARCHER = "openai@chat:gpt-5-search-api"
TEXT = "Flut in Brest: um 05:12 – laut SHOM 🌊, zuletzt geprüft."
SOURCES = [
    {"url": "https://shom.example/brest", "title": "SHOM", "quote": "05:12", "cites": "um 05:12"},
    {"url": "https://tides.example/", "title": "Tides", "quote": "ok", "cites": "zuletzt geprüft"},
]


def body(model: str, *tools: Any, **settings: Any) -> dict[str, Any]:
    """The body of a request with these tools."""
    options = {"project": "p", "location": "l"} if model == VERTEX else {}
    with Chat(model, api_key="fake-key", tools=tools, max_tokens=50, **options) as chat:
        made: dict[str, Any] = json.loads(chat.call("Hi", **settings).body)
    return made


# --- what is sent ---------------------------------------------------------------------------------

SENT: list[tuple[str, ServerTool, dict[str, Any]]] = [
    (GEMINI, wire.web_search(), {"googleSearch": {}}),
    (GEMINI, wire.code(), {"codeExecution": {}}),
    (GEMINI, wire.url_context(), {"urlContext": {}}),
    (
        GEMINI,
        wire.file_search(["fileSearchStores/a"], max_results=3),
        {"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/a"], "topK": 3}},
    ),
    (
        VERTEX,
        wire.web_search(blocked_domains="a.example"),
        {"googleSearch": {"excludeDomains": ["a.example"]}},
    ),
    (
        CLAUDE,
        wire.web_search(allowed_domains=["a.example"], location=BREST, max_uses=2),
        {
            "type": "web_search_20250305",
            "name": "web_search",
            "max_uses": 2,
            "allowed_domains": ["a.example"],
            "user_location": {"type": "approximate", "city": "Brest", "country": "FR"},
        },
    ),
    (CLAUDE, wire.code(), {"type": "code_execution_20260521", "name": "code_execution"}),
    (
        CLAUDE,
        wire.url_context(blocked_domains=["a.example"]),
        {
            "type": "web_fetch_20250910",
            "name": "web_fetch",
            "blocked_domains": ["a.example"],
            "citations": {"enabled": True},
        },
    ),
    (
        RESPONSES,
        wire.web_search(allowed_domains=["a.example"], location=Location(timezone="Europe/Paris")),
        {
            "type": "web_search",
            "filters": {"allowed_domains": ["a.example"]},
            "user_location": {"type": "approximate", "timezone": "Europe/Paris"},
        },
    ),
    (RESPONSES, wire.code(), {"type": "code_interpreter", "container": {"type": "auto"}}),
    (
        RESPONSES,
        wire.file_search("vs_1", max_results=2),
        {"type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": 2},
    ),
    (
        "xai@responses:grok-4.3",
        wire.web_search(blocked_domains=["a.example"]),
        {"type": "web_search", "filters": {"excluded_domains": ["a.example"]}},
    ),
    (
        "openrouter:deepseek/deepseek-chat",
        wire.web_search(blocked_domains=["a.example"]),
        {"type": "openrouter:web_search", "parameters": {"excluded_domains": ["a.example"]}},
    ),
    (
        "openrouter:openai/gpt-5.2",
        wire.url_context(max_uses=1),
        {"type": "openrouter:web_fetch", "parameters": {"max_uses": 1}},
    ),
    ("groq:openai/gpt-oss-120b", wire.web_search(), {"type": "browser_search"}),
    ("groq:openai/gpt-oss-120b", wire.code(), {"type": "code_interpreter"}),
    (
        GEMINI,
        wire.web_search(extra={"gemini": {"googleSearch": {"searchTypes": {"webSearch": {}}}}}),
        {"googleSearch": {"searchTypes": {"webSearch": {}}}},
    ),
    (
        CLAUDE,
        wire.code(extra={"anthropic": {"type": "code_execution_20250825"}, "gemini": {"a": 1}}),
        {"type": "code_execution_20250825", "name": "code_execution"},
    ),
    (
        "glm:glm-5",
        wire.web_search(extra={"glm": {"type": "web_search", "web_search": {"enable": True}}}),
        {"type": "web_search", "web_search": {"enable": True}},
    ),
]


@joined("model, tool, expected", SENT)
def test_a_tool_has_the_form_of_its_host(
    model: str, tool: ServerTool, expected: dict[str, Any]
) -> None:
    assert body(model, tool)["tools"] == [expected]


def test_tools_of_servers_and_functions_are_sent_together() -> None:
    def tide(port: str) -> str:
        """The tide in a port."""
        return port

    sent = body(GEMINI, wire.code(), tide, wire.web_search())
    kinds = [next(iter(tool)) for tool in sent["tools"]]
    assert kinds == ["functionDeclarations", "codeExecution", "googleSearch"]
    assert sent["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert [tool["name"] for tool in body(CLAUDE, wire.web_search(), tide)["tools"]] == [
        "tide",
        "web_search",
    ]
    chosen = body(CLAUDE, wire.web_search(), tide, tool_choice=["tide"])["tool_choice"]
    assert chosen == {"type": "tool", "name": "tide"}


def test_hosts_whose_search_is_a_setting_of_the_request() -> None:
    low = {"openai": {"web_search_options": {"search_context_size": "low"}}}
    sent = body(SEARCHER, wire.web_search(location=BREST, extra=low))
    place = {"type": "approximate", "approximate": {"city": "Brest", "country": "FR"}}
    assert sent["web_search_options"] == {"user_location": place, "search_context_size": "low"}
    assert "tools" not in sent
    assert body("qwen:qwen3-max", wire.web_search())["enable_search"] is True
    search = wire.web_search(allowed_domains="a.example", blocked_domains="b.example")
    sent = body("groq:groq/compound", search, wire.code())
    enabled = {"tools": {"enabled_tools": ["web_search", "code_interpreter"]}}
    assert (sent["compound_custom"], sent["search_settings"]) == (
        enabled,
        {"include_domains": ["a.example"], "exclude_domains": ["b.example"]},
    )


def test_results_that_a_host_sends_only_on_request_are_requested() -> None:
    sent = body(RESPONSES, wire.code(), wire.file_search("vs_1"))
    assert sent["include"] == [
        "reasoning.encrypted_content",
        "code_interpreter_call.outputs",
        "file_search_call.results",
    ]
    assert body("xai@responses:grok-4.3", wire.code())["include"] == ["reasoning.encrypted_content"]


def test_a_tool_in_beta_names_its_beta() -> None:
    with Chat(CLAUDE, api_key="fake-key", tools=[wire.url_context()], max_tokens=9) as chat:
        assert chat.call("Hi").headers["anthropic-beta"] == "web-fetch-2025-09-10"
        assert "anthropic-beta" not in chat.call("Hi", tools=[wire.web_search()]).headers


def test_google_search_is_sent_once() -> None:
    sent = body(GEMINI, wire.web_search(), search_grounding=True)
    assert sent["tools"] == [{"googleSearch": {}}]


# --- what is refused ------------------------------------------------------------------------------

OTHER_JSON = 'extra={"%s": {...}} sends JSON of your own'
REFUSED: list[tuple[str, list[Any], str]] = [
    (
        VERTEX,
        [wire.code(), wire.file_search("a")],
        "tools[1]: gemini@vertex offers no file_search, only web_search, code, url_context "
        f"({OTHER_JSON % 'gemini@vertex'})",
    ),
    (
        RESPONSES,
        [wire.url_context()],
        "tools[0]: openai@responses offers no url_context, only web_search, code, file_search "
        f"({OTHER_JSON % 'openai@responses'})",
    ),
    (
        "openai@chat:gpt-4o",
        [wire.web_search()],
        "tools[0]: openai@chat offers no web_search to this model (openai@responses has it)",
    ),
    (
        "xai@chat:grok-4.3",
        [wire.code()],
        "tools[0]: xai@chat offers no code (xai@responses has it)",
    ),
    (
        "mistral:mistral-large",
        [wire.web_search()],
        f"tools[0]: mistral offers no web_search ({OTHER_JSON % 'mistral'})",
    ),
    (
        GEMINI,
        [wire.web_search(blocked_domains=["a.example"])],
        "tools[0].blocked_domains: gemini has no such option of web_search (leave it out)",
    ),
    (
        RESPONSES,
        [wire.web_search(max_uses=2)],
        "tools[0].max_uses: openai@responses has no such option of web_search (leave it out)",
    ),
    (
        "openrouter:openai/gpt-5.2",
        [wire.web_search(blocked_domains=["a.example"])],
        "tools[0].blocked_domains: openrouter has no such option of web_search (leave it out)",
    ),
    (
        CLAUDE,
        [wire.web_search(allowed_domains="a", blocked_domains="b")],
        "tools[0].blocked_domains: anthropic does not take it together with allowed_domains",
    ),
    (CLAUDE, [wire.code(), wire.code()], "tools[1]: a second code"),
    (
        CLAUDE,
        [wire.web_search(extra={"anthropic": {"max_uses": "two"}})],
        "tools[0].extra: Expected `int | null`, got `str` - at `$.max_uses`",
    ),
    (
        RESPONSES,
        [wire.web_search(extra={"openai": {"filters": {"newest": 1}}})],
        "tools[0].extra: has keys inside an object that this library does not know "
        "(options={PROVIDER: {'tools': [...]}} of the request sends tools as they are)",
    ),
]


@joined("model, tools, words", REFUSED)
def test_what_a_host_does_not_offer_is_refused_before_anything_is_sent(
    model: str, tools: list[Any], words: str
) -> None:
    with pytest.raises(RuleError) as caught:
        body(model, *tools)
    assert str(caught.value) == words


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: ServerTool(kind="dig"), "server tool: expected one of web_search, code"),  # type: ignore[arg-type]
    (lambda: wire.web_search(allowed_domains=[""]), "web_search.allowed_domains[0]: expected a"),
    (lambda: wire.web_search(max_uses=0), "web_search.max_uses: expected a whole number from 1"),
    (lambda: wire.file_search([]), "file_search.stores: expected the name of at least one store"),
    (lambda: wire.web_search(location="Brest"), "location: expected a Location, not str"),  # type: ignore[arg-type]
    (lambda: Location(city=5), "location.city: expected a text, not int"),  # type: ignore[arg-type]
    (lambda: ServerTool(kind="code", extra={"a": 1}), "code.extra.a: expected a mapping"),  # type: ignore[dict-item]
    (lambda: wire.code(extra=""), "code.extra: expected a mapping, not str"),  # type: ignore[arg-type]
    (
        lambda: Request(
            messages=(Message.user("Hi"),), tools=(wire.code(),), tool_choice=("code",)
        ),
        "tool_choice: no tool is called 'code'",
    ),
]


@joined("make, words", BAD)
def test_bad_values_of_server_tools_are_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(RuleError) as caught:
        make()
    assert words in str(caught.value)


def test_the_rows_say_which_tools_each_host_runs() -> None:
    own = ("anthropic", "converse", "gemini", "gemini.interactions")
    wires = {name: f"wire.{name}" for name in own}
    offered: dict[str, str] = {}
    for name, row in PROVIDERS.items():
        if row.wire == "ollama":  # whose servers run none
            assert row.dialect.server_tools == ()
            continue
        module = wires.get(row.wire, "wire.openai.common")
        forms = importlib.import_module(f"{module}.server_tools").FORMS
        kinds = dict.fromkeys(forms[form].kind for form, _ in row.dialect.server_tools)
        if kinds:
            offered[name] = " ".join(kinds)
    vendors = {
        "gemini": "web_search code url_context file_search",
        "gemini@vertex": "web_search code url_context",
        "gemini@interactions": "web_search code url_context file_search",
        "openai": "web_search",
        "openai@responses": "web_search code file_search",
        "anthropic": "web_search url_context code",
        "groq": "web_search code url_context",
    }
    assert offered.items() >= vendors.items()


# --- what comes back ------------------------------------------------------------------------------


CITED = {
    GEMINI: ["um 05:12", "zuletzt geprüft"],
    CLAUDE: ["um 05:12", "zuletzt geprüft"],
    RESPONSES: ["um 05:12", "zuletzt geprüft"],
    SEARCHER: ["um 05:12", "zuletzt geprüft"],
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_search_comes_back_as_citations_and_goes_back_as_it_came(
    door: Door, stream: bool
) -> None:
    for model, cited in CITED.items():
        emulator = Emulator([{"say": {"text": TEXT, "sources": SOURCES}}, {"say": "Gern."}])
        messages = [Message.user("Wann ist Flut?")]
        tools = [wire.web_search()]
        options: dict[str, Any] = {"max_tokens": 200}
        asked: dict[str, Any] = {"model": model, "chat": options, "tools": tools}
        if stream:
            _, reply = door.stream(emulator, messages=messages, **asked)
        else:
            reply = door.ask(emulator, messages=messages, **asked)
        assert reply.text == TEXT
        spans = [reply.text[each.start : each.end] for each in reply.citations]
        assert spans == cited, model
        assert [(each.url, each.title) for each in reply.citations] == [
            (source["url"], source["title"]) for source in SOURCES
        ]
        assert (reply.stop.reason, reply.tool_calls, reply.notes) == ("end", (), ())
        session = load_session(dump_session([*messages, reply.message]))
        assert (session.messages[1], session.notes) == (reply.message, ())
        messages = [*session.messages, Message.user("Danke.")]
        assert door.ask(emulator, messages=messages, **asked).text == "Gern."
        with Chat(model, api_key="fake-key", **options) as chat:
            sent = chat.call(messages=messages, tools=tools).body
        assert reply.message.origin is not None
        raw = reply.message.origin.raw
        if model == RESPONSES:  # the host wants the items without what it would have to look up
            items = [
                {key: value for key, value in item.items() if key not in ("id", "status")}
                for item in json.loads(raw)["output"]
            ]
            assert json.loads(sent)["input"][1:-1] == items
        else:
            assert raw in sent, model


def test_the_parts_of_a_search() -> None:
    answers = {}
    for model in (CLAUDE, RESPONSES):
        with Chat(
            model, api_key="fake-key", http=EmulatorTransport(Emulator()), max_tokens=99
        ) as chat:
            answers[model] = chat.ask("Tides?", tools=[wire.web_search()])
    *_, call, result, text = answers[CLAUDE].message.parts
    assert isinstance(call, ServerToolCall)
    assert isinstance(result, ServerToolResult)
    assert isinstance(text, Text)
    assert (call.name, call.kind, result.id, result.error) == (
        "web_search",
        "web_search",
        call.id,
        False,
    )
    assert result.content[0]["url"] == "https://example.com/"
    kinds = [type(part) for part in answers[RESPONSES].message.parts]
    assert kinds[-2:] == [ServerToolCall, Text]


SEARCHED = Message.assistant(
    ServerToolCall(name="web_search", arguments={"query": "tide"}), "05:12"
)


def test_another_model_gets_the_text_and_a_note_for_the_rest() -> None:
    emulator = Emulator([{"say": {"text": TEXT, "sources": SOURCES}}])
    with Chat(CLAUDE, api_key="fake-key", http=EmulatorTransport(emulator), max_tokens=99) as chat:
        reply = chat.ask("Flut?", tools=[wire.web_search()])
    messages = [Message.user("Flut?"), reply.message, Message.user("Danke.")]
    ran = "web_search, which the server of anthropic ran"
    for model in (GEMINI, RESPONSES, "mistral:mistral-large", "anthropic:claude-opus-4-8"):
        with Chat(model, api_key="fake-key", max_tokens=99) as chat:
            call = chat.call(messages=messages)
        assert TEXT.partition("um")[0] in call.body.decode()
        assert b"srvtoolu" not in call.body
        told = [str(note) for note in call.notes]
        assert [line for line in told if line.startswith("messages[1]")] == [
            f"messages[1].parts[0]: withheld: a call of {ran}",
            f"messages[1].parts[1]: withheld: a result of {ran}",
            "messages[1].citations: withheld: no other model takes them",
        ]


@joined("model", [GEMINI, CLAUDE, RESPONSES, "mistral:mistral-large"])
def test_a_call_of_a_server_that_no_model_made_is_left_out_with_a_note(model: str) -> None:
    with Chat(model, api_key="fake-key", max_tokens=99) as chat:
        call = chat.call(messages=[Message.user("Hi"), SEARCHED, Message.user("And now?")])
    [note] = [each for each in call.notes if each.path == "messages[1].parts[0]"]
    assert note.message.startswith("withheld: ")
    assert b"web_search" not in call.body


def test_an_agent_has_tools_of_the_server_beside_its_own() -> None:
    ran: list[str] = []

    def tide(port: str) -> str:
        """The tide in a port."""
        ran.append(port)
        return "05:12"

    call = {"name": "tide", "args": {"port": "Brest"}}
    script = [{"say": {"calls": [call]}}, {"say": {"text": TEXT, "sources": SOURCES}}]
    emulator = Emulator(script)
    options: dict[str, Any] = {"tools": [wire.web_search(), tide], "max_tokens": 99}
    with Chat(CLAUDE, api_key="fake-key", http=EmulatorTransport(emulator)) as chat:
        result = Agent(chat, **options).run("Flut in Brest?")
    assert (ran, result.text, len(result.reply.citations)) == (["Brest"], TEXT, 2)
    sent = emulator.requests[0]["body"]
    assert [tool["name"] for tool in sent["tools"]] == ["tide", "web_search"]

    async def main() -> str:
        http = AsyncEmulatorTransport(Emulator(script))
        async with AsyncChat(CLAUDE, api_key="fake-key", http=http) as chat:
            return (await LLMAgent(chat, **options).run("Flut in Brest?")).text

    assert anyio.run(main, backend="asyncio") == anyio.run(main, backend="trio") == TEXT
    assert ran == ["Brest"] * 3


def test_a_citation_of_a_message_that_is_none_is_refused() -> None:
    with pytest.raises(RuleError) as caught:
        Message("assistant", (Text("Hi"),), citations=[Citation(), "a"])  # type: ignore[arg-type]
    assert str(caught.value) == "message.citations[1]: expected a Citation, not str"
    with pytest.raises(RuleError) as caught:
        dump_session(
            [Message("assistant", "Hi", citations=(Citation(extra={"a": float("nan")}),))]  # type: ignore[arg-type]
        )
    assert "messages[0].citations[0].extra.a" in str(caught.value)


def test_a_session_of_before_keeps_its_bytes() -> None:
    """Parts of server-run tools were saved as `other` by releases that had no form for them."""
    emulator = Emulator()
    with Chat(CLAUDE, api_key="fake-key", http=EmulatorTransport(emulator), max_tokens=99) as chat:
        reply = chat.ask("Tides?", tools=[wire.web_search()])
    saved = json.loads(dump_session([reply.message]))
    for part in saved["messages"][0]["parts"][-3:-1]:
        kind = {"server_tool_call": "server_tool_use"}.get(part["type"], "web_search_tool_result")
        at = part["at"]
        part.clear()
        part |= {"type": "other", "kind": kind, "at": at}
    loaded = load_session(saved)
    assert loaded.notes == ()
    [message] = loaded.messages
    assert [type(part) for part in message.parts] == [Thought, Other, Other, Text]
    assert message.origin == reply.message.origin


def test_people_see_the_tools_that_a_server_ran() -> None:
    reply = Reply(
        Message(
            "assistant",
            (
                ServerToolCall(name="web_search", arguments={"query": "<tide>"}),
                ServerToolResult(name="web_search", content=["05:12"]),
                Text("At 05:12."),
            ),
            citations=(Citation(title="SHOM & Co", start=3, end=8),),
        ),
        wire.Stop("end"),
    )
    assert repr(reply) == "Reply('At 05:12.', stop='end', citations=1)"
    shown = reply._repr_html_()
    assert "&lt;tide&gt;" in shown
    assert "SHOM &amp; Co" in shown
    for how, words in (
        ("markdown", "**Server call** `web_search`"),
        ("text", '[server result] web_search ["05:12"]'),
        ("json", '"server_tool_call"'),
    ):
        assert words in export([reply.message], how)


def test_a_tool_without_a_function_is_no_server_tool() -> None:
    tools = (Tool("tide"), wire.web_search())
    assert Request(messages=(Message.user("Hi"),), tools=tools).tools == tools
    assert not isinstance(ToolCall(id="c", name="tide"), ServerToolCall)
