"""Recorded requests, read as a server of their wire reads them and rendered for the same host and
model: `python -m tests.conformance requests PATH...`.

Both bodies are compared leaf by leaf. A value that is lost, changed or added is told by a note with
its path, or silent, which fails the run. `FORMS` and `ABSENT` declare what means the same. The path
of a note of the reader is one in the client's body; `SENT_AS` says where the renderer writes what
its notes name.
"""

from __future__ import annotations

import base64
import binascii
import collections
import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tests.conformance.records import Record, lines
from tests.conformance.replies import generating, host_of
from tests.conformance.result import Mismatch, Result
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.errors import WireError
from wire.neutral.serving import accepted, passed_on
from wire.wires.contract import WIRES

FOUND: collections.Counter[str] = collections.Counter()
"""How many requests of the last run had which outcome."""


class Difference(NamedTuple):
    """One value that is not the same in both bodies."""

    kind: str
    """`lost`, `changed` or `added`."""
    path: str
    was: Any = None
    sent: Any = None

    @property
    def place(self) -> str:
        """Kind and path, without the positions in lists."""
        return f"{self.kind} {_pattern(self.path)}"


class Outcome(NamedTuple):
    """What became of one request."""

    refused: str = ""
    """The typed error that names a path; empty if the request was rendered."""
    told: int = 0
    """Notes on it."""
    silent: Sequence[Difference] = ()
    """Differences without a note."""


def run(arguments: list[str]) -> Result:
    """Every request for output of a model in the files; a silent difference fails it."""
    result = Result()
    for path in arguments:
        for record in lines(Path(path), ("id", "status", "response_body")):
            result.records += 1
            wire = generating(record)
            if not wire or not isinstance(record.get("request_body"), dict):
                result.out_of_scope += 1
            else:
                result.hold(record, [check_request], "endpoint")
    for number, what in sorted((number, what) for what, number in FOUND.items()):
        print(f"{what}: {number}")
    return result


def check_request(record: Record) -> None:
    """No value is lost, changed or added in silence."""
    wire = generating(record)
    found = walked(record, wire)
    if found.silent:
        raise Mismatch(f"{wire}: {found.silent[0]} has no note")
    state = "told" if found.told else "equal"
    FOUND[f"{wire}: {'refused' if found.refused else state}"] += 1


def walked(record: Record, wire: str) -> Outcome:
    """The outcome of a recorded request, for the host and the model that were asked."""
    row, model = host_of(record, wire)
    headers = {key.lower(): value for key, value in (record.get("request_headers") or {}).items()}
    if wire == "anthropic":
        version = str(headers.get("anthropic-version") or "2023-06-01")
        row = msgspec.structs.replace(row, version=version)
    elif wire == "gemini" and row.name == "gemini" and "/v1/" in record["url"]:
        row = msgspec.structs.replace(row, version="v1")
    body = record["request_body"]
    if wire == "anthropic" and "model" not in body:
        body = {"model": model, **body}  # on Vertex it stands in the URL
    return outcome(wire, body, row, model)


def outcome(wire: str, body: Any, row: Provider, model: str) -> Outcome:
    """The outcome of a body."""
    try:
        sent, read, rendered = asked(wire, body, row, model)
    except WireError as error:
        return Outcome(refused=str(error))
    silent = differences(wire, body, json.loads(sent), read, rendered)
    return Outcome(told=len(read) + len(rendered), silent=silent)


def asked(
    wire: str, body: Any, row: Provider, model: str
) -> tuple[bytes, Sequence[Note], Sequence[Note]]:
    """What a server of the wire sends for a body to its own host, and the notes of its reader and
    of the renderer.
    """
    sent = json.dumps(body).encode()
    received = accepted(WIRES[wire].parse_request(sent, provider=row.name, model=model))
    made = WIRES[wire].stream_call if received.stream else WIRES[wire].call
    left: list[Note] = []
    call = passed_on(made(received.request, model, row), received, left)
    return call.body, [*received.notes, *left], call.notes


