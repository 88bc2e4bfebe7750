"""A chat for browsers: `uvicorn web:app`; POST /chat streams the reply as server-sent events."""

from collections.abc import AsyncIterator

from sse_starlette import EventSourceResponse, JSONServerSentEvent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from wire import AsyncChat, Message, WireError

chat = AsyncChat("openai:gpt-5.4")


async def events(messages: list[Message]) -> AsyncIterator[JSONServerSentEvent]:
    try:
        async with chat.stream(messages=messages) as stream:
            async for text in stream.texts():
                yield JSONServerSentEvent(text)
            reply = await stream.reply()
        yield JSONServerSentEvent({"tokens": reply.usage and reply.usage.total}, event="usage")
    except WireError as error:
        yield JSONServerSentEvent(error.message, event="error")


async def answer(request: Request) -> EventSourceResponse:
    turns = (await request.json())["messages"]
    return EventSourceResponse(events([Message(each["role"], each["content"]) for each in turns]))


app = Starlette(routes=[Route("/chat", answer, methods=["POST"])])
