"""Clients that are programs of their own: a client of the gateway, and the rows of `wire bulk`.

Behind the gateway, the client speaks the APIs in turn, and the hostile server is the gateway's
backend. What one API makes of the failure of another is for `tests/serving`: here an answer is
whole, or the error is a `WireError`, whichever.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from wire import AsyncChat, Retry, WireError
from wire.bulk import run
from wire.gateway import Gateway, serve

CLIENTS = {
    "gemini": ("gemini:m", ""),
    "openai": ("openai@chat:m", "/v1"),
    "openai.responses": ("openai@responses:m", "/v1"),
    "anthropic": ("anthropic:m", ""),
    "converse": ("bedrock:m", ""),
    "ollama": ("ollama:m", ""),
    "gemini.interactions": ("gemini@interactions:m", ""),
}
"""The model of a client of each API, and what follows the address of the gateway."""
_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where a run writes its files. On a disk that others use, a sync may take as long as a hang."""


def of_the_gateway(
    work: Callable[..., Awaitable[Any]], fault: Any, wire: str, options: dict[str, Any], far: Any
) -> Any:
    """Run `work` with a client of the gateway whose backend meets the fault; return its result."""
    names = list(CLIENTS)
    model, path = CLIENTS[names[(len(fault.name) + names.index(wire)) % len(names)]]
    mine = {"api_key": "fake-key", "timeouts": far, "retry": Retry(attempts=1)}
    with serve(Gateway(AsyncChat(CLIENTS[wire][0], **options))) as server:
        return anyio.run(work, model, fault, {**mine, "base_url": server.url + path})


async def rows(
    model: str, prompts: tuple[str, ...], options: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """Ask two rows, one after the other; return their results, and all that was written."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=_MEMORY) as folder:
        to = Path(folder) / "out.jsonl"
        given = [{"id": prompt, "prompt": prompt} for prompt in prompts]
        try:
            async for result in run(given, model, to=to, concurrent=1, **options):
                found[result.id] = result
        except WireError as error:  # one that each row would get
            found["all"] = error
        written = _texts(Path(folder))
    return found, written


def _texts(folder: Path) -> str:
    files = [path for path in folder.iterdir() if path.is_file()]
    return "".join(path.read_text("utf-8", "replace") for path in files)
