"""Answers, and the lines of streams, which have the same form."""

from __future__ import annotations

from typing import Any

import msgspec

from wire.ollama.types.base import OllamaStruct
from wire.ollama.types.content import Message, text_of


class ChatResponse(OllamaStruct, frozen=True, kw_only=True):
    """An answer; in a stream, a piece of it. Durations are in nanoseconds."""

    model: str | None = None
    created_at: str | None = None
    message: Message | None = None
    done: bool | None = None
    """True in a whole answer, and in the last line of a stream."""
    done_reason: str | None = None
    """`stop`, `length`, `load`, `unload`. There is no word for calls. A runner that was stopped
    gives none, although `done` is true."""
    total_duration: int | None = None
    load_duration: int | None = None
    prompt_eval_count: int | None = None
    """Tokens of the prompt. Absent if all of it was cached."""
    prompt_eval_duration: int | None = None
    eval_count: int | None = None
    """Tokens of the answer, thoughts among them."""
    eval_duration: int | None = None
    logprobs: list[Logprob] | None = None
    remote_model: str | None = None
    """The model in the cloud that answered."""
    remote_host: str | None = None
    debug_info: Any = msgspec.field(name="_debug_info", default=None)
    """The rendered prompt, if only that was asked for."""

    @property
    def text(self) -> str:
        """The text of the message; `""` if it has none."""
        return text_of(self.message)


class GenerateResponse(OllamaStruct, frozen=True, kw_only=True):
    """The continuation of a text; in a stream, a piece of it. Durations are in nanoseconds."""

    model: str | None = None
    created_at: str | None = None
    response: str | None = None
    thinking: str | None = None
    done: bool | None = None
    """True in a whole answer, and in the last line of a stream."""
    done_reason: str | None = None
    """`stop`, `length`, `load`, `unload`."""
    context: list[int] | None = None
    """What a next request can go on with."""
    total_duration: int | None = None
    load_duration: int | None = None
    prompt_eval_count: int | None = None
    """Tokens of the prompt. Absent if all of it was cached."""
    prompt_eval_duration: int | None = None
    eval_count: int | None = None
    """Tokens of the answer, thoughts among them."""
    eval_duration: int | None = None
    logprobs: list[Logprob] | None = None
    image: str | None = None
    """Base64, of a model that draws."""
    completed: int | None = None
    """Steps of a model that draws."""
    total: int | None = None
    remote_model: str | None = None
    remote_host: str | None = None
    debug_info: Any = msgspec.field(name="_debug_info", default=None)
    """The rendered prompt, if only that was asked for."""

    @property
    def text(self) -> str:
        """The text; `""` if there is none."""
        return self.response or ""


class Logprob(OllamaStruct, frozen=True, kw_only=True):
    """How likely a token was."""

    token: str | None = None
    logprob: float | None = None
    bytes: list[int] | None = None
    top_logprobs: list[TokenLogprob] | None = None


class TokenLogprob(OllamaStruct, frozen=True, kw_only=True):
    """A token that could stand there, and how likely it was."""

    token: str | None = None
    logprob: float | None = None
    bytes: list[int] | None = None


class EmbedResponse(OllamaStruct, frozen=True, kw_only=True):
    """Vectors of texts, in their order. Durations are in nanoseconds."""

    model: str | None = None
    embeddings: list[list[float]] | None = None
    total_duration: int | None = None
    load_duration: int | None = None
    prompt_eval_count: int | None = None
    """Tokens of the texts."""


class ModelDetails(OllamaStruct, frozen=True, kw_only=True):
    """What kind of a model it is."""

    parent_model: str | None = None
    format: str | None = None
    family: str | None = None
    families: list[str] | None = None
    parameter_size: str | None = None
    """Such as `8.2B`."""
    quantization_level: str | None = None
    context_length: int | None = None
    embedding_length: int | None = None


class ListedModel(OllamaStruct, frozen=True, kw_only=True):
    """A model that the server has."""

    name: str | None = None
    model: str | None = None
    """The name, as requests contain it."""
    modified_at: str | None = None
    size: int | None = None
    """Bytes."""
    digest: str | None = None
    details: ModelDetails | None = None
    capabilities: list[str] | None = None
    remote_model: str | None = None
    remote_host: str | None = None


class TagsResponse(OllamaStruct, frozen=True, kw_only=True):
    """The models that the server has."""

    models: list[ListedModel] | None = None


class RunningModel(OllamaStruct, frozen=True, kw_only=True):
    """A model that is loaded."""

    name: str | None = None
    model: str | None = None
    size: int | None = None
    """Bytes."""
    digest: str | None = None
    details: ModelDetails | None = None
    expires_at: str | None = None
    """When it is unloaded."""
    size_vram: int | None = None
    """Bytes in the memory of graphics cards."""
    context_length: int | None = None
    """The window that it was loaded with."""


class PsResponse(OllamaStruct, frozen=True, kw_only=True):
    """The models that are loaded."""

    models: list[RunningModel] | None = None


class ShowResponse(OllamaStruct, frozen=True, kw_only=True):
    """What is known of a model."""

    license: str | None = None
    modelfile: str | None = None
    parameters: str | None = None
    template: str | None = None
    system: str | None = None
    renderer: str | None = None
    parser: str | None = None
    details: ModelDetails | None = None
    messages: list[Message] | None = None
    remote_model: str | None = None
    remote_host: str | None = None
    model_info: dict[str, Any] | None = None
    """Keys of the file of the model, such as `general.architecture` and `qwen3.context_length`."""
    projector_info: dict[str, Any] | None = None
    tensors: list[Any] | None = None
    capabilities: list[str] | None = None
    """`completion`, `tools`, `insert`, `vision`, `embedding`, `thinking`, `image`, `audio`."""
    modified_at: str | None = None
    requires: str | None = None


class Progress(OllamaStruct, frozen=True, kw_only=True):
    """How far a download is: a line of its stream. The last one has the status `success`."""

    status: str | None = None
    digest: str | None = None
    """The part that is downloaded."""
    total: int | None = None
    """Bytes of the part."""
    completed: int | None = None
    """Bytes of the part that are there."""


class DeleteResponse(OllamaStruct, frozen=True, kw_only=True):
    """A model was deleted: the body is empty."""


class VersionResponse(OllamaStruct, frozen=True, kw_only=True):
    """The version of the server."""

    version: str | None = None
