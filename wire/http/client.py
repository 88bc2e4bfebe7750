"""The client for threads.

It only sends, reads, sleeps and closes; decisions are in `core` and `sending.py`. `aio.py` has the
same client for asyncio and trio.
"""

from __future__ import annotations

import collections
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import httpx

from wire.core.arguments import checked_names
from wire.core.call import Answer, Call, Chunk, Received, Sent, SocketCall, StreamCall, Timeouts
from wire.core.errors import ConfigurationError, WireError, typed_at_the_end
from wire.core.exchange import Pause
from wire.core.flow import Flow, FlowRun
from wire.core.incoming import Incoming
from wire.core.limits import Limits
from wire.core.retry import Retry
from wire.core.secret import Headers, Secret, sealed, sealed_object
from wire.core.stream_block import ForThreads, stream_block
from wire.http.asking import AskingForThreads
from wire.http.httpx_lane import send_in_time
from wire.http.lanes import Lanes
from wire.http.network import HTTPClient, Style, Transport, opened
from wire.http.sending import (
    DRAIN_SECONDS,
    TRANSPORT_ERRORS,
    Attempt,
    ClientState,
    StreamState,
    second_reader,
)
from wire.http.target import TRANSPORT_METHODS, Token, options_of, seal, target
from wire.http.watchdog import await_signal

if TYPE_CHECKING:
    from wire.around.seam import AroundFunction, Wait
    from wire.auth.credential import Credential
    from wire.http.granting import Request
    from wire.http.links import Socket
    from wire.http.socket_lanes import SocketLanes
    from wire.http.surrounding import Action, Steps
    from wire.neutral.models import ListedModel

T = TypeVar("T")

_STYLE = Style(Lanes, "handle_request", httpx.Client, send_in_time)


class Stream(ForThreads, StreamState[Chunk, Answer]):
    """Iterates over the chunks of one streamed response, once.

    `result()` reads to the end and returns what the plain call would return. `partial()` returns
    the result so far.
    """

    __slots__ = ("_body", "_reader", "_reads", "_run")

    def __init__(
        self,
        attempt: Attempt,
        incoming: Incoming[Chunk, Answer],
        body: httpx.SyncByteStream,
        run: Callable[..., Any],
    ) -> None:
        super().__init__(attempt, incoming)
        self._run = run
        self._body = body
        self._reads = iter(body)
        self._reader: dict[None, tuple[int]] = {}
        """The number of the thread that reads or closes the stream, or nothing: a second one would
        fail inside the transport and break the stream of the first. `setdefault` takes the place in
        one step, and tells whose it is.
        """

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Chunk:
        incoming = self._incoming
        while True:
            while not incoming.ready:
                if incoming.over:
                    incoming.check()
                    raise StopIteration
                self._read()
            try:
                return incoming.ready.pop()
            except IndexError:
                pass  # another thread has closed the stream

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

    def close(self) -> None:
        """End this stream alone, at any moment and from any thread; other streams go on.

        A thread that waits in `next` or `result` gets a `StreamIncomplete`, whose `partial` is the
        result so far, and so does each later read. On a transport that shares a connection or shows
        none, such as HTTP/2, it gets it with the next data or clock. Closing twice has no effect.
        """
        self._closed = True
        mine = (threading.get_ident(),)
        if self._reader.setdefault(None, mine) is not mine:
            self._attempt.stop()  # its reader wakes, and closes the stream
            return
        try:
            self._finish()
        finally:
            self._reader.clear()

    def _begin(self) -> Self:
        while not (self._incoming.ready or self._incoming.over):
            self._read()
        if not self._incoming.ready:
            self._incoming.check()
        return self

    def _read(self) -> None:
        attempt, incoming = self._attempt, self._incoming
        mine = (threading.get_ident(),)
        if self._reader.setdefault(None, mine) is not mine:
            # The thread that closes the stream has the place before the stream is over.
            raise incoming.left() if self._closed else second_reader()
        try:
            try:
                attempt.arm()
                data = next(self._reads, None)
            except TRANSPORT_ERRORS as cause:
                if not self._closed:
                    attempt.read(incoming, None, cause)
            else:
                if data is not None or not self._closed:
                    attempt.read(incoming, data)
            if (call := incoming.resumption) is not None and not self._closed:
                self._resume(attempt.resumed(call, broke_off=incoming.broke_off))
        finally:
            self._reader.clear()
            if self._closed:
                self.close()

    def _resume(self, attempt: Attempt) -> None:
        """Continue the stream with the body of another call."""
        _close(self._attempt, self._body)
        attempt.stops = queue.SimpleQueue()
        self._attempt = attempt
        try:
            if not self._closed:  # otherwise `close` may have stopped the attempt before this one
                self._run(attempt, self._reopen)
        except WireError as error:
            if not self._closed:
                attempt.give_up(self._incoming, error)

    def _reopen(self, attempt: Attempt, response: httpx.Response) -> None:
        attempt.reopen(self._incoming)
        self._body = _body(response)
        self._reads = iter(self._body)

    def _close(self) -> None:
        """Close the stream at the end of its block."""
        if self._reader.get(None) == (threading.get_ident(),):
            self._finish()  # this thread read until an interrupt, which may leave its mark
        else:
            self.close()

    def _finish(self) -> None:
        try:
            self._leave()
            if self._incoming.drains:
                self._drain()
        finally:
            _close(self._attempt, self._body)

    def _drain(self) -> None:
        """Read the end of the body (R-25)."""
        self._incoming.drains = False
        watch = self._attempt.watch
        if watch.connection is None:
            return  # nothing could interrupt the read
        watch.deadline = time.monotonic() + DRAIN_SECONDS
        watch.start()
        if not watch.is_watched:
            return  # no watchdog: the interpreter ends, or cannot start a thread
        try:
            collections.deque(self._reads, 0)
        except TRANSPORT_ERRORS:
            pass


