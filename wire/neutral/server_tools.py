"""Tools that the vendor's server runs: `web_search`, `code`, `url_context`, `file_search`.

A wire has a table of `Form`s, each the JSON of a tool in a request. The row of a host names the
forms that the host takes. `hosted` refuses all other tools and options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from wire.catalogue.facts import is_in
from wire.core.arguments import checked_arguments
from wire.core.decoders import convert
from wire.core.errors import RuleError, Violation
from wire.core.extra_keys import with_extra
from wire.core.lenient import plain
from wire.core.memory import Note, S, encode
from wire.neutral.request import Location, Request, ServerTool, ServerToolKind

Extra: TypeAlias = Mapping[str, Mapping[str, Any]]


@checked_arguments()
def web_search(
    *,
    allowed_domains: Iterable[str] | str = (),
    blocked_domains: Iterable[str] | str = (),
    location: Location | None = None,
    max_uses: int | None = None,
    extra: Extra | None = None,
) -> ServerTool:
    """Declare a search of the web that the vendor's server runs.

    >>> web_search(allowed_domains=["shom.fr"], max_uses=3).max_uses
    3

    Arguments and errors are those of `ServerTool`.
    """
    return ServerTool(
        kind="web_search",
        allowed_domains=allowed_domains,  # type: ignore[arg-type]  # it converts them
        blocked_domains=blocked_domains,  # type: ignore[arg-type]
        location=location,
        max_uses=max_uses,
        extra={} if extra is None else extra,
    )


@checked_arguments()
def code(*, extra: Extra | None = None) -> ServerTool:
    """Declare that the vendor's server runs code of the model.

    >>> code().kind
    'code'

    Arguments and errors are those of `ServerTool`.
    """
    return ServerTool(kind="code", extra={} if extra is None else extra)


@checked_arguments()
def url_context(
    *,
    allowed_domains: Iterable[str] | str = (),
    blocked_domains: Iterable[str] | str = (),
    max_uses: int | None = None,
    extra: Extra | None = None,
) -> ServerTool:
    """Declare that the vendor's server fetches the pages of URLs in the conversation.

    >>> url_context().kind
    'url_context'

    Arguments and errors are those of `ServerTool`.
    """
    return ServerTool(
        kind="url_context",
        allowed_domains=allowed_domains,  # type: ignore[arg-type]
        blocked_domains=blocked_domains,  # type: ignore[arg-type]
        max_uses=max_uses,
        extra={} if extra is None else extra,
    )


@checked_arguments()
def file_search(
    stores: Iterable[str] | str,
    *,
    max_results: int | None = None,
    extra: Extra | None = None,
) -> ServerTool:
    """Declare a search in stored files that the vendor's server runs.

    >>> file_search("fileSearchStores/tides").stores
    ('fileSearchStores/tides',)

    Arguments and errors are those of `ServerTool`.
    """
    return ServerTool(
        kind="file_search",
        stores=stores,  # type: ignore[arg-type]
        max_results=max_results,
        extra={} if extra is None else extra,
    )


def _bad(path: str, problem: str, remedy: str = "") -> RuleError:
    return RuleError(violations=[Violation(path, problem, remedy=remedy)])


# --- in a request ---------------------------------------------------------------------------------

OPTIONS = ("allowed_domains", "blocked_domains", "location", "max_uses", "stores", "max_results")
"""The options of `ServerTool` that a host may be unable to express."""


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON of a tool in the request body of a host.

    >>> Form(kind="code", json={"type": "code_interpreter"}).options
    {}
    """

    kind: ServerToolKind
    json: dict[str, Any]
    """The JSON of the tool, without options."""
    options: dict[str, str] = msgspec.field(default_factory=dict)
    """Option of `ServerTool` -> the path of its key in the JSON, with dots."""
    both_lists: bool = False
    """The host takes allowed and blocked domains together."""
    in_body: bool = False
    """The keys of the JSON belong to the body, not to an item of `tools`."""


Offers: TypeAlias = tuple[tuple[str, str], ...]
"""Name of a `Form`, and a regular expression of the models that take it; empty for all."""


class Hosted(msgspec.Struct, frozen=True):
    """A tool of a request in the form of its host."""

    path: str
    """Its path in the neutral request."""
    json: dict[str, Any]
    in_body: bool


