"""The recorded replies that other tests write again."""

from __future__ import annotations

import pytest

from tests.conformance import replies
from wire.neutral.messages import Done, Reply

RECORDED = {
    "gemini": (938, 336),
    "openai": (2037, 1188),
    "openai.responses": (511, 255),
    "anthropic": (499, 286),
}
"""Wire -> whole answers and streams in the corpus, at least."""


def test_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "SHARED", replies.SAMPLES / "not here")
    found = list(replies.recorded_replies())
    forms = {(each.wire, bool(each.events)) for each in found}
    assert forms == {(wire, streamed) for wire in RECORDED for streamed in (True, False)}
    for each in found:
        assert isinstance(each.reply, Reply)
        assert (each.body is None) is bool(each.events) is bool(each.told), each.id
        if each.events:
            assert each.told[-1] == Done(each.reply), each.id


@pytest.mark.slow
@pytest.mark.parametrize("wire", RECORDED)
def test_all_of_the_corpus(wire: str) -> None:
    if not replies.SHARED.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout; the sample serves")
    found = list(replies.recorded_replies(wire))
    whole = sum(not each.events for each in found)
    least = RECORDED[wire]
    assert whole >= least[0]
    assert len(found) - whole >= least[1]
    assert all(each.told[-1] == Done(each.reply) for each in found if each.events)
