"""Compares the structs with the inventory of OpenAI's reference, in both directions."""

from __future__ import annotations

import pytest

from tests.inventories import Walk, inventory
from wire.core.facts import facts_of
from wire.openai.chat import types
from wire.openai.chat.types import OpenAIStruct

ROOTS: dict[str, type[OpenAIStruct]] = {
    "chat_request": types.ChatCompletionRequest,
    "chat_response": types.ChatCompletion,
    "chat_chunk": types.ChatCompletionChunk,
    "embeddings_request": types.EmbeddingRequest,
    "embeddings_response": types.EmbeddingList,
    "models_list": types.ModelList,
    "model": types.Model,
    "error": types.ErrorBody,
    "OpenAIFile": types.File,
    "ListFilesResponse": types.FileList,
    "DeleteFileResponse": types.DeletedFile,
    "FileExpirationAfter": types.ExpiresAfter,
    "Batch": types.Batch,
    "ListBatchesResponse": types.BatchList,
}

OTHER_TYPES = {
    "ChatCompletion.metadata": "Together and HuggingFace put objects of their own into it",
    "ChatCompletionRequest.logprobs": "Together takes a number, seen in accepted requests",
    "ContentPart.image_url": "Mistral's form is the bare URL",
    "ContentPart.input_audio": "Mistral's form is bare base64",
    "Delta.content": "Mistral streams it as a list",
    "Embedding.embedding": "text, if the request asked for base64",
    "EmbeddingRequest.input": "a union may name one kind of list only",
    "ErrorBody.error": "text at xAI, Venice, LM Studio, HuggingFace",
    "ErrorObject.code": "a number at OpenRouter, Gemini compat, llama.cpp",
    "FunctionCall.arguments": "builds of llama.cpp sent an object, and what else "
    "may come is not to be lost",
    "TokenLogprob.bytes": "base64 at a back end of HuggingFace",
    "TopLogprob.bytes": "as TokenLogprob.bytes",
}
"""Fields whose type is another one than the inventory's, and why."""


OF_OTHERS = {
    "BaseResp": "MiniMax's status inside an answer",
    "BatchCreateRequest": "body of POST /batches, which the inventory does not name",
    "BatchResponse": "in a file of results",
    "BatchResult": "a line of a file of results",
    "BatchResultError": "in a file of results",
    "CacheControl": "Anthropic's mark for the cache, as gateways take it",
    "DeletedModel": "answer of DELETE /models/{model}; the inventory has "
    "requests and answers of the "
    "others only",
    "PromptFilterResult": "Azure's filters",
    "ReasoningDetail": "reasoning of OpenRouter and others",
    "ReasoningOptions": "control of reasoning of OpenRouter and others",
    "SearchResult": "Perplexity's search",
    "Thinking": "control of reasoning of DeepSeek and others",
    "VideoUrl": "videos at Xiaomi and Together",
    "XGroq": "what Groq adds",
}
"""Structs that nothing in the inventory is met with, and why they are there."""

OF_ONE_STRUCT = {
    "Choice.delta": "one struct for the choices of answers and of chunks",
    "ChatCompletionChunk.metadata": "one struct for answers and chunks",
    "ChunkChoice.message": "as Choice.delta; Perplexity and MiniMax send it",
    "Delta.annotations": "one struct for messages and deltas; hosts send it in both",
    "Delta.audio": "as Delta.annotations",
}
"""Fields that the inventory has in one of the schemas that share a struct, and not in the other."""


@pytest.fixture(scope="module")
def walk() -> Walk:
    return Walk(inventory("openai"), ROOTS)


STRUCTS = {
    value
    for value in (getattr(types, name) for name in types.__all__)
    if isinstance(value, type) and issubclass(value, OpenAIStruct)
} - {OpenAIStruct}


def test_every_field_of_the_inventory_has_its_place(walk: Walk) -> None:
    assert walk.missing() == []


def test_a_field_has_a_source_if_and_only_if_the_inventory_lacks_it(walk: Walk) -> None:
    sourced = {
        f"{struct.__name__}.{key}"
        for struct in walk.met
        for key, facts in facts_of(struct).items()
        if facts.source
    }
    assert sourced == set(walk.beyond()) - set(OF_ONE_STRUCT)


def test_every_struct_is_in_the_inventory_or_has_a_reason(walk: Walk) -> None:
    # Newer than the inventory, or not in it: tests/openai/common/test_decisions.py, test_images.py
    # and test_audio.py have their keys.
    apart = (".decisions", ".images", ".audio")
    newer = {struct for struct in STRUCTS if struct.__module__.endswith(apart)}
    others = STRUCTS - set(walk.met) - newer
    assert sorted(struct.__name__ for struct in others) == sorted(OF_OTHERS)


def test_types_are_those_of_the_inventory(walk: Walk) -> None:
    assert walk.other_types() == sorted(OTHER_TYPES)
