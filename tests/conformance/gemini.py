"""What is to hold of a recorded exchange with Gemini."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.conformance.compare import same, spelled, written
from tests.conformance.records import Record, body_of, cut_at_random, same_bytes
from tests.conformance.result import Mismatch
from wire import errors
from wire.gemini import types
from wire.gemini.decode import decode
from wire.gemini.fold import fold
from wire.gemini.parse import ChunkReader, parse_answer, parse_error, parse_plain
from wire.memory import WireStruct

Checks = list[Callable[[Record], None]]

REQUESTS: dict[str, type[WireStruct]] = {
    "generateContent": types.GenerateContentRequest,
    "streamGenerateContent": types.GenerateContentRequest,
    "countTokens": types.CountTokensRequest,
}
ANSWERS: dict[str, type[WireStruct]] = {
    "countTokens": types.CountTokensResponse,
    "models.list": types.ListModelsResponse,
    "models.get": types.Model,
}


def scope(record: Record) -> Checks | None:
    """What is to hold of a record, `None` if its endpoint is not built yet."""
    endpoint = _endpoint(record)
    if endpoint not in REQUESTS and endpoint not in ANSWERS:
        return None
    checks: Checks = []
    if isinstance(record.get("request_body"), dict) and endpoint in REQUESTS:
        checks.append(check_request)
    if record["status"] >= 400:
        return [*checks, check_error]
    if endpoint in ANSWERS:
        return [*checks, check_plain]
    return [*checks, check_stream if endpoint == "streamGenerateContent" else check_answer]


def _endpoint(record: Record) -> str:
    """The endpoint that the body belongs to: a list of models is filed under `models.get` in places, and so are operations."""
    endpoint = str(record.get("endpoint"))
    if endpoint == "models.get":
        body = record["response_body"]
        return "models.list" if '"models"' in body else "models.get" if '"supportedGenerationMethods"' in body else "operations.get"
    return endpoint


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
    if isinstance(words, dict) and errors.one_line(str(words.get("message", ""))) not in error.message:
        raise Mismatch(f"error says {error.message!r}")


def check_plain(record: Record) -> None:
    """One struct, equal as JSON and as bytes."""
    body = body_of(record)
    answer = parse_plain(ANSWERS[_endpoint(record)], body)
    same(written(answer), json.loads(body), "answer")
    same_bytes(answer.raw, body)


def check_answer(record: Record) -> None:
    """A whole answer, equal as JSON from its typed values and unknown keys, as bytes from what it kept."""
    body = body_of(record)
    plain = json.loads(body)
    try:
        answer = parse_answer(body)
    except errors.StreamInvalid:
        if plain and not {"candidates", "promptFeedback", "usageMetadata"} & set(plain):
            return  # nothing of the wire in it, and that is said
        raise
    same(written(answer), plain, "answer")
    same_bytes(answer.raw, body)
    check_parts(answer, plain)


def check_parts(answer: types.GenerateContentResponse, plain: Any) -> None:
    """Each Content and part kept the bytes that say what it says."""
    for candidate, other in zip(answer.candidates or (), plain.get("candidates") or (), strict=True):
        if candidate.content is None:
            continue
        same(json.loads(candidate.content.raw or b"null"), other["content"], "content.raw")
        for part, one in zip(candidate.content.parts or (), other["content"].get("parts") or (), strict=True):
            same(json.loads(part.raw or b"null"), one, "part.raw")


def check_stream(record: Record) -> None:
    """Each chunk as an answer; the fold holds every part; the same whole, byte for byte as it came, and cut at random."""
    body = body_of(record)
    chunks, error = _read([body])
    again, error_again = _read(cut_at_random(body, record["id"]))
    if [chunk.raw for chunk in again] != [chunk.raw for chunk in chunks] or type(error) is not type(error_again):
        raise Mismatch("the result depends on where the bytes were cut")
    payloads = _payloads(body)
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
    """Nothing that any chunk held is lost: texts by kind, other parts in order, the last of all that repeats."""
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
            texts = ["".join(part.get("text", "") for part in each if part.get("thought") is thought) for each in (parts, pieces)]
            same(*texts, "fold texts")
        beside = [[part for part in each if set(part) - {"text", "thought"}] for each in (parts, pieces)]
        same(*beside, "fold parts")
    last = next((each["usageMetadata"] for each in reversed(plains) if each.get("usageMetadata")), None)
    if last is not None:
        same(plain.get("usageMetadata"), last, "fold usage")


def _read(pieces: list[bytes]) -> tuple[list[types.GenerateContentResponse], errors.WireError | None]:
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
        event.removeprefix(b"data:").strip() for event in events if event.startswith(b"data:") and event[5:].strip() not in (b"", b"[DONE]")
    ]
