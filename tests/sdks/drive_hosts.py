"""The vendors' own clients for hosts behind clouds, case by case, against the emulator: run in
`.venv-sdks` with its URL, and names of cases or none for all; a line of JSON a case.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import anthropic
import boto3
import openai
from botocore.config import Config

URL = sys.argv[1]
HI = [{"role": "user", "content": "hi"}]
CLAUDE = "claude-opus-4-8"
PLACE = "/v1/projects/my-project/locations/global"

# The clients of Messages: the model, and a client with a key or token and the headers of a fault.
CLIENTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "bedrock": (
        "us.anthropic.claude-opus-4-8-v1:0",
        lambda key, **more: anthropic.AnthropicBedrock(
            api_key=key, aws_region="us-west-2", base_url=URL, **more
        ),
    ),
    "bedrock_arn": (
        "arn:aws:bedrock:us-west-2:123456789012:application-inference-profile/abc123",
        lambda key, **more: anthropic.AnthropicBedrock(
            api_key=key, aws_region="us-west-2", base_url=URL, **more
        ),
    ),
    "bedrock_signed": (
        "anthropic.claude-opus-4-8-v1:0",
        lambda key, **more: anthropic.AnthropicBedrock(
            aws_access_key=key if key.startswith("bad") else "AKIDEXAMPLE",
            aws_secret_key="fake-secret", aws_region="us-west-2", base_url=URL, **more,
        ),
    ),
    "mantle": (
        "anthropic.claude-opus-4-8",
        lambda key, **more: anthropic.AnthropicBedrockMantle(
            api_key=key, aws_region="us-west-2", base_url=f"{URL}/anthropic", **more
        ),
    ),
    "aws": (
        CLAUDE,
        lambda key, **more: anthropic.AnthropicAWS(
            api_key=key, aws_region="us-west-2", workspace_id="wrkspc_1", base_url=URL, **more
        ),
    ),
    "vertex": (
        CLAUDE,
        lambda key, **more: anthropic.AnthropicVertex(
            access_token=key, project_id="my-project", region="global", base_url=f"{URL}/v1",
            **more,
        ),
    ),
    "google": (
        CLAUDE,
        lambda key, **more: anthropic.AnthropicGoogleCloud(
            token_provider=lambda: key, base_url=f"{URL}{PLACE}/workspaces/wrkspc_1/invoke",
            **more,
        ),
    ),
    "foundry": (
        CLAUDE,
        lambda key, **more: anthropic.AnthropicFoundry(
            api_key=key, base_url=f"{URL}/anthropic", **more
        ),
    ),
}  # fmt: skip


def door(name: str, key: str = "fake-key", fault: str = "") -> tuple[str, Any]:
    model, make = CLIENTS[name]
    headers = {"x-wire-fault": fault} if fault else None
    return model, make(key, max_retries=0, default_headers=headers)


def ask(name: str, stream: bool = False, **options: Any) -> Any:
    model, client = door(name, **options)
    return client.messages.create(model=model, max_tokens=99, messages=HI, stream=stream)


def plain(name: str) -> Any:
    answer = ask(name)
    return answer.content[0].text, answer.stop_reason, answer.usage.output_tokens


def streamed(name: str) -> Any:
    model, client = door(name)
    with client.messages.stream(model=model, max_tokens=99, messages=HI) as stream:
        return stream.get_final_text(), stream.get_final_message().usage.output_tokens


def beta(name: str) -> Any:
    model, client = door(name)
    answer = client.beta.messages.create(
        model=model, max_tokens=99, messages=HI, betas=["context-1m-2025-08-07"]
    )
    return answer.stop_reason


def counted(name: str) -> Any:
    model, client = door(name)
    return client.messages.count_tokens(model=model, messages=HI).input_tokens


def refused(ask: Callable[[], Any]) -> Any:
    try:
        return "ok", ask()
    except (anthropic.APIError, openai.APIError) as error:
        return type(error).__name__, getattr(error, "status_code", None)
    except Exception as error:
        return type(error).__name__, None


def boto() -> Any:
    return boto3.client(
        "bedrock-runtime", region_name="us-west-2", endpoint_url=URL,
        aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="fake-secret",
        config=Config(retries={"max_attempts": 0}),
    )  # fmt: skip


BODY = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 99, "messages": HI}


def invoked() -> Any:
    answer = boto().invoke_model(modelId="anthropic.claude-opus-4-8-v1:0", body=json.dumps(BODY))
    tokens = answer["ResponseMetadata"]["HTTPHeaders"]["x-amzn-bedrock-output-token-count"]
    return json.loads(answer["body"].read())["content"][0]["text"], tokens


def invoked_as_stream() -> Any:
    answer = boto().invoke_model_with_response_stream(
        modelId="anthropic.claude-opus-4-8-v1:0", body=json.dumps(BODY)
    )
    events = [json.loads(each["chunk"]["bytes"]) for each in answer["body"]]
    metrics = events[-1]["amazon-bedrock-invocationMetrics"]
    return [each["type"] for each in events[:2]], metrics["outputTokenCount"]


def tokens_counted() -> Any:
    body = {"invokeModel": {"body": json.dumps(BODY)}}
    return boto().count_tokens(modelId="anthropic.claude-opus-4-8", input=body)["inputTokens"]


def without_version() -> Any:
    body = json.dumps({"max_tokens": 9, "messages": HI})
    try:
        boto().invoke_model(modelId="anthropic.claude-opus-4-8-v1:0", body=body)
    except Exception as error:
        return type(error).__name__, str(error).partition("retries: 0): ")[2]


def azure(**more: Any) -> Any:
    return openai.AzureOpenAI(
        api_key="fake-key", api_version="2024-10-21", azure_endpoint=URL, max_retries=0, **more
    )


def azure_chat() -> Any:
    answer = azure().chat.completions.create(model="gpt-5-mini", messages=HI)
    return answer.choices[0].message.content


def azure_stream() -> Any:
    chunks = azure().chat.completions.create(model="gpt-5-mini", messages=HI, stream=True)
    return "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)


def azure_embeddings() -> Any:
    vectors = azure().embeddings.create(model="text-embedding-3-small", input=["a", "b"])
    return len(vectors.data)


def mantle_responses() -> Any:
    client = openai.BedrockOpenAI(
        api_key="fake-key", aws_region="us-west-2", base_url=f"{URL}/openai/v1", max_retries=0
    )
    return client.responses.create(model="openai.gpt-5.5", input="hi").output_text


OTHERS = {
    function.__name__: function
    for function in (
        invoked, invoked_as_stream, tokens_counted, without_version, azure_chat, azure_stream,
        azure_embeddings, mantle_responses,
    )
}  # fmt: skip


def each() -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {}
    for name in CLIENTS:
        for function in (plain, streamed, beta, counted):
            if function is not counted or not name.startswith("bedrock"):
                found[f"{name} {function.__name__}"] = lambda f=function, n=name: f(n)
        found[f"{name} key"] = lambda n=name: ask(n, key="bad-key")
        found[f"{name} 429"] = lambda n=name: ask(n, fault="429")
        found[f"{name} error"] = lambda n=name: list(ask(n, True, fault="error; after=3"))
        found[f"{name} cut"] = lambda n=name: list(ask(n, True, fault="cut; after=3"))
    return found | OTHERS


if __name__ == "__main__":
    found = each()
    for name in sys.argv[2:] or found:
        print(json.dumps([name, *refused(found[name])], default=str), flush=True)
