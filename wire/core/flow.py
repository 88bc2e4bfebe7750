"""Flows: jobs of several calls, such as an upload. No clock, no I/O.

A flow is a generator. It yields calls and pauses, and receives the result of each call. If a call
fails, its `WireError` is thrown into the flow, which may handle it. `Client.run` and
`AsyncClient.run` drive a flow through `FlowRun`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar

from wire.core.account import Preview
from wire.core.call import Call
from wire.core.errors import ConfigurationError, WireError
from wire.core.exchange import Pause
from wire.core.memory import answer_account

Answer = TypeVar("Answer")

Flow: TypeAlias = Generator[Call[Any] | Pause, Any, Answer]
"""Generator that yields calls and pauses, receives the result of each call (`None` for a pause)
and returns an `Answer`.
"""


def ask(call: Call[Answer]) -> Flow[Answer]:
    """Return a flow of one call: `response = yield from ask(call)` has the type of its result."""
    answer: Answer = yield call
    return answer


class FlowRun(Generic[Answer]):
    """Runs a flow: `step` is its next call or pause, `None` once the flow has returned `answer`.

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

    def __init__(
        self, flow: Flow[Answer], preview: Callable[[Call[Any]], Preview] | None = None
    ) -> None:
        if not isinstance(flow, Generator):
            raise ConfigurationError(
                f"flow: expected a generator of calls, not {type(flow).__name__}; use send() for a "
                "call"
            )
        if inspect.getgeneratorstate(flow) != inspect.GEN_CREATED:
            raise ConfigurationError("flow: it was run already; make a new one")
        self._flow, self._preview = flow, preview
        self.step = None
        self.tell(None)

    def tell(self, outcome: Any) -> None:
        """Send the outcome of `step` to the flow: a result, `None` for a pause, or the error.

        Raises errors of the flow, and `ConfigurationError` if it yields anything but a call or a
        pause. An error that the flow makes of a response, such as that of a failed job, gets the
        request and the account of the last call.
        """
        last = self.step
        try:
            self.step = (
                self._flow.throw(outcome)
                if isinstance(outcome, WireError)
                else self._flow.send(outcome)
            )
        except StopIteration as end:
            self.step, self.answer = None, end.value
            return
        except WireError as error:
            if error.preview is None and isinstance(outcome, WireError):
                error.preview, error.account = outcome.preview, outcome.account
                error.response_headers = outcome.response_headers
            elif error.preview is None and isinstance(last, Call) and self._preview is not None:
                error.preview, error.account = self._preview(last), answer_account(outcome)
            raise
        if not isinstance(self.step, Call | Pause):
            self._flow.close()
            raise ConfigurationError(
                f"flow: expected it to yield calls and pauses, not {type(self.step).__name__}"
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
