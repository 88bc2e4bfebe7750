"""Rate limits as values, in the spelling of each vendor."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.core.account import Account
from wire.core.exchange import error_limits
from wire.core.masking import Mask, ResponseHeaders
from wire.core.memory import answer_account
from wire.core.rate_limits import RateLimit, body_limits, header_limits
from wire.core.secret import Secret
from wire.errors import RateLimitError

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
KEY = "fake-key-1234567890"


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def limits(**headers: str) -> tuple[RateLimit, ...]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return header_limits(named, NOW.timestamp())


SPELLINGS: dict[str, tuple[dict[str, str], list[RateLimit]]] = {
    "Anthropic": (
        {
            "anthropic_ratelimit_requests_limit": "4000",
            "anthropic_ratelimit_requests_remaining": "3999",
            "anthropic_ratelimit_requests_reset": "2026-11-21T12:01:00Z",
            "anthropic_ratelimit_input_tokens_remaining": "2000000",
            "anthropic_priority_output_tokens_limit": "9",
            "anthropic_fast_input_tokens_remaining": "0",
            "anthropic_fast_input_tokens_reset": "2026-11-21T14:00:30+02:00",
        },
        [
            RateLimit(unit="requests", limit=4000, remaining=3999, resets_at=after(60)),
            RateLimit(unit="input_tokens", remaining=2_000_000),
            RateLimit(unit="output_tokens", scope="priority", limit=9),
            RateLimit(unit="input_tokens", scope="fast", remaining=0, resets_at=after(30)),
        ],
    ),
    "OpenAI": (
        {
            "x_ratelimit_limit_requests": "60",
            "x_ratelimit_remaining_requests": "59",
            "x_ratelimit_reset_requests": "1s",
            "x_ratelimit_limit_tokens": "150000",
            "x_ratelimit_reset_tokens": "6m0s",
            "x_ratelimit_remaining_project_tokens": "7",
            "x_ratelimit_reset_project_tokens": "20ms",
        },
        [
            RateLimit(unit="requests", limit=60, remaining=59, resets_at=after(1)),
            RateLimit(unit="tokens", limit=150_000, resets_at=after(360)),
            RateLimit(unit="tokens", scope="project", remaining=7, resets_at=after(0.02)),
        ],
    ),
    "Azure": (
        {"x_ratelimit_remaining_requests": "-1", "x_ratelimit_remaining_tokens": "5"},
        [RateLimit(unit="tokens", remaining=5)],
    ),
    "Groq": (
        {"x_ratelimit_limit_tokens": "6000", "x_ratelimit_reset_tokens": "2m59.56s"},
        [RateLimit(unit="tokens", limit=6000, resets_at=after(179.56))],
    ),
    "Cerebras": (
        {
            "x_ratelimit_limit_requests_day": "14400",
            "x_ratelimit_reset_requests_day": "33011.5",
            "x_ratelimit_remaining_tokens_minute": "60000",
            "x_ratelimit_reset_tokens_minute": "11.5",
        },
        [
            RateLimit(unit="requests", window=86_400, limit=14_400, resets_at=after(33_011.5)),
            RateLimit(unit="tokens", window=60, remaining=60_000, resets_at=after(11.5)),
        ],
    ),
    "Mistral": (
        {
            "x_ratelimit_limit_req_minute": "50",
            "x_ratelimit_limit_req_10_second": "9",
            "x_ratelimit_tokens_query_cost": "13",
        },
        [
            RateLimit(unit="requests", window=60, limit=50),
            RateLimit(unit="requests", window=10, limit=9),
        ],
    ),
    "Mistral until 2025": (
        {
            "x_ratelimitbysize_limit_minute": "500000",
            "x_ratelimitbysize_remaining_month": "10",
            "ratelimitbysize_reset": "12",
            "ratelimitbysize_query_cost": "32",
        },
        [
            RateLimit(unit="tokens", window=60, limit=500_000, resets_at=after(12)),
            RateLimit(unit="tokens", window=2_592_000, remaining=10),
        ],
    ),
    "Fireworks": (
        {
            "x_ratelimit_limit_tokens_prompt": "3",
            "x_ratelimit_limit_tokens_generated": "2",
            "x_ratelimit_limit_tokens_cache_adjusted_prompt": "1",
            "x_ratelimit_over_limit": "no",
        },
        [
            RateLimit(unit="input_tokens", limit=3),
            RateLimit(unit="output_tokens", limit=2),
            RateLimit(unit="uncached_input_tokens", limit=1),
        ],
    ),
    "Together": (
        {
            "x_ratelimit_limit": "10",
            "x_ratelimit_reset": "1",
            "x_tokenlimit_remaining": "900",
        },
        [
            RateLimit(unit="requests", limit=10, resets_at=after(1)),
            RateLimit(unit="tokens", remaining=900),
        ],
    ),
    "OpenRouter": (
        {
            "X_RateLimit_Limit": "50",
            "X_RateLimit_Remaining": "0",
            "X_RateLimit_Reset": str(int(after(90).timestamp() * 1000)),
        },
        [RateLimit(unit="requests", limit=50, remaining=0, resets_at=after(90))],
    ),
    "GitHub": (
        {"x_ratelimit_remaining": "1", "x_ratelimit_reset": str(int(after(5).timestamp()))},
        [RateLimit(unit="requests", remaining=1, resets_at=after(5))],
    ),
    "IETF, revision 6": (
        {
            "ratelimit_limit": "100, 100;w=60, 1000;w=3600",
            "ratelimit_remaining": "50",
            "ratelimit_reset": "5",
        },
        [RateLimit(unit="requests", limit=100, remaining=50, resets_at=after(5))],
    ),
    "IETF, revision 7": (
        {"ratelimit": "limit=100, remaining=50, reset=5", "ratelimit_policy": "100;w=60"},
        [RateLimit(unit="requests", limit=100, remaining=50, resets_at=after(5))],
    ),
    "IETF, revision 10": (
        {
            "ratelimit_policy": '"default";q=100;w=60, "peruser";q=9;w=86400;qu="tokens";pk=:a,b=:',
            "ratelimit": '"default";r=50;t=30',
        },
        [
            RateLimit(
                unit="requests",
                scope="default",
                window=60,
                limit=100,
                remaining=50,
                resets_at=after(30),
            ),
            RateLimit(unit="tokens", scope="peruser", window=86_400, limit=9),
        ],
    ),
}


@joined("vendor", SPELLINGS)
def test_each_vendors_spelling(vendor: str) -> None:
    headers, expected = SPELLINGS[vendor]
    assert list(limits(**headers)) == expected


@joined(
    "value",
    ["", "many", "-1", "1e9", "10, 20", "0x10", "9" * 30, "١٢", "12 requests", "nan"],
)
def test_a_malformed_count_gives_no_value(value: str) -> None:
    assert limits(x_ratelimit_limit_requests=value) == ()


@joined(
    "value", ["", "soon", "-5", "1x", "s", "2026-11-21", "2026-13-40T00:00:00Z", "9" * 18 + "d"]
)
def test_a_malformed_reset_leaves_the_rest(value: str) -> None:
    (limit,) = limits(x_ratelimit_limit_requests="9", x_ratelimit_reset_requests=value)
    assert limit == RateLimit(unit="requests", limit=9)


def test_a_reset_alone_is_no_limit() -> None:
    assert limits(x_ratelimit_reset_requests="1s", retry_after="3") == ()


_NAMES = st.sampled_from(
    ["ratelimit", "ratelimit-policy", "x-ratelimit-reset", "x-ratelimit-limit-tokens", "x-other"]
)


@given(st.dictionaries(_NAMES, st.text(max_size=200)))
def test_any_text_is_read_without_an_error(headers: dict[str, str]) -> None:
    for each in header_limits(headers, 0):
        assert each.limit is not None or each.remaining is not None


def test_a_long_field_is_read_in_linear_time() -> None:
    assert limits(ratelimit='"a"' + "; ;" * 5_000 + "\0") == ()


# --- bodies ---------------------------------------------------------------------------------------


def quota(id: Any, **fields: Any) -> dict[str, Any]:
    return {"quotaMetric": "m", "quotaId": id, **fields}


def google(*violations: dict[str, Any], delay: str = "34.5s") -> bytes:
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": violations},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
    ]
    return json.dumps([{"error": {"code": 429, "details": details}}]).encode()


def test_quotas_of_google() -> None:
    body = google(
        quota(
            "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
            quotaValue="10",
            quotaDimensions={"model": "m"},
        ),
        quota("GenerateContentInputTokensPerModelPerDay-FreeTier", quotaValue=20),
        quota("FileStorageBytesPerProject"),
        quota(7),
    )
    assert body_limits(body, NOW.timestamp()) == (
        RateLimit(
            unit="requests", scope="m", window=60, limit=10, remaining=0, resets_at=after(34.5)
        ),
        # After the wait of RetryInfo, a daily quota is still used up (G74).
        RateLimit(unit="input_tokens", window=86_400, limit=20, remaining=0),
    )


def test_headers_in_an_error_of_openrouter() -> None:
    headers = {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-Other": 3}
    body = json.dumps({"error": {"code": 429, "metadata": {"headers": headers}}}).encode()
    assert body_limits(body, 0) == (RateLimit(unit="requests", limit=50, remaining=0),)


@joined("body", [b"", b"<html>", b"\xff", b"[" * 5_000, b"[]", b'{"quotaId":"RequestsOf"}'])
def test_any_other_body_names_none(body: bytes) -> None:
    assert body_limits(body, 0) == ()


def test_only_a_429_names_limits() -> None:
    body = google(quota("GenerateRequestsPerMinute"))
    assert [each.unit for each in error_limits(RateLimitError(status=429, raw=body), 0)] == [
        "requests"
    ]
    assert error_limits(RateLimitError(status=400, raw=body), 0) == ()


# --- the account ----------------------------------------------------------------------------------


def test_headers_of_an_account_are_masked_when_they_are_read() -> None:
    received = {
        "x-echo": f"was {KEY}",
        "set-cookie": "session=fakefakefake",
        "x-ratelimit-remaining-tokens": "150",
        "anthropic-fast-input-tokens-limit": "7",
        "location": "https://user:pw@host.example/x?sig=fakefake",
    }
    headers = ResponseHeaders(received, Mask([Secret(KEY)]))
    assert KEY not in repr(vars(type(headers))) + repr(headers._masked)
    account = Account(response_headers=headers, received_at=NOW.timestamp())
    assert KEY not in repr(account)
    assert dict(account.response_headers) == {
        "x-echo": "was ***",
        "set-cookie": "***",
        "x-ratelimit-remaining-tokens": "150",
        "anthropic-fast-input-tokens-limit": "7",
        "location": "https://***@host.example/x?***",
    }
    assert account.rate_limits == {
        "x-ratelimit-remaining-tokens": "150",
        "anthropic-fast-input-tokens-limit": "7",
    }
    assert account.limits == (
        RateLimit(unit="tokens", remaining=150),
        RateLimit(unit="input_tokens", scope="fast", limit=7),
    )


@joined(
    "copied",
    [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
    ids=["copy", "deepcopy", "pickle"],
)
@joined("at_once", [False, True])
def test_copies_of_an_account_have_masked_headers(copied: Any, at_once: bool) -> None:
    mask = Mask([Secret(KEY)])
    headers = ResponseHeaders({"x-echo": KEY, "x-a": "b"}, mask, at_once=at_once)
    account = Account(response_headers=headers)
    assert KEY.encode() not in pickle.dumps(account)
    assert copied(account) == account
    assert copied(account).response_headers == {"x-echo": "***", "x-a": "b"}


def test_headers_that_were_read_keep_no_secret() -> None:
    headers = ResponseHeaders({"x-echo": KEY}, Mask([Secret(KEY)]))
    assert headers._masking is not None
    assert (len(headers), headers["x-echo"]) == (1, "***")
    assert headers._masking is None


def test_an_error_has_an_account_as_a_result_has() -> None:
    error, account = RateLimitError(), Account(attempts=2)
    assert answer_account(error) is None
    error.account = account
    assert answer_account(error) is account


def test_a_header_without_an_end_is_no_limit() -> None:
    assert limits(ratelimit='"burst";r=50')[0].remaining == 50
    assert limits(ratelimit='"burst";r=50' + ";" * 100_000) == ()
