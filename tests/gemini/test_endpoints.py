"""Calls as values: paths, queries, bodies and parsers; names of models; requests that JSON or the
types do not allow.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.joined import joined
from wire.errors import (
    ConfigurationError,
    LimitError,
    NotFoundError,
    RuleError,
    ServerError,
    StreamInvalid,
)
from wire.gemini import (
    Content,
    CountTokensRequest,
    CountTokensResponse,
    FunctionCall,
    FunctionDeclaration,
    FunctionResponse,
    GenerateContentRequest,
    GenerationConfig,
    ModalityTokenCount,
    Part,
    Schema,
    ThinkingConfig,
    Tool,
    contents,
    count_tokens,
    generate_content,
    stream_generate_content,
)
from wire.gemini.error_body import parse_error
from wire.gemini.fold import fold
from wire.gemini.reader import ChunkReader, parse_response

from .conversations import CONVERSATIONS, ask

MODEL = "gemini-3-pro-preview"
HI = ask("Hi")
HI_BODY = b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}]}'
JSON = {"content-type": "application/json"}

# --- paths ----------------------------------------------------------------------------------------


@joined(
    ("model", "path"),
    [
        ("gemini-2.0-flash", "/models/gemini-2.0-flash"),
        ("models/gemini-2.0-flash", "/models/gemini-2.0-flash"),  # S2-19: the prefix is optional
        ("never-heard-of", "/models/never-heard-of"),
        ("tunedModels/mine-1a", "/tunedModels/mine-1a"),
        (
            "publishers/google/models/gemini-2.5-pro@001",
            "/publishers/google/models/gemini-2.5-pro@001",
        ),
        ("projects/p-1/locations/eu/endpoints/123", "/projects/p-1/locations/eu/endpoints/123"),
    ],
)
def test_path(model, path):
    plain, stream, count = (
        endpoint(model, HI)
        for endpoint in (generate_content, stream_generate_content, count_tokens)
    )
    assert [call.target for call in (plain, stream, count)] == [
        f"{path}:generateContent",
        f"{path}:streamGenerateContent?alt=sse",
        f"{path}:countTokens",
    ]
    assert [(call.wire, call.method, dict(call.headers)) for call in (plain, stream, count)] == [
        ("gemini", "POST", JSON)
    ] * 3
    assert json.loads(count.body)["generateContentRequest"]["model"] == path[1:]


@joined(
    "model",
    ["", " ", "\n", None, 3, b"gemini", "models/", "/gemini", "models//x", "models/../files/x", "..", "models/.", "a b", "a?b", "a#b",  # noqa: E501
     "a:b", "gemini\n", "gemini\r\nx: y", "gemini-é", "a%2Fb", "models/x:generateContent", "https://example.com/x", "a\\b", "a\0b"],  # noqa: E501
)  # fmt: skip
@joined("endpoint", [generate_content, stream_generate_content, count_tokens])
def test_bad_model(endpoint, model):
    """G81: a malformed name is refused, and no name changes the path."""
    with pytest.raises(ConfigurationError, match=r"^model: "):
        endpoint(model, HI)


# --- generate -------------------------------------------------------------------------------------


def test_generate_content():
    call = generate_content(MODEL, HI)
    assert (call.body, dict(call.query), call.parse, call.read_error) == (
        HI_BODY,
        {},
        parse_response,
        parse_error,
    )


def test_stream_generate_content():
    call = stream_generate_content(MODEL, HI)
    assert (call.body, dict(call.query), call.reader, call.fold, call.read_error) == (
        HI_BODY,
        {"alt": "sse"},
        ChunkReader,
        fold,
        parse_error,
    )


def test_the_model_is_in_the_path_and_not_in_the_body():
    assert "model" not in json.loads(generate_content(MODEL, HI).body)


def user(*parts: Any) -> GenerateContentRequest:
    return GenerateContentRequest(
        contents=[
            Content(role="user", parts=[Part(text="Hi")]),
            Content(role="user", parts=list(parts)),
        ]
    )


def configured(**fields: Any) -> GenerateContentRequest:
    return GenerateContentRequest(
        contents=[Content(role="user", parts=[Part(text="Hi")])],
        generation_config=GenerationConfig(**fields),
    )


RECEIVED = (
    parse_response(b'{"candidates":[{"content":{"role":"model","parts":[{"text":"Yo"}]}}]}')
    .candidates[0]
    .content
)
HELLO = Content(role="user", parts=[Part(text="Hi")])
CYCLE: dict[str, Any] = {}
CYCLE["a"] = CYCLE

BAD_REQUESTS = {
    # what the types do not allow, which structs do not check when they are built
    "part-text": (user(Part(text=5)), "contents[1].parts[0].text"),
    "part-type": (user("Hi"), "contents[1].parts[0]"),
    "role": (
        GenerateContentRequest(contents=[Content(role=1, parts=[Part(text="Hi")])]),
        "contents[0].role",
    ),
    "content-type": (GenerateContentRequest(contents=["Hi"]), "contents[0]"),
    "contents-type": (GenerateContentRequest(contents="Hi"), "contents"),
    "contents-one": (GenerateContentRequest(contents=HELLO), "contents"),
    "temperature": (configured(temperature="hot"), "generationConfig.temperature"),
    "stop": (configured(stop_sequences="END"), "generationConfig.stopSequences"),
    "budget": (
        configured(thinking_config=ThinkingConfig(thinking_budget="0")),
        "generationConfig.thinkingConfig.thinkingBudget",
    ),
    "args": (
        user(Part(function_call=FunctionCall(name="f", args=[1]))),
        "contents[1].parts[0].functionCall.args",
    ),
    "result": (
        user(Part(function_response=FunctionResponse(name="f", response="2"))),
        "contents[1].parts[0].functionResponse.response",
    ),  # G20
    "schema": (
        configured(response_schema=Schema(type="OBJECT", properties={"a": "STRING"})),
        "generationConfig.responseSchema.properties[...]",
    ),
    "schema-type-list": (
        configured(response_schema=Schema(type=["STRING", "NULL"])),
        "generationConfig.responseSchema.type",
    ),  # G39
    "enum-of-numbers": (
        configured(response_schema=Schema(type="STRING", enum=[1])),
        "generationConfig.responseSchema.enum[0]",
    ),  # G41
    "declaration": (
        GenerateContentRequest(
            contents=[HELLO], tools=[Tool(function_declarations=[FunctionDeclaration(name=3)])]
        ),
        "tools[0].functionDeclarations[0].name",
    ),
    # received turns before it do not shift the path
    "after-received": (
        GenerateContentRequest(
            contents=[HELLO, RECEIVED, Content(role="user", parts=[Part(text=5)])]
        ),
        "contents[2].parts[0].text",
    ),
    # what JSON cannot say
    "inside-any": (
        configured(response_json_schema={"a": object()}),
        "generationConfig.responseJsonSchema.a",
    ),
    "set": (
        user(Part(text="a"), Part(part_metadata={"x": [1, {2, object()}]})),
        "contents[1].parts[1].partMetadata.x[1]",
    ),
    "object": (
        user(Part(function_call=FunctionCall(name="f", args={"when": object()}))),
        "contents[1].parts[0].functionCall.args.when",
    ),
    "half-of-a-letter": (user(Part(text="\ud83c")), "contents[1].parts[0].text"),
}


@joined("name", BAD_REQUESTS)
@joined("endpoint", [generate_content, stream_generate_content])
def test_bad_request_names_the_path(endpoint, name):
    request, path = BAD_REQUESTS[name]
    with pytest.raises(RuleError) as caught:
        endpoint(MODEL, request)
    assert [violation.path for violation in caught.value.violations] == [path]
    assert caught.value.message.startswith(f"{path}: ")


def test_a_cycle_is_refused():
    with pytest.raises(RuleError):
        generate_content(MODEL, user(Part(part_metadata=CYCLE)))


@joined(
    "request_", [None, {"contents": []}, "Hi", [HELLO], HELLO, CountTokensRequest(contents=[HELLO])]
)
@joined("endpoint", [generate_content, stream_generate_content])
def test_what_is_no_request(endpoint, request_):
    with pytest.raises(RuleError, match=r"expected a .*GenerateContentRequest"):
        endpoint(MODEL, request_)


def test_plain_dicts_are_read_by_their_types():
    call = generate_content(
        MODEL, GenerateContentRequest(contents=[{"role": "user", "parts": [{"text": "Hi"}]}])
    )
    assert call.body == b'{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}'
    with pytest.raises(RuleError) as caught:
        generate_content(
            MODEL, GenerateContentRequest(contents=[{"role": "user", "parts": [{"text": 5}]}])
        )
    assert caught.value.violations[0].path == "contents[0].parts[0].text"


# --- count tokens ---------------------------------------------------------------------------------

FULL = CONVERSATIONS["tool-config-any"]()


@joined(
    ("request_", "body"),
    [
        (contents("Hi"), HI_BODY),
        (tuple(contents("Hi")), HI_BODY),
        (CountTokensRequest(contents=contents("Hi")), HI_BODY),
        (
            HI,
            b'{"generateContentRequest":'
            + HI_BODY[:-1]
            + b',"model":"models/gemini-3-pro-preview"}}',
        ),
        (
            ask("Hi", model="models/other", system_instruction=HELLO),
            b'{"generateContentRequest":'
            + HI_BODY[:-1]
            + b',"systemInstruction":{"parts":[{"text":"Hi"}],"role":"user"},'
            b'"model":"models/gemini-3-pro-preview"}}',
        ),
        (
            [HELLO, RECEIVED],
            b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"},{"role":"model",'
            b'"parts":[{"text":"Yo"}]}]}',
        ),
    ],
    ids=["contents", "tuple", "as-it-is", "request", "request-with-model", "received"],
)
def test_count_tokens_takes(request_, body):
    assert count_tokens(MODEL, request_).body == body


def test_count_tokens_counts_tools_too():
    body = json.loads(count_tokens(MODEL, FULL).body)["generateContentRequest"]
    assert body == {**json.loads(generate_content(MODEL, FULL).body), "model": f"models/{MODEL}"}


@joined(
    ("request_", "path"),
    [
        ("Hi", "request"),
        (None, "request"),
        (HELLO, "request"),
        ([Content(parts=[Part(text=5)])], "contents[0].parts[0].text"),
        (configured(temperature="hot"), "generateContentRequest.generationConfig.temperature"),
        (user(Part(text=object())), "generateContentRequest.contents[1].parts[0].text"),
    ],
)
def test_count_tokens_refuses(request_, path):
    with pytest.raises(RuleError) as caught:
        count_tokens(MODEL, request_)
    assert [violation.path for violation in caught.value.violations] == [path]


def test_count_tokens_answer():
    body = (
        b'{"totalTokens":31,"promptTokensDetails":[{"modality":"TEXT","tokenCount":31}],'
        b'"novelty":1}\n'
    )
    answer = count_tokens(MODEL, HI).parse(body)
    assert answer == CountTokensResponse(
        total_tokens=31, prompt_tokens_details=[ModalityTokenCount(modality="TEXT", token_count=31)]
    )
    assert answer.raw == body


@joined(
    ("body", "cls", "message"),
    [
        (b"", StreamInvalid, "not a CountTokensResponse"),
        (b"<html>", StreamInvalid, "<html>"),
        (b"[]", StreamInvalid, "not a CountTokensResponse"),
        (b'{"totalTokens":"many"}', StreamInvalid, "totalTokens"),
        (b'{"totalTokens":' + b"[" * 100_000, LimitError, "nested too deeply"),
        (b'{"error":{"code":404,"message":"Gone.","status":"NOT_FOUND"}}', NotFoundError, "Gone."),
        (b'{"error":"gone"}', ServerError, "gone"),
    ],
    ids=["empty", "html", "list", "type", "deep", "error", "error-as-text"],
)
def test_no_token_count(body, cls, message):
    with pytest.raises(cls) as caught:
        count_tokens(MODEL, HI).parse(body)
    assert message in caught.value.message
    assert caught.value.raw == body


# --- nothing is changed ---------------------------------------------------------------------------


@joined("name", CONVERSATIONS)
def test_the_request_is_not_changed(name):
    for endpoint in (generate_content, stream_generate_content, count_tokens):
        request = CONVERSATIONS[name]()
        before = copy.deepcopy(request)
        first, second = endpoint(MODEL, request), endpoint(MODEL, request)
        assert (first.body, request) == (second.body, before), endpoint
