"""Calls in the form of hosts that differ from the reference: `wire.core.shaping`."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.joined import joined
from wire import Client, anthropic, errors
from wire.anthropic import batches
from wire.core.path_segment import model_segment
from wire.core.shaping import model_in, shaped
from wire.errors import ConfigurationError
from wire.providers import PROVIDERS

INVOKE, VERTEX = PROVIDERS["bedrock@invoke"], PROVIDERS["anthropic@vertex"]
MODEL = "anthropic.claude-opus-4-8-v1:0"
ARN = "arn:aws:bedrock:us-west-2:123456789012:inference-profile/us.anthropic.claude-opus-4-8-v1:0"
AT_OPUS = "/model/anthropic.claude-opus-4-8-v1:0"


def request(model: str = MODEL, **more: Any) -> anthropic.MessageRequest:
    user = anthropic.Message(role="user", content="Hi")
    return anthropic.MessageRequest(model=model, max_tokens=9, messages=[user], **more)


def body_of(call: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(call.body)
    return body


@joined(
    ("body", "model"),
    [
        (b'{"model":"a"}', "a"),
        (b'{"model":5}', ""),
        (b"{}", ""),
        (b"[]", ""),
        (b"--form", ""),
        (b"\xff", ""),
        (b"", ""),
    ],
)
def test_the_model_in_a_body(body: bytes, model: str) -> None:
    assert model_in(body) == model


def test_a_stream_of_invoke_model() -> None:
    betas = ["context-1m-2025-08-07", "other-2026-01-01"]
    call = shaped(anthropic.stream_message(request(), betas=betas), INVOKE)
    assert call.target == f"{AT_OPUS}/invoke-with-response-stream"
    assert dict(call.headers)["accept"] == "application/vnd.amazon.eventstream"
    assert "anthropic-beta" not in call.headers
    assert body_of(call) == {
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 9,
        "anthropic_version": "2026-10-21",
        "anthropic_beta": betas,
    }
    assert shaped(call, INVOKE) is call  # it has the form already


def test_keys_of_the_callers_own_stay() -> None:
    call = anthropic.create_message(request())
    own = {"anthropic_version": "bedrock-2023-05-31", "anthropic_beta": ["mine-2026-01-01"]}
    call = shaped(call.replace(body_extra=own, headers={"anthropic-beta": "other"}), INVOKE)
    assert body_of(call).items() >= own.items()


@joined(
    ("model", "version"),
    [
        ("anthropic.claude-opus-4-8-v1:0", "2026-10-21"),
        ("us.anthropic.claude-sonnet-5", "2026-10-21"),
        ("anthropic.claude-opus-4-7-v1:0", "2026-10-21"),
        ("anthropic.claude-opus-4-6-v1:0", "bedrock-2023-05-31"),
        ("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock-2023-05-31"),
        ("anthropic.claude-sonnet-4-20250514-v1:0", "bedrock-2023-05-31"),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", "bedrock-2023-05-31"),
        ("anthropic.claude-v2:1", "bedrock-2023-05-31"),
        (ARN, "2026-10-21"),
        (ARN.replace("inference", "application-inference"), "bedrock-2023-05-31"),
    ],
)
def test_the_version_goes_by_the_model(model: str, version: str) -> None:
    call = shaped(anthropic.create_message(request(model), checked=False), INVOKE)
    assert body_of(call)["anthropic_version"] == version


def test_a_version_that_is_given_is_for_all_models() -> None:
    with Client("bedrock@invoke", region="us-west-2", api_key="k", version="2026-10-21") as client:
        call = anthropic.create_message(request("anthropic.claude-v2:1"), checked=False)
        assert json.loads(client.preview(call).body)["anthropic_version"] == "2026-10-21"


def test_counting_wraps_the_body() -> None:
    call = shaped(anthropic.count_tokens(request()), INVOKE)
    assert call.target == f"{AT_OPUS}/count-tokens"
    inside = json.loads(base64.b64decode(body_of(call)["input"]["invokeModel"]["body"]))
    assert inside == {
        "messages": [{"role": "user", "content": "Hi"}],
        "anthropic_version": "2026-10-21",
        "max_tokens": 1,
    }
    assert call.parse(b'{"inputTokens":7}').input_tokens == 7


def test_vertex_has_the_model_in_the_path_and_the_betas_in_the_header() -> None:
    call = shaped(anthropic.stream_message(request("claude-opus-4-8"), betas=["b"]), VERTEX)
    assert call.target == "/models/claude-opus-4-8:streamRawPredict"
    assert dict(call.headers)["anthropic-beta"] == "b"
    assert body_of(call).items() >= {"stream": True, "anthropic_version": "2026-10-21"}.items()
    assert "model" not in body_of(call)


@joined("row", [INVOKE, VERTEX, PROVIDERS["azure@anthropic"]], ids=lambda row: row.name)
def test_an_endpoint_that_a_host_lacks(row: Any) -> None:
    call = batches.list_batches()
    with pytest.raises(ConfigurationError) as caught:
        shaped(call, row)
    assert caught.value.message == f"call: {row.name} has no endpoint /messages/batches"


@joined(
    ("model", "problem"),
    [
        ("arn:aws:bedrock", "expected an ARN arn:aws:bedrock:REGION:ACCOUNT:KIND/ID"),
        ("arn:aws:s3:::bucket/key", "expected an ARN arn:aws:bedrock:REGION:ACCOUNT:KIND/ID"),
        (ARN, "is in us-west-2, and region= is eu-west-1"),
        ("", "expected a name such as claude-sonnet-5"),
        ("a/../b", "expected a name such as claude-sonnet-5"),
    ],
)
def test_a_model_that_the_path_cannot_have(model: str, problem: str) -> None:
    call = anthropic.create_message(request(model), checked=False)
    with pytest.raises(ConfigurationError) as caught:
        shaped(call, INVOKE, "eu-west-1")
    assert caught.value.message.startswith("model: ")
    assert problem in caught.value.message


@joined(
    "model",
    [
        ARN,
        "arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/a.b",
        "arn:aws:sagemaker:us-west-2:123456789012:endpoint/mine",
    ],
)
def test_arns(model: str) -> None:
    assert model_segment(model, "a") == model.replace("/", "%2F")


@joined(
    ("kind", "status", "error"),
    [
        ("ValidationException", 400, errors.BadRequestError),
        ("AccessDeniedException", 403, errors.AccessDeniedError),
        ("UnrecognizedClientException", 403, errors.AuthenticationError),
        ("ExpiredTokenException", 403, errors.AuthenticationError),
        ("InvalidSignatureException", 403, errors.AuthenticationError),
        ("MissingAuthenticationTokenException", 403, errors.AuthenticationError),
        ("ResourceNotFoundException", 404, errors.NotFoundError),
        ("ThrottlingException", 429, errors.RateLimitError),
        ("InternalServerException", 500, errors.ServerError),
        ("ServiceUnavailableException", 503, errors.OverloadedError),
    ],
)
@joined("key", ["message", "Message"])
def test_errors_have_the_type_of_the_header(
    key: str, kind: str, status: int, error: type[errors.APIError]
) -> None:
    call = shaped(anthropic.create_message(request()), INVOKE)
    headers = {"x-amzn-errortype": f"{kind}:http://internal.amazon.com/"}
    told = call.read_error(status, headers, json.dumps({key: "No."}).encode())
    assert (type(told), told.code, told.status) == (error, kind, status)
    assert "No." in told.message


def test_an_error_without_the_header_or_a_body() -> None:
    call = shaped(anthropic.create_message(request()), INVOKE)
    assert type(call.read_error(429, {}, b'{"message":"Slow."}')) is errors.RateLimitError
    told = call.read_error(403, {"x-amzn-errortype": "AccessDeniedException"}, b"")
    assert isinstance(told, errors.AccessDeniedError)
