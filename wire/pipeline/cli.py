"""The command `attractor`. `_COMMANDS` has one row for each subcommand."""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TextIO

from wire.core.credentials import hidden_in_arguments
from wire.core.errors import ConfigurationError, PipelineError, WireError
from wire.core.files import read_whole, write_output
from wire.core.printable import printable_json, printable_line, printable_lines
from wire.pipeline.dot import parse
from wire.pipeline.environment import without_secrets
from wire.pipeline.graph import Graph
from wire.pipeline.linting import Finding, Severity, lint, summary
from wire.pipeline.node_types import NODE_TYPES, TIMEOUT, Attribute, NodeType
from wire.pipeline.progress import LOG_FORMATS, LOG_LEVELS, LogLevel, Progress

if TYPE_CHECKING:
    from wire.pipeline.engine import Ended

_FAILED, _MISUSED = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status.

    The status is 0 for success, 1 if a run failed or `lint` found an error, 2 for bad input (an
    option, a file, a missing key: nothing was run), and 128 + n after signal n.
    """
    parser = _Parser(prog="attractor", description="Pipelines of agents, as graphs in DOT.")
    _log_options(parser, "info", "text")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for row in _COMMANDS:
        command = commands.add_parser(row.name, help=row.help, description=row.help)
        row.options(command)
        # Without defaults, since they would replace the values of options before the subcommand.
        _log_options(command, argparse.SUPPRESS, argparse.SUPPRESS)
        command.set_defaults(run=row.run)
    chosen = parser.parse_args(arguments)
    log = Progress(sys.stderr, level=chosen.log_level, format=chosen.log_format)
    status, problem = _FAILED, ""
    try:
        with _SIGNALS:
            return int(chosen.run(chosen, log))
    except (BadInput, ConfigurationError) as error:
        status, problem = _MISUSED, str(error)
    except WireError as error:
        problem = str(error)
    except OSError as error:
        problem = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except KeyboardInterrupt as interrupt:
        number = interrupt.number if isinstance(interrupt, _Cancelled) else signal.SIGINT
        status, problem = 128 + number, f"cancelled by {signal.Signals(number).name}"
    _report(log, problem)
    return status


class BadInput(PipelineError):
    """An option or a file cannot be used, so nothing was run."""


@contextmanager
def _preparing() -> Iterator[None]:
    """Run the preparation of a run in a block; name the option in errors of an option."""
    try:
        yield
    except PipelineError as error:
        name, colon, rest = error.message.partition(": ")
        option = f"--{name}" if name in ("model", "timeout", "workdir") else name
        raise BadInput(f"{option}{colon}{rest}") from error


class _Cancelled(KeyboardInterrupt):
    """A signal has cancelled the command. It is caught where an interrupt is."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Signals:
    """Handles SIGINT, SIGTERM and SIGHUP while a subcommand runs (R-43).

    The first signal cancels the command: it raises `_Cancelled`, or calls `cancel` while a pipeline
    runs, since an exception at any place of an event loop would break it. The second signal ends
    the process at once.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        self.cancel: Callable[[], object] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        self.received = self.cancel = None
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread receives signals
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            # `nohup` ignores SIGHUP, and a shell ignores SIGINT for commands in the background.
            if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, self._handle)

    def __exit__(self, *_: object) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def _handle(self, number: int, frame: object) -> None:
        if self.received is not None:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.received = number
        if self.cancel is None:
            raise _Cancelled(number)
        self.cancel()


_SIGNALS = _Signals()


def _log_options(parser: argparse.ArgumentParser, level: str, format: str) -> None:
    parser.add_argument(
        "--log-level",
        choices=LOG_LEVELS,
        default=level,
        help="the least level of lines on stderr (default: info)",
    )
    parser.add_argument(
        "--log-format",
        choices=LOG_FORMATS,
        default=format,
        help="lines of text, or one JSON object a line (default: text)",
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"error: {printable_line(hidden_in_arguments(message))}", file=sys.stderr)
        sys.exit(_MISUSED)


def _report(log: Progress, problem: object, severity: Severity = "error") -> None:
    """Write an error or a warning as a line on stderr."""
    log.report(str(problem), severity)


def _print(text: str) -> None:
    """Print text that is not trusted: an answer of a model, or text of a pipeline's file."""
    print(_encodable(printable_lines(text), sys.stdout))


