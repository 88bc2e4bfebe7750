"""Each field that a row sets changes something that a user sees: no row holds dead data."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec
import pytest

from tests.property import sample
from wire import Account, Chat, Chats, Limits, Media, Message, Request, Tool, notes
from wire.anthropic import rows as anthropic_rows
from wire.converse import rows as converse_rows
from wire.core.call import Call, StreamCall
from wire.core.incoming import Incoming
from wire.core.provider import with_regions
from wire.errors import WireError
from wire.gemini import rows as gemini_rows
from wire.gemini.interactions import rows as interactions_rows
from wire.http.target import Target, target
from wire.neutral.decisions import DecideRequest, yes_no
from wire.neutral.embeddings import EmbedRequest
from wire.neutral.images import ImageRequest
from wire.neutral.messages import Reply, Text, Thought, ToolCall
from wire.neutral.request import Output
from wire.neutral.server_tools import code, file_search, url_context, web_search
from wire.neutral.speech import SpeechRequest
from wire.neutral.transcripts import TranscriptRequest
from wire.ollama import rows as ollama_rows
from wire.openai.common import rows as chat_rows
from wire.openai.responses import rows as responses_rows
from wire.providers import PROVIDERS, Provider, owner_of
from wire.testing.emulator import Emulator, EmulatorTransport
from wire.wires.contract import WIRES, Wire
from wire.wires.providers import row_of_model

PORT = {"type": "object", "properties": {"port": {"type": "string"}}}
OPEN = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}
NO_SCHEMA = {"type": "nothing"}
HI = Message.user("Hi")
SPOKEN = Media(data=b"RIFF", media_type="audio/wav", extra={"id": "audio_1"})
PNG = Media(data=b"\x89PNG", media_type="image/png")
ODD_CALL = ToolCall(id="call:odd!" * 8, name="get_tide", arguments={"port": "Brest"})
ANY_CALL = ToolCall(id="a", name="get_tide", arguments={})
LONG = "The tide is high at ten. " * 1000

MODELS = {
    "openai": "gpt-4o gpt-5.6 gpt-5 o3 o1-mini gpt-4o-search-preview tts-1 gpt-5.4 gpt-5.2-chat",
    "gemini": "gemini-3.8-flash",
    "anthropic": "claude-sonnet-5 claude-unknown-9 m",
    "deepseek": "deepseek-v4-pro deepseek-chat",
    "kimi": "kimi-k2.6 kimi-k3",
    "minimax": "MiniMax-M3",
    "qwen": "qwen3.8-max qwen3-32b",
    "glm": "glm-5.2 glm-5.3",
    "mistral": "mistral-large-latest mistral-small-latest",
    "groq": "openai/gpt-oss-120b groq/compound",
    "xai": "grok-4",
    "baseten": "zai-org/GLM-5.2",
    "huggingface": "meta-llama/Llama-3.3-70B-Instruct",
    "mimo": "mimo-v2.5-pro",
    "openrouter": "anthropic/claude-sonnet-5 openai/gpt-5.6",
    "azure": "gpt-5 gpt-6.1-sol claude-sonnet-5",
    "bedrock": "anthropic.claude-sonnet-5 openai.gpt-5.5 amazon.nova-2-lite-v1:0",
    "chatgpt": "gpt-5.6 gpt-4o gpt-5",
}
"""Names of models that the patterns of a family's rows match; `m` for all others."""


def asked(*messages: Message, **settings: Any) -> Request:
    return Request(messages=messages or (HI,), system="Be brief.", **settings)


