"""Content, Part, and the kinds of data that a part can hold."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.core.facts import SDK, TRAFFIC, Facts
from wire.gemini.types.base import GEMINI, VERTEX, GeminiStruct, OpenEnum


class Content(GeminiStruct, frozen=True, kw_only=True):
    """One turn of a conversation: a role and its parts."""

    remembers = True

    parts: list[Part] | None = None
    """An empty list is refused (G5). A response may lack the field."""
    role: str | None = None
    """`user` or `model` (G8). May be absent in a request of one turn. Ignored in
    `system_instruction`.
    """


class Part(GeminiStruct, frozen=True, kw_only=True):
    """One part of a turn: exactly one data field, and optional fields that describe it.

    Send parts of the model back unchanged: `thought_signature` belongs to its part, and a text part
    with a signature must not be merged with one without (G24 to G27). An empty `text` is a valid
    part; 3.x models often put the signature of a stream there.
    """

    remembers = True

    text: Annotated[str | None, Facts(one_of="data")] = None
    """`""` counts as data and is sent (G7). On Vertex a user turn must not consist of it alone
    (G78).
    """
    inline_data: Annotated[Blob | None, Facts(one_of="data")] = None
    file_data: Annotated[FileData | None, Facts(one_of="data")] = None
    function_call: Annotated[FunctionCall | None, Facts(one_of="data")] = None
    function_response: Annotated[FunctionResponse | None, Facts(one_of="data")] = None
    executable_code: Annotated[ExecutableCode | None, Facts(one_of="data")] = None
    code_execution_result: Annotated[CodeExecutionResult | None, Facts(one_of="data")] = None
    tool_call: Annotated[ToolCall | None, Facts(hosts=GEMINI, one_of="data")] = None
    """A tool that the server ran; Gemini 3 and later. Send it back unchanged."""
    tool_response: Annotated[ToolResponse | None, Facts(hosts=GEMINI, one_of="data")] = None
    """The result of `tool_call`. Send it back unchanged."""
    audio_transcription: Annotated[Transcription | None, Facts(source=SDK, one_of="data")] = None
    """The transcript of a piece of audio."""
    thought: bool | None = None
    """True if the part is a summary of thinking, not a part of the answer."""
    thought_signature: Annotated[str | None, Facts(base64=True)] = None
    """Opaque base64 of 72 to more than 100,000 characters. Send it back unchanged.

    The server accepts the URL-safe alphabet too.
    """
    part_metadata: Annotated[dict[str, Any] | None, Facts(hosts=GEMINI)] = None
    """Data of the client's own. The model does not read it."""
    video_metadata: VideoMetadata | None = None
    """Only for a part that is a video. Deprecated in Google's docs."""
    media_resolution: MediaResolution | None = None
    """Gemini 3 and later."""
    media_processing: Annotated[OpenEnum | None, Facts(since="2026-08-12")] = None
    """`MediaProcessing`. For videos only; 3.5 Pro and later use AGENTIC by default."""
    speech_metadata: Annotated[SpeechMetadata | None, Facts(source=SDK)] = None
    """The speaker of a text part, and the style of speech."""


class Blob(GeminiStruct, frozen=True, kw_only=True):
    """Media inside the message."""

    data: Annotated[str | None, Facts(base64=True)] = None
    """Base64 without a `data:` prefix (G65)."""
    mime_type: str | None = None
    """The server checks it (G64)."""
    display_name: Annotated[str | None, Facts(hosts=VERTEX, source=SDK)] = None
    """A name for people. No use is recorded."""


class FileData(GeminiStruct, frozen=True, kw_only=True):
    """Media by reference."""

    file_uri: str | None = None
    """The `uri` of an uploaded file, a YouTube URL, or an https or gs URL. An uploaded file must be
    ACTIVE (G67); it lives 48 hours and belongs to the project of the key (G68).
    """
    mime_type: str | None = None
    """Optional in Google's reference; send it."""
    display_name: Annotated[str | None, Facts(hosts=VERTEX, source=SDK)] = None
    """As `Blob.display_name`."""


