"""Verifies signatures of AWS, and refuses them in AWS's words. Pure functions, no clock.

The words are those of public threads: `Signature expired: ... is now earlier than ...` and the
others.
"""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, TypeAlias

from wire.auth.signing import (
    ALGORITHM,
    Scope,
    Unsigned,
    body_hash,
    canonical_request,
    moment_of,
    signature,
    text_to_sign,
)

KNOWN: Mapping[str, str] = {"fake-access-key": "fake-secret-key", "AKIDEXAMPLE": "fake-secret"}
"""Ids of access keys that an emulator knows, and their secrets."""
SecretOf: TypeAlias = Callable[[str], str | None]
"""Returns the secret of an access key by its id; `None` for an unknown one."""
_PART = re.compile(r"(\w+)=([^,]+)")
_REFUSED_TOKEN = re.compile(r"(?i)(bad|invalid|wrong)")
_WINDOW = 300
"""Seconds by which the date of a signature may differ from the time of the server."""
_MINUTES = _WINDOW // 60


class Refused(NamedTuple):
    """Why a signed request is refused."""

    status: int
    type: str
    """The type of the error: the header `x-amzn-errortype`."""
    message: str


class Signed(NamedTuple):
    """A request as it was received."""

    method: str
    target: str
    """Path and query as they were sent."""
    headers: Mapping[str, str]
    """Names in lower case. Values of a name that came several times are joined by commas."""
    body: bytes


def is_signed(headers: Mapping[str, str]) -> bool:
    """Return whether a request has a signature of AWS."""
    return headers.get("authorization", "").startswith(ALGORITHM)


def refusal(
    request: Signed,
    services: Collection[str],
    region: str,
    secret_of: SecretOf,
    now: float,
) -> Refused | None:
    """Return why the signature of a request is refused; `None` if it is right.

    `region` is that of the host; empty if any is right.
    """
    parts = dict(_PART.findall(request.headers["authorization"][len(ALGORITHM) :]))
    missing = [each for each in ("Credential", "Signature", "SignedHeaders") if each not in parts]
    if missing:
        words = " ".join(f"Authorization header requires '{each}' parameter." for each in missing)
        return Refused(400, "IncompleteSignatureException", words)
    key, _, scope = parts["Credential"].strip().partition("/")
    moment = request.headers.get("x-amz-date", "")
    fields = scope.split("/")
    sent = _seconds(moment)
    if len(fields) != 4 or fields[3] != "aws4_request" or sent is None:
        words = "Credential must have exactly 5 slash-delimited elements, and X-Amz-Date a date"
        return Refused(400, "IncompleteSignatureException", words)
    day, there, service, _ = fields
    secret = secret_of(key)
    if secret is None:
        return _unrecognized()
    if problem := _scope_problem(day, there, service, moment, services, region):
        return Refused(403, "InvalidSignatureException", problem)
    if problem := _age_problem(moment, sent, now):
        return Refused(403, "InvalidSignatureException", problem)
    names = parts["SignedHeaders"].strip().split(";")
    must = [name for name in request.headers if name == "host" or name.startswith("x-amz-")]
    unsigned = [name for name in must if name not in names]
    if unsigned:
        words = f"There were headers present in the request which were not signed: {unsigned[0]}"
        return Refused(403, "InvalidSignatureException", words)
    if not _matches(request, names, Scope(moment, there, service), secret, parts["Signature"]):
        words = (
            "The request signature we calculated does not match the signature you provided. Check "
            "your AWS Secret Access Key and signing method. Consult the service documentation for "
            "details."
        )
        return Refused(403, "InvalidSignatureException", words)
    return _token_refusal(request.headers.get("x-amz-security-token", ""))


def _unrecognized() -> Refused:
    words = "The security token included in the request is invalid."
    return Refused(403, "UnrecognizedClientException", words)


def _token_refusal(token: str) -> Refused | None:
    if token.lower().startswith("expired"):
        words = "The security token included in the request is expired"
        return Refused(403, "ExpiredTokenException", words)
    return _unrecognized() if _REFUSED_TOKEN.match(token) else None


def _scope_problem(
    day: str, there: str, service: str, moment: str, services: Collection[str], region: str
) -> str:
    if service not in services:
        return f"Credential should be scoped to correct service: '{next(iter(services))}'. "
    if region and there != region:
        return f"Credential should be scoped to a valid region, not '{there}'. "
    if day != moment[:8]:
        words = "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date: "
        return words + f"'{day}' != '{moment[:8]}', from '{moment}'."
    return ""


def _seconds(moment: str) -> float | None:
    try:
        return calendar.timegm(time.strptime(moment, "%Y%m%dT%H%M%SZ"))
    except ValueError:
        return None


def _age_problem(moment: str, sent: float, now: float) -> str:
    here = moment_of(now)
    if sent < now - _WINDOW:
        edge = moment_of(now - _WINDOW)
        return f"Signature expired: {moment} is now earlier than {edge} ({here} - {_MINUTES} min.)"
    if sent > now + _WINDOW:
        edge = moment_of(now + _WINDOW)
        return (
            f"Signature not yet current: {moment} is still later than {edge} "
            f"({here} + {_MINUTES} min.)"
        )
    return ""


def _matches(
    request: Signed, names: Collection[str], scope: Scope, secret: str, theirs: str
) -> bool:
    headers = [(name, request.headers[name]) for name in names if name in request.headers]
    unsigned = Unsigned(request.method, request.target, headers, body_hash(request.body))
    text = text_to_sign(canonical_request(unsigned, scope.service), scope)
    return signature(secret, text, scope) == theirs.strip()
