"""The page of a cassette in a real browser: `make test-browser`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.testing.cassette.browser import CHROMIUM, Browser, browser
from tests.testing.cassette.conversations import EVERYTHING, GEMINI_TOOLS
from wire.testing.cassette.views.comparison import compare
from wire.testing.cassette.views.page import page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]

OPEN_ALL = "document.querySelectorAll('details').forEach(each => each.open = true)"
TOO_WIDE = """[...document.querySelectorAll("body *")].filter(each => !each.closest("pre, svg")
    && each.getBoundingClientRect().right > innerWidth + 1).map(each => each.outerHTML)"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    compared = compare(GEMINI_TOOLS, EVERYTHING)
    path.write_text(page(EVERYTHING, "all.json", compared, "other.json"), "utf-8")
    return path


def lit(chromium: Browser, selector: str, side: str) -> float:
    """The brightness of a colour, 0 to 255."""
    color = chromium.value(f"getComputedStyle(document.querySelector({selector!r}))[{side!r}]")
    numbers = [float(each) for each in color.partition("(")[2].rstrip(")").split(",")[:3]]
    return sum(numbers) / 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_it_fits_and_asks_for_nothing(
    chromium: Browser, path: Path, tmp_path: Path, width: int, scheme: str
):
    chromium.open(path, width=width, scheme=scheme)
    assert chromium.requests == [path.as_uri()]
    assert chromium.violations == []
    assert chromium.value("document.title") == "all.json"
    chromium.value(OPEN_ALL)
    assert chromium.value("document.documentElement.scrollWidth") == width
    assert chromium.value(TOO_WIDE) == []
    ground = lit(chromium, "body", "backgroundColor")
    ink = lit(chromium, ".text", "color")
    assert (ground > 200 and ink < 120) if scheme == "light" else (ground < 60 and ink > 140)
    chromium.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").read_bytes()[:4] == b"\x89PNG"


def test_the_style_and_the_script_are_those_that_the_policy_allows(chromium: Browser, path: Path):
    chromium.open(path)
    assert chromium.value("getComputedStyle(document.querySelector('.turn')).display") == "grid"
    assert chromium.value("document.getElementById('search').hidden") is False
    chromium.value(
        "document.body.append(Object.assign(document.createElement('script'), "
        "{textContent: 'document.title = \"run\"'}))"
    )
    assert chromium.value("document.title") == "all.json"


def test_the_search_finds_and_opens_what_is_folded(chromium: Browser, path: Path):
    chromium.open(path)

    def search(text: str) -> tuple[str, list[str]]:
        chromium.value(
            f"{{ const field = document.querySelector('input'); field.value = {text!r};"
            " field.dispatchEvent(new Event('input')); }"
        )
        shown = "[...document.querySelectorAll('article:not([hidden])')].map(each => each.id)"
        return chromium.value("document.querySelector('output').textContent"), chromium.value(shown)

    count, shown = search("LOOK IT UP")
    assert shown == ["x6"]
    assert count.startswith("1 of ")
    assert chromium.value("document.querySelector('#x6 .thought').open") is True
    assert chromium.value("CSS.highlights.get('search').size") >= 1
    assert search("nothing has this")[1] == []
    assert len(search("")[1]) == len(EVERYTHING)


def test_it_can_be_read_without_scripts(chromium: Browser, path: Path):
    chromium.open(path, width=390, scripts=False)
    assert chromium.value("document.getElementById('search').checkVisibility()") is False
    assert chromium.value("document.querySelector('#x3').checkVisibility()") is True
    chromium.value("document.querySelector('#x2 .thought summary').scrollIntoView()")
    point = chromium.value(
        "(({x, y, height}) => [x + 20, y + height / 2])"
        "(document.querySelector('#x2 .thought summary').getBoundingClientRect())"
    )
    for kind in ("mousePressed", "mouseReleased"):
        chromium.send(
            "Input.dispatchMouseEvent",
            type=kind,
            x=point[0],
            y=point[1],
            button="left",
            clickCount=1,
        )
    assert chromium.value("document.querySelector('#x2 .thought').open") is True