class FunctionCall(GeminiStruct, frozen=True, kw_only=True):
    """A function call of the model.

    On Vertex, `stream_function_call_arguments` spreads one call over several parts: the first has
    the name, the next ones have `partial_args`, the last is an empty `{}`.
    """

    name: str | None = None
    args: dict[str, Any] | None = None
    """Absent if the call has no arguments."""
    id: str | None = None
    """Opaque. Repeat it in the function response (G18).

    Absent on 2.x, sometimes present on 3.0 and 3.1, always present from 3.5 on.
    """
    partial_args: Annotated[list[PartialArg] | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None
    """Pieces of the arguments of a streamed call."""
    will_continue: Annotated[bool | None, Facts(hosts=VERTEX, source=TRAFFIC)] = None
    """True if a later part continues this call."""


class PartialArg(GeminiStruct, frozen=True, kw_only=True):
    """A piece of one argument of a streamed call."""

    json_path: str | None = None
    """Path of the value in the arguments (RFC 9535), such as `$.route[0].country`."""
    string_value: Annotated[str | None, Facts(one_of="delta")] = None
    """A piece of a text. Join the pieces of one path in order."""
    number_value: Annotated[int | float | None, Facts(one_of="delta")] = None
    """Integers stay integers, so that the joined arguments have them too."""
    bool_value: Annotated[bool | None, Facts(one_of="delta")] = None
    null_value: Annotated[Any, Facts(one_of="delta")] = msgspec.UNSET
    """Set to `"NULL_VALUE"` or `null` if the argument is null."""
    will_continue: bool | None = None
    """True if a later piece has the same path."""


class FunctionResponse(GeminiStruct, frozen=True, kw_only=True):
    """The result of a function call.

    All results of a turn are in the user turn directly after the calls, one for each call (G11,
    G12).
    """

    name: str | None = None
    """The name of the call (G16, G17)."""
    response: dict[str, Any] | None = None
    """A JSON object (G20). By convention it has the key `output`, `result` or `error`.

    The server reads a key `$ref` inside it as a reference to an entry of `parts` (G21).
    """
    id: str | None = None
    """The id of the call, if the call had one (G18, G19)."""
    parts: list[FunctionResponsePart] | None = None
    """Media of the result; Gemini 3 and later (G22)."""
    scheduling: OpenEnum | None = None
    """`Scheduling`. Live API only."""
    will_continue: Annotated[bool | None, Facts(hosts=GEMINI)] = None
    """Live API only."""


class FunctionResponsePart(GeminiStruct, frozen=True, kw_only=True):
    """Media of a function result."""

    inline_data: Annotated[FunctionResponseBlob | None, Facts(one_of="data")] = None
    file_data: Annotated[FunctionResponseFileData | None, Facts(source=TRAFFIC, one_of="data")] = (
        None
    )
    """Accepted on both hosts in recorded requests to 3-flash-preview."""
    media_processing: Annotated[OpenEnum | None, Facts(hosts=GEMINI, source=SDK)] = None
    """`MediaProcessing`, for videos."""


class FunctionResponseBlob(GeminiStruct, frozen=True, kw_only=True):
    """Media inside a function result."""

    data: Annotated[str | None, Facts(base64=True)] = None
    """Base64."""
    mime_type: str | None = None
    display_name: Annotated[str | None, Facts(hosts=VERTEX, source=SDK)] = None
    """The name that `{"$ref": name}` in the response refers to. Public threads report that this
    does not work.
    """


class FunctionResponseFileData(GeminiStruct, frozen=True, kw_only=True):
    """Media of a function result by reference; the fields are those of `FileData` (G83)."""

    file_uri: str | None = None
    mime_type: str | None = None
    display_name: Annotated[str | None, Facts(hosts=VERTEX, source=SDK)] = None


class ExecutableCode(GeminiStruct, frozen=True, kw_only=True):
    """Code that the model wrote for the server to run."""

    code: str | None = None
    language: OpenEnum | None = None
    """`Language`."""
    id: str | None = None
    """Recorded on Gemini 3."""


class CodeExecutionResult(GeminiStruct, frozen=True, kw_only=True):
    """The result of running an `ExecutableCode` on the server."""

    outcome: OpenEnum | None = None
    """`Outcome`."""
    output: str | None = None
    """Standard output, or standard error if the code failed."""
    id: str | None = None
    """The `ExecutableCode.id`."""


class ToolCall(GeminiStruct, frozen=True, kw_only=True):
    """A built-in tool that the server ran. Send it back unchanged, signature included (G23)."""

    tool_type: OpenEnum | None = None
    """`ToolType`."""
    tool_name: Annotated[str | None, Facts(since="2026-07-31")] = None
    args: dict[str, Any] | None = None
    id: str | None = None


class ToolResponse(GeminiStruct, frozen=True, kw_only=True):
    """The result of a tool that the server ran. Send it back unchanged, as `ToolCall` (G23)."""

    tool_type: OpenEnum | None = None
    """`ToolType`."""
    response: dict[str, Any] | None = None
    id: str | None = None


class MediaResolution(GeminiStruct, frozen=True, kw_only=True):
    """Resolution of the media of one part."""

    level: Annotated[OpenEnum | None, Facts(since="2026-07-21")] = None
    """`MediaResolutionLevel`."""


class VideoMetadata(GeminiStruct, frozen=True, kw_only=True):
    """The stretch of a video to read, and the frame rate."""

    start_offset: str | None = None
    """Duration such as `"12.5s"`, from the start of the video."""
    end_offset: str | None = None
    """Duration from the start of the video."""
    fps: float | None = None
    """Frames per second."""


class Transcription(GeminiStruct, frozen=True, kw_only=True):
    """A transcript of audio."""

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
    """One word of a transcript and its time."""

    word: str | None = None
    start_offset: str | None = None
    """Duration from the start of the audio."""
    end_offset: str | None = None
    """Duration from the start of the audio."""


class SpeechMetadata(GeminiStruct, frozen=True, kw_only=True):
    """The speaker of a text part, and the style of speech."""

    speaker: str | None = None
    """One of `SpeakerVoiceConfig.speaker`."""
    style: str | None = None
