"""Rules of the parts in messages and outputs: their types, and the forms of images and files.

Each function checks the rule whose id its docstring begins with, and yields one violation for each
breach. Message texts are the server's own and stay as they are; only remedies are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wire.catalogue.abilities import unread
from wire.core.errors import Violation
from wire.openai.responses.rules.rule_input import (
    Entry,
    RuleInput,
    as_list,
    invalid_value,
    missing,
    violation,
)

_PARTS = (
    "input_text",
    "input_image",
    "output_text",
    "refusal",
    "input_file",
    "computer_screenshot",
    "summary_text",
    "encrypted_content",
)
_BY_ROLE = {
    "assistant": ("output_text", "refusal"),
    "user": ("input_text", "input_image", "input_file", "scoped_content"),
    "system": ("input_text", "input_image", "input_file", "scoped_content"),
    "developer": ("input_text", "input_image", "input_file", "scoped_content"),
}
_IN_OUTPUTS = ("input_text", "input_image", "input_file", "scoped_content")
_TEXT_KEYS = {"input_text": "text", "output_text": "text", "refusal": "refusal"}
_UNREADABLE = re.compile(r"(audio|video)/", re.IGNORECASE)
_UNREADABLE_NAME = re.compile(
    r"[^?#]*\.(wav|mp3|ogg|flac|m4a|mp4|mov|webm|mpe?g|avi)([?#]|$)", re.IGNORECASE
)

_ALL_PARTS = frozenset({*_PARTS, "scoped_content"})

Violations = Iterator[Violation]


def parts_fit_their_item(request: RuleInput) -> Violations:
    """P4: a message has the parts of its role, and an output has parts of input."""
    for item in request.body.items_with_parts if request.at_openai else ():
        if item.type == "message" and item.role in _BY_ROLE:
            yield from _parts(f"{item.path}.content", item.plain.get("content"), item.role)
        elif item.type in ("function_call_output", "custom_tool_call_output"):
            yield from _parts(f"{item.path}.output", item.plain.get("output"), "")


def _parts(path: str, value: object, role: str) -> Violations:
    fitting = _BY_ROLE.get(role, _IN_OUTPUTS)
    for index, each in enumerate(as_list(value)):
        part = Entry(path, index, each)
        if part.type not in _ALL_PARTS:
            # Audio is neither in the reference, as of 2026-08-21, nor in any answered request.
            remedy = "use a model of chat completions that hears" if "audio" in part.type else ""
            remedy = remedy or f"use one of {', '.join(fitting[:3])}"
            yield invalid_value(f"{part.path}.type", part.type, _PARTS, "P4", remedy)
        elif part.type not in fitting:
            remedy = f"use {'output_text' if role == 'assistant' else 'input_text'}"
            yield invalid_value(f"{part.path}.type", part.type, fitting, "P4", remedy, part.path)
        key = _TEXT_KEYS.get(part.type)
        if key is not None and part.plain.get(key) is None:
            yield missing(f"{part.path}.{key}", "P4")


def media_readable(request: RuleInput) -> Violations:
    """P23: the data of a file is a data URL, an image is a data URL or an http(s) URL; neither is
    sound or video.
    """
    for item in request.body.items_with_parts if request.at_openai else ():
        for key in ("content", "output"):
            for index, each in enumerate(as_list(item.plain.get(key))):
                part = Entry(f"{item.path}.{key}", index, each)
                if part.type == "input_file":
                    yield from _file(part)
                elif part.type == "input_image":
                    yield from _image(part)


def media_are_read(request: RuleInput) -> Violations:
    """P25: (warning) the model reads the images of the input."""
    problem = unread(request.model, "image")
    for item in request.body.items_with_parts if problem else ():
        for key in ("content", "output"):
            for index, each in enumerate(as_list(item.plain.get(key))):
                part = Entry(f"{item.path}.{key}", index, each)
                if part.type == "input_image":
                    remedy = "use another model"
                    yield violation(part.path, problem, "P25", remedy, severity="warning")


def _file(part: Entry) -> Violations:
    data, url = part.plain.get("file_data"), part.plain.get("file_url")
    path = f"{part.path}.file_data"
    if isinstance(data, str):
        media_type, base64, _ = data[5:].partition(";base64,")
        if not data[:5].lower().startswith("data:") or not base64:
            remedy = "send data:application/pdf;base64, and the bytes"
            yield violation(path, f"Invalid '{path}'.", "P23", remedy, code="invalid_value")
        elif _UNREADABLE.match(media_type):
            yield _unsupported(path)
    elif isinstance(url, str) and _UNREADABLE_NAME.match(url):
        yield _unsupported(f"{part.path}.file_url")


def _unsupported(path: str) -> Violation:
    message = "The file type you uploaded is not supported. Please try again with a pdf"
    return violation(path, message, "P23", code="unsupported_file", field="input")


def _image(part: Entry) -> Violations:
    url, path = part.plain.get("image_url"), f"{part.path}.image_url"
    if not isinstance(url, str) or url[:8].lower().startswith(("http://", "https://")):
        return
    media_type = url[5:].partition(";")[0].lower()
    problem = ""
    if not url[:5].lower().startswith("data:"):
        problem = "a value without the 'data:' prefix"
    elif not media_type.startswith("image/"):
        problem = f"unsupported MIME type '{media_type}'"
    if problem:
        message = (
            f"Invalid '{path}'. Expected a base64-encoded data URL with an image MIME type (e.g. "
            f"'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got {problem}."
        )
        remedy = "send a data: URL of an image, or a URL that begins with https"
        yield violation(path, message, "P23", remedy, code="invalid_value")
