"""Files: the calls, and polling until a file is ACTIVE."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from wire.core.call import Call
from wire.errors import (
    APIError,
    BadRequestError,
    ConfigurationError,
    NotFoundError,
    RuleError,
    ServerError,
    StreamInvalid,
    TotalClock,
)
from wire.gemini import (
    Empty,
    File,
    ListFilesResponse,
    create_file,
    delete_file,
    download_file,
    get_file,
    list_files,
    register_files,
    wait_for_file,
)
from wire.gemini.failures import failed
from wire.gemini.uploads import start_upload
from wire.http.target import target

from .playing import play

# --- calls ----------------------------------------------------------------------------------------


@joined(
    ("call", "line", "body"),
    [
        (get_file("abc"), "GET /files/abc", b""),
        (get_file("files/abc"), "GET /files/abc", b""),
        (list_files(), "GET /files", b""),
        (list_files(10, "t/+"), "GET /files?pageSize=10&pageToken=t%2F%2B", b""),
        (delete_file("abc"), "DELETE /files/abc", b""),
        (create_file(File(display_name="d")), "POST /files", b'{"file":{"displayName":"d"}}'),
        (register_files(["gs://a/b"]), "POST /files:register", b'{"uris":["gs://a/b"]}'),
        (download_file("abc"), "GET /files/abc:download?alt=media", b""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_calls(call: Call[Any], line: str, body: bytes):
    assert (f"{call.method} {call.target}", call.body) == (line, body)
    assert dict(call.headers) == ({"content-type": "application/json"} if body else {})


def test_paths_outside_the_version():
    found = target("gemini", {"api_key": "fake-key-4711"})
    start = start_upload(File(), size=1, mime_type="text/plain")
    assert found.url(start) == "https://generativelanguage.googleapis.com/upload/v1beta/files"
    assert (
        found.url(download_file("abc"))
        == "https://generativelanguage.googleapis.com/download/v1beta/files/abc:download?alt=media"
    )
    assert dict(found.send_headers(start, None))["x-goog-api-key"] == "fake-key-4711"


@joined(
    "name",
    [
        "",
        " ",
        None,
        5,
        "files/",
        "/abc",
        "a b",
        "files/../x",
        "models/x",
        "files/a/b",
        "a?b",
        "é",
        "files",
    ],
)
@joined("endpoint", [get_file, delete_file, download_file, wait_for_file])
def test_bad_name(endpoint: Any, name: Any):
    if name == "files":
        assert get_file(name).target == "/files/files"
        return
    with pytest.raises(ConfigurationError, match=r"^name: expected (a name such as )?files/ID"):
        endpoint(name)


def test_bad_lists():
    with pytest.raises(RuleError, match="pageSize"):
        list_files("10")  # type: ignore[arg-type]
    for uris in ("gs://a/b", None):
        with pytest.raises(RuleError, match="uris"):
            register_files(uris)  # type: ignore[arg-type]
    with pytest.raises(RuleError, match=r"uris\[0\]"):
        register_files([5])  # type: ignore[list-item]


def test_answers():
    body = (
        b'{"files":[{"name":"files/a","sizeBytes":"34","state":"NEW_STATE"}],"nextPageToken":"t"}'
    )
    assert list_files().parse(body) == ListFilesResponse(
        files=[File(name="files/a", size_bytes="34", state="NEW_STATE")], next_page_token="t"
    )
    assert delete_file("a").parse(b"{}\n") == Empty()
    assert download_file("a").parse(b"\x00\xff") == b"\x00\xff"
    with pytest.raises(NotFoundError):
        get_file("a").parse(b'{"error":{"code":404,"message":"no","status":"NOT_FOUND"}}')


@joined("name", ["get", "list", "delete", "register", "download", "upload"])
def test_vertex_has_no_files(name: str):
    vertex = target("gemini@vertex", {"api_key": "fake-key", "project": "p", "location": "eu"})
    call = {
        "get": get_file("a"),
        "list": list_files(),
        "delete": delete_file("a"),
        "register": register_files(["gs://a/b"]),
        "download": download_file("a"),
        "upload": start_upload(File(), size=1, mime_type="text/plain"),
    }[name]
    with pytest.raises(
        ConfigurationError, match=r"^gemini@vertex: call: this host has no endpoint [A-Z]+ /"
    ) as caught:
        vertex.accept(call, Call)
    assert caught.value.provider == "gemini@vertex"


# --- waiting --------------------------------------------------------------------------------------


def state(word: str | None, **more: Any) -> bytes:
    return json.dumps(
        {"name": "files/abc", **({} if word is None else {"state": word}), **more}
    ).encode()


def test_wait_until_it_is_active():
    played = play(
        wait_for_file("abc", every=2, most=10), state("PROCESSING"), state(None), state("ACTIVE")
    )
    assert played.asked == ["GET /files/abc"] * 3
    assert (played.pauses, played.answer) == ([2.0, 2.0], File(name="files/abc", state="ACTIVE"))
    assert play(wait_for_file(File(name="files/abc")), state("ACTIVE")).pauses == []


def test_waiting_has_an_end():
    played = play(wait_for_file("abc", every=2, most=5), *[state("PROCESSING")] * 4)
    assert played.pauses == [2.0, 2.0, 1.0]
    assert isinstance(played.error, TotalClock)
    assert played.error.message == "files/abc is still PROCESSING after 5 s of waiting"


def test_a_file_that_failed():
    played = play(
        wait_for_file("abc"), state("FAILED", error={"code": 3, "message": "no video in it"})
    )
    assert type(played.error) is BadRequestError
    assert str(played.error) == "400 INVALID_ARGUMENT: files/abc is FAILED: no video in it"
    assert played.error.raw == state("FAILED", error={"code": 3, "message": "no video in it"})
    played = play(wait_for_file("abc"), state("FAILED"))
    assert type(played.error) is ServerError


def test_a_state_that_nobody_knows():
    assert isinstance(play(wait_for_file("abc"), state("MELTED")).error, StreamInvalid)


def test_errors_of_asking_are_raised():
    error = NotFoundError(status=404)
    assert play(wait_for_file("abc"), error).error is error


@joined(
    "options",
    [{"every": 0}, {"every": float("nan")}, {"most": -1}, {"most": float("inf")}, {"every": "2"}],
)
def test_bad_poll_policy(options: dict[str, Any]):
    with pytest.raises(ConfigurationError, match="expected a positive number of seconds"):
        wait_for_file("abc", **options)


@joined(
    ("code", "status", "kind"),
    [
        (3, 400, BadRequestError),
        (5, 404, NotFoundError),
        (13, 500, ServerError),
        (404, 404, NotFoundError),
        (77, 500, ServerError),
    ],
)
def test_rpc_codes_are_http_statuses(code: int, status: int, kind: type[APIError]):
    from wire.gemini import Status

    error = failed(Status(code=code, message="m"), "x")
    assert (type(error), error.status, error.retryable) == (kind, status, False)
