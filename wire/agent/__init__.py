"""Agents: the loop, who is asked by which configuration, and what is kept on disk; and the task that looks after a context cache.

Names are loaded when they are first used: a config or a session needs no HTTP stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.lazy import loading

if TYPE_CHECKING:
    from wire.agent.calls import run_calls as run_calls
    from wire.agent.config import Config as Config
    from wire.agent.config import LLMConfig as LLMConfig
    from wire.agent.config import load_config as load_config
    from wire.agent.context_cache import Keeping as Keeping
    from wire.agent.context_cache import keep as keep
    from wire.agent.export import export as export
    from wire.agent.guard import ATTRACTOR as ATTRACTOR
    from wire.agent.guard import Guard as Guard
    from wire.agent.loop import AgentStream as AgentStream
    from wire.agent.loop import GeminiAgent as GeminiAgent
    from wire.agent.loop import LLMAgent as LLMAgent
    from wire.agent.saved_runs import dump_run as dump_run
    from wire.agent.saved_runs import load_run as load_run
    from wire.agent.sessions import Session as Session
    from wire.agent.sessions import deserialize_message as deserialize_message
    from wire.agent.sessions import dump_session as dump_session
    from wire.agent.sessions import load_session as load_session
    from wire.agent.sessions import read_session as read_session
    from wire.agent.sessions import save_session as save_session
    from wire.agent.sessions import serialize_message as serialize_message
    from wire.agent.steps import RunResult as RunResult
    from wire.agent.steps import RunState as RunState
    from wire.agent.steps import Steps as Steps
    from wire.agent.threads import Agent as Agent
    from wire.agent.threads import RunStream as RunStream

_HOMES = {
    "ATTRACTOR": "guard",
    "Agent": "threads",
    "AgentStream": "loop",
    "Config": "config",
    "GeminiAgent": "loop",
    "Guard": "guard",
    "Keeping": "context_cache",
    "LLMAgent": "loop",
    "LLMConfig": "config",
    "RunResult": "steps",
    "RunState": "steps",
    "RunStream": "threads",
    "Session": "sessions",
    "Steps": "steps",
    "deserialize_message": "sessions",
    "dump_run": "saved_runs",
    "dump_session": "sessions",
    "export": "export",
    "keep": "context_cache",
    "load_config": "config",
    "load_run": "saved_runs",
    "load_session": "sessions",
    "read_session": "sessions",
    "run_calls": "calls",
    "save_session": "sessions",
    "serialize_message": "sessions",
}

__getattr__ = loading("wire.agent", _HOMES)


def __dir__() -> list[str]:
    return sorted([*_HOMES, *globals()])