def differences(
    wire: str, body: Any, sent: Any, read: Sequence[Note] = (), rendered: Sequence[Note] = ()
) -> list[Difference]:
    """What is not the same in both bodies, and that no note tells."""
    was, paths = copy.deepcopy(body), [note.path for note in read]
    if wire == "gemini":
        was, paths = _camel(was), [_camel_key(path) for path in paths]
    for steps in sorted(map(_steps, paths), key=_last_first):
        _removed(was, steps)
    # What the reader tells of is gone, unless it is written in another way.
    own = [_pattern(path) for path in paths]
    told = [place for path in own for place in _sent_as(wire, path)]
    for note in rendered:
        path = _pattern(note.path)
        told += _sent_as(wire, path) or ([path] if path != "model" else [])
    return [
        each
        for each in _compared(plain(wire, was), plain(wire, sent), "")
        if not _is_inside(_pattern(each.path), told)
        and not (each.kind == "added" and _is_inside(_pattern(each.path), own))
    ]


def _is_inside(path: str, places: Sequence[str]) -> bool:
    return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in places)


_NONE: Any = object()


def _compared(was: Any, sent: Any, path: str) -> Iterator[Difference]:
    if isinstance(was, dict) and isinstance(sent, dict):
        for key in {**was, **sent}:
            at = f"{path}.{key}" if path else key
            given, got = was.get(key, _NONE), sent.get(key, _NONE)
            if _NONE not in (given, got):
                yield from _compared(given, got, at)
            elif isinstance(given, dict) and given:
                yield from _compared(given, {}, at)
            elif isinstance(got, dict) and got:
                yield from _compared({}, got, at)
            elif got is _NONE:
                yield Difference("lost", at, given)
            else:
                yield Difference("added", at, None, got)
    elif isinstance(was, list) and isinstance(sent, list):
        for index, (one, other) in enumerate(zip(was, sent, strict=False)):
            yield from _compared(one, other, f"{path}[{index}]")
        for index in range(len(sent), len(was)):
            yield Difference("lost", f"{path}[{index}]", was[index])
        for index in range(len(was), len(sent)):
            yield Difference("added", f"{path}[{index}]", None, sent[index])
    elif was != sent or isinstance(was, bool) is not isinstance(sent, bool):
        yield Difference("changed", path, was, sent)


# --- paths ----------------------------------------------------------------------------------------

_STEP = re.compile(r'\[("(?:[^"\\]|\\.)*")\]|\[(\d+)\]|([^.\[\]]+)')


def _steps(path: str) -> tuple[str | int, ...]:
    return tuple(
        json.loads(quoted) if quoted else int(index) if index else key
        for quoted, index, key in _STEP.findall(path)
    )


def _pattern(path: str) -> str:
    """The path without positions, in the spelling of `plain`."""
    return re.sub(r"\[\d+\]", "[]", path)


def _last_first(path: tuple[str | int, ...]) -> list[tuple[int, str]]:
    """Sorts items of a list behind those that follow them, which their removal would move."""
    return [(-step, "") if isinstance(step, int) else (0, step) for step in path]


def _removed(body: Any, path: tuple[str | int, ...]) -> None:
    for step in path[:-1]:
        try:
            body = body[step]
        except (KeyError, IndexError, TypeError):
            return
    try:
        del body[path[-1]]
    except (KeyError, IndexError, TypeError):
        return


def _sent_as(wire: str, path: str) -> Sequence[str]:
    """The patterns of the places in a body that a note with this pattern tells of."""
    for row, places in SENT_AS[wire]:
        if re.fullmatch(row, path):
            return places
    return ()


