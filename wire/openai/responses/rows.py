"""The hosts of Responses, one row each. URL, key and headers are those of their chat completions.

Sources and dates of the facts: docs/providers.md.
"""

from __future__ import annotations

import re

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.provider import Provider, ProviderNames, base_url_variable_of
from wire.openai.common import rows
from wire.openai.common.dialect import Caching, Refusal
from wire.openai.responses.dialect import PLAIN, Dialect

_SUFFIX = "@responses"
_UNKNOWN = "Unknown parameter: '{path}'."
_CHAT_FIELDS = {
    "n": "send several requests",
    "seed": "remove it",
    "logit_bias": "remove it",
    "logprobs": "use top_logprobs",
    "max_tokens": "use max_output_tokens",
    "max_completion_tokens": "use max_output_tokens",
    "reasoning_effort": "use reasoning.effort",
    "response_format": "use text.format",
    "stream_options.include_usage": "remove it: the last event always has the usage",
}
"""Fields of chat completions that Responses do not have, and what to send instead."""
_GPT_56 = r"gpt-5\.6(-sol|-terra|-luna)?"
_TOOLS = (("web_search", ""), ("code_interpreter", ""), ("file_search", ""))
_OPENAI = Dialect(
    server_tools=_TOOLS,
    models_of="openai",
    reasoning="encrypted",
    vendor_rules=True,
    refuses=(
        *(
            Refusal(path, _UNKNOWN, remedy, code="unknown_parameter")
            for path, remedy in _CHAT_FIELDS.items()
        ),
        Refusal("stop", _UNKNOWN + " Did you mean 'store'?", "remove it", code="unknown_parameter"),
        Refusal(
            "messages",
            "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to "
            "'input'. Try again with the new parameter. See the API documentation for more "
            "information: https://platform.openai.com/docs/api-reference/responses/create.",
            "use input",
            code="unsupported_parameter",
        ),
        Refusal(
            "text.verbosity=low|high",
            "Unsupported value: '{value}' is not supported with the '{model}' model. Supported "
            "values are: 'medium'.",
            "use medium, or say it in the prompt",
            models=r"(gpt-(4|3\.5)|o\d).*",
            code="unsupported_value",
        ),
        Refusal(
            "reasoning.generate_summary",
            _UNKNOWN,
            "use reasoning.summary",
            models=_GPT_56,
            code="unknown_parameter",
        ),
        Refusal(
            "prompt_cache_retention=in_memory",
            "This model is compatible only with 24h extended prompt caching",
            "use 24h",
            models=_GPT_56,
            code="invalid_parameter",
        ),
    ),
    caching=rows.OPENAI_CACHING,
)
_AZURE = msgspec.structs.replace(
    # Names of models are those of the customer's deployments, so no rule can go by them.
    _OPENAI,
    models_of="",
    caching=Caching(unasked=True, key=True),
)
# The service behind a login of ChatGPT. Its words are reported, and stand in `detail`.
_CHATGPT = msgspec.structs.replace(
    _OPENAI,
    server_tools=(("web_search", ""),),
    stores=True,  # so that `store: false` is sent, which it demands
    chains="refused",
    chain_words="Unsupported parameter: previous_response_id",
    caching=Caching(unasked=True, key=True),
    refuses=tuple(
        Refusal(name, f"Unsupported parameter: {name}", "remove it")
        for name in ("max_output_tokens", "temperature", "top_p")
    ),
    requires=(
        ("store", False, "Store must be set to false"),
        ("stream", True, "Stream must be set to true"),
        ("instructions", None, "Instructions are required"),
    ),
)
_HOSTED_TOOLS = (
    "custom|namespace|web_search|web_search_preview|file_search|code_interpreter|image_generation"
    "|mcp|local_shell|shell|apply_patch|computer|computer_use_preview|tool_search"
)
_OLLAMA = Dialect(
    developer_role=False,
    stores=False,
    chains="ignored",
    item_types=("message", "function_call", "function_call_output", "reasoning"),
    unknown_item_words='{path}: unknown input item type: "{type}"',
    refuses=(
        Refusal("input[].content[].type=input_file", "file inputs are not currently supported"),
        Refusal("input[].output[].type=input_file", "file inputs are not currently supported"),
        Refusal(
            "reasoning.effort=minimal|xhigh",
            'invalid reasoning value: "{value}" (must be "high", "medium", "low", "max", or '
            '"none")',
            "use low or high",
        ),
        *(
            Refusal(path, "ignored by Ollama", ignored=True)
            for path in ("tool_choice=required", "tool_choice.name", "background=1")  # 1 is true
        ),
        Refusal(
            "text.format.type=json_object", "ignored by Ollama", "use json_schema", ignored=True
        ),
    ),
)
_LLAMA_CPP = Dialect(
    developer_role=False,
    reasoning="content",
    stores=False,
    caching=rows.CACHES_UNASKED,
    chains="refused",
    chain_words="llama.cpp does not support 'previous_response_id'.",
    item_types=("message", "function_call", "function_call_output", "reasoning"),
    unknown_item_words="Cannot determine type of 'item'",
    typed_messages=True,
    reasoning_content_words="item['content'] is not an array",
    refuses=(
        Refusal(
            "input[].content[].type=input_file",
            "'input_file' is not supported by llamacpp at this moment",
        ),
        Refusal(
            "input[].content[].type=refusal", "'type' must be 'output_text'", "send it as text"
        ),
        Refusal(
            "input[].output[].type=input_image|input_file",
            "Output of tool call should be 'Input text'",
            "send the media in a message of the user",
        ),
        Refusal(f"tools[].type={_HOSTED_TOOLS}", "skipped by llama.cpp", ignored=True),
    ),
)
_VLLM = Dialect(
    developer_role=False,
    reasoning="content",
    refuses=(
        Refusal(
            "input[].content[].type=refusal",
            "vLLM answers with status 500",  # its words are not known
            "send it as text",
        ),
        Refusal("tools[].type=custom", "left out by vLLM", "use a function", ignored=True),
    ),
)


