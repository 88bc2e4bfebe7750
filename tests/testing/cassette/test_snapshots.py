"""C-39: bodies, events and replies as plain data that is equal in each recording."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.joined import joined
from tests.testing.cassette.conversations import (
    CHAT_WHOLE,
    EMBEDDINGS,
    EVERYTHING,
    GEMINI_TOOLS,
    MESSAGES,
    RESPONSES,
    UPLOAD,
    text_of,
)
from wire import Chat, Message
from wire.errors import CassetteError
from wire.testing import Record, Snapshots, stable
from wire.testing.emulator import Emulator, EmulatorTransport


def high_tide(port: str) -> str:
    """The next high tide in a port."""
    raise AssertionError


def snapshots(tmp_path: Path, text: str) -> Snapshots:
    path = tmp_path / "recorded.json"
    path.write_text(text, "utf-8")
    return Snapshots(path)


@pytest.mark.row("C-39")
def test_the_body_of_each_request_is_plain_data(tmp_path: Path):
    requests = snapshots(tmp_path, text_of(EMBEDDINGS, UPLOAD, MESSAGES)).requests
    assert requests[:2] == [
        {"model": "text-embedding-3-small", "input": "tide"},
        {
            "media_type": "application/json",
            "size": 6,
            "sha256": hashlib.sha256(b"\x89PNG\xff\xfe").hexdigest(),
        },
    ]
    assert requests[2]["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look it up.", "signature": "<signature:1>"},
                {
                    "type": "tool_use",
                    "id": "<id:1>",
                    "name": "high_tide",
                    "input": {"port": "Brest"},
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "<id:1>",
                    "is_error": True,
                    "content": [{"type": "text", "text": "no such port"}],
                }
            ],
        },
    ]


@pytest.mark.row("C-39")
def test_the_events_are_plain_data(tmp_path: Path):
    [events] = snapshots(tmp_path, text_of(CHAT_WHOLE)).events
    assert events[2:] == [
        {
            "id": "<id:2>",
            "object": "chat.completion.chunk",
            "created": "<time>",
            "model": "gpt-5.4",
            "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        },
        "[DONE]",
    ]
    assert snapshots(tmp_path, text_of(MESSAGES)).events == [[]]


@pytest.mark.row("C-39")
def test_the_folded_message_is_plain_data(tmp_path: Path):
    replies = snapshots(tmp_path, text_of(*GEMINI_TOOLS, EMBEDDINGS)).replies
    assert replies == [
        {"error": {"type": "OverloadedError", "message": "The model is overloaded."}},
        {
            "reply": {
                "role": "assistant",
                "parts": [
                    {"kind": "thought", "text": "The tide table knows."},
                    {
                        "kind": "call",
                        "name": "high_tide",
                        "id": "<id:1>",
                        "value": {"port": "Brest"},
                        "signature": "<signature:1>",
                    },
                ],
            },
            "stop": {"reason": "tool_calls", "raw": "STOP"},
        },
        {
            "reply": {
                "role": "assistant",
                "parts": [{"kind": "text", "text": "High tide is at 05:12 and 17:40."}],
            },
            "stop": {"reason": "end", "raw": "STOP"},
        },
        None,
    ]


NEW_IDS = {
    "fc-1": "fc-77",
    "resp-a": "resp-77",
    "chatcmpl-a": "chatcmpl-77",
    "call_a": "call_77",
    "toolu_a": "toolu_77",
    "msg_a": "msg_77",
    "rs_a": "rs_77",
    "fc_a": "fc_77",
    "call_ost": "call_78",
    "resp_b": "resp_78",
    "msg_b": "msg_78",
    "178900000": "178911111",
    "gAAAAB": "gAAAAC",
    "U2lnbmVk": "U2lnbmVl",
    "c2lnbmF0": "c2lnbmF1",
}


@pytest.mark.row("C-39")
def test_two_runs_with_new_ids_give_equal_snapshots(tmp_path: Path):
    text = text_of(*EVERYTHING)
    again = text
    for old, new in NEW_IDS.items():
        assert old in again
        again = again.replace(old, new)
    first, second = snapshots(tmp_path, text), snapshots(tmp_path, again)
    assert vars(first) == vars(second)
    assert json.loads(json.dumps(vars(first))) == vars(first)
    changed = snapshots(tmp_path, text.replace("05:12", "05:13"))
    assert vars(first) != vars(changed)


@pytest.mark.row("C-39")
def test_two_recordings_of_a_conversation_give_equal_snapshots(tmp_path: Path):
    calls = {"calls": [{"name": "high_tide", "args": {"port": "Brest"}}]}

    def record(seed: int) -> Snapshots:
        path = tmp_path / f"{seed}.json"
        emulator = Emulator([{"say": calls}, {"say": "At 05:12."}], seed=seed)
        http = Record(EmulatorTransport(emulator), path)
        with Chat("anthropic:claude-opus-5", api_key="fake-key", http=http) as chat:
            history = [Message.user("When is high tide in Brest?")]
            reply = chat.ask(messages=history, tools=[high_tide])
            results = [Message.tool_result(call, "05:12") for call in reply.tool_calls]
            chat.ask(messages=[*history, reply.message, *results], tools=[high_tide])
        return Snapshots(path)

    assert vars(record(1)) == vars(record(2))
    first, second = ((tmp_path / f"{seed}.json").read_text("utf-8") for seed in (1, 2))
    assert first != second


@pytest.mark.row("C-39")
def test_ids_are_numbered_in_order_of_first_sight():
    assert stable([{"id": "b"}, {"call_id": "a"}, {"item_id": "b"}, "a", "c"]) == [
        {"id": "<id:1>"},
        {"call_id": "<id:2>"},
        {"item_id": "<id:1>"},
        "<id:2>",
        "c",
    ]


@pytest.mark.row("C-39")
@joined(
    "own",
    [
        {"type": "tool_use", "name": "f", "input": {"id": "42", "created_at": 1}},
        {"name": "f", "args": {"user_id": "42"}},
        {"name": "f", "arguments": '{"user_id": "42"}'},
        {"name": "f", "response": {"id": "42"}},
        {"custom_id": "port-1"},
        {"name": "f", "parameters": {"properties": {"id": {"type": "string"}}}},
        {"kind": "call", "name": "f", "value": {"id": "42"}},
    ],
    ids=lambda own: next(reversed(own)),
)
def test_arguments_results_and_schemas_are_kept(own: object):
    assert stable(own) == own


@pytest.mark.row("C-39")
def test_ids_of_all_wires_are_replaced(tmp_path: Path):
    text = json.dumps(vars(snapshots(tmp_path, text_of(*GEMINI_TOOLS, MESSAGES, RESPONSES))))
    assert not [old for old in NEW_IDS if re.search(rf'"{old}', text)]


@pytest.mark.row("C-39")
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(CassetteError, match=r"none\.json"):
        Snapshots(tmp_path / "none.json")
