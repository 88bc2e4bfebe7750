"""The hosts of Messages, one row each.

Sources and dates of the facts: docs/providers.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wire.anthropic.dialect import API_VERSION_2023, API_VERSION_2026, PLAIN, Dialect
from wire.core.arguments import checked_arguments
from wire.core.provider import Provider, ProviderNames


@checked_arguments()
def messages_host(
    name: str,
    base_url: str,
    key_variable: str,
    dialect: Dialect = PLAIN,
    *,
    bearer: bool = False,
    key_required: bool = True,
    version: str = API_VERSION_2023,
) -> Provider:
    """Build the row of a host of Messages.

    >>> messages_host("my-host", "https://llm.example", "MY_HOST_API_KEY").key_header
    'x-api-key'

    The base URL has no version, as in Anthropic's SDKs. `bearer` sends the key as
    `authorization: Bearer KEY`. `version` is the default of the header `anthropic-version`, which
    `Client(version=...)` replaces.
    """
    return Provider(
        name,
        wire="anthropic",
        base_url=base_url,
        prefix="/v1",
        key_variable=key_variable,
        key_header="authorization" if bearer else "x-api-key",
        key_scheme="Bearer " if bearer else "",
        version=version,
        headers={"anthropic-version": "{version}"},
        key_required=key_required,
        dialect=dialect,
    )


_MINIMAX = Dialect(adaptive_only=True)

ROWS: tuple[Provider, ...] = (
    messages_host(
        "anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        Dialect(
            vendor_rules=True,
            newest_models=True,
            server_tools=(("web_search", ""), ("web_fetch", ""), ("code_execution", "")),
        ),
        bearer=True,
        version=API_VERSION_2026,
    ),
    messages_host(
        "deepseek@anthropic",
        "https://api.deepseek.com/anthropic",
        "DEEPSEEK_API_KEY",
        Dialect(reads_effort=True),
    ),
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
    messages_host(
        "minimax@anthropic", "https://api.minimax.io/anthropic", "MINIMAX_API_KEY", _MINIMAX
    ),
    messages_host(
        "minimax@anthropic-cn", "https://api.minimaxi.com/anthropic", "MINIMAX_API_KEY", _MINIMAX
    ),
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

provider_row: Callable[[Provider | str], Provider] = ProviderNames("anthropic", ROWS, PLAIN).row

endpoint_paths: re.Pattern[str] = re.compile(r"/(v1(/(messages|models))?)/*$", re.IGNORECASE)
"""Matches the path of an endpoint at the end of a base URL: calls add it themselves."""
