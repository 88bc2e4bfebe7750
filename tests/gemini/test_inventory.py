"""Structs against the inventory of the REST reference, in both directions, and against the JSON
Schema kept in `schemas/`.
"""

from __future__ import annotations

import json
import types as builtin
import typing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.generate import HERE, pages
from wire.gemini import types
from wire.gemini.types.base import GeminiStruct, OpenEnum, OpenFloat

INVENTORY = Path(__file__).parents[3] / "shared" / "contracts" / "gemini-v1beta.fields.json"
ROOTS = (
    "GenerateContentRequest",
    "GenerateContentResponse",
    "CountTokensRequest",
    "CountTokensResponse",
    "ListModelsResponse",
    "Model",
    "Status",
    "Empty",
    "Operation",
    "ListOperationsResponse",
    "EmbedContentRequest",
    "EmbedContentResponse",
    "BatchEmbedContentsRequest",
    "BatchEmbedContentsResponse",
    "File",
    "CreateFileRequest",
    "CreateFileResponse",
    "ListFilesResponse",
    "RegisterFilesRequest",
    "RegisterFilesResponse",
    "CachedContent",
    "ListCachedContentsResponse",
    "BatchGenerateContentRequest",
    "AsyncBatchEmbedContentRequest",
    "FileSearchStore",
    "ListFileSearchStoresResponse",
    "UploadToFileSearchStoreRequest",
    "ImportFileRequest",
    "Document",
    "ListDocumentsResponse",
)

needs_inventory = pytest.mark.skipif(
    not INVENTORY.exists(),
    reason="the inventory of Google's REST reference is not beside this checkout",
)

LEFT_OUT = {
    "EmbedContentBatch.config": "of another class of google-genai that is "
    "called EmbedContentBatch too",
    "EmbedContentBatch.contents": "as EmbedContentBatch.config",
    "EmbedContentResponse.embeddings": "google-genai makes it out of what it was answered",
    "EmbedContentResponse.metadata": "google-genai makes it out of what it was answered",
    "GenerationConfig.modelSelectionConfig": "google-genai's name for what it sends as modelConfig",
    "Image.gcsUri": "of another class of google-genai that is called Image too",
    "Image.imageBytes": "as Image.gcsUri",
    "Image.mimeType": "as Image.gcsUri",
    "InlinedRequest.config": "google-genai makes a request out of it",
    "InlinedRequest.contents": "as InlinedRequest.config",
    "InlinedRequest.model": "google-genai sends it inside the request",
    "ListFilesResponse.data": "of another class of google-genai that is "
    "called ListFilesResponse too",
    "ListFilesResponse.nextPage": "as ListFilesResponse.data",
    "ImageConfig.outputCompressionQuality": "google-genai sends it inside imageOutputOptions",
    "ImageConfig.outputMimeType": "google-genai sends it inside imageOutputOptions",
    "Model.endpoints": "google-genai makes it out of deployedModels",
    "Model.supportedActions": "google-genai's name for supportedGenerationMethods",
    "Model.tunedModelInfo": "google-genai makes it out of labels",
}
"""Fields that the reference or the SDK has and the structs have not, and why."""

OTHER_TYPES = {
    "Candidate.avgLogprobs": "came as the text Infinity",
    "LogprobsResult.logProbabilitySum": "JSON has no infinity, as above",
    "LogprobsResultCandidate.logProbability": "JSON has no infinity, as above",
    "Status.details": "google.rpc details are one struct with every field of the known ones",
}
"""Fields whose type is another one than the inventory's, and why."""

BEYOND = {
    "BatchEmbedContentsRequest.model": "seen on the wire",
    "EmbedContentBatch.@type": "of an Any, as an operation holds it",
    "EmbedContentBatchOutput.@type": "as EmbedContentBatch.@type",
    "EmbeddingUsageMetadata.promptTokensDetails": "seen on the wire (Vertex)",
    "EmbeddingUsageMetadata.totalTokenCount": "seen on the wire (Vertex)",
    "GenerateContentBatch.@type": "as EmbedContentBatch.@type",
    "GenerateContentBatchOutput.@type": "as EmbedContentBatch.@type",
    "InlinedEmbedContentResponse.key": "in the lines of a file of results (Google's batch guide)",
    "InlinedResponse.key": "in the lines of a file of results (Google's batch guide)",
    "CountTokensResponse.contentTokens": "seen on the wire",
    "CountTokensResponse.systemInstructionsTokens": "seen on the wire",
    "CountTokensResponse.totalBillableCharacters": "seen on the wire (Vertex)",
    "CountTokensRequest.generationConfig": "seen on the wire (Vertex)",
    "CountTokensRequest.systemInstruction": "seen on the wire (Vertex)",
    "CountTokensRequest.tools": "seen on the wire (Vertex)",
    "Candidate.score": "seen on the wire (Vertex)",
    "GenerateContentRequest.labels": "seen on the wire (Vertex)",
    "GenerateContentRequest.modelArmorConfig": "seen on the wire (Vertex)",
    "GenerateContentResponse.error": "seen on the wire: an error inside an answer of status 200",
    "GenerateContentResponse.turnToken": "seen on the wire",
    "GenerationConfig.modelConfig": "google-genai sends modelSelectionConfig under this name",
    "PromptFeedback.blockReasonMessage": "seen on the wire (Vertex)",
    "Status.status": "the word of the status, in every error",
    "UsageMetadata.billablePromptUsage": "seen on the wire (Vertex)",
    "Web.domain": "seen on the wire (Vertex)",
}
"""Fields that neither the inventory nor the SDK's additions to it have, and why the structs have
them.
"""


