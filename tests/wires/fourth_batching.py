"""Batches of the smallest wire: one JSON object of requests by id, and one of answers by id.

The module satisfies `wire.neutral.batches.WireBatches`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NoReturn

import msgspec

from tests.wires import fourth_wire
from wire.core.call import Call
from wire.core.flow import Flow, ask
from wire.core.lenient import fields_of
from wire.core.provider import Provider
from wire.errors import ConfigurationError
from wire.neutral.batches import Batch, ResultLine, Upload
from wire.neutral.messages import Media, Message, Reply
from wire.neutral.request import Request

MAX_REQUESTS = 10
MAX_BYTES = 1_000_000


def create_batch(
    calls: Mapping[str, Call[Reply]], model: str, row: Provider, name: str = ""
) -> Flow[Batch]:
    """One request with all bodies. The batch has ended when the server answers."""
    body = msgspec.json.encode({id: msgspec.Raw(call.body) for id, call in calls.items()})
    yield from ask(_plain("POST", "/batches", body))
    return _ended("batch_1", row)


def newest_batch(row: Provider) -> Flow[str]:
    """It has no list."""
    yield from ()
    return ""


def find_batch(name: str, total: int, after: str, row: Provider) -> Flow[Batch | None]:
    """It has no list: a batch without an id is not found."""
    yield from ()
    return None


def get_batch(id: str, row: Provider) -> Flow[Batch]:
    """Every batch has ended."""
    yield from ask(_plain("GET", f"/batches/{id}"))
    return _ended(id, row)


cancel_batch = get_batch


def batch_results(batch: Batch, row: Provider) -> Flow[list[ResultLine]]:
    """The body of each answer by its id."""
    answers = yield from ask(_plain("GET", f"/batches/{batch.id}"))
    return [ResultLine(id, bytes(raw)) for id, raw in fields_of(msgspec.Raw(answers)).items()]


def reply_call(seed: bytes, model: str, row: Provider) -> Call[Reply]:
    """The call of any question: it reads an answer."""
    return fourth_wire.call(Request(messages=(Message.user("?"),)), model, row)


def upload(upload: Upload, model: str, row: Provider) -> Flow[Media]:
    """It has no files."""
    _no_files()


def delete_file(reference: str, row: Provider) -> Flow[object]:
    """It has no files."""
    _no_files()


def file_reference() -> str:
    """It has no files."""
    return "file"


def _no_files() -> NoReturn:
    raise ConfigurationError("files: fourth has none")


def _ended(id: str, row: Provider) -> Batch:
    return Batch(id=id, provider=row.name, status="completed")


_plain = functools.partial(
    Call, "fourth", parse=bytes, read_error=lambda *given: fourth_wire.parse_error(*given)
)
