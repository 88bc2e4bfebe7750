"""The events of a stream."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIStruct
from wire.openai.common.types.errors import ErrorObject
from wire.openai.responses.types.answer import Response
from wire.openai.responses.types.items import Agent, Annotation, ContentPart, Item, TokenLogprob


class StreamEvent(OpenAIStruct, frozen=True, kw_only=True):
    """One event of a stream: `type`, and the fields of that type."""

    type: str | None = None
    """`response.created`, `response.output_item.added`, `response.output_text.delta`,
    `response.output_item.done`, `response.completed` and many others, or a type that is not known
    here.
    """
    sequence_number: int | None = None
    """Position in the stream, from 0."""
    response: Response | None = None
    """In `response.created`, `response.queued`, `response.in_progress`, `response.completed`,
    `response.incomplete` and `response.failed`."""
    output_index: int | None = None
    """Position of the item in the output."""
    item: Item | None = None
    """In `response.output_item.added`: an empty item. In `*.done`: the complete one, which replaces
    what the events before built.
    """
    item_id: str | None = None
    """May differ from `Item.id`: GitHub Copilot sends a new id in each event."""
    content_index: int | None = None
    """Position of the part in the content of the item."""
    summary_index: int | None = None
    """Position of the part in the summary of the item."""
    command_index: int | None = None
    """Position of the command in the commands of the shell call."""
    annotation_index: int | None = None
    part: ContentPart | None = None
    """In `response.content_part.added` and `*.done`, `response.reasoning_summary_part.added` and
    `*.done`.
    """
    delta: str | dict[str, Any] | None = None
    """The text or data that a `.delta` event adds. An object with `stdout` and `stderr` in
    `response.shell_call_output_content.delta`.
    """
    logprobs: list[TokenLogprob] | None = None
    """In `response.output_text.delta` and `*.done`."""
    text: str | None = None
    """In `*.done`: the complete text of the part."""
    refusal: str | None = None
    """In `response.refusal.done`."""
    arguments: str | None = None
    """In `response.function_call_arguments.done` and `response.mcp_call_arguments.done`."""
    name: str | None = None
    """In `response.function_call_arguments.done`; rarely sent."""
    input: str | None = None
    """In `response.custom_tool_call_input.done`."""
    code: str | None = None
    """In `response.code_interpreter_call_code.done` the code; in `error` the code of the error."""
    command: str | None = None
    """In `response.shell_call_command.added` and `*.done`."""
    output: list[ContentPart] | None = None
    """In `response.shell_call_output_content.done`."""
    diff: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """In `response.apply_patch_call_operation_diff.done`."""
    annotation: Annotation | None = None
    """In `response.output_text.annotation.added`."""
    partial_image_b64: str | None = None
    """In `response.image_generation_call.partial_image`, as the next five: base64."""
    partial_image_index: int | None = None
    size: str | None = None
    quality: str | None = None
    background: str | None = None
    output_format: str | None = None
    status: str | None = None
    """In `response.reasoning_summary_part.done`: `incomplete` if the response ended early."""
    message: str | None = None
    """In `error`."""
    param: str | None = None
    """In `error`."""
    error: Annotated[ErrorObject | None, Facts(source=TRAFFIC)] = None
    """In `error`. OpenAI sends this object in place of `code`, `message` and `param`."""
    obfuscation: str | None = None
    """Random padding."""
    agent: Agent | None = None
    """Beta responses_multi_agent=v1: the agent that the event belongs to."""
    copilot_usage: Annotated[
        dict[str, Any] | None, Facts(hosts=("github-copilot",), source=TRAFFIC)
    ] = None
    """In `response.completed`."""
