"""The state of one streamed response: decoded chunks, how the stream ended, the bytes to fold.

- A chunk is handed out before an error that arrived after it. The error has the response so far.
- A stream whose last chunk has a finish reason is complete, even if its connection then broke
  (R-01, R-02).
- A stream that its caller left before the end has no result, even if all bytes had arrived (R-22).
- Folding costs time for each event, and a stream may have 200,000. The `partial` of an error is
  folded when somebody reads it (R-45).
- An exception that decoding raises and that is none of this library ends the stream as
  `StreamInvalid` (R-44).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic

import msgspec

from wire.core.account import Account
from wire.core.call import Answer, Chunk, StreamCall
from wire.core.chunk_bytes import ChunkBytes
from wire.core.decoders import decoder
from wire.core.errors import Deferred, StreamIncomplete, WireError, invalid, typed_at_the_end
from wire.core.limits import Inflater, Limits, over
from wire.core.memory import (
    PARTIAL,
    RAW,
    MetadataStruct,
    Note,
    keep_account,
    kept_bytes,
    with_notes,
)

_LEFT = "the stream was left before its end, or closed: partial() is what had arrived"


class Incoming(Generic[Chunk, Answer]):
    """Decodes the bytes of one streamed response: chunks are in `ready`, `over` is its end."""

    __slots__ = (
        "_broken",
        "_call",
        "_chunk_type",
        "_complete",
        "_error",
        "_events",
        "_feed_texts",
        "_folding",
        "_handed_out",
        "_inflater",
        "_kept",
        "_left",
        "_limits",
        "_masked",
        "_most_resumptions",
        "_reader",
        "_result",
        "_resumptions",
        "_size",
        "account",
        "drains",
        "over",
        "ready",
        "resumption",
    )

    def __init__(
        self,
        call: StreamCall[Chunk, Answer],
        encoding: str,
        limits: Limits,
        account: Account,
        masked: Callable[[Any], Any],
        resumptions: int = 0,
        notes: Sequence[Note] = (),
    ) -> None:
        self.ready: list[Chunk] = []
        """Chunks to hand out, the first one last: a deque takes ten times the memory."""
        self.over: bool = False
        self.drains: bool = False
        """Whether the end of the body is still to be read after the wire's terminator. A connection
        can be used again only if its body was read to the end.
        """
        self.resumption: StreamCall[Any, Any] | None = None
        """The call that continues the stream, after a body that is not its last. `reopen` or
        `give_up` follows."""
        self.account = account
        self._call = call
        self._broken: WireError | None = None
        self._resumptions = resumptions  # still allowed before the next chunk
        self._most_resumptions = resumptions
        self._reader = call.reader(limits)
        self._reader.notes.extend(notes)
        self._events = call.events() if call.events is not None else None
        self._handed_out = False
        self._inflater = Inflater(encoding, limits)
        self._limits, self._size = limits, 0
        # A struct takes four times the memory of its bytes, and folding reads the bytes.
        self._kept = ChunkBytes(call.text_chunk, limits)
        self._feed_texts: Any = getattr(self._events, "feed_texts", None)
        self._chunk_type: type[Any] | None = (
            None  # if the reader keeps the bytes of its chunks itself
        )
        if (keep := getattr(self._reader, "keep", None)) is not None:
            self._chunk_type = self._reader.chunk_type  # type: ignore[attr-defined]
            keep(self._kept, gives_texts=self._feed_texts is not None)
            if self._events is None:
                self.ready = _Chunks(self._chunk_type)
        self._folding = _Folding(call, self._kept, self._reader.notes, account, masked)
        self._masked = masked
        self._error: WireError | None = None
        self._complete = self._left = False
        self._result: Answer | None = None

    @property
    def events(self) -> int:
        """Number of chunks decoded so far."""
        return self._kept.count

    @property
    def begun(self) -> bool:
        """Whether a chunk was handed out."""
        return self._handed_out

    @property
    def error(self) -> WireError | None:
        """The error that ended the stream, if any."""
        return self._error

    @property
    def folded(self) -> Answer | None:
        """The result, if it was folded already."""
        return self._result

    def received(self, size: int) -> bytes:
        """Return the chunks so far, one a line: at least `size` bytes, if there are as many.

        The texts of neighbours are joined.
        """
        lines: list[bytes] = []
        for chunk in self._kept.all():
            lines.append(bytes(chunk))
            size -= len(lines[-1])
            if size <= 0:
                break
        return b"\n".join(lines)

    def feed(self, data: bytes) -> bool:
        """Decode received bytes; return True if they completed a chunk."""
        if self.over:
            return False
        try:
            began = self._kept.count
            for content in self._inflater.parts(data):
                left = self._limits.stream - self._size
                self._size += len(content)
                self._take(self._reader.feed(content if len(content) <= left else content[:left]))
                self.account.received = self._inflater.taken
                if self._size > self._limits.stream:
                    raise over("stream", f"the stream is larger than {self._limits.stream} bytes")
        except WireError as error:
            self._end(error)
            return False
        except Exception as cause:
            self._end(invalid(cause, data))
            return False
        if self._reader.error is not None or self._reader.done:
            self._close()
            self.drains = self.over and self._error is None
        return self._kept.count > began

    def end(self) -> None:
        """Process the regular end of the body."""
        if self.over:
            return
        if self._inflater.cut and not self._reader.finished:
            self._break(StreamIncomplete("the compressed body broke off"))
        else:
            self._close()

    def lost(self, error: WireError) -> None:
        """Process an interruption: the connection broke, or a timeout expired."""
        if self.over:
            return
        if self._reader.finished:
            self._close()
        else:
            self._break(error)

    def _break(self, error: WireError) -> None:
        """End the stream with this error, unless another call can continue it."""
        if not self._resumptions or not self._resumes():
            self._end(error)
            return
        self._broken = error
        self._resumptions -= 1

    def _resumes(self) -> bool:
        """Take the call that continues the stream; return whether there is one."""
        if self._call.resume is not None:
            self.resumption = self._call.resume(self._call, self._reader)
        return self.resumption is not None

    def reopen(self, encoding: str) -> None:
        """Continue with the body of the call `resumption`."""
        assert self.resumption is not None
        self._inflater = Inflater(encoding, self._limits)
        self.resumption = None

    @property
    def broke_off(self) -> bool:
        """Whether `resumption` repeats a request whose body broke off."""
        return self._broken is not None

    def give_up(self, error: WireError) -> None:
        """End the stream, because the call `resumption` failed. The error of a break counts."""
        self.resumption = None
        if self._broken is not None:
            self._broken.__context__ = error
        self._end(self._broken or error)

    def give(self, items: Sequence[Any], result: Answer) -> None:
        """End the stream, which has no body, with chunks or events and a result."""
        self._hand_out(items)
        self.over, self._complete, self._result = True, True, result

    def refuse(self, error: WireError) -> None:
        """End a stream that is over with this error, in place of its result or its error."""
        self._complete, self._result = False, None
        self._end(error)

    def abandon(self) -> None:
        """End the stream because its caller left it. No further chunk is handed out.

        The stream then has a result only if all chunks were handed out before. Whether undelivered
        chunks had arrived depends on how the network cut the bytes: a result that depends on such
        chance would pass every test and fail in use.
        """
        if self._error is None and (self.ready or not self.over):
            self._left, self._complete, self._result = True, False, None
            self._end(None)
        self.ready.clear()

    def check(self) -> None:
        """Raise the error that ended the stream, if any."""
        if self._left and self._error is None:
            self._error = self.left()
        if self._error is not None:
            raise self._error

    def left(self) -> WireError:
        """Build the error of a stream that its caller has left."""
        return self._told(StreamIncomplete(_LEFT))

    def result(self) -> Answer:
        """Return the result of a stream that is over, the same object each time.

        Raises as `check`.
        """
        self.ready.clear()
        self.check()
        return self.partial()

    def partial(self) -> Answer:
        """Fold the chunks so far to a response; `PARTIAL` is in its notes if it is incomplete.

        Raises the error of a response that cannot be folded.
        """
        if self._result is not None:
            return self._result
        result: Answer = self._folding.fold(self._complete, self._error)
        if self._complete:
            self._result = result
        return result

    def _close(self) -> None:
        try:
            self._take(self._reader.close())
            error = self._reader.error
            if isinstance(error, StreamIncomplete):
                self._break(error)
                return
            if error is None and getattr(self._reader, "continues", False) and self._resumes():
                self._broken = None
                return
            self._complete = error is None
            if error is None and self._events is not None:
                self._hand_out(self._events.close(self.partial()))
        except WireError as from_response:  # such as a response that was blocked
            error = from_response
        except Exception as cause:
            error = invalid(cause)
        self._end(error)

    def _take(self, chunks: Sequence[Any]) -> None:
        if not chunks:
            return
        self._resumptions = self._most_resumptions
        kind = self._chunk_type
        if kind is None:
            for chunk in chunks:
                self._kept.add(kept_bytes(chunk))
        if self._events is None:
            if len(chunks) == 1 and not self.ready:  # as most networks deliver them
                self.ready.append(chunks[0])
            else:
                self.ready[:0] = reversed(chunks)
            self._handed_out = True
            return
        items: list[Any] = []
        try:
            for chunk in chunks:
                if type(chunk) is list:
                    items += self._feed_texts(chunk)
                else:
                    is_bytes = type(chunk) is bytes
                    whole = _decoded(chunk, kind) if is_bytes and kind is not None else chunk
                    items += self._events.feed(whole)
        finally:
            self._hand_out(items)

    def _hand_out(self, items: Sequence[Any]) -> None:
        if items:
            self.ready[:0] = reversed(items)
            self._handed_out = True

    def _end(self, error: WireError | None) -> None:
        self.over = True
        self.account.events = self._kept.count
        self._error = error
        if error is not None:
            self._told(error)

    def _told(self, error: WireError) -> WireError:
        """Add what is known of the stream to an error."""
        try:
            self._masked(error)
        except Exception as raised:
            typed_at_the_end(raised)
            raise
        error.attempts = error.attempts or self.account.attempts
        error.request_id = error.request_id or self.account.request_id
        if self._result is not None:
            error.partial = self._result
        elif self._kept.count:
            error.partial = Deferred(functools.partial(self._folding.fold, False))
            # The caller has used chunks that were handed out: a retry would repeat them.
            error.retryable = error.retryable and not self._handed_out
        return error


def _decoded(data: bytes, kind: Any) -> Any:
    from wire.core.lenient import decoded  # the readers load it; a client without a call does not

    return decoded(data, kind)


class _Chunks(list[Any]):
    """Chunks to hand out. One that is kept as bytes is decoded when it is taken.

    A read of a fast server holds hundreds of chunks. As structs they would fill the caches of the
    processor, and each collection of garbage would look at them.
    """

    __slots__ = ("_decoder", "_kind")

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self._kind, self._decoder = kind, decoder(kind)

    def pop(self, _: Any = -1) -> Any:
        """Remove the next chunk and return it as a struct."""
        chunk = list.pop(self)
        if type(chunk) is bytes:
            data, raw = chunk, msgspec.Raw(chunk)
            try:
                chunk = self._decoder.decode(data)
            except (ValueError, RecursionError):
                return _decoded(data, self._kind)
            chunk.__dict__[RAW] = raw
        return chunk


class _Folding:
    """Folds the kept bytes. Apart from `Incoming`, so that an error with a deferred `partial` and
    the `Incoming` that raises it do not keep each other alive.
    """

    __slots__ = ("_account", "_convert", "_fold", "_kept", "_masked", "notes")

    def __init__(
        self,
        call: StreamCall[Any, Any],
        kept: ChunkBytes,
        notes: list[Note],
        account: Account,
        masked: Callable[[Any], Any],
    ) -> None:
        self._fold, self._convert = call.fold, call.convert
        self._kept, self.notes, self._account, self._masked = kept, notes, account, masked

    def fold(self, complete: bool, error: WireError | None) -> Any:
        """Fold the chunks so far to a response; `error` is the one that ended the stream."""
        try:
            result: Any = self._fold(self._kept.all())
            if isinstance(result, MetadataStruct):  # a user's call may fold to any type
                result = with_notes(result, [*self.notes, *([] if complete else [PARTIAL])])
            if self._convert is not None:
                result = self._convert(result, None if complete else error)
        except WireError as error:
            self._masked(error)
            raise
        except Exception as cause:
            raise self._masked(invalid(cause)) from cause
        keep_account(self._masked(result), self._account)
        return result
