"""Tools that Gemini's server runs, as a request has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wire.core.provider import Provider
from wire.gemini.types import Tool
from wire.neutral.server_tools import Form, hosted, tool_struct

FORMS = {
    "googleSearch": Form(kind="web_search", json={"googleSearch": {}}),
    # Only Vertex has the field.
    "googleSearch@vertex": Form(
        kind="web_search",
        json={"googleSearch": {}},
        options={"blocked_domains": "googleSearch.excludeDomains"},
    ),
    "codeExecution": Form(kind="code", json={"codeExecution": {}}),
    "urlContext": Form(kind="url_context", json={"urlContext": {}}),
    "fileSearch": Form(
        kind="file_search",
        json={"fileSearch": {}},
        options={
            "stores": "fileSearch.fileSearchStoreNames",
            "max_results": "fileSearch.topK",
        },
    ),
}

FORMS_OF_CLIENTS = {
    "googleSearch": FORMS["googleSearch@vertex"],
    "codeExecution": FORMS["codeExecution"],
    "urlContext": FORMS["urlContext"],
    "fileSearch": FORMS["fileSearch"],
}
"""Key of a tool in a client's request -> its form."""


def server_tools(tools: Sequence[Any], model: str, row: Provider) -> list[Tool]:
    """Return the server tools among the tools of a neutral request, in their order."""
    found = hosted(tools, row.dialect.server_tools, FORMS, row.name, model)
    return [tool_struct(Tool, each) for each in found]
