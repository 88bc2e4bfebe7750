"""Validates JSON values by a type, a pydantic model or a JSON Schema.

A shape gives the JSON Schema that is sent to the model, and validates what the model returns.
msgspec validates types, pydantic its own models, and `jsonschema-rs` JSON Schema; the latter is
imported only for a JSON Schema. The result shares no list or dict with the input, so changing one
does not change the other.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar, get_args

import msgspec

from wire.core.bounds import BOUNDS
from wire.core.decoders import converter, schema_components
from wire.core.errors import ConfigurationError, RuleError, WireError, one_line
from wire.core.json_values import checked, expands

if TYPE_CHECKING:
    from wire.core.schema_plan import Cost, Plan

REFS = "#/$defs/{name}"

_LIMIT = 500  # bytes of a reason: it quotes the value, and is sent to the model
_MOST_OTHERS = 9
_MOST_ERRORS = 1000  # for one value: a list of items may have one for each
_STEPS_OF_ERROR = 10_000
_MAX_TYPE_LEVELS = 500
_MAX_TYPE_PARTS = 100_000
_PLAIN_KEY = re.compile(r"\w+")
_Model = TypeVar("_Model")


class Mismatch(ValueError):
    """A value does not match its shape; `path` is the JSON path of the mismatch, from `$`.

    >>> print(Mismatch("$.city", "missing", others=[("$.days", "not a list")]))
    $.city: missing; $.days: not a list

    The text also names the `others` of the same value: a model corrects all of them at once.
    """

    path: str
    why: str

    def __init__(self, path: str, why: str, others: Sequence[tuple[str, str]] = ()) -> None:
        self.path, self.why = path, one_line(why, _LIMIT)
        named = [(self.path, self.why), *others[:_MOST_OTHERS]]
        texts = [f"{at}: {one_line(each, _LIMIT)}" for at, each in named]
        more = len(others) - _MOST_OTHERS
        super().__init__("; ".join([*texts, f"and {more} more"] if more > 0 else texts))


class Shape(Protocol):
    """Describes JSON values and validates them."""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema that describes the values."""
        ...

    def read(self, value: Any) -> Any:
        """Validate a value and convert it to the type, if any. Raises `Mismatch`."""
        ...


def shape_of(kind: Any) -> Shape:
    """Return the shape of a type, a pydantic model or a JSON Schema.

    A JSON Schema is a mapping, JSON as text or bytes, or a path of a JSON file.

    >>> shape_of(list[int]).read([1, 2.0])
    [1, 2]
    >>> shape_of({"type": "object", "required": ["city"]}).read({})
    Traceback (most recent call last):
    wire.neutral.validation.Mismatch: $: "city" is a required property

    Raises `ValueError` for an invalid schema, `TypeError` for a type without a JSON form, and
    `ConfigurationError` for a JSON Schema if jsonschema-rs is not installed.
    """
    with _type_errors():
        if is_schema(kind):
            return SchemaShape(schema_from(kind))
        return ModelShape(kind) if _is_model(kind) else TypeShape(kind)


_CUSTOM = re.compile(r"custom types.*<class '(?:.*\.)?(\w+)'>", re.DOTALL)
_WITH_ONE = "write a dataclass, a msgspec.Struct, a TypedDict or a pydantic model"


@contextmanager
def _type_errors() -> Iterator[None]:
    """Raise `ValueError` for an exception of a user's type, which may run any code."""
    try:
        yield
    except TypeError as cause:
        custom = _CUSTOM.search(str(cause))
        if custom is None:
            raise
        raise TypeError(f"{custom[1]} has no JSON form; {_WITH_ONE}") from None
    except (ValueError, NameError, re.error, WireError):
        raise
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except Exception as cause:
        raise ValueError(f"{type(cause).__name__} was raised by it") from cause


