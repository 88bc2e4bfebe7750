"""Limits of an emulator: sizes, times, and how much it keeps.

`Emulator(limits=EmulatorLimits(max_body_bytes=1 << 20))` sets them. A request over a limit gets a
bounded response, in the error format of the vendor whose path it names. The sizes hold on loopback
and in the transports; times, connections and buffers concern only the server on loopback.
"""

from __future__ import annotations

import msgspec

from wire.core.errors import ConfigurationError
from wire.core.secret import quoted, seal_fields


class EmulatorLimits(msgspec.Struct, frozen=True):
    """Limits of an emulator, in bytes, seconds and counts.

    >>> EmulatorLimits(max_body_bytes=1 << 20).max_body_bytes
    1048576

    Raises `ConfigurationError` for a value that is not a positive number.
    """

    max_target_bytes: int = 16 * 1024
    """Path and query of a request; a longer one gets 414."""
    max_head_bytes: int = 64 * 1024
    """Request line and headers; more get 431."""
    max_headers: int = 200
    """Headers of a request; more get 431."""
    max_body_bytes: int = 100 * 1024 * 1024
    """A body, the limit of Gemini's server; a larger one gets 413."""
    max_chunks: int = 100_000
    """Chunks that a body is sent in; more get 413."""
    max_json_depth: int = 100
    """Levels of lists and objects in a JSON body, the limit of Google's parser; more get 400."""
    max_json_values: int = 100_000
    """Values in a JSON body, since each costs memory of its own; more get 400."""
    max_requests: int = 10_000
    """Requests that `Emulator.requests` lists; the oldest are dropped."""
    max_request_bytes: int = 256 * 1024 * 1024
    """Bodies of the requests that `Emulator.requests` lists; the oldest are dropped."""
    max_stored_items: int = 10_000
    """Files, caches, batches, stores, uploads and conversations together; more get the vendor's
    quota error. Responses of OpenAI take a quarter of it at most, the oldest are forgotten."""
    max_stored_bytes: int = 512 * 1024 * 1024
    """Bytes of all that is stored; more get the vendor's quota error."""
    max_connections: int = 2_000
    """Open connections; they take 3/4 of the file descriptors of the process at most, those of the
    gateway half. One more closes another that waits for its client: for a head, a body, or that it
    reads, whichever most wait for; of the address with the most, the one that has waited longest.
    Requests under way are not closed: it gets 503 if all are."""
    max_connections_per_peer: int = 1_500
    """Open connections of one address (a /64 of IPv6); three quarters of all at most, except for
    loopback. One more closes one of the address, as above, or gets 429."""
    max_buffered_bytes: int = 512 * 1024 * 1024
    """Bodies of requests, of all connections together; more get 503. And as many of responses:
    more close the connection whose client has not read for the longest time."""
    idle_seconds: float = 300.0
    """Time between two requests of a connection, after which it is closed."""
    head_seconds: float = 30.0
    """Time for request line and headers; a slower client gets 408."""
    body_seconds: float = 120.0
    """Time for a body; a slower client gets 408."""
    write_seconds: float = 60.0
    """Time in which a client takes 64 KiB of a response; a slower one is disconnected."""
    probe_seconds: float = 60.0
    """Silence after which the system asks whether the client is there; after three questions
    without an answer the connection is closed."""
    linger_seconds: float = 5.0
    """Time in which the rest of a refused body is discarded, so that the client reads why."""

    def __post_init__(self) -> None:
        seal_fields(self)
        for name in self.__struct_fields__:
            value = getattr(self, name)
            # NaN is not greater than 0 either.
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise ConfigurationError(
                    f"limits: {name}: expected a positive number, not {quoted(value)}"
                )


DEFAULT_LIMITS = EmulatorLimits()
