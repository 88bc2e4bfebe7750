"""Recordings of calls with credentials: no request for a token is in one, and none is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.auth.servers import Servers, call, told
from tests.http.drive import EVERY, Drive
from wire.auth import EntraSecret, SigV4
from wire.testing import AsyncRecord, AsyncReplay, Record, Replay

TOKENS = "https://login.microsoftonline.com/"
CREDENTIALS: dict[str, dict[str, Any]] = {
    "azure@anthropic": {
        "resource": "my-resource",
        "credentials": EntraSecret("my-tenant", "my-client", "fake-client-secret"),
    },
    "bedrock@invoke": {
        "region": "us-west-2",
        "credentials": SigV4("fake-access-key", "fake-secret-key", "fake-session-token"),
    },
}


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize("name", CREDENTIALS)
def test_a_recording_has_no_credentials_and_its_replay_needs_none(
    drive: Drive, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "cassette.json"
    servers = Servers({TOKENS: told({"access_token": "fake-token-0001", "expires_in": 3600})})
    record, replay = (Record, Replay) if drive.name == "sync" else (AsyncRecord, AsyncReplay)
    options = {"api_key": None, **CREDENTIALS[name]}
    sent = drive.session(
        lambda door: door.send(call()), name, http=record(servers, path), **options
    )
    text = path.read_text()
    assert not [each for each in ("fake-", "login.microsoftonline.com") if each in text]
    for credentials in (options["credentials"], None):
        played = drive.session(
            lambda door: door.send(call()),
            name,
            http=replay(path),
            **{**options, "credentials": credentials},
        )
        assert played.id == sent.id
    assert len(servers.sent) == 1
