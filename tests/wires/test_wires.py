"""The contract of a wire: each wire keeps it, a further one needs one row in a table, and each door
asks the rules of its own host before it sends.
"""

from __future__ import annotations

import inspect
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import msgspec
import pytest

from tests.wires import fourth_wire
from wire import (
    AsyncChat,
    AsyncClient,
    Chat,
    Client,
    anthropic,
    converse,
    gemini,
    notes,
    ollama,
    openai,
)
from wire.core.call import Call, StreamCall
from wire.core.provider import with_regions
from wire.errors import ConfigurationError, NotFoundError, RuleError
from wire.gemini import interactions
from wire.neutral.messages import Done, Message, TextDelta
from wire.neutral.request import Request
from wire.openai import responses
from wire.providers import PROVIDERS, family_of, owner_of
from wire.wires.contract import WIRES, Wire, unlisted

ROOT = Path(__file__).parents[2]
KEY = "fake-key-4711"
HI = Request(messages=(Message.user("Hi"),), max_tokens=16)
MODELS = {
    "gemini": "gemini-2.5-flash",
    "openai": "gpt-5.4",
    "openai.responses": "gpt-5.6",
    "anthropic": "claude-sonnet-4-5",
    "gemini.interactions": "gemini-3.8-flash",
    "converse": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "ollama": "qwen3:8b",
    "fourth": "m",
}
OWN_ROWS = {name: name for name in MODELS} | {
    "openai.responses": "openai@responses",
    "converse": "bedrock",
    "gemini.interactions": "gemini@interactions",
}
"""Name of a wire -> the row of its own vendor."""
STYLES = ["sync", "asyncio", "trio"]
style_of = pytest.mark.parametrize("style", STYLES)
wire_of = pytest.mark.parametrize("name", [*WIRES, "fourth"])


