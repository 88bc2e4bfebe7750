"""The parameters of a function: binding a model's arguments to them, and their descriptions."""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints

import msgspec

from wire.core.errors import ToolError
from wire.neutral.messages import Message, ToolCall
from wire.neutral.validation import Mismatch, Shape, TypeShape, check_type_size, is_schema, shape_of

How: TypeAlias = Literal["struct", "names", "any names", "object", "text"]

_ABSENT: Final = object()
_Parameter = inspect.Parameter
_SECTION = re.compile(r"(?:Args|Arguments|Parameters):")
_ENTRY = re.compile(r"(\w+)\s*(?:\([^)]*\))?:\s*(.*)")


class ToolContext(msgspec.Struct, frozen=True):
    """The context of a call that a function may receive: the call, the model, the messages so far.

    >>> from wire.tools import tool
    >>> @tool
    ... def remember(fact: str, context: ToolContext) -> str:
    ...     "Remember a fact."
    ...     return f"{context.model}: {fact}"
    >>> list(remember.parameters["properties"])
    ['fact']

    A parameter annotated with `ToolContext` receives it. The schema for the model does not have
    that parameter.
    """

    call: ToolCall
    """The call that runs."""
    model: str = ""
    """Name of the model; empty if it has none."""
    messages: tuple[Message, ...] = ()
    """The conversation so far."""


class _TextArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call of a custom tool."""

    input: str


class Signature(msgspec.Struct, frozen=True):
    """The way to call a function with the arguments of a model."""

    shape: Shape
    how: How
    """The arguments that the function gets: `struct`, keywords from a struct of its parameters;
    `names`, keywords from a JSON object, only those in `names`; `any names`, all keywords of it;
    `object`, the object as the only argument; `text`, the text of a custom tool as the only
    argument."""
    names: tuple[str, ...] = ()
    """Keywords that a model may give; with `object` and `text` the name of the only argument, if it
    has one."""
    needed: tuple[str, ...] = ()
    """Keywords that the function requires, even if the schema does not."""
    hidden: frozenset[str] = frozenset()
    """Keywords that a model may not give, even with `any names`."""
    contexts: tuple[str, ...] = ()
    """Names of the parameters that get the `ToolContext`."""

    def bind(
        self, arguments: dict[str, Any], context: ToolContext
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional and keyword arguments of a call.

        Raises `Mismatch` for arguments that the function does not take.
        """
        read = self.shape.read(arguments)
        keywords: dict[str, Any] = dict.fromkeys(self.contexts, context)
        if self.how == "text":
            read = read.input
        if self.how in ("object", "text"):
            return ((), {self.names[0]: read} | keywords) if self.names else ((read,), keywords)
        if self.how == "struct":
            # Absent arguments are left out, so that the function uses its own default object and
            # not a copy of it.
            return (), {
                name: value for name in self.names if (value := getattr(read, name)) is not _ABSENT
            } | keywords
        for name in read:
            if name in self.hidden or (self.how == "names" and name not in self.names):
                raise Mismatch("$", f"there is no parameter {name!r}")
        for name in self.needed:
            if name not in read:
                raise Mismatch("$", f"the parameter {name!r} is missing")
        return (), read | keywords


def signature_of(function: Callable[..., Any], name: str, parameters: Any = None) -> Signature:
    """Build the signature of `function`; `parameters` is the argument of `wire.tools.tool`.

    Raises `ToolError` that names tool and parameter.
    """
    params, contexts, filled = _given(function, name)
    if parameters is None:
        return _typed(params, contexts, name, documented(function))
    try:
        shape = shape_of(parameters)
    except (TypeError, ValueError, NameError, re.error) as cause:
        raise ToolError(f"tool {name}: invalid parameters schema: {cause}") from None
    if is_schema(parameters):
        return _by_schema(params, contexts, filled, name, shape)
    if shape.schema.get("type") != "object":
        raise ToolError(
            f"tool {name}: invalid parameters schema: expected a type of JSON objects, not "
            f"{_shown(parameters)}"
        )
    if not _takes_one(params):
        raise ToolError(
            f"tool {name}: its function must take the {_shown(parameters)} as its only "
            "positional argument"
        )
    return _with_object(params, contexts, shape)


def text_signature(function: Callable[..., Any], name: str) -> Signature:
    """Build the signature of the function of a custom tool, which takes one text.

    Raises `ToolError` for a function of other parameters.
    """
    params, contexts, _ = _given(function, name)
    if not _takes_one(params) or not _is_text(params[0].annotation):
        raise ToolError(
            f"tool {name}: the function of a custom tool must take a text as its only argument"
        )
    return _with_object(params, contexts, TypeShape(_TextArguments), "text")


def _is_text(annotation: Any) -> bool:
    kind = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return kind is str or kind is _Parameter.empty


