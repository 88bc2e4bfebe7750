"""What the emulator's Messages remember: thoughts and their signatures, and prompts in the
cache.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.testing.emulator.claude_asks import (
    MODEL,
    THINKING,
    TOOL,
    assistant,
    conversation,
    events,
    post,
    refused,
    said,
    user,
)
from wire.testing.emulator import Answer, Emulator
from wire.testing.emulator.vendors.anthropic.prompts import PromptCache, prompt_tokens

# --- thoughts -------------------------------------------------------------------------------------


def test_thoughts_are_shown_where_they_are_asked_for() -> None:
    answer = said(post(Emulator(), thinking=THINKING))
    assert [block["type"] for block in answer["content"]] == ["thinking", "text"]
    assert answer["content"][0]["thinking"].startswith("**Reading the question**")
    assert len(answer["content"][0]["signature"]) == 60
    assert answer["usage"]["output_tokens_details"] == {"thinking_tokens": 24}
    assert answer["usage"]["output_tokens"] == 39
    told = events(post(Emulator(), thinking=THINKING, stream=True))
    kinds = [
        event["delta"]["type"]
        for event in told
        if event["type"] == "content_block_delta" and event["index"] == 0
    ]
    assert (set(kinds[:-1]), kinds[-1]) == ({"thinking_delta"}, "signature_delta")
    assert "signature" not in post(Emulator()).body.decode()


def test_later_models_think_unasked_and_hide_it() -> None:
    answer = said(post(Emulator(), model="claude-sonnet-5"))
    assert (answer["content"][0]["type"], answer["content"][0]["thinking"]) == ("thinking", "")
    assert answer["content"][0]["signature"]
    off = said(post(Emulator(), model="claude-sonnet-5", thinking={"type": "disabled"}))
    assert [block["type"] for block in off["content"]] == ["text"]
    shown = said(
        post(
            Emulator(),
            model="claude-opus-4-8",
            thinking={"type": "adaptive", "display": "summarized"},
        )
    )
    assert shown["content"][0]["thinking"]
    hidden = said(
        post(
            Emulator(),
            model="claude-sonnet-4-6",
            thinking={"type": "adaptive", "display": "omitted"},
        )
    )
    assert (hidden["content"][0]["thinking"], bool(hidden["content"][0]["signature"])) == ("", True)


def test_thoughts_go_back_as_they_came() -> None:
    text = 'Your tool get_weather says {"result": "sunny"}.'
    assert said(conversation())["content"][-1]["text"] == text
    invalid = (
        400,
        "invalid_request_error",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    )
    assert refused(conversation(lambda content: content[0].update(thinking="Hm."))) == invalid
    assert (
        refused(conversation(lambda content: content[0].update(signature="EqQBCkYIBRgC")))
        == invalid
    )
    assert refused(conversation(lambda content: content[0].update(signature="x"))) == invalid
    assert refused(conversation(seed=1)) == invalid
    assert refused(conversation(model="claude-haiku-4-5")) == invalid
    assert (
        said(conversation(model="claude-sonnet-4-5-20250929"))["content"][-1]["text"] == text
    )  # the same, by its full name
    assert (
        refused(conversation(lambda content: content[0].pop("signature")))[2]
        == "messages.1.content.0.thinking.signature: Field required"
    )
    assert refused(conversation(lambda content: content.pop(0)))[2].startswith(
        "messages.1.content.0.type: Expected `thinking` or"
    )


def test_hidden_thoughts_are_known_again() -> None:
    emulator = Emulator()
    content = said(post(emulator, "Weather in Oslo?", model="claude-sonnet-5", tools=[TOOL]))[
        "content"
    ]
    assert content[0]["thinking"] == ""
    result = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": "sunny"}
    assert said(
        post(
            emulator,
            "Weather in Oslo?",
            assistant(content),
            user([result]),
            model="claude-sonnet-5",
            tools=[TOOL],
        )
    )
    content[0]["thinking"] = "Hm."
    again = post(
        emulator,
        "Weather in Oslo?",
        assistant(content),
        user([result]),
        model="claude-sonnet-5",
        tools=[TOOL],
    )
    assert refused(again)[2] == "messages.1.content.0: Invalid `signature` in `thinking` block"


# --- the cache ------------------------------------------------------------------------------------

LONG = "word " * 1500
MARK = {"type": "ephemeral"}


def counts(answer: Answer) -> tuple[int, int, int]:
    usage = said(answer)["usage"]
    assert usage["cache_creation_input_tokens"] == sum(usage["cache_creation"].values())
    return (
        usage["input_tokens"],
        usage["cache_creation_input_tokens"],
        usage["cache_read_input_tokens"],
    )


def test_what_is_marked_is_read_from_the_cache() -> None:
    emulator = Emulator()
    system = [{"type": "text", "text": LONG, "cache_control": MARK}]
    fresh, written, read = counts(post(emulator, system=system))
    assert (fresh, read) == (1, 0)
    assert written >= 1500
    assert counts(post(emulator, system=system)) == (1, 0, written)
    assert counts(post(emulator, "hi there", system=system)) == (3, 0, written)
    assert counts(post(emulator, system=system, model="claude-haiku-4-5")) == (1, written, 0)
    assert counts(post(emulator, system=[{**system[0], "text": "A " + LONG}]))[2] == 0
    emulator.reset()
    assert counts(post(emulator, system=system))[2] == 0


def test_a_mark_moves_with_the_conversation() -> None:
    emulator = Emulator()
    first = counts(post(emulator, LONG, cache_control=MARK))
    assert first[0] == 0
    fresh, written, read = counts(
        post(emulator, LONG, assistant("Yes."), user("And now?"), cache_control=MARK)
    )
    assert (fresh, read) == (0, first[1])
    assert 0 < written < 20


def test_a_mark_is_no_part_of_what_is_marked() -> None:
    emulator = Emulator()
    first = [{"type": "text", "text": LONG, "cache_control": MARK}]
    written = counts(post(emulator, first))[1]
    later = [{"type": "text", "text": "And now?", "cache_control": MARK}]
    assert (
        counts(post(emulator, [{"type": "text", "text": LONG}], assistant("Yes."), user(later)))[2]
        == written
    )
    result = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [{"type": "text", "text": LONG, "cache_control": MARK}],
    }
    call = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}
    assert counts(post(emulator, "x", assistant([call]), user([result]), tools=[TOOL]))[1] > 1500


def test_marks_of_an_hour_and_short_prompts() -> None:
    system = [{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    usage = said(
        post(Emulator(), [{"type": "text", "text": "hi", "cache_control": MARK}], system=system)
    )["usage"]
    assert usage["cache_creation"]["ephemeral_1h_input_tokens"] >= 1500
    assert usage["cache_creation"]["ephemeral_5m_input_tokens"] == 1
    assert (
        counts(post(Emulator(), system=[{"type": "text", "text": "short", "cache_control": MARK}]))[
            1
        ]
        == 0
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 3000), st.sampled_from(["", "5m", "1h"])), min_size=1, max_size=8
    )
)
def test_every_token_is_counted_once(sizes: list[tuple[int, str]]) -> None:
    def block(size: int, ttl: str) -> dict[str, Any]:
        mark = {"cache_control": {"type": "ephemeral", "ttl": ttl}} if ttl else {}
        return {"type": "text", "text": "a " + "word " * size, **mark}

    blocks_ = [block(*each) for each in sizes]
    asked = {"model": MODEL, "system": blocks_[:2], "messages": [user(blocks_[2:])]}
    prompts = PromptCache()
    for _ in range(2):
        usage = prompts.usage(asked)
        parts = [
            usage[name]
            for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        ]
        assert sum(parts) == prompt_tokens(asked)
        assert min(parts) >= 0
        assert sum(usage["cache_creation"].values()) == parts[1]
    assert parts[1] == 0  # the second time it is all there
