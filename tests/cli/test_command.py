"""Each subcommand but `chat`, against the emulator on loopback; bad input; output on a pipe."""

from __future__ import annotations

import importlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import MODELS, Command, at
from wire import Chat, answer_account
from wire.core.version import VERSION
from wire.errors import RateLimitError, WireError
from wire.testing.emulator import Emulator, EmulatorTransport, Server, serve

ECHO = "This is an emulator, and no model. You said: "
WIRES = pytest.mark.parametrize("name", MODELS)
PNG = b"\x89PNG\r\n\x1a\n"

BODIES: dict[str, dict[str, Any]] = {
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    "openai": {"messages": [{"role": "user", "content": "Hi"}]},
    "anthropic": {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 50},
}
NEUTRAL: dict[str, Any] = {
    "messages": [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}],
    "system": "Be brief.",
    "tools": [{"name": "now", "description": "The time."}],
    "stop": ["END"],
}


def file(name: str, value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    Path(name).write_bytes(data)
    return name


# --- ask, preview, count --------------------------------------------------------------------------


@WIRES
def test_ask_prints_the_answer(wire: Command, server: Server, name: str) -> None:
    options = (*at(server, name), "--max-tokens", 99)
    assert wire("ask", "Hi", "there", *options) == (0, f"{ECHO}Hi there\n", "")
    assert "stream" not in str(server.requests[-1])
    assert wire("ask", "Hi", "--stream", *options) == (0, f"{ECHO}Hi\n", "")
    assert "stream" in str(server.requests[-1])


@WIRES
def test_ask_as_json(wire: Command, server: Server, name: str) -> None:
    said = wire("ask", "Hi", "--json", *at(server, name))
    assert said.err == ""
    assert said.json["text"] == f"{ECHO}Hi"
    assert said.json["stop"] == "end"
    assert said.json["usage"]["output"] > 0
    said = wire("ask", "Hi", "--json", "--stream", *at(server, name))
    events = [json.loads(line) for line in said.out.splitlines()]
    assert "".join(
        each.get("text", "") for each in events[:-1] if each["event"] == "TextDelta"
    ) == (f"{ECHO}Hi")
    assert (events[-1]["event"], events[-1]["text"]) == ("Done", f"{ECHO}Hi")


def test_the_prompt_comes_from_arguments_stdin_and_files(wire: Command, server: Server) -> None:
    options = at(server, "gemini")
    assert wire("ask", *options, stdin="From stdin.\n").out == f"{ECHO}From stdin.\n"
    assert wire("ask", "Sum up:", *options, stdin="Grüße").out == f"{ECHO}Sum up:\n\nGrüße\n"
    files = [file("a.png", PNG), file("notes.txt", b"Tide at 5.")]
    wire("ask", "What?", *(f"--file={each}" for each in files), "--system", "S.", *options)
    body = server.requests[-1]["body"]
    picture, notes, question = body["contents"][0]["parts"]
    assert picture["inlineData"]["mimeType"] == "image/png"
    assert (notes["text"], question["text"]) == ("notes.txt:\nTide at 5.", "What?")
    assert body["systemInstruction"]["parts"][0]["text"] == "S."


def test_the_answer_matches_a_schema(wire: Command, server: Server) -> None:
    schema = {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}
    said = wire("ask", "A port", "--output", file("s.json", schema), *at(server, "gemini"))
    assert (said.status, list(said.json)) == (0, ["port"])


def test_settings_reach_the_request(wire: Command, server: Server) -> None:
    options = ("--max-tokens", 20, "--temperature", "0.5", "--effort", "low")
    wire("ask", "Hi", *options, *at(server, "gemini"))
    config = server.requests[-1]["body"]["generationConfig"]
    assert (config["maxOutputTokens"], config["temperature"]) == (20, 0.5)


def test_the_model_of_the_environment(
    wire: Command, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIRE_MODEL", MODELS["gemini"])
    assert wire("ask", "Hi", "--base-url", server.url).out == f"{ECHO}Hi\n"
    assert wire("models", "--base-url", server.url).out.startswith("gemini-")
    monkeypatch.setenv("WIRE_MODEL", "gpt")
    said = wire("ask", "Hi")
    assert (said.status, said.err.partition("'")[0]) == (2, "wire ask: WIRE_MODEL: ")


def test_what_was_changed_or_cut_short_is_reported_beside_the_answer(wire: Command) -> None:
    with serve(Emulator([{"say": {"text": "One, two", "finish": "MAX_TOKENS"}}])) as server:
        said = wire("ask", "Count", *at(server, "gemini"))
    assert said.out == "One, two\n"
    assert said.err == "note: the answer ended with MAX_TOKENS\n"


def test_preview_needs_no_key_and_sends_nothing(
    wire: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    said = wire("preview", "Hi", "--model", MODELS["openai"])
    assert said.out.splitlines()[0] == "POST https://api.openai.com/v1/responses"
    curl = wire("preview", "Hi", "--curl", "--stream", "--model", MODELS["openai"]).out
    assert curl.startswith("curl -sS -X POST https://api.openai.com/v1/responses -H ")
    assert "Bearer $OPENAI_API_KEY" in curl
    assert '"stream":true' in curl
    shown = wire("preview", "Hi", "--json", "--model", MODELS["openai"]).json
    assert shown["body"]["input"] == [{"type": "message", "role": "user", "content": "Hi"}]


def test_count(wire: Command, server: Server) -> None:
    for name in ("gemini", "anthropic", "openai"):
        said = wire("count", "A port in France", "--json", *at(server, name))
        assert (said.status, said.json["estimated"]) == (0, False)
        assert 0 < said.json["tokens"] < 20
    chat_model = ("--model", "openai:gpt-4o", *at(server, "openai")[2:])
    said = wire("count", "Hi", *chat_model)
    assert (said.status, said.out) == (2, "")
    assert said.err.endswith("openai has no endpoint that counts tokens; use --estimate\n")
    assert wire("count", "A port in France", "--estimate", *at(server, "openai")).out == "4\n"


# --- check and send -------------------------------------------------------------------------------


@WIRES
def test_check_accepts_what_servers_accept(wire: Command, name: str) -> None:
    for body in (BODIES[name], NEUTRAL):
        said = wire("check", file("r.json", body), "--model", MODELS[name])
        assert said == (0, f"r.json: no violation for {MODELS[name]}\n", "")


BROKEN: list[tuple[str, Any, str]] = [
    ("gemini", {"contents": [{"parts": [{"text": "Hi", "mood": 1}]}]}, "contents[0].parts[0].mood"),
    ("openai", {"messages": []}, "messages"),
    ("openai", {"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
    ("anthropic", {"messages": [{"role": "user", "content": ""}], "max_tokens": 5}, "messages"),
    ("anthropic", {**BODIES["anthropic"], "temperature": 0.5}, "temperature"),
    ("openai", {**NEUTRAL, "messages": [{"role": "user", "parts": []}]}, "messages[0]"),
    ("gemini", {**NEUTRAL, "top_p": 5}, "top_p"),
]


@pytest.mark.parametrize(("name", "body", "path"), BROKEN)
def test_check_names_each_violation_on_a_line(
    wire: Command, name: str, body: Any, path: str
) -> None:
    said = wire("check", file("r.json", body), "--model", MODELS[name])
    assert (said.status, said.err) == (1, "")
    assert any(line.startswith(f"error: {path}") for line in said.out.splitlines())
    said = wire("check", "-", "--json", "--model", MODELS[name], stdin=json.dumps(body))
    assert said.status == 1
    assert any(each["path"].startswith(path) for each in said.json["violations"])


def test_a_warning_fails_only_if_it_is_asked_to(wire: Command) -> None:
    path = file("r.json", {**BODIES["openai"], "mood": 1})
    said = wire("check", path, "--model", MODELS["openai"])
    assert said == (0, "warning: mood: not a key of the reference\n", "")
    assert wire("check", path, "--model", MODELS["openai"], "--warnings-too").status == 1


@WIRES
def test_send_prints_the_response_of_the_vendor(wire: Command, server: Server, name: str) -> None:
    path = file("r.json", {**BODIES[name], **({"model": "x"} if name != "gemini" else {})})
    said = wire("send", path, *at(server, name))
    assert (said.status, said.err) == (0, "")
    assert f"{ECHO}Hi" in json.dumps(said.json)
    if name != "gemini":
        assert server.requests[-1]["body"]["model"] == MODELS[name].partition(":")[2]
    said = wire("send", path, "--stream", *at(server, name))
    chunks = [json.loads(line) for line in said.out.splitlines()]
    assert len(chunks) > 1


def test_send_to_converse(wire: Command, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "fake-key")
    path = file("r.json", {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]})
    options = ("--model", "bedrock:amazon.nova-2-lite-v1:0", "--base-url", server.url)
    said = wire("send", path, *options)
    assert (said.status, said.err) == (0, "")
    assert said.json["output"]["message"]["content"] == [{"text": f"{ECHO}Hi"}]
    said = wire("send", path, "--stream", *options)
    names = [next(iter(json.loads(line))) for line in said.out.splitlines()]
    assert (names[0], names[-1]) == ("messageStart", "metadata")


def test_send_to_interactions(
    wire: Command, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "fake-key")
    path = file("r.json", {"input": "Hi"})
    options = ("--model", "gemini@interactions:gemini-3.8-flash", "--base-url", server.url)
    said = wire("send", path, *options)
    assert (said.status, said.err) == (0, "")
    assert said.json["steps"][-1]["content"][0]["text"] == f"{ECHO}Hi"
    said = wire("send", path, "--stream", *options)
    kinds = [json.loads(line)["event_type"] for line in said.out.splitlines()]
    assert (kinds[0], kinds[-1]) == ("interaction.created", "interaction.completed")


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({"messages": [{"role": "user", "content": "Hi"}]}, "message"),
        ({"prompt": "Hi"}, "response"),
    ],
)
def test_send_to_ollama(wire: Command, server: Server, body: dict[str, Any], key: str) -> None:
    path = file("r.json", {**body, "think": False, "options": {"num_ctx": 8192}, "shift": True})
    options = ("--model", "ollama:qwen3:8b", "--base-url", server.url)
    said = wire("send", path, *options)
    assert (said.status, said.err) == (0, "")
    text = f"{ECHO}Hi"
    assert said.json[key] == ({"role": "assistant", "content": text} if key == "message" else text)
    sent = server.requests[-1]["body"]
    # The server streams and drops what is too long in silence, unless it is told not to.
    assert (sent["stream"], sent["truncate"], sent["shift"]) == (False, False, True)
    assert (sent["model"], sent["options"]) == ("qwen3:8b", {"num_ctx": 8192})
    said = wire("send", path, "--stream", *options)
    done = [json.loads(line)["done"] for line in said.out.splitlines()]
    assert (done[0], done[-1], len(done) > 2) == (False, True, True)


def test_send_texts_to_embed_to_ollama(wire: Command, server: Server) -> None:
    path = file("r.json", {"input": ["Ebb.", "Flood."], "dimensions": 8})
    options = ("--model", "ollama:nomic-embed-text", "--base-url", server.url)
    said = wire("send", path, *options)
    assert [len(each) for each in said.json["embeddings"]] == [8, 8]
    said = wire("send", path, "--stream", *options)
    assert (said.status, said.err) == (2, "wire send: --stream: embeddings come in one answer\n")


def test_send_refuses_what_the_server_would_refuse(wire: Command, server: Server) -> None:
    path = file("r.json", {"contents": [{"parts": [{"text": "Hi", "mood": 1}]}]})
    before = len(server.requests)
    said = wire("send", path, *at(server, "gemini"))
    assert (said.status, len(server.requests)) == (2, before)
    assert said.err.startswith("wire send: contents[0].parts[0].mood: ")
    said = wire("send", path, "--unchecked", *at(server, "gemini"))
    assert (said.status, len(server.requests)) == (1, before + 1)
    assert said.err.startswith("wire send: BadRequestError: gemini: 400 INVALID_ARGUMENT: ")


# --- models, providers, probe ---------------------------------------------------------------------


@WIRES
def test_models(wire: Command, server: Server, name: str) -> None:
    options = at(server, name)[2:]
    said = wire("models", name, *options)
    assert MODELS[name].partition(":")[2] in [line.split()[0] for line in said.out.splitlines()]
    lines = wire("models", name, "--json", *options).out.splitlines()
    assert len(lines) == len(said.out.splitlines())
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_models_that_end_soon_say_so(wire: Command, server: Server) -> None:
    said = wire("models", "gemini", *at(server, "gemini")[2:]).out
    assert re.search(
        r"(?m)^gemini-2\.5-pro  gemini-2\.5-pro end(s|ed) on 2026-12-01; "
        r"gemini-3\.8-flash answers in its place$",
        said,
    )


def test_providers(wire: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KIMI_API_KEY", raising=False)
    rows = {line.split()[0]: line for line in wire("providers").out.splitlines()}
    assert rows["gemini"].split()[1:4] == ["gemini", "GEMINI_API_KEY", "set"]
    assert "https://api.moonshot.ai/v1" in rows["kimi"]
    assert "fake-key" not in "".join(rows.values())
    assert "dialect.reasoning_required" in wire("providers", "Kimi").out
    listed = wire("providers", "--json").json
    assert {each["name"] for each in listed} == set(rows) - {"NAME"}
    assert wire("providers", "kimi", "--json").json in listed
    said = wire("providers", "kimy")
    assert said.status == 2
    assert said.err.startswith("wire providers: NAME: no provider is called 'kimy'; did you mean")


def test_providers_say_where_an_option_comes_from(
    wire: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    asked = ("providers", "bedrock@openai")
    assert "region        not set (AWS_REGION or AWS_DEFAULT_REGION)" in wire(*asked).out
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    assert "region        us-west-2 (AWS_DEFAULT_REGION)" in wire(*asked).out
    assert wire(*asked, "--json").json["region"] == "us-west-2 (AWS_DEFAULT_REGION)"
    assert wire("providers", "anthropic@google", "--json").json["location"] == "global (default)"


def test_probe_says_where_it_asked(
    wire: Command, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "fake-key")
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    monkeypatch.setenv("BEDROCK_OPENAI_BASE_URL", f"{server.url}/openai/v1")
    said = wire("probe", "--name", "bedrock@openai", "--model", "openai.gpt-oss-120b")
    assert said.out.splitlines()[:3] == [
        f"base URL               {server.url}/openai/v1",
        "region                 us-west-2 (AWS_REGION)",
        "answer                 yes",
    ]
    said = wire("probe", "--name", "bedrock@openai", "--model", "openai.gpt-oss-120b", "--json")
    assert said.json["host"] == {
        "base_url": f"{server.url}/openai/v1",
        "options": {"region": ["us-west-2", "AWS_REGION"]},
        "key": "AWS_BEARER_TOKEN_BEDROCK",
    }


def test_probe_says_where_it_found_credentials(
    wire: Command, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_PROFILE", "dev")
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    monkeypatch.setenv("BEDROCK_OPENAI_BASE_URL", f"{server.url}/openai/v1")
    (tmp_path / ".aws").mkdir()
    path = tmp_path / ".aws" / "credentials"
    lines = "aws_access_key_id = fake-access-key\naws_secret_access_key = fake-secret-key\n"
    path.write_text(f"[dev]\n{lines}")
    path.chmod(0o600)
    said = wire("probe", "--name", "bedrock@openai", "--model", "openai.gpt-oss-120b")
    assert said.out.splitlines()[:7] == [
        f"base URL               {server.url}/openai/v1",
        "region                 us-west-2 (AWS_REGION)",
        "credentials            AWS (profile)",
        "                       environment: AWS_ACCESS_KEY_ID is not set",
        "                       web-identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set",
        "                       profile: found",
        "answer                 yes",
    ]
    said = wire("probe", "--name", "bedrock@openai", "--model", "openai.gpt-oss-120b", "--json")
    assert said.json["host"]["credentials"] == "AWS (profile)"
    assert said.json["host"]["credentials_looked_at"]["profile"] == "found"
    monkeypatch.setenv("AWS_PROFILE", "prod")
    said = wire("probe", "--name", "bedrock@openai", "--model", "openai.gpt-oss-120b")
    assert (said.status, said.err.partition("there is no profile 'prod'")[1] != "") == (2, True)


def test_probe_prints_a_row_that_can_be_pasted(
    wire: Command, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_API_KEY", "fake-key")
    before = len(server.requests)
    said = wire("probe", "--base-url", f"{server.url}/v1", "--model", "any/model", "--json")
    assert (said.status, said.err) == (0, "")
    assert len(server.requests) == before + 10
    found = {each["name"]: each["outcome"] for each in said.json["findings"]}
    assert list(found) == [
        "answer",
        "stream",
        "usage in streams",
        "system role",
        "developer role",
        "stop",
        "max_tokens",
        "tools",
        "parallel calls",
        "structured output",
    ]
    assert set(found.values()) == {"yes"}
    row = made(said.json["row"])
    assert (row.name, row.base_url, row.key_required) == ("local", f"{server.url}/v1", False)
    assert row.dialect.developer_role
    text = wire("probe", "--base-url", f"{server.url}/v1", "--model", "any/model").out
    assert text.endswith(f"\n\n{said.json['row']}\n")


def test_probe_writes_refusals_into_the_row(wire: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_API_KEY", "fake-key")
    refused = {"status": 400, "answer": {"error": {"message": "Unknown field 'stop'."}}}
    script = [{"match": {"text": "red green"}, **refused}, {"match": {"text": "JSON"}, "say": "no"}]
    with serve(Emulator(script)) as server:
        said = wire("probe", "--base-url", f"{server.url}/v1", "--model", "m/m", "--name", "mine")
    assert "stop                   refused  Unknown field 'stop'." in said.out
    assert "structured output      no       answered without it" in said.out
    row = made(said.out.partition("\n\n")[2])
    assert [(each.path, each.words, each.ignored) for each in row.dialect.refuses] == [
        ("stop", "Unknown field 'stop'.", False),
        ("response_format=json_schema", "answered without it", True),
    ]
    assert row.key_variable == "MINE_API_KEY"


def made(text: str) -> Any:
    """The row that the text of Python makes."""
    names = importlib.import_module("wire.openai")
    return eval(text, {name: getattr(names, name) for name in ("chat_host", "Dialect", "Refusal")})


def test_a_probe_of_a_host_that_does_not_answer_fails(wire: Command, server: Server) -> None:
    said = wire("probe", "--base-url", "http://127.0.0.1:1/v1", "--model", "m")
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith("wire probe: ConnectionLost: local: ")


# --- bad input ------------------------------------------------------------------------------------


MODEL = ("--model", "gemini:gemini-3.8-flash")
LOCAL = ("--base-url", "http://127.0.0.1:1")
WRONG: list[tuple[tuple[str, ...], str]] = [
    ((), "wire: the following arguments are required: COMMAND"),
    (("aks",), "wire: COMMAND: invalid choice: 'aks'"),
    (("ask", "Hi"), "wire ask: --model: missing; give PROVIDER:MODEL, or set WIRE_MODEL"),
    (("ask", "Hi", "--model", "gpt"), "wire ask: --model: 'gpt': missing"),
    (("ask", "Hi", "--model", "nobody:gpt"), "wire ask: --model: 'nobody' is unknown"),
    (("ask", *MODEL), "wire ask: PROMPT: missing"),
    (("ask", "Hi", *MODEL, "--base-url", "ftp://x"), "wire ask: --base-url: expected"),
    (("ask", "Hi", *MODEL, "--timeout", "-1"), "wire ask: --timeout: expected seconds above 0"),
    (("ask", "Hi", *MODEL, "--timeout", "nan"), "wire ask: --timeout: expected seconds above 0"),
    (("ask", "Hi", *MODEL, "--max-tokens", "0"), "wire ask: --max-tokens: expected a whole number"),
    (("ask", "Hi", *MODEL, "--temperature", "hot"), "wire ask: --temperature: expected a number"),
    (("ask", "Hi", *MODEL, *LOCAL, "--temperature", "nan"), "wire ask: --temperature: "),
    (("ask", "Hi", *MODEL, *LOCAL, "--effort", "huge"), "wire ask: --effort: "),
    (("ask", "Hi", *MODEL, "--file", "gone.png"), "wire ask: --file: gone.png: cannot be read"),
    (("ask", "Hi", *MODEL, "--file", "data.bin"), "wire ask: --file: data.bin: expected text"),
    (("ask", "Hi", *MODEL, "--output", "cut.json"), "wire ask: --output: cut.json: not JSON: "),
    (("ask", "Hi", *MODEL, "--output", "list.json"), "wire ask: --output: list.json: expected a"),
    (("ask", "Hi", *MODEL, "--output", "bad.json"), "wire ask: --output: "),
    (
        ("ask", "Hi", *MODEL, "--stream", "--output", "object.json"),
        "wire ask: --stream: an answer of --output",
    ),
    (("ask", "Hi", "--api-key", "sk-secret"), "wire: unrecognized arguments: --api-key"),
    (("check", "gone.json", *MODEL), "wire check: gone.json: cannot be read"),
    (("check", "cut.json", *MODEL), "wire check: cut.json: not JSON: it ends after 8 bytes"),
    (("check", "list.json", *MODEL), "wire check: list.json: expected a JSON object, not list"),
    (("check", "part.json", *MODEL), "wire check: part.json: messages[0].parts[0].type: invalid"),
    (("check", "field.json", *MODEL), "wire check: field.json: mood: no field of a neutral"),
    (("check", "tool.json", *MODEL), "wire check: tool.json: tools: expected an object with name"),
    (("check", "data.bin", *MODEL), "wire check: data.bin: byte 0 is not UTF-8"),
    (
        ("send", "part.json", *MODEL),
        "wire send: part.json: a neutral request; send takes the body of the vendor's API. `wire "
        "check` checks a neutral request, `wire chat --session` continues a session",
    ),
    (("models",), "wire models: PROVIDER: missing"),
    (("models", "nobody"), "wire models: provider: 'nobody' is unknown"),
    (("probe",), "wire probe: --base-url: missing"),
    (("probe", "--base-url", "x"), "wire probe: --base-url: expected"),
    (("probe", "--base-url", "https://llm.example/v1"), "wire probe: no API key: set the "),
    (("emulate", "--port", "99999"), "wire emulate: --port: expected a whole number from 0 to"),
    (("emulate", "--port", "http"), "wire emulate: --port: expected a whole number from 0 to"),
    (("emulate", "--host", "192.0.2.1"), "wire emulate: --host: 192.0.2.1: "),
    (("emulate", "--script", "cut.json"), "wire emulate: --script: cut.json: "),
    (("emulate", "--provider", "nobody"), "wire emulate: "),
    (("emulate", "--date", "someday"), "wire emulate: --date: "),
    (("emulate", "--quota", "60"), "wire emulate: --quota: expected NAME=NUMBER, each of requests"),
    (("emulate", "--quota", "tokens=1,tokens=2"), "wire emulate: --quota: expected NAME=NUMBER"),
    (
        ("emulate", "--quota", "requests=many"),
        "wire emulate: --quota: requests: expected a positive whole number, not 'many'",
    ),
    (("emulate", "--quota", "window=0"), "wire emulate: --quota: window: expected a positive"),
    (("emulate", "--outage", "2"), "wire emulate: --outage: share: expected 0 to 1, not 2"),
    (("emulate", "--outage", "half"), "wire emulate: --outage: share: expected 0 to 1"),
    (("emulate", "--fault", "mood"), "wire emulate: --fault: "),
    (("serve",), "wire serve: the following arguments are required: --backend"),
    (("serve", "--backend", "claude"), "wire serve: "),
    (("serve", "--backend", "nobody:m"), "wire serve: provider: 'nobody' is unknown"),
    (
        ("serve", "--backend", "gemini:gemini-3.8-flash", "--host", "0.0.0.0"),
        "wire serve: --host: 0.0.0.0: other machines could use the key of the backend; give the "
        "gateway a key",
    ),
    (("completion", "csh"), "wire completion: shell: invalid choice: 'csh'"),
    (("chat", *MODEL, "--tool", "weather"), "wire chat: --tool: expected MODULE:FUNCTION"),
    (("chat", *MODEL, "--tool", "gone:f"), "wire chat: --tool: gone:f: gone cannot be imported"),
    (("chat", *MODEL, "--tool", "json:gone"), "wire chat: --tool: json:gone: json has no gone"),
    (("chat", *MODEL, "--tool", "json:__doc__"), "wire chat: --tool: json:__doc__: "),
    (("chat", *MODEL, "--session", "gone.json"), "wire chat: --session: gone.json: cannot be"),
]


@pytest.mark.parametrize(("arguments", "problem"), WRONG, ids=lambda each: " ".join(each)[:60])
def test_bad_input_is_one_line_and_status_2(
    wire: Command, arguments: tuple[str, ...], problem: str
) -> None:
    file("cut.json", b'{"a": 1,')
    file("list.json", [1])
    file("object.json", {"type": "object"})
    file("bad.json", {"type": "nothing"})
    file("data.bin", b"\xff\x00")
    file("part.json", {"messages": [{"role": "user", "parts": [{"type": "txt"}]}]})
    file("field.json", {**NEUTRAL, "mood": 1})
    file("tool.json", {**NEUTRAL, "tools": [{"title": "x"}]})
    said = wire(*arguments)
    assert (said.status, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith(problem)
    assert "secret" not in said.err


def emulated(wire: Command, monkeypatch: pytest.MonkeyPatch, *options: str) -> Emulator:
    """The emulator that `wire emulate` would serve."""
    served: list[Emulator] = []
    monkeypatch.setattr(
        "wire.cli.serving.serve_until_stopped", lambda emulator, _: served.append(emulator) or 0
    )
    assert wire("emulate", *options) == (0, "", "")
    return served[0]


def statuses(emulator: Emulator, count: int) -> list[int | None]:
    """The status of each of so many questions; `None` for a connection that was reset."""
    found: list[int | None] = []
    with Chat(MODELS["openai"], http=EmulatorTransport(emulator), retry=None) as chat:
        for _ in range(count):
            try:
                chat.ask("Hi")
                found.append(200)
            except WireError as error:
                found.append(error.status)
    return found


def test_emulate_with_a_quota(wire: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    emulator = emulated(wire, monkeypatch, "--quota", "requests=2, tokens=9000,window=3600")
    assert statuses(emulator, 4) == [200, 200, 429, 429]
    with Chat(MODELS["openai"], http=EmulatorTransport(emulator), retry=None) as chat:
        with pytest.raises(RateLimitError) as caught:
            chat.ask("Hi")
    account = answer_account(caught.value)
    assert account is not None
    limits = {each.unit: each.limit for each in account.limits}
    assert limits == {"requests": 2, "tokens": 9000}


def test_emulate_with_an_outage(wire: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--outage", "0.5", "--fault", "529", "--fault", "refuse")
    first = statuses(emulated(wire, monkeypatch, *options, "--seed", "4"), 40)
    assert set(first) == {200, 529, None}
    assert 10 < first.count(200) < 30
    assert statuses(emulated(wire, monkeypatch, *options, "--seed", "4"), 40) == first
    assert statuses(emulated(wire, monkeypatch, *options, "--seed", "5"), 40) != first
    assert statuses(emulated(wire, monkeypatch, "--outage", "1"), 3) == [503] * 3
    assert statuses(emulated(wire, monkeypatch, "--fault", "500"), 3) == [500] * 3
    assert statuses(emulated(wire, monkeypatch), 3) == [200] * 3


def test_a_missing_key_names_its_variable(wire: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    file("r.json", BODIES["gemini"])
    monkeypatch.delenv("GEMINI_API_KEY")
    for arguments in (("ask", "Hi"), ("count", "Hi"), ("chat",), ("send", "r.json")):
        said = wire(*arguments, *MODEL)
        problem = "no API key: set the environment variable GEMINI_API_KEY\n"
        assert said == (2, "", f"wire {arguments[0]}: {problem}")


def test_stdin_that_is_no_text(wire: Command, server: Server) -> None:
    for command in ("ask", "chat"):
        said = wire(command, *at(server, "gemini"), stdin=b"a\xff")
        assert said == (2, "", f"wire {command}: stdin: byte 1 is not UTF-8\n")


# --- output ---------------------------------------------------------------------------------------


HOSTILE = "red \x1b[31m \u202etxt"


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.row("R-34")
def test_a_terminal_gets_no_control_character_and_a_pipe_gets_what_came(
    wire: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(Emulator([{"say": HOSTILE, "times": 9}])) as server:
        assert wire("ask", "Hi", *at(server, "openai")).out == f"{HOSTILE}\n"
        for options in ([], ["--no-stream"], ["--json"]):
            monkeypatch.setattr(sys, "stdout", out := Terminal())
            assert wire("ask", "Hi", *options, *at(server, "openai")).status == 0
            assert "\x1b" not in out.getvalue()
            assert "\u202e" not in out.getvalue()
            assert "txt" in out.getvalue()


def test_colour_is_for_terminals_and_not_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    from wire.cli import terminal

    def written(out: io.StringIO) -> str:
        monkeypatch.setattr(sys, "stdout", out)
        terminal.write("Hi", dim=True)
        return out.getvalue()

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert written(Terminal()) == "\x1b[2mHi\x1b[22m\n"
    assert written(io.StringIO()) == "Hi\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert written(Terminal()) == "Hi\n"


def command(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "wire", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_a_reader_that_goes_away_is_no_error() -> None:
    process = command("providers")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(30) == 141


def test_the_version_loads_nothing_of_the_library() -> None:
    process = command("--version")
    assert process.communicate(timeout=30) == (f"wire {VERSION}\n", "")
    code = (
        "import sys; from wire.cli import main; main(['--version']); "
        "print(*sorted({'msgspec', 'httpx', 'anyio', 'asyncio', 'importlib.metadata'}"
        " & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert found.stdout == f"wire {VERSION}\n\n"
