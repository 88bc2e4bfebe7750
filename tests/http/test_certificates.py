"""Certificate checks that are switched off are told: by `describe()`, in the log, as a warning."""

from __future__ import annotations

import asyncio
import importlib
import logging
import ssl
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from wire import AsyncChat, AsyncClient, Chat, Client, Lanes
from wire.testing import Record
from wire.testing.emulator import EmulatorTransport


def no_checks() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def no_names() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    return context


def checks() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class Inside(httpx.BaseTransport):
    """A transport of a user around another one."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self.below = inner

    def close(self) -> None:
        self.below.close()


def library(name: str) -> Any:
    return pytest.importorskip(name)


OFF: dict[str, Callable[[Any, str], Any]] = {
    "transport": lambda lib, way: getattr(lib, f"{way}HTTPTransport")(verify=False),
    "client": lambda lib, way: getattr(lib, f"{way}Client")(verify=False),
    "context": lambda lib, way: getattr(lib, f"{way}HTTPTransport")(verify=no_checks()),
    "names": lambda lib, way: getattr(lib, f"{way}Client")(verify=no_names()),
    "proxy": lambda lib, way: getattr(lib, f"{way}HTTPTransport")(
        verify=no_checks(), proxy="http://127.0.0.1:9"
    ),
    "mount": lambda lib, way: getattr(lib, f"{way}Client")(
        verify=checks(),
        mounts={"https://a.example": getattr(lib, f"{way}HTTPTransport")(verify=no_checks())},
    ),
}


def told(
    make: Callable[[], Any], caplog: pytest.LogCaptureFixture
) -> tuple[str, list[str], list[str]]:
    """What a new client says: in `describe()`, in the log above DEBUG, as warnings."""
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "wire"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        client = make()
        shown = client.describe()["certificates"]
        if isinstance(client, Client):
            client.close()
        else:
            asyncio.run(client.aclose())
    lines = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    kinds = [str(each.message) for each in caught if each.category is RuntimeWarning]
    return shown, lines, kinds


@pytest.mark.parametrize("name", ["httpx", "httpx2"])
@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize("way", ["", "Async"])
@pytest.mark.parametrize("host", ["https://llm.example/v1", "https://127.0.0.1/v1"])
def test_checks_that_are_off_are_told_once(
    name: str, off: str, way: str, host: str, caplog: pytest.LogCaptureFixture
) -> None:
    http, kind = OFF[off](library(name), way), AsyncClient if way else Client
    shown, lines, warned = told(
        lambda: kind("mine", api_key="fake-key", base_url=host, http=http), caplog
    )
    assert shown == "not verified"
    assert lines == warned
    assert len(lines) == 1
    assert lines[0].startswith("certificates are not verified: http= has switched the checks off")


@pytest.mark.parametrize("name", ["httpx", "httpx2"])
@pytest.mark.parametrize("kind", ["HTTPTransport", "Client"])
def test_checks_that_are_on_are_not_told(
    name: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    http = getattr(library(name), kind)(verify=checks())
    found = told(lambda: Client("gemini", api_key="fake-key", http=http), caplog)
    assert found == ("as http= decides", [], [])


def test_the_transport_of_this_library_always_verifies(caplog: pytest.LogCaptureFixture) -> None:
    for make, shown in (
        (lambda: Client("gemini", api_key="fake-key"), "verified"),
        (lambda: AsyncClient("gemini", api_key="fake-key"), "verified"),
        (lambda: Client("gemini", api_key="fake-key", http=Lanes()), "verified"),
        (
            lambda: Client("x", api_key="fake-key", base_url="http://localhost/v1"),
            "none: plain http",
        ),
        (
            lambda: Client("gemini", api_key="fake-key", http=EmulatorTransport()),
            "as http= decides",
        ),
    ):
        assert told(make, caplog) == (shown, [], [])
    with pytest.raises(TypeError, match="verify"):
        Lanes(verify=False)  # type: ignore[call-arg]


def test_a_transport_inside_others_is_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for outer in (
        lambda inner: Inside(Inside(inner)),
        lambda inner: Record(inner, tmp_path / "a.json"),
        lambda inner: httpx.Client(transport=Inside(inner), verify=checks()),
    ):
        http = outer(httpx.HTTPTransport(verify=no_checks()))
        shown, lines, _ = told(lambda: Client("gemini", api_key="fake-key", http=http), caplog)  # noqa: B023
        assert (shown, len(lines)) == ("not verified", 1)


def test_a_chat_tells_it_too(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.warns(RuntimeWarning, match="certificates are not verified"):
        Chat("gemini:g", api_key="fake-key", http=httpx.HTTPTransport(verify=no_checks())).close()
    with pytest.warns(RuntimeWarning, match="certificates are not verified"):
        chat = AsyncChat(
            "gemini:g", api_key="fake-key", http=httpx.AsyncHTTPTransport(verify=no_checks())
        )
    asyncio.run(chat.aclose())
    assert len(caplog.records) == 2


def test_python_shows_it_once_for_all_clients() -> None:
    """With the filters that a program has by default."""
    network = importlib.import_module("wire.http.network")
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        vars(network).pop("__warningregistry__", None)
        for _ in range(3):
            http = httpx.HTTPTransport(verify=no_checks())
            Client("gemini", api_key="fake-key", http=http).close()
    assert [each.category for each in caught] == [RuntimeWarning]
