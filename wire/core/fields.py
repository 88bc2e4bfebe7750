"""The guard of structs that users build: a wrong field is told the right one.

msgspec's own error, `Unexpected keyword argument 'content'`, names neither the struct nor the field
that was meant.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from wire.core.arguments import shown_name, suggestion
from wire.core.errors import FieldError
from wire.core.lazy import foreign_words, group_of, led_to

_made = msgspec.StructMeta.__call__


class Fields(msgspec.StructMeta):
    """Metaclass of structs: a field that does not exist raises an error that names the right one.

    >>> class Break(msgspec.Struct, metaclass=Fields):
    ...     seconds: float
    >>> Break(second=5)
    Traceback (most recent call last):
    wire.errors.FieldError: Break.second: no such field; did you mean 'seconds'?

    Decoding does not pass through it. A construction does, which costs 0.2 to 0.4 µs. So structs
    that wires make by the thousand, such as `Text`, do not have it.
    """

    if not TYPE_CHECKING:  # or type checkers would take any argument

        def __call__(cls, /, *args: Any, **fields: Any) -> Any:  # noqa: D102
            try:
                return _made(cls, *args, **fields)
            except TypeError:
                wrong = _misfit(cls, args, fields)
                if wrong is None:
                    raise
                raise wrong from None
            finally:
                del args, fields  # a traceback shows the variables of frames

        def __getattr__(cls, name: str) -> Any:
            own = "" if name.startswith("_") else _of_class(cls, "constructors", name)
            problem = f"type object {cls.__name__!r} has no attribute {name!r}"
            raise AttributeError(problem + (f"; {led_to(own)}" if own else ""), name=name, obj=cls)


def _misfit(
    cls: type[msgspec.Struct], args: tuple[Any, ...], fields: Mapping[str, Any]
) -> FieldError | None:
    """Return the error for arguments that the fields of a struct do not take."""
    takes = inspect.signature(cls).parameters
    for name in fields:
        if name not in takes:
            return _error(cls, shown_name(name), f"no such field; {_remedy(cls, name)}")
    by_position = [each.name for each in takes.values() if each.kind is not each.KEYWORD_ONLY]
    if len(args) > len(by_position):
        own = _of_class(cls, "constructors", "")
        most = len(by_position) or "no"
        remedy = led_to(own) if own else f"there are {', '.join(takes)}"
        return _error(cls, "", f"it takes {most} values without a name; {remedy}")
    given = {*by_position[: len(args)], *fields}
    for name, each in takes.items():
        if each.default is each.empty and name not in given:
            own = _of_class(cls, "constructors", "")
            return _error(cls, name, "it is missing" + (f"; {led_to(own)}" if own else ""))
    return None


def _error(cls: type, field: str, problem: str) -> FieldError:
    return FieldError(f"{cls.__name__}{'.' if field else ''}{field}: {problem}")


def _remedy(cls: type[msgspec.Struct], name: str) -> str:
    fields = cls.__struct_fields__
    own = _of_class(cls, "fields", name)
    words = own or next((each for each in group_of(name) if each in fields), "")
    inner = _inner_field(cls, (name,)) if not own else ""
    near = "" if words else suggestion(name, fields)
    return (
        inner
        or (led_to(words) if words else near)
        or _inner_field(cls, group_of(name))
        or f"there are {', '.join(fields)}"
    )


def _inner_field(cls: type[msgspec.Struct], names: Iterable[str]) -> str:
    """Return the hint that leads to a field of a struct that a field takes; empty for none."""
    for field, inner in _inner_structs(cls):
        for name in names:
            if name in inner.__struct_fields__:
                kind = inner.__name__
                return f"it is a field of {kind}: {field}=...{kind}({name}=...)"
    return ""


def _of_class(cls: type, table: str, name: str) -> str:
    """Return what a table of the foreign words says of a name of a struct or of its bases."""
    words = foreign_words()[table]
    tables = [words.get(each.__name__, {}) for each in cls.__mro__]
    return str(next((each[name] for each in tables if name in each), ""))


def _inner_structs(cls: type[msgspec.Struct]) -> Iterator[tuple[str, type[msgspec.Struct]]]:
    """Yield the structs that the fields of a struct take, each with the name of the field."""
    try:
        hints = typing.get_type_hints(cls)
    except Exception:  # a name that exists only for type checkers
        return
    for field in cls.__struct_fields__:
        kinds = [hints.get(field)]
        for kind in kinds:
            kinds += typing.get_args(kind)
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                yield field, kind
