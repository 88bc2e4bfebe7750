"""The rows of a bulk run: one line of JSON each, which becomes a neutral request. No I/O.

A line is a prompt, an object with the keys of `KEYS`, or a line of a vendor's batch file:

    "Where is the lighthouse?"
    {"id": "a", "prompt": "Where is the lighthouse?", "max_tokens": 100}
    {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {...}}   OpenAI
    {"custom_id": "a", "params": {...}}                                                 Anthropic
    {"key": "a", "request": {...}}                                                      Gemini

Dicts and `Request`s become lines too, so that each row can be compared, written and sent to another
process as bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from wire.core.arguments import suggestion
from wire.core.bodies import wrong_type
from wire.core.decoders import decoder
from wire.core.errors import RuleError, Violation
from wire.core.json_lines import one_line_of
from wire.core.json_values import MAX_DEPTH, checked
from wire.core.limits import is_deeper
from wire.core.memory import Note, encode, notes, with_notes
from wire.core.secret import quoted, type_name
from wire.neutral.messages import Message
from wire.neutral.request import Location, Output, Request, ServerTool, Tool
from wire.neutral.serving import accepted
from wire.sessions import deserialize_message, serialize_message
from wire.wires.contract import WIRES

_SETTINGS = tuple(name for name in Request.__struct_fields__ if name != "messages")
KEYS = ("id", "prompt", "messages", *_SETTINGS)
"""The keys of a neutral row. `id` is a text or a number, by default the number of the row; `prompt`
is one message of the user, `messages` a conversation; `metadata` is any JSON, which the result
repeats; the others are settings of `Chat.ask`."""

_TUPLES = ("stop",)
_MOST_ID = 512


class Row(msgspec.Struct, frozen=True):
    """One row of the input."""

    number: int
    """Of the line in its file, or of the row in what was iterated over; from 1."""
    id: str
    """Of the line, or `number`."""
    line: bytes
    """JSON."""
    problem: str = ""
    """Why the line is not read; empty if it is."""

    @property
    def digest(self) -> str:
        """16 hexadecimal digits, which differ for another line."""
        return hashlib.blake2b(self.line, digest_size=8).hexdigest()


class Question(msgspec.Struct, frozen=True):
    """The request of a row, its own settings and its metadata."""

    request: Request
    settings: dict[str, Any]
    """The settings that the row has of its own, as `Chat.ask` takes them."""
    metadata: Any = None
    notes: tuple[Note, ...] = ()


class _Ids(msgspec.Struct):
    """The keys of a line with its id."""

    id: Any = None
    custom_id: Any = None
    key: Any = None


def read_row(number: int, given: Any) -> Row:
    """Read the row of a prompt, a dict, a `Request` or a line; an error becomes its `problem`.

    A text is a prompt, whatever is in it; a line of JSON is bytes.

    >>> read_row(7, b'{"id": "a", "prompt": "Hi"}').id, read_row(7, {"prompt": "Hi"}).id
    ('a', '7')
    >>> read_row(7, "Hi").line
    b'"Hi"'
    """
    try:
        line = _line(given)
    except RuleError as error:
        return Row(number, str(number), repr(quoted(given)).encode(), error.message)
    if is_deeper(line, MAX_DEPTH):
        return Row(number, str(number), line, f"nested more than {MAX_DEPTH} levels deep")
    try:
        ids = decoder(_Ids | str).decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        problem = str(cause)
        if isinstance(cause, msgspec.ValidationError):
            problem = "expected an object, or a prompt as a text"
        return Row(number, str(number), line, problem)
    if isinstance(ids, str):
        return Row(number, str(number), line)
    id = next((each for each in (ids.id, ids.custom_id, ids.key) if each is not None), number)
    if type(id) is int:
        id = str(id)
    if not isinstance(id, str) or not id or not id.isprintable() or len(id) > _MOST_ID:
        problem = f"id: expected a printable text of up to {_MOST_ID} characters, not {quoted(id)}"
        return Row(number, str(number), line, problem)
    return Row(number, id, line)


def _line(given: Any) -> bytes:
    if isinstance(given, Request):
        return msgspec.json.encode(request_json(given))
    if isinstance(given, Mapping):
        return msgspec.json.encode(checked(dict(given), "row", plain=True))
    if isinstance(given, str):
        return msgspec.json.encode(checked(str.__str__(given), "prompt", plain=True))
    if not isinstance(given, bytes):
        raise RuleError(f"expected a prompt, a dict or a Request, not {type_name(given)}")
    return one_line_of(given.removeprefix(b"\xef\xbb\xbf").strip())


# --- requests -------------------------------------------------------------------------------------


def question_of(row: Row) -> Question:
    """Parse the request of a row.

    Raises `RuleError` or another `WireError` that names the key for a row without a request, and
    for an unknown key or value.
    """
    if row.problem:
        raise RuleError(row.problem)
    try:
        value = msgspec.json.decode(row.line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise RuleError(str(cause)) from None  # `read_row` has not looked at each value
    if isinstance(value, str):
        return Question(Request(messages=(Message.user(value),)), {})
    body, wire = _vendor_body(value)
    if wire:
        received = accepted(WIRES[wire].parse_request(msgspec.json.encode(body)))
        added = _ignored(value, received)
        return Question(received.request, given_settings(received.request), notes=added)
    request = _request(value)
    return Question(request, given_settings(request), value.get("metadata"), notes(request))


def _vendor_body(value: dict[str, Any]) -> tuple[Any, str]:
    """Return the body in a line of a vendor's batch file, and its wire; "" if the line has none."""
    if "params" in value:
        return value["params"], "anthropic"
    if "request" in value:
        return value["request"], "gemini"
    if "body" not in value:
        return None, ""
    body, url = value["body"], value.get("url")
    path = url.rstrip("/") if isinstance(url, str) else ""
    is_responses = isinstance(body, dict) and "input" in body and "messages" not in body
    if path.endswith("/responses") or (not path and is_responses):
        return body, "openai.responses"
    if path.endswith("/chat/completions") or not path:
        return body, "openai"
    problem = f"expected /v1/chat/completions or /v1/responses, not {quoted(url)}"
    raise RuleError(violations=[Violation("url", problem)])


