"""Google's own client for Python, case by case, against the emulator: run in `.venv-sdks` with its
URL; a line of JSON a case.
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
import time
import urllib.request
from collections.abc import Callable
from typing import Any

from google import genai
from google.genai import types

URL = sys.argv[1]
MODEL = "gemini-3.1-pro-preview"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="get_weather", description="Weather of a city", parameters_json_schema=SCHEMA
        )
    ]
)
BY_HAND = types.GenerateContentConfig(
    tools=[WEATHER], automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True)
)
QUESTION = "What is the weather in Paris and in Oslo?"
KEPT: list[genai.Client] = []  # one that nobody holds closes itself, also under its own `models`
CASES: dict[str, Callable[[], Any]] = {}


def client(key: str = "fake-key", fault: str = "", version: str | None = None) -> genai.Client:
    headers = {"x-wire-fault": fault} if fault else None
    made = genai.Client(
        api_key=key,
        http_options=types.HttpOptions(base_url=URL, api_version=version, headers=headers),
    )
    KEPT.append(made)
    return made


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    CASES[function.__name__] = function
    return function


def get_weather(city: str) -> dict[str, str]:
    """Weather of a city."""
    return {"sky": f"sunny in {city}"}


@case
def plain() -> Any:
    answer = client().models.generate_content(model=MODEL, contents="hi")
    return (
        answer.text,
        answer.usage_metadata.total_token_count > 0,
        answer.candidates[0].finish_reason.value,
    )


@case
def plain_v1beta() -> Any:
    return client(version="v1beta").models.generate_content(model=MODEL, contents="hi").text


@case
def configured() -> Any:
    config = types.GenerateContentConfig(
        system_instruction="be brief",
        temperature=0.5,
        max_output_tokens=200,
        stop_sequences=["said"],
        safety_settings=[
            types.SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_NONE")
        ],
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_level="low"),
    )
    answer = client().models.generate_content(model=MODEL, contents="hi", config=config)
    return [
        (part.thought, part.text) for part in answer.candidates[0].content.parts
    ], answer.usage_metadata.thoughts_token_count


@case
def stream() -> Any:
    texts = [
        chunk.text for chunk in client().models.generate_content_stream(model=MODEL, contents="hi")
    ]
    return len(texts) > 2, "".join(text or "" for text in texts)


@case
def stream_async() -> Any:
    async def main() -> list[str]:
        return [
            chunk.text or ""
            async for chunk in await client().aio.models.generate_content_stream(
                model=MODEL, contents="hi"
            )
        ]

    return "".join(asyncio.run(main()))


@case
def json_schema() -> Any:
    config = types.GenerateContentConfig(
        response_mime_type="application/json", response_json_schema=SCHEMA
    )
    return json.loads(
        client().models.generate_content(model=MODEL, contents="Where is Oslo?", config=config).text
    )


def _round_trip(parts: list[Any], contents: list[Any]) -> Any:
    calls = [part.function_call for part in parts if part.function_call]
    results = [
        types.Part.from_function_response(name=call.name, response=get_weather(**call.args))
        for call in calls
    ]
    for part, call in zip(results, calls, strict=True):
        part.function_response.id = call.id
    return [call.args["city"] for call in calls], [
        *contents,
        types.Content(role="user", parts=results),
    ]


@case
def tools_by_hand() -> Any:
    user = types.Content(role="user", parts=[types.Part(text=QUESTION)])
    first = client().models.generate_content(model=MODEL, contents=[user], config=BY_HAND)
    content = first.candidates[0].content
    signed = [part.thought_signature is not None for part in content.parts]
    cities, contents = _round_trip(content.parts, [user, content])
    return (
        cities,
        signed,
        client().models.generate_content(model=MODEL, contents=contents, config=BY_HAND).text,
    )


@case
def tools_streamed() -> Any:
    """One Content for each chunk goes back, the empty last one too."""
    user = types.Content(role="user", parts=[types.Part(text=QUESTION)])
    chunks = list(
        client().models.generate_content_stream(model=MODEL, contents=[user], config=BY_HAND)
    )
    said = [chunk.candidates[0].content for chunk in chunks]
    cities, contents = _round_trip(
        [part for content in said for part in content.parts], [user, *said]
    )
    return (
        cities,
        len(said),
        client().models.generate_content(model=MODEL, contents=contents, config=BY_HAND).text,
    )


@case
def tools_without_signature() -> Any:
    call = types.Part(function_call=types.FunctionCall(name="get_weather", args={"city": "Oslo"}))
    user = types.Content(role="user", parts=[types.Part(text=QUESTION)])
    _, contents = _round_trip([call], [user, types.Content(role="model", parts=[call])])
    return client().models.generate_content(model=MODEL, contents=contents, config=BY_HAND).text


@case
def automatic_calling() -> Any:
    config = types.GenerateContentConfig(tools=[get_weather])
    answer = client().models.generate_content(model=MODEL, contents=QUESTION, config=config)
    return answer.text, len(answer.automatic_function_calling_history)


@case
def automatic_calling_35() -> Any:
    """Results without the id that the call had."""
    config = types.GenerateContentConfig(tools=[get_weather])
    return (
        client()
        .models.generate_content(model="gemini-3.5-flash", contents=QUESTION, config=config)
        .text
    )


@case
def automatic_calling_25() -> Any:
    config = types.GenerateContentConfig(tools=[get_weather])
    return (
        client()
        .models.generate_content(model="gemini-2.5-flash", contents=QUESTION, config=config)
        .text
    )


@case
def chat() -> Any:
    talk = client().chats.create(model=MODEL)
    texts = [talk.send_message(text).text for text in ("one", "two")]
    streamed = "".join(chunk.text or "" for chunk in talk.send_message_stream("three"))
    texts += [streamed, talk.send_message("four").text]
    return [text.rpartition(" ")[2] for text in texts], len(talk.get_history())


@case
def chat_tools_streamed() -> Any:
    """The history of a chat keeps one Content for each chunk, and sends them all back."""
    talk = client().chats.create(model=MODEL, config=BY_HAND)
    chunks = list(talk.send_message_stream(QUESTION))
    calls = [call for chunk in chunks for call in chunk.function_calls or ()]
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=c.id, name=c.name, response={"result": "sunny"}
            )
        )
        for c in calls
    ]
    return len(calls), "".join(chunk.text or "" for chunk in talk.send_message_stream(results))


@case
def count_tokens() -> Any:
    return client().models.count_tokens(model=MODEL, contents="hi there").total_tokens


@case
def embeddings() -> Any:
    one = client().models.embed_content(model="gemini-embedding-001", contents="a")
    config = types.EmbedContentConfig(output_dimensionality=8)
    many = client().models.embed_content(
        model="gemini-embedding-001", contents=["a", "b"], config=config
    )
    return len(one.embeddings[0].values), [len(each.values) for each in many.embeddings]


@case
def decisions() -> Any:
    raw = client().decisions.with_raw_response.create(
        model="gemini-decision-1",
        input=[{"type": "text", "text": "I am furious"}],
        questions={
            "urgent": {
                "type": "noul",
                "instructions": "It is urgent.",
                "criteria": {"true_description": "now"},
            },
            "which": {"type": "choice", "instructions": "Which?", "criteria": {"a": "", "b": "c"}},
            "anger": {
                "type": "score",
                "instructions": "How angry?",
                "criteria": ["calm", "furious"],
            },
        },
    )
    found = raw.parse().answers
    urgent, which, anger = (found[name] for name in ("urgent", "which", "anger"))
    return [
        json.loads(raw.http_request.content),
        [urgent.type, urgent.confidence == max(urgent.noul, round(1 - urgent.noul, 2))],
        which.confidence == which.probabilities[which.choice],
        [anger.legend, anger.score == anger.probabilities["1"]],
        raw.parse().usage.total_output_tokens,
    ]


@case
def decisions_refused() -> Any:
    try:
        client().decisions.create(model="gemini-decision-1", input="Hi", questions={})
    except Exception as error:
        if not hasattr(error, "body"):
            raise
        return type(error).__name__, error.status_code, error.body["error"]["code"]
    return "ok"


@case
def files() -> Any:
    door = client()
    data = io.BytesIO(b"x" * (9 << 20))  # two pieces of the client's 8 MiB
    file = door.files.upload(
        file=data, config=types.UploadFileConfig(mime_type="text/plain", display_name="h")
    )
    got = door.files.get(name=file.name)
    answer = door.models.generate_content(model=MODEL, contents=[file, "What is in it?"])
    names = [each.name for each in door.files.list()]
    door.files.delete(name=file.name)
    try:
        door.models.generate_content(model=MODEL, contents=[file, "And now?"])
    except genai.errors.ClientError as error:
        gone = error.code
    return (
        got.size_bytes,
        got.state.value,
        got.display_name,
        names == [file.name],
        answer.text.rpartition(": ")[2],
        gone,
    )


@case
def files_video() -> Any:
    door = client()
    file = door.files.upload(
        file=io.BytesIO(b"video"), config=types.UploadFileConfig(mime_type="video/mp4")
    )
    states = [
        file.state.value,
        door.files.get(name=file.name).state.value,
        door.files.get(name=file.name).state.value,
    ]
    door.files.delete(name=file.name)
    return states


@case
def caches() -> Any:
    door = client()
    long = types.Content(role="user", parts=[types.Part(text="word " * 5000)])
    made = door.caches.create(
        model="gemini-2.5-flash",
        config=types.CreateCachedContentConfig(contents=[long], ttl="300s", display_name="c"),
    )
    config = types.GenerateContentConfig(cached_content=made.name)
    answer = door.models.generate_content(model="gemini-2.5-flash", contents="hi", config=config)
    later = door.caches.update(name=made.name, config=types.UpdateCachedContentConfig(ttl="600s"))
    listed = [each.name for each in door.caches.list()]
    door.caches.delete(name=made.name)
    told = (answer.usage_metadata.cached_content_token_count, made.usage_metadata.total_token_count)
    return told, later.expire_time > made.expire_time, listed == [made.name]


@case
def models() -> Any:
    names = [each.name for each in client().models.list()]
    return MODEL in [name.removeprefix("models/") for name in names], client().models.get(
        model=MODEL
    ).input_token_limit


def _raises(work: Callable[[], Any]) -> Any:
    begin = time.monotonic()
    try:
        return "ok", work()
    except Exception as error:
        assert time.monotonic() - begin < 60
        return (
            type(error).__name__,
            getattr(error, "code", None),
            getattr(error, "message", None) or str(error)[:200],
        )


@case
def error_400() -> Any:
    config = types.GenerateContentConfig(
        thinking_config=types.ThinkingConfig(thinking_budget=1, thinking_level="low")
    )
    return _raises(
        lambda: client().models.generate_content(model=MODEL, contents="hi", config=config)
    )


@case
def error_key() -> Any:
    return _raises(lambda: client("bad-key").models.generate_content(model=MODEL, contents="hi"))


@case
def error_404() -> Any:
    return _raises(lambda: client().models.generate_content(model="gemini-9-ultra", contents="hi"))


@case
def error_429() -> Any:
    return _raises(
        lambda: client(fault="429; retry-after=2").models.generate_content(
            model=MODEL, contents="hi"
        )
    )


@case
def error_503_stream() -> Any:
    return _raises(
        lambda: list(client(fault="503").models.generate_content_stream(model=MODEL, contents="hi"))
    )


@case
def retried() -> Any:
    options = types.HttpRetryOptions(attempts=3, initial_delay=0.01, max_delay=0.02)
    door = genai.Client(
        api_key="k",
        http_options=types.HttpOptions(
            base_url=URL, headers={"x-wire-fault": "503; times=2"}, retry_options=options
        ),
    )
    return _raises(
        lambda: door.models.generate_content(model=MODEL, contents="again and again").text
    )


def _broken(fault: str) -> Any:
    texts: list[str] = []

    def read() -> None:
        for chunk in client(fault=fault).models.generate_content_stream(model=MODEL, contents="hi"):
            texts.append(chunk.text or "")

    raised = _raises(read)[:2]
    return len(texts), *raised


@case
def stream_error() -> Any:
    return _broken("error; after=2")


@case
def stream_error_bare() -> Any:
    return _broken("error-bare; after=2")


@case
def stream_cut() -> Any:
    return _broken("cut; after=2")


@case
def stream_end() -> Any:
    return _broken("end; after=2")


@case
def stream_garbage() -> Any:
    return _broken("garbage; after=2")


FLASH = "gemini-3.8-flash"
TIDE = {"type": "function", "name": "get_weather", "parameters": SCHEMA}


@case
def interactions() -> Any:
    own = client().interactions
    first = own.create(model=FLASH, input="Hi")
    more = own.create(model=FLASH, input="And?", previous_interaction_id=first.id)
    stored = [step.type for step in own.get(more.id).steps]
    events = [each.event_type for each in own.create(model=FLASH, input="Hi", stream=True)]
    return first.status, stored, events[0], events[-1]


@case
def interactions_tools() -> Any:
    own = client().interactions
    asked = own.create(model=FLASH, input=QUESTION, tools=[TIDE])
    calls = [step for step in asked.steps if step.type == "function_call"]
    results = [
        {"type": "function_result", "call_id": each.id, "name": each.name, "result": "sunny"}
        for each in calls
    ]
    more = own.create(model=FLASH, tools=[TIDE], input=results, previous_interaction_id=asked.id)
    return asked.status, [each.arguments for each in calls], more.steps[-1].content[0].text


@case
def interactions_unstored() -> Any:
    own = client().interactions
    steps: list[Any] = [{"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}]
    answer = own.create(model=FLASH, input=steps, store=False)
    steps += [each.model_dump(exclude_none=True, mode="json") for each in answer.steps]
    steps.append({"type": "user_input", "content": [{"type": "text", "text": "And?"}]})
    return own.create(model=FLASH, input=steps, store=False).steps[-1].content[0].text


def script(*steps: dict[str, Any]) -> None:
    """Set what the emulator answers next."""
    body = json.dumps(list(steps)).encode()
    request = urllib.request.Request(f"{URL}/_wire/script", body, method="PUT")
    with urllib.request.urlopen(request, timeout=10):
        pass


@case
def interactions_long() -> Any:
    """Answers that take three requests, which the client sends by itself."""
    own, words = client().interactions, "one two three four five six seven eight nine ten"
    asked = {"model": "gemini-4-argon", "input": "Count."}
    script({"say": {"text": words, "hops": 3}})
    whole = own.create(**asked)
    script({"say": {"text": words, "hops": 3}})
    events = list(own.create(**asked, stream=True))
    texts = [each.content[0].text for each in whole.steps if each.type == "model_output"]
    deltas = [each.delta for each in events if each.event_type == "step.delta"]
    streamed = [each.text for each in deltas if each.type == "text"]
    return whole.status, "".join(texts) == words, "".join(streamed) == words


@case
def interactions_background() -> Any:
    own = client().interactions
    run = own.create(agent="deep-research-preview-04-2026", input="Tides", background=True)
    states = [run.status, own.get(run.id).status, own.get(run.id).status]
    other = own.create(agent="deep-research-preview-04-2026", input="Tides", background=True)
    states.append(own.cancel(other.id).status)
    own.delete(other.id)
    try:
        own.get(other.id)
    except Exception as error:
        return states, type(error).__name__
    return states


@case
def resources() -> Any:
    """What interactions use by id: agents, environments, triggers, webhooks."""
    own = client()
    agent = own.agents.create(id="tides", base_agent="antigravity-preview-09-2026")
    started = own.interactions.create(agent=agent.id, input="Hi", background=True).status
    names = [each.id for each in own.agents.list().agents]
    own.agents.delete(agent.id)
    source = {"type": "inline", "content": "05:12", "target": "tides.txt"}
    place = own.environments.create(sources=[source])
    files = [each.path for each in own.environments.files.list(place.id, path="data").files]
    start = {"agent": "antigravity-preview-09-2026", "input": "Hi"}
    trigger = own.triggers.create(interaction=start, schedule="0 9 * * 1", time_zone="UTC")
    run = own.triggers.run(trigger.id)
    paused = own.triggers.update(trigger.id, status="paused").status
    runs = own.triggers.list_executions(trigger.id).trigger_executions
    hook = own.webhooks.create(uri="https://a.example/", subscribed_events=["interaction.failed"])
    own.webhooks.ping(hook.id)
    rotated = own.webhooks.rotate_signing_secret(hook.id).secret != hook.new_signing_secret
    state = own.webhooks.update(hook.id, state="disabled").state
    own.webhooks.delete(hook.id)
    return started, names, files, [run.status, len(runs), paused], [rotated, state]


@case
def interactions_refused() -> Any:
    try:
        client().interactions.create(model=FLASH, input="Hi", store=False, background=True)
    except Exception as error:
        return type(error).__name__, getattr(error, "status_code", None)
    return None


if __name__ == "__main__":
    for name in sys.argv[2:] or CASES:
        print(json.dumps([name, *_raises(CASES[name])], default=str), flush=True)
