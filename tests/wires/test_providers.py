"""Who can be asked by name, where each lives, and which key goes there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import typing
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from tests.property import ALL
from wire import AsyncClient, Client, openai, providers
from wire.core.call import Call, StreamCall
from wire.core.provider import base_url_variable_of
from wire.core.secret import Secret
from wire.errors import APIError, ConfigurationError, RuleError, Violation
from wire.http.target import Target, target
from wire.openai.chat.types import ChatCompletionRequest, Message, ToolCall
from wire.openai.common.dialect import PLAIN, Dialect
from wire.providers import (
    _OTHER_NAMES,
    _ROW_OF_MODEL,
    PROVIDERS,
    Provider,
    model_of,
    nearest_providers,
    unlisted,
)

KEY, OTHER = "fake-key-4711", "fake-key-0815"
PAGE = Path(__file__).parents[2] / "docs" / "providers.md"
CHAT = sorted(name for name, row in PROVIDERS.items() if row.wire == "openai")
MESSAGES = sorted(name for name, row in PROVIDERS.items() if row.wire == "anthropic")
RESPONSES = sorted(name for name, row in PROVIDERS.items() if row.wire == "openai.responses")
OWN = ["ollama@openai", "vllm", "llama.cpp", "lmstudio"]
PLACE = {
    "project": "my-project",
    "location": "us-central1",
    "region": "us-east-1",
    "resource": "me",
    "workspace": "wrkspc_1",
    "account": "my-account",
}


def place(name: str, base_url: bool = False) -> dict[str, str]:
    """The options that a row needs, beside a base URL or without one."""
    row = PROVIDERS[name]
    beyond = "".join((row.prefix, *row.prefixes.values(), *row.headers.values()))
    return {each: PLACE[each] for each in row.options if not base_url or f"{{{each}}}" in beyond}


def error_of(status: int, headers: Any, body: bytes) -> APIError:
    return APIError(status=status)


def call(**fields: Any) -> Call[bytes]:
    return Call(
        "openai", "POST", "/chat/completions", b"{}", parse=bytes, read_error=error_of, **fields
    )


def stream(**fields: Any) -> StreamCall[Any, bytes]:
    return StreamCall(
        "openai",
        "POST",
        "/chat/completions",
        b"{}",
        reader=lambda _: None,
        fold=b"".join,
        read_error=error_of,
        **fields,
    )


def made(name: str, **options: Any) -> Target:
    if name in PROVIDERS:
        options = {**place(name, "base_url" in options), **options}
    return target(name, options)  # type: ignore[arg-type]


def refused(name: str, **options: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        target(name, options)  # type: ignore[arg-type]
    return str(caught.value)


def sent(found: Target, token: Secret | None = None, **fields: Any) -> dict[str, str]:
    return dict(found.send_headers(call(**fields), token))


# --- rows -----------------------------------------------------------------------------------------


@pytest.mark.row("S1-32")
@pytest.mark.parametrize(
    ("name", "url", "variable"),
    [
        ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
        ("deepseek@beta", "https://api.deepseek.com/beta", "DEEPSEEK_API_KEY"),
        ("glm", "https://api.z.ai/api/paas/v4", "GLM_API_KEY"),
        ("glm@cn", "https://open.bigmodel.cn/api/paas/v4", "GLM_API_KEY"),
        ("glm@coding", "https://api.z.ai/api/coding/paas/v4", "GLM_API_KEY"),
        ("glm@coding-cn", "https://open.bigmodel.cn/api/coding/paas/v4", "GLM_API_KEY"),
        ("kimi", "https://api.moonshot.ai/v1", "KIMI_API_KEY"),
        ("kimi@cn", "https://api.moonshot.cn/v1", "KIMI_API_KEY"),
        ("kimi@coding", "https://api.kimi.com/coding/v1", "KIMI_API_KEY"),
        ("minimax", "https://api.minimax.io/v1", "MINIMAX_API_KEY"),
        ("minimax@cn", "https://api.minimaxi.com/v1", "MINIMAX_API_KEY"),
        ("minimax@old", "https://api.minimax.chat/v1", "MINIMAX_API_KEY"),
        ("qwen", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        ("qwen@cn", "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        ("qwen@us", "https://dashscope-us.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        ("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
        ("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
        ("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
        ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ("together", "https://api.together.ai/v1", "TOGETHER_API_KEY"),
        ("together@old", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
        ("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
        ("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
        (
            "gemini@openai",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "GEMINI_API_KEY",
        ),
        ("OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("KIMI@CN", "https://api.moonshot.cn/v1", "KIMI_API_KEY"),
    ],
)  # S0-05, S1-32 to S1-36
def test_url_and_key(name: str, url: str, variable: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(variable, KEY)
    found = made(name)
    assert found.url(call()) == f"{url}/chat/completions"
    assert found.accept(call(), Call) == call()
    assert sent(found)["authorization"] == f"Bearer {KEY}"
    assert (
        found.describe()["provider"],
        found.describe()["base_url"],
        found.describe()["key"],
    ) == (name.lower(), url, variable)


def message(**fields: Any) -> Call[bytes]:
    return Call("anthropic", "POST", "/messages", b"{}", parse=bytes, read_error=error_of, **fields)


@pytest.mark.parametrize(
    ("name", "url", "variable", "header"),
    [
        ("anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "authorization"),
        (
            "deepseek@anthropic",
            "https://api.deepseek.com/anthropic",
            "DEEPSEEK_API_KEY",
            "x-api-key",
        ),
        ("glm@anthropic", "https://api.z.ai/api/anthropic", "GLM_API_KEY", "authorization"),
        (
            "glm@anthropic-cn",
            "https://open.bigmodel.cn/api/anthropic",
            "GLM_API_KEY",
            "authorization",
        ),
        ("kimi@anthropic", "https://api.moonshot.ai/anthropic", "KIMI_API_KEY", "authorization"),
        ("kimi@anthropic-cn", "https://api.moonshot.cn/anthropic", "KIMI_API_KEY", "authorization"),
        ("kimi@anthropic-coding", "https://api.kimi.com/coding", "KIMI_API_KEY", "x-api-key"),
        ("minimax@anthropic", "https://api.minimax.io/anthropic", "MINIMAX_API_KEY", "x-api-key"),
        (
            "minimax@anthropic-cn",
            "https://api.minimaxi.com/anthropic",
            "MINIMAX_API_KEY",
            "x-api-key",
        ),
        (
            "qwen@anthropic",
            "https://dashscope-intl.aliyuncs.com/apps/anthropic",
            "DASHSCOPE_API_KEY",
            "x-api-key",
        ),
        (
            "qwen@anthropic-cn",
            "https://dashscope.aliyuncs.com/apps/anthropic",
            "DASHSCOPE_API_KEY",
            "x-api-key",
        ),
        (
            "openrouter@anthropic",
            "https://openrouter.ai/api",
            "OPENROUTER_API_KEY",
            "authorization",
        ),
        ("ollama@anthropic", "http://localhost:11434", "OLLAMA_API_KEY", "x-api-key"),
        ("llama.cpp@anthropic", "http://127.0.0.1:8080", "LLAMA_CPP_API_KEY", "x-api-key"),
    ],
)
def test_hosts_of_messages(
    name: str, url: str, variable: str, header: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(variable, KEY)
    found = made(name)
    assert found.url(message()) == f"{url}/v1/messages"
    assert {name: value for name, value in found.send_headers(message(), None) if KEY in value} == {
        header: f"Bearer {KEY}" if header == "authorization" else KEY
    }
    assert found.accept(message(), Call) == message()
    with pytest.raises(
        ConfigurationError,
        match=f"call: a call of the wire 'openai', but '{name}' speaks 'anthropic'",
    ):
        found.accept(call(), Call)


def test_a_base_url_of_messages_ends_before_the_version():
    found = made("anthropic", api_key=KEY, base_url="https://proxy.example/claude")
    assert found.url(message()) == "https://proxy.example/claude/v1/messages"


@pytest.mark.parametrize("name", ["ollama@anthropic", "llama.cpp@anthropic"])
def test_a_server_of_messages_of_ones_own_is_asked_without_a_key(name: str):
    found = made(name, base_url="http://10.0.0.7:8000")
    assert {"x-api-key", "authorization"} & {
        header for header, _ in found.send_headers(message(), None)
    } == set()


@joined("name", PROVIDERS)
def test_a_row_stands_under_its_name_and_in_lower_case(name: str):
    row = PROVIDERS[name]
    assert (row.name, row.name) == (name, name.lower())
    assert row.base_url
    assert not row.base_url.endswith("/")


@joined("name", [name for name, row in PROVIDERS.items() if row.regions])
def test_a_region_differs_in_its_url_only(name: str):
    row = PROVIDERS[name]
    for region, url in row.regions.items():
        expected = msgspec.structs.replace(
            row, name=f"{name}@{region}", base_url=url, regions={}, key_required=True
        )
        assert PROVIDERS[f"{name}@{region}"] == expected


def test_the_rows_load_no_types_and_no_http_library():
    """A client of one wire does not pay for the types of another."""
    program = "import sys, wire.providers as rows; len(rows.PROVIDERS)"
    run = subprocess.run(
        [sys.executable, "-c", f"import json; {program}; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = json.loads(run.stdout)
    assert "wire.openai.common.dialect" in loaded
    # `import wire` loads what it exports; what it does not export must not come in by the rows.
    assert [
        name
        for name in loaded
        if name.startswith(("wire.openai.chat.types", "wire.openai.chat.rules"))
    ] == []


# --- keys -----------------------------------------------------------------------------------------


@pytest.mark.row("S4-02")
@joined(
    "name", [name for name in CHAT if PROVIDERS[name].key_required and not PROVIDERS[name].auth]
)
def test_a_missing_key_is_told_with_the_variable(name: str):
    with pytest.raises(ConfigurationError) as caught:
        made(name).accept(call(), Call)
    variable = PROVIDERS[name].key_variable
    assert str(caught.value) == f"{name}: no API key: give api_key= or set {variable}"


@joined("name", OWN)
def test_a_server_of_ones_own_is_asked_without_a_key(name: str):
    found = made(name)
    assert found.accept(call(), Call) == call()
    assert sent(found) == {"user-agent": "wire", "accept-encoding": "identity"}
    assert found.preview(call()).headers == {"user-agent": "wire", "accept-encoding": "identity"}
    assert found.describe()["key"] == f"none ({PROVIDERS[name].key_variable})"
    assert urlsplit(found.base_url).hostname in ("localhost", "127.0.0.1")


@pytest.mark.parametrize("name", OWN)
def test_a_server_of_ones_own_gets_a_key_that_is_there(name: str, monkeypatch: pytest.MonkeyPatch):
    assert sent(made(name, api_key=KEY))["authorization"] == f"Bearer {KEY}"
    monkeypatch.setenv(PROVIDERS[name].key_variable, OTHER)
    assert sent(made(name))["authorization"] == f"Bearer {OTHER}"
    assert made(name).preview(call()).headers["authorization"] == "Bearer ***"
    assert sent(made(name, token=lambda: KEY), Secret(KEY))["authorization"] == f"Bearer {KEY}"


def test_without_a_key_a_header_of_the_users_own_is_sent():
    assert (
        sent(made("vllm", headers={"Authorization": "Basic abc"}))["authorization"] == "Basic abc"
    )
    assert (
        sent(made("vllm"), headers={"authorization": "Basic abc"})["authorization"] == "Basic abc"
    )
    assert (
        sent(made("vllm", headers={"Authorization": "Basic abc"}, api_key=KEY))["authorization"]
        == f"Bearer {KEY}"
    )


def test_azure():
    assert refused("azure", api_key=KEY) == (
        "azure: resource: azure needs it: give resource= or base_url=, "
        "or set AZURE_RESOURCE_NAME or AZURE_BASE_URL or AZURE_OPENAI_ENDPOINT"
    )
    found = made("azure", api_key=KEY)
    assert found.url(call()) == "https://me.openai.azure.com/openai/v1/chat/completions"
    assert {name: value for name, value in sent(found).items() if KEY in value} == {"api-key": KEY}
    assert found.preview(call()).headers["api-key"] == "***"
    by_token = sent(made("azure", token=lambda: KEY), Secret(KEY))
    assert (by_token["authorization"], "api-key" in by_token) == (f"Bearer {KEY}", False)
    foundry = "https://me.services.ai.azure.com/models"
    assert (
        made("azure", api_key=KEY, base_url=foundry).url(call(query={"api-version": "v"}))
        == f"{foundry}/chat/completions?api-version=v"
    )


def host_of(name: str) -> str:
    """A host of a row, one of its patterns made concrete."""
    row = PROVIDERS[name]
    return (row.hosts[0].replace("*", "my") if row.hosts else "") or str(
        urlsplit(row.base_url.format(**PLACE)).hostname
    )


def family(name: str) -> str:
    return name.partition("@")[0]


HOSTED = [name for name, row in PROVIDERS.items() if row.key_required and row.key_variable]


@pytest.mark.row("S1-36")
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("at", "name"), [each for each in enumerate(PROVIDERS) if PROVIDERS[each[1]].key_variable]
)
def test_a_key_of_the_environment_goes_to_no_foreign_host(
    at: int, name: str, monkeypatch: pytest.MonkeyPatch
):  # R-31, S1-36
    monkeypatch.setenv(PROVIDERS[name].key_variable, KEY)
    for other in HOSTED if ALL else HOSTED[at % 5 :: 5]:
        url = f"https://{host_of(other)}/llm"
        if family(name) == family(other):
            assert made(name, base_url=url).base_url == url
        else:
            message = refused(name, base_url=url, **place(name, base_url=True))
            is_told_whose_host(name, other, message)


@pytest.mark.row("S1-36")
@pytest.mark.parametrize(
    ("name", "host", "owner"),
    [
        ("gemini", "eu.api.openai.com", "openai@eu"),
        ("gemini", "fr.api.openai.com", "openai"),
        ("openai", "console.anthropic.com", "anthropic"),
        ("anthropic", "europe-west4-generativelanguage.googleapis.com", "gemini@vertex"),
    ],
)
def test_nor_to_a_host_below_one(
    name: str, host: str, owner: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(PROVIDERS[name].key_variable, KEY)
    assert f"{host} is a host of {owner!r}" in refused(name, base_url=f"https://{host}/llm")


def is_told_whose_host(name: str, other: str, message: str) -> None:
    row, host = PROVIDERS[name], host_of(other)
    owner = next(each for each in PROVIDERS if f'Client("{each}")' in message)
    assert message == (
        f"{name}: base_url: {host} is a host of {owner!r}, and the key in "
        f"{row.key_variable} is not for it; "
        f'use Client("{owner}"), or give api_key= if that key is meant'
    )
    own = PROVIDERS[owner]
    urls = (own.base_url, *own.base_urls.values())
    hosts = [*own.hosts, *(re.sub(r"{\w+}", "*", str(urlsplit(url).hostname)) for url in urls)]
    assert any(fnmatchcase(host, each) for each in hosts)


@joined("name", PROVIDERS)
def test_a_key_that_is_given_goes_where_it_is_told(name: str):
    for other in HOSTED:
        url = f"https://{host_of(other)}/llm"
        found = made(name, base_url=url, api_key=KEY)
        assert found.base_url == url
        assert KEY in "".join(sent(found).values())


@pytest.mark.parametrize(
    ("host", "owner"),
    [
        ("api.openai.com", "openai"),
        ("API.OpenAI.com", "openai"),
        ("api.openai.com.", "openai"),
        ("api.openai.com:8443", "openai"),
        ("api.moonshot.cn", "kimi@cn"),
        ("api.kimi.com", "kimi@coding"),
        ("open.bigmodel.cn", "glm@cn"),
        ("ollama.com", "ollama@cloud"),
        ("me.openai.azure.com", "azure"),
        ("a.b.services.ai.azure.com", "azure"),
        ("eu.maas.aliyuncs.com", "qwen"),
        ("us-central1-aiplatform.googleapis.com", "gemini@vertex"),
        ("aiplatform.googleapis.com", "gemini@vertex"),
    ],
)
def test_hosts_are_compared_as_hosts(host: str, owner: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    assert f'use Client("{owner}"), or' in refused("mistral", base_url=f"https://{host}/x")


@pytest.mark.parametrize(
    "host",
    [
        "proxy.example",
        "openai.com",
        "xopenai.com",
        "api.openai.com.evil.example",
        "openai.azure.com",
        "localhost:11434",
        "127.0.0.1:8000",
    ],
)
def test_hosts_of_nobody_get_the_key(host: str, monkeypatch: pytest.MonkeyPatch):
    """A proxy of one's own, and what runs on this machine, is not told from the provider."""
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    assert sent(made("mistral", base_url=f"https://{host}/llm"))["authorization"] == f"Bearer {KEY}"


