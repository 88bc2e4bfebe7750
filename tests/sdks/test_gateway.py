"""The vendors' own clients on models of the other vendors, through the gateway."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.sdks.test_sdks import (
    AGES,
    ANTHROPIC_JAVASCRIPT,
    HERE,
    JAVASCRIPT,
    OLLAMA,
    OLLAMA_JAVASCRIPT,
    OPENAI_JAVASCRIPT,
    OTHERWISE,
    SAID,
    VENVS,
    WANTED,
    cases,
)
from wire import AsyncChat
from wire.gateway import Gateway, serve
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

BACKENDS = ("gemini:gemini-3.8-flash", "openai@responses:gpt-5.4", "anthropic:claude-opus-4-8")
JOBS = {
    "google": (
        "plain",
        "plain_v1beta",
        "stream",
        "stream_async",
        "json_schema",
        "chat",
        "chat_tools_streamed",
        "retried",
    ),
    "openai": (
        "plain",
        "stream",
        "stream_helper",
        "json_schema",
        "error_400",
        "retried",
        "responses_tools",
        "responses_parsed",
    ),
    "anthropic": ("bearer", "stream", "tools", "retried"),
}
"""Cases of the clients for Python whose outcome does not depend on the model."""
OLLAMA_JOBS = ("plain", "tools", "tools_streamed", "json_schema", "generate")
JAVASCRIPT_JOBS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "google": (JAVASCRIPT, ("plain", "stream", "chat_tools_streamed")),
    "openai": (OPENAI_JAVASCRIPT, ("plain", "tools", "json_schema")),
    "anthropic": (ANTHROPIC_JAVASCRIPT, ("plain", "stream")),
    "ollama": (OLLAMA_JAVASCRIPT, OLLAMA_JOBS),
}

pytestmark = [pytest.mark.sdks, pytest.mark.timeout(300)]


@pytest.fixture(params=BACKENDS, ids=lambda name: name.partition(":")[0])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    http = AsyncEmulatorTransport(Emulator())
    model = AsyncChat(request.param, http=http, api_key="fake-key", retry=None)
    with serve(Gateway(model)) as server:
        yield server.url


def without_blanks(found: dict[str, Any]) -> str:
    """The outcomes as text: each model writes the JSON of arguments in a style of its own."""
    return json.dumps(found).replace(" ", "")


@pytest.mark.parametrize("vendor", JOBS)
@pytest.mark.parametrize("age", AGES)
def test_clients_for_python(url: str, age: str, vendor: str) -> None:
    jobs = JOBS[vendor]
    found = cases(VENVS / age / "bin" / "python", HERE / f"drive_{vendor}.py", url, *jobs)
    wanted = WANTED[vendor] | OTHERWISE.get(f"{age} {vendor}", {})
    assert without_blanks(found) == without_blanks({name: wanted[name] for name in jobs})


def test_client_of_ollama_for_python(url: str) -> None:
    python, driver = VENVS / "today" / "bin" / "python", HERE / "drive_ollama.py"
    found = cases(python, driver, url, *OLLAMA_JOBS)
    assert without_blanks(found) == without_blanks({name: OLLAMA[name] for name in OLLAMA_JOBS})


def test_clients_for_hosts_behind_clouds(url: str) -> None:
    jobs = [f"{name} {case}" for name in ("bedrock", "vertex") for case in ("plain", "streamed")]
    jobs += ["bedrock_signed streamed", "azure_chat", "azure_stream"]
    python, driver = VENVS / "today" / "bin" / "python", HERE / "drive_hosts.py"
    found = cases(python, driver, url, *jobs, "invoked_as_stream")
    [ok, [kinds, tokens]] = found.pop("invoked_as_stream")
    assert (ok, kinds[0], tokens > 9) == ("ok", "message_start", True)
    said = [told[0] if isinstance(told, list) else told for _, told in found.values()]
    assert said == [SAID] * len(jobs)


@pytest.mark.parametrize("age", AGES)
def test_embeddings_and_files(age: str) -> None:
    http = AsyncEmulatorTransport(Emulator())
    names = {"gemini-embedding-*": "gemini:gemini-embedding-001", "gemini-*": BACKENDS[0]}
    names |= {"*": names["gemini-embedding-*"]}  # for the names of OpenAI
    models = {
        name: AsyncChat(model, http=http, api_key="fake-key", retry=None)
        for name, model in names.items()
    }
    jobs = {"google": ("embeddings", "files", "files_video"), "openai": ("embeddings",)}
    with serve(Gateway(models)) as server:
        for vendor, each in jobs.items():
            python, driver = VENVS / age / "bin" / "python", HERE / f"drive_{vendor}.py"
            found = cases(python, driver, server.url, *each)
            assert found == {name: WANTED[vendor][name] for name in each}


@pytest.mark.parametrize("vendor", JAVASCRIPT_JOBS)
def test_clients_for_javascript(url: str, vendor: str) -> None:
    modules = VENVS / "today" / "node" / "node_modules"
    if shutil.which("node") is None or not modules.exists():
        pytest.skip("node is not there")
    wanted, jobs = JAVASCRIPT_JOBS[vendor]
    found = cases("node", HERE / f"drive_{vendor}.cjs", url, NODE_PATH=str(modules))
    told = without_blanks({name: found[name] for name in jobs})
    assert told == without_blanks({name: wanted[name] for name in jobs})
