"""What is to hold of a recorded conversation over WebSocket: OpenAI Realtime and Gemini Live."""

from __future__ import annotations

import json
from typing import Any

import msgspec

import wire
from tests.conformance.compare import same, typed
from tests.conformance.gemini import Checks
from tests.conformance.records import Record, same_bytes
from tests.conformance.result import Mismatch
from wire.core.lenient import decoded
from wire.core.memory import WireStruct, encode
from wire.gemini import live
from wire.gemini.decode import decode
from wire.openai import realtime


def scope(record: Record, **_: object) -> Checks | None:
    """What is to hold of a record; `None` for the exchanges over HTTP."""
    if "messages" not in record:
        return None
    return [check_live if record["endpoint"] == "live" else check_realtime]


def check_realtime(record: Record) -> None:
    """Each message read into its struct and written again, with nothing lost."""
    for index, (sent, data) in enumerate(_messages(record)):
        path, plain = f"messages[{index}]", json.loads(data)
        event: WireStruct = decoded(data, realtime.ClientEvent if sent else realtime.ServerEvent)
        typed(event, plain, path)
        same_bytes(encode(event), data)
        _check_built(event, plain, path)
        if not sent and ".audio." in realtime.event_name(realtime.parse_event(data)):
            raise Mismatch(f"{path} keeps the name of the beta")


def check_live(record: Record) -> None:
    """As `check_realtime`; clients spell the keys in two ways."""
    for index, (sent, data) in enumerate(_messages(record)):
        path, plain = f"messages[{index}]", json.loads(data)
        if sent:
            message: WireStruct = decode(data, live.ClientMessage)
            typed(message, plain, path, spelled=True)
            _check_built(message, json.loads(message.raw or b""), path)
        else:
            message = live.parse_message(data)
            typed(message, plain, path)
            same_bytes(encode(message), data)
            _check_built(message, plain, path)


def _messages(record: Record) -> list[tuple[bool, bytes]]:
    return [
        (each["direction"] == "sent", each["data"].encode())
        for each in record["messages"]
        if each["kind"] == "text"
    ]


def _check_built(struct: WireStruct, plain: Any, path: str) -> None:
    """A struct that is built of the fields, without the received bytes, is the same message, unless
    the message has keys without a field.
    """
    if wire.unknown(struct):
        return
    same(json.loads(encode(msgspec.structs.replace(struct))), plain, path)
