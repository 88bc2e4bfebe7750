"""`wire models` and `wire providers`: what a provider offers, and the table of providers."""

from __future__ import annotations

import argparse
import os
from datetime import date
from typing import TYPE_CHECKING, Any

from wire.cli.options import Command, client_of, host_options, json_option
from wire.cli.terminal import write, write_json, write_table

if TYPE_CHECKING:
    from wire.core.provider import Provider


# --- models ---------------------------------------------------------------------------------------


def _models_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "provider",
        nargs="?",
        metavar="PROVIDER",
        help="such as gemini (default: that of the environment variable WIRE_MODEL)",
    )
    host_options(command)
    json_option(command, "a line for each model, as the provider describes it,")


def _models(chosen: argparse.Namespace) -> int:
    from wire.catalogue.facts import facts
    from wire.core.errors import ConfigurationError
    from wire.core.memory import encode

    provider = chosen.provider or os.environ.get("WIRE_MODEL", "").partition(":")[0]
    if not provider:
        raise ConfigurationError("PROVIDER: missing; give it, or set WIRE_MODEL")
    with client_of(chosen, provider) as client:
        for model in client.models():
            if chosen.json:
                write_json(model.source.raw or encode(model.source))
            else:
                notice = facts(model.id).notice(str(date.today()), provider)
                write(f"{model.id or 'unnamed'}{'  ' * bool(notice)}{notice}")
    return 0


# --- providers ------------------------------------------------------------------------------------


def _providers_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", nargs="?", metavar="NAME", help="show one with its dialect")
    json_option(command, "the rows")


def _providers(chosen: argparse.Namespace) -> int:
    from wire.core.arguments import suggestion
    from wire.core.errors import ConfigurationError
    from wire.wires.providers import PROVIDERS

    if chosen.name is None:
        if chosen.json:
            write_json([_document(row) for row in PROVIDERS.values()])
        else:
            head = ("NAME", "WIRE", "KEY", "", "BASE URL")
            write_table([head, *map(_cells, PROVIDERS.values())])
        return 0
    row = PROVIDERS.get(chosen.name.lower())
    if row is None:
        near = suggestion(chosen.name, PROVIDERS) or "`wire providers` lists them"
        raise ConfigurationError(f"NAME: no provider is called {chosen.name!r}; {near}")
    document = _document(row)
    if chosen.json:
        write_json(document)
        return 0
    dialect = document.pop("dialect")
    lines = [(name, _shown(value)) for name, value in document.items() if value not in ("", ())]
    write_table([*lines, *((f"dialect.{name}", _shown(dialect[name])) for name in dialect)])
    return 0


def _cells(row: Provider) -> tuple[str, ...]:
    needed = "set" if key_is_set(row) else "" if row.key_required else "optional"
    return row.name, row.wire, row.key_variable, needed, row.base_url


def key_is_set(row: Provider) -> bool:
    """Return whether the environment has a key for a provider."""
    variables = filter(None, (row.key_variable, row.other_key_variable))
    return any(os.environ.get(name, "").strip() for name in variables)


def _document(row: Provider) -> dict[str, Any]:
    return {
        "name": row.name,
        "wire": row.wire,
        "base_url": row.base_url,
        "key_variable": row.key_variable,
        "other_key_variable": row.other_key_variable,
        "key_is_set": key_is_set(row),
        "key_required": row.key_required,
        "options": row.options,
        **{option: _option(row, option) for option in row.options},
        "dialect": differences(row.dialect),
    }


def _option(row: Provider, option: str) -> str:
    """Return the value that an option has without an argument, and its source; or how to set it."""
    from wire.http.base_url import default_of

    value, source = default_of(option, row)
    if value is not None:
        return f"{value} ({source})"
    variables = row.option_variables.get(option, ())
    return f"not set ({' or '.join(variables)})" if variables else "not set"


def differences(dialect: Any) -> dict[str, Any]:
    """Return the fields of a dialect that differ from the reference of its wire."""
    reference = type(dialect)()
    return {
        name: value
        for name in dialect.__struct_fields__
        if (value := getattr(dialect, name)) != getattr(reference, name)
    }


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(getattr(each, "path", "") or _shown(each) for each in value)
    return str(value)


COMMANDS = (
    Command("models", "list the models of a provider", _models_options, _models),
    Command(
        "providers",
        "list the providers: name, wire, variable of the key, address",
        _providers_options,
        _providers,
    ),
)
