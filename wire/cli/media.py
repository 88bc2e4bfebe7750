"""`wire image`, `wire speak` and `wire transcribe`: images, speech and transcripts."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from wire.cli.options import (
    Command,
    client_of,
    decimal,
    json_option,
    model_of,
    model_options,
    whole,
)
from wire.cli.terminal import is_terminal, piped_text, report, write, write_json

if TYPE_CHECKING:
    from wire.neutral.messages import Media
    from wire.neutral.transcripts import Transcript, TranscriptSegment

_STDOUT = "-"
_MEGABYTE = 1_000_000
_STEP = 1_000_000
"""Bytes of an upload between two reports."""

# --- what is shared -------------------------------------------------------------------------------


def _out_option(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument(
        "--out", metavar="PATH", required=True, help=f"the file for {what}; - for stdout"
    )


def _words(chosen: argparse.Namespace, name: str) -> str:
    """Return the text of the arguments and of stdin. Raises `ConfigurationError` without one."""
    from wire.core.errors import ConfigurationError

    text = "\n\n".join(filter(None, (" ".join(chosen.words), piped_text())))
    if not text:
        raise ConfigurationError(f"{name}: missing; give it as arguments or on stdin")
    return text


def _given(chosen: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the settings that were given."""
    found = {name: getattr(chosen, name) for name in names}
    return {name: value for name, value in found.items() if value not in (None, False)}


def _check_out(path: str) -> None:
    from wire.core.errors import ConfigurationError

    if path == _STDOUT and is_terminal():
        raise ConfigurationError("out: bytes are not written to a terminal; give a file")


def _save(path: str, data: bytes) -> None:
    from wire.core.errors import ConfigurationError
    from wire.core.files import write_output

    if path == _STDOUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_output(path, data, ConfigurationError)


def _about(made: Any) -> dict[str, Any]:
    """Return what a result says besides its media."""
    import msgspec

    cost = made.cost
    return {
        "model": made.model,
        "provider": made.provider,
        "usage": None if made.usage is None else msgspec.to_builtins(made.usage),
        "cost": None if cost.total is None else str(cost.total),
        "notes": [str(note) for note in made.notes],
    }


def _report_notes(made: Any) -> None:
    for note in made.notes:
        report(f"note: {note}")


# --- image ----------------------------------------------------------------------------------------


def _image_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "words", nargs="*", metavar="PROMPT", help="what the image shows; stdin is added to it"
    )
    model_options(command)
    _out_option(command, "the image; several are numbered")
    command.add_argument(
        "--picture",
        metavar="PATH",
        action="append",
        default=[],
        help="a picture to change, or that guides the image; may be repeated",
    )
    command.add_argument(
        "--mask", metavar="PATH", help="where the first picture is changed: transparent areas"
    )
    command.add_argument("--count", type=whole(1), metavar="N", help="number of images")
    command.add_argument("--size", metavar="WIDTHxHEIGHT", help="size, of hosts that take one")
    command.add_argument("--aspect-ratio", metavar="RATIO", help="such as 16:9")
    command.add_argument("--resolution", metavar="WORD", help="1K, 2K or 4K")
    command.add_argument("--quality", metavar="WORD", help="low, medium, high")
    command.add_argument("--background", metavar="WORD", help="opaque, transparent")
    command.add_argument("--format", metavar="WORD", help="png, jpeg, webp")
    command.add_argument("--seed", type=whole(0), metavar="N", help="for similar images")
    command.add_argument(
        "--partials",
        type=whole(0),
        metavar="N",
        help="stream N unfinished images first; each replaces the one before",
    )
    json_option(command, "paths, usage and cost")


_IMAGE_SETTINGS = (
    "count", "size", "aspect_ratio", "resolution", "quality", "background", "format", "seed",
    "partials",
)  # fmt: skip


