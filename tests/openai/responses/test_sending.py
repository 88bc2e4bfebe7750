"""What clients do for Responses beyond one request: a request that is amended after an error, and a
stream that goes on after its connection broke.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import httpx
import pytest

from tests.joined import joined
from wire import AsyncChat, AsyncClient, Chat, Client, Message, Retry, ToolResult, tool
from wire.errors import BadRequestError, ConfigurationError, ConnectionLost, StreamIncomplete
from wire.neutral.messages import Reply, TextDelta
from wire.openai import responses

STYLES = ["sync", "asyncio", "trio"]
KEY = "fake-key-4711"
ENCRYPTED = {
    "error": {
        "message": "The encrypted content gAAA… could not be verified. Reason: Encrypted content "
        "could not be decrypted or parsed.",
        "type": "invalid_request_error",
        "param": None,
        "code": "invalid_encrypted_content",
    }
}


def response(*output: dict[str, Any]) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": "completed", "output": list(output)}


def message(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


REASONING = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA-old"}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "high_tide",
    "arguments": '{"port":"Brest"}',
}


@tool
def high_tide(port: str) -> str:
    """When the tide is high."""
    return "05:12"


class Server:
    """Answers by a list, one for each request, and keeps what was asked."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.http = httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def inputs(self) -> list[list[dict[str, Any]]]:
        return [json.loads(request.content)["input"] for request in self.requests]


def told(style: str, http: httpx.MockTransport, stream: bool, **given: Any) -> Reply:
    """One reply of a chat, asked with the messages after a turn with reasoning."""
    messages = [
        Message.user("When is high tide in Brest?"),
        responses.parse_reply(
            responses.parse_response(json.dumps(response(REASONING, CALL)).encode()),
            model="gpt-5.6",
        ).message,
        Message.tool_response(ToolResult("call_1", "high_tide", "05:12")),
    ]
    options: dict[str, Any] = {"api_key": KEY, "http": http, "retry": Retry(base=0), **given}

    def sync() -> Reply:
        with Chat("openai:gpt-5.6", tools=[high_tide], **options) as chat:
            if not stream:
                return chat.ask(messages=messages)
            with chat.stream(messages=messages) as events:
                return events.reply()

    async def later() -> Reply:
        async with AsyncChat("openai:gpt-5.6", tools=[high_tide], **options) as chat:
            if not stream:
                return await chat.ask(messages=messages)
            async with chat.stream(messages=messages) as events:
                return await events.reply()

    return sync() if style == "sync" else anyio.run(later, backend=style)


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(
        b"event: %b\ndata: %b\n\n" % (each["type"].encode(), json.dumps(each).encode())
        for each in events
    )


WHOLE = sse({"type": "response.completed", "response": response(message("At 05:12."))})


@joined("style", STYLES)
@joined("stream", [False, True])
def test_reasoning_that_the_server_cannot_decrypt_is_left_out_once(
    style: str, stream: bool
) -> None:
    answer = (
        httpx.Response(200, content=WHOLE)
        if stream
        else httpx.Response(200, json=response(message("At 05:12.")))
    )
    server = Server(httpx.Response(400, json=ENCRYPTED), answer)
    reply = told(style, server.http, stream)
    assert reply.text == "At 05:12."
    assert [str(note) for note in reply.notes] == [
        "input: sent again without 1 items of reasoning, which the server could not verify"
    ]
    first, second = server.inputs
    assert [item["type"] for item in first] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert second == [item for item in first if item["type"] != "reasoning"]


@pytest.mark.parametrize("style", STYLES)
def test_a_second_refusal_is_the_error(style: str) -> None:
    server = Server(*[httpx.Response(400, json=ENCRYPTED)] * 2)
    with pytest.raises(BadRequestError) as raised:
        told(style, server.http, False)
    assert (raised.value.code, raised.value.attempts) == ("invalid_encrypted_content", 2)


