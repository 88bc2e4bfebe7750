"""Measures what storing received bytes costs and saves: `python bench/memory.py`.

Decoding: a stream chunk and a complete response, relative to decoding the same structs without
stored bytes. Sending: a history of 1,000 received messages, relative to encoding the same messages
from structs. All numbers are ratios within one run, since absolute times depend on the machine.
"""

from __future__ import annotations

import gc
import json
import random
import statistics
import time
from collections.abc import Callable

import msgspec

from wire import gemini
from wire.core.memory import encode
from wire.gemini.reader import parse_response, read_chunk

REPEAT = 5

# As models write: with line ends, quotes and other alphabets.
WORDS = (
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    '"a"',
    "lazy",
    "dog.\n",
    "東京",
    "sleeps",
    "and",
    "café",
    "lights",
    "`go`",
    "out:\n\n",
)


def answer(dice: random.Random, words: int, call: bool) -> bytes:
    part: dict[str, object] = {"text": " ".join(dice.choice(WORDS) for _ in range(words))}
    if call:
        part = {
            "functionCall": {
                "name": "read_file",
                "args": {"path": "src/a.py", "start": dice.randrange(99)},
                "id": "c1",
            },
            "thoughtSignature": "QUJD" * 160,
        }
    body = {
        "candidates": [
            {"content": {"parts": [part], "role": "model"}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": 1204,
            "candidatesTokenCount": words,
            "totalTokenCount": 1204 + words,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1204}],
        },
        "modelVersion": "gemini-3.8-flash",
        "responseId": "mZ0xZ7Pq",
    }
    return json.dumps(body, ensure_ascii=False).encode()


def ratio(
    name: str, ours: Callable[[], object], plain: Callable[[], object], rounds: int = 41
) -> None:
    """Prints the median ratio of `ours` to `plain`, each measured directly after the other.

    The garbage collector is off meanwhile, as in `timeit`.
    """
    ratios, cost = [], []
    gc.disable()
    for _ in range(rounds):
        times = []
        for work in (plain, ours):
            gc.collect()
            began = time.process_time()
            for _ in range(REPEAT):
                work()
            times.append((time.process_time() - began) / REPEAT)
        ratios.append(times[1] / times[0])
        cost.append(times[0])
    gc.enable()
    print(
        f"{name:<72} {statistics.median(ratios):6.2f} x   (plain: "
        f"{statistics.median(cost) * 1e3:.2f} ms)"
    )


def main() -> None:
    dice = random.Random(1)
    plain = msgspec.json.Decoder(gemini.GenerateContentResponse).decode
    chunks = [answer(dice, 12, call=False) for _ in range(2000)]
    ratio(
        "2,000 chunks of a stream, decoded",
        lambda: [read_chunk(each) for each in chunks],
        lambda: [plain(each) for each in chunks],
    )
    texts = [answer(dice, 300, call=False) for _ in range(1000)]
    calls = [answer(dice, 0, call=True) for _ in range(1000)]
    mixed = [
        text if place % 5 else call
        for place, (text, call) in enumerate(zip(texts, calls, strict=True))
    ]
    answers = {
        "of an agent (one in five a signed call)": mixed,
        "of 300 words": texts,
        "with a signed call": calls,
    }
    for name, bodies in answers.items():
        ratio(
            f"1,000 whole answers {name}, decoded",
            lambda b=bodies: [parse_response(each) for each in b],
            lambda b=bodies: [plain(each) for each in b],
        )
    for name, bodies in answers.items():
        received = [parse_response(each).candidates[0].content for each in bodies]  # type: ignore[index]
        built = gemini.GenerateContentRequest(
            contents=[plain(each).candidates[0].content for each in bodies]
        )
        remembered = gemini.GenerateContentRequest(contents=received)  # type: ignore[arg-type]
        ratio(
            f"1,000 remembered messages {name}, encoded",
            lambda r=remembered: encode(r),
            lambda b=built: msgspec.json.encode(b),
        )


if __name__ == "__main__":
    main()