def hosted(
    tools: Sequence[Any],
    offers: Offers,
    forms: Mapping[str, Form],
    provider: str,
    model: str,
    elsewhere: Callable[[ServerToolKind], str] = lambda kind: "",
) -> list[Hosted]:
    """Return the server tools among the tools of a request, in the host's JSON.

    `elsewhere` names another API of the host that has a tool. Raises `RuleError` for a tool that
    the host does not offer, an option that it cannot express, and a second tool of one kind.
    """
    made: list[Hosted] = []
    kinds: set[str] = set()
    for index, tool in enumerate(tools):
        if not isinstance(tool, ServerTool):
            continue
        path = f"tools[{index}]"
        if tool.kind in kinds:
            raise _bad(path, f"a second {tool.kind}")
        kinds.add(tool.kind)
        own = [forms[name] for name, models in offers if takes(models, model)]
        form = next((each for each in own if each.kind == tool.kind), None)
        extra = _extra_of(tool, provider)
        if form is None and not extra:
            every = [forms[name].kind for name, _ in offers]
            raise _refused(path, tool.kind, [each.kind for each in own], every, provider, elsewhere)
        form = form or Form(kind=tool.kind, json={})
        written = _written(tool, form, path, provider)
        made.append(Hosted(path, _merged(written, extra), form.in_body))
    return made


def takes(models: str, model: str) -> bool:
    """Return whether a model is one of a form's, which are none (all models), `@` and a group of
    the facts, or a regular expression.
    """
    if models.startswith("@"):
        return is_in(models[1:], model)
    return not models or re.fullmatch(models, model, re.IGNORECASE) is not None


def _extra_of(tool: ServerTool, provider: str) -> dict[str, Any]:
    """Return the keys for this provider; those of `name@region` count before those of `name`."""
    names = dict.fromkeys((provider.partition("@")[0], provider))
    merged: dict[str, Any] = {}
    for name in names:
        merged = _merged(merged, tool.extra.get(name, {}))
    return merged


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two objects, at any depth; of two other values under one key, `other` counts."""
    merged = dict(one)
    for key, value in other.items():
        before = merged.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            value = _merged(before, value)
        merged[key] = value
    return merged


def _refused(
    path: str,
    kind: ServerToolKind,
    own: Sequence[str],
    every: Sequence[str],
    provider: str,
    elsewhere: Callable[[ServerToolKind], str],
) -> RuleError:
    problem = f"{provider} offers no {kind}"
    if kind in every:
        problem += " to this model"
    elif own:
        problem += f", only {', '.join(dict.fromkeys(own))}"
    remedy = elsewhere(kind) or f'extra={{"{provider}": {{...}}}} sends JSON of your own'
    return _bad(path, problem, remedy)


def _written(tool: ServerTool, form: Form, path: str, provider: str) -> dict[str, Any]:
    """Write the JSON of a tool with its options.

    Raises `RuleError` for an option that the host does not have.
    """
    made = _merged({}, form.json)
    if tool.allowed_domains and tool.blocked_domains and not form.both_lists:
        problem = f"{provider} does not take it together with allowed_domains"
        raise _bad(f"{path}.blocked_domains", problem)
    for name in OPTIONS:
        value = getattr(tool, name)
        if not value:
            continue
        place = form.options.get(name)
        if place is None:
            problem = f"{provider} has no such option of {tool.kind}"
            raise _bad(f"{path}.{name}", problem, "leave it out")
        *above, last = place.split(".")
        inside = made
        for key in above:
            inside = inside.setdefault(key, {})
        if isinstance(value, Location):
            fields = {key: text for key, text in msgspec.structs.asdict(value).items() if text}
            # Chat completions have the location in an object of its own.
            nested = above and last == "approximate"
            inside |= {"type": "approximate"} if nested else {}
            value = fields if nested else {"type": "approximate", **fields}
        inside[last] = list(value) if isinstance(value, tuple) else value
    return made


def tool_struct(kind: type[S], tool: Hosted) -> S:
    """Convert the JSON of a tool to a struct of the wire, with extra keys without a field.

    Raises `RuleError` for JSON that the struct cannot hold.
    """
    known = kind.__struct_encode_fields__
    fields = {key: value for key, value in tool.json.items() if key in known}
    try:
        made: S = convert(fields, kind)
    except msgspec.ValidationError as cause:
        raise _bad(f"{tool.path}.extra", str(cause)) from None
    rest = {key: value for key, value in tool.json.items() if key not in fields}
    made = with_extra(made, rest) if rest else made
    if plain(encode(made)) != plain(msgspec.json.encode(tool.json)):
        problem = "has keys inside an object that this library does not know"
        remedy = "options={PROVIDER: {'tools': [...]}} of the request sends tools as they are"
        raise _bad(f"{tool.path}.extra", problem, remedy)
    return made


# --- of a client's request ------------------------------------------------------------------------


def received_tool(
    given: Mapping[str, Any], form: Form, path: str, provider: str, notes: list[Note]
) -> ServerTool:
    """Convert a server tool of a client's request; `given` is its JSON in the client's API.

    >>> form = Form(kind="web_search", json={"type": "search"}, options={"max_uses": "limit"})
    >>> received_tool({"type": "search", "limit": 3}, form, "tools[0]", "", [])
    ServerTool(kind='web_search', max_uses=3)

    Keys that are not options go to `provider`, whose API the client speaks; without one, they are
    left out with a note. Raises `RuleError` for an option of a wrong type.
    """
    left = _merged(given, {})
    options: dict[str, Any] = {}
    for name, place in form.options.items():
        value = _taken(left, place.split("."))
        if name == "location" and isinstance(value, Mapping):
            known = Location.__struct_fields__
            value = Location(**{key: text for key, text in value.items() if key in known and text})
        if value:
            options[name] = value
    further = {
        key: value
        for key, value in left.items()
        if value is not None and not _is_said(value, form.json.get(key))
    }
    if provider:
        # What the neutral tool has unasked, the client's has not.
        further |= dict.fromkeys(form.json.keys() - given.keys())
        extra = {provider: further} if further else {}
        return ServerTool(kind=form.kind, extra=extra, **options)
    notes += [
        Note(f"{path}.{key}".lstrip("."), "left out: it has no neutral form")
        for key in _unread(further, form.json)
    ]
    return ServerTool(kind=form.kind, **options)


def _taken(json: dict[str, Any], keys: Sequence[str]) -> Any:
    """Remove the value at a path, and objects that have nothing else; `None` if there is none."""
    first, *rest = keys
    inside = json.get(first)
    if not rest:
        return json.pop(first, None)
    if not isinstance(inside, Mapping):
        return None
    json[first] = copy = dict(inside)
    value = _taken(copy, rest)
    # The type of a location is written anew.
    if value is not None and copy.keys() <= {"type"}:
        del json[first]
    return value


def _unread(further: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a tool that are ignored; its type and its name only identify the tool."""
    for key, value in further.items():
        inside = own.get(key)
        if isinstance(value, Mapping) and isinstance(inside, Mapping):
            said = (name for name, each in value.items() if each != inside.get(name))
            yield from (f"{key}.{name}" for name in said)
        elif key not in ("type", "name"):
            yield key


