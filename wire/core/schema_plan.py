"""Counts what a JSON Schema costs, before anything that follows its references reads it.

References multiply: two to the next definition, at each of 24 levels, are 1.4 kB and 16 million
schemas. A validator that follows them holds the interpreter, so that no timeout ends it. A `Plan`
counts instead of following, each schema once, in a time that is linear in the document:

- `check_schema` refuses a schema that expands too far, at the door of tools and outputs.
- `Plan.cost` counts the steps of a validation, which may multiply with the depth of the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

import msgspec

from wire.core.bounds import BOUNDS
from wire.core.errors import RuleError, Violation, one_line
from wire.core.json_values import check_size, expands, is_deep

_MOST = 10**15
"""Counts stop here, so that they stay small integers."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ALTERNATIVES = ("anyOf", "oneOf", "not", "if")
_IN_PLACE = (*_ALTERNATIVES, "allOf", "then", "else", "dependentSchemas", "dependencies")
_VALUES = ("additionalProperties", "unevaluatedProperties", "patternProperties")
_ITEMS = ("additionalItems", "unevaluatedItems", "contains")
_MAPS = frozenset({"patternProperties", "dependentSchemas", "dependencies"})
_UNEVALUATED = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_CHECK = 10
_UNEVALUATED_CHECK = 250
"""Steps of 10 ns, as they were measured."""
_BYTES_OF_STEP = 8
_MOST_ENCODED = 4 * BOUNDS.schema_values
"""Values that are encoded to count their bytes, which tells more than the number of values."""
_SHOWN_PATH = 200
_LONG_NAME = re.compile(rb'"[^"\\]{%d}[^"\\]*+":' % BOUNDS.name)

_TOKEN = re.compile(
    r"\\[pPxu]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+),?(\d*)\}|[()]|.", re.DOTALL
)


class Place:
    """A schema of a document, and the schemas that apply with it."""

    __slots__ = (
        "above", "each_item", "each_value", "factor", "in_place", "items", "names", "pattern",
        "properties", "schema", "step", "weight",
    )  # fmt: skip

    def __init__(self, schema: Any, above: Place | None, step: str) -> None:
        self.schema, self.above, self.step = schema, above, step
        self.weight = _CHECK
        self.factor = 1
        self.pattern = ""
        self.in_place: list[tuple[Place, bool]] = []
        self.properties: dict[str, Place] = {}
        self.names: list[Place] = []
        self.each_value: list[Place] = []
        self.items: list[Place] = []
        self.each_item: list[Place] = []

    def inner(self) -> Iterator[Place]:
        """Yield the schemas that apply with this one, or inside its values."""
        yield from (each for each, _ in self.in_place)
        yield from self.properties.values()
        for places in (self.names, self.each_value, self.items, self.each_item):
            yield from places

    def path(self, root: str) -> str:
        """Return the JSON path below `root`."""
        steps: list[str] = []
        place: Place | None = self
        while place is not None and len(steps) < _SHOWN_PATH:
            steps.append(place.step)
            place = place.above
        return one_line(f"{root}{''.join(reversed(steps))}", _SHOWN_PATH)


class Total(NamedTuple):
    """What a schema has with its references followed; one to a schema around it counts once."""

    nodes: int
    weight: int
    recursive: bool


def check_schema(schema: Any, path: str) -> None:
    """Raise `RuleError` for a JSON Schema that is too large, or that expands too far.

    >>> level = {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(24)}
    >>> schema = {"$ref": "#/$defs/d0", "$defs": {**level, "d24": {"type": "string"}}}
    >>> check_schema(schema, "parameters")
    Traceback (most recent call last):
    wire.errors.RuleError: parameters.$defs.d9: expands to more than 100,000 schemas (refer to a \
definition fewer times, or leave parts out)
    """
    many = expands((schema,), BOUNDS.schema_values)
    if many and expands((schema,), _MOST_ENCODED):
        check_size(schema, path, BOUNDS.schema_values)
    try:
        data = msgspec.json.encode(schema)
    except (TypeError, ValueError, RecursionError):
        data = b""  # `checked` names what JSON cannot represent, before it is sent
    if len(data) > BOUNDS.schema_bytes:
        raise _refused(path, f"more than {BOUNDS.schema_bytes:,} bytes", "shorten it")
    if many:
        check_size(schema, path, BOUNDS.schema_values)
    if not data or b'ef":' in data or is_deep(data) or _LONG_NAME.search(data):
        Plan(schema, path)


def _refused(path: str, problem: str, remedy: str) -> RuleError:
    return RuleError(violations=[Violation(path, problem, remedy=remedy)])


