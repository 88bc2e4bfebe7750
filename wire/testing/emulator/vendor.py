"""The contract of a vendor: what the core needs to play one vendor's server.

A vendor routes requests, reads them, refuses them in the server's words and writes responses in
the server's format. The core picks the step of a script, applies faults and records requests. The
vendors stand in the table `wire.testing.emulator.vendors.VENDORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from wire.neutral.messages import Reply
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.model import Prompt
from wire.testing.emulator.quota import LimitState, Meter
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.storage import Storage


def _nothing(request: Received) -> Answer:
    raise NotImplementedError("an emulator answers the requests of a batch")


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of an emulator that its vendors follow."""

    warnings_too: bool = False
    """Refuse what only servers of an earlier date refused."""
    lenient: bool = False
    """Refuse nothing that a rule is about."""
    seed: int = 0
    """Changes ids and signatures."""
    provider: str = ""
    """The provider that is played on the paths that several share; empty: see `hosts.row_of`."""
    date: str = ""
    """The day that is played, as `2026-03-09`: models that were shut down by then are unknown."""
    respond: Callable[[Received], Answer] = _nothing
    """Answers a request that is part of another one, such as one of a batch; the list of requests
    does not have it."""
    scripted: Callable[[], bool] = bool
    """Returns whether a script sets the answers."""
    storage: Storage = field(default_factory=Storage)
    """Counts what all vendors store."""
    meter: Meter | None = None
    """Counts what requests use of the quota; `None`: there is none."""
    clock: Callable[[], float] = float
    """The time in seconds, at which caches expire; always 0 by default."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that the vendor puts into its own envelope."""

    status: int
    message: str = ""
    """Empty: the vendor's usual message for the status."""
    code: str = ""
    """The vendor's error code, if it differs from the usual one of the status."""
    model: str = ""
    retry_after: float | None = None
    """Seconds."""
    request: Received | None = None
    """The request that fails; None if it is not known."""
    route: Route | None = None
    """Its endpoint; None if it is not known."""
    position: int = 0
    """Number of events before it, in a stream."""
    limit: LimitState | None = None
    """The limit of the quota that the request exceeds."""


class Refusal(Exception):
    """A request is refused; `answer` is the vendor's complete error response."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.body.decode())
        self.answer = answer


class Failed(Exception):
    """A request cannot be answered for a reason that no vendor knows, such as an invalid fault."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Generation(Protocol):
    """A request for model output that was read and not refused.

    Each method returns the complete response, streamed if the request wants a stream. `id` is
    unique to the request; ids in the response are derived from it.
    """

    @property
    def model(self) -> str:
        """The name of the requested model."""
        ...

    @property
    def prompt(self) -> Prompt:
        """The request as the small model reads it."""
        ...

    def render(self, reply: Reply, id: str, hops: int) -> Answer:
        """Render the reply of the small model, or a script's `say`, as a response.

        `hops` are the requests that it takes, at a vendor whose answers go on with a token.
        """
        ...

    def render_body(self, body: dict[str, Any], id: str) -> Answer:
        """Render a script's `answer`: one body in the vendor's format."""
        ...

    def render_events(self, events: Sequence[Any], id: str) -> Answer:
        """Render a script's `stream`: events in the vendor's format."""
        ...


class Vendor(Protocol):
    """One vendor's server; an instance holds its state, such as uploaded files."""

    @property
    def wires(self) -> Sequence[str]:
        """Names of the wires that its clients speak."""
        ...

    def route(self, request: Received) -> Route | None:
        """Return the endpoint of a request, or `None` if the vendor does not have its path."""
        ...

    def recognises(self, request: Received) -> bool:
        """Return whether the vendor's own clients send such a request.

        Decides between vendors that have the same path, and who answers 404 for an unknown path.
        """
        ...

    def no_endpoint(self, request: Received, route: Route | None) -> Answer:
        """Return the 404 for an unknown path, or the 405 for a route that lacks the method."""
        ...

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a missing or wrong key."""
        ...

    def read(self, request: Received, route: Route) -> Generation:
        """Read a request of a route that generates. Raises `Refusal`."""
        ...

    def serve(self, request: Received, route: Route) -> Answer:
        """Answer any other route: models, files, embeddings, token counts. Raises `Refusal`."""
        ...

    def body_answer(self, value: Any, status: int) -> Answer:
        """Return a response whose body is a script's JSON value, unchanged."""
        ...

    def error(self, failure: Failure) -> dict[str, Any]:
        """Return the error object, as it stands in a stream."""
        ...

    def error_answer(self, failure: Failure) -> Answer:
        """Return the error response."""
        ...

    def storage_full(self) -> Answer:
        """Return the quota error for a request that exceeds the storage of the emulator."""
        ...

    def used_up(self, failure: Failure) -> Answer:
        """Return the error of an account whose quota or credit is used up; no wait helps soon."""
        ...

    def error_event(self, failure: Failure) -> bytes:
        """Encode the error as an event of a stream."""
        ...

    def frame(self, data: bytes) -> bytes:
        """Encode one event of a stream with these data, which need not be JSON."""
        ...

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Add the fields and headers that the vendor adds to every response."""
        ...


def vendor_of(
    request: Received, vendors: Iterable[Vendor], wires: frozenset[str] = frozenset()
) -> tuple[Vendor, Route | None]:
    """Return the vendor that has the path of a request, and its endpoint.

    Among several, and for a path that none has, it is the one whose clients send such a request,
    else one that speaks one of `wires`, else the first.
    """
    routes = [(vendor, vendor.route(request)) for vendor in vendors]
    owners = [each for each in routes if each[1] is not None] or routes
    by_headers = (each for each in owners if each[0].recognises(request))
    by_wire = (each for each in owners if wires.intersection(each[0].wires))
    return next(by_headers, None) or next(by_wire, owners[0])


def retry_after_header(failure: Failure) -> dict[str, str]:
    """Return the header `retry-after` of a failure, if it has one."""
    return {} if failure.retry_after is None else {"retry-after": f"{failure.retry_after:g}"}
