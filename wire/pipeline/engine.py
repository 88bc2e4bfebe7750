"""The runner: walks the graph, lets handlers do their work, keeps checkpoints. What it decides by
is in `routing.py`.

On asyncio and trio. A run is a walk from node to node; branches of a fan_out are walks of their
own, at once, up to their fan_in.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import msgspec

from wire.chat import AsyncChat
from wire.errors import ConfigurationError, PipelineError, WireError, one_line
from wire.pipeline.checkpoint import Checkpoint, write_checkpoint
from wire.pipeline.codergen import connect as connect_by_environment
from wire.pipeline.codergen import models_of
from wire.pipeline.context import Context
from wire.pipeline.graph import Graph, Node, seconds
from wire.pipeline.handlers import Visit
from wire.pipeline.linting import Finding, lint
from wire.pipeline.node_types import NodeTypes
from wire.pipeline.progress import Event
from wire.pipeline.routing import MOST_VISITS, fan_ins, following


class NodeError(PipelineError):
    """A node has failed; `node_id` says which, `__cause__` is what its handler raised."""

    node_id: str = ""


class LintError(PipelineError):
    """Nothing was run: the pipeline has errors, all of which `findings` has."""

    findings: tuple[Finding, ...] = ()


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended that did not fail."""

    context: dict[str, Any]
    last_node_id: str
    """The exit, unless the run ended at a node that leads nowhere (P-67)."""


class Engine:
    """A pipeline that can be run.

    >>> from wire.pipeline.dot import parse
    >>> graph = parse('digraph { start -> hi -> exit; start [type=start]; hi [type=set, key=hi, value="Hi {{.seed}}"]; exit [type=exit] }')
    >>> anyio.run(Engine(graph).run, {"seed": "Ada"}).context["hi"]
    'Hi Ada'

    `model` is for nodes that name none, `workdir` is where agents work. `connect(name)` gives the
    chat with a model; each is made once for a run, before its first node, and closed with it.
    `checkpoint` is a file that tells after each node where the run stands. `timeout`, in seconds or
    as `"5m"`, ends the run. `told(event)` hears of nodes as they begin and end. `ask(text)` asks
    the user.

    Raises `LintError` for a pipeline with errors, `PipelineError` for an option that is none.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        model: str = "",
        workdir: str | os.PathLike[str] = ".",
        types: NodeTypes | None = None,
        connect: Callable[[str], AsyncChat] = connect_by_environment,
        checkpoint: str | os.PathLike[str] | None = None,
        timeout: float | str | None = None,
        told: Callable[[Event], object] = lambda event: None,
        ask: Callable[[str], Awaitable[str]] | None = None,
        now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
    ) -> None:
        self.types = NodeTypes() if types is None else types
        self.graph, self.model = self.types.resolve(graph), model
        findings = tuple(each for each in lint(graph, types=self.types) if each.severity == "error")
        if findings:
            error = LintError("; ".join(map(str, findings)))
            error.findings = findings
            raise error
        self.workdir = Path(workdir)
        if not self.workdir.is_dir():
            raise PipelineError(f"workdir: {workdir}: there is no such folder")
        self.checkpoint = checkpoint
        self.timeout = None if timeout is None else seconds(timeout)
        asking = [node for node in self.graph.nodes.values() if self.types[node.type].needs_model]
        self._models = models_of(asking, model)
        self._pairs = fan_ins(self.graph)
        self._connect, self._told, self._ask, self._now = connect, told, ask, now

    async def run(self, variables: Mapping[str, Any] | None = None) -> Ended:
        """Run it from its start; `variables` are what the context begins with.

        Raises `ConfigurationError` for a key that is missing, before anything is sent, `NodeError`
        for a node that fails, and `PipelineError` if the time is over, no edge can be taken, or the
        run goes in circles.
        """
        return await self._run(Context(variables), {}, self.graph.start.id, self.graph.start.id)

    async def resume(
        self, checkpoint: Checkpoint, variables: Mapping[str, Any] | None = None
    ) -> Ended:
        """Go on after the last completed node of a checkpoint; `variables` come on top of what it
        knows.

        Raises as `run`, and `PipelineError` if that node is not in the pipeline any more.
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
        async with AsyncExitStack() as open_chats:
            run = _Run(self, visits, await self._connected(open_chats))
            with anyio.move_on_after(self.timeout) as clock:
                while node_id is not None:
                    last = node_id
                    await run.visit(
                        self.graph.nodes[last], context, kept=self.checkpoint is not None
                    )
                    node_id = following(self.graph, last, context, self._pairs)
            if clock.cancelled_caught:
                raise PipelineError(
                    f"timeout: the pipeline took longer than {self.timeout:g} s and was cancelled"
                )
        node = self.graph.nodes[last]
        if node.type != "exit":
            self._told(Event("ended", node))
        return Ended(context=context.snapshot(), last_node_id=last)

    async def _connected(self, stack: AsyncExitStack) -> dict[str, AsyncChat]:
        """A chat for each model; all that is missing is named at once, before anything is sent."""
        chats: dict[str, AsyncChat] = {}
        problems: list[str] = []
        for name, node_id in self._models.items():
            try:
                chat = self._connect(name)
                await stack.enter_async_context(chat)
                chat.client.require_key()
                chats[name] = chat
            except ConfigurationError as problem:
                problems.append(f"node {node_id!r}: {problem}")
        if problems:
            raise ConfigurationError("; ".join(problems))
        return chats


