"""Tools that a model may use."""

from __future__ import annotations

from typing import Any

from wire.gemini.interactions.types.base import InteractionsRequestStruct


class Tool(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A function, or a tool that the server runs. `type` names the kind."""

    type: str | None = None
    """`function`, `google_search`, `code_execution`, `url_context`, `google_maps`, `file_search`,
    `computer_use`, `mcp_server`, `retrieval`, `tool_search`.
    """
    name: str | None = None
    """Of a function, of an MCP server, of `tool_search`."""
    description: str | None = None
    short_description: str | None = None
    parameters: Any = None
    """JSON Schema. The server ignores what it does not know of it."""
    defer_loading: bool | None = None
    """The function is loaded when `tool_search` finds it."""

    # --- google_search, google_maps
    search_types: list[str] | None = None
    """`web_search`, `image_search`, `enterprise_web_search`."""
    latitude: float | None = None
    longitude: float | None = None
    enable_widget: bool | None = None

    # --- file_search
    file_search_store_names: list[str] | None = None
    top_k: int | None = None
    metadata_filter: str | None = None

    # --- computer_use
    environment: str | None = None
    """`browser`, `mobile`, `desktop`."""
    excluded_predefined_functions: list[str] | None = None
    disabled_safety_policies: list[str] | None = None
    enable_prompt_injection_detection: bool | None = None

    # --- mcp_server
    url: str | None = None
    headers: dict[str, str] | None = None
    allowed_tools: list[AllowedTools] | None = None

    # --- retrieval
    retrieval_types: list[str] | None = None
    """`vertex_ai_search`, `rag_store`, `exa_ai_search`, `parallel_ai_search`."""
    vertex_ai_search_config: VertexAISearchConfig | None = None
    rag_store_config: RagStoreConfig | None = None
    exa_ai_search_config: ExaAISearchConfig | None = None
    parallel_ai_search_config: ParallelAISearchConfig | None = None

    # --- tool_search
    execution: str | None = None
    """`server`, `client`."""


class AllowedTools(InteractionsRequestStruct, frozen=True, kw_only=True):
    """The tools that the model may call."""

    mode: str | None = None
    """`auto`, `any`, `none`, `validated`."""
    tools: list[str] | None = None


class ToolChoice(InteractionsRequestStruct, frozen=True, kw_only=True):
    """Limits the choice of functions to some of them."""

    allowed_tools: AllowedTools | None = None


class VertexAISearchConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """What Vertex AI Search searches."""

    engine: str | None = None
    datastores: list[str] | None = None


class ExaAISearchConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A search by Exa."""

    api_key: str | None = None
    custom_config: dict[str, Any] | None = None


class ParallelAISearchConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A search by Parallel."""

    api_key: str | None = None
    custom_config: dict[str, Any] | None = None


class RagStoreConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """Corpora of the RAG engine."""

    rag_resources: list[RagResource] | None = None
    rag_retrieval_config: RagRetrievalConfig | None = None
    similarity_top_k: int | None = None
    """Deprecated."""
    vector_distance_threshold: float | None = None
    """Deprecated."""


class RagResource(InteractionsRequestStruct, frozen=True, kw_only=True):
    """A corpus, or files of it."""

    rag_corpus: str | None = None
    rag_file_ids: list[str] | None = None


class RagRetrievalConfig(InteractionsRequestStruct, frozen=True, kw_only=True):
    """How a corpus is searched."""

    top_k: int | None = None
    filter: RagFilter | None = None
    hybrid_search: HybridSearch | None = None
    ranking: Ranking | None = None


class RagFilter(InteractionsRequestStruct, frozen=True, kw_only=True):
    """What a search leaves out."""

    metadata_filter: str | None = None
    vector_distance_threshold: float | None = None
    vector_similarity_threshold: float | None = None


class HybridSearch(InteractionsRequestStruct, frozen=True, kw_only=True):
    """The weight of vectors against words."""

    alpha: float | None = None


class Ranking(InteractionsRequestStruct, frozen=True, kw_only=True):
    """How results are ranked."""

    ranking_config: str | None = None
    """`rank_service`."""
    model_name: str | None = None
    rank_service: RankService | None = None


class RankService(InteractionsRequestStruct, frozen=True, kw_only=True):
    """The service that ranks."""

    model_name: str | None = None
