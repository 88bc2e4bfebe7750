"""Context caches: the beginning of many requests, kept by the server."""

from __future__ import annotations

from wire.gemini.types.base import GeminiStruct
from wire.gemini.types.content import Content
from wire.gemini.types.tools import Tool, ToolConfig


class CachedContent(GeminiStruct, frozen=True, kw_only=True):
    """A cache.

    A request that names it must not set system instruction, tools or tool config itself (G62).
    """

    name: str | None = None
    """Output only. `cachedContents/ID`; on Vertex with its project and location."""
    model: str | None = None
    """`models/X`, never changed later; on Vertex
    `projects/P/locations/L/publishers/google/models/X`.
    """
    display_name: str | None = None
    system_instruction: Content | None = None
    contents: list[Content] | None = None
    tools: list[Tool] | None = None
    tool_config: ToolConfig | None = None
    ttl: str | None = None
    """Input only, excludes `expire_time`. Duration, `"300s"`; an hour if neither is given."""
    expire_time: str | None = None
    """Timestamp."""
    create_time: str | None = None
    """Output only. Timestamp."""
    update_time: str | None = None
    """Output only. Timestamp."""
    usage_metadata: CachedContentUsageMetadata | None = None
    """Output only."""


class CachedContentUsageMetadata(GeminiStruct, frozen=True, kw_only=True):
    """What a cache holds."""

    total_token_count: int | None = None
    text_count: int | None = None
    """Vertex only. Letters."""
    image_count: int | None = None
    """Vertex only."""
    audio_duration_seconds: int | None = None
    """Vertex only."""
    video_duration_seconds: int | None = None
    """Vertex only."""


class ListCachedContentsResponse(GeminiStruct, frozen=True, kw_only=True):
    """A page of caches; what they hold is not told."""

    cached_contents: list[CachedContent] | None = None
    next_page_token: str | None = None
    """Absent on the last page."""
