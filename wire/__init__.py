"""LLM providers over raw HTTP: exact on the wire, nothing lost, no vendor SDK.

>>> from wire import Client, gemini

Each name is imported on first use, so that `import wire.gemini` imports msgspec and no HTTP stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names, public_modules

if TYPE_CHECKING:
    from wire import anthropic as anthropic
    from wire import around as around
    from wire import bulk as bulk
    from wire import catalogue as catalogue
    from wire import gemini as gemini
    from wire import history as history
    from wire import openai as openai
    from wire.agent import Agent as Agent
    from wire.agent import GeminiAgent as GeminiAgent
    from wire.agent import Guard as Guard
    from wire.agent import LLMAgent as LLMAgent
    from wire.agent.config import LLMConfig as LLMConfig
    from wire.agent.config import load_config as load_config
    from wire.agent.provider import ChatProvider as ChatProvider
    from wire.agent.provider import FunctionCall as FunctionCall
    from wire.agent.provider import FunctionResponse as FunctionResponse
    from wire.agent.provider import GenerationConfig as GenerationConfig
    from wire.agent.provider import LLMResponse as LLMResponse
    from wire.agent.provider import MessagePart as MessagePart
    from wire.agent.provider import StreamDelta as StreamDelta
    from wire.agent.provider import ToolSchema as ToolSchema
    from wire.agent.provider import create_provider as create_provider
    from wire.agent.provider import register_provider as register_provider
    from wire.around.pace import Pace as Pace
    from wire.catalogue.catalogue import Model as Model
    from wire.catalogue.cost import Cost as Cost
    from wire.chat.batches import AsyncBatches as AsyncBatches
    from wire.chat.batches import Batches as Batches
    from wire.chat.chat import AsyncChat as AsyncChat
    from wire.chat.chat import Chat as Chat
    from wire.chat.chats import AsyncChats as AsyncChats
    from wire.chat.chats import Chats as Chats
    from wire.chat.embedding import embed as embed
    from wire.chat.fallback import AsyncFallbackChat as AsyncFallbackChat
    from wire.chat.fallback import FallbackChat as FallbackChat
    from wire.chat.fallback import fallback as fallback
    from wire.chat.models import cost as cost
    from wire.chat.models import model as model
    from wire.core import errors as errors
    from wire.core import retry as retry
    from wire.core.account import Account as Account
    from wire.core.account import answer_account as answer_account
    from wire.core.call import Call as Call
    from wire.core.call import StreamCall as StreamCall
    from wire.core.call import Timeouts as Timeouts
    from wire.core.circuits import Circuit as Circuit
    from wire.core.errors import WireError as WireError
    from wire.core.exchange import Pause as Pause
    from wire.core.extra_keys import with_extra as with_extra
    from wire.core.flow import Flow as Flow
    from wire.core.limits import Limits as Limits
    from wire.core.memory import Note as Note
    from wire.core.memory import notes as notes
    from wire.core.memory import unknown as unknown
    from wire.core.printable import printable as printable
    from wire.core.rate_limits import RateLimit as RateLimit
    from wire.core.retry import Retry as Retry
    from wire.core.secret import Secret as Secret
    from wire.history import HistoryManager as HistoryManager
    from wire.http.aio import AsyncClient as AsyncClient
    from wire.http.async_lanes import AsyncLanes as AsyncLanes
    from wire.http.client import Client as Client
    from wire.http.lanes import Lanes as Lanes
    from wire.neutral.batches import Batch as Batch
    from wire.neutral.embeddings import Embeddings as Embeddings
    from wire.neutral.messages import Citation as Citation
    from wire.neutral.messages import Done as Done
    from wire.neutral.messages import Media as Media
    from wire.neutral.messages import MediaDelta as MediaDelta
    from wire.neutral.messages import Message as Message
    from wire.neutral.messages import ObjectDelta as ObjectDelta
    from wire.neutral.messages import ProviderEvent as ProviderEvent
    from wire.neutral.messages import Reply as Reply
    from wire.neutral.messages import Restart as Restart
    from wire.neutral.messages import ServerToolCall as ServerToolCall
    from wire.neutral.messages import ServerToolResult as ServerToolResult
    from wire.neutral.messages import Stop as Stop
    from wire.neutral.messages import Text as Text
    from wire.neutral.messages import TextDelta as TextDelta
    from wire.neutral.messages import Thought as Thought
    from wire.neutral.messages import ThoughtDelta as ThoughtDelta
    from wire.neutral.messages import ToolCall as ToolCall
    from wire.neutral.messages import ToolCallDelta as ToolCallDelta
    from wire.neutral.messages import ToolCallEnd as ToolCallEnd
    from wire.neutral.messages import ToolCallStart as ToolCallStart
    from wire.neutral.messages import ToolResult as ToolResult
    from wire.neutral.messages import Usage as Usage
    from wire.neutral.models import ListedModel as ListedModel
    from wire.neutral.request import Location as Location
    from wire.neutral.request import Output as Output
    from wire.neutral.request import Request as Request
    from wire.neutral.request import ServerTool as ServerTool
    from wire.neutral.request import TokenCount as TokenCount
    from wire.neutral.request import Tool as Tool
    from wire.neutral.server_tools import code as code
    from wire.neutral.server_tools import file_search as file_search
    from wire.neutral.server_tools import url_context as url_context
    from wire.neutral.server_tools import web_search as web_search
    from wire.testing.cassette.transports import record as record
    from wire.tools import ToolContext as ToolContext
    from wire.tools import tool as tool

_NAMES = {
    "wire.agent": ("Agent", "GeminiAgent", "Guard", "LLMAgent"),
    "wire.agent.provider": (
        "ChatProvider",
        "FunctionCall",
        "FunctionResponse",
        "GenerationConfig",
        "LLMResponse",
        "MessagePart",
        "StreamDelta",
        "ToolSchema",
        "create_provider",
        "register_provider",
    ),
    "wire.chat.batches": ("AsyncBatches", "Batches"),
    "wire.catalogue.catalogue": ("Model",),
    "wire.catalogue.cost": ("Cost",),
    "wire.chat.chat": ("AsyncChat", "Chat"),
    "wire.chat.chats": ("AsyncChats", "Chats"),
    "wire.agent.config": ("LLMConfig", "load_config"),
    "wire.core.account": ("Account", "answer_account"),
    "wire.core.call": ("Call", "StreamCall", "Timeouts"),
    "wire.core.circuits": ("Circuit",),
    "wire.core.exchange": ("Pause",),
    "wire.core.extra_keys": ("with_extra",),
    "wire.core.flow": ("Flow",),
    "wire.core.limits": ("Limits",),
    "wire.core.memory": ("Note", "notes", "unknown"),
    "wire.core.printable": ("printable",),
    "wire.core.rate_limits": ("RateLimit",),
    "wire.core.retry": ("Retry",),
    "wire.core.secret": ("Secret",),
    "wire.chat.embedding": ("embed",),
    "wire.core.errors": ("WireError",),
    "wire.chat.fallback": ("AsyncFallbackChat", "FallbackChat", "fallback"),
    "wire.history": ("HistoryManager",),
    "wire.http.aio": ("AsyncClient",),
    "wire.http.client": ("Client",),
    "wire.http.async_lanes": ("AsyncLanes",),
    "wire.http.lanes": ("Lanes",),
    "wire.chat.models": ("cost", "model"),
    "wire.neutral.batches": ("Batch",),
    "wire.neutral.embeddings": ("Embeddings",),
    "wire.neutral.messages": (
        "Citation",
        "Done",
        "Media",
        "MediaDelta",
        "Message",
        "ObjectDelta",
        "ProviderEvent",
        "Reply",
        "Restart",
        "ServerToolCall",
        "ServerToolResult",
        "Stop",
        "Text",
        "TextDelta",
        "Thought",
        "ThoughtDelta",
        "ToolCall",
        "ToolCallDelta",
        "ToolCallEnd",
        "ToolCallStart",
        "ToolResult",
        "Usage",
    ),
    "wire.neutral.models": ("ListedModel",),
    "wire.neutral.request": ("Location", "Output", "Request", "ServerTool", "TokenCount", "Tool"),
    "wire.neutral.server_tools": ("code", "file_search", "url_context", "web_search"),
    "wire.around.pace": ("Pace",),
    "wire.testing.cassette.transports": ("record",),
    "wire.tools": ("ToolContext", "tool"),
}
_MODULES = {
    "anthropic": "wire.anthropic",
    "around": "wire.around",
    "bulk": "wire.bulk",
    "catalogue": "wire.catalogue",
    "errors": "wire.core.errors",
    "gemini": "wire.gemini",
    "history": "wire.history",
    "openai": "wire.openai",
    "retry": "wire.core.retry",
}
public_modules(
    "wire",
    {
        "errors": "wire.core.errors",
        "gateway": "wire.serving",
        "otel": "wire.around.otel",
        "pace": "wire.around.pace",
        "providers": "wire.wires.providers",
        "retry": "wire.core.retry",
        "sse": "wire.core.sse",
    },
)

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names("wire", _NAMES, modules=_MODULES)
