"""No exception of another kind than `WireError` comes out of a response, whatever raises it (R-36,
R-44), and folding waits until somebody asks (R-45)."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec
import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive
from tests.http.loopback import LAST, STREAM, event, loopback, text, whole
from tests.joined import joined
from wire import Account, errors, gemini, notes
from wire.core.incoming import Incoming
from wire.core.limits import Limits
from wire.core.memory import PARTIAL
from wire.core.retry import NONE
from wire.errors import StreamIncomplete, StreamInvalid
from wire.gemini.fold import fold
from wire.gemini.reader import ChunkReader

ANSWER = whole(text("Hello.", "STOP"))
EVENTS = [STREAM, event(text("Hel")), event(text("lo.", "STOP")), LAST]


class Foreign(Exception):
    """Of no library."""


def broken(*_: Any) -> Any:
    raise Foreign("not expected")


class BrokenReader(ChunkReader):
    """Raises at its second chunk, which the server sends after it has read the first."""

    first_was_read: ClassVar[threading.Event]

    def follow(self, chunk: gemini.GenerateContentResponse) -> None:
        super().follow(chunk)
        if self.count == 2:
            broken()
        self.first_was_read.set()


class BrokenClose(ChunkReader):
    """Raises at the end of the body."""

    def close(self) -> list[gemini.GenerateContentResponse]:
        return broken()  # type: ignore[no-any-return]


class BrokenEvents:
    """Raises at a chunk, or at the end."""

    def __init__(self, at: str) -> None:
        self._at = at

    def feed(self, chunk: Any) -> Sequence[Any]:
        if self._at == "feed" and chunk.text == "lo.":
            broken()
        return [chunk]

    def close(self, answer: Any) -> Sequence[Any]:
        return broken() if self._at == "close" else ()  # type: ignore[no-any-return]


def failed(work: Callable[[], Any]) -> errors.WireError:
    with pytest.raises(errors.WireError) as caught:
        work()
    return caught.value


def is_the_net(error: errors.WireError | None) -> None:
    assert type(error) is StreamInvalid
    assert isinstance(error.__cause__, Foreign)
    assert error.__cause__.__traceback__ is None  # frames may hold a key
    assert "Foreign('not expected') in broken, test_foreign.py:" in error.message
    assert not error.retryable


@pytest.mark.parametrize("hook", ["parse", "read_headers"])
def test_a_hook_of_a_plain_call_that_raises(drive: Drive, hook: str) -> None:
    """R-36, R-44: the error has the body and the cause."""
    call = msgspec.structs.replace(CALL, **{hook: broken})  # type: ignore[arg-type]
    with loopback(lambda *_: [ANSWER]) as server:
        error = failed(lambda: drive.send(call, base_url=server.url))
    is_the_net(error)
    assert error.raw == ANSWER.partition(b"\r\n\r\n")[2]
    assert error.attempts == 1


def test_an_error_body_that_cannot_be_decoded(drive: Drive) -> None:
    """R-36: the status decides the class and the retry."""
    call = msgspec.structs.replace(CALL, read_error=broken)
    with loopback(lambda *_: [whole({"a": 1}, 503)]) as server:
        error = failed(lambda: drive.send(call, base_url=server.url, retry=NONE))
    assert type(error) is errors.OverloadedError
    assert (error.status, error.retryable, error.raw) == (503, True, b'{"a": 1}')
    assert isinstance(error.__cause__, Foreign)
    assert error.__cause__.__traceback__ is None


@joined(
    ("hooks", "texts"),
    [
        ({"reader": BrokenReader}, ["Hel"]),
        ({"reader": BrokenClose}, ["Hel", "lo."]),
        ({"events": lambda: BrokenEvents("feed")}, ["Hel"]),
        ({"events": lambda: BrokenEvents("close")}, ["Hel", "lo."]),
    ],
    ids=["reader.feed", "reader.close", "events.feed", "events.close"],
)
def test_a_hook_of_a_stream_that_raises(
    drive: Drive, hooks: dict[str, Any], texts: list[str]
) -> None:
    """R-36, R-44: what arrived before is handed out, and is the partial result."""
    call = msgspec.structs.replace(STREAM_CALL, **hooks)
    BrokenReader.first_was_read = go = threading.Event()
    if "reader" not in hooks or hooks["reader"] is not BrokenReader:
        go.set()
    with loopback(lambda *_: [*EVENTS[:2], go, *EVENTS[2:]]) as server:
        got = drive.read(call, base_url=server.url)
    assert got.texts == texts
    is_the_net(got.error)
    assert got.error is not None
    assert got.error.partial.text in ("Hel", "Hello.")


@pytest.mark.parametrize("hook", ["fold", "convert"])
def test_a_fold_that_raises(drive: Drive, hook: str) -> None:
    """R-36: an error of `result()`; the error of a stream loses its partial, and says so."""
    call = msgspec.structs.replace(STREAM_CALL, **{hook: broken})  # type: ignore[arg-type]
    with loopback(lambda *_: EVENTS) as server:
        is_the_net(
            failed(lambda: drive.session(lambda door: door.result(call), base_url=server.url))
        )
    with loopback(lambda *_: [*EVENTS[:2], "close"]) as server:
        error = failed(lambda: drive.session(lambda door: door.result(call), base_url=server.url))
    assert isinstance(error, StreamIncomplete | errors.ConnectionLost)
    assert error.partial is None
    assert "Foreign('not expected')" in error.__notes__[0]


def counted(folds: list[int]) -> Any:
    def counting(chunks: Sequence[Any]) -> Any:
        folds.append(len(chunks))
        return fold(chunks)

    return msgspec.structs.replace(STREAM_CALL, fold=counting)


def test_the_partial_of_an_error_is_folded_when_it_is_read(drive: Drive) -> None:
    """R-45: once, with all chunks, also by a copy and a pickle."""
    folds: list[int] = []
    with loopback(lambda *_: [*EVENTS[:2], "close"]) as server:
        error = failed(
            lambda: drive.session(lambda door: door.result(counted(folds)), base_url=server.url)
        )
    assert folds == []
    again = pickle.loads(pickle.dumps(error))
    assert folds == [1]
    assert copy.copy(error).partial is error.partial
    assert folds == [1]
    assert again.partial == error.partial
    assert error.partial.text == "Hel"
    assert PARTIAL in notes(error.partial)


def incoming(folds: list[int]) -> Incoming[Any, Any]:
    """A stream that has received one chunk."""
    account = Account(attempts=1)
    made: Incoming[Any, Any] = Incoming(counted(folds), "", Limits(), account, lambda error: error)
    assert made.feed(b"data: " + json.dumps(text("Hel")).encode() + b"\n\n")
    return made


def test_leaving_a_stream_early_folds_nothing() -> None:
    """R-45: not before the partial result of the error is read."""
    folds: list[int] = []
    stream = incoming(folds)
    stream.abandon()
    error = failed(stream.result)
    assert isinstance(error, StreamIncomplete)
    assert folds == []
    assert error.partial.text == "Hel"
    assert folds == [1]


def test_an_error_with_a_partial_is_freed_at_once() -> None:
    """Its chunks may be 256 MiB: they must not wait for the garbage collector."""
    stream = incoming([])
    error = errors.ConnectionLost("gone")
    stream.lost(error)
    freed = weakref.ref(error)
    gc.disable()
    try:
        del stream, error
        assert freed() is None
    finally:
        gc.enable()
