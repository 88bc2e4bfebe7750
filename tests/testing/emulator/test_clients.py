"""Our own clients against the emulator, on threads, asyncio and trio: over loopback, and over the
transports without a socket.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.http.drive import Drive
from wire import Timeouts, errors, gemini, openai
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport, Server, serve

MODEL = "gemini-3.1-pro-preview"
TEXT = "This is an emulator, and no model. You said: hi"
TOOLS = gemini.tools(
    gemini.function_declaration(
        "get_weather",
        "Weather of a city",
        {"type": "object", "properties": {"city": {"type": "string"}}},
    )
)
QUESTION = "What is the weather in Paris and in Oslo?"


def request(*turns: gemini.Turn, tools: Any = None) -> gemini.GenerateContentRequest:
    return gemini.GenerateContentRequest(contents=gemini.contents(*turns), tools=tools)


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Emulator()) as running:
        yield running


@pytest.fixture(params=["loopback", "transport"])
def options(request: pytest.FixtureRequest, server: Server, drive: Drive) -> dict[str, Any]:
    """The same emulator through a socket, and without one."""
    if request.param == "loopback":
        return {"base_url": server.url}
    return {
        "http": (EmulatorTransport if drive.name == "sync" else AsyncEmulatorTransport)(
            server.emulator
        )
    }


def test_plain(drive: Drive, options: dict[str, Any]) -> None:
    answer = drive.send(gemini.generate_content(MODEL, request("hi")), **options)
    assert (answer.text, answer.usage_metadata.total_token_count, answer.model_version) == (
        TEXT,
        40,
        MODEL,
    )


def test_stream(drive: Drive, options: dict[str, Any]) -> None:
    found = drive.read(gemini.stream_generate_content(MODEL, request("hi")), **options)
    assert found.error is None
    assert found.texts == ["This is an ", "emulator, and no ", "model. You said: ", "hi", ""]
    assert found.reply.text == TEXT
    assert found.reply.candidates[0].content.parts[-1].thought_signature


def test_a_conversation_with_parallel_calls(
    drive: Drive, options: dict[str, Any], server: Server
) -> None:
    def talk(door: Any) -> tuple[Any, Any]:
        first = door.read(
            gemini.stream_generate_content(MODEL, request(QUESTION, tools=TOOLS))
        ).reply
        results = [
            gemini.function_response(call, {"sky": call.args["city"]})
            for call in first.function_calls
        ]
        return first, door.read(
            gemini.stream_generate_content(MODEL, request(QUESTION, first, results, tools=TOOLS))
        ).reply

    first, last = drive.session(talk, **options)
    assert [call.args for call in first.function_calls] == [{"city": "Paris"}, {"city": "Oslo"}]
    assert (
        last.text
        == 'Your tool get_weather says {"sky": "Paris"} and get_weather says {"sky": "Oslo"}.'
    )
    assert [each["status"] for each in server.requests] == [200, 200]
    sent = server.requests[1]["body"]["contents"]
    assert [content["role"] for content in sent] == ["user", "model", "user"]
    assert ["thoughtSignature" in part for part in sent[1]["parts"]] == [True, False, False]
    assert server.requests[1]["headers"]["x-goog-api-key"] == "***"


def test_a_call_that_lost_its_signature(drive: Drive, options: dict[str, Any]) -> None:
    call = gemini.FunctionCall(name="get_weather", args={})
    contents = [
        gemini.Content(role="user", parts=[gemini.Part(text="w")]),
        gemini.Content(role="model", parts=[gemini.Part(function_call=call)]),
        gemini.Content(role="user", parts=[gemini.function_response(call, {})]),
    ]
    lost = gemini.GenerateContentRequest(contents=contents, tools=TOOLS)
    with pytest.raises(errors.RuleError, match=r"contents\[1\].parts\[0\]: .* \[G24\]"):
        gemini.generate_content(MODEL, lost)
    with pytest.raises(
        errors.BadRequestError, match="Function call is missing a thought_signature"
    ):
        drive.send(gemini.generate_content(MODEL, lost, checked=False), **options)
    contents[1] = gemini.Content(
        role="model", parts=[gemini.Part(function_call=call, thought_signature=gemini.PLACEHOLDER)]
    )
    answer = drive.send(
        gemini.generate_content(
            MODEL, gemini.GenerateContentRequest(contents=contents, tools=TOOLS)
        ),
        **options,
    )
    assert answer.text == "Your tool get_weather says {}."


def test_count_tokens_and_models(drive: Drive, options: dict[str, Any]) -> None:
    assert drive.send(gemini.count_tokens(MODEL, request("hi there")), **options).total_tokens == 3
    assert drive.send(gemini.get_model(MODEL), **options).input_token_limit == 1048576
    assert len(drive.send(gemini.list_models(3), **options).models) == 3


def test_errors_have_their_types(drive: Drive, options: dict[str, Any]) -> None:
    call = gemini.generate_content(MODEL, request("hi"))
    with pytest.raises(errors.AuthenticationError):
        drive.send(call, **options, api_key="bad-key")
    with pytest.raises(errors.NotFoundError):
        drive.send(gemini.generate_content("gemini-9-ultra", request("hi")), **options)
    with pytest.raises(errors.RateLimitError) as raised:
        drive.send(call, **options, headers={"x-wire-fault": "429; retry-after=0"})
    assert (raised.value.attempts, raised.value.retry_after) == (3, 0)
    assert drive.send(call, **options, headers={"x-wire-fault": "503; times=2"}).text == TEXT


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("error; after=2", errors.OverloadedError),
        ("error-bare; after=2", errors.OverloadedError),
        ("end; after=2", errors.StreamIncomplete),
        ("cut; after=2", errors.ConnectionLost),
        ("reset; after=2", errors.ConnectionLost),
        ("garbage; after=2", errors.StreamInvalid),
    ],
)
def test_streams_that_break(
    drive: Drive, options: dict[str, Any], fault: str, kind: type[Exception]
) -> None:
    found = drive.read(
        gemini.stream_generate_content(MODEL, request("hi")),
        **options,
        headers={"x-wire-fault": fault},
    )
    assert isinstance(found.error, kind)
    assert found.texts == ["This is an ", "emulator, and no "]


def test_chat_completions(drive: Drive, server: Server) -> None:
    wanted = openai.ChatCompletionRequest(model="gpt-5.4", messages=openai.messages("hi"))
    answer = drive.send(
        openai.chat_completions(wanted), provider="my-host", base_url=f"{server.url}/v1"
    )
    assert answer.choices[0].message.content == TEXT


def test_pauses_are_time_outs_of_the_client_and_nobody_sleeps() -> None:
    with httpx.Client(
        transport=EmulatorTransport(),
        timeout=5,
        base_url="http://emulator",
        headers={"x-goog-api-key": "k"},
    ) as client:
        body = {"contents": [{"parts": [{"text": "hi"}]}]}
        path = f"/v1beta/models/{MODEL}:streamGenerateContent"
        assert (
            client.post(path, json=body, headers={"x-wire-fault": "slow; seconds=4"}).status_code
            == 200
        )
        with pytest.raises(httpx.ReadTimeout):
            client.post(path, json=body, headers={"x-wire-fault": "slow; seconds=3600"})
        with pytest.raises(httpx.ReadTimeout):
            client.post(path, json=body, headers={"x-wire-fault": "stall; seconds=3600"})
        with pytest.raises(httpx.RemoteProtocolError):
            client.post(path, json=body, headers={"x-wire-fault": "cut"})
        with pytest.raises(httpx.ReadError):
            client.post(path, json=body, headers={"x-wire-fault": "reset; after=0"})


def test_a_stall_ends_with_the_clock_of_the_client(drive: Drive, options: dict[str, Any]) -> None:
    call = gemini.stream_generate_content(MODEL, request("hi"))
    found = drive.read(
        call, **options, headers={"x-wire-fault": "stall; seconds=60"}, timeouts=Timeouts(idle=0.2)
    )
    assert isinstance(found.error, errors.IdleClock)
    assert found.texts == ["This is an "]
