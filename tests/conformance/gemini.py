"""What is to hold of a recorded exchange with Gemini."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import httpx

from tests.conformance.compare import same, spelled, written
from tests.conformance.records import Record, body_of, cut_at_random, same_bytes
from tests.conformance.result import Mismatch
from wire import errors, gemini
from wire.core.call import Call
from wire.core.memory import WireStruct
from wire.gemini import types
from wire.gemini.batches import parse_batch
from wire.gemini.decode import decode
from wire.gemini.error_body import parse_error
from wire.gemini.fold import fold
from wire.gemini.reader import ChunkReader, parse_answer, parse_plain
from wire.gemini.uploads import start_upload
from wire.http.sending import Attempt
from wire.http.target import target

Checks = list[Callable[[Record], None]]

REQUESTS: dict[str, type[WireStruct]] = {
    "generateContent": types.GenerateContentRequest,
    "streamGenerateContent": types.GenerateContentRequest,
    "countTokens": types.CountTokensRequest,
    "embedContent": types.EmbedContentRequest,
    "batchEmbedContents": types.BatchEmbedContentsRequest,
    "cachedContents.create": types.CachedContent,
    "cachedContents.patch": types.CachedContent,
    "files.upload": types.CreateFileRequest,
    "batchGenerateContent": types.BatchGenerateContentRequest,
    "predict": types.PredictRequest,
    "predictLongRunning": types.PredictRequest,
    "computeTokens": types.ComputeTokensRequest,
    "fileSearchStores.create": types.FileSearchStore,
    "uploadToFileSearchStore": types.UploadToFileSearchStoreRequest,
}
ANSWERS: dict[str, type[WireStruct]] = {
    "countTokens": types.CountTokensResponse,
    "models.list": types.ListModelsResponse,
    "models.get": types.Model,
    "operations.get": types.Operation,
    "embedContent": types.EmbedContentResponse,
    "batchEmbedContents": types.BatchEmbedContentsResponse,
    "cachedContents.create": types.CachedContent,
    "cachedContents.get": types.CachedContent,
    "cachedContents.list": types.ListCachedContentsResponse,
    "cachedContents.patch": types.CachedContent,
    "cachedContents.delete": types.Empty,
    "files.upload": types.CreateFileResponse,
    "files.get": types.File,
    "files.list": types.ListFilesResponse,
    "files.delete": types.Empty,
    "batchGenerateContent": types.BatchOperation,
    "batches.get": types.BatchOperation,
    "predict": types.PredictResponse,
    "predictLongRunning": types.Operation,
    "computeTokens": types.ComputeTokensResponse,
    "fileSearchStores.create": types.FileSearchStore,
    "fileSearchStores.delete": types.Empty,
    "uploadToFileSearchStore": types.Operation,
}
UPLOADS = ("files.upload", "uploadToFileSearchStore")
CALLS: dict[tuple[str, str], Callable[..., Call[Any]]] = {
    ("GET", "cachedContents.get"): gemini.get_cached_content,
    ("DELETE", "cachedContents.delete"): gemini.delete_cached_content,
    ("GET", "files.get"): gemini.get_file,
    ("DELETE", "files.delete"): gemini.delete_file,
    ("GET", "batches.get"): gemini.get_batch,
    ("GET", "operations.get"): gemini.get_operation,
    ("GET", "models.get"): gemini.get_model,
}
"""Calls that are made of a name alone."""


def scope(record: Record) -> Checks | None:
    """What is to hold of a record, `None` if its endpoint is not built yet."""
    endpoint = _endpoint(record)
    if endpoint not in REQUESTS and endpoint not in ANSWERS and endpoint != "download":
        return None
    checks: Checks = []
    if isinstance(record.get("request_body"), dict) and endpoint in REQUESTS:
        checks.append(check_request)
    if (record.get("method"), endpoint) in CALLS:
        checks.append(check_url)
    if record["status"] >= 400:
        return [*checks, check_error]
    if record["status"] >= 300:
        return [*checks, check_redirect]
    if endpoint in UPLOADS:
        return [*checks, check_upload]
    if endpoint in ANSWERS:
        return [*checks, check_plain]
    return [*checks, check_stream if endpoint == "streamGenerateContent" else check_answer]


def _endpoint(record: Record) -> str:
    """The endpoint that the body belongs to: lists are filed under `get` in places, and so are
    operations.
    """
    endpoint, body = str(record.get("endpoint")), record["response_body"]
    if endpoint == "models.get":
        return (
            "models.list"
            if '"models"' in body
            else "models.get"
            if '"supportedGenerationMethods"' in body
            else "operations.get"
        )
    collection, _, verb = endpoint.partition(".")
    return (
        f"{collection}.list"
        if verb == "get" and collection in ("cachedContents", "files") and f'"{collection}"' in body
        else endpoint
    )


def check_url(record: Record) -> None:
    """The call made of the name in the URL asks that URL."""
    url = re.sub(
        "<[A-Z_]+>", "NAME", record["url"].partition("?")[0]
    )  # what was taken out of the recording
    name = re.sub(r"^https://[^/]+/v1(beta1?)?/", "", url)
    made = CALLS[record["method"], _endpoint(record)](name)
    if (made.method, made.target) != (record["method"], f"/{name}"):
        raise Mismatch(f"{made.method} {made.target} is no {record['method']} {url}")


def check_upload(record: Record) -> None:
    """What the headers say, and the body of the last answer."""
    body, headers = body_of(record), record.get("response_headers") or {}
    call = start_upload(types.File(), size=1, mime_type="text/plain")
    if _endpoint(record) == "uploadToFileSearchStore":
        call = next(
            gemini.upload_to_file_search_store(
                "a", b"b", types.UploadToFileSearchStoreRequest(mime_type="text/plain")
            )
        )
    assert call.read_headers is not None
    found = call.read_headers(call.parse(body), headers)
    granularity = headers.get("x-goog-upload-chunk-granularity")
    if found.status != headers.get("x-goog-upload-status", found.status) or found.granularity != (
        granularity and int(granularity)
    ):
        raise Mismatch(f"the headers are read as {found}")
    if (found.answer is None) is not (found.status == "active"):
        raise Mismatch(f"{found.status}, and the answer is {found.answer}")
    if found.answer is not None:
        same(written(found.answer), json.loads(body), "answer")
        same_bytes(found.answer.raw, body)


def check_request(record: Record) -> None:
    """Decoded into our types and written again: equal but for the spelling."""
    kind = REQUESTS[record["endpoint"]]
    request = decode(json.dumps(record["request_body"]).encode(), kind)
    same(spelled(written(request)), spelled(record["request_body"]), "request")


def check_error(record: Record) -> None:
    """A typed error of the status, with the server's words."""
    body = body_of(record)
    error = parse_error(record["status"], record.get("response_headers") or {}, body)
    if (error.status, error.raw) != (record["status"], body):
        raise Mismatch(f"error is {error.status}")
    try:
        found = json.loads(body)
    except ValueError:
        return  # a page of a proxy, in its own words
    words = (found[0] if isinstance(found, list) and found else found).get("error")
    if isinstance(words, dict) and error.code != words.get("status"):
        raise Mismatch(f"error is {error.code}")
    if (
        isinstance(words, dict)
        and errors.one_line(str(words.get("message", ""))) not in error.message
    ):
        raise Mismatch(f"error says {error.message!r}")


