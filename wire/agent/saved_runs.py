"""A run as a session file, with its state in the metadata.

`dump_run` and `load_run` convert it to bytes and back, `save_run` and `read_run` use a file.

`wire.sessions.read_session` reads it too. While calls of the last turn run, their starts and
results are in a journal beside the file (`run_journal`), which only `read_run` reads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing, suppress
from decimal import Decimal
from typing import Any

import msgspec

from wire.agent.run_journal import (
    JOURNAL,
    Count,
    Saved,
    encoded,
    identity,
    merged,
    opened,
    read_lines,
)
from wire.agent.run_state import Reason, RunState, turn_of
from wire.catalogue.usage import Usage
from wire.core.appended import AppendedFile
from wire.core.arguments import checked_arguments
from wire.core.decoders import convert
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.core.files import read_whole, write_whole
from wire.core.memory import Note, notes, with_notes
from wire.history import Compacted
from wire.sessions.session_file import (
    Session,
    deserialize_message,
    dump_session,
    load_session,
    serialize_message,
    violation,
)

_KEY = "run"


class _SavedFields(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The fields of `RunState` besides the messages."""

    begun: Count
    asked: Count = 0
    tool_only: Count = 0
    repeats: dict[str, Count] = {}
    usage: Usage = Usage()
    spent: Decimal = Decimal(0)
    calls: Count = 0
    started: tuple[str, ...] = ()
    """Ids of open calls whose tools were started."""
    inbox: list[dict[str, Any]] = []
    """Messages that have not joined the run yet."""
    misfits: Count = 0
    compacted: Compacted | None = None
    reason: Reason | None = None
    journal: str = ""
    """The mark of the lines of its journal; empty if it has none."""


@checked_arguments(ConfigurationError)
def dump_run(state: RunState, metadata: Mapping[str, Any] | None = None) -> bytes:
    """Encode the state as the bytes of a session file; `load_run` returns an equal state for them.

    >>> from wire.agent.run_state import begin_run
    >>> from wire.neutral.messages import Message
    >>> state = begin_run([Message.user("Hi")])
    >>> load_run(dump_run(state)) == state
    True

    Raises `RuleError` for a value that has no JSON form.
    """
    return _dumped(state, metadata)


def _dumped(state: RunState, metadata: Mapping[str, Any] | None, journal: str = "") -> bytes:
    saved = _SavedFields(
        begun=state.begun,
        asked=state.asked,
        tool_only=state.tool_only,
        repeats=state.repeats,
        usage=state.usage,
        spent=state.spent,
        calls=state.calls,
        started=state.started,
        inbox=[serialize_message(each) for each in state.inbox],
        misfits=state.misfits,
        compacted=state.compacted,
        reason=state.reason,
        journal=journal,
    )
    try:
        fields = msgspec.to_builtins(saved)
    except TypeError as cause:
        raise RuleError(violations=[Violation("state", str(cause))]) from None
    return dump_session(Session(state.messages, {**(metadata or {}), _KEY: fields}))


@checked_arguments(ConfigurationError)
def save_run(
    path: str | os.PathLike[str], state: RunState, metadata: Mapping[str, Any] | None = None
) -> None:
    """Write a run to a file that only its owner may read, completely or not at all.

    While calls of a turn run, what is new is appended to a journal beside the file, whose name is
    that of the file and `.journal`. `read_run` returns the state that was saved last. The journal
    is removed with the next save of a run without open calls.

    Raises as `dump_run`, and `ConfigurationError` if the file cannot be written; the old file is
    then unchanged.
    """
    turn, target, own = turn_of(state), _target(path), encoded(metadata)
    if turn is not None and turn.saved is not None:
        saved: Saved = turn.saved
        is_there = (saved.target, saved.metadata, saved.identity) == (target, own, identity(target))
        if is_there and (appended := saved.appended(state)) is not None:
            turn.saved = appended
            return
    goes_on = state.reason is None and bool(state.open_calls)
    if turn is None or own is None or not goes_on or (journal := _journal(target)) is None:
        write_whole(path, _dumped(state, metadata), ConfigurationError)
        _remove_journal(target)
        return
    with closing(journal):
        mark = os.urandom(8).hex()
        write_whole(path, _dumped(state, metadata, mark), ConfigurationError)
        journal.cut(0)
    turn.saved = Saved.whole(target, state, own, mark)


