"""`Secret`, which hides a key in logs and tracebacks (R-28), and headers that contain secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from wire.errors import ConfigurationError, WireError

SHOWN = "***"

_MASKED_FROM = 8
"""Characters. A shorter text is no credential, and masking it would remove ordinary words."""


class Secret:
    """An API key or token: `repr`, `str`, `format`, pickles and tracebacks with locals show `***`.

    Raises `ConfigurationError`, which names `name`, if no HTTP header can carry the text.

    >>> print(Secret("fake-key", "api_key"), f"{Secret('fake-key', 'api_key')!r}")
    *** Secret('***')
    """

    __slots__ = ("_reveal",)

    def __init__(self, text: str, name: str = "api_key") -> None:
        # The text is the default of a function, not an attribute: `vars`, debuggers and dumps that
        # walk attributes show a function. No local variable keeps it, because the traceback of the
        # error below has the locals of this frame.
        self._reveal: Callable[[], str] = lambda kept=text: kept  # type: ignore[misc]
        del text
        self.check(name)

    @classmethod
    def unchecked(cls, text: Any) -> Secret:
        """Hide a value before it is checked, so that no frame of the check has it as a variable."""
        made = cls.__new__(cls)
        made._reveal = lambda kept=text: kept  # type: ignore[misc]
        return made

    def check(self, name: str, *, blanks: bool = False) -> Secret:
        """Return itself. Raises `ConfigurationError` if no header can carry it.

        `blanks` allows spaces between words.
        """
        problem = _problem(self._reveal, blanks)
        if problem:
            raise ConfigurationError(f"{name}: {problem}")
        return self

    def reveal(self) -> str:
        """Return the text, for the header that carries it.

        Raises `ConfigurationError` if the secret was unpickled: pickles do not contain the text.
        """
        if self._reveal() == SHOWN:
            raise ConfigurationError("api_key: a pickle does not contain the key; give it again")
        return self._reveal()

    def mask(self, error: WireError) -> None:
        """Remove the text, and each word of it that may be a credential, from an error (R-29)."""
        for word in {self._reveal(), *self._reveal().split()}:
            if len(word) >= _MASKED_FROM:
                error.masked(word)

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


def _problem(reveal: Callable[[], Any], blanks: bool) -> str | None:
    """Why no header can carry the text. The message does not contain the text."""
    if not isinstance(reveal(), str) or not reveal():
        return "expected a non-empty text"
    position = next(
        (
            position
            for position, letter in enumerate(reveal())
            if not ("!" <= letter <= "~" or (blanks and letter == " "))
        ),
        None,
    )
    if position is None and reveal() != reveal().strip():
        position = 0 if reveal()[0] == " " else len(reveal()) - 1
    return (
        None
        if position is None
        else f"character {position} is white space or not ASCII, which no header can carry"
    )


# --- headers --------------------------------------------------------------------------------------

Headers = Mapping[str, str | Secret]

_SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def sealed(headers: Any) -> Any:
    """Replace each header value that may be a credential by a `Secret`. Nothing is checked yet."""
    if not isinstance(headers, Mapping):
        return headers
    return {
        name: Secret.unchecked(headers[name])
        if isinstance(headers[name], str) and isinstance(name, str) and _SECRET_NAME.search(name)
        else headers[name]
        for name in headers
    }


def checked_headers(headers: Any, where: str = "headers") -> dict[str, str | Secret]:
    """Check sealed headers and return them under lower-case names.

    Raises `ConfigurationError` that names the header and never shows its value.
    """
    if not isinstance(headers, Mapping):
        raise ConfigurationError(
            f"{where}: expected a mapping of names to texts, not {type(headers).__name__}"
        )
    checked: dict[str, str | Secret] = {}
    for name in headers:
        if not isinstance(name, str) or not HEADER_NAME.fullmatch(name):
            raise ConfigurationError(f"{where}: {name!r} is not a header name")
        if isinstance(headers[name], Secret):
            headers[name].check(f"{where}.{name}", blanks=True)
        elif (
            not isinstance(headers[name], str)
            or not headers[name].isascii()
            or not headers[name].isprintable()
        ):
            raise ConfigurationError(f"{where}.{name}: expected printable ASCII text")
        checked[name.lower()] = headers[name]
    return checked


def shown_headers(headers: Headers) -> dict[str, str]:
    """Headers with secrets hidden, for printing."""
    return {name: str(value) for name, value in headers.items()}


def revealed_headers(headers: Headers) -> list[tuple[str, str]]:
    """Headers with secrets revealed. Pass them on at once and never keep them in a variable."""
    return [
        (name, value.reveal() if isinstance(value, Secret) else value)
        for name, value in headers.items()
    ]