def check_redirect(record: Record) -> None:
    """Redirects are not followed; the client says so. `download_file` asks where this one leads."""
    answer = httpx.Response(record["status"], headers=record.get("response_headers") or {})
    error = Attempt(target("gemini", {}), gemini.download_file("a")).refused(
        answer, body_of(record)
    )
    if not isinstance(error, errors.APIError) or (error.status, error.raw) != (
        record["status"],
        body_of(record),
    ):
        raise Mismatch(f"error is {error!r}")


def check_plain(record: Record) -> None:
    """One struct, equal as JSON and as bytes; answers inside a batch as answers."""
    body, kind = body_of(record), ANSWERS[_endpoint(record)]
    answer = parse_batch(body) if kind is types.BatchOperation else parse_plain(kind, body)
    plain = json.loads(body)
    same(written(answer), plain, "answer")
    same_bytes(answer.raw, body)
    if isinstance(answer, types.BatchOperation) and answer.results:
        for result, one in zip(
            answer.results, plain["response"]["inlinedResponses"]["inlinedResponses"], strict=True
        ):
            if result.response is not None:
                check_parts(result.response, one["response"])


def check_answer(record: Record) -> None:
    """A whole answer, equal as JSON from its typed values and unknown keys, as bytes from what it
    kept.
    """
    body = body_of(record)
    plain = json.loads(body)
    try:
        answer = parse_answer(body)
    except errors.StreamInvalid:
        if plain and not _is_ours(body):
            return  # nothing of the wire in it, and that is said
        raise
    same(written(answer), plain, "answer")
    same_bytes(answer.raw, body)
    check_parts(answer, plain)


