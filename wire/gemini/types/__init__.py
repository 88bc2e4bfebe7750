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

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.gemini.types.answer import AttributionSourceId as AttributionSourceId
    from wire.gemini.types.answer import BillablePromptUsage as BillablePromptUsage
    from wire.gemini.types.answer import Candidate as Candidate
    from wire.gemini.types.answer import Citation as Citation
    from wire.gemini.types.answer import CitationMetadata as CitationMetadata
    from wire.gemini.types.answer import CitationSource as CitationSource
    from wire.gemini.types.answer import Date as Date
    from wire.gemini.types.answer import GenerateContentResponse as GenerateContentResponse
    from wire.gemini.types.answer import GroundingAttribution as GroundingAttribution
    from wire.gemini.types.answer import GroundingChunk as GroundingChunk
    from wire.gemini.types.answer import (
        GroundingChunkCustomMetadata as GroundingChunkCustomMetadata,
    )
    from wire.gemini.types.answer import GroundingChunkStringList as GroundingChunkStringList
    from wire.gemini.types.answer import GroundingMetadata as GroundingMetadata
    from wire.gemini.types.answer import GroundingPassageId as GroundingPassageId
    from wire.gemini.types.answer import GroundingSupport as GroundingSupport
    from wire.gemini.types.answer import Image as Image
    from wire.gemini.types.answer import LogprobsResult as LogprobsResult
    from wire.gemini.types.answer import LogprobsResultCandidate as LogprobsResultCandidate
    from wire.gemini.types.answer import Maps as Maps
    from wire.gemini.types.answer import ModalityTokenCount as ModalityTokenCount
    from wire.gemini.types.answer import ModelStatus as ModelStatus
    from wire.gemini.types.answer import PlaceAnswerSources as PlaceAnswerSources
    from wire.gemini.types.answer import PromptFeedback as PromptFeedback
    from wire.gemini.types.answer import RetrievalMetadata as RetrievalMetadata
    from wire.gemini.types.answer import RetrievedContext as RetrievedContext
    from wire.gemini.types.answer import ReviewSnippet as ReviewSnippet
    from wire.gemini.types.answer import SafetyRating as SafetyRating
    from wire.gemini.types.answer import SearchEntryPoint as SearchEntryPoint
    from wire.gemini.types.answer import Segment as Segment
    from wire.gemini.types.answer import SemanticRetrieverChunk as SemanticRetrieverChunk
    from wire.gemini.types.answer import SourceFlaggingUri as SourceFlaggingUri
    from wire.gemini.types.answer import TopCandidates as TopCandidates
    from wire.gemini.types.answer import UrlContextMetadata as UrlContextMetadata
    from wire.gemini.types.answer import UrlMetadata as UrlMetadata
    from wire.gemini.types.answer import UsageMetadata as UsageMetadata
    from wire.gemini.types.answer import Web as Web
    from wire.gemini.types.base import VENDOR_NAMES as VENDOR_NAMES
    from wire.gemini.types.base import GeminiStruct as GeminiStruct
    from wire.gemini.types.base import OpenEnum as OpenEnum
    from wire.gemini.types.base import OpenFloat as OpenFloat
    from wire.gemini.types.batches import (
        AsyncBatchEmbedContentRequest as AsyncBatchEmbedContentRequest,
    )
    from wire.gemini.types.batches import BatchGenerateContentRequest as BatchGenerateContentRequest
    from wire.gemini.types.batches import BatchOperation as BatchOperation
    from wire.gemini.types.batches import BatchState as BatchState
    from wire.gemini.types.batches import BatchStats as BatchStats
    from wire.gemini.types.batches import EmbedBatchOperation as EmbedBatchOperation
    from wire.gemini.types.batches import EmbedContentBatch as EmbedContentBatch
    from wire.gemini.types.batches import EmbedContentBatchOutput as EmbedContentBatchOutput
    from wire.gemini.types.batches import EmbedContentBatchStats as EmbedContentBatchStats
    from wire.gemini.types.batches import GenerateContentBatch as GenerateContentBatch
    from wire.gemini.types.batches import GenerateContentBatchOutput as GenerateContentBatchOutput
    from wire.gemini.types.batches import InlinedEmbedContentRequest as InlinedEmbedContentRequest
    from wire.gemini.types.batches import InlinedEmbedContentRequests as InlinedEmbedContentRequests
    from wire.gemini.types.batches import InlinedEmbedContentResponse as InlinedEmbedContentResponse
    from wire.gemini.types.batches import (
        InlinedEmbedContentResponses as InlinedEmbedContentResponses,
    )
    from wire.gemini.types.batches import InlinedRequest as InlinedRequest
    from wire.gemini.types.batches import InlinedRequests as InlinedRequests
    from wire.gemini.types.batches import InlinedResponse as InlinedResponse
    from wire.gemini.types.batches import InlinedResponses as InlinedResponses
    from wire.gemini.types.batches import InputConfig as InputConfig
    from wire.gemini.types.batches import InputEmbedContentConfig as InputEmbedContentConfig
    from wire.gemini.types.batches import ListBatchesResponse as ListBatchesResponse
    from wire.gemini.types.caches import CachedContent as CachedContent
    from wire.gemini.types.caches import CachedContentUsageMetadata as CachedContentUsageMetadata
    from wire.gemini.types.caches import ListCachedContentsResponse as ListCachedContentsResponse
    from wire.gemini.types.content import Blob as Blob
    from wire.gemini.types.content import CodeExecutionResult as CodeExecutionResult
    from wire.gemini.types.content import Content as Content
    from wire.gemini.types.content import ExecutableCode as ExecutableCode
    from wire.gemini.types.content import FileData as FileData
    from wire.gemini.types.content import FunctionCall as FunctionCall
    from wire.gemini.types.content import FunctionResponse as FunctionResponse
    from wire.gemini.types.content import FunctionResponseBlob as FunctionResponseBlob
    from wire.gemini.types.content import FunctionResponseFileData as FunctionResponseFileData
    from wire.gemini.types.content import FunctionResponsePart as FunctionResponsePart
    from wire.gemini.types.content import MediaResolution as MediaResolution
    from wire.gemini.types.content import Part as Part
    from wire.gemini.types.content import PartialArg as PartialArg
    from wire.gemini.types.content import SpeechMetadata as SpeechMetadata
    from wire.gemini.types.content import ToolCall as ToolCall
    from wire.gemini.types.content import ToolResponse as ToolResponse
    from wire.gemini.types.content import Transcription as Transcription
    from wire.gemini.types.content import VideoMetadata as VideoMetadata
    from wire.gemini.types.content import WordInfo as WordInfo
    from wire.gemini.types.embeddings import BatchEmbedContentsRequest as BatchEmbedContentsRequest
    from wire.gemini.types.embeddings import (
        BatchEmbedContentsResponse as BatchEmbedContentsResponse,
    )
    from wire.gemini.types.embeddings import ContentEmbedding as ContentEmbedding
    from wire.gemini.types.embeddings import (
        ContentEmbeddingStatistics as ContentEmbeddingStatistics,
    )
    from wire.gemini.types.embeddings import EmbedContentConfig as EmbedContentConfig
    from wire.gemini.types.embeddings import EmbedContentRequest as EmbedContentRequest
    from wire.gemini.types.embeddings import EmbedContentResponse as EmbedContentResponse
    from wire.gemini.types.embeddings import EmbeddingUsageMetadata as EmbeddingUsageMetadata
    from wire.gemini.types.embeddings import TaskType as TaskType
    from wire.gemini.types.enums import AspectRatio as AspectRatio
    from wire.gemini.types.enums import AudioMimeType as AudioMimeType
    from wire.gemini.types.enums import Behavior as Behavior
    from wire.gemini.types.enums import BlockReason as BlockReason
    from wire.gemini.types.enums import ComputerEnvironment as ComputerEnvironment
    from wire.gemini.types.enums import ComputerSafetyPolicy as ComputerSafetyPolicy
    from wire.gemini.types.enums import Delivery as Delivery
    from wire.gemini.types.enums import DynamicRetrievalMode as DynamicRetrievalMode
    from wire.gemini.types.enums import FinishReason as FinishReason
    from wire.gemini.types.enums import FunctionCallingMode as FunctionCallingMode
    from wire.gemini.types.enums import HarmBlockMethod as HarmBlockMethod
    from wire.gemini.types.enums import HarmBlockThreshold as HarmBlockThreshold
    from wire.gemini.types.enums import HarmCategory as HarmCategory
    from wire.gemini.types.enums import HarmProbability as HarmProbability
    from wire.gemini.types.enums import HarmSeverity as HarmSeverity
    from wire.gemini.types.enums import ImageMimeType as ImageMimeType
    from wire.gemini.types.enums import ImageSize as ImageSize
    from wire.gemini.types.enums import Language as Language
    from wire.gemini.types.enums import MediaProcessing as MediaProcessing
    from wire.gemini.types.enums import MediaResolutionLevel as MediaResolutionLevel
    from wire.gemini.types.enums import Modality as Modality
    from wire.gemini.types.enums import ModelStage as ModelStage
    from wire.gemini.types.enums import Outcome as Outcome
    from wire.gemini.types.enums import PersonGeneration as PersonGeneration
    from wire.gemini.types.enums import PhishBlockThreshold as PhishBlockThreshold
    from wire.gemini.types.enums import ProminentPeople as ProminentPeople
    from wire.gemini.types.enums import ResponseModality as ResponseModality
    from wire.gemini.types.enums import RoutingPreference as RoutingPreference
    from wire.gemini.types.enums import Scheduling as Scheduling
    from wire.gemini.types.enums import SchemaType as SchemaType
    from wire.gemini.types.enums import ServiceTier as ServiceTier
    from wire.gemini.types.enums import TextMimeType as TextMimeType
    from wire.gemini.types.enums import ThinkingLevel as ThinkingLevel
    from wire.gemini.types.enums import ToolType as ToolType
    from wire.gemini.types.enums import TrafficType as TrafficType
    from wire.gemini.types.enums import TranscriptionMode as TranscriptionMode
    from wire.gemini.types.enums import UrlRetrievalStatus as UrlRetrievalStatus
    from wire.gemini.types.files import CreateFileRequest as CreateFileRequest
    from wire.gemini.types.files import CreateFileResponse as CreateFileResponse
    from wire.gemini.types.files import File as File
    from wire.gemini.types.files import FileSource as FileSource
    from wire.gemini.types.files import FileState as FileState
    from wire.gemini.types.files import ListFilesResponse as ListFilesResponse
    from wire.gemini.types.files import RegisterFilesRequest as RegisterFilesRequest
    from wire.gemini.types.files import RegisterFilesResponse as RegisterFilesResponse
    from wire.gemini.types.files import VideoFileMetadata as VideoFileMetadata
    from wire.gemini.types.models import Checkpoint as Checkpoint
    from wire.gemini.types.models import ContentTokens as ContentTokens
    from wire.gemini.types.models import CountTokensRequest as CountTokensRequest
    from wire.gemini.types.models import CountTokensResponse as CountTokensResponse
    from wire.gemini.types.models import ListModelsResponse as ListModelsResponse
    from wire.gemini.types.models import Model as Model
    from wire.gemini.types.operations import Empty as Empty
    from wire.gemini.types.operations import ListOperationsResponse as ListOperationsResponse
    from wire.gemini.types.operations import Operation as Operation
    from wire.gemini.types.predict import ComputeTokensRequest as ComputeTokensRequest
    from wire.gemini.types.predict import ComputeTokensResponse as ComputeTokensResponse
    from wire.gemini.types.predict import PredictRequest as PredictRequest
    from wire.gemini.types.predict import PredictResponse as PredictResponse
    from wire.gemini.types.predict import TokensInfo as TokensInfo
    from wire.gemini.types.request import AudioResponseFormat as AudioResponseFormat
    from wire.gemini.types.request import AudioTranscriptionConfig as AudioTranscriptionConfig
    from wire.gemini.types.request import AutoRoutingMode as AutoRoutingMode
    from wire.gemini.types.request import GenerateContentRequest as GenerateContentRequest
    from wire.gemini.types.request import GenerationConfig as GenerationConfig
    from wire.gemini.types.request import ImageConfig as ImageConfig
    from wire.gemini.types.request import ImageOutputOptions as ImageOutputOptions
    from wire.gemini.types.request import ImageResponseFormat as ImageResponseFormat
    from wire.gemini.types.request import LanguageAuto as LanguageAuto
    from wire.gemini.types.request import LanguageHints as LanguageHints
    from wire.gemini.types.request import ManualRoutingMode as ManualRoutingMode
    from wire.gemini.types.request import ModelArmorConfig as ModelArmorConfig
    from wire.gemini.types.request import ModelConfig as ModelConfig
    from wire.gemini.types.request import MultiSpeakerVoiceConfig as MultiSpeakerVoiceConfig
    from wire.gemini.types.request import PrebuiltVoiceConfig as PrebuiltVoiceConfig
    from wire.gemini.types.request import ReplicatedVoiceConfig as ReplicatedVoiceConfig
    from wire.gemini.types.request import ResponseFormatConfig as ResponseFormatConfig
    from wire.gemini.types.request import RoutingConfig as RoutingConfig
    from wire.gemini.types.request import SafetySetting as SafetySetting
    from wire.gemini.types.request import SpeakerVoiceConfig as SpeakerVoiceConfig
    from wire.gemini.types.request import SpeechConfig as SpeechConfig
    from wire.gemini.types.request import TextResponseFormat as TextResponseFormat
    from wire.gemini.types.request import ThinkingConfig as ThinkingConfig
    from wire.gemini.types.request import TranslationConfig as TranslationConfig
    from wire.gemini.types.request import VoiceConfig as VoiceConfig
    from wire.gemini.types.request import VoiceConsentSignature as VoiceConsentSignature
    from wire.gemini.types.status import ErrorBody as ErrorBody
    from wire.gemini.types.status import ErrorDetail as ErrorDetail
    from wire.gemini.types.status import FieldViolation as FieldViolation
    from wire.gemini.types.status import HelpLink as HelpLink
    from wire.gemini.types.status import QuotaViolation as QuotaViolation
    from wire.gemini.types.status import Status as Status
    from wire.gemini.types.stores import ChunkingConfig as ChunkingConfig
    from wire.gemini.types.stores import CustomMetadata as CustomMetadata
    from wire.gemini.types.stores import Document as Document
    from wire.gemini.types.stores import DocumentState as DocumentState
    from wire.gemini.types.stores import FileSearchStore as FileSearchStore
    from wire.gemini.types.stores import ImportFileRequest as ImportFileRequest
    from wire.gemini.types.stores import ListDocumentsResponse as ListDocumentsResponse
    from wire.gemini.types.stores import (
        ListFileSearchStoresResponse as ListFileSearchStoresResponse,
    )
    from wire.gemini.types.stores import StringList as StringList
    from wire.gemini.types.stores import (
        UploadToFileSearchStoreRequest as UploadToFileSearchStoreRequest,
    )
    from wire.gemini.types.stores import WhiteSpaceConfig as WhiteSpaceConfig
    from wire.gemini.types.tools import CodeExecution as CodeExecution
    from wire.gemini.types.tools import ComputerUse as ComputerUse
    from wire.gemini.types.tools import DynamicRetrievalConfig as DynamicRetrievalConfig
    from wire.gemini.types.tools import EnterpriseWebSearch as EnterpriseWebSearch
    from wire.gemini.types.tools import ExaAiSearch as ExaAiSearch
    from wire.gemini.types.tools import FileSearch as FileSearch
    from wire.gemini.types.tools import FunctionCallingConfig as FunctionCallingConfig
    from wire.gemini.types.tools import FunctionDeclaration as FunctionDeclaration
    from wire.gemini.types.tools import GoogleMaps as GoogleMaps
    from wire.gemini.types.tools import GoogleMapsGroundingTypes as GoogleMapsGroundingTypes
    from wire.gemini.types.tools import GoogleMapsPlaces as GoogleMapsPlaces
    from wire.gemini.types.tools import GoogleMapsRouting as GoogleMapsRouting
    from wire.gemini.types.tools import GoogleSearch as GoogleSearch
    from wire.gemini.types.tools import GoogleSearchRetrieval as GoogleSearchRetrieval
    from wire.gemini.types.tools import ImageSearch as ImageSearch
    from wire.gemini.types.tools import Interval as Interval
    from wire.gemini.types.tools import LatLng as LatLng
    from wire.gemini.types.tools import McpServer as McpServer
    from wire.gemini.types.tools import ParallelAiSearch as ParallelAiSearch
    from wire.gemini.types.tools import RetrievalConfig as RetrievalConfig
    from wire.gemini.types.tools import Schema as Schema
    from wire.gemini.types.tools import SearchTypes as SearchTypes
    from wire.gemini.types.tools import StreamableHttpTransport as StreamableHttpTransport
    from wire.gemini.types.tools import Tool as Tool
    from wire.gemini.types.tools import ToolConfig as ToolConfig
    from wire.gemini.types.tools import UrlContext as UrlContext
    from wire.gemini.types.tools import WebSearch as WebSearch

