"""What is decided about a call: whether it can be made, and what its answer says."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import types
from typing import Any

import msgspec
import pydantic
import pytest

from tests.joined import joined
from wire.errors import RuleError, ToolError
from wire.neutral.messages import Media, Message, Origin, ToolCall, ToolResult, with_origin
from wire.neutral.request import Tool
from wire.tools import FunctionTool, Ready, Toolbox, ToolContext, ToolRun, tool

PNG = Media(data=b"\x89PNG", media_type="image/png")


def get_weather(city: str) -> str:
    """The weather."""
    return f"It rains in {city}."


def call(name: str = "get_weather", **arguments: Any) -> ToolCall:
    return ToolCall(id="call_7", name=name, arguments=arguments)


def ready_of(toolbox: Toolbox, wanted: ToolCall) -> Ready:
    ready = toolbox.prepare(wanted)
    assert isinstance(ready, Ready)
    return ready


def told(value: Any, **options: Any) -> ToolRun:
    """The run of a function that returned `value`."""
    toolbox = Toolbox([tool(lambda: value, name="f", **options)])
    return toolbox.finish(ready_of(toolbox, call("f")), value)


# --- the box --------------------------------------------------------------------------------------


@pytest.mark.row("U-111")
def test_functions_types_and_tools() -> None:
    class City(msgspec.Struct):
        """A city."""

        name: str

    passive = Tool("ask_user", "Ask.")
    toolbox = Toolbox([get_weather, tool(get_weather, name="other"), passive, City])
    assert [each.name for each in toolbox.definitions] == [
        "get_weather",
        "other",
        "ask_user",
        "City",
    ]
    assert [type(each) for each in toolbox] == [FunctionTool, FunctionTool, Tool, Tool]
    assert (len(toolbox), toolbox.get("ask_user"), toolbox.get("nothing")) == (4, passive, None)
    assert Toolbox(toolbox).definitions == toolbox.definitions
    assert Toolbox().definitions == ()
    assert [
        toolbox.is_passive(name) for name in ("get_weather", "ask_user", "City", "nothing")
    ] == [False, True, True, False]


@pytest.mark.row("S1-50", "S3-05")
def test_duplicates() -> None:
    with pytest.raises(RuleError, match="two tools are called get_weather") as caught:
        Toolbox([get_weather, Tool("get_weather")])
    assert caught.value.violations[0].rule == "G29"
    toolbox = Toolbox([get_weather, Tool("ask_user")])
    with pytest.raises(RuleError, match="two tools are called get_weather"):
        toolbox.register(Tool("get_weather", "Another."))
    assert toolbox.definitions[0].description == "The weather."
    replaced = toolbox.register(Tool("get_weather", "Another."), replace=True)
    assert toolbox.definitions == (replaced, Tool("ask_user"))

    @toolbox.register
    def now() -> str:
        return "noon"

    assert toolbox.get("now") is now


@joined("tools", ["now", 5, {"a": 1}, None])
def test_what_is_no_list_of_tools(tools: Any) -> None:
    with pytest.raises(RuleError, match="tools: expected a list of tools"):
        Toolbox(tools)


def test_what_is_no_tool() -> None:
    with pytest.raises(RuleError) as caught:
        Toolbox([get_weather, "now"])  # type: ignore[list-item]
    assert (
        str(caught.value.violations[0])
        == "tools[1]: expected a function, a type or a Tool, not str (write the function, without "
        "quotes; wire.web_search() searches)"
    )


# --- before the call ------------------------------------------------------------------------------


@pytest.mark.row("S3-11", "U-120")
def test_an_unknown_tool() -> None:
    result = Toolbox([get_weather]).prepare(call("get_time", city="Oslo"))
    assert result == ToolResult("call_7", "get_time", "unknown tool: get_time", error=True)
    assert isinstance(result, ToolResult)
    assert result.answer == {"error": "unknown tool: get_time"}


@pytest.mark.row("S1-54", "U-119")
def test_a_call_that_fits() -> None:
    ready = ready_of(Toolbox([tool(get_weather, timeout=2.5)]), call(city="Oslo"))
    assert (ready.call, ready.tool.name, ready.is_async, ready.timeout) == (
        call(city="Oslo"),
        "get_weather",
        False,
        2.5,
    )
    assert ready.run() == "It rains in Oslo."


@pytest.mark.row("S3-12", "U-119")
@joined(
    ("wanted", "message"),
    [
        (call(), "$: Object missing required field `city`"),
        (call(city=1), "$.city: Expected `str`, got `int`"),
        (
            ToolCall(id="call_7", name="get_weather", arguments=None, text='{"city": "Os'),
            '$: expected one complete JSON object, not \'{"city": "Os\'',
        ),
        (
            ToolCall(id="call_7", name="get_weather", arguments=["Oslo"]),
            "$: expected one complete JSON object, not \"['Oslo']\"",
        ),
    ],
)
def test_arguments_that_do_not_fit(wanted: ToolCall, message: str) -> None:
    result = Toolbox([get_weather]).prepare(wanted)
    assert result == ToolResult(
        "call_7", "get_weather", f"invalid parameters: {message}", error=True
    )
    assert isinstance(result, ToolResult)
    assert result.answer == {"error": f"invalid parameters: {message}"}


def test_what_is_quoted_of_arguments_is_short() -> None:
    result = Toolbox([get_weather]).prepare(
        ToolCall(name="get_weather", arguments=None, text="x" * 100_000)
    )
    assert isinstance(result, ToolResult)
    assert 200 < len(result.content) < 400


@pytest.mark.row("U-112")
def test_a_passive_tool_is_not_ours_to_run() -> None:
    with pytest.raises(
        ToolError, match="tool ask_user: it has no function, so the caller must give the result"
    ):
        Toolbox([Tool("ask_user")]).prepare(call("ask_user"))


def test_what_a_struct_raises_of_its_own_is_told() -> None:
    """Such as the rules of `Media`, or a bug; what a model sent does not end a run."""

    def look(at: Media) -> str:
        return at.media_type

    class Odd(msgspec.Struct):
        a: int

        def __post_init__(self) -> None:
            raise KeyError

    toolbox = Toolbox([look, tool(lambda it: 1, name="odd", parameters=Odd)])
    result = toolbox.prepare(call("look", at={"type": "media"}))
    assert isinstance(result, ToolResult)
    assert result.answer == {"error": "invalid parameters: $: media: expected either data or url"}
    result = toolbox.prepare(call("odd", a=1))
    assert isinstance(result, ToolResult)
    assert result.answer == {"error": "invalid parameters: $: KeyError"}


@pytest.mark.row("S3-25")
def test_the_call_in_the_context_keeps_its_origin() -> None:
    def who(context: ToolContext, n: int) -> Any:
        return context.call

    origin = Origin("gemini", "gemini-3-pro-preview", "gemini", b"{}")
    wanted = with_origin(call("who", n=1), origin)
    given = ready_of(Toolbox([who]), wanted).run()
    assert (given, given.origin) == (wanted, origin)
    assert given.arguments is not wanted.arguments


@pytest.mark.row("S3-25")
def test_what_is_done_to_no_arguments_is_not_seen_in_the_history() -> None:
    def adds(context: ToolContext) -> None:
        assert context.call.arguments is not None
        context.call.arguments["n"] = 1

    wanted = call("adds")
    ready_of(Toolbox([adds]), wanted).run()
    assert wanted.arguments == {}


# --- after the call -------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"


class Point(msgspec.Struct):
    x: int
    at: datetime.date | None = None


@dataclasses.dataclass
class Size:
    width: decimal.Decimal


class Name(str):
    def __str__(self) -> str:
        return "something else"


class Number(float):
    pass


class Model(pydantic.BaseModel):
    day: datetime.date


@pytest.mark.row("S1-55", "U-123")
@joined(
    ("value", "answer"),
    [
        ("sunny", {"result": "sunny"}),
        ("", {"result": ""}),
        ("Error: not one", {"result": "Error: not one"}),
        (None, {"result": None}),
        (5, {"result": 5}),
        (False, {"result": False}),
        (2**70, {"result": 2**70}),
        ([1, "a"], {"result": [1, "a"]}),
        ((1, (2,)), {"result": [1, [2]]}),
        ({"a": {"b": [None]}}, {"a": {"b": [None]}}),
        ({"error": "mine"}, {"error": "mine"}),
        ({1: "a"}, {"1": "a"}),
        ({}, {}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (Point(1, datetime.date(2026, 11, 22)), {"x": 1, "at": "2026-11-22"}),
        ([Point(1)], {"result": [{"x": 1, "at": None}]}),
        (Size(decimal.Decimal("1.50")), {"width": "1.50"}),
        (Model(day="2026-11-22"), {"day": "2026-11-22"}),  # type: ignore[arg-type]
        ([Model(day="2026-11-22")], {"result": [{"day": "2026-11-22"}]}),  # type: ignore[arg-type]
        (Colour.RED, {"result": "red"}),
        ({"a": {3}}, {"a": [3]}),
        (range(3), {"result": [0, 1, 2]}),
        (Name("n"), {"result": "n"}),
        (Number(1.5), {"result": 1.5}),
        (b"ab", {"result": "YWI="}),
        ("caf\udce9", {"result": "caf�"}),
        ({"a\ud800": ["\ud83d\ude00"]}, {"a�": ["😀"]}),
    ],
)
def test_what_the_model_is_told(value: Any, answer: Any) -> None:
    run = told(value)
    assert (run.result.id, run.result.name, run.result.error, run.error) == (
        "call_7",
        "f",
        False,
        None,
    )
    assert run.result.answer == answer
    assert msgspec.json.decode(msgspec.json.encode(run.result.answer)) == (
        answer if 2**70 not in answer.values() else {"result": float(2**70)}
    )


def test_a_result_shares_nothing_with_the_function() -> None:
    kept = {"a": [1]}
    run = told(kept)
    kept["a"].append(2)
    assert run.result.content == {"a": [1]}


loop: list[Any] = []
loop.append(loop)


@pytest.mark.row("S3-12")
@joined(
    ("value", "message"),
    [
        (object(), "$: JSON cannot represent this: object has no JSON form"),
        ([{"a": float("nan")}], "$[0].a: nan is not a JSON number"),
        (float("-inf"), "$: -inf is not a JSON number"),
        (
            {(1, 2): 3},
            "$: JSON cannot represent this: Only dicts with str-like or number-like keys are "
            "supported",
        ),
        (loop, "$: nested too deeply, or contains itself"),
        (iter([1]), "$: JSON cannot represent this: list_iterator has no JSON form"),
    ],
)
def test_a_result_that_is_no_json(value: Any, message: str) -> None:
    run = told(value)
    assert run.result.error
    assert run.result.answer["error"].startswith(f"invalid response: {message}")
    assert isinstance(run.error, ToolError)
    assert run.error.message.startswith(f"tool f: invalid response: {message}")


def test_a_result_made_by_the_function() -> None:
    run = told(ToolResult("x", "y", {"code": 5}, error=True, media=(PNG,)))
    assert run.result == ToolResult("call_7", "f", {"code": 5}, error=True, media=(PNG,))
    assert (run.result.answer, run.error) == ({"error": {"code": 5}}, None)
    run = told(ToolResult("x", "y", Point(1)))
    assert run.result == ToolResult("call_7", "f", {"x": 1, "at": None})


@pytest.mark.row("S1-54")
def test_success_is_a_flag_and_no_word_in_the_text() -> None:
    class Outcome:
        def __init__(self, text: str, success: bool) -> None:
            self.text, self.success = text, success

        def to_message(self) -> str:
            return self.text

    assert told(Outcome("Error: only a title", True)).result.answer == {
        "result": "Error: only a title"
    }
    assert told(Outcome("file not found", False)).result.answer == {"error": "file not found"}


@joined(
    ("value", "content", "media"),
    [
        (PNG, "", (PNG,)),
        ([PNG, "a chart"], "a chart", (PNG,)),
        (["two", PNG, "texts", PNG], ["two", "texts"], (PNG, PNG)),
        ([PNG, {"width": 5}], {"width": 5}, (PNG,)),
        (ToolResult("", "", [PNG, "a chart"]), "a chart", (PNG,)),
    ],
)
def test_media_stand_beside_what_is_said(value: Any, content: Any, media: Any) -> None:
    assert told(value).result == ToolResult("call_7", "f", content, media=media)


def test_the_response_of_media_is_what_is_said() -> None:
    schema = {"type": "object", "required": ["width"]}
    assert told([PNG, {"width": 5}], response=schema).result.error is False
    assert told(PNG, response=schema).result.answer == {
        "error": 'invalid response: $: "" is not of type "object"'
    }


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.row("S3-12", "U-104")
@joined(
    ("error", "message"),
    [
        (ValueError("no such city"), "no such city"),
        (ValueError("two\nlines"), "two\nlines"),
        (ValueError(), "ValueError"),
        (KeyError("city"), "'city'"),
        (TimeoutError(), "TimeoutError"),
        (Mute("x"), "Mute"),
        (ExceptionGroup("several", [ValueError("a")]), "several (1 sub-exception)"),
        (ValueError("caf\udce9"), "caf�"),
    ],
)
def test_an_exception_is_told_by_its_message(error: Exception, message: str) -> None:
    toolbox = Toolbox([get_weather])
    run = toolbox.finish(ready_of(toolbox, call(city="Oslo")), error=error)
    assert run == ToolRun(
        call(city="Oslo"), ToolResult("call_7", "get_weather", message, error=True), error
    )
    assert run.result.answer == {"error": message}
    assert Message.tool_response(run.result).tool_results == (run.result,)


@pytest.mark.row("S3-12")
def test_a_result_that_cannot_say_itself_is_a_failed_call() -> None:
    class Torn:
        def to_message(self) -> str:
            raise KeyError("city")

    class Model:
        def model_dump(self, mode: str) -> Any:
            raise AttributeError("gone")

    run = told(Torn())
    assert (run.result.answer, type(run.error)) == ({"error": "'city'"}, KeyError)
    run = told([Model()])
    assert (run.result.answer, type(run.error)) == ({"error": "gone"}, AttributeError)


@pytest.mark.row("S3-12")
def test_internals_are_told_to_the_user_alone() -> None:
    seen: list[Any] = []

    def soften(error: Exception, wanted: ToolCall) -> str:
        seen.append((error, wanted.id))
        return f"{wanted.name} failed"

    toolbox = Toolbox(
        [
            get_weather,
            tool(lambda: 5, name="g", response={"type": "string"}),
            tool(get_weather, name="t", timeout=1),
        ],
        on_error=soften,
    )
    secret = OSError("password=hunter2")
    run = toolbox.finish(ready_of(toolbox, call(city="Oslo")), error=secret)
    assert (run.result.answer, run.error) == ({"error": "get_weather failed"}, secret)
    run = toolbox.finish(ready_of(toolbox, call("g")), 5)
    assert run.result.answer == {"error": "g failed"}
    assert str(run.error) == 'tool g: invalid response: $: 5 is not of type "string"'
    assert seen == [(secret, "call_7"), (run.error, "call_7")]
    # What is ours to say holds nothing of the function's.
    assert toolbox.timed_out(ready_of(toolbox, call("t", city="a"))).result.answer == {
        "error": "tool t timeout after 1 s"
    }
    assert toolbox.prepare(call("none")).answer == {"error": "unknown tool: none"}  # type: ignore[union-attr]
    assert len(seen) == 2


@pytest.mark.row("S3-15")
@pytest.mark.parametrize(("seconds", "shown"), [(3, "3 s"), (0.25, "0.25 s")])
def test_a_timeout(seconds: float, shown: str) -> None:
    toolbox = Toolbox([tool(get_weather, timeout=seconds, final=True)])
    run = toolbox.timed_out(ready_of(toolbox, call(city="Oslo")))
    assert run.result == ToolResult(
        "call_7", "get_weather", f"tool get_weather timeout after {shown}", error=True
    )
    assert run.result.answer == {"error": f"tool get_weather timeout after {shown}"}
    assert isinstance(run.error, ToolError)
    assert not toolbox.is_final(run.result)


@pytest.mark.row("S1-54", "S3-15")
@joined(
    "error",
    [
        KeyboardInterrupt(),
        asyncio.CancelledError(),
        SystemExit(1),
        BaseExceptionGroup("", [asyncio.CancelledError()]),
    ],
)
def test_a_cancellation_is_no_answer(error: BaseException) -> None:
    toolbox = Toolbox([get_weather], on_error=lambda error, call: "swallowed")
    ready = ready_of(toolbox, call(city="Oslo"))
    with pytest.raises(type(error)) as caught:
        toolbox.finish(ready, error=error)
    assert caught.value is error


@pytest.mark.row("S3-24")
@joined(
    ("final", "content", "ends"),
    [
        (True, "x", True),
        (False, "x", False),
        (lambda content: content["done"], {"done": True}, True),
        (lambda content: content["done"], {"done": []}, False),
    ],
)
def test_final_tools(final: Any, content: Any, ends: bool) -> None:
    toolbox = Toolbox([tool(get_weather, final=final), Tool("passive")])
    ready = ready_of(toolbox, call(city="Oslo"))
    assert toolbox.is_final(toolbox.finish(ready, content).result) is ends
    assert toolbox.is_final(toolbox.finish(ready, error=ValueError("x")).result) is False
    assert toolbox.is_final(ToolResult("1", "passive", "x")) is False
    assert toolbox.is_final(ToolResult("1", "nothing", "x")) is False


@pytest.mark.row("U-118")
def test_results_of_one_turn() -> None:
    toolbox = Toolbox([get_weather])
    good, bad = call(city="Oslo"), msgspec.structs.replace(call("nothing"), id="call_8")
    ready = ready_of(toolbox, good)
    second = toolbox.prepare(bad)
    assert isinstance(second, ToolResult)
    message = Message.tool_response(toolbox.finish(ready, ready.run()).result, second)
    assert [(result.id, result.error) for result in message.tool_results] == [
        ("call_7", False),
        ("call_8", True),
    ]


def test_a_call_that_a_hook_failed_on_is_refused_with_the_reason() -> None:
    error = ExceptionGroup("g", [OSError("no terminal"), KeyError()])
    run = Toolbox([get_weather]).hook_failed(call(city="Oslo"), "approve", error)
    told = "refused: the approve hook failed: no terminal; KeyError"
    result = ToolResult("call_7", "get_weather", told, error=True)
    assert run == ToolRun(call(city="Oslo"), result, error)


@pytest.mark.parametrize(
    ("on_error", "told", "note"),
    [
        (lambda error, call: {}[error], "KeyError", "on_error raised KeyError: OSError("),
        (lambda error, call: 5, "TypeError", "on_error raised TypeError: expected a text"),
    ],
)
def test_an_on_error_that_fails_still_hides(on_error: Any, told: str, note: str) -> None:
    toolbox = Toolbox([get_weather], on_error=on_error)
    secret = OSError("password=hunter2")
    run = toolbox.finish(ready_of(toolbox, call(city="Oslo")), error=secret)
    assert run.result.answer == {"error": f"tool get_weather failed, and on_error raised {told}"}
    assert run.error is secret
    assert [each.startswith(note) for each in secret.__notes__] == [True]


def test_a_final_that_fails_ends_nothing_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    toolbox = Toolbox([tool(get_weather, final=lambda content: content["done"])])
    caplog.set_level("DEBUG", "wire.tools")
    assert toolbox.is_final(ToolResult("1", "get_weather", {})) is False
    told, detail = caplog.records
    text = "final of tool get_weather failed, so its result does not end the run:"
    assert (told.name, told.levelname, told.exc_info) == ("wire.tools", "WARNING", None)
    assert told.getMessage().startswith(f"{text} KeyError at test_toolbox.py:")
    assert (detail.levelname, detail.getMessage()) == ("DEBUG", f"{text} 'done'")
    assert detail.exc_info


class Odd:
    """A shape whose reader has a mistake in it."""

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": "object"}

    def read(self, value: Any) -> Any:
        raise LookupError("no reader")


def test_a_reader_that_breaks_says_that_the_arguments_are_invalid() -> None:
    made = tool(get_weather)
    signature = msgspec.structs.replace(made.signature, shape=Odd())
    toolbox = Toolbox([msgspec.structs.replace(made, signature=signature)])
    refused = toolbox.prepare(call(city="Oslo"))
    assert isinstance(refused, ToolResult)
    assert refused.answer == {"error": "invalid parameters: no reader"}
