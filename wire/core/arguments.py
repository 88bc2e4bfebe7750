"""Checks the arguments of public functions against their annotations (R-38).

Python does not check annotations. Without these checks, a value of a wrong type raises an
`AttributeError` deep inside the library, or is silently taken for something else: `"false"` is
true, and a text is a list of its letters. Each error is one line that names the argument and the
path inside it. It shows the type of a value of a wrong type, and never the value, which may be a
key.
"""

from __future__ import annotations

import collections.abc
import functools
import gc
import inspect
import itertools
import math
import operator
import types
import typing
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

import msgspec

from wire.core.credentials import hidden
from wire.core.errors import (
    ConfigurationError,
    RuleError,
    Violation,
    WireError,
    one_line,
    typed_at_the_end,
)
from wire.core.lazy import here_it_is, lazy_pattern
from wire.core.secret import hide_arguments, quoted, sealed_headers

F = TypeVar("F", bound=Callable[..., Any])
"""A function that is decorated. With a `ParamSpec`, jedi would offer `self` as a parameter."""

_SHOWN_BYTES = 100
"""Bytes of a value that an error shows."""
_MAX_DEPTH = 100
"""Levels of structs and lists in which the cause of an exception is searched."""

_MAX_ITEMS = 10_000
"""Items that are checked of an iterable without a length; it may have no end."""
_MAX_INT_BITS = 14_000
"""Bits of an integer that JSON can hold: Python writes 4,300 decimal digits and no more."""

HALF_PAIR = lazy_pattern("[\ud800-\udfff]")

Problem = tuple[str, str]
"""A path, and the problem at that path."""


def refusal(error: type[WireError], path: str, message: str) -> WireError:
    """Build the error of that class for one argument."""
    if issubclass(error, RuleError):
        return error(violations=[Violation(path, message)])
    return error(f"{path}: {message}" if path else message)


def whole_number(
    path: str,
    value: object,
    least: int | None = None,
    most: int | None = None,
    *,
    error: type[WireError] = RuleError,
) -> None:
    """Raise `error` unless `value` is an int from `least` to `most`; a bool is refused.

    >>> whole_number("max_tokens", 1.5, least=1)
    Traceback (most recent call last):
    wire.errors.RuleError: max_tokens: expected a whole number from 1 up, not 1.5
    """
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or (least is not None and value < least)
        or (most is not None and value > most)
    ):
        expected = f"expected a whole number{_range(least, most)}"
        raise refusal(error, path, f"{expected}, not {_shown_number(value)}")


def number(
    path: str,
    value: object,
    least: float | None = None,
    most: float | None = None,
    *,
    above: float | None = None,
    error: type[WireError] = RuleError,
) -> None:
    """Raise `error` unless `value` is a finite number from `least` to `most`; a bool is refused.

    >>> number("top_p", 5, least=0, most=1)
    Traceback (most recent call last):
    wire.errors.RuleError: top_p: expected a number from 0 to 1, not 5

    With `above` instead of `least`, that number itself is refused too.
    """
    if (
        not isinstance(value, (int, float))
        or isinstance(value, bool)
        or not is_finite(value)
        or (least is not None and value < least)
        or (above is not None and value <= above)
        or (most is not None and value > most)
    ):
        limits = _range(least, most) if above is None else f" above {above:g}"
        raise refusal(error, path, f"expected a number{limits}, not {_shown_number(value)}")


def is_finite(value: float) -> bool:
    """Return whether a number is finite, as `math.isfinite`, for an int of any length too."""
    try:
        return math.isfinite(value)
    except OverflowError:  # an int of more than 308 digits
        return False


def _range(least: float | None, most: float | None) -> str:
    if least is None:
        return "" if most is None else f" up to {_plain(most)}"
    least_shown = _plain(least)
    return f" from {least_shown} up" if most is None else f" from {least_shown} to {_plain(most)}"


def _plain(limit: float) -> str:
    return str(limit) if isinstance(limit, int) else f"{limit:g}"


