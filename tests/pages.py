"""The pages that are made of structs and rows: JSON Schema of each wire, of cassettes and of cases
of conformance, the known values of enum fields, docs/fields.md, docs/errors.md,
docs/cassette-format.md, the tables of docs/pipelines.md and docs/guide/security.md, and the lists
of structs in docs/api.

`python -m tests.pages` writes them, a test compares them. Read the diff of a JSON Schema: it is a
change of what goes over the wire.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from tests import known_values
from tests.faults import threats
from tests.testing.cassette import format_page
from wire import errors
from wire.anthropic import types as anthropic
from wire.catalogue.settings import table as settings_table
from wire.converse import types as converse
from wire.core.facts import DOCS, SDK, TRAFFIC, facts_of
from wire.core.memory import WireStruct
from wire.gemini import types as gemini
from wire.gemini.interactions import types as interactions
from wire.gemini.live import types as live
from wire.ollama import types as ollama
from wire.openai.chat import types as openai
from wire.openai.realtime import types as realtime
from wire.openai.responses import types as responses
from wire.pipeline.conditions import FORMS
from wire.pipeline.context import GIVEN_KEYS
from wire.pipeline.node_types import (
    EDGE_ATTRIBUTES,
    GRAPH_ATTRIBUTES,
    NODE_TYPES,
    TIMEOUT,
    Attribute,
    NodeType,
)
from wire.testing.conformance import loading

ROOT = Path(__file__).parent.parent
TYPES: dict[str, ModuleType] = {
    "gemini": gemini,
    "openai": openai,
    "openai.responses": responses,
    "anthropic": anthropic,
    "converse": converse,
    "ollama": ollama,
    "gemini.interactions": interactions,
    "gemini.live": live,
    "openai.realtime": realtime,
}
TITLES = {
    "gemini": "Gemini: generateContent and its family",
    "openai": "OpenAI: chat completions, embeddings, models",
    "openai.responses": "OpenAI: Responses, conversations",
    "anthropic": "Anthropic: Messages",
    "converse": "Amazon Bedrock: Converse",
    "ollama": "Ollama",
    "gemini.interactions": "Gemini: Interactions",
    "gemini.live": "Gemini: Live",
    "openai.realtime": "OpenAI: Realtime",
}
SOURCES = {
    "": "reference",
    SDK: "SDK only",
    TRAFFIC: "recorded traffic",
    DOCS: "pages and threads",
}


def structs(wire: str) -> list[type[WireStruct]]:
    """The public structs of a wire, by name."""
    types = TYPES[wire]  # whose names are loaded on first use
    return [
        value
        for value in (getattr(types, name) for name in sorted(types.__all__))
        if isinstance(value, type) and issubclass(value, WireStruct) and value.__struct_fields__
    ]


def pages() -> dict[str, str]:
    """Path below the root of the repository -> text."""
    schemas = {f"schemas/{wire}.json": schema(wire) for wire in TYPES}
    lists = {f"docs/api/{wire.replace('.', '-')}-types.md": struct_list(wire) for wire in TYPES}
    return {
        **schemas,
        **lists,
        "wire/testing/cassette/checks/known_values.json": known_values.text(),
        "docs/fields.md": fields(),
        "docs/settings.md": settings(),
        "docs/errors.md": remedies(),
        "docs/guide/security.md": security(),
        "docs/pipelines.md": pipelines(),
        "docs/cassette-format.md": format_page.page(),
        "schemas/cassette.schema.json": format_page.schema_text(),
        "schemas/conformance.schema.json": cases_schema(),
    }


def cases_schema() -> str:
    """JSON Schema of a file of cases of `wire conformance`."""
    return json.dumps(loading.schema(), indent=1, ensure_ascii=False) + "\n"


SETTINGS = """# Settings by wire

One line for each setting of a request that a wire has, as in `wire/catalogue/settings.json`: its
name in `wire`, if it has one, the path of its key on each wire, the known bounds and words,
and what becomes of a named one at a host without it. `settings.NAME` is a key of
`Request.settings`. The others are keys of `options`, which is refused at a host that is known not
to take them. The [guide](guide/settings.md) shows how to use both; `python -m tests.pages` writes
this page.

