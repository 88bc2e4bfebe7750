"""Recorded answers with citations, and with parts of tools that the server ran: the neutral reply
holds each of them, and what goes back is what the host sent.

Each answer is played to a chat. The citations that it should hold are read out of its JSON here, in
another way than the library's.
"""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.conformance.compare import identical
from tests.conformance.records import Record, body_of, lines, path_of, row_of
from tests.conformance.result import Mismatch, Result
from wire.chat.chat import Chat
from wire.core.provider import Provider
from wire.core.retry import NONE
from wire.neutral.messages import Message, Reply, ServerToolCall, ServerToolResult
from wire.providers import PROVIDERS
from wire.sessions import dump_session, load_session

Cited = tuple[str, str, str | None]
"""URL or id, title, and the text of the span; `None` without a span."""

FOUND: collections.Counter[str] = collections.Counter()
"""What this run met: vendor and what -> how many."""
WORDS = (
    "_citation",
    "groundingSupports",
    "groundingChunks",
    "citationMetadata",
    "urlContextMetadata",
    "_location",
    "citations",
    "search_results",
    "_tool_result",
    "server_tool_use",
    "executed_tools",
    "executableCode",
    "codeExecutionResult",
    "toolResponse",
    "web_search_call",
    "x_search_call",
    "file_search_call",
    "code_interpreter_call",
    "mcp_call",
)
"""One of these is in each answer that concerns this check."""
_WIRES = {"gemini": "gemini", "anthropic": "anthropic"}
_ENDPOINTS = (
    ":generateContent",
    ":streamGenerateContent",
    "/messages",
    "/chat/completions",
    "/responses",
)


def run(arguments: list[str]) -> Result:
    """Every answer of the files that cites something, or has a part of a server's tool."""
    result = Result()
    FOUND.clear()
    for path in arguments:
        for record in lines(Path(path), ("id", "status", "response_body")):
            if concerns(record):
                result.records += 1
                result.hold(record, [check], "vendor", "endpoint")
    for what, number in sorted(FOUND.items()):
        print(f"{what}: {number}")
    return result


def concerns(record: Record) -> bool:
    """Whether an answer has citations or parts of a server's tool, perhaps."""
    body = record["response_body"]
    return (
        record["status"] == 200
        and isinstance(body, str)
        and record.get("response_body_encoding") != "base64"
        and path_of(record).endswith(_ENDPOINTS)
        and any(word in body for word in WORDS)
    )


def check(record: Record) -> None:
    """The reply holds all citations; the parts survive a session and go back as they came."""
    wire = _wire_of(record)
    documents = list(_documents(record))
    reply, chat = played(record, wire)
    with chat:
        wanted = list(_EXPECTED[wire](documents, reply))
        kept = [
            (each.url or each.source, each.title, _span(reply, each.start, each.end))
            for each in reply.citations
        ]
        identical(kept, wanted, "citations")
        ran = [
            part
            for part in reply.message.parts
            if isinstance(part, ServerToolCall | ServerToolResult)
        ]
        if not wanted and not ran:
            return
        vendor = f"{record['vendor']} {record.get('provider')}"
        FOUND[f"{vendor}: answers with citations"] += bool(wanted)
        FOUND[f"{vendor}: citations"] += len(wanted)
        FOUND[f"{vendor}: answers with server tools"] += bool(ran)
        FOUND[f"{vendor}: parts of server tools"] += len(ran)
        session = load_session(dump_session([reply.message]))
        identical(session.messages[0], reply.message, "saved message")
        identical([str(note) for note in session.notes], [], "notes of the session")
        if record["fidelity"] == "redacted" or reply.message.tool_calls:
            return  # ids that are no ids; calls that need results, which `corpus` sends
        messages = [Message.user("Hi"), session.messages[0], Message.user("And now?")]
        sent = json.loads(chat.call(messages=messages).body)
    back = _BACK[wire](sent)
    for piece in _RECEIVED[wire](reply):
        if piece not in back:
            raise Mismatch(f"not sent back: {json.dumps(piece)[:200]}")


