"""httpx transports that record to a cassette and replay from it. No module is patched (C-09)."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import httpx

from wire.core.arguments import checked_arguments
from wire.core.errors import CassetteError, ConfigurationError
from wire.core.secret import Secret, sealed_list, sealed_object
from wire.http.async_lanes import AsyncLanes
from wire.http.duplex import LINK
from wire.http.httpx2 import AsyncHttpx2Transport, Httpx2Transport, library_of
from wire.http.lanes import Lanes
from wire.http.network import AsyncTransport, Transport, transport_of_block
from wire.http.watchdog import ATTEMPT, UPGRADE
from wire.testing.cassette.cache import Entries
from wire.testing.cassette.copying import AsyncRecorded, BodyCopy, Clock, Recorded, wrapped
from wire.testing.cassette.deck import Deck, Drifted, Keep
from wire.testing.cassette.format.sent import Sent, session_url
from wire.testing.cassette.instrument import Faults, Instrument
from wire.testing.cassette.matching import Match
from wire.testing.cassette.modes import Mode, mode_of
from wire.testing.cassette.player import Played
from wire.testing.cassette.playing import body_of, played_response
from wire.testing.cassette.plot import Plot


class _OnInner:
    """What both transports have: the one below, and a recording."""

    _inner: Any
    _take: Callable[[Sent], Played | Plot | Keep | None]
    _clock: Clock | None = None
    _sleep: bool = False

    def _put_below(self, sockets: Any) -> Any:
        """Send on these sockets from now on; return the transport on which they send."""
        inner, self._inner = self._inner, sockets
        return inner


class _Sends(_OnInner, httpx.BaseTransport):
    """Answers a request from a recording, or sends it and keeps the response."""

    @checked_arguments(ConfigurationError)
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Replay or send. A request that gets no response is not recorded."""
        try:
            body = request.content
        except httpx.RequestNotRead:
            body = request.read()
        taken = None if _is_for_token(request) else self._take(sent_of(request, body))
        if isinstance(taken, Played):
            playing = body_of(taken, request, self._sleep)
            playing.begin()
            return played_response(taken, playing)
        if isinstance(taken, Plot):
            from wire.testing.cassette.played_links import PlayedLink, opened_response

            return opened_response(taken, request, PlayedLink, timed=self._sleep)
        watch = None if self._clock is None else self._clock.start()
        response: httpx.Response = self._inner.handle_request(request)
        if taken is None:
            return response
        assert isinstance(response.stream, httpx.SyncByteStream)
        copy = BodyCopy(taken, request, response, watch)
        recorded = wrapped(response, Recorded(response.stream, copy))
        if copy.heard is not None:
            from wire.http.links import Link

            recorded.extensions[LINK] = functools.partial(Link, tape=copy.heard)
        return recorded

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class _AsyncSends(_OnInner, httpx.AsyncBaseTransport):
    """`_Sends` for asyncio and trio."""

    @checked_arguments(ConfigurationError)
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Replay or send. A request that gets no response is not recorded."""
        try:
            body = request.content
        except httpx.RequestNotRead:
            body = await request.aread()
        taken = None if _is_for_token(request) else self._take(sent_of(request, body))
        if isinstance(taken, Played):
            playing = body_of(taken, request, self._sleep)
            await playing.async_begin()
            return played_response(taken, playing)
        if isinstance(taken, Plot):
            from wire.testing.cassette.played_links import AsyncPlayedLink, opened_response

            return opened_response(taken, request, AsyncPlayedLink, timed=self._sleep)
        watch = None if self._clock is None else self._clock.start()
        response: httpx.Response = await self._inner.handle_async_request(request)
        if taken is None:
            return response
        assert isinstance(response.stream, httpx.AsyncByteStream)
        copy = BodyCopy(taken, request, response, watch)
        recorded = wrapped(response, AsyncRecorded(response.stream, copy))
        if copy.heard is not None:
            from wire.http.async_links import AsyncLink

            recorded.extensions[LINK] = functools.partial(AsyncLink, tape=copy.heard)
        return recorded

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class _InUse:
    """Settings and recording shared by `Cassette` and `AsyncCassette`."""

    _deck: Deck
    _take: Callable[[Sent], Played | Plot | Keep | None]
    _sleep: bool
    _clock: Clock | None

    @classmethod
    def _sharing(cls, other: _InUse) -> Self:
        """Return a transport of the same recording."""
        made = cls.__new__(cls)
        made._deck, made._take = other._deck, other._take
        made._sleep, made._clock = other._sleep, other._clock
        return made

    @property
    def mode(self) -> Mode:
        """The mode; see `wire.testing.Mode`."""
        return self._deck.mode

    @property
    def plays_only(self) -> bool:
        """Whether it sends nothing: then a client needs no credentials."""
        return self._deck.plays_only

    @property
    def unplayed(self) -> list[str]:
        """The recorded requests that were not sent yet, as `interactions[1]: POST https://...`.

        Empty in the modes `all` and `rewrite`.
        """
        return self._deck.unplayed

    @property
    def is_emulated(self) -> bool:
        """Whether the file had, when it was opened, a response of the emulator."""
        return self._deck.is_emulated

    @property
    def drift(self) -> list[Drifted]:
        """How live responses differ from the recorded ones, in the mode `verify` (C-21).

        Compared are status, headers, kinds of events, keys, types and enum values by JSON path, but
        not texts, ids, numbers and signatures, which differ in each response.
        """
        return self._deck.drift

    def check_all_played(self) -> None:
        """Raise `CassetteError` if a recorded request was not sent (C-20)."""
        self._deck.check_all_played()


class Cassette(_InUse, _Sends):
    """A transport that records to the cassette file at `path` and replays from it.

    >>> from wire import Chat
    >>> http = Cassette("tide.cassette.json", "once")
    >>> with Chat("gemini:gemini-3.8-flash", http=http) as chat:  # doctest: +SKIP
    ...     chat.ask("How high is the tide?")

    What is replayed, and what is sent with `inner` and recorded, depends on the mode:

    - `none`: replays; a request that is not recorded is an error, and nothing is sent.
    - `once`: replays if the file is there at the start, else sends and records.
    - `new_episodes`: replays what is recorded, sends and records the rest.
    - `all`: sends and records everything, in place of recorded interactions with equal requests.
    - `rewrite`: sends and records everything; the file holds what was recorded this time.
    - `verify`: sends what is recorded and compares the responses; nothing is written.

    A request matches a recorded one with the same method, host, path, query and JSON value of the
    body (C-16); `match` adds to this rule. Each interaction is played once; equal requests get
    their responses in recorded order (C-19). A body that was interrupted while recording raises the
    same httpx error after its last recorded byte (C-04).

    Received bytes are passed on as they arrive. The file is written each time the body of a
    response is closed. Only headers of an allow-list are written (C-11). An interaction that
    contains a known secret is not written (C-12): then closing the body raises `CassetteError`,
    which names the position of the secret; its `raw` is the body. Known secrets are the keys of
    requests, the environment variables with names such as `...KEY` or `..._PASSWORD`, and
    `secrets`.

    Raises `CassetteError` for a file that is malformed or missing, and for a request without a
    match; `differences` of the error are those to the closest recorded request.

    Args:
        path: The file. Its folder is created.
        mode: See above; `new` is `new_episodes`.
        inner: The transport that sends; by default that of a client, `Lanes()`.
        match: Which recorded request answers a sent one.
        secrets: Further texts that must not be written.
        redact: JSON paths of values in bodies, such as `$.metadata.user_id`, that are recorded as
            `[redacted]`. Requests are compared in the redacted form (C-13).
        again: How to record again, for error messages, such as a command.
        chunks: How replayed bytes are cut: `recorded` (as received if the recording has times, else
            a chunk for each event), `one`, `bytes:N`, `split:K` or `seed:N`.
        faults: A fault of replayed responses, such as `cut; after=2` or `429; attempt=1`, or a list
            of faults, of which the first that applies to an attempt counts.
        sleep: True waits as long as faults say, and without a fault as long as the recorded server
            did if the recording has times; otherwise no pause takes time, and one of a fault that
            is as long as the read timeout raises `httpx.ReadTimeout` at once.
        timing: True records in milliseconds when requests were sent and chunks came, which
            `wire cassette show --html` draws and `sleep` repeats. A second recording then differs
            from the first (C-06).
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: str = "none",
        *,
        inner: Transport | None = None,
        match: Match | None = None,
        secrets: Iterable[str | Secret] = (),
        redact: Iterable[str] = (),
        again: str = "",
        chunks: str = "recorded",
        faults: Faults = (),
        sleep: bool = False,
        timing: bool = False,
    ) -> None:
        # Before anything can raise: tracebacks show the arguments of this frame.
        inner, secrets = sealed_object(inner, "handle_request"), sealed_list(secrets)
        self._inner = _inner(inner, "handle_request", Httpx2Transport, Lanes)
        again = again or f"to record it again, use Cassette({os.fspath(path)!r}, 'rewrite') once"
        self._sleep, self._clock = sleep, Clock() if timing else None
        instrument = Instrument(chunks, faults, sleep)
        self._deck = Deck(path, mode_of(mode), match or Match(), again, secrets, redact, instrument)
        self._take = self._deck.take


