"""Structs against the inventory of OpenAI's reference, in both directions.

The inventory has a schema for each role and type, the structs are one for each concept. So both are
walked side by side from the roots, and a struct is held against all schemas that it is met with.
"""

from __future__ import annotations

import json
import re
import types as builtin
import typing
from pathlib import Path
from typing import Any

import pytest

from wire.openai.chat import types
from wire.openai.chat.types import OpenAIStruct

INVENTORY = Path(__file__).parents[3] / "shared" / "contracts" / "openai-chat.fields.json"
ROOTS: dict[str, type[OpenAIStruct]] = {
    "chat_request": types.ChatCompletionRequest,
    "chat_response": types.ChatCompletion,
    "chat_chunk": types.ChatCompletionChunk,
    "embeddings_request": types.EmbeddingRequest,
    "embeddings_response": types.EmbeddingList,
    "models_list": types.ModelList,
    "model": types.Model,
    "error": types.ErrorBody,
}

pytestmark = pytest.mark.skipif(
    not INVENTORY.exists(), reason="the inventory of OpenAI's reference is not beside this checkout"
)

LEFT_OUT: dict[str, str] = {}
"""Fields that the reference has and the structs have not, and why."""

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


def each(structs: str, keys: str, why: str) -> dict[str, str]:
    return {f"{struct}.{key}": why for struct in structs.split() for key in keys.split()}