class Plan:
    """The schemas of a document, each once, with what applies at the same value and inside it.

    Raises `RuleError` with the path of what is over a bound.
    """

    def __init__(self, schema: Any, path: str = "") -> None:
        self._path = path
        self._places: dict[int, Place] = {}
        self._resources = _Resources(schema)
        self.patterns: list[tuple[str, Place]] = []
        self._root = Place(schema, None, "")
        self._read()
        self._check_circles()
        self.total: Total = self._measured()

    # --- reading ----------------------------------------------------------------------------------

    def _read(self) -> None:
        todo = [self._root]
        self._places[id(self._root.schema)] = self._root
        while todo:
            place = todo.pop()
            if isinstance(place.schema, Mapping):
                self._fill(place, todo)

    def _place(self, schema: Any, above: Place | None, step: str, todo: list[Place]) -> Place:
        known = self._places.get(id(schema)) if isinstance(schema, Mapping) else None
        if known is None:
            known = Place(schema, above, step)
            if isinstance(schema, Mapping):
                self._places[id(schema)] = known
                todo.append(known)
        return known

    def _fill(self, place: Place, todo: list[Place]) -> None:
        schema = place.schema
        for key in _REFERENCES:
            if isinstance(schema.get(key), str):
                for target, step in self._resources.targets(schema, key):
                    found = self._place(target, self._root, step, todo)
                    place.in_place.append((found, False))
        for key in _IN_PLACE:
            for inner, step in _schemas(schema, key):
                found = self._place(inner, place, step, todo)
                place.in_place.append((found, key in _ALTERNATIVES))
        for key, into in (("propertyNames", place.names), *_into(place, schema)):
            for inner, step in _schemas(schema, key):
                into.append(self._place(inner, place, step, todo))
        names = schema.get("properties")
        if isinstance(names, Mapping):
            for name, inner in names.items():
                self._check_name(place, name)
                step = f".properties.{name}"
                place.properties[name] = self._place(inner, place, step, todo)
        self._weigh(place)

    def _check_name(self, place: Place, name: Any) -> None:
        if isinstance(name, str) and len(name) > BOUNDS.name:
            problem = f"a name of {len(name):,} characters, more than {BOUNDS.name:,}"
            raise _refused(f"{place.path(self._path)}.properties", problem, "shorten it")

    def _weigh(self, place: Place) -> None:
        schema = place.schema
        if not _UNEVALUATED.isdisjoint(schema):
            # The validator builds and asks all schemas at the same value a second time.
            place.factor, place.weight = 2, _UNEVALUATED_CHECK
        for key in ("enum", "const", "required"):
            value = schema.get(key)
            if isinstance(value, (list, dict, str)):
                try:
                    place.weight += len(msgspec.json.encode(value)) // _BYTES_OF_STEP
                except (TypeError, ValueError, RecursionError):
                    place.weight += len(value)
        for key in ("pattern", "format"):
            if isinstance(schema.get(key), str):
                place.pattern = schema[key] if key == "pattern" else place.pattern or "x{50}"
        if place.pattern:
            self.patterns.append((place.pattern, place))
        several = schema.get("patternProperties")
        if isinstance(several, Mapping):
            self.patterns += [(each, place) for each in several if isinstance(each, str)]

    def _check_circles(self) -> None:
        """Refuse a schema that applies to a value because it applies to the same value.

        No value decides when that ends, and each validator gives up elsewhere.
        """
        done: set[int] = set()
        for start in self._places.values():
            path: list[tuple[Place, Iterator[tuple[Place, bool]]]] = []
            around: set[int] = set()
            following: Place | None = start if id(start) not in done else None
            while following is not None or path:
                if following is not None:
                    if id(following) in around:
                        problem = "applies to the same value again"
                        remedy = "refer to it below properties or items"
                        raise _refused(following.path(self._path), problem, remedy)
                    around.add(id(following))
                    path.append((following, iter(following.in_place)))
                place, inner = path[-1]
                following = next((each for each, _ in inner if id(each) not in done), None)
                if following is None:
                    path.pop()
                    around.discard(id(place))
                    done.add(id(place))

    # --- counting ---------------------------------------------------------------------------------

    def _measured(self) -> Total:
        """Count the schemas, references followed, each place once."""
        counted: dict[int, Total] = {}
        open_: list[tuple[Place, Iterator[Place], list[int]]] = []
        entered: set[int] = set()

        def enter(place: Place) -> None:
            if len(open_) >= BOUNDS.schema_levels:
                problem = f"nested more than {BOUNDS.schema_levels} levels deep"
                raise _refused(place.path(self._path), f"{problem}, references followed", _REMEDY)
            entered.add(id(place))
            open_.append((place, place.inner(), [1, place.weight, 0]))

        enter(self._root)
        while open_:
            place, inner, sums = open_[-1]
            for each in inner:
                done = counted.get(id(each))
                if done is None and id(each) not in entered:
                    enter(each)
                    break
                # A reference to a schema around it counts once.
                nodes, weight, recursive = done or (1, each.weight, True)
                sums[0] = min(sums[0] + place.factor * nodes, _MOST)
                sums[1] = min(sums[1] + place.factor * weight, _MOST)
                sums[2] |= recursive
            else:
                open_.pop()
                entered.discard(id(place))
                total = counted[id(place)] = Total(sums[0], sums[1], bool(sums[2]))
                if total.nodes > BOUNDS.schema_nodes:
                    problem = f"expands to more than {BOUNDS.schema_nodes:,} schemas"
                    raise _refused(place.path(self._path), problem, _REMEDY)
                if open_:
                    above, _, outer = open_[-1]
                    outer[0] = min(outer[0] + above.factor * total.nodes, _MOST)
                    outer[1] = min(outer[1] + above.factor * total.weight, _MOST)
                    outer[2] |= total.recursive
        return counted[id(self._root)]

    # --- the cost of a value ----------------------------------------------------------------------

    def cost(self, value: Any, states: Mapping[str, int]) -> Cost | None:
        """Count the steps of validating a JSON value; `None` if they are too many to count.

        `states` has the states of each pattern. Each pair of a schema and a value is looked at
        once, although the validator may meet it once for each way to it.
        """
        done: dict[tuple[int, int], Cost] = {}
        todo: list[tuple[Place, Any, list[tuple[Place, Any, bool]] | None]] = [
            (self._root, value, None)
        ]
        open_: set[tuple[int, int]] = set()
        looked = 0
        while todo:
            place, each, pairs = todo.pop()
            key = (id(place), id(each))
            if pairs is None:
                if key in done or key in open_:
                    continue
                open_.add(key)
                pairs = _pairs(place, each)
                looked += 1 + len(pairs)
                if looked > BOUNDS.pairs:
                    return None
                todo.append((place, each, pairs))
                todo += [(inner, item, None) for inner, item, _ in pairs]
                continue
            open_.discard(key)
            here, inside, checks, worst = _steps_of(place, each, states), 0, 1, 0
            for index, (inner, item, alternative) in enumerate(pairs):
                found = done.get((id(inner), id(item)))
                if found is None:
                    continue  # it has no schema of its own
                if item is each and index < len(place.in_place):
                    here, inside = here + place.factor * found.here, inside + found.inside
                else:
                    inside += found.here + found.inside
                checks += found.checks
                worst = max(worst, found.checks if alternative else found.worst)
            if any(alternative for _, _, alternative in pairs):
                worst = checks
            done[key] = Cost(*(min(count, _MOST) for count in (here, inside, checks, worst)))
        return done[(id(self._root), id(value))]


