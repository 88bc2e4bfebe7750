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

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.openai.chat.types.answer": """
        ChatCompletion ChatCompletionChunk Choice ChunkChoice CompletionTokensDetails
        CompletionUsage Logprobs Moderation ModerationResult ModerationResults
        PromptFilterResult PromptTokensDetails SearchResult TokenLogprob TopLogprob XGroq
    """,
    "wire.openai.chat.types.message": """
        Annotation Audio CacheControl ContentPart CustomCall Delta FileInput FunctionCall
        ImageUrl InputAudio Message PromptCacheBreakpoint ReasoningDetail ToolCall
        UrlCitation VideoUrl
    """,
    "wire.openai.chat.types.request": """
        ApproximateLocation AudioOptions ChatCompletionRequest CustomVoice JsonSchema
        ModerationConfig ModerationOptions ModerationPolicy Prediction PromptCacheOptions
        ReasoningOptions ResponseFormat StreamOptions Thinking UserLocation WebSearchOptions
    """,
    "wire.openai.chat.types.tools": """
        AllowedTools CustomFormat CustomTool FunctionDefinition Grammar NamedFunction Tool
        ToolChoice
    """,
    "wire.openai.common.types.audio": """
        AudioTokens AudioUsage SpeechEvent SpeechRequest SpeechResponse SpokenAudio
        Transcription TranscriptionEvent TranscriptionLanguage TranscriptionLogprob
        TranscriptionRequest TranscriptionSegment TranscriptionWord
    """,
    "wire.openai.common.types.base": "OpenAIStruct",
    "wire.openai.common.types.batches": """
        Batch BatchCreateRequest BatchError BatchErrors BatchInputTokens BatchList
        BatchOutputTokens BatchRequestCounts BatchResponse BatchResult BatchResultError
        BatchUsage
    """,
    "wire.openai.common.types.decisions": """
        Decision DecisionAnswer DecisionCacheBreakpoint DecisionCacheOptions DecisionChoice
        DecisionInputTokensDetails DecisionItem DecisionLevel DecisionOutputTokensDetails
        DecisionPart DecisionProbability DecisionQuestion DecisionRequest DecisionUsage
        SystemOneAnswer SystemOneBox SystemOneQuestion SystemOneRequest SystemOneResponse
        SystemOneUsage
    """,
    "wire.openai.common.types.embeddings": """
        Embedding EmbeddingList EmbeddingRequest EmbeddingUsage
    """,
    "wire.openai.common.types.errors": "BaseResp ErrorBody ErrorObject",
    "wire.openai.common.types.files": "DeletedFile ExpiresAfter File FileList",
    "wire.openai.common.types.images": """
        GeneratedImage ImageEvent ImageList ImagePart ImageReference ImageRequest
        ImageTokens ImageUsage
    """,
    "wire.openai.common.types.models": "DeletedModel Model ModelList",
}

__getattr__, __dir__ = lazy_names("wire.openai.chat.types", _NAMES)
