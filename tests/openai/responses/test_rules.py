"""Each rule with requests that break it, in the servers' words, and with requests that keep it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from wire.core.memory import remember
from wire.errors import ConfigurationError, RuleError, Violation
from wire.openai import responses
from wire.openai.responses import ROWS, check
from wire.openai.responses.rules import CHECKED, RULES, check_body
from wire.openai.responses.rules.rule_input import Body
from wire.openai.responses.types import ContentPart, Item, ResponseRequest, Tool
from wire.providers import PROVIDERS

PAGE = Path(__file__).parents[3] / "docs" / "rules.md"
Json = dict[str, Any]

HI: Json = {"type": "message", "role": "user", "content": "Hi"}
HO: Json = {"type": "message", "role": "assistant", "content": "Ho"}
CALL: Json = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
RESULT: Json = {"type": "function_call_output", "call_id": "c1", "output": ""}
CUSTOM: Json = {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "x"}
CUSTOM_RESULT: Json = {"type": "custom_tool_call_output", "call_id": "c2", "output": "y"}
SECRET: Json = {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
STORED: Json = {"type": "reasoning", "summary": [], "id": "rs_1"}
SHOWN: Json = {
    "type": "reasoning",
    "summary": [],
    "content": [{"type": "reasoning_text", "text": "Hm"}],
}
REFERENCE: Json = {"type": "item_reference", "id": "fc_1"}
OPEN: Json = {"type": "object", "properties": {"a": {"type": "string"}}}
CLOSED: Json = {**OPEN, "additionalProperties": False, "required": ["a"]}
TOOL: Json = {"type": "function", "name": "f", "parameters": OPEN}
PNG = "data:image/png;base64,aW1n"
PDF = "data:application/pdf;base64,cGRm"
TYPES = (
    "'additional_tools', 'agent_message', 'apply_patch_call', 'apply_patch_call_output', "
    "'code_interpreter_call', 'compaction', 'compaction_trigger', 'computer_call', "
    "'computer_call_output', 'custom_tool_call', 'custom_tool_call_output', 'file_search_call', "
    "'function_call', 'function_call_output', 'image_generation_call', 'item_reference', "
    "'local_shell_call', 'local_shell_call_output', 'mcp_approval_request', "
    "'mcp_approval_response', 'mcp_call', 'mcp_list_tools', 'message', 'multi_agent_call', "
    "'multi_agent_call_output', 'program', 'program_output', 'reasoning', 'shell_call', "
    "'shell_call_output', 'tool_search_call', 'tool_search_output', and 'web_search_call'."
)
PART_TYPES = (
    "'input_text', 'input_image', 'output_text', 'refusal', 'input_file', 'computer_screenshot', "
    "'summary_text', and 'encrypted_content'."
)
ROLES = "'assistant', 'system', 'developer', and 'user'."
INCLUDES = (
    "'file_search_call.results', 'web_search_call.results', 'web_search_call.action.sources', "
    "'message.input_image.image_url', 'computer_call_output.output.image_url', "
    "'code_interpreter_call.outputs', 'reasoning.encrypted_content', and "
    "'message.output_text.logprobs'."
)
IN_CLOSED = "In context=(), 'additionalProperties' is required to be supplied and to be false."
NO_LOGPROBS = "logprobs are not supported with reasoning models."
NOT_STORED = (
    "Items are not persisted when `store` is set to false. Try again with `store` set to true, or "
    "remove this item from your input."
)


def message(*parts: Json, role: str = "user", **fields: Any) -> Json:
    return {"type": "message", "role": role, "content": list(parts), **fields}


def body(*items: Json, model: str = "gpt-5.4", **fields: Any) -> Json:
    return {"model": model, "input": list(items) or "Hi", **fields}


def output(*parts: Json) -> Json:
    return {**RESULT, "output": list(parts)}


def form(**fields: Any) -> Json:
    return {"text": {"format": fields}}


def unsupported(name: str) -> str:
    return f"Unsupported parameter: '{name}' is not supported with this model."


def unsupported_effort(effort: str, model: str, values: str) -> str:
    return (
        f"Unsupported value: '{effort}' is not supported with the '{model}' model. "
        f"Supported values are: {values}."
    )


@dataclass(frozen=True)
class Broken:
    """A request, and the one violation that it has."""

    rule: str
    body: Json
    path: str
    message: str
    param: str | None = None
    """`param` of the server's error; the path if `None`."""
    code: str = ""
    severity: str = "error"
    status: int = 400
    provider: str = "openai@responses"


MISSING, INVALID, UNKNOWN = "missing_required_parameter", "invalid_value", "unknown_parameter"
TOO_LONG, SUPPORTED = "string_above_max_length", "Supported values are: "

