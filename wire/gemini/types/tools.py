"""Tools of a request: declarations, built-in tools, their configuration, and the Schema dialect."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.core.facts import SDK, TRAFFIC, Facts
from wire.gemini.types.base import GEMINI, VERTEX, GeminiStruct, OpenEnum

# --- schema ---------------------------------------------------------------------------------------


class Schema(GeminiStruct, frozen=True, kw_only=True):
    """A node of Google's Schema dialect, which is not JSON Schema: the server refuses any keyword
    that is not a field here (G38).
    """

    type: OpenEnum | None = None
    """`SchemaType`. One value, never a list (G39, G40). Required unless `any_of` is set (G48)."""
    format: str | None = None
    """Backends of 2025 accepted only `enum` and `date-time` for STRING (G43)."""
    title: str | None = None
    description: str | None = None
    nullable: bool | None = None
    enum: list[str] | None = None
    """Non-empty texts (G42), on STRING only (G41)."""
    any_of: list[Schema] | None = None
    """Vertex refuses any other keyword beside it (G49)."""
    properties: dict[str, Schema] | None = None
    """On OBJECT only (G47). Old backends refuse `{}` (G44)."""
    required: list[str] | None = None
    """Names that `properties` has (G46)."""
    property_ordering: list[str] | None = None
    """Order in which the model writes the properties. Not a keyword of JSON Schema."""
    min_properties: int | str | None = None
    max_properties: int | str | None = None
    items: Schema | None = None
    """Required on ARRAY (G45)."""
    min_items: int | str | None = None
    max_items: int | str | None = None
    """The sum over the schema must not exceed about 960 (G54)."""
    min_length: int | str | None = None
    max_length: int | str | None = None
    pattern: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    default: Any = msgspec.UNSET
    """The server accepts and ignores it."""
    example: Any = msgspec.UNSET
    """The server reads it on the root only."""
    additional_properties: Annotated[Any, Facts(hosts=VERTEX, source=SDK)] = msgspec.UNSET
    """A boolean or a schema."""
    defs: Annotated[dict[str, Schema] | None, Facts(hosts=VERTEX, source=SDK)] = None
    ref: Annotated[str | None, Facts(hosts=VERTEX, source=SDK)] = None
    """`#/defs/NAME`."""


# --- tools ----------------------------------------------------------------------------------------


class Tool(GeminiStruct, frozen=True, kw_only=True):
    """Tools of a request: functions of the caller, and built-in tools that the server runs.

    2.x refuses built-in tools together with functions (G33). 3.x on the Gemini API requires
    `ToolConfig.include_server_side_tool_invocations` for that (G32).
    """

    function_declarations: list[FunctionDeclaration] | None = None
    """Over all tools, names are unique (G29), and there are at most 512 functions (G30)."""
    google_search: GoogleSearch | None = None
    google_search_retrieval: GoogleSearchRetrieval | None = None
    """For models of the 1.5 generation. Use `google_search`."""
    google_maps: GoogleMaps | None = None
    url_context: UrlContext | None = None
    code_execution: CodeExecution | None = None
    file_search: Annotated[FileSearch | None, Facts(hosts=GEMINI)] = None
    computer_use: ComputerUse | None = None
    mcp_servers: Annotated[list[McpServer] | None, Facts(hosts=GEMINI)] = None
    """MCP servers that Google's side calls."""
    retrieval: Annotated[dict[str, Any] | None, Facts(hosts=VERTEX, source=SDK)] = None
    """`vertexAiSearch`, `vertexRagStore` or `externalApi`, with keys in camelCase."""
    enterprise_web_search: Annotated[
        EnterpriseWebSearch | None, Facts(hosts=VERTEX, source=SDK)
    ] = None
    parallel_ai_search: Annotated[ParallelAiSearch | None, Facts(hosts=VERTEX, source=SDK)] = None
    exa_ai_search: Annotated[ExaAiSearch | None, Facts(hosts=VERTEX, source=SDK)] = None


