"""Numbers and metadata outside the limits of OpenAI's own API, by the rows of the settings.

Message texts are the server's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wire.catalogue.settings import COLUMNS, setting, table

Problem = tuple[str, str, str]
"""Path, the server's message, its code."""


@functools.cache
def _bounds(wire: str) -> tuple[tuple[str, str, int | None, int | None], ...]:
    """Return path, kind, minimum and maximum of each number that has bounds on a wire."""
    kinds = {"number": "decimal", "integer": "integer"}
    return tuple(
        (path, kinds[row.type], *row.bounds[COLUMNS[wire]])
        for row in table().settings
        if (path := row.path(wire)) and row.type in kinds and COLUMNS[wire] in row.bounds
    )


def numbers_out_of_range(wire: str, value_of: Callable[[str], Any]) -> Iterator[Problem]:
    """Yield a problem for each number that OpenAI refuses; `value_of` returns that at a path.

    >>> [problem] = numbers_out_of_range("openai", {"temperature": 3}.get)
    >>> problem[1]
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead."
    """
    for path, kind, least, most in _bounds(wire):
        number = value_of(path)
        if not isinstance(number, (int, float)):
            continue
        if (least is not None and number < least) or (most is not None and number > most):
            yield from number_out_of_range(path, number, kind, least, most)


def number_out_of_range(
    path: str, number: Any, kind: str, least: float | None, most: float | None
) -> Iterator[Problem]:
    """Yield a problem for a number outside its bounds; `kind` is `integer` or `decimal`."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return
    if least is not None and number < least:
        side, limit = "below min", f">= {least}"
    elif most is not None and number > most:
        side, limit = "above max", f"<= {most}"
    else:
        return
    expected = f"Expected a value {limit}, but got {number} instead."
    code = f"{kind}_{side.replace(' ', '_')}_value"
    yield path, f"Invalid '{path}': {kind} {side}imum value. {expected}", code


def text_too_long(path: str, text: str, most: int) -> Iterator[Problem]:
    """Yield a problem for a text with more characters than `most`."""
    if len(text) > most:
        message = (
            f"Invalid '{path}': string too long. Expected a string with maximum length "
            f"{most}, but got a string with length {len(text)} instead."
        )
        yield path, message, "string_above_max_length"


def metadata_problems(metadata: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each breach of the limits of metadata, in characters and entries."""
    most = setting("metadata").most
    if len(metadata) > most["count"]:
        message = (
            "Invalid 'metadata': too many properties. Expected an object with at most "
            f"{most['count']} properties, but got an object with {len(metadata)} "
            "properties instead."
        )
        yield "metadata", message, "object_above_max_properties"
    for key, value in metadata.items():
        path = f"metadata.{key}"
        if len(key) > most["key"]:
            message = (
                f"Invalid property name in 'metadata': '{key}' is too long. Expected a string with "
                f"maximum length {most['key']}, but got a string with length {len(key)} instead."
            )
            yield path, message, "string_above_max_length"
        if not isinstance(value, str):
            found = json_type(value)
            message = f"Invalid type for '{path}': expected a string, but got {found} instead."
            yield path, message, "invalid_type"
        else:
            yield from text_too_long(path, value, most["value"])


def json_type(value: Any) -> str:
    """Return the server's words for the JSON type of a value.

    >>> json_type(None), json_type(1.5), json_type([])
    ('null', 'a decimal', 'an array')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    for type, name in _TYPE_NAMES:
        if isinstance(value, type):
            return name
    return "an unknown value"


_TYPE_NAMES: tuple[tuple[type[Any] | tuple[type[Any], ...], str], ...] = (
    (str, "a string"),
    (int, "an integer"),
    (float, "a decimal"),
    ((list, tuple), "an array"),
    (Mapping, "an object"),
)
