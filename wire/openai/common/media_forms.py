"""The fields and files of the forms of images and sound."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.core.errors import RuleError, Violation
from wire.core.memory import encode
from wire.core.multipart import FormFile, Value
from wire.neutral.data_source import DataSource
from wire.neutral.media_types import MEDIA_TYPES, media_type_of
from wire.openai.common.types.base import OpenAIStruct


def form_fields(
    request: OpenAIStruct, lists: str = "brackets"
) -> dict[str, Value | Sequence[Value]]:
    """Return the fields of a request as those of a form, as the vendors' own clients write them.

    With `lists="brackets"` the items of a list are `name[]` and the values of an object
    `name[key]`. With `lists="repeated"` the name of a list is repeated, and an object is JSON.
    """
    fields: dict[str, Value | Sequence[Value]] = {}
    for name, value in msgspec.json.decode(encode(request)).items():
        for path, each in _bracketed(name, value) if lists == "brackets" else ((name, value),):
            fields[path] = [_text(item) for item in each] if isinstance(each, list) else _text(each)
    return fields


def _bracketed(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _bracketed(f"{name}[{key}]", each)
    else:
        yield f"{name}[]" if isinstance(value, list) else name, value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def upload(
    field: str, data: Any, filename: str = "", media_type: str = "", size: int | None = None
) -> FormFile:
    """Build the field of a file. Servers need a name whose ending says what the file is.

    Raises `RuleError` for a file that cannot be read, and for one without a name whose first bytes
    do not tell its type.
    """
    source = DataSource(data, size)
    kind = media_type or source.media_type
    opened = getattr(data, "name", "")
    name = filename or source.name or (os.path.basename(opened) if isinstance(opened, str) else "")
    name = name or next((field + end for end, each in MEDIA_TYPES.items() if each == kind), "")
    if not name:
        told = "required: neither a path nor the first bytes tell what the file is"
        raise RuleError(violations=[Violation("filename", told)])
    return FormFile(source, name, kind or media_type_of(name) or "application/octet-stream")
