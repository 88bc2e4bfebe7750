"""The loop as a state machine: told what came, it says what is next."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.joined import joined
from wire.agent.guard import ATTRACTOR, Guard
from wire.agent.hooks import refused
from wire.agent.run_state import RunResult, RunState, begin_run, resume_run
from wire.agent.state import AgentState
from wire.agent.steps import INTERRUPTED, Ask, Finished, RunCalls, Steps, is_transient
from wire.catalogue.stops import Next, StopReason
from wire.catalogue.usage import Usage
from wire.core.exchange import Pause
from wire.core.retry import NONE, Retry
from wire.errors import (
    BadRequestError,
    ConfigurationError,
    HistoryError,
    RuleError,
    ServerError,
    StreamIncomplete,
    WireError,
)
from wire.history import check
from wire.neutral.messages import Message, Reply, Stop, Text, Thought, ToolCall, ToolResult
from wire.neutral.request import Tool
from wire.tools import Toolbox, ToolRun, tool

ASKED = Message.user("What is the weather?")
FLAT = Retry(spread=(1, 1))


def get_weather(city: str) -> str:
    """The weather."""
    return "sunny"


@tool(read_only=True)
def read(path: str) -> str:
    """A file."""
    return "text"


@tool(needs_approval=True)
def write(path: str) -> str:
    """Write a file."""
    return "written"


@tool(final=lambda content: content == "bye")
def leave(word: str) -> str:
    """Say the last word."""
    return word


TOOLS = Toolbox([get_weather, read, write, leave, Tool("ask_user", "Ask the user.")])


def call(id: str, name: str = "get_weather", **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments or {"city": "Oslo"})


def said(
    *parts: Text | ToolCall | str | Thought, stop: str = "end", usage: Usage | None = None
) -> Reply:
    message = Message.assistant(*parts)
    return Reply(message, Stop("tool_calls" if message.tool_calls else stop), usage)  # type: ignore[arg-type]


def done(*calls: ToolCall, content: object = "sunny", error: bool = False) -> list[ToolRun]:
    return [ToolRun(each, ToolResult(each.id, each.name, content, error)) for each in calls]


def steps_of(*messages: Message, **options: object) -> Steps:
    return Steps(begin_run(messages or (ASKED,)), TOOLS, dice=Random(0), retry=FLAT, **options)  # type: ignore[arg-type]


def finished(steps: Steps) -> RunResult:
    step = steps.next()
    assert isinstance(step, Finished)
    return step.result


@pytest.mark.row("S3-07", "S3-08", "S3-10")
def test_a_run_adds_exactly_the_models_and_the_tools_messages() -> None:
    before = (Message.user("Hi"), Message.assistant("Hello."), ASKED)
    steps = steps_of(*before, max_steps=None)
    assert steps.next() == Ask(before)
    one, other = call("a"), call("b", city="Rome")
    first = said("I look.", one, other, usage=Usage(input=5, output=2, total=7))
    steps.replied(first)
    assert steps.next() == RunCalls((one, other))
    steps.answered([*done(other, content="rain"), *done(one)])  # in whatever order they are done
    answers = Message.tool_response(
        ToolResult("a", "get_weather", "sunny"), ToolResult("b", "get_weather", "rain")
    )
    assert steps.next() == Ask((*before, first.message, answers))
    last = said("Sun and rain.", usage=Usage(input=9, output=3, total=12))
    steps.replied(last)
    result = finished(steps)
    assert result.messages == (first.message, answers, last.message)
    assert result.messages[0] is first.message
    assert (result.reason, result.text, str(result), result.reply) == (
        "end",
        "Sun and rain.",
        "Sun and rain.",
        last,
    )
    assert result.usage == Usage(input=14, output=5, total=19)
    assert [len(step.runs) for step in result.steps] == [2, 0]
    assert finished(steps) == result


@pytest.mark.row("S1-56")
def test_the_limit_ends_a_run_with_its_text_and_a_history_that_can_go_on() -> None:
    steps = steps_of(max_steps=2)
    for number in range(2):
        assert isinstance(steps.next(), Ask)
        steps.replied(said(f"step {number}", call(f"c{number}")))
        assert isinstance(steps.next(), RunCalls)
        steps.answered(done(call(f"c{number}")))
    result = finished(steps)
    assert (result.reason, result.text, len(result.messages)) == ("max_steps", "step 1", 4)
    assert check(result.state.messages) == []
    again = Steps(resume_run(result.state), TOOLS, max_steps=1)
    assert isinstance(again.next(), Ask)
    again.replied(said("Done."))
    assert finished(again).text == "Done."
    assert len(finished(again).messages) == 5


@joined("limit", [0, -1, True, 1.5, "3"])
def test_a_limit_that_is_none_is_named(limit: object) -> None:
    with pytest.raises(
        ConfigurationError, match="max_steps: expected a whole number from 1 up or None"
    ):
        steps_of(max_steps=limit)


@pytest.mark.row("S0-06")
def test_a_history_that_cannot_be_sent_is_refused_with_the_guilty_message() -> None:
    with pytest.raises(HistoryError) as refused:
        steps_of(Message.user("Hi"), Message.assistant(call("a")), Message.user("Well?")).next()
    assert [(each.path, each.rule) for each in refused.value.violations] == [
        ("messages[1].parts[0]", "H3")
    ]


def test_a_view_is_what_is_sent_and_not_what_is_kept() -> None:
    steps = steps_of(
        Message.user("old"), Message.assistant("x"), ASKED, view=lambda messages: messages[2:]
    )
    assert steps.next() == Ask((ASKED,))
    steps.replied(said("Sunny."))
    assert len(finished(steps).state.messages) == 4


# --- answers that are not whole -------------------------------------------------------------------


@joined("reason", ["length", "filter", "error", "other"])
def test_a_run_says_why_its_last_answer_is_not_whole(reason: StopReason) -> None:
    steps = steps_of()
    steps.next()
    steps.replied(said("The tide is", stop=reason))
    result = finished(steps)
    assert (result.reason, result.complete, result.text) == (reason, False, "The tide is")
    assert resume_run(result.state).reason == reason


def test_a_whole_answer_is_complete() -> None:
    steps = steps_of()
    assert not steps.result.complete
    steps.next()
    steps.replied(said("High tide."))
    assert (finished(steps).reason, finished(steps).complete) == ("end", True)


@joined(
    ("then", "goes_on"),
    [
        ("send_back", True),
        ("compact_then_send", True),
        ("continue_token", False),
        ("poll", False),
        ("nothing", False),
    ],
)
def test_a_pause_goes_on_only_if_the_message_is_sent_back(then: Next, goes_on: bool) -> None:
    steps = steps_of(ASKED)
    steps.next()
    # A response that is queued has no parts yet; it is no empty answer.
    parts = (Text("I look."),) if goes_on else ()
    steps.replied(Reply(Message("assistant", parts), Stop("pause", "paused", then=then)))
    step = steps.next()
    assert isinstance(step, Ask if goes_on else Finished)
    assert steps.result.state.reason == (None if goes_on else "pause")


# --- answers that say nothing, errors -------------------------------------------------------------


@pytest.mark.row("S1-53", "S3-18")
@joined("parts", [(), ("",), (Thought("hm"),)])
@joined("stop", ["end", "error", "other"])
def test_an_answer_that_says_nothing_is_tried_again_then_an_error_that_names_its_finish(
    parts: tuple[str, ...], stop: str
) -> None:
    steps = steps_of()
    nothing = Reply(Message.assistant(*parts), Stop(stop, "MALFORMED_FUNCTION_CALL", "bad call"))  # type: ignore[arg-type]
    for wait in (1.0, 2.0):
        assert isinstance(steps.next(), Ask)
        steps.replied(nothing)
        assert steps.next() == Pause(wait)
    assert isinstance(steps.next(), Ask)
    with pytest.raises(
        StreamIncomplete, match=r"reply is empty \(finish MALFORMED_FUNCTION_CALL\): bad call"
    ) as failed:
        steps.replied(nothing)
    assert failed.value.partial is nothing
    assert steps.result.messages == ()


def test_an_answer_cut_off_before_it_began_is_no_failure_and_no_message() -> None:
    steps = steps_of()
    steps.next()
    steps.replied(Reply(Message("assistant"), Stop("length", "MAX_TOKENS")))
    result = finished(steps)
    assert (result.reason, result.text, result.messages) == ("length", "", ())
    assert result.reply is not None
    assert result.reply.stop.reason == "length"


@pytest.mark.row("S1-51", "S1-70")
def test_passing_failures_are_tried_again_by_the_policy() -> None:
    steps = steps_of()
    steps.next()
    steps.failed(ConnectionResetError("gone"))
    assert steps.next() == Pause(1.0)
    assert isinstance(steps.next(), Ask)
    steps.failed(ServerError("overloaded", status=503, retryable=True, retry_after=7))
    assert steps.next() == Pause(7)
    steps.next()
    steps.replied(said("Sunny."))
    assert finished(steps).text == "Sunny."


@pytest.mark.row("S1-70", "S1-72")
@joined(
    ("error", "seen"),
    [
        (BadRequestError("no", status=400), False),
        (ValueError("503 500 429"), False),
        (ServerError("x", status=503, retryable=True, attempts=3), False),
        (ConnectionResetError("gone"), True),
    ],
)
def test_other_failures_are_raised_at_once(error: Exception, seen: bool) -> None:
    steps = steps_of()
    steps.next()
    with pytest.raises(type(error)) as raised:
        steps.failed(error, seen=seen)
    assert raised.value is error


@pytest.mark.row("S1-70")
def test_classes_decide_and_not_words() -> None:
    assert [
        is_transient(each)
        for each in (
            TimeoutError(),
            ConnectionError(),
            EOFError(),
            ValueError("500"),
            OSError(28, "no space"),
        )
    ] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert is_transient(WireError(retryable=True))
    assert not is_transient(WireError("429"))


def test_without_retries_the_first_failure_is_raised() -> None:
    steps = Steps(begin_run([ASKED]), TOOLS, retry=NONE)
    steps.next()
    with pytest.raises(ConnectionError):
        steps.failed(ConnectionError("gone"))


# --- guard ----------------------------------------------------------------------------------------


def turn(steps: Steps, *calls: ToolCall, text: str = "") -> None:
    """One more turn of the model that is nothing but calls, and their answers as far as they are
    run.
    """
    assert isinstance(steps.next(), Ask)
    steps.replied(said(*([text] if text else []), *calls))
    step = steps.next()
    if isinstance(step, RunCalls):
        steps.answered(done(*step.calls))


@pytest.mark.row("S1-57")
@pytest.mark.parametrize(
    ("name", "argument", "made"), [("get_weather", "city", 2), ("read", "path", 3)]
)
def test_a_repeated_call_stops_the_run_and_leaves_the_history_whole(
    name: str, argument: str, made: int
) -> None:
    steps = steps_of(guard=Guard())
    for number in range(made):
        assert steps.result.state.reason is None
        turn(steps, call(f"c{number}", name, **{argument: "x"}))
    result = finished(steps)
    assert (result.reason, len(result.messages), result.state.asked) == ("guard", 2 * made, made)
    assert result.messages[-1].tool_results[0].answer == {
        "error": "stopped: the model repeated the same calls too often"
    }
    assert check(result.state.messages) == []
    assert len(result.runs) == made


@pytest.mark.row("S1-57")
def test_eight_turns_of_nothing_but_calls_stop_the_run() -> None:
    steps = steps_of(guard=Guard())
    for number in range(8):
        turn(steps, call(f"c{number}", city=f"city {number}"))
    assert (finished(steps).reason, finished(steps).state.asked) == ("guard", 8)
    talking = steps_of(guard=Guard(), max_steps=9)
    for number in range(9):
        turn(talking, call(f"c{number}", city=f"city {number}"), text="Next.")
    assert finished(talking).reason == "max_steps"


def test_a_third_identical_call_is_steered_and_the_run_goes_on() -> None:
    steps = steps_of(guard=ATTRACTOR)
    for number in range(2):
        turn(
            steps,
            ToolCall(id=f"c{number}", name="get_weather", arguments={"city": "Oslo", "day": 1}),
        )
    assert isinstance(steps.next(), Ask)
    same = ToolCall(id="c3", name="get_weather", arguments={"day": 1, "city": "Oslo"})
    other = call("c4", city="Rome")
    steps.replied(said(same, other))
    assert steps.next() == RunCalls((other,))
    steps.answered(done(other))
    assert isinstance(steps.next(), Ask)
    results = steps.state.messages[-1].tool_results
    assert results[0].answer == {"error": ATTRACTOR.steering}
    assert results[1].answer == {"result": "sunny"}


def test_without_a_guard_nothing_is_stopped() -> None:
    steps = steps_of(max_steps=12)
    for number in range(12):
        turn(steps, call(f"c{number}"))
    assert finished(steps).reason == "max_steps"


def test_another_call_between_breaks_a_row() -> None:
    steps = steps_of(guard=Guard(), max_steps=4)
    for number, city in enumerate(["Oslo", "Rome", "Oslo", "Rome"]):
        turn(steps, call(f"c{number}", city=city))
    assert finished(steps).reason == "max_steps"


@joined("options", [{"repeats": 0}, {"read_only_repeats": None}, {"tool_only": 0}, {"then": "cry"}])
def test_a_guard_that_is_none_is_named(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=rf"guard\.{next(iter(options))}"):
        Guard(**options)  # type: ignore[arg-type]


# --- final tools, approval, waiting ---------------------------------------------------------------


def test_calls_over_the_limit_of_a_turn_are_refused_and_the_others_run() -> None:
    """R-11. A run that was saved before they were refused does not run them either."""
    reply = said(*(call(f"c{n}") for n in range(5)))
    refusal = {"error": "refused: at most 3 calls of a turn are run"}
    for saved in (False, True):
        steps = steps_of(max_calls_per_turn=3)
        steps.next()
        steps.replied(reply)
        if saved:
            steps = Steps(resume_run(steps.state), TOOLS, max_calls_per_turn=3)
        assert steps.next() == RunCalls(reply.tool_calls[:3])
        assert [run.result.answer for run in steps.take_runs()] == [refusal, refusal]
        steps.answered(done(*reply.tool_calls[:3]))
        step = steps.next()
        assert isinstance(step, Ask)
        assert [result.id for result in step.messages[-1].tool_results] == [
            f"c{n}" for n in range(5)
        ]


@joined("limit", [0, -1, True, 1.5, None, "3"])
def test_a_limit_of_calls_that_is_none_is_named(limit: object) -> None:
    with pytest.raises(ConfigurationError, match="max_calls_per_turn: expected a whole number"):
        steps_of(max_calls_per_turn=limit)
    for option in ("max_parallel_tools", "max_calls_per_turn"):
        with pytest.raises(ConfigurationError, match=f"{option}: expected a whole number"):
            AgentState("", {option: limit})  # type: ignore[misc]


@pytest.mark.row("S3-24")
def test_a_final_tool_ends_the_run_after_all_calls_of_its_turn() -> None:
    steps = steps_of()
    turn(steps, call("a"), call("b", "leave", word="bye"))
    assert isinstance(steps.next(), Ask)  # its content was "sunny", which is not its last word
    steps = steps_of()
    steps.next()
    calls = (call("a"), call("b", "leave", word="bye"))
    steps.replied(said(*calls))
    steps.next()
    steps.answered([*done(calls[0]), *done(calls[1], content="bye")])
    result = finished(steps)
    assert (result.reason, len(result.messages[-1].tool_results)) == ("final", 2)
    assert check(result.state.messages) == []


@pytest.mark.row("S3-24")
def test_an_error_of_a_final_tool_ends_nothing() -> None:
    steps = steps_of()
    steps.next()
    steps.replied(said(call("b", "leave", word="bye")))
    steps.next()
    steps.answered(done(call("b", "leave"), content="bye", error=True))
    assert isinstance(steps.next(), Ask)


def test_calls_that_are_not_ours_wait_beside_those_that_are_run() -> None:
    steps = steps_of()
    steps.next()
    mine, yours = call("a"), call("b", "ask_user", question="Which?")
    steps.replied(said(yours, mine))
    assert steps.next() == RunCalls((mine,))
    steps.answered(done(mine))
    result = finished(steps)
    assert (result.reason, result.waiting) == ("waiting", (yours,))
    turn, answers = result.messages
    assert turn.tool_calls == (yours, mine)
    assert answers.tool_results == (ToolResult("a", "get_weather", "sunny"),)


def test_a_waiting_run_goes_on_with_the_results() -> None:
    steps = steps_of()
    steps.next()
    mine, yours = call("a"), call("b", "ask_user", question="Which?")
    steps.replied(said(yours, mine))
    steps.next()
    steps.answered(done(mine))
    waiting = finished(steps).state
    again = Steps(resume_run(waiting, [ToolResult("b", "ask_user", "Oslo")]), TOOLS)
    step = again.next()
    assert isinstance(step, Ask)
    assert [result.content for result in step.messages[-1].tool_results] == ["Oslo", "sunny"]
    with pytest.raises(RuleError, match=r"results\[0\]\.id: no call 'z' waits"):
        resume_run(waiting, [ToolResult("z", "ask_user", "?")])
    with pytest.raises(RuleError, match=r"results\[1\]: expected a ToolResult, not str"):
        resume_run(waiting, iter([ToolResult("b", "ask_user", "Oslo"), "b"]))  # type: ignore[list-item]


@pytest.mark.row("S1-58")
@pytest.mark.parametrize(
    ("verdict", "step"),
    [
        (True, RunCalls((call("a", "write", path="x"),))),
        (False, "refused by the user"),
        ("not that one", "not that one"),
    ],
)
def test_a_call_that_needs_approval_waits_for_a_verdict(
    verdict: bool | str, step: RunCalls | str
) -> None:
    steps = steps_of()
    steps.next()
    steps.replied(said(call("a", "write", path="x")))
    result = finished(steps)
    assert (result.reason, [each.id for each in result.waiting]) == ("waiting", ["a"])
    again = Steps(resume_run(result.state), TOOLS, verdicts={"a": verdict})
    next_step = again.next()
    if isinstance(step, RunCalls):
        assert next_step == step
    else:
        assert isinstance(next_step, Ask)
        assert next_step.messages[-1].tool_results[0].answer == {"error": step}


@pytest.mark.row("S1-58")
def test_with_somebody_to_ask_nothing_waits() -> None:
    steps = steps_of(asks_approval=True)
    steps.next()
    steps.replied(said(call("a", "write", path="x")))
    assert isinstance(steps.next(), RunCalls)


def test_refusals() -> None:
    assert refused(call("a"), True) is None
    assert refused(call("a"), False) == refused(call("a"), "")
    assert refused(call("a"), "") == ToolResult(
        "a", "get_weather", "refused by the user", error=True
    )


@joined("verdict", [None, 1, 0, [], {"approved": True}])
def test_a_verdict_is_a_bool_or_a_text(verdict: Any) -> None:
    problem = rf"^verdicts\['a'\]: expected True, .*, not {type(verdict).__name__}$"
    with pytest.raises(ConfigurationError, match=problem):
        steps_of(verdicts={"a": verdict})


def test_a_run_stops_where_it_is_told_to_and_goes_on_later() -> None:
    def enough(state: RunState) -> bool:
        return state.asked >= 1

    steps = steps_of(stop_when=enough)
    turn(steps, call("a"))
    stopped = finished(steps)
    assert (stopped.reason, len(stopped.messages)) == ("stopped", 2)
    again = Steps(resume_run(stopped.state), TOOLS, stop_when=enough)
    assert isinstance(again.next(), Ask)
    again.replied(said("Sunny."))
    assert (finished(again).reason, len(finished(again).messages)) == ("end", 3)


# --- results one by one, and runs that end in the middle of a turn --------------------------------


def asked_for(*calls: ToolCall, **options: object) -> Steps:
    """A run whose model has made these calls."""
    steps = steps_of(**options)
    steps.next()
    steps.replied(said(*calls))
    assert steps.next() == RunCalls(calls)
    return steps


def test_each_result_stands_in_the_state_when_it_is_there_in_call_order() -> None:
    seen: list[RunState] = []
    a, b = call("a"), call("b")
    steps = asked_for(a, b, on_change=seen.append)
    steps.started(a)
    steps.started(b)
    assert (steps.state.started, steps.state.open_calls) == (("a", "b"), (a, b))
    steps.answered(done(b, content="rain"))
    assert (steps.state.started, steps.state.open_calls) == (("a",), (a,))
    assert [result.id for result in steps.result.messages[-1].tool_results] == ["b"]
    steps.answered(done(a))
    assert (steps.state.started, steps.state.open_calls) == ((), ())
    assert [result.id for result in steps.result.messages[-1].tool_results] == ["a", "b"]
    assert [run.call.id for run in steps.result.runs] == ["a", "b"]
    assert [len(state.messages) for state in seen] == [2, 2, 2, 3, 3]
    assert seen[-1] is steps.state


def test_a_run_that_is_interrupted_answers_the_calls_that_were_started() -> None:
    a, b, c, d = call("a"), call("b"), call("c", "read", path="x"), call("d")
    steps = asked_for(a, b, c, d)
    for each in (a, b, c):
        steps.started(each)
    steps.answered(done(a))
    steps.interrupted()
    results = steps.result.messages[-1].tool_results
    assert [result.answer for result in results] == [{"result": "sunny"}, {"error": INTERRUPTED}]
    # What changes nothing may run twice, and what was not started has not run.
    assert (steps.state.started, steps.state.open_calls) == ((), (c, d))
    errors = [str(run.error) for run in steps.result.runs]
    assert errors == ["None", f"tool get_weather: {INTERRUPTED}"]
    state = steps.state
    steps.interrupted()
    assert steps.state is state
    assert Steps(resume_run(state), TOOLS).next() == RunCalls((c, d))


def test_a_state_of_a_run_that_nobody_interrupted_is_resumed_as_if_somebody_had() -> None:
    a, b = call("a"), call("b")
    steps = asked_for(a, b)
    steps.started(a)
    again = Steps(resume_run(steps.state), TOOLS)
    assert again.next() == RunCalls((b,))
    assert again.state.messages[-1].tool_results[0].answer == {"error": INTERRUPTED}
    assert [run.call for run in again.result.runs] == [a]
    assert again.result.steps == ()
    known = ToolResult("a", "get_weather", "it was sunny")
    again = Steps(resume_run(steps.state, [known]), TOOLS)
    assert again.state.started == ()
    assert again.next() == RunCalls((b,))
    assert again.state.messages[-1].tool_results == (known,)
    again = Steps(resume_run(steps.state), TOOLS, verdicts={"a": True})
    assert again.next() == RunCalls((a, b))
    again = Steps(resume_run(steps.state), TOOLS, verdicts={"a": "no"})
    again.next()
    assert again.state.messages[-1].tool_results[0].answer == {"error": "no"}


def test_a_final_result_that_came_with_resume_ends_the_run() -> None:
    steps = asked_for(call("a", "leave", word="bye"))
    again = Steps(resume_run(steps.state, [ToolResult("a", "leave", "bye")]), TOOLS)
    assert finished(again).reason == "final"
    # One of an earlier run does not.
    later = Steps(begin_run(again.state.messages), TOOLS)
    assert isinstance(later.next(), Ask)


def test_what_is_no_exception_is_raised_as_it_is() -> None:
    steps = steps_of()
    steps.next()
    with pytest.raises(KeyboardInterrupt):
        steps.failed(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        steps.failed(BaseExceptionGroup("g", [KeyboardInterrupt(), ConnectionError()]))
    steps.failed(ExceptionGroup("g", [ConnectionError()]))
    assert steps.next() == Pause(1.0)
