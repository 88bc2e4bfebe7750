"""Fields of bodies that hold credentials, such as the token of an MCP server, and their masking.

Only the vendor needs these credentials. So all code that shows or stores a body, besides the
request itself, takes it from `masked_body`, `masked_value` or `field_spans`. The fields of all
wires are one table: bodies are masked for any host before a wire is loaded, and in recordings of
other tools. A test compares the table with the structs of all wires.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from wire.core.credentials import SHOWN, looks_secret, secret_name
from wire.core.json_spans import Open, Path, json_values, path_of, replaced
from wire.core.lazy import lazy_pattern
from wire.core.secret import Secret


class SecretField(NamedTuple):
    """A field that holds a credential; if its value is an object or a list, each value in it."""

    holder: str
    """The key of the object with the field, or of the list of such objects; empty: the body."""
    key: str
    struct: str = ""
    """The struct that has the field; empty if the library has none."""


SECRET_FIELDS = (
    # Messages
    SecretField("mcp_servers", "authorization_token", "McpServer"),
    # chat completions, Responses, Realtime, containers
    SecretField("tools", "authorization", "Tool"),
    SecretField("tools", "headers", "Tool"),
    SecretField("domain_secrets", "value", "DomainSecret"),
    SecretField("client_secret", "value"),
    # Gemini, Vertex, Interactions
    SecretField("streamable_http_transport", "headers", "StreamableHttpTransport"),
    SecretField("google_maps", "auth_config", "GoogleMaps"),
    SecretField("exa_ai_search", "api_key", "ExaAiSearch"),
    SecretField("parallel_ai_search", "api_key", "ParallelAiSearch"),
    SecretField("exa_ai_search_config", "api_key", "ExaAISearchConfig"),
    SecretField("parallel_ai_search_config", "api_key", "ParallelAISearchConfig"),
    SecretField("external_api", "api_auth"),
    SecretField("", "new_signing_secret", "Webhook"),
    SecretField("webhooks", "new_signing_secret", "Webhook"),
    SecretField("", "secret", "RotatedSecret"),
    SecretField("allowlist", "credential", "AllowlistEntry"),
    SecretField("allowlist", "transform", "AllowlistEntry"),
    SecretField("environment", "env", "Environment"),
    SecretField("base_environment", "env", "Environment"),
    SecretField("env", "credential", "EnvVar"),
)


def _spellings(name: str) -> set[str]:
    """Return a key in snake_case and in camelCase; Gemini accepts both."""
    head, *rest = name.split("_")
    return {name, head + "".join(map(str.capitalize, rest))}


_PLACES = {
    (holder, key)
    for field in SECRET_FIELDS
    for holder in _spellings(field.holder)
    for key in _spellings(field.key)
}
# The longer key is the rarer one, and is searched for first. The quote at its end may be escaped.
_KEYS = tuple(
    tuple(f'"{key}'.encode() for key in sorted(pair, key=len, reverse=True) if key)
    for pair in sorted(_PLACES)
)
_OF_STRUCT = {
    name: tuple(each.key for each in SECRET_FIELDS if each.struct == name)
    for name in {each.struct for each in SECRET_FIELDS} - {""}
}
# One pass for all longer keys: a body may have 100 MB, and nearly every body has none of them.
_LONGER_KEY = lazy_pattern(
    b'"(?:' + b"|".join(sorted({keys[0].removeprefix(b'"') for keys in _KEYS})) + b")"
)
_ESCAPED_LETTER = lazy_pattern(rb"\\u00[4-7]")
_BEGIN = lazy_pattern(r'[{\[](?=\s*["{\[])')
_EMPTY = frozenset({"null", "true", "false", '""'})
_NEAR = 8
"""Steps from a field to the key of its holder; more are lists in lists, which no wire has."""


def field_spans(text: str) -> Iterator[tuple[Path, int, int]]:
    """Yield the path, begin and end of each credential in the JSON of a text.

    The text is JSON, or has JSON in it: an event stream, lines of JSON, a form.
    """
    at = 0
    while (begin := _BEGIN().search(text, at)) is not None:
        for open_, start, end in json_values(text, begin.start()):
            if _is_place(open_):
                path = path_of(open_)
                for inner, first, last in _values_in(text[start:end]):
                    yield (*path, *inner), start + first, start + last
            if not open_:
                at = end
                break


def _is_place(open_: Open) -> bool:
    key = open_[-1][0][0] if open_ else None
    if not isinstance(key, str):
        return False
    around = (step[0] for step, _ in islice(reversed(open_), 1, _NEAR) if isinstance(step[0], str))
    return (next(around, ""), key) in _PLACES


def _values_in(text: str) -> Iterator[tuple[Path, int, int]]:
    """Yield the hidden part of a field's value: itself, or each value of an object or list."""
    depth = int(text[0] in "{[")
    for open_, start, end in json_values(text):
        if len(open_) == depth and text[start:end] not in _EMPTY:
            yield path_of(open_), start, end