BROKEN: tuple[Broken, ...] = (
    # --- input and items
    Broken("P1", {"model": "m"}, "input", "Missing required parameter: 'input'.", code=MISSING),
    Broken(
        "P1",
        {"model": "m", "input": []},
        "input",
        "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' must be "
        "provided.",
        "",
        MISSING,
    ),
    Broken(
        "P1",
        {"model": "m", "input": {}},
        "input",
        "Invalid type for 'input': expected one of a string or array of input items, but got an "
        "object instead.",
        code="invalid_type",
    ),
    Broken("P1", {}, "input", "Missing required parameter: 'input'.", code=MISSING, provider=""),
    Broken("P2", body({}), "input[0]", f"Invalid value: ''. {SUPPORTED}{ROLES}", code=INVALID),
    Broken(
        "P2",
        body({"call_id": "c1", "output": "x"}),
        "input[0]",
        f"Invalid value: ''. {SUPPORTED}{ROLES}",
        code=INVALID,
        provider="",
    ),
    Broken(
        "P2",
        {"model": "m", "input": [None]},
        "input[0]",
        "Invalid type for 'input[0]': expected an input item, but got null instead.",
        code="invalid_type",
    ),
    Broken(
        "P2",
        body({"type": "tool_call"}),
        "input[0]",
        f"Invalid value: 'tool_call'. {SUPPORTED}{TYPES}",
        code=INVALID,
        severity="warning",
    ),
    Broken(
        "P2",
        body(HI, REFERENCE),
        "input[1]",
        'input[1]: unknown input item type: "item_reference"',
        provider="ollama@responses",
    ),
    Broken(
        "P2",
        body(HI, {"role": "assistant", "content": "Ho"}),
        "input[1]",
        "Cannot determine type of 'item'",
        provider="llama.cpp@responses",
    ),
    Broken(
        "P3",
        body({"role": "tool", "content": "x"}),
        "input[0]",
        f"Invalid value: 'tool'. {SUPPORTED}{ROLES}",
        code=INVALID,
    ),
    Broken(
        "P3",
        body(message({"type": "input_text", "text": "x"}, role="developer")),
        "input[0].role",
        "this host may not know the role developer",
        severity="warning",
        provider="vllm@responses",
    ),
    Broken(
        "P4",
        body(HI, message({"type": "input_text", "text": "x"}, role="assistant")),
        "input[1].content[0].type",
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        "input[1].content[0]",
        INVALID,
    ),
    Broken(
        "P4",
        body(message({"type": "output_text", "text": "x"})),
        "input[0].content[0].type",
        "Invalid value: 'output_text'. Supported values are: 'input_text', 'input_image', "
        "'input_file', and 'scoped_content'.",
        "input[0].content[0]",
        INVALID,
    ),
    Broken(
        "P4",
        body(CALL, output({"type": "input_text", "text": "a"}, {"type": "text", "text": "b"})),
        "input[1].output[1].type",
        f"Invalid value: 'text'. {SUPPORTED}{PART_TYPES}",
        code=INVALID,
    ),
    Broken(
        "P4",
        body(message({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}})),
        "input[0].content[0].type",
        f"Invalid value: 'input_audio'. {SUPPORTED}{PART_TYPES}",
        code=INVALID,
    ),
    Broken(
        "P4",
        body(message({"type": "input_text"})),
        "input[0].content[0].text",
        "Missing required parameter: 'input[0].content[0].text'.",
        code=MISSING,
    ),
    Broken(
        "P5",
        body(CALL, {key: RESULT[key] for key in ("type", "call_id")}),
        "input[1].output",
        "Missing required parameter: 'input[1].output'.",
        code=MISSING,
    ),
    Broken(
        "P5",
        body(CALL, {key: RESULT[key] for key in ("type", "call_id")}),
        "input[1].output",
        "Missing required parameter: 'input[1].output'.",
        code=MISSING,
        severity="warning",
        provider="xai@responses",
    ),
    Broken(
        "P5",
        body({key: SECRET[key] for key in ("type", "encrypted_content")}),
        "input[0].summary",
        "Missing required parameter: 'input[0].summary'.",
        code=MISSING,
    ),
    Broken(
        "P5",
        body({"role": "user"}),
        "input[0].content",
        "Missing required parameter: 'input[0].content'.",
        code=MISSING,
    ),
    Broken(
        "P5",
        body({"role": "assistant", "content": None}),
        "input[0].content",
        "Invalid type for 'input[0].content': expected one of an array of objects or string, but "
        "got null instead.",
        code="invalid_type",
    ),
    Broken(
        "P5",
        body({**HI, "phase": "final_answer"}),
        "input[0].phase",
        "Unknown parameter: 'input[0].phase'.",
        code=UNKNOWN,
    ),
    # --- ids
    Broken(
        "P6",
        body({**HO, "id": "item_3bc5"}),
        "input[0].id",
        "Invalid 'input[0].id': 'item_3bc5'. Expected an ID that begins with 'msg'.",
        code=INVALID,
    ),
    Broken(
        "P6",
        body({**CALL, "id": "rs_1"}, RESULT),
        "input[0].id",
        "Invalid 'input[0].id': 'rs_1'. Expected an ID that begins with 'fc'.",
        code=INVALID,
    ),
    Broken(
        "P6",
        body({**HO, "id": ""}),
        "input[0].id",
        "Invalid 'input[0].id': ''. Expected an ID that contains letters, numbers, underscores, or "
        "dashes, but this value contained additional characters.",
        code=INVALID,
    ),
    Broken(
        "P6",
        body({**HO, "id": "msg_" + "1" * 61}),
        "input[0].id",
        "Invalid 'input[0].id': string too long. Expected a string with maximum length 64, but got "
        "a string with length 65 instead.",
        code=TOO_LONG,
    ),
    Broken(
        "P6",
        body({**CALL, "call_id": "c" * 116}, REFERENCE),
        "input[0].call_id",
        "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, "
        "but got a string with length 116 instead.",
        code=TOO_LONG,
    ),
    Broken(
        "P6",
        body({**RESULT, "call_id": ""}),
        "input[0].call_id",
        "Invalid 'input[0].call_id': empty string. Expected a string with minimum length 1, but "
        "got an empty string instead.",
        code="empty_string",
    ),
    Broken(
        "P7",
        body({**HO, "id": "msg_1"}, HI, {**HO, "id": "msg_1"}),
        "input[2].id",
        "Duplicate item found with id msg_1. Remove duplicate items from your input and try again.",
        "input",
    ),
    Broken(
        "P13",
        body(STORED, HO, store=False),
        "input[0].id",
        f"Item with id 'rs_1' not found. {NOT_STORED}",
        "input",
        status=404,
    ),
    Broken(
        "P13",
        body(REFERENCE, HI, store=False),
        "input[0].id",
        f"Item with id 'fc_1' not found. {NOT_STORED}",
        "input",
        severity="warning",
        status=404,
    ),
    Broken(
        "P13",
        body(STORED, HO, store=False, previous_response_id="resp_1"),
        "input[0].id",
        f"Item with id 'rs_1' not found. {NOT_STORED}",
        "input",
        severity="warning",
        status=404,
    ),
    Broken(
        "P14",
        body({**SECRET, "status": None}, HO),
        "input[0].status",
        "Unknown parameter: 'input[0].status'.",
        code=UNKNOWN,
    ),
    Broken(
        "P14",
        body({**STORED, "encrypted_content": None}, HO),
        "input[0].encrypted_content",
        "Unknown parameter: 'input[0].encrypted_content'.",
        code=UNKNOWN,
    ),
    # --- pairs
    Broken(
        "P8",
        body(HI, RESULT),
        "input[1]",
        "No tool call found for function call output with call_id c1.",
        "input",
    ),
    Broken(
        "P8",
        body(CUSTOM_RESULT),
        "input[0]",
        "No tool call found for custom tool call output with call_id c2.",
        "input",
    ),
    Broken(
        "P8",
        body(HI, RESULT),
        "input[1]",
        "No tool call found for function call output with call_id c1.",
        "input",
        severity="warning",
        provider="",
    ),
    Broken("P9", body(HI, CALL), "input[1]", "No tool output found for function call c1.", "input"),
    Broken(
        "P9",
        body(CALL, CUSTOM, RESULT, HI),
        "input[1]",
        "No tool output found for custom tool call c2.",
        "input",
    ),
    Broken(
        "P9",
        body(HI, CALL, previous_response_id="resp_1"),
        "input[1]",
        "No tool output found for function call c1.",
        "input",
    ),
    Broken(
        "P10",
        body(SHOWN, CALL, HO, RESULT, HI),
        "input[1]",
        "No tool output found for tool call c1.",
        "",
        "invalid_request_error",
        provider="deepseek@responses",
    ),
    Broken(
        "P10",
        body(SHOWN, CALL),
        "input[1]",
        "No tool output found for tool call c1.",
        "",
        "invalid_request_error",
        provider="deepseek@responses",
    ),
    Broken(
        "P11",
        body(HI, STORED, HI),
        "input[1]",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        "input",
    ),
    Broken(
        "P11",
        body(HI, {**SECRET, "id": "rs_1"}, store=False),
        "input[1]",
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        "input",
    ),
    Broken(
        "P12",
        body(HI, {**CALL, "id": "fc_1"}, RESULT, model="gpt-5"),
        "input[1]",
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item.",
        "input",
        severity="warning",
    ),
    Broken(
        "P12",
        body(HI, CALL, RESULT),
        "input[1]",
        "The `reasoning_text` in the thinking mode must be passed back to the API.",
        "",
        severity="warning",
        provider="deepseek@responses",
    ),
    # --- what the server holds, and what the host takes
    Broken(
        "P15",
        body(previous_response_id="resp_1", conversation="conv_1"),
        "conversation",
        "Mutually exclusive parameters: ''. Ensure you are only providing one of: 'pre..._id' or "
        "'conversation'.",
        "",
        "mutually_exclusive_parameters",
    ),
    Broken(
        "P15",
        body(previous_response_id="resp_1"),
        "previous_response_id",
        "this host ignores it, and answers without the earlier turns",
        provider="ollama@responses",
    ),
    Broken(
        "P15",
        body(previous_response_id="resp_1"),
        "previous_response_id",
        "llama.cpp does not support 'previous_response_id'.",
        provider="llama.cpp@responses",
    ),
    Broken(
        "P15",
        body(conversation="conv_1"),
        "conversation",
        "this host does not continue stored responses",
        provider="openrouter@responses",
    ),
    Broken("P15", {"input": "Hi"}, "model", "Missing required parameter: 'model'.", code=MISSING),
    Broken("P16", body(seed=1), "seed", "Unknown parameter: 'seed'.", code=UNKNOWN),
    Broken(
        "P16",
        body(stop=["a"]),
        "stop",
        "Unknown parameter: 'stop'. Did you mean 'store'?",
        code=UNKNOWN,
    ),
    Broken(
        "P16",
        body(text={"verbosity": "loud"}),
        "text.verbosity",
        "Invalid value: 'loud'. Supported values are: 'low', 'medium', and 'high'.",
        code=INVALID,
    ),
    Broken(
        "P16",
        body(tool_choice="any"),
        "tool_choice",
        "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
        code=INVALID,
    ),
    Broken(
        "P16",
        body(prompt_cache_retention="in_memory", model="gpt-5.6"),
        "prompt_cache_retention",
        "This model is compatible only with 24h extended prompt caching",
        code="invalid_parameter",
    ),
    Broken(
        "P16",
        body(store=True),
        "store",
        "OpenRouter stores no responses",
        provider="openrouter@responses",
    ),
    Broken(
        "P16",
        body(message({"type": "input_file", "file_data": PDF})),
        "input[0].content[0].type",
        "file inputs are not currently supported",
        provider="ollama@responses",
    ),
    Broken(
        "P16",
        body(reasoning={"effort": "minimal"}),
        "reasoning.effort",
        'invalid reasoning value: "minimal" (must be "high", "medium", "low", "max", or "none")',
        provider="ollama@responses",
    ),
    Broken(
        "P16",
        body(CALL, output({"type": "input_image", "image_url": PNG})),
        "input[1].output[0].type",
        "Output of tool call should be 'Input text'",
        provider="llama.cpp@responses",
    ),
    Broken(
        "P16",
        body(tools=[TOOL, {"type": "mcp"}]),
        "tools[1].type",
        "skipped by llama.cpp",
        severity="warning",
        provider="llama.cpp@responses",
    ),
    Broken(
        "P16",
        body(HI, message({"type": "refusal", "refusal": "No."}, role="assistant")),
        "input[1].content[0].type",
        "vLLM answers with status 500",
        provider="vllm@responses",
    ),
    Broken(
        "P16",
        body(stream=True, instructions="Be kind."),
        "store",
        "Store must be set to false",
        "",
        provider="chatgpt@responses",
    ),
    Broken(
        "P16",
        body(stream=False, store=False, instructions="Be kind."),
        "stream",
        "Stream must be set to true",
        "",
        provider="chatgpt@responses",
    ),
    Broken(
        "P16",
        body(stream=True, store=False, instructions="x", max_output_tokens=20),
        "max_output_tokens",
        "Unsupported parameter: max_output_tokens",
        provider="chatgpt@responses",
    ),
    # --- numbers
    Broken(
        "P17",
        body(max_output_tokens=15),
        "max_output_tokens",
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got "
        "15 instead.",
        code="integer_below_min_value",
    ),
    Broken(
        "P17",
        body(temperature=-0.5),
        "temperature",
        "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -0.5 "
        "instead.",
        code="decimal_below_min_value",
    ),
    Broken(
        "P17",
        body(top_p=1.5),
        "top_p",
        "Invalid 'top_p': decimal above maximum value. Expected a value <= 1, but got 1.5 instead.",
        code="decimal_above_max_value",
    ),
    Broken(
        "P17",
        body(metadata={f"k{index}": "v" for index in range(17)}),
        "metadata",
        "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, "
        "but got an object with 17 properties instead.",
        code="object_above_max_properties",
    ),
    Broken(
        "P17",
        body(metadata={"k": "v" * 513}),
        "metadata.k",
        "Invalid 'metadata.k': string too long. Expected a string with maximum length 512, but got "
        "a string with length 513 instead.",
        code=TOO_LONG,
    ),
    Broken(
        "P17",
        body(metadata={"k" * 65: "v"}),
        "metadata." + "k" * 65,
        f"Invalid property name in 'metadata': '{'k' * 65}' is too long. Expected a string with "
        "maximum length 64, but got a string with length 65 instead.",
        code=TOO_LONG,
    ),
    Broken(
        "P17",
        body(metadata={"k": 1}),
        "metadata.k",
        "Invalid type for 'metadata.k': expected a string, but got an integer instead.",
        code="invalid_type",
    ),
    # --- the model
    Broken(
        "P18",
        body(reasoning={"effort": "minimal"}, model="o4-mini-2025-04-16"),
        "reasoning.effort",
        unsupported_effort("minimal", "o4-mini-2025-04-16", "'low', 'medium', and 'high'"),
        code="unsupported_value",
    ),
    Broken(
        "P18",
        body(reasoning={"effort": "none"}, model="gpt-5-pro"),
        "reasoning.effort",
        unsupported_effort("none", "gpt-5-pro", "'high'"),
        code="unsupported_value",
    ),
    Broken(
        "P18",
        body(reasoning={"effort": "max"}),
        "reasoning.effort",
        unsupported_effort("max", "gpt-5.4", "'none', 'low', 'medium', 'high', and 'xhigh'"),
        code="unsupported_value",
    ),
    Broken(
        "P18",
        body(reasoning={"effort": "ultra"}, model="a-new-model"),
        "reasoning.effort",
        "Invalid value: 'ultra'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', "
        "'xhigh', and 'max'.",
        code=INVALID,
    ),
    Broken(
        "P18",
        body(reasoning={"effort": "low"}, model="gpt-4.1"),
        "reasoning.effort",
        unsupported("reasoning.effort"),
        code="unsupported_parameter",
    ),
    Broken(
        "P18",
        body(reasoning={"summary": "auto"}, model="gpt-4o-2024-08-06"),
        "reasoning.summary",
        unsupported("reasoning.summary"),
        code="unsupported_parameter",
    ),
    Broken("P18", body(temperature=0, model="o3"), "temperature", unsupported("temperature")),
    Broken("P18", body(top_p=1, model="gpt-5.6-sol"), "top_p", unsupported("top_p")),
    Broken(
        "P18",
        body(temperature=0.5, reasoning={"effort": "low"}),
        "temperature",
        unsupported("temperature"),
    ),
    Broken(
        "P18",
        body(top_logprobs=2, model="gpt-5.6-terra"),
        "top_logprobs",
        NO_LOGPROBS,
        code="unsupported_parameter",
    ),
    Broken(
        "P19",
        body(include=["reasoning.encrypted_content"], model="gpt-4.1-nano"),
        "include[0]",
        "Encrypted content is not supported with this model.",
        "include",
    ),
    Broken(
        "P19",
        body(include=["message.output_text.logprobs"], model="gpt-5.5"),
        "include",
        NO_LOGPROBS,
        code="unsupported_parameter",
    ),
    Broken(
        "P19",
        body(include=["usage"]),
        "include[0]",
        f"Invalid value: 'usage'. {SUPPORTED}{INCLUDES}",
        code=INVALID,
    ),
    # --- format and tools
    Broken(
        "P20",
        body(HI, instructions="Answer in JSON.", **form(type="json_object")),
        "text.format.type",
        "Response input messages must contain the word 'json' in some form to use 'text.format' of "
        "type 'json_object'.",
        "input",
    ),
    Broken(
        "P21",
        body(**form(type="json")),
        "text.format.type",
        "Invalid value: 'json'. Supported values are: 'json_object', 'text', and 'json_schema'.",
        code=INVALID,
    ),
    Broken(
        "P21",
        body(**form(type="json_schema", schema=OPEN)),
        "text.format.name",
        "Missing required parameter: 'text.format.name'.",
        code=MISSING,
    ),
    Broken(
        "P21",
        body(**form(type="json_schema", name="character", strict=True, schema=OPEN)),
        "text.format.schema",
        f"Invalid schema for response_format 'character': {IN_CLOSED}",
        code="invalid_json_schema",
    ),
    Broken(
        "P22",
        body(tools=[{"name": "f"}]),
        "tools[0].type",
        "Missing required parameter: 'tools[0].type'.",
        code=MISSING,
    ),
    Broken(
        "P22",
        body(tools=[{"type": "function", "function": {"name": "f"}}]),
        "tools[0].name",
        "Missing required parameter: 'tools[0].name'.",
        code=MISSING,
    ),
    Broken(
        "P22",
        body(tools=[{**TOOL, "strict": True}]),
        "tools[0].parameters",
        f"Invalid schema for function 'f': {IN_CLOSED}",
        code="invalid_function_parameters",
    ),
    Broken(
        "P22",
        body(tools=[{**TOOL, "defer_loading": True}]),
        "tools[0].defer_loading",
        "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.",
        "tools",
    ),
    Broken(
        "P22",
        body(tools=[TOOL, {"type": "tool_search"}]),
        "tools[1]",
        "Invalid Value: 'tools.tool_search'. tools.tool_search requires at least one deferred "
        "tool.",
        "tools",
    ),
    # --- media
    Broken(
        "P23",
        body(message({"type": "input_file", "filename": "a.pdf", "file_data": "cGRm"})),
        "input[0].content[0].file_data",
        "Invalid 'input[0].content[0].file_data'.",
        code=INVALID,
    ),
    Broken(
        "P23",
        body(CALL, output({"type": "input_file", "file_url": "https://a.test/b.mp3?c=d"})),
        "input[1].output[0].file_url",
        "The file type you uploaded is not supported. Please try again with a pdf",
        "input",
        "unsupported_file",
    ),
    Broken(
        "P23",
        body(message({"type": "input_file", "file_data": "data:audio/wav;base64,d2F2"})),
        "input[0].content[0].file_data",
        "The file type you uploaded is not supported. Please try again with a pdf",
        "input",
        "unsupported_file",
    ),
    Broken(
        "P23",
        body(message({"type": "input_image", "image_url": PDF})),
        "input[0].content[0].image_url",
        "Invalid 'input[0].content[0].image_url'. Expected a base64-encoded data URL with an image "
        "MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got unsupported MIME "
        "type 'application/pdf'.",
        code=INVALID,
    ),
    Broken(
        "P23",
        body(message({"type": "input_image", "image_url": "aW1n"})),
        "input[0].content[0].image_url",
        "Invalid 'input[0].content[0].image_url'. Expected a base64-encoded data URL with an image "
        "MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without "
        "the 'data:' prefix.",
        code=INVALID,
    ),
    Broken(
        "P24",
        body(HI, SECRET, HO | {"content": [{"type": "output_text", "text": "Ho"}]}),
        "input[1].content",
        "item['content'] is not an array",
        provider="llama.cpp@responses",
    ),
    Broken(
        "P25",
        body(message({"type": "input_image", "image_url": PNG})) | {"model": "deepseek-v4-pro"},
        "input[0].content[0]",
        "deepseek-v4-pro reads text, no image",
        provider="",
        severity="warning",
    ),
)


