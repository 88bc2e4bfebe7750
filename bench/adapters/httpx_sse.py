"""httpx with the structs of `bench.plain`: what a careful user writes by hand.

`Httpx` reads streams with httpx-sse, `Lines` with the loop over lines that needs no other library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
from httpx_sse import EventSource, aconnect_sse

from bench import plain
from bench.bodies import WIRES as WIRES
from bench.bodies import Turn

_OPTIONS: dict[str, Any] = {
    "headers": {"content-type": "application/json", "authorization": "Bearer fake-key"},
    "timeout": 60,
    "limits": httpx.Limits(max_connections=None, max_keepalive_connections=None),
}


class Httpx:
    def __init__(self, base_url: str, _: str) -> None:
        self._client = httpx.AsyncClient(base_url=base_url, **_OPTIONS)

    async def stream(self, wire: str, model: str, got: Callable[[str], None]) -> None:
        path, body = plain.target(wire, model, stream=True)
        decode = plain.DECODERS[wire].decode
        source: EventSource
        async with aconnect_sse(self._client, "POST", path, content=body) as source:
            async for event in source.aiter_sse():
                if event.data != "[DONE]":
                    got(plain.text_of(wire, decode(event.data)))

    async def ask(self, wire: str, model: str) -> int:
        return await self._whole(wire, *plain.target(wire, model, stream=False))

    def built(self, wire: str, turns: list[Turn]) -> list[Any]:
        return plain.built(wire, turns)

    async def tell(self, wire: str, messages: list[Any]) -> int:
        path, _ = plain.target(wire, "answer-turns", stream=False)
        return await self._whole(wire, path, plain.history(wire, "answer-turns", messages))

    async def _whole(self, wire: str, path: str, body: bytes) -> int:
        response = await self._client.post(path, content=body)
        return plain.size_of(wire, plain.DECODERS[wire].decode(response.content))

    async def close(self) -> None:
        await self._client.aclose()


class Lines(Httpx):
    async def stream(self, wire: str, model: str, got: Callable[[str], None]) -> None:
        path, body = plain.target(wire, model, stream=True)
        decode = plain.DECODERS[wire].decode
        async with self._client.stream("POST", path, content=body) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    got(plain.text_of(wire, decode(line[6:])))
