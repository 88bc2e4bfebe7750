"""The role `developer` and the names of messages, on every wire, in histories and in files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from wire import Chat, history
from wire.errors import RuleError
from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.sessions import dump_session, load_session

CALL = ToolCall(id="call_1", name="now")
TALK = [
    Message.system("Be brief."),
    Message.developer("Use metres.", name="house"),
    Message.user("How high?", name="alice"),
    Message.assistant("The tower?", CALL, name="bot"),
    Message("tool", (ToolResult("call_1", "now", "noon"),), name="clock"),
    Message.user("Yes.", name="bob"),
]


def rendered(model: str, *messages: Message, **options: Any) -> tuple[dict[str, Any], list[str]]:
    """The body that a chat sends, and the notes of its call."""
    with Chat(model, api_key="fake-key", max_tokens=99, **options) as chat:
        call = chat.call(messages=messages)
    body: dict[str, Any] = json.loads(call.body)
    return body, [str(note) for note in call.notes]


@pytest.mark.row("U-34", "U-37")
@joined(
    ("model", "role"),
    [
        ("openai:gpt-5.2", "developer"),
        ("deepseek:deepseek-chat", "system"),
        ("glm:glm-5", "system"),
        ("kimi:kimi-k2.6", "system"),
    ],
)
def test_chat_completions_have_names_and_the_role_where_the_host_has_it(
    model: str, role: str
) -> None:
    body, notes = rendered(model, *TALK)
    assert [(each["role"], each.get("name")) for each in body["messages"]] == [
        ("system", None),
        (role, "house"),
        ("user", "alice"),
        ("assistant", "bot"),
        ("tool", None),
        ("user", "bob"),
    ]
    named = [note for note in notes if ".name" in note]
    assert named == ["messages[4].name: not sent: 'clock'; write it in the text"]


def test_a_host_of_no_row_gets_system() -> None:
    body, _ = rendered("my-host:m", *TALK, base_url="https://llm.example/v1")
    assert [each["role"] for each in body["messages"][:2]] == ["system", "system"]


@pytest.mark.row("U-34", "U-37")
@pytest.mark.parametrize(
    ("model", "key", "texts"),
    [
        (
            "gemini:gemini-3.5-flash",
            "systemInstruction",
            {"parts": [{"text": "Be brief."}, {"text": "Use metres."}]},
        ),
        (
            "anthropic:claude-opus-4-8",
            "system",
            [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Use metres."}],
        ),
    ],
)
def test_elsewhere_developer_is_merged_with_system_and_names_are_reported(
    model: str, key: str, texts: object
) -> None:
    body, notes = rendered(model, *TALK)
    assert body[key] == texts
    assert [note for note in notes if ".name" in note] == [
        f"messages[{index}].name: not sent: {name!r}; write it in the text"
        for index, name in [(1, "house"), (2, "alice"), (3, "bot"), (4, "clock"), (5, "bob")]
    ]
    assert "alice" not in json.dumps(body)


def test_an_instruction_of_the_developer_may_stand_between_calls_and_results() -> None:
    talk = [*TALK[:4], Message.developer("Now in feet."), *TALK[4:]]
    assert history.check(talk) == []
    body, notes = rendered("openai:gpt-5.2", *talk)
    assert [each["role"] for each in body["messages"]][3:] == [
        "assistant",
        "tool",
        "developer",
        "user",
    ]
    assert any(note.startswith("messages[4]: moved after the results") for note in notes)


def test_the_tools_of_histories_take_it_for_an_instruction() -> None:
    assert history.check(TALK) == []
    assert history.repair(TALK) == TALK
    pruned = history.prune([*TALK, Message.user("And now?")], max_messages=3)
    assert [each.role for each in pruned] == ["system", "developer", "user"]
    repaired = history.repair([Message.user("Hi", CALL, name="alice")])
    assert repaired == [Message.user("Hi", name="alice")]
    (handed,) = history.hand_over([Message.user("Hi", name="alice")], "gemini", "m")
    assert handed.name == "alice"


def test_a_schema_in_words_is_added_to_the_first_instruction_of_either_role() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    with Chat("deepseek:deepseek-chat", api_key="fake-key") as chat:
        call = chat.call(messages=[Message.developer("Be brief."), TALK[2]], output=schema)
    first, *rest = json.loads(call.body)["messages"]
    assert first["content"].startswith("Be brief.\n\nAnswer with JSON")
    assert [each["role"] for each in rest] == ["user"]


def test_a_file_keeps_both_and_a_file_without_them_is_read_as_before() -> None:
    data = dump_session(TALK)
    assert list(load_session(data).messages) == TALK
    plain = dump_session([Message.user("Hi")])
    assert b"name" not in plain
    assert json.loads(plain)["version"] == 1
    assert load_session(plain).messages[0].name == ""


@pytest.mark.parametrize("name", [7, b"alice", None])
def test_a_name_is_a_text(name: Any) -> None:
    with pytest.raises(RuleError, match=r"message\.name: expected a text, not "):
        Message("user", (), name)


@pytest.mark.parametrize("model", ["gemini:m", "openai:gpt-5.2", "anthropic:claude-opus-4-8"])
def test_a_name_that_json_cannot_represent_is_refused_with_its_path(model: str) -> None:
    with pytest.raises(RuleError, match=r"messages\[0\]\.name"):
        rendered(model, Message.user("Hi", name="\ud800"))
    with pytest.raises(RuleError, match=r"messages\[0\]\.name"):
        dump_session([Message.user("Hi", name="\ud800")])
