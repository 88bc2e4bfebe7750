"""A folder of responses, one cassette for each request."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from wire.core.arguments import number, whole_number
from wire.core.errors import CassetteError, ConfigurationError
from wire.core.files import read_whole
from wire.core.secret import Secret, sealed_list
from wire.testing.cassette.deck import Keep
from wire.testing.cassette.format.bodies import body_chunks
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.kept_headers import Headers, request_headers
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.format.structs import End
from wire.testing.cassette.heard import Heard
from wire.testing.cassette.matching import Match
from wire.testing.cassette.player import Played
from wire.testing.cassette.recorder import Recorder, Timing

_ASKS = re.compile(
    r".*(?::(?:generateContent|streamGenerateContent|embedContent|batchEmbedContents|countTokens)"
    r"|/(?:chat/completions|completions|responses|embeddings|decisions|systemone|messages"
    r"|messages/count_tokens))"
)
"""The path of a request that only asks. Others, such as that of a batch or of a file,
change something on the server, or ask for its state."""

_NOT_COMPARED = frozenset({"accept", "content-type", "content-encoding"})


class Entries:
    """The entries of one folder.

    Several processes may use it: an entry is written atomically, and the last one wins.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        match: Match,
        max_age: float | None,
        max_bytes: int | None,
        secrets: Iterable[str | Secret],
    ) -> None:
        if max_age is not None:
            number("max_age", max_age, above=0, error=ConfigurationError)
        if max_bytes is not None:
            whole_number("max_bytes", max_bytes, least=0, error=ConfigurationError)
        self._folder, self._match = Path(folder), match
        self._max_age, self._max_bytes = max_age, max_bytes
        self._secrets = sealed_list(secrets)
        self.hits = self.misses = 0
        self.refused: list[CassetteError] = []

    def take(self, sent: Sent) -> Played | Keep | None:
        """Return the response of an entry, the function that keeps a live one, or `None`.

        `None` means that the request is not cached.

        Raises `CassetteError` for an entry that is malformed.
        """
        if not _asks(sent):
            return None
        path = self._folder / f"{self._name(sent)}.cassette.json"
        played = self._read(path)
        if played is not None:
            self.hits += 1
            return played
        self.misses += 1
        return functools.partial(self._keep, path, sent)

    def _name(self, sent: Sent) -> str:
        headers = request_headers(sent.headers)
        request = self._match.compared(
            sent.method, sent.url, sent.body, headers.get("content-type", "")
        )
        versions = {name: headers[name] for name in headers.keys() - _NOT_COMPARED}
        return hashlib.sha256(f"{request.key} {sorted(versions.items())}".encode()).hexdigest()[:40]

    def _read(self, path: Path) -> Played | None:
        try:
            age = time.time() - path.stat().st_mtime
            data = read_whole(path, CassetteError)
        except FileNotFoundError:
            return None
        except CassetteError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None  # another process has removed it meanwhile
            raise
        if self._max_age is not None and age > self._max_age:
            return None
        [interaction] = load(data, os.fspath(path)).interactions
        response = interaction.response
        return Played(response.status, response.headers, body_chunks(response.body), response.end)

    def _keep(
        self,
        path: Path,
        sent: Sent,
        status: int,
        headers: Headers,
        body: bytes,
        end: End,
        timing: Timing | None,
        heard: Heard | None,
    ) -> CassetteError | None:
        """Write an entry. An error and a response that broke off are not kept."""
        if not 200 <= status < 300 or end != "eof":
            return None
        # In one file, which another process reads whole or not at all.
        recorder = Recorder(path, self._secrets, side_files=False)
        refused = recorder.keep(recorder.send(sent), sent, status, headers, body, end)
        if refused is not None:
            self.refused.append(refused)
        self._trim()
        return None

    def _trim(self) -> None:
        """Remove the oldest entries until the others have at most `max_bytes`."""
        if self._max_bytes is None:
            return
        entries: list[tuple[float, int, Path]] = []
        for path in self._folder.glob("*.cassette.json"):
            try:
                found = path.stat()
            except OSError:
                continue
            entries.append((found.st_mtime, found.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self._max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size


def _asks(sent: Sent) -> bool:
    if sent.method.upper() != "POST" or not _ASKS.fullmatch(urlsplit(sent.url).path):
        return False
    try:
        body = msgspec.json.decode(sent.body)
    except (ValueError, RecursionError):
        return True
    return not (isinstance(body, dict) and body.get("background"))