def _image(chosen: argparse.Namespace) -> int:
    from wire.neutral.messages import Media

    provider, model = model_of(chosen)
    prompt = _words(chosen, "PROMPT")
    _check_out(chosen.out)
    settings = _given(chosen, *_IMAGE_SETTINGS)
    settings["pictures"] = [Media.file(each) for each in chosen.picture]
    if chosen.mask is not None:
        settings["mask"] = Media.file(chosen.mask)
    with client_of(chosen, provider) as client:
        if chosen.partials is None:
            images = client.image(prompt, model, **settings)
        else:
            with client.stream_image(prompt, model, **settings) as stream:
                for partial in stream:
                    if chosen.out != _STDOUT:
                        _save(chosen.out, partial.media.data or b"")
                        report(f"{chosen.out}: partial image {partial.index + 1}")
                images = stream.result()
    saved = [_save_image(chosen.out, number, each) for number, each in enumerate(images)]
    if chosen.json:
        write_json({"images": saved, "text": images.text, **_about(images)})
    elif chosen.out != _STDOUT:
        for each in saved:
            write(each.get("path") or each["url"])
        if images.text:
            report(f"note: {images.text}")
        _report_notes(images)
    return 0


def _save_image(out: str, number: int, image: Media) -> dict[str, Any]:
    """Write an image, and return where it is."""
    from wire.neutral.media_types import media_type_of

    if image.data is None:
        return {"url": image.url, "media_type": image.media_type}
    path = Path(out)
    if number:
        path = path.with_name(f"{path.stem}-{number + 1}{path.suffix}")
    name = _STDOUT if out == _STDOUT else str(path)
    _save(name, image.data)
    told = media_type_of(name)
    if told and told != image.media_type:
        report(f"note: {name} is {image.media_type}")
    return {"path": name, "media_type": image.media_type, "bytes": len(image.data)}


# --- speak ----------------------------------------------------------------------------------------


def _speak_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "words", nargs="*", metavar="TEXT", help="what is spoken; stdin is added to it"
    )
    model_options(command)
    _out_option(command, "the sound")
    command.add_argument("--voice", metavar="NAME", help="a voice of the host; most need one")
    command.add_argument(
        "--format", metavar="WORD", help="mp3, wav, pcm, ... (default: the ending of --out)"
    )
    command.add_argument("--speed", type=decimal, metavar="X", help="1 is usual")
    command.add_argument("--instructions", metavar="TEXT", help="how to speak")
    command.add_argument("--language", metavar="CODE", help="such as en")
    command.add_argument(
        "--stream",
        action="store_true",
        help="write the sound as it arrives",
    )
    json_option(command, "path, usage and cost")


def _speak(chosen: argparse.Namespace) -> int:
    from wire.neutral.speech import SOUND_TYPES

    provider, model = model_of(chosen)
    text = _words(chosen, "TEXT")
    _check_out(chosen.out)
    settings = _given(chosen, "voice", "format", "speed", "instructions", "language")
    ending = Path(chosen.out).suffix.removeprefix(".").lower()
    if "format" not in settings and ending in SOUND_TYPES:
        settings["format"] = ending
    with client_of(chosen, provider) as client:
        if chosen.stream:
            with (
                client.stream_speech(text, model, **settings) as stream,
                _opened(chosen.out) as file,
            ):
                for piece in stream:
                    file.write(piece.data)
                    file.flush()
                speech = stream.result()
        else:
            speech = client.speak(text, model, **settings)
            _save(chosen.out, speech.data)
    if chosen.json:
        found = {"media_type": speech.media.media_type, "bytes": len(speech.data)}
        write_json({"path": chosen.out, **found, **_about(speech)})
    elif chosen.out != _STDOUT:
        write(chosen.out)
        _report_notes(speech)
    return 0


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """Open a file for a stream. Raises `ConfigurationError` with the reason."""
    from wire.core.errors import ConfigurationError
    from wire.core.files import reason_of

    if path == _STDOUT:
        yield sys.stdout.buffer
        return
    try:
        file = open(path, "wb")  # noqa: SIM115  closed below
    except (OSError, ValueError) as cause:
        raise ConfigurationError(f"out: {path}: {reason_of(cause)}") from None
    with file:
        yield file


