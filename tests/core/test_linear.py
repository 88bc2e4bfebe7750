"""Decoding takes work linear in what arrives, whatever its shape (R-11, R-45).

Work is the number of calls that Python makes, counted by a profile function, and for texts the
number of characters that are joined or parsed. Four times the input is four times the work. A
quadratic step makes it up to sixteen times.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.joined import joined
from tests.property import sample
from wire import Account, Chat
from wire.core.incoming import Incoming
from wire.core.limits import Limits
from wire.core.sse import Decoder
from wire.errors import ConnectionLost, WireError
from wire.gemini.parse import parse_reply
from wire.gemini.reader import parse_response
from wire.openai.chat import tool_calls
from wire.openai.chat.thinking import Tags
from wire.openai.chat.tool_calls import Calls
from wire.openai.chat.types import FunctionCall, ToolCall

SMALL = 150


def work(run: Callable[[], Any]) -> int:
    """The number of calls of Python and C functions."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def is_linear(run: Callable[[int], Callable[[], Any]]) -> None:
    """`run(n)` prepares work on n items."""
    run(SMALL)()  # what is built at first use does not count
    small, large = work(run(SMALL)), work(run(4 * SMALL))
    assert small > SMALL / 4  # it did something
    assert large < 4.6 * small


def sse(values: Sequence[Any]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(value).encode() for value in values)


# --- streams of each wire -------------------------------------------------------------------------


def deltas(*deltas: dict[str, Any], index: int = 0) -> list[Any]:
    return [{"choices": [{"index": index, "delta": delta}]} for delta in deltas]


