"""The settings that all rows of a bulk run have in common, and the coroutine that asks one row."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, ClassVar, Protocol, TypeAlias

import anyio
import msgspec

from wire.around.pace import Limiter
from wire.around.seam import checked_around
from wire.bulk.results import Outcome, Result, outcome_of
from wire.bulk.rows import Row, given_settings, question_of, request_json
from wire.bulk.run_folder import RunFolder
from wire.chat.chat import AsyncChat, Chat
from wire.chat.fallback import AsyncFallbackChat
from wire.chat.state import RequestOptions
from wire.core.errors import (
    AuthenticationError,
    ConfigurationError,
    FallbackError,
    WireError,
)
from wire.core.memory import with_notes
from wire.core.secret import type_name
from wire.http.aio import AsyncClient
from wire.neutral.messages import Reply
from wire.neutral.output import OutputType
from wire.neutral.request import Request

AnyChat = AsyncChat | AsyncFallbackChat
AnyModel: TypeAlias = str | Chat | AsyncChat
"""`provider:model`, or a chat whose model, settings, key and transport are used."""

_SETTINGS = frozenset(RequestOptions.__annotations__) - {"timeouts", "retry", "headers"}


class Asked(Protocol):
    """Who answers the rows of a run: a model, an agent, or a model that decides questions."""

    is_agent: ClassVar[bool]

    @property
    def streams(self) -> bool:
        """Whether each reply is streamed."""
        ...

    @property
    def names(self) -> list[str]:
        """`provider:model` of each model."""
        ...

    @property
    def header(self) -> dict[str, Any]:
        """What a new start must have, too, besides the models and the settings."""
        ...

    @property
    def beside(self) -> int | None:
        """The tokens of the questions about each row; `None` for rows that get a reply."""
        ...

    def settings(self) -> dict[str, Any]:
        """Return the settings that change the requests, as fields of a `Request`."""
        ...

    def asker(self, *around: Limiter[Any], runs: RunFolder | None = None) -> Any:
        """Build what asks the rows, with new clients, whose calls wait for `around`."""
        ...


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The model of a run, its options, and the settings of all rows."""

    is_agent: ClassVar[bool] = False

    models: tuple[AnyModel, ...]
    """`provider:model`, or chats; the others are asked where the first fails."""
    options: Mapping[str, Any] = {}
    """Options of the clients, and settings of the chats."""
    output: Any = None
    cache: str | None = None
    """The folder of the cache."""
    http: Any = "auto"

    @property
    def streams(self) -> bool:
        """Whether each reply is streamed."""
        return False

    @property
    def header(self) -> dict[str, Any]:
        """Nothing besides the models and the settings."""
        return {}

    @property
    def beside(self) -> int | None:
        """None: a row is no input of questions."""
        return None

    @property
    def names(self) -> list[str]:
        """`provider:model` of each model."""
        return [each if isinstance(each, str) else each._name for each in self.models]

    def asker(self, *around: Limiter[Any], runs: RunFolder | None = None) -> Asker:
        """Build a new chat, whose calls wait for `around`.

        Raises `ConfigurationError` for a model that has no key or cannot hold the settings.
        """
        chats = self.chats(*around)
        chat: AnyChat = chats[0] if len(chats) == 1 else AsyncFallbackChat(chats)
        return Asker(chat, chats, self.output, self.cache is not None)

    def chats(self, *around: Limiter[Any]) -> list[AsyncChat]:
        """Build a new chat with each model. Raises `ConfigurationError` as `asker`."""
        functions = checked_around(self.options.get("around"))
        options = {**self.options, "around": (*functions, *around)}
        chats = [
            AsyncChat(each, http=self._transport(self.http), **options)
            if isinstance(each, str)
            else self._copied(each, around)
            for each in self.models
        ]
        for chat in chats:
            chat.client._target.require_key()
        return chats

    def _copied(self, chat: Chat | AsyncChat, around: tuple[Limiter[Any], ...]) -> AsyncChat:
        """Build a chat as the user's, whose calls wait for `around` too.

        It shares the connections of an `AsyncChat`, which stay open at the end. Those of a `Chat`
        are for threads, so it has its own. Raises `ConfigurationError` for another transport.
        """
        chat.client._require_open()
        target = chat.client._target
        http, is_shared = chat.client._http, isinstance(chat, AsyncChat)
        if not is_shared:
            from wire.http.lanes import Lanes

            if not isinstance(http, Lanes):
                raise ConfigurationError(
                    f"model: the {type_name(http)} of the Chat is for threads: give an AsyncChat"
                )
            http = "auto"
        functions = (*target.around, *around)
        target = msgspec.structs.replace(target, around=functions)
        client = AsyncClient._of(target, self._transport(http))
        copied = AsyncChat(chat._name, client=client, **{**chat._settings, **self.options})
        copied._own = not is_shared
        return copied

    def _transport(self, http: Any) -> Any:
        if self.cache is None:
            return http
        from wire.http.async_lanes import AsyncLanes
        from wire.testing.cassette.transports import AsyncCache

        inner = AsyncLanes() if http == "auto" else http
        return AsyncCache(self.cache, inner=_Sends(inner))

    def settings(self) -> dict[str, Any]:
        """Return the settings that change the requests, as fields of a `Request`."""
        options = {name: each for name, each in self.options.items() if name != "around"}
        model = self.models[0]
        request: Request = (
            AsyncChat(model, **options).request("")
            if isinstance(model, str)
            else model.request("", **options)
        )
        if self.output is not None:
            request = msgspec.structs.replace(request, output=OutputType(self.output).output)
        return given_settings(request)


