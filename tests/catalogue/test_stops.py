"""Stop words: a row for each word of a wire, and what users read of it."""

from __future__ import annotations

import collections
import datetime
import json
import re
import typing
from pathlib import Path

import msgspec
import pytest

from tests.joined import joined
from wire.anthropic.parse import parse_reply as reply_of_message
from wire.anthropic.reader import parse_message
from wire.catalogue import stops
from wire.catalogue.stops import (
    NEXT,
    ROWS,
    Stop,
    known,
    partial_stop,
    stop_word,
    stopped,
    words_of,
)
from wire.core.memory import Note
from wire.gemini.parse import parse_reply as reply_of_gemini
from wire.gemini.reader import parse_response as parse_gemini
from wire.gemini.types import BlockReason, FinishReason
from wire.openai.chat.parse import parse_reply as reply_of_completion
from wire.openai.chat.reader import parse_completion
from wire.openai.responses.parse import parse_reply as reply_of_response
from wire.openai.responses.reader import parse_response

INVENTORIES = Path(__file__).parents[1] / "fixtures" / "inventories"


def inventory(name: str) -> typing.Any:
    return json.loads((INVENTORIES / f"{name}.json").read_bytes())["schemas"]


def words_in(text: str) -> set[str]:
    """The words of the enums in the inventory's form of a type."""
    found = re.findall(r"enum\(([^)]*)\)", text)
    return {word for words in found for word in re.findall(r"[a-z_]+", words)}


def test_each_word_of_the_vendors_has_a_row():
    assert words_of("gemini") >= set(FinishReason)
    assert words_of("gemini.block") == set(BlockReason)
    response = inventory("openai.responses")["Response"]
    assert len(statuses := words_in(response["status"])) == 6
    assert len(reasons := words_in(response["incomplete_details"])) == 2
    assert words_of("responses") >= statuses | reasons
    assert len(reasons := words_in(inventory("anthropic")["StopReason"])) == 7
    assert words_of("messages") >= reasons | {"compaction"}  # of the beta
    finishes = words_in(inventory("openai")["CreateChatCompletionResponse"]["choices"])
    assert len(finishes) == 5
    assert words_of("chat") >= finishes


def test_rows_are_sound():
    keys = collections.Counter((row.wire, row.word) for row in ROWS)
    assert [key for key, count in keys.items() if count > 1] == []
    for row in ROWS:
        assert msgspec.convert(msgspec.to_builtins(row), stops.StopWord) == row
        assert row.source
        assert datetime.date.fromisoformat(row.date)
        assert row.evidence != "unknown"
        # `Stop` derives both from what a row says.
        stop, notes = stopped(row, row.word, token="dG9r")
        assert (stop.complete, stop.next, notes) == (row.whole, row.next, ()), row
    assert set(NEXT) == set(typing.get_args(stops.StopReason))


def test_an_unknown_word_is_no_end_and_asks_for_nothing():
    row = stop_word("gemini", "FAKE_NEW_FINISH_REASON", calls=True)
    assert (row.reason, row.whole, row.next) == ("other", False, "nothing")
    assert known("gemini", "FAKE_NEW_FINISH_REASON") is None
    assert stop_word("gemini", None).reason == "other"


def gemini(finish: str, **candidate: typing.Any) -> typing.Any:
    content = {"parts": [{"text": "Hi"}]}
    body = {"candidates": [{"content": content, "finishReason": finish, **candidate}]}
    return reply_of_gemini(parse_gemini(json.dumps(body).encode()))


def completion(finish: str, **choice: typing.Any) -> typing.Any:
    choices = [{"message": {"content": "Hi"}, "finish_reason": finish, **choice}]
    return reply_of_completion(parse_completion(json.dumps({"choices": choices}).encode()))


def message(finish: str) -> typing.Any:
    body = {"content": [{"type": "text", "text": "Hi"}], "stop_reason": finish}
    return reply_of_message(parse_message(json.dumps(body).encode()))


def response(status: str, *items: typing.Any, **fields: typing.Any) -> typing.Any:
    text = {"type": "output_text", "text": "Hi"}
    said = {"type": "message", "role": "assistant", "content": [text]}
    body = {"status": status, "output": [said, *items], **fields}
    return reply_of_response(parse_response(json.dumps(body).encode()))


