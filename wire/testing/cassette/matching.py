"""Matches a sent request with recorded ones (C-16), and reports the differences (C-18)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.credentials import without_known
from wire.core.errors import ConfigurationError
from wire.testing.cassette.format.file_position import Path, shown
from wire.testing.cassette.format.json_paths import parsed, without
from wire.testing.cassette.format.kept_headers import open_query
from wire.testing.cassette.format.redaction import NO_REDACTION, Redaction
from wire.testing.cassette.format.structs import Interaction

SHOWN_VALUE = 200
"""Characters of a value that a message shows."""
_MAX_LISTED = 900
"""Characters of all differences in one message. An error's message has at most 1,500."""

NOTHING = object()


_BOUNDARY = re.compile(r"""boundary=(?:"([^"]+)"|([^\s;"]+))""", re.IGNORECASE)


class ComparedRequest(NamedTuple):
    """The parts of a request that are compared.

    The scheme is left out: a recording made over http matches a request over https.
    """

    method: str
    """In capitals."""
    host: str
    """With the port, if the URL has one."""
    path: str
    """As sent, percent-encoded."""
    query: tuple[tuple[str, str], ...]
    """Sorted by name, without keys."""
    body: Any
    """The JSON value, or the bytes if they are not JSON."""

    @property
    def key(self) -> str:
        """Equal for two requests that match."""
        if isinstance(self.body, bytes):
            text = f"bytes {self.body.hex()}"
        else:
            text = json.dumps(_canonical(self.body), sort_keys=True)
        return f"{self[:4]} {text}"


class Difference(NamedTuple):
    """One difference between a recorded request and the one that was sent."""

    path: str
    """A JSON path of the body, or `method`, `host`, `path`, `query` or `body`."""
    recorded: str
    """As the message shows it: JSON, cut to 200 characters."""
    sent: str
    """Likewise."""

    def __str__(self) -> str:
        return f"{self.path}: recorded {self.recorded}, sent {self.sent}"


class Match:
    """Which recorded request answers a sent one, besides the rule of C-16.

    >>> match = Match(ignore=["$.metadata.request_id", "$..tool_call_id"])
    >>> match = Match(normalize=lambda request: request._replace(host="any"))

    Raises `ConfigurationError` for a path that is malformed.

    Args:
        ignore: JSON paths of values that are not compared (C-17).
        normalize: Function that gets a `ComparedRequest`, of each recorded and of each sent
            request, and returns the one that is compared.
        repeats: True plays the last response of equal requests again when all were played. Without
            it, each recorded interaction is played once.
    """

    @checked_arguments(ConfigurationError, before=True)
    def __init__(
        self,
        ignore: Iterable[str] = (),
        normalize: Callable[[ComparedRequest], ComparedRequest] | None = None,
        repeats: bool = False,
    ) -> None:
        self.ignore: tuple[str, ...] = (ignore,) if isinstance(ignore, str) else tuple(ignore)
        self.normalize = normalize
        self.repeats: bool = repeats
        self._paths = [parsed(path, f"ignore[{at}]") for at, path in enumerate(self.ignore)]
        self._redaction = NO_REDACTION

    def __repr__(self) -> str:
        return f"Match(ignore={self.ignore}, repeats={self.repeats})"

    @checked_arguments(ConfigurationError)
    def compared(
        self, method: str, url: str, body: bytes, content_type: str = ""
    ) -> ComparedRequest:
        """Return the parts of a request that are compared."""
        parts = urlsplit(url)
        body = self._redaction.apply(body).data
        request = ComparedRequest(
            method.upper(),
            parts.netloc.rpartition("@")[2].lower(),
            without_known(parts.path) or "/",  # as it is recorded
            tuple(open_query(url)),
            without(_value_of(body, content_type), self._paths),
        )
        return request if self.normalize is None else self.normalize(request)


def redacting(
    match: Match, recorded: Iterable[Interaction], redaction: Redaction = NO_REDACTION
) -> Match:
    """Return the rule for redacted values, in recorded and in sent requests (C-13).

    The values are those that `redaction` selects, and those that were redacted in `recorded`.
    """
    noted = [path for each in recorded for path in each.request.redacted or ()]
    made = Match(match.ignore, match.normalize, match.repeats)
    made._redaction = Redaction(dict.fromkeys([*redaction.paths, *noted]))
    return made