def played(record: Record, wire: str) -> tuple[Reply, Chat]:
    """The reply to a chat whose server sends the recorded body."""
    body, headers = body_of(record), {"content-type": _content_type(record)}
    http = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=body))
    row = row_of(record, wire)
    name = row.name if isinstance(row, Provider) and row.wire == wire else ""
    options: dict[str, Any] = {"api_key": "fake-key", "retry": NONE, "http": http}
    if not name or PROVIDERS[name].options:
        defaults = {"openai": "example", "openai.responses": "openai@responses"}
        name = defaults.get(wire, wire)
        options["base_url"] = "https://llm.example/v1"
    model = str(record.get("model") or "model").removeprefix("models/") or "model"
    chat = Chat(f"{name}:{model}", **options)
    if not _is_stream(record):
        return chat.ask("Hi"), chat
    with chat.stream("Hi") as events:
        return events.reply(), chat


def _content_type(record: Record) -> str:
    return "text/event-stream" if _is_stream(record) else "application/json"


def _is_stream(record: Record) -> bool:
    return not record["response_body"].lstrip().startswith(("{", "["))


def _wire_of(record: Record) -> str:
    if path_of(record).endswith("/responses"):
        return "openai.responses"
    return _WIRES.get(str(record["vendor"]).partition("-compatible")[0], "openai")


def _span(reply: Reply, start: int | None, end: int | None) -> str | None:
    return None if start is None else reply.text[start:end]


def _documents(record: Record) -> Iterator[dict[str, Any]]:
    """The JSON of a body, or of each event of a stream."""
    body = record["response_body"]
    if not _is_stream(record):
        whole = json.loads(body)
        yield from whole if isinstance(whole, list) else [whole]
        return
    for line in re.split(r"\r?\n", body):
        if line.startswith("data:") and line[5:].strip().startswith("{"):
            yield json.loads(line[5:])


# --- what is to be held ---------------------------------------------------------------------------


def _of_gemini(documents: Sequence[dict[str, Any]], reply: Reply) -> Iterator[Cited]:
    last: dict[str, Any] = {}
    for each in documents:
        for candidate in (each.get("candidates") or [])[:1]:
            last |= {key: value for key, value in candidate.items() if value}
    grounding = last.get("groundingMetadata") or {}
    chunks = [next(iter(each.values())) for each in grounding.get("groundingChunks") or ()]
    named = [
        (
            each.get("uri")
            or each.get("sourceUri")
            or each.get("placeId")
            or each.get("mediaId")
            or each.get("fileSearchStore")
            or "",
            each.get("title") or "",
        )
        for each in chunks
    ]
    used: set[int] = set()
    for support in grounding.get("groundingSupports") or ():
        for index in support.get("groundingChunkIndices") or ():
            used.add(index)
            if index < len(named):  # of a mock
                yield (*named[index], support["segment"]["text"])
    urls = [url for url, _ in named]
    for index, source in enumerate(named):
        if index not in used:
            yield (*source, None)
    data = reply.text.encode()
    quoted = last.get("citationMetadata") or {}
    for each in [*(quoted.get("citationSources") or ()), *(quoted.get("citations") or ())]:
        if each:
            start, end = each.get("startIndex", 0), each.get("endIndex", 0)
            inside = 0 <= start < end <= len(data)
            urls.append(each.get("uri") or "")
            yield urls[-1], each.get("title") or "", data[start:end].decode() if inside else None
    for page in (last.get("urlContextMetadata") or {}).get("urlMetadata") or ():
        read = page.get("urlRetrievalStatus") == "URL_RETRIEVAL_STATUS_SUCCESS"
        if read and page.get("retrievedUrl") not in urls:
            yield page["retrievedUrl"], "", None


