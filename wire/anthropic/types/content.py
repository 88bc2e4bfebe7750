"""Messages, the blocks of their content, and the fields of a block."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.anthropic.types.base import AnthropicStruct
from wire.core.facts import SDK, TRAFFIC, Facts

# --- messages and blocks --------------------------------------------------------------------------


class Message(AnthropicStruct, frozen=True, kw_only=True):
    """One message of a request.

    It takes the blocks of a response unchanged; `MessageResponse.message` makes such a message.
    """

    remembers = True

    role: str | None = None
    """`user` or `assistant`. From opus-4-8 on (2026) also `system` within a conversation, for
    instructions or new tools: after a user message, and before an assistant message or at the end.
    """
    content: str | list[ContentBlock] | None = None
    clear_at: Annotated[str | None, Facts(source=SDK)] = None
    """For `system`: `next_user_message` hides its text from later turns; `never`. Beta
    mid-conversation-system-clear-at-2026-08-21.
    """
    output_config: Annotated[MessageOutputConfig | None, Facts(source=SDK)] = None
    """For `system`. Beta mid-conversation-output-config-2026-07-01."""

    @property
    def text(self) -> str:
        """The text of the content; `""` if it has none."""
        return text_of(self.content)


class ContentBlock(AnthropicStruct, frozen=True, kw_only=True):
    """One block of any type: `type`, and the fields of that type.

    A received block is sent back with the bytes in which it came, even if its type is not known
    here.
    """

    remembers = True

    type: str | None = None
    """`text`, `image`, `document`, `search_result`, `tool_use`, `tool_result`, `thinking`,
    `redacted_thinking`, `mid_conv_system`, `tool_reference`, `browser_state`, `container_upload`.
    For tools that the server runs: `server_tool_use`, `web_search_tool_result`,
    `web_fetch_tool_result`, `code_execution_tool_result`, `bash_code_execution_tool_result`,
    `text_editor_code_execution_tool_result`, `tool_search_tool_result`. In beta: `mcp_tool_use`,
    `mcp_tool_result`, `advisor_tool_result`, `compaction`, `fallback`, `tool_addition`,
    `tool_removal`. Other types are possible.
    """
    text: str | None = None
    """In `text`. Must not be empty in a request."""
    thinking: str | None = None
    """In `thinking`. Empty, beside a valid signature, if the request had `display: omitted`."""
    signature: str | None = None
    """In `thinking` and `compaction`. Opaque; send it back with the text unchanged.

    Some other hosts send none.
    """
    data: str | None = None
    """In `redacted_thinking`. Opaque; send it back unchanged."""
    id: str | None = None
    """In `tool_use`, `server_tool_use`, `mcp_tool_use`. A request must match `[a-zA-Z0-9_-]+`."""
    name: str | None = None
    """Name of the tool."""
    toolset_name: str | None = None
    """In calls and results of a tool of a toolset: `browser`, `computer`."""
    input: dict[str, Any] | str | None = None
    """Arguments of the tool, an object.

    A text only if a stream ended within this JSON.
    """
    caller: Caller | None = None
    """Who calls the tool: the model, or code that it wrote."""
    server_name: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """In `mcp_tool_use`: one of `MessageRequest.mcp_servers`."""
    tool_use_id: str | None = None
    """In `tool_result` and other results: the `id` of the call."""
    content: str | list[ContentBlock] | ToolOutput | None = None
    """In results: a text or blocks; an object for tools that the server runs.

    In `search_result` and `mid_conv_system`: text blocks. In `compaction`: a text.
    """
    is_error: bool | None = None
    """True if the tool failed; `content` has the error."""
    source: Source | str | None = None
    """In `image` and `document`. In `search_result`: the origin, as a text."""
    transformations: ImageTransformations | None = None
    """In `image`."""
    title: str | None = None
    """In `document`, `search_result`, `web_search_result`."""
    context: str | None = None
    """In `document`: context for the model, which cannot be cited."""
    citations: list[Citation] | CitationsConfig | None = None
    """In `text`: its sources. In `document` and `search_result`: whether it may be cited."""
    file_id: str | None = None
    """In `container_upload`, and for files that code wrote."""
    tool_name: str | None = None
    """In `tool_reference`."""
    tool: Annotated[ToolReference | None, Facts(source=TRAFFIC)] = None
    """In `tool_addition`: a tool that the model may call from here on. In `tool_removal`: one that
    it may no longer call.
    """
    tool_changes: Annotated[list[ContentBlock] | None, Facts(source=SDK)] = None
    """In `compaction`: the `tool_addition` and `tool_removal` blocks of the summarized messages."""
    tabs: list[BrowserTab] | None = None
    """In `browser_state`: all open tabs."""
    state_changes: list[BrowserStateChange] | None = None
    """In `browser_state`: what changed during the call; absent if nothing did."""
    url: str | None = None
    """In `web_search_result`."""
    page_age: str | None = None
    """In `web_search_result`."""
    encrypted_content: str | None = None
    """In `web_search_result` and `compaction`. Opaque; send it back unchanged."""
    from_: Annotated[FallbackModel | None, Facts(source=TRAFFIC)] = msgspec.field(
        name="from", default=None
    )
    """In `fallback`: the requested model."""
    to: Annotated[FallbackModel | None, Facts(source=TRAFFIC)] = None
    """In `fallback`: the model that answers from here on."""
    cache_control: CacheControl | None = None
    """In a request: caches the prompt up to the end of this block.

    At most 4 in a request; none on thinking or empty text.
    """


def text_of(content: str | list[ContentBlock] | None) -> str:
    """Join the text blocks of a content."""
    if isinstance(content, list):
        return "".join(block.text or "" for block in content if block.type == "text")
    return content or ""


class CacheControl(AnthropicStruct, frozen=True, kw_only=True):
    """A cache breakpoint."""

    type: str | None = None
    """`ephemeral`."""
    ttl: str | None = None
    """`5m`, `1h`.

    A breakpoint of `1h` must precede those of `5m`, in the order tools, system, messages.
    """


class Caller(AnthropicStruct, frozen=True, kw_only=True):
    """Who calls a tool."""

    type: str | None = None
    """`direct`; `code_execution_20250825`, `code_execution_20260120` for code that the model wrote.
    """
    tool_id: str | None = None
    """The `server_tool_use` that runs the code."""


class ToolReference(AnthropicStruct, frozen=True, kw_only=True):
    """A tool of the request, by its name; or a tool by its definition."""

    type: str | None = None
    """`tool_reference`, `mcp_tool_reference`, `mcp_toolset_reference`, `tool_definition`."""
    name: str | None = None
    server_name: Annotated[str | None, Facts(source=SDK)] = None
    """For the types of `mcp`: one of `MessageRequest.mcp_servers`."""
    definition: Annotated[dict[str, Any] | None, Facts(source=SDK)] = None
    """For `tool_definition`: the tool. Beta inline-tools-2026-09-15."""


class MessageOutputConfig(AnthropicStruct, frozen=True, kw_only=True):
    """Settings that a system message changes from here on."""

    effort: str | None = None
    """`low`, `medium`, `high`, `xhigh`, `max`."""


class FallbackModel(AnthropicStruct, frozen=True, kw_only=True):
    """A model, by its name."""

    model: str | None = None


# --- images, documents, citations -----------------------------------------------------------------


class Source(AnthropicStruct, frozen=True, kw_only=True):
    """Where the data of an image or a document are."""

    type: str | None = None
    """`base64`, `url`, `text`, `content`, `file`."""
    media_type: str | None = None
    """`image/jpeg`, `image/png`, `image/gif`, `image/webp`; `application/pdf`; `text/plain` for
    type `text`.
    """
    data: str | None = None
    """Base64; for type `text` the text itself."""
    url: str | None = None
    content: str | list[ContentBlock] | None = None
    """In `content`: a document of text and image blocks."""
    file_id: str | None = None
    """In `file`: an uploaded file."""


class ImageTransformations(AnthropicStruct, frozen=True, kw_only=True):
    """Changes that the server makes to an image before the model sees it."""

    oversized_image: str | None = None
    """`downsize`, `error`: what happens if the image is larger than the model accepts."""


class BrowserTab(AnthropicStruct, frozen=True, kw_only=True):
    """An open tab of the browser that a toolset controls."""

    tab_id: str | None = None
    title: str | None = None
    url: str | None = None
    active: bool | None = None
    """True for exactly one of the open tabs."""


class BrowserStateChange(AnthropicStruct, frozen=True, kw_only=True):
    """A tab that was opened, or a download that began or ended."""

    type: str | None = None
    """`tab_opened`, `download_started`, `download_completed`, `download_failed`."""
    tab_id: str | None = None
    download_id: str | None = None
    url: str | None = None
    path: str | None = None
    size_bytes: int | None = None
    error: str | None = None


class CitationsConfig(AnthropicStruct, frozen=True, kw_only=True):
    """Whether a document may be cited."""

    enabled: bool | None = None


class Citation(AnthropicStruct, frozen=True, kw_only=True):
    """A source of a text. Indices begin at 0, pages at 1; ends are exclusive."""

    type: str | None = None
    """`char_location`, `page_location`, `content_block_location`, `search_result_location`,
    `web_search_result_location`.
    """
    cited_text: str | None = None
    document_index: int | None = None
    """Position of the document in the request."""
    document_title: str | None = None
    file_id: str | None = None
    start_char_index: int | None = None
    end_char_index: int | None = None
    start_page_number: int | None = None
    end_page_number: int | None = None
    start_block_index: int | None = None
    end_block_index: int | None = None
    search_result_index: int | None = None
    """Position of the search result in the request."""
    source: str | None = None
    """The `source` of that search result."""
    title: str | None = None
    url: str | None = None
    encrypted_index: str | None = None
    """Opaque; send it back unchanged."""


# --- tools that the server runs -------------------------------------------------------------------


class ToolOutput(AnthropicStruct, frozen=True, kw_only=True):
    """The result of a tool that the server runs, if it is one object: `type`, and the fields of
    that type.
    """

    type: str | None = None
    """`code_execution_result`, `encrypted_code_execution_result`, `bash_code_execution_result`,
    `web_fetch_result`, `tool_search_tool_search_result`, `text_editor_code_execution_view_result`,
    `text_editor_code_execution_create_result`, `text_editor_code_execution_str_replace_result`,
    `advisor_result`, `advisor_redacted_result`. The type of an error ends in `_error`.
    """
    content: str | list[ContentBlock] | ContentBlock | None = None
    """Files that code wrote, the document that was fetched, or the text of the file that was
    viewed.
    """
    error_code: str | None = None
    """`unavailable`, `too_many_requests`, `invalid_tool_input`, `max_uses_exceeded`,
    `execution_time_exceeded` and others.
    """
    error_message: str | None = None
    stdout: str | None = None
    encrypted_stdout: str | None = None
    """Replaces `stdout`. Opaque; send it back unchanged."""
    stderr: str | None = None
    return_code: int | None = None
    abort_reason: Annotated[str | None, Facts(source=TRAFFIC)] = None
    url: str | None = None
    """In `web_fetch_result`."""
    retrieved_at: str | None = None
    """RFC 3339."""
    tool_references: list[ContentBlock] | None = None
    """Tools that a search found, as blocks of type `tool_reference`."""
    file_type: str | None = None
    """`text`, `image`, `pdf`."""
    num_lines: int | None = None
    start_line: int | None = None
    total_lines: int | None = None
    is_file_update: bool | None = None
    """False if the file is new."""
    lines: list[str] | None = None
    """The lines of a diff."""
    old_start: int | None = None
    old_lines: int | None = None
    new_start: int | None = None
    new_lines: int | None = None
    text: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """The advisor's text."""
    encrypted_content: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """The advisor's text, opaque. Send it back unchanged."""
    stop_reason: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Why the advisor stopped."""
