"""Agents: a model, its tools and its history, run in a loop.

Names are imported on first use: some parts of an agent need no HTTP stack.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.agent.agent": "Agent RunStream",
    "wire.agent.llm_agent": "AsyncRunStream GeminiAgent LLMAgent",
    "wire.chat.cache_health": "CacheLoss",
    "wire.agent.context_cache": "AsyncCachedChat CachedChat CacheKeeper CachePolicy keep",
    "wire.agent.live_session": "AgentLiveSession AsyncAgentLiveSession",
    "wire.agent.guard": "ATTRACTOR Guard",
    "wire.agent.model": "AgentEvent AsyncModel MessageJoined Model",
    "wire.agent.saved_runs": "dump_run load_run read_run save_run",
    "wire.agent.run_state": "begin_run resume_run RunResult RunState StepRecord",
    "wire.agent.steps": "Ask Finished RunCalls Step Steps",
    "wire.agent.tool_calls": "run_calls",
    "wire.agent.config": "Config LLMConfig load_config",
    "wire.sessions.transcript": "export save_export",
    "wire.sessions.session_file": """
        deserialize_message dump_session load_session read_session save_session
        serialize_message Session
    """,
}

__getattr__, __dir__ = lazy_names("wire.agent", _NAMES)
