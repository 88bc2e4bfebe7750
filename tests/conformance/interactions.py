"""What is to hold of a recorded exchange on Gemini's Interactions."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.conformance.compare import identical, same, typed
from tests.conformance.gemini import Checks
from tests.conformance.neutral import Expected, check_cut_short, check_events, check_reply
from tests.conformance.records import Record, body_of, cut_at_random, path_of, same_bytes
from tests.conformance.result import APART, Mismatch
from wire import errors
from wire.core.lenient import decoded
from wire.core.memory import encode
from wire.gemini.interactions import types
from wire.gemini.interactions.endpoints import create_interaction, stream_interaction
from wire.gemini.interactions.error_body import parse_error
from wire.gemini.interactions.fold import fold
from wire.gemini.interactions.parse import EventReader, parse_reply
from wire.gemini.interactions.reader import ChunkReader, parse_interaction, parse_stored
from wire.gemini.interactions.rendering import render_request
from wire.gemini.interactions.rules import check
from wire.neutral.messages import Message, ToolResult
from wire.neutral.request import Request
from wire.providers import PROVIDERS

_PATH = re.compile(r"/interactions(?P<one>/[^/]+(?P<cancel>/cancel)?)?$")
_FRAMES = re.compile(rb"event: (?P<name>\S+)\ndata: (?P<data>.*)\n\n")
_ALL_CUTS = 20_000
"""Bytes of the longest stream that is read one byte at a time."""


def scope(record: Record, *, every: bool = False) -> Checks | None:
    """What is to hold of a record; `None` for other endpoints."""
    match = _PATH.search(path_of(record))
    if match is None:
        return None
    body = record.get("request_body")
    asked = not match["one"] and isinstance(body, dict)
    checks: Checks = [check_request] if asked else []
    if record["status"] != 200:
        return [*checks, check_error]
    if record.get("stream"):
        if not _is_framed(body_of(record)):
            APART["stream whose recorder took out the ends of its events"] += 1
            return checks
        return [*checks, functools.partial(check_stream, every=every)]
    return [*checks, check_answer]


def _is_framed(body: bytes) -> bool:
    """Return whether the events end as the server ends them."""
    return b"".join(each[0] for each in _FRAMES.finditer(body)) == body


def check_request(record: Record) -> None:
    """Decoded into our types and written again, equal; a server took it, so no rule refuses it."""
    plain = record["request_body"]
    body = json.dumps(plain).encode()
    request = decoded(body, types.InteractionRequest)
    typed(request, plain, "request")
    same_bytes(encode(request), body)
    if record["status"] != 200:
        return
    broken = [each for each in check(body) if each.severity == "error"]
    if broken:
        raise Mismatch(f"the server took what breaks {broken[0]}")
    make: Any = stream_interaction if plain.get("stream") else create_interaction
    sent = make(msgspec.structs.replace(request))
    sent.judge(PROVIDERS["gemini@interactions"])
    identical(json.loads(sent.body), plain, "sent")


def check_error(record: Record) -> None:
    """A typed error of the status, with the server's words."""
    body = body_of(record)
    error = parse_error(record["status"], record.get("response_headers") or {}, body)
    if (error.status, error.raw) != (record["status"], body):
        raise Mismatch(f"error is {error.status}")
    plain = json.loads(body)
    plain = plain[0] if isinstance(plain, list) else plain
    if errors.one_line(plain["error"]["message"]) not in error.message:
        raise Mismatch(f"error says {error.message!r}")


# --- answers --------------------------------------------------------------------------------------


def check_answer(record: Record) -> None:
    """A whole interaction, equal as JSON from its typed values and unknown keys."""
    body = body_of(record)
    get = record.get("method") == "GET"
    answer = (parse_stored if get else parse_interaction)(body)
    plain = json.loads(body)
    typed(answer, plain, "interaction")
    same_bytes(answer.raw or b"", body)
    check_steps(answer, plain)
    reply = parse_reply(answer)
    check_reply(reply, expected(plain))
    if not get:
        check_sent_back(answer, plain)


def check_steps(answer: types.Interaction, plain: Any) -> None:
    """Each step kept its bytes, and goes into a request with them."""
    steps = answer.steps or []
    identical(
        [json.loads(step.raw or b"null") for step in steps], plain.get("steps") or [], "steps"
    )
    again = encode(types.InteractionRequest(model="m", input=steps))
    if any((step.raw or b"?") not in again for step in steps):
        raise Mismatch("a step does not go back with its bytes")


def check_sent_back(answer: types.Interaction, plain: Any) -> None:
    """The steps of a turn go back in their order, each with the bytes in which it came."""
    model = "gemini-3-flash-preview"
    message = parse_reply(answer, model=model).message
    if not message.parts:
        return
    results = [ToolResult(call.id, call.name, "5") for call in message.tool_calls]
    after = Message.tool_response(results) if results else Message.user("And?")
    request = Request(messages=(Message.user("Hi"), message, after))
    steps: Any = render_request(request, model).input
    own = [step for step in steps if step.type not in ("user_input", "function_result")]
    identical([json.loads(encode(step)) for step in own], plain["steps"], "sent back")
    for ours, theirs in zip(own, answer.steps or (), strict=True):
        same_bytes(ours.raw, theirs.raw or b"")


STOPS = {
    "completed": "end",
    "requires_action": "tool_calls",
    "incomplete": "length",
    "in_progress": "pause",
    "requires_continuation": "pause",
    "budget_exceeded": "length",
}


