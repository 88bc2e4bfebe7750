"""The command `llm` with `llm_wire`, the emulator below. `make test-integrations`."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("llm", reason="llm is not installed: make test-integrations")

import llm
import llm_wire
from click.testing import CliRunner
from llm.cli import cli
from llm.plugins import pm

from wire.testing.emulator import Emulator, EmulatorTransport

MODELS = ("gemini:gemini-3.8-flash", "openai:gpt-5.4", "anthropic:claude-sonnet-5")
QUESTION = "What is the weather in Paris and in Oslo?"
PICTURE = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00"


def get_weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


def wire_model(name: str, emulator: Emulator | None = None) -> llm_wire.WireModel:
    model = llm_wire.WireModel(name)
    model.http, model.key = EmulatorTransport(emulator), "fake-key"
    return model


@pytest.mark.parametrize("name", MODELS)
def test_a_stream(name: str) -> None:
    response = wire_model(name).prompt("Hi", system="Be brief.", max_tokens=2000)
    pieces = list(response)
    assert len(pieces) > 1
    assert "".join(pieces) == "This is an emulator, and no model. You said: Hi"
    assert response.usage().output > 0


@pytest.mark.parametrize("name", MODELS)
def test_a_chain_runs_its_tools(name: str) -> None:
    chain = wire_model(name).chain(QUESTION, tools=[get_weather])
    assert chain.text().endswith('get_weather says {"result": "sunny in Oslo"}.')


def test_a_conversation_goes_back_with_its_signatures() -> None:
    emulator = Emulator()
    conversation = wire_model(MODELS[0], emulator).conversation(tools=[get_weather])
    conversation.chain(QUESTION).text()
    assert conversation.prompt("And now?").text().endswith("And now?")
    first, *_, last = emulator.requests
    assert len(first["body"]["contents"]) == 1
    call = last["body"]["contents"][1]["parts"][0]
    assert call["functionCall"]["name"] == "get_weather"
    assert (
        call["thoughtSignature"]
        == llm_wire.deserialize_message(
            conversation.responses[0].messages()[0].parts[-1].provider_metadata[llm_wire.RECEIVED]
        )
        .tool_calls[0]
        .signature
    )


@pytest.mark.parametrize("name", MODELS)
def test_a_schema(name: str) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    text = wire_model(name).prompt("Where is Oslo?", schema=schema).text()
    assert json.loads(text) == {"city": "Oslo"}


def test_a_picture() -> None:
    emulator = Emulator([{"say": "A dot."}])
    picture = llm.Attachment(type="image/png", content=PICTURE)
    assert wire_model(MODELS[0], emulator).prompt("What?", attachments=[picture]).text() == "A dot."
    [content] = emulator.requests[-1]["body"]["contents"]
    assert content["parts"][1]["inlineData"]["mimeType"] == "image/png"


def test_an_error_is_one_of_llm() -> None:
    with pytest.raises(llm.ModelError, match="404 model_not_found"):
        wire_model("openai:gpt-nothing").prompt("Hi").text()


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    monkeypatch.setenv(llm_wire.MODELS_VARIABLE, " ".join(MODELS))
    monkeypatch.setenv("OPENAI_API_KEY", "fake-key")
    monkeypatch.setattr(llm_wire.WireModel, "http", EmulatorTransport())
    pm.register(llm_wire)
    try:
        runner = CliRunner()
        assert "wire/gemini:gemini-3.8-flash" in runner.invoke(cli, ["models"]).output
        found = runner.invoke(cli, ["-m", "wire/openai:gpt-5.4", "Hi"], catch_exceptions=False)
        assert found.output == "This is an emulator, and no model. You said: Hi\n"
        found = runner.invoke(cli, ["-c", "And now?"], catch_exceptions=False)
        assert found.output == "This is an emulator, and no model. You said: And now?\n"
    finally:
        pm.unregister(llm_wire)
