"""Responses that follow each other on one WebSocket: what is sent, and what each message means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wire.core.turns import Turn
from wire.openai.responses.websocket import ResponseTurns

HI = {"type": "message", "role": "user", "content": "Hi"}
SAID = {
    "id": "msg_1",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
}
CALL = {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "tide", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "7 m"}


def body(*items: Any, **keys: Any) -> bytes:
    return json.dumps({"model": "m", "input": list(items), "store": False, **keys}).encode()


def begun(turns: ResponseTurns, *items: Any, anew: bool = False, **keys: Any) -> Any:
    return json.loads(turns.begin(body(*items, **keys), anew=anew))


def event(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, **fields}).encode()


def answered(turns: ResponseTurns, *output: Any, id: str = "resp_1") -> None:
    """Feed a whole response."""
    turns.take(event("response.created", response={"id": id}))
    for index, item in enumerate(output):
        turns.take(event("response.output_item.done", output_index=index, item=item))
    last = turns.take(event("response.completed", response={"id": id, "output": list(output)}))
    assert last.is_last
    assert last.keeps


def test_the_first_request_is_sent_whole_and_without_keys_of_http() -> None:
    message = begun(ResponseTurns(), HI, stream=True, stream_options={}, background=False, x=[1])
    assert message == {
        "type": "response.create",
        "model": "m",
        "input": [HI],
        "store": False,
        "x": [1],
    }
    assert next(iter(message)) == "type"


def test_a_request_that_goes_on_has_only_what_is_new() -> None:
    turns = ResponseTurns()
    begun(turns, HI)
    answered(turns, {"type": "reasoning", "id": "rs_1", "summary": []}, CALL)
    items = [HI, {"type": "reasoning", "summary": []}, CALL]
    assert turns.known(turns.read(body(*items, RESULT))) == 3
    message = begun(turns, *items, RESULT, tools=[{"type": "function"}])
    assert (message["previous_response_id"], message["input"]) == ("resp_1", [RESULT])
    assert message["tools"] == [{"type": "function"}]
    answered(turns, SAID, id="resp_2")
    message = begun(turns, *items, RESULT, SAID, HI)
    assert (message["previous_response_id"], message["input"]) == ("resp_2", [HI])


def test_what_is_new_has_its_bytes() -> None:
    turns = ResponseTurns()
    begun(turns, HI)
    answered(turns, SAID)
    odd = rb'{"type": "x",  "n": 1.50, "wave": "\ud83c\udf0a", "\u00e9": null}'
    known = b", ".join(json.dumps(each).encode() for each in (HI, SAID))
    whole = b'{"model": "m", "input": [%b, %b]}' % (known, odd)
    message = turns.begin(whole)
    assert b'"input":[%b]' % odd in message
    assert b'"previous_response_id":"resp_1"' in message


@pytest.mark.parametrize(
    ("items", "keys"),
    [
        ([HI, SAID], {}),
        ([HI], {}),
        ([SAID, HI, RESULT], {}),
        ([HI, {**SAID, "content": []}, RESULT], {}),
        ([HI, SAID, RESULT], {"model": "n"}),
        ([HI, SAID, RESULT], {"previous_response_id": "resp_0"}),
        ([HI, SAID, RESULT], {"conversation": "conv_1"}),
    ],
    ids=["nothing new", "repeated", "other order", "changed", "model", "own id", "conversation"],
)
def test_a_request_that_does_not_go_on_is_sent_whole(items: list[Any], keys: Any) -> None:
    turns = ResponseTurns()
    begun(turns, HI)
    answered(turns, SAID)
    assert turns.known(turns.read(body(*items, **keys))) == 0
    message = begun(turns, *items, **keys)
    assert message["input"] == items
    assert message.get("previous_response_id") == keys.get("previous_response_id")


@pytest.mark.parametrize("end", ["response.failed", "response.incomplete", "error", "nothing"])
def test_only_a_complete_response_is_gone_on_with(end: str) -> None:
    turns = ResponseTurns()
    begun(turns, HI)
    turns.take(event("response.created"))
    turns.take(event("response.output_item.done", output_index=0, item=SAID))
    if end != "nothing":
        turn = turns.take(event(end, response={"id": "resp_1"}))
        assert (turn.is_last, turn.keeps) == (True, end != "error")
    assert turns.known(turns.read(body(HI, SAID, RESULT))) == 0


def test_a_text_as_input_is_gone_on_with() -> None:
    turns = ResponseTurns()
    turns.begin(b'{"model":"m","input":"Hi"}')
    answered(turns, SAID)
    assert turns.known(turns.read(body({"role": "user", "content": "Hi"}, SAID, HI))) == 2


def test_events_are_what_http_sends() -> None:
    turns = ResponseTurns()
    begun(turns, HI)
    assert turns.take(event("response.completed", response={"id": "late"})) == Turn()
    assert turns.take(b'{"type":\r\n"response.created"}') == Turn(
        b'data: {"type":  "response.created"}\n\n'
    )
    assert turns.take(b"no json") == Turn(b"data: no json\n\n")
    assert turns.take(event("response.output_text.delta", delta="a\nb")).data == (
        b'data: {"type": "response.output_text.delta", "delta": "a\\nb"}\n\n'
    )


def refused(code: str, **keys: Any) -> bytes:
    return event("error", error={"code": code, "message": "No."}, **keys)


def test_an_error_in_place_of_a_response_has_its_status() -> None:
    turns = ResponseTurns()
    begun(turns, HI)
    message = refused("rate_limit_exceeded", status=429)
    assert turns.take(message) == Turn(message, is_last=True, status=429)
    for without in (refused("x"), refused("x", status=200), refused("x", status="429")):
        assert turns.take(without) == Turn(b"data: " + without + b"\n\n", is_last=True)


def test_what_the_server_has_forgotten_is_sent_again() -> None:
    turns = ResponseTurns()
    begun(turns, HI)
    lost = refused("previous_response_not_found", status=400)
    assert not turns.take(lost).again
    turns = ResponseTurns()
    begun(turns, HI)
    answered(turns, SAID)
    items = [HI, SAID, RESULT]
    assert begun(turns, *items)["input"] == [RESULT]
    turn = turns.take(lost)
    assert (turn.again, turn.keeps) == (True, True)
    assert begun(turns, *items, anew=True)["input"] == items


def test_a_connection_that_is_too_old_is_left() -> None:
    turns = ResponseTurns()
    begun(turns, HI)
    turn = turns.take(refused("websocket_connection_limit_reached", status=400))
    assert (turn.again, turn.keeps, turn.is_last) == (True, False, True)
