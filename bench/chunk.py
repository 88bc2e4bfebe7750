"""Measures what a chunk costs between its bytes and its reader: `python bench/chunk.py`.

No socket takes part. Each figure is CPU time a chunk, in microseconds and as a ratio to `decode`:
msgspec alone that decodes the same chunk to the fields of its text. The ratio is taken inside each
round, and the median of the rounds counts, so that other work on the machine distorts little.
`python bench/chunk.py gemini` measures one wire. `--chunks 100000` sets the length of the streams.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from wire import Chat, anthropic, gemini, openai
from wire.core.account import Account
from wire.core.call import StreamCall
from wire.core.incoming import Incoming
from wire.core.limits import Limits
from wire.core.sse import Decoder

CHUNKS, ROUNDS = 2_000, 15
READ = 64 * 1024
"""Bytes of one read of a socket whose server is faster than its client."""
WORDS = 'the quick brown fox "jumps" over a lazy dog\nwhile seven wizards quietly box in caf\u00e9s'


def texts(count: int) -> Iterator[str]:
    """Texts of ten words, as a server sends them that batches its tokens."""
    words = WORDS.split(" ")
    for number in range(count):
        yield " " + " ".join(words[(number * 7 + each * 3) % len(words)] for each in range(10))


# --- streams --------------------------------------------------------------------------------------


def gemini_stream(count: int) -> Iterator[bytes]:
    """A text, with the usage so far in each chunk."""
    for number, text in enumerate(texts(count), 1):
        candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0}
        chunk = {
            "candidates": [candidate | ({"finishReason": "STOP"} if number == count else {})],
            "usageMetadata": {
                "promptTokenCount": 1204,
                "candidatesTokenCount": 10 * number,
                "totalTokenCount": 1515 + 10 * number,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1204}],
                "thoughtsTokenCount": 311,
            },
            "modelVersion": "gemini-3.8-flash",
            "responseId": "Zk4raZyDqWQ28oP9vKs2Ak",
        }
        yield b"data: " + encoded(chunk) + b"\r\n\r\n"


def chat_stream(count: int) -> Iterator[bytes]:
    """A text, then the finish reason, the usage and `[DONE]`."""
    common = {
        "id": "chatcmpl-CfA7sYQdQ1mZrT0bq2bX3JcQk1d4F",
        "object": "chat.completion.chunk",
        "created": 1795276800,
        "model": "gpt-5.6",
        "service_tier": "default",
        "system_fingerprint": "fp_aa32b5d1c4",
    }
    choice: dict[str, Any] = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": None}
    for number, text in enumerate(texts(count - 2)):
        delta = {"content": text} | ({"role": "assistant"} if number == 0 else {})
        padding = "abcdefgh"[: number % 8]
        chunk = common | {"choices": [choice | {"delta": delta}], "obfuscation": padding}
        yield b"data: " + encoded(chunk) + b"\n\n"
    yield b"data: " + encoded(common | {"choices": [choice | {"finish_reason": "stop"}]}) + b"\n\n"
    usage = {"prompt_tokens": 1204, "completion_tokens": 10 * count}
    yield b"data: " + encoded(common | {"choices": [], "usage": usage}) + b"\n\ndata: [DONE]\n\n"


def messages_stream(count: int) -> Iterator[bytes]:
    """A text in one block."""
    message = {"id": "msg_01XyVfQ", "type": "message", "role": "assistant", "content": []}
    yield named({"type": "message_start", "message": {**message, "model": "claude-opus-4-8"}})
    block = {"type": "text", "text": ""}
    yield named({"type": "content_block_start", "index": 0, "content_block": block})
    for text in texts(count - 5):
        delta = {"type": "text_delta", "text": text}
        yield named({"type": "content_block_delta", "index": 0, "delta": delta})
    yield named({"type": "content_block_stop", "index": 0})
    usage = {"output_tokens": 10 * count}
    yield named({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage})
    yield named({"type": "message_stop"})


def responses_stream(count: int) -> Iterator[bytes]:
    """A text in one item."""
    response = {"id": "resp_01", "object": "response", "status": "in_progress", "output": []}
    item = {"id": "msg_01", "type": "message", "role": "assistant", "content": []}
    yield named({"type": "response.created", "response": response, "sequence_number": 0})
    yield named({"type": "response.output_item.added", "output_index": 0, "item": item})
    for number, text in enumerate(texts(count - 3), 1):
        delta = {
            "type": "response.output_text.delta",
            "item_id": "msg_01",
            "output_index": 0,
            "content_index": 0,
            "delta": text,
            "logprobs": [],
            "sequence_number": number,
            "obfuscation": "abcdefgh"[: number % 8],
        }
        yield named(delta)
    content = [{"type": "output_text", "text": "".join(texts(count - 3))}]
    whole = response | {"status": "completed", "output": [item | {"content": content}]}
    yield named({"type": "response.completed", "response": whole})


def encoded(value: Any) -> bytes:
    """As vendors encode: one line, characters as UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def named(value: dict[str, Any]) -> bytes:
    """An event with its type as its name."""
    return b"event: %s\ndata: %s\n\n" % (value["type"].encode(), encoded(value))