def check_type_size(kind: Any) -> None:
    """Raise `ValueError` for a type such as `tuple[T, T]` with such a `T`, forty times.

    Each part of a type counts once for each place where it occurs, as in the decoder that msgspec
    builds of it.
    """
    if isinstance(kind, (dict, list, tuple)) and expands((kind,), _MAX_TYPE_PARTS):
        raise ValueError(f"it has more than {_MAX_TYPE_PARTS:,} values")
    level, count = [kind], 0
    for _ in range(_MAX_TYPE_LEVELS):
        level = [part for each in level for part in get_args(each)]
        count += len(level)
        if count > _MAX_TYPE_PARTS:
            raise ValueError(f"the type has more than {_MAX_TYPE_PARTS:,} parts")
        if not level:
            return
    raise ValueError(f"the type is nested more than {_MAX_TYPE_LEVELS} levels deep")


def is_schema(kind: Any) -> bool:
    """Return whether `kind` is a JSON Schema rather than a type.

    A path and a file of `importlib.resources` count as JSON Schema, since both can be read.
    """
    return isinstance(kind, (Mapping, str, bytes)) or (
        not isinstance(kind, type) and hasattr(kind, "read_bytes")
    )


def schema_from(source: Any) -> dict[str, Any]:
    """Load a JSON Schema from a mapping, JSON as text or bytes, or a path of a JSON file."""
    if isinstance(source, Mapping):
        return source if isinstance(source, dict) else dict(source)
    try:
        read: Any = msgspec.json.decode(
            source if isinstance(source, (str, bytes)) else source.read_bytes()
        )
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as cause:
        raise ValueError(f"it cannot be read: {cause}") from None
    if not isinstance(read, dict):
        raise ValueError(f"expected an object, not {one_line(repr(read), 100)}")
    return read


def plain(value: Any) -> Any:
    """Return a deep copy of a JSON value. Raises `Mismatch` if it is nested too deeply."""
    try:
        return _plain(value)
    except RecursionError:
        raise Mismatch("$", "nested too deep") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


# --- types ----------------------------------------------------------------------------------------


class TypeShape:
    """A type that msgspec supports; it may contain pydantic models."""

    def __init__(self, kind: Any) -> None:
        with _type_errors():
            check_type_size(kind)
            self._convert = converter(kind, _read_model)
            self.schema: dict[str, Any] = _schema_of_type(kind)

    def read(self, value: Any) -> Any:
        """Convert a value to the type.

        `2.0` is accepted as an integer, since JSON Schema counts it as one and some servers send
        it.
        """
        copy = plain(value)
        try:
            return self._converted(copy)
        except Mismatch as mismatch:
            try:
                return self._converted(_with_integers(copy))
            except Mismatch:
                raise mismatch from mismatch.__cause__

    def _converted(self, value: Any) -> Any:
        try:
            return self._convert(value)
        except msgspec.ValidationError as error:
            raise _mismatch(error) from None
        except Exception as error:  # `__post_init__` of a user's struct may raise anything
            raise Mismatch("$", _reason(error)) from error


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _mismatch(error: msgspec.ValidationError) -> Mismatch:
    why, at, path = str(error).rpartition(" - at `")
    path = path.replace("`", "") if at else "$"
    why = why if at else str(error)
    inner = error.__cause__
    return (
        Mismatch(f"{path}{inner.path[1:]}", inner.why)
        if isinstance(inner, Mismatch)
        else Mismatch(path, why)
    )


def _with_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _schema_of_type(kind: Any) -> dict[str, Any]:
    """Return the schema of a type as one document.

    The type itself is at the root, since some hosts require `type` there; other types are in
    `$defs`.
    """
    defs: dict[str, Any] = {}

    def of_model(model: Any) -> dict[str, Any]:
        if not _is_model(model):
            raise NotImplementedError
        return _lifted(_schema_of_model(model), defs)

    root, definitions = schema_components(kind, of_model, REFS)
    for definition in definitions.values():
        if "description" in definition:  # a docstring: indented up to Python 3.12
            definition["description"] = inspect.cleandoc(definition["description"])
    _lifted({"$defs": definitions}, defs)
    name = str(root.get("$ref", "")).removeprefix(REFS.format(name=""))
    if name in defs:
        root = {**defs[name], **{key: value for key, value in root.items() if key != "$ref"}}
    used: dict[str, Any] = {}
    _gather(root, defs, used)
    return {**root, "$defs": used} if used else root


