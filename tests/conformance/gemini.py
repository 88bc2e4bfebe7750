"""What is to hold of a recorded exchange with Gemini."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import msgspec

from tests.conformance.compare import identical, typed
from tests.conformance.neutral import (
    Expected,
    check_cut_short,
    check_events,
    check_reply,
    has_nothing,
)
from tests.conformance.records import (
    Record,
    body_of,
    cut_at_random,
    path_of,
    row_of,
    same_bytes,
)
from tests.conformance.result import APART, Mismatch
from wire import errors, gemini
from wire.core.call import Call
from wire.core.memory import WireStruct
from wire.core.provider import Provider
from wire.gemini import types
from wire.gemini.batches import parse_batch
from wire.gemini.decode import decode
from wire.gemini.error_body import parse_error
from wire.gemini.fold import fold
from wire.gemini.reader import ChunkReader, parse_plain, parse_response
from wire.gemini.uploads import start_upload
from wire.http.sending import Attempt
from wire.http.target import target
from wire.neutral.messages import Done

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
    "cancel": types.Empty,
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


def scope(record: Record, *, every: bool = False) -> Checks | None:
    """What is to hold of a record, `None` if its endpoint is not built."""
    endpoint = _endpoint(record)
    if endpoint not in REQUESTS and endpoint not in ANSWERS and endpoint != "download":
        return None
    checks: Checks = []
    if isinstance(record.get("request_body"), dict) and endpoint in REQUESTS:
        checks.append(check_request)
    elif record.get("request_body"):
        checks.append(check_opaque)
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
    if endpoint == "streamGenerateContent":
        return [*checks, functools.partial(check_stream, every=every)]
    return [*checks, check_answer]


def check_opaque(record: Record) -> None:
    """A multipart or binary request: only its answer is judged."""
    APART["multipart or binary request"] += 1


_OPERATION = re.compile(
    r"(?:.*/)?(models|files|cachedContents|batches|operations|fileSearchStores)"
    r"(?:/([^/:]+))?(?::(\w+))?"
)
_VERBS = {
    ("GET", False): "list",
    ("GET", True): "get",
    ("POST", False): "create",
    ("PATCH", True): "patch",
    ("DELETE", True): "delete",
}


def _endpoint(record: Record) -> str:
    """The operation, by method and path."""
    path = re.sub(r"^https?://[^/]+", "", path_of(record))
    found = _OPERATION.fullmatch(path)
    if found is None:
        return f"{record.get('method')} {path}"
    collection, name, verb = found.groups()
    if verb is not None:
        return verb
    if path.startswith("/upload/"):
        return f"{collection}.upload"
    return f"{collection}.{_VERBS.get((str(record.get('method')), name is not None), 'other')}"


def check_url(record: Record) -> None:
    """The call made of the name in the URL asks that URL."""
    # What was taken out of the recording stands in angle brackets.
    url = re.sub("<[A-Z_]+>", "NAME", path_of(record))
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
        typed(found.answer, json.loads(body), "answer")
        same_bytes(found.answer.raw, body)


def check_request(record: Record) -> None:
    """Decoded into our types, typed values equal; and, if the server took it, `check` refuses
    nothing of it and ours asks the same URL for the same.
    """
    endpoint, plain = _endpoint(record), record["request_body"]
    body = json.dumps(plain).encode()
    request = decode(body, REQUESTS[endpoint])
    typed(request, plain, "request", spelled=True)
    if record["status"] != 200 or record.get("fidelity") == "vendor-mock":
        return
    row = row_of(record, "gemini")
    if isinstance(row, Provider) and row.name == "gemini" and "/v1/" in record["url"]:
        row = msgspec.structs.replace(row, version="v1")
    model = str(record["model"]).removeprefix("models/")
    for found in gemini.check(body, model, row, endpoint=endpoint):
        if found.severity == "error":
            raise Mismatch(f"an accepted request is refused: {found}")
    if isinstance(request, types.GenerateContentRequest):
        make = {
            "generateContent": gemini.generate_content,
            "streamGenerateContent": gemini.stream_generate_content,
        }[endpoint]
        call = make(model, msgspec.structs.replace(request), checked=False)
        sent = decode(call.body, types.GenerateContentRequest)
        typed(sent, json.loads(call.body), "sent")
        known = msgspec.structs.replace(request)
        if sent != known:
            raise Mismatch("what is sent is not the request")
        if not path_of(record).endswith(f"/{model}:{endpoint}") or not call.target.startswith(
            f"/models/{model}:{endpoint}"
        ):
            raise Mismatch(f"{call.target} is not {record['url']}")


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
    typed(answer, plain, "answer")
    same_bytes(answer.raw, body)
    if isinstance(answer, types.BatchOperation) and answer.results:
        for result, one in zip(
            answer.results, plain["response"]["inlinedResponses"]["inlinedResponses"], strict=True
        ):
            if result.response is not None:
                check_parts(result.response, one["response"])


def check_answer(record: Record) -> None:
    """A whole answer, equal as JSON from its typed values and unknown keys, as bytes from what it
    kept; and its neutral reading.
    """
    body = body_of(record)
    try:
        answer = parse_response(body)
    except (errors.StreamInvalid, errors.StreamIncomplete):
        if has_nothing([body], is_ours):
            return
        raise
    except errors.APIError as error:
        check_error_in_success(error, body)
        return
    plain = json.loads(body or b"null")
    if not is_ours(plain):
        raise Mismatch(f"nothing is taken for an answer: {body[:80]!r}")
    typed(answer, plain, "answer")
    same_bytes(answer.raw, body)
    check_parts(answer, plain)
    check_reply(gemini.parse_reply(answer, body=_asked(record)), expected(plain, record))


def check_error_in_success(error: errors.APIError, body: bytes) -> None:
    """An error in a 200 is in the body, and says what is written there."""
    APART["error in a 200"] += 1
    if error.raw.strip() not in body:
        raise Mismatch(f"an error that nobody sent: {error!r}")
    found = json.loads(error.raw)
    found = found[0] if isinstance(found, list) else found
    if errors.one_line(found["error"]["message"]) not in error.message:
        raise Mismatch(f"error says {error.message!r}, not {found['error']['message']!r}")


def _asked(record: Record) -> bytes:
    """The body of the request; without one, one that names no server."""
    return json.dumps(record.get("request_body")).encode()


STOPS = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "SAFETY": "filter",
    "RECITATION": "filter",
    "BLOCKLIST": "filter",
    "PROHIBITED_CONTENT": "filter",
    "SPII": "filter",
    "IMAGE_SAFETY": "filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    # With `enum-encoding=int`.
    "1": "end",
    "2": "length",
    "3": "filter",
}


def expected(plain: Any, record: Record) -> Expected:
    """What the first candidate of an answer says."""
    candidate: Any = next(
        (each for each in plain.get("candidates") or () if not each.get("index")), {}
    )
    parts = _parts_of(candidate)
    found = Expected(parts=len(parts))
    texts = [part for part in parts if isinstance(part.get("text"), str)]
    found.text = "".join(part["text"] for part in texts if not part.get("thought"))
    found.thought = "".join(part["text"] for part in texts if part.get("thought"))
    in_pieces = False
    for part in parts:
        call = part.get("functionCall") or {}
        if "partialArgs" in call or call.get("willContinue"):
            in_pieces = True
        elif call.get("name"):
            entry = {"name": call["name"], "arguments": call.get("args") or {}}
            entry |= {"signature": part.get("thoughtSignature") or ""}
            found.calls.append(entry | ({"id": call["id"]} if call.get("id") else {}))
    if "mcpServers" in json.dumps(record.get("request_body")):
        found.calls = [each for each in found.calls if not _is_answered(each, parts)]
    finish = candidate.get("finishReason")
    blocked = (plain.get("promptFeedback") or {}).get("blockReason")
    said = finish if finish is not None else blocked
    found.raw = None if said is None else str(said)
    if finish is not None:
        found.message = candidate.get("finishMessage", "")
    elif blocked:
        found.message = plain["promptFeedback"].get("blockReasonMessage", "")
    if finish is not None and str(finish) not in ("STOP", "1"):
        found.token = candidate.get("continuationToken")
    found.signatures = [
        part["thoughtSignature"]
        for part in parts
        if part.get("thoughtSignature") and not _is_opaque(part)
    ]
    found.reason = (
        STOPS.get(str(finish), "other") if finish is not None else "filter" if blocked else "other"
    )
    if found.reason == "end" and found.calls:
        found.reason = "tool_calls"
    elif found.reason == "end" and in_pieces:
        found.reason = "other"
    usage = plain.get("usageMetadata")
    if usage is not None:
        reasoning = usage.get("thoughtsTokenCount") or 0
        given = (usage.get("promptTokenCount") or 0) + (usage.get("toolUsePromptTokenCount") or 0)
        output = (usage.get("candidatesTokenCount") or 0) + reasoning
        found.usage = {
            "input": given,
            "output": output,
            "cached": usage.get("cachedContentTokenCount") or 0,
            "reasoning": reasoning,
            "total": usage.get("totalTokenCount") or given + output,
        }
    return found


def _parts_of(candidate: Any) -> list[Any]:
    """The parts; content and parts of another type than the wire's are a text."""
    content = candidate.get("content") or {}
    parts = content.get("parts") or [] if isinstance(content, dict) else content
    if isinstance(parts, list):
        return parts
    text = parts if isinstance(parts, str) else json.dumps(parts, separators=(",", ":"))
    return [{"text": text}]


