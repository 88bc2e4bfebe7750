"""What the core does for every vendor alike, and what a further vendor has to bring."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from tests.joined import joined
from wire.neutral.messages import Message, Reply
from wire.neutral.request import Request
from wire.testing.emulator import Answer, Cut, Emulator, core
from wire.testing.emulator.answer import json_answer, json_bytes
from wire.testing.emulator.model import Prompt, pieces
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, handler_of, match, paths
from wire.testing.emulator.tables import table
from wire.testing.emulator.vendor import Failure, Refusal, Settings, Vendor
from wire.testing.emulator.vendors import VENDORS
from wire.testing.emulator.vendors.anthropic.vendor import Anthropic
from wire.testing.emulator.vendors.gemini.vendor import Gemini
from wire.testing.emulator.vendors.google_openai import GoogleOpenAI
from wire.testing.emulator.vendors.openai.vendor import OpenAI

MESSAGES = [{"role": "user", "content": "hi"}]
CONTENTS = [{"role": "user", "parts": [{"text": "hi"}]}]
STREAMS: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "gemini": (
        "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        {"x-goog-api-key": "fake-key"},
        {"contents": CONTENTS},
    ),
    "openai": (
        "/v1/chat/completions",
        {"authorization": "Bearer fake-key"},
        {"model": "gpt-5.4", "messages": MESSAGES, "stream": True},
    ),
    "openai_responses": (
        "/v1/responses",
        {"authorization": "Bearer fake-key"},
        {"model": "gpt-5.4", "input": "hi", "stream": True},
    ),
    "google_openai": (
        "/v1beta/openai/chat/completions",
        {"authorization": "Bearer fake-key"},
        {"model": "gemini-2.5-flash", "messages": MESSAGES, "stream": True},
    ),
    "anthropic": (
        "/v1/messages",
        {"x-api-key": "fake-key", "anthropic-version": "2023-06-01"},
        {"model": "claude-opus-4-5", "max_tokens": 99, "messages": MESSAGES, "stream": True},
    ),
    "squeak": ("/squeak", {"x-squeak": "fake-key"}, {"text": "hi"}),
}


# --- a further vendor -----------------------------------------------------------------------------


class SqueakGeneration:
    """A request whose body is `{"text": ...}`; the response is one line for each piece of text."""

    def __init__(self, text: str) -> None:
        self.model, self.prompt = "mouse-1", Prompt(Request(messages=(Message.user(text),)))

    def render(self, reply: Reply, id: str, hops: int) -> Answer:
        return Answer(200, (), tuple(each.encode() for each in pieces(reply.text)))

    def render_body(self, body: dict[str, Any], id: str) -> Answer:
        return json_answer(json_bytes(body))

    def render_events(self, events: Sequence[Any], id: str) -> Answer:
        return Answer(200, (), tuple(map(json_bytes, events)))


class Squeak:
    """A vendor of one endpoint for models, and one for other things."""

    wires = ("squeak",)

    def __init__(self, settings: Settings) -> None:
        self.paths = paths(("", "/squeak", {"POST": "squeak"}), ("", "/mice", {"GET": "mice"}))

    def route(self, request: Received) -> Route | None:
        return match(self.paths, request, frozenset({"squeak"}))

    def recognises(self, request: Received) -> bool:
        return "x-squeak" in request.headers

    def no_endpoint(self, request: Received, route: Route | None) -> Answer:
        return self.error_answer(Failure(405 if route else 404, "no cheese"))

    def authorise(self, request: Received, route: Route) -> None:
        if "x-squeak" not in request.headers:
            raise Refusal(self.error_answer(Failure(401, "who squeaks?")))

    def read(self, request: Received, route: Route) -> SqueakGeneration:
        return SqueakGeneration(json.loads(request.body)["text"])

    def serve(self, request: Received, route: Route) -> Answer:
        return self.body_answer(["mouse-1"], 200)

    def body_answer(self, value: Any, status: int) -> Answer:
        return json_answer(json_bytes(value), status)

    def error(self, failure: Failure) -> dict[str, Any]:
        return {"squeak": failure.message or failure.status}

    def error_answer(self, failure: Failure) -> Answer:
        return self.body_answer(self.error(failure), failure.status)

    def error_event(self, failure: Failure) -> bytes:
        return json_bytes(self.error(failure))

    def frame(self, data: bytes) -> bytes:
        return data

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        return answer


def typed(settings: Settings) -> list[Vendor]:
    """mypy holds each vendor to the contract here."""
    return [
        Gemini(settings),
        Anthropic(settings),
        OpenAI(settings),
        GoogleOpenAI(settings),
        Squeak(settings),
    ]


@pytest.fixture(autouse=True)
def a_further_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "VENDORS", (*VENDORS, Squeak))


def stream(emulator: Emulator, vendor: str, fault: str = "") -> Answer:
    target, headers, body = STREAMS[vendor]
    if fault:
        headers = {**headers, "x-wire-fault": fault}
    return emulator.answer("POST", target, headers, json.dumps(body).encode())


def test_a_further_vendor_is_one_class_and_one_row() -> None:
    emulator = Emulator([{"match": {"model": "mouse-*", "text": "^hi$"}, "say": "Squeak!"}])
    key = {"x-squeak": "fake-key"}
    assert stream(emulator, "squeak").body == b"Squeak!"
    text = b"This is an emulator, and no model. You said: hi"
    assert stream(emulator, "squeak").body == text
    assert emulator.answer("GET", "/mice", key, b"").body == b'["mouse-1"]'
    assert emulator.answer("GET", "/mice", {}, b"").body == b'{"squeak":"who squeaks?"}'
    assert emulator.answer("PUT", "/mice", key, b"").status == 405
    assert emulator.answer("GET", "/cats", key, b"").body == b'{"squeak":"no cheese"}'
    assert emulator.answer("GET", "/mice", {**key, "x-wire-fault": "503"}, b"").status == 503
    assert [each["status"] for each in emulator.requests] == [200, 200, 200, 401, 405, 404, 503]


# --- scripts and faults, the same for all ---------------------------------------------------------


@pytest.mark.parametrize("vendor", STREAMS)
def test_a_status_of_a_script_and_of_a_header(vendor: str) -> None:
    by_script = Emulator([{"fault": "503; message=Busy."}])
    assert stream(by_script, vendor).status == 503
    assert b"Busy." in stream(Emulator(), vendor, "503; message=Busy.").body
    assert stream(by_script, vendor).status == 200  # the step is used up


@pytest.mark.parametrize("vendor", STREAMS)
def test_a_body_of_a_script_has_its_status_in_a_stream_too(vendor: str) -> None:
    emulator = Emulator([{"answer": {"error": {"message": "No tea."}}, "status": 418}])
    answer = stream(emulator, vendor)
    assert answer.status == 418
    assert answer.whole
    assert b"No tea." in answer.body


@pytest.mark.parametrize("vendor", STREAMS)
def test_a_break_of_a_script_and_of_a_header(vendor: str) -> None:
    good = stream(Emulator(), vendor)
    for bad in (stream(Emulator([{"fault": "cut"}]), vendor), stream(Emulator(), vendor, "cut")):
        assert bad.pieces == (good.pieces[0], Cut())


@pytest.mark.parametrize("vendor", STREAMS)
def test_a_fault_that_is_invalid_is_refused_by_the_vendor_that_was_asked(vendor: str) -> None:
    answer = stream(Emulator(), vendor, "boom")
    assert answer.status == 400
    assert b"x-wire-fault: fault: 'boom' is unknown" in answer.body
    assert (b'"squeak"' in answer.body) == (vendor == "squeak")
    assert (b'"INVALID_ARGUMENT"' in answer.body) == (vendor in ("gemini", "google_openai"))


@pytest.mark.parametrize("vendor", ["gemini", "openai", "anthropic"])
def test_stop_sequences_cut_what_a_script_says(vendor: str) -> None:
    field: dict[str, dict[str, Any]] = {
        "gemini": {"generationConfig": {"stopSequences": ["END"]}},
        "openai": {"stop": ["END"]},
        "anthropic": {"stop_sequences": ["END"]},
    }
    target, headers, body = STREAMS[vendor]
    emulator = Emulator([{"say": "One. END Two."}])
    data = json.dumps({**body, **field[vendor]}).encode()
    answer = emulator.answer("POST", target, headers, data)
    assert b"One. " in answer.body
    assert b"Two." not in answer.body
    assert (b'"stop_sequence":"END"' in answer.body) == (vendor == "anthropic")


# --- which vendor ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "begin"),
    [
        ({"x-goog-api-key": "k", "authorization": "Bearer k"}, b"<!DOCTYPE html>"),
        ({"x-api-key": "k", "authorization": "Bearer k"}, b'{"request_id":'),
        ({"authorization": "Bearer k"}, b'{\n  "error": {\n    "message": "Invalid URL (GET /v1'),
        ({}, b"<!DOCTYPE html>"),
    ],
)
def test_an_unknown_path_is_refused_by_the_vendor_of_the_headers(
    headers: dict[str, str], begin: bytes
) -> None:
    answer = Emulator().answer("GET", "/v1/nothing", headers, b"")
    assert answer.status == 404
    assert answer.body.startswith(begin)


def test_a_method_that_openai_does_not_have() -> None:
    key = {"authorization": "Bearer k"}
    answer = Emulator().answer("GET", "/v1/chat/completions", key, b"")
    assert answer.status == 405
    assert json.loads(answer.body)["error"]["code"] == "method_not_supported"


# --- chat completions to a prompt -----------------------------------------------------------------


def prompt_of(**fields: Any) -> Prompt:
    vendor = OpenAI(Settings(lenient=True))
    body = json.dumps({"model": "m", "messages": MESSAGES, **fields}).encode()
    request = Received(1, "POST", "/", "/", {}, {}, body, "http://localhost")
    return vendor.read(request, Route("chat.completions")).prompt


def test_a_conversation_of_chat_completions_as_a_prompt() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    tool = {"type": "function", "function": {"name": "now", "description": "Time"}}
    other = {"type": "function", "function": {"name": "then"}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What time is it?"},
        {"role": "assistant", "content": None, "tool_calls": [call, {**call, "id": "c2"}]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"hour": 3}'},
        {"role": "tool", "tool_call_id": "c2", "content": "noon"},
    ]
    prompt = prompt_of(
        messages=messages,
        tools=[tool, other],
        tool_choice={"type": "function", "function": {"name": "now"}},
        parallel_tool_calls=False,
        stop="END",
        max_tokens=7,
    )
    request = prompt.request
    assert (prompt.question, prompt.system) == ("What time is it?", "Be brief.")
    assert prompt.results == [("now", {"hour": 3}), ("now", {"result": "noon"})]
    assert (prompt.called, prompt.must, prompt.parallel) == (True, True, False)
    assert [(each.name, each.description) for each in prompt.functions] == [("now", "Time")]
    assert (request.max_tokens, request.stop) == (7, ("END",))


@joined("vendor", [Gemini, Anthropic, OpenAI])
def test_every_endpoint_of_a_table_has_a_method(vendor: type[Gemini | Anthropic | OpenAI]) -> None:
    rows = table(sys.modules[vendor.__module__].__file__ or "", "routes")
    endpoints = {endpoint for _, _, methods in rows for endpoint in methods.values()}
    plain = endpoints - {"{action}", "{list}", "messages", "chat.completions", "responses"}
    if vendor is Gemini:
        plain |= {"list", "get", "countTokens", "embedContent", "batchEmbedContents", "predict"}
        plain |= {"predictLongRunning", "batchGenerateContent", "asyncBatchEmbedContent"}
        plain |= {"computeTokens"}
    resources = vendor(Settings())._resources
    assert [each for each in plain if not callable(handler_of(resources, each))] == []


def test_results_before_the_last_question_are_not_its_results() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}}
    prompt = prompt_of(
        messages=[
            {"role": "user", "content": "What time is it?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "noon"},
            {"role": "user", "content": "Thanks."},
        ]
    )
    assert (prompt.question, prompt.results, prompt.called) == ("Thanks.", [], True)
