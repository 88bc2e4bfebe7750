"""`wire bulk`: many prompts of a file, their answers in another."""

from __future__ import annotations

import argparse
import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from wire.cli.options import (
    Command,
    address_and_timeout,
    client_options,
    json_option,
    seconds,
    whole,
)
from wire.cli.statuses import FAILED
from wire.cli.terminal import is_terminal, read_object, report, write, write_json

if TYPE_CHECKING:
    from wire.bulk import Progress, Run

_TERMINAL_EVERY, _PIPE_EVERY = 0.5, 10.0
"""Seconds between two progress lines."""

_MORE = """A line of IN is a prompt in quotes, an object such as {"id": "a", "prompt": "Hi",
"max_tokens": 100}, or a line of a batch file of OpenAI, Anthropic or Gemini. A .csv or .tsv begins
with the names of its columns: the prompts are in --column, ids in the column id. Rows that fail go
to OUT.dead.jsonl with the reason. A run that was interrupted goes on if the command is given
again."""

_TEXTS = (
    ("format", "FORMAT", "of IN: jsonl, txt (a prompt a line), csv, tsv (default: its suffix)"),
    ("column", "NAME", "the column of the prompts in a table (default: prompt)"),
    ("template", "TEXT", "the prompt with columns in braces, such as 'Summarise: {text}'"),
    ("system", "TEXT", "the system prompt of rows that have none"),
    ("effort", "LEVEL", "reasoning: none, low, medium, high"),
    ("output", "SCHEMA.json", "a JSON Schema that the answers must match"),
    ("dead", "FILE", "file of the rows that failed (default: OUT.dead.jsonl)"),
    ("cache", "FOLDER", "ask equal requests once, and keep the responses in this folder"),
    ("on", "ADDRESS", "scheduler of Dask whose workers ask, such as tcp://scheduler:8786"),
)
_NUMBERS = (
    ("max-tokens", "longest answer, in tokens"),
    (
        "concurrent",
        "the most rows that are asked at the same time (default: 32); with --batch, the "
        "most jobs (default: 4)",
    ),
    ("requests", "requests a minute (default: as many as the server reports)"),
    ("tokens", "tokens a minute, of requests and answers (default: likewise)"),
    ("stop-after", "end the run if so many rows in a row have failed (default: 100)"),
)


def _usd(text: str) -> Decimal:
    """Parse an amount of money above 0."""
    try:
        value = Decimal(text)
    except ArithmeticError:
        value = Decimal(0)
    if not (value.is_finite() and value > 0):
        raise argparse.ArgumentTypeError(f"expected USD above 0, not {text!r}")
    return value


_FLAGS = (
    ("in-order", "put OUT in the order of IN when all rows are done"),
    ("set-aside", "move damaged lines of OUT to OUT.damaged, and ask their rows again"),
    ("batch", "ask in batches of the vendor: at half the price, within 24 hours"),
    ("plan", "estimate rows, tokens, money and time, and send nothing"),
)


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("rows", metavar="IN", help="file of JSON lines, CSV or TSV; - for stdin")
    command.add_argument("to", metavar="OUT", help="file to which the answers are appended")
    command.add_argument(
        "--model",
        metavar="PROVIDER:MODEL",
        action="append",
        help="such as gemini:gemini-3.8-flash; if repeated, the next is asked where one fails "
        "(default: the environment variable WIRE_MODEL)",
    )
    address_and_timeout(command)
    for name, metavar, text in _TEXTS:
        command.add_argument(f"--{name}", metavar=metavar, help=text)
    for name, text in _NUMBERS:
        command.add_argument(f"--{name}", type=whole(1), metavar="N", help=text)
    command.add_argument(
        "--window", type=seconds, metavar="SECONDS", help="in place of the minute of the limits"
    )
    command.add_argument(
        "--max-cost",
        type=_usd,
        metavar="USD",
        help="end the run when all its starts have cost this",
    )
    for name, text in _FLAGS:
        command.add_argument(f"--{name}", action="store_true", help=text)
    command.add_argument(
        "--every",
        type=seconds,
        metavar="SECONDS",
        help="time between two polls of a batch (default: 30)",
    )
    json_option(command, "the figures at the end")


_PARAMETERS = (
    "to",
    "format",
    "column",
    "template",
    "system",
    "effort",
    "dead",
    "cache",
    "max_tokens",
    "concurrent",
    "requests",
    "tokens",
    "stop_after",
    "max_cost",
    "window",
    "on",
    "every",
    "batch",
    "in_order",
    "set_aside",
)


def _bulk(chosen: argparse.Namespace) -> int:
    from wire.core.errors import ConfigurationError

    run = _run(chosen)
    if chosen.plan:
        plan = run.plan()
        if chosen.json:
            write_json(plan)
        else:
            write(str(plan))
        for problem in plan.problems:
            report(problem)
        return 0
    try:
        progress = _finish(run)
    except ConfigurationError:
        raise  # nothing has begun
    except BaseException:
        report(f"stopped: {run.progress}; give the command again to go on")
        raise
    report(f"done: {progress}")
    if chosen.json:
        write_json(progress.summary())
    if progress.set_aside:
        report(f"{progress.set_aside:,} damaged lines were set aside: see {chosen.to}.damaged")
    if progress.failed:
        report(f"{progress.failed:,} rows failed: see {run.dead}")
    return FAILED if progress.failed else 0


def _run(chosen: argparse.Namespace) -> Run:
    import os

    from wire.bulk import run
    from wire.core.errors import ConfigurationError

    models = chosen.model or [os.environ.get("WIRE_MODEL", "")]
    if not all(models):
        raise ConfigurationError("model: missing; give PROVIDER:MODEL, or set WIRE_MODEL")
    given: dict[str, Any] = {
        name: value for name in _PARAMETERS if (value := getattr(chosen, name)) is not None
    }
    given |= {name: each for name, each in client_options(chosen).items() if each is not None}
    if chosen.output is not None:
        try:
            given["output"] = read_object(chosen.output)[1]
        except ConfigurationError as problem:
            raise ConfigurationError(f"output: {problem.message}") from None
    rows = sys.stdin.buffer if chosen.rows == "-" else chosen.rows
    return run(rows, models, **given)


def _finish(run: Run) -> Progress:
    """Finish the run; its progress is reported meanwhile."""
    import anyio

    async def main() -> Progress:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_show, run)
            await run.finish()
            tasks.cancel_scope.cancel()
        return run.progress

    try:
        return anyio.run(main)
    except BaseExceptionGroup as group:
        from wire.core.errors import ungrouped

        raise ungrouped(group) from None


async def _show(run: Run) -> None:
    """Write how far the run is: one line that changes on a terminal, one after the other else."""
    import anyio

    on_terminal = is_terminal(sys.stderr)
    try:
        while True:
            await anyio.sleep(_TERMINAL_EVERY if on_terminal else _PIPE_EVERY)
            if on_terminal:
                print(f"\r{run.progress}\x1b[K", end="", file=sys.stderr, flush=True)
            else:
                report(str(run.progress))
    finally:
        if on_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


COMMANDS = (
    Command("bulk", "ask the prompts of a file, within the rate limits", _options, _bulk, _MORE),
)
