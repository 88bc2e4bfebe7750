"""An answer that takes several requests is one step of a run."""

from __future__ import annotations

import pytest

from tests.agent.agents import talk
from tests.joined import joined

WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
CALL = {"name": "tide", "args": {"port": "Brest"}}


def tide(port: str) -> str:
    """When the tide is high."""
    return f"{port}: 05:12"


@joined("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("style", ["asyncio", "trio", "threads"])
def test_a_long_answer_is_one_step(style: str, stream: bool) -> None:
    script = [
        {"say": {"text": WORDS, "hops": 3, "calls": [CALL]}},
        {"say": {"text": WORDS, "hops": 3}},
    ]
    said = talk(style, script, "When?", tools=[tide], run={"stream": stream})
    result = said.result
    assert (result.reason, result.complete, result.text) == ("end", True, WORDS)
    assert len(said.requests) == 6
    assert [len(step.reply.hops) for step in result.steps] == [3, 3]
    assert [[run.result.content for run in step.runs] for step in result.steps] == [
        ["Brest: 05:12"],
        [],
    ]
    assert result.usage == result.steps[0].reply.usage + result.steps[1].reply.usage  # type: ignore[operator]
    if stream:
        assert "".join(delta.text for delta in said.deltas) == 2 * WORDS
    # The next turn has the whole answer, not a part of it.
    sent = said.bodies[3]["contents"][1]["parts"]
    assert "".join(part.get("text", "") for part in sent) == WORDS
    assert [part["functionCall"]["name"] for part in sent if "functionCall" in part] == ["tide"]


@joined("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("style", ["asyncio", "trio", "threads"])
def test_a_run_tells_that_its_answer_was_not_followed_to_its_end(style: str, stream: bool) -> None:
    body = {
        "candidates": [{"content": {"parts": [{"text": "one"}]}, "finishReason": "CONTINUATION"}]
    }
    result = talk(style, [{"answer": body}], "Count.", run={"stream": stream}).result
    assert (result.reason, result.complete, result.text) == ("pause", False, "one")