_UNSIGNED = {
    *("inlineData", "fileData", "executableCode", "codeExecutionResult", "functionResponse"),
    *("toolCall", "toolResponse"),
}
"""Payloads whose neutral form has no signature: their bytes keep it."""


def _is_opaque(part: Any) -> bool:
    call = part.get("functionCall") or {}
    is_piece = "partialArgs" in call or "willContinue" in call
    return is_piece or (not part.get("thought") and not _UNSIGNED.isdisjoint(part))


def _is_answered(call: Any, parts: Sequence[Any]) -> bool:
    return any(
        answer.get("name") == call["name"]
        for part in parts
        if (answer := part.get("functionResponse"))
    )


def check_parts(answer: types.GenerateContentResponse, plain: Any) -> None:
    """Each Content and part kept the bytes that say what it says."""
    for candidate, other in zip(
        answer.candidates or (), plain.get("candidates") or (), strict=True
    ):
        if candidate.content is None:
            continue
        identical(json.loads(candidate.content.raw or b"null"), other["content"], "content.raw")
        plains = other["content"].get("parts") or ()
        if candidate.content.parts is None and not isinstance(plains, list):
            continue  # parts of another type
        for part, one in zip(candidate.content.parts or (), plains, strict=True):
            identical(json.loads(part.raw or b"null"), one, "part.raw")