class AsyncCassette(_InUse, _AsyncSends):
    """`Cassette` for asyncio and trio; `inner` is `AsyncLanes()` by default.

    Reading and writing the file blocks the event loop, since no thread is used.
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: str = "none",
        *,
        inner: AsyncTransport | None = None,
        match: Match | None = None,
        secrets: Iterable[str | Secret] = (),
        redact: Iterable[str] = (),
        again: str = "",
        chunks: str = "recorded",
        faults: Faults = (),
        sleep: bool = False,
        timing: bool = False,
    ) -> None:
        inner, secrets = sealed_object(inner, "handle_async_request"), sealed_list(secrets)
        self._inner = _inner(inner, "handle_async_request", AsyncHttpx2Transport, AsyncLanes)
        name = os.fspath(path)
        again = again or f"to record it again, use AsyncCassette({name!r}, 'rewrite') once"
        self._sleep, self._clock = sleep, Clock() if timing else None
        instrument = Instrument(chunks, faults, sleep)
        self._deck = Deck(path, mode_of(mode), match or Match(), again, secrets, redact, instrument)
        self._take = self._deck.take


class _Caching:
    """Entries and counts shared by `Cache` and `AsyncCache`."""

    _entries: Entries

    @property
    def hits(self) -> int:
        """How many requests were answered from the folder."""
        return self._entries.hits

    @property
    def misses(self) -> int:
        """How many requests were sent, although they could have been cached."""
        return self._entries.misses

    @property
    def refused(self) -> list[CassetteError]:
        """Why responses were not kept: they contain a secret, or the folder cannot be written."""
        return self._entries.refused


class Cache(_Caching, _Sends):
    """A transport that sends each request once, and answers equal ones from a folder.

    >>> from wire import Chat
    >>> http = Cache(".cache/wire", max_age=7 * 86400)
    >>> with Chat("gemini:gemini-3.8-flash", http=http) as chat:  # doctest: +SKIP
    ...     chat.ask("How high is the tide?")

    An equal request has the same method, host, path, query, version headers and JSON value of the
    body; keys do not count. Cached are requests that only ask, such as chat completions, embeddings
    and counts of tokens; uploads, batches and stored responses pass through. A response that is an
    error or broke off is not kept. The folder has a cassette for each request, and several
    processes may use it.

    Raises `CassetteError` for an entry that is malformed.

    Args:
        folder: Is created when the first response is kept.
        inner: The transport that sends; by default that of a client, `Lanes()`.
        match: What does not count when requests are compared.
        max_age: Seconds after which a response is asked for again.
        max_bytes: Size of the folder, above which the oldest entries are removed.
        secrets: Texts that must not be written, besides keys; see `Cassette`.
    """

    @checked_arguments(ConfigurationError, before=True)
    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        inner: Transport | None = None,
        match: Match | None = None,
        max_age: float | None = None,
        max_bytes: int | None = None,
        secrets: Iterable[str | Secret] = (),
    ) -> None:
        inner, secrets = sealed_object(inner, "handle_request"), sealed_list(secrets)
        self._inner = _inner(inner, "handle_request", Httpx2Transport, Lanes)
        self._entries = Entries(folder, match or Match(), max_age, max_bytes, secrets)
        self._take = self._entries.take


class AsyncCache(_Caching, _AsyncSends):
    """`Cache` for asyncio and trio; `inner` is `AsyncLanes()` by default.

    Reading and writing the folder blocks the event loop, since no thread is used.
    """

    @checked_arguments(ConfigurationError, before=True)
    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        inner: AsyncTransport | None = None,
        match: Match | None = None,
        max_age: float | None = None,
        max_bytes: int | None = None,
        secrets: Iterable[str | Secret] = (),
    ) -> None:
        inner, secrets = sealed_object(inner, "handle_async_request"), sealed_list(secrets)
        self._inner = _inner(inner, "handle_async_request", AsyncHttpx2Transport, AsyncLanes)
        self._entries = Entries(folder, match or Match(), max_age, max_bytes, secrets)
        self._take = self._entries.take


@contextlib.contextmanager
@checked_arguments(ConfigurationError)
def record(
    path: str | os.PathLike[str],
    mode: str = "rewrite",
    *,
    match: Match | None = None,
    secrets: Iterable[str | Secret] = (),
    redact: Iterable[str] = (),
    timing: bool = False,
) -> Iterator[Cassette]:
    """Record the calls of all clients that are made inside the block, to one cassette (C-38).

    >>> import wire
    >>> with wire.record("tide.cassette.json"):  # doctest: +SKIP
    ...     wire.Chat("gemini:gemini-3.8-flash").ask("How high is the tide?")

    It applies to clients without `http=`, sync and async, of this thread or task and of the tasks
    that it starts. With another mode they replay. The value of the block is the `Cassette`, for
    `unplayed` and `check_all_played()`.

    Raises what `Cassette` raises.
    """
    secrets = sealed_list(secrets)
    cassette = Cassette(path, mode, match=match, secrets=secrets, redact=redact, timing=timing)

    def transport(handle: str, trust_env: bool) -> Cassette | AsyncCassette:
        made: Any = (Cassette if handle == "handle_request" else AsyncCassette)._sharing(cassette)
        made._inner = (Lanes if handle == "handle_request" else AsyncLanes)(trust_env=trust_env)
        return made  # type: ignore[no-any-return]

    before = transport_of_block.set(transport)
    try:
        yield cassette
    finally:
        transport_of_block.reset(before)


class Record(Cassette):
    """A `Cassette` in the mode `rewrite`: sends with `inner` and records everything.

    >>> from wire import Chat, Lanes
    >>> http = Record(Lanes(), "tide.cassette.json")
    >>> with Chat("gemini:gemini-3.8-flash", http=http) as chat:  # doctest: +SKIP
    ...     chat.ask("How high is the tide?")
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        inner: Transport,
        path: str | os.PathLike[str],
        *,
        secrets: Iterable[str | Secret] = (),
        redact: Iterable[str] = (),
    ) -> None:
        inner, secrets = sealed_object(inner, "handle_request"), sealed_list(secrets)
        if inner is None:  # which would select the default transport
            raise _no_transport(inner, "handle_request")
        super().__init__(path, "rewrite", inner=inner, secrets=secrets, redact=redact)


