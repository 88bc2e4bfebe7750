"""The cassette of one test: its mode, and the clients and chats that use it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any, Literal, NoReturn

from wire.chat import AsyncChat, Chat
from wire.errors import CassetteError, ConfigurationError
from wire.http.aio import AsyncClient
from wire.http.client import Client
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes
from wire.http.target import set_key_variable
from wire.providers import PROVIDERS, family_of, model_of
from wire.testing.cassette.modes import Mode, mode_of, way_of
from wire.testing.cassette.transports import AsyncCassette, Cassette
from wire.testing.shared_cassettes import (
    AsyncSender,
    AsyncSharedCassette,
    Sender,
    SharedCassette,
    other_hosts,
)

PLACEHOLDER_KEY = "unused"
"""The key of a client whose requests are replayed."""

SETTINGS = ("inner", "match", "mode", "path", "secrets", "unplayed")
"""What a marker and the configuration of a project may set."""

UNPLAYED = ("fail", "ignore", "warn")

_KINDS: dict[str, tuple[Any, Any, Any]] = {
    "sync": (SharedCassette, Sender, Lanes),
    "async": (AsyncSharedCassette, AsyncSender, AsyncLanes),
}

Plan = Mode | Literal["unrecorded", "skip"]
"""A mode of the cassette; `unrecorded`: send everything, and use no file; `skip` the test."""


def plan(
    mode: Mode | None, *, is_live: bool, missing: str, has_file: bool, disabled: bool = False
) -> Plan:
    """How a test runs.

    >>> plan(None, is_live=True, missing="GEMINI_API_KEY is not set", has_file=True)
    'none'

    Args:
        mode: The mode that was asked for, if any.
        is_live: Whether the test is marked as one that may run against the vendor.
        missing: What is missing to do so.
        has_file: Whether the cassette exists.
        disabled: Whether recording and replaying are switched off.
    """
    if not is_live:
        return "unrecorded" if disabled else mode or "none"
    if not missing and mode != "none":
        return "unrecorded" if disabled or mode is None else mode
    return "none" if has_file and not disabled else "skip"


def sends(mode: Mode, has_file: bool) -> bool:
    """Whether a cassette in this mode may send a request."""
    ways = {way_of(mode, has_file=has_file, is_recorded=recorded) for recorded in (True, False)}
    return not ways <= {"replay", "refuse"}


def live_variables(provider: str) -> tuple[str, ...]:
    """The environment variables of which one is 1 where live tests of a provider may run.

    >>> live_variables("gemini@vertex")
    ('RUN_LIVE_GEMINI', 'RUN_LIVE')
    """
    own = re.sub(r"\W", "_", family_of(provider).upper())
    return (f"RUN_LIVE_{own}", "RUN_LIVE") if own else ("RUN_LIVE",)


def missing_for_live(provider: str, has_key: bool) -> str:
    """What is missing to run a live test with a provider; empty if nothing is."""
    variables = live_variables(provider)
    if not any(os.environ.get(name, "").strip() == "1" for name in variables):
        return f"{variables[0]}=1 is not set"
    row = PROVIDERS.get(provider.lower())
    if row is not None and row.key_required and not has_key and not set_key_variable(row):
        return f"{row.key_variable} is not set"
    return ""


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a test; those of an earlier layer take precedence.

    Raises `ConfigurationError` for a name that is none of `SETTINGS`, and for a bad value of
    `unplayed`.
    """
    settings: dict[str, Any] = {}
    for layer in reversed(layers):
        for name in layer:
            if name not in SETTINGS:
                raise ConfigurationError(
                    f"wire_cassette: {name!r} is none of its settings: {', '.join(SETTINGS)}"
                )
        settings.update(layer)
    if settings.get("unplayed", "fail") not in UNPLAYED:
        raise ConfigurationError(f"unplayed: expected one of {', '.join(UNPLAYED)}")
    return settings