def call(index: int | None, arguments: str, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": more.pop("name")} if "name" in more else {})}
    place = {} if index is None else {"index": index}
    return {"tool_calls": [{**place, **more, "function": function}]}


def blocks(*deltas: dict[str, Any], index: int = 0, **block: Any) -> list[Any]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def parts(*parts: Any) -> list[Any]:
    return [{"candidates": [{"content": {"parts": [part], "role": "model"}}]} for part in parts]


START = {"type": "message_start", "message": {"id": "m", "content": [], "role": "assistant"}}
STREAMS: dict[str, Callable[[int], list[Any]]] = {
    "openai many calls": lambda n: [
        each for i in range(n) for each in deltas(call(i, "{}", id=f"c{i}", name="f"))
    ],
    "openai calls without ids": lambda n: [
        each for i in range(n) for each in deltas(call(i, '{"a":1}', name="f"))
    ],
    "openai a call that repeats its name": lambda n: deltas(
        *(call(0, "x}", id="c", name="f") for _ in range(n))
    ),
    "openai a name in fragments": lambda n: deltas(
        *(call(0, "", id="c", name=f"f{i}") for i in range(n))
    ),
    "openai arguments in fragments": lambda n: deltas(
        call(0, '{"a":"', id="c", name="f"), *(call(0, "x") for _ in range(n))
    ),
    "openai keys of a call": lambda n: deltas(
        *(call(0, "", id="c", **{f"key{i}": i}) for i in range(n))
    ),
    "openai many choices": lambda n: [
        each for i in range(n) for each in deltas({"content": "a"}, index=i)
    ],
    "openai reasoning in fragments": lambda n: deltas(
        *({"reasoning_details": [{"type": "t", "index": 0, "text": "a"}]} for _ in range(n))
    ),
    "openai lists of parts": lambda n: deltas(
        *({"content": [{"type": "text", "text": "a"}]} for _ in range(n))
    ),
    "openai legacy call": lambda n: deltas(
        *({"function_call": {"name": "f", "arguments": "a"}} for _ in range(n))
    ),
    "anthropic many blocks": lambda n: [
        START,
        *(each for i in range(n) for each in blocks(index=i, type="text", text="a")),
    ],
    "anthropic many calls": lambda n: [
        START,
        *(
            each
            for i in range(n)
            for each in blocks(
                {"type": "input_json_delta", "partial_json": "{}"},
                index=i,
                type="tool_use",
                name="f",
            )
        ),
    ],
    "anthropic arguments in fragments": lambda n: [
        START,
        *blocks(
            *({"type": "input_json_delta", "partial_json": "x", "n": 1} for _ in range(n)),
            type="tool_use",
            id="c",
            name="f",
        ),
    ],
    "anthropic many signatures": lambda n: [
        START,
        *blocks(
            *({"type": "signature_delta", "signature": "c2ln"} for _ in range(n)),
            type="thinking",
            thinking="",
        ),
    ],
    "anthropic many starts": lambda n: [START] * n,
    "gemini many calls": lambda n: parts(
        *({"functionCall": {"name": "f", "args": {"a": i}}} for i in range(n))
    ),
    "gemini many signatures": lambda n: parts(
        *({"text": "a", "thoughtSignature": "c2ln"} for _ in range(n))
    ),
    "gemini many candidates": lambda n: [
        {"candidates": [{"index": i, "content": {"parts": [{"text": "a"}]}}]} for i in range(n)
    ],
}
MODELS = {"gemini": "gemini-3.8-flash", "openai": "gpt-4.1", "anthropic": "claude-opus-4-8"}


def received(name: str, count: int, pieces: int) -> tuple[Incoming[Any, Any], list[bytes]]:
    vendor = name.partition(" ")[0]
    chat = Chat(f"{vendor}:{MODELS[vendor]}", api_key="fake-key")
    body = sse(STREAMS[name](count))
    size = len(body) // pieces + 1
    stream: Incoming[Any, Any] = Incoming(
        chat.stream_call("Hi"), "", Limits(), Account(), lambda error: error
    )
    return stream, [body[at : at + size] for at in range(0, len(body), size)]


@pytest.mark.sampled
@joined("name", sample(list(STREAMS), 3))
def test_a_stream_of_events(name: str) -> None:
    """R-11: reading the events and folding the partial reply."""

    def run(count: int) -> Callable[[], Any]:
        stream, pieces = received(name, count, 10)

        def reading() -> None:
            for piece in pieces:
                stream.feed(piece)
            stream.lost(ConnectionLost("gone"))
            with pytest.raises(WireError) as caught:
                stream.check()
            assert caught.value.partial is not None

        return reading

    is_linear(run)


@joined("name", STREAMS)
def test_leaving_a_stream_early(name: str) -> None:
    """R-45: the work does not depend on what has arrived."""

    def run(count: int) -> Callable[[], Any]:
        stream, pieces = received(name, count, 1)
        for piece in pieces:
            stream.feed(piece)
        return stream.abandon

    assert work(run(4 * SMALL)) == work(run(SMALL)) < 20


# --- below the wires ------------------------------------------------------------------------------


def test_data_lines_of_one_event() -> None:
    """R-11: a million of them are a list that is joined once, and in ten buffers at a time."""
    decoder = Decoder()
    for _ in range(100):
        assert decoder.feed(b"data:a\n" * 10_000) == []
    assert len(decoder._lines) <= 1001
    (event,) = decoder.feed(b"\n")
    assert event.data == b"\n".join([b"a"] * 1_000_000)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_line_in_small_pieces(size: int) -> None:
    """R-10, R-11: it is held once, not as an object for each piece."""
    line = b"data: " + b"x" * 3_000
    decoder = Decoder()
    held = []
    for at in range(0, len(line), size):
        assert decoder.feed(line[at : at + size]) == []
        held.append(decoder.held)
    assert held[-1] == len(line)
    assert isinstance(decoder._rest, bytearray)
    assert [each.data for each in decoder.feed(b"\n\n")] == [b"x" * 3_000]


@pytest.mark.parametrize(
    "fragments",
    [
        ['{"a":"' + "x" * 10, "}", "}", "}"] + ["}"] * 300,
        ['{"a":"x"}'] + ["}"] * 300,
        ['{"a":"x"}'] + [" "] * 300,
        ["{}"] + ["{}"] * 300,
        ['{"a":{"b":'] + ['{"c":1}}'] * 300,
    ],
    ids=["in a text", "after the object", "blanks", "objects", "nested"],
)
def test_arguments_that_seem_complete(
    fragments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-11: a call that repeats its name. Its arguments are parsed once, not for each delta."""
    parsed: list[int] = []
    real = tool_calls.arguments_of

    def counting(text: str, *, cut: bool = False) -> Any:
        parsed.append(len(text))
        return real(text, cut=cut)

    monkeypatch.setattr(tool_calls, "arguments_of", counting)
    calls = Calls()
    for number, arguments in enumerate(fragments):
        name = "f" if number == 0 else f"g{number}"
        calls.add(ToolCall(index=0, function=FunctionCall(name=name, arguments=arguments)))
    assert sum(parsed) < 4 * sum(map(len, fragments))


def test_a_name_in_fragments_is_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """R-11."""
    joined: list[int] = []
    real = tool_calls.well_formed
    monkeypatch.setattr(
        tool_calls, "well_formed", lambda text: joined.append(len(text)) or real(text)
    )
    calls = Calls()
    for number in range(500):
        calls.add(ToolCall(index=0, id="c", function=FunctionCall(name=f"name{number}")))
    assert calls.all[0].name == "".join(f"name{number}" for number in range(500))
    assert sum(joined) < 3 * len(calls.all[0].name)


@pytest.mark.parametrize("text", ["<think>a</think>", "</think><think>"])
def test_tags_of_thoughts(text: str) -> None:
    """R-11: many tags in one text, and many texts."""
    is_linear(lambda count: lambda: Tags("tags").feed(text * count))

    def run(count: int) -> Callable[[], Any]:
        tags = Tags("open_implied")
        return lambda: [tags.feed(each) for each in text * count]

    is_linear(run)


def test_blanks_before_a_tag_are_not_held_for_ever() -> None:
    """R-11."""
    tags = Tags("open_implied")
    pieces = [piece for _ in range(5_000) for piece in tags.feed(" ")]
    assert len(tags._held) < 2
    assert "".join(text for _, text in [*pieces, *tags.close()]) == " " * 5_000


def answers(count: int) -> Iterator[dict[str, Any]]:
    """Calls that a server made, each with a result, in the other order and with other names."""
    yield from ({"functionCall": {"name": f"f{i}", "id": f"c{i}"}} for i in range(count))
    yield from ({"functionResponse": {"name": "g", "id": f"c{i}"}} for i in reversed(range(count)))


def test_calls_and_results_of_a_server() -> None:
    """R-11: results are matched with calls by id."""

    def run(count: int) -> Callable[[], Any]:
        content = {"parts": list(answers(count)), "role": "model"}
        body = {"candidates": [{"content": content, "finishReason": "STOP"}]}
        response = parse_response(json.dumps(body).encode())
        return lambda: parse_reply(response, body=b'{"mcpServers":[]}')

    is_linear(run)
    assert run(SMALL)().tool_calls == ()
