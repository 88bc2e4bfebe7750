"""Builds the error response of a server from violations of `check`, for the emulator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wire.core.errors import Violation


def error_response(
    violations: Iterable[Violation], *, warnings_too: bool = False
) -> tuple[int, dict[str, Any]] | None:
    """Return the HTTP status and the JSON body of the error response; `None` if nothing is refused.

    The parser reports all its violations, one per line and with details; the validator reports only
    the first one. `warnings_too` refuses dated rules too, as the servers of their time did.

    >>> words = "* GenerateContentRequest.contents: ..."
    >>> violation = Violation("contents", "contents is missing", "G4", words=words)
    >>> status, body = error_response([violation])
    >>> status, body["error"]["status"], body["error"]["message"]
    (400, 'INVALID_ARGUMENT', '* GenerateContentRequest.contents: ...')
    """
    every = list(violations)
    refused = [each for each in every if each.severity == "error"]
    if not refused and warnings_too:
        refused = every
    if not refused:
        return None
    # The parser runs first: a body with one of its violations never reaches the validator.
    of_parser = [each for each in refused if each.layer == "parser"]
    first = (of_parser or refused)[0]
    message = "\n".join(map(words_of, of_parser)) if of_parser else words_of(first)
    error: dict[str, Any] = {"code": first.status, "message": message, "status": first.code}
    if of_parser:
        error["details"] = [
            {
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": list(map(_field, of_parser)),
            }
        ]
    return first.status, {"error": error}


def words_of(violation: Violation) -> str:
    """Return the server's error text for a violation."""
    return violation.words or violation.message


def _field(violation: Violation) -> dict[str, str]:
    """Convert a violation to an entry of `fieldViolations`."""
    entry = {"description": words_of(violation)}
    return {"field": violation.field, **entry} if violation.field else entry