| setting | Gemini | chat | Responses | Messages | Converse | Interactions | Ollama | known | else \
| source |
|---|---|---|---|---|---|---|---|---|---|---|
{rows}
"""
ELSEWHERE = {
    "clamp": "the nearest number, with a note",
    "cut": "the reply is cut there, with a note",
    "drop": "left out, with a note",
    "nearest": "the nearest word, with a note",
    "refuse": "refused",
    "reword": "a sentence in the prompt, with a note",
    "same": "every host has it",
}
SDKS_OF_SETTINGS = {
    "O": "openai 3.54.0",
    "A": "anthropic 2.12.0",
    "G": "google-genai 3.4.0",
    "B": "botocore 1.44.5",
    "L": "ollama/ollama @fb30760",
    "D": "[providers](providers.md)",
}


def settings() -> str:
    """The page of all settings, by wire."""
    rows = []
    for row in settings_table().settings:
        paths = (
            *(row.gemini, row.chat, row.responses),
            *(row.messages, row.converse, row.interactions, row.ollama),
        )
        known = [
            *(f"{column} {least} to {most}" for column, (least, most) in row.bounds.items()),
            *(f"{column}: {', '.join(words)}" for column, words in row.values.items()),
            *(f"{column} of {', '.join(hosts)} only" for column, hosts in row.hosts.items()),
            *([row.why.rstrip(".")] if row.why else []),
        ]
        source = ", ".join(SDKS_OF_SETTINGS[each] for each in row.source.split())
        cells = [
            f"`{row.name or f'settings.{row.key}'}`" if row.name or row.key else "",
            *(f"`{path}`" if path else "" for path in paths),
            "; ".join(known).replace("None", "any"),
            ELSEWHERE[row.policy] if row.name or row.key else "",
            f"{source} ({row.date})",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return SETTINGS.format(rows="\n".join(rows))


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


STRUCTS = """# Structs of {vendor}

The messages of `wire.{wire}.types`. The package `wire.{wire}` has them too:
`{wire}.{example}`. Where a field is known from stands in [Facts of fields](../fields.md).
`python -m tests.pages` writes this page.
"""
NAMES = {
    "gemini": ("Gemini", "Part"),
    "openai": ("OpenAI", "Tool"),
    "openai.responses": ("OpenAI's Responses", "Tool"),
    "anthropic": ("Anthropic", "Tool"),
    "converse": ("Converse", "ToolConfig"),
    "ollama": ("Ollama", "ChatRequest"),
    "gemini.interactions": ("Interactions", "Step"),
    "gemini.live": ("Gemini Live", "Setup"),
    "openai.realtime": ("OpenAI's Realtime", "Session"),
}
SECTIONS = {
    "request": "Requests",
    "options": "Options",
    "items": "Items",
    "session": "Sessions",
    "types": "Messages",
    "steps": "Steps",
    "content": "Content",
    "message": "Messages",
    "tools": "Tools",
    "answer": "Responses",
    "events": "Events",
    "calls": "Client secrets and calls",
    "conversations": "Conversations",
    "enums": "Known values",
    "embeddings": "Embeddings",
    "decisions": "Decisions",
    "images": "Images",
    "audio": "Speech and transcripts",
    "models": "Models",
    "files": "Files",
    "stores": "File search stores",
    "caches": "Context caches",
    "batches": "Batches",
    "resources": "Agents, environments, triggers, webhooks",
    "guardrails": "Guardrails",
    "operations": "Operations",
    "predict": "Predictions",
    "status": "Errors",
    "errors": "Errors",
    "base": "Base",
}
"""Module of `types` -> title of its section, in the order of the page."""


def struct_list(wire: str) -> str:
    """docs/api/WIRE-types.md: what autodoc describes, one section for each module."""
    types = TYPES[wire]
    modules: dict[str, list[str]] = {name: [] for name in SECTIONS}
    intros: dict[str, str] = {}
    for name in sorted(types.__all__):
        value = getattr(types, name)
        of_struct = isinstance(value, type) and value.__module__.startswith("wire.")
        module, kind = (value.__module__, "class") if of_struct else ("base", "data")
        last = module.rpartition(".")[2]
        if wire == "openai.responses" and ".common." in module:
            continue  # described on the page of `wire.openai.types`
        modules[last].append(f".. auto{kind}:: {name}")
        if of_struct:
            intros[last] = (sys.modules[module].__doc__ or "").partition("\n\n")[0].strip()
    vendor, example = NAMES[wire]
    page = [STRUCTS.format(vendor=vendor, wire=wire, example=example)]
    for last, lines in modules.items():
        if lines:
            listed = "\n".join([f".. currentmodule:: wire.{wire}.types\n", *lines])
            page.append(
                f"\n## {SECTIONS[last]}\n\n{intros[last]}\n\n```{{eval-rst}}\n{listed}\n```\n"
            )
    return "".join(page)


HEAD = """# Facts of fields

The facts of a field beside its type. `python -m tests.pages` writes this page from the `Facts`
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


TABLES_END = "## A type of your own"
"""The first heading of docs/pipelines.md that is written by hand."""

PIPELINES = """# Pipelines: node types, attributes, conditions, context

A pipeline is a graph in DOT. `python -m tests.pages` writes the tables of this page from the rows
in `wire/pipeline`; `attractor types` prints those of the node types.

## Node types

The type of a node decides what runs it: its attribute `type`, else its `shape`, else its id, else
`codergen`. A name under "also" is another value of `type`, or, for `start` and `exit`, an id that
is enough by itself. Required attributes are marked. `{id}` is the id of the node, `{key}` its
attribute `key`.

"""


