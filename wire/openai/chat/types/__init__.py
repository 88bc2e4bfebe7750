"""The messages of OpenAI's chat completions, embeddings and models as structs, with the fields that
compatible hosts add.

Sources: openai/openai-openapi of 2026-08-21 (API 2.3.0), called the reference here; pages and
threads of the hosts; recorded traffic of some thirty hosts.

Rules of this folder:

- snake_case, as on the wire. One open struct for each concept instead of one for each role or type:
  an unknown role, type or kind of part is not an error, and a received message can be sent.
- Fields are keyword-only. A request requires what OpenAI requires (`model` and `messages` or
  `input`); everything else is optional: `None` is not sent; `0`, `False`, `""`, `[]`
  and an empty struct (`{}`) are sent. `null` is decoded as `None`.
- Enums are text, so that unknown values can be read; docstrings list the known values.
- base64 is text and is not decoded. Times are Unix times in seconds.
- The hosts and the source of a field that is not OpenAI's are in the `Facts` of its annotation, and
  nowhere else; docs/fields.md lists them. Other hosts may answer 400 to it.
"""

from wire.openai.chat.types.answer import (
    ChatCompletion,
    ChatCompletionChunk,
    Choice,
    ChunkChoice,
    CompletionTokensDetails,
    CompletionUsage,
    Logprobs,
    Moderation,
    ModerationResult,
    ModerationResults,
    PromptFilterResult,
    PromptTokensDetails,
    SearchResult,
    TokenLogprob,
    TopLogprob,
    XGroq,
)
from wire.openai.chat.types.message import (
    Annotation,
    Audio,
    CacheControl,
    ContentPart,
    CustomCall,
    Delta,
    FileInput,
    FunctionCall,
    ImageUrl,
    InputAudio,
    Message,
    PromptCacheBreakpoint,
    ReasoningDetail,
    ToolCall,
    UrlCitation,
    VideoUrl,
)
from wire.openai.chat.types.request import (
    ApproximateLocation,
    AudioOptions,
    ChatCompletionRequest,
    CustomVoice,
    JsonSchema,
    ModerationConfig,
    ModerationOptions,
    ModerationPolicy,
    Prediction,
    PromptCacheOptions,
    ReasoningOptions,
    ResponseFormat,
    StreamOptions,
    Thinking,
    UserLocation,
    WebSearchOptions,
)
from wire.openai.chat.types.tools import (
    AllowedTools,
    CustomFormat,
    CustomTool,
    FunctionDefinition,
    Grammar,
    NamedFunction,
    Tool,
    ToolChoice,
)
from wire.openai.common.types.base import (
    OpenAIStruct,
)
from wire.openai.common.types.batches import (
    Batch,
    BatchCreateRequest,
    BatchError,
    BatchErrors,
    BatchInputTokens,
    BatchList,
    BatchOutputTokens,
    BatchRequestCounts,
    BatchResponse,
    BatchResult,
    BatchResultError,
    BatchUsage,
)
from wire.openai.common.types.embeddings import (
    Embedding,
    EmbeddingList,
    EmbeddingRequest,
    EmbeddingUsage,
)
from wire.openai.common.types.errors import (
    BaseResp,
    ErrorBody,
    ErrorObject,
)
from wire.openai.common.types.files import DeletedFile, ExpiresAfter, File, FileList
from wire.openai.common.types.models import DeletedModel, Model, ModelList

__all__ = [
    "AllowedTools",
    "Annotation",
    "ApproximateLocation",
    "Audio",
    "AudioOptions",
    "BaseResp",
    "Batch",
    "BatchCreateRequest",
    "BatchError",
    "BatchErrors",
    "BatchInputTokens",
    "BatchList",
    "BatchOutputTokens",
    "BatchRequestCounts",
    "BatchResponse",
    "BatchResult",
    "BatchResultError",
    "BatchUsage",
    "CacheControl",
    "ChatCompletion",
    "ChatCompletionChunk",
    "ChatCompletionRequest",
    "Choice",
    "ChunkChoice",
    "CompletionTokensDetails",
    "CompletionUsage",
    "ContentPart",
    "CustomCall",
    "CustomFormat",
    "CustomTool",
    "CustomVoice",
    "DeletedFile",
    "DeletedModel",
    "Delta",
    "Embedding",
    "EmbeddingList",
    "EmbeddingRequest",
    "EmbeddingUsage",
    "ErrorBody",
    "ErrorObject",
    "ExpiresAfter",
    "File",
    "FileInput",
    "FileList",
    "FunctionCall",
    "FunctionDefinition",
    "Grammar",
    "ImageUrl",
    "InputAudio",
    "JsonSchema",
    "Logprobs",
    "Message",
    "Model",
    "ModelList",
    "Moderation",
    "ModerationConfig",
    "ModerationOptions",
    "ModerationPolicy",
    "ModerationResult",
    "ModerationResults",
    "NamedFunction",
    "OpenAIStruct",
    "Prediction",
    "PromptCacheBreakpoint",
    "PromptCacheOptions",
    "PromptFilterResult",
    "PromptTokensDetails",
    "ReasoningDetail",
    "ReasoningOptions",
    "ResponseFormat",
    "SearchResult",
    "StreamOptions",
    "Thinking",
    "TokenLogprob",
    "Tool",
    "ToolCall",
    "ToolChoice",
    "TopLogprob",
    "UrlCitation",
    "UserLocation",
    "VideoUrl",
    "WebSearchOptions",
    "XGroq",
]
