"""The state of one stream between its bytes and its reader: chunks that wait, how it ended, what to fold.

Rules of this file: a chunk is given out before the error that came after it; an error carries everything that had
arrived; a stream whose last chunk has a finish is whole, also if its connection then broke (R-01, R-02).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, cast

import msgspec

from wire.account import Account, keep_account
from wire.call import Answer, Chunk, StreamCall
from wire.errors import StreamError, StreamIncomplete, WireError
from wire.limits import Inflater, Limits
from wire.memory import kept_bytes, with_notes


class Incoming(Generic[Chunk, Answer]):
    """Bytes of one streamed answer in, chunks in `ready`, an end in `over`."""

    def __init__(
        self,
        call: StreamCall[Chunk, Answer],
        encoding: str,
        limits: Limits,
        account: Account,
        masked: Callable[[WireError], WireError],
    ) -> None:
        self.ready: deque[Chunk] = deque()
        self.over = False
        self.drains = False
        """The wire's terminator was read and the body's end was not: it is about to come, and lets the connection be used again."""
        self.account = account
        self._call = call
        self._reader = call.reader(limits.event)
        self._telling = call.telling() if call.telling is not None else None
        self._handed_out = False
        self._inflater = Inflater(encoding, limits)
        self._kept: list[msgspec.Raw] = []  # the bytes of each chunk are a quarter of the chunk, and all that folding needs
        self._masked = masked
        self._error: WireError | None = None

    def feed(self, data: bytes) -> bool:
        """Take bytes off the wire; True if they completed a chunk."""
        try:
            chunks = self._reader.feed(self._inflater.feed(data))
        except WireError as error:
            self._end(error)
            return False
        self.account.received = self._inflater.taken
        self._take(chunks)
        if self._reader.error is not None or self._reader.done:
            self._close()
            self.drains = self._error is None
        return bool(chunks)

    def end(self) -> None:
        """The body ended as bodies end."""
        if self._inflater.cut and not self._reader.finished:
            self._end(StreamIncomplete("the compressed body broke off"))
        else:
            self._close()

    def lost(self, error: WireError) -> None:
        """The body broke off, or a clock ran out."""
        if self._reader.finished:
            self._close()
        else:
            self._end(error)

    def abandon(self) -> None:
        """The caller closed the stream: what comes next is nothing."""
        if not self.over:
            self._end(StreamError("the stream was closed before it was read to its end"))
        self.ready.clear()

    def check(self) -> None:
        """Raise what the stream ended with, if it was not a finish."""
        if self._error is not None:
            raise self._error

    def reply(self) -> Answer:
        """The answer folded from what has been received so far."""
        answer = self._folded()
        keep_account(answer, self.account)
        return answer

    def _folded(self) -> Answer:
        answer: Any = self._call.fold(self._kept)
        return cast(Answer, with_notes(answer, self._reader.notes))

    def _close(self) -> None:
        self._take(self._reader.close())
        error = self._reader.error
        if error is None and self._telling is not None:
            try:
                self._hand_out(self._telling.close(self.reply()))
            except WireError as meant:
                error = meant
        self._end(error)

    def _take(self, chunks: Sequence[Any]) -> None:
        self._kept += [kept_bytes(chunk) for chunk in chunks]
        if self._telling is None:
            self._hand_out(chunks)
        else:
            for chunk in chunks:
                self._hand_out(self._telling.feed(chunk))

    def _hand_out(self, told: Sequence[Any]) -> None:
        self.ready.extend(told)
        self._handed_out = self._handed_out or bool(told)

    def _end(self, error: WireError | None) -> None:
        self.over = True
        self.account.events = len(self._kept)
        self._error = error
        if error is not None:
            self._masked(error)
            error.attempts = error.attempts or self.account.attempts
            error.request_id = error.request_id or self.account.request_id
            if self._kept:
                error.partial = self._folded()
                error.retryable = error.retryable and not self._handed_out  # or a part of the answer was seen
