"""Sessions of google-genai's Live and of openai-agents' RealtimeRunner, case by case, against the
emulator: run in `.venv-sdks/live` with its URL; a line of JSON a case.
"""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from collections.abc import Callable, Coroutine
from typing import Any

from agents import function_tool
from agents.realtime import RealtimeAgent, RealtimeRunner
from google import genai
from google.genai import errors, live, types

URL = sys.argv[1]
LIVE = "gemini-2.5-flash-native-audio-latest"
TOOL = {
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}},
}
CLOSED = "close; code=1008; reason=Too long.; after=2"
QUESTION = "What is the weather in Paris?"
CASES: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {}
_connect: Any = live.ws_connect


def connect_without_tls(uri: str, *, ssl: Any = None, **options: Any) -> Any:
    """Connect as the client does, which has no sessions without TLS."""
    return _connect(uri.replace("wss:", "ws:", 1), **options)


live.ws_connect = connect_without_tls


def case(
    function: Callable[[], Coroutine[Any, Any, Any]],
) -> Callable[[], Coroutine[Any, Any, Any]]:
    CASES[function.__name__] = function
    return function


def script(*steps: dict[str, Any]) -> None:
    """Set what the emulator answers next."""
    body = json.dumps(list(steps)).encode()
    request = urllib.request.Request(f"{URL}/_wire/script", body, method="PUT")
    with urllib.request.urlopen(request, timeout=10):
        pass


# --- google-genai ---------------------------------------------------------------------------------


def client(key: str = "fake-key", **options: Any) -> genai.Client:
    return genai.Client(api_key=key, http_options={"base_url": URL}, **options)


def config(**more: Any) -> dict[str, Any]:
    return {
        "response_modalities": ["AUDIO"],
        "input_audio_transcription": {},
        "output_audio_transcription": {},
        **more,
    }


