# Written by `python -m tests.faces`.
from wire.converse import types as types
from wire.converse.dialect import Dialect as Dialect
from wire.converse.endpoints import converse as converse
from wire.converse.endpoints import converse_stream as converse_stream
from wire.converse.endpoints import count_tokens as count_tokens
from wire.converse.endpoints import embed as embed
from wire.converse.endpoints import list_inference_profiles as list_inference_profiles
from wire.converse.endpoints import list_models as list_models
from wire.converse.error_body import parse_error as parse_error
from wire.converse.error_body import render_error as render_error
from wire.converse.neutral_calls import count_call as count_call
from wire.converse.neutral_calls import decide_call as decide_call
from wire.converse.neutral_calls import embed_flow as embed_flow
from wire.converse.neutral_calls import models_call as models_call
from wire.converse.parse import EventReader as EventReader
from wire.converse.parse import parse_reply as parse_reply
from wire.converse.parts import parse_message as parse_message
from wire.converse.received import parse_request as parse_request
from wire.converse.rendering import call as call
from wire.converse.rendering import render_request as render_request
from wire.converse.rendering import stream_call as stream_call
from wire.converse.replies import ReplyWriter as ReplyWriter
from wire.converse.replies import render_reply as render_reply
from wire.converse.rows import ROWS as ROWS
from wire.converse.rows import converse_host as converse_host
from wire.converse.rows import endpoint_paths as endpoint_paths
from wire.converse.rules import check as check
batching: None
media_calls: None
from wire.converse.types import *
