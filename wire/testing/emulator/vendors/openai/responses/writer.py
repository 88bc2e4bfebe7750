"""Writes the output of the small model, or of a script, as one complete response."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from wire.catalogue.facts import is_in
from wire.catalogue.stops import Stop
from wire.neutral.messages import Message, Other, Part, Reply, ServerToolCall, Text
from wire.neutral.serving import ResponseHead
from wire.openai.responses.parse import CALLS
from wire.openai.responses.replies import body_of
from wire.testing.emulator.model import numbered, thinking, thinking_of, written
from wire.testing.emulator.moments import CREATED
from wire.testing.emulator.sources import sources_of
from wire.testing.emulator.tables import table
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendors.openai.chat import token_entries
from wire.testing.emulator.vendors.openai.prompt_cache import PromptTokens
from wire.testing.emulator.vendors.openai.responses.compaction import is_over
from wire.testing.emulator.vendors.openai.responses.encrypted import EncryptedContents
from wire.testing.emulator.vendors.openai.responses.hosts import Host, new_id
from wire.testing.emulator.vendors.openai.responses.models import default_effort, encrypts_unasked

ENCRYPTED = "reasoning.encrypted_content"
_LOGPROBS = "message.output_text.logprobs"
_FAILURES = ("failed", "error")
_LEVELS = {"xhigh": "HIGH", "max": "HIGH"}
_REASON_UNASKED = {"xai": "xai.responses", "deepseek": "deepseek.responses"}
"""Groups of models of other hosts that reason whatever the request says."""
SERVER_ERROR = {
    "code": "server_error",
    "message": "The server had an error while processing your request. Sorry about that!",
}
_RESPONSE = table(__file__, "response")
_FIELDS: Mapping[str, Any] = _RESPONSE["fields"]
"""The fields of a response that do not depend on its output, of a request that says none."""
_ECHOED: Sequence[str] = _RESPONSE["echoed"]
"""Those that repeat the request's."""
PREFIXES: Mapping[str, str] = table(__file__, "item_ids")
"""The prefix of the ids of each type of item."""


def thinking_asked(request: Mapping[str, Any], host: Host) -> int:
    """Return the tokens of thinking that a request asks for."""
    effort = (request.get("reasoning") or {}).get("effort")
    model = request.get("model") or ""
    unasked = _REASON_UNASKED.get(host.name)
    if effort is None and unasked is not None:
        effort = "medium" if is_in(unasked, model) else None
    elif effort is None:
        effort = default_effort(model)
    if effort is None or effort == "none":
        return 0
    # A model that thinks, thinks a little at least: its item is never missing.
    return max(1, thinking_of(_LEVELS.get(effort, effort), None))


