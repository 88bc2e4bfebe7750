"""Each value of a client's request is read, or told: bodies of recorded requests, one value
planted or removed at a time.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance.records import lines
from tests.joined import joined
from tests.property import ALL, sample
from tests.serving.running import BODIES, gateway, posted
from tests.serving.test_requests import PARSERS
from wire.errors import HistoryError, RuleError
from wire.neutral.serving import ReceivedRequest, passed_on
from wire.neutral.unread import Kinds, find_unread, keys
from wire.testing.emulator import Emulator
from wire.wires.contract import WIRES
from wire.wires.providers import PROVIDERS

SHARED = Path(__file__).parents[3] / "shared" / "corpus"
SAMPLES = Path(__file__).parents[1] / "fixtures" / "corpus"
FILES = {
    "anthropic": ("anthropic", "anthropic-compatible"),
    "gemini": ("gemini",),
    "chat": ("openai-chat", "openai-chat-compatible"),
    "responses": ("openai-responses", "openai-responses-compatible"),
    "converse": ("bedrock",),
    "interactions": ("gemini-interactions",),
    "ollama": ("ollama",),
}
ENDPOINTS = {
    "anthropic": re.compile(r"/messages$"),
    "gemini": re.compile(r":(stream)?[gG]enerateContent$"),
    "chat": re.compile(r"/chat/completions$"),
    "responses": re.compile(r"/responses$"),
    "converse": re.compile(r"/converse(-stream)?$"),
    "interactions": re.compile(r"/interactions$"),
    "ollama": re.compile(r"/api/chat$"),
}
FREE = {
    *("args", "arguments", "input", "input_schema", "labels", "metadata", "output", "parameters"),
    *("parametersJsonSchema", "parameters_json_schema", "response", "responseJsonSchema"),
    *("responseSchema", "response_json_schema", "response_schema", "schema"),
}
"""Objects of the client's own: schemas, arguments of calls, contents of results."""
DEFAULTS: tuple[Any, ...] = (
    "", {}, [], False, "auto", "text", "AUTO", "object",
    {"type": "object"}, {"type": "object", "properties": {}}, {"properties": {}},
    {"type": "OBJECT", "properties": {}}, "text/plain",
)  # fmt: skip
"""Values that mean the same as none."""
SAME = re.compile(
    # The type of what has only one type, roles and names that follow from others, and what a
    # server numbers.
    r"(.*\.)?(type|role|index|id|status|name|signature)"
    # Defaults of the API.
    r"|n|stream|model|parallel_tool_calls|.*\.(mode|effort|detail|response_inclusion|display)"
    r"|generationConfig\.(candidateCount|responseModalities)|stream_options\.include_\w+"
    # What belongs to the bytes of a part, which its own model gets.
    r"|.*\.thought_?[sS]ignature"
    # The media type of a text or of a sound, and reasoning that stands twice in a message.
    r"|.*\.(media_type|mime_?[tT]ype)|.*input_audio\.format|messages\.reasoning(_content)?"
    # The order of properties that is theirs already.
    r"|.*[pP]roperty_?[oO]rdering"
)
"""Places whose values may be as if they were absent."""
LEAVES = 60
"""Values of one body that are removed, one at a time."""

Path_ = tuple[str | int, ...]


def bodies(client: str) -> list[Any]:
    """Bodies of requests: in `make test-slow` of the corpus, if it lies beside the checkout; else
    of the sample of it that is part of the project.
    """
    paths = [SHARED / f"{name}.jsonl.gz" for name in FILES[client]]
    if not (ALL and paths[0].exists()):
        paths = sorted(SAMPLES.glob("*.jsonl"))  # few: all of them are tried
    found = []
    for path in paths:
        for record in lines(path, ("url",)):
            body = record.get("request_body")
            if isinstance(body, dict) and ENDPOINTS[client].search(record["url"].split("?")[0]):
                found.append(body)
    return found


