"""What JSON cannot represent is refused at every door, with one class of error and its path.

A door is a public function that takes values for a body or a file. Each gets the same bad values.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.joined import joined
from wire import Client, anthropic, gemini, openai
from wire.agent.run_state import RunState
from wire.agent.saved_runs import dump_run
from wire.core import json_values
from wire.errors import ConfigurationError, PipelineError, RuleError, SchemaError
from wire.gemini import types as g
from wire.neutral.decisions import DecideRequest, yes_no
from wire.neutral.messages import Media, Message, Text, ToolCall, ToolResult
from wire.neutral.request import Output, Request, Tool
from wire.pipeline.checkpoint import Checkpoint, context_json, dump_checkpoint
from wire.pipeline.context import Context
from wire.sessions import Session, deserialize_message, dump_session, export, serialize_message
from wire.tools.results import result_of


def cyclic() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


BAD: dict[str, Callable[[], Any]] = {
    "NaN": lambda: math.nan,
    "infinity": lambda: -math.inf,
    "lone surrogate": lambda: "a\ud83d",
    "surrogate in a key": lambda: {"\ude00": 1},
    "bytes": lambda: b"a",
    "set": lambda: {1},
    "object": object,
    "cyclic list": cyclic,
    "10,000 lists": lambda: nested(10_000),
    "key that is no text": lambda: {1: 2},
}

WORDS = {
    "NaN": "nan is not a JSON number",
    "infinity": "-inf is not a JSON number",
    "lone surrogate": "this text contains half of a surrogate pair, which UTF-8 cannot encode",
    "surrogate in a key": "a key of this object contains half of a surrogate pair",
    "bytes": "expected a JSON value, not bytes",
    "set": "expected a JSON value, not set",
    "object": "expected a JSON value, not object",
    "cyclic list": "this list contains itself",
    "10,000 lists": "nested more than 500 levels deep",
    "key that is no text": "expected a text as JSON key, not 1",
}

Door = Callable[[Any], Any]

# --- raw doors: the bad value, and where it stands in the body ------------------------------------

MODEL = "gemini-3-pro-preview"
HI = g.Content(role="user", parts=[g.Part(text="Hi")])
CALL = g.Content(role="model", parts=[g.Part(function_call=g.FunctionCall(name="f", id="c"))])


def generate(bad: Any) -> g.GenerateContentRequest:
    response = g.FunctionResponse(name="f", id="c", response={"temp": bad})
    result = g.Content(role="user", parts=[g.Part(function_response=response)])
    return g.GenerateContentRequest(contents=[HI, CALL, result])


AT = "contents[2].parts[0].functionResponse.response.temp"


def content(bad: Any) -> g.Content:
    return g.Content(parts=[g.Part(text="Hi"), g.Part(part_metadata={"temp": bad})])


PNG, WAV = b"\x89PNG\r\n\x1a\n", b"RIFF\x04\0\0\0WAVE"


def image_request(bad: Any) -> openai.ImageRequest:
    return openai.ImageRequest(model="m", prompt="A cat", provider={"a": bad})


def speech_request(bad: Any) -> openai.SpeechRequest:
    return openai.SpeechRequest(model="m", input="Hi", metadata={"a": bad})


def transcription_request(bad: Any) -> openai.TranscriptionRequest:
    return openai.TranscriptionRequest(model="m", chunking_strategy={"a": bad})


def decide_request(bad: Any) -> DecideRequest:
    return DecideRequest({"a": bad}, {"q": yes_no("It is so.")})


def chat_request(bad: Any) -> Any:
    hi = openai.Message(role="user", content="Hi")
    return openai.ChatCompletionRequest(
        model="gpt-5.4", messages=[hi], chat_template_kwargs={"temp": bad}
    )


def claude_request(bad: Any) -> Any:
    hi = anthropic.Message(role="user", content="Hi")
    block = anthropic.ContentBlock(type="tool_use", id="c", name="f", input={"temp": bad})
    called = anthropic.Message(role="assistant", content=[block])
    return anthropic.MessageRequest(model="claude-opus-4-8", max_tokens=9, messages=[hi, called])


USED = "messages[1].content[0].input.temp"

# --- neutral doors --------------------------------------------------------------------------------


def asked(bad: Any) -> Request:
    call = ToolCall(id="c", name="f")
    result = Message.tool_response(ToolResult("c", "f", [1, 2, bad]))
    return Request(messages=(Message.user("Hi"), Message.assistant([call]), result))


TOLD = "messages[2].parts[0].content[2]"

RAW: dict[str, tuple[Door, str]] = {
    "gemini.generate_content": (lambda bad: gemini.generate_content(MODEL, generate(bad)), AT),
    "gemini.stream_generate_content": (
        lambda bad: gemini.stream_generate_content(MODEL, generate(bad)),
        AT,
    ),
    "gemini.count_tokens": (
        lambda bad: gemini.count_tokens(MODEL, generate(bad)),
        f"generateContentRequest.{AT}",
    ),
    "gemini.embed_content": (
        lambda bad: gemini.embed_content("e", content(bad)),
        "content.parts[1].partMetadata.temp",
    ),
    "gemini.batch_embed_contents": (
        lambda bad: gemini.batch_embed_contents("e", ["Hi", content(bad)]),
        "requests[1].content.parts[1].partMetadata.temp",
    ),
    "gemini.create_cached_content": (
        lambda bad: gemini.create_cached_content(
            g.CachedContent(model=MODEL, contents=[content(bad)])
        ),
        "contents[0].parts[1].partMetadata.temp",
    ),
    "gemini.update_cached_content": (
        lambda bad: gemini.update_cached_content("abc", expire_time=bad),
        "expireTime",
    ),
    "gemini.create_batch": (
        lambda bad: gemini.create_batch(MODEL, [generate(bad)]),
        f"batch.inputConfig.requests.requests[0].request.{AT}",
    ),
    "gemini.create_embed_batch": (
        lambda bad: gemini.create_embed_batch("e", g.EmbedContentBatch(display_name=bad)),
        "batch.displayName",
    ),
    "gemini.update_batch": (
        lambda bad: gemini.update_batch(
            "b", g.GenerateContentBatch(display_name=bad), update_mask="displayName"
        ),
        "displayName",
    ),
    "gemini.update_embed_batch": (
        lambda bad: gemini.update_embed_batch(
            "b", g.EmbedContentBatch(display_name=bad), update_mask="displayName"
        ),
        "displayName",
    ),
    "gemini.create_file": (
        lambda bad: gemini.create_file(g.File(display_name=bad)),
        "file.displayName",
    ),
    "gemini.register_files": (lambda bad: gemini.register_files(["gs://a", bad]), "uris[1]"),
    "gemini.upload_file": (
        lambda bad: next(
            gemini.upload_file(b"a", mime_type="text/plain", display_name=bad)  # type: ignore[call-overload]
        ),
        "file.displayName",
    ),
    "gemini.upload_to_file_search_store": (
        lambda bad: next(
            gemini.upload_to_file_search_store(  # type: ignore[call-overload]
                "s", b"a", g.UploadToFileSearchStoreRequest(display_name=bad)
            )
        ),
        "displayName",
    ),
    "gemini.create_file_search_store": (
        lambda bad: gemini.create_file_search_store(g.FileSearchStore(display_name=bad)),
        "displayName",
    ),
    "gemini.import_file": (
        lambda bad: gemini.import_file("s", g.ImportFileRequest(file_name=bad)),
        "fileName",
    ),
    "gemini.predict": (
        lambda bad: gemini.predict("i", g.PredictRequest(instances=[{"temp": bad}])),
        "instances[0].temp",
    ),
    "gemini.predict_long_running": (
        lambda bad: gemini.predict_long_running("v", g.PredictRequest(parameters={"temp": bad})),
        "parameters.temp",
    ),
    "gemini.compute_tokens": (
        lambda bad: gemini.compute_tokens(MODEL, [HI, content(bad)]),
        "contents[1].parts[1].partMetadata.temp",
    ),
    "openai.chat_completions": (
        lambda bad: openai.chat_completions(chat_request(bad)),
        "chat_template_kwargs.temp",
    ),
    "openai.stream_chat_completions": (
        lambda bad: openai.stream_chat_completions(chat_request(bad)),
        "chat_template_kwargs.temp",
    ),
    "openai.embeddings": (
        lambda bad: openai.embeddings(openai.EmbeddingRequest(model="e", input=["a", bad])),
        "input[1]",
    ),
    "openai.generate_images": (
        lambda bad: openai.generate_images(image_request(bad)),
        "provider.a",
    ),
    "openai.stream_images": (lambda bad: openai.stream_images(image_request(bad)), "provider.a"),
    "openai.edit_images": (lambda bad: openai.edit_images(image_request(bad), PNG), "provider.a"),
    "openai.stream_image_edits": (
        lambda bad: openai.stream_image_edits(image_request(bad), PNG),
        "provider.a",
    ),
    "openai.speech": (lambda bad: openai.speech(speech_request(bad)), "metadata.a"),
    "openai.stream_speech": (lambda bad: openai.stream_speech(speech_request(bad)), "metadata.a"),
    "openai.transcriptions": (
        lambda bad: openai.transcriptions(transcription_request(bad), WAV),
        "chunking_strategy.a",
    ),
    "openai.stream_transcriptions": (
        lambda bad: openai.stream_transcriptions(transcription_request(bad), WAV),
        "chunking_strategy.a",
    ),
    "openai.translations": (
        lambda bad: openai.translations(transcription_request(bad), WAV),
        "chunking_strategy.a",
    ),
    "openai.decisions": (
        lambda bad: openai.decisions(
            openai.DecisionRequest(
                model="m",
                input="Hi",
                questions=[
                    openai.DecisionQuestion(
                        type="predicate",
                        instructions=[
                            openai.DecisionPart(type="input_json", data={"a": bad}),
                        ],
                    )
                ],
            )
        ),
        "questions[0].instructions[0].data.a",
    ),
    "openai.system_one": (
        lambda bad: openai.system_one(
            openai.SystemOneRequest(
                model="m",
                state={"a": bad},
                questions={"q": openai.SystemOneQuestion(type="noul", instructions="Hi")},
            )
        ),
        "state.a",
    ),
    "gemini.create_decision": (
        lambda bad: gemini.create_decision(
            g.CreateDecisionRequest(
                model="m",
                input=g.DecisionContent(type="text", text="Hi", annotations=[{"a": bad}]),
                questions={"q": g.DecisionQuestion(type="noul", instructions="Hi")},
            )
        ),
        "input.annotations[0].a",
    ),
    "gemini.decide_call": (
        lambda bad: gemini.decide_call(decide_request(bad), "gemini-decision-1"),
        "input.a",
    ),
    "openai.decide_call": (
        lambda bad: openai.decide_call(decide_request(bad), "gpt-6-luna"),
        "input.a",
    ),
    "openai.create_batch": (
        lambda bad: openai.create_batch("file-1", "/v1/responses", metadata={"a": bad}),
        "metadata.a",
    ),
    "anthropic.create_message": (lambda bad: anthropic.create_message(claude_request(bad)), USED),
    "anthropic.stream_message": (lambda bad: anthropic.stream_message(claude_request(bad)), USED),
    "anthropic.count_tokens": (lambda bad: anthropic.count_tokens(claude_request(bad)), USED),
    "anthropic.create_batch": (
        lambda bad: anthropic.create_batch(
            [anthropic.BatchRequest(custom_id="a", params=claude_request(bad))]
        ),
        f"requests[0].params.{USED}",
    ),
    "gemini.call": (lambda bad: gemini.call(asked(bad), MODEL), TOLD),
    "gemini.stream_call": (lambda bad: gemini.stream_call(asked(bad), MODEL), TOLD),
    "gemini.count_call": (lambda bad: gemini.count_call(asked(bad), MODEL), TOLD),
    "openai.call": (lambda bad: openai.call(asked(bad), "gpt-5.4"), TOLD),
    "openai.stream_call": (lambda bad: openai.stream_call(asked(bad), "gpt-5.4"), TOLD),
    "anthropic.call": (lambda bad: anthropic.call(asked(bad), "claude-opus-4-8"), TOLD),
    "anthropic.count_call": (lambda bad: anthropic.count_call(asked(bad), "claude-opus-4-8"), TOLD),
    "anthropic.stream_call": (
        lambda bad: anthropic.stream_call(asked(bad), "claude-opus-4-8"),
        TOLD,
    ),
}
"""Each public function that builds a call or a flow with a JSON body."""

NO_JSON = """
gemini: cancel_batch delete_batch delete_cached_content delete_document delete_file
gemini: delete_file_search_store download_file get_batch get_cached_content get_document
gemini: get_embed_batch get_file get_file_search_store get_model get_operation list_batches
gemini: list_cached_contents list_documents list_file_search_stores list_files list_models
gemini: wait_for_batch wait_for_embed_batch wait_for_file embed_flow models_call
openai: cancel_batch delete_file delete_model download_file get_batch get_file get_model
openai: list_batches list_files list_models upload_file wait_for_batch
openai: count_call embed_flow models_call
anthropic: batch_results cancel_batch delete_batch delete_file download_file get_batch get_file
anthropic: get_model list_batches list_files list_models upload_file embed_flow models_call
anthropic: decide_call
"""
"""Those that have no body, or one of texts alone, by wire."""


# --- all other doors ------------------------------------------------------------------------------

PLAIN_CALL = openai.chat_completions(
    openai.ChatCompletionRequest(
        model="gpt-5.4", messages=[openai.Message(role="user", content="Hi")]
    )
)


def neutral(bad_part: Callable[[Any], Message]) -> Door:
    """All three wires; the path has to be the same."""

    def door(bad: Any) -> Any:
        first = Message.user("Hi")
        message = bad_part(bad)
        request = Request(messages=(first, message))
        return each_wire(request)

    return door


def each_wire(request: Request) -> None:
    errors = []
    for wire, model in ((gemini, MODEL), (openai, "gpt-5.4"), (anthropic, "claude-opus-4-8")):
        with pytest.raises(RuleError) as caught:
            wire.call(request, model)  # type: ignore[attr-defined]
        errors.append(caught.value)
    assert len({str(error) for error in errors}) == 1
    raise errors[0]


OTHER: dict[str, tuple[Door, str]] = {
    "replace(body_extra=)": (
        lambda bad: PLAIN_CALL.replace(body_extra={"labels": {"a.b": bad}}),
        'body_extra.labels["a.b"]',
    ),
    "gemini.batch_lines": (
        lambda bad: gemini.batch_lines({"a": generate(bad)}),
        f"requests['a'].{AT}",
    ),
    "gemini.function_response": (
        lambda bad: gemini.function_response(g.FunctionCall(name="f"), {"temp": bad}),
        "function_response.response.temp",
    ),
    "gemini.contents": (
        lambda bad: gemini.contents(*(generate(bad).contents or ())),
        AT,
    ),
    "gemini.schema": (
        lambda bad: gemini.schema({"type": "object", "default": {"temp": bad}}),
        "default.temp",
    ),
    "openai.tool_message": (
        lambda bad: openai.tool_message(openai.ToolCall(id="c"), {"temp": bad}),
        "tool_message.content.temp",
    ),
    "openai.messages": (
        lambda bad: openai.messages(
            openai.Message(
                role="assistant",
                content="Hi",
                tool_calls=[openai.ToolCall(id="c", extra_content={"temp": bad})],
            )
        ),
        "turns[0].tool_calls[0].extra_content.temp",
    ),
    "tool parameters": (
        lambda bad: each_wire(
            Request(
                messages=(Message.user("Hi"),),
                tools=(Tool("f", parameters={"type": "object", "properties": {"a": bad}}),),
            )
        ),
        "tools[0].parameters.properties.a",
    ),
    "tool description": (
        lambda bad: each_wire(Request(messages=(Message.user("Hi"),), tools=(Tool("f", bad),))),
        "tools[0].description",
    ),
    "schema of the output": (
        lambda bad: each_wire(
            Request(messages=(Message.user("Hi"),), output=Output({"type": "object", "title": bad}))
        ),
        "output.schema.title",
    ),
    "temperature": (
        lambda bad: each_wire(Request(messages=(Message.user("Hi"),), temperature=bad)),
        "temperature",
    ),
    "options": (
        lambda bad: each_wire(
            Request(messages=(Message.user("Hi"),), options={"kimi@cn": {"labels": {"a": bad}}})
        ),
        "options.kimi@cn.labels.a",
    ),
    "text": (neutral(lambda bad: Message.user("Hi", Text(bad))), "messages[1].parts[1].text"),
    "arguments": (
        neutral(
            lambda bad: Message.assistant([ToolCall(id="c", name="f", arguments={"temp": bad})])
        ),
        "messages[1].parts[0].arguments.temp",
    ),
    "name of media": (
        neutral(lambda bad: Message.user(Media(data=b"a", media_type="image/png", name=bad))),
        "messages[1].parts[0].name",
    ),
    "a client's chat": (
        lambda bad: Client("gemini", api_key="fake-key").send(
            gemini.call(Request(messages=(Message.user("Hi"),), top_p=bad), MODEL)
        ),
        "top_p",
    ),
    "serialize_message": (
        lambda bad: serialize_message(Message.tool_response(ToolResult("c", "f", {"temp": bad}))),
        "message.parts[0].content.temp",
    ),
    "dump_session": (
        lambda bad: dump_session(
            [Message.user("Hi"), Message.tool_response(ToolResult("c", "f", {"temp": bad}))]
        ),
        "messages[1].parts[0].content.temp",
    ),
    "metadata of a session": (
        lambda bad: dump_session(Session((), {"temp": bad})),
        "metadata.temp",
    ),
    "export": (
        lambda bad: export([Message.tool_response(ToolResult("c", "f", {"temp": bad}))], "json"),
        "messages[0].parts[0].temp",
    ),
    "dump_run": (
        lambda bad: dump_run(RunState(messages=(Message.user(Text(bad)),), begun=0)),
        "messages[0].parts[0].text",
    ),
}

DOORS = RAW | OTHER


@pytest.mark.parametrize("kind", BAD)
@joined("door", DOORS)
def test_one_class_and_the_path_of_the_value(door: str, kind: str) -> None:
    take, path = DOORS[door]
    with pytest.raises(RuleError) as caught:
        take(BAD[kind]())
    assert type(caught.value) in (RuleError, SchemaError)
    assert [(each.path, each.message) for each in caught.value.violations] == [(path, WORDS[kind])]
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("wire", [gemini, openai, anthropic], ids=lambda wire: wire.__name__)
def test_every_public_builder_of_a_call_is_a_door(wire: ModuleType) -> None:
    name = wire.__name__.rpartition(".")[2]
    built = {
        f"{name}.{each}"
        for each in wire.__all__
        if inspect.isfunction(builder := getattr(wire, each))
        and str(builder.__annotations__.get("return", "")).startswith(
            ("Call[", "StreamCall[", "Flow[")
        )
    }
    bodiless = {
        f"{name}.{each}"
        for line in NO_JSON.split("\n")
        if line.startswith(f"{name}: ")
        for each in line.split()[1:]
    }
    assert built == bodiless | {door for door in RAW if door.startswith(f"{name}.")}


# --- doors of other rooms: their own class of error, the same path --------------------------------

ROOMS: dict[str, tuple[Door, type[Exception], str]] = {
    "a context": (lambda bad: Context({"a": {"temp": bad}}), PipelineError, "context: a.temp"),
    "a checkpoint": (
        lambda bad: dump_checkpoint(Checkpoint(last_node_id="n", data={"a": [bad]})),
        PipelineError,
        "context: a[0]",
    ),
    "a context as a file": (
        lambda bad: context_json({"a": [bad]}),
        PipelineError,
        "context: a[0]",
    ),
    "a message out of JSON": (
        lambda bad: deserialize_message({"role": "user", "parts": [bad]}),
        ConfigurationError,
        "message.parts[0]",
    ),
}


@joined("kind", BAD)
@joined("room", ROOMS)
def test_other_rooms_name_the_same_path(room: str, kind: str) -> None:
    take, error, path = ROOMS[room]
    with pytest.raises(error) as caught:
        take(BAD[kind]())
    if kind == "10,000 lists":  # a list in a list: where the nesting begins is the outer one
        path = path.removesuffix("[0]")
    # A file may have ten levels of its own around a value.
    assert str(caught.value).replace(" 510 ", " 500 ") == f"{path}: {WORDS[kind]}"


@pytest.mark.parametrize("bad", [math.nan, math.inf], ids=str)
def test_a_tool_result_names_the_path_to_the_model(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^\$\.days\[1\]: (nan|inf) is not a JSON number$"):
        result_of(ToolCall(name="f"), {"days": [1, bad]})


# --- what JSON can represent ----------------------------------------------------------------------


def test_what_is_sound_is_sent_as_it_is() -> None:
    whole = {"big": 2**200, "text": "🌊 \x00", "deep": nested(400), "none": None, "": [(), {}]}
    call = gemini.generate_content(MODEL, generate(whole), checked=False)
    assert b'"big":%d,"text":"\xf0\x9f\x8c\x8a \\u0000"' % 2**200 in call.body
    assert b'"none":null,"":[[],{}]' in call.body


def test_sound_values_are_not_walked_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read back as it was written needs no search for a path."""

    def search(*_: object) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr(json_values, "_Search", search)
    plain = {"temp": [1.5, -0.0, 1e300, None, True, "\u00e4"], "": {"a.b": {}}}
    for wire, model in ((gemini, MODEL), (openai, "gpt-5.4"), (anthropic, "claude-opus-4-8")):
        wire.call(asked(plain), model)  # type: ignore[attr-defined]
    gemini.generate_content(MODEL, generate(plain), checked=False)
    PLAIN_CALL.replace(body_extra=plain)
    dump_session([Message.tool_response(ToolResult("c", "f", plain))])
    with pytest.raises(AssertionError, match="searched"):
        PLAIN_CALL.replace(body_extra={"temp": math.nan})
