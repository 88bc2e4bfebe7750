"""Reads YAML as plain values: texts, bytes, lists and dicts, and nothing else.

Foreign recordings may come from anywhere, so no tag can name a class (C-14). The events of the
parser are turned into values here, because PyYAML's own loaders accept duplicate keys, nest
without a limit, and resolve a plain scalar before its place in the file says what it is.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from wire.core.bounds import BOUNDS
from wire.core.errors import CassetteError
from wire.core.limits import Limits
from wire.testing.cassette.format.file_position import Fault, Path, shown

_LIMITS = Limits()
_BYTES_OF_CONTAINER, _BYTES_OF_VALUE = 16, 4
"""Bytes of the file for each list or dict, and for each value: as in `wire.core.limits`, a file of
many small values costs hundreds of times its size."""
_FREE_SIZE = 100_000

_YAML = "tag:yaml.org,2002:"
_TEXT_TAGS = {None, "!", *(f"{_YAML}{name}" for name in ("str", "python/str", "python/unicode"))}
_PLAIN_TAGS = {f"{_YAML}{name}" for name in ("null", "bool", "int", "float", "timestamp")}
_BINARY_TAGS = {f"{_YAML}binary", "!binary"}  # Ruby writes the second
_CONTAINER_TAGS = {None, f"{_YAML}map", f"{_YAML}seq"}

_CONSTANTS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# A number without a point and with an exponent is text in YAML 1.1, which PyYAML reads and writes.
_INTEGER = re.compile(rf"[-+]?[0-9]{{1,{BOUNDS.digits}}}")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


class Plain(str):
    """A scalar without quotes. Its place in the file says whether it is a text or a number."""

    __slots__ = ()


def resolved(value: Any) -> Any:
    """Return a value in which each plain scalar is the null, boolean or number that it spells.

    >>> resolved([Plain("1"), Plain("1e5"), "2", Plain("null"), Plain("2026-11-23")])
    [1, '1e5', '2', None, '2026-11-23']
    """
    held: list[Any] = [value]
    todo: list[tuple[Any, Any]] = [(held, 0)]
    while todo:  # a value may be nested deeper than Python calls itself
        inside, at = todo.pop()
        each = inside[at]
        if isinstance(each, dict):
            inside[at] = own = {str(key): item for key, item in each.items()}
            todo += [(own, key) for key in own]
        elif isinstance(each, list):
            inside[at] = items = list(each)
            todo += [(items, position) for position in range(len(items))]
        elif isinstance(each, Plain):
            inside[at] = _spelled(each)
    return held[0]


def _spelled(value: Plain) -> Any:
    if value in _CONSTANTS:
        return _CONSTANTS[value]
    if _INTEGER.fullmatch(value):
        return int(value)
    return float(value) if _FLOAT.fullmatch(value) else str(value)


def pyyaml() -> Any:
    """Return the module of PyYAML; raises `CassetteError` if it is not installed."""
    try:
        import yaml
    except ImportError:
        raise CassetteError("YAML needs PyYAML: pip install 'wire-llm[yaml]'") from None
    return yaml


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML document; its scalars are `Plain`, `str` or `bytes`.

    Raises `Fault` with the line of a syntax error, a duplicate key, an unknown tag, and of what is
    nested too deeply or grows too large; `CassetteError` if PyYAML is not installed.
    """
    builder = _Builder(len(text))
    for event in _events(text):
        builder.take(event)
    return builder.value


def yaml_line_of(text: str, path: Path) -> int:
    """Return the line on which the value at `path`, or its key, begins; 0 if there is none."""
    builder = _Builder(len(text))
    for event in _events(text):
        builder.take(event)
        if builder.path == path:
            return event.line
    return 0


class _Event(NamedTuple):
    """The facts of an event of PyYAML's parser that the builder needs."""

    kind: str
    line: int
    tag: str | None = None
    anchor: str | None = None
    value: str = ""
    plain: bool = False


def _events(text: str) -> Iterator[_Event]:
    yaml = pyyaml()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            yield _Event(
                type(event).__name__.removesuffix("Event"),
                event.start_mark.line + 1 if event.start_mark else 0,
                getattr(event, "tag", None),
                getattr(event, "anchor", None),
                getattr(event, "value", ""),
                isinstance(event, yaml.ScalarEvent) and event.implicit[0],
            )
    except yaml.YAMLError as cause:
        mark = getattr(cause, "problem_mark", None)
        problem = getattr(cause, "problem", None) or str(cause).partition("\n")[0]
        raise Fault("", f"not YAML: {problem}", mark.line + 1 if mark else 0) from None


