"""The messages of Gemini's REST API as structs: generateContent and its family, countTokens,
models, files, caches, batches, errors.

Sources: the Discovery document of 2026-08-22 (v1beta), called the reference here; google-genai
3.3.0 (November 2026); recorded traffic of both hosts.

Rules of this folder:

- snake_case here, camelCase on the wire. One struct for each message, under the vendor's name;
  shortened names are in `VENDOR_NAMES`.
- Every field is optional and by keyword: the server decides what a request needs. `None` is absent
  and is not sent; `0`, `False`, `""`, `[]` and an empty struct (`{}`) are sent. Where `null` is a
  value (type `Any`), absent is `msgspec.UNSET`.
- Enums are open: a field takes any text. The enum classes name the values that are known.
- base64, timestamps (RFC 3339) and durations (`"34.4s"`) stay text, as received. An int64 is a
  JSON string in responses; requests may have either form.
- Hosts, source, first date and one-of group of a field stand in the `Facts` of its annotation, and
  only there. docs/fields.md lists them. The Gemini API answers 400 to a key that it does not know
  (G1).

G numbers are rules of the server; docs/rules.md lists them.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.gemini.types.answer": """
        AttributionSourceId BillablePromptUsage Candidate Citation CitationMetadata
        CitationSource Date GenerateContentResponse GroundingAttribution GroundingChunk
        GroundingChunkCustomMetadata GroundingChunkStringList GroundingMetadata
        GroundingPassageId GroundingSupport Image LogprobsResult LogprobsResultCandidate
        Maps ModalityTokenCount ModelStatus PlaceAnswerSources PromptFeedback
        RetrievalMetadata RetrievedContext ReviewSnippet SafetyRating SearchEntryPoint
        Segment SemanticRetrieverChunk SourceFlaggingUri TopCandidates UrlContextMetadata
        UrlMetadata UsageMetadata Web
    """,
    "wire.gemini.types.base": "GeminiStruct OpenEnum OpenFloat VENDOR_NAMES",
    "wire.gemini.types.batches": """
        AsyncBatchEmbedContentRequest BatchGenerateContentRequest BatchOperation BatchState
        BatchStats EmbedBatchOperation EmbedContentBatch EmbedContentBatchOutput
        EmbedContentBatchStats GenerateContentBatch GenerateContentBatchOutput
        InlinedEmbedContentRequest InlinedEmbedContentRequests InlinedEmbedContentResponse
        InlinedEmbedContentResponses InlinedRequest InlinedRequests InlinedResponse
        InlinedResponses InputConfig InputEmbedContentConfig ListBatchesResponse
    """,
    "wire.gemini.types.caches": """
        CachedContent CachedContentUsageMetadata ListCachedContentsResponse
    """,
    "wire.gemini.types.content": """
        Blob CodeExecutionResult Content ExecutableCode FileData FunctionCall
        FunctionResponse FunctionResponseBlob FunctionResponseFileData FunctionResponsePart
        MediaResolution Part PartialArg SpeechMetadata ToolCall ToolResponse Transcription
        VideoMetadata WordInfo
    """,
    "wire.gemini.types.decisions": """
        CreateDecisionRequest CreateDecisionResponse DecisionAnswer DecisionContent
        DecisionFeedback DecisionModalityTokens DecisionQuestion DecisionToolCount
        DecisionUsage
    """,
    "wire.gemini.types.embeddings": """
        BatchEmbedContentsRequest BatchEmbedContentsResponse ContentEmbedding
        ContentEmbeddingStatistics EmbedContentConfig EmbedContentRequest
        EmbedContentResponse EmbeddingUsageMetadata TaskType
    """,
    "wire.gemini.types.enums": """
        AspectRatio AudioMimeType Behavior BlockReason ComputerEnvironment
        ComputerSafetyPolicy Delivery DynamicRetrievalMode FinishReason FunctionCallingMode
        HarmBlockMethod HarmBlockThreshold HarmCategory HarmProbability HarmSeverity
        ImageMimeType ImageSize Language MediaProcessing MediaResolutionLevel Modality
        ModelStage Outcome PersonGeneration PhishBlockThreshold ProminentPeople
        ResponseModality RoutingPreference Scheduling SchemaType ServiceTier TextMimeType
        ThinkingLevel ToolType TrafficType TranscriptionMode UrlRetrievalStatus
    """,
    "wire.gemini.types.files": """
        CreateFileRequest CreateFileResponse File FileSource FileState ListFilesResponse
        RegisterFilesRequest RegisterFilesResponse VideoFileMetadata
    """,
    "wire.gemini.types.models": """
        Checkpoint ContentTokens CountTokensRequest CountTokensResponse ListModelsResponse
        Model
    """,
    "wire.gemini.types.operations": "Empty ListOperationsResponse Operation",
    "wire.gemini.types.predict": """
        ComputeTokensRequest ComputeTokensResponse PredictRequest PredictResponse TokensInfo
    """,
    "wire.gemini.types.request": """
        AudioResponseFormat AudioTranscriptionConfig AutoRoutingMode GenerateContentRequest
        GenerationConfig ImageConfig ImageOutputOptions ImageResponseFormat LanguageAuto
        LanguageHints ManualRoutingMode ModelArmorConfig ModelConfig MultiSpeakerVoiceConfig
        PrebuiltVoiceConfig ReplicatedVoiceConfig ResponseFormatConfig RoutingConfig
        SafetySetting SpeakerVoiceConfig SpeechConfig TextResponseFormat ThinkingConfig
        TranslationConfig VoiceConfig VoiceConsentSignature
    """,
    "wire.gemini.types.status": """
        ErrorBody ErrorDetail FieldViolation HelpLink QuotaViolation Status
    """,
    "wire.gemini.types.stores": """
        ChunkingConfig CustomMetadata Document DocumentState FileSearchStore
        ImportFileRequest ListDocumentsResponse ListFileSearchStoresResponse StringList
        UploadToFileSearchStoreRequest WhiteSpaceConfig
    """,
    "wire.gemini.types.tools": """
        CodeExecution ComputerUse DynamicRetrievalConfig EnterpriseWebSearch ExaAiSearch
        FileSearch FunctionCallingConfig FunctionDeclaration GoogleMaps
        GoogleMapsGroundingTypes GoogleMapsPlaces GoogleMapsRouting GoogleSearch
        GoogleSearchRetrieval ImageSearch Interval LatLng McpServer ParallelAiSearch
        RetrievalConfig Schema SearchTypes StreamableHttpTransport Tool ToolConfig
        UrlContext WebSearch
    """,
}

__getattr__, __dir__ = lazy_names("wire.gemini.types", _NAMES)
