"""Errors: the envelope, and the many shapes in which other hosts say the same."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import DOCS, TRAFFIC, Facts
from wire.openai.chat.types.base import OpenAIStruct


class ErrorBody(OpenAIStruct, frozen=True, kw_only=True):
    """Body of an error: OpenAI's envelope, or the fields of an error without one.

    Gemini compat puts it in a one-element array.
    """

    error: ErrorObject | str | None = None
    """Text at xAI, Venice, LM Studio and HuggingFace, with `code` beside it or nothing."""
    object: Annotated[str | None, Facts(hosts=("mistral", "vllm"), source=TRAFFIC)] = None
    """`error` at Mistral and old vLLM, which have no envelope."""
    message: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Of hosts without an envelope, as the next three."""
    type: Annotated[str | None, Facts(source=TRAFFIC)] = None
    param: Annotated[str | None, Facts(source=TRAFFIC)] = None
    code: Annotated[str | int | None, Facts(source=TRAFFIC)] = None
    """Also beside an `error` that is text."""
    detail: Annotated[
        str | list[Any] | dict[str, Any] | None,
        Facts(hosts=("mistral", "huggingface"), source=TRAFFIC),
    ] = None
    """FastAPI hosts, Mistral's validation: a list of `{loc, msg, type}`."""
    reason: Annotated[str | None, Facts(hosts=("huggingface",), source=TRAFFIC)] = None
    metadata: Annotated[dict[str, Any] | None, Facts(hosts=("huggingface",), source=TRAFFIC)] = None
    status_code: Annotated[int | None, Facts(hosts=("cerebras",), source=DOCS)] = None
    """In a stream."""
    raw_status_code: Annotated[int | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    base_resp: Annotated[BaseResp | None, Facts(hosts=("minimax",), source=DOCS)] = None
    id: Annotated[str | None, Facts(hosts=("qwen",), source=TRAFFIC)] = None
    request_id: Annotated[str | None, Facts(hosts=("qwen", "minimax"), source=TRAFFIC)] = None
    user_id: Annotated[str | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None


class ErrorObject(OpenAIStruct, frozen=True, kw_only=True):
    """What went wrong."""

    message: str | None = None
    type: str | None = None
    """`invalid_request_error`, `server_error`, ...; absent at Azure and OpenRouter."""
    param: str | None = None
    """Path of the field that the server did not like."""
    code: str | int | None = None
    """`rate_limit_exceeded`, `insufficient_quota`, `model_not_found`, ...; an HTTP status at
    OpenRouter, Gemini compat, llama.cpp.
    """
    status: Annotated[str | None, Facts(hosts=("gemini@openai",), source=DOCS)] = None
    """Name of the google.rpc code."""
    status_code: Annotated[int | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    """In a stream."""
    http_code: Annotated[str | int | None, Facts(hosts=("minimax",), source=DOCS)] = None
    """`"400"`."""
    metadata: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = None
    """`provider_name`, `error_type`, and in `raw` the provider's own error, as text."""
    details: Annotated[
        str | list[Any] | dict[str, Any] | None,
        Facts(hosts=("azure", "gemini@openai"), source=TRAFFIC),
    ] = None
    """Text. Gemini compat: google.rpc details."""
    failed_generation: Annotated[str | None, Facts(hosts=("groq",), source=TRAFFIC)] = None
    """The call that did not fit its schema."""
    n_prompt_tokens: Annotated[int | None, Facts(hosts=("llama.cpp",), source=TRAFFIC)] = None
    n_ctx: Annotated[int | None, Facts(hosts=("llama.cpp",), source=TRAFFIC)] = None
    """How long a prompt may be."""


class BaseResp(OpenAIStruct, frozen=True, kw_only=True):
    """MiniMax's status inside an answer of HTTP status 200."""

    status_code: int | None = None
    """Not 0: an error."""
    status_msg: str | None = None
