"""Errors: the envelope and the google.rpc details."""

from __future__ import annotations

from typing import Any

import msgspec

from wire.gemini.types.base import GeminiStruct


class ErrorBody(GeminiStruct, frozen=True, kw_only=True):
    """Body of an error; may come in a one-element array, and in a stream outside the SSE framing
    (G76).
    """

    error: Status | None = None


class Status(GeminiStruct, frozen=True, kw_only=True):
    """What went wrong.

    A bad API key is 400, not 401: look for `API_KEY_INVALID` in the details (G73).
    """

    code: int | None = None
    """HTTP status; inside operations and files, where `status` is absent, a google.rpc code."""
    message: str | None = None
    status: str | None = None
    """Name of the google.rpc code, e.g.

    `INVALID_ARGUMENT`. In no inventory, but in every error body.
    """
    details: list[ErrorDetail] | None = None


class ErrorDetail(GeminiStruct, frozen=True, kw_only=True):
    """One detail of an error: the fields of all google.rpc details in one struct, told apart by
    `type`.
    """

    type: str | None = msgspec.field(name="@type", default=None)
    """`type.googleapis.com/google.rpc.` and the name."""
    field_violations: list[FieldViolation] | None = None
    """BadRequest."""
    reason: str | None = None
    """ErrorInfo: `API_KEY_INVALID`, `SERVICE_DISABLED`, `RATE_LIMIT_EXCEEDED`, ..."""
    domain: str | None = None
    """ErrorInfo."""
    metadata: dict[str, Any] | None = None
    """ErrorInfo."""
    violations: list[QuotaViolation] | None = None
    """QuotaFailure."""
    retry_delay: str | None = None
    """RetryInfo. Duration, `"34.4s"`."""
    links: list[HelpLink] | None = None
    """Help."""
    locale: str | None = None
    """LocalizedMessage."""
    message: str | None = None
    """LocalizedMessage."""
    detail: str | None = None
    """DebugInfo."""
    stack_entries: list[str] | None = None
    """DebugInfo."""


class FieldViolation(GeminiStruct, frozen=True, kw_only=True):
    """A field that the server did not like."""

    field: str | None = None
    """Path in snake_case, e.g. `contents[0].parts`."""
    description: str | None = None
    reason: str | None = None


class QuotaViolation(GeminiStruct, frozen=True, kw_only=True):
    """A quota that is used up."""

    quota_metric: str | None = None
    quota_id: str | None = None
    """Tells per minute from per day."""
    quota_dimensions: dict[str, Any] | None = None
    """`location`, `model`."""
    quota_value: int | str | None = None
    subject: str | None = None
    description: str | None = None


class HelpLink(GeminiStruct, frozen=True, kw_only=True):
    """A page that explains."""

    description: str | None = None
    url: str | None = None
