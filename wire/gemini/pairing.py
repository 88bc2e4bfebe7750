"""Which function response answers which function call, where Gemini itself made both (G11)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from wire.gemini.types import FunctionCall, FunctionResponse
from wire.neutral.pairing import pair

C = TypeVar("C")


def is_answer(call: FunctionCall, response: FunctionResponse) -> bool:
    """Whether both have one id or, as ids are not always given, one name."""
    return call.id == response.id if call.id and response.id else call.name == response.name


def unanswered(
    calls: Iterable[C], responses: Sequence[FunctionResponse], of: Callable[[C], FunctionCall]
) -> list[C]:
    """The calls without a response; each response answers the first call that is free."""
    left = list(calls)
    if responses:
        taken = pair(responses, left, lambda response, call: is_answer(of(call), response))
        left = [call for index, call in enumerate(left) if index not in taken]
    return left
