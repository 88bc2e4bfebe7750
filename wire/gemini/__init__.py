"""Gemini's native REST API: its types, its calls as values, its rules.

Nothing here does I/O or loads an HTTP library.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.gemini.batches": """
        batch_lines batch_results cancel_batch create_batch create_embed_batch delete_batch
        embed_batch_results get_batch get_embed_batch list_batches update_batch
        update_embed_batch wait_for_batch wait_for_embed_batch
    """,
    "wire.gemini.caches": """
        create_cached_content delete_cached_content get_cached_content list_cached_contents
        update_cached_content
    """,
    "wire.gemini.context_cache": "ContextCache",
    "wire.gemini.declarations": "function_declaration tools",
    "wire.gemini.decisions": "create_decision",
    "wire.gemini.dialect": "Dialect",
    "wire.gemini.embeddings": "batch_embed_contents embed_content",
    "wire.gemini.endpoints": """
        count_tokens generate_content get_model list_models stream_generate_content
    """,
    "wire.gemini.error_body": "parse_error render_error",
    "wire.gemini.files": """
        create_file delete_file download_file get_file list_files register_files
        wait_for_file
    """,
    "wire.gemini.parse": "EventReader parse_reply",
    "wire.gemini.received": "parse_request",
    "wire.gemini.parts": "parse_message",
    "wire.gemini.replies": "render_reply ReplyWriter",
    "wire.gemini.prediction": "compute_tokens get_operation predict predict_long_running",
    "wire.gemini.rendering": "call render_request stream_call",
    "wire.gemini.rows": "endpoint_paths ROWS",
    "wire.gemini.rules": "check",
    "wire.gemini.schemas": "schema",
    "wire.gemini.stores": """
        create_file_search_store delete_document delete_file_search_store get_document
        get_file_search_store import_file list_documents list_file_search_stores
    """,
    "wire.gemini.turns": "contents function_response PLACEHOLDER Turn",
    "wire.gemini.uploads": "Upload upload_file upload_to_file_search_store",
    "wire.gemini.neutral_calls": "count_call embed_flow models_call",
    "wire.gemini.neutral_decisions": "decide_call",
}
_MODULES = {
    "media_calls": "wire.gemini.media_calls",
    "batching": "wire.gemini.batching",
    "interactions": "wire.gemini.interactions",
    "live": "wire.gemini.live",
    "types": "wire.gemini.types",
}

__getattr__, __dir__ = lazy_names(
    "wire.gemini", _NAMES, modules=_MODULES, types="wire.gemini.types"
)