def _shown_number(value: object) -> str:
    """Return a number, or the type of another value, which may be a secret."""
    return quoted(value) if isinstance(value, (int, float)) else _type_name(value)


def flag(path: str, value: object, *, error: type[WireError] = RuleError) -> None:
    """Raise `error` unless `value` is a bool: a text such as `"false"` would count as true."""
    if not isinstance(value, bool):
        raise refusal(error, path, f"expected a bool, not {_type_name(value)}")


def items_of(path: str, value: Any, *, error: type[WireError] = RuleError) -> tuple[Any, ...]:
    """Return the items of an iterable.

    Raises `error` if the value is not iterable, or if iterating over it raises.
    """
    if not _is_a(value, collections.abc.Iterable) or isinstance(value, (str, bytes)):
        raise refusal(error, path, f"expected a list, not {_type_name(value)}")
    try:
        return tuple(value)
    except WireError:
        raise
    except Exception as cause:  # `__iter__` is the user's code
        raise refusal(error, path, _raised(cause)) from cause


def _raised(cause: Exception) -> str:
    return f"iterating over it raised {type(cause).__name__}"


def check_inside(path: str, value: Any, kind: Any) -> None:
    """Raise `RuleError` unless `value` and its fields, at any depth, have their annotated types.

    For an `except` clause of a function that runs for each event, where a decorator would cost too
    much: it tells a value of a wrong type from a defect of the function.
    """
    problem = _kind_of(kind).problem(value, path, _MAX_DEPTH)
    if problem is not None:
        raise refusal(RuleError, *problem) from None


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the nearest known word as a question; empty if none is near.

    >>> suggestion("open_ai", ["gemini", "openai"]), suggestion("colour", ["gemini"])
    ("did you mean 'openai'?", '')
    """
    import difflib  # for errors only

    near = difflib.get_close_matches(word[:_SHOWN_BYTES].lower(), sorted(known), n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def check_fields(value: Any, path: str, *, error: type[WireError] = RuleError) -> None:
    """Raise `error` for the first field of a struct or dataclass that its annotation forbids.

    >>> class Pause(msgspec.Struct):
    ...     seconds: float
    >>> check_fields(Pause("long"), "pause")
    Traceback (most recent call last):
    wire.errors.RuleError: pause.seconds: expected a float, not str
    """
    cls: Any = type(value)
    for name, kind in _fields_of(cls).items():
        problem = kind.problem(getattr(value, name, None), f"{path}.{name}", 0)
        if problem is not None:
            raise refusal(error, *problem)


def check_options(options: Mapping[str, Any], known: type, *, error: type[WireError]) -> None:
    """Raise `error` for a name or a value that the TypedDict `known` does not have."""
    kinds = _fields_of(known)
    for name, value in options.items():
        if name not in known.__annotations__:
            listed = ", ".join(known.__annotations__)
            raise refusal(error, shown_name(name), f"no such option; there are {listed}")
        problem = kinds.get(name, _ANY).problem(value, name, 0)
        if problem is not None:
            raise refusal(error, *problem)


def shown_name(name: object) -> str:
    """Return the name of an option for an error, hidden if it may be a misplaced key."""
    return one_line(hidden(name), 60) if isinstance(name, str) else _type_name(name)


# --- decorators -----------------------------------------------------------------------------------


def unknown_name(
    name: str, known: Iterable[str], what: str = "option", taken: Iterable[str] = ()
) -> ConfigurationError:
    """Build the error for a keyword that a function does not take; it names the nearest one.

    `taken` are all names of parameters, where not only those in `known` are taken by name.

    >>> unknown_name("temprature", ["system", "temperature"], "setting").message
    "temprature: no such setting; did you mean 'temperature'?"
    """
    known = list(known)
    remedy = (
        here_it_is(name, {*known, *taken})
        or suggestion(name, known)
        or f"there are {', '.join(known)}"
    )
    return ConfigurationError(f"{shown_name(name)}: no such {what}; {remedy}")


def checked_names(
    what: str = "option", *, seal: Callable[[Any], None] | None = None
) -> Callable[[F], F]:
    """Decorate a public function: an unknown keyword raises `ConfigurationError`.

    >>> @checked_names()
    ... def drawn(*, colour: str = "black") -> str:
    ...     return colour
    >>> drawn(color="red")
    Traceback (most recent call last):
    wire.errors.ConfigurationError: color: no such option; did you mean 'colour'?

    Python's own `TypeError` would be of another type than all other refusals, and would not list
    the names. `seal` replaces what may be a key in the keywords, in place, before the function
    runs: tracebacks show the arguments of its frame (R-28). Values of `headers` that may be one are
    always replaced. A function with `**options` takes any keyword.
    """

    def decorate(function: F) -> F:
        code: types.CodeType = inspect.unwrap(function).__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        keywords = names[code.co_argcount :]
        known = frozenset(names)
        takes_any = bool(code.co_flags & inspect.CO_VARKEYWORDS)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def named_async(*args: Any, **options: Any) -> Any:
                try:
                    if seal is not None:
                        seal(options)
                    if options.get("headers") is not None:
                        options["headers"] = sealed_headers(options["headers"])
                    if not (takes_any or options.keys() <= known):
                        raise unknown_name(sorted(options.keys() - known)[0], keywords, what, known)
                    return await function(*args, **options)
                except Exception as raised:
                    typed_at_the_end(raised)
                    raise
                finally:
                    # A traceback shows the variables of frames.
                    del args, options

            return typing.cast(F, named_async)

        @functools.wraps(function)
        def named(*args: Any, **options: Any) -> Any:
            try:
                if seal is not None:
                    seal(options)
                if options.get("headers") is not None:
                    options["headers"] = sealed_headers(options["headers"])
                if not (takes_any or options.keys() <= known):
                    raise unknown_name(sorted(options.keys() - known)[0], keywords, what, known)
                return function(*args, **options)
            except Exception as raised:
                typed_at_the_end(raised)
                raise
            finally:
                del args, options

        return typing.cast(F, named)

    return decorate


def checked_arguments(
    error: type[WireError] = RuleError, *, before: bool = False
) -> Callable[[F], F]:
    """Decorate a public function: `error` names an argument that its annotation forbids.

    >>> @checked_arguments()
    ... def joined(words: Iterable[str], upper: bool = False) -> str:
    ...     return " ".join(words)
    >>> joined(["a", 1])
    Traceback (most recent call last):
    wire.errors.RuleError: words[1]: expected a str, not int
    >>> joined(["a"], upper="false")
    Traceback (most recent call last):
    wire.errors.RuleError: upper: expected a bool, not str

    Most functions check what they read. So the arguments are searched only when the function raises
    an exception that is no `WireError`: lists, mappings and the fields of structs with them, at any
    depth. If nothing in them is wrong, that exception is raised.

    Bools are checked before the function runs, because every value is true or false. So are all
    arguments of a generator function, and with `before`, which is for constructors and for
    functions that would take a value of a wrong type for something else. The fields of structs are
    not.

    A parameter of a Protocol or of a type that cannot be resolved at run time is not checked.
    """

    def decorate(function: F) -> F:
        # The body of a generator runs when the caller has left this frame.
        late = inspect.isgeneratorfunction(inspect.unwrap(function))
        late = late or inspect.isasyncgenfunction(inspect.unwrap(function))
        arguments = _Arguments(function, error, before or late)
        passed = arguments.passed
        first = before or late or "bool" in function.__annotations__.values()
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def checked_async(*args: Any, **kwargs: Any) -> Any:
                try:
                    wrong = arguments.wrong(args, kwargs) if first else None
                    if wrong is not None:
                        raise wrong
                    return await function(*args, **kwargs)
                except WireError as refused:
                    hide_arguments(refused, (*args, *kwargs.values()))
                    raise
                except Exception as raised:
                    wrong = arguments.cause(raised, args, kwargs)
                    if wrong is None:
                        hide_arguments(raised, (*args, *kwargs.values()))
                        raise
                    raise wrong from wrong.__cause__
                finally:
                    del args, kwargs

            return typing.cast(F, checked_async)

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            try:
                # The types of almost all calls were seen before.
                if first and (*map(type, args), *kwargs, *map(type, kwargs.values())) not in passed:
                    wrong = arguments.wrong(args, kwargs)
                    if wrong is not None:
                        raise wrong
                return function(*args, **kwargs)
            except WireError as refused:
                hide_arguments(refused, (*args, *kwargs.values()))
                raise
            except Exception as raised:
                wrong = arguments.cause(raised, args, kwargs)
                if wrong is None:
                    hide_arguments(raised, (*args, *kwargs.values()))
                    raise
                raise wrong from wrong.__cause__
            finally:
                # A traceback shows the variables of frames, and an argument may be a key.
                del args, kwargs

        return typing.cast(F, checked)

    return decorate


class _Arguments:
    """The types of the parameters of one function, resolved when they are needed first.

    Its methods return errors and do not raise them: a traceback shows the variables of its frames,
    and an argument may be a key (R-28).
    """

    def __init__(self, function: Callable[..., Any], error: type[WireError], before: bool) -> None:
        self._function, self._error, self._before = function, error, before
        self.passed: set[tuple[type | str, ...]] = set()
        """Types of positional arguments, names and types of the others, of calls that passed, if
        these types alone decide.
        """

    def wrong(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> WireError | None:
        """Return the error for the first argument of a wrong type."""
        is_flat = True
        for name, kind, value in self._given(args, kwargs):
            if self._before or kind == _BOOL:
                problem = kind.problem(value, name, 0)
                if problem is not None:
                    return refusal(self._error, *problem)
                is_flat = is_flat and kind.is_flat
        if is_flat and len(self.passed) < _MAX_PASSED:
            self.passed.add((*map(type, args), *kwargs, *map(type, kwargs.values())))
        return None

    def cause(
        self, raised: Exception, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> WireError | None:
        """Return the error for a wrong value inside an argument that caused an exception."""
        given = self._given(args, kwargs)
        for name, kind, value in given:
            problem = kind.problem(value, name, _MAX_DEPTH)
            if problem is not None:
                return refusal(self._error, *problem)
        if isinstance(raised, RecursionError):
            for name, _, value in given:
                if _is_deep(value):
                    return refusal(self._error, name, "nested too deeply, or contains itself")
        import traceback

        running = {frame.f_code for frame, _ in traceback.walk_tb(raised.__traceback__)}
        for name, _, value in given:
            method = _method_among(running, value)
            if method:
                error = refusal(self._error, name, f"its {method} raised {type(raised).__name__}")
                error.__cause__ = raised
                return error
        return None

    def _given(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> list[tuple[str, _Kind, Any]]:
        first, rest, named = self._kinds
        given = [(name, kind, value) for (name, kind), value in zip(first, args, strict=False)]
        if rest is not None:
            given += [
                (f"{rest[0]}[{index}]", rest[1], value)
                for index, value in enumerate(args[len(first) :])
            ]
        given += [(name, named[name], value) for name, value in kwargs.items() if name in named]
        return given

    @functools.cached_property
    def _kinds(self) -> tuple[list[tuple[str, _Kind]], tuple[str, _Kind] | None, dict[str, _Kind]]:
        first: list[tuple[str, _Kind]] = []
        rest: tuple[str, _Kind] | None = None
        named: dict[str, _Kind] = {}
        for each in inspect.signature(self._function).parameters.values():
            hint = _resolved(each.annotation, self._function)
            kind = _kind_of(hint)
            if each.kind is each.VAR_KEYWORD:
                options = typing.get_args(hint)  # Unpack[Options]
                named |= _fields_of(options[0]) if options else {}
            elif each.kind is each.VAR_POSITIONAL:
                rest = each.name, kind
            else:
                if each.kind is not each.KEYWORD_ONLY:
                    first.append((each.name, kind))
                if each.kind is not each.POSITIONAL_ONLY:
                    named[each.name] = kind
        return first, rest, named


_MAX_PASSED = 50
"""Combinations of types that are remembered; a program may make classes without end."""


def _is_deep(value: object) -> bool:
    """Return whether lists and mappings in a value are nested too deeply to walk, or in a cycle."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            each
            for each in gc.get_referents(*level[:_MAX_ITEMS])
            if issubclass(type(each), (list, tuple, dict, msgspec.Struct))
        ]
    return bool(level)


