"""The requests of the vendors' own clients to hosts behind clouds, for `tests/wires`: run it with a
Python that has anthropic and openai; it writes `tests/wires/sdk_requests.json`.

Nothing is sent: a transport in the place of the network keeps each request.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
from openai.providers.bedrock import bedrock
from openai.providers.vertex import vertex

TABLE = Path(__file__).parent.parent / "wires" / "sdk_requests.json"
KEY, USER = "fake-key", [{"role": "user", "content": "Hi"}]
KEPT = (
    *("authorization", "x-api-key", "api-key", "accept"),
    *("anthropic-version", "anthropic-beta", "anthropic-workspace-id", "anthropic-user-profile-id"),
)
BETA = "a-2026-01-01,b-2026-01-01"
CLAUDE = "claude-opus-4-8"
ARN = "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/abc123"
ENDPOINTS: dict[str, Callable[..., Any]] = {
    "messages": lambda door, **more: door.messages.create(max_tokens=9, messages=USER, **more),
    "stream": lambda door, **more: door.messages.create(
        max_tokens=9, messages=USER, stream=True, **more
    ),
    "count_tokens": lambda door, **more: door.messages.count_tokens(messages=USER, **more),
    "chat": lambda door, **more: door.chat.completions.create(messages=USER, **more),
    "chat stream": lambda door, **more: door.chat.completions.create(
        messages=USER, stream=True, **more
    ),
    "responses": lambda door, **more: door.responses.create(input="Hi", store=False, **more),
    "embeddings": lambda door, **more: door.embeddings.create(
        input="Hi", encoding_format="float", **more
    ),
}
MESSAGES, CHAT = ("messages", "stream", "beta", "count_tokens"), ("chat", "chat stream")
AWS = {"region": "us-west-2", "api_key": KEY}
GOOGLE = {"project": "my-project", "token": KEY}
AZURE = "https://my-resource.openai.azure.com"

# Client, provider, its options, class and arguments of the client, endpoints, models.
CASES: list[tuple[str, str, dict[str, Any], Any, dict[str, Any], Any, list[str]]] = [
    (
        "AnthropicBedrock", "bedrock@invoke", AWS, anthropic.AnthropicBedrock,
        {"api_key": KEY, "aws_region": "us-west-2"}, MESSAGES[:3],
        ["anthropic.claude-opus-4-8-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", ARN],
    ),
    (
        "AnthropicBedrockMantle", "bedrock@anthropic", AWS, anthropic.AnthropicBedrockMantle,
        {"api_key": KEY, "aws_region": "us-west-2"}, MESSAGES, ["anthropic.claude-opus-4-8"],
    ),
    *(
        (
            "AnthropicVertex", "anthropic@vertex", {**GOOGLE, "location": location},
            anthropic.AnthropicVertex,
            {"region": location, "project_id": "my-project", "access_token": KEY}, MESSAGES,
            [CLAUDE, "claude-sonnet-4-5@20250929"],
        )
        for location in ("global", "us", "eu", "europe-west4")
    ),
    (
        "AnthropicFoundry", "azure@anthropic", {"resource": "my-resource", "api_key": KEY},
        anthropic.AnthropicFoundry, {"resource": "my-resource", "api_key": KEY}, MESSAGES, [CLAUDE],
    ),
    (
        "AnthropicFoundry", "azure@anthropic", {"resource": "my-resource", "token": KEY},
        anthropic.AnthropicFoundry,
        {"resource": "my-resource", "azure_ad_token_provider": lambda: KEY}, MESSAGES, [CLAUDE],
    ),
    (
        "AnthropicAWS", "anthropic@aws", {**AWS, "workspace": "wrkspc_1"}, anthropic.AnthropicAWS,
        {"api_key": KEY, "aws_region": "us-west-2", "workspace_id": "wrkspc_1"}, MESSAGES, [CLAUDE],
    ),
    (
        "AnthropicGoogleCloud", "anthropic@google", {**GOOGLE, "workspace": "wrkspc_1"},
        anthropic.AnthropicGoogleCloud,
        {"project": "my-project", "workspace_id": "wrkspc_1", "token_provider": lambda: KEY},
        MESSAGES, [CLAUDE],
    ),
    (
        "BedrockOpenAI", "bedrock@responses", AWS, openai.BedrockOpenAI,
        {"api_key": KEY, "aws_region": "us-west-2"}, ["responses"], ["openai.gpt-5.5"],
    ),
    (
        "OpenAI", "bedrock@openai", AWS, openai.OpenAI,
        {"provider": lambda: bedrock(endpoint="mantle", region="us-west-2", api_key=KEY)},
        CHAT, ["google.gemma-4-31b"],
    ),
    *(
        (
            "OpenAI", "bedrock@openai-runtime", {"region": region, "api_key": KEY}, openai.OpenAI,
            {
                "provider": lambda region=region: bedrock(
                    endpoint="runtime", region=region, api_key=KEY
                )
            },
            CHAT, ["openai.gpt-oss-120b-1:0"],
        )
        for region in ("us-west-2", "cn-north-1", "eusc-de-east-1")
    ),
    *(
        (
            "OpenAI", "openai@vertex", {**GOOGLE, "location": location}, openai.OpenAI,
            {
                "provider": lambda location=location: vertex(
                    project="my-project", location=location, token_provider=lambda: KEY
                )
            },
            ["responses"], ["gpt-5.6"],
        )
        for location in ("global", "us-central1", "eu")
    ),
    (
        "AzureOpenAI", "azure@deployments", {"resource": "my-resource", "api_key": KEY},
        openai.AzureOpenAI,
        {"api_key": KEY, "api_version": "2024-10-21", "azure_endpoint": AZURE},
        [*CHAT, "embeddings"], ["gpt-5-mini"],
    ),
    (
        "AzureOpenAI", "azure@deployments",
        {"resource": "my-resource", "token": KEY, "version": "2025-04-01-preview"},
        openai.AzureOpenAI,
        {"azure_ad_token": KEY, "api_version": "2025-04-01-preview", "azure_endpoint": AZURE},
        CHAT, ["gpt-5-mini"],
    ),
    (
        "OpenAI", "azure", {"resource": "my-resource", "api_key": KEY}, openai.OpenAI,
        {"api_key": KEY, "base_url": f"{AZURE}/openai/v1"}, CHAT, ["gpt-5-mini"],
    ),
    *(
        (
            "OpenAI", f"openai@{region}", {"api_key": KEY}, openai.OpenAI,
            {"api_key": KEY, "data_residency": region}, [*CHAT, "responses"], ["gpt-5-mini"],
        )
        for region in ("us", "eu", "ae")
    ),
]  # fmt: skip


def asked(door: Any, arguments: dict[str, Any], endpoint: str, model: str) -> httpx2.Request:
    """Return the request of a client."""
    kept: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        kept.append(request)
        return httpx2.Response(400, json={"message": "not sent"})

    made = {**arguments, "max_retries": 0}
    if "provider" in made:
        made["provider"] = made["provider"]()
    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http:
        client = door(**made, http_client=http)
        more: dict[str, Any] = {}
        if endpoint == "beta":
            headers = {"anthropic-beta": BETA, "anthropic-user-profile-id": "u_1"}
            endpoint, more = "messages", {"extra_headers": headers}
        try:
            ENDPOINTS[endpoint](client, model=model, **more)
        except (anthropic.BadRequestError, openai.BadRequestError):
            pass
    return kept[0]


def rows() -> list[dict[str, Any]]:
    found = []
    for client, provider, options, door, arguments, endpoints, models in CASES:
        for model, endpoint in [(each, other) for each in models for other in endpoints]:
            request = asked(door, arguments, endpoint, model)
            headers = {name: request.headers[name] for name in KEPT if name in request.headers}
            is_beta = endpoint == "beta"
            found.append(
                {
                    "client": client,
                    "provider": provider,
                    "options": options,
                    "endpoint": "messages" if is_beta else endpoint,
                    "model": model,
                    "beta": BETA if is_beta else "",
                    "url": str(request.url),
                    "headers": headers,
                    "body": json.loads(request.read()),
                }
            )
    return found


def main() -> None:
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "AWS_", "AZURE_", "CLOUD_ML_", "GOOGLE_", "OPENAI_")):
            del os.environ[name]
    packages = f"anthropic {anthropic.__version__}, openai {openai.__version__}"
    head = json.dumps({"clients": packages, "date": f"{datetime.date.today()}"})[:-1]
    lines = ",\n".join(json.dumps(each) for each in rows())
    TABLE.write_text(f'{head}, "requests": [\n{lines}\n]}}\n', "utf-8")


if __name__ == "__main__":
    main()
