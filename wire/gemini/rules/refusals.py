"""The answer with which a server refuses a request: what the emulator sends, out of what `check`
found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wire.errors import Violation


def answer_of(
    violations: Iterable[Violation], *, warnings_too: bool = False
) -> tuple[int, dict[str, Any]] | None:
    """HTTP status and JSON body of the refusal, `None` if nothing is refused.

    The parser tells all its offenders, a line each, with details; the validator the first of its
    own. `warnings_too` refuses as in the era of the rules that are dated.

    >>> answer_of([Violation("contents", "contents is not specified", "G4", words="* GenerateContentRequest.contents: ...")])
    (400, {'error': {'code': 400, 'message': '* GenerateContentRequest.contents: ...', 'status': 'INVALID_ARGUMENT'}})
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
    """What the server says of a violation."""
    return violation.words or violation.message


def _field(violation: Violation) -> dict[str, str]:
    described = {"description": words_of(violation)}
    return {"field": violation.field, **described} if violation.field else described