def _method_among(running: Container[types.CodeType], value: object) -> str:
    """Return the special method of a user's class that was running; empty if none was."""
    if isinstance(value, types.GeneratorType):
        return "__next__" if value.gi_code in running else ""
    for cls in type(value).__mro__:
        if cls.__module__.partition(".")[0] != __name__.partition(".")[0]:
            for name, method in vars(cls).items():
                is_special = name.startswith("__") and name != "__call__"
                code = getattr(method, "__code__", None)
                if is_special and code is not None and code in running:
                    return name
    return ""


def _resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    """Return the type of an annotation; `Any` if a name in it exists only for type checkers."""
    if not isinstance(annotation, str):
        return Any if annotation is inspect.Parameter.empty else annotation
    try:
        return eval(annotation, inspect.unwrap(function).__globals__)
    except Exception:
        return Any


# --- types ----------------------------------------------------------------------------------------


class _Kind(msgspec.Struct, frozen=True):
    """A type that values are checked against."""

    words: ClassVar[str] = "value"
    is_flat: ClassVar[bool] = True
    """Whether the type of a value alone decides, so that its contents need no check."""

    def problem(self, value: Any, path: str, depth: int) -> Problem | None:
        """Return the problem of a value, or of the fields of structs in `depth` levels of it."""
        return None

    def opens(self, value: Any) -> bool:
        """Return whether a value is of this type, whatever it contains."""
        return self.problem(value, "", 0) is None

    def _wrong(self, value: Any, path: str) -> Problem:
        return path, f"expected {self.words}, not {_type_name(value)}"