@checked_arguments()
def responses_host(chat: Provider, dialect: Dialect = PLAIN) -> Provider:
    """Build the row for the Responses of a host that has chat completions, too.

    >>> from wire.openai import chat_host
    >>> row = responses_host(chat_host("my-host", "https://llm.example/v1", "MY_HOST_API_KEY"))
    >>> row.name, row.base_url_variables
    ('my-host@responses', ('MY_HOST_RESPONSES_BASE_URL', 'MY_HOST_BASE_URL'))
    """
    return msgspec.structs.replace(
        chat,
        name=f"{chat.name}{_SUFFIX}",
        wire="openai.responses",
        regions={},
        model_rows=(),
        other_base_url_variable=chat.other_base_url_variable or base_url_variable_of(chat.name),
        dialect=dialect,
    )


_CHAT_ROWS = {row.name: row for row in rows.ROWS}

_OF_CHAT_HOSTS = tuple(
    responses_host(_CHAT_ROWS[name], dialect)
    for name, dialect in {
        "openai": _OPENAI,
        "azure": _AZURE,
        "xai": Dialect(
            server_tools=(
                ("xai.web_search", ""),
                ("xai.code_interpreter", ""),
                ("file_search", ""),
            ),
            models_of="xai",
            reasoning="encrypted",
            caching=Caching(unasked=True, key=True),
        ),
        "openrouter": Dialect(
            server_tools=rows.OPENROUTER_TOOLS,
            encrypts=True,
            ids="messages",
            stores=False,
            chains="refused",
            caching=rows.CACHES_UNASKED,
            refuses=(
                # Its words are not known; the documentation says that the status is 400. 1 is true.
                Refusal("store=1", "OpenRouter stores no responses", "set it to false"),
            ),
        ),
        "deepseek": Dialect(
            server_tools=(("plain.web_search", ""),),
            reasoning="content",
            adjacent_results=True,
            stores=False,
            chains="refused",
            caching=rows.CACHES_UNASKED,
        ),
        "vllm": _VLLM,
        "llama.cpp": _LLAMA_CPP,
        "ollama": _OLLAMA,
        "lmstudio": Dialect(developer_role=False),
    }.items()
)

ROWS: tuple[Provider, ...] = (
    *_OF_CHAT_HOSTS,
    Provider(
        f"chatgpt{_SUFFIX}",
        wire="openai.responses",
        base_url="https://chatgpt.com/backend-api/codex",
        prefix="",
        key_variable="CHATGPT_ACCESS_TOKEN",
        key_header="authorization",
        key_scheme="Bearer ",
        dialect=_CHATGPT,
    ),
)

_row = ProviderNames("openai.responses", ROWS, PLAIN).row


_NAMES = frozenset(row.name for row in ROWS)


def provider_row(provider: Provider | str) -> Provider:
    """Return the row itself or the row of that name; for another name one with the default dialect.

    The chat completions of a host stand for its Responses: one client sends calls of both. Raises
    `ConfigurationError` for the row of another wire.
    """
    if isinstance(provider, Provider) and provider.wire == "openai":
        return _row(f"{provider.family}{_SUFFIX}")
    if isinstance(provider, str) and f"{provider}{_SUFFIX}" in _NAMES:
        return _row(f"{provider}{_SUFFIX}")
    return _row(provider)


endpoint_paths: re.Pattern[str] = re.compile(r"/responses/*$", re.IGNORECASE)
"""Matches the path of an endpoint at the end of a base URL: calls add it themselves."""