def _steps_of(place: Place, value: Any, states: Mapping[str, int]) -> int:
    """Count the steps of one schema at one value, without those of other schemas."""
    steps = place.weight
    if place.pattern and isinstance(value, str):
        steps += states.get(place.pattern, 0) * len(value)
    if isinstance(value, dict):
        names = len(value) + sum(map(len, value))
        steps += names * (1 + sum(states.get(each, 0) for each in _named(place.schema)))
    return steps


class Cost(NamedTuple):
    """The steps of a validation, at most: a validator stops earlier at what it can decide."""

    here: int
    """Steps at the value itself."""
    inside: int
    """Steps at the values inside it."""
    checks: int
    worst: int
    """Checks below the largest choice between alternatives: one error has all their reasons."""

    @property
    def steps(self) -> int:
        """All steps."""
        return self.here + self.inside


def pattern_states(pattern: str) -> int:
    """Count the states of a regular expression, with its repetitions written out.

    >>> pattern_states("^[a-z]{8}(-[a-z]{4}){3}$"), pattern_states("(a{100}){100}")
    (27, 10101)
    """
    open_, last = [1], 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if token[1] is not None:
            times = max(int(token[1][:9]), int(token[2][:9] or 0))
            open_[-1] += last * max(times - 1, 0)
            last *= max(times, 1)
        elif text == "(":
            open_.append(1)
        elif text == ")" and len(open_) > 1:
            last = open_.pop()
            open_[-1] += last
        elif text not in "*+?|^$":
            last = 1
            open_[-1] += 1
        open_[-1], last = min(open_[-1], _MOST), min(last, _MOST)
    return min(sum(open_), _MOST)


_REMEDY = "refer to a definition fewer times, or leave parts out"


