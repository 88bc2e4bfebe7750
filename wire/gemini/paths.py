"""Helps to build calls: resource names as paths, queries of list methods, calls with one struct as
their response.

Resource names are checked segment by segment. Without that, a name such as `../files` or `x?key=`
would send the call to another path.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, TypeVar

from wire.core.arguments import whole_number
from wire.core.bodies import checked_body, wrong_type
from wire.core.bounds import BOUNDS
from wire.core.call import Call
from wire.core.credentials import known_credential
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.core.lazy import lazy_pattern
from wire.core.memory import WireStruct
from wire.core.path_segment import path_segment
from wire.core.provider import Provider
from wire.core.secret import quoted
from wire.gemini.error_body import parse_error
from wire.gemini.reader import parse_plain

S = TypeVar("S", bound=WireStruct)
T = TypeVar("T", bound=WireStruct)

JSON = {"content-type": "application/json"}
"""Headers of a call with a JSON body."""

# One segment of a path. At least one character is not a dot, since `.` and `..` would change the
# path.
_SEGMENT = lazy_pattern(r"[A-Za-z0-9_.@-]*[A-Za-z0-9_@-][A-Za-z0-9_.@-]*")


def resource(model: str) -> str:
    """Return the resource name of a model: `models/X` for `X`.

    Names with a slash are returned unchanged (S2-19).

    >>> resource("gemini-3.8-flash"), resource("tunedModels/mine")
    ('models/gemini-3.8-flash', 'tunedModels/mine')

    Raises `ConfigurationError` for a name that is empty or cannot stand in a path.
    """
    if not isinstance(model, str) or not model.strip():
        raise ConfigurationError("model: expected a name such as gemini-3.8-flash")
    try:
        return _resource(model)
    except ValueError:
        pass
    path_segment("model", model, "gemini-3.8-flash", parts=True)
    raise ConfigurationError(
        f"model: {quoted(model)} is not a model name; use letters, digits, dots, dashes and "
        "underscores"
    )


@functools.lru_cache(maxsize=256)
def _resource(model: str) -> str:
    """Return the resource name, as `resource`.

    Raises `ValueError`, so that a key in place of a name is not kept here.
    """
    name = model if "/" in model else f"models/{model}"
    # A key would be part of the URL, which is logged.
    if (
        len(model) > BOUNDS.path_segment
        or not all(map(_SEGMENT().fullmatch, name.split("/")))
        or known_credential(name)
    ):
        raise ValueError
    return name


def named(name: str, collection: str) -> str:
    """Return the full resource name of a member of a collection. `name` is its id or its full name.

    >>> named("abc-1", "files"), named("projects/p/locations/eu/cachedContents/1", "cachedContents")
    ('files/abc-1', 'projects/p/locations/eu/cachedContents/1')

    Raises `ConfigurationError` for a name of another collection, and for one that cannot stand in a
    path.
    """
    name = path_segment("name", name, f"{collection}/ID", parts=True)
    full = name if "/" in name else f"{collection}/{name}"
    segments = full.split("/")
    collected = segments[-2] == collection.rpartition("/")[2]
    if not collected or not all(map(_SEGMENT().fullmatch, segments)):
        raise ConfigurationError(f"name: expected {collection}/ID, not {quoted(name)}")
    return full


_MAX_INT32 = 2**31 - 1


def page(page_size: int | None, page_token: str | None, **more: str | None) -> dict[str, str]:
    """Return the query of a list method. A parameter that is `None` is not sent."""
    if not isinstance(page_size, int | None):
        problem = f"expected an integer, not {type(page_size).__name__}"
        raise RuleError(violations=[Violation("pageSize", problem, "G1")])
    if page_size is not None:
        whole_number("pageSize", page_size, most=_MAX_INT32)
    if not isinstance(page_token, str | None):
        problem = f"expected a string, not {type(page_token).__name__}"
        raise RuleError(violations=[Violation("pageToken", problem, "G1")])
    query = {
        "pageSize": None if page_size is None else str(page_size),
        "pageToken": page_token,
        **more,
    }
    return {name: value for name, value in query.items() if value is not None}


def plain(
    kind: type[S],
    method: str,
    path: str,
    body: bytes = b"",
    query: Mapping[str, str] | None = None,
    **more: Any,
) -> Call[S]:
    """Build a call whose response body is one struct of type `kind`.

    `more` are fields of `Call`.
    """
    return Call(
        "gemini",
        method,
        path,
        body,
        query=query or {},
        headers=JSON if body else {},
        parse=functools.partial(parse_plain, kind),
        read_error=parse_error,
        **more,
    )


def checked(value: Any, kind: type[T], path: str = "request") -> bytes:
    """Encode a request of type `kind` as JSON.

    Raises `RuleError` for another type, and with the JSON path of a value that its field does not
    allow.
    """
    if not isinstance(value, kind):
        raise wrong_type(path, value, kind.__name__)
    return checked_body(value)[0]


# --- hosts ----------------------------------------------------------------------------------------


def not_on_vertex(call: Call[Any], provider: Provider) -> Call[Any]:
    """Return the call of an endpoint that Vertex AI lacks, or has under another path.

    Raises `ConfigurationError` if the provider is Vertex.
    """
    return _only(call, provider, "gemini")


def only_on_vertex(call: Call[Any], provider: Provider) -> Call[Any]:
    """Return the call of an endpoint that the Gemini API lacks.

    Raises `ConfigurationError` if the provider is the Gemini API.
    """
    return _only(call, provider, "vertex")


def _only(call: Call[Any], provider: Provider, api: str) -> Call[Any]:
    if provider.dialect.api not in ("", api):
        raise ConfigurationError(
            f"call: this host has no endpoint {call.method} {call.path_prefix}{call.path}",
            provider=provider.name,
        )
    return call
