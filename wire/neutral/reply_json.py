"""A reply as JSON for programs that read a file or a pipe."""

from __future__ import annotations

from typing import Any

from wire.neutral.messages import Reply


def reply_json(reply: Reply) -> dict[str, Any]:
    """Return the fields of a reply as JSON, without the response of the vendor.

    >>> from wire.neutral.messages import Message, Stop
    >>> reply_json(Reply(Message.assistant("Hello."), Stop("end")))["text"]
    'Hello.'
    """
    return {
        "text": reply.text,
        "output": reply.output,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in reply.tool_calls
        ],
        "stop": reply.stop.reason,
        "model": reply.model,
        "id": reply.id,
        "usage": reply.usage,
        "notes": [str(note) for note in reply.notes],
    }
