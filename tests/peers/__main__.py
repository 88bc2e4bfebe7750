"""`make conformance`: run the clients of today, and write docs/project/conformance.md."""

from __future__ import annotations

import argparse
import datetime
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.peers.page import Client, Result, page
from wire.testing.conformance.loading import chosen
from wire.testing.conformance.running import run, words_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "project" / "conformance.md"
SECONDS = 60.0
AT_ONCE = 2
"""Cases that run at the same time; each waits more than it works."""

_PYTHON = ".venv-sdks/today/bin/python tests/peers/ask_{}.py"
_NODE = "env NODE_PATH=.venv-sdks/today/node/node_modules node tests/peers/ask_{}.cjs"
_OF_OPENAI = "`chat.completions` and `responses`; streams by their helpers `.stream()`."
_OF_MESSAGES = "`messages.create` and the helper `messages.stream`."
_OF_GOOGLE = "`chats`, which keep the conversation, with `attempts=3` for retries."
_OF_OLLAMA = "`chat`; the pieces of a stream are joined by the adapter, as there is no helper."

CLIENTS = (
    Client(
        "wire",
        "Python",
        ("openai", "responses", "anthropic", "gemini", "interactions", "converse", "ollama"),
        ".venv/bin/python -m wire.testing.conformance.adapter",
        "This library: `Chat`.",
    ),
    Client("openai", "Python", ("openai", "responses"), _PYTHON.format("openai"), _OF_OPENAI),
    Client("openai", "JavaScript", ("openai", "responses"), _NODE.format("openai"), _OF_OPENAI),
    Client("anthropic", "Python", ("anthropic",), _PYTHON.format("anthropic"), _OF_MESSAGES),
    Client(
        "@anthropic-ai/sdk", "JavaScript", ("anthropic",), _NODE.format("anthropic"), _OF_MESSAGES
    ),
    Client(
        "google-genai",
        "Python",
        ("gemini", "interactions"),
        _PYTHON.format("google"),
        f"{_OF_GOOGLE} `interactions.create`, whose pieces the adapter joins.",
    ),
    Client("@google/genai", "JavaScript", ("gemini",), _NODE.format("google"), _OF_GOOGLE),
    Client(
        "boto3",
        "Python",
        ("converse",),
        _PYTHON.format("boto3"),
        "`converse` and `converse_stream`; the pieces of a stream are joined by the adapter.",
    ),
    Client("ollama", "Python", ("ollama",), _PYTHON.format("ollama"), _OF_OLLAMA),
    Client("ollama", "JavaScript", ("ollama",), _NODE.format("ollama"), _OF_OLLAMA),
    Client(
        "litellm",
        "Python",
        ("openai", "anthropic", "gemini", "ollama"),
        ".venv-peers/litellm/bin/python tests/peers/ask_litellm.py",
        "`completion` with `num_retries=2`; streams by `stream_chunk_builder`.",
    ),
    Client(
        "pydantic-ai-slim",
        "Python",
        ("openai", "responses", "anthropic", "gemini"),
        ".venv-peers/pydantic-ai/bin/python tests/peers/ask_pydantic_ai.py",
        "`direct.model_request_sync` and `direct.model_request_stream_sync`.",
    ),
)


def result_of(client: Client) -> Result:
    """Run a client through the cases of its wires."""
    words = words_of(client.command)
    program = next(each for each in words if each != "env" and "=" not in each)
    if shutil.which(program) is None:
        return Result(client, (), f"{program} is not there")
    rows = [row for wire in client.wires for row in chosen([f"{wire}/*"])]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        verdicts = list(pool.map(lambda row: run(client.command, *row, SECONDS), rows))
    return Result(client, verdicts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 if a client could not be run, or this library failed a case."""
    options = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    options.add_argument("--only", default="", help="packages, with commas between; writes nothing")
    only = [each for each in options.parse_args(arguments).only.split(",") if each]
    results: list[Result] = []
    for client in CLIENTS:
        if only and client.package not in only:
            continue
        result = result_of(client)
        results.append(result)
        kept, tried = result.kept()
        print(
            f"{result.name} ({client.language}): {result.missing or f'{kept} of {tried} kept'}",
            flush=True,
        )
    kept, tried = (sum(each) for each in zip(*(each.kept() for each in results), strict=True))
    print(f"{len(results)} clients: {kept} of {tried} cases kept")
    if not only:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        PAGE.write_text(page(results, today), "utf-8")
    own = results[0].kept()
    return int(any(each.missing for each in results) or (not only and own[0] != own[1]))


if __name__ == "__main__":
    sys.exit(main())
