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

from wire.anthropic.types.answer import (
    CacheCreation,
    Delta,
    Iteration,
    MessageResponse,
    MessageStreamEvent,
    OutputTokensDetails,
    ServerToolUsage,
    StopDetails,
    TokenCount,
    Usage,
)
from wire.anthropic.types.base import (
    AnthropicStruct,
)
from wire.anthropic.types.batches import (
    BatchCreateRequest,
    BatchOutcome,
    BatchRequest,
    BatchRequestCounts,
    DeletedBatch,
    MessageBatch,
    MessageBatchList,
    MessageBatchResult,
)
from wire.anthropic.types.content import (
    BrowserStateChange,
    BrowserTab,
    CacheControl,
    Caller,
    Citation,
    CitationsConfig,
    ContentBlock,
    FallbackModel,
    ImageTransformations,
    Message,
    MessageOutputConfig,
    Source,
    ToolOutput,
    ToolReference,
)
from wire.anthropic.types.errors import (
    BaseResp,
    ErrorBody,
    ErrorObject,
)
from wire.anthropic.types.files import DeletedFile, FileList, FileMetadata
from wire.anthropic.types.models import (
    Capability,
    CompactionCapability,
    ContextManagementCapability,
    EffortCapability,
    ModelCapabilities,
    ModelInfo,
    ModelList,
    ServerToolsCapability,
    ThinkingCapability,
    ThinkingTypes,
)
from wire.anthropic.types.request import (
    BillingPolicy,
    CacheMissReason,
    Compaction,
    Container,
    ContextManagement,
    CountTokensRequest,
    Diagnostics,
    Fallback,
    FallbackCredit,
    McpServer,
    MessageRequest,
    Metadata,
    OutputConfig,
    OutputFormat,
    Skill,
    TaskBudget,
    Thinking,
    Thread,
    Tool,
    ToolChoice,
    UrlSource,
    UrlSources,
    UserLocation,
)

__all__ = [
    "AnthropicStruct",
    "BaseResp",
    "BatchCreateRequest",
    "BatchOutcome",
    "BatchRequest",
    "BatchRequestCounts",
    "BillingPolicy",
    "BrowserStateChange",
    "BrowserTab",
    "CacheControl",
    "CacheCreation",
    "CacheMissReason",
    "Caller",
    "Capability",
    "Citation",
    "CitationsConfig",
    "Compaction",
    "CompactionCapability",
    "Container",
    "ContentBlock",
    "ContextManagement",
    "ContextManagementCapability",
    "CountTokensRequest",
    "DeletedBatch",
    "DeletedFile",
    "Delta",
    "Diagnostics",
    "EffortCapability",
    "ErrorBody",
    "ErrorObject",
    "Fallback",
    "FallbackCredit",
    "FallbackModel",
    "FileList",
    "FileMetadata",
    "ImageTransformations",
    "Iteration",
    "McpServer",
    "Message",
    "MessageBatch",
    "MessageBatchList",
    "MessageBatchResult",
    "MessageOutputConfig",
    "MessageRequest",
    "MessageResponse",
    "MessageStreamEvent",
    "Metadata",
    "ModelCapabilities",
    "ModelInfo",
    "ModelList",
    "OutputConfig",
    "OutputFormat",
    "OutputTokensDetails",
    "ServerToolUsage",
    "ServerToolsCapability",
    "Skill",
    "Source",
    "StopDetails",
    "TaskBudget",
    "Thinking",
    "ThinkingCapability",
    "ThinkingTypes",
    "Thread",
    "TokenCount",
    "Tool",
    "ToolChoice",
    "ToolOutput",
    "ToolReference",
    "UrlSource",
    "UrlSources",
    "Usage",
    "UserLocation",
]