_SENT: ContextVar[list[None]] = ContextVar("sent")


class _Sends:
    """A transport that tells the row whose request is sent: it is not answered from the cache."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def handle_async_request(self, request: Any) -> Any:
        _SENT.get([]).append(None)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


class Asker:
    """Asks rows, some at a time."""

    steps: int = 0

    def __init__(self, chat: AnyChat, chats: list[AsyncChat], output: Any, asks_once: bool) -> None:
        self._chat, self._chats, self._output, self._asks_once = chat, chats, output, asks_once
        self._asked: dict[bytes, anyio.Event] = {}

    async def answer(self, row: Row) -> Outcome:
        """Ask one row.

        Raises an error that each row would get, such as `AuthenticationError`.
        """
        metadata = None
        sent: list[None] = []
        try:
            question = question_of(row)
            metadata = question.metadata
            if self._asks_once:
                _SENT.set(sent)
                reply = await self._ask_once(question.request, question.settings)
            else:
                reply = await self._ask(question.request, question.settings)
            reply = with_notes(reply, question.notes) if question.notes else reply
        except WireError as error:
            if is_of_all_rows(error):
                raise
            failed = Result(id=row.id, row=row.number, error=error, metadata=metadata)
            return outcome_of(row, failed, cached=self._asks_once and not sent)
        result = Result(id=row.id, row=row.number, reply=reply, metadata=metadata)
        return outcome_of(row, result, cached=self._asks_once and not sent)

    async def _ask(self, request: Request, settings: Mapping[str, Any]) -> Reply:
        given: dict[str, Any] = dict(settings)
        if self._output is not None:
            given.setdefault("output", self._output)
        reply: Reply = await self._chat.ask(messages=request.messages, **given)
        return reply

    async def _ask_once(self, request: Request, settings: Mapping[str, Any]) -> Reply:
        """Ask, unless an equal request is under way: then wait for it, and read the cache."""
        line = msgspec.json.encode(request_json(request), order="deterministic")
        key = hashlib.blake2b(line, digest_size=16).digest()
        while (event := self._asked.get(key)) is not None:
            await event.wait()
        self._asked[key] = anyio.Event()
        try:
            return await self._ask(request, settings)
        finally:
            self._asked.pop(key).set()

    async def aclose(self) -> None:
        """Close the chats."""
        for chat in self._chats:
            await chat.aclose()


def is_of_all_rows(error: WireError) -> bool:
    """Return whether each further row would get this error: the run ends with it.

    >>> is_of_all_rows(AuthenticationError("no such key"))
    True
    """
    if isinstance(error, FallbackError):
        return bool(error.failures) and all(map(is_of_all_rows, error.failures.values()))
    return isinstance(error, AuthenticationError)
