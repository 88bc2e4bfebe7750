"""Ollama's own client for Python, case by case, against the emulator: run in `.venv-sdks` with its
URL; a line of JSON a case.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import ollama

URL = sys.argv[1]
MODEL = "qwen3:8b"
HI: list[Any] = [{"role": "user", "content": "hi"}]
QUESTION: list[Any] = [
    {"role": "user", "content": "What is the weather in Paris and in Oslo?"},
]
CASES: dict[str, Callable[[], Any]] = {}


def client(key: str = "fake-key", fault: str = "") -> ollama.Client:
    headers = {"x-wire-fault": fault} if fault else {}
    return ollama.Client(host=URL, headers={"authorization": f"Bearer {key}", **headers})


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    CASES[function.__name__] = function
    return function


def get_weather(city: str) -> str:
    """The weather.

    Args:
        city: The city.
    """
    return f"sunny in {city}"


def results(calls: Any) -> list[Any]:
    return [
        {"role": "tool", "content": get_weather(**each.function.arguments), "tool_name": name}
        for each in calls
        for name in [each.function.name]
    ]


@case
def plain() -> Any:
    said = client().chat(MODEL, HI)
    return said.message.content, said.done_reason, said.eval_count > 0


@case
def stream() -> Any:
    parts = list(client().chat(MODEL, HI, stream=True, think=True))
    thoughts = "".join(each.message.thinking or "" for each in parts)
    said = "".join(each.message.content or "" for each in parts)
    return said, bool(thoughts), [each.done for each in parts[-2:]], parts[-1].done_reason


@case
def tools() -> Any:
    asked = client().chat(MODEL, QUESTION, tools=[get_weather], think=False)
    calls: Any = asked.message.tool_calls
    messages = [*QUESTION, asked.message, *results(calls)]
    after = client().chat(MODEL, messages, tools=[get_weather], think=False)
    return [dict(each.function.arguments) for each in calls], after.message.content


@case
def tools_streamed() -> Any:
    parts = list(client().chat(MODEL, QUESTION, tools=[get_weather], stream=True))
    calls = [call for each in parts for call in each.message.tool_calls or ()]
    thoughts = "".join(each.message.thinking or "" for each in parts)
    turn = {"role": "assistant", "content": "", "thinking": thoughts, "tool_calls": calls}
    parts = list(client().chat(MODEL, [*QUESTION, turn, *results(calls)], stream=True))
    return len(calls), "".join(each.message.content or "" for each in parts)


@case
def json_schema() -> Any:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    asked = [{"role": "user", "content": "Where is Oslo?"}]
    said: Any = client().chat(MODEL, asked, format=schema)
    return json.loads(said.message.content)


@case
def generate() -> Any:
    parts = list(client().generate(MODEL, "hi", stream=True))
    streamed = "".join(each.response or "" for each in parts)
    return client().generate(MODEL, "hi").response, streamed, parts[-1].done_reason


@case
def embeddings() -> Any:
    made = client().embed("nomic-embed-text", ["Ebb.", "Flood."], dimensions=8)
    return [len(each) for each in made.embeddings]


@case
def decisions() -> Any:
    questions = {
        "urgent": {"type": "noul", "instructions": "It is urgent."},
        "team": {"type": "choice", "instructions": "Which?", "criteria": {"a": None, "b": "c"}},
        "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "furious"]},
    }
    found = client().systemone("kev", "I am furious", questions)
    answers = [found.answers[name] for name in questions]
    return [each.type for each in answers], list(answers[2].legend.values()), found.model


@case
def models() -> Any:
    door = client()
    door.chat(MODEL, HI, options={"num_ctx": 8192})
    return (
        MODEL in [each.model for each in door.list().models],
        door.show(MODEL).capabilities,
        {each.model: each.context_length for each in door.ps().models}[MODEL],
    )


@case
def pulled() -> Any:
    door = client()
    states = [each.status for each in door.pull("llama9", stream=True)]
    return states[0], states[-1], door.delete("llama9").status


@case
def too_long() -> Any:
    """The server drops what does not fit in silence: no client has the option to forbid it."""
    history = [{"role": "user", "content": "word " * 400}, *HI]
    return client().chat(MODEL, history, options={"num_ctx": 64}).prompt_eval_count < 64


@case
def error_404() -> Any:
    return client().chat("nobody", HI)


@case
def error_think() -> Any:
    return client().chat("llama3.2:3b", HI, think=True)


@case
def error_key() -> Any:
    return client("bad-key").chat(MODEL, HI)


@case
def error_429() -> Any:
    return client(fault="429").chat(MODEL, HI)


@case
def error_503() -> Any:
    return list(client(fault="503").chat(MODEL, HI, stream=True))


@case
def stream_error() -> Any:
    return list(client(fault="error; after=2").chat(MODEL, HI, stream=True))


@case
def stream_cut() -> Any:
    return list(client(fault="cut; after=2").chat(MODEL, HI, stream=True))


def _raises(work: Callable[[], Any]) -> Any:
    try:
        return "ok", work()
    except ollama.ResponseError as error:
        return "ResponseError", error.status_code, error.error
    except Exception as error:
        return type(error).__name__, None


if __name__ == "__main__":
    for name in sys.argv[2:] or CASES:
        print(json.dumps([name, *_raises(CASES[name])], default=str), flush=True)