def test_a_token_goes_where_it_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert (
        made("openai", token=lambda: OTHER, base_url="https://api.x.ai/llm").base_url
        == "https://api.x.ai/llm"
    )


def test_without_a_key_there_is_nothing_to_keep():
    assert made("openai", base_url="https://api.x.ai/llm").base_url == "https://api.x.ai/llm"


# --- names that are not in the list ---------------------------------------------------------------


def test_an_unknown_name_is_told_where_the_known_ones_are_listed():
    assert refused("cohere") == (
        "provider: 'cohere' is unknown; `wire providers` lists all; any other host of chat "
        "completions needs base_url="
    )


@joined(
    ("name", "near"),
    [
        ("mistrel", ["mistral"]),
        ("deepseak", ["deepseek"]),  # and not its regions, which the name does not ask for
        ("google", ["gemini"]),
        ("kimi@ch", ["kimi@cn", "kimi", "kimi@coding"]),
        ("gemini@x", ["gemini", "gemini@vertex", "gemini@openai"]),
        ("qwen@c", ["qwen@cn", "qwen", "qwen@us"]),  # of four that are near
        ("cohere", []),
    ],
)
def test_at_most_three_near_names(name: str, near: list[str]):
    assert nearest_providers(name) == near
    message = refused(name)
    assert [each for each in PROVIDERS if f"'{each}'" in message] == sorted(
        near, key=list(PROVIDERS).index
    )


