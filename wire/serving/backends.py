"""The models of a gateway, by the names that clients ask for."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wire.catalogue.catalogue import Model, current
from wire.chat.chat import AsyncChat
from wire.core.errors import ConfigurationError, NotFoundError
from wire.core.lenient import plain
from wire.core.secret import type_name
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route

_ANY = "*"
"""The name of a backend that answers whatever a client asks for."""


class Backends:
    """The backends of one gateway.

    >>> from wire.testing.emulator import AsyncEmulatorTransport
    >>> Backends({"fast": AsyncChat("openai:gpt-5.4-mini", http=AsyncEmulatorTransport())})
    fast=openai@responses:gpt-5.4-mini
    """

    def __init__(self, given: AsyncChat | str | Mapping[str, Any]) -> None:
        several = isinstance(given, Mapping)
        named: Mapping[str, Any] = given if isinstance(given, Mapping) else {_ANY: given}
        for name, each in named.items():
            if not isinstance(each, AsyncChat | str):
                path = f"backend[{name!r}]" if several else "backend"
                problem = f"expected an AsyncChat or its model, not {type_name(each)}"
                raise ConfigurationError(f"{path}: {problem}")
        if not named:
            raise ConfigurationError("backend: expected at least one model")
        self._chats = {
            name: AsyncChat(each, retry=None) if isinstance(each, str) else each
            for name, each in named.items()
        }

    def __repr__(self) -> str:
        shown = [f"{name}={each.provider}:{each.model}" for name, each in self._chats.items()]
        return ", ".join(shown).removeprefix(f"{_ANY}=")

    async def aclose(self) -> None:
        """Close their connections."""
        for each in self._chats.values():
            await each.aclose()

    def require_keys(self) -> None:
        """Raise `ConfigurationError`, with its variable, if a key is missing."""
        for each in self._chats.values():
            each.client.require_key()

    def chosen(self, request: Received, route: Route) -> AsyncChat:
        """Return the backend for the name that a request asks for. Raises `NotFoundError`.

        An equal name comes first, then the first one that fits.
        """
        asked = route.name
        if not asked:
            body = plain(request.body)
            if not isinstance(body, dict):
                return next(iter(self._chats.values()))  # which refuses it
            asked = str(body.get("model") or "")
        asked = asked.removeprefix("models/")
        for name in (asked, *(each for each in self._chats if each.endswith(_ANY))):
            if name in self._chats and fnmatch.fnmatchcase(asked, name):
                return self._chats[name]
        names = ", ".join(self._chats)
        raise NotFoundError(f"The gateway has no model {asked!r}; there are {names}.", status=404)

    def of_wires(self, wires: Sequence[str]) -> AsyncChat | None:
        """Return the first backend that speaks one of these wires; `None` if there is none."""
        return next((each for each in self._chats.values() if each.row.wire in wires), None)

    def models(self) -> Iterator[tuple[str, Model]]:
        """Yield the names for clients, each with what is known of its model."""
        for name, chat in self._chats.items():
            yield chat.model if name == _ANY else name, facts_of(chat)


def facts_of(chat: AsyncChat) -> Model:
    """Return what is known of the model of a backend."""
    return current().model(f"{chat.provider}:{chat.model}")
