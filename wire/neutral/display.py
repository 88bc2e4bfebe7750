"""Texts of models for people: in the line of a `repr`, and in HTML for a notebook.

A model writes text, names and arguments, and a notebook runs the scripts of a page. So all of it
is escaped, and stands in `<pre>` and `<code>`: the formulas that notebooks typeset elsewhere may
contain links.
"""

from __future__ import annotations

from typing import Any

from wire.core.printable import printable_json, printable_line, printable_lines


def arguments_line(name: str, values: dict[str, Any] | None) -> str:
    """Format a call of a function as one line."""
    import json

    try:
        arguments = json.dumps(values, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):  # not JSON: built by the caller
        return f"{name} {len(values or ())} arguments"
    return f"{printable_line(name)} {printable_json(arguments)}"


def html_text(text: str) -> str:
    """Escape a text of a model for HTML."""
    import html  # a table of 2,000 entities, which `import wire` does not need

    return html.escape(printable_lines(text))


def html_block(text: str) -> str:
    """Build a block of HTML text that keeps lines and blanks."""
    return f'<pre style="white-space: pre-wrap">{text}</pre>'
