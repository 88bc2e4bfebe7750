"""OpenAI's files and batches against the emulator, on threads, asyncio and trio."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.drive import Drive
from tests.joined import joined
from wire import Client, Pause, errors, openai
from wire.openai import responses
from wire.testing.emulator import Emulator, EmulatorTransport, Server, serve

TEXT = "This is an emulator, and no model. You said: "


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Emulator()) as running:
        yield running


def request(text: str, **more: Any) -> openai.ChatCompletionRequest:
    turn = openai.Message(role="user", content=text)
    return openai.ChatCompletionRequest(model="gpt-5.4", messages=[turn], **more)


def test_a_file_is_uploaded_listed_read_and_deleted(
    drive: Drive, server: Server, tmp_path: Path
) -> None:
    path = tmp_path / 'tides "1".jsonl'
    path.write_bytes(b'{"a":1}\n')

    def work(door: Any) -> None:
        made = door.send(openai.upload_file(path, purpose="batch", expires_after=3600))
        assert (made.filename, made.bytes, made.purpose) == ("tides %221%22.jsonl", 8, "batch")
        assert made.expires_at == made.created_at + 3600
        other = door.send(openai.upload_file(b"x", purpose="user_data", filename="x.txt"))
        newest = door.send(openai.list_files(limit=1))
        assert ([each.id for each in newest.data], newest.has_more) == ([other.id], True)
        rest = door.send(openai.list_files(after=newest.last_id))
        assert ([each.id for each in rest.data], rest.has_more) == ([made.id], False)
        batches = door.send(openai.list_files(purpose="batch", order="asc"))
        assert [each.id for each in batches.data] == [made.id]
        assert door.send(openai.get_file(made.id)) == made
        assert door.send(openai.download_file(made.id)) == path.read_bytes()
        assert door.send(openai.delete_file(made.id)).deleted
        with pytest.raises(errors.NotFoundError):
            door.send(openai.get_file(made.id))

    drive.session(work, "openai", base_url=f"{server.url}/v1")


def test_an_upload_is_repeated_after_a_failure(drive: Drive, tmp_path: Path) -> None:
    """The file is read anew for each attempt."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc" * 50_000)
    steps = [{"match": {"endpoint": "files.upload"}, "fault": "503"}]
    with serve(Emulator(steps)) as server:
        call = openai.upload_file(path, purpose="user_data")
        made = drive.send(call, provider="openai", base_url=f"{server.url}/v1")
        assert made.bytes == 150_000
        assert [each["status"] for each in server.emulator.requests] == [503, 200]


