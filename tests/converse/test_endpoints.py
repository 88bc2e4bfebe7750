"""Paths, headers and answers of the calls."""

from __future__ import annotations

from typing import Any

import pytest

from tests.converse.samples import CLAUDE, NOVA, asked, client
from tests.joined import joined
from wire import Client, converse
from wire.converse import ContentBlock, CountTokensInput, CountTokensRequest, Message
from wire.errors import APIError, ConfigurationError, RateLimitError
from wire.testing.emulator import Emulator, EmulatorTransport

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


def test_models_and_profiles_are_listed_at_a_host_of_their_own() -> None:
    lists = Client(
        "bedrock@models", region="us-east-1", api_key="fake-key", http=EmulatorTransport(Emulator())
    )
    with client() as sender, pytest.raises(ConfigurationError, match="bedrock@models"):
        list(sender.models())
    with lists:
        found = [each.id for each in lists.models()]
        of_amazon = lists.send(converse.list_models(by_provider="Amazon")).model_summaries or []
        page = lists.send(converse.list_inference_profiles(max_results=9))
        with pytest.raises(ConfigurationError, match="answers nothing else"):
            lists.send(converse.converse("amazon.nova-lite-v1:0", asked()))
    assert "anthropic.claude-opus-4-8-v1:0" in found
    assert "us.anthropic.claude-opus-4-8-v1:0" in found
    assert [each.provider_name for each in of_amazon] == ["Amazon"]
    assert [each.type for each in page.inference_profile_summaries or []][:1] == ["SYSTEM_DEFINED"]
    assert page.next_token is None


def test_the_pages_of_profiles_follow_the_models() -> None:
    first = converse.models_call()
    assert (first.target, first.wire) == ("/foundation-models", "converse")
    body = b'{"modelSummaries": [{"modelId": "a.b-v1:0", "modelName": "B"}]}'
    page = first.parse(body)
    assert [(each.id, each.name) for each in page.models] == [("a.b-v1:0", "B")]
    second = converse.models_call(page.next)
    assert second.target == "/inference-profiles"
    body = (
        b'{"inferenceProfileSummaries": [{"inferenceProfileId": "us.a.b-v1:0"}], "nextToken": "t"}'
    )
    page = second.parse(body)
    assert [each.id for each in page.models] == ["us.a.b-v1:0"]
    assert converse.models_call(page.next).target == "/inference-profiles?nextToken=t"
    assert second.parse(b'{"inferenceProfileSummaries": []}').next == ""


def test_a_model_of_another_region_is_refused() -> None:
    arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc123"
    with client() as sender, pytest.raises(ConfigurationError, match="is in eu-west-1"):
        sender.send(converse.converse(arn, asked()))
