"""An agent whose model searches the web: it goes on after each pause of the host, offline.

The emulator plays a turn that Anthropic pauses after a search.
"""

from __future__ import annotations

from typing import Any

from wire import Agent, Chat, printable
from wire.testing.emulator import Emulator, EmulatorTransport

SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def main() -> None:
    emulator = Emulator(script())
    http = EmulatorTransport(emulator)
    options = {"anthropic": {"tools": [SEARCH]}}
    with Agent(
        Chat("anthropic:claude-sonnet-5", api_key="fake-key", http=http, options=options)
    ) as agent:
        result = agent.run("When is high tide in Brest?", max_steps=5)
    for step in result.steps:
        print(f"{step.reply.stop.reason}: {printable(step.reply.text)}")
    print(f"one message of {len(result.messages[0].parts)} parts: {printable(result.text)}")


def script() -> list[dict[str, Any]]:
    """A search, a pause, what was found, and the answer."""
    call = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "tides of Brest"},
    }
    page = {
        "type": "web_search_result",
        "url": "https://tides.example/brest",
        "title": "Tides of Brest",
        "encrypted_content": "b3BhcXVl",
    }
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [page]}
    text = {"type": "text", "text": "I look. "}
    answer = {"type": "text", "text": "At six."}
    return [
        {"answer": {"content": [text, call], "stop_reason": "pause_turn"}},
        {"answer": {"content": [found, answer], "stop_reason": "end_turn"}},
    ]


if __name__ == "__main__":
    main()
