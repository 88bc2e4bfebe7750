"""The messages of Anthropic's Messages, token counts, models and batches as structs, with the
fields that compatible hosts add.

Sources: anthropics/anthropic-sdk-python 0.121.0 of 2026-08-07, called the reference here; pages and
threads of the hosts; recorded traffic.

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
    CacheControl,
    Caller,
    Citation,
    CitationsConfig,
    ContentBlock,
    FallbackModel,
    Message,
    Source,
    ToolOutput,
    ToolReference,
)
from wire.anthropic.types.errors import (
    BaseResp,
    ErrorBody,
    ErrorObject,
)
from wire.anthropic.types.models import (
    Capability,
    ContextManagementCapability,
    EffortCapability,
    ModelCapabilities,
    ModelInfo,
    ModelList,
    ThinkingCapability,
    ThinkingTypes,
)
from wire.anthropic.types.request import (
    Container,
    ContextManagement,
    CountTokensRequest,
    McpServer,
    MessageRequest,
    Metadata,
    OutputConfig,
    OutputFormat,
    Skill,
    TaskBudget,
    Thinking,
    Tool,
    ToolChoice,
    UserLocation,
)

__all__ = [
    "AnthropicStruct",
    "BaseResp",
    "BatchCreateRequest",
    "BatchOutcome",
    "BatchRequest",
    "BatchRequestCounts",
    "CacheControl",
    "CacheCreation",
    "Caller",
    "Capability",
    "Citation",
    "CitationsConfig",
    "Container",
    "ContentBlock",
    "ContextManagement",
    "ContextManagementCapability",
    "CountTokensRequest",
    "DeletedBatch",
    "Delta",
    "EffortCapability",
    "ErrorBody",
    "ErrorObject",
    "FallbackModel",
    "Iteration",
    "McpServer",
    "Message",
    "MessageBatch",
    "MessageBatchList",
    "MessageBatchResult",
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
    "Skill",
    "Source",
    "StopDetails",
    "TaskBudget",
    "Thinking",
    "ThinkingCapability",
    "ThinkingTypes",
    "TokenCount",
    "Tool",
    "ToolChoice",
    "ToolOutput",
    "ToolReference",
    "Usage",
    "UserLocation",
]
