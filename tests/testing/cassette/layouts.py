"""Writes exchanges in the layouts of other recorders, as their programs do (C-37)."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import yaml


class Recorded(NamedTuple):
    """An exchange that a foreign recording holds."""

    sent: bytes
    received: bytes
    content_type: str = "text/event-stream"
    status: int = 200

    @property
    def url(self) -> str:
        return "https://llm.example/v1/generate?alt=sse"


Layout = Callable[[Sequence[Recorded]], bytes]


def _yaml(value: Any) -> bytes:
    text: str = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False)
    return text.encode()


def _text(data: bytes) -> str | bytes:
    """vcrpy writes a text where it can, else !!binary."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _is_text(data: bytes) -> bool:
    return isinstance(_text(data), str)


def _request(each: Recorded) -> dict[str, Any]:
    return {
        "body": _text(each.sent),
        "headers": {"content-type": ["application/json"], "user-agent": ["made-up/1"]},
        "method": "POST",
        "uri": each.url,
    }


def _response(each: Recorded, **more: Any) -> dict[str, Any]:
    return {
        "headers": {"Content-Type": [each.content_type], "Set-Cookie": ["a=1", "b=2"], **more},
        "status": {"code": each.status, "message": "OK"},
    }


def vcrpy(all_: Sequence[Recorded]) -> bytes:
    return _yaml(
        {
            "interactions": [
                {
                    "request": _request(each),
                    "response": {**_response(each), "body": {"string": _text(each.received)}},
                }
                for each in all_
            ],
            "version": 1,
        }
    )


def vcrpy_gzip(all_: Sequence[Recorded]) -> bytes:
    coding = {"Content-Encoding": ["gzip"]}
    return _yaml(
        {
            "interactions": [
                {
                    "request": _request(each),
                    "response": {
                        **_response(each, **coding),
                        "body": {"string": gzip.compress(each.received, mtime=0)},
                    },
                }
                for each in all_
            ],
            "version": 1,
        }
    )


def vcrpy_of_httpx(all_: Sequence[Recorded]) -> bytes:
    """vcrpy 2 to 5: `content` is decoded, and the header of its encoding stays."""
    return _yaml(
        {
            "interactions": [
                {
                    "request": _request(each),
                    "response": {
                        "content": _text(each.received),
                        "headers": {
                            "Content-Type": [each.content_type],
                            "Content-Encoding": "gzip",
                        },
                        "http_version": "HTTP/1.1",
                        "status_code": each.status,
                    },
                }
                for each in all_
            ],
            "version": 1,
        }
    )


def vcrpy_json(all_: Sequence[Recorded]) -> bytes:
    """The JSON serializer, which writes no bytes."""
    interactions = [
        {
            "request": _request(each),
            "response": {**_response(each), "body": {"string": _text(each.received)}},
        }
        for each in all_
        if _is_text(each.received) and _is_text(each.sent)
    ]
    return json.dumps({"version": 1, "interactions": interactions}, indent=4).encode()


def vcrpy_before_1(all_: Sequence[Recorded]) -> bytes:
    return _yaml(
        [
            {
                "request": {
                    "body": _text(each.sent),
                    "headers": {"content-type": "application/json"},
                    "host": "llm.example",
                    "method": "POST",
                    "path": "/v1/generate?alt=sse",
                    "port": 443,
                    "protocol": "https",
                },
                "response": {
                    "body": {"string": _text(each.received)},
                    "headers": [f"Content-Type: {each.content_type}\r\n", "Server: made-up\r\n"],
                    "status": {"code": each.status, "message": "OK"},
                },
            }
            for each in all_
        ]
    )


def langchain(all_: Sequence[Recorded]) -> bytes:
    return gzip.compress(
        _yaml(
            {
                "requests": [{**_request(each), "body": each.sent} for each in all_],
                "responses": [
                    {**_response(each), "body": {"string": each.received}} for each in all_
                ],
            }
        )
    )


def ruby(all_: Sequence[Recorded]) -> bytes:
    def body(data: bytes) -> dict[str, Any]:
        return {"encoding": "ASCII-8BIT", "base64_string": base64.encodebytes(data).decode()}

    return _yaml(
        {
            "http_interactions": [
                {
                    "request": {**_request(each), "method": "post", "body": body(each.sent)},
                    "response": {**_response(each), "body": body(each.received)},
                    "recorded_at": "Mon, 23 Nov 2026 06:00:00 GMT",
                }
                for each in all_
            ],
            "recorded_with": "VCR 6.3.1",
        }
    )


