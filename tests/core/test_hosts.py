"""One host, one spelling: what a guard judges is what httpx connects to (R-31)."""

from __future__ import annotations

import ipaddress

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.joined import joined
from wire.core.hosts import Origin, is_loopback, origin_of

MAPPED = ipaddress.IPv6Address("::ffff:7f00:1")
"""Python 3.13 writes it as ::ffff:127.0.0.1."""


@pytest.mark.row("R-31")
@joined(
    ("url", "origin"),
    [
        ("https://llm.example", Origin("https", "llm.example", 443)),
        ("http://llm.example", Origin("http", "llm.example", 80)),
        ("HTTPS://LLM.Example./v1?x=@#"[:-1], Origin("https", "llm.example", 443)),
        ("https://llm.example:0443/", Origin("https", "llm.example", 443)),
        ("https://my_host-1:8443", Origin("https", "my_host-1", 8443)),
        ("https://xn--bcher-kva.example", Origin("https", "xn--bcher-kva.example", 443)),
        ("http://127.0.0.1.:80", Origin("http", "127.0.0.1", 80)),
        ("http://[0:0:0:0:0:0:0:1]:80/x", Origin("http", "::1", 80)),
        ("http://[::FFFF:127.0.0.1]", Origin("http", str(MAPPED), 80)),
    ],
)
def test_one_spelling(url: str, origin: Origin) -> None:
    assert origin_of(url) == origin


FULL_WIDTH, ASCII, IPV4 = "api\uff0eopenai\uff0ecom", "URL in ASCII", "four decimal numbers"


@pytest.mark.row("R-31")
@joined(
    ("url", "problem"),
    [
        ("https://api\u3002openai\u3002com", ASCII),
        (f"https://{FULL_WIDTH}", ASCII),
        ("https://api\uff61openai\uff61com", ASCII),
        ("https://\uff41pi.openai.com", ASCII),
        ("https://b\u00fccher.example", "punycode"),
        ("https://api.openai.com\u200b.llm.example", ASCII),
        ("https://llm.example\uff0f@api.openai.com", ASCII),
        ("https://api%2eopenai.com", "host"),
        ("https://%61pi.openai.com", "host"),
        ("https://api.openai.com%00.llm.example", "host"),
        ("https://api.openai.com\\@llm.example", "host"),
        ("https://llm.example\\.api.openai.com", "host"),
        ("https://user@llm.example", "without user"),
        ("https://llm.example/#x", "fragment"),
        ("https://llm..example", "labels"),
        ("https://llm.example..", "labels"),
        ("https://.llm.example", "labels"),
        ("https://...", "labels"),
        (f"https://{'a' * 64}.example", "labels"),
        ("http://2130706433", IPV4),
        ("http://0x7f.1", IPV4),
        ("http://0x7f000001", IPV4),
        ("http://127.1", IPV4),
        ("http://0177.0.0.1", IPV4),
        ("http://127.0.0.01", IPV4),
        ("http://127.0.0.0x1", IPV4),
        ("http://1.2.3.4.5", IPV4),
        ("http://llm.example.256", IPV4),
        ("http://0", IPV4),
        ("http://[fe80::1%25eth0]", "host"),
        ("http://[::1%lo]", "host"),
        ("http://[::1", "host"),
        ("http://[:::1]", "IPv6"),
        ("http://::1", "host"),
        ("https://llm.example:0", "port"),
        ("https://llm.example:65536", "port"),
        ("https://llm.example:x", "host"),
        ("https://llm.example:+443", "host"),
        ("https://llm.example:\u0664\u0664\u0663", ASCII),
        ("https://llm.example:", "host"),
        ("https:/llm.example", "host"),
        ("https:llm.example", "host"),
        ("//llm.example", "host"),
        ("ftp://llm.example", "host"),
        ("file:///etc/passwd", "host"),
        (" https://llm.example", "host"),
        ("https://llm.example\n", "host"),
        ("https://llm.example/a b", "host"),
        ("https://llm\t.example", "host"),
        ("", "host"),
        (None, "host"),
        (b"https://llm.example", "host"),
    ],
    ids=ascii,
)
def test_other_spellings_are_refused(url: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        origin_of(url)
    assert not url or str(url) not in str(caught.value)


AUTHORITY = st.text("aO0.:-_@%[]x127f\\/?#\u3002\uff0e\uff41\u212a ", max_size=16)


@pytest.mark.row("R-31")
@given(st.sampled_from(["http://", "https://"]), AUTHORITY)
@example("https://", "a.xn--a")
@example("http://", "[::ffff:1.2.3.4]:8")
def test_httpx_connects_to_the_host_that_was_judged(scheme: str, rest: str) -> None:
    try:
        origin = origin_of(scheme + rest)
    except ValueError:
        return
    url = httpx.URL(scheme + rest)
    assert url.raw_scheme.decode() == origin.scheme
    assert url.port in (origin.port, None)
    connected = url.raw_host.decode().removesuffix(".")
    if ":" in connected:
        connected = str(ipaddress.ip_address(connected))
    assert connected == origin.host


PRIVATE = [
    "localhost",
    "app.localhost",
    "localhost.localdomain",
    "db.internal",
    "metadata.google.internal",
    "nas.local",
    "router.home.arpa",
    "metadata",
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[::7f00:1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[2002:7f00:1::]",
    "[64:ff9b::a00:1]",
    "[fc00::1]",
    "[fd12:3456::1]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "192.0.0.192",
    "168.63.129.16",
    "[::ffff:168.63.129.16]",
    "[64:ff9b:1::a00:1]",
    "kubernetes.default.svc",
    "nas.lan",
    "wiki.corp",
]
PUBLIC = [
    "llm.example",
    "localhost.example",
    "internal.example",
    "notlocal.example",
    "lan.example",
    "168.63.129.17",
    "8.8.8.8",
    "172.32.0.1",
    "100.128.0.1",
    "[2001:4860:4860::8888]",
    "[::ffff:8.8.8.8]",
    "[64:ff9b::808:808]",
]


@joined("host", PRIVATE)
def test_private_hosts(host: str) -> None:
    assert origin_of(f"https://{host}").is_private


@joined("host", PUBLIC)
def test_public_hosts(host: str) -> None:
    assert not origin_of(f"https://{host}").is_private


def test_this_machine() -> None:
    local = [host for host in PRIVATE + PUBLIC if origin_of(f"https://{host}").is_loopback]
    assert local == ["localhost", "app.localhost", "127.0.0.1", "[::1]"]
    assert is_loopback("::ffff:127.0.0.1")
    # 6to4 and NAT64 lead through another machine, so http to them is not safe.
    assert not is_loopback("2002:7f00:1::")
    assert not is_loopback("64:ff9b::7f00:1")
