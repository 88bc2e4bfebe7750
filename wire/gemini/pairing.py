"""Pairs function responses with function calls inside one Content of the model, where the server
ran the function itself (G11).

Call and response have the same id; if one of them has no id, the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from wire.gemini.types import FunctionCall, FunctionResponse
from wire.neutral.pairing import Keys, pair

C = TypeVar("C")


def keys_of_call(call: FunctionCall) -> Keys:
    """Return the keys that a call may share with its response."""
    named = ("name", call.name)
    return (("id", call.id), named) if call.id else (("name without id", call.name), named)


def keys_of_response(response: FunctionResponse) -> Keys:
    """Return the keys that a response may share with its call."""
    if response.id:
        return ("id", response.id), ("name without id", response.name)
    return (("name", response.name),)


def unanswered(
    calls: Iterable[C], responses: Sequence[FunctionResponse], of: Callable[[C], FunctionCall]
) -> list[C]:
    """Return the calls without a response. Each response answers the first call that has none yet.

    `of` gets the function call out of an item of `calls`.
    """
    items = list(calls)
    if not responses:
        return items
    answered = set(pair(responses, items, (keys_of_response, lambda item: keys_of_call(of(item)))))
    return [item for index, item in enumerate(items) if index not in answered]
