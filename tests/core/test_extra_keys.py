"""Extra keys: what the structs have no field for is sent beside the fields, on every wire, at every
depth; a mistyped field is an error.
"""

from __future__ import annotations

import copy
import json
import pickle
import threading
from typing import Any

import anyio
import httpx
import msgspec
import pytest

from tests.joined import joined
from wire import AsyncClient, Client, anthropic, gemini, notes, openai, with_extra
from wire.core.lenient import decoded
from wire.core.memory import EXTRA_KEY, WireStruct, encode
from wire.errors import RuleError
from wire.providers import PROVIDERS

NEW = {"mood": {"of": ["calm", None, 1.5]}, "dotted.key": "é"}
"""Extra keys, as plain JSON."""


def gemini_request() -> gemini.GenerateContentRequest:
    part = with_extra(gemini.Part(text="Hi"), NEW)
    tool = gemini.Tool(
        function_declarations=[with_extra(gemini.FunctionDeclaration(name="look"), NEW)]
    )
    return with_extra(
        gemini.GenerateContentRequest(
            contents=[with_extra(gemini.Content(role="user", parts=[part]), NEW)],
            tools=[with_extra(tool, NEW)],
            generation_config=with_extra(gemini.GenerationConfig(temperature=0.5), NEW),
        ),
        NEW,
    )


GEMINI_BODY = {
    "contents": [{"role": "user", "parts": [{"text": "Hi", **NEW}], **NEW}],
    "tools": [{"functionDeclarations": [{"name": "look", **NEW}], **NEW}],
    "generationConfig": {"temperature": 0.5, **NEW},
    **NEW,
}


def openai_request() -> openai.ChatCompletionRequest:
    function = with_extra(openai.FunctionDefinition(name="look"), NEW)
    return with_extra(
        openai.ChatCompletionRequest(
            model="gpt-5.4",
            messages=[
                with_extra(openai.Message(role="user", content="Hi"), NEW),
                openai.Message(
                    role="user",
                    content=[with_extra(openai.ContentPart(type="text", text="Ho"), NEW)],
                ),
            ],
            tools=[with_extra(openai.Tool(type="function", function=function), NEW)],
        ),
        NEW,
    )


OPENAI_BODY = {
    "model": "gpt-5.4",
    "messages": [
        {"role": "user", "content": "Hi", **NEW},
        {"role": "user", "content": [{"type": "text", "text": "Ho", **NEW}]},
    ],
    "tools": [{"type": "function", "function": {"name": "look", **NEW}, **NEW}],
    **NEW,
}

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def anthropic_request() -> anthropic.MessageRequest:
    block = anthropic.ContentBlock(type="text", text="Ho")
    thinking = anthropic.Thinking(type="adaptive")
    return with_extra(
        anthropic.MessageRequest(
            model="claude-opus-5",
            max_tokens=9,
            messages=[
                with_extra(anthropic.Message(role="user", content="Hi"), NEW),
                anthropic.Message(role="user", content=[with_extra(block, NEW)]),
            ],
            tools=[with_extra(anthropic.Tool(name="look", input_schema=SCHEMA), NEW)],
            thinking=with_extra(thinking, NEW),
        ),
        NEW,
    )


ANTHROPIC_PROMPT = {
    "model": "claude-opus-5",
    "messages": [
        {"role": "user", "content": "Hi", **NEW},
        {"role": "user", "content": [{"type": "text", "text": "Ho", **NEW}]},
    ],
    "tools": [{"name": "look", "input_schema": SCHEMA, **NEW}],
    "thinking": {"type": "adaptive", **NEW},
    **NEW,
}
ANTHROPIC_BODY = {**ANTHROPIC_PROMPT, "max_tokens": 9}

CALLS: dict[str, tuple[Any, Any]] = {
    "gemini": (lambda: gemini.generate_content("gemini-3.5-flash", gemini_request()), GEMINI_BODY),
    "gemini, streamed": (
        lambda: gemini.stream_generate_content("gemini-3.5-flash", gemini_request()),
        GEMINI_BODY,
    ),
    "openai": (lambda: openai.chat_completions(openai_request()), OPENAI_BODY),
    "openai, streamed": (
        lambda: openai.stream_chat_completions(openai_request()),
        {**OPENAI_BODY, "stream": True, "stream_options": {"include_usage": True}},
    ),
    "anthropic": (lambda: anthropic.create_message(anthropic_request()), ANTHROPIC_BODY),
    "anthropic, streamed": (
        lambda: anthropic.stream_message(anthropic_request()),
        {**ANTHROPIC_BODY, "stream": True},
    ),
    "anthropic, counted": (
        lambda: anthropic.count_tokens(anthropic_request()),
        ANTHROPIC_PROMPT,
    ),
    "anthropic, in a batch": (
        lambda: anthropic.create_batch(
            [anthropic.BatchRequest(custom_id="a", params=anthropic_request())]
        ),
        {"requests": [{"custom_id": "a", "params": ANTHROPIC_BODY}]},
    ),
}


