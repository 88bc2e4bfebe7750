"""A run as a file, and back: a session whose metadata says where the run stands.

Whatever reads sessions reads it too. While calls of the last turn are open, the last message has
the results of the other ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from wire.agent.steps import Reason, RunState
from wire.core.decoders import convert
from wire.errors import ConfigurationError
from wire.neutral.messages import Usage
from wire.sessions.session_file import Session, dump_session, load_session

_KEY = "run"


class _Kept(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a run knows beside its messages."""

    begun: int
    asked: int = 0
    tool_only: int = 0
    repeats: dict[str, int] = {}
    usage: Usage = Usage()
    started: tuple[str, ...] = ()
    """Ids of open calls whose tools were started."""
    reason: Reason | None = None


def dump_run(state: RunState, metadata: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of a session file that `load_run` makes the same state of.

    Raises `RuleError` for what JSON cannot say.
    """
    kept = _Kept(
        begun=state.begun,
        asked=state.asked,
        tool_only=state.tool_only,
        repeats=state.repeats,
        usage=state.usage,
        started=state.started,
        reason=state.reason,
    )
    return dump_session(
        Session(state.messages, {**(metadata or {}), _KEY: msgspec.to_builtins(kept)})
    )


def load_run(source: bytes | str | Mapping[str, Any], name: str = "run") -> RunState:
    """The state of a saved run.

    Raises `ConfigurationError` with `name` and the JSON path of what is wrong.
    """
    session = load_session(source, name)
    if _KEY not in session.metadata:
        raise ConfigurationError(f"{name}: metadata.{_KEY}: this is a session without a run")
    try:
        kept: _Kept = convert(session.metadata[_KEY], _Kept)
    except msgspec.ValidationError as cause:
        raise ConfigurationError(f"{name}: metadata.{_KEY}: {cause}") from None
    if not 0 <= kept.begun <= len(session.messages):
        raise ConfigurationError(
            f"{name}: metadata.{_KEY}.begun: there are {len(session.messages)} messages, "
            f"not {kept.begun}"
        )
    return RunState(
        messages=session.messages,
        begun=kept.begun,
        asked=kept.asked,
        tool_only=kept.tool_only,
        repeats=kept.repeats,
        usage=kept.usage,
        started=kept.started,
        reason=kept.reason,
    )
