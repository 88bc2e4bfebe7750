"""Calls of one response that have one id, or none: each stays a call, and gets its own result."""

from __future__ import annotations

import json
from typing import Any

import httpx

from tests.joined import joined
from wire import Chat, Message, Reply, ToolCall, ToolCallDelta, ToolCallEnd, ToolCallStart

MODELS = {
    "gemini": "gemini:gemini-3.5-flash",
    "openai": "openai:gpt-5.2",
    "anthropic": "kimi@anthropic:kimi-k2.6",
    "responses": "openai@responses:gpt-5.4",
}
IDS = {
    "one id": ("x", "x", "x"),
    "two of three": ("x", "y", "x"),
    "none": (None, None, None),
    "the first alone": ("x", None, None),
    "different": ("x", "y", "z"),
}
ARGUMENTS: list[dict[str, Any]] = [{"a": 1}, {"a": 2}, {"a": {"b": 3}}]
NAMES = ("f", "g", "g")


def gemini(ids: tuple[str | None, ...]) -> list[dict[str, Any]]:
    """The chunks of a response; a single one is the response of a plain call, too."""
    parts = [
        {"functionCall": {**({"id": id} if id else {}), "name": name, "args": arguments}}
        for id, name, arguments in zip(ids, NAMES, ARGUMENTS, strict=True)
    ]
    return [
        {"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}]}
    ]


def openai(ids: tuple[str | None, ...], *, index: bool) -> list[dict[str, Any]]:
    """The chunks of a stream that sends each call in one piece."""
    calls = [
        {
            **({"index": position} if index else {}),
            **({"id": id} if id else {}),
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for position, (id, name, arguments) in enumerate(zip(ids, NAMES, ARGUMENTS, strict=True))
    ]
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls
    ]
    return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def whole_openai(ids: tuple[str | None, ...]) -> dict[str, Any]:
    calls = [
        chunk["choices"][0]["delta"]["tool_calls"][0] for chunk in openai(ids, index=False)[:3]
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


def blocks(ids: tuple[str | None, ...]) -> list[dict[str, Any]]:
    return [
        {"type": "tool_use", **({"id": id} if id else {}), "name": name, "input": arguments}
        for id, name, arguments in zip(ids, NAMES, ARGUMENTS, strict=True)
    ]


def anthropic(ids: tuple[str | None, ...]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "m"}}]
    for index, block in enumerate(blocks(ids)):
        text = json.dumps(block["input"])
        events += [
            {
                "type": "content_block_start",
                "index": index,
                "content_block": {**block, "input": {}},
            },
            {
                "type": "content_block_delta",
                "index": index,
                "delta": {"type": "input_json_delta", "partial_json": text},
            },
            {"type": "content_block_stop", "index": index},
        ]
    stop = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    return [*events, stop, {"type": "message_stop"}]


def whole_anthropic(ids: tuple[str | None, ...]) -> dict[str, Any]:
    return {"type": "message", "id": "m", "content": blocks(ids), "stop_reason": "tool_use"}


def items(ids: tuple[str | None, ...]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function_call",
            "id": f"fc_{position}",
            **({"call_id": id} if id else {}),
            "name": name,
            "arguments": json.dumps(arguments),
        }
        for position, (id, name, arguments) in enumerate(zip(ids, NAMES, ARGUMENTS, strict=True))
    ]


def whole_responses(ids: tuple[str | None, ...]) -> dict[str, Any]:
    return {"object": "response", "status": "completed", "output": items(ids)}


