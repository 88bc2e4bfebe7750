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
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from wire.core.errors import (
    APIError,
    AuthenticationError,
    BadRequestError,
    ContextLengthError,
    LimitError,
    QuotaError,
    RequestTimeoutError,
    ServerError,
    class_of_status,
    one_line,
    retryable_status,
)
from wire.core.exchange import MAX_WAIT
from wire.core.lazy import lazy_pattern
from wire.core.lenient import fitted, plain
from wire.core.limits import LARGE_JSON, Limits, check_json
from wire.core.memory import PICKLED_DEPTH, WireStruct, well_formed_utf8

E = TypeVar("E", bound=WireStruct)

_RETRY_DELAY = lazy_pattern(rb'"retry(?:D|_d)elay\\*"\s*:\s*\\*"(\d{1,12}(?:\.\d{1,12})?)s\\*"')
_LIMITS = Limits(depth=PICKLED_DEPTH)
"""For bodies of errors: the details of an error are copied and pickled with it."""
_TEXT_LIMIT = 300
"""Bytes that a message quotes of a body without an error object, such as a page of HTML."""


STATUS_OF_WORD: Mapping[str, int] = {
    # google.rpc codes
    "invalid_argument": 400,
    "invalid-argument": 400,
    "failed_precondition": 400,
    "out_of_range": 400,
    "unauthenticated": 401,
    "permission_denied": 403,
    "not_found": 404,
    "aborted": 409,
    "already_exists": 409,
    "resource_exhausted": 429,
    "cancelled": 499,
    "data_loss": 500,
    "internal": 500,
    "unimplemented": 501,
    "unavailable": 503,
    "deadline_exceeded": 504,
    # codes and types of other hosts
    "invalid_request_error": 400,
    "bad_request": 400,
    "badrequesterror": 400,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "content_filter": 400,
    "content_filter_error": 400,
    "content_policy_violation": 400,
    "data_inspection_failed": 400,
    "responsibleaipolicyviolation": 400,
    # codes of failed responses, which come without a type
    **dict.fromkeys(
        (
            "bio_policy",
            "data_residency_mismatch",
            "empty_image_file",
            "failed_to_download_image",
            "image_content_policy_violation",
            "image_file_not_found",
            "image_file_too_large",
            "image_parse_error",
            "image_too_large",
            "image_too_small",
            "invalid_base64_image",
            "invalid_image",
            "invalid_image_format",
            "invalid_image_mode",
            "invalid_image_url",
            "invalid_prompt",
            "misalignment_policy_violation",
            "unsupported_image_media_type",
        ),
        400,
    ),
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthorized": 401,
    "billing_error": 402,
    "forbidden": 403,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "request_timeout": 408,
    "conflict": 409,
    "conflict_error": 409,
    "payload_too_large": 413,
    "request_too_large": 413,
    "insufficient_quota": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "ratelimitreached": 429,
    "too_many_requests": 429,
    "api_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "server_error": 500,
    "bad_gateway": 502,
    "service_unavailable": 503,
    "gateway_timeout": 504,
    "timeout": 504,
    "timeout_error": 504,
    "overloaded": 529,
    "overloaded_error": 529,
    # codes of Gemini's Interactions
    **dict.fromkeys(
        (
            "invalid_request",
            "parameter_unknown",
            "content_blocked",
            "safety",
            "recitation",
            "prohibited_content",
            "blocklist",
            "missing_thought_signature",
        ),
        400,
    ),
    "authentication": 401,
    "payment_required": 402,
    "quota_exceeded": 429,
    "not_implemented": 501,
    # exceptions of AWS, whole and in event streams
    "validationexception": 400,
    "servicequotaexceededexception": 400,
    "accessdeniedexception": 403,
    "expiredtokenexception": 403,
    "invalidsignatureexception": 403,
    "missingauthenticationtokenexception": 403,
    "unrecognizedclientexception": 403,
    "resourcenotfoundexception": 404,
    "modeltimeoutexception": 408,
    "modelerrorexception": 424,
    "modelstreamerrorexception": 424,
    "modelnotreadyexception": 429,
    "throttlingexception": 429,
    "internalserverexception": 500,
    "serviceunavailableexception": 503,
}
"""The HTTP status of a code, type or status in lower case, with `_` for blanks. It decides where
the error came with status 200."""

