"""What a wire offers to the rooms above it, and the table of wires.

A wire is a vendor's request and response format. Its package is the wire: its names are imported on
first use, so that a client pays only for the wire that it speaks. A new wire is a folder whose
package satisfies `Wire`, and one row in `WIRES`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from wire import anthropic, gemini, openai
from wire.core.call import Call, StreamCall
from wire.core.provider import Provider
from wire.errors import APIError, Violation, WireError
from wire.neutral.messages import Event, Reply
from wire.neutral.request import Request


class Wire(Protocol):
    """One wire, as the rooms above see it. A package satisfies it with its public functions."""

    @property
    def ROWS(self) -> Sequence[Provider]:
        """The providers that speak this wire."""
        ...

    @property
    def Dialect(self) -> type[Any]:
        """The record of what a host does differently; each row has one."""
        ...

    @property
    def endpoint_paths(self) -> re.Pattern[str]:
        """Matches the end of a base URL that names an endpoint: calls add that path themselves."""
        ...

    def call(self, request: Request, model: str, provider: Provider | str = ...) -> Call[Reply]:
        """The call for one whole reply.

        Raises `HistoryError` for turns out of order, `RuleError` for what the model or the provider
        refuses, `SchemaError` for a schema that the wire cannot express.
        """
        ...

    def stream_call(
        self, request: Request, model: str, provider: Provider | str = ...
    ) -> StreamCall[Event, Reply]:
        """The call for the same reply as a stream of events. Raises as `call`."""
        ...

    def parse_reply(self, answer: Any, /, *, error: WireError | None = None) -> Reply:
        """An answer of the raw door as a neutral reply.

        `error` is what its stream ended with, if it broke off: then the reply is a partial one.
        """
        ...

    def parse_error(self, status: int, headers: Mapping[str, str], body: bytes) -> APIError:
        """The typed error for a response that is not 2xx. It never raises."""
        ...

    def check(
        self, request: Any, model: str = "", provider: Provider | str = ...
    ) -> list[Violation]:
        """All rules that a raw request breaks at that provider; "" stands for an unknown one."""
        ...


WIRES: Mapping[str, Wire] = {
    "gemini": gemini,
    "openai": openai,
    "anthropic": anthropic,
}
"""Name of a wire, as rows of providers have it, to the wire."""

unlisted = openai.unlisted
"""The row of a host without a row: it is taken for a host of chat completions."""
