"""Pages that say what is not here name nothing that has a public name."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests.joined import joined

PAGES = sorted((Path(__file__).parent.parent / "docs" / "migrate").glob("*.md"))
PUBLIC = {
    r"Responses API|\bconversations? as|previous_response": "wire.openai.responses.create_response",
    r"\bembeddings?\b": "wire.embed",
    r"(?<!pages of )\bbatch(es)? (of|as|api)|batch_completion": "wire.openai.create_batch",
    r"^- Files|, files as endpoints|uploads": "wire.anthropic.upload_file",
    r"\bprices?\b|budgets in money|completion_cost": "wire.cost",
    r"\bfallbacks?\b": "wire.FallbackChat",
    r"\btracing\b|\bspans\b(?! of OpenTelemetry)": "wire.otel",
    r"\bmiddleware\b": "wire.around",
    r"MCP sessions as tools": "wire.tools.mcp.tools",
    r"tools that OpenAI runs|hosted tools": "wire.web_search",
    r"rate limits? of": "wire.Pace",
}
"""How a page would say that something is missing -> the public name that it has."""


def missing(page: str) -> str:
    """The items of a page about what the library lacks."""
    _, _, items = page.partition("## What is not here")
    return items


def has(name: str) -> bool:
    module, _, last = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ImportError:
        return hasattr(importlib.import_module(module), last)
    return True


def contradicted(items: str) -> list[str]:
    return [
        name
        for words, name in PUBLIC.items()
        if has(name) and re.search(words, items, re.IGNORECASE | re.MULTILINE)
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_is_not_here_is_not_here(path: Path) -> None:
    assert contradicted(missing(path.read_text("utf-8"))) == []


@joined(
    ("item", "name"),
    [
        ("- The Responses API, Realtime.", "wire.openai.responses.create_response"),
        ("- Prices: `completion_cost`.", "wire.cost"),
        ("- Files, skills and sessions.", "wire.anthropic.upload_file"),
        ("- Middleware and more.", "wire.around"),
        ("- MCP sessions as tools.", "wire.tools.mcp.tools"),
    ],
)
def test_an_absence_that_is_none_is_seen(item: str, name: str) -> None:
    assert contradicted(missing(f"## What is not here\n\n{item}\n")) == [name]


def test_each_name_is_public() -> None:
    assert [name for name in PUBLIC.values() if not has(name)] == []
