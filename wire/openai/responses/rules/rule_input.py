"""The input of the rules: the request as plain JSON, with its items and tools, the model, and the
host's dialect.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wire.errors import Violation
from wire.openai.common.dialect import matches_model
from wire.openai.responses.dialect import Dialect

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
    """An item of the input or a tool, with its path in the request."""

    __slots__ = ("id", "path", "plain", "role", "type")

    def __init__(self, path: str, value: Any) -> None:
        self.path = path
        self.plain: Plain = as_object(value)
        role, type = self.plain.get("role"), self.plain.get("type")
        self.role: str = role if isinstance(role, str) else ""
        self.type: str = type if isinstance(type, str) else "message" if self.role else ""
        id = self.plain.get("id")
        self.id: str | None = id if isinstance(id, str) else None

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


@dataclass(frozen=True)
class RuleInput:
    """A request, with the model and the host that it is for."""

    plain: Plain
    model: str
    dialect: Dialect

    @property
    def at_openai(self) -> bool:
        """Whether the host enforces the rules of OpenAI's own API."""
        return self.dialect.vendor_rules

    @property
    def severity(self) -> str:
        """Severity of a rule that other hosts may not enforce."""
        return "error" if self.at_openai else "warning"

    @functools.cached_property
    def items(self) -> list[Entry]:
        """The items of the input; none if the input is a text."""
        return list(_entries("input", self.plain.get("input")))

    @functools.cached_property
    def tools(self) -> list[Entry]:
        """The tools, those in namespaces and those that an item of the input adds."""
        lists = [("tools", self.plain.get("tools"))]
        lists += [
            (f"{item.path}.tools", item.plain.get("tools"))
            for item in self.items
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

    @property
    def continues(self) -> bool:
        """Whether the server holds items before these."""
        return bool(self.plain.get("previous_response_id") or self.plain.get("conversation"))

    @functools.cached_property
    def has_references(self) -> bool:
        """Whether the input names items that the server holds."""
        return any(item.type == "item_reference" for item in self.items)

    @property
    def effort(self) -> str | None:
        """The effort of reasoning that is asked for."""
        effort = as_object(self.plain.get("reasoning")).get("effort")
        return effort if isinstance(effort, str) else None

    @property
    def is_reasoning(self) -> bool:
        """Whether the model reasons, by the request or by default."""
        dialect = self.dialect
        if _matches(dialect.always_reasons, self.model):
            return True
        if self.effort is not None:
            return self.effort != "none" and _matches(dialect.reasons, self.model)
        return _matches(dialect.reasons_by_default, self.model)

    @property
    def never_reasons(self) -> bool:
        """Whether the model is known not to reason."""
        return _matches(self.dialect.never_reasons, self.model)


def _matches(pattern: str, model: str) -> bool:
    return bool(pattern) and matches_model(pattern, model)


def as_object(value: Any) -> Plain:
    """The value if it is an object, otherwise an empty object."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, otherwise an empty list."""
    return list(value) if isinstance(value, (list, tuple)) else []


def _entries(path: str, value: Any) -> Iterator[Entry]:
    for index, each in enumerate(as_list(value)):
        yield Entry(f"{path}[{index}]", each)


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
    """A violation with the code of the server's error; its `param` is `field`, or else the path."""
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
    """The violation for a field that is absent."""
    message = f"Missing required parameter: '{path}'."
    return violation(path, message, rule, remedy, severity, code="missing_required_parameter")


def supported(values: Iterable[str]) -> str:
    """The end of the server's words for a value outside a list.

    >>> supported(["low", "medium", "high"]), supported(["low", "high"])
    ("Supported values are: 'low', 'medium', and 'high'.", "Supported values are: 'low' and 'high'.")
    """  # noqa: E501
    quoted = [f"'{each}'" for each in values]
    if len(quoted) > 2:
        listed = f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
    else:
        listed = " and ".join(quoted)
    return f"Supported values are: {listed}."


def invalid_value(
    path: str, value: str, values: Iterable[str], rule: str, remedy: str = "", field: str = ""
) -> Violation:
    """The violation for a value outside the list of the API."""
    message = f"Invalid value: '{value}'. {supported(values)}"
    return violation(path, message, rule, remedy, code="invalid_value", field=field or path)


def json_type(value: Any) -> str:
    """The server's words for the JSON type of a value.

    >>> json_type(None), json_type(1.5), json_type([])
    ('null', 'a decimal', 'an array')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    for type, name in _TYPE_NAMES:
        if isinstance(value, type):
            return name
    return "an unknown value"


_TYPE_NAMES: tuple[tuple[type[Any] | tuple[type[Any], ...], str], ...] = (
    (str, "a string"),
    (int, "an integer"),
    (float, "a decimal"),
    ((list, tuple), "an array"),
    (Mapping, "an object"),
)