_ANY = _Kind()


class _Instance(_Kind, frozen=True):
    kind: type

    @property
    def words(self) -> str:  # type: ignore[override]
        name = "None" if self.kind is types.NoneType else self.kind.__name__
        article = "" if name == "None" else "an " if name[:1].lower() in "aeio" else "a "
        return f"{article}{name}"

    def opens(self, value: Any) -> bool:
        if isinstance(value, bool) and self.kind in (int, float):
            return False
        return _is_a(value, self.kind) or (self.kind is float and _is_a(value, int))

    def problem(self, value: Any, path: str, depth: int) -> Problem | None:
        if not self.opens(value):
            return self._wrong(value, path)
        if depth > 0 and isinstance(value, int) and value.bit_length() > _MAX_INT_BITS:
            return path, "this number has more digits than Python writes"
        if depth > 0 and isinstance(value, str) and HALF_PAIR().search(value):
            return path, "this text contains half of a surrogate pair, which UTF-8 cannot encode"
        if depth <= 0 or not hasattr(self.kind, "__annotations__"):
            return None
        cls: Any = type(value)
        for name, kind in _fields_of(cls).items():
            found = kind.problem(getattr(value, name, None), f"{path}.{name}", depth - 1)
            if found is not None:
                return found
        return None


_BOOL = _Instance(bool)


