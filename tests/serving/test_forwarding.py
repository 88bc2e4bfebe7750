"""Files and batches through the gateway: a backend of the client's own API has them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.joined import joined
from tests.serving.running import MODELS, backend, gateway, message_of, posted
from wire import Client, anthropic, gemini, openai
from wire.errors import AccessDeniedError, NotFoundError
from wire.gateway import Gateway, GatewayServer, serve
from wire.testing.emulator import Emulator

KEY = "the-key-of-the-gateway"
VERSION = {"anthropic-version": "2023-06-01"}
OWN_KEYS = {"x-goog-api-key": KEY}


def client(server: GatewayServer, provider: str, key: str = KEY) -> Client:
    """A client of a vendor's API that talks to the gateway."""
    url = server.url + ("/v1" if provider == "openai" else "")
    return Client(provider, base_url=url, api_key=key, retry=None)


def raw(
    server: GatewayServer, method: str, path: str, headers: dict[str, str], **more: Any
) -> httpx.Response:
    """The response to a raw request."""
    with httpx.Client(verify=False, trust_env=False, timeout=30) as http:
        return http.request(method, server.url + path, headers=headers, **more)


def sent(emulator: Emulator) -> list[tuple[str, str]]:
    """The requests of a backend, and that none has the key of the gateway."""
    assert KEY not in str(emulator.requests)
    return [(each["method"], each["target"]) for each in emulator.requests]


def test_files_of_gemini() -> None:
    emulator = Emulator()
    with gateway("gemini", emulator, key=KEY) as server, client(server, "gemini") as http:
        upload = gemini.upload_file(b"The tide.", mime_type="text/plain", display_name="tide")
        file = http.run(upload)
        assert (file.display_name, file.size_bytes, file.state) == ("tide", "9", "ACTIVE")
        assert file.name is not None
        assert http.send(gemini.get_file(file.name)) == file
        assert http.send(gemini.list_files(page_size=2)).files == [file]
        request = {"parts": [{"fileData": {"fileUri": file.uri, "mimeType": "text/plain"}}]}
        assert posted(server, "gemini", {"contents": [request]}, OWN_KEYS).status_code == 200
        assert emulator.requests[-1]["body"]["contents"][0]["parts"] == request["parts"]
        http.send(gemini.delete_file(file.name))
        with pytest.raises(AccessDeniedError) as error:
            http.send(gemini.get_file(file.name))
        text = f"You do not have permission to access the File {file.name[6:]} or it may not exist."
        assert (error.value.status, error.value.message) == (403, text)
        gone = posted(server, "gemini", {"contents": [request]}, OWN_KEYS)
        assert (gone.status_code, message_of("gemini", gone)) == (403, text)
    address = f"/v1beta/{file.name}"
    assert sent(emulator) == [
        ("POST", "/upload/v1beta/files"),
        ("POST", "/upload/v1beta/files?upload_id=***&upload_protocol=resumable"),
        ("GET", address),
        ("GET", "/v1beta/files?pageSize=2"),
        ("POST", "/v1beta/models/gemini-3.8-flash:generateContent"),
        ("DELETE", address),
        ("GET", address),
        ("POST", "/v1beta/models/gemini-3.8-flash:generateContent"),
    ]


def test_an_upload_goes_on_at_an_address_of_the_gateway() -> None:
    start = {
        "x-goog-upload-protocol": "resumable",
        "x-goog-upload-command": "start",
        "x-goog-upload-header-content-length": "4",
        "x-goog-upload-header-content-type": "text/plain",
    }
    last = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0"}
    with gateway("gemini", key=KEY) as server:
        begun = raw(server, "POST", "/upload/v1beta/files", {**start, **OWN_KEYS})
        assert begun.headers["x-goog-upload-status"] == "active"
        assert begun.headers["x-goog-upload-chunk-granularity"] == str(8 << 20)
        url = begun.headers["x-goog-upload-url"]
        path, _, query = url.removeprefix(server.url).partition("?")
        assert path == "/upload/v1beta/files"
        for other in (f"/v1beta/files?{query}", f"{path}?upload_id=other", f"{path}?upload_id="):
            assert raw(server, "POST", other, last, content=b"high").status_code == 401
        asked = raw(server, "POST", f"{path}?{query}", {"x-goog-upload-command": "query"})
        assert asked.headers["x-goog-upload-size-received"] == "0"
        done = raw(server, "POST", f"{path}?{query}", last, content=b"high")  # without a key
        assert done.headers["x-goog-upload-status"] == "final"
        assert done.json()["file"]["sizeBytes"] == "4"


