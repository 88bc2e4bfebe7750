"""Servers of tokens and a host, behind one transport for threads, asyncio and trio."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

from tests.http.drive import Drive
from wire import Call, anthropic
from wire.testing.emulator import Emulator

Answer = Callable[[httpx.Request], httpx.Response]
MODEL = "us.anthropic.claude-opus-4-8-v1:0"


def call(model: str = MODEL, text: str = "Hi") -> Call[anthropic.MessageResponse]:
    return anthropic.create_message(request(model, text))


def request(model: str = MODEL, text: str = "Hi") -> anthropic.MessageRequest:
    message = anthropic.Message(role="user", content=text)
    return anthropic.MessageRequest(model=model, max_tokens=100, messages=[message])


class Servers(httpx.MockTransport):
    """Answers by the beginning of the URL; everything else goes to an emulator.

    `asked` has the requests to the servers of tokens, `sent` those to the host.
    """

    def __init__(self, answers: dict[str, Answer] | None = None, **options: Any) -> None:
        super().__init__(self._answer)
        self.answers, self.emulator = answers or {}, Emulator(**options)
        self.asked: list[httpx.Request] = []
        self.sent: list[httpx.Request] = []

    def _answer(self, request: httpx.Request) -> httpx.Response:
        request.read()
        for begin, answer in self.answers.items():
            if str(request.url).startswith(begin):
                self.asked.append(request)
                return answer(request)
        self.sent.append(request)
        answer_ = self.emulator.answer(
            request.method, str(request.url), request.headers.multi_items(), request.content
        )
        return httpx.Response(answer_.status, headers=answer_.headers, content=answer_.body)


def told(body: Any, status: int = 200) -> Answer:
    return lambda request: httpx.Response(status, json=body)


def form(request: httpx.Request) -> dict[str, str]:
    return dict(httpx.QueryParams(request.content.decode()))


def body(request: httpx.Request) -> Any:
    return json.loads(request.content)


def bearers(servers: Servers) -> list[str]:
    return [each.headers["authorization"] for each in servers.sent]


def sent_with(
    drive: Drive, servers: Servers, provider: str = "bedrock@invoke", **options: Any
) -> Any:
    """Send one call."""
    options = {"region": "us-west-2", **options} if "bedrock" in provider else options
    return drive.session(
        lambda door: door.send(call()), provider, api_key=None, http=servers, **options
    )
