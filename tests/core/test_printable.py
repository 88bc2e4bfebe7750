"""R-34: text of models and servers on a terminal and in a log."""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.core.logs import logger
from wire.core.memory import Note
from wire.core.printable import UNSAFE, printable_json, printable_line
from wire.core.terminal_text import printable
from wire.errors import Violation, one_line
from wire.neutral.messages import ToolCall
from wire.tools import format_call

VISIBLE_FORMATS = {
    chr(code)
    for code in chain(
        range(0x600, 0x606),  # numbers, and other signs that stand around what follows
        (0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD),
        range(0x13430, 0x13440),  # where Egyptian signs stand in a block
    )
}


def test_every_control_and_format_character_is_unsafe():
    unsafe = re.compile(f"[{UNSAFE}]")
    missing = [
        f"{code:x}"
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and chr(code) not in VISIBLE_FORMATS
        and not unsafe.match(chr(code))
    ]
    assert missing == []


@joined(
    ("text", "shown"),
    [
        ("a\nb\tc", "a\nb\tc"),
        ("a\r\nb", "a\nb"),
        ("a\rb\r", r"a\rb\r"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x1b]8;;http://a\x1b\\b", "\\x1b]8;;http://a\\x1b\\b"),
        ("\x9b2J\x9d52;c;YQ==\x9c", r"\x9b2J\x9d52;c;YQ==\x9c"),
        ("\b\b\x7f\0\x0b\x0c", r"\x08\x08\x7f\x00\x0b\x0c"),
        ("\u202etxt.exe\u2066a\u2069", r"\u202etxt.exe\u2066a\u2069"),
        ("a\u200bb\u2060c\ufeffd\u00ade\u3164", r"a\u200bb\u2060c\ufeffd\xade\u3164"),
        ("a\u2028b\u2029c\x85d", r"a\u2028b\u2029c\x85d"),
        ("\ud83d \udc00", r"\ud83d \udc00"),
        ("a\U000e0041\U000e007fb", r"a\U000e0041\U000e007fb"),
        ("é ü 語 العربية हिन्दी नमस्ते ไทย 한국어", "é ü 語 العربية हिन्दी नमस्ते ไทย 한국어"),
        ("👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3", "👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("🏴\U000e0067\U000e0062\U000e007f", "🏴\U000e0067\U000e0062\U000e007f"),
        ("e\u0301 葛\U000e0100", "e\u0301 葛\U000e0100"),
        (r"C:\new", r"C:\new"),
    ],
    ids=ascii,
)
def test_text_of_several_lines(text: str, shown: str):
    assert printable(text) == shown


@joined(
    ("text", "shown"),
    [
        ("a\nb\tc\r\nd\re", r"a\nb\tc\r\nd\re"),
        ("ls\r\x1b[2Krm -rf .", r"ls\r\x1b[2Krm -rf ."),
        ("👩\u200d💻 ❤\ufe0f a\u200cb", r"👩\u200d💻 ❤\ufe0f a\u200cb"),
        ("葛\U000e0100", r"葛\U000e0100"),
        ("é 語 🙂", "é 語 🙂"),
    ],
    ids=ascii,
)
def test_text_of_one_line(text: str, shown: str):
    assert printable_line(text) == shown


ANY = st.text(st.characters() | st.sampled_from("\r\n\t\x1b\x9b\u202e\u200b\ud800\ufe0f\u200d"))


@given(ANY)
def test_nothing_unsafe_is_left_and_nothing_else_is_changed(text: str):
    shown, line = printable(text), printable_line(text)
    assert re.search(f"(?![\n\t\u200c\u200d])[{UNSAFE}]", shown) is None
    assert re.search(f"[{UNSAFE}\ufe00-\ufe0f]", line) is None
    for each in (shown, line, one_line(text, 10**6)):
        each.encode()
    safe = re.sub(f"[{UNSAFE}\ufe00-\ufe0f]", "", text)
    assert (printable(safe), printable_line(safe)) == (safe, safe)


@given(st.lists(st.dictionaries(ANY, ANY | st.integers() | st.lists(ANY))))
def test_json_keeps_its_value(value: object):
    for indent in (None, 2):
        text = printable_json(json.dumps(value, ensure_ascii=False, indent=indent))
        assert json.loads(text) == value
        assert re.search(f"(?!\n)[{UNSAFE}\ufe00-\ufe0f]", text) is None


def test_a_call_in_a_question_shows_all_of_its_arguments():
    """Issue class 7: a question that a person approves."""
    long = "x" * 100_000
    call = ToolCall(name="run\x1b[8m", arguments={"command": f"echo {long}\r\n; rm -rf .\u202e"})
    assert format_call(call) == (
        'run\\x1b[8m {"command": "echo ' + long + '\\r\\n; rm -rf .\\u202e"}'
    )
    cut = ToolCall(name="run", arguments=None, text='{"command": "a\nb\x1b')
    assert format_call(cut) == 'run {"command": "a\\nb\\x1b'
    assert format_call(ToolCall(name="run", arguments={"a": "é 語 🙂"})) == 'run {"a": "é 語 🙂"}'


def test_notes_and_violations_are_one_line():
    assert str(Note("a\x1b[2J", "b\nc\u202e")) == r"a\x1b[2J: b\nc\u202e"
    assert str(Violation("a\r", "b\x9b", remedy="c\0")) == r"a\r: b\x9b (c\x00)"


def test_log_records_hold_no_control_characters(caplog: pytest.LogCaptureFixture):
    log = logger("wire.tests")
    assert logger("wire.tests").filters == log.filters
    assert len(log.filters) == 1
    with caplog.at_level(logging.INFO, "wire.tests"):
        try:
            raise ValueError("a\x1b]0;title\x07\r\nb")
        except ValueError as error:
            log.warning("the call of %s failed: %s", "run\u202e\n", error, exc_info=error)
        log.info("%d of %.1f", 3, 0.25)
    failed, counted = caplog.records
    assert failed.msg == "the call of %s failed: %s"
    assert failed.getMessage() == r"the call of run\u202e\n failed: a\x1b]0;title\x07\r\nb"
    told = logging.Formatter().format(failed)
    assert re.search("(?!\n)[\x00-\x1f\x7f-\x9f\u202e]", told) is None
    assert told.endswith("ValueError: a\\x1b]0;title\\x07\nb")
    assert counted.getMessage() == "3 of 0.2"
