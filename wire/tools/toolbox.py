"""The tools of a conversation, and all that is decided about a call: whether it can be made, and
what its answer says.

Nothing is run here. Whoever runs it awaits or calls `Ready.run`, and hands what came of it to
`Toolbox.finish`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from wire.errors import RuleError, ToolError, Violation, leaves, one_line
from wire.neutral.messages import ToolCall, ToolResult, with_origin
from wire.neutral.request import Tool
from wire.neutral.validation import Mismatch, plain
from wire.tools.definition import FunctionTool, tool
from wire.tools.results import result_of, text_of
from wire.tools.signature import ToolContext, is_async

log = logging.getLogger("wire.tools")

_SHOWN = 200  # bytes of arguments that are no JSON, quoted to the model


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that can be made: `run` does it, without arguments."""

    call: ToolCall
    tool: FunctionTool
    run: Callable[[], Any]
    is_async: bool
    """What `run` gives is to be awaited."""

    @property
    def timeout(self) -> float | None:
        """Seconds that it may take."""
        return self.tool.timeout


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A call and its answer; `error` is what was raised, of which the model is told the message
    alone.
    """

    call: ToolCall
    result: ToolResult
    error: Exception | None = None


class Toolbox:
    """Tools by their names.

    >>> def get_weather(city: str) -> str:
    ...     return f"It rains in {city}."
    >>> toolbox = Toolbox([get_weather])
    >>> ready = toolbox.prepare(ToolCall(id="1", name="get_weather", arguments={"city": "Bergen"}))
    >>> toolbox.finish(ready, ready.run()).result.answer
    {'result': 'It rains in Bergen.'}
    >>> toolbox.prepare(ToolCall(id="2", name="get_time")).answer
    {'error': 'unknown tool: get_time'}

    Functions are made tools by `tool`. `on_error(error, call)` makes the message that the model
    gets of an exception or of an invalid result, so that nothing internal is told; if it raises,
    the model gets the class of that exception alone. Raises `RuleError` for two tools of one name
    (G29), and what `tool` raises.
    """

    def __init__(
        self,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        *,
        on_error: Callable[[Exception, ToolCall], str] | None = None,
    ) -> None:
        if isinstance(tools, (str, Mapping)) or not isinstance(tools, Iterable):
            raise RuleError(
                violations=[
                    Violation("tools", f"a list of tools is wanted, not {type(tools).__name__}")
                ]
            )
        self._tools: dict[str, Tool] = {}
        self._on_error = on_error
        for index, each in enumerate(tools):
            if not isinstance(each, Tool) and not callable(each):
                problem = f"a function, a type or a Tool is wanted, not {type(each).__name__}"
                raise RuleError(violations=[Violation(f"tools[{index}]", problem)])
            self.register(each)

    def register(self, added: Tool | Callable[..., Any], *, replace: bool = False) -> Tool:
        """Add a tool; also a decorator.

        Raises `RuleError` for a name that is taken (G29), unless it is to be replaced.
        """
        made = added if isinstance(added, Tool) else tool(added)
        if made.name in self._tools and not replace:
            raise RuleError(
                violations=[Violation("tools", f"two tools are called {made.name}", "G29")]
            )
        self._tools[made.name] = made
        return made

    @property
    def definitions(self) -> tuple[Tool, ...]:
        """What the model is told of, in the order of registration."""
        return tuple(self._tools.values())

    def get(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._tools.get(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.definitions)

    def __len__(self) -> int:
        return len(self._tools)

    def is_passive(self, name: str) -> bool:
        """Whether it is a tool without a function, whose calls are for the caller to answer
        (U-112).
        """
        found = self._tools.get(name)
        return found is not None and not isinstance(found, FunctionTool)

    def is_final(self, result: ToolResult) -> bool:
        """Whether this result ends the loop (S3-24).

        One that is an error does not: the model may try again. Neither does one whose `final`
        raises: the tool has run, so its result is kept, and the exception is logged.
        """
        found = self._tools.get(result.name)
        if result.error or not isinstance(found, FunctionTool):
            return False
        if isinstance(found.final, bool):
            return found.final
        try:
            return bool(found.final(result.content))
        except Exception as error:
            told = "final of tool %s failed, so its result does not end the run: %s"
            log.warning(told, result.name, _message(error), exc_info=error)
            return False

    def prepare(self, call: ToolCall, context: ToolContext | None = None) -> Ready | ToolResult:
        """The call, ready to be made; or its answer, if there is no such tool or the arguments are
        not what it takes.

        Raises `ToolError` for a passive tool: its calls are not ours to make.
        """
        found = self._tools.get(call.name)
        if found is None:
            return _error(call, f"unknown tool: {call.name}")
        if not isinstance(found, FunctionTool):
            raise ToolError(
                f"tool {call.name}: it has no function, so its call is the caller's to answer"
            )
        try:
            args, keywords = found.signature.bind(
                _arguments(call), _unshared(context or ToolContext(call))
            )
        except Exception as problem:  # a reader or validator of the user's own may raise anything
            return _error(call, f"invalid parameters: {_message(problem)}")
        return Ready(
            call,
            found,
            functools.partial(found.function, *args, **keywords),
            is_async(found.function),
        )

    def finish(
        self, ready: Ready, value: Any = None, error: BaseException | None = None
    ) -> ToolRun:
        """The answer to a call whose function returned `value`, or raised `error`.

        A cancellation, or whatever else is no `Exception`, is no answer: it is raised again.
        """
        if isinstance(error, Exception):
            return self._failed(ready.call, error, _message(error))
        if error is not None:
            raise error
        try:
            return ToolRun(ready.call, result_of(ready.call, value, ready.tool.returns))
        except Mismatch as mismatch:
            problem = f"invalid response: {mismatch}"
            return self._failed(
                ready.call, ToolError(f"tool {ready.call.name}: {problem}"), problem
            )
        except (
            Exception
        ) as raised:  # `to_message` and `model_dump` are the user's, as the function is
            return self._failed(ready.call, raised, _message(raised))

    def timed_out(self, ready: Ready) -> ToolRun:
        """The answer to a call that took longer than it may (S3-15)."""
        told = f"tool {ready.call.name} timeout after {ready.timeout or 0:g} s"
        return ToolRun(ready.call, _error(ready.call, told), ToolError(told))

    def hook_failed(self, call: ToolCall, hook: str, error: Exception) -> ToolRun:
        """The answer to a call that was not made, because a hook that decides on it raised."""
        reason = "; ".join(map(_message, leaves(error)))
        told = f"refused: the {hook} hook failed: {reason}"
        return self._failed(call, error, told)

    def _failed(self, call: ToolCall, error: Exception, told: str) -> ToolRun:
        if self._on_error is None:
            return ToolRun(call, _error(call, told), error)
        try:
            words = self._on_error(error, call)
            if not isinstance(words, str):
                raise TypeError(f"a text is wanted, not {type(words).__name__}")
            result = _error(call, words)
        except Exception as raised:
            # `on_error` hides what is internal, so neither message is for the model.
            kind = type(raised).__name__
            error.add_note(f"on_error raised {kind}: {_message(raised)}")
            told = f"tool {call.name} failed, and on_error raised {kind}"
            result = _error(call, told)
        return ToolRun(call, result, error)


def _error(call: ToolCall, told: str) -> ToolResult:
    return ToolResult(call.id, call.name, text_of(told), error=True)


def _message(error: BaseException) -> str:
    """What it says, or its class if it says nothing."""
    try:
        return str(error) or type(error).__name__
    except Exception:  # the exception is the user's; one that cannot be shown must not end a run
        return type(error).__name__


def _arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of the call; absent ones are none (S3-03)."""
    if isinstance(call.arguments, dict):
        return call.arguments
    if call.arguments is None and not call.text.strip():
        return {}
    came = call.text if call.arguments is None else repr(call.arguments)
    raise Mismatch(
        "$", f"a JSON object is wanted, whole and nothing else, not {one_line(came, _SHOWN)!r}"
    )


def _unshared(context: ToolContext) -> ToolContext:
    """The context with a call of its own, so that what a function does to its arguments is not seen
    in the history.
    """
    call = context.call
    if call.arguments is None:
        return context
    copy = with_origin(msgspec.structs.replace(call, arguments=plain(call.arguments)), call.origin)
    return msgspec.structs.replace(context, call=copy)
