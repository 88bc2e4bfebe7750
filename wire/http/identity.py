"""The credentials of a client: its option `credentials`, or the chains of its row. No I/O.

`wire.auth` is imported for clients that have credentials only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wire.core.errors import ConfigurationError
from wire.core.provider import Provider
from wire.core.secret import Secret, type_name

if TYPE_CHECKING:
    from wire.auth.held import Held


def credentials_of(options: Mapping[str, Any], provider: Provider) -> Any:
    """Return the option `credentials` as a value; `None` without it.

    Raises `ConfigurationError` for anything else, and beside a key or a token.
    """
    given = options.get("credentials")
    if given is None:
        return None
    for other in ("api_key", "token"):
        if options.get(other) is not None:
            raise ConfigurationError(
                f"credentials: give it or {other}, not both", provider=provider.name
            )
    from wire.auth.chains import named
    from wire.auth.credential import Credential

    if isinstance(given, Credential):
        return given
    if isinstance(given, str):
        return named(given)
    kind = given.kind if isinstance(given, Secret) else type_name(given)
    raise ConfigurationError(
        f"credentials: expected a credential of wire.auth or the name of a source, not {kind}",
        provider=provider.name,
    )


def held_of(
    credentials: Any, key: Any, provider: Provider, base_url: str, options: Mapping[str, Any]
) -> Held | None:
    """Return what a client keeps of its credentials: without any, and without a key or a token,
    those of the chains of its row.
    """
    if credentials is None and (key is not None or not provider.auth or not provider.key_required):
        return None
    from wire.auth.chains import first_of
    from wire.auth.credential import Place
    from wire.auth.held import Held

    credentials = credentials or first_of(provider.auth)
    if credentials is None:
        return None
    there = Place(
        provider.name,
        base_url,
        options.get("region") or "",
        provider.signing_service,
        provider.key_variable,
        [],
    )
    return Held(credentials, there)