class FunctionDeclaration(GeminiStruct, frozen=True, kw_only=True):
    """A function that the model may call. Its parameters are in one of two dialects (G37)."""

    name: str | None = None
    """All models accept a letter or `_`, then letters, digits, `_`, `-`; 64 characters in all
    (G28).
    """
    description: str | None = None
    """Required by the reference; the server accepts requests without it."""
    parameters: Schema | None = None
    """In Google's Schema dialect. The root must be an OBJECT in mode ANY and on Vertex (G50)."""
    parameters_json_schema: Any = msgspec.UNSET
    """JSON Schema."""
    response: Schema | None = None
    response_json_schema: Any = msgspec.UNSET
    """JSON Schema; excludes `response`."""
    behavior: OpenEnum | None = None
    """`Behavior`; Live API only."""


class GoogleSearch(GeminiStruct, frozen=True, kw_only=True):
    """Google Search as a tool. No option is required."""

    search_types: SearchTypes | None = None
    time_range_filter: Interval | None = None
    blocking_confidence: Annotated[OpenEnum | None, Facts(hosts=VERTEX, source=SDK)] = None
    """`PhishBlockThreshold`."""
    exclude_domains: Annotated[list[str] | None, Facts(hosts=VERTEX, source=SDK)] = None
    """At most 2,000 by default."""


class SearchTypes(GeminiStruct, frozen=True, kw_only=True):
    """The kinds of search to run; an empty struct turns a kind on."""

    web_search: WebSearch | None = None
    image_search: ImageSearch | None = None


class WebSearch(GeminiStruct, frozen=True, kw_only=True):
    """Web search; has no options."""


class ImageSearch(GeminiStruct, frozen=True, kw_only=True):
    """Image search; has no options."""


class Interval(GeminiStruct, frozen=True, kw_only=True):
    """A span of time that includes its start and excludes its end."""

    start_time: str | None = None
    """Timestamp."""
    end_time: str | None = None
    """Timestamp."""


class GoogleSearchRetrieval(GeminiStruct, frozen=True, kw_only=True):
    """Google Search for models of the 1.5 generation."""

    dynamic_retrieval_config: DynamicRetrievalConfig | None = None


class DynamicRetrievalConfig(GeminiStruct, frozen=True, kw_only=True):
    """When to search."""

    mode: OpenEnum | None = None
    """`DynamicRetrievalMode`."""
    dynamic_threshold: float | None = None


class GoogleMaps(GeminiStruct, frozen=True, kw_only=True):
    """Google Maps as a tool."""

    enable_widget: bool | None = None
    auth_config: Annotated[dict[str, Any] | None, Facts(source=SDK)] = None
    """A secret, with keys in camelCase. The Gemini API accepts `apiKey` only."""
    grounding_types: Annotated[GoogleMapsGroundingTypes | None, Facts(hosts=VERTEX, source=SDK)] = (
        None
    )


class GoogleMapsGroundingTypes(GeminiStruct, frozen=True, kw_only=True):
    """The kinds of data to look up in Google Maps; the default is places only."""

    places: GoogleMapsPlaces | None = None
    routing: GoogleMapsRouting | None = None


class GoogleMapsPlaces(GeminiStruct, frozen=True, kw_only=True):
    """Places; has no options."""


class GoogleMapsRouting(GeminiStruct, frozen=True, kw_only=True):
    """Routes; has no options."""


class UrlContext(GeminiStruct, frozen=True, kw_only=True):
    """The server reads the URLs of the prompt; has no options."""


class CodeExecution(GeminiStruct, frozen=True, kw_only=True):
    """The server runs code of the model; has no options."""


