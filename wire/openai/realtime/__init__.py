"""OpenAI's Realtime, which Azure and xAI offer with differences: the events of a connection.

>>> from wire.openai import realtime
>>> event = realtime.ClientEvent(
...     type="conversation.item.create",
...     item=realtime.Item(
...         type="message",
...         role="user",
...         content=[realtime.Part(type="input_text", text="Hi")],
...     ),
... )
>>> event.item.content[0].text
'Hi'

Nothing here does I/O. Each name is imported when it is first used.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.openai.realtime.calls": """
        accept_call CallAnswer create_call create_client_secret hang_up_call refer_call
        reject_call
    """,
    "wire.openai.realtime.endpoints": "socket",
    "wire.openai.realtime.events": "event_name parse_event",
}
_MODULES = {"types": "wire.openai.realtime.types"}

__getattr__, __dir__ = lazy_names(
    "wire.openai.realtime", _NAMES, modules=_MODULES, types="wire.openai.realtime.types"
)
