"""Export of conversations for people: as Markdown, JSON or plain text.

Data that only a vendor understands is omitted. The text of a message cannot imitate the structure
of the export: Markdown quotes a text with headings or open fences, and plain text indents all
messages.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from wire.core.arguments import checked_arguments, items_of
from wire.core.errors import ConfigurationError, RuleError, Violation, one_line
from wire.core.files import write_whole
from wire.core.json_values import checked
from wire.core.printable import printable_json, printable_lines
from wire.core.secret import quoted
from wire.neutral.messages import (
    Media,
    Message,
    Other,
    Part,
    ServerToolCall,
    ServerToolResult,
    Text,
    Thought,
    ToolCall,
    ToolResult,
)
from wire.sessions.session_file import Session

Format = Literal["markdown", "json", "text"]


@checked_arguments(ConfigurationError)
def export(
    messages: Session | Iterable[Message], format: Format = "markdown", *, thoughts: bool = False
) -> str:
    """Export a conversation as text, with calls, results, and the type and size of media.

    Thoughts are omitted unless `thoughts` is true. Control characters, and others that act on a
    terminal or hide text, are escaped.

    >>> print(export([Message.user("Hi"), Message.assistant("Hello!")], "text"), end="")
    user:
      Hi
    <BLANKLINE>
    assistant:
      Hello!

    Raises `ConfigurationError` for another format, `RuleError` for arguments or results that JSON
    cannot express.
    """
    if format not in _FORMATS:
        raise ConfigurationError(
            f"format: {quoted(format)} is unknown; there are {', '.join(_FORMATS)}"
        )
    exported = (
        messages.messages if isinstance(messages, Session) else items_of("messages", messages)
    )
    for index, message in enumerate(exported):
        if not isinstance(message, Message):
            problem = f"expected a Message, not {type(message).__name__}"
            raise RuleError(violations=[Violation(f"messages[{index}]", problem)])
        for position, part in enumerate(message.parts):
            shown = (
                part.arguments
                if isinstance(part, ToolCall)
                else part.content
                if isinstance(part, ToolResult)
                else None
            )
            checked(shown, f"messages[{index}].parts[{position}]", plain=True)
    return _FORMATS[format](
        [
            (message.role, [part for part in message.parts if _is_shown(part, thoughts)])
            for message in exported
        ]
    )


@checked_arguments(ConfigurationError)
def save_export(
    path: str | os.PathLike[str],
    messages: Session | Iterable[Message],
    format: Format = "markdown",
    *,
    thoughts: bool = False,
) -> None:
    """Write `export` to a file that only its owner may read, completely or not at all.

    Raises as `export`, and `ConfigurationError` if the file cannot be written; the old file is then
    unchanged.
    """
    text = export(messages, format, thoughts=thoughts)
    write_whole(path, text.encode(), ConfigurationError)


_Turns = list[tuple[str, list[Part]]]


def _is_shown(part: Part, thoughts: bool) -> bool:
    """Return whether the part is exported.

    Empty texts, which only carry a signature, are not.
    """
    return (
        (thoughts and bool(part.text))
        if isinstance(part, Thought)
        else bool(part.text)
        if isinstance(part, Text)
        else True
    )


def _json(value: Any, indent: int | None = None) -> str:
    return printable_json(json.dumps(value, ensure_ascii=False, indent=indent))


def _arguments(call: ToolCall) -> str:
    """Return the arguments as JSON, or as received if they are not an object."""
    return printable_lines(call.text) if call.arguments is None else _json(call.arguments)


def _media(media: Media) -> str:
    # The query of a URL may hold a signature that grants access.
    where = (
        f"{len(media.data):,} bytes"
        if media.data is not None
        else (media.url or "").partition("?")[0]
    )
    said = f"transcript: {media.transcript}" if media.transcript else ""
    return one_line(", ".join(filter(None, (media.name, media.media_type, where, said))))


# --- JSON -----------------------------------------------------------------------------------------


def _as_json(turns: _Turns) -> str:
    return (
        _json(
            [{"role": role, "parts": list(map(_as_object, parts))} for role, parts in turns],
            indent=2,
        )
        + "\n"
    )


def _as_object(part: Part) -> dict[str, Any]:
    match part:
        case Text():
            refusal = {"refusal": True} if part.refusal else {}
            return {"type": "text", "text": part.text, **refusal}
        case Thought():
            return {"type": "thought", "text": part.text}
        case ToolCall():
            arguments = (
                {"text": part.text} if part.arguments is None else {"arguments": part.arguments}
            )
            return {"type": "tool_call", "id": part.id, "name": part.name, **arguments}
        case ToolResult():
            media = {"media": list(map(_as_object, part.media))} if part.media else {}
            return {
                "type": "tool_result",
                "id": part.id,
                "name": part.name,
                "response": part.answer,
                "error": part.error,
                **media,
            }
        case Media():
            where = (
                {"size": len(part.data)}
                if part.data is not None
                else {"url": (part.url or "").partition("?")[0]}
            )
            name = {"name": part.name} if part.name else {}
            said = {"transcript": part.transcript} if part.transcript else {}
            return {"type": "media", "media_type": part.media_type, **name, **where, **said}
        case ServerToolCall():
            return {"type": "server_tool_call", "name": part.name, "arguments": part.arguments}
        case ServerToolResult():
            return {
                "type": "server_tool_result",
                "name": part.name,
                "content": part.content,
                "error": part.error,
            }
        case Other():
            return {"type": "other", "kind": part.kind}


# --- plain text -----------------------------------------------------------------------------------


def _as_text(turns: _Turns) -> str:
    sections = [
        [f"{role}:", *(f"  {line}".rstrip() for part in parts for line in _lines(part))]
        for role, parts in turns
        if parts
    ]
    return "\n\n".join(map("\n".join, sections)) + "\n" if sections else ""


def _lines(part: Part) -> Iterator[str]:
    match part:
        case Text():
            if part.refusal:
                yield "[refusal]"
            yield from printable_lines(part.text).split("\n")
        case Thought():
            yield "[thought]"
            yield from printable_lines(part.text).split("\n")
        case ToolCall():
            yield f"[call] {one_line(part.name)} {' '.join(_arguments(part).split(chr(10)))}"
        case ToolResult():
            yield (
                f"[{'error' if part.error else 'result'}] {one_line(part.name)} "
                f"{_json(part.answer)}"
            )
            for media in part.media:
                yield from _lines(media)
        case Media():
            yield f"[media] {_media(part)}"
        case ServerToolCall():
            yield f"[server call] {one_line(part.name)} {_json(part.arguments)}"
        case ServerToolResult():
            kind = "server error" if part.error else "server result"
            yield f"[{kind}] {one_line(part.name)} {_json(part.content)}"
        case Other():
            yield f"[{one_line(part.kind)}]"


# --- Markdown -------------------------------------------------------------------------------------

_OPENS = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_CLOSES = re.compile(r" {0,3}(`+|~+)[ \t]*")


def _as_markdown(turns: _Turns) -> str:
    sections = [
        "\n\n".join(
            [f"## {role.capitalize()}", *(block for part in parts for block in _blocks(part))]
        )
        for role, parts in turns
        if parts
    ]
    return "\n\n".join(sections) + "\n" if sections else ""


def _blocks(part: Part) -> Iterator[str]:
    match part:
        case Text():
            if part.refusal:
                yield "**Refusal**"
            text = printable_lines(part.text)
            yield text if _is_self_contained(text) else _quoted(text)
        case Thought():
            yield _quoted(f"*Thought*\n\n{printable_lines(part.text)}")
        case ToolCall():
            yield f"**Call** {_code(part.name)}"
            yield (
                _fenced(_arguments(part))
                if part.arguments is None
                else _fenced(_json(part.arguments, indent=2), "json")
            )
        case ToolResult():
            yield f"**{'Error' if part.error else 'Result'}** {_code(part.name)}"
            yield _fenced(_json(part.answer, indent=2), "json")
            for media in part.media:
                yield from _blocks(media)
        case Media():
            yield f"**Media** {_code(_media(part))}"
        case ServerToolCall():
            yield f"**Server call** {_code(part.name)}"
            yield _fenced(_json(part.arguments, indent=2), "json")
        case ServerToolResult():
            yield f"**Server {'error' if part.error else 'result'}** {_code(part.name)}"
            yield _fenced(_json(part.content, indent=2), "json")
        case Other():
            yield f"**Other** {_code(part.kind)}"


def _is_self_contained(text: str) -> bool:
    """Return whether a text needs no quotation: it has no heading, and closes its fences."""
    fence = ""
    for line in text.split("\n"):
        if fence:
            closed = _CLOSES.fullmatch(line)
            fence = "" if closed and closed[1].startswith(fence) else fence
        elif opened := _OPENS.match(line):
            fence = opened[1]
        elif _has_structure(line):
            return False
    return not fence


def _has_structure(line: str) -> bool:
    """Return whether a line, in a list or quote too, is a heading, underline, fence or HTML."""
    rest = line.lstrip(" \t>*+.)-0123456789")
    return rest.startswith(("#", "```", "~~~", "<")) or bool(
        line.strip() and not line.strip("-= \t")
    )


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _backticks(text: str, minimum: int) -> str:
    """Return a run of backticks that is longer than every run in the text."""
    return "`" * max(minimum, 1 + max(map(len, re.findall("`+", text)), default=0))


def _fenced(text: str, language: str = "") -> str:
    fence = _backticks(text, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def _code(text: str) -> str:
    text = one_line(text)
    ticks = _backticks(text, 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"{ticks}{text}{ticks}"


_FORMATS: dict[str, Callable[[_Turns], str]] = {
    "markdown": _as_markdown,
    "json": _as_json,
    "text": _as_text,
}
