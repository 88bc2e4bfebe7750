"""The engine: runs a pipeline on asyncio or trio, and writes checkpoints.

A run goes from node to node; `routing.py` decides which node follows. The branches of a fan_out run
at the same time, each from its first node up to the fan_in.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import msgspec

from wire.agent import AsyncModel
from wire.agent.model import closing_model
from wire.agent.provider import ChatProvider, as_model
from wire.agent.spans import Spans, checked_spans, inside
from wire.chat.chat import AsyncChat
from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError, PipelineError, WireError, one_line
from wire.pipeline.checkpoint import Checkpoint, write_checkpoint
from wire.pipeline.codergen import connect as connect_by_environment
from wire.pipeline.codergen import models_of
from wire.pipeline.context import Context
from wire.pipeline.graph import Graph, Node, seconds
from wire.pipeline.handlers import Visit
from wire.pipeline.linting import Finding, lint
from wire.pipeline.node_types import NodeTypes
from wire.pipeline.progress import Event, Kind
from wire.pipeline.routing import MAX_VISITS, fan_ins, following


class NodeError(PipelineError):
    """A node failed. `node_id` is its id, `__cause__` the exception of its handler."""

    node_id: str = ""
    """Id of the node that failed."""


class LintError(PipelineError):
    """The pipeline has errors, so nothing was run. `findings` has all of them."""

    findings: tuple[Finding, ...] = ()
    """All problems of the pipeline."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run that did not fail."""

    context: dict[str, Any]
    """The context at the end of the run."""
    last_node_id: str
    """The exit, unless the run ended at a node without outgoing edges (P-67)."""


