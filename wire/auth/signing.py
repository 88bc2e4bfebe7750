"""Signature Version 4 of AWS, with the standard library alone. Pure functions, no clock.

A request is signed as it is sent: the path that goes over the wire, its query, its headers and its
body. The steps are those of AWS's page "Create a signed AWS API request".
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterable, Sequence
from urllib.parse import quote, unquote_to_bytes

import msgspec

ALGORITHM = "AWS4-HMAC-SHA256"
_RAW_PATH_SERVICES = frozenset({"s3"})
"""Services whose canonical path is the path as it is sent; all others encode it once more."""

Pairs = Iterable[tuple[str, str]]


class Scope(msgspec.Struct, frozen=True):
    """What a signature is good for: a day, a region and a service."""

    moment: str
    """Date and time in UTC: `20150830T123600Z`."""
    region: str
    service: str

    @property
    def path(self) -> str:
        """The scope as a signature names it.

        >>> Scope("20150830T123600Z", "us-east-1", "bedrock").path
        '20150830/us-east-1/bedrock/aws4_request'
        """
        return f"{self.moment[:8]}/{self.region}/{self.service}/aws4_request"


class Unsigned(msgspec.Struct, frozen=True):
    """A request that is to be signed."""

    method: str
    target: str
    """Path and query as they are sent."""
    headers: Sequence[tuple[str, str]]
    """The headers that are signed, `host` among them: none that a proxy or an HTTP library changes,
    such as `accept-encoding`, `connection` and `user-agent`."""
    body_hash: str
    """The SHA-256 of the body in hexadecimal digits."""


def moment_of(seconds: float) -> str:
    """Return a time as signatures have it.

    >>> moment_of(1440938160)
    '20150830T123600Z'
    """
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(seconds))


def body_hash(pieces: bytes | Iterable[bytes]) -> str:
    """Return the SHA-256 of a body, or of its pieces, in hexadecimal digits."""
    if isinstance(pieces, bytes | bytearray | memoryview):
        return hashlib.sha256(pieces).hexdigest()
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def canonical_request(request: Unsigned, service: str) -> str:
    """Return the text of a request that is signed."""
    path, _, query = request.target.partition("?")
    lines = _canonical_headers(request.headers)
    return "\n".join(
        (
            request.method,
            _canonical_path(path, service),
            _canonical_query(query),
            *(f"{name}:{value}" for name, value in lines),
            "",
            ";".join(name for name, _ in lines),
            request.body_hash,
        )
    )


def signed_names(headers: Pairs) -> str:
    """Return the names of the headers that a signature covers."""
    return ";".join(name for name, _ in _canonical_headers(headers))


def text_to_sign(canonical: str, scope: Scope) -> str:
    """Return the text whose HMAC is the signature."""
    # A server may get headers and paths that are no text.
    digest = hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()
    return f"{ALGORITHM}\n{scope.moment}\n{scope.path}\n{digest}"


def signature(secret: str, text: str, scope: Scope) -> str:
    """Return the signature of a text in hexadecimal digits."""
    key = f"AWS4{secret}".encode()
    for part in (scope.moment[:8], scope.region, scope.service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


def authorization(request: Unsigned, scope: Scope, key_id: str, secret: str) -> str:
    """Return the header `authorization` of a signed request."""
    text = text_to_sign(canonical_request(request, scope.service), scope)
    return (
        f"{ALGORITHM} Credential={key_id}/{scope.path}, "
        f"SignedHeaders={signed_names(request.headers)}, "
        f"Signature={signature(secret, text, scope)}"
    )


def _canonical_path(path: str, service: str) -> str:
    if service in _RAW_PATH_SERVICES:
        return path or "/"
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    end = "/" if parts and path.endswith("/") else ""
    return quote(f"/{'/'.join(parts)}{end}", safe="/~", errors="surrogatepass")


def _canonical_query(query: str) -> str:
    # `+` is no blank here: the server decodes percent signs only.
    pairs = (each.partition("=") for each in query.split("&") if each)
    encoded = sorted((_encoded(name), _encoded(value)) for name, _, value in pairs)
    return "&".join(f"{name}={value}" for name, value in encoded)


def _encoded(text: str) -> str:
    return quote(unquote_to_bytes(text.encode(errors="surrogatepass")), safe="-_.~")


def _canonical_headers(headers: Pairs) -> list[tuple[str, str]]:
    """Return the names in lower case, sorted, each with its values."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(" ".join(value.split()))
    return [(name, ",".join(values[name])) for name in sorted(values)]
