"""What is refused, and in which words: the one place that asks `wire.gemini.rules`, and the words
that need a server's memory.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any, TypeVar

from wire.core.memory import WireStruct
from wire.errors import RuleError, Violation
from wire.gemini.decode import decode
from wire.gemini.rows import provider_row
from wire.gemini.rules import WORDS, answer_of, check, said
from wire.gemini.types import Content, GenerateContentRequest
from wire.testing.emulator.answer import EVENTS, Answer, whole
from wire.testing.emulator.catalog import Traits
from wire.testing.emulator.signatures import Signatures, steps

S = TypeVar("S", bound=WireStruct)

_STATES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_TYPE = "type.googleapis.com/google.rpc."


class Refusal(Exception):
    """A request that is refused: the answer that says so."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.body.decode())
        self.answer = answer


def envelope(
    status: int, message: str, code: str = "", details: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """An error as Google writes it."""
    error: dict[str, Any] = {
        "code": status,
        "message": message,
        "status": code or _STATES.get(status, "UNKNOWN"),
    }
    return {"error": error | ({"details": list(details)} if details else {})}


def refusal(
    status: int,
    message: str,
    rule: str = "",
    *,
    code: str = "",
    details: Sequence[dict[str, Any]] = (),
) -> Refusal:
    """A refusal in the words of the server."""
    return refused(envelope(status, message, code, details), rule)


def refused(told: dict[str, Any], rule: str = "", headers: dict[str, str] | None = None) -> Refusal:
    """A refusal that is already written."""
    answer = whole(told, told["error"]["code"], headers)
    return Refusal(Answer(answer.status, answer.headers, answer.pieces, rule))


def as_stream(answer: Answer) -> Answer:
    """An error in place of a stream is labelled as the stream, and is plain JSON all the same
    (recorded).
    """
    if answer.status == 200:
        return answer
    headers = tuple(
        (name, EVENTS if name == "content-type" else value) for name, value in answer.headers
    )
    return Answer(answer.status, headers, answer.pieces, answer.rule)


# --- rules ----------------------------------------------------------------------------------------


def check_body(
    body: bytes,
    model: str,
    host: str,
    version: str,
    endpoint: str,
    *,
    era: bool,
    signatures: Signatures,
) -> None:
    """Raise `Refusal` if the rules of an endpoint refuse a body."""
    row = provider_row("gemini@vertex" if host == "vertex" else "gemini")
    found = check(body, model, dataclasses.replace(row, version=version), endpoint=endpoint)
    if not era and any(each.rule in ("G18", "G25") and each.layer != "parser" for each in found):
        contents = typed(body, GenerateContentRequest).contents or ()
        found = [each for each in found if not _is_ours(each, contents, signatures)]
    answer = answer_of(found, warnings_too=era)
    if answer is not None:
        refusing = [each for each in found if each.severity == "error"] or found
        raise refused(
            answer[1],
            next((each.rule for each in refusing if each.layer == "parser"), refusing[0].rule),
        )


def _is_ours(violation: Violation, contents: Sequence[Content], signatures: Signatures) -> bool:
    """What looks wrong, and was given out here: a signature that a script made up, and an id that
    its result leaves out.

    Google's own client leaves ids out of the results of its automatic calls (recorded, google-genai
    3.4.0), so that the one report of a refusal (G18) cannot be of those that the server gave.
    """
    place = re.match(r"contents\[(\d+)\]\.parts\[(\d+)\]", violation.path)
    if place is None or violation.layer == "parser":
        return False
    part = (contents[int(place[1])].parts or ())[int(place[2])]
    if violation.rule == "G25":
        return signatures.given(part.thought_signature or "")
    if violation.rule != "G18" or part.function_response is None or part.function_response.id:
        return False
    calls = (each.function_call for content in contents for each in content.parts or ())
    return {call.id for call in calls if call is not None and call.id} <= signatures.ids


def undecoded(error: RuleError) -> Refusal:
    """A body that is no JSON, or not of its message."""
    found: Violation = error.violations[0]
    if not found.path:
        return refusal(400, f"Invalid JSON payload received. {found.message}", "G1")
    place = re.sub(r"(?<=[a-z])[A-Z]", lambda letter: f"_{letter[0].lower()}", found.path)
    message = f"Invalid value at '{place}', {found.message}"
    return refusal(
        400,
        message,
        "G1",
        details=[
            {
                "@type": f"{_TYPE}BadRequest",
                "fieldViolations": [{"field": place, "description": message}],
            }
        ],
    )


def typed(body: bytes, kind: type[S]) -> S:
    """A body as a message. Raises `Refusal` if it is none."""
    try:
        return decode(body or b"{}", kind)
    except RuleError as error:
        raise undecoded(error) from None


# --- rules that need a memory ---------------------------------------------------------------------


def rule(name: str, host: str = "gemini", /, **words: object) -> Refusal:
    """A refusal by a rule, in its words."""
    row = WORDS[name]
    return refusal(row.status, said(name, host, **words), name, code=row.code)


def check_signatures(
    contents: Sequence[Content], model: Traits, host: str, signatures: Signatures
) -> None:
    """G24 and G25: each first call of a step of the current turn is signed, and every signature is
    the one of its call.
    """
    if model.signs != "last" or "image" in model.name:
        return
    for step in steps(contents):
        name, signature = step.calls[0][0].name or "", step.calls[0][1]
        if not signature:
            raise rule("G24", host, name=name, position=step.index + 1)
        for place, (call, signed) in enumerate(step.calls):
            if signed and not signatures.valid(signed, model, call.name or "", step.number, place):
                raise rule("G25", host)


def unknown_model(name: str, place: str, host: str, version: str, action: str) -> Refusal:
    """G72 and G81."""
    if host == "vertex":
        return rule("G72", host, model=f"{place}publishers/google/models/{name}")
    if not re.fullmatch(r"[\w.\-/@]+", name):
        return rule("G81")
    method = {"streamGenerateContent": "generateContent", "batchEmbedContents": "embedContent"}.get(
        action, action
    )
    return rule(
        "G72", model=name, version=version, method="getModel" if action == "get" else method
    )


def no_key(host: str) -> Refusal:
    """G73: nobody said who is asking."""
    if host == "vertex":
        return refusal(
            401,
            "Request is missing required authentication credential. Expected OAuth 2 "
            "access token, login cookie or other valid "
            "authentication credential. See "
            "https://developers.google.com/identity/sign-in/web/devconsole-project.",
            "G73",
        )
    return refusal(
        403,
        "Method doesn't allow unregistered callers (callers without established "
        "identity). Please use API Key or other form of "
        "API consumer identity to call this API.",
        "G73",
    )


def bad_key() -> Refusal:
    """G73: a key that is none is 400, not 401."""
    message = said("G73")
    service = {"service": "generativelanguage.googleapis.com"}
    details: list[dict[str, Any]] = [
        {
            "@type": f"{_TYPE}ErrorInfo",
            "reason": "API_KEY_INVALID",
            "domain": "googleapis.com",
            "metadata": service,
        },
        {"@type": f"{_TYPE}LocalizedMessage", "locale": "en-US", "message": message},
    ]
    return refusal(400, message, "G73", details=details)


def bad_token() -> Refusal:
    """An OAuth token that is none."""
    return refusal(
        401,
        "Request had invalid authentication credentials. Expected OAuth 2 access token, "
        "login cookie or other valid authentication "
        "credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
        "G73",
    )


def key_for_vertex() -> Refusal:
    """G73: an API key where Vertex wants OAuth."""
    return refusal(
        401,
        "API keys are not supported by this API. Expected OAuth2 access token or other "
        "authentication credentials that assert a "
        "principal. See https://cloud.google.com/docs/authentication",
        "G73",
    )


def quota(model: str, seconds: float | None) -> dict[str, Any]:
    """G74: an error 429 with its details."""
    limit = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
    wait = f"\nPlease retry in {_seconds(seconds)}." if seconds is not None else ""
    message = (
        "You exceeded your current quota, please check your plan and billing details. "
        "For more information on this error, head to: "
        "https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for "
        f"metric: {limit}, limit: 10, model: {model}{wait}"
    )
    violation = {
        "quotaMetric": limit,
        "quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
        "quotaDimensions": {"location": "global", "model": model},
        "quotaValue": "10",
    }
    links = [
        {
            "description": "Learn more about Gemini API quotas",
            "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
        }
    ]
    details: list[dict[str, Any]] = [
        {"@type": f"{_TYPE}Help", "links": links},
        {"@type": f"{_TYPE}QuotaFailure", "violations": [violation]},
        *retry_info(seconds),
    ]
    return envelope(429, message, details=details)


def retry_info(seconds: float | None) -> list[dict[str, Any]]:
    """When to try again, as a detail."""
    return (
        [] if seconds is None else [{"@type": f"{_TYPE}RetryInfo", "retryDelay": _seconds(seconds)}]
    )


def _seconds(value: float) -> str:
    return f"{value:g}s"


def not_a_path(path: str) -> Answer:
    """What no endpoint has: Google answers with a page."""
    page = (
        "<!DOCTYPE html>\n<title>Error 404 (Not Found)!!1</title>\n"
        f"<p>The requested URL <code>{_safe(path)}</code> was not found on this server.\n"
    )
    return Answer(404, (("content-type", "text/html; charset=UTF-8"),), (page.encode(),))


def not_a_method(method: str, path: str) -> Answer:
    """A path that is there, and not for this method."""
    page = (
        "<!DOCTYPE html>\n<title>Error 405 (Method Not Allowed)!!1</title>\n"
        f"<p>The request method <code>{_safe(method)}</code> is inappropriate for the URL "
        f"<code>{_safe(path)}</code>.\n"
    )
    return Answer(405, (("content-type", "text/html; charset=UTF-8"),), (page.encode(),))


def _safe(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