def _with_object(
    params: list[inspect.Parameter],
    contexts: tuple[str, ...],
    shape: Shape,
    how: Literal["object", "text"] = "object",
) -> Signature:
    """Build the signature of a function that takes one object.

    The object is passed by name if possible: a context parameter may come before it.
    """
    names = () if params[0].kind is _Parameter.POSITIONAL_ONLY else (params[0].name,)
    return Signature(shape, how, names, contexts=contexts)


def _typed(
    params: Iterable[inspect.Parameter],
    contexts: tuple[str, ...],
    name: str,
    descriptions: Mapping[str, str],
) -> Signature:
    """Build a signature from annotations: one struct with a field for each parameter."""
    fields: list[tuple[str, Any, Any]] = []
    defaults: dict[str, Any] = {}
    for each in params:
        if each.kind in (
            _Parameter.VAR_POSITIONAL,
            _Parameter.VAR_KEYWORD,
            _Parameter.POSITIONAL_ONLY,
        ):
            # `str(parameter)` includes the stars of `*args` and `**kwargs`.
            raise ToolError(
                f"tool {name}: parameter {str(each).partition(':')[0]}: a model can pass arguments "
                "only by the names of parameters"
            )
        if each.annotation is _Parameter.empty:
            raise ToolError(
                f"tool {name}: parameter {each.name}: it has no type (annotate it, or pass a "
                "schema in parameters=)"
            )
        kind = _described(each.annotation, descriptions.get(each.name, ""))
        try:
            shape = TypeShape(kind)
        except (TypeError, ValueError, NameError, re.error) as cause:
            raise ToolError(f"tool {name}: parameter {each.name}: {cause}") from None
        if each.default is _Parameter.empty:
            fields.append((each.name, kind, msgspec.NODEFAULT))
        else:
            fields.append((each.name, kind, msgspec.field(default_factory=_absent)))
            try:
                defaults[each.name] = msgspec.to_builtins(each.default, str_keys=True)
                shape.read(defaults[each.name])
            except (TypeError, ValueError, RecursionError):
                # A default without a JSON form, or of another type, is left out of the schema.
                defaults.pop(each.name, None)
    try:
        struct = msgspec.defstruct(name, fields, forbid_unknown_fields=True, kw_only=True)
        struct_shape = TypeShape(struct)
    except (TypeError, ValueError) as cause:
        raise ToolError(f"tool {name}: {cause}") from None
    struct_shape.schema = _of_function(struct_shape.schema, defaults)
    return Signature(struct_shape, "struct", struct.__struct_fields__, contexts=contexts)


def _absent() -> Any:
    return _ABSENT


