"""Settings that few hosts share, lowered to a wire by the rows of `wire.catalogue.settings`.

A host that lacks one gets what the policy of the row says, and a note reports it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from wire.catalogue.settings import COLUMNS, Setting, setting, shared
from wire.core.arguments import whole_number
from wire.core.errors import RuleError, Violation
from wire.core.memory import Note, WireStruct, notes, with_notes
from wire.core.provider import Provider
from wire.core.secret import quoted
from wire.neutral.request import FURTHER, Request
from wire.neutral.unread import Unread, struct_in

B = TypeVar("B", bound=WireStruct)

_WORDS = {"low": "Answer briefly.", "medium": "", "high": "Answer in detail."}
"""Verbosity -> the sentence of the system prompt, where the host has no such setting."""
_NO_THOUGHTS = (False, "omitted")


def with_further(
    request: Request,
    provider: Provider,
    model: str,
    render: Callable[[Request, str, Provider], B],
    check: Callable[[B, str, Provider], list[Violation]],
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
    if request.settings:

        def errors(body: B) -> list[Violation]:
            return [each for each in check(body, model, provider) if each.severity == "error"]

        built, replaced = _with_settings(built, request, provider, errors, added)
        added = [*(each for each in notes(rendered) if each.path not in replaced), *added]
        return with_notes(built, added)
    return with_notes(built, (*notes(rendered), *added))


def _with_settings(
    built: B,
    request: Request,
    provider: Provider,
    errors: Callable[[B], list[Violation]],
    notes: list[Note],
) -> tuple[B, list[str]]:
    """Return the body with the settings that its host and its model take, and the names of those
    that they replace; note the others.
    """
    before, replaced = errors(built), list[str]()
    for key, value in (request.settings or {}).items():
        row = shared()[key]
        sent = _with_setting(built, row, value, provider)
        like = _with_setting(built, setting(row.like), 1, provider) if row.like else None
        found = [error for each in (sent, like) if each is not None for error in errors(each)]
        if sent is not None and all(each in before for each in found):
            built = sent
            replaced.append(row.replaces)
        elif row.replaces and getattr(request, row.replaces):
            words = f"{value} is sent as the {row.replaces} {getattr(request, row.replaces)}"
            notes.append(Note(key, f"{words}: {_lacks(provider)}"))
        elif value != row.default:
            notes.append(Note(key, f"not sent: {_lacks(provider)}"))
    return built, replaced


def _with_setting(built: B, row: Setting, value: Any, provider: Provider) -> B | None:
    """Return the body with one setting; `None` for a host that does not have it."""
    path = row.path(provider.wire, provider.family)
    if not path or not row.is_taken(provider.wire, provider.name):
        return None
    other = setting(row.replaces).path(provider.wire, provider.family) if row.replaces else None
    if other and value_at(built, other) is not None:
        built = placed(built, other, None)
    given = not value if COLUMNS[provider.wire] in row.inverse else value
    return placed(built, path, given)


def value_at(built: Any, path: str) -> Any:
    """Return the value at the path of a key; `None` if it is absent."""
    for key in path.split("."):
        if built is not None:
            names = dict(zip(built.__struct_encode_fields__, built.__struct_fields__, strict=True))
            built = getattr(built, names[key])
    return built


_EFFORT_TOKENS = {"minimal": 1024, "low": 2048, "medium": 10_240, "high": 24_576}
"""The largest thinking budget of each effort, by the vendors' own tables; more is `xhigh`."""


def effort_of(budget: int) -> str:
    """Return the effort that a thinking budget in tokens means.

    >>> [effort_of(tokens) for tokens in (0, 512, 9000, 32_000)]
    ['none', 'minimal', 'medium', 'xhigh']
    """
    if budget <= 0:
        return "none"
    return next((name for name, most in _EFFORT_TOKENS.items() if budget <= most), "xhigh")


_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "bool": (bool,),
    "text": (str,),
}


def effort_and_settings(given: Unread, wire: str, effort: str | None) -> dict[str, Any]:
    """Return the fields `effort` and `settings` of a client's request, and `caching`.

    A thinking budget without an effort is an effort, too, for hosts that have no budgets.
    """
    settings = taken(given, wire)
    budget = settings.get("thinking_budget", -1)
    if effort is None and budget >= 0:
        effort = effort_of(budget)
    long = {"caching": "long"} if settings.get("prompt_cache_retention") == "24h" else {}
    return {"effort": effort, "settings": settings or None, **long}


def taken(given: Unread, wire: str) -> dict[str, Any]:
    """Return the settings that two wires have among what is unread; they are read then.

    A model of the client's own API gets them as they came, if they say all that they mean.
    """
    if not given.values:
        return {}
    found = {}
    rows = {row.path(wire): row for row in shared().values()}
    rows |= {path: row for row in shared().values() for path in row.names.values()}
    for path, value in given.by_path():
        row = rows.get(path)
        if row is None or (given.own and not row.replaces):
            continue
        if type(value) in _TYPES[row.type]:
            found[row.key] = not value if COLUMNS[wire] in row.inverse else value
            given.take(path)
    return found


def _lowered(
    request: Request, provider: Provider, refuses: Callable[[str, Any], bool], notes: list[Note]
) -> tuple[Request, dict[str, Any]]:
    """Return the request with what is said in words, and path in the body -> value of the rest."""
    paths: dict[str, Any] = {}
    for name in FURTHER:
        value = getattr(request, name)
        if value is None or name == "settings":
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
        kind: Any = struct_in(field.type)
        inner = getattr(built, field.name)
        value = placed(kind() if inner is None else inner, rest, value)
    return msgspec.structs.replace(built, **{field.name: value})
