"""Messages that answer requests, as the server makes them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from wire.anthropic.families import family
from wire.anthropic.replies import body_of
from wire.anthropic.types import MessageRequest
from wire.neutral.messages import (
    Citation,
    Message,
    Part,
    Reply,
    ServerToolCall,
    ServerToolResult,
    Text,
    Thought,
)
from wire.neutral.serving import ResponseHead
from wire.testing.emulator.answer import Answer, json_bytes
from wire.testing.emulator.model import answer, numbered, thinking, written
from wire.testing.emulator.signing import digest
from wire.testing.emulator.sources import segments, sources_of
from wire.testing.emulator.vendors.anthropic.compaction import (
    compacted,
    paused,
    pauses,
    summary_of,
)
from wire.testing.emulator.vendors.anthropic.prompts import PromptCache, prompt_tokens
from wire.testing.emulator.vendors.anthropic.thoughts import ThoughtSignatures

_SEARCH = "tool_search_tool"
_UNTOLD = "The script tells no thoughts."
"""The thought of an answer whose script says none."""


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

    def message(self, reply: Reply, id: str) -> dict[str, Any]:
        """Build one complete message."""
        parts: list[Part] = [*self._results_of_pause()]
        if self.thinks and (reply.thought or self._must_think()):
            parts.append(self._thought(reply.thought or _UNTOLD, id))
        kinds = [tool.type or "" for tool in self.request.tools or ()]
        searches = any(kind.startswith("web_search") for kind in kinds)
        sources = sources_of(reply, searches=searches)
        citations = [*self._citations(reply.text)]
        if sources:
            searched, citations = _searched(reply.text, sources, id)
            parts += searched
        elif reply.text:
            parts.append(Text(reply.text))
        parts += self._tool_search(reply, id)
        parts += numbered(reply, lambda at, name: f"toolu_01{_hex(f'{id} {at} {name}')}")
        if reply.stop.raw == "pause_turn":
            parts += self._paused_calls(id)
        made = Reply(Message("assistant", tuple(parts), citations=tuple(citations)), reply.stop)
        head = ResponseHead(id=f"msg_01{id}", model=self.request.model, created=0)
        spent = thinking(reply) if self.thinks else 0
        usage = {
            **self.cache.usage(self.prompt),
            "output_tokens": written(reply) + spent,
            "service_tier": "standard",
        }
        if sources:
            usage["server_tool_use"] = {"web_search_requests": 1, "web_fetch_requests": 0}
        if self.thinks:
            usage["output_tokens_details"] = {"thinking_tokens": spent}
        message = {"stop_details": None, **body_of(made, head=head), "usage": usage}
        block = summary_of(self.prompt, prompt_tokens(self.prompt))
        if block is None:
            return message
        message = compacted(message, block, prompt_tokens({**self.prompt, "messages": []}))
        return paused(message) if pauses(self.prompt) else message

    def with_ids(self, message: Mapping[str, Any], id: str) -> dict[str, Any]:
        """Add the fields that every message has to a message of a script.

        The signatures of its thoughts are accepted when they come back.
        """
        for block in message.get("content") or ():
            signed = block.get("type") == "thinking" and block.get("signature")
            if signed and self.signatures is not None:
                self.signatures.remember(block["signature"], block.get("thinking") or "")
        head = ResponseHead(id=f"msg_01{id}", model=self.request.model, created=0)
        usage = {**self.cache.usage(self.prompt), "output_tokens": 1}
        return {**body_of(answer(), head=head), "usage": usage, **message}

    def _tool_search(self, reply: Reply, id: str) -> list[Part]:
        """Search the deferred tools that a reply calls, unless the conversation has found them."""
        tools = self.prompt.get("tools") or ()
        search = next((each for each in tools if str(each.get("type")).startswith(_SEARCH)), None)
        deferred = {each.get("name") for each in tools if each.get("defer_loading")}
        new = deferred.difference(_found(self.prompt))
        wanted = list(dict.fromkeys(call.name for call in reply.tool_calls if call.name in new))
        if search is None or not wanted:
            return []
        call_id = f"srvtoolu_01{_hex(f'{id} tools')}"
        found = [{"type": "tool_reference", "tool_name": name} for name in wanted]
        key = "query" if search["name"].endswith("bm25") else "pattern"
        content = {"type": f"{_SEARCH}_search_result", "tool_references": found}
        return [
            ServerToolCall(id=call_id, name=search["name"], arguments={key: "|".join(wanted)}),
            ServerToolResult(id=call_id, name="tool_search", content=content),
        ]

    def _citations(self, text: str) -> Iterator[Citation]:
        """Cite the beginning of each text document of the request that may be cited."""
        for index, (document, title) in enumerate(_cited_documents(self.prompt)):
            if quoted := document[:40]:
                place = {"document_index": index, "start_char_index": 0}
                extra = {"type": "char_location", **place, "end_char_index": len(quoted)}
                page = Citation(text=quoted, title=title or "", extra=extra)
                yield msgspec.structs.replace(page, start=0, end=len(text))

    def _paused_calls(self, id: str) -> list[Part]:
        """Return a call of the first tool that the server runs: it pauses before its result."""
        tools = (tool for tool in self.prompt.get("tools") or () if tool.get("type"))
        name = next((tool.get("name") for tool in tools if tool["type"] != "custom"), None)
        return [ServerToolCall(id=f"srvtoolu_01{id}", name=name)] if name else []

    def _results_of_pause(self) -> list[Part]:
        """Return results of the server's calls at the end of a last message of the assistant."""
        last = self.prompt["messages"][-1]
        blocks = last.get("content") if last.get("role") == "assistant" else ()
        found = [each for each in blocks or () if isinstance(each, Mapping)]
        done = {each.get("tool_use_id") for each in found}
        return [
            ServerToolResult(id=call["id"], name=call["name"], content=[])
            for call in found
            if call.get("type") == "server_tool_use" and call.get("id") not in done
        ]

    def _must_think(self) -> bool:
        """Return whether the answer begins with a thought, whatever a script says.

        The server refuses a message without one when it comes back with calls (A17).
        """
        thinking = self.request.thinking
        return thinking is not None and thinking.type == "enabled"

    def _thought(self, thoughts: str, id: str) -> Thought:
        display = self.request.thinking and self.request.thinking.display
        if display == "omitted" or (display is None and family(self.request.model).since(4, 7)):
            thoughts = ""
        if self.signatures is None:
            return Thought(thoughts)
        return Thought(thoughts, signature=self.signatures.of(self.family, thoughts, id))


