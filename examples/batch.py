"""Submits questions as one batch, and prints the replies by id when it has ended.

With an emulator on this machine:

    python examples/batch.py

With a real vendor, which may take up to a day; the second line goes on with a batch:

    LIVE=1 python examples/batch.py openai:gpt-5.4
    LIVE=1 python examples/batch.py openai:gpt-5.4 batch_0123
"""

from __future__ import annotations

import os
import sys

from wire import Chat, Reply, printable
from wire.testing.emulator import Emulator, EmulatorTransport

QUESTIONS = {
    "sky": "Why is the sky blue?",
    "sea": "Why is the sea salty?",
    "moon": "Why has the moon craters?",
}
SCRIPT = [
    {"match": {"text": "sky"}, "say": "Air scatters blue light more than red."},
    {"match": {"text": "sea"}, "say": "Rivers bring salts, and only water leaves."},
    {"match": {"text": "moon"}, "fault": "expire"},
]


def main(model: str = "openai:gpt-5.4", batch_id: str = "") -> None:
    live = bool(os.environ.get("LIVE"))
    options = {} if live else {"api_key": "fake-key", "http": EmulatorTransport(Emulator(SCRIPT))}
    with Chat(model, system="Answer in one sentence.", **options) as chat:
        if not batch_id:
            batch_id = chat.batches.create(QUESTIONS).id
            print(f"submitted {batch_id}")
        ended = chat.batches.wait(batch_id, every=30 if live else 0.01)
        print(f"the batch is {ended.status}")
        for id, result in sorted(chat.batches.results(ended).items()):
            shown = result.text if isinstance(result, Reply) else f"({result.code})"
            print(f"{id}: {printable(shown)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
