"""The structs themselves: encoding, decoding, and rules that hold for all of them."""

from __future__ import annotations

import enum
import importlib
import json
import pkgutil
import re
import types as python_types
import typing
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from tests.joined import joined
from wire.catalogue.stops import words_of
from wire.core.memory import WireStruct, encode
from wire.gemini import parse, types
from wire.gemini.types import (
    Blob,
    Candidate,
    Content,
    ErrorBody,
    FinishReason,
    FunctionCall,
    FunctionDeclaration,
    GenerateContentRequest,
    GenerateContentResponse,
    GenerationConfig,
    GoogleSearch,
    LogprobsResult,
    ModalityTokenCount,
    Part,
    PartialArg,
    SafetySetting,
    Schema,
    SchemaType,
    Segment,
    ServiceTier,
    ThinkingConfig,
    ThinkingLevel,
    Tool,
    UsageMetadata,
)

STRUCTS = sorted(
    {
        value
        for value in (getattr(types, name) for name in types.__all__)
        if isinstance(value, type) and issubclass(value, types.GeminiStruct)
    }
    - {types.GeminiStruct},
    key=lambda cls: cls.__name__,
)
ENUMS = [
    value
    for value in (getattr(types, name) for name in types.__all__)
    if isinstance(value, type) and issubclass(value, enum.StrEnum)
]
FIELDS = [
    (cls, name, wire_name, hints[name])
    for cls, hints in ((cls, typing.get_type_hints(cls)) for cls in STRUCTS)
    for name, wire_name in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
]


def leaves(hint: Any) -> set[Any]:
    """The types in a hint, with unions and containers opened."""
    if typing.get_origin(hint) in (typing.Union, python_types.UnionType, list, dict):
        return {leaf for inner in typing.get_args(hint) for leaf in leaves(inner)}
    return {hint}


# --- every struct ---------------------------------------------------------------------------------


def test_the_numbers_of_modalities_are_those_of_the_enum():
    assert ("unknown", *(each.value.lower() for each in types.Modality)) == parse._MODALITIES


def test_the_finish_reasons_that_are_known_are_those_of_the_enum():
    assert words_of("gemini") == {*FinishReason, "FINISH_REASON_UNSPECIFIED"}
    assert words_of("gemini.block") == set(types.BlockReason)


def test_all_is_exported_and_nothing_is_missing():
    modules = [
        importlib.import_module(f"{types.__name__}.{each.name}")
        for each in pkgutil.iter_modules(types.__path__)
    ]
    defined = {
        name
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and not name.startswith("_")
        and not name.endswith("RequestStruct")  # a base for this package alone
    }
    assert defined <= set(types.__all__)
    assert len(STRUCTS) > 100


@joined("cls", STRUCTS, ids=lambda cls: cls.__name__)
def test_every_struct(cls):
    config = cls.__struct_config__
    assert (config.frozen, config.omit_defaults, config.forbid_unknown_fields) == (
        True,
        True,
        False,
    )
    assert issubclass(cls, WireStruct)
    # every field is optional, so the empty struct is legal, and sends nothing
    assert encode(cls()) == b"{}"
    assert msgspec.json.decode(b'{"noSuchKey":{"a":[1]}}', type=cls) == cls()
    with pytest.raises(TypeError):
        cls(*[None] * len(cls.__struct_fields__) or [None])
    with pytest.raises((AttributeError, TypeError)):
        setattr(cls(), (cls.__struct_fields__ or ("anything",))[0], 1)


OF_ANY = {
    (name, "type")
    for name in (
        "ErrorDetail",
        "EmbedContentBatch",
        "EmbedContentBatchOutput",
        "GenerateContentBatch",
        "GenerateContentBatchOutput",
    )
}
"""The fields `@type` of messages that occur in a field for any message and name themselves."""


def camel(name):
    return re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name)


OF_DECISIONS = {cls.__name__ for cls in STRUCTS if cls.__module__.endswith(".decisions")}
"""The one endpoint here whose keys are snake_case, as google-genai 3.6.1 sends and reads them."""


def test_every_name_on_the_wire_is_camel_case():
    named = {(cls.__name__, name): wire_name for cls, name, wire_name, _ in FIELDS}
    assert {cls for cls, _ in named} == {cls.__name__ for cls in STRUCTS if cls.__struct_fields__}
    assert named == {
        (cls, name): "@type"
        if (cls, name) in OF_ANY
        else name
        if cls in OF_DECISIONS
        else camel(name)
        for cls, name in named
    }


def test_every_field_is_none_or_unset_by_default():
    """UNSET is absent where `null` is a value (type Any); None is absent everywhere else."""
    wrong = []
    for cls, name, _, hint in FIELDS:
        default = getattr(cls(), name)
        if default is not (UNSET if hint is Any else None):
            wrong.append((cls.__name__, name))
    assert wrong == []


