"""Images for all vendors: a prompt, and perhaps pictures to change, in; images out.

Each wire with such an endpoint converts an `ImageRequest` to a call, and its response to `Images`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypedDict

import msgspec

from wire.catalogue.usage import Usage
from wire.core.arguments import items_of, whole_number
from wire.core.bodies import wrong_type
from wire.core.errors import RuleError, Violation
from wire.core.fields import Fields
from wire.core.memory import MetadataStruct, Note
from wire.core.secret import quoted
from wire.neutral.media_values import Priced, check_kind, checked_text
from wire.neutral.messages import Media

_SIZE = re.compile(r"auto|[1-9]\d{0,4}x[1-9]\d{0,4}")
_TEXTS = ("size", "aspect_ratio", "resolution", "quality", "background", "format")


class ImageSettings(TypedDict, total=False):
    """The settings of an `ImageRequest`, as keyword arguments."""

    pictures: Media | Sequence[Media]
    mask: Media | None
    count: int | None
    size: str | None
    aspect_ratio: str | None
    resolution: str | None
    quality: str | None
    background: str | None
    format: str | None
    seed: int | None
    partials: int | None


class ImageRequest(MetadataStruct, frozen=True, metaclass=Fields):
    """What an image shows, and what it is like.

    >>> ImageRequest("A cat", size="1024x1024").count is None
    True

    Raises `RuleError` for a prompt that is empty or cannot be sent, for pictures that are no
    images, for a malformed size, and for numbers below 1. What a host does not take is refused by
    its wire.
    """

    prompt: str
    """What the images show, or how the pictures change."""
    pictures: tuple[Media, ...] = ()
    """Pictures to change, or that guide the image. Stored as a tuple."""
    mask: Media | None = None
    """Where the first picture is changed: its transparent areas."""
    count: int | None = None
    """Number of images; 1 by default."""
    size: str | None = None
    """`WIDTHxHEIGHT`, or `auto`."""
    aspect_ratio: str | None = None
    """`16:9`, of hosts that take no size."""
    resolution: str | None = None
    """`1K`, `2K` or `4K`, of hosts that take no size."""
    quality: str | None = None
    """`low`, `medium`, `high`, and words of single models."""
    background: str | None = None
    """`opaque`, `transparent`."""
    format: str | None = None
    """`png`, `jpeg`, `webp`."""
    seed: int | None = None
    """The same seed gives similar images."""
    partials: int | None = None
    """Of a stream: how many images come before the last one."""

    def __post_init__(self) -> None:
        checked_text("prompt", self.prompt)
        alone = isinstance(self.pictures, Media)
        pictures = (self.pictures,) if alone else items_of("pictures", self.pictures)
        for index, picture in enumerate(pictures):
            _picture("pictures" if alone else f"pictures[{index}]", picture)
        if self.mask is not None:
            _picture("mask", self.mask)
            if not pictures:
                raise _refused("mask", "expected a picture to change beside it")
        for name in ("count", "partials"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), least=int(name == "count"))
        if self.seed is not None:
            whole_number("seed", self.seed)
        for name in _TEXTS:
            if (value := getattr(self, name)) is not None:
                checked_text(name, value)
        if self.size is not None and not _SIZE.fullmatch(self.size):
            raise _refused("size", f"expected WIDTHxHEIGHT or auto, not {quoted(self.size)}")
        msgspec.structs.force_setattr(self, "pictures", tuple(pictures))


def _picture(path: str, picture: object) -> None:
    if not isinstance(picture, Media):
        raise wrong_type(path, picture, "Media; Media.file(path) reads a file")
    check_kind(path, picture, ("image",), "an image")


def _refused(path: str, problem: str) -> RuleError:
    return RuleError(violations=[Violation(path, problem)])


class Images(MetadataStruct, Priced, frozen=True):
    """The images of a response, which go into messages. It can be iterated over and indexed.

    >>> images = Images((Media(url="https://example.com/cat.png"),))
    >>> len(images), images[0].url
    (1, 'https://example.com/cat.png')
    """

    media: tuple[Media, ...]
    """One for each image: bytes, or a URL of hosts that send no bytes."""
    model: str = ""
    """The model that was asked, or that the host names."""
    provider: str = ""
    """Name of the row of the host."""
    usage: Usage | None = None
    """Tokens; `None` if the host counts none."""
    text: str = ""
    """What the model says beside the images, or the prompt that it made of yours."""
    notes: tuple[Note, ...] = ()
    """Notes on what was changed or not sent."""
    source: Any = None
    """The wire's own struct, with all fields that the host sent."""

    def __len__(self) -> int:
        return len(self.media)

    def __iter__(self) -> Iterator[Media]:
        return iter(self.media)

    def __getitem__(self, index: int) -> Media:
        return self.media[index]


class PartialImage(msgspec.Struct, frozen=True):
    """An image of a stream that is not complete: each replaces the one before.

    >>> PartialImage(0, Media(data=b"GIF89a", media_type="image/gif")).index
    0
    """

    index: int
    """0, 1, and so on."""
    media: Media
    """The unfinished image."""
