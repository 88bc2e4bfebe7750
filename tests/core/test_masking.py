"""What a server repeats of a key is masked, whole, in part and encoded (R-29)."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import random
import string
import sys
from urllib.parse import quote

import msgspec
import pytest

from tests.joined import joined
from wire.core.masking import MIN_FRAGMENT, Mask
from wire.core.secret import Secret
from wire.errors import APIError, RuleError, StreamInvalid, Violation

KEY = 'fake"Key/4711\\abcdefghijklmnop+XYZ'
MASK = Mask([Secret(KEY)])


def longest(text: str, key: str = KEY) -> int:
    """The length of the longest part of the key in a text."""
    return max(
        length
        for length in range(len(key) + 1)
        if any(key[start : start + length] in text for start in range(len(key) - length + 1))
    )


@joined("begin", range(len(KEY) - MIN_FRAGMENT + 1))
@joined("before", range(8))
def test_each_fragment_of_twelve_characters_is_masked(begin: int, before: int):
    for end in range(begin + MIN_FRAGMENT, len(KEY) + 1):
        text = "." * before + KEY[begin:end] + "!"
        assert MASK.text(text) == "." * before + "***!", text


def test_a_long_text_is_masked_as_a_short_one_is():
    """Long texts use an index."""
    for before in range(2000, 2008):
        text = "-" * before + KEY[3:15] + "-" * 2000 + KEY
        assert MASK.text(text) == "-" * before + "***" + "-" * 2000 + "***"


@pytest.mark.parametrize(
    "encoded",
    [
        quote(KEY, safe=""),
        "".join(f"%{ord(letter):02x}" for letter in KEY),
        json.dumps(KEY)[1:-1],
        json.dumps(KEY)[1:-1].replace("/", "\\/"),
        "".join(f"\\u{ord(letter):04x}" for letter in KEY),
        KEY.replace('"', "&quot;"),
        "".join(f"&#{ord(letter)};" for letter in KEY),
        base64.b64encode(f"user:{KEY}".encode()).decode(),
        base64.b64encode(f"me:{KEY}".encode()).decode(),
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(f"u:{KEY}".encode()).decode(),
    ],
    ids=[
        "url", "url-all", "json", "json-slash", "json-all", "html", "html-all",
        "basic", "basic-2", "base64", "base64url",
    ],
)  # fmt: skip
def test_encoded_keys_are_masked(encoded: str):
    masked = MASK.text(f"bad key: {encoded}; try again")
    assert masked.startswith("bad key: ")
    assert masked.endswith("; try again")
    assert len(masked) < len("bad key: ; try again") + 12


def test_a_text_without_the_key_is_unchanged():
    text = "100% of it &amp; more: \\u0041 " * 50
    assert MASK.text(text) == text


def test_a_short_secret_is_masked_whole_only():
    mask = Mask([Secret("fake-1234")])
    assert mask.text("fake-1234 and fake-123") == "*** and fake-123"
    assert Mask([Secret("fake")]).text("fake") == "fake"


def test_words_of_a_header_are_masked():
    mask = Mask(
        [
            Secret.unchecked("Bearer fake-bearer-1234"),
            Secret.unchecked("Basic " + base64.b64encode(b"someone:fake-password-1").decode()),
            Secret.unchecked("session=fake-session-123; theme=fake-theme-12345"),
        ]
    )
    text = "fake-bearer-1234 fake-password-1 fake-session-123 fake-theme-12345 Bearer session="
    assert mask.text(text) == "*** *** *** *** Bearer session="


def test_random_keys_in_random_texts():
    dice = random.Random(3)
    letters = string.ascii_letters + string.digits + "-_+/="
    for _ in range(300):
        key = "".join(dice.choices(letters, k=dice.randint(12, 80)))
        pieces = []
        for _ in range(dice.randint(1, 6)):
            begin = dice.randint(0, len(key) - 12)
            pieces.append("".join(dice.choices(letters + " ", k=dice.randint(0, 40))))
            pieces.append(key[begin : dice.randint(begin + 12, len(key))])
        text = " ".join(pieces) * dice.choice([1, 1, 20])
        assert longest(Mask([Secret(key)]).text(text), key) < 12


def test_the_work_is_linear_in_the_text():
    """Counted in lines of Python, for texts that are made of parts of the key too."""

    def lines(text: str) -> int:
        count = 0

        def trace(frame: object, event: str, arg: object) -> object:
            nonlocal count
            count += event == "line"
            return trace

        sys.settrace(trace)
        try:
            MASK.text(text)
        finally:
            sys.settrace(None)
        return count

    for piece in ("x", KEY[:11] + ".", KEY[:6], KEY):
        once, more = lines(piece * 2000), lines(piece * 8000)
        assert more < 4.5 * once, piece


class Detail(msgspec.Struct, frozen=True):
    reason: str
    nested: list[dict[str, str]]


def test_all_texts_of_an_error_are_masked_and_its_body_is_not():
    error = APIError(
        f"bad {KEY}",
        code=f"bad_{KEY}",
        request_id=f"req-{KEY[:14]}",
        details=[Detail(KEY, [{"a": "b", "c": f"<{KEY}>"}]), {"deep": [[KEY], {KEY: 1}]}],
        raw=KEY.encode(),
    )
    error.add_note(f"note {KEY}")
    error.__cause__ = ValueError("malformed", [KEY])
    error.__cause__.__context__ = StreamInvalid(f"inner {KEY}")
    MASK.error(error)
    assert (str(error), error.code, error.request_id) == ("bad_***: bad ***", "bad_***", "req-***")
    assert error.details == (
        Detail("***", [{"a": "b", "c": "<***>"}]),
        {"deep": [["***"], {"***": 1}]},
    )
    assert error.__notes__ == ["note ***"]
    assert error.__cause__.args == ("malformed", ["***"])
    assert str(error.__cause__.__context__) == "inner ***"
    assert error.raw == KEY.encode()


def test_violations_are_masked():
    error = RuleError(violations=[Violation("a", f"not {KEY}", words=KEY)])
    MASK.error(error)
    assert error.violations == (Violation("a", "not ***", words="***"),)


def test_details_without_the_key_stay_the_same_objects():
    detail = Detail("a", [{"b": "c"}])
    error = APIError("x", details=[detail])
    MASK.error(error)
    assert error.details[0] is detail


def test_frames_that_read_a_body_with_the_key_are_dropped():
    def parse(body: bytes) -> None:
        raise StreamInvalid("malformed", raw=body)

    for body, kept in ((KEY.encode(), False), (b"x" * 100, True)):
        with pytest.raises(StreamInvalid) as caught:
            parse(body)
        MASK.error(caught.value)
        assert (caught.value.__traceback__ is not None) is kept


def test_a_mask_does_not_show_its_secrets():
    assert MASK.text(KEY) == "***"
    shown = [repr(MASK), repr([getattr(MASK, name) for name in dir(MASK)])]
    shown += [repr(copy.deepcopy(MASK)), repr(pickle.dumps(MASK))]
    assert not any(KEY[:12] in each for each in shown)
