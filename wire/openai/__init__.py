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

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.openai import responses as responses
    from wire.openai.batch_file import batch_lines as batch_lines
    from wire.openai.chat import batching as batching
    from wire.openai.chat import types as types
    from wire.openai.chat.endpoints import chat_completions as chat_completions
    from wire.openai.chat.endpoints import stream_chat_completions as stream_chat_completions
    from wire.openai.chat.parse import EventReader as EventReader
    from wire.openai.chat.parse import parse_reply as parse_reply
    from wire.openai.chat.parts import parse_message as parse_message
    from wire.openai.chat.reader import parse_completion as parse_completion
    from wire.openai.chat.rendering import call as call
    from wire.openai.chat.rendering import render_request as render_request
    from wire.openai.chat.rendering import stream_call as stream_call
    from wire.openai.chat.rules import check as check
    from wire.openai.chat.turns import Turn as Turn
    from wire.openai.chat.turns import messages as messages
    from wire.openai.chat.turns import tool_message as tool_message
    from wire.openai.chat.types import *  # noqa: F403
    from wire.openai.common.batches import batch_results as batch_results
    from wire.openai.common.batches import cancel_batch as cancel_batch
    from wire.openai.common.batches import create_batch as create_batch
    from wire.openai.common.batches import get_batch as get_batch
    from wire.openai.common.batches import list_batches as list_batches
    from wire.openai.common.batches import wait_for_batch as wait_for_batch
    from wire.openai.common.dialect import PLAIN as PLAIN
    from wire.openai.common.dialect import CallIds as CallIds
    from wire.openai.common.dialect import Dialect as Dialect
    from wire.openai.common.dialect import Refusal as Refusal
    from wire.openai.common.endpoints import delete_model as delete_model
    from wire.openai.common.endpoints import embeddings as embeddings
    from wire.openai.common.endpoints import get_model as get_model
    from wire.openai.common.endpoints import list_models as list_models
    from wire.openai.common.error_body import parse_error as parse_error
    from wire.openai.common.files import delete_file as delete_file
    from wire.openai.common.files import download_file as download_file
    from wire.openai.common.files import get_file as get_file
    from wire.openai.common.files import list_files as list_files
    from wire.openai.common.files import upload_file as upload_file
    from wire.openai.common.neutral_calls import count_call as count_call
    from wire.openai.common.neutral_calls import embed_flow as embed_flow
    from wire.openai.common.neutral_calls import models_call as models_call
    from wire.openai.common.rows import ROWS as ROWS
    from wire.openai.common.rows import chat_host as chat_host
    from wire.openai.common.rows import endpoint_paths as endpoint_paths
    from wire.openai.common.rows import unlisted as unlisted

_NAMES = {
    "wire.openai.batch_file": ("batch_lines",),
    "wire.openai.chat.endpoints": ("chat_completions", "stream_chat_completions"),
    "wire.openai.chat.parse": ("EventReader", "parse_reply"),
    "wire.openai.chat.parts": ("parse_message",),
    "wire.openai.chat.reader": ("parse_completion",),
    "wire.openai.chat.rendering": ("call", "render_request", "stream_call"),
    "wire.openai.chat.rules": ("check",),
    "wire.openai.chat.turns": ("Turn", "messages", "tool_message"),
    "wire.openai.common.batches": (
        "batch_results",
        "cancel_batch",
        "create_batch",
        "get_batch",
        "list_batches",
        "wait_for_batch",
    ),
    "wire.openai.common.dialect": ("CallIds", "Dialect", "PLAIN", "Refusal"),
    "wire.openai.common.endpoints": ("delete_model", "embeddings", "get_model", "list_models"),
    "wire.openai.common.error_body": ("parse_error",),
    "wire.openai.common.files": (
        "delete_file",
        "download_file",
        "get_file",
        "list_files",
        "upload_file",
    ),
    "wire.openai.common.rows": ("ROWS", "chat_host", "endpoint_paths", "unlisted"),
    "wire.openai.common.neutral_calls": (
        "count_call",
        "embed_flow",
        "models_call",
    ),
}
_MODULES = {
    "batching": "wire.openai.chat.batching",
    "responses": "wire.openai.responses",
    "types": "wire.openai.chat.types",
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names(
        "wire.openai", _NAMES, modules=_MODULES, types="wire.openai.chat.types"
    )
