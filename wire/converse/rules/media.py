"""Rules of documents, images, videos and sounds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from wire.converse.rules.rule_input import Block, RuleInput, as_object, constraint, violation
from wire.converse.rules.turns import results_of
from wire.core.errors import Violation

Violations = Iterator[Violation]

FORMATS: Mapping[str, tuple[str, ...]] = {
    "image": ("png", "jpeg", "gif", "webp"),
    "document": ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"),
    "video": ("mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"),
    "audio": (
        *("mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a"),
        *("mpeg", "mpga", "pcm", "webm"),
    ),
}
"""Kind of a block to its formats. Source: the service model of botocore 1.44.5."""
_SOURCES = ("bytes", "s3Location", "text", "content")
_S3 = re.compile(r"s3://[a-z0-9][.a-z0-9-]{1,61}[a-z0-9](/.*)?", re.DOTALL)
DOCUMENT_NAME = re.compile(r"(?!.*  )[A-Za-z0-9_ \-()\[\]]+")
"""The underscore is accepted, though the server's words do not list it (vercel/ai#20366)."""
MAX_NAME = 200
MAX_DOCUMENTS = 5


def _media(request: RuleInput) -> Iterator[Block]:
    """Yield all blocks of media, those in results of tools too."""
    for _, block in request.with_kinds(*FORMATS, "toolResult"):
        if block.kind in FORMATS:
            yield block
        else:
            yield from (each for each in results_of(block) if each.kind in FORMATS)


def media_well_formed(request: RuleInput) -> Violations:
    """B20, B21: a format that the kind has, and one source that is not empty.

    A media type in place of the format is a warning: recorded requests with one were answered.
    """
    for block in _media(request):
        kind = block.kind
        fields, path = block.fields(kind), f"{block.path}.{kind}"
        given = fields.get("format")
        if given not in FORMATS[kind] and not (kind == "document" and given is None):
            problem = f"Member must satisfy enum value set: [{', '.join(FORMATS[kind])}]"
            found = constraint(f"{path}.format", problem, "B20")
            is_type = isinstance(given, str) and "/" in given
            yield msgspec.structs.replace(found, severity="warning") if is_type else found
        source = as_object(fields.get("source"))
        if not fields.get("error"):
            yield from _source(source, f"{path}.source")


def _source(source: Mapping[str, Any], path: str) -> Violations:
    given = [key for key in _SOURCES if source.get(key) is not None]
    if len(given) != 1:
        problem = f"expected one of {', '.join(_SOURCES)}, found {', '.join(given) or 'none'}"
        yield violation(path, problem, "B21", "give one source")
    if source.get("bytes") == "":
        problem = "Member must have length greater than or equal to 1"
        yield constraint(f"{path}.bytes", problem, "B21")
    uri = as_object(source.get("s3Location")).get("uri")
    if "s3Location" in given and not (isinstance(uri, str) and _S3.fullmatch(uri)):
        problem = "Member must satisfy regular expression pattern: s3://BUCKET/KEY"
        yield constraint(f"{path}.s3Location.uri", problem, "B21")


def documents_named(request: RuleInput) -> Violations:
    """B22, B23, B24: legal names, each once; a text beside documents; at most 5 of them."""
    names: set[str] = set()
    documents = [block for block in _media(request) if block.kind == "document"]
    for block in documents:
        name, path = block.fields("document").get("name"), f"{block.path}.document.name"
        if not isinstance(name, str) or not name or len(name) > MAX_NAME:
            bound = f"less than or equal to {MAX_NAME}" if name else "greater than or equal to 1"
            yield constraint(path, f"Member must have length {bound}", "B22")
        elif not DOCUMENT_NAME.fullmatch(name):
            problem = "The document file name can only contain alphanumeric characters, whitespace "
            problem += "characters, hyphens, parentheses, and square brackets. The name can't "
            problem += "contain more than one consecutive whitespace character. Check that the "
            problem += "file name conforms to these restrictions and retry your request."
            yield violation(path, problem, "B22", "leave out other characters")
        elif name in names:
            problem = "Messages can't contain duplicate document names. Rename the document and "
            yield violation(path, problem + "retry your request.", "B22", "rename it")
        names.add(str(name))
    for turn in request.body.beyond_text if documents else ():
        if "document" in turn.kinds and "text" not in turn.kinds and turn.role == "user":
            problem = "a text block has to stand beside a document"
            yield violation(turn.path, problem, "B23", "say what to do with it")
    if len(documents) > MAX_DOCUMENTS:
        problem = f"You can't include more than {MAX_DOCUMENTS} documents in a request."
        yield violation(documents[MAX_DOCUMENTS].path, problem, "B24", "send fewer", "warning")


def media_taken_by_model(request: RuleInput) -> Violations:
    """B35: Claude: no video, and no image at a place in S3. Source: recorded requests; one with a
    document at such a place, in the result of a tool, was answered.
    """
    if not request.family.is_claude:
        return
    for block in _media(request):
        if block.kind == "video":
            problem = "This model doesn't support the video content block that you provided. "
            problem += "Update the content block and try again."
            yield violation(f"{block.path}.video", problem, "B35", "leave it out")
    for _, block in request.with_kinds("image"):
        if as_object(block.fields("image").get("source")).get("s3Location") is not None:
            problem = "This model doesn't support the s3Uri field. Remove s3Uri and try again."
            yield violation(f"{block.path}.image.source", problem, "B35", "send the bytes")
