"""Long-running operations, and the empty response."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import Facts
from wire.gemini.types.base import GeminiStruct
from wire.gemini.types.status import Status


class Empty(GeminiStruct, frozen=True, kw_only=True):
    """`{}`: the call succeeded."""


class Operation(GeminiStruct, frozen=True, kw_only=True):
    """A long-running operation. Poll it by name until `done`; then it has an `error` or a
    `response`.
    """

    name: str | None = None
    """`models/M/operations/ID`, `batches/ID`, ..."""
    metadata: dict[str, Any] | None = None
    """Progress of the operation; `@type` names the message."""
    done: bool | None = None
    """Absent while the operation runs."""
    error: Annotated[Status | None, Facts(one_of="result")] = None
    response: Annotated[dict[str, Any] | None, Facts(one_of="result")] = None
    """The result; `@type` names the message."""


class ListOperationsResponse(GeminiStruct, frozen=True, kw_only=True):
    """A page of operations."""

    operations: list[Operation] | None = None
    next_page_token: str | None = None
    """Absent on the last page."""
    unreachable: list[str] | None = None
    """Locations that did not answer."""
