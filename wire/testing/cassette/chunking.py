"""Cuts the bytes of a response into other chunks than they were recorded in (C-32).

- `recorded`: the chunks that were received if their lengths are recorded, else one for each event
- `one`: the body as one chunk
- `bytes:N`: chunks of N bytes
- `split:K`: two chunks, of which the first has K bytes
- `seed:N`: chunks of 1 to 32 bytes, the same for the same seed

A chunk never contains a pause: what is on both sides of one stays apart.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from wire.core.errors import ConfigurationError
from wire.core.secret import quoted
from wire.testing.cassette.pieces import Pause

_KINDS = ("recorded", "one", "bytes:N", "split:K", "seed:N")
_LONGEST = 32
"""Bytes of a chunk of `seed:N`: shorter than an event, so that most events are cut."""

_Other = TypeVar("_Other")


class Chunking(NamedTuple):
    """How bytes are cut into chunks."""

    kind: str = "recorded"
    number: int = 0

    def __str__(self) -> str:
        return self.kind if self.kind in _KINDS else f"{self.kind}:{self.number}"

    def cut(self, pieces: Iterable[bytes | _Other]) -> list[bytes | _Other]:
        """Cut the same bytes into other chunks; pieces that are not bytes stay at their places."""
        given = list(pieces)
        if self.kind == "recorded":
            return given
        lengths = random.Random(self.number)
        cut: list[bytes | _Other] = []
        run: list[bytes] = []
        position = 0

        def close_run() -> None:
            nonlocal position
            data = b"".join(run)
            run.clear()
            begin = 0
            while begin < len(data):
                if self.kind == "bytes":
                    end = begin + self.number
                elif self.kind == "seed":
                    end = begin + lengths.randint(1, _LONGEST)
                elif self.kind == "split" and begin < self.number - position < len(data):
                    end = self.number - position
                else:
                    end = len(data)
                cut.append(data[begin:end])
                begin = end
            position += len(data)

        for piece in given:
            if isinstance(piece, bytes):
                run.append(piece)
            else:
                close_run()
                cut.append(piece)
        close_run()
        return cut


RECORDED = Chunking()


def as_received(events: Sequence[bytes | Pause], lengths: Sequence[int]) -> list[bytes | Pause]:
    """Cut the bytes at the recorded lengths; return the events if these are of another body.

    >>> as_received([b"abc", b"de"], [1, 4])
    [b'a', b'bcde']
    """
    data = b"".join(each for each in events if isinstance(each, bytes))
    if not lengths or sum(lengths) != len(data):
        return [*events]
    ends = itertools.accumulate(lengths)
    return [data[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def paced(chunks: Sequence[bytes | Pause], times: Sequence[int]) -> list[bytes | Pause]:
    """Put the recorded pause before each chunk.

    If there are more or fewer chunks than times, as in an edited or decoded body, the times are
    spread over the chunks, and the whole takes as long as it did.

    >>> paced([b"a", b"b"], [40, 1000, 10])
    [Pause(seconds=1.04), b'a', Pause(seconds=0.01), b'b']
    """
    if not times:
        return [*chunks]
    ends = [0, *itertools.accumulate(times)]
    result: list[bytes | Pause] = []
    done = 0
    for number, chunk in enumerate(chunks, 1):
        end = ends[-(-number * len(times) // len(chunks))]
        result += Pause((end - done) / 1000), chunk
        done = end
    return result


def chunking_of(text: str) -> Chunking:
    """Parse the text of a chunking.

    >>> chunking_of("bytes:2").cut([b"abc", b"de"])
    [b'ab', b'cd', b'e']

    Raises `ConfigurationError` for another text.
    """
    kind, _, number = text.partition(":")
    if text in ("recorded", "one"):
        return Chunking(text)
    least = 0 if kind == "seed" else 1
    is_number = number.isascii() and number.isdecimal() and len(number) <= 18
    if kind in ("bytes", "split", "seed") and is_number and int(number) >= least:
        return Chunking(kind, int(number))
    remedy = "; `every` is for wire.testing.sweep()" if text == "every" else ""
    raise ConfigurationError(
        f"chunks: expected one of {', '.join(_KINDS)}, not {quoted(text)}{remedy}"
    )