@dataclass(frozen=True, slots=True)
class ResponseWriter:
    """Writes the responses to one request; each method takes the id of the response."""

    request: Mapping[str, Any]
    """The JSON of the request."""
    host: Host
    owner: str
    """Whom encrypted content is made for: a host, and an organization."""
    contents: EncryptedContents
    prompt: Callable[[], PromptTokens]

    def response(self, reply: Reply, id: str) -> dict[str, Any]:
        """Build one complete response."""
        stop, failed = reply.stop, reply.stop.raw in _FAILURES
        if failed:
            stop = Stop("error", raw="failed")
        elif stop.raw == "refusal":
            stop = Stop("end")
        kinds = [str(tool.get("type")) for tool in self.request.get("tools") or ()]
        searches = any(kind.startswith("web_search") for kind in kinds)
        sources = tuple(sources_of(reply, searches=searches))
        parts = tuple(self._parts(reply, id, searched=bool(sources)))
        made = Reply(Message("assistant", parts, citations=sources), stop)
        body = body_of(made, head=ResponseHead(id=self.id(id), model="", created=0))
        status, calls = body["status"], 0
        for item in body["output"]:
            if item["type"] == "message":
                item["id"] = self._item_id("msg", id, 0)
                item["status"] = "completed" if reply.tool_calls else status
                if item["content"][0]["type"] == "output_text":
                    item["content"][0]["logprobs"] = self._logprobs(reply.text)
            elif item["type"] in CALLS:
                item["id"] = self._item_id(PREFIXES[item["type"]], id, calls)
                item["status"] = status
                calls += 1
        fields = {
            "status": status,
            "error": SERVER_ERROR if failed else None,
            "incomplete_details": body["incomplete_details"],
            "output": body["output"],
            "usage": None if failed else self._usage(reply),
        }
        if not failed and is_over(self.request, self.prompt().total):
            item_id = self._item_id("cmp", id, 0)
            content = self.contents.of(self.owner, item_id)
            item = {"id": item_id, "type": "compaction", "encrypted_content": content}
            fields["output"] = [item, *fields["output"]]
        return self.with_echo(fields, id)

    def with_echo(self, fields: Mapping[str, Any], id: str) -> dict[str, Any]:
        """Return the fields of a response and those that repeat the request; items get ids."""
        request, host = self.request, self.host
        conversation, tier = request.get("conversation"), request.get("service_tier")
        named = conversation if not isinstance(conversation, Mapping) else conversation.get("id")
        response: dict[str, Any] = {
            "id": self.id(id),
            "object": "response",
            "created_at": CREATED,
            "status": "completed",
            **_FIELDS,
            **{key: _given(request, key, _FIELDS[key]) for key in _ECHOED},
            "background": bool(request.get("background")) and host.stores,
            "parallel_tool_calls": request.get("parallel_tool_calls") is not False,
            "previous_response_id": request.get("previous_response_id") if host.stores else None,
            "reasoning": self._reasoning(),
            "service_tier": tier if tier not in (None, "auto") else "default",
            "store": self.stores,
            "text": {**_FIELDS["text"], **_without_nulls(request.get("text") or {})},
            "tools": [_declared(each) for each in request.get("tools") or ()],
            **host.more,
            **({} if conversation is None else {"conversation": {"id": named}}),
        }
        response |= fields
        response["output"] = [
            self._with_id(item, position, response["id"])
            for position, item in enumerate(_listed(response["output"]))
        ]
        if response["status"] == "completed" and response["completed_at"] is None:
            response["completed_at"] = CREATED + 1
        return {
            key: value
            for key, value in response.items()
            if (key in fields and value is not None)
            or ((not host.only or key in host.only) and key not in host.without)
        }

    def id(self, id: str) -> str:
        """Return the id of the response."""
        return new_id(self.host.response_id, "resp", id)

    @property
    def stores(self) -> bool:
        """Whether the response is stored, so that a later one may continue it."""
        return self.host.stores and self.request.get("store") is not False

    # --- items ------------------------------------------------------------------------------------

    def _parts(self, reply: Reply, id: str, *, searched: bool) -> Iterator[Part]:
        """Yield the parts of a reply, in the order in which a model makes them."""
        # A script may say thoughts of a model that would not think at this effort.
        if self._thinks or (reply.thought and self._may_think):
            yield Other("reasoning", self._thought(reply.thought, self._item_id("rs", id, 0)))
        if searched:
            action = {"type": "search", "query": " ".join(reply.text.split()[:6])}
            call_id = self._item_id("ws", id, 0)
            yield ServerToolCall(id=call_id, name="web_search", kind="web_search", arguments=action)
        if reply.text:
            phase = "commentary" if reply.tool_calls else "final_answer"
            has_phase = self.host.has_phase(self.request.get("model") or "")
            extra = {"phase": phase} if has_phase else None
            yield Text(reply.text, refusal=reply.stop.raw == "refusal", extra=extra)
        tools = tools_of(self.request)
        custom = {str(tool.get("name")) for tool in tools if tool.get("type") == "custom"}
        form = self.host.call_id
        found = [_declared(tool) for tool in self._found_tools(reply)]
        search = {"call_id": None, "execution": "server", "status": "completed"}
        if found:
            paths = {"paths": [tool["name"] for tool in found]}
            for kind, more in (("call", {"arguments": paths}), ("output", {"tools": found})):
                item = {"type": f"tool_search_{kind}", **search, **more}
                yield Other(f"tool_search_{kind}", item)
        deferred = {tool.get("name") for tool in tools_of(self.request) if _is_deferred(tool)}
        for call in numbered(
            reply, lambda at, name: new_id(form, "call", f"{id} call {at} {name}")
        ):
            kind = "custom" if call.name in custom else "function"
            # Recorded: a deferred tool outside of a namespace is one of its own.
            extra = {"namespace": call.name} if call.name in deferred else None
            yield msgspec.structs.replace(call, kind=kind, extra=extra)

    def _found_tools(self, reply: Reply) -> Iterator[Mapping[str, Any]]:
        """Yield the deferred tools that a reply calls, and that no search of the input found."""
        sent = self.request.get("input")
        items = sent if isinstance(sent, list) else ()
        searches = [each for each in items if each.get("type") == "tool_search_output"]
        known = {tool.get("name") for each in searches for tool in each.get("tools") or ()}
        called = {call.name for call in reply.tool_calls} - known
        for tool in self.request.get("tools") or ():
            if _is_deferred(tool) and tool.get("name") in called:
                yield tool

    def _thought(self, thoughts: str, item_id: str) -> dict[str, Any]:
        host, include = self.host, self.request.get("include") or ()
        asks = (self.request.get("reasoning") or {}).get("summary") is not None
        shows = host.reasoning in ("summary", "plain") or (asks and host.reasoning == "encrypted")
        item: dict[str, Any] = {"id": item_id, "type": "reasoning"}
        if host.reasoning != "encrypted":
            item["status"] = "completed"
        if host.reasoning == "content":
            texts = [{"type": "reasoning_text", "text": thoughts}] if thoughts else []
            return {**item, "content": texts, "summary": []}
        if host.reasoning == "plain":
            item["encrypted_content"] = thoughts
        elif ENCRYPTED in include or encrypts_unasked(self.request.get("model") or ""):
            if host.reasoning == "encrypted":
                item["content"] = []
            item["encrypted_content"] = self.contents.of(self.owner, item_id)
        summary = [{"type": "summary_text", "text": thoughts}] if shows and thoughts else []
        return {**item, "summary": summary}

    def _logprobs(self, text: str) -> list[dict[str, Any]]:
        top = self.request.get("top_logprobs") or 0
        if not top and _LOGPROBS not in (self.request.get("include") or ()):
            return []
        return token_entries(text, top)

    def _item_id(self, prefix: str, id: str, position: int) -> str:
        return new_id(self.host.item_id, prefix, f"{id} {prefix} {position}")

    def _with_id(self, item: Any, position: int, id: str) -> Any:
        if not isinstance(item, Mapping) or item.get("id") is not None:
            return item
        prefix = PREFIXES.get(str(item.get("type")), "item")
        return {"id": self._item_id(prefix, id, position), **item}

    # --- numbers ----------------------------------------------------------------------------------

    @property
    def _thinks(self) -> bool:
        return thinking_asked(self.request, self.host) > 0

    @property
    def _may_think(self) -> bool:
        """Whether the model can reason at all; of other hosts' models that is not known."""
        official = self.host.name in ("openai", "azure", "chatgpt", "github-copilot")
        return not official or default_effort(self.request.get("model") or "") is not None

    def _reasoning(self) -> dict[str, Any]:
        sent = _without_nulls(self.request.get("reasoning") or {})
        default = default_effort(self.request.get("model") or "")
        return {"effort": default, "summary": None, **sent}

    def _usage(self, reply: Reply) -> dict[str, Any]:
        # Thoughts that a client sees can be counted.
        seen = self.host.reasoning in ("content", "plain")
        thoughts = count(reply.thought) if seen else thinking(reply)
        thoughts = thoughts if self._thinks or reply.thought else 0
        prompt = self.prompt()
        return {
            "input_tokens": prompt.total,
            "input_tokens_details": prompt.details,
            "output_tokens": written(reply) + thoughts,
            "output_tokens_details": {"reasoning_tokens": thoughts},
            "total_tokens": prompt.total + written(reply) + thoughts,
            **self.host.more_usage,
        }