def check_parts(answer: types.GenerateContentResponse, plain: Any) -> None:
    """Each Content and part kept the bytes that say what it says."""
    for candidate, other in zip(
        answer.candidates or (), plain.get("candidates") or (), strict=True
    ):
        if candidate.content is None:
            continue
        same(json.loads(candidate.content.raw or b"null"), other["content"], "content.raw")
        for part, one in zip(
            candidate.content.parts or (), other["content"].get("parts") or (), strict=True
        ):
            same(json.loads(part.raw or b"null"), one, "part.raw")


def check_stream(record: Record) -> None:
    """Each chunk as an answer; the fold holds every part; the same whole, byte for byte as it came,
    and cut at random.
    """
    body = body_of(record)
    chunks, error = _read([body])
    again, error_again = _read(cut_at_random(body, record["id"]))
    if [chunk.raw for chunk in again] != [chunk.raw for chunk in chunks] or type(error) is not type(
        error_again
    ):
        raise Mismatch("the result depends on where the bytes were cut")
    payloads = _payloads(body)
    if isinstance(error, errors.StreamInvalid) and not any(map(_is_ours, payloads)):
        return  # nothing of the wire in it, and that is said
    if error is not None and not isinstance(error, errors.StreamIncomplete | errors.APIError):
        raise error
    if isinstance(error, errors.APIError):
        payloads = payloads[: len(chunks)]
    if len(chunks) != len(payloads):
        raise Mismatch(f"{len(chunks)} chunks of {len(payloads)} events")
    for index, (chunk, payload) in enumerate(zip(chunks, payloads, strict=True)):
        same(written(chunk), json.loads(payload), f"chunk {index}")
        same_bytes(chunk.raw, payload)
    if chunks:
        check_fold(chunks, [json.loads(payload) for payload in payloads])


def check_fold(chunks: list[types.GenerateContentResponse], plains: list[Any]) -> None:
    """Nothing that any chunk held is lost: texts by kind, other parts in order, the last of all
    that repeats.
    """
    whole = fold(chunks)
    plain = json.loads(whole.raw or b"null")
    same(written(whole), plain, "fold")
    for candidate in plain.get("candidates") or ():
        pieces = [
            part
            for each in plains
            for one in each.get("candidates") or ()
            if (one.get("index") or 0) == (candidate.get("index") or 0)
            for part in (one.get("content") or {}).get("parts") or ()
        ]
        parts = (candidate.get("content") or {}).get("parts") or []
        for thought in (None, False, True):
            texts = [
                "".join(part.get("text", "") for part in each if part.get("thought") is thought)
                for each in (parts, pieces)
            ]
            same(*texts, "fold texts")
        beside = [
            [part for part in each if set(part) - {"text", "thought"}] for each in (parts, pieces)
        ]
        same(*beside, "fold parts")
    last = next(
        (each["usageMetadata"] for each in reversed(plains) if each.get("usageMetadata")), None
    )
    if last is not None:
        same(plain.get("usageMetadata"), last, "fold usage")


def _read(
    pieces: list[bytes],
) -> tuple[list[types.GenerateContentResponse], errors.WireError | None]:
    reader = ChunkReader()
    chunks = [chunk for piece in pieces for chunk in reader.feed(piece)]
    chunks += reader.close()
    return chunks, reader.error


def _payloads(body: bytes) -> list[bytes]:
    """The JSON texts of a stream, found in another way than the library's."""
    if body.lstrip()[:1] in (b"[", b"{"):
        text, found, at = body.decode(), [], 0
        while (at := text.find("{", at)) >= 0:
            _, end = json.JSONDecoder().raw_decode(text, at)
            found.append(text[at:end].encode())
            at = end
        return found
    events = body.replace(b"\r\n", b"\n").split(b"\n\n")
    return [
        event.removeprefix(b"data:").strip()
        for event in events
        if event.startswith(b"data:") and event[5:].strip() not in (b"", b"[DONE]")
    ]


def _is_ours(payload: bytes) -> bool:
    """Whether a JSON object has a key of a response of this wire."""
    return bool({"candidates", "promptFeedback", "usageMetadata"} & set(json.loads(payload)))
