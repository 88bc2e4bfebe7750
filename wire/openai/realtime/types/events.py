"""The events of both directions: each message of the connection is one."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIRequestStruct, OpenAIStruct
from wire.openai.realtime.types.items import (
    Item,
    LogProb,
    Part,
    RateLimit,
    Response,
    ResponseOptions,
    Usage,
)
from wire.openai.realtime.types.session import AZURE, XAI, Session


class ClientEvent(OpenAIRequestStruct, frozen=True, kw_only=True):
    """What a client sends: `type`, and the fields of that type."""

    type: str | None = None
    """`session.update`; `conversation.item.create`, `.retrieve`, `.truncate`, `.delete`;
    `input_audio_buffer.append`, `.commit`, `.clear`; `response.create`, `response.cancel`;
    `output_audio_buffer.clear` over WebRTC and SIP. Of translations:
    `session.input_audio_buffer.append`, `session.close`."""
    event_id: str | None = None
    """An id of the client's, which an `error` about this event repeats."""
    session: Session | None = None
    """In `session.update`."""
    item: Item | None = None
    """In `conversation.item.create`."""
    previous_item_id: str | None = None
    """In `conversation.item.create`: the item is put behind this one; `root`: it is the first."""
    item_id: str | None = None
    """In `conversation.item.retrieve`, `.truncate` and `.delete`."""
    content_index: int | None = None
    """In `conversation.item.truncate`: 0."""
    audio_end_ms: int | None = None
    """In `conversation.item.truncate`: how much the user has heard."""
    audio: Annotated[str | None, Facts(base64=True)] = None
    """In `input_audio_buffer.append`: at most 15 MiB."""
    response: ResponseOptions | None = None
    """In `response.create`."""
    response_id: str | None = None
    """In `response.cancel`. Absent: the response that is being made."""


class ServerEvent(OpenAIStruct, frozen=True, kw_only=True):
    """What a server sends: `type`, and the fields of that type.

    Azure's Voice Live and servers of the beta name some types otherwise: `response.audio.*` is
    `response.output_audio.*`, `response.audio_transcript.*` is
    `response.output_audio_transcript.*`, `response.text.*` is `response.output_text.*`, and
    `conversation.item.created` is `conversation.item.added`. `realtime.event_name` returns the
    present name.
    """

    type: str | None = None
    """`session.created`, `session.updated`; `conversation.item.added`, `.done`, `.retrieved`,
    `.truncated`, `.deleted`; `conversation.item.input_audio_transcription.delta`, `.completed`,
    `.segment`, `.failed`; `input_audio_buffer.speech_started`, `.speech_stopped`, `.committed`,
    `.cleared`, `.timeout_triggered`; `response.created`, `response.output_item.added`,
    `response.output_audio.delta`, `response.output_text.delta`,
    `response.function_call_arguments.done`, `response.done` and others; `rate_limits.updated`,
    `error`. At xAI also `conversation.created` and `ping`. Other types are possible."""
    event_id: str | None = None
    session: Session | None = None
    """In `session.created` and `session.updated`."""
    conversation: Conversation | None = None
    """In `conversation.created`."""
    response: Response | None = None
    """In `response.created` and `response.done`."""
    response_id: str | None = None
    item: Item | None = None
    """In events of items. In `response.output_item.done`: the complete one."""
    item_id: str | None = None
    previous_item_id: str | None = None
    output_index: int | None = None
    """Position of the item in the output."""
    content_index: int | None = None
    """Position of the part in the content of the item."""
    part: Part | None = None
    """In `response.content_part.added` and `.done`."""
    content: Annotated[Part | None, Facts(hosts=AZURE, source=TRAFFIC)] = None
    """The same as `part`."""
    delta: str | None = None
    """The text, the arguments or, as base64, the audio that a `.delta` event adds."""
    text: str | None = None
    """In `response.output_text.done`: the whole text; in `.segment` of a transcript: its text."""
    transcript: str | None = None
    """In `response.output_audio_transcript.done` and `.completed`: the whole text. In `.updated`
    of xAI: the text so far, which replaces what came before."""
    arguments: str | None = None
    """In `response.function_call_arguments.done`."""
    call_id: str | None = None
    name: str | None = None
    obfuscation: str | None = None
    """Random padding."""
    audio_start_ms: int | None = None
    """In `input_audio_buffer.speech_started`: since the session began."""
    audio_end_ms: int | None = None
    """In `input_audio_buffer.speech_stopped` and `conversation.item.truncated`."""
    usage: Usage | None = None
    """In `.completed` of a transcript; in `response.done` of xAI."""
    languages: list[Any] | None = None
    """In `.completed` of a transcript."""
    logprobs: list[LogProb] | None = None
    id: str | None = None
    """In `.segment` of a transcript, as the next three."""
    speaker: str | None = None
    start: float | None = None
    end: float | None = None
    rate_limits: list[RateLimit] | None = None
    error: ErrorDetails | None = None
    """In `error`, which does not end the session, and in `.failed` of a transcript."""
    event: str | None = None
    """In `input_audio_buffer.dtmf_event_received`: the key that was pressed."""
    received_at: int | None = None
    """In `input_audio_buffer.dtmf_event_received`: Unix time."""

    # --- translations
    elapsed_ms: int | None = None
    channels: int | None = None
    sample_rate: int | None = None
    format: str | None = None

    # --- of hosts
    status: Annotated[str | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    """In `.completed` and `.updated` of a transcript."""
    audio_duration_ms: Annotated[float | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    """In `response.output_audio.delta`, as `ts`."""
    ts: Annotated[int | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    rid: Annotated[str | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    start_time: Annotated[float | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    """In `response.output_audio_transcript.delta`: seconds."""
    latency: Annotated[str | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    """In `response.done`: seconds."""
    timestamp: Annotated[int | None, Facts(hosts=XAI, source=TRAFFIC)] = None
    """In `ping`: milliseconds."""


class Conversation(OpenAIStruct, frozen=True, kw_only=True):
    """The conversation of a session."""

    id: str | None = None
    object: str | None = None
    """`realtime.conversation`."""


class ErrorDetails(OpenAIStruct, frozen=True, kw_only=True):
    """What went wrong."""

    type: str | None = None
    """`invalid_request_error`, `server_error` and others."""
    code: str | None = None
    message: str | None = None
    param: str | None = None
    """Path of the field that the server refuses."""
    event_id: str | None = None
    """`ClientEvent.event_id` of the event that the server refuses."""