TIDE = Tool("get_tide", "When the tide is high", PORT)
NEUTRAL = {
    "system": asked(Message.system("A"), HI, Message.system("B"), Message.developer("C"), HI),
    "continued": asked(HI, Message.assistant("At")),
    "deferred": asked(HI, tools=(Tool("get_tide", deferred=True),)),
    "odd call": asked(
        HI,
        Message("assistant", (ODD_CALL,)),
        Message.tool_result(ODD_CALL, "17:42"),
        tools=(TIDE,),
    ),
    "text between": asked(
        HI,
        Message("assistant", (ANY_CALL, Text("Wait."))),
        Message.tool_result(ANY_CALL, "17:42"),
        tools=(TIDE,),
    ),
    "refusal": asked(HI, Message("assistant", (Text("No.", refusal=True),)), HI),
    "thought": asked(HI, Message("assistant", (Thought("Hm."), Text("Yes."))), HI),
    "speech": asked(HI, Message.assistant(SPOKEN), HI),
    "drawn": asked(HI, Message.assistant(PNG), HI),
    "image": asked(Message("user", (Text("What?"), PNG))),
    "custom": asked(tools=(Tool("run", "Run it", kind="custom"),)),
    "no parameters": asked(tools=(Tool("now", "The time", {}),)),
    "output": asked(output=Output(OPEN)),
    "effort": asked(effort="high", max_tokens=5000),
    "no effort": asked(effort="none"),
    "plain": asked(max_tokens=9, temperature=0.5),
    "cache": asked(Message.user("Hi", cache=True), HI, caching="long"),
    "cache off": asked(caching="off"),
    **{
        tool.kind: asked(tools=(tool,))
        for tool in (web_search(), code(), url_context(), file_search("store"))
    },
}
"""Requests that the rows render each in its own way."""

PART = {"type": "text", "text": ""}
IMAGE = {"type": "image_url", "image_url": {"url": "beach.png"}}
SPEECH = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FUNCTION = {"name": "f", "parameters": {"type": "object", "properties": {}}}
USER = {"role": "user", "content": "Hi"}
THOUGHTFUL = {"role": "assistant", "content": "At", "reasoning_content": "Hm.", "tool_calls": []}


def said(*messages: Any) -> dict[str, Any]:
    return {"messages": [USER, *messages]}


def tool(**function: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {**FUNCTION, **function}}]}


def schema(**beside: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": beside}}


CHAT_BODIES: list[dict[str, Any]] = [
    {"temperature": 0, "n": 2, "top_logprobs": 99, "logprobs": True, "seed": 1, "stop": ["a"] * 9},
    {"max_tokens": 5, "logit_bias": {"1": 1}, "prompt_cache_key": "k", "presence_penalty": 0.1},
    {"max_completion_tokens": 5, "thinking": {"type": "enabled", "keep": "all"}},
    {"reasoning_effort": "minimal", "temperature": 1.5},
    {"reasoning_effort": "none", "store": True},
    {"thinking": {"type": "disabled"}},
    said({"role": "system", "content": "A"}, {"role": "system", "content": "B"}),
    said({"role": "assistant", "content": "At"}),
    said({"role": "developer", "content": [PART, IMAGE, SPEECH]}),
    said({"role": "user", "content": [PART, IMAGE, SPEECH]}),
    said(
        {"role": "assistant", "content": "At", "reasoning_content": "Hm.", "tool_calls": []}, USER
    ),
    said(
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "a", "content": [IMAGE]},
    ),
    said({"role": "assistant", "tool_calls": [CALL]}, USER),
    {"tools": [{"type": "function", "function": {"name": "f"}}]},
    {"tools": [{"type": "custom", "custom": {"name": "f"}}, {"type": "web_search"}]},
    {"tools": [{"type": "browser_search"}, {"type": "visit_website"}]},
    tool(strict=True, parameters=OPEN),
    tool(parameters=NO_SCHEMA),
    {**tool(), "tool_choice": "required"},
    {**tool(), "tool_choice": {"type": "function", "function": {"name": "f"}}},
    {**tool(), "reasoning_effort": "low"},
    schema(),
    schema(name="a", schema=OPEN, strict=True),
    schema(name="a", schema=NO_SCHEMA),
    {"response_format": {"type": "json_object"}, "web_search_options": {}},
]
"""Bodies that the rules of some host refuse, or warn of."""


def items(*items: Any) -> dict[str, Any]:
    return {"input": [{"type": "message", "role": "user", "content": "Hi"}, *items]}


