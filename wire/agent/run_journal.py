"""The journal of a saved run: what became of the calls of its last turn since it was saved.

`run.json` has the whole run, and `run.json.journal` a line for each start, each result, and each
message that was sent to the run meanwhile. So a result is on its way to the disk for the time of
one short write, and a kill loses at most the line that is being written.

The saved run names its journal by a random mark, and so does each line. Lines with another mark are
those of an earlier turn: the run is saved first, and its journal is emptied after that.

    killed                                       what is read
    before the run is saved                      the old run, with its lines
    before the journal is emptied                the new run; the lines of the old one are left out
    before, or while, a line is written          all lines before it
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec

from wire.agent.on_disk import put_on_disk
from wire.agent.run_state import RunState
from wire.core.appended import AppendedFile, Line, lines_of
from wire.core.decoders import decoder
from wire.core.errors import ConfigurationError, RuleError
from wire.core.files import MAX_FILE_BYTES, open_regular
from wire.core.secret import quoted
from wire.history import with_results
from wire.neutral.messages import Message, ToolResult
from wire.sessions.session_file import deserialize_message, serialize_message, violation

JOURNAL = ".journal"
"""Follows the name of the saved run."""
_BEGINS = b'{"of":"'

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A line: calls that were started, results, or messages that were sent to the run."""

    of: str
    """The mark of the run that was saved before."""
    started: tuple[str, ...] = ()
    """Ids of calls whose tools were started."""
    calls: Count = 0
    """The number of calls whose tools were started in the run, if it is counted."""
    messages: tuple[dict[str, Any], ...] = ()
    """A message of the tools, with the results; others have not joined the run yet."""


class Saved(NamedTuple):
    """What is on disk of a turn: a run that was saved whole, and the lines of its journal."""

    target: str
    """The path of the run, without symlinks."""
    identity: tuple[int, ...]
    """Of the file with the run: another program may have replaced it."""
    metadata: bytes
    mark: str
    size: int
    """Bytes of the journal."""
    started: frozenset[str]
    answered: frozenset[str]
    calls: int
    inbox: int
    """The number of messages that have not joined the run yet."""

    @classmethod
    def whole(cls, target: str, state: RunState, metadata: bytes, mark: str) -> Saved:
        """Describe a run that was just saved, with an empty journal."""
        started, answered = frozenset(state.started), frozenset(_results(state))
        counts = (state.calls, len(state.inbox))
        return cls(target, identity(target), metadata, mark, 0, started, answered, *counts)

    def appended(self, state: RunState) -> Saved | None:
        """Append what is new in a state of the turn; `None` if it has to be saved whole.

        Nothing of it is then in the journal.
        """
        results = _results(state)
        started = frozenset(state.started)
        is_later = self.answered <= results.keys() and self.inbox <= len(state.inbox)
        if not (is_later and self.started <= started | results.keys()):
            return None
        new = [id for id in state.started if id not in self.started]
        answers = tuple(result for id, result in results.items() if id not in self.answered)
        sent = state.inbox[self.inbox :]
        messages = (Message("tool", answers), *sent) if answers else sent
        if not (new or messages or state.calls != self.calls):
            return self
        try:
            saved = tuple(serialize_message(each) for each in messages)
            line = msgspec.json.encode(Entry(self.mark, tuple(new), state.calls, saved)) + b"\n"
            with closing(_file(self.target)) as journal:
                if journal.size != self.size or self.size + len(line) > MAX_FILE_BYTES:
                    return None
                journal.append(line)
        except (ConfigurationError, RuleError):
            return None
        # A result waits for the disk only if no tool runs whose result would wait, too.
        if new or sent or not started:
            put_on_disk(self.target + JOURNAL)
        return self._replace(
            size=journal.size,
            started=self.started | started,
            answered=frozenset(results),
            calls=state.calls,
            inbox=len(state.inbox),
        )


def _results(state: RunState) -> dict[str, ToolResult]:
    return {result.id: result for result in state.messages[-1].tool_results}


def identity(target: str) -> tuple[int, ...]:
    """Return what tells a file from another one at the same path; empty if there is none."""
    try:
        found = os.stat(target)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def opened(target: str) -> AppendedFile:
    """Open the journal of a run, and make it if there is none.

    Raises `ConfigurationError`, also for a file that is no journal.
    """
    journal = _file(target)
    try:
        first = next(journal.lines()).data if journal.size else b""
        if not _BEGINS.startswith(first[: len(_BEGINS)]):
            raise ConfigurationError(f"{journal.path}: exists, and is no journal of a run")
    except BaseException:
        journal.close()
        raise
    return journal


def _file(target: str) -> AppendedFile:
    return AppendedFile(target + JOURNAL, ConfigurationError, changed=ConfigurationError)


# --- reading --------------------------------------------------------------------------------------


def read_lines(target: str) -> list[Line] | None:
    """Read the lines of a journal; `None` if there is no such file."""
    name = target + JOURNAL
    if not os.path.exists(name):
        return None
    with open_regular(name, ConfigurationError) as file:
        return list(lines_of(file))


def merged(state: RunState, mark: str, lines: Iterable[Line], name: str) -> tuple[RunState, int]:
    """Return the state that was saved last: a run with what its journal has.

    A last line that was cut, and lines with another mark, are left out; also returns the number of
    the latter. Raises `ConfigurationError`, with `name` and the number of the line, for one that is
    damaged or of a call that the run does not have.
    """
    calls = {call.id for call in state.open_calls}
    messages, inbox, started, count = state.messages, state.inbox, list(state.started), state.calls
    answered: set[str] = set()
    others = 0
    for line in lines:
        if not line.ends:
            break
        where = f"{name}: line {line.number}"
        entry = _entry(line.data, where)
        if entry.of != mark:
            others += 1
            continue
        said = _messages(entry, where)
        answers = [result for message in said for result in message.tool_results]
        for id in (*entry.started, *(result.id for result in answers)):
            if id not in calls:
                raise ConfigurationError(f"{where}: no call {quoted(id)} is open in the run")
        messages = with_results(messages, [each for each in answers if each.id not in answered])
        answered.update(result.id for result in answers)
        started += (id for id in entry.started if id not in started)
        inbox += tuple(message for message in said if message.role != "tool")
        count = max(count, entry.calls)
    left = tuple(id for id in started if id not in answered)
    fields = {"messages": messages, "inbox": inbox, "started": left, "calls": count}
    return msgspec.structs.replace(state, **fields), others


def _messages(entry: Entry, where: str) -> list[Message]:
    try:
        return [deserialize_message(each) for each in entry.messages]
    except ConfigurationError as cause:
        raise ConfigurationError(f"{where}: {cause.message}") from None


def _entry(line: bytes, where: str) -> Entry:
    try:
        entry: Entry = decoder(Entry).decode(line)
        return entry
    except msgspec.ValidationError as cause:
        raise ConfigurationError(f"{where}: {violation(cause, 'line')}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise ConfigurationError(f"{where}: damaged: {cause}") from None


def encoded(metadata: Mapping[str, Any] | None) -> bytes | None:
    """Return metadata as bytes that can be compared; `None` for what has no JSON form."""
    try:
        return msgspec.json.encode(metadata) if metadata else b""
    except (TypeError, ValueError, RecursionError):
        return None
