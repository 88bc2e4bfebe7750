"""Responses of Messages: a whole message, and the same message as events."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wire.anthropic.families import family
from wire.anthropic.types import MessageRequest
from wire.testing.emulator.answer import Answer, json_bytes
from wire.testing.emulator.model import Output, pieces
from wire.testing.emulator.sources import Source, found, segments
from wire.testing.emulator.vendors.anthropic.prompts import PromptCache
from wire.testing.emulator.vendors.anthropic.thoughts import ThoughtSignatures

_STOP_REASONS = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "SAFETY": "refusal"}
_UNTOLD = "The script tells no thoughts."
"""The thought of an answer whose script says none."""
# A script may name these as `finish`.
_OWN_STOP_REASONS = (
    "pause_turn",
    "refusal",
    "stop_sequence",
    "model_context_window_exceeded",
    "max_tokens",
    "tool_use",
)


@dataclass(frozen=True, slots=True)
class MessageWriter:
    """Writes the responses to one request; each method takes the id of the response."""

    request: MessageRequest
    thinks: bool
    family: str
    prompt: Mapping[str, Any]
    """The JSON of the request."""
    cache: PromptCache
    signatures: ThoughtSignatures | None
    """`None` for other hosts, which do not sign thoughts."""

    def message(self, output: Output, id: str) -> dict[str, Any]:
        """Build one complete message."""
        content = self._results_of_pause()
        if self.thinks and (output.thoughts or self._must_think()):
            content.append(self._thought(output.thoughts or _UNTOLD, id))
        searches = any(
            (tool.type or "").startswith("web_search") for tool in self.request.tools or ()
        )
        sources = found(output.sources, output.text, searches=searches)
        if sources:
            content += _searched(output.text, sources, id)
        elif output.text:
            content.append({"type": "text", "text": output.text, **self._citations()})
        for position, (name, args) in enumerate(output.calls):
            digest = hashlib.sha256(f"{id} {position} {name}".encode()).hexdigest()[:22]
            content.append(
                {"type": "tool_use", "id": f"toolu_01{digest}", "name": name, "input": args}
            )
        reason = _stop_reason(output)
        if reason == "pause_turn":
            content += self._paused_calls(id)
        details = {"type": "refusal", "category": None, "explanation": None}
        thinking = output.thinking if self.thinks else 0
        usage = {
            **self.cache.usage(self.prompt),
            "output_tokens": output.tokens + thinking,
            "service_tier": "standard",
        }
        if sources:
            usage["server_tool_use"] = {"web_search_requests": 1, "web_fetch_requests": 0}
        if self.thinks:
            usage["output_tokens_details"] = {"thinking_tokens": thinking}
        return self._with_head(
            {
                "content": content,
                "stop_reason": reason,
                "stop_sequence": output.stop_sequence,
                "stop_details": details if reason == "refusal" else None,
                "usage": usage,
            },
            id,
        )

    def with_ids(self, message: Mapping[str, Any], id: str) -> dict[str, Any]:
        """Add the fields that every message has to a message of a script.

        The signatures of its thoughts are accepted when they come back.
        """
        for block in message.get("content") or ():
            signed = block.get("type") == "thinking" and block.get("signature")
            if signed and self.signatures is not None:
                self.signatures.remember(block["signature"], block.get("thinking") or "")
        usage = {**self.cache.usage(self.prompt), "output_tokens": 1}
        return self._with_head({"usage": usage, **message}, id)

    def _with_head(self, message: Mapping[str, Any], id: str) -> dict[str, Any]:
        return {
            "model": self.request.model,
            "id": f"msg_01{id}",
            "type": "message",
            "role": "assistant",
            "content": [],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {},
            **message,
        }

    def _citations(self) -> dict[str, Any]:
        """Cite the beginning of each text document of the request that may be cited."""
        cited = [
            {
                "type": "char_location",
                "cited_text": text[:40],
                "document_index": index,
                "document_title": title,
                "start_char_index": 0,
                "end_char_index": len(text[:40]),
            }
            for index, (text, title) in enumerate(_cited_documents(self.prompt))
            if text
        ]
        return {"citations": cited} if cited else {}

    def _paused_calls(self, id: str) -> list[dict[str, Any]]:
        """Return a call of the first tool that the server runs: it pauses before its result."""
        tools = (tool for tool in self.prompt.get("tools") or () if tool.get("type"))
        name = next((tool.get("name") for tool in tools if tool["type"] != "custom"), None)
        call: dict[str, Any] = {"type": "server_tool_use", "id": f"srvtoolu_01{id}"}
        call |= {"name": name, "input": {}}
        return [call] if name else []

    def _results_of_pause(self) -> list[dict[str, Any]]:
        """Return results of the server's calls at the end of a last message of the assistant."""
        last = self.prompt["messages"][-1]
        blocks = last.get("content") if last.get("role") == "assistant" else ()
        found = [each for each in blocks or () if isinstance(each, Mapping)]
        done = {each.get("tool_use_id") for each in found}
        return [
            {"type": f"{call['name']}_tool_result", "tool_use_id": call["id"], "content": []}
            for call in found
            if call.get("type") == "server_tool_use" and call.get("id") not in done
        ]

    def _must_think(self) -> bool:
        """Return whether the answer begins with a thought, whatever a script says.

        The server refuses a message without one when it comes back with calls (A17).
        """
        thinking = self.request.thinking
        return thinking is not None and thinking.type == "enabled"

    def _thought(self, thoughts: str, id: str) -> dict[str, Any]:
        display = self.request.thinking and self.request.thinking.display
        if display == "omitted" or (display is None and family(self.request.model).since(4, 7)):
            thoughts = ""
        block = {"type": "thinking", "thinking": thoughts}
        if self.signatures is not None:
            block["signature"] = self.signatures.of(self.family, thoughts, id)
        return block


