"""Agents for rows, whose vendor asks for tools by what it reads in the request, on each wire."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from wire import AsyncChat, LLMAgent
from wire.agent.steps import INTERRUPTED
from wire.core.retry import Retry
from wire.testing.emulator import AsyncEmulatorTransport, Emulator
from wire.testing.emulator.received import Received

MODELS = {
    "gemini": "gemini:gemini-3.8-flash",
    "anthropic": "anthropic:claude-sonnet-5",
    "chat": "openai@chat:gpt-5.4",
    "responses": "openai@responses:gpt-5.4",
}


def asks_for_tools(rounds: int = 2, at_once: int = 1) -> Callable[[Received], Any]:
    """A script for prompts such as "Row 7.": so many rounds of calls, and then an answer.

    The answer tells the number of results that the vendor has got.
    """

    def script(request: Received) -> Any:
        text = request.body.decode("utf-8", "replace")
        found = re.search(r"Row (\d+)\.", text)
        if found is None or not is_for_model(request):
            return None
        number = found[1]
        done = len(set(re.findall(r"done:\d+-\d+-\d+", text))) + text.count(INTERRUPTED)
        if done < rounds * at_once:
            ids = [f"{number}-{done // at_once}-{each}" for each in range(at_once)]
            return {"say": {"calls": [{"name": "work", "args": {"id": id}} for id in ids]}}
        return {"say": f"Row {number} has {done} results."}

    return script


def is_for_model(request: Received) -> bool:
    """Whether it is a request for a reply, alone or in a batch."""
    ends = (":generateContent", "/messages", "/chat/completions", "/responses")
    return request.path.endswith(ends)


def worker(log: list[str]) -> Callable[[str], str]:
    """The tool of these agents, which notes the calls that it gets."""

    def work(id: str) -> str:
        """Work for a while."""
        log.append(id)
        return f"done:{id}"

    return work


def agent_of(model: str, http: Any, log: list[str] | None = None, **options: Any) -> LLMAgent[Any]:
    """An agent with the tool `work` and a vendor that answers at once."""
    transport = AsyncEmulatorTransport(http) if isinstance(http, Emulator) else http
    chat = AsyncChat(model, api_key="fake-key", http=transport, retry=Retry(base=0))
    tools = [worker([] if log is None else log)]
    return LLMAgent(chat, "Be brief.", **{"tools": tools, **options})


def prompts(count: int) -> list[dict[str, Any]]:
    return [{"id": f"id-{number}", "prompt": f"Row {number}."} for number in range(1, count + 1)]


def ids(count: int, rounds: int = 2, at_once: int = 1) -> list[str]:
    """The calls of all rows, each of them once."""
    return sorted(
        f"{number}-{round_}-{each}"
        for number in range(1, count + 1)
        for round_ in range(rounds)
        for each in range(at_once)
    )
