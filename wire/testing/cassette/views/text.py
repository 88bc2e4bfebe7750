"""A conversation and a comparison as text for a terminal.

What a terminal would obey or not show is escaped: a recording holds what a server sent (R-34).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET

from wire.core.printable import printable_json, printable_line, printable_lines
from wire.testing.cassette.views.comparison import Comparison
from wire.testing.cassette.views.conversation import Conversation, Exchange
from wire.testing.cassette.views.parts import Part, Turn
from wire.testing.cassette.views.readable import Said, brief

_LABEL = 11
"""Columns of the label at the left of each part."""
_JSON_WIDTH = 100
"""Characters of JSON on one line; longer JSON is indented."""
_ENDS = {
    "eof": "",
    "reset": "the connection was reset",
    "cut": "the connection was closed before the end",
    "timeout": "no byte arrived in time",
    "closed by the caller": "closed by the caller",
}


def conversation_text(shown: Conversation) -> str:
    """Render the exchanges of a cassette, one after the other."""
    number = len(shown.exchanges)
    head = f"{printable_line(shown.name)}: {number} exchange{'' if number == 1 else 's'}"
    return "\n".join([head, *("\n".join(["", *_exchange(each)]) for each in shown.exchanges)])


def comparison_text(compared: Comparison) -> str:
    """Render the differences of two cassettes; one line if there are none."""
    if compared.equal:
        return "no differences"
    lines: list[str] = []
    for pair in compared.pairs:
        if not pair.changes:
            continue
        lines += ["", printable_line(pair.title)] if lines else [printable_line(pair.title)]
        for change in pair.changes:
            lines.append(f"  {printable_line(change.path)}")
            if change.old:
                lines.append(f"    - {printable_line(change.old)}")
            if change.new:
                lines.append(f"    + {printable_line(change.new)}")
    return "\n".join(lines)


def size_text(size: int) -> str:
    """Format a number of bytes.

    >>> size_text(1), size_text(2048), size_text(3 << 20)
    ('1 byte', '2.0 KiB', '3.0 MiB')
    """
    if size < 1024:
        return f"{size} byte{'' if size == 1 else 's'}"
    return f"{size / 1024:.1f} KiB" if size < 1 << 20 else f"{size / (1 << 20):.1f} MiB"


def file_text(part: Part) -> str:
    """Return type, size, name and address of a file."""
    facts = [
        part.media_type or "file",
        "" if part.size is UNSET else size_text(part.size),
        part.name,
        part.url,
    ]
    return ", ".join(filter(None, facts))


def json_text(value: Any) -> str:
    """Format a JSON value: on one line if it is short, else indented."""
    line = json.dumps(value, ensure_ascii=False)
    return line if len(line) <= _JSON_WIDTH else json.dumps(value, ensure_ascii=False, indent=2)


def request_facts(exchange: Exchange) -> list[str]:
    """Return wire, model, settings and tools of a request."""
    settings = [
        f"{name} {json.dumps(value, ensure_ascii=False)}"
        for name, value in exchange.settings.items()
    ]
    tools = [f"tools {', '.join(exchange.tools)}"] if exchange.tools else []
    return [each for each in (exchange.wire, exchange.model, *settings, *tools) if each]


def outcome_facts(exchange: Exchange) -> list[str]:
    """Return status, end, stop reason, counts of tokens and of events of a response."""
    stop, usage = exchange.stop, exchange.usage
    facts = [str(exchange.status), _ENDS[exchange.end]]
    if exchange.emulated:
        facts.append("from the emulator")
    if exchange.retry_after:
        facts.append(f"retry after {exchange.retry_after} s")
    if stop is not UNSET:
        raw = f" ({stop.raw})" if stop.raw and stop.raw != stop.reason else ""
        facts += [f"stop: {stop.reason}{raw}", stop.message]
    if usage:
        facts += [f"{usage.get('input', 0):,} tokens in", f"{usage.get('output', 0):,} out"]
        facts += [
            f"{usage[name]:,} {label}"
            for name, label in (
                ("cached", "from a cache"),
                ("cache_written", "written to a cache"),
                ("reasoning", "of thoughts"),
            )
            if usage.get(name)
        ]
    if exchange.events:
        facts.append(f"{exchange.events} event{'' if exchange.events == 1 else 's'}")
    if exchange.messages is not UNSET:
        sent = sum(each.direction == "sent" for each in exchange.messages)
        facts.append(f"messages: {sent:,} sent, {len(exchange.messages) - sent:,} received")
    if exchange.close is not UNSET:
        facts.append(f"closed by the server with {exchange.close.code}")
    return [fact for fact in facts if fact]


def attempt_text(exchange: Exchange) -> str:
    """Return the number of the attempt of a repeated request.

    It is empty if the request was sent once.
    """
    if exchange.of_attempts < 2:
        return ""
    return f"attempt {exchange.attempt} of {exchange.of_attempts}"


def _exchange(exchange: Exchange) -> Iterator[str]:
    attempt = attempt_text(exchange)
    yield printable_line(
        f"[{exchange.number}] {exchange.method} {exchange.url}"
        + (f"  ({attempt})" if attempt else "")
    )
    if facts := request_facts(exchange):
        yield from _labelled("", printable_line("  ".join(facts)))
    if exchange.known:
        reason = "the same request as" if exchange.attempt > 1 else "goes on from"
        yield from _labelled("", f"({reason} [{exchange.continues}])")
    for turn in exchange.turns[exchange.known :]:
        yield from _turn(turn)
    if exchange.request is not UNSET:
        yield from _labelled("request", _body(exchange.request))
    if exchange.reply is not UNSET:
        yield from _turn(exchange.reply)
    for said in exchange.messages or ():
        yield from _labelled(said.direction, _said(said))
    if exchange.response is not UNSET:
        yield from _labelled("response", _body(exchange.response))
    yield from _labelled("=>", printable_line(", ".join(outcome_facts(exchange))))
    if exchange.error is not UNSET:
        error = exchange.error
        yield from _labelled("error", printable_line(f"{error.type}: {error.message}"))
    for note in exchange.notes:
        yield from _labelled("note", printable_line(note))


def _said(said: Said) -> str:
    facts = [*said_facts(said), ""]
    return printable_line("  ".join(facts)) + _body(brief(said.body))


def said_facts(said: Said) -> list[str]:
    """Return the time of a message, and that it is binary."""
    at = "" if said.at is UNSET else f"{said.at:,} ms"
    return [each for each in (at, "binary" if said.binary else "") if each]


def _turn(turn: Turn) -> Iterator[str]:
    name = f" {printable_line(turn.name)}" if turn.name else ""
    role = printable_line(turn.role)
    for part in turn.parts:
        label = role + name if part.kind in ("text", "file") else part.kind
        yield from _labelled(label, _part(part))
        for file in part.files:
            yield from _labelled("", printable_line(f"[{file_text(file)}]"))


def _part(part: Part) -> str:
    signed = f"  [signature, {len(part.signature)} characters]" if part.signature else ""
    if part.kind == "file":
        return printable_line(f"[{file_text(part)}]")
    if part.kind == "call":
        return printable_line(part.name) + " " + _content(part) + _id(part) + signed
    if part.kind == "result":
        error = "error: " if part.error else ""
        return f"{printable_line(part.name)}{_id(part)} {error}{_content(part)}".strip()
    if part.kind == "other":
        return f"{printable_line(part.name)} {_content(part)}"
    refusal = "refuses: " if part.refusal else ""
    return f"{refusal}{printable_lines(part.text)}{signed}"


def _id(part: Part) -> str:
    return f" ({printable_line(part.id)})" if part.id else ""


def _content(part: Part) -> str:
    return printable_lines(part.text) if part.value is UNSET else _body(part.value)


def _body(value: Any) -> str:
    return printable_lines(value) if isinstance(value, str) else printable_json(json_text(value))


def _labelled(label: str, text: str) -> Iterator[str]:
    """Yield the lines of a text, the label before the first one."""
    lines = text.split("\n")
    yield f"  {label:<{_LABEL - 1}} {lines[0]}".rstrip()
    yield from (f"  {'':<{_LABEL}}{line}".rstrip() for line in lines[1:])
