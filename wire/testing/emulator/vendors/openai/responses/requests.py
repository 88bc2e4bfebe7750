"""Requests for responses: decode them, add the items that they continue, and refuse bad ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from wire.catalogue.settings import own_keys
from wire.core.decoders import decoder
from wire.core.facts import facts_of
from wire.core.memory import WireStruct
from wire.core.provider import Provider
from wire.openai.responses.received import parse_request
from wire.openai.responses.rules import CALL_NAMES, OUTPUT_OF, check
from wire.openai.responses.types import ResponseRequest
from wire.testing.emulator.hosts import serves
from wire.testing.emulator.model import Prompt
from wire.testing.emulator.prefixes import Piece
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.openai.errors import refusal, undecodable
from wire.testing.emulator.vendors.openai.prompt_cache import prompt_piece
from wire.testing.emulator.vendors.openai.refusals import unknown_model
from wire.testing.emulator.vendors.openai.responses.compaction import (
    COMPACTION_TOKENS,
    uncompacted,
)
from wire.testing.emulator.vendors.openai.responses.encrypted import EncryptedContents, shown
from wire.testing.emulator.vendors.openai.responses.hosts import Host, new_id
from wire.testing.emulator.vendors.openai.responses.models import answers_responses
from wire.testing.emulator.vendors.openai.responses.stored import Item, StoredResponses
from wire.testing.emulator.vendors.openai.responses.writer import PREFIXES, thinking_asked, tools_of


@dataclass(frozen=True, slots=True)
class Conversed:
    """A request beside the items that it continues."""

    body: Mapping[str, Any]
    """The JSON of the request."""
    input: Sequence[Item]
    """Its own items, each with an id, references resolved."""
    context: Sequence[Item] = ()
    """The items of the response or conversation that it continues."""

    @property
    def items(self) -> list[Item]:
        """All items that the model reads."""
        return [*self.context, *self.input]


# --- decoding -------------------------------------------------------------------------------------


def decoded(body: bytes, kind: type[WireStruct]) -> dict[str, Any]:
    """Decode the JSON of a body that has the fields of a struct. Raises `Refusal`."""
    try:
        decoder(kind).decode(body)
        value: dict[str, Any] = json.loads(body)  # Python refuses numbers of 4,300 digits
    except (msgspec.DecodeError, ValueError, RecursionError) as cause:
        raise undecodable(cause, "invalid_type") from None
    return value


def missing(name: str) -> Refusal:
    """Build the refusal of a request without a required field."""
    message = f"Missing required parameter: '{name}'."
    return refusal(400, message, param=name, code="missing_required_parameter")


def check_request(body: bytes, row: Provider | None, *, warnings_too: bool) -> None:
    """Raise `Refusal` for what a request alone shows at a host; None is an unknown one."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return  # `decoded` refuses it
    official = row is not None and row.name == "openai@responses"
    model = value.get("model") if isinstance(value, dict) else None
    if isinstance(model, str) and row is not None:
        if official and not answers_responses(model):
            message = f"The requested model '{model}' does not exist."
            raise refusal(400, message, param="model", code="model_not_found")
        if not serves(row, model):
            raise unknown_model(model, row.family, "responses")
    for each in check(body, provider=row or ""):
        # A host that ignores the field answers, and only the client knows better.
        ignored = each.rule == "P15" and row is not None and row.dialect.chains == "ignored"
        if not ignored and (warnings_too or each.severity == "error"):
            words, field = each.words or each.message, each.field or None
            found = refusal(each.status, words, param=field, code=each.code or None)
            raise Refusal(replace(found.answer, rule=each.rule))
    # Such as `client_metadata`, which codex sends with any key (openai/codex#16912).
    own = own_keys("openai.responses", "openai") or ()
    for key in value if official else ():
        if key not in facts_of(ResponseRequest) and key not in own:
            message = f"Unknown parameter: '{key}'."
            raise refusal(400, message, param=key, code="unknown_parameter")


# --- what it continues ----------------------------------------------------------------------------


def input_items(value: Mapping[str, Any], seed: str) -> list[Item]:
    """Return the items of `input`, each with an id; a text is one message of the user."""
    sent = value.get("input")
    if isinstance(sent, str):
        sent = [{"role": "user", "content": sent}]
    return [stored_form(item, f"{seed} {index}") for index, item in enumerate(sent or ())]


def stored_form(item: Item, seed: str) -> Item:
    """Convert an item to its stored form: a type and an id; a message has a list of parts."""
    kind = item.get("type") or "message"
    if kind == "item_reference":
        return item
    form = "{prefix}_{hex}"
    id = item.get("id") or new_id(form, PREFIXES.get(kind, kind), f"input {seed}")
    whole: Item = {"id": id, "type": kind, **{k: v for k, v in item.items() if v is not None}}
    if kind == "message":
        content = item.get("content")
        if not isinstance(content, list):
            part = "output_text" if item.get("role") == "assistant" else "input_text"
            whole["content"] = [{"type": part, "text": content or ""}]
        whole.setdefault("status", "completed")
    return whole


def conversed(
    value: Mapping[str, Any],
    context: Sequence[Item],
    stored: StoredResponses,
    seed: str,
    *,
    strict: bool,
) -> Conversed:
    """Return a request with its context and its resolved references. Raises `Refusal`."""
    items: list[Item] = []
    for item in input_items(value, seed):
        if item.get("type") != "item_reference":
            items.append(item)
            continue
        found = stored.item(str(item.get("id")))
        if found is None and strict:
            raise _not_found(str(item.get("id")))
        items += [] if found is None else [found]
    return Conversed(value, items, context)


