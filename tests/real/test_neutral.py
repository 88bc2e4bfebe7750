"""The neutral door before llama.cpp: replies, events, values, tools.

What the model says is not looked at; what it is is.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.real.doors import Door
from tests.real.test_llama import ENDLESS, MODEL, QUESTION, Trip
from wire import AsyncChat, Chat, Client, Message, Note, Reply, ToolResult, tool
from wire.neutral.messages import Done, Event, TextDelta, ToolCallDelta, ToolCallEnd, ToolCallStart

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

LONG = {"llama.cpp": {**ENDLESS, "seed": 1}}
SENT = Note("options.llama.cpp.ignore_eos", "sent, and not a key of the reference")
"""The server's own keys are not in the reference of chat completions."""


def ask(door: Door, *args: Any, **asked: Any) -> Reply:
    asked = {"max_tokens": 8, "temperature": 0, **asked}
    if isinstance(door.client, Client):
        return Chat(MODEL, client=door.client).ask(*args, **asked)
    reply: Reply = door.portal.call(  # type: ignore[attr-defined]
        functools.partial(AsyncChat(MODEL, client=door.client).ask, *args, **asked)
    )
    return reply


def stream(door: Door, *args: Any, **asked: Any) -> tuple[list[Event], Reply]:
    asked = {"max_tokens": 8, "temperature": 0, **asked}
    if isinstance(door.client, Client):
        with Chat(MODEL, client=door.client).stream(*args, **asked) as events:
            return list(events), events.reply()

    async def read(chat: AsyncChat) -> tuple[list[Event], Reply]:
        async with chat.stream(*args, **asked) as events:
            return [event async for event in events], await events.reply()

    found: tuple[list[Event], Reply] = door.portal.call(read, AsyncChat(MODEL, client=door.client))  # type: ignore[attr-defined]
    return found


@tool
def get_forecast(trip: Trip) -> dict[str, str]:
    """Weather of the next days."""
    return {"city": trip.city, "sky": "clear"}


def test_a_question_whole_and_in_pieces(door: Door) -> None:
    whole = ask(door, "Hi", options=LONG)
    events, streamed = stream(door, "Hi", options=LONG)
    assert (whole.stop.reason, whole.model, whole.notes) == ("length", MODEL, (SENT,))
    assert (streamed.text, streamed.stop) == (whole.text, whole.stop)
    assert whole.usage is not None
    assert streamed.usage is not None
    assert (whole.usage.output, streamed.usage.output) == (8, 8)
    assert (
        "".join(event.text for event in events if isinstance(event, TextDelta)) == whole.text != ""
    )
    assert events[-1] == Done(streamed)
    assert whole.message.origin is not None
    assert whole.message.origin.is_of("llama.cpp", MODEL)


def test_an_answer_as_a_value(door: Door) -> None:
    """The server's grammar holds the model to the schema."""
    reply = ask(door, "Where to, and for how long?", output=Trip, max_tokens=64)
    assert isinstance(reply.output, Trip)
    assert (
        stream(door, "Where to, and for how long?", output=Trip, max_tokens=64)[1].output
        == reply.output
    )


def test_a_call_and_its_result_go_back(door: Door) -> None:
    settings: dict[str, Any] = {
        "tools": [get_forecast],
        "tool_choice": "required",
        "stop": "</tool_call>",
        "max_tokens": 64,
    }
    asked = Message.user(QUESTION)
    events, reply = stream(door, messages=[asked], **settings)
    call = reply.tool_calls[0]
    assert call.name == "get_forecast"
    assert reply.stop.reason in (
        "tool_calls",
        "length",
    )  # it may go on calling until its tokens are used up
    first = [event for event in events if getattr(event, "position", None) == 0]
    assert first[0] == ToolCallStart(0, "get_forecast", call.id)
    assert "".join(event.text for event in first if isinstance(event, ToolCallDelta)) == call.text
    assert first[-1] == ToolCallEnd(0, call)
    results = Message.tool_response(
        ToolResult(each.id, each.name, {"sky": "clear"}) for each in reply.tool_calls
    )
    answer = ask(door, messages=[asked, reply.message, results], options=LONG)
    assert answer.text
    # A call that its tokens cut off goes back as an object, since this server parses the history,
    # and a note says so.
    cut = [call for call in reply.tool_calls if call.arguments is None]
    assert [note.message for note in answer.notes] == [
        *["wrapped: this host refuses arguments that are not a JSON object"] * len(cut),
        SENT.message,
    ]
