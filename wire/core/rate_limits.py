"""Rate limits that servers report, as values.

Each vendor spells them its own way: in headers, whose names the table `_SPELLINGS` lists, in the
fields of the IETF draft (draft-ietf-httpapi-ratelimit-headers, revisions 3 to 11), and in the body
of a 429 (`QuotaFailure` and `RetryInfo` of Google, the headers in an error of OpenRouter). What is
malformed or ambiguous gives no value; it is still among the headers.

Loaded when somebody reads limits: most calls never need `datetime`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from wire.core.server_clock import server_time


class RateLimit(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """One rate limit as a server reported it.

    >>> from wire.core.rate_limits import header_limits
    >>> headers = {
    ...     "x-ratelimit-limit-requests": "60",
    ...     "x-ratelimit-remaining-requests": "59",
    ...     "x-ratelimit-reset-requests": "1s",
    ... }
    >>> (limit,) = header_limits(headers, 1_800_000_000)
    >>> limit.unit, limit.limit, limit.remaining, str(limit.resets_at)
    ('requests', 60, 59, '2027-01-15 08:00:01+00:00')
    """

    unit: str
    """The counted unit: `requests`, `tokens`, `input_tokens`, `output_tokens`,
    `uncached_input_tokens`, `images`, or the unit of an IETF policy."""
    scope: str = ""
    """The scope of the limit, if it is not the account: a tier (`priority`, `fast`), `project`, the
    name of an IETF policy, or the model of a quota of Google."""
    window: float | None = None
    """Seconds of the window; a month has 30 days. `None`: the server does not name it."""
    limit: int | None = None
    """The amount that a window allows."""
    remaining: int | None = None
    """The amount that was left when the server responded."""
    resets_at: datetime | None = None
    """When it is full again, in UTC, by the clock of this machine. A reset that the server gives in
    seconds counts from when the response arrived; a moment is compared with the `date` of the
    response."""


_UNITS = {
    "requests": "requests",
    "req": "requests",
    "tokens": "tokens",
    "input-tokens": "input_tokens",
    "output-tokens": "output_tokens",
    "tokens-prompt": "input_tokens",
    "tokens-generated": "output_tokens",
    "tokens-cache-adjusted-prompt": "uncached_input_tokens",
    "images": "images",
    "input-images": "images",
}
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "month": 30 * 86_400}
_FIELD = r"(?P<field>limit|remaining|reset)"
_UNIT = rf"(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})"
_WINDOW = rf"(?P<count>[0-9]{{1,4}}-)?(?P<window>{'|'.join(_SECONDS)})"

_SPELLINGS = tuple(
    (re.compile(pattern), unit, window)
    for pattern, unit, window in (
        # Anthropic; its priority tier and its fast mode have limits of their own.
        (rf"anthropic-(?:ratelimit|(?P<scope>priority|fast))-{_UNIT}-{_FIELD}", "", None),
        # OpenAI, Azure, Groq, xAI, Fireworks; with a window Cerebras and Mistral.
        (rf"x-ratelimit-{_FIELD}-(?:(?P<scope>project)-)?{_UNIT}(?:-{_WINDOW})?", "", None),
        # Mistral until 2025. The headers without a window are those of the minute.
        (rf"(?:x-)?ratelimitbysize-{_FIELD}(?:-{_WINDOW})?", "tokens", 60.0),
        # Together.
        (rf"x-tokenlimit-{_FIELD}", "tokens", None),
        # OpenRouter, Together, GitHub, gateways, and the IETF draft up to revision 6.
        (rf"(?:x-)?ratelimit-{_FIELD}(?:-{_WINDOW})?", "requests", None),
    )
)
"""Names of headers, the unit if the name has none, and the window if it has none. The first pattern
that matches counts."""

_Key = tuple[str, str, float | None]
_Facts = dict[_Key, dict[str, Any]]

_NUMBER = re.compile(r"([0-9]{1,18})(?:\.[0-9]*)?")
_LISTED = re.compile(r"([0-9]{1,18})\s*(?:,.*;.*|;.*)")
"""Revisions 3 to 6 of the draft: the limit that is the closest, then the policies."""
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|d|h|m|s))+")
_STEP = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|d|h|m|s)")
_STEP_SECONDS = {
    "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0,
    "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9,
}  # fmt: skip
_NONE: Mapping[str, str] = {}
_LONGEST = 4_000
"""Characters of a header of limits. The patterns keep their place at each item of a longer one."""
_EPOCH_SECONDS, _EPOCH_MILLISECONDS = 1e9, 1e11
"""From here on a bare number is a moment, in seconds or milliseconds since 1970. A smaller one is
a time to wait: no server asks for 30 years."""


def header_limits(headers: Mapping[str, str], now: float) -> tuple[RateLimit, ...]:
    """Parse the rate limits in response headers, which arrived `now` seconds after 1970."""
    facts: _Facts = {}
    texts = {name.lower(): text for name, text in headers.items() if len(text) <= _LONGEST}
    for name, value in texts.items():
        for pattern, unit, window in _SPELLINGS:
            if match := pattern.fullmatch(name):
                _spelled(facts, match.groupdict(), unit, window, value, now, texts)
                break
    _drafted(facts, texts.get("ratelimit-policy", ""), texts.get("ratelimit", ""), now)
    return _values(facts)


def body_limits(body: bytes, now: float) -> tuple[RateLimit, ...]:
    """Parse the rate limits that the body of a 429 names; none if the body is not JSON.

    >>> body_limits(
    ...     b'{"error":{"details":[{"violations":[{"quotaId":"GenerateRequestsPerDay",'
    ...     b'"quotaValue":"20"}]}]}}', 0)
    (RateLimit(unit='requests', window=86400.0, limit=20, remaining=0),)
    """
    try:
        objects = list(_objects(msgspec.json.decode(body)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()
    delays = (_moment(each.get("retryDelay"), now) for each in objects)
    resets_at = max((each for each in delays if each is not None), default=None)
    limits: list[RateLimit] = []
    for each in objects:
        if isinstance(id := each.get("quotaId"), str) and (quota := _quota(id, each, resets_at)):
            limits.append(quota)
        if isinstance(headers := each.get("headers"), dict):
            texts = {name: value for name, value in headers.items() if isinstance(value, str)}
            limits += header_limits(texts, now)
    return tuple(limits)


# --- headers --------------------------------------------------------------------------------------


def _spelled(
    facts: _Facts,
    name: dict[str, str | None],
    unit: str,
    window: float | None,
    value: str,
    now: float,
    headers: Mapping[str, str],
) -> None:
    """Add one header; `name` has the parts of its name."""
    if word := name.get("window"):
        window = _SECONDS[word] * float((name["count"] or "1-")[:-1])
    key = name.get("scope") or "", _UNITS.get(name.get("unit") or "", unit), window
    field = name["field"]
    assert field is not None
    fact = _moment(value, now, headers) if field == "reset" else _count(value)
    if fact is not None:
        facts.setdefault(key, {})[field] = fact


def _count(value: Any) -> int | None:
    """Parse a count; Azure's -1 for "not known" is none, nor are two numbers of two servers."""
    text = str(value).strip()
    match = _NUMBER.fullmatch(text) or _LISTED.fullmatch(text)
    return int(match[1]) if match else None


