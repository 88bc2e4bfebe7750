"""Messages, the blocks of their content, and the fields of a block."""

from __future__ import annotations

from typing import Any

from wire.converse.types.base import ConverseStruct


class Message(ConverseStruct, frozen=True, kw_only=True):
    """One message of a conversation."""

    remembers = True

    role: str | None = None
    """`user`, `assistant`; `system` for instructions within a conversation (2026)."""
    content: list[ContentBlock] | None = None

    @property
    def text(self) -> str:
        """The text of the content; `""` if it has none."""
        return text_of(self.content)


class ContentBlock(ConverseStruct, frozen=True, kw_only=True):
    """One block of content: an object with one key, which names its kind.

    A received block is sent back with the bytes in which it came, even if its key is not known
    here.
    """

    remembers = True

    text: str | None = None
    """A blank text is refused."""
    image: ImageBlock | None = None
    document: DocumentBlock | None = None
    video: VideoBlock | None = None
    audio: AudioBlock | None = None
    tool_use: ToolUseBlock | None = None
    tool_result: ToolResultBlock | None = None
    guard_content: GuardrailConverseContentBlock | None = None
    """Content that the guardrail assesses, where other content is not."""
    cache_point: CachePointBlock | None = None
    """The prompt up to this block is cached."""
    reasoning_content: ReasoningContentBlock | None = None
    citations_content: CitationsContentBlock | None = None
    """A text with its sources."""
    search_result: SearchResultBlock | None = None
    """A result of a search that can be cited."""
    tool_addition: ToolAdditionBlock | None = None
    """The model may call a tool from here on."""
    tool_removal: ToolRemovalBlock | None = None
    """The model may no longer call a tool from here on."""


def text_of(content: list[ContentBlock] | None) -> str:
    """Join the texts of a content, those with sources too."""
    texts = []
    for block in content or ():
        cited = block.citations_content.content if block.citations_content is not None else None
        texts += [block.text or "", *(each.text or "" for each in cited or ())]
    return "".join(texts)


class ImageBlock(ConverseStruct, frozen=True, kw_only=True):
    """An image."""

    format: str | None = None
    """`png`, `jpeg`, `gif`, `webp`."""
    source: ImageSource | None = None
    error: ErrorBlock | None = None
    """Why there is no image."""


class VideoBlock(ConverseStruct, frozen=True, kw_only=True):
    """A video."""

    format: str | None = None
    """`mkv`, `mov`, `mp4`, `webm`, `flv`, `mpeg`, `mpg`, `wmv`, `three_gp`."""
    source: VideoSource | None = None


class AudioBlock(ConverseStruct, frozen=True, kw_only=True):
    """A sound."""

    format: str | None = None
    """`mp3`, `opus`, `wav`, `aac`, `flac`, `mp4`, `ogg`, `mkv`, `mka`, `x-aac`, `m4a`, `mpeg`,
    `mpga`, `pcm`, `webm`.
    """
    source: AudioSource | None = None
    error: ErrorBlock | None = None
    """Why there is no sound."""


class ErrorBlock(ConverseStruct, frozen=True, kw_only=True):
    """Why media are not there."""

    message: str | None = None


class ImageSource(ConverseStruct, frozen=True, kw_only=True):
    """Where the bytes of an image are: an object with one key."""

    bytes: str | None = None
    """Base64."""
    s3_location: S3Location | None = None


class VideoSource(ConverseStruct, frozen=True, kw_only=True):
    """Where the bytes of a video are: an object with one key."""

    bytes: str | None = None
    """Base64."""
    s3_location: S3Location | None = None


class AudioSource(ConverseStruct, frozen=True, kw_only=True):
    """Where the bytes of a sound are: an object with one key."""

    bytes: str | None = None
    """Base64."""
    s3_location: S3Location | None = None


class S3Location(ConverseStruct, frozen=True, kw_only=True):
    """An object in Amazon S3."""

    uri: str | None = None
    """`s3://BUCKET/KEY`."""
    bucket_owner: str | None = None
    """12 digits: the account of the bucket, if it is another one."""


class DocumentBlock(ConverseStruct, frozen=True, kw_only=True):
    """A document. A `text` block has to be in the same message."""

    format: str | None = None
    """`pdf`, `csv`, `doc`, `docx`, `xls`, `xlsx`, `html`, `txt`, `md`."""
    name: str | None = None
    """Letters, digits, single blanks, `-`, `()` and `[]`; each name once in a request. The model
    reads it.
    """
    source: DocumentSource | None = None
    context: str | None = None
    """Context for the model, which cannot be cited."""
    citations: CitationsConfig | None = None


class DocumentSource(ConverseStruct, frozen=True, kw_only=True):
    """Where the content of a document is: an object with one key."""

    bytes: str | None = None
    """Base64."""
    s3_location: S3Location | None = None
    text: str | None = None
    content: list[DocumentContentBlock] | None = None


class DocumentContentBlock(ConverseStruct, frozen=True, kw_only=True):
    """A part of a document that is given in parts, which can be cited."""

    text: str | None = None


class CitationsConfig(ConverseStruct, frozen=True, kw_only=True):
    """Whether the model cites a document or a search result."""

    enabled: bool | None = None


class CachePointBlock(ConverseStruct, frozen=True, kw_only=True):
    """A cache point."""

    type: str | None = None
    """`default`."""
    ttl: str | None = None
    """`5m`, `1h`. Without it, `5m`."""


