"""Who asks: every key is good, but those that begin with bad, invalid, wrong or expired."""

from __future__ import annotations

import re

from wire.testing.emulator import chat, claude, refusals
from wire.testing.emulator.received import Received, Route

_BAD = re.compile(r"(?i)^(bad|invalid|wrong|expired)")


def authorise(request: Received, where: Route) -> None:
    """Raise `Refusal` for a request without a key, or with one that is none."""
    if where.endpoint == "files.upload" and "upload_id" in request.query:
        return  # the URL of an upload speaks for itself, and clients send no key with it
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    if where.wire == "anthropic":
        _anthropic(request, where, bearer)
        return
    key = request.headers.get("x-goog-api-key") or request.query.get("key") or ""
    if where.wire == "openai":
        if not (bearer or key):
            raise chat.no_key() if where.host == "openai" else refusals.no_key("gemini")
        if _BAD.match(bearer or key):
            raise chat.bad_key() if where.host == "openai" else refusals.bad_key()
    elif not (bearer or key):
        raise refusals.no_key(where.host)
    elif where.host == "vertex" and where.place and not bearer:
        raise refusals.key_for_vertex()
    elif _BAD.match(key):
        raise refusals.bad_key()
    elif _BAD.match(bearer):
        raise refusals.bad_token()


def _anthropic(request: Received, where: Route, bearer: str) -> None:
    key = request.headers.get("x-api-key") or ""
    if not (key or bearer):
        raise claude.no_key()
    if _BAD.match(key or bearer):
        raise claude.bad_key(bearer=not key)
    version = request.headers.get("anthropic-version") or ""
    if where.host == "anthropic" and not claude.VERSION.fullmatch(
        version
    ):  # other hosts do not ask for it
        raise claude.bad_version(version)
