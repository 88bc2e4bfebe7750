"""The client for threads.

It only sends, reads, sleeps and closes; decisions are in `core` and `sending.py`. `aio.py` has the
same client for asyncio and trio.
"""

from __future__ import annotations

import collections
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import SystemRandom
from typing import Any, Self, TypeVar, Unpack, cast

import httpx

from wire.core.call import Answer, Call, Chunk, StreamCall
from wire.core.exchange import Pause
from wire.core.flow import Flow, FlowRun
from wire.core.incoming import Incoming
from wire.core.secret import Secret
from wire.errors import ConfigurationError, WireError
from wire.http.lanes import Lanes
from wire.http.network import opened
from wire.http.sending import (
    DRAIN_SECONDS,
    TRANSPORT_ERRORS,
    AnyCall,
    Attempt,
    ClientState,
    StreamState,
)
from wire.http.target import Options, target

T = TypeVar("T")


class Stream(StreamState[Chunk, Answer]):
    """Iterates over the chunks of one streamed response, once.

    `result()` reads to the end and returns what the plain call would return. `partial()` returns
    the result so far.
    """

    def __init__(
        self, attempt: Attempt, incoming: Incoming[Chunk, Answer], body: httpx.SyncByteStream
    ) -> None:
        super().__init__(attempt, incoming)
        self._body = body
        self._reads = iter(body)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Chunk:
        incoming = self._incoming
        while not incoming.ready:
            if incoming.over:
                incoming.check()
                raise StopIteration
            self._read()
        return incoming.ready.popleft()

    def result(self) -> Answer:
        """Read to the end and return what the plain call would return; the same object each time.

        Chunks that were not iterated over are skipped. Raises the error that ended the stream, the
        same one each time, and `StreamIncomplete` if the `with` block was left before the end. The
        `partial` of the error is the result so far.
        """
        while not self._incoming.over:
            self._read()
            self._incoming.ready.clear()
        return self._incoming.result()

    def _begin(self) -> Self:
        while not (self._incoming.ready or self._incoming.over):
            self._read()
        if not self._incoming.ready:
            self._incoming.check()
        return self

    def _read(self) -> None:
        attempt, began = self._attempt, time.monotonic()
        with self._one_reader:
            try:
                data = next(self._reads, None)
            except TRANSPORT_ERRORS as cause:
                self._incoming.lost(attempt.lost(cause))
            else:
                attempt.read(self._incoming, data, began)

    def _close(self) -> None:
        self._incoming.abandon()
        try:
            if self._incoming.drains:
                self._drain()
        finally:
            _close(self._body)

    def _drain(self) -> None:
        """Read the end of the body (R-25).

        A read in a thread cannot be interrupted, so a timer shuts the connection down.
        """
        abort: Callable[[], None] | None = getattr(self._body, "abort", None)
        if abort is None:
            return
        late = threading.Timer(DRAIN_SECONDS, abort)
        late.daemon = True
        late.start()
        try:
            collections.deque(self._reads, 0)
        except TRANSPORT_ERRORS:
            pass
        finally:
            late.cancel()
            late.join()


def _body(response: httpx.Response) -> httpx.SyncByteStream:
    return cast(httpx.SyncByteStream, response.stream)


def _close(body: httpx.SyncByteStream) -> None:
    try:
        body.close()
    except TRANSPORT_ERRORS:
        pass  # the lane is dropped, so an error while closing it has no effect


class Client(ClientState):
    """A client for one provider and one key, for threads.

    >>> with Client("gemini", api_key="fake-key") as client:
    ...     client.describe()["base_url"]
    'https://generativelanguage.googleapis.com/v1beta'

    `http` is an httpx transport, an httpx client, or "auto"; it is closed with this client. The
    other options are those of `wire.http.target.Options`. Raises `ConfigurationError` that names
    the option; a missing key is an error of the first call.
    """

    def __init__(
        self,
        name: str,
        *,
        http: httpx.BaseTransport | httpx.Client | str = "auto",
        **options: Unpack[Options],
    ) -> None:
        super().__init__(target(name, options))
        if inspect.iscoroutinefunction(self._target.token):
            raise ConfigurationError("token: an async function needs AsyncClient")
        self._http, self._handle = opened(
            http, self._target.trust_env, Lanes, "handle_request", httpx.Client
        )
        # Not seeded: forked children would all wait equally long before their retries.
        self._dice = SystemRandom()

    def send(self, call: Call[Answer]) -> Answer:
        """Send one call and return its result.

        Raises the `wire.WireError` of the failure.
        """
        answer: Answer = self._run(self._target.accept(call, Call), self._whole)
        return answer

    @contextmanager
    def stream(self, call: StreamCall[Chunk, Answer]) -> Iterator[Stream[Chunk, Answer]]:
        """Send one call; the block begins when the first event has arrived.

        Leaving the block closes the stream.
        """
        stream: Stream[Chunk, Answer] = self._run(
            self._target.accept(call, StreamCall), self._chunks
        )
        try:
            yield stream
        finally:
            stream._close()

    def run(self, flow: Flow[Answer]) -> Answer:
        """Run the calls and pauses of a flow and return its result.

        Raises the `wire.WireError` of the failure.
        """
        with FlowRun(flow) as running:
            while running.step is not None:
                running.tell(self._done(running.step))
        return running.answer

    def close(self) -> None:
        """Close all connections. Open streams end in an error; later calls raise
        `ConfigurationError`. Closing twice has no effect.
        """
        self._closed = True
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _done(self, step: Call[Any] | Pause) -> Any:
        try:
            return time.sleep(step.seconds) if isinstance(step, Pause) else self.send(step)
        except WireError as error:
            return error

    def _run(self, call: AnyCall, receive: Callable[[Attempt, httpx.Response], T]) -> T:
        attempt = Attempt(self._target, call)
        steps = attempt.steps(self._dice, self._budgets)
        next(steps)
        while True:
            try:
                answer = self._attempt(attempt, receive)
            except WireError as error:
                pause = steps.send(attempt.failed(error))
            else:
                next(steps, None)
                return answer
            time.sleep(attempt.paused(pause))
            next(steps)

    def _attempt(self, attempt: Attempt, receive: Callable[[Attempt, httpx.Response], T]) -> T:
        self._require_open()
        token = self._target.token and Secret.unchecked(self._target.token()).check("token")
        try:
            response = self._handle(attempt.request(token))
        except TRANSPORT_ERRORS as cause:
            raise attempt.lost(cause) from cause
        try:
            if attempt.head(response):
                return receive(attempt, response)
            raise attempt.refused(response, self._gather(attempt, response, error=True))
        except BaseException:
            _close(_body(response))
            raise

    def _whole(self, attempt: Attempt, response: httpx.Response) -> Any:
        body = self._gather(attempt, response)
        _close(_body(response))
        return attempt.answer(body)

    def _chunks(self, attempt: Attempt, response: httpx.Response) -> Any:
        return Stream(attempt, attempt.incoming(response), _body(response))._begin()

    def _gather(self, attempt: Attempt, response: httpx.Response, *, error: bool = False) -> bytes:
        reader = attempt.body_reader(response, error=error)
        try:
            for data in _body(response):
                if not reader.feed(data):
                    break
        except TRANSPORT_ERRORS as cause:
            if not error:
                raise attempt.lost(cause) from cause
        return reader.content()
