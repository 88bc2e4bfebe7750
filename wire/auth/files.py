"""Files with credentials: read within bounds, and told of if others can read them."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Mapping
from typing import Any

import msgspec

from wire.core.errors import ConfigurationError
from wire.core.hosts import origin_of
from wire.core.secret import Secret

_log = logging.getLogger("wire")
_MOST_BYTES = 1024 * 1024
_MOST_TOKEN_BYTES = 64 * 1024
"""Bytes of a token in a file: those of real issuers have 4 KiB."""


def home(*parts: str) -> str:
    """Return the path of a file in the home folder of the user."""
    return os.path.join(os.path.expanduser("~"), *parts)


def read(path: str, what: str, *, is_secret: bool = False) -> bytes:
    """Return a file.

    Raises `FileNotFoundError`, and `ConfigurationError` for one that cannot be read. A file with
    secrets that other users can read is told of in the log: files that a container mounts are
    readable for all, and work.
    """
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ConfigurationError(f"credentials: {what} {path} is no regular file")
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as cause:
        reason = cause.strerror or type(cause).__name__
        raise ConfigurationError(f"credentials: {what} {path}: {reason}") from None
    if len(data) > _MOST_BYTES:
        raise ConfigurationError(f"credentials: {what} {path} is larger than {_MOST_BYTES:,} bytes")
    if is_secret and os.name == "posix" and status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        _log.warning(
            "credentials: other users can read %s (mode %04o); chmod 600 keeps it private",
            path,
            mode,
        )
    return data


def read_json(path: str, what: str, *, is_secret: bool = False) -> Mapping[str, Any]:
    """Return the JSON object of a file. Raises as `read`, and for anything else in it."""
    try:
        fields: Any = msgspec.json.decode(read(path, what, is_secret=is_secret))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ConfigurationError(f"credentials: {what} {path} is no JSON object")
    return fields


def read_token(path: str, what: str, *, is_json: bool = False) -> Secret:
    """Return the token in a file, which may change at any time; or the JSON that has it.

    Raises `ConfigurationError`.
    """
    try:
        data = read(path, what)
    except FileNotFoundError:
        raise ConfigurationError(f"credentials: {what} {path} does not exist") from None
    if len(data) > _MOST_TOKEN_BYTES:
        problem = f"is larger than {_MOST_TOKEN_BYTES:,} bytes, so it is no token"
        raise ConfigurationError(f"credentials: {what} {path} {problem}")
    try:
        token = Secret.unchecked(data.decode("ascii").strip())
    except UnicodeDecodeError:
        del data
        raise ConfigurationError(f"credentials: {what} {path} is no text") from None
    del data
    if not token.reveal():
        raise ConfigurationError(f"credentials: {what} {path} is empty")
    return token if is_json else token.check(f"credentials: {what} {path}")


def text_of(fields: Mapping[str, Any], key: str, where: str) -> str:
    """Return a text of a file. Raises `ConfigurationError` for one that is missing."""
    value = fields.get(key)
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"credentials: {where} has no {key}")
    return value


def checked_url(url: str, what: str, *, may_be_plain: bool = False) -> None:
    """Refuse a URL that is none, or that would send a secret in the open.

    `may_be_plain` permits plain http to private hosts, such as a metadata server, from which a
    token is read.
    """
    try:
        origin = origin_of(url)
    except ValueError as problem:
        raise ConfigurationError(f"credentials: {what}: expected {problem}") from None
    is_near = origin.is_loopback or (may_be_plain and origin.is_private)
    if origin.scheme != "https" and not is_near:
        raise ConfigurationError(f"credentials: {what}: expected https for {origin.host}")
