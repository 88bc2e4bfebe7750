"""`Batches` and `AsyncBatches`: many requests in one job, and `upload_flow`, for all vendors.

`Chat.batches` and `AsyncChat.batches` have them. What they do is written once, as flows; the
module `batching` of each wire has the vendor's calls.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from wire.core import json_values
from wire.core.arguments import checked_arguments
from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.errors import (
    ConfigurationError,
    NotFoundError,
    RuleError,
    Violation,
    WireError,
    invalid,
    violations_below,
)
from wire.core.flow import Flow
from wire.core.memory import Note, with_notes
from wire.core.polling import PollPolicy, polled
from wire.core.provider import Provider
from wire.core.secret import quoted, type_name
from wire.neutral.batches import Batch, ResultLine, Upload, WireBatches
from wire.neutral.data_source import DataSource
from wire.neutral.media_types import media_type_of
from wire.neutral.messages import Media, Message, Parts, Reply, with_tier
from wire.neutral.request import Request
from wire.wires.contract import WIRES

if TYPE_CHECKING:
    from wire.chat.state import ChatState
    from wire.http.aio import AsyncClient
    from wire.http.client import Client
    from wire.neutral.output import OutputType

Line: TypeAlias = Parts | Message | Sequence[Message] | Request
"""One request of a batch: a prompt, a conversation, or what `Chat.request` returns."""
Results: TypeAlias = dict[str, Reply | WireError]
"""Id of a request to its reply, or to the error that it ended in."""

_TIER = "batch"
"""The tier in the catalogue's prices. Only Anthropic's responses say that they are of a batch."""
EVERY_SECONDS = 30.0
MOST_SECONDS = 86_400.0


class Batches:
    """Batches of one model, for threads: many requests in one job, at a lower price.

    >>> from wire import Chat
    >>> from wire.testing.emulator import EmulatorTransport
    >>> http = EmulatorTransport()
    >>> with Chat("openai:gpt-5.4", api_key="fake-key", http=http) as chat:
    ...     batch = chat.batches.create({"a": "Hello", "b": "Goodbye"})
    ...     ended = chat.batches.wait(batch, every=0.01)
    ...     results = chat.batches.results(ended)
    >>> ended.status, results["b"].text
    ('completed', 'This is an emulator, and no model. You said: Goodbye')

    The settings of the chat apply to all requests.
    """

    def __init__(self, chat: ChatState[Client]) -> None:
        self._chat = chat

    def __repr__(self) -> str:
        return f"Batches({self._chat.provider}:{self._chat.model})"

    @checked_arguments()
    def create(self, requests: Mapping[str, Line], *, output: Any = None) -> Batch:
        """Submit requests by ids of your choice, and return the new batch.

        A request is a prompt, a list of messages, or what `chat.request(...)` returns, which has
        settings of its own. `output` is that of `Chat.ask`, for all requests; give it to `results`
        too.

        Raises `RuleError` with the line and the path of everything that cannot be sent, before
        anything is sent; `ConfigurationError` for a provider without batches.
        """
        return self._chat.client.run(create_flow(self._chat, requests, output))

    @checked_arguments()
    def get(self, batch: str | Batch) -> Batch:
        """Read the state of a batch, by its id from any process."""
        return self._chat.client.run(get_flow(self._chat, batch))

    @checked_arguments()
    def wait(
        self, batch: str | Batch, *, every: float = EVERY_SECONDS, most: float = MOST_SECONDS
    ) -> Batch:
        """Poll a batch until it has ended, and return it, however it ended.

        `every` is the pause between two polls, `most` the sum of the pauses, both in seconds.
        Raises `TotalClock` after `most` seconds of pauses.
        """
        return self._chat.client.run(wait_flow(self._chat, batch, every, most))

    @checked_arguments()
    def results(self, batch: str | Batch, *, output: Any = None) -> Results:
        """Read the results of a batch that has ended, by the ids of the requests.

        The value of a request that failed is its error, not raised. A request that was not answered
        before the batch expired or was cancelled has the code `batch_expired` or `batch_cancelled`,
        where the vendor lists it. With the `output` of `create`, replies have their values.

        Raises `NotFoundError` with the code `batch_not_ended` while the batch runs, and the batch's
        own error if it has no results.
        """
        return self._chat.client.run(results_flow(self._chat, batch, output))

    @checked_arguments()
    def cancel(self, batch: str | Batch) -> Batch:
        """Stop a batch. It may be `cancelling` for some minutes; answered requests stay."""
        return self._chat.client.run(cancel_flow(self._chat, batch))


class AsyncBatches:
    """Batches of one model, for asyncio and trio. As `Batches`."""

    def __init__(self, chat: ChatState[AsyncClient]) -> None:
        self._chat = chat

    def __repr__(self) -> str:
        return f"AsyncBatches({self._chat.provider}:{self._chat.model})"

    @checked_arguments()
    async def create(self, requests: Mapping[str, Line], *, output: Any = None) -> Batch:
        """Submit requests by ids of your choice. As `Batches.create`."""
        return await self._chat.client.run(create_flow(self._chat, requests, output))

    @checked_arguments()
    async def get(self, batch: str | Batch) -> Batch:
        """Read the state of a batch, by its id from any process."""
        return await self._chat.client.run(get_flow(self._chat, batch))

    @checked_arguments()
    async def wait(
        self, batch: str | Batch, *, every: float = EVERY_SECONDS, most: float = MOST_SECONDS
    ) -> Batch:
        """Poll a batch until it has ended. As `Batches.wait`."""
        return await self._chat.client.run(wait_flow(self._chat, batch, every, most))

    @checked_arguments()
    async def results(self, batch: str | Batch, *, output: Any = None) -> Results:
        """Read the results of a batch that has ended. As `Batches.results`."""
        return await self._chat.client.run(results_flow(self._chat, batch, output))

    @checked_arguments()
    async def cancel(self, batch: str | Batch) -> Batch:
        """Stop a batch. As `Batches.cancel`."""
        return await self._chat.client.run(cancel_flow(self._chat, batch))


# --- flows ----------------------------------------------------------------------------------------


def create_flow(chat: ChatState[Any], requests: Mapping[str, Line], output: Any) -> Flow[Batch]:
    """Return a flow that submits a batch. The requests are rendered, and refused, at once."""
    wire = batching_of(chat.row)
    if not isinstance(requests, Mapping):
        raise wrong_type("requests", requests, "mapping of ids to requests")
    if not requests:
        raise RuleError(violations=[Violation("requests", "expected at least one request")])
    calls: dict[str, Call[Reply]] = {}
    violations: list[Violation] = []
    for number, (id, line) in enumerate(requests.items(), 1):
        path = f"requests[{id!r}]"
        try:
            calls[_id(id)] = chat._batch_call(_request(chat, line), output)
        except RuleError as error:
            violations += [
                msgspec.structs.replace(each, message=f"line {number}: {each.message}")
                for each in violations_below(path, error)
            ]
    if len(calls) > wire.MAX_REQUESTS:
        problem = f"{len(calls):,} requests, more than the {wire.MAX_REQUESTS:,} of a batch"
        violations.append(Violation("requests", problem))
    size = sum(len(call.body) for call in calls.values())
    if size > wire.MAX_BYTES:
        problem = f"{size:,} bytes, more than the {wire.MAX_BYTES:,} of a batch"
        violations.append(Violation("requests", problem))
    if violations:
        raise RuleError(violations=violations, provider=chat.provider)
    notes = [
        Note(f"requests[{id!r}].{each.path}", each.message)
        for id, call in calls.items()
        for each in call.notes
    ]
    return _submitted(wire.create_batch(calls, chat.model, chat.row), notes)


def _submitted(flow: Flow[Batch], notes: list[Note]) -> Flow[Batch]:
    return with_notes((yield from flow), notes)


def _id(id: object) -> str:
    if not isinstance(id, str) or not id or not id.isprintable():
        raise RuleError(
            violations=[Violation("", f"expected a printable text as id, not {quoted(id)}")]
        )
    return id


def _request(chat: ChatState[Any], line: Any) -> Request:
    if isinstance(line, Request):
        return line
    is_list = isinstance(line, (list, tuple)) and line
    if isinstance(line, Message) or (is_list and all(isinstance(x, Message) for x in line)):
        return chat.request(messages=line)
    return chat.request(line)


def get_flow(chat: ChatState[Any], batch: str | Batch) -> Flow[Batch]:
    """Return a flow that reads the state of a batch."""
    return batching_of(chat.row).get_batch(_batch_id(chat, batch), chat.row)


def cancel_flow(chat: ChatState[Any], batch: str | Batch) -> Flow[Batch]:
    """Return a flow that stops a batch."""
    return batching_of(chat.row).cancel_batch(_batch_id(chat, batch), chat.row)


def wait_flow(chat: ChatState[Any], batch: str | Batch, every: float, most: float) -> Flow[Batch]:
    """Return a flow that polls a batch until it has ended."""
    id = _batch_id(chat, batch)
    return polled(id, functools.partial(get_flow, chat, id), _pending, PollPolicy(every, most))


def _pending(batch: Batch) -> str | None:
    return None if batch.ended else batch.status


def results_flow(chat: ChatState[Any], batch: str | Batch, output: Any) -> Flow[Results]:
    """Return a flow that reads the results of a batch. A wrong `output` is refused at once."""
    wire = batching_of(chat.row)
    id = _batch_id(chat, batch)
    output_type = None
    if output is not None:
        from wire.neutral.output import OutputType  # many batches ask for no output

        output_type = OutputType(output)
    return _read_results(chat, wire, id, batch, output_type)


def _read_results(
    chat: ChatState[Any],
    wire: WireBatches,
    id: str,
    batch: str | Batch,
    output_type: OutputType | None,
) -> Flow[Results]:
    if not isinstance(batch, Batch) or not batch.ended:
        batch = yield from get_flow(chat, id)
    if not batch.ended:
        raise NotFoundError(
            f"{id} has no results yet: it is {batch.status}",
            code="batch_not_ended",
            provider=chat.provider,
            retryable=True,
        )
    return {
        line.id: read_result(chat, id, line, output_type)
        for line in (yield from wire.batch_results(batch, chat.row))
    }


def read_result(
    chat: ChatState[Any], batch: str, line: ResultLine, output_type: OutputType | None
) -> Reply | WireError:
    """Read the reply of one request of a batch, or its error.

    Ids of calls are the same in each process that reads it.
    """
    error = line.error
    if error is None:
        id = f"{batch} {line.id}".encode()
        call = batching_of(chat.row).reply_call(id, chat.model, chat.row)
        try:
            reply = with_tier(call.parse(line.body), _TIER)
            if output_type is None:
                return reply
            from wire.neutral.output_calls import read_output

            return read_output(reply, output_type)
        except WireError as problem:
            error = problem
        except Exception as cause:
            error = invalid(cause, line.body)
    error.provider = error.provider or chat.provider
    return error


def _batch_id(chat: ChatState[Any], batch: str | Batch) -> str:
    if not isinstance(batch, str | Batch):
        raise ConfigurationError(f"batch: expected a Batch or its id, not {type_name(batch)}")
    if isinstance(batch, Batch):
        if batch.provider.partition("@")[0] != chat.row.family:
            raise ConfigurationError(
                f"batch: {batch.id} is one of {batch.provider}, and the chat one of {chat.provider}"
            )
        return batch.id
    if not batch:
        raise ConfigurationError("batch: expected a Batch or its id, not an empty text")
    return batch


def batching_of(row: Provider) -> WireBatches:
    """Return the module `batching` of the provider's wire."""
    batching = WIRES[row.wire].batching
    if batching is None:
        raise ConfigurationError(f"batches: {row.name} has neither batches nor files")
    return batching


