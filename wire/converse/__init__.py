"""The Converse API of Amazon Bedrock: types, calls as values, rules.

>>> from wire import converse
>>> request = converse.ConverseRequest(
...     messages=[converse.Message(role="user", content=[converse.ContentBlock(text="Hi")])]
... )
>>> converse.converse("anthropic.claude-sonnet-5", request).path
'/model/anthropic.claude-sonnet-5/converse'

Nothing here does I/O or loads an HTTP library. Each name is imported when it is first used, so a
client of another wire does not load the types of this one.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.converse.dialect": "Dialect",
    "wire.converse.endpoints": (
        "converse converse_stream count_tokens embed list_inference_profiles list_models"
    ),
    "wire.converse.error_body": "parse_error render_error",
    "wire.converse.parse": "EventReader parse_reply",
    "wire.converse.received": "parse_request",
    "wire.converse.parts": "parse_message",
    "wire.converse.replies": "render_reply ReplyWriter",
    "wire.converse.rendering": "call render_request stream_call",
    "wire.converse.rows": "converse_host endpoint_paths ROWS",
    "wire.converse.rules": "check",
    "wire.converse.neutral_calls": "count_call decide_call embed_flow models_call",
}
_MODULES = {"types": "wire.converse.types"}

batching = None
"""The wire has no batches and no uploaded files."""
media_calls = None
"""The wire has no endpoints of images, speech and transcripts."""

__getattr__, __dir__ = lazy_names(
    "wire.converse", _NAMES, modules=_MODULES, types="wire.converse.types"
)
