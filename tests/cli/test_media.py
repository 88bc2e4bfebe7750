"""`wire image`, `wire speak` and `wire transcribe`, against the emulator on loopback."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from wire.cli.media import Upload
from wire.testing.emulator import Server

PNG = b"\x89PNG\r\n\x1a\npixels"


def at(server: Server, model: str) -> tuple[str, ...]:
    return ("--model", model, "--base-url", f"{server.url}/v1")


GPT = "openai:gpt-image-2"
TTS = "openai:gpt-4o-mini-tts"
WHISPER = "openai:whisper-1"


def test_an_image_is_written(wire: Command, server: Server) -> None:
    assert wire("image", "A", "cat", "--out", "cat.png", *at(server, GPT)) == (0, "cat.png\n", "")
    assert Path("cat.png").read_bytes().startswith(b"\x89PNG")
    body = server.requests[-1]["body"]
    assert body == {"prompt": "A cat", "model": "gpt-image-2"}


def test_several_images_are_numbered(wire: Command, server: Server) -> None:
    said = wire("image", "A cat", "--count", 2, "--out", "cat.png", *at(server, GPT))
    assert said.out == "cat.png\ncat-2.png\n"
    assert Path("cat-2.png").exists()


def test_another_format_than_the_name_says_is_told(wire: Command, server: Server) -> None:
    said = wire("image", "A cat", "--out", "cat.jpg", *at(server, GPT))
    assert said.err == "note: cat.jpg is image/png\n"


def test_pictures_are_changed(wire: Command, server: Server) -> None:
    Path("a.png").write_bytes(PNG)
    options = ("--picture", "a.png", "--picture", "a.png", "--mask", "a.png", "--out", "b.png")
    assert wire("image", "Blue", *options, *at(server, GPT)).status == 0
    assert server.requests[-1]["target"] == "/v1/images/edits"
    assert str(server.requests[-1]["body"]).count('filename="') == 3


def test_partial_images_are_written_as_they_come(wire: Command, server: Server) -> None:
    said = wire("image", "A cat", "--partials", 2, "--out", "cat.png", *at(server, GPT))
    assert said == (
        0,
        "cat.png\n",
        "cat.png: partial image 1\ncat.png: partial image 2\n",
    )


def test_what_is_told_as_json(wire: Command, server: Server) -> None:
    said = wire("image", "A cat", "--json", "--out", "cat.png", *at(server, GPT)).json
    assert said["images"] == [{"path": "cat.png", "media_type": "image/png", "bytes": 67}]
    assert (said["usage"]["output"], said["cost"], said["notes"]) == (272, None, [])
    said = wire(
        *("speak", "Hi", "--voice", "alloy", "--json", "--out", "hi.mp3", *at(server, TTS))
    ).json
    assert (said["path"], said["media_type"]) == ("hi.mp3", "audio/mpeg")
    Path("talk.wav").write_bytes(b"RIFF\x04\0\0\0WAVE")
    said = wire("transcribe", "talk.wav", "--json", *at(server, WHISPER)).json
    assert (said["text"], said["seconds"]) == ("This is talk.wav of 12 bytes.", 1.0)


def test_speech_has_the_format_of_its_file(wire: Command, server: Server) -> None:
    options = ("--voice", "alloy", "--out", "hi.wav", *at(server, TTS))
    assert wire("speak", "Hi", *options) == (0, "hi.wav\n", "")
    assert Path("hi.wav").read_bytes()[:4] == b"RIFF"
    assert server.requests[-1]["body"]["response_format"] == "wav"
    whole = Path("hi.wav").read_bytes()
    assert wire("speak", "Hi", "--stream", *options).status == 0
    assert Path("hi.wav").read_bytes() == whole


def test_a_text_may_be_piped(wire: Command, server: Server) -> None:
    options = ("--voice", "alloy", "--out", "hi.mp3", *at(server, TTS))
    assert wire("speak", *options, stdin="High tide.").status == 0
    assert server.requests[-1]["body"]["input"] == "High tide."


def test_a_transcript_is_printed(wire: Command, server: Server) -> None:
    Path("talk.wav").write_bytes(b"RIFF\x04\0\0\0WAVE")
    text = "This is talk.wav of 12 bytes."
    assert wire("transcribe", "talk.wav", *at(server, WHISPER)) == (0, f"{text}\n", "")
    timed = wire("transcribe", "talk.wav", "--timestamps", "segment", *at(server, WHISPER))
    assert timed.out == f"[0.00 - 0.00] {text}\n"
    model = "openai:gpt-4o-transcribe-diarize"
    said = wire("transcribe", "talk.wav", "--speakers", *at(server, model))
    assert said.out == f"[0.00 - 0.00] A: {text}\n"
    model = "openai:gpt-4o-transcribe"
    assert wire("transcribe", "talk.wav", "--stream", *at(server, model)).out == f"{text}\n"


BAD: tuple[tuple[tuple[str, ...], str], ...] = (
    (("image", "--out", "a.png"), "wire image: PROMPT: missing"),
    (("image", "A", "--out", "a.png", "--picture", "b.png"), "b.png: cannot be read"),
    (("speak", "A", "--out", "a.mp3", "--speed", "fast"), "expected a number, not 'fast'"),
    (("speak", "A", "--out", "nowhere/a.mp3", "--stream"), "nowhere/a.mp3: No such file"),
    (("transcribe", "b.wav"), "b.wav: cannot be read"),
    (("image", "A", "--out", "a.png", "--size", "big"), "--size: expected WIDTHxHEIGHT or auto"),
)


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_bad_input_is_told_in_one_line(
    wire: Command, server: Server, arguments: tuple[str, ...], words: str
) -> None:
    voice = ("--voice", "alloy") if arguments[0] == "speak" else ()
    model = {"image": GPT, "speak": TTS, "transcribe": WHISPER}[arguments[0]]
    said = wire(*arguments, *voice, *at(server, model))
    assert (said.status, said.out) == (2, "")
    assert words in said.err
    assert said.err.count("\n") == 1


def test_bytes_are_not_written_to_a_terminal(
    wire: Command, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wire.cli.media.is_terminal", lambda stream=None: stream is None)
    said = wire("speak", "Hi", "--voice", "alloy", "--out", "-", *at(server, TTS))
    assert said == (2, "", "wire speak: --out: bytes are not written to a terminal; give a file\n")


def test_a_long_upload_shows_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("wire.cli.media.is_terminal", lambda stream=None: True)
    path = tmp_path / "talk.wav"
    path.write_bytes(bytes(2_500_000))
    with path.open("rb") as file:
        upload = Upload(file, str(path))
        while upload.read(64 * 1024):
            pass
        assert upload.tell() == 2_500_000
        upload.seek(0)
        assert upload.read(2) == b"\0\0"
    shown = capsys.readouterr().err
    assert shown == "\rsent 1 of 2 MB\rsent 2 of 2 MB\rsent 2 of 2 MB\n"
    quiet: Any = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    monkeypatch.setattr("wire.cli.media.is_terminal", lambda stream=None: False)
    with path.open("rb") as file:
        Upload(file, str(path)).read(3_000_000)
    assert quiet.getvalue() == ""
