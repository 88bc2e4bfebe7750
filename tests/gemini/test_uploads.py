"""Uploads: the calls of Google's resumable protocol, and the flow that resumes after a lost
connection.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.core.call import Call
from wire.core.exchange import Pause
from wire.core.files import open_regular
from wire.core.flow import FlowRun
from wire.core.retry import NONE, Retry
from wire.errors import (
    BadRequestError,
    ConfigurationError,
    ConnectionLost,
    RuleError,
    ServerError,
    StreamInvalid,
    WireError,
)
from wire.gemini import (
    File,
    UploadToFileSearchStoreRequest,
    upload_file,
    upload_to_file_search_store,
)
from wire.gemini.uploads import CHUNK_BYTES, send_piece, start_upload
from wire.http.target import target
from wire.neutral import data_source

from .playing import Played, play

URL = "https://upload.example/session?upload_id=fake-session&upload_protocol=resumable"
QUICK = Retry(base=0)
FILE = b'{"file":{"name":"files/abc","state":"PROCESSING","novelty":1}}'
LOST = ConnectionLost("the connection broke off", retryable=True)

# --- the calls of an upload -----------------------------------------------------------------------


def test_start_of_an_upload():
    call = start_upload(File(display_name="東京.pdf"), size=18810, mime_type="application/pdf")
    assert call.body == '{"file":{"displayName":"東京.pdf"}}'.encode()
    assert dict(call.headers) == {
        "content-type": "application/json",
        "x-goog-upload-protocol": "resumable",
        "x-goog-upload-command": "start",
        "x-goog-upload-header-content-length": "18810",
        "x-goog-upload-header-content-type": "application/pdf",
    }
    assert (call.idempotent, call.url) == (True, "")


def test_a_piece_goes_without_the_key_and_without_the_clients_headers():
    start = start_upload(File(), size=4, mime_type="text/plain")
    piece = send_piece(start, URL, b"\x00abc", offset=0, last=True)
    found = target(
        "gemini",
        {"api_key": "fake-key-4711", "headers": {"x-team": "a", "authorization": "Bearer fake"}},
    )
    assert found.url(piece) == URL
    assert not piece.idempotent
    assert dict(found.send_headers(piece, None)) == {
        "user-agent": "wire",
        "accept-encoding": "identity",
        "x-goog-upload-command": "upload, finalize",
        "x-goog-upload-offset": "0",
    }
    shown = found.preview(piece)
    assert shown.url == "https://upload.example/session?upload_id=***&upload_protocol=***"
    assert "x-goog-api-key" not in shown.headers
    assert str(piece.preview()).endswith("\n\n<4 bytes>")
    for text in (str(shown), shown.curl, repr(piece), str(piece.preview())):
        assert "fake-session" not in text
    assert target("gemini", {}).accept(piece, Call) == piece  # it needs no key


@joined(
    ("url", "problem"),
    [
        ("http://upload.example/s", "expected https for upload.example"),
        ("ftp://upload.example/s", "http"),
        ("upload.example/s", "http"),
        ("https://", "http"),
        ("https://user:pw@upload.example/s", "without user"),
        ("https://upload.example/s#f", "fragment"),
        ("https://upload.example/a b", "http"),
        ("https://upload.example/é", "http"),
        ("https://upload.example/\r\nx: y", "http"),
        ("https://[::1/s", "http"),
        ("https://upload.example:99999/s", "http"),
        ("http://127.0.0.1.evil.example/s", "expected https"),
        ("http://169.254.169.254/latest", "expected https"),
        ("", "has no URL"),
    ],
)
def test_an_upload_goes_to_https_or_to_this_machine(url: str, problem: str):
    played = play(upload_file(b"abc", mime_type="text/plain"), (b"", {"x-goog-upload-url": url}))
    assert isinstance(played.error, StreamInvalid)
    assert problem in played.error.message
    assert len(played.calls) == 1


@joined(
    "url",
    [
        "http://127.0.0.1:8080/s?x=1",
        "http://localhost/s",
        "http://[::1]/s",
        "https://other.example/s",
    ],
)
def test_urls_that_are_fine(url: str):
    played = play(
        upload_file(b"abc", mime_type="text/plain"), (b"", {"x-goog-upload-url": url}), FILE
    )
    assert played.calls[1].url == url


def test_a_url_is_in_place_of_path_and_query():
    piece = send_piece(
        start_upload(File(), size=4, mime_type="a/b"), URL, b"a", offset=0, last=True
    )
    with pytest.raises(ConfigurationError, match="expected either url, or path and query"):
        piece.replace(query={"a": "b"})


# --- uploads --------------------------------------------------------------------------------------


def begun(grain: int | None = 4) -> tuple[bytes, dict[str, str]]:
    headers = {"x-goog-upload-url": URL, "x-goog-upload-status": "active"}
    return b"", headers if grain is None else {
        **headers,
        "x-goog-upload-chunk-granularity": str(grain),
    }


def active(received: int | None = None) -> tuple[bytes, dict[str, str]]:
    return b"", {
        "x-goog-upload-status": "active",
        **({} if received is None else {"x-goog-upload-size-received": str(received)}),
    }


def final(body: bytes = FILE) -> tuple[bytes, dict[str, str]]:
    return body, {"x-goog-upload-status": "final"}


def sent(played: Played) -> list[tuple[str, str | None, bytes]]:
    """Command, offset and bytes of the calls to the upload's URL."""
    heads = [(call, dict(call.headers)) for call in played.calls if call.url]
    return [
        (str(head["x-goog-upload-command"]), head.get("x-goog-upload-offset"), call.body)  # type: ignore[misc]
        for call, head in heads
    ]


