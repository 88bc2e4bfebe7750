"""All public callables with sound arguments, and calls of them with bad ones.

`callables` has each function, constructor, method and property that docs/public.md promises, by
name. A bad call has sound arguments, of which one or two are replaced by a value of `NASTY`, or by
a sound struct with such a value in one of its fields.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import datetime
import decimal
import enum
import functools
import importlib
import inspect
import math
import random
import sys
import types
import typing
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import httpx
import msgspec

import wire
from tests.test_bad_values import BAD
from tests.test_public import SECTIONS
from wire import anthropic, around, converse, gemini, ollama, openai
from wire.core.flow import FlowRun
from wire.core.lenient import Unreadable
from wire.errors import WireError
from wire.gemini import interactions
from wire.neutral.messages import Message, Text, ToolCall, ToolResult
from wire.neutral.request import Request
from wire.neutral.serving import ReceivedRequest, ResponseHead
from wire.openai import responses
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

KEY = "fake-key"
GEMINI, GPT, CLAUDE = "gemini-3.8-flash", "gpt-5.4", "claude-opus-4-8"


class HostileError(Exception):
    """Raised by the methods of hostile values; no caller may see it."""


class Hostile:
    """A value whose special methods raise."""

    def _fail(self, *_: object) -> Any:
        raise HostileError("hostile")

    __repr__ = __str__ = __eq__ = __len__ = __iter__ = __bool__ = __getitem__ = _fail
    __contains__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __format__ = __index__ = _fail
    __int__ = __float__ = __enter__ = __exit__ = __fspath__ = __next__ = _fail  # type: ignore[assignment]
    __hash__ = object.__hash__


class OwnText(str):
    """A subclass of str."""


class OwnInt(int):
    """A subclass of int."""


class OwnDict(dict[Any, Any]):
    """A subclass of dict."""


class Colour(enum.Enum):
    """An enum."""

    RED = "red"


def cyclic_dict() -> dict[str, Any]:
    loop: dict[str, Any] = {}
    loop["properties"] = {"a": loop}
    loop["items"] = loop
    return loop


def generated() -> Iterator[int]:
    yield 1
    raise HostileError("hostile")


async def agenerated() -> Any:
    yield 1


class GivenError(ValueError):
    """An exception that is an argument."""


NASTY: dict[str, Callable[[], Any]] = {
    **BAD,
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "zero": lambda: 0,
    "one": lambda: 1,
    "-1": lambda: -1,
    "1.5": lambda: 1.5,
    "huge": lambda: 10**400,
    "5,000 digits": lambda: 10**5000,
    "huge float": lambda: 1e308,
    "empty text": lambda: "",
    "text": lambda: "text",
    "texts": lambda: ["Hi"],
    "text with NUL": lambda: "a\0b",
    "text with lines": lambda: "a\r\nb: c",
    "dotted text": lambda: "../a.b[0]",
    "false": lambda: "false",
    "100": lambda: "100",
    "long text": lambda: "a" * 20_000,
    "JSON text": lambda: '{"a": [1]}',
    "own text": lambda: OwnText("own"),
    "own int": lambda: OwnInt(7),
    "own dict": lambda: OwnDict(a=1),
    "empty list": list,
    "list": lambda: [1, None, "a", {}],
    "list of text": lambda: ["a", "b"],
    "empty dict": dict,
    "dict": lambda: {"a": 1, "type": "object", "role": "user", "name": None},
    "dict of None": lambda: {None: None},
    "dict cyclic": cyclic_dict,
    "10,000 dicts": lambda: functools.reduce(lambda inner, _: {"a": inner}, range(10_000), {}),
    "tuple": lambda: ("a", 1),
    "empty tuple": tuple,
    "empty bytes": lambda: b"",
    "bytearray": lambda: bytearray(b"a"),
    "memoryview": lambda: memoryview(b"a"),
    "frozenset": lambda: frozenset({"a"}),
    "generator": lambda: (each for each in ("a", 1)),
    "failing generator": generated,
    "range": lambda: range(3),
    "lambda": lambda: lambda: None,
    "lambda of all": lambda: lambda *_, **__: None,
    "hostile": Hostile,
    "list of hostile": lambda: [Hostile()],
    "dict of hostile": lambda: {"a": Hostile()},
    "class": lambda: int,
    "struct class": lambda: Message,
    "module": lambda: math,
    "complex": lambda: 1j,
    "decimal": lambda: decimal.Decimal("1.5"),
    "decimal NaN": lambda: decimal.Decimal("NaN"),
    "date": lambda: datetime.datetime(2026, 1, 1),
    "timedelta": lambda: datetime.timedelta(1),
    "uuid": lambda: uuid.UUID(int=1),
    "path": lambda: Path("none/such"),
    "enum": lambda: Colour.RED,
    "enum class": lambda: Colour,
    "exception": lambda: GivenError("x"),
    "ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "UNSET": lambda: msgspec.UNSET,
    "NODEFAULT": lambda: msgspec.NODEFAULT,
    "raw": lambda: msgspec.Raw(b"{"),
    "generic": lambda: list[int],
    "coroutine function": lambda: asyncio.sleep,
    "Gemini's content": lambda: gemini.types.Content(parts=[gemini.types.Part(text="Hi")]),
    "Gemini's request": lambda: gemini.types.GenerateContentRequest(contents=[]),
    "request of Responses": lambda: responses.ResponseRequest(model=GPT, input=[]),
    "OpenAI's request": lambda: openai.ChatCompletionRequest(model=GPT, messages=[]),
    "Anthropic's request": lambda: anthropic.MessageRequest(
        model=CLAUDE, max_tokens=1, messages=[]
    ),
    "text part": lambda: Text("Hi"),
    "message": lambda: Message.user("Hi"),
    "messages": lambda: [Message.user("Hi"), Message.assistant("Ho")],
    "bad part": lambda: Text(5),  # type: ignore[arg-type]
    "bad call": lambda: ToolCall(id=5, name=[], arguments=7),  # type: ignore[arg-type]
    "bad result": lambda: ToolResult(None, {}, b"a", 5, 5),  # type: ignore[arg-type]
    "bad message": lambda: Message("assistant", (Text(5), ToolCall(name=5, arguments=5))),  # type: ignore[arg-type]
    "client": lambda: wire.Client("gemini", api_key=KEY, http=httpx.MockTransport(ok)),
    "retry": wire.Retry,
}


def ok(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={})


# --- sound arguments ------------------------------------------------------------------------------


def now(value: int) -> int:
    """A number."""
    return value


def hi() -> Message:
    return Message.user("Hi")


def call() -> ToolCall:
    return ToolCall(id="c", name="now", arguments={"value": 1})


def result() -> ToolResult:
    return ToolResult("c", "now", "1")


def conversation() -> list[Message]:
    return [hi(), Message.assistant("Ho", call()), Message.tool_response(result())]


def reply() -> wire.Reply:
    return wire.Reply(Message.assistant("Ho"), wire.Stop("end"))


def request() -> wire.Request:
    return wire.Request(messages=tuple(conversation()), tools=(wire.tool(now),))


def model_call() -> Any:
    return gemini.get_model("gemini-3.8-flash")


def gemini_request() -> Any:
    return gemini.GenerateContentRequest(contents=gemini.contents("Hi"))


def sound_of_speech() -> Any:
    return wire.Media(data=b"RIFF\x04\0\0\0WAVE", media_type="audio/wav")


def chat_request() -> Any:
    return openai.ChatCompletionRequest(
        model=GPT, messages=[openai.Message(role="user", content="Hi")]
    )


def responses_request() -> Any:
    return responses.ResponseRequest(model=GPT, input="Hi")


def claude_request() -> Any:
    hi = anthropic.Message(role="user", content="Hi")
    return anthropic.MessageRequest(model=CLAUDE, max_tokens=9, messages=[hi])


def chat() -> wire.Chat:
    return wire.Chat(f"gemini:{GEMINI}", api_key=KEY, http=EmulatorTransport(), retry=None)


def async_chat() -> wire.AsyncChat:
    return wire.AsyncChat(
        f"gemini:{GEMINI}", api_key=KEY, http=AsyncEmulatorTransport(), retry=None
    )


def toolbox() -> Any:
    return importlib.import_module("wire.tools").Toolbox([now])


def state() -> Any:
    return importlib.import_module("wire.agent").RunState(messages=(hi(),), begun=1)


def steps() -> Any:
    return importlib.import_module("wire.agent").Steps(state(), toolbox())


def ready() -> Any:
    return toolbox().prepare(call())


def tool_run() -> Any:
    return toolbox().finish(ready(), 1)


def graph() -> Any:
    return importlib.import_module("wire.pipeline").parse(DOT)


def context_cache() -> Any:
    return gemini.ContextCache(GEMINI, gemini_request())


def policy() -> Any:
    return importlib.import_module("wire.agent").CachePolicy()


def gemini_answer() -> Any:
    part = gemini.types.Part(text="Hi")
    candidate = gemini.types.Candidate(
        content=gemini.types.Content(parts=[part], role="model"), finish_reason="STOP"
    )
    return gemini.GenerateContentResponse(candidates=[candidate])


def chat_answer() -> Any:
    choice = openai.Choice(
        index=0, message=openai.Message(role="assistant", content="Hi"), finish_reason="stop"
    )
    return openai.ChatCompletion(id="c", model=GPT, choices=[choice])


def claude_answer() -> Any:
    block = anthropic.ContentBlock(type="text", text="Hi")
    return anthropic.MessageResponse(
        id="m", model=CLAUDE, role="assistant", content=[block], stop_reason="end_turn"
    )


NOVA = "amazon.nova-2-lite-v1:0"


def converse_request() -> Any:
    hi = converse.Message(role="user", content=[converse.ContentBlock(text="Hi")])
    return converse.ConverseRequest(messages=[hi])


def ollama_request() -> Any:
    hi = ollama.Message(role="user", content="Hi")
    return ollama.ChatRequest(model="qwen3", messages=[hi])


def ollama_answer() -> Any:
    hi = ollama.Message(role="assistant", content="Hi")
    return ollama.ChatResponse(message=hi, done=True, done_reason="stop")


def converse_count() -> Any:
    prompt = converse.ConverseTokensRequest(messages=converse_request().messages)
    return converse.CountTokensRequest(input=converse.CountTokensInput(converse=prompt))


def interaction_request() -> Any:
    return interactions.InteractionRequest(model=GEMINI, input="Hi")


def interaction() -> Any:
    hi = interactions.types.Content(type="text", text="Hi")
    step = interactions.types.Step(type="model_output", content=[hi])
    return interactions.Interaction(status="completed", steps=[step])


def converse_answer() -> Any:
    hi = converse.Message(role="assistant", content=[converse.ContentBlock(text="Hi")])
    return converse.ConverseResponse(
        output=converse.types.ConverseOutput(message=hi), stop_reason="end_turn"
    )


def gemini_call() -> Any:
    return gemini.generate_content(GEMINI, gemini_request())


def flow() -> Any:
    return gemini.wait_for_file(gemini.types.File(name="files/a", state="ACTIVE"))


def cassette() -> Path:
    """A recorded file, in the current folder."""
    path = Path("recorded.json")
    if not path.exists():
        record = modules()["testing"].Record(EmulatorTransport(), path)
        with wire.Client("gemini", api_key=KEY, http=record) as client:
            client.send(gemini.list_models())
    return path


def catalogue_file() -> Path:
    """A catalogue of no models, in the current folder."""
    path = Path("catalogue.json")
    path.write_text('{"format": 1, "date": "2026-11-23", "sources": {}, "models": []}', "utf-8")
    return path


def listed_models(http: Any) -> Any:
    """What `cassette` has recorded."""
    with wire.Client("gemini", api_key=KEY, http=http, retry=None) as client:
        return client.send(gemini.list_models())


async def alisted_models(http: Any) -> Any:
    async with wire.AsyncClient("gemini", api_key=KEY, http=http, retry=None) as client:
        return await client.send(gemini.list_models())


def visit() -> Any:
    pipeline = importlib.import_module("wire.pipeline")
    return pipeline.Visit(
        node=next(iter(graph().nodes.values())),
        context=importlib.import_module("wire.pipeline.context").Context(),
        graph=graph(),
        workdir=Path(),
        model="",
        models={},
        ask=asyncio.sleep,
        branches=asyncio.sleep,
        now=str,
        report=None,
    )


DOT = 'digraph g { start; say [type=set, key=a, value="Hi"]; exit; start -> say -> exit }'
SCHEMA = {"type": "object", "properties": {"value": {"type": "integer"}}}


class McpEvents:
    """A subscription that ends at once."""

    honored: ClassVar[dict[str, bool]] = {"toolsListChanged": True}

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *problem: object) -> None:
        pass

    async def __anext__(self) -> Any:
        raise StopAsyncIteration


class McpSession:
    """A session with one tool."""

    def list_resources(self) -> Any:
        return []

    def read_resource(self, uri: str) -> Any:
        return {"contents": []}

    def list_prompts(self) -> Any:
        return []

    def get_prompt(self, name: str, arguments: Any) -> Any:
        return {"messages": []}

    def listen(self, **filter: Any) -> Any:
        return McpEvents()

    def list_tools(self) -> Any:
        return [{"name": "now"}]

    def call_tool(self, name: str, arguments: Any) -> Any:
        return {"content": []}


async def no_tools() -> list[Any]:
    return []


BY_NAME: dict[str, Callable[[], Any]] = {
    "answer": gemini_answer,
    "api_key": lambda: KEY,
    "base_url": lambda: "https://example.com/v1",
    "batch": lambda: "batches/a",
    "batch_id": lambda: "batch_1",
    "begun": lambda: 1,
    "body": lambda: b"{}",
    "cache": context_cache,
    "calls": lambda: [call()],
    "chat": chat,
    "client": lambda: None,
    "clients": lambda: {"gemini": chat().client},
    "config": lambda: wire.LLMConfig(api_key=KEY),
    "context": lambda: None,
    "counts": dict,
    "before": dict,
    "data": lambda: b"{}",
    "default": lambda: "gemini",
    "dice": random.Random,
    "emulator": Emulator,
    "error": lambda: None,
    "factory": lambda: lambda *_: None,
    "file": lambda: "files/a",
    "flow": flow,
    "func": lambda: now,
    "function": lambda: now,
    "graph": graph,
    "host": lambda: "example.com",
    "http": EmulatorTransport,
    "inner": EmulatorTransport,
    "key_variable": lambda: "A_KEY",
    "key_required": lambda: True,
    "lower": lambda: lambda: 1,
    "message": hi,
    "messages": conversation,
    "models": dict,
    "ask": lambda: asyncio.sleep,
    "branches": lambda: asyncio.sleep,
    "mime_type": lambda: "text/plain",
    "model": lambda: f"gemini:{GEMINI}",
    "name": lambda: "now",
    "node": lambda: next(iter(graph().nodes.values())),
    "old": hi,
    "new": hi,
    "path": lambda: "new.json",
    "parameters": lambda: SCHEMA,
    "prompt": lambda: "Hi",
    "parts": lambda: "Hi",
    "provider": lambda: "gemini",
    "ready": ready,
    "reason": lambda: "end",
    "reply": reply,
    "requests": lambda: [gemini_request()],
    "result": lambda: 1,
    "results": lambda: [result()],
    "role": lambda: "user",
    "runs": lambda: [tool_run()],
    "script": lambda: None,
    "session": conversation,
    "signature": lambda: wire.tool(now).signature,
    "source": lambda: b'{"llm": {}}',
    "state": state,
    "status": lambda: 429,
    "steps": steps,
    "stop": lambda: wire.Stop("end"),
    "store": lambda: "fileSearchStores/a",
    "struct": gemini_answer,
    "text": lambda: "text",
    "texts": lambda: ["Hi"],
    "tool": lambda: wire.tool(now),
    "toolbox": toolbox,
    "tools": lambda: [now],
    "turns": lambda: "Hi",
    "update_mask": lambda: "displayName",
    "uris": lambda: ["gs://a/b"],
    "url": lambda: "https://example.com",
    "user_input": lambda: "Hi",
    "wire": lambda: "gemini",
    "method": lambda: "GET",
    "target": lambda: "/v1beta/models",
    "headers": dict,
    "keys": lambda: {"mood": "calm"},
    "chunk": gemini_answer,
    "hook": lambda: "approve",
    "attempt": lambda: 1,
    "seconds": lambda: 1.0,
    "now": lambda: 1.0,
    "limit": lambda: 10,
    "added": lambda: now,
    "shared": gemini_request,
    "policy": policy,
    "tool_only": lambda: 1,
    "id": lambda: "c",
    "definitions": lambda: {"name": "f"},
    "betas": lambda: (),
    "display_name": lambda: "a",
    "content": lambda: "text",
    "llm": lambda: wire.LLMConfig(api_key=KEY),
    "env": lambda: {},
    "types": lambda: None,
    "row": lambda: importlib.import_module("wire.pipeline").NodeType("new", handler=now),
    "type": lambda: "new",
    "handler": lambda: now,
    "severity": lambda: "error",
    "rule": lambda: "rule",
    "checkpoint": lambda: importlib.import_module("wire.pipeline.checkpoint").Checkpoint(
        last_node_id="say", data={}
    ),
    "variables": lambda: {"a": "b"},
    "sent": lambda: None,
    "events": lambda: iter(()),
    "port": lambda: 0,
    "pieces": lambda: [b""],
    "encode": lambda: bytes,
    "parse": lambda: bytes,
    "read_error": lambda: gemini.parse_error,
    "reader": lambda: lambda _: None,
    "fold": lambda: lambda _: None,
    "fallback": lambda: None,
    "position": lambda: None,
    "exit": lambda: "exit",
    "start": lambda: "start",
    "field": lambda: "",
    "schema": lambda: SCHEMA,
    "key": lambda: "a",
    "built": gemini_answer,
    "event": lambda: wire.TextDelta("Hi"),
    "call": gemini_call,
    "visit": lambda: None,
    "workdir": Path,
    "request": lambda: httpx.Request(
        "GET", "https://generativelanguage.googleapis.com/v1beta/models"
    ),
}
"""Name of a parameter to a sound argument."""

SOUND: dict[str, Callable[[], Any]] = {
    "chat.CallsCancelled.ids": lambda: ("c1",),
    "chat.Refused.error": lambda: wire.errors.APIError("no"),
    "anthropic.check.request": claude_request,
    "anthropic.count_tokens.request": claude_request,
    "anthropic.create_batch.requests": lambda: [
        anthropic.BatchRequest(custom_id="a", params=claude_request())
    ],
    "anthropic.create_message.request": claude_request,
    "anthropic.parse_reply.response": claude_answer,
    "anthropic.stream_message.request": claude_request,
    "anthropic.EventReader.feed.event": lambda: anthropic.MessageStreamEvent(type="ping"),
    "ollama.check.request": ollama_request,
    "ollama.chat.request": ollama_request,
    "ollama.stream_chat.request": ollama_request,
    "ollama.generate.request": lambda: ollama.GenerateRequest(model="qwen3", prompt="Hi"),
    "ollama.stream_generate.request": lambda: ollama.GenerateRequest(model="qwen3", prompt="Hi"),
    "ollama.embed.request": lambda: ollama.EmbedRequest(model="a", input="Hi"),
    "ollama.show_model.request": lambda: ollama.ShowRequest(model="qwen3"),
    "ollama.pull_model.request": lambda: ollama.PullRequest(model="qwen3"),
    "ollama.stream_pull.request": lambda: ollama.PullRequest(model="qwen3"),
    "ollama.delete_model.request": lambda: ollama.DeleteRequest(model="qwen3"),
    "ollama.model_facts.shown": ollama.ShowResponse,
    "ollama.parse_reply.response": ollama_answer,
    "ollama.EventReader.feed.line": ollama.ChatResponse,
    "ollama.models_call.cursor": str,
    "gemini.interactions.check.request": interaction_request,
    "gemini.interactions.create_interaction.request": interaction_request,
    "gemini.interactions.stream_interaction.request": interaction_request,
    "gemini.interactions.parse_reply.interaction": interaction,
    "gemini.interactions.create_agent.agent": interactions.types.Agent,
    "gemini.interactions.create_environment.request": interactions.types.CreateEnvironmentRequest,
    "gemini.interactions.create_trigger.request": interactions.types.CreateTriggerRequest,
    "gemini.interactions.create_webhook.request": interactions.types.CreateWebhookRequest,
    "gemini.interactions.update_trigger.update": interactions.types.TriggerUpdate,
    "gemini.interactions.update_webhook.update": interactions.types.WebhookUpdate,
    "gemini.interactions.rotate_signing_secret.request": interactions.types.RotateSecretRequest,
    "gemini.interactions.EventReader.feed.event": interactions.InteractionEvent,
    "gemini.interactions.models_call.cursor": str,
    "gemini.interactions.stream_again.last_event_id": str,
    "converse.check.request": converse_request,
    "converse.converse.request": converse_request,
    "converse.converse_stream.request": converse_request,
    "converse.count_tokens.request": converse_count,
    "converse.embed.request": lambda: converse.types.TitanEmbedRequest(input_text="Hi"),
    "converse.parse_reply.response": converse_answer,
    "converse.EventReader.feed.event": converse.ConverseStreamEvent,
    "converse.models_call.cursor": str,
    "gemini.models_call.cursor": str,
    "openai.models_call.cursor": str,
    "openai.responses.models_call.cursor": str,
    "anthropic.models_call.cursor": str,
    "gemini.batch_lines.requests": lambda: {"a": gemini_request()},
    "gemini.check.request": gemini_request,
    "gemini.compute_tokens.request": lambda: gemini.contents("Hi"),
    "gemini.ContextCache.apply.request": gemini_request,
    "gemini.ContextCache.call.request": gemini_request,
    "gemini.ContextCache.generate.request": gemini_request,
    "gemini.ContextCache.shortened.call": gemini_call,
    "gemini.count_tokens.request": gemini_request,
    "gemini.create_cached_content.cache": lambda: gemini.types.CachedContent(
        model=GEMINI, contents=gemini.contents("Hi")
    ),
    "gemini.create_embed_batch.batch": gemini.types.EmbedContentBatch,
    "gemini.create_file.file": gemini.types.File,
    "gemini.create_file_search_store.store": gemini.types.FileSearchStore,
    "gemini.embed_content.request": lambda: "Hi",
    "gemini.function_response.call": lambda: gemini.types.FunctionCall(name="f"),
    "gemini.generate_content.request": gemini_request,
    "gemini.import_file.request": gemini.types.ImportFileRequest,
    "gemini.parse_reply.response": gemini_answer,
    "gemini.predict.request": gemini.types.PredictRequest,
    "gemini.predict_long_running.request": gemini.types.PredictRequest,
    "gemini.schema.source": lambda: SCHEMA,
    "gemini.stream_generate_content.request": gemini_request,
    "gemini.update_batch.batch": gemini.types.GenerateContentBatch,
    "gemini.update_embed_batch.batch": gemini.types.EmbedContentBatch,
    "gemini.upload_to_file_search_store.request": gemini.types.UploadToFileSearchStoreRequest,
    "openai.chat_completions.request": chat_request,
    "openai.check.request": chat_request,
    "openai.decisions.request": lambda: openai.DecisionRequest(
        model="m",
        input="Hi",
        questions=[openai.DecisionQuestion(type="predicate", instructions="A")],
    ),
    "openai.system_one.request": lambda: openai.SystemOneRequest(
        model="m",
        state="Hi",
        questions={"q": openai.SystemOneQuestion(type="noul", instructions="A")},
    ),
    "gemini.create_decision.request": lambda: gemini.types.CreateDecisionRequest(
        model="m",
        input="Hi",
        questions={"q": gemini.types.DecisionQuestion(type="noul", instructions="A")},
    ),
    "wire.Question.kind": lambda: "yes_no",
    "wire.Decision.kind": lambda: "yes_no",
    "wire.Decisions.answers": dict,
    "wire.one_of.options": lambda: ["a", "b"],
    "wire.scale.levels": lambda: ["a", "b"],
    "wire.Question.instructions": lambda: "A",
    "wire.yes_no.instructions": lambda: "A",
    "wire.one_of.instructions": lambda: "A",
    "wire.scale.instructions": lambda: "A",
    "openai.types.DecisionRequest.model": lambda: "m",
    "openai.types.DecisionRequest.input": lambda: "Hi",
    "openai.types.DecisionRequest.questions": list,
    "openai.types.SystemOneRequest.model": lambda: "m",
    "openai.types.SystemOneRequest.state": lambda: "Hi",
    "openai.types.SystemOneRequest.questions": dict,
    **{
        f"openai.{name}.request": lambda: openai.ImageRequest(model="m", prompt="A cat", images=[])
        for name in ("generate_images", "stream_images", "edit_images", "stream_image_edits")
    },
    **{
        f"openai.{name}.request": lambda: openai.SpeechRequest(model="m", input="Hi", voice="a")
        for name in ("speech", "stream_speech")
    },
    **{
        f"openai.{name}.request": lambda: openai.TranscriptionRequest(model="m")
        for name in ("transcriptions", "stream_transcriptions", "translations")
    },
    **{
        f"wire.{client}.{method}.{name}": value
        for client in ("Client", "AsyncClient")
        for method, model, name, value in (
            ("image", "gpt-image-2", "prompt", lambda: "A cat"),
            ("stream_image", "gpt-image-2", "prompt", lambda: "A cat"),
            ("speak", "gpt-4o-mini-tts", "text", lambda: "Hi"),
            ("stream_speech", "gpt-4o-mini-tts", "text", lambda: "Hi"),
            ("transcribe", "whisper-1", "sound", sound_of_speech),
            ("stream_transcript", "whisper-1", "sound", sound_of_speech),
        )
    },
    "wire.transcribe.sound": lambda: sound_of_speech(),
    "wire.TranscriptRequest.sound": lambda: sound_of_speech(),
    "wire.ImageRequest.prompt": lambda: "A cat",
    "wire.image.prompt": lambda: "A cat",
    "wire.PartialImage.media": lambda: sound_of_speech(),
    "wire.PartialImage.index": lambda: 0,
    "wire.Speech.media": lambda: sound_of_speech(),
    "wire.Images.media": tuple,
    "openai.embeddings.request": lambda: openai.EmbeddingRequest(model="e", input="Hi"),
    "openai.EventReader.feed.chunk": chat_answer,
    "openai.parse_reply.response": chat_answer,
    "openai.stream_chat_completions.request": chat_request,
    "openai.tool_message.call": lambda: openai.ToolCall(id="c"),
    "sessions.deserialize_message.data": lambda: {"role": "user", "parts": []},
    "sessions.load_session.source": lambda: b"[]",
    "agent.load_run.source": lambda: b"{}",
    "wire.ProviderEvent.data": dict,
    "wire.Client.embed.model": lambda: "gemini-embedding-001",
    "wire.AsyncClient.embed.model": lambda: "gemini-embedding-001",
    "wire.Embeddings.vectors": lambda: ([0.5],),
    "wire.FunctionResponse.response": dict,
    "wire.ServerTool.kind": lambda: "code",
    "wire.file_search.stores": lambda: ["fileSearchStores/a"],
    "catalogue.load.path": catalogue_file,
    "catalogue.use.catalogue": lambda: None,
    "catalogue.Catalogue.rows": tuple,
    "catalogue.Catalogue.sources": dict,
    "catalogue.Catalogue.model.name": lambda: GEMINI,
    "catalogue.Catalogue.save.path": lambda: "saved.json",
    "catalogue.Price.applies.tokens": lambda: 1,
    "catalogue.Model.source.figure": lambda: "prices",
    "wire.model.name": lambda: GEMINI,
    "wire.Chat.model": lambda: f"gemini:{GEMINI}",
    "wire.Client.name": lambda: "gemini",
    "wire.AsyncClient.name": lambda: "gemini",
    "wire.Client.stream.call": lambda: gemini.stream_generate_content(GEMINI, gemini_request()),
    "wire.AsyncClient.stream.call": lambda: gemini.stream_generate_content(
        GEMINI, gemini_request()
    ),
    "wire.Call.judge.provider": lambda: wire.Client("gemini").row,
    "wire.LLMAgent.provider": async_chat,
    "gateway.Gateway.backend": async_chat,
    "wire.Agent.model": chat,
    "wire.GeminiAgent.provider": async_chat,
    "wire.Toolbox.tools": lambda: [now],
    "wire.Retry.wait.error": WireError,
    "agent.AsyncCachedChat.chat": async_chat,
    "agent.CachedChat.lost.error": WireError,
    "agent.CachedChat.prepared.call": gemini_call,
    "agent.CachedChat.noted_event.event": lambda: wire.TextDelta("Hi"),
    "pipeline.parse.text": lambda: DOT,
    "pipeline.parse.source": lambda: DOT,
    "providers.unlisted.name": lambda: "host",
    "tools.Toolbox.finish.value": lambda: 1,
    "tools.Ready.run": lambda: lambda: 1,
    "tools.Ready.is_async": lambda: False,
    "openai.types.EmbeddingRequest.input": lambda: "Hi",
    "openai.responses.check.request": responses_request,
    "openai.responses.create_response.request": responses_request,
    "openai.responses.stream_response.request": responses_request,
    "openai.responses.count_input_tokens.request": responses_request,
    "openai.responses.compact.request": lambda: responses.CompactRequest(model=GPT, input="Hi"),
    "openai.responses.create_conversation.request": lambda: responses.ConversationRequest(),
    "openai.responses.update_conversation.metadata": lambda: {"a": "b"},
    "openai.responses.EventReader.feed.event": lambda: responses.StreamEvent(type="error"),
    "openai.responses.EventReader.close.reply": reply,
    "openai.responses.parse_reply.response": lambda: responses.Response(output=[]),
    "anthropic.types.BatchRequest.params": claude_request,
    "wire.ObjectDelta.value": lambda: {"city": "Bergen"},
    "wire.FallbackChat.models": lambda: [chat()],
    "wire.AsyncFallbackChat.models": lambda: [async_chat()],
    "wire.Request.messages": lambda: (hi(),),
    "around.Outgoing.call": model_call,
    "around.Change.call": model_call,
    "around.HeadReceived.headers": dict,
    "around.AttemptFailed.wait": lambda: None,
    "around.CallFailed.account": lambda: None,
    "around.CallEnded.result": reply,
    "around.Give.result": reply,
    "around.Signal.when_set.wake": lambda: bool,
    "around.Signal.forget.wake": lambda: bool,
    "tools.Toolbox.replace.old": lambda: [],
    "tools.Toolbox.replace.new": lambda: [wire.tool(now, name="later")],
    "tools.mcp.tools.session": McpSession,
    "tools.mcp.tools_in_threads.session": McpSession,
    "tools.mcp.ServerFunction.session": McpSession,
    "tools.mcp.resources.session": McpSession,
    "tools.mcp.read_resource.session": McpSession,
    "tools.mcp.prompts.session": McpSession,
    "tools.mcp.get_prompt.session": McpSession,
    "tools.mcp.follow.session": McpSession,
    "tools.mcp.follow.toolbox": lambda: modules()["tools"].Toolbox(),
    "tools.mcp.follow.list_tools": lambda: no_tools,
    "tools.mcp.InputRequest.params": dict,
    "tools.mcp.ToolChange.tools": tuple,
    "tools.mcp.ServerFunction.definition": lambda: {"name": "now"},
    "testing.AsyncCache.folder": lambda: "cache",
    "testing.Cache.folder": lambda: "cache",
    "testing.ComparedRequest.query": tuple,
    "testing.Drifted.change": lambda: modules()["testing"].Change("$.a", "1", "2"),
    "testing.stable.value": lambda: {"id": "a"},
    "testing.Difference.recorded": lambda: "1",
    "testing.Difference.sent": lambda: "2",
    "testing.SweepFailure.kind": lambda: "hang",
    "testing.SweepFailure.place": lambda: "interactions[0]",
    "testing.SweepFailure.detail": lambda: "None",
    "testing.SweepReport.runs": lambda: 1,
    "testing.sweep.path": lambda: cassette(),
    "testing.sweep.function": lambda: listed_models,
    "testing.async_sweep.path": lambda: cassette(),
    "testing.async_sweep.function": lambda: alisted_models,
    "auth.Bearer.token": lambda: KEY,
    "auth.EntraCertificate.client": lambda: "my-client",
    "auth.EntraCertificate.path": lambda: "application.pem",
    "auth.EntraSecret.client": lambda: "my-client",
    "auth.Callback.function": lambda: str,
    "auth.Chain.sources": lambda: (wire.auth.Bearer(KEY),),
    "auth.EntraSecret.secret": lambda: KEY,
    "auth.HeaderKey.key": lambda: KEY,
    "auth.SigV4.secret_access_key": lambda: KEY,
}
"""`module.callable.parameter` to a sound argument, where the name alone does not decide."""

BY_TYPE: dict[str, Callable[[], Any]] = {
    "Part | Sequence[Part]": lambda: "Hi",
    "Mapping[str, Question]": lambda: {"q": wire.yes_no("It is so.")},
    "DecideRequest": lambda: importlib.import_module("wire.neutral.decisions").DecideRequest(
        "Hi", {"q": wire.yes_no("It is so.")}
    ),
    "EmbedRequest": lambda: importlib.import_module("wire.neutral.embeddings").EmbedRequest("Hi"),
    "Account": lambda: wire.Account(),
    "Rows": lambda: [{"prompt": "Hi"}],
    "Signal": lambda: around.Signal(),
    "bytes": lambda: b"{}",
    "Callable[[], object]": lambda: list,
    "Callable[[Change], object]": lambda: list,
    "Callable[[str], str]": lambda: str,
    "Request": request,
    "Message": hi,
    "ToolCall": call,
    "chat.ToolCall": call,
    "ToolResult": result,
    "Reply": reply,
    "ReceivedRequest": lambda: ReceivedRequest(request=Request(messages=(Message.user("Hi"),))),
    "ResponseHead": lambda: ResponseHead(id="1", model="m", created=0),
    "Usage": lambda: wire.Usage(input=1),
    "Compacted": lambda: wire.history.Compacted(1, "a"),
    "datetime": lambda: datetime.datetime(2026, 11, 23),
    "WireError": WireError,
    "Exception": lambda: GivenError("x"),
    "BaseException": lambda: GivenError("x"),
    "GenerateContentRequest": gemini_request,
    "Provider | str": lambda: "",
    "Provider": lambda: wire.Client("gemini").row,
    "Sequence[str]": lambda: ["a"],
    "Sequence[Item]": lambda: [responses.Item(type="message", role="user", content="Hi")],
    "bool": lambda: False,
    "list": list,
    "float": lambda: 1.0,
    "int": lambda: 1,
    "str": lambda: "a",
}
"""Annotation to a sound argument, for all other parameters without a default."""


OWN_MODELS = {"gemini": GEMINI, "openai": GPT, "anthropic": CLAUDE, "converse": NOVA}
OWN_MODELS["ollama"] = "qwen3:8b"


def _of_type(annotation: Any) -> Any:
    if typing.get_origin(annotation) is typing.Literal:
        return typing.get_args(annotation)[0]
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    text = text or getattr(annotation, "__forward_arg__", "")  # of a named tuple
    return BY_TYPE[text.removesuffix(" | None")]()


def sound(name: str, parameter: inspect.Parameter) -> Any:
    """A sound argument for the parameter of `name`, such as `gemini.check`."""
    key = f"{name}.{parameter.name}"
    if key in SOUND:
        return SOUND[key]()
    annotation = parameter.annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if text.removesuffix(" | None") in BY_TYPE and text not in ("str", "bool", "int", "float"):
        return _of_type(annotation)
    if name.startswith(tuple(f"{each}." for each in OWN_MODELS)) and parameter.name == "model":
        return OWN_MODELS[name.partition(".")[0]]
    if parameter.name in BY_NAME:
        return BY_NAME[parameter.name]()
    return _of_type(annotation)


# --- callables ------------------------------------------------------------------------------------

INSTANCES: dict[str, Callable[[], Any]] = {
    "agent.Agent": lambda: wire.Agent(chat()),
    "auth.OpenAIIdentity": lambda: wire.auth.OpenAIIdentity("p", "a", "token"),
    "agent.AsyncCachedChat": lambda: importlib.import_module("wire.agent").AsyncCachedChat(
        async_chat(), policy()
    ),
    "agent.CachedChat": lambda: importlib.import_module("wire.agent").CachedChat(chat(), policy()),
    "agent.CacheKeeper": lambda: importlib.import_module("wire.agent").CacheKeeper(
        async_chat().client, context_cache()
    ),
    "agent.GeminiAgent": lambda: wire.GeminiAgent(async_chat()),
    "agent.LLMAgent": lambda: wire.LLMAgent(async_chat()),
    "agent.AsyncRunStream": lambda: modules()["agent"].AsyncRunStream(steps(), agenerated()),
    "agent.Steps": steps,
    "gateway.Gateway": lambda: modules()["gateway"].Gateway(async_chat()),
    "gemini.ContextCache": context_cache,
    "openai.EventReader": openai.EventReader,
    "openai.responses.EventReader": responses.EventReader,
    "pipeline.Engine": lambda: importlib.import_module("wire.pipeline").Engine(graph()),
    "pipeline.Graph": graph,
    "tools.Toolbox": toolbox,
    "testing.emulator.Emulator": Emulator,
    "testing.AsyncCache": lambda: modules()["testing"].AsyncCache("cache"),
    "testing.Cache": lambda: modules()["testing"].Cache("cache"),
    "testing.AsyncCassette": lambda: modules()["testing"].AsyncCassette(cassette()),
    "testing.Cassette": lambda: modules()["testing"].Cassette(cassette()),
    "testing.AsyncRecord": lambda: modules()["testing"].AsyncRecord(
        AsyncEmulatorTransport(), "new.json"
    ),
    "testing.AsyncReplay": lambda: modules()["testing"].AsyncReplay(cassette()),
    "testing.Replay": lambda: modules()["testing"].Replay(cassette()),
    "pipeline.Visit": visit,
    "wire.AsyncChat": async_chat,
    "wire.AsyncClient": lambda: async_chat().client,
    "wire.AsyncFallbackChat": lambda: wire.AsyncFallbackChat([async_chat()]),
    "wire.FallbackChat": lambda: wire.FallbackChat([chat()]),
    "wire.AsyncChats": lambda: wire.AsyncChats({"gemini": async_chat().client}),
    "wire.Call": gemini_call,
    "wire.Cost": wire.Cost,
    "wire.Model": lambda: wire.Model(provider="gemini", id=GEMINI),
    "wire.Media": lambda: wire.Media(url="https://example.com/a.png"),
    "wire.Chat": chat,
    "wire.Chats": lambda: wire.Chats({"gemini": chat().client}),
    "wire.Client": lambda: chat().client,
    "wire.HistoryManager": lambda: wire.HistoryManager(conversation()),
    "wire.Reply": reply,
    "wire.SocketCall": responses.socket,
    "wire.StreamCall": lambda: gemini.stream_generate_content(GEMINI, gemini_request()),
}
"""Classes whose instances the constructor's sound arguments do not make."""

