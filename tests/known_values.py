"""`known_values.json` of the checks: the texts that fields of an open set are known to have.

The structs accept any text there. `wire.testing.cassette.checks.drift` reports others.
`python -m tests.pages` writes the file from the inventories, the enum classes of Gemini, and
`FURTHER`.
"""

from __future__ import annotations

import enum
import json
import typing
from collections.abc import Iterable, Iterator

from tests.anthropic.test_inventory import ROOTS as ANTHROPIC
from tests.converse.test_inventory import ROOTS as CONVERSE
from tests.gemini.interactions.test_inventory import ROOTS as INTERACTIONS
from tests.inventories import Walk, inventory
from tests.ollama.test_inventory import ROOTS as OLLAMA
from tests.openai.chat.test_inventory import ROOTS as OPENAI
from tests.openai.responses.test_inventory import ROOTS as RESPONSES
from wire.catalogue.stops import words_of
from wire.gemini import types as gemini

ROOTS: dict[str, dict[str, typing.Any]] = {
    "openai": OPENAI,
    "openai.responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "converse": CONVERSE,
    "gemini.interactions": INTERACTIONS,
    "ollama": OLLAMA,
}

FURTHER: dict[str, dict[str, Iterable[str]]] = {
    "gemini": {},
    "openai": {
        "ChatCompletion.service_tier": ("on_demand", "provisioned"),
        "ChatCompletionChunk.object": ("chat.completion", "chat.completion.done"),
        "ChatCompletionChunk.service_tier": ("on_demand", "provisioned"),
        "ChatCompletionRequest.tool_choice": ("any",),
        "Choice.finish_reason": words_of("chat"),
        "ChunkChoice.finish_reason": words_of("chat"),
        "ContentPart.type": ("document_url", "thinking", "video_url"),
    },
    "openai.responses": {
        "Response.service_tier": ("provisioned",),
        "ResponseError.code": ("insufficient_quota",),
        "SearchSource.type": ("api",),
    },
    "anthropic": {
        "ContentBlock.type": (
            "advisor_tool_result",
            "compaction",
            "fallback",
            "mcp_tool_result",
            "mcp_tool_use",
            "tool_addition",
        ),
        "Tool.type": ("advisor_20260301", "computer_20250124", "computer_20251124"),
        "Delta.stop_reason": words_of("messages"),
        "Delta.type": ("compaction_delta",),
        "MessageResponse.stop_reason": words_of("messages"),
        "MessageStreamEvent.type": ("error", "ping"),
        "ToolOutput.type": ("advisor_redacted_result", "advisor_result"),
    },
    "converse": {
        "ConverseResponse.stopReason": words_of("bedrock"),
        "MessageStopEvent.stopReason": words_of("bedrock"),
        "ToolUseBlock.type": ("tool_use",),
        "ToolUseBlockStart.type": ("tool_use",),
        "VideoBlock.format": ("video/mp4",),
    },
    "gemini.interactions": {
        "Delta.type": ("text_annotation",),
        "InteractionEvent.event_type": ("interaction.in_progress", "interaction.requires_action"),
    },
    "ollama": {
        "ChatResponse.done_reason": ("",),
        "GenerateResponse.done_reason": ("",),
    },
}
"""Values that the references lack: they are in recorded traffic, or the library handles them."""

CLASSES = {
    "SafetyRating.severity": gemini.HarmSeverity,
    "SafetyRating.overwrittenThreshold": gemini.HarmBlockThreshold,
    "UsageMetadata.trafficType": gemini.TrafficType,
}
"""Fields of Gemini that only its SDK has, with their enum classes."""


def values() -> dict[str, dict[str, list[str]]]:
    """Wire -> `STRUCT.KEY` -> the known texts."""
    found = {"gemini": dict(_of_gemini())}
    for wire, roots in ROOTS.items():
        walk = Walk(inventory(wire), roots)
        found[wire] = {
            ".".join(field): texts for field, texts in walk.values.items() if field not in walk.free
        }
    return {
        wire: {
            field: sorted({*texts, *FURTHER[wire].get(field, ())})
            for field, texts in sorted(fields.items())
        }
        for wire, fields in found.items()
    }


def _of_gemini() -> Iterator[tuple[str, set[str]]]:
    """The values of the inventory, and those that the enum class of the field has besides."""
    ours = {vendor: name for name, vendor in gemini.VENDOR_NAMES.items()}
    named = (getattr(gemini, name) for name in gemini.__all__)
    classes: list[type[enum.StrEnum]] = [
        each for each in named if isinstance(each, type) and issubclass(each, enum.StrEnum)
    ]
    for place, listed in inventory("gemini")["enums"].items():
        struct, _, key = place.partition(".")
        own = {each for each in listed if not each.upper().endswith("UNSPECIFIED")}
        fitting = [set(each) for each in classes if own and own <= set(each)]
        yield f"{ours.get(struct, struct)}.{key}", {*listed, *min(fitting, key=len, default=())}
    for field, kind in CLASSES.items():
        yield field, set(kind)


def text() -> str:
    """The text of the file."""
    return json.dumps(values(), indent=1) + "\n"
