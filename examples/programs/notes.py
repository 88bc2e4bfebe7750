# %% Ask
import asyncio

from wire import AsyncChat, Message

MODELS = ("openai:gpt-5.4", "anthropic:claude-sonnet-5")
chat = AsyncChat("gemini:gemini-3.8-flash", system="Answer in one paragraph.")
first = await chat.ask("Why is the sky blue?")
first

# %% Go on, and stream the answer
talk = [Message.user("Why is the sky blue?"), first.message]
async with chat.stream(messages=[*talk, Message.user("And at dusk?")]) as events:
    async for text in events.texts():
        print(text, end="", flush=True)
second = await events.reply()

# %% Ask again from the earlier point
fork = await chat.ask(messages=[*talk, Message.user("And on Mars?")])
fork

# %% Two models on one question
both = await asyncio.gather(*(AsyncChat(each).ask("Why is grass green?") for each in MODELS))
for reply in both:
    print(f"{reply.model}: {reply.text}")

# %% What it cost
for reply in (first, second, fork, *both):
    print(f"{reply.model:20} {reply.usage.input:6} {reply.usage.output:6} {reply.cost}")