EXCLUDED = {
    "tools.mcp.Portal": "is a protocol",
    "bulk.Run": "`run` makes it",
    "chat.ChatStream": "`Chat.stream` makes it",
    "chat.AsyncChatStream": "`AsyncChat.stream` makes it",
    "chat.LiveSession": "`Chat.connect` makes it",
    "chat.AsyncLiveSession": "`AsyncChat.connect` makes it",
    "agent.AgentLiveSession": "`Agent.connect` makes it",
    "agent.AsyncAgentLiveSession": "`LLMAgent.connect` makes it",
    "gateway.serve": "opens a socket and starts a thread",
    "gateway.GatewayServer": "opens a socket and starts a thread",
    "testing.emulator.serve": "opens a socket and starts a thread",
    "testing.emulator.Server": "opens a socket and starts a thread",
    "wire.Lanes.handle_request": "opens a connection",
    "wire.AsyncLanes.handle_async_request": "opens a connection",
    "agent.keep": "runs until it is left, on a clock",
    "agent.run_calls": "is the async half of a run, which `LLMAgent.run` covers",
    "otel.Tracing": "`tracing` makes it, of objects of OpenTelemetry",
    "wire.Secret.reveal": "is meant to show the secret",
}
"""Callables that are not called, each with the reason."""

