# Written by `python -m tests.faces`.
from wire.openai.realtime import types as types
from wire.openai.realtime.endpoints import socket as socket
from wire.openai.realtime.events import event_name as event_name
from wire.openai.realtime.events import parse_event as parse_event
from wire.openai.realtime.types import *
