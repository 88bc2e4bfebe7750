"""Rows about which closed questions are asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from wire import Media, Message, Request, bulk, one_of, scale, yes_no
from wire.errors import AuthenticationError, ConfigurationError, RuleError
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

QUESTIONS = {
    "urgent": yes_no("The customer needs help today."),
    "team": one_of("Who answers?", ["billing", "repair"]),
    "level": scale("How angry?", ["calm", "annoyed", "furious"]),
}
HOSTS = ("openai:gpt-6-luna", "gemini:gemini-decision-1", "openrouter:noul/noul-1")
ROWS: list[Any] = [
    "The pump is broken.",
    {"id": "b", "prompt": "Where is my invoice?", "metadata": {"n": 1}},
]


def start(rows: Any, model: str = HOSTS[0], emulator: Emulator | None = None, **more: Any) -> Any:
    http = AsyncEmulatorTransport(emulator or Emulator())
    options = {"api_key": "fake-key", "http": http, "questions": QUESTIONS, "retry": None}
    return bulk.run(rows, model, **{**options, **more})


def results(run: Any) -> list[Any]:
    async def main() -> list[Any]:
        return [each async for each in run]

    return anyio.run(main)


@pytest.mark.parametrize("style", ["asyncio", "trio"])
@pytest.mark.parametrize("model", HOSTS)
def test_each_row_gets_an_answer_to_each_question(style: str, model: str, tmp_path: Path) -> None:
    to, emulator = tmp_path / "answers.jsonl", Emulator()
    run = start(ROWS, model, emulator, to=to, in_order=True)

    async def main() -> list[Any]:
        return [each async for each in run]

    first, second = anyio.run(main, backend=style)
    assert list(first.decisions) == ["urgent", "team", "level"]
    assert first.decisions["team"].value in ("billing", "repair")
    assert (first.reply, second.id, second.metadata) == (None, "b", {"n": 1})
    lines = [json.loads(line) for line in to.read_text().splitlines()[1:]]
    shown = lines[0]["decisions"]
    assert shown["team"]["value"] == first.decisions["team"].value
    assert set(shown["urgent"]["probabilities"]) == {"true", "false"}
    assert shown["level"]["level"] in ("calm", "annoyed", "furious")
    assert lines[1]["metadata"] == {"n": 1}
    assert (run.progress.answered, len(emulator.requests)) == (2, 2)
    assert run.progress.input_tokens == sum(line["usage"]["input"] for line in lines)


def test_media_are_inputs_too() -> None:
    picture = Media(media_type="image/png", data=b"\x89PNG\r\n\x1a\n" + bytes(20))
    rows = [Request(messages=(Message.user(["What is it?", picture]),))]
    emulator = Emulator()
    [found] = results(start(rows, emulator=emulator))
    assert found.error is None
    assert "image" in json.dumps(emulator.requests[0]["body"])


def test_a_row_may_be_a_conversation_where_the_host_reads_one() -> None:
    talk = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]}
    emulator = Emulator()
    [found] = results(start([talk], emulator=emulator))
    assert found.error is None
    assert [each["role"] for each in emulator.requests[0]["body"]["input"]] == ["user", "assistant"]
    bad, good = results(start([talk, "Hi"], in_order=True, model="gemini:gemini-decision-1"))
    assert isinstance(bad.error, RuleError)
    assert bad.error.message.startswith("input[0]: decisions of this host read no messages")
    assert good.decisions is not None


def test_a_second_start_asks_what_is_left_about_the_same_questions(tmp_path: Path) -> None:
    to, emulator = tmp_path / "answers.jsonl", Emulator()
    results(start(ROWS[:1], to=to))
    assert len(results(start([*ROWS, "And this?"], emulator=emulator, to=to))) == 2
    assert len(emulator.requests) == 2
    with pytest.raises(ConfigurationError, match="questions"):
        results(start(ROWS, to=to, questions={"urgent": QUESTIONS["urgent"]}))


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"prompt": "Hi", "temperature": 0.5}, "temperature: does not apply to questions"),
        ({"prompt": "Hi", "system": "Be brief."}, "system: does not apply to questions"),
    ],
)
def test_a_row_that_is_no_input_fails_alone(row: dict[str, Any], problem: str) -> None:
    bad, good = results(start([row, "Hi"], in_order=True))
    assert isinstance(bad.error, RuleError)
    assert bad.error.message == problem
    assert good.decisions is not None


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"model": "anthropic:claude-opus-5"}, "has no decisions"),
        ({"output": int}, "output: does not apply to questions"),
        ({"cache": "folder"}, "cache: does not apply to questions"),
        ({"on": "tcp://127.0.0.1:1"}, "on: does not apply to questions"),
        ({"batch": True}, "batch: does not apply to questions"),
        ({"temperature": 0.5}, "temperature: does not apply to questions"),
        ({"questions": [QUESTIONS["urgent"]]}, "questions: expected"),
        ({"model": HOSTS[:2]}, "model: expected one"),
    ],
)
def test_what_questions_do_not_have(options: dict[str, Any], problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        start(ROWS, to=tmp_path / "answers.jsonl", **options)


def test_questions_that_the_host_refuses_are_told_at_the_start() -> None:
    with pytest.raises(RuleError):
        start(ROWS, questions={})


def test_a_wrong_key_ends_the_run() -> None:
    with pytest.raises(AuthenticationError):
        results(start(ROWS, api_key="bad-key"))


def test_a_plan_counts_the_questions_with_each_row() -> None:
    plan, alone = start(ROWS).plan(), start(ROWS[:1]).plan()
    assert (plan.rows, plan.output_tokens) == (2, 0)
    assert plan.input_tokens > alone.input_tokens > 30
    assert plan.cost == plan.input_cost
    assert plan.cost is not None
    assert plan.cost > 0