class ToolUseBlock(ConverseStruct, frozen=True, kw_only=True):
    """A tool call of the model."""

    tool_use_id: str | None = None
    """At most 64 of the characters `a-z A-Z 0-9 _ . : -`."""
    name: str | None = None
    """Name of the tool, at most 64 of the characters `a-z A-Z 0-9 _ -`."""
    input: Any = None
    """The arguments, an object. A text only if a stream ended within this JSON."""
    type: str | None = None
    """`server_tool_use` for a tool that the server runs. Some models send `tool_use` for all
    others.
    """


class ToolResultBlock(ConverseStruct, frozen=True, kw_only=True):
    """The result of a tool call: in a message of the user, or in an answer if the server ran the
    tool.
    """

    tool_use_id: str | None = None
    content: list[ToolResultContentBlock] | None = None
    status: str | None = None
    """`success`, `error`. With `error`, `content` must not be empty."""
    type: str | None = None
    """Kind of result of a tool that the server ran, such as `nova_grounding_result`."""


class ToolResultContentBlock(ConverseStruct, frozen=True, kw_only=True):
    """A part of the result of a tool: an object with one key, which names its kind."""

    json: Any = None
    """Any JSON value."""
    text: str | None = None
    image: ImageBlock | None = None
    document: DocumentBlock | None = None
    video: VideoBlock | None = None
    search_result: SearchResultBlock | None = None


class ReasoningContentBlock(ConverseStruct, frozen=True, kw_only=True):
    """Reasoning of the model: an object with one key."""

    reasoning_text: ReasoningTextBlock | None = None
    redacted_content: str | None = None
    """Base64; encrypted. Send it back unchanged."""


class ReasoningTextBlock(ConverseStruct, frozen=True, kw_only=True):
    """Reasoning that can be read."""

    text: str | None = None
    signature: str | None = None
    """Opaque; send it back with the text unchanged. Some models send none."""


class CitationsContentBlock(ConverseStruct, frozen=True, kw_only=True):
    """A text of the model with its sources."""

    content: list[CitationGeneratedContent] | None = None
    citations: list[Citation] | None = None


class CitationGeneratedContent(ConverseStruct, frozen=True, kw_only=True):
    """A part of that text."""

    text: str | None = None


class Citation(ConverseStruct, frozen=True, kw_only=True):
    """A source of a text."""

    title: str | None = None
    source: str | None = None
    """Where a search result came from."""
    source_content: list[CitationSourceContent] | None = None
    """The quoted text."""
    location: CitationLocation | None = None


class CitationSourceContent(ConverseStruct, frozen=True, kw_only=True):
    """A part of a quoted text."""

    text: str | None = None


class CitationLocation(ConverseStruct, frozen=True, kw_only=True):
    """Where the quoted text is in its source: an object with one key."""

    web: WebLocation | None = None
    document_char: DocumentCharLocation | None = None
    document_page: DocumentPageLocation | None = None
    document_chunk: DocumentChunkLocation | None = None
    search_result_location: SearchResultLocation | None = None


class WebLocation(ConverseStruct, frozen=True, kw_only=True):
    """A page on the web."""

    url: str | None = None
    domain: str | None = None


class DocumentCharLocation(ConverseStruct, frozen=True, kw_only=True):
    """Characters of a document."""

    document_index: int | None = None
    """Position of the document in the request."""
    start: int | None = None
    end: int | None = None


class DocumentPageLocation(ConverseStruct, frozen=True, kw_only=True):
    """Pages of a document."""

    document_index: int | None = None
    """Position of the document in the request."""
    start: int | None = None
    end: int | None = None


class DocumentChunkLocation(ConverseStruct, frozen=True, kw_only=True):
    """Parts of a document that was given in parts."""

    document_index: int | None = None
    """Position of the document in the request."""
    start: int | None = None
    end: int | None = None


class SearchResultLocation(ConverseStruct, frozen=True, kw_only=True):
    """Parts of a search result."""

    search_result_index: int | None = None
    """Position of the search result in the request."""
    start: int | None = None
    end: int | None = None


class SearchResultBlock(ConverseStruct, frozen=True, kw_only=True):
    """A result of a search."""

    source: str | None = None
    """Where it came from, such as a URL."""
    title: str | None = None
    content: list[SearchResultContentBlock] | None = None
    citations: CitationsConfig | None = None


class SearchResultContentBlock(ConverseStruct, frozen=True, kw_only=True):
    """A text of a search result."""

    text: str | None = None


class GuardrailConverseContentBlock(ConverseStruct, frozen=True, kw_only=True):
    """Content that the guardrail assesses: an object with one key."""

    text: GuardrailConverseTextBlock | None = None
    image: GuardrailConverseImageBlock | None = None


class GuardrailConverseTextBlock(ConverseStruct, frozen=True, kw_only=True):
    """A text that the guardrail assesses."""

    text: str | None = None
    qualifiers: list[str] | None = None
    """`grounding_source`, `query`, `guard_content`."""


class GuardrailConverseImageBlock(ConverseStruct, frozen=True, kw_only=True):
    """An image that the guardrail assesses."""

    format: str | None = None
    """`png`, `jpeg`."""
    source: GuardrailConverseImageSource | None = None


class GuardrailConverseImageSource(ConverseStruct, frozen=True, kw_only=True):
    """Where the bytes of that image are."""

    bytes: str | None = None
    """Base64."""


class ToolAdditionBlock(ConverseStruct, frozen=True, kw_only=True):
    """A tool that the model may call from here on."""

    tool: ToolReference | None = None


class ToolRemovalBlock(ConverseStruct, frozen=True, kw_only=True):
    """A tool that the model may no longer call."""

    tool: ToolReference | None = None


class ToolReference(ConverseStruct, frozen=True, kw_only=True):
    """A tool of the request."""

    type: str | None = None
    name: str | None = None
    server_name: str | None = None
    """The server of the tool, for tools of MCP servers."""