def _of_messages(documents: Sequence[dict[str, Any]], reply: Reply) -> Iterator[Cited]:
    blocks: list[dict[str, Any]] = [dict(each) for each in documents[0].get("content") or ()]
    for event in documents if not blocks else ():
        if event["type"] == "content_block_start":
            blocks.append(dict(event["content_block"]))
        delta = event.get("delta") or {}
        if delta.get("type") == "text_delta":
            blocks[-1]["text"] += delta["text"]
        if delta.get("type") == "citations_delta":
            blocks[-1]["citations"] = [*(blocks[-1].get("citations") or ()), delta["citation"]]
    for block in blocks:
        for each in (block.get("citations") or ()) if block["type"] == "text" else ():
            source = each.get("url") or each.get("source") or each.get("file_id") or ""
            title = each.get("title") or each.get("document_title") or ""
            yield source, title, block["text"]


def _of_responses(documents: Sequence[dict[str, Any]], reply: Reply) -> Iterator[Cited]:
    ended = [each["item"] for each in documents if each.get("type") == "response.output_item.done"]
    whole = documents[-1].get("response") or documents[0]
    for item in whole.get("output") or ended:
        parts = item.get("content") if item.get("type") == "message" else None
        for part in parts or ():
            for each in part.get("annotations") or ():
                source = each.get("url") or each.get("file_id") or ""
                title = each.get("title") or each.get("filename") or ""
                yield source, title, _quoted(each, part["text"])


def _of_chat(documents: Sequence[dict[str, Any]], reply: Reply) -> Iterator[Cited]:
    known: list[dict[str, Any]] = []
    for each in documents:
        for choice in each.get("choices") or ():
            delta = choice.get("delta") or choice.get("message") or {}
            for note in delta.get("annotations") or ():
                if note not in known and note["type"] != "file":
                    known.append(note)
    urls = set()
    for note in known:
        inner = note.get("url_citation") or note
        urls.add(inner["url"])
        yield inner["url"], inner.get("title") or "", _quoted(inner, reply.text)
    searched = [each for each in documents if each.get("citations") or each.get("search_results")]
    if searched:
        results = {each["url"]: each for each in searched[-1].get("search_results") or ()}
        for url in dict.fromkeys([*(searched[-1].get("citations") or ()), *results]):
            if url not in urls:
                yield url, results.get(url, {}).get("title") or "", None


def _quoted(each: dict[str, Any], text: str) -> str | None:
    if "index" in each and "start_index" not in each:
        return ""
    start, end = each.get("start_index"), each.get("end_index")
    return None if start is None or (start, end) == (0, 0) else text[start:end]


_EXPECTED = {
    "gemini": _of_gemini,
    "anthropic": _of_messages,
    "openai.responses": _of_responses,
    "openai": _of_chat,
}


# --- what is to go back ---------------------------------------------------------------------------


def _raw(reply: Reply) -> Any:
    origin = reply.message.origin
    if origin is None or not origin.raw:
        raise Mismatch("the reply has no received bytes")
    return json.loads(origin.raw)


def _without_id(item: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in item.items()
        if key not in ("id", "status") and value is not None
    }


_RECEIVED = {
    "gemini": lambda reply: [_raw(reply)],
    "anthropic": lambda reply: [
        block for block in _raw(reply)["content"] if block.get("text") != ""
    ],
    # Reasoning without its encrypted content cannot be read by a server that did not store it.
    "openai.responses": lambda reply: [
        _without_id(item)
        for item in _raw(reply)["output"]
        if item["type"] != "reasoning" or item.get("encrypted_content")
    ],
    # Hosts of chat completions take their texts back; only some take more.
    "openai": lambda reply: [reply.text],
}
_BACK = {
    "gemini": lambda sent: sent["contents"],
    "anthropic": lambda sent: [
        block
        for message in sent["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
    ],
    "openai.responses": lambda sent: list(map(_without_id, sent["input"])),
    "openai": lambda sent: [message["content"] for message in sent["messages"]],
}
