"""The checks of the server's parser, which runs before the validator and reports all of its
violations at once.

`parsed(...)` also returns the body in one spelling: camelCase keys, no `null`, lists in place of
bare objects, and nothing that was refused.
"""

from __future__ import annotations

import json
import math
from typing import Any

from wire.core.memory import WireStruct
from wire.errors import Violation
from wire.gemini.rules.fields import Field, known_to, one_of_groups, server_name
from wire.gemini.rules.words import WORDS, said
from wire.gemini.schema_values import TYPES
from wire.gemini.types import FunctionResponse, Part

_SHOWN = 200  # characters of a value that an error text quotes
_SCALARS = {
    "string": "TYPE_STRING",
    "bytes": "TYPE_BYTES",
    "int": "TYPE_INT32",
    "int64": "TYPE_INT64",
    "float": "TYPE_DOUBLE",
    "bool": "TYPE_BOOL",
    "enum": "TYPE_ENUM",
}
_PLAIN = frozenset({"string", "enum"})
_TYPES = frozenset({*TYPES, "TYPE_UNSPECIFIED"})


def parsed(
    value: Any,
    struct: type[WireStruct],
    host: str = "",
    version: str = "v1beta",
    ours: str = "",
    theirs: str = "",
) -> tuple[dict[str, Any], list[Violation]]:
    """The message in one spelling, and everything that the host's parser refuses in it. An empty
    `host` is an unknown one.

    >>> from wire.gemini.types import Content
    >>> value = {"parts": {"text": "Hi", "mood": 1}, "role": None}
    >>> print(parsed(value, Content, theirs="contents[0]", ours="contents[0]")[1][0].message)
    Invalid JSON payload received. Unknown name "mood" at 'contents[0].parts': Cannot find field.
    """
    walk = _Parser(host, version)
    return walk.message(value, struct, (None, ours, theirs) if ours or theirs else None), walk.found


def is_plain_result(part: Part) -> bool:
    """Whether a part is a function response of the usual form, in which the parser can refuse
    nothing.
    """
    response = part.function_response
    return (
        type(response) is FunctionResponse
        and type(response.response) is dict
        and type(response.name) is str
        and (response.id is None or type(response.id) is str)
        and not any(
            (
                response.parts,
                response.scheduling,
                response.will_continue,
                part.thought_signature,
                part.function_call,
            )
        )
        and (part.text, part.inline_data, part.file_data) == (None, None, None)
    )


def is_base64(text: str) -> bool:
    """Whether a text is base64 as the server accepts it: either alphabet, padded or not.

    Costs a few milliseconds for several megabytes.
    """
    if not text.isascii():
        return False
    packed = text.encode().translate(None, b" \t\r\n")
    data = packed.rstrip(b"=")
    return (
        len(data) % 4 != 1 and len(packed) - len(data) <= 2 and not data.translate(None, _ALPHABET)
    )


_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"


# The position of the walk: the enclosing position, and a step in our spelling and in the server's.
# Joining the steps to paths costs time, so it waits until something is refused, which is rare.
_At = tuple[Any, str, str] | None


def _paths(at: _At) -> tuple[str, str]:
    ours: list[str] = []
    theirs: list[str] = []
    while at is not None:
        at, one, other = at
        ours.append(one)
        theirs.append(other)
    return "".join(reversed(ours)).lstrip("."), "".join(reversed(theirs)).lstrip(".")


