"""Limits of an emulator: requests that would cost too much, and stores that grow.

A schema or a pattern that explodes would hang the test, not fail it: hence the time-outs.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import anyio
import httpx
import pytest

from tests.joined import joined
from tests.property import sample
from tests.testing.emulator.asks import GEMINI_3, KEY, user
from tests.testing.emulator.test_model import asked
from wire import Chat
from wire.errors import ContextLengthError
from wire.neutral.request import Tool
from wire.testing.emulator import Answer, AsyncEmulatorTransport, Emulator, EmulatorLimits
from wire.testing.emulator import EmulatorTransport as Transport
from wire.testing.emulator.json_sizes import json_excess
from wire.testing.emulator.model import complete
from wire.testing.emulator.patterns import matching
from wire.testing.emulator.tokens import count
from wire.testing.emulator.values import example

GEMINI = KEY
OPENAI = {"authorization": "Bearer k"}
CLAUDE = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
VERTEX = "/v1/projects/p/locations/l/publishers/google/models/gemini-embedding-001:predict"
DOORS = [
    (f"{GEMINI_3}:generateContent", GEMINI),
    (f"{GEMINI_3}:streamGenerateContent?alt=sse", GEMINI),
    (f"{GEMINI_3}:countTokens", GEMINI),
    (f"{GEMINI_3}:batchGenerateContent", GEMINI),
    ("/v1beta/cachedContents", GEMINI),
    ("/v1beta/files", GEMINI),
    ("/v1beta/models/gemini-embedding-001:embedContent", GEMINI),
    ("/v1beta/openai/chat/completions", OPENAI),
    (VERTEX, OPENAI),
    ("/v1/chat/completions", OPENAI),
    ("/v1/embeddings", OPENAI),
    ("/v1/messages", CLAUDE),
    ("/v1/messages/count_tokens", CLAUDE),
    ("/v1/messages/batches", CLAUDE),
]
DEEP = [b"[" * 100_000, b'{"a":' * 100_000, b'{"contents":' + b"[" * 101 + b"]" * 101 + b"}"]
MANY = [
    b"[" + b"{}," * 150_000 + b"{}]",
    b'{"contents":[' + b"{}," * 100_000 + b"{}]}",
    b'{"messages":[' + b"{}," * 100_000 + b"{}]}",
]
NO_JSON = {
    "text without end": b'{"a":"' + b'\\"' * 2_000_000,
    "integer of 5,000 digits": b'{"model":%s,"contents":%s,"messages":1}' % ((b"9" * 5000,) * 2),
    "float": b'{"model":1e999999,"contents":-1e999999}',
    "NaN": b'{"model":NaN,"contents":NaN}',
    "twice": b'{"model":1,"model":2,"contents":1,"contents":2}',
    "bad UTF-8": b'{"model":"\xff\xfe","contents":"\xff"}',
    "NUL": b"\x00" * 1000,
    "NUL in a text": b'{"model":"a\x00b"}',
    "null": b"null",
    "list": b"[{}]",
}


def post(emulator: Emulator, path: str, headers: dict[str, str], body: bytes) -> Answer:
    return emulator.answer("POST", path, headers, body)


def message(answer: Answer) -> str:
    body = json.loads(answer.body)
    return str((body[0] if isinstance(body, list) else body)["error"]["message"])


@pytest.mark.sampled
@joined("door", sample(DOORS, 4), ids=lambda door: door[0])
def test_bodies_that_no_decoder_should_see(door: tuple[str, dict[str, str]]) -> None:
    """Deep and long bodies are refused before they are decoded, at every endpoint."""
    emulator = Emulator()
    for body in DEEP:
        answer = post(emulator, *door, body)
        assert (answer.status, message(answer)) == (
            400,
            "Message too deep. Max recursion depth reached: 100 levels.",
        )
    for body in MANY:
        answer = post(emulator, *door, body)
        assert (answer.status, message(answer)) == (
            400,
            "The request has more than 100000 values.",
        )
    # The list of requests does not decode them either.
    assert [each["status"] for each in emulator.requests] == [400] * 6
    assert emulator.requests[0]["body"] == DEEP[0].decode()


@pytest.mark.sampled
@joined(("door", "body"), sample(list(itertools.product(DOORS, NO_JSON.values())), 4))
def test_bodies_that_are_not_what_they_should_be(
    door: tuple[str, dict[str, str]], body: bytes
) -> None:
    # `/v1beta/files` and countTokens need none of the keys.
    assert post(Emulator(), *door, body).status in (400, 404, 200 if "iles" in door[0] else 400)


SURROGATES = {
    "contents": [{"role": "user", "parts": [{"text": "\ud800 \udfff"}]}],
    "messages": [{"role": "user", "content": "\ud800"}],
    "input": "\ud800",
}
MODELS = {
    "/v1/chat/completions": ("gpt-5.4", ("messages",)),
    "/v1beta/openai/chat/completions": ("gemini-2.5-flash", ("messages",)),
    "/v1/messages": ("claude-sonnet-4-5", ("messages",)),
    "/v1/embeddings": ("text-embedding-3-small", ("input",)),
    f"{GEMINI_3}:generateContent": (None, ("contents",)),
}


@joined("path", MODELS)
def test_half_a_surrogate_pair_is_answered(path: str) -> None:
    model, keys = MODELS[path]
    body = {key: SURROGATES[key] for key in keys} | ({"model": model} if model else {})
    body |= {"max_tokens": 50} if path == "/v1/messages" else {}
    headers = dict(DOORS)[path]
    emulator = Emulator()
    answer = post(emulator, path, headers, json.dumps(body).encode())
    assert answer.status in (200, 400)
    assert emulator.answer("GET", "/_wire/requests", {}, b"").status == 200


# --- schemas --------------------------------------------------------------------------------------


def doubling(key: str) -> dict[str, Any]:
    """2^60 values, in 61 small schemas."""
    both = [
        [{"$ref": f"#/$defs/a{index + 1}"}, {"$ref": f"#/$defs/a{index + 1}"}]
        for index in range(60)
    ]
    defs: dict[str, Any] = {f"a{index}": {key: refs} for index, refs in enumerate(both)}
    if key == "properties":
        defs = {
            f"a{index}": {"type": "object", "properties": {"x": x, "y": y}, "required": ["x", "y"]}
            for index, (x, y) in enumerate(both)
        }
    start = {"type": "object", "properties": {"r": {"$ref": "#/$defs/a0"}}, "required": ["r"]}
    return {**start, "$defs": {**defs, "a60": {"type": "string"}}}


def of(**schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"]}


SCHEMAS = {
    "anyOf": doubling("anyOf"),
    "oneOf": doubling("oneOf"),
    "allOf": doubling("allOf"),
    "properties": doubling("properties"),
    "itself": {"$ref": "#"},
    "anyOf itself": {"anyOf": [{"$ref": "#"}]},
    "allOf itself": {"allOf": [{"$ref": "#"}]},
    "required itself": of(**{"$ref": "#"}),
    "16,000 properties": {
        "type": "object",
        "properties": {f"p{index}": {"type": "string"} for index in range(16_000)},
        "required": [f"p{index}" for index in range(16_000)],
    },
    "lists": of(
        type="array", minItems=999, items=of(type="array", minItems=999, items={"type": "string"})
    ),
    "a list of 10^12": of(type="array", items={"type": "string"}, minItems=10**12),
    "a text of 10^12": of(type="string", minLength=10**12),
    "a pattern of 10^12": of(type="string", pattern="((a{9999}){9999}){9999}"),
    "a pattern that backtracks": of(type="string", pattern="(a?){40}a{40}"),
    "nested repetitions": of(type="string", pattern="(a+)+$"),
    "a deep pattern": of(type="string", pattern="(" * 3000),
    "a long pattern": of(type="string", pattern="(a|b)*" * 100_000),
    "a pattern Python warns of": of(type="string", pattern="[[a]"),
    "by zero": of(type="integer", multipleOf=0),
    "not finite": of(type="number", multipleOf=1e-300, minimum=1e300),
    "not a schema": of(type=["x", 5], properties=[1], required={"a": 1}, enum=5),
}


def ways(schema: Any) -> list[tuple[str, dict[str, str], dict[str, Any]]]:
    """Requests with a schema: for a function, for the output, and in the question."""
    contents, messages = [user("What?")], [{"role": "user", "content": "What?"}]
    generate = f"{GEMINI_3}:generateContent"
    declared = {"name": "f", "description": "d", "parametersJsonSchema": schema}
    config = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    function = {"type": "function", "function": {"name": "f", "parameters": schema}}
    shape = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    chat = {"model": "gpt-5.4", "messages": messages}
    claude = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": messages}
    return [
        (generate, GEMINI, {"contents": contents, "tools": [{"functionDeclarations": [declared]}]}),
        (generate, GEMINI, {"contents": contents, "generationConfig": config}),
        (generate, GEMINI, {"contents": [user(json.dumps(schema))]}),
        ("/v1/chat/completions", OPENAI, {**chat, "tools": [function]}),
        ("/v1/chat/completions", OPENAI, {**chat, "response_format": shape}),
        ("/v1/messages", CLAUDE, {**claude, "tools": [{"name": "f", "input_schema": schema}]}),
    ]


@pytest.mark.sampled
@pytest.mark.timeout(60)
@joined("name", sample(list(SCHEMAS), 3))
def test_schemas_that_explode(name: str) -> None:
    schema = SCHEMAS[name]
    for path, headers, body in ways(schema):
        answer = post(Emulator(lenient=True), path, headers, json.dumps(body).encode())
        assert answer.status in (200, 400)
        assert len(answer.body) < 2_000_000


@pytest.mark.parametrize("schema", [doubling("properties"), of(type="string", minLength=10**12)])
def test_a_value_that_is_too_large_is_no_value(schema: Any) -> None:
    with pytest.raises(ValueError, match=r"the schema asks for more than \d+ (values|characters)"):
        example(schema, every=False)


@pytest.mark.timeout(20)
@joined(
    ("pattern", "text"),
    [
        (r"^[A-Z]{2}-\d+$", "AA-0"),
        (r"\d{3}-\d{4}", "000-0000"),
        (r"\bfoo\b bar", "foo bar"),
        ("[^a-z0-9_]", "-"),
        (r"[^\w]\W\S\D", "--aa"),
        ("(?i)[^a]b", "0b"),
        ("(a|b){3}x?", "aaa"),
        ("(a?){40}a{2}", "aa"),
        ("a^b", ""),
        (r"(?P<x>a)(?P=x)", ""),
        ("(?=a)a", ""),
        ("a{1000000000}", ""),
        ("[[a]", ""),
        ("a" * 2001, ""),
    ],
)
def test_a_text_for_a_pattern(pattern: str, text: str) -> None:
    assert matching(pattern) == text
    assert not text or re.search(pattern, text)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("path", "field", "limit"),
    [
        ("/v1beta/models/gemini-2.5-flash:generateContent", "candidateCount", 8),
        ("/v1beta/models/gemini-2.5-flash:streamGenerateContent", "candidateCount", 8),
        ("/v1/chat/completions", "n", 128),
    ],
)
def test_a_number_of_answers_that_explodes(path: str, field: str, limit: int) -> None:
    """A billion candidates would be built one by one."""
    for number, status in ((limit, 200), (limit + 1, 400), (10**9, 400)):
        if field == "n":
            body: dict[str, Any] = {
                "model": "gpt-5.4",
                "messages": [{"role": "user", "content": "hi"}],
                "n": number,
            }
        else:
            contents = [{"role": "user", "parts": [{"text": "hi"}]}]
            body = {"contents": contents, "generationConfig": {field: number}}
        headers = {"x-goog-api-key": "k", "authorization": "Bearer k"}
        answer = post(Emulator(), path, headers, json.dumps(body).encode())
        assert answer.status == status, number


def test_numbers_of_more_digits_than_python_reads() -> None:
    headers = {"x-goog-api-key": "k", "x-api-key": "k", "anthropic-version": "2023-06-01"}
    for name in ("pageToken", "pageSize"):
        target = f"/v1beta/models?{name}={'9' * 5000}"
        assert Emulator().answer("GET", target, headers, b"").status == 400
    head = (
        b'{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]'
    )
    body = head + b',"seed":-' + b"9" * 5000 + b"}"
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        assert post(Emulator(), path, headers, body).status == 400


def test_a_long_question_is_read_in_part() -> None:
    """The brackets before a list without end each begin a search that goes to the end."""
    bomb = '{"a":[' * 900 + "1," * 1_000_000
    assert complete(asked(bomb)).text.startswith("This is an emulator")
    words = ", ".join(f"Name{index}" for index in range(50_000))
    schema = {"properties": {"x": {"type": "string"}}, "required": ["x"]}
    functions = [Tool(f"f{index}", "d " * 100_000, schema) for index in range(600)]
    assert len(complete(asked(words, functions[0])).tool_calls) == 100
    assert len(complete(asked(f"f599 {words}", *functions)).tool_calls) == 100
    assert count("ab " * 20_000_000) == pytest.approx(20_000_000, rel=0.01)


def test_json_is_measured_outside_its_texts() -> None:
    limits = EmulatorLimits(max_json_depth=2, max_json_values=4)
    for allowed in (b'{"a":["[[[[,,,,,,\\"[[[["]}', b"[1,2,3]", b"x[[[[[", b""):
        assert json_excess(allowed, limits) == ""
    for excess in (
        b"[[[",
        b"[1,2,3,4,5]",
        b'["a,,,,,"' + b' "c"' * 9,
        b'\xef\xbb\xbf \n{"a":[[]]}',
    ):
        assert json_excess(excess, limits) != ""
    assert json_excess(b'{"a":"' + b'\\"' * 5_000_000 + b"\\", limits) == ""


# --- sizes, in the transports too -----------------------------------------------------------------

SMALL = EmulatorLimits(
    max_target_bytes=500, max_head_bytes=2_000, max_headers=20, max_body_bytes=1_000
)
OVER = [
    ({"url": "https://api.openai.com/v1/models?" + "a" * 500}, 414),
    ({"url": "https://api.openai.com/v1/models", "headers": [("x", "a" * 2_000)]}, 431),
    ({"url": "https://api.openai.com/v1/models", "headers": [("x", "a")] * 30}, 431),
    ({"url": "https://api.openai.com/v1/files", "method": "POST", "content": b"a" * 1_001}, 413),
]


@joined(("over", "status"), OVER)
@joined("backend", ["threads", "asyncio"])
def test_the_transports_have_the_same_limits(
    over: dict[str, Any], status: int, backend: str
) -> None:
    headers = [("authorization", "Bearer k"), *over.get("headers", ())]
    request = httpx.Request(**{"method": "GET", **over, "headers": headers})
    emulator = Emulator(limits=SMALL)
    if backend == "threads":
        response = Transport(emulator).handle_request(request)
        response.read()
    else:

        async def ask() -> httpx.Response:
            answered = await AsyncEmulatorTransport(emulator).handle_async_request(request)
            await answered.aread()
            return answered

        response = anyio.run(ask)
    assert response.status_code == status
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert response.headers["x-request-id"].startswith("req_")
    assert [each["status"] for each in emulator.requests] == [status]


def test_the_list_of_requests_drops_the_oldest() -> None:
    emulator = Emulator(limits=EmulatorLimits(max_requests=3))
    for index in range(5):
        emulator.answer("GET", f"/v1beta/files/{index}", GEMINI, b"")
    assert [each["number"] for each in emulator.requests] == [3, 4, 5]
    assert json.loads(emulator.answer("GET", "/_wire/health", {}, b"").body)["requests"] == 5
    emulator = Emulator(limits=EmulatorLimits(max_request_bytes=50_000))
    for _ in range(5):
        post(emulator, "/v1/files", OPENAI, b"a" * 20_000)
    assert [each["number"] for each in emulator.requests] == [4, 5]


# --- what is stored -------------------------------------------------------------------------------


def form(size: int) -> tuple[dict[str, str], bytes]:
    head = '--b\r\ncontent-disposition: form-data; name="{}"; filename="x"\r\n\r\n{}\r\n'
    body = head.format("purpose", "batch") + head.format("file", "a" * size) + "--b--\r\n"
    return {"content-type": "multipart/form-data; boundary=b"}, body.encode()


def test_files_of_gemini_end_in_the_quota_error_until_one_is_deleted() -> None:
    emulator = Emulator(limits=EmulatorLimits(max_stored_bytes=1_000))
    raw = {**GEMINI, "x-goog-upload-protocol": "raw", "content-type": "text/plain"}
    first = post(emulator, "/upload/v1beta/files", raw, b"a" * 600)
    assert first.status == 200
    full = post(emulator, "/upload/v1beta/files", raw, b"a" * 600)
    error = json.loads(full.body)["error"]
    assert (full.status, error["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert [each["@type"].rpartition(".")[2] for each in error["details"]] == ["QuotaFailure"]
    name = json.loads(first.body)["file"]["name"]
    assert emulator.answer("DELETE", f"/v1beta/{name}", GEMINI, b"").status == 200
    assert post(emulator, "/upload/v1beta/files", raw, b"a" * 600).status == 200
    emulator.reset()
    assert post(emulator, "/upload/v1beta/files", raw, b"a" * 1000).status == 200


def test_an_upload_counts_until_it_is_a_file() -> None:
    size = 8 << 20
    emulator = Emulator(limits=EmulatorLimits(max_stored_bytes=2 * size))

    def upload(**headers: str) -> Answer:
        named = {f"x-goog-upload-{name}": value for name, value in headers.items()}
        return post(emulator, url, {**GEMINI, **named}, body)

    body, url = b"{}", "/upload/v1beta/files"
    started = [upload(protocol="resumable", command="start") for _ in range(2)]
    urls = [dict(each.headers)["x-goog-upload-url"] for each in started]
    body, url = b"a" * size, urls[0].removeprefix("http://localhost")
    assert upload(command="upload", offset="0").status == 200
    url = urls[1].removeprefix("http://localhost")
    assert upload(command="upload", offset="0").status == 429
    url = urls[0].removeprefix("http://localhost")
    body = b"end"
    assert upload(command="upload, finalize", offset=str(size)).status == 200
    asked = dict(upload(command="query").headers)
    assert asked["x-goog-upload-size-received"] == str(size + 3)
    body, url = b"a" * (size - 10), urls[1].removeprefix("http://localhost")
    assert upload(command="upload, finalize", offset="0").status == 200


def test_files_of_openai_and_anthropic_end_in_their_quota_errors() -> None:
    emulator = Emulator(limits=EmulatorLimits(max_stored_items=1))
    kind, body = form(10)
    first = post(emulator, "/v1/files", {**OPENAI, **kind}, body)
    assert first.status == 200
    full = post(emulator, "/v1/files", {**OPENAI, **kind}, body)
    assert (full.status, json.loads(full.body)["error"]["code"]) == (429, "insufficient_quota")
    # One limit for all vendors.
    full = post(emulator, "/v1/files", {**CLAUDE, **kind}, body)
    assert (full.status, message(full)) == (403, "Storage limit exceeded.")
    name = json.loads(first.body)["id"]
    assert emulator.answer("DELETE", f"/v1/files/{name}", OPENAI, b"").status == 200
    first = post(emulator, "/v1/files", {**CLAUDE, **kind}, body)
    assert first.status == 200
    name = json.loads(first.body)["id"]
    assert emulator.answer("DELETE", f"/v1/files/{name}", CLAUDE, b"").status == 200
    assert post(emulator, "/v1/files", {**OPENAI, **kind}, body).status == 200


def test_batches_and_stores_end_in_the_quota_error() -> None:
    emulator = Emulator(limits=EmulatorLimits(max_stored_items=2))
    inline = {"requests": {"requests": [{"request": {"contents": [user("hi")]}}]}}
    batch = json.dumps({"batch": {"displayName": "b", "inputConfig": inline}}).encode()
    claude = {
        "requests": [
            {
                "custom_id": "a",
                "params": {
                    "model": "claude-sonnet-4-5",
                    "max_tokens": 9,
                    "messages": [{"role": "user", "content": "hi"}],
                },
            }
        ]
    }
    assert post(emulator, f"{GEMINI_3}:batchGenerateContent", GEMINI, batch).status == 200
    created = post(emulator, "/v1beta/fileSearchStores", GEMINI, b"{}")
    assert created.status == 200
    assert post(emulator, f"{GEMINI_3}:batchGenerateContent", GEMINI, batch).status == 429
    assert post(emulator, "/v1beta/fileSearchStores", GEMINI, b"{}").status == 429
    body = json.dumps(claude).encode()
    assert post(emulator, "/v1/messages/batches", CLAUDE, body).status == 403
    name = json.loads(created.body)["name"]
    assert emulator.answer("DELETE", f"/v1beta/{name}", GEMINI, b"").status == 200
    assert post(emulator, "/v1/messages/batches", CLAUDE, body).status == 200


@pytest.mark.timeout(20)
@joined(
    "body",
    [
        b"\n" * 5_000_000,
        b"--b\r\n\r\n" * 100_000,
        b"--b\r\n" + b"a: b\r\n" * 500_000,
        b"--b\r\ncontent-type: message/rfc822\r\n\r\nx\r\n--b--",
        b"--b\r\ncontent-type: multipart/mixed; boundary=b\r\n\r\n" * 2_000,
        b"--b\r\ncontent-disposition: form-data; name*0=a; name*1*=%ff\r\n\r\nx\r\n--b--",
    ],
    ids=["lines", "parts", "head", "mail", "nested", "name"],
)
def test_forms_that_a_mail_parser_would_choke_on(body: bytes) -> None:
    kind = {"content-type": "multipart/form-data; boundary=b"}
    for path, headers in (("/v1/files", OPENAI), ("/v1/files", CLAUDE)):
        assert post(Emulator(), path, {**headers, **kind}, body).status == 400
    related = {**GEMINI, "x-goog-upload-protocol": "multipart", **kind}
    assert post(Emulator(), "/upload/v1beta/files", related, body).status in (200, 400)


# --- the window of a model ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "window", "words"),
    [
        ("openai@chat:gpt-4", 8192, "This model's maximum context length is 8192 tokens."),
        (
            "openai@responses:gpt-4o",
            128_000,
            "input exceeds the context window of this model",
        ),
        ("mistral:voxtral-small-latest", 32_000, "maximum context length is 32000 tokens"),
        ("anthropic:claude-haiku-4-5", 200_000, "> 200000 maximum"),
        (
            "gemini:gemma-4-26b-a4b-it",
            262_144,
            "exceeds the maximum number of tokens allowed (262144).",
        ),
    ],
)
def test_a_prompt_longer_than_the_window_is_refused(model: str, window: int, words: str) -> None:
    """The window is that of the catalogue, and the error the typed one of the client."""
    with Chat(model, api_key="fake-key", http=Transport(Emulator()), max_tokens=16) as chat:
        assert chat.ask("tide " * (window // 2)).stop.reason in ("end", "length")
        with pytest.raises(ContextLengthError) as caught:
            chat.ask("tide " * (window + 100))
    assert words in caught.value.message