# --- files ----------------------------------------------------------------------------------------


def upload_flow(
    chat: ChatState[Any], data: Any, *, media_type: str, name: str, size: int | None
) -> Flow[Media]:
    """Return a flow that uploads a file.

    Its type is refused at once if the model does not take it.
    """
    wire = batching_of(chat.row)
    for parameter, text in (("media_type", media_type), ("name", name)):
        if not isinstance(text, str):
            raise wrong_type(parameter, text, "text")
    source = DataSource(data, size)
    shown = name or source.name or ""
    kind = (media_type or media_type_of(shown) or source.media_type).lower()
    kind = kind.partition(";")[0].strip()
    if not kind:
        problem = "the media type is unknown"
        raise RuleError(violations=[Violation("media_type", problem, remedy="give media_type")])
    extension = kind.rpartition("/")[2].rpartition("+")[0] or kind.rpartition("/")[2]
    media = Media(url=wire.file_reference(), media_type=kind)
    try:
        chat._batch_call(chat.request(media), None)
    except RuleError as error:
        violations = [Violation("media_type", each.message, each.rule) for each in error.violations]
        raise RuleError(violations=violations, provider=chat.provider) from None
    upload = Upload(data, size, shown or f"file.{extension}", kind)
    return wire.upload(upload, chat.model, chat.row)


def delete_flow(chat: ChatState[Any], file: str | Media) -> Flow[None]:
    """Return a flow that deletes an uploaded file."""
    reference = file.url if isinstance(file, Media) else file
    if not isinstance(reference, str) or not reference:
        raise ConfigurationError("file: expected what upload returned, or its url")
    json_values.checked(reference, "file")
    yield from batching_of(chat.row).delete_file(reference, chat.row)
