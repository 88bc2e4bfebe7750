"""Errors."""

from __future__ import annotations

from typing import Annotated, Any

from wire.anthropic.types.base import AnthropicStruct
from wire.core.facts import DOCS, TRAFFIC, Facts


class ErrorBody(AnthropicStruct, frozen=True, kw_only=True):
    """Body of an error, and data of an `error` event."""

    type: str | None = None
    """`error`."""
    error: ErrorObject | str | None = None
    """A text at hosts that implement this wire in part."""
    request_id: str | None = None
    base_resp: Annotated[BaseResp | None, Facts(hosts=("minimax",), source=DOCS)] = None


class ErrorObject(AnthropicStruct, frozen=True, kw_only=True):
    """An error."""

    type: str | None = None
    """`invalid_request_error`, `authentication_error`, `billing_error`, `permission_error`,
    `not_found_error`, `request_too_large`, `rate_limit_error`, `api_error`, `timeout_error`,
    `overloaded_error`; `<nil>` at Kimi.
    """
    message: str | None = None
    details: Annotated[dict[str, Any] | None, Facts(source=DOCS)] = None
    """Its `error_code` is more specific, such as `enforced_spend_limit_reached`, `file_expired`,
    `image_dimensions_too_large`, `thread_not_found`, `compaction_signature_invalid`; beside it are
    further facts, such as `unsupported` for `thread_unsupported_request`.
    """
    code: Annotated[str | int | None, Facts(source=TRAFFIC)] = None
    """Sent by hosts other than Anthropic."""
    http_code: Annotated[str | int | None, Facts(hosts=("minimax",), source=TRAFFIC)] = None
    """An HTTP status as text, such as `"400"`."""


class BaseResp(AnthropicStruct, frozen=True, kw_only=True):
    """Status of MiniMax in a response of HTTP status 200."""

    status_code: int | None = None
    """An error unless it is 0."""
    status_msg: str | None = None
