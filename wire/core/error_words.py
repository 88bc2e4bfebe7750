"""Maps the errors of providers to typed errors: one reader, and tables for each wire.

Hosts put the same error into many envelopes: `{"error": {...}}`, `{"error": "text"}`, a flat
`{"message", "type", "code"}`, `{"detail": ...}`, MiniMax's `base_resp`, a list of one envelope, a
page of HTML, an empty body. The error is the body of a response with an error status, the body of a
response with status 200, or an event of a stream.

A wire subclasses `ErrorReader` and sets its struct and its tables. The HTTP status selects the
class of the exception; the rows of `classes` refine it by the words of the message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from wire.core.lenient import fitted, plain
from wire.core.memory import WireStruct, sayable
from wire.errors import APIError, class_of_status, one_line, retryable_status

E = TypeVar("E", bound=WireStruct)

_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")
_TEXT_LIMIT = 300
"""Bytes that a message quotes of a body without an error object, such as a page of HTML."""


@dataclass(frozen=True, slots=True)
class Words:
    """A row of `ErrorReader.classes`: the words and statuses that select the class `kind`.

    An error of such a class is never retryable: the same request fails again.
    """

    kind: type[APIError]
    pattern: re.Pattern[str] | None = None
    """Pattern to search for in `ErrorReader.words`; `None` matches every error."""
    statuses: frozenset[int] | None = None
    """`None` matches every status."""

    def fits(self, status: int, words: str) -> bool:
        """Whether an error of this status with these words is of `kind`."""
        return (self.statuses is None or status in self.statuses) and (
            self.pattern is None or self.pattern.search(words) is not None
        )


class ErrorReader(Generic[E]):
    """The errors of one wire, read from bytes or from JSON values."""

    kind: type[E]
    """The struct of an error object. Has `message`, and `type` unless `type_keys` is empty."""
    flat_keys: ClassVar[tuple[str, ...]] = ()
    """Keys of an error object without envelope. They count only in a response that is known to be
    an error.
    """
    flat_mark: ClassVar[tuple[str, str] | None] = None
    """Key and value that mark an object without envelope as an error, with any status."""
    inner_keys: ClassVar[tuple[str, ...]] = ()
    """Keys of a response whose object, or list of objects, may contain an `error`."""
    beside_keys: ClassVar[tuple[str, ...]] = ("code",)
    """Keys next to `error` that belong to the error."""
    message_keys: ClassVar[tuple[str, ...]] = ("message", "msg", "detail")
    """Keys of an error object, best first. The first that is not empty is the message."""
    type_keys: ClassVar[tuple[str, ...]] = ("type",)
    """Keys of an error object, best first. The first that is a non-empty text is the type."""
    status_keys: ClassVar[tuple[str, ...]] = ("code",)
    """Fields of `kind`, best first, that may hold an HTTP status."""
    status_of_word: ClassVar[Mapping[str, int]] = {}
    """Error code or type in lower case to its HTTP status, for errors without a status."""
    classes: ClassVar[tuple[Words, ...]] = ()
    """The first row that fits selects the class."""
    quota: ClassVar[re.Pattern[str] | None] = None
    """Words of an exhausted quota, which mean 429 if the error has no status."""

    # --- fields of an error, for a wire to override -----------------------------------------------

    def code(self, error: E) -> str | None:
        """The most exact name that the provider has for the error."""
        raise NotImplementedError

    def words(self, error: E) -> str:
        """The text that the patterns of `classes` search."""
        named = self.code(error), getattr(error, "type", None), self.message(error)
        return " ".join(each for each in named if each is not None)

    def message(self, error: E) -> str:
        """The message, in one line."""
        return one_line(getattr(error, "message", None) or "") or "no message"

    def statuses(self, error: E) -> tuple[Any, ...]:
        """Values that may be an HTTP status, best first."""
        return tuple(getattr(error, key) for key in self.status_keys)

    def details(self, error: E) -> tuple[Any, ...]:
        """`details` of the exception."""
        return (error,)

    def retry_after(self, error: E) -> float | None:
        """Seconds that the provider asks to wait."""
        return None

    # --- bytes to errors --------------------------------------------------------------------------

    def parse(self, status: int, body: bytes) -> APIError:
        """The error of a response with an error status, whatever its body is."""
        value = plain(body)
        error = self.error_in(value, certain=True) or self._unnamed(body)
        return self.typed(error, status, body, request_id_in(value))

    def in_success(self, data: bytes, *, certain: bool = False) -> APIError | None:
        """The error in the JSON of a response with status 200; `None` if there is none.

        `certain`: as in `error_in`.
        """
        # Decoding each chunk a second time would double the cost of a stream. Without one of these
        # bytes `error_in` finds nothing. A text that quotes them has a backslash in between.
        if not ((certain and self.flat_keys) or b'"error"' in data or b'"base_resp"' in data):
            return None
        value = plain(data)
        error = self.error_in(value, certain=certain)
        return None if error is None else self.typed(error, 200, data, request_id_in(value))

    def without_words(self, data: bytes) -> APIError:
        """An error with status 200 whose body has no error object."""
        return self.typed(self._unnamed(data), 200, data)

    def _unnamed(self, body: bytes) -> E:
        text = one_line(body.decode("utf-8", "replace"), _TEXT_LIMIT)
        return fitted({"message": text}, self.kind)

    def typed(
        self, error: E, http_status: int, body: bytes, request_id: str | None = None
    ) -> APIError:
        """Convert an error object to an exception.

        If the HTTP status is a success, the error object decides the status.
        """
        status = http_status if http_status >= 400 else self._status_in(error)
        cls, retryable = class_of_status(status), retryable_status(status)
        words = self.words(error)
        row = next((row for row in self.classes if row.fits(status, words)), None)
        if row is not None:
            cls, retryable = row.kind, False
        return cls(
            self.message(error),
            details=self.details(error),
            status=status,
            code=self.code(error),
            retryable=retryable,
            retry_after=self.retry_after(error),
            request_id=request_id,
            raw=body,
        )

    def _status_in(self, error: E) -> int:
        for code in self.statuses(error):
            number = (
                int(code) if isinstance(code, str) and len(code) == 3 and code.isdecimal() else code
            )
            if isinstance(number, int) and 400 <= number < 600:
                return number
        for word in (getattr(error, "code", None), getattr(error, "type", None)):
            status = self.status_of_word.get(str(word).lower())
            if status is not None:
                return status
        message = getattr(error, "message", None) or ""
        return 429 if self.quota is not None and self.quota.search(message) else 500

    # --- JSON values to errors --------------------------------------------------------------------

    def error_in(self, value: Any, *, certain: bool) -> E | None:
        """The error object in a JSON value; `None` if there is none.

        `certain`: the value is known to be an error, so keys that a normal response may have too
        are read as an error.
        """
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, str):
            return self._object({"message": value}) if certain else None
        if not isinstance(value, dict):
            return None
        if value.get("error"):
            return self._object(self._unwrapped(value))
        base = value.get("base_resp")
        if isinstance(base, dict) and base.get("status_code"):
            return self._object({"code": base["status_code"], "message": base.get("status_msg")})
        for key in self.inner_keys:
            inner = value.get(key)
            for each in inner if isinstance(inner, list) else [inner]:
                if isinstance(each, dict) and each.get("error"):
                    return self._object(self._unwrapped({"error": each["error"]}))
        if self.flat_mark is not None and value.get(self.flat_mark[0]) == self.flat_mark[1]:
            return self._object(
                {key: item for key, item in value.items() if (key, item) != self.flat_mark}
            )
        if certain and any(value.get(key) for key in self.flat_keys):
            return self._object(value)
        return None

    def _unwrapped(self, envelope: dict[str, Any]) -> dict[str, Any]:
        """The object under `error`, merged with the `beside_keys` of its envelope."""
        error = envelope["error"]
        inside = error if isinstance(error, dict) else {"message": _text(error)}
        outside = {key: envelope[key] for key in self.beside_keys if key in envelope}
        if outside.get("type") == "error":  # the type of the envelope, not of the error
            del outside["type"]
        return {**outside, **inside}

    def _object(self, received: dict[str, Any]) -> E:
        """Convert an error object to `kind`. Values of a wrong type are dropped."""
        try:
            return fitted(self.fields(received), self.kind)
        except RecursionError:
            return fitted({"message": "an error that is nested too deeply"}, self.kind)

    def fields(self, received: dict[str, Any]) -> dict[str, Any]:
        """Map the keys of a received error object to the fields of `kind`."""
        keys = (*self.message_keys, *self.type_keys, "code")
        message = next(
            (received[key] for key in keys if received.get(key)),
            next((received[key] for key in self.message_keys if key in received), None),
        )
        kind = next(
            (word for key in self.type_keys if isinstance(word := received.get(key), str) and word),
            None,
        )
        fields = self.kind.__struct_encode_fields__
        known = {key: received[key] for key in fields if key in received}
        known["message"] = "" if message is None else _words(message)
        if self.type_keys:
            known["type"] = kind
        return known


def request_id_in(value: Any) -> str | None:
    """The `request_id` next to an error object."""
    id = value.get("request_id") if isinstance(value, dict) else None
    return id if isinstance(id, str) and id else None


def seconds_in(delay: Any) -> float | None:
    """The seconds of a `google.protobuf.Duration` such as `"34.4s"`."""
    match = _DURATION.fullmatch(delay) if isinstance(delay, str) else None
    return float(match[1]) if match else None


def _text(value: Any) -> str:
    """The value itself if it is a text, else its JSON."""
    if isinstance(value, str):
        return value
    return sayable(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).decode()


def _words(value: Any) -> str:
    """The text of a message: a text, an object that holds one, or FastAPI's list of violations."""
    if isinstance(value, dict):
        return _text(value.get("message") or value.get("msg") or value.get("detail") or value)
    if isinstance(value, list) and value:
        violations = [item for item in value if isinstance(item, dict) and "msg" in item]
        if len(violations) == len(value):
            return "; ".join(map(_violation, violations))
    return _text(value)


def _violation(violation: dict[str, Any]) -> str:
    steps = violation.get("loc")
    path = ".".join(map(str, steps)) if isinstance(steps, list) else ""
    return f"{path}: {_text(violation['msg'])}" if path else _text(violation["msg"])
