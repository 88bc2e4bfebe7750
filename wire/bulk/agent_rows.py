"""Rows that are runs of an agent: each has a history of its own, and is saved until it has a line.

The loop is that of the agent. A row that was interrupted is resumed from its saved run, so that
its tools do not run twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import msgspec

from wire.agent.copies import copy_of
from wire.agent.hooks import refuse_coroutine
from wire.agent.llm_agent import LLMAgent
from wire.agent.model import close_model
from wire.agent.run_state import RunState
from wire.agent.state import AgentState
from wire.agent.steps import Ask
from wire.around.pace import Limiter
from wire.bulk.job import Job, is_of_all_rows
from wire.bulk.results import AgentRun, Outcome, Result, outcome_of_run
from wire.bulk.rows import Question, Row, given_settings, question_of
from wire.bulk.run_folder import Kept, RunFolder
from wire.catalogue.cost import exact_sum
from wire.catalogue.usage import Usage
from wire.chat.chat import AsyncChat, Chat
from wire.chat.fallback import AsyncFallbackChat, FallbackChat
from wire.core.errors import ConfigurationError, RuleError, Violation, WireError
from wire.core.memory import Note, with_notes
from wire.core.secret import type_name
from wire.neutral.messages import Message, Reply, Stop
from wire.neutral.output import OutputType
from wire.neutral.output_calls import read_output
from wire.neutral.request import Request

_OF_ROWS = ("system", "max_tokens", "temperature", "output")
"""The settings that a row may have of its own."""


class Door(Protocol):
    """The way of the requests of one row, if they do not go to the chat of the agent itself."""

    job: str
    """The key of the job whose reply is the last one in the saved run."""

    @property
    def model(self) -> Any:
        """The model that the agent asks in place of its own."""
        ...

    def changed(self, state: RunState) -> str:
        """Note a state of the run; return the key of the job whose reply was the last in it."""
        ...

    def saved(self) -> None:
        """Note that this state is saved."""
        ...

    @property
    def notes(self) -> tuple[Note, ...]:
        """What went otherwise than usual."""
        ...


class AgentJob:
    """The agent of a run, and how it is asked."""

    is_agent: ClassVar[bool] = True

    def __init__(self, agent: AgentState, output: Any, max_steps: int | None) -> None:
        """Raise `ConfigurationError` for an agent without a chat."""
        self.agent, self._output, self._max_steps = agent, output, max_steps
        self._job = Job(models=_chats_of(agent))

    @property
    def names(self) -> list[str]:
        """`provider:model` of each model that may answer."""
        return self._job.names

    @property
    def header(self) -> dict[str, Any]:
        """That rows are runs: a new start has an agent, too."""
        return {"agent": True}

    @property
    def beside(self) -> int | None:
        """None: a row is no input of questions."""
        return None

    @property
    def streams(self) -> bool:
        """Whether the agent streams each reply."""
        return self.agent._early_tools

    def settings(self) -> dict[str, Any]:
        """Return the settings of its requests, as fields of a `Request`."""
        chat: Any = self._job.models[0]
        output = self.agent.output if self._output is None else self._output
        settings = self.agent._settings(self.agent.model, Ask((), output=output))
        settings.pop("output_retries", None)
        if output is not None:
            settings["output"] = OutputType(output).output
        request: Request = Request(messages=(), **{**chat._settings, **settings})
        return given_settings(request)

    def asker(self, *around: Limiter[Any], runs: RunFolder | None = None) -> AgentAsker:
        """Build new chats, whose calls wait for `around`, and what asks them."""
        chats = self._job.chats(*around)
        model: Any = chats[0]
        if isinstance(self.agent.model, FallbackChat | AsyncFallbackChat):
            model = AsyncFallbackChat.__new__(AsyncFallbackChat)
            vars(model).update({**vars(self.agent.model), "chats": tuple(chats), "_own": []})
        agent = copy_of(self.agent, model)
        if agent._long is not None:
            agent._long.summarizer(model, AsyncChat)  # once for all rows
        return AgentAsker(agent, self.agent, chats, self._output, self._max_steps, runs)


def _chats_of(agent: AgentState) -> tuple[Chat | AsyncChat, ...]:
    model = agent.model
    if isinstance(model, Chat | AsyncChat):
        return (model,)
    if isinstance(model, FallbackChat | AsyncFallbackChat):
        return model.chats
    if hasattr(model, "policy"):
        raise ConfigurationError(
            "caching: rows share no context cache of an agent; give caching='off' to the agent"
        )
    raise ConfigurationError(
        f"model: the model of the agent is a {type_name(model)}; expected a chat"
    )


class AgentAsker:
    """Runs the agent for rows, some at a time."""

    def __init__(
        self,
        agent: LLMAgent,
        given: AgentState,
        chats: list[AsyncChat],
        output: Any,
        max_steps: int | None,
        folder: RunFolder | None,
    ) -> None:
        self.agent, self.chats, self.folder = agent, chats, folder
        self.output, self.max_steps = output, max_steps
        self.hook = given._on_change
        self._own = None if given._long is None else given._long.own
        self.steps: int = 0
        """The replies that all rows have got."""

    async def answer(self, row: Row, door: Door | None = None) -> Outcome:
        """Run the agent for one row.

        Raises an error that each row would get, such as `AuthenticationError`, and
        `ConfigurationError` for a saved run that cannot be read or written.
        """
        kept = None if self.folder is None or row.problem else self.folder.read(row)
        metadata: Any = None
        run: RowRun | None = None
        try:
            question = question_of(row)
            metadata = question.metadata
            run = RowRun(self, row, question, kept, door)
            reply = await run.reply()
        except WireError as error:
            broken = None if run is None else run.broken
            if broken is not None:
                raise broken from None
            if is_of_all_rows(error):
                raise
            failed = Result(id=row.id, row=row.number, error=error, metadata=metadata)
            return self._outcome(row, failed, run)
        answered = Result(id=row.id, row=row.number, reply=reply, metadata=metadata)
        return self._outcome(row, answered, run)

    def _outcome(self, row: Row, result: Result, run: RowRun | None) -> Outcome:
        value = None if run is None else run.value
        before = Usage() if run is None else run.before.usage
        return outcome_of_run(row, msgspec.structs.replace(result, run=value), before)

    async def aclose(self) -> None:
        """Close the chats that were made for the run."""
        for chat in self.chats:
            await chat.aclose()
        long = self.agent._long
        if long is not None and self._own is None:
            await close_model(long.own)


class RowRun:
    """The run of one row."""

    def __init__(
        self,
        asker: AgentAsker,
        row: Row,
        question: Question,
        kept: tuple[RunState, Kept] | None,
        door: Door | None,
    ) -> None:
        """Raise `RuleError` for settings that a row cannot have."""
        self._asker, self._row, self._door = asker, row, door
        self._state: RunState | None = None
        self._kept = Kept(digest=row.digest)
        if kept is not None:
            self._state, self._kept = kept
        if door is not None:
            door.job = self._kept.job
        settings = _checked(question.settings)
        self._output = settings.get("output", asker.output)
        self._notes = question.notes
        self.broken: ConfigurationError | None = None
        """Why the run could not be saved."""
        model = asker.agent.model if door is None else door.model
        messages = question.request.messages
        self._agent = copy_of(asker.agent, model, messages, self._changed)
        self._agent.system_prompt = settings.get("system", self._agent.system_prompt)
        for name in ("max_tokens", "temperature"):
            setattr(self._agent, name, settings.get(name, getattr(self._agent, name)))
        self.before: RunState = self._state or RunState(messages=messages, begun=len(messages))
        self._asked = self.before.asked

    async def reply(self) -> Reply:
        """Run the agent to its end, and return the last reply.

        A run that has ended before, and of which the line was not written, is not asked again.
        """
        steps = self._asker.max_steps
        state = self._state
        if state is None or state.reason is None:
            result = (
                await self._agent.run(None, steps, output=self._output)
                if state is None
                else await self._agent.resume(state, max_steps=steps, output=self._output)
            )
            state = result.state
            last = result.reply
        else:
            last = None
        reply = self._last_of(state) if last is None else last
        added = (*self._notes, *(self._door.notes if self._door is not None else ()))
        return with_notes(reply, added) if added else reply

    def _last_of(self, state: RunState) -> Reply:
        """Return the last reply of a run whose replies another process has got."""
        own = state.messages[state.begun :]
        empty = Message("assistant", ())
        message = next((each for each in own[::-1] if each.role == "assistant"), empty)
        ended = state.reason == "end"
        reply = Reply(message, Stop("end" if ended else "other"))
        output = self._agent.output if self._output is None else self._output
        return read_output(reply, OutputType(output)) if ended and output is not None else reply

    @property
    def value(self) -> AgentRun:
        """The run so far."""
        last = self._agent.last_run
        state = self.before if last is None else last.state
        kept = self._figures()
        return AgentRun(state=state, known=kept.known, unpriced=kept.unpriced)

    def _figures(self) -> Kept:
        """Return what is kept, with the cost of the replies since the start."""
        last = self._agent.last_run
        if last is None:
            return self._kept
        result = last.result
        replies = (*(step.reply for step in result.steps), *result.compactions)
        costs = [reply.cost for reply in replies]
        return msgspec.structs.replace(
            self._kept,
            known=exact_sum((self._kept.known, *(cost.known for cost in costs))),
            unpriced=self._kept.unpriced + sum(cost.total is None for cost in costs),
        )

    def _changed(self, state: RunState) -> None:
        """Save a state of the run."""
        asker, door = self._asker, self._door
        asker.steps += max(0, state.asked - self._asked)
        self._asked = state.asked
        job = self._kept.job if door is None else door.changed(state)
        if asker.folder is not None and _has_begun(state):
            kept = msgspec.structs.replace(self._figures(), job=job)
            try:
                asker.folder.save(self._row.number, state, kept)
            except ConfigurationError as error:
                self.broken = error
                raise
        if door is not None:
            door.saved()
        if asker.hook is not None:
            refuse_coroutine("on_change", asker.hook(state), "None")


def _has_begun(state: RunState) -> bool:
    """Return whether a run has something that a new one would not have."""
    is_new = not (state.asked or state.started or state.compacted)
    return not is_new or len(state.messages) != state.begun


def _checked(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raise `RuleError` for a setting that the agent alone may have."""
    for name in settings:
        if name not in _OF_ROWS:
            remedy = "give it to the agent or its chat"
            raise RuleError(
                violations=[Violation(name, "not of a row for an agent", remedy=remedy)]
            )
    return settings