class Engine:
    """Runs a pipeline.

    >>> from wire.pipeline.dot import parse
    >>> nodes = 'start; hi [type=set, key=hi, value="Hi {{.seed}}"]; exit'
    >>> graph = parse(f"digraph {{ {nodes}; start -> hi -> exit }}")
    >>> anyio.run(Engine(graph).run, {"seed": "Ada"}).context["hi"]
    'Hi Ada'

    - `model`: the model of nodes that name none, as `provider:model`.
    - `workdir`: the work folder of agents.
    - `types`: the types of nodes, by default the built-in ones.
    - `connect(name)`: returns the model of that name: an `AsyncChat`, another `AsyncModel` or a
      `ChatProvider`. It is called once for each model, before the first node; the model is closed
      at the end of the run.
    - `checkpoint`: a file that is written after each completed node.
    - `timeout`: cancels the run after this time, in seconds or as `"5m"`.
    - `report(event)`: called when a node starts, asks the user, completes or fails, and with each
      piece of an agent's answer, each of its tool calls and each result. Without it, models are not
      asked for streams.
    - `ask(text)`: asks the user and returns the answer.
    - `now()`: returns the current time as text.
    - `tracing`: what `wire.otel.tracing()` returns: makes a span of the run and of each node, of
      its agent and of the agent's tools. The models that `connect` makes by default get it as
      `around=`; those of another `connect` have their own.

    Raises `LintError` for a pipeline with errors, `PipelineError` for an option that is not valid.
    """

    graph: Graph
    """The pipeline, with the types of its nodes resolved."""
    model: str
    """The model of nodes that name none, as `provider:model`."""

    @checked_arguments(PipelineError, before=True)
    def __init__(
        self,
        graph: Graph,
        *,
        model: str = "",
        workdir: str | os.PathLike[str] = ".",
        types: NodeTypes | None = None,
        connect: Callable[[str], AsyncModel | ChatProvider] = connect_by_environment,
        checkpoint: str | os.PathLike[str] | None = None,
        timeout: float | str | None = None,
        report: Callable[[Event], object] | None = None,
        ask: Callable[[str], Awaitable[str]] | None = None,
        now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
        tracing: Spans | None = None,
    ) -> None:
        self.types: NodeTypes = NodeTypes() if types is None else types
        self.graph, self.model = self.types.resolve(graph), model
        findings = tuple(each for each in lint(graph, types=self.types) if each.severity == "error")
        if findings:
            error = LintError("; ".join(map(str, findings)))
            error.findings = findings
            raise error
        self.workdir: Path = Path(workdir)
        if not _is_folder(self.workdir):
            raise PipelineError(f"workdir: {workdir}: not a folder")
        self.checkpoint = checkpoint
        try:
            self.timeout: float | None = None if timeout is None else seconds(timeout)
        except PipelineError as problem:
            raise PipelineError(f"timeout: {problem.message}") from None
        with_model = [
            node for node in self.graph.nodes.values() if self.types[node.type].needs_model
        ]
        self._models = models_of(with_model, model)
        self._pairs = fan_ins(self.graph)
        self._tracing = checked_spans(tracing, PipelineError)
        if tracing is not None and connect is connect_by_environment:
            connect = functools.partial(connect_by_environment, around=tracing)
        self._connect, self._ask, self._now = connect, ask, now
        self._report = report or (lambda event: None)
        self._streams = report is not None

    @checked_arguments(PipelineError, before=True)
    async def run(self, variables: Mapping[str, Any] | None = None) -> Ended:
        """Run the pipeline from its start. `variables` are the first values of the context.

        Raises `ConfigurationError` for a missing key, before anything is sent, `NodeError` for a
        node that fails or is visited too often, and `PipelineError` if the timeout passes or no
        condition of an edge holds.
        """
        return await self._run(Context(variables), {}, self.graph.start.id, self.graph.start.id)

    @checked_arguments(PipelineError, before=True)
    async def resume(
        self, checkpoint: Checkpoint, variables: Mapping[str, Any] | None = None
    ) -> Ended:
        """Continue after the last completed node of a checkpoint.

        `variables` are added to its context, and replace values with the same key. Raises as `run`,
        and `PipelineError` if that node is no longer in the pipeline.
        """
        last = checkpoint.last_node_id
        if last not in self.graph.nodes:
            raise PipelineError(
                f"checkpoint: its last node {last!r} is not in pipeline {self.graph.name!r}"
            )
        context = Context({**checkpoint.data, **(variables or {})})
        return await self._run(
            context,
            dict(checkpoint.visits),
            last,
            following(self.graph, last, context, self._pairs),
        )

    async def _run(
        self, context: Context, visits: dict[str, int], last: str, node_id: str | None
    ) -> Ended:
        async with AsyncExitStack() as open_models:
            if self._tracing is not None:
                open_models.enter_context(inside(self._tracing._pipeline_span(self.graph.name)))
            run = _Run(self, visits, await self._connected(open_models))
            with anyio.move_on_after(self.timeout) as clock:
                while node_id is not None:
                    last = node_id
                    await run.visit(
                        self.graph.nodes[last], context, save=self.checkpoint is not None
                    )
                    node_id = following(self.graph, last, context, self._pairs)
            if clock.cancelled_caught:
                raise PipelineError(
                    f"timeout: the pipeline took longer than {self.timeout:g} s and was cancelled"
                )
        node = self.graph.nodes[last]
        if node.type != "exit":
            self._report(Event("ended", node))
        return Ended(context=context.snapshot(), last_node_id=last)

    async def _connected(self, stack: AsyncExitStack) -> dict[str, AsyncModel]:
        """Connect the models by name. All missing keys are in one error, before any request."""
        models: dict[str, AsyncModel] = {}
        problems: list[str] = []
        for name, node_id in self._models.items():
            try:
                model = as_model(self._connect(name))
                await stack.enter_async_context(closing_model(model))
                if isinstance(model, AsyncChat):
                    model.client.require_key()
                models[name] = model
            except ConfigurationError as problem:
                problems.append(f"node {node_id!r}: {problem}")
        if problems:
            raise ConfigurationError("; ".join(problems))
        return models


