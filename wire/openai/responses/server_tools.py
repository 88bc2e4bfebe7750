"""Tools that a host runs, in a request of Responses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from wire.core.provider import Provider
from wire.neutral.server_tools import Form, hosted, tool_struct
from wire.openai.common.server_tools import FORMS
from wire.openai.responses.types import Tool

_INCLUDED = {
    "code_interpreter": "code_interpreter_call.outputs",
    "file_search": "file_search_call.results",
}
"""Type of a tool -> the value of `include` that requests its results."""


def form_of(type: str) -> Form | None:
    """Return the form of a tool of any version; `None` for tools that have no neutral form.

    >>> form_of("web_search_preview_2025_03_11").kind
    'web_search'
    """
    if re.fullmatch(r"web_search(_preview)?(_\d{4}_\d\d_\d\d)?", type):
        return FORMS["web_search"]
    return FORMS[type] if type in ("code_interpreter", "file_search") else None


def server_tools(tools: Sequence[Any], model: str, row: Provider) -> list[Tool]:
    """Return the server tools among the tools of a neutral request, in their order."""
    found = hosted(tools, row.dialect.server_tools, FORMS, row.name, model)
    return [tool_struct(Tool, each) for each in found]


def included(tools: Sequence[Tool]) -> list[str]:
    """Return the values of `include` that request the results of these tools.

    >>> included([Tool(type="file_search", vector_store_ids=["vs_1"])])
    ['file_search_call.results']
    """
    return [_INCLUDED[tool.type] for tool in tools if tool.type in _INCLUDED]
