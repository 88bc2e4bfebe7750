"""The fields that each message of a request has on each host, read from the types, with what the
types cannot say as data.
"""

from __future__ import annotations

import functools
import re
import types as builtin
import typing
from dataclasses import dataclass
from typing import Any

from wire.core.memory import WireStruct
from wire.gemini import types

VERTEX_ONLY: dict[str, frozenset[str]] = {
    "Blob": frozenset({"displayName"}),
    "FileData": frozenset({"displayName"}),
    "FunctionCall": frozenset({"partialArgs", "willContinue"}),
    "FunctionCallingConfig": frozenset({"streamFunctionCallArguments"}),
    "FunctionResponseBlob": frozenset({"displayName"}),
    "FunctionResponseFileData": frozenset({"displayName"}),
    "GenerateContentRequest": frozenset({"labels", "modelArmorConfig"}),
    "GenerationConfig": frozenset({"audioTimestamp", "modelConfig", "routingConfig"}),
    "GoogleMaps": frozenset({"groundingTypes"}),
    "GoogleSearch": frozenset({"blockingConfidence", "excludeDomains"}),
    "CountTokensRequest": frozenset({"generationConfig", "systemInstruction", "tools"}),
    "SafetySetting": frozenset({"method"}),
    "Schema": frozenset({"additionalProperties", "defs", "ref"}),
    "Tool": frozenset({"retrieval", "enterpriseWebSearch", "parallelAiSearch", "exaAiSearch"}),
}
"""Keys that the Gemini API does not know: of Google's SDK or of traffic of Vertex alone."""

GEMINI_ONLY: dict[str, frozenset[str]] = {
    "ToolConfig": frozenset({"includeServerSideToolInvocations"})
}
"""Keys that Vertex does not know, where that is said; of others it is not known."""

UNCERTAIN: dict[str, frozenset[str]] = {
    "AudioTranscriptionConfig": frozenset({"sourceText"}),
    "FunctionResponsePart": frozenset({"mediaProcessing"}),
    "GoogleMaps": frozenset({"authConfig"}),
    "ImageConfig": frozenset({"personGeneration", "prominentPeople", "imageOutputOptions"}),
    "Part": frozenset({"audioTranscription", "speechMetadata"}),
    "TextResponseFormat": frozenset({"jsonSchema"}),
    "VoiceConfig": frozenset({"replicatedVoiceConfig", "voice"}),
}
"""Keys of Google's SDK that its reference lacks: newer than the reference, or of Vertex.

On the Gemini API, a warning.
"""

BYTES: dict[str, frozenset[str]] = {
    "Blob": frozenset({"data"}),
    "FunctionResponseBlob": frozenset({"data"}),
    "Part": frozenset({"thoughtSignature"}),
}

DATA = frozenset(
    {
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
        "audioTranscription",
    }
)
"""What a part can be; one of these."""

ONEOFS: dict[str, tuple[str, frozenset[str]]] = {
    "Part": ("data", DATA),
    "FunctionResponsePart": ("data", frozenset({"inlineData", "fileData"})),
}

_VENDOR_NAMES = types.VENDOR_NAMES


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name as JSON and as the server spells it, and what it takes."""

    name: str
    snake: str
    kind: str
    """`message`, `list`, `map`, `object`, `any`, or a scalar: `string`, `bytes`, `int`, `int64`,
    `float`, `bool`, `enum`.
    """
    struct: type[WireStruct] | None = None
    """Of messages, and of the items of lists and maps of them."""
    item: str = ""
    """Kind of the items of a list or map."""
    hosts: str = ""
    """The one host that knows it; empty for both."""
    certain: bool = True


def server_name(struct: type[WireStruct]) -> str:
    """The message's name where Google gives it another one."""
    return _VENDOR_NAMES.get(struct.__name__, struct.__name__)


@functools.cache
def fields(struct: type[WireStruct]) -> dict[str, Field]:
    """Both spellings of each key -> its field."""
    found: dict[str, Field] = {}
    hints = typing.get_type_hints(struct)
    owner = struct.__name__
    for attribute, name in zip(
        struct.__struct_fields__, struct.__struct_encode_fields__, strict=True
    ):
        kind, inner, item = _kind(hints[attribute])
        if name in BYTES.get(owner, ()):
            kind = "bytes"
        host = (
            "vertex"
            if name in VERTEX_ONLY.get(owner, ())
            else "gemini"
            if name in GEMINI_ONLY.get(owner, ())
            else ""
        )
        each = Field(
            name, snake(name), kind, inner, item, host, name not in UNCERTAIN.get(owner, ())
        )
        found[name] = found[each.snake] = each
    return found


@functools.cache
def known_to(host: str, struct: type[WireStruct]) -> dict[str, Field]:
    """The fields that a host knows; an empty host is any."""
    return {
        key: field
        for key, field in fields(struct).items()
        if not (field.hosts and host and field.hosts != host)
    }


def _kind(hint: Any) -> tuple[str, type[WireStruct] | None, str]:
    if hint is Any:
        return "any", None, ""
    members = (
        typing.get_args(hint)
        if isinstance(hint, builtin.UnionType) or typing.get_origin(hint) is typing.Union
        else (hint,)
    )
    first, plain = members[0], [each for each in members if each is not type(None)]
    if typing.get_origin(first) in (list, dict):
        item, inner, _ = _kind(typing.get_args(first)[-1])
        if typing.get_origin(first) is dict:
            return ("object", None, "") if item == "any" else ("map", inner, item)
        return "list", inner, item
    if isinstance(first, type) and issubclass(first, WireStruct):
        return "message", first, ""
    if (
        len(plain) == 2
    ):  # of two scalars, the first is what the server says: an enum's name, an int64's digits
        return {str: "enum", int: "int64", float: "float"}[first], None, ""
    return {str: "string", int: "int", float: "float", bool: "bool"}[first], None, ""


def snake(name: str) -> str:
    """`functionDeclarations[0].parametersJsonSchema` as the server spells it.

    >>> snake("tools[0].functionDeclarations[1].parametersJsonSchema")
    'tools[0].function_declarations[1].parameters_json_schema'
    """
    return re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name)
