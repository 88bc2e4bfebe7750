"""C-30: what the types do not know, and what changed since a recording, by JSON path."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.converse.samples import framed, streams
from tests.joined import joined
from tests.testing.cassette.samples import STREAMS
from wire.testing.cassette.checks.drift import Change, changes, drift
from wire.testing.cassette.checks.endpoints import endpoint_of
from wire.testing.cassette.format.bodies import read_body
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.structs import Interaction, Request, Response

ROOT = Path(__file__).parents[3]
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.8-flash:"
INTERACTIONS = "https://generativelanguage.googleapis.com/v1beta/interactions"
URLS = {
    "gemini": f"{GEMINI}generateContent",
    "openai": "https://api.openai.com/v1/chat/completions",
    "openai.responses": "https://api.openai.com/v1/responses",
    "anthropic": "https://api.anthropic.com/v1/messages",
    "converse": "https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b-v1:0/converse",
    "gemini.interactions": INTERACTIONS,
    "ollama": "http://localhost:11434/api/chat",
}
REQUESTS: dict[str, Any] = {
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    "openai": {"model": "gpt-5.4", "messages": [{"role": "user", "content": "Hi"}]},
    "openai.responses": {"model": "gpt-5.4", "input": "Hi"},
    "anthropic": {
        "model": "claude-sonnet-5",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    },
    "converse": {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]},
    "gemini.interactions": {"model": "gemini-3.8-flash", "input": "Hi", "store": False},
    "ollama": {"model": "qwen3:8b", "messages": [{"role": "user", "content": "Hi"}]},
}
ANSWERS: dict[str, Any] = {
    "gemini": {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": "05:12"}]}, "finishReason": "STOP"}
        ],
        "usageMetadata": {"promptTokenCount": 3},
    },
    "openai": {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "05:12"},
                "finish_reason": "stop",
            }
        ],
    },
    "openai.responses": {
        "object": "response",
        "status": "completed",
        "output": [
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "05:12"}],
            }
        ],
    },
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "05:12"}],
        "stop_reason": "end_turn",
    },
    "converse": {
        "output": {"message": {"role": "assistant", "content": [{"text": "05:12"}]}},
        "stopReason": "end_turn",
    },
    "gemini.interactions": {
        "status": "completed",
        "steps": [{"type": "model_output", "content": [{"type": "text", "text": "05:12"}]}],
    },
    "ollama": {
        "message": {"role": "assistant", "content": "05:12"},
        "done": True,
        "done_reason": "stop",
    },
}


def _response(
    body: bytes, status: int = 200, content_type: str = "application/json", **headers: str
) -> Response:
    return Response(
        status=status,
        headers={"content-type": content_type, **headers},
        body=read_body(body, content_type),
        end="eof",
    )


def _interaction(wire: str, request: Any = None, answer: Any = None, **options: Any) -> Interaction:
    body = answer if isinstance(answer, bytes) else json.dumps(answer or ANSWERS[wire]).encode()
    sent = json.dumps(REQUESTS[wire] if request is None else request).encode()
    return Interaction(
        request=Request(method="POST", url=URLS[wire], body=read_body(sent)),
        response=_response(body, **options),
    )


def _told(interaction: Interaction) -> list[tuple[str, str, str, str]]:
    return [each[:4] for each in drift(interaction)]


def _planted(value: Any, *path: str | int, new: Any) -> Any:
    """A copy of a JSON value with a value planted at a path."""
    copy = json.loads(json.dumps(value))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = new
    return copy


# --- the types ------------------------------------------------------------------------------------


@pytest.mark.row("C-30")
@joined("wire", URLS)
def test_what_the_types_know_is_no_drift(wire: str):
    assert drift(_interaction(wire)) == []


PLACES: dict[str, tuple[tuple[str | int, ...], tuple[str | int, ...], str]] = {
    "gemini": (("candidates", 0, "mood"), ("candidates", 0, "finishReason"), "BORED"),
    "openai": (("choices", 0, "message", "mood"), ("choices", 0, "finish_reason"), "bored"),
    "openai.responses": (("output", 0, "mood"), ("output", 0, "type"), "dream"),
    "anthropic": (("content", 0, "mood"), ("stop_reason",), "bored"),
    "converse": (("output", "mood"), ("stopReason",), "bored"),
    "gemini.interactions": (("steps", 0, "mood"), ("status",), "bored"),
    "ollama": (("message", "mood"), ("done_reason",), "bored"),
}


def _path(steps: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in steps)


@pytest.mark.row("C-30")
@joined("wire", URLS)
def test_an_unknown_key_and_an_unknown_enum_value(wire: str):
    key, value, word = PLACES[wire]
    answer = _planted(_planted(ANSWERS[wire], *key, new={"a": 1}), *value, new=word)
    assert _told(_interaction(wire, answer=answer)) == [
        ("response", _path(key), "key", '{"a": 1}'),
        ("response", _path(value), "value", json.dumps(word)),
    ]


@pytest.mark.row("C-30")
@joined("wire", URLS)
def test_of_a_request(wire: str):
    request = _planted(REQUESTS[wire], "top_mood", new="calm")
    [told] = drift(_interaction(wire, request=request))
    assert str(told) == 'request, $.top_mood: unknown key with the value: "calm"'


@pytest.mark.row("C-30")
def test_a_value_of_another_type():
    answer = _planted(ANSWERS["openai"], "choices", 0, "index", new="first")
    [told] = drift(_interaction("openai", answer=answer))
    assert (told.path, told.kind) == ("$.choices[0].index", "type")
    assert str(told) == 'response, $.choices[0].index: another type than the known one: "first"'


@pytest.mark.row("C-30")
def test_a_finding_that_repeats_is_told_once():
    chunk = {"candidates": [{"content": {"parts": [{"text": "a"}]}, "mood": 1}]}
    stream = f"data: {json.dumps(chunk)}\r\n\r\n" * 3
    interaction = _interaction("gemini", answer=stream.encode(), content_type="text/event-stream")
    assert [str(each) for each in drift(interaction)] == [
        "response event 0, $.candidates[0].mood: unknown key with the value: 1, 3 times"
    ]


@pytest.mark.row("C-30")
def test_an_unknown_event():
    stream = b'event: dream\ndata: {"type": "dream", "delta": "x"}\n\n'
    for wire, known in (("anthropic", False), ("openai.responses", True)):
        told = drift(_interaction(wire, answer=stream, content_type="text/event-stream"))
        values = [(each.place, each.path, each.value) for each in told if each.kind == "value"]
        assert values == [("response event 0", "$.type", '"dream"')]
        assert any(each.path == "$.delta" for each in told) is not known


@pytest.mark.row("C-30")
def test_the_padding_of_frames_is_no_drift():
    kind = "application/vnd.amazon.eventstream"
    found = drift(_interaction("converse", answer=streams()["stream"], content_type=kind))
    assert found == []
    stream = framed(
        ("messageStart", {"role": "assistant", "mood": "calm", "p": "abc"}),
        ("messageStop", {"stopReason": "bored"}),
    )
    told = [str(each) for each in drift(_interaction("converse", answer=stream, content_type=kind))]
    assert told == [
        'response event 0, $.messageStart.mood: unknown key with the value: "calm"',
        'response event 1, $.messageStop.stopReason: unknown enum value: "bored"',
    ]


@pytest.mark.row("C-30")
def test_an_error_is_read_as_an_error():
    for wire in URLS:
        own = {"message": "no", "mood": "bad"}
        error: Any = {"error": own, "type": "error"}
        if wire != "anthropic":
            del error["type"]
        flat = {"converse": own, "ollama": {"error": "no", "mood": "bad"}}
        error = flat.get(wire, error)
        told = drift(_interaction(wire, answer=error, status=400))
        assert [(each.path, each.kind) for each in told] == [
            ("$.mood" if wire in flat else "$.error.mood", "key")
        ]


@pytest.mark.row("C-30")
def test_what_google_reads_alike_is_no_drift():
    request = {
        "contents": {"parts": {"text": "Hi"}},
        "generation_config": {"thinking_config": {"thinking_level": "low"}},
        "tools": [{"function_declarations": [{"name": "f", "parameters": {"type": "object"}}]}],
    }
    assert drift(_interaction("gemini", request=request)) == []


@pytest.mark.row("C-30")
def test_what_is_cut_off_is_no_drift():
    for name in ("closed_early", "gemini_stream", "openai_stream", "anthropic_stream"):
        path = ROOT / "tests" / "fixtures" / "cassettes" / f"{name}.cassette.json"
        cassette = load(path.read_bytes(), name)
        assert [each for one in cassette.interactions for each in drift(one)] == []


@pytest.mark.row("C-30")
def test_a_body_that_is_no_json():
    [told] = drift(_interaction("openai", answer=b"<html>Bad Gateway</html>"))
    assert told[:4] == ("response", "$", "body", '"<html>Bad Gateway</html>"')


@pytest.mark.row("C-30")
@pytest.mark.parametrize(
    ("method", "url", "headers", "names"),
    [
        ("GET", "https://api.openai.com/v1/models", {}, ("openai", "ModelList")),
        ("GET", "https://api.anthropic.com/v1/models", {"anthropic-version": "2023-06-01"},
         ("anthropic", "ModelList")),
        ("GET", "https://generativelanguage.googleapis.com/v1beta/models", {},
         ("gemini", "ListModelsResponse")),
        ("GET", "http://127.0.0.1:8910/v1beta/models/m", {}, ("gemini", "Model")),
        ("POST", "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions", {},
         ("openai", "ChatCompletion")),
        ("POST", "https://llm.example/x/v1/messages", {}, ("anthropic", "MessageResponse")),
        ("DELETE", "https://api.openai.com/v1/responses/resp_1", {},
         ("openai.responses", "DeletedResponse")),
        ("POST", "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/"
         "anthropic/models/claude:rawPredict", {}, ("anthropic", "MessageResponse")),
        ("POST", "https://bedrock-runtime.us-east-1.amazonaws.com/model/a/converse-stream", {},
         ("converse", "ConverseResponse")),
        ("DELETE", "http://localhost:11434/api/delete", {}, ("ollama", "")),
        ("GET", f"{INTERACTIONS}/v1_a?stream=true", {}, ("gemini.interactions", "Interaction")),
    ],
)  # fmt: skip
def test_the_endpoint_of_a_request(
    method: str, url: str, headers: dict[str, str], names: tuple[str, str]
):
    endpoint = endpoint_of(method, url, headers)
    assert endpoint is not None
    assert (endpoint.wire, endpoint.answer) == names


@pytest.mark.row("C-30")
def test_a_request_of_no_wire():
    assert endpoint_of("POST", "https://llm.example/api/talk", {}) is None
    interaction = _interaction("openai", answer={"mood": 1})
    request = msgspec.structs.replace(interaction.request, url="https://llm.example/api/talk")
    assert drift(msgspec.structs.replace(interaction, request=request)) == []


def test_every_endpoint_has_its_structs():
    from wire.testing.cassette.checks import endpoints

    tables = [endpoints._GEMINI, endpoints._OPENAI, endpoints._RESPONSES, endpoints._ANTHROPIC]
    tables += [endpoints._CONVERSE, endpoints._INTERACTIONS, endpoints._OLLAMA]
    errors = {"openai.responses": "Response", "converse": "ErrorObject"}
    for _, _, endpoint in (row for table in tables for row in table):
        for name in endpoint[1:]:
            assert (endpoint.struct(name) is None) is (name == "")
        assert endpoint.struct(errors.get(endpoint.wire, "ErrorBody"))


def test_each_known_value_is_one_of_a_field():
    modules = {
        "gemini": "wire.gemini.types",
        "openai": "wire.openai.chat.types",
        "openai.responses": "wire.openai.responses.types",
        "anthropic": "wire.anthropic.types",
        "converse": "wire.converse.types",
        "gemini.interactions": "wire.gemini.interactions.types",
        "ollama": "wire.ollama.types",
    }
    known = json.loads((ROOT / "wire/testing/cassette/checks/known_values.json").read_text("utf-8"))
    for wire, fields in known.items():
        types = importlib.import_module(modules[wire])
        for field in fields:
            struct, _, key = field.partition(".")
            assert key in getattr(types, struct).__struct_encode_fields__, field


# --- two responses --------------------------------------------------------------------------------


def _changes(recorded: Response, live: Response) -> list[str]:
    return [str(each) for each in changes(recorded, live)]


@pytest.mark.row("C-30")
@joined("wire", URLS)
def test_other_words_numbers_and_lengths_are_no_change(wire: str):
    live = json.dumps(ANSWERS[wire]).replace("05:12", "At a quarter past five.")
    live = live.replace('"promptTokenCount": 3', '"promptTokenCount": 4.5')
    assert changes(_interaction(wire).response, _response(live.encode())) == []


@pytest.mark.row("C-30")
def test_what_changed_is_told_by_path():
    recorded = ANSWERS["gemini"]
    live = _planted(recorded, "candidates", 0, "finishReason", new="MAX_TOKENS")
    live = _planted(live, "candidates", 0, "mood", new={"calm": 1})
    live = _planted(live, "usageMetadata", "promptTokenCount", new="3")
    del live["candidates"][0]["content"]["role"]
    assert _changes(
        _interaction("gemini", answer=recorded, retry_after="1").response,
        _interaction("gemini", answer=live, status=206).response,
    ) == [
        "status: recorded 200, live 206",
        "header retry_after: gone, recorded present",
        '$.candidates[*].content.role: gone, recorded "model"',
        '$.candidates[*].finishReason: recorded "STOP", live "MAX_TOKENS"',
        "$.usageMetadata.promptTokenCount: recorded number, live text",
        "$.candidates[*].mood: new, object",
    ]


@pytest.mark.row("C-30")
def test_events_that_came_and_went():
    recorded = _response(STREAMS["anthropic"], content_type="text/event-stream")
    live = STREAMS["anthropic"].replace(b"ping", b"pong").replace(b'"text_delta"', b'"voice_delta"')
    live = live.replace(b'"index":0,', b"")
    assert _changes(recorded, _response(live * 2, content_type="text/event-stream")) == [
        "event ping: gone, recorded present",
        "event content_block_delta, $.index: gone, recorded number",
        'event content_block_delta, $.delta.type: recorded "text_delta", live "voice_delta"',
        "event pong: new, present",
    ]


@pytest.mark.row("C-30")
def test_another_form_of_body_and_another_end():
    whole = _response(b"{}")
    cut = msgspec.structs.replace(_response(b"<p>", content_type="text/html"), end="cut")
    assert changes(whole, cut) == [
        Change("end", "eof", "cut"),
        Change("header content-type", "application/json", "text/html"),
        Change("body", "JSON", "text"),
        Change("$", "object", ""),
    ]
    assert _changes(whole, msgspec.structs.replace(whole, body=msgspec.UNSET)) == [
        "body: recorded JSON, live none",
        "$: gone, recorded object",
    ]


@pytest.mark.row("C-30")
def test_what_the_model_writes_is_not_compared():
    """Arguments of a call have the shape of the user's tool and of the model's answer."""

    def answer(arguments: Any) -> Response:
        call = {"functionCall": {"name": "f", "args": arguments}}
        return _response(json.dumps({"candidates": [{"content": {"parts": [call]}}]}).encode())

    assert changes(answer({"type": "a", "b": 1}), answer({"type": "c", "d": [2]})) == []


@pytest.mark.row("C-30")
@joined("levels", [50, 300, 900, 5000, 100_000])
def test_what_is_nested_deeply_is_read_or_told(levels: int):
    deep = b'{"mood": ' + b"[" * levels + b"]" * levels + b"}"
    for wire in URLS:
        [told] = drift(_interaction(wire, answer=deep))
        assert (told.path, told.kind) in (("$.mood", "key"), ("$", "body"))
    assert _changes(_response(b"{}"), _response(deep))[:2] in (
        ["$.mood: new, list"],
        ["body: recorded JSON, live text", "$: gone, recorded object"],
    )
