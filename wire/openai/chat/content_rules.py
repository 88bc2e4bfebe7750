"""Rules of media and of schemas: what the parts of a message and the schemas of a request contain.

Each function checks the rule whose id its docstring begins with, and yields one violation for each
breach. Message texts are the server's own and stay as they are; only remedies are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wire.errors import Violation
from wire.openai.chat.types import ChatCompletionRequest, ContentPart, Message
from wire.openai.common.dialect import Dialect, matches_model

_MEDIA = ("image_url", "input_audio", "file")
_PDF = "application/pdf"
_FILE_FORM = (
    "Invalid file data: '{path}'. Expected a base64-encoded data URL with an application/pdf MIME "
    "type (e.g. 'data:application/pdf;base64,SGVsbG8sIFdvcmxkIQ=='), but got {found}."
)
_IMAGE_FORM = (
    "Invalid image URL: '{path}'. Expected a base64-encoded data URL with an image MIME type (e.g. "
    "'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got {found}."
)


# --- media ----------------------------------------------------------------------------------------


def media_from_users_only(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O16: only messages of the user have media."""
    if not dialect.media_from_users_only:
        return
    for index, message in enumerate(request.messages):
        if message.role in ("user", None):
            continue
        for path, part in _parts(message, index):
            for kind in _MEDIA:
                if getattr(part, kind) is None:
                    continue
                accepted = (
                    kind == "image_url"
                    and message.role == "tool"
                    and matches_model(dialect.ignores_images_of_tools, request.model or "")
                )
                yield Violation(
                    f"{path}.{kind}",
                    f"Invalid 'messages[{index}]'. " + _only_users(kind, str(message.role)),
                    "O16",
                    "warning" if accepted else "error",
                    "send the media in a user message after the results"
                    if message.role == "tool"
                    else "send the media in a user message",
                )


def _only_users(kind: str, role: str) -> str:
    if kind == "image_url":
        return (
            "Image URLs are only allowed for messages with role 'user', but this message with "
            f"role '{role}' contains an image URL."
        )
    return "Content blocks are expected to be either text or image_url type."


def media_are_data_urls(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O17: files are data URLs of a PDF, images are data URLs or http(s) URLs."""
    if not dialect.media_are_data_urls:
        return
    for index, message in enumerate(request.messages):
        for path, part in _parts(message, index):
            if part.file is not None and isinstance(part.file.file_data, str):
                yield from _file(part.file.file_data, f"{path}.file.file_data", request.model or "")
            if part.image_url is not None:
                url, at = part.image_url, f"{path}.image_url"
                if not isinstance(url, str):
                    url, at = url.url or "", f"{at}.url"
                if url and not _begins(url, "data:", "http://", "https://"):
                    words = _IMAGE_FORM.format(path=at, found="a value without the 'data:' prefix")
                    yield Violation(
                        at, words, "O17", remedy="send a data: URL, or a URL that begins with https"
                    )


def _file(data: str, path: str, model: str) -> Iterator[Violation]:
    media_type, base64, _ = data[5:].partition(";base64,")
    if not _begins(data, "data:") or not base64:
        words = _FILE_FORM.format(path=path, found="an invalid base64-encoded value")
        yield Violation(path, words, "O17", remedy=f"send data:{_PDF};base64, and the bytes")
    elif media_type.lower() != _PDF:
        # Refusals are recorded for sound and video. Other documents may be read by newer models.
        is_recorded = media_type.lower().startswith(("audio/", "video/"))
        words = _FILE_FORM.format(path=path, found=f"unsupported MIME type '{media_type}'")
        yield Violation(
            path,
            words,
            "O17",
            "error" if is_recorded else "warning",
            "send a PDF, or sound as input_audio",
        )


def _begins(url: str, *prefixes: str) -> bool:
    return url[:8].lower().startswith(prefixes)


def _parts(message: Message, index: int) -> Iterator[tuple[str, ContentPart]]:
    """The parts of a message with their paths; a content that is a text has none."""
    if isinstance(message.content, list):
        for position, part in enumerate(message.content):
            if isinstance(part, ContentPart):
                yield f"messages[{index}].content[{position}]", part


# --- schemas --------------------------------------------------------------------------------------


def output_has_a_schema(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O18: a format of type `json_schema` has what the host requires of it."""
    response_format = request.response_format
    if response_format is None or response_format.type != "json_schema":
        return
    form = response_format.json_schema
    for field, words in dialect.required_of_json_schema:
        if form is None or getattr(form, field) in (None, ""):
            at = "json_schema" if form is None else f"json_schema.{field}"
            path = f"response_format.{at}"
            yield Violation(path, words.replace("{path}", path), "O18", remedy="set it")
            if form is None:
                return


def strict_schemas_are_closed(
    request: ChatCompletionRequest, dialect: Dialect
) -> Iterator[Violation]:
    """O19: in a strict schema each object is closed, and requires all of its properties."""
    if not dialect.strict_schemas_are_closed:
        return
    for index, tool in enumerate(request.tools or ()):
        function = tool.function
        if function is not None and function.strict and function.parameters is not None:
            yield from _closed(
                function.parameters,
                f"tools[{index}].function.parameters",
                f"Invalid schema for function '{function.name}'",
            )
    response_format = request.response_format
    form = response_format.json_schema if response_format is not None else None
    if form is not None and form.strict and form.schema is not None:
        yield from _closed(
            form.schema,
            "response_format.json_schema.schema",
            f"Invalid schema for response_format '{form.name}'",
        )


def _closed(schema: Mapping[str, Any], path: str, words: str) -> Iterator[Violation]:
    """The first object of a schema that is not closed, or does not require a property.

    The server reports only the first one too.
    """
    for context, node in _nodes(schema, ()):
        properties = node.get("properties")
        if node.get("type") != "object" and not isinstance(properties, Mapping):
            continue
        at = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in context)
        if node.get("additionalProperties") is not False:
            yield Violation(
                path + at,
                f"{words}: In context={context!r}, 'additionalProperties' is required to be "
                "supplied and to be false.",
                "O19",
                remedy='set "additionalProperties": false in every object, or strict: false',
            )
            return
        required = node.get("required")
        names = properties if isinstance(properties, Mapping) else {}
        listed = required if isinstance(required, (list, tuple)) else ()
        present = {each for each in listed if isinstance(each, str)}
        missing = [name for name in names if name not in present]
        if missing:
            yield Violation(
                path + at,
                f"{words}: In context={context!r}, 'required' is required to be supplied and to be "
                f"an array including every key in properties. Missing '{missing[0]}'.",
                "O19",
                remedy="require each property, and let optional ones be null; or strict: false",
            )
            return


_Context = tuple[str | int, ...]


def _nodes(schema: Any, context: _Context) -> Iterator[tuple[_Context, Mapping[str, Any]]]:
    """The schema and its subschemas, each with its keys from the root. `$ref` is not followed."""
    if not isinstance(schema, Mapping):
        return
    yield context, schema
    for key in ("properties", "$defs", "definitions"):
        inner = schema.get(key)
        for name, each in inner.items() if isinstance(inner, Mapping) else ():
            yield from _nodes(each, (*context, key, name))
    yield from _nodes(schema.get("items"), (*context, "items"))
    for key in ("anyOf", "allOf", "oneOf"):
        alternatives = schema.get(key)
        for index, each in enumerate(alternatives if isinstance(alternatives, list) else ()):
            yield from _nodes(each, (*context, key, index))