def _of_function(schema: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Add the function's defaults to the struct's schema; remove its title and empty lists."""
    properties = {
        key: {**each, "default": defaults[key]} if key in defaults else each
        for key, each in schema["properties"].items()
    }
    return {key: value for key, value in schema.items() if key != "title" and value != []} | {
        "properties": properties
    }


def _by_schema(
    params: list[inspect.Parameter],
    contexts: tuple[str, ...],
    filled: frozenset[str],
    name: str,
    shape: Shape,
) -> Signature:
    """Build a signature from a JSON Schema.

    The function gets keywords if it names the schema's properties, else the object as its only
    argument.
    """
    properties = shape.schema.get("properties", {})
    named = {
        each.name: each
        for each in params
        if each.kind in (_Parameter.POSITIONAL_OR_KEYWORD, _Parameter.KEYWORD_ONLY)
    }
    any_names = any(each.kind is _Parameter.VAR_KEYWORD for each in params)
    missing = [
        each.name
        for each in params
        if _is_needed(each) and (each.name not in named or each.name not in properties)
    ]
    if not missing and (any_names or named.keys() >= properties.keys()):
        taken = filled.union(contexts)
        clash = next((each for each in properties if each in taken), None)
        if clash is not None:
            raise ToolError(
                f"tool {name}: parameter {clash}: the schema has a property of this name, but the "
                "parameter is filled in already"
            )
        needed = tuple(each for each in named if _is_needed(named[each]))
        hidden = taken | (named.keys() - properties.keys())
        return Signature(
            shape,
            "any names" if any_names else "names",
            tuple(properties),
            needed,
            hidden,
            contexts,
        )
    if _takes_one(params) and params[0].name not in properties:
        return _with_object(params, contexts, shape)
    names = ", ".join(properties) or "none"
    raise ToolError(
        f"tool {name}: its function must take the schema's properties by name ({names}), "
        "or the object as its only argument"
    )


def _takes_one(params: list[inspect.Parameter]) -> bool:
    """Return whether a function can be called with one positional argument and nothing else."""
    positional = params and params[0].kind in (
        _Parameter.POSITIONAL_ONLY,
        _Parameter.POSITIONAL_OR_KEYWORD,
    )
    return bool(positional) and not any(map(_is_needed, params[1:]))


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is _Parameter.empty and parameter.kind not in (
        _Parameter.VAR_POSITIONAL,
        _Parameter.VAR_KEYWORD,
    )


# --- inspecting a function ------------------------------------------------------------------------


def _given(
    function: Callable[..., Any], name: str
) -> tuple[list[inspect.Parameter], tuple[str, ...], frozenset[str]]:
    """Return the parameters that a model may give, and the names of all others.

    The others are those that get the context, and those that a partial fills in.
    """
    params = _parameters(function, name)
    # Arguments that a partial fills in may be secrets: the model must not see or replace them.
    filled = frozenset(function.keywords if isinstance(function, functools.partial) else ())
    params = [each for each in params if each.name not in filled]
    contexts = tuple(each.name for each in params if _is_context(each.annotation))
    return [each for each in params if each.name not in contexts], contexts, filled


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    """Return the parameters, with annotations that are text resolved to types."""
    try:
        params = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as cause:
        raise ToolError(f"tool {name}: its parameters cannot be inspected: {cause}") from None
    try:
        for annotation in inspect.get_annotations(_inner(function)).values():
            check_type_size(annotation)
        hints = get_type_hints(_inner(function), include_extras=True)
    except Exception as cause:  # resolving an annotation runs the user's code
        raise ToolError(
            f"tool {name}: an annotation of its function cannot be resolved: {cause}"
        ) from None
    result = [each.replace(annotation=hints.get(each.name, each.annotation)) for each in params]
    for each in result:
        if _is_context(each.annotation) and each.kind not in (
            _Parameter.POSITIONAL_OR_KEYWORD,
            _Parameter.KEYWORD_ONLY,
        ):
            raise ToolError(
                f"tool {name}: parameter {each.name}: the context is passed by name, so this "
                "parameter must accept a keyword"
            )
    return result


def _inner(function: Any) -> Any:
    """Return the function that has the annotations, inside partials and callable objects."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def name_of(function: Any) -> str:
    """Return the name of a function; for a callable object, that of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def is_async(function: Any) -> bool:
    """Return whether calling it returns an awaitable."""
    return inspect.iscoroutinefunction(_inner(function))


def gives_pieces(function: Any) -> bool:
    """Return whether it is a generator function, which has no single result."""
    inner = _inner(function)
    return inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner)


def _is_context(annotation: Any) -> bool:
    return annotation is ToolContext or ToolContext in get_args(annotation)


def _described(annotation: Any, description: str) -> Any:
    """Add a description to a type: its own, a text in `Annotated`, or the docstring's."""
    extras = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    if any(isinstance(each, msgspec.Meta) and each.description for each in extras):
        return annotation
    description = next((each for each in extras if isinstance(each, str)), description)
    return (
        Annotated[annotation, msgspec.Meta(description=description)] if description else annotation
    )


def _shown(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


# --- docstrings -----------------------------------------------------------------------------------


def summary(function: Any) -> str:
    """Return the first paragraph of the docstring as one line.

    It ends at an `Args:` section, even without a blank line before it.
    """
    paragraph = itertools.takewhile(
        lambda line: line and not _SECTION.fullmatch(line),
        map(str.strip, _docstring(function).splitlines()),
    )
    return " ".join(" ".join(paragraph).split())


def documented(function: Any) -> dict[str, str]:
    """Parse the descriptions of parameters in the docstring's `Args:` section, by name.

    >>> def search(query: str, limit: int = 5) -> None:
    ...     '''Search.
    ...
    ...     Args:
    ...         query: What to look for,
    ...             in any language.
    ...         limit (int): How many.
    ...     '''
    >>> documented(search)
    {'query': 'What to look for, in any language.', 'limit': 'How many.'}
    """
    descriptions: dict[str, str] = {}
    lines = iter(_docstring(function).splitlines())
    if not any(_SECTION.fullmatch(line.strip()) for line in lines):
        return descriptions
    margin, name = 0, ""
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if not line.strip() or not indent:
            break
        margin = margin or indent
        entry = _ENTRY.fullmatch(line.strip()) if indent == margin else None
        if entry is not None:
            name, descriptions[entry[1]] = entry[1], entry[2]
        elif name:
            descriptions[name] = f"{descriptions[name]} {line.strip()}".strip()
    return descriptions


def _docstring(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type):
        text = function.__doc__ or ""
        # A dataclass generates a docstring that only repeats the schema.
        return "" if text.startswith(f"{function.__name__}(") else inspect.cleandoc(text)
    own = function if inspect.isroutine(function) else type(function)
    texts = (own.__doc__, _inner(function).__doc__)
    return inspect.cleandoc(next((text for text in texts if isinstance(text, str) and text), ""))
