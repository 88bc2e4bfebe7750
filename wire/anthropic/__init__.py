"""Anthropic's Messages API, which other vendors offer too: types, calls as values, rules.

>>> from wire import anthropic
>>> request = anthropic.MessageRequest(
...     model="claude-opus-4-8",
...     max_tokens=100,
...     messages=[anthropic.Message(role="user", content="Hi")],
... )
>>> anthropic.create_message(request).path
'/messages'

Nothing here does I/O or loads an HTTP library. Each name is imported when it is first used, so a
client of another wire does not load the types of this one.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.anthropic.batches": """
        batch_results cancel_batch create_batch delete_batch get_batch list_batches
    """,
    "wire.anthropic.dialect": "Dialect",
    "wire.anthropic.endpoints": "count_tokens create_message get_model list_models stream_message",
    "wire.anthropic.error_body": "parse_error render_error",
    "wire.anthropic.files": "delete_file download_file get_file list_files upload_file",
    "wire.anthropic.parse": "EventReader parse_reply",
    "wire.anthropic.received": "parse_request",
    "wire.anthropic.parts": "parse_message",
    "wire.anthropic.replies": "render_reply ReplyWriter",
    "wire.anthropic.rendering": "call render_request stream_call",
    "wire.anthropic.rows": "endpoint_paths messages_host ROWS",
    "wire.anthropic.rules": "check",
    "wire.anthropic.neutral_calls": "count_call decide_call embed_flow models_call",
}
_MODULES = {
    "batching": "wire.anthropic.batching",
    "types": "wire.anthropic.types",
}

media_calls = None
"""The wire has no endpoints of images, speech and transcripts."""

__getattr__, __dir__ = lazy_names(
    "wire.anthropic", _NAMES, modules=_MODULES, types="wire.anthropic.types"
)
