"""Jobs of several calls: a flow is a generator that yields calls and pauses and is sent the
answers. No clock, no I/O.

A `WireError` of a call is thrown into the flow, which may have an answer to it. `Client.run` and
`AsyncClient.run` drive flows; they know of them what `FlowRun` tells.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar

from wire.core.call import Call
from wire.core.exchange import Pause
from wire.errors import ConfigurationError, WireError

Answer = TypeVar("Answer")

Flow: TypeAlias = Generator[Call[Any] | Pause, Any, Answer]
"""Yields calls and pauses, is sent the answer of each call (`None` for a pause), returns an
`Answer`.
"""


def ask(call: Call[Answer]) -> Flow[Answer]:
    """A flow of one call, for flows to `yield from`: it knows the type of the answer."""
    answer: Answer = yield call
    return answer


class FlowRun(Generic[Answer]):
    """A flow on its way: `step` is what it wants done, `None` once it has returned its `answer`.

    >>> def doubled(call: Call[int]) -> Flow[int]:
    ...     return 2 * (yield call)
    >>> call = Call("any", "GET", "/n", parse=int, read_error=lambda *_: WireError())
    >>> with FlowRun(doubled(call)) as running:
    ...     running.tell(21)
    ...     running.answer
    42
    """

    step: Call[Any] | Pause | None
    answer: Answer

    def __init__(self, flow: Flow[Answer]) -> None:
        if not isinstance(flow, Generator):
            raise ConfigurationError(
                f"flow: a generator of calls is wanted, not {type(flow).__name__}; a call "
                "is for send()"
            )
        if inspect.getgeneratorstate(flow) != inspect.GEN_CREATED:
            raise ConfigurationError("flow: it was run already; make a new one")
        self._flow = flow
        self.tell(None)

    def tell(self, outcome: Any) -> None:
        """What came of the step: an answer, `None` of a pause, or the error.

        Raises what the flow raises.
        """
        try:
            self.step = (
                self._flow.throw(outcome)
                if isinstance(outcome, WireError)
                else self._flow.send(outcome)
            )
        except StopIteration as end:
            self.step, self.answer = None, end.value
            return
        if not isinstance(self.step, Call | Pause):
            self._flow.close()
            raise ConfigurationError(
                f"flow: it yields calls and pauses, not {type(self.step).__name__}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._flow.close()
