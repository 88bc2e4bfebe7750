"""Types shared by the readers of foreign recordings: a value with its path, and an exchange."""

from __future__ import annotations

import base64
import binascii
import http
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from wire.testing.cassette.convert.yaml_values import Plain, resolved
from wire.testing.cassette.format.file_position import Fault, Path, shown
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.format.structs import End
from wire.testing.cassette.heard import Heard

Headers = list[tuple[str, str]]


class FaultAt(Fault):
    """An error in a decoded file. The steps of its path serve to look up its line."""

    def __init__(self, steps: Path, message: str) -> None:
        super().__init__(shown(steps), message)
        self.steps = steps


class Exchange(NamedTuple):
    """One request and its response, as a foreign recording holds them."""

    path: Path
    sent: Sent
    status: int
    headers: Headers
    body: bytes
    decoded: bool
    """Whether the body is stored without its content encoding, whatever the headers say."""
    end: End = "eof"
    heard: Heard | None = None
    """The messages, if the request opened a session."""


class Notes:
    """Notes on the parts that a conversion drops: each kind once, with the number of places."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._dropped: dict[str, dict[str, None]] = {}

    def add(self, note: str, times: int = 1) -> None:
        """Add a note; equal ones are counted."""
        self._counts[note] += times

    def drop(self, owner: str, name: str) -> None:
        """Add the name of a header or field that is not kept."""
        self._dropped.setdefault(owner, {})[name[:100]] = None

    def listed(self) -> list[str]:
        """Return the notes, those with names last."""
        counted = [
            note if times == 1 else f"{note} ({times} times)"
            for note, times in self._counts.items()
        ]
        dropped = [
            f"{owner} not kept: {', '.join(sorted(names))}"
            for owner, names in sorted(self._dropped.items())
        ]
        return counted + dropped


class At(NamedTuple):
    """A value in a foreign file, and its path. Wrong types raise `Fault` with the path."""

    value: Any
    path: Path = ()

    def __contains__(self, key: object) -> bool:
        return isinstance(self.value, dict) and key in self.value

    @property
    def shown(self) -> str:
        """The path as text."""
        return shown(self.path)

    def fault(self, message: str) -> FaultAt:
        """Return the error of this value."""
        return FaultAt(self.path, message)

    def expected(self, what: str) -> FaultAt:
        """Return the error of a wrong type. The value itself may be a secret and is not shown."""
        kind = "null" if self.none else type(self.value).__name__
        return self.fault(f"expected {what}, not {'str' if kind == 'Plain' else kind}")

    @property
    def none(self) -> bool:
        """Whether the value is null."""
        return resolved(self.value) is None if isinstance(self.value, Plain) else self.value is None

    @property
    def is_map(self) -> bool:
        """Whether the value is a mapping."""
        return isinstance(self.value, dict)

    def child(self, key: str) -> At:
        """Return the value of a key."""
        if not isinstance(self.value, dict):
            raise self.expected("a mapping")
        if key not in self.value:
            raise self.fault(f"the key {key!r} is missing")
        return At(self.value[key], (*self.path, key))

    def first(self, *keys: str) -> At:
        """Return the value of the first key that is present; it must be one of them."""
        key = next((each for each in keys if each in self), keys[0])
        return self.child(key)

    def get(self, key: str) -> At | None:
        """Return the value of a key, `None` if it is missing or null."""
        if key not in self:
            return None
        child = self.child(key)
        return None if child.none else child

    def items(self) -> Iterator[At]:
        """Return an iterator over the items of a list."""
        if not isinstance(self.value, list):
            raise self.expected("a list")
        return (At(each, (*self.path, index)) for index, each in enumerate(self.value))

    def pairs(self) -> Iterator[tuple[str, At]]:
        """Return an iterator over the keys and values of a mapping."""
        if not isinstance(self.value, dict):
            raise self.expected("a mapping")
        return ((str(key), At(each, (*self.path, key))) for key, each in self.value.items())

    def text(self) -> str:
        """Return the value as a text. A number without quotes counts as one in a header."""
        if isinstance(self.value, str):
            return str(self.value)
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            return str(self.value)
        if isinstance(self.value, bytes):
            try:
                return self.value.decode()
            except UnicodeDecodeError:
                pass
        raise self.expected("a text")

    def status(self) -> int:
        """Return the value as an HTTP status."""
        value = resolved(self.value)
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 999:
            return value
        raise self.fault("expected an HTTP status from 100 to 999")

    def url(self, schemes: tuple[str, str] = ("http", "https")) -> str:
        """Return the value as an absolute URL with one of the schemes."""
        text = self.text()
        try:
            parts = urlsplit(text)
        except ValueError as cause:  # such as half of the brackets of an IPv6 address
            raise self.fault(f"not a URL: {cause}") from None
        if parts.scheme not in schemes or not parts.netloc:
            raise self.fault(f"expected a URL with {' or '.join(schemes)}")
        return text

    def utf8(self) -> bytes:
        """Encode a text as UTF-8; return bytes unchanged."""
        if isinstance(self.value, bytes):
            return self.value
        try:
            return self.text().encode()
        except UnicodeEncodeError as cause:
            raise self.fault(f"character {cause.start} is half of a surrogate pair") from None

    def base64(self) -> bytes:
        """Decode a text in base64, which may be broken into lines."""
        try:
            return binascii.a2b_base64("".join(self.text().split()), strict_mode=True)
        except ValueError as cause:
            raise self.fault(f"base64: {cause}") from None


def base64_text(data: bytes) -> str:
    """Return bytes in base64, on one line."""
    return base64.b64encode(data).decode()


def reason_phrase(status: int) -> str:
    """Return the standard phrase of a status, as in `200 OK`; empty for an unknown one."""
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return ""
