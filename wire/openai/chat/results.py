"""Builds the message with the result of a call."""

from __future__ import annotations

from typing import Any

from wire.core.arguments import checked_arguments
from wire.core.errors import RuleError, Violation
from wire.core.json_values import json_text
from wire.neutral.messages import ToolCall as NeutralCall
from wire.openai.chat.tool_calls import present
from wire.openai.chat.types import Message, ToolCall


@checked_arguments()
def tool_message(
    call: ToolCall | NeutralCall, result: Any = None, *, error: str | None = None
) -> Message:
    """Build the message with the result of one call.

    A text is sent unchanged, any other value as JSON, and `error` as `{"error": text}`.

    >>> tool_message(ToolCall(id="call_1"), {"sky": "hellgrün"})
    Message(role='tool', content='{"sky":"hellgrün"}', tool_call_id='call_1')

    Raises `RuleError` if `call` is not a call, or if JSON cannot encode the result.
    """
    if not isinstance(call, ToolCall | NeutralCall):
        raise RuleError(
            violations=[
                Violation("tool_message", f"expected a ToolCall, not {type(call).__name__}")
            ]
        )
    result = {"error": error} if error is not None else result
    text = json_text(result, "tool_message.content")
    content = result if isinstance(result, str) else text
    return Message(role="tool", content=content, tool_call_id=present(call.id))