SENT_AS: Mapping[str, Sequence[tuple[str, Sequence[str]]]] = {
    "gemini": (
        (r"messages.*", ("contents", "systemInstruction")),
        (r"effort", ("generationConfig.thinkingConfig",)),
        (
            r"generationConfig.thinkingConfig.thinkingBudget",
            (
                "generationConfig.thinkingConfig.thinkingBudget",
                "generationConfig.thinkingConfig.thinkingLevel",
            ),
        ),
        (r"output.*", ("generationConfig.responseSchema", "generationConfig.responseMimeType")),
        (r"tools\[\].parameters.*", ("tools.functionDeclarations[].parameters",)),
        (r"max_tokens", ("generationConfig.maxOutputTokens",)),
        (r"temperature", ("generationConfig.temperature",)),
    ),
    "openai": (
        (r"effort", ("reasoning_effort", "thinking", "reasoning", "enable_thinking")),
        (r"output", ("response_format", "messages")),
        (r"output.*", ("response_format", "messages[].content")),
        (r"tier", ("service_tier",)),
        (r"functions", ("tools",)),
        (r"verbosity", ("verbosity", "messages[].content")),
        (r"tools\[\].parameters", ("tools[].function.parameters",)),
        (
            r"messages\[\].tool_calls\[\].id",
            ("messages[].tool_calls[].id", "messages[].tool_call_id"),
        ),
        (r"messages\[\](.parts\[\].*)?", ("messages",)),
    ),
    "openai.responses": (
        (r"messages.*", ("input", "instructions")),
        (r"max_tokens", ("max_output_tokens",)),
        (r"effort", ("reasoning.effort",)),
        (r"output", ("text.format", "input", "instructions")),
        (r"output.*", ("text.format",)),
        (r"tier", ("service_tier",)),
        (r"verbosity", ("text.verbosity",)),
    ),
    "anthropic": (
        (r"effort|thinking_budget", ("thinking", "output_config.effort", "max_tokens")),
        (r"thinking.budget_tokens", ("thinking", "output_config.effort")),
        (r"output.*", ("output_config.format",)),
        (r"tools\[\].parameters.*", ("tools[].input_schema",)),
        (r"tier", ("service_tier",)),
        (r"messages\[\](.parts\[\].*)?", ("messages", "system")),
    ),
    "converse": (
        (r"effort|thinking_budget", ("additionalModelRequestFields", "inferenceConfig.maxTokens")),
        (r"output.*", ("outputConfig.textFormat",)),
        (r"tools\[\].parameters.*", ("toolConfig.tools[].toolSpec.inputSchema",)),
        (r"tool_choice", ("toolConfig",)),
        (r"max_tokens", ("inferenceConfig.maxTokens",)),
        (r"temperature|top_p", ("inferenceConfig",)),
        (r"messages\[\](.parts\[\].*)?", ("messages", "system", "toolConfig.tools")),
    ),
    "ollama": (
        (r"effort", ("think",)),
        (r"output.*", ("format",)),
        (r"tools\[\].parameters.*", ("tools[].function.parameters",)),
        (r"messages\[\](.parts\[\].*)?", ("messages",)),
    ),
    "gemini.interactions": (
        (r"effort", ("generation_config.thinking_level",)),
        (r"tool_choice", ("generation_config.tool_choice",)),
        (r"max_tokens", ("generation_config.max_output_tokens",)),
        (r"tier", ("service_tier",)),
        (r"messages\[\](.parts\[\].*)?", ("input",)),
    ),
}
"""Wire -> pattern of the path of a note -> patterns of what is written for it; without a row it is
the same path. `model` warns, and nothing of the body is another for it."""


# --- what means the same --------------------------------------------------------------------------

FREE = {"args", "arguments", "labels", "metadata", "response", "extra_content"}
"""Objects of the client's own, whose `null`s and spelling count."""


class Absent(NamedTuple):
    """A value that means the same as none."""

    path: str
    """A regular expression of whole paths without positions."""
    values: tuple[Any, ...]
    reason: str


