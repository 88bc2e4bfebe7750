"""A request as the bytes of its body, read back to see that they say what the types allow.

Structs do not check what they are given, so what was built here is read back with the same types
before anything is sent. What came from the wire was read when it came, and plain texts are seen to
be texts: of a long history little is left to read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from wire.core.decoders import convert, decoder
from wire.core.json_values import checked, is_deep
from wire.core.memory import WireStruct, encode
from wire.errors import RuleError, Violation

T = TypeVar("T", bound=WireStruct)


def wrong_type(path: str, value: object, wanted: str) -> RuleError:
    """The error for an argument that is something else altogether."""
    return RuleError(
        violations=[Violation(path, f"a {wanted} is wanted, not {type(value).__name__}")]
    )


def merged_options(
    options: Mapping[str, Mapping[str, Any]], provider: str, built: WireStruct
) -> dict[str, Any]:
    """Further keys of the body for this provider: those of its region go before those of its name,
    and both before what was built.

    Where both are objects, such as `generationConfig`, they are put together key by key. Raises
    `RuleError` for what is no mapping.
    """
    merged: dict[str, Any] = {}
    names = dict(zip(built.__struct_encode_fields__, built.__struct_fields__, strict=True))
    for name in dict.fromkeys((provider.partition("@")[0], provider)):
        found = options.get(name, {})
        if not isinstance(found, Mapping):
            raise wrong_type(f"options.{name}", found, "mapping")
        for key, value in found.items():
            before = merged.get(key)
            if before is None and isinstance(value, Mapping) and key in names:
                before = msgspec.to_builtins(getattr(built, names[key]))
            merged[key] = (
                {**before, **value}
                if isinstance(before, Mapping) and isinstance(value, Mapping)
                else value
            )
    return merged


def with_options(built: T, options: Mapping[str, Any]) -> T:
    """The request that the rules look at; what an option says in a way that no field allows is the
    server's to judge.
    """
    known = {}
    for field in msgspec.structs.fields(built):
        if field.encode_name in options:
            try:
                known[field.name] = convert(options[field.encode_name], field.type)
            except msgspec.ValidationError:
                continue
    return msgspec.structs.replace(built, **known) if known else built


def _as_read(turn: object, read: Any) -> Any:
    return read


def checked_body(
    request: T,
    turns: str = "",
    is_sound: Callable[[object], bool] = bool,
    recognised: Callable[[object, Any], Any] = _as_read,
) -> tuple[bytes, T]:
    """The request as JSON, and as what the JSON says.

    `turns` names the field with the long list. Items that `is_sound` are not read back;
    `recognised` makes of one that was, and of what was read, what is looked at. Raises `RuleError`
    with the JSON path of what its type does not allow, or JSON cannot say.
    """
    items = getattr(request, turns, None) if turns else None
    if not isinstance(items, (list, tuple)):
        items = []
    places = [index for index, item in enumerate(items) if not is_sound(item)]
    try:
        body = encode(request)
    except (TypeError, ValueError, OverflowError, RecursionError) as cause:
        checked(request)
        raise RuleError(violations=[Violation("", f"JSON cannot say this: {cause}")]) from None
    unsure = (
        msgspec.structs.replace(request, **{turns: [items[index] for index in places]})
        if items
        else request
    )
    problem: Exception | None = None
    unchanged = False
    read = unsure
    try:
        data = encode(unsure)
        read = decoder(type(request)).decode(data)
        # msgspec writes NaN as null, and bytes as text: what is read back is then another value.
        unchanged = read == unsure and not is_deep(data)
    except (ValueError, RecursionError) as cause:
        problem = cause
    if not unchanged:
        try:
            checked(unsure)
        except RuleError as error:
            raise RuleError(
                violations=[
                    msgspec.structs.replace(each, path=_placed(each.path, turns, places))
                    for each in error.violations
                ]
            ) from None
    if problem:
        message, _, path = str(problem).partition(" - at `$")
        raise RuleError(violations=[Violation(_placed(path.strip("`."), turns, places), message)])
    if not items:
        return body, read
    inner = dict(zip(places, getattr(read, turns, ()), strict=True))
    items = [
        recognised(item, inner[index]) if index in inner else item
        for index, item in enumerate(items)
    ]
    return body, msgspec.structs.replace(read, **{turns: items})


def _placed(path: str, turns: str, places: list[int]) -> str:
    """A path into the items that were read back, as one into all of them."""
    if not places:
        return path
    return re.sub(
        rf"{turns}\[(\d+)\]", lambda found: f"{turns}[{places[int(found[1])]}]", path, count=1
    )
