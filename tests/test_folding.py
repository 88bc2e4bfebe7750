"""Joining text chunks before folding changes nothing of the folded response, in each wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wire.anthropic import fold as anthropic
from wire.core.chunk_bytes import ChunkBytes, TextChunk
from wire.core.memory import WireStruct
from wire.core.sse import Decoder
from wire.gemini import fold as gemini
from wire.openai.chat import fold as chat

FIXTURES = Path(__file__).parent / "fixtures"
Fold = Callable[[Sequence[msgspec.Raw]], WireStruct]

WIRES: dict[str, tuple[Fold, type[TextChunk]]] = {
    "gemini": (gemini.fold, gemini.TextChunk),
    "openai": (chat.fold, chat.TextChunk),
    "anthropic": (anthropic.fold, anthropic.TextEvent),
}

TEXTS = ("", "a", " b\n", "\u00e9", "\U0001f600", "\ud83d", "\ude00")


def some(**values: Sequence[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with any of these keys."""
    return st.fixed_dictionaries(
        {}, optional={key: st.sampled_from(each) for key, each in values.items()}
    )


def inside(key: str, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with one key."""
    return inner.map(lambda value: {key: value})


def both(
    one: st.SearchStrategy[dict[str, Any]], other: st.SearchStrategy[dict[str, Any]]
) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with the keys of both."""
    return st.tuples(one, other).map(lambda pair: {**pair[0], **pair[1]})


part = st.one_of(
    some(text=TEXTS),
    some(text=TEXTS, thought=(True, False, None)),
    some(text=TEXTS, thoughtSignature=("c2ln",), new=(1,)),
)
content = both(
    some(role=("model", "user", None), new=(1,)),
    inside("parts", st.lists(part, max_size=2)),
)
candidate = both(
    some(index=(0, 1, 0.0, None), finishReason=("STOP", None), new=({}, 1)),
    inside("content", content),
)
gemini_chunk = both(
    some(
        usageMetadata=({}, None, {"promptTokenCount": 1}, {"promptTokenCount": 2}, "odd"),
        modelVersion=("m", "n", None),
        responseId=("a",),
        new=(1,),
    ),
    inside("candidates", st.lists(candidate, max_size=2)),
)
delta = some(
    content=(*TEXTS, None, [{"type": "text", "text": "l"}]),
    reasoning_content=(*TEXTS, None),
    reasoning=("r", None),
    reasoning_text=("t",),
    role=("assistant", "", None),
    refusal=(None, "no"),
    tool_calls=(None, [], [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]),
    new=(1,),
)
choice = both(
    some(
        index=(0, 1, None),
        finish_reason=(None, "stop", ""),
        logprobs=(None, {"content": [1]}),
        message=({"content": "whole"},),
        new=(1,),
    ),
    inside("delta", st.one_of(delta, some(content=TEXTS))),
)
chat_chunk = both(
    some(
        id=("a", "b", None, ""),
        created=(1, 2),
        model=("m", ""),
        usage=(None, {"prompt_tokens": 1}, {"prompt_tokens": "odd"}),
        obfuscation=("x", "yy"),
        new=(1,),
    ),
    inside("choices", st.lists(choice, max_size=2)),
)
event_delta = st.one_of(
    some(type=("text_delta",), text=TEXTS, new=(1,)),
    some(type=("thinking_delta",), thinking=TEXTS),
    some(type=("input_json_delta",), partial_json=('{"a":', "1}", "")),
    some(type=("signature_delta",), signature=("c2ln",)),
)
event = st.one_of(
    both(
        st.just({"type": "content_block_delta"}),
        both(some(index=(0, 1), new=(1,)), inside("delta", event_delta)),
    ),
    st.sampled_from(
        [
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_start", "message": {"id": "m"}},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        ]
    ),
)
CHUNKS = {"gemini": gemini_chunk, "openai": chat_chunk, "anthropic": event}


def joined(wire: str, chunks: Sequence[bytes]) -> list[msgspec.Raw]:
    """The chunks as a stream keeps them."""
    kept = ChunkBytes(WIRES[wire][1])
    for chunk in chunks:
        kept.add(msgspec.Raw(chunk))
    return kept.all()


def same(wire: str, chunks: Sequence[bytes]) -> None:
    """Compare the two folds, and all that their responses and the parts of them remember."""
    fold = WIRES[wire][0]
    one, other = fold(joined(wire, chunks)), fold([msgspec.Raw(chunk) for chunk in chunks])
    assert one == other
    assert [json.loads(each.raw or b"null") for each in remembering(one)] == [
        json.loads(each.raw or b"null") for each in remembering(other)
    ]


def remembering(response: Any) -> list[WireStruct]:
    """The response and the messages, contents or blocks in it that are sent back."""
    contents = [each.content for each in getattr(response, "candidates", None) or ()]
    messages = [each.message for each in getattr(response, "choices", None) or ()]
    parts = [part for each in contents if each is not None for part in each.parts or ()]
    blocks = getattr(response, "content", None) or ()
    return [each for each in (response, *contents, *messages, *parts, *blocks) if each is not None]


@pytest.mark.parametrize("wire", WIRES)
def test_generated_streams(wire: str) -> None:
    @settings(max_examples=150, deadline=None)
    @given(st.lists(CHUNKS[wire].map(lambda chunk: json.dumps(chunk).encode()), max_size=8))
    def check(chunks: list[bytes]) -> None:
        same(wire, chunks)

    check()


def recorded(wire: str) -> list[bytes]:
    """The bodies of the project's own streams."""
    bodies = [path.read_bytes() for path in sorted((FIXTURES / wire).rglob("*.sse"))]
    for path in sorted((FIXTURES / wire).rglob("streams.jsonl")):
        bodies += [json.loads(line)["sse"].encode() for line in path.read_text().splitlines()]
    return bodies


@pytest.mark.parametrize("wire", WIRES)
def test_recorded_streams(wire: str) -> None:
    shorter = 0
    for body in recorded(wire):
        decoder = Decoder(10_000_000)
        events = [*decoder.feed(body), *decoder.close()]
        chunks = [each.data for each in events if each.data[:1] == b"{"]
        same(wire, chunks)
        shorter += len(joined(wire, chunks)) < len(chunks)
    assert shorter >= 2  # streams in which chunks were joined


@pytest.mark.parametrize(
    ("wire", "chunk", "other"),
    [
        (
            "gemini",
            b'{"candidates":[{"content":{"parts":[{"text":"Hi "}],"role":"model"},"index":0}],'
            b'"usageMetadata":{"promptTokenCount":3},"modelVersion":"m","responseId":"r"}',
            b'{"candidates":[{"content":{"parts":[{"text":"Hi "}]},"finishReason":"STOP"}]}',
        ),
        (
            "openai",
            b'{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":'
            b'[{"index":0,"delta":{"content":"Hi "},"logprobs":null,"finish_reason":null}]}',
            b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
        ),
        (
            "anthropic",
            b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi "}}',
            b'{"type":"content_block_stop","index":0}',
        ),
    ],
    ids=WIRES,
)
def test_a_long_text_is_two_chunks_to_fold(wire: str, chunk: bytes, other: bytes) -> None:
    kept = joined(wire, [*([chunk] * 5000), other])
    assert len(kept) == 2
    assert bytes(kept[0]).count(b"Hi ") == 5000
    assert len(bytes(kept[0])) < len(chunk) + 3 * 5000
    same(wire, [*([chunk] * 50), other])