def responses(ids: tuple[str | None, ...]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for index, item in enumerate(items(ids)):
        place = {"output_index": index, "item_id": item["id"]}
        events += [
            {"type": "response.output_item.added", **place, "item": {**item, "arguments": ""}},
            {
                "type": "response.function_call_arguments.delta",
                **place,
                "delta": item["arguments"],
            },
            {"type": "response.output_item.done", **place, "item": item},
        ]
    return [*events, {"type": "response.completed", "response": whole_responses(ids)}]


RESPONSES = {
    "gemini": ("gemini", lambda ids: gemini(ids)[0]),
    "gemini, streamed": ("gemini", gemini),
    "chat": ("openai", whole_openai),
    "chat, streamed": ("openai", lambda ids: openai(ids, index=True)),
    "chat, streamed without index": ("openai", lambda ids: openai(ids, index=False)),
    "messages": ("anthropic", whole_anthropic),
    "messages, streamed": ("anthropic", anthropic),
    "responses": ("responses", whole_responses),
    "responses, streamed": ("responses", responses),
}


def sse(chunks: list[dict[str, Any]]) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def asked(wire: str, response: Any) -> tuple[Reply, list[Any], dict[str, Any]]:
    """The reply, its events if it is a stream, and the next request with a result for each call."""
    streamed = isinstance(response, list)
    content = sse(response) if streamed else json.dumps(response).encode()
    http = httpx.MockTransport(lambda _: httpx.Response(200, content=content))
    with Chat(MODELS[wire], api_key="fake-key", http=http, max_tokens=99) as chat:
        events: list[Any] = []
        if streamed:
            with chat.stream("Hi") as stream:
                events = list(stream)
                reply = stream.reply()
        else:
            reply = chat.ask("Hi")
        results = [
            Message.tool_result(call, {"of": call.arguments}) for call in reversed(reply.tool_calls)
        ]
        call = chat.call(messages=[Message.user("Hi"), reply.message, *results])
        return reply, events, json.loads(call.body)


@joined("ids", IDS.values(), ids=IDS)
@joined(("wire", "make"), RESPONSES.values(), ids=RESPONSES)
def test_each_call_stays_a_call_with_an_id_of_its_own(
    wire: str, make: Any, ids: tuple[str | None, ...]
) -> None:
    reply, events, _ = asked(wire, make(ids))
    calls = reply.tool_calls
    assert [(call.name, call.arguments) for call in calls] == [*zip(NAMES, ARGUMENTS, strict=True)]
    assert len({call.id for call in calls}) == 3
    first = dict.fromkeys(id for id in ids if id is not None)
    assert {call.id for call in calls} >= first.keys()  # the vendor's id stays with its first call
    if events:
        started = [event for event in events if isinstance(event, ToolCallStart)]
        ended = [event for event in events if isinstance(event, ToolCallEnd)]
        assert [(each.position, each.call) for each in ended] == [*enumerate(calls)]
        assert [each.name for each in started] == [*NAMES]
        assert {(each.position, each.id) for each in started if each.id} <= {
            (position, call.id) for position, call in enumerate(calls)
        }
        for position, call in enumerate(calls):
            texts = [
                event.text
                for event in events
                if isinstance(event, ToolCallDelta) and event.position == position
            ]
            assert json.loads("".join(texts)) == call.arguments


@joined("ids", IDS.values(), ids=IDS)
@joined(("wire", "make"), RESPONSES.values(), ids=RESPONSES)
def test_each_result_goes_back_with_its_call(
    wire: str, make: Any, ids: tuple[str | None, ...]
) -> None:
    _, _, body = asked(wire, make(ids))
    sent = pairs_in(wire, body)
    assert [arguments for _, arguments, _, _ in sent] == ARGUMENTS
    for call_id, arguments, result_id, result in sent:
        assert result == {"of": arguments}
        assert result_id == call_id
    echoed = tuple(call_id for call_id, *_ in sent)
    if wire == "gemini":
        assert echoed == ids
    elif wire == "openai":
        assert all(id in (None, own) for id, own in zip(ids, echoed, strict=True))
    else:  # Messages and Responses require ids that are all different (A13)
        assert len(set(echoed)) == 3


def pairs_in(wire: str, body: dict[str, Any]) -> list[tuple[Any, Any, Any, Any]]:
    """Id and arguments of each call in a request, id and value of the result that answers it."""
    if wire == "gemini":
        calls = [part["functionCall"] for part in body["contents"][1]["parts"]]
        results = [part["functionResponse"] for part in body["contents"][2]["parts"]]
        return [
            (call.get("id"), call["args"], result.get("id"), result["response"])
            for call, result in zip(calls, results, strict=True)
        ]
    if wire == "openai":
        calls = body["messages"][1]["tool_calls"]
        return [
            (
                call["id"],
                json.loads(call["function"]["arguments"]),
                result["tool_call_id"],
                json.loads(result["content"]),
            )
            for call, result in zip(calls, body["messages"][2:], strict=True)
        ]
    if wire == "responses":
        calls = [item for item in body["input"] if item["type"] == "function_call"]
        results = [item for item in body["input"] if item["type"] == "function_call_output"]
        return [
            (
                call["call_id"],
                json.loads(call["arguments"]),
                result["call_id"],
                json.loads(result["output"]),
            )
            for call, result in zip(calls, results, strict=True)
        ]
    calls = body["messages"][1]["content"]
    return [
        (call["id"], call["input"], result["tool_use_id"], json.loads(result["content"]))
        for call, result in zip(calls, body["messages"][2]["content"], strict=True)
    ]


def test_ids_are_the_same_when_the_response_is_read_again() -> None:
    first, second = (asked("openai", whole_openai(("x", "x", None)))[0] for _ in range(2))
    assert first == second
    assert all(isinstance(call, ToolCall) for call in first.tool_calls)