@joined("name", ["kimi@ch", "openai@", "gemini@eu", "Qwen@intl"])
@joined("options", [{}, {"base_url": "https://llm.example/v1"}], ids=["plain", "base-url"])
def test_a_region_that_is_not_there_is_no_name_of_its_own(name: str, options: dict[str, str]):
    """A slip of the pen must not become a provider without its dialect."""
    message = refused(name, **options)
    assert message.startswith(f"provider: {name!r} is unknown; did you mean ")
    assert message.endswith("? `wire providers` lists all")


@pytest.mark.parametrize(
    ("name", "row", "variable"),
    [
        ("my-host", "my-host", "MY_HOST_API_KEY"),
        ("My.Host_2", "my.host_2", "MY_HOST_2_API_KEY"),
        ("corp@eu-1", "corp@eu-1", "CORP_EU_1_API_KEY"),
        ("2x", "2x", "2X_API_KEY"),
    ],
)
def test_an_unknown_name_with_a_base_url(
    name: str, row: str, variable: str, monkeypatch: pytest.MonkeyPatch
):
    url = "https://llm.example/v1/"
    with pytest.raises(ConfigurationError) as caught:
        made(name, base_url=url).accept(call(), Call)
    assert str(caught.value) == f"{row}: no API key: give api_key= or set {variable}"
    monkeypatch.setenv("OPENAI_API_KEY", OTHER)
    monkeypatch.setenv(variable, KEY)
    found = made(name, base_url=url)
    assert found.provider == unlisted(name, key_required=True)
    assert (found.provider.name, found.provider.wire, found.provider.dialect) == (
        row,
        "openai",
        PLAIN,
    )
    assert (found.url(call()), sent(found)["authorization"]) == (
        "https://llm.example/v1/chat/completions",
        f"Bearer {KEY}",
    )
    assert name not in PROVIDERS


