"""Prints one complete tool conversation, then a request that is invalid on purpose.

Run it with `make demo [Q="..."] [LIVE=1] [RECORD=1]`.
"""

from __future__ import annotations

import contextlib
import os
import sys

import httpx
from raw_tools import ask
from scripted_gemini import serve

from wire import Client, Lanes, WireError, gemini
from wire.testing import Record

CASSETTE = "examples/demo.cassette.json"
PORT = 48977  # fixed, since a replay matches the host of the recording
QUESTION = "What is the weather in Paris and in Oslo?"


class Watched(httpx.BaseTransport):
    """Wraps the default transport and stores each request; any httpx transport fits `http=`."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self.inner, self.sent = inner, list[httpx.Request]()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        return self.inner.handle_request(request)

    def close(self) -> None:
        self.inner.close()


def main() -> None:
    question = os.environ.get("Q") or QUESTION
    live = bool(os.environ.get("LIVE"))
    model = os.environ.get("GEMINI_MODEL") or "gemini-3.8-flash"
    record = os.environ.get("RECORD")
    path = CASSETTE if record == "1" else record
    with contextlib.ExitStack() as stack:
        watched = Watched(Record(Lanes(), path) if path else Lanes())
        if live:
            client = stack.enter_context(Client("gemini", http=watched))
            print(f"--- {model}, Google")
        else:
            url = stack.enter_context(serve(PORT if path else 0)).url
            client = stack.enter_context(
                Client("gemini", api_key="fake-key", base_url=url, http=watched)
            )
            print(
                "--- a script on loopback that plays Gemini 3; it is not a model, and needs "
                "no key and no network"
            )
        print(f"you  {question}")
        answer = ask(client, model, question)
        print(f"\n--- usage    {answer.usage_metadata}")
        account = client.account(answer)
        assert account is not None
        print(
            f"--- account  {account.attempts} attempt, {account.events} events, "
            f"{account.sent} bytes out, {account.received} in"
        )
        if len(watched.sent) > 1:
            second = watched.sent[1]
            print(
                f"--- the second request: {second.method} "
                f"{second.url.raw_path.decode()}\n{second.content.decode()}"
            )
        print(
            "--- a request that is wrong on purpose, and not checked before: a call of "
            "this turn without its signature"
        )
        try:
            client.send(gemini.generate_content(model, unsigned(question), checked=False))
        except WireError as error:
            print(f"{type(error).__name__}: {error}")
        if path:
            print(f"--- recorded in {path}")


def unsigned(question: str) -> gemini.GenerateContentRequest:
    """Sends a call without its signature, as a client does that loses signatures."""
    call = gemini.FunctionCall(name="get_weather", args={"city": "Paris"})
    return gemini.GenerateContentRequest(
        contents=[
            gemini.Content(role="user", parts=[gemini.Part(text=question)]),
            gemini.Content(role="model", parts=[gemini.Part(function_call=call)]),
            gemini.Content(role="user", parts=[gemini.function_response(call, {"temp_c": 15})]),
        ]
    )


if __name__ == "__main__":
    try:
        main()
    except WireError as error:
        sys.exit(f"{type(error).__name__}: {error}")
