"""Joining text chunks before folding changes nothing of the folded response, in each wire."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.property import sample
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

ABSENT = object()

# A chunk of text, and values that take the place of its own.
VARIANTS: dict[str, tuple[dict[str, Any], list[tuple[str, Any]]]] = {
    "gemini": (
        {"candidates": [{"content": {"parts": [{"text": "Hi "}], "role": "model"}, "index": 0}]},
        [
            *(("candidates.0.content.parts.0.text", text) for text in ("", "\ud83d", "\ude00", 1)),
            *(("candidates.0.content.parts.0.thought", value) for value in (True, False, None)),
            ("candidates.0.content.parts.0.thoughtSignature", "c2ln"),
            ("candidates.0.content.parts.0.new", 1),
            ("candidates.0.content.parts", []),
            ("candidates.0.content.parts", [{"text": "a"}, {"text": "b"}]),
            *(("candidates.0.content.role", value) for value in ("user", None, ABSENT)),
            ("candidates.0.content.new", 1),
            *(("candidates.0.index", value) for value in (1, 0.0, None, ABSENT)),
            ("candidates.0.finishReason", "STOP"),
            ("candidates.0.new", 1),
            ("candidates", []),
            *(("usageMetadata", value) for value in ({}, None, "odd")),
            *(("usageMetadata", {"promptTokenCount": count}) for count in (1, 2)),
            *(("modelVersion", value) for value in ("m", "n", None)),
            ("responseId", "r"),
            ("createTime", "2026-11-01T00:00:00Z"),
            ("new", 1),
        ],
    ),
    "openai": (
        {"id": "c", "created": 1, "choices": [{"index": 0, "delta": {"content": "Hi "}}]},
        [
            *(
                (f"choices.0.delta.{name}", text)
                for name in ("content", "reasoning_content", "reasoning", "reasoning_text")
                for text in ("", "a", "\ud83d", "\ude00", None, ABSENT, [{"type": "text"}], 1)
            ),
            *(("choices.0.delta.role", value) for value in ("assistant", "", None)),
            *(("choices.0.delta.refusal", value) for value in ("no", None)),
            *(
                ("choices.0.delta.tool_calls", value)
                for value in (
                    *(None, [], [{"index": 0, "function": {"name": "f"}}]),
                    *([{"function": {"arguments": text}}] for text in ("{}", ' {"a":', "1}")),
                )
            ),
            ("choices.0.delta.function_call", {"name": "f", "arguments": "{}"}),
            ("choices.0.delta.reasoning_details", [{"type": "t", "text": "r"}]),
            ("choices.0.delta.token_id", 1),
            ("choices.0.text", "Hi "),
            ("choices.0.seed", None),
            ("choices.0.delta.new", 1),
            *(("choices.0.index", value) for value in (1, None, ABSENT)),
            *(("choices.0.finish_reason", value) for value in ("stop", "", None)),
            *(("choices.0.logprobs", value) for value in ({"content": [1]}, None)),
            ("choices.0.message", {"content": "whole"}),
            ("choices.0.new", 1),
            ("choices", []),
            *(("usage", value) for value in ({"prompt_tokens": 1}, {"prompt_tokens": "odd"}, None)),
            *(("id", value) for value in ("d", "", None, ABSENT)),
            ("created", 2),
            *(("obfuscation", value) for value in ("x", "yy")),
            ("new", 1),
        ],
    ),
    "anthropic": (
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "Hi "},
        },
        [
            *(("delta.text", text) for text in ("", "\ud83d", "\ude00", None, 1, ABSENT)),
            ("delta.new", 1),
            ("delta", {"type": "thinking_delta", "thinking": "Hm"}),
            ("delta", {"type": "input_json_delta", "partial_json": '{"a":'}),
            ("delta", {"type": "input_json_delta", "partial_json": "1}"}),
            ("delta", {"type": "signature_delta", "signature": "c2ln"}),
            *(("index", value) for value in (1, None, ABSENT)),
            *(("type", value) for value in ("content_block_stop", "new", ABSENT)),
            ("new", 1),
        ],
    ),
}


def changed(chunk: dict[str, Any], path: str, value: Any) -> bytes:
    """The JSON of the chunk with another value at this path."""
    copied = copy.deepcopy(chunk)
    owner: Any = copied
    *steps, last = path.split(".")
    for step in steps:
        owner = owner[int(step) if step.isdigit() else step]
    owner.pop(last, None)
    if value is not ABSENT:
        owner[last] = value
    return json.dumps(copied).encode()


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
    items = getattr(response, "output", None) or ()
    found = (response, *contents, *messages, *parts, *blocks, *items)
    return [each for each in found if each is not None]


@pytest.mark.sampled
@pytest.mark.parametrize("wire", WIRES)
def test_chunks_with_any_one_difference(wire: str) -> None:
    chunk, variants = VARIANTS[wire]
    pool = [json.dumps(chunk).encode(), *(changed(chunk, *each) for each in variants)]
    for one, other in sample(list(itertools.product(pool, repeat=2))):
        same(wire, [one, one, other])
        same(wire, [one, other, other])


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
