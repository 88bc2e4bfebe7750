"""The recorder and the player behind the transports, without httpx.

Invariants: the cassette contains an interaction as soon as its body is closed, and its file is
replaced atomically (C-25). An interaction in which a secret was detected never reaches the disk
(C-12). A player plays each interaction once (C-19).
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict, deque
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from wire.core.files import read_whole, write_whole
from wire.core.limits import Inflater, Limits
from wire.core.secret import Secret, sealed_list, unsealed
from wire.errors import CassetteError, LimitError, StreamInvalid
from wire.testing.bodies import body_bytes, body_chunks, read_body
from wire.testing.cassette import End, Interaction, Request, Response, assembled, block, load
from wire.testing.leaks import Known, Leak
from wire.testing.matching import closest, compared, listed
from wire.testing.written_headers import Headers, kept_url, request_headers, response_headers

_INFLATED = ("gzip", "x-gzip", "deflate")
_INFLATED_AT_ONCE = 512
"""Bytes. Small pieces, so that the output before a malformed byte is not lost."""


class Sent(NamedTuple):
    """A request as the transport sends it, secrets included."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes

    def __repr__(self) -> str:
        # Tracebacks show the variables of frames, and the headers have the key.
        return f"Sent({self.method} {kept_url(self.url)}, {len(self.body)} bytes)"


class Recorder:
    """Collects the interactions of one cassette, in the order in which they were sent."""

    def __init__(self, path: str | os.PathLike[str], secrets: Iterable[str | Secret] = ()) -> None:
        # Before anything can raise: tracebacks show the arguments of this frame.
        secrets = sealed_list(secrets)
        self._path = Path(path)
        self._known = Known()
        for number, secret in enumerate(secrets):
            if not secret.is_text or not unsealed(secret):
                raise CassetteError(f"secrets[{number}]: expected a non-empty text")
            self._known.learn(unsealed(secret), f"secrets[{number}]", shortest=1)
        self._lock = threading.Lock()
        self._sent = 0
        self._kept: dict[int, tuple[Interaction, str]] = {}
        self._checked = 0  # number of known secrets at the last search of all interactions

    def send(self, sent: Sent) -> int:
        """Registers a request and its secrets; returns its position in the cassette."""
        with self._lock:
            self._known.learn_request(sent.url, sent.headers)
            self._sent += 1
            return self._sent

    def keep(
        self, position: int, sent: Sent, status: int, headers: Headers, body: bytes, end: End
    ) -> CassetteError | None:
        """Writes the cassette after the body of a response was closed.

        Returns the error instead of raising it, so that the caller can close the connection first.
        """
        content = body
        try:
            response, content = _response(status, list(headers), body, end)
            request_type = dict(sent.headers).get("content-type", "")
            request = Request(
                method=sent.method,
                url=kept_url(sent.url),
                headers=request_headers(sent.headers),
                body=read_body(sent.body, request_type),
            )
            with self._lock:
                self._add(position, Interaction(request=request, response=response))
        except CassetteError as error:
            return CassetteError(error.message, raw=content)
        return None

    def _add(self, position: int, interaction: Interaction) -> None:
        self._known.learn_environment(os.environ)
        self._kept[position] = interaction, block(interaction)
        # An earlier response may contain a key that became known only now: search all again.
        old = len(self._known) == self._checked
        searched = [position] if old else sorted(self._kept)
        leaks = {each: self._known.leak(*self._kept[each]) for each in searched}
        self._checked = len(self._known)
        refused = [(each, leak) for each, leak in leaks.items() if leak is not None]
        for each, _ in refused:
            del self._kept[each]
        if refused != [(position, leaks[position])]:
            self._write()
        if refused:
            raise CassetteError(self._refusal(refused))

    def _refusal(self, refused: list[tuple[int, Leak]]) -> str:
        positions = "; ".join(
            f"{leak.secret} is in {leak.position} (request {number} of this recording)"
            for number, leak in refused
        )
        return f"{self._path.name}: not written, because it contains a secret: {positions}"

    def _write(self) -> None:
        text = assembled(self._kept[position][1] for position in sorted(self._kept))
        # As an `OSError`, it would look to the client like a lost connection, and be retried.
        write_whole(self._path, text.encode(), CassetteError)


