"""JSON Schema of the public structs: `python schemas/generate.py` writes it, a test compares it.

A diff is a change of the wire.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from wire.anthropic import types as anthropic
from wire.gemini import types as gemini
from wire.openai.chat import types as openai

HERE = Path(__file__).parent
ROOTS: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "gemini": (
        gemini.GenerateContentRequest,
        gemini.GenerateContentResponse,
        gemini.CountTokensRequest,
        gemini.CountTokensResponse,
        gemini.ListModelsResponse,
        gemini.EmbedContentRequest,
        gemini.EmbedContentResponse,
        gemini.BatchEmbedContentsRequest,
        gemini.BatchEmbedContentsResponse,
        gemini.CachedContent,
        gemini.ListCachedContentsResponse,
        gemini.CreateFileRequest,
        gemini.CreateFileResponse,
        gemini.File,
        gemini.ListFilesResponse,
        gemini.RegisterFilesRequest,
        gemini.RegisterFilesResponse,
        gemini.BatchGenerateContentRequest,
        gemini.BatchOperation,
        gemini.ListBatchesResponse,
        gemini.AsyncBatchEmbedContentRequest,
        gemini.EmbedBatchOperation,
        gemini.Operation,
        gemini.ListOperationsResponse,
        gemini.PredictRequest,
        gemini.PredictResponse,
        gemini.ComputeTokensRequest,
        gemini.ComputeTokensResponse,
        gemini.FileSearchStore,
        gemini.ListFileSearchStoresResponse,
        gemini.UploadToFileSearchStoreRequest,
        gemini.ImportFileRequest,
        gemini.Document,
        gemini.ListDocumentsResponse,
        gemini.ErrorBody,
    ),
    "anthropic": (
        anthropic.MessageRequest,
        anthropic.MessageResponse,
        anthropic.MessageStreamEvent,
        anthropic.CountTokensRequest,
        anthropic.TokenCount,
        anthropic.ModelList,
        anthropic.ModelInfo,
        anthropic.BatchCreateRequest,
        anthropic.MessageBatch,
        anthropic.MessageBatchList,
        anthropic.MessageBatchResult,
        anthropic.ErrorBody,
    ),
    "openai": (
        openai.ChatCompletionRequest,
        openai.ChatCompletion,
        openai.ChatCompletionChunk,
        openai.EmbeddingRequest,
        openai.EmbeddingList,
        openai.ModelList,
        openai.Model,
        openai.ErrorBody,
    ),
}


def pages() -> dict[str, str]:
    """Path below this folder -> text, one page for each message that is sent or received whole."""
    return {
        f"{wire}/{root.__name__}.json": _page(root)
        for wire, roots in ROOTS.items()
        for root in roots
    }


def _page(root: type[msgspec.Struct]) -> str:
    (schema,), parts = msgspec.json.schema_components([root], ref_template="#/$defs/{name}")
    for part in parts.values():
        part.pop("description", None)  # words are no wire
        part.pop("title", None)
    page: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "$defs": dict(sorted(parts.items())),
    }
    return json.dumps(page, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for path, text in pages().items():
        (HERE / path).parent.mkdir(exist_ok=True)
        (HERE / path).write_text(text, "utf-8")
