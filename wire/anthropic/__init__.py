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

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.anthropic import batching as batching
    from wire.anthropic import types as types
    from wire.anthropic.batches import batch_results as batch_results
    from wire.anthropic.batches import cancel_batch as cancel_batch
    from wire.anthropic.batches import create_batch as create_batch
    from wire.anthropic.batches import delete_batch as delete_batch
    from wire.anthropic.batches import get_batch as get_batch
    from wire.anthropic.batches import list_batches as list_batches
    from wire.anthropic.dialect import Dialect as Dialect
    from wire.anthropic.endpoints import count_tokens as count_tokens
    from wire.anthropic.endpoints import create_message as create_message
    from wire.anthropic.endpoints import get_model as get_model
    from wire.anthropic.endpoints import list_models as list_models
    from wire.anthropic.endpoints import stream_message as stream_message
    from wire.anthropic.error_body import parse_error as parse_error
    from wire.anthropic.files import delete_file as delete_file
    from wire.anthropic.files import download_file as download_file
    from wire.anthropic.files import get_file as get_file
    from wire.anthropic.files import list_files as list_files
    from wire.anthropic.files import upload_file as upload_file
    from wire.anthropic.neutral_calls import count_call as count_call
    from wire.anthropic.neutral_calls import embed_flow as embed_flow
    from wire.anthropic.neutral_calls import models_call as models_call
    from wire.anthropic.parse import EventReader as EventReader
    from wire.anthropic.parse import parse_reply as parse_reply
    from wire.anthropic.parts import parse_message as parse_message
    from wire.anthropic.rendering import call as call
    from wire.anthropic.rendering import render_request as render_request
    from wire.anthropic.rendering import stream_call as stream_call
    from wire.anthropic.rows import ROWS as ROWS
    from wire.anthropic.rows import endpoint_paths as endpoint_paths
    from wire.anthropic.rows import messages_host as messages_host
    from wire.anthropic.rules import check as check
    from wire.anthropic.types import *  # noqa: F403

_NAMES = {
    "wire.anthropic.batches": (
        "batch_results",
        "cancel_batch",
        "create_batch",
        "delete_batch",
        "get_batch",
        "list_batches",
    ),
    "wire.anthropic.dialect": ("Dialect",),
    "wire.anthropic.endpoints": (
        "count_tokens",
        "create_message",
        "get_model",
        "list_models",
        "stream_message",
    ),
    "wire.anthropic.error_body": ("parse_error",),
    "wire.anthropic.files": (
        "delete_file",
        "download_file",
        "get_file",
        "list_files",
        "upload_file",
    ),
    "wire.anthropic.parse": ("EventReader", "parse_reply"),
    "wire.anthropic.parts": ("parse_message",),
    "wire.anthropic.rendering": ("call", "render_request", "stream_call"),
    "wire.anthropic.rows": ("ROWS", "endpoint_paths", "messages_host"),
    "wire.anthropic.rules": ("check",),
    "wire.anthropic.neutral_calls": (
        "count_call",
        "embed_flow",
        "models_call",
    ),
}
_MODULES = {
    "batching": "wire.anthropic.batching",
    "types": "wire.anthropic.types",
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names(
        "wire.anthropic", _NAMES, modules=_MODULES, types="wire.anthropic.types"
    )