def in_parts(role: str, *parts: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": parts}


RESPONSES_CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
RESPONSES_BODIES: list[dict[str, Any]] = [
    {"n": 1, "stop": "a", "store": True, "background": True, "prompt_cache_retention": "in_memory"},
    {"max_output_tokens": 1, "temperature": 9, "top_p": 2},
    {"previous_response_id": "resp_1", "store": True},
    {"reasoning": {"effort": "minimal"}},
    {"reasoning": {"effort": "none"}, "temperature": 0.5},
    {"temperature": 0.5, "top_p": 0.5},
    {"reasoning": {"effort": "xhigh", "generate_summary": "auto"}},
    {"include": ["reasoning.encrypted_content"]},
    {"text": {"format": {"type": "json_object"}}, "tool_choice": "required"},
    {"tools": [{"type": "custom", "name": "f"}]},
    {"tools": [{"type": "local_shell"}]},
    items({"role": "assistant", "content": [{"type": "output_text", "text": "a"}]}),
    items({"type": "message", "role": "developer", "content": "a"}),
    items({"type": "message", "role": "user", "content": [{"type": "input_file", "file_id": "f"}]}),
    items(
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": ""}]}
    ),
    items({"type": "reasoning", "id": "rs_1", "summary": []}),
    items({"type": "item_reference", "id": "rs_1"}, {"type": "compaction", "id": "c"}),
    items(
        RESPONSES_CALL,
        {"type": "message", "role": "user", "content": "Wait."},
        {"type": "function_call_output", "call_id": "a", "output": "17:42"},
    ),
]
BODIES = {
    "openai": [{"messages": [USER], **each} for each in CHAT_BODIES],
    "openai.responses": [{"input": "Hi", **each} for each in RESPONSES_BODIES],
    "anthropic": [
        {"max_tokens": 9, "messages": [USER], **each}
        for each in (
            {"temperature": 0.5, "top_p": 0.5},
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        )
    ],
    "converse": [{"messages": [{"role": "assistant", "content": [{"text": "Hi"}]}]}],
    "ollama": [{"messages": [{"role": "user", "content": "Hi"}], "options": {"num_cxt": 9}}],
    "gemini.interactions": [{"input": "Hi", "labels": {"a": "B"}}],
    "gemini": [
        {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], **each}
        for each in ({"labels": {"a": "b"}}, {"generationConfig": {"logprobs": 99}})
    ],
}


def message(message: Any, usage: Any = None) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


THOUGHTS = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "AA=="},
    {
        "type": "reasoning",
        "id": "rs_2",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "Hm."}],
    },
]
BROKEN_CALL = {
    "id": "fc_1", "type": "function_call", "call_id": "a", "name": "get_tide", "arguments": "[1"
}  # fmt: skip
SAID = in_parts("assistant", {"type": "output_text", "text": "Yes.", "annotations": []})
RESPONSES_REPLIES = [
    {"id": "resp_1", "status": "completed", "output": [*each, {**SAID, "id": "msg_1"}]}
    for each in ([], THOUGHTS[:1], THOUGHTS[1:], [BROKEN_CALL])
]
CHAT_REPLIES = [
    message({"role": "assistant", "content": "<think>Hm.</think>Yes."}),
    message(
        {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm.", "refusal": "No."},
        {"prompt_tokens": 9, "completion_tokens": 5, "reasoning_tokens": 3},
    ),
    message(
        {
            "role": "assistant",
            "content": None,
            "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}],
            "tool_calls": [CALL | {"function": {"name": "get_tide", "arguments": "[1"}}],
            "extra_content": {"google": {"thought_signature": "AA=="}},
            "audio": {"id": "audio_1", "transcript": "Yes."},
            "context": "Brest",
            "images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}],
        }
    ),
    message(
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                {"type": "text", "text": "Yes."},
            ],
        }
    ),
]


def of_stream(*deltas: Any, damaged: bytes = b"") -> bytes:
    chunks = [{"choices": [{"index": 0, "delta": each}]} for each in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    data = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in chunks)
    return damaged + data + b"data: [DONE]\n\n"


STREAMS = [
    of_stream(*({"reasoning_details": [{"index": 0, "text": text}]} for text in ("H", "Hm."))),
    of_stream({"content": "Yes."}, damaged=b'data: {"choices": [{"ind\n\n'),
    of_stream({"content": "Hm.</think>"}, {"content": "Yes."}),
]
REPLIES = {
    "openai": CHAT_REPLIES + STREAMS,
    "openai.responses": [
        b"data: " + json.dumps({"type": "response.completed", "response": each}).encode() + b"\n\n"
        for each in RESPONSES_REPLIES
    ],
}
"""Replies, whole and as streams; each is sent back in the next request too."""


