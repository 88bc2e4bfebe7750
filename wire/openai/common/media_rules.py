"""What hosts refuse of requests for images, speech and transcripts, by the rows of the catalogue.

Message texts are OpenAI's own, where a refusal is recorded or reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from wire.catalogue.media import Makes, MediaModel, media_model
from wire.core.errors import Violation
from wire.core.facts import facts_of
from wire.openai.common.bounds import number_out_of_range, text_too_long
from wire.openai.common.types.audio import SpeechRequest, TranscriptionRequest
from wire.openai.common.types.base import OpenAIStruct
from wire.openai.common.types.images import ImageRequest

_MOST_PICTURES = 16
_REQUIRED = {"images": ("prompt",), "speech": ("voice",), "transcriptions": ()}
"""Kind -> the fields without which OpenAI refuses."""
_SPEAKERS = 4
_WORD_FORMAT = "verbose_json"


def image_violations(
    request: ImageRequest, family: str, *, pictures: int = 0
) -> Iterator[Violation]:
    """Yield what the hosts of a family of providers refuse of a request for images."""
    row = media_model(family, "images", request.model or "")
    yield from _violations(request, row, family, "images")
    if row is not None and row.sizes and request.size not in (None, *row.sizes):
        *others, last = row.sizes
        told = f"Supported sizes are {', '.join(others)}, and {last}."
        yield Violation("size", f"Invalid size '{request.size}'. {told}", code="invalid_value")
    if family not in _OPENAI:
        return
    if request.prompt == "":
        told = "Expected a string with minimum length 1, but got an empty string instead."
        yield Violation("prompt", f"Invalid 'prompt': empty string. {told}", code="empty_string")
    if request.partial_images and not request.stream:
        told = "'partial_images' is only supported when 'stream' is true."
        yield Violation("partial_images", told, code="invalid_value")
    if request.background == "transparent" and request.output_format == "jpeg":
        told = "Transparent background is not supported for 'jpeg' output format."
        yield Violation("background", told, code="invalid_value")
    pictures = pictures or len(request.images or ())
    if pictures > _MOST_PICTURES:
        told = (
            f"Invalid 'image': array too long. Expected an array with maximum length "
            f"{_MOST_PICTURES}, but got an array with length {pictures} instead."
        )
        yield Violation("image", told, code="array_above_max_length")


def speech_violations(request: SpeechRequest, family: str) -> Iterator[Violation]:
    """Yield what the hosts of a family of providers refuse of a request for speech."""
    row = media_model(family, "speech", request.model or "")
    yield from _violations(request, row, family, "speech")


def transcription_violations(request: TranscriptionRequest, family: str) -> Iterator[Violation]:
    """Yield what the hosts of a family of providers refuse of a request for a transcript."""
    row = media_model(family, "transcriptions", request.model or "")
    form = request.response_format
    if row is not None and form not in (None, *row.values.get("response_format", (form,))):
        *others, last = (f"'{each}'" for each in row.values["response_format"])
        told = f"response_format '{form}' is not compatible with model '{request.model}'."
        told += f" Use {', '.join(others)} or {last} instead."
        yield Violation("response_format", told, code="unsupported_value")
        row = msgspec.structs.replace(row, values={**row.values, "response_format": (form or "",)})
    yield from _violations(request, row, family, "transcriptions")
    if family in _OPENAI and request.timestamp_granularities and form != _WORD_FORMAT:
        told = f"'timestamp_granularities' needs the response_format '{_WORD_FORMAT}'."
        yield Violation("timestamp_granularities", told, code="invalid_value")
    if family == "openrouter" and request.diarize and form != _WORD_FORMAT:
        told = f"speakers stand at words: 'diarize' needs the response_format '{_WORD_FORMAT}'"
        yield Violation("diarize", told)
    names, samples = request.known_speaker_names or (), request.known_speaker_references or ()
    if len(names) != len(samples):
        told = f"expected a reference for each of {len(names)} names, not {len(samples)}"
        yield Violation("known_speaker_references", told)
    if len(names) > _SPEAKERS:
        yield Violation("known_speaker_names", f"expected at most {_SPEAKERS} speakers")


_OPENAI = ("openai", "azure")


def _violations(
    request: OpenAIStruct, row: MediaModel | None, family: str, kind: Makes
) -> Iterator[Violation]:
    if family in _OPENAI:
        given = (
            name for name in type(request).__struct_fields__ if getattr(request, name) is not None
        )
        for name in given:
            hosts = facts_of(type(request))[name].hosts
            if (hosts and family not in hosts) or (row is not None and name in row.unknown):
                told = f"Unknown parameter: '{name}'."
                yield Violation(name, told, code="unknown_parameter")
        for name in _REQUIRED[kind]:
            if getattr(request, name) is None:
                told = f"Missing required parameter: '{name}'."
                yield Violation(name, told, code="missing_required_parameter")
    if row is None:
        return
    for name, words in row.values.items():
        yield from _unknown_words(name, getattr(request, name, None), words)
    for name, (least, most) in row.bounds.items():
        number = "decimal" if name in ("speed", "temperature") else "integer"
        found = number_out_of_range(name, getattr(request, name), number, least, most)
        yield from (Violation(path, told, code=code) for path, told, code in found)
    for name, longest in row.most.items():
        text = getattr(request, name)
        problems = text_too_long(name, text, longest) if isinstance(text, str) else ()
        yield from (Violation(path, told, code=code) for path, told, code in problems)


def _unknown_words(name: str, given: Any, words: tuple[str, ...]) -> Iterator[Violation]:
    for index, each in enumerate(given if isinstance(given, list) else [given]):
        if isinstance(each, str) and each not in words:
            *others, last = (f"'{word}'" for word in words)
            listed = f"{', '.join(others)}, and {last}" if others else last
            path = f"{name}[{index}]" if isinstance(given, list) else name
            told = f"Invalid value: '{each}'. Supported values are: {listed}."
            yield Violation(path, told, code="invalid_value")