@joined(
    "name",
    ["", " ", "a b", "a/b", "-a", "a@b@c", "@a", "ä", "a\n", "a" + chr(0), None, 3],
    ids=ascii,
)
def test_what_is_no_name(name: Any):
    message = refused(name, base_url="https://llm.example/v1")
    assert (
        message
        == f"provider: {name!r} is not a name: expected letters, digits and . _ -, and one @ "
        "before a region".replace("\n", "\\n")
    )


@joined(
    "url",
    [
        "http://localhost:9/v1",
        "https://127.0.0.1/v1",
        "http://[::1]:9/v1",
        "http://10.0.0.7:8000/v1",
    ],
)
def test_an_unknown_name_in_the_own_network_needs_no_key(url: str):
    found = made("my-host", base_url=url)
    assert found.accept(call(), Call) == call()
    assert "authorization" not in sent(found)


def test_a_key_of_an_unknown_name_goes_to_no_foreign_host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_HOST_API_KEY", KEY)
    assert 'use Client("openai"), or give api_key=' in refused(
        "my-host", base_url="https://api.openai.com/v1"
    )


# --- base URLs ------------------------------------------------------------------------------------


@joined("path", ["/v1", "/v1/", "/v1//", "/chat", "/models/v1", "/v1/my-models", ""])
def test_a_base_url_with_a_path(path: str):
    found = made("openai", base_url=f"https://llm.example{path}")
    assert found.url(call()) == f"https://llm.example{path.rstrip('/')}/chat/completions"


def described(name: str, **options: Any) -> tuple[str, str]:
    found = target(name, options).describe()  # type: ignore[arg-type]
    return found["base_url"], found["base_url_source"]


@joined(
    ("path", "removed"),
    [
        ("/chat/completions", ", without /chat/completions"),
        ("/embeddings", ", without /embeddings"),
        ("/models", ", without /models"),
        ("/chat/completions/", ", without /chat/completions"),
        ("/Chat/Completions", ", without /Chat/Completions"),
        ("/models//", ", without /models"),
        ("/", ""),
        ("", ""),
    ],
)
@joined("name", ["openai", "vllm", "my-host"])
def test_an_endpoint_in_a_base_url_is_removed(name: str, path: str, removed: str):
    url = f"https://llm.example/v1{path}"
    assert described(name, base_url=url) == ("https://llm.example/v1", f"argument{removed}")


@joined("path", ["", "/", "/v1", "/v1/", "/v1/messages", "/V1/models//"])
@joined("name", ["anthropic", "deepseek@anthropic"])
def test_a_base_url_of_messages_works_with_its_version(name: str, path: str):
    url, removed = f"https://llm.example/anthropic{path}", path.rstrip("/")
    assert described(name, base_url=url) == (
        "https://llm.example/anthropic/v1",
        f"argument, without {removed}" if removed else "argument",
    )