# --- outcomes -------------------------------------------------------------------------------------


Probe: TypeAlias = Callable[[Provider], Iterator[str]]
NAMES: dict[str, Any] = {
    "gemini": gemini_rows.provider_row,
    "openai": chat_rows.provider_row,
    "openai.responses": responses_rows._row,
    "anthropic": anthropic_rows.provider_row,
    "converse": converse_rows.provider_row,
    "ollama": ollama_rows.provider_row,
    "gemini.interactions": interactions_rows._row,
}


def in_place(probe: Probe) -> Probe:
    """With the row in the table of providers, and in the one that its wire looks names up in."""

    def placed(row: Provider) -> Iterator[str]:
        with pytest.MonkeyPatch.context() as patched:
            patched.setitem(PROVIDERS, row.name, row)
            patched.setitem(NAMES[row.wire].__self__._rows, row.name, row)
            found = list(probe(row))
        yield from found

    return placed


def shown(outcome: Callable[[], Any]) -> str:
    try:
        return repr(outcome())
    except Exception as error:  # a row without the field may fail anyhow
        return f"{type(error).__name__}: {error}"


def models_of(row: Provider) -> list[str]:
    return MODELS.get(row.family, "m").split()


def rendered(row: Provider) -> Iterator[str]:
    """Violations of raw requests; bytes, headers and notes of neutral ones."""
    wire = WIRES[row.wire]
    for model in models_of(row):
        for body in BODIES[row.wire]:
            yield shown(lambda m=model, b=body: wire.check({"model": m, **b}, m, row))
    for model in models_of(row):
        for request in NEUTRAL.values():
            yield shown(lambda m=model, r=request: call_of(wire.stream_call(r, m, row)))
    for text in ("a", "a " * 900):
        many = EmbedRequest([text] * 3000, 8)
        yield shown(lambda r=many: call_of(next(wire.embed_flow(r, "m", row))))


def call_of(call: Call[Any]) -> Any:
    return call.path, call.body, dict(call.headers), notes(call)


def replies(row: Provider) -> Iterator[str]:
    """What comes of replies, and what goes back of them."""
    wire = WIRES[row.wire]
    for model in models_of(row)[:1]:
        for body in REPLIES.get(row.wire, ()):
            yield shown(lambda m=model, b=body: back(wire, row, m, b))


def back(wire: Wire, row: Provider, model: str, body: bytes) -> Any:
    reply = received(wire, row, model, body)
    follows = [Message.tool_result(each, "17:42") for each in reply.tool_calls] or [HI]
    tools = (TIDE,) if reply.tool_calls else ()
    again = wire.stream_call(asked(HI, reply.message, *follows, tools=tools), model, row)
    return parts_of(reply), reply.usage, notes(reply), call_of(again)


def received(wire: Wire, row: Provider, model: str, body: bytes) -> Reply:
    if not body.startswith(b"data:"):
        return wire.call(asked(), model, row).parse(body)
    call = wire.stream_call(asked(), model, row)
    incoming: Incoming[Any, Any] = Incoming(call, "", Limits(), Account(), lambda error: error)
    incoming.feed(body)
    incoming.end()
    reply: Reply = incoming.result()
    return reply


def parts_of(reply: Reply) -> Any:
    return [msgspec.structs.asdict(part) for part in reply.message.parts]


