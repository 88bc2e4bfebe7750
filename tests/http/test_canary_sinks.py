"""Each way in which a key enters, and each place where it could come out, on all wires (R-28).

A scene is a program that does what people do: an agent with a tool, a saved run and a session, a
recording, a cache, a bulk run, a span with content, a refused request whose error repeats what was
sent. Whatever the program wrote, logged or printed is searched for the key.
"""

from __future__ import annotations

import copy
import json
import logging
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import httpx
import msgspec
import pytest

from tests.http.test_canary import KEY, TRACES, hits, sinks_of_error
from tests.telemetry import Telemetry
from wire import Chat, Client, WireError, bulk, tool
from wire.agent import Agent, save_run
from wire.errors import ConfigurationError
from wire.pipeline.command import run_shell
from wire.sessions import Session, save_session
from wire.testing import Cache, Record
from wire.testing.cassette.format.file import load
from wire.testing.cassette.views.page import page
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.tools import mcp

MODELS = {
    "gemini": "gemini:gemini-3.8-flash",
    "openai": "openai:gpt-4o",
    "responses": "openai@responses:gpt-5.4",
    "anthropic": "anthropic:claude-sonnet-5",
}
VARIABLES = {
    "gemini": "GEMINI_API_KEY",
    "openai": "OPENAI_API_KEY",
    "responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
FAKE = "fake-key"
MCP = {
    "gemini": {
        "tools": [
            {
                "mcp_servers": [
                    {
                        "name": "tide",
                        "streamable_http_transport": {
                            "url": "https://mcp.example",
                            "headers": {"Authorization": f"Bearer {KEY}"},
                        },
                    }
                ]
            }
        ]
    },
    "openai": {"tools": [{"type": "mcp", "server_label": "tide", "authorization": KEY}]},
    "responses": {"tools": [{"type": "mcp", "server_label": "tide", "authorization": KEY}]},
    "anthropic": {
        "mcp_servers": [
            {
                "type": "url",
                "name": "tide",
                "url": "https://mcp.example",
                "authorization_token": KEY,
            }
        ]
    },
}
"""The field of each wire with the token of an MCP server."""


class Entry(NamedTuple):
    """How a key enters."""

    options: Callable[[str], dict[str, Any]]
    """Of the wire: the options of a chat."""
    environment: Callable[[str], dict[str, str]] = lambda wire: {}
    body: Callable[[str], dict[str, Any]] = lambda wire: {}
    refused: bool = False
    """Whether the client takes no such option."""


ENTRIES = {
    "api_key": Entry(lambda wire: {"api_key": KEY}),
    "environment": Entry(lambda wire: {}, lambda wire: {VARIABLES[wire]: KEY}),
    "header": Entry(lambda wire: {"api_key": FAKE, "headers": {"x-team": KEY}}),
    "secret header": Entry(lambda wire: {"api_key": FAKE, "headers": {"x-vault-token": KEY}}),
    "cookie": Entry(lambda wire: {"api_key": FAKE, "headers": {"cookie": f"session={KEY}; a=b"}}),
    "body": Entry(lambda wire: {"api_key": FAKE}, body=lambda wire: MCP[wire]),
    "proxy": Entry(
        lambda wire: {"api_key": FAKE},
        lambda wire: {"HTTPS_PROXY": f"http://me:{KEY}@proxy.example:3128"},
    ),
    "query of base_url": Entry(
        lambda wire: {"api_key": FAKE, "base_url": f"https://llm.example/v1?key={KEY}"},
        refused=True,
    ),
    "user of base_url": Entry(
        lambda wire: {"api_key": FAKE, "base_url": f"https://{KEY}@llm.example/v1"}, refused=True
    ),
    "password of base_url": Entry(
        lambda wire: {"api_key": FAKE, "base_url": f"https://me:{KEY}@llm.example/v1"},
        refused=True,
    ),
    "path of base_url": Entry(
        lambda wire: {"api_key": FAKE, "base_url": f"https://llm.example/{KEY}/v1"}, refused=True
    ),
}


def refusal(request: httpx.Request, body: bytes) -> httpx.Response | None:
    """For a request that asks for it, a 400 that repeats all that was sent."""
    if b"refuse me" in body:
        told = f"{request.url} {dict(request.headers)} {body.decode()}"
        return httpx.Response(400, json={"error": {"message": told, "type": "x", "code": 400}})
    request.url = httpx.URL(str(request.url).replace(f"/{KEY}", ""))
    return None


class Echo(EmulatorTransport):
    """The emulator, with refusals."""

    has_key = False
    """Whether a request had the key."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = request.read()
        self.has_key |= KEY in f"{request.url} {request.headers.multi_items()} {body.decode()}"
        return refusal(request, body) or super().handle_request(request)


class AsyncEcho(AsyncEmulatorTransport):
    """The same for asynchronous clients."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        return refusal(request, body) or await super().handle_async_request(request)


def emulator() -> Emulator:
    calls = [{"name": "tide", "args": {"port": "Brest"}}]
    return Emulator([{"say": {"calls": calls}}, {"say": "High tide is at 05:12.", "times": 0}])


@tool
def tide(port: str) -> str:
    """Tell when the tide is high."""
    return "05:12"


def printed(value: Any, is_data: bool = False) -> str:
    """What people print or store of an object; of data, which is to be sent, what they print."""
    shown = [repr(value), str(value)]
    for make in (
        ()
        if is_data
        else (
            lambda: repr(copy.copy(value)),
            lambda: repr(pickle.dumps(value)),
            lambda: repr(vars(value)),
            lambda: repr(msgspec.json.encode(value, enc_hook=repr)),
        )
    ):
        try:
            shown.append(make())
        except Exception as error:
            shown.append(repr(error))
    return "".join(shown)


def scene(wire: str, entry: Entry, folder: Path) -> dict[str, str]:
    """Do what a program does, and return what came out of it, by the name of the sink."""
    model, options, echo = MODELS[wire], {"retry": None, **entry.options(wire)}, Echo(emulator())
    name = model.partition(":")[0]
    telemetry = Telemetry()
    around = telemetry.tracing(content=True)
    given = {"options": {name.partition("@")[0]: entry.body(wire)}} if entry.body(wire) else {}
    sinks: dict[str, str] = {}
    is_data = bool(given)  # a call with a token in its body has to be sent with it
    recorded = folder / "tide.cassette.json"
    with Chat(model, http=Record(echo, recorded), around=around, **options, **given) as chat:
        agent = Agent(
            chat, tools=[tide], on_change=lambda state: save_run(folder / "run.json", state)
        )
        result = agent.run("When is high tide in Brest?")
        save_session(folder / "session.json", Session(messages=result.messages))
        call = chat.call("Hi")
        assert ("chat/completions" in call.path) is (wire == "openai")
        sinks |= {
            "repr of the chat": printed(chat, is_data),
            "repr of the agent": printed(agent),
            "result and state": printed(result) + printed(result.state),
            "call": printed(call, is_data) + printed(call.preview()),
        }
    assert echo.has_key is ("HTTPS_PROXY" not in entry.environment(wire))
    with Client(name, http=Echo(emulator()), **options) as client:
        preview = client.preview(call)
        sinks["preview"] = printed(preview) + preview.curl
        sinks["description"] = repr(client.describe()) + printed(client)
    with Chat(
        model, http=Cache(folder / "cache", inner=Echo(emulator())), **options, **given
    ) as chat:
        chat.ask("Hi")
        chat.ask("Hi")
    with Chat(model, http=Echo(emulator()), around=around, **options, **given) as chat:
        try:
            chat.ask("refuse me")
        except WireError as error:
            sinks |= {f"error: {sink}": text for sink, text in sinks_of_error(error).items()}
    sinks |= bulk_run(model, {**options, **given}, folder)
    sinks["requests of the emulator"] = json.dumps(echo.emulator.requests)
    sinks["span"] = telemetry.text
    sinks["page"] = page(load(recorded.read_bytes(), "x").interactions, "x")
    return sinks


def bulk_run(model: str, options: dict[str, Any], folder: Path) -> dict[str, str]:
    """A bulk run with a row that succeeds and one that fails."""
    rows = [{"id": "a", "prompt": "Hi"}, {"id": "b", "prompt": "refuse me"}]

    async def main() -> Any:
        http = AsyncEcho(emulator())
        run = bulk.run(rows, model, to=folder / "out.jsonl", http=http, **options)
        return await run.finish()

    progress = anyio.run(main)
    assert (folder / "out.jsonl.dead.jsonl").stat().st_size > 0
    return {"bulk": printed(progress)}


def files_of(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield f"file {path.relative_to(folder)}", path.read_bytes().decode("latin-1")


WRITTEN = {
    "file tide.cassette.json", "file run.json", "file session.json", "file out.jsonl",
    "file out.jsonl.dead.jsonl",
}  # fmt: skip
EXPECTED = {
    "repr of the chat", "repr of the agent", "result and state", "call", "preview", "description",
    "error: str", "error: traceback with locals", "error: restored", "bulk", "span", "page",
    "requests of the emulator", "log", *WRITTEN,
}  # fmt: skip
"""The sinks that each scene has."""


SHOWS_PROCESSES = """
env
echo "--- children ---"
for each in /proc/[0-9]*; do
    # Of the processes that this one, its parent and so on started: SHOWS_ITSELF
    case " $(cut -d' ' -f4,5 "$each/stat" 2>/dev/null) " in
        *" $PPID "*|*" $$ "*) tr '\\0' '\\n' < "$each/cmdline"; tr '\\0' '\\n' < "$each/environ";;
    esac
done
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_commands_get_no_key_and_the_list_of_processes_shows_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HARMLESS", f"see {KEY}")
    with Client("openai", api_key=KEY):
        shown = run_shell(SHOWS_PROCESSES, tmp_path, 30)
    begin, _, processes = shown.partition("--- children ---")
    assert "PATH=" in begin
    assert "SHOWS_ITSELF" in processes
    assert not any(trace in shown for trace in TRACES)


class Stdio:
    """A session with an MCP server that was started with a key in its arguments."""

    def __init__(self, listed: Any) -> None:
        self.command, self.args, self.env = "uvx", ["server", "--api-key", KEY], {"KEY": KEY}
        self.listed = listed

    async def list_tools(self, cursor: Any = None) -> Any:
        return self.listed

    async def call_tool(self, name: str, arguments: Any) -> Any:
        return {"content": [{"type": "text", "text": "down"}], "isError": True}


STRANGE = [
    {"tools": [{"name": 1}]},
    {"tools": 7},
    None,
    {"tools": [{"name": "a", "inputSchema": 1}]},
]


@pytest.mark.parametrize("listed", STRANGE)
def test_arguments_of_an_mcp_server_are_in_no_error_of_its_tools(listed: Any) -> None:
    with pytest.raises(WireError) as raised:
        anyio.run(mcp.tools, Stdio(listed))
    assert hits(sinks_of_error(raised.value)) == []


def test_arguments_of_an_mcp_server_are_in_no_repr_of_its_tools() -> None:
    schema = {"type": "object", "properties": {}}
    tools = anyio.run(mcp.tools, Stdio({"tools": [{"name": "moor", "inputSchema": schema}]}))
    assert [each.name for each in tools] == ["moor"]
    assert KEY[4:16] not in "".join(map(printed, tools))


WIRES = [*MODELS]
CASES = [
    pytest.param(
        wire,
        entry,
        # Quick: each entry on one wire.
        marks=() if WIRES[number % len(WIRES)] == wire else (pytest.mark.slow,),
    )
    for number, entry in enumerate(ENTRIES)
    for wire in WIRES
]


@pytest.mark.parametrize(("wire", "entry"), CASES)
def test_no_sink_has_a_key_whatever_its_entry(
    wire: str,
    entry: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", *VARIABLES.values()):
        monkeypatch.delenv(name, raising=False)
    for name, value in ENTRIES[entry].environment(wire).items():
        monkeypatch.setenv(name, value)
    for logger in ("", "wire", "wire.http", "httpx", "httpcore", "asyncio"):
        caplog.set_level(logging.DEBUG, logger)
    if ENTRIES[entry].refused:
        with pytest.raises(ConfigurationError, match="base_url") as raised:
            scene(wire, ENTRIES[entry], tmp_path)
        sinks = sinks_of_error(raised.value)
    else:
        sinks = scene(wire, ENTRIES[entry], tmp_path)
        sinks |= dict(files_of(tmp_path))
        sinks["log"] = caplog.text + repr([vars(each) for each in caplog.records])
        assert sinks.keys() >= EXPECTED, EXPECTED - sinks.keys()
        assert any("cache" in sink for sink in sinks)
        assert len(caplog.records) > 9
    found = [sink for sink, text in sinks.items() if any(trace in text for trace in TRACES)]
    assert found == []
