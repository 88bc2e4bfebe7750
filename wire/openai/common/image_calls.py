"""Images as neutral calls."""

from __future__ import annotations

import base64
import functools
from collections.abc import Sequence
from typing import Any

import msgspec

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.core.call import Call, StreamCall
from wire.core.errors import ConfigurationError, RuleError, StreamInvalid, Violation, WireError
from wire.core.provider import Provider
from wire.neutral.conversion import converted, converted_stream
from wire.neutral.images import ImageRequest, Images, PartialImage
from wire.neutral.media import refuse_others
from wire.neutral.media_types import media_type_of
from wire.neutral.messages import Media
from wire.openai.common.dialect import MediaEndpoints
from wire.openai.common.images import (
    edit_images,
    generate_images,
    stream_image_edits,
    stream_images,
)
from wire.openai.common.media_hosts import media_of, name_of, renamed, usage_of
from wire.openai.common.media_streams import is_completed, sound
from wire.openai.common.types import images as types

_checked = checked_arguments(ConfigurationError, before=True)

_IMAGE_FIELDS = {
    "count": "n",
    "size": "size",
    "aspect_ratio": "aspect_ratio",
    "resolution": "resolution",
    "quality": "quality",
    "background": "background",
    "format": "output_format",
    "seed": "seed",
}
"""Neutral setting -> field. A host with `width` has `size` as two numbers."""
_SETTINGS_OF_IMAGES = {
    **{field: name for name, field in _IMAGE_FIELDS.items()},
    "partial_images": "partials",
    "image": "pictures",
    "images": "pictures",
}
"""Field -> neutral setting."""


@_checked
def image_call(
    request: ImageRequest, model: str, provider: Provider | str = "openai"
) -> Call[Images]:
    """Return the call that makes images.

    Raises `RuleError` for what the host does not take.
    """
    host = media_of(provider)
    body, files = _image_body(request, model, host)
    pictures, mask = files or ((), None)
    call = generate_images(body) if files is None else edit_images(body, pictures, mask=mask)
    convert = functools.partial(_images, model, name_of(provider), request.format)
    return renamed(converted(call, convert), _SETTINGS_OF_IMAGES)


@_checked
def stream_image_call(
    request: ImageRequest, model: str, provider: Provider | str = "openai"
) -> StreamCall[PartialImage, Images]:
    """Return the call that streams images.

    Raises `RuleError` for what the host does not take.
    """
    host = media_of(provider)
    body, files = _image_body(request, model, host)
    body = msgspec.structs.replace(body, partial_images=request.partials)
    pictures, mask = files or ((), None)
    call = stream_images(body) if files is None else stream_image_edits(body, pictures, mask=mask)
    convert = functools.partial(_images, model, name_of(provider), request.format)
    made: StreamCall[PartialImage, Images] = converted_stream(
        call, functools.partial(_ImageEvents, request.format), convert
    )
    return renamed(made, _SETTINGS_OF_IMAGES)


Files = tuple[Sequence[bytes], bytes | None]


def _image_body(
    request: ImageRequest, model: str, host: MediaEndpoints
) -> tuple[types.ImageRequest, Files | None]:
    """Return the request, and the files of an edit; `None` for another call."""
    known = {each for each in _IMAGE_FIELDS if _IMAGE_FIELDS[each] in host.image_fields}
    known |= {"size"} if "width" in host.image_fields else set()
    known |= {"pictures"} if host.pictures else set()
    known |= {"mask"} if host.pictures == "form" else set()
    refuse_others(request, known)
    given: dict[str, Any] = {
        _IMAGE_FIELDS[each]: getattr(request, each) for each in known if each in _IMAGE_FIELDS
    }
    if "width" in host.image_fields and given.pop("size") is not None:
        if request.size == "auto":
            told = "this host takes WIDTHxHEIGHT"
            raise RuleError(violations=[Violation("size", told, remedy="leave it out")])
        given["width"], given["height"] = map(int, str(request.size).split("x"))
    given["response_format"] = host.image_bytes or None
    body = types.ImageRequest(model=model, prompt=request.prompt, **given)
    pictures = request.pictures
    if not pictures:
        return body, None
    if host.pictures == "form":
        return _form_pictures(request, body)
    more: dict[str, Any] = {}
    if host.pictures == "images":
        more["images"] = [
            types.ImageReference(type="image_url", url=_url(each)) for each in pictures
        ]
        return msgspec.structs.replace(body, **more), ((), None)
    if host.pictures == "references":
        more["input_references"] = [
            types.ImagePart(type="image_url", image_url={"url": _url(each)}) for each in pictures
        ]
    else:
        for index, each in enumerate(pictures):
            if each.url is None:
                told = "this host takes pictures by their URLs"
                raise RuleError(violations=[Violation(f"pictures[{index}]", told)])
        more["reference_images"] = [_url(each) for each in pictures]
    return msgspec.structs.replace(body, **more), None


