"""What the vendors' own clients send to hosts behind clouds, and what this library sends.

`sdk_requests.json` has the requests of the clients, taken in place of the network, with the
versions of the clients and the date. `tests/sdks/record_hosts.py` writes it anew, in an
environment with anthropic and openai.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from wire import anthropic, openai
from wire.core.secret import Secret
from wire.http.target import target
from wire.openai import responses

TABLE = json.loads((Path(__file__).parent / "sdk_requests.json").read_text("utf-8"))
ROWS: list[dict[str, Any]] = TABLE["requests"]
USER = [{"role": "user", "content": "Hi"}]
MESSAGES = {"max_tokens": 9, "messages": USER}
CHAT = openai.ChatCompletionRequest
ASK = {"input": "Hi", "store": False}
EMBED = {"input": "Hi", "encoding_format": "float"}
CALLS: dict[str, Any] = {
    "messages": (anthropic.create_message, anthropic.MessageRequest, MESSAGES),
    "stream": (anthropic.stream_message, anthropic.MessageRequest, MESSAGES),
    "count_tokens": (anthropic.count_tokens, anthropic.CountTokensRequest, {"messages": USER}),
    "chat": (openai.chat_completions, CHAT, {"messages": USER}),
    "chat stream": (
        openai.stream_chat_completions,
        openai.ChatCompletionRequest,
        {"messages": USER},
    ),
    "responses": (responses.create_response, responses.ResponseRequest, ASK),
    "embeddings": (
        openai.embeddings,
        openai.EmbeddingRequest,
        {"input": "Hi", "encoding_format": "float"},
    ),
}
EVENT_STREAM = "application/vnd.amazon.eventstream"
OLDER = "claude-sonnet-4-5"
"""A model of before Claude 4.7, for which Bedrock has an older version of the API only."""


def name(row: dict[str, Any]) -> str:
    place = row["options"].get("location") or row["options"].get("region") or ""
    kind = "token" if "token" in row["options"] else "key"
    beta = "beta" if row["beta"] else ""
    parts = (row["provider"], row["endpoint"], place, kind, beta, row["model"])
    return " ".join(filter(None, parts))


def sent(row: dict[str, Any]) -> dict[str, Any]:
    """The request of this library for the same question."""
    options = {**row["options"]}
    if "token" in options:
        options["token"] = lambda: "fake-key"
    found = target(row["provider"], options)  # type: ignore[arg-type]
    make, kind, body = CALLS[row["endpoint"]]
    call = make(msgspec.convert({"model": row["model"], **body}, kind))
    if row["beta"]:
        beta = {"anthropic-beta": row["beta"], "anthropic-user-profile-id": "u_1"}
        call = call.replace(headers=beta)
    call = found.shaped(call)
    token = Secret("fake-key") if "token" in options else None
    headers = dict(found.send_headers(call, token))
    return {"url": found.url(call), "headers": headers, "body": json.loads(call.body)}


def differences(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Headers and keys of the body that this library sends otherwise, and why."""
    headers: dict[str, Any] = {}
    body: dict[str, Any] = {}
    at_invoke = row["provider"] == "bedrock@invoke"
    if row["endpoint"] == "stream" and at_invoke:
        headers["accept"] = EVENT_STREAM  # what the endpoint answers
    if row["beta"] and at_invoke:
        headers["anthropic-beta"] = None  # it stands in the body
    if at_invoke and (OLDER in row["model"] or "application-inference-profile" in row["model"]):
        body["anthropic_version"] = "bedrock-2023-05-31"  # 2026-10-21 begins with Claude 4.7
    if row["provider"] == "azure":
        headers |= {"authorization": None, "api-key": "fake-key"}  # Azure accepts a key in both
    return headers, body


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_the_request_is_that_of_the_vendors_client(row: dict[str, Any]) -> None:
    ours = sent(row)
    headers, body = differences(row)
    assert ours["url"] == row["url"]
    assert {key: value for key, value in ours["body"].items() if key != "stream_options"} == {
        **row["body"],
        **body,
    }
    expected = {**row["headers"], **headers}
    if "accept" not in headers:
        del expected["accept"]  # JSON, which is the default
    shown = {key: value for key, value in ours["headers"].items() if key in HEADERS}
    assert shown == {key: value for key, value in expected.items() if value is not None}


HEADERS = {key for row in ROWS for key in row["headers"]}
"""The headers that the table has; those that say which library asks are not in it."""


def test_the_table_has_every_door() -> None:
    assert {row["provider"] for row in ROWS} >= {
        *("bedrock@invoke", "bedrock@anthropic", "bedrock@openai", "bedrock@openai-runtime"),
        *("bedrock@responses", "anthropic@vertex", "anthropic@google", "anthropic@aws"),
        *("azure@anthropic", "azure@deployments", "azure", "openai@vertex", "openai@eu"),
    }
