"""Models, files, cached contents, embeddings: what is kept between requests, and what is told of
it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.testing.emulator.asks import GEMINI_25, KEY, error, get, post, said, user
from wire.testing.emulator import Emulator

START = {
    "x_goog_upload_protocol": "resumable",
    "x_goog_upload_command": "start",
    "x_goog_upload_header_content_length": "5",
    "x_goog_upload_header_content_type": "text/plain",
}
PIECE = 8 << 20


def start(emulator: Emulator, **headers: str) -> str:
    answer = post(
        emulator, "/upload/v1beta/files", {"file": {"display_name": "h"}}, **{**START, **headers}
    )
    told = dict(answer.headers)
    assert (answer.status, answer.body, told["x-goog-upload-status"]) == (200, b"", "active")
    assert told["x-goog-upload-chunk-granularity"] == str(PIECE)
    return told["x-goog-upload-url"]


def put(
    emulator: Emulator, url: str, command: str, data: bytes = b"", offset: int | None = None
) -> Any:
    place = {} if offset is None else {"x-goog-upload-offset": str(offset)}
    return emulator.answer("POST", url, {"x-goog-upload-command": command, **place}, data)


def upload(emulator: Emulator, data: bytes = b"hello", kind: str = "text/plain") -> Any:
    url = start(
        emulator,
        x_goog_upload_header_content_length=str(len(data)),
        x_goog_upload_header_content_type=kind,
    )
    return said(put(emulator, url, "upload, finalize", data, 0))["file"]


# --- models ---------------------------------------------------------------------------------------


def test_models_are_listed_page_by_page() -> None:
    emulator = Emulator()
    first = said(get(emulator, "/v1beta/models?pageSize=5"))
    rest = said(get(emulator, f"/v1beta/models?pageSize=50&pageToken={first['nextPageToken']}"))
    names = [each["name"] for each in first["models"] + rest["models"]]
    assert (len(first["models"]), "nextPageToken" in rest) == (5, False)
    assert names[0] == "models/gemini-4-carbon"
    assert len(set(names)) == len(names) == 12
    assert said(get(emulator, f"/v1beta/{names[0]}")) == first["models"][0]
    assert error(get(emulator, "/v1beta/models/nothing"))[0] == 404


def test_v1_models_is_of_whom_the_key_is() -> None:
    emulator = Emulator()
    assert said(get(emulator, "/v1/models"))["models"][0]["name"] == "models/gemini-4-carbon"
    openai = said(emulator.answer("GET", "/v1/models", {"authorization": "Bearer k"}, b""))
    assert (openai["object"], openai["data"][0]["id"]) == ("list", "gpt-6.2-astra")
    assert (
        said(emulator.answer("GET", "/v1/models/gpt-5.4", {"authorization": "Bearer k"}, b""))[
            "object"
        ]
        == "model"
    )
    google = {"authorization": "Bearer t", "x-goog-user-project": "p"}
    assert "models" in said(emulator.answer("GET", "/v1/models", google, b""))


# --- files ----------------------------------------------------------------------------------------


def test_a_file_in_one_go() -> None:
    emulator = Emulator()
    file = upload(emulator)
    assert file == {
        "name": file["name"],
        "displayName": "h",
        "mimeType": "text/plain",
        "sizeBytes": "5",
        "createTime": "2026-11-21T12:00:01.000000Z",
        "updateTime": "2026-11-21T12:00:01.000000Z",
        "expirationTime": "2026-11-23T12:00:01.000000Z",
        "sha256Hash": "MmNmMjRkYmE1ZmIwYTMwZTI2ZTgzYjJhYzViOWUyOWUxYjE2MWU1YzFmYTc0MjVlNzMwNDMzNjI5MzhiOTgyNA==",  # noqa: E501
        "uri": f"https://generativelanguage.googleapis.com/v1beta/{file['name']}",
        "state": "ACTIVE",
        "source": "UPLOADED",
    }
    assert said(get(emulator, f"/v1beta/{file['name']}")) == file
    assert said(get(emulator, "/v1beta/files")) == {"files": [file]}
    assert said(get(emulator, f"/v1beta/{file['name']}", "DELETE")) == {}
    assert said(get(emulator, "/v1beta/files")) == {}


def test_a_file_in_pieces_that_goes_on_after_a_loss() -> None:
    emulator, data = Emulator(), bytes(PIECE) + b"end"
    url = start(emulator, x_goog_upload_header_content_length=str(len(data)))
    assert dict(put(emulator, url, "upload", data[:PIECE], 0).headers)[
        "x-goog-upload-size-received"
    ] == str(PIECE)
    lost = emulator.answer(
        "POST",
        url,
        {"x-goog-upload-command": "upload, finalize", "x-wire-fault": "503"},
        data[PIECE:],
    )
    assert lost.status == 503
    asked = dict(put(emulator, url, "query").headers)
    assert (asked["x-goog-upload-status"], asked["x-goog-upload-size-received"]) == (
        "active",
        str(PIECE),
    )
    assert put(emulator, url, "upload, finalize", b"end", 7).status == 400
    answer = put(emulator, url, "upload, finalize", b"end", PIECE)
    assert dict(answer.headers)["x-goog-upload-status"] == "final"
    assert said(answer)["file"]["sizeBytes"] == str(len(data))
    assert dict(put(emulator, url, "query").headers)["x-goog-upload-status"] == "final"


def test_uploads_that_are_wrong() -> None:
    emulator = Emulator()
    url = start(emulator)
    assert (
        put(emulator, url, "upload", b"abc", 0).status == 400
    )  # no whole pieces, and not the last one
    assert put(emulator, url, "upload, finalize", b"too long", 0).status == 400
    assert put(emulator, url.replace("upload_id=", "upload_id=x"), "query").status == 404
    url = start(emulator)
    assert dict(put(emulator, url, "cancel").headers)["x-goog-upload-status"] == "cancelled"
    assert put(emulator, url, "query").status == 404
    assert (
        post(
            emulator,
            "/upload/v1beta/files",
            {},
            x_goog_upload_protocol="resumable",
            x_goog_upload_command="upload",
        ).status
        == 400
    )


def test_a_file_in_a_multipart_body() -> None:
    body = (
        b'--b\r\ncontent-type: application/json\r\n\r\n{"file": {"displayName": "m"}}\r\n'
        b"--b\r\ncontent-type: image/png\r\n\r\n\x89PNG\r\n--b--\r\n"
    )
    headers = {
        **KEY,
        "x-goog-upload-protocol": "multipart",
        "content-type": "multipart/related; boundary=b",
    }
    file = said(Emulator().answer("POST", "/upload/v1beta/files", headers, body))["file"]
    assert (file["displayName"], file["mimeType"], file["sizeBytes"]) == ("m", "image/png", "4")


def test_a_video_is_processed_first_and_cannot_be_used_until_then() -> None:
    emulator = Emulator()
    file = upload(emulator, kind="video/mp4")
    part = {"fileData": {"fileUri": file["uri"], "mimeType": "video/mp4"}}
    contents = [{"role": "user", "parts": [part, {"text": "What is it?"}]}]
    name = file["name"].removeprefix("files/")
    early = post(emulator, f"{GEMINI_25}:generateContent", {"contents": contents})
    assert error(early) == (
        400,
        "INVALID_ARGUMENT",
        f"The File {name} is not in an ACTIVE state and usage is not allowed",
    )
    assert [said(get(emulator, f"/v1beta/files/{name}"))["state"] for _ in range(3)] == [
        "PROCESSING",
        "ACTIVE",
        "ACTIVE",
    ]
    assert post(emulator, f"{GEMINI_25}:generateContent", {"contents": contents}).status == 200


def test_a_file_that_is_not_there() -> None:
    part = {
        "fileData": {
            "fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc",
            "mimeType": "image/png",
        }
    }
    answer = post(
        Emulator(),
        f"{GEMINI_25}:generateContent",
        {"contents": [{"role": "user", "parts": [part]}]},
    )
    assert error(answer) == (
        403,
        "PERMISSION_DENIED",
        "You do not have permission to access the File abc or it may not exist.",
    )
    elsewhere = {"fileData": {"fileUri": "gs://bucket/files/abc", "mimeType": "image/png"}}
    assert (
        post(
            Emulator(),
            f"{GEMINI_25}:generateContent",
            {"contents": [{"role": "user", "parts": [elsewhere]}]},
        ).status
        == 200
    )


# --- cached contents ------------------------------------------------------------------------------


def cache(emulator: Emulator, words: int = 2000, **more: Any) -> Any:
    return post(
        emulator,
        "/v1beta/cachedContents",
        {"model": "models/gemini-2.5-flash", "contents": [user("word " * words)], **more},
    )


def test_a_cached_content_lives_and_is_used() -> None:
    emulator = Emulator()
    made = said(cache(emulator, ttl="300s", display_name="c"))
    assert (made["displayName"], made["usageMetadata"]) == ("c", {"totalTokenCount": 2001})
    assert made["expireTime"] == "2026-11-21T12:05:01.000000Z"
    assert said(get(emulator, f"/v1beta/{made['name']}")) == made
    later = emulator.answer(
        "PATCH", f"/v1beta/{made['name']}?updateMask=ttl", KEY, b'{"ttl": "600s"}'
    )
    assert said(later)["expireTime"] == "2026-11-21T12:10:02.000000Z"
    assert [
        each["name"] for each in said(get(emulator, "/v1beta/cachedContents"))["cachedContents"]
    ] == [made["name"]]
    body = {"contents": [user("hi")], "cachedContent": made["name"]}
    usage = said(post(emulator, f"{GEMINI_25}:generateContent", body))["usageMetadata"]
    assert (usage["cachedContentTokenCount"], usage["promptTokenCount"]) == (2001, 2002)
    other = post(emulator, "/v1beta/models/gemini-2.5-pro:generateContent", body)
    assert error(other)[2] == "Cached content model does not match the model in the request."
    assert said(get(emulator, f"/v1beta/{made['name']}", "DELETE")) == {}
    assert error(get(emulator, f"/v1beta/{made['name']}")) == (
        403,
        "PERMISSION_DENIED",
        "CachedContent not found (or permission denied)",
    )


def test_cached_contents_of_vertex() -> None:
    emulator, place = Emulator(), "projects/p/locations/global"
    model = f"{place}/publishers/google/models/gemini-2.5-flash"
    bearer = {"authorization": "Bearer t"}
    body = {"model": model, "contents": [user("word " * 2000)]}
    made = said(post(emulator, f"/v1beta1/{place}/cachedContents", body, **bearer))
    assert (made["name"].rpartition("/")[0], made["model"]) == (f"{place}/cachedContents", model)
    used = post(
        emulator,
        f"/v1beta1/{model}:generateContent",
        {"contents": [user("hi")], "cachedContent": made["name"]},
        **bearer,
    )
    assert said(used)["usageMetadata"]["cachedContentTokenCount"] == 2001
    assert said(emulator.answer("DELETE", f"/v1beta1/{made['name']}", bearer, b"")) == {}


def test_cached_contents_that_are_wrong() -> None:
    emulator = Emulator()
    assert (
        error(cache(emulator, 10))[2]
        == "Cached content is too small. total_token_count=11, min_total_token_count=1024"
    )
    assert cache(emulator, ttl="5m").status == 400
    assert cache(emulator, ttl="5s", expireTime="2030-01-01T00:00:00Z").status == 400
    made = said(cache(emulator, expireTime="2030-01-01T00:00:00Z"))
    assert made["expireTime"] == "2030-01-01T00:00:00Z"
    patched = emulator.answer(
        "PATCH", f"/v1beta/{made['name']}?updateMask=displayName", KEY, b'{"displayName": "d"}'
    )
    assert patched.status == 400


# --- embeddings -----------------------------------------------------------------------------------

EMBEDDING = "/v1beta/models/gemini-embedding-001"


def embedding(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "models/gemini-embedding-001", "content": {"parts": [{"text": text}]}, **more}


def test_embeddings_are_the_same_every_time_and_near_for_like_texts() -> None:
    emulator = Emulator()
    one = said(post(emulator, f"{EMBEDDING}:embedContent", embedding("a cat")))["embedding"][
        "values"
    ]
    many = said(
        post(
            emulator,
            f"{EMBEDDING}:batchEmbedContents",
            {"requests": [embedding(each) for each in ("a cat", "a cat sits", "tax law")]},
        )
    )
    cat, sits, law = (each["values"] for each in many["embeddings"])
    assert (one, len(one)) == (cat, 3072)
    assert (
        sum(x * y for x, y in zip(cat, sits, strict=True))
        > 0.6
        > sum(x * y for x, y in zip(cat, law, strict=True))
    )
    assert sum(each * each for each in cat) == pytest.approx(1)
    short = post(emulator, f"{EMBEDDING}:embedContent", embedding("a", output_dimensionality=8))
    assert len(said(short)["embedding"]["values"]) == 8


def test_batches_that_are_too_large_or_of_another_model() -> None:
    emulator = Emulator()
    many = post(emulator, f"{EMBEDDING}:batchEmbedContents", {"requests": [embedding("x")] * 101})
    assert (
        error(many)[2]
        == "* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n"
    )
    assert (
        post(
            emulator,
            f"{EMBEDDING}:batchEmbedContents",
            {"requests": [{"content": {"parts": [{"text": "x"}]}}]},
        ).status
        == 400
    )
    assert post(emulator, f"{EMBEDDING}:embedContent", {"content": {}}).status == 400


def test_requests_are_listed_without_keys_and_can_be_cleared() -> None:
    emulator = Emulator()
    emulator.answer(
        "GET",
        "/v1beta/models?key=secret-1",
        {"Authorization": "Bearer secret-2", "Accept": "x"},
        b"",
    )
    listed = said(emulator.answer("GET", "/_wire/requests", {}, b""))["requests"]
    assert listed == [
        {
            "number": 1,
            "method": "GET",
            "target": "/v1beta/models?key=***",
            "headers": {"authorization": "***", "accept": "x"},
            "body": None,
            "status": 200,
        }
    ]
    assert "secret" not in json.dumps(listed)
    assert said(emulator.answer("GET", "/_wire/health", {}, b"")) == {"status": "ok", "requests": 1}
    assert said(emulator.answer("DELETE", "/_wire/requests", {}, b"")) == {}
    assert emulator.requests == []


def test_reset_forgets_everything() -> None:
    emulator = Emulator({"steps": [{"say": "once"}]})
    upload(emulator)
    cache(emulator)
    emulator.reset()
    assert (
        said(get(emulator, "/v1beta/files")) == said(get(emulator, "/v1beta/cachedContents")) == {}
    )
    assert len(emulator.requests) == 2