def _found(request: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the names of the tools that searches in a conversation found."""
    for message in request.get("messages") or ():
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == f"{_SEARCH}_result":
                for each in (block.get("content") or {}).get("tool_references") or ():
                    yield each.get("tool_name")


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


def _searched(text: str, sources: Sequence[Citation], id: str) -> tuple[list[Part], list[Citation]]:
    """Return a search, its results, and the text in parts; and the sources of each part."""
    call_id = f"srvtoolu_01{_hex(f'{id} search')}"
    results = [
        {
            "type": "web_search_result",
            "title": source.title,
            "url": source.url,
            "encrypted_content": _sealed(source.text),
            "page_age": None,
        }
        for source in sources
    ]
    query = " ".join(text.split()[:6])
    parts: list[Part] = [
        ServerToolCall(id=call_id, name="web_search", arguments={"query": query}),
        ServerToolResult(id=call_id, name="web_search", content=results),
    ]
    citations: list[Citation] = []
    begin = 0
    for piece, cited in segments(text, sources):
        parts.append(Text(piece))
        for each in cited:
            extra = {"encrypted_index": _sealed(each.url)}
            citations.append(msgspec.structs.replace(each, start=begin, extra=extra))
        begin += len(piece)
    return parts, citations


def _hex(seed: str) -> str:
    return digest(seed)[:22]


def _sealed(text: str) -> str:
    """Return a stand-in for encrypted content: opaque, and the same each time."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


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