@pytest.fixture(scope="module")
def inventory() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(INVENTORY.read_text("utf-8"))
    return found


def reachable(messages: dict[str, dict[str, str]]) -> set[str]:
    seen: set[str] = set()
    todo = list(ROOTS)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += [
                inner for kind in messages[name].values() if (inner := _inner(kind)) in messages
            ]
    return seen


def _inner(kind: str) -> str:
    return kind.removesuffix("[]").removeprefix("map<string,").removesuffix(">").removesuffix("[]")


OURS = {vendor: name for name, vendor in types.VENDOR_NAMES.items()}


def struct_of(message: str) -> type[GeminiStruct]:
    found: type[GeminiStruct] = getattr(types, OURS.get(message, message))
    return found


def fields_of(struct: type[GeminiStruct]) -> dict[str, Any]:
    hints = typing.get_type_hints(struct)
    return {
        key: hints[name]
        for name, key in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    }


SCALARS: dict[str, Any] = {
    "string": str,
    "int32": int,
    "int64": int | str,
    "float": float,
    "double": float,
    "boolean": bool,
    "any": Any,
}


def expected(kind: str) -> Any:
    """Our type for a type of the inventory."""
    if kind.endswith("[]"):
        return list[expected(kind[:-2])]  # type: ignore[misc]
    if kind.startswith("map<string,"):
        return dict[str, expected(kind[11:-1])]  # type: ignore[misc]
    if kind.startswith("enum"):
        return OpenEnum
    if kind in SCALARS:
        return SCALARS[kind]
    word = kind.split(" ")[0]
    return (
        {"int64": int | str}.get(word, str)
        if word in ("bytes", "timestamp", "duration", "int64")
        else struct_of(kind)
    )


def without_none(hint: Any) -> Any:
    if isinstance(hint, builtin.UnionType):
        kept = [each for each in typing.get_args(hint) if each is not type(None)]
        union = kept[0]
        for each in kept[1:]:
            union = union | each
        return union
    return hint


@needs_inventory
def test_every_field_of_the_inventory_has_its_place(inventory: dict[str, Any]) -> None:
    messages, missing = inventory["messages"], []
    for message in sorted(reachable(messages)):
        ours = fields_of(struct_of(message))
        missing += [
            f"{message}.{key}"
            for key in inventory["sdk_only_additions"].get(message, ())
            if key not in ours
        ]
        for key, kind in messages[message].items():
            place = f"{message}.{key}"
            if key not in ours:
                missing.append(place)
            elif place not in OTHER_TYPES:
                assert without_none(ours[key]) == expected(kind), place
    assert sorted(missing) == sorted(LEFT_OUT)


@needs_inventory
def test_every_field_of_the_structs_is_in_the_inventory_or_has_a_reason(
    inventory: dict[str, Any],
) -> None:
    messages, additions = inventory["messages"], inventory["sdk_only_additions"]
    beyond = []
    for message in sorted(reachable(messages)):
        known = {*messages[message], *additions.get(message, ())}
        beyond += [f"{message}.{key}" for key in fields_of(struct_of(message)) if key not in known]
    assert sorted(set(beyond) - SDK_NAMES - set(BEYOND)) == []
    assert sorted(set(BEYOND) - set(beyond)) == [], "no longer beyond"


SDK_NAMES = {
    *(f"V1mainMediaResolution.{key}" for key in ("numTokens",)),
    *(f"Maps.{key}" for key in ("route",)),
    *(f"PlaceAnswerSources.{key}" for key in ("flagContentUri", "reviewSnippet")),
    *(
        f"ReviewSnippet.{key}"
        for key in (
            "authorAttribution",
            "flagContentUri",
            "relativePublishTimeDescription",
            "review",
        )
    ),
    *(f"RetrievedContext.{key}" for key in ("documentName", "ragChunk")),
    *(f"GenerateContentRequest.{key}" for key in ("outputConfig",)),
    *(
        f"Model.{key}"
        for key in (
            "versionId",
            "deployedModels",
            "createTime",
            "updateTime",
            "checkpoints",
            "defaultCheckpointId",
            "labels",
        )
    ),
}
"""Fields of google-genai 3.3.0 on classes that are called otherwise there, which the inventory's
list of additions has missed.
"""


@needs_inventory
def test_every_enum_value_has_a_name(inventory: dict[str, Any]) -> None:
    """Of the enums whose constants we offer; the fields themselves take any text."""
    named = {
        value
        for kind in vars(types).values()
        if isinstance(kind, type) and issubclass(kind, str)
        for value in kind  # type: ignore[attr-defined]
    }
    for field, values in inventory["enums"].items():
        message = field.split(".")[0]
        if message in reachable(inventory["messages"]):
            assert [
                value
                for value in values
                if value not in named and not value.upper().endswith("UNSPECIFIED")
            ] == [], field


def test_schemas_are_those_of_the_structs() -> None:
    """Of every wire.

    `python schemas/generate.py` writes them; read the diff, it is a change of what goes over the
    wire.
    """
    assert {path: (HERE / path).read_text("utf-8") for path in pages()} == pages()
    assert sorted(path.relative_to(HERE).as_posix() for path in HERE.glob("*/*.json")) == sorted(
        pages()
    )


def test_open_floats_take_what_json_has_no_number_for() -> None:
    assert OpenFloat == float | str
    assert (
        msgspec.json.decode(b'{"avgLogprobs":"Infinity"}', type=types.Candidate).avg_logprobs
        == "Infinity"
    )
