"""The response that events form: which source of an item counts, and what deltas alone come to."""

from __future__ import annotations

import json
from typing import Any

from tests.joined import joined
from tests.openai.responses.bodies import (
    CREATED,
    added,
    completed,
    custom_call,
    delta,
    done,
    function_call,
    message,
    read,
    reasoning,
    refusal,
    response,
    sse,
    text,
)
from wire.neutral.messages import Thought


def output(*events: Any) -> Any:
    return json.loads(read(sse(CREATED, *events)).response.raw or b"")["output"]


def test_of_a_position_the_done_item_counts_before_the_last_event_and_the_deltas() -> None:
    streamed = [added(0, message()), delta(0, "of the deltas")]
    whole = [done(0, message("of done"))]
    last = [completed(message("of the last event"))]
    assert output(*streamed, *whole, *last) == [message("of done")]
    assert output(*streamed, *last) == [message("of the last event")]
    [formed] = output(*streamed)
    assert formed["content"] == [{"type": "output_text", "text": "of the deltas"}]


def test_reasoning_has_the_secret_of_done() -> None:
    """The one of `added` is shorter, the one of the last event another."""
    events = [
        added(0, reasoning(secret="short")),
        done(0, reasoning(secret="of done")),
        completed(reasoning(secret="another")),
    ]
    assert output(*events) == [reasoning(secret="of done")]


def test_an_item_of_the_last_event_at_another_position_is_no_second_one() -> None:
    events = [done(1, message("Hi")), completed(message("Hi"), function_call(1, "tide", "{}"))]
    assert output(*events) == [message("Hi")]
    apart = [done(0, message("Hi")), completed(message("Hi"), function_call(1, "tide", "{}"))]
    assert output(*apart) == [message("Hi"), function_call(1, "tide", "{}")]


def test_an_open_item_of_another_type_than_that_of_the_last_event_stays() -> None:
    events = [added(0, message()), delta(0, "Hi"), completed(function_call(1, "tide", "{}"))]
    assert [each["type"] for each in output(*events)] == ["message"]


def test_the_latest_state_counts_and_keeps_what_it_does_not_repeat() -> None:
    events = [
        {"type": "response.in_progress", "response": {"status": "in_progress", "moon": 1}},
        completed(message("Hi"), metadata={"a": "b"}),
    ]
    folded = json.loads(read(sse(CREATED, *events)).response.raw or b"")
    assert folded == {**response(message("Hi")), "moon": 1, "metadata": {"a": "b"}}


FORMED: dict[str, tuple[list[Any], Any]] = {
    "texts": (
        [delta(0, "Hi ", content_index=0), delta(0, "there", content_index=0)],
        {"content": [{"type": "output_text", "text": "Hi there"}]},
    ),
    "the text of done": (
        [delta(0, "Hi"), {"type": "response.output_text.done", "output_index": 0, "text": "Hi!"}],
        {"content": [{"type": "output_text", "text": "Hi!"}]},
    ),
    "the part of done": (
        [
            delta(0, "Hi"),
            {"type": "response.content_part.done", "output_index": 0, "part": text("Ho")},
        ],
        {"content": [text("Ho")]},
    ),
    "annotations": (
        [
            delta(0, "Hi"),
            {
                "type": "response.output_text.annotation.added",
                "output_index": 0,
                "content_index": 0,
                "annotation": {"type": "url_citation", "url": "https://example.com"},
            },
        ],
        {
            "content": [
                {
                    "type": "output_text",
                    "text": "Hi",
                    "annotations": [{"type": "url_citation", "url": "https://example.com"}],
                }
            ]
        },
    ),
    "a refusal": ([delta(0, "No.", "refusal")], {"content": [refusal("No.")]}),
    "reasoning": (
        [delta(0, "Hm.", "reasoning_text")],
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]},
    ),
    "summaries": (
        [
            delta(0, "B", "reasoning_summary_text", summary_index=1),
            delta(0, "A", "reasoning_summary_text", summary_index=0),
        ],
        {
            "type": "reasoning",
            "summary": [
                {"type": "summary_text", "text": "A"},
                {"type": "summary_text", "text": "B"},
            ],
        },
    ),
    "arguments": (
        [delta(0, '{"a"', "function_call_arguments"), delta(0, ":1}", "function_call_arguments")],
        {"type": "function_call", "arguments": '{"a":1}'},
    ),
    "the input of a custom tool": (
        [delta(0, "line", "custom_tool_call_input")],
        {"type": "custom_tool_call", "input": "line"},
    ),
    "code": (
        [delta(0, "1+1", "code_interpreter_call_code")],
        {"type": "code_interpreter_call", "code": "1+1"},
    ),
    "arguments of a call that the host runs": (
        [delta(0, "{}", "mcp_call_arguments")],
        {"type": "mcp_call", "arguments": "{}"},
    ),
}


@joined("name", FORMED)
def test_what_deltas_form_at_a_host_that_does_not_announce_items(name: str) -> None:
    events, formed = FORMED[name]
    assert output(*events) == [{"type": "message", **formed}]


def test_of_a_cut_stream_the_call_has_no_arguments() -> None:
    """What arrived of them is its text."""
    events = [added(0, {**custom_call(""), "status": "in_progress"})]
    cut = read(sse(CREATED, *events, delta(0, "li", "custom_tool_call_input")))
    [item] = cut.response.output or ()
    assert (item.type, item.input, item.status) == ("custom_tool_call", "li", "in_progress")


def test_the_position_of_a_part_that_the_host_counts_up_is_that_of_the_part() -> None:
    """As vLLM does; two parts that both began are two."""
    begun = {"type": "response.content_part.added", "output_index": 0, "part": text("")}
    pieces = [delta(0, piece, content_index=at) for at, piece in enumerate(("a", "b", "c"))]
    [formed] = output(added(0, message()), {**begun, "content_index": 0}, *pieces)
    assert [part["text"] for part in formed["content"]] == ["abc"]
    both = [{**begun, "content_index": at} for at in (0, 1)]
    [formed] = output(added(0, message()), *both, *pieces[:2])
    assert [part["text"] for part in formed["content"]] == ["a", "b"]


def test_a_thought_says_which_field_it_came_from() -> None:
    for kind, slot in (("reasoning_text", "content"), ("reasoning_summary_text", "summary")):
        [part] = read(sse(CREATED, delta(0, "Hm.", kind))).reply.message.parts
        assert isinstance(part, Thought)
        assert (part.text, part.slot) == ("Hm.", slot)


@joined("index", [-1, -(10**30), 10**30])
def test_an_index_that_no_list_has_is_no_position_of_the_last_event(index: int) -> None:
    """A negative one would count from the end of the list, and a huge one fits no index."""
    whole = message("of the last event")
    formed = output(added(index, message()), delta(index, "of the deltas"), completed(whole))
    assert [item["content"][0]["text"] for item in formed] == [
        *(["of the deltas"] if index < 0 else []),
        "of the last event",
        *(["of the deltas"] if index > 0 else []),
    ]
