"""Values for snapshots of tests: bodies, events and replies of a cassette as plain data.

Ids, times and signatures are new in each recording. They are replaced by tokens (C-39).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from wire.core.arguments import checked_arguments
from wire.core.errors import CassetteError, ConfigurationError
from wire.core.files import read_whole
from wire.core.json_values import checked
from wire.core.memory import encode
from wire.core.secret_fields import masked_body
from wire.testing.cassette.format.bodies import event_bytes
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.structs import Body, Event, Interaction
from wire.testing.cassette.views.conversation import conversation
from wire.testing.cassette.views.readable import readable

# The caller chooses a `custom_id`.
_ID = re.compile(r"id|(?!custom_id).*_id|.*[a-z]Id|uuid|system_fingerprint")
_TIME = re.compile(
    r"created|(?:created|completed|started|updated|expires|cancelled|failed|ended)_at|"
    r"(?:create|update|expire|start|end)Time"
)
_SIGNATURE = re.compile(
    r"signature|thoughtSignature|thought_signature|encrypted_content|encrypted_index|obfuscation"
)
_OWN = ("args", "arguments", "parameters", "schema", "json_schema", "parametersJsonSchema")
"""Keys whose value is the caller's or the model's own data, whatever keys that has."""
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use", "custom_tool_call")
"""Types of blocks whose `input` is the model's own data."""


class Stable:
    """Replaces ids, times and signatures in plain data, with one numbering for all of it.

    >>> stable = Stable()
    >>> stable.value({"id": "call_8f2a", "created": 1789000000})
    {'id': '<id:1>', 'created': '<time>'}
    >>> stable.value({"tool_call_id": "call_8f2a", "arguments": '{"id": "42"}'})
    {'tool_call_id': '<id:1>', 'arguments': '{"id": "42"}'}

    Equal ids get equal tokens, numbered in order of first sight. Arguments of calls and schemas are
    data of the test, so their keys do not count.
    """

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], str] = {}
        self._numbers = {"id": 0, "signature": 0}

    def value(self, value: Any) -> Any:
        """Copy JSON data, a message or a reply, without credentials in its fields."""
        return self._replaced(msgspec.json.decode(masked_body(encode(value))), False)

    def _replaced(self, value: Any, own: bool) -> Any:
        if isinstance(value, list):
            return [self._replaced(item, own) for item in value]
        if isinstance(value, str):
            return self._tokens.get(("id", value), value)
        if not isinstance(value, dict):
            return value
        return {key: self._field(value, key, item, own) for key, item in value.items()}

    def _field(self, holder: Mapping[str, Any], key: str, value: Any, own: bool) -> Any:
        if own or _is_own(holder, key):
            return self._replaced(value, True)
        if isinstance(value, str) and value:
            for kind, names in (("id", _ID), ("signature", _SIGNATURE)):
                if names.fullmatch(key):
                    return self._token(kind, value)
        if isinstance(value, str | int | float) and _TIME.fullmatch(key):
            return "<time>"
        return self._replaced(value, False)

    def _token(self, kind: str, value: str) -> str:
        if (kind, value) not in self._tokens:
            self._numbers[kind] += 1
            self._tokens[kind, value] = f"<{kind}:{self._numbers[kind]}>"
        return self._tokens[kind, value]


def _is_own(holder: Mapping[str, Any], key: str) -> bool:
    if key == "input":
        return holder.get("type") in _CALLS
    if key == "response":  # of a functionResponse; events of Responses have one without a name
        return "name" in holder
    if key == "value":  # of a part of a conversation: arguments or a result
        return "kind" in holder
    return key in _OWN


class Snapshots:
    """The content of a cassette as plain data that is equal in each recording of a conversation.

    >>> snapshots = Snapshots("tide.cassette.json")  # doctest: +SKIP
    >>> assert snapshots.replies == snapshot  # doctest: +SKIP

    All lists are in the order of the cassette. One id gets the same token in all of them.

    Raises `CassetteError` for a file that is missing or malformed.
    """

    @checked_arguments(ConfigurationError)
    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = os.fspath(path)
        interactions = load(read_whole(path, CassetteError), name).interactions
        stable = Stable()
        self.requests: list[Any] = []
        """The body of each request as it was sent: JSON, a text, or type, size and digest of bytes.
        """
        self.events: list[list[Any]] = []
        """For each response its events: JSON or a text; an event with a name is `{name: data}`. A
        response that is not a stream has none."""
        self.replies: list[Any] = []
        """For each request for a reply: role and parts of the folded message, why it stopped and
        the error; `None` for another request."""
        self.messages: list[list[Any]] = []
        """For each session its messages, each with its direction and its JSON or text; any other
        interaction has none."""
        for each, exchange in zip(interactions, conversation(interactions).exchanges, strict=True):
            self.requests.append(stable.value(_request(each)))
            self.events.append([stable.value(event) for event in events_of(each.response.body)])
            self.messages.append(
                [
                    {"direction": said.direction, "body": stable.value(said.body)}
                    for said in exchange.messages or ()
                ]
            )
            reply = {
                name: getattr(exchange, name)
                for name in ("reply", "stop", "error")
                if getattr(exchange, name) is not UNSET
            }
            self.replies.append(stable.value(reply) if exchange.wire else None)


@checked_arguments()
def stable(value: Any) -> Any:
    """Convert a value to plain data, with ids, times and signatures replaced by tokens.

    >>> stable({"id": "resp_1", "previous_response_id": "resp_0"})
    {'id': '<id:1>', 'previous_response_id': '<id:2>'}

    The value is JSON data, a struct of a wire, a message or a reply. `Snapshots` numbers the ids of
    a cassette together.

    Raises `RuleError` for a value that JSON cannot represent.
    """
    return Stable().value(checked(value, "value"))


def events_of(body: Body | Any) -> list[Any]:
    """Return the events of a body as data: JSON, else the text; with its name if it has one."""
    if body is UNSET or body.events is UNSET:
        return []
    return [_event(event, body) for event in body.events]


def _event(event: Event, body: Body) -> Any:
    if event.json is not UNSET:
        data = msgspec.json.decode(event.json)
    elif event.data is not UNSET:
        data = event.data
    else:
        data = event_bytes(event, body).decode("utf-8", "backslashreplace")
    return data if event.event is UNSET else {event.event: data}


def _request(interaction: Interaction) -> Any:
    body = readable(interaction.request.body, interaction.request.headers)
    return None if body is UNSET else body