_TIMEOUT_WORDS = frozenset({"deadline_exceeded", "request_timeout", "timeout", "timeout_error"})
"""Codes and types of `RequestTimeoutError`, whatever the status. A 504 without one is a
`ServerError`: it comes from a gateway, which does not know what the provider did.
"""

_STATUS_KEYS = (
    "status_code",
    "http_code",
    "http_status",
    "statusCode",
    "httpStatus",
    "status",
    "code",
)
"""Keys of an error object that may hold an HTTP status."""
_WORD_KEYS = ("code", "status", "type", "reason")
"""Keys of an error object that may hold a word of `STATUS_OF_WORD`, most exact first."""

_FILTER = lazy_pattern(
    r"content.?filter|content_policy_violation|data_inspection_failed|responsible.?ai.?policy",
    re.IGNORECASE,
)
_KEY = lazy_pattern(
    r"(api.?key|x-api-key)\b.{0,9} (not valid|invalid)|(invalid|incorrect) (x-)?api.?key",
    re.IGNORECASE,
)

_SIGNATURE = lazy_pattern(
    r"^(UnrecognizedClient|InvalidSignature|ExpiredToken|MissingAuthenticationToken)Exception\b",
    re.IGNORECASE,
)


class Words(msgspec.Struct, frozen=True):
    """A row of `ErrorReader.classes`: the words and statuses that select the class `kind`.

    An error of such a class is never retryable: the same request fails again.
    """

    kind: type[APIError]
    pattern: Callable[[], re.Pattern[str]] | None = None
    """Pattern to search for in `ErrorReader.words`; `None` matches every error."""
    statuses: frozenset[int] | None = None
    """`None` matches every status."""

    def fits(self, status: int, words: str) -> bool:
        """Return whether an error of this status with these words is of `kind`."""
        if self.pattern is not None and self.pattern().search(words) is None:
            return False
        if self.pattern is not None and status < 400:
            return True  # the error names no status, so the words decide alone
        return self.statuses is None or status in self.statuses


# The id of a daily quota contains PerDay. Its RetryInfo must not be obeyed: after that wait the
# quota is still used up (G74).
_DAILY = lazy_pattern(r"^quota: .*PerDay", re.MULTILINE)
DAILY_QUOTA = Words(QuotaError, _DAILY, frozenset({429}))
"""Row for the errors of Google, whose words have the lines of `quota_lines`. Any other quota of
Google is one that a wait brings back, such as one of a minute."""


_TOO_LONG = lazy_pattern(
    r"context_length_exceeded|exceed_context_size|context (length|window|size)|context limit"
    r"|prompt (is )?too long|too many tokens|maximum (context|prompt) length"
    # GLM (1261), Qwen, Kimi, SGLang
    r"|prompt exceeds max length|range of input length should be|exceeded model token limit"
    r"|input length .*exceeds? the maximum allowed length",
    re.IGNORECASE,
)
TOO_LONG = Words(ContextLengthError, _TOO_LONG, frozenset({400, 413, 422, 500}))
"""Row for a request that is longer than the context window, in the words of all hosts."""


def quota_lines(ids: Iterable[object]) -> list[str]:
    """Format a line for each id of a quota in a google.rpc QuotaFailure."""
    return [f"quota: {id}" for id in ids]


