"""Finds the text that answers a question: texts and question become vectors, which are compared.

The emulator makes the vectors on this machine, of the words of a text:

    python examples/search.py "When is the tide low?"

With a real model; needs the key of its provider, such as GEMINI_API_KEY:

    MODEL=gemini:gemini-embedding-001 python examples/search.py "When is the tide low?"
"""

from __future__ import annotations

import math
import os
import sys

from wire import Client
from wire.testing.emulator import EmulatorTransport

TEXTS = [
    "The tide is high at five in the morning and at six in the evening.",
    "The tide is low at noon and at midnight.",
    "The lighthouse is open from Tuesday to Sunday.",
    "Boats to the islands leave from pier three.",
]


def likeness(one: list[float], other: list[float]) -> float:
    """The cosine of the angle between two vectors: 1 if they point in the same direction."""
    product = sum(map(float.__mul__, one, other))
    return product / math.hypot(*one) / math.hypot(*other)


def main() -> None:
    model = os.environ.get("MODEL", "")
    provider, _, name = (model or "gemini:gemini-embedding-001").partition(":")
    emulated = {} if model else {"api_key": "fake-key", "http": EmulatorTransport()}
    question = " ".join(sys.argv[1:]) or "When is the tide low?"
    with Client(provider, **emulated) as client:
        documents = client.embed(TEXTS, name, dimensions=256, task="document")
        (query,) = client.embed(question, name, dimensions=256, task="query")
    for note in documents.notes:
        print(f"note: {note}", file=sys.stderr)
    scores = [likeness(query, document) for document in documents]
    for score, text in sorted(zip(scores, TEXTS, strict=True), reverse=True):
        print(f"{score:.2f}  {text}")


if __name__ == "__main__":
    main()