def _schemas(schema: Mapping[str, Any], key: str) -> Iterator[tuple[Any, str]]:
    """Yield the schemas of one keyword, each with its step."""
    value = schema.get(key)
    if isinstance(value, (list, tuple)):
        for index, each in enumerate(value):
            yield each, f".{key}[{index}]"
    elif key in _MAPS and isinstance(value, Mapping):
        for name, each in value.items():
            yield each, f".{key}.{name}"
    elif isinstance(value, Mapping):
        yield value, f".{key}"


def _into(place: Place, schema: Mapping[str, Any]) -> list[tuple[str, list[Place]]]:
    """Return the keywords for what is inside a value, each with the list of their schemas."""
    tuple_of_items = isinstance(schema.get("items"), (list, tuple))
    return [
        *((key, place.each_value) for key in _VALUES),
        *((key, place.each_item) for key in _ITEMS),
        ("items", place.items if tuple_of_items else place.each_item),
        ("prefixItems", place.items),
    ]


def _named(schema: Any) -> Mapping[str, Any]:
    several = schema.get("patternProperties") if isinstance(schema, Mapping) else None
    return several if isinstance(several, Mapping) else {}


def _pairs(place: Place, value: Any) -> list[tuple[Place, Any, bool]]:
    """Return the schemas that apply at a value and inside it, each with its value."""
    pairs = [(inner, value, alternative) for inner, alternative in place.in_place]
    if isinstance(value, dict):
        if place.properties:
            pairs += [
                (inner, value[name], False)
                for name, inner in place.properties.items()
                if name in value
            ]
        pairs += [(inner, item, False) for inner in place.each_value for item in value.values()]
        pairs += [(inner, name, False) for inner in place.names for name in value]
    elif isinstance(value, list):
        pairs += [(inner, item, False) for inner in place.each_item for item in value]
        pairs += [(inner, item, False) for inner, item in zip(place.items, value, strict=False)]
    return pairs


class _Resources:
    """Finds what references of a document refer to, each in the time of its text."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._base: dict[int, tuple[str, Any]] = {}  # of a schema below an `$id`: URI and its root
        self._named: dict[str, Any] = {}
        self._anchors: dict[str, list[Any]] = {}
        self._known: dict[tuple[int, str], Any] = {}
        self._indexed = False

    def targets(self, schema: Mapping[str, Any], key: str) -> Iterator[tuple[Any, str]]:
        """Yield the schemas that a reference may refer to, each with its step from the root."""
        ref = str(schema[key])
        self._index()
        base, within = self._base.get(id(schema), ("", self._root))
        uri, _, fragment = ref.partition("#")
        if fragment and not fragment.startswith("/"):
            for found in self._anchors.get(unquote(fragment), ()):
                yield found, f".{key}"
            return
        # Drafts differ in what an `$id` beside or around a reference means, and the validator has a
        # URI of its own for a document without one: whatever may be meant counts.
        roots = [within, self._root]
        if uri:
            roots += [self._named.get(each) for each in (urljoin(base, uri), uri)]
        for root in {id(each): each for each in roots}.values():
            target = self._pointed(root, fragment)
            if target is not None:
                yield target, fragment.replace("/", ".")

    def _pointed(self, root: Any, pointer: str) -> Any:
        known = (id(root), pointer)
        if known not in self._known:
            at = root
            for step in unquote(pointer).split("/")[1:]:
                at = _stepped(at, step.replace("~1", "/").replace("~0", "~"))
            self._known[known] = at
        return self._known[known]

    def _index(self) -> None:
        """Note all `$id` and anchors, at any place: a reference reaches each of them."""
        if self._indexed:
            return
        self._indexed = True
        todo: list[tuple[Any, str, Any]] = [(self._root, "", self._root)]
        seen: set[int] = set()
        while todo:
            each, base, root = todo.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            if isinstance(each, (list, tuple)):
                todo += [(item, base, root) for item in each if isinstance(item, _CONTAINERS)]
                continue
            for key in ("$id", "id"):
                if isinstance(each.get(key), str) and not each[key].startswith("#"):
                    base, root = urljoin(base, each[key]), each
                    self._named[base] = self._named[each[key]] = each
                elif isinstance(each.get(key), str):
                    self._anchors.setdefault(each[key][1:], []).append(each)
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(each.get(key), str):
                    self._anchors.setdefault(each[key], []).append(each)
            if base:
                self._base[id(each)] = base, root
            todo += [(item, base, root) for item in each.values() if isinstance(item, _CONTAINERS)]


_CONTAINERS = (Mapping, list, tuple)


def _stepped(value: Any, step: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, (list, tuple)) and step.isascii() and step.isdigit() and len(step) < 10:
        return value[int(step)] if int(step) < len(value) else None
    return None