def test_keys_in_the_query_are_not_passed_on() -> None:
    emulator = Emulator()
    with gateway("gemini", emulator, key=KEY) as server:
        path = f"/v1beta/files?key={KEY}&pageSize=2&a=1&a=2&empty="
        assert raw(server, "GET", path, {}).json() == {}
    assert sent(emulator) == [("GET", "/v1beta/files?pageSize=2&a=1&a=2&empty=")]


def test_batches_of_gemini() -> None:
    emulator = Emulator()
    with gateway("gemini", emulator, key=KEY) as server, client(server, "gemini") as http:
        requests = [gemini.GenerateContentRequest(contents=gemini.contents("High tide?"))]
        batch = http.send(gemini.create_batch("gemini-3.8-flash", requests))
        assert batch.name is not None
        done = http.run(gemini.wait_for_batch(batch.name, every=0.01))
        [result] = done.results
        assert result.response is not None
        assert result.response.text.endswith("You said: High tide?")
        assert len(http.send(gemini.list_batches()).operations or ()) == 1
        http.send(gemini.delete_batch(batch.name))
    assert sent(emulator)[0] == ("POST", "/v1beta/models/gemini-3.8-flash:batchGenerateContent")


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_files_and_batches_of_openai(api: str) -> None:
    emulator = Emulator()
    body = {"model": "gpt-5.4", "messages": [{"role": "user", "content": "High tide?"}]}
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body}
    with gateway(api, emulator, key=KEY) as server, client(server, "openai") as http:
        data = json.dumps(line).encode() + b"\n"
        file = http.send(openai.upload_file(data, purpose="batch", filename="in.jsonl"))
        assert (file.filename, file.bytes, file.purpose) == ("in.jsonl", len(data), "batch")
        assert file.id is not None
        assert http.send(openai.download_file(file.id)) == data
        batch = http.send(openai.create_batch(file.id, endpoint="/v1/chat/completions"))
        assert batch.id is not None
        done = http.run(openai.wait_for_batch(batch.id, every=0.01))
        assert done.output_file_id is not None
        [result] = http.send(openai.download_file(done.output_file_id)).splitlines()
        assert (
            "High tide?"
            in json.loads(result)["response"]["body"]["choices"][0]["message"]["content"]
        )
        headers = {"authorization": f"Bearer {KEY}"}
        assert raw(server, "GET", "/files", headers).json()["data"][0]["id"] == done.output_file_id
        listed = raw(server, "GET", "/v1/files?purpose=batch", headers)
        assert [each["id"] for each in listed.json()["data"]] == [file.id]
        assert listed.headers["x-request-id"].startswith("req_")
        missing = raw(server, "GET", "/v1/files/file-0", headers)
        assert (missing.status_code, missing.json()["error"]["param"]) == (404, "id")
        with pytest.raises(NotFoundError):
            http.send(openai.get_batch("batch_0"))
    assert ("GET", "/v1/files?purpose=batch") in sent(emulator)


def test_files_and_batches_of_anthropic() -> None:
    emulator = Emulator()
    with gateway("anthropic", emulator, key=KEY) as server, client(server, "anthropic") as http:
        file = http.send(anthropic.upload_file(b"%PDF-1.7", filename="a.pdf"))
        assert file.id is not None
        assert http.send(anthropic.get_file(file.id)) == file
        asked = {"role": "user", "content": "High tide?"}
        params = {"model": "claude-sonnet-5", "max_tokens": 500, "messages": [asked]}
        body = {"requests": [{"custom_id": "a", "params": params}]}
        batches = "/v1/messages/batches"
        batch = posted(
            server,
            "anthropic",
            path=batches,
            content=json.dumps(body).encode(),
            headers={"x-api-key": KEY},
        ).json()
        for _ in range(3):
            done = http.send(anthropic.get_batch(batch["id"]))
        assert done.results_url == f"{server.url}{batches}/{batch['id']}/results"
        path = done.results_url.removeprefix(server.url)
        results = raw(server, "GET", path, {"x-api-key": KEY})
        assert json.loads(results.text)["result"]["message"]["content"][-1]["text"].endswith(
            "tide?"
        )
        assert results.headers["content-type"] == "application/x-jsonl"
        assert results.headers["request-id"].startswith("req_01")
    upload, _, created = (each["headers"] for each in emulator.requests[:3])
    assert upload["anthropic-beta"] == "files-api-2025-04-14"
    versions = (upload["anthropic-version"], created["anthropic-version"])
    assert versions == ("2026-10-21", "2023-06-01")  # those of the two clients
    assert ("GET", path) in sent(emulator)


