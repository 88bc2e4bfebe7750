"""`tool`: makes tools from functions, types and schemas."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, get_origin, overload

import msgspec

from wire.core.arguments import checked_arguments, checked_names, flag, items_of
from wire.core.errors import ToolError
from wire.core.secret import quoted
from wire.neutral.request import Syntax, Tool, ToolKind, text_parameters
from wire.neutral.validation import Shape, shape_of
from wire.tools.signature import (
    Signature,
    gives_pieces,
    is_async,
    name_of,
    signature_of,
    summary,
    text_signature,
)

if TYPE_CHECKING:
    from typing_extensions import ParamSpec as ParamSpecWithDefault
    from typing_extensions import TypeVar as TypeVarWithDefault

    P = ParamSpecWithDefault("P", default=...)
    R_co = TypeVarWithDefault("R_co", covariant=True, default=Any)
else:
    P = ParamSpec("P")
    R_co = TypeVar("R_co", covariant=True)

_ADDED = frozenset({"additionalProperties"})


class FunctionTool(Tool, Generic[P, R_co], frozen=True, kw_only=True):
    """A tool with its function, made by `tool`. Calling the tool calls the function.

    To type checkers it takes what the function takes, and returns what it returns.
    """

    function: Callable[P, R_co]
    """The function that a call runs."""
    signature: Signature
    """Binds a model's arguments to the function's parameters."""
    returns: Shape | None = None
    """The shape of valid results; `None` for any JSON."""
    timeout: float | None = None
    """Seconds after which the model gets an error as the result; `None` for no limit."""
    final: bool | Callable[[Any], bool] = False
    """Whether a result ends the run, so that the model is not called again: a bool, or a function
    of the result's content."""
    needs_approval: bool = False
    """Whether a call waits until it is approved."""
    read_only: bool = False
    """Whether it changes nothing: an interrupted run may run it again."""

    @property
    def added_keywords(self) -> frozenset[str]:
        """`additionalProperties`, if the schema comes from the function's annotations.

        Arguments that the function does not have are refused when it is called.
        """
        return _ADDED if self.signature.how == "struct" else frozenset()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function."""
        return self.function(*args, **kwargs)


@overload
def tool(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]  # types are callable, but no functions here
    function: type[Any],
    *,
    name: str | None = None,
    description: str | None = None,
    response: Any = None,
    strict: bool = False,
    deferred: bool = False,
) -> Tool: ...
@overload
def tool(
    function: Callable[P, R_co],
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Any = None,
    response: Any = None,
    strict: bool = False,
    kind: ToolKind = "function",
    grammar: str = "",
    syntax: Syntax = "lark",
    timeout: float | None = None,
    final: bool | Callable[[Any], bool] = False,
    needs_approval: bool = False,
    read_only: bool = False,
    deferred: bool = False,
) -> FunctionTool[P, R_co]: ...
@overload
def tool(
    function: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Any = None,
    response: Any = None,
    strict: bool = False,
    kind: ToolKind = "function",
    grammar: str = "",
    syntax: Syntax = "lark",
    timeout: float | None = None,
    final: bool | Callable[[Any], bool] = False,
    needs_approval: bool = False,
    read_only: bool = False,
    deferred: bool = False,
) -> Callable[[Callable[P, R_co]], FunctionTool[P, R_co]]: ...
@checked_names()
def tool(
    function: Any = None,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Any = None,
    response: Any = None,
    strict: bool = False,
    kind: ToolKind = "function",
    grammar: str = "",
    syntax: Syntax = "lark",
    timeout: float | None = None,
    final: bool | Callable[[Any], bool] = False,
    needs_approval: bool = False,
    read_only: bool = False,
    deferred: bool = False,
) -> Any:
    """Make a tool of a function, plain or async. Also a decorator, with or without options.

    >>> @tool
    ... def add(a: int, b: int = 1) -> int:
    ...     "The sum."
    ...     return a + b
    >>> add.name, add.description, add.parameters["required"], add(1, b=2)
    ('add', 'The sum.', ['a'], 3)

    - `name`, `description`: by default the function's name and the first paragraph of its
      docstring.
    - `parameters`: by default the schema comes from the annotations, and arguments are converted to
      them. With a type (a struct, a dataclass, a TypedDict, a pydantic model) the function gets one
      instance of it. With a JSON Schema (a mapping, JSON as text or bytes, or the path of a file)
      the function gets the properties as keywords if it names all of them, else the object as a
      dict.
    - `response`: a type or a JSON Schema that results must match.
    - `strict`, `deferred`: see `Tool`.
    - `kind`, `grammar`, `syntax`: see `Tool`. The function of a custom tool gets the text of the
      model as its only argument.
    - `timeout`, in seconds, `final`, `needs_approval`, `read_only`: see `FunctionTool`.

    A type in place of the function makes a tool without a function: a run stops at its calls and
    hands them to you. A parameter annotated with `ToolContext` gets the context. Parameters that a
    `functools.partial` fills in are not in the schema.

    Raises `ToolError` for a function or a schema that cannot be a tool, `RuleError` for a name that
    some vendor refuses, `ConfigurationError` for a JSON Schema without the extra
    `wire-llm[tools]`.
    """
    options: dict[str, Any] = {
        "timeout": timeout,
        "final": final,
        "needs_approval": needs_approval,
        "read_only": read_only,
    }
    form: dict[str, Any] = {"kind": kind, "grammar": grammar, "syntax": syntax}
    form["deferred"] = deferred
    if function is None:
        return functools.partial(
            tool,
            name=name,
            description=description,
            parameters=parameters,
            response=response,
            strict=strict,
            **form,
            **options,
        )
    if isinstance(function, type) or get_origin(function) is not None:
        given = {**options, "parameters": parameters, "kind": kind != "function"}
        refused = [*filter(given.get, given), *(["grammar"] if grammar else [])]
        return _of_type(function, name, description, response, strict, deferred, refused)
    if not callable(function) or isinstance(function, Tool):
        raise ToolError(f"expected a function, not {type(function).__name__}")
    name = name_of(function) if name is None else name
    if gives_pieces(function):
        raise ToolError(f"tool {name}: a generator function has no single result")
    if timeout is not None and (
        isinstance(timeout, bool)
        or not isinstance(timeout, (int, float))
        or not 0 < timeout < math.inf
    ):
        raise ToolError(
            f"tool {name}: timeout: expected more than 0 seconds, not {quoted(timeout)}"
        )
    if not isinstance(final, bool) and not callable(final):
        raise ToolError(
            f"tool {name}: final: expected a bool or a function of the result, not {quoted(final)}"
        )
    if is_async(final):  # a coroutine would count as true
        raise ToolError(f"tool {name}: final: expected a plain function, not an async one")
    flag(f"tool {name}: needs_approval", needs_approval, error=ToolError)
    flag(f"tool {name}: read_only", read_only, error=ToolError)
    if kind == "custom" and parameters is not None:
        raise ToolError(f"tool {name}: parameters: a custom tool takes one text")
    signature = (
        text_signature(function, name)
        if kind == "custom"
        else signature_of(function, name, parameters)
    )
    returns = None if response is None else _returns(response, name)
    return FunctionTool(
        name,
        summary(function) if description is None else description,
        text_parameters(grammar, syntax) if kind == "custom" else signature.shape.schema,
        None if returns is None else returns.schema,
        strict,
        **form,
        function=function,
        signature=signature,
        returns=returns,
        **options,
    )


@checked_arguments(ToolError, before=True)
def deferred(tools: Iterable[Tool | Callable[..., Any]]) -> list[Tool]:
    """Return tools as deferred ones, such as those of an MCP server.

    >>> def high_tide(port: str) -> str:
    ...     return "05:12"
    >>> deferred([high_tide])[0].deferred
    True

    `Tool.deferred` says what that means. Raises what `tool` raises.
    """
    made = (each if isinstance(each, Tool) else tool(each) for each in items_of("tools", tools))
    return [msgspec.structs.replace(each, deferred=True) for each in made]


def _of_type(
    kind: Any,
    name: str | None,
    description: str | None,
    response: Any,
    strict: bool,
    deferred: bool,
    refused: list[str],
) -> Tool:
    name = name_of(kind) if name is None else name
    if refused:
        raise ToolError(f"tool {name}: {refused[0]}: only a tool with a function has this option")
    try:
        shape = shape_of(kind)
    except (TypeError, ValueError, NameError, re.error) as cause:
        raise ToolError(f"tool {name}: invalid parameters schema: {cause}") from None
    if shape.schema.get("type") != "object":
        raise ToolError(
            f"tool {name}: invalid parameters schema: expected a type of JSON objects, not {name}"
        )
    returns = None if response is None else _returns(response, name)
    return Tool(
        name,
        summary(kind) if description is None else description,
        shape.schema,
        None if returns is None else returns.schema,
        strict,
        deferred=deferred,
    )


def _returns(response: Any, name: str) -> Shape:
    try:
        return shape_of(response)
    except (TypeError, ValueError, NameError, re.error) as cause:
        raise ToolError(f"tool {name}: invalid response schema: {cause}") from None