def cut(reason: str) -> typing.Any:
    return response("incomplete", incomplete_details={"reason": reason})


READ: list[tuple[typing.Any, str, bool, str]] = [
    (lambda: gemini("STOP"), "end", True, "nothing"),
    (lambda: gemini("CONTINUATION", continuationToken="dG9r"), "pause", False, "continue_token"),
    (lambda: gemini("CONTINUATION"), "pause", False, "nothing"),
    (lambda: gemini("MAX_TOKENS"), "length", False, "raise_limit"),
    (lambda: gemini("MISSING_THOUGHT_SIGNATURE"), "error", False, "nothing"),
    (lambda: completion("model_length"), "length", False, "compact_then_send"),
    (
        lambda: completion("length", native_finish_reason="CONTINUATION"),
        "pause",
        False,
        "send_back",
    ),
    (lambda: completion("length", native_finish_reason="x"), "length", False, "raise_limit"),
    (lambda: message("pause_turn"), "pause", False, "send_back"),
    (lambda: message("compaction"), "pause", False, "compact_then_send"),
    (lambda: response("queued"), "pause", False, "poll"),
    (lambda: response("in_progress"), "pause", False, "poll"),
    (lambda: response("cancelled"), "other", False, "nothing"),
    (lambda: cut("max_output_tokens"), "length", False, "raise_limit"),
    (lambda: cut("max_messages"), "length", False, "send_back"),
]


@joined(("make", "reason", "complete", "next"), READ)
def test_a_reply_says_who_acts_next(make, reason, complete, next):
    stop = make().stop
    assert (stop.reason, stop.complete, stop.next) == (reason, complete, next)


@joined("make", [gemini, completion, message, response, cut])
def test_an_unknown_word_is_noted(make):
    reply = make("bored")
    assert (reply.stop.reason, reply.stop.raw, reply.stop.next) == ("other", "bored", "nothing")
    assert reply.notes == (Note("stop", "'bored' is unknown here; the reply may be incomplete"),)


def test_the_token_is_kept():
    assert gemini("CONTINUATION", continuationToken="dG9r").stop == Stop(
        "pause", "CONTINUATION", then="continue_token", token="dG9r"
    )
    stop = gemini("MAX_TOKENS", continuationToken="dG9r").stop
    assert (stop.reason, stop.next, stop.token) == ("length", "raise_limit", "dG9r")


CALLS = [
    ({"type": "apply_patch_call", "call_id": "c1"}, "run_tools"),
    ({"type": "computer_call", "call_id": "c1"}, "run_tools"),
    ({"type": "shell_call", "call_id": "c1"}, "run_tools"),
    ({"type": "local_shell_call", "call_id": "c1"}, "run_tools"),
    ({"type": "tool_search_call", "execution": "client", "call_id": "c1"}, "run_tools"),
    ({"type": "mcp_approval_request", "id": "m1"}, "ask_user"),
]


@joined(("item", "next"), CALLS)
def test_a_call_that_only_the_client_can_run_is_no_end(item, next):
    reply = response("completed", item)
    assert (reply.stop.reason, reply.stop.complete, reply.stop.next) == ("other", False, next)
    assert [(note.path, note.message.split()[0]) for note in reply.notes] == [
        ("output[1]", item["type"])
    ]


@joined(
    "items",
    [
        (
            {"type": "shell_call", "call_id": "c1"},
            {"type": "shell_call_output", "call_id": "c1", "output": []},
        ),
        ({"type": "tool_search_call", "execution": "server", "call_id": None},),
    ],
)
def test_a_call_that_the_host_ran_is_none_for_the_client(items):
    reply = response("completed", *items)
    assert (reply.stop, reply.notes) == (Stop("end", "completed"), ())


def test_a_call_beside_one_of_a_function_is_noted():
    call = {"type": "function_call", "call_id": "c1", "name": "tide", "arguments": "{}"}
    reply = response("completed", call, {"type": "computer_call", "call_id": "c2"})
    assert (reply.stop.reason, reply.stop.next) == ("tool_calls", "run_tools")
    assert [note.path for note in reply.notes] == ["output[2]"]


@pytest.mark.row("S4-16")
def test_a_partial_reply_asks_for_nothing():
    partial = partial_stop(Stop("pause", "queued", then="poll"), None)
    assert (partial.reason, partial.complete, partial.next) == ("other", False, "nothing")