@joined("name", CALLS)
def test_extra_keys_are_in_the_body(name: str):
    make, body = CALLS[name]
    assert json.loads(make().body) == body


def test_extra_keys_of_a_request_are_counted_on_both_hosts_of_gemini():
    call = gemini.count_tokens("gemini-3.5-flash", gemini_request())
    assert json.loads(call.body)["generateContentRequest"].items() >= GEMINI_BODY.items()
    on_vertex = call.judge(PROVIDERS["gemini@vertex"])
    assert json.loads(on_vertex.body) == GEMINI_BODY


def send(style: str, provider: str, call: Any, http: Any) -> None:
    def work() -> None:
        with Client(provider, api_key="fake-key", http=http, retry=None) as client:
            client.send(call)

    async def main() -> None:
        async with AsyncClient(provider, api_key="fake-key", http=http, retry=None) as client:
            await client.send(call)

    work() if style == "sync" else anyio.run(main, backend=style)


@joined("name", ["gemini", "openai", "anthropic"])
@joined("style", ["sync", "asyncio", "trio"])
def test_extra_keys_reach_the_host(style: str, name: str):
    """The rules of the host see the request without them, and refuse nothing."""
    seen: list[bytes] = []
    answers = {
        "gemini": b'{"candidates":[]}',
        "openai": b'{"choices":[]}',
        "anthropic": b'{"type":"message","content":[]}',
    }

    def answering(request: httpx.Request) -> httpx.Response:
        seen.append(request.content)
        return httpx.Response(200, content=answers[name])

    make, body = CALLS[name]
    send(style, name, make(), httpx.MockTransport(answering))
    assert list(map(json.loads, seen)) == [body]


@pytest.mark.parametrize(
    "violations",
    [
        lambda: gemini.check(gemini_request(), "gemini-3.5-flash", "gemini"),
        lambda: openai.check(openai_request(), "", "openai"),
        lambda: anthropic.check(anthropic_request()),
    ],
    ids=["gemini", "openai", "anthropic"],
)
def test_rules_leave_extra_keys_to_the_server(violations: Any):
    assert [each for each in violations() if each.severity == "error"] == []


REQUESTS = [gemini_request, openai_request, anthropic_request]


@pytest.mark.parametrize("make", REQUESTS)
def test_copies_and_pickles_keep_extra_keys(make: Any):
    request, wanted = make(), encode(make())
    for again in (
        copy.copy(request),
        copy.deepcopy(request),
        pickle.loads(pickle.dumps(request)),
        msgspec.structs.replace(request),
    ):
        assert (again == request, encode(again)) == (True, wanted)
    assert isinstance(request, type(request).__mro__[1])
    assert "mood" in repr(request)


def test_a_replaced_field_leaves_extra_keys_and_two_sets_of_them_differ():
    plain = anthropic.Tool(name="look")
    tool = with_extra(plain, {"a": 1})
    renamed = msgspec.structs.replace(tool, name="see")
    assert json.loads(encode(renamed)) == {"name": "see", "a": 1}
    more = with_extra(tool, {"a": 2, "b": None})
    assert json.loads(encode(more)) == {"name": "look", "a": 2, "b": None}
    assert len({encode(each) for each in (plain, tool, more)}) == 3
    assert tool == with_extra(plain, {"a": 1})
    assert more not in (plain, tool)
    assert json.loads(encode(with_extra(plain, {}))) == {"name": "look"}