def _body(response: httpx.Response) -> httpx.SyncByteStream:
    return cast(httpx.SyncByteStream, response.stream)


def _close(attempt: Attempt, body: httpx.SyncByteStream) -> None:
    try:
        attempt.watch.end()
    finally:
        try:
            body.close()
        except TRANSPORT_ERRORS:
            pass  # the lane is dropped, so an error while closing it has no effect


def _sleep(attempt: Attempt, seconds: float) -> None:
    if attempt.stops is None:
        time.sleep(seconds)
    elif seconds > 0:
        await_signal(attempt.stops, seconds)


def _wait(wait: Wait) -> None:
    woken = threading.Event()
    wait.signal.when_set(woken.set)
    try:
        woken.wait(wait.seconds)
    finally:
        wait.signal.forget(woken.set)


class Client(ForThreads, AskingForThreads, ClientState):
    """A client for one provider and one key, for threads.

    >>> with Client("gemini", api_key="fake-key") as client:
    ...     client.describe()["base_url"]
    'https://generativelanguage.googleapis.com/v1beta'

    Raises `ConfigurationError` that names the option; a missing key is an error of the first call.

    Args:
        name: Name of the provider, such as `gemini`, `openai` or `kimi@cn`; any other name with
            `base_url` is a host of chat completions.
        http: A transport or a client of httpx or httpx2, or `"auto"` for connections of its own. It
            is closed with this client.
        api_key: Replaces the provider's environment variable, such as `OPENAI_API_KEY`.
        base_url: Replaces the provider's environment variable (`OPENAI_BASE_URL`), which replaces
            the vendor's host. Scheme, host and the path before the endpoint's
            (`/chat/completions`). The endpoint's path is removed from its end, and so is the
            version for Gemini and Anthropic; `describe()` tells the result.
        timeouts: Seconds. A number limits each single wait: for a connection, for the response
            headers, and between two events or reads; the whole call with its retries still ends
            after 900 s. `None`: no limit at all. `Timeouts(...)` sets each limit; its defaults are
            `connect` 10 s, `first_byte` 300 s, `idle` 120 s, `total` 900 s.
        retry: When to send a failed request again. By default 3 attempts, with waits of up to 1 s,
            then 2 s, or as long as the server asks for, up to 60 s. `None`: one attempt only.
        headers: Further headers of each request. Values that look like keys are shown nowhere.
        limits: Largest sizes of what is received. `None`: the defaults, such as 256 MiB for a body.
        version: Version of the API, if the path or a header contains one. By default, that of the
            provider.
        project: Project of Google Cloud, such as for `gemini@vertex`; replaces
            `GOOGLE_CLOUD_PROJECT`.
        location: Region of Google Cloud, such as for `gemini@vertex`: `europe-west4`, `us`, `eu` or
            `global`; replaces `GOOGLE_CLOUD_LOCATION`.
        region: Region of AWS, such as for `bedrock@invoke`: `us-east-1`; replaces `AWS_REGION`.
        resource: Name of a resource of Azure, such as for `azure`: the first label of its host.
        workspace: Id of a workspace at Anthropic, for `anthropic@aws` and `anthropic@google`.
        account: Id of an account, such as for `cloudflare`.
        token: Function that returns a bearer token, in place of `api_key`. Called before each
            attempt. An `AsyncClient` also accepts an async function.
        credentials: What heads or signs each attempt in place of a key: a value of `wire.auth`,
            such as `SigV4`, or the name of a source, such as `aws` or `aws:profile`. By default,
            the hosts of clouds look where the clients of their vendors do, if there is no key.
        dialect: The `Dialect` of the host; replaces that of its row.
        plain_http: True permits a key over unencrypted http to a host that is not loopback, such as
            one in your own network. Everyone on the way can read the key and the conversation.
        trust_env: False ignores the proxies of the environment, `SSL_CERT_FILE`, `SSL_CERT_DIR` and
            `SSLKEYLOGFILE`. A transport given as `http=` has a setting of its own.
        idempotency_header: Name of a header that carries an id: a new one for each call, the same
            on all its attempts. A gateway that knows the header, such as `Idempotency-Key`, does
            not run a repeated request twice.
        connection: `http`, or `socket`: requests of OpenAI's Responses follow each other on a
            WebSocket, each with only what is new in it; all others go over HTTP. It needs the extra
            `[live]`.
        around: A function, or several, that see each call and may change, answer, delay or refuse
            it; see `wire.around`.
    """

    @checked_names(seal=seal)
    def __init__(
        self,
        name: str,
        *,
        http: Transport | HTTPClient | str = "auto",
        api_key: str | Secret | None = None,
        base_url: str | None = None,
        timeouts: Timeouts | float | None = Timeouts(),
        retry: Retry | None = Retry(),
        headers: Headers | None = None,
        limits: Limits | None = None,
        version: str | None = None,
        project: str | None = None,
        location: str | None = None,
        region: str | None = None,
        resource: str | None = None,
        workspace: str | None = None,
        account: str | None = None,
        token: Token | None = None,
        credentials: Credential | str | None = None,
        dialect: Any = None,
        plain_http: bool = False,
        trust_env: bool = True,
        idempotency_header: str | None = None,
        connection: str = "http",
        around: AroundFunction | Sequence[AroundFunction] | None = None,
    ) -> None:
        options = options_of(locals())
        # Before anything can raise: tracebacks show the arguments of this frame.
        name, http = sealed(name), sealed_object(http, *TRANSPORT_METHODS)
        super().__init__(target(name, options))
        if self._target.token is not None and self._target.token.is_async:
            raise ConfigurationError("token: an async function needs AsyncClient")
        held = self._target.credentials
        if held is not None and held.credential.is_async:
            raise ConfigurationError("credentials: an async function needs AsyncClient")
        self._http, self._handle = opened(http, self._target.trust_env, _STYLE)
        self._sockets: SocketLanes | None = None
        if self._target.connection == "socket":
            from wire.http.socket_lanes import on_sockets  # only few clients have it

            limits = self._target.limits
            self._sockets, self._handle = on_sockets(self._http, self._handle, limits)
        # Not seeded: forked children would all wait equally long before their retries.
        self._dice = SystemRandom()

    def send(self, call: Call[Answer]) -> Answer:
        """Send one call and return its result.

        Raises the `wire.WireError` of the failure.
        """
        answer: Answer
        try:
            if self._around:
                from wire.http.surrounding import steps_around  # only few clients have it

                answer = self._surrounded(steps_around(self, call, Call), self._whole)
            else:
                attempt = Attempt(self._target, call, self._http, kind=Call)
                answer = self._run(attempt, self._whole)
        except Exception as raised:
            typed_at_the_end(raised)
            raise
        if call.follow is not None and (flow := call.follow(call, answer)) is not None:
            answer = self.run(flow)
        return answer

    @stream_block("with client.stream(call) as chunks:")
    def stream(self, call: StreamCall[Chunk, Answer]) -> Iterator[Stream[Chunk, Answer]]:
        """Send one call; the block begins when the first event has arrived.

        Leaving the block closes the stream.
        """
        stream: Stream[Chunk, Answer]
        try:
            if self._around:
                from wire.http.surrounding import steps_around  # only few clients have it

                steps = steps_around(self, call, StreamCall)
                stream = self._surrounded(steps, self._chunks)
            else:
                attempt = Attempt(self._target, call, self._http, kind=StreamCall)
                stream = self._run(attempt, self._chunks)
        except Exception as raised:
            typed_at_the_end(raised)
            raise
        try:
            yield stream
        finally:
            try:
                stream._close()
            except BaseException:  # such as an interrupt before the body was closed
                _close(stream._attempt, stream._body)
                raise

    @stream_block("with client.connect(call) as socket:")
    def connect(self, call: SocketCall[Sent, Received]) -> Iterator[Socket[Sent, Received]]:
        """Open a WebSocket session; the block begins when it is open.

        `socket.send(event)` sends, and `for event in socket.events()` receives. Leaving the block
        ends the session. The time limits `connect` and `first_byte`, retries and `total` are those
        of the opening; `idle` limits the silence of an open session, in which pings of the server
        are no silence. Functions of `around=` see a session as one call; see `wire.around`.

        Raises `ConfigurationError` if the extra `[live]` is not installed.
        """
        from wire.http.links import Socket  # only few clients open one

        socket: Socket[Sent, Received]
        if self._around:
            from wire.http.surrounding import steps_around  # only few clients have it

            socket = self._surrounded(steps_around(self, call, SocketCall), Socket)
        else:
            attempt = Attempt(self._target, call, self._http, kind=SocketCall)
            socket = self._run(attempt, Socket)
        try:
            yield socket
        finally:
            socket.close()

    def run(self, flow: Flow[Answer]) -> Answer:
        """Run the calls and pauses of a flow and return its result.

        Raises the `wire.WireError` of the failure.
        """
        with FlowRun(flow, self.preview) as running:
            while running.step is not None:
                running.tell(self._done(running.step))
        return running.answer

    def models(self) -> Iterator[ListedModel]:
        """Yield the models that the provider lists, from all pages.

        Each page is read when it is needed.

        >>> from wire.testing.emulator import EmulatorTransport
        >>> with Client("openai", api_key="fake-key", http=EmulatorTransport()) as client:
        ...     [model.id for model in client.models()][:2]
        ['gpt-6.2-astra', 'gpt-6.2-sol']

        Raises the `wire.WireError` of the failure, and `ConfigurationError` for a provider without
        such a list, such as Vertex.
        """
        pages = self._model_pages()
        while pages.call is not None:
            yield from pages.read(self.send(pages.call))

    def close(self) -> None:
        """Close all connections. Open streams end in an error; later calls raise
        `ConfigurationError`. Closing twice has no effect.
        """
        self._closed = True
        if self._sockets is not None:
            self._sockets.close()
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

    def _surrounded(self, steps: Steps, receive: Callable[[Attempt, httpx.Response], Any]) -> Any:
        """Carry out the steps of a call with `around`."""
        from wire.http.surrounding import StepsRun

        with StepsRun(steps) as running:
            while running.step is not None:
                try:
                    outcome = self._carried_out(running.step, receive)
                except WireError as error:
                    outcome = error
                running.tell(outcome)
        return running.answer

    def _carried_out(self, step: Action, receive: Callable[[Attempt, httpx.Response], Any]) -> Any:
        from wire.http.surrounding import Given

        if isinstance(step, Attempt):
            return self._attempt(step, receive)
        if isinstance(step, Pause):
            return time.sleep(step.seconds)
        if isinstance(step, Call):
            attempt = Attempt(self._target, step, self._http, kind=Call)
            return self._run(attempt, self._whole)
        if isinstance(step, Given):
            return Stream(step.attempt, step.incoming, httpx.ByteStream(b""), self._run)
        return _wait(step)

    def _run(self, attempt: Attempt, receive: Callable[[Attempt, httpx.Response], T]) -> T:
        if attempt.around is not None:  # of a stream that continues
            again = attempt.around.attempts(attempt, self._dice)
            continued: T = self._surrounded(again, receive)
            return continued
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
            _sleep(attempt, attempt.paused(pause))
            next(steps)

    def _attempt(self, attempt: Attempt, receive: Callable[[Attempt, httpx.Response], T]) -> T:
        self._require_open()
        source = self._target.token
        token = None if source is None else Secret.unchecked(source()).check("token")
        if attempt.target.credentials is not None and not attempt.call.url:
            self._grant(attempt)
        request = attempt.request(token)
        try:
            attempt.watch.start()
            response = self._handle(request)
        except BaseException as cause:
            attempt.watch.end()
            if isinstance(cause, TRANSPORT_ERRORS):
                raise attempt.lost(cause) from cause
            raise
        try:
            if attempt.head(response):
                return receive(attempt, response)
            raise attempt.refused(response, self._gather(attempt, response, error=True))
        except BaseException:
            _close(attempt, _body(response))
            raise

    def _grant(self, attempt: Attempt) -> None:
        """Get what heads or signs an attempt, of a client with credentials."""
        from wire.http.granting import Granting  # only few clients have them

        with Granting(attempt) as granting:
            while (step := granting.step) is not None:
                try:
                    outcome = self._granted(step)
                except WireError as error:
                    outcome = error
                granting.tell(outcome)

    def _granted(self, step: Request) -> Any:
        """Carry out a step of a credential."""
        if isinstance(step, Attempt):
            return self._attempt(step, self._whole)
        from wire.auth.credential import Work

        return step.function() if isinstance(step, Work) else _wait(step)

    def _whole(self, attempt: Attempt, response: httpx.Response) -> Any:
        body = self._gather(attempt, response)
        _close(attempt, _body(response))
        return attempt.answer(body)

    def _chunks(self, attempt: Attempt, response: httpx.Response) -> Any:
        return Stream(attempt, attempt.incoming(), _body(response), self._run)._begin()

    def _gather(self, attempt: Attempt, response: httpx.Response, *, error: bool = False) -> bytes:
        reader = attempt.body_reader(error=error)
        try:
            attempt.arm(event=True)
            for data in _body(response):
                if not reader.feed(data):
                    break
                attempt.arm(event=True)
            attempt.disarm()
        except TRANSPORT_ERRORS as cause:
            if not error:
                raise attempt.lost(cause, reader) from cause
        return reader.content()
