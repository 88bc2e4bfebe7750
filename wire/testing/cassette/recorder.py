"""Collects interactions and writes them to a cassette.

The cassette contains an interaction as soon as its body is closed, and its file is replaced
atomically (C-25). An interaction in which a secret was detected never reaches the disk (C-12).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from wire.core.errors import CassetteError
from wire.core.forks import new_in_child
from wire.core.secret import Secret, sealed_list, unsealed
from wire.testing.cassette.format.bodies import body_chunks, read_body
from wire.testing.cassette.format.content_coding import decode_content, refusal
from wire.testing.cassette.format.file import block, save, whole_block
from wire.testing.cassette.format.kept_headers import (
    Headers,
    is_emulated,
    kept_url,
    request_headers,
    response_headers,
)
from wire.testing.cassette.format.redaction import NO_REDACTION, Redaction
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.format.structs import End, Interaction, Request, Response
from wire.testing.cassette.heard import Heard, written
from wire.testing.cassette.leaks import Known, Leak


class Timing(NamedTuple):
    """When a response came (C-06)."""

    started: int
    """Milliseconds from the first request of the recording to this one."""
    times: list[int]
    """Milliseconds before each chunk of the body, the first since the request was sent."""
    chunks: list[int]
    """Bytes of each chunk."""


class Recorder:
    """Collects the interactions of one cassette, in the order in which they were sent.

    `kept` are interactions that the file holds already; new ones follow them, or replace one. The
    bodies of new ones are redacted. Without `side_files`, the file holds large binary content too.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        secrets: Iterable[str | Secret] = (),
        kept: Sequence[Interaction] = (),
        redaction: Redaction = NO_REDACTION,
        side_files: bool = True,
    ) -> None:
        # Before anything can raise: tracebacks show the arguments of this frame.
        secrets = sealed_list(secrets)
        self._path, self._redaction = Path(path), redaction
        self._known = Known()
        for number, secret in enumerate(secrets):
            if not secret.is_text or not unsealed(secret):
                raise CassetteError(f"secrets[{number}]: expected a non-empty text")
            self._known.learn(unsealed(secret), f"secrets[{number}]", shortest=1)
        self._lock = threading.Lock()
        new_in_child(self, _lock=threading.Lock)
        self._sent = len(kept)
        self._block = block if side_files else whole_block
        self._kept = {at: (each, self._block(each)) for at, each in enumerate(kept, 1)}
        # A recording that goes on follows the earlier one in time.
        self._earlier = max(map(_ended, kept), default=0)
        self._checked = 0  # number of known secrets at the last search of all interactions

    def send(self, sent: Sent, instead_of: int | None = None) -> int:
        """Register a request and its secrets; return its position in the cassette, from 1.

        It takes the place of the interaction with the index `instead_of`.
        """
        with self._lock:
            self._known.learn_request(sent.url, sent.headers, sent.body)
            if instead_of is not None:
                return instead_of + 1
            self._sent += 1
            return self._sent

    def keep(
        self,
        position: int,
        sent: Sent,
        status: int,
        headers: Headers,
        body: bytes,
        end: End,
        timing: Timing | None = None,
        heard: Heard | None = None,
    ) -> CassetteError | None:
        """Write the cassette after the body of a response, or a session, was closed.

        Returns the error instead of raising it, so that the caller can close the connection first.
        """
        content = body
        try:
            response, content = response_of(status, list(headers), body, end, self._redaction)
            if timing is not None:
                response = _timed(response, timing)
            request_type = dict(sent.headers).get("content-type", "")
            redacted = self._redaction.apply(sent.body)
            request = Request(
                method=sent.method,
                url=kept_url(sent.url),
                headers=request_headers(sent.headers),
                redacted=redacted.paths or UNSET,
                body=read_body(redacted.data, request_type),
            )
            interaction = Interaction(
                started=UNSET if timing is None else self._earlier + timing.started,
                request=request,
                response=response,
            )
            if heard is not None:
                interaction = with_session(interaction, heard, self._redaction)
            with self._lock:
                for each in [] if heard is None else heard.messages:
                    if each.direction == "sent":
                        self._known.learn_request(sent.url, (), each.data)
                self._add(position, interaction)
        except CassetteError as error:
            return CassetteError(error.message, raw=content)
        return None

    def _add(self, position: int, interaction: Interaction) -> None:
        self._known.learn_environment(os.environ)
        self._kept[position] = interaction, self._block(interaction)
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
        # As an `OSError`, it would look to the client like a lost connection, and be retried.
        save(self._path, (self._kept[position][1] for position in sorted(self._kept)))


def with_session(interaction: Interaction, heard: Heard, redaction: Redaction) -> Interaction:
    """Add the messages and the end of a session to the interaction that opened it."""
    session = written(heard.messages, redaction)
    request, response = interaction.request, interaction.response
    return msgspec.structs.replace(
        interaction,
        request=msgspec.structs.replace(request, redacted=session.sent_paths or UNSET),
        response=msgspec.structs.replace(
            response,
            redacted=session.received_paths or UNSET,
            times=UNSET,
            chunks=UNSET,
            close=heard.close,
            end=heard.end,
        ),
        messages=session.messages,
    )


def _timed(response: Response, timing: Timing) -> Response:
    """Add the times of the chunks, and their lengths unless they are those of the events."""
    events = [len(each) for each in body_chunks(response.body)]
    is_decoded = response.decoded is not UNSET  # then the lengths are those of other bytes
    same = is_decoded or timing.chunks == events
    return msgspec.structs.replace(
        response, times=timing.times, chunks=UNSET if same else timing.chunks
    )


def _ended(interaction: Interaction) -> int:
    """Return the time when a response was complete, in milliseconds.

    It is 0 if that is not recorded.
    """
    inside = (each.after or 0 for each in interaction.messages or ())
    return (interaction.started or 0) + sum(interaction.response.times or ()) + sum(inside)


def response_of(
    status: int,
    headers: list[tuple[str, str]],
    body: bytes,
    end: End,
    redaction: Redaction = NO_REDACTION,
) -> tuple[Response, bytes]:
    """Return the response for the cassette, and the decoded body for `CassetteError.raw`."""
    kept = response_headers(headers)
    coding = kept.get("content-encoding", "identity").strip().lower()
    decoded: str | UnsetType
    if coding == "identity":
        kept.pop("content-encoding", None)
        decoded, content, data = UNSET, body, body
    else:
        found = decode_content(coding, body)
        if found is None:
            # A body that cannot be decoded cannot be searched for secrets.
            raise CassetteError(refusal(coding))
        content, complete = found
        # A malformed body stays compressed, and so does a truncated one whose connection ended
        # cleanly: replay must fail to decode it where the original failed.
        if complete or (complete is None and end != "eof"):
            kept.pop("content-encoding")
            decoded, data = coding, content
        elif redaction.apply(content).paths:
            raise CassetteError(
                f"content-encoding: the {coding} body is broken, so it cannot be redacted"
            )
        else:
            decoded, data = UNSET, body
    redacted = redaction.apply(data)
    response = Response(
        emulated=is_emulated(headers),
        status=status,
        headers=kept,
        decoded=decoded,
        redacted=redacted.paths or UNSET,
        body=read_body(redacted.data, kept.get("content-type", "")),
        end=end,
    )
    return response, content
