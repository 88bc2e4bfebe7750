"""Paths, headers and answers of the calls."""

from __future__ import annotations

from typing import Any

import pytest

from tests.converse.samples import CLAUDE, NOVA, asked, client
from tests.joined import joined
from wire import converse
from wire.converse import ContentBlock, CountTokensInput, CountTokensRequest, Message
from wire.errors import APIError, ConfigurationError, RateLimitError
from wire.testing.emulator import Emulator

ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-6"
COUNTED = CountTokensRequest(
    input=CountTokensInput(
        converse=converse.ConverseTokensRequest(
            messages=[Message(role="user", content=[ContentBlock(text="Hi")])]
        )
    )
)


@joined(
    ("model", "segment"),
    [
        (NOVA, NOVA),
        (CLAUDE, CLAUDE),
        (ARN, ARN.replace("/", "%2F")),
        ("a b?c#d%e", "a%20b%3Fc%23d%25e"),
    ],
)
def test_the_model_is_one_segment(model: str, segment: str) -> None:
    for call, end in (
        (converse.converse(model, asked()), "converse"),
        (converse.converse_stream(model, asked()), "converse-stream"),
        (converse.count_tokens(model, COUNTED), "count-tokens"),
    ):
        assert (call.method, call.target) == ("POST", f"/model/{segment}/{end}")


@joined("model", ["\ud800", "a\udfff", "", "..", "."])
def test_a_segment_that_is_none_is_refused(model: str) -> None:
    for make in (converse.converse, converse.converse_stream):
        with pytest.raises(ConfigurationError):
            make(model, asked())
    with pytest.raises(ConfigurationError):
        converse.count_tokens(model, COUNTED)


def test_calls_of_the_emulator() -> None:
    emulator = Emulator([{"say": "High."}, {"say": "High."}])
    with client(emulator) as sender:
        whole = sender.send(converse.converse(NOVA, asked()))
        with sender.stream(converse.converse_stream(NOVA, asked())) as stream:
            texts = [event.text for event in stream]
            streamed = stream.result()
        count = sender.send(converse.count_tokens("anthropic.claude-sonnet-4-6", COUNTED))
    assert whole.text == streamed.text == "".join(texts) == "High."
    assert (whole.stop_reason, streamed.stop_reason) == ("end_turn", "end_turn")
    assert streamed.usage is not None
    assert (count.input_tokens or 0) > 0
    [first, second, third] = emulator.requests
    assert first["target"].endswith("/converse")
    assert second["target"].endswith("/converse-stream")
    assert third["body"] == {
        "input": {"converse": {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}}
    }


@joined(
    ("name", "status", "expected"),
    [
        ("ThrottlingException", 429, RateLimitError),
        ("ValidationException", 400, APIError),
        ("AccessDeniedException", 403, APIError),
    ],
)
def test_the_header_has_the_type(name: str, status: int, expected: type[APIError]) -> None:
    headers = {"X-Amzn-ErrorType": f"{name}:http://internal.amazon.com/coral/"}
    for body in (b'{"message":"No."}', b'{"Message":"No."}', b"", b"<html>"):
        error = converse.parse_error(status, headers, body)
        assert isinstance(error, expected)
        assert (error.status, error.code, error.raw) == (status, name, body)


@joined(
    ("model", "options", "sent"),
    [
        (
            "amazon.titan-embed-text-v2:0",
            {"dimensions": 256},
            {"inputText": "low tide", "dimensions": 256},
        ),
        ("cohere.embed-english-v3", {}, {"texts": ["low tide"], "input_type": "search_document"}),
    ],
)
def test_embeddings(model: str, options: dict[str, Any], sent: dict[str, Any]) -> None:
    emulator = Emulator()
    with client(emulator) as sender:
        [vector] = sender.embed(["low tide"], model, **options)
    assert len(vector) > 10
    [request] = emulator.requests
    assert request["target"].endswith(f"/model/{model}/invoke")
    assert {key: request["body"].get(key) for key in sent} == sent


def test_models_are_listed_elsewhere() -> None:
    with client() as sender, pytest.raises(ConfigurationError):
        list(sender.models())