@joined("case", BROKEN, ids=lambda case: f"{case.rule} {case.path}"[:60])
def test_a_request_that_breaks_a_rule(case: Broken) -> None:
    param = case.path if case.param is None else case.param
    [found] = check(json.dumps(case.body).encode(), provider=case.provider)
    assert found == Violation(
        case.path,
        case.message,
        case.rule,
        case.severity,
        found.remedy,
        case.status,
        case.code,
        field=param,
    )
    assert check(case.body, provider=case.provider) == [found]


@joined("case", BROKEN, ids=lambda case: f"{case.rule} {case.path}"[:60])
def test_a_body_is_judged_for_one_host_after_another(case: Broken) -> None:
    body = Body(case.body)
    for provider in ("", case.provider, "openai@responses", ""):
        assert check_body(body, "", provider) == check(case.body, "", provider)


def test_a_received_item_is_judged_alike_each_time() -> None:
    data = [b'{"type":"reasoning","summary":[],"status":null}', json.dumps(HI).encode()]
    items = [remember(msgspec.json.decode(each, type=Item), each) for each in data]
    request = ResponseRequest(model="gpt-5.6", input=items)
    first = check(request)
    assert [(each.rule, each.path) for each in first] == [("P14", "input[0].status")]
    assert check(request) == first


