"""Compares two recordings by meaning: pairs of interactions, and what differs in each pair."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

import msgspec
from msgspec import UNSET

from wire.testing.cassette.format.file_position import shown
from wire.testing.cassette.format.json_paths import Step, parsed, without
from wire.testing.cassette.format.structs import Interaction
from wire.testing.cassette.matching import NOTHING, differences, shown_values
from wire.testing.cassette.views.conversation import Exchange, conversation, split_url
from wire.testing.cassette.views.readable import readable
from wire.testing.cassette.views.snapshots import Stable, events_of

_VOLATILE_HEADERS = ("ratelimit", "request-id")
_MAX_CHANGES = 200
"""Changes that one pair lists."""


_MAX_COMPARED = 4_000_000
"""Pairs of items that are compared to align two sequences: about a second."""

_Key = tuple[str, str, int, str]
"""Method, path, status and body of an interaction."""
_LEAST_EQUAL = 2
"""Parts of a key, from the first, that two interactions of a pair have in common."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One difference. Without `old` it was added, without `new` it was removed; without both, the
    path says all.
    """

    path: str
    """The part that differs, and the JSON path in it: `request $.model`, `events[3] $.delta`."""
    old: str = ""
    new: str = ""


class Pair(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two interactions that belong together; 0 where one recording has none."""

    left: int
    """Position in the first recording, from 1."""
    right: int
    title: str
    changes: list[Change] = []


class Comparison(msgspec.Struct, frozen=True):
    """Two recordings side by side."""

    pairs: list[Pair]

    @property
    def equal(self) -> bool:
        """Whether no pair differs."""
        return not any(pair.changes for pair in self.pairs)


def compare(
    left: Sequence[Interaction],
    right: Sequence[Interaction],
    *,
    ignore: Sequence[str] = (),
    exact: bool = False,
    folded: bool = False,
) -> Comparison:
    """Compare two recordings.

    `ignore` are JSON paths of bodies and events that are not compared. Ids, times and signatures
    are compared with `exact` only. With `folded`, a streamed reply is compared as a whole, and not
    the events that it was cut into.

    Raises `ConfigurationError` for a malformed path.
    """
    paths = [parsed(path, "ignore") for path in ignore]
    sides = _Side(left, exact, paths), _Side(right, exact, paths)
    pairs: list[Pair] = []
    for a, b in _paired(sides[0].keys, sides[1].keys):
        title = _title(a, b, *sides)
        if a is None or b is None:
            row = Change("only in the second" if a is None else "only in the first")
            pairs.append(Pair(0 if a is None else a + 1, 0 if b is None else b + 1, title, [row]))
            continue
        changes = list(_changes(sides[0], a, sides[1], b, folded))
        if len(changes) > _MAX_CHANGES:
            more = f"{len(changes) - _MAX_CHANGES} more differences"
            changes = [*changes[:_MAX_CHANGES], Change("...", more, more)]
        pairs.append(Pair(a + 1, b + 1, title, changes))
    return Comparison(pairs)


class _Side:
    """One recording, prepared for comparison."""

    def __init__(
        self, interactions: Sequence[Interaction], exact: bool, ignore: list[tuple[Step, ...]]
    ) -> None:
        self.interactions = interactions
        self.exchanges = conversation(interactions).exchanges
        self.requests: list[Any] = []
        self.responses: list[Any] = []
        self.events: list[list[Any]] = []
        self.replies: list[Any] = []
        self.messages: list[list[Any]] = []
        for each, exchange in zip(interactions, self.exchanges, strict=True):
            request, response = each.request, each.response
            events = events_of(response.body)
            body = UNSET if events else readable(response.body, response.headers)
            # One numbering for each body: an id that was added to one renames none of another.
            stable = _unchanged if exact else Stable().value
            sent = stable(_given(readable(request.body, request.headers)))
            self.requests.append(without(sent, ignore))
            stable = _unchanged if exact else Stable().value
            self.events.append([without(stable(event), ignore) for event in events])
            self.replies.append(without(stable(_reply(exchange)), ignore))
            self.responses.append(without(stable(_given(body)), ignore))
            # Both directions have one numbering: a client names ids of the server.
            stable = _unchanged if exact else Stable().value
            self.messages.append(
                [
                    {"direction": said.direction, "body": without(stable(said.body), ignore)}
                    for said in exchange.messages or ()
                ]
            )
        self.keys: list[_Key] = [
            (
                each.method,
                split_url(each.url).path,
                each.status,  # a retry is the same request
                _key(body),
            )
            for each, body in zip(self.exchanges, self.requests, strict=True)
        ]


def _unchanged(value: Any) -> Any:
    return value


