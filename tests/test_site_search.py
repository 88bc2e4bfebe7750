"""The search of the built site, in a real browser: `make test-browser`."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.testing.cassette.browser import CHROMIUM, Browser, browser

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "_build" / "html"

QUESTIONS = {
    "timeout": "guide/retries",
    "reasoning effort": "guide/settings",
    "exceptions": "errors",
    "system prompt": "guide/settings",
    "save conversation": "guide/sessions",
    "api key": "guide/start",
    "streaming": "guide/streams",
    "function calling": "guide/tools",
    "json mode": "guide/structured",
    "pydantic": "guide/structured",
    "pdf": "guide/media",
    "embeddings": "guide/embeddings",
    "rate limit": "guide/rate-limits",
    "429": "guide/rate-limits",
    "retry": "guide/retries",
    "count tokens": "guide/counting",
    "price": "guide/costs",
    "mock": "guide/testing",
    "vcr": "guide/recording",
    "csv": "guide/bulk",
    "batch api": "guide/bulk-batch",
    "azure": "guide/clouds",
    "ollama": "guide/local",
    "fastapi": "guide/web",
    "jupyter": "guide/notebooks",
    "opentelemetry": "guide/tracing",
    "web search": "guide/server-tools",
    "temperature": "guide/settings",
    "prompt caching": "guide/caching",
    "middleware": "guide/around",
}
"""What a user types -> the page that answers."""
FIRST = 3
"""Results that a reader looks at."""

SUMMARY = "document.querySelector('.search-summary')?.innerText ?? ''"
RESULTS = """[...document.querySelectorAll("#search-results ul.search li > a")]
    .map(each => each.getAttribute("href").split("?")[0])"""


def test_each_word_of_the_table_has_a_page() -> None:
    rows = tomllib.loads((ROOT / "docs" / "search_words.toml").read_text("utf-8"))
    assert [page for page in rows if not (ROOT / "docs" / f"{page}.md").exists()] == []
    words = [word.lower() for row in rows.values() for word in row]
    assert len(words) == len(set(words))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    assert SITE.exists(), "make docs builds the site"
    with browser() as opened:
        yield opened


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_by_one_of_the_first_results(
    chromium: Browser, question: str
) -> None:
    chromium.open(SITE / "search.html", query=f"q={question.replace(' ', '+')}")
    until = time.monotonic() + 20
    while "finished" not in chromium.value(SUMMARY) and time.monotonic() < until:
        time.sleep(0.02)
    pages = [link.partition("#")[0].removesuffix(".html") for link in chromium.value(RESULTS)]
    assert QUESTIONS[question] in list(dict.fromkeys(pages))[:FIRST], pages[:5]