def upload(data: Any, *outcomes: Any, **options: Any) -> tuple[Played, list[tuple[int, int]]]:
    seen: list[tuple[int, int]] = []
    options = {
        "chunk": 4,
        "retry": QUICK,
        "progress": lambda *numbers: seen.append(numbers),
        **options,
    }
    return play(upload_file(data, mime_type="text/plain", **options), *outcomes), seen


def test_pieces_and_progress():
    played, seen = upload(b"0123456789", begun(), active(), active(), final())
    assert sent(played) == [
        ("upload", "0", b"0123"),
        ("upload", "4", b"4567"),
        ("upload, finalize", "8", b"89"),
    ]
    assert seen == [(4, 10), (8, 10), (10, 10)]
    assert played.answer == File(name="files/abc", state="PROCESSING")
    assert (played.pauses, played.calls[0].path_prefix + played.calls[0].target) == (
        [],
        "/upload/files",
    )


@pytest.mark.parametrize(
    ("size", "pieces"),
    [
        (0, [("upload, finalize", "0", 0)]),
        (4, [("upload, finalize", "0", 4)]),
        (5, [("upload", "0", 4), ("upload, finalize", "4", 1)]),
    ],
)
def test_sizes(size: int, pieces: list[tuple[str, str, int]]):
    played, _ = upload(b"x" * size, begun(), *[active()] * (len(pieces) - 1), final())
    assert [(command, offset, len(data)) for command, offset, data in sent(played)] == pieces
    assert played.calls[0].headers["x-goog-upload-header-content-length"] == str(size)


@joined(
    ("chunk", "grain", "size"),
    [(1, None, 256 * 1024), (300_000, None, 256 * 1024), (9, 4, 8), (3, 8, 8), (12, 4, 12)],
)
def test_a_piece_is_a_multiple_of_what_the_server_wants(chunk: int, grain: int | None, size: int):
    played, _ = upload(b"x" * (size + 1), begun(grain), active(), final(), chunk=chunk)
    assert [len(data) for _, _, data in sent(played)] == [size, 1]


def test_the_default_piece_is_eight_mebibytes():
    data = bytes(CHUNK_BYTES + 1)
    played = play(upload_file(data, mime_type="a/b"), begun(8 * 1024 * 1024), active(), final())
    assert [len(each) for _, _, each in sent(played)] == [CHUNK_BYTES, 1]
    assert CHUNK_BYTES == 8 * 1024 * 1024


def test_bytes_that_arrived_are_not_sent_again():
    """Two of four bytes arrived before the connection broke."""
    played, seen = upload(b"0123456789", begun(), active(), LOST, active(6), active(), final())
    assert sent(played) == [
        ("upload", "0", b"0123"),
        ("upload", "4", b"4567"),
        ("query", None, b""),
        ("upload", "6", b"67"),
        ("upload, finalize", "8", b"89"),
    ]
    assert seen == [(4, 10), (6, 10), (8, 10), (10, 10)]
    assert played.pauses == [0.0]


