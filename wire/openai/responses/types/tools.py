"""Tools of a request, and whether the model must call one."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.core.facts import DOCS, SDK, TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIStruct


class Tool(OpenAIStruct, frozen=True, kw_only=True):
    """A tool of any type: `type`, and the fields of that type."""

    type: str | None = None
    """`function`, `custom`, `namespace`, `tool_search`, `programmatic_tool_calling`. Run by the
    server: `web_search`, `web_search_2025_08_26`, `web_search_preview`,
    `web_search_preview_2025_03_11`, `file_search`, `code_interpreter`, `image_generation`, `mcp`.
    Run by the caller: `local_shell`, `shell`, `apply_patch`, `computer`, `computer_use_preview`.
    Hosts add their own, such as xAI's `x_search`. Absent in `mcp_list_tools`.
    """
    name: str | None = None
    """In `function`, `custom`, `namespace`."""
    description: str | None = None
    """In `function`, `custom`, `namespace`, `tool_search`."""
    parameters: dict[str, Any] | None = None
    """In `function` and `tool_search`: JSON Schema of an object."""
    strict: bool | None = None
    """In `function`: arguments then fit the schema exactly. Absent means true if the schema allows
    it.
    """
    output_schema: dict[str, Any] | None = None
    """In `function`: JSON Schema of the output."""
    defer_loading: bool | None = None
    """In `function`, `custom`, `mcp`: the model sees the tool only after a tool search found it."""
    allowed_callers: list[str] | None = None
    """`direct`, `programmatic`."""
    async_: Annotated[bool | None, Facts(source=SDK)] = msgspec.field(name="async", default=None)
    """In `function` and `custom`."""
    format: CustomFormat | None = None
    """In `custom`."""
    tools: list[Tool] | None = None
    """In `namespace`: functions and custom tools."""
    execution: str | None = None
    """In `tool_search`: `server`, `client`."""

    # --- search
    filters: Filter | None = None
    """In `file_search` and `web_search`."""
    user_location: UserLocation | None = None
    """In `web_search`."""
    search_context_size: str | None = None
    """In `web_search`: `low`, `medium`, `high`."""
    search_content_types: list[str] | None = None
    """In `web_search`: `text`, `image`."""
    external_web_access: bool | None = None
    """In `web_search`: false restricts the search to pages that OpenAI has stored."""
    return_token_budget: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """In `web_search`."""
    allowed_x_handles: Annotated[list[str] | None, Facts(hosts=("xai",), source=DOCS)] = None
    """In `x_search`, as the next four. Not together with `excluded_x_handles`."""
    excluded_x_handles: Annotated[list[str] | None, Facts(hosts=("xai",), source=DOCS)] = None
    from_date: Annotated[str | None, Facts(hosts=("xai",), source=DOCS)] = None
    """`YYYY-MM-DD`, as `to_date`."""
    to_date: Annotated[str | None, Facts(hosts=("xai",), source=DOCS)] = None
    enable_video_understanding: Annotated[bool | None, Facts(hosts=("xai",), source=DOCS)] = None
    enable_image_understanding: Annotated[bool | None, Facts(hosts=("xai",), source=DOCS)] = None
    """In `x_search` and `web_search`."""
    vector_store_ids: list[str] | None = None
    """In `file_search`, as the next two."""
    max_num_results: int | None = None
    ranking_options: RankingOptions | None = None

    # --- code, shell, computer
    container: str | Environment | None = None
    """In `code_interpreter`: the id of a container, or an object of type `auto`."""
    environment: str | Environment | None = None
    """In `shell`. A text in `computer_use_preview`: `windows`, `mac`, `linux`, `ubuntu`, `browser`.
    """
    display_width: int | None = None
    """In `computer_use_preview`, in pixels."""
    display_height: int | None = None

    # --- images
    model: str | None = None
    """In `image_generation`, as all up to `svg`."""
    action: str | None = None
    """`generate`, `edit`, `auto`."""
    quality: str | None = None
    """`low`, `medium`, `high`, `auto`."""
    size: str | None = None
    """`1024x1024`, `1024x1536`, `1536x1024`, `auto`."""
    output_format: str | None = None
    """`png`, `webp`, `jpeg`."""
    output_compression: int | None = None
    """0 to 100."""
    moderation: str | None = None
    """`auto`, `low`."""
    background: str | None = None
    """`transparent`, `opaque`, `auto`."""
    input_fidelity: str | None = None
    """`high`, `low`."""
    input_image_mask: ImageMask | None = None
    partial_images: int | None = None
    """0 to 3: number of unfinished images in a stream."""
    n: Annotated[int | None, Facts(source=TRAFFIC)] = None
    complexity: Annotated[str | None, Facts(source=SDK)] = None
    """`low`, `medium`, `high`."""
    frame_count: Annotated[int | None, Facts(source=SDK)] = None
    frame_duration_ms: Annotated[int | None, Facts(source=SDK)] = None
    svg: Annotated[dict[str, Any] | None, Facts(source=SDK)] = None

    # --- MCP
    server_label: str | None = None
    """In `mcp`, as all up to `require_approval`: a name for the server."""
    server_url: str | None = None
    """One of `server_url`, `connector_id` and `tunnel_id` is required."""
    connector_id: str | None = None
    """`connector_gmail` and others."""
    tunnel_id: str | None = None
    server_description: str | None = None
    authorization: str | None = None
    """An access token."""
    headers: dict[str, str] | None = None
    allowed_tools: list[str] | ToolFilter | None = None
    require_approval: str | RequiredApproval | None = None
    """`always`, `never`."""
    input_schema: dict[str, Any] | None = None
    """In `mcp_list_tools`: JSON Schema of the arguments."""
    annotations: dict[str, Any] | None = None
    """In `mcp_list_tools`."""


class CustomFormat(OpenAIStruct, frozen=True, kw_only=True):
    """Form of the input of a custom tool."""

    type: str | None = None
    """`text`, `grammar`."""
    syntax: str | None = None
    """In `grammar`: `lark`, `regex`."""
    definition: str | None = None
    """In `grammar`."""


class Filter(OpenAIStruct, frozen=True, kw_only=True):
    """Which files or pages a search considers."""

    type: str | None = None
    """In `file_search`: `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `nin`, or `and`, `or`."""
    key: str | None = None
    """The attribute of the file to compare."""
    value: str | float | bool | list[str | float] | None = None
    filters: list[Filter] | None = None
    """In `and` and `or`."""
    allowed_domains: list[str] | None = None
    """In `web_search`."""
    excluded_domains: Annotated[list[str] | None, Facts(hosts=("xai",), source=DOCS)] = None
    """In `web_search`. Not together with `allowed_domains`."""


class UserLocation(OpenAIStruct, frozen=True, kw_only=True):
    """Approximate location of the user."""

    type: str | None = None
    """`approximate`."""
    city: str | None = None
    country: str | None = None
    """Two letters (ISO 3166)."""
    region: str | None = None
    timezone: str | None = None
    """Name of the IANA database."""


class RankingOptions(OpenAIStruct, frozen=True, kw_only=True):
    """How a file search ranks its results."""

    ranker: str | None = None
    """`auto`, `default-2024-11-15`."""
    score_threshold: float | None = None
    """0 to 1."""
    hybrid_search: HybridSearch | None = None


class HybridSearch(OpenAIStruct, frozen=True, kw_only=True):
    """Weights of the two kinds of search."""

    embedding_weight: float | None = None
    text_weight: float | None = None


class ImageMask(OpenAIStruct, frozen=True, kw_only=True):
    """The area of an image to change."""

    image_url: str | None = None
    """A data URL."""
    file_id: str | None = None


class ToolFilter(OpenAIStruct, frozen=True, kw_only=True):
    """Tools of an MCP server."""

    tool_names: list[str] | None = None
    read_only: bool | None = None


class RequiredApproval(OpenAIStruct, frozen=True, kw_only=True):
    """Which tools of an MCP server the caller must approve before each call."""

    always: ToolFilter | None = None
    never: ToolFilter | None = None


# --- where code runs ------------------------------------------------------------------------------


class Environment(OpenAIStruct, frozen=True, kw_only=True):
    """Where code or a shell runs."""

    type: str | None = None
    """`auto` for the code interpreter; `container_auto`, `container_reference`, `local` for a
    shell.
    """
    container_id: str | None = None
    """In `container_reference`."""
    file_ids: list[str] | None = None
    """In `auto` and `container_auto`, as the next two: files of the account to copy."""
    memory_limit: str | None = None
    """`1g`, `4g`, `16g`, `64g`."""
    network_policy: NetworkPolicy | None = None
    skills: list[Skill] | None = None
    """In `container_auto` and `local`."""


class NetworkPolicy(OpenAIStruct, frozen=True, kw_only=True):
    """The network access of a container."""

    type: str | None = None
    """`disabled`, `allowlist`."""
    allowed_domains: list[str] | None = None
    domain_secrets: list[DomainSecret] | None = None


class DomainSecret(OpenAIStruct, frozen=True, kw_only=True):
    """A secret that is added to requests to one domain. The code does not see its value."""

    domain: str | None = None
    name: str | None = None
    value: str | None = None


class Skill(OpenAIStruct, frozen=True, kw_only=True):
    """Instructions and files for one kind of work.

    A skill of the account has `skill_id`, an inline one `source`, a local one `path`.
    """

    type: str | None = None
    """`skill_reference`, `inline`; a local one has none."""
    skill_id: str | None = None
    version: str | None = None
    name: str | None = None
    description: str | None = None
    source: SkillSource | None = None
    path: str | None = None


class SkillSource(OpenAIStruct, frozen=True, kw_only=True):
    """The files of an inline skill."""

    type: str | None = None
    """`base64`."""
    media_type: str | None = None
    """`application/zip`."""
    data: str | None = None


# --- choice ---------------------------------------------------------------------------------------


class ToolChoice(OpenAIStruct, frozen=True, kw_only=True):
    """The tool to call, or the tools that the model may call."""

    type: str | None = None
    """`function`, `custom`, `mcp`, `allowed_tools`, or the type of a hosted tool."""
    name: str | None = None
    """In `function`, `custom`, `mcp`."""
    server_label: str | None = None
    """In `mcp`."""
    mode: str | None = None
    """In `allowed_tools`: `auto`, `required`."""
    tools: list[dict[str, Any]] | None = None
    """In `allowed_tools`. Each in the form of a `ToolChoice`."""
