"""OpenAI's API, which many vendors offer with differences: types, calls as values, rules, dialects.

>>> from wire import openai
>>> request = openai.ChatCompletionRequest(
...     model="gpt-5.4", messages=[openai.Message(role="user", content="Hi")]
... )
>>> openai.chat_completions(request).path
'/chat/completions'

Nothing here does I/O or loads an HTTP library. Each name is imported when it is first used, because
the table of providers needs the dialects alone.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.openai.batch_file": "batch_lines",
    "wire.openai.chat.endpoints": "chat_completions stream_chat_completions",
    "wire.openai.chat.parse": "EventReader parse_reply",
    "wire.openai.chat.received": "parse_request",
    "wire.openai.chat.parts": "parse_message",
    "wire.openai.chat.reader": "parse_completion",
    "wire.openai.chat.rendering": "call render_request stream_call",
    "wire.openai.chat.replies": "render_reply ReplyWriter",
    "wire.openai.chat.results": "tool_message",
    "wire.openai.chat.rules": "check",
    "wire.openai.chat.turns": "messages Turn",
    "wire.openai.common.audio": """
        speech stream_speech stream_transcriptions transcriptions translations
    """,
    "wire.openai.common.batches": """
        batch_results cancel_batch create_batch get_batch list_batches wait_for_batch
    """,
    "wire.openai.common.decisions": "decisions system_one",
    "wire.openai.common.dialect": "CallIds Dialect MediaEndpoints PLAIN Refusal",
    "wire.openai.common.endpoints": "delete_model embeddings get_model list_models",
    "wire.openai.common.error_body": "parse_error render_error",
    "wire.openai.common.files": "delete_file download_file get_file list_files upload_file",
    "wire.openai.common.images": """
        edit_images generate_images stream_image_edits stream_images
    """,
    "wire.openai.common.rows": "chat_host endpoint_paths ROWS unlisted",
    "wire.openai.common.neutral_calls": "count_call embed_flow models_call",
    "wire.openai.common.neutral_decisions": "decide_call",
}
_MODULES = {
    "media_calls": "wire.openai.common.media_calls",
    "batching": "wire.openai.chat.batching",
    "realtime": "wire.openai.realtime",
    "responses": "wire.openai.responses",
    "types": "wire.openai.chat.types",
}

__getattr__, __dir__ = lazy_names(
    "wire.openai", _NAMES, modules=_MODULES, types="wire.openai.chat.types"
)