def _encodable(text: str, out: TextIO) -> str:
    """Escape the letters of a text that the encoding of a terminal lacks."""
    encoding = out.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


class Command(NamedTuple):
    """One subcommand."""

    name: str
    help: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Progress], int]


def _graph(path: str) -> Graph:
    try:
        text = read_whole(path, BadInput).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise BadInput(f"{path}: byte {problem.start} is not UTF-8") from None
    try:
        return parse(text, Path(path).stem)
    except PipelineError as problem:
        raise PipelineError(f"{path}: {problem.message}") from None


# --- run and resume -------------------------------------------------------------------------------


def _run_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="the pipeline")
    _common_options(command)
    command.add_argument("--checkpoint", metavar="FILE", help="write a checkpoint after each node")


def _resume_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="the pipeline")
    command.add_argument(
        "from_checkpoint", metavar="CHECKPOINT", help="the file that run --checkpoint wrote"
    )
    _common_options(command)
    command.add_argument(
        "--checkpoint", metavar="FILE", help="write checkpoints to this file (default: CHECKPOINT)"
    )


def _common_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", metavar="TEXT", help="the value of {{.seed}} in templates")
    command.add_argument(
        "--model", metavar="PROVIDER:MODEL", default="", help="the model of nodes that name none"
    )
    command.add_argument(
        "--workdir", metavar="FOLDER", default=".", help="the work folder of agents (default: .)"
    )
    command.add_argument(
        "--timeout", metavar="TIME", help="cancel the run after 5m, 30s, 100ms, ..."
    )
    command.add_argument(
        "--var",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a value of the context; may be repeated",
    )
    command.add_argument(
        "--var-file", metavar="FILE", help="values of the context, as a JSON object"
    )
    command.add_argument(
        "--output-context",
        metavar="FILE",
        help="write the context as JSON at the end of the run; - is stdout",
    )


def _run(chosen: argparse.Namespace, log: Progress) -> int:
    return _drive(chosen, log, None, chosen.checkpoint)


def _resume(chosen: argparse.Namespace, log: Progress) -> int:
    checkpoint = chosen.checkpoint or chosen.from_checkpoint
    return _drive(chosen, log, chosen.from_checkpoint, checkpoint)


def _drive(
    chosen: argparse.Namespace, progress: Progress, begin: str | None, checkpoint: str | None
) -> int:
    # Imported here, because lint and show need no HTTP stack.
    import anyio

    from wire.pipeline.checkpoint import context_json, read_checkpoint
    from wire.pipeline.context import Context, variables
    from wire.pipeline.engine import Engine, LintError

    options: dict[str, Any] = {
        "model": chosen.model,
        "workdir": chosen.workdir,
        "checkpoint": checkpoint,
        "timeout": chosen.timeout,
    }
    try:
        with _preparing():
            graph = _graph(chosen.file)
            values = variables(
                chosen.seed,
                None if chosen.var_file is None else read_whole(chosen.var_file, PipelineError),
                chosen.var,
            )
            Context(values)  # before the run, which would refuse the same values
            if chosen.output_context == "":
                raise BadInput("--output-context: expected the name of a file")
            engine = Engine(graph, report=progress, ask=Terminal().ask, **options)
            begun = (
                functools.partial(engine.run, values)
                if begin is None
                else functools.partial(engine.resume, read_checkpoint(begin), values)
            )
    except BadInput as error:
        if not isinstance(error.__cause__, LintError):
            raise
        for finding in error.__cause__.findings:
            _print_finding(progress, chosen.file, finding)
        return _MISUSED
    # Without a handler, Python prints the warnings of agents with their tracebacks.
    logger, handler = logging.getLogger("wire"), _Log(progress, chosen.log_level)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(min(handler.level, logger.getEffectiveLevel()))
    try:
        _SIGNALS.cancel = _nothing  # until the event loop runs, a signal is only recorded
        ended = anyio.run(_until_signal, begun)
    finally:
        _SIGNALS.cancel = None
        logger.removeHandler(handler)
        logger.setLevel(level)
        progress.close()
    if isinstance(ended, int):
        raise _Cancelled(ended)
    if chosen.output_context in ("-", "/dev/stdout"):
        _print(printable_json(context_json(ended.context).decode().rstrip()))
        return 0
    if chosen.output_context is not None:
        write_output(chosen.output_context, context_json(ended.context), PipelineError)
    if isinstance(output := ended.context.get("last_output"), str):
        _print(output)
    return 0


