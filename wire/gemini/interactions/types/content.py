"""What steps are made of: texts, media, and the sources of texts."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import TRAFFIC, Facts
from wire.gemini.interactions.types.base import InteractionsStruct


class Content(InteractionsStruct, frozen=True, kw_only=True):
    """A text or media. `type` names the kind."""

    remembers = True

    type: str | None = None
    """`text`, `image`, `audio`, `document`, `video`."""
    text: str | None = None
    annotations: list[Annotation] | None = None
    """The sources of the text."""

    # --- media
    data: Annotated[str | None, Facts(base64=True)] = None
    uri: str | None = None
    """Of the Files API, of Cloud Storage, or of YouTube."""
    mime_type: str | None = None
    resolution: str | None = None
    """Of images and videos: `low`, `medium`, `high`, `ultra_high`."""
    processing: str | MediaProcessing | None = None
    """Of audio, documents and videos: `static`, of videos also `agentic`."""
    channels: int | None = None
    """Of audio."""
    sample_rate: int | None = None
    """Of audio."""
    name: str | None = None
    """Of a video."""

    # --- beyond the reference
    call_id: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Of a `function_result` among the contents of the user; a step of its own is its place."""
    result: Annotated[Any, Facts(source=TRAFFIC)] = None
    """As `call_id`."""
    is_error: Annotated[bool | None, Facts(source=TRAFFIC)] = None
    """As `call_id`."""


class Annotation(InteractionsStruct, frozen=True, kw_only=True):
    """The source of a text, or a fact about it. `type` names the kind."""

    type: str | None = None
    """`url_citation`, `file_citation`, `place_citation`, `word_info`, `speech_metadata`."""
    start_index: int | None = None
    """In bytes of UTF-8."""
    end_index: int | None = None
    """In bytes of UTF-8, exclusive."""
    url: str | None = None
    title: str | None = None

    # --- of a file
    document_uri: str | None = None
    file_name: str | None = None
    source: str | None = None
    page_number: int | None = None
    media_id: str | None = None
    custom_metadata: dict[str, Any] | None = None

    # --- of a place
    name: str | None = None
    place_id: str | None = None
    review_snippets: list[ReviewSnippet] | None = None

    # --- of speech
    text: str | None = None
    speaker: str | None = None
    style: str | None = None
    start_offset: str | None = None
    """A duration, such as `1.5s`."""
    end_offset: str | None = None


class ReviewSnippet(InteractionsStruct, frozen=True, kw_only=True):
    """A review of a place."""

    review_id: str | None = None
    title: str | None = None
    url: str | None = None


class MediaProcessing(InteractionsStruct, frozen=True, kw_only=True):
    """How media are read. `type` is `static`."""

    type: str | None = None
    start_offset: str | None = None
    """A duration, such as `10.5s`."""
    end_offset: str | None = None
    fps: float | None = None
    content_layers: list[str] | None = None
    """Of videos: `frames`, `audio`, `transcript`."""
    page_options: PageProcessingOptions | None = None
    spreadsheet_options: SpreadsheetProcessingOptions | None = None


class PageProcessingOptions(InteractionsStruct, frozen=True, kw_only=True):
    """Which pages of a document are read, and how."""

    start_page: int | None = None
    end_page: int | None = None
    content_layers: list[str] | None = None
    """`page_image`, `page_text`."""


class SpreadsheetProcessingOptions(InteractionsStruct, frozen=True, kw_only=True):
    """What of a spreadsheet is read."""

    sheet_index: int | None = None
    visible_cells: str | None = None
    content_layers: list[str] | None = None
    """`visual`, `data`, `formulas`."""
