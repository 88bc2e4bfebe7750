"""The response with which a server refuses a request. The emulator sends it, from the violations
that `check` finds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wire.errors import Violation


def answer_of(
    violations: Iterable[Violation], *, warnings_too: bool = False
) -> tuple[int, dict[str, Any]] | None:
    """HTTP status and JSON body of the refusal, `None` if nothing is refused.

    The parser reports all its violations, one a line and with details; the validator reports only
    its first one. `warnings_too` treats dated rules as the server of their time did.

    >>> words = "* GenerateContentRequest.contents: ..."
    >>> status, body = answer_of([Violation("contents", "contents is missing", "G4", words=words)])
    >>> status, body["error"]["status"], body["error"]["message"]
    (400, 'INVALID_ARGUMENT', '* GenerateContentRequest.contents: ...')
    """
    given = list(violations)
    refused = [each for each in given if each.severity == "error"]
    if not refused and warnings_too:
        refused = given
    if not refused:
        return None
    lines = [each for each in refused if each.layer == "parser"]
    first = (lines or refused)[0]
    message = "\n".join(map(words_of, lines)) if lines else words_of(first)
    error: dict[str, Any] = {"code": first.status, "message": message, "status": first.code}
    if lines:
        error["details"] = [
            {
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": list(map(_field, lines)),
            }
        ]
    return first.status, {"error": error}


def words_of(violation: Violation) -> str:
    """The server's words for a violation."""
    return violation.words or violation.message


def _field(violation: Violation) -> dict[str, str]:
    described = {"description": words_of(violation)}
    return {"field": violation.field, **described} if violation.field else described