ABSENT: Mapping[str, Sequence[Absent]] = {
    "gemini": (
        Absent(r"store", (False,), "the library asks hosts not to store, unless it is told to"),
        Absent(r"generationConfig.responseMimeType", ("text/plain",), "default of the API"),
        Absent(r"model", (...,), "the name stands in the URL"),
        Absent(r"generationConfig.thinkingConfig.includeThoughts", (False,), "default of the API"),
        Absent(r"generationConfig.candidateCount", (1,), "default of the API"),
        Absent(r"generationConfig.responseModalities", (["TEXT"],), "default of the API"),
        Absent(r"contents\[\].role", ("user",), "default of the API"),
        Absent(r"systemInstruction.role", (...,), "the API does not read it"),
        Absent(r".*\.description", ("",), "says nothing"),
        Absent(r".*\.(required|stopSequences)", ([],), "names nothing"),
        Absent(r".*(Config|Schema|safetySettings|tools|toolConfig)", ({}, []), "holds nothing"),
        Absent(r"systemInstruction", ({"parts": [{"text": ""}]},), "says nothing"),
        Absent(r".*\.functionResponse.response", ({},), "a function that returned nothing"),
        Absent(r"toolConfig.functionCallingConfig.mode", ("AUTO",), "default of the API"),
    ),
    "openai": (
        Absent(r"store", (False,), "default of the API for chat completions"),
        Absent(r"stream", (False,), "default of the API"),
        Absent(r"stream_options.include_usage", (True, False), "the library always asks for usage"),
        Absent(r"stream_options|tools|stop|reasoning", ({}, []), "holds nothing"),
        Absent(r"n", (1,), "default of the API"),
        Absent(r"model", ("m",), "the recorded body names no model"),
        Absent(r"parallel_tool_calls", (True,), "default of the API"),
        Absent(r"tool_choice", ("auto",), "default of the API"),
        Absent(r"modalities", (["text"],), "default of the API"),
        Absent(r"response_format", ({"type": "text"},), "default of the API"),
        Absent(r"tools\[\].function.strict", (False,), "default of the API"),
        Absent(r".*json_schema.strict", (False,), "default of the API"),
        Absent(r".*json_schema.name", ("", "answer"), "the API asks for a name"),
        Absent(r"tools\[\].type", ("function",), "the only type of a function"),
        Absent(r".*\.description", ("",), "says nothing"),
        Absent(r".*\.parameters", ({"type": "object", "properties": {}},), "no arguments"),
        Absent(
            r"messages\[\]\.(prefix|annotations|tool_calls|content|tool_calls\[\].index)",
            (False, [], [{"type": "text", "text": ""}], 0, 1, 2, 3),
            "in what an API returned, and without a meaning in a request",
        ),
        Absent(r".*\.filename", ("document.pdf",), "the API asks for a name"),
    ),
    "openai.responses": (
        Absent(r"stream", (False,), "default of the API"),
        Absent(r"store", (True, False), "whoever serves the client stores the response, or not"),
        Absent(
            r"include\[\]",
            (
                "reasoning.encrypted_content",
                "file_search_call.results",
                "code_interpreter_call.outputs",
            ),
            "the library always asks for what it needs to send the turn back",
        ),
        Absent(r"previous_response_id", (...,), "whoever serves the client knows that response"),
        Absent(r"tools|include|reasoning|text", ([], {}), "holds nothing"),
        Absent(r"instructions", ("",), "says nothing"),
        Absent(r"input\[\].type", ("message",), "default of the API"),
        Absent(r"input\[\].(id|status)", (...,), "numbers what the server has stored"),
        Absent(r".*\.description", ("",), "says nothing"),
        Absent(r"parallel_tool_calls", (True,), "default of the API"),
        Absent(r"tool_choice", ("auto",), "default of the API"),
        Absent(r"text.format", ({"type": "text"},), "default of the API"),
        Absent(r"text.format.strict", (False,), "default of the API"),
        Absent(r".*\.detail", ("auto",), "default of the API"),
        Absent(r"input\[\].summary", ([],), "says nothing"),
    ),
    "anthropic": (
        Absent(r"stream", (False,), "default of the API"),
        Absent(r"tools|output_config", ([], {}), "holds nothing"),
        Absent(r"system", ([{"type": "text", "text": ""}], []), "says nothing"),
        Absent(r".*\.is_error", (False,), "default of the API"),
        Absent(r".*\.description", ("",), "says nothing"),
        Absent(r"tool_choice.disable_parallel_tool_use", (False,), "default of the API"),
        Absent(r"tool_choice", ({"type": "auto"},), "default of the API"),
        Absent(r"tools\[\].strict", (False,), "default of the API"),
        Absent(r"tools\[\].type", ("custom",), "default of the API"),
        Absent(r"output_config.effort", ("high",), "default of models without another one"),
        Absent(r"thinking.display", ("omitted",), "default since 4.7, and asked for there alone"),
    ),
    "converse": (
        Absent(r"system|toolConfig|inferenceConfig|additionalModelRequestFields", ({}, []), "none"),
        Absent(r"toolConfig.toolChoice", ({"auto": {}},), "default of the API"),
        Absent(r".*\.status", ("success",), "default of the API"),
        Absent(r".*\.toolUse.type", ("tool_use",), "default of the API"),
        Absent(r"inferenceConfig.stopSequences", ([],), "names nothing"),
        Absent(r".*\.description", ("",), "says nothing"),
    ),
    "ollama": (
        Absent(r"truncate|shift", (False,), "sent by this library for all that do not say it"),
        Absent(r"stream", (True, False), "of the call"),
        Absent(r"options|tools|format", ({}, [], ""), "none"),
        Absent(r".*\.type", ("function",), "the only one"),
        Absent(r".*\.description", ("",), "says nothing"),
        Absent(r".*\.content", ("",), "says nothing"),
    ),
    "gemini.interactions": (
        Absent(r"store", (True, False), "whoever serves the client stores its interactions"),
        Absent(r"previous_interaction_id", (...,), "whoever serves the client knows that one"),
        Absent(r"stream", (False,), "default of the API"),
        Absent(r"generation_config.thinking_summaries", ("auto", "none"), "comes with a level"),
    ),
}


