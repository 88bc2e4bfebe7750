"""Tools that a vendor's server runs, and what their results rest on, through the gateway."""

from __future__ import annotations

import base64
import json
from typing import Any

import anyio
import httpx
import pytest

from tests.joined import joined
from tests.serving.running import ECHO, MODELS, chat, gateway, posted
from tests.serving.test_requests import CLIENTS, PARSERS, PNG, full
from wire import Citation, Media, Message, ServerTool, Text
from wire.neutral.events import events_of
from wire.neutral.messages import Reply, Stop
from wire.neutral.request import Location, Request
from wire.neutral.serving import ReceivedRequest, ResponseHead, left_out
from wire.serving.endpoints import GENERATING
from wire.testing.emulator import Emulator

BREST = {"type": "approximate", "city": "Brest"}
OWN = "own"


def notes_of(response: httpx.Response) -> list[str]:
    assert response.status_code == 200
    return response.headers.get_list("x-wire-note")


def search(**options: Any) -> ServerTool:
    return ServerTool(kind="web_search", **options)


CODE = ServerTool(kind="code")
ASKED: list[tuple[str, dict[str, Any], ServerTool, list[str], dict[str, Any]]] = [
    ("gemini", {"googleSearch": {}}, search(), [], {}),
    ("gemini", {"codeExecution": {}}, CODE, [], {}),
    ("gemini", {"url_context": {}}, ServerTool(kind="url_context"), [], {}),
    (
        "gemini",
        {"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/t"], "topK": 3}},
        ServerTool(kind="file_search", stores=("fileSearchStores/t",), max_results=3),
        [],
        {},
    ),
    (
        "anthropic",
        {
            "type": "web_search_20260318",
            "name": "web_search",
            "max_uses": 3,
            "allowed_domains": ["shom.fr"],
            "user_location": BREST,
        },
        search(max_uses=3, allowed_domains=("shom.fr",), location=Location(city="Brest")),
        [],
        {"type": "web_search_20260318"},
    ),
    (
        "anthropic",
        {"type": "web_fetch_20250910", "name": "web_fetch", "max_content_tokens": 5},
        ServerTool(kind="url_context"),
        ["tools[0].max_content_tokens"],
        {"max_content_tokens": 5, "citations": None},
    ),
    ("anthropic", {"type": "code_execution_20260521", "name": "code_execution"}, CODE, [], {}),
    (
        "responses",
        {
            "type": "web_search",
            "filters": {"allowed_domains": ["shom.fr"]},
            "user_location": BREST,
            "search_context_size": "low",
        },
        search(allowed_domains=("shom.fr",), location=Location(city="Brest")),
        ["tools[0].search_context_size"],
        {"search_context_size": "low"},
    ),
    (
        "responses",
        {"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file_1"]}},
        CODE,
        ["tools[0].container.file_ids"],
        {"container": {"type": "auto", "file_ids": ["file_1"]}},
    ),
    (
        "responses",
        {"type": "file_search", "vector_store_ids": ["vs_1"], "max_num_results": 2},
        ServerTool(kind="file_search", stores=("vs_1",), max_results=2),
        [],
        {},
    ),
]


@joined(("client", "asked", "tool", "paths", "extra"), ASKED)
def test_a_server_tool_becomes_a_neutral_one(
    client: str, asked: dict[str, Any], tool: ServerTool, paths: list[str], extra: dict[str, Any]
) -> None:
    body = full(client, {"tools": [asked]})
    parsed = PARSERS[client](body)
    assert parsed.request.tools == (tool,)
    assert [note.path for note in parsed.notes] == paths
    own = PARSERS[client](body, provider=OWN)
    assert own.notes == ()
    assert [getattr(each, "extra", None) for each in own.request.tools] == [
        {OWN: extra} if extra else {}
    ]


def test_a_server_tool_of_chat_completions_goes_to_its_own_api_as_it_came() -> None:
    body = full("chat", {"tools": [{"type": "browser_search"}]})
    assert PARSERS["chat"](body).request.tools == (search(),)
    own = PARSERS["chat"](body, provider=OWN)
    assert (own.request.tools, own.notes) == ((), ())
    assert own.unread is not None
    assert json.loads(own.unread.passed(b"{}")[0]) == {"tools": [{"type": "browser_search"}]}


def test_the_search_of_a_body_becomes_a_neutral_one() -> None:
    place = {"type": "approximate", "approximate": {"city": "Brest"}}
    options = {"user_location": place, "search_context_size": "low"}
    parsed = PARSERS["chat"](full("chat", {"web_search_options": options}))
    assert parsed.request.tools == (search(location=Location(city="Brest")),)
    assert [note.path for note in parsed.notes] == ["web_search_options.search_context_size"]


SEARCHES: dict[str, dict[str, Any]] = {
    "gemini": {"tools": [{"googleSearch": {}}]},
    "chat": {"web_search_options": {}},
    "responses": {"tools": [{"type": "web_search_preview"}]},
    "anthropic": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
}


@joined(
    ("api", "client", "tool", "note"),
    [
        ("gemini", "anthropic", {"max_uses": 3}, "web_search.max_uses: left out: gemini has no"),
        (
            "gemini",
            "anthropic",
            {"allowed_domains": ["shom.fr"]},
            "web_search: left out: allowed_domains: gemini has no",
        ),
        ("chat", "anthropic", {}, "web_search: left out: openai@chat offers no web_search"),
    ],
)
def test_what_the_backend_does_not_offer_is_noted(
    api: str, client: str, tool: dict[str, Any], note: str
) -> None:
    [asked] = SEARCHES[client]["tools"]
    emulator = Emulator()
    with gateway(api, emulator) as server:
        notes = notes_of(posted(server, client, {"tools": [{**asked, **tool}]}))
    assert [each for each in notes if each.startswith(note)] == notes[:1]
    sent = str(emulator.requests[-1])
    # Domains are a limit: without them, there is no search.
    assert ("googleSearch" in sent) == ("max_uses" in tool)


