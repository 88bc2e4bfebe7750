"""Command-line agents of npm, each of which runs its own tools: how they are installed and run.

They are installed in `.clis`, which git ignores.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wire.testing.emulator import Answer, Emulator, serve

FOLDER = Path(__file__).parents[2] / ".clis"
INSTALL_SECONDS = 240
RUN_SECONDS = 60

QUESTION = "What is the weather in the two cities?"
REPLY = "Oslo is grey, and Paris is blue."
WEATHER = {"oslo.txt": "grey", "paris.txt": "blue"}


@dataclass(frozen=True)
class Exchange:
    """The calls, the results and the signatures that a request sends back."""

    calls: dict[str, str]
    """The file that a call reads, by the id of the call."""
    results: dict[str, str]
    """The text of a result, by the id of its call."""
    signatures: list[str]
    """Signatures, or encrypted contents, of thoughts. Chat completions have none."""


@dataclass(frozen=True)
class Cli:
    """A command-line agent. `{url}` in a text stands for the address of the server."""

    package: str
    version: str
    program: str
    """The script that node runs, in the folder `node_modules`; or a pattern of the programs that
    run alone, of which the last in alphabetical order is taken."""
    verb: str
    """It stands before the question."""
    arguments: tuple[str, ...]
    """They follow the question."""
    environment: Mapping[str, str]
    call: Callable[[Path], dict[str, Any]]
    """The call of the agent's own tool that reads a file."""
    reply: Callable[[str], str]
    """The reply in what the agent prints."""
    exchange: Callable[[Any], Exchange]
    """Reads the body of a request."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Contents of JSON files in the home folder, by their paths."""


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


def of_responses(body: Any) -> Exchange:
    items = body["input"]
    calls = [each for each in items if each.get("type") in ("function_call", "custom_tool_call")]
    results = [each for each in items if str(each.get("type")).endswith("_call_output")]
    return Exchange(
        {call["call_id"]: read_by(call.get("arguments") or call["input"]) for call in calls},
        {result["call_id"]: json.dumps(result["output"]) for result in results},
        [each["encrypted_content"] for each in items if each.get("type") == "reasoning"],
    )


def of_chat(body: Any) -> Exchange:
    messages = body["messages"]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    results = [message for message in messages if message["role"] == "tool"]
    return Exchange(
        {call["id"]: read_by(call["function"]["arguments"]) for call in calls},
        {result["tool_call_id"]: json.dumps(result["content"]) for result in results},
        [],
    )


def of_chat_or_responses(body: Any) -> Exchange:
    return of_chat(body) if "messages" in body else of_responses(body)


def read_by(arguments: str) -> str:
    """The name of the file that a call with these arguments reads."""
    [name] = [name for name in WEATHER if name in arguments]
    return name


def lines(output: str) -> list[Any]:
    """The JSON of each line."""
    return [json.loads(line) for line in output.splitlines()]


def shell(path: Path) -> dict[str, Any]:
    """A call of codex, which reads files with commands."""
    return {"name": "exec_command", "args": {"cmd": f"cat {path.name}"}}


def script(path: Path) -> dict[str, Any]:
    """A call of codex on a model for which its only tool runs scripts that call its other tools."""
    command = json.dumps({"cmd": f"cat {path.name}"})
    return {"name": "exec", "args": {"input": f"text(await tools.exec_command({command}))"}}


