"""One server for all tests here, and a client for threads, asyncio and trio in front of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.doors import Door, opened
from tests.real.server import serve


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with serve() as url:
        yield url


@pytest.fixture(params=["sync", "asyncio", "trio"])
def door(
    request: pytest.FixtureRequest, server: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Door]:
    monkeypatch.delenv("LLAMA_CPP_API_KEY", raising=False)
    with opened(request.param, f"{server}/v1") as door:
        yield door


@pytest.fixture(params=["sync", "asyncio", "trio"])
def messages_door(
    request: pytest.FixtureRequest, server: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Door]:
    """The same server by its endpoints of Anthropic's Messages."""
    monkeypatch.delenv("LLAMA_CPP_API_KEY", raising=False)
    with opened(request.param, server, "llama.cpp@anthropic") as door:
        yield door


@pytest.fixture(params=["sync", "asyncio", "trio"])
def responses_door(
    request: pytest.FixtureRequest, server: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Door]:
    """The same server by its endpoint of OpenAI's Responses."""
    monkeypatch.delenv("LLAMA_CPP_API_KEY", raising=False)
    with opened(request.param, f"{server}/v1", "llama.cpp@responses") as door:
        yield door