ANSWERS, CHOICES, SAID = "ChatCompletion ChatCompletionChunk", "Choice ChunkChoice", "Message Delta"
BEYOND = {
    # requests
    **each(
        "ChatCompletionRequest",
        "thinking enable_thinking chat_template_kwargs chat_template_args",
        "reasoning; in accepted requests",
    ),
    **each(
        "ChatCompletionRequest",
        "reasoning include_reasoning reasoning_format clear_thinking",
        "reasoning; in accepted requests",
    ),
    **each("ChatCompletionRequest", "thinking_budget", "reasoning (Qwen), said by its pages"),
    **each("ChatCompletionRequest", "reasoning_split", "reasoning (MiniMax), said by its pages"),
    **each("ChatCompletionRequest", "prompt_mode", "reasoning (Mistral), said by its pages"),
    **each("ChatCompletionRequest", "extra_body", "reasoning (Gemini compat), said by its pages"),
    **each("ChatCompletionRequest", "tool_stream", "streamed arguments (GLM), said by its pages"),
    **each("ChatCompletionRequest", "top_k min_p", "sampling (Together), in an accepted request"),
    **each("ChatCompletionRequest", "random_seed safe_prompt", "Mistral, in accepted requests"),
    **each("ChatCompletionRequest", "cache_prompt", "llama.cpp, in accepted requests"),
    **each("ChatCompletionRequest", "provider usage", "OpenRouter, in accepted requests"),
    **each("ChatCompletionRequest", "enable_search", "Qwen, in accepted requests"),
    **each(
        "ChatCompletionRequest", "disable_search return_images", "Perplexity, in accepted requests"
    ),
    **each("ChatCompletionRequest", "venice_parameters", "Venice, in accepted requests"),
    **each("Tool", "cache_control parameters", "OpenRouter, in accepted requests"),
    **each("Tool", "force_search", "Xiaomi, in accepted requests"),
    **each(
        "Message ContentPart ToolCall",
        "cache_control",
        "OpenRouter, Vercel gateway, in accepted requests",
    ),
    **each("Message", "prefix", "Mistral, in accepted requests"),
    **each("ContentPart", "document_url document_name", "Mistral, in accepted requests"),
    **each("ContentPart", "video_url", "Xiaomi, Together, in accepted requests"),
    # messages
    **each("ContentPart", "thinking closed", "Mistral, seen in both directions"),
    **each("ContentPart", "reference_ids", "Mistral, told in a public thread"),
    **each(
        SAID, "reasoning_content reasoning reasoning_details", "reasoning, seen in both directions"
    ),
    **each(SAID, "reasoning_text", "reasoning under a third name, told in public threads"),
    **each(
        SAID,
        "extra_content thought_signature",
        "Gemini compat, seen on the wire and told in public threads",
    ),
    **each(
        "ToolCall", "extra_content", "Gemini compat, seen on the wire and told in public threads"
    ),
    **each(SAID, "provider_metadata", "seen on the wire (Vercel gateway)"),
    **each(SAID, "channel", "seen on the wire (Groq)"),
    **each(
        "Delta", "annotations audio", "seen on the wire; the inventory has them in messages only"
    ),
    **each("Annotation", "url title summary site_name", "seen on the wire (Xiaomi)"),
    # answers
    **each(ANSWERS, "error", "seen on the wire: an error inside an answer of status 200"),
    **each(
        ANSWERS,
        "base_resp",
        "an error inside an answer of status 200 (MiniMax), told in public threads",
    ),
    **each(ANSWERS, "provider", "seen on the wire (OpenRouter)"),
    **each(ANSWERS, "request_id", "seen on the wire (Qwen, GLM)"),
    **each(ANSWERS, "citations search_results", "seen on the wire (Perplexity)"),
    **each(ANSWERS, "prompt_filter_results", "seen on the wire (Azure, GitHub Copilot)"),
    **each(ANSWERS, "x_groq", "seen on the wire (Groq)"),
    **each(ANSWERS, "timings", "seen on the wire (llama.cpp)"),
    **each(ANSWERS, "time_info", "seen on the wire (Cerebras)"),
    **each(ANSWERS, "cost", "seen on the wire (Venice)"),
    **each("ChatCompletionChunk", "metadata", "seen on the wire (HuggingFace, Together)"),
    **each("Choice", "delta", "one struct for the choices of answers and of chunks"),
    **each("ChunkChoice", "message", "seen on the wire (Perplexity)"),
    **each(CHOICES, "finishReason", "Gemini compat, told in a public thread"),
    **each(CHOICES, "native_finish_reason", "seen on the wire (OpenRouter)"),
    **each(CHOICES, "stop_reason", "seen on the wire (vLLM)"),
    **each(CHOICES, "usage", "Kimi, told in a public thread"),
    **each(CHOICES, "content_filter_results", "seen on the wire (Azure)"),
    **each("Logprobs", "reasoning_content", "seen on the wire (DeepSeek)"),
    # usage
    **each(
        "CompletionUsage",
        "prompt_cache_hit_tokens prompt_cache_miss_tokens",
        "seen on the wire (DeepSeek)",
    ),
    **each("CompletionUsage", "cached_tokens", "seen on the wire (Moonshot, Together)"),
    **each("CompletionUsage", "num_cached_tokens service_tier", "seen on the wire (Mistral)"),
    **each(
        "CompletionUsage",
        "cache_read_input_tokens cache_creation_input_tokens",
        "seen on the wire (Databricks, doubleword)",
    ),
    **each("CompletionUsage", "reasoning_tokens", "seen on the wire (Together, GitHub Copilot)"),
    **each("CompletionUsage", "cost cost_details is_byok", "seen on the wire (OpenRouter)"),
    **each("CompletionUsage", "market_cost", "seen on the wire (Vercel gateway)"),
    **each("CompletionUsage", "cost_in_usd_ticks num_sources_used", "seen on the wire (xAI)"),
    **each(
        "CompletionUsage",
        "queue_time prompt_time completion_time total_time",
        "seen on the wire (Groq)",
    ),
    **each("PromptTokensDetails", "cache_creation_input_tokens", "Qwen, seen on the wire"),
    **each("PromptTokensDetails", "video_tokens", "seen on the wire (OpenRouter)"),
    **each("CompletionTokensDetails", "image_tokens", "seen on the wire (OpenRouter)"),
    # errors
    **each(
        "ErrorBody",
        "object message type param code raw_status_code",
        "seen on the wire: no envelope (Mistral)",
    ),
    **each("ErrorBody", "detail", "seen on the wire (Mistral, HuggingFace)"),
    **each("ErrorBody", "reason metadata", "seen on the wire (HuggingFace)"),
    **each("ErrorBody", "status_code", "Cerebras, told in a public thread"),
    **each("ErrorBody", "base_resp", "MiniMax, told in public threads"),
    **each("ErrorBody", "id request_id", "seen on the wire (Qwen)"),
    **each("ErrorBody", "user_id", "seen on the wire (OpenRouter)"),
    **each("ErrorObject", "status", "Gemini compat, told in public threads"),
    **each("ErrorObject", "status_code failed_generation", "seen on the wire (Groq)"),
    **each("ErrorObject", "http_code", "MiniMax, told in public threads"),
    **each("ErrorObject", "metadata", "seen on the wire (OpenRouter)"),
    **each("ErrorObject", "details", "seen on the wire (Azure)"),
    **each("ErrorObject", "n_prompt_tokens n_ctx", "seen on the wire (llama.cpp)"),
    # embeddings and models
    **each("EmbeddingList", "id", "seen on the wire (Azure, Mistral, OpenRouter)"),
    **each("EmbeddingUsage", "completion_tokens", "seen on the wire (Azure, Mistral)"),
    **each("EmbeddingUsage", "cost", "seen on the wire (OpenRouter, Perplexity)"),
    **each("Model", "name description", "seen on the wire (Mistral, OpenRouter, Baseten)"),
    **each("Model", "aliases", "seen on the wire (Mistral, llama.cpp)"),
}
"""Fields that the inventory has not, and why the structs have them."""

