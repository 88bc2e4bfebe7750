"""The input of the rules: contents as structs, all other fields as plain JSON in one spelling, the
model and the host.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.core.errors import Violation
from wire.core.memory import raw_of
from wire.gemini.families import Family
from wire.gemini.rules.fields import snake
from wire.gemini.rules.turns import Conversation, read
from wire.gemini.rules.words import PARSER, WORDS, server_text
from wire.gemini.types import Content, Part

Plain = dict[str, Any]
"""A message as plain JSON: keys in camelCase, without nulls."""

BUILT_IN = (
    "googleSearch",
    "googleSearchRetrieval",
    "codeExecution",
    "urlContext",
    "googleMaps",
    "fileSearch",
)
"""Built-in tools that cannot be combined freely with functions (G32, G33). The server accepts
computerUse and mcpServers together with functions, so they are not in the list.
"""


class DeclaredFunction(msgspec.Struct, frozen=True):
    """A declared function and its path."""

    path: str
    plain: Plain
    name: str
    """Empty if the declaration has no name."""


class RuleInput(msgspec.Struct, frozen=True, dict=True):
    """A request, and the model and host that it is for.

    An empty `host` is an unknown one, to which only rules of both hosts apply. `version` is that of
    the API, such as `v1beta`; `endpoint` is the REST method.
    """

    contents: Sequence[Content]
    plain: Plain
    model: str
    family: Family
    host: str
    version: str
    endpoint: str
    known: bool = False
    """Whether all declarations were checked before and have no violations (`rules.known`)."""
    read_conversation: Conversation | None = None
    """The conversation, if it was read for another host before."""

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
        """The model as error texts of the server name it."""
        return self.model if "/" in self.model else f"models/{self.model}"

    @functools.cached_property
    def conversation(self) -> Conversation:
        """The turns of the contents."""
        return self.read_conversation or read(self.contents)

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
    def functions(self) -> list[DeclaredFunction]:
        """The functions of all tools."""
        return [
            DeclaredFunction(
                f"tools[{index}].functionDeclarations[{position}]",
                declaration,
                str(declaration.get("name") or ""),
            )
            for index, tool in enumerate(self.plain.get("tools") or ())
            for position, declaration in enumerate(tool.get("functionDeclarations") or ())
        ]

    @functools.cached_property
    def unchecked_functions(self) -> list[DeclaredFunction]:
        """The functions that rules about single declarations check; none if they are `known`."""
        return [] if self.known else self.functions

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
    def returns_built_in(self) -> bool:
        """Whether the request sets `includeServerSideToolInvocations`. The response then has calls
        of built-in tools as parts.
        """
        return bool((self.plain.get("toolConfig") or {}).get("includeServerSideToolInvocations"))

    @functools.cached_property
    def media(self) -> list[tuple[str, str, str]]:
        """Path, type in lower case and base64 data of the caller's media. Media by reference have
        no data, and received parts are skipped.
        """
        return [
            media
            for index in self.conversation.beyond_text
            for position, part in enumerate(self.contents[index].parts or ())
            if part.text is None and part.function_call is None and raw_of(part) is None
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
        """Build a violation with the error text of the host.

        `form` is the key in `WORDS`. `message` is for the caller where the server's text is too
        vague; the server's text is kept in `words`. `field` is the path in the server's spelling,
        if it differs from `path` in snake_case. `names` fill the braces of the server's text.
        """
        at = field or snake(path)
        words = server_text(form, self.host, **{"at": at, **names})
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
    """Yield the media of a part and of its function response, in the form of `RuleInput.media`."""
    path = f"contents[{index}].parts[{position}]"
    if part.inline_data is not None:
        yield (
            f"{path}.inlineData",
            (part.inline_data.mime_type or "").lower(),
            part.inline_data.data or "",
        )
    if part.file_data is not None:
        yield f"{path}.fileData", (part.file_data.mime_type or "").lower(), ""
    for number, piece in enumerate((part.function_response and part.function_response.parts) or ()):
        inside = f"{path}.functionResponse.parts[{number}]"
        if piece.inline_data is not None:
            yield (
                f"{inside}.inlineData",
                (piece.inline_data.mime_type or "").lower(),
                piece.inline_data.data or "",
            )
        if piece.file_data is not None:
            yield f"{inside}.fileData", (piece.file_data.mime_type or "").lower(), ""
