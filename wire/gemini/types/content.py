"""What is said: Content, Part and what a part can be."""

from __future__ import annotations

from typing import Any

import msgspec

from wire.gemini.types.base import GeminiStruct, OpenEnum


class Content(GeminiStruct, frozen=True, kw_only=True):
    """One turn: a role and its parts."""

    remembers = True

    parts: list[Part] | None = None
    """An empty list is refused (G5); an answer may come without it."""
    role: str | None = None
    """`user` or `model` (G8). May be absent for a single turn; ignored in `system_instruction`."""


class Part(GeminiStruct, frozen=True, kw_only=True):
    """One piece of a turn: exactly one data field, with flags beside it.

    Send a part of the model back as it came: `thought_signature` belongs to this part, and text
    parts with and without one must not be merged (G24 to G27). An empty `text` is a valid part, and
    the place where 3.x streams put the signature.
    """

    remembers = True

    text: str | None = None
    """`""` counts as data (G7) and is sent; on Vertex it may not be all of a user turn (G78)."""
    inline_data: Blob | None = None
    file_data: FileData | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    executable_code: ExecutableCode | None = None
    code_execution_result: CodeExecutionResult | None = None
    tool_call: ToolCall | None = None
    """Gemini 3 on, not on Vertex: a tool that the server ran. Goes back unchanged."""
    tool_response: ToolResponse | None = None
    """As `tool_call`."""
    audio_transcription: Transcription | None = None
    """google-genai 3.3.0 only."""
    thought: bool | None = None
    """The part is a summary of thinking, not of the answer."""
    thought_signature: str | None = None
    """base64, 72 to more than 100,000 characters; opaque, to be echoed unchanged.

    The server takes the url-safe alphabet too.
    """
    part_metadata: dict[str, Any] | None = None
    """Free room of the client. Not on Vertex."""
    video_metadata: VideoMetadata | None = None
    """Only beside video; deprecated in the docs."""
    media_resolution: MediaResolution | None = None
    """Gemini 3 on."""
    media_processing: OpenEnum | None = None
    """`MediaProcessing`, since 2026-08-12.

    Video only; 3.5 Pro and later read it AGENTIC by default.
    """
    speech_metadata: SpeechMetadata | None = None
    """google-genai 3.3.0 only."""


class Blob(GeminiStruct, frozen=True, kw_only=True):
    """Media inside the message."""

    data: str | None = None
    """base64, without a `data:` prefix (G65)."""
    mime_type: str | None = None
    """Checked by the server (G64)."""
    display_name: str | None = None
    """Vertex only, and unrecorded."""


class FileData(GeminiStruct, frozen=True, kw_only=True):
    """Media by reference."""

    file_uri: str | None = None
    """`uri` of an uploaded file (ACTIVE: G67; 48 h, of the same key's project: G68), a YouTube URL,
    https or gs.
    """
    mime_type: str | None = None
    """Optional by the snapshot; send it."""
    display_name: str | None = None
    """Vertex only, and unrecorded."""


class FunctionCall(GeminiStruct, frozen=True, kw_only=True):
    """A call that the model wants made.

    Vertex with `stream_function_call_arguments` spreads one call over parts: first the name, then
    parts with `partial_args`, last an empty `{}`.
    """

    name: str | None = None
    args: dict[str, Any] | None = None
    """May be absent if there are none."""
    id: str | None = None
    """Opaque.

    Absent on 2.x, mixed on 3.0 and 3.1, always there from 3.5 on. Echo it in the response (G18).
    """
    partial_args: list[PartialArg] | None = None
    """Vertex only."""
    will_continue: bool | None = None
    """Vertex only: more of this call follows."""


class PartialArg(GeminiStruct, frozen=True, kw_only=True):
    """A piece of one argument of a streamed call. Vertex only."""

    json_path: str | None = None
    """RFC 9535, e.g. `$.route[0].country`."""
    string_value: str | None = None
    """A piece: pieces of one path are joined."""
    number_value: int | float | None = None
    """As it came, so that whole numbers stay whole in the joined arguments."""
    bool_value: bool | None = None
    null_value: Any = msgspec.UNSET
    """Set (to `"NULL_VALUE"` or `null`) if the argument is null."""
    will_continue: bool | None = None
    """More of the same path follows."""


