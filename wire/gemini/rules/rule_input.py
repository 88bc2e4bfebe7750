"""A request as the rules look at it: its contents as structs, all else as plain JSON in one
spelling, and whom it is for.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wire.core.memory import RAW
from wire.errors import Violation
from wire.gemini.families import Family
from wire.gemini.rules.fields import snake
from wire.gemini.rules.turns import Talk, read
from wire.gemini.rules.words import PARSER, WORDS, said
from wire.gemini.types import Content, Part

Plain = dict[str, Any]

BUILT_IN = (
    "googleSearch",
    "googleSearchRetrieval",
    "codeExecution",
    "urlContext",
    "googleMaps",
    "fileSearch",
)
"""Tools that the server runs, of those whose place beside functions is known: not computerUse and
mcpServers, which take them.
"""


@dataclass(frozen=True)
class Declared:
    """A function that the request declares, and where it stands."""

    path: str
    plain: Plain

    @property
    def name(self) -> str:
        """Its name; empty if it has none."""
        return str(self.plain.get("name") or "")


@dataclass(frozen=True)
class RuleInput:
    """What is asked of a model on a host.

    An empty host is one that is not known yet: then only what both refuse is found.
    """

    contents: Sequence[Content]
    plain: Plain
    model: str
    family: Family
    host: str
    version: str
    endpoint: str

    @property
    def vertex(self) -> bool:
        """It goes to Vertex."""
        return self.host == "vertex"

    @property
    def gemini(self) -> bool:
        """It goes to the Gemini API."""
        return self.host == "gemini"

    @property
    def model_name(self) -> str:
        """The model as the server names it."""
        return self.model if "/" in self.model else f"models/{self.model}"

    @functools.cached_property
    def talk(self) -> Talk:
        """The turns of the conversation."""
        return read(self.contents)

    @functools.cached_property
    def config(self) -> Plain:
        """The generation config; empty if there is none."""
        return self.plain.get("generationConfig") or {}

    @functools.cached_property
    def calling(self) -> Plain | None:
        """The function calling config, `None` if there is none."""
        return (self.plain.get("toolConfig") or {}).get("functionCallingConfig")

    @functools.cached_property
    def mode(self) -> str:
        """The function calling mode, by name."""
        mode = (self.calling or {}).get("mode", "AUTO")
        names = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")
        if isinstance(mode, int):
            return names[mode] if 0 <= mode < len(names) else str(mode)
        return str(mode).upper()

    @functools.cached_property
    def declared(self) -> list[Declared]:
        """All functions, over all tools."""
        return [
            Declared(f"tools[{index}].functionDeclarations[{place}]", declaration)
            for index, tool in enumerate(self.plain.get("tools") or ())
            for place, declaration in enumerate(tool.get("functionDeclarations") or ())
        ]

    @functools.cached_property
    def built_in(self) -> list[str]:
        """Paths of the built-in tools."""
        tools = self.plain.get("tools") or ()
        return [
            f"tools[{index}].{name}"
            for index, tool in enumerate(tools)
            for name in BUILT_IN
            if tool.get(name) is not None
        ]

    @functools.cached_property
    def circulates(self) -> bool:
        """Whether built-in tools are asked for as parts, `includeServerSideToolInvocations`."""
        return bool((self.plain.get("toolConfig") or {}).get("includeServerSideToolInvocations"))

    @functools.cached_property
    def media(self) -> list[tuple[str, str, str]]:
        """Media of the caller: path, type in lower case, and base64 if it is inside the message."""
        return [
            found
            for index in self.talk.odd
            for place, part in enumerate(self.contents[index].parts or ())
            if part.text is None and part.function_call is None and RAW not in part.__dict__
            for found in _media_of(part, index, place)
        ]

    def refused(
        self,
        form: str,
        path: str,
        message: str = "",
        severity: str = "error",
        field: str = "",
        **names: object,
    ) -> Violation:
        """A violation in the words of the host; `message` is what the caller reads if the words
        alone say too little.
        """
        at = field or snake(path)
        words = said(form, self.host, **{"at": at, **names})
        row = WORDS[form]
        told = message or words.removeprefix(f"* GenerateContentRequest.{at}: ").strip()
        kept = "" if told == words else words
        layer = "parser" if form in PARSER else "validator"
        return Violation(
            path, told, form.split()[0], severity, row.remedy, row.status, row.code, kept, at, layer
        )


def _media_of(part: Part, index: int, place: int) -> Iterator[tuple[str, str, str]]:
    here = f"contents[{index}].parts[{place}]"
    if part.inline_data is not None:
        yield (
            f"{here}.inlineData",
            (part.inline_data.mime_type or "").lower(),
            part.inline_data.data or "",
        )
    if part.file_data is not None:
        yield f"{here}.fileData", (part.file_data.mime_type or "").lower(), ""
    for number, piece in enumerate((part.function_response and part.function_response.parts) or ()):
        inside = f"{here}.functionResponse.parts[{number}]"
        if piece.inline_data is not None:
            yield (
                f"{inside}.inlineData",
                (piece.inline_data.mime_type or "").lower(),
                piece.inline_data.data or "",
            )
        if piece.file_data is not None:
            yield f"{inside}.fileData", (piece.file_data.mime_type or "").lower(), ""
