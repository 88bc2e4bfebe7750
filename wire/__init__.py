"""LLM providers over raw HTTP: exact on the wire, nothing lost, no vendor SDK.

>>> from wire import Client, gemini

Each name is imported on first use, so that `import wire.gemini` imports msgspec and no HTTP stack.
"""

from wire.core.lazy import lazy_names as _lazy_names
from wire.core.lazy import public_modules as _public_modules

_NAMES = {
    "wire.agent": "Agent GeminiAgent Guard LLMAgent",
    "wire.agent.provider": """
        ChatProvider create_provider FunctionCall FunctionResponse GenerationConfig
        LLMResponse MessagePart register_provider StreamDelta ToolSchema
    """,
    "wire.chat.batches": "AsyncBatches Batches",
    "wire.catalogue.catalogue": "Model",
    "wire.catalogue.cost": "Cost",
    "wire.catalogue.usage": "Usage",
    "wire.chat.chat": "AsyncChat Chat",
    "wire.chat.chats": "AsyncChats Chats",
    "wire.agent.config": "LLMConfig load_config",
    "wire.core.account": "Account",
    "wire.core.call": "Call SocketCall StreamCall Timeouts",
    "wire.core.circuits": "Circuit",
    "wire.core.exchange": "Pause",
    "wire.core.extra_keys": "with_extra",
    "wire.core.flow": "Flow",
    "wire.core.limits": "Limits",
    "wire.core.memory": "answer_account Note notes unknown",
    "wire.core.terminal_text": "printable",
    "wire.core.rate_limits": "RateLimit",
    "wire.core.retry": "Retry",
    "wire.core.secret": "Secret",
    "wire.chat.single_calls": "decide embed",
    "wire.chat.single_media": "image speak transcribe",
    "wire.core.errors": "WireError",
    "wire.chat.fallback": "AsyncFallbackChat fallback FallbackChat",
    "wire.history": "HistoryManager",
    "wire.http.aio": "AsyncClient",
    "wire.http.client": "Client",
    "wire.http.async_lanes": "AsyncLanes",
    "wire.http.lanes": "Lanes",
    "wire.chat.models": "cost model",
    "wire.neutral.batches": "Batch",
    "wire.neutral.compaction": "Compaction",
    "wire.neutral.decisions": "Decision Decisions one_of Question scale yes_no",
    "wire.neutral.embeddings": "Embeddings",
    "wire.neutral.images": "ImageRequest Images PartialImage",
    "wire.neutral.messages": """
        Citation Done Media MediaDelta Message ObjectDelta Origin ProviderEvent Reply Restart
        ServerToolCall ServerToolResult Stop Text TextDelta Thought ThoughtDelta ToolCall
        ToolCallDelta ToolCallEnd ToolCallStart ToolResult
    """,
    "wire.neutral.models": "ListedModel",
    "wire.neutral.request": "Location Output Request ServerTool TokenCount Tool",
    "wire.neutral.server_tools": "code file_search url_context web_search",
    "wire.neutral.speech": "Speech SpeechRequest",
    "wire.neutral.transcripts": """
        Transcript TranscriptRequest TranscriptSegment TranscriptWord
    """,
    "wire.around.pace": "Pace",
    "wire.testing.cassette.transports": "record",
    "wire.tools": "tool ToolContext",
}
_MODULES = {
    "anthropic": "wire.anthropic",
    "around": "wire.around",
    "auth": "wire.auth",
    "bulk": "wire.bulk",
    "catalogue": "wire.catalogue",
    "converse": "wire.converse",
    "ollama": "wire.ollama",
    "errors": "wire.errors",
    "gemini": "wire.gemini",
    "history": "wire.history",
    "openai": "wire.openai",
    "retry": "wire.retry",
}
_PUBLIC_MODULES = {
    "errors": "wire.core.errors",
    "gateway": "wire.serving",
    "otel": "wire.around.otel",
    "pace": "wire.around.pace",
    "providers": "wire.wires.providers",
    "retry": "wire.core.retry",
    "sse": "wire.core.sse",
}
"""Public names of modules that are files of a room."""

_public_modules("wire", _PUBLIC_MODULES)
__getattr__, __dir__ = _lazy_names("wire", _NAMES, modules=_MODULES)
