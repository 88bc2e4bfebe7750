"""A credential that a function of the user's returns."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from wire.auth.credential import Bearer, Credential, Exchange, Place, Ready, Work
from wire.core.errors import ConfigurationError
from wire.core.secret import Secret, TokenSource, type_name

Answer = str | Secret | Ready


class Callback(Credential, frozen=True):
    """A function that returns a token, or a credential with its end.

    It is called when a client first needs it, and again before the end of what it returned, by one
    thread or task at a time. A plain text has no known end, so it is asked for before each attempt.
    An `AsyncClient` also takes an async function.

    >>> Callback(lambda: Bearer("fake-token", expires=1_800_000_000))
    Callback(function=TokenSource(***))
    """

    function: Callable[[], Answer | Awaitable[Answer]]
    """Returns a text, which is sent as a bearer token, or a `Bearer`, `HeaderKey` or `SigV4`."""

    name = "callback"
    is_asked_each_time = True

    def __post_init__(self) -> None:
        function: Any = self.function
        if not isinstance(function, TokenSource):
            # The repr of a partial shows its arguments.
            hidden = TokenSource(function)
            msgspec.structs.force_setattr(self, "function", hidden)
            if not callable(function):
                kind = type_name(function)
                raise ConfigurationError(f"Callback.function: expected a function, not {kind}")

    @property
    def is_async(self) -> bool:
        """Whether the function is an async one."""
        return isinstance(self.function, TokenSource) and self.function.is_async

    def _exchange(self, place: Place) -> Exchange:
        """Call the function."""
        # Hidden at once: the frames of a check would show it.
        given = Secret.unchecked((yield Work(self.function)))
        value: Any = given._reveal()
        if isinstance(value, Ready):
            return value
        del value
        return Bearer(secret_of(given, place))


def secret_of(given: Any, place: Place) -> Secret:
    """Return the token that a function has returned.

    Raises `ConfigurationError` for what is no text.
    """
    hidden = given if isinstance(given, Secret) else Secret.unchecked(given)
    del given
    value: Any = hidden._reveal()
    hidden = value if isinstance(value, Secret) else hidden
    if hidden.is_text:
        del value
        return hidden
    problem = f"its function returned a {type_name(value)}, not a text or a credential"
    if inspect.isawaitable(value):
        problem = "an async function needs AsyncClient"
        if inspect.iscoroutine(value):
            value.close()
    raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
