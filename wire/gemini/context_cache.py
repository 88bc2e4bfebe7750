"""What a context cache holds and when: a state machine of flows, given the time, with no clock and
no I/O.

The beginning that many requests share (system instruction, tools, tool config, and Contents if
there are some) is counted, kept by the server if it is long enough, and left out of the requests
while it is. Whatever goes wrong with the cache, the requests go on with all of it in them: a cache
saves money, and no answer may depend on it.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.flow import Flow, ask
from wire.core.memory import Note, encode
from wire.errors import APIError, BadRequestError, ConfigurationError, WireError
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

MIN_CACHED_TOKENS = 1024
"""Tokens below which the server keeps nothing (G63); of some models the least is 4,096, and then
the server says so.
"""


class ContextCache:
    """The cached beginning of requests to one model.

    `tick(now)` is a flow that does what is due: count, create, let it live longer. Run it once
    before the first request and again whenever `due` has come; `now` is the time of any clock that
    goes forward, in seconds. `apply(request)` is the request as it is to be sent now;
    `generate(request)` is a flow that sends it, and sends it whole if the server has lost the
    cache. `close()` is a flow that deletes it. `notes` tells what did not work.

    >>> from wire.gemini import contents
    >>> cache = ContextCache(
    ...     "gemini-2.5-flash", GenerateContentRequest(system_instruction=contents("Be brief.")[0])
    ... )
    >>> next(cache.tick(0.0)).target
    '/models/gemini-2.5-flash:countTokens'
    """

    def __init__(
        self,
        model: str,
        shared: GenerateContentRequest,
        *,
        ttl: float = 3600.0,
        least: int = MIN_CACHED_TOKENS,
        display_name: str | None = None,
    ) -> None:
        self.model = resource(model)
        if not isinstance(shared, GenerateContentRequest):
            raise wrong_type("shared", shared, "GenerateContentRequest")
        if not (shared.system_instruction or shared.tools or shared.contents):
            raise ConfigurationError(
                "shared: a system instruction, tools or contents are wanted in it"
            )
        if display_name is not None and not display_name.strip():
            raise ConfigurationError("display_name: a text that is not blank is wanted")
        if isinstance(ttl, str):
            raise ConfigurationError(f"ttl: a number of seconds is wanted, not {ttl!r}")
        duration(ttl)
        if type(least) is not int or least < 0:
            raise ConfigurationError(f"least: a number of tokens from 0 up, not {least!r}")
        self.ttl, self.least, self.display_name = float(ttl), least, display_name
        self.shared = shared
        self.name: str | None = None
        """Of the cache; `None` while requests carry everything."""
        self.due: float | None = 0.0
        """When the next tick is wanted; `None` if never."""
        self.tokens: int | None = None
        """What was counted."""
        self.notes: list[Note] = []
        self._closed = False

    @property
    def key(self) -> str:
        """Equal for equal beginnings of requests to one model."""
        kept = CachedContent(
            model=self.model, **_fields(self.shared), contents=self.shared.contents
        )
        return hashlib.sha256(encode(kept)).hexdigest()

    # --- the cache's own life ---------------------------------------------------------------------

    def tick(self, now: float) -> Flow[None]:
        """A flow: what is due at `now`.

        It raises nothing: what fails is noted, and tried again at the next tick.
        """
        if self._closed or self.due is None or now < self.due:
            return
        self.due = now + self.ttl / 2
        if self.name is not None:
            yield from self._refresh(self.name)
            return
        if self.tokens is None:
            yield from self._count()
        if self.tokens is not None and self.tokens < self.least:
            self.notes.append(
                Note(
                    "contextCache",
                    f"{self.tokens} tokens are too few to keep, {self.least} are wanted",
                )
            )
            self.due = None
        elif self.tokens is not None:
            yield from self._create()

    def close(self) -> Flow[None]:
        """A flow: delete the cache.

        Closing twice is fine; a cache that cannot be deleted ends by itself.
        """
        name, self.name, self.due, self._closed = self.name, None, None, True
        if name is not None:
            try:
                yield delete_cached_content(name)
            except WireError as error:
                self._note("delete", error)

    def _count(self) -> Flow[None]:
        try:
            counted = yield from ask(count_tokens(self.model, self._counted()))
        except WireError as error:
            self._note("count", error)
        else:
            self.tokens = counted.total_tokens or 0

    def _counted(self) -> GenerateContentRequest:
        """The server counts no request without Contents, so that the system instruction stands
        among them.
        """
        shared = self.shared
        first = (
            [Content(role="user", parts=shared.system_instruction.parts)]
            if shared.system_instruction
            else []
        )
        turns = [*first, *(shared.contents or ())] or [Content(role="user", parts=[Part(text=".")])]
        return GenerateContentRequest(contents=turns, tools=shared.tools)

    def _create(self) -> Flow[None]:
        fields = _fields(self.shared)
        wanted = CachedContent(
            model=self.model,
            display_name=self.display_name,
            ttl=duration(self.ttl),
            contents=self.shared.contents,
            **fields,
        )
        try:
            made = yield from ask(create_cached_content(wanted))
        except WireError as error:
            self._note("create", error)
            if isinstance(error, BadRequestError):
                # Too short for this model, or not cacheable: asking again does not help.
                self.due = None
            return
        self.name = made.name

    def _refresh(self, name: str) -> Flow[None]:
        try:
            yield update_cached_content(name, ttl=self.ttl)
        except WireError as error:
            self._note("refresh", error)
            self.name = None

    # --- requests ---------------------------------------------------------------------------------

    def apply(self, request: GenerateContentRequest) -> GenerateContentRequest:
        """The request as it is to be sent now: with the cache's name in place of what it holds, or
        with all of it.

        What the request leaves out is taken from what is shared. The cache is not for a request
        that says something else of what it holds, nor for one that names another.
        """
        if request.cached_content is not None:
            return request
        mine, own = (
            _fields(self.shared),
            {name: value for name, value in _fields(request).items() if value is not None},
        )
        if self.name is not None and all(encode(own[name]) == encode(mine[name]) for name in own):
            return msgspec.structs.replace(request, cached_content=self.name, **dict.fromkeys(mine))
        contents = [*(self.shared.contents or ()), *(request.contents or ())]
        return msgspec.structs.replace(request, contents=contents, **{**mine, **own})

    def generate(self, request: GenerateContentRequest) -> Flow[GenerateContentResponse]:
        """A flow: the answer.

        If the server has lost the cache, the request is sent once more, whole.
        """
        sent = self.apply(request)
        try:
            return (yield from ask(self.call(sent)))
        except WireError as error:
            if sent.cached_content is None or not self.lost(error):
                raise
        return (yield from ask(self.call(self.apply(request))))

    def call(self, request: GenerateContentRequest) -> Call[GenerateContentResponse]:
        """The call of a request that was applied."""
        return generate_content(self.model, request)

    def lost(self, error: WireError) -> bool:
        """Whether an error says that the server has lost the cache. Then its name is forgotten, and
        the next tick makes a new one.

        That is a 403, 404 or 400 that names it or cached contents at all: `CachedContent not found
        (or permission denied)` comes as a 403 (recorded 2026-08).
        """
        said = error.message.lower()
        named = self.name is not None and self.name.rpartition("/")[2].lower() in said
        if not isinstance(error, APIError) or error.status not in (400, 403, 404):
            return False
        if self.name is None or not (
            named or "cachedcontent" in said.replace(" ", "").replace("_", "")
        ):
            return False
        self._note("use", error)
        self.name, self.due = None, None if self._closed else 0.0
        return True

    def _note(self, doing: str, error: WireError) -> None:
        self.notes.append(Note(f"contextCache.{doing}", str(error)))


def _fields(request: GenerateContentRequest) -> dict[str, Any]:
    """What must not stand in a request that names a cache (G62)."""
    return {
        "system_instruction": request.system_instruction,
        "tools": request.tools,
        "tool_config": request.tool_config,
    }
