"""Batches, file search stores, predict, and files: what is stored, and asked for later."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from wire import Client, anthropic, errors, gemini
from wire.testing.emulator import Answer, Emulator, EmulatorTransport

MODEL = "gemini-3.8-flash"
TEXT = "This is an emulator, and no model. You said: "


@pytest.fixture
def client() -> Iterator[Client]:
    with Client("gemini", api_key="fake", http=EmulatorTransport()) as made:
        yield made


def request(text: str, **fields: Any) -> gemini.GenerateContentRequest:
    return gemini.GenerateContentRequest(contents=gemini.contents(text), **fields)


# --- batches of Gemini ----------------------------------------------------------------------------


def test_a_batch_of_gemini_runs_and_ends(client: Client) -> None:
    made = client.send(gemini.create_batch(MODEL, [request("a"), request("b")], display_name="x"))
    assert made.metadata is not None
    assert (made.metadata.state, made.done) == ("BATCH_STATE_PENDING", None)
    assert made.metadata.batch_stats is not None
    assert made.metadata.batch_stats.request_count == "2"
    name = made.name or ""
    running = client.send(gemini.get_batch(name))
    assert running.metadata is not None
    assert (running.metadata.state, running.results) == ("BATCH_STATE_RUNNING", [])
    ended = client.send(gemini.get_batch(name))
    assert ended.done
    texts = [each.response.text for each in ended.results if each.response is not None]
    assert texts == [f"{TEXT}a", f"{TEXT}b"]
    listed = client.send(gemini.list_batches()).operations or []
    assert [each.name for each in listed] == [name]
    client.send(gemini.delete_batch(name))
    with pytest.raises(errors.NotFoundError):
        client.send(gemini.get_batch(name))


def test_a_request_of_a_batch_gets_the_step_of_the_script_and_refusals() -> None:
    emulator = Emulator([{"match": {"text": "a"}, "say": "Scripted."}])
    metadata = [{"key": {"n": "0"}}, {"key": {"n": "1"}}]
    items = [
        gemini.InlinedRequest(request=each, metadata=data)
        for each, data in zip([request("a"), request("c")], metadata, strict=True)
    ]
    batch = gemini.create_batch(MODEL, items)
    with Client("gemini", api_key="fake", http=EmulatorTransport(emulator)) as client:
        name = client.send(batch).name or ""
        client.send(gemini.get_batch(name))
        results = client.send(gemini.get_batch(name)).results
    assert [each.response and each.response.text for each in results] == ["Scripted.", f"{TEXT}c"]
    assert [each.metadata for each in results] == metadata
    assert len(emulator.requests) == 3  # those of the batch are no requests of the client
    requests = [{"request": {"contents": []}}]
    body = {"batch": {"inputConfig": {"requests": {"requests": requests}}}}
    key = {"x-goog-api-key": "k"}
    target = f"/v1beta/models/{MODEL}:batchGenerateContent"
    made = emulator.answer("POST", target, key, json.dumps(body).encode())
    path = f"/v1beta/{json.loads(made.body)['name']}"
    emulator.answer("GET", path, key, b"")
    response = json.loads(emulator.answer("GET", path, key, b"").body)["response"]
    (result,) = response["inlinedResponses"]["inlinedResponses"]
    assert result["error"]["code"] == 3
    assert "contents is not specified" in result["error"]["message"]


def test_a_batch_in_a_file_has_its_results_in_a_file(client: Client) -> None:
    lines = gemini.batch_lines({"k1": request("a"), "k2": request("b")})
    file = client.run(gemini.upload_file(lines, mime_type="application/jsonl"))
    name = client.send(gemini.create_batch(MODEL, file.name or "")).name or ""
    client.send(gemini.get_batch(name))
    ended = client.send(gemini.get_batch(name))
    assert ended.response is not None
    assert ended.results == []
    results = gemini.batch_results(
        client.send(gemini.download_file(ended.response.responses_file or ""))
    )
    assert [(each.key, each.response and each.response.text) for each in results] == [
        ("k1", f"{TEXT}a"),
        ("k2", f"{TEXT}b"),
    ]
    with pytest.raises(errors.BadRequestError, match="Only generated files"):
        client.send(gemini.download_file(file.name or ""))


def test_a_cancelled_batch_and_a_batch_of_embeddings(client: Client) -> None:
    name = client.send(gemini.create_batch(MODEL, [request("a")])).name or ""
    with pytest.raises(errors.BadRequestError, match="ended"):
        client.send(gemini.delete_batch(name))
    client.send(gemini.cancel_batch(name))
    cancelled = client.send(gemini.get_batch(name))
    assert cancelled.metadata is not None
    assert cancelled.metadata.state == "BATCH_STATE_CANCELLED"
    assert cancelled.error is not None
    wanted = gemini.EmbedContentBatch(
        input_config=gemini.InputEmbedContentConfig(
            requests=gemini.InlinedEmbedContentRequests(
                requests=[
                    gemini.InlinedEmbedContentRequest(
                        request=gemini.EmbedContentRequest(
                            content=gemini.Content(parts=[gemini.Part(text="hi")])
                        )
                    )
                ]
            )
        )
    )
    made = client.send(gemini.create_embed_batch("gemini-embedding-001", wanted))
    client.send(gemini.get_embed_batch(made.name or ""))
    ended = client.send(gemini.get_embed_batch(made.name or ""))
    assert ended.response is not None
    assert ended.response.inlined_responses is not None
    (result,) = ended.response.inlined_responses.inlined_responses or []
    assert result.response is not None
    assert result.response.embedding is not None
    assert len(result.response.embedding.values or []) == 3072
    with pytest.raises(errors.NotFoundError):
        client.send(gemini.create_batch("gemini-embedding-001", [request("a")]))


# --- stores and predict ---------------------------------------------------------------------------


def test_a_store_and_its_documents(client: Client) -> None:
    store = client.send(gemini.create_file_search_store(gemini.FileSearchStore(display_name="A b")))
    name = store.name or ""
    assert name.startswith("fileSearchStores/ab-")
    operation = client.run(
        gemini.upload_to_file_search_store(
            name,
            b"Paris is in France.",
            gemini.UploadToFileSearchStoreRequest(mime_type="text/plain", display_name="p.txt"),
        )
    )
    assert operation.response is not None
    document = operation.response["documentName"]
    assert client.send(gemini.get_document(document)).size_bytes == "19"
    assert client.send(gemini.get_operation(operation.name or "")).done is None
    assert client.send(gemini.get_operation(operation.name or "")).done
    file = client.run(gemini.upload_file(b"x", mime_type="text/plain"))
    client.send(gemini.import_file(name, gemini.ImportFileRequest(file_name=file.name)))
    documents = client.send(gemini.list_documents(name)).documents or []
    assert [each.state for each in documents] == ["STATE_ACTIVE", "STATE_ACTIVE"]
    assert client.send(gemini.get_file_search_store(name)).active_documents_count == "2"
    client.send(gemini.delete_document(document, force=True))
    with pytest.raises(errors.BadRequestError, match="non-empty"):
        client.send(gemini.delete_file_search_store(name))
    client.send(gemini.delete_file_search_store(name, force=True))
    assert client.send(gemini.list_file_search_stores()).file_search_stores is None
    with pytest.raises(errors.NotFoundError):
        client.send(gemini.get_document(document))


def test_predict_draws_films_and_embeds(client: Client) -> None:
    drawn = client.send(
        gemini.predict(
            "imagen-4.0-generate-001",
            gemini.PredictRequest(instances=[{"prompt": "a cat"}], parameters={"sampleCount": 2}),
        )
    )
    images = [base64.b64decode(each["bytesBase64Encoded"]) for each in drawn.predictions or ()]
    assert [image[:8] for image in images] == [b"\x89PNG\r\n\x1a\n"] * 2
    job = client.send(
        gemini.predict_long_running(
            "veo-3.1-lite-generate-preview", gemini.PredictRequest(instances=[{"prompt": "a cat"}])
        )
    )
    assert client.send(gemini.get_operation(job.name or "")).response is None
    done = client.send(gemini.get_operation(job.name or ""))
    assert done.response is not None
    uri = done.response["generateVideoResponse"]["generatedSamples"][0]["video"]["uri"]
    assert client.send(gemini.download_file(uri.partition("/v1beta/")[2].partition(":")[0]))
    with pytest.raises(errors.NotFoundError):
        client.send(gemini.predict(MODEL, gemini.PredictRequest(instances=[{"prompt": "x"}])))


def test_vertex_predicts_and_counts_tokens() -> None:
    vertex = {"project": "p", "location": "us-central1"}
    with Client(
        "gemini@vertex", token=lambda: "fake", http=EmulatorTransport(), **vertex
    ) as client:
        wanted = gemini.PredictRequest(instances=[{"content": "Hello world"}])
        (vector,) = client.send(gemini.predict("text-embedding-005", wanted)).predictions or []
        assert len(vector["embeddings"]["values"]) == 768
        counted = client.send(gemini.compute_tokens(MODEL, gemini.contents("Hello world")))
        (info,) = counted.tokens_info or []
        assert [base64.b64decode(each) for each in info.tokens or ()] == [
            b"Hell",
            b"o",
            b" worl",
            b"d",
        ]


# --- Messages -------------------------------------------------------------------------------------


def message(text: str, **fields: Any) -> anthropic.MessageRequest:
    return anthropic.MessageRequest(
        model="claude-sonnet-5",
        max_tokens=100,
        messages=[anthropic.Message(role="user", content=text)],
        **fields,
    )


def test_a_batch_of_messages_runs_and_ends() -> None:
    emulator = Emulator([{"match": {"text": "b"}, "fault": "529"}])
    with Client("anthropic", api_key="fake", http=EmulatorTransport(emulator)) as client:
        items = [
            anthropic.BatchRequest(custom_id=each, params=message(each)) for each in ("a", "b")
        ]
        made = client.send(anthropic.create_batch(items))
        assert made.id.startswith("msgbatch_01")
        assert made.processing_status == "in_progress"
        with pytest.raises(errors.NotFoundError, match="has no available results"):
            client.send(anthropic.batch_results(made.id))
        with pytest.raises(errors.BadRequestError, match="in progress"):
            client.send(anthropic.delete_batch(made.id))
        assert client.send(anthropic.get_batch(made.id)).processing_status == "in_progress"
        ended = client.send(anthropic.get_batch(made.id))
        assert ended.request_counts is not None
        counts = ended.request_counts
        assert (ended.processing_status, counts.succeeded, counts.errored) == ("ended", 1, 1)
        first, second = client.send(anthropic.batch_results(made.id))
        assert first.result.message is not None
        assert (first.custom_id, first.result.message.text) == ("a", f"{TEXT}a")
        assert (second.custom_id, second.result.type) == ("b", "errored")
        listed = client.send(anthropic.list_batches()).data
        assert [each.id for each in listed or ()] == [made.id]
        assert client.send(anthropic.delete_batch(made.id)).id == made.id
        with pytest.raises(errors.NotFoundError):
            client.send(anthropic.get_batch(made.id))


def test_a_cancelled_batch_of_messages() -> None:
    with Client("anthropic", api_key="fake", http=EmulatorTransport()) as client:
        item = anthropic.BatchRequest(custom_id="a", params=message("a"))
        made = client.send(anthropic.create_batch([item]))
        assert client.send(anthropic.cancel_batch(made.id)).processing_status == "canceling"
        assert client.send(anthropic.get_batch(made.id)).processing_status == "ended"
        (result,) = client.send(anthropic.batch_results(made.id))
        assert result.result.type == "canceled"


KEYS = {
    "anthropic": {"x-api-key": "fake", "anthropic-version": "2023-06-01"},
    "openai": {"authorization": "Bearer fake"},
}


def ask(emulator: Emulator, vendor: str, method: str, path: str, body: bytes = b"") -> Answer:
    headers = KEYS[vendor] | {"content-type": "multipart/form-data; boundary=b"}
    return emulator.answer(method, path, headers, body)


def form(**fields: str) -> bytes:
    """A form whose field `file` is a PDF."""
    lines = []
    for name, value in fields.items():
        file = '; filename="a.pdf"\r\nContent-Type: application/pdf' if name == "file" else ""
        lines.append(f'--b\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n{value}')
    return "\r\n".join([*lines, "--b--", ""]).encode()


def test_a_batch_of_messages_is_checked() -> None:
    emulator = Emulator()
    for body, wanted in (
        (b"{", "not valid JSON"),
        (b"{}", "requests: Field required"),
        (b'{"requests": []}', "at least 1 item"),
        (b'{"requests": [{"custom_id": "a b", "params": {}}]}', "requests.0.custom_id: String"),
        (b'{"requests": [{"custom_id": "a"}]}', "requests.0.params: Field required"),
    ):
        answer = ask(emulator, "anthropic", "POST", "/v1/messages/batches", body)
        assert answer.status == 400
        assert wanted in json.loads(answer.body)["error"]["message"]


# --- files ----------------------------------------------------------------------------------------


def test_files_of_anthropic() -> None:
    emulator = Emulator()
    made = json.loads(ask(emulator, "anthropic", "POST", "/v1/files", form(file="%PDF-1.4")).body)
    assert made.pop("id").startswith("file_01")
    assert made == {
        "type": "file",
        "size_bytes": 8,
        "created_at": "2026-11-21T12:00:01.000000Z",
        "filename": "a.pdf",
        "mime_type": "application/pdf",
        "downloadable": False,
    }
    page = json.loads(ask(emulator, "anthropic", "GET", "/v1/files").body)
    path = f"/v1/files/{page['first_id']}"
    assert json.loads(ask(emulator, "anthropic", "GET", path).body)["filename"] == "a.pdf"
    assert ask(emulator, "anthropic", "GET", f"{path}/content").status == 400
    gone = json.loads(ask(emulator, "anthropic", "DELETE", path).body)
    assert gone == {"id": page["first_id"], "type": "file_deleted"}
    assert ask(emulator, "anthropic", "GET", path).status == 404
    assert ask(emulator, "anthropic", "POST", "/v1/files", form(other="x")).status == 400


def test_files_of_openai() -> None:
    emulator = Emulator()
    sent = form(purpose="batch", file="{}")
    made = json.loads(ask(emulator, "openai", "POST", "/v1/files", sent).body)
    assert made | {"object": "file", "purpose": "batch", "bytes": 2, "status": "processed"} == made
    path = f"/v1/files/{made['id']}"
    assert ask(emulator, "openai", "GET", f"{path}/content").body == b"{}"
    assert json.loads(ask(emulator, "openai", "GET", "/v1/files").body)["data"] == [made]
    gone = json.loads(ask(emulator, "openai", "DELETE", path).body)
    assert gone == {"object": "file", "deleted": True, "id": made["id"]}
    assert ask(emulator, "openai", "GET", path).status == 404
    for bad in (form(purpose="batch"), form(file="x"), form(purpose="fun", file="x")):
        assert ask(emulator, "openai", "POST", "/v1/files", bad).status == 400
