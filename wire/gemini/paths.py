"""What endpoints are made of: names of resources as paths, pages of lists, calls whose answer is
one struct.

A name that no path can hold is the caller's error, and no name leads to another path.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.core.memory import WireStruct
from wire.core.provider import Provider
from wire.errors import ConfigurationError, RuleError, Violation
from wire.gemini.error_body import parse_error
from wire.gemini.reader import parse_plain

S = TypeVar("S", bound=WireStruct)
T = TypeVar("T", bound=WireStruct)

JSON = {"content-type": "application/json"}

_SEGMENT = re.compile(r"[A-Za-z0-9_.@-]*[A-Za-z0-9_@-][A-Za-z0-9_.@-]*")


def resource(model: str) -> str:
    """`models/X` for `X` and `models/X`; `tunedModels/X` and other full names as they are (S2-19).

    >>> resource("gemini-3-pro-preview"), resource("tunedModels/mine")
    ('models/gemini-3-pro-preview', 'tunedModels/mine')
    """
    if not isinstance(model, str) or not model.strip():
        raise ConfigurationError("model: a name is wanted, such as gemini-3-pro-preview")
    name = model if "/" in model else f"models/{model}"
    if not all(map(_SEGMENT.fullmatch, name.split("/"))):
        raise ConfigurationError(
            f"model: {model!r} is no model name; letters, digits, dots, dashes and "
            "underscores make one"
        )
    return name


def named(name: str, collection: str) -> str:
    """The full name of one of a collection, for its id and for a full name.

    >>> named("abc-1", "files"), named("projects/p/locations/eu/cachedContents/1", "cachedContents")
    ('files/abc-1', 'projects/p/locations/eu/cachedContents/1')
    """
    full = name if isinstance(name, str) and "/" in name else f"{collection}/{name}"
    words = full.split("/")
    if (
        not isinstance(name, str)
        or not all(map(_SEGMENT.fullmatch, words))
        or words[-2] != collection.rpartition("/")[2]
    ):
        raise ConfigurationError(f"name: {collection}/ID is wanted, not {name!r}")
    return full


def page(page_size: int | None, page_token: str | None, **more: str | None) -> dict[str, str]:
    """The query of a list; what is `None` is left to the server."""
    if not isinstance(page_size, int | None) or not isinstance(page_token, str | None):
        raise RuleError(violations=[Violation("pageSize", "a number and a text are wanted", "G1")])
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
    """A call whose whole answer is one struct."""
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
    """A request of that type as JSON.

    Raises `RuleError` that names the JSON path of what its type does not allow.
    """
    if not isinstance(value, kind):
        raise wrong_type(path, value, kind.__name__)
    return checked_body(value)[0]


# --- hosts ----------------------------------------------------------------------------------------


def not_on_vertex(call: Call[Any], provider: Provider) -> Call[Any]:
    """Host rules of an endpoint that Vertex AI has not, or has under another path."""
    return _only(call, provider, "gemini")


def only_on_vertex(call: Call[Any], provider: Provider) -> Call[Any]:
    """Host rules of an endpoint that the Gemini API has not."""
    return _only(call, provider, "vertex")


def _only(call: Call[Any], provider: Provider, api: str) -> Call[Any]:
    if provider.dialect.api not in ("", api):
        raise ConfigurationError(
            f"call: this host has no {call.method} {call.path_prefix}{call.path} in this form",
            provider=provider.name,
        )
    return call
