"""Labels of tickets, and their tests, recorded with `pytest --wire-record-mode=once`."""

from pathlib import Path
from typing import Literal

import pytest

from wire import Chat, Retry, errors
from wire.testing.emulator import Emulator, EmulatorTransport

Label = Literal["bug", "question", "praise"]
MODEL = "openai:gpt-5.4"


def label(ticket: str, chat: Chat) -> Label:
    found: Label = chat.ask(f"Label this ticket: {ticket}", output=Label).output
    return found


@pytest.mark.parametrize(
    ("ticket", "expected"),
    [
        ("It crashes when I save: a bug.", "bug"),
        ("I have a question: where is the export?", "question"),
        ("Nothing but praise from me!", "praise"),
    ],
)
def test_label(wire_chat, ticket, expected):
    assert label(ticket, wire_chat(MODEL)) == expected


def test_429_is_retried():
    http = EmulatorTransport(Emulator([{"fault": "429"}, {"say": '{"value": "bug"}'}]))
    assert (
        label("It crashes.", Chat(MODEL, api_key="fake", http=http, retry=Retry(base=0))) == "bug"
    )


def test_401():
    with pytest.raises(errors.AuthenticationError):
        label("Hello?", Chat(MODEL, api_key="invalid", http=EmulatorTransport()))


def test_no_key_in_recordings():
    for path in Path(__file__).with_name("cassettes").rglob("*.json"):
        assert "authorization" not in path.read_text().lower()
