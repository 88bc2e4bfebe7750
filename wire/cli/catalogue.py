"""`wire catalogue`: prints what is known of a model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from wire.cli.options import Command, command_group, json_option
from wire.cli.statuses import FAILED
from wire.cli.terminal import report, write_json, write_table

if TYPE_CHECKING:
    from wire.catalogue.catalogue import Model, Price


def _show_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "model", metavar="MODEL", help="such as anthropic:claude-sonnet-5, or the model alone"
    )
    json_option(command, "one object")


def _show(chosen: argparse.Namespace) -> int:
    from wire.chat.models import model

    found = model(chosen.model)
    if chosen.json:
        write_json(_document(found))
    elif not found.reason:
        write_table([("FIGURE", "VALUE", "SOURCE"), *_lines(found)])
    if found.reason:
        report(f"wire catalogue: {found.reason}")
        return FAILED
    return 0


def _document(found: Model) -> Any:
    import msgspec

    return msgspec.json.decode(msgspec.json.Encoder(decimal_format="number").encode(found))


_SHOWN = (
    "context_window",
    "longest_output",
    "inputs",
    "outputs",
    "tools",
    "structured_output",
    "thinks",
    "knowledge",
)


def _lines(found: Model) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [("model", f"{found.provider}:{found.id}", "")]
    for name in _SHOWN:
        source = found.source(name)
        if source is not None:
            lines.append((name, _text(getattr(found, name)), f"{source.name}, {source.date}"))
    from wire.catalogue.facts import facts

    known = facts(found.id)
    for host, end in known.ends.items():
        source = known.sources.get("ends")
        told = f"{source.name}, {source.date}" if source is not None else ""
        lines.append((f"ends {host}".rstrip(), end, told))
    source = found.source("prices")
    for price in found.prices:
        told = f"{source.name}, {source.date}" if source is not None else ""
        lines.append((" ".join(["price", *_conditions(price)]), _figures(price), told))
    lines += [(f"refuses {key}", refusal, "rules of the wire") for key, refusal in
              found.refuses.items()]  # fmt: skip
    return lines


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _conditions(price: Price) -> list[str]:
    """Describe in words the requests to which a row of a price list applies."""
    return [
        *([price.tier] if price.tier else []),
        *([f"above {price.above:,}"] if price.above else []),
        *([f"since {price.since}"] if price.since else []),
        *([f"{price.hours} UTC"] if price.hours else []),
    ]


def _figures(price: Price) -> str:
    """Format the figures of a row, in USD."""
    return ", ".join(f"{name} {figure:f}" for name, figure in price.usd.items())


COMMANDS = (
    command_group(
        "catalogue",
        "show limits and prices of models",
        (Command("show", "print what is known of a model", _show_options, _show),),
    ),
)
