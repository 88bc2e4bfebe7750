"""What is said: messages, the blocks that they are made of, and what stands in a block."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.anthropic.types.base import AnthropicStruct
from wire.core.facts import TRAFFIC, Facts

# --- messages and blocks --------------------------------------------------------------------------


class Message(AnthropicStruct, frozen=True, kw_only=True):
    """One message of a request.

    The blocks of an answer go into one as they are; `MessageResponse.message` is that.
    """

    remembers = True

    role: str | None = None
    """`user`, `assistant`; `system` in the middle of a conversation (2026, opus-4-8 on):
    instructions or new tools.
    """
    content: str | list[ContentBlock] | None = None

    @property
    def text(self) -> str:
        """The content that is text, joined; empty if there is none."""
        return text_of(self.content)


class ContentBlock(AnthropicStruct, frozen=True, kw_only=True):
    """One block of any type: `type`, and the fields that this type has.

    A received block goes back with the bytes that it came in, also one of a type that is not known
    here.
    """

    remembers = True

    type: str | None = None
    """`text`, `image`, `document`, `search_result`, `tool_use`, `tool_result`, `thinking`,
    `redacted_thinking`, `mid_conv_system`, `tool_reference`, `container_upload`; of tools that the
    server runs `server_tool_use`, `web_search_tool_result`, `web_fetch_tool_result`,
    `code_execution_tool_result`, `bash_code_execution_tool_result`,
    `text_editor_code_execution_tool_result`, `tool_search_tool_result`; in beta `mcp_tool_use`,
    `mcp_tool_result`, `advisor_tool_result`, `compaction`, `fallback`, `tool_addition`; and what
    else there is."""
    text: str | None = None
    """Type `text`. Not empty in a request."""
    thinking: str | None = None
    """Type `thinking`. Empty beside a real signature if the request said `display: omitted`."""
    signature: str | None = None
    """Type `thinking`: opaque, and goes back with the text unchanged.

    Absent at some other hosts.
    """
    data: str | None = None
    """Type `redacted_thinking`: opaque, goes back unchanged."""
    id: str | None = None
    """Types `tool_use`, `server_tool_use`, `mcp_tool_use`. `[a-zA-Z0-9_-]+` in a request."""
    name: str | None = None
    """Of the tool."""
    input: dict[str, Any] | str | None = None
    """What the tool is called with: an object.

    Text only in an answer that was streamed and ended in the middle of this JSON.
    """
    caller: Caller | None = None
    """Who calls: the model, or code that it wrote."""
    server_name: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Type `mcp_tool_use`: one of `MessageRequest.mcp_servers`."""
    tool_use_id: str | None = None
    """Type `tool_result` and the other results: the `id` that this answers."""
    content: str | list[ContentBlock] | ToolOutput | None = None
    """Results: text or blocks; an object of tools that the server runs.

    `search_result`, `mid_conv_system`: texts. `compaction`: text.
    """
    is_error: bool | None = None
    """The tool failed, and `content` says how."""
    source: Source | str | None = None
    """Types `image`, `document`. Of a `search_result`: where it is from, as text."""
    title: str | None = None
    """Types `document`, `search_result`, `web_search_result`."""
    context: str | None = None
    """Type `document`: what the model should know of it; not cited."""
    citations: list[Citation] | CitationsConfig | None = None
    """Type `text`: what it rests on. Types `document`, `search_result`: whether it may be cited."""
    file_id: str | None = None
    """Type `container_upload`, and files that code has written."""
    tool_name: str | None = None
    """Type `tool_reference`."""
    tool: Annotated[ToolReference | None, Facts(source=TRAFFIC)] = None
    """Type `tool_addition`: a tool of the request that may be called from here on."""
    url: str | None = None
    """Type `web_search_result`."""
    page_age: str | None = None
    """Type `web_search_result`."""
    encrypted_content: str | None = None
    """Type `web_search_result`: opaque, goes back unchanged."""
    from_: Annotated[FallbackModel | None, Facts(source=TRAFFIC)] = msgspec.field(
        name="from", default=None
    )
    """Type `fallback`: the model that was asked."""
    to: Annotated[FallbackModel | None, Facts(source=TRAFFIC)] = None
    """Type `fallback`: the model that answers from here on."""
    cache_control: CacheControl | None = None
    """In a request: the prompt up to here is cached.

    At most 4 in a request, none on thinking or empty text.
    """


def text_of(content: str | list[ContentBlock] | None) -> str:
    """The texts in a content, joined."""
    if isinstance(content, list):
        return "".join(block.text or "" for block in content if block.type == "text")
    return content or ""