def pipelines() -> str:
    """docs/pipelines.md: the tables, and what stands behind them in the file."""
    rows = [NODE_TYPES[name] for name in NODE_TYPES.runnable]
    page = (ROOT / "docs" / "pipelines.md").read_text("utf-8")
    by_hand = page[page.index(TABLES_END) :]
    attributes = [(row.name, each) for row in rows for each in row.attributes]
    attributes += [("every type", TIMEOUT)]
    attributes += [("an edge", each) for each in EDGE_ATTRIBUTES]
    attributes += [("the graph", each) for each in GRAPH_ATTRIBUTES]
    sets = "keys of the context that it sets"
    parts = [
        table(("type", "also", "shape", "attributes", sets, "what it does"), map(_type, rows)),
        "## Attributes\n\nA `template` is a text in which `{{.key}}` is replaced by a value of the "
        "context, and `$goal` by the\ngraph's goal. A `count` is a whole number from 1 up; "
        "`seconds` is a duration such as `90s` or `5m`,\nor a number of seconds.\n\n"
        + table(
            ("of", "attribute", "kind", "default", "meaning"),
            (_attribute(owner, each) for owner, each in attributes),
        ),
        "## Conditions\n\nThe edges of a node are tried in the order of the file, and the first "
        "one whose condition holds is\ntaken. If none holds, the run fails; the error shows the "
        "conditions and the values that they\ncompare. A missing key has the empty text as its "
        "value. Values are compared as texts; case counts.\n\n"
        + table(("condition", "holds if"), ([_code(form), text] for form, text in FORMS)),
        "## Keys of the context\n\n"
        + table(
            ("key", "set by"),
            [
                *([_code(key), text] for key, text in GIVEN_KEYS.items()),
                *(
                    [_code(key), f"each node of type `{row.name}`"]
                    for row in rows
                    for key in row.sets or ()
                    if key not in GIVEN_KEYS
                ),
                ["any other", "`--var key=value` and `--var-file`"],
            ],
        ),
    ]
    return PIPELINES + "\n".join(parts) + "\n" + by_hand


def security() -> str:
    """docs/guide/security.md: what is written by hand, then the threats."""
    page = (ROOT / "docs" / "guide" / "security.md").read_text("utf-8")
    return page.partition("## Threats, guards and tests")[0] + threats.page()


REMEDIES = """# Errors and remedies

Each error of this library is a `WireError`, and so are the kinds below it: `except RateLimitError`
catches a `QuotaError` too. [Debugging](guide/debugging.md) shows how to find a cause, and the
[reference](api/errors.md) has the fields. `python -m tests.pages` makes this page of the classes.

{rows}"""


def remedies() -> str:
    """docs/errors.md: the tree of errors, with the cause and the remedy of each docstring."""
    return REMEDIES.format(
        rows=table(("error", "is a", "cause", "remedy"), _remedies(errors.WireError))
    )


def _remedies(parent: type[errors.WireError]) -> Iterator[list[str]]:
    kinds = [getattr(errors, name) for name in errors.__all__]
    for kind in kinds:
        if isinstance(kind, type) and kind.__base__ is parent:
            cause, _, remedy = inspect.cleandoc(kind.__doc__).partition("\n\nRemedy: ")
            yield [
                f"`{kind.__name__}`",
                f"`{parent.__name__}`",
                *(" ".join(text.split()).rstrip(".") for text in (cause, remedy)),
            ]
            yield from _remedies(kind)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _code(text: str) -> str:
    # Inside a table, a bar ends the cell even in code.
    return f"`{text}`".replace("|", "\\|")


def _type(row: NodeType) -> list[str]:
    attributes = (
        f"`{each.name}`{' (required)' if each.required else ''}" for each in row.attributes
    )
    return [
        f"`{row.name}`",
        ", ".join(f"`{each}`" for each in (*row.aliases, *row.ids)),
        ", ".join(f"`{each}`" for each in row.shapes),
        ", ".join(attributes),
        ", ".join(f"`{each}`" for each in row.sets or ()),
        row.doc,
    ]


def _attribute(owner: str, each: Attribute) -> list[str]:
    default = "required" if each.required else f"`{each.default}`" if each.default != "" else ""
    default = default or (f"`{each.fallback}`" if each.fallback else "")
    of = f"`{owner}`" if owner in NODE_TYPES else owner
    return [of, f"`{each.name}`", each.kind, default, each.doc]


if __name__ == "__main__":
    for path, page in pages().items():
        (ROOT / path).write_text(page, "utf-8")
