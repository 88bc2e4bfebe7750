"""All that a wire has, but for its `check`: `tests/typing/wires.py` sees that it is missed."""

from wire.openai import ROWS as ROWS
from wire.openai import Dialect as Dialect
from wire.openai import call as call
from wire.openai import endpoint_paths as endpoint_paths
from wire.openai import parse_error as parse_error
from wire.openai import parse_reply as parse_reply
from wire.openai import stream_call as stream_call
