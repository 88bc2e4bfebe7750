"""The vendors' own clients read cassettes that `wire cassette serve` plays: `make test-sdks`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.sdks.test_sdks import AGES, VENVS, WANTED
from tests.testing.cassette.test_serving import served
from wire.testing import Record
from wire.testing.emulator import Emulator, EmulatorTransport, serve

HERE = Path(__file__).parent
SAID = "At 05:12, and at 17:40: 潮."


def read(age: str, vendor: str, url: str) -> tuple[str, str]:
    """The text that a vendor's client reads from a server, and its error."""
    found = subprocess.run(
        [VENVS / age / "bin" / "python", HERE / "read_cassette.py", vendor, url],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"]},
        timeout=60,
    )
    assert found.returncode == 0, found.stderr
    pieces, error = json.loads(found.stdout)
    return "".join(pieces), error


def recorded(path: Path, age: str, vendor: str) -> None:
    """A cassette with the request that a vendor's client sends."""
    with serve(Emulator([{"say": SAID}])) as server:
        assert read(age, vendor, server.url) == (SAID, "")
        sent = next(each for each in server.requests if each["method"] == "POST")
    answer = EmulatorTransport(Emulator([{"say": SAID}]))
    headers = {name: value for name, value in sent["headers"].items() if value != "***"}
    key = {"x-goog-api-key": "fake-key", "x-api-key": "fake-key", "authorization": "Bearer fake"}
    for name in ("host", "content-length", "accept-encoding"):
        headers.pop(name, None)
    with httpx.Client(transport=Record(answer, path)) as client:
        url = f"https://vendor.example{sent['target']}"
        assert client.post(url, json=sent["body"], headers=headers | key).status_code == 200


@pytest.mark.row("C-36")
@pytest.mark.sdks
@pytest.mark.parametrize("vendor", WANTED)
@pytest.mark.parametrize("age", AGES)
def test_a_vendors_client_reads_a_served_cassette(age: str, vendor: str, tmp_path: Path) -> None:
    path = tmp_path / "tide.json"
    recorded(path, age, vendor)
    with served(tmp_path, "--chunks", "bytes:5", "--repeats") as url:
        assert read(age, vendor, url) == (SAID, "")
    with served(path, "--fault", "cut; bytes=300") as url:
        text, error = read(age, vendor, url)
    assert SAID.startswith(text)
    assert error
    with served(path, "--fault", "429; message=Slow.") as url:
        text, error = read(age, vendor, url)
    assert (text, "Slow." in error) == ("", True)
