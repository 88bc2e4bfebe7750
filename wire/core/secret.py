"""Keys that show themselves to nobody but the wire (R-28), and headers in which such keys may
stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from wire.errors import ConfigurationError, WireError

SHOWN = "***"

_MASKED_FROM = 8
"""Letters: a shorter text is no credential, and masking it would blot out every message that has it
by chance.
"""


class Secret:
    """An API key or token: `repr`, `str`, `format`, pickles and tracebacks with locals show `***`.

    Raises `ConfigurationError` if the text cannot stand in an HTTP header; `name` says in the
    message where it came from.

    >>> print(Secret("fake-key", "api_key"), f"{Secret('fake-key', 'api_key')!r}")
    *** Secret('***')
    """

    __slots__ = ("_reveal",)

    def __init__(self, text: str, name: str = "api_key") -> None:
        # In the default of a function, not in an attribute: `vars`, debuggers and dumps that walk
        # attributes find a function. And no variable keeps it: the error below goes up through this
        # frame.
        self._reveal: Callable[[], str] = lambda kept=text: kept  # type: ignore[misc]
        del text
        self.check(name)

    @classmethod
    def unchecked(cls, text: Any) -> Secret:
        """Hide anything at once, to be checked when no variable holds it in the open any more."""
        made = cls.__new__(cls)
        made._reveal = lambda kept=text: kept  # type: ignore[misc]
        return made

    def check(self, name: str, *, blanks: bool = False) -> Secret:
        """Itself, or `ConfigurationError` if it cannot stand in a header; `blanks` between words
        may be fine there.
        """
        problem = _problem(self._reveal, blanks)
        if problem:
            raise ConfigurationError(f"{name}: {problem}")
        return self

    def reveal(self) -> str:
        """The text itself, for the header that carries it.

        Raises `ConfigurationError` on one that came out of a pickle.
        """
        if self._reveal() == SHOWN:
            raise ConfigurationError("api_key: a key does not travel in pickles; give it again")
        return self._reveal()

    def mask(self, error: WireError) -> None:
        """Take it out of what an error shows (R-29): the whole of it, and each word that is long
        enough to be a credential.
        """
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
    """What is wrong with a text that is to stand in a header, without saying it."""
    if not isinstance(reveal(), str) or not reveal():
        return "a non-empty text is wanted"
    place = next(
        (
            place
            for place, letter in enumerate(reveal())
            if not ("!" <= letter <= "~" or (blanks and letter == " "))
        ),
        None,
    )
    if place is None and reveal() != reveal().strip():
        place = 0 if reveal()[0] == " " else len(reveal()) - 1
    return (
        None
        if place is None
        else f"character {place} is white space or not ASCII, which no header can carry"
    )


# --- headers --------------------------------------------------------------------------------------

Headers = Mapping[str, str | Secret]

_SECRET_NAME = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def sealed(headers: Any) -> Any:
    """Headers in which every value that could be a credential is hidden; nothing is checked yet."""
    if not isinstance(headers, Mapping):
        return headers
    return {
        name: Secret.unchecked(headers[name])
        if isinstance(headers[name], str) and isinstance(name, str) and _SECRET_NAME.search(name)
        else headers[name]
        for name in headers
    }


def checked_headers(headers: Any, where: str = "headers") -> dict[str, str | Secret]:
    """Sealed headers under lower-case names.

    Raises `ConfigurationError` that names the header, and never shows its value.
    """
    if not isinstance(headers, Mapping):
        raise ConfigurationError(
            f"{where}: a mapping of names to texts is wanted, not {type(headers).__name__}"
        )
    checked: dict[str, str | Secret] = {}
    for name in headers:
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
            raise ConfigurationError(f"{where}: {name!r} is no header name")
        if isinstance(headers[name], Secret):
            headers[name].check(f"{where}.{name}", blanks=True)
        elif (
            not isinstance(headers[name], str)
            or not headers[name].isascii()
            or not headers[name].isprintable()
        ):
            raise ConfigurationError(f"{where}.{name}: printable ASCII text is wanted")
        checked[name.lower()] = headers[name]
    return checked


def shown_headers(headers: Headers) -> dict[str, str]:
    """Headers as they may be printed."""
    return {name: str(value) for name, value in headers.items()}


def revealed_headers(headers: Headers) -> list[tuple[str, str]]:
    """Headers as they are sent: to be handed on at once, and never to be kept in a variable."""
    return [
        (name, value.reveal() if isinstance(value, Secret) else value)
        for name, value in headers.items()
    ]
