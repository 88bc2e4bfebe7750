"""Tool results whose media a model does not read: texts become text, other media a line in words.

A tool may bring anything, and a run must not end because of it. So media in results are never
refused, as those in messages of the user are, whom a refusal tells what to change.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from wire.core.errors import RuleError, Violation
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.neutral.media_types import is_text
from wire.neutral.messages import Media, Message, ToolResult
from wire.neutral.pairing import Answers, Result
from wire.neutral.request import Request

_HEAD = 4096
"""Bytes of media that are not text which the rules look at."""

Refusal = Callable[[Media], str]
"""Returns why a model does not read media; empty if it reads them, or if that is not known."""


def refusal(
    render: Callable[[Request, str, Provider], Any],
    check: Callable[[Any, str, Provider], Iterable[Violation]],
    model: str,
    row: Provider,
) -> Refusal:
    """Return what tells media apart that a model does not read, by the rules of its wire.

    They are asked what they would say of the media in a message of the user.
    """
    return functools.partial(_refused, render, check, model, row)


def _refused(
    render: Callable[[Request, str, Provider], Any],
    check: Callable[[Any, str, Provider], Iterable[Violation]],
    model: str,
    row: Provider,
    media: Media,
) -> str:
    if media.data is not None and not is_text(media.media_type):
        media = msgspec.structs.replace(media, data=media.data[:_HEAD])
    try:
        body = render(Request(messages=(Message.user("a", media),)), model, row)
        found: Iterable[Violation] = check(body, model, row)
    except RuleError as error:
        found = error.violations
    return next((each.message for each in found if each.severity == "error"), "")


def lowered(answers: dict[str, Answers], refusal: Refusal, notes: list[Note]) -> dict[str, Answers]:
    """Return the results without the media that a model does not read; note each of them."""
    return {
        path: msgspec.structs.replace(
            each, results=tuple(_lowered(result, refusal, notes) for result in each.results)
        )
        for path, each in answers.items()
    }


def _lowered(answer: Result, refusal: Refusal, notes: list[Note]) -> Result:
    result: ToolResult = answer.result
    words: list[str] = []
    kept: list[Media] = []
    for index, media in enumerate(result.media):
        path, text = f"{answer.path}.media[{index}]", _text_of(media)
        reason = refusal(media)
        if not reason:
            kept.append(media)
        elif text is not None:
            words.append(f"{media.name}:\n{text}" if media.name else text)
            notes.append(Note(path, f"sent as text: {reason}"))
        else:
            words.append(f"[{_described(media)}: this model cannot read it]")
            notes.append(Note(path, f"left out, with a line in words: {reason}"))
    if not words:
        return answer
    content = result.content
    if isinstance(content, str):
        content = "\n\n".join(filter(None, (content, *words)))
    else:
        content = [content, *words]
    sent = msgspec.structs.replace(result, content=content, media=tuple(kept))
    return msgspec.structs.replace(answer, result=sent)


def _text_of(media: Media) -> str | None:
    """Return the text of media that are text; `None` for others, and for an unknown encoding."""
    if media.data is None or not is_text(media.media_type):
        return None
    try:
        return media.data.decode()
    except UnicodeDecodeError:
        return None


def _described(media: Media) -> str:
    size = "" if media.data is None else f"{len(media.data)} bytes"
    return ", ".join(filter(None, (media.name or media.url, media.media_type, size)))
