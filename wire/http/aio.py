"""The client for asyncio and trio.

It only sends, reads, sleeps and closes; decisions are in `core` and `sending.py`. `client.py` has
the same client for threads.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

import anyio
import httpx

from wire.core.arguments import checked_names
from wire.core.call import Answer, Call, Chunk, Received, Sent, SocketCall, StreamCall, Timeouts
from wire.core.errors import ConfigurationError, WireError
from wire.core.exchange import Pause
from wire.core.flow import Flow, FlowRun
from wire.core.incoming import Incoming
from wire.core.limits import Limits
from wire.core.retry import Retry
from wire.core.secret import Headers, Secret, sealed, sealed_object
from wire.core.stream_block import Block, ForTasks, async_stream_block
from wire.http.asking import AskingForTasks
from wire.http.async_httpx_lane import async_send_in_time
from wire.http.async_lanes import AsyncLanes
from wire.http.network import AsyncHTTPClient, AsyncTransport, Style, opened
from wire.http.sending import (
    DRAIN_SECONDS,
    TRANSPORT_ERRORS,
    Attempt,
    ClientState,
    StreamState,
    second_reader,
)
from wire.http.target import TRANSPORT_METHODS, Target, Token, options_of, seal, target

if TYPE_CHECKING:
    from wire.around.seam import AroundFunction
    from wire.auth.credential import Credential
    from wire.http.async_links import AsyncSocket
    from wire.http.async_socket_lanes import AsyncSocketLanes
    from wire.http.granting import Request
    from wire.http.surrounding import Action, Steps
    from wire.neutral.models import ListedModel

T = TypeVar("T")

_STYLE = Style(AsyncLanes, "handle_async_request", httpx.AsyncClient, async_send_in_time)


class AsyncStream(ForTasks, StreamState[Chunk, Answer]):
    """Iterates over the chunks of one streamed response, once.

    `result()` reads to the end and returns what the plain call would return. `partial()` returns
    the result so far.
    """

    __slots__ = ("_body", "_client", "_is_being_read", "_reads", "_scope")

    def __init__(
        self,
        attempt: Attempt,
        incoming: Incoming[Chunk, Answer],
        body: httpx.AsyncByteStream,
        client: AsyncClient,
    ) -> None:
        super().__init__(attempt, incoming)
        self._client = client
        self._body = body
        self._reads: Any = aiter(body)
        self._is_being_read = False
        self._scope: anyio.CancelScope | None = None
        """That of a wait that shutting the socket down would not end."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        incoming = self._incoming
        while not incoming.ready:
            if incoming.over:
                incoming.check()
                raise StopAsyncIteration
            await self._read()
        return incoming.ready.pop()

    async def result(self) -> Answer:
        """Read to the end and return what the plain call would return; the same object each time.

        Chunks that were not iterated over are skipped. Raises the error that ended the stream, the
        same one each time, and `StreamIncomplete` if the `with` block was left before the end. The
        `partial` of the error is the result so far.
        """
        while not self._incoming.over:
            await self._read()
            self._incoming.ready.clear()
        return self._incoming.result()

    async def aclose(self) -> None:
        """End this stream alone, at any moment and from any task; other streams go on.

        A task that waits in `anext` or `result` gets a `StreamIncomplete`, whose `partial` is the
        result so far, and so does each later read. Closing twice has no effect.
        """
        if not self.stop():
            await self._finish()

    def stop(self) -> bool:
        """Wake the task that reads this stream, which closes it; return whether one reads.

        That read and each later one raise `StreamIncomplete`. Call it in the thread of the event
        loop, where `aclose` cannot be awaited.
        """
        self._closed = True
        if not self._is_being_read:
            return False
        self._attempt.stop()
        if self._scope is not None:
            self._scope.cancel()
        return True

    async def _begin(self) -> Self:
        while not (self._incoming.ready or self._incoming.over):
            await self._read()
        if not self._incoming.ready:
            self._incoming.check()
        return self

    async def _read(self) -> None:
        attempt, incoming = self._attempt, self._incoming
        if self._is_being_read:
            raise second_reader()
        self._is_being_read = True
        try:
            try:
                reads = self._reads
                if attempt.watch.connection is not None and hasattr(reads, "arrival"):
                    attempt.arm()  # does the work of `_next` without two coroutines for each read
                    while (arrival := reads.arrival()) is not None:
                        await arrival
                    data = reads.take()
                else:
                    data = await _next(attempt, reads, self)
            except TRANSPORT_ERRORS as cause:
                if not self._closed:
                    attempt.read(incoming, None, cause)
            else:
                if data is not None or not self._closed:
                    attempt.read(incoming, data)
            if (call := incoming.resumption) is not None and not self._closed:
                await self._resume(attempt.resumed(call, broke_off=incoming.broke_off))
        finally:
            self._is_being_read, self._scope = False, None
            if self._closed:
                await self._finish()

    async def _resume(self, attempt: Attempt) -> None:
        """Continue the stream with the body of another call."""
        await _close(self._attempt, self._reads, self._body)
        self._attempt = attempt
        try:
            with anyio.CancelScope() as self._scope:
                if not self._closed:  # otherwise `aclose` came before there was a scope
                    await self._client._run(attempt, self._reopen)
        except WireError as error:
            if not self._closed:
                attempt.give_up(self._incoming, error)

    async def _reopen(self, attempt: Attempt, response: httpx.Response) -> None:
        attempt.reopen(self._incoming)
        self._body = _body(response)
        self._reads = aiter(self._body)

    async def _finish(self) -> None:
        try:
            self._leave()
            if self._incoming.drains:
                await self._drain()
        finally:
            await _close(self._attempt, self._reads, self._body)

    async def _drain(self) -> None:
        """Read the end of the body (R-25)."""
        self._incoming.drains = False
        try:
            with anyio.move_on_after(DRAIN_SECONDS):
                async for _ in self._reads:
                    pass
        except TRANSPORT_ERRORS:
            pass


