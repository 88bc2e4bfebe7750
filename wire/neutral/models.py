"""`ListedModel`: a model as its provider lists it, and the pages of such a list."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from wire.core.call import Call
from wire.core.decoders import convert
from wire.core.errors import StreamInvalid
from wire.core.memory import MetadataStruct
from wire.core.secret import quoted


class ListedModel(MetadataStruct, frozen=True, kw_only=True):
    """A model in the list of a provider. `wire.model` knows more, such as prices.

    >>> ListedModel(id="gemini-3.8-flash", context_window=1048576).id
    'gemini-3.8-flash'
    """

    id: str = ""
    """The name, as requests contain it."""
    name: str = ""
    """The name for people; empty if the provider has none."""
    created: datetime | None = None
    """The time of its release; `None` if the provider does not report it."""
    context_window: int | None = None
    """Tokens of the longest request."""
    longest_output: int | None = None
    """Tokens of the longest reply."""
    source: Any = None
    """The wire's own struct, with all fields that the provider sent."""


class ModelPage(msgspec.Struct, frozen=True):
    """One page of a list of models."""

    models: tuple[ListedModel, ...]
    next: str = ""
    """The cursor of the next page; empty on the last one."""


class ModelPages:
    """Walks through the pages of a list: `call` reads the next page, `None` after the last one."""

    def __init__(self, page_call: Callable[[str], Call[ModelPage]]) -> None:
        self._page_call = page_call
        self._cursors: set[str] = set()
        self.call: Call[ModelPage] | None = page_call("")

    def read(self, page: ModelPage) -> tuple[ListedModel, ...]:
        """Return the models of a page that `call` returned.

        Raises `StreamInvalid` for a cursor that the server has given before: the list would have no
        end.
        """
        if page.next in self._cursors:
            raise StreamInvalid(f"the list of models repeats the cursor {quoted(page.next)}")
        self._cursors.add(page.next)
        self.call = self._page_call(page.next) if page.next else None
        return page.models


def moment(value: object) -> datetime | None:
    """Parse a time in seconds since 1970 or in RFC 3339; `None` for another value.

    >>> str(moment(0)), str(moment("2026-02-05T00:00:00Z")), moment("soon")
    ('1970-01-01 00:00:00+00:00', '2026-02-05 00:00:00+00:00', None)
    """
    try:
        when: datetime = convert(value, datetime, strict=False)
    except msgspec.ValidationError:
        return None
    return when