class Recording:
    """The cassette of one test, which is opened when the test first uses it.

    A live test knows its provider only then, and so whether it can run live.

    Args:
        path: The file of the cassette.
        settings: See `merged`.
        mode: The mode that the command line asks for, if it does; it takes precedence.
        is_live: Whether the test may run against the vendor.
        disabled: Whether recording and replaying are switched off.
        again: Function of the variables that a live test needs: how to record again.
        claim: Function that returns which other test has recorded to the file in this run.
        sending: Function that is called before requests may be sent.
        skip: Function that skips the test with a reason.
        fail: Function that fails the test with a reason.
    """

    def __init__(
        self,
        path: Path,
        settings: Mapping[str, Any],
        *,
        mode: str | None,
        is_live: bool,
        disabled: bool,
        again: Callable[[str], str],
        claim: Callable[[Path], str],
        sending: Callable[[], None],
        skip: Callable[[str], NoReturn],
        fail: Callable[[str], NoReturn],
    ) -> None:
        self.path, self._settings = path, settings
        asked = mode or settings.get("mode")
        self._mode: Mode | None = None if asked is None else mode_of(asked)
        self._is_asked = mode is not None and self._mode != "none"
        self._is_live, self._disabled = is_live, disabled
        self._again, self._claim, self._sending = again, claim, sending
        self._skip, self._fail = skip, fail
        self._has_file = path.exists()
        self._plan: Plan | None = None
        self._transport: Any = None
        self._kind = ""
        self._open, self._async_open = ExitStack(), AsyncExitStack()
        self.instead = ""
        """Why a test was replayed that should have been recorded; empty otherwise."""

    def transport(self, provider: str = "", has_key: bool = False) -> Any:
        """The cassette; without recording, the transport that sends."""
        return self._of_kind("sync", provider, has_key)

    def async_transport(self, provider: str = "", has_key: bool = False) -> Any:
        """As `transport`, for asyncio and trio."""
        return self._of_kind("async", provider, has_key)

    def client(self, provider: str, **options: Any) -> Client:
        """A client that sends with the cassette. It is closed at the end of the test."""
        http = self.transport(provider, _has_key(options))
        return self._open.enter_context(Client(provider, http=http, **self._keyed(options)))

    def async_client(self, provider: str, **options: Any) -> AsyncClient:
        """As `client`, for asyncio and trio."""
        http = self.async_transport(provider, _has_key(options))
        client = AsyncClient(provider, http=http, **self._keyed(options))
        self._async_open.push_async_callback(client.aclose)
        return client

    def chat(self, model: str, **options: Any) -> Chat:
        """A chat that sends with the cassette. It is closed at the end of the test."""
        http = self.transport(model_of(model, "")[0], _has_key(options))
        return self._open.enter_context(Chat(model, http=http, **self._keyed(options)))

    def async_chat(self, model: str, **options: Any) -> AsyncChat:
        """As `chat`, for asyncio and trio."""
        http = self.async_transport(model_of(model, "")[0], _has_key(options))
        chat = AsyncChat(model, http=http, **self._keyed(options))
        self._async_open.push_async_callback(chat.aclose)
        return chat

    @property
    def is_sending(self) -> bool:
        """Whether requests of the test may reach the network."""
        plan = self._plan
        return plan == "unrecorded" or (
            plan is not None and plan != "skip" and sends(plan, self._has_file)
        )

    def unplayed(self, asked: str | None) -> tuple[str, str]:
        """What to do about recorded requests that were not sent, and the message.

        `asked` is what the command line says: `fail`, `warn` or `ignore`. If nothing says it, they
        fail a test in the mode `none`.
        """
        wanted = asked or self._settings.get("unplayed")
        wanted = wanted or ("fail" if self._plan == "none" else "ignore")
        if wanted != "ignore" and isinstance(self._transport, Cassette | AsyncCassette):
            try:
                self._transport.check_all_played()
            except CassetteError as error:
                return wanted, error.message
        return "ignore", ""

    def close(self) -> None:
        """Close what the test used without an event loop, and restore the environment."""
        self._open.close()

    async def aclose(self) -> None:
        """Close what the test used with an event loop."""
        await self._async_open.aclose()

    def _of_kind(self, kind: str, provider: str, has_key: bool) -> Any:
        missing = missing_for_live(provider, has_key) if self._is_live else ""
        if self._transport is None:
            transport = self._opened(kind, missing, provider)
            if kind == "sync":
                self._open.callback(transport.finish)
            else:
                self._async_open.push_async_callback(transport.finish)
            self._transport, self._kind = transport, kind
        elif kind != self._kind:
            self._fail(f"{self.path.name}: a test uses its cassette either with async or without")
        elif missing and self._is_live and self.is_sending:
            self._skip(missing)  # a second provider of a test that runs live
        return self._transport

    def _opened(self, kind: str, missing: str, provider: str) -> Any:
        cassette, sender, lanes = _KINDS[kind]
        self._plan = chosen = plan(
            self._mode,
            is_live=self._is_live,
            missing=missing,
            has_file=self._has_file,
            disabled=self._disabled,
        )
        if chosen == "skip":
            reason = missing or "the mode is none"
            self._skip(reason if self._disabled else f"{reason}, and there is no {self.path}")
        inner = self._settings.get("inner")
        if self.is_sending:
            self._sending()
        if chosen == "unrecorded":
            return sender(lanes() if inner is None else inner)
        if self._is_asked and chosen == "none":
            self.instead = missing
        if chosen not in ("none", "verify") and (other := self._claim(self.path)):
            self._fail(f"{self.path}: {other} has recorded to this file in the same run")
        others, hosts = other_hosts(), {}
        if sends(chosen, self._has_file):
            hosts = {each.base_url: each.own for each in others if each.base_url}
        else:
            self._unset(name for each in others for name in each.variables)
        variable = f"{live_variables(provider)[0]}=1 " if self._is_live else ""
        try:
            return cassette(
                hosts,
                self.path,
                chosen,
                inner=inner,
                match=self._settings.get("match"),
                secrets=self._settings.get("secrets", ()),
                again=self._again(variable),
            )
        except CassetteError as error:
            problem = error.message
        return self._fail(problem)  # out of the `except`, so that the report has no second error

    def _unset(self, variables: Iterable[str]) -> None:
        """Unset the variables of hosts, since a cassette has the vendors' own hosts."""
        for variable in set(variables):
            value = os.environ.pop(variable)
            self._open.callback(os.environ.__setitem__, variable, value)

    def _keyed(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options of a client, with a key if its requests are replayed."""
        if not (self.is_sending or _has_key(options)):
            options["api_key"] = PLACEHOLDER_KEY
        return options


def _has_key(options: Mapping[str, Any]) -> bool:
    return options.get("api_key") is not None or options.get("token") is not None
