"""Counting, embeddings and the list of models as neutral calls."""

from __future__ import annotations

from collections.abc import Iterator

from wire.catalogue.facts import is_in
from wire.catalogue.usage import Usage
from wire.converse.endpoints import (
    count_tokens,
    embed,
    list_inference_profiles,
    list_models,
)
from wire.converse.rendering import render_request
from wire.converse.rows import provider_row
from wire.converse.types import (
    CohereEmbedRequest,
    CohereEmbedResponse,
    CountTokensResponse,
    FoundationModels,
    InferenceProfiles,
    NovaEmbedParams,
    NovaEmbedRequest,
    NovaEmbedResponse,
    NovaEmbedText,
    TitanEmbedRequest,
    TitanEmbedResponse,
)
from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.errors import ConfigurationError, StreamInvalid
from wire.core.flow import Flow
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.neutral.conversion import converted
from wire.neutral.decisions import DecideRequest, Decisions
from wire.neutral.embeddings import (
    Embeddings,
    EmbedRequest,
    batches,
    embedded,
    embeddings_call,
)
from wire.neutral.models import ListedModel, ModelPage, moment
from wire.neutral.request import Request, TokenCount


@checked_arguments()
def count_call(
    request: Request, model: str, provider: Provider | str = "bedrock"
) -> Call[TokenCount] | None:
    """Return the call of CountTokens for a neutral request. Raises as `render_request`."""
    return converted(count_tokens(model, render_request(request, model, provider)), _count)


def _count(response: CountTokensResponse) -> TokenCount:
    if response.input_tokens is None:
        raise StreamInvalid("the response has no inputTokens")
    return TokenCount(response.input_tokens, exact=True, source="CountTokens")


@checked_arguments()
def decide_call(
    request: DecideRequest, model: str, provider: Provider | str = "bedrock"
) -> Call[Decisions] | None:
    """Return `None`: Bedrock has no decisions."""
    return None


@checked_arguments(ConfigurationError, before=True)
def models_call(cursor: str = "", provider: Provider | str = "bedrock@models") -> Call[ModelPage]:
    """Return the call for one page of the models, and after them of the inference profiles.

    Raises `ConfigurationError` for a host that lists none.
    """
    row = provider_row(provider)
    if not cursor:
        return converted(list_models(), _models).judge(row)
    token = cursor.removeprefix(_PROFILES)
    return converted(list_inference_profiles(next_token=token or None), _profiles).judge(row)


_PROFILES = "profiles:"
"""Begins the cursor of a page of inference profiles."""


def _models(answer: FoundationModels) -> ModelPage:
    models = (
        ListedModel(id=each.model_id or "", name=each.model_name or "", source=each)
        for each in answer.model_summaries or ()
    )
    return ModelPage(tuple(models), _PROFILES)


def _profiles(answer: InferenceProfiles) -> ModelPage:
    models = (
        ListedModel(
            id=each.inference_profile_id or "",
            name=each.inference_profile_name or "",
            created=moment(each.created_at),
            source=each,
        )
        for each in answer.inference_profile_summaries or ()
    )
    token = answer.next_token
    return ModelPage(tuple(models), f"{_PROFILES}{token}" if token else "")


# --- embeddings -----------------------------------------------------------------------------------

_MOST_TEXTS = 96
"""Texts of one request of Cohere; the others take one."""
_COHERE = {
    None: "search_document",
    "document": "search_document",
    "query": "search_query",
    "question": "search_query",
    "fact": "search_query",
    "code": "search_query",
    "classification": "classification",
    "clustering": "clustering",
    "similarity": "clustering",
}
_NOVA = {
    None: "GENERIC_INDEX",
    "document": "GENERIC_INDEX",
    "query": "GENERIC_RETRIEVAL",
    "question": "GENERIC_RETRIEVAL",
    "fact": "GENERIC_RETRIEVAL",
    "code": "GENERIC_RETRIEVAL",
    "classification": "CLASSIFICATION",
    "clustering": "CLUSTERING",
    "similarity": "CLUSTERING",
}
"""Task to the word of the vendor, which demands one."""


@checked_arguments(ConfigurationError, before=True)
def embed_flow(
    request: EmbedRequest, model: str, provider: Provider | str = "bedrock"
) -> Flow[Embeddings]:
    """Return the flow that embeds all texts by InvokeModel, in the form of the model's vendor.

    Raises `ConfigurationError` for a model whose form is not known.
    """
    row = provider_row(provider)
    if is_in("bedrock.titan-embeds", model):
        words = "not sent: Titan has no tasks"
        notes = () if request.task is None else (Note("task", words),)
        return embedded(_titan_calls(request, model), notes)
    if is_in("bedrock.cohere-embeds", model):
        return embedded(_cohere_calls(request, model))
    if is_in("bedrock.nova-embeds", model):
        return embedded(_nova_calls(request, model))
    words = "no form of embeddings is known; Titan, Cohere and Nova have one"
    raise ConfigurationError(f"model: {model}: {words}", provider=row.name)


def _titan_calls(request: EmbedRequest, model: str) -> Iterator[Call[Embeddings]]:
    for text in request.texts:
        body = TitanEmbedRequest(input_text=text, dimensions=request.dimensions)
        yield embeddings_call(embed(model, body), 1, _of_titan)


def _of_titan(response: TitanEmbedResponse) -> Embeddings:
    vector = response.embedding or (response.embeddings_by_type or {}).get("float") or []
    tokens = response.input_text_token_count
    return Embeddings((vector,), usage=_usage(tokens))


def _cohere_calls(request: EmbedRequest, model: str) -> Iterator[Call[Embeddings]]:
    for batch in batches(request.texts, _MOST_TEXTS):
        body = CohereEmbedRequest(
            texts=list(batch),
            input_type=_COHERE[request.task],
            output_dimension=request.dimensions,
        )
        yield embeddings_call(embed(model, body), len(batch), _of_cohere)


def _of_cohere(response: CohereEmbedResponse) -> Embeddings:
    found = response.embeddings
    vectors = found.get("float") if isinstance(found, dict) else found
    return Embeddings(tuple(vectors or ()))


def _nova_calls(request: EmbedRequest, model: str) -> Iterator[Call[Embeddings]]:
    for text in request.texts:
        params = NovaEmbedParams(
            embedding_purpose=_NOVA[request.task],
            embedding_dimension=request.dimensions,
            text=NovaEmbedText(value=text, truncation_mode="NONE"),
        )
        body = NovaEmbedRequest(task_type="SINGLE_EMBEDDING", single_embedding_params=params)
        yield embeddings_call(embed(model, body), 1, _of_nova)


def _of_nova(response: NovaEmbedResponse) -> Embeddings:
    return Embeddings(tuple(each.embedding or [] for each in response.embeddings or ()))


def _usage(tokens: int | None) -> Usage | None:
    return None if tokens is None else Usage(input=tokens, total=tokens)