RAISED: dict[str, type[Exception]] = {
    "agent.Steps.failed": GivenError,
    "tools.Toolbox.finish": GivenError,
    "gemini.parse_message": Unreadable,
    "openai.parse_message": Unreadable,
    "openai.responses.parse_message": Unreadable,
    "anthropic.parse_message": Unreadable,
    "converse.parse_message": Unreadable,
    "ollama.parse_message": Unreadable,
    "gemini.interactions.parse_message": Unreadable,
}
"""Callables that raise another exception by their documentation: the one that is their argument, or
one that their caller, which reads a file, turns into its own.
"""

PROTOCOLS = {"wire.ChatProvider", "agent.AsyncModel", "agent.Model"}
"""Interfaces that users implement."""


def short(module: str) -> str:
    return module.removeprefix("wire.")


@functools.cache
def modules() -> dict[str, Any]:
    """The modules of docs/public.md by short name."""
    found = {}
    for name in SECTIONS:
        try:
            found[short(name)] = importlib.import_module(name)
        except ModuleNotFoundError:
            package, _, last = name.rpartition(".")
            found[short(name)] = getattr(importlib.import_module(package), last)
    return found


@functools.cache
def callables() -> dict[str, Callable[[], Callable[..., Any]]]:
    """Name of each public callable to a function that returns it, bound to a fresh instance."""
    found: dict[str, Callable[[], Callable[..., Any]]] = {}
    passed: set[int] = set()
    for module_name, module in modules().items():
        for name in module.__all__:
            value, full = getattr(module, name), f"{module_name}.{name}"
            if isinstance(value, types.ModuleType) or not callable(value) or id(value) in passed:
                continue
            if getattr(value, "__origin__", None) is not None or full in PROTOCOLS:
                continue
            if isinstance(value, type) and issubclass(value, enum.Enum):
                continue  # `Enum("no member")` raises the ValueError of Python's enums
            passed.add(id(value))
            found[full] = functools.partial(_itself, value)
            if isinstance(value, type):
                own = [
                    member
                    for each in value.__mro__
                    if each.__module__.partition(".")[0] == "wire"
                    for member in vars(each)
                ]
                for member in dict.fromkeys(own):
                    if not member.startswith("_") and full not in EXCLUDED:
                        found |= _member(full, value, member)
    return {name: made for name, made in found.items() if name not in EXCLUDED}


