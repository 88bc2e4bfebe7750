"""The work of nodes of type `codergen`: an agent with the tools of a work folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from logging import Logger
from pathlib import Path

from wire.agent import ATTRACTOR, AsyncModel, LLMAgent
from wire.agent.model import AgentEvent, model_name
from wire.agent.provider import ChatProvider, as_model, create_provider
from wire.agent.spans import Spans
from wire.around.seam import AroundFunction
from wire.chat.chat import AsyncChat
from wire.core import retry
from wire.core.errors import ConfigurationError, PipelineError
from wire.core.logs import logger
from wire.neutral.messages import Restart, TextDelta, ToolCallEnd
from wire.pipeline.graph import Node, written
from wire.pipeline.progress import Kind, shown
from wire.pipeline.session import shortened
from wire.pipeline.tools import workspace_tools
from wire.tools import ToolRun, format_call
from wire.wires.providers import FACTORIES, model_of

log: Logger = logger("wire.pipeline")


class MaxTurnsError(PipelineError):
    """An agent reached its maximum number of turns (S4-24). `partial` is its last text."""


def model_of_node(node: Node, default: str = "") -> str:
    """Return the model of a node as `provider:model` (P-25, P-29).

    >>> model_of_node(Node("ask", {"llm_provider": "openai", "llm_model": "gpt-5.6"}))
    'openai:gpt-5.6'

    Raises `PipelineError` if neither the node nor `default` names one, or if the provider or the
    name of the model is missing.
    """
    name = node.model
    if not name and not default:
        raise PipelineError(
            f"node {node.id!r}: no model: give the node the attribute model, or give the "
            "engine a model"
        )
    try:
        return ":".join(model_of(name or default))
    except ConfigurationError as problem:
        raise PipelineError(f"node {node.id!r}: {problem.message}") from None


def models_of(nodes: Iterable[Node], default: str = "") -> dict[str, str]:
    """Return each model that nodes ask -> the id of the first of these nodes.

    Raises as `model_of_node`.
    """
    models: dict[str, str] = {}
    for node in nodes:
        models.setdefault(model_of_node(node, default), node.id)
    return models


def connect(name: str, *, around: AroundFunction | None = None) -> AsyncModel:
    """Connect the model `provider:model`, with the retry policy of pipelines (S4-27).

    The variable `<PROVIDER>_BASE_URL` replaces the host of the provider; a provider of
    `wire.register_provider` gets it as `api_base`, and no `around`. Raises `ConfigurationError` for
    an unknown provider, a malformed URL, and a missing key (S4-03).
    """
    provider, model = model_of(name)
    if provider.strip().lower() in FACTORIES:
        return as_model(create_provider(provider, None, model))
    chat = AsyncChat(name, retry=retry.ATTRACTOR, around=around)
    try:
        chat.client.require_key()
    except ConfigurationError:
        # A pipeline has no `api_key=`, so the message names the variable only.
        raise ConfigurationError(
            f"{chat.client.key_variable} environment variable not set", provider=chat.provider
        ) from None
    return chat


async def run_agent(
    model: AsyncModel | ChatProvider,
    prompt: str,
    *,
    system_prompt: str = "",
    workdir: Path,
    max_turns: int,
    report: Callable[[Kind, str], None] | None = None,
    tracing: Spans | None = None,
    name: str = "",
) -> str:
    """Let an agent work until it answers; returns the text of the answer.

    With `report`, the model streams: `report` gets the pieces of its answers as they arrive, its
    tool calls and their results. `name` is the agent's in the spans that `tracing` makes.

    Raises `MaxTurnsError` if there is no answer after `max_turns` requests, and the errors of the
    client.
    """
    tools = workspace_tools(workdir)
    agent = LLMAgent(
        model,
        system_prompt,
        tools=tools,
        guard=ATTRACTOR,
        view=shortened,
        retry=retry.ATTRACTOR,
        tracing=tracing,
        name=name,
    )
    if report is None:
        result = await agent.run(prompt, max_steps=max_turns)
    else:
        async with agent.stream(prompt, max_steps=max_turns) as events:
            async for event in events:
                _report_event(report, event)
        result = events.result
    if result.reason == "max_steps":
        text = next(
            (
                message.text
                for message in reversed(result.messages)
                if message.role == "assistant" and message.text
            ),
            "",
        )
        raise MaxTurnsError(f"agent loop exceeded maximum turns ({max_turns})", partial=text)
    reply = result.reply
    if reply is not None and reply.stop.reason != "end":
        text, name = (
            "the answer of %s stopped with %s: it may be incomplete",
            model_name(agent.model),
        )
        log.warning(text, name, reply.stop.reason)
        log.debug(text, name, reply.stop.raw)  # a word of the server
    return result.text


def _report_event(report: Callable[[Kind, str], None], event: AgentEvent) -> None:
    match event:
        case TextDelta(text):
            report("answer", text)
        case Restart():
            report("answer", "\n(the host ran the model again: the answer begins anew)\n")
        case ToolCallEnd(call=call):
            report("call", shown(format_call(call)))
        case ToolRun(result=result):
            values = [*result.answer.values()]
            value = values[0] if len(values) == 1 else result.answer
            kind = "error: " if result.error else ""
            report("result", shown(f"{result.name}: {kind}{written(value)}"))
