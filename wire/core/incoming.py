"""The state of one stream between its bytes and its reader: chunks that wait, how it ended, what to
fold.

- A chunk is handed out before the error that came after it. An error carries all that had arrived.
- A stream whose last chunk has a finish is whole, also if its connection then broke (R-01, R-02).
- A stream that its caller left before the end has no result, even if the rest had arrived (R-22).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, cast

from wire.core.account import Account, keep_account
from wire.core.call import Answer, Chunk, StreamCall
from wire.core.chunk_bytes import ChunkBytes
from wire.core.limits import Inflater, Limits
from wire.core.memory import PARTIAL, Beside, kept_bytes, with_notes
from wire.errors import StreamIncomplete, WireError

_LEFT = "the stream was left before its end: read the rest inside its block, or take partial()"


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
        """The wire's terminator was read and the body's end was not: it is about to come, and lets
        the connection be used again.
        """
        self.account = account
        self._call = call
        self._reader = call.reader(limits.event)
        self._events = call.events() if call.events is not None else None
        self._handed_out = False
        self._inflater = Inflater(encoding, limits)
        # A struct takes four times the memory of its bytes, and folding reads the bytes.
        self._kept = ChunkBytes(call.text_chunk)
        self._masked = masked
        self._error: WireError | None = None
        self._complete = self._left = False
        self._answer: Answer | None = None

    def feed(self, data: bytes) -> bool:
        """Take bytes off the wire; True if they completed a chunk."""
        if self.over:
            return False
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
        if self.over:
            return
        if self._inflater.cut and not self._reader.finished:
            self._end(StreamIncomplete("the compressed body broke off"))
        else:
            self._close()

    def lost(self, error: WireError) -> None:
        """The body broke off, or a clock ran out."""
        if self.over:
            return
        if self._reader.finished:
            self._close()
        else:
            self._end(error)

    def abandon(self) -> None:
        """The caller left the stream: nothing is handed out any more.

        The stream has a result only if all of it was handed out before. What had arrived and still
        waited depends on how the bytes were cut into packets: a result that was there or not by
        such a chance would pass every test and fail in use.
        """
        if self._error is None and (self.ready or not self.over):
            self._left, self._complete, self._answer = True, False, None
            self._end(None)
        self.ready.clear()

    def check(self) -> None:
        """Raise what the stream ended with, if it was not a finish."""
        if self._left and self._error is None:
            # Made when it is wanted: most who leave a stream early ask for nothing afterwards, and
            # its `partial` costs a fold.
            self._end(StreamIncomplete(_LEFT))
        if self._error is not None:
            raise self._error

    def result(self) -> Answer:
        """The whole answer of a stream that is over, always the same. Raises as `check`."""
        self.ready.clear()
        self.check()
        return self.partial()

    def partial(self) -> Answer:
        """The answer folded from what has been received; its notes say if it is not whole."""
        if self._answer is not None:
            return self._answer
        answer: Any = self._call.fold(self._kept.all())
        if isinstance(answer, Beside):  # a call of a user's own may fold to anything
            cut = [] if self._complete else [PARTIAL]
            answer = with_notes(answer, [*self._reader.notes, *cut])
        if self._call.convert is not None:
            answer = self._call.convert(answer, None if self._complete else self._error)
        keep_account(answer, self.account)
        if self._complete:
            self._answer = answer
        return cast(Answer, answer)

    def _close(self) -> None:
        self._take(self._reader.close())
        error = self._reader.error
        self._complete = error is None
        if error is None and self._events is not None:
            try:
                self._hand_out(self._events.close(self.partial()))
            except WireError as meant:
                error = meant
        self._end(error)

    def _take(self, chunks: Sequence[Any]) -> None:
        for chunk in chunks:
            self._kept.add(kept_bytes(chunk))
        if self._events is None:
            self._hand_out(chunks)
        else:
            for chunk in chunks:
                self._hand_out(self._events.feed(chunk))

    def _hand_out(self, told: Sequence[Any]) -> None:
        self.ready.extend(told)
        self._handed_out = self._handed_out or bool(told)

    def _end(self, error: WireError | None) -> None:
        self.over = True
        self.account.events = self._kept.count
        self._error = error
        if error is not None:
            self._masked(error)
            error.attempts = error.attempts or self.account.attempts
            error.request_id = error.request_id or self.account.request_id
            if self._kept.count:
                error.partial = self.partial()
                error.retryable = (
                    error.retryable and not self._handed_out
                )  # or a part of the answer was seen
