"""Command-line agents of npm against the emulator: each runs its own tools for two parallel calls.
`make test-clis`.

They are installed in `.clis`, which git ignores; one that cannot be installed is skipped.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from wire.testing.emulator import Answer, Emulator, serve

FOLDER = Path(__file__).parents[2] / ".clis"
INSTALL_SECONDS = 240
RUN_SECONDS = 60

QUESTION = "What is the weather in the two cities?"
REPLY = "Oslo is grey, and Paris is blue."
WEATHER = {"oslo.txt": "grey", "paris.txt": "blue"}

pytestmark = [pytest.mark.clis, pytest.mark.timeout(INSTALL_SECONDS + 2 * RUN_SECONDS)]


@dataclass(frozen=True)
class Exchange:
    """The calls, the results and the signatures that a request sends back."""

    calls: dict[str, str]
    """The file that a call reads, by the id of the call."""
    results: dict[str, str]
    """The text of a result, by the id of its call."""
    signatures: list[str]


@dataclass(frozen=True)
class Cli:
    """A command-line agent."""

    package: str
    version: str
    program: str
    """The script that node runs, in the package's folder."""
    arguments: tuple[str, ...]
    """They follow the question."""
    url_variable: str
    environment: Mapping[str, str]
    settings: Mapping[str, Any]
    """Contents of JSON files in the home folder, by their paths."""
    tool: str
    """The agent's tool that reads the file at `file_path`."""
    reply_key: str
    """Where its JSON output has the reply."""
    exchange: Callable[[Any], Exchange]
    """Reads the body of a request."""


class Kept(Emulator):
    """An emulator that keeps the bodies of its answers."""

    def __init__(self, script: Any) -> None:
        super().__init__(script)
        self.sent: list[str] = []

    def answer(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | Iterable[tuple[str, str]],
        body: bytes,
    ) -> Answer:
        answer = super().answer(method, target, headers, body)
        self.sent.append(answer.body.decode())
        return answer


def of_gemini(body: Any) -> Exchange:
    parts = [part for content in body["contents"] for part in content["parts"]]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    return Exchange(
        {call["id"]: Path(call["args"]["file_path"]).name for call in calls},
        {result["id"]: result["response"]["output"] for result in results},
        [part["thoughtSignature"] for part in parts if "thoughtSignature" in part],
    )