def said(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


async def turn(session: Any) -> dict[str, Any]:
    """What the messages of a turn have."""
    found: dict[str, Any] = {"heard": "", "said": "", "bytes": 0, "calls": [], "tokens": 0}
    async for message in session.receive():
        content = message.server_content
        found["bytes"] += len(message.data or b"")
        if content is not None and content.input_transcription is not None:
            found["heard"] += content.input_transcription.text or ""
        if content is not None and content.output_transcription is not None:
            found["said"] += content.output_transcription.text or ""
        if message.usage_metadata is not None:
            found["tokens"] = message.usage_metadata.response_token_count
        if message.tool_call is not None:
            found["calls"] = [[each.name, each.args] for each in message.tool_call.function_calls]
            await session.send_tool_response(
                function_responses=[
                    types.FunctionResponse(id=each.id, name=each.name, response={"sky": "sunny"})
                    for each in message.tool_call.function_calls
                ]
            )
    return found


@case
async def live_tools() -> Any:
    """A text, a call that is answered, and what is spoken about it."""
    tools = [{"function_declarations": [TOOL]}]
    async with client().aio.live.connect(model=LIVE, config=config(tools=tools)) as session:
        await session.send_client_content(turns=said(QUESTION), turn_complete=True)
        found = await turn(session)
    return found["calls"], found["said"], found["bytes"] > 0, found["tokens"] > 0


@case
async def live_audio() -> Any:
    """Two turns of audio: one ended by the end of the stream, one by hand."""
    sound = types.Blob(data=bytes(3200), mime_type="audio/pcm;rate=16000")
    async with client().aio.live.connect(model=LIVE, config=config()) as session:
        await session.send_realtime_input(audio=sound)
        await session.send_realtime_input(audio_stream_end=True)
        first = await turn(session)
    by_hand = {"automatic_activity_detection": {"disabled": True}}
    settings = config(realtime_input_config=by_hand)
    async with client().aio.live.connect(model=LIVE, config=settings) as session:
        await session.send_realtime_input(activity_start=types.ActivityStart())
        await session.send_realtime_input(audio=sound)
        await session.send_realtime_input(activity_end=types.ActivityEnd())
        second = await turn(session)
    return [[each["heard"], each["said"], each["bytes"] > 0] for each in (first, second)]


@case
async def live_text() -> Any:
    """A text as input that goes on, answered by texts."""
    settings = {"response_modalities": ["TEXT"]}
    model = "gemini-3.1-flash-live-preview"
    async with client().aio.live.connect(model=model, config=settings) as session:
        await session.send_realtime_input(text="hi")
        return "".join([each.text or "" async for each in session.receive()])


@case
async def live_vertex() -> Any:
    door = client(vertexai=True)
    async with door.aio.live.connect(model="gemini-live-2.5-flash", config=config()) as session:
        await session.send_client_content(turns=said("hi"), turn_complete=True)
        found = await turn(session)
        return found["said"], session.session_id is not None


@case
async def live_resumed() -> Any:
    """Another connection continues the conversation."""
    handle = None
    settings = {"response_modalities": ["TEXT"], "session_resumption": {}}
    async with client().aio.live.connect(model=LIVE, config=settings) as session:
        await session.send_client_content(turns=said("I am Bo."), turn_complete=True)
        async for _ in session.receive():
            pass
        async for message in session.receive():
            update = message.session_resumption_update
            handle = None if update is None else update.new_handle
            break
    settings["session_resumption"] = {"handle": handle}
    async with client().aio.live.connect(model=LIVE, config=settings) as session:
        await session.send_client_content(turns=said("Who am I?"), turn_complete=True)
        async for message in session.receive():
            if message.usage_metadata is not None:
                return message.usage_metadata.prompt_token_count
    return None


@case
async def live_interrupted() -> Any:
    """What is said at a pause of the answer interrupts it."""
    script({"say": "One two three four five six.", "fault": "stall; after=2; seconds=60"})
    found: list[str] = []
    settings = {"response_modalities": ["TEXT"]}
    async with client().aio.live.connect(model=LIVE, config=settings) as session:
        await session.send_client_content(turns=said("Count."), turn_complete=True)
        async for message in session.receive():
            found.append(message.text or "")
            if len(found) == 2:
                await session.send_client_content(turns=said("Stop."), turn_complete=True)
            if message.server_content.interrupted:
                found.append("interrupted")
        answer = "".join([each.text or "" async for each in session.receive()])
    return found, answer


@case
async def live_refused() -> Any:
    """A model without sessions, a wrong key, and a schema that no server takes."""
    empty = {"name": "f", "parameters": {"type": "OBJECT", "properties": {"": {}}}}
    found = []
    for model, key, tools in (
        ("gemini-3.8-flash", "fake-key", []),
        (LIVE, "bad-key", []),
        (LIVE, "fake-key", [{"function_declarations": [empty]}]),
    ):
        try:
            async with client(key).aio.live.connect(model=model, config=config(tools=tools)):
                pass
        except errors.APIError as error:
            found.append([error.code, str(error)])
    return found


@case
async def live_error() -> Any:
    """The quota is used up, and the server closes in the middle of an answer."""
    script({"fault": "429"}, {"say": "One two three four.", "fault": CLOSED})
    found = []
    for _ in range(2):
        async with client().aio.live.connect(model=LIVE, config=config()) as session:
            await session.send_client_content(turns=said("hi"), turn_complete=True)
            try:
                found.append(await turn(session))
            except errors.APIError as error:
                found.append([error.code, str(error)[:48]])
    return found


@case
async def live_goes_away() -> Any:
    script({"match": {"endpoint": "live"}, "fault": "expire; after=1; seconds=0.1"})
    async with client().aio.live.connect(model=LIVE, config=config()) as session:
        async for message in session.receive():
            return message.go_away and message.go_away.time_left
    return None


# --- openai-agents --------------------------------------------------------------------------------


@function_tool
def get_weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


async def agent_session() -> Any:
    agent = RealtimeAgent(name="Weather", instructions="Be brief.", tools=[get_weather])
    # With interrupt_response it leaves it to the server to cancel.
    turns = {"type": "semantic_vad", "interrupt_response": False}
    settings: Any = {"model_name": "gpt-realtime", "turn_detection": turns}
    runner = RealtimeRunner(agent, config={"model_settings": settings})
    address = f"{URL.replace('http', 'ws')}/v1/realtime?model=gpt-realtime"
    return await runner.run(model_config={"api_key": "fake-key", "url": address})


async def agent_events(text: str) -> list[Any]:
    """The events of a session up to the end of the agent's answer."""
    found: list[Any] = []
    async with await agent_session() as session:
        await session.send_message(text)
        async for event in session:
            found.append(event)
            if event.type == "error" or (event.type == "agent_end" and spoken(found)):
                break
    return found


def spoken(events: list[Any]) -> str:
    """What the agent said."""
    data = [each.data for each in events if each.type == "raw_model_event"]
    return "".join(each.delta for each in data if each.type == "transcript_delta")


@case
async def agent_tools() -> Any:
    """A call that the agent answers by itself, and what is spoken about it."""
    events = await agent_events(QUESTION)
    ended = [[each.tool.name, each.output] for each in events if each.type == "tool_end"]
    sound = sum(len(each.audio.data) for each in events if each.type == "audio")
    return ended, spoken(events), sound > 0


@case
async def agent_error() -> Any:
    script({"match": {"text": "hi"}, "say": "One two.", "fault": "error; after=1; message=Oh."})
    events = await agent_events("hi")
    return events[-1].type, getattr(events[-1].error, "message", None)


@case
async def agent_interrupted() -> Any:
    """An answer is cancelled at a pause, and another one is asked for."""
    stalled = "stall; after=8; seconds=60"
    script({"match": {"text": "Count"}, "say": "One two three.", "fault": stalled})
    found: list[str] = []
    async with await agent_session() as session:
        await session.send_message("Count.")
        async for event in session:
            if event.type == "audio" and not found:
                await session.interrupt()
                found.append("interrupt")
            raw = event.data if event.type == "raw_model_event" else None
            server = raw.data if getattr(raw, "type", "") == "raw_server_event" else {}
            if server.get("type") == "response.done":
                found.append(server["response"]["status"])
                if len(found) == 3:
                    break
                await session.send_message(QUESTION)
    return found


async def _raises(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    try:
        return "ok", await asyncio.wait_for(work(), 30)
    except Exception as error:
        return type(error).__name__, str(error)


if __name__ == "__main__":
    for name in sys.argv[2:] or CASES:
        print(json.dumps([name, *asyncio.run(_raises(CASES[name]))], default=str), flush=True)
