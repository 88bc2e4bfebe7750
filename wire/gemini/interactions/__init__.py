"""Google's Interactions, a second API of Gemini: types, calls as values, rules.

>>> from wire.gemini import interactions
>>> request = interactions.InteractionRequest(model="gemini-3.8-flash", input="Hi", store=False)
>>> interactions.create_interaction(request).path
'/interactions'

Nothing here does I/O or loads an HTTP library. Each name is imported when it is first used.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.gemini.dialect": "Dialect",
    "wire.gemini.interactions.endpoints": """
        cancel_interaction create_interaction delete_interaction get_interaction
        stream_again stream_interaction
    """,
    "wire.gemini.interactions.resources": """
        create_agent create_environment create_trigger create_webhook delete_agent
        delete_environment delete_trigger delete_webhook get_agent get_environment
        get_trigger get_webhook list_agents list_environment_files list_environments
        list_trigger_executions list_triggers list_webhooks ping_webhook
        rotate_signing_secret run_trigger update_trigger update_webhook
    """,
    "wire.gemini.interactions.error_body": "parse_error render_error",
    "wire.gemini.interactions.parse": "EventReader parse_reply",
    "wire.gemini.interactions.received": "parse_request",
    "wire.gemini.interactions.parts": "parse_message",
    "wire.gemini.interactions.replies": "render_reply ReplyWriter",
    "wire.gemini.interactions.reader": "parse_interaction",
    "wire.gemini.interactions.rendering": "call render_request stream_call",
    "wire.gemini.interactions.rows": "endpoint_paths ROWS",
    "wire.gemini.interactions.rules": "check",
    "wire.gemini.interactions.neutral_calls": "count_call decide_call embed_flow models_call",
}
_MODULES = {"types": "wire.gemini.interactions.types"}

__getattr__, __dir__ = lazy_names(
    "wire.gemini.interactions", _NAMES, modules=_MODULES, types="wire.gemini.interactions.types"
)

batching = None
"""The API has no batches; those of Gemini are of generateContent."""
media_calls = None
"""The wire has no endpoints of images, speech and transcripts."""
