"""C-08, C-14: large binary content in files beside the cassette."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.http.loopback import whole
from tests.joined import joined
from tests.testing.cassette.ways import Way, serving
from wire.errors import CassetteError
from wire.testing import Cache
from wire.testing.cassette.format import side_files
from wire.testing.cassette.format.bodies import body_bytes, read_body
from wire.testing.cassette.format.file import block, dump, load, save
from wire.testing.cassette.format.side_files import INLINE_BYTES, digest_of, media_type_of
from wire.testing.cassette.format.structs import Interaction, Request, Response

PNG = b"\x89PNG\r\n\x1a\n" + random.Random(8).randbytes(9000)
TEXT = base64.b64encode(PNG).decode()


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    return tmp_path / "x.cassette.json"


def folder_of(cassette: Path) -> Path:
    return cassette.with_name(cassette.name + ".files")


def interaction(sent: bytes = b"{}", received: bytes = b"{}", kind: str = "") -> Interaction:
    headers = {"content-type": kind} if kind else {}
    return Interaction(
        request=Request(method="POST", url="https://h/v1", body=read_body(sent)),
        response=Response(status=200, headers=headers, body=read_body(received, kind), end="eof"),
    )


def through(cassette: Path, *interactions: Interaction) -> str:
    """Saves and loads interactions, which must come back as they were; returns the text."""
    save(cassette, map(block, interactions))
    loaded = load(cassette.read_bytes(), str(cassette)).interactions
    assert dump(loaded) == dump(interactions)
    for one, other in zip(loaded, interactions, strict=True):
        assert body_bytes(one.request.body) == body_bytes(other.request.body)
        assert body_bytes(one.response.body) == body_bytes(other.response.body)
    return cassette.read_text("utf-8")


# --- what is moved out ----------------------------------------------------------------------------


@pytest.mark.row("C-08")
def test_an_image_of_4_mib_in_an_answer(way: Way, cassette: Path):
    size = 3 * 1024 * 1024 if way.name == "sync" else 300_000
    image = PNG[:16] + random.Random(4).randbytes(size)
    part = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(image).decode()}}
    answer = json.dumps({"candidates": [{"content": {"parts": [{"text": "Here:"}, part]}}]})
    with serving([whole(answer.encode(), kind="application/json")]) as server:
        live = way.get(way.record(cassette), server.url, json={"contents": []})
    replayed = way.get(way.replay(cassette), server.url, json={"contents": []})
    assert replayed.body == live.body == answer.encode()
    assert cassette.stat().st_size < 20 * 1024
    body = json.loads(cassette.read_text("utf-8"))["interactions"][0]["response"]["body"]
    digest = digest_of(image)
    assert body["files"] == [
        {"sha256": digest, "type": "image/png", "length": len(image), "coding": "base64"}
    ]
    [_, stored] = body["json"]["candidates"][0]["content"]["parts"]
    assert stored["inlineData"]["data"] == f"<sha256:{digest}>"
    assert [each.name for each in folder_of(cassette).iterdir()] == [digest]
    assert (folder_of(cassette) / digest).read_bytes() == image
    if os.name == "posix":
        assert stat.S_IMODE((folder_of(cassette) / digest).stat().st_mode) == 0o600


@pytest.mark.row("C-08")
def test_a_binary_body(way: Way, cassette: Path):
    with serving([whole(PNG, kind="audio/mpeg")]) as server:
        live = way.get(way.record(cassette), server.url)
    assert way.get(way.replay(cassette), server.url).body == live.body == PNG
    body = json.loads(cassette.read_text("utf-8"))["interactions"][0]["response"]["body"]
    assert body == {"file": {"sha256": digest_of(PNG), "type": "audio/mpeg", "length": len(PNG)}}


@pytest.mark.row("C-08")
def test_where_base64_stands(cassette: Path):
    sent = json.dumps({"url": f"data:image/png;base64,{TEXT}"}).encode()
    stream = f'data: {{"b64":"{TEXT}"}}\n\ndata: {{"b64":"{TEXT}","n":1}}\n\n'.encode()
    text = through(cassette, interaction(sent, stream, "text/event-stream"))
    token = f"<sha256:{digest_of(PNG)}>"
    assert f'"url": "data:image/png;base64,{token}"' in text
    assert text.count(f'"b64": "{token}"') == 2
    assert len(os.listdir(folder_of(cassette))) == 1
    assert len(text) < 3000


@pytest.mark.row("C-08")
@pytest.mark.parametrize(
    ("size", "files"), [(INLINE_BYTES, 0), (INLINE_BYTES + 1, 1)], ids=["4096", "4097"]
)
def test_what_is_large(cassette: Path, size: int, files: int):
    data = b"\xff" + random.Random(1).randbytes(size - 1)
    in_json = json.dumps([base64.b64encode(data).decode()]).encode()
    for each in (interaction(received=data), interaction(received=in_json)):
        assert len(block(each).files) == files
        through(cassette, each)


@pytest.mark.row("C-08")
@pytest.mark.parametrize("coding", ["base64", "base64url", "base64 unpadded", "base64url unpadded"])
@pytest.mark.parametrize("more", [0, 1, 2])
def test_each_writing_of_base64(cassette: Path, coding: Any, more: int):
    data = b"\xfb\xff" * 4000 + bytes(more)
    text = side_files.encoded(data, coding).decode()
    written = through(cassette, interaction(received=json.dumps({"a": text}).encode()))
    [listed] = json.loads(written)["interactions"][0]["response"]["body"]["files"]
    padded = coding.removesuffix(" unpadded")  # without padding to leave out, both are the same
    assert listed["coding"] == (coding if (8000 + more) % 3 else padded)


@pytest.mark.row("C-08")
@pytest.mark.parametrize(
    "received",
    [
        json.dumps({"a": "word " * 3000}),
        json.dumps({"a": TEXT[:-3] + "==="}),
        json.dumps({"a": TEXT[:5461]}),  # no whole number of bytes
        json.dumps({"a": f"<sha256:{digest_of(PNG)}>", "b": TEXT}),
        json.dumps({"a": TEXT}).replace("/", "\\/"),
        f'{{"a": "{TEXT}',
    ],
    ids=["words", "padding", "a rest", "a token that was received", "escapes", "cut"],
)
def test_what_stays_in_the_cassette(cassette: Path, received: str):
    through(cassette, interaction(received=received.encode()))
    assert not folder_of(cassette).exists()


@pytest.mark.row("C-08")
def test_one_content_in_two_writings(cassette: Path):
    data = b"\xfb\xff" * 4000
    texts = [base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()]
    through(cassette, interaction(received=json.dumps(texts).encode()))
    assert len(os.listdir(folder_of(cassette))) == 1


@pytest.mark.row("C-08")
def test_any_json_with_base64_comes_back(cassette: Path):
    dice = random.Random(88)
    for _ in range(60):
        values: list[Any] = []
        for _ in range(dice.randrange(4)):
            data = dice.randbytes(dice.choice([10, 4096, 4097, 6000]))
            coding: Any = dice.choice(
                ["base64", "base64url", "base64 unpadded", "base64url unpadded"]
            )
            text = side_files.encoded(data, coding).decode()
            values += dice.choice(
                [[text], [text, text], [f"data:a/b;base64,{text}"], [{text: text}], [text[:-1]]]
            )
        received = json.dumps(values, indent=dice.choice([None, 2])).encode()
        if dice.random() < 0.3:
            received = b"data: " + json.dumps(values).encode() + b"\n\ndata: {}\n\n"
        through(cassette, interaction(received=received))


@pytest.mark.row("C-08")
def test_an_old_cassette_with_inline_base64_loads(cassette: Path):
    cassette.write_text(dump([interaction(received=PNG)]), "utf-8")
    [loaded] = load(cassette.read_bytes(), str(cassette)).interactions
    assert body_bytes(loaded.response.body) == PNG


@pytest.mark.row("C-08")
@joined(
    ("begin", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\n\0\0\0WAVEfmt ", "audio/wav"),
        (b"ID3\x04", "audio/mpeg"),
        (b"OggS", "audio/ogg"),
        (b"fLaC", "audio/flac"),
        (b"\0\0\0\x18ftypmp42", "video/mp4"),
        (b"%PDF-1.7", "application/pdf"),
        (b"PK\x03\x04", "application/zip"),
        (b"\0\1", "application/octet-stream"),
    ],
)
def test_media_types(begin: bytes, kind: str):
    assert media_type_of(begin + bytes(20)) == kind


# --- the folder -----------------------------------------------------------------------------------


@pytest.mark.row("C-08")
def test_files_that_are_no_longer_needed_are_removed(cassette: Path):
    other = PNG + b"2"
    through(cassette, interaction(received=PNG), interaction(received=other))
    (folder_of(cassette) / "notes.txt").write_text("mine", "utf-8")
    (folder_of(cassette) / ("0" * 64)).write_text("nobody's", "utf-8")
    through(cassette, interaction(received=other))
    assert set(os.listdir(folder_of(cassette))) == {digest_of(other), "notes.txt", "0" * 64}


@pytest.mark.row("C-08")
def test_an_empty_folder_is_removed(cassette: Path):
    through(cassette, interaction(received=PNG))
    through(cassette, interaction())
    assert not folder_of(cassette).exists()


@pytest.mark.row("C-08")
def test_a_folder_without_its_cassette(cassette: Path):
    through(cassette, interaction(received=PNG))
    cassette.unlink()
    through(cassette, interaction(received=PNG + b"2"))


@pytest.mark.row("C-08")
@pytest.mark.skipif(os.name != "posix", reason="symlinks need a privilege on Windows")
def test_a_symlink_to_a_cassette(cassette: Path, tmp_path: Path):
    through(cassette, interaction(received=PNG))
    link = tmp_path / "elsewhere" / "y.json"
    link.parent.mkdir()
    link.symlink_to(cassette)
    through(link, interaction(received=PNG + b"2"))
    assert os.listdir(link.parent) == ["y.json"]
    assert os.listdir(folder_of(cassette)) == [digest_of(PNG + b"2")]


@pytest.mark.row("C-08")
def test_a_side_file_of_another_length_is_written_again(cassette: Path):
    through(cassette, interaction(received=PNG))
    (folder_of(cassette) / digest_of(PNG)).write_bytes(b"cut")
    through(cassette, interaction(received=PNG))


SECRET = "fake-secret-in-a-picture"


@pytest.mark.row("C-12")
@pytest.mark.parametrize("where", ["json", "body", "percent-encoded"])
def test_a_secret_in_a_side_file(way: Way, cassette: Path, where: str):
    text = SECRET if where != "percent-encoded" else SECRET.replace("-", "%2D")
    image = PNG + text.encode() + b"\xff"
    received = image if where == "body" else json.dumps([base64.b64encode(image).decode()]).encode()
    with serving([whole(received)]) as server:
        got = way.get(way.record(cassette, secrets=[SECRET]), server.url)
    assert isinstance(got.error, CassetteError)
    assert "secrets[0] is in the " in str(got.error)
    assert not cassette.exists()
    assert not folder_of(cassette).exists()


@pytest.mark.row("C-12")
@pytest.mark.parametrize("where", ["request", "response"])
def test_a_secret_in_a_body_that_stays_compressed(way: Way, cassette: Path, where: str):
    data = gzip.compress(f'{{"text": "{SECRET}", "more": "{"x" * 500}"}}'.encode())
    answer = whole(data[:-9], content_encoding="gzip") if where == "response" else whole(b"ok")
    headers = {"content-encoding": "gzip"}
    with serving([answer]) as server:
        transport = way.record(cassette, secrets=[SECRET])
        sent = {"content": data, "headers": headers} if where == "request" else {}
        got = way.get(transport, server.url, **sent)
    assert f"secrets[0] is in the {where}'s body, decoded" in str(got.error)
    assert not cassette.exists()


@pytest.mark.row("C-12")
def test_a_secret_that_is_known_later_leaves_the_disk(way: Way, cassette: Path):
    answers = iter([PNG + b"fake-key-12345678", b"ok"])
    folders: list[bool] = []

    def answer(request: httpx.Request) -> httpx.Response:
        folders.append(folder_of(cassette).exists())
        return httpx.Response(200, content=next(answers))

    url = "https://llm.example/v1"
    first, second = way.gets(
        way.record(cassette, httpx.MockTransport(answer)),
        [{"url": url}, {"url": url, "headers": {"x-api-key": "fake-key-12345678"}}],
    )
    assert folders == [False, True]
    assert first.error is None
    assert isinstance(second.error, CassetteError)
    assert len(json.loads(cassette.read_text("utf-8"))["interactions"]) == 1
    assert not folder_of(cassette).exists()


# --- foreign files --------------------------------------------------------------------------------


def with_file(entry: dict[str, Any]) -> str:
    body = json.dumps(entry)
    return (
        '{"wire_cassette": 1, "interactions": [{"request": {"method": "POST", "url": "https://h"},'
        f'\n"response": {{"status": 200, "end": "eof", "body":\n{body}}}}}]}}'
    )


def refused(cassette: Path, text: str) -> str:
    cassette.write_text(text, "utf-8")
    with pytest.raises(CassetteError) as caught:
        load(cassette.read_bytes(), str(cassette))
    return str(caught.value)


FILE = {"sha256": digest_of(PNG), "type": "image/png", "length": len(PNG)}


@pytest.mark.row("C-14")
@pytest.mark.parametrize(
    "name",
    ["../secret", "/etc/passwd", "..", "", "A" * 64, "a" * 63, "a" * 64 + "\n", "a" * 64 + ".png"],
)
def test_a_name_that_is_no_digest(cassette: Path, name: str):
    message = refused(cassette, with_file({"file": {**FILE, "sha256": name}}))
    assert f"{cassette}, line 3: $.interactions[0].response.body.file" in message


@pytest.mark.row("C-14")
def test_a_missing_side_file(cassette: Path):
    message = refused(cassette, with_file({"file": FILE}))
    assert (
        message
        == f"{folder_of(cassette) / digest_of(PNG)}: cannot be read: No such file or directory"
    )


@pytest.mark.row("C-14")
@pytest.mark.parametrize("change", [b"", PNG + b"2", PNG[:-1] + b"2"])
def test_a_side_file_that_changed(cassette: Path, change: bytes):
    folder_of(cassette).mkdir()
    path = folder_of(cassette) / digest_of(PNG)
    path.write_bytes(change)
    message = refused(cassette, with_file({"file": FILE}))
    assert message == (
        f"{path}: its content has another SHA-256 than its name"
        if len(change) == len(PNG)
        else f"{path}: has {len(change):,} bytes; the cassette says {len(PNG):,}"
    )


@pytest.mark.row("C-14")
@pytest.mark.skipif(os.name != "posix", reason="symlinks need a privilege on Windows")
@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_symlink_is_not_followed(cassette: Path, tmp_path: Path, link: str):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / digest_of(PNG)).write_bytes(PNG)
    path = folder_of(cassette)
    if link == "folder":
        path.symlink_to(elsewhere)
    else:
        path.mkdir()
        path /= digest_of(PNG)
        path.symlink_to(elsewhere / digest_of(PNG))
    wanted = f"{path}: a symlink is not followed for side files"
    assert refused(cassette, with_file({"file": FILE})) == wanted
    with pytest.raises(CassetteError) as caught:
        save(cassette, [block(interaction(received=PNG + b"2" if link == "folder" else PNG))])
    assert str(caught.value) == wanted


@pytest.mark.row("C-14")
def test_a_file_that_is_repeated_without_end(cassette: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(side_files, "MAX_FILE_BYTES", 10 * len(PNG))
    folder_of(cassette).mkdir()
    (folder_of(cassette) / digest_of(PNG)).write_bytes(PNG)
    tokens = [f"<sha256:{digest_of(PNG)}>"] * 11
    entry = {"files": [{**FILE, "coding": "base64"}], "json": tokens}
    message = refused(cassette, with_file(entry))
    assert "repeats its side files to more than" in message
    entry["json"] = tokens[:10]
    cassette.write_text(with_file(entry), "utf-8")
    load(cassette.read_bytes(), str(cassette))


@pytest.mark.row("C-29")
@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"file": FILE, "text": []}, "expected exactly one of json, events, text, base64, file"),
        ({"files": [FILE], "json": {}}, "files: each needs its coding"),
        (
            {"files": [{**FILE, "coding": "base64"}], "text": []},
            "files are allowed with json or events only, not with text",
        ),
        ({"files": [{**FILE, "coding": "hex"}], "json": {}}, "invalid enum value 'hex'"),
        ({"file": {**FILE, "length": -1}}, "expected `int` >= 0"),
    ],
)
def test_entries_that_are_wrong(cassette: Path, entry: Any, problem: str):
    assert problem in refused(cassette, with_file(entry))


@pytest.mark.row("C-08")
def test_an_entry_of_a_cache_is_one_file(tmp_path: Path):
    """Another process reads it whole, or not at all."""
    answer = json.dumps([TEXT]).encode()
    inner = httpx.MockTransport(lambda request: httpx.Response(200, content=answer))
    for _ in range(2):
        with httpx.Client(transport=Cache(tmp_path / "cache", inner=inner)) as client:
            assert client.post("https://h/v1/chat/completions", json={}).content == answer
    [entry] = (tmp_path / "cache").iterdir()
    assert TEXT in entry.read_text("utf-8")
