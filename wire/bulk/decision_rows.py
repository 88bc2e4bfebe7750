"""Rows that are inputs of one set of closed questions, which a model decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from wire.around.pace import Limiter
from wire.bulk.job import AnyModel, Job, is_of_all_rows
from wire.bulk.results import Outcome, Result, outcome_of_decisions
from wire.bulk.rows import Question as Asked
from wire.bulk.rows import Row, question_of
from wire.bulk.run_folder import RunFolder
from wire.chat.chat import AsyncChat
from wire.core.errors import ConfigurationError, RuleError, Violation, WireError
from wire.core.secret import type_name
from wire.history import estimate_tokens
from wire.http.target import Options
from wire.neutral.decisions import Part, Question
from wire.neutral.messages import Media, Message, Text
from wire.wires.asking import decide_call


class DecisionJob:
    """The model of a run, and the questions about each row."""

    is_agent: ClassVar[bool] = False

    def __init__(
        self,
        model: AnyModel,
        questions: Mapping[str, Question],
        options: Mapping[str, Any],
        http: Any,
    ) -> None:
        """Raise `ConfigurationError` for a model without decisions, `RuleError` for questions that
        its host refuses.
        """
        for name in options:
            if name not in Options.__annotations__:
                raise ConfigurationError(f"{name}: does not apply to questions")
        if not isinstance(questions, Mapping):
            problem = f"expected a mapping of names to questions, not {type_name(questions)}"
            raise ConfigurationError(f"questions: {problem}")
        self._questions = dict(questions)
        self._job = Job(models=(model,), options=options, http=http)
        [chat] = self._job.chats()
        decide_call("x", self._questions, chat.model, chat.row)

    @property
    def streams(self) -> bool:
        """Whether each answer is streamed."""
        return False

    @property
    def names(self) -> list[str]:
        """`provider:model` of the model."""
        return self._job.names

    @property
    def header(self) -> dict[str, Any]:
        """The questions: a new start has the same."""
        return {
            "questions": {
                name: [each.kind, each.instructions, [*each.options.items()]]
                for name, each in self._questions.items()
            }
        }

    @property
    def beside(self) -> int:
        """An estimate of the tokens of the questions, which each row has."""
        return estimate_tokens(Message.user(msgspec.json.encode(self.header).decode()))

    def settings(self) -> dict[str, Any]:
        """Return the settings of each request: none."""
        return {}

    def asker(self, *around: Limiter[Any], runs: RunFolder | None = None) -> DecisionAsker:
        """Build a new client, whose calls wait for `around`."""
        [chat] = self._job.chats(*around)
        return DecisionAsker(chat, self._questions)


class DecisionAsker:
    """Asks the questions about rows, some at a time."""

    steps: int = 0

    def __init__(self, chat: AsyncChat, questions: Mapping[str, Question]) -> None:
        self._chat, self._questions = chat, questions

    async def answer(self, row: Row) -> Outcome:
        """Ask the questions about one row.

        Raises an error that each row would get, such as `AuthenticationError`.
        """
        metadata = None
        try:
            asked = question_of(row)
            metadata = asked.metadata
            found = await self._chat.client.decide(
                input_of(asked), self._questions, self._chat.model
            )
        except WireError as error:
            if is_of_all_rows(error):
                raise
            failed = Result(id=row.id, row=row.number, error=error, metadata=metadata)
            return outcome_of_decisions(row, failed)
        result = Result(id=row.id, row=row.number, decisions=found, metadata=metadata)
        return outcome_of_decisions(row, result)

    async def aclose(self) -> None:
        """Close the client."""
        await self._chat.aclose()


def input_of(asked: Asked) -> list[Part]:
    """Return the input of a row: the texts and media of its one message, or its conversation.

    Raises `RuleError` for settings.
    """
    for name in asked.settings:
        raise RuleError(violations=[Violation(name, "does not apply to questions")])
    messages = asked.request.messages
    if len(messages) != 1 or messages[0].role != "user":
        return list(messages)
    parts: list[Part] = []
    for index, part in enumerate(messages[0].parts):
        if not isinstance(part, Text | Media):
            path = f"messages[0].parts[{index}]"
            raise RuleError(violations=[Violation(path, "expected a text or media")])
        parts.append(part.text if isinstance(part, Text) else part)
    return parts
