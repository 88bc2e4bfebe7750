"""The input of the rules: contents as structs, everything else as plain JSON in one spelling, the
model and the host.
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
from wire.gemini.rules.turns import Conversation, read
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
"""Built-in tools whose use beside functions is limited. computerUse and mcpServers are not: the
server accepts them beside functions.
"""


@dataclass(frozen=True)
class Declared:
    """A declared function and its path."""

    path: str
    plain: Plain
    name: str
    """Empty if it has none."""


@dataclass(frozen=True)
class RuleInput:
    """A request, the model and the host that it is for.

    An empty `host` is an unknown one: only what both hosts refuse is found.
    """

    contents: Sequence[Content]
    plain: Plain
    model: str
    family: Family
    host: str
    version: str
    endpoint: str
    known: bool = False
    """Whether the declarations of functions were judged before, and nothing was found in them."""

    @property
    def vertex(self) -> bool:
        """Whether the host is Vertex."""
        return self.host == "vertex"

    @property
    def gemini(self) -> bool:
        """Whether the host is the Gemini API."""
        return self.host == "gemini"

    @property
    def model_name(self) -> str:
        """The model in the words of the server."""
        return self.model if "/" in self.model else f"models/{self.model}"

    @functools.cached_property
    def conversation(self) -> Conversation:
        """The turns of the contents."""
        return read(self.contents)

    @functools.cached_property
    def config(self) -> Plain:
        """The generation config; empty if there is none."""
        return self.plain.get("generationConfig") or {}

    @functools.cached_property
    def calling(self) -> Plain | None:
        """The function calling config; `None` if there is none."""
        return (self.plain.get("toolConfig") or {}).get("functionCallingConfig")

    @functools.cached_property
    def mode(self) -> str:
        """Name of the function calling mode."""
        mode = (self.calling or {}).get("mode", "AUTO")
        names = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")
        if isinstance(mode, int):
            return names[mode] if 0 <= mode < len(names) else str(mode)
        return str(mode).upper()

    @functools.cached_property
    def declared(self) -> list[Declared]:
        """The functions of all tools."""
        return [
            Declared(
                f"tools[{index}].functionDeclarations[{position}]",
                declaration,
                str(declaration.get("name") or ""),
            )
            for index, tool in enumerate(self.plain.get("tools") or ())
            for position, declaration in enumerate(tool.get("functionDeclarations") or ())
        ]

    @functools.cached_property
    def unjudged(self) -> list[Declared]:
        """The functions that the rules of one declaration have to look at."""
        return [] if self.known else self.declared

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
        """Whether the request has `includeServerSideToolInvocations`, which returns built-in tools
        as parts.
        """
        return bool((self.plain.get("toolConfig") or {}).get("includeServerSideToolInvocations"))

    @functools.cached_property
    def media(self) -> list[tuple[str, str, str]]:
        """Media that the caller sends: path, type in lower case, and base64 unless the media are by
        reference.
        """
        return [
            media
            for index in self.conversation.beyond_text
            for position, part in enumerate(self.contents[index].parts or ())
            if part.text is None and part.function_call is None and RAW not in part.__dict__
            for media in _media_of(part, index, position)
        ]

    def violation(
        self,
        form: str,
        path: str,
        message: str = "",
        severity: str = "error",
        field: str = "",
        **names: object,
    ) -> Violation:
        """A violation in the words of the host. `message` replaces them for the caller where they
        are too vague.
        """
        at = field or snake(path)
        words = said(form, self.host, **{"at": at, **names})
        row = WORDS[form]
        message = message or words.removeprefix(f"* GenerateContentRequest.{at}: ").strip()
        server_words = "" if message == words else words
        layer = "parser" if form in PARSER else "validator"
        return Violation(
            path,
            message,
            form.split()[0],
            severity,
            row.remedy,
            row.status,
            row.code,
            server_words,
            at,
            layer,
        )


def _media_of(part: Part, index: int, position: int) -> Iterator[tuple[str, str, str]]:
    here = f"contents[{index}].parts[{position}]"
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
