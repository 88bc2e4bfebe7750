"""Checks what stands in the path of a call: ids and models of the caller."""

from __future__ import annotations

from wire.core.bounds import BOUNDS
from wire.core.credentials import known_credential
from wire.core.errors import ConfigurationError
from wire.core.lazy import lazy_pattern
from wire.core.secret import quoted

_UNSENDABLE = lazy_pattern("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def path_segment(parameter: str, name: object, example: str, *, parts: bool = False) -> str:
    """Return a name as one segment of a path, or with `parts` as several between slashes.

    >>> path_segment("id", "a/b", "resp_1")
    Traceback (most recent call last):
    wire.errors.ConfigurationError: id: expected a name such as resp_1, not 'a/b'

    A name with a control character, half of a surrogate pair or a segment of dots would name
    another path, or none. A key is refused, since URLs are logged (R-27).
    """
    if isinstance(name, str) and len(name) > BOUNDS.path_segment:
        problem = f"{len(name):,} characters, more than {BOUNDS.path_segment}"
        raise ConfigurationError(f"{parameter}: {problem}: expected a name such as {example}")
    if (
        not isinstance(name, str)
        or not all(each.strip(". ") for each in (name.split("/") if parts else [name]))
        or ("/" in name and not parts)
        or "%2f" in name.lower()  # an escaped slash, which `Call.target` keeps
        or _UNSENDABLE().search(name)
        or known_credential(name)
    ):
        raise ConfigurationError(
            f"{parameter}: expected a name such as {example}, not {quoted(name)}"
        )
    return name
