"""Settings that few hosts share, lowered to a wire by the rows of `wire.catalogue.settings`.

A host that lacks one gets what the policy of the row says, and a note reports it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, get_args

import msgspec

from wire.catalogue.settings import COLUMNS, Setting, setting
from wire.core.arguments import whole_number
from wire.core.errors import RuleError, Violation
from wire.core.memory import Note, WireStruct, notes, with_notes
from wire.core.provider import Provider
from wire.core.secret import quoted
from wire.neutral.request import FURTHER, Request

B = TypeVar("B", bound=WireStruct)

_WORDS = {"low": "Answer briefly.", "medium": "", "high": "Answer in detail."}
"""Verbosity -> the sentence of the system prompt, where the host has no such setting."""
_NO_THOUGHTS = (False, "omitted")


def with_further(
    request: Request,
    provider: Provider,
    model: str,
    render: Callable[[Request, str, Provider], B],
    refuses: Callable[[str, str, Any], bool] = lambda model, path, value: False,
    adapt: Callable[[B, dict[str, Any], list[Note]], B] = lambda built, paths, notes: built,
) -> B:
    """Return the body that `render` makes of the request, with its settings in `FURTHER`.

    `refuses` says whether the host refuses or ignores a value at a path for that model. `adapt`
    prepares the body for the values. Each setting that the host does not get as it was given leaves
    a note. Raises `RuleError` for a tier that no vendor has.
    """
    added: list[Note] = []
    plain, paths = _lowered(request, provider, functools.partial(refuses, model), added)
    rendered = render(msgspec.structs.replace(plain, **dict.fromkeys(FURTHER)), model, provider)
    built = adapt(rendered, paths, added)
    for path, value in paths.items():
        built = placed(built, path, value)
    return with_notes(built, (*notes(rendered), *added))


def _lowered(
    request: Request, provider: Provider, refuses: Callable[[str, Any], bool], notes: list[Note]
) -> tuple[Request, dict[str, Any]]:
    """Return the request with what is said in words, and path in the body -> value of the rest."""
    paths: dict[str, Any] = {}
    for name in FURTHER:
        value = getattr(request, name)
        if value is None:
            continue
        row, sent = setting(name), None
        path = row.path(provider.wire, provider.family) or ""
        if row.is_taken(provider.wire, provider.name):
            if row.type == "integer":
                whole_number(name, value, *row.bounds.get(COLUMNS[provider.wire], ()))
            sent = _sent(row, value, path, provider, notes)
            if name == "thoughts" and sent is None:
                continue  # nobody shows them unasked
        if sent is not None and not refuses(path, sent):
            paths[path] = sent
        elif words := _WORDS.get(str(value).lower()) if row.policy == "reword" else "":
            system = f"{request.system}\n\n{words}".strip()
            request = msgspec.structs.replace(request, system=system)
            notes.append(Note(name, f"sent as words in the system prompt: {_lacks(provider)}"))
        elif value is not False or name != "store":  # nothing to store
            notes.append(Note(name, f"not sent: {_lacks(provider)}"))
    return request, paths


def _lacks(provider: Provider) -> str:
    return f"{provider.name or 'this host'} takes no such setting for this model"


def _sent(row: Setting, value: Any, path: str, provider: Provider, notes: list[Note]) -> Any:
    """Return the value as the host spells it; `None` if it has no such value."""
    words = row.words(provider.wire, provider.family)
    if row.name == "metadata" and path.endswith(".user_id"):
        rest = [key for key in value if key != "user_id"]
        if rest and "user_id" in value:
            notes.append(Note("metadata", f"not sent: {', '.join(rest)}; only user_id is taken"))
        return value.get("user_id")
    if row.name == "thoughts":
        wanted = value not in _NO_THOUGHTS
        hidden = next((each for each in words if each in _NO_THOUGHTS), None)
        if not words:
            return wanted
        return value if value in words else words[0] if wanted else hidden
    if row.name == "tier":
        if not any(value in each for each in (*row.values.values(), *row.alike)):
            known = dict.fromkeys(word for each in row.values.values() for word in each)
            problem = f"expected {', '.join(known)}, not {quoted(value, 40)}"
            raise RuleError(violations=[Violation("tier", problem)])
        alike = next((each for each in row.alike if value in each), ())
        word = next((each for each in (value, *alike) if each in words), None)
        if word not in (None, value):
            notes.append(Note("tier", f"sent as {word}, the word of {provider.name}"))
        return word
    return value.lower() if row.name == "verbosity" else value


def placed(built: B, path: str, value: Any) -> B:
    """Return the body with a value at the path of a key; structs on the way are made if absent."""
    key, _, rest = path.partition(".")
    field = next(each for each in msgspec.structs.fields(built) if each.encode_name == key)
    if rest:
        kinds = (each for each in get_args(field.type) if hasattr(each, "__struct_fields__"))
        inner = getattr(built, field.name)
        value = placed(next(kinds)() if inner is None else inner, rest, value)
    return msgspec.structs.replace(built, **{field.name: value})
