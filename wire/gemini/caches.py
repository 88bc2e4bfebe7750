"""Calls of context caches. `wire.gemini.context_cache` makes them at the right times."""

from __future__ import annotations

import datetime
import functools

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.errors import RuleError, Violation
from wire.core.provider import Provider
from wire.core.secret import quoted
from wire.gemini.paths import checked, named, page, plain, resource
from wire.gemini.types import CachedContent, Empty, ListCachedContentsResponse


@checked_arguments()
def create_cached_content(cache: CachedContent) -> Call[CachedContent]:
    """Store the beginning of requests on the server.

    `cache.model` is required; one of `ttl` and `expire_time` is allowed.

    >>> call = create_cached_content(CachedContent(model="gemini-3.8-flash", ttl="300s"))
    >>> print(call.target, call.body.decode())
    /cachedContents {"model":"models/gemini-3.8-flash","ttl":"300s"}

    Vertex requires the full name of the model,
    `projects/P/locations/L/publishers/google/models/X`. Its client makes it of a shorter one.

    Raises `ConfigurationError` for a missing or malformed model name, `RuleError` for both `ttl`
    and `expire_time` (G3).
    """
    if not isinstance(cache, CachedContent):
        raise wrong_type("cache", cache, "CachedContent")
    if cache.ttl is not None and cache.expire_time is not None:
        raise RuleError(
            violations=[
                Violation(
                    "ttl",
                    "oneof field 'expiration' is already set: give ttl or expireTime, not both",
                    "G3",
                )
            ]
        )
    cache = msgspec.structs.replace(cache, model=resource(cache.model or ""))
    return plain(
        CachedContent,
        "POST",
        "/cachedContents",
        checked(cache, CachedContent),
        host_rules=functools.partial(_with_full_model, cache),
    )


def _with_full_model(
    cache: CachedContent, call: Call[CachedContent], provider: Provider
) -> Call[CachedContent]:
    """Put the full name of the model into a call to Vertex.

    The prefix of the client's row has its beginning: `/v1beta1/` and
    `projects/P/locations/L/publishers/google`.
    """
    parent = provider.prefix.lstrip("/").partition("/")[2]
    model = cache.model or ""
    if provider.dialect.api != "vertex" or model.startswith("projects/") or "{" in parent:
        return call
    if model.startswith("publishers/"):
        parent = parent.partition("/publishers/")[0]
    full = msgspec.structs.replace(cache, model=f"{parent}/{model}")
    return msgspec.structs.replace(call, body=checked(full, CachedContent))


@checked_arguments()
def get_cached_content(name: str) -> Call[CachedContent]:
    """Read the metadata of a cache. The server does not return its contents."""
    return plain(CachedContent, "GET", f"/{named(name, 'cachedContents')}")


@checked_arguments()
def list_cached_contents(
    page_size: int | None = None, page_token: str | None = None
) -> Call[ListCachedContentsResponse]:
    """List one page of the caches. Pass the response's `next_page_token` for the next page."""
    return plain(
        ListCachedContentsResponse, "GET", "/cachedContents", query=page(page_size, page_token)
    )


@checked_arguments()
def update_cached_content(
    name: str,
    *,
    ttl: str | float | None = None,
    expire_time: str | datetime.datetime | None = None,
) -> Call[CachedContent]:
    """Change when a cache expires: `ttl` seconds from now, or at `expire_time`.

    Nothing else of a cache can be changed.

    >>> call = update_cached_content("abc", ttl=300)
    >>> print(call.method, call.target, call.body.decode())
    PATCH /cachedContents/abc?updateMask=ttl {"ttl":"300s"}

    Raises `RuleError` unless exactly one of the two is given, and for an `expire_time` without a
    time zone.
    """
    if (ttl is None) is (expire_time is None):
        raise RuleError(violations=[Violation("ttl", "expected exactly one of ttl and expireTime")])
    field = "ttl" if ttl is not None else "expireTime"
    change = CachedContent(
        ttl=None if ttl is None else duration(ttl), expire_time=_timestamp(expire_time)
    )
    return plain(
        CachedContent,
        "PATCH",
        f"/{named(name, 'cachedContents')}",
        checked(change, CachedContent),
        {"updateMask": field},
    )


@checked_arguments()
def delete_cached_content(name: str) -> Call[Empty]:
    """Delete a cache. The server answers 403 for a cache that does not exist any more.

    >>> call = delete_cached_content("abc")
    >>> call.method, call.target
    ('DELETE', '/cachedContents/abc')
    """
    return plain(Empty, "DELETE", f"/{named(name, 'cachedContents')}")


def duration(seconds: str | float) -> str:
    """Convert a number of seconds to a duration in the server's spelling.

    A text is returned unchanged.

    >>> duration(300), duration(0.5), duration("300s")
    ('300s', '0.5s', '300s')

    Raises `RuleError` for a number that is not positive, or larger than the server's range.
    """
    if isinstance(seconds, str):
        return seconds
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < 1e10:
        raise RuleError(
            violations=[
                Violation(
                    "ttl",
                    "expected a positive number of seconds or a text such as 300s, not "
                    f"{quoted(seconds)}",
                )
            ]
        )
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"


def _timestamp(moment: str | datetime.datetime | None) -> str | None:
    if not isinstance(moment, datetime.datetime):
        return moment
    if moment.tzinfo is None:
        raise RuleError(
            violations=[
                Violation(
                    "expireTime",
                    "expected a datetime with a time zone",
                    remedy="pass tzinfo=, such as datetime.UTC",
                )
            ]
        )
    return moment.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
