"""The endpoint of a recorded request, and the structs of its bodies."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from wire.core.memory import WireStruct
from wire.testing.cassette.format.sent import is_session
from wire.wires.providers import owner_of


class Endpoint(NamedTuple):
    """An endpoint of a wire. A struct is empty if the library has none for the body."""

    wire: str
    request: str = ""
    """Name of the struct of the request body."""
    answer: str = ""
    """Name of the struct of the response body."""
    event: str = ""
    """Name of the struct of an event, if it is not that of the answer."""

    def struct(self, name: str) -> type[WireStruct] | None:
        """Return the struct of a name."""
        found: type[WireStruct] | None = None
        if name:
            folder = _FOLDERS.get(self.wire, self.wire)
            found = getattr(importlib.import_module(f"wire.{folder}.types"), name)
        return found


_FOLDERS = {"openai": "openai.chat"}
"""Wire -> the package of its structs, where it has not the wire's name."""

ERRORS = {"converse": "ErrorObject"}
"""Wire -> the struct of its errors, where it is not `ErrorBody`."""

_Rows = tuple[tuple[str, re.Pattern[str], Endpoint], ...]


def _rows(wire: str, *rows: tuple[str, str, str, str] | tuple[str, str, str, str, str]) -> _Rows:
    return tuple(
        (method, re.compile(f"{path}$"), Endpoint(wire, *names)) for method, path, *names in rows
    )