def _itself(value: Any) -> Any:
    return value


def _member(full: str, owner: type, name: str) -> dict[str, Callable[[], Callable[..., Any]]]:
    value = inspect.getattr_static(owner, name)
    if isinstance(value, (classmethod, staticmethod)):
        return {f"{full}.{name}": functools.partial(getattr, owner, name)}
    if isinstance(value, (property, functools.cached_property)):
        return {f"{full}.{name}": functools.partial(_property, full, owner, name)}
    if inspect.isfunction(value):
        return {f"{full}.{name}": functools.partial(_method, full, owner, name)}
    return {}


def instance(full: str, owner: type) -> Any:
    """A sound instance of a public class."""
    if full in INSTANCES:
        return INSTANCES[full]()
    return owner(**arguments(full, owner))


def _method(full: str, owner: type, name: str) -> Any:
    return getattr(instance(full, owner), name)


def _property(full: str, owner: type, name: str) -> Any:
    made = instance(full, owner)

    def read() -> Any:
        return getattr(made, name)

    return read


def arguments(name: str, function: Any) -> dict[str, Any]:
    """The sound arguments for the parameters without a default, and for the transport."""
    known = parameters(function)
    given = {
        each.name: sound(name, each)
        for each in known
        if each.default is each.empty and each.kind is not each.VAR_POSITIONAL
    }
    if not isinstance(function, type) and any(each.name == "http" for each in known):
        # A bad key may be one that can be sent, and no server outside is asked.
        given.setdefault("http", httpx.MockTransport(ok))
    return given


