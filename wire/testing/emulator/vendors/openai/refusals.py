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
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.openai import catalog
from wire.testing.emulator.vendors.openai.errors import refusal

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
        raise _unknown_model(model, host.family)


def _unknown_model(model: str, family: str) -> Refusal:
    if family == "deepseek":
        names = "deepseek-v4-pro or deepseek-v4-flash"
        return refusal(
            400,
            f"The supported API model names are {names}, but you passed {model}.",
            code="invalid_request_error",
        )
    if family == "mistral":
        return _bare(
            400,
            {
                "object": "error",
                "message": f"Invalid model: {model}",
                "type": "invalid_model",
                "param": None,
                "code": "1500",
            },
        )
    message = f"The model `{model}` does not exist or you do not have access to it."
    return refusal(404, message, code="model_not_found")


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
    own = {key for key, facts in facts_of(struct).items() if _has(facts.hosts, family)}
    return own | _ALSO_KNOWN.get(family, frozenset())


def _has(hosts: tuple[str, ...], family: str) -> bool:
    return not hosts or any(family == family_of(host) for host in hosts)


def _unknown_key(
    path: tuple[Any, ...], request: Mapping[str, Any], model: str, family: str
) -> Refusal:
    key, value = path[-1], request
    for step in path:
        value = value[step]
    # Mistral and Cerebras name the role of a message in the path.
    tagged = [*path[:2], request["messages"][path[1]].get("role"), key] if path[1:] else [key]
    match family:
        case "groq":
            shown = key if not path[1:] else f"{path[0]}.{path[1]}.{key}"
            message = f"property '{shown}' is unsupported"
            return _bare(400, {"error": {"message": message, "type": "invalid_request_error"}})
        case "cerebras":
            shown = ".".join(map(str, tagged))
            return _bare(
                400,
                {
                    "message": f"{shown}: property '{shown}' is unsupported",
                    "type": "invalid_request_error",
                    "param": "validation_error",
                    "code": "wrong_api_format",
                },
            )
        case "mistral":
            detail = {
                "type": "extra_forbidden",
                "loc": ["body", *tagged],
                "msg": "Extra inputs are not permitted",
                "input": value,
            }
            return _bare(
                422,
                {
                    "object": "error",
                    "message": {"detail": [detail]},
                    "type": "invalid_request_error",
                    "param": None,
                    "code": None,
                },
            )
        case "gemini":
            name = f'Unknown name "{key}": Cannot find field.'
            return refusal(400, f"Invalid JSON payload received. {name}", param=key)
    if path[1:]:
        message = f"Additional properties are not allowed ('{key}' was unexpected)"
        return refusal(400, f"{message} - 'messages.{path[1]}'")
    if facts(model).efforts:
        message = f"Unknown parameter: '{key}'."
        return refusal(400, message, param=key, code="unknown_parameter")
    return refusal(400, f"Unrecognized request argument supplied: {key}")


def _bare(status: int, body: Mapping[str, Any]) -> Refusal:
    """Build a refusal in an envelope of the host's own."""
    return Refusal(json_answer(json_bytes(body), status))
