"""Interactions, whole and as streams, and clients that get them."""

from __future__ import annotations

import json
from typing import Any

import httpx

from wire import Chat, Client

MODEL = "gemini-3.8-flash"
NAME = f"gemini@interactions:{MODEL}"
SIGNED = "c2lnbmVk"
THOUGHT = {
    "type": "thought",
    "signature": SIGNED,
    "summary": [{"type": "text", "text": "The user asks."}, {"type": "text", "text": "I look."}],
}
TEXT = "At 05:12 – high."
CITED = {
    "type": "url_citation",
    "url": "https://tides.example/",
    "title": "Tides",
    "start_index": 3,
    "end_index": 12,
}
OUTPUT = {
    "type": "model_output",
    "content": [{"type": "text", "text": TEXT, "annotations": [CITED]}],
}
CALL = {"type": "function_call", "id": "c1", "name": "high_tide", "arguments": {"port": "Brest"}}
SEARCH = {
    "type": "google_search_call",
    "id": "s1",
    "search_type": "web_search",
    "signature": "AA==",
    "arguments": {"queries": ["tide"]},
}
FOUND = {
    "type": "google_search_result",
    "call_id": "s1",
    "result": [{"search_suggestions": "<b>tide</b>"}],
    "is_error": False,
}
USAGE = {
    "total_tokens": 40,
    "total_input_tokens": 9,
    "total_output_tokens": 11,
    "total_thought_tokens": 20,
    "total_cached_tokens": 0,
    "total_tool_use_tokens": 0,
}


def whole(*steps: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    """An interaction."""
    head = {"id": "v1_1", "object": "interaction", "model": MODEL, "status": status}
    return {**head, "steps": list(steps), "usage": USAGE, **more}


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {**fields, "event_type": kind}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return event("step.delta", index=index, delta={**fields, "type": kind})


def events(status: str = "completed", ids: bool = False) -> list[dict[str, Any]]:
    """The events of a thought, a search, a text and a call, as the server sends them."""
    known = {"id": "v1_1", "status": "in_progress", "object": "interaction", "model": MODEL}
    listed = [
        event("interaction.created", interaction=known),
        event("interaction.status_update", interaction_id="v1_1", status="in_progress"),
        event("step.start", index=0, step={"type": "thought"}),
        delta(0, "thought_signature", signature=""),
        delta(0, "thought_summary", content={"type": "text", "text": "The user asks."}),
        delta(0, "thought_summary", content={"type": "text", "text": "I look."}),
        delta(0, "thought_signature", signature=SIGNED),
        event("step.stop", index=0),
        event("step.start", index=1, step={"type": "google_search_call", "id": "s1"}),
        delta(
            1,
            "google_search_call",
            arguments={"queries": ["tide"]},
            search_type="web_search",
            signature="AA==",
        ),
        event("step.stop", index=1),
        event("step.start", index=2, step={"type": "google_search_result", "call_id": "s1"}),
        delta(2, "google_search_result", result=FOUND["result"], is_error=False),
        event("step.stop", index=2),
        event("step.start", index=3, step={"type": "model_output"}),
        delta(3, "text", text="At 05:"),
        delta(3, "text", text="12 –"),
        delta(3, "text", text=" high."),
        delta(3, "text_annotation_delta", annotations=[CITED]),
        event("step.stop", index=3),
        event("step.start", index=4, step={**CALL, "arguments": {}}),
        delta(4, "arguments_delta", arguments='{"port":'),
        delta(4, "arguments_delta", arguments='"Brest"}'),
        event("step.stop", index=4),
        event("interaction.completed", interaction={**known, "status": status, "usage": USAGE}),
    ]
    return [{**each, "event_id": f"e{at}"} if ids else each for at, each in enumerate(listed)]


def framed(listed: list[dict[str, Any]], *, done: bool = True) -> bytes:
    """The body of a stream."""
    frames = [f"event: {each['event_type']}\ndata: {json.dumps(each)}\n\n" for each in listed]
    return "".join(frames).encode() + (b"event: done\ndata: [DONE]\n\n" if done else b"")


class Player(httpx.BaseTransport):
    """Answers with bodies in their order, and keeps the requests."""

    def __init__(self, *bodies: Any, status: int = 200) -> None:
        self._bodies, self._status = list(bodies), status
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        body = self._bodies.pop(0)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return httpx.Response(self._status, content=data)

    @property
    def sent(self) -> Any:
        """The body of the last request."""
        return json.loads(self.requests[-1].content)


def chat(http: httpx.BaseTransport, **options: Any) -> Chat:
    options = {"retry": None, **options}
    return Chat(NAME, api_key="fake-key", http=http, **options)


def client(http: httpx.BaseTransport) -> Client:
    return Client("gemini@interactions", api_key="fake-key", http=http, retry=None)