class _Run:
    """One run: how often its nodes were visited, and whom they ask."""

    def __init__(
        self, engine: Engine, visits: dict[str, int], chats: Mapping[str, AsyncChat]
    ) -> None:
        self._engine, self._visits, self._chats = engine, visits, chats
        self._at_the_user = anyio.Lock()

    async def visit(self, node: Node, context: Context, *, kept: bool = False) -> None:
        """Run a node, and store what is new; nothing of it is stored if it fails.

        `kept`: the checkpoint has it before it is told.
        """
        told = self._engine._told
        began = anyio.current_time()
        told(Event("started", node))
        try:
            self._visits[node.id] = self._visits.get(node.id, 0) + 1
            if self._visits[node.id] > MOST_VISITS:
                raise PipelineError(
                    f"visited more than {MOST_VISITS} times: the pipeline goes in circles"
                )
            limit = seconds(node.attributes["timeout"]) if "timeout" in node.attributes else None
            with anyio.move_on_after(limit) as clock:
                await self._work(node, context)
            if clock.cancelled_caught:
                raise PipelineError(f"timeout: it took longer than {limit:g} s and was cancelled")
        except Exception as cause:
            error = _failed(node, cause)
            told(Event("failed", node, anyio.current_time() - began, str(error)))
            raise error from cause
        if kept:
            self._keep(node, context)
        told(Event("completed", node, anyio.current_time() - began))

    def _keep(self, node: Node, context: Context) -> None:
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
                raise PipelineError("nobody is there to be asked")
            async with self._at_the_user:
                engine._told(Event("asking", node))
                return await engine._ask(text)

        visit = Visit(
            node=row.with_defaults(node),
            context=context,
            graph=engine.graph,
            workdir=engine.workdir,
            model=engine.model,
            chats=self._chats,
            ask=ask,
            branches=branches,
            now=engine._now,
        )
        result = row.handler(visit)
        new = await result if inspect.isawaitable(result) else result
        context.update(Context(new))

    async def _branches(self, node: Node, context: Context) -> None:
        """All branches at once, each to its end whatever becomes of the others; then their contexts
        are merged (P-34 to P-36).
        """
        graph, fan_in = self._engine.graph, self._engine._pairs[node.id]
        targets = [edge.target for edge in graph.outgoing(node.id)]
        contexts = [context.clone() for _ in targets]
        failed: dict[int, Exception] = {}

        async def branch(place: int) -> None:
            try:
                await self._walk(targets[place], fan_in, contexts[place])
            except Exception as error:
                failed[place] = error

        async with anyio.create_task_group() as group:
            for place in range(len(targets)):
                group.start_soon(branch, place)
        if failed:
            room = max(
                120, 1200 // len(failed)
            )  # for the words of each, so that none is cut out of the middle
            said = "; ".join(one_line(str(error), room) for _, error in sorted(failed.items()))
            raise PipelineError(
                f"{len(failed)} of {len(targets)} branches failed: {said}"
            ) from next(iter(failed.values()))
        context.merge(contexts)

    async def _walk(self, node_id: str, fan_in: str, context: Context) -> None:
        """One branch, from its first node up to the fan_in, which is not its own any more."""
        graph = self._engine.graph
        while node_id != fan_in:
            node = graph.nodes[node_id]
            if node.type == "exit":
                raise PipelineError(
                    f"node {node_id!r}: a branch has come to the exit before its fan_in {fan_in!r}"
                )
            await self.visit(node, context)
            then = following(graph, node_id, context, self._engine._pairs)
            if then is None:
                raise PipelineError(
                    f"node {node_id!r}: a branch ends here, before its fan_in {fan_in!r}"
                )
            node_id = then


def _failed(node: Node, cause: Exception) -> NodeError:
    said = str(cause) if isinstance(cause, WireError) else f"{type(cause).__name__}: {cause}"
    # Errors of templates name the node themselves.
    prefix = f"node {node.id!r}: "
    error = NodeError(
        said if said.startswith(prefix) else prefix + said, partial=getattr(cause, "partial", None)
    )
    error.node_id = node.id
    return error
