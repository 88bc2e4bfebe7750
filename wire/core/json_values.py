"""Checks whether JSON can represent a value, for every body, session and checkpoint.

msgspec alone is not enough. It writes NaN and infinity as `null`, bytes as base64, a set as a list
and the key `1` as `"1"`, all without an error.
"""

from __future__ import annotations

import enum
import gc
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from wire.core.decoders import decoder
from wire.core.errors import RuleError, Violation, WireError
from wire.core.lazy import lazy_pattern
from wire.core.memory import (
    EXTRA_KEY,
    RAW,
    MetadataStruct,
    encode,
    key_path,
    well_formed_utf8,
)
from wire.core.secret import quoted

T = TypeVar("T")

MAX_DEPTH = 500
"""Levels of lists and objects in one value; Python's own limit is about 1,000 frames."""
MAX_FILE_DEPTH = MAX_DEPTH + 10
"""The same for a file: it has levels of its own around a value that was accepted."""
MAX_VIOLATIONS = 20
"""Violations that one error lists."""
MAX_PATH_STEPS = 32
"""Steps of the path to a value that is nested too deeply."""

MAX_VALUES = 5_000_000
"""Values in one JSON value, those of a list or object once for each place where it occurs."""

_MANY = 10_000
_MAX_LEVELS = 1_200
"""Levels that `expands` counts. Encoding raises RecursionError at fewer."""
_CONTAINERS = (dict, list, tuple, set, frozenset)
_EXPANDABLE = (*_CONTAINERS, msgspec.Struct)