@joined(
    ("name", "url", "base_url", "source"),
    [
        ("openai", "https://api.openai.com", "https://api.openai.com/v1", ", with /v1"),
        ("openai", "https://eu.api.openai.com", "https://eu.api.openai.com", ""),
        ("openai", "https://gateway.example", "https://gateway.example", ""),
        ("deepseek", "https://api.deepseek.com", "https://api.deepseek.com", ""),
        ("ollama@openai", "http://10.0.0.7:11434/", "http://10.0.0.7:11434/v1", ", with /v1"),
        ("ollama@openai", "http://10.0.0.7:11434/llm", "http://10.0.0.7:11434/llm", ""),
        (
            "vllm",
            "http://10.0.0.7/chat/completions",
            "http://10.0.0.7/v1",
            ", without /chat/completions, with /v1",
        ),
        (
            "azure",
            "https://my.openai.azure.com/",
            "https://my.openai.azure.com/openai/v1",
            ", with /openai/v1",
        ),
        (
            "azure",
            "https://my.services.ai.azure.com/models",
            "https://my.services.ai.azure.com/models",
            "",
        ),
        (
            "deepseek@anthropic",
            "https://api.deepseek.com/v1/messages",
            "https://api.deepseek.com/anthropic/v1",
            ", without /v1/messages, with /anthropic",
        ),
        ("anthropic", "https://v1/models", "https://v1/models/v1", ""),
    ],
)
def test_a_base_url_without_a_path(name: str, url: str, base_url: str, source: str):
    assert described(name, base_url=url) == (base_url, f"argument{source}")


def test_foundry_is_azures_alone():
    assert described("openai", base_url="https://services.ai.azure.com.evil.example/models") == (
        "https://services.ai.azure.com.evil.example",
        "argument, without /models",
    )


def test_a_base_url_of_gemini_may_end_as_it_likes():
    assert (
        made("gemini", base_url="https://proxy.example/models").base_url
        == "https://proxy.example/models"
    )


METHOD = "/models/gemini-2.5-flash:generateContent"


@joined(
    ("path", "version"),
    [
        ("", "v1beta"),
        ("/", "v1beta"),
        ("/v1beta", "v1beta"),
        ("/v1/", "v1"),
        ("/v1alpha/models", "v1alpha"),
        (METHOD, "v1beta"),
        (f"/v1{METHOD}", "v1"),
    ],
)
def test_a_base_url_of_gemini_works_with_its_version(path: str, version: str):
    removed = path.rstrip("/")
    assert described("gemini", base_url=f"https://proxy.example/llm{path}") == (
        f"https://proxy.example/llm/{version}",
        f"argument, without {removed}" if removed else "argument",
    )


def test_a_base_url_of_vertex_names_project_and_location():
    url = f"https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google{METHOD}"
    own = {"project": "p", "location": "global"}
    for options in ({}, own, {"version": "v1", **own}):
        found = target("gemini@vertex", {"base_url": url, **options})  # type: ignore[typeddict-item]
        assert found.base_url + found.prefix == url.removesuffix(METHOD)
        assert found.place == own
    assert refused("gemini@vertex", base_url=url, **own | {"project": "q"}) == (
        "gemini@vertex: project: 'q' differs from 'p' in base_url"
    )


def test_two_versions_are_refused():
    assert refused("gemini", base_url="https://proxy.example/v1", version="v1beta") == (
        "gemini: version: 'v1beta' differs from 'v1' in base_url"
    )


# --- base URLs of the environment -----------------------------------------------------------------


@pytest.mark.parametrize("name", PROVIDERS)
def test_each_row_reads_its_variable_after_the_argument(name: str, monkeypatch: pytest.MonkeyPatch):
    options = place(name, base_url=True)
    variable = re.sub(r"[^A-Z0-9]", "_", name.upper()) + "_BASE_URL"
    monkeypatch.setenv(variable, " https://variable.example/llm/\n")
    base_url, source = described(name, **options)
    assert base_url.startswith("https://variable.example/llm")
    assert source == variable
    base_url, source = described(name, base_url="https://argument.example/llm", **options)
    assert base_url.startswith("https://argument.example/llm")
    assert source == "argument"
    monkeypatch.setenv(variable, " ")
    if PROVIDERS[name].base_url:
        assert described(name, **place(name))[1] == "default"


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("gemini", "GOOGLE_GEMINI_BASE_URL"),
        ("gemini@vertex", "GOOGLE_VERTEX_BASE_URL"),
        ("azure", "AZURE_OPENAI_ENDPOINT"),
        ("azure@anthropic", "ANTHROPIC_FOUNDRY_BASE_URL"),
        ("my-host", "MY_HOST_BASE_URL"),
    ],
)
def test_other_variables_of_base_urls(name: str, variable: str, monkeypatch: pytest.MonkeyPatch):
    options = {"project": "p", "location": "global"} if name == "gemini@vertex" else {}
    monkeypatch.setenv(variable, "https://variable.example/v1")
    base_url, source = described(name, **options)
    assert base_url.startswith("https://variable.example/v1")
    assert source.startswith(variable)


@pytest.mark.parametrize("options", [{}, {"api_key": KEY}, {"token": lambda: KEY}])
@pytest.mark.parametrize("key", [True, False])
def test_a_variable_sends_no_key_to_another_provider(
    options: dict[str, Any], key: bool, monkeypatch: pytest.MonkeyPatch
):
    """The caller, who gives the key, may not know of the variable."""
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.deepseek.com/v1")
    message = refused("openai", **options)
    assert message.startswith("openai: OPENAI_BASE_URL: api.deepseek.com is a host of 'deepseek'")
    assert message.endswith("or give base_url= and api_key= if that key is meant")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("http://llm.example", "expected https for llm.example"),
        ("llm.example", "expected an http(s) URL"),
        (f"https://user:{KEY}@llm.example", "it must not contain a user, key or query"),
    ],
)
def test_a_wrong_variable_is_named(value: str, problem: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", value)
    message = refused("anthropic")
    assert message.startswith(f"anthropic: ANTHROPIC_BASE_URL: {problem}")
    assert KEY not in message


def test_the_endpoint_of_azure_gets_its_path(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://my.openai.azure.com/")
    assert described("azure") == (
        "https://my.openai.azure.com/openai/v1",
        "AZURE_OPENAI_ENDPOINT, with /openai/v1",
    )


# --- names that people type -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("google", "gemini"),
        ("Google-GLA", "gemini"),
        ("google_genai", "gemini"),
        ("vertex", "gemini@vertex"),
        ("vertex_ai", "gemini@vertex"),
        ("claude", "anthropic"),
        ("gpt", "openai"),
        ("azure-openai", "azure"),
        ("grok", "xai"),
        ("x.ai", "xai"),
        ("moonshot", "kimi"),
        ("moonshot@cn", "kimi@cn"),
        ("zai", "glm"),
        ("z.ai", "glm"),
        ("alibaba", "qwen"),
        ("dashscope", "qwen"),
        ("mistralai", "mistral"),
        ("together_ai", "together"),
        ("fireworks_ai", "fireworks"),
        ("llama-cpp", "llama.cpp"),
        ("LM-Studio", "lmstudio"),
        ("deepseak", "deepseek"),
        ("kimi@ch", "kimi@cn"),
    ],
)
def test_the_nearest_name_is_suggested(name: str, near: str, monkeypatch: pytest.MonkeyPatch):
    # A variable does not make an unlisted host, without the dialect of the row, of another name.
    monkeypatch.setenv(base_url_variable_of(name), "https://llm.example/v1")
    if name == "deepseak":
        monkeypatch.delenv(base_url_variable_of(name))
    assert refused(name).startswith(f"provider: {name!r} is unknown; did you mean {near!r}")


