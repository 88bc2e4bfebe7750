"""Encodes the body of a request and checks it by decoding it again.

msgspec's structs do not check the types of their fields. The body is therefore decoded with the
same types before it is sent. Received messages were checked when they were decoded, and plain texts
need no decoding, so a long history costs little.
"""

from __future__ import annotations

import json
import operator
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

import msgspec

from wire.core.decoders import convert, decoder
from wire.core.errors import RuleError, Violation
from wire.core.json_values import checked, expands, is_deep
from wire.core.memory import WireStruct, encode, remember, unknown

T = TypeVar("T", bound=WireStruct)


def wrong_type(path: str, value: object, expected: str) -> RuleError:
    """Build the error for an argument of a wrong type."""
    return RuleError(
        violations=[Violation(path, f"expected a {expected}, not {type(value).__name__}")]
    )


def unstreamed(request: Any, kind: type[msgspec.Struct], streamed_by: str) -> RuleError:
    """Build the error for a request that a call which does not stream cannot send.

    It is of another type than `kind`, or it asks for a stream: `streamed_by` is the call that does.
    """
    if not isinstance(request, kind):
        return wrong_type("request", request, kind.__name__)
    remedy = f"use {streamed_by}(request)"
    return RuleError(violations=[Violation("stream", "this call does not stream", remedy=remedy)])


def merged_options(
    options: Mapping[str, Mapping[str, Any]], names: Iterable[str], built: WireStruct
) -> dict[str, Any]:
    """Merge the options under these names: further keys of the body.

    Later names take precedence over earlier ones, and all over `built`. Two objects under one key,
    such as `generationConfig`, are merged key by key. Raises `RuleError` for
    options that are not a mapping.
    """
    merged: dict[str, Any] = {}
    fields = dict(zip(built.__struct_encode_fields__, built.__struct_fields__, strict=True))
    for name in names:
        extra = options.get(name, {})
        if not isinstance(extra, Mapping):
            raise wrong_type(f"options.{name}", extra, "mapping")
        for key, value in extra.items():
            before = merged.get(key)
            if before is None and isinstance(value, Mapping) and key in fields:
                before = msgspec.to_builtins(getattr(built, fields[key]))
            merged[key] = (
                {**before, **value}
                if isinstance(before, Mapping) and isinstance(value, Mapping)
                else value
            )
    return merged


def with_options(built: T, options: Mapping[str, Any]) -> T:
    """Return the request that the rules check, with the options in its fields.

    An option whose value does not have the type of its field is left out: the server judges it.
    """
    if options.keys().isdisjoint(built.__struct_encode_fields__):
        return built  # `structs.fields` evaluates every annotation anew, which takes 0.4 ms
    known = {}
    for field in msgspec.structs.fields(built):
        if field.encode_name in options:
            try:
                known[field.name] = convert(options[field.encode_name], field.type)
            except msgspec.ValidationError:
                continue
    return msgspec.structs.replace(built, **known) if known else built


