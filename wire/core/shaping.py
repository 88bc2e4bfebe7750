"""Changes a call to the form that a host takes, by the `Shape` of its row."""

from __future__ import annotations

import base64
import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from wire.core.call import Call, ReadError, SocketCall, StreamCall
from wire.core.decoders import decoder
from wire.core.errors import APIError, ConfigurationError
from wire.core.path_segment import model_segment, refuse_other_region
from wire.core.provider import Provider, Shape
from wire.core.secret import unsealed

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any] | SocketCall[Any, Any])
A = TypeVar("A")
Body = dict[str, msgspec.Raw]


class _Model(msgspec.Struct):
    model: Any = ""


def model_in(body: Any) -> str:
    """Return the model that a JSON body names; empty for one that names none.

    >>> model_in(b'{"model":"gpt-5.6"}'), model_in(b"--form")
    ('gpt-5.6', '')
    """
    try:
        model = decoder(_Model).decode(bytes(body)).model
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return model if isinstance(model, str) else ""


def shaped(call: AnyCall, provider: Provider, region: str = "") -> AnyCall:
    """Return the call as the host takes it. A call that has that form already is returned as it is.

    `region` is that of the client, if it has one.

    Raises `ConfigurationError` for an endpoint that the host does not have, for a body without the
    model that the path needs, and for a model of another region.
    """
    if provider.shape is not None:
        call = _shaped(call, provider, provider.shape)
    if region and "/arn:" in call.path:
        refuse_other_region(call.path, region)
    return call


def _shaped(call: AnyCall, provider: Provider, shape: Shape) -> AnyCall:
    path = call.path
    if _has_form(path, shape):
        return call
    lacking = next((each for each in shape.lacks if _is_below(path, each)), None)
    if lacking is not None:
        raise ConfigurationError(
            f"call: {provider.name} has no endpoint {lacking}", provider=provider.name
        )
    version = provider.version_for(model_in(call.body)) if call.body else provider.version
    changed = _body_changes(call, provider, shape, version)
    if shape.version_header and call.body and shape.version_header not in call.headers:
        headers = changed.get("headers", call.headers)
        changed["headers"] = {**headers, shape.version_header: version}
    if shape.query:
        query = {name: _value(each, version) for name, each in shape.query.items()}
        changed["query"] = {**query, **call.query}
    if (names := shape.renames.get(path)) and isinstance(call, Call):
        changed["parse"] = functools.partial(_parsed, call.parse, names)
    if shape.error_header:
        changed["read_error"] = functools.partial(_error, call.read_error, shape.error_header)
    return msgspec.structs.replace(call, **changed) if changed else call


def _body_changes(
    call: Call[Any] | StreamCall[Any, Any] | SocketCall[Any, Any],
    provider: Provider,
    shape: Shape,
    version: str,
) -> dict[str, Any]:
    """Return the path, the headers and the body of this host, where they are others."""
    path, streams = call.path, isinstance(call, StreamCall)
    template = (shape.stream_paths if streams else shape.paths).get(path, shape.paths.get(path))
    if not call.body or not (template or any(name in call.headers for name in shape.moves)):
        return {}
    body = _fields(call.body, provider)
    headers = _moved(call.headers, body, shape)
    for key in shape.drops.get(path, ()):
        body.pop(key, None)
    for key, value in shape.adds.get(path, {}).items():
        body.setdefault(key, msgspec.Raw(msgspec.json.encode(_value(value, version))))
    if streams:
        headers |= shape.stream_headers
    return {
        "path": _path(template, call.body) if template else path,
        "headers": headers,
        "body": _wrapped(msgspec.json.encode(body), shape.wraps.get(path, ())),
    }


def _value(value: Any, version: str) -> Any:
    return version if value == "{version}" else value


def _has_form(path: str, shape: Shape) -> bool:
    """Return whether a path is one of this host already."""
    ends = (
        (template.partition("{")[0], template.rpartition("}")[2])
        for template in (*shape.paths.values(), *shape.stream_paths.values())
    )
    return any(path.startswith(begin) and path.endswith(end) for begin, end in ends)


def _is_below(path: str, beginning: str) -> bool:
    return path == beginning or path.startswith(f"{beginning}/")


def _fields(body: Any, provider: Provider) -> Body:
    try:
        fields: Body = decoder(Body).decode(bytes(body))
        return fields
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ConfigurationError(
            "call: its body is not a JSON object", provider=provider.name
        ) from None


def _moved(headers: Mapping[str, Any], body: Body, shape: Shape) -> dict[str, Any]:
    """Return the headers that are left, and write the others into the body."""
    left = dict(headers)
    for name, key in shape.moves.items():
        if name not in left:
            continue
        value: Any = unsealed(left.pop(name))
        if key.endswith("[]"):
            value = [each.strip() for each in str(value).split(",")]
        body.setdefault(key.removesuffix("[]"), msgspec.Raw(msgspec.json.encode(value)))
    return left


def _path(template: str, body: bytes) -> str:
    """Return the path of this host for the model of a body."""
    if "{model}" not in template:
        return template
    return template.format(model=model_segment(model_in(body), "claude-sonnet-5"))


def _wrapped(body: bytes, keys: tuple[str, ...]) -> bytes:
    if not keys:
        return body
    value: Any = base64.b64encode(body).decode()
    for key in reversed(keys):
        value = {key: value}
    return msgspec.json.encode(value)


def _parsed(parse: Callable[[bytes], A], names: Mapping[str, str], body: bytes) -> A:
    """Decode a response whose keys have other names than in the reference of the wire."""
    try:
        fields = decoder(Body).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return parse(body)  # which raises the typed error
    return parse(msgspec.json.encode({names.get(key, key): value for key, value in fields.items()}))


def _error(
    read_error: ReadError, header: str, status: int, headers: Mapping[str, str], body: bytes
) -> APIError:
    """Build the typed error of a response whose type stands in a header, up to the first colon."""
    kind = headers.get(header, "").partition(":")[0]
    if kind:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
            fields = {key.lower(): value for key, value in decoder(Body).decode(body).items()}
            body = msgspec.json.encode({"error": {"type": kind, **fields}})
    return read_error(status, headers, body)
