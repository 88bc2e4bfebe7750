"""Requests."""

from __future__ import annotations

from typing import Any

import msgspec

from wire.ollama.types.base import OllamaRequestStruct
from wire.ollama.types.content import Message, Tool


class Options(OllamaRequestStruct, frozen=True, kw_only=True):
    """Settings of the model. The server drops what it does not know, with a line in its log.

    The first ones are of the loading of the model: another value loads it anew, which takes seconds
    to minutes.
    """

    num_ctx: int | None = None
    """The context window in tokens. By default 4,096 below 24 GiB of video memory, 32,768 to 48
    GiB, 262,144 above."""
    num_batch: int | None = None
    num_gpu: int | None = None
    """Layers of the model on graphics cards."""
    main_gpu: int | None = None
    use_mmap: bool | None = None
    num_thread: int | None = None
    draft_num_predict: int | None = None
    num_keep: int | None = None
    """Tokens at the beginning that stay when the window shifts."""
    seed: int | None = None
    num_predict: int | None = None
    """The most tokens of an answer; -1, the default, is no limit."""
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repeat_last_n: int | None = None
    temperature: float | None = None
    repeat_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: list[str] | None = None


class ChatRequest(OllamaRequestStruct, frozen=True, kw_only=True):
    """A request for an answer of a conversation."""

    model: str | None = None
    """Such as `qwen3:8b`; without a tag it is `:latest`."""
    messages: list[Message] | None = None
    """Empty to load the model, or to unload it with `keep_alive` 0."""
    tools: list[Tool] | None = None
    format: Any = None
    """`"json"`, or a JSON Schema; `""` is none."""
    think: bool | str | None = None
    """`low`, `medium`, `high`, `max`, or whether the model thinks. Models that can do so by
    default. gpt-oss takes a level alone."""
    options: Options | None = None
    keep_alive: int | float | str | None = None
    """How long the model stays loaded: seconds, or a duration such as `10m`; -1 is for ever, 0
    unloads it."""
    stream: bool | None = None
    """True by default. The calls of this library always send it."""
    truncate: bool | None = None
    """Whether messages at the front are dropped, until the prompt fits `num_ctx`. True by default
    at the server; this library sends false unless the request has it."""
    shift: bool | None = None
    """Whether the oldest tokens are dropped, when the window is full while the model writes. True
    by default at the server; this library sends false unless the request has it."""
    logprobs: bool | None = None
    top_logprobs: int | None = None
    """0 to 20."""
    debug_render_only: bool | None = msgspec.field(name="_debug_render_only", default=None)
    """Answer with the prompt as the template of the model renders it; the model is not asked."""


class GenerateRequest(OllamaRequestStruct, frozen=True, kw_only=True):
    """A request for the continuation of a text; with `suffix`, for the text between two."""

    model: str | None = None
    prompt: str | None = None
    suffix: str | None = None
    """The text behind the answer."""
    system: str | None = None
    template: str | None = None
    """The template of the prompt, in place of the model's."""
    context: list[int] | None = None
    """Of an earlier answer, which the request goes on with. Deprecated."""
    raw_prompt: bool | None = msgspec.field(name="raw", default=None)
    """Send the prompt as it is, without a template."""
    images: list[str] | None = None
    """Base64, without `data:`."""
    format: Any = None
    """`"json"`, or a JSON Schema; `""` is none."""
    think: bool | str | None = None
    """`low`, `medium`, `high`, `max`, or whether the model thinks."""
    options: Options | None = None
    keep_alive: int | float | str | None = None
    """As in `ChatRequest`."""
    stream: bool | None = None
    """True by default. The calls of this library always send it."""
    truncate: bool | None = None
    """As in `ChatRequest`."""
    shift: bool | None = None
    """As in `ChatRequest`."""
    logprobs: bool | None = None
    top_logprobs: int | None = None
    """0 to 20."""
    width: int | None = None
    """Of a model that draws: pixels."""
    height: int | None = None
    """Of a model that draws: pixels."""
    steps: int | None = None
    """Of a model that draws."""
    debug_render_only: bool | None = msgspec.field(name="_debug_render_only", default=None)
    """As in `ChatRequest`."""


class EmbedRequest(OllamaRequestStruct, frozen=True, kw_only=True):
    """A request for vectors of texts."""

    model: str | None = None
    input: str | list[str] | None = None
    truncate: bool | None = None
    """Whether a text that is too long is cut. True by default at the server; this library sends
    false unless the request has it."""
    dimensions: int | None = None
    options: Options | None = None
    keep_alive: int | float | str | None = None
    """As in `ChatRequest`."""


class ShowRequest(OllamaRequestStruct, frozen=True, kw_only=True):
    """A request for what is known of a model."""

    model: str | None = None
    verbose: bool | None = None
    """With the tokens of the vocabulary, and all tensors."""


class PullRequest(OllamaRequestStruct, frozen=True, kw_only=True):
    """A request to download a model."""

    model: str | None = None
    insecure: bool | None = None
    """From a registry without TLS."""
    stream: bool | None = None
    """True by default. The calls of this library always send it."""


class DeleteRequest(OllamaRequestStruct, frozen=True, kw_only=True):
    """A request to delete a model."""

    model: str | None = None