def unknown_keys(
    options: Mapping[str, Any], kind: type[msgspec.Struct], path: str = ""
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the path of each key, at any depth, that a struct and the structs in it do not have,
    with the keys that it has.

    Items of lists are left to the server.
    """
    keys = kind.__struct_encode_fields__
    types_of = {each.encode_name: each.type for each in msgspec.structs.fields(kind)}
    for key, value in options.items():
        if key not in types_of:
            yield path + key, keys
        elif isinstance(value, Mapping):
            inner = get_args(types_of[key]) or (types_of[key],)
            for each in inner:
                if isinstance(each, type) and issubclass(each, msgspec.Struct):
                    yield from unknown_keys(value, each, f"{path}{key}.")


def texts_only(cls: type[WireStruct], *names: str) -> Callable[..., bool]:
    """Make a test of structs of a class: only the fields `names` have texts, and no other is set.

    Most messages of a long history are such structs. The types of their fields are then right, and
    encoding refuses the only texts that JSON cannot represent, those with lone surrogates. The
    second argument of the test is a number of fields that the caller has checked.
    """
    fields_of, named = msgspec.structs.astuple, operator.attrgetter(*names)
    count = len(cls.__struct_fields__)
    assert fields_of(cls()).count(None) == count, "each field is `None` by default"

    def has_texts_only(struct: Any, checked: int = 0) -> bool:
        texts = list(map(type, named(struct))).count(str)
        return texts + checked + fields_of(struct).count(None) == count

    return has_texts_only


def _as_read(turn: object, read: Any) -> Any:
    return read


def decoded_body(
    body: bytes | Mapping[str, Any], kind: type[T]
) -> tuple[T | None, list[Violation]]:
    """Decode the body of a request, as bytes or as decoded JSON, for the rules of its wire.

    Returns the struct, and a warning for each key that the reference lacks. Without a struct, the
    violation says why the body is not such a request.
    """
    try:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        struct = remember(decoder(kind).decode(data), data)
    except msgspec.ValidationError as cause:
        message, _, path = str(cause).partition(" - at `$")
        return None, [Violation(path.strip("`."), message)]
    except (TypeError, ValueError, RecursionError) as cause:
        return None, [Violation("", f"the body is not JSON: {cause}")]
    return struct, [
        Violation(path, "not a key of the reference", severity="warning")
        for path, _ in unknown(struct)
    ]


def checked_body(
    request: T,
    turns: str = "",
    is_sound: Callable[[object], bool] = bool,
    recognised: Callable[[object, Any], Any] = _as_read,
    unsure: Sequence[int] | None = None,
) -> tuple[bytes, T]:
    """Return the request as JSON, and the request decoded from that JSON.

    `turns` names the field with the list of messages. Items for which `is_sound` is true are not
    decoded again; a caller that has looked at all items gives the indexes of the others as
    `unsure`. For these, `recognised` gets the item and its decoded form, and returns the one to put
    into the result. Raises `RuleError` with the JSON path of a value of a wrong type, or one that
    JSON cannot represent.
    """
    items = getattr(request, turns, None) if turns else None
    if not isinstance(items, (list, tuple)):
        items = []
    if unsure is None:
        unsure = [index for index, item in enumerate(items) if not is_sound(item)]
    uncertain = (
        msgspec.structs.replace(request, **{turns: [items[index] for index in unsure]})
        if items
        else request
    )
    rest = _flat(uncertain) if items and not unsure else None
    try:
        if rest is None and expands((uncertain,)):
            checked(request)
        body = encode(request)
    except (TypeError, ValueError, OverflowError, RecursionError) as cause:
        checked(request)
        raise RuleError(
            violations=[Violation("", f"JSON cannot represent this: {cause}")]
        ) from None
    if rest is not None:
        # A list of its own: the caller may change the request's.
        return body, msgspec.structs.replace(rest, **{turns: list(items)})
    problem: Exception | None = None
    unchanged = False
    read = uncertain
    try:
        data = encode(uncertain)
        read = decoder(type(request)).decode(data)
        # msgspec encodes NaN as null, and bytes as text, which decode to other values.
        unchanged = read == uncertain and not is_deep(data)
    except (ValueError, RecursionError) as cause:
        problem = cause
    if not unchanged:
        try:
            checked(uncertain)
        except RuleError as error:
            raise RuleError(
                violations=[
                    msgspec.structs.replace(each, path=_original_path(each.path, turns, unsure))
                    for each in error.violations
                ]
            ) from None
    if problem:
        message, _, path = str(problem).partition(" - at `$")
        path = _original_path(path.strip("`."), turns, unsure)
        raise RuleError(violations=[Violation(path, message)])
    if not items:
        return body, read
    inner = dict(zip(unsure, getattr(read, turns, ()), strict=True))
    items = [
        recognised(item, inner[index]) if index in inner else item
        for index, item in enumerate(items)
    ]
    return body, msgspec.structs.replace(read, **{turns: items})


_FLAT = frozenset({types.NoneType, str, int, float, bool, list})


def _flat(request: T) -> T | None:
    """Decode a request without messages from its JSON, if it has only texts and numbers.

    Returns `None` for any other request, and for a value of a wrong type. Most requests have a
    model and a few numbers. None of these is nested, so their depth and size need no check.
    """
    kinds = list(map(type, msgspec.structs.astuple(request)))
    if kinds.count(list) != 1 or not _FLAT.issuperset(kinds):  # the list of the messages
        return None
    try:
        read = decoder(type(request)).decode(msgspec.json.encode(request))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None  # the full check finds the path of the wrong value
    return read if read == request else None  # msgspec encodes NaN as null


def _original_path(path: str, turns: str, indexes: Sequence[int]) -> str:
    """Convert a path into the decoded items, whose original indexes are `indexes`."""
    if not indexes:
        return path
    return re.sub(
        rf"{turns}\[(\d+)\]", lambda match: f"{turns}[{indexes[int(match[1])]}]", path, count=1
    )
