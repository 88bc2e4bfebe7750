"""Anthropic's files against the emulator, on threads, asyncio and trio."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.http.drive import Drive
from wire import Client, anthropic, errors
from wire.errors import ConfigurationError
from wire.testing.emulator import Emulator, EmulatorTransport, serve


@pytest.mark.parametrize("version", ["2023-06-01", "2026-10-21"])
def test_a_file_is_uploaded_listed_read_and_deleted(
    drive: Drive, tmp_path: Path, version: str
) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(b"%PDF-1.7 " + bytes(100_000))
    with serve(Emulator()) as server:

        def work(door: Any) -> None:
            made = door.send(anthropic.upload_file(path))
            shown = (made.type, made.filename, made.mime_type, made.size_bytes)
            assert shown == ("file", "report.pdf", "application/pdf", 100_009)
            other = door.send(
                anthropic.upload_file(b"x", filename="x.txt", expires_in_seconds=3600)
            )
            assert other.expires_at > other.created_at
            newest = door.send(anthropic.list_files(limit=1))
            assert [each.id for each in newest.data] == [other.id]
            begin = (
                {"page": newest.next_page}
                if version == "2026-10-21"
                else {"after_id": newest.last_id}
            )
            rest = door.send(anthropic.list_files(**begin))
            assert [each.id for each in rest.data] == [made.id]
            assert door.send(anthropic.get_file(made.id)) == made
            with pytest.raises(errors.BadRequestError, match="not downloadable"):
                door.send(anthropic.download_file(made.id))
            assert door.send(anthropic.delete_file(made.id)).type == "file_deleted"
            with pytest.raises(errors.NotFoundError):
                door.send(anthropic.get_file(made.id))

        drive.session(work, "anthropic", base_url=server.url, version=version)
        betas = {each["headers"].get("anthropic-beta") for each in server.emulator.requests}
        assert betas == {"files-api-2025-04-14"}


def test_pages_have_a_cursor_or_ids() -> None:
    assert anthropic.list_files(page="page_x", limit=3).query == {"limit": "3", "page": "page_x"}
    with pytest.raises(ConfigurationError, match="page: expected either page"):
        anthropic.list_files(page="page_x", after_id="file_1")
    assert anthropic.get_file("file_1", betas=()).headers == {}


def test_a_batch_expires_and_fails_in_part() -> None:
    steps = [
        {"match": {"text": "slow"}, "fault": "expire"},
        {"match": {"text": "bad"}, "fault": "529"},
    ]
    items = [
        anthropic.BatchRequest(
            custom_id=text,
            params=anthropic.MessageRequest(
                model="claude-sonnet-4-5",
                max_tokens=100,
                messages=[anthropic.Message(role="user", content=text)],
            ),
        )
        for text in ("good", "bad", "slow")
    ]
    http = EmulatorTransport(Emulator(steps))
    with Client("anthropic", api_key="fake-key", http=http) as client:
        name = client.send(anthropic.create_batch(items)).id or ""
        client.send(anthropic.get_batch(name))
        ended = client.send(anthropic.get_batch(name))
        results = client.send(anthropic.batch_results(name))
    assert json.loads(ended.raw or b"")["request_counts"] == {
        "processing": 0, "succeeded": 1, "errored": 1, "canceled": 0, "expired": 1,
    }  # fmt: skip
    kinds = {each.custom_id: each.result and each.result.type for each in results}
    assert kinds == {"good": "succeeded", "bad": "errored", "slow": "expired"}