@joined(
    ("model", "remedy"),
    [
        ("gpt-5.4", "; write 'openai:gpt-5.4'"),
        ("claude-opus-4-8", "; write 'anthropic:claude-opus-4-8'"),
        ("gemini-3.8-flash", "; write 'gemini:gemini-3.8-flash'"),
        ("Qwen3-32b", "; write 'qwen:Qwen3-32b'"),
        ("openai/gpt-5.4", "; write 'openai:gpt-5.4', or 'openrouter:openai/gpt-5.4'"),
        (
            "z-ai/glm-5",
            "; write 'glm:glm-5', or 'openrouter:z-ai/glm-5'",
        ),
        ("my-model", ", such as 'gemini:gemini-3.8-flash'"),
    ],
)
def test_a_model_without_a_provider_is_told_how_to_write_it(model: str, remedy: str):
    with pytest.raises(ConfigurationError) as caught:
        model_of(model)
    assert str(caught.value) == (f"model: {model!r}: missing 'provider:model-name' format{remedy}")


def test_every_other_name_is_of_a_row_and_of_one():
    others = [other for names in _OTHER_NAMES.values() for other in names.split()]
    assert set(_OTHER_NAMES) <= set(PROVIDERS)
    assert len(others) == len(set(others))
    assert not set(others) & set(PROVIDERS)
    assert {row for _, row in _ROW_OF_MODEL} <= set(PROVIDERS)


@joined("name", [*OWN, "my-host"])
def test_http_in_the_own_network_without_a_key(name: str):
    assert (
        made(name, base_url="http://10.0.0.7:8000/v1").url(call())
        == "http://10.0.0.7:8000/v1/chat/completions"
    )


@pytest.mark.parametrize("name", [*OWN, "my-host"])
@pytest.mark.parametrize("how", ["argument", "environment", "token"])
def test_http_takes_no_key_out_of_the_house(
    name: str, how: str, monkeypatch: pytest.MonkeyPatch
):
    options: dict[str, Any] = {
        "argument": {"api_key": KEY},
        "environment": {},
        "token": {"token": lambda: KEY},
    }[how]
    if how == "environment":
        monkeypatch.setenv(
            "MY_HOST_API_KEY" if name == "my-host" else PROVIDERS[name].key_variable, KEY
        )
    message = refused(name, base_url="http://10.0.0.7:8000/v1", **options)
    assert (
        message == f"{name}: base_url: expected https for 10.0.0.7: plain http would send the key "
        "unencrypted; plain_http=True permits it"
    )


def sent_headers(name: str, **options: Any) -> httpx.Headers:
    """The headers of a request to a host in the own network."""
    requests: list[httpx.Request] = []

    def serve(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json={"object": "list", "data": []})

    http = httpx.MockTransport(serve)
    with Client(name, base_url="http://10.0.0.7:8000/v1", http=http, **options) as client:
        client.send(openai.list_models())
    return requests[0].headers


def test_an_option_permits_a_key_over_http_in_the_own_network():
    headers = sent_headers("my-host", api_key=KEY, plain_http=True)
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in sent_headers("my-host")
    assert refused("openai", plain_http="yes").startswith("plain_http: expected a bool, not str")


@joined("header", ["Authorization", "x-api-key", "api-key", "Cookie"])
def test_a_key_in_a_header_does_not_travel_in_the_open_either(header: str):
    message = refused("my-host", base_url="http://10.0.0.7/v1", headers={header: KEY})
    assert message.endswith("unencrypted; plain_http=True permits it")
    assert KEY not in message
    assert sent_headers("my-host", headers={header: KEY}, plain_http=True)[header] == KEY
    assert sent_headers("my-host", headers={"x-team": "a"})["x-team"] == "a"


@joined("name", ["openai", "kimi@cn", "ollama@cloud", "gemini"])
def test_http_is_not_for_those_who_want_a_key(name: str):
    assert refused(name, base_url="http://10.0.0.7/v1") == (
        f"{name}: base_url: expected https for 10.0.0.7: plain http would send the key "
        "unencrypted; plain_http=True permits it"
    )


@pytest.mark.parametrize("name", ["openai", "my-host"])
def test_there_is_no_version_to_choose(name: str):
    message = refused(name, base_url="https://llm.example/v1", version="v2")
    assert message == f"{name}: version: {name} has no such option; it is part of the base URL"


# --- dialects -------------------------------------------------------------------------------------


