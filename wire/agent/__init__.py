"""Agents: a model, its tools and its history, run in a loop.

Names are imported on first use: some parts of an agent need no HTTP stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.agent.agent import Agent as Agent
    from wire.agent.agent import AsyncRunStream as AsyncRunStream
    from wire.agent.agent import GeminiAgent as GeminiAgent
    from wire.agent.agent import LLMAgent as LLMAgent
    from wire.agent.agent import RunStream as RunStream
    from wire.agent.config import Config as Config
    from wire.agent.config import LLMConfig as LLMConfig
    from wire.agent.config import load_config as load_config
    from wire.agent.context_cache import AsyncCachedChat as AsyncCachedChat
    from wire.agent.context_cache import CachedChat as CachedChat
    from wire.agent.context_cache import CacheKeeper as CacheKeeper
    from wire.agent.context_cache import CachePolicy as CachePolicy
    from wire.agent.context_cache import keep as keep
    from wire.agent.guard import ATTRACTOR as ATTRACTOR
    from wire.agent.guard import Guard as Guard
    from wire.agent.model import AgentEvent as AgentEvent
    from wire.agent.model import AsyncModel as AsyncModel
    from wire.agent.model import Model as Model
    from wire.agent.saved_runs import dump_run as dump_run
    from wire.agent.saved_runs import load_run as load_run
    from wire.agent.saved_runs import read_run as read_run
    from wire.agent.saved_runs import save_run as save_run
    from wire.agent.steps import RunResult as RunResult
    from wire.agent.steps import RunState as RunState
    from wire.agent.steps import StepRecord as StepRecord
    from wire.agent.steps import Steps as Steps
    from wire.agent.tool_calls import run_calls as run_calls
    from wire.sessions.session_file import Session as Session
    from wire.sessions.session_file import deserialize_message as deserialize_message
    from wire.sessions.session_file import dump_session as dump_session
    from wire.sessions.session_file import load_session as load_session
    from wire.sessions.session_file import read_session as read_session
    from wire.sessions.session_file import save_session as save_session
    from wire.sessions.session_file import serialize_message as serialize_message
    from wire.sessions.transcript import export as export
    from wire.sessions.transcript import save_export as save_export

_NAMES = {
    "wire.agent.agent": ("Agent", "AsyncRunStream", "GeminiAgent", "LLMAgent", "RunStream"),
    "wire.agent.context_cache": (
        "AsyncCachedChat",
        "CacheKeeper",
        "CachePolicy",
        "CachedChat",
        "keep",
    ),
    "wire.agent.guard": ("ATTRACTOR", "Guard"),
    "wire.agent.model": ("AgentEvent", "AsyncModel", "Model"),
    "wire.agent.saved_runs": ("dump_run", "load_run", "read_run", "save_run"),
    "wire.agent.steps": ("RunResult", "RunState", "StepRecord", "Steps"),
    "wire.agent.tool_calls": ("run_calls",),
    "wire.agent.config": ("Config", "LLMConfig", "load_config"),
    "wire.sessions.transcript": ("export", "save_export"),
    "wire.sessions.session_file": (
        "Session",
        "deserialize_message",
        "dump_session",
        "load_session",
        "read_session",
        "save_session",
        "serialize_message",
    ),
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names("wire.agent", _NAMES)