class FunctionResponse(GeminiStruct, frozen=True, kw_only=True):
    """The result of a call.

    Goes in the turn right after the calls, as many results as calls (G11, G12).
    """

    name: str | None = None
    """Name of the call (G16, G17)."""
    response: dict[str, Any] | None = None
    """An object (G20), by convention with `output`, `result` or `error`.

    A `$ref` key in it is read as a reference to `parts` (G21).
    """
    id: str | None = None
    """Id of the call, if it had one (G18, G19)."""
    parts: list[FunctionResponsePart] | None = None
    """Media of the result; Gemini 3 on (G22)."""
    scheduling: OpenEnum | None = None
    """`Scheduling`; Live API only."""
    will_continue: bool | None = None
    """Live API only."""


class FunctionResponsePart(GeminiStruct, frozen=True, kw_only=True):
    """Media of a function result."""

    inline_data: FunctionResponseBlob | None = None
    file_data: FunctionResponseFileData | None = None
    """google-genai 3.3.0 only; both hosts take it."""
    media_processing: OpenEnum | None = None
    """`MediaProcessing`. google-genai 3.3.0 only."""


class FunctionResponseBlob(GeminiStruct, frozen=True, kw_only=True):
    """Media inside a function result."""

    data: str | None = None
    """base64."""
    mime_type: str | None = None
    display_name: str | None = None
    """google-genai 3.3.0 only: the name that `{"$ref": name}` in the response points to; reported
    broken.
    """


class FunctionResponseFileData(GeminiStruct, frozen=True, kw_only=True):
    """Media of a function result by reference. google-genai 3.3.0 only; both hosts take it
    (G83).
    """

    file_uri: str | None = None
    mime_type: str | None = None
    display_name: str | None = None


class ExecutableCode(GeminiStruct, frozen=True, kw_only=True):
    """Code that the model wrote for the server to run."""

    code: str | None = None
    language: OpenEnum | None = None
    """`Language`."""
    id: str | None = None
    """Seen on Gemini 3."""


class CodeExecutionResult(GeminiStruct, frozen=True, kw_only=True):
    """What the server's run of `ExecutableCode` gave."""

    outcome: OpenEnum | None = None
    """`Outcome`."""
    output: str | None = None
    """stdout, or stderr if it failed."""
    id: str | None = None
    """`ExecutableCode.id`."""


class ToolCall(GeminiStruct, frozen=True, kw_only=True):
    """A built-in tool that the server ran. Goes back unchanged, signature included (G23)."""

    tool_type: OpenEnum | None = None
    """`ToolType`."""
    tool_name: str | None = None
    """Since 2026-07-31."""
    args: dict[str, Any] | None = None
    id: str | None = None


class ToolResponse(GeminiStruct, frozen=True, kw_only=True):
    """What a server-run tool gave. Goes back unchanged, signature included (G23)."""

    tool_type: OpenEnum | None = None
    """`ToolType`."""
    response: dict[str, Any] | None = None
    id: str | None = None


class MediaResolution(GeminiStruct, frozen=True, kw_only=True):
    """Resolution of one part's media."""

    level: OpenEnum | None = None
    """`MediaResolutionLevel`, since 2026-07-21."""


class VideoMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Which stretch of a video to read, and how densely."""

    start_offset: str | None = None
    """Duration, `"12.5s"`."""
    end_offset: str | None = None
    """Duration."""
    fps: float | None = None


class Transcription(GeminiStruct, frozen=True, kw_only=True):
    """A transcript of audio. google-genai 3.3.0 only."""

    text: str | None = None
    finished: bool | None = None
    language_code: str | None = None
    """BCP 47."""
    speaker_label: str | None = None
    words: list[WordInfo] | None = None
    start_offset: str | None = None
    """Duration from the start of the audio."""
    end_offset: str | None = None
    """Duration from the start of the audio."""


class WordInfo(GeminiStruct, frozen=True, kw_only=True):
    """One word of a transcript and its time. google-genai 3.3.0 only."""

    word: str | None = None
    start_offset: str | None = None
    """Duration from the start of the audio."""
    end_offset: str | None = None
    """Duration from the start of the audio."""


class SpeechMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Who speaks a text part, and how. google-genai 3.3.0 only."""

    speaker: str | None = None
    """A `SpeakerVoiceConfig.speaker`."""
    style: str | None = None
