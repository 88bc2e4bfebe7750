"""Rules of media and of schemas: what the parts of a message and the schemas of a request contain.

Each function checks the rule whose id its docstring begins with, and yields one violation for each
breach. Message texts are the server's own and stay as they are; only remedies are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from wire.catalogue.abilities import unread
from wire.core.errors import Violation
from wire.openai.chat.types import ChatCompletionRequest, ContentPart, Message
from wire.openai.common.dialect import Dialect, matches_model
from wire.openai.common.schemas import MAY_BE_UNKNOWN, open_object, unknown_types

_KINDS = {"image_url": "image", "input_audio": "audio", "video_url": "video", "file": "document"}
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
        if message.role in ("user", None) or type(message.content) is str:
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


def media_are_readable(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O17, O23: media are in a form that the host reads, and of a kind that the model reads.

    O23 is a warning at hosts that are not known to refuse such media, because some answer without
    having looked. Files are none there, because some hosts send the model their text.
    """
    model = request.model or ""
    for index, message in enumerate(request.messages):
        if not isinstance(message.content, list):
            continue  # as most messages
        for path, part in _parts(message, index):
            if dialect.media_are_data_urls:
                yield from _data_urls(part, path, model)
            kind = _KINDS.get(part.type or "", "")
            words = dict(dialect.media_words).get(kind, "")
            problem = unread(model, kind, dialect.models_of) if kind else ""
            if not problem or (kind == "document" and not words):
                continue
            words = words.replace("{type}", part.type or "")
            words = words.replace("{message}", f"messages[{index}]")
            yield Violation(
                f"{path}.{part.type}",
                words or problem,
                "O23",
                "error" if words else "warning",
                f"{problem}; use another model" if words else "use another model",
            )


def _data_urls(part: ContentPart, path: str, model: str) -> Iterator[Violation]:
    """O17: files are data URLs of a PDF, images are data URLs or http(s) URLs."""
    if part.file is not None and isinstance(part.file.file_data, str):
        yield from _file(part.file.file_data, f"{path}.file.file_data", model)
    if part.image_url is not None:
        url, at = part.image_url, f"{path}.image_url"
        if not isinstance(url, str):
            url, at = url.url or "", f"{at}.url"
        if url and not _begins(url, "data:", "http://", "https://"):
            words = _IMAGE_FORM.format(path=at, found="a value without the 'data:' prefix")
            remedy = "send a data: URL, or a URL that begins with https"
            yield Violation(at, words, "O17", remedy=remedy)


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
    """Yield the parts of a message with their paths; a content that is a text has none."""
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


def schemas_are_valid(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O20: each `type` in a schema is one of JSON Schema. O19: in a strict schema each object is
    closed, and requires all of its properties.
    """
    response_format = request.response_format
    form = None if response_format is None else response_format.json_schema
    if not request.tools and form is None:
        return
    try:
        # Almost all types are valid, and searching the JSON is faster than walking over schemas.
        may_be_unknown = MAY_BE_UNKNOWN.search(msgspec.json.encode((request.tools, form)))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return  # JSON cannot represent it, which is refused when the body is built
    if not may_be_unknown and not dialect.strict_schemas_are_closed:
        return
    for index, tool in enumerate(request.tools or ()):
        function = tool.function
        if function is not None and function.parameters is not None:
            path = f"tools[{index}].function.parameters"
            if may_be_unknown:
                yield from _unknown_types(function.parameters, path, dialect)
            if dialect.strict_schemas_are_closed and function.strict:
                words = f"Invalid schema for function '{function.name}'"
                yield from _closed(function.parameters, path, words)
    if form is not None and form.schema is not None:
        path = "response_format.json_schema.schema"
        if may_be_unknown:
            yield from _unknown_types(form.schema, path, dialect)
        if dialect.strict_schemas_are_closed and form.strict:
            words = f"Invalid schema for response_format '{form.name}'"
            yield from _closed(form.schema, path, words)


def _unknown_types(schema: Any, path: str, dialect: Dialect) -> Iterator[Violation]:
    severity: Literal["error", "warning"] = "error" if dialect.schemas_are_checked else "warning"
    for at, problem, remedy in unknown_types(schema):
        yield Violation(path + at, problem, "O20", severity, remedy)


def _closed(schema: Mapping[str, Any], path: str, words: str) -> Iterator[Violation]:
    """Yield a violation for the first object of a schema that is not closed, or does not require a
    property.
    """
    found = open_object(schema)
    if found is not None:
        at, problem, remedy = found
        yield Violation(path + at, f"{words}: {problem}", "O19", remedy=remedy)
