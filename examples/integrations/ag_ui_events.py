"""Runs of an agent as the events of AG-UI, which CopilotKit and other front ends read.

A server answers a POST of a `RunAgentInput` with these events:

    def run(body: RunAgentInput) -> StreamingResponse:
        encoder = EventEncoder()
        agent = agents[body.thread_id]  # it keeps the conversation, with thoughts and signatures
        lines = map(encoder.encode, events(agent, body))
        return StreamingResponse(lines, media_type=encoder.get_content_type())

Only the last message of the user is taken from the body: messages that a browser sends back have
lost what the model needs to go on.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import msgspec
from ag_ui import core

from wire import Agent, Restart, TextDelta, ThoughtDelta, ToolCallEnd, WireError
from wire.tools import ToolRun


def events(agent: Agent, body: core.RunAgentInput) -> Iterator[core.BaseEvent]:
    """Run the agent with the last message of the user, and yield what happens.

    The first event is RUN_STARTED, and the last RUN_FINISHED or RUN_ERROR.
    """
    run = {"thread_id": body.thread_id, "run_id": body.run_id}
    yield core.RunStartedEvent(**run)
    messages = _Messages(body.run_id)
    try:
        with agent.stream(_question(body)) as stream:
            for event in stream:
                yield from messages.take(event)
        yield from messages.close()
    except WireError as error:
        yield from messages.close()
        yield core.RunErrorEvent(message=str(error), code=type(error).__name__)
        return
    yield core.RunFinishedEvent(**run)


def _question(body: core.RunAgentInput) -> str:
    said = [each.content for each in body.messages if each.role == "user"]
    if not said or not isinstance(said[-1], str):
        raise ValueError("messages: expected a text of the user")
    return said[-1]


class _Messages:
    """The message that is being streamed: a text or a thought. Each has a beginning and an end."""

    def __init__(self, run_id: str) -> None:
        self._ids = (f"{run_id}-{number}" for number in itertools.count(1))
        self._kind, self._id = "", ""

    def take(self, event: object) -> Iterator[core.BaseEvent]:
        match event:
            case TextDelta(text) if text:
                yield from self._open("text")
                yield core.TextMessageContentEvent(message_id=self._id, delta=text)
            case ThoughtDelta(text) if text:
                yield from self._open("thought")
                yield core.ReasoningMessageContentEvent(message_id=self._id, delta=text)
            case ToolCallEnd(call=call):
                yield from self.close()
                yield core.ToolCallStartEvent(tool_call_id=call.id, tool_call_name=call.name)
                arguments = call.text or _json(call.arguments)
                yield core.ToolCallArgsEvent(tool_call_id=call.id, delta=arguments)
                yield core.ToolCallEndEvent(tool_call_id=call.id)
            case ToolRun(call, result):
                yield from self.close()
                yield core.ToolCallResultEvent(
                    message_id=next(self._ids), tool_call_id=call.id, content=_json(result.answer)
                )
            case Restart():  # the text so far is not in the reply: what comes is another message
                yield from self.close()

    def _open(self, kind: str) -> Iterator[core.BaseEvent]:
        if self._kind == kind:
            return
        yield from self.close()
        self._kind, self._id = kind, next(self._ids)
        if kind == "text":
            yield core.TextMessageStartEvent(message_id=self._id, role="assistant")
        else:
            yield core.ReasoningMessageStartEvent(message_id=self._id, role="reasoning")

    def close(self) -> Iterator[core.BaseEvent]:
        kind, self._kind = self._kind, ""
        if kind == "text":
            yield core.TextMessageEndEvent(message_id=self._id)
        elif kind:
            yield core.ReasoningMessageEndEvent(message_id=self._id)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
