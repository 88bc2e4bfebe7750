"""The structs agree with the inventory of the REST reference, in both directions."""

from __future__ import annotations

import types as builtin
import typing
from typing import Any

import msgspec

from tests.inventories import fields_of, inventory
from wire.core.facts import SDK, facts_of
from wire.gemini import types
from wire.gemini.types.base import GeminiStruct, OpenEnum, OpenFloat

LISTED = inventory("gemini")
MESSAGES: dict[str, dict[str, str]] = LISTED["messages"]
OURS = {vendor: name for name, vendor in types.VENDOR_NAMES.items()}

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
"""Fields of the reference or the SDK that the structs lack, and the reason."""

OTHER_TYPES = {
    "Candidate.avgLogprobs": "came as the text Infinity",
    "LogprobsResult.logProbabilitySum": "JSON has no infinity, as above",
    "LogprobsResultCandidate.logProbability": "JSON has no infinity, as above",
    "Status.details": "google.rpc details are one struct with every field of the known ones",
}
"""Fields whose type differs from the inventory, and the reason."""


def struct_of(message: str) -> type[GeminiStruct]:
    found: type[GeminiStruct] = getattr(types, OURS.get(message, message))
    return found


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
    """The Python type for a type of the inventory."""
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


def test_every_field_of_the_inventory_has_its_place() -> None:
    missing = []
    for message, kinds in MESSAGES.items():
        ours = fields_of(struct_of(message))
        missing += [
            f"{message}.{key}" for key in LISTED["sdk_only"].get(message, ()) if key not in ours
        ]
        for key, kind in kinds.items():
            place = f"{message}.{key}"
            if key not in ours:
                missing.append(place)
            elif place not in OTHER_TYPES:
                assert without_none(ours[key]) == expected(kind), place
    assert sorted(missing) == sorted(LEFT_OUT)


def test_a_field_has_a_source_if_and_only_if_the_reference_lacks_it() -> None:
    beyond = {
        message: {key for key, facts in facts_of(struct_of(message)).items() if facts.source}
        for message in MESSAGES
    }
    assert beyond == {
        message: set(fields_of(struct_of(message))) - set(fields)
        for message, fields in MESSAGES.items()
    }


def test_fields_of_the_sdk_alone_are_those_that_it_adds_to_the_reference() -> None:
    """google-genai sends `modelConfig` for its `modelSelectionConfig`. `outputConfig` is newer."""
    sdk = {
        f"{message}.{key}"
        for message in MESSAGES
        for key, facts in facts_of(struct_of(message)).items()
        if facts.source == SDK
    }
    added = {f"{message}.{key}" for message, keys in LISTED["sdk_only"].items() for key in keys}
    assert sdk - added == {
        "GenerationConfig.modelConfig",
        "GenerateContentRequest.outputConfig",
    }


def test_fields_are_as_old_as_in_the_reference() -> None:
    since = {
        f"{message}.{key}": facts.since
        for message in MESSAGES
        for key, facts in facts_of(struct_of(message)).items()
        if facts.since
    }
    assert since == LISTED["since"]


def test_bytes_of_the_reference_are_base64() -> None:
    listed = {
        f"{message}.{key}"
        for message, kinds in MESSAGES.items()
        for key, kind in kinds.items()
        if kind.startswith("bytes")
    }
    ours = {
        f"{message}.{key}"
        for message in MESSAGES
        for key, facts in facts_of(struct_of(message)).items()
        if facts.base64 and not facts.source
    }
    assert ours == listed


def test_every_enum_value_has_a_name() -> None:
    """The enum classes have all values of the inventory. The fields themselves accept any text."""
    named = {
        value
        for kind in (getattr(types, name) for name in types.__all__)
        if isinstance(kind, type) and issubclass(kind, str)
        for value in kind  # type: ignore[attr-defined]
    }
    for field, values in LISTED["enums"].items():
        assert [
            value
            for value in values
            if value not in named and not value.upper().endswith("UNSPECIFIED")
        ] == [], field


def test_open_floats_take_what_json_has_no_number_for() -> None:
    assert OpenFloat == float | str
    assert (
        msgspec.json.decode(b'{"avgLogprobs":"Infinity"}', type=types.Candidate).avg_logprobs
        == "Infinity"
    )