def test_a_mistyped_field_is_an_error():
    with pytest.raises(TypeError, match="mood"):
        anthropic.Tool(name="look", mood=1)
    for keys, problem in (
        ({"strict": True}, "extra.strict: Tool has a field strict (set strict=)"),
        (7, "extra: expected a mapping of keys, not int"),
        ({3: 1}, "extra: expected a text as JSON key, not 3"),
        ({"a": {"b": [float("nan")]}}, "extra.a.b[0]: nan is not a JSON number"),
        ({"a": b"x"}, "extra.a: expected a JSON value, not bytes"),
    ):
        with pytest.raises(RuleError) as caught:
            with_extra(anthropic.Tool(name="look"), keys)
        assert str(caught.value) == problem
    with pytest.raises(RuleError) as caught:
        with_extra(gemini.GenerationConfig(), {"topP": 1, "top_p": 1, "topQ": 1})
    assert [each.path for each in caught.value.violations] == ["extra.topP", "extra.top_p"]
    with pytest.raises(RuleError, match="expected a struct of a request, not dict"):
        with_extra({"name": "look"}, {"a": 1})  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (
            lambda tool: anthropic.create_message(
                msgspec.structs.replace(anthropic_request(), tools=[tool(anthropic.Tool(name="x"))])
            ),
            "tools[0].late.a",
        ),
        (
            lambda of: gemini.generate_content(
                "gemini-3.5-flash",
                gemini.GenerateContentRequest(
                    contents=[gemini.Content(role="user", parts=[of(gemini.Part(text="Hi"))])]
                ),
            ),
            "contents[0].parts[0].late.a",
        ),
        (
            lambda of: openai.chat_completions(
                openai.ChatCompletionRequest(
                    model="m",
                    messages=[
                        openai.Message(role="system", content="Be brief."),
                        of(openai.Message(role="user", content="Hi")),
                    ],
                )
            ),
            "messages[1].late.a",
        ),
    ],
    ids=["anthropic", "gemini", "openai"],
)
def test_a_value_is_checked_when_it_is_sent(make: Any, path: str):
    """A dict may change after `with_extra` checked it."""

    def of(struct: WireStruct) -> WireStruct:
        late: dict[str, Any] = {}
        made = with_extra(struct, {"late": late})
        late["a"] = float("inf")
        return made

    with pytest.raises(RuleError) as caught:
        make(of)
    assert str(caught.value) == f"{path}: inf is not a JSON number"


def test_a_received_struct_is_sent_in_its_own_bytes():
    raw = b'{"role":"assistant",  "content":"Ho","mood":1.50}'
    received = decoded(raw, anthropic.Message)
    with pytest.raises(RuleError, match="this Message was received, and is sent in its own bytes"):
        with_extra(received, {"a": 1})
    request = anthropic.MessageRequest(
        model="m",
        max_tokens=1,
        messages=[received, with_extra(anthropic.Message(role="user", content="Hi"), {"a": [1]})],
    )
    assert (
        raw + b',{"role":"user","content":"Hi","a":[1]}]' in anthropic.create_message(request).body
    )


def test_extra_keys_may_hold_structs_of_the_wire():
    block = with_extra(anthropic.ContentBlock(type="text", text="Ho"), {"a": 1})
    request = with_extra(anthropic_request(), {"preamble": [block]})
    body = json.loads(anthropic.create_message(request).body)
    assert body["preamble"] == [{"type": "text", "text": "Ho", "a": 1}]


def test_a_text_that_looks_like_the_mark_is_sent_as_it_is():
    said = f'{{"{EXTRA_KEY}": 1}} "{EXTRA_KEY}":'
    request = anthropic.MessageRequest(
        model="m",
        max_tokens=1,
        messages=[anthropic.Message(role="user", content=said)],
        tools=[anthropic.Tool(name="x", input_schema={"type": "object", EXTRA_KEY: said})],
    )
    body = json.loads(anthropic.create_message(request).body)
    assert body["messages"] == [{"role": "user", "content": said}]
    assert body["tools"][0]["input_schema"][EXTRA_KEY] == said


def test_notes_of_a_builder_are_kept():
    with_notes = gemini.GenerateContentRequest(
        contents=[],
        generation_config=gemini.GenerationConfig(
            response_schema=gemini.schema({"type": "object", "additionalProperties": False})
        ),
    )
    assert notes(with_notes) != ()
    assert notes(with_extra(with_notes, {"a": 1})) == notes(with_notes)


def test_threads_make_one_class():
    class Fresh(anthropic.Tool, frozen=True, kw_only=True):
        pass

    ready, made = threading.Barrier(8), []

    def work() -> None:
        ready.wait()
        made.append(with_extra(Fresh(name="x"), {"a": 1}))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(made) == 8
    assert len({type(each) for each in made}) == 1
