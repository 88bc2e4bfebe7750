"""How each wire spells one small answer, "Hello.", and one error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WORDS = "Hello."
PARTIAL = "Hel"


@dataclass(frozen=True)
class Pieces:
    """The answer of one wire in pieces; every piece of a stream is the JSON of one event."""

    wire: str
    model: str
    """Of the neutral API: `gemini:...`."""
    opening: tuple[bytes, ...]
    """The events up to and with the text `Hel`."""
    ending: tuple[bytes, ...]
    """The events with the text `lo.` and the finish reason."""
    terminator: tuple[bytes, ...]
    """What follows the finish reason; Gemini has nothing."""
    names: bool = False
    """An event has the name of its type, as Messages and Responses write it."""

    def event(self, data: bytes, end: bytes = b"\n") -> bytes:
        """One event of SSE."""
        name = b""
        known = json.loads(data) if self.names and data[:1] == b"{" else {}
        if kind := known.get("type", known.get("event_type")):
            name = b"event: " + kind.encode() + end
        return name + b"data: " + data + end + end

    def events(self, datas: Sequence[bytes], end: bytes = b"\n") -> bytes:
        return b"".join(self.event(data, end) for data in datas)

    @property
    def all(self) -> tuple[bytes, ...]:
        return (*self.opening, *self.ending, *self.terminator)

    @property
    def stream(self) -> bytes:
        """The body of a whole stream."""
        return self.events(self.all)

    def answer(self, text: str = WORDS) -> bytes:
        """The body of the plain call."""
        return _json(_answer(self.wire, text))

    def error(self, status: int, message: str) -> bytes:
        """The body of an error."""
        return _json(_error(self.wire, status, message))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _gemini(text: str, finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [{"text": text}], "role": "model"}}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})]}


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def _response(status: str, *output: Any) -> dict[str, Any]:
    return {"id": "r1", "object": "response", "model": "m", "status": status, "output": output}


def _answer(wire: str, text: str) -> dict[str, Any]:
    if wire == "gemini":
        return _gemini(text, "STOP")
    if wire == "openai":
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {"id": "c1", "object": "chat.completion", "model": "m", "choices": [choice]}
    if wire == "openai.responses":
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item = {"id": "msg_1", "type": "message", "role": "assistant", "content": content}
        return _response("completed", item | {"status": "completed"})
    if wire == "ollama":
        message = {"role": "assistant", "content": text}
        counts = {"prompt_eval_count": 3, "eval_count": 2}
        return {"model": "m", "message": message, "done": True, "done_reason": "stop", **counts}
    if wire == "converse":
        message = {"role": "assistant", "content": [{"text": text}]}
        usage = {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
        return {"output": {"message": message}, "stopReason": "end_turn", "usage": usage}
    if wire == "gemini.interactions":
        step = {"type": "model_output", "content": [{"type": "text", "text": text}]}
        return {"id": "v1_1", "status": "completed", "model": "m", "steps": [step]}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }


_GOOGLE = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND"}
_GOOGLE |= {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
_ANTHROPIC = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
_ANTHROPIC |= {429: "rate_limit_error", 500: "api_error", 503: "overloaded_error"}
_RESPONSES = {400: "invalid_prompt", 401: "invalid_api_key", 404: "model_not_found"}
_RESPONSES |= {429: "rate_limit_exceeded", 500: "server_error", 503: "overloaded"}

_WORDS = {400: "invalid_request", 401: "authentication", 404: "not_found"}
_WORDS |= {429: "rate_limit_exceeded", 500: "internal", 503: "unavailable"}
_BEDROCK = {400: "ValidationException", 401: "UnrecognizedClientException"}
_BEDROCK |= {404: "ResourceNotFoundException", 429: "ThrottlingException"}
_BEDROCK |= {500: "InternalServerException", 503: "ServiceUnavailableException"}


def _error(wire: str, status: int, message: str) -> dict[str, Any]:
    if wire == "gemini":
        name = _GOOGLE.get(status, "UNKNOWN")
        return {"error": {"code": status, "message": message, "status": name}}
    if wire == "openai":
        return {"error": {"message": message, "type": "error", "code": status, "param": None}}
    if wire == "openai.responses":
        code = _RESPONSES.get(status, "unknown")
        return {"type": "error", "error": {"type": "error", "code": code, "message": message}}
    if wire == "ollama":
        return {"error": message, "status": status}
    if wire == "gemini.interactions":
        error = {"code": _WORDS.get(status, "unknown"), "message": message}
        return {"event_type": "error", "error": error}
    if wire == "converse":
        name = _BEDROCK.get(status, "InternalServerException")
        return {"code": name, "message": message}
    name = _ANTHROPIC.get(status, "api_error")
    return {"type": "error", "error": {"type": name, "message": message}}


def _text_delta(text: str) -> dict[str, Any]:
    delta = {"type": "text_delta", "text": text}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


_STARTED = {**_answer("anthropic", ""), "content": [], "stop_reason": None}
_BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
_STOPPED = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}

GEMINI = Pieces(
    "gemini",
    "gemini:gemini-3.8-flash",
    opening=(_json(_gemini("Hel")),),
    ending=(_json(_gemini("lo.", "STOP")),),
    terminator=(),
)
CHAT = Pieces(
    "openai",
    "openai:gpt-5.2",
    opening=(
        _json(_chunk({"role": "assistant", "content": ""})),
        _json(_chunk({"content": "Hel"})),
    ),
    ending=(_json(_chunk({"content": "lo."})), _json(_chunk({}, "stop"))),
    terminator=(b"[DONE]",),
)


def _output(kind: str, **more: Any) -> bytes:
    """An event of the only item of the output, and of its only part."""
    event = {"type": f"response.{kind}", "output_index": 0, "content_index": 0, "item_id": "msg_1"}
    return _json(event | more)


_ITEM = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
RESPONSES = Pieces(
    "openai.responses",
    "openai@responses:gpt-5.2",
    opening=(
        _json({"type": "response.created", "response": _response("in_progress")}),
        _output("output_item.added", item=_ITEM),
        _output("output_text.delta", delta="Hel"),
    ),
    # No event repeats the text, as where ChatGPT's login answers: faults add to the text, and what
    # `output_item.done` says would count in place of the deltas.
    ending=(_output("output_text.delta", delta="lo."),),
    terminator=(_json({"type": "response.completed", "response": _response("completed")}),),
    names=True,
)
MESSAGES = Pieces(
    "anthropic",
    "anthropic:claude-sonnet-5",
    opening=tuple(
        map(_json, ({"type": "message_start", "message": _STARTED}, _BLOCK, _text_delta("Hel")))
    ),
    ending=tuple(
        map(
            _json,
            (
                _text_delta("lo."),
                {"type": "content_block_stop", "index": 0},
                {**_STOPPED, "usage": {"output_tokens": 2}},
            ),
        )
    ),
    terminator=(_json({"type": "message_stop"}),),
    names=True,
)
# Events of the server-sent kind, whose only key is the name: as this library reads them where a
# proxy has taken the frames off. The faults write lines; the faults of frames are for
# tests/converse.
CONVERSE = Pieces(
    "converse",
    "bedrock:us.anthropic.claude-sonnet-4-6",
    opening=(
        _json({"messageStart": {"role": "assistant"}}),
        _json({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hel"}}}),
    ),
    ending=(
        _json({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "lo."}}}),
        _json({"contentBlockStop": {"contentBlockIndex": 0}}),
        _json({"messageStop": {"stopReason": "end_turn"}}),
    ),
    terminator=(_json({"metadata": {"usage": _answer("converse", "")["usage"]}}),),
)


def _line(text: str) -> bytes:
    return _json({"model": "m", "message": {"role": "assistant", "content": text}, "done": False})


# Events of the server-sent kind, too: the faults of lines are for tests/ollama.
OLLAMA = Pieces(
    "ollama",
    "ollama:qwen3:8b",
    opening=(_line(""), _line("Hel")),
    ending=(_line("lo."),),
    terminator=(_json(_answer("ollama", "")),),
)


def _step(kind: str, **more: Any) -> bytes:
    return _json({"event_type": kind, "index": 0, **more})


def _interaction(kind: str, status: str) -> bytes:
    known = {"id": "v1_1", "status": status, "model": "m"}
    return _json({"event_type": f"interaction.{kind}", "interaction": known})


INTERACTIONS = Pieces(
    "gemini.interactions",
    "gemini@interactions:gemini-3.8-flash",
    opening=(
        _interaction("created", "in_progress"),
        _step("step.start", step={"type": "model_output"}),
        _step("step.delta", delta={"type": "text", "text": "Hel"}),
    ),
    ending=(
        _step("step.delta", delta={"type": "text", "text": "lo."}),
        _step("step.stop"),
    ),
    terminator=(_interaction("completed", "completed"),),
    names=True,
)
_ALL = (GEMINI, CHAT, RESPONSES, MESSAGES, CONVERSE, INTERACTIONS, OLLAMA)
WIRES = {pieces.wire: pieces for pieces in _ALL}
