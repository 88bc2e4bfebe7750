"""The messages of Google's Interactions API as structs.

Sources: the types of google-genai 3.4.0, called the reference here, read on 2026-11-21; recorded
traffic of May and June 2026.

Rules of this folder:

- snake_case, as on the wire. One open struct for each concept instead of one for each type: an
  unknown type of step, content, tool or event is not an error, and a received step can be sent.
- Fields are keyword-only and optional: `None` is not sent; `0`, `False`, `""`, `[]` and an empty
  struct (`{}`) are sent. `null` is decoded as `None`.
- Enums are text, so that unknown values can be read; docstrings list the known values.
- base64 is text and is not decoded. Times are text in RFC 3339.
- The source of a field that is not the reference's is in the `Facts` of its annotation, and nowhere
  else; docs/fields.md lists them.
"""

from wire.gemini.interactions.types.answer import (
    DeletedInteraction,
    ErrorBody,
    EventMetadata,
    GroundingToolCount,
    Interaction,
    InteractionError,
    InteractionEvent,
    ModalityTokens,
    Usage,
)
from wire.gemini.interactions.types.base import InteractionsStruct
from wire.gemini.interactions.types.content import (
    Annotation,
    Content,
    MediaProcessing,
    PageProcessingOptions,
    ReviewSnippet,
    SpreadsheetProcessingOptions,
)
from wire.gemini.interactions.types.request import (
    AgentConfig,
    AllowlistEntry,
    CodeRequest,
    Environment,
    EnvVar,
    FileContent,
    GenerationConfig,
    ImageConfig,
    InteractionRequest,
    NetworkAllowlist,
    ResponseFormat,
    SafetySetting,
    SessionConfig,
    Source,
    SpeakerConfig,
    SpeechConfig,
    TranscriptionConfig,
    TranscriptionMode,
    VideoConfig,
    WebhookConfig,
)
from wire.gemini.interactions.types.steps import (
    Delta,
    Step,
    StepError,
)
from wire.gemini.interactions.types.tools import (
    AllowedTools,
    ExaAISearchConfig,
    HybridSearch,
    ParallelAISearchConfig,
    RagFilter,
    RagResource,
    RagRetrievalConfig,
    RagStoreConfig,
    Ranking,
    RankService,
    Tool,
    ToolChoice,
    VertexAISearchConfig,
)

__all__ = [
    "AgentConfig",
    "AllowedTools",
    "AllowlistEntry",
    "Annotation",
    "CodeRequest",
    "Content",
    "DeletedInteraction",
    "Delta",
    "EnvVar",
    "Environment",
    "ErrorBody",
    "EventMetadata",
    "ExaAISearchConfig",
    "FileContent",
    "GenerationConfig",
    "GroundingToolCount",
    "HybridSearch",
    "ImageConfig",
    "Interaction",
    "InteractionError",
    "InteractionEvent",
    "InteractionRequest",
    "InteractionsStruct",
    "MediaProcessing",
    "ModalityTokens",
    "NetworkAllowlist",
    "PageProcessingOptions",
    "ParallelAISearchConfig",
    "RagFilter",
    "RagResource",
    "RagRetrievalConfig",
    "RagStoreConfig",
    "RankService",
    "Ranking",
    "ResponseFormat",
    "ReviewSnippet",
    "SafetySetting",
    "SessionConfig",
    "Source",
    "SpeakerConfig",
    "SpeechConfig",
    "SpreadsheetProcessingOptions",
    "Step",
    "StepError",
    "Tool",
    "ToolChoice",
    "TranscriptionConfig",
    "TranscriptionMode",
    "Usage",
    "VertexAISearchConfig",
    "VideoConfig",
    "WebhookConfig",
]
