"""`Toolbox`: the tools of a conversation. It prepares calls and builds their results.

It runs no tool. The caller calls or awaits `Ready.run`, and passes the value or the exception to
`Toolbox.finish`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from logging import Logger
from typing import Any

import msgspec

from wire.core.arguments import checked_arguments, items_of
from wire.core.errors import RuleError, ToolError, Violation, leaves, one_line
from wire.core.logs import log_failure, logger
from wire.core.printable import printable_line
from wire.core.secret import type_name
from wire.neutral.messages import ToolCall, ToolResult, with_origin
from wire.neutral.request import ServerTool, Tool
from wire.neutral.validation import Mismatch, plain
from wire.tools.definition import FunctionTool, tool
from wire.tools.results import result_of, text_of
from wire.tools.signature import ToolContext, is_async

log: Logger = logger("wire.tools")

_MAX_QUOTED_BYTES = 200
"""Bytes of malformed arguments that an error quotes to the model."""


class Ready(msgspec.Struct, frozen=True):
    """A call that can run: `run` takes no arguments."""

    call: ToolCall
    """The call of the model."""
    tool: FunctionTool
    """The tool that the call names."""
    run: Callable[[], Any]
    """Runs the function with the arguments of the call."""
    is_async: bool
    """Whether `run` returns an awaitable."""

    @property
    def timeout(self) -> float | None:
        """Seconds that the call may take; `None` for no limit."""
        return self.tool.timeout


class ToolRun(msgspec.Struct, frozen=True):
    """A call and its result. `error` is the exception behind an error; the model gets only its
    message.
    """

    call: ToolCall
    """The call of the model."""
    result: ToolResult
    """The result for the model."""
    error: Exception | None = None
    """The exception behind an error; `None` if the call succeeded."""


class Toolbox:
    """Tools by name, and the results of their calls.

    >>> def get_weather(city: str) -> str:
    ...     return f"It rains in {city}."
    >>> toolbox = Toolbox([get_weather])
    >>> ready = toolbox.prepare(ToolCall(id="1", name="get_weather", arguments={"city": "Bergen"}))
    >>> toolbox.finish(ready, ready.run()).result.answer
    {'result': 'It rains in Bergen.'}
    >>> toolbox.prepare(ToolCall(id="2", name="get_time")).answer
    {'error': 'unknown tool: get_time'}

    Functions are converted by `tool`. Tools that the vendor's server runs, such as
    `wire.web_search()`, are in `definitions` only: the server answers their calls.
    `on_error(error, call)` returns the message that the model gets for an exception or an invalid
    result, in place of the exception's own message. If `on_error` itself raises, the model gets the
    class of that exception only. With `finds`, the tool `find_tools` joins before the first
    deferred tool; hosts with a tool search of their own do not get it. Raises `RuleError` for two
    tools with the same name (G29), and what `tool` raises.
    """

    def __init__(
        self,
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] = (),
        *,
        on_error: Callable[[Exception, ToolCall], str] | None = None,
        finds: bool = False,
    ) -> None:
        if isinstance(tools, (str, Mapping)) or not isinstance(tools, Iterable):
            problem = f"expected a list of tools, not {type(tools).__name__}"
            remedy = "write tools=[...] with it inside" if callable(tools) else ""
            raise RuleError(violations=[Violation("tools", problem, remedy=remedy)])
        self._tools: dict[str, Tool] = {}
        self._on_error = on_error
        self._finds = finds
        # All tools in their order; of a function only the name, since another one may replace it.
        self._order: list[str | ServerTool] = []
        for index, each in enumerate(items_of("tools", tools)):
            if isinstance(each, ServerTool):
                self._order.append(each)
                continue
            if not isinstance(each, Tool) and not callable(each):
                problem = f"expected a function, a type or a Tool, not {type(each).__name__}"
                remedy = "write the function, or Tool(name=..., parameters=...)"
                if isinstance(each, str):
                    remedy = "write the function, without quotes; wire.web_search() searches"
                raise RuleError(violations=[Violation(f"tools[{index}]", problem, remedy=remedy)])
            self.register(each)

    @checked_arguments(ToolError, before=True)
    def register(self, added: Tool | Callable[..., Any], *, replace: bool = False) -> Tool:
        """Add a tool. Also a decorator.

        Raises `RuleError` for a name that is taken (G29), unless `replace`.
        """
        made = added if isinstance(added, Tool) else tool(added)
        if made.name in self._tools and not replace:
            raise _taken(made.name)
        if made.deferred:
            self._add_search()
        if made.name not in self._tools:
            self._order.append(made.name)
        self._tools[made.name] = made
        return made

    def _add_search(self) -> None:
        """Add `find_tools`, once. Raises `RuleError` if another tool has the name (G29)."""
        if self._finds:
            from wire.tools.finding import find_tool  # few toolboxes have deferred tools

            self.register(find_tool(self.__iter__))
            self._finds = False

    @checked_arguments(ToolError, before=True)
    def replace(self, old: Iterable[Tool], new: Iterable[Tool]) -> None:
        """Remove the tools of `old` that are registered, and add those of `new`.

        >>> toolbox = Toolbox([Tool("read"), Tool("now")])
        >>> toolbox.replace([Tool("read"), Tool("write")], [Tool("read", "Reads."), Tool("list")])
        >>> [each.name for each in toolbox]
        ['read', 'now', 'list']

        Such are the tools of a server before and after they changed. A tool that is in both lists
        keeps its position. Raises `RuleError` for a name that another tool has (G29); nothing is
        changed then.
        """
        gone = {each.name for each in _tools_of("old", old)}
        tools = {name: each for name, each in self._tools.items() if name not in gone}
        added = {each.name: each for each in _tools_of("new", new)}
        for each in added:
            if each in tools:
                raise _taken(each)
        if any(each.deferred for each in added.values()):
            self._add_search()
            tools = {name: each for name, each in self._tools.items() if name not in gone}
        tools |= added
        kept = [each for each in self._order if not isinstance(each, str) or each in tools]
        self._order = [*kept, *(name for name in added if name not in kept)]
        self._tools = {each: tools[each] for each in self._order if isinstance(each, str)}

    @property
    def definitions(self) -> tuple[Tool | ServerTool, ...]:
        """The tools in the order of registration, with those of servers, for `Request.tools`."""
        # Read once, tools first: another thread may replace some, and sets the order before them.
        tools, order = self._tools, self._order
        found = [tools.get(each) if isinstance(each, str) else each for each in order]
        return tuple([each for each in found if each is not None])

    @checked_arguments(ToolError, before=True)
    def get(self, name: str) -> Tool | None:
        """Return the tool with that name; `None` if there is none."""
        return self._tools.get(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(tuple(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    @checked_arguments(ToolError, before=True)
    def is_passive(self, name: str) -> bool:
        """Return whether that tool lacks a function, so the caller answers its calls (U-112)."""
        registered = self._tools.get(name)
        return registered is not None and not isinstance(registered, FunctionTool)

    @checked_arguments(ToolError, before=True)
    def is_final(self, result: ToolResult) -> bool:
        """Return whether this result ends the run (S3-24).

        An error does not: the model may try again. Neither does a result whose `final` raises: the
        tool has run, so its result is kept, and the exception is logged.
        """
        registered = self._tools.get(result.name)
        if result.error or not isinstance(registered, FunctionTool):
            return False
        if isinstance(registered.final, bool):
            return registered.final
        try:
            return bool(registered.final(result.content))
        except Exception as error:
            text = "final of tool %s failed, so its result does not end the run: %s"
            log_failure(log, text, result.name, error=error)
            return False

    @checked_arguments(ToolError, before=True)
    def prepare(self, call: ToolCall, context: ToolContext | None = None) -> Ready | ToolResult:
        """Return the call ready to run, or an error result for an unknown tool or bad arguments.

        Raises `ToolError` for a tool without a function: the caller answers its calls.
        """
        registered = self._tools.get(call.name)
        if registered is None:
            return _error(call, f"unknown tool: {call.name}")
        if not isinstance(registered, FunctionTool):
            raise ToolError(
                f"tool {call.name}: it has no function, so the caller must give the result"
            )
        try:
            args, keywords = registered.signature.bind(
                _arguments(call), _unshared(context or ToolContext(call))
            )
        except Exception as problem:  # the user's own validators may raise anything
            return _error(call, f"invalid parameters: {_message(problem)}")
        return Ready(
            call,
            registered,
            functools.partial(registered.function, *args, **keywords),
            is_async(registered.function),
        )

    @checked_arguments(ToolError, before=True)
    def finish(
        self, ready: Ready, value: Any = None, error: BaseException | None = None
    ) -> ToolRun:
        """Return the run of a call whose function returned `value`, or raised `error`.

        An error that is not an `Exception`, such as a cancellation, is raised again.
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
        except Exception as raised:  # `to_message` and `model_dump` are the user's code
            return self._failed(ready.call, raised, _message(raised))

    @checked_arguments(ToolError, before=True)
    def timed_out(self, ready: Ready) -> ToolRun:
        """Return the run of a call that exceeded its timeout (S3-15)."""
        message = f"tool {ready.call.name} timeout after {ready.timeout or 0:g} s"
        return ToolRun(ready.call, _error(ready.call, message), ToolError(message))

    @checked_arguments(ToolError, before=True)
    def hook_failed(self, call: ToolCall, hook: str, error: Exception) -> ToolRun:
        """Return the run of a call that was refused because a hook that decides on it raised."""
        reason = "; ".join(map(_message, leaves(error)))
        return self._failed(call, error, f"refused: the {hook} hook failed: {reason}")

    def _failed(self, call: ToolCall, error: Exception, message: str) -> ToolRun:
        if self._on_error is None:
            return ToolRun(call, _error(call, message), error)
        try:
            replacement = self._on_error(error, call)
            if not isinstance(replacement, str):
                raise TypeError(f"expected a text, not {type(replacement).__name__}")
            result = _error(call, replacement)
        except Exception as raised:
            # `on_error` is there to hide internals, so the model gets neither message.
            kind = type(raised).__name__
            # A traceback shows the note unchanged.
            error.add_note(printable_line(f"on_error raised {kind}: {_message(raised)}"))
            result = _error(call, f"tool {call.name} failed, and on_error raised {kind}")
        return ToolRun(call, result, error)