def plain(wire: str, body: Any) -> Any:
    """The body in one form: without values that mean none, in one spelling of what has several."""
    found = _without_nulls(copy.deepcopy(body))
    for form, _ in FORMS[wire]:
        found = form(found)
    return _without_absent(wire, found, "")


def _without_nulls(value: Any, key: str = "") -> Any:
    if isinstance(value, dict) and key not in FREE:
        return {
            name: _without_nulls(each, name) for name, each in value.items() if each is not None
        }
    return [_without_nulls(each, key) for each in value] if isinstance(value, list) else value


def _without_absent(wire: str, value: Any, path: str) -> Any:
    if isinstance(value, dict):
        inside = (
            (key, at, _without_absent(wire, each, at))
            for key, each in value.items()
            for at in [f"{path}.{key}" if path else key]
        )
        return {key: each for key, at, each in inside if not _is_absent(wire, at, each)}
    if isinstance(value, list):
        at = f"{path}[]"
        found = (_without_absent(wire, each, at) for each in value)
        return [each for each in found if not _is_absent(wire, at, each)]
    return value


def _is_absent(wire: str, path: str, value: Any) -> bool:
    return any(
        (row.values == (...,) or any(_equal(value, each) for each in row.values))
        and re.fullmatch(row.path, path)
        for row in ABSENT[wire]
    )


def _equal(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) is isinstance(other, bool)


def _camel(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        if key in FREE or key == "properties":
            return (
                {name: _camel(each) for name, each in value.items()} if key not in FREE else value
            )
        return {
            name: _camel(each, name)
            for name, each in ((_camel_key(name), each) for name, each in value.items())
        }
    return [_camel(each, key) for each in value] if isinstance(value, list) else value


def _camel_key(key: str) -> str:
    return re.sub(r"(?<=[a-z])_([a-z])", lambda found: found[1].upper(), key)


def _merged_contents(body: Any) -> Any:
    """Neighbours of one role are one content, parts are a list, roles are named."""
    contents: list[Any] = []
    given = body.get("contents") or []
    for each in given if isinstance(given, list) else [given]:
        content = {"parts": [each]} if "parts" not in each and "role" not in each else {**each}
        parts = content.get("parts") or []
        content["parts"] = parts if isinstance(parts, list) else [parts]
        content.setdefault("role", "user")
        if content["role"] == "function":
            content["role"] = "user"
        if contents and contents[-1]["role"] == content["role"]:
            contents[-1] = _joined(contents[-1], content, "parts")
        else:
            contents.append(content)
    system = body.get("systemInstruction")
    if isinstance(system, dict):
        parts = system.get("parts") or []
        parts = parts if isinstance(parts, list) else [parts]
        text = "\n\n".join(each.pop("text", "") for each in parts)
        beside = [each for each in parts if each]
        body["systemInstruction"] = {**system, "parts": [{"text": text}, *beside]}
    return {**body, "contents": contents}


def _joined(first: dict[str, Any], second: dict[str, Any], key: str) -> dict[str, Any]:
    """Two turns as one; what only one of them has is not lost."""
    return {**first, **second, key: [*(first.get(key) or []), *(second.get(key) or [])]}


def _one_set_of_tools(body: Any) -> Any:
    """Tools by their key: how they are distributed over objects has no meaning."""
    tools: dict[str, Any] = {}
    given = body.get("tools") or []
    for tool in given if isinstance(given, list) else [given]:
        for key, each in tool.items():
            tools[key] = [*tools.get(key, []), *each] if isinstance(each, list) else each
    return {**body, "tools": tools} if tools else {k: v for k, v in body.items() if k != "tools"}


def _each(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]], key: str = "") -> Any:
    """The value with each of its objects changed, the inner ones first."""
    if isinstance(value, dict):
        if key in FREE:
            return value
        return change({name: _each(each, change, name) for name, each in value.items()})
    return [_each(each, change, key) for each in value] if isinstance(value, list) else value