class _Value(_Kind, frozen=True):
    values: tuple[Any, ...]
    is_flat = False

    @property
    def words(self) -> str:  # type: ignore[override]
        return " or ".join(map(repr, self.values))

    def problem(self, value: Any, path: str, depth: int) -> Problem | None:
        if isinstance(value, (str, int, types.NoneType)) and any(
            type(value) is type(each) and value == each for each in self.values
        ):
            return None
        if (
            isinstance(value, str)
            and _is_a(value, str)
            and any(str.__eq__(value, each) is True for each in self.values)
        ):
            return None  # a member of a StrEnum
        return path, f"expected {self.words}, not {_shown_word(value)}"


def _shown_word(value: object) -> str:
    return quoted(value, 40) if isinstance(value, str) and len(value) < 20 else _type_name(value)


class _Items(_Kind, frozen=True):
    """A list, a tuple, or another iterable."""

    kind: type
    item: _Kind
    name: str
    is_flat = False

    @property
    def words(self) -> str:  # type: ignore[override]
        return self.name

    def opens(self, value: Any) -> bool:
        # A text is a sequence of texts, and a mapping one of its keys: neither is ever meant.
        return _is_a(value, self.kind) and not isinstance(
            value, (str, bytes, bytearray, memoryview, Mapping)
        )

    def problem(self, value: Any, path: str, depth: int) -> Problem | None:
        if not self.opens(value):
            return self._wrong(value, path)
        # An iterator can be read once only, so it is left to the function.
        if self.item is _ANY or isinstance(value, collections.abc.Iterator):
            return None
        try:
            items = value
            if not isinstance(value, collections.abc.Sized):
                items = list(itertools.islice(value, _MAX_ITEMS))
            if depth <= 0 and self.item.is_flat:
                # The first of each type: a history has many messages of one type.
                pairs = list({type(pair[1]): pair for pair in [*enumerate(items)][::-1]}.values())
            else:
                pairs = list(enumerate(items))
            for index, each in pairs:
                found = self.item.problem(each, f"{path}[{index}]", depth - 1)
                if found is not None:
                    return found
        except Exception as cause:  # `__iter__` is the user's code
            return path, _raised(cause)
        return None