_CLASSES = (
    # No later attempt passes the same filter, whatever the status.
    Words(BadRequestError, _FILTER),
    Words(AuthenticationError, _KEY, frozenset({400, 401})),
    Words(AuthenticationError, _SIGNATURE, frozenset({400, 401, 403})),
)
"""Rows for every wire."""


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
    classes: ClassVar[tuple[Words, ...]] = ()
    """The first row that fits selects the class. The rows of `_CLASSES` follow."""
    quota: ClassVar[Words | None] = None
    """Words of an exhausted quota, which mean 429 if the error has no status."""

    # --- fields of an error, for a wire to override -----------------------------------------------

    def code(self, error: E) -> str | None:
        """Return the most exact name that the provider has for the error."""
        raise NotImplementedError

    def words(self, error: E) -> str:
        """Return the text that the patterns of `classes` search."""
        named = self.code(error), getattr(error, "type", None), self.message(error)
        return " ".join(each for each in named if each is not None)

    def message(self, error: E) -> str:
        """Return the message, in one line."""
        return one_line(getattr(error, "message", None) or "") or "no message"

    def details(self, error: E) -> tuple[Any, ...]:
        """Return the `details` of the exception."""
        return (error,)

    # --- bytes to errors --------------------------------------------------------------------------

    def parse(self, status: int, body: bytes) -> APIError:
        """Build the error of a response with an error status, whatever its body is."""
        try:
            check_json(body, _LIMITS)
            value = plain(body)
        except LimitError:  # its text is quoted, as that of a page of HTML is
            value = None
        fields = self._error_fields(value, certain=True)
        error = self._unnamed(body) if fields is None else self._object(fields)
        return self._typed(error, status, body, request_id_in(value), fields or {})

    def in_success(
        self, data: bytes, *, certain: bool = False, raw: bytes = b""
    ) -> APIError | None:
        """Find the error in the JSON of a response with status 200; `None` if there is none.

        `certain`: as in `error_in`. `raw`: the bytes that the exception keeps in place of `data`.
        """
        # Decoding each chunk a second time would double the cost of a stream. A body without one of
        # these byte sequences has no error. A text that quotes them has a backslash in between.
        may_have_error = (
            b'"error"' in data or b'"base_resp"' in data
            if len(data) < LARGE_JSON
            else _names_error(data)
        )
        if not ((certain and self.flat_keys) or may_have_error):
            return None
        check_json(data, _LIMITS)
        value = plain(data)
        fields = self._error_fields(value, certain=certain)
        if fields is None:
            return None
        error = self._object(fields)
        status = self._status_in(fields, error)
        typed = self._typed(error, status, raw or data, request_id_in(value), fields)
        if status < 400 and fields is value:  # an error without an envelope may be permanent
            typed.retryable = False
        return typed

    def without_words(self, data: bytes) -> APIError:
        """Build the error for a body with status 200 that has no error object."""
        return self._typed(self._unnamed(data), 200, data)

    def _unnamed(self, body: bytes) -> E:
        text = one_line(body.decode("utf-8", "replace"), _TEXT_LIMIT)
        return fitted({"message": text}, self.kind)

    def _typed(
        self,
        error: E,
        status: int,
        body: bytes,
        request_id: str | None = None,
        received: Mapping[str, Any] = MappingProxyType({}),
    ) -> APIError:
        """Convert an error object to an exception; `received` has the keys that it came with.

        A status below 400 means that the error does not tell its status. Its class is then
        `ServerError`, and the same request may succeed later.
        """
        cls, retryable = class_of_status(status), retryable_status(status)
        if status < 400:
            cls, retryable = ServerError, True
        if any(_word(str(received.get(key))) in _TIMEOUT_WORDS for key in _WORD_KEYS):
            cls = RequestTimeoutError
        words = self.words(error)
        row = next((row for row in (*self.classes, *_CLASSES) if row.fits(status, words)), None)
        if row is not None:
            cls, retryable = row.kind, False
        return cls(
            self.message(error),
            details=self.details(error),
            status=status,
            code=self.code(error),
            retryable=retryable,
            retry_after=retry_delay(body),
            request_id=request_id,
            raw=body,
        )

    def _status_in(self, fields: dict[str, Any], error: E) -> int:
        """Return the HTTP status that an error object names; 200 if it names none."""
        metadata = fields.get("metadata")
        sources = [fields, metadata] if isinstance(metadata, dict) else [fields]
        for source in sources:
            for key in _STATUS_KEYS:
                value = source.get(key)
                if isinstance(value, str) and len(value) == 3 and value.isdecimal():
                    value = int(value)
                if type(value) is int and 400 <= value < 600:
                    return value
        for key in _WORD_KEYS:
            status = STATUS_OF_WORD.get(_word(str(fields.get(key))))
            if status is not None:
                return status
        message = getattr(error, "message", None) or ""
        return 429 if self.quota is not None and self.quota.fits(200, message) else 200

    # --- JSON values to errors --------------------------------------------------------------------

    def error_in(self, value: Any, *, certain: bool) -> E | None:
        """Find the error object in a JSON value; `None` if there is none.

        `certain`: the value is known to be an error, so keys that a normal response may have too
        are read as an error.
        """
        fields = self._error_fields(value, certain=certain)
        return None if fields is None else self._object(fields)

    def _error_fields(self, value: Any, *, certain: bool) -> dict[str, Any] | None:
        """Find the error in a JSON value, in the provider's keys."""
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, str):
            return {"message": value} if certain else None
        if not isinstance(value, dict):
            return None
        if value.get("error"):
            return self._unwrapped(value)
        base = value.get("base_resp")
        if isinstance(base, dict) and base.get("status_code"):
            return {"code": base["status_code"], "message": base.get("status_msg")}
        for key in self.inner_keys:
            inner = value.get(key)
            for each in inner if isinstance(inner, list) else [inner]:
                if isinstance(each, dict) and each.get("error"):
                    return self._unwrapped({"error": each["error"]})
        if self.flat_mark is not None and value.get(self.flat_mark[0]) == self.flat_mark[1]:
            return {key: item for key, item in value.items() if (key, item) != self.flat_mark}
        if certain and any(value.get(key) for key in self.flat_keys):
            return value
        return None

    def _unwrapped(self, envelope: dict[str, Any]) -> dict[str, Any]:
        """Merge the status and the `beside_keys` of an envelope into the object under `error`."""
        error = envelope["error"]
        if isinstance(error, list) and len(error) == 1:
            error = error[0]
        inside = error if isinstance(error, dict) else {"message": _text(error)}
        keys = (*self.beside_keys, *_STATUS_KEYS)
        outside = {key: envelope[key] for key in keys if key in envelope}
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


