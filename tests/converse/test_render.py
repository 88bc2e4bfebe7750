"""Neutral requests as requests of Converse, and the answers as neutral replies."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.converse.samples import CLAUDE, NOVA, chat, streams
from tests.joined import joined
from wire import Media, Message, Tool, ToolCall, ToolResult, converse
from wire.converse.fold import fold
from wire.converse.parse import EventReader
from wire.converse.reader import ChunkReader, parse_answer
from wire.errors import RuleError
from wire.neutral.events import events_of
from wire.neutral.messages import Done
from wire.neutral.request import Output, Request
from wire.neutral.serving import ReceivedRequest, ResponseHead

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
TIDE = Tool("tide", "The tide.", {"type": "object", "properties": {"port": {"type": "string"}}})
FACT: dict[str, Any] = {
    "type": "object",
    "properties": {"fact": {"type": "string"}},
    "required": ["fact"],
}
FACT["additionalProperties"] = False
HI = Message.user("Hi")


def rendered(*messages: Message, model: str = NOVA, **settings: Any) -> tuple[Any, list[str]]:
    """The body of a request, and the paths of its notes."""
    request = Request(messages=messages or (HI,), **settings)
    sent = converse.render_request(request, model)
    body = json.loads(converse.converse(model, sent).body)
    with chat(model) as asker:
        call = asker.call(messages=list(messages or (HI,)), **settings)
    assert json.loads(call.body) == body
    return body, [note.path for note in call.notes]


def test_a_conversation() -> None:
    calls = [
        ToolCall(id="call one", name="tide", arguments={"port": "Brest"}),
        ToolCall(id="b", name="tide", arguments={}),
    ]
    body, notes = rendered(
        Message.user("What is it?", Media(data=PNG, media_type="image/png")),
        Message.assistant("I look.", *calls),
        Message.tool_response(
            ToolResult("call one", "tide", {"at": 5}), ToolResult("b", "tide", "none", error=True)
        ),
        Message.user("Thanks."),
        system="Be brief.",
        tools=(TIDE,),
        tool_choice="required",
        max_tokens=99,
        temperature=0.5,
        top_p=0.25,
        stop=("END",),
    )
    assert body["system"] == [{"text": "Be brief."}]
    assert body["inferenceConfig"] == {
        "maxTokens": 99, "temperature": 0.5, "topP": 0.25, "stopSequences": ["END"]
    }  # fmt: skip
    assert body["toolConfig"]["toolChoice"] == {"any": {}}
    [spec] = body["toolConfig"]["tools"]
    assert spec["toolSpec"]["inputSchema"] == {"json": TIDE.parameters}
    asked, own, answered = body["messages"]
    assert [next(iter(each)) for each in asked["content"]] == ["text", "image"]
    [said, first, second] = own["content"]
    assert (said, second["toolUse"]["input"]) == ({"text": "I look."}, {})
    # The id that the server refuses is another, in both places.
    [one, two, thanks] = answered["content"]
    assert first["toolUse"]["toolUseId"] == one["toolResult"]["toolUseId"] != "call one"
    assert one["toolResult"]["content"] == [{"json": {"at": 5}}]
    assert (two["toolResult"]["status"], thanks) == ("error", {"text": "Thanks."})
    assert len(notes) == 1


def test_documents_get_legal_names_once_each() -> None:
    pdf = b"%PDF-1.7"
    body, _ = rendered(
        Message.user(
            Media(data=pdf, media_type="application/pdf", name="tides (2).v1.pdf"),
            Media(data=pdf, media_type="application/pdf", name="tides (2).v1.pdf"),
            Media(data=b"Ebb.", media_type="text/plain"),
        )
    )
    blocks = body["messages"][0]["content"]
    names = [block["document"]["name"] for block in blocks if "document" in block]
    assert len(set(names)) == 3
    # A text has to stand beside documents.
    assert [block for block in blocks if "text" in block]
    assert converse.check(body, NOVA) == []


@joined(
    ("effort", "model", "further"),
    [
        ("high", "amazon.nova-2-lite-v1:0", {"reasoningConfig"}),
        ("low", "openai.gpt-oss-120b-1:0", {"reasoning_effort"}),
        ("high", "us.anthropic.claude-sonnet-4-6", {"thinking", "output_config"}),
        ("high", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", {"thinking"}),
    ],
)
def test_the_effort_has_the_form_of_the_model(effort: str, model: str, further: set[str]) -> None:
    body, _ = rendered(model=model, effort=effort)
    assert set(body["additionalModelRequestFields"]) == further


def test_an_effort_that_a_model_has_not_is_noted() -> None:
    body, notes = rendered(model="meta.llama3-1-70b-instruct-v1:0", effort="high")
    assert ("additionalModelRequestFields" in body, notes) == (False, ["effort"])


def test_what_the_wire_has_no_word_for_is_noted() -> None:
    body, notes = rendered(tools=(TIDE,), tool_choice="none")
    assert notes == ["tool_choice"]
    assert "toolConfig" not in body or "toolChoice" not in body["toolConfig"]


def test_a_schema_of_the_answer() -> None:
    body, notes = rendered(model=CLAUDE, output=Output(FACT, "fact", strict=True))
    form = body["outputConfig"]["textFormat"]
    assert json.loads(form["structure"]["jsonSchema"]["schema"])["required"] == ["fact"]
    assert notes == []


def test_cache_points() -> None:
    asked = Message.user("a", cache=True)
    body, _ = rendered(asked, model=CLAUDE, system="s", tools=(TIDE,), caching="auto")
    assert body["messages"][0]["content"][-1] == {"cachePoint": {"type": "default"}}
    # The one behind the system text keeps the tools, too.
    assert body["system"][-1] == {"cachePoint": {"type": "default"}}
    body, _ = rendered(asked, model=CLAUDE, tools=(TIDE,), caching="long")
    assert body["toolConfig"]["tools"][-1] == {"cachePoint": {"type": "default", "ttl": "1h"}}
    body, _ = rendered(Message.user("a"), model=CLAUDE)
    assert "cachePoint" not in json.dumps(body)


def test_a_url_is_refused_with_its_path() -> None:
    picture = Media(url="https://example.com/a.png", media_type="image/png")
    with pytest.raises(RuleError) as caught:
        rendered(Message.user("a", picture))
    assert "messages[0]" in caught.value.violations[0].path


# --- answers --------------------------------------------------------------------------------------

HEAD = ResponseHead(id="1", model="m", created=0)
STREAMS = pytest.mark.parametrize("name", streams())


def read(body: bytes) -> tuple[list[Any], Any]:
    """The neutral events of a stream, and the reply."""
    reader, source = ChunkReader(), EventReader(provider="bedrock", model=NOVA)
    chunks = [*reader.feed(body), *reader.close()]
    assert reader.error is None
    reply = converse.parse_reply(fold(chunks), provider="bedrock", model=NOVA)
    events = [event for chunk in chunks for event in source.feed(chunk)]
    return [*events, *source.close(reply)], reply


@STREAMS
def test_a_stream_is_told_once_and_whole(name: str) -> None:
    events, reply = read(streams()[name])
    assert events[-1] == Done(reply)
    said = "".join(event.text for event in events if type(event).__name__ == "TextDelta")
    assert said == reply.text
    calls = [event.call for event in events if type(event).__name__ == "ToolCallEnd"]
    assert tuple(calls) == reply.tool_calls


@STREAMS
def test_a_reply_that_is_written_again_says_the_same(name: str) -> None:
    _, reply = read(streams()[name])
    asked = Request(messages=(HI,))
    received = ReceivedRequest(request=asked, thoughts=True)
    whole = parse_answer(converse.render_reply(reply, received, HEAD))
    writer = converse.ReplyWriter(received, HEAD)
    streamed = b"".join(map(writer.feed, events_of(reply)))
    again = converse.parse_reply(whole, provider="bedrock", model=NOVA)
    _, other = read(streamed)
    for each in (again, other):
        assert (each.text, each.tool_calls) == (reply.text, reply.tool_calls)
        # A client knows the words of its API alone.
        assert each.stop.reason == ("end" if reply.stop.reason == "other" else reply.stop.reason)
        assert each.usage == reply.usage


def both_ways(body: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The reply of an answer, and the same one after it was written whole and as frames."""
    answer = parse_answer(json.dumps(body).encode())
    reply = converse.parse_reply(answer, provider="bedrock", model=NOVA)
    whole = parse_answer(converse.render_reply(reply))
    _, streamed = read(converse.render_reply(reply, stream=True))
    return reply, converse.parse_reply(whole, provider="bedrock", model=NOVA), streamed


