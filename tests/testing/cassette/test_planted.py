"""C-12: twelve kinds of secret in ten places of an exchange, and none in any file."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from tests.testing.cassette.planted import planted, value_of
from wire.core.credentials import known_credential
from wire.core.secret import in_base64
from wire.errors import CassetteError
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.recorder import Recorder

KINDS = {kind: value_of(text) for kind, text in planted(11).items()}
STREAM = "text/event-stream"


class Exchange(NamedTuple):
    url: str = "https://llm.example/v1"
    header: str = "beta-1"
    request: bytes = b"{}"
    status: int = 200
    response: bytes = b"{}"
    content_type: str = "application/json"
    coding: str = ""


def _stream(pieces: list[str]) -> bytes:
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in deltas)


def _escaped(secret: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in secret)


def _json(secret: str) -> bytes:
    return json.dumps({"echo": [f"see {secret}"]}).encode()


PLACES: dict[str, Callable[[str], Exchange]] = {
    "the key in the URL": lambda s: Exchange(
        url=f"https://llm.example/v1?alt=sse&key={quote(s, safe='')}"
    ),
    "the path": lambda s: Exchange(url=f"https://llm.example/{quote(s, safe='')}/v1"),
    "a header that is kept": lambda s: Exchange(header=" ".join(s.split())),
    "the request's JSON": lambda s: Exchange(request=_json(s)),
    "the response's echo": lambda s: Exchange(response=_json(s)),
    "an error": lambda s: Exchange(status=401, response=_json(s)),
    "two events": lambda s: Exchange(
        response=_stream(["see ", s[:7], s[7:], " there"]), content_type=STREAM
    ),
    "JSON in a text of events, with escapes": lambda s: Exchange(
        response=_stream(['{"a": "', _escaped(s)[:20], _escaped(s)[20:], '"}']),
        content_type=STREAM,
    ),
    "gzip": lambda s: Exchange(response=gzip.compress(_json(s)), coding="gzip"),
    "bytes": lambda s: Exchange(
        response=b"\xff" * 5000 + s.encode(), content_type="application/octet-stream"
    ),
    **{
        f"base64, {before} bytes before": lambda s, before=before: Exchange(
            response=_json(base64.b64encode(b"x" * before + s.encode() + b"yy").decode())
        )
        for before in range(3)
    },
}
WRITTEN = {"the key in the URL"}
"""Places of which the rest is written, without the secret."""
OF_VENDORS = {kind for kind, secret in KINDS.items() if known_credential(secret)}
BY_FORM = {"the path": OF_VENDORS - {"private key"}, "a header that is kept": OF_VENDORS}
"""Places where the form of a key is enough: the path is written without it, the header is not."""


@pytest.mark.row("C-12")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("is_known", [True, False])
def test_twelve_kinds_in_no_file(
    tmp_path: Path, place: str, is_known: bool, monkeypatch: pytest.MonkeyPatch
):
    """And without the search, each file would have its secret, so that the search is what helps."""
    for name in list(os.environ):
        if re.search("(KEY|TOKEN|SECRET|PASSWORD)$", name, re.IGNORECASE):
            monkeypatch.delenv(name)
    leaked, refused = set(), set()
    for number, (kind, secret) in enumerate(KINDS.items()):
        exchange = PLACES[place](secret)
        recorder = Recorder(tmp_path / str(number) / "x.json", [secret] if is_known else [])
        sent = Sent("POST", exchange.url, [("anthropic-beta", exchange.header)], exchange.request)
        headers = [("content-type", exchange.content_type)]
        headers += [("content-encoding", exchange.coding)] if exchange.coding else []
        problem = recorder.keep(
            recorder.send(sent), sent, exchange.status, headers, exchange.response, "eof"
        )
        if problem is not None:
            assert type(problem) is CassetteError
            assert secret not in str(problem)
            refused.add(kind)
        if any(_has(path, secret) for path in (tmp_path / str(number)).rglob("*")):
            leaked.add(kind)
    if is_known:
        by_form = BY_FORM[place] if place == "the path" else set()
        written = set(KINDS) if place in WRITTEN else by_form
        assert (leaked, refused) == (set(), set(KINDS) - written)
    elif place in BY_FORM:
        assert leaked == set(KINDS) - BY_FORM[place]
        assert refused == (set() if place == "the path" else BY_FORM[place])
    elif place not in WRITTEN:
        assert (leaked, refused) == (set(KINDS), set())


def _has(path: Path, secret: str) -> bool:
    """Whether a file has a secret in any form, looked for in another way than the recorder's."""
    if not path.is_file():
        return False
    data = path.read_bytes()
    texts = [data.decode("latin-1")]
    try:
        interactions = json.loads(data)["interactions"]
        bodies = [side.get("body", {}) for each in interactions for side in each.values()]
        for body in bodies:
            if "base64" in body:
                texts.append(base64.b64decode("".join(body["base64"])).decode("latin-1"))
            pieces = (event["json"]["partial_json"] for event in body.get("events", ()))
            texts.append("".join(pieces))
            texts += [json.loads(text)["a"] for text in texts[-1:] if text.startswith("{")]
            texts += json.loads(json.dumps(body.get("json", {}))).get("echo", [])
    except UnicodeDecodeError:
        pass  # a side file
    forms = (secret, quote(secret, safe=""), " ".join(secret.split()), *in_base64(secret.encode()))
    return any(form in text for form in forms for text in texts)
