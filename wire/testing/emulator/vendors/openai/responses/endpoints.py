"""The endpoints of Responses, and of conversations."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from wire.catalogue.abilities import overflow
from wire.core.provider import Provider
from wire.openai.responses.rows import provider_row
from wire.openai.responses.types import CompactRequest, InputTokensRequest, ResponseRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.hosts import row_of
from wire.testing.emulator.moments import CREATED
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.openai.chat import body_answer
from wire.testing.emulator.vendors.openai.errors import refusal
from wire.testing.emulator.vendors.openai.lists import items_page, not_an_integer
from wire.testing.emulator.vendors.openai.prompt_cache import PromptCache
from wire.testing.emulator.vendors.openai.responses import requests
from wire.testing.emulator.vendors.openai.responses.compaction import COMPACTION_TOKENS
from wire.testing.emulator.vendors.openai.responses.conversations import (
    Conversations,
    Items,
    conversation_id,
)
from wire.testing.emulator.vendors.openai.responses.encrypted import EncryptedContents
from wire.testing.emulator.vendors.openai.responses.events import event_stream
from wire.testing.emulator.vendors.openai.responses.generation import (
    NOT_COMPLETE,
    Generation,
    stream_of,
)
from wire.testing.emulator.vendors.openai.responses.hosts import Host, host_of, new_id
from wire.testing.emulator.vendors.openai.responses.models import PROMPT_MODEL
from wire.testing.emulator.vendors.openai.responses.stored import Stored, StoredResponses
from wire.testing.emulator.vendors.openai.responses.writer import ENCRYPTED, ResponseWriter


class Responses:
    """The server of Responses, with what it stores."""

    def __init__(self, settings: Settings, cache: PromptCache) -> None:
        self._settings, self._cache = settings, cache
        self._contents = EncryptedContents(settings.seed)
        self._stored = StoredResponses(settings.storage)
        self._conversations = Conversations(settings)
        self.resources = {
            "responses": self,
            "conversations": self._conversations,
            "conversations.items": Items(self._conversations),
        }

    # --- responses --------------------------------------------------------------------------------

    def row(self, request: Received, route: Route) -> Provider | None:
        """Return the provider that a request means, or `None` for an unknown host."""
        return row_of(request, route, "openai.responses", self._settings.provider)

    def host(self, request: Received, route: Route) -> Host:
        """Return how the host of a request differs from OpenAI."""
        return host_of(request, self.row(request, route))

    def read(self, request: Received, route: Route) -> Generation:
        """Read a request for a response. Raises `Refusal`."""
        row, host = self.row(request, route), self.host(request, route)
        if not self._settings.lenient:
            # Copilot gives out ids that OpenAI refuses, and takes them back.
            known = None if host.name == "github-copilot" else row
            requests.check_request(request.body, known, warnings_too=self._settings.warnings_too)
        body = requests.decoded(request.body, ResponseRequest)
        if not body.get("model"):
            if not body.get("prompt"):
                raise requests.missing("model")
            body["model"] = PROMPT_MODEL
        if (body.get("stream_options") or {}).get("include_obfuscation") is False:
            host = replace(host, obfuscates=False)
        asked = self._conversed(request, body, host)
        size, family = len(request.body), row.family if row is not None else ""
        if overflow(family, body["model"], size, lambda: requests.prompt_tokens(asked)) is not None:
            message = "Your input exceeds the context window of this model. Please adjust your "
            message += "input and try again."
            raise refusal(400, message, param="input", code="context_length_exceeded")
        how = provider_row(row or "").dialect.caching
        prompt = self._cache.counter(body, requests.prompt_pieces(asked), how, request.headers)
        writer = ResponseWriter(body, host, _owner(request, host), self._contents, prompt)

        def keep(response: Mapping[str, Any]) -> None:
            conversation = conversation_id(body)
            if conversation:
                made = [item for item in response.get("output") or () if isinstance(item, dict)]
                self._conversations.extend(conversation, [*asked.input, *made])
            # A background response can be fetched whether it is stored or not.
            if writer.stores or response.get("background"):
                streamed = bool(body.get("stream"))
                self._stored.keep(response, asked.input, continues=writer.stores, streamed=streamed)

        return Generation(requests.prompt_of(asked, host), writer, keep)

    def _conversed(
        self, request: Received, body: Mapping[str, Any], host: Host
    ) -> requests.Conversed:
        """Return a request with the turns that it continues. Raises `Refusal`."""
        seed = f"{request.number} {hashlib.sha256(request.body).hexdigest()}"
        previous, conversation = body.get("previous_response_id"), conversation_id(body)
        context = list(self._conversations[conversation].items) if conversation else []
        if previous and host.chains:
            stored = self._stored.get(previous)
            if stored is None or not stored.continues:
                message = f"Previous response with id '{previous}' not found."
                code = "previous_response_not_found"
                raise refusal(400, message, param="previous_response_id", code=code)
            context = self._stored.context(previous)
        strict = not self._settings.lenient
        asked = requests.conversed(body, context, self._stored, seed, strict=strict)
        if strict:
            requests.check_state(asked, self._stored, self._contents, host, _owner(request, host))
        return asked

    def get(self, request: Received, route: Route) -> Answer:
        """Return a response; a background one is in progress at first."""
        stored = self._lookup(route.name)
        if ENCRYPTED in unquote(request.target):
            message = "Encrypted content cannot be requested for persisted responses"
            raise refusal(400, message, param="include")
        if request.query.get("stream") == "true":
            return self._again(request, stored, self.host(request, route))
        response = stored.response
        if stored.left:
            stored.left -= 1
            return body_answer({**response, **NOT_COMPLETE, "status": "in_progress"}, 200)
        output = [_plain(each) for each in response["output"]]
        return body_answer({**response, "output": output}, 200)

    def _again(self, request: Received, stored: Stored, host: Host) -> Answer:
        """Stream a background response again, from the event after `starting_after`."""
        if not (stored.background and stored.streamed):
            message = "You can only start a new stream from a background response if it was "
            raise refusal(400, f"{message}created with stream=true.", param="stream")
        after = request.query.get("starting_after") or "-1"
        if not after.removeprefix("-").isdecimal() or len(after) > 9:
            raise not_an_integer("starting_after", after)
        if request.query.get("include_obfuscation") == "false":
            host = replace(host, obfuscates=False)
        events = stream_of(stored.response, host, _owner(request, host), self._contents)
        return event_stream([e for e in events if e["sequence_number"] > int(after)], host)

    def delete(self, request: Received, route: Route) -> Answer:
        """Forget a response."""
        self._lookup(route.name)
        self._stored.remove(route.name)
        return body_answer({"id": route.name, "object": "response", "deleted": True}, 200)

    def cancel(self, request: Received, route: Route) -> Answer:
        """Cancel a background response."""
        stored = self._lookup(route.name)
        if not stored.background:
            message = "Cannot cancel a synchronous response."
            raise refusal(400, message, param="response_id")
        stored.cancel()
        return body_answer(stored.response, 200)

    def input_items(self, request: Received, route: Route) -> Answer:
        """Return a page of the items that a response answered."""
        return items_page(list(self._stored.input_of(self._lookup(route.name))), request)

    def input_tokens(self, request: Received, route: Route) -> Answer:
        """Count the tokens of a request."""
        body, host = requests.decoded(request.body, InputTokensRequest), self.host(request, route)
        tokens = requests.prompt_tokens(self._conversed(request, body, host))
        return body_answer({"object": "response.input_tokens", "input_tokens": tokens}, 200)

    def compact(self, request: Received, route: Route) -> Answer:
        """Return a compaction of the items, beside the messages of the user."""
        body, host = requests.decoded(request.body, CompactRequest), self.host(request, route)
        if not body.get("model"):
            raise requests.missing("model")
        asked = self._conversed(request, body, host)
        messages = (item for item in asked.items if item.get("type") == "message")
        kept = [item for item in messages if item.get("role") == "user"]
        id = new_id(host.item_id, "cmp", request.digest)
        content = self._contents.of(_owner(request, host), id)
        tokens, written = requests.prompt_tokens(asked), COMPACTION_TOKENS
        response = {
            "id": new_id(host.response_id, "resp", request.digest),
            "object": "response.compaction",
            "created_at": CREATED,
            "output": [*kept, {"id": id, "type": "compaction", "encrypted_content": content}],
            "usage": {
                "input_tokens": tokens,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": written,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": tokens + written,
            },
        }
        return body_answer(response, 200)

    def _lookup(self, id: str) -> Stored:
        stored = self._stored.get(id)
        if stored is None:
            raise refusal(404, f"Response with id '{id}' not found.")
        return stored


def _owner(request: Received, host: Host) -> str:
    """Return the owner of encrypted content.

    Another host or organization cannot read it.
    """
    return f"{host.name} {request.headers.get('openai-organization', '')}".strip()


def _plain(item: Any) -> Any:
    """Return an item without its encrypted content, which a stored response does not have."""
    if not isinstance(item, dict) or item.get("type") != "reasoning":
        return item
    return {key: value for key, value in item.items() if key != "encrypted_content"}
