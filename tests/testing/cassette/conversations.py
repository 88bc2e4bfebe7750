"""Recordings of conversations on all wires, as interactions; made up after what vendors send."""

from __future__ import annotations

import base64
import json
from typing import Any

from msgspec import UNSET

from wire.testing.cassette.format.bodies import read_body
from wire.testing.cassette.format.file import dump
from wire.testing.cassette.format.structs import Interaction, Request, Response

PNG = base64.b64encode(b"\x89PNG" + bytes(2044)).decode()
PORT = {"port": "Brest"}


def interaction(
    url: str,
    sent: Any,
    received: Any,
    status: int = 200,
    end: Any = "eof",
    method: str = "POST",
    **headers: str,
) -> Interaction:
    """`received` is JSON, bytes, or a list of events: data, or name and data."""
    request = b"" if sent is None else sent if isinstance(sent, bytes) else _json(sent)
    if isinstance(received, bytes):
        kind, body = headers.pop("kind", "application/octet-stream"), received
    elif isinstance(received, list):
        kind, body = "text/event-stream", b"".join(map(_event, received))
    else:
        kind, body = "application/json", _json(received)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return Interaction(
        request=Request(
            method=method,
            url=url,
            headers={"content-type": "application/json"},
            body=read_body(request),
        ),
        response=Response(
            status=status,
            headers={"content-type": kind, **headers},
            body=read_body(body, kind) if body else UNSET,
            end=end,
        ),
    )


def text_of(*interactions: Interaction) -> str:
    return dump(interactions)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _event(event: Any) -> bytes:
    if isinstance(event, tuple):
        return b"event: " + event[0].encode() + b"\ndata: " + _json(event[1]) + b"\n\n"
    return b"data: " + (event.encode() if isinstance(event, str) else _json(event)) + b"\n\n"


# --- Gemini: a 503, then a call, its result, and a streamed answer --------------------------------

GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.8-flash"
_TOOLS = [{"functionDeclarations": [{"name": "high_tide", "parameters": {"type": "OBJECT"}}]}]
_ASKED: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "Answer in one line."}]},
    "contents": [
        {
            "role": "user",
            "parts": [
                {"text": "When is high tide in Brest?\nThe chart is attached."},
                {"inlineData": {"mimeType": "image/png", "data": PNG}},
            ],
        }
    ],
    "tools": _TOOLS,
    "generationConfig": {"temperature": 0.2},
}
_CALLS = {
    "role": "model",
    "parts": [
        {"text": "The tide table knows.", "thought": True},
        {
            "functionCall": {"id": "fc-1", "name": "high_tide", "args": PORT},
            "thoughtSignature": "U2lnbmVkIGJ5IG5vYm9keQ==",
        },
    ],
}
_ANSWERED = {
    **_ASKED,
    "contents": [
        *_ASKED["contents"],
        _CALLS,
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "fc-1",
                        "name": "high_tide",
                        "response": {"high": ["05:12", "17:40"]},
                    }
                }
            ],
        },
    ],
}


def _candidate(parts: list[Any], **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **more}]}


