"""What the model may use: declarations, built-in tools, their configuration, and the Schema
dialect.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wire.gemini.types.base import GeminiStruct, OpenEnum

# --- schema ---------------------------------------------------------------------------------------


class Schema(GeminiStruct, frozen=True, kw_only=True):
    """A node of Google's own schema dialect, not JSON Schema: any keyword that is no field here is
    refused (G38).
    """

    type: OpenEnum | None = None
    """`SchemaType`, one value, never a list (G39, G40). Needed unless `any_of` is there (G48)."""
    format: str | None = None
    """2025 backends took only `enum` and `date-time` for STRING (G43)."""
    title: str | None = None
    description: str | None = None
    nullable: bool | None = None
    enum: list[str] | None = None
    """Text only, on STRING only (G41), none empty (G42)."""
    any_of: list[Schema] | None = None
    """On Vertex nothing may stand beside it (G49)."""
    properties: dict[str, Schema] | None = None
    """Only on OBJECT (G47); old backends refuse `{}` (G44)."""
    required: list[str] | None = None
    """Names of `properties` (G46)."""
    property_ordering: list[str] | None = None
    """Order in which the model writes the properties; not of JSON Schema."""
    min_properties: int | str | None = None
    max_properties: int | str | None = None
    items: Schema | None = None
    """Needed on ARRAY (G45)."""
    min_items: int | str | None = None
    max_items: int | str | None = None
    """Counts against a limit of about 960 over the schema (G54)."""
    min_length: int | str | None = None
    max_length: int | str | None = None
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    default: Any = msgspec.UNSET
    """Accepted and ignored."""
    example: Any = msgspec.UNSET
    """Only read on the root."""
    additional_properties: Any = msgspec.UNSET
    """Vertex only: a boolean or a schema."""
    defs: dict[str, Schema] | None = None
    """Vertex only."""
    ref: str | None = None
    """Vertex only: `#/defs/NAME`."""


# --- tools ----------------------------------------------------------------------------------------


class Tool(GeminiStruct, frozen=True, kw_only=True):
    """Tools of a request: functions of the caller, or a built-in tool that the server runs.

    Built-in tools beside functions: refused on 2.x (G33); 3.x on the Gemini API wants
    `ToolConfig.include_server_side_tool_invocations` (G32).
    """

    function_declarations: list[FunctionDeclaration] | None = None
    """Over all tools: names unique (G29), at most 512 (G30)."""
    google_search: GoogleSearch | None = None
    google_search_retrieval: GoogleSearchRetrieval | None = None
    """Of the 1.5 time; use `google_search`."""
    google_maps: GoogleMaps | None = None
    url_context: UrlContext | None = None
    code_execution: CodeExecution | None = None
    file_search: FileSearch | None = None
    computer_use: ComputerUse | None = None
    mcp_servers: list[McpServer] | None = None
    """MCP servers that Google's side calls."""
    retrieval: dict[str, Any] | None = None
    """Vertex only: `vertexAiSearch`, `vertexRagStore` or `externalApi`, in wire spelling."""
    enterprise_web_search: EnterpriseWebSearch | None = None
    """Vertex only."""
    parallel_ai_search: ParallelAiSearch | None = None
    """Vertex only."""
    exa_ai_search: ExaAiSearch | None = None
    """Vertex only."""


class FunctionDeclaration(GeminiStruct, frozen=True, kw_only=True):
    """A function that the model may call. Parameters go in one of two dialects (G37)."""

    name: str | None = None
    """Safe for all models: a letter or `_`, then letters, digits, `_`, `-`, 64 characters in all
    (G28).
    """
    description: str | None = None
    """Marked required in the snapshot; requests without it pass."""
    parameters: Schema | None = None
    """Schema dialect. The root must be an OBJECT in mode ANY and on Vertex (G50)."""
    parameters_json_schema: Any = msgspec.UNSET
    """JSON Schema."""
    response: Schema | None = None
    response_json_schema: Any = msgspec.UNSET
    """JSON Schema; excludes `response`."""
    behavior: OpenEnum | None = None
    """`Behavior`; Live API only."""


class GoogleSearch(GeminiStruct, frozen=True, kw_only=True):
    """Google search as a tool; needs no settings."""

    search_types: SearchTypes | None = None
    time_range_filter: Interval | None = None
    blocking_confidence: OpenEnum | None = None
    """`PhishBlockThreshold`. Vertex only."""
    exclude_domains: list[str] | None = None
    """Vertex only."""


class SearchTypes(GeminiStruct, frozen=True, kw_only=True):
    """Kinds of search to run; set one to an empty struct to ask for it."""

    web_search: WebSearch | None = None
    image_search: ImageSearch | None = None


class WebSearch(GeminiStruct, frozen=True, kw_only=True):
    """Web search, no settings."""


class ImageSearch(GeminiStruct, frozen=True, kw_only=True):
    """Image search, no settings."""


class Interval(GeminiStruct, frozen=True, kw_only=True):
    """A span of time, start included and end not."""

    start_time: str | None = None
    """Timestamp."""
    end_time: str | None = None
    """Timestamp."""


class GoogleSearchRetrieval(GeminiStruct, frozen=True, kw_only=True):
    """Google search of the 1.5 time."""

    dynamic_retrieval_config: DynamicRetrievalConfig | None = None