class _StreamBlock(Block, Generic[Chunk, Answer]):
    """The block of `AsyncClient.stream`.

    Not a generator: it would be one more object for each stream, which the event loop keeps a
    weak reference to.
    """

    __slots__ = ("_call", "_client", "_stream")

    line = "async with client.stream(call) as chunks:"
    __enter__ = __exit__ = Block._refuse

    def __init__(self, client: AsyncClient, call: StreamCall[Chunk, Answer]) -> None:
        self._client, self._call = client, call
        self._stream: AsyncStream[Chunk, Answer] | None = None

    async def __aenter__(self) -> AsyncStream[Chunk, Answer]:
        if self._stream is not None:
            raise ConfigurationError("stream: the block was entered before; make a new one")
        client, call = self._client, self._call
        stream: AsyncStream[Chunk, Answer]
        if client._around:
            from wire.http.surrounding import steps_around  # only few clients have it

            steps = steps_around(client, call, StreamCall)
            stream = await client._surrounded(steps, client._chunks)
        else:
            attempt = Attempt(client._target, call, client._http, kind=StreamCall)
            stream = await client._run(attempt, client._chunks)
        self._stream = stream
        return stream

    async def __aexit__(self, *_: object) -> None:
        assert self._stream is not None
        stream = self._stream
        await (stream.aclose() if stream._is_being_read else stream._finish())


def _body(response: httpx.Response) -> httpx.AsyncByteStream:
    return cast(httpx.AsyncByteStream, response.stream)


async def _next(
    attempt: Attempt, reads: AsyncIterator[bytes], stream: AsyncStream[Any, Any] | None = None
) -> bytes | None:
    """Read the next data of a body; `None` at its end, or if the stream is closed meanwhile."""
    attempt.arm()
    try:
        if attempt.watch.connection is not None:  # the watchdog wakes the read
            return await reads.__anext__()
        with anyio.fail_after(attempt.until_deadline) as scope:
            if stream is not None:
                stream._scope = scope
            return await reads.__anext__()
    except StopAsyncIteration:
        pass
    return None


async def _close(attempt: Attempt, *bodies: Any) -> None:
    """Close a body after the iterator over it.

    trio warns about an iterator that is left to the garbage collector.
    """
    attempt.watch.end()
    for body in bodies:
        if not getattr(body, "give_back", _is_open)():
            break
    else:
        return  # without the scope below, which costs as much as a read
    with anyio.CancelScope(shield=True):
        for body in bodies:
            close = getattr(body, "aclose", None)  # not every iterator has one
            try:
                await close() if close else None
            except TRANSPORT_ERRORS:
                pass  # the lane is dropped, so an error while closing it has no effect


def _is_open() -> bool:
    """Return whether the body is open; one without `give_back` has to be closed."""
    return False


