"""Runs a client through a case: an emulator on loopback, a process, what it wrote."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from wire.core.decoders import decoder
from wire.core.errors import ConfigurationError
from wire.core.secret import quoted
from wire.testing.conformance.judging import Report, Request, judge, leaked
from wire.testing.conformance.loading import Case, Wire, wires
from wire.testing.emulator.core import Emulator
from wire.testing.emulator.server import serve

VERSION = 1
"""Of the task that a client reads; a change that breaks clients raises it."""
_MAX_OUTPUT_BYTES = 1 << 20


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a case."""

    case: str
    aspect: str
    result: Literal["kept", "failed", "skipped"]
    details: list[str] = []
    """What the client did wrong, or why it was skipped."""
    client: str = ""
    command: str = ""
    """What runs a failure again."""


def words_of(client: str) -> list[str]:
    """Split the command line of a client. Raises `ConfigurationError` if it has no command."""
    try:
        words = shlex.split(client)
    except ValueError as cause:
        raise ConfigurationError(f"client: {quoted(client)}: {cause}") from None
    if not words:
        raise ConfigurationError("client: missing; such as 'python adapter.py'")
    return words


class Written(NamedTuple):
    """What a client wrote."""

    ended: bool
    """Whether it ended in time."""
    out: str
    err: str


def run(client: str, wire: Wire, case: Case, seconds: float, paths: Sequence[str] = ()) -> Verdict:
    """Run a client through a case, for so many seconds at most, and judge it.

    `paths` are the files of the case, for the command that runs it again. Raises
    `ConfigurationError` for a command that cannot be started.
    """
    words = words_of(client)

    def written(task: dict[str, Any], url: str) -> Written:
        return _written(words, msgspec.json.encode(task) + b"\n", _variables(wire, url), seconds)

    verdict = play(wire, case, written)
    failed = verdict.result == "failed"
    return msgspec.structs.replace(verdict, command=again(client, case.id, paths) if failed else "")


def play(wire: Wire, case: Case, do: Callable[[dict[str, Any], str], Written]) -> Verdict:
    """Judge what `do` makes of a case; it gets the task and the address of the server."""
    times: list[tuple[str, float]] = []
    emulator = Emulator(case.script)
    with serve(emulator, log=lambda line: times.append((line, time.monotonic()))) as server:
        ended, out, err = do(task_of(wire, case, server.url), server.url)
        requests = _requests(wire, emulator.requests, times)
    report, unread = _report(out)
    problems: list[str] = leaked(wire.key, [out, err])
    if not ended:
        problems.append("the client did not end in time")
    elif report is None:
        problems.append(f"{unread}; {_last(err)}" if err.strip() else unread)
    elif report.skip is None:
        problems += judge(case, requests, report)
    skipped = None if report is None else report.skip
    return Verdict(
        case=case.id,
        aspect=case.aspect,
        result="failed" if problems else "kept" if skipped is None else "skipped",
        details=[each.replace(wire.key, "***") for each in problems or filter(None, [skipped])],
        client="" if report is None else report.client,
    )


def again(client: str, case: str, paths: Sequence[str] = ()) -> str:
    """Return the command that runs one case again.

    >>> again("python adapter.py", "openai/cut-stream")
    "wire conformance 'python adapter.py' --case openai/cut-stream"
    """
    files = [word for path in paths for word in ("--cases", path)]
    return shlex.join(["wire", "conformance", client, *files, "--case", case])


def task_of(wire: Wire, case: Case, url: str) -> dict[str, Any]:
    """Return what a client reads from stdin."""
    given: dict[str, Any] = msgspec.to_builtins(case.task)
    return {
        "version": VERSION,
        "case": case.id,
        "wire": wire.wire,
        "host": case.host or wire.host,
        "base_url": (case.base_url or wire.base_url).replace("{url}", url),
        "api_key": wire.key,
        "model": case.model or wire.model,
        **given,
    }


def _variables(wire: Wire, url: str) -> dict[str, str]:
    """Return the environment of a client: no key and no address but those of the emulator.

    What the wire of the case says counts before what another one says.
    """
    rows = [*wires(), wire]
    prefixes = {name.partition("_")[0] for row in rows for name in row.environment}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.partition("_")[0] not in prefixes and not name.lower().endswith("_proxy")
    }
    for row in rows:
        base_url = row.base_url.replace("{url}", url)
        for name, value in row.environment.items():
            kept[name] = value.replace("{base_url}", base_url).replace("{key}", row.key)
    return kept


def _written(
    words: Sequence[str], task: bytes, variables: Mapping[str, str], seconds: float
) -> Written:
    """Run the process; return what it wrote.

    The streams are files: a process that the client leaves behind would keep a pipe open.
    """
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(task)
        given.seek(0)
        try:
            process = subprocess.Popen(
                words, stdin=given, stdout=out, stderr=err, env=variables, start_new_session=True
            )
        except (OSError, ValueError) as cause:
            reason = getattr(cause, "strerror", None) or cause
            raise ConfigurationError(f"client: {quoted(words[0])}: {reason}") from None
        ended = False
        try:
            process.wait(seconds)
            ended = True
        except subprocess.TimeoutExpired:
            pass
        finally:
            _kill(process)
        return Written(ended, _text(out), _text(err))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the client and what it started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _text(file: IO[bytes]) -> str:
    """Return the end of a file, where the report stands."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _MAX_OUTPUT_BYTES))
    return file.read().decode("utf-8", "replace")


def _last(text: str) -> str:
    lines = [each for each in text.splitlines() if each.strip()]
    return f"stderr ends with {quoted(lines[-1][:300])}"


def _report(out: str) -> tuple[Report | None, str]:
    """Read the report in the last line of stdout, or say why there is none."""
    lines = [each for each in out.splitlines() if each.strip()]
    if not lines:
        return None, "the client wrote nothing to stdout"
    try:
        return decoder(Report).decode(lines[-1]), ""
    except (msgspec.DecodeError, UnicodeEncodeError) as cause:
        return None, f"the last line of stdout is no report: {cause}"


def _requests(
    wire: Wire, received: Sequence[dict[str, Any]], times: Sequence[tuple[str, float]]
) -> list[Request]:
    """Return the requests to the endpoint. The log of the server has the same, in its order."""
    endpoint = re.compile(wire.endpoint)

    def asks(method: str, target: str) -> bool:
        return method == "POST" and endpoint.search(urlsplit(target).path) is not None

    at = [when for line, when in times if asks(*line.split(" ")[:2])]
    found = [each for each in received if asks(each["method"], each["target"])]
    at += [0.0] * (len(found) - len(at))
    return [
        Request(each["body"], each.get("status", 0), each.get("rule", ""), when)
        for each, when in zip(found, at, strict=False)
    ]