def _gemini_words(found: dict[str, Any]) -> dict[str, Any]:
    for key in ("type", "thinkingLevel", "mode"):
        if isinstance(found.get(key), str):
            found[key] = found[key].lower() if key == "type" else found[key].upper()
    if "description" in found and "response" in found:  # of a declaration
        found["responseSchema"] = found.pop("response")
    for schema in ("parameters", "responseSchema"):
        for name in (f"{schema}JsonSchema", schema.replace("Schema", "JsonSchema")):
            if name in found:
                found[schema] = found.pop(name)
        if isinstance(found.get(schema), dict):
            found[schema] = _schema(found[schema])
            if schema == "parameters" and not found[schema].get("properties"):
                del found[schema]  # a function without arguments
    if isinstance(found.get("data"), str):
        found["data"] = _base64(found["data"])
    return found


def _base64(text: str) -> str:
    try:
        data = base64.b64decode(text.replace("-", "+").replace("_", "/") + "==")
    except binascii.Error:
        return text
    return base64.b64encode(data).decode()


def _schema(schema: Any, defs: Mapping[str, Any] | None = None) -> Any:
    """A JSON Schema in the terms of Gemini's Schema."""
    if isinstance(schema, list):
        return [_schema(each, defs) for each in schema]
    if not isinstance(schema, dict):
        return schema
    defs = defs or schema.get("$defs") or schema.get("definitions") or {}
    if "$ref" in schema and (found := defs.get(str(schema["$ref"]).rpartition("/")[2])):
        rest = {key: each for key, each in schema.items() if key != "$ref"}
        return _schema({**found, **rest}, defs)
    made: dict[str, Any] = {
        key: _schema(each, defs) for key, each in schema.items() if key != "$defs"
    }
    if isinstance(made.get("properties"), dict):
        fields = schema["properties"]
        made["properties"] = {key: _schema(each, defs) for key, each in fields.items()}
        made.setdefault("propertyOrdering", list(fields))
    if "const" in made:
        made["enum"] = [made.pop("const")]
    if isinstance(made.get("type"), list):
        kinds = [each for each in made["type"] if each != "null"]
        if len(kinds) == 1:
            made = {**made, "type": kinds[0], "nullable": True}
    choices = made.get("anyOf")
    if isinstance(choices, list) and {"type": "null"} in choices:
        others = [each for each in choices if each != {"type": "null"}]
        made = {key: each for key, each in made.items() if key != "anyOf"} | {"nullable": True}
        made |= others[0] if len(others) == 1 else {"anyOf": others}
    if isinstance(made.get("type"), str):
        made["type"] = made["type"].lower()
    if made.get("enum") and "type" not in made and all(isinstance(x, str) for x in made["enum"]):
        made["type"] = "string"
    return made


def _texts(found: dict[str, Any]) -> dict[str, Any]:
    """A text in `content` and `system` as a list with one part; all texts of one type."""
    for key in ("content", "system"):
        if isinstance(found.get(key), str):
            found[key] = [{"type": "text", "text": found[key]}]
    if found.get("type") in ("input_text", "output_text"):
        found["type"] = "text"
    return found


def _chat_words(found: dict[str, Any]) -> dict[str, Any]:
    if found.get("role") == "developer":
        found["role"] = "system"
    if isinstance(found.get("image_url"), str) and found.get("type") == "image_url":
        found["image_url"] = {"url": found["image_url"]}
    if isinstance(found.get("stop"), str):
        found["stop"] = [found["stop"]]
    if found.get("tool_choice") == "any":
        found["tool_choice"] = "required"
    if found.get("reasoning") is not None and found["reasoning"] == found.get("reasoning_content"):
        del found["reasoning"]
    if "max_completion_tokens" in found:
        found["max_tokens"] = found.pop("max_completion_tokens")
    if isinstance(found.get("reasoning"), dict) and "effort" in found["reasoning"]:
        found.setdefault("reasoning_effort", found["reasoning"].pop("effort"))
    if isinstance(found.get("functions"), list):
        functions = [{"type": "function", "function": each} for each in found.pop("functions")]
        found.setdefault("tools", functions)
    if isinstance(found.get("function_call"), str):
        found.setdefault("tool_choice", found.pop("function_call"))
    return found