def test_every_null_reads_as_absent():
    """JSON null counts as absent, except where it is a value."""
    for cls, name, wire_name, hint in FIELDS:
        read = msgspec.json.decode(json.dumps({wire_name: None}), type=cls)
        assert getattr(read, name) is None, (cls, name)
        assert (read == cls()) is (hint is not Any), (cls, name)


def test_no_field_is_typed_by_an_enum_class():
    """Otherwise a new value would make the whole response unreadable."""
    assert [
        (cls.__name__, name) for cls, name, _, hint in FIELDS if leaves(hint) & set(ENUMS)
    ] == []


ENUM_WORDS = re.compile(
    r"(reason|category|threshold|probability|severity|modality|outcome|language$|tool_type|mode$|scheduling|behavior|level$|tier$)"
)


def test_every_enum_field_is_open():
    """Unknown texts and integers (`enum-encoding=int`) are decoded and encoded unchanged."""
    open_fields = [
        (cls, wire_name, any(typing.get_origin(inner) is list for inner in typing.get_args(hint)))
        for cls, _, wire_name, hint in FIELDS
        if leaves(hint) >= {str, int}
    ]
    assert len(open_fields) > 40
    for cls, wire_name, in_list in open_fields:
        for value in ("NEVER_SEEN_BEFORE", 7):
            body = msgspec.json.encode({wire_name: [value] if in_list else value})
            assert msgspec.json.encode(msgspec.json.decode(body, type=cls)) == body, (
                cls,
                wire_name,
            )


def test_enum_fields_are_found():
    """A field with the name of an enum field is an open enum."""
    not_open = {
        (cls.__name__, name)
        for cls, name, _, hint in FIELDS
        if ENUM_WORDS.search(name)
        and not leaves(hint) & {float, bool}
        and str in leaves(hint)
        and int not in leaves(hint)
    }
    assert not_open == {
        # of decisions, whose enums are texts (google-genai 3.6.1)
        ("DecisionFeedback", "block_reason"),
        ("DecisionFeedback", "block_reason_message"),
        ("DecisionModalityTokens", "modality"),
        ("ErrorDetail", "reason"),
        ("FieldViolation", "reason"),
        ("PromptFeedback", "block_reason_message"),
    }


@joined("cls", ENUMS, ids=lambda cls: cls.__name__)
def test_constants_equal_their_text(cls):
    for member in cls:
        assert (member == member.value, json.dumps(member), str(member)) == (
            True,
            f'"{member.value}"',
            member.value,
        )
        assert "UNSPECIFIED" not in member.value


# --- absent, null, zero ---------------------------------------------------------------------------


@joined(
    ("struct", "body"),
    [
        (GenerationConfig(temperature=0.0), b'{"temperature":0.0}'),
        (GenerationConfig(temperature=0), b'{"temperature":0}'),
        (
            GenerationConfig(seed=0, top_k=0, max_output_tokens=0),
            b'{"maxOutputTokens":0,"topK":0,"seed":0}',
        ),
        (GenerationConfig(stop_sequences=[]), b'{"stopSequences":[]}'),
        (GenerationConfig(response_logprobs=False), b'{"responseLogprobs":false}'),
        (GenerationConfig(response_json_schema={}), b'{"responseJsonSchema":{}}'),
        (GenerationConfig(response_json_schema=None), b'{"responseJsonSchema":null}'),
        (GenerationConfig(response_json_schema=False), b'{"responseJsonSchema":false}'),
        (GenerationConfig(response_mime_type=""), b'{"responseMimeType":""}'),
        (
            ThinkingConfig(thinking_budget=0, include_thoughts=False),
            b'{"includeThoughts":false,"thinkingBudget":0}',
        ),
        (Part(text=""), b'{"text":""}'),
        (Part(text="", thought=False), b'{"text":"","thought":false}'),
        (Part(), b"{}"),
        (Part(inline_data=Blob()), b'{"inlineData":{}}'),
        (Content(parts=[]), b'{"parts":[]}'),
        (FunctionCall(args={}), b'{"args":{}}'),
        (FunctionCall(args={"a": None}), b'{"args":{"a":null}}'),
        (PartialArg(null_value=None), b'{"nullValue":null}'),
        (Tool(google_search=GoogleSearch()), b'{"googleSearch":{}}'),
        (Schema(default=None, nullable=False), b'{"nullable":false,"default":null}'),
        (
            FunctionDeclaration(name="f", parameters_json_schema={"type": "object"}),
            b'{"name":"f","parametersJsonSchema":{"type":"object"}}',
        ),
        (SafetySetting(category="X", threshold=None), b'{"category":"X"}'),
        (
            GenerateContentRequest(contents=None, model="models/x", store=False),
            b'{"model":"models/x","store":false}',
        ),
        (Candidate(finish_reason=FinishReason.STOP), b'{"finishReason":"STOP"}'),
        (GenerateContentRequest(service_tier=ServiceTier.FLEX), b'{"serviceTier":"flex"}'),
        (Schema(type=SchemaType.OBJECT), b'{"type":"OBJECT"}'),
        (ThinkingConfig(thinking_level=ThinkingLevel.LOW), b'{"thinkingLevel":"LOW"}'),
    ],
    ids=lambda value: value.decode() if isinstance(value, bytes) else "",
)
def test_zero_is_sent_and_absent_is_not(struct, body):
    """S2-12: no `"generationConfig": null`, and no zero lost by omit-empty."""
    assert encode(struct) == body
    assert msgspec.json.decode(body, type=type(struct)) == struct


