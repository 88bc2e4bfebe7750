"""Errors: OpenAI's envelope, and the other forms that hosts use."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import DOCS, TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIStruct


class ErrorBody(OpenAIStruct, frozen=True, kw_only=True):
    """Body of an error: OpenAI's envelope, or the fields of an error without an envelope.

    Gemini's compatible endpoint sends it in an array of one element.
    """

    error: ErrorObject | str | None = None
    """A text at xAI, Venice, LM Studio and HuggingFace; `code` may stand beside it."""
    object: Annotated[str | None, Facts(hosts=("mistral", "vllm"), source=TRAFFIC)] = None
    """`error`. These hosts send no envelope."""
    message: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Sent by hosts without an envelope, as the next three."""
    type: Annotated[str | None, Facts(source=TRAFFIC)] = None
    param: Annotated[str | None, Facts(source=TRAFFIC)] = None
    code: Annotated[str | int | None, Facts(source=TRAFFIC)] = None
    """Also beside an `error` that is a text."""
    detail: Annotated[
        str | list[Any] | dict[str, Any] | None,
        Facts(hosts=("mistral", "huggingface"), source=TRAFFIC),
    ] = None
    """A list of `{loc, msg, type}` from validation, or a text. Hosts built on FastAPI send it."""
    reason: Annotated[str | None, Facts(hosts=("huggingface",), source=TRAFFIC)] = None
    metadata: Annotated[dict[str, Any] | None, Facts(hosts=("huggingface",), source=TRAFFIC)] = None
    status_code: Annotated[int | None, Facts(hosts=("cerebras",), source=DOCS)] = None
    """Sent in streams."""
    raw_status_code: Annotated[int | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    base_resp: Annotated[BaseResp | None, Facts(hosts=("minimax",), source=DOCS)] = None
    id: Annotated[str | None, Facts(hosts=("qwen",), source=TRAFFIC)] = None
    request_id: Annotated[str | None, Facts(hosts=("qwen", "minimax"), source=TRAFFIC)] = None
    user_id: Annotated[str | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None


class ErrorObject(OpenAIStruct, frozen=True, kw_only=True):
    """An error."""

    message: str | None = None
    type: str | None = None
    """`invalid_request_error`, `server_error` and others. Azure and OpenRouter send none."""
    param: str | None = None
    """Path of the field that the server refuses."""
    code: str | int | None = None
    """`rate_limit_exceeded`, `insufficient_quota`, `model_not_found` and others. An HTTP status at
    OpenRouter, llama.cpp and Gemini's compatible endpoint.
    """
    status: Annotated[str | None, Facts(hosts=("gemini@openai",), source=DOCS)] = None
    """Name of the google.rpc code."""
    status_code: Annotated[int | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    """Sent in streams."""
    http_code: Annotated[str | int | None, Facts(hosts=("minimax",), source=DOCS)] = None
    """An HTTP status as text, such as `"400"`."""
    metadata: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """Keys `provider_name`, `error_type`, and `raw`, which has the provider's own error as text."""
    details: Annotated[
        str | list[Any] | dict[str, Any] | None,
        Facts(hosts=("azure", "gemini@openai"), source=TRAFFIC),
    ] = None
    """A text at Azure, google.rpc details at Gemini's compatible endpoint."""
    failed_generation: Annotated[str | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    """The call that did not fit its schema."""
    n_prompt_tokens: Annotated[int | None, Facts(hosts=("llama.cpp",), source=TRAFFIC)] = None
    n_ctx: Annotated[int | None, Facts(hosts=("llama.cpp",), source=TRAFFIC)] = None
    """Maximum number of prompt tokens."""


class BaseResp(OpenAIStruct, frozen=True, kw_only=True):
    """Status of MiniMax in a response of HTTP status 200."""

    status_code: int | None = None
    """An error unless it is 0."""
    status_msg: str | None = None
