"""The input of the rules: the request as plain JSON, with its items and tools, the model, and the
host's dialect.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from wire.catalogue.facts import ModelFacts, facts
from wire.core.decoders import decoder
from wire.core.errors import Violation
from wire.core.memory import COMPLETE, WireStruct, kept_bytes, raw_of
from wire.openai.common.refusals import supported
from wire.openai.responses.dialect import Dialect
from wire.openai.responses.types import Item, ResponseRequest

Plain = Mapping[str, Any]

OUTPUT_OF = {
    "function_call_output": "function call",
    "custom_tool_call_output": "custom tool call",
    "local_shell_call_output": "local shell call",
    "apply_patch_call_output": "apply patch call",
    "computer_call_output": "computer call",
}
"""Types of the items in which the caller answers a call, and the server's word for that call."""
CALL_NAMES = {output.removesuffix("_output"): name for output, name in OUTPUT_OF.items()}
"""Types of calls that the caller answers, and the server's words for them."""


class Entry:
    """An item of the input or a tool, with its position in the request."""

    __slots__ = ("_index", "_list", "id", "plain", "role", "type")

    def __init__(self, path: str, index: int, value: Any) -> None:
        self._list, self._index = path, index
        self.plain: Plain = value if isinstance(value, Mapping) else {}
        role, type, id = self.plain.get("role"), self.plain.get("type"), self.plain.get("id")
        self.role: str = role if isinstance(role, str) else ""
        self.type: str = type if isinstance(type, str) else "message" if self.role else ""
        self.id: str | None = id if isinstance(id, str) else None

    @property
    def path(self) -> str:
        """Its path in the request."""
        return f"{self._list}[{self._index}]"

    @property
    def call_id(self) -> str:
        """The id that a call and its output share."""
        call_id = self.plain.get("call_id")
        return call_id if isinstance(call_id, str) else ""

    @property
    def is_models(self) -> bool:
        """Whether the model made it, or a tool that the server runs."""
        if self.type == "message":
            return self.role == "assistant"
        return self.type not in OUTPUT_OF and self.type not in _CALLERS_ITEMS


_CALLERS_ITEMS = frozenset(
    {"additional_tools", "compaction_trigger", "configuration_update", "mcp_approval_response"}
)


class Body(msgspec.Struct, frozen=True, dict=True):
    """The body of a request. It is read once, and may be checked for one host after another."""

    request: ResponseRequest | bytes | Plain
    found: dict[tuple[str, str], tuple[Violation, ...]] = msgspec.field(default_factory=dict)
    """Violations that depend on no host, by the ids of the rules and the model."""

    @functools.cached_property
    def plain(self) -> Plain:
        """The body as plain JSON; of another type if the request is not an object."""
        request = plain = self.request
        if isinstance(request, bytes):
            plain = json.loads(request)
        elif isinstance(request, ResponseRequest):
            plain = _plain_request(request)
        return cast(Plain, plain)

    @functools.cached_property
    def items(self) -> list[Entry]:
        """The items of the input; none if the input is a text."""
        return _entries("input", self.plain.get("input"))

    @functools.cached_property
    def items_beyond_messages(self) -> list[Entry]:
        """The items other than messages. A long history has few of them."""
        return [item for item in self.items if item.type != "message"]

    @functools.cached_property
    def items_with_parts(self) -> list[Entry]:
        """The items with a list of parts in place of a text."""
        lists = (list, tuple)
        return [
            item
            for item in self.items
            if isinstance(item.plain.get("content"), lists)
            or isinstance(item.plain.get("output"), lists)
        ]

    @functools.cached_property
    def tools(self) -> list[Entry]:
        """The tools, those in namespaces and those that an item of the input adds."""
        lists = [("tools", self.plain.get("tools"))]
        lists += [
            (f"{item.path}.tools", item.plain.get("tools"))
            for item in self.items_beyond_messages
            if item.type == "additional_tools"
        ]
        tools = [tool for path, value in lists for tool in _entries(path, value)]
        inner = [
            each
            for tool in tools
            if tool.type == "namespace"
            for each in _entries(f"{tool.path}.tools", tool.plain.get("tools"))
        ]
        return tools + inner

    @functools.cached_property
    def has_references(self) -> bool:
        """Whether the input names items that the server holds."""
        return any(item.type == "item_reference" for item in self.items_beyond_messages)


