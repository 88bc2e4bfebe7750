"""Any client of Gemini, OpenAI, Anthropic, Bedrock or Ollama on models of any provider.

A request of a client is converted to a neutral request, sent to the backend, and the reply is
written as the client's vendor writes it. The paths and the error bodies of the vendors are those of
the emulator.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import msgspec

from wire.chat.chat import AsyncChat
from wire.core.arguments import checked_arguments
from wire.core.decoders import decoder
from wire.core.errors import (
    BlockedError,
    ConfigurationError,
    RuleError,
    Violation,
    WireError,
)
from wire.core.memory import Note
from wire.core.printable import printable_line
from wire.core.secret import Secret, sealed, type_name
from wire.http.aio import AsyncStream
from wire.neutral.messages import Done, Event, Message, Reply, Restart, ToolResult
from wire.neutral.request import Request, checked_request
from wire.neutral.serving import (
    ReceivedRequest,
    ReplyWriter,
    ResponseHead,
    accepted,
    encoded,
    left_out,
    passed_on,
)
from wire.serving.admission import refusal_of
from wire.serving.backends import Backends, facts_of
from wire.serving.embeddings import embedded
from wire.serving.endpoints import (
    COUNTING,
    FIXED,
    GENERATING,
    MODELS,
    REFUSED,
    SERVED,
    STREAMING,
    Api,
    wants_array,
)
from wire.serving.failures import failure_of
from wire.serving.forwarding import FORWARDED, Forwarding
from wire.serving.state import ClientIds, Remembered, packed, restored
from wire.testing.emulator.answer import Answer, LiveAnswer, json_answer
from wire.testing.emulator.forms import as_reference, verified
from wire.testing.emulator.limits import DEFAULT_LIMITS, EmulatorLimits
from wire.testing.emulator.received import Received, received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.vendor import Failure, Settings, Vendor, vendor_of
from wire.testing.emulator.vendors import VENDORS
from wire.wires.contract import WIRES
from wire.wires.served import EMBEDDING

_MAX_CALLS, _MAX_CALL_BYTES = 20_000, 64 << 20
_MAX_CONVERSATIONS, _MAX_CONVERSATION_BYTES = 2_000, 64 << 20
_FRAME_TOKENS = 4
"""Tokens around each message, and around the prompt: OpenAI's number of its chat models, which
also makes up for estimates that are rounded down."""
_MAX_NOTES, _MAX_NOTE_LETTERS = 20, 300


class _Conversation(msgspec.Struct, frozen=True):
    """Messages as the backend has them."""

    messages: tuple[Message, ...] = ()
    ids: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The backend's ids of calls by the client's."""


class _Exchange(msgspec.Struct, frozen=True):
    """One request of a client on its way."""

    api: Api
    backend: AsyncChat
    parsed: ReceivedRequest
    request: Request
    """The request for the backend."""
    ids: Mapping[str, str]
    """The backend's ids of the calls in the request by the client's."""
    client_ids: ClientIds
    head: ResponseHead
    writer: ReplyWriter
    received: Received
    vendor: Vendor
    route: Route

    @property
    def streams(self) -> bool:
        """Whether the client gets events. A stream of Gemini without `alt=sse` is a JSON array,
        which is sent when it is complete.
        """
        streams = self.parsed.stream or self.route.endpoint in STREAMING
        return streams and not wants_array(self.received, self.route)


