"""Tools that the server runs, as a request of Messages has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from wire.anthropic.types import Tool
from wire.core.provider import Provider
from wire.neutral.server_tools import Form, hosted, tool_struct

_PAGES = {name: name for name in ("allowed_domains", "blocked_domains", "max_uses")}

FORMS = {
    # Later versions need a model that calls tools from code (recorded: 20260318).
    "web_search": Form(
        kind="web_search",
        json={"type": "web_search_20250305", "name": "web_search"},
        options={**_PAGES, "location": "user_location"},
    ),
    "web_fetch": Form(
        kind="url_context",
        json={
            "type": "web_fetch_20250910",
            "name": "web_fetch",
            "citations": {"enabled": True},
        },
        options=_PAGES,
    ),
    "code_execution": Form(
        kind="code", json={"type": "code_execution_20260521", "name": "code_execution"}
    ),
}

_BETAS = {
    "web_fetch_20250910": "web-fetch-2025-09-10",
    "code_execution_20250522": "code-execution-2025-05-22",
    "code_execution_20250825": "code-execution-2025-08-25",
}
"""Type of a tool -> the beta that a request with it has to name."""


def form_of(type: str) -> Form | None:
    """Return the form of a tool of any version; `None` for tools that have no neutral form.

    >>> form_of("web_search_20260318").kind
    'web_search'
    """
    return FORMS.get(re.sub(r"_\d{8}$", "", type))


def server_tools(tools: Sequence[Any], model: str, row: Provider) -> list[Tool]:
    """Return the server tools among the tools of a neutral request, in their order."""
    found = hosted(tools, row.dialect.server_tools, FORMS, row.name, model)
    return [tool_struct(Tool, each) for each in found]


def betas_of(tools: Sequence[Tool]) -> list[str]:
    """Return the betas that a request with these tools has to name.

    >>> betas_of([Tool(type="web_fetch_20250910", name="web_fetch")])
    ['web-fetch-2025-09-10']
    """
    return [_BETAS[tool.type] for tool in tools if tool.type in _BETAS]
