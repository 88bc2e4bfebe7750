"""Decoders of msgspec, built by one thread at a time.

msgspec builds a table of the fields of a struct, dataclass, TypedDict or named tuple when a decoder
first meets the type. It publishes the table before it has filled it, and evaluates annotations in
between, which releases the GIL. A second thread that decodes the same type meanwhile reads the half
of the table that is still empty, and the interpreter ends with a segmentation fault (R-41);
`docs/upstream-msgspec.md` has a program that shows it.

Each function of msgspec that builds such tables is therefore called in this module only, under one
lock; a test forbids it elsewhere in `wire`. Encoding, `to_builtins` and `msgspec.structs` build
nothing. A table is built at first use, not at import: those of one wire take several milliseconds.

No module may call these functions at import. A thread that imports holds the lock of a module, and
a thread that builds may import one to evaluate an annotation: each would wait for the other.
"""

from __future__ import annotations

import base64
import functools
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from wire.core.forks import fork_waits_for

_building = threading.RLock()  # reentrant: evaluating an annotation may build another type

# A child has no thread that could fill a table that was half built when it was forked.
fork_waits_for(_building)


@functools.cache
def decoder(kind: Any, *, strict: bool = True) -> msgspec.json.Decoder[Any]:
    """Return the JSON decoder of a type of this library; it is built once.

    >>> decoder(list[int]).decode(b"[1, 2]")
    [1, 2]
    """
    with _building:
        return msgspec.json.Decoder(kind, strict=strict)


def convert(value: Any, kind: Any, *, strict: bool = True) -> Any:
    """Convert plain values to a type of this library, as `msgspec.convert`."""
    decoder(kind)
    return msgspec.convert(value, kind, strict=strict)


def from_base64(text: str) -> bytes:
    """Decode base64 in the standard alphabet. Raises `ValueError` for another text.

    >>> from_base64("SGk=")
    b'Hi'
    """
    try:
        # Five times as fast as the standard library, which reads a few forms more.
        return msgspec.convert(text, bytes)
    except msgspec.ValidationError:
        return base64.b64decode(text, validate=True)


def converter(kind: Any, read_other: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return `msgspec.convert` for a type of the user's, and drop it when the user drops the type.

    `read_other(kind, value)` reads the types that msgspec does not know. Raises `TypeError` or
    `ValueError` for a type that cannot be read from JSON.
    """
    _build(kind)
    return functools.partial(msgspec.convert, type=kind, str_keys=True, dec_hook=read_other)


def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a type, with each description on one line.

    Calls `msgspec.json.schema`, which builds tables too.
    """
    _build(kind)
    schema = msgspec.json.schema(kind)
    for part in schema.get("$defs", {}).values():
        if "description" in part:  # a docstring, with the line breaks of its source
            part["description"] = " ".join(part["description"].split())
    return schema


def schema_components(
    kind: Any,
    schema_hook: Callable[[Any], dict[str, Any]],
    ref_template: str,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of one type and the schemas that it refers to.

    Calls `msgspec.json.schema_components`, which builds tables too.
    """
    _build(kind)
    (schema,), components = msgspec.json.schema_components(
        [kind],
        schema_hook=schema_hook,
        ref_template=ref_template,
    )
    return schema, components


def _build(kind: Any) -> None:
    """Build all tables of a type. Hooks of the user's are not run, so none runs under the lock."""
    with _building:
        msgspec.json.Decoder(kind)