@pytest.mark.parametrize(
    ("cls", "body", "expected"),
    [
        (FunctionCall, b'{"name":"f"}', FunctionCall(name="f")),
        (FunctionCall, b'{"args":null}', FunctionCall()),
        (Candidate, b'{"avgLogprobs":"Infinity"}', Candidate(avg_logprobs="Infinity")),
        (Candidate, b'{"avgLogprobs":-0.25}', Candidate(avg_logprobs=-0.25)),
        (LogprobsResult, b'{"logProbabilitySum":"NaN"}', LogprobsResult(log_probability_sum="NaN")),
        (Schema, b'{"maxItems":"12","minItems":1}', Schema(max_items="12", min_items=1)),
        (ModalityTokenCount, b'{"modality":1}', ModalityTokenCount(modality=1)),
        (Segment, b'{"endIndex":3}', Segment(end_index=3)),
        (
            Part,
            b'{"thoughtSignature":"YW55LXRoaW5n_-=="}',
            Part(thought_signature="YW55LXRoaW5n_-=="),
        ),  # url-safe: opaque text
        (
            Part,
            b'{"thoughtSignature":"skip_thought_signature_validator"}',
            Part(thought_signature="skip_thought_signature_validator"),
        ),
        (PartialArg, b'{"numberValue":2}', PartialArg(number_value=2)),
        (
            ErrorBody,
            b'{"error":{"details":[{"@type":"x"}]}}',
            ErrorBody(error=types.Status(details=[types.ErrorDetail(type="x")])),
        ),
    ],
)
def test_odd_values_are_read(cls, body, expected):
    assert msgspec.json.decode(body, type=cls) == expected


# --- fields of responses --------------------------------------------------------------------------


def answer(*parts: Part, finish: Any = None) -> GenerateContentResponse:
    return GenerateContentResponse(
        candidates=[Candidate(content=Content(parts=list(parts)), finish_reason=finish)]
    )


CALL, OTHER = FunctionCall(name="tide"), FunctionCall(name="moon", args={})


@joined(
    ("said", "text", "calls", "finish"),
    [
        (GenerateContentResponse(), "", [], None),
        (GenerateContentResponse(candidates=[]), "", [], None),
        (
            GenerateContentResponse(candidates=[Candidate(finish_reason="MAX_TOKENS")]),
            "",
            [],
            "MAX_TOKENS",
        ),
        (
            GenerateContentResponse(candidates=[Candidate(content=Content(role="model"))]),
            "",
            [],
            None,
        ),
        (GenerateContentResponse(usage_metadata=UsageMetadata(total_token_count=1)), "", [], None),
        (answer(Part(text="a"), Part(text=""), Part(text="b"), finish="STOP"), "ab", [], "STOP"),
        (answer(Part(text="a", thought=True), Part(text="b", thought=False)), "b", [], None),
        (
            answer(
                Part(text="a"),
                Part(function_call=CALL),
                Part(text="b"),
                Part(function_call=OTHER),
                finish="STOP",
            ),
            "ab",
            [CALL, OTHER],
            "STOP",
        ),
        (
            answer(
                Part(function_call=CALL),
                Part(function_call=FunctionCall()),
                finish="UNEXPECTED_TOOL_CALL",
            ),
            "",
            [CALL],
            "UNEXPECTED_TOOL_CALL",
        ),
        (answer(Part(), Part(thought_signature="QUJD"), finish=1), "", [], 1),
        (
            GenerateContentResponse(
                candidates=[
                    Candidate(finish_reason="A"),
                    Candidate(content=Content(parts=[Part(text="b")])),
                ]
            ),
            "",
            [],
            "A",
        ),
    ],
)
def test_properties(said, text, calls, finish):
    assert (said.text, said.function_calls, said.finish_reason) == (text, calls, finish)
