"""The bytes of requests: a snapshot for each conversation, the same bytes each time, and the same
body for plain and streamed calls.
"""

from __future__ import annotations

import pickle

import msgspec
import pytest

from tests.joined import joined
from wire import gemini
from wire.core.memory import encode, notes
from wire.gemini import GenerateContentRequest

from .conversations import CONVERSATIONS, RECEIVED_CONTENT

MODEL = "gemini-3-pro-preview"


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_snapshot(name, snapshot):
    request = CONVERSATIONS[name]()
    sent = gemini.generate_content(MODEL, request)
    assert {
        "to": f"{sent.method} {sent.target}",
        "headers": dict(sent.headers),
        "body": sent.body.decode(),
        "notes": [str(note) for note in notes(request.contents)]
        + [str(note) for note in notes(request.tools)],
    } == snapshot


@pytest.mark.row("S2-32")
@joined("name", CONVERSATIONS)
def test_both_transports_send_one_body(name):
    request = CONVERSATIONS[name]()
    streamed = gemini.stream_generate_content(MODEL, request)
    assert streamed.body == gemini.generate_content(MODEL, request).body
    assert (streamed.path, dict(streamed.query)) == (
        f"/models/{MODEL}:streamGenerateContent",
        {"alt": "sse"},
    )


@joined("name", CONVERSATIONS)
def test_building_again_gives_the_same_bytes(name):
    first, second = (gemini.generate_content(MODEL, CONVERSATIONS[name]()).body for _ in range(2))
    assert first == second


@joined("name", CONVERSATIONS)
def test_a_request_that_was_stored_sends_the_same_bytes(name):
    request = CONVERSATIONS[name]()
    assert encode(pickle.loads(pickle.dumps(request))) == encode(request)


@joined("name", [name for name in CONVERSATIONS if not name.startswith("received")])
def test_body_reads_back_as_the_request(name):
    """No key that the structs lack is sent, and no `null` for an absent field (S2-12)."""
    request = CONVERSATIONS[name]()
    body = gemini.generate_content(MODEL, request).body
    assert msgspec.json.decode(body, type=GenerateContentRequest) == request
    assert ":null" not in body.decode().replace(
        '"result":null', ""
    )  # a result that is null is a value


def test_received_content_goes_back_byte_for_byte():
    body = gemini.generate_content(MODEL, CONVERSATIONS["received"]()).body
    assert body.startswith(
        b'{"contents":[{"parts":[{"text":"How high is the tide?"}],"role":"user"},'
        + RECEIVED_CONTENT
        + b","
    )


@pytest.mark.parametrize(
    "part",
    [
        b'{"text": "Let me","thought": true}',
        b'{"functionCall": {"name": "tide","args": {}},"thoughtSignature": "CkkBdGlkZQ=="}',
        b'{"text": ""}',
    ],
)
def test_parts_of_a_stream_go_back_byte_for_byte(part):
    assert part in gemini.generate_content(MODEL, CONVERSATIONS["received-stream"]()).body
