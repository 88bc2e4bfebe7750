"""Errors: the envelope, and the many shapes in which other hosts say the same."""

from __future__ import annotations

from typing import Any

from wire.openai.chat.types.base import OpenAIStruct


class ErrorBody(OpenAIStruct, frozen=True, kw_only=True):
    """Body of an error: OpenAI's envelope, or the fields of an error without one.

    Gemini compat puts it in a one-element array.
    """

    error: ErrorObject | str | None = None
    """Text at xAI, Venice, LM Studio and HuggingFace, with `code` beside it or nothing."""
    object: str | None = None
    """`error` at Mistral and old vLLM, which have no envelope."""
    message: str | None = None
    """Of hosts without an envelope, as the next three."""
    type: str | None = None
    param: str | None = None
    code: str | int | None = None
    """Also beside an `error` that is text."""
    detail: str | list[Any] | dict[str, Any] | None = None
    """FastAPI hosts, Mistral's validation: a list of `{loc, msg, type}`."""
    reason: str | None = None
    """HuggingFace's back ends."""
    metadata: dict[str, Any] | None = None
    """HuggingFace's back ends."""
    status_code: int | None = None
    """Cerebras, in a stream."""
    raw_status_code: int | None = None
    """Mistral."""
    base_resp: BaseResp | None = None
    id: str | None = None
    request_id: str | None = None
    """Qwen, MiniMax."""
    user_id: str | None = None
    """OpenRouter."""


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
    status: str | None = None
    """Gemini compat: name of the google.rpc code."""
    status_code: int | None = None
    """Groq, in a stream."""
    http_code: str | int | None = None
    """MiniMax: `"400"`."""
    metadata: dict[str, Any] | None = None
    """OpenRouter: `provider_name`, `error_type`, and in `raw` the provider's own error, as text."""
    details: str | list[Any] | dict[str, Any] | None = None
    """Azure: text. Gemini compat: google.rpc details."""
    failed_generation: str | None = None
    """Groq: the call that did not fit its schema."""
    n_prompt_tokens: int | None = None
    """llama.cpp."""
    n_ctx: int | None = None
    """llama.cpp: how long a prompt may be."""


class BaseResp(OpenAIStruct, frozen=True, kw_only=True):
    """MiniMax's status inside an answer of HTTP status 200."""

    status_code: int | None = None
    """Not 0: an error."""
    status_msg: str | None = None
