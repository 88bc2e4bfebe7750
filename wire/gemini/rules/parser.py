"""The checks of the server's parser. On the server it runs before the validator, and reports all
of its violations at once.

`parsed(...)` also returns the body in one spelling: camelCase keys, no `null`, lists in place of
bare objects, without the refused fields. The other rules read only this spelling.
"""

from __future__ import annotations

import json
import math
from types import NoneType
from typing import Any

import msgspec

from wire.core.errors import Violation
from wire.core.memory import EXTRA_KEY, WireStruct, raw_of
from wire.gemini.rules.fields import Field, known_to, one_of_groups, server_name
from wire.gemini.rules.words import WORDS, server_text
from wire.gemini.schema_values import TYPES
from wire.gemini.types import FunctionCall, FunctionResponse, Part

_MAX_QUOTED_CHARACTERS = 200
"""Longer values are cut in error texts."""

_SCALAR_TYPES = {
    "string": "TYPE_STRING",
    "bytes": "TYPE_BYTES",
    "int": "TYPE_INT32",
    "int64": "TYPE_INT64",
    "float": "TYPE_DOUBLE",
    "bool": "TYPE_BOOL",
    "enum": "TYPE_ENUM",
}
_TEXT_KINDS = frozenset({"string", "enum"})
_TYPES = frozenset({*TYPES, "TYPE_UNSPECIFIED"})


def parsed(
    value: Any,
    struct: type[WireStruct],
    host: str = "",
    version: str = "v1beta",
    path: str = "",
    server_path: str = "",
) -> tuple[dict[str, Any], list[Violation]]:
    """Parse the message; return it in one spelling, with the violations that the host's parser
    reports.

    `path` and `server_path` are the position of the message, in camelCase and in the server's
    spelling. An empty `host` is an unknown one.

    >>> from wire.gemini.types import Content
    >>> value = {"parts": {"text": "Hi", "mood": 1}, "role": None}
    >>> plain, [violation] = parsed(
    ...     value, Content, path="contents[0]", server_path="contents[0]"
    ... )
    >>> plain
    {'parts': [{'text': 'Hi'}]}
    >>> print(violation.message)
    Invalid JSON payload received. Unknown name "mood" at 'contents[0].parts': Cannot find field.
    """
    parser = _Parser(host, version)
    at = (None, path, server_path) if path or server_path else None
    return parser.message(value, struct, at), parser.violations


def is_text(part: object) -> bool:
    """Return whether a part has a text and no other field, and was not received."""
    return (
        type(part) is Part
        and type(part.text) is str
        and _fields_of(part).count(None) == _OTHER_FIELDS
        and raw_of(part) is None
    )


_fields_of = msgspec.structs.astuple
_OTHER_FIELDS = len(Part.__struct_fields__) - 1


def is_plain(part: Part) -> bool:
    """Return whether a part is a text, a function call or a function response of the usual form, in
    which the parser of each host finds no violations.

    Such a part need not be converted to plain JSON.
    """
    if is_text(part):
        return True
    call, response, signature = part.function_call, part.function_response, part.thought_signature
    usual: FunctionCall | FunctionResponse
    if response is not None:
        if type(response) is not FunctionResponse or type(response.response) is not dict:
            return False
        usual = FunctionResponse(name=response.name, response=response.response, id=response.id)
        same = part == Part(function_response=usual)
    else:
        if type(call) is not FunctionCall or type(call.args) not in (dict, NoneType):
            return False
        if signature is not None and not (type(signature) is str and is_base64(signature)):
            return False
        usual = FunctionCall(name=call.name, args=call.args, id=call.id)
        same = part == Part(function_call=usual, thought_signature=signature)
    return same and type(usual.name) is str and type(usual.id) in (str, NoneType)


def is_base64(text: str) -> bool:
    """Return whether a text is base64 as the server accepts it: either alphabet, padded or not.

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


# A position in the body, as a linked list: the enclosing position, and one step in camelCase and in
# the server's spelling. The steps are joined to paths only for a violation, which is rare: most
# bodies have none, and need no path of any field.
_At = tuple[Any, str, str] | None


def _paths(at: _At) -> tuple[str, str]:
    """Return the path of a position in camelCase, and in the server's spelling."""
    steps: list[str] = []
    server_steps: list[str] = []
    while at is not None:
        at, step, server_step = at
        steps.append(step)
        server_steps.append(server_step)
    return "".join(reversed(steps)).lstrip("."), "".join(reversed(server_steps)).lstrip(".")


