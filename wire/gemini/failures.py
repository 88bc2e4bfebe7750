"""The typed error of a file or a batch that failed."""

from __future__ import annotations

from wire.core.errors import APIError, class_of_status
from wire.gemini.error_body import RPC_CODES
from wire.gemini.types import Status


def failed(error: Status | None, subject: str, raw: bytes = b"") -> APIError:
    """Build the typed error of a failed job. `subject` begins its message, `raw` is the response.

    The `code` of an error inside a job is a google.rpc code; it is mapped to an HTTP status.

    >>> failed(Status(code=3, message="no video in it"), "files/abc is FAILED")
    BadRequestError("400 INVALID_ARGUMENT: files/abc is FAILED: no video in it")
    """
    code = error.code if error is not None and error.code is not None else 13
    word, status = RPC_CODES.get(code, (None, code if 400 <= code < 600 else 500))
    return class_of_status(status)(
        f"{subject}: {(error and error.message) or 'no message'}",
        details=(error and error.details) or (),
        status=status,
        code=(error and error.status) or word,
        raw=raw,
    )