class AsyncClient(ForTasks, AskingForTasks, ClientState):
    """A client for one provider and one key, for asyncio and trio; see `wire.Client`.

    Several event loops may use it; each opens connections of its own.

    A pool of httpx or httpx2 loses places when calls are cancelled or TLS fails
    (encode/httpcore#1093, #1023). This client gives them back after each of its calls that fails;
    calls of others on the same pool may still lose some.

    >>> async def main() -> str:
    ...     async with AsyncClient("gemini", api_key="fake-key") as client:
    ...         return client.describe()["base_url"]
    >>> anyio.run(main)
    'https://generativelanguage.googleapis.com/v1beta'

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
        http: AsyncTransport | AsyncHTTPClient | str = "auto",
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
        self._open(http, self._target.trust_env)  # sealed as in `Client`

    def _open(self, http: Any, trust_env: bool) -> None:
        self._http, self._handle = opened(http, trust_env, _STYLE)
        self._sockets: AsyncSocketLanes | None = None
        if self._target.connection == "socket":
            from wire.http.async_socket_lanes import on_sockets  # only few clients have it

            limits = self._target.limits
            self._sockets, self._handle = on_sockets(self._http, self._handle, limits)
        self._dice = SystemRandom()

    @classmethod
    def _of(cls, target: Target, http: Any) -> Self:
        """Build a client of a configuration that is checked."""
        client = cls.__new__(cls)
        ClientState.__init__(client, target)
        client._open(http, target.trust_env if isinstance(http, str) else True)
        return client

    async def send(self, call: Call[Answer]) -> Answer:
        """Send one call and return its result.

        Raises the `wire.WireError` of the failure.
        """
        answer: Answer
        if self._around:
            from wire.http.surrounding import steps_around  # only few clients have it

            answer = await self._surrounded(steps_around(self, call, Call), self._whole)
        else:
            attempt = Attempt(self._target, call, self._http, kind=Call)
            answer = await self._run(attempt, self._whole)
        if call.follow is not None and (flow := call.follow(call, answer)) is not None:
            answer = await self.run(flow)
        return answer

    def stream(
        self, call: StreamCall[Chunk, Answer]
    ) -> AbstractAsyncContextManager[AsyncStream[Chunk, Answer]]:
        """Send one call; the block begins when the first event has arrived.

        Leaving the block closes the stream.
        """
        return _StreamBlock(self, call)

    @async_stream_block("async with client.connect(call) as socket:")
    async def connect(
        self, call: SocketCall[Sent, Received]
    ) -> AsyncIterator[AsyncSocket[Sent, Received]]:
        """Open a WebSocket session; the block begins when it is open. As `Client.connect`."""
        from wire.http.async_links import open_socket  # only few clients open one

        socket: AsyncSocket[Sent, Received]
        if self._around:
            from wire.http.surrounding import steps_around  # only few clients have it

            socket = await self._surrounded(steps_around(self, call, SocketCall), open_socket)
        else:
            attempt = Attempt(self._target, call, self._http, kind=SocketCall)
            socket = await self._run(attempt, open_socket)
        try:
            yield socket
        finally:
            await socket.aclose()

    async def run(self, flow: Flow[Answer]) -> Answer:
        """Run the calls and pauses of a flow and return its result.

        Raises the `wire.WireError` of the failure.
        """
        with FlowRun(flow, self.preview) as running:
            while running.step is not None:
                running.tell(await self._done(running.step))
        return running.answer

    async def models(self) -> AsyncIterator[ListedModel]:
        """Yield the models that the provider lists, from all pages, as `Client.models`."""
        pages = self._model_pages()
        while pages.call is not None:
            for model in pages.read(await self.send(pages.call)):
                yield model

    async def aclose(self) -> None:
        """Close all connections. Open streams end in an error; later calls raise
        `ConfigurationError`. Closing twice has no effect.

        Connections of another event loop are closed when that loop ends.
        """
        self._closed = True
        if self._sockets is not None:
            await self._sockets.aclose()
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            await self.aclose()

    async def _done(self, step: Call[Any] | Pause) -> Any:
        try:
            return await (anyio.sleep(step.seconds) if isinstance(step, Pause) else self.send(step))
        except WireError as error:
            return error

    async def _surrounded(
        self, steps: Steps, receive: Callable[[Attempt, httpx.Response], Awaitable[Any]]
    ) -> Any:
        """Carry out the steps of a call with `around`."""
        from wire.http.surrounding import StepsRun

        with StepsRun(steps) as running:
            while running.step is not None:
                try:
                    outcome = await self._carried_out(running.step, receive)
                except WireError as error:
                    outcome = error
                running.tell(outcome)
        return running.answer

    async def _carried_out(
        self, step: Action, receive: Callable[[Attempt, httpx.Response], Awaitable[Any]]
    ) -> Any:
        from wire.http.surrounding import Given

        if isinstance(step, Attempt):
            return await self._attempt(step, receive)
        if isinstance(step, Pause):
            return await anyio.sleep(step.seconds)
        if isinstance(step, Call):
            attempt = Attempt(self._target, step, self._http, kind=Call)
            return await self._run(attempt, self._whole)
        if isinstance(step, Given):
            return AsyncStream(step.attempt, step.incoming, httpx.ByteStream(b""), self)
        from wire.http.async_waiting import wait_for  # only functions of `around=` wait

        return await wait_for(step)

    async def _run(
        self, attempt: Attempt, receive: Callable[[Attempt, httpx.Response], Awaitable[T]]
    ) -> T:
        if attempt.around is not None:  # of a stream that continues
            again = attempt.around.attempts(attempt, self._dice)
            continued: T = await self._surrounded(again, receive)
            return continued
        steps = attempt.steps(self._dice, self._budgets)
        next(steps)
        while True:
            try:
                answer = await self._attempt(attempt, receive)
            except WireError as error:
                pause = steps.send(attempt.failed(error))
            else:
                next(steps, None)
                return answer
            await anyio.sleep(attempt.paused(pause))
            next(steps)

    async def _attempt(
        self, attempt: Attempt, receive: Callable[[Attempt, httpx.Response], Awaitable[T]]
    ) -> T:
        self._require_open()
        token = await self._token()
        if attempt.target.credentials is not None and not attempt.call.url:
            await self._grant(attempt)
        request = attempt.request(token)
        try:
            attempt.watch.start()
            response = await self._handle(request)
        except BaseException as cause:
            attempt.watch.end()
            if isinstance(cause, TRANSPORT_ERRORS):
                raise attempt.lost(cause) from cause
            raise
        try:
            if attempt.head(response):
                return await receive(attempt, response)
            raise attempt.refused(response, await self._gather(attempt, response, error=True))
        except BaseException:
            await _close(attempt, _body(response))
            raise

    async def _token(self) -> Secret | None:
        if self._target.token is None:
            return None
        token = self._target.token()
        return Secret.unchecked(await token if inspect.isawaitable(token) else token).check("token")

    async def _grant(self, attempt: Attempt) -> None:
        """Get what heads or signs an attempt, of a client with credentials."""
        from wire.http.granting import Granting  # only few clients have them

        with Granting(attempt) as granting:
            while (step := granting.step) is not None:
                try:
                    outcome = await self._granted(step)
                except WireError as error:
                    outcome = error
                granting.tell(outcome)

    async def _granted(self, step: Request) -> Any:
        """Carry out a step of a credential."""
        if isinstance(step, Attempt):
            return await self._attempt(step, self._whole)
        from wire.auth.credential import Work

        if not isinstance(step, Work):
            from wire.http.async_waiting import wait_for  # only few calls wait

            return await wait_for(step)
        if step.blocks:
            return await anyio.to_thread.run_sync(step.function, abandon_on_cancel=True)
        outcome = step.function()
        return await outcome if inspect.isawaitable(outcome) else outcome

    async def _whole(self, attempt: Attempt, response: httpx.Response) -> Any:
        body = await self._gather(attempt, response)
        await _close(attempt, _body(response))
        return attempt.answer(body)

    async def _chunks(self, attempt: Attempt, response: httpx.Response) -> Any:
        stream = AsyncStream(attempt, attempt.incoming(), _body(response), self)
        try:
            return await stream._begin()
        except BaseException:
            await stream._finish()  # its iterator too, about which trio would warn
            raise

    async def _gather(
        self, attempt: Attempt, response: httpx.Response, *, error: bool = False
    ) -> bytes:
        reader = attempt.body_reader(error=error)
        reads: Any = aiter(_body(response))
        try:
            while (data := await _next(attempt, reads)) is not None and reader.feed(data):
                attempt.arm(event=True)
                if getattr(reads, "is_whole", False):
                    data = None  # a direct lane knows the end without a read
                    break
            attempt.disarm()
            if data is not None:  # trio warns about a generator that is not read to its end
                await _close(attempt, reads)
        except TRANSPORT_ERRORS as cause:
            if not error:
                raise attempt.lost(cause, reader) from cause
        return reader.content()