def _form_pictures(
    request: ImageRequest, body: types.ImageRequest
) -> tuple[types.ImageRequest, Files]:
    """Send bytes as files of a form; if any picture is a URL, all in JSON."""
    files = [each.data for each in request.pictures if each.data is not None]
    mask = request.mask
    if len(files) == len(request.pictures) and (mask is None or mask.data is not None):
        return body, (files, mask.data if mask is not None else None)
    images = [types.ImageReference(image_url=_url(each)) for each in request.pictures]
    masked = None if mask is None else types.ImageReference(image_url=_url(mask))
    return msgspec.structs.replace(body, images=images, mask=masked), ((), None)


def _url(media: Media) -> str:
    if media.data is None:
        return media.url or ""
    return f"data:{media.media_type};base64,{base64.b64encode(media.data).decode()}"


def _images(
    model: str,
    provider: str,
    form: str | None,
    response: types.ImageList,
    error: WireError | None = None,
) -> Images:
    form = response.output_format or form
    media = tuple(_image(each, form) for each in response.data or ())
    if not media and error is None:
        raise StreamInvalid("the response has no images")
    told = [each.revised_prompt for each in response.data or () if each.revised_prompt]
    usage = _image_usage(response.usage)
    name = response.model or model
    return Images(media, name, provider, usage, "\n".join(told), source=response)


def _image(image: types.GeneratedImage, form: str | None) -> Media:
    told = image.mime_type or image.media_type or (f"image/{form}" if form else "")
    if image.b64_json:
        return _picture(image.b64_json, told)
    if not image.url:
        raise StreamInvalid("an image has neither bytes nor a URL")
    return Media(url=image.url, media_type=told)


def _picture(text: str, told: str) -> Media:
    try:
        data = sound(text)
    except StreamInvalid:
        raise StreamInvalid("an image is not base64") from None
    return Media(data=data, media_type=media_type_of("", data) or told or "image/png")


def _image_usage(usage: types.ImageUsage | None) -> Usage | None:
    if usage is None:
        return None
    kinds = {
        f"{side}_{kind}": number
        for side, details in (
            ("input", usage.input_tokens_details),
            ("output", usage.output_tokens_details),
        )
        for kind in ("image", "text")
        if details is not None and (number := getattr(details, f"{kind}_tokens"))
    }
    input = usage.input_tokens if usage.input_tokens is not None else usage.prompt_tokens
    output = usage.output_tokens if usage.output_tokens is not None else usage.completion_tokens
    return usage_of(input, output, usage.total_tokens, kinds)


class _ImageEvents:
    """Converts the events of a stream of images."""

    def __init__(self, form: str | None) -> None:
        self._form, self._count = form, 0

    def feed(self, chunk: types.ImageEvent) -> Sequence[PartialImage]:
        """Return the partial image of an event, if it has one."""
        if chunk.b64_json is None or is_completed(chunk):
            return ()
        form = chunk.output_format or self._form
        media = _picture(chunk.b64_json, chunk.media_type or (f"image/{form}" if form else ""))
        index = chunk.partial_image_index
        self._count += 1
        return (PartialImage(self._count - 1 if index is None else index, media),)

    def close(self, _: object) -> Sequence[PartialImage]:
        """Return nothing: complete images are the result."""
        return ()