def expected(plain: Any) -> Expected:
    """What an interaction says."""
    steps = plain.get("steps") or []
    while any(each["type"] in ("user_input", "function_result") for each in steps):
        steps = steps[1:]  # a stored interaction begins with its input
    calls = [
        {"id": each["id"], "name": each["name"], "arguments": each["arguments"]}
        for each in steps
        if each["type"] == "function_call"
    ]
    contents = [c for each in steps if each["type"] == "model_output" for c in each["content"]]
    thoughts = [each for each in steps if each["type"] == "thought"]
    reason = STOPS.get(plain["status"], "other")
    others = [each for each in steps if each["type"] != "model_output"]
    return Expected(
        text="".join(each.get("text", "") for each in contents),
        thought="".join(_summary(each) for each in thoughts),
        calls=calls,
        parts=len(others) + len(contents),
        reason="tool_calls" if reason == "end" and calls else reason,
        raw=plain["status"],
        signatures=[each["signature"] for each in thoughts if each.get("signature")],
        usage=None if plain.get("usage") is None else _usage(plain["usage"]),
    )


def _summary(thought: Any) -> str:
    return "\n\n".join(each["text"] for each in thought.get("summary") or () if each.get("text"))


def _usage(usage: Any) -> dict[str, int]:
    thought = usage.get("total_thought_tokens", 0)
    return {
        "input": usage.get("total_input_tokens", 0) + usage.get("total_tool_use_tokens", 0),
        "output": usage.get("total_output_tokens", 0) + thought,
        "cached": usage.get("total_cached_tokens", 0),
        "reasoning": thought,
        "total": usage["total_tokens"],
    }


# --- streams --------------------------------------------------------------------------------------


def _read(pieces: list[bytes]) -> tuple[list[types.InteractionEvent], errors.WireError | None]:
    reader = ChunkReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.close()
    return events, reader.error


def check_stream(record: Record, *, every: bool = False) -> None:
    """Each event as a chunk; the fold holds all of them; cut shorter it is incomplete."""
    body = body_of(record)
    events, error = _read([body])
    if error is not None:
        raise error
    payloads = [each["data"] for each in _FRAMES.finditer(body) if each["data"] != b"[DONE]"]
    plains = [json.loads(each) for each in payloads]
    for index, (event, plain) in enumerate(zip(events, plains, strict=True)):
        typed(event, plain, f"event {index}", is_chunk=True)
        same_bytes(event.raw or b"", payloads[index])
    pieces = [cut_at_random(body, record["id"])]
    if len(body) <= _ALL_CUTS:
        pieces.append([body[at : at + 1] for at in range(len(body))])
    for each in pieces:
        if [event.raw for event in _read(each)[0]] != [event.raw for event in events]:
            raise Mismatch("the events depend on where the bytes were cut")
    answer = fold(events)
    check_fold(answer, plains)
    reply = parse_reply(answer)
    check_reply(reply, expected(json.loads(answer.raw or b"")))
    check_sent_back(answer, json.loads(answer.raw or b""))
    reading = EventReader()
    told = [each for event in events for each in reading.feed(event)]
    check_events([*told, *reading.close(reply)], reply)
    check_cut_short(
        record,
        body,
        payloads,
        every=every,
        read=_read,
        is_whole=lambda plains: (
            plains[-1:] != [] and plains[-1]["event_type"] == "interaction.completed"
        ),
        fold=fold,
        reply_of=parse_reply,
        text_of=_text_of,
    )


def _text_of(plains: Sequence[Any]) -> str:
    return "".join(
        each["delta"]["text"]
        for each in plains
        if each["event_type"] == "step.delta" and each["delta"]["type"] == "text"
    )


def check_fold(answer: types.Interaction, plains: list[Any]) -> None:
    """Nothing that any event held is lost."""
    plain = json.loads(answer.raw or b"null")
    typed(answer, plain, "fold")
    check_steps(answer, plain)
    last = next(each for each in plains if each["event_type"] == "interaction.completed")
    same({**plain, "steps": None}, {**plains[0]["interaction"], **last["interaction"]}, "fold")
    identical(plain["steps"], _steps(plains), "fold.steps")


def _steps(plains: list[Any]) -> list[Any]:
    """The steps as their events make them, in another way than the library's."""
    steps: list[Any] = []
    for event in plains:
        if event["event_type"] == "step.start":
            steps.append(dict(event["step"]))
        if event["event_type"] != "step.delta":
            continue
        step, delta = steps[event["index"]], event["delta"]
        kind = delta["type"]
        content = step.get("content") or []
        if kind == "text":
            if not content or content[-1]["type"] != "text":
                content.append({"type": "text", "text": ""})
            content[-1]["text"] += delta["text"]
            step["content"] = content
        elif kind == "text_annotation_delta":
            if not content:
                content.append({"type": "text", "text": ""})
            content[-1].setdefault("annotations", []).extend(delta["annotations"])
            step["content"] = content
        elif kind == "thought_summary":
            step.setdefault("summary", []).append(delta["content"])
        elif kind == "thought_signature":
            step["signature"] = delta["signature"] or step.get("signature") or ""
            if not step["signature"]:
                del step["signature"]
        elif kind == "arguments_delta":
            step["written"] = step.get("written", "") + delta["arguments"]
        else:
            own = {key: each for key, each in delta.items() if key != "type"}
            step |= {key: each for key, each in own.items() if key != "signature" or each}
    for step in steps:
        if "written" in step:
            step["arguments"] = json.loads(step.pop("written") or "{}")
    return steps
