"""The table of conversations: those of the other wires that chat completions can express, each as a
caller would build it.

`test_requests` has a snapshot of the request of each, for OpenAI and for three dialects. `NOT_HERE`
lists the conversations that chat completions cannot express.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wire.openai import (
    AllowedTools,
    ChatCompletion,
    ChatCompletionRequest,
    Choice,
    ContentPart,
    Dialect,
    FunctionCall,
    FunctionDefinition,
    ImageUrl,
    JsonSchema,
    Message,
    NamedFunction,
    ResponseFormat,
    Tool,
    ToolCall,
    ToolChoice,
    messages,
    tool_message,
)
from wire.openai.chat.fold import fold
from wire.openai.chat.reader import ChunkReader, parse_completion

Conversation = Callable[[Dialect], ChatCompletionRequest]

# Ids in the forms of several hosts: OpenAI's, one too long for OpenAI, Kimi's, Mistral's.
ID, LONG, KIMI, NINE = (
    "call_4KPTn0VsnQ5cRJ",
    "call_" + "0123456789abcdef" * 3,
    "functions.tide:0",
    "gSIMJiOkT",
)


def said(text: str | None = None, *calls: ToolCall, **fields: Any) -> Message:
    return Message(role="assistant", content=text, tool_calls=list(calls) or None, **fields)


def call(name: str, /, id: str | None = ID, **arguments: Any) -> ToolCall:
    body = "{" + ",".join(f'"{key}":"{value}"' for key, value in arguments.items()) + "}"
    return ToolCall(id=id, type="function", function=FunctionCall(name=name, arguments=body))


def ask(
    dialect: Dialect, *turns: Any, system: str | None = None, **fields: Any
) -> ChatCompletionRequest:
    return ChatCompletionRequest(
        model="m", messages=messages(*turns, system=system, dialect=dialect), **fields
    )


def configured(**fields: Any) -> Conversation:
    return lambda dialect: ask(dialect, "How high is the tide?", **fields)


# --- answers as they come -------------------------------------------------------------------------

# Odd spacing, an escaped letter, keys that other hosts do not know: sent back unchanged where the
# host accepts that.
RECEIVED_MESSAGE = (
    rb'{ "role" : "assistant", "content":"caf\u00e9",  "refusal":null, "annotations":[], '
    rb'"mood" : {"b":1.0}, '
    rb'"tool_calls":[{"id":"call_4KPTn0VsnQ5cRJ","type":"function","shore":true,'
    rb'"function":{"name":"tide","arguments":"{ \"port\" : \"Brest\" }"}}] }'
)
RECEIVED = (
    b'{"id":"c","choices":[{"index":0,"message":'
    + RECEIVED_MESSAGE
    + b',"finish_reason":"tool_calls"}],"model":"m-1"}'
)

_CHUNKS = (
    '{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"Let me "}}]}',  # noqa: E501
    '{"choices":[{"index":0,"delta":{"reasoning_content":"see."}}]}',
    '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_4KPTn0VsnQ5cRJ",'
    '"type":"function","function":{"name":"tide","arguments":""}}]}}]}',
    '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,'
    '"function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}',
    "[DONE]",
)
RECEIVED_STREAM = "".join(f"data: {chunk}\n\n" for chunk in _CHUNKS).encode()


def received(body: bytes) -> ChatCompletion:
    return parse_completion(body)


def answered(dialect: Dialect, answer: ChatCompletion) -> ChatCompletionRequest:
    """A question, the received response with calls, and their results."""
    return ask(
        dialect,
        "How high is the tide?",
        answer,
        [tool_message(each, {"metres": 2}) for each in answer.tool_calls],
    )


def streamed() -> ChatCompletion:
    reader = ChunkReader()
    return fold([*reader.feed(RECEIVED_STREAM), *reader.close()])


def message(body: str) -> ChatCompletion:
    return parse_completion(
        b'{"choices":[{"index":0,"message":' + body.encode() + b',"finish_reason":"stop"}]}'
    )


_CALL = (
    '"tool_calls":[{"id":"call_4KPTn0VsnQ5cRJ","type":"function","function":{"name":"tide",'
    '"arguments":%s}}]'
)

# --- tools ----------------------------------------------------------------------------------------

TIDE = Tool(
    type="function",
    function=FunctionDefinition(
        name="tide",
        description="Height of the tide.",
        parameters={
            "type": "object",
            "properties": {"port": {"type": "string"}, "day": {"type": ["string", "null"]}},
            "required": ["port", "day"],
            "additionalProperties": False,
        },
        strict=True,
    ),
)
# Names of properties are data: the schema must be sent unchanged.
STRICT_NAMES = Tool(
    type="function",
    function=FunctionDefinition(
        name="set_rules",
        parameters={
            "type": "object",
            "properties": {
                "strict": {"type": "boolean"},
                "additionalProperties": {"type": "object", "additionalProperties": False},
            },
            "required": ["strict"],
        },
    ),
)
PORT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "depth": {"type": "number"}},
    "required": ["name", "depth"],
    "additionalProperties": False,
}
PNG = ContentPart(type="image_url", image_url=ImageUrl(url="data:image/png;base64,iVBORw0KGgo="))
WEATHER, TIDES, MOON = (
    call(name, f"call_{name}", port="Brest") for name in ("weather", "tide", "moon")
)
SAIL = said(None, WEATHER, TIDES, MOON)


def text(words: str) -> ContentPart:
    return ContentPart(type="text", text=words)


def single(
    dialect: Dialect, answer: Message | None = None, *, id: str | None = ID
) -> ChatCompletionRequest:
    made = call("tide", id, port="Brest")
    return ask(
        dialect,
        "How high is the tide?",
        said(None, made),
        answer or tool_message(made, {"metres": 2}),
    )


CONVERSATIONS: dict[str, Conversation] = {
    # turns of text
    "plain": lambda dialect: ask(dialect, "Hi"),
    "unicode": lambda dialect: ask(dialect, 'Größe 🌊 \u2028 "quoted" \\ \n\t\x00'),
    "system-instruction": lambda dialect: ask(dialect, "Hi", system="Be brief."),
    "system-instruction-empty-text": lambda dialect: ask(dialect, "Hi", system=""),
    "texts-in-a-row-stay": lambda dialect: ask(
        dialect, "Hi", "and hello", said("Yes?"), "One.", ["Two.", "Three."]
    ),
    "role-is-added": lambda dialect: ask(dialect, "Hi", message('{"content":"Hello."}'), "Bye"),
    # calls
    "single-call": single,
    "call-with-an-id-too-long": lambda dialect: single(dialect, id=LONG),
    "call-with-kimis-id": lambda dialect: single(dialect, id=KIMI),
    "call-with-nine-letters": lambda dialect: single(dialect, id=NINE),
    "call-without-an-id": lambda dialect: single(dialect, id=None),
    "parallel-calls-answered-in-wrong-order-and-apart": lambda dialect: ask(
        dialect,
        "Sail?",
        SAIL,
        tool_message(MOON, "full"),
        [tool_message(WEATHER, {"wind": 4})],
        tool_message(TIDES, 2.5),
    ),
    "parallel-calls-of-one-name-with-ids": lambda dialect: ask(
        dialect,
        "Sail?",
        said(None, call("tide", "x1", port="Brest"), call("tide", "x2", port="Dover")),
        Message(role="tool", tool_call_id="x2", content="3"),
        Message(role="tool", tool_call_id="x1", content="2"),
    ),
    "sequential-calls": lambda dialect: ask(
        dialect,
        "Sail?",
        said(None, WEATHER),
        tool_message(WEATHER, {"wind": 4}),
        said(None, TIDES),
        tool_message(TIDES, {"metres": 2}),
    ),
    "text-and-call-in-one-turn": lambda dialect: ask(
        dialect, "Sail?", said("Let me see.", TIDES), tool_message(TIDES, {"m": 2})
    ),
    "unanswered-call-then-text": lambda dialect: ask(
        dialect, "Sail?", said(None, TIDES), "Never mind."
    ),
    "one-of-two-answered-then-text": lambda dialect: ask(
        dialect, "Sail?", said(None, WEATHER, TIDES), tool_message(TIDES, {"metres": 2}), "So?"
    ),
    "orphan-result": lambda dialect: ask(
        dialect,
        "Sail?",
        said("Where?"),
        Message(role="tool", tool_call_id="gone", content='{"metres":2}'),
        "Brest.",
    ),
    "text-after-results-stays-apart": lambda dialect: ask(
        dialect, "Sail?", said(None, TIDES), [tool_message(TIDES, {"metres": 2}), "Is that low?"]
    ),
    "assistant-that-said-nothing": lambda dialect: ask(
        dialect, "Hi", message('{"role":"assistant","content":""}'), "Hello?"
    ),
    # answers as received
    "received": lambda dialect: answered(dialect, received(RECEIVED)),
    "received-stream": lambda dialect: answered(dialect, streamed()),
    "received-choice": lambda dialect: ask(
        dialect, "Hi", Choice(message=Message(content="Yo")), "Bye"
    ),
    "received-refusal": lambda dialect: ask(
        dialect, "Hi", message('{"role":"assistant","content":null,"refusal":"No."}'), "Bye"
    ),
    "received-audio": lambda dialect: ask(
        dialect,
        "Hi",
        message(
            '{"role":"assistant","content":null,"audio":{"id":"audio_1","data":"AAAA",'
            '"transcript":"Ahoy"}}'
        ),
        "Bye",
    ),
    "received-arguments-cut": lambda dialect: answered(
        dialect, message('{"role":"assistant",' + _CALL % r'"{\"port\":\"Br"' + "}")
    ),
    "received-arguments-empty": lambda dialect: answered(
        dialect, message('{"role":"assistant",' + _CALL % '""' + "}")
    ),
    "received-arguments-as-object": lambda dialect: answered(
        dialect, message('{"role":"assistant",' + _CALL % '{"port":"Brest"}' + "}")
    ),
    # reasoning, in each slot
    "reasoning-content": lambda dialect: answered(
        dialect,
        message(
            '{"role":"assistant","content":"","reasoning_content":"Hm.",' + _CALL % '"{}"' + "}"
        ),
    ),
    "reasoning-under-the-other-name": lambda dialect: answered(
        dialect,
        message('{"role":"assistant","content":null,"reasoning":"Hm.",' + _CALL % '"{}"' + "}"),
    ),
    "reasoning-details-signed": lambda dialect: answered(
        dialect,
        message(
            '{"role":"assistant","content":null,"reasoning":"Hm.",'
            '"reasoning_details":[{"type":"reasoning.text","text":"Hm.",'
            '"signature":"CkkBdGlkZQ==","index":0},{"type":"reasoning.encrypted",'
            '"data":"AAAA","index":0}],' + _CALL % '"{}"' + "}"
        ),
    ),
    "reasoning-in-parts-of-the-content": lambda dialect: ask(
        dialect,
        "Hi",
        message(
            '{"role":"assistant","content":[{"type":"thinking",'
            '"thinking":[{"type":"text","text":"Hm."}],"closed":true},'
            '{"type":"text","text":"Hello."}]}'
        ),
        "Bye",
    ),
    "reasoning-in-tags": lambda dialect: ask(
        dialect, "Hi", message('{"role":"assistant","content":"<think>Hm.</think>Hello."}'), "Bye"
    ),
    "signature-on-a-call": lambda dialect: answered(
        dialect,
        message(
            '{"role":"assistant",'
            + (_CALL % '"{}"').replace(
                "}]", ',"extra_content":{"google":{"thought_signature":"c2ln"}}}]'
            )
            + "}"
        ),
    ),
    # results
    "result-string": lambda dialect: single(dialect, tool_message(call("tide"), "2 m")),
    "result-list": lambda dialect: single(dialect, tool_message(call("tide"), [1, "two", None])),
    "result-none": lambda dialect: single(dialect, tool_message(call("tide"))),
    "result-error": lambda dialect: single(
        dialect, tool_message(call("tide"), error="no such port")
    ),
    "result-unicode": lambda dialect: single(
        dialect, tool_message(call("tide"), {"sky": "hellgrün"})
    ),
    # media
    "image-inline": lambda dialect: ask(
        dialect, Message(role="user", content=[PNG, text("What is this?")])
    ),
    "image-by-uri": lambda dialect: ask(
        dialect,
        Message(
            role="user",
            content=[
                ContentPart(type="image_url", image_url=ImageUrl(url="https://example.com/a.png")),
                text("What is this?"),
            ],
        ),
    ),
    "image-after-result": lambda dialect: ask(
        dialect,
        "Look.",
        said(None, call("camera")),
        tool_message(call("camera"), {"ok": True}),
        Message(role="user", content=[PNG]),
    ),
    # tools
    "tools": configured(tools=[TIDE, STRICT_NAMES]),
    "tool-without-parameters": configured(
        tools=[Tool(type="function", function=FunctionDefinition(name="now"))]
    ),
    "tool-choice-required": configured(tools=[TIDE], tool_choice="required"),
    "tool-choice-named": configured(
        tools=[TIDE], tool_choice=ToolChoice(type="function", function=NamedFunction(name="tide"))
    ),
    "tool-choice-allowed": configured(
        tools=[TIDE, STRICT_NAMES],
        tool_choice=ToolChoice(
            type="allowed_tools",
            allowed_tools=AllowedTools(
                mode="auto", tools=[{"type": "function", "function": {"name": "tide"}}]
            ),
        ),
    ),
    "one-call-at-a-time": configured(tools=[TIDE], parallel_tool_calls=False),
    # generation
    "response-schema": configured(
        response_format=ResponseFormat(
            type="json_schema", json_schema=JsonSchema(name="port", schema=PORT, strict=True)
        )
    ),
    "response-json": configured(response_format=ResponseFormat(type="json_object")),
    "reasoning-effort": configured(reasoning_effort="high"),
    "zeros": configured(
        temperature=0.5,
        seed=0,
        top_p=0,
        max_completion_tokens=256,
        stop=["END", ""],
        n=1,
        logit_bias={},
    ),
}
"""Name -> the request in a dialect, built anew at each call."""

NOT_HERE = {
    "texts-in-a-row-are-merged": "roles may repeat here",
    "single-call-signed": "calls have no signatures of their own",
    "call-with-id": "every call has one",
    "server-run-mcp-call": "what the host runs is no message",
    **dict.fromkeys(
        (
            "signature-on-text",
            "signature-on-thought",
            "signature-on-empty-text",
            "signature-alone",
            "signature-on-later-call-stays",
            "unsigned-call-gets-placeholder",
            "unsigned-parallel-calls-get-one-placeholder",
            "unsigned-call-of-earlier-turn-is-signed",
            "user-signature-is-dropped",
        ),
        "signatures stand in reasoning_details and extra_content",
    ),
    "received-candidate-without-role": "received-choice",
    **dict.fromkeys(
        (
            "result-with-ref",
            "result-by-hand-is-no-object",
            "result-by-hand-with-ref",
            "result-by-hand-without-name",
        ),
        "a result is a text",
    ),
    "tool-config-any": "tool-choice-required",
    "search-beside-functions": "no tool of the host's own",
    "response-schema-native": "one dialect of schemas",
    "response-json-schema": "response-schema",
    "thinking-level": "reasoning-effort",
    "thinking-budget-zero": "no budget",
    "safety": "no such settings",
    "cached-content": "the cache is the host's own affair",
}
"""Conversations of Gemini's table that are not here, and why, or what they are called."""