class DynamicRetrievalConfig(GeminiStruct, frozen=True, kw_only=True):
    """When to search."""

    mode: OpenEnum | None = None
    """`DynamicRetrievalMode`."""
    dynamic_threshold: float | None = None


class GoogleMaps(GeminiStruct, frozen=True, kw_only=True):
    """Google Maps as a tool."""

    enable_widget: bool | None = None
    auth_config: dict[str, Any] | None = None
    """google-genai 3.3.0 only, in wire spelling; the Gemini API takes `apiKey` alone, the other
    members are of Vertex. A secret.
    """
    grounding_types: GoogleMapsGroundingTypes | None = None
    """Vertex only."""


class GoogleMapsGroundingTypes(GeminiStruct, frozen=True, kw_only=True):
    """What to ask of Maps; places alone by default. Vertex only."""

    places: GoogleMapsPlaces | None = None
    routing: GoogleMapsRouting | None = None


class GoogleMapsPlaces(GeminiStruct, frozen=True, kw_only=True):
    """Places, no settings. Vertex only."""


class GoogleMapsRouting(GeminiStruct, frozen=True, kw_only=True):
    """Routes, no settings. Vertex only."""


class UrlContext(GeminiStruct, frozen=True, kw_only=True):
    """Reading the URLs of the prompt, no settings."""


class CodeExecution(GeminiStruct, frozen=True, kw_only=True):
    """Running code on the server, no settings."""


class FileSearch(GeminiStruct, frozen=True, kw_only=True):
    """Search in file search stores."""

    file_search_store_names: list[str] | None = None
    """`fileSearchStores/ID`; the API needs at least one."""
    metadata_filter: str | None = None
    """AIP-160 filter."""
    top_k: int | None = None


class ComputerUse(GeminiStruct, frozen=True, kw_only=True):
    """Predefined functions that drive a screen; the caller runs them."""

    environment: OpenEnum | None = None
    """`ComputerEnvironment`; the API needs it."""
    excluded_predefined_functions: list[str] | None = None
    disabled_safety_policies: list[OpenEnum] | None = None
    """`ComputerSafetyPolicy`, since 2026-06-23."""
    enable_prompt_injection_detection: bool | None = None
    """Since 2026-06-15."""


class McpServer(GeminiStruct, frozen=True, kw_only=True):
    """An MCP server for Google's side to call."""

    name: str | None = None
    streamable_http_transport: StreamableHttpTransport | None = None


class StreamableHttpTransport(GeminiStruct, frozen=True, kw_only=True):
    """How to reach an MCP server."""

    url: str | None = None
    headers: dict[str, str] | None = None
    """May hold credentials: they go to Google."""
    timeout: str | None = None
    """Duration."""
    sse_read_timeout: str | None = None
    """Duration."""
    terminate_on_close: bool | None = None


class EnterpriseWebSearch(GeminiStruct, frozen=True, kw_only=True):
    """Web search for regulated users. Vertex only."""

    blocking_confidence: OpenEnum | None = None
    """`PhishBlockThreshold`."""
    exclude_domains: list[str] | None = None
    """At most 2,000 by default."""


class ParallelAiSearch(GeminiStruct, frozen=True, kw_only=True):
    """Search by Parallel.ai. Vertex only."""

    api_key: str | None = None
    """A secret. Without it a Marketplace subscription is looked for."""
    custom_configs: dict[str, Any] | None = None
    """Parallel.ai's own search parameters."""
    enable_data_retention: bool | None = None
    """Deprecated in favour of the next."""
    enable_zero_data_retention: bool | None = None


class ExaAiSearch(GeminiStruct, frozen=True, kw_only=True):
    """Search by Exa.ai. Vertex only."""

    api_key: str | None = None
    """A secret; needed."""
    custom_configs: dict[str, Any] | None = None
    """Exa.ai's own search parameters."""


class ToolConfig(GeminiStruct, frozen=True, kw_only=True):
    """How tools are used."""

    function_calling_config: FunctionCallingConfig | None = None
    """Only with function declarations (G31)."""
    retrieval_config: RetrievalConfig | None = None
    include_server_side_tool_invocations: bool | None = None
    """Gemini 3 on: show built-in tools as `tool_call` parts; needed beside functions (G32). 400 on
    2.5 (G34), unknown to Vertex.
    """


class FunctionCallingConfig(GeminiStruct, frozen=True, kw_only=True):
    """Whether and what the model calls."""

    mode: OpenEnum | None = None
    """`FunctionCallingMode`, AUTO by default."""
    allowed_function_names: list[str] | None = None
    """Only in mode ANY or VALIDATED (G35)."""
    stream_function_call_arguments: bool | None = None
    """Vertex only; see `FunctionCall`."""


class RetrievalConfig(GeminiStruct, frozen=True, kw_only=True):
    """Where the user is, for search and Maps."""

    lat_lng: LatLng | None = None
    language_code: str | None = None
    """BCP 47."""


class LatLng(GeminiStruct, frozen=True, kw_only=True):
    """A place on earth, in degrees."""

    latitude: float | None = None
    """-90 to 90."""
    longitude: float | None = None
    """-180 to 180."""
