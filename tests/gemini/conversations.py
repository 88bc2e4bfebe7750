"""A table of conversations, each built as a caller would build it. `test_requests` snapshots the
body of each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wire import gemini
from wire.gemini import (
    Blob,
    Candidate,
    Content,
    FileData,
    FunctionCall,
    FunctionCallingConfig,
    FunctionResponse,
    GenerateContentRequest,
    GenerationConfig,
    GoogleSearch,
    Part,
    SafetySetting,
    Schema,
    ThinkingConfig,
    Tool,
    ToolConfig,
    contents,
    function_response,
)
from wire.gemini.fold import fold
from wire.gemini.reader import ChunkReader, parse_response

# An invented signature in the alphabet of real ones (standard base64).
SIGNATURE, SECOND, THIRD = (
    "CkkBdGlkZXBvb2wvc2lnbmVk+A==",
    "EpQCc2Vjb25kLXN0ZXA/+Q==",
    "EtsDdGhpcmQtc2lnbmF0dXJl",
)


def model(*parts: Part) -> Content:
    return Content(role="model", parts=list(parts))


def call(name: str, /, signature: str | None = None, id: str | None = None, **args: Any) -> Part:
    return Part(
        function_call=FunctionCall(name=name, args=args, id=id), thought_signature=signature
    )


def result(name: str, body: Any, id: str | None = None) -> Part:
    """A result that a caller built by hand, with a response of any type."""
    return Part(function_response=FunctionResponse(name=name, id=id, response=body))


def ask(*turns: Any, **fields: Any) -> GenerateContentRequest:
    return GenerateContentRequest(contents=contents(*turns), **fields)


def configured(**fields: Any) -> GenerateContentRequest:
    return ask("How high is the tide?", generation_config=GenerationConfig(**fields))


def with_tools(*definitions: Any, **fields: Any) -> GenerateContentRequest:
    return ask("How high is the tide?", tools=gemini.tools(*definitions), **fields)


# --- received responses ---------------------------------------------------------------------------

# Unusual spacing, an escaped letter, an unknown key, a number that a float would change: all of it
# is sent back unchanged.
RECEIVED_CONTENT = (
    rb'{ "parts" : [ {"text":"caf\u00e9",  "mood" : {"b":1.0,"a":[ ]}}, '
    rb'{"functionCall":{"args":{"n":1e2 , "big": 12345678901234567890},"name":"tide"},'
    rb'"thoughtSignature":"CkkBdGlkZQ=="} ],'
    rb' "role":"model", "shore" : null }'
)
RECEIVED = (
    b'{"candidates":[{"finishReason":"STOP","content":'
    + RECEIVED_CONTENT
    + b'}],"modelVersion":"gemini-3-pro-preview"}'
)

RECEIVED_STREAM = (
    b'data: {"candidates": [{"content": {"parts": [{"text": "Let me","thought": true}],'
    b'"role": "model"}}]}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "tide",'
    b'"args": {}},"thoughtSignature": "CkkBdGlkZQ=="}],'
    b'"role": "model"}}]}\r\n\r\n'
    b'data: {"candidates": [{"content": {"parts": [{"text": ""}],"role": "model"},'
    b'"finishReason": "STOP"}]}\r\n\r\n'
)


def received() -> GenerateContentRequest:
    answer = parse_response(RECEIVED)
    return ask(
        "How high is the tide?", answer, function_response(answer.function_calls[0], {"metres": 2})
    )


def received_stream() -> GenerateContentRequest:
    reader = ChunkReader()
    answer = fold([*reader.feed(RECEIVED_STREAM), *reader.close()])
    return ask(
        "How high is the tide?", answer, function_response(answer.function_calls[0], {"metres": 2})
    )


# --- tools and schemas ----------------------------------------------------------------------------

TIDE = {
    "type": "function",
    "function": {
        "name": "tide",
        "description": "Height of the tide.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"port": {"type": "string"}, "day": {"type": ["string", "null"]}},
            "required": ["port"],
            "additionalProperties": False,
        },
    },
}
# Names of properties are data, never keywords (S2-03, G46).
STRICT_NAMES = {
    "name": "set_rules",
    "parameters": {
        "type": "object",
        "properties": {
            "strict": {"type": "boolean"},
            "additionalProperties": {
                "type": "object",
                "properties": {"strict": {"type": "string"}},
                "additionalProperties": False,
            },
        },
        "required": ["strict", "additionalProperties"],
        "additionalProperties": False,
    },
}
PORT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "depth": {"type": "number"}},
    "required": ["name"],
}

PNG = "iVBORw0KGgo="
WEATHER, TIDES, MOON = (
    FunctionCall(name=name, args={"port": "Brest"}) for name in ("weather", "tide", "moon")
)
PARALLEL = model(
    Part(function_call=WEATHER, thought_signature=SIGNATURE),
    Part(function_call=TIDES),
    Part(function_call=MOON),
)


def single(
    answer: Part | None = None, *, signature: str | None = SIGNATURE, id: str | None = None
) -> GenerateContentRequest:
    """A question, one call, and its result."""
    made = call("tide", signature, id, port="Brest")
    assert made.function_call is not None
    return ask(
        "How high is the tide?",
        model(made),
        answer or function_response(made.function_call, {"metres": 2}),
    )


CONVERSATIONS: dict[str, Callable[[], GenerateContentRequest]] = {
    # turns of text
    "plain": lambda: ask("Hi"),
    "unicode": lambda: ask('Größe 🌊 \u2028 "quoted" \\ \n\t\x00'),
    "system-instruction": lambda: ask(
        "Hi", system_instruction=Content(parts=[Part(text="Be brief.")])
    ),
    "system-instruction-empty-text": lambda: ask(
        "Hi", system_instruction=Content(parts=[Part(text="")])
    ),
    "texts-in-a-row-are-merged": lambda: ask(
        "Hi", "and hello", model(Part(text="Yes?")), "One.", ["Two.", "Three."]
    ),
    "role-is-added": lambda: ask(Content(parts=[Part(text="Hi")])),
    # calls
    "single-call-signed": single,
    "call-with-id": lambda: single(id="a1b2"),
    "parallel-calls-answered-in-wrong-order-and-apart": lambda: ask(
        "Sail?",
        PARALLEL,
        function_response(MOON, "full"),
        [function_response(WEATHER, {"wind": 4})],
        Content(role="user", parts=[function_response(TIDES, 2.5)]),
    ),
    "parallel-calls-of-one-name-with-ids": lambda: ask(
        "Sail?",
        model(call("tide", SIGNATURE, "x1", port="Brest"), call("tide", None, "x2", port="Dover")),
        result("tide", {"metres": 3}, "x2"),
        result("tide", {"metres": 2}, "x1"),
    ),
    "sequential-calls": lambda: ask(
        "Sail?",
        model(call("weather", SIGNATURE)),
        result("weather", {"wind": 4}),
        model(call("tide", SECOND)),
        result("tide", {"metres": 2}),
    ),
    "text-and-call-in-one-turn": lambda: ask(
        "Sail?", model(Part(text="Let me see."), call("tide", SIGNATURE)), result("tide", {"m": 2})
    ),
    "unanswered-call-then-text": lambda: ask(
        "Sail?", model(call("tide", SIGNATURE)), "Never mind."
    ),
    "one-of-two-answered-then-text": lambda: ask(
        "Sail?",
        model(call("weather", SIGNATURE), call("tide")),
        result("tide", {"metres": 2}),
        "So?",
    ),
    "orphan-result": lambda: ask(
        "Sail?", model(Part(text="Where?")), result("tide", {"metres": 2}, "gone"), "Brest."
    ),
    "text-after-results-stays-apart": lambda: ask(
        "Sail?", model(call("tide", SIGNATURE)), [result("tide", {"metres": 2}), "Is that low?"]
    ),
    "server-run-mcp-call": lambda: ask(
        "Sail?", model(call("tide"), result("tide", {"m": 2}), Part(text="2 m.")), "Thanks."
    ),
    # signatures
    "signature-on-text": lambda: ask(
        "Hi", model(Part(text="Hello."), Part(text="Well?", thought_signature=SIGNATURE)), "Bye"
    ),
    "signature-on-thought": lambda: ask(
        "Hi",
        model(Part(text="Hm", thought=True, thought_signature=SIGNATURE), Part(text="Yo")),
        "Bye",
    ),
    "signature-on-empty-text": lambda: ask(
        "Hi", model(Part(text="Hello."), Part(text="", thought_signature=SIGNATURE)), "Bye"
    ),
    "signature-alone": lambda: ask(
        "Hi", model(Part(text="Hello."), Part(thought_signature=SIGNATURE)), "Bye"
    ),
    "signature-on-later-call-stays": lambda: ask(
        "Sail?",
        model(call("weather", SIGNATURE), call("tide", SECOND)),
        result("weather", {}),
        result("tide", {}),
    ),
    "unsigned-call-gets-placeholder": lambda: single(signature=None),
    "unsigned-parallel-calls-get-one-placeholder": lambda: ask(
        "Sail?", model(call("weather"), call("tide")), result("weather", {}), result("tide", {})
    ),
    "unsigned-call-of-earlier-turn-is-signed": lambda: ask(
        "Sail?", model(call("tide")), result("tide", {}), model(Part(text="Yes.")), "When?"
    ),
    "user-signature-is-dropped": lambda: ask(Part(text="Hi", thought_signature=SIGNATURE)),
    # answers as received
    "received": received,
    "received-stream": received_stream,
    "received-candidate-without-role": lambda: ask(
        "Hi", Candidate(content=Content(parts=[Part(text="Yo")])), "Bye"
    ),
    # results
    "result-string": lambda: single(function_response(TIDES, "2 m")),
    "result-list": lambda: single(function_response(TIDES, [1, "two", None])),
    "result-none": lambda: single(function_response(TIDES)),
    "result-error": lambda: single(function_response(TIDES, error="no such port")),
    "result-with-ref": lambda: single(
        function_response(TIDES, {"schema": [{"$ref": "#/$defs/Port"}]})
    ),
    "result-by-hand-is-no-object": lambda: single(result("tide", ["2 m"])),
    "result-by-hand-with-ref": lambda: single(result("tide", {"$ref": "#/x"})),
    "result-by-hand-without-name": lambda: single(
        Part(function_response=FunctionResponse(response={"m": 2})), id="a1b2"
    ),
    # media
    "image-inline": lambda: ask(
        [Part(inline_data=Blob(mime_type="image/png", data=PNG)), "What is this?"]
    ),
    "image-by-uri": lambda: ask(
        Part(
            file_data=FileData(
                file_uri="https://generativelanguage.googleapis.com/v1beta/files/abc",
                mime_type="image/png",
            )
        ),
        "What?",
    ),
    "image-after-result": lambda: ask(
        "Look.",
        model(call("camera", SIGNATURE)),
        result("camera", {"ok": True}),
        Part(inline_data=Blob(mime_type="image/png", data=PNG)),
    ),
    # tools
    "tools": lambda: with_tools(TIDE, STRICT_NAMES),
    "tool-without-parameters": lambda: with_tools(
        {"name": "now", "parameters": {"type": "object", "properties": {}}}, {"name": "today"}
    ),
    "tool-config-any": lambda: with_tools(
        TIDE,
        tool_config=ToolConfig(
            function_calling_config=FunctionCallingConfig(
                mode="ANY", allowed_function_names=["tide"]
            )
        ),
    ),
    "search-beside-functions": lambda: with_tools(
        Tool(google_search=GoogleSearch()),
        TIDE,
        tool_config=ToolConfig(include_server_side_tool_invocations=True),
    ),
    # generation
    "response-schema": lambda: configured(
        response_mime_type="application/json", response_schema=gemini.schema(PORT)
    ),
    "response-schema-native": lambda: configured(
        response_mime_type="text/x.enum",
        response_schema=Schema(type="STRING", enum=["low", "high"]),
    ),
    "response-json-schema": lambda: configured(
        response_mime_type="application/json",
        response_json_schema={**PORT, "additionalProperties": False},
    ),
    "thinking-level": lambda: configured(
        thinking_config=ThinkingConfig(thinking_level="LOW", include_thoughts=True)
    ),
    "thinking-budget-zero": lambda: configured(thinking_config=ThinkingConfig(thinking_budget=0)),
    "zeros": lambda: configured(
        temperature=0.0, seed=0, top_k=0, max_output_tokens=256, stop_sequences=["END", ""]
    ),
    "safety": lambda: ask(
        "Hi",
        safety_settings=[
            SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_ONLY_HIGH")
        ],
    ),
    "cached-content": lambda: ask("Hi", cached_content="cachedContents/tides"),
}
"""Name -> a function that builds the request."""
