"""Requests that Gemini refuses, in the server's words.

Rules about the request alone come from `wire.gemini.rules`; those that need the server's state are
here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any, TypeVar

import msgspec

from wire.core.errors import RuleError, Violation
from wire.core.memory import WireStruct
from wire.gemini.decode import decode
from wire.gemini.error_body import render_error
from wire.gemini.rows import provider_row
from wire.gemini.rules import WORDS, check, error_response, server_text
from wire.gemini.types import Content, GenerateContentRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.quota import LimitState
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.tables import filled, table
from wire.testing.emulator.vendor import Failure, Refusal, Settings, retry_after_header
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.catalog import Traits, traits
from wire.testing.emulator.vendors.gemini.signatures import Signatures, Step

S = TypeVar("S", bound=WireStruct)

_WORDS: Mapping[str, Any] = table(__file__, "words")
"""Refusals beyond those of rules. Of the quotas, that of requests is recorded, the others are
inferred."""
_STATUSES = {**_WORDS["statuses"], "503": WORDS["G75"].text}


def refusal(
    status: int,
    message: str,
    rule: str = "",
    *,
    code: str = "",
    details: Sequence[dict[str, Any]] = (),
) -> Refusal:
    """Build a refusal with the server's message."""
    return refused(render_error(status, message, code, details=details), rule)


def refused(error: dict[str, Any], rule: str = "") -> Refusal:
    """Build a refusal with a complete error object."""
    return Refusal(replace(whole(error, error["error"]["code"]), rule=rule))


def error(failure: Failure) -> dict[str, Any]:
    """Build the error object of a failure."""
    if failure.status == 429 and not failure.message:
        return quota(failure.model, failure.retry_after, failure.limit)
    message = failure.message or _STATUSES.get(str(failure.status))
    message = message or f"scripted {failure.status}"
    details = retry_info(failure.retry_after)
    return render_error(failure.status, message, failure.code, details=details)


def error_answer(failure: Failure) -> Answer:
    """Build the error response of a failure."""
    return whole(error(failure), failure.status, retry_after_header(failure))


# --- rules ----------------------------------------------------------------------------------------


def check_body(
    settings: Settings, signatures: Signatures, body: bytes, model: str, route: Route
) -> None:
    """Raise `Refusal` if the rules of an endpoint refuse a body."""
    if settings.lenient:
        return
    warnings_too = settings.warnings_too
    row = provider_row("gemini@vertex" if route.host == "vertex" else "gemini")
    violations = check(
        body, model, msgspec.structs.replace(row, version=route.version), endpoint=route.endpoint
    )
    # Which models live is the catalog's business: a caller may set its day.
    violations = [each for each in violations if each.rule != "G86"]
    if not warnings_too and any(
        each.rule in ("G18", "G25") and each.layer != "parser" for each in violations
    ):
        contents = decoded(body, GenerateContentRequest).contents or ()
        violations = [each for each in violations if not _is_own(each, contents, signatures)]
    answer = error_response(violations, warnings_too=warnings_too)
    if answer is not None:
        refusing = [each for each in violations if each.severity == "error"] or violations
        raise refused(
            answer[1],
            next((each.rule for each in refusing if each.layer == "parser"), refusing[0].rule),
        )


def _is_own(violation: Violation, contents: Sequence[Content], signatures: Signatures) -> bool:
    """Return whether a violation is in a value that the emulator sent: not the client's error.

    G25: a signature that a script invented. G18: a result without the id of its call. Google's own
    client leaves ids out of the results of automatic calls (recorded, google-genai 3.4.0), and the
    server takes them, so the one report of G18 must be about ids that the server did not send.
    """
    position = re.match(r"contents\[(\d+)\]\.parts\[(\d+)\]", violation.path)
    if position is None or violation.layer == "parser":
        return False
    part = (contents[int(position[1])].parts or ())[int(position[2])]
    if violation.rule == "G25":
        return signatures.is_scripted(part.thought_signature or "")
    if violation.rule != "G18" or part.function_response is None or part.function_response.id:
        return False
    calls = (each.function_call for content in contents for each in content.parts or ())
    return all(call.id in signatures.ids for call in calls if call is not None and call.id)


def _undecodable(error: RuleError) -> Refusal:
    """Build the refusal of a body that is not JSON, or does not fit its message."""
    violation: Violation = error.violations[0]
    if not violation.path:
        return refusal(400, f"Invalid JSON payload received. {violation.message}", "G1")
    path = re.sub(r"(?<=[a-z])[A-Z]", lambda letter: f"_{letter[0].lower()}", violation.path)
    message = f"Invalid value at '{path}', {violation.message}"
    return stated("undecodable", "G1", path=path, message=message)