def _cited_documents(request: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield text and title of each document.

    A document that cannot be cited by its letters has no text.
    """
    for message in request.get("messages") or ():
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "document":
                source = block.get("source") or {}
                cites = (block.get("citations") or {}).get("enabled")
                text = source.get("data") if cites and source.get("type") == "text" else ""
                yield text or "", block.get("title")


def _searched(text: str, sources: Sequence[Source], id: str) -> list[dict[str, Any]]:
    """Return a search, its results, and the text in blocks that have their sources."""
    call_id = f"srvtoolu_01{hashlib.sha256(f'{id} search'.encode()).hexdigest()[:22]}"
    query = " ".join(text.split()[:6])
    results = [
        {
            "type": "web_search_result",
            "title": source.title,
            "url": source.url,
            "encrypted_content": _sealed(source.quote),
            "page_age": None,
        }
        for source in sources
    ]
    blocks: list[dict[str, Any]] = [
        {
            "type": "server_tool_use",
            "id": call_id,
            "name": "web_search",
            "input": {"query": query},
        },
        {"type": "web_search_tool_result", "tool_use_id": call_id, "content": results},
    ]
    for piece, cited in segments(text, sources):
        citations = [
            {
                "type": "web_search_result_location",
                "cited_text": source.quote,
                "url": source.url,
                "title": source.title,
                "encrypted_index": _sealed(source.url),
            }
            for source in cited
        ]
        blocks.append(
            {"type": "text", "text": piece, **({"citations": citations} if cited else {})}
        )
    return blocks


def _sealed(text: str) -> str:
    """Return a stand-in for encrypted content: opaque, and the same each time."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _stop_reason(output: Output) -> str:
    if output.stop_sequence is not None:
        return "stop_sequence"
    own = output.finish in _OWN_STOP_REASONS
    reason = output.finish if own else _STOP_REASONS.get(output.finish, "end_turn")
    return "tool_use" if output.calls and reason == "end_turn" else reason


def event_stream(events: Iterable[Mapping[str, Any]]) -> Answer:
    """Build a response of server-sent events; the type of each is its name."""
    return Answer(
        200,
        (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache")),
        tuple(frame(json_bytes(each), str(each.get("type", ""))) for each in events),
    )


def frame(data: bytes, name: str) -> bytes:
    """Encode one event with its name."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def events_of(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a complete message as the events of a stream."""
    ends = ("stop_reason", "stop_sequence", "stop_details", "container")
    usage = message["usage"]
    first = {key: value for key, value in usage.items() if key != "output_tokens_details"} | {
        "output_tokens": 1
    }
    yield {
        "type": "message_start",
        "message": {**message, "content": [], **dict.fromkeys(ends[:3]), "usage": first},
    }
    for index, block in enumerate(message["content"]):
        began, deltas = _split(block)
        yield {"type": "content_block_start", "index": index, "content_block": began}
        if index == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {key: message[key] for key in ends if key in message}
    counts = {
        key: value for key, value in usage.items() if key not in ("cache_creation", "service_tier")
    }
    yield {"type": "message_delta", "delta": delta, "usage": counts}
    yield {"type": "message_stop"}


def _split(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Split a block into `content_block_start` and its deltas.

    Blocks without deltas are sent complete.
    """
    kind = block.get("type")
    if kind == "text":
        cited = [
            {"type": "citations_delta", "citation": each} for each in block.get("citations") or ()
        ]
        deltas = [
            {"type": "text_delta", "text": piece} for piece in pieces(block.get("text") or "")
        ]
        return {**block, "text": "", **({"citations": []} if cited else {})}, cited + deltas
    if kind == "thinking":
        deltas = [
            {"type": "thinking_delta", "thinking": piece}
            for piece in pieces(block.get("thinking") or "")
        ]
        signed = (
            [{"type": "signature_delta", "signature": block["signature"]}]
            if "signature" in block
            else []
        )
        return {**block, "thinking": "", **({"signature": ""} if signed else {})}, deltas + signed
    if kind == "tool_use":
        written = json.dumps(block["input"], ensure_ascii=False) if block.get("input") else ""
        halves = [written[: len(written) // 2], written[len(written) // 2 :]] if written else []
        return {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": each} for each in ("", *halves)
        ]
    return dict(block), []
