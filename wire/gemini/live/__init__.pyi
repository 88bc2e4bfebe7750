# Written by `python -m tests.faces`.
from wire.gemini.live import types as types
from wire.gemini.live.endpoints import socket as socket
from wire.gemini.live.messages import parse_message as parse_message
from wire.gemini.live.types import *