class _Log(logging.Handler):
    """Writes log records as lines: those from WARNING up, with the level `debug` all of them."""

    def __init__(self, progress: Progress, level: LogLevel) -> None:
        super().__init__(logging.DEBUG if level == "debug" else logging.WARNING)
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        self._progress.report(record.getMessage(), record.levelname.lower())


async def _until_signal(run: Callable[[], Awaitable[Ended]]) -> Ended | int:
    """Return the result of the run, or the number of the signal that cancelled it."""
    import asyncio

    import anyio

    results: list[Ended] = []
    failed: list[Exception] = []
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:

        def cancel() -> None:
            loop.call_soon_threadsafe(scope.cancel)

        _SIGNALS.cancel = cancel
        if _SIGNALS.received is not None:
            scope.cancel()
        try:
            results.append(await run())
        except Exception as error:
            failed.append(error)
    _SIGNALS.cancel = _nothing
    if results:
        return results[0]
    if _SIGNALS.received is not None:
        return _SIGNALS.received
    raise failed[0]


def _nothing() -> None:
    pass


class Terminal:
    """Asks the user at stdin. It reads without blocking, so that a cancelled run ends at once."""

    def __init__(self) -> None:
        self._read = b""

    async def ask(self, text: str) -> str:
        """Show a text and return the next line. Raises `EOFError` at the end of the input."""
        # The text may quote a model, and the user decides by what stands on the screen.
        question = _encodable(printable_lines(text), sys.stderr)
        print(f"{question}\n> ", end="", file=sys.stderr, flush=True)
        try:
            descriptor = sys.stdin.fileno()
        except (OSError, ValueError):  # stdin was replaced by an object without a descriptor
            line = sys.stdin.readline()
        else:
            line = (await self._line(descriptor)).decode(sys.stdin.encoding or "utf-8", "replace")
        if not line:
            raise EOFError
        return line.rstrip("\r\n")

    async def _line(self, descriptor: int) -> bytes:
        """Read the descriptor itself: lines in the buffer of `sys.stdin` do not end the wait."""
        import anyio

        while b"\n" not in self._read:
            # A regular file is always ready, and cannot be waited for.
            with suppress(OSError, NotImplementedError):
                await anyio.wait_readable(descriptor)
            data = os.read(descriptor, 1 << 16)
            if not data:
                break
            self._read += data
        line, newline, self._read = self._read.partition(b"\n")
        return line + newline


# --- lint and show --------------------------------------------------------------------------------


def _lint_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", metavar="FILE", nargs="+", help="pipelines")
    command.add_argument(
        "--model", metavar="PROVIDER:MODEL", default="", help="as in `run`: no node lacks a model"
    )
    command.add_argument(
        "--var",
        metavar="KEY[=VALUE]",
        action="append",
        default=[],
        help="a key that runs are given; may be repeated",
    )


def _lint(chosen: argparse.Namespace, log: Progress) -> int:
    status, keys = 0, [each.partition("=")[0].strip() for each in chosen.var]
    for path in chosen.files:
        try:
            graph = _graph(path)
        except PipelineError as problem:
            _report(log, problem)
            status = max(status, _MISUSED if isinstance(problem, BadInput) else _FAILED)
            continue
        findings = lint(graph, keys=keys, model=chosen.model, date=str(date.today()))
        for finding in findings:
            _print_finding(log, path, finding)
        if any(finding.severity == "error" for finding in findings):
            status = max(status, _FAILED)
        else:
            _print(summary(graph))
    return status


def _print_finding(log: Progress, path: str, finding: Finding) -> None:
    position, _, text = str(finding).partition(f": {finding.severity}: ")
    _report(log, f"{path}: {position}: {text}", finding.severity)


def _show_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="the pipeline")
    command.add_argument(
        "--text", action="store_true", help="as text, even if Graphviz is installed"
    )


def _show(chosen: argparse.Namespace, log: Progress) -> int:
    with _preparing():
        graph = _graph(chosen.file)
    graphviz = None if chosen.text else shutil.which("dot")
    if graphviz is None:
        _print(as_text(graph))
        return 0
    drawn = subprocess.run(
        [graphviz, "-Tsvg"],
        input=as_plain_dot(graph).encode(),
        capture_output=True,
        env=without_secrets(os.environ),
    )
    if drawn.returncode:
        raise PipelineError(f"{graphviz}: {drawn.stderr.decode('utf-8', 'replace')}")
    _print(drawn.stdout.decode().rstrip())
    return 0


