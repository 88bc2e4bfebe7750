"""The models that Bedrock's control plane lists. Any other name with a vendor is served too."""

from __future__ import annotations

from typing import Any

MODELS = (
    "anthropic.claude-opus-4-8-v1:0",
    "anthropic.claude-sonnet-5",
    "amazon.nova-2-lite-v1:0",
    "openai.gpt-oss-120b-1:0",
)
_ARN = "arn:aws:bedrock:us-east-1:"


def model_summary(model: str) -> dict[str, Any]:
    """Describe a model as `ListFoundationModels` does."""
    vendor, _, name = model.partition(".")
    return {
        "modelArn": f"{_ARN}:foundation-model/{model}",
        "modelId": model,
        "modelName": name,
        "providerName": vendor.capitalize(),
        "inputModalities": ["TEXT"],
        "outputModalities": ["TEXT"],
        "responseStreamingSupported": True,
        "customizationsSupported": [],
        "inferenceTypesSupported": ["ON_DEMAND"],
        "modelLifecycle": {"status": "ACTIVE"},
    }


def profile_summary(model: str) -> dict[str, Any]:
    """Describe the inference profile of a model in the regions of the US."""
    id = f"us.{model}"
    return {
        "inferenceProfileName": f"US {model.partition('.')[2]}",
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
        "inferenceProfileArn": f"{_ARN}123456789012:inference-profile/{id}",
        "models": [{"modelArn": f"{_ARN}:foundation-model/{model}"}],
        "inferenceProfileId": id,
        "status": "ACTIVE",
        "type": "SYSTEM_DEFINED",
    }