def _ignored(value: dict[str, Any], received: Any) -> tuple[Note, ...]:
    """Return notes on fields of a row that are not sent to the model of the run."""
    model = received.model
    named = [Note("model", f"{model}: the model of the run is asked")] if model else []
    return (*named, *received.notes)


def _request(value: dict[str, Any]) -> Request:
    for key in value:
        if key not in KEYS:
            remedy = suggestion(key, KEYS) or f"there are {', '.join(KEYS)}"
            raise _refused(_shown(key), "no such key", remedy)
    if ("prompt" in value) == ("messages" in value):
        raise _refused("messages", "expected either a prompt or messages")
    added: list[Note] = []
    if "prompt" in value:
        prompt = value["prompt"]
        is_text = isinstance(prompt, str)
        message = Message.user(prompt) if is_text else _message(_user(prompt), "")
        messages: tuple[Message, ...] = (message,)
    else:
        given = value["messages"]
        if not isinstance(given, list):
            raise wrong_type("messages", given, "list")
        read = [_message(each, f"messages[{index}]") for index, each in enumerate(given)]
        added += [
            Note(f"messages[{index}].{note.path}", note.message)
            for index, each in enumerate(read)
            for note in notes(each)
        ]
        messages = tuple(read)
    names = {*_SETTINGS} - {"metadata"}  # a row's own goes to its result
    settings = {key: each for key, each in value.items() if key in names and each is not None}
    if "tools" in settings:
        settings["tools"] = _tools(settings["tools"])
    if "output" in settings:
        settings["output"] = _output(settings["output"])
    if isinstance(settings.get("tool_choice"), list):
        settings["tool_choice"] = tuple(settings["tool_choice"])
    for key in _TUPLES:
        if key in settings:
            each = settings[key]
            settings[key] = (each,) if isinstance(each, str) else tuple(each)
    return with_notes(Request(messages=messages, **settings), added)