def as_text(graph: Graph) -> str:
    """Render a pipeline as text: each node, with its outgoing edges.

    >>> print(as_text(parse('digraph tea { start -> boil [label="thirst"]; start -> exit }')))
    tea: 3 nodes, 2 edges
    start (start)
      -> boil  if thirst
      -> exit
    boil (codergen)
    exit (exit)
    """
    lines = [f"{graph.name}: {len(graph.nodes)} nodes, {len(graph.edges)} edges"]
    for node in graph.nodes.values():
        lines.append(f"{node.id} ({node.type})")
        lines += [
            f"  -> {edge.target}" + (f"  if {edge.condition}" if edge.condition else "")
            for edge in graph.outgoing(node.id)
        ]
    return "\n".join(lines)


def as_plain_dot(graph: Graph) -> str:
    """Render a pipeline for Graphviz, which does not accept every pipeline file as it is.

    >>> print(as_plain_dot(parse('digraph tea { start -> boil [label="mood == \\\\"bad\\\\""] }')))
    digraph "tea" {
      "start" [label="start", shape="Mdiamond"];
      "boil" [label="boil\\ncodergen", shape="box"];
      "start" -> "boil" [label="mood == \\"bad\\""];
    }
    """
    lines = [f"digraph {_quoted(graph.name)} {{"]
    for node in graph.nodes.values():
        label = node.text("label") or node.id
        shown = label if node.type in (node.id, label) else f"{label}\n{node.type}"
        lines.append(
            f"  {_quoted(node.id)} [label={_quoted(shown)}, shape={_quoted(_shape(node.type))}];"
        )
    for edge in graph.edges:
        label = f" [label={_quoted(edge.condition)}]" if edge.condition else ""
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)}{label};")
    return "\n".join([*lines, "}"])


def _shape(type: str) -> str:
    row = NODE_TYPES.get(type)
    return row.shapes[0] if row and row.shapes else "box"


def _quoted(text: str) -> str:
    """Quote a string for Graphviz.

    Backslashes are doubled, because Graphviz has its own escapes.
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


# --- types ----------------------------------------------------------------------------------------


def _version(chosen: argparse.Namespace, log: Progress) -> int:
    _print(f"attractor {importlib.metadata.version('wire-llm')}")
    return 0


def _types(chosen: argparse.Namespace, log: Progress) -> int:
    rows = [row for row in NODE_TYPES.values() if row.handler is not None]
    _print("\n\n".join(map(describe_type, rows)))
    _print(f"\nEvery type:\n  {_described(TIMEOUT)}")
    return 0


def describe_type(row: NodeType) -> str:
    """Describe a type of node as lines for `attractor types`.

    >>> print(describe_type(NODE_TYPES["set"]))
    set: stores a value
      value (template): the value
      key (text, required): the key of the value
    """
    names = [*(f"type={each}" for each in row.aliases), *(f"shape={each}" for each in row.shapes)]
    also = f" ({', '.join(names)})" if names else ""
    head = f"{row.name}{also}: {row.doc}"
    return "\n".join([head, *(f"  {_described(each)}" for each in row.attributes)])


def _described(attribute: Attribute) -> str:
    facts: list[str] = [attribute.kind]
    if attribute.required:
        facts.append("required")
    if attribute.default != "":
        facts.append(f"default {attribute.default}")
    if attribute.fallback:
        facts.append(f"else {attribute.fallback}")
    return f"{attribute.name} ({', '.join(facts)}): {attribute.doc}"


_COMMANDS = (
    Command("run", "run a pipeline from its start", _run_options, _run),
    Command(
        "resume", "continue a run after the last node of its checkpoint", _resume_options, _resume
    ),
    Command("lint", "check pipelines without running them", _lint_options, _lint),
    Command(
        "show", "draw a pipeline: SVG if Graphviz is installed, else text", _show_options, _show
    ),
    Command("types", "list the types of nodes and their attributes", lambda command: None, _types),
    Command("version", "print the version", lambda command: None, _version),
)


if __name__ == "__main__":
    sys.exit(main())
