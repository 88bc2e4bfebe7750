"""pydantic-ai's agents on `WireModel`, with the emulator below. `make test-integrations`."""

from __future__ import annotations

import functools
from typing import Any

import anyio
import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: make test-integrations")

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.exceptions import ModelAPIError, ModelNotFoundError
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai_model import RECEIVED, WireModel

from wire.sessions import deserialize_message
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

MODELS = ("gemini:gemini-3.8-flash", "openai:gpt-5.4", "anthropic:claude-sonnet-5")
QUESTION = "What is the weather in Paris and in Oslo?"


def get_weather(city: str) -> dict[str, str]:
    """Weather of a city."""
    return {"sky": f"sunny in {city}"}


def run(agent: Agent[None, Any], prompt: Any, **options: Any) -> Any:
    """`run_sync` without the event loop that it leaves open."""
    return anyio.run(functools.partial(agent.run, prompt, **options))


class Place(BaseModel):
    """A place."""

    city: str


def wire_model(model: str, emulator: Emulator | None = None, **options: Any) -> WireModel:
    http = AsyncEmulatorTransport(emulator)
    return WireModel(model, api_key="fake-key", http=http, retry=None, **options)


@pytest.mark.parametrize("model", MODELS)
def test_an_agent_runs_its_tools(model: str) -> None:
    result = run(Agent(wire_model(model), tools=[get_weather]), QUESTION)
    assert result.output == (
        'Your tool get_weather says {"sky": "sunny in Paris"} and get_weather says '
        '{"sky": "sunny in Oslo"}.'
    )
    assert result.usage.requests == 2
    assert result.usage.output_tokens > 0


async def _streamed(model: str) -> None:
    agent = Agent(wire_model(model), tools=[get_weather], instructions="Be brief.")
    async with agent.run_stream(QUESTION) as result:
        pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
    assert len(pieces) > 1
    assert "".join(pieces).endswith('get_weather says {"sky": "sunny in Oslo"}.')
    calls = [part for message in result.all_messages() for part in getattr(message, "parts", ())]
    arguments = [part.args_as_dict() for part in calls if part.part_kind == "tool-call"]
    assert arguments == [{"city": "Paris"}, {"city": "Oslo"}]
    assert result.response.finish_reason == "stop"


@pytest.mark.parametrize("model", MODELS)
def test_a_stream_with_tools(model: str) -> None:
    anyio.run(_streamed, model)


@pytest.mark.parametrize("model", MODELS)
def test_structured_output(model: str) -> None:
    script = [{"say": {"calls": [{"name": "final_result", "args": {"city": "Oslo"}}]}}]
    result = run(Agent(wire_model(model, Emulator(script)), output_type=Place), "Where is it?")
    assert result.output == Place(city="Oslo")


def test_a_saved_conversation_goes_back_with_its_signatures() -> None:
    emulator = Emulator()
    agent = Agent(wire_model(MODELS[0], emulator), tools=[get_weather])
    saved = run(agent, QUESTION).all_messages_json()
    history = ModelMessagesTypeAdapter.validate_json(saved)
    assert run(agent, "And now?", message_history=history).output.endswith("And now?")
    first = next(each for each in history if isinstance(each, ModelResponse))
    received = deserialize_message(first.provider_details[RECEIVED]).tool_calls[0]
    sent = emulator.requests[-1]["body"]["contents"][1]["parts"][0]
    assert sent["functionCall"]["name"] == "get_weather"
    assert sent["thoughtSignature"] == received.signature != ""


def test_another_model_continues() -> None:
    first = run(Agent(wire_model(MODELS[0]), tools=[get_weather]), QUESTION)
    second = Agent(wire_model(MODELS[2]), tools=[get_weather])
    again = run(second, "And now?", message_history=first.all_messages())
    assert again.output.endswith("And now?")


def test_an_edited_response_is_sent_as_edited() -> None:
    emulator = Emulator([{"say": "Low tide."}, {"say": "Yes."}])
    agent = Agent(wire_model(MODELS[1], emulator))
    history = run(agent, "Tide?").all_messages()
    history[-1].parts[0].content = "High tide."
    run(agent, "Sure?", message_history=history)
    contents = [item["content"] for item in emulator.requests[-1]["body"]["input"]]
    assert contents == ["Tide?", [{"type": "output_text", "text": "High tide."}], "Sure?"]


def test_pictures_are_sent() -> None:
    emulator = Emulator([{"say": "A dot."}])
    picture = BinaryContent(b"\x89PNG", media_type="image/png")
    run(Agent(wire_model(MODELS[1], emulator)), ["What is it?", picture])
    [message] = emulator.requests[-1]["body"]["input"]
    assert message["content"][1]["image_url"] == "data:image/png;base64,iVBORw=="


def test_errors_are_those_that_fall_back() -> None:
    absent = wire_model("openai:gpt-nothing")
    present = wire_model(MODELS[1], Emulator([{"say": "Yes."}]))
    with pytest.raises(ModelNotFoundError) as caught:
        run(Agent(absent), "Hi")
    assert caught.value.status_code == 404
    assert run(Agent(FallbackModel(absent, present)), "Hi").output == "Yes."


def test_a_stream_that_ends_early_is_an_error() -> None:
    agent = Agent(wire_model(MODELS[1], headers={"x-wire-fault": "end; after=3"}))

    async def read() -> None:
        async with agent.run_stream("Hi") as result:
            await result.get_output()

    with pytest.raises(ModelAPIError, match="the stream ended without"):
        anyio.run(read)


def test_settings_are_sent() -> None:
    emulator = Emulator([{"times": 0, "say": "Yes, x."}])
    settings = ModelSettings(max_tokens=90, temperature=0.5, stop_sequences=["x"], timeout=20.0)
    instructions = "Be brief."
    for model in (MODELS[0], MODELS[1]):  # Responses have no stop sequences
        asked = wire_model(model, emulator)
        agent = Agent(asked, model_settings=settings, instructions=instructions)
        assert run(agent, "Hi").output == "Yes, "
    gemini, openai = (each["body"] for each in emulator.requests)
    assert gemini["systemInstruction"] == {"parts": [{"text": instructions}]}
    names = ("maxOutputTokens", "temperature", "stopSequences")
    assert [gemini["generationConfig"][name] for name in names] == [90, 0.5, ["x"]]
    names = ("instructions", "max_output_tokens", "temperature")
    assert [openai[name] for name in names] == [instructions, 90, 0.5]