def test_a_file_that_shrinks_is_an_error_of_the_caller(
    drive: Drive, server: Server, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(bytes(200_000))
    call = openai.upload_file(path, purpose="user_data")
    path.write_bytes(b"short")
    with pytest.raises(errors.ConfigurationError, match="ends after 5 of 200000 bytes"):
        drive.send(call, provider="openai", base_url=f"{server.url}/v1")


def test_a_large_file_is_never_in_memory(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    with path.open("wb") as file:
        file.truncate(20_000_000)
    call = openai.upload_file(path, purpose="user_data")
    assert call.form is not None
    tracemalloc.start()
    try:
        assert sum(map(len, call.form)) == len(call.form)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_batch_ends_with_results_and_errors(drive: Drive) -> None:
    steps = [{"match": {"text": "two"}, "fault": "500"}]
    with serve(Emulator(steps)) as server:

        def work(door: Any) -> None:
            data = openai.batch_lines({"a": request("one"), "b": request("two")})
            file = door.send(openai.upload_file(data, purpose="batch", filename="in.jsonl"))
            made = door.send(
                openai.create_batch(file.id, "/v1/chat/completions", metadata={"k": "v"})
            )
            assert (made.status, made.metadata) == ("validating", {"k": "v"})
            ended = door.run(openai.wait_for_batch(made, every=0.001))
            assert (ended.status, ended.model) == ("completed", "gpt-5.4")
            counts = ended.request_counts
            assert (counts.total, counts.completed, counts.failed) == (2, 1, 1)
            [good] = openai.batch_results(door.send(openai.download_file(ended.output_file_id)))
            assert (good.custom_id, good.response.status_code) == ("a", 200)
            body = json.dumps(good.response.body).encode()
            assert openai.parse_completion(body).text == f"{TEXT}one"
            [bad] = openai.batch_results(door.send(openai.download_file(ended.error_file_id)))
            assert (bad.custom_id, bad.response.status_code) == ("b", 500)
            assert [each.id for each in door.send(openai.list_batches()).data] == [made.id]

        drive.session(work, "openai", base_url=f"{server.url}/v1")


@pytest.fixture
def client() -> Iterator[Client]:
    steps = [{"match": {"text": "slow"}, "fault": "expire"}]
    http = EmulatorTransport(Emulator(steps))
    with Client("openai", api_key="fake-key", http=http, retry=None) as made:
        yield made


def created(client: Client, data: bytes, endpoint: str = "/v1/chat/completions") -> openai.Batch:
    file = client.send(openai.upload_file(data, purpose="batch", filename="in.jsonl"))
    return client.send(openai.create_batch(file.id or "", endpoint))


def test_a_batch_expires_with_some_results(client: Client) -> None:
    data = openai.batch_lines({"a": request("one"), "b": request("slow")})
    ended = client.run(openai.wait_for_batch(created(client, data), every=0.001))
    assert (ended.status, ended.expired_at is not None) == ("expired", True)
    [bad] = openai.batch_results(client.send(openai.download_file(ended.error_file_id or "")))
    assert bad.error is not None
    assert (bad.response, bad.error.code) == (None, "batch_expired")
    assert ended.output_file_id


def test_a_batch_is_cancelled(client: Client) -> None:
    made = created(client, openai.batch_lines({"a": request("one")}))
    assert client.send(openai.cancel_batch(made.id or "")).status == "cancelling"
    ended = client.run(openai.wait_for_batch(made.id or "", every=0.001))
    assert (ended.status, ended.output_file_id) == ("cancelled", None)
    with pytest.raises(errors.APIError, match="Cannot cancel"):
        client.send(openai.cancel_batch(made.id or ""))


def test_responses_and_embeddings_are_batches_too(client: Client) -> None:
    asked = responses.ResponseRequest(model="gpt-5.4", input="hi", store=False)
    ended = client.run(
        openai.wait_for_batch(
            created(client, openai.batch_lines({"a": asked}), "/v1/responses"), every=0.001
        )
    )
    [result] = openai.batch_results(client.send(openai.download_file(ended.output_file_id or "")))
    assert result.response is not None
    assert result.response.body["object"] == "response"
    vector = openai.EmbeddingRequest(model="text-embedding-3-small", input="hi")
    made = created(client, openai.batch_lines({"a": vector}), "/v1/embeddings")
    assert client.run(openai.wait_for_batch(made, every=0.001)).status == "completed"


@joined(
    ("data", "code", "line"),
    [
        (b"", "empty_file", None),
        (b"{", "invalid_json_line", 1),
        (b'{"custom_id":"a","method":"GET"}', "invalid_method", 1),
        (b'{"custom_id":"a","method":"POST","url":"/v1/responses"}', "mismatched_url", 1),
    ],
)
def test_a_malformed_file_fails_the_batch_with_its_line(
    data: bytes, code: str, line: int | None
) -> None:
    with Client("openai", api_key="fake-key", http=EmulatorTransport()) as client:
        made = created(client, data)
        failed = client.run(openai.wait_for_batch(made, every=0.001))
    assert failed.status == "failed"
    assert failed.errors is not None
    assert [(each.code, each.line) for each in failed.errors.data or []] == [(code, line)]


def test_waiting_ends_in_a_clock_error() -> None:
    flow = openai.wait_for_batch("batch_1", every=5, most=7)
    running = openai.Batch(id="batch_1", status="in_progress")
    assert next(flow).path == "/batches/batch_1"  # type: ignore[union-attr]
    pauses = []
    for _ in range(2):
        pauses.append(flow.send(running))
        next(flow)
    assert pauses == [Pause(5), Pause(2)]
    with pytest.raises(errors.TotalClock, match="batch_1 is still in_progress after 7 s"):
        flow.send(running)


@joined(
    ("made", "path"),
    [
        (lambda: openai.batch_lines({}), "requests"),
        (lambda: openai.batch_lines({"a": 3}), "requests['a']"),  # type: ignore[dict-item]
        (
            lambda: openai.batch_lines({"a": request("x"), "b": request("y", temperature="hot")}),
            "requests['b'].temperature",
        ),
        (
            lambda: openai.batch_lines({
                "a": request("x"),
                "b": openai.EmbeddingRequest(model="m", input="y"),
            }),
            "requests",
        ),
        (lambda: openai.create_batch("file-1", "chat"), "endpoint"),
        (
            lambda: openai.create_batch("file-1", "/v1/responses", output_expires_after=1),
            "output_expires_after",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_refused_with_its_path(made: Any, path: str) -> None:
    with pytest.raises(errors.RuleError) as caught:
        made()
    assert caught.value.violations[0].path == path


def test_lines_of_results_are_parsed_one_by_one() -> None:
    good = b'{"custom_id":"a","response":{"status_code":200,"body":{}},"error":null}\n\n'
    [result] = openai.batch_results(good)
    assert result.raw == good.strip()
    with pytest.raises(errors.StreamInvalid, match="line 3 is not a result"):
        openai.batch_results(good + b'{"response":null}')
