"""The server's error text and the remedy for each rule, and the rules that depend on the server's
state.

They are in `words.json`. A rule fills in the names in braces. `vertex` is the text of Vertex where
it is known to differ. A rule with several error texts has one row for each; the key is the id and a
name, such as `G1 list`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wire.core.lazy import file_beside

INVALID = "Request contains an invalid argument."


class Words(msgspec.Struct, frozen=True):
    """How the server refuses a violation: its error text, the remedy for the caller, HTTP status
    and its name.
    """

    text: str
    remedy: str
    vertex: str = ""
    status: int = 400
    code: str = "INVALID_ARGUMENT"


def _rows() -> list[dict[str, Any]]:
    rows = msgspec.json.decode(file_beside(__file__, "words.json"))
    return [dict(row) for row in rows]


_ROWS = {row["form"]: row for row in _rows()}
WORDS: dict[str, Words] = {
    form: Words(**{name: row[name] for name in Words.__struct_fields__ if name in row})
    for form, row in _ROWS.items()
}
PARSER = frozenset(form for form, row in _ROWS.items() if row.get("parser"))
"""Keys of `WORDS` for violations that the server's parser reports: all at once, with details."""

STATE: dict[str, str] = {form: row["state"] for form, row in _ROWS.items() if "state" in row}
"""Rules that depend on the server's state -> that state. `check` cannot report them; `WORDS` has
their error texts.
"""


def server_text(form: str, host: str = "gemini", **names: object) -> str:
    """Return the server's error text for a key of `WORDS`, as the host writes it.

    >>> server_text("G67", name="abc")
    'The File abc is not in an ACTIVE state and usage is not allowed'
    """
    words = WORDS[form]
    return (words.vertex if host == "vertex" and words.vertex else words.text).format(**names)
