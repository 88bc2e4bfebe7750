"""Chunks that are recognised by their bytes give what they give when each one is decoded."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
import pytest

import wire
from tests.joined import joined
from tests.property import ALL, sample
from wire import Chat, anthropic, gemini, openai
from wire.core.account import Account
from wire.core.call import StreamCall
from wire.core.chunk_bytes import ChunkBytes, RawValue
from wire.core.incoming import Incoming
from wire.core.limits import Limits
from wire.core.memory import encode
from wire.errors import WireError
from wire.neutral.messages import Done

SEEDS = range(40 if ALL else 8)

TEXTS = (
    b'"Hi"',
    b'" there"',
    b'""',
    b'"a \\"quoted\\" text"',
    b'"line\\nend\\r\\t\\\\"',
    b'"\\"}}"',
    b'"\\"}],\\"role\\":\\"model\\"}"',
    b'"data: x"',
    '"caf\u00e9 \u2028 \U0001f600"'.encode(),
    b'"\\ud83d\\ude00"',
    b'"%s"' % (b"x" * 700),
)
ODD_TEXTS = (
    *(b'"\\ud83d"', b'"\\ude00"', b"null", b"1", b'"\xff"', b'"a","b"', b'"a"} ,{"b"', b'"a\\"'),
    *(b"[", b'"a\tb"', b'"a" ', b'"a\rb"', b'"a\nb"', b'"a"],["b"', b'"a","usage":7,"x":"b"', b'"'),
    *(b'","d"', b'"],["x"', b'"]"'),
)
USAGES = tuple(b'{"promptTokenCount":%d}' % count for count in range(9))
ODD_USAGES = (
    *(b"{}", b"null", b"7", b'{"a":[{"b":"\\n"}]}', b'{"promptTokenCount":"many"}', b"[[", b"]]"),
    *(b'{"a":\n1}', b'{"a":\r1}', b'{"k":[[', b"1]]}", b'{"a":1},"x":2', b'{"a":1}],["x",{"b":2}'),
    *(b'[["', b'"]]', b'"', b'"a"', b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", b"[" * 600),
)
NUMBERS = (b"1", b"12", b"345")
ODD_NUMBERS = (b"null", b"07", b"5 ", b"5\r", b"1.5", b'"5"', b"-3", b"9" * 700, b"1,2", b"1],[2")


def one(rng: random.Random, usual: Sequence[bytes], odd: Sequence[bytes], share: float) -> bytes:
    return rng.choice(odd if rng.random() < share else usual)


def gemini_chunk(rng: random.Random, kind: int, odd: float) -> bytes:
    thought = b',"thought":true' if kind == 1 else b""
    return (
        b'{"candidates":[{"content":{"parts":[{"text":%s%s}],"role":"model"},"index":%d}],'
        b'"usageMetadata":%s,"modelVersion":"m"}'
        % (
            one(rng, TEXTS, ODD_TEXTS, odd),
            thought,
            kind == 2,
            one(rng, USAGES, ODD_USAGES, odd),
        )
    )


ARGUMENTS = tuple(
    b'"%s"' % each
    for each in (b' {\\"a\\":', b"1}", b' {\\"a\\":1}', b" ", b',\\"b\\":', b"1} ", b"")
)
PIECES = (
    b'{"index":0,"function":{"arguments":%s}}',
    b'{"id":"","type":"function","function":{"arguments":%s,"name":""}}',
    b'{"index":0,"id":"c","function":{"arguments":%s}}',
    b'{"index":0,"function":{"arguments":%s,"name":"f"}}',
)
ODD_PIECES = (
    *PIECES,
    b'{"index":1,"id":"d","function":{"name":"g","arguments":%s}}',
    b'{"index":0,"custom":{"input":%s}}',
    b'{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":%s}}',
    b'{"index":0,"new":1,"function":{"arguments":%s}}',
)


def arguments_chunk(rng: random.Random, kind: int, odd: float) -> bytes:
    """A piece of the arguments of a call, which they or a part of them may repeat."""
    piece = one(rng, PIECES[kind : kind + 1], ODD_PIECES, odd)
    arguments = one(rng, ARGUMENTS[: 3 + rng.randrange(5)], ODD_TEXTS, odd / 2)
    return b'{"choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}' % (piece % arguments)


def chat_chunk(rng: random.Random, kind: int, odd: float) -> bytes:
    key = (b"content", b"reasoning_content", b"content", b"reasoning")[kind]
    padding = b',"obfuscation":%s' % one(rng, TEXTS, ODD_TEXTS, odd) if kind < 2 else b""
    again = b'"text":%s,' % one(rng, TEXTS, ODD_TEXTS, odd) if kind == 3 else b""
    return b'{"id":"c","choices":[{"index":%d,%s"delta":{"%s":%s}}]%s}' % (
        kind == 2,
        again,
        key,
        one(rng, TEXTS, ODD_TEXTS, odd),
        padding,
    )


def messages_chunk(rng: random.Random, kind: int, odd: float) -> bytes:
    type_, key = (
        (b"text_delta", b"text"),
        (b"thinking_delta", b"thinking"),
        (b"input_json_delta", b"partial_json"),
        (b"text_delta", b"text"),
    )[kind]
    return b'{"type":"content_block_delta","index":%d,"delta":{"type":"%s","%s":%s}}' % (
        kind % 3 if rng.random() < 0.9 else 1,
        type_,
        key,
        one(rng, TEXTS, ODD_TEXTS, odd),
    )


def responses_chunk(rng: random.Random, kind: int, odd: float) -> bytes:
    type_ = (
        b"response.output_text.delta",
        b"response.reasoning_summary_text.delta",
        b"response.function_call_arguments.delta",
        b"response.mcp_call_arguments.delta",
    )[kind]
    return (
        b'{"type":"%s","output_index":%d,"content_index":0,"delta":%s,"sequence_number":%s,'
        b'"obfuscation":%s}'
        % (
            type_,
            kind,
            one(rng, TEXTS, ODD_TEXTS, odd),
            one(rng, NUMBERS, ODD_NUMBERS, odd),
            one(rng, TEXTS, ODD_TEXTS, odd),
        )
    )


GEMINI_END = b'{"candidates":[{"content":{"parts":[{"text":"."}]},"finishReason":"STOP"}]}'
GEMINI_OTHERS = (
    b'{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"c2ln"}]}}]}',
    b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}',
    b'{"usageMetadata":{"promptTokenCount":99}}',
    b'{"error":{"code":503,"message":"Overloaded."}}',
)
CHAT_END = b'{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'
CHAT_CALLS = (
    b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":'
    b'{"name":"f","arguments":""}}]}}]}',
    b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"d","function":'
    b'{"name":"g","arguments":{}}}]}}]}',
    b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"custom":{"name":"f"}}]}}]}',
    b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"h"}}]}}]}',
)
CHAT_OTHERS = (
    b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":'
    b'{"name":"f","arguments":"{}"}}]}}]}',
    b'{"choices":[],"usage":{"prompt_tokens":9}}',
    b'{"error":{"message":"Overloaded."}}',
    b"[DONE]",
)
MESSAGES_END = b'{"type":"message_stop"}'
MESSAGES_OTHERS = (
    b'{"type":"message_start","message":{"id":"m","content":[]}}',
    b'{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
    b'{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":""}}',
    b'{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","name":"f"}}',
    b'{"type":"content_block_stop","index":0}',
    b'{"type":"ping"}',
    b'{"type":"new","n":1}',
    b'{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
    b'{"type":"error","error":{"message":"Overloaded."}}',
)
RESPONSES_END = b'{"type":"response.completed","response":{"status":"completed"}}'
RESPONSES_OTHERS = (
    b'{"type":"response.created","response":{"id":"r","background":true},"sequence_number":0}',
    b'{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}',
    b'{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call"}}',
    b'{"type":"error","message":"Overloaded."}',
    b'{"type":"response.new"}',
)
WIRES = {
    "gemini": (gemini_chunk, GEMINI_OTHERS, GEMINI_END),
    "openai": (chat_chunk, CHAT_OTHERS, CHAT_END),
    "openai calls": (arguments_chunk, (*CHAT_CALLS, *CHAT_OTHERS), CHAT_END),
    "anthropic": (messages_chunk, MESSAGES_OTHERS, MESSAGES_END),
    "responses": (responses_chunk, RESPONSES_OTHERS, RESPONSES_END),
}
MODELS = {
    "gemini": "gemini:gemini-3.8-flash",
    "openai": "openai:gpt-4.1",
    "openai calls": "openai:gpt-4.1",
    "anthropic": "anthropic:claude-opus-4-8",
    "responses": "openai:gpt-5.6",
}


CHAT_REQUEST = openai.ChatCompletionRequest(model="gpt-4.1", messages=openai.messages("Hi"))


def raw_call(name: str) -> StreamCall[Any, Any]:
    if name == "gemini":
        request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
        return gemini.stream_generate_content("gemini-3.8-flash", request)
    if name.startswith("openai"):
        return openai.stream_chat_completions(CHAT_REQUEST)
    if name == "anthropic":
        turn = anthropic.Message(role="user", content="Hi")
        return anthropic.stream_message(
            anthropic.MessageRequest(model="claude-opus-4-8", max_tokens=9, messages=[turn])
        )
    responses = openai.responses
    return responses.stream_response(responses.ResponseRequest(model="gpt-5.6", input="Hi"))


def stream(name: str, rng: random.Random) -> Iterator[bytes]:
    """The events of a stream: runs of chunks of one kind, and between them everything else."""
    chunk, others, end = WIRES[name]
    newline = rng.choice((b"\n", b"\n", b"\r\n", b"\r\n", b"\r"))
    named = rng.choice((b"", b"", b"event: x"))
    odd = rng.choice((0, 0.02, 0.1))
    for _ in range(rng.randrange(1, 5)):
        kind = rng.randrange(4)
        if rng.random() < 0.3 or name in ("anthropic", "openai calls"):
            yield from (b"data: " + each + newline * 2 for each in rng.sample(others[:-1], 2))
        values = [chunk(rng, kind, 0) for _ in range(3)]
        values += [chunk(rng, kind, odd) for _ in range(rng.choice((0, 1, 3, 9)))]
        if rng.random() < 0.3:
            values.insert(3, rng.choice(others))
        for value in values:
            label = named + newline if named else b""
            if rng.random() < 0.03:
                label = rng.choice((b"event: error", b": ping", b"id: 7", b"x", b"\xff")) + newline
            space = b"" if rng.random() < 0.02 else b" "
            end_of_event = newline * 2 if rng.random() < 0.97 else newline
            yield label + b"data:" + space + value + end_of_event
            if rng.random() < 0.04:
                yield rng.choice(
                    (
                        b": ping\n\n",
                        b"\n",
                        b"retry: 5\n",
                        b"lone\n",
                        b"event: error\n",
                        value,
                        value + b"\n\n",
                    )
                )
    if rng.random() < 0.7:
        yield b"data: " + end + newline + newline


def cuts(body: bytes, rng: random.Random) -> list[bytes]:
    """The body as a network may cut it."""
    if rng.random() < 0.3:
        return [body]
    if rng.random() < 0.3:  # one event at a time, sometimes two
        ends = [match.end() for match in re.finditer(rb"(\r\n|\r|\n)\1", body)]
        ends = [0, *(end for end in ends if rng.random() < 0.8), len(body)]
        return [body[start:end] for start, end in itertools.pairwise(ends)]
    lines = [match.end() for match in re.finditer(rb"[\r\n]", body)]
    positions = [rng.randrange(len(body) + 1) for _ in range(rng.choice((1, 4, 30)))]
    positions += rng.sample(lines, min(len(lines), rng.choice((0, 0, 5, 30))))
    ends = [0, *sorted(positions), len(body)]
    return [body[start:end] for start, end in itertools.pairwise(ends)]


def taken(call: StreamCall[Any, Any], pieces: list[bytes], limits: Limits) -> list[Any]:
    """All that a caller sees of the stream of these bytes."""
    account = Account()
    incoming: Incoming[Any, Any] = Incoming(call, "", limits, account, lambda error: error)
    seen: list[Any] = []
    for piece in pieces:
        incoming.feed(piece)
        while incoming.ready:
            seen.append(incoming.ready.pop())
    incoming.end()
    while incoming.ready:
        seen.append(incoming.ready.pop())
    chunks = [(each, getattr(each, "raw", None)) for each in seen if not isinstance(each, Done)]
    outcome: Any
    try:
        outcome = incoming.result()
    except WireError as error:
        outcome = [type(error), str(error), error.retryable, error.raw]
        try:
            outcome += [incoming.partial(), error.partial, wire.notes(incoming.partial())]
        except WireError as other:
            outcome.append(str(other))
    else:
        outcome = [outcome, wire.notes(outcome), getattr(outcome, "raw", None)]
    number = getattr(incoming._reader, "last_number", None)
    reply = getattr(incoming._events, "reply", lambda: None)()
    return [chunks, outcome, incoming.events, account.events, number, reply]


@pytest.mark.sampled
@pytest.mark.parametrize("limits", [Limits(), Limits(events=9, event=900)], ids=["usual", "low"])
@pytest.mark.parametrize("neutral", [False, True], ids=["raw", "neutral"])
@pytest.mark.parametrize("name", WIRES)
def test_the_same_as_decoding_each(
    name: str, neutral: bool, limits: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = Chat(MODELS[name], api_key="fake-key").stream_call("Hi") if neutral else raw_call(name)
    recognised = 0
    repeats = ChunkBytes.repeats

    def counting(*arguments: Any) -> Any:
        nonlocal recognised
        found = repeats(*arguments)
        recognised += len(found[0])
        return found

    for seed in SEEDS:
        rng = random.Random(f"{name} {seed}")
        body = b"".join(stream(name, rng))
        expected = taken(msgspec.structs.replace(call, text_chunk=None), [body], limits)
        monkeypatch.setattr(ChunkBytes, "repeats", counting)
        for _ in range(3):
            pieces = cuts(body, rng)
            assert taken(call, pieces, limits) == expected, (seed, pieces)
        monkeypatch.undo()
    assert recognised > len(SEEDS)


@pytest.mark.sampled
@joined("piece", PIECES)
def test_every_order_of_pieces_of_arguments(piece: bytes) -> None:
    """Q11: arguments may arrive twice, in one piece or in several, or be those of another call."""
    call = Chat(MODELS["openai"], api_key="fake-key").stream_call("Hi")
    apart = msgspec.structs.replace(call, text_chunk=None)
    chunk = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[%s]}}]}\n\n'
    end = b"data: " + CHAT_END + b"\n\n"
    for arguments in sample(list(itertools.product(ARGUMENTS[:3], repeat=5))):
        body = b"data: " + CHAT_CALLS[0] + b"\n\n"
        body += b"".join(chunk % (piece % each) for each in arguments) + end
        assert taken(call, [body], Limits()) == taken(apart, [body], Limits()), arguments


@joined(
    "choice",
    [
        b'{"index":0,"delta":{"content":"%s"},"logprobs":null,"finish_reason":null}',
        b'{"index":0,"delta":{"content":null,"reasoning_content":"%s"},"finish_reason":null}',
        b'{"index":0,"text":"%s","seed":null,"delta":{"token_id":null,"content":"%s"}}',
        b'{"index":0,"text":"","matched_stop":null,"delta":{"content":"","reasoning":"%s"}}',
        b'{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]}}',
        b'{"delta":{"content":null,"tool_calls":[{"index":1,"id":"","type":"function",'
        b'"function":{"name":"","arguments":"%s"}}]}}',
    ],
)
def test_chunks_of_hosts_of_chat_completions_are_recognised(choice: bytes) -> None:
    kept = ChunkBytes(openai.stream_chat_completions(CHAT_REQUEST).text_chunk)
    texts = [b"a", b"b", b" {", b"", b"e"]
    lines = [
        b'data: {"id":"c","choices":[%s],"usage":null,"obfuscation":"%s"}'
        % (choice.replace(b"%s", text), text)
        for text in texts
    ]
    for each in lines[:2]:
        kept.add(msgspec.Raw(each.removeprefix(b"data: ")))
    assert kept.repeating
    found = kept.repeats(lines[2:], b"", 9)
    assert found == (lines[2:], [" {", "", "e"], b"")


class Chunk(msgspec.Struct, forbid_unknown_fields=True):
    """A chunk with one value of each kind that may change."""

    changing: ClassVar[Mapping[str, Any]] = {"usage": msgspec.Raw, "number": int, "pad": str}
    latest_key: ClassVar[str] = "usage"

    text: str
    usage: RawValue = msgspec.UNSET
    number: RawValue = msgspec.UNSET
    pad: RawValue = msgspec.UNSET

    def split(self) -> tuple[tuple[str], RawValue]:
        """The text and the usage."""
        text, usage = self.text, self.usage
        self.text, self.usage, self.number, self.pad = "", *[msgspec.UNSET] * 3
        is_empty = usage is not msgspec.UNSET and bytes(usage) in (b"{}", b"null")
        return (text,), msgspec.UNSET if is_empty else usage

    def joined(self, columns: Sequence[list[str]], latest: RawValue) -> bytes:
        """The chunk with these texts, joined, and this usage."""
        return msgspec.json.encode(Chunk("".join(columns[0]), latest))

    def text_key(self, position: int) -> str:
        """The key of the text."""
        return "text"


def line(keys: Sequence[str], rng: random.Random, odd: float) -> bytes:
    """The JSON of a `Chunk`."""
    usual = {"text": TEXTS[:2], "usage": USAGES, "number": NUMBERS, "pad": TEXTS}
    others = {"text": ODD_TEXTS, "usage": ODD_USAGES, "number": ODD_NUMBERS, "pad": ODD_TEXTS}
    members = (b'"%s":%s' % (key.encode(), one(rng, usual[key], others[key], odd)) for key in keys)
    return b"{" + b",".join(members) + b"}"


def is_each_alone(start: Sequence[bytes], lines: Sequence[bytes], line_end: bytes) -> int:
    """How many of the lines are recognised; each of them must decode to the same alone."""
    fast, slow = ChunkBytes(Chunk), ChunkBytes(Chunk)
    for each in start:
        fast.add(msgspec.Raw(each))
        slow.add(msgspec.Raw(each))
    assert fast.repeating
    sent = [b"data: " + each + line_end for each in lines]
    found, texts, _ = fast.repeats(sent, line_end, 9)
    recognised = lines[: len(texts)]
    assert list(found) == sent[: len(texts)]
    for each in recognised:
        assert len(each.splitlines()) == 1
        slow.add(msgspec.Raw(each))
    assert texts == [msgspec.json.decode(each)["text"] for each in recognised]
    assert fast.all() == slow.all()
    assert len(fast.all()) == 1
    return len(recognised)


@joined("line_end", [b"", b"\r"])
@joined("order", list(itertools.permutations(("text", "usage", "number", "pad")))[::5])
def test_random_lines(order: tuple[str, ...], line_end: bytes) -> None:
    rng = random.Random("".join(order))
    recognised = 0
    for _ in range(200):
        start = [line(order, rng, 0) for _ in range(2)]
        recognised += is_each_alone(start, [line(order, rng, 0.1) for _ in range(3)], line_end)
    assert recognised > 100


@joined("keys", [("text",), ("text", "pad"), ("pad", "text"), ("text", "usage")])
def test_malformed_lines_that_together_are_a_list(keys: tuple[str, ...]) -> None:
    """The values of many lines are decoded as one list. A value must not reach into the next."""
    odd = {"text": ODD_TEXTS, "usage": ODD_USAGES, "pad": ODD_TEXTS}
    start = [line(keys, random.Random(1), 0)] * 2
    for key, other in itertools.product(keys, repeat=2):
        for one_value, other_value in itertools.product(odd[key], odd[other]):
            values = dict.fromkeys(keys, b'"a"')
            lines = [
                b"{"
                + b",".join(b'"%s":%s' % (each.encode(), members[each]) for each in keys)
                + b"}"
                for members in (
                    {**values, key: one_value},
                    {**values, other: other_value},
                    {**values, key: one_value, other: other_value},
                )
            ]
            is_each_alone(start, lines[:2], b"")
            is_each_alone(start, lines[2:], b"")


def test_limits_hold_for_what_is_recognised() -> None:
    def found(limits: Limits, line: bytes) -> int:
        kept = ChunkBytes(Chunk, limits)
        for _ in range(2):
            kept.add(msgspec.Raw(b'{"text":"a","usage":{}}'))
        return len(kept.repeats([b"data: " + line], b"", 9)[0]) if kept.repeating else -1

    deep = b'{"text":"a","usage":' + b"[" * 600 + b"]" * 600 + b"}"
    assert found(Limits(), b'{"text":"%s","usage":{}}' % (b"a" * 9000)) == 1
    assert found(Limits(event=1000), b'{"text":"%s","usage":{}}' % (b"a" * 900)) == 1
    assert found(Limits(event=1000), b'{"text":"%s","usage":{}}' % (b"a" * 1000)) == 0
    assert found(Limits(line=1000), b'{"text":"%s","usage":{}}' % (b"a" * 1000)) == 0
    assert found(Limits(), deep) == 0  # it may break a limit of JSON
    assert found(Limits(depth=10), b'{"text":"a","usage":{}}') == -1


def test_structs_of_the_raw_door_have_their_bytes() -> None:
    chunk = b'{"candidates":[{"content":{"parts":[{"text":"%d"}]}}],"usageMetadata":{"new":%d}}'
    chunks = [chunk % (number, number) for number in range(9)]
    incoming: Incoming[Any, Any] = Incoming(
        raw_call("gemini"), "", Limits(), Account(), lambda error: error
    )
    chunks.append(chunk.replace(b"%d}}", b"{}}}").replace(b"new", b"promptTokenCount") % 9)
    incoming.feed(b"".join(b"data: %s\r\n\r\n" % each for each in chunks))
    structs = [incoming.ready.pop() for _ in chunks]
    assert [each.raw for each in structs] == chunks
    assert [encode(each) for each in structs] == chunks
    assert [each.text for each in structs] == [str(number) for number in range(10)]
    assert wire.unknown(structs[8]) == [("usageMetadata.new", 8)]
    assert wire.unknown(structs[9]) == [("usageMetadata.promptTokenCount", {})]


class Lengths:
    """An event source that takes chunks alone."""

    def feed(self, chunk: gemini.GenerateContentResponse) -> list[int]:
        """The length of the text."""
        return [len(chunk.text or "")]

    def close(self, answer: gemini.GenerateContentResponse) -> list[int]:
        """No last event."""
        return []


def test_an_event_source_that_takes_no_texts_gets_structs() -> None:
    call = msgspec.structs.replace(raw_call("gemini"), events=Lengths)
    chunk = b'data: {"candidates":[{"content":{"parts":[{"text":"%s"}]}}]}\n\n'
    incoming: Incoming[Any, Any] = Incoming(call, "", Limits(), Account(), lambda error: error)
    incoming.feed(b"".join(chunk % (b"a" * number) for number in range(1, 9)))
    assert incoming.ready == [*range(8, 0, -1)]  # the first one last