def _response(
    status: int, headers: list[tuple[str, str]], body: bytes, end: End
) -> tuple[Response, bytes]:
    """Returns the response for the cassette, and the decoded body for `CassetteError.raw`."""
    kept = response_headers(headers)
    coding = kept.get("content-encoding", "identity").strip().lower()
    decoded: str | UnsetType
    if coding == "identity":
        kept.pop("content-encoding", None)
        decoded, content, data = UNSET, body, body
    elif coding in _INFLATED:
        content, complete = _inflated(coding, body)
        # A malformed body stays compressed, and so does a truncated one whose connection ended
        # cleanly: replay must fail to decode it where the original failed.
        if complete or (complete is None and end != "eof"):
            kept.pop("content-encoding")
            decoded, data = coding, content
        else:
            decoded, data = UNSET, body
    else:
        # A body that cannot be decoded cannot be searched for secrets.
        raise CassetteError(
            f"content-encoding: {coding!r} cannot be recorded; request identity, gzip or deflate"
        )
    response = Response(
        status=status,
        headers=kept,
        decoded=decoded,
        body=read_body(data, kept.get("content-type", "")),
        end=end,
    )
    return response, content


def _inflated(coding: str, body: bytes) -> tuple[bytes, bool | None]:
    """Decodes a compressed body as far as possible.

    The second value is `True` for a complete body, `None` for a truncated one, `False` for a
    malformed one.
    """
    inflater = Inflater(coding, Limits())
    content = b""
    try:
        for at in range(0, len(body), _INFLATED_AT_ONCE):
            content += inflater.feed(body[at : at + _INFLATED_AT_ONCE])
    except (StreamInvalid, LimitError):
        return content, False
    return content, None if inflater.cut else True


class Played(NamedTuple):
    """A recorded response."""

    status: int
    headers: dict[str, str]
    chunks: list[bytes]
    end: End


class Player:
    """Answers requests from a loaded cassette."""

    def __init__(self, path: str | os.PathLike[str], again: str) -> None:
        self._name = os.fspath(path)
        self._again = again.format(path=self._name)
        try:
            data = read_whole(path, CassetteError)
        except CassetteError as error:
            raise CassetteError(f"{error.message}; {self._again}") from None
        self._interactions = load(data, self._name).interactions
        self._recorded = [
            compared(each.request.method, each.request.url, body_bytes(each.request.body))
            for each in self._interactions
        ]
        self._left: defaultdict[str, deque[int]] = defaultdict(deque)
        for index, each in enumerate(self._recorded):
            self._left[each.key].append(index)
        self._lock = threading.Lock()

    def play(self, sent: Sent) -> Played:
        """Returns the next recorded response of a matching request.

        Raises `CassetteError` with the differences to the closest recorded request.
        """
        request = compared(sent.method, sent.url, sent.body)
        with self._lock:
            left = self._left.get(request.key)
            index = left.popleft() if left else None
        if index is None:
            known = Known()
            known.learn_request(sent.url, sent.headers)
            known.learn_environment(os.environ)
            raise CassetteError(known.masked(self._unmatched(sent)))
        response = self._interactions[index].response
        return Played(response.status, response.headers, body_chunks(response.body), response.end)

    def _unmatched(self, sent: Sent) -> str:
        request = compared(sent.method, sent.url, sent.body)
        times = sum(each.key == request.key for each in self._recorded)
        if times:
            reason = (
                f"it is recorded {times} time{'s' if times > 1 else ''}, and each was played once"
            )
        elif (near := closest(request, self._recorded)) is not None:
            reason = f"the closest is interactions[{near[0]}], different in {listed(near[1])}"
        else:
            reason = "the cassette is empty"
        return (
            f"{self._name}: no recorded response to {request.method} {request.url}: {reason}; "
            f"{self._again}"
        )