def check_stream(record: Record, *, every: bool = False) -> None:
    """Each chunk as an answer; the fold holds every part; the same whole, byte for byte as it came,
    and cut at random; cut shorter it is incomplete.
    """
    body = body_of(record)
    chunks, error = _read([body])
    again, error_again = _read(cut_at_random(body, record["id"]))
    if [chunk.raw for chunk in again] != [chunk.raw for chunk in chunks] or type(error) is not type(
        error_again
    ):
        raise Mismatch("the result depends on where the bytes were cut")
    payloads = _payloads(body)
    if isinstance(error, errors.StreamError) and has_nothing(payloads, is_ours):
        return
    if error is not None and not isinstance(error, errors.StreamIncomplete | errors.APIError):
        raise error
    if isinstance(error, errors.APIError):
        check_error_in_success(error, body)
        payloads = payloads[: len(chunks)]
    plains = [json.loads(payload) for payload in payloads]
    if not isinstance(error, errors.APIError) and (error is None) is not is_whole(plains):
        raise Mismatch(f"whole is {is_whole(plains)}, and the error {error!r}")
    if len(chunks) != len(payloads):
        raise Mismatch(f"{len(chunks)} chunks of {len(payloads)} events")
    for index, (chunk, plain, payload) in enumerate(zip(chunks, plains, payloads, strict=True)):
        typed(chunk, plain, f"chunk {index}", is_chunk=True)
        same_bytes(chunk.raw, payload)
    if chunks:
        check_fold(chunks, plains, error, record)
    if error is None:
        check_cut_short(
            record,
            body,
            payloads,
            every=every,
            read=_read,
            is_whole=is_whole,
            fold=fold,
            reply_of=functools.partial(gemini.parse_reply, body=_asked(record)),
            text_of=lambda plains: expected(folded(plains), record).text,
        )


