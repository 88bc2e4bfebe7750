"""OpenAI's own client for Python, case by case, against the emulator: run in `.venv-sdks` with its
URL; a line of JSON a case.
"""

from __future__ import annotations

import base64
import json
import sys
import urllib.request
from collections.abc import Callable
from typing import Any

import openai
from pydantic import BaseModel

URL = sys.argv[1]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
QUESTION = "What is the weather in Paris and in Oslo?"
CASES: dict[str, Callable[[], Any]] = {}


class Place(BaseModel):
    city: str


def client(
    key: str = "fake-key", fault: str = "", path: str = "/v1", retries: int = 0
) -> openai.OpenAI:
    headers = {"x-wire-fault": fault} if fault else None
    return openai.OpenAI(
        api_key=key, base_url=URL + path, default_headers=headers, max_retries=retries
    )


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    CASES[function.__name__] = function
    return function


def ask(door: openai.OpenAI, model: str = "gpt-5.4", messages: Any = None, **options: Any) -> Any:
    return door.chat.completions.create(
        model=model, messages=messages or [{"role": "user", "content": "hi"}], **options
    )


@case
def plain() -> Any:
    answer = ask(client())
    return (
        answer.choices[0].message.content,
        answer.choices[0].finish_reason,
        answer.usage.total_tokens > 0,
    )