@pytest.mark.parametrize(("received", "rest"), [(4, b"4567"), (5, b"567"), (8, None)])
def test_resumed_wherever_the_server_stands(received: int, rest: bytes | None):
    more = [] if rest is None else [active()]
    played, _ = upload(b"0123456789", begun(), active(), LOST, active(received), *more, final())
    expected = [("upload, finalize", "8", b"89")]
    assert (
        sent(played)[3:] == ([] if rest is None else [("upload", str(received), rest)]) + expected
    )


def test_lost_answer_of_the_last_piece():
    played, seen = upload(b"0123456789", begun(), active(), active(), LOST, final())
    assert sent(played)[-1] == ("query", None, b"")
    assert (played.answer.name, seen[-1]) == ("files/abc", (10, 10))


def test_everything_arrived_but_the_end_was_not_heard():
    played, _ = upload(b"0123", begun(), LOST, active(4), final())
    assert sent(played) == [
        ("upload, finalize", "0", b"0123"),
        ("query", None, b""),
        ("finalize", "4", b""),
    ]
    assert played.answer.name == "files/abc"


def test_it_gives_up_after_so_many_failures_in_a_row():
    played, _ = upload(b"0123", begun(), LOST, active(0), LOST, active(0), LOST)
    assert played.error is LOST
    played, _ = upload(b"0123", begun(), LOST, retry=NONE)
    assert played.error is LOST
    # what moves on is no failure in a row
    played, _ = upload(b"0123", begun(), LOST, active(1), LOST, active(2), LOST, active(3), final())
    assert played.answer.name == "files/abc"


def test_the_server_says_how_long_to_wait():
    error = ServerError(status=503, retryable=True, retry_after=7.0)
    played, _ = upload(b"0123", begun(), error, active(0), final())
    assert played.pauses == [7.0]


def test_what_is_not_worth_another_attempt_is_raised():
    error = BadRequestError(status=400)
    assert upload(b"0123", begun(), error)[0].error is error
    assert upload(b"0123", begun(), LOST, error)[0].error is error
    assert upload(b"0123", error)[0].error is error


@joined(
    ("outcomes", "message"),
    [
        ([begun(), active()], "still active"),
        ([begun(), LOST, active(9)], "reports 9 received bytes"),
        ([begun(), LOST, active(None)], "reports None received bytes"),
        ([begun(), (b"", {"x-goog-upload-status": "cancelled"})], "the upload is cancelled"),
        ([begun(), LOST, (b"", {"x-goog-upload-status": "final"})], "its last response was lost"),
        ([begun(), final(b"{}")], "has no file"),
        ([begun(), final(b"[]")], "the upload is final"),
        (
            [
                begun(),
                (b"", {"x-goog-upload-status": "active", "x-goog-upload-size-received": "9" * 30}),
            ],
            "still active",
        ),
    ],
)
def test_a_server_that_says_odd_things(outcomes: list[Any], message: str):
    played, _ = upload(b"0123", *outcomes)
    assert isinstance(played.error, StreamInvalid)
    assert message in played.error.message


def test_an_error_in_the_body():
    played, _ = upload(
        b"0123",
        begun(),
        final(b'{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}'),
    )
    assert isinstance(played.error, BadRequestError)


def test_headers_may_be_missing_at_the_end():
    """If a relay drops the headers, the body shows that the upload is final."""
    played, _ = upload(b"0123", begun(), FILE)
    assert played.answer.name == "files/abc"