def _moment(value: Any, now: float, headers: Mapping[str, str] = _NONE) -> datetime | None:
    """Return when a limit resets, from a date, a duration, a wait, or a time since 1970.

    A date is one of the server's clock, whose time is among the `headers`.
    """
    text = str(value).strip()
    try:
        if _DURATION.fullmatch(text):
            steps = _STEP.findall(text)
            return _at(now + sum(float(count) * _STEP_SECONDS[unit] for count, unit in steps))
        if match := _NUMBER.fullmatch(text):
            number = float(match[0])
            scale = 0.001 if number >= _EPOCH_MILLISECONDS else 1.0
            if number < _EPOCH_SECONDS:
                return _at(now + number)
            return _at(now + number * scale - server_time(headers, now))
        if "T" not in text and " " not in text:  # a day alone does not name a time
            return None
        moment = datetime.fromisoformat(text)
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        return moment + timedelta(seconds=now - server_time(headers, now))
    except (ValueError, OverflowError):
        return None


def _at(seconds: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def _values(facts: _Facts) -> tuple[RateLimit, ...]:
    """Build one value for each limit of which more than the reset is known."""
    return tuple(
        RateLimit(
            unit=unit,
            scope=scope,
            window=window,
            limit=fact.get("limit"),
            remaining=fact.get("remaining"),
            resets_at=fact.get("reset"),
        )
        for (scope, unit, window), fact in facts.items()
        if "limit" in fact or "remaining" in fact
    )


# --- the IETF draft -------------------------------------------------------------------------------

_ITEM = re.compile(
    r'\s*("[^"]{0,100}"|[A-Za-z0-9_*./:-]{1,100})\s*((?:;[^,;"]*(?:"[^"]*"[^,;"]*)?)*)(?:,|$)'
)
_PARAMETER = re.compile(r';\s*([a-z]+)\s*=\s*"?([^;,"\s]+)"?')
_PAIR = re.compile(r"\s*(limit|remaining|reset)\s*=\s*([0-9]{1,18})\s*(?:,|$)")


def _drafted(facts: _Facts, policy: str, state: str, now: float) -> None:
    """Add the fields `RateLimit-Policy` and `RateLimit`: `"default";q=9;w=60`, `"default";r=5`."""
    if pairs := _PAIR.findall(state):  # revision 7
        for field, value in pairs:
            fact = _moment(value, now) if field == "reset" else _count(value)
            facts.setdefault(("", "requests", None), {})[field] = fact
        return
    policies = dict(_items(policy))
    for name, parameters in {**policies, **dict(_items(state))}.items():
        own = {**policies.get(name, {}), **parameters}
        window = _NUMBER.fullmatch(own.get("w", ""))
        key = name, own.get("qu", "requests"), float(window[0]) if window else None
        read = {
            "limit": _count(own.get("q")),
            "remaining": _count(own.get("r")),
            "reset": _moment(own.get("t"), now),
        }
        if found := {field: fact for field, fact in read.items() if fact is not None}:
            facts.setdefault(key, {}).update(found)


def _items(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the items of a structured field, such as `"burst";q=100;w=60, "day";q=1000`."""
    for name, parameters in _ITEM.findall(text):
        yield name.strip('"'), dict(_PARAMETER.findall(parameters))


# --- bodies ---------------------------------------------------------------------------------------

_QUOTA_UNIT = re.compile(r"(Requests|InputTokens|OutputTokens|Tokens)Per")
_QUOTA_UNITS = {
    "Requests": "requests",
    "InputTokens": "input_tokens",
    "OutputTokens": "output_tokens",
    "Tokens": "tokens",
}
_QUOTA_WINDOW = re.compile(r"Per(Second|Minute|Hour|Day|Month)")


def _quota(id: str, violation: Mapping[str, Any], resets_at: datetime | None) -> RateLimit | None:
    """Convert an exhausted quota of Google, such as one of requests per minute and model."""
    unit, window = _QUOTA_UNIT.search(id), _QUOTA_WINDOW.search(id)
    if unit is None:
        return None
    seconds = float(_SECONDS[window[1].lower()]) if window else None
    dimensions = violation.get("quotaDimensions")
    model = dimensions.get("model") if isinstance(dimensions, dict) else None
    return RateLimit(
        unit=_QUOTA_UNITS[unit[1]],
        scope=model if isinstance(model, str) else "",
        window=seconds,
        limit=_count(violation.get("quotaValue")),
        remaining=0,
        # After the wait of RetryInfo, a daily quota is still used up (G74).
        resets_at=None if seconds is not None and seconds > 3_600 else resets_at,
    )


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSON value, at every depth."""
    todo = deque([value])
    while todo:
        each = todo.popleft()
        if isinstance(each, dict):
            yield each
            todo += each.values()
        elif isinstance(each, list):
            todo += each


_RATE_LIMIT = re.compile(
    r".*ratelimit.*|x-tokenlimit-.*|retry-after|anthropic-(?:priority|fast)-\w+-tokens-.*",
    re.IGNORECASE,
)


def rate_limit_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that report rate limits, their remaining amounts, and waits."""
    return {name: value for name, value in headers.items() if _RATE_LIMIT.fullmatch(name)}
