"""Media in results of tools are lowered for a model that does not read them, never refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from wire import Agent, Chat, Media, Message, Tool, ToolCall, ToolResult, tool
from wire.errors import RuleError
from wire.testing.emulator import Emulator, EmulatorTransport

CALL = ToolCall(id="call_00001", name="look", arguments={})
LOOK = Tool("look", "Looks.", {"type": "object", "properties": {}})
SOUND = Media(data=b"RIFF....WAVE", media_type="audio/wav", name="ebb.wav")
TABLE = Media(data=b"port,at\nBrest,5\n", media_type="text/csv")
BLOB = Media(data=b"\0\1\2", media_type="application/octet-stream")
PAPER = Media(data=b"%PDF-1.7", media_type="application/pdf")
BROKEN = Media(data=b"\xff\xfe", media_type="text/plain")


def call_of(model: str, content: Any, *media: Media) -> Any:
    result = ToolResult(CALL.id, CALL.name, content, media=media)
    messages = [Message.user("Hi"), Message("assistant", (CALL,)), Message.tool_response([result])]
    with Chat(model, api_key="fake-key") as chat:
        return chat.call(messages=messages, tools=[LOOK])


def lowered(call: Any) -> list[str]:
    return [str(note) for note in call.notes if ".media[" in note.path]


@joined(
    ("model", "media", "sent", "how"),
    [
        ("openai@chat:gpt-4.1", TABLE, "seen\\n\\nport,at\\nBrest,5\\n", "sent as text"),
        ("openai@chat:gpt-4.1", SOUND, "[ebb.wav, audio/wav, 12 bytes: this model ", "left out"),
        ("openai@chat:gpt-audio", SOUND, '"input_audio"', ""),
        ("openai@responses:gpt-5.6", SOUND, "[ebb.wav, audio/wav, 12 bytes", "left out"),
        ("openai@responses:gpt-5.6", TABLE, '"input_file"', ""),
        ("anthropic:claude-opus-5-5", SOUND, "[ebb.wav, audio/wav, 12 bytes", "left out"),
        ("anthropic:claude-opus-5-5", PAPER, '"document"', ""),
        ("anthropic:claude-opus-5-5", BROKEN, "[text/plain, 2 bytes: this model", "left out"),
        ("gemini:gemini-3.8-flash", Media(data=b"x", media_type="image/png"),
         "[image/png, 1 bytes: this model cannot read it]", "left out"),
        ("deepseek:deepseek-flash", PAPER, "[application/pdf, 8 bytes: this model", "left out"),
        ("mistral:mistral-large-latest", BLOB, "[application/octet-stream, 3 bytes", "left out"),
    ],
)  # fmt: skip
def test_a_model_gets_what_it_can_read_of_a_result(
    model: str, media: Media, sent: str, how: str
) -> None:
    call = call_of(model, "seen", media)
    assert sent in call.body.decode()
    notes = lowered(call)
    assert [note.startswith("messages[2].parts[0].media[0]: ") for note in notes] == [True] * bool(
        how
    )
    assert how in "".join(notes)


def test_a_result_keeps_its_object_and_the_media_that_are_read() -> None:
    call = call_of("anthropic:claude-opus-5-5", {"at": 5}, SOUND, PAPER, TABLE)
    [block] = json.loads(call.body)["messages"][2]["content"]
    text, paper, table = block["content"]
    assert json.loads(text["text"]) == [
        {"at": 5},
        "[ebb.wav, audio/wav, 12 bytes: this model cannot read it]",
    ]
    assert [paper["type"], table["type"]] == ["document", "document"]
    assert len(lowered(call)) == 1


def test_media_of_the_user_are_refused_as_before() -> None:
    with Chat("anthropic:claude-opus-5-5", api_key="fake-key") as chat:
        with pytest.raises(RuleError, match="not audio/wav"):
            chat.call(messages=[Message.user("Hi", SOUND)])


@pytest.mark.parametrize("model", ["openai@chat:gpt-4.1", "anthropic:claude-opus-5-5"])
def test_a_run_does_not_end_because_a_tool_brought_a_sound(model: str) -> None:
    @tool
    def look() -> ToolResult:
        """Looks."""
        return ToolResult("", "", "heard", media=(SOUND,))

    emulator = Emulator([{"say": {"calls": [{"name": "look", "args": {}}]}}, {"say": "Done."}])
    with Chat(model, api_key="fake-key", http=EmulatorTransport(emulator)) as chat:
        result = Agent(chat, tools=[look]).run("Look.")
    assert result.text == "Done."
    assert "this model cannot read it" in json.dumps(emulator.requests[1]["body"])
