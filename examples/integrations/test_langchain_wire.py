"""LangChain's standard tests on `ChatWire`, the emulator below. `make test-integrations`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from typing import Any

import pytest

pytest.importorskip(
    "langchain_tests", reason="langchain-tests is not there: make test-integrations"
)

from langchain_core.messages import (
    AIMessageChunk,
    HumanMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests
from langchain_wire import RECEIVED, ChatWire

from wire import errors
from wire.sessions import deserialize_message
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

MODELS = ("gemini:gemini-3.8-flash", "openai:gpt-5.4", "anthropic:claude-sonnet-4-5")
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC"
)
QUESTION = "What is the weather in Paris and in Oslo?"


def params(model: str, emulator: Emulator | None = None) -> dict[str, Any]:
    emulator = emulator or Emulator()
    return {
        "model": model,
        "api_key": "fake-key",
        "http": EmulatorTransport(emulator),
        "async_http": AsyncEmulatorTransport(emulator),
    }


class Standard:
    """What LangChain's tests ask of the model that they test."""

    name: str

    @property
    def chat_model_class(self) -> type[ChatWire]:
        return ChatWire

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return params(self.name)

    @property
    def model_override_value(self) -> str:
        return {"gemini": "gemini-3.8-flash", "openai": "gpt-5.4-mini"}.get(
            self.name.partition(":")[0], "claude-haiku-4-5"
        )


class Integration(Standard, ChatModelIntegrationTests):
    """LangChain's tests of a model that answers."""

    @pytest.fixture
    def model(self, request: Any) -> ChatWire:
        emulator = Emulator(SCRIPTS.get(request.node.originalname))
        standard = self.standard_chat_model_params
        return ChatWire(
            **{**standard, **params(self.name, emulator), **getattr(request, "param", {})}
        )


def called(name: str, **arguments: str) -> dict[str, Any]:
    return {"say": {"calls": [{"name": name, "args": arguments}]}}


SCRIPTS = {
    "test_agent_loop": [called("get_weather", location="San Francisco, CA"), {"say": "Sunny."}],
    "test_unicode_tool_call_integration": [
        called("unicode_customer", customer_name="你好啊集团", description="科技"),
        called("unicode_customer", customer_name="こんにちは株式会社", description="技術"),
    ],
}
"""The answers in tests that ask for what only a language model understands."""


class TestUnit(Standard, ChatModelUnitTests):
    name = MODELS[0]


class TestGemini(Integration):
    name = MODELS[0]


class TestOpenAI(Integration):
    name = MODELS[1]


class TestAnthropic(Integration):
    name = MODELS[2]


def get_weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_saved_conversation_goes_back_with_its_signatures(streamed: bool) -> None:
    emulator = Emulator()
    model = ChatWire(**params(MODELS[0], emulator)).bind_tools([get_weather])
    answer: Any = sum_of(model.stream(QUESTION)) if streamed else model.invoke(QUESTION)
    results = [
        ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"])
        for call in answer.tool_calls
    ]
    saved = messages_to_dict([HumanMessage(QUESTION), answer, *results])
    assert model.invoke(messages_from_dict(saved)).text.endswith('{"result": "sunny in Oslo"}.')
    call = emulator.requests[-1]["body"]["contents"][1]["parts"][0]
    received = deserialize_message(answer.additional_kwargs[RECEIVED]).tool_calls[0].signature
    assert call["thoughtSignature"] == received != ""


def sum_of(chunks: Iterable[AIMessageChunk]) -> AIMessageChunk:
    return functools.reduce(operator.add, chunks)


def test_another_model_continues() -> None:
    first = ChatWire(**params(MODELS[0])).invoke("Hi")
    again = ChatWire(**params(MODELS[2])).invoke([HumanMessage("Hi"), first, HumanMessage("And?")])
    assert again.text.endswith("And?")


def test_an_edited_message_is_sent_as_edited() -> None:
    emulator = Emulator([{"say": "Low tide."}, {"say": "Yes."}])
    model = ChatWire(**params(MODELS[1], emulator))
    edited = model.invoke("Tide?").model_copy(update={"content": "High tide."})
    model.invoke([HumanMessage("Tide?"), edited, HumanMessage("Sure?")])
    contents = [item["content"] for item in emulator.requests[-1]["body"]["input"]]
    assert contents == ["Tide?", [{"type": "output_text", "text": "High tide."}], "Sure?"]


def test_a_picture_and_a_document() -> None:
    emulator = Emulator([{"say": "A dot."}])
    blocks: list[Any] = [
        {"type": "text", "text": "What is it?"},
        {"type": "image", "base64": PICTURE, "mime_type": "image/png"},
        {"type": "file", "base64": "JVBERg==", "mime_type": "application/pdf"},
    ]
    ChatWire(**params(MODELS[0], emulator)).invoke([HumanMessage(content_blocks=blocks)])
    [content] = emulator.requests[-1]["body"]["contents"]
    data = [part["inlineData"] for part in content["parts"][1:]]
    assert data == [
        {"mimeType": "image/png", "data": PICTURE},
        {"mimeType": "application/pdf", "data": "JVBERg=="},
    ]


def test_errors_are_those_of_wire() -> None:
    model = ChatWire(**params("openai:gpt-nothing"))
    with pytest.raises(errors.NotFoundError, match="model_not_found"):
        model.invoke("Hi")
    model = ChatWire(**params(MODELS[1], Emulator([{"fault": "end; after=3"}])))
    with pytest.raises(errors.StreamIncomplete):
        list(model.stream("Hi"))
