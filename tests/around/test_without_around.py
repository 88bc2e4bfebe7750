"""A call without `around=` runs no code of the seam. Counted, since a time would depend on the
machine.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest

from tests.joined import joined
from tests.test_frames import frames
from tests.test_frames import uncollected as uncollected  # the fixture
from wire import AsyncChat, AsyncClient, Chat, Client, gemini

ANSWER = (
    b'{"candidates":[{"content":{"parts":[{"text":"Hi."}],"role":"model"},"finishReason":"STOP"}],'
    b'"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}}'
)
REQUEST = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
CALL = gemini.generate_content("gemini-3.8-flash", REQUEST)
STREAM_CALL = gemini.stream_generate_content("gemini-3.8-flash", REQUEST)
SEAM = ("/around/", "/http/surrounding.py", "/agent/spans.py")
MODULES = ("wire.around.seam", "wire.http.surrounding")
CEILINGS = {
    "send": (127, 135),
    "stream": (185, 187),
    "ask": (269, 277),
    "chat stream": (404, 410),
}
"""Calls of functions of this library, on threads and elsewhere, before there was a seam. The guard
of the fields of structs and the look for deferred tools have added some since."""


def answer(request: httpx.Request) -> httpx.Response:
    if "stream" not in str(request.url):
        return httpx.Response(200, content=ANSWER, headers={"content-type": "application/json"})
    headers = {"content-type": "text/event-stream"}
    return httpx.Response(200, content=b"data: " + ANSWER + b"\r\n\r\n", headers=headers)


def journeys(**options: Any) -> dict[str, Callable[[], object]]:
    client = Client("gemini", **options)
    chat = Chat("gemini:gemini-3.8-flash", **options)

    def stream() -> None:
        with client.stream(STREAM_CALL) as chunks:
            assert [chunk.text for chunk in chunks] == ["Hi."]

    def chat_stream() -> None:
        with chat.stream("Hi") as events:
            assert events.reply().text == "Hi."

    return {
        "send": lambda: client.send(CALL),
        "stream": stream,
        "ask": lambda: chat.ask("Hi"),
        "chat stream": chat_stream,
    }


def async_journeys(**options: Any) -> dict[str, Callable[[], Any]]:
    client = AsyncClient("gemini", **options)
    chat = AsyncChat("gemini:gemini-3.8-flash", **options)

    async def stream() -> None:
        async with client.stream(STREAM_CALL) as chunks:
            assert [chunk.text async for chunk in chunks] == ["Hi."]

    async def chat_stream() -> None:
        async with chat.stream("Hi") as events:
            assert (await events.reply()).text == "Hi."

    return {
        "send": lambda: client.send(CALL),
        "stream": stream,
        "ask": lambda: chat.ask("Hi"),
        "chat stream": chat_stream,
    }


def journey(name: str, backend: str, **options: Any) -> Callable[[], object]:
    options = {"api_key": "fake-key", "http": httpx.MockTransport(answer), **options}
    if backend == "sync":
        return journeys(**options)[name]
    run = async_journeys(**options)[name]

    async def main() -> None:
        await run()

    return lambda: anyio.run(main, backend=backend)


def of_the_seam(counted: Any) -> set[tuple[str, str]]:
    return {(file, name) for file, name in counted if file.startswith(SEAM)}


@pytest.mark.parametrize("backend", ["sync", "asyncio", "trio"])
@pytest.mark.usefixtures("uncollected")
@joined("name", CEILINGS)
def test_no_code_of_the_seam_runs(name: str, backend: str) -> None:
    counted = frames.counted(journey(name, backend))
    assert of_the_seam(counted) == set()
    assert counted.calls <= CEILINGS[name][backend != "sync"], sorted(counted.items())
    # The same journey with it is seen, so that the test above can fail.
    seen = of_the_seam(frames.counted(journey(name, backend, around=lambda _: (yield))))
    assert ("/around/seam.py", "Surroundings.begin") in seen


@pytest.mark.parametrize("backend", ["sync", "asyncio", "trio"])
def test_no_object_of_the_seam_is_made(backend: str) -> None:
    def alive(**options: Any) -> set[str]:
        """The classes of the seam that got an object until the request is with its server."""
        found: set[str] = set()
        earlier = gc.get_objects()  # of other tests; kept, so that no new object has an old id
        known = set(map(id, earlier))

        def looked(request: httpx.Request) -> httpx.Response:
            classes = {type(each) for each in gc.get_objects() if id(each) not in known}
            found.update(each.__name__ for each in classes if each.__module__ in MODULES)
            return answer(request)

        journey("ask", backend, http=httpx.MockTransport(looked), **options)()
        return found

    assert alive() == set()
    assert {"SurroundedCall", "Surroundings"} <= alive(around=lambda _: (yield))