@given(
    data=st.binary(max_size=40),
    chunk=st.integers(1, 20),
    grain=st.integers(1, 6),
    fates=st.lists(st.one_of(st.none(), st.integers(0, 20), st.just("after")), max_size=12),
)
def test_whatever_is_lost_every_byte_arrives_once_and_in_order(
    data: bytes, chunk: int, grain: int, fates: list[Any]
):
    """The outcome of a chunk: it arrives, some of its bytes arrive, or it arrives and the response
    is lost.
    """
    arrived, done, seen, left = b"", False, [], list(fates)
    flow = upload_file(
        data,
        mime_type="a/b",
        chunk=chunk,
        progress=lambda *n: seen.append(n),
        retry=Retry(attempts=99, base=0),
    )
    with FlowRun(flow) as running:
        while running.step is not None:
            call = running.step
            if isinstance(call, Pause):
                running.tell(None)
                continue
            command = call.headers.get("x-goog-upload-command")
            outcome: Any = final() if done else active(len(arrived))
            if command == "start":
                outcome = begun(grain)
            elif command != "query":
                assert int(str(call.headers["x-goog-upload-offset"])) == len(arrived)
                fate = left.pop(0) if left else None
                ends = "finalize" in str(command)
                if isinstance(fate, int) and fate < len(call.body):
                    arrived, outcome = arrived + call.body[:fate], LOST
                else:
                    arrived, done = arrived + call.body, ends
                    outcome = LOST if fate is not None else final() if done else active()
            body, headers = (b"", {}) if outcome is LOST else outcome
            running.tell(LOST if outcome is LOST else call.read_headers(call.parse(body), headers))
    assert (arrived, running.answer.name) == (data, "files/abc")
    assert seen == sorted(set(seen))
    assert [whole for _, whole in seen] == [len(data)] * len(seen)
    assert not data or seen[-1] == (len(data), len(data))


# --- the data -------------------------------------------------------------------------------------


class Trickle(io.RawIOBase):
    """A file that returns two bytes per read and cannot seek."""

    def __init__(self, data: bytes) -> None:
        self.left = data

    def read(self, size: int = -1) -> bytes:
        piece, self.left = self.left[: min(size, 2)], self.left[min(size, 2) :]
        return piece


@joined(
    ("data", "size"),
    [
        (b"0123456789", None),
        (b"0123456789", 10),
        (bytearray(b"0123456789"), None),
        (memoryview(b"0123456789"), None),
        (io.BytesIO(b"0123456789"), None),
        (Trickle(b"0123456789"), 10),
    ],
    ids=["bytes", "size", "bytearray", "memoryview", "file", "trickle"],
)
def test_sources(data: Any, size: int | None):
    played, _ = upload(data, begun(), active(), LOST, active(5), active(), final(), size=size)
    assert [each for _, _, each in sent(played)] == [b"0123", b"4567", b"", b"567", b"89"]


def test_a_file_is_read_from_where_it_stands():
    file = io.BytesIO(b"head0123")
    file.seek(4)
    played, _ = upload(file, begun(), final())
    assert sent(played) == [("upload, finalize", "0", b"0123")]


def test_a_file_is_read_when_its_turn_comes():
    file = io.BytesIO(b"0123456789")
    flow = upload_file(file, mime_type="a/b", chunk=4)
    next(flow)
    assert file.tell() == 0


def test_a_file_that_became_shorter():
    played, _ = upload(Trickle(b"01234"), begun(), active(), size=10)
    assert isinstance(played.error, ConfigurationError)
    assert played.error.message == "data: the file ends after 5 of 10 bytes"


@pytest.mark.parametrize(
    ("name", "data", "mime_type"),
    [
        ("talk.mp3", b"0123456789", "audio/mpeg"),
        ("scan", b"%PDF-1.7\n0", "application/pdf"),
    ],
)
@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_gives_name_size_and_type(
    name: str, data: bytes, mime_type: str, kind: Any, tmp_path: Path
):
    path = tmp_path / name
    path.write_bytes(data)
    played = play(upload_file(kind(path), chunk=4), begun(), active(), active(), final())
    head = played.calls[0].headers
    assert played.calls[0].body == b'{"file":{"displayName":"%s"}}' % name.encode()
    assert head["x-goog-upload-header-content-length"] == "10"
    assert head["x-goog-upload-header-content-type"] == mime_type
    assert sent(played) == [
        ("upload", "0", data[:4]),
        ("upload", "4", data[4:8]),
        ("upload, finalize", "8", data[8:]),
    ]


def test_what_is_given_takes_precedence_over_the_path(tmp_path: Path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"0123")
    with pytest.raises(RuleError, match=r"^mimeType: expected a type such as application/pdf"):
        upload_file(path)
    flow = upload_file(path, mime_type="a/b", display_name="x")
    path.write_bytes(b"01")  # shorter than when the upload began
    played = play(flow, begun())
    assert played.calls[0].body == b'{"file":{"displayName":"x"}}'
    assert played.calls[0].headers["x-goog-upload-header-content-type"] == "a/b"
    assert type(played.error) is ConfigurationError
    assert played.error.message == "data: the file ends after 2 of 4 bytes"