class Gateway:
    """Answers requests of any vendor's clients with one model, or with several by their names.

    >>> from wire.testing.emulator import AsyncEmulatorTransport
    >>> Gateway(AsyncChat("anthropic:claude-sonnet-5", http=AsyncEmulatorTransport()))
    Gateway(anthropic:claude-sonnet-5)

    `backend` is an `AsyncChat`, whose client and model are used, or the name of a model, such as
    `anthropic:claude-sonnet-5`. With a name, a failed call is not repeated, since clients repeat
    it. Or it is a mapping of such backends by the names that clients ask for, which may end with
    `*`: `{"fast": "openai:gpt-5.4-mini", "claude-*": chat}`. An equal name comes first, then the
    first one that fits; a name that none fits is an unknown model. With `key`, clients must send
    it as the key of their vendor; without, requests of web pages are refused. `limits` bounds
    requests.

    Raises `ConfigurationError` for a model without a provider, and a key that is empty.
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        backend: AsyncChat | str | Mapping[str, AsyncChat | str],
        *,
        key: str | Secret | None = None,
        limits: EmulatorLimits = DEFAULT_LIMITS,
    ) -> None:
        key = sealed(key)  # before anything can raise: tracebacks show the arguments
        if key is not None and not isinstance(key, str | Secret):
            raise ConfigurationError(f"key: expected a text, not {type_name(key)}")
        self.backends = Backends(backend)
        if not isinstance(limits, EmulatorLimits):
            problem = f"expected EmulatorLimits, not {type_name(limits)}"
            raise ConfigurationError(f"limits: {problem}")
        self.key = Secret(key, "key") if isinstance(key, str) else key
        self.limits = limits
        self._forwarding = Forwarding(self.backends)
        self.vendors: list[Vendor] = [vendor(Settings()) for vendor in VENDORS]
        self._calls: Remembered[str] = Remembered(_MAX_CALLS, _MAX_CALL_BYTES)
        self._conversations: Remembered[_Conversation] = Remembered(
            _MAX_CONVERSATIONS, _MAX_CONVERSATION_BYTES
        )

    def __repr__(self) -> str:
        return f"Gateway({self.backends})"

    @property
    def has_key(self) -> bool:
        """Whether clients need a key."""
        return self.key is not None

    async def aclose(self) -> None:
        """Close the connections to the backends."""
        await self.backends.aclose()

    def require_keys(self) -> None:
        """Raise `ConfigurationError`, with its variable, if the key of a backend is missing."""
        self.backends.require_keys()

    # --- requests ---------------------------------------------------------------------------------

    @checked_arguments(ConfigurationError, before=True)
    async def respond(
        self, method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes
    ) -> Answer | LiveAnswer:
        """Respond to one request."""
        try:
            request = received(0, method, target, headers, body, self.limits)
        except ValueError:  # such as http://[::1
            return self.rejected(method, "", (), 400, "The target of the request is malformed.")
        key = self.key.reveal() if self.key is not None else ""
        request, refused = verified(request, time.time(), (lambda _: key) if key else None, key)
        if refused is not None:
            return refused
        asked, form, failure = as_reference(request)
        if failure is None:
            answer = await self._in_reference(asked)
        else:
            answer = vendor_of(request, self.vendors)[0].error_answer(failure)
        return answer if form is None else form.answered(answer)

    async def _in_reference(self, request: Received) -> Answer | LiveAnswer:
        """Respond to a request in the form of the reference of its wire."""
        vendor, route = vendor_of(request, self.vendors)
        if route is None or not route.endpoint:
            return vendor.no_endpoint(request, route)

        failing = Failure(400, request.excess, request=request, route=route)
        forwards = route.endpoint.startswith(FORWARDED)
        is_upload = forwards and self._forwarding.is_upload(request, route)
        refusal = None if is_upload else refusal_of(request, self.key)
        if refusal is not None:
            return vendor.error_answer(replace(failing, status=refusal[0], message=refusal[1]))
        if request.excess and not forwards:
            return vendor.error_answer(failing)
        if route.endpoint not in SERVED and not forwards:
            words = REFUSED.get(route.endpoint, f"The gateway does not serve {route.endpoint}.")
            return vendor.error_answer(replace(failing, status=404, message=words))
        try:
            return await self._answer(request, vendor, route)
        except WireError as error:
            return vendor.error_answer(failure_of(error, request, route, vendor.wires))

    @checked_arguments(ConfigurationError, before=True)
    def rejected(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[str, str]],
        status: int,
        message: str,
    ) -> Answer:
        """Return the error for a request that is not read, in the format of its vendor."""
        target, kept = target[: self.limits.max_target_bytes], list(headers)
        try:
            request = received(0, method, target, kept[: self.limits.max_headers], b"", self.limits)
        except ValueError:
            request = received(0, method, "/", (), b"", self.limits)
        vendor, route = vendor_of(request, self.vendors)
        return vendor.error_answer(Failure(status, message, request=request, route=route))

    async def _answer(self, request: Received, vendor: Vendor, route: Route) -> Answer | LiveAnswer:
        if route.endpoint in FIXED:
            return FIXED[route.endpoint]()
        if route.endpoint in MODELS:
            return self._models(request, route)
        if route.endpoint.startswith(FORWARDED):
            return await self._forwarding.answer(request, route, vendor.wires)
        if route.endpoint in COUNTING:
            return await self._counted(request, route)
        backend = self.backends.chosen(request, route)
        if route.endpoint in EMBEDDING:
            endpoint = EMBEDDING[route.endpoint]
            body, notes = await embedded(request.body, endpoint, backend, vendor.wires)
            return _noted(json_answer(body), notes)
        api = GENERATING[route.endpoint]()
        if (idle := api.loaded(request.body)) is not None:
            return json_answer(encoded(idle))
        parsed = self._parsed(api, backend, request.body)
        notes = list(parsed.notes)
        neutral, ids = self._continued(parsed, backend, notes)
        id = secrets.token_hex(12)
        client_ids = ClientIds(f"{api.call_prefix}{id}", parsed.names)
        head = ResponseHead(
            id=f"{api.id_prefix}{id}",
            model=backend.model,
            created=int(time.time()),
            state=client_ids.state,
        )
        writer = api.of.ReplyWriter(parsed, head)
        exchange = _Exchange(
            api, backend, parsed, neutral, ids, client_ids, head, writer, request, vendor, route
        )
        if exchange.streams:
            return await self._streamed(exchange, notes)
        return await self._whole(exchange, notes)

    def _models(self, request: Received, route: Route) -> Answer:
        described, models = MODELS[route.endpoint], self.backends.models()
        name = route.name or request.model  # of Ollama it stands in the body
        if name:
            facts = facts_of(self.backends.chosen(request, route))
            return json_answer(encoded(described.one(name, facts)))
        return json_answer(encoded(described.all([described.one(*each) for each in models])))

    def _parsed(
        self, api: Api, backend: AsyncChat, body: bytes, *, counts: bool = False
    ) -> ReceivedRequest:
        """Parse the request of a client.

        The blocks of its own vendor go back to that vendor's model.
        """
        row, model = backend.row, backend.model
        own = {"provider": row.name, "model": model} if row.wire == api.wire else {}
        return accepted(api.of.parse_request(body, **own, counts=counts))

    def _continued(
        self, parsed: ReceivedRequest, backend: AsyncChat, notes: list[Note]
    ) -> tuple[Request, dict[str, str]]:
        """Put the messages of the model back as it sent them.

        Returns the request, and the backend's ids of calls by the client's.
        """
        previous = parsed.previous
        before = self._conversations.get(previous) if previous else _Conversation()
        if before is None:
            problem = f"the gateway has no response {previous!r}, or forgot it"
            violation = Violation("previous_response_id", problem, remedy="send the whole input")
            raise RuleError(violations=[violation])
        ids = dict(before.ids)
        messages = restored(parsed.request.messages, self._calls, ids, notes)
        if before.messages:
            # Instructions of earlier requests are not carried over.
            instructs = tuple(each for each in messages if each.instructs)
            rest = tuple(each for each in messages if not each.instructs)
            messages = (*instructs, *before.messages, *rest)
        if backend.row.wire == "gemini":
            messages = tuple(map(_with_objects, messages))
        return msgspec.structs.replace(parsed.request, messages=messages), ids

    # --- the backend ------------------------------------------------------------------------------

    def _call(self, how: str, backend: AsyncChat, request: Request, notes: list[Note]) -> Any:
        """Build the call of the backend; change settings that its model refuses, with a note."""
        render = getattr(WIRES[backend.row.wire], how)
        model, row = backend.model, backend.row
        checked_request(request)  # what no model takes is refused, and not left out
        try:
            return render(request, model, row)
        except RuleError as error:
            from wire.neutral.server_tools import without_refused

            fitting = without_refused(request, error)
            if fitting is not None:
                request, note = fitting
                notes.append(note)
                return self._call(how, backend, request, notes)
            for change in _changes(request):
                try:
                    call = render(msgspec.structs.replace(request, **change), model, row)
                except RuleError:
                    continue
                notes += [Note(name, f"left out: {error.message}") for name in change]
                return call
            raise

    async def _whole(self, exchange: _Exchange, notes: list[Note]) -> Answer:
        call = self._call("call", exchange.backend, exchange.request, notes)
        call = passed_on(call, exchange.parsed, notes, _features(exchange.api, exchange.received))
        try:
            reply: Reply = await exchange.backend.client.send(call)
        except BlockedError as error:
            if not isinstance(error.partial, Reply):
                raise
            reply = error.partial
        _check(reply)
        shown = self._remembered(exchange, reply)
        notes += [*reply.notes, *left_out(reply, exchange.api.misses, exchange.api.takes)]
        body = exchange.api.of.render_reply(shown, exchange.parsed, exchange.head)
        array = wants_array(exchange.received, exchange.route)
        answer = json_answer(b"[" + body + b"]" if array else body)
        return replace(answer, headers=(*answer.headers, *_headers(exchange, notes)))

    async def _streamed(self, exchange: _Exchange, notes: list[Note]) -> Answer | LiveAnswer:
        call = self._call("stream_call", exchange.backend, exchange.request, notes)
        call = passed_on(call, exchange.parsed, notes, _features(exchange.api, exchange.received))
        notes += call.notes
        headers = (
            ("content-type", exchange.api.events),
            ("cache-control", "no-cache"),
            *_headers(exchange, notes),
        )
        stack = AsyncExitStack()
        try:
            # An error before the first event has a status of its own.
            stream = await stack.enter_async_context(exchange.backend.client.stream(call))
        except BlockedError as error:
            if not isinstance(error.partial, Reply):
                raise
            events = exchange.writer.begin() + self._fed(exchange, Done(error.partial))
            return Answer(200, headers, (events,))
        return LiveAnswer(200, headers, self._pieces(exchange, stack, stream))

    async def _pieces(
        self, exchange: _Exchange, stack: AsyncExitStack, stream: AsyncStream[Event, Reply]
    ) -> AsyncGenerator[bytes, None]:
        async with stack:
            try:
                yield exchange.writer.begin()
                async for event in stream:
                    if isinstance(event, Restart):
                        raise WireError("the backend began the reply anew")
                    if isinstance(event, Done):
                        _check(event.reply)
                    yield self._fed(exchange, event)
            except BlockedError as error:
                if isinstance(error.partial, Reply):
                    yield self._fed(exchange, Done(error.partial))
            except WireError as error:
                vendor = exchange.vendor
                failure = failure_of(error, exchange.received, exchange.route, vendor.wires)
                yield vendor.error_event(failure)

    def _fed(self, exchange: _Exchange, event: Event) -> bytes:
        """Render an event for the client."""
        if isinstance(event, Done):
            seen: Event = Done(self._remembered(exchange, event.reply))
        else:
            seen = exchange.client_ids.event(event)
        return exchange.writer.feed(seen)

    def _remembered(self, exchange: _Exchange, reply: Reply) -> Reply:
        """Keep what a later request needs of a reply, and return it with the client's ids."""
        shown, ids = exchange.client_ids.reply(reply), exchange.client_ids.originals
        kept = packed(reply.message) if ids else ""
        for id in ids:
            self._calls.add(id, kept, len(kept))
        if exchange.parsed.stores:
            turns = tuple(each for each in exchange.request.messages if not each.instructs)
            conversation = _Conversation((*turns, reply.message), {**exchange.ids, **ids})
            size = len(exchange.received.body) + len(reply.text)
            self._conversations.add(exchange.head.id, conversation, size)
        return shown

    # --- token counts -----------------------------------------------------------------------------

    async def _counted(self, request: Received, route: Route) -> Answer:
        counting = COUNTING[route.endpoint]
        backend = self.backends.chosen(request, route)
        parsed = self._parsed(counting.api(), backend, request.body, counts=True)
        notes = list(parsed.notes)
        neutral, _ = self._continued(parsed, backend, notes)
        call = self._call("count_call", backend, neutral, notes)
        if call is None:
            from wire.history import estimate_request

            tokens = estimate_request(neutral) + _FRAME_TOKENS * (len(neutral.messages) + 1)
            notes.append(Note("tokens", "estimated: the backend does not count them"))
        else:
            call = passed_on(call, parsed, notes, _features(counting.api(), request))
            tokens = (await backend.client.send(call)).total
        return _noted(json_answer(encoded(counting.body(tokens))), notes)