_GENERATED = "GenerateContentRequest", "GenerateContentResponse"
_GEMINI = _rows(
    "gemini",
    ("POST", ":(generateContent|streamGenerateContent)", *_GENERATED),
    ("POST", ":countTokens", "CountTokensRequest", "CountTokensResponse"),
    ("POST", ":embedContent", "EmbedContentRequest", "EmbedContentResponse"),
    ("POST", ":batchEmbedContents", "BatchEmbedContentsRequest", "BatchEmbedContentsResponse"),
    ("POST", ":predict", "PredictRequest", "PredictResponse"),
    ("POST", ":predictLongRunning", "PredictRequest", "Operation"),
    ("POST", ":computeTokens", "ComputeTokensRequest", "ComputeTokensResponse"),
    ("POST", ":batchGenerateContent", "BatchGenerateContentRequest", "BatchOperation"),
    ("POST", ":asyncBatchEmbedContent", "AsyncBatchEmbedContentRequest", "EmbedBatchOperation"),
    ("POST", "/decisions", "CreateDecisionRequest", "CreateDecisionResponse"),
    ("GET", "/cachedContents", "", "ListCachedContentsResponse"),
    ("POST", "/cachedContents", "CachedContent", "CachedContent"),
    ("DELETE", "/cachedContents/[^/:]+", "", "Empty"),
    ("GET|PATCH", "/cachedContents/[^/:]+", "CachedContent", "CachedContent"),
    ("GET", "/batches/[^/:]+", "", "BatchOperation"),
    ("GET", "/operations/[^/:]+", "", "Operation"),
    ("GET", "/fileSearchStores", "", "ListFileSearchStoresResponse"),
    ("POST", "/fileSearchStores", "FileSearchStore", "FileSearchStore"),
    ("GET", "/fileSearchStores/[^/:]+", "", "FileSearchStore"),
    ("POST", "/fileSearchStores/[^/:]+:importFile", "ImportFileRequest", "Operation"),
    ("GET", "/documents", "", "ListDocumentsResponse"),
    ("GET", "/documents/[^/:]+", "", "Document"),
    ("GET", "/v1(?:alpha|beta)/files", "", "ListFilesResponse"),
    ("GET", "/v1(?:alpha|beta)/files/[^/:]+", "", "File"),
    ("GET", "/models", "", "ListModelsResponse"),
    ("GET", "/models/[^/:]+", "", "Model"),
)
_INTERACTED = "Interaction", "InteractionEvent"
_INTERACTIONS = _rows(
    "gemini.interactions",
    ("POST", "/interactions", "InteractionRequest", *_INTERACTED),
    ("POST", "/interactions/[^/]+/cancel", "", "Interaction"),
    ("GET", "/interactions/[^/]+", "", *_INTERACTED),
    ("DELETE", "/interactions/[^/]+", "", "DeletedInteraction"),
    ("GET", "/agents", "", "AgentList"),
    ("POST", "/agents", "Agent", "Agent"),
    ("GET", "/agents/[^/]+", "", "Agent"),
    ("DELETE", "/(?:agents|environments|triggers|webhooks)/[^/]+", "", "Empty"),
    ("GET", "/environments", "", "EnvironmentList"),
    ("POST", "/environments", "CreateEnvironmentRequest", "StoredEnvironment"),
    ("GET", "/environments/[^/]+", "", "StoredEnvironment"),
    ("GET", "/environments/[^/]+/files/.+", "", "EnvironmentFileList"),
    ("GET", "/triggers", "", "TriggerList"),
    ("POST", "/triggers", "CreateTriggerRequest", "Trigger"),
    ("GET", "/triggers/[^/]+", "", "Trigger"),
    ("PATCH", "/triggers/[^/]+", "TriggerUpdate", "Trigger"),
    ("GET", "/triggers/[^/]+/executions", "", "TriggerExecutionList"),
    ("POST", "/triggers/[^/]+/executions", "", "TriggerExecution"),
    ("GET", "/webhooks", "", "WebhookList"),
    ("POST", "/webhooks", "CreateWebhookRequest", "Webhook"),
    ("GET", "/webhooks/[^/]+", "", "Webhook"),
    ("PATCH", "/webhooks/[^/]+", "WebhookUpdate", "Webhook"),
    ("POST", "/webhooks/[^/]+:ping", "", "Empty"),
    ("POST", "/webhooks/[^/]+:rotateSigningSecret", "RotateSecretRequest", "RotatedSecret"),
)
_IMAGES = "ImageList", "ImageEvent"
_OPENAI = _rows(
    "openai",
    (
        "POST",
        "/chat/completions",
        "ChatCompletionRequest",
        "ChatCompletion",
        "ChatCompletionChunk",
    ),
    ("POST", "/embeddings", "EmbeddingRequest", "EmbeddingList"),
    ("POST", "/systemone", "SystemOneRequest", "SystemOneResponse"),
    ("POST", "/api/(?:alpha|v1)/decisions", "SystemOneRequest", "SystemOneResponse"),
    ("POST", "/decisions", "DecisionRequest", "Decision"),
    ("POST", "/images/(?:generations|edits|variations)", "ImageRequest", *_IMAGES),
    ("POST", "/api/v1/images", "ImageRequest", *_IMAGES),
    ("POST", "/audio/speech", "SpeechRequest", "SpeechResponse", "SpeechEvent"),
    ("POST", "/audio/transcriptions", "", "Transcription", "TranscriptionEvent"),
    ("POST", "/audio/translations", "", "Transcription"),
    ("GET", "/models", "", "ModelList"),
    ("GET", "/models/.+", "", "Model"),
)
_RESPONSES = _rows(
    "openai.responses",
    ("POST", "/responses", "ResponseRequest", "Response", "StreamEvent"),
    ("POST", "/responses/input_tokens", "InputTokensRequest", "InputTokenCount"),
    ("POST", "/responses/compact", "CompactRequest", "Compaction"),
    ("POST", "/responses/[^/]+/cancel", "", "Response"),
    ("GET", "/responses/[^/]+/input_items", "", "ItemList"),
    ("GET", "/responses/[^/]+", "", "Response", "StreamEvent"),
    ("DELETE", "/responses/[^/]+", "", "DeletedResponse"),
    ("POST", "/conversations", "ConversationRequest", "Conversation"),
    ("GET", "/conversations/[^/]+", "", "Conversation"),
    ("POST", "/conversations/[^/]+", "ConversationRequest", "Conversation"),
    ("DELETE", "/conversations/[^/]+", "", "DeletedConversation"),
    ("GET", "/conversations/[^/]+/items", "", "ItemList"),
    ("POST", "/conversations/[^/]+/items", "ItemsRequest", "ItemList"),
)
_MESSAGES = "MessageRequest", "MessageResponse", "MessageStreamEvent"
_ANTHROPIC = _rows(
    "anthropic",
    ("POST", "/messages", *_MESSAGES),
    ("POST", "/messages/count_tokens", "CountTokensRequest", "TokenCount"),
    ("GET", "/messages/batches", "", "MessageBatchList"),
    ("POST", "/messages/batches", "BatchCreateRequest", "MessageBatch"),
    ("GET", "/messages/batches/[^/]+", "", "MessageBatch"),
    ("DELETE", "/messages/batches/[^/]+", "", "DeletedBatch"),
    ("POST", "/messages/batches/[^/]+/cancel", "", "MessageBatch"),
    ("GET", "/messages/batches/[^/]+/results", "", "MessageBatchResult"),
    ("POST", ":(rawPredict|streamRawPredict)", *_MESSAGES),
    ("GET", "/v1/models", "", "ModelList"),
    ("GET", "/v1/models/[^/]+", "", "ModelInfo"),
)