def of_messages(body: Any) -> Exchange:
    contents = [message["content"] for message in body["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    calls = [block for block in blocks if block["type"] == "tool_use"]
    results = [block for block in blocks if block["type"] == "tool_result"]
    return Exchange(
        {call["id"]: Path(call["input"]["file_path"]).name for call in calls},
        {result["tool_use_id"]: result["content"] for result in results},
        [block["signature"] for block in blocks if block["type"] == "thinking"],
    )


GEMINI = Cli(
    package="@google/gemini-cli",
    version="0.61.0",
    program="bundle/gemini.js",
    arguments=("--output-format", "json"),
    url_variable="GOOGLE_GEMINI_BASE_URL",
    environment={"GEMINI_API_KEY": "fake-key", "GEMINI_CLI_TRUST_WORKSPACE": "true"},
    settings={
        ".gemini/settings.json": {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "telemetry": {"enabled": False},
        }
    },
    tool="read_file",
    reply_key="response",
    exchange=of_gemini,
)
CLAUDE = Cli(
    package="@anthropic-ai/claude-code",
    version="2.1.330",
    # `bin/claude.exe` exists only after npm ran the package's install script.
    program="cli-wrapper.cjs",
    arguments=("--output-format", "json", "--allowedTools", "Read"),
    url_variable="ANTHROPIC_BASE_URL",
    environment={
        "ANTHROPIC_API_KEY": "fake-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    },
    settings={},
    tool="Read",
    reply_key="result",
    exchange=of_messages,
)


@functools.cache
def missing(package: str, version: str) -> str:
    """Install a package unless it is there; why that failed, or an empty string."""
    folder = FOLDER / package.rpartition("/")[2]
    manifest = folder / "node_modules" / package / "package.json"
    if manifest.exists() and json.loads(manifest.read_text("utf-8"))["version"] == version:
        return ""
    if shutil.which("npm") is None:
        return "npm is not there"
    options = ("--prefix", str(folder), "--no-fund", "--no-audit", "--ignore-scripts")
    code, _, log = run(
        ["npm", "install", "--loglevel=error", *options, f"{package}@{version}"],
        seconds=INSTALL_SECONDS,
    )
    return "" if code == 0 else f"npm cannot install {package} {version}: {log.strip()[:300]}"


def run(
    command: list[str],
    *,
    seconds: int,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[int | None, str, str]:
    """Exit code, output and log of a command, which is ended with all processes it started.

    The code is `None` if it took too long.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=None if environment is None else dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Both agents start processes of their own, which outlive a killed parent.
        start_new_session=True,
    )
    code: int | None = None
    try:
        output, log = process.communicate(timeout=seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, log = process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return code, output, log


def reply(cli: Cli, emulator: Emulator, home: Path, *arguments: str, **environment: str) -> Any:
    """What an agent replies to the question, in a folder with the two files."""
    with serve(emulator) as server:
        return reply_at(server.url, cli, home, *arguments, **environment)


def reply_at(url: str, cli: Cli, home: Path, *arguments: str, **environment: str) -> Any:
    """As `reply`, with the server at this address."""
    folder = home / "cities"
    folder.mkdir()
    for name, weather in WEATHER.items():
        (folder / name).write_text(f"{weather}\n", "utf-8")
    for name, settings in cli.settings.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(json.dumps(settings), "utf-8")
    program = FOLDER / cli.package.rpartition("/")[2] / "node_modules" / cli.package / cli.program
    code, output, log = run(
        ["node", str(program), "-p", QUESTION, *cli.arguments, *arguments],
        seconds=RUN_SECONDS,
        folder=folder,
        environment={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            cli.url_variable: url,
            **cli.environment,
            **environment,
        },
    )
    assert code == 0, f"{output}\n{log}"
    return json.loads(output)[cli.reply_key]


def steps(cli: Cli, home: Path, model: str) -> list[dict[str, Any]]:
    """Two calls in one answer, then the reply."""
    calls = [
        {"name": cli.tool, "args": {"file_path": str(home / "cities" / name)}} for name in WEATHER
    ]
    # Requests of the agent's own, such as those that choose the model, get the small model.
    match = {"model": model}
    return [
        {"match": match, "say": {"text": "I read.", "thoughts": "Two files.", "calls": calls}},
        {"match": match, "say": REPLY},
    ]


def asked(emulator: Emulator, model: str) -> list[dict[str, Any]]:
    """The requests for a model."""
    return [
        each
        for each in emulator.requests
        if f"/models/{model}:" in each["target"] or each["body"].get("model") == model
    ]


def check_exchange(found: Exchange, sent: str) -> None:
    """Both results belong to their calls, and ids and signatures are those that were sent."""
    assert sorted(found.calls.values()) == sorted(WEATHER)
    assert found.results.keys() == found.calls.keys()
    for id, text in found.results.items():
        assert WEATHER[found.calls[id]] in text
        assert f'"{id}"' in sent
    [signature] = found.signatures
    assert signature
    assert f'"{signature}"' in sent


@pytest.mark.parametrize(
    ("cli", "model", "arguments", "environment"),
    [
        # Its first request lets another model choose this one.
        (GEMINI, "gemini-3.8-flash", (), {}),
        (GEMINI, "gemini-3.1-pro-preview", ("--model", "gemini-3.1-pro-preview"), {}),
        (CLAUDE, "claude-opus-5-5", (), {}),
        (
            CLAUDE,
            "claude-haiku-4-5",
            ("--model", "claude-haiku-4-5"),
            {"MAX_THINKING_TOKENS": "2000"},
        ),
    ],
    ids=["gemini routed", "gemini", "claude", "claude with a thinking budget"],
)
def test_two_parallel_calls(
    cli: Cli,
    model: str,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    if reason := missing(cli.package, cli.version):
        pytest.skip(reason)
    emulator = Kept(steps(cli, tmp_path, model))
    assert reply(cli, emulator, tmp_path, *arguments, **environment) == REPLY
    assert {each["status"] for each in emulator.requests} == {200}
    [_, second] = asked(emulator, model)
    check_exchange(cli.exchange(second["body"]), "".join(emulator.sent))


@pytest.mark.parametrize(
    ("cli", "model", "fault"),
    [(GEMINI, "gemini-3.8-flash", "503"), (CLAUDE, "claude-opus-5-5", "529; retry-after=0")],
    ids=["gemini", "claude"],
)
def test_an_overloaded_server_is_asked_again(
    cli: Cli, model: str, fault: str, tmp_path: Path
) -> None:
    if reason := missing(cli.package, cli.version):
        pytest.skip(reason)
    first, last = steps(cli, tmp_path, model)
    emulator = Kept([first, {"match": first["match"], "fault": fault}, last])
    assert reply(cli, emulator, tmp_path, "--model", model) == REPLY
    requests = asked(emulator, model)
    assert [each["status"] for each in requests] == [200, int(fault[:3]), 200]
    assert requests[1]["body"] == requests[2]["body"]
    check_exchange(cli.exchange(requests[2]["body"]), "".join(emulator.sent))