GEMINI_TOOLS = [
    interaction(
        f"{GEMINI}:generateContent",
        _ASKED,
        {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}},
        503,
        retry_after="2",
    ),
    interaction(
        f"{GEMINI}:generateContent",
        _ASKED,
        {
            "candidates": [{"content": _CALLS, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {
                "promptTokenCount": 1290,
                "candidatesTokenCount": 12,
                "thoughtsTokenCount": 40,
                "totalTokenCount": 1342,
            },
            "responseId": "resp-a",
        },
    ),
    interaction(
        f"{GEMINI}:streamGenerateContent?alt=sse",
        _ANSWERED,
        [
            _candidate([{"text": "High tide is "}]),
            _candidate([{"text": "at 05:12"}]),
            {
                **_candidate([{"text": " and 17:40."}], finishReason="STOP"),
                "usageMetadata": {
                    "promptTokenCount": 1352,
                    "cachedContentTokenCount": 1024,
                    "candidatesTokenCount": 9,
                    "totalTokenCount": 1361,
                },
            },
        ],
    ),
]

# --- chat completions: a stream that was cut ------------------------------------------------------


def _chunk(delta: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-a",
        "object": "chat.completion.chunk",
        "created": 1789000000,
        "model": "gpt-5.4",
        "choices": [{"index": 0, "delta": delta, **more}],
    }


CHAT_SENT = {
    "model": "gpt-5.4",
    "stream": True,
    "messages": [
        {"role": "developer", "content": "Answer in one line."},
        {
            "role": "user",
            "name": "ann",
            "content": [
                {"type": "text", "text": "And in Whitby?"},
                {"type": "image_url", "image_url": {"url": "https://llm.example/chart.png"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_a",
                    "type": "function",
                    "function": {"name": "high_tide", "arguments": '{"port":"Whitby"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "09:05"},
    ],
    "tools": [{"type": "function", "function": {"name": "high_tide"}}],
}
CHAT_CUT = interaction(
    "https://api.openai.com/v1/chat/completions",
    CHAT_SENT,
    [_chunk({"role": "assistant", "content": "At "}), _chunk({"content": "09"})],
    end="cut",
)
CHAT_WHOLE = interaction(
    "https://api.openai.com/v1/chat/completions",
    CHAT_SENT,
    [
        _chunk({"role": "assistant", "content": "At "}),
        _chunk({"content": "09:05."}),
        _chunk({}, finish_reason="stop"),
        "[DONE]",
    ],
)

# --- Messages: thinking, a document, a failed tool ------------------------------------------------

MESSAGES = interaction(
    "https://api.anthropic.com/v1/messages",
    {
        "model": "claude-opus-5",
        "max_tokens": 400,
        "system": [{"type": "text", "text": "Answer in one line."}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Read the table."},
                    {
                        "type": "document",
                        "title": "tides.txt",
                        "source": {"type": "text", "media_type": "text/plain", "data": "05:12"},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Look it up.", "signature": "c2lnbmF0dXJl"},
                    {"type": "tool_use", "id": "toolu_a", "name": "high_tide", "input": PORT},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_a",
                        "is_error": True,
                        "content": [{"type": "text", "text": "no such port"}],
                    }
                ],
            },
        ],
    },
    {
        "id": "msg_a",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": [{"type": "text", "text": "The table has no Brest."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 60, "output_tokens": 8, "cache_read_input_tokens": 20},
    },
    request_id="***",
)

# --- Responses: items -----------------------------------------------------------------------------

RESPONSES = interaction(
    "https://api.openai.com/v1/responses",
    {
        "model": "gpt-5.4",
        "instructions": "Answer in one line.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "And in Ostend?"}]},
            {
                "type": "reasoning",
                "id": "rs_a",
                "summary": [{"type": "summary_text", "text": "A port of Belgium."}],
                "encrypted_content": "gAAAAB",
            },
            {
                "type": "function_call",
                "id": "fc_a",
                "call_id": "call_ost",
                "name": "high_tide",
                "arguments": '{"port":"Ostend"}',
            },
            {
                "type": "function_call_output",
                "call_id": "call_ost",
                "output": '{"high":"04:31"}',
            },
        ],
        "tools": [{"type": "function", "name": "high_tide"}, {"type": "web_search"}],
    },
    {
        "id": "resp_b",
        "object": "response",
        "created_at": 1789000001,
        "status": "completed",
        "model": "gpt-5.4",
        "output": [
            {
                "type": "message",
                "id": "msg_b",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "At 04:31.", "annotations": []}],
            }
        ],
        "usage": {"input_tokens": 90, "output_tokens": 6, "total_tokens": 96},
    },
)

# --- other endpoints ------------------------------------------------------------------------------

UPLOAD = interaction(
    "https://generativelanguage.googleapis.com/upload/v1beta/files",
    b"\x89PNG\xff\xfe",
    {"file": {"name": "files/abc", "mimeType": "image/png", "sizeBytes": "6"}},
)
EMBEDDINGS = interaction(
    "https://api.openai.com/v1/embeddings",
    {"model": "text-embedding-3-small", "input": "tide"},
    {"object": "list", "data": [{"index": 0, "embedding": [0.25, -0.5]}]},
)
LIST = interaction(
    "https://api.anthropic.com/v1/messages/batches", None, {"data": []}, method="GET"
)

HOSTILE = interaction(
    "https://api.openai.com/v1/chat/completions",
    {
        "model": "<img src=x onerror=alert(1)>",
        "messages": [
            {"role": "user", "content": "</script><script>document.title='owned'</script>"},
            {"role": '"><svg onload=alert(1)>', "content": "\x1b]0;owned\x07\u202etxt.exe"},
        ],
    },
    {
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "<b>bold</b>\r\x1b[2Jgone"},
                "finish_reason": "stop",
            }
        ]
    },
)

EVERYTHING = [
    *GEMINI_TOOLS,
    CHAT_CUT,
    CHAT_WHOLE,
    MESSAGES,
    RESPONSES,
    UPLOAD,
    EMBEDDINGS,
    LIST,
    HOSTILE,
]
