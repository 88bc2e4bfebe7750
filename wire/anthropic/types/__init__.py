"""The messages of Anthropic's Messages, token counts, models and batches as structs, with the
fields that compatible hosts add.

Sources: anthropics/anthropic-sdk-python, 0.121.0 of 2026-08-07 and 2.12.0 of November 2026 without
its beta types, called the reference here; the beta types of 2.12.0; pages and threads of the hosts;
recorded traffic.

Rules of this folder:

- snake_case, as on the wire. One open struct for each concept instead of one for each role or type:
  an unknown role, type of block, delta or event is not an error, and a received message can be
  sent.
- Fields are keyword-only. A request requires what Anthropic requires (`model`, `messages`,
  `max_tokens`); everything else is optional: `None` is not sent; `0`, `False`, `""`,
  `[]` and an empty struct (`{}`) are sent. `null` is decoded as `None`.
- Enums are text, so that unknown values can be read; docstrings list the known values.
- base64 is text and is not decoded. Times are text (RFC 3339).
- The hosts and the source of a field that the reference lacks are in the `Facts` of its annotation,
  and nowhere else; docs/fields.md lists them. A server may answer 400 to a field of a beta or of
  another host.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.anthropic.types.answer": """
        CacheCreation Delta Iteration MessageResponse MessageStreamEvent OutputTokensDetails
        ServerToolUsage StopDetails TokenCount Usage
    """,
    "wire.anthropic.types.base": "AnthropicStruct",
    "wire.anthropic.types.batches": """
        BatchCreateRequest BatchOutcome BatchRequest BatchRequestCounts DeletedBatch
        MessageBatch MessageBatchList MessageBatchResult
    """,
    "wire.anthropic.types.content": """
        BrowserStateChange BrowserTab CacheControl Caller Citation CitationsConfig
        ContentBlock FallbackModel ImageTransformations Message MessageOutputConfig Source
        ToolOutput ToolReference
    """,
    "wire.anthropic.types.errors": "BaseResp ErrorBody ErrorObject",
    "wire.anthropic.types.files": "DeletedFile FileList FileMetadata",
    "wire.anthropic.types.models": """
        Capability CompactionCapability ContextManagementCapability EffortCapability
        ModelCapabilities ModelInfo ModelList ServerToolsCapability ThinkingCapability
        ThinkingTypes
    """,
    "wire.anthropic.types.request": """
        BillingPolicy CacheMissReason Compaction Container ContextManagement
        CountTokensRequest Diagnostics Fallback FallbackCredit McpServer MessageRequest
        Metadata OutputConfig OutputFormat Skill TaskBudget Thinking Thread Tool ToolChoice
        UrlSource UrlSources UserLocation
    """,
}

__getattr__, __dir__ = lazy_names("wire.anthropic.types", _NAMES)
