"""Snapshots of the request body of each conversation, for OpenAI and for three dialects."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
import pytest

from tests.gemini.conversations import CONVERSATIONS as GEMINIS
from tests.joined import joined
from wire import openai
from wire.core.memory import encode, notes
from wire.errors import RuleError
from wire.openai.common.dialect import Dialect
from wire.providers import PROVIDERS

from .conversations import CONVERSATIONS, NOT_HERE, RECEIVED_MESSAGE

DIALECTS = ("openai", "deepseek", "mistral", "minimax")
MODELS = {
    "openai": "gpt-5.4",
    "deepseek": "deepseek-v4-pro",
    "mistral": "mistral-medium-latest",
    "minimax": "MiniMax-M3",
}


def dialect_of(provider: str) -> Dialect:
    dialect = PROVIDERS[provider].dialect
    assert dialect is not None
    return dialect


def request_of(name: str, provider: str) -> openai.ChatCompletionRequest:
    return msgspec.structs.replace(
        CONVERSATIONS[name](dialect_of(provider)), model=MODELS[provider]
    )


def sent(request: openai.ChatCompletionRequest, provider: str) -> Any:
    """The call as the provider's client sends it."""
    return openai.chat_completions(request).judge(PROVIDERS[provider])


def shown(request: openai.ChatCompletionRequest, provider: str) -> Any:
    """The request that the provider's client sends, or the violations that prevent it."""
    try:
        call = sent(request, provider)
    except RuleError as error:
        return {"refused": [str(each) for each in error.violations]}
    return {
        "to": f"{call.method} {call.target}",
        "headers": dict(call.headers),
        "body": call.body.decode(),
        "notes": [str(note) for note in notes(request.messages)],
    }


@pytest.mark.parametrize("provider", DIALECTS)
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_snapshot(name: str, provider: str, snapshot: Any):
    assert shown(request_of(name, provider), provider) == snapshot


def test_every_conversation_of_the_other_wire_is_here_or_it_is_said_why_not():
    assert sorted([*(set(GEMINIS) & set(CONVERSATIONS)), *NOT_HERE]) == sorted(GEMINIS)


@joined("name", CONVERSATIONS)
def test_a_stream_asks_for_the_same_and_for_usage(name: str):
    request = request_of(name, "openai")
    whole = msgspec.json.decode(openai.chat_completions(request).body)
    streamed = msgspec.json.decode(openai.stream_chat_completions(request).body)
    assert streamed == {**whole, "stream": True, "stream_options": {"include_usage": True}}


@joined("name", CONVERSATIONS)
def test_a_request_that_was_stored_sends_the_same_bytes(name: str):
    request = request_of(name, "deepseek")
    assert (
        encode(pickle.loads(pickle.dumps(request)))
        == encode(request)
        == encode(request_of(name, "deepseek"))
    )


def test_a_received_message_goes_back_byte_for_byte():
    assert RECEIVED_MESSAGE in openai.chat_completions(request_of("received", "openai")).body


def test_calls_of_a_received_message_keep_their_bytes_where_the_message_does_not():
    body = openai.chat_completions(request_of("received", "deepseek")).body
    assert rb'"function":{"name":"tide","arguments":"{ \"port\" : \"Brest\" }"}' in body
    assert b'"mood"' not in body
    assert b'"shore"' not in body


def test_what_the_caller_says_of_usage_stays():
    options = openai.StreamOptions(include_usage=False)
    request = msgspec.structs.replace(request_of("plain", "openai"), stream_options=options)
    assert (
        b'"stream_options":{"include_usage":false}' in openai.stream_chat_completions(request).body
    )


def test_only_the_clients_dialect_refuses():
    request = request_of("response-schema", "deepseek")
    call = openai.chat_completions(request)
    with pytest.raises(RuleError) as caught:
        sent(request, "deepseek")
    assert caught.value.violations[0].path == "response_format.type"
    assert call.judge(PROVIDERS["openai"]).body == call.body