GEMINI = Cli(
    package="@google/gemini-cli",
    version="0.61.0",
    program="@google/gemini-cli/bundle/gemini.js",
    verb="-p",
    arguments=("--output-format", "json"),
    environment={
        "GOOGLE_GEMINI_BASE_URL": "{url}",
        "GEMINI_API_KEY": "fake-key",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    },
    settings={
        ".gemini/settings.json": {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "telemetry": {"enabled": False},
        }
    },
    call=lambda path: {"name": "read_file", "args": {"file_path": str(path)}},
    reply=lambda output: str(json.loads(output)["response"]),
    exchange=of_gemini,
)
CLAUDE = Cli(
    package="@anthropic-ai/claude-code",
    version="2.1.332",
    # `bin/claude.exe` exists only after npm ran the package's install script.
    program="@anthropic-ai/claude-code/cli-wrapper.cjs",
    verb="-p",
    arguments=("--output-format", "json", "--allowedTools", "Read"),
    environment={
        "ANTHROPIC_BASE_URL": "{url}",
        "ANTHROPIC_API_KEY": "fake-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    },
    call=lambda path: {"name": "Read", "args": {"file_path": str(path)}},
    reply=lambda output: str(json.loads(output)["result"]),
    exchange=of_messages,
)
CODEX = Cli(
    package="@openai/codex",
    version="0.171.0",
    program="@openai/codex/bin/codex.js",
    verb="exec",
    arguments=(
        "--skip-git-repo-check",
        "--json",
        "--dangerously-bypass-approvals-and-sandbox",
        "-c",
        'model_provider="wire"',
        "-c",
        'model_providers.wire={name="wire",base_url="{url}/v1",env_key="KEY",wire_api="responses"}',
    ),
    environment={"KEY": "fake-key"},
    call=shell,
    reply=lambda output: str(
        [
            each["item"]["text"]
            for each in lines(output)
            if each.get("item", {}).get("type") == "agent_message"
        ][-1]
    ),
    exchange=of_responses,
)
OPENCODE = Cli(
    package="opencode-ai",
    version="1.18.33",
    # The package's own program exists only after npm ran its install script. Of the packages of
    # the platform, `-baseline` comes last, which runs on any processor.
    program="opencode-*-*/bin/opencode",
    verb="run",
    # With a title it asks no model for one.
    arguments=("--format", "json", "--title", "Cities"),
    environment={
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        # Otherwise it installs a package for plugins in the home folder.
        "npm_config_offline": "true",
    },
    settings={
        ".config/opencode/opencode.json": {
            "share": "disabled",
            "provider": {
                name: {
                    "npm": npm,
                    "options": {"baseURL": "{url}/v1", "apiKey": "fake-key"},
                    "models": {model: {} for model in models},
                }
                for name, npm, models in (
                    ("chat", "@ai-sdk/openai-compatible", ("deepseek-v4-pro", "kimi-k3")),
                    ("responses", "@ai-sdk/openai", ("gpt-5.6", "gpt-6.1-sol")),
                )
            },
        }
    },
    call=lambda path: {"name": "read", "args": {"filePath": str(path)}},
    reply=lambda output: str(
        [each["part"]["text"] for each in lines(output) if each["type"] == "text"][-1]
    ),
    exchange=of_chat_or_responses,
)
QWEN = Cli(
    package="@qwen-code/qwen-code",
    version="0.24.4",
    program="@qwen-code/qwen-code/cli.js",
    verb="-p",
    arguments=("--output-format", "json"),
    environment={"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "fake-key"},
    settings={
        ".qwen/settings.json": {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "openai"}},
            "telemetry": {"enabled": False},
        }
    },
    call=lambda path: {"name": "read_file", "args": {"file_path": str(path)}},
    reply=lambda output: str(json.loads(output)[-1]["result"]),
    exchange=of_chat,
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
        # The agents start processes of their own, which outlive a killed parent.
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


def reply(cli: Cli, emulator: Emulator, home: Path, *arguments: str, **environment: str) -> str:
    """What an agent replies to the question, in a folder with the two files."""
    with serve(emulator) as server:
        return reply_at(server.url, cli, home, *arguments, **environment)


def reply_at(url: str, cli: Cli, home: Path, *arguments: str, **environment: str) -> str:
    """As `reply`, with the server at this address."""
    folder = home / "cities"
    folder.mkdir()
    for name, weather in WEATHER.items():
        (folder / name).write_text(f"{weather}\n", "utf-8")
    for name, settings in cli.settings.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(json.dumps(settings).replace("{url}", url), "utf-8")
    environment = {**cli.environment, **environment}
    code, output, log = run(
        [
            *program(cli),
            cli.verb,
            QUESTION,
            *(each.replace("{url}", url) for each in cli.arguments),
            *arguments,
        ],
        seconds=RUN_SECONDS,
        folder=folder,
        environment={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            **{name: each.replace("{url}", url) for name, each in environment.items()},
        },
    )
    assert code == 0, f"{output}\n{log}"
    return cli.reply(output)


def program(cli: Cli) -> list[str]:
    """The beginning of the command that runs an agent."""
    modules = FOLDER / cli.package.rpartition("/")[2] / "node_modules"
    path = max(modules.glob(cli.program))
    return ["node", str(path)] if path.suffix else [str(path)]


def calls(cli: Cli, home: Path) -> list[dict[str, Any]]:
    """The calls that read the two files."""
    return [cli.call(home / "cities" / name) for name in WEATHER]


def asked(emulator: Emulator, model: str) -> list[dict[str, Any]]:
    """The requests for a model."""
    return [
        each
        for each in emulator.requests
        if f"/models/{model}:" in each["target"] or each["body"].get("model") == model
    ]


def check_exchange(found: Exchange, sent: str, *, signatures: int = 1) -> None:
    """Both results belong to their calls, and ids and signatures are those that were sent."""
    assert sorted(found.calls.values()) == sorted(WEATHER)
    assert found.results.keys() == found.calls.keys()
    for id, text in found.results.items():
        assert WEATHER[found.calls[id]] in text
        assert f'"{id}"' in sent
    assert len(set(found.signatures)) == signatures
    for signature in found.signatures:
        assert signature
        assert f'"{signature}"' in sent
