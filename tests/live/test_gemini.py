"""Smoke tests with Google: `RUN_LIVE_GEMINI=1 GEMINI_API_KEY=... pytest -m live`; model from
`GEMINI_MODEL`.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from tests.live.models import model
from wire import AsyncClient, Client, errors, gemini

MODEL = f"models/{model('gemini')}"
NewClient = Callable[..., Client]

pytestmark = pytest.mark.live

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOLS = gemini.tools(gemini.function_declaration("get_weather", "Weather of a city", CITY))


def request(*turns: gemini.Turn, **fields: object) -> gemini.GenerateContentRequest:
    return gemini.GenerateContentRequest(contents=gemini.contents(*turns, model=MODEL), **fields)  # type: ignore[arg-type]


@pytest.mark.row("S2-33")
def test_whole_answer(wire_client: NewClient) -> None:
    with wire_client("gemini") as client:
        answer = client.send(
            gemini.generate_content(MODEL, request("Say the word yes and nothing else."))
        )
    assert "yes" in answer.text.lower()
    assert answer.finish_reason == gemini.FinishReason.STOP


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_stream(backend: str, async_wire_client: Callable[..., AsyncClient]) -> None:
    async def main() -> None:
        async with async_wire_client("gemini") as client:
            async with client.stream(
                gemini.stream_generate_content(MODEL, request("Count from 1 to 20."))
            ) as chunks:
                texts = [chunk.text async for chunk in chunks]
        answer = await chunks.result()
        assert "20" in answer.text
        assert "".join(texts) == answer.text

    anyio.run(main, backend=backend)


def test_tool_round_trip_with_parallel_calls(wire_client: NewClient) -> None:
    turns: list[gemini.Turn] = [
        "What is the weather in Paris and in Oslo? Ask the tool for both at once."
    ]
    with wire_client("gemini") as client:
        for _ in range(4):
            with client.stream(
                gemini.stream_generate_content(MODEL, request(*turns, tools=TOOLS))
            ) as chunks:
                for _chunk in chunks:
                    pass
            answer = chunks.result()
            if not answer.function_calls:
                break
            turns += [
                answer,
                [gemini.function_response(call, {"temp_c": 17}) for call in answer.function_calls],
            ]
    assert "17" in answer.text


def test_count_tokens(wire_client: NewClient) -> None:
    with wire_client("gemini") as client:
        assert client.send(gemini.count_tokens(MODEL, request("Hello there."))).total_tokens > 0  # type: ignore[operator]


def test_bad_key_is_an_authentication_error(wire_client: NewClient) -> None:
    wire_client("gemini")  # skips the test where the others are skipped
    client = wire_client("gemini", api_key="invalid-key")
    with pytest.raises(errors.AuthenticationError):
        client.send(gemini.generate_content(MODEL, request("Hi")))


def test_unknown_model(wire_client: NewClient) -> None:
    with wire_client("gemini") as client, pytest.raises(errors.NotFoundError):
        client.send(gemini.generate_content("gemini-no-such-model", request("Hi")))