def _names_error(data: bytes) -> bool:
    """Return whether a large JSON contains `"error"` or `"base_resp"`.

    Finding a quote takes a fortieth of the time of finding a word, and most large bodies are one
    long text, such as an image. In a body with many quotes, the rest is searched for the words.
    """
    at = -1
    for _ in range(_FEW_QUOTES):
        at = data.find(b'"', at + 1)
        if at < 0:
            return False
        if data.startswith(_ERROR_KEYS, at):
            return True
    return _ERROR_KEY().search(data, at) is not None


_ERROR_KEYS = (b'"error"', b'"base_resp"')
_ERROR_KEY = lazy_pattern(rb'"(?:error|base_resp)"')
_FEW_QUOTES = 1_000


def request_id_in(value: Any) -> str | None:
    """Return the `request_id` next to an error object."""
    id = value.get("request_id") if isinstance(value, dict) else None
    return id if isinstance(id, str) and id else None


def _word(text: str) -> str:
    """Convert a code, type or status to the spelling of `STATUS_OF_WORD`."""
    return text.strip().lower().replace(" ", "_")


def retry_delay(body: bytes) -> float | None:
    r"""Return the seconds in a google.rpc RetryInfo of an error body; the longest of several.

    >>> retry_delay(b'[{"error":{"details":[{"retryDelay":"34.4s"}]}}]')
    34.4

    It searches the bytes, because it is found in many places: in the details of Google's error, in
    a list, and in the error of a gateway that has Google's as a text, with escaped quotes.
    """
    delays = [float(match) for match in _RETRY_DELAY().findall(body)]
    return max((each for each in delays if each <= MAX_WAIT), default=None)


def _text(value: Any) -> str:
    """Return the value itself if it is a text, otherwise its JSON."""
    if isinstance(value, str):
        return value
    return well_formed_utf8(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).decode()


def _words(value: Any) -> str:
    """Return the text of a message: a text, an object with one, or FastAPI's violations."""
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