@functools.cache
def _signature(function: Any) -> tuple[inspect.Parameter, ...]:
    found: list[inspect.Parameter] = []
    for each in inspect.signature(function).parameters.values():
        if each.kind is not each.VAR_KEYWORD:
            found.append(each)
            continue
        options = _options(each, function)
        found += [inspect.Parameter(option, each.KEYWORD_ONLY, default=None) for option in options]
    return tuple(found)


def parameters(function: Any) -> tuple[inspect.Parameter, ...]:
    """The parameters, with the options of a TypedDict in place of `**options`."""
    return _signature(getattr(function, "__func__", function))[
        1 if inspect.ismethod(function) else 0 :
    ]


def _options(parameter: inspect.Parameter, function: Any) -> list[str]:
    text = str(parameter.annotation)
    if "Unpack[" not in text:
        return []
    inner = inspect.unwrap(function.__init__ if isinstance(function, type) else function)
    unpacked = eval(text, inner.__globals__ | _typing_names(inner.__module__))
    return list(typing.get_args(unpacked)[0].__annotations__)


@functools.cache
def _typing_names(module: str) -> dict[str, Any]:
    """The names that a module imports for type checkers alone."""
    found: dict[str, Any] = {}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.body:
                exec(ast.unparse(each), found)
    return found


