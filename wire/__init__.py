"""LLM providers over raw HTTP: exact on the wire, nothing lost, no vendor SDK.

>>> from wire import Client, gemini

Everything here is loaded when it is first named, so that `import wire.gemini` costs msgspec and nothing of an HTTP stack.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wire import errors as errors
    from wire import gemini as gemini
    from wire import openai as openai
    from wire import retry as retry
    from wire.account import Account as Account
    from wire.account import answer_account as answer_account
    from wire.aio import AsyncClient as AsyncClient
    from wire.call import Call as Call
    from wire.call import StreamCall as StreamCall
    from wire.call import Timeouts as Timeouts
    from wire.client import Client as Client
    from wire.errors import WireError as WireError
    from wire.exchange import Pause as Pause
    from wire.flow import Flow as Flow
    from wire.limits import Limits as Limits
    from wire.memory import Note as Note
    from wire.memory import notes as notes
    from wire.memory import unknown as unknown
    from wire.retry import Retry as Retry
    from wire.secret import Secret as Secret

__all__ = [
    "Account",
    "AsyncClient",
    "Call",
    "Client",
    "Flow",
    "Limits",
    "Note",
    "Pause",
    "Retry",
    "Secret",
    "StreamCall",
    "Timeouts",
    "WireError",
    "answer_account",
    "errors",
    "gemini",
    "notes",
    "openai",
    "retry",
    "unknown",
]

_HOMES = {
    "Account": "account",
    "AsyncClient": "aio",
    "Call": "call",
    "Client": "client",
    "Flow": "flow",
    "Limits": "limits",
    "Note": "memory",
    "Pause": "exchange",
    "Retry": "retry",
    "Secret": "secret",
    "StreamCall": "call",
    "Timeouts": "call",
    "WireError": "errors",
    "answer_account": "account",
    "notes": "memory",
    "unknown": "memory",
}
_MODULES = ("errors", "gemini", "openai", "retry")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"wire.{name}")
    if name in _HOMES:
        found = getattr(importlib.import_module(f"wire.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'wire' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *globals()])
