"""The base of every message, open enums, and names that differ from the vendor's."""

from __future__ import annotations

from typing import TypeAlias

from wire.core.fields import Fields
from wire.core.memory import WireStruct

OpenEnum: TypeAlias = str | int
"""An enum value: its name, which may be one that this library does not list, or its number. The
server sends numbers only if the query of the request has `$alt=json;enum-encoding=int`.
"""

OpenFloat: TypeAlias = float | str
"""A number, or one of the texts `"NaN"`, `"Infinity"`, `"-Infinity"`, since JSON has no such
number.
"""

GEMINI, VERTEX = ("gemini",), ("vertex",)
"""Values of `Facts.hosts`: fields that only the Gemini API has, and fields that only Vertex has."""

VENDOR_NAMES: dict[str, str] = {
    "Date": "GoogleTypeDate",
    "GroundingSupport": "GoogleAiGenerativelanguageV1betaGroundingSupport",
    "MediaResolution": "V1mainMediaResolution",
    "ModelConfig": "ModelSelectionConfig",
    "Segment": "GoogleAiGenerativelanguageV1betaSegment",
    "SourceFlaggingUri": "GroundingMetadataSourceFlaggingUri",
    "RoutingConfig": "GenerationConfigRoutingConfig",
    "AutoRoutingMode": "GenerationConfigRoutingConfigAutoRoutingMode",
    "ManualRoutingMode": "GenerationConfigRoutingConfigManualRoutingMode",
    "ImageOutputOptions": "ImageConfigImageOutputOptions",
    "ParallelAiSearch": "ToolParallelAiSearch",
    "ExaAiSearch": "ToolExaAiSearch",
}
"""Our name -> the vendor's, for the structs that have another name here."""


class GeminiStruct(WireStruct, frozen=True, kw_only=True, rename="camel"):
    """Base of every Gemini message."""


class GeminiRequestStruct(GeminiStruct, frozen=True, kw_only=True, metaclass=Fields):
    """Base of requests and of their settings, which users build: a wrong field is told the right
    one. Messages and their parts do without, since a request has many.
    """
