"""Pairs function responses with function calls inside one Content of the model, where the server
ran the function itself (G11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from wire.gemini.types import FunctionCall, FunctionResponse
from wire.neutral.pairing import pair

C = TypeVar("C")


def is_answer(call: FunctionCall, response: FunctionResponse) -> bool:
    """Whether call and response have the same id; without an id on both, the same name."""
    return call.id == response.id if call.id and response.id else call.name == response.name


def unanswered(
    calls: Iterable[C], responses: Sequence[FunctionResponse], of: Callable[[C], FunctionCall]
) -> list[C]:
    """The calls without a response. Each response answers the first call that has none yet.

    `of` gets the function call out of an item of `calls`.
    """
    items = list(calls)
    if not responses:
        return items
    answered = pair(responses, items, lambda response, item: is_answer(of(item), response))
    return [item for index, item in enumerate(items) if index not in answered]
