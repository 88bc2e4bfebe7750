"""Tools that the vendor's server runs: `web_search`, `code`, `url_context`, `file_search`.

A wire has a table of `Form`s, which say how a tool is written in a request, and the row of a host
names the forms that the host takes. `hosted` refuses all other tools and options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.decoders import convert
from wire.core.extra_keys import with_extra
from wire.core.lenient import plain
from wire.core.memory import S, encode
from wire.errors import RuleError, Violation
from wire.neutral.request import Location, ServerTool, ServerToolKind

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
    """A search of the web that the vendor's server runs.

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
    """Code of the model that the vendor's server runs.

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
    """The pages of URLs in the conversation, which the vendor's server fetches.

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
    """A search in stored files that the vendor's server runs.

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
    """How a host writes a tool in the body of a request.

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
    """The server tools among the tools of a request, as the host writes them.

    `elsewhere` says which other API of the host has a tool. Raises `RuleError` for a tool that the
    host does not offer, an option that it cannot express, and a second tool of one kind.
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
        own = [forms[name] for name, models in offers if _takes(models, model)]
        form = next((each for each in own if each.kind == tool.kind), None)
        extra = _extra_of(tool, provider)
        if form is None and not extra:
            every = [forms[name].kind for name, _ in offers]
            raise _refused(path, tool.kind, [each.kind for each in own], every, provider, elsewhere)
        form = form or Form(kind=tool.kind, json={})
        written = _written(tool, form, path, provider)
        made.append(Hosted(path, _merged(written, extra), form.in_body))
    return made


def _takes(models: str, model: str) -> bool:
    return not models or re.fullmatch(models, model, re.IGNORECASE) is not None


def _extra_of(tool: ServerTool, provider: str) -> dict[str, Any]:
    """The keys for this provider; those of `name@region` count before those of `name`."""
    names = dict.fromkeys((provider.partition("@")[0], provider))
    merged: dict[str, Any] = {}
    for name in names:
        merged = _merged(merged, tool.extra.get(name, {}))
    return merged


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both objects; of a key that both have the value of `other`, objects merged."""
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
    """The JSON of a tool with its options. Raises `RuleError` for one that the host has not."""
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
            # Chat completions have the location in an object inside.
            nested = above and last == "approximate"
            inside |= {"type": "approximate"} if nested else {}
            value = fields if nested else {"type": "approximate", **fields}
        inside[last] = list(value) if isinstance(value, tuple) else value
    return made


def tool_struct(kind: type[S], tool: Hosted) -> S:
    """The JSON of a tool as a struct of the wire, with keys that the struct has no field for.

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
