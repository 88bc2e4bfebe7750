"""Who can be asked: one row for each provider, data only. A provider that speaks a known wire is
one row and one fixture.

Sources and dates of what the rows say: docs/providers.md.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from wire.errors import ConfigurationError
from wire.openai.common.dialect import PLAIN, CallIds, Dialect, Refusal


@dataclass(frozen=True, slots=True)
class Provider:
    """Name, wire, where it lives and how it wants its key.

    `{...}` in `base_url` and `prefix` are options of the client.
    """

    name: str
    wire: str
    base_url: str
    """Empty where everybody has their own; then `base_url=` must be given."""
    prefix: str
    """Comes between base URL and the path of a call; a call's path does not name the version."""
    key_variable: str
    """Environment variable that is asked when no `api_key` was given."""
    key_header: str
    key_scheme: str = ""
    """What stands in the header before the key."""
    version: str = ""
    """Default of the option `version`; empty if there is no such option."""
    options: tuple[str, ...] = ()
    """Options that must be given."""
    key_required: bool = True
    """False for servers of one's own: without a key, no header says who is asking."""
    regions: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Region -> base URL; `PROVIDERS` has a row for each, named `name@region`."""
    hosts: tuple[str, ...] = ()
    """Further hosts of this provider, to which no other provider's key goes; `*` stands for any
    letters.
    """
    base_url_like: str = ""
    """What a base URL looks like, where there is no default."""
    dialect: Dialect | None = None
    """What it does differently on its wire; `None` if nobody else speaks that wire."""
    prefixes: Mapping[str, str] = field(default_factory=dict, hash=False)
    """First word of a path -> what comes before it in place of `prefix`."""


def chat_host(
    name: str,
    base_url: str,
    key_variable: str,
    dialect: Dialect = PLAIN,
    *,
    key_required: bool = True,
    regions: Mapping[str, str] | None = None,
    hosts: tuple[str, ...] = (),
) -> Provider:
    """A host of chat completions: the version stands in the base URL, the key is a bearer token."""
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
        dialect=dialect,
    )


def messages_host(
    name: str, base_url: str, key_variable: str, *, bearer: bool = False, key_required: bool = True
) -> Provider:
    """A host of Anthropic's Messages: as its SDKs have it, the version does not stand in the base
    URL.
    """
    return Provider(
        name,
        wire="anthropic",
        base_url=base_url,
        prefix="/v1",
        key_variable=key_variable,
        key_header="authorization" if bearer else "x-api-key",
        key_scheme="Bearer " if bearer else "",
        key_required=key_required,
    )


def unlisted(name: str, *, key_required: bool) -> Provider:
    """The row of a host of chat completions that nothing is known about; its key has a variable of
    its own.

    >>> unlisted("my-host", key_required=True).key_variable
    'MY_HOST_API_KEY'
    """
    return chat_host(
        name.lower(),
        "",
        re.sub(r"[^A-Z0-9]", "_", name.upper()) + "_API_KEY",
        key_required=key_required,
    )


def model_of(name: str, default: str = "") -> tuple[str, str]:
    """Provider and model of `provider:model`; the model keeps further colons. A bare name is a
    model of the default provider.

    >>> model_of("openai:ft:gpt-4o:org::id"), model_of("kimi@cn:kimi-k2.6")
    (('openai', 'ft:gpt-4o:org::id'), ('kimi@cn', 'kimi-k2.6'))

    Raises `ConfigurationError` for a half that is missing.
    """
    provider, colon, model = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not colon:
        provider, model = default, provider
    problem = (
        "empty model name"
        if not model.strip()
        else "empty provider name"
        if colon and not provider.strip()
        else ""
    )
    if not colon and not default:
        problem = "missing 'provider:model-name' format"
    if problem:
        raise ConfigurationError(f"model: {name!r}: {problem}")
    return provider, model


# --- dialects -------------------------------------------------------------------------------------

_UNSUPPORTED = "Unsupported parameter: '{}' is not supported with this model."
_OPENAI = Dialect(
    refuses=(
        Refusal(
            "max_tokens",
            _UNSUPPORTED.format("max_tokens") + " Use 'max_completion_tokens' instead.",
            remedy="max_completion_tokens",
            models=r"o\d|gpt-5(?!.*chat)",
        ),
        # Recorded: gpt-5-mini and gpt-5.6. From 5.1 to 5.4 models do not reason unless told to, and
        # nobody reported a refusal.
        Refusal(
            "stop",
            _UNSUPPORTED.format("stop"),
            models=r"o3|o4-mini|gpt-5(-mini|-nano)?(-\d{4}.*)?$|gpt-5\.6",
        ),
        Refusal("logprobs", _UNSUPPORTED.format("logprobs"), models=r"gpt-5\.6"),
        Refusal("top_logprobs", _UNSUPPORTED.format("top_logprobs"), models=r"gpt-5\.6"),
        Refusal(
            "reasoning_effort=minimal",
            "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.",
            remedy="none or low",
            models=r"gpt-5\.6",
        ),
        Refusal(
            "web_search_options",
            "Web search options not supported with this model.",
            models=r"(?!.*search)",
        ),
        Refusal(
            "logprobs", "This model does not support the 'logprobs' parameter.", models="gpt-audio"
        ),
        Refusal(
            "messages[].content[].image_url",
            "This model does not support image_url content.",
            models="gpt-audio",
        ),
        Refusal(
            "response_format.type=json_object|json_schema",
            "Invalid parameter: 'response_format' of this type is not supported with this model.",
            models="gpt-audio",
        ),
    ),
    ranges=(("temperature", 0, 2), ("top_logprobs", 0, 20)),
    most_stops=4,
    no_tools_while_reasoning=r"gpt-5\.[456]",
    thinks=r"gpt-5\.6",
    verbatim=True,
    call_ids=CallIds(most=40),
)

_NO_PARTS = (
    "Failed to deserialize the JSON body into the target type: unknown variant `{}`, "
    "expected `text`"
)
_DEEPSEEK = Dialect(
    refuses=(
        *(
            Refusal(f"messages[].content[].{kind}", _NO_PARTS.format(kind), models=r"(?!.*vision)")
            for kind in ("image_url", "input_audio", "file")
        ),
        Refusal(
            "messages[].role=developer",
            "unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
            remedy="role: system",
        ),
        Refusal(
            "response_format.type=json_schema",
            "This response_format type is unavailable now",
            remedy="json_object, and the schema in the prompt",
        ),
        Refusal("max_completion_tokens", "not read", remedy="max_tokens", ignored=True),
    ),
    thinks=r"deepseek-(v4|flash|reasoner)",
    no_forced_call_while_thinking=True,
    reasoning_slots=("reasoning_content",),
    reasoning_required=True,
)

_KIMI = Dialect(
    refuses=(
        # K3 always thinks and may be forced to call some tool, but not a certain one.
        Refusal(
            "tool_choice.function",
            "tool_choice 'specified' is incompatible with thinking enabled",
            remedy='tool_choice: "required"',
            models=r"(kimi-)?k3",
        ),
        Refusal("messages[].content[].text=", "text content is empty", remedy="leave the part out"),
        Refusal(
            "reasoning_effort=none", "reasoning_effort none is refused", remedy="low, high or max"
        ),
        Refusal(
            "thinking.keep",
            "thinking.keep is refused for this model",
            models=r"(?!kimi-k2\.6|kimi-k2\.7-code|(kimi-)?k3)",
        ),
    ),
    most_stops=5,
    thinks=r"kimi-k2\.[567]",
    no_forced_call_while_thinking=True,
    reasoning_slots=("reasoning_content",),
    reasoning_required=True,
)

_MINIMAX = Dialect(
    refuses=(
        Refusal("temperature=0", "temperature must be in (0,1]", remedy="a small number above 0"),
        Refusal(
            "thinking.type=enabled",
            'invalid thinking.type: "enabled" (allowed: adaptive, disabled) (2013)',
            remedy="adaptive",
            models=r"MiniMax-M3(?!\.)",
        ),
    ),
    ranges=(("temperature", 0, 1), ("n", 1, 1)),
    most_system_messages=1,
    tool_parameters=True,
    verbatim=True,  # its pages ask for the whole message
    reasoning_slots=("reasoning_details", "reasoning_content"),
    no_text="empty",
    invalid_arguments="wrapped",
    think_tags="tags",
    cumulative_details=True,
)

_QWEN = Dialect(thinks=r"qwen3(\.\d+)?-\d+b(?!.*instruct)", no_forced_call_while_thinking=True)

_MISTRAL = Dialect(
    refuses=(
        Refusal(
            "prompt_mode",
            "Reasoning prompt mode is not enabled for this model",
            remedy="reasoning_effort",
        ),
        Refusal(
            "reasoning_effort=minimal|low|medium|xhigh|max",
            "this reasoning_effort is not supported for {model}, supported values: [high, none]",
            remedy="high or none",
        ),
        Refusal("tools[].type=custom|web_search", "Input should be 'function'"),
        Refusal("seed", "not known here", remedy="random_seed", ignored=True),
    ),
    last_assistant_needs_prefix=True,
    reasoning_slots=("content",),
    call_ids=CallIds(least=9, most=9, letters="[a-zA-Z0-9]"),
)

_GROQ = Dialect(
    refuses=(
        Refusal(
            "messages[].reasoning_content",
            "property 'reasoning_content' is unsupported",
            remedy="leave it out",
        ),
        Refusal(
            "messages[].content[].image_url",
            "content must be a string",
            models="openai/gpt-oss|groq/compound",
        ),
        Refusal(
            "tools[].function",
            "`tool calling` is not supported with this model",
            models="groq/compound",
        ),
        Refusal(
            "response_format.type=json_schema",
            "This model does not support response format `json_schema`.",
            models="groq/compound",
        ),
        Refusal("logprobs", "`logprobs` is not supported with this model"),
        Refusal("top_logprobs", "`top_logprobs` is not supported with this model"),
        Refusal("logit_bias", "`logit_bias` is not supported with this model"),
    ),
    ranges=(("n", 1, 1),),
)

_XAI = Dialect(
    refuses=tuple(
        Refusal(
            name,
            f"Model {{model}} does not support parameter {said}.",
            remedy="leave it out, 0 is refused too",
            models=r"grok-(3-mini|4|build)(?!.*non-reasoning)",
        )
        for name, said in (
            ("presence_penalty", "presencePenalty"),
            ("frequency_penalty", "frequencyPenalty"),
            ("stop", "stop"),
        )
    ),
    reasoning_slots=("reasoning_content",),
    reasoning_outside_output=True,
)

_CEREBRAS = Dialect(
    refuses=(
        Refusal(
            "messages[].reasoning_content",
            "property 'reasoning_content' is unsupported",
            remedy="leave it out",
        ),
        Refusal("logit_bias", "checked, and not applied", ignored=True),
    ),
)

_TOGETHER = Dialect(
    refuses=(
        Refusal(
            "messages[].tool_calls=[]",
            "an empty list of tool_calls is refused",
            remedy="leave it out",
        ),
    )
)

_GEMINI = Dialect(
    refuses=tuple(
        Refusal(
            name,
            f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.',
            remedy="leave it out",
        )
        for name in ("store", "metadata", "reasoning", "top_k")
    ),
    takes=("extra_content", "thought_signature"),
)

_OLLAMA = Dialect(
    refuses=tuple(
        Refusal(path, "ignored by Ollama", ignored=True)
        for path in ("tool_choice=required|none", "tool_choice.function", "n", "logit_bias", "user")
    ),
    verbatim=True,
    reasoning_slots=("reasoning", "reasoning_content"),
)

_LLAMA_CPP = Dialect(
    refuses=(
        Refusal(
            "tool_choice.function",
            "a named tool_choice counts as auto",
            remedy='tool_choice: "required"',
            ignored=True,
        ),
    ),
    verbatim=True,
    reasoning_slots=("reasoning_content",),
    invalid_arguments="wrapped",  # it parses the history, and answers 500 to arguments that were cut off
)

# --- rows -----------------------------------------------------------------------------------------

_ROWS = (
    Provider(
        "gemini",
        wire="gemini",
        base_url="https://generativelanguage.googleapis.com",
        prefix="/{version}",
        key_variable="GEMINI_API_KEY",
        key_header="x-goog-api-key",
        version="v1beta",
    ),
    # A bearer token from a callback, or an express-mode API key (gemini.md section 1).
    Provider(
        "gemini@vertex",
        wire="gemini",
        base_url="https://{host}aiplatform.googleapis.com",
        prefix="/{version}/projects/{project}/locations/{location}/publishers/google",
        key_variable="GOOGLE_API_KEY",
        key_header="x-goog-api-key",
        version="v1beta1",
        options=("project", "location"),
        hosts=("aiplatform.googleapis.com", "*-aiplatform.googleapis.com"),
        prefixes={
            "projects": "/{version}",  # a full name, as answers have it
            "publishers": "/{version}/projects/{project}/locations/{location}",
            "cachedContents": "/{version}/projects/{project}/locations/{location}",
        },
    ),
    chat_host(
        "gemini@openai",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        _GEMINI,
    ),
    chat_host("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", _OPENAI),
    Provider(
        "azure",
        wire="openai",
        base_url="",
        prefix="",
        key_variable="AZURE_OPENAI_API_KEY",
        key_header="api-key",
        hosts=("*.openai.azure.com", "*.services.ai.azure.com"),
        base_url_like="https://NAME.openai.azure.com/openai/v1",
        dialect=Dialect(call_ids=CallIds(most=40)),
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
        Dialect(reasoning_slots=("reasoning_content",)),
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
        Dialect(verbatim=True, reasoning_slots=("reasoning_details", "reasoning")),
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
    messages_host("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY"),
    messages_host("deepseek@anthropic", "https://api.deepseek.com/anthropic", "DEEPSEEK_API_KEY"),
    messages_host("glm@anthropic", "https://api.z.ai/api/anthropic", "GLM_API_KEY", bearer=True),
    messages_host(
        "glm@anthropic-cn", "https://open.bigmodel.cn/api/anthropic", "GLM_API_KEY", bearer=True
    ),
    messages_host(
        "kimi@anthropic", "https://api.moonshot.ai/anthropic", "KIMI_API_KEY", bearer=True
    ),
    messages_host(
        "kimi@anthropic-cn", "https://api.moonshot.cn/anthropic", "KIMI_API_KEY", bearer=True
    ),
    messages_host("kimi@anthropic-coding", "https://api.kimi.com/coding", "KIMI_API_KEY"),
    messages_host("minimax@anthropic", "https://api.minimax.io/anthropic", "MINIMAX_API_KEY"),
    messages_host("minimax@anthropic-cn", "https://api.minimaxi.com/anthropic", "MINIMAX_API_KEY"),
    messages_host(
        "qwen@anthropic", "https://dashscope-intl.aliyuncs.com/apps/anthropic", "DASHSCOPE_API_KEY"
    ),
    messages_host(
        "qwen@anthropic-cn", "https://dashscope.aliyuncs.com/apps/anthropic", "DASHSCOPE_API_KEY"
    ),
    messages_host(
        "openrouter@anthropic", "https://openrouter.ai/api", "OPENROUTER_API_KEY", bearer=True
    ),
    messages_host(
        "ollama@anthropic", "http://localhost:11434", "OLLAMA_API_KEY", key_required=False
    ),
    messages_host(
        "llama.cpp@anthropic", "http://127.0.0.1:8080", "LLAMA_CPP_API_KEY", key_required=False
    ),
)


def _with_regions(row: Provider) -> Iterator[Provider]:
    yield row
    for region, base_url in row.regions.items():
        # No region is a machine of one's own, whatever the row itself is.
        yield dataclasses.replace(
            row, name=f"{row.name}@{region}", base_url=base_url, regions={}, key_required=True
        )


PROVIDERS: dict[str, Provider] = {each.name: each for row in _ROWS for each in _with_regions(row)}


def family_of(name: str) -> str:
    """What rows of one provider have in common: their name before the `@`."""
    return name.partition("@")[0]


def owner_of(host: str) -> Provider | None:
    """The provider whose host this is: no other provider's key goes there (R-31)."""
    for row in PROVIDERS.values():
        if any(
            fnmatchcase(host, own) for own in (urlsplit(row.base_url).hostname, *row.hosts) if own
        ):
            return row
    return None
