"""The models and inference profiles of a region, as Bedrock's control plane lists them.

Source: the service model of botocore 1.44.8, `bedrock`. It has them at a host of their own.
"""

from __future__ import annotations

from typing import Annotated

from wire.converse.types.base import ConverseStruct
from wire.core.facts import DOCS, Facts


class ModelLifecycle(ConverseStruct, frozen=True, kw_only=True):
    """How long a model is served. Times are ISO 8601."""

    status: Annotated[str | None, Facts(source=DOCS)] = None
    """`ACTIVE`, `LEGACY`."""
    start_of_life_time: Annotated[str | None, Facts(source=DOCS)] = None
    legacy_time: Annotated[str | None, Facts(source=DOCS)] = None
    public_extended_access_time: Annotated[str | None, Facts(source=DOCS)] = None
    end_of_life_time: Annotated[str | None, Facts(source=DOCS)] = None


class FoundationModelSummary(ConverseStruct, frozen=True, kw_only=True):
    """A model of a vendor."""

    model_arn: Annotated[str | None, Facts(source=DOCS)] = None
    model_id: Annotated[str | None, Facts(source=DOCS)] = None
    model_name: Annotated[str | None, Facts(source=DOCS)] = None
    provider_name: Annotated[str | None, Facts(source=DOCS)] = None
    input_modalities: Annotated[list[str] | None, Facts(source=DOCS)] = None
    """`TEXT`, `IMAGE`, `EMBEDDING` and others."""
    output_modalities: Annotated[list[str] | None, Facts(source=DOCS)] = None
    response_streaming_supported: Annotated[bool | None, Facts(source=DOCS)] = None
    customizations_supported: Annotated[list[str] | None, Facts(source=DOCS)] = None
    """`FINE_TUNING`, `CONTINUED_PRE_TRAINING`, `DISTILLATION`."""
    inference_types_supported: Annotated[list[str] | None, Facts(source=DOCS)] = None
    """`ON_DEMAND`, `PROVISIONED`. A model with neither is asked by an inference profile."""
    model_lifecycle: Annotated[ModelLifecycle | None, Facts(source=DOCS)] = None


class FoundationModels(ConverseStruct, frozen=True, kw_only=True):
    """All models of a region, in one page."""

    model_summaries: Annotated[list[FoundationModelSummary] | None, Facts(source=DOCS)] = None


class ProfileModel(ConverseStruct, frozen=True, kw_only=True):
    """A model of an inference profile, in one of its regions."""

    model_arn: Annotated[str | None, Facts(source=DOCS)] = None


class InferenceProfileSummary(ConverseStruct, frozen=True, kw_only=True):
    """A model in several regions, or one whose use is counted alone. Times are ISO 8601."""

    inference_profile_name: Annotated[str | None, Facts(source=DOCS)] = None
    description: Annotated[str | None, Facts(source=DOCS)] = None
    created_at: Annotated[str | None, Facts(source=DOCS)] = None
    updated_at: Annotated[str | None, Facts(source=DOCS)] = None
    inference_profile_arn: Annotated[str | None, Facts(source=DOCS)] = None
    models: Annotated[list[ProfileModel] | None, Facts(source=DOCS)] = None
    inference_profile_id: Annotated[str | None, Facts(source=DOCS)] = None
    status: Annotated[str | None, Facts(source=DOCS)] = None
    """`ACTIVE`."""
    type: Annotated[str | None, Facts(source=DOCS)] = None
    """`SYSTEM_DEFINED`, `APPLICATION`."""


class InferenceProfiles(ConverseStruct, frozen=True, kw_only=True):
    """One page of the inference profiles of a region."""

    inference_profile_summaries: Annotated[
        list[InferenceProfileSummary] | None, Facts(source=DOCS)
    ] = None
    next_token: Annotated[str | None, Facts(source=DOCS)] = None
    """Of the next page."""
