"""A loopback server that emulates Gemini 3 in a tool conversation by a script, without a model.

Its responses have the form of recorded traffic of Gemini 3: CRLF framing, one chunk for each call,
a signature on the first call, a final empty part that holds only a signature, and usage in every
chunk. It selects a declared tool and its arguments by the words of the question. As the real
server, it answers 400 to a call of the current turn without its original signature, and to a wrong
number of results.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CRLF = b"\r\n"
MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is "
    "required for tools to work correctly, and "
    "missing thought_signature may lead to degraded model performance. Additional data, "
    "function call `default_api:{name}` , "
    "position {position}. Please refer to "
    "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
)
NAMES = re.compile(r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)*|[\u4e00-\u9fff]+(?=の)|[\u30a0-\u30ff]{2,}")
NO_NAMES = {
    "What",
    "What's",
    "How",
    "Is",
    "Will",
    "Tell",
    "The",
    "And",
    "Compare",
    "Weather",
    "Which",
    "Where",
    "When",
    "Do",
    "Does",
}


class Refusal(Exception):
    """Raised for a request that the real server answers with 400."""


def signature(*words: object) -> str:
    """Makes a signature that is opaque to the client and that the server can verify."""
    return base64.b64encode(hashlib.sha256(repr(words).encode()).digest() * 2).decode()


def parts_of(content: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [part for part in content.get("parts", []) if kind in part]


def check(contents: list[dict[str, Any]]) -> None:
    """Checks the current turn, which is everything after the last text of the user."""
    begin = max(
        index
        for index, content in enumerate(contents)
        if content["role"] == "user" and parts_of(content, "text")
    )
    for index in range(begin + 1, len(contents)):
        calls = parts_of(contents[index], "functionCall")
        if not calls:
            continue
        first, results = (
            calls[0],
            parts_of(contents[index + 1], "functionResponse") if index + 1 < len(contents) else [],
        )
        name = first["functionCall"]["name"]
        if "thoughtSignature" not in first:
            raise Refusal(MISSING.format(name=name, position=index + 1))
        if first["thoughtSignature"] != signature(name, first["functionCall"].get("args")):
            raise Refusal("Corrupted thought signature.")
        if len(results) != len(calls):
            raise Refusal(
                "Please ensure that the number of function response parts is equal to "
                "the number of function call parts "
                "of the function call turn."
            )


def choose(question: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls that fit the words of the question: the declaration that shares most of them, once for
    each thing it is about.
    """
    declared = [each for tool in tools for each in tool.get("functionDeclarations", [])]
    words = question.lower()
    scores = {
        index: sum(
            word in words
            for word in set(
                re.findall(r"[a-z]{4,}|[\u4e00-\u9fff]{2,}", each["description"].lower())
            )
        )
        for index, each in enumerate(declared)
    }
    best = max(scores, key=lambda index: scores[index], default=None)
    if best is None or not scores[best]:
        return []
    properties = declared[best].get("parameters", {}).get("properties", {})
    dates = re.findall(r"\d{4}-\d\d-\d\d", question)
    if len(properties) > 1:
        return [
            {"name": declared[best]["name"], "args": dict(zip(properties, dates, strict=False))}
        ]
    found = [name for name in NAMES.findall(question) if name not in NO_NAMES]
    return [
        {"name": declared[best]["name"], "args": dict.fromkeys(properties, name)} for name in found
    ]


def answer(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the parts of the response, one for each chunk, and the finish reason."""
    contents = request["contents"]
    check(contents)
    results = parts_of(contents[-1], "functionResponse")
    question = next(
        part["text"]
        for content in reversed(contents)
        for part in parts_of(content, "text")
        if content["role"] == "user"
    )
    calls = [] if results else choose(question, request.get("tools", []))
    for place, call in enumerate(calls):
        part: dict[str, Any] = {"functionCall": {**call, "id": signature(place, call)[:8].lower()}}
        if place == 0:
            part["thoughtSignature"] = signature(call["name"], call["args"])
        yield part
    if calls:
        yield {"text": ""}
        return
    said = [
        f"{each['functionResponse']['name']} says "
        f"{json.dumps(each['functionResponse']['response'], ensure_ascii=False)}"
        for each in results
    ]
    for word in re.findall(
        r"\S+\s*",
        f"Your tool {' and '.join(said)}."
        if said
        else "I am a script, and none of the tools fits your question.",
    ):
        yield {"text": word}
    yield {"text": "", "thoughtSignature": signature(question)}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        model = self.path.rpartition("/")[2].partition(":")[0]
        try:
            parts = list(answer(request))
        except Refusal as refusal:
            error = {"error": {"code": 400, "message": str(refusal), "status": "INVALID_ARGUMENT"}}
            self.head(400, "application/json", json.dumps(error, indent=2).encode())
            return
        tokens = len(json.dumps(request)) // 4
        chunks = []
        for place, part in enumerate(parts):
            candidate: dict[str, Any] = {"content": {"parts": [part], "role": "model"}, "index": 0}
            if place == len(parts) - 1:
                candidate["finishReason"] = "STOP"
            spent = {
                "promptTokenCount": tokens,
                "candidatesTokenCount": place + 1,
                "totalTokenCount": tokens + place + 1,
            }
            chunks.append(
                {
                    "candidates": [candidate],
                    "usageMetadata": spent,
                    "modelVersion": model,
                    "responseId": "script",
                }
            )
        self.head(200, "text/event-stream")
        for chunk in chunks:
            event = b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + CRLF + CRLF
            self.wfile.write(b"%x" % len(event) + CRLF + event + CRLF)
            self.wfile.flush()
        self.wfile.write(b"0" + CRLF + CRLF)

    def head(self, status: int, kind: str, body: bytes | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("transfer-encoding", "chunked") if body is None else self.send_header(
            "content-length", str(len(body))
        )
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def serve(port: int = 0) -> Iterator[Server]:
    """Runs the server on loopback during the `with` block, on a free port if none is given."""
    with Server(("127.0.0.1", port), Handler) as server:
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        try:
            yield server
        finally:
            server.shutdown()