# --- transcribe -----------------------------------------------------------------------------------


def _transcribe_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("sound", metavar="FILE", help="a sound, or a video")
    model_options(command)
    command.add_argument("--language", metavar="CODE", help="language of the sound, such as en")
    command.add_argument("--prompt", metavar="TEXT", help="a text in the style of the transcript")
    command.add_argument("--temperature", type=decimal, metavar="X", help="0 to 1")
    command.add_argument(
        "--timestamps",
        choices=("segment", "word"),
        action="append",
        help="print the times of segments or words; may be repeated",
    )
    command.add_argument("--speakers", action="store_true", help="tell who speaks")
    command.add_argument("--translate", action="store_true", help="write it down in English")
    command.add_argument("--stream", action="store_true", help="print the text as it arrives")
    json_option(command, "text, segments, words, usage and cost")


def _transcribe(chosen: argparse.Namespace) -> int:
    from wire.core.errors import ConfigurationError
    from wire.core.files import open_regular

    provider, model = model_of(chosen)
    names = ("language", "prompt", "temperature", "timestamps", "speakers", "translate")
    settings = _given(chosen, *names)
    with open_regular(chosen.sound, ConfigurationError) as file:
        sound = Upload(file, chosen.sound)
        with client_of(chosen, provider) as client:
            if chosen.stream and not chosen.json:
                with client.stream_transcript(sound, model, **settings) as stream:
                    for piece in stream:
                        _write_piece(piece)
                    transcript = stream.result()
                write("")
            else:
                transcript = client.transcribe(sound, model, **settings)
                _write_transcript(transcript, timed=bool(settings), json=chosen.json)
    if not chosen.json:
        _report_notes(transcript)
    return 0


def _write_piece(piece: Any) -> None:
    from wire.neutral.messages import TextDelta

    if isinstance(piece, TextDelta):
        write(piece.text, end="")
    else:
        write(_line(piece))


def _write_transcript(transcript: Transcript, *, timed: bool, json: bool) -> None:
    import msgspec

    if json:
        parts = {
            "text": transcript.text,
            "segments": msgspec.to_builtins(transcript.segments),
            "words": msgspec.to_builtins(transcript.words),
            "language": transcript.language,
            "seconds": transcript.seconds,
        }
        write_json({**parts, **_about(transcript)})
        return
    if not (timed and (transcript.segments or transcript.words)):
        write(transcript.text)
    for segment in transcript.segments if timed else ():
        write(_line(segment))
    for word in transcript.words if timed else ():
        write(f"{_span(word.start, word.end)} {word.text}")


def _line(segment: TranscriptSegment) -> str:
    who = f" {segment.speaker}:" if segment.speaker else ""
    return f"{_span(segment.start, segment.end)}{who} {segment.text.strip()}".strip()


def _span(start: float | None, end: float | None) -> str:
    return "" if start is None or end is None else f"[{start:.2f} - {end:.2f}]"


class Upload:
    """A file that reports on stderr how much of it was read, if that is a terminal."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self.name = os.path.basename(path)
        self._file, self._told = file, 0
        self._size = os.fstat(file.fileno()).st_size
        self._shows = is_terminal(sys.stderr) and self._size > _STEP

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes."""
        data = self._file.read(size)
        at = self._file.tell()
        if self._shows and data and (at - self._told >= _STEP or at == self._size):
            self._told = at
            sent, whole = at / _MEGABYTE, self._size / _MEGABYTE
            end = "\n" if at == self._size else ""
            print(f"\rsent {sent:.0f} of {whole:.0f} MB", end=end, file=sys.stderr, flush=True)
        return data

    def tell(self) -> int:
        """Return the position."""
        return self._file.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Change the position, such as for a second attempt."""
        self._told = 0
        return self._file.seek(offset, whence)


COMMANDS = (
    Command("image", "make an image, or change pictures", _image_options, _image),
    Command("speak", "speak a text into a file", _speak_options, _speak),
    Command("transcribe", "write down what is said in a sound", _transcribe_options, _transcribe),
)