def _noted(answer: Answer, notes: Iterable[Note]) -> Answer:
    return replace(answer, headers=(*answer.headers, *note_headers(notes)))


def _features(api: Api, request: Received) -> dict[str, str]:
    """Return the header of a client that switches features of its own vendor's server on."""
    value = request.headers.get(api.features, "")
    return {api.features: value} if value else {}


def _changes(request: Request) -> list[dict[str, Any]]:
    """List settings to change one by one if the backend's model refuses the request."""
    singles: list[dict[str, Any]] = [
        {name: None for name in names if getattr(request, name) is not None}
        for names in (("temperature", "top_p"), ("effort",))
    ]
    changes = [each for each in singles if each]
    together = {name: value for each in changes for name, value in each.items()}
    return [*changes, together] if len(changes) > 1 else changes


def _check(reply: Reply) -> None:
    """Raise `WireError` for a reply that ended in an error of the backend."""
    if reply.stop.reason == "error":
        raise WireError(reply.stop.message or "the backend ended the reply with an error")


def _with_objects(message: Message) -> Message:
    """Replace texts that contain a JSON object by the object, as results of tools.

    Results are objects at Google, and texts everywhere else: a text would be sent inside an object.
    """
    if message.role != "tool":
        return message
    parts = tuple(
        msgspec.structs.replace(part, content=_object_in(part.content))
        if isinstance(part, ToolResult) and isinstance(part.content, str) and not part.error
        else part
        for part in message.parts
    )
    return Message("tool", parts, cache=message.cache)


def _object_in(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return text
    try:
        return decoder(dict[str, Any]).decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _headers(exchange: _Exchange, notes: Sequence[Note]) -> list[tuple[str, str]]:
    number = exchange.head.id.removeprefix(exchange.api.id_prefix)
    id = [(exchange.api.request_id, f"req_{number}")] if exchange.api.request_id else []
    return [*id, *note_headers(notes)]


def note_headers(notes: Iterable[Note]) -> list[tuple[str, str]]:
    """Write notes as headers `x-wire-note`: a path and a message each, in ASCII.

    >>> note_headers([Note("seed", "left out")])
    [('x-wire-note', 'seed: left out')]
    """
    texts = list(dict.fromkeys(map(str, notes)))
    shown = [
        printable_line(text).encode("ascii", "backslashreplace").decode()[:_MAX_NOTE_LETTERS]
        for text in texts[:_MAX_NOTES]
    ]
    if len(texts) > _MAX_NOTES:
        shown.append(f"{len(texts) - _MAX_NOTES} more")
    return [("x-wire-note", text) for text in shown]
