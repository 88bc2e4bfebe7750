"""Embeddings for all vendors: texts in, vectors out, in as many requests as the host's limits need.

Each wire converts a batch of texts to a call. This module has the values, the batches, and the flow
that sends one batch after the other.
"""

from __future__ import annotations

import array
import base64
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from wire.catalogue.usage import Usage
from wire.core import json_values
from wire.core.arguments import items_of, whole_number
from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.errors import RuleError, StreamInvalid, Violation, WireError
from wire.core.flow import Flow, ask
from wire.core.memory import MetadataStruct, Note
from wire.core.secret import quoted
from wire.neutral.conversion import converted
from wire.neutral.unread import Unread

A = TypeVar("A")

TASKS = (
    "query",
    "document",
    "similarity",
    "classification",
    "clustering",
    "question",
    "fact",
    "code",
)
"""The purposes of vectors: `query` and `document` of a search; `question`, `fact` and `code` are
queries for answers, for evidence and for code."""


class EmbedRequest(MetadataStruct, frozen=True):
    """Texts to embed, and how; one text alone is a list of one.

    >>> EmbedRequest("Hi", task="query").texts
    ('Hi',)

    Raises `RuleError` for no text, an empty one, and one that JSON cannot represent; for
    `dimensions` below 1; for an unknown task.
    """

    texts: tuple[str, ...]
    """Texts to embed: at least one, none empty. Stored as a tuple."""
    dimensions: int | None = None
    """Number of dimensions of each vector. By default, as many as the model has."""
    task: str | None = None
    """One of `TASKS`."""

    def __post_init__(self) -> None:
        given = (self.texts,) if isinstance(self.texts, str) else items_of("texts", self.texts)
        if not given:
            raise RuleError(violations=[Violation("texts", "expected at least one text")])
        for index, text in enumerate(given):
            if not isinstance(text, str):
                raise wrong_type(f"texts[{index}]", text, "text")
            if not text:
                raise RuleError(
                    violations=[Violation(f"texts[{index}]", "expected a text that is not empty")]
                )
            if not text.isascii():
                json_values.checked(text, f"texts[{index}]")
        if self.dimensions is not None:
            whole_number("dimensions", self.dimensions, least=1)
        if self.task is not None and not (isinstance(self.task, str) and self.task in TASKS):
            known = ", ".join(TASKS)
            raise RuleError(
                violations=[Violation("task", f"expected one of {known}, not {quoted(self.task)}")]
            )
        msgspec.structs.force_setattr(self, "texts", given)


class Embeddings(MetadataStruct, frozen=True):
    """Vectors of texts, in the order of the texts. It can be iterated over and indexed.

    >>> embeddings = Embeddings(([0.6, 0.8], [0.0, 1.0]), usage=Usage(input=4, total=4))
    >>> len(embeddings), embeddings[0], [vector[1] for vector in embeddings]
    (2, [0.6, 0.8], [0.8, 1.0])
    """

    vectors: tuple[list[float], ...]
    """One for each text."""
    model: str = ""
    """The model that answered, if the host names it."""
    usage: Usage | None = None
    """Tokens of all requests; `None` if the host counts none."""
    notes: tuple[Note, ...] = ()
    """Notes on what was changed or not sent."""

    def __len__(self) -> int:
        return len(self.vectors)

    def __iter__(self) -> Iterator[list[float]]:
        return iter(self.vectors)

    def __getitem__(self, index: int) -> list[float]:
        return self.vectors[index]


class ReceivedEmbed(msgspec.Struct, frozen=True, kw_only=True):
    """The request of a client for embeddings, and the form of the vectors that it wants."""

    request: EmbedRequest | None
    """The request for the model; `None` if something is refused."""
    unread: Unread
    """What has no neutral form, and what no model of another API can be asked for."""
    packed: bool = False
    """Whether the client wants vectors as base64."""
    single: bool = False
    """Whether the client wants one vector that is in no list."""


def batches(
    texts: Sequence[str], most: int, most_tokens: int = 0, tokens_of: Callable[[str], int] = len
) -> Iterator[tuple[str, ...]]:
    """Split texts into batches of at most `most` texts and `most_tokens` tokens, in order. 0 tokens
    mean no limit.

    >>> list(batches(["a", "bb", "c", "d"], 2, 2))
    [('a',), ('bb',), ('c', 'd')]

    A text that has too many tokens alone is a batch of its own: the host decides about it.
    """
    batch: list[str] = []
    total = 0
    for text in texts:
        tokens = tokens_of(text) if most_tokens else 0
        if batch and (len(batch) == most or total + tokens > most_tokens):
            yield tuple(batch)
            batch, total = [], 0
        batch.append(text)
        total += tokens
    yield tuple(batch)


def embeddings_call(
    call: Call[A], count: int, convert: Callable[[A], Embeddings]
) -> Call[Embeddings]:
    """Make a call of a wire return the embeddings of `count` texts.

    The call raises `StreamInvalid` for a response with another number of vectors, or with one that
    has no numbers.
    """
    return converted(call, functools.partial(_counted, convert, count))


def _counted(convert: Callable[[A], Embeddings], count: int, response: A) -> Embeddings:
    embeddings = convert(response)
    if len(embeddings) != count:
        raise StreamInvalid(f"expected {count} vectors, not {len(embeddings)}")
    for index, vector in enumerate(embeddings):
        if not vector:
            raise StreamInvalid(f"vector {index} has no numbers")
    return embeddings


def embedded(calls: Iterable[Call[Embeddings]], notes: Iterable[Note] = ()) -> Flow[Embeddings]:
    """Send the calls one after the other, and return the embeddings of all.

    An error has the embeddings of the calls before it as its `partial`.
    """
    vectors: list[list[float]] = []
    done = Embeddings((), notes=tuple(notes))
    for call in calls:
        try:
            part = yield from ask(call)
        except WireError as error:
            if vectors:
                error.partial = msgspec.structs.replace(done, vectors=tuple(vectors))
            raise
        vectors += part
        usage = part.usage if done.usage is None else done.usage + part.usage
        done = Embeddings((), part.model or done.model, usage, done.notes)
    return msgspec.structs.replace(done, vectors=tuple(vectors))


def packed(vector: Sequence[float]) -> str:
    """Encode a vector as `unpacked` decodes it.

    >>> packed([1.0, -2.0])
    'AACAPwAAAMA='
    """
    values = array.array("f", vector)
    if sys.byteorder == "big":
        values.byteswap()
    return base64.b64encode(values.tobytes()).decode()


def unpacked(text: str) -> list[float]:
    """Decode a vector from base64 of little-endian 32-bit floats, the format of OpenAI.

    >>> unpacked("AACAPwAAAMA=")
    [1.0, -2.0]

    Raises `StreamInvalid` for another text.
    """
    values = array.array("f")
    try:
        values.frombytes(base64.b64decode(text, validate=True))
    except ValueError:
        raise StreamInvalid("a vector is not base64 of 32-bit floats") from None
    if sys.byteorder == "big":
        values.byteswap()
    return values.tolist()