@joined(
    ("name", "slots", "required", "verbatim", "takes"),
    [
        ("openai", (), False, True, ("audio",)),
        ("azure", (), False, False, ("audio",)),
        ("deepseek", ("reasoning_content",), True, False, ()),
        ("kimi@cn", ("reasoning_content",), True, False, ()),
        ("glm", ("reasoning_content",), False, False, ()),
        ("xai", ("reasoning_content",), False, False, ()),
        ("llama.cpp", ("reasoning_content",), False, True, ()),
        ("vllm", ("reasoning", "reasoning_content"), False, True, ()),
        ("ollama@openai", ("reasoning", "reasoning_content"), False, True, ()),
        ("openrouter", ("reasoning_details", "reasoning"), False, True, ("images",)),
        ("minimax", ("reasoning_details", "reasoning_content"), False, True, ()),
        ("gemini@openai", (), False, False, ("extra_content", "thought_signature")),
        ("mistral", ("content",), False, False, ()),
        *(
            (name, (), False, False, ())
            for name in ("groq", "cerebras", "together", "fireworks", "qwen", "lmstudio")
        ),
    ],
)
def test_what_goes_back(
    name: str, slots: tuple[str, ...], required: bool, verbatim: bool, takes: tuple[str, ...]
):
    dialect = PROVIDERS[name].dialect
    assert dialect is not None
    assert (
        dialect.reasoning_slots,
        dialect.reasoning_required,
        dialect.verbatim,
        dialect.takes,
    ) == (slots, required, verbatim, takes)
    known = {*Message.__struct_fields__, *ToolCall.__struct_fields__}
    assert set(slots + takes) <= known


def test_the_ids_of_calls_that_hosts_accept():
    """docs/providers.md has the sources."""
    longest = PROVIDERS["openai"].dialect.call_ids
    assert (longest.least, longest.most, longest.letters) == (1, 40, "")
    assert PROVIDERS["azure"].dialect.call_ids == longest
    nine = PROVIDERS["mistral"].dialect.call_ids
    assert (nine.least, nine.most, nine.letters) == (9, 9, "[a-zA-Z0-9]")


def test_how_many_texts_hosts_embed_in_a_request():
    """docs/providers.md has the sources."""
    rows = [row for row in PROVIDERS.values() if row.wire == "openai"]
    texts = {row.name: row.dialect.embedded_texts for row in rows if "@" not in row.name}
    known = {**dict.fromkeys(("deepseek", "kimi", "minimax", "groq"), 0), "qwen": 10}
    assert texts.items() >= {**known, "openai": 2048, "mistral": 512}.items()
    assert PROVIDERS["gemini@openai"].dialect.embedded_texts == 100
    mistral = PROVIDERS["mistral"].dialect
    assert (mistral.embedded_tokens, mistral.dimensions_field) == (16_384, "output_dimension")
    assert {row.dialect.embedded_tokens for row in rows if row.family != "mistral"} == {300_000}


def test_how_hosts_keep_the_beginnings_of_prompts():
    """docs/providers.md has the sources."""
    of = {
        name: row.dialect.caching
        for name, row in PROVIDERS.items()
        if row.wire in ("openai", "openai.responses")
    }
    keyed = {name for name, each in of.items() if each.key}
    assert keyed >= {"openai", "openai@responses", "azure", "mistral", "kimi", "xai@responses"}
    assert not any(of[name].key_header for name in keyed)
    assert of["xai"].key_header == "x-grok-conv-id"
    marking = {name.partition("@")[0] for name, each in of.items() if each.breakpoints}
    assert marking == {"openai"}, "breakpoints are OpenAI's own"
    assert {"deepseek", "groq", "qwen"} <= {name for name, each in of.items() if each.unasked}
    assert not any(of[name].unasked for name in ("minimax", "together", "ollama@openai", "vllm"))


def test_the_dialects_of_gemini_say_whose_api_it_is():
    rows = PROVIDERS["gemini"], PROVIDERS["gemini@vertex"]
    assert [row.dialect.api for row in rows] == ["gemini", "vertex"]


REFUSALS = {
    f"{name}: {refusal.path}": (refusal, row.dialect)
    for name, row in PROVIDERS.items()
    if row.wire == "openai" and "@" not in name.replace("gemini@", "")
    for refusal in row.dialect.refuses
}


@joined("name", REFUSALS)
def test_a_refusal_is_about_fields_that_there_are(name: str):
    refusal, _ = REFUSALS[name]
    kind: Any = ChatCompletionRequest
    for step in refusal.path.partition("=")[0].split("."):
        hints = typing.get_type_hints(kind)
        assert step.removesuffix("[]") in hints
        kinds = structs(hints[step.removesuffix("[]")])
        kind = kinds[0] if kinds else None
    assert refusal.words
    re.compile(refusal.models)


def structs(hint: Any) -> list[type[msgspec.Struct]]:
    if isinstance(hint, type) and not typing.get_args(hint):
        return [hint] if issubclass(hint, msgspec.Struct) else []
    return [found for inner in typing.get_args(hint) for found in structs(inner)]


# --- rules of a host ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "kind"), [(call, Call), (stream, StreamCall)], ids=["call", "stream"]
)
def test_the_rules_of_a_host_are_asked_with_its_row(make: Any, kind: type):
    seen: list[Any] = []

    def host_rules(what: Any, provider: Any) -> Any:
        seen.append(provider)
        return what.replace(headers={"x-judged": "yes"})

    one = make(host_rules=host_rules)
    assert made("deepseek", api_key=KEY).accept(one, kind).headers == {"x-judged": "yes"}
    assert seen == [PROVIDERS["deepseek"]]
    assert one.headers == {}


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        (
            "gemini",
            {"api_key": KEY},
            "call: a call of the wire 'openai', but 'gemini' speaks 'gemini'",
        ),
        ("openai", {}, "no API key"),
    ],
    ids=["other-wire", "no-key"],
)
def test_the_rules_of_a_host_are_asked_last(name: str, options: dict[str, Any], problem: str):
    def host_rules(what: Any, provider: Any) -> Any:
        raise AssertionError("too early")

    with pytest.raises(ConfigurationError, match=problem):
        made(name, **options).accept(call(host_rules=host_rules), Call)


def rejecting(what: Any, provider: Any) -> Any:
    raise RuleError(violations=[Violation("messages[0].content", f"not with {KEY}", "O7")])