def test_a_client_without_retries_sends_one_request() -> None:
    server = Server(httpx.Response(400, json=ENCRYPTED))
    with pytest.raises(BadRequestError):
        told("sync", server.http, False, retry=None)
    assert len(server.requests) == 1


def test_another_error_is_not_amended() -> None:
    other = {"error": {"message": "No.", "type": "invalid_request_error", "code": "other"}}
    server = Server(httpx.Response(400, json=other))
    with pytest.raises(BadRequestError):
        told("sync", server.http, False)
    assert len(server.requests) == 1


# --- streams in the background --------------------------------------------------------------------

STATE = {"id": "resp_1", "object": "response", "status": "in_progress", "background": True}
EVENTS = [
    {"type": "response.created", "sequence_number": 0, "response": STATE},
    {"type": "response.in_progress", "sequence_number": 1, "response": STATE},
    {
        "type": "response.output_item.added",
        "sequence_number": 2,
        "output_index": 0,
        "item": {"id": "msg_1", "type": "message", "role": "assistant", "content": []},
    },
    *(
        {
            "type": "response.output_text.delta",
            "sequence_number": 3 + number,
            "output_index": 0,
            "content_index": 0,
            "item_id": "msg_1",
            "delta": text,
        }
        for number, text in enumerate(["At ", "05:", "12."])
    ),
    {
        "type": "response.output_item.done",
        "sequence_number": 6,
        "output_index": 0,
        "item": message("At 05:12."),
    },
    {
        "type": "response.completed",
        "sequence_number": 7,
        "response": {**STATE, "status": "completed", "output": [message("At 05:12.")]},
    },
]
REQUEST = responses.ResponseRequest(model="gpt-5.6", input="When?", background=True, store=True)


class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body whose connection breaks after its bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self._data
        raise httpx.ReadError("connection reset")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._data
        raise httpx.ReadError("connection reset")


def read(style: str, server: Server, request: Any = REQUEST, **given: Any) -> tuple[list[Any], Any]:
    """The numbers of the events of one stream, and its result."""
    options: dict[str, Any] = {"api_key": KEY, "http": server.http, "retry": Retry(base=0), **given}
    call = responses.stream_response(request)

    def sync() -> tuple[list[Any], Any]:
        with Client("openai", **options) as client, client.stream(call) as stream:
            return [event.sequence_number for event in stream], stream.result()

    async def later() -> tuple[list[Any], Any]:
        async with AsyncClient("openai", **options) as client, client.stream(call) as stream:
            return [event.sequence_number async for event in stream], await stream.result()

    return sync() if style == "sync" else anyio.run(later, backend=style)


@joined("style", STYLES)
@joined("events", range(1, 8))
@joined("how", ["reset", "end"])
def test_a_stream_in_the_background_goes_on_after_a_break(
    style: str, events: int, how: str
) -> None:
    begin = sse(*EVENTS[:events])
    first = (
        httpx.Response(200, stream=Broken(begin))
        if how == "reset"
        else httpx.Response(200, content=begin + b"data: {")
    )
    server = Server(first, httpx.Response(200, content=sse(*EVENTS[events:])))
    numbers, result = read(style, server)
    assert numbers == list(range(8))
    assert result.output[0].content[0].text == "At 05:12."
    assert responses.parse_reply(result).stop.reason == "end"
    assert [str(request.url) for request in server.requests[1:]] == [
        f"https://api.openai.com/v1/responses/resp_1?stream=true&starting_after={events - 1}"
    ]
    assert server.requests[1].method == "GET"


@pytest.mark.parametrize("style", STYLES)
def test_it_breaks_as_often_as_events_arrive_in_between(style: str) -> None:
    pieces = [httpx.Response(200, stream=Broken(sse(each))) for each in EVENTS[:-1]]
    server = Server(*pieces, httpx.Response(200, content=sse(EVENTS[-1])))
    numbers, result = read(style, server)
    assert numbers == list(range(8))
    assert result.status == "completed"


