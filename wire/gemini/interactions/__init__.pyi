# Written by `python -m tests.faces`.
from wire.gemini.dialect import Dialect as Dialect
from wire.gemini.interactions import types as types
from wire.gemini.interactions.endpoints import cancel_interaction as cancel_interaction
from wire.gemini.interactions.endpoints import create_interaction as create_interaction
from wire.gemini.interactions.endpoints import delete_interaction as delete_interaction
from wire.gemini.interactions.endpoints import get_interaction as get_interaction
from wire.gemini.interactions.endpoints import stream_again as stream_again
from wire.gemini.interactions.endpoints import stream_interaction as stream_interaction
from wire.gemini.interactions.error_body import parse_error as parse_error
from wire.gemini.interactions.error_body import render_error as render_error
from wire.gemini.interactions.neutral_calls import count_call as count_call
from wire.gemini.interactions.neutral_calls import decide_call as decide_call
from wire.gemini.interactions.neutral_calls import embed_flow as embed_flow
from wire.gemini.interactions.neutral_calls import models_call as models_call
from wire.gemini.interactions.parse import EventReader as EventReader
from wire.gemini.interactions.parse import parse_reply as parse_reply
from wire.gemini.interactions.parts import parse_message as parse_message
from wire.gemini.interactions.reader import parse_interaction as parse_interaction
from wire.gemini.interactions.received import parse_request as parse_request
from wire.gemini.interactions.rendering import call as call
from wire.gemini.interactions.rendering import render_request as render_request
from wire.gemini.interactions.rendering import stream_call as stream_call
from wire.gemini.interactions.replies import ReplyWriter as ReplyWriter
from wire.gemini.interactions.replies import render_reply as render_reply
from wire.gemini.interactions.rows import ROWS as ROWS
from wire.gemini.interactions.rows import endpoint_paths as endpoint_paths
from wire.gemini.interactions.rules import check as check
batching: None
media_calls: None
from wire.gemini.interactions.types import *
