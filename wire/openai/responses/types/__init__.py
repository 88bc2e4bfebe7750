"""The messages of OpenAI's Responses as structs, with the fields that compatible hosts add.

Sources: openai/openai-openapi of 2026-08-21 (API 2.3.0), called the reference here, with its twin
schemas of the beta responses_multi_agent=v1; the types of openai-python 3.54.0 of November 2026;
recorded traffic of OpenAI and of ten other hosts.

Rules of this folder:

- snake_case, as on the wire. One open struct for each concept instead of one for each type: an
  unknown type of item, part, tool or event is not an error, and a received item can be sent.
- Fields are keyword-only and optional: `None` is not sent; `0`, `False`, `""`, `[]` and an empty
  struct (`{}`) are sent. `null` is decoded as `None`.
- Enums are text, so that unknown values can be read; docstrings list the known values.
- base64 is text and is not decoded. Times are Unix times in seconds.
- The hosts and the source of a field that is not the reference's are in the `Facts` of its
  annotation, and nowhere else; docs/fields.md lists them. Other hosts may answer 400 to it.
"""

from wire.openai.common.types.base import OpenAIStruct
from wire.openai.common.types.errors import ErrorObject
from wire.openai.responses.types.answer import (
    Billing,
    CacheWriteTokensDetails,
    Compaction,
    ContentFilter,
    DeletedResponse,
    IncompleteDetails,
    InputTokenCount,
    InputTokensDetails,
    InputTransformation,
    ItemList,
    Moderation,
    ModerationResult,
    OutputTokensDetails,
    PromptCacheDiagnostics,
    Response,
    ResponseError,
    ResponseUsage,
)
from wire.openai.responses.types.conversations import (
    Conversation,
    ConversationRequest,
    DeletedConversation,
    ItemsRequest,
)
from wire.openai.responses.types.events import (
    StreamEvent,
)
from wire.openai.responses.types.items import (
    Action,
    Agent,
    Annotation,
    Caller,
    CodeOutput,
    ContentPart,
    Item,
    ItemError,
    Outcome,
    PatchOperation,
    Point,
    PromptCacheBreakpoint,
    SafetyCheck,
    SearchResult,
    SearchSource,
    TokenLogprob,
    TopLogprob,
)
from wire.openai.responses.types.options import (
    Reasoning,
    TextFormat,
    TextOptions,
)
from wire.openai.responses.types.request import (
    AccessPrograms,
    BackgroundOptions,
    CompactRequest,
    ContextManagement,
    ConversationId,
    ImageOptions,
    InputTokensRequest,
    ModerationConfig,
    ModerationOptions,
    ModerationPolicy,
    MultiAgent,
    Prompt,
    PromptCacheOptions,
    ResponseRequest,
    ResponseSteer,
    StreamOptions,
)
from wire.openai.responses.types.tools import (
    CustomFormat,
    DomainSecret,
    Environment,
    Filter,
    HybridSearch,
    ImageMask,
    NetworkPolicy,
    RankingOptions,
    RequiredApproval,
    Skill,
    SkillSource,
    Tool,
    ToolChoice,
    ToolFilter,
    UserLocation,
)

__all__ = [
    "AccessPrograms",
    "Action",
    "Agent",
    "Annotation",
    "BackgroundOptions",
    "Billing",
    "CacheWriteTokensDetails",
    "Caller",
    "CodeOutput",
    "CompactRequest",
    "Compaction",
    "ContentFilter",
    "ContentPart",
    "ContextManagement",
    "Conversation",
    "ConversationId",
    "ConversationRequest",
    "CustomFormat",
    "DeletedConversation",
    "DeletedResponse",
    "DomainSecret",
    "Environment",
    "ErrorObject",
    "Filter",
    "HybridSearch",
    "ImageMask",
    "ImageOptions",
    "IncompleteDetails",
    "InputTokenCount",
    "InputTokensDetails",
    "InputTokensRequest",
    "InputTransformation",
    "Item",
    "ItemError",
    "ItemList",
    "ItemsRequest",
    "Moderation",
    "ModerationConfig",
    "ModerationOptions",
    "ModerationPolicy",
    "ModerationResult",
    "MultiAgent",
    "NetworkPolicy",
    "OpenAIStruct",
    "Outcome",
    "OutputTokensDetails",
    "PatchOperation",
    "Point",
    "Prompt",
    "PromptCacheBreakpoint",
    "PromptCacheDiagnostics",
    "PromptCacheOptions",
    "RankingOptions",
    "Reasoning",
    "RequiredApproval",
    "Response",
    "ResponseError",
    "ResponseRequest",
    "ResponseSteer",
    "ResponseUsage",
    "SafetyCheck",
    "SearchResult",
    "SearchSource",
    "Skill",
    "SkillSource",
    "StreamEvent",
    "StreamOptions",
    "TextFormat",
    "TextOptions",
    "TokenLogprob",
    "Tool",
    "ToolChoice",
    "ToolFilter",
    "TopLogprob",
    "UserLocation",
]
