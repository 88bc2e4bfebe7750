"""`Chats` and `AsyncChats`: clients of several providers in one object, from the environment or by
hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from wire import AsyncChats, AsyncClient, Chats, Client
from wire.core.retry import NONE
from wire.errors import ConfigurationError
from wire.http.target import target
from wire.neutral.messages import Done, Reply, TextDelta
from wire.providers import PROVIDERS
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

KEY = "fake-key-4711"


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for row in PROVIDERS.values():
        monkeypatch.delenv(row.key_variable, raising=False)
    for name in ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "AZURE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["sync", "asyncio", "trio"])
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def use(
    style: str,
    emulator: Emulator,
    work: Callable[[Any], list[Callable[[], Any]]],
    make: Callable[[type[Any], Any], Any],
) -> list[Any]:
    """The results of calls of one `Chats` or `AsyncChats` that `make` has made."""
    if style == "sync":
        with make(Chats, EmulatorTransport(emulator)) as chats:
            return [each() for each in work(chats)]

    async def main() -> list[Any]:
        async with make(AsyncChats, AsyncEmulatorTransport(emulator)) as chats:
            return [await each() for each in work(chats)]

    return anyio.run(main, backend=style)


def paths(emulator: Emulator) -> list[str]:
    return [each["target"] for each in emulator.requests]


@pytest.mark.row("U-02")
def test_each_provider_with_a_key_has_a_client_and_the_first_is_the_default(
    style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("GEMINI_API_KEY", " ")
    emulator = Emulator([{"say": "one"}, {"say": "two"}, {"say": "three"}])
    made: list[Any] = []

    def work(chats: Any) -> list[Callable[[], Any]]:
        made.append(chats)
        return [
            lambda: chats.ask("Hi", model="gpt-4.1"),
            lambda: chats.ask("Hi", model="anthropic:claude-opus-4-8", max_tokens=9),
            lambda: chats.ask("Hi", model="claude-opus-4-8", provider="Anthropic", max_tokens=9),
        ]

    replies: list[Reply] = use(
        style, emulator, work, lambda kind, http: kind.from_env(http=http, retry=NONE)
    )
    assert [each.text for each in replies] == ["one", "two", "three"]
    assert paths(emulator) == ["/v1/chat/completions", "/v1/messages", "/v1/messages"]
    assert (list(made[0].clients), made[0].default) == (["openai", "anthropic"], "openai")
    assert [each.describe()["retry"] for each in made[0].clients.values()] == [NONE, NONE]


def test_a_stream_of_any_of_them() -> None:
    http = EmulatorTransport(Emulator([{"say": "Hello."}]))
    clients = {name: Client(name, api_key=KEY, http=http) for name in ("gemini", "openai")}
    with Chats(clients) as chats, chats.stream("Hi", model="openai:gpt-4.1") as events:
        texts = [each.text for each in events if isinstance(each, TextDelta)]
        assert ("".join(texts), events.reply().text) == ("Hello.", "Hello.")


def test_an_async_stream_of_any_of_them() -> None:
    async def main() -> list[str]:
        http = AsyncEmulatorTransport(Emulator([{"say": "Hello."}]))
        async with AsyncChats({"gemini": AsyncClient("gemini", api_key=KEY, http=http)}) as chats:
            async with chats.stream("Hi", model="gemini-3.8-flash") as events:
                return [each.reply.text async for each in events if isinstance(each, Done)]

    assert anyio.run(main) == ["Hello."]


def test_names_limit_the_providers_and_set_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "KIMI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    with Chats.from_env("kimi@cn", "mistral", "gemini", "ollama") as chats:
        assert list(chats.clients) == ["kimi@cn", "gemini", "ollama"]
        assert chats.default == "kimi@cn"
    with Chats.from_env(default="openai") as chats:
        assert repr(chats) == "Chats(gemini, openai, kimi; default openai)"


@pytest.mark.row("U-03", "U-04")
def test_the_other_variables_of_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example/v1")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)  # without a base URL there is no client
    with Chats.from_env() as chats:
        assert list(chats.clients) == ["gemini", "openai"]
        assert chats.clients["gemini"].describe()["key"] == "GOOGLE_API_KEY"
        openai = chats.clients["openai"]
        assert openai.describe()["base_url"] == "https://gateway.example/v1"
        headers = dict(openai.preview(chats.chat("gpt-4.1", "openai").call("Hi")).headers)
        assert headers["openai-organization"] == "org-1"
        assert headers["openai-project"] == "proj-1"
    monkeypatch.setenv("AZURE_BASE_URL", "https://my.openai.azure.com/openai/v1")
    with Chats.from_env() as chats:
        assert list(chats.clients) == ["gemini", "openai", "azure"]
    monkeypatch.delenv("AZURE_BASE_URL")
    monkeypatch.setenv("AZURE_RESOURCE_NAME", "my")
    with Chats.from_env() as chats:
        described = chats.clients["azure"].describe()
        assert described["base_url"] == "https://my.openai.azure.com/openai/v1"
        assert described["resource_source"] == "AZURE_RESOURCE_NAME"


def test_the_second_variable_of_a_key_is_for_its_provider_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", KEY)
    with pytest.raises(ConfigurationError, match="key in GOOGLE_API_KEY is not for it"):
        Client("gemini", base_url="https://api.deepseek.com/x")
    monkeypatch.setenv("GEMINI_API_KEY", "fake-key-0815")
    both_set = target("gemini", {})
    assert both_set.key is not None
    assert (both_set.key.reveal(), both_set.key_source) == ("fake-key-0815", "GEMINI_API_KEY")


def test_a_model_whose_name_has_a_colon() -> None:
    with Chats({"openai": Client("openai", api_key=KEY)}) as chats:
        assert chats.chat("ft:gpt-4o:org::id", "openai").model == "ft:gpt-4o:org::id"
        with pytest.raises(ConfigurationError, match="provider= if the colon is the model's own"):
            chats.chat("ft:gpt-4o:org::id")


@pytest.mark.row("U-06")
def test_names_of_clients_are_the_callers_own() -> None:
    clients = {"main": Client("openai", api_key=KEY), "spare": Client("kimi@cn", api_key=KEY)}
    with Chats(clients, default="Spare") as chats:
        assert repr(chats.chat("kimi-k2.6", temperature=0)) == "Chat(kimi@cn:kimi-k2.6)"
        assert repr(chats.chat("MAIN:gpt-4.1")) == "Chat(openai:gpt-4.1)"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Chats({}), "clients: expected a mapping of names to at least one client"),
        (lambda: Chats(["openai"]), "clients: expected a mapping of names to at least one client"),
        (
            lambda: Chats({"openai": AsyncClient("openai", api_key=KEY)}),
            "clients: 'openai': expected a Client, not AsyncClient",
        ),
        (
            lambda: Chats({"openai": Client("openai", api_key=KEY)}, "kimi"),
            "provider: no client for 'kimi'; there are openai",
        ),
        (
            lambda: Chats({"openai": Client("openai", api_key=KEY)}).ask("Hi", model="glm:glm-5"),
            "provider: no client for 'glm'; there are openai; provider= if the colon is the "
            "model's own",
        ),
        (
            lambda: Chats({"openai": Client("openai", api_key=KEY)}).ask("Hi", model=""),
            "model: '': empty model name",
        ),
        (
            lambda: Chats.from_env("gemini", "kimi"),
            "no API key in the environment: set one of GEMINI_API_KEY, KIMI_API_KEY",
        ),
        (
            lambda: Chats.from_env("nobody"),
            "provider: 'nobody' is unknown; `wire providers` lists all",
        ),
        (
            lambda: Chats.from_env(api_key=KEY),
            "api_key: no such option; there are default, http, timeouts, retry, limits, trust_env",
        ),
    ],
)
def test_what_cannot_be_made_is_named(make: Callable[[], object], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make()
    assert str(caught.value).startswith(words)


def test_after_the_block_no_client_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    emulator = Emulator([{"say": "one"}])
    with Chats.from_env(http=EmulatorTransport(emulator)) as chats:
        pass
    chats.close()
    with pytest.raises(ConfigurationError, match="closed"):
        chats.ask("Hi", model="gpt-4.1")
    assert paths(emulator) == []
