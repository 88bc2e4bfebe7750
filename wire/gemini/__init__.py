"""Gemini's native REST API: its types, its calls as values, its rules.

Nothing here does I/O or loads an HTTP library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.gemini import batching as batching
    from wire.gemini import types as types
    from wire.gemini.batches import batch_lines as batch_lines
    from wire.gemini.batches import batch_results as batch_results
    from wire.gemini.batches import cancel_batch as cancel_batch
    from wire.gemini.batches import create_batch as create_batch
    from wire.gemini.batches import create_embed_batch as create_embed_batch
    from wire.gemini.batches import delete_batch as delete_batch
    from wire.gemini.batches import embed_batch_results as embed_batch_results
    from wire.gemini.batches import get_batch as get_batch
    from wire.gemini.batches import get_embed_batch as get_embed_batch
    from wire.gemini.batches import list_batches as list_batches
    from wire.gemini.batches import update_batch as update_batch
    from wire.gemini.batches import update_embed_batch as update_embed_batch
    from wire.gemini.batches import wait_for_batch as wait_for_batch
    from wire.gemini.batches import wait_for_embed_batch as wait_for_embed_batch
    from wire.gemini.caches import create_cached_content as create_cached_content
    from wire.gemini.caches import delete_cached_content as delete_cached_content
    from wire.gemini.caches import get_cached_content as get_cached_content
    from wire.gemini.caches import list_cached_contents as list_cached_contents
    from wire.gemini.caches import update_cached_content as update_cached_content
    from wire.gemini.context_cache import ContextCache as ContextCache
    from wire.gemini.declarations import function_declaration as function_declaration
    from wire.gemini.declarations import tools as tools
    from wire.gemini.dialect import Dialect as Dialect
    from wire.gemini.embeddings import batch_embed_contents as batch_embed_contents
    from wire.gemini.embeddings import embed_content as embed_content
    from wire.gemini.endpoints import count_tokens as count_tokens
    from wire.gemini.endpoints import generate_content as generate_content
    from wire.gemini.endpoints import get_model as get_model
    from wire.gemini.endpoints import list_models as list_models
    from wire.gemini.endpoints import stream_generate_content as stream_generate_content
    from wire.gemini.error_body import parse_error as parse_error
    from wire.gemini.files import create_file as create_file
    from wire.gemini.files import delete_file as delete_file
    from wire.gemini.files import download_file as download_file
    from wire.gemini.files import get_file as get_file
    from wire.gemini.files import list_files as list_files
    from wire.gemini.files import register_files as register_files
    from wire.gemini.files import wait_for_file as wait_for_file
    from wire.gemini.neutral_calls import count_call as count_call
    from wire.gemini.neutral_calls import embed_flow as embed_flow
    from wire.gemini.neutral_calls import models_call as models_call
    from wire.gemini.parse import EventReader as EventReader
    from wire.gemini.parse import parse_reply as parse_reply
    from wire.gemini.parts import parse_message as parse_message
    from wire.gemini.prediction import compute_tokens as compute_tokens
    from wire.gemini.prediction import get_operation as get_operation
    from wire.gemini.prediction import predict as predict
    from wire.gemini.prediction import predict_long_running as predict_long_running
    from wire.gemini.rendering import call as call
    from wire.gemini.rendering import render_request as render_request
    from wire.gemini.rendering import stream_call as stream_call
    from wire.gemini.rows import ROWS as ROWS
    from wire.gemini.rows import endpoint_paths as endpoint_paths
    from wire.gemini.rules import check as check
    from wire.gemini.schemas import schema as schema
    from wire.gemini.stores import create_file_search_store as create_file_search_store
    from wire.gemini.stores import delete_document as delete_document
    from wire.gemini.stores import delete_file_search_store as delete_file_search_store
    from wire.gemini.stores import get_document as get_document
    from wire.gemini.stores import get_file_search_store as get_file_search_store
    from wire.gemini.stores import import_file as import_file
    from wire.gemini.stores import list_documents as list_documents
    from wire.gemini.stores import list_file_search_stores as list_file_search_stores
    from wire.gemini.turns import PLACEHOLDER as PLACEHOLDER
    from wire.gemini.turns import Turn as Turn
    from wire.gemini.turns import contents as contents
    from wire.gemini.turns import function_response as function_response
    from wire.gemini.types import *  # noqa: F403
    from wire.gemini.uploads import Upload as Upload
    from wire.gemini.uploads import upload_file as upload_file
    from wire.gemini.uploads import upload_to_file_search_store as upload_to_file_search_store

_NAMES = {
    "wire.gemini.batches": (
        "batch_lines",
        "batch_results",
        "cancel_batch",
        "create_batch",
        "create_embed_batch",
        "delete_batch",
        "embed_batch_results",
        "get_batch",
        "get_embed_batch",
        "list_batches",
        "update_batch",
        "update_embed_batch",
        "wait_for_batch",
        "wait_for_embed_batch",
    ),
    "wire.gemini.caches": (
        "create_cached_content",
        "delete_cached_content",
        "get_cached_content",
        "list_cached_contents",
        "update_cached_content",
    ),
    "wire.gemini.context_cache": ("ContextCache",),
    "wire.gemini.declarations": ("function_declaration", "tools"),
    "wire.gemini.dialect": ("Dialect",),
    "wire.gemini.embeddings": ("batch_embed_contents", "embed_content"),
    "wire.gemini.endpoints": (
        "count_tokens",
        "generate_content",
        "get_model",
        "list_models",
        "stream_generate_content",
    ),
    "wire.gemini.error_body": ("parse_error",),
    "wire.gemini.files": (
        "create_file",
        "delete_file",
        "download_file",
        "get_file",
        "list_files",
        "register_files",
        "wait_for_file",
    ),
    "wire.gemini.parse": ("EventReader", "parse_reply"),
    "wire.gemini.parts": ("parse_message",),
    "wire.gemini.prediction": (
        "compute_tokens",
        "get_operation",
        "predict",
        "predict_long_running",
    ),
    "wire.gemini.rendering": ("call", "render_request", "stream_call"),
    "wire.gemini.rows": ("ROWS", "endpoint_paths"),
    "wire.gemini.rules": ("check",),
    "wire.gemini.schemas": ("schema",),
    "wire.gemini.stores": (
        "create_file_search_store",
        "delete_document",
        "delete_file_search_store",
        "get_document",
        "get_file_search_store",
        "import_file",
        "list_documents",
        "list_file_search_stores",
    ),
    "wire.gemini.turns": ("PLACEHOLDER", "Turn", "contents", "function_response"),
    "wire.gemini.uploads": ("Upload", "upload_file", "upload_to_file_search_store"),
    "wire.gemini.neutral_calls": (
        "count_call",
        "embed_flow",
        "models_call",
    ),
}
_MODULES = {
    "batching": "wire.gemini.batching",
    "types": "wire.gemini.types",
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names(
        "wire.gemini", _NAMES, modules=_MODULES, types="wire.gemini.types"
    )