def _input_items(body: Any) -> Any:
    given = body.get("input")
    user = {"role": "user", "content": [{"type": "text", "text": given}]}
    items: list[Any] = [user] if isinstance(given, str) else list(given or [])
    says = [body["instructions"]] if body.get("instructions") else []
    for each in items:
        if each.get("type", "message") == "message" and each.get("role") == "developer":
            each["role"] = "system"
    while items and items[0].get("role") == "system" and not _says_more(items[0]):
        says += [part["text"] for part in items.pop(0)["content"]]
    return {**body, "input": items, **({"instructions": "\n\n".join(says)} if says else {})}


def _says_more(item: dict[str, Any]) -> bool:
    """Whether a message has more than texts."""
    return (
        not item.keys() <= {"type", "role", "content"}
        or item.get("type", "message") != "message"
        or any(
            part.keys() != {"type", "text"} or part["type"] != "text" for part in item["content"]
        )
    )


def _merged_turns(body: Any) -> Any:
    turns: list[Any] = []
    for each in body.get("messages") or []:
        if turns and turns[-1].get("role") == each.get("role"):
            turns[-1] = _joined(turns[-1], each, "content")
        else:
            turns.append(each)
    return {**body, "messages": turns}


def _last_block_cached(body: Any) -> Any:
    cached = body.pop("cache_control", None)
    if cached is not None and body["messages"]:
        body["messages"][-1]["content"][-1].setdefault("cache_control", cached)
    return body


def _output_config(body: Any) -> Any:
    form = body.pop("output_format", None)
    if form is not None:
        body["output_config"] = {**(body.get("output_config") or {}), "format": form}
    return body


def _converse_words(value: Any) -> Any:
    if isinstance(value.get("content"), list):  # a block whose only key the reader told of
        value = {**value, "content": [each for each in value["content"] if each != {}]}
    if isinstance(value.get("video"), dict):  # a media type in place of a format
        form = str(value["video"].get("format")).removeprefix("video/")
        value = {**value, "video": {**value["video"], "format": form}}
    if isinstance(value.get("jsonSchema"), dict):
        schema = value["jsonSchema"]
        value = {**value, "jsonSchema": {**schema, "schema": json.loads(schema["schema"])}}
    if isinstance(value.get("document"), dict) and "text" in value["document"]["source"]:
        text = value["document"]["source"]["text"].encode()
        source = {"bytes": base64.b64encode(text).decode()}
        value = {**value, "document": {"format": "txt", **value["document"], "source": source}}
    return value


Form = tuple[Callable[[Any], Any], str]


def _steps_of_input(body: Any) -> Any:
    given = body.get("input")
    if isinstance(given, str):
        given = {"type": "text", "text": given}
    contents = [given] if isinstance(given, dict) else given or []
    if all(each.get("type") in ("text", "image") for each in contents):
        return {**body, "input": [{"type": "user_input", "content": contents}]}
    return body


FORMS: Mapping[str, Sequence[Form]] = {
    "gemini": (
        (_camel, "the server takes both spellings of its keys"),
        (_merged_contents, "one part may stand for its list, neighbours of a role are one turn"),
        (_one_set_of_tools, "tools may stand in one object or in several"),
        (lambda body: _each(body, _gemini_words), "words in any case, schemas of two kinds"),
    ),
    "openai": (
        (lambda body: _each(body, _texts), "a text is a list with one text"),
        (lambda body: _each(body, _chat_words), "older names of the same"),
    ),
    "openai.responses": (
        (lambda body: _each(body, _texts), "a text is a list with one text"),
        (_input_items, "a text is a message of the user, the first messages are instructions"),
    ),
    "anthropic": (
        (lambda body: _each(body, _texts), "a text is a list with one text"),
        (_output_config, "the key of the beta"),
        (_merged_turns, "neighbours of one role are one turn"),
        (_last_block_cached, "a breakpoint of the body is one of its last block"),
    ),
    "converse": (
        (_merged_turns, "neighbours of one role are one turn"),
        (lambda body: _each(body, _converse_words), "texts of documents and of schemas"),
    ),
    "ollama": (),
    "gemini.interactions": ((_steps_of_input, "a text or contents are one turn of the user"),),
}
"""Wire -> what brings a body into one form, and why it means the same."""
