"""The base of every message, open enums, and names that differ from the vendor's."""

from __future__ import annotations

from typing import TypeAlias

from wire.core.memory import WireStruct

OpenEnum: TypeAlias = str | int
"""An enum value: text, also one that no list has; an integer if the caller asked for
`$alt=json;enum-encoding=int`.
"""

OpenFloat: TypeAlias = float | str
"""A number, or `"NaN"`, `"Infinity"`, `"-Infinity"`: JSON has none of them, so the server writes
text.
"""

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
"""Our name -> the vendor's, for the structs that are called otherwise here."""


class GeminiStruct(WireStruct, frozen=True, kw_only=True, rename="camel"):
    """Base of every Gemini message."""
