"""Anthropic's Messages: whole answers and streams, scripts, faults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from tests.testing.emulator.claude_asks import (
    KEY,
    MODEL,
    QUESTION,
    TEXT,
    THINKING,
    TOOL,
    assistant,
    blocks,
    events,
    post,
    refused,
    said,
    user,
)
from wire.testing.emulator import Cut, Emulator, EmulatorTransport, Pause, Reset

# --- answers --------------------------------------------------------------------------------------


def test_a_whole_answer() -> None:
    answer = post(Emulator())
    assert said(answer) == {
        "model": MODEL,
        "id": said(answer)["id"],
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": TEXT}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": {
            "input_tokens": 1,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 15,
            "service_tier": "standard",
        },
    }
    assert said(answer)["id"].startswith("msg_01")
    assert dict(answer.headers)["request-id"].startswith("req_01")
    assert b"\n" not in answer.body


def test_a_stream() -> None:
    told = events(post(Emulator(), stream=True))
    assert [event["type"] for event in told[:3]] == ["message_start", "content_block_start", "ping"]
    assert [event["type"] for event in told[-3:]] == [
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    start = told[0]["message"]
    assert (
        start["content"],
        start["stop_reason"],
        start["usage"]["input_tokens"],
        start["usage"]["output_tokens"],
    ) == ([], None, 1, 1)
    assert told[1] == {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }
    assert blocks(told) == [{"type": "text", "text": TEXT}]
    assert sum(event["type"] == "content_block_delta" for event in told) > 1
    assert told[-2]["delta"] == {
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
    }
    assert (told[-2]["usage"]["input_tokens"], told[-2]["usage"]["output_tokens"]) == (1, 15)


@joined(
    "more", [{}, {"thinking": THINKING}, {"tools": [TOOL]}, {"tools": [TOOL], "thinking": THINKING}]
)
def test_a_stream_says_what_a_whole_answer_says(more: dict[str, Any]) -> None:
    whole = said(post(Emulator(), QUESTION, **more))
    told = events(post(Emulator(), QUESTION, stream=True, **more))

    def alike(content: Any) -> Any:
        return [
            {key: value for key, value in block.items() if key not in ("id", "signature")}
            for block in content
        ]

    assert alike(blocks(told)) == alike(whole["content"])
    assert told[-2]["delta"]["stop_reason"] == whole["stop_reason"]
    assert told[-2]["usage"]["output_tokens"] == whole["usage"]["output_tokens"]


def test_calls_and_their_results() -> None:
    emulator = Emulator()
    answer = said(post(emulator, QUESTION, tools=[TOOL]))
    calls = answer["content"]
    assert [(call["type"], call["name"], call["input"]) for call in calls] == [
        ("tool_use", "get_weather", {"city": "Paris"}),
        ("tool_use", "get_weather", {"city": "Oslo"}),
    ]
    assert all(call["id"].startswith("toolu_01") for call in calls)
    assert (len({call["id"] for call in calls}), answer["stop_reason"]) == (2, "tool_use")
    results = [
        {"type": "tool_result", "tool_use_id": calls[0]["id"], "content": '{"sky": "sunny"}'},
        {
            "type": "tool_result",
            "tool_use_id": calls[1]["id"],
            "content": [{"type": "text", "text": "no"}],
            "is_error": True,
        },
    ]
    last = said(post(emulator, QUESTION, assistant(calls), user(results), tools=[TOOL]))
    assert (
        last["content"][0]["text"]
        == 'Your tool get_weather says {"sky": "sunny"} and get_weather says {"error": "no"}.'
    )


def test_calls_in_pieces() -> None:
    told = events(post(Emulator(), QUESTION, tools=[TOOL], stream=True))
    assert told[1]["content_block"]["input"] == {}
    assert [
        event["delta"]["partial_json"]
        for event in told
        if event.get("index") == 0 and "delta" in event
    ] == [
        "",
        '{"city":',
        ' "Paris"}',
    ]
    bare = {"name": "now", "description": "The time", "input_schema": {"type": "object"}}
    told = events(post(Emulator(), "call now", tools=[bare], stream=True))
    assert [
        event["delta"]["partial_json"] for event in told if event["type"] == "content_block_delta"
    ] == [""]
    assert blocks(told)[0]["input"] == {}


def test_which_tools_are_called() -> None:
    other = {**TOOL, "name": "get_time", "description": "Time of a city"}

    def called(choice: Any, content: str = "hello") -> list[str]:
        content_ = said(post(Emulator(), content, tools=[TOOL, other], tool_choice=choice))[
            "content"
        ]
        return [block["name"] for block in content_ if block["type"] == "tool_use"]

    assert called({"type": "none"}, "get_weather") == []
    assert called({"type": "tool", "name": "get_time"}, "get_weather") == ["get_time"]
    assert called({"type": "any"}) == ["get_weather"]
    assert called({"type": "auto"}, "get_weather and get_time") == ["get_weather", "get_time"]
    assert called(
        {"type": "auto", "disable_parallel_tool_use": True}, "get_weather and get_time"
    ) == ["get_weather"]


def test_limits_stops_and_schemas() -> None:
    cut = said(post(Emulator(), max_tokens=5))
    assert (cut["content"][0]["text"], cut["stop_reason"], cut["usage"]["output_tokens"]) == (
        "This is an emulator",
        "max_tokens",
        5,
    )
    stopped = said(post(Emulator(), stop_sequences=["said", "You"]))
    assert stopped["content"][0]["text"] == "This is an emulator, and no model. "
    assert (stopped["stop_reason"], stopped["stop_sequence"]) == ("stop_sequence", "You")
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "schema": schema}
    for more in ({"output_config": {"format": form}}, {"output_format": form}):
        assert json.loads(
            said(post(Emulator(), "Where is Oslo?", **more))["content"][0]["text"]
        ) == {"city": "Oslo"}


def test_count_tokens() -> None:
    emulator = Emulator()
    path = "/v1/messages/count_tokens"
    assert said(post(emulator, "hi there", path=path, max_tokens=None)) == {"input_tokens": 3}
    more = said(
        post(emulator, "hi there", path=path, max_tokens=None, tools=[TOOL], system="Be brief.")
    )
    assert (
        more["input_tokens"]
        == said(post(emulator, "hi there", tools=[TOOL], system="Be brief."))["usage"][
            "input_tokens"
        ]
        > 3
    )
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4000},
    }
    assert said(post(emulator, [image], path=path, max_tokens=None)) == {"input_tokens": 258}
    assert refused(post(emulator, path=path, max_tokens=None, model="claude-nothing"))[0] == 404


TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(
        lambda text, signature: {"type": "thinking", "thinking": text, "signature": signature},
        st.just("") | TEXTS,
        TEXTS,
    ),
    st.builds(lambda data: {"type": "redacted_thinking", "data": data}, TEXTS),
    st.builds(
        lambda name, given: {"type": "tool_use", "id": "toolu_1", "name": name, "input": given},
        TEXTS,
        st.dictionaries(TEXTS, st.none() | st.booleans() | st.integers(-9, 9) | TEXTS, max_size=3),
    ),
)


@given(st.lists(BLOCKS, max_size=4))
def test_every_content_is_streamed_without_loss(content: list[Any]) -> None:
    script = {"answer": {"content": content}, "times": 0}
    told = events(post(Emulator([script]), stream=True))
    assert blocks(told) == content == said(post(Emulator([script])))["content"]


# --- scripts --------------------------------------------------------------------------------------

SAY = {
    "text": "Two words.",
    "thoughts": "Hm. Well.",
    "calls": [{"name": "now", "args": {"zone": "UTC"}}],
    "finish": "STOP",
}


def test_what_a_script_says() -> None:
    emulator = Emulator(
        {
            "steps": [
                {
                    "match": {"endpoint": "messages", "model": "claude-*", "text": "hi"},
                    "say": SAY,
                    "times": 0,
                }
            ]
        }
    )
    whole = said(post(emulator, thinking=THINKING))
    assert [block["type"] for block in whole["content"]] == ["thinking", "text", "tool_use"]
    assert (whole["content"][0]["thinking"], whole["stop_reason"]) == ("Hm. Well.", "tool_use")
    assert blocks(events(post(emulator, thinking=THINKING, stream=True)))[1:2] == [
        {"type": "text", "text": "Two words."}
    ]
    assert [block["type"] for block in said(post(emulator))["content"]] == [
        "text",
        "tool_use",
    ]  # thinking is off
    assert post(emulator, "other").body != post(emulator).body


@joined(
    ("finish", "reason"),
    [
        ("STOP", "end_turn"),
        ("MAX_TOKENS", "max_tokens"),
        ("SAFETY", "refusal"),
        ("pause_turn", "pause_turn"),
        ("OTHER", "end_turn"),
    ],
)
def test_finishes(finish: str, reason: str) -> None:
    emulator = Emulator([{"say": {"text": "a", "finish": finish}}])
    answer = said(post(emulator))
    assert (answer["stop_reason"], answer["stop_details"] is not None) == (
        reason,
        reason == "refusal",
    )


def test_a_paused_turn_goes_on() -> None:
    emulator = Emulator([{"say": {"text": "I look.", "finish": "pause_turn"}}, {"say": "At six."}])
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    paused = said(post(emulator, tools=tools))
    *_, text, call = paused["content"]
    assert (paused["stop_reason"], text["text"]) == ("pause_turn", "I look.")
    assert (call["type"], call["name"], call["input"]) == ("server_tool_use", "web_search", {})
    turns = [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": paused["content"]},
    ]
    found, *_, answer = said(post(emulator, messages=turns, tools=tools))["content"]
    assert found == {
        "type": "web_search_tool_result",
        "tool_use_id": call["id"],
        "content": [],
    }
    assert answer["text"] == "At six."


def test_a_whole_body_of_a_script_is_streamed_too() -> None:
    content = [
        {"type": "thinking", "thinking": "Well.", "signature": "made-up"},
        {"type": "redacted_thinking", "data": "xyz"},
        {
            "type": "text",
            "text": "Hello there.",
            "citations": [{"type": "char_location", "cited_text": "Hello"}],
        },
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": "q"},
        },
    ]
    script = [{"answer": {"content": content, "stop_reason": "pause_turn"}, "times": 0}]
    assert said(post(Emulator(script)))["content"] == content
    told = events(post(Emulator(script), stream=True))
    starts = [event["content_block"] for event in told if event["type"] == "content_block_start"]
    assert starts == [
        {"type": "thinking", "thinking": "", "signature": ""},
        content[1],
        {"type": "text", "text": "", "citations": []},
        content[3],
    ]
    kinds = [event["delta"]["type"] for event in told if event["type"] == "content_block_delta"]
    assert kinds == ["thinking_delta", "signature_delta", "citations_delta", "text_delta"]
    assert told[-2]["delta"]["stop_reason"] == "pause_turn"


def test_a_stream_of_a_script_is_told_as_it_is_and_put_together() -> None:
    told = [
        {
            "type": "message_start",
            "message": {
                "id": "msg_s",
                "role": "assistant",
                "content": [],
                "usage": {"input_tokens": 3, "output_tokens": 1},
            },
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "Hm."},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "signature_delta", "signature": "made-up"},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "something_new", "value": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]
    emulator = Emulator([{"stream": told, "times": 2}])
    assert events(post(emulator, stream=True, thinking=THINKING)) == told
    whole = said(post(emulator, thinking=THINKING))
    assert whole["content"] == [{"type": "thinking", "thinking": "Hm.", "signature": "made-up"}]
    assert (whole["id"], whole["usage"]["output_tokens"]) == ("msg_s", 9)
    # What a script has signed is known when it comes back.
    assert (
        post(
            emulator,
            "hi",
            assistant([*whole["content"], {"type": "text", "text": "x"}]),
            user("and?"),
            thinking=THINKING,
        ).status
        == 200
    )


def test_errors_of_scripts() -> None:
    error = {
        "type": "error",
        "error": {"type": "billing_error", "message": "Your credit balance is too low."},
    }
    emulator = Emulator(
        [
            {"answer": error, "status": 402},
            {"fault": "529"},
            {"match": {"endpoint": "messages.models"}, "fault": "500"},
        ]
    )
    assert refused(post(emulator)) == (402, "billing_error", "Your credit balance is too low.")
    assert refused(post(emulator)) == (529, "overloaded_error", "Overloaded")
    assert refused(emulator.answer("GET", "/v1/models", KEY, b"")) == (
        500,
        "api_error",
        "Internal server error",
    )


# --- faults ---------------------------------------------------------------------------------------


def test_statuses() -> None:
    limited = post(Emulator(), fault="429; retry-after=2.5")
    assert refused(limited)[:2] == (429, "rate_limit_error")
    assert dict(limited.headers)["retry-after"] == "2.5"
    assert refused(post(Emulator(), fault="529", stream=True)) == (
        529,
        "overloaded_error",
        "Overloaded",
    )
    assert refused(post(Emulator(), fault="403; message=No.")) == (403, "permission_error", "No.")
    assert refused(post(Emulator(), fault="nothing"))[2].startswith(
        "x-wire-fault: fault: 'nothing' is unknown"
    )
    emulator = Emulator()
    assert [post(emulator, fault="529; times=2").status for _ in range(3)] == [529, 529, 200]


def broken(fault: str) -> list[Any]:
    """What is sent after the third event."""
    good, bad = (
        post(Emulator(), stream=True),
        post(Emulator(), stream=True, fault=f"{fault}; after=3"),
    )
    assert (bad.status, bad.pieces[:3]) == (200, good.pieces[:3])
    return list(bad.pieces[3:])


def test_streams_that_break() -> None:
    good = list(post(Emulator(), stream=True).pieces[3:])
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert (
        broken("error")
        == broken("error; status=529")
        == [b"event: error\ndata: " + json.dumps(error).encode() + b"\n\n"]
    )
    assert json.loads(broken("error-bare; status=500")[0]) == {
        "type": "error",
        "error": {"type": "api_error", "message": "Internal server error"},
    }
    assert broken("cut") == [Cut()]
    assert broken("reset") == [Reset()]
    assert broken("end") == []
    assert broken("stall; seconds=7") == [Pause(7.0), *good]
    assert broken("garbage") == [b"event: content_block_delta\ndata: {not json\n\n", *good]


# --- over HTTP ------------------------------------------------------------------------------------


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(
        transport=EmulatorTransport(), base_url="https://api.anthropic.com", headers=KEY
    ) as client:
        yield client


def test_over_http(http: httpx.Client) -> None:
    body = {"model": MODEL, "max_tokens": 100, "messages": [user("hi")]}
    answer = http.post("/v1/messages", json=body)
    assert (
        answer.status_code,
        answer.json()["content"][0]["text"],
        answer.headers["content-type"],
    ) == (200, TEXT, "application/json")
    with http.stream("POST", "/v1/messages?beta=true", json=body | {"stream": True}) as stream:
        lines = [line for line in stream.iter_lines() if line.startswith("event: ")]
    assert (lines[0], lines[-1]) == ("event: message_start", "event: message_stop")
    with pytest.raises(httpx.RemoteProtocolError):
        http.post(
            "/v1/messages", json=body | {"stream": True}, headers={"x-wire-fault": "cut; after=2"}
        )
    assert (
        http.post(
            "/v1/messages", json=body, headers={"x-wire-fault": "429; retry-after=1"}
        ).headers["retry-after"]
        == "1"
    )
