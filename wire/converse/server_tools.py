"""Tools that the server runs, as a request of Converse has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wire.converse.types import Tool
from wire.core.provider import Provider
from wire.neutral.server_tools import Form, hosted, tool_struct

FORMS = {
    "web_search": Form(kind="web_search", json={"systemTool": {"name": "nova_grounding"}}),
    "code_execution": Form(kind="code", json={"systemTool": {"name": "nova_code_interpreter"}}),
}
_BY_NAME = {form.json["systemTool"]["name"]: form for form in FORMS.values()}


def form_of(name: str) -> Form | None:
    """Return the form of a tool of the server; `None` for one that has no neutral form.

    >>> form_of("nova_grounding").kind
    'web_search'
    """
    return _BY_NAME.get(name)


def server_tools(tools: Sequence[Any], model: str, row: Provider) -> list[Tool]:
    """Return the server tools among the tools of a neutral request, in their order."""
    found = hosted(tools, row.dialect.server_tools, FORMS, row.name, model)
    return [tool_struct(Tool, each) for each in found]
