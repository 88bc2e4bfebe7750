"""Lines of a file of cases, and the bodies in them."""

from __future__ import annotations

import base64
import gzip
import json
import random
import sys
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.conformance.result import Mismatch
from wire.core.hosts import is_loopback
from wire.core.provider import Provider
from wire.providers import PROVIDERS, owner_of

Record = dict[str, Any]


def lines(path: Path, needed: Sequence[str]) -> Iterator[Record]:
    """Lines of a file, split at LF only, each with the keys it needs.

    Raises `SystemExit` that names file and line of a broken one.
    """
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with (gzip.open if packed else open)(
        path, "rt", encoding="utf-8", errors="surrogatepass", newline="\n"
    ) as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line)
                missing = [key for key in needed if key not in record]
            except ValueError as cause:
                sys.exit(f"{path}:{number}: no JSON: {cause}")
            if missing:
                sys.exit(f"{path}:{number}: $.{missing[0]} is missing")
            yield record


def body_of(record: Record) -> bytes:
    """The body as it came."""
    text = record["response_body"]
    return (
        base64.b64decode(text)
        if record.get("response_body_encoding") == "base64"
        else text.encode("utf-8", "surrogatepass")
    )


def cut_at_random(body: bytes, seed: str) -> list[bytes]:
    """The body in some twenty pieces."""
    dice = random.Random(seed)
    cuts = sorted(dice.randrange(len(body) + 1) for _ in range(20))
    return [body[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


def row_of(record: Record, wire: str) -> Provider | str:
    """The row of the host that answered, `""` if it has none for the wire; a local server is known
    by name.
    """
    names = {"llamacpp": "llama.cpp", "ollama": "ollama"}
    host = urllib.parse.urlsplit(str(record.get("url"))).hostname or ""
    if is_loopback(host):
        name = names.get(str(record.get("provider")))
        row = PROVIDERS[name] if name else None
    else:
        row = owner_of(host)
    # A recording of vLLM has the URL of OpenAI, whose models have no slash in their names.
    if row is None or (row.name == "openai" and "/" in str(record.get("model"))):
        return ""
    if row.wire == wire:
        return row
    family = [each for each in PROVIDERS.values() if each.family == row.family]
    return next((each for each in family if each.wire == wire), "")


def path_of(record: Record) -> str:
    """The path that was asked, without its query."""
    return str(record.get("url")).partition("?")[0].rstrip("/")


def same_bytes(ours: bytes | None, theirs: bytes) -> None:
    if ours != theirs:
        raise Mismatch("kept bytes are not those that came")
