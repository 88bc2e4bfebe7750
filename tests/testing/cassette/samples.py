"""Bodies as the providers write them, made up after what was seen on the wire: framing, spacing,
escapes, padding.
"""

from __future__ import annotations

import json
from typing import Any


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def spaced(value: Any, ascii: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ascii)


def google(value: Any) -> str:
    text = json.dumps(value, separators=(",", ": "), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


def pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _gemini(text: str, **more: Any) -> dict[str, Any]:
    return {
        "candidates": [
            {"content": {"parts": [{"text": text}], "role": "model"}, "index": 0, **more}
        ],
        "usageMetadata": {
            "promptTokenCount": 7,
            "totalTokenCount": 9,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 7}],
        },
        "modelVersion": "gemini-3-pro-preview",
    }


_GEMINI = [_gemini("Grüße <b>"), _gemini("an alle</b> 🌍"), _gemini("", finishReason="STOP")]
_OPENAI = [
    {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "choices": [
            {
                "index": 0,
                "delta": {"content": word},
                "logprobs": {"content": [{"token": word, "logprob": -0.00006484985}]},
            }
        ],
    }
    for word in ("Hallo", ", Wörld", "!")
]
_ANTHROPIC = [
    (
        "message_start",
        {"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 3}}},
        7,
    ),
    ("ping", {"type": "ping"}, 0),
    (
        "content_block_delta",
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Olá"}},
        3,
    ),
    ("message_stop", {"type": "message_stop"}, 12),
]


def _padded(text: str, blanks: int) -> str:
    return text[:-1] + " " * blanks + text[-1:]


STREAMS: dict[str, bytes] = {
    name: text.encode()
    for name, text in {
        "gemini": "".join(f"data: {google(chunk)}\r\n\r\n" for chunk in _GEMINI),
        "openai": "".join(f"data: {compact(chunk)}\n\n" for chunk in _OPENAI) + "data: [DONE]\n\n",
        "anthropic": "".join(
            f"event: {name}\ndata: {_padded(compact(value), blanks)}\n\n"
            for name, value, blanks in _ANTHROPIC
        ),
        "responses": "".join(
            f"event: response.output_text.delta\ndata: {compact({'delta': word, 'n': 1.0})}\n\n"
            for word in "ab"
        ),
        "openrouter": ": OPENROUTER PROCESSING\n\n" * 2
        + f"data: {compact(_OPENAI[0])}\n\ndata: [DONE]\n\n",
        "perplexity": "".join(f"data: {spaced(chunk, ascii=True)}\r\n\r\n" for chunk in _OPENAI),
        "tight": "".join(f"data:{compact(chunk)}\n\n" for chunk in _OPENAI) + "data:[DONE]\n\n",
        "resumable": f"id: 1\nretry: 3000\ndata: {compact(_OPENAI[0])}\n\n",
    }.items()
}

BODIES: dict[str, bytes] = {
    name: text.encode()
    for name, text in {
        "gemini": pretty(_GEMINI[0]).replace("<", "\\u003c").replace(">", "\\u003e") + "\n",
        "gemini list": "[" + "\n,\r\n".join(map(pretty, _GEMINI)) + "\n]",
        "openai": pretty(_OPENAI[0]),
        "anthropic": compact(
            {"type": "message", "content": [{"type": "text", "text": "Olá"}], "usage": {}}
        ),
        "openrouter": "\n         \n" + compact({"choices": [], "usage": {"cost": 0.0000113}}),
        "groq": compact({"reasoning": "a & b < c"}).replace("&", "\\u0026").replace("<", "\\u003c"),
        "baseten": '{\n\t"error": {\n\t\t"code": 400\n\t}\n}',
        "error": pretty(
            {
                "error": {
                    "code": 429,
                    "message": "Resource has been exhausted",
                    "status": "RESOURCE_EXHAUSTED",
                }
            }
        )
        + "\n",
        "fastapi": spaced({"detail": "Not Found", "loc": [1, 2]}),
    }.items()
}

ODD: dict[str, bytes] = {
    "not UTF-8": b"\xff\xfe\x80",
    "NUL": b"a\0b",
    "lone CR": b"data: a\rdata: b\r\rdata: c",
    "byte order mark": b'\xef\xbb\xbfdata: {"a":1}\n\n',
    "no last blank line": b'data: {"a":1}\n\ndata: {"b":2}\n',
    "an event that is not UTF-8": b'data: {"a":1}\n\ndata: \xff\xfe\n\ndata: {"b":2}\n\n',
    "two lines of data": b"data: a\ndata: b\n\n",
    "mixed line ends": b"data: {}\r\n\r\ndata: {}\n\ndata: {}\n\r\n",
    "blank lines between": b"data: {}\n\n\n\n\ndata: {}\n\n",
    "a bare error after events": b'data: {"a": 1}\r\n\r\n{\n  "error": {}\n}\r\n\r\n',
    "fields of other names": b"pad: 3\ndata: {}\n\nlayout: google\ndata: "
    b"x\n\ntext: x\n\njson: 1\n\n",
    "blank only": b" \r\n\t",
    "number texts": b'{"a":1.0,"b":1,"c":1e5,"d":-0,"e":1E+05,"f":0.10,'
    b'"g":12345678901234567890123}',
    "duplicate keys": b'{"a":1,"a":2}',
    "escapes of all kinds": rb'{"a":"\u00e9\u00E9\/\ud83c\udf0d\u001b\u2028\\u003c\"\u0022"}',
    "half a pair": rb'{"a":"\ud800"}',
    "unseen letters": '{"a":"\u2028\u200b\x7f\u202e\ufeff"}'.encode(),
    "both writings of a letter": '{"a":"é\\u00e9"}'.encode(),
    "trailing blanks": b'{"a":1}   ',
    "blanks inside": b'{ "a" : 1 }',
    "no number for Python": b'{"a":1e400}',
    "NaN": b'{"a":NaN}',
    "deep": b"[" * 300 + b"]" * 300,
    "deeper": b"[" * 5000 + b"]" * 5000,
    "a text": b'"just a text"',
    "html": b"<html>\r\n<body>Bad Gateway</body>\r\n</html>",
    "png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "lines of JSON": b'{"a":1}\n{"b":2}\n',
}