def test_a_path_for_a_store(tmp_path: Path):
    path = tmp_path / "a.md"
    path.write_bytes(b"0123")
    played = play(upload_to_file_search_store("manuals", path), begun(), final(b'{"name":"o"}'))
    assert played.calls[0].body == b'{"displayName":"a.md","mimeType":"text/markdown"}'
    assert played.answer.name == "o"
    request = UploadToFileSearchStoreRequest(mime_type="a/b", display_name="x")
    call: Any = next(upload_to_file_search_store("manuals", path, request))
    assert call.body == b'{"displayName":"x","mimeType":"a/b"}'


def test_the_file_of_a_path_is_open_only_while_the_flow_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Also of a flow that nobody runs to its end. A file left open is a ResourceWarning."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"0123")
    opened: list[Any] = []

    def opening(*args: Any) -> Any:
        opened.append(open_regular(*args))
        return opened[-1]

    monkeypatch.setattr(data_source, "open_regular", opening)
    flow = upload_file(path)
    assert [file.closed for file in opened] == [True]
    running = FlowRun(flow)
    assert [file.closed for file in opened] == [True, False]
    with running:
        pass
    assert [file.closed for file in opened] == [True, True]


@joined(
    ("data", "options", "message"),
    [
        (5, {}, "data: expected a path, bytes or a file opened in binary mode, not int"),
        ("no-such-file.pdf", {}, "no-such-file.pdf: cannot be read: No such file"),
        (".", {}, ".: cannot be read: not a regular file"),
        (__file__, {"size": 2}, "size: the data has "),
        (None, {}, "data: "),
        (["a"], {}, "data: "),
        (Trickle(b"a"), {}, "size: required for a file that cannot seek"),
        (b"a", {"size": 2}, "size: the data has 1 bytes, not 2"),
        (b"a", {"size": -1}, "size: "),
        (b"a", {"size": "1"}, "size: "),
        (b"a", {"mime_type": ""}, "mimeType: "),
        (b"a", {"mime_type": None}, "mimeType: "),
        (b"a", {"mime_type": "a/b\r\nx: y"}, "x-goog-upload-header-content-type"),
        (b"a", {"chunk": 0}, "chunk: "),
        (b"a", {"chunk": 1.5}, "chunk: "),
        (b"a", {"name": "models/x"}, "name: expected files/ID"),
        (b"a", {"display_name": 5}, "file.displayName: "),
    ],
)
def test_bad_uploads_are_named_before_anything_is_sent(
    data: Any, options: dict[str, Any], message: str
):
    with pytest.raises(WireError) as caught:
        upload_file(data, **{"mime_type": "a/b", **options})
    assert message in caught.value.message


def test_text_files_are_refused():
    with pytest.raises(RuleError, match=r"data: .*binary mode, not StringIO"):
        upload(io.StringIO("0123"), begun())
    played, _ = upload(Texts(), begun(), size=4)
    assert isinstance(played.error, RuleError)
    assert "binary mode" in played.error.message


class Texts:
    def read(self, size: int) -> str:
        return "0" * size


def test_a_chosen_name():
    flow = upload_file(b"a", mime_type="a/b", name="my-file", display_name="My file")
    assert json.loads(next(flow).body) == {
        "file": {"name": "files/my-file", "displayName": "My file"}
    }


def test_upload_to_a_store():
    request = UploadToFileSearchStoreRequest(mime_type="text/plain", display_name="Paris")
    flow = upload_to_file_search_store("my-store", b"Paris", request, retry=QUICK)
    done = b'{"name":"fileSearchStores/my-store/upload/operations/1","response":{"sizeBytes":"5"}}'
    played = play(flow, begun(), LOST, active(0), final(done))
    assert (
        played.calls[0].preview().url == "/upload/fileSearchStores/my-store:uploadToFileSearchStore"
    )
    assert played.calls[0].body == b'{"displayName":"Paris","mimeType":"text/plain"}'
    assert (played.answer.name, played.answer.response) == (
        "fileSearchStores/my-store/upload/operations/1",
        {"sizeBytes": "5"},
    )