def _user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _message(value: Any, path: str) -> Message:
    """Parse a message as in a session file; `content` may be text, or a list of texts and parts."""
    where, given = path or "prompt", value
    if not isinstance(value, dict) or "role" not in value:
        raise _refused(where, 'expected an object with "role", and "content" or "parts"')
    content = value.get("content")
    if "content" in value:
        if "parts" in value:
            raise _refused(where, 'expected either "content" or "parts"')
        listed = content if isinstance(content, list) else [content]
        parts = [
            {"type": "text", "text": each} if isinstance(each, str) else each for each in listed
        ]
        value = {key: each for key, each in value.items() if key != "content"}
        value["parts"] = parts
    listed = value.get("parts")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        problem = "expected a text, or a list of texts and parts of a session file"
        raise _refused(f"{path}.content" if path else "prompt", problem)
    try:
        return deserialize_message(value)
    except Exception as error:
        message = getattr(error, "message", str(error)).removeprefix("message")
        if "content" in given or not path:  # it has no parts where the user looks
            message = message.replace(".parts[", ".content[" if path else "[", 1)
        raise RuleError(f"{where}{message if message[:1] in '.[' else f': {message}'}") from None


def _tools(value: Any) -> tuple[Tool | ServerTool, ...]:
    if not isinstance(value, list):
        raise wrong_type("tools", value, "list")
    return tuple(_tool(each, f"tools[{index}]") for index, each in enumerate(value))


def _tool(value: Any, path: str) -> Tool | ServerTool:
    if not isinstance(value, dict):
        raise _refused(
            path, f"expected an object with the fields of a Tool, not {type_name(value)}"
        )
    kind = Tool if "name" in value else ServerTool
    for key in value:
        if key not in kind.__struct_fields__:
            remedy = suggestion(key, kind.__struct_fields__)
            raise _refused(f"{path}.{_shown(key)}", "no such key", remedy)
    if kind is Tool:
        return Tool(**value)
    fields = dict(value)
    if isinstance(fields.get("location"), dict):
        fields["location"] = Location(**fields["location"])
    if "kind" not in fields:
        raise _refused(path, 'expected "name" for a function, or "kind" for a tool of the server')
    return ServerTool(**fields)


def _output(value: Any) -> Output:
    if isinstance(value, dict) and set(value) <= {"schema", "name", "strict"} and "schema" in value:
        return Output(**value)
    if not isinstance(value, dict) and value != "json":
        raise wrong_type("output", value, "JSON Schema")
    return Output(value if isinstance(value, dict) else {})


def _shown(key: str) -> str:
    return key if key.isidentifier() else quoted(key)


def _refused(path: str, problem: str, remedy: str = "") -> RuleError:
    return RuleError(violations=[Violation(path, problem, remedy=remedy)])


def given_settings(request: Request) -> dict[str, Any]:
    """Return the settings of a request that differ from the defaults."""
    defaults = _DEFAULTS
    return {
        name: value
        for name in _SETTINGS
        if (value := getattr(request, name)) != getattr(defaults, name)
    }


_DEFAULTS = Request(messages=())


def request_json(request: Request) -> dict[str, Any]:
    """Write a request as a neutral row, which `question_of` reads back.

    >>> request_json(Request(messages=(Message.user("Hi"),), max_tokens=5))["max_tokens"]
    5
    """
    if request.metadata is not None:
        remedy = "give it for all rows, or leave it out"
        raise _refused("metadata", "that of a row goes to its result, not to the vendor", remedy)
    messages = [serialize_message(each) for each in request.messages]
    return {"messages": messages, **settings_json(given_settings(request))}


def settings_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Write settings of a request as keys of a neutral row.

    Raises `RuleError` for a value that has no JSON form.
    """
    plain = dict(settings)
    if plain.get("tools"):
        plain["tools"] = [_declared(each) for each in plain["tools"]]
    try:
        value: dict[str, Any] = msgspec.json.decode(encode(plain))
    except (TypeError, RecursionError) as cause:
        raise _refused("settings", f"a value has no JSON form: {cause}") from None
    return value


def _declared(tool: Tool | ServerTool) -> Tool | ServerTool:
    """Return the tool without its function, which JSON cannot express."""
    if not isinstance(tool, Tool):
        return tool
    return Tool(**{name: getattr(tool, name) for name in Tool.__struct_fields__})