def _given(value: Any) -> Any:
    return None if value is UNSET else value


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _reply(exchange: Exchange) -> Any:
    """Return the parts, the stop reason, the tokens and the error of a streamed reply."""
    if not exchange.wire or not exchange.events:
        return None
    names = ("reply", "stop", "usage", "error")
    plain = msgspec.to_builtins(exchange)
    return {name: plain[name] for name in names if name in plain}


def _paired(
    left: Sequence[_Key], right: Sequence[_Key], a: int = 0, b: int = 0, depth: int = 4
) -> Iterator[tuple[int | None, int | None]]:
    """Yield positions that belong together: equal keys; between them, equal first parts of keys.

    `a` and `b` are the positions of the first keys.
    """
    heads = [key[:depth] for key in left], [key[:depth] for key in right]
    for kind, i, i_end, j, j_end in _aligned(*heads):
        if kind == "equal":
            yield from zip(range(a + i, a + i_end), range(b + j, b + j_end), strict=True)
        elif depth > _LEAST_EQUAL:
            yield from _paired(left[i:i_end], right[j:j_end], a + i, b + j, depth - 1)
        else:
            yield from ((at, None) for at in range(a + i, a + i_end))
            yield from ((None, at) for at in range(b + j, b + j_end))


def _aligned(
    old: Sequence[Hashable], new: Sequence[Hashable]
) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield ranges of two sequences that are equal or not, as the opcodes of difflib.

    Ranges whose comparison would take too long are aligned by position.
    """
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    a, b = old[start : len(old) - end], new[start : len(new) - end]
    if start:
        yield "equal", 0, start, 0, start
    if len(a) * len(b) > _MAX_COMPARED:
        yield "replace", start, len(old) - end, start, len(new) - end
    else:
        for kind, i, i_end, j, j_end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            yield kind, start + i, start + i_end, start + j, start + j_end
    if end:
        yield "equal", len(old) - end, len(old), len(new) - end, len(new)


def _title(a: int | None, b: int | None, left: _Side, right: _Side) -> str:
    shown = left.exchanges[a] if a is not None else right.exchanges[b or 0]
    numbers = " and ".join(f"[{at + 1}]" for at in dict.fromkeys((a, b)) if at is not None)
    return f"{numbers} {shown.method} {shown.url}"


def _changes(left: _Side, a: int, right: _Side, b: int, folded: bool) -> Iterator[Change]:
    first, second = left.interactions[a], right.interactions[b]
    yield from _plain("method", first.request.method, second.request.method)
    yield from _plain("url", left.exchanges[a].url, right.exchanges[b].url)
    yield from _headers("request", first.request.headers, second.request.headers)
    yield from _values("request", left.requests[a], right.requests[b])
    yield from _plain("status", first.response.status, second.response.status)
    yield from _headers("response", first.response.headers, second.response.headers)
    yield from _values("reply", left.replies[a], right.replies[b])
    yield from _values("response", left.responses[a], right.responses[b])
    if not folded:
        yield from _events("events", left.events[a], right.events[b])
    yield from _events("messages", left.messages[a], right.messages[b])
    yield from _plain("close", _closed(first), _closed(second))
    yield from _plain("end", first.response.end, second.response.end)


def _plain(path: str, old: Any, new: Any) -> Iterator[Change]:
    if old != new:
        yield Change(path, str(old), str(new))


def _headers(owner: str, old: dict[str, str], new: dict[str, str]) -> Iterator[Change]:
    for name in sorted({*old, *new}):
        if not any(word in name for word in _VOLATILE_HEADERS):
            yield from _plain(f"{owner} header {name}", old.get(name, ""), new.get(name, ""))


def _values(owner: str, old: Any, new: Any) -> Iterator[Change]:
    for path, before, after in differences(old, new):
        old_text, new_text = shown_values(before, after)
        yield Change(
            f"{owner} {shown(path)}",
            "" if before is NOTHING else old_text,
            "" if after is NOTHING else new_text,
        )


def _closed(interaction: Interaction) -> str:
    close = interaction.response.close
    return "" if close is UNSET else f"{close.code} {close.reason}".strip()


def _events(owner: str, old: list[Any], new: list[Any]) -> Iterator[Change]:
    """Yield events or messages that were added, removed or changed.

    Positions are those of the first recording.
    """
    for kind, i, i_end, j, j_end in _aligned(list(map(_key, old)), list(map(_key, new))):
        if kind == "equal":
            continue
        same = min(i_end - i, j_end - j)
        for at in range(same):
            yield from _values(f"{owner}[{i + at}]", old[i + at], new[j + at])
        for at in range(i + same, i_end):
            yield from _values(f"{owner}[{at}]", old[at], NOTHING)
        for at in range(j + same, j_end):
            yield from _values(f"{owner}[{at}] of the second", NOTHING, new[at])
