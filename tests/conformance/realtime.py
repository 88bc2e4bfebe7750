"""What is to hold of a recorded conversation over WebSocket: OpenAI Realtime and Gemini Live."""

from __future__ import annotations

import json
from typing import Any

import msgspec

import wire
from tests.conformance.compare import same, typed
from tests.conformance.gemini import Checks
from tests.conformance.records import Record, body_of, same_bytes
from tests.conformance.result import Mismatch
from wire.core.lenient import decoded
from wire.core.memory import WireStruct, encode
from wire.gemini import live
from wire.gemini.decode import decode
from wire.openai import realtime


def scope(record: Record, **_: object) -> Checks | None:
    """What is to hold of a record; `None` for the sessions of the beta over HTTP."""
    if "messages" not in record:
        checks: Checks = _OVER_HTTP.get(record["endpoint"], [])
        return checks or None
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


# --- over HTTP ------------------------------------------------------------------------------------


def check_secret(record: Record) -> None:
    """What we send is the recorded request, and the answer is read with nothing lost."""
    request = decoded(json.dumps(record["request_body"]).encode(), realtime.ClientSecretRequest)
    typed(request, record["request_body"], "request")
    call = realtime.create_client_secret(request)
    same(json.loads(call.body), record["request_body"], "request")
    body = body_of(record)
    answer = call.parse(body)
    typed(answer, json.loads(body), "answer")
    same_bytes(encode(answer), body)


def check_call(record: Record) -> None:
    """The description goes out as it was, alone or with the session, and comes back whole."""
    body, kind = record["request_body"], record["request_headers"]["content-type"]
    if kind == "application/sdp":
        call = realtime.create_call(body)
        same_bytes(call.body, body.encode())
    else:
        boundary = kind.partition("boundary=")[2]
        values = [part.partition("\r\n\r\n")[2] for part in body.split(f"--{boundary}\r\n")[1:]]
        sdp, settings = (value.partition(f"\r\n--{boundary}")[0] for value in values)
        sdp, settings = sdp.removesuffix("\r\n"), settings.removesuffix("\r\n")
        session = decoded(settings.encode(), realtime.Session)
        call = realtime.create_call(sdp, session, boundary=boundary)
        assert call.form is not None
        sent = dict(call.form.fields)
        same_bytes(str(sent["sdp"]).encode(), sdp.encode())
        same(json.loads(str(sent["session"])), json.loads(settings), "session")
    same_bytes(call.parse(body_of(record)).sdp.encode(), body_of(record))


_OVER_HTTP: dict[str, Any] = {
    "realtime.calls": [check_call],
    "realtime.client_secrets": [check_secret],
}