def _taken(name: str) -> RuleError:
    return RuleError(violations=[Violation("tools", f"two tools are called {name}", "G29")])


def _error(call: ToolCall, message: str) -> ToolResult:
    return ToolResult(call.id, call.name, text_of(message), error=True)


def _message(error: BaseException) -> str:
    """Return the message of an exception, or its class if the message is empty."""
    try:
        return str(error) or type(error).__name__
    except Exception:  # `__str__` is the user's code, and must not end a run
        return type(error).__name__


def _arguments(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of the call; `{}` if it has none (S3-03).

    Raises `Mismatch` if they are not an object.
    """
    if isinstance(call.arguments, dict):
        return call.arguments
    if call.arguments is None and not call.text.strip():
        return {}
    text = call.text if call.arguments is None else repr(call.arguments)
    quoted = one_line(text, _MAX_QUOTED_BYTES)
    expected = "a complete text" if call.kind == "custom" else "one complete JSON object"
    raise Mismatch("$", f"expected {expected}, not {quoted!r}")


def _unshared(context: ToolContext) -> ToolContext:
    """Copy the call in the context, so that a function cannot change the history through it."""
    call = context.call
    if call.arguments is None:
        return context
    copy = with_origin(msgspec.structs.replace(call, arguments=plain(call.arguments)), call.origin)
    return msgspec.structs.replace(context, call=copy)


def _tools_of(name: str, given: Iterable[Tool]) -> tuple[Tool, ...]:
    """Return the tools of a list. Raises `ToolError` for anything else."""
    tools = items_of(name, given, error=ToolError)
    for index, each in enumerate(tools):
        if not isinstance(each, Tool):
            raise ToolError(f"{name}[{index}]: expected a Tool, not {type_name(each)}")
    return tools
