"""Keeps a context cache for the beginning that many requests share.

The beginning is the system instruction, tools, tool config and first Contents. `ContextCache`
counts its tokens, stores it on the server if it is long enough, and then replaces it in each
request by the name of the cache. It is a state machine: its methods are flows that get the time as
an argument, and do no I/O. `shared_beginning` finds the beginning of a call, and
`ContextCache.shortened` replaces it there.

Any failure of the cache falls back to sending the whole beginning: a cache saves money, and no
response may depend on it.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

import msgspec

from wire.core.arguments import checked_arguments, number
from wire.core.bodies import wrong_type
from wire.core.call import Call, StreamCall
from wire.core.decoders import decoder
from wire.core.errors import APIError, ConfigurationError, WireError
from wire.core.flow import Flow, ask
from wire.core.memory import Note, encode
from wire.core.secret import quoted
from wire.gemini.caches import (
    create_cached_content,
    delete_cached_content,
    duration,
    update_cached_content,
)
from wire.gemini.endpoints import count_tokens, generate_content
from wire.gemini.paths import resource
from wire.gemini.types import (
    CachedContent,
    Content,
    GenerateContentRequest,
    GenerateContentResponse,
    Part,
)

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])

MIN_CACHED_TOKENS = 1024
"""Minimum number of tokens of a cache (G63). Some models require 4,096; the server refuses less
with `BadRequestError`, which `ContextCache` notes.
"""
RETRY_SECONDS = 60.0
"""Time after which a request of the cache itself is tried again, if its failure may pass."""

_HEAD = ("systemInstruction", "tools", "toolConfig")
"""The keys of a body that a request with a cache must not have (G62)."""


class ContextCache:
    """The cached beginning of requests to one model.

    - `tick(now)` is a flow that counts, creates or prolongs the cache, whichever is due. Run it
      before the first request, and again when the clock has reached `due`. `now` is the time of any
      monotonic clock, in seconds.
    - `apply(request)` returns the request to send now.
    - `generate(request)` is a flow that sends it, and sends it again without the cache if the
      server has lost the cache.
    - `close()` is a flow that deletes the cache.
    - `notes` lists the failures.

    `ttl` is the lifetime in seconds; half of it is the interval of the ticks. `least` is the
    minimum number of tokens to cache.

    >>> from wire.gemini import contents
    >>> cache = ContextCache(
    ...     "gemini-3.8-flash", GenerateContentRequest(system_instruction=contents("Be brief.")[0])
    ... )
    >>> next(cache.tick(0.0)).target
    '/models/gemini-3.8-flash:countTokens'

    Raises `RuleError` for a `shared` that is not a request, or a `ttl` out of range;
    `ConfigurationError` for other wrong arguments.
    """

    display_name: str | None
    """Name of the cache in the lists of the server; `None`: none."""
    least: int
    """Tokens from which on a cache is worth its price; shorter prompts get none."""
    ttl: float
    """Seconds after which the server deletes the cache, unless it is renewed."""

    @checked_arguments()
    def __init__(
        self,
        model: str,
        shared: GenerateContentRequest,
        *,
        ttl: float = 3600.0,
        least: int = MIN_CACHED_TOKENS,
        display_name: str | None = None,
    ) -> None:
        self.model: str = resource(model)
        if not isinstance(shared, GenerateContentRequest):
            raise wrong_type("shared", shared, "GenerateContentRequest")
        if not (shared.system_instruction or shared.tools or shared.contents):
            raise ConfigurationError(
                "shared: expected a request with a system instruction, tools or contents"
            )
        check_options(ttl, least, display_name)
        self.ttl, self.least, self.display_name = float(ttl), least, display_name
        self.shared = shared
        self.name: str | None = None
        """Resource name of the cache; `None` while there is none."""
        self.due: float | None = 0.0
        """Time of the next tick, in seconds of the caller's clock; `None` if none is needed."""
        self.tokens: int | None = None
        """Tokens of the shared beginning; `None` before they are counted."""
        self.notes: list[Note] = []
        """Failures of the cache, in order."""
        self._refusals = 0
        self._closed = False

    @property
    def key(self) -> str:
        """Hash of the model and the beginning: equal beginnings have equal keys."""
        content = CachedContent(
            model=self.model, **_fields(self.shared), contents=self.shared.contents
        )
        return hashlib.sha256(encode(content)).hexdigest()

    # --- life cycle of the cache ------------------------------------------------------------------

    @checked_arguments()
    def tick(self, now: float) -> Flow[None]:
        """Return a flow that counts, creates or prolongs the cache if that is due at `now`.

        It raises no error of a call: a failure is added to `notes`, with the time until the next
        tick, which tries again. If the failure may pass, that is `RETRY_SECONDS`, or the time that
        the server names.
        A refused cache is due again after `ttl`, and after twice as long each further time, but
        never if it is too small. A cache that cannot be prolonged is created anew by the next tick.
        """
        number("now", now, error=ConfigurationError)
        if self._closed or self.due is None or now < self.due:
            return
        # Half of the lifetime, so that a tick that is late or fails leaves time for another one.
        self.due = now + self.ttl / 2
        if self.name is not None:
            yield from self._refresh(self.name, now)
            return
        if self.tokens is None:
            yield from self._count(now)
        if self.tokens is not None and self.tokens < self.least:
            self.notes.append(
                Note(
                    "contextCache",
                    f"not created: {self.tokens} tokens; the minimum is {self.least}",
                )
            )
            self.due = None
        elif self.tokens is not None:
            yield from self._create(now)

    def close(self) -> Flow[None]:
        """Return a flow that deletes the cache. Closing twice has no effect.

        A failure is added to `notes`; the server deletes the cache when its `ttl` has passed.
        """
        name, self.name, self.due, self._closed = self.name, None, None, True
        if name is not None:
            try:
                yield delete_cached_content(name)
            except WireError as error:
                self._note("delete", error)

    def _count(self, now: float) -> Flow[None]:
        try:
            response = yield from ask(count_tokens(self.model, self._countable()))
        except WireError as error:
            self._try_again("count", error, now)
        else:
            self.tokens = response.total_tokens or 0

    def _countable(self) -> GenerateContentRequest:
        """Return the shared beginning as a request that countTokens accepts.

        The server refuses to count a request without Contents, so that the system instruction is
        sent as the first of them.
        """
        shared = self.shared
        first = (
            [Content(role="user", parts=shared.system_instruction.parts)]
            if shared.system_instruction
            else []
        )
        turns = [*first, *(shared.contents or ())] or [Content(role="user", parts=[Part(text=".")])]
        return GenerateContentRequest(contents=turns, tools=shared.tools)

    def _try_again(self, action: str, error: WireError, now: float) -> None:
        """Choose the next tick after a failure, and note the failure with it."""
        if error.retryable:
            wait = RETRY_SECONDS if error.retry_after is None else error.retry_after
            self.due = now + min(max(wait, 1.0), self.ttl / 2)
        elif action == "create" and isinstance(error, APIError):
            # The wait doubles, because the same request is most likely refused again. One that is
            # too small for the model (G63) always is.
            self._refusals += 1
            too_small = "too small" in error.message
            self.due = None if too_small else now + self.ttl / 2 * 2**self._refusals
        words = "not tried again" if self.due is None else f"tried again in {self.due - now:g} s"
        self.notes.append(Note(f"contextCache.{action}", f"{error}; {words}"))

    def _create(self, now: float) -> Flow[None]:
        fields = _fields(self.shared)
        request = CachedContent(
            model=self.model,
            display_name=self.display_name,
            ttl=duration(self.ttl),
            contents=self.shared.contents,
            **fields,
        )
        try:
            cache = yield from ask(create_cached_content(request))
        except WireError as error:
            self._try_again("create", error, now)
            return
        self.name, self._refusals = cache.name, 0

    def _refresh(self, name: str, now: float) -> Flow[None]:
        try:
            yield update_cached_content(name, ttl=self.ttl)
        except WireError as error:
            self._note("refresh", error)
            self.name, self.due = None, now

    # --- requests ---------------------------------------------------------------------------------

    @checked_arguments()
    def apply(self, request: GenerateContentRequest) -> GenerateContentRequest:
        """Return the request to send now: with the name of the cache, or with the whole beginning.

        Fields that the request does not set come from the shared beginning. A request that sets
        one of them to another value is sent without the cache. A request that names a cache of its
        own is returned unchanged.
        """
        if request.cached_content is not None:
            return request
        shared, own = (
            _fields(self.shared),
            {name: value for name, value in _fields(request).items() if value is not None},
        )
        if self.name is not None and all(encode(own[name]) == encode(shared[name]) for name in own):
            # A request with a cache must not have these fields, even with equal values (G62).
            return msgspec.structs.replace(
                request, cached_content=self.name, **dict.fromkeys(shared)
            )
        contents = [*(self.shared.contents or ()), *(request.contents or ())]
        return msgspec.structs.replace(request, contents=contents, **{**shared, **own})

    @checked_arguments()
    def shortened(self, call: AnyCall) -> AnyCall:
        """Return a call of generateContent or streamGenerateContent with the name of the cache in
        place of its beginning.

        Without a cache, and for a call with another beginning, it returns the call unchanged. All
        other values of the body keep their bytes.
        """
        fields = decoder(dict[str, msgspec.Raw]).decode(call.body)
        if self.name is None or shared_beginning(call) != self.shared:
            return call
        short: dict[str, Any] = {key: fields[key] for key in fields if key not in _HEAD}
        body = msgspec.json.encode({**short, "cachedContent": self.name})
        short_call: AnyCall = msgspec.structs.replace(call, body=body)
        return short_call

    @checked_arguments()
    def generate(self, request: GenerateContentRequest) -> Flow[GenerateContentResponse]:
        """Return a flow that sends the request and returns the response.

        If the server has lost the cache, the request is sent once more, with the whole beginning.
        """
        applied = self.apply(request)
        try:
            return (yield from ask(self.call(applied)))
        except WireError as error:
            if applied.cached_content is None or not self.lost(error):
                raise
        return (yield from ask(self.call(self.apply(request))))

    @checked_arguments()
    def call(self, request: GenerateContentRequest) -> Call[GenerateContentResponse]:
        """Build the call that sends a request which `apply` returned."""
        return generate_content(self.model, request)

    @checked_arguments()
    def lost(self, error: WireError) -> bool:
        """Return whether an error means that the server has lost the cache.

        If so, requests no longer name the cache, and the next tick creates a new one.

        Such an error has status 403, 404 or 400, and its message contains the id of the cache or
        "cached content". The server sends `CachedContent not found (or permission denied)` with
        status 403 (recorded 2026-08).
        """
        message = error.message.lower()
        names_it = self.name is not None and self.name.rpartition("/")[2].lower() in message
        if not isinstance(error, APIError) or error.status not in (400, 403, 404):
            return False
        if self.name is None or not (
            names_it or "cachedcontent" in message.replace(" ", "").replace("_", "")
        ):
            return False
        self._note("use", error)
        self.name, self.due = None, None if self._closed else 0.0
        return True

    def _note(self, action: str, error: WireError) -> None:
        self.notes.append(Note(f"contextCache.{action}", str(error)))