_OLLAMA = _rows(
    "ollama",
    ("POST", "/api/chat", "ChatRequest", "ChatResponse"),
    ("POST", "/api/generate", "GenerateRequest", "GenerateResponse"),
    ("POST", "/api/embed", "EmbedRequest", "EmbedResponse"),
    ("POST", "/api/show", "ShowRequest", "ShowResponse"),
    ("POST", "/api/pull", "PullRequest", "Progress"),
    ("DELETE", "/api/delete", "DeleteRequest", ""),
    ("GET", "/api/tags", "", "TagsResponse"),
    ("GET", "/api/ps", "", "PsResponse"),
    ("GET", "/api/version", "", "VersionResponse"),
)

_CONVERSED = "ConverseRequest", "ConverseResponse", "ConverseStreamEvent"
_CONVERSE = _rows(
    "converse",
    ("POST", "/model/[^/]+/converse(-stream)?", *_CONVERSED),
    ("POST", "/model/[^/]+/count-tokens", "CountTokensRequest", "CountTokensResponse"),
    ("POST", "/model/[^/]*titan-embed[^/]*/invoke", "TitanEmbedRequest", "TitanEmbedResponse"),
    ("POST", "/model/[^/]*cohere.embed[^/]*/invoke", "CohereEmbedRequest", "CohereEmbedResponse"),
)


_SESSIONS = (
    *_rows("openai.realtime", ("GET", "/realtime", "ClientEvent", "ServerEvent")),
    *_rows("openai.responses", ("GET", "/responses", "ResponseRequest", "StreamEvent")),
    *_rows(
        "gemini.live",
        ("GET", r"BidiGenerateContent(?:Constrained)?", "ClientMessage", "ServerMessage"),
    ),
)
"""Sessions over WebSocket: the structs are those of a message of the client and of the server."""


def endpoint_of(method: str, url: str, headers: Mapping[str, str]) -> Endpoint | None:
    """Return the endpoint of a request; `None` if it belongs to none of the wires.

    >>> endpoint_of("POST", "https://api.openai.com/v1/responses", {}).answer
    'Response'
    >>> endpoint_of("GET", "wss://api.openai.com/v1/realtime?model=m", {}).answer
    'ServerEvent'

    The path decides. Where wires have the same path, the header `anthropic-version` and the host
    decide.
    """
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    rows = _SESSIONS if is_session(url) else _tables(parts.hostname or "", path, headers)
    for method_pattern, pattern, endpoint in rows:
        if re.fullmatch(method_pattern, method.upper()) and pattern.search(path):
            return endpoint
    return None


def _tables(host: str, path: str, headers: Mapping[str, str]) -> _Rows:
    if "anthropic-version" in headers or "/publishers/anthropic/" in path:
        return _ANTHROPIC
    owner = owner_of(host)
    google = owner is not None and owner.wire == "gemini"
    if (google or "/v1beta" in path or "/v1alpha" in path) and "/openai/" not in path:
        return (*_INTERACTIONS, *_GEMINI)
    return (*_OPENAI, *_RESPONSES, *_ANTHROPIC, *_CONVERSE, *_OLLAMA, *_GEMINI)