_LEAST_DEEP = 2 * MAX_DEPTH + 2
"""Bytes of the shortest JSON that is nested too deeply: each level has two brackets."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_CLOSING_RUN = lazy_pattern(rb"[]}]{%d}" % (MAX_DEPTH + 1))

_SHORT_INT_BITS = 14_000
"""Bits of an integer that Python writes in decimal at any setting but the least ones: its limit is
4,300 digits.
"""
_NOT_JSON = (bytes, bytearray, memoryview, set, frozenset)


def checked(value: T, path: str = "", *, plain: bool = False, max_depth: int = MAX_DEPTH) -> T:
    """Return `value` if JSON in UTF-8 can represent it without a change.

    >>> checked({"temp": [15, float("nan")]}, "response")
    Traceback (most recent call last):
    wire.errors.RuleError: response.temp[1]: nan is not a JSON number

    Structs, dataclasses, enums, times, UUIDs and decimals are accepted too, since msgspec encodes
    them, unless `plain` is true. A received struct is not checked: its received bytes are sent.

    Raises `RuleError` with the JSON path, below `path`, of NaN and infinity, half of a surrogate
    pair, bytes, sets, other objects, a list or dict that contains itself, nesting deeper than
    `max_depth` levels, and a key that is not a text.
    """
    try:
        sound = (
            _is_read_back(value)
            if isinstance(value, MetadataStruct) and not plain
            else are_sound((value,))
        )
        if sound:
            return value
        search = _Search(path, plain, max_depth)
        search.visit(value, ())
        violations = search.violations
        if not violations and expands((value,)):
            violations = [too_large(value, path)]
    except RecursionError:  # the stack of the caller is already deep
        violations = [Violation(path, "nested too deeply")]
    if violations:
        raise RuleError(violations=violations)
    return value


def are_sound(values: Sequence[Any]) -> bool:
    """Return whether `checked` would accept each of `values`, in one pass without a Python walk.

    >>> are_sound(["a", {"temp": [15, None]}]), are_sound(["a", {"temp": [float("nan")]}])
    (True, False)

    False also for values that only a walk can judge, such as times: call `checked` then, which
    names the path of what is wrong.
    """
    flat: list[dict[str, Any]] = []
    written: list[Any] = []
    try:
        for value in values:
            kind = type(value)
            if kind is str:
                if not value.isascii():
                    # The text keeps the UTF-8 that this makes, so the body's encoder need not.
                    msgspec.Raw(value)
            elif kind is int:
                if value.bit_length() > _SHORT_INT_BITS:
                    return False
            elif (
                kind is dict
                # Most schemas of tools are not flat, and need no call to determine that.
                and _SCALARS.issuperset(map(type, value.values()))
                and is_flat(value)
            ):
                flat.append(value)
            elif value is not None and kind is not bool:
                written.append(list(value) if kind is tuple else value)
        if flat:
            if sum(map(len, flat)) > MAX_VALUES:
                return False
            inner = itertools.chain(*flat, *map(dict.values, flat))
            if not are_sound([each for each in inner if type(each) is not float]):
                return False
        if not written:
            return True
        if expands(written):
            return False
        # Encoded as plain values, so nothing inside is looked up in the memory of structs.
        data = msgspec.json.encode(written)
        return bool(decoder(Any).decode(data) == written) and not is_deep(data)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False


def is_flat(value: dict[Any, Any]) -> bool:
    """Return whether an object has only text keys, and scalars that msgspec writes unchanged.

    Encoding refuses the remaining values that JSON cannot represent.

    >>> is_flat({"city": "Bergen", "days": 3}), is_flat({"days": [3]})
    (True, False)

    Most arguments and results of tools are such objects. They need no walk, and cannot expand.
    """
    kinds = set(map(type, value.values()))
    return (
        _SCALARS.issuperset(kinds)
        and _TEXT.issuperset(map(type, value))
        and (
            float not in kinds
            or all(math.isfinite(each) for each in value.values() if type(each) is float)
        )
    )


_TEXT = frozenset({str})
_SCALARS = frozenset({str, int, bool, float, type(None)})


def expands(values: Iterable[Any], limit: int = MAX_VALUES) -> bool:
    """Return whether these values, written as JSON, contain more than `limit` values.

    >>> doubled: list[Any] = []
    >>> for _ in range(40):
    ...     doubled = [doubled, doubled]
    >>> expands([doubled]), expands([["a"], {"b": ["c"]}])
    (True, False)

    A list that occurs twice is written twice. So forty lists can become more JSON than any memory
    holds, and encoding it ends the process. The values are counted level by level, because a call
    for each would take longer than encoding them.
    """
    level, count = list(values), 0
    for _ in range(_MAX_LEVELS):
        # A level has thousands of values and few types, so types are compared and not values.
        kinds: list[type] = [
            kind for kind in set(map(type, level)) if issubclass(kind, _CONTAINERS)
        ]
        count += sum([len(each) for each in level if type(each) in kinds]) if kinds else 0
        if count > limit:
            return True
        inner = gc.get_referents(*level)
        kinds = [kind for kind in set(map(type, inner)) if issubclass(kind, _EXPANDABLE)]
        if not kinds:
            break
        level = [each for each in inner if type(each) in kinds]
        if len(level) > _MANY:
            times = Counter(map(id, level))
            if 2 * len(times) < len(level):
                distinct = {id(each): each for each in level}
                return _repeated_expand(distinct, times, limit - count)
    return False


def _repeated_expand(level: dict[int, Any], times: Counter[int], limit: int) -> bool:
    """Return the result of `expands` for few values that occur many times.

    Each value is looked at once in a level.
    """
    for _ in range(_MAX_LEVELS):
        inner: dict[int, Any] = {}
        inner_times: Counter[int] = Counter()
        for key, value in level.items():
            limit -= len(value) * times[key] if isinstance(value, _CONTAINERS) else 0
            for each in gc.get_referents(value):
                if issubclass(type(each), _EXPANDABLE):
                    inner[id(each)] = each
                    inner_times[id(each)] += times[key]
        if limit < 0 or not inner:
            break
        level, times = inner, inner_times
    return limit < 0


def check_size(value: Any, path: str, limit: int = MAX_VALUES) -> None:
    """Raise `RuleError` for a value that `expands`."""
    if expands((value,), limit):
        raise RuleError(violations=[too_large(value, path, limit)])


def too_large(value: Any, path: str, limit: int = MAX_VALUES) -> Violation:
    """Build the violation for a value that `expands`, at the field or key that causes it."""
    search = _Search(path, False, MAX_DEPTH)
    steps: _Steps = ()
    while len(steps) < MAX_PATH_STEPS:
        inner = [pair for pair in search._inner(value) or () if expands((pair[1],), limit)]
        if len(inner) != 1:
            break
        step, value = inner[0]
        steps = (*steps, step)
    remedy = "a list or object that occurs several times counts each time"
    return Violation(search.path_of(steps), f"more than {limit:,} values", remedy=remedy)


def json_of_file(source: bytes | str, name: str, error: type[WireError]) -> Any:
    """Decode the JSON of a file, from its bytes or its text.

    >>> json_of_file('{"visits": {"ask": 1}', "run.json", WireError)
    Traceback (most recent call last):
    wire.errors.WireError: run.json: not JSON: it ends after 21 bytes, inside a value

    Raises `error` with `name` and the position of what is not JSON in UTF-8, or with the JSON path
    of what is nested more than `MAX_FILE_DEPTH` levels deep.
    """
    try:
        # A copy of a subclass of str: msgspec reads no other text.
        text = source.decode("utf-8-sig") if isinstance(source, bytes) else str.__str__(source)
        value = decoder(Any).decode(text)
        checked(value, plain=True, max_depth=MAX_FILE_DEPTH)
        return value
    except UnicodeDecodeError as cause:
        problem = f"byte {cause.start} is not UTF-8"
    except UnicodeEncodeError as cause:
        problem = f"character {cause.start} is half of a surrogate pair"
    except msgspec.DecodeError as cause:
        # msgspec gives the position of everything else.
        problem = f"not JSON: {cause}"
        if "truncated" in problem:
            size = len(source if isinstance(source, bytes) else source.encode())
            problem = f"not JSON: it ends after {size:,} bytes, inside a value"
    except RecursionError:
        problem = "nested too deeply"
    except RuleError as cause:
        problem = cause.message
    raise error(f"{name}: {problem}")


def json_text(value: Any, path: str) -> str:
    """Encode `value` as JSON text, non-ASCII characters kept. Raises as `checked`."""
    return msgspec.json.encode(checked(value, path)).decode()


def is_deep(data: bytes) -> bool:
    """Return whether JSON may have more than 500 levels, by its consecutive closing brackets."""
    if len(data) < _LEAST_DEEP:
        return False
    brackets = data.translate(None, _NO_BRACKETS)
    return len(brackets) > MAX_DEPTH and _CLOSING_RUN().search(brackets) is not None


def _is_read_back(value: MetadataStruct) -> bool:
    """Return whether a struct decodes to itself after encoding.

    This is faster than a walk in Python.
    """
    if RAW in value.__dict__:
        return True
    if expands((value,)):
        return False
    try:
        data = encode(value)
        return bool(decoder(type(value)).decode(data) == value) and not is_deep(data)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_Steps = tuple[Any, ...]


class _Search:
    """Collects the violations in one value, each with its path."""

    def __init__(self, path: str, plain: bool, max_depth: int) -> None:
        self.violations: list[Violation] = []
        self._path, self._plain, self._max_depth = path, plain, max_depth
        self._open: dict[int, _Steps] = {}  # containers around the current value: id to position
        self._visited: dict[int, int] = {}  # id of a container to the levels around it

    def visit(self, value: Any, steps: _Steps) -> None:
        if len(self.violations) >= MAX_VIOLATIONS:
            return
        inner = self._inner(value)
        if inner is None:
            problem = self._problem(value)
            if problem:
                self._report(steps, problem)
        elif id(value) in self._open:
            self._report(self._open[id(value)], f"this {type(value).__name__} contains itself")
        elif len(steps) >= self._max_depth:
            self._report(_nesting_start(steps), f"nested more than {self._max_depth} levels deep")
        elif len(steps) > self._visited.get(id(value), -1):
            self._visited[id(value)] = len(steps)
            self._open[id(value)] = steps
            for step, item in inner:
                if type(step) is not int or isinstance(value, dict):
                    problem = _key_problem(step)
                    if problem:
                        self._report(steps, problem)
                        continue
                self.visit(item, (*steps, step))
            del self._open[id(value)]

    def _inner(self, value: Any) -> Iterable[tuple[Any, Any]] | None:
        """Return the items of a container, each with its key or index; `None` for a scalar."""
        if isinstance(value, dict):
            return value.items()
        if isinstance(value, (list, tuple)):
            return enumerate(value)
        if self._plain or isinstance(value, type):
            return None
        if isinstance(value, enum.Enum):
            return self._inner(value.value)
        if isinstance(value, msgspec.Struct):
            if RAW in getattr(value, "__dict__", ()):
                return ()
            names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
            fields = ((step, getattr(value, name)) for step, name in names)
            given = {step: item for step, item in fields if item is not msgspec.UNSET}
            # Extra keys are sent beside the fields, so their paths are those of fields.
            extra = given.pop(EXTRA_KEY, None) or {}
            return {**given, **extra}.items()
        if hasattr(type(value), "__dataclass_fields__"):
            import dataclasses

            return ((each.name, getattr(value, each.name)) for each in dataclasses.fields(value))
        return None

    def _problem(self, value: Any) -> str:
        """Return the problem of a scalar; empty if there is none."""
        if isinstance(value, enum.Enum) and not self._plain:
            value = value.value
        if isinstance(value, str):
            if not _is_utf8(value):
                return "this text contains half of a surrogate pair, which UTF-8 cannot encode"
        elif isinstance(value, float) and not math.isfinite(value):
            return f"{value} is not a JSON number"
        elif isinstance(value, int) and not _is_encodable(value):
            if type(value) is not int:
                return f"expected an int, not {type(value).__name__}"
            return "this number has more digits than Python writes"
        if isinstance(value, str | int | float | None) if self._plain else _is_encodable(value):
            return ""
        return f"expected a JSON value, not {type(value).__name__}"

    def path_of(self, steps: _Steps) -> str:
        """Format the JSON path of a position in the value."""
        path = self._path
        for step in steps:
            path = f"{path}[{step}]" if isinstance(step, int) else key_path(path, step)
        return path

    def _report(self, steps: _Steps, problem: str) -> None:
        violation = Violation(self.path_of(steps), problem)
        if violation not in self.violations:
            self.violations.append(violation)


def _is_encodable(value: object) -> bool:
    """Return whether msgspec writes this scalar without a change."""
    try:
        msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False
    return not isinstance(value, _NOT_JSON)


def _key_problem(key: object) -> str:
    if not isinstance(key, str):
        return f"expected a text as JSON key, not {quoted(key, 50)}"
    return "" if _is_utf8(key) else "a key of this object contains half of a surrogate pair"


def _nesting_start(steps: _Steps) -> _Steps:
    """Return the path to the first of equal steps at the end of `steps`, such as `[0][0][0]`."""
    end = len(steps)
    while end and steps[end - 1] == steps[-1]:
        end -= 1
    return steps[: min(end, MAX_PATH_STEPS)]


def merged_json(value: Any) -> bytes:
    """Encode what was merged of received values. Lone surrogates become U+FFFD (R-08)."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, or a very long integer
        return well_formed_utf8(json.dumps(value, ensure_ascii=False))