@case
def stream() -> Any:
    chunks = list(ask(client(), stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    return text, chunks[-1].choices, chunks[-1].usage.total_tokens > 0


@case
def stream_helper() -> Any:
    """The helper that folds a stream, with tools; what it sends back holds keys of its own."""
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    with client().chat.completions.stream(
        model="gpt-5.4", messages=messages, tools=[TOOL]
    ) as events:
        message = events.get_final_completion().choices[0].message
    messages.append(message)
    messages += [
        {"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in message.tool_calls
    ]
    return [call.function.arguments for call in message.tool_calls], ask(
        client(), messages=messages, tools=[TOOL]
    ).choices[0].message.content


def _tools(door: openai.OpenAI, model: str) -> Any:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    message = ask(door, model, messages, tools=[TOOL]).choices[0].message
    messages.append(message)
    messages += [
        {"role": "tool", "tool_call_id": call.id, "content": json.dumps({"sky": "sunny"})}
        for call in message.tool_calls
    ]
    return len(message.tool_calls), ask(door, model, messages, tools=[TOOL]).choices[
        0
    ].message.content


@case
def tools() -> Any:
    return _tools(client(), "gpt-5.4")


@case
def tools_at_google() -> Any:
    return _tools(client(path="/v1beta/openai/"), "gemini-3.1-pro-preview")


@case
def json_schema() -> Any:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    form = {
        "type": "json_schema",
        "json_schema": {"name": "place", "strict": True, "schema": schema},
    }
    return json.loads(
        ask(
            client(), messages=[{"role": "user", "content": "Where is Oslo?"}], response_format=form
        )
        .choices[0]
        .message.content
    )


@case
def models() -> Any:
    return "gpt-5.4" in [each.id for each in client().models.list()], client().models.retrieve(
        "gpt-5.4"
    ).id


@case
def embeddings() -> Any:
    return [
        len(each.embedding)
        for each in client()
        .embeddings.create(model="text-embedding-3-small", input=["a", "b"], dimensions=8)
        .data
    ]


@case
def decisions() -> Any:
    raw = client().decisions.with_raw_response.create(
        model="gpt-6-luna",
        input=[{"type": "message", "role": "user", "content": "I am furious"}],
        questions=[
            {"type": "predicate", "name": "urgent", "instructions": "It is urgent."},
            {
                "type": "choice",
                "name": "which",
                "instructions": "Which?",
                "choices": [{"value": True}, {"value": "true", "description": "a text"}],
            },
            {
                "type": "score",
                "name": "anger",
                "instructions": "How angry?",
                "levels": [{"label": "calm"}, {"label": "furious"}],
            },
        ],
        prompt_cache_key="k",
    )
    urgent, which, anger = raw.parse().answers
    return [
        json.loads(raw.http_request.content),
        [urgent.name, 0.01 <= urgent.probability <= 0.99],
        [which.choice in (True, "true"), [each.value for each in which.probabilities]],
        [anger.confidence == anger.score, [each.label for each in anger.probabilities]],
        raw.parse().usage.output_tokens,
    ]


@case
def decisions_refused() -> Any:
    return _raises(lambda: client().decisions.create(model="gpt-6-luna", input="Hi", questions=[]))


def _raises(work: Callable[[], Any]) -> Any:
    try:
        return "ok", work()
    except Exception as error:
        return (
            type(error).__name__,
            getattr(error, "status_code", None),
            getattr(error, "code", None),
        )


@case
def error_400() -> Any:
    return _raises(lambda: client().chat.completions.create(model="gpt-5.4", messages=[]))


@case
def error_key() -> Any:
    return _raises(lambda: ask(client("bad-key")))


@case
def error_429() -> Any:
    return _raises(lambda: ask(client(fault="429; retry-after=0")))


@case
def retried() -> Any:
    return _raises(
        lambda: (
            ask(client(fault="503; retry-after=0.01; times=2", retries=2)).choices[0].finish_reason
        )
    )


@case
def stream_error() -> Any:
    return _raises(lambda: list(ask(client(fault="error; after=2"), stream=True)))


@case
def stream_cut() -> Any:
    return _raises(lambda: list(ask(client(fault="cut; after=2"), stream=True)))


# --- Responses ------------------------------------------------------------------------------------

FUNCTION = {"type": "function", "strict": False, **TOOL["function"]}
ENCRYPTED = {"store": False, "include": ["reasoning.encrypted_content"]}
REFUSED = {"text": "I cannot help with that.", "finish": "refusal"}


def respond(door: openai.OpenAI, model: str = "gpt-5.4", input: Any = "hi", **options: Any) -> Any:
    return door.responses.create(model=model, input=input, **options)


def script(*steps: dict[str, Any]) -> None:
    """Set what the emulator answers next."""
    body = json.dumps(list(steps)).encode()
    request = urllib.request.Request(f"{URL}/_wire/script", body, method="PUT")
    with urllib.request.urlopen(request, timeout=10):
        pass


def results(output: Any) -> list[Any]:
    """The result of each call."""
    calls = [item for item in output if item.type == "function_call"]
    return [
        {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        for call in calls
    ]


@case
def responses_plain() -> Any:
    answer = respond(client())
    return answer.output_text, answer.status, answer.usage.total_tokens


@case
def responses_stream() -> Any:
    """Each event is of a class of its own; the helper folds them."""
    with client().responses.stream(
        model="gpt-5.6", input="hi", reasoning={"summary": "auto"}
    ) as events:
        classes = [type(event).__name__ for event in events]
        answer = events.get_final_response()
    kinds = [item.type for item in answer.output]
    return classes[0], classes[-1], "BaseModel" in classes, kinds, answer.output_text


@case
def responses_tools() -> Any:
    """Two parallel calls, whose results go back beside the items of the answer."""
    input: list[Any] = [{"role": "user", "content": QUESTION}]
    answer = respond(client(), input=input, tools=[FUNCTION])
    input += [*answer.output, *results(answer.output)]
    calls = [item.arguments for item in answer.output]
    return calls, respond(client(), input=input, tools=[FUNCTION]).output_text


@case
def responses_reasoning() -> Any:
    """Encrypted reasoning goes back through a loop, streamed."""
    input: list[Any] = [{"role": "user", "content": QUESTION}]
    with client().responses.stream(
        model="gpt-5.6", input=input, tools=[FUNCTION], **ENCRYPTED
    ) as events:
        answer = events.get_final_response()
    kinds = [item.type for item in answer.output]
    sent = [item.to_dict() for item in answer.output]
    for item in sent:
        item.pop("parsed_arguments", None)  # of the SDK's own
    input += [*sent, *results(answer.output)]
    return kinds, respond(client(), "gpt-5.6", input, tools=[FUNCTION], **ENCRYPTED).output_text


@case
def responses_foreign_reasoning() -> Any:
    item = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAAABforeign"}
    return _raises(lambda: respond(client(), "gpt-5.6", [item], store=False))


@case
def responses_chain() -> Any:
    door = client()
    first = respond(door, input=[{"role": "user", "content": QUESTION}], tools=[FUNCTION])
    second = respond(
        door, input=results(first.output), tools=[FUNCTION], previous_response_id=first.id
    )
    kept = door.responses.retrieve(second.id)
    items = [item.type for item in door.responses.input_items.list(second.id, order="asc")]
    door.responses.delete(second.id)
    return kept.output_text, items, _raises(lambda: door.responses.retrieve(second.id))


@case
def responses_parsed() -> Any:
    answer = client().responses.parse(model="gpt-5.4", input="Where is Oslo?", text_format=Place)
    return answer.output_parsed.city


@case
def responses_refusal() -> Any:
    script({"say": REFUSED}, {"say": REFUSED})
    part = respond(client()).output[0].content[0]
    with client().responses.stream(model="gpt-5.4", input="hi") as events:
        streamed = events.get_final_response().output[0].content[0]
    return part.type, part.refusal, streamed.refusal


@case
def responses_background() -> Any:
    """A stream that was left is taken up after the last event that was read."""
    door = client()
    with respond(door, background=True, stream=True) as events:
        read = [next(events) for _ in range(5)]
    id = read[0].response.id
    rest = list(door.responses.retrieve(id, stream=True, starting_after=read[-1].sequence_number))
    waiting = respond(door, background=True)
    cancelled = door.responses.cancel(waiting.id)
    return (
        rest[0].sequence_number,
        rest[-1].response.output_text,
        waiting.status,
        cancelled.status,
    )


@case
def responses_conversation() -> Any:
    door = client()
    made = door.conversations.create(items=[{"role": "user", "content": "I am Bo."}])
    respond(door, conversation=made.id)
    roles = [item.role for item in door.conversations.items.list(made.id, order="asc")]
    return roles, door.conversations.delete(made.id).deleted


@case
def responses_counts() -> Any:
    door = client()
    compacted = door.responses.compact(model="gpt-5.4", input="hi there")
    following = [item.to_dict() for item in compacted.output]
    return (
        door.responses.input_tokens.count(model="gpt-5.4", input="hi there").input_tokens,
        [item.type for item in compacted.output],
        respond(door, input=[*following, {"role": "user", "content": "hi"}]).output_text,
    )


@case
def responses_error_400() -> Any:
    return _raises(lambda: respond(client(), "gpt-9"))


@case
def responses_error_429() -> Any:
    return _raises(lambda: respond(client(fault="429; retry-after=0")))


@case
def responses_failed() -> Any:
    script({"say": {"text": "Once", "finish": "failed"}})
    answer = respond(client())
    return answer.status, answer.error.code


@case
def responses_stream_error() -> Any:
    return _raises(lambda: list(respond(client(fault="error; after=2"), stream=True)))


def _until(connection: Any, last: str) -> list[Any]:
    """The events of a session up to the first one of a type."""
    got: list[Any] = []
    for event in connection:
        got.append(event)
        if event.type == last:
            break
    return got


@case
def responses_socket() -> Any:
    with client().responses.connect() as connection:
        connection.response.create(model="gpt-5.4", input="hi", store=False)
        first = _until(connection, "response.completed")[-1].response
        connection.response.create(
            model="gpt-5.4", input="hi", store=False, previous_response_id=first.id
        )
        second = _until(connection, "response.completed")[-1].response
        connection.response.create(
            model="gpt-5.4", input="hi", store=False, previous_response_id="resp_none"
        )
        (refused,) = _until(connection, "error")
    return (
        first.output_text,
        second.output_text,
        second.previous_response_id == first.id,
        refused.error.code,
    )


@case
def realtime_tools() -> Any:
    with client().realtime.connect(model="gpt-realtime") as connection:
        connection.session.update(
            session={
                "type": "realtime",
                "output_modalities": ["text"],
                "tools": [{"type": "function", **TOOL["function"]}],  # type: ignore[dict-item]
            }
        )
        connection.conversation.item.create(
            item={
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": QUESTION}],
            }
        )
        connection.response.create()
        calls = [
            event
            for event in _until(connection, "response.done")
            if event.type == "response.function_call_arguments.done"
        ]
        for call in calls:
            connection.conversation.item.create(
                item={"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
            )
        connection.response.create()
        last = _until(connection, "response.done")[-1].response
    return [call.arguments for call in calls], last.output[0].content[0].text, last.status


@case
def realtime_audio() -> Any:
    with client().realtime.connect(model="gpt-realtime") as connection:
        connection.input_audio_buffer.append(audio=base64.b64encode(bytes(4800)).decode())
        connection.input_audio_buffer.commit()
        connection.response.create()
        got = _until(connection, "response.done")
        connection.conversation.item.delete(item_id="item_none", event_id="mine")
        (refused,) = _until(connection, "error")
    audio = [event.delta for event in got if event.type == "response.output_audio.delta"]
    said = [event.delta for event in got if event.type == "response.output_audio_transcript.delta"]
    return (
        {len(base64.b64decode(each)) for each in audio} == {9600},
        "".join(said),
        refused.error.event_id,
        refused.error.code,
    )


@case
def responses_stream_cut() -> Any:
    return _raises(lambda: list(respond(client(fault="cut; after=2"), stream=True)))


if __name__ == "__main__":
    for name in sys.argv[2:] or CASES:
        print(json.dumps([name, *_raises(CASES[name])], default=str), flush=True)
