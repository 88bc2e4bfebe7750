"""The pages that are made of the structs: JSON Schema of each wire, and docs/fields.md.

`python -m tests.pages` writes them, a test compares them. Read the diff of a JSON Schema: it is a
change of what goes over the wire.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from wire.anthropic import types as anthropic
from wire.core.facts import DOCS, SDK, TRAFFIC, facts_of
from wire.core.memory import WireStruct
from wire.gemini import types as gemini
from wire.openai.chat import types as openai

ROOT = Path(__file__).parent.parent
TYPES: dict[str, ModuleType] = {"gemini": gemini, "openai": openai, "anthropic": anthropic}
TITLES = {
    "gemini": "Gemini: generateContent and its family",
    "openai": "OpenAI: chat completions, embeddings, models",
    "anthropic": "Anthropic: Messages",
}
SOURCES = {
    "": "reference",
    SDK: "SDK only",
    TRAFFIC: "recorded traffic",
    DOCS: "pages and threads",
}


def structs(wire: str) -> list[type[WireStruct]]:
    """The public structs of a wire, by name."""
    return [
        value
        for _, value in sorted(vars(TYPES[wire]).items())
        if isinstance(value, type) and issubclass(value, WireStruct) and value.__struct_fields__
    ]


def pages() -> dict[str, str]:
    """Path below the root of the repository -> text."""
    schemas = {f"wire/schemas/{wire}.json": schema(wire) for wire in TYPES}
    return {**schemas, "docs/fields.md": fields()}


def schema(wire: str) -> str:
    """JSON Schema of all messages of a wire, each under `$defs`."""
    _, parts = msgspec.json.schema_components(structs(wire), ref_template="#/$defs/{name}")
    for part in parts.values():
        part.pop("description", None)  # prose is no part of the wire
        part.pop("title", None)
    page: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": TITLES[wire],
        "description": "A message is #/$defs/NAME.",
        "$defs": dict(sorted(parts.items())),
    }
    return json.dumps(page, indent=1, ensure_ascii=False) + "\n"


HEAD = """# Facts of fields

What is known of a field beside its type. `python -m tests.pages` writes this page from the `Facts`
in the annotations of the structs. A field that is not listed is in the vendor's reference, on all
hosts, and older than the recorded history of the reference.

- **hosts**: the hosts that have the field; empty means all. On Gemini's wire the list is complete,
  and `gemini.check` refuses the field on the other host (G1). On the other wires the list names the
  hosts that are known to have the field.
- **known from**: empty means the vendor's reference. *SDK only*: the vendor's SDK has the field,
  the reference does not, and no use is recorded; `gemini.check` warns of it on the Gemini API.
  *Recorded traffic*: accepted requests or responses have it. *Pages and threads*: a guide, a
  host's page or a public thread names it.
- **since**: the first day on which the reference has it.
"""


def fields() -> str:
    """docs/fields.md."""
    text = [HEAD]
    for wire, title in TITLES.items():
        text.append(f"## {title}\n\n| field | hosts | known from | since |\n|---|---|---|---|")
        groups = []
        for struct in structs(wire):
            by_group: dict[str, list[str]] = {}
            for key, facts in facts_of(struct).items():
                if facts.hosts or facts.source or facts.since:
                    source = SOURCES[facts.source] if facts.source else ""
                    cells = [
                        f"`{struct.__name__}.{key}`",
                        ", ".join(facts.hosts),
                        source,
                        facts.since,
                    ]
                    text.append(f"| {' | '.join(cells)} |")
                if facts.one_of:
                    by_group.setdefault(facts.one_of, []).append(f"`{key}`")
            groups += [
                f"| `{struct.__name__}` | {group} | {', '.join(keys)} |"
                for group, keys in by_group.items()
            ]
        if groups:
            head = "At most one field of a group may be set (G3).\n\n| message | group | fields |"
            text += [f"\n{head}\n|---|---|---|", *groups]
        text.append("")
    return "\n".join(text)


if __name__ == "__main__":
    for path, page in pages().items():
        (ROOT / path).write_text(page, "utf-8")
