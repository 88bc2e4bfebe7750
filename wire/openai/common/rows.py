"""The hosts of OpenAI's API, one row each: base URL, key, dialect.

Sources and dates of the facts: docs/providers.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.provider import Provider, ProviderNames, base_url_variable_of, key_variable_of
from wire.openai.common.dialect import PLAIN, Caching, CallIds, Dialect, ModelRefusal, Refusal


@checked_arguments()
def chat_host(
    name: str,
    base_url: str,
    key_variable: str,
    dialect: Dialect = PLAIN,
    *,
    key_required: bool = True,
    regions: Mapping[str, str] | None = None,
    hosts: tuple[str, ...] = (),
    header_variables: Mapping[str, str] | None = None,
) -> Provider:
    """Build the row of a host of chat completions.

    >>> chat_host("my-host", "https://llm.example/v1", "MY_HOST_API_KEY").key_scheme
    'Bearer '

    The base URL ends in the version; the key is sent as `authorization: Bearer KEY`.
    """
    return Provider(
        name,
        wire="openai",
        base_url=base_url,
        prefix="",
        key_variable=key_variable,
        key_header="authorization",
        key_scheme="Bearer ",
        key_required=key_required,
        regions=regions or {},
        hosts=hosts,
        header_variables=header_variables or {},
        dialect=dialect,
    )


@checked_arguments()
def unlisted(name: str, *, key_required: bool) -> Provider:
    """Build a row for a host of chat completions that `ROWS` lacks, without a base URL.

    >>> unlisted("my-host", key_required=True).key_variable
    'MY_HOST_API_KEY'
    """
    return chat_host(name.lower(), "", key_variable_of(name), key_required=key_required)


# --- dialects -------------------------------------------------------------------------------------

RESPONSES_ONLY = "This model is only supported in v1/responses and not in v1/chat/completions."
_UNSUPPORTED = "Unsupported parameter: '{}' is not supported with this model."
_UNRECOGNISED = "Unrecognized request argument supplied: {}"
_SHUT_DOWN = (
    "The model `{model}` has been deprecated, learn more here: "
    "https://platform.openai.com/docs/deprecations"
)
_GPT_56, _GPT_AUDIO = r"gpt-5\.6(-.*)?", r"gpt-audio(-.*)?"
OPENAI_CACHING = Caching(
    unasked=True,
    key=True,
    breakpoints=r"gpt-(5\.([6-9]|\d\d)|[6-9])([.-].*)?",
    retention=r"gpt-5(\.[1245])?|gpt-5\.1-chat|gpt-5(\.1)?-codex|gpt-5\.1-codex-(max|mini)",
)
CACHES_UNASKED = Caching(unasked=True)
_NO_KEY = Refusal(
    "prompt_cache_key", "property 'prompt_cache_key' is unsupported", remedy="remove it"
)
_OPENAI = Dialect(
    refuses=(
        Refusal(
            "max_tokens",
            _UNSUPPORTED.format("max_tokens") + " Use 'max_completion_tokens' instead.",
            remedy="use max_completion_tokens",
            models=r"o\d(-.*)?|gpt-5(?!.*chat)([.-].*)?",
        ),
        # Refusals are recorded for gpt-5-mini and gpt-5.6, and reported for the others. o3-mini
        # accepts it, as do gpt-5.1 to 5.4, which do not reason by default.
        Refusal(
            "stop",
            _UNSUPPORTED.format("stop"),
            models=rf"o1-mini|o1-preview|o3|o4-mini|gpt-5(-mini|-nano)?|{_GPT_56}",
        ),
        Refusal("verbosity", _UNRECOGNISED.format("verbosity"), models=r"(gpt-(4|3\.5)|o\d).*"),
        Refusal(
            "web_search_options",
            "Web search options not supported with this model.",
            models=r"(?!.*search).*",
        ),
        Refusal(
            "messages[].role=system|developer",
            "Unsupported value: '{path}' does not support '{value}' with this model.",
            remedy="write the text into the first user message",
            models="o1-mini|o1-preview",
        ),
        Refusal(
            "tools[].function",
            "tools is not supported in this model.",
            remedy="remove the tools",
            models="o1-mini|o1-preview",
        ),
        Refusal(
            "messages[].content[].input_audio",
            "Content blocks are expected to be either text or image_url type.",
            remedy="use a model that hears, such as gpt-audio",
            models=r"gpt-5(\.\d)?(-mini|-nano|-luna|-sol|-terra)?",
        ),
        Refusal(
            "logprobs", "This model does not support the 'logprobs' parameter.", models=_GPT_AUDIO
        ),
        Refusal(
            "messages[].content[].image_url",
            "This model does not support image_url content.",
            models=_GPT_AUDIO,
        ),
        Refusal(
            "response_format.type=json_object|json_schema",
            "Invalid parameter: 'response_format' of this type is not supported with this model.",
            models=_GPT_AUDIO,
        ),
    ),
    refuses_models=(
        ModelRefusal(
            r"gpt-3\.5-turbo-instruct|davinci-002|babbage-002|text-embedding-.*|tts-.*|whisper-.*"
            r"|dall-e-.*|gpt-image-.*|omni-moderation|.*-(transcribe|tts)|gpt-5\.[23]-codex",
            "This is not a chat model and thus not supported in the v1/chat/completions endpoint. "
            "Did you mean to use v1/completions?",
            remedy="use a chat model",
        ),
        ModelRefusal(
            r"gpt-5(\.1)?-codex(-max|-mini)?|(gpt-5(\.\d)?|o1|o3)-pro|o\d(-mini)?-deep-research"
            r"|computer-use-preview|codex-mini",
            RESPONSES_ONLY,
            remedy="use a chat model",
        ),
        ModelRefusal(
            r"gpt-3\.5-turbo-(0301|0613|16k-0613)|text-(davinci|curie|babbage|ada)-00\d",
            _SHUT_DOWN,
            remedy="use a model of today",
            code="model_not_found",
        ),
    ),
    media_from_users_only=True,
    # Since gpt-5, such an image is accepted and not read (openai/openai-openapi#523).
    ignores_images_of_tools=r"gpt-5([.-].*)?",
    media_are_data_urls=True,
    required_of_json_schema=(
        ("name", "Missing required parameter: '{path}'."),
        ("schema", "Missing required parameter: '{path}'."),
    ),
    strict_schemas_are_closed=True,
    schemas_are_checked=True,
    vendor_bounds=True,
    most_stops=4,
    models_of="openai",
    ended_words=_SHUT_DOWN,
    effort_words=(
        "Unsupported value: 'reasoning_effort' does not support '{value}' with this model."
    ),
    developer_role=True,
    answers_anew=True,
    verbatim=True,
    takes=("audio",),
    refusals=True,
    custom_tools=True,
    call_ids=CallIds(most=40),
    server_tools=(("web_search_options", r".*search.*"),),
    stores=True,
    caching=OPENAI_CACHING,
)

_NO_PARTS = (
    "Failed to deserialize the JSON body into the target type: unknown variant `{}`, "
    "expected `text`"
)
_DEEPSEEK = Dialect(
    refuses=(
        *(
            Refusal(
                f"messages[].content[].{kind}", _NO_PARTS.format(kind), models=r"(?!.*vision).*"
            )
            for kind in ("image_url", "input_audio", "file")
        ),
        Refusal(
            "messages[].role=developer",
            "unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
            remedy="use role system",
        ),
        Refusal(
            "response_format.type=json_schema",
            "This response_format type is unavailable now",
            remedy="use json_object, with the schema in the prompt",
        ),
        Refusal(
            "max_completion_tokens", "ignored by DeepSeek", remedy="use max_tokens", ignored=True
        ),
    ),
    refuses_models=(
        ModelRefusal(
            "deepseek-(chat|reasoner)",
            "The supported API model names are deepseek-v4-pro or deepseek-v4-flash, but you "
            "passed {model}.",
            status=400,
            code="invalid_request_error",
            since="2026-07-24",
        ),
    ),
    prefix_key="prefix",
    prefix_region="beta",
    thinks=r"deepseek-(v4(-.*)?|flash|reasoner)",
    no_forced_call_while_thinking=True,
    reasoning_slots=("reasoning_content",),
    reasoning_required=True,
    caching=CACHES_UNASKED,
    embedded_texts=0,
)

_KIMI = Dialect(
    refuses=(
        # K3 always thinks. It accepts "required", but not a named tool.
        Refusal(
            "tool_choice.function",
            "tool_choice 'specified' is incompatible with thinking enabled",
            remedy='use tool_choice "required"',
            models=r"(kimi-)?k3(-.*)?",
        ),
        Refusal("messages[].content[].text=", "text content is empty", remedy="remove the part"),
        Refusal("tools[].function.strict", "strict is refused", remedy="remove it"),
        Refusal(
            "reasoning_effort=none",
            "reasoning_effort none is refused",
            remedy="use low, high or max",
        ),
        Refusal(
            "thinking.keep",
            "thinking.keep is refused for this model",
            models=r"(?!kimi-k2\.6|kimi-k2\.7-code|(kimi-)?k3).*",
        ),
    ),
    prefix_key="partial",
    most_stops=5,
    thinks=r"kimi-k2\.[567](-.*)?",
    no_forced_call_while_thinking=True,
    reasoning_slots=("reasoning_content",),
    reasoning_required=True,
    caching=Caching(unasked=True, key=True),
    embedded_texts=0,
)

_MINIMAX = Dialect(
    refuses=(
        Refusal(
            "temperature=0", "temperature must be in (0,1]", remedy="use a small number above 0"
        ),
        Refusal(
            "thinking.type=enabled",
            'invalid thinking.type: "enabled" (allowed: adaptive, disabled) (2013)',
            remedy="use adaptive",
            models="MiniMax-M3",
        ),
    ),
    ranges=(("temperature", 0, 1), ("n", 1, 1)),
    most_system_messages=1,
    tool_parameters=True,
    verbatim=True,  # MiniMax documents that the whole message must be sent back
    reasoning_slots=("reasoning_details", "reasoning_content"),
    no_text="empty",
    invalid_arguments="wrapped",
    think_tags="tags",
    cumulative_details=True,
    embedded_texts=0,  # its own format, with `texts` and `vectors`
)

_QWEN = Dialect(
    prefix_key="partial",
    thinks=r"(?!.*instruct)qwen3(\.\d+)?-\d+b(-.*)?",
    no_forced_call_while_thinking=True,
    server_tools=(("enable_search", ""),),
    caching=CACHES_UNASKED,
    embedded_texts=10,
)

_MISTRAL = Dialect(
    refuses=(
        Refusal(
            "prompt_mode",
            "Reasoning prompt mode is not enabled for this model",
            remedy="use reasoning_effort",
        ),
        Refusal("tools[].type=custom|web_search", "Input should be 'function'"),
        Refusal("seed", "unknown to Mistral", remedy="use random_seed", ignored=True),
    ),
    models_of="mistral",
    effort_words="this reasoning_effort is not supported for {model}, supported values: [{values}]",
    last_assistant_needs_prefix=True,
    prefix_key="prefix",
    reasoning_slots=("content",),
    call_ids=CallIds(least=9, most=9, letters="[a-zA-Z0-9]"),
    caching=Caching(unasked=True, key=True),
    embedded_texts=512,
    embedded_tokens=16_384,
    dimensions_field="output_dimension",
)

_GROQ_TYPES = "code=400, message={path} must be one of [function, mcp], type=invalid_request_error"
_GPT_OSS = r"openai/gpt-oss-.*"
_COMPOUND = r"groq/compound(-mini)?|compound-beta(-mini)?"
_GROQ = Dialect(
    refuses=(
        Refusal(
            "messages[].reasoning_content",
            "property 'reasoning_content' is unsupported",
            remedy="remove it",
        ),
        Refusal(
            "messages[].content[].image_url",
            "content must be a string",
            models="openai/gpt-oss-.*|groq/compound(-mini)?",
        ),
        Refusal(
            "tools[].function",
            "`tool calling` is not supported with this model",
            models="groq/compound(-mini)?",
        ),
        Refusal(
            "response_format.type=json_schema",
            "This model does not support response format `json_schema`.",
            models="groq/compound(-mini)?",
        ),
        Refusal("tools[].type=visit_website", _GROQ_TYPES),
        Refusal("tools[].type=browser_search", _GROQ_TYPES, models=r"groq/compound(-mini)?"),
        Refusal("logprobs", "`logprobs` is not supported with this model"),
        Refusal("top_logprobs", "`top_logprobs` is not supported with this model"),
        Refusal("logit_bias", "`logit_bias` is not supported with this model"),
        _NO_KEY,
    ),
    server_tools=(
        ("browser_search", _GPT_OSS),
        ("groq.code_interpreter", _GPT_OSS),
        ("compound.web_search", _COMPOUND),
        ("compound.code_interpreter", _COMPOUND),
        ("compound.visit_website", _COMPOUND),
    ),
    caching=CACHES_UNASKED,
    ranges=(("n", 1, 1),),
    required_of_json_schema=(("schema", "json schema is required"),),
    embedded_texts=0,
)

_XAI = Dialect(
    models_of="xai",
    refuses=tuple(
        Refusal(
            name,
            f"Model {{model}} does not support parameter {server_name}.",
            remedy="remove it, 0 is refused too",
            models=r"(?!.*non-reasoning)grok-(3-mini|4|build)([.-].*)?",
        )
        for name, server_name in (
            ("presence_penalty", "presencePenalty"),
            ("frequency_penalty", "frequencyPenalty"),
            ("stop", "stop"),
        )
    ),
    reasoning_slots=("reasoning_content",),
    reasoning_outside_output=True,
    caching=Caching(unasked=True, key_header="x-grok-conv-id"),
)

_CEREBRAS = Dialect(
    refuses=(
        Refusal(
            "messages[].reasoning_content",
            "property 'reasoning_content' is unsupported",
            remedy="remove it",
        ),
        Refusal("logit_bias", "validated but not applied by Cerebras", ignored=True),
    ),
    caching=CACHES_UNASKED,
)

_NO_CALLS = "an empty list of tool_calls is refused"
_TOGETHER = Dialect(refuses=(Refusal("messages[].tool_calls=[]", _NO_CALLS, remedy="remove it"),))

_GEMINI = Dialect(
    refuses=tuple(
        Refusal(
            name,
            f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.',
            remedy="remove it",
        )
        for name in ("store", "metadata", "reasoning", "top_k", "prompt_cache_key")
    ),
    takes=("extra_content", "thought_signature"),
    caching=CACHES_UNASKED,
    embedded_texts=100,
)

_OLLAMA = Dialect(
    refuses=tuple(
        Refusal(path, "ignored by Ollama", ignored=True)
        for path in ("tool_choice=required|none", "tool_choice.function", "n", "logit_bias", "user")
    ),
    verbatim=True,
    reasoning_slots=("reasoning", "reasoning_content"),
)

OPENROUTER_TOOLS = (
    # The search of OpenAI's models ignores blocked domains (documented).
    ("openrouter:web_search@openai", r"~?openai/.*"),
    ("openrouter:web_search", ""),
    ("openrouter:web_fetch", ""),
)

_LLAMA_CPP = Dialect(
    refuses=(
        Refusal(
            "tool_choice.function",
            "a named tool_choice counts as auto",
            remedy='use tool_choice "required"',
            ignored=True,
        ),
    ),
    verbatim=True,
    reasoning_slots=("reasoning_content",),
    # It parses the arguments in the history, and answers 500 to invalid ones.
    invalid_arguments="wrapped",
    caching=CACHES_UNASKED,
)

# --- rows -----------------------------------------------------------------------------------------

_OPENAI_ROW = chat_host(
    "openai",
    "https://api.openai.com/v1",
    "OPENAI_API_KEY",
    _OPENAI,
    header_variables={
        "OPENAI_ORG_ID": "openai-organization",
        "OPENAI_PROJECT_ID": "openai-project",
    },
)

ROWS: tuple[Provider, ...] = (
    chat_host(
        "gemini@openai",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        _GEMINI,
    ),
    msgspec.structs.replace(_OPENAI_ROW, model_rows=(("", "openai@responses"),)),
    msgspec.structs.replace(
        _OPENAI_ROW, name="openai@chat", other_base_url_variable=base_url_variable_of("openai")
    ),
    Provider(
        "azure",
        wire="openai",
        base_url="",
        prefix="",
        key_variable="AZURE_OPENAI_API_KEY",
        key_header="api-key",
        hosts=("*.openai.azure.com", "*.services.ai.azure.com"),
        base_url_like="https://NAME.openai.azure.com/openai/v1",
        other_base_url_variable="AZURE_OPENAI_ENDPOINT",  # without a path, which the host gets
        model_rows=(("", "azure@responses"),),
        dialect=Dialect(
            answers_anew=True,
            developer_role=True,
            takes=("audio",),
            stores=True,
            call_ids=CallIds(most=40),
            # Breakpoints and retention depend on the model, which a deployment's name hides.
            caching=Caching(unasked=True, key=True),
        ),
    ),
    chat_host(
        "deepseek",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        _DEEPSEEK,
        regions={"beta": "https://api.deepseek.com/beta"},
    ),
    chat_host(
        "glm",
        "https://api.z.ai/api/paas/v4",
        "GLM_API_KEY",
        Dialect(
            reasoning_slots=("reasoning_content",),
            sends_damaged_chunks=True,
            caching=CACHES_UNASKED,
        ),
        regions={
            "cn": "https://open.bigmodel.cn/api/paas/v4",
            "coding": "https://api.z.ai/api/coding/paas/v4",
            "coding-cn": "https://open.bigmodel.cn/api/coding/paas/v4",
        },
    ),
    chat_host(
        "kimi",
        "https://api.moonshot.ai/v1",
        "KIMI_API_KEY",
        _KIMI,
        regions={"cn": "https://api.moonshot.cn/v1", "coding": "https://api.kimi.com/coding/v1"},
    ),
    chat_host(
        "minimax",
        "https://api.minimax.io/v1",
        "MINIMAX_API_KEY",
        _MINIMAX,
        regions={"cn": "https://api.minimaxi.com/v1", "old": "https://api.minimax.chat/v1"},
    ),
    chat_host(
        "qwen",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        _QWEN,
        regions={
            "cn": "https://dashscope.aliyuncs.com/compatible-mode/v1",
            "us": "https://dashscope-us.aliyuncs.com/compatible-mode/v1",
        },
        hosts=("*.maas.aliyuncs.com",),
    ),
    chat_host("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", _MISTRAL),
    chat_host("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", _GROQ),
    chat_host("xai", "https://api.x.ai/v1", "XAI_API_KEY", _XAI),
    chat_host(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        Dialect(
            verbatim=True,
            takes=("images",),
            reasoning_slots=("reasoning_details", "reasoning"),
            server_tools=OPENROUTER_TOOLS,
            caching=Caching(unasked=True, marks=r"~?anthropic/.*|google/gemini.*"),
        ),
    ),
    chat_host(
        "together",
        "https://api.together.ai/v1",
        "TOGETHER_API_KEY",
        _TOGETHER,
        regions={"old": "https://api.together.xyz/v1"},
    ),
    chat_host("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    chat_host("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", _CEREBRAS),
    chat_host(
        "ollama",
        "http://localhost:11434/v1",
        "OLLAMA_API_KEY",
        _OLLAMA,
        key_required=False,
        regions={"cloud": "https://ollama.com/v1"},
    ),
    chat_host(
        "vllm",
        "http://localhost:8000/v1",
        "VLLM_API_KEY",
        Dialect(verbatim=True, reasoning_slots=("reasoning", "reasoning_content")),
        key_required=False,
    ),
    chat_host(
        "llama.cpp", "http://127.0.0.1:8080/v1", "LLAMA_CPP_API_KEY", _LLAMA_CPP, key_required=False
    ),
    chat_host("lmstudio", "http://127.0.0.1:1234/v1", "LMSTUDIO_API_KEY", key_required=False),
)

provider_row: Callable[[Provider | str], Provider] = ProviderNames("openai", ROWS, PLAIN).row

endpoint_paths: re.Pattern[str] = re.compile(
    r"/(chat/completions|responses|embeddings|(?<!\.services\.ai\.azure\.com/)models)/*$",
    re.IGNORECASE,
)
"""Matches the path of an endpoint at the end of a base URL: calls add it themselves."""