class _Tuple(_Kind, frozen=True):
    """A tuple of fixed length."""

    kinds: tuple[_Kind, ...]
    is_flat = False

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"a tuple of {len(self.kinds)}"

    def problem(self, value: Any, path: str, depth: int) -> Problem | None:
        if not _is_a(value, tuple) or len(value) != len(self.kinds):
            return self._wrong(value, path)
        for index, (kind, each) in enumerate(zip(self.kinds, value, strict=True)):
            found = kind.problem(each, f"{path}[{index}]", depth - 1)
            if found is not None:
                return found
        return None


class _Entries(_Kind, frozen=True):
    """A mapping."""

    kind: type
    key: _Kind
    item: _Kind
    words = "a mapping"
    is_flat = False

    def opens(self, value: Any) -> bool:
        return _is_a(value, self.kind)

    def problem(self, value: Any, path: str, depth: int) -> Problem | None:
        if not self.opens(value):
            return self._wrong(value, path)
        if self.key is _ANY and self.item is _ANY:
            return None
        try:
            for key, each in value.items():
                found = self.key.problem(key, path, 0)
                if found is not None:
                    return path, f"{found[1]}, as a key"
                found = self.item.problem(each, f"{path}[{quoted(key, 40)}]", depth - 1)
                if found is not None:
                    return found
        except Exception as cause:  # `items` is the user's code
            return path, _raised(cause)
        return None


class _Function(_Kind, frozen=True):
    """A callable; `count` is the number of its arguments, `None` for any."""

    count: int | None
    words = "a function"

    def opens(self, value: Any) -> bool:
        return callable(value)

    def problem(self, value: Any, path: str, depth: int) -> Problem | None:
        if not callable(value):
            return self._wrong(value, path)
        if depth <= 0 or self.count is None:
            return None
        try:
            inspect.signature(value).bind(*[None] * self.count)
        except TypeError:
            takes = "one argument" if self.count == 1 else f"{self.count} arguments"
            return path, f"expected a function that takes {takes}"
        except Exception:  # a callable without a signature
            return None
        return None