def _fields(request: GenerateContentRequest) -> dict[str, Any]:
    """Return the fields that a request with a cache must not have (G62)."""
    return {
        "system_instruction": request.system_instruction,
        "tools": request.tools,
        "tool_config": request.tool_config,
    }


@checked_arguments(ConfigurationError)
def shared_beginning(call: Call[Any] | StreamCall[Any, Any]) -> GenerateContentRequest | None:
    """Return the beginning of a call of generateContent that further calls will repeat: its system
    instruction, tools and tool config.

    >>> from wire.gemini import contents
    >>> request = GenerateContentRequest(
    ...     contents=contents("Hi"), system_instruction=contents("Be brief.")[0]
    ... )
    >>> shared_beginning(generate_content("gemini-3.8-flash", request)).system_instruction.parts
    [Part(text='Be brief.')]

    `None` if there is nothing of it, or if the call names a cache of its own.
    """
    fields = decoder(dict[str, msgspec.Raw]).decode(call.body)
    head = {key: fields[key] for key in _HEAD if key in fields}
    if "cachedContent" in fields or not {"systemInstruction", "tools"} & set(head):
        return None
    shared: GenerateContentRequest = decoder(GenerateContentRequest).decode(
        msgspec.json.encode(head)
    )
    return shared


def check_options(ttl: float, least: int, display_name: str | None) -> None:
    """Check the options of a `ContextCache`.

    Raises `ConfigurationError` that names the option, `RuleError` for a `ttl` out of range.
    """
    if display_name is not None and not (isinstance(display_name, str) and display_name.strip()):
        raise ConfigurationError("display_name: expected a text that is not blank")
    if isinstance(ttl, str):
        raise ConfigurationError(f"ttl: expected a number of seconds, not {quoted(ttl)}")
    duration(ttl)
    if type(least) is not int or least < 0:
        raise ConfigurationError(f"least: expected a number of tokens from 0, not {quoted(least)}")
