"""The messages of Anthropic's Messages, token counts, models and batches as structs, with what
compatible hosts add.

Sources: anthropics/anthropic-sdk-python 0.121.0 of 2026-08-07, pages and threads of the hosts, and
recorded traffic.

Rules of this folder:

- snake_case, as on the wire. One open struct per concept instead of one for each role or type: an
  unknown role, type of block, delta or event is no error, and what an answer says can be put in a
  request.
- Fields are by keyword. A request needs what Anthropic needs (`model`, `messages`, `max_tokens`);
  everything else is optional: `None` is absent and is not sent; `0`, `False`, `""`, `[]` and an
  empty struct (`{}`) are sent. `null` reads as absent.
- Enums are text, also one that no list has; docstrings name the values known so far.
- base64 is text and stays as it came. Times are text (RFC 3339).
- Beta and what is not Anthropic's says so; a server may answer 400 to it.
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