def _lifted(schema: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    """Move the definitions of a schema to `defs`; return the schema."""
    for name, definition in schema.pop("$defs", {}).items():
        if defs.setdefault(name, definition) != definition:
            raise TypeError(f"two types are called {name}")
    return schema


def _gather(schema: Any, defs: Mapping[str, Any], used: dict[str, Any]) -> None:
    """Add the definitions that a schema refers to, at any depth, to `used`."""
    if isinstance(schema, dict):
        name = str(schema.get("$ref", "")).removeprefix(REFS.format(name=""))
        if name in defs and name not in used:
            used[name] = defs[name]
            _gather(defs[name], defs, used)
    for inner in (
        schema.values()
        if isinstance(schema, dict)
        else schema
        if isinstance(schema, (list, tuple))
        else ()
    ):
        _gather(inner, defs, used)


# --- models of pydantic ---------------------------------------------------------------------------


class ModelShape:
    """A pydantic model. It is recognized by its methods, since pydantic is not imported."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.schema: dict[str, Any] = _rooted(_schema_of_model(model))

    def read(self, value: Any) -> Any:
        """Validate a value and return an instance of the model."""
        return _read_model(self._model, value)


def _is_model(kind: Any) -> bool:
    return (
        isinstance(kind, type)
        and hasattr(kind, "model_json_schema")
        and hasattr(kind, "model_validate_json")
    )


def _schema_of_model(model: Any) -> dict[str, Any]:
    try:
        schema: dict[str, Any] = model.model_json_schema(ref_template=REFS.replace("name", "model"))
    except Exception as cause:  # pydantic raises its own classes, and pydantic is not imported here
        raise TypeError(f"{model.__name__} has no JSON Schema: {cause}") from None
    if not isinstance(schema, dict):
        raise TypeError(f"{model.__name__} has no JSON Schema, but a {type(schema).__name__}")
    return schema


def _rooted(schema: dict[str, Any]) -> dict[str, Any]:
    """Resolve the reference at the root, which pydantic writes for a recursive model."""
    name = str(schema.get("$ref", "")).removeprefix(REFS.format(name=""))
    return {**schema["$defs"][name], "$defs": schema["$defs"]} if name else schema


def _read_model(kind: type[_Model], value: Any) -> _Model:
    if not _is_model(kind):
        raise NotImplementedError
    model: Any = kind
    try:
        # As JSON, since a strict model accepts a date as string only from JSON.
        read: _Model = model.model_validate_json(msgspec.json.encode(value))
    except Exception as error:  # a validator of the model may raise any exception
        failed: Any = error
        if not hasattr(failed, "errors"):
            raise Mismatch("$", _reason(error)) from error
        found = failed.errors(include_url=False)
        (path, why), *others = [(json_path(each["loc"]), each["msg"]) for each in found]
        raise Mismatch(path, why, others) from None
    return read


# --- JSON Schema ----------------------------------------------------------------------------------


class SchemaShape:
    """A JSON Schema of the draft that its `$schema` names, or of 2020-12.

    It is sent to the model unchanged. `default` does not fill in values.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        try:
            import jsonschema_rs
        except ImportError:
            raise ConfigurationError(
                "JSON Schema is validated by jsonschema-rs, which is not installed: pip "
                'install "wire-llm[tools]"'
            ) from None
        from wire.core.schema_plan import Plan, check_schema  # only a JSON Schema needs them

        try:
            check_schema(schema, "$")
            checked(schema, "$")
            self._plan = Plan(schema, "$")
        except RuleError as error:
            raise ValueError(error.message) from None
        self._states = _states(self._plan)
        self._options = jsonschema_rs.FancyRegexOptions(backtrack_limit=BOUNDS.pattern_steps)
        try:
            self._validator = jsonschema_rs.validator_for(
                plain(schema), retriever=_refuse, pattern_options=self._options
            )
        except jsonschema_rs.ValidationError as error:
            path = json_path(error.instance_path)
            raise ValueError(
                one_line(error.message if path == "$" else f"{path}: {error.message}", _LIMIT)
            ) from None

    def read(self, value: Any) -> Any:
        """Validate a value and return a copy of it.

        The validator holds the interpreter, so the steps are counted first. A value that needs more
        than `BOUNDS.checks` is a mismatch, since nobody could stop its validation.
        """
        copy = plain(value)
        try:
            data = msgspec.json.encode(copy)
        except (TypeError, ValueError, RecursionError):
            data = b""  # the validator says why
        total = self._plan.total
        values = 1 + data.count(b",") + data.count(b"[") + data.count(b"{")
        patterns = sum(self._states.values())
        steps = total.weight * values + patterns * total.nodes * len(data)
        if total.recursive or steps > BOUNDS.checks:
            self._cost(copy)
        try:
            if self._validator.is_valid(copy):
                return copy
        except ValueError as error:  # raised for too deep nesting
            raise Mismatch(*_located(error)) from None
        # Each error has a copy of what it is about, and an error of alternatives those of all.
        size = _STEPS_OF_ERROR + len(data)
        cost = None
        if total.recursive or total.nodes * values * size > BOUNDS.checks:
            cost = self._cost(copy)
            if (1 + cost.worst) * size > BOUNDS.checks:
                problem = "it does not match, and there are too many alternatives to say why"
                raise Mismatch("$", problem)
        raise _mismatch_of(self._errors(copy, cost is None or cost.checks * size <= BOUNDS.checks))

    def _errors(self, copy: Any, all_of_them: bool) -> list[ValueError]:
        """Return the errors of a value that does not match: at most the first without
        `all_of_them`, since the validator builds all at once."""
        if all_of_them:
            return list(itertools.islice(self._validator.iter_errors(copy), _MOST_ERRORS))
        try:
            self._validator.validate(copy)
        except ValueError as error:
            return [error]
        return [ValueError("it does not match")]

    def _cost(self, copy: Any) -> Cost:
        cost = self._plan.cost(copy, self._states)
        if cost is None or cost.steps > BOUNDS.checks:
            raise Mismatch(
                "$", "too large to be checked by this schema: give fewer or shorter values"
            )
        return cost


def _mismatch_of(errors: list[ValueError]) -> Mismatch:
    (path, why), *others = map(_located, errors)
    return Mismatch(path, why, [each for each in others if each != (path, why)])


def _states(plan: Plan) -> dict[str, int]:
    """Return the states of each pattern of a schema: the steps for each character of a text.

    Raises `ValueError` for patterns that are too large.
    """
    from wire.core.schema_plan import pattern_states

    states: dict[str, int] = {}
    built = 0
    for pattern, place in plan.patterns:
        if pattern not in states:
            states[pattern] = pattern_states(pattern)
        built += states[pattern]
        if built > BOUNDS.pattern_states:
            raise ValueError(
                f"{place.path('$')}: patterns of more than {BOUNDS.pattern_states:,} states: "
                "shorten their repetitions"
            )
    return {
        each: count if _is_linear(each) else max(count, BOUNDS.pattern_steps)
        for each, count in states.items()
    }


@functools.lru_cache(maxsize=1000)
def _is_linear(pattern: str) -> bool:
    """Return whether the engine without backtracking knows everything in a pattern."""
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(
            {"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions()
        )
    except (jsonschema_rs.ValidationError, ValueError):
        return False
    return True


def _located(error: ValueError) -> tuple[str, str]:
    """Return the JSON path and the message of an error of jsonschema-rs."""
    return json_path(getattr(error, "instance_path", ())), getattr(error, "message", str(error))


def _refuse(uri: str) -> NoReturn:
    """Refuse a `$ref` to a URL, which the validator would otherwise fetch over the network."""
    raise ValueError(f"{uri} is not in the schema")


def json_path(keys: Iterable[str | int]) -> str:
    """Format keys and indexes as a JSON path.

    >>> json_path(["days", 0, "wind speed"])
    '$.days[0]["wind speed"]'
    """
    return "$" + "".join(
        f"[{key}]"
        if isinstance(key, int)
        else f".{key}"
        if _PLAIN_KEY.fullmatch(key)
        else f"[{msgspec.json.encode(key).decode()}]"
        for key in keys
    )
