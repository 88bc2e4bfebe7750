"""Endpoints of stored responses and conversations: method, path and body of each call, its parsed
response, and its errors; then calls sent by the clients.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest

import wire
from tests.joined import joined
from wire import AsyncClient, Client
from wire.core.call import Call
from wire.core.memory import answer_account, encode
from wire.core.retry import Retry
from wire.errors import (
    BadRequestError,
    ConfigurationError,
    NotFoundError,
    RuleError,
    StreamInvalid,
)
from wire.openai import responses
from wire.openai.responses import (
    CompactRequest,
    ContentPart,
    ConversationRequest,
    InputTokensRequest,
    Item,
    Prompt,
    ResponseRequest,
    Tool,
)

KEY = "fake-key-4711"
JSON = {"content-type": "application/json"}
HI = Item(type="message", role="user", content="Hi")
HI_JSON = {"type": "message", "role": "user", "content": "Hi"}
LISTED = ["file_search_call.results", "reasoning.encrypted_content"]
LISTED_QUERY = "include%5B%5D=file_search_call.results&include%5B%5D=reasoning.encrypted_content"
RECEIVED = b'{"type":"reasoning","id":"rs_1",  "summary":[],"moon":1}'


def received() -> Item:
    return responses.get_item("conv_1", "rs_1").parse(RECEIVED)


# --- what is sent ---------------------------------------------------------------------------------

CALLS: dict[str, tuple[Callable[[], Call[Any]], str, Any]] = {
    "get": (lambda: responses.get_response("resp_1"), "GET /responses/resp_1", None),
    "get, a UUID": (
        lambda: responses.get_response("8a0b-11 2"),
        "GET /responses/8a0b-11%202",
        None,
    ),
    "get, included": (
        lambda: responses.get_response("resp_1", include=LISTED),
        f"GET /responses/resp_1?{LISTED_QUERY}",
        None,
    ),
    "cancel": (
        lambda: responses.cancel_response("resp_1"),
        "POST /responses/resp_1/cancel",
        None,
    ),
    "delete": (lambda: responses.delete_response("resp_1"), "DELETE /responses/resp_1", None),
    "input items": (
        lambda: responses.list_input_items("resp_1"),
        "GET /responses/resp_1/input_items",
        None,
    ),
    "input items, a page": (
        lambda: responses.list_input_items(
            "resp_1", limit=1, order="desc", after="msg 1", include=LISTED[:1]
        ),
        "GET /responses/resp_1/input_items?limit=1&order=desc&after=msg%201"
        "&include%5B%5D=file_search_call.results",
        None,
    ),
    "count": (
        lambda: responses.count_input_tokens(
            InputTokensRequest(model="m", input=[HI], personality="friendly")
        ),
        "POST /responses/input_tokens",
        {"model": "m", "input": [HI_JSON], "personality": "friendly"},
    ),
    "count of a request": (
        lambda: responses.count_input_tokens(
            ResponseRequest(
                model="m",
                input="Hi",
                instructions="Be brief.",
                tools=[Tool(type="web_search")],
                conversation="conv_1",
                store=False,
                max_output_tokens=16,
                include=LISTED,
            )
        ),
        "POST /responses/input_tokens",
        {
            "model": "m",
            "input": "Hi",
            "instructions": "Be brief.",
            "tools": [{"type": "web_search"}],
            "conversation": "conv_1",
        },
    ),
    "count, further keys": (
        lambda: responses.count_input_tokens(
            wire.with_extra(ResponseRequest(model="m", input="Hi", store=True), {"tides": 1})
        ),
        "POST /responses/input_tokens",
        {"model": "m", "input": "Hi", "tides": 1},
    ),
    "compact": (
        lambda: responses.compact(
            CompactRequest(model="m", input=[HI, received()], prompt_cache_key="k")
        ),
        "POST /responses/compact",
        {"model": "m", "input": [HI_JSON, json.loads(RECEIVED)], "prompt_cache_key": "k"},
    ),
    "create": (responses.create_conversation, "POST /conversations", {}),
    "create, with items": (
        lambda: responses.create_conversation(
            ConversationRequest(items=[HI] * 20, metadata={"a": "b"})
        ),
        "POST /conversations",
        {"items": [HI_JSON] * 20, "metadata": {"a": "b"}},
    ),
    "conversation": (
        lambda: responses.get_conversation("conv_1"),
        "GET /conversations/conv_1",
        None,
    ),
    "update": (
        lambda: responses.update_conversation("conv_1", {"a": "b"}),
        "POST /conversations/conv_1",
        {"metadata": {"a": "b"}},
    ),
    "update, nothing left": (
        lambda: responses.update_conversation("conv_1", {}),
        "POST /conversations/conv_1",
        {"metadata": {}},
    ),
    "delete conversation": (
        lambda: responses.delete_conversation("conv_1"),
        "DELETE /conversations/conv_1",
        None,
    ),
    "items": (
        lambda: responses.list_items("conv_1", limit=100, order="asc", include=LISTED),
        f"GET /conversations/conv_1/items?limit=100&order=asc&{LISTED_QUERY}",
        None,
    ),
    "add": (
        lambda: responses.add_items("conv_1", (HI, received()), include=LISTED),
        f"POST /conversations/conv_1/items?{LISTED_QUERY}",
        {"items": [HI_JSON, json.loads(RECEIVED)]},
    ),
    "item": (
        lambda: responses.get_item("conv_1", "msg_1", include=LISTED),
        f"GET /conversations/conv_1/items/msg_1?{LISTED_QUERY}",
        None,
    ),
    "delete item": (
        lambda: responses.delete_item("conv_1", "msg_1"),
        "DELETE /conversations/conv_1/items/msg_1",
        None,
    ),
}


@joined("name", CALLS)
def test_what_is_sent(name: str):
    make, target, body = CALLS[name]
    call = make()
    assert (call.wire, f"{call.method} {call.target}", dict(call.headers)) == (
        "openai.responses",
        target,
        {} if body is None else JSON,
    )
    assert (json.loads(call.body) if call.body else None) == body


def test_a_received_item_is_sent_in_its_bytes():
    for call in (
        responses.compact(CompactRequest(model="m", input=[received()])),
        responses.add_items("conv_1", [received()]),
        responses.create_conversation(ConversationRequest(items=[received()])),
        responses.count_input_tokens(ResponseRequest(input=[received()])),
    ):
        assert RECEIVED in call.body


def test_a_received_item_with_an_odd_value_is_sent_too():
    """The decoder left the odd value out of the struct; the server knows what it means."""
    raw = b'{"type":"function_call","id":"fc_1","name":["odd"]}'
    item = responses.get_item("conv_1", "fc_1").parse(raw)
    assert item.name is None
    for call in (
        responses.compact(CompactRequest(model="m", input=[item])),
        responses.add_items("conv_1", [item]),
        responses.create_conversation(ConversationRequest(items=[item])),
        responses.count_input_tokens(ResponseRequest(input=[item])),
    ):
        assert raw in call.body


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        (b'{"id":"a","content":"\\ud83c"}', '{"id": "a", "content": "\ufffd"}'.encode()),
        (b'{"id":"a","moon":NaN}', b'{"id": "a", "moon": null}'),
    ],
)
def test_a_received_item_that_is_no_strict_json(body: bytes, sent: bytes):
    one = responses.get_item("conv_1", "a").parse(body)
    [listed] = responses.list_items("conv_1").parse(b'{"data":[' + body + b"]}").data
    for item in (one, listed):
        assert responses.add_items("conv_1", [item]).body == b'{"items":[' + sent + b"]}"


# --- bad input ------------------------------------------------------------------------------------


@joined(
    ("make", "problem"),
    [
        (
            lambda: responses.count_input_tokens({"model": "m"}),
            "request: expected a InputTokensRequest or ResponseRequest, not dict",
        ),
        (
            lambda: responses.count_input_tokens(ResponseRequest(prompt=Prompt(id="p"))),
            "prompt: the endpoint cannot count the tokens of a prompt",
        ),
        (
            lambda: responses.count_input_tokens(InputTokensRequest(input=[HI, Item(id=1)])),
            "input[1].id: Expected `str | null`, got `int`",
        ),
        (lambda: responses.compact(ResponseRequest()), "request: expected a CompactRequest"),
        (lambda: responses.compact(CompactRequest(input="Hi")), "model: expected the name of a"),
        (
            lambda: responses.compact(CompactRequest(model="m", input=[HI, Item(input={})])),
            "input[1].input: Expected `str | null`, got `object`",
        ),
        (
            lambda: responses.create_conversation([HI]),
            "request: expected a ConversationRequest, not list",
        ),
        (
            lambda: responses.create_conversation(ConversationRequest(items=[HI] * 21)),
            "items: at most 20 items, not 21",
        ),
        (
            lambda: responses.create_conversation(ConversationRequest(metadata={"a": 1})),
            "metadata[...]: Expected `str`, got `int`",
        ),
        (
            lambda: responses.update_conversation("conv_1", None),
            "metadata: expected a mapping of texts to texts, not NoneType",
        ),
        (lambda: responses.add_items("conv_1", []), "items: expected a non-empty list of Items"),
        (lambda: responses.add_items("conv_1", HI), "items: expected a non-empty list of Items"),
        (lambda: responses.add_items("conv_1", [HI] * 21), "items: at most 20 items, not 21"),
        (
            lambda: responses.add_items("conv_1", [HI, Item(content=[ContentPart(text=b"a")])]),
            "items[1].content[0].text: expected a JSON value, not bytes",
        ),
    ],
)
def test_bad_requests(make: Any, problem: str):
    with pytest.raises(RuleError) as caught:
        make()
    assert problem in str(caught.value)


@joined("odd", ["", "/", "a/b", "..", None, 1])
def test_an_id_leads_to_no_other_path(odd: Any):
    for make, parameter in (
        (responses.get_response, "response_id"),
        (responses.cancel_response, "response_id"),
        (responses.delete_response, "response_id"),
        (responses.list_input_items, "response_id"),
        (responses.get_conversation, "conversation_id"),
        (lambda each: responses.update_conversation(each, {}), "conversation_id"),
        (responses.delete_conversation, "conversation_id"),
        (responses.list_items, "conversation_id"),
        (lambda each: responses.add_items(each, [HI]), "conversation_id"),
        (lambda each: responses.get_item(each, "msg_1"), "conversation_id"),
        (lambda each: responses.get_item("conv_1", each), "item_id"),
        (lambda each: responses.delete_item("conv_1", each), "item_id"),
    ):
        with pytest.raises(ConfigurationError, match=f"^{parameter}: expected a name such as "):
            make(odd)


@joined("make", [responses.list_input_items, responses.list_items])
@joined(
    ("options", "problem"),
    [
        ({"limit": 0}, "limit: expected a whole number from 1 up, not 0"),
        ({"limit": "5"}, "limit: expected a whole number from 1 up, not str"),
        ({"limit": True}, "limit: expected a whole number from 1 up, not True"),
        ({"order": "newest"}, "order: expected asc or desc, not 'newest'"),
        ({"after": ""}, "after: expected an id such as msg_1, not ''"),
        ({"after": 1}, "after: expected an id such as msg_1, not 1"),
        ({"include": "a"}, "include: expected a list of texts, such as"),
        ({"include": [1]}, "include: expected a list of texts, such as"),
        ({"include": [""]}, "include: expected a list of texts, such as"),
    ],
    ids=str,
)
def test_bad_parameters(make: Any, options: dict[str, Any], problem: str):
    with pytest.raises(ConfigurationError) as caught:
        make("id_1", **options)
    assert problem in str(caught.value)


# --- how answers are read -------------------------------------------------------------------------

ITEM = b'{"id":"msg_1","type":"message",  "role":"user","moon":1}'
ANSWERS: dict[str, tuple[Call[Any], bytes, Callable[[Any], Any], Any]] = {
    "get": (
        responses.get_response("resp_1"),
        b'{"id":"resp_1","object":"response","status":"queued","output":[],"error":null}',
        lambda answer: (answer.status, answer.output),
        ("queued", []),
    ),
    "get, failed": (
        responses.get_response("resp_1"),
        b'{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"m"}}',
        lambda answer: (answer.status, answer.error.code),
        ("failed", "server_error"),
    ),
    "get, with items": (
        responses.get_response("resp_1"),
        b'{"id":"resp_1","status":"completed","output":[' + ITEM + b"," + RECEIVED + b"]}",
        lambda answer: [item.raw for item in answer.output],
        [ITEM, RECEIVED],
    ),
    "cancel": (
        responses.cancel_response("resp_1"),
        b'{"id":"resp_1","status":"cancelled"}',
        lambda answer: answer.status,
        "cancelled",
    ),
    "delete": (
        responses.delete_response("resp_1"),
        b'{"id":"resp_1","object":"response.deleted","deleted":true}',
        lambda answer: (answer.object, answer.deleted),
        ("response.deleted", True),
    ),
    "input items": (
        responses.list_input_items("resp_1"),
        b'{"object":"list","data":[' + ITEM + b'],"has_more":true,"last_id":"msg_1"}',
        lambda answer: (
            [item.raw for item in answer.data],
            encode(ResponseRequest(input=answer.data)),
            answer.has_more,
            answer.last_id,
        ),
        ([ITEM], b'{"input":[' + ITEM + b"]}", True, "msg_1"),
    ),
    "count": (
        responses.count_input_tokens(InputTokensRequest(model="m", input="")),
        b'{"object":"response.input_tokens","input_tokens":0}',
        lambda answer: answer.input_tokens,
        0,
    ),
    "compact": (
        responses.compact(CompactRequest(model="m", input="Hi")),
        b'{"id":"resp_1","object":"response.compaction","created_at":7,"output":[' + ITEM + b","
        b'{"type":"compaction","id":"cmp_1","encrypted_content":"gAAA","moon":2}],'
        b'"usage":{"input_tokens":9}}',
        lambda answer: (
            answer.created_at,
            encode(ResponseRequest(input=[*answer.output, HI])),
            answer.usage.input_tokens,
        ),
        (
            7,
            b'{"input":[' + ITEM + b',{"type":"compaction","id":"cmp_1","encrypted_content":'
            b'"gAAA","moon":2},{"type":"message","role":"user","content":"Hi"}]}',
            9,
        ),
    ),
    "create": (
        responses.create_conversation(),
        b'{"id":"conv_1","object":"conversation","created_at":7,"metadata":{"a":"b"}}',
        lambda answer: (answer.id, answer.created_at, answer.metadata),
        ("conv_1", 7, {"a": "b"}),
    ),
    "delete conversation": (
        responses.delete_conversation("conv_1"),
        b'{"object":"conversation.deleted","deleted":true,"id":"conv_1"}',
        lambda answer: answer.deleted,
        True,
    ),
    "items": (
        responses.list_items("conv_1"),
        b'{"object":"list","data":[],"has_more":false}',
        lambda answer: (answer.data, answer.has_more),
        ([], False),
    ),
    "add": (
        responses.add_items("conv_1", [HI]),
        b'{"object":"list","data":[' + ITEM + b"]}",
        lambda answer: [item.raw for item in answer.data],
        [ITEM],
    ),
    "item": (
        responses.get_item("conv_1", "msg_1"),
        ITEM,
        lambda answer: (answer.role, encode(ResponseRequest(input=[answer]))),
        ("user", b'{"input":[' + ITEM + b"]}"),
    ),
    "delete item": (
        responses.delete_item("conv_1", "msg_1"),
        b'{"id":"conv_1"}',
        lambda answer: answer.id,
        "conv_1",
    ),
}


@joined("name", ANSWERS)
def test_how_answers_are_read(name: str):
    call, body, look, expected = ANSWERS[name]
    answer = call.parse(body)
    assert (look(answer), answer.raw) == (expected, body)
    assert call.parse(b"\xef\xbb\xbf" + body) == answer
    with pytest.raises(NotFoundError, match="Response with id"):
        call.parse(
            b'{"error":{"message":"Response with id \'resp_1\' not found.",'
            b'"type":"invalid_request_error","code":"not_found"}}'
        )


@joined("name", sorted(ANSWERS.keys() - {"delete"}))
def test_what_is_no_answer(name: str):
    for odd in (b"", b"<html></html>", b"7", b"{}", b'{"object":"list"}'):
        with pytest.raises(StreamInvalid):
            ANSWERS[name][0].parse(odd)


@joined("body", [b"", b"null", b"OK", b"{}"])
def test_a_deleted_response_needs_no_body(body: bytes):
    deleted = responses.delete_response("resp_1").parse(body)
    assert (deleted.id, deleted.deleted) == (None, None)


@pytest.mark.parametrize(
    ("status", "body", "error", "message"),
    [
        (
            404,
            b'{"error":{"message":"Conversation with id \'conv_1\' not found.",'
            b'"type":"invalid_request_error","param":null,"code":null}}',
            NotFoundError,
            "Conversation with id 'conv_1' not found.",
        ),
        (
            400,
            b'{"code":"invalid-argument","error":"Bad id"}',
            BadRequestError,
            "Bad id",
        ),
    ],
)
def test_errors(status: int, body: bytes, error: type[Exception], message: str):
    for name in CALLS:
        read = CALLS[name][0]().read_error(status, {}, body)
        assert type(read) is error
        assert read.message == message


# --- hosts ----------------------------------------------------------------------------------------

ANYWHERE = {"count", "count of a request", "count, further keys", "compact"}
"""Calls that need nothing stored."""


@pytest.mark.parametrize("provider", ["openrouter", "deepseek@responses", "ollama@openai"])
def test_a_host_that_stores_nothing(provider: str):
    def refusing(request: httpx.Request) -> httpx.Response:
        raise AssertionError("sent")

    with Client(provider, api_key=KEY, http=httpx.MockTransport(refusing)) as client:
        for name in CALLS.keys() - ANYWHERE:
            with pytest.raises(ConfigurationError, match="stores no responses"):
                client.send(CALLS[name][0]())


@joined("style", ["sync", "asyncio", "trio"])
@joined("provider", ["openai", "openai@responses", "xai"])
def test_calls_through_the_clients(style: str, provider: str):
    seen: list[str] = []

    def answering(request: httpx.Request) -> httpx.Response:
        seen.append(f"{request.method} {request.url.path}?{request.url.query.decode()}")
        assert request.headers["authorization"] == f"Bearer {KEY}"
        if request.method == "DELETE":
            return httpx.Response(404, json={"error": {"message": "gone", "type": "t"}})
        body = b'{"data":[' + ITEM + b"]}"
        return httpx.Response(200, content=body, headers={"x-request-id": "req_1"})

    options: dict[str, Any] = {
        "api_key": KEY,
        "http": httpx.MockTransport(answering),
        "retry": Retry(attempts=1),
    }
    listing = responses.list_input_items("resp_1", limit=2, include=LISTED)
    deleting = responses.delete_response("resp_1")

    def work() -> Any:
        with Client(provider, **options) as client:
            found = client.send(listing)
            with pytest.raises(NotFoundError, match="gone"):
                client.send(deleting)
            return found

    async def main() -> Any:
        async with AsyncClient(provider, **options) as client:
            found = await client.send(listing)
            with pytest.raises(NotFoundError, match="gone"):
                await client.send(deleting)
            return found

    found = work() if style == "sync" else anyio.run(main, backend=style)
    assert [item.raw for item in found.data] == [ITEM]
    assert answer_account(found).request_id == "req_1"
    assert seen == [
        f"GET /v1/responses/resp_1/input_items?limit=2&{LISTED_QUERY}",
        "DELETE /v1/responses/resp_1?",
    ]
