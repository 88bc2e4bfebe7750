"""Images as calls: generation and edits.

Paths are relative to a base URL that ends in the version. Some hosts have other paths, and some
have no edits: the client changes the path, or raises. Sources: openai 3.57.0, resources/images.py;
xAI's, Together's and OpenRouter's as the types say.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from wire.core.arguments import checked_arguments, items_of
from wire.core.bodies import checked_body, unstreamed, wrong_type
from wire.core.call import Call, StreamCall
from wire.core.errors import RuleError, Violation
from wire.core.multipart import Multipart, Value, form_parts
from wire.neutral.data_source import Readable
from wire.openai.common.endpoints import JSON, plain
from wire.openai.common.error_body import parse_error
from wire.openai.common.media_forms import form_fields, upload
from wire.openai.common.media_hosts import Kind, at_host
from wire.openai.common.media_rules import image_violations
from wire.openai.common.media_streams import ImageReader, fold_images
from wire.openai.common.types.images import ImageEvent, ImageList, ImageRequest

Picture: TypeAlias = str | os.PathLike[str] | bytes | Readable
"""A picture to upload: a path, bytes, or a file that is open in binary mode."""


@checked_arguments()
def generate_images(request: ImageRequest, *, checked: bool = True) -> Call[ImageList]:
    """Build a call that returns images of a prompt.

    >>> generate_images(ImageRequest(model="gpt-image-2", prompt="A cat")).body
    b'{"prompt":"A cat","model":"gpt-image-2"}'

    Raises `RuleError` for a value that JSON cannot encode. The client raises `ConfigurationError`
    for a host that makes no images, and `RuleError` with the path of each value that its host
    refuses; `checked=False` skips the latter.
    """
    if not isinstance(request, ImageRequest) or request.stream:
        raise unstreamed(request, ImageRequest, "stream_images")
    body, rules = _json("images", request, checked)
    return plain(ImageList, "POST", "/images/generations", body, headers=JSON, host_rules=rules)


@checked_arguments()
def stream_images(
    request: ImageRequest, *, checked: bool = True
) -> StreamCall[ImageEvent, ImageList]:
    """Build a call that streams images: partial ones before each that is complete.

    `result()` of the stream is the same as of `generate_images`.

    >>> request = ImageRequest(model="gpt-image-2", prompt="A cat", partial_images=2)
    >>> b'"stream":true' in stream_images(request).body
    True

    Raises as `generate_images`.
    """
    body, rules = _json("images", _streamed(request), checked)
    path = "/images/generations"
    return _stream(request, path, body=body, headers=JSON, host_rules=rules)


@checked_arguments()
def edit_images(
    request: ImageRequest,
    pictures: Sequence[Picture] | Picture = (),
    *,
    mask: Picture | None = None,
    markup: Picture | None = None,
    boundary: str = "",
    checked: bool = True,
) -> Call[ImageList]:
    r"""Build a call that changes pictures by a prompt.

    >>> png = b"\x89PNG\r\n\x1a\n"
    >>> edit_images(ImageRequest(model="gpt-image-2", prompt="Blue"), png, boundary="b").path
    '/images/edits'

    `pictures` and `mask` are paths, bytes or open binary files, which are read while they are sent.
    Without them, the request has `images` with URLs, and is JSON. `markup` is drawn on the first
    picture; GPT Image 2.5 has it. `boundary` separates the fields of the form; by default it is
    random.

    Raises `RuleError` as `generate_images`, for a file that cannot be read, and for an edit without
    pictures.
    """
    if not isinstance(request, ImageRequest) or request.stream:
        raise unstreamed(request, ImageRequest, "stream_image_edits")
    more = _edited(request, pictures, mask, markup, boundary, checked)
    return plain(ImageList, "POST", "/images/edits", **more)


@checked_arguments()
def stream_image_edits(
    request: ImageRequest,
    pictures: Sequence[Picture] | Picture = (),
    *,
    mask: Picture | None = None,
    markup: Picture | None = None,
    boundary: str = "",
    checked: bool = True,
) -> StreamCall[ImageEvent, ImageList]:
    """Build a call that streams changed pictures. Parameters and errors are those of `edit_images`.

    >>> request = ImageRequest(model="gpt-image-2", prompt="Blue", images=[])
    >>> stream_image_edits(request, b"GIF89a", boundary="b").path
    '/images/edits'
    """
    more = _edited(_streamed(request), pictures, mask, markup, boundary, checked)
    return _stream(request, "/images/edits", **more)


def _streamed(request: Any) -> ImageRequest:
    if not isinstance(request, ImageRequest):
        raise wrong_type("request", request, "ImageRequest")
    return msgspec.structs.replace(request, stream=True)


def _json(kind: Kind, request: ImageRequest, checked: bool, pictures: int = 0) -> tuple[bytes, Any]:
    body, read = checked_body(request)
    violations = functools.partial(image_violations, read, pictures=pictures) if checked else None
    return body, functools.partial(at_host, kind, violations)


def _edited(
    request: ImageRequest, pictures: Any, mask: Any, markup: Any, boundary: str, checked: bool
) -> dict[str, Any]:
    alone = isinstance(pictures, str | bytes | bytearray | os.PathLike) or hasattr(pictures, "read")
    given = (pictures,) if alone else items_of("pictures", pictures)
    body, rules = _json("edits", request, checked, len(given))
    if not given:
        if not (request.images or request.image):
            told = "expected at least one picture to edit"
            raise RuleError(violations=[Violation("pictures", told)])
        if mask is not None or markup is not None:
            told = "a file goes with uploaded pictures: use ImageRequest.mask, or upload all"
            raise RuleError(violations=[Violation("mask", told)])
        return {"body": body, "headers": JSON, "host_rules": rules}
    files = [upload("image", each) for each in given]
    fields: dict[str, Value | Sequence[Value]] = {**form_fields(request)}
    fields |= {"image": files[0]} if len(files) == 1 else {"image[]": files}
    for name, each in (("mask", mask), ("markup", markup)):
        if each is not None:
            fields[name] = upload(name, each)
    return {**form_parts(Multipart(fields, boundary=boundary)), "host_rules": rules}


def _stream(
    request: ImageRequest, path: str, *, body: bytes = b"", **more: Any
) -> StreamCall[ImageEvent, ImageList]:
    reader = functools.partial(ImageReader, asked=request.n or 1)
    return StreamCall(
        "openai",
        "POST",
        path,
        body,
        reader=reader,
        fold=fold_images,
        read_error=parse_error,
        **more,
    )
