# Written by `python -m tests.faces`.
from wire.openai.realtime import types as types
from wire.openai.realtime.calls import CallAnswer as CallAnswer
from wire.openai.realtime.calls import accept_call as accept_call
from wire.openai.realtime.calls import create_call as create_call
from wire.openai.realtime.calls import create_client_secret as create_client_secret
from wire.openai.realtime.calls import hang_up_call as hang_up_call
from wire.openai.realtime.calls import refer_call as refer_call
from wire.openai.realtime.calls import reject_call as reject_call
from wire.openai.realtime.endpoints import socket as socket
from wire.openai.realtime.events import event_name as event_name
from wire.openai.realtime.events import parse_event as parse_event
from wire.openai.realtime.types import *
