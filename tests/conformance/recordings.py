"""Recordings of other projects: converted to cassettes, replayed through a transport, and each
answer decoded and folded as a record of the corpus is (C-37).
"""

from __future__ import annotations

import base64
import collections
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from msgspec import UNSET

from tests.conformance import corpus
from tests.conformance.records import Record
from tests.conformance.result import Result
from wire.errors import CassetteError
from wire.providers import owner_of
from wire.testing import Replay
from wire.testing.cassette.convert.conversion import NothingToConvert, convert
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.structs import Interaction

_SUFFIXES = (".yaml", ".yml", ".json", ".har", ".yaml.gz")


def run(arguments: list[str]) -> Result:
    """Every recording in the folders; prints how many were converted and why others were not."""
    result = Result()
    refused: collections.Counter[str] = collections.Counter()
    converted = 0
    for folder in arguments:
        for path in sorted(Path(folder).rglob("*")):
            if not path.name.endswith(_SUFFIXES) or not path.is_file():
                continue
            try:
                text = convert(path.read_bytes(), path.name).text
            except NothingToConvert:
                continue
            except CassetteError as error:
                refused[error.message.partition(": ")[2]] += 1
                continue
            converted += 1
            for record in _replayed(text, path.name):
                result.records += 1
                checks = corpus.scope(record)
                if isinstance(checks, str):
                    result.out_of_scope += 1
                else:
                    result.hold(record, checks, "url")
    print(f"{converted} files converted, {refused.total()} refused")
    for reason, number in refused.most_common():
        print(f"  {number}: {reason}"[:300])
    return result


def _replayed(text: str, name: str) -> Iterator[Record]:
    """Sends each recorded request to a replay, and yields what the client got."""
    interactions = load(text.encode(), name).interactions
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.cassette.json")
        path.write_text(text, "utf-8")
        with httpx.Client(transport=Replay(path), trust_env=False) as client:
            for index, each in enumerate(interactions):
                sent = body_bytes(each.request.body)
                got = client.request(
                    each.request.method,
                    each.request.url,
                    content=sent,
                    headers=each.request.headers,
                    follow_redirects=False,
                )
                assert got.content == body_bytes(each.response.body), f"{name} {index}"
                yield _record(each, sent, got, f"{name}#{index}")


def _model(url: str, body: object) -> str:
    if isinstance(body, dict) and "model" in body:
        return str(body["model"])
    return urlsplit(url).path.rpartition("/")[2].partition(":")[0]


def _record(each: Interaction, sent: bytes, got: httpx.Response, name: str) -> Record:
    """What the client got, as a record of the corpus."""
    url = each.request.url
    row = owner_of(urlsplit(url).hostname or "")
    vendor = "" if row is None else row.wire
    try:
        body = json.loads(sent)
    except ValueError:
        body = sent.decode("utf-8", "replace")
    try:
        text, encoding = got.content.decode(), ""
    except UnicodeDecodeError:
        text, encoding = base64.b64encode(got.content).decode(), "base64"
    received = each.response.body
    streamed = received is not UNSET and received.events is not UNSET
    return {
        "id": name,
        "vendor": vendor if vendor in ("gemini", "anthropic") else f"openai-{vendor}",
        "provider": "" if row is None else row.name,
        "endpoint": urlsplit(url).path.rpartition("/")[2].rpartition(":")[2],
        "model": _model(url, body),
        "method": each.request.method,
        "url": url,
        "request_headers": each.request.headers,
        # The rules for requests are those of today, and the models of old recordings are gone.
        "request_body": None,
        "status": got.status_code,
        "response_headers": dict(got.headers),
        "response_body": text,
        "response_body_encoding": encoding,
        "framing": "sse" if streamed else "none",
        "fidelity": "bytes",
    }
