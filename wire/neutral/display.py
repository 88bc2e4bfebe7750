"""Neutral values for people: one line for `repr`, and HTML for a notebook.

A model writes text, names and arguments, and a notebook runs the scripts of a page. So all of it
is escaped, and stands in `<pre>` and `<code>`: the formulas that notebooks typeset elsewhere may
contain links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire.core.printable import printable, printable_json, printable_line

if TYPE_CHECKING:
    from wire.neutral.messages import Part, Reply, ToolCall

_SHOWN_CHARACTERS = 80
"""Of a text in a `repr`."""


def short(text: str) -> str:
    r"""The `repr` of a text, cut after 80 characters.

    >>> short("Hello.\n"), short("a" * 1000)[-20:]
    ("'Hello.\\n'", "aaaaa'... 1,000 long")
    """
    if len(text) <= _SHOWN_CHARACTERS:
        return repr(text)
    return f"{text[:_SHOWN_CHARACTERS]!r}... {len(text):,} long"


def reply_line(reply: Reply) -> str:
    """The `repr` of a reply."""
    calls = ", ".join(short(call.name) for call in reply.tool_calls)
    words = [
        short(reply.text),
        f"tool_calls=[{calls}]" if calls else "",
        f"stop={reply.stop.reason!r}",
        f"tokens={reply.usage.total}" if reply.usage else "",
        f"citations={len(reply.citations)}" if reply.citations else "",
        f"notes={len(reply.notes)}" if reply.notes else "",
        f"model={short(reply.model)}" if reply.model else "",
    ]
    return f"Reply({', '.join(filter(None, words))})"


def reply_html(reply: Reply) -> str:
    """A reply as HTML for a notebook: thoughts folded, parts, then usage, model and notes."""
    from wire.neutral.messages import Thought

    shown = []
    for part in reply.message.parts:
        text = _escaped(_part(part))
        if isinstance(part, Thought):
            shown.append(
                f"<details><summary>Thoughts</summary>{_pre(text)}</details>" if text else ""
            )
        else:
            shown.append(_pre(text) if text else "")
    stop, usage = reply.stop, reply.usage
    facts = [
        reply.model,
        f"stop: {stop.reason}" + (f" ({stop.raw})" if stop.raw else ""),
        "" if stop.message == reply.message.refusal else stop.message,
        f"{usage.input:,} tokens in ({usage.cached:,} cached)" if usage else "",
        f"{usage.output:,} tokens out ({usage.reasoning:,} reasoning)" if usage else "",
    ]
    line = " · ".join(f"<code>{_escaped(fact)}</code>" for fact in facts if fact)
    titles = [_escaped(each.title or each.url or each.source) for each in reply.citations]
    cited = "".join(f"<li><code>{title}</code></li>" for title in dict.fromkeys(titles))
    sources = f"<details><summary>Sources</summary><ul>{cited}</ul></details>" if cited else ""
    notes = "".join(f"<li><code>{_escaped(str(note))}</code></li>" for note in reply.notes)
    listed = f"<details><summary>Notes: {len(reply.notes)}</summary><ul>{notes}</ul></details>"
    return f"<div>{''.join(shown)}<p>{line}</p>{sources}{listed if notes else ''}</div>"


def _part(part: Part) -> str:
    from wire.neutral.messages import (
        Media,
        ServerToolCall,
        ServerToolResult,
        Text,
        Thought,
        ToolCall,
    )

    if isinstance(part, Text) and part.refusal:
        return f"Refusal: {part.text}"
    if isinstance(part, Text | Thought):
        return part.text
    if isinstance(part, ToolCall):
        return f"Tool call: {_call(part)}"
    if isinstance(part, ServerToolCall):
        return f"Server tool call: {_arguments(part.name, part.arguments)}"
    if isinstance(part, ServerToolResult):
        return f"Server tool result: {short(part.name)}"
    if isinstance(part, Media):
        return repr(part)
    return f"{type(part).__name__}: {short(str(getattr(part, 'kind', '')))}"


def _call(call: ToolCall) -> str:
    if call.arguments is None:
        return f"{call.name} {call.text}"
    return _arguments(call.name, call.arguments)


def _arguments(name: str, values: dict[str, Any] | None) -> str:
    import json

    try:
        arguments = json.dumps(values, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):  # no JSON: made by the caller
        return f"{name} {len(values or ())} arguments"
    return f"{printable_line(name)} {printable_json(arguments)}"


def _escaped(text: str) -> str:
    import html  # a table of 2,000 entities, which `import wire` does not need

    return html.escape(printable(text))


def _pre(text: str) -> str:
    return f'<pre style="white-space: pre-wrap">{text}</pre>'
