"""What a function takes: how the arguments of a model become its own, and what its docstring says
of them.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args, get_origin, get_type_hints

import msgspec

from wire.errors import ToolError
from wire.neutral.messages import Message, ToolCall
from wire.neutral.validation import Mismatch, Shape, TypeShape, is_schema, shape_of

How: TypeAlias = Literal["struct", "names", "any names", "whole"]

_ABSENT: Final = object()
_Parameter = inspect.Parameter
_SECTION = re.compile(r"(?:Args|Arguments|Parameters):")
_ENTRY = re.compile(r"(\w+)\s*(?:\([^)]*\))?:\s*(.*)")


class ToolContext(msgspec.Struct, frozen=True):
    """What is known beside the arguments: the call, the model that made it, the messages so far.

    A parameter that is annotated with it gets it, and is not among those that the model is told of.
    """

    call: ToolCall
    model: str = ""
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Signature:
    """How a function is called with what a model sends."""

    shape: Shape
    how: How
    """As keywords out of a struct of its parameters; as keywords out of an object, some or any; as
    its one argument.
    """
    names: tuple[str, ...] = ()
    """The keywords that a model may give; of the one argument its name, if it has one."""
    needed: tuple[str, ...] = ()
    """Those that the function cannot be called without, whatever the schema says."""
    hidden: frozenset[str] = frozenset()
    """Keywords that a model may not give, where it may give any others."""
    contexts: tuple[str, ...] = ()
    """Parameters that get the context."""

    def bind(
        self, arguments: dict[str, Any], context: ToolContext
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments.

        Raises `Mismatch` for arguments that the function does not take.
        """
        read = self.shape.read(arguments)
        keywords: dict[str, Any] = dict.fromkeys(self.contexts, context)
        if self.how == "whole":
            return ((), {self.names[0]: read} | keywords) if self.names else ((read,), keywords)
        if self.how == "struct":
            # A default is the function's to fill in: it is the object that Python knows, and no
            # copy of it.
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
    """How `function` is called; `parameters` is what `wire.tools.tool` was given.

    Raises `ToolError` that names tool and parameter.
    """
    found = _parameters(function, name)
    # What a partial has filled in is its maker's affair, and may be a secret.
    filled = frozenset(function.keywords if isinstance(function, functools.partial) else ())
    found = [each for each in found if each.name not in filled]
    contexts = tuple(each.name for each in found if _is_context(each.annotation))
    found = [each for each in found if each.name not in contexts]
    if parameters is None:
        return _typed(found, contexts, name, documented(function))
    try:
        shape = shape_of(parameters)
    except (TypeError, ValueError, NameError, re.error) as cause:
        raise ToolError(f"tool {name}: invalid parameters schema: {cause}") from None
    if is_schema(parameters):
        return _by_schema(found, contexts, filled, name, shape)
    if shape.schema.get("type") != "object":
        raise ToolError(
            f"tool {name}: invalid parameters schema: a function takes an object, not "
            f"{_shown(parameters)}"
        )
    if not _takes_one(found):
        raise ToolError(
            f"tool {name}: its function must take the {_shown(parameters)} as its one "
            "positional argument"
        )
    return _whole(found, contexts, shape)


def _whole(found: list[inspect.Parameter], contexts: tuple[str, ...], shape: Shape) -> Signature:
    """By its name where it has one, since a parameter for the context may stand before it."""
    names = () if found[0].kind is _Parameter.POSITIONAL_ONLY else (found[0].name,)
    return Signature(shape, "whole", names, contexts=contexts)


def _typed(
    found: Iterable[inspect.Parameter],
    contexts: tuple[str, ...],
    name: str,
    told: Mapping[str, str],
) -> Signature:
    """Of annotated parameters: one struct with a field for each."""
    fields: list[tuple[str, Any, Any]] = []
    defaults: dict[str, Any] = {}
    for each in found:
        if each.kind in (
            _Parameter.VAR_POSITIONAL,
            _Parameter.VAR_KEYWORD,
            _Parameter.POSITIONAL_ONLY,
        ):
            # `str` of a parameter shows its stars
            raise ToolError(
                f"tool {name}: parameter {str(each).partition(':')[0]}: a model gives "
                "each argument by a name that is known"
            )
        if each.annotation is _Parameter.empty:
            raise ToolError(
                f"tool {name}: parameter {each.name}: it has no type (annotate it, or "
                "give the schema in parameters=)"
            )
        kind = _described(each.annotation, told.get(each.name, ""))
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
                defaults.pop(
                    each.name, None
                )  # JSON cannot say it, or the type does not allow it: the model need not know
    try:
        struct = msgspec.defstruct(name, fields, forbid_unknown_fields=True, kw_only=True)
        whole = TypeShape(struct)
    except (TypeError, ValueError) as cause:
        raise ToolError(f"tool {name}: {cause}") from None
    whole.schema = _of_function(whole.schema, defaults)
    return Signature(whole, "struct", struct.__struct_fields__, contexts=contexts)


def _absent() -> Any:
    return _ABSENT


