"""Files beside a cassette: binary contents that are larger than 4 KiB (C-08).

`tide.cassette.json` has its side files in the folder `tide.cassette.json.files`. The name of each
is the SHA-256 of its content, so a name leads to no other folder (C-14), and content that changed
is noticed.

In the text of a cassette the token `<sha256:...>` stands for the base64 of a file. Base64 that is
part of a JSON text, such as an image, is moved out only if it converts back to identical bytes.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from wire.core.errors import CassetteError
from wire.core.files import MAX_FILE_BYTES, read_whole, write_whole

INLINE_BYTES = 4 * 1024
"""Bytes of the largest binary content that stands in the cassette itself."""

Coding = Literal["base64", "base64url", "base64 unpadded", "base64url unpadded"]
"""How JSON has the content: with `+/` or with `-_`, and with `=` at its end or without."""

DIGEST = re.compile(r"[0-9a-f]{64}")

_MIN_BASE64 = INLINE_BYTES // 3 * 4
# A complete JSON string, or the complete data in a data URL. Base64 with an escape, such as `\/`,
# does not match and stays.
_BASE64 = re.compile(
    rb'(?:(?<=")|(?<=;base64,))(?:[A-Za-z0-9+/]{%d,}|[A-Za-z0-9_-]{%d,})={0,2}(?=")'
    % (_MIN_BASE64, _MIN_BASE64)
)
_TOKEN = re.compile(rb"<sha256:([0-9a-f]{64})>")
_MAGIC = (
    (re.compile(rb"\x89PNG\r\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"RIFF....WAVE", re.DOTALL), "audio/wav"),
    (re.compile(rb"ID3|\xff[\xf2\xf3\xfb]"), "audio/mpeg"),
    (re.compile(rb"OggS"), "audio/ogg"),
    (re.compile(rb"fLaC"), "audio/flac"),
    (re.compile(rb"....ftyp", re.DOTALL), "video/mp4"),
    (re.compile(rb"%PDF-"), "application/pdf"),
    (re.compile(rb"PK\x03\x04"), "application/zip"),
)
UNKNOWN_TYPE = "application/octet-stream"


def digest_of(content: bytes) -> str:
    """Return the name of a side file."""
    return hashlib.sha256(content).hexdigest()


def media_type_of(content: bytes) -> str:
    """Detect the media type of a content by its first bytes.

    >>> media_type_of(b"%PDF-1.7"), media_type_of(b"...")
    ('application/pdf', 'application/octet-stream')
    """
    return next((kind for magic, kind in _MAGIC if magic.match(content)), UNKNOWN_TYPE)


# --- base64 in JSON -------------------------------------------------------------------------------


def has_token(json: bytes) -> bool:
    """Return whether a JSON text has what looks like a token."""
    return _TOKEN.search(json) is not None


def moved_out(json: bytes, moved: dict[str, tuple[Coding, bytes]]) -> bytes:
    """Replace large base64 in a JSON text by tokens, and add the contents to `moved`."""

    def token(match: re.Match[bytes]) -> bytes:
        found = _decoded(match[0])
        if found is None or len(found[1]) <= INLINE_BYTES:
            return match[0]
        digest = digest_of(found[1])
        # A token has one coding: the same content in another one stays.
        same = moved.setdefault(digest, found)[0] == found[0]
        return f"<sha256:{digest}>".encode() if same else match[0]

    return _BASE64.sub(token, json)


def moved_in(json: bytes, base64_of: Callable[[str], bytes | None]) -> bytes:
    """Undo `moved_out`.

    `base64_of` returns the base64 of a digest, or `None` if the token was received and does not
    stand for a content.
    """

    def content(match: re.Match[bytes]) -> bytes:
        found = base64_of(match[1].decode())
        return match[0] if found is None else found

    return _TOKEN.sub(content, json)


def encoded(content: bytes, coding: Coding) -> bytes:
    """Encode a content as base64."""
    encode = base64.urlsafe_b64encode if coding.startswith("base64url") else base64.b64encode
    text = encode(content)
    return text.rstrip(b"=") if coding.endswith("unpadded") else text


def _decoded(text: bytes) -> tuple[Coding, bytes] | None:
    """Decode base64; return its coding and its content.

    Returns `None` if encoding the content again gives other bytes.
    """
    letters: Coding = "base64url" if b"-" in text or b"_" in text else "base64"
    unpadded: Coding = "base64url unpadded" if letters == "base64url" else "base64 unpadded"
    padded = text if text.endswith(b"=") else text + b"=" * (-len(text) % 4)
    try:
        content = base64.b64decode(padded, b"-_" if letters == "base64url" else None)
    except ValueError:
        return None
    return next(
        ((each, content) for each in (letters, unpadded) if encoded(content, each) == text), None
    )


# --- the folder -----------------------------------------------------------------------------------


class Folder:
    """The side files of the cassette at `path`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Beside the file itself, so that a symlink to a cassette leads to its side files too.
        self.path = os.path.realpath(os.fsdecode(path)) + ".files"
        self._left = MAX_FILE_BYTES

    def read(self, digest: str, length: int) -> bytes:
        """Read the content of a file.

        Raises `CassetteError` with the path if the file is missing, is a symlink or lies behind one
        (it could lead to any file), or has another content than its name says.
        """
        name = self._name(digest)
        # A few short tokens could stand for one large file many times (C-14).
        self._left -= length
        if self._left < 0:
            raise CassetteError(
                f"{self.path}: the cassette repeats its side files to more than "
                f"{MAX_FILE_BYTES:,} bytes"
            )
        content = read_whole(name, CassetteError)
        if len(content) != length:
            raise CassetteError(f"{name}: has {len(content):,} bytes; the cassette says {length:,}")
        if digest_of(content) != digest:
            raise CassetteError(f"{name}: its content has another SHA-256 than its name")
        return content

    @property
    def exists(self) -> bool:
        """Whether there is such a folder."""
        return os.path.isdir(self.path)

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write the files that are not there yet."""
        for digest, content in files.items():
            name = self._name(digest)
            if not os.path.exists(name) or os.path.getsize(name) != len(content):
                write_whole(name, content, CassetteError)

    def remove(self, digests: Iterable[str]) -> None:
        """Remove files, and the folder if nothing else is in it."""
        names = [self._name(digest) for digest in digests]
        for name in names:
            try:
                os.unlink(name)
            except FileNotFoundError:
                pass
            except OSError as cause:
                raise CassetteError(f"{name}: cannot be removed: {cause.strerror}") from cause
        if names:
            try:
                os.rmdir(self.path)
            except OSError:
                pass  # it has other files

    def _name(self, digest: str) -> str:
        assert DIGEST.fullmatch(digest)
        name = os.path.join(self.path, digest)
        for each in (self.path, name):
            if os.path.islink(each):
                raise CassetteError(f"{each}: a symlink is not followed for side files")
        return name


def named_in(text: bytes) -> set[str]:
    """Return the digests of the side files that the text of a cassette names."""
    return {match.decode() for match in re.findall(rb'"sha256": ?"([0-9a-f]{64})"', text)}
