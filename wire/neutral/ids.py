"""Ids of tool calls: generated for calls without one, and mapped to the form that a host accepts;
names of tools, mapped alike.

Both are deterministic, so a replayed conversation has the same ids.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

import msgspec

from wire.core.lenient import well_formed
from wire.core.memory import Note


def made_id(source: bytes, position: int) -> str:
    """Generate the id of a call without one: the same on replay, and unique in a conversation.

    `source` is the body of the request, or the message with the calls. `position` counts the calls
    from 0.

    >>> made_id(b"{}", 1)
    'call_44136fa355b3_1'
    """
    return f"call_{_digest(source)}_{position}"


# A response may have thousands of calls without ids, and a request several MiB.
@functools.lru_cache(maxsize=8)
def _digest(source: bytes) -> str:
    import hashlib  # most calls have an id, and `hashlib` loads OpenSSL

    return hashlib.sha256(source).hexdigest()[:12]


class ReplyIds:
    """The ids of the calls of one reply, all different, and the `response` that they share.

    A result names its call by the id. So a call gets an id of its own where the vendor gave none,
    or gave the id of an earlier call again.

    >>> ids = ReplyIds(b"{}")
    >>> ids.own("a"), ids.own("a"), ids.own(None), ids.response
    ('a', 'call_44136fa355b3_1', 'call_44136fa355b3_2', 'a')
    """

    response = ""
    """The id of the first call: a stream may have calls before it has the id of the response, and
    some hosts send none."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._used: set[str] = set()
        self._count = 0

    def own(self, given: str | None) -> str:
        """Return the id of the next call; `given` is the vendor's id."""
        given = well_formed(given or "")
        id = given if given and given not in self._used else made_id(self._body, self._count)
        self._used.add(id)
        self._count += 1
        self.response = self.response or id
        return id


class CallIds(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of tool calls that a host accepts: minimum and maximum length, and characters."""

    least: int = 1
    """Minimum length."""
    most: int = 0
    """Maximum length; 0 for no limit."""
    letters: str = ""
    """Regular expression of one allowed character; empty for any."""


@functools.lru_cache(maxsize=64)
def _pattern_of(rule: CallIds) -> re.Pattern[str]:
    letters, most = rule.letters or ".", rule.most or ""
    return re.compile(f"(?:{letters}){{{rule.least},{most}}}", re.DOTALL)


_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_USUAL_LENGTH = 24
"""Characters of a generated id, if the host allows that many."""


class LegalIds:
    """A two-way map of the ids of one conversation.

    >>> ids = LegalIds(CallIds(least=9, most=9, letters="[a-zA-Z0-9]"))
    >>> ids.legal("call_4KPTn0VsnQ5cRJ"), ids.legal("gSIMJiOkT")
    ('ktATI8cV1', 'gSIMJiOkT')
    >>> ids.original("ktATI8cV1")
    'call_4KPTn0VsnQ5cRJ'

    A legal id is unchanged. Two different ids never map to the same id.
    """

    def __init__(self, rule: CallIds) -> None:
        self._rule = rule
        self._legal: dict[str, str] = {}
        self._original: dict[str, str] = {}

    def legal(self, id: str) -> str:
        """Return an id that the host accepts."""
        if id not in self._legal:
            made = id if _pattern_of(self._rule).fullmatch(id) else self._made(id, 0)
            turn = 0
            while made in self._original:
                turn += 1
                made = self._made(id, turn)
            self._legal[id] = made
            self._original[made] = id
        return self._legal[id]

    def original(self, legal: str) -> str:
        """Return the id that `legal` was made from; an unknown id is returned unchanged."""
        return self._original.get(legal, legal)

    def _made(self, id: str, turn: int) -> str:
        import hashlib

        number = int.from_bytes(
            hashlib.sha256(f"{turn}:{id}".encode("utf-8", "surrogatepass")).digest(), "big"
        )
        letters: list[str] = []
        most = self._rule.most or _USUAL_LENGTH
        for _ in range(max(self._rule.least, min(most, _USUAL_LENGTH))):
            number, digit = divmod(number, len(_ALPHABET))
            letters.append(_ALPHABET[digit])
        return "".join(letters)


# --- names of tools -------------------------------------------------------------------------------


class ToolNames(msgspec.Struct, frozen=True):
    """The names of tools that a wire accepts in calls."""

    legal: re.Pattern[str]
    most: int
    """Characters of the longest legal name."""
    kept: int
    """Number of characters that remain of a longer name."""
    note: str
    """Reports a replaced `{name}` and the `{safe}` one."""


def safe_names(
    calls: Iterable[tuple[str, str]], taken: Iterable[str], rule: ToolNames, notes: list[Note]
) -> dict[str, str]:
    """Map the names of calls that are not legal on a wire to names that are, all different.

    `calls` are paths and names, in their order; `taken` are further names that are sent as they
    are. Appends a note for each name that is replaced, at the path of its first call.

    >>> rule = ToolNames(re.compile("[a-z_0-9]{1,9}"), most=9, kept=9, note="{name} became {safe}")
    >>> safe_names([("a", "fs.read"), ("b", "fs:read")], ["fs_read"], rule, [])
    {'fs.read': 'fs_read_2', 'fs:read': 'fs_read_3'}
    """
    calls = list(calls)
    used = {*taken, *(name for _, name in calls if rule.legal.fullmatch(name))}
    names: dict[str, str] = {}
    for path, name in calls:
        if name in names or rule.legal.fullmatch(name):
            continue
        base = re.sub(r"[^A-Za-z0-9_-]", "_", name)[: rule.kept]
        if not rule.legal.fullmatch(base):  # empty, or begins with a character that only may follow
            base = f"_{base}"[: rule.kept]
        safe, number = base, 1
        while safe in used:
            number += 1
            safe = f"{base[: rule.most - 1 - len(str(number))]}_{number}"
        used.add(safe)
        names[name] = safe
        notes.append(Note(path, rule.note.format(name=repr(name), safe=safe)))
    return names