def decoded(body: bytes, kind: type[S]) -> S:
    """Decode a body. Raises `Refusal` if it does not fit its message."""
    try:
        return decode(body or b"{}", kind)
    except RuleError as error:
        raise _undecodable(error) from None


# --- rules that need state ------------------------------------------------------------------------


def rule_refusal(name: str, host: str = "gemini", /, **words: object) -> Refusal:
    """Build the refusal of a rule, in the words of `wire.gemini.rules`."""
    row = WORDS[name]
    return refusal(row.status, server_text(name, host, **words), name, code=row.code)


def check_signatures(
    steps: Sequence[Step], model: Traits, host: str, signatures: Signatures
) -> None:
    """Raise `Refusal` for unsigned calls of the current turn (G24) and wrong signatures (G25).

    Only the first call of a step has to be signed.
    """
    if model.signs != "last" or "image" in model.name:
        return
    for step in steps:
        name, signature = step.calls[0]
        if not signature:
            raise rule_refusal("G24", host, name=name, position=step.index + 1)
        for position, (name, signature) in enumerate(step.calls):
            if signature and not signatures.valid(signature, model, name, step.number, position):
                raise rule_refusal("G25", host)


_ANY_MODEL = ("get", "countTokens", "cachedContents.create")


def model_of(route: Route, settings: Settings) -> Traits:
    """Return the model of a route.

    Raises `Refusal` if it is unknown or lacks the method (G72), or has an impossible name (G81).
    """
    name, host, action = route.name, route.host, route.endpoint
    model = traits(name, host=host, lenient=settings.lenient, date=settings.date)
    needs_method = action not in _ANY_MODEL and not settings.lenient
    if model is not None and (not needs_method or action in model.methods):
        return model
    if host == "vertex":
        model_name = f"{route.parent}publishers/google/models/{name}"
        raise rule_refusal("G72", host, model=model_name)
    if not re.fullmatch(r"[\w.\-/@]+", name):
        raise rule_refusal("G81")
    method = _SHOWN_METHODS.get(action, action)
    raise rule_refusal("G72", model=name, version=route.version, method=method)


_SHOWN_METHODS = {
    "get": "getModel",
    "streamGenerateContent": "generateContent",
    "batchEmbedContents": "embedContent",
}


def not_found() -> Refusal:
    """Build the refusal of a thing that is not stored."""
    return refusal(404, "Requested entity was not found.")


def stated(name: str, rule: str = "G73", /, **words: object) -> Refusal:
    """Build a refusal of the table `words.json`; without a rule's id, one of a key."""
    row = filled(_WORDS[name], {"message": WORDS["G73"].text, **words})
    return refusal(row["status"], row["message"], rule, details=row.get("details", ()))


def quota(model: str, seconds: float | None, state: LimitState | None = None) -> dict[str, Any]:
    """Build an error object of status 429, with its details (G74).

    Without a limit it names no amount: a client would keep to one that the emulator does not have.
    """
    unit, value = ("requests", None) if state is None else (state.unit, state.limit)
    return _quota_error(model, seconds, unit, value)


def used_up(failure: Failure) -> Answer:
    """Return the error of a quota of a day."""
    return whole(_quota_error(failure.model, failure.retry_after, "day", 250), 429)


def _quota_error(model: str, seconds: float | None, unit: str, value: int | None) -> dict[str, Any]:
    metric, id = _WORDS["quotas"][unit]
    limit = f", limit: {value}" if value is not None else ""
    wait = f"\nPlease retry in {_seconds(seconds)}." if seconds is not None else ""
    words = {"metric": metric, "id": id, "limit": limit, "model": model, "wait": wait}
    row = filled(_WORDS["quota"], words)
    if value is not None:
        row["details"][-1]["violations"][0]["quotaValue"] = str(value)
    details = [*row["details"], *retry_info(seconds)]
    return render_error(429, row["message"], details=details)


def storage_full() -> Answer:
    """Return the quota error of stores; without RetryInfo, since no wait helps."""
    return stated("storage_full", "").answer


def retry_info(seconds: float | None) -> list[dict[str, Any]]:
    """Return RetryInfo as a detail of an error; empty without seconds."""
    kind = "type.googleapis.com/google.rpc.RetryInfo"
    return [] if seconds is None else [{"@type": kind, "retryDelay": _seconds(seconds)}]


def _seconds(value: float) -> str:
    return f"{value:g}s"


def no_endpoint(request: Received, route: Route | None) -> Answer:
    """Return 404 for an unknown path, and 405 for one without this method: Google sends a page."""
    status = 404 if route is None else 405
    method, path = escape(request.method, quote=False), escape(request.path, quote=False)
    page: str = _WORDS["pages"][str(status)].format(method=method, path=path)
    return Answer(status, (("content-type", "text/html; charset=UTF-8"),), (page.encode(),))
