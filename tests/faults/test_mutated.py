"""Recorded bodies with faults: whatever a server sends, no call raises anything but a `WireError`,
and what it returns can be read, copied, pickled, saved and sent back (R-08, R-36, R-44)."""

from __future__ import annotations

import asyncio
import collections
import itertools
from random import Random
from typing import Any

import pytest

from tests.faults.mutations import mutated
from tests.faults.received import Seed, receive, receive_async, seeds, use, use_reply
from tests.property import sample
from wire.neutral.messages import Reply

SAMPLE = 300
ALL = 60_000
_STATUSES = (200, 400, 429, 500, 529)
_USED = 3
"""Chunks or events of one stream that are used: the last ones."""


def played(seed: Seed, body: bytes, dice: Random) -> tuple[list[Any], Any]:
    """The result of a call that is answered by this body, in one to five pieces."""
    call = dice.choice(seed.calls)
    status = seed.status if dice.random() < 0.8 else dice.choice(_STATUSES)
    cuts = sorted(dice.randrange(len(body) + 1) for _ in range(dice.choice((0, 1, 4))))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    if dice.random() < 0.1:
        return asyncio.run(receive_async(seed.wire, call, status, pieces))
    return receive(seed.wire, call, status, pieces)


def run(numbers: range) -> collections.Counter[str]:
    """How the calls ended: the class of the error, or `result`."""
    ends: collections.Counter[str] = collections.Counter()
    for number in numbers:
        dice = Random(number)
        seed = dice.choice(seeds())
        body = mutated(seed.body, dice)
        try:
            got, error = played(seed, body, dice)
            for each in [*got[-_USED:], *([error] if error is not None else [])]:
                use(seed.wire, each)
        except Exception as foreign:
            foreign.add_note(f"mutation {number} of {seed.name}: {body[:500]!r}")
            raise
        # The net under the decoders caught something: it is no defect for the caller, but one here.
        assert error is None or "cannot be decoded" not in error.message, (number, seed.name)
        ends[type(error).__name__ if error is not None else "result"] += 1
    return ends


def check(ends: collections.Counter[str], count: int) -> None:
    """All were counted, and the faults are such that every kind of end occurs."""
    assert ends.total() == count
    assert ends["result"] > 0.2 * count
    for name in ("StreamInvalid", "StreamIncomplete", "ServerError", "RateLimitError"):
        assert ends[name] > 0.02 * count, name
    assert ends["LimitError"] > 0.004 * count


def test_a_sample_of_mutated_answers() -> None:
    """R-44, R-08, R-36: a sample of the next test."""
    check(run(range(SAMPLE)), SAMPLE)


@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_mutated_answers() -> None:
    """R-44, R-08, R-36: 60,000 mutated answers, 0 exceptions that are no `WireError`."""
    check(run(range(ALL)), ALL)


def test_the_same_seed_gives_the_same_bytes() -> None:
    body = seeds()[0].body
    assert [mutated(body, Random(7)) for _ in range(2)] == [mutated(body, Random(7))] * 2
    assert len({mutated(body, Random(number)) for number in range(200)}) > 150


# --- numbers that JSON does not have --------------------------------------------------------------

NUMBERS = (
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"1e999",
    b"-1e999",
    b"-0",
    b"-0.0",
    b"18446744073709551616",
    b"9" * 400,
    b"9" * 5000,
    b'"\\ud83d"',
)
_MARK = b'"?"'
BODIES: dict[str, bytes] = {
    "gemini": (
        b'{"candidates":[{"content":{"parts":[{"text":"Hi","partMetadata":{"a":"?"}},'
        b'{"thought":true,"text":"t","videoMetadata":{"fps":"?"}},'
        b'{"functionCall":{"name":"f","args":{"n":"?","l":[1,{"m":"?"}]}},"thoughtSignature":"c2ln"},'
        b'{"executableCode":{"language":"PYTHON","code":"1","new":"?"}}],"role":"model"},'
        b'"avgLogprobs":"?","index":0,"finishReason":"STOP"}],'
        b'"usageMetadata":{"promptTokenCount":"?","totalTokenCount":1},"new":"?"}'
    ),
    "openai": (
        b'{"id":"c","created":"?","choices":[{"index":0,"logprobs":{"content":[{"token":"a",'
        b'"logprob":"?"}]},"message":{"role":"assistant","content":"Hi","reasoning_details":'
        b'[{"type":"t","text":"r","n":"?"}],"tool_calls":[{"id":"a","type":"function","n":"?",'
        b'"extra_content":{"x":"?"},"function":{"name":"f","arguments":{"n":"?","l":[{"m":"?"}]}}}]},'
        b'"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":"?","total_tokens":1}}'
    ),
    "anthropic": (
        b'{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"Hi","n":"?"},'
        b'{"type":"tool_use","id":"a","name":"f","input":{"n":"?","l":[1,{"m":"?"}]}},'
        b'{"type":"new","n":"?"}],"stop_reason":"tool_use",'
        b'"usage":{"input_tokens":"?","output_tokens":1}}'
    ),
}


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(each, marks=pytest.mark.slow if place % 2 else ())
        for place, each in enumerate(NUMBERS)
    ],
    ids=[each.decode()[:24] for each in NUMBERS],
)
@pytest.mark.sampled
@pytest.mark.parametrize("wire", BODIES)
def test_a_reply_with_numbers_that_json_does_not_have(wire: str, number: bytes) -> None:
    """R-44: at any place, the reply can be continued, saved, pickled and copied."""
    body = BODIES[wire]
    places = body.count(_MARK)
    pieces = body.split(_MARK)
    bodies = [body.replace(_MARK, number)]
    bodies += [
        b"1".join(pieces[: place + 1]) + number + b"1".join(pieces[place + 1 :])
        for place in range(places)
    ]
    seed = next(each for each in seeds() if each.wire == wire and len(each.calls) == 4)
    for each, call in sample(list(itertools.product(bodies, seed.calls)), 16):
        got, error = receive(wire, call, 200, [each])
        assert error is None
        use(wire, got[-1])
        reply = got[-1]
        if isinstance(reply, Reply):
            use_reply(wire, reply, continues=True)
            assert reply.text == "Hi"
            assert [one.name for one in reply.tool_calls] == ["f"]
            assert reply.tool_calls[0].arguments is not None
