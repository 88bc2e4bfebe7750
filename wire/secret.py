"""A key that shows itself to nobody but the wire (R-28)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wire.errors import ConfigurationError

SHOWN = "***"


class Secret:
    """An API key or token: `repr`, `str`, `format`, pickles and tracebacks with locals show `***`.

    Raises `ConfigurationError` if the text cannot stand in an HTTP header; `name` says in the message where it came from.

    >>> print(Secret("fake-key", "api_key"), f"{Secret('fake-key', 'api_key')!r}")
    *** Secret('***')
    """

    __slots__ = ("_reveal",)

    def __init__(self, text: str, name: str = "api_key") -> None:
        if not isinstance(text, str) or not text:
            raise ConfigurationError(f"{name}: a non-empty text is wanted")
        wrong = next((index for index, letter in enumerate(text) if not "!" <= letter <= "~"), None)
        if wrong is not None:
            raise ConfigurationError(f"{name}: character {wrong} is white space or not ASCII, which no header can carry")
        # A closure, not an attribute: `vars`, debuggers and object dumps that walk attributes find a function.
        self._reveal: Callable[[], str] = lambda: text

    def reveal(self) -> str:
        """The text itself, for the header that carries it. Raises `ConfigurationError` on one that came out of a pickle."""
        text = self._reveal()
        if text == SHOWN:
            raise ConfigurationError("api_key: a key does not travel in pickles; give it again")
        return text

    def __repr__(self) -> str:
        return f"Secret('{SHOWN}')"

    def __str__(self) -> str:
        return SHOWN

    def __format__(self, spec: str) -> str:
        return format(SHOWN, spec)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Secret:
        return self

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return Secret, (SHOWN,)
