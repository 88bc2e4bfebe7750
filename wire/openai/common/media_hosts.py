"""Which hosts make images and speech and read sound, and where."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from wire.catalogue.usage import Usage
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.core.provider import Provider
from wire.openai.common.dialect import Dialect, MediaEndpoints
from wire.openai.common.rows import ROWS, provider_row

C = TypeVar("C")

Kind: TypeAlias = Literal["images", "edits", "speech", "transcriptions", "translations"]
TOLD = {
    "images": "makes no images",
    "edits": "edits no pictures",
    "speech": "makes no speech",
    "transcriptions": "reads no sound",
    "translations": "translates no sound",
}
"""Kind -> what a host without it does not do."""


def media_of(provider: Provider | str) -> MediaEndpoints:
    """Return the endpoints of a host. A row of Responses has those of its chat completions."""
    if not (isinstance(provider, Provider) and isinstance(provider.dialect, Dialect)):
        name = provider if isinstance(provider, str) else provider.name
        provider = provider_row(name.removesuffix("@responses"))
    dialect: Dialect = provider.dialect
    return dialect.media


def having(kind: Kind) -> list[str]:
    """Return the names of the hosts that have an endpoint."""
    return [row.name for row in ROWS if getattr(row.dialect.media, kind)]


def at_host(
    kind: Kind, violations: Callable[[str], Iterable[Violation]] | None, call: C, provider: Provider
) -> C:
    """Return the call with the path that the host has.

    `violations` returns what a family of providers refuses; `None` skips that. Raises
    `ConfigurationError` for a host without the endpoint, `RuleError` for what it refuses.
    """
    path = getattr(media_of(provider), kind)
    if not path:
        these = ", ".join(having(kind))
        raise ConfigurationError(
            f"call: this host {TOLD[kind]}; these do: {these}",
            provider=provider.name,
        )
    found = list(violations(provider.family)) if violations is not None else []
    if found:
        raise RuleError(violations=found)
    changed: Any = call
    return call if changed.path == path else msgspec.structs.replace(changed, path=path)


# --- what neutral calls have in common ------------------------------------------------------------


def name_of(provider: Provider | str) -> str:
    """Return the name of a provider."""
    return provider if isinstance(provider, str) else provider.name


def renamed(call: C, names: Mapping[str, str]) -> C:
    """Return the call whose host refuses in the names of neutral settings.

    `names` maps a field of the wire to the setting that it comes from.
    """
    changed: Any = call
    rules = functools.partial(_refused_as, changed.host_rules, names)
    made: C = msgspec.structs.replace(changed, host_rules=rules)
    return made


def _refused_as(rules: Any, names: Mapping[str, str], call: C, provider: Provider) -> C:
    try:
        judged: C = rules(call, provider)
    except RuleError as error:
        raise RuleError(
            violations=[
                msgspec.structs.replace(each, path=_path(each.path, names), field=each.path)
                for each in error.violations
            ]
        ) from None
    return judged


def _path(path: str, names: Mapping[str, str]) -> str:
    name, bracket, rest = path.partition("[")
    return f"{names.get(name, name)}{bracket}{rest}"


def usage_of(
    input: int | None, output: int | None, total: int | None, kinds: Mapping[str, int]
) -> Usage | None:
    """Build token counts; `None` if the host counts none. `kinds` are counts by kind of media."""
    if input is None and output is None:
        return None
    input, output = input or 0, output or 0
    return Usage(input=input, output=output, total=total or input + output, by_modality=dict(kinds))
