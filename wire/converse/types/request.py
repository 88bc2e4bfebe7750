"""Requests and their settings."""

from __future__ import annotations

from typing import Any

from wire.converse.types.base import ConverseRequestStruct, ConverseStruct
from wire.converse.types.content import (
    CachePointBlock,
    GuardrailConverseContentBlock,
    Message,
)


class ConverseRequest(ConverseRequestStruct, frozen=True, kw_only=True):
    """A request of Converse and ConverseStream. The model stands in the path."""

    messages: list[Message] | None = None
    system: list[SystemContentBlock] | None = None
    inference_config: InferenceConfig | None = None
    tool_config: ToolConfig | None = None
    guardrail_config: GuardrailConfig | None = None
    additional_model_request_fields: Any = None
    """Further fields that the model itself reads, such as `thinking`."""
    prompt_variables: dict[str, PromptVariableValues] | None = None
    """Values of the variables of a stored prompt, which then stands in the place of the model."""
    additional_model_response_field_paths: list[str] | None = None
    """JSON pointers to fields of the model's own response that the answer has, too; at most 10."""
    request_metadata: dict[str, str] | None = None
    """Pairs by which logs of invocations can be filtered; at most 16."""
    performance_config: PerformanceConfig | None = None
    service_tier: ServiceTier | None = None
    output_config: OutputConfig | None = None


class SystemContentBlock(ConverseStruct, frozen=True, kw_only=True):
    """One block of the system prompt: an object with one key, which names its kind."""

    text: str | None = None
    guard_content: GuardrailConverseContentBlock | None = None
    cache_point: CachePointBlock | None = None


class InferenceConfig(ConverseRequestStruct, frozen=True, kw_only=True):
    """Length and randomness of the answer."""

    max_tokens: int | None = None
    """At least 1."""
    temperature: float | None = None
    """0 to 1."""
    top_p: float | None = None
    """0 to 1."""
    stop_sequences: list[str] | None = None


class ToolConfig(ConverseRequestStruct, frozen=True, kw_only=True):
    """The tools, and which of them the model may or must call."""

    tools: list[Tool] | None = None
    """At least 1."""
    tool_choice: ToolChoice | None = None


class Tool(ConverseStruct, frozen=True, kw_only=True):
    """A tool, or a cache point behind tools: an object with one key."""

    tool_spec: ToolSpecification | None = None
    system_tool: SystemTool | None = None
    cache_point: CachePointBlock | None = None


class ToolSpecification(ConverseStruct, frozen=True, kw_only=True):
    """A function that the caller runs."""

    name: str | None = None
    """At most 64 of the characters `a-z A-Z 0-9 _ -`."""
    description: str | None = None
    """Not empty."""
    input_schema: ToolInputSchema | None = None
    strict: bool | None = None
    """The arguments fit the schema for certain."""


class ToolInputSchema(ConverseStruct, frozen=True, kw_only=True):
    """The schema of arguments."""

    json: Any = None
    """JSON Schema of an object."""


class SystemTool(ConverseStruct, frozen=True, kw_only=True):
    """A tool that the server runs."""

    name: str | None = None
    """Such as `nova_grounding`, `nova_code_interpreter`."""


class ToolChoice(ConverseStruct, frozen=True, kw_only=True):
    """Which tool the model calls: an object with one key. Without tools there is no choice."""

    auto: dict[str, Any] | None = None
    """The model decides. An empty object."""
    any: dict[str, Any] | None = None
    """The model calls one of the tools, at least. An empty object."""
    tool: SpecificToolChoice | None = None
    """The model calls this tool."""


class SpecificToolChoice(ConverseStruct, frozen=True, kw_only=True):
    """A tool by its name."""

    name: str | None = None


class OutputConfig(ConverseRequestStruct, frozen=True, kw_only=True):
    """Form and effort of the answer."""

    text_format: OutputFormat | None = None
    effort: str | None = None
    """The word of the model, such as `low`."""


class OutputFormat(ConverseRequestStruct, frozen=True, kw_only=True):
    """The form of the text of the answer."""

    type: str | None = None
    """`json_schema`."""
    structure: OutputFormatStructure | None = None


class OutputFormatStructure(ConverseRequestStruct, frozen=True, kw_only=True):
    """What the text is like: an object with one key."""

    json_schema: JsonSchemaDefinition | None = None


class JsonSchemaDefinition(ConverseRequestStruct, frozen=True, kw_only=True):
    """The JSON Schema of an answer."""

    schema: str | None = None
    """The schema as a JSON text."""
    name: str | None = None
    description: str | None = None


class GuardrailConfig(ConverseRequestStruct, frozen=True, kw_only=True):
    """The guardrail that assesses request and answer."""

    guardrail_identifier: str | None = None
    guardrail_version: str | None = None
    trace: str | None = None
    """`enabled`, `disabled`, `enabled_full`: whether the answer has the assessments."""
    stream_processing_mode: str | None = None
    """`sync` assesses before anything is sent, `async` while the answer is sent. Of streams only.
    """


class PerformanceConfig(ConverseRequestStruct, frozen=True, kw_only=True):
    """Latency of the model."""

    latency: str | None = None
    """`standard`, `optimized`."""


class ServiceTier(ConverseRequestStruct, frozen=True, kw_only=True):
    """Tier of service."""

    type: str | None = None
    """`priority`, `default`, `flex`, `reserved`."""


class PromptVariableValues(ConverseRequestStruct, frozen=True, kw_only=True):
    """The value of a variable: an object with one key."""

    text: str | None = None


class CountTokensRequest(ConverseRequestStruct, frozen=True, kw_only=True):
    """A request for the number of tokens of a prompt."""

    input: CountTokensInput | None = None


class CountTokensInput(ConverseRequestStruct, frozen=True, kw_only=True):
    """The prompt: an object with one key."""

    invoke_model: InvokeModelTokensRequest | None = None
    converse: ConverseTokensRequest | None = None


class InvokeModelTokensRequest(ConverseRequestStruct, frozen=True, kw_only=True):
    """A prompt in the form of the model."""

    body: str | None = None
    """Base64 of the JSON of a request of InvokeModel."""


class ConverseTokensRequest(ConverseRequestStruct, frozen=True, kw_only=True):
    """A prompt in the form of Converse."""

    messages: list[Message] | None = None
    system: list[SystemContentBlock] | None = None
    tool_config: ToolConfig | None = None
    additional_model_request_fields: Any = None
