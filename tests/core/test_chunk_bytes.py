"""Bytes of chunks: neighbours that differ in their text alone are kept as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from wire.core.chunk_bytes import ChunkBytes, RawValue


class Token(msgspec.Struct, forbid_unknown_fields=True):
    """A chunk of a wire that has texts, channels and a count."""

    changing: ClassVar[Mapping[str, Any]] = {"count": msgspec.Raw}
    latest_key: ClassVar[str] = "count"

    text: str
    channel: str = ""
    count: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    def split(self) -> tuple[tuple[str], RawValue]:
        """The text and the count."""
        values = (self.text,), self.count
        self.text, self.count = "", msgspec.UNSET
        return values

    def joined(self, columns: Sequence[list[str]], latest: RawValue) -> bytes:
        """The chunk with these texts, joined, and this count."""
        return msgspec.json.encode(Token("".join(columns[0]), self.channel, latest))

    def text_key(self, position: int) -> str:
        """The key of the text."""
        return "text"


def kept(*chunks: bytes, text_chunk: type[Token] | None = Token) -> list[bytes]:
    """What is kept of these chunks."""
    all_bytes = ChunkBytes(text_chunk)
    for chunk in chunks:
        all_bytes.add(msgspec.Raw(chunk))
    assert all_bytes.count == len(chunks)
    return [bytes(each) for each in all_bytes.all()]


def test_neighbours_become_one_with_the_last_count() -> None:
    chunks = b'{"text":"a","count":1}', b'{"text":"b"}', b'{"text":"c","count":3}', b'{"text":"d"}'
    assert kept(*chunks) == [b'{"text":"abcd","channel":"","count":3}']


def test_one_chunk_alone_keeps_its_bytes() -> None:
    assert kept(b' { "text" : "a" } ') == [b' { "text" : "a" } ']


def test_another_channel_begins_anew() -> None:
    chunks = b'{"text":"a"}', b'{"text":"b","channel":"x"}', b'{"text":"c","channel":"x"}'
    assert kept(*chunks) == [b'{"text":"a"}', b'{"text":"bc","channel":"x"}']


def test_chunks_of_other_kinds_keep_their_bytes_and_their_place() -> None:
    other = b'{"text":"b", "new":1}'
    text, half, latin = b'{"text":"a"}', b'{"text":"\\ud83d"}', b'{"text":"\xe9"}'
    for odd in (other, half, latin, b"null", b"{", b'{"count":' + b"[" * 2000 + b"]" * 2000 + b"}"):
        assert kept(text, odd, odd, text, text) == [
            text,
            odd,
            odd,
            b'{"text":"aa","channel":""}',
        ]


def test_reading_between_chunks_changes_nothing() -> None:
    all_bytes = ChunkBytes(Token)
    seen = []
    for text in "abc":
        all_bytes.add(msgspec.Raw(b'{"text":"%s"}' % text.encode()))
        seen.append([bytes(each) for each in all_bytes.all()])
    assert seen == [
        [b'{"text":"a"}'],
        [b'{"text":"ab","channel":""}'],
        [b'{"text":"abc","channel":""}'],
    ]


def test_a_wire_without_text_chunks_keeps_all() -> None:
    chunks = b'{"text":"a"}', b'{"text":"b"}'
    assert kept(*chunks, text_chunk=None) == [*chunks]


def test_no_chunk_is_none_to_fold() -> None:
    assert kept() == []
