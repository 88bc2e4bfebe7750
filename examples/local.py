"""Streams a tool conversation with a real model on this machine: `make demo-local [Q="..."]`.

The script's argument is the server's base URL.
"""

from __future__ import annotations

import os
import sys

from demo import Watched
from raw_tools import get_weather

from wire import Client, Lanes, WireError, openai, printable
from wire.neutral import messages as chat

QUESTION = "What is the weather in Paris?"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = openai.FunctionDefinition(
    name="get_weather", description="Weather and temperature of a city", parameters=CITY
)


def main(url: str) -> None:
    watched = Watched(Lanes())
    with Client("llama.cpp", base_url=url, http=watched) as client:
        model = (client.send(openai.list_models()).data or [openai.Model(id="?")])[0].id
        watched.sent.clear()
        print(f"--- {model} on llama.cpp, {url}: a real model, too small to make much sense")
        question = os.environ.get("Q") or QUESTION
        print(f"you  {question}")
        answer, asked = say(client, model, question)
        if asked.message.tool_calls:
            results = [run(call) for call in asked.message.tool_calls]
            answer, _ = say(client, model, question, answer, results)
        else:
            print("\n--- it did not call the tool, so there is nothing to send back")
        print(f"\n--- usage    {openai.parse_reply(answer, client.dialect or openai.PLAIN).usage}")
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


def say(
    client: Client, model: str | None, *turns: openai.Turn
) -> tuple[openai.ChatCompletion, chat.Reply]:
    """One answer, printed as it comes: as the wire has it, and as a reply that any wire could have
    given.
    """
    dialect = client.dialect or openai.PLAIN
    request = openai.ChatCompletionRequest(
        model=model,
        messages=openai.messages(*turns, dialect=dialect),
        tools=[openai.Tool(type="function", function=WEATHER)],
        max_tokens=48,
        temperature=0,
        seed=1,
        stop=["</tool_call>", "\n\n"],  # without them, this model generates until its limit
    )
    call = openai.stream_chat_completions(request)
    reading = openai.EventReader(dialect, body=call.body)
    with client.stream(call) as chunks:
        for chunk in chunks:
            for event in reading.feed(chunk):
                show(event)
    for event in reading.close():
        show(event)
    return chunks.result(), reading.reply()


def show(event: chat.Event) -> None:
    match event:
        case chat.TextDelta(text):
            print(printable(text), end="", flush=True)
        case chat.ToolCallStart(_, name):
            print(f"call {name}(", end="", flush=True)
        case chat.ToolCallDelta(_, text):
            print(text.replace("\n", ""), end="", flush=True)
        case chat.ToolCallEnd():
            print(")")


def run(call: chat.ToolCall) -> openai.Message:
    """Runs a call; the result is an error if the call is truncated or lacks its argument."""
    city = (call.arguments or {}).get("city")
    result = (
        openai.tool_message(call, get_weather(city))
        if isinstance(city, str)
        else openai.tool_message(call, error="no city")
    )
    print(f"tool {result.content}")
    return result


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except WireError as error:
        sys.exit(f"{type(error).__name__}: {error}")