class _Open:
    """A list or dict whose end is not read yet."""

    def __init__(self, value: list[Any] | dict[str, Any], anchor: str | None, size: int) -> None:
        self.value = value
        self.anchor = anchor
        self.size_before = size
        self.key: str | None = None


class _Builder:
    """Builds the value of one document from its events. It does not recurse."""

    def __init__(self, length: int) -> None:
        self.value: Any = None
        self.path: Path | None = None
        """The path of the value that the last event began; `None` after a key or an end."""
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._documents = self._containers = self._values = self._size = 0
        self._max_containers = max(_LIMITS.containers, length // _BYTES_OF_CONTAINER)
        self._max_values = max(_LIMITS.values, length // _BYTES_OF_VALUE)
        self._max_size = BOUNDS.yaml_growth * length + _FREE_SIZE

    def take(self, event: _Event) -> None:
        """Add one event."""
        self.path = None
        if event.kind == "Scalar":
            self._add(self._scalar(event), event, len(event.value) + 1)
        elif event.kind in ("MappingStart", "SequenceStart"):
            self._begin(event)
        elif event.kind in ("MappingEnd", "SequenceEnd"):
            closed = self._open.pop()
            self._name(closed.anchor, closed.value, self._size - closed.size_before)
            if self._open and isinstance(self._open[-1].value, dict):
                self._open[-1].key = None
        elif event.kind == "Alias":
            if event.anchor not in self._anchors:
                raise self._fault(event, f"the alias *{event.anchor} names no value before it")
            value, size = self._anchors[event.anchor]
            self._add(value, event._replace(anchor=None), size)
        elif event.kind == "DocumentStart":
            self._documents += 1
            if self._documents > 1:
                raise self._fault(event, "a second YAML document")

    def _begin(self, event: _Event) -> None:
        if event.tag not in _CONTAINER_TAGS:
            raise self._fault(event, self._unknown_tag(event))
        self._containers += 1
        if self._containers > self._max_containers:
            raise self._fault(event, f"more than {self._max_containers:,} lists and mappings")
        if len(self._open) >= _LIMITS.depth:
            raise self._fault(event, f"nested more than {_LIMITS.depth} levels deep")
        before = self._size
        value: Any = {} if event.kind == "MappingStart" else []
        self._add(value, event._replace(anchor=None), 1)
        self._open.append(_Open(value, event.anchor, before))

    def _add(self, value: Any, event: _Event, size: int) -> None:
        self._values += 1
        self._size += size
        if self._values > self._max_values:
            raise self._fault(event, f"more than {self._max_values:,} values")
        if self._size > self._max_size:
            raise self._fault(
                event,
                f"its aliases expand to more than {BOUNDS.yaml_growth} times the size of the file",
            )
        self._name(event.anchor, value, size)
        if not self._open:
            self.value, self.path = value, ()
            return
        above = self._open[-1]
        if isinstance(above.value, dict) and above.key is None:
            if not isinstance(value, str):
                raise self._fault(event, "a key that is not a text")
            if value in above.value:
                raise self._fault(event, f"the key {value[:200]!r} occurs twice")
            above.key = str(value)
            return
        self.path = self._path()
        if isinstance(above.value, list):
            above.value.append(value)
            return
        assert above.key is not None
        above.value[above.key] = value
        if not event.kind.endswith("Start"):
            above.key = None

    def _scalar(self, event: _Event) -> str | bytes:
        if event.tag in _BINARY_TAGS:
            try:
                return binascii.a2b_base64("".join(event.value.split()), strict_mode=True)
            except ValueError as cause:
                raise self._fault(event, f"!!binary: {cause}") from None
        if event.tag in _TEXT_TAGS:
            return Plain(event.value) if event.plain and event.tag is None else event.value
        if event.tag in _PLAIN_TAGS:
            return Plain(event.value)
        raise self._fault(event, self._unknown_tag(event))

    def _name(self, anchor: str | None, value: Any, size: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = value, size

    def _path(self) -> Path:
        """Return the path of the next value."""
        steps: list[str | int] = []
        for level, each in enumerate(self._open, 1):
            if isinstance(each.value, list):
                # The open value inside it is its last item already.
                steps.append(len(each.value) - (level < len(self._open)))
            elif each.key is not None:
                steps.append(each.key)
        return tuple(steps)

    def _fault(self, event: _Event, message: str) -> Fault:
        return Fault(shown(self._path()) if self._open else "", message, event.line)

    @staticmethod
    def _unknown_tag(event: _Event) -> str:
        tag = (event.tag or "").replace(_YAML, "!!")
        return f"the tag {tag[:200]} is refused: only texts, !!binary, lists and mappings are read"
