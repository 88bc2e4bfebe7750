"""Errors: the envelope and the google.rpc details."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from wire.core.facts import TRAFFIC, Facts
from wire.gemini.types.base import GeminiStruct


class ErrorBody(GeminiStruct, frozen=True, kw_only=True):
    """Body of an error. It may come in an array of one element, and in a stream outside of the SSE
    framing (G76).
    """

    error: Status | None = None


class Status(GeminiStruct, frozen=True, kw_only=True):
    """An error.

    The status of a bad API key is 400, not 401; its details have `API_KEY_INVALID` (G73).
    """

    code: int | None = None
    """The HTTP status. In operations and files, which have no `status`, a google.rpc code."""
    message: str | None = None
    status: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Name of the google.rpc code, such as `INVALID_ARGUMENT`."""
    details: list[ErrorDetail] | None = None


class ErrorDetail(GeminiStruct, frozen=True, kw_only=True):
    """One detail of an error. This struct has the fields of all google.rpc details; `type` names
    the kind.
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
    """A field that the server refuses."""

    field: str | None = None
    """Path in snake_case, such as `contents[0].parts`."""
    description: str | None = None
    reason: str | None = None


class QuotaViolation(GeminiStruct, frozen=True, kw_only=True):
    """A quota that is exceeded."""

    quota_metric: str | None = None
    quota_id: str | None = None
    """Contains `PerMinute` or `PerDay`."""
    quota_dimensions: dict[str, Any] | None = None
    """Keys `location`, `model`."""
    quota_value: int | str | None = None
    subject: str | None = None
    description: str | None = None


class HelpLink(GeminiStruct, frozen=True, kw_only=True):
    """A page of documentation."""

    description: str | None = None
    url: str | None = None
