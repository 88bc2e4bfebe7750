"""Error responses of Bedrock as typed errors.

The body is `{"message"}`, or `{"Message"}`. The type stands in the header `x-amzn-errortype`, up to
its first colon; of an exception in a stream, in a header of its frame.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import msgspec

from wire.converse.types import ErrorObject
from wire.core.arguments import checked_arguments
from wire.core.error_words import TOO_LONG, ErrorReader, Words
from wire.core.errors import (
    APIError,
    ContextLengthError,
    QuotaError,
    ServerError,
    retryable_status,
)
from wire.core.lazy import lazy_pattern

TYPE_HEADER = "x-amzn-errortype"

_QUOTA = lazy_pattern(r"^ServiceQuotaExceededException\b")
_LONG = lazy_pattern(r"\binput is too long\b", re.IGNORECASE)
_OF_MODEL = ("ModelErrorException", "ModelStreamErrorException")
"""Types of errors of the model itself, which may tell the status of the model."""


class _Errors(ErrorReader[ErrorObject]):
    kind = ErrorObject
    flat_keys: ClassVar[tuple[str, ...]] = ("message", "Message")
    message_keys: ClassVar[tuple[str, ...]] = ("message", "Message", "msg", "detail")
    quota = Words(QuotaError, _QUOTA)
    classes: ClassVar[tuple[Words, ...]] = (
        Words(QuotaError, _QUOTA, frozenset({400})),
        Words(ContextLengthError, _LONG, frozenset({400})),
        TOO_LONG,
    )

    def code(self, error: ErrorObject) -> str | None:
        """Return the type, which begins with a small letter in frames."""
        kind = error.code or error.type
        return kind[:1].upper() + kind[1:] if kind else None

    def named(self, status: int, kind: str, body: bytes) -> APIError:
        """Build the error of a response whose type stands in a header, whatever its body is."""
        typed = self.parse(status, body)
        error: ErrorObject = typed.details[0]
        error = msgspec.structs.replace(error, type=kind)
        return self._typed(error, status, body, typed.request_id, {"type": kind})

    def message(self, error: ErrorObject) -> str:
        """Return the message, with the words of the model where these are others."""
        told, own = super().message(error), error.original_message or ""
        return f"{told} ({own})" if own and own not in told else told

    def _typed(
        self,
        error: ErrorObject,
        status: int,
        body: bytes,
        request_id: str | None = None,
        received: Mapping[str, Any] = MappingProxyType({}),
    ) -> APIError:
        """Convert an error object; one of the model itself is an error of the server."""
        typed = super()._typed(error, status, body, request_id, received)
        if typed.code in _OF_MODEL and type(typed) is APIError:
            retryable = retryable_status(error.original_status_code or 500)
            typed = ServerError(
                typed.message,
                details=typed.details,
                status=typed.status,
                code=typed.code,
                retryable=retryable,
                request_id=typed.request_id,
                raw=typed.raw,
            )
        return typed


ERRORS = _Errors()


@checked_arguments()
def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> APIError:
    """Build the typed error of a response with an error status.

    Its `details` has one `ErrorObject`; its `code` is the type of the error.

    >>> headers = {"x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/"}
    >>> error = parse_error(429, headers, b'{"message":"Too many requests"}')
    >>> type(error).__name__, error.code, error.retryable
    ('RateLimitError', 'ThrottlingException', True)
    """
    found = next((value for name, value in headers.items() if name.lower() == TYPE_HEADER), "")
    kind = str(found).partition(":")[0]
    return ERRORS.named(status, kind, body) if kind else ERRORS.parse(status, body)


_TYPES = {
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
    529: "ServiceUnavailableException",
}


def type_of(status: int) -> str:
    """Return the type of an error with a status, for the header that has it.

    >>> type_of(429), type_of(400), type_of(502)
    ('ThrottlingException', 'ValidationException', 'InternalServerException')
    """
    usual = "InternalServerException" if status >= 500 else "ValidationException"
    return _TYPES.get(status, usual)


@checked_arguments()
def render_error(status: int, message: str, code: str = "") -> dict[str, Any]:
    """Return the error object that a client of Converse gets as a body.

    The type of the error is no part of it: `type_of` returns it for the header.

    >>> render_error(503, "Overloaded")
    {'message': 'Overloaded'}
    """
    return {"message": message}