@joined(
    ("api", "other", "path", "endpoint"),
    [
        ("gemini", "anthropic", "/v1beta/files", "files.create"),
        ("gemini", "chat", "/v1beta/models/any:batchGenerateContent", "batchGenerateContent"),
        ("chat", "gemini", "/v1/files", "files.upload"),
        ("responses", "anthropic", "/v1/batches", "batches.create"),
        ("anthropic", "responses", "/v1/messages/batches", "messages.batches.create"),
    ],
)
def test_a_backend_of_another_api_has_none(api: str, other: str, path: str, endpoint: str) -> None:
    emulator = Emulator()
    with gateway(other, emulator) as server:
        headers = {"authorization": "Bearer any"} if api in ("chat", "responses") else {}
        refused = posted(server, api, headers=headers, path=path)
    words = f"The gateway does not serve {endpoint}: no backend has the client's API, there is "
    assert refused.status_code == 404
    assert message_of(api, refused).startswith(words)
    assert emulator.requests == []


def test_the_first_backend_of_the_clients_api_has_the_files() -> None:
    emulators = [Emulator() for _ in range(3)]
    names = ("anthropic", "responses", "chat")
    named = {name: backend(name, each) for name, each in zip(names, emulators, strict=True)}
    with serve(Gateway(named)) as server:
        headers = {"authorization": "Bearer any"}
        assert raw(server, "GET", "/v1/files", headers).json()["data"] == []
    assert [len(each.requests) for each in emulators] == [0, 1, 0]


def test_a_key_that_the_backend_refuses_is_the_gateways() -> None:
    key = "invalid-" + "k" * 30
    without_files = ("converse", "interactions", "ollama")
    for api in [each for each in MODELS if each not in without_files]:
        with serve(Gateway(backend(api, key=key))) as server:
            path = "/v1beta/files" if api == "gemini" else "/v1/files"
            own = VERSION if api == "anthropic" else {"authorization": "Bearer any"}
            refused = raw(server, "GET", path, own)
            assert refused.status_code == 502
            assert message_of(api, refused).startswith("The backend refused the key of the")
            assert key not in refused.text + str(refused.headers)


def test_a_body_that_a_server_repeats_has_no_key_of_the_backend() -> None:
    key = "k" * 30
    emulator = Emulator(
        [
            {
                "match": {"endpoint": "files.list"},
                "status": 400,
                "answer": {"error": {"message": f"Bad {key}"}},
            }
        ]
    )
    with serve(Gateway(backend("chat", emulator, key=key))) as server:
        refused = raw(server, "GET", "/v1/files", {"authorization": "Bearer any"})
    assert (refused.status_code, refused.json()) == (400, {"error": {"message": "Bad ***"}})


def test_no_path_leads_out_of_the_api() -> None:
    emulator = Emulator()

    async def refused() -> None:
        gate = Gateway(backend("chat", emulator))
        for path in ("/v1/files/..", "/v1/files/%2e%2e/content", "/v1/files/."):
            answer = await gate.respond("GET", path, [("authorization", "Bearer any")], b"")
            assert answer.status == 404
        await gate.aclose()

    asyncio.run(refused())
    assert emulator.requests == []


def test_a_file_may_have_any_bytes() -> None:
    data = b"[" * 5000
    with gateway("chat") as server, client(server, "openai") as http:
        file = http.send(openai.upload_file(data, purpose="batch", filename="a.jsonl"))
        assert file.bytes == 5000