class FileSearch(GeminiStruct, frozen=True, kw_only=True):
    """Search in file search stores."""

    file_search_store_names: list[str] | None = None
    """`fileSearchStores/ID`. The API requires at least one."""
    metadata_filter: str | None = None
    """A filter in the syntax of AIP-160."""
    top_k: int | None = None
    """Number of chunks to retrieve."""


class ComputerUse(GeminiStruct, frozen=True, kw_only=True):
    """Predefined functions that operate a screen. The caller runs them."""

    environment: OpenEnum | None = None
    """`ComputerEnvironment`. The API requires it."""
    excluded_predefined_functions: list[str] | None = None
    disabled_safety_policies: Annotated[list[OpenEnum] | None, Facts(since="2026-06-23")] = None
    """`ComputerSafetyPolicy`."""
    enable_prompt_injection_detection: Annotated[bool | None, Facts(since="2026-06-15")] = None


class McpServer(GeminiStruct, frozen=True, kw_only=True):
    """An MCP server that Google's side calls."""

    name: str | None = None
    streamable_http_transport: StreamableHttpTransport | None = None


class StreamableHttpTransport(GeminiStruct, frozen=True, kw_only=True):
    """Address and options of an MCP server."""

    url: str | None = None
    headers: dict[str, str] | None = None
    """They are sent to Google, credentials included."""
    timeout: str | None = None
    """Duration."""
    sse_read_timeout: str | None = None
    """Duration."""
    terminate_on_close: bool | None = None


class EnterpriseWebSearch(GeminiStruct, frozen=True, kw_only=True):
    """Web search for customers in regulated industries."""

    blocking_confidence: OpenEnum | None = None
    """`PhishBlockThreshold`."""
    exclude_domains: list[str] | None = None
    """At most 2,000 by default."""


class ParallelAiSearch(GeminiStruct, frozen=True, kw_only=True):
    """Search by Parallel.ai."""

    api_key: str | None = None
    """A secret. Without it the server uses the project's subscription of Google Cloud Marketplace.
    """
    custom_configs: dict[str, Any] | None = None
    """Search parameters of Parallel.ai."""
    enable_data_retention: bool | None = None
    """Deprecated; use `enable_zero_data_retention`."""
    enable_zero_data_retention: bool | None = None


class ExaAiSearch(GeminiStruct, frozen=True, kw_only=True):
    """Search by Exa.ai."""

    api_key: str | None = None
    """A secret. Required."""
    custom_configs: dict[str, Any] | None = None
    """Search parameters of Exa.ai."""


class ToolConfig(GeminiStruct, frozen=True, kw_only=True):
    """Options of all tools."""

    function_calling_config: FunctionCallingConfig | None = None
    """Only together with function declarations (G31)."""
    retrieval_config: RetrievalConfig | None = None
    include_server_side_tool_invocations: Annotated[bool | None, Facts(hosts=GEMINI)] = None
    """The response then has built-in tools as `tool_call` parts. Required for built-in tools
    together with functions on Gemini 3 and later (G32); 2.5 refuses it (G34).
    """


class FunctionCallingConfig(GeminiStruct, frozen=True, kw_only=True):
    """Whether the model may or must call functions, and which."""

    mode: OpenEnum | None = None
    """`FunctionCallingMode`; the default is AUTO."""
    allowed_function_names: list[str] | None = None
    """Only in mode ANY or VALIDATED (G35)."""
    stream_function_call_arguments: Annotated[bool | None, Facts(hosts=VERTEX, source=TRAFFIC)] = (
        None
    )
    """Streams send arguments in pieces; see `FunctionCall`."""


class RetrievalConfig(GeminiStruct, frozen=True, kw_only=True):
    """Location and language of the user, for Search and Maps."""

    lat_lng: LatLng | None = None
    language_code: str | None = None
    """BCP 47."""


class LatLng(GeminiStruct, frozen=True, kw_only=True):
    """A position on Earth, in degrees."""

    latitude: float | None = None
    """-90 to 90."""
    longitude: float | None = None
    """-180 to 180."""