def objects(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The paths of objects with keys of the API."""
    if isinstance(value, dict):
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in pairs:
        if (key not in FREE and isinstance(each, dict | list)) or (
            key in FREE and isinstance(each, list)
        ):
            yield from objects(each, (*path, key))


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The paths of values that have none inside, and are not null."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in pairs:
        at = (*path, key)
        if isinstance(each, dict | list) and each and key not in FREE:
            yield from leaves(each, at)
        elif each is not None:
            yield at


def at(body: Any, path: Path_) -> Any:
    for step in path:
        body = body[step]
    return body


def shown(path: Path_) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).lstrip(".")


def meaning(received: ReceivedRequest) -> Any:
    """All that is read, without notes and without the bytes that only the own vendor gets."""
    request = received.request
    messages = [
        (
            each.role,
            each.cache,
            each.name,
            [{**msgspec.structs.asdict(part), "origin": None} for part in each.parts],
        )
        for each in request.messages
    ]
    rest = {name: repr(getattr(request, name)) for name in request.__struct_fields__[1:]}
    rest.pop("messages", None)
    own = {name: repr(getattr(received, name)) for name in received.__struct_fields__}
    return messages, rest, {key: own[key] for key in own if key not in ("request", "notes")}


def is_told(path: str, received: ReceivedRequest) -> bool:
    notes = [note.path for note in received.notes]
    return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in notes)


def parsed(client: str, body: Any) -> ReceivedRequest | None:
    """The request; `None` if the body is refused, which tells of it too."""
    try:
        return PARSERS[client](json.dumps(body).encode())
    except RuleError:
        return None


@pytest.mark.sampled
@pytest.mark.parametrize("client", FILES)
def test_a_value_planted_at_any_depth_is_told(client: str) -> None:
    silent, tried = set(), 0
    for body in sample(bodies(client), 20):
        before = parsed(client, body)
        if before is None:
            continue
        for path in list(objects(body))[:LEAVES]:
            planted = copy.deepcopy(body)
            at(planted, path)["an_unknown_key"] = 1
            after, place = parsed(client, planted), shown((*path, "an_unknown_key"))
            tried += 1
            if after is None or is_told(place, after) or meaning(after) != meaning(before):
                continue
            if not RESULTS_OF_SERVERS.match(place):
                silent.add(re.sub(r"\[\d+\]", "[]", place))
    assert silent == set()
    assert tried > 5


OWN = {
    "anthropic": ("anthropic", "claude-sonnet-5"),
    "gemini": ("gemini", "gemini-3.8-flash"),
    "chat": ("openai@chat", "gpt-4o"),
    "responses": ("openai@responses", "gpt-5.4"),
    "converse": ("bedrock", "us.anthropic.claude-sonnet-4-6"),
    "interactions": ("gemini@interactions", "gemini-3.8-flash"),
    "ollama": ("ollama", "qwen3:8b"),
}


def sent_to_own(client: str, body: Any) -> tuple[Any, list[str]] | None:
    """The body that a model of the client's own API gets, and the paths of the notes; `None` if the
    request is refused.
    """
    provider, model = OWN[client]
    try:
        found = PARSERS[client](json.dumps(body).encode(), provider=provider, model=model)
        call = WIRES[PROVIDERS[provider].wire].call(found.request, model, PROVIDERS[provider])
    except (RuleError, HistoryError):
        return None
    notes = list(found.notes)
    call = passed_on(call, found, notes)
    return json.loads(call.body), [note.path for note in notes]


def has_key(value: Any, name: str) -> bool:
    inside = value.values() if isinstance(value, dict) else value
    return (isinstance(value, dict) and name in value) or any(
        has_key(each, name) for each in inside if isinstance(each, dict | list)
    )


@pytest.mark.sampled
@pytest.mark.parametrize("client", FILES)
def test_a_model_of_the_clients_own_api_gets_a_value_planted_at_any_depth(client: str) -> None:
    lost, passed, told = set(), 0, 0
    for body in sample(bodies(client), 50):
        if len(json.dumps(body)) > 15_000 or sent_to_own(client, body) is None:
            continue
        for path in list(objects(body))[:12]:
            planted, place = copy.deepcopy(body), shown((*path, "an_unknown_key"))
            at(planted, path)["an_unknown_key"] = 1
            after = sent_to_own(client, planted)
            if after is None or has_key(after[0], "an_unknown_key"):
                passed += after is not None
            elif any(place.startswith(note) for note in after[1] if note):
                told += 1
            elif not RESULTS_OF_SERVERS.match(place):
                lost.add(re.sub(r"\[\d+\]", "[]", place))
    assert lost == set()
    assert passed > 3 * told, "most of them have a place"


@joined(
    ("client", "body"),
    [
        ("chat", {"logit_bias": {"1": 2}, "logprobs": True, "stream_options": {"a": 1}}),
        (
            "chat",
            {"parallel_tool_calls": False, "modalities": ["text", "audio"], "audio": {"a": 1}},
        ),
        (
            "chat",
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "b": 1}]}]},
        ),
        ("chat", {"messages": [{"role": "user", "content": [{"type": "a", "b": 1}]}]}),
        ("chat", {"tools": [{"type": "mcp", "a": 1}, {"type": "b"}]}),
        ("responses", {"truncation": "auto", "include": ["a"], "prompt": {"id": "a"}}),
        ("responses", {"tools": [{"type": "shell"}], "tool_choice": {"type": "shell"}}),
        (
            "responses",
            {"input": [{"role": "user", "content": [{"type": "scoped_content", "a": 1}]}]},
        ),
        ("anthropic", {"top_k": 5, "thinking": {"type": "adaptive", "a": 1}, "speed": "fast"}),
        ("anthropic", {"system": [{"type": "text", "text": "a", "a": 1}]}),
        ("anthropic", {"tools": [{"type": "bash_20250124", "name": "bash"}]}),
        ("anthropic", {"messages": [{"role": "user", "content": [{"type": "container_upload"}]}]}),
        ("gemini", {"safetySettings": [{"a": 1}], "cachedContent": "a", "toolConfig": {"a": 1}}),
        ("gemini", {"generationConfig": {"topK": 3, "responseModalities": ["IMAGE"]}}),
        ("gemini", {"tools": [{"googleMaps": {"a": 1}}]}),
        ("gemini", {"contents": [{"parts": [{"executableCode": {"code": "1"}}], "a": 1}]}),
    ],
)
def test_a_model_of_the_clients_own_api_gets_it_unchanged(
    client: str, body: dict[str, Any]
) -> None:
    sent, notes = sent_to_own(client, {**BODIES[client], **body}) or ({}, ["refused"])
    assert notes == []
    for key, value in body.items():
        inside = value.items() if isinstance(value, dict) else ()
        for name, each in inside:
            assert sent[key][name] == each, (key, name)
        if isinstance(value, list):
            for at, each in enumerate(value):
                assert each in sent[key] or {**each, **sent[key][at]} == sent[key][at], (key, each)
        elif not isinstance(value, dict):
            assert sent[key] == value


@pytest.mark.parametrize("kind", ["web_search_20250305", "tool_of_next_year"])
@pytest.mark.parametrize("disabled", [True, False])
def test_the_choice_of_a_server_tool_keeps_its_type(kind: str, disabled: bool) -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": disabled}
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [{"type": kind, "name": "web_search"}],
        "tool_choice": choice,
    }
    found = sent_to_own("anthropic", body)
    assert found is not None
    assert found[0]["tool_choice"] == choice


def test_a_tool_reference_goes_to_its_own_vendor_within_its_result() -> None:
    reference = {"type": "tool_reference", "tool_name": "tide"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [reference]}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    body = {**BODIES["anthropic"], "messages": messages}
    sent, notes = sent_to_own("anthropic", body) or ({}, [])
    assert (sent["messages"][2]["content"][0]["content"], notes) == ([reference], [])
    found = PARSERS["anthropic"](json.dumps(body).encode())
    assert [note.path for note in found.notes] == ["messages[2].content[0].content[0]"]


def test_a_server_gets_the_features_that_its_client_switches_on() -> None:
    edits = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    beta = {"anthropic-beta": "context-management-2025-06-27"}
    tools = [{"name": "tide", "input_schema": {"type": "object"}, "eager_input_streaming": True}]
    changes = {"context_management": edits, "tools": tools}
    emulator = Emulator()
    with gateway("anthropic", emulator) as server:
        whole = posted(server, "anthropic", changes, beta)
        streamed = posted(server, "anthropic", {**changes, "stream": True}, beta)
    assert (whole.status_code, streamed.status_code) == (200, 200)
    assert "x-wire-note" not in whole.headers
    assert len(emulator.requests) == 2
    for request in emulator.requests:
        assert request["body"]["context_management"] == edits
        assert request["body"]["tools"] == tools
        assert request["headers"]["anthropic-beta"] == beta["anthropic-beta"]


RESULTS_OF_SERVERS = re.compile(
    # What the server of a vendor wrote beside its own calls: it goes back as it came, or not at
    # all, with a note of the whole part.
    r"messages\[\d+\]\.content\[\d+\]\.content[.\[]|messages\[\d+\]\.reasoning_details\["
    r"|contents\[\d+\]\.parts\[\d+\]\.(toolCall|toolResponse|functionResponse)\."
)


@pytest.mark.sampled
@pytest.mark.parametrize("client", FILES)
def test_a_value_that_can_be_removed_is_told_or_a_default(client: str) -> None:
    silent, tried = set(), 0
    for body in sample(bodies(client), 20):
        before = parsed(client, body)
        if before is None:
            continue
        for path in list(leaves(body))[:LEAVES]:
            place, value = shown(path), at(body, path)
            if is_told(place, before) or value in DEFAULTS:
                continue
            if path[0] == "tool_choice" and not body.get("tools"):
                continue  # nothing to choose
            removed = copy.deepcopy(body)
            del at(removed, path[:-1])[path[-1]]
            after = parsed(client, removed)
            tried += 1
            name = re.sub(r"\[\d+\]", "", place)
            if after is not None and meaning(after) == meaning(before) and not SAME.fullmatch(name):
                silent.add(name)
    assert silent == set()
    assert tried > 5


def test_shapes() -> None:
    kinds = Kinds("type", {"a": keys("type x"), "": keys("y")}, keys("type"))
    shape = keys("whole", list=kinds)
    body = {
        "whole": {"any": [1]},
        "list": [{"type": "a", "x": 1, "y": 2}, {"y": 1, "z": 3}, {"type": 5, "q": 0}, "text"],
        "more": {"deep": 1},
        "absent": None,
    }
    assert [note.path for note in find_unread(json.dumps(body).encode(), shape).notes()] == [
        "more",
        "list[0].y",
        "list[1].z",
        "list[2].q",
    ]
    assert [note.path for note in find_unread(b'{"x":"\\ud800","y":1}', keys("x")).notes()] == ["y"]


def test_a_body_of_many_values_has_a_bounded_number_of_notes() -> None:
    body = json.dumps({"list": [{"a": 1, "b": None}] * 2500}).encode()
    notes = find_unread(body, keys("", list={})).notes()
    assert [note.path for note in notes[998:]] == ["list[998].a", "list[999].a", "body"]
    assert notes[-1].message == "1500 more values were left out"
    tools = {**BODIES["chat"], "tools": [{"type": "a"}] * 2500}
    found = PARSERS["chat"](json.dumps(tools).encode()).notes
    assert (len(found), found[-1].message) == (1001, "1500 more values were left out")
