"""A run as a session file, with its state in the metadata.

`dump_run` and `load_run` convert it to bytes and back, `save_run` and `read_run` use a file.

`wire.sessions.read_session` reads it too. While calls of the last turn are open, the last message
has the results of the other calls.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, TypeAlias

import msgspec

from wire.agent.run_state import Reason, RunState
from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.core.decoders import convert
from wire.core.errors import ConfigurationError
from wire.core.files import read_whole, write_whole
from wire.core.memory import with_notes
from wire.sessions.session_file import Session, dump_session, load_session, violation

_KEY = "run"


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


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
    reason: Reason | None = None


@checked_arguments(ConfigurationError)
def dump_run(state: RunState, metadata: Mapping[str, Any] | None = None) -> bytes:
    """Encode the state as the bytes of a session file; `load_run` returns an equal state for them.

    >>> from wire.agent.steps import begun
    >>> from wire.neutral.messages import Message
    >>> state = begun([Message.user("Hi")])
    >>> load_run(dump_run(state)) == state
    True

    Raises `RuleError` for a value that has no JSON form.
    """
    saved = _SavedFields(
        begun=state.begun,
        asked=state.asked,
        tool_only=state.tool_only,
        repeats=state.repeats,
        usage=state.usage,
        spent=state.spent,
        calls=state.calls,
        started=state.started,
        reason=state.reason,
    )
    return dump_session(
        Session(state.messages, {**(metadata or {}), _KEY: msgspec.to_builtins(saved)})
    )


@checked_arguments(ConfigurationError)
def save_run(
    path: str | os.PathLike[str], state: RunState, metadata: Mapping[str, Any] | None = None
) -> None:
    """Write a run to a file that only its owner may read, completely or not at all.

    Raises as `dump_run`, and `ConfigurationError` if the file cannot be written; the old file is
    then unchanged.
    """
    write_whole(path, dump_run(state, metadata), ConfigurationError)


@checked_arguments(ConfigurationError)
def read_run(path: str | os.PathLike[str]) -> RunState:
    """Read a run from a file.

    Raises `ConfigurationError` with the name of the file and the JSON path of the problem, also for
    a session without a run, which `wire.sessions.read_session` reads.
    """
    return load_run(read_whole(path, ConfigurationError), os.fsdecode(path))


@checked_arguments(ConfigurationError)
def load_run(source: bytes | str | Mapping[str, Any], name: str = "run") -> RunState:
    """Load the state of a saved run.

    `wire.notes` of it reports what `load_session` reports of its messages.

    Raises `ConfigurationError` with `name` and the JSON path of the value that is not valid.
    """
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
        reason=saved.reason,
    )
    return with_notes(state, session.notes)
