"""Jobs that outlive their call, and the answer that says nothing."""

from __future__ import annotations

from typing import Any

from wire.gemini.types.base import GeminiStruct
from wire.gemini.types.status import Status


class Empty(GeminiStruct, frozen=True, kw_only=True):
    """`{}`: it was done."""


class Operation(GeminiStruct, frozen=True, kw_only=True):
    """A job; it is asked for by name until it is `done`, then there is an `error` or a
    `response`.
    """

    name: str | None = None
    """`models/M/operations/ID`, `batches/ID`, ..."""
    metadata: dict[str, Any] | None = None
    """What the service says of it; `@type` names the message."""
    done: bool | None = None
    """Absent means no."""
    error: Status | None = None
    response: dict[str, Any] | None = None
    """What the call would have answered; `@type` names the message."""


class ListOperationsResponse(GeminiStruct, frozen=True, kw_only=True):
    """A page of jobs."""

    operations: list[Operation] | None = None
    next_page_token: str | None = None
    """Absent on the last page."""
    unreachable: list[str] | None = None
    """Places that did not answer."""
