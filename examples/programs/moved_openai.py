"""A program of the openai SDK, moved: a clerk with a tool, then the same answer in French."""

import sys

from wire import Agent, Chat, errors


def stock(article: str) -> int:
    """Units in stock."""
    return 42


chat = Chat("openai:gpt-5.6", timeouts=30, temperature=1, max_tokens=500)
with Agent(chat, "You are a clerk. Answer in one sentence.", tools=[stock]) as clerk:
    try:
        result = clerk.run(sys.argv[1])
        print(result.text)
        print(result.usage.input, result.usage.output)
        with clerk.stream("In French.") as events:
            for text in events.texts():
                print(text, end="", flush=True)
        print()
    except errors.APIError as error:
        sys.exit(f"{error.status}: {error.message}")
