"""Why a response stopped: its status, and the calls that wait for the client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wire.catalogue.stops import Next, Stop, StopWord, known, stop_word, stopped
from wire.core.lenient import well_formed
from wire.core.memory import Note
from wire.neutral.messages import Part, Text, ToolCall
from wire.openai.responses.types import Item, Response

_WAITS: dict[Next, str] = {
    "run_tools": "run it and send its result, which has no neutral form",
    "ask_user": "ask the user and send the answer, which has no neutral form",
}


def meaning_of(
    status: str | None, incomplete: str | None = None, *, calls: bool = False
) -> StopWord:
    """Return the row of a status; of the reason of an incomplete response.

    >>> meaning_of("incomplete", "max_output_tokens").reason, meaning_of("queued").next
    ('length', 'poll')

    `calls` says whether the output has calls of functions: the status is then `completed` as well.
    """
    return stop_word("responses", incomplete or status, calls=calls)


def stop_of(response: Response, parts: Sequence[Part]) -> tuple[Stop, tuple[Note, ...]]:
    """Return the stop of the reply of a response with these parts, and the notes on it.

    A call without a neutral form that waits for the client is noted; without another call, the
    reply is then no end.
    """
    details, error = response.incomplete_details, response.error
    incomplete = details.reason if details is not None else None
    calls = any(isinstance(part, ToolCall) for part in parts)
    status = response.status or ("completed" if response.output else None)
    row = meaning_of(status, incomplete, calls=calls)
    waiting: list[Note] = []
    for index, kind in _without_result(response.output or ()):
        waiting.append(Note(f"output[{index}]", f"{kind.word} waits: {_WAITS[kind.next]}"))
        row = kind if row.reason == "end" else row
    refusals = "".join(part.text for part in parts if isinstance(part, Text) and part.refusal)
    message = (error.message or "") if error is not None else refusals
    stop, unknown = stopped(row, incomplete or response.status, well_formed(message))
    return stop, (*waiting, *unknown)


def _without_result(items: Sequence[Item]) -> Iterator[tuple[int, StopWord]]:
    """Yield the positions and the rows of calls that the client must run.

    A host runs some of these tools itself; its results are then among the items.
    """
    ran = {each.call_id for each in items if (each.type or "").endswith("_output")} - {None}
    for index, item in enumerate(items):
        kind = known("responses.item", item.type or "")
        if kind is not None and item.execution != "server" and item.call_id not in ran:
            yield index, kind