def is_whole(plains: Sequence[Any]) -> bool:
    """Whether chunks are a whole answer: each candidate has a finish, or the prompt was blocked."""
    if any((plain.get("promptFeedback") or {}).get("blockReason") for plain in plains):
        return True
    candidates = [each for plain in plains for each in plain.get("candidates") or ()]
    begun = {each.get("index") or 0 for each in candidates}
    ended = {each.get("index") or 0 for each in candidates if each.get("finishReason") is not None}
    return bool(begun) and begun == ended


def check_fold(
    chunks: Sequence[types.GenerateContentResponse],
    plains: Sequence[Any],
    error: errors.WireError | None,
    record: Record,
) -> None:
    """The fold is what the chunks make in another way than the library's, and the events come to
    its reply.
    """
    whole = fold(chunks)
    plain = json.loads(whole.raw or b"null")
    typed(whole, plain, "fold")
    identical(plain, folded(plains), "fold")
    check_parts(whole, plain)
    if error is not None:
        return
    reply = gemini.parse_reply(whole, body=_asked(record))
    check_reply(reply, expected(plain, record))
    reading = gemini.EventReader(body=_asked(record))
    events = [event for chunk in chunks for event in reading.feed(chunk)]
    try:
        events += reading.close(reply)
    except errors.BlockedError:
        if reply.stop.reason != "filter" or not reply.empty:
            raise
        events.append(Done(reply))
    check_events(events, reply)


def folded(plains: Sequence[Any]) -> Any:
    """The chunks as one answer: parts in order, neighbouring plain texts of one kind joined, of all
    else the last value that says something.
    """
    whole = _last(plains)
    whole.pop("candidates", None)
    indices = sorted(
        {each.get("index") or 0 for plain in plains for each in plain.get("candidates") or ()}
    )
    if indices:
        whole["candidates"] = []
    for index in indices:
        pieces = [
            each
            for plain in plains
            for each in plain.get("candidates") or ()
            if (each.get("index") or 0) == index
        ]
        candidate = _last(pieces)
        contents = [each["content"] for each in pieces if each.get("content")]
        if contents:
            candidate["content"] = _last(contents)
            parts = [part for content in contents for part in content.get("parts") or ()]
            if parts:
                candidate["content"]["parts"] = _joined(parts)
        whole["candidates"].append(candidate)
    return whole


def _last(objects: Sequence[Any]) -> Any:
    whole: dict[str, Any] = {}
    for each in objects:
        whole |= {
            key: value
            for key, value in each.items()
            if key not in whole or (value is not None and value != {})
        }
    return whole


def _joined(parts: Sequence[Any]) -> list[Any]:
    joined: list[Any] = []
    for part in parts:
        last = joined[-1] if joined else {}
        if (
            "text" in part
            and "text" in last
            and not {*part, *last} - {"text", "thought"}
            and part.get("thought") == last.get("thought")
        ):
            joined[-1] = {**last, "text": last["text"] + part["text"]}
        else:
            joined.append(part)
    return joined


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


def is_ours(plain: Any) -> bool:
    """Whether it has what a response of this wire has."""
    kinds = {"candidates": list, "promptFeedback": dict, "usageMetadata": dict}
    return isinstance(plain, dict) and any(
        isinstance(plain.get(key), kind) for key, kind in kinds.items()
    )
