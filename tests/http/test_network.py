"""Proxies and TLS settings of the environment (R-32)."""

from __future__ import annotations

import ssl
import threading
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.http.drive import CALL, Drive, not_on_httpx2
from tests.http.loopback import ANSWER, loopback, whole
from wire import AsyncClient, Client, errors
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes
from wire.http.network import CONTEXTS, proxy_for, tls

pytestmark = not_on_httpx2("tests the network options of the default transport")

NAMES = ("http_proxy", "https_proxy", "all_proxy")
REMOTE = {"base_url": "http://llm.example:1", "plain_http": True}
"""No DNS has the host: a request arrives only through a proxy."""


class Proxy(HTTPServer):
    """Answers in place of the host; keeps the URL and the credentials of each request."""

    def __init__(self) -> None:
        requests: list[tuple[str, str | None]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                requests.append((self.path, self.headers["proxy-authorization"]))
                self.wfile.write(whole(ANSWER))

            def do_CONNECT(self) -> None:
                requests.append((self.path, self.headers["proxy-authorization"]))
                self.send_error(403)

            def log_message(self, *_: object) -> None: ...

        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = requests

    @property
    def url(self) -> str:
        return f"http://user:fake-password@127.0.0.1:{self.server_address[1]}"

    @property
    def shown(self) -> str:
        return f"http://***@127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy() as server:
        for name in NAMES:
            monkeypatch.setenv(name, server.url)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.row("R-32")
def test_a_proxy_of_the_environment_is_used(
    drive: Drive, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive.send(**REMOTE)
    assert proxy.requests == [
        ("http://llm.example:1/v1beta/models/m:generateContent", "Basic dXNlcjpmYWtlLXBhc3N3b3Jk")
    ]
    monkeypatch.setenv("no_proxy", "llm.example")
    with pytest.raises(errors.ConnectionLost):
        drive.send(**REMOTE, retry=None)
    assert len(proxy.requests) == 1


@pytest.mark.row("R-32")
def test_https_goes_through_a_tunnel(drive: Drive, proxy: Proxy) -> None:
    with pytest.raises(errors.ConnectionLost, match="403"):
        drive.send(base_url="https://llm.example", retry=None)
    assert [path for path, _ in proxy.requests] == ["llm.example:443"]


@pytest.mark.row("R-32")
def test_describe_shows_the_proxy_and_no_credentials(proxy: Proxy) -> None:
    for client in (Client("gemini", **REMOTE), AsyncClient("gemini", **REMOTE)):
        shown = client.describe()
        assert (shown["proxy"], shown["trust_env"]) == (proxy.shown, True)
        assert "fake-password" not in str(shown)
    for lanes in (Lanes(trust_env=False), Lanes()):
        shown = Client("gemini", http=lanes, **REMOTE).describe()
        assert shown["proxy"] == (proxy.shown if lanes.trust_env else None)
    assert Client("gemini", trust_env=False, **REMOTE).describe()["proxy"] is None


@pytest.mark.row("R-32")
def test_trust_env_false_uses_no_proxy(drive: Drive, proxy: Proxy) -> None:
    with pytest.raises(errors.ConnectionLost):
        drive.send(**REMOTE, trust_env=False, retry=None)
    assert proxy.requests == []


@pytest.mark.parametrize("no_proxy", ["", "llm.example"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost"])
def test_no_request_to_this_machine_goes_to_a_proxy(
    drive: Drive, proxy: Proxy, host: str, no_proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy would read the key and the conversation (R-32)."""
    monkeypatch.setenv("no_proxy", no_proxy)
    with loopback([whole(ANSWER)]) as server:
        url = server.url.replace("127.0.0.1", host)
        assert drive.send(CALL, base_url=url).text == "Hello."
        assert Client("gemini", base_url=url).describe()["proxy"] is None
    assert len(server.requests) == 1
    assert proxy.requests == []


@pytest.mark.parametrize(
    ("host", "used"),
    [
        ("127.0.0.1", False),
        ("127.9.9.9", False),
        ("::1", False),
        ("0:0:0:0:0:0:0:1", False),
        ("::ffff:127.0.0.1", False),
        ("localhost", False),
        ("LOCALHOST.", False),
        ("0.0.0.0", False),
        ("::", False),
        ("::ffff:0.0.0.0", False),
        ("localhost.localdomain", False),
        ("localhost6", False),
        ("ip6-localhost", False),
        ("app.localhost", False),
        ("a.b.localhost", False),
        ("localhost.example", True),
        ("127.0.0.1.example", True),
        ("128.0.0.1", True),
        ("10.0.0.1", True),
        ("::2", True),
        ("llm.example", True),
    ],
)
def test_hosts_without_a_proxy(host: str, used: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "http://proxy.example:3128")
    for scheme in ("http", "https"):
        assert (proxy_for(scheme, host, 8080) is not None) is used
        assert proxy_for(scheme, host, 8080, trust_env=False) is None


@pytest.mark.parametrize(
    "url",
    [
        "socks5://user:fake-password@127.0.0.1:1080",
        "http://user:fake-password@",
        "http://user:fake-password@proxy.example:99999",
        "http://user:fake-password@proxy.example:0",
        "http://user:fake-password@proxy.example:x",
        "http://user:fake-password@[::1",
        "user:fake-password@",
        "http://user:12/fake-password@proxy.example",
        "http://user:12?fake-password@proxy.example",
        "http://user:12#fake-password@proxy.example",
    ],
)
def test_a_wrong_proxy_is_an_error_that_names_the_variable(
    drive: Drive, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", url)
    with pytest.raises(errors.ConfigurationError, match=r"^gemini: HTTPS_PROXY: ") as caught:
        drive.send()
    assert "fake-password" not in repr(caught.value)
    frames = "".join(
        traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    )
    assert frames.count("fake-password") == frames.count(f"url = '{url}'") == 1
    monkeypatch.delenv("https_proxy")
    monkeypatch.setenv("all_proxy", url)
    with pytest.raises(errors.ConfigurationError, match="ALL_PROXY: "):
        drive.send()


# --- TLS ------------------------------------------------------------------------------------------


@pytest.fixture
def fresh_tls() -> Iterator[None]:
    CONTEXTS.clear()
    yield
    CONTEXTS.clear()


@pytest.mark.row("R-32")
@pytest.mark.usefixtures("fresh_tls")
def test_certificates_of_the_environment(
    drive: Drive, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with loopback([whole(ANSWER)], certificate) as server:
        assert drive.send(base_url=server.url).text == "Hello."
        with pytest.raises(errors.ConnectionLost, match="certificate is not trusted"):
            drive.send(base_url=server.url, trust_env=False)
    assert len(server.requests) == 1


@pytest.mark.row("R-32")
@pytest.mark.usefixtures("fresh_tls")
def test_certificates_of_a_proxy_over_tls(
    drive: Drive, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is sent to the proxy in the open, so the proxy's certificate is verified too."""
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    with loopback([whole(ANSWER)], certificate) as server:
        monkeypatch.setenv("http_proxy", server.url)
        with pytest.raises(errors.ConnectionLost, match="certificate is not trusted"):
            drive.send(**REMOTE)
        assert server.requests == []
        CONTEXTS.clear()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert drive.send(**REMOTE).text == "Hello."
    assert server.requests[0].startswith(b"POST http://llm.example:1/v1beta/models/m:generate")


@pytest.mark.row("R-32")
@pytest.mark.usefixtures("fresh_tls")
@pytest.mark.parametrize("trust_env", [True, False])
def test_no_variable_switches_verification_off(
    trust_env: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONHTTPSVERIFY", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_TLS_REJECT"):
        monkeypatch.setenv(name, "0")
    context = tls("https", trust_env)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


@pytest.mark.usefixtures("fresh_tls")
def test_trust_env_false_writes_no_tls_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    assert tls("https", trust_env=True).keylog_filename == str(tmp_path / "keys")
    assert tls("https", trust_env=False).keylog_filename is None


@pytest.mark.usefixtures("fresh_tls")
@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_named(
    drive: Drive, content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(errors.ConfigurationError, match="SSL_CERT_FILE: cannot be used"):
        drive.send(base_url="https://llm.example")


def test_a_given_transport_has_its_own_setting(drive: Drive) -> None:
    lanes: Any = Lanes() if drive.name == "sync" else AsyncLanes()
    with pytest.raises(errors.ConfigurationError, match="trust_env: an option of the transport"):
        drive.send(http=lanes, trust_env=False)
    with pytest.raises(errors.ConfigurationError, match="trust_env: expected a bool, not str"):
        drive.send(trust_env="false")
