"""Blocks the network during a test, as the option `--block-network` of the plugin asks for."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from typing import Any, Self

from wire.errors import ConfigurationError

_LOOPBACK = frozenset({"", "localhost"})


class Blocked:
    """Lets sockets of this process connect to loopback and to `allowed_hosts` only, in a `with`.

    A refused connection raises `ConfigurationError`, and so does looking up the name of a refused
    host: a connection itself has only the address. Sockets of C libraries are not blocked.

    Args:
        allowed_hosts: Regular expressions of whole host names or addresses.
        option: Name of the option that blocks, for the error.
        allowing: Name of the option that allows a host, for the error.
    """

    def __init__(self, allowed_hosts: Sequence[str], option: str, allowing: str) -> None:
        self._allowed = [re.compile(each, re.IGNORECASE) for each in allowed_hosts]
        self._option, self._allowing = option, allowing
        self._found: set[str] = set()  # addresses of allowed names
        self._is_lifted = False
        self._before: list[tuple[Any, str, Any]] = []

    def lift(self) -> None:
        """Block nothing until the end of the `with`."""
        self._is_lifted = True

    def __enter__(self) -> Self:
        connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
        look_up = socket.getaddrinfo

        def guarded_connect(connected: socket.socket, address: Any) -> None:
            self._check_address(connected, address)
            return connect(connected, address)

        def guarded_connect_ex(connected: socket.socket, address: Any) -> int:
            self._check_address(connected, address)
            return connect_ex(connected, address)

        def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
            self._check(host)
            rows = look_up(host, *args, **kwargs)
            self._found.update(str(row[4][0]) for row in rows)
            return rows

        self._replace(socket.socket, "connect", guarded_connect)
        self._replace(socket.socket, "connect_ex", guarded_connect_ex)
        self._replace(socket, "getaddrinfo", guarded_look_up)
        return self

    def __exit__(self, *_: object) -> None:
        for owner, name, original in self._before:
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        self._before.clear()

    def _replace(self, owner: Any, name: str, function: Any) -> None:
        # `socket.socket` inherits its methods: one that is not its own is removed at the end.
        self._before.append((owner, name, vars(owner).get(name)))
        setattr(owner, name, function)

    def _check_address(self, connected: socket.socket, address: Any) -> None:
        if connected.family in (socket.AF_INET, socket.AF_INET6):
            self._check(address[0])

    def _check(self, host: Any) -> None:
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
        if self._is_lifted or _is_loopback(name) or name in self._found:
            return
        if not any(pattern.fullmatch(name) for pattern in self._allowed):
            raise ConfigurationError(
                f"the network is blocked by {self._option}, and {name} is not an allowed host; "
                f"{self._allowing}={re.escape(name)} allows it"
            )


def _is_loopback(name: str) -> bool:
    if name.lower() in _LOOPBACK:
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback or address.is_unspecified