def _of_function(schema: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the struct without what says nothing, and with the defaults that the function
    fills in.
    """
    properties = {
        key: {**each, "default": defaults[key]} if key in defaults else each
        for key, each in schema["properties"].items()
    }
    return {key: value for key, value in schema.items() if key != "title" and value != []} | {
        "properties": properties
    }


def _by_schema(
    found: list[inspect.Parameter],
    contexts: tuple[str, ...],
    filled: frozenset[str],
    name: str,
    shape: Shape,
) -> Signature:
    """Of a JSON Schema: keywords if the function names its properties, else the object as the one
    argument.
    """
    properties = shape.schema.get("properties", {})
    named = {
        each.name: each
        for each in found
        if each.kind in (_Parameter.POSITIONAL_OR_KEYWORD, _Parameter.KEYWORD_ONLY)
    }
    any_names = any(each.kind is _Parameter.VAR_KEYWORD for each in found)
    missing = [
        each.name
        for each in found
        if _is_needed(each) and (each.name not in named or each.name not in properties)
    ]
    if not missing and (any_names or named.keys() >= properties.keys()):
        taken = filled.union(contexts)
        clash = next((each for each in properties if each in taken), None)
        if clash is not None:
            raise ToolError(
                f"tool {name}: parameter {clash}: it is filled in already, and the schema "
                "has a property of that name"
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
    if _takes_one(found) and found[0].name not in properties:
        return _whole(found, contexts, shape)
    told = ", ".join(properties) or "none"
    raise ToolError(
        f"tool {name}: its function must take the schema's properties by name ({told}), "
        "or the object as its one argument"
    )


def _takes_one(found: list[inspect.Parameter]) -> bool:
    """Whether a function can be called with one positional argument and nothing else."""
    positional = found and found[0].kind in (
        _Parameter.POSITIONAL_ONLY,
        _Parameter.POSITIONAL_OR_KEYWORD,
    )
    return bool(positional) and not any(map(_is_needed, found[1:]))


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is _Parameter.empty and parameter.kind not in (
        _Parameter.VAR_POSITIONAL,
        _Parameter.VAR_KEYWORD,
    )


# --- looking at a function ------------------------------------------------------------------------


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    """Parameters, with types in place of the names of types."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as cause:
        raise ToolError(f"tool {name}: its parameters cannot be seen: {cause}") from None
    try:
        hints = get_type_hints(_inner(function), include_extras=True)
    except (
        Exception
    ) as cause:  # annotations that stand there as text are run now, and raise what they like
        raise ToolError(
            f"tool {name}: a type cannot be found out where its function stands: {cause}"
        ) from None
    result = [each.replace(annotation=hints.get(each.name, each.annotation)) for each in found]
    for each in result:
        if _is_context(each.annotation) and each.kind not in (
            _Parameter.POSITIONAL_OR_KEYWORD,
            _Parameter.KEYWORD_ONLY,
        ):
            raise ToolError(f"tool {name}: parameter {each.name}: the context is given by name")
    return result


def _inner(function: Any) -> Any:
    """What holds the annotations, the name and the docstring."""
    while isinstance(function, functools.partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def name_of(function: Any) -> str:
    """The name of a function; of an object that can be called, that of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def is_async(function: Any) -> bool:
    """Whether calling it gives something to be awaited."""
    return inspect.iscoroutinefunction(_inner(function))


def gives_pieces(function: Any) -> bool:
    """Whether it is a generator, which has no one result."""
    inner = _inner(function)
    return inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner)


def _is_context(annotation: Any) -> bool:
    return annotation is ToolContext or ToolContext in get_args(annotation)


def _described(annotation: Any, told: str) -> Any:
    """The type with a description: its own, a text beside it in `Annotated`, or what the docstring
    says.
    """
    extras = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    if any(isinstance(each, msgspec.Meta) and each.description for each in extras):
        return annotation
    told = next((each for each in extras if isinstance(each, str)), told)
    return Annotated[annotation, msgspec.Meta(description=told)] if told else annotation


def _shown(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


# --- docstrings -----------------------------------------------------------------------------------


def summary(function: Any) -> str:
    """The first paragraph of the docstring, as one line; the section of the arguments is not of it,
    even without a blank line between.
    """
    paragraph = itertools.takewhile(
        lambda line: line and not _SECTION.fullmatch(line),
        map(str.strip, _docstring(function).splitlines()),
    )
    return " ".join(" ".join(paragraph).split())


def documented(function: Any) -> dict[str, str]:
    """Parameters and what an `Args:` section says of them.

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
    found: dict[str, str] = {}
    lines = iter(_docstring(function).splitlines())
    if not any(_SECTION.fullmatch(line.strip()) for line in lines):
        return found
    margin, name = 0, ""
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if not line.strip() or not indent:
            break
        margin = margin or indent
        entry = _ENTRY.fullmatch(line.strip()) if indent == margin else None
        if entry is not None:
            name, found[entry[1]] = entry[1], entry[2]
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _docstring(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type):
        text = function.__doc__ or ""
        # Dataclasses write one themselves, which says what the schema says.
        return "" if text.startswith(f"{function.__name__}(") else inspect.cleandoc(text)
    own = function if inspect.isroutine(function) else type(function)
    return inspect.cleandoc(own.__doc__ or _inner(function).__doc__ or "")
