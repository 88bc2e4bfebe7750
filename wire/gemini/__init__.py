"""Gemini's native REST API: its types, its calls as values, its rules. Nothing here does I/O or loads an HTTP library."""

from wire.gemini.declarations import function_declaration as function_declaration
from wire.gemini.declarations import tools as tools
from wire.gemini.endpoints import count_tokens as count_tokens
from wire.gemini.endpoints import generate_content as generate_content
from wire.gemini.endpoints import get_model as get_model
from wire.gemini.endpoints import list_models as list_models
from wire.gemini.endpoints import stream_generate_content as stream_generate_content
from wire.gemini.rules import check as check
from wire.gemini.schemas import schema as schema
from wire.gemini.turns import PLACEHOLDER as PLACEHOLDER
from wire.gemini.turns import Turn as Turn
from wire.gemini.turns import contents as contents
from wire.gemini.turns import function_response as function_response
from wire.gemini.types import *  # noqa: F403