def _value_of(body: bytes, content_type: str) -> Any:
    try:
        value = msgspec.json.decode(body)
        _canonical(value)  # which is deeper recursion than that of msgspec
    except (ValueError, RecursionError):
        return _without_boundary(body, content_type)
    # It changes no answer, and recordings of before it was sent by default have none.
    if isinstance(value, dict) and value.get("store") is False:
        del value["store"]
    return value


def _without_boundary(body: bytes, content_type: str) -> bytes:
    """Replace the boundary of a multipart body, which each client makes anew (C-17)."""
    found = _BOUNDARY.search(content_type) if "multipart/" in content_type.lower() else None
    return body if found is None else body.replace((found[1] or found[2]).encode(), b"boundary")


def closest(
    sent: ComparedRequest, recorded: Sequence[ComparedRequest], played: Container[int] = ()
) -> tuple[int, list[Difference]] | None:
    """Return the index of the most similar recorded request, and the differences to it.

    Of requests with equally similar URLs, one whose index is not in `played` comes first: a test
    that sends its requests in recorded order means the next one, even if an earlier one, which
    begins the same conversation, is more similar.
    """
    if not recorded:
        return None
    ranks = [
        (sum(a != b for a, b in zip(each[:4], sent[:4], strict=True)), index in played)
        for index, each in enumerate(recorded)
    ]
    least = min(ranks)
    candidates = [
        (index, list(differences(recorded[index].body, sent.body)))
        for index, rank in enumerate(ranks)
        if rank == least
    ]
    index, changed = min(candidates, key=lambda each: len(each[1]))
    near = recorded[index]
    names = ("method", "host", "path", "query")
    reported = [
        Difference(name, _head(a), _head(b))
        for name, a, b in zip(names, near, sent, strict=False)
        if a != b
    ]
    for path, old, new in changed:
        reported.append(Difference(shown(path) if path else "body", *shown_values(old, new)))
    return index, reported


def listed(reported: Sequence[Difference]) -> str:
    """Join differences to one line, as many as fit."""
    taken: list[str] = []
    for each in map(str, reported):
        if taken and sum(map(len, taken)) + len(each) > _MAX_LISTED:
            return f"{'; '.join(taken)}; and {len(reported) - len(taken)} more"
        taken.append(each)
    return "; ".join(taken)


def differences(recorded: Any, sent: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield the JSON paths at which two values differ, with both values, in recorded order.

    >>> recorded, sent = {"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 3}], "c": 4}
    >>> [shown(path) for path, _, _ in differences(recorded, sent)]
    ['$.a[1].b', '$.c']
    """
    if isinstance(recorded, dict) and isinstance(sent, dict):
        for key in {**recorded, **sent}:
            yield from differences(recorded.get(key, NOTHING), sent.get(key, NOTHING), (*path, key))
    elif isinstance(recorded, list) and isinstance(sent, list):
        for index in range(max(len(recorded), len(sent))):
            old, new = (each[index] if index < len(each) else NOTHING for each in (recorded, sent))
            yield from differences(old, new, (*path, index))
    elif (
        isinstance(recorded, bool) is not isinstance(sent, bool) or recorded != sent
    ):  # 1 == True in Python, but not in JSON
        yield path, recorded, sent


def _canonical(value: Any) -> Any:
    """Normalize a value so that equal values have equal JSON text: 1.0 becomes 1."""
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _head(value: Any) -> str:
    return value if isinstance(value, str) else _value(value)


def _value(value: Any) -> str:
    if value is NOTHING:
        return "nothing"
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_VALUE else text[:SHOWN_VALUE] + "..."


def message_text(body: Any) -> str:
    """Shorten the body of a compared request for a message."""
    return _value(body)


def shown_values(old: Any, new: Any) -> tuple[str, str]:
    """Shorten two values for a message; long texts are cut around their first difference."""
    if isinstance(old, bytes) and isinstance(new, bytes):
        old, new = old.decode("utf-8", "replace"), new.decode("utf-8", "replace")
    if not (isinstance(old, str) and isinstance(new, str)):
        return _value(old), _value(new)
    same = next(
        (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    start = max(0, same - SHOWN_VALUE // 4) if max(len(old), len(new)) > SHOWN_VALUE else 0
    return _window(old, start), _window(new, start)


def _window(text: str, start: int) -> str:
    cut = text[start : start + SHOWN_VALUE]
    before = "..." if start else ""
    after = "..." if start + SHOWN_VALUE < len(text) else ""
    return f"{before}{json.dumps(cut, ensure_ascii=False)}{after}"
