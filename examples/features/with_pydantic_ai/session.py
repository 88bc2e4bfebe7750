"""A session that stays below 100,000 tokens: `python session.py MODEL`, a turn on each line."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, ModelMessage, ModelRequest, ModelResponse, RunContext
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import UserPromptPart
from pydantic_ai.models.anthropic import AnthropicCompaction
from pydantic_ai.models.openai import OpenAICompaction

LIMIT = 100_000
ASK = "Summarise this conversation, with all that is needed to go on."


def read(path: str) -> str:
    """The text of a file."""
    return Path(path).read_text()


async def summarised(ctx: RunContext[None], messages: list[ModelMessage]) -> list[ModelMessage]:
    replies = [each for each in messages if isinstance(each, ModelResponse)]
    if not replies or replies[-1].usage.total_tokens < LIMIT:
        return messages
    if messages[-2] is replies[-1] and replies[-1].tool_calls:
        old, kept = messages[:-2], messages[-2:]
    else:
        old, kept = messages[:-1], messages[-1:]
    summary = await Agent(ctx.model).run(ASK, message_history=old)
    return [ModelRequest([UserPromptPart(summary.output)]), *kept]


def compaction(model: str) -> Any:
    if model.startswith("anthropic:"):
        return AnthropicCompaction(token_threshold=LIMIT)
    if model.startswith("openai:"):
        return OpenAICompaction(token_threshold=LIMIT)
    return ProcessHistory(summarised)


async def main(model: str) -> None:
    agent = Agent(model, tools=[read], capabilities=[compaction(model)])
    history: list[ModelMessage] = []
    for line in sys.stdin:
        result = await agent.run(line, message_history=history)
        history = result.all_messages()
        print(result.output)


asyncio.run(main(sys.argv[1]))
