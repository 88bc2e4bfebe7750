"""Tools that Google's server runs, as a request has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wire.core.provider import Provider
from wire.gemini.interactions.types import Tool
from wire.neutral.server_tools import Form, hosted, tool_struct

FORMS = {
    "google_search": Form(kind="web_search", json={"type": "google_search"}),
    "code_execution": Form(kind="code", json={"type": "code_execution"}),
    "url_context": Form(kind="url_context", json={"type": "url_context"}),
    "file_search": Form(
        kind="file_search",
        json={"type": "file_search"},
        options={"stores": "file_search_store_names", "max_results": "top_k"},
    ),
}


def server_tools(tools: Sequence[Any], model: str, row: Provider) -> list[Tool]:
    """Return the server tools among the tools of a neutral request, in their order."""
    found = hosted(tools, row.dialect.server_tools, FORMS, row.name, model)
    return [tool_struct(Tool, each) for each in found]