KEPT: tuple[tuple[str, Json, str], ...] = (
    ("P1", {"model": "m", "input": "Hi"}, "openai"),
    ("P1", {"model": "m", "previous_response_id": "resp_1"}, "openai"),
    ("P1", {"prompt": {"id": "pmpt_1"}}, "openai"),
    ("P2", body({"role": "user", "content": "Hi"}), "openai"),
    ("P2", body({"type": "tool_call"}), "xai"),
    ("P2", body({"type": "configuration_update", "reasoning": {"effort": "low"}}), "openai"),
    ("P2", body({"role": "user", "content": "Hi"}, SHOWN, CALL, RESULT), "llama.cpp"),
    ("P2", body({"role": "assistant", "content": "Ho"}, HI), "ollama"),
    ("P3", body({"role": "developer", "content": "Be kind."}, HI), "openai"),
    ("P3", body({"role": "system", "content": "Be kind."}, HI), "vllm"),
    ("P3", body({"role": "critic", "content": "Hm"}), ""),
    (
        "P4",
        body(
            message(
                {"type": "output_text", "text": ""},
                {"type": "refusal", "refusal": "No."},
                role="assistant",
            ),
            message({"type": "input_text", "text": ""}),
            CALL,
            output({"type": "input_image", "file_id": "file-1"}),
        ),
        "openai",
    ),
    ("P4", body(message({"type": "input_audio"})), ""),
    ("P5", body(CALL, RESULT, CUSTOM, {**CUSTOM_RESULT, "output": []}), "openai"),
    ("P5", body({**HO, "phase": "commentary"}, {"role": "assistant", "content": ""}), "openai"),
    ("P6", body({**HO, "id": "msg_1"}, {**CALL, "id": "fc_1", "call_id": "c" * 64}, REFERENCE), ""),
    ("P6", body({"type": "web_search_call", "id": "ws_1"}, {**HO, "id": "msg_1-A"}), "openai"),
    ("P6", body({**SECRET, "id": "rs_" + "1" * 81}, HO), "xai"),
    ("P7", body({**HO, "id": "msg_1"}, HI, {**HO, "id": "msg_2"}), "openai"),
    ("P7", body({**SECRET, "id": "rs_1"}, HO, {**SECRET, "id": "rs_1"}, HO), "xai"),
    ("P8", body(RESULT, previous_response_id="resp_1"), "openai"),
    ("P8", body(RESULT, conversation="conv_1"), "openai"),
    ("P8", body(REFERENCE, RESULT), "openai"),
    ("P8", body({"type": "local_shell_call", "call_id": "c1"}, RESULT), "openai"),
    (
        "P8",
        body(
            {"type": "tool_search_call", "call_id": None, "arguments": {}},
            {"type": "tool_search_output", "call_id": None, "tools": []},
        ),
        "openai",
    ),
    ("P9", body(CALL, CUSTOM, HO, CUSTOM_RESULT, RESULT), "openai"),
    ("P9", body(CALL, {"type": "item_reference", "id": "fco_1"}), "openai"),
    ("P9", body({"type": "shell_call", "call_id": "c1"}), "openai"),
    (
        "P10",
        body(
            HI, SHOWN, HO, CALL, {**CALL, "call_id": "c3"}, {**RESULT, "call_id": "c3"}, RESULT, HI
        ),
        "deepseek",
    ),
    ("P11", body(HI, SECRET, HI), "openai"),
    ("P11", body(STORED, {**STORED, "id": "rs_2"}, HO, HI), "openai"),
    ("P11", body(STORED, {"type": "web_search_call", "id": "ws_1"}), "openai"),
    ("P11", body(STORED, {"type": "item_reference", "id": "msg_1"}), "openai"),
    ("P11", body(HI, STORED), "xai"),
    ("P12", body(HI, STORED, {**CALL, "id": "fc_1"}, RESULT, model="gpt-5"), "openai"),
    ("P12", body(HI, CALL, RESULT, model="gpt-5"), "openai"),
    ("P12", body({**HO, "id": "msg_1"}, HI, model="gpt-4.1"), "openai"),
    ("P12", body({**HO, "id": "msg_1"}, HI), "openai"),
    ("P12", body(HI, CALL, RESULT, reasoning={"effort": "none"}), "deepseek"),
    ("P13", body({**SECRET, "id": "rs_1"}, {**CALL, "id": "fc_1"}, RESULT, store=False), "openai"),
    ("P13", body(STORED, HO), "openai"),
    ("P13", body(STORED, HO, store=False), "xai"),
    ("P14", body({**SECRET, "status": "completed"}, HO), "openai"),
    ("P14", body({**SHOWN, "encrypted_content": None}, HO), "deepseek"),
    ("P14", body({"type": "mcp_call", "error": None, "output": None}, HO), "openai"),
    ("P15", body(previous_response_id="resp_1"), "lmstudio"),
    ("P15", body(conversation={"id": "conv_1"}, previous_response_id=None), "openai"),
    ("P15", {"input": "Hi"}, "vllm"),
    ("P16", body(seed=1), "vllm"),
    ("P16", body(prompt_cache_retention="in_memory"), "openai"),
    ("P16", body(store=False), "openrouter"),
    ("P16", body(store=False, stream=True, instructions="Be kind."), "chatgpt@responses"),
    ("P16", body(tool_choice={"type": "function", "name": "f"}, truncation="auto"), "openai"),
    ("P17", body(max_output_tokens=16, metadata={"k" * 64: "v" * 512}), "openai"),
    ("P17", body(max_output_tokens=8), "vllm"),
    ("P18", body(reasoning={"effort": "none"}, temperature=0.5, top_logprobs=2), "openai"),
    ("P18", body(temperature=0.5, top_p=0.9, model="gpt-4.1"), "openai"),
    ("P18", body(temperature=1, model="gpt-5.6"), "openai"),
    ("P18", body(reasoning={"effort": "max", "summary": "auto"}, model="gpt-5.6"), "openai"),
    ("P18", body(reasoning={"effort": "minimal"}, model="gpt-5-mini-2025-08-07"), "openai"),
    ("P18", body(reasoning={"effort": "max"}, model="a-new-model"), "openai"),
    ("P18", body(reasoning={"effort": "max"}, temperature=0.5, model="gpt-4.1"), "azure"),
    ("P19", body(include=["reasoning.encrypted_content"], model="gpt-5-nano"), "openai"),
    ("P19", body(include=["reasoning.encrypted_content"], model="gpt-4.1"), "azure"),
    ("P19", body(include=["message.output_text.logprobs"]), "openai"),
    ("P20", body(HI, {"role": "system", "content": "A JSON."}, **form(type="json_object")), ""),
    (
        "P20",
        body(message({"type": "input_text", "text": "A Json."}), **form(type="json_object")),
        "openai",
    ),
    ("P20", body(previous_response_id="resp_1", **form(type="json_object")), "openai"),
    (
        "P21",
        body(**form(type="json_schema", name="a", strict=True, schema=CLOSED)),
        "openai",
    ),
    ("P21", body(**form(type="json_schema", name="a", strict=False, schema=OPEN)), "openai"),
    ("P22", body(tools=[{**TOOL, "strict": True, "parameters": CLOSED}, TOOL]), "openai"),
    ("P22", body(tools=[{**TOOL, "defer_loading": True}, {"type": "tool_search"}]), "openai"),
    (
        "P22",
        body(
            tools=[
                {"type": "namespace", "name": "n", "tools": [{**TOOL, "defer_loading": True}]},
                {"type": "tool_search"},
            ]
        ),
        "openai",
    ),
    (
        "P22",
        body(
            {"type": "additional_tools", "role": "developer", "tools": [{"type": "tool_search"}]},
            tools=[{**TOOL, "defer_loading": True}],
        ),
        "openai",
    ),
    (
        "P23",
        body(
            message(
                {"type": "input_image", "image_url": PNG},
                {"type": "input_image", "image_url": "https://a.test/b"},
                {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
                {"type": "input_file", "file_url": "https://a.test/b.pdf"},
                {"type": "input_file", "file_id": "file-1"},
            )
        ),
        "openai",
    ),
    ("P24", body(HI, SHOWN, CALL, RESULT), "llama.cpp"),
    ("P25", body(message({"type": "input_image", "image_url": PNG})), ""),
)


@joined(("rule", "request_body", "provider"), KEPT)
def test_a_request_that_keeps_the_rules(rule: str, request_body: Json, provider: str) -> None:
    assert [str(each) for each in check(request_body, provider=provider)] == []


def test_each_rule_is_broken_and_kept_above_and_stands_on_the_page() -> None:
    assert sorted(CHECKED, key=lambda rule: int(rule[1:])) == [f"P{n}" for n in range(1, 26)]
    assert {case.rule for case in BROKEN} == CHECKED
    assert {rule for rule, *_ in KEPT} == CHECKED
    assert set(re.findall(r"^\| (P\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE)) == CHECKED
    for names, rule in RULES:
        assert rule.__doc__ is not None
        assert rule.__doc__.startswith(names.replace(" ", ", ") + ":")


# --- forms of a request and of a provider ---------------------------------------------------------


def test_a_struct_is_checked_as_what_is_sent() -> None:
    request = ResponseRequest(
        model="gpt-5.4",
        input=[
            Item(
                type="message",
                role="assistant",
                content=[ContentPart(type="input_text", text="Ho")],
            ),
            Item(call_id="c1", output="x"),
            Item(type="function_call", call_id="c1", name="f", arguments="{}"),
        ],
        tools=[Tool(type="function", name="f", parameters=OPEN, strict=True)],
    )
    assert [(each.rule, each.path) for each in check(request)] == [
        ("P2", "input[1]"),
        ("P4", "input[0].content[0].type"),
        ("P9", "input[2]"),
        ("P22", "tools[0].parameters"),
    ]


def test_a_received_item_is_checked_with_its_bytes() -> None:
    """Its fields do not show that a key is null, and its bytes are what is sent."""
    raw = b'{"type":"reasoning","summary":[],"id":"rs_1","encrypted_content":"s","status":null}'
    item = remember(Item(type="reasoning", summary=[], id="rs_1", encrypted_content="s"), raw)
    message = Item(type="message", role="assistant", content="Ho")
    request = ResponseRequest(model="gpt-5.4", input=[item, message])
    assert [(each.rule, each.path) for each in check(request)] == [("P14", "input[0].status")]
    received = remember(ResponseRequest(model="gpt-5.4", input="Hi"), b'{"model":"gpt-5.4"}')
    assert [each.rule for each in check(received)] == ["P1"]


def test_the_model_is_the_one_that_is_given() -> None:
    request = ResponseRequest(model="gpt-5.4", input="Hi", temperature=0.5)
    assert check(request) == []
    assert [each.rule for each in check(request, "gpt-5")] == ["P18"]


@pytest.mark.parametrize("provider", ["openai", "openai@responses", PROVIDERS["openai"]])
def test_the_chat_completions_of_a_host_stand_for_its_responses(provider: Any) -> None:
    request = ResponseRequest(model="gpt-5", input="Hi", temperature=0.5)
    assert [each.rule for each in check(request, "", provider)] == ["P18"]
    assert check(request, "", "") == check(request, "", "my-host") == []


def test_the_row_of_another_vendor_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        check(ResponseRequest(model="m", input="Hi"), "", PROVIDERS["anthropic"])


@joined("body", [b"{", b"[]", b"null", b'"x"', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_a_violation(body: bytes) -> None:
    [found] = check(body)
    assert (found.path, found.rule) == ("", "P1")


def test_a_value_that_expands_is_refused_before_it_is_read() -> None:
    doubled: list[Any] = []
    for _ in range(40):
        doubled = [doubled, doubled]
    [found] = check({"model": "m", "input": [{"role": "user", "content": doubled}]})
    assert "values" in found.message


ODD: tuple[Any, ...] = (None, True, 0, 1.5, "x", [], [[]], [1], {}, {"a": 1})


def test_odd_values_are_judged_and_never_an_exception() -> None:
    whole = body(
        message(
            {"type": "input_file", "file_data": PDF}, {"type": "input_image", "image_url": PNG}
        ),
        {**SECRET, "id": "rs_1", "status": None},
        {**CALL, "id": "fc_1"},
        output({"type": "input_text", "text": "x"}),
        tools=[{"type": "namespace", "name": "n", "tools": [{**TOOL, "strict": True}]}],
        metadata={"k": "v"},
        reasoning={"effort": "low", "summary": "auto"},
        include=["reasoning.encrypted_content"],
        previous_response_id="resp_1",
        **form(type="json_schema", name="n", strict=True, schema=CLOSED),
    )
    places = list(positions(whole, ()))
    assert len(places) > 60
    for provider in ("openai", "deepseek", "llama.cpp"):
        for place in places:
            for odd in ODD:
                for each in check(replaced(whole, place, odd), provider=provider):
                    assert each.message
                    assert each.rule in CHECKED


def positions(value: Any, above: tuple[Any, ...]) -> Any:
    """The path of each value inside a value."""
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    for step, inner in steps:
        yield (*above, step)
        if isinstance(inner, (dict, list)):
            yield from positions(inner, (*above, step))


def replaced(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """A copy with another value at one place."""
    if not place:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = replaced(value[place[0]], place[1:], odd)
    return copy


# --- rows -----------------------------------------------------------------------------------------


def test_a_refusal_of_a_host_has_words_and_an_expression() -> None:
    for row in ROWS:
        for refusal in row.dialect.refuses:
            assert refusal.words, (row.name, refusal.path)
            re.compile(refusal.models)


def test_what_every_host_refuses_is_refused_before_a_host_is_known() -> None:
    with pytest.raises(RuleError, match=r"input\[0\]"):
        responses.create_response(ResponseRequest(model="m", input=[Item(output="x")]))
    call = responses.create_response(ResponseRequest(model="o3", input="Hi", top_p=0.5))
    assert call.judge(PROVIDERS["xai@responses"]).body == call.body
    with pytest.raises(RuleError, match="top_p"):
        call.judge(PROVIDERS["openai@responses"])
