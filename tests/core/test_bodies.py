"""A body of texts and numbers is checked without a walk, and with the result of a walk."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.property import examples
from wire.anthropic import Message, MessageRequest
from wire.core import bodies
from wire.core.bodies import checked_body
from wire.errors import RuleError

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63, 2**64, -(2**63), 10**400]),
    st.floats(),
    st.text(),
    st.sampled_from(["\ud800", b"ab", {"a"}, [], [1], {}, {"a": math.nan}, (), 1j]),
)
FIELDS = ("model", "max_tokens", "temperature", "stop_sequences", "system", "metadata", "content")


def has_text(message: Any) -> bool:
    return type(message.content) is str


def outcome(request: MessageRequest) -> object:
    """The body with what is decoded from it, or the violations."""
    try:
        body, read = checked_body(request, "messages", has_text)
    except RuleError as error:
        return error.violations
    return body, repr(read)


@settings(max_examples=examples(400))
@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=2))
@example({"temperature": math.nan})
@example({"model": "\ud800"})
@example({"content": "\ud800"})
def test_a_flat_body_is_that_of_the_full_check(fields: dict[str, Any]) -> None:
    message = Message(role="user", content=fields.pop("content", "Hi"))
    sound = {"model": "m", "max_tokens": 9, "messages": [message]}
    request = MessageRequest(**{**sound, **fields})
    quick = outcome(request)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "_flat", lambda request: None)
        assert quick == outcome(request)


def test_texts_and_numbers_are_a_flat_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(bodies, "expands")  # the walk of the full check
    request = MessageRequest(
        model="m", max_tokens=9, temperature=0.5, messages=[Message(role="user", content="Hi")]
    )
    body, read = checked_body(request, "messages", has_text)
    assert body == (
        b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":9,"temperature":0.5}'
    )
    assert read == request
    assert read.messages is not request.messages
