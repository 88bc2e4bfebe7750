"""Selects the parts of headers and URLs that a cassette stores: allow-listed headers, and URLs
without keys and user names (C-11, C-12).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlsplit

from wire.core.credentials import SHOWN, secret_parameter, without_known

Headers = Iterable[tuple[str, str]]

# An allow-list, not a deny-list: a deny-list leaks every header that its author did not know.
_REQUEST = re.compile(
    r"accept|content-type|content-encoding|x-goog-upload-[a-z-]+|anthropic-(version|beta)|"
    r"openai-(version|beta)|api-version|x-github-api-version"
)
# Not the field `RateLimit` of the IETF draft: its partition key may identify the user.
_RESPONSE = re.compile(
    r"content-type|content-encoding|x-goog-upload-[a-z-]+|retry-after(-ms)?|"
    r"x-should-retry|openai-version|openai-processing-version"
    r"|(x-|anthropic-)?ratelimit(bysize)?-[a-z0-9-]+|x-ms-ratelimit-[a-z0-9-]+"
    r"|x-tokenlimit-[a-z]+|anthropic-(priority|fast)-(input|output)-tokens-[a-z]+"
)
_REQUEST_ID = re.compile(r"x-request-id|request-id|apim-request-id")

_UPLOAD = "x-goog-upload-url"

EMULATOR = "wire-emulator"
"""The header `server` of the emulator's responses."""


def is_emulated(headers: Headers) -> bool:
    """Return whether the emulator sent a response with these headers.

    >>> is_emulated([("Server", "wire-emulator")])
    True
    """
    return any(name.lower() == "server" and value == EMULATOR for name, value in headers)


def request_headers(headers: Headers) -> dict[str, str]:
    """Return the request headers that a cassette stores."""
    return _listed(headers, _REQUEST)


def response_headers(headers: Headers) -> dict[str, str]:
    """Return the response headers that a cassette stores.

    The value of a request id is masked, since it identifies a request in the user's account.
    """
    headers = list(headers)
    ids = {name: SHOWN for name, _ in headers if _REQUEST_ID.fullmatch(name)}
    listed = _listed(headers, _RESPONSE)
    if _UPLOAD in listed:  # the URL authorizes writing to the file
        listed[_UPLOAD] = kept_url(listed[_UPLOAD])
    return dict(sorted({**listed, **ids}.items()))


def kept_url(url: str) -> str:
    """Remove user and fragment from a URL and mask key-like parameters and the forms of keys.

    >>> kept_url("https://me:pw@host/v1/m?alt=sse&key=fake&a=sk-fake-1234-5678")
    'https://host/v1/m?alt=sse&key=***&a=***'
    """
    parts = urlsplit(url)
    query = "&".join(_without_value(each) for each in parts.query.split("&")) if parts.query else ""
    kept = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")
    shown = without_known(kept.geturl())
    return f"{shown}?{query}" if query else shown


def open_query(url: str) -> list[tuple[str, str]]:
    """Return the query parameters of a URL sorted by name, without key-like ones."""
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    plain = (pair for pair in pairs if not _is_hidden(*pair))
    return sorted(plain, key=lambda pair: pair[0])


def _listed(headers: Headers, names: re.Pattern[str]) -> dict[str, str]:
    stored: dict[str, str] = {}
    for name, value in headers:
        name = name.lower()
        if names.fullmatch(name):
            stored[name] = f"{stored[name]}, {value}" if name in stored else value
    return dict(sorted(stored.items()))


def _is_hidden(name: str, value: str) -> bool:
    """Return whether a parameter carries a key, or did before it was recorded."""
    return value == SHOWN or secret_parameter(name, value)


def _without_value(parameter: str) -> str:
    pairs = parse_qsl(parameter, keep_blank_values=True)
    hidden = bool(pairs) and _is_hidden(*pairs[0])
    return f"{parameter.partition('=')[0]}={SHOWN}" if hidden else parameter
