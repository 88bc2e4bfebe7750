"""The handlers of the built-in types of nodes.

A handler returns the new values of the context. The engine decides which node follows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from wire.core.errors import PipelineError
from wire.pipeline.context import Context
from wire.pipeline.graph import Graph, Node, count, written
from wire.pipeline.templates import render

if TYPE_CHECKING:
    from wire.agent import AsyncModel
    from wire.agent.spans import Spans
    from wire.pipeline.progress import Kind


@dataclasses.dataclass(frozen=True)
class Visit:
    """One run of one node: the argument of a handler."""

    node: Node
    """The node, with the defaults of its type."""
    context: Context
    """The context, which the node reads."""
    graph: Graph
    """The pipeline that runs."""
    workdir: Path
    """The work folder of agents."""
    model: str
    """The model of nodes that name none."""
    models: Mapping[str, AsyncModel]
    """The models of this run, by name."""
    ask: Callable[[str], Awaitable[str]]
    """Shows a text to the user and returns the line that the user enters.

    Raises `EOFError` at the end of the input.
    """
    branches: Callable[[], Awaitable[None]]
    """Runs the branches of a fan_out."""
    now: Callable[[], str]
    """Returns the current time as text."""
    report: Callable[[Kind, str], None] | None = None
    """Reports an event of this node: `answer`, `call` or `result`, and its text. `None`
    reports nothing.
    """
    tracing: Spans | None = None
    """Makes the spans of the agent of this node; `None` without tracing."""

    def text(self, name: str, default: str = "") -> str:
        """Render an attribute as a template, with the values of the context.

        Raises `PipelineError`, which names node and key, for a key that the context does not have.
        """
        if not isinstance(default, str):
            raise PipelineError(f"default: expected a str, not {type(default).__name__}")
        goal = self.graph.attributes.get("goal")
        return render(
            self.node.text(name, default),
            self.context,
            node=self.node.id,
            goal=None if goal is None else written(goal),
        )


Handler: TypeAlias = Callable[
    [Visit], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None
]
"""A function, async or not, that returns the new values of the context.

An exception that it raises fails the node, and with it the run.
"""


def start(visit: Visit) -> dict[str, Any]:
    """Store the seed and the time. A seed of the caller replaces that of the node (P-23)."""
    seed = (
        {"seed": visit.node.text("seed")}
        if "seed" in visit.node.attributes and "seed" not in visit.context
        else {}
    )
    return {**seed, "start_time": visit.now()}


def exit(visit: Visit) -> dict[str, Any]:
    """Store the time (P-24)."""
    return {"exit_time": visit.now()}


def set_value(visit: Visit) -> dict[str, Any]:
    """Store `value` under `key` (P-33)."""
    key = visit.node.text("key").strip()
    if not key:
        raise PipelineError("a node of type set needs the attribute key")
    return {key: visit.text("value")}


def pass_through(visit: Visit) -> None:
    """Do nothing. The edges, or the engine, decide which node follows."""


async def fan_out(visit: Visit) -> None:
    """Run the branches at the same time, each with its own context (P-34)."""
    await visit.branches()


async def codergen(visit: Visit) -> dict[str, Any]:
    """Let an agent work on the prompt, and store its answer (P-25 to P-28)."""
    # Lint reads the types of nodes, and needs no HTTP stack.
    from wire.pipeline.codergen import model_of_node, run_agent

    text = await run_agent(
        visit.models[model_of_node(visit.node, visit.model)],
        _prompt(visit),
        system_prompt=visit.text("system_prompt"),
        workdir=visit.workdir,
        max_turns=count(visit.node.attributes["max_turns"]),
        report=visit.report,
        tracing=visit.tracing,
        name=visit.node.id,
    )
    return {"last_output": text, f"{visit.node.id}_output": text}


def _prompt(visit: Visit) -> str:
    """Return the prompt of the node, else the seed, else the label (P-26)."""
    if visit.node.text("prompt").strip():
        return visit.text("prompt")
    if visit.context.get("seed"):
        return written(visit.context["seed"])
    if visit.node.text("label").strip():
        return visit.text("label")
    raise PipelineError("no prompt: give the node the attribute prompt, or give the run a seed")


async def wait_human(visit: Visit) -> dict[str, Any]:
    """Ask the user and store the answer. With `options`, the answer is one of them (P-30).

    An option is chosen by its number or its text. The question is repeated until one is chosen.
    """
    options = [each.strip() for each in visit.text("options").split(",") if each.strip()]
    question = visit.text("prompt") or visit.text("label") or visit.node.id
    for number, option in enumerate(options, 1):
        question += f"\n  {number}) {option}"
    key = visit.node.text("key").strip()
    while True:
        try:
            line = (await visit.ask(question)).strip()
        except EOFError:
            raise PipelineError("the input ended before an answer") from None
        chosen = _chosen(line, options)
        if chosen is not None:
            return {key: chosen}
        question = f"{line!r} is not an option: enter a number from 1 to {len(options)}, or a text"


def _chosen(line: str, options: list[str]) -> str | None:
    """Return the chosen option; `None` if the line chooses none.

    A text is matched before a number, because an option may be a number.
    """
    if not options:
        return line
    by_text = {option.casefold(): option for option in reversed(options)}
    if line.casefold() in by_text:
        return by_text[line.casefold()]
    return (
        options[int(line) - 1]
        if line.isascii() and line.isdigit() and 1 <= int(line) <= len(options)
        else None
    )