@pytest.mark.parametrize("style", STYLES)
def test_it_ends_in_the_error_of_the_break_if_nothing_more_arrives(style: str) -> None:
    begin = httpx.Response(200, stream=Broken(sse(*EVENTS[:4])))
    server = Server(begin, *[httpx.Response(200, stream=Broken(b": hi\n\n")) for _ in range(2)])
    with pytest.raises(ConnectionLost) as raised:
        read(style, server)
    assert raised.value.partial.output[0].content[0].text == "At "
    assert len(server.requests) == 3


@pytest.mark.parametrize("style", STYLES)
def test_a_refused_continuation_leaves_the_error_of_the_break(style: str) -> None:
    gone = {"error": {"message": "Response with id 'resp_1' not found.", "code": None}}
    begin = httpx.Response(200, content=sse(*EVENTS[:4]))
    server = Server(begin, httpx.Response(404, json=gone))
    with pytest.raises(StreamIncomplete) as raised:
        read(style, server)
    assert raised.value.partial.output[0].content[0].text == "At "


def test_a_stream_in_the_foreground_ends() -> None:
    events = [
        {**each, "response": {**each["response"], "background": False}}
        if "response" in each
        else each
        for each in EVENTS
    ]
    server = Server(httpx.Response(200, stream=Broken(sse(*events[:4]))))
    with pytest.raises(ConnectionLost):
        read("sync", server, responses.ResponseRequest(model="gpt-5.6", input="When?"))
    assert len(server.requests) == 1


def test_a_client_without_retries_does_not_go_on() -> None:
    server = Server(httpx.Response(200, stream=Broken(sse(*EVENTS[:4]))))
    with pytest.raises(ConnectionLost):
        read("sync", server, retry=None)
    assert len(server.requests) == 1


def test_the_events_of_a_chat_go_on() -> None:
    server = Server(
        httpx.Response(200, stream=Broken(sse(*EVENTS[:4]))),
        httpx.Response(200, content=sse(*EVENTS[4:])),
    )
    options = {"openai": {"background": True, "store": True}}
    with (
        Chat("openai:gpt-5.6", api_key=KEY, http=server.http) as chat,
        chat.stream("When?", options=options) as stream,
    ):
        texts = [event.text for event in stream if isinstance(event, TextDelta)]
        assert (texts, stream.reply().text) == (["At ", "05:", "12."], "At 05:12.")


# --- the row of a chat ----------------------------------------------------------------------------


@joined(
    ("name", "path"),
    [
        ("openai:gpt-5.6", "/v1/responses"),
        ("openai:gpt-4.1", "/v1/chat/completions"),
        ("openai@responses:gpt-4.1", "/v1/responses"),
        ("openai@chat:gpt-5.6", "/v1/chat/completions"),
        ("gpt-5.6", "/v1/responses"),
    ],
)
def test_one_client_sends_the_chats_of_both_wires(name: str, path: str) -> None:
    with Client("openai", api_key=KEY) as client:
        assert client.preview(Chat(name, client=client).call("Hi")).url.endswith(path)


@pytest.mark.parametrize("name", ["xai@responses:grok-4", "gemini:gemini-3.8-flash"])
def test_a_client_sends_nothing_of_another_host(name: str) -> None:
    with Client("openai", api_key=KEY) as client, pytest.raises(ConfigurationError, match="client"):
        Chat(name, client=client)


# --- hosts without a row --------------------------------------------------------------------------


def test_a_host_without_a_row_speaks_responses_if_its_name_says_so() -> None:
    server = Server(httpx.Response(200, json=response(message("Hi."))))
    with Chat(
        "my-host@responses:m",
        api_key=KEY,
        base_url="https://llm.example/v1/responses",
        http=server.http,
    ) as chat:
        reply = chat.ask("Hi")
        assert (chat.provider, chat.client.key_variable) == ("my-host@responses", "MY_HOST_API_KEY")
    assert reply.text == "Hi."
    assert str(server.requests[0].url) == "https://llm.example/v1/responses"
    assert json.loads(server.requests[0].content)["store"] is False