def check_state(
    asked: Conversed, stored: StoredResponses, contents: EncryptedContents, host: Host, owner: str
) -> None:
    """Raise `Refusal` for what only a server with a memory can tell.

    Encrypted content that it did not make, ids that it did not store, stored items without the
    items that they belong to, and calls of the context that are not answered.
    """
    sent = asked.body.get("input")
    own_ids = {
        item["id"]
        for item in (sent if isinstance(sent, list) else ())
        if isinstance(item.get("id"), str) and item.get("type") != "item_reference"
    }
    for item in asked.input:
        content = item.get("encrypted_content")
        if host.seals and isinstance(content, str) and not contents.valid(content, owner):
            message = f"The encrypted content {shown(content)} could not be verified. Reason: "
            message += "Encrypted content could not be decrypted or parsed."
            raise refusal(400, message, code="invalid_encrypted_content")
        looked_up = item.get("type") == "reasoning" and content is None and not item.get("content")
        # xAI does not look reasoning up.
        looks_up = host.stores and host.seals and host.name != "xai" and item["id"] in own_ids
        if looked_up and looks_up and stored.item(item["id"]) is None:
            raise _not_found(item["id"])
    _check_context(asked)
    _check_pairs(asked, stored, own_ids)


def _check_context(asked: Conversed) -> None:
    """Check that the items of the context and of the input belong together."""
    if not asked.context:
        return  # the rules judge what the request alone shows
    ids = {item.get("id") for item in asked.context}
    for item in asked.input:
        if item.get("id") in ids:
            found = f"Duplicate item found with id {item['id']}."
            raise _wrong_input(f"{found} Remove duplicate items from your input and try again.")
    called = {item.get("call_id") for item in asked.items if item.get("type") in CALL_NAMES}
    answered = {item.get("call_id") for item in asked.items if item.get("type") in OUTPUT_OF}
    for item in asked.input:
        of, id = OUTPUT_OF.get(str(item.get("type"))), item.get("call_id")
        if of is not None and id not in called:
            raise _wrong_input(f"No tool call found for {of} output with call_id {id}.")
    for item in asked.items:
        name, id = CALL_NAMES.get(str(item.get("type"))), item.get("call_id")
        if name is not None and id not in answered:
            raise _wrong_input(f"No tool output found for {name} {id}.")


def _check_pairs(asked: Conversed, stored: StoredResponses, own_ids: set[str]) -> None:
    """Check that stored reasoning stands right before the item that it led to."""
    items = asked.items
    ids = [item.get("id") for item in items]
    for index, item in enumerate(items):
        id = str(item.get("id"))
        if id not in own_ids:
            continue
        reasoning, following = stored.neighbours(id)
        kind = item.get("type") if following is None else "reasoning"
        provided = f"Item '{id}' of type '{kind}' was provided without its required"
        if following is not None:
            after = items[index + 1] if index + 1 < len(items) else {}
            same = after.get("id") == following.get("id") or (
                after.get("id") not in own_ids and after.get("type") == following.get("type")
            )
            if not same:
                raise _wrong_input(f"{provided} following item.")
        if reasoning is not None and reasoning.get("id") not in ids[:index]:
            raise _wrong_input(f"{provided} 'reasoning' item: '{reasoning.get('id')}'.")


def _wrong_input(message: str) -> Refusal:
    return refusal(400, message, param="input")


def _not_found(id: str) -> Refusal:
    message = f"Item with id '{id}' not found. Items are not persisted when `store` is set to "
    message += "false. Try again with `store` set to true, or remove this item from your input."
    return refusal(404, message, param="input")


# --- the prompt -----------------------------------------------------------------------------------


def prompt_of(asked: Conversed, host: Host) -> Prompt:
    """Return a request, with the items that it continues, as the small model reads it."""
    items = asked.items or [{"role": "user", "content": _variables(asked.body)}]
    body = {**asked.body, "input": items, "tools": [*tools_of(asked.body)]}
    received = parse_request(json.dumps(body).encode())
    return Prompt(received.request, thinking_asked(asked.body, host), received.parallel)


def _variables(body: Mapping[str, Any]) -> str:
    """Return the texts of a stored prompt's variables."""
    values = ((body.get("prompt") or {}).get("variables") or {}).values()
    texts = [each.get("text") if isinstance(each, dict) else each for each in values]
    return " ".join(each for each in texts if isinstance(each, str))


def _text_of(item: Item) -> str:
    """Return the text of a message."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in content or () if isinstance(part, dict))
    return " ".join(text for text in texts if isinstance(text, str) and text)


def prompt_tokens(asked: Conversed) -> int:
    """Count the tokens of all items, the instructions and the tools."""
    return sum(each.tokens for each in prompt_pieces(asked))


def prompt_pieces(asked: Conversed) -> list[Piece]:
    """Return the tools, the instructions and the items, with their tokens."""
    body = asked.body
    instructions, tools = body.get("instructions"), body.get("tools")
    pieces = [prompt_piece(tools, count(json.dumps(tools, ensure_ascii=False)))] if tools else []
    if isinstance(instructions, str):
        pieces.append(prompt_piece(instructions, count(instructions)))
    return [*pieces, *(prompt_piece(item, _tokens(item)) for item in uncompacted(asked.items))]


def _tokens(item: Item) -> int:
    if item.get("type") == "compaction":
        return COMPACTION_TOKENS
    if item.get("type") == "message":
        return count(_text_of(item))
    # Encrypted content is not text, and would count too much.
    plain = {k: v for k, v in item.items() if k not in ("id", "type", "encrypted_content")}
    return count(json.dumps(plain, ensure_ascii=False))