class _Parser:
    """Walks through one message. Each method returns its value in one spelling, and adds to
    `violations`.
    """

    def __init__(self, host: str, version: str) -> None:
        self.host = host
        package = (
            "google.cloud.aiplatform.v1beta1"
            if host == "vertex"
            else f"google.ai.generativelanguage.{version}"
        )
        self.types = f"type.googleapis.com/{package}."
        self.violations: list[Violation] = []

    def refuse(
        self, form: str, path: str, server_path: str, severity: str = "error", **names: object
    ) -> None:
        """Add a violation. `names` fill the braces in the server's words."""
        row = WORDS[form]
        words = server_text(form, self.host, **names)
        self.violations.append(
            Violation(
                path,
                words,
                form.split()[0],
                severity,
                row.remedy,
                row.status,
                row.code,
                field=server_path,
                layer="parser",
            )
        )

    def key(self, form: str, key: str, at: _At, severity: str = "error") -> None:
        """Refuse a key of the message at `at`."""
        path, server_path = _paths(at)
        position = f" at '{server_path}'" if server_path else ""
        path = f"{path}.{key}" if path else key
        self.refuse(form, path, server_path, severity, name=key, at=position)

    def value(self, form: str, kind: str, value: str, at: _At) -> None:
        """Refuse the value at `at`."""
        path, server_path = _paths(at)
        self.refuse(form, path, server_path, at=f"'{server_path}'", kind=kind, value=value)

    def duplicate(self, oneof: str, key: str, at: _At) -> None:
        """Refuse a field because another field of its one-of group is set (G3)."""
        path, server_path = _paths(at)
        self.refuse(
            "G3",
            f"{path}.{key}" if path else key,
            server_path,
            at=f"'{server_path or 'request'}'",
            oneof=oneof,
            name=key,
        )

    def message(self, value: Any, struct: type[WireStruct], at: _At) -> dict[str, Any]:
        """Parse the fields of a message."""
        if not isinstance(value, dict):
            self.value("G1 value", f"{self.types}{server_name(struct)}", shown(value), at)
            return {}
        known = known_to(self.host, struct)
        is_schema = struct.__name__ == "Schema"
        out: dict[str, Any] = {}
        for key, item in value.items():
            # The server reads null as absent, for every field. Extra keys are for it to judge.
            if item is None or key == EXTRA_KEY:
                continue
            field = known.get(key)
            if field is None:
                self.key("G38" if is_schema else "G1", str(key), at)
                continue
            if field.unverified and self.host == "gemini":
                self.key("G1", key, at, "warning")
            # The server treats the two spellings of a field as a one-of group.
            if field.name in out:
                self.duplicate(f"_{field.snake}", key, at)
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
        """Refuse every field of a one-of group after the first one (G3)."""
        given = [
            key
            for key in value
            if key in known and known[key].name in members and value[key] is not None
        ]
        for key in given[1:]:
            if known[key].name != known[given[0]].name:
                self.duplicate(group, key, at)

    def field(self, value: Any, field: Field, key: str, of_schema: bool, at: _At) -> Any:
        """Parse the value of a field; return `None` if it was refused."""
        kind = field.kind
        position = (at, f".{field.name}", f".{field.snake}")
        if kind == "list":
            return self.items(value, field, of_schema, position)
        if isinstance(value, (list, tuple)) and not (kind == "object" and field.name == "response"):
            self.key("G39" if of_schema and field.name == "type" else "G1 list", key, at)
            return None
        if kind == "message":
            assert field.struct is not None
            return self.message(value, field.struct, position)
        if kind == "map":
            return self.entries(value, field, position)
        if kind == "object":
            if isinstance(value, dict):
                return value
            form = "G20" if field.name == "response" else "G1 value"
            self.value(form, "type.googleapis.com/google.protobuf.Struct", shown(value), position)
            return None
        if kind == "bytes" and isinstance(value, str):
            return self.bytes(
                value, "G25 base64" if field.name == "thoughtSignature" else "G65", position
            )
        if of_schema and field.name == "type":
            return self.type_of_schema(value, position)
        return self.scalar(value, kind, "G1 value", position)

    def items(self, value: Any, field: Field, of_schema: bool, at: _At) -> list[Any]:
        """Parse the items of a list. The server reads a bare item as a list with this item."""
        bare = not isinstance(value, (list, tuple))
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
        """Parse the entries of a map.

        The server's path names an entry by its index, not by its key.
        """
        if not isinstance(value, dict):
            self.value("G1 value", "type.googleapis.com/google.protobuf.Struct", shown(value), at)
            return {}
        out: dict[str, Any] = {}
        for index, (key, item) in enumerate(value.items()):
            if item is None:
                continue
            position = (at, f".{key}", f"[{index}].value")
            kept = (
                self.scalar(item, field.item, "G1 value", position)
                if field.struct is None
                else self.message(item, field.struct, position)
            )
            if kept is not None:
                out[key] = kept
        return out

    def bytes(self, value: str, form: str, at: _At) -> str | None:
        """Parse a base64 text (G25, G65)."""
        if is_base64(value):
            return value
        # The head of a data: URL shows the mistake; the rest may be megabytes.
        quoted = value.partition(",")[0] if value.startswith("data:") else value
        self.value(form, "", _cut(quoted), at)
        return None

    def type_of_schema(self, value: Any, at: _At) -> Any:
        """Parse the type of a Schema node: a name in any case, or its number in the proto (G40)."""
        if (type(value) is int and 0 <= value <= len(TYPES)) or (
            isinstance(value, str) and value.upper() in _TYPES
        ):
            return value
        self.value("G40", f"{self.types}Type", shown(value), at)
        return None

    def scalar(self, value: Any, kind: str, form: str, at: _At) -> Any:
        """Return a scalar, unchanged."""
        if (isinstance(value, str) and kind in _TEXT_KINDS) or _fits(value, kind):
            return value
        quoted = "Starting an object on a scalar field" if isinstance(value, dict) else shown(value)
        self.value(form, _SCALAR_TYPES[kind], quoted, at)
        return None


def _fits(value: Any, kind: str) -> bool:
    """Return whether the parser accepts a value for a scalar of this kind: numbers also as text,
    enums also as numbers.
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
    """Format a value as the server quotes it."""
    return _cut(json.dumps(value, ensure_ascii=False, default=str))


def _cut(text: str) -> str:
    limit = _MAX_QUOTED_CHARACTERS
    return text if len(text) <= limit else f"{text[:limit]}..."
