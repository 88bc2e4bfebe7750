"""Context caches: the beginning of many requests, stored by the server."""

from __future__ import annotations

from typing import Annotated

from wire.core.facts import SDK, Facts
from wire.gemini.types.base import VERTEX, GeminiStruct
from wire.gemini.types.content import Content
from wire.gemini.types.tools import Tool, ToolConfig


class CachedContent(GeminiStruct, frozen=True, kw_only=True):
    """A cache.

    A request that uses it must not have a system instruction, tools or a tool config of its own
    (G62).
    """

    name: str | None = None
    """`cachedContents/ID`; on Vertex with project and location. Output only."""
    model: str | None = None
    """`models/X`; on Vertex `projects/P/locations/L/publishers/google/models/X`. Cannot be changed
    later.
    """
    display_name: str | None = None
    system_instruction: Content | None = None
    contents: list[Content] | None = None
    tools: list[Tool] | None = None
    tool_config: ToolConfig | None = None
    ttl: str | None = None
    """Duration such as `"300s"`. Input only, excludes `expire_time`. The default is one hour."""
    expire_time: str | None = None
    """Timestamp."""
    create_time: str | None = None
    """Output only. Timestamp."""
    update_time: str | None = None
    """Output only. Timestamp."""
    usage_metadata: CachedContentUsageMetadata | None = None
    """Output only."""


class CachedContentUsageMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Size of a cache."""

    total_token_count: int | None = None
    text_count: Annotated[int | None, Facts(hosts=VERTEX, source=SDK)] = None
    """Number of characters."""
    image_count: Annotated[int | None, Facts(hosts=VERTEX, source=SDK)] = None
    audio_duration_seconds: Annotated[int | None, Facts(hosts=VERTEX, source=SDK)] = None
    video_duration_seconds: Annotated[int | None, Facts(hosts=VERTEX, source=SDK)] = None


class ListCachedContentsResponse(GeminiStruct, frozen=True, kw_only=True):
    """A page of caches, without their contents."""

    cached_contents: list[CachedContent] | None = None
    next_page_token: str | None = None
    """Absent on the last page."""