class _Parser:
    def __init__(self, host: str, version: str) -> None:
        self.host = host
        package = (
            "google.cloud.aiplatform.v1beta1"
            if host == "vertex"
            else f"google.ai.generativelanguage.{version}"
        )
        self.types = f"type.googleapis.com/{package}."
        self.found: list[Violation] = []

    def refuse(
        self, form: str, ours: str, theirs: str, severity: str = "error", **names: object
    ) -> None:
        row = WORDS[form]
        words = said(form, self.host, **names)
        self.found.append(
            Violation(
                ours,
                words,
                form.split()[0],
                severity,
                row.remedy,
                row.status,
                row.code,
                field=theirs,
                layer="parser",
            )
        )

    def key(self, form: str, key: str, at: _At, severity: str = "error") -> None:
        """Refuses a key of the message at `at`."""
        ours, theirs = _paths(at)
        position = f" at '{theirs}'" if theirs else ""
        path = f"{ours}.{key}" if ours else key
        self.refuse(form, path, theirs, severity, name=key, at=position)

    def value(self, form: str, kind: str, value: str, at: _At) -> None:
        """Refuses the value at `at`."""
        ours, theirs = _paths(at)
        self.refuse(form, ours, theirs, at=f"'{theirs}'", kind=kind, value=value)

    def twice(self, oneof: str, key: str, at: _At) -> None:
        """Refuses a field because another field of its one-of group is set."""
        ours, theirs = _paths(at)
        self.refuse(
            "G3",
            f"{ours}.{key}" if ours else key,
            theirs,
            at=f"'{theirs or 'request'}'",
            oneof=oneof,
            name=key,
        )

    def message(self, value: Any, struct: type[WireStruct], at: _At) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.value("G1 value", f"{self.types}{server_name(struct)}", shown(value), at)
            return {}
        known = known_to(self.host, struct)
        is_schema = struct.__name__ == "Schema"
        out: dict[str, Any] = {}
        for key, item in value.items():
            if item is None:  # the server reads null as absent, for every field
                continue
            field = known.get(key)
            if field is None:
                self.key("G38" if is_schema else "G1", str(key), at)
                continue
            if field.unverified and self.host == "gemini":
                self.key("G1", key, at, "warning")
            if field.name in out:
                self.twice(f"_{field.snake}", key, at)
            elif (field.kind == "string" and type(item) is str) or field.kind == "any":
                out[field.name] = item
            else:
                kept = self.field(item, field, key, is_schema, at)
                if kept is not None:
                    out[field.name] = kept
        for group, members in one_of_groups(struct).items():
            self.one_of(value, group, members, known, at)
        return out

    def one_of(
        self,
        value: dict[str, Any],
        group: str,
        members: frozenset[str],
        known: dict[str, Field],
        at: _At,
    ) -> None:
        """Refuse every field of a one-of group after the first (G3)."""
        given = [
            key
            for key in value
            if key in known and known[key].name in members and value[key] is not None
        ]
        for key in given[1:]:
            if known[key].name != known[given[0]].name:
                self.twice(group, key, at)

    def field(self, value: Any, field: Field, key: str, of_schema: bool, at: _At) -> Any:
        """The value in the one spelling, `None` if it was refused."""
        kind = field.kind
        here = (at, f".{field.name}", f".{field.snake}")
        if kind == "list":
            return self.items(value, field, of_schema, here)
        if isinstance(value, (list, tuple)) and not (kind == "object" and field.name == "response"):
            self.key("G39" if of_schema and field.name == "type" else "G1 list", key, at)
            return None
        if kind == "message":
            assert field.struct is not None
            return self.message(value, field.struct, here)
        if kind == "map":
            return self.entries(value, field, here)
        if kind == "object":
            if isinstance(value, dict):
                return value
            form = "G20" if field.name == "response" else "G1 value"
            self.value(form, "type.googleapis.com/google.protobuf.Struct", shown(value), here)
            return None
        if kind == "bytes" and isinstance(value, str):
            return self.bytes(
                value, "G25 base64" if field.name == "thoughtSignature" else "G65", here
            )
        if of_schema and field.name == "type":
            return self.type_of_schema(value, here)
        return self.scalar(value, kind, "G1 value", here)

    def items(self, value: Any, field: Field, of_schema: bool, at: _At) -> list[Any]:
        bare = not isinstance(
            value, (list, tuple)
        )  # the server reads one bare item as a list of it
        form = "G41 member" if of_schema and field.name == "enum" else "G1 value"
        out: list[Any] = []
        for index, item in enumerate([value] if bare else value):
            step = "" if bare else f"[{index}]"
            if field.struct is not None:
                out.append(self.message(item, field.struct, (at, step, step)))
            elif (field.item == "string" and type(item) is str) or field.item == "any":
                out.append(item)
            else:
                kept = self.scalar(item, field.item, form, (at, step, step))
                if kept is not None:
                    out.append(kept)
        return out

    def entries(self, value: Any, field: Field, at: _At) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.value("G1 value", "type.googleapis.com/google.protobuf.Struct", shown(value), at)
            return {}
        out: dict[str, Any] = {}
        for index, (key, item) in enumerate(value.items()):
            if item is None:
                continue
            here = (at, f".{key}", f"[{index}].value")
            kept = (
                self.scalar(item, field.item, "G1 value", here)
                if field.struct is None
                else self.message(item, field.struct, here)
            )
            if kept is not None:
                out[key] = kept
        return out

    def bytes(self, value: str, form: str, at: _At) -> str | None:
        if is_base64(value):
            return value
        # The head of a data: URL shows the mistake; the rest may be megabytes.
        quoted = value.partition(",")[0] if value.startswith("data:") else value
        self.value(form, "", _cut(quoted), at)
        return None

    def type_of_schema(self, value: Any, at: _At) -> Any:
        if (type(value) is int and 0 <= value <= len(TYPES)) or (
            isinstance(value, str) and value.upper() in _TYPES
        ):
            return value
        self.value("G40", f"{self.types}Type", shown(value), at)
        return None

    def scalar(self, value: Any, kind: str, form: str, at: _At) -> Any:
        if (isinstance(value, str) and kind in _PLAIN) or _fits(value, kind):
            return value
        quoted = "Starting an object on a scalar field" if isinstance(value, dict) else shown(value)
        self.value(form, _SCALARS[kind], quoted, at)
        return None


def _fits(value: Any, kind: str) -> bool:
    """Whether the parser accepts a value for a scalar of this kind: numbers also as text, enums
    also as numbers.
    """
    if kind == "bool":
        return isinstance(value, bool) or value in ("true", "false")
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, str))
        or kind in ("string", "bytes")
    ):
        return False
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return False
    return kind == "float" or (math.isfinite(number) and number == int(number))


def shown(value: Any) -> str:
    """A value as the server quotes it."""
    return _cut(json.dumps(value, ensure_ascii=False, default=str))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