# --- bad calls ------------------------------------------------------------------------------------


class Caller:
    """Makes seeded bad calls and judges what they raise."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.runner = asyncio.Runner()
        self.calls = 0
        self.foreign: dict[str, str] = {}
        """The first call of each kind that raised something else than a `WireError`."""

    def nasty(self) -> tuple[str, Any]:
        kind = self.dice.choice(tuple(NASTY))
        return kind, NASTY[kind]()

    def bad(self, value: Any) -> tuple[str, Any]:
        """A bad argument in place of `value`: a nasty value, or a struct with one inside."""
        if isinstance(value, msgspec.Struct) and self.dice.random() < 0.6:
            name = self.dice.choice(value.__struct_fields__ or ("",))
            inner = getattr(value, name, None)
            kind, replaced = self.bad(inner) if self.dice.random() < 0.5 else self.nasty()
            try:
                return f"{type(value).__name__}({name}={kind})", msgspec.structs.replace(
                    value, **{name: replaced}
                )
            except Exception:
                return self.nasty()
        if isinstance(value, (list, tuple)) and value and self.dice.random() < 0.6:
            index = self.dice.randrange(len(value))
            kind, replaced = self.bad(value[index])
            items = [*value[:index], replaced, *value[index + 1 :]]
            return f"[{index}]={kind}", items if type(value) is not tuple else tuple(items)
        return self.nasty()

    def call(self, name: str) -> None:
        """Call a callable once with bad arguments."""
        function = callables()[name]()
        given = arguments(name, function)
        known = parameters(function)
        what = []
        args: list[Any] = []
        for _ in range(1 if self.dice.random() < 0.8 else 2):
            if not known:
                break
            each = self.dice.choice(known)
            if each.name in given:
                value = given[each.name]
            else:
                try:
                    value = sound(name, each)
                except (KeyError, TypeError):
                    value = None
            kind, made = self.bad(value)
            what.append(f"{each.name}={kind}")
            if each.kind is each.VAR_POSITIONAL:
                args.append(made)
            elif each.kind is not each.POSITIONAL_ONLY:
                given[each.name] = made
        if args:
            first = [
                each.name
                for each in known
                if each.kind is each.POSITIONAL_OR_KEYWORD and each.name in given
            ]
            args = [*map(given.pop, first), *args]
        if self.dice.random() < 0.02:
            given["colour"] = "red"
            what.append("colour=red")
        self.calls += 1
        try:
            self.consume(function(*args, **given))
        except WireError as error:
            self.judge(name, what, error)
        except (HostileError, Exception) as error:
            if not is_of_signature(error) and not (
                name in RAISED and isinstance(error, RAISED[name])
            ):
                self.report(name, what, error)

    def judge(self, name: str, what: list[str], error: WireError) -> None:
        try:
            text = str(error)
        except Exception as cause:
            self.report(name, what, cause)
            return
        if "\n" in text or len(text.encode()) > 2048:
            self.report(name, what, AssertionError("not one line of 2 KiB"))

    def report(self, name: str, what: list[str], error: BaseException) -> None:
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        where = f"{Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last else ""
        key = f"{name}: {type(error).__name__} at {where}"
        try:
            text = str(error)[:120]
        except Exception:
            text = ""
        self.foreign.setdefault(key, f"{', '.join(what)}: {text}")

    def consume(self, value: Any) -> None:
        """Run what the callable returned: a coroutine, a stream, a flow, an iterator."""
        if isinstance(value, Hostile):
            return  # an argument that was returned as it is
        if inspect.iscoroutine(value):
            value = self.runner.run(value)
        if isinstance(value, contextlib.AbstractContextManager) and not isinstance(
            value, (wire.Chat, wire.Client, wire.Chats)
        ):
            with value as entered:
                if isinstance(entered, Iterator):
                    for _ in zip(range(100), entered, strict=False):
                        pass
        elif isinstance(value, contextlib.AbstractAsyncContextManager) and not isinstance(
            value, (wire.AsyncChat, wire.AsyncClient, wire.AsyncChats)
        ):
            self.runner.run(self._entered(value))
        elif inspect.isgenerator(value):
            with FlowRun(value):
                pass

    async def _entered(self, value: Any) -> None:
        async with value as entered:
            if hasattr(entered, "__anext__"):
                async for _ in entered:
                    pass

    def close(self) -> None:
        self.runner.close()


def is_of_signature(error: BaseException) -> bool:
    """Whether Python itself refused the call: a missing, unknown or repeated argument."""
    if not isinstance(error, TypeError):
        return False
    words = (
        "unexpected keyword argument",
        "missing required",
        "required positional argument",
        "required keyword-only argument",
        "positional arguments but",
        "multiple values",
    )
    return any(each in str(error).lower() for each in words)
