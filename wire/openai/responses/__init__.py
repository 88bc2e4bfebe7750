"""OpenAI's Responses, which other hosts offer with differences: types, calls as values, rules.

>>> from wire.openai import responses
>>> request = responses.ResponseRequest(model="gpt-5.6", input="Hi", store=False)
>>> responses.create_response(request).path
'/responses'

Nothing here does I/O or loads an HTTP library. Each name is imported when it is first used, because
the table of providers needs the dialects alone.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.openai.common.error_body": "parse_error render_error",
    "wire.openai.responses.conversations": """
        add_items create_conversation delete_conversation delete_item get_conversation
        get_item list_items update_conversation
    """,
    "wire.openai.responses.dialect": "Dialect PLAIN",
    "wire.openai.responses.endpoints": "create_response stream_again stream_response",
    "wire.openai.responses.parse": "EventReader parse_reply",
    "wire.openai.responses.received": "parse_request",
    "wire.openai.responses.parts": "parse_message",
    "wire.openai.responses.replies": "render_reply ReplyWriter",
    "wire.openai.responses.reader": "parse_response",
    "wire.openai.responses.rendering": "call render_request stream_call",
    "wire.openai.responses.rows": "endpoint_paths responses_host ROWS",
    "wire.openai.responses.rules": "check",
    "wire.openai.responses.websocket": "socket",
    "wire.openai.responses.stored": """
        cancel_response compact count_input_tokens delete_response get_response
        list_input_items
    """,
    "wire.openai.responses.neutral_calls": "count_call embed_flow",
    "wire.openai.common.neutral_calls": "models_call",
    "wire.openai.common.neutral_decisions": "decide_call",
}
_MODULES = {
    "media_calls": "wire.openai.common.media_calls",
    "batching": "wire.openai.responses.batching",
    "types": "wire.openai.responses.types",
}

__getattr__, __dir__ = lazy_names(
    "wire.openai.responses", _NAMES, modules=_MODULES, types="wire.openai.responses.types"
)