class _Union(_Kind, frozen=True):
    kinds: tuple[_Kind, ...]

    @property
    def is_flat(self) -> bool:  # type: ignore[override]
        return all(each.is_flat for each in self.kinds)

    @property
    def words(self) -> str:  # type: ignore[override]
        # `None` comes last, as annotations write it.
        words = sorted({each.words: None for each in self.kinds}, key="None".__eq__)
        return " or ".join(words)

    def problem(self, value: Any, path: str, depth: int) -> Problem | None:
        inner: list[Problem] = []
        for kind in self.kinds:
            found = kind.problem(value, path, depth)
            if found is None:
                return None
            if kind.opens(value):
                inner.append(found)
        return inner[0] if inner else self._wrong(value, path)

    def opens(self, value: Any) -> bool:
        return any(kind.opens(value) for kind in self.kinds)


def _is_a(value: object, kind: type) -> bool:
    try:
        return isinstance(value, kind)
    except Exception:  # `__class__` may be a property of the user's
        return False


def _type_name(value: object) -> str:
    return "None" if value is None else type(value).__name__


_NAMES: dict[Any, str] = {
    list: "a list",
    tuple: "a tuple",
    set: "a set",
    frozenset: "a set",
    collections.abc.Sequence: "a list",
    collections.abc.Iterable: "a list",
    collections.abc.Collection: "a list",
}


def _kind_of(hint: Any) -> _Kind:
    """Build the checks of a resolved annotation; `_ANY` if nothing can be checked."""
    try:
        return _cached_kind(hint)
    except TypeError:  # an unhashable annotation
        return _made_kind(hint)


@functools.lru_cache(maxsize=1024)
def _cached_kind(hint: Any) -> _Kind:
    return _made_kind(hint)


def _made_kind(hint: Any) -> _Kind:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, TypeVar):
        return _kind_of(hint.__bound__) if hint.__bound__ is not None else _ANY
    if hint is None or hint is types.NoneType:
        return _Instance(types.NoneType)
    if origin in (typing.Annotated, typing.ClassVar, typing.Required, typing.NotRequired):
        return _kind_of(args[0])
    if origin is typing.Union or origin is types.UnionType:
        kinds = tuple(map(_kind_of, args))
        return _ANY if _ANY in kinds else _Union(kinds)
    if origin is typing.Literal:
        return _Value(args)
    if origin is collections.abc.Callable:
        return _Function(len(args[0]) if args and isinstance(args[0], list) else None)
    if hint is collections.abc.Callable:
        return _Function(None)
    kind = origin or hint
    if kind is tuple and args and args[-1] is not ...:
        return _Tuple(tuple(map(_kind_of, args)))
    if isinstance(kind, type) and issubclass(kind, Mapping) and not typing.is_typeddict(kind):
        key, item = map(_kind_of, args or (Any, Any))
        return _Entries(kind, key, item)
    if kind in _NAMES:
        return _Items(kind, _kind_of(args[0]) if args else _ANY, _NAMES[kind])
    if (
        not isinstance(kind, type)
        or kind in (object, Any)
        or typing.is_typeddict(kind)
        or getattr(kind, "_is_protocol", False)
    ):
        return _ANY
    return _Instance(kind)


@functools.lru_cache(maxsize=1024)  # may hold classes of the user's
def _fields_of(kind: type) -> dict[str, _Kind]:
    """Return the fields of a struct, a dataclass or a TypedDict; none for another type."""
    import dataclasses  # a user's library, which takes longer to import than most modules here

    if not (
        issubclass(kind, msgspec.Struct)
        or dataclasses.is_dataclass(kind)
        or typing.is_typeddict(kind)
    ):
        return {}
    try:
        hints = typing.get_type_hints(kind)
    except Exception:  # a name that exists only for type checkers
        return {}
    names = (
        kind.__struct_fields__
        if issubclass(kind, msgspec.Struct)
        else tuple(map(operator.attrgetter("name"), dataclasses.fields(kind)))
        if dataclasses.is_dataclass(kind)
        else hints
    )
    return {name: made for name in names if (made := _kind_of(hints.get(name, Any))) is not _ANY}
