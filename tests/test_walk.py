"""One conversation walks from Gemini to DeepSeek and back, and another over all seven wires: the
right signatures, ids and placeholders in each body. An agent moves in the middle of its tool loop.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from wire import Agent, Chat, Message, Reply, Text, ToolResult, converse, ollama, tool
from wire.gemini import interactions

GEMINI = "gemini:gemini-3-pro-preview"
DEEPSEEK = "deepseek:deepseek-reasoner"
SIGNED = "EqQBCqEBAdgrdWl0aCBhIHNpZ25hdHVyZQ=="


@tool
def high_tide(port: str, day: int = 1) -> dict[str, Any]:
    """When the tide is high."""
    return {"port": port, "at": "05:12"}


@tool(kind="custom", grammar="[a-z ]+", syntax="regex")
def note(words: str) -> str:
    """Keeps a note."""
    return f"kept: {words}"


def of_gemini(*parts: dict[str, Any], finish: str = "STOP") -> dict[str, Any]:
    candidate = {
        "content": {"parts": list(parts), "role": "model"},
        "finishReason": finish,
        "index": 0,
    }
    return {"candidates": [candidate], "modelVersion": "gemini-3-pro-preview", "responseId": "r1"}


def of_deepseek(**message: Any) -> dict[str, Any]:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": None, **message},
        "finish_reason": finish,
    }
    return {
        "id": "d1",
        "model": "deepseek-reasoner",
        "object": "chat.completion",
        "choices": [choice],
    }


class Walk:
    """A conversation, and every body that it sent."""

    def __init__(self, tools: Sequence[Any] = (high_tide,)) -> None:
        self.tools = list(tools)
        self.messages: list[Message] = []
        self.bodies: list[dict[str, Any]] = []
        self.notes: list[list[str]] = []

    def ask(self, model: str, answer: dict[str, Any], *more: Message) -> Reply:
        def respond(request: httpx.Request) -> httpx.Response:
            self.bodies.append(json.loads(request.content))
            return httpx.Response(200, json=answer)

        self.messages += more
        with Chat(
            model,
            api_key="fake-key",
            http=httpx.MockTransport(respond),
            tools=self.tools,
            system="You know the tides.",
            **({"region": "us-east-1"} if model.startswith("bedrock:") else {}),
        ) as chat:
            reply = chat.ask(messages=self.messages)
        self.messages.append(reply.message)
        self.notes.append([str(note) for note in reply.notes])
        return reply

    def results(self, *contents: Any) -> Message:
        calls = self.messages[-1].tool_calls
        return Message.tool_response(
            ToolResult(call.id, call.name, content, error=isinstance(content, str))
            for call, content in zip(calls, contents, strict=True)
        )


@pytest.fixture(scope="module")
def walk() -> Walk:
    walk = Walk()
    walk.ask(
        GEMINI,
        of_gemini(
            {"text": "A thought about tides.", "thought": True},
            {
                "functionCall": {"name": "high_tide", "args": {"port": "Brest"}, "id": "g1"},
                "thoughtSignature": SIGNED,
            },
            {"functionCall": {"name": "high_tide", "args": {"port": "サンマロ"}, "id": "g2"}},
        ),
        Message.user("When is high tide in Brest and Saint-Malo?"),
    )
    # In the middle of Gemini's turn, with its calls answered, DeepSeek goes on, and calls itself.
    walk.ask(
        DEEPSEEK,
        of_deepseek(
            reasoning_content="Whitby is missing.",
            tool_calls=[
                {
                    "index": 0,
                    "id": "call_00_d",
                    "type": "function",
                    "function": {"name": "high_tide", "arguments": '{"port":"Whitby"}'},
                }
            ],
        ),
        walk.results({"port": "Brest", "at": "05:12"}, "no such port"),
    )
    # DeepSeek's unsigned call belongs to the current turn when Gemini is asked again.
    walk.ask(
        GEMINI,
        of_gemini({"text": "05:12, unknown, and 06:30.", "thoughtSignature": SIGNED}),
        walk.results({"at": "06:30"}),
    )
    walk.ask(
        DEEPSEEK,
        of_deepseek(content="You are welcome.", reasoning_content="Polite."),
        Message.user("Thanks."),
    )
    walk.ask(DEEPSEEK, of_deepseek(content="Bye."), Message.user("Bye."))
    return walk


@pytest.mark.row("S0-03", "S1-71")
def test_the_bodies_of_a_walk(walk: Walk, snapshot: SnapshotAssertion) -> None:
    assert [
        {"body": body, "notes": told} for body, told in zip(walk.bodies, walk.notes, strict=True)
    ] == snapshot


@pytest.mark.row("S1-02")
def test_gemini_gets_its_own_signatures_and_ids_back_and_a_placeholder_for_the_others(
    walk: Walk,
) -> None:
    model = [content for content in walk.bodies[2]["contents"] if content["role"] == "model"]
    assert model[0]["parts"][1] == {
        "functionCall": {"name": "high_tide", "args": {"port": "Brest"}, "id": "g1"},
        "thoughtSignature": SIGNED,
    }
    assert model[1]["parts"] == [
        {
            "functionCall": {"name": "high_tide", "args": {"port": "Whitby"}},
            "thoughtSignature": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
        }
    ]
    results = [
        part["functionResponse"]
        for content in walk.bodies[2]["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert [result.get("id") for result in results] == ["g1", "g2", None]


def test_deepseek_gets_its_own_reasoning_and_no_signature(walk: Walk) -> None:
    assert SIGNED not in json.dumps([walk.bodies[1], walk.bodies[3], walk.bodies[4]])
    said = [message for message in walk.bodies[3]["messages"] if message["role"] == "assistant"]
    assert [message.get("reasoning_content") for message in said] == [
        "",
        "Whitby is missing.",
        None,
    ]
    assert [call["id"] for message in said for call in message.get("tool_calls", [])] == [
        "g1",
        "g2",
        "call_00_d",
    ]


# --- four wires -----------------------------------------------------------------------------------

GPT = "openai:gpt-5.6"
CLAUDE = "anthropic:claude-opus-4-8"
OPENAI_CHAT = "openai@chat:gpt-4.1"
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Two ports."}],
    "encrypted_content": "gAAAAA-first",
}


def of_responses(*output: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "gpt-5.6",
        "output": list(output),
    }


def said(text: str, phase: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": "msg_1",
        "status": "completed",
        "role": "assistant",
        "phase": phase,
        "content": [part],
    }


def of_claude(*content: dict[str, Any], stop: str) -> dict[str, Any]:
    return {
        "id": "msg_c",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-4-8",
        "content": list(content),
        "stop_reason": stop,
        "usage": {"input_tokens": 9, "output_tokens": 9},
    }


def of_chat(**message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {"id": "c1", "object": "chat.completion", "model": "gpt-4.1", "choices": [choice]}


@pytest.fixture(scope="module")
def four_wires() -> Walk:
    walk = Walk([high_tide, note])
    walk.ask(
        GEMINI,
        of_gemini(
            {"text": "A thought about tides.", "thought": True},
            {
                "functionCall": {"name": "high_tide", "args": {"port": "Brest"}, "id": "g1"},
                "thoughtSignature": SIGNED,
            },
            {"functionCall": {"name": "note", "args": {"input": "asked of brest"}, "id": "g2"}},
        ),
        Message.user("When is high tide in Brest? Keep a note."),
    )
    walk.ask(
        GPT,
        of_responses(
            THOUGHT,
            said("Saint-Malo next.", "commentary"),
            {
                "type": "custom_tool_call",
                "id": "ctc_1",
                "status": "completed",
                "call_id": "call_note",
                "name": "note",
                "input": "saint malo next",
            },
            {
                "type": "function_call",
                "id": "fc_1",
                "status": "completed",
                "call_id": "call_tide",
                "name": "high_tide",
                "arguments": '{"port": "Saint-Malo"}',
            },
            {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        ),
        walk.results({"port": "Brest", "at": "05:12"}, "no room"),
    )
    walk.ask(
        CLAUDE,
        of_claude(
            {"type": "thinking", "thinking": "Whitby is missing.", "signature": "c2lnbmVk"},
            {"type": "text", "text": "One more."},
            {
                "type": "tool_use",
                "id": "toolu_1",
                "name": "note",
                "input": {"input": "whitby is missing"},
            },
            stop="tool_use",
        ),
        walk.results({"kept": True}, {"at": "06:30"}),
    )
    walk.ask(
        OPENAI_CHAT,
        of_chat(content=None, refusal="I can't keep notes."),
        walk.results({"kept": True}),
    )
    walk.ask(GPT, of_responses(said("05:12 and 06:30.", "final_answer")), Message.user("Go on."))
    walk.ask(GEMINI, of_gemini({"text": "Bye."}), Message.user("Thanks."))
    bye = of_claude({"type": "text", "text": "Bye."}, stop="end_turn")
    walk.ask(CLAUDE, bye, Message.user("Bye."))
    return walk


def test_the_bodies_of_a_walk_over_four_wires(
    four_wires: Walk, snapshot: SnapshotAssertion
) -> None:
    assert [
        {"body": body, "notes": notes}
        for body, notes in zip(four_wires.bodies, four_wires.notes, strict=True)
    ] == snapshot


def test_each_wire_gets_what_it_can_hold(four_wires: Walk) -> None:
    last = four_wires.bodies[4]["input"]
    assert [item["type"] for item in last] == [
        "message",
        "function_call",
        "custom_tool_call",
        "function_call_output",
        "custom_tool_call_output",
        "reasoning",
        "message",
        "custom_tool_call",
        "function_call",
        "web_search_call",
        "custom_tool_call_output",
        "function_call_output",
        "message",
        "custom_tool_call",
        "custom_tool_call_output",
        "message",
        "message",
    ]
    # Its own items come back as they came, without their ids and status.
    assert last[5] == {key: value for key, value in THOUGHT.items() if key != "id"}
    assert (last[6]["phase"], last[7]["input"]) == ("commentary", "saint malo next")
    assert last[8]["arguments"] == '{"port": "Saint-Malo"}'
    # The others' calls of the custom tool are calls of it again, and a refusal stays one.
    assert (last[2]["input"], last[13]["input"]) == ("asked of brest", "whitby is missing")
    assert last[15]["content"] == [{"type": "refusal", "refusal": "I can't keep notes."}]
    assert four_wires.messages[7].parts == (Text("I can't keep notes.", refusal=True),)
    gemini = json.dumps(four_wires.bodies[5])
    assert (SIGNED in gemini, "gAAAAA" in gemini, "c2lnbmVk" in gemini) == (True, False, False)
    claude = json.dumps(four_wires.bodies[6])
    assert ("c2lnbmVk" in claude, "gAAAAA" in claude, SIGNED in claude) == (True, False, False)


BEDROCK = "bedrock:us.anthropic.claude-sonnet-4-6"
MARK = "YmVkcm9jaw=="


def of_bedrock(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    usage = {"inputTokens": 9, "outputTokens": 2, "totalTokens": 11}
    message = {"role": "assistant", "content": list(content)}
    return {"output": {"message": message}, "stopReason": stop, "usage": usage}


@pytest.fixture(scope="module")
def five_wires(four_wires: Walk) -> Walk:
    """The walk goes on at Bedrock, in the middle of whose turn GPT takes over, and comes back."""
    walk = Walk([high_tide, note])
    walk.messages = list(four_wires.messages)
    walk.ask(
        BEDROCK,
        of_bedrock(
            {"reasoningContent": {"reasoningText": {"text": "Brest again.", "signature": MARK}}},
            {"text": "I look."},
            {
                "toolUse": {
                    "toolUseId": "tooluse_1",
                    "name": "high_tide",
                    "input": {"port": "Brest"},
                }
            },
            {
                "toolUse": {
                    "toolUseId": "tooluse_2",
                    "name": "note",
                    "input": {"input": "brest again"},
                }
            },
            stop="tool_use",
        ),
        Message.user("And tomorrow?"),
    )
    bye = of_claude({"type": "text", "text": "Bye."}, stop="end_turn")
    for model, answer in (
        (GPT, of_responses(said("At 05:40.", "final_answer"))),
        (GEMINI, of_gemini({"text": "At 05:40."})),
        (CLAUDE, bye),
        (OPENAI_CHAT, of_chat(content="At 05:40.")),
        (BEDROCK, of_bedrock({"text": "Bye."})),
    ):
        asked = Message.user("And?") if walk.bodies[1:] else walk.results({"at": "05:40"}, "full")
        walk.ask(model, answer, asked)
    return walk


def test_the_bodies_of_a_walk_over_five_wires(
    five_wires: Walk, snapshot: SnapshotAssertion
) -> None:
    assert [
        {"body": body, "notes": notes}
        for body, notes in zip(five_wires.bodies, five_wires.notes, strict=True)
    ] == snapshot


def test_bedrock_gets_its_own_blocks_and_the_calls_of_all(five_wires: Walk) -> None:
    bodies = list(map(json.dumps, five_wires.bodies))
    # Its signature goes to it alone, and those of the others do not.
    assert [MARK in each for each in bodies] == [False, False, False, False, False, True]
    assert [SIGNED in each for each in bodies] == [False, False, True, False, False, False]
    assert "gAAAAA" not in bodies[-1]
    assert converse.check(five_wires.bodies[-1], BEDROCK.partition(":")[2]) == []
    blocks = [block for each in five_wires.bodies[-1]["messages"] for block in each["content"]]
    calls = [block["toolUse"] for block in blocks if "toolUse" in block]
    results = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
    assert [call["toolUseId"] for call in calls] == results
    assert [call["name"] for call in calls] == [
        "high_tide", "note", "note", "high_tide", "note", "high_tide", "note"
    ]  # fmt: skip
    assert (calls[0]["input"], calls[1]["input"]) == (
        {"port": "Brest"},
        {"input": "asked of brest"},
    )
    own = {"reasoningText": {"text": "Brest again.", "signature": MARK}}
    assert [block["reasoningContent"] for block in blocks if "reasoningContent" in block] == [own]


# --- seven wires ----------------------------------------------------------------------------------

INTERACTIONS = "gemini@interactions:gemini-3.8-flash"
OLLAMA = "ollama:qwen3:8b"
MARKED = "aW50ZXJhY3Rpb25z"


def of_interactions(*steps: dict[str, Any]) -> dict[str, Any]:
    calls = any(step["type"] == "function_call" for step in steps)
    return {
        "id": "v1_1",
        "object": "interaction",
        "model": "gemini-3.8-flash",
        "status": "requires_action" if calls else "completed",
        "steps": list(steps),
    }


def model_output(text: str) -> dict[str, Any]:
    return {"type": "model_output", "content": [{"type": "text", "text": text}]}


def of_ollama(**message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "", **message}
    head = {"model": "qwen3:8b", "created_at": "2026-11-29T08:00:00Z"}
    return {**head, "message": said, "done": True, "done_reason": "stop"}


@pytest.fixture(scope="module")
def seven_wires(five_wires: Walk) -> Walk:
    """The walk goes on at Interactions, in the middle of whose turn Ollama takes over, and GPT in
    the middle of Ollama's; then it visits all that it has not left last.
    """
    walk = Walk([high_tide, note])
    walk.messages = list(five_wires.messages)
    walk.ask(
        INTERACTIONS,
        of_interactions(
            {
                "type": "thought",
                "signature": MARKED,
                "summary": [{"type": "text", "text": "Roscoff is new."}],
            },
            model_output("I look."),
            {
                "type": "function_call",
                "id": "i1",
                "name": "high_tide",
                "arguments": {"port": "Roscoff"},
            },
            {
                "type": "function_call",
                "id": "i2",
                "name": "note",
                "arguments": {"input": "roscoff is new"},
            },
        ),
        Message.user("And in Roscoff?"),
    )
    call = {"index": 0, "name": "high_tide", "arguments": {"port": "Morlaix"}}
    walk.ask(
        OLLAMA,
        of_ollama(
            thinking="Morlaix is near.",
            content="One more.",
            tool_calls=[{"id": "call_o", "function": call}],
        ),
        walk.results({"at": "05:55"}, "full"),
    )
    walk.ask(GPT, of_responses(said("At 05:55.", "final_answer")), walk.results({"at": "06:05"}))
    for model, answer in (
        (OLLAMA, of_ollama(content="At 06:05.")),
        (INTERACTIONS, of_interactions(model_output("At 05:55."))),
        (GEMINI, of_gemini({"text": "At 05:55."})),
        (CLAUDE, of_claude({"type": "text", "text": "Bye."}, stop="end_turn")),
        (OPENAI_CHAT, of_chat(content="Bye.")),
        (BEDROCK, of_bedrock({"text": "Bye."})),
    ):
        walk.ask(model, answer, Message.user("And?"))
    return walk


def test_the_bodies_of_a_walk_over_seven_wires(
    seven_wires: Walk, snapshot: SnapshotAssertion
) -> None:
    assert [
        {"body": body, "notes": notes}
        for body, notes in zip(seven_wires.bodies, seven_wires.notes, strict=True)
    ] == snapshot


def test_interactions_and_ollama_get_their_own_and_the_calls_of_all(seven_wires: Walk) -> None:
    bodies = list(map(json.dumps, seven_wires.bodies))
    # The thought of Interactions goes back to Interactions alone, and that of Ollama to Ollama.
    assert [MARKED in each for each in bodies] == [at == 4 for at in range(len(bodies))]
    assert ["Morlaix is near." in each for each in bodies] == [at == 3 for at in range(len(bodies))]
    for at in (1, 3):  # at Ollama
        body = seven_wires.bodies[at]
        assert ollama.check(body, OLLAMA.partition(":")[2]) == []
        assert not any(mark in bodies[at] for mark in (SIGNED, "gAAAAA", "c2lnbmVk", MARK))
        calls = [call for each in body["messages"] for call in each.get("tool_calls", ())]
        results = [each for each in body["messages"] if each["role"] == "tool"]
        assert [(each["id"], each["function"]["name"]) for each in calls] == [
            (each["tool_call_id"], each["tool_name"]) for each in results
        ]
        assert len(calls) == (9, 10)[at // 2]
    body = seven_wires.bodies[4]
    assert interactions.check(body) == []
    steps = body["input"]
    calls = [step["id"] for step in steps if step["type"] == "function_call"]
    assert calls == [step["call_id"] for step in steps if step["type"] == "function_result"]
    own = steps.index(next(step for step in steps if step.get("signature") == MARKED))
    assert [step["type"] for step in steps[own : own + 4]] == [
        "thought", "model_output", "function_call", "function_call"
    ]  # fmt: skip
    assert [step["id"] for step in steps[own + 2 : own + 4]] == ["i1", "i2"]


def test_an_agent_moves_in_the_middle_of_its_tool_loop(snapshot: SnapshotAssertion) -> None:
    bodies: list[dict[str, Any]] = []

    def chat(model: str, answer: dict[str, Any]) -> Chat:
        def respond(request: httpx.Request) -> httpx.Response:
            bodies.append(json.loads(request.content))
            return httpx.Response(200, json=answer)

        return Chat(model, api_key="fake-key", effort="low", http=httpx.MockTransport(respond))

    def call(port: str) -> dict[str, Any]:
        return {
            "type": "function_call",
            "id": "fc_1",
            "status": "completed",
            "call_id": f"call_{port}",
            "name": "high_tide",
            "arguments": json.dumps({"port": port}),
        }

    agent = Agent(
        chat(GPT, of_responses(THOUGHT, said("Brest first.", "commentary"), call("Brest"))),
        "You know the tides.",
        tools=[high_tide],
    )
    runs = [agent.run("When is high tide in Brest, Saint-Malo and Whitby?", max_steps=1)]
    for model in (
        chat(
            GEMINI,
            of_gemini(
                {
                    "functionCall": {"name": "high_tide", "args": {"port": "Saint-Malo"}},
                    "thoughtSignature": SIGNED,
                },
            ),
        ),
        chat(
            CLAUDE,
            of_claude(
                {"type": "thinking", "thinking": "Whitby is missing.", "signature": "c2lnbmVk"},
                {
                    "type": "tool_use",
                    "id": "toolu_1",
                    "name": "high_tide",
                    "input": {"port": "Whitby"},
                },
                stop="tool_use",
            ),
        ),
        chat(GPT, of_responses(said("At 05:12 in all three.", "final_answer"))),
    ):
        agent.model = model
        runs.append(agent.run(max_steps=1))
    assert [run.reason for run in runs] == ["max_steps", "max_steps", "max_steps", "end"]
    assert runs[-1].text == "At 05:12 in all three."
    last = bodies[-1]["input"]
    assert last[1] == {key: value for key, value in THOUGHT.items() if key != "id"}
    notes = [[str(note) for note in run.steps[-1].reply.notes] for run in runs]
    assert [
        {"body": body, "notes": told} for body, told in zip(bodies, notes, strict=True)
    ] == snapshot