@pytest.fixture(autouse=True)
def _fourth(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row in the table of wires that a new wire needs, and what is computed from the table."""
    monkeypatch.setitem(WIRES, "fourth", fourth_wire)  # type: ignore[arg-type]
    for row in fourth_wire.ROWS:
        monkeypatch.setitem(PROVIDERS, row.name, row)


class Server:
    """A transport that counts its requests and answers all of them alike."""

    def __init__(self, body: bytes = b"", status: int = 200) -> None:
        self.requests: list[httpx.Request] = []
        self.http = httpx.MockTransport(self._answer)
        self._body, self._status = body, status

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(self._status, content=self._body)


def sent(style: str, provider: str, call: Any, **options: Any) -> Any:
    """The answer to a call, or the chunks of its stream."""
    options = {"api_key": KEY, **PLACES.get(provider, {}), **options}
    stream = isinstance(call, StreamCall)

    async def main() -> Any:
        async with AsyncClient(provider, **options) as client:
            if not stream:
                return await client.send(call)
            async with client.stream(call) as chunks:
                return [chunk async for chunk in chunks]

    if style != "sync":
        return anyio.run(main, backend=style)
    with Client(provider, **options) as client:
        if not stream:
            return client.send(call)
        with client.stream(call) as chunks:
            return list(chunks)


PLACES: dict[str, dict[str, Any]] = {
    "gemini@vertex": {"project": "my-project", "location": "us-central1"}
}


# --- every wire -----------------------------------------------------------------------------------


@wire_of
def test_rows_are_of_their_wire(name: str):
    wire = WIRES[name]
    rows = [each for row in wire.ROWS for each in with_regions(row)]
    names = [row.name for row in rows]
    assert OWN_ROWS[name] in names
    assert len(set(names)) == len(names)
    for row in rows:
        assert row.wire == name
        assert type(row.dialect) is wire.Dialect
        assert PROVIDERS[row.name] == row
        assert row.family == family_of(row.name) == row.name.partition("@")[0]


def test_the_table_of_providers_has_the_rows_of_the_wires_and_no_others():
    rows = [each.name for wire in WIRES.values() for row in wire.ROWS for each in with_regions(row)]
    assert sorted(rows) == sorted(PROVIDERS)


@wire_of
def test_a_wire_has_the_functions_of_the_contract(name: str):
    """With these parameters; further ones are by keyword and have defaults."""
    members = {member: value for member, value in vars(Wire).items() if not member.startswith("_")}
    assert {"ROWS", "Dialect", "call", "stream_call", "parse_reply", "check"} <= members.keys()
    for member, value in members.items():
        found = getattr(WIRES[name], member)
        if isinstance(value, property):
            continue
        wanted, given = (inspect.signature(each).parameters for each in (value, found))
        own = list(wanted.values())[1:]  # without `self`
        by_name = [each for each in own if each.kind is inspect.Parameter.KEYWORD_ONLY]
        own = own[: len(own) - len(by_name)]
        for place, each in zip(own, given.values(), strict=False):
            assert place.kind is inspect.Parameter.POSITIONAL_ONLY or place.name == each.name
            assert (place.default is place.empty) == (each.default is each.empty)
        assert {each.name for each in by_name} <= set(given)
        for extra in list(given.values())[len(own) :]:
            assert extra.default is not extra.empty, (member, extra)
    assert isinstance(WIRES[name].endpoint_paths, re.Pattern)
    assert issubclass(WIRES[name].Dialect, msgspec.Struct)


@wire_of
def test_a_provider_is_a_row_or_its_name(name: str):
    wire, model, row = WIRES[name], MODELS[name], OWN_ROWS[name]
    for make in (wire.call, wire.stream_call):
        one, other = make(HI, model, row), make(HI, model, PROVIDERS[row])
        assert (one.wire, one.body, notes(one)) == (name, make(HI, model).body, notes(other))
    request = raw_request(name)
    assert wire.check(request) == wire.check(request, "", row)
    assert wire.check(request, model, row) == wire.check(request, model, PROVIDERS[row])


@wire_of
def test_the_row_of_another_wire_is_refused(name: str):
    other = next(each for each in WIRES if each.partition(".")[0] != name.partition(".")[0])
    wire, problem = WIRES[name], f"^provider: '{other}' speaks '{other}', not '{name}'$"
    with pytest.raises(ConfigurationError, match=problem):
        wire.check(raw_request(name), "", PROVIDERS[other])
    for make in (wire.call, wire.stream_call):
        with pytest.raises(ConfigurationError, match=problem):
            make(HI, MODELS[name], PROVIDERS[other])
        with pytest.raises(ConfigurationError, match=r"^provider: expected a row or a name, not "):
            make(HI, MODELS[name], None)  # type: ignore[arg-type]


def raw_request(name: str) -> Any:
    """What the raw door of a wire takes."""
    return {
        "gemini": lambda: gemini.GenerateContentRequest(contents=gemini.contents("Hi")),
        "openai": lambda: openai.ChatCompletionRequest(
            model=MODELS["openai"], messages=openai.messages("Hi")
        ),
        "openai.responses": lambda: responses.ResponseRequest(
            model=MODELS["openai.responses"], input="Hi"
        ),
        "anthropic": lambda: anthropic.MessageRequest(
            model=MODELS["anthropic"],
            max_tokens=9,
            messages=[anthropic.Message(role="user", content="Hi")],
        ),
        "ollama": lambda: ollama.ChatRequest(
            model="qwen3:8b", messages=[ollama.Message(role="user", content="Hi")]
        ),
        "converse": lambda: converse.ConverseRequest(
            messages=[converse.Message(role="user", content=[converse.ContentBlock(text="Hi")])],
        ),
        "gemini.interactions": lambda: interactions.InteractionRequest(
            model=MODELS["gemini.interactions"], input="Hi"
        ),
        "fourth": lambda: fourth_wire.Question(model="m", text="Hi"),
    }[name]()


@wire_of
def test_an_error_answer_is_a_typed_error(name: str):
    """Whatever the body is."""
    for body in (b"", b"\xff", b"[]", b'{"error":{"message":"gone"}}', b"[" * 100_000):
        error = WIRES[name].parse_error(404, {}, body)
        assert (type(error), error.status) == (NotFoundError, 404)


def test_a_host_without_a_row_speaks_chat_completions():
    row = unlisted("my-host", key_required=True)
    assert (row.wire, row.dialect) == ("openai", WIRES["openai"].Dialect())


# --- a fourth wire --------------------------------------------------------------------------------

QUESTION = fourth_wire.Question(model="m", text="Hi")


class Tide(msgspec.Struct):
    hour: int


PIECES = b'{"text":"At "}\n{"text":"05:12"}\n{"end":true}\n'


@style_of
def test_a_fourth_wire_is_sent_and_streamed(style: str):
    server = Server(b'{"text":"At 05:12"}')
    answer = sent(style, "fourth", fourth_wire.ask(QUESTION), http=server.http)
    assert answer == fourth_wire.Answer(text="At 05:12")
    [request] = server.requests
    assert (str(request.url), request.headers["x-key"]) == (
        "https://fourth.example/v1/answers",
        KEY,
    )
    assert json.loads(request.content) == {"model": "m", "text": "Hi"}
    pieces = sent(style, "fourth", fourth_wire.stream_answer(QUESTION), http=Server(PIECES).http)
    assert [piece.text for piece in pieces] == ["At ", "05:12", ""]


@style_of
def test_a_fourth_wire_is_asked_by_chat(style: str):
    """Also for a value, with notes of what was noted in building."""
    server, long = Server(b'{"text":"{\\"hour\\":5}"}'), "When is it high in Brest?"

    def ask(**asked: Any) -> Any:
        with Chat("fourth:m", api_key=KEY, http=server.http) as chat:
            return chat.ask(long, **asked)

    async def main(**asked: Any) -> Any:
        async with AsyncChat("fourth:m", api_key=KEY, http=server.http) as chat:
            return await chat.ask(long, **asked)

    reply = ask() if style == "sync" else anyio.run(main, backend=style)
    assert (reply.text, reply.stop.reason) == ('{"hour":5}', "end")
    assert reply.answer == fourth_wire.Answer(text='{"hour":5}')
    assert list(map(str, reply.notes)) == ["text: warning: a long question"]
    valued = (
        ask(output=Tide) if style == "sync" else anyio.run(lambda: main(output=Tide), backend=style)
    )
    assert valued.output == Tide(hour=5)


def test_a_fourth_wire_has_batches_and_files():
    bodies: list[Any] = []

    def answered(request: httpx.Request) -> httpx.Response:
        bodies.append((request.method, request.url.path, request.content.decode()))
        return httpx.Response(200, content=b'{"ask_1":{"text":"At 05:12"}}')

    with Chat("fourth:m", api_key=KEY, http=httpx.MockTransport(answered)) as chat:
        batch = chat.batches.create({"ask_1": "High tide?"})
        assert (batch.status, batch.ended) == ("completed", True)
        assert chat.batches.results(batch)["ask_1"].text == "At 05:12"
        with pytest.raises(ConfigurationError, match=r"^files: fourth has none$"):
            chat.delete_file("file")
    question = '{"ask_1":{"model":"m","text":"High tide?"}}'
    assert bodies == [
        ("POST", "/v1/batches", question),
        ("GET", "/v1/batches/batch_1", ""),
    ]


def test_a_wire_without_batches_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fourth_wire, "batching", None)
    server = Server()
    with Chat("fourth:m", api_key=KEY, http=server.http) as chat:
        with pytest.raises(ConfigurationError, match=r"^batches: fourth has neither batches nor"):
            chat.batches.create({"a": "Hi"})
        with pytest.raises(ConfigurationError, match=r"^batches: fourth has neither batches nor"):
            chat.upload(b"%PDF-1.7", media_type="application/pdf")
    assert server.requests == []


@style_of
def test_a_fourth_wire_is_streamed_by_chat(style: str):
    server = Server(PIECES)

    def events() -> Any:
        with (
            Chat("fourth:m", api_key=KEY, http=server.http) as chat,
            chat.stream("Hi") as stream,
        ):
            return list(stream)

    async def main() -> Any:
        async with (
            AsyncChat("fourth:m", api_key=KEY, http=server.http) as chat,
            chat.stream("Hi") as stream,
        ):
            return [event async for event in stream]

    found = events() if style == "sync" else anyio.run(main, backend=style)
    assert found[:-1] == [TextDelta("At "), TextDelta("05:12")]
    assert isinstance(found[-1], Done)
    assert found[-1].reply.text == "At 05:12"
    assert json.loads(server.requests[0].content) == {"model": "m", "text": "Hi", "stream": True}


def test_a_fourth_wire_has_options_rules_and_errors_as_the_others():
    with Chat("fourth:m", api_key=KEY, http=Server().http) as chat:
        call = chat.call("Hi", options={"fourth": {"mood": "calm"}})
        assert json.loads(call.body) == {"model": "m", "text": "Hi", "mood": "calm"}
        with pytest.raises(RuleError) as caught:
            chat.ask("HI")
        assert str(caught.value) == "fourth: text: no need to shout [F2]"
        with pytest.raises(
            RuleError, match=r"^fourth: options.fourth.mood: expected a JSON value, not object"
        ):
            chat.ask("Hi", options={"fourth": {"mood": object()}})
    server = Server(b"no such model", 404)
    with pytest.raises(NotFoundError, match=r"^fourth: 404: no such model"):
        sent("sync", "fourth", fourth_wire.ask(QUESTION), http=server.http)


def test_a_fourth_wire_has_hosts_and_dialects_as_the_others():
    url = "https://llm.example/v1/answers"
    with Client("fourth", api_key=KEY, base_url=url) as client:
        assert client.describe()["base_url"] == "https://llm.example/v1"
    with pytest.raises(ConfigurationError, match=r"expected a wire.fourth.Dialect, not wire\."):
        Client("fourth", api_key=KEY, dialect=openai.Dialect())
    loud, call = fourth_wire.Dialect(), fourth_wire.ask(fourth_wire.Question(model="m", text="HI"))
    server = Server(b'{"text":"Ho"}')
    with pytest.raises(RuleError):
        sent("sync", "fourth", call, http=server.http)
    sent("sync", "fourth", call, http=server.http, dialect=loud)
    assert len(server.requests) == 1
    owner = owner_of("fourth.example")
    assert owner is not None
    assert owner.name == "fourth"


# --- every door asks the host's rules -------------------------------------------------------------

GEMINI_LABELS = gemini.GenerateContentRequest(
    contents=gemini.contents("Hi"), labels={"team": "tide"}
)
GEMINI_HOT = gemini.GenerateContentRequest(
    contents=gemini.contents("Hi"), generation_config=gemini.GenerationConfig(temperature=3.0)
)
UNSIGNED = anthropic.MessageRequest(
    model="claude-sonnet-4-5",
    max_tokens=9,
    messages=[
        anthropic.Message(role="user", content="Hi"),
        anthropic.Message(
            role="assistant",
            content=[
                anthropic.ContentBlock(type="thinking", thinking="Hm."),
                anthropic.ContentBlock(type="text", text="Ho"),
            ],
        ),
        anthropic.Message(role="user", content="Well?"),
    ],
)
MOST = openai.ChatCompletionRequest(model="gpt-5.4", messages=openai.messages("Hi"), max_tokens=16)
SCHEMA = openai.ChatCompletionRequest(
    model="gpt-5.4",
    messages=openai.messages("Hi"),
    response_format=openai.ResponseFormat(
        type="json_schema", json_schema=openai.JsonSchema(name="a", schema={"type": "object"})
    ),
)
BODIES = {
    "gemini": b'data: {"candidates":[{"content":{"parts":[{"text":"Ho"}],"role":"model"},'
    b'"finishReason":"STOP"}]}\n\n',
    "openai": b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Ho"},'
    b'"finish_reason":"stop"}]}',
    "anthropic": b'{"type":"message","role":"assistant","content":[{"type":"text","text":"Ho"}],'
    b'"stop_reason":"end_turn"}',
}
RULED = {
    # Name: wire, request, the provider that refuses it, by which rule, the provider that takes it.
    "labels": ("gemini", GEMINI_LABELS, "gemini", "G1", "gemini@vertex"),
    "heat": ("gemini", GEMINI_HOT, "gemini@vertex", "G82", "gemini"),
    "thought": ("anthropic", UNSIGNED, "anthropic", "A16", "kimi@anthropic"),
    "limit": ("openai", MOST, "openai", "O7", "deepseek"),
    "schema": ("openai", SCHEMA, "deepseek", "O7", "openai"),
}
ruled = pytest.mark.parametrize("case", RULED)


def raw_calls(wire: str, request: Any, **options: Any) -> Iterator[Any]:
    """The whole call and the streamed one."""
    if wire == "gemini":
        yield gemini.generate_content(MODELS[wire], request, **options)
        yield gemini.stream_generate_content(MODELS[wire], request, **options)
    elif wire == "openai":
        yield openai.chat_completions(request, **options)
        yield openai.stream_chat_completions(request, **options)
    else:
        yield anthropic.create_message(request, **options)
        yield anthropic.stream_message(request, **options)


def served(wire: str, call: Any) -> Server:
    body = BODIES[wire]
    return Server(body if isinstance(call, StreamCall) else body.removeprefix(b"data: "))


@style_of
@ruled
def test_the_raw_door_asks_the_rules_of_its_host(case: str, style: str):
    wire, request, refusing, rule, taking = RULED[case]
    expected = WIRES[wire].check(request, MODELS[wire], refusing)
    assert [(each.rule, each.severity) for each in expected] == [(rule, "error")]
    assert WIRES[wire].check(request, MODELS[wire], taking) == []
    for call in raw_calls(wire, request):
        server = served(wire, call)
        with pytest.raises(RuleError) as caught:
            sent(style, refusing, call, http=server.http)
        assert list(caught.value.violations) == expected
        assert (caught.value.provider, server.requests) == (refusing, [])
        sent(style, taking, call, http=server.http)
        assert len(server.requests) == 1


@ruled
def test_what_one_host_refuses_is_no_error_of_the_builder(case: str):
    """It knows no host yet: only what every host refuses is found there."""
    wire, request, refusing, _, taking = RULED[case]
    assert WIRES[wire].check(request, MODELS[wire], "") == []
    for call in raw_calls(wire, request):
        assert call.judge(PROVIDERS[taking]).body == call.body
        with pytest.raises(RuleError):
            call.judge(PROVIDERS[refusing])


@style_of
@ruled
def test_unchecked_calls_are_sent_as_they_are(case: str, style: str):
    wire, request, refusing, *_ = RULED[case]
    for call in raw_calls(wire, request, checked=False):
        server = served(wire, call)
        sent(style, refusing, call, http=server.http)
        assert [each.content for each in server.requests] == [call.body]


@pytest.mark.parametrize("wire", BODIES)
def test_unchecked_calls_break_the_rules_of_every_host(wire: str):
    empty = msgspec.structs.replace(
        raw_request(wire), **{"contents" if wire == "gemini" else "messages": []}
    )
    with pytest.raises(RuleError):
        next(raw_calls(wire, empty))
    assert len(list(raw_calls(wire, empty, checked=False))) == 2


@style_of
def test_a_neutral_call_asks_the_rules_of_the_host_that_it_goes_to(style: str):
    """It was rendered for one provider; another one's rules are asked by that one's client."""
    hot = Request(messages=(Message.user("Hi"),), temperature=3.0)
    for make in (gemini.call, gemini.stream_call):
        call: Any = make(hot, MODELS["gemini"], "gemini")
        server = served("gemini", call)
        sent(style, "gemini", call, http=server.http)
        assert len(server.requests) == 1
        with pytest.raises(RuleError, match=r"^gemini@vertex: .*\[G82\]"):
            sent(style, "gemini@vertex", call, http=server.http)
        assert len(server.requests) == 1
        with pytest.raises(RuleError, match=r"^gemini@vertex: .*\[G82\]"):
            make(hot, MODELS["gemini"], "gemini@vertex")


@pytest.mark.parametrize(("version", "paths"), [("v1", ["systemInstruction"]), (None, [])])
def test_rules_of_one_version_are_asked_where_it_is_called(version: str | None, paths: list[str]):
    with Chat("gemini:gemini-2.5-flash", api_key=KEY, version=version) as chat:
        call = chat.call("Hi", system="Be brief.")  # which v1 did not know until 2025 (G2)
    assert [note.path for note in notes(call)] == paths


CALLED = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
WARNED = {
    "gemini": (
        "gemini",
        # A string's format that Gemini knew none of until 2025.
        {"generationConfig": {"responseSchema": {"type": "STRING", "format": "email"}}},
        "generationConfig.responseSchema.format",
    ),
    "openai": ("mistral", {"seed": 1}, "seed"),
    "anthropic": (
        "anthropic",
        # A call and its result without the tools, which other hosts of Messages refuse.
        {
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [CALLED]},
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t", "content": "1"}],
                },
            ]
        },
        "tools",
    ),
}


@pytest.mark.parametrize("wire", WARNED)
def test_warnings_are_notes_of_neutral_calls(wire: str):
    provider, options, path = WARNED[wire]
    request = msgspec.structs.replace(HI, options={provider: options})
    for make in (WIRES[wire].call, WIRES[wire].stream_call):
        call: Any = make(request, MODELS[wire], provider)
        [found] = [note for note in notes(call) if note.message.startswith("warning: ")]
        assert found.path == path
        warnings = {
            each.path: each.message
            for each in WIRES[wire].check(struct_of(wire, call), MODELS[wire], provider)
            if each.severity == "warning"
        }
        assert warnings == {path: found.message.removeprefix("warning: ")}


def struct_of(wire: str, call: Call[Any]) -> Any:
    """What a call sends, as the struct that `check` takes."""
    kind = type(raw_request(wire))
    return msgspec.json.decode(call.body, type=kind)


@pytest.mark.parametrize("name", ["gemini", "openai", "anthropic"])
def test_a_neutral_call_is_pickled(name: str):
    request = Request(messages=(Message.user("Hi"),))
    for make in (WIRES[name].call, WIRES[name].stream_call):
        call = make(request, MODELS[name])
        again = pickle.loads(pickle.dumps(call))
        assert (again.body, again.path, again.notes) == (call.body, call.path, call.notes)
        assert again.judge(PROVIDERS[name]).body == call.body
