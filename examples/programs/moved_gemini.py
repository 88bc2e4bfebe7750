"""A program of google-genai, moved: a cook who streams, thinks, and answers in a type."""

import sys

from msgspec import Struct

from wire import Chat, Message, errors

MODEL = "gemini:gemini-3.8-flash"
SAFETY = [{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "threshold": "BLOCK_ONLY_HIGH"}]
OPTIONS = {"gemini": {"safetySettings": SAFETY}}


class Recipe(Struct):
    name: str
    minutes: int
    ingredients: list[str]


chat = Chat(MODEL, system="You are a cook.", effort="low", thoughts=True, options=OPTIONS)
messages = [Message.user(sys.argv[1])]
try:
    with chat.stream(messages=messages) as events:
        for text in events.texts():
            print(text, end="", flush=True)
    print()
    messages += [events.reply().message, Message.user("Which was the best? Name one.")]
    answer = chat.ask(messages=messages)
    print("thought:", answer.thought)
    print(answer.text, answer.usage and answer.usage.reasoning)
    plain = Chat(MODEL)
    recipe = plain.ask("One recipe with leeks", output=Recipe).output
    print(recipe.name, recipe.minutes, recipe.ingredients)
    print(plain.count(sys.argv[1]).total)
except errors.APIError as error:
    sys.exit(f"{error.status}: {error.message}")
