"""This library as a client, the reference of adapters: `python -m` with the name of this module.

It reads a task from stdin, does it with `Chat`, and writes its report to stdout.
"""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any

from wire.chat.chat import Chat
from wire.core.errors import WireError
from wire.core.version import VERSION
from wire.neutral.messages import Message, Reply, TextDelta, ToolCall, ToolResult
from wire.neutral.request import ServerTool, Tool
from wire.neutral.server_tools import web_search


class Conversation:
    """One task in progress: what was read so far stays when an error ends it."""

    def __init__(self, task: dict[str, Any], chat: Chat) -> None:
        self.task, self.chat = task, chat
        self.messages: list[Message] = []
        self.calls: list[ToolCall] = []
        self.text = ""
        self.reply: Reply | None = None

    def run(self) -> None:
        """Ask each turn, and run the calls of the model until it makes none."""
        for turn in self.task["turns"]:
            self.messages.append(Message.user(turn))
            while self.goes_on(self.ask()):
                pass

    def goes_on(self, reply: Reply) -> bool:
        """Run the calls of an answer. Return whether the model is asked again."""
        if reply.stop.reason == "pause":
            return True  # the answer goes back as it is
        if reply.stop.reason == "length" or not reply.tool_calls:
            return False  # the last call may be cut
        self.calls += reply.tool_calls
        results = [self.result(call) for call in reply.tool_calls]
        self.messages.append(Message.tool_response(results))
        return True

    def ask(self) -> Reply:
        """Ask once, streamed or not."""
        self.text = ""
        if self.task["stream"]:
            with self.chat.stream(messages=self.messages) as events:
                for event in events:
                    self.text += event.text if isinstance(event, TextDelta) else ""
                reply = events.reply()
        else:
            reply = self.chat.ask(messages=self.messages)
        self.text, self.reply = reply.text, reply
        self.messages.append(reply.message)
        return reply

    def result(self, call: ToolCall) -> ToolResult:
        """Look up the result of a call in the task."""
        tool = next(each for each in self.task["tools"] if each["name"] == call.name)
        return ToolResult(call.id, call.name, tool["results"][(call.arguments or {})[tool["by"]]])


def report_of(task: dict[str, Any]) -> dict[str, Any]:
    """Do a task, and report it."""
    tools: list[Tool | ServerTool] = [
        Tool(each["name"], each["description"], each["parameters"]) for each in task["tools"]
    ]
    if task["search"]:
        tools.append(web_search())
    error = None
    with Chat(
        f"{task['host']}:{task['model']}",
        base_url=task["base_url"],
        api_key=task["api_key"],
        max_tokens=task["max_tokens"],
        thoughts=task["thoughts"] or None,
        tools=tools,
    ) as chat:
        conversation = Conversation(task, chat)
        try:
            conversation.run()
        except WireError as cause:
            error = {"type": type(cause).__name__, "message": str(cause), "status": cause.status}
            shown = [repr(cause), traceback.format_exc()]
        else:
            shown = [repr(chat), repr(chat.client), str(chat.client.describe())]
    reply = conversation.reply
    usage = reply.usage if reply is not None and error is None else None
    return {
        "client": f"wire {VERSION}",
        "text": conversation.text,
        "stop": reply.stop.reason if reply is not None and error is None else None,
        "calls": [{"name": each.name, "args": each.arguments} for each in conversation.calls],
        "usage": usage and {"input": usage.input, "output": usage.output},
        "error": error,
        "shown": shown if task["show"] else [],
    }


if __name__ == "__main__":
    print(json.dumps(report_of(json.loads(sys.stdin.read()))))