class CacheControl(AnthropicStruct, frozen=True, kw_only=True):
    """A mark for the cache."""

    type: str | None = None
    """`ephemeral`."""
    ttl: str | None = None
    """`5m`, `1h`.

    A mark of `1h` comes before those of `5m`, in the order tools, system, messages.
    """


class Caller(AnthropicStruct, frozen=True, kw_only=True):
    """Who calls a tool."""

    type: str | None = None
    """`direct`; `code_execution_20250825`, `code_execution_20260120`: code that the model wrote."""
    tool_id: str | None = None
    """The `server_tool_use` in which that code runs."""


class ToolReference(AnthropicStruct, frozen=True, kw_only=True):
    """A tool of the request, by its name."""

    type: str | None = None
    """`tool_reference`."""
    name: str | None = None


class FallbackModel(AnthropicStruct, frozen=True, kw_only=True):
    """A model, by its name."""

    model: str | None = None


# --- images, documents, citations -----------------------------------------------------------------


class Source(AnthropicStruct, frozen=True, kw_only=True):
    """Where an image or a document is."""

    type: str | None = None
    """`base64`, `url`, `text`, `content`; `file` in beta."""
    media_type: str | None = None
    """`image/jpeg`, `image/png`, `image/gif`, `image/webp`; `application/pdf`; `text/plain` of type
    `text`.
    """
    data: str | None = None
    """base64; of type `text` the text itself."""
    url: str | None = None
    content: str | list[ContentBlock] | None = None
    """Type `content`: a document of texts and images."""
    file_id: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Type `file`: an uploaded one."""


class CitationsConfig(AnthropicStruct, frozen=True, kw_only=True):
    """Whether a document may be cited."""

    enabled: bool | None = None


class Citation(AnthropicStruct, frozen=True, kw_only=True):
    """What a text rests on. Counting begins at 0, pages at 1; an end is the first one behind."""

    type: str | None = None
    """`char_location`, `page_location`, `content_block_location`, `search_result_location`,
    `web_search_result_location`.
    """
    cited_text: str | None = None
    document_index: int | None = None
    """Which document of the request."""
    document_title: str | None = None
    file_id: str | None = None
    start_char_index: int | None = None
    end_char_index: int | None = None
    start_page_number: int | None = None
    end_page_number: int | None = None
    start_block_index: int | None = None
    end_block_index: int | None = None
    search_result_index: int | None = None
    """Which search result of the request."""
    source: str | None = None
    """Of that search result."""
    title: str | None = None
    url: str | None = None
    encrypted_index: str | None = None
    """Opaque, goes back unchanged."""


# --- tools that the server runs -------------------------------------------------------------------


class ToolOutput(AnthropicStruct, frozen=True, kw_only=True):
    """What a tool that the server runs gave, where that is one object: `type`, and the fields that
    this type has.
    """

    type: str | None = None
    """`code_execution_result`, `encrypted_code_execution_result`, `bash_code_execution_result`,
    `web_fetch_result`, `tool_search_tool_search_result`, `text_editor_code_execution_view_result`,
    `..._create_result`, `..._str_replace_result`, `advisor_result`, `advisor_redacted_result`; an
    error ends in `_error`."""
    content: str | list[ContentBlock] | ContentBlock | None = None
    """Files that code has written; the document that was fetched; the file that is viewed."""
    error_code: str | None = None
    """`unavailable`, `too_many_requests`, `invalid_tool_input`, `max_uses_exceeded`,
    `execution_time_exceeded`, ...
    """
    error_message: str | None = None
    stdout: str | None = None
    encrypted_stdout: str | None = None
    """In place of `stdout`: opaque, goes back unchanged."""
    stderr: str | None = None
    return_code: int | None = None
    abort_reason: Annotated[str | None, Facts(source=TRAFFIC)] = None
    url: str | None = None
    """Type `web_fetch_result`."""
    retrieved_at: str | None = None
    """RFC 3339."""
    tool_references: list[ContentBlock] | None = None
    """Tools that a search found: blocks of type `tool_reference`."""
    file_type: str | None = None
    """`text`, `image`, `pdf`."""
    num_lines: int | None = None
    start_line: int | None = None
    total_lines: int | None = None
    is_file_update: bool | None = None
    """False: the file is new."""
    lines: list[str] | None = None
    """A replacement as lines of a diff."""
    old_start: int | None = None
    old_lines: int | None = None
    new_start: int | None = None
    new_lines: int | None = None
    text: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """What the advisor said."""
    encrypted_content: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """What the advisor said: opaque, goes back unchanged."""
    stop_reason: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Of the advisor."""