_NAMES = {
    "wire.gemini.types.answer": (
        "AttributionSourceId",
        "BillablePromptUsage",
        "Candidate",
        "Citation",
        "CitationMetadata",
        "CitationSource",
        "Date",
        "GenerateContentResponse",
        "GroundingAttribution",
        "GroundingChunk",
        "GroundingChunkCustomMetadata",
        "GroundingChunkStringList",
        "GroundingMetadata",
        "GroundingPassageId",
        "GroundingSupport",
        "Image",
        "LogprobsResult",
        "LogprobsResultCandidate",
        "Maps",
        "ModalityTokenCount",
        "ModelStatus",
        "PlaceAnswerSources",
        "PromptFeedback",
        "RetrievalMetadata",
        "RetrievedContext",
        "ReviewSnippet",
        "SafetyRating",
        "SearchEntryPoint",
        "Segment",
        "SemanticRetrieverChunk",
        "SourceFlaggingUri",
        "TopCandidates",
        "UrlContextMetadata",
        "UrlMetadata",
        "UsageMetadata",
        "Web",
    ),
    "wire.gemini.types.base": (
        "GeminiStruct",
        "OpenEnum",
        "OpenFloat",
        "VENDOR_NAMES",
    ),
    "wire.gemini.types.batches": (
        "AsyncBatchEmbedContentRequest",
        "BatchGenerateContentRequest",
        "BatchOperation",
        "BatchState",
        "BatchStats",
        "EmbedBatchOperation",
        "EmbedContentBatch",
        "EmbedContentBatchOutput",
        "EmbedContentBatchStats",
        "GenerateContentBatch",
        "GenerateContentBatchOutput",
        "InlinedEmbedContentRequest",
        "InlinedEmbedContentRequests",
        "InlinedEmbedContentResponse",
        "InlinedEmbedContentResponses",
        "InlinedRequest",
        "InlinedRequests",
        "InlinedResponse",
        "InlinedResponses",
        "InputConfig",
        "InputEmbedContentConfig",
        "ListBatchesResponse",
    ),
    "wire.gemini.types.caches": (
        "CachedContent",
        "CachedContentUsageMetadata",
        "ListCachedContentsResponse",
    ),
    "wire.gemini.types.content": (
        "Blob",
        "CodeExecutionResult",
        "Content",
        "ExecutableCode",
        "FileData",
        "FunctionCall",
        "FunctionResponse",
        "FunctionResponseBlob",
        "FunctionResponseFileData",
        "FunctionResponsePart",
        "MediaResolution",
        "Part",
        "PartialArg",
        "SpeechMetadata",
        "ToolCall",
        "ToolResponse",
        "Transcription",
        "VideoMetadata",
        "WordInfo",
    ),
    "wire.gemini.types.embeddings": (
        "BatchEmbedContentsRequest",
        "BatchEmbedContentsResponse",
        "ContentEmbedding",
        "ContentEmbeddingStatistics",
        "EmbedContentConfig",
        "EmbedContentRequest",
        "EmbedContentResponse",
        "EmbeddingUsageMetadata",
        "TaskType",
    ),
    "wire.gemini.types.enums": (
        "AspectRatio",
        "AudioMimeType",
        "Behavior",
        "BlockReason",
        "ComputerEnvironment",
        "ComputerSafetyPolicy",
        "Delivery",
        "DynamicRetrievalMode",
        "FinishReason",
        "FunctionCallingMode",
        "HarmBlockMethod",
        "HarmBlockThreshold",
        "HarmCategory",
        "HarmProbability",
        "HarmSeverity",
        "ImageMimeType",
        "ImageSize",
        "Language",
        "MediaProcessing",
        "MediaResolutionLevel",
        "Modality",
        "ModelStage",
        "Outcome",
        "PersonGeneration",
        "PhishBlockThreshold",
        "ProminentPeople",
        "ResponseModality",
        "RoutingPreference",
        "Scheduling",
        "SchemaType",
        "ServiceTier",
        "TextMimeType",
        "ThinkingLevel",
        "ToolType",
        "TrafficType",
        "TranscriptionMode",
        "UrlRetrievalStatus",
    ),
    "wire.gemini.types.files": (
        "CreateFileRequest",
        "CreateFileResponse",
        "File",
        "FileSource",
        "FileState",
        "ListFilesResponse",
        "RegisterFilesRequest",
        "RegisterFilesResponse",
        "VideoFileMetadata",
    ),
    "wire.gemini.types.models": (
        "Checkpoint",
        "ContentTokens",
        "CountTokensRequest",
        "CountTokensResponse",
        "ListModelsResponse",
        "Model",
    ),
    "wire.gemini.types.operations": (
        "Empty",
        "ListOperationsResponse",
        "Operation",
    ),
    "wire.gemini.types.predict": (
        "ComputeTokensRequest",
        "ComputeTokensResponse",
        "PredictRequest",
        "PredictResponse",
        "TokensInfo",
    ),
    "wire.gemini.types.request": (
        "AudioResponseFormat",
        "AudioTranscriptionConfig",
        "AutoRoutingMode",
        "GenerateContentRequest",
        "GenerationConfig",
        "ImageConfig",
        "ImageOutputOptions",
        "ImageResponseFormat",
        "LanguageAuto",
        "LanguageHints",
        "ManualRoutingMode",
        "ModelArmorConfig",
        "ModelConfig",
        "MultiSpeakerVoiceConfig",
        "PrebuiltVoiceConfig",
        "ReplicatedVoiceConfig",
        "ResponseFormatConfig",
        "RoutingConfig",
        "SafetySetting",
        "SpeakerVoiceConfig",
        "SpeechConfig",
        "TextResponseFormat",
        "ThinkingConfig",
        "TranslationConfig",
        "VoiceConfig",
        "VoiceConsentSignature",
    ),
    "wire.gemini.types.status": (
        "ErrorBody",
        "ErrorDetail",
        "FieldViolation",
        "HelpLink",
        "QuotaViolation",
        "Status",
    ),
    "wire.gemini.types.stores": (
        "ChunkingConfig",
        "CustomMetadata",
        "Document",
        "DocumentState",
        "FileSearchStore",
        "ImportFileRequest",
        "ListDocumentsResponse",
        "ListFileSearchStoresResponse",
        "StringList",
        "UploadToFileSearchStoreRequest",
        "WhiteSpaceConfig",
    ),
    "wire.gemini.types.tools": (
        "CodeExecution",
        "ComputerUse",
        "DynamicRetrievalConfig",
        "EnterpriseWebSearch",
        "ExaAiSearch",
        "FileSearch",
        "FunctionCallingConfig",
        "FunctionDeclaration",
        "GoogleMaps",
        "GoogleMapsGroundingTypes",
        "GoogleMapsPlaces",
        "GoogleMapsRouting",
        "GoogleSearch",
        "GoogleSearchRetrieval",
        "ImageSearch",
        "Interval",
        "LatLng",
        "McpServer",
        "ParallelAiSearch",
        "RetrievalConfig",
        "Schema",
        "SearchTypes",
        "StreamableHttpTransport",
        "Tool",
        "ToolConfig",
        "UrlContext",
        "WebSearch",
    ),
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names("wire.gemini.types", _NAMES)