def _is_said(value: Any, own: Any) -> bool:
    """Return whether the form itself has this value."""
    return value == own or (value == {} and isinstance(own, Mapping))


_HINTS = ("location", "max_uses", "max_results")
"""Options without which a tool still does its job. Domains and stores are limits."""


_BESIDE_FUNCTIONS = ("G33",)
"""Rules of models that do not take a server tool beside functions."""


def without_refused(request: Request, error: RuleError) -> tuple[Request, Note] | None:
    """Remove the server tool, or its option, that a host refuses from a request.

    Returns `None` if `error` has another cause.
    """
    refusal = error.violations[0]
    found = re.match(r"tools\[(\d+)\](?:\.(\w+))?", refusal.path)
    own = [index for index, tool in enumerate(request.tools) if isinstance(tool, ServerTool)]
    if found is None or not own:
        return None
    if refusal.rule in _BESIDE_FUNCTIONS:  # its path is one of the body
        index, option = own[0], ""
    else:
        index, option = int(found[1]), found[2] or ""
    if refusal.rule not in ("", *_BESIDE_FUNCTIONS) or index not in own:
        return None
    tool: Any = request.tools[index]
    # Positions in a neutral request differ from those in the client's, and change here.
    if option in _HINTS:
        note = Note(f"{tool.kind}.{option}", f"left out: {refusal.message}")
        kept: tuple[Any, ...] = (msgspec.structs.replace(tool, **{option: None}),)
    else:
        cause = f"{option}: " if option else ""
        note, kept = Note(tool.kind, f"left out: {cause}{refusal.message}"), ()
    tools = (*request.tools[:index], *kept, *request.tools[index + 1 :])
    choice = request.tool_choice if tools else None
    return msgspec.structs.replace(request, tools=tools, tool_choice=choice), note
