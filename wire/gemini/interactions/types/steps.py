"""Steps: what the user, the model, functions and the server's tools did, one after another."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import TRAFFIC, Facts
from wire.gemini.interactions.types.base import InteractionsStruct
from wire.gemini.interactions.types.content import Annotation, Content, MediaProcessing


class Step(InteractionsStruct, frozen=True, kw_only=True):
    """One step of an interaction. `type` names the kind, which has some of these fields.

    A step may lack any field, also a required one: streams fill it in later.
    """

    remembers = True

    type: str | None = None
    """`user_input`, `model_output`, `thought`, `function_call`, `function_result`, and calls and
    results of the server's tools: `google_search`, `code_execution`, `url_context`, `google_maps`,
    `file_search`, `retrieval`, `mcp_server_tool`, `tool_search`, `processing`, each with `_call`
    or `_result`.
    """
    content: list[Content] | None = None
    """Of `user_input` and `model_output`."""
    error: StepError | None = None
    """Of `model_output`."""
    summary: list[Content] | None = None
    """Of `thought`: texts and images."""
    signature: Annotated[str | None, Facts(base64=True)] = None
    """Of `thought` and of the server's tools. The server refuses one that was changed or moved."""

    # --- calls
    id: str | None = None
    name: str | None = None
    """Of a function; its result has it too."""
    arguments: Any = None
    server_name: str | None = None
    """Of a tool of an MCP server."""
    search_type: str | None = None
    """`web_search`, `image_search`, `enterprise_web_search`."""
    retrieval_type: str | None = None
    """`vertex_ai_search`, `rag_store`, `exa_ai_search`, `parallel_ai_search`."""

    # --- results
    call_id: str | None = None
    result: Any = None
    """A text, an object, or a list of contents."""
    is_error: bool | None = None

    # --- a content of the user that stands in place of a step
    text: str | None = None
    """The server takes a list of contents as one turn of the user; a step `user_input` with the
    contents says the same.
    """
    annotations: list[Annotation] | None = None
    """As `text`."""
    data: Annotated[str | None, Facts(base64=True)] = None
    """As `text`."""
    uri: str | None = None
    """As `text`."""
    mime_type: str | None = None
    """As `text`."""
    resolution: str | None = None
    """As `text`."""
    processing: str | MediaProcessing | None = None
    """As `text`."""
    channels: int | None = None
    """As `text`."""
    sample_rate: int | None = None
    """As `text`."""


class StepError(InteractionsStruct, frozen=True, kw_only=True):
    """An error in the output of a model."""

    code: int | None = None
    """A google.rpc code."""
    message: str | None = None
    details: list[dict[str, Any]] | None = None


class Delta(InteractionsStruct, frozen=True, kw_only=True):
    """What an event adds to a step. `type` names the kind."""

    type: str | None = None
    """`text`, `text_annotation_delta`, `thought_summary`, `thought_signature`, `arguments_delta`,
    `image`, `audio`, `document`, `video`, `function_result`, and the types of steps of the
    server's tools.
    """
    text: str | None = None
    annotations: list[Annotation] | None = None
    content: Content | None = None
    """Of `thought_summary`: one content, whole."""
    signature: Annotated[str | None, Facts(base64=True)] = None
    """An empty one says nothing."""
    arguments: Any = None
    """Of `arguments_delta` a piece of JSON text; of a server's tool an object."""

    # --- media
    data: Annotated[str | None, Facts(base64=True)] = None
    uri: str | None = None
    mime_type: str | None = None
    resolution: str | None = None
    channels: int | None = None
    sample_rate: int | None = None
    rate: int | None = None

    # --- calls and results
    name: str | None = None
    server_name: str | None = None
    retrieval_type: str | None = None
    result: Any = None
    is_error: bool | None = None
    id: Annotated[str | None, Facts(source=TRAFFIC)] = None
    call_id: Annotated[str | None, Facts(source=TRAFFIC)] = None
    search_type: Annotated[str | None, Facts(source=TRAFFIC)] = None