class _Run:
    """The state of one run: the visits of each node, and the models."""

    def __init__(
        self, engine: Engine, visits: dict[str, int], models: Mapping[str, AsyncModel]
    ) -> None:
        self._engine, self._visits, self._models = engine, visits, models
        self._user_lock = anyio.Lock()

    async def visit(self, node: Node, context: Context, *, save: bool = False) -> None:
        """Run a node and store its values in the context; a node that fails stores nothing.

        With `save`, the checkpoint is written before the node is reported as completed.
        """
        # Handlers that never wait would otherwise keep a cancellation from the run.
        await anyio.lowlevel.checkpoint()
        report, spans = self._engine._report, self._engine._tracing
        began = anyio.current_time()
        report(Event("started", node))
        try:
            with inside(spans._node_span(node.id, node.type)) if spans else nullcontext():
                self._visits[node.id] = self._visits.get(node.id, 0) + 1
                if self._visits[node.id] > MAX_VISITS:
                    raise PipelineError(
                        f"visited more than {MAX_VISITS} times: the pipeline does not leave a loop"
                    )
                timeout = node.attributes.get("timeout")
                limit = None if timeout is None else seconds(timeout)
                with anyio.move_on_after(limit) as clock:
                    await self._work(node, context)
                if clock.cancelled_caught:
                    raise PipelineError(
                        f"timeout: the node took longer than {limit:g} s and was cancelled"
                    )
        except Exception as cause:
            error = _failed(node, cause)
            report(Event("failed", node, anyio.current_time() - began, str(error)))
            raise error from cause
        if save:
            self._save(node, context)
        report(Event("completed", node, anyio.current_time() - began))

    def _save(self, node: Node, context: Context) -> None:
        engine = self._engine
        assert engine.checkpoint is not None
        checkpoint = Checkpoint(
            last_node_id=node.id,
            data=context.snapshot(),
            pipeline=engine.graph.name,
            visits=dict(self._visits),
        )
        write_checkpoint(engine.checkpoint, checkpoint)

    async def _work(self, node: Node, context: Context) -> None:
        engine = self._engine
        row = engine.types[node.type]
        assert row.handler is not None  # lint refuses such nodes

        async def branches() -> None:
            await self._branches(node, context)

        async def ask(text: str) -> str:
            if engine._ask is None:
                raise PipelineError("the engine has no `ask` to reach a user")
            async with self._user_lock:
                engine._report(Event("asking", node))
                return await engine._ask(text)

        def report(kind: Kind, message: str) -> None:
            engine._report(Event(kind, node, message=message))

        visit = Visit(
            node=row.with_defaults(node),
            context=context,
            graph=engine.graph,
            workdir=engine.workdir,
            model=engine.model,
            models=self._models,
            ask=ask,
            branches=branches,
            now=engine._now,
            report=report if engine._streams else None,
            tracing=engine._tracing,
        )
        result = row.handler(visit)
        new = await result if inspect.isawaitable(result) else result
        context.set_all(new or {})

    async def _branches(self, node: Node, context: Context) -> None:
        """Run all branches at the same time, then merge their contexts (P-34 to P-36).

        A branch that fails does not cancel the others; the error has the messages of all.
        """
        graph, fan_in = self._engine.graph, self._engine._pairs[node.id]
        targets = [edge.target for edge in graph.outgoing(node.id)]
        contexts = [context.clone() for _ in targets]
        failed: dict[int, Exception] = {}

        async def branch(index: int) -> None:
            try:
                await self._walk(targets[index], fan_in, contexts[index])
            except Exception as error:
                failed[index] = error

        async with anyio.create_task_group() as group:
            for index in range(len(targets)):
                group.start_soon(branch, index)
        if failed:
            # Each message is shortened by itself: an error shortens a long text by removing its
            # middle, which would remove complete messages.
            limit = max(120, 1200 // len(failed))
            messages = "; ".join(one_line(str(error), limit) for _, error in sorted(failed.items()))
            raise PipelineError(
                f"{len(failed)} of {len(targets)} branches failed: {messages}"
            ) from next(iter(failed.values()))
        context.merge(contexts)

    async def _walk(self, node_id: str, fan_in: str, context: Context) -> None:
        """Run one branch from its first node up to the fan_in, which is not part of it."""
        graph = self._engine.graph
        while node_id != fan_in:
            node = graph.nodes[node_id]
            if node.type == "exit":
                raise PipelineError(
                    f"node {node_id!r}: a branch reached the exit before its fan_in {fan_in!r}"
                )
            await self.visit(node, context)
            next_id = following(graph, node_id, context, self._engine._pairs)
            if next_id is None:
                raise PipelineError(
                    f"node {node_id!r}: a branch ended here, before its fan_in {fan_in!r}"
                )
            node_id = next_id


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a name that no system accepts
        return False


def _failed(node: Node, cause: Exception) -> NodeError:
    text = str(cause) if isinstance(cause, WireError) else f"{type(cause).__name__}: {cause}"
    # Errors of templates already name the node.
    prefix = f"node {node.id!r}: "
    error = NodeError(
        text if text.startswith(prefix) else prefix + text, partial=getattr(cause, "partial", None)
    )
    error.node_id = node.id
    return error