def tools_of(request: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the tools, those that items of the input add, and those in namespaces."""
    sent = request.get("input")
    items = sent if isinstance(sent, list) else ()
    added = (each for each in items if each.get("type") == "additional_tools")
    for tool in (tool for each in (request, *added) for tool in each.get("tools") or ()):
        yield from (tool, *(tool.get("tools") or ()))


def _declared(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool as a response repeats it: a function with the fields that it left out, an MCP
    server without its credentials, as recorded responses have it.
    """
    if tool.get("type") == "mcp":
        headers, token = tool.get("headers"), tool.get("authorization")
        hidden = dict.fromkeys(headers, "<redacted>") if isinstance(headers, dict) else None
        return {**tool, "authorization": token and "<redacted>", "headers": hidden}
    if tool.get("type") != "function":
        return dict(tool)
    defaults = {"type": "function", "description": None, "parameters": None, "strict": True}
    return {**defaults, **_without_nulls(tool)}


def _is_deferred(tool: Mapping[str, Any]) -> bool:
    return bool(tool.get("defer_loading"))


def _listed(output: Any) -> Sequence[Any]:
    return output if isinstance(output, list) else ()


def _given(request: Mapping[str, Any], key: str, default: Any) -> Any:
    """Return what a request says, else the default; an empty word says nothing."""
    value = request.get(key)
    return default if value is None or (isinstance(default, str) and not value) else value


def _without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if each is not None}
