"""Types of the raw door, as mypy and pyright see them; nothing here is run."""

from typing import Any, assert_type

from wire import (
    AsyncClient,
    Call,
    Client,
    SocketCall,
    StreamCall,
    anthropic,
    gemini,
    notes,
    openai,
    unknown,
)
from wire.core.memory import Note
from wire.http.aio import AsyncStream
from wire.http.client import Stream
from wire.http.links import Socket


def one_answer(client: Client) -> None:
    call = gemini.generate_content(
        "gemini-3-pro-preview", gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
    )
    assert_type(call, Call[gemini.GenerateContentResponse])
    answer = client.send(call)
    assert_type(answer, gemini.GenerateContentResponse)
    assert_type(answer.text, str)
    assert_type(unknown(answer), list[tuple[str, Any]])
    assert_type(notes(call), tuple[Note, ...])
    assert_type(client.send(openai.list_models()), openai.ModelList)
    said = anthropic.MessageRequest(
        model="claude-sonnet-5",
        max_tokens=9,
        messages=[anthropic.Message(role="user", content="Hi")],
    )
    assert_type(client.send(anthropic.create_message(said)), anthropic.MessageResponse)
    assert_type(
        anthropic.stream_message(said),
        StreamCall[anthropic.MessageStreamEvent, anthropic.MessageResponse],
    )


def a_stream(client: Client) -> None:
    request = openai.ChatCompletionRequest(model="gpt-5.4", messages=openai.messages("Hi"))
    call = openai.stream_chat_completions(request)
    assert_type(call, StreamCall[openai.ChatCompletionChunk, openai.ChatCompletion])
    with client.stream(call) as chunks:
        assert_type(chunks, Stream[openai.ChatCompletionChunk, openai.ChatCompletion])
        for chunk in chunks:
            assert_type(chunk, openai.ChatCompletionChunk)
        assert_type(chunks.result(), openai.ChatCompletion)
        assert_type(chunks.partial(), openai.ChatCompletion)
        chunks.reply()  # type: ignore[attr-defined]


async def without_threads(client: AsyncClient) -> None:
    request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
    assert_type(
        await client.send(gemini.count_tokens("gemini-3-pro-preview", request)),
        gemini.CountTokensResponse,
    )
    async with client.stream(
        gemini.stream_generate_content("gemini-3-pro-preview", request)
    ) as chunks:
        assert_type(
            chunks, AsyncStream[gemini.GenerateContentResponse, gemini.GenerateContentResponse]
        )
        async for chunk in chunks:
            assert_type(chunk, gemini.GenerateContentResponse)
        assert_type(await chunks.result(), gemini.GenerateContentResponse)
        assert_type(chunks.partial(), gemini.GenerateContentResponse)


def a_session(client: Client) -> None:
    call = openai.realtime.socket("gpt-realtime")
    assert_type(call, SocketCall[openai.realtime.ClientEvent, openai.realtime.ServerEvent])
    with client.connect(call) as socket:
        assert_type(socket, Socket[openai.realtime.ClientEvent, openai.realtime.ServerEvent])
        socket.send(openai.realtime.ClientEvent(type="response.create"))
        for event in socket.events():
            assert_type(event, openai.realtime.ServerEvent)
        socket.send({"type": "response.create"})  # type: ignore[arg-type]


async def a_session_without_threads(client: AsyncClient) -> None:
    async with client.connect(gemini.live.socket()) as socket:
        await socket.send(gemini.live.ClientMessage(setup=gemini.live.Setup()))
        async for message in socket.events():
            assert_type(message, gemini.live.ServerMessage)
