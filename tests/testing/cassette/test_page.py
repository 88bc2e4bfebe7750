"""The page of `wire cassette show --html`: self-contained, escaped, and whole without a script."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from tests.joined import joined
from tests.testing.cassette.conversations import (
    EVERYTHING,
    GEMINI_TOOLS,
    HOSTILE,
    MESSAGES,
    interaction,
    text_of,
)
from wire.cli import main
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.views.comparison import compare
from wire.testing.cassette.views.conversation import Times, conversation
from wire.testing.cassette.views.page import events, page
from wire.testing.cassette.views.timeline import timeline

TAGS = {
    *("html", "head", "meta", "title", "style", "script", "body", "header", "nav", "main"),
    *("section", "article", "footer", "details", "summary", "h1", "h2", "h3", "p", "pre", "div"),
    *("ul", "ol", "li", "dl", "dt", "dd", "a", "b", "code", "del", "ins", "small", "span"),
    *("label", "input", "output", "svg", "rect"),
}
VOID = {"meta", "input", "br", "img", "link"}


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text; asserts that they nest."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_asks_for_nothing_and_runs_its_own_script_alone():
    source = page(EVERYTHING, "all.json", compare(GEMINI_TOOLS, EVERYTHING), "other.json")
    elements = Elements(source).elements
    assert {tag for tag, _ in elements} <= TAGS
    for tag, attributes in elements:
        assert not {"src", "style", "srcset", "action"} & attributes.keys(), tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in source
    assert "@import" not in source
    [policy] = [
        str(attributes["content"])
        for tag, attributes in elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        [text] = re.findall(f"<{tag}>(.*?)</{tag}>", source, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_what_was_recorded_is_text():
    source = page([HOSTILE], "</title><script>1</script>.json")
    parsed = Elements(source)
    assert [tag for tag, _ in parsed.elements].count("script") == 1
    assert "img" not in {tag for tag, _ in parsed.elements}
    text = "".join(parsed.texts)
    assert "</script><script>document.title='owned'</script>" in text
    assert "<b>bold</b>\\r\\x1b[2Jgone" in text
    assert "\x1b" not in source
    assert "\u202e" not in source


def test_all_of_the_conversation_is_on_the_page():
    source = html.unescape(page(EVERYTHING, "all.json"))
    for text in (
        "Answer in one line.",
        "The chart is attached.",
        "image/png, 2.0 KiB",
        "The tide table knows.",
        "U2lnbmVkIGJ5IG5vYm9keQ==",
        '{"high": ["05:12", "17:40"]}',
        "The model is overloaded.",
        "retry after 2 s",
        "the connection was closed before the end",
        "no such port",
        "data: [DONE]",
        "text-embedding-3-small",
    ):
        assert text in source, text


def test_long_texts_are_cut_in_raw_json_only():
    long = "x" * 5_000
    source = page(
        [
            interaction(
                "https://llm.example/v1/chat/completions",
                {"messages": [{"role": "user", "content": long}]},
                {"choices": []},
            )
        ],
        "x.json",
    )
    assert source.count(long) == 1
    assert "x... (1,000 more characters)" in source


def test_the_differences_are_on_the_page():
    other = [*GEMINI_TOOLS[:2], MESSAGES]
    source = page(GEMINI_TOOLS, "b.json", compare(other, GEMINI_TOOLS), "/tmp/a.json")
    assert '<p class="note">\u2212 a.json, + b.json.' in source
    assert "<dt>only in</dt><dd>a.json</dd>" in source
    assert "<dt>only in</dt><dd>b.json</dd>" in source
    same = page(GEMINI_TOOLS, "b.json", compare(GEMINI_TOOLS, GEMINI_TOOLS), "a.json")
    assert "<p>None.</p>" in same


def test_the_time_line_shows_the_first_byte_gaps_and_retries():
    exchanges = conversation(GEMINI_TOOLS).exchanges
    source = timeline(exchanges)
    assert "The recording has no times: `timing=True` of the cassette records them." in source
    assert "<small>503, attempt 1 of 2, retry after 2 s</small>" in source
    assert source.count('class="event"') == 3
    times = [Times(chunks=[1000]), Times(chunks=[800, 1000]), Times(chunks=[400, 450, 2000])]
    source = timeline(
        [
            msgspec.structs.replace(each, times=time)
            for each, time in zip(exchanges, times, strict=True)
        ]
    )
    assert "first byte 1,000 ms</small>" in source
    assert "first byte 400 ms, end 2,000 ms, longest gap 1,550 ms" in source
    # 4,000 ms are 1,000 units wide, and the exchanges stand one after the other.
    for kind, x, width in (
        ("wait", 0, 250),
        ("wait", 250, 200),
        ("body", 450, 50),
        ("wait", 500, 100),
        ("event", 612.5, 2),
        ("event", 1000, 2),
    ):
        assert f'<rect class="{kind}" x="{x:.1f}" y="0" width="{width:.1f}" ' in source


def test_the_time_line_shows_the_waits_before_retries_and_between_exchanges():
    exchanges = conversation(GEMINI_TOOLS).exchanges
    recorded = [
        Times(started=500, chunks=[100]),
        Times(started=2600, chunks=[300, 400]),
        Times(started=3500, chunks=[1000]),
    ]
    timed = [
        msgspec.structs.replace(each, times=times)
        for each, times in zip(exchanges, recorded, strict=True)
    ]
    source = timeline(timed)
    assert "<small>503, attempt 1 of 2, retry after 2 s, first byte 100 ms</small>" in source
    assert "<small>200, attempt 2 of 2, waited 2,000 ms, first byte 300 ms, " in source
    assert "<small>200, sent 500 ms later, first byte 1,000 ms</small>" in source
    assert "Dashed: the wait since the attempt before" in source
    assert "not recorded" not in source
    # From 500 to 4,500 ms: 4 ms are one unit.
    assert re.findall(r'"(pause|wait)" x="([\d.]+)" y="0" width="([\d.]+)"', source) == [
        ("wait", "0.0", "25.0"),
        ("pause", "25.0", "500.0"),
        ("wait", "525.0", "75.0"),
        ("pause", "625.0", "125.0"),
        ("wait", "750.0", "250.0"),
    ]
    # Two at once: the second does not wait for the first.
    both = [timed[0], msgspec.structs.replace(timed[2], times=Times(started=550, chunks=[20]))]
    assert 'class="pause"' not in timeline(both)


def test_a_response_without_a_body_is_on_the_time_line():
    exchange = conversation(GEMINI_TOOLS).exchanges[2]
    empty = msgspec.structs.replace(exchange, times=Times(started=3, chunks=[]))
    assert "<small>200</small>" in timeline([empty])


def test_events_have_their_times():
    times = Times(chunks=[40, 1100], events=[40, 1090, 1100])
    [shown] = conversation(GEMINI_TOOLS[2:]).exchanges
    body = GEMINI_TOOLS[2].response.body
    source = "".join(events(body, msgspec.structs.replace(shown, times=times)))
    assert re.findall("<small>(.*?)</small>", source) == ["40 ms", "1,090 ms", "1,100 ms"]
    source = "".join(events(body, msgspec.structs.replace(shown, times=Times(chunks=[40, 50]))))
    assert "<small>" not in source


@joined(
    ("chunks", "times", "expected"),
    [
        (UNSET, [40, 50, 10], [40, 90, 100]),
        (UNSET, [40, 50], []),  # of a decoded body, whose chunks are others
        ([1, 9999], [40, 50], []),  # of an edited body
        ("all but one byte, and one", [40, 50], [40, 40, 90]),
        ("a byte, and the rest", [40, 50], [90, 90, 90]),
    ],
)
def test_an_event_has_the_time_of_the_chunk_with_its_end(
    chunks: Any, times: list[int], expected: list[int]
):
    response = GEMINI_TOOLS[2].response
    length = len(body_bytes(response.body))
    lengths = {
        "all but one byte, and one": [length - 1, 1],
        "a byte, and the rest": [1, length - 1],
    }
    given = lengths.get(chunks, chunks) if isinstance(chunks, str) else chunks
    timed = msgspec.structs.replace(response, times=times, chunks=given)
    interaction = msgspec.structs.replace(GEMINI_TOOLS[2], response=timed)
    [shown] = conversation([interaction]).exchanges
    assert shown.times is not UNSET
    assert shown.times.events == expected


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first, second, out = (tmp_path / name for name in ("a.json", "b.json", "page.html"))
    first.write_text(text_of(*GEMINI_TOOLS), "utf-8")
    second.write_text(text_of(*GEMINI_TOOLS[1:]), "utf-8")
    command = ["cassette", "show", str(first), "--html", str(out), "--against", str(second)]
    assert main(command) == 0
    assert capsys.readouterr().out == ""
    text = out.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "<dt>only in</dt><dd>a.json</dd>" in text
    assert main(["cassette", "show", str(first), "--html", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
