"""OpenAI's Responses, which other hosts offer with differences: types, calls as values, rules.

>>> from wire.openai import responses
>>> request = responses.ResponseRequest(model="gpt-5.6", input="Hi", store=False)
>>> responses.create_response(request).path
'/responses'

Nothing here does I/O or loads an HTTP library. Each name is imported when it is first used, because
the table of providers needs the dialects alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.openai.common.error_body import parse_error as parse_error
    from wire.openai.common.neutral_calls import models_call as models_call
    from wire.openai.responses import batching as batching
    from wire.openai.responses import types as types
    from wire.openai.responses.conversations import add_items as add_items
    from wire.openai.responses.conversations import create_conversation as create_conversation
    from wire.openai.responses.conversations import delete_conversation as delete_conversation
    from wire.openai.responses.conversations import delete_item as delete_item
    from wire.openai.responses.conversations import get_conversation as get_conversation
    from wire.openai.responses.conversations import get_item as get_item
    from wire.openai.responses.conversations import list_items as list_items
    from wire.openai.responses.conversations import update_conversation as update_conversation
    from wire.openai.responses.dialect import PLAIN as PLAIN
    from wire.openai.responses.dialect import Dialect as Dialect
    from wire.openai.responses.endpoints import create_response as create_response
    from wire.openai.responses.endpoints import stream_again as stream_again
    from wire.openai.responses.endpoints import stream_response as stream_response
    from wire.openai.responses.neutral_calls import count_call as count_call
    from wire.openai.responses.neutral_calls import embed_flow as embed_flow
    from wire.openai.responses.parse import EventReader as EventReader
    from wire.openai.responses.parse import parse_reply as parse_reply
    from wire.openai.responses.parts import parse_message as parse_message
    from wire.openai.responses.reader import parse_response as parse_response
    from wire.openai.responses.rendering import call as call
    from wire.openai.responses.rendering import render_request as render_request
    from wire.openai.responses.rendering import stream_call as stream_call
    from wire.openai.responses.rows import ROWS as ROWS
    from wire.openai.responses.rows import endpoint_paths as endpoint_paths
    from wire.openai.responses.rows import responses_host as responses_host
    from wire.openai.responses.rules import check as check
    from wire.openai.responses.stored import cancel_response as cancel_response
    from wire.openai.responses.stored import compact as compact
    from wire.openai.responses.stored import count_input_tokens as count_input_tokens
    from wire.openai.responses.stored import delete_response as delete_response
    from wire.openai.responses.stored import get_response as get_response
    from wire.openai.responses.stored import list_input_items as list_input_items
    from wire.openai.responses.types import *  # noqa: F403

_NAMES = {
    "wire.openai.common.error_body": ("parse_error",),
    "wire.openai.responses.conversations": (
        "add_items",
        "create_conversation",
        "delete_conversation",
        "delete_item",
        "get_conversation",
        "get_item",
        "list_items",
        "update_conversation",
    ),
    "wire.openai.responses.dialect": ("Dialect", "PLAIN"),
    "wire.openai.responses.endpoints": ("create_response", "stream_again", "stream_response"),
    "wire.openai.responses.parse": ("EventReader", "parse_reply"),
    "wire.openai.responses.parts": ("parse_message",),
    "wire.openai.responses.reader": ("parse_response",),
    "wire.openai.responses.rendering": ("call", "render_request", "stream_call"),
    "wire.openai.responses.rows": ("ROWS", "endpoint_paths", "responses_host"),
    "wire.openai.responses.rules": ("check",),
    "wire.openai.responses.stored": (
        "cancel_response",
        "compact",
        "count_input_tokens",
        "delete_response",
        "get_response",
        "list_input_items",
    ),
    "wire.openai.responses.neutral_calls": (
        "count_call",
        "embed_flow",
    ),
    "wire.openai.common.neutral_calls": ("models_call",),
}
_MODULES = {
    "batching": "wire.openai.responses.batching",
    "types": "wire.openai.responses.types",
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names(
        "wire.openai.responses", _NAMES, modules=_MODULES, types="wire.openai.responses.types"
    )
