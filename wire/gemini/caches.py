"""Context caches as calls.

`wire.gemini.context_cache` uses them so that nobody has to think of them.
"""

from __future__ import annotations

import datetime

import msgspec

from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.errors import RuleError, Violation
from wire.gemini.paths import checked, named, page, plain, resource
from wire.gemini.types import CachedContent, Empty, ListCachedContentsResponse


def create_cached_content(cache: CachedContent) -> Call[CachedContent]:
    """Keep the beginning of requests; `model` is wanted in it, and `ttl` or `expire_time` may be.

    >>> call = create_cached_content(CachedContent(model="gemini-2.5-flash", ttl="300s"))
    >>> print(call.target, call.body.decode())
    /cachedContents {"model":"models/gemini-2.5-flash","ttl":"300s"}

    On Vertex the model's name is the full one, `projects/P/locations/L/publishers/google/models/X`.
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
    body = checked(msgspec.structs.replace(cache, model=resource(cache.model or "")), CachedContent)
    return plain(CachedContent, "POST", "/cachedContents", body)


def get_cached_content(name: str) -> Call[CachedContent]:
    """What is said of a cache; what it holds is not told."""
    return plain(CachedContent, "GET", f"/{named(name, 'cachedContents')}")


def list_cached_contents(
    page_size: int | None = None, page_token: str | None = None
) -> Call[ListCachedContentsResponse]:
    """One page of the caches; `next_page_token` of the answer asks for the next one."""
    return plain(
        ListCachedContentsResponse, "GET", "/cachedContents", query=page(page_size, page_token)
    )


def update_cached_content(
    name: str,
    *,
    ttl: str | float | None = None,
    expire_time: str | datetime.datetime | None = None,
) -> Call[CachedContent]:
    """Let a cache live longer or shorter, which is all that can be changed: from now on for `ttl`,
    or until `expire_time`.

    >>> call = update_cached_content("abc", ttl=300)
    >>> print(call.method, call.target, call.body.decode())
    PATCH /cachedContents/abc?updateMask=ttl {"ttl":"300s"}
    """
    if (ttl is None) is (expire_time is None):
        raise RuleError(violations=[Violation("ttl", "one of ttl and expireTime is wanted")])
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


def delete_cached_content(name: str) -> Call[Empty]:
    """Forget a cache at once. One that is gone already is a 403."""
    return plain(Empty, "DELETE", f"/{named(name, 'cachedContents')}")


def duration(seconds: str | float) -> str:
    """Seconds as the server writes them; a text is one already.

    >>> duration(300), duration(0.5), duration("300s")
    ('300s', '0.5s', '300s')
    """
    if isinstance(seconds, str):
        return seconds
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < 1e10:
        raise RuleError(
            violations=[
                Violation(
                    "ttl",
                    "a positive number of seconds or a text such as 300s is wanted, not "
                    f"{seconds!r}",
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
                    "expireTime", "a time with a time zone is wanted, or nobody knows when that is"
                )
            ]
        )
    return moment.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
