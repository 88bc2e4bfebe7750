"""C-07: what is compressed is stored decoded, with each package that can decode it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.http.loopback import LAST, chunked, head, whole
from tests.testing.cassette.samples import STREAMS
from tests.testing.cassette.ways import Way, serving
from wire.testing.cassette.format import content_coding
from wire.testing.cassette.format.content_coding import Decoded, decode_content

PLAIN = random.Random(7).randbytes(3000) + STREAMS["gemini"] * 20
EACH = [(coding, name) for coding, names in content_coding._PACKAGES.items() for name in names]


@pytest.fixture(params=EACH, ids=[name for _, name in EACH])
def package(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Any]:
    """The name of a coding, and the one package that decodes it."""
    coding, name = request.param
    found = pytest.importorskip(name)
    monkeypatch.setattr(content_coding, "_PACKAGES", {coding: (name,)})
    return coding, found


def compressed(package: tuple[str, Any], data: bytes) -> bytes:
    return bytes(package[1].compress(data))


@pytest.mark.row("C-07")
def test_a_whole_body(package: tuple[str, Any]) -> None:
    assert decode_content(package[0], compressed(package, PLAIN)) == Decoded(PLAIN, True)
    assert decode_content(package[0], b"") == Decoded(b"", True)


@pytest.mark.row("C-07")
def test_a_truncated_body_gives_what_came_out(package: tuple[str, Any]) -> None:
    # Each decoder gives whole blocks, so a large text is cut in its second half.
    data = compressed(package, random.Random(7).randbytes(200_000))
    found = decode_content(package[0], data[: len(data) // 2])
    assert found is not None
    assert found.complete is None
    assert random.Random(7).randbytes(200_000).startswith(found.content)
    assert len(found.content) > 50_000


@pytest.mark.row("C-07")
@pytest.mark.parametrize("after", [b"no such thing, in any of the codings", b"\0" * 600])
def test_a_malformed_body(package: tuple[str, Any], after: bytes) -> None:
    for data in (after[:40].lstrip(b"\0") or b"\xff" * 40, compressed(package, PLAIN) + after):
        found = decode_content(package[0], data)
        assert found is not None
        assert found.complete is False


@pytest.mark.row("C-07")
def test_several_frames_of_zstd(package: tuple[str, Any]) -> None:
    data = compressed(package, PLAIN) + compressed(package, b"more")
    wanted = Decoded(PLAIN + b"more", True) if package[0] == "zstd" else None
    assert decode_content(package[0], data) == wanted or package[0] == "br"


@pytest.mark.row("C-07")
def test_a_bomb_is_taken_for_malformed(package: tuple[str, Any]) -> None:
    found = decode_content(package[0], compressed(package, bytes(4 * 1024 * 1024)))
    assert found is not None
    assert found.complete is False
    assert len(found.content) <= 1024 * 1024


@pytest.mark.row("C-07")
def test_the_first_installed_package_decodes(monkeypatch: pytest.MonkeyPatch) -> None:
    zstd = pytest.importorskip("zstandard")
    monkeypatch.setattr(content_coding, "_PACKAGES", {"zstd": ("no_such_package", "zstandard")})
    assert decode_content("zstd", zstd.compress(b"Hi")) == Decoded(b"Hi", True)


@pytest.mark.row("C-07")
@pytest.mark.parametrize(
    ("coding", "package_name"), [("br", "brotli"), ("zstd", "zstandard")], ids=["br", "zstd"]
)
def test_recorded_and_replayed(way: Way, tmp_path: Path, coding: str, package_name: str) -> None:
    data = pytest.importorskip(package_name).compress(STREAMS["gemini"])
    cassette = tmp_path / "x.cassette.json"
    with serving([whole(data, kind="text/event-stream", content_encoding=coding)]) as server:
        live = way.get(way.record(cassette), server.url)
    replayed = way.get(way.replay(cassette), server.url)
    assert live.body == data, "what is passed on is passed on as it came"
    assert replayed.body == STREAMS["gemini"]
    assert "content-encoding" not in replayed.headers
    response = json.loads(cassette.read_text("utf-8"))["interactions"][0]["response"]
    assert response["decoded"] == coding
    assert len(response["body"]["events"]) == 3


@pytest.mark.row("C-07")
@pytest.mark.parametrize(
    ("coding", "package_name"), [("br", "brotli"), ("zstd", "zstandard")], ids=["br", "zstd"]
)
def test_a_truncated_body_that_ended_well_stays_compressed(
    way: Way, tmp_path: Path, coding: str, package_name: str
) -> None:
    data = pytest.importorskip(package_name).compress(PLAIN)[:-9]
    cassette = tmp_path / "x.cassette.json"
    with serving(
        [head(transfer_encoding="chunked", content_encoding=coding), chunked(data), LAST]
    ) as server:
        way.get(way.record(cassette), server.url)
    replayed = way.get(way.replay(cassette), server.url)
    assert replayed.body == data
    assert replayed.headers["content-encoding"] == coding