def test_a_model_without_server_tools_beside_functions_gets_the_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(MODELS, "gemini", "gemini:gemini-2.5-flash")
    function = {"name": "tide", "input_schema": {"type": "object"}}
    with gateway("gemini") as server:
        tools = [*SEARCHES["anthropic"]["tools"], function]
        [note] = notes_of(posted(server, "anthropic", {"tools": tools}))
    assert note.startswith("web_search: left out: Tool use with function calling")


@joined(
    ("client", "choice", "noted"),
    [
        ("anthropic", {"tool_choice": {"type": "tool", "name": "web_search"}}, True),
        ("anthropic", {"tool_choice": {"type": "auto"}}, False),
        ("anthropic", {"tool_choice": {"type": "any"}}, True),
        ("responses", {"tool_choice": {"type": "web_search_preview"}}, True),
        ("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}, False),
    ],
)
def test_a_server_tool_cannot_be_required(client: str, choice: Any, noted: bool) -> None:
    parsed = PARSERS[client](full(client, {**SEARCHES[client], **choice}))
    assert parsed.request.tools == (search(),)
    assert parsed.request.tool_choice is None
    assert [note.path for note in parsed.notes] == (["tool_choice"] if noted else [])


def test_no_tool_is_no_server_tool() -> None:
    choice = {"tool_choice": {"type": "none"}}
    parsed = PARSERS["anthropic"](full("anthropic", {**SEARCHES["anthropic"], **choice}))
    assert (parsed.request.tools, parsed.request.tool_choice) == ((), None)


SAID = "Où? High tide is at 05:12. Bye."
SOURCE = {"url": "https://example.com/tides", "title": "Tides", "cites": "High tide is at 05:12."}


@CLIENTS
def test_citations_reach_the_client(client: str) -> None:
    says = {"say": {"text": SAID, "sources": [SOURCE]}}

    async def replies() -> list[Reply]:
        async with chat(server, client) as user:
            whole = await user.ask("When?")
            async with user.stream("When?") as stream:
                return [whole, await stream.reply()]

    with gateway("gemini", Emulator([says, says])) as server:
        both = anyio.run(replies)
    for reply in both:
        assert reply.text == SAID
        if client == "ollama":  # which has no citations
            assert reply.citations == ()
            continue
        [cited] = reply.citations
        assert (cited.url, cited.title) == (SOURCE["url"], "Tides")
        # A citation of Messages and of Converse is one of its whole block.
        span = (0, len(SAID)) if client in ("anthropic", "converse") else (4, 26)
        assert (cited.start, cited.end) == span


def test_a_returned_citation_of_the_gateway_is_not_sent_to_the_backend() -> None:
    page = {"url": "https://example.com/", "title": "Tides", "cited_text": "Ebb."}
    cited = {"type": "web_search_result_location", **page, "encrypted_index": ""}
    said = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Ebb.", "citations": [cited]}],
    }
    asked = {"role": "user", "content": "Hi"}
    emulator = Emulator()
    with gateway("anthropic", emulator) as server:
        body = {"messages": [asked, said, asked]}
        [note] = notes_of(posted(server, "anthropic", body))
    assert note == "messages[1].content[0].citations: left out: what they cite is not there"
    assert "citations" not in str(emulator.requests[-1])


@joined(
    ("endpoint", "field"),
    [
        ("chat.completions", f'"url":"data:image/png;base64,{base64.b64encode(PNG).decode()}"'),
        ("responses", f'"result":"{base64.b64encode(PNG).decode()}"'),
        ("generateContent", f'"data":"{base64.b64encode(PNG).decode()}"'),
        ("messages", ""),
    ],
)
def test_images_reach_clients_that_have_a_form_for_them(endpoint: str, field: str) -> None:
    api = GENERATING[endpoint]()
    image, sound = Media(data=PNG, media_type="image/png"), Media(data=b"R", media_type="audio/wav")
    message = Message(
        "assistant", (Text("See."), image, sound), citations=(Citation(title="A book"),)
    )
    reply = Reply(message=message, stop=Stop("end"))
    received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    head = ResponseHead(id="1", model="m", created=0)
    writer = api.of.ReplyWriter(received, head)
    stream = writer.begin() + b"".join(map(writer.feed, events_of(reply)))
    for written in (stream, api.of.render_reply(reply, received, head)):
        assert (field.encode() in written) if field else (b"base64" not in written)
    paths = [note.path for note in left_out(reply, api.misses, api.takes)]
    missing = {"messages": ["message.parts[1]"], "generateContent": []}.get(endpoint, [])
    missing += [] if endpoint == "generateContent" else ["message.parts[2]"]
    assert paths == [*missing, "message.citations[0]"]


def test_echo_of_a_request_with_a_search() -> None:
    """The emulator answers a request with a search with a page of its own."""
    with gateway("gemini") as server:
        body = posted(server, "chat", SEARCHES["chat"]).json()
    [choice] = body["choices"]
    assert choice["message"]["content"].startswith(ECHO)
    [annotation] = choice["message"]["annotations"]
    assert annotation["url_citation"]["url"].startswith("https://")