@in_place
def connected(row: Provider) -> Iterator[str]:
    """Where calls go, with which key and headers; the table of names."""
    yield shown(lambda: [(each.name, each.base_url) for each in with_regions(row)])
    yield shown(lambda: [getattr(owner_of(each), "name", "") for each in HOSTS])
    yield shown(lambda: [row_of_model(row, model).name for model in models_of(row)])
    with_key = {"api_key": "fake-key"}
    place = {each: PLACE[each] for each in row.options}
    places = [{**place, option: value} for option, value in OTHERS if option in place]
    places += [{each: place[each] for each in place if each != option} for option in place]
    urls = [{**with_key, "base_url": f"https://{host}"} for host in HOSTS]
    places += [{**urls[0], **place}]
    version = {**with_key, **place, "version": "v9"}
    for given in (with_key | place, place, *places, with_key, version):
        yield shown(lambda given=given: described(target(row.name, given)))
    for given in urls:  # of each address, one call
        yield shown(lambda given=given: described(target(row.name, given), 1))
    for variables in VARIABLES[row.name]:
        with pytest.MonkeyPatch.context() as patched:
            for name in filter(None, variables):
                value = "https://host.example/v1" if "URL" in name else "fake-key"
                patched.setenv(name, value)
            found = shown(lambda: described(target(row.name, place)))
            chats = shown(lambda: from_environment(row, place))
        yield found
        yield chats


def from_environment(row: Provider, place: Any) -> Any:
    with Chats.from_env(row.name, **place) as chats:
        with chats.chat(f"{row.name}:m") as chat:
            return chat.client.preview(chat.call("Hi")).headers


PLACE = {
    "project": "p",
    "location": "europe-west4",
    "region": "eu-west-3",
    "resource": "me",
    "workspace": "wrkspc_1",
    "account": "a",
}
"""An option of each kind, as the rows ask for them."""
OTHERS = (("location", "eu"), ("location", "global"), ("region", "cn-north-1"))
PATHS = (
    *("/models/m", "/projects/p", "/publishers/p", "/cachedContents/c", "/chat/completions"),
    *("/messages", "/messages/count_tokens", "/messages/batches", "/files", "/responses"),
    "/ws/service",
)
BEFORE = {"anthropic-beta": "a,b", "anthropic-user-profile-id": "u"}


@functools.cache
def calls_of_each_path(wire: str) -> list[Any]:
    def read_error(status: int, headers: Any, body: bytes) -> WireError:
        return WireError(body.decode())

    common = {"wire": wire, "method": "POST", "read_error": read_error}
    made: list[Any] = [
        kind(**common, path=path, body=body, **own)
        for path in PATHS
        for body in (b"{}", b'{"model":"gpt-5.4","stream":true}', b'{"model":"claude-sonnet-4"}')
        for kind, own in ((Call, {"parse": bytes}), (StreamCall, {"reader": bytes, "fold": bytes}))
    ]
    return made + [call.replace(headers=BEFORE) for call in made if call.path == "/messages"]


def described(found: Target, most: int | None = None) -> Any:
    calls = calls_of_each_path(found.provider.wire)[:most]
    return found.describe(), found.place, [shown(lambda c=call: sent(found, c)) for call in calls]


def sent(found: Target, call: Any) -> Any:
    call = found.shaped(call)
    error = call.read_error(400, {"x-amzn-errortype": "Odd:x"}, b'{"message":"No."}')
    answer = call.parse(b'{"inputTokens":1}') if isinstance(call, Call) else None
    headers = dict(found.send_headers(call, None))
    return found.url(call), headers, call.query, call.body, str(error), answer


@in_place
def made(row: Provider) -> Iterator[str]:
    """Calls of images, speech and transcripts, or the errors in their place."""
    media = WIRES[row.wire].media_calls
    if media is None:
        return
    yield str(sorted(media.kinds_of(row)))
    sound = Media(data=b"RIFF", media_type="audio/wav")
    for settings in (
        {"size": "64x64", "count": 2},
        {"aspect_ratio": "1:1", "resolution": "1K"},
        {"format": "png", "seed": 1},
        {"pictures": PNG},
    ):
        request: Any = ImageRequest("A cat", **settings)
        yield from _built(media.image_call, request, row)
    for settings in ({"voice": "a"}, {"format": "wav", "speed": 1.0}, {"language": "en"}):
        yield from _built(media.speech_call, SpeechRequest("Hi", **settings), row)
    yield from _built(media.stream_speech_call, SpeechRequest("Hi"), row)
    for settings in ({"language": "en"}, {"timestamps": "word"}, {"speakers": True}):
        yield from _built(media.transcript_call, TranscriptRequest(sound, **settings), row)


def _built(build: Any, request: Any, row: Provider) -> Iterator[str]:
    yield shown(lambda: _parts_of(build(request, "m", row).judge(row)))