def go_vcr(all_: Sequence[Recorded]) -> bytes:
    return _yaml(
        {
            "version": 2,
            "interactions": [
                {
                    "id": index,
                    "request": {
                        "proto": "HTTP/1.1",
                        "body": _text(each.sent),
                        "form": {},
                        "headers": {"Content-Type": ["application/json"]},
                        "url": each.url,
                        "method": "POST",
                    },
                    "response": {
                        "uncompressed": True,
                        "body": _text(each.received),
                        "headers": {"Content-Type": [each.content_type]},
                        "status": "200 OK",
                        "code": each.status,
                        "duration": "1.2s",
                    },
                }
                for index, each in enumerate(all_)
            ],
        }
    )


def har(all_: Sequence[Recorded]) -> bytes:
    def content(data: bytes) -> dict[str, Any]:
        if _is_text(data):
            return {"text": data.decode()}
        return {"text": base64.b64encode(data).decode(), "encoding": "base64"}

    entries = [
        {
            "startedDateTime": "2026-11-23T06:00:00.000Z",
            "time": 12.5,
            "request": {
                "method": "POST",
                "url": each.url,
                "httpVersion": "h2",
                "cookies": [],
                "headers": [
                    {"name": ":authority", "value": "llm.example"},
                    {"name": "content-type", "value": "application/json"},
                ],
                "queryString": [{"name": "alt", "value": "sse"}],
                "headersSize": -1,
                "bodySize": len(each.sent),
                "postData": {"mimeType": "application/json", "text": each.sent.decode()},
            },
            "response": {
                "status": each.status,
                "statusText": "",
                "httpVersion": "h2",
                "cookies": [],
                "headers": [
                    {"name": "content-type", "value": each.content_type},
                    {"name": "content-encoding", "value": "br"},
                ],
                "content": {
                    "size": len(each.received),
                    "mimeType": each.content_type,
                    **content(each.received),
                },
                "redirectURL": "",
                "headersSize": -1,
                "bodySize": -1,
            },
            "cache": {},
            "timings": {"send": 1, "wait": 2, "receive": 3},
        }
        for each in all_
        if _is_text(each.sent)
    ]
    creator = {"name": "made-up", "version": "1"}
    return json.dumps({"log": {"version": "1.2", "creator": creator, "entries": entries}}).encode()


EXACT: dict[str, Layout] = {
    "vcrpy": vcrpy,
    "vcrpy, gzip bodies": vcrpy_gzip,
    "vcrpy of httpx": vcrpy_of_httpx,
    "vcrpy JSON": vcrpy_json,
    "vcrpy before 1.0": vcrpy_before_1,
    "langchain": langchain,
    "ruby": ruby,
    "go-vcr": go_vcr,
    "har": har,
}
"""Layouts that hold the bytes of a body, or leave out one that they cannot hold."""


# --- layouts that hold the value of a JSON body ---------------------------------------------------


def json_of(data: bytes) -> Any:
    """The value of a JSON object or list; `None` for another body."""
    try:
        value = json.loads(data)
        json.dumps(value, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def as_compact(data: bytes) -> bytes:
    """The bytes that a layout without the bytes of JSON gives back."""
    value = json_of(data)
    if value is None:
        return data
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def pydantic_ai(all_: Sequence[Recorded]) -> bytes:
    def body(data: bytes, form: Callable[[bytes], Any]) -> dict[str, Any]:
        value = json_of(data)
        return {"body": form(data)} if value is None else {"parsed_body": value}

    interactions = []
    for each in all_:
        request = {key: item for key, item in _request(each).items() if key != "body"}
        interactions.append(
            {
                "request": {**request, **body(each.sent, _text)},
                "response": {
                    **_response(each),
                    **body(each.received, lambda data: {"string": _text(data)}),
                },
            }
        )
    return _yaml({"interactions": interactions, "version": 1})


def cassetter(all_: Sequence[Recorded]) -> bytes:
    def body(data: bytes) -> dict[str, Any]:
        value = json_of(data)
        if value is not None:
            return {"type": "json", "content": value}
        if not data:
            return {"type": "none"}
        if _is_text(data):
            return {"type": "text", "content": data.decode()}
        return {"type": "binary", "content": data.hex()}

    return _yaml(
        {
            "version": 1,
            "interactions": [
                {
                    "request": {**_request(each), "body": body(each.sent)},
                    "response": {
                        "status": each.status,
                        "headers": {"content-type": [each.content_type]},
                        "body": body(each.received),
                    },
                    "recorded_at": f"2026-11-23T06:00:00.{index:06}+00:00",
                }
                # The program sorts by URL; the times have the order.
                for index, each in reversed(list(enumerate(all_)))
            ],
        }
    )


BY_VALUE: dict[str, Layout] = {"pydantic-ai": pydantic_ai, "cassetter": cassetter}
"""Layouts that hold the value of a JSON body, not its bytes."""
