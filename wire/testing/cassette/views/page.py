"""One self-contained HTML page of a cassette, for a browser without a network.

A cassette is foreign data. All of it is escaped; the page loads nothing, and its policy allows the
one script and the one style that are written here, by their hashes. `<details>` fold without a
script; the script adds the search only.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Any

from msgspec import UNSET

from wire.core.printable import printable_line, printable_lines
from wire.testing.cassette.format.bodies import event_bytes
from wire.testing.cassette.format.structs import Body, Interaction
from wire.testing.cassette.views.comparison import Comparison, Pair
from wire.testing.cassette.views.conversation import (
    Conversation,
    Exchange,
    conversation,
    split_url,
)
from wire.testing.cassette.views.parts import Part, Turn
from wire.testing.cassette.views.readable import Said, brief, readable
from wire.testing.cassette.views.text import (
    attempt_text,
    file_text,
    json_text,
    outcome_facts,
    request_facts,
    said_facts,
)
from wire.testing.cassette.views.timeline import timeline

_SHOWN_CHARACTERS = 4_000
"""Characters of one text in raw JSON and events. Inline files would make the page as large as the
cassette."""


def page(
    interactions: Sequence[Interaction],
    name: str,
    compared: Comparison | None = None,
    other: str = "",
) -> str:
    """Render the page; `compared` are the differences to the cassette named `other`."""
    shown = conversation(interactions, name)
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    title = _file_name(name)
    body = [
        _header(shown, title),
        timeline(shown.exchanges),
        _differences(compared, _file_name(other), title) if compared is not None else "",
        '<main aria-label="Exchanges">',
        *(
            _article(exchange, interaction)
            for exchange, interaction in zip(shown.exchanges, interactions, strict=True)
        ),
        "</main>",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join(filter(None, body))
        + f"\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _asset(name: str) -> str:
    return files("wire.testing.cassette.views").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# --- text -----------------------------------------------------------------------------------------


def _text(text: str) -> str:
    return html.escape(printable_lines(text))


def _line(text: str) -> str:
    return html.escape(printable_line(text))


def _short(value: Any) -> Any:
    """Cut long texts in a JSON value; each cut shows the number of characters left out."""
    if isinstance(value, str) and len(value) > _SHOWN_CHARACTERS:
        left = len(value) - _SHOWN_CHARACTERS
        return f"{value[:_SHOWN_CHARACTERS]}... ({left:,} more characters)"
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    return [_short(item) for item in value] if isinstance(value, list) else value


def _value(value: Any) -> str:
    """Render a JSON value or a text, in a box that scrolls by itself."""
    value = _short(value)
    text = value if isinstance(value, str) else json_text(value)
    return f'<pre tabindex="0">{_text(text)}</pre>'


def _file_name(path: str) -> str:
    return _line(path.replace("\\", "/").rpartition("/")[2])


def _folded(summary: str, content: str, kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f"<details{name}><summary>{summary}</summary>{content}</details>"


def _facts(facts: Iterable[str], kind: str = "facts") -> str:
    items = "".join(f"<li>{_line(fact)}</li>" for fact in facts)
    return f'<ul class="{kind}">{items}</ul>' if items else ""


# --- the parts of the page ------------------------------------------------------------------------


def _header(shown: Conversation, title: str) -> str:
    exchanges = shown.exchanges
    failed = sum(each.failed for each in exchanges)
    models = dict.fromkeys(each.model for each in exchanges if each.model)
    facts = [
        f"{len(exchanges)} exchange{'' if len(exchanges) == 1 else 's'}",
        f"{failed} failed" if failed else "",
        *models,
        *(
            f"{count:,} tokens {way}"
            for name, way in (("input", "in"), ("output", "out"))
            if (count := sum(each.usage.get(name, 0) for each in exchanges))
        ),
    ]
    return (
        f'<header><p class="kind">Cassette</p><h1>{title}</h1>{_facts(filter(None, facts))}'
        '<p id="search" hidden><label>Search <input type="search" autocomplete="off" '
        'spellcheck="false"></label> <output></output></p></header>'
    )


def _differences(compared: Comparison, other: str, title: str) -> str:
    """Render the differences to the cassette `other`; both names are escaped."""
    if compared.equal:
        content = "<p>None.</p>"
    else:
        content = "".join(_pair(pair, other, title) for pair in compared.pairs if pair.changes)
    return (
        f'<section id="differences"><h2>Differences</h2><p class="note">'
        f"\u2212 {other}, + {title}. Ids, times and signatures do not count.</p>{content}</section>"
    )


def _pair(pair: Pair, other: str, title: str) -> str:
    rows = []
    if not pair.left or not pair.right:
        rows.append(f"<dt>only in</dt><dd>{title if pair.right else other}</dd>")
    for change in pair.changes if pair.left and pair.right else ():
        old = f"<del>{_line(change.old)}</del>" if change.old else ""
        new = f"<ins>{_line(change.new)}</ins>" if change.new else ""
        rows.append(f"<dt>{_line(change.path)}</dt><dd>{old}{new}</dd>")
    link = f'<a href="#x{pair.right}">{_line(pair.title)}</a>' if pair.right else _line(pair.title)
    return f"<section><h3>{link}</h3><dl>{''.join(rows)}</dl></section>"


def _article(exchange: Exchange, interaction: Interaction) -> str:
    parts = split_url(exchange.url)
    attempt = attempt_text(exchange)
    place = parts.path + (f"?{parts.query}" if parts.query else "")
    state = "failed" if exchange.failed else "done"
    return "".join(
        [
            f'<article id="x{exchange.number}"><header>',
            f'<h2><a href="#x{exchange.number}">{exchange.number}</a> ',
            f"<span>{_line(exchange.method)} {_line(place)}</span></h2>",
            f'<p class="host">{_line(parts.netloc)}{" · " + attempt if attempt else ""}</p>',
            _facts(request_facts(exchange)),
            "</header>",
            *_known(exchange),
            *(_turn(turn) for turn in exchange.turns[exchange.known :]),
            _row("request", _value(exchange.request)) if exchange.request is not UNSET else "",
            _turn(exchange.reply, "reply") if exchange.reply is not UNSET else "",
            _row("response", _value(exchange.response)) if exchange.response is not UNSET else "",
            _messages(exchange.messages) if exchange.messages is not UNSET else "",
            f'<footer class="{state}">{_facts(outcome_facts(exchange), "outcome")}',
            _error(exchange),
            "".join(f'<p class="note">{_line(note)}</p>' for note in exchange.notes),
            "</footer>",
            f'<div class="recorded">{"".join(_recorded(interaction, exchange))}</div>',
            "</article>",
        ]
    )


def _error(exchange: Exchange) -> str:
    if exchange.error is UNSET:
        return ""
    error = exchange.error
    return f'<p class="error"><b>{_line(error.type)}</b> {_line(error.message)}</p>'


def _known(exchange: Exchange) -> Iterator[str]:
    """Render the turns that an earlier exchange has, folded."""
    if exchange.known:
        number = f"{exchange.known} turn{'' if exchange.known == 1 else 's'}"
        turns = "".join(_turn(turn) for turn in exchange.turns[: exchange.known])
        yield _folded(f"{number} of exchange {exchange.continues}", turns, "known")


def _turn(turn: Turn, kind: str = "") -> str:
    name = f"{turn.role} {turn.name}".strip()
    return _row(name, "".join(map(_part, turn.parts)), kind or turn.role)


def _row(label: str, content: str, kind: str = "") -> str:
    role = f" {kind}" if kind.isidentifier() else ""
    return f'<section class="turn{role}"><h3>{_line(label)}</h3><div>{content}</div></section>'


def _part(part: Part) -> str:
    signature = _signature(part)
    files = "".join(map(_part, part.files))
    if part.kind == "text":
        refusal = '<p class="error"><b>Refusal</b></p>' if part.refusal else ""
        text = f'<p class="text">{_text(part.text)}</p>' if part.text else ""
        return refusal + text + signature
    if part.kind == "thought":
        text = f'<p class="text">{_text(part.text)}</p>' if part.text else ""
        return (_folded("Thought", text, "thought") if text else "") + signature
    if part.kind == "file":
        return f'<p class="file">{_line(file_text(part))}</p>'
    content = _value(part.text if part.value is UNSET else part.value)
    label = {"call": "calls", "result": "result of", "other": ""}[part.kind]
    error = ' <b class="error">error</b>' if part.error else ""
    id = f" <small>{_line(part.id)}</small>" if part.id else ""
    head = f"<p>{label} <code>{_line(part.name)}</code>{id}{error}</p>"
    return f'<div class="{part.kind}">{head}{content}{files}{signature}</div>'


def _messages(messages: Sequence[Said]) -> str:
    """Render the messages of a session in order; an arrow and a column tell who sent each."""
    return f'<ol class="messages">{"".join(map(_said, messages))}</ol>' if messages else ""


def _said(said: Said) -> str:
    arrow, who = ("\u2192", "client") if said.direction == "sent" else ("\u2190", "server")
    facts = "".join(f" <small>{_line(fact)}</small>" for fact in said_facts(said))
    summary = f"{arrow} {who} <code>{_line(said.name)}</code>{facts}"
    return f'<li class="{said.direction}">{_folded(summary, _value(brief(said.body)))}</li>'


def _signature(part: Part) -> str:
    if not part.signature:
        return ""
    summary = f"Signature, {len(part.signature):,} characters"
    return _folded(summary, _value(part.signature), "signature")


def _recorded(interaction: Interaction, exchange: Exchange) -> Iterator[str]:
    """Render the interaction as it was recorded, folded."""
    request, response = interaction.request, interaction.response
    for name, headers in (
        ("Request headers", request.headers),
        ("Response headers", response.headers),
    ):
        if headers:
            rows = "".join(
                f"<dt>{_line(key)}</dt><dd>{_line(value)}</dd>" for key, value in headers.items()
            )
            yield _folded(name, f"<dl>{rows}</dl>")
    if exchange.wire and request.body is not UNSET:
        yield _folded("Request body", _value(readable(request.body, request.headers)))
    if response.body is UNSET:
        return
    if response.body.events is not UNSET:
        items = "".join(events(response.body, exchange))
        yield _folded(f"Events, {exchange.events:,}", f"<ol>{items}</ol>", "events")
    elif exchange.wire:
        value = readable(response.body, response.headers)
        yield _folded("Response body", _value(value))


def events(body: Body, exchange: Exchange) -> Iterator[str]:
    """Yield the items of the list of events, each with its time if that is known."""
    assert body.events is not UNSET
    times = [] if exchange.times is UNSET else exchange.times.events
    for index, event in enumerate(body.events):
        text = event_bytes(event, body).decode("utf-8", "backslashreplace").rstrip("\r\n")
        at = f"<small>{times[index]:,} ms</small>" if index < len(times) else ""
        yield f"<li>{at}<pre>{_text(_short(text))}</pre></li>"