def _parts_of(call: Any) -> Any:
    return call.path, call.body if call.form is None else sorted(call.form.fields)


@in_place
def decided(row: Provider) -> Iterator[str]:
    """The call that answers closed questions."""
    for given in ("Hi", PNG):
        asked = DecideRequest((given,), {"tall": yes_no("The tide is high.")})
        yield shown(lambda: getattr(WIRES[row.wire].decide_call(asked, "m", row), "path", ""))  # noqa: B023  it is called at once


@in_place
def listed(row: Provider) -> Iterator[str]:
    """The call that lists the models."""
    yield shown(lambda: WIRES[row.wire].models_call("", row).path)


@in_place
def emulated(row: Provider) -> Iterator[str]:
    """What the emulated host answers to a request that it has had before."""
    url = row.base_url.format(**PLACE) + row.prefix.format(version="v1", **PLACE)
    yield shown(lambda: asked_twice(f"{row.name}:{models_of(row)[0]}", url))


def asked_twice(model: str, url: str) -> Any:
    transport = EmulatorTransport(Emulator())
    with Chat(model, api_key="fake-key", base_url=url, http=transport) as chat:
        return [chat.ask(LONG).usage for _ in range(2)]


HOSTS = sorted({each.replace("*", "x") for row in PROVIDERS.values() for each in row.hosts})
VARIABLES = {
    row.name: (
        (row.key_variable,),
        (row.other_key_variable,),
        (row.key_variable, row.other_base_url_variable),
        (row.key_variable, *row.header_variables),
    )
    for row in PROVIDERS.values()
}
"""Environments of each row, by the names of their variables."""
# --- the rows -------------------------------------------------------------------------------------


def set_fields(record: Any) -> list[tuple[str, Any]]:
    """The fields that have another value than the default, with the default."""
    return [
        (field.name, default)
        for field in msgspec.structs.fields(record)
        if (default := default_of(field)) is not msgspec.NODEFAULT
        and getattr(record, field.name) != default
    ]


def default_of(field: Any) -> Any:
    made = field.default_factory
    return field.default if made is msgspec.NODEFAULT else made()


class Outcomes:
    """What probes see of a row; each is computed when it is asked for, and once."""

    def __init__(self, row: Provider, *probes: Probe) -> None:
        self._found = itertools.chain.from_iterable(probe(row) for probe in probes)
        self._kept: list[str] = []

    def __iter__(self) -> Iterator[str]:
        yield from self._kept
        for each in self._found:
            self._kept.append(each)
            yield each

    def same(self, other: Outcomes) -> bool:
        return all(one == another for one, another in zip(self, other, strict=True))


ELSEWHERE = ("dialect", "auth", "signing_service", "load_options")
"""Fields with tests of their own: of the dialect below, of the chains of credentials, of what loads
a model anew.
"""


@pytest.mark.parametrize("wire", WIRES)
def test_each_field_that_a_row_sets_changes_an_outcome(wire: str):
    unseen = []
    for row in [each for each in PROVIDERS.values() if each.wire == wire]:
        places = Outcomes(row, connected)
        for field, default in set_fields(row):
            other = msgspec.structs.replace(row, **{field: default})
            if field not in ELSEWHERE and places.same(Outcomes(other, connected)):
                unseen.append(f"{row.name}: {field}")
    assert unseen == []


DIALECTS = {id(row.dialect): row for row in reversed(list(PROVIDERS.values()))}
"""One row for each dialect, which regions share."""


@pytest.mark.sampled
@pytest.mark.parametrize("row", DIALECTS.values(), ids=lambda row: row.name)
def test_each_field_that_a_dialect_sets_changes_an_outcome(row: Provider):
    unseen = []
    kinds = (rendered, replies, decided, made, listed, emulated)
    rules = Outcomes(row, *kinds)
    for field, default in sample(set_fields(row.dialect), 3):
        dialect = msgspec.structs.replace(row.dialect, **{field: default})
        other = msgspec.structs.replace(row, dialect=dialect)
        if rules.same(Outcomes(other, *kinds)):
            unseen.append(field)
    assert unseen == []
