"""Determines the host of a URL, and whether that host is this machine or in a private network.

It does no I/O. A guard must judge the host that is connected to. Two parsers may read one URL
differently: an HTTP library maps a full-width dot to a dot, and the operating system reads `127.1`
and `0x7f.1` as 127.0.0.1. A host is therefore accepted in one spelling only, which every parser
reads alike (R-31). A name that the DNS resolves to a private address is not detected: that needs a
look-up, and a second look-up may have another result.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from wire.core.lazy import lazy_pattern

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

    Address: TypeAlias = IPv4Address | IPv6Address

_URL = lazy_pattern(
    r"(?P<scheme>[Hh][Tt][Tt][Pp][Ss]?)://(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?(?P<rest>[/?][!-~]*)?"
)
"""An http(s) URL without a user. A `#`, a blank or a control character never fits."""
_PORTS = {"http": 80, "https": 443}
_LABEL = lazy_pattern(r"[a-z0-9_-]{1,63}")
_NUMBER = lazy_pattern(r"[0-9]+|0x[0-9a-f]*")
"""A last label of this form makes a host an IPv4 address for every browser and for `inet_aton`."""

_LOCAL_NAMES = (
    "localhost", "localdomain", "local", "internal", "home.arpa",
    "intranet", "private", "corp", "home", "lan", "svc",
)  # fmt: skip
"""Top-level names that only the own network resolves: RFC 6761, RFC 6762 with its appendix G,
RFC 8375, ICANN's `.internal`, the services of Kubernetes."""
_LOCAL_NETWORKS = ("192.0.0.0/24", "168.63.129.16/32", "64:ff9b:1::/48", "5f00::/16")
"""Networks that `ipaddress` takes for global: the metadata services of Oracle's and Azure's clouds,
NAT64 of the own network (RFC 8215), and SRv6 (RFC 9602)."""
_TRANSLATED = ("64:ff9b::/96", "::ffff:0:0:0/96", "::/96")
"""Networks whose last 32 bits are an IPv4 address: NAT64, SIIT, and the deprecated IPv4-compatible
addresses, which have ::1 among them."""


class Origin(msgspec.Struct, frozen=True):
    """Scheme, host and port of a URL, each in the one spelling that is compared."""

    scheme: str
    host: str
    """In lower case, without a dot at its end. An IPv6 address is compressed, without brackets."""
    port: int

    def __str__(self) -> str:
        """Return the host, and the port unless it is the default of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether requests do not leave this machine."""
        return is_loopback(self.host)

    @property
    def is_private(self) -> bool:
        """Whether the host is this machine, or in a network that the internet does not reach.

        True for loopback, link-local, private and reserved addresses, for names such as
        `app.localhost`, `db.internal` and `nas.local`, and for names without a dot.
        """
        address = _address(self.host)
        if address is not None:
            return not _is_public(address)
        return "." not in self.host or f".{self.host}".endswith(
            tuple(f".{name}" for name in _LOCAL_NAMES)
        )


def origin_of(url: object) -> Origin:
    """Parse the origin of an http(s) URL.

    >>> origin_of("https://LLM.example.:8443/v1")
    Origin(scheme='https', host='llm.example', port=8443)

    Raises `ValueError`, whose text continues "expected" and does not contain the URL.
    """
    if isinstance(url, str) and not url.isascii():
        raise ValueError(
            "an http(s) URL in ASCII: write a host of another script in punycode (xn--...), and "
            "percent-encode the path"
        )
    match = _URL().fullmatch(url) if isinstance(url, str) else None
    if match is None or "#" in (match["rest"] or "") or "\\" in (match["rest"] or ""):
        raise ValueError("an http(s) URL with a host, without user and fragment")
    scheme, host = match["scheme"].lower(), match["host"].lower()
    port = int(match["port"] or _PORTS[scheme])
    if not 0 < port < 65536:
        raise ValueError("an http(s) URL with a host and a port from 1 to 65535")
    return Origin(scheme, _checked_host(host), port)


@functools.lru_cache(maxsize=64)  # called for each new connection; a program has few hosts
def is_loopback(host: str) -> bool:
    """Return whether a host is this machine: `localhost`, a name below it, 127.0.0.0/8 or ::1.

    >>> is_loopback("127.9.9.9"), is_loopback("app.localhost"), is_loopback("localhost.example")
    (True, True, False)
    """
    name = host.lower().strip("[]").removesuffix(".")
    address = _address(name)
    if address is not None:
        return (getattr(address, "ipv4_mapped", None) or address).is_loopback
    return name == "localhost" or name.endswith(".localhost")


def _checked_host(host: str) -> str:
    if host.startswith("["):
        from ipaddress import IPv6Address

        try:
            return str(IPv6Address(host[1:-1]))
        except ValueError:
            raise ValueError("an IPv6 address between the brackets") from None
    name = host.removesuffix(".")
    labels = name.split(".")
    if not all(_LABEL().fullmatch(label) for label in labels) or len(name) > 253:
        raise ValueError("an http(s) URL with a host, whose labels have 1 to 63 characters")
    if _NUMBER().fullmatch(labels[-1]) and _address(name) is None:
        raise ValueError("an IPv4 address as four decimal numbers without leading zeros")
    return name


def _address(host: str) -> Address | None:
    if ":" not in host and not host[-1:].isdigit():
        return None  # most hosts are names, which do not need `ipaddress`

    from ipaddress import ip_address

    try:
        return ip_address(host)
    except ValueError:
        return None


@functools.cache
def _networks(*texts: str) -> Sequence[IPv4Network | IPv6Network]:
    from ipaddress import ip_network

    return tuple(map(ip_network, texts))


def _is_public(address: Address) -> bool:
    from ipaddress import IPv4Address

    local = _networks(*_LOCAL_NETWORKS)
    if any(address.version == each.version and address in each for each in local):
        return False
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast
    embedded = address.ipv4_mapped or address.sixtofour
    if embedded is None and any(address in network for network in _networks(*_TRANSLATED)):
        embedded = IPv4Address(int(address) & 0xFFFFFFFF)
    if embedded is not None:
        return _is_public(embedded)
    return address.is_global and not address.is_multicast and not address.is_site_local
