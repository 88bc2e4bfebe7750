"""OpenAI chat completions and their dialects: types, calls as values, rules. Nothing here does I/O or loads an HTTP library.

Names are loaded when they are first used: the table of providers needs the dialects alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from wire.lazy import loading

if TYPE_CHECKING:
    from wire.openai.dialect import PLAIN as PLAIN
    from wire.openai.dialect import CallIds as CallIds
    from wire.openai.dialect import Dialect as Dialect
    from wire.openai.dialect import Refusal as Refusal
    from wire.openai.endpoints import chat_completions as chat_completions
    from wire.openai.endpoints import delete_model as delete_model
    from wire.openai.endpoints import embeddings as embeddings
    from wire.openai.endpoints import get_model as get_model
    from wire.openai.endpoints import list_models as list_models
    from wire.openai.endpoints import stream_chat_completions as stream_chat_completions
    from wire.openai.parse import Reading as Reading
    from wire.openai.parse import parse_reply as parse_reply
    from wire.openai.rendering import render as render
    from wire.openai.rendering import render_request as render_request
    from wire.openai.rendering import render_whole as render_whole
    from wire.openai.rules import check as check
    from wire.openai.turns import Turn as Turn
    from wire.openai.turns import messages as messages
    from wire.openai.turns import tool_message as tool_message
    from wire.openai.types import *  # noqa: F403

_HOMES = {
    "PLAIN": "dialect",
    "CallIds": "dialect",
    "Dialect": "dialect",
    "Refusal": "dialect",
    "chat_completions": "endpoints",
    "delete_model": "endpoints",
    "embeddings": "endpoints",
    "get_model": "endpoints",
    "list_models": "endpoints",
    "stream_chat_completions": "endpoints",
    "Reading": "parse",
    "parse_reply": "parse",
    "render": "rendering",
    "render_request": "rendering",
    "render_whole": "rendering",
    "check": "rules",
    "Turn": "turns",
    "messages": "turns",
    "tool_message": "turns",
}


__getattr__ = loading("wire.openai", _HOMES, modules=("types",), rest="types")


def __dir__() -> list[str]:
    types = importlib.import_module("wire.openai.types")
    return sorted({*_HOMES, *types.__all__, *globals()})
