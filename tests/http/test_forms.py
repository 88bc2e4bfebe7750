"""Calls with a form: on each transport, recorded and replayed, logged, through `around`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.http.drive import Drive, not_on_httpx2, not_on_pools
from wire import answer_account, errors, openai, record
from wire.around import Around, Change, Outgoing
from wire.testing.emulator import Emulator, EmulatorLimits, Server, serve

SIZE = 300_000


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Emulator()) as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "tides.bin"
    made.write_bytes(bytes(range(256)) * (SIZE // 256) + b"x" * (SIZE % 256))
    return made


@not_on_httpx2("it has transports of its own")
@pytest.mark.parametrize("http", ["auto", "httpx", "transport", "client"])
def test_a_form_is_sent_on_each_transport(
    drive: Drive, server: Server, path: Path, http: Any
) -> None:
    if http in ("transport", "client"):
        name = {"transport": "HTTPTransport", "client": "Client"}[http]
        kind = getattr(httpx, name if drive.name == "sync" else f"Async{name}")
        http = kind(verify=False, trust_env=False)
    call = openai.upload_file(path, purpose="batch")

    def work(door: Any) -> None:
        made = door.send(call)
        assert (made.bytes, made.filename) == (SIZE, "tides.bin")
        account = answer_account(made)
        assert account is not None
        assert account.sent == len(call.form or b"")
        assert door.send(openai.download_file(made.id)) == path.read_bytes()
        assert door.send(call.replace(headers={"x-team": "a"})).bytes == SIZE

    drive.session(work, "openai", base_url=f"{server.url}/v1", http=http)


def test_a_server_that_refuses_early_is_heard(drive: Drive, path: Path) -> None:
    limits = EmulatorLimits(max_body_bytes=1000)
    with serve(Emulator(limits=limits)) as server, pytest.raises(errors.BadRequestError) as caught:
        call = openai.upload_file(path, purpose="batch")
        drive.send(call, provider="openai", base_url=f"{server.url}/v1")
    assert caught.value.status == 413
    assert caught.value.preview is not None
    assert b"<300000 bytes>" in caught.value.preview.body


@not_on_pools("wire.record applies to clients without http=")
def test_a_form_is_recorded_and_replayed_with_another_boundary(
    drive: Drive, server: Server, path: Path, tmp_path: Path
) -> None:
    cassette = tmp_path / "upload.json"

    def upload(mode: str) -> Any:
        with record(cassette, mode):
            call = openai.upload_file(path, purpose="batch")
            return drive.send(call, provider="openai", base_url=f"{server.url}/v1")

    first = upload("rewrite")
    server.emulator.reset()
    assert upload("none").id == first.id
    assert server.emulator.requests == []


def test_the_log_has_no_bytes_of_the_file(
    drive: Drive, server: Server, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(b"what the file says")
    with caplog.at_level(logging.DEBUG, "wire"):
        call = openai.upload_file(path, purpose="batch")
        drive.send(call, provider="openai", base_url=f"{server.url}/v1")
    assert "<18 bytes>" in caplog.text
    assert "what the file says" not in caplog.text


def test_around_sees_and_changes_a_call_with_a_form(
    drive: Drive, server: Server, path: Path
) -> None:
    def tag(outgoing: Outgoing) -> Around:
        yield Change(outgoing.call.replace(headers={"x-team": "a"}))

    drive.send(
        openai.upload_file(path, purpose="batch"),
        provider="openai",
        base_url=f"{server.url}/v1",
        around=tag,
    )
    assert server.emulator.requests[-1]["headers"]["x-team"] == "a"