def _target(path: str | os.PathLike[str]) -> str:
    """Return the path without symlinks; empty for one that is refused where it is used."""
    try:
        name = os.fsdecode(path)
        return os.path.realpath(name) if name else ""
    except Exception:  # whatever `__fspath__` raises
        return ""


def _journal(target: str) -> AppendedFile | None:
    """Return the journal, with a file on disk; `None` if there cannot be one.

    The run is then saved whole each time.
    """
    try:
        return opened(target) if target else None
    except ConfigurationError:
        return None


def _remove_journal(target: str) -> None:
    """Remove the journal of a run that has no open calls any more, but no other file."""
    if os.path.lexists(target + JOURNAL) and (journal := _journal(target)) is not None:
        journal.close()
        with suppress(OSError):
            os.unlink(target + JOURNAL)


@checked_arguments(ConfigurationError)
def read_run(path: str | os.PathLike[str]) -> RunState:
    """Read a run from a file, with the starts and results in its journal.

    `wire.notes` of it reports lines of an earlier turn, which are left out.

    Raises `ConfigurationError` with the name of the file and the JSON path of the problem, also for
    a journal that is missing or damaged, and for a session without a run, which
    `wire.sessions.read_session` reads.
    """
    target = _target(path)
    while True:
        before = identity(target)
        source, name = read_whole(path, ConfigurationError), os.fsdecode(path)
        state, mark = _loaded(source, name)
        if not mark:
            return state
        lines = read_lines(target)
        if identity(target) == before:  # no other process goes on with the run meanwhile
            break
    journal = target + JOURNAL
    if lines is None:
        raise ConfigurationError(
            f"{journal}: missing: it has the calls that were started since {name} was saved; "
            "without it their tools would run twice"
        )
    whole, others = merged(state, mark, lines, journal)
    left_out = Note("", f"left out: {others:,} lines of an earlier turn in {journal}")
    return with_notes(whole, (*notes(state), *((left_out,) if others else ())))


@checked_arguments(ConfigurationError)
def load_run(source: bytes | str | Mapping[str, Any], name: str = "run") -> RunState:
    """Load the state of a saved run.

    `wire.notes` of it reports what `load_session` reports of its messages.

    Raises `ConfigurationError` with `name` and the JSON path of the value that is not valid, and
    for the file of a run whose calls were under way: `read_run` reads its journal, too.
    """
    state, mark = _loaded(source, name)
    if mark:
        raise ConfigurationError(
            f"{name}: metadata.{_KEY}.journal: calls were under way, and what became of them is in "
            "the journal beside the file: read both with read_run(path)"
        )
    return state


def _loaded(source: bytes | str | Mapping[str, Any], name: str) -> tuple[RunState, str]:
    """Load a state without its journal, and the mark of that."""
    session = load_session(source, name)
    if _KEY not in session.metadata:
        raise ConfigurationError(
            f"{name}: metadata.{_KEY}: missing, this session has no run; to continue it, give "
            "HistoryManager(read_session(path).messages) to an agent as its history"
        )
    try:
        saved: _SavedFields = convert(session.metadata[_KEY], _SavedFields)
    except msgspec.ValidationError as cause:
        raise ConfigurationError(f"{name}: {violation(cause, f'metadata.{_KEY}')}") from None
    if not 0 <= saved.begun <= len(session.messages):
        raise ConfigurationError(
            f"{name}: metadata.{_KEY}.begun: {saved.begun}, but there are "
            f"{len(session.messages)} messages"
        )
    state = RunState(
        messages=session.messages,
        begun=saved.begun,
        asked=saved.asked,
        tool_only=saved.tool_only,
        repeats=saved.repeats,
        usage=saved.usage,
        spent=saved.spent,
        calls=saved.calls,
        started=saved.started,
        inbox=tuple(deserialize_message(each) for each in saved.inbox),
        misfits=saved.misfits,
        compacted=saved.compacted,
        reason=saved.reason,
    )
    return with_notes(state, session.notes), saved.journal