def _plain_request(request: ResponseRequest) -> Any:
    if raw_of(request) is not None:
        return _received(request)
    if not isinstance(request.input, (list, tuple)):
        return msgspec.to_builtins(request)
    rest = msgspec.to_builtins(msgspec.structs.replace(request, input=None))
    # A received item is sent with its bytes. They have what the fields do not show, such as nulls.
    items = [
        _received(item)
        if isinstance(item, Item) and raw_of(item) is not None
        else msgspec.to_builtins(item)
        for item in request.input
    ]
    return {**rest, "input": items}


def _received(struct: WireStruct) -> Any:
    """Return the received JSON of a struct."""
    raw = kept_bytes(struct)
    if vars(struct).get(COMPLETE):
        return msgspec.to_builtins(struct)
    try:
        plain = decoder(Any).decode(raw)
    except ValueError:  # lone surrogates and numbers that are too large for msgspec
        return json.loads(bytes(raw))
    # A history is sent again with each request: the next time nothing of it is decoded.
    if isinstance(struct, Item) and plain == msgspec.to_builtins(struct):
        vars(struct)[COMPLETE] = True
    return plain


class RuleInput:
    """A request, with the model and the host that it is for."""

    def __init__(self, body: Body, model: str, dialect: Dialect) -> None:
        self.body, self.model, self._dialect = body, model, dialect
        self.plain: Plain = body.plain
        self.items: list[Entry] = body.items
        self.facts: ModelFacts = facts(model)
        self.has_read_host: bool = False
        """Whether a rule has read what depends on the host."""

    @property
    def dialect(self) -> Dialect:
        """How the host differs from others."""
        self.has_read_host = True
        return self._dialect

    @property
    def at_openai(self) -> bool:
        """Whether the host enforces the rules of OpenAI's own API."""
        self.has_read_host = True
        return self._dialect.vendor_rules

    @property
    def severity(self) -> str:
        """Severity of a rule that other hosts may not enforce."""
        return "error" if self.at_openai else "warning"

    @property
    def continues(self) -> bool:
        """Whether the server holds items before these."""
        return bool(self.plain.get("previous_response_id") or self.plain.get("conversation"))

    @property
    def effort(self) -> str | None:
        """The effort of reasoning that is asked for."""
        effort = as_object(self.plain.get("reasoning")).get("effort")
        return effort if isinstance(effort, str) else None

    @property
    def enforces_facts(self) -> bool:
        """Whether the host has OpenAI's rules for its models, and the name is that of a model."""
        self.has_read_host = True
        return self._dialect.vendor_rules and bool(self._dialect.models_of)

    @property
    def is_reasoning(self) -> bool:
        """Whether the model reasons, by the request or by default."""
        return self.facts.sampling == "refused" or self.facts.thinks(self.effort)


def as_object(value: Any) -> Plain:
    """Return the value if it is an object, otherwise an empty object."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, otherwise an empty list."""
    return list(value) if isinstance(value, (list, tuple)) else []


def _entries(path: str, value: Any) -> list[Entry]:
    return [Entry(path, index, each) for index, each in enumerate(as_list(value))]


def violation(
    path: str,
    message: str,
    rule: str,
    remedy: str = "",
    severity: str = "error",
    *,
    code: str = "",
    field: str | None = None,
) -> Violation:
    """Build a violation with the code of the server's error.

    Its `param` is `field`, or else the path.
    """
    return Violation(
        path,
        message,
        rule,
        severity,
        remedy,
        code=code,
        field=path if field is None else field,
    )


def missing(path: str, rule: str, remedy: str = "", severity: str = "error") -> Violation:
    """Build the violation for a field that is absent."""
    message = f"Missing required parameter: '{path}'."
    return violation(path, message, rule, remedy, severity, code="missing_required_parameter")


def invalid_value(
    path: str, value: str, values: Iterable[str], rule: str, remedy: str = "", field: str = ""
) -> Violation:
    """Build the violation for a value outside the list of the API."""
    message = f"Invalid value: '{value}'. {supported(values)}"
    return violation(path, message, rule, remedy, code="invalid_value", field=field or path)
