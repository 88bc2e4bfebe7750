"""Refusals of hosts of chat completions beyond the rules of `wire.openai.chat.rules`.

These are keys that a host does not know, and models that it does not have. Each host has its own
words and its own envelope. Recorded traffic has the refusals of models; those of keys are in public
threads. A host that is not named here ignores unknown keys, or nothing is known about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wire.catalogue.facts import facts, is_in
from wire.core.facts import facts_of
from wire.core.memory import WireStruct
from wire.core.provider import Provider, family_of
from wire.openai.chat.types import ChatCompletionRequest, Message
from wire.openai.common.dialect import matches_model
from wire.testing.emulator.answer import json_answer, json_bytes
from wire.testing.emulator.hosts import serves
from wire.testing.emulator.tables import filled, table
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.openai import catalog
from wire.testing.emulator.vendors.openai.errors import refusal

_WORDS: Mapping[str, Any] = table(__file__, "words")
_ALSO_KNOWN = {"groq": frozenset({"search_settings"})}
"""Recorded keys of a host that the structs lack."""
_STRICT_MESSAGES = frozenset({"cerebras", "groq", "mistral"})
"""Hosts that refuse unknown keys of messages too."""


# --- models ---------------------------------------------------------------------------------------


def check_model(model: str, host: Provider | None) -> None:
    """Raise `Refusal` for a model that a host does not have."""
    if host is None:
        return
    if host.name == "openai" and " " in model:
        raise refusal(400, "invalid model ID")
    # The rules have the words for models that are known, and no chat models or gone.
    known = catalog.is_known(model) if host.name == "openai" else serves(host, model)
    if not known and not any(
        matches_model(each.models, model) for each in host.dialect.refuses_models
    ):
        raise unknown_model(model, host.family)


def unknown_model(model: str, family: str, others: str = "others") -> Refusal:
    """Build the refusal of a model that a host does not have; `others` is the usual row."""
    rows = _WORDS["unknown model"]
    return _stated(rows.get(family, rows[others]), model=model)


# --- keys -----------------------------------------------------------------------------------------


def check_keys(request: Mapping[str, Any], model: str, host: Provider | None) -> None:
    """Raise `Refusal` for the first key that a host does not know and does not ignore."""
    family = "" if host is None else host.family
    if family not in _STRICT_MESSAGES | {"openai", "gemini"}:
        return
    for path in _unknown_keys(request, model, family):
        raise _unknown_key(path, request, model, family)


def _unknown_keys(request: Mapping[str, Any], model: str, family: str) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each unknown key, `("messages", 2, "parsed")`."""
    known = _known(ChatCompletionRequest, family)
    yield from ((key,) for key in request if key not in known)
    messages = request.get("messages")
    if not isinstance(messages, list):
        return
    strict = family in _STRICT_MESSAGES or is_in("openai.strict-messages", model)
    for index, message in enumerate(messages if strict else ()):
        for key in message if isinstance(message, dict) else ():
            if key not in _known(Message, family):
                yield "messages", index, key


def _known(struct: type[WireStruct], family: str) -> set[str]:
    """Return the keys of a struct that a host has."""
    own = {
        key
        for key, facts in facts_of(struct).items()
        if not facts.hosts or family in map(family_of, facts.hosts)
    }
    return own | _ALSO_KNOWN.get(family, frozenset())


def _unknown_key(
    path: tuple[Any, ...], request: Mapping[str, Any], model: str, family: str
) -> Refusal:
    rows, key, index = _WORDS["unknown key"], path[-1], path[1] if path[1:] else None
    own = "of a model with efforts" if facts(model).efforts else "others"
    row = rows.get(family, rows[own if index is None else "of a message"])
    holder = request if index is None else request["messages"][index]
    # Mistral and Cerebras name the role of a message in the path.
    tagged = [key] if index is None else [*path[:2], holder.get("role"), key]
    return _stated(
        row,
        key=key,
        index=index,
        path=".".join(map(str, path)),
        tagged=".".join(map(str, tagged)),
        loc=["body", *tagged],
        value=holder[key],
    )


def _stated(row: Mapping[str, Any], **words: object) -> Refusal:
    """Build a refusal of the table `words.json`; `body` is an envelope of the host's own."""
    stated = filled(row, words)
    status = stated.pop("status", 400)
    if "body" in stated:
        return Refusal(json_answer(json_bytes(stated["body"]), status))
    return refusal(status, **stated)
