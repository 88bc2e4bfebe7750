"""Asks Gemini, then GPT, then Claude, each when the one before is out: `fallback.py QUESTION`."""

import sys

from wire import FallbackChat, Timeouts, errors

MODELS = ("gemini:gemini-3.8-flash", "openai:gpt-5.4", "anthropic:claude-sonnet-5")

try:
    with FallbackChat(MODELS, timeouts=Timeouts(total=20)) as chat:
        reply = chat.ask(sys.argv[1])
except errors.FallbackError as error:
    sys.exit("\n".join(f"{model}: {failure}" for model, failure in error.failures.items()))
for model, failure in reply.failures.items():
    print(f"{model}: {failure}")
print(f"{reply.model}: {reply.text}")
print(reply.cost)
