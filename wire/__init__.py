"""LLM providers over raw HTTP: exact on the wire, nothing lost, no vendor SDK.

>>> from wire import Client, gemini

Everything here is loaded when it is first named, so that `import wire.gemini` costs msgspec and nothing of an HTTP stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.lazy import loading

if TYPE_CHECKING:
    from wire import anthropic as anthropic
    from wire import errors as errors
    from wire import gemini as gemini
    from wire import history as history
    from wire import openai as openai
    from wire import retry as retry
    from wire.account import Account as Account
    from wire.account import answer_account as answer_account
    from wire.agent import Agent as Agent
    from wire.agent import GeminiAgent as GeminiAgent
    from wire.agent import Guard as Guard
    from wire.agent import LLMAgent as LLMAgent
    from wire.agent import LLMConfig as LLMConfig
    from wire.agent import load_config as load_config
    from wire.aio import AsyncClient as AsyncClient
    from wire.asking import AsyncChat as AsyncChat
    from wire.asking import Chat as Chat
    from wire.call import Call as Call
    from wire.call import StreamCall as StreamCall
    from wire.call import Timeouts as Timeouts
    from wire.chat import Done as Done
    from wire.chat import Media as Media
    from wire.chat import Message as Message
    from wire.chat import Reply as Reply
    from wire.chat import Stop as Stop
    from wire.chat import Text as Text
    from wire.chat import TextDelta as TextDelta
    from wire.chat import Thought as Thought
    from wire.chat import ThoughtDelta as ThoughtDelta
    from wire.chat import ToolCall as ToolCall
    from wire.chat import ToolCallDelta as ToolCallDelta
    from wire.chat import ToolCallEnd as ToolCallEnd
    from wire.chat import ToolCallStart as ToolCallStart
    from wire.chat import ToolResult as ToolResult
    from wire.chat import Usage as Usage
    from wire.chat_provider import ChatProvider as ChatProvider
    from wire.chat_provider import FunctionCall as FunctionCall
    from wire.chat_provider import GenerationConfig as GenerationConfig
    from wire.chat_provider import LLMResponse as LLMResponse
    from wire.chat_provider import StreamDelta as StreamDelta
    from wire.chat_provider import ToolSchema as ToolSchema
    from wire.chat_provider import create_provider as create_provider
    from wire.client import Client as Client
    from wire.errors import WireError as WireError
    from wire.exchange import Pause as Pause
    from wire.flow import Flow as Flow
    from wire.history import HistoryManager as HistoryManager
    from wire.limits import Limits as Limits
    from wire.memory import Note as Note
    from wire.memory import notes as notes
    from wire.memory import unknown as unknown
    from wire.request import Output as Output
    from wire.request import Request as Request
    from wire.request import Tool as Tool
    from wire.retry import Retry as Retry
    from wire.secret import Secret as Secret
    from wire.tools import ToolContext as ToolContext
    from wire.tools import tool as tool

__all__ = [
    "Account",
    "Agent",
    "AsyncChat",
    "AsyncClient",
    "Call",
    "Chat",
    "ChatProvider",
    "Client",
    "Done",
    "Flow",
    "FunctionCall",
    "GeminiAgent",
    "GenerationConfig",
    "Guard",
    "HistoryManager",
    "LLMAgent",
    "LLMConfig",
    "LLMResponse",
    "Limits",
    "Media",
    "Message",
    "Note",
    "Output",
    "Pause",
    "Reply",
    "Request",
    "Retry",
    "Secret",
    "Stop",
    "StreamCall",
    "StreamDelta",
    "Text",
    "TextDelta",
    "Thought",
    "ThoughtDelta",
    "Timeouts",
    "Tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "ToolContext",
    "ToolResult",
    "ToolSchema",
    "Usage",
    "WireError",
    "answer_account",
    "anthropic",
    "create_provider",
    "errors",
    "gemini",
    "history",
    "load_config",
    "notes",
    "openai",
    "retry",
    "tool",
    "unknown",
]

_HOMES = {
    "Account": "account",
    "Agent": "agent",
    "AsyncChat": "asking",
    "AsyncClient": "aio",
    "Call": "call",
    "Chat": "asking",
    "ChatProvider": "chat_provider",
    "Client": "client",
    "Done": "chat",
    "Flow": "flow",
    "FunctionCall": "chat_provider",
    "GeminiAgent": "agent",
    "GenerationConfig": "chat_provider",
    "Guard": "agent",
    "HistoryManager": "history",
    "LLMAgent": "agent",
    "LLMConfig": "agent",
    "LLMResponse": "chat_provider",
    "Limits": "limits",
    "Media": "chat",
    "Message": "chat",
    "Note": "memory",
    "Output": "request",
    "Pause": "exchange",
    "Reply": "chat",
    "Request": "request",
    "Retry": "retry",
    "Secret": "secret",
    "Stop": "chat",
    "StreamCall": "call",
    "StreamDelta": "chat_provider",
    "Text": "chat",
    "TextDelta": "chat",
    "Thought": "chat",
    "ThoughtDelta": "chat",
    "Timeouts": "call",
    "Tool": "request",
    "ToolCall": "chat",
    "ToolCallDelta": "chat",
    "ToolCallEnd": "chat",
    "ToolCallStart": "chat",
    "ToolContext": "tools",
    "ToolResult": "chat",
    "ToolSchema": "chat_provider",
    "Usage": "chat",
    "WireError": "errors",
    "answer_account": "account",
    "create_provider": "chat_provider",
    "load_config": "agent",
    "notes": "memory",
    "tool": "tools",
    "unknown": "memory",
}
_MODULES = ("anthropic", "errors", "gemini", "history", "openai", "retry")


__getattr__ = loading("wire", _HOMES, modules=_MODULES)


def __dir__() -> list[str]:
    return sorted([*__all__, *globals()])
