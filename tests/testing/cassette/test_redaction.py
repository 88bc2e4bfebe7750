"""C-13: values that are replaced by a visible token, in the file and in what is compared."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.http.loopback import whole
from tests.joined import joined
from tests.testing.cassette.ways import Way, serving
from wire.errors import CassetteError, ConfigurationError
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.redaction import Redaction

PATHS = ["$.metadata.user_id", "$..email", "$.users[*].id", '$["odd key"][1]']


@pytest.mark.row("C-13")
@joined(
    ("data", "after", "used"),
    [
        (b'{"metadata": {"user_id":  "u-1" }}', b'{"metadata": {"user_id":  "[redacted]" }}', [0]),
        (b'{"metadata":{"user_id":[1,{"a":2}]}}', b'{"metadata":{"user_id":"[redacted]"}}', [0]),
        (b'{"user_id":1,"metadata":{"user":2}}', None, []),
        (b'{"a":[{"email":"x@y"},{"b":{"email":{"email":1}}}]}', b'{"a":[{"email":"[redacted]"},'
         b'{"b":{"email":"[redacted]"}}]}', [1]),
        (b'{"users":[{"id":1},{"id":2,"x":1.0}]}',
         b'{"users":[{"id":"[redacted]"},{"id":"[redacted]","x":1.0}]}', [2]),
        (b'{"odd key":[1,2,3]}', b'{"odd key":[1,"[redacted]",3]}', [3]),
        (b'{"\\u0065mail":"x","email":"y"}', b'{"\\u0065mail":"[redacted]","email":"[redacted]"}',
         [1]),
        (b'data: {"email":"x"}\n\ndata: [DONE]\n\ndata:{"email": 2}\r\n\r\n',
         b'data: {"email":"[redacted]"}\n\ndata: [DONE]\n\ndata:{"email": "[redacted]"}\r\n\r\n',
         [1]),
        (b'{"email":"x@', b'{"email":"[redacted]"', [1]),
        (b'data: {"a":1,"email":{"b":"x@', b'data: {"a":1,"email":"[redacted]"', [1]),
        (b'{"email":1}\n{"email":2}\n', b'{"email":"[redacted]"}\n{"email":"[redacted]"}\n', [1]),
        (b'\xff{"email":"x"}', None, []),
        (b'{"a":"\xff","email":"x"}', b'{"a":"\xff","email":"[redacted]"}', [1]),
        (b"", None, []),
        (b'\xef\xbb\xbf{"email":1}', b'\xef\xbb\xbf{"email":"[redacted]"}', [1]),
        (b'\xef\xbb\xbfdata: {"email":1}\n\n',
         b'\xef\xbb\xbfdata: {"email":"[redacted]"}\n\n', [1]),
        (b'data: {"email":1}\r\rdata: {"email":2}\r\r',
         b'data: {"email":"[redacted]"}\r\rdata: {"email":"[redacted]"}\r\r', [1]),
    ],
)  # fmt: skip
def test_the_bytes_around_a_value_stay(data: bytes, after: bytes | None, used: list[int]):
    redacted = Redaction(PATHS).apply(data)
    assert redacted.data == (data if after is None else after)
    assert redacted.paths == [PATHS[each] for each in used]


@pytest.mark.row("C-13")
def test_redacting_again_changes_nothing():
    redaction = Redaction(PATHS)
    once = redaction.apply(b'{"metadata":{"user_id":7},"email":[1]}')
    assert redaction.apply(once.data) == once


@pytest.mark.row("C-13")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_json_after_a_blank_and_between_events(end: str):
    stream = end.join(
        (' data: {"user": "u-81", "a": 1}', "", "{", '  "b": [{"user": "u-82"}]', "}", "",
         'data: {"user": "u-83"}', "", '[{"user": "u-84"}]')
    )  # fmt: skip
    redacted = Redaction(["$..user"]).apply(stream.encode())
    expected = re.sub(r'"u-8\d"', '"[redacted]"', stream)
    assert redacted == (expected.encode(), ["$..user"])


@pytest.mark.row("C-13")
def test_an_event_whose_json_has_several_lines_is_refused():
    data = b'data: {"a": 1,\ndata: "email": "x"}\n\n'
    with pytest.raises(CassetteError, match="an event has its JSON in several lines"):
        Redaction(PATHS).apply(data)
    assert Redaction(["$.b"]).apply(data).data == data


@pytest.mark.row("C-13")
def test_json_that_is_nested_without_end_is_refused():
    with pytest.raises(CassetteError, match="nested more than 512 levels deep"):
        Redaction(PATHS).apply(b'{"a":' * 100_000)


@pytest.mark.parametrize("path", ["metadata", "$", "$.", "$[", 7])
def test_a_path_that_is_none(way: Way, tmp_path: Path, path: Any):
    with pytest.raises(ConfigurationError, match="redact"):
        way.record(tmp_path / "x.json", redact=[path])


SENT = {"metadata": {"user_id": "u-fake-1234"}, "text": "Hi"}


def recorded(way: Way, path: Path, **options: Any) -> str:
    """Records one exchange, and returns the URL that was used."""
    stream = 'data: {"email":"me@example.com","text":"a"}\n\ndata: {"text":"b"}\n\n'
    with serving([whole(stream.encode(), kind="text/event-stream")]) as server:
        got = way.get(way.record(path, redact=PATHS, **options), server.url, json=SENT)
    assert got.body == stream.encode(), "the caller gets what was received"
    return server.url


@pytest.mark.row("C-13")
def test_in_the_file(way: Way, tmp_path: Path):
    path = tmp_path / "x.cassette.json"
    recorded(way, path)
    [interaction] = json.loads(path.read_text("utf-8"))["interactions"]
    assert interaction["request"]["redacted"] == ["$.metadata.user_id"]
    assert interaction["request"]["body"]["json"] == {
        "metadata": {"user_id": "[redacted]"},
        "text": "Hi",
    }
    assert interaction["response"]["redacted"] == ["$..email"]
    assert "u-fake-1234" not in path.read_text("utf-8")
    [loaded] = load(path.read_bytes(), str(path)).interactions
    assert body_bytes(loaded.response.body) == (
        b'data: {"email":"[redacted]","text":"a"}\n\ndata: {"text":"b"}\n\n'
    )


@pytest.mark.row("C-13")
def test_a_replay_compares_the_redacted_form(way: Way, tmp_path: Path):
    path = tmp_path / "x.cassette.json"
    url = recorded(way, path)
    other = {**SENT, "metadata": {"user_id": "another-user"}}
    assert b"[redacted]" in way.get(way.replay(path), url, json=other).body
    changed = way.get(way.replay(path), url, json={**other, "text": "Ho"})
    assert isinstance(changed.error, CassetteError)
    assert [each.path for each in changed.error.differences] == ["$.text"]
    missing = way.get(way.replay(path), url, json={"text": "Hi"})
    assert isinstance(missing.error, CassetteError)
    assert [each.path for each in missing.error.differences] == ["$.metadata"]


@pytest.mark.row("C-13")
def test_a_broken_compressed_body_is_not_written(way: Way, tmp_path: Path):
    import gzip

    path = tmp_path / "x.cassette.json"
    data = gzip.compress(b'{"email":"me@example.com","text":"' + b"x" * 500 + b'"}')[:-12]
    with serving([whole(data, content_encoding="gzip")]) as server:
        got = way.get(way.record(path, redact=PATHS), server.url, json=SENT)
    assert "so it cannot be redacted" in str(got.error)
    assert not path.exists()


def test_a_wrong_path_in_a_file():
    text = (
        '{"wire_cassette": 1, "interactions": [{"request": {"method": "POST", "url": "https://h",\n'
        '"redacted": ["user"]}, "response": {"status": 200, "end": "eof"}}]}'
    )
    with pytest.raises(CassetteError, match=r"redacted\[0\]: expected a JSON path such as"):
        load(text.encode(), "x")
