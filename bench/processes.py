"""Measures processes as a whole: an import, one answer, and what is installed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.bodies import WIRES
from bench.implementations import IMPLEMENTATIONS, LIMIT, PLAIN, ROOT, python_of
from bench.measuring import Figures, Report, environment, server

_IMPORT = """
import json, sys, time
def memory():
    lines = open("/proc/self/status", encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
before, used, began = len(sys.modules), memory(), time.process_time()
{code}
found = {{"cpu": time.process_time() - began, "memory": memory() - used}}
found["modules"] = len(sys.modules) - before
print(json.dumps(found), flush=True)
"""

BASE = "httpx, msgspec"
IMPORTS = {
    BASE: (LIMIT, "import httpx, msgspec"),
    "wire.gemini": ("wire", "import wire.gemini"),
    "wire.gemini, types and rules": (
        "wire",
        "from wire.gemini import GenerateContentRequest, check, generate_content",
    ),
    "wire.openai, types and rules": (
        "wire",
        "from wire.openai import ChatCompletionRequest, chat_completions, check",
    ),
    "wire.anthropic, types and rules": (
        "wire",
        "from wire.anthropic import MessageRequest, check, create_message",
    ),
    "wire, Client": ("wire", "from wire import Client; Client('gemini', api_key='fake-key')"),
    "wire, AsyncClient": (
        "wire",
        "from wire import AsyncClient; AsyncClient('gemini', api_key='fake-key')",
    ),
    "wire, AsyncChat": (
        "wire-neutral",
        "from wire import AsyncChat; AsyncChat('gemini:gemini-3.8-flash', api_key='fake-key')",
    ),
    "google-genai": ("google-genai", "from google import genai"),
    "openai": ("openai", "import openai"),
    "anthropic": ("anthropic", "import anthropic"),
    "litellm": ("litellm", "import litellm"),
    "pydantic-ai": (
        "pydantic-ai",
        "import pydantic_ai, pydantic_ai.models.google, pydantic_ai.models.openai",
    ),
}
"""What is imported -> the client that it belongs to, and the code.

A package of `wire` imports its names on first use, so that rows ask for types and rules by name.
"""

_SIZE = """
import json, re, sys
from importlib.metadata import distribution, PackageNotFoundError
seen, todo, size = set(), sys.argv[1:], 0
while todo:
    name = re.sub("[-_.]+", "-", todo.pop().lower())
    try:
        found = distribution(name)
    except PackageNotFoundError:  # for another system, or of an extra
        continue
    if name not in seen:
        seen.add(name)
        size += sum(file.size or 0 for file in found.files or () if file.suffix != ".pyc")
        needs = [each for each in found.requires or () if "extra ==" not in each]
        todo += [re.match(r"[\\w.-]+", each).group() for each in needs]
print(json.dumps({"distributions": len(seen), "disk": size}))
"""
_INSTALLED = {"wire": "wire-llm", "pydantic-ai": "pydantic-ai-slim"}


@dataclass(frozen=True, slots=True)
class Imports:
    """Each in a fresh process."""

    rounds: int = 9
    peer_rounds: int = 3

    def run(self, clients: Sequence[str], most_rounds: int | None, report: Report) -> Figures:
        """The figures of the imports of these clients."""
        taking = [name for name, (client, _) in IMPORTS.items() if client in clients]
        times = min(self.rounds, most_rounds or self.rounds)
        figures: Figures = {"": {"cpu": {}, "memory": {}, "modules": {}}}
        for number in range(-1, times):  # the first writes bytecode
            for name in taking:
                client, code = IMPORTS[name]
                if IMPLEMENTATIONS[client].is_peer and number >= self.peer_rounds:
                    continue
                python = python_of(IMPLEMENTATIONS[client].environment)
                found = _json([python, "-c", _IMPORT.format(code=code)], f"import {name}", report)
                for measure, values in figures[""].items():
                    each = values.setdefault(name, [None] * times)
                    if number >= 0:
                        each[number] = found.get(measure)
        return figures


@dataclass(frozen=True, slots=True)
class OneShot:
    """A process that makes a client, asks once and ends."""

    rounds: int = 5
    peer_rounds: int = 3

    def run(self, clients: Sequence[str], most_rounds: int | None, report: Report) -> Figures:
        """The figures of these clients; several wires only where an SDK has one of its own."""
        figures: Figures = {wire: {"cpu": {}, "memory": {}} for wire in WIRES}
        times = min(self.rounds, most_rounds or self.rounds)
        with server() as base_url:
            for number in range(-1, times):
                for client in clients:
                    if client == PLAIN:  # no stream is read
                        continue
                    if IMPLEMENTATIONS[client].is_peer and number >= self.peer_rounds:
                        continue
                    for wire in _WIRES_OF.get(client, ("gemini",)):
                        if client in report.refused:
                            continue
                        found = _one_shot(client, wire, base_url, report)
                        for measure, values in figures[wire].items():
                            each = values.setdefault(client, [None] * times)
                            if number >= 0:
                                each[number] = found.get(measure)
        return figures


_WIRES_OF = {
    **dict.fromkeys(("raw", "httpx", "wire"), WIRES),
    "openai": ("chat",),
    "anthropic": ("messages",),
}


def _one_shot(client: str, wire: str, base_url: str, report: Report) -> dict[str, Any]:
    one = IMPLEMENTATIONS[client]
    command = [python_of(one.environment), "-m", "bench.client", one.module, one.kind]
    process = subprocess.Popen(
        [*command, one.http, base_url, wire],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.read() or '{"error": "the process ended"}')
    process.stdout.close()
    # `wait4` has the CPU of this process alone, with the start and the end of its interpreter.
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if "error" in found:
        report.refuse(client, found["error"])
        return {}
    return {"cpu": used.ru_utime + used.ru_stime, "memory": found["memory"]}


@dataclass(frozen=True, slots=True)
class Size:
    """The packages that pip installs, without bytecode."""

    def run(self, clients: Sequence[str], _: int | None, report: Report) -> Figures:
        """The figures of the libraries among these clients."""
        figures: Figures = {"": {"distributions": {}, "disk": {}}}
        for client in clients:
            if client == "wire" or IMPLEMENTATIONS[client].is_peer:
                name = _INSTALLED.get(client, client)
                python = python_of(IMPLEMENTATIONS[client].environment)
                found = _json([python, "-c", _SIZE, name], f"size of {client}", report)
                if client == "wire":  # an editable install lists no files of the package
                    files = [each for each in (ROOT / "wire").rglob("*") if each.suffix != ".pyc"]
                    found["disk"] += sum(each.stat().st_size for each in files if each.is_file())
                for measure, values in figures[""].items():
                    values[client] = [found.get(measure)]
        return figures


def _json(command: Sequence[str], what: str, report: Report) -> dict[str, Any]:
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        report.fail(f"{what}: {' '.join(done.stderr.strip().splitlines()[-1:])}")
        return {}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