def adding(what: Any, provider: Any) -> Any:
    return msgspec.structs.replace(
        what, body=b'{"slots":%d}' % len(provider.dialect.reasoning_slots)
    )


def answering(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, content=b"%s %s" % (request.method.encode(), request.content))


@pytest.mark.parametrize("style", ["sync", "asyncio", "trio"])
def test_clients_send_the_call_as_its_host_takes_it(style: str):
    def work() -> tuple[Any, Any]:
        with Client("openrouter", api_key=KEY, http=httpx.MockTransport(answering)) as client:
            return client.send(call(host_rules=adding)), client.dialect

    async def main() -> tuple[Any, Any]:
        async with AsyncClient(
            "openrouter", api_key=KEY, http=httpx.MockTransport(answering)
        ) as client:
            return await client.send(call(host_rules=adding)), client.dialect

    answer, dialect = work() if style == "sync" else anyio.run(main, backend=style)
    assert (answer, dialect) == (b'POST {"slots":2}', PROVIDERS["openrouter"].dialect)


def test_what_the_host_refuses_is_not_sent():
    def transport(request: httpx.Request) -> httpx.Response:
        raise AssertionError("sent")

    with Client("deepseek", api_key=KEY, http=httpx.MockTransport(transport)) as client:
        with pytest.raises(RuleError) as caught:
            client.send(call(host_rules=rejecting))
        with pytest.raises(RuleError), client.stream(stream(host_rules=rejecting)):
            pass
        assert (
            client.preview(call(host_rules=rejecting)).url
            == "https://api.deepseek.com/chat/completions"
        )
    assert str(caught.value) == "deepseek: messages[0].content: not with *** [O7]"
    assert caught.value.violations[0].rule == "O7"


def test_a_client_of_gemini_has_the_dialect_of_its_wire():
    with Client("gemini", api_key=KEY) as client:
        assert client.dialect == PROVIDERS["gemini"].dialect


def test_a_clients_row_has_its_version():
    """Some rules hold for one version of the API alone."""
    row = PROVIDERS["gemini"]
    with Client("gemini", api_key=KEY) as client, Client("gemini", version="v1") as stable:
        assert client.row == msgspec.structs.replace(row, prefix="/v1beta")
        assert stable.row == msgspec.structs.replace(row, prefix="/v1", version="v1")


# --- the page -------------------------------------------------------------------------------------


def rows(heading: str) -> list[list[str]]:
    section = PAGE.read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def documented(row: Provider) -> list[str]:
    key = f"`{row.key_variable}`" if row.key_variable else "a token"
    return [row.name, f"`{row.base_url}`", key + ("" if row.key_required else ", not needed")]


def test_the_page_has_every_row():
    assert [row[:3] for row in rows("Names, hosts, keys")] == [
        documented(row) for row in PROVIDERS.values()
    ]


def test_the_page_says_what_goes_back():
    told = {row[0]: row[3] for row in rows("Names, hosts, keys")}
    for name, row in PROVIDERS.items():
        if row.wire == "openai" and not told[name].startswith("as "):
            fields = [*row.dialect.reasoning_slots, *row.dialect.takes]
            assert re.findall(r"`(\w+)`", told[name]) == fields, name
            assert ("required" in told[name]) == row.dialect.reasoning_required, name
            assert ("unchanged" in told[name]) == row.dialect.verbatim, name


def test_the_page_names_everybody_who_refuses_something():
    told = {row[0]: "" for row in rows("Refused requests")}
    for name, *cells in rows("Refused requests"):
        told[name] += " ".join(cells)
    refusing = {
        name for name, row in PROVIDERS.items() if row.wire == "openai" and row.dialect.refuses
    }
    assert {name for name in refusing if family(name) == name or name == "gemini@openai"} - set(
        told
    ) == set()
    assert {"qwen", "minimax", "mistral"} <= set(told) <= set(PROVIDERS)


# --- a dialect of the caller's --------------------------------------------------------------------


def test_a_dialect_of_the_callers_counts_in_place_of_the_rows():
    own = Dialect(reasoning_slots=("reasoning",), verbatim=True)
    assert (
        made(
            "my-host", base_url="https://models.example/v1", api_key=KEY, dialect=own
        ).provider.dialect
        == own
    )
    assert made("deepseek", api_key=KEY, dialect=own).provider.dialect == own
    assert PROVIDERS["deepseek"].dialect != own


@pytest.mark.parametrize(
    ("name", "dialect", "problem"),
    [
        (
            "gemini",
            Dialect(),
            "gemini: dialect: expected a wire.gemini.Dialect, not "
            "wire.openai.common.dialect.Dialect",
        ),
        ("deepseek", "kimi", "deepseek: dialect: expected a wire.openai.Dialect, not str"),
    ],
)
def test_what_is_no_dialect_is_refused(name: str, dialect: Any, problem: str):
    assert refused(name, api_key=KEY, dialect=dialect) == problem


# --- names of hosts -------------------------------------------------------------------------------

LABELS = st.text("ab.-", max_size=6)


@given(LABELS, st.lists(LABELS, min_size=1, max_size=3).map("*".join))
def test_a_star_in_the_name_of_a_host_stands_for_any_text(host: str, name: str):
    assert providers._fits(host, name) == fnmatchcase(host, name)


def test_rows_are_replaced_added_and_removed():
    rows = providers.Rows()
    names = list(rows)
    assert names == list(PROVIDERS)
    assert len(set(names)) == len(names) == len(rows)
    rows["groq"] = rows["tides"] = changed = msgspec.structs.replace(rows["groq"], prefix="/v9")
    assert rows["groq"] is rows["tides"] is changed
    assert list(rows) == [*names, "tides"]
    del rows["tides"], rows["groq"]
    assert list(rows) == [each for each in names if each != "groq"]
    with pytest.raises(KeyError):
        rows["groq"]
    assert PROVIDERS["groq"] != changed