def test_what_a_guardrail_says_is_written_again() -> None:
    content = [{"text": "The capital of {ADDRESS}."}]
    trace = {"guardrail": {"actionReason": "Guardrail masked."}}
    body = {
        "output": {"message": {"content": content, "role": "assistant"}},
        "stopReason": "guardrail_intervened",
        "trace": trace,
    }
    for each in both_ways(body):
        assert (each.stop.reason, each.stop.message) == ("filter", "Guardrail masked.")


def test_reasoning_without_a_text_is_a_block_of_a_stream_too() -> None:
    content = [{"reasoningContent": {}}, {"text": "Hi."}]
    message = {"content": content, "role": "assistant"}
    for each in both_ways({"output": {"message": message}, "stopReason": "end_turn"}):
        assert [(type(part).__name__, part.text) for part in each.message.parts] == [
            ("Thought", ""),
            ("Text", "Hi."),
        ]


def test_thoughts_go_back_as_they_came() -> None:
    _, reply = read(streams()["stream-reasoning"])
    body, notes = rendered(HI, reply.message, Message.user("And?"), model=NOVA)
    [thought, hidden, said] = body["messages"][1]["content"]
    signed = {"text": "A tide.", "signature": "c2lnbmVk"}
    assert thought == {"reasoningContent": {"reasoningText": signed}}
    assert hidden == {"reasoningContent": {"redactedContent": "b3BhcXVl"}}
    assert (said, notes) == ({"text": "High."}, [])
    # Another model could not verify them.
    body, notes = rendered(HI, reply.message, Message.user("And?"), model=CLAUDE)
    assert body["messages"][1]["content"] == [{"text": "High."}]
    assert len(notes) == 2