def reads(body: bytes) -> list[bytes]:
    """The body as a fast server's socket gives it."""
    return [body[at : at + READ] for at in range(0, len(body), READ)]


def packets(events: Sequence[bytes]) -> list[bytes]:
    """The body as HTTP delivers it: one to three events in a piece, and a quarter of the pieces end
    in the middle of an event.
    """
    random_ = random.Random(1)
    body, ends = b"".join(events), list(itertools.accumulate(map(len, events)))
    cuts, number = [0], 0
    while number < len(ends):
        number = min(number + random_.choice((1, 1, 2, 2, 3)), len(ends))
        inside = number < len(ends) and random_.random() < 0.25
        cuts.append(ends[number - 1] + (len(events[number]) // 2 if inside else 0))
    return [body[start:end] for start, end in itertools.pairwise(cuts)]


# --- the least that decodes a chunk ---------------------------------------------------------------


class Named(msgspec.Struct, rename="camel"):
    """Base of the structs that hold what a reader of texts needs."""


class GeminiPart(Named):
    """A part of a Gemini chunk."""

    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: dict[str, Any] | None = None


class GeminiContent(Named):
    """The content of a Gemini candidate."""

    parts: list[GeminiPart] = []
    role: str = ""


class GeminiCandidate(Named):
    """A candidate of a Gemini chunk."""

    content: GeminiContent | None = None
    finish_reason: str | None = None
    index: int = 0


class GeminiTokens(Named):
    """The tokens of one modality."""

    modality: str = ""
    token_count: int = 0


class GeminiUsage(Named):
    """The usage in a Gemini chunk."""

    prompt_token_count: int = 0
    candidates_token_count: int = 0
    total_token_count: int = 0
    thoughts_token_count: int = 0
    prompt_tokens_details: list[GeminiTokens] = []


class GeminiChunk(Named):
    """A Gemini chunk."""

    candidates: list[GeminiCandidate] = []
    usage_metadata: GeminiUsage | None = None
    model_version: str = ""
    response_id: str = ""


class ChatDelta(msgspec.Struct):
    """A delta of chat completions."""

    role: str | None = None
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class ChatChoice(msgspec.Struct):
    """A choice of chat completions."""

    index: int = 0
    delta: ChatDelta | None = None
    finish_reason: str | None = None


class ChatChunk(msgspec.Struct):
    """A chunk of chat completions."""

    id: str = ""
    model: str = ""
    created: int = 0
    choices: list[ChatChoice] = []
    usage: dict[str, Any] | None = None


class MessagesDelta(msgspec.Struct):
    """A delta of Messages."""

    type: str = ""
    text: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class MessagesEvent(msgspec.Struct):
    """An event of Messages."""

    type: str
    index: int = 0
    delta: MessagesDelta | None = None
    message: dict[str, Any] | None = None
    content_block: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None


class ResponsesEvent(msgspec.Struct):
    """An event of Responses."""

    type: str
    sequence_number: int = 0
    item_id: str = ""
    output_index: int = 0
    content_index: int = 0
    delta: str | None = None
    item: dict[str, Any] | None = None
    response: dict[str, Any] | None = None


def split(pieces: Sequence[bytes], blank: bytes) -> Iterator[bytes]:
    """The least that finds the events of a well-formed stream: no standard, no limit."""
    rest = b""
    for piece in pieces:
        *events, rest = (rest + piece).split(blank)
        for event in events:
            yield event[event.find(b"data: ") + 6 :]


# --- stages ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """One wire: its stream, its calls, and the struct that holds the least of a chunk."""

    stream: Callable[[int], Iterator[bytes]]
    blank: bytes
    least: type[msgspec.Struct]
    full: type[msgspec.Struct]
    raw: Callable[[], StreamCall[Any, Any]]
    model: str


def raw_gemini() -> StreamCall[Any, Any]:
    """A call of the raw door."""
    request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
    return gemini.stream_generate_content("gemini-3.8-flash", request)


def raw_chat() -> StreamCall[Any, Any]:
    """A call of the raw door."""
    request = openai.ChatCompletionRequest(model="gpt-5.6", messages=openai.messages("Hi"))
    return openai.stream_chat_completions(request)


def raw_messages() -> StreamCall[Any, Any]:
    """A call of the raw door."""
    turns = [anthropic.Message(role="user", content="Hi")]
    request = anthropic.MessageRequest(model="claude-opus-4-8", max_tokens=9, messages=turns)
    return anthropic.stream_message(request)


def raw_responses() -> StreamCall[Any, Any]:
    """A call of the raw door."""
    return openai.responses.stream_response(
        openai.responses.ResponseRequest(model="gpt-5.6", input="Hi")
    )


SUBJECTS = {
    "gemini": Subject(
        gemini_stream,
        b"\r\n\r\n",
        GeminiChunk,
        gemini.GenerateContentResponse,
        raw_gemini,
        "gemini:gemini-3.8-flash",
    ),
    "chat": Subject(
        chat_stream,
        b"\n\n",
        ChatChunk,
        openai.ChatCompletionChunk,
        raw_chat,
        "openai:gpt-4.1",
    ),
    "messages": Subject(
        messages_stream,
        b"\n\n",
        MessagesEvent,
        anthropic.MessageStreamEvent,
        raw_messages,
        "anthropic:claude-opus-4-8",
    ),
    "responses": Subject(
        responses_stream,
        b"\n\n",
        ResponsesEvent,
        openai.responses.StreamEvent,
        raw_responses,
        "openai:gpt-5.6",
    ),
}
"""Name of a wire to what is measured of it."""

STAGES = {
    "decode": "msgspec alone, to the fields that a reader of texts needs",
    "split and decode": "with the least that splits the events: what no client can go below",
    "decode to the full struct": "msgspec alone, to the struct of the raw door",
    "SSE": "the decoder of events alone",
    "one by one": "events found, each decoded to its full struct and checked, its bytes attached",
    "raw door": "chunks handed out as full structs, their bytes kept for the result",
    "raw door with result": "the same, and the complete response folded at the end",
    "neutral door": "events in place of chunks, with the reply in the last one",
    "raw door, packets": "the raw door, where each piece has one to three events",
    "neutral door, packets": "the neutral door, where each piece has one to three events",
}
"""Name of a stage to what it includes. All but the last two read pieces of 64 KiB. The doors cost
less than `one by one`, because they recognise a chunk that repeats the one before with another
text.
"""


def stages(subject: Subject, count: int) -> dict[str, Callable[[], object]]:
    """What runs each stage once over a stream of so many chunks."""
    events = list(subject.stream(count))
    body = b"".join(events)
    pieces, small_pieces, blank = reads(body), packets(events), subject.blank
    values = [each for each in split([body], blank) if each != b"[DONE]"]
    least = msgspec.json.Decoder(subject.least).decode
    full = msgspec.json.Decoder(subject.full).decode
    raw = subject.raw()
    neutral = Chat(subject.model, api_key="fake-key").stream_call("Hi")

    def split_and_decode() -> None:
        for each in split(pieces, blank):
            if each != b"[DONE]":
                least(each)

    def sse() -> None:
        decoder = Decoder()
        for piece in pieces:
            for _ in decoder.feed(piece):
                pass

    def read() -> None:
        reader = raw.reader(Limits())
        for piece in pieces:
            for _ in reader.feed(piece):
                pass
        reader.close()

    def door(call: StreamCall[Any, Any], result: bool, pieces: list[bytes] = pieces) -> None:
        incoming: Incoming[Any, Any] = Incoming(call, "", Limits(), Account(), lambda error: error)
        for piece in pieces:
            incoming.feed(piece)
            ready = incoming.ready
            while ready:
                ready.popleft()
        incoming.end()
        incoming.check()
        if result:
            incoming.result()

    return {
        "decode": lambda: [None for each in values if least(each) is None],
        "split and decode": split_and_decode,
        "decode to the full struct": lambda: [None for each in values if full(each) is None],
        "SSE": sse,
        "one by one": read,
        "raw door": lambda: door(raw, False),
        "raw door with result": lambda: door(raw, True),
        "neutral door": lambda: door(neutral, True),
        "raw door, packets": lambda: door(raw, False, small_pieces),
        "neutral door, packets": lambda: door(neutral, True, small_pieces),
    }


@dataclass(frozen=True)
class Figure:
    """What a stage costs a chunk."""

    microseconds: float
    ratio: float
    """To `decode`."""


def measured(name: str, count: int = CHUNKS, rounds: int = ROUNDS) -> dict[str, Figure]:
    """The figures of the stages of one wire."""
    runs = stages(SUBJECTS[name], count)
    seconds: dict[str, list[float]] = {stage: [] for stage in runs}
    for _ in range(rounds + 1):
        for stage, run in runs.items():
            gc.collect()
            begun = time.process_time()
            run()
            seconds[stage].append(time.process_time() - begun)
    base = seconds["decode"][1:]  # the first round builds decoders
    return {
        stage: Figure(
            statistics.median(times[1:]) * 1e6 / count,
            statistics.median(each / one for each, one in zip(times[1:], base, strict=True)),
        )
        for stage, times in seconds.items()
    }


def table(figures: dict[str, dict[str, Figure]]) -> str:
    """The figures as a table: a row for each stage, a column for each wire."""
    lines = [
        "| stage | " + " | ".join(figures) + " |",
        "|---|" + "---|" * len(figures),
    ]
    for stage in STAGES:
        cells = (
            f"{each[stage].microseconds:.1f} us, {each[stage].ratio:.1f}x"
            for each in figures.values()
        )
        lines.append(f"| {stage} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="CPU time of a chunk, stage by stage.")
    parser.add_argument(
        "wires", nargs="*", default=list(SUBJECTS), help="of " + ", ".join(SUBJECTS)
    )
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    print(table({name: measured(name, options.chunks, options.rounds) for name in options.wires}))


if __name__ == "__main__":
    main()