class AsyncRecord(AsyncCassette):
    """`Record` for asyncio and trio."""

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        inner: AsyncTransport,
        path: str | os.PathLike[str],
        *,
        secrets: Iterable[str | Secret] = (),
        redact: Iterable[str] = (),
    ) -> None:
        inner, secrets = sealed_object(inner, "handle_async_request"), sealed_list(secrets)
        if inner is None:  # which would select the default transport
            raise _no_transport(inner, "handle_async_request")
        super().__init__(path, "rewrite", inner=inner, secrets=secrets, redact=redact)


class Replay(Cassette):
    """A `Cassette` in the mode `none`: answers from the file, and sends nothing.

    >>> from wire import Chat
    >>> http = Replay("tide.cassette.json")  # doctest: +SKIP
    >>> with Chat("gemini:gemini-3.8-flash", http=http) as chat:  # doctest: +SKIP
    ...     chat.ask("How high is the tide?")
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        match: Match | None = None,
        chunks: str = "recorded",
        faults: Faults = (),
        sleep: bool = False,
    ) -> None:
        again = "to record it again, call it once with http=Record(Lanes(), {!r})"
        again = again.format(os.fspath(path))
        super().__init__(path, match=match, again=again, chunks=chunks, faults=faults, sleep=sleep)


class AsyncReplay(AsyncCassette):
    """`Replay` for asyncio and trio."""

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        match: Match | None = None,
        chunks: str = "recorded",
        faults: Faults = (),
        sleep: bool = False,
    ) -> None:
        again = "to record it again, call it once with http=AsyncRecord(AsyncLanes(), {!r})"
        again = again.format(os.fspath(path))
        super().__init__(path, match=match, again=again, chunks=chunks, faults=faults, sleep=sleep)


def _inner(
    inner: Any, handle: str, httpx2: Callable[[Any], Any], default: Callable[[], Any]
) -> Any:
    if inner is None:
        return default()
    if not callable(getattr(inner, handle, None)):
        raise _no_transport(inner, handle)
    return inner if library_of(inner) is None else httpx2(inner)


def _no_transport(inner: Any, handle: str) -> ConfigurationError:
    return ConfigurationError(
        f"inner: expected an httpx transport with {handle}(), not {type(inner).__name__}"
    )


def _is_for_token(request: httpx.Request) -> bool:
    """Return whether a request asks a server of tokens: it has secrets, and so has the answer."""
    return getattr(request.extensions.get(ATTEMPT), "is_for_token", False)


def sent_of(request: httpx.Request, body: bytes) -> Sent:
    """Return the request as a cassette compares it."""
    url = str(request.url)
    if UPGRADE in request.extensions:
        url = session_url(url)
    return Sent(request.method, url, request.headers.multi_items(), body)