OF_OTHERS = {
    "BaseResp": "MiniMax's status inside an answer",
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


# --- the inventory's types ------------------------------------------------------------------------

TOKEN = re.compile(r'\s*(enum\([^)]*\)|array\[|map\[string,|"[^"]*"|\w+|[{}\]:?,|])')


class Kinds:
    """A type of the inventory: `("scalar", type)`, `("array", kinds)`, `("map", kinds)`,
    `("object", {key: kinds})`, in a list.
    """

    def __init__(self, schemas: dict[str, Any]) -> None:
        self.schemas = schemas

    def of(self, text: str) -> list[tuple[str, Any]]:
        self.tokens = TOKEN.findall(text)[::-1]
        return self.named(self._union())

    def named(self, parsed: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Names of schemas opened as far as unions and aliases go; objects stay."""
        found: list[tuple[str, Any]] = []
        for form, inside in parsed:
            schema = self.schemas.get(inside) if form == "name" else None
            if schema is None:
                found.append((form, inside))
            elif schema["kind"] == "union":
                found += [kind for member in schema["members"] for kind in self.of(member)]
            elif schema["kind"] == "alias":
                found += self.of(schema["type"])
            elif schema["kind"] == "enum":
                found.append(("scalar", str))
            else:
                found.append(
                    ("object", {key: field["type"] for key, field in schema["fields"].items()})
                )
        return found

    def _union(self) -> list[tuple[str, Any]]:
        found = self._one()
        while self.tokens and self.tokens[-1] == "|":
            self.tokens.pop()
            found += self._one()
        return found

    def _one(self) -> list[tuple[str, Any]]:
        token = self.tokens.pop()
        if token in ("array[", "map[string,"):
            inside = self._union()
            self.tokens.pop()
            return [("array" if token == "array[" else "map", inside)]
        if token == "{":
            fields = {}
            while self.tokens[-1] != "}":
                key = self.tokens.pop()
                while self.tokens.pop() != ":":
                    pass
                fields[key] = self._union()
                if self.tokens[-1] == ",":
                    self.tokens.pop()
            self.tokens.pop()
            return [("object", fields)]
        if token == "null":
            return []
        if token in SCALARS or token.startswith("enum("):
            return [("scalar", SCALARS.get(token, str))]
        assert token in self.schemas, token
        return [("name", token)]


SCALARS: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "any": Any,
}


# --- side by side ---------------------------------------------------------------------------------


def alternatives(hint: Any) -> list[Any]:
    members = typing.get_args(hint) if isinstance(hint, builtin.UnionType) else (hint,)
    return [each for each in members if each is not type(None)]


def fields_of(struct: type[OpenAIStruct]) -> dict[str, Any]:
    hints = typing.get_type_hints(struct)
    return {
        key: hints[name]
        for name, key in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    }


class Walk:
    """What the two say of each other: keys met per struct, and what of the types has no
    counterpart.
    """

    def __init__(self, inventory: dict[str, Any]) -> None:
        self.kinds = Kinds(inventory["schemas"])
        self.met: dict[type[OpenAIStruct], set[str]] = {}
        self.used: dict[tuple[str, str], set[str]] = {}
        self.lacking: set[str] = set()
        self._done: set[tuple[str, str]] = set()
        for root, struct in ROOTS.items():
            self.object(self.kinds.named([("name", inventory["roots"][root])])[0][1], struct)

    def object(self, fields: dict[str, Any], struct: type[OpenAIStruct]) -> None:
        self.met.setdefault(struct, set()).update(fields)
        if (mark := (repr(fields), struct.__name__)) in self._done:
            return
        self._done.add(mark)
        ours = fields_of(struct)
        for key, kind in fields.items():
            if key in ours:
                kinds = self.kinds.of(kind) if isinstance(kind, str) else self.kinds.named(kind)
                self.compare(kinds, ours[key], (struct.__name__, key), "")

    def compare(
        self, kinds: list[tuple[str, Any]], hint: Any, field: tuple[str, str], depth: str
    ) -> None:
        for form, inside in kinds:
            for each in alternatives(hint):
                if form == "scalar" and each is inside:
                    break
                if form == "array" and typing.get_origin(each) is list:
                    self.compare(
                        self.kinds.named(inside), typing.get_args(each)[0], field, depth + "[]"
                    )
                    break
                if form == "map" and typing.get_origin(each) is dict:
                    self.compare(
                        self.kinds.named(inside), typing.get_args(each)[1], field, depth + "{}"
                    )
                    break
                if form == "object" and isinstance(each, type) and issubclass(each, OpenAIStruct):
                    self.object(inside, each)
                    break
            else:
                self.lacking.add(".".join(field))
                continue
            self.used.setdefault(field, set()).add(f"{depth}{each}")


def said(hint: Any, depth: str = "") -> set[str]:
    """Every alternative of a hint, at every depth, as `Walk.used` writes them."""
    found = set()
    for each in alternatives(hint):
        found.add(f"{depth}{each}")
        if typing.get_origin(each) in (list, dict):
            found |= said(
                typing.get_args(each)[-1],
                depth + ("[]" if typing.get_origin(each) is list else "{}"),
            )
    return found


@pytest.fixture(scope="module")
def walk() -> Walk:
    return Walk(json.loads(INVENTORY.read_text("utf-8")))


STRUCTS = {
    value
    for value in vars(types).values()
    if isinstance(value, type) and issubclass(value, OpenAIStruct)
} - {OpenAIStruct}


def test_every_field_of_the_inventory_has_its_place(walk: Walk) -> None:
    missing = [
        f"{struct.__name__}.{key}"
        for struct, keys in walk.met.items()
        for key in keys - set(fields_of(struct))
    ]
    assert sorted(missing) == sorted(LEFT_OUT)


def test_every_field_of_the_structs_is_in_the_inventory_or_has_a_reason(walk: Walk) -> None:
    beyond = [
        f"{struct.__name__}.{key}"
        for struct, keys in walk.met.items()
        for key in set(fields_of(struct)) - keys
    ]
    assert sorted(set(beyond) - set(BEYOND)) == []
    assert sorted(set(BEYOND) - set(beyond)) == [], "no longer beyond"


def test_every_struct_is_in_the_inventory_or_has_a_reason(walk: Walk) -> None:
    assert sorted(struct.__name__ for struct in STRUCTS - set(walk.met)) == sorted(OF_OTHERS)


def test_types_are_those_of_the_inventory(walk: Walk) -> None:
    other = set(walk.lacking)
    for struct, keys in walk.met.items():
        for key, hint in fields_of(struct).items():
            if key in keys and walk.used.get((struct.__name__, key), set()) != said(hint):
                other.add(f"{struct.__name__}.{key}")
    assert sorted(other) == sorted(OTHER_TYPES)