def may_have_fields(body: bytes) -> bool:
    """Return whether a body may have credentials: it contains the keys of a field."""
    if _LONGER_KEY().search(body) is not None:
        for keys in _KEYS:
            if keys[0] in body and keys[-1] in body:
                return True
    return _ESCAPED_LETTER().search(body) is not None


def masked_body(body: bytes) -> bytes:
    """Replace the credentials in the fields of a body by `***`; return itself if it has none.

    >>> masked_body(b'{"tools": [{"headers": {"X-Key": "fake"}, "authorization": null}]}')
    b'{"tools": [{"headers": {"X-Key": "***"}, "authorization": null}]}'
    """
    if not may_have_fields(body):
        return body
    text = body.decode("utf-8", "surrogateescape")
    spans = ((start, end) for _, start, end in field_spans(text))
    return replaced(text, spans, SHOWN).encode("utf-8", "surrogateescape")


def masked_value(value: Any, holder: str = "") -> Any:
    """Replace the credentials in a JSON value, under the key `holder`, by `***`.

    >>> masked_value({"mcp_servers": [{"name": "a", "authorization_token": "fake"}]})
    {'mcp_servers': [{'name': 'a', 'authorization_token': '***'}]}
    """
    if isinstance(value, Mapping):
        return {
            key: _hidden(each) if (holder, key) in _PLACES else masked_value(each, key)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        items = [masked_value(each, holder) for each in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def _hidden(value: Any, *, inside: bool = False) -> Any:
    if isinstance(value, Mapping) and not inside:
        return {key: _hidden(each, inside=True) for key, each in value.items()}
    if isinstance(value, list | tuple) and not inside:
        return [_hidden(each, inside=True) for each in value]
    return value if value is None or isinstance(value, bool) or value == "" else SHOWN


def hidden_fields(struct: Any) -> dict[str, Any]:
    """Return the fields of a struct that hold credentials, with `***` in place of their values."""
    return {
        name: _hidden(getattr(struct, name))
        for each in type(struct).__mro__
        for name in _OF_STRUCT.get(each.__name__, ())
        if name in struct.__struct_fields__
    }


def body_secrets(body: bytes) -> list[Secret]:
    """Return the credentials in the fields of a body, which are hidden where a server repeats them.

    Values of headers such as `accept` are not credentials: only known names and forms count.
    """
    if not may_have_fields(body):
        return []
    text = body.decode("utf-8", "surrogateescape")
    return [
        Secret.unchecked(value)
        for path, start, end in field_spans(text)
        for value in _texts(text[start:end])
        if looks_secret(value) or any(secret_name(str(step)) for step in path[-3:])
    ]


def _texts(text: str) -> Iterator[str]:
    """Yield the texts of a JSON value; of a truncated value, those that are complete."""
    for open_, start, end in json_values(text):
        if text[start] == '"' and not (open_ and open_[-1][0][0] is None):
            try:
                yield json.loads(text[start:end])
            except ValueError:
                continue
