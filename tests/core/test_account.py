from __future__ import annotations

import copy
import math
import pickle
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.joined import joined
from wire.core.account import Account
from wire.core.exchange import completed, request_id, retry_after
from wire.core.memory import WireStruct, answer_account, keep_account
from wire.errors import WireError

NOW = 784_111_777.0
"""Sun, 06 Nov 1994 08:49:37 GMT, the date of RFC 9110's examples."""


class Answer(WireStruct):
    text: str | None = None


# --- retry_after (R-16) ---------------------------------------------------------------------------

WAITS: list[tuple[str, dict[str, str], float | None]] = [
    ("missing", {}, None),
    ("seconds", {"retry-after": "7"}, 7.0),
    ("fraction", {"retry-after": "2.5"}, 2.5),
    ("blanks", {"retry-after": " 7 "}, 7.0),
    ("zero", {"retry-after": "0"}, 0.0),
    ("a-day", {"retry-after": "86400"}, 86_400.0),
    ("ms", {"retry-after-ms": "1500"}, 1.5),
    ("ms-before-seconds", {"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
    ("ms-nonsense", {"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
    ("ms-negative", {"retry-after-ms": "-1", "retry-after": "7"}, 7.0),
    ("date", {"retry-after": "Sun, 06 Nov 1994 08:50:37 GMT"}, 60.0),
    ("date-now", {"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}, 0.0),
    ("date-past", {"retry-after": "Sun, 06 Nov 1994 08:00:00 GMT"}, 0.0),
    ("date-zone", {"retry-after": "Sun, 06 Nov 1994 10:50:37 +0200"}, 60.0),
    ("date-rfc850", {"retry-after": "Sunday, 06-Nov-94 08:50:37 GMT"}, 60.0),
    ("date-wrong", {"retry-after": "Sun, 99 Nov 1994 08:49:37 GMT"}, None),
    ("negative", {"retry-after": "-1"}, None),
    ("nan", {"retry-after": "nan"}, None),
    ("inf", {"retry-after": "inf"}, None),
    ("huge", {"retry-after": "9" * 400}, None),
    ("above-1e9", {"retry-after": "1000000001"}, None),
    ("ms-above-1e9", {"retry-after-ms": "1e13", "retry-after": "7"}, 7.0),
    ("date-in-8000-years", {"retry-after": "Sat, 06 Nov 9994 08:49:37 GMT"}, None),
    ("other-digits", {"retry-after": "\u0667"}, None),
    ("words", {"retry-after": "in a while"}, None),
    ("empty", {"retry-after": ""}, None),
]


@pytest.mark.row("R-16")
@joined(("headers", "seconds"), [row[1:] for row in WAITS], ids=[row[0] for row in WAITS])
def test_retry_after(headers: dict[str, str], seconds: float | None):
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    "text",
    ["Sun Nov  6 08:50:37 1994", "Sun, 06 Nov 1994 08:50:37", "Sun, 06 Nov 1994 08:50:37 -0000"],
)
@pytest.mark.parametrize("zone", ["UTC0", "XXX-9"])
def test_a_date_without_a_zone_is_gmt_wherever_the_client_lives(
    text: str, zone: str, monkeypatch: pytest.MonkeyPatch
):
    """RFC 9110, 5.6.7: the obsolete forms must be read as well, and all of them mean GMT."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert retry_after({"retry-after": text}, NOW) == 60.0
    finally:
        monkeypatch.undo()
        time.tzset()


@given(
    st.text(max_size=30)
    | st.from_regex(
        r"[A-Z][a-z]{2}, [0-9]{1,3} [A-Z][a-z]{2} [0-9]{1,6} [0-9:]{0,10} ?[-+0-9A-Z]{0,6}",
        fullmatch=True,
    )
)
@example("Sun, 06 Nov 0001 00:00:00 +2359")
@example("Sun, 06 Nov 1994 08:49:37 +99999999")
def test_nothing_that_a_server_writes_is_a_foreign_error(text: str):  # R-08
    seconds = retry_after({"retry-after": text}, NOW)
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


# --- other headers --------------------------------------------------------------------------------


@joined(
    ("headers", "found"),
    [
        ({}, None),
        ({"x-request-id": "a"}, "a"),
        ({"request-id": "b"}, "b"),
        ({"x-goog-request-id": "c"}, "c"),
        ({"x-cloud-trace-context": "d"}, "d"),
        ({"cf-ray": "e"}, "e"),
        ({"cf-ray": "e", "request-id": "b", "x-request-id": "a"}, "a"),
        ({"content-type": "a"}, None),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else None,
)
def test_request_id(headers: dict[str, str], found: str | None):
    assert request_id(headers) == found


def test_rate_limits():
    kept = {
        "x-ratelimit-remaining-requests": "9",
        "anthropic-ratelimit-tokens-reset": "x",
        "anthropic-priority-input-tokens-limit": "8",
        "x-tokenlimit-limit": "7",
        "X-RateLimit-Limit": "10",
        "RateLimit": '"default";r=50',
        "retry-after": "3",
    }
    headers = {"content-type": "a", **kept, "x-other": "b"}
    assert Account(response_headers=headers).rate_limits == kept


# --- completed ------------------------------------------------------------------------------------


@joined(
    ("body", "header", "waits"),
    [
        (None, None, None),
        (5.0, None, 5.0),
        (None, "7", 7.0),
        (5.0, "7", 7.0),
        (9.0, "7", 9.0),
        (5.0, "soon", 5.0),
        (None, "0", 0.0),
    ],
)
def test_the_longer_of_two_waits_counts(
    body: float | None, header: str | None, waits: float | None
):  # R-16
    headers = {} if header is None else {"retry-after": header}
    assert completed(WireError(retry_after=body), headers, NOW).retry_after == waits


@joined(
    ("before", "wish", "after"),
    [
        (False, "true", True),
        (True, "false", False),
        (True, "true", True),
        (False, "false", False),
        (True, None, True),
        (False, None, False),
        (True, "perhaps", True),
        (False, "", False),
    ],
)
def test_x_should_retry_is_obeyed(before: bool, wish: str | None, after: bool):  # R-15
    headers = {} if wish is None else {"x-should-retry": wish}
    assert completed(WireError(retryable=before), headers, NOW).retryable is after


def test_the_request_id_of_the_body_stays():
    assert (
        completed(WireError(request_id="body"), {"x-request-id": "header"}, NOW).request_id
        == "body"
    )
    assert completed(WireError(), {"x-request-id": "header"}, NOW).request_id == "header"


def test_it_is_the_same_error():
    error = WireError("oops")
    assert completed(error, {}, NOW) is error


# --- beside the answer ----------------------------------------------------------------------------


def test_the_account_lies_beside_the_answer_not_in_it():
    answer, account = Answer(text="a"), Account(attempts=2, status=200)
    keep_account(answer, account)
    assert answer_account(answer) is account
    assert (answer, repr(answer)) == (Answer(text="a"), "Answer(text='a')")


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_keep_the_account(copied):
    answer = Answer(text="a")
    keep_account(answer, Account(attempts=2, waits=[0.5]))
    assert answer_account(copied(answer)) == Account(attempts=2, waits=[0.5])


@joined("answer", [Answer(), {"text": "a"}, None, b""], ids=repr)
def test_what_came_through_no_client_has_no_account(answer: object):
    assert answer_account(answer) is None


def test_an_answer_that_has_no_room_is_left_alone():
    answer = {"text": "a"}
    keep_account(answer, Account())
    assert answer == {"text": "a"}
