"""Ollama's own API: types, calls as values, rules.

>>> from wire import ollama
>>> request = ollama.ChatRequest(
...     model="qwen3", messages=[ollama.Message(role="user", content="Hi")]
... )
>>> ollama.chat(request).path
'/api/chat'

Nothing here does I/O or loads an HTTP library. Each name is imported when it is first used, so a
client of another wire does not load the types of this one.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.ollama.dialect": "Dialect",
    "wire.ollama.endpoints": (
        "chat delete_model embed generate list_models list_running pull_model show_model"
        " stream_chat stream_generate stream_pull version"
    ),
    "wire.ollama.capabilities": "model_facts",
    "wire.ollama.error_body": "parse_error render_error",
    "wire.ollama.parse": "EventReader parse_reply",
    "wire.ollama.received": "parse_request",
    "wire.ollama.messages": "parse_message",
    "wire.ollama.replies": "render_reply ReplyWriter",
    "wire.ollama.rendering": "call render_request stream_call",
    "wire.ollama.rows": "endpoint_paths ollama_host ROWS",
    "wire.ollama.rules": "check ModelFacts",
    "wire.ollama.neutral_calls": "count_call decide_call embed_flow models_call",
}
_MODULES = {"types": "wire.ollama.types"}

batching = None
"""The wire has no batches and no uploaded files."""
media_calls = None
"""The wire has no endpoints of images, speech and transcripts."""

__getattr__, __dir__ = lazy_names(
    "wire.ollama", _NAMES, modules=_MODULES, types="wire.ollama.types"
)
