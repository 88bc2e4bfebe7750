"""What the models that make images and speech, and read sound, take: one row each in `media.json`.

The first row of a host that matches a model counts. A model without a row is not judged.
"""

from __future__ import annotations

import functools
import re
from typing import Literal, TypeAlias

import msgspec

from wire.core.decoders import decoder
from wire.core.facts import Evidence
from wire.core.lazy import file_beside

Makes: TypeAlias = Literal["images", "speech", "transcriptions"]


class MediaModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the models of one row take. Names are those of the fields of the wire's requests.

    >>> media_model("openai", "speech", "tts-1").bounds["speed"]
    (0.25, 4)
    """

    hosts: tuple[str, ...]
    """Families of providers."""
    kind: Makes
    models: str
    """A regular expression of whole names; empty for all models of the hosts."""
    values: dict[str, tuple[str, ...]] = {}
    """Field -> the words that are known. An item of a list is one of them, too."""
    bounds: dict[str, tuple[int | float, int | float]] = {}
    """Field -> least and greatest number."""
    most: dict[str, int] = {}
    """Field -> most characters."""
    sizes: tuple[str, ...] = ()
    """The only sizes of images; empty if any is taken."""
    unknown: tuple[str, ...] = ()
    """Fields that other models of the host take."""
    source: str
    date: str
    evidence: Evidence


@functools.cache
def media_models() -> tuple[MediaModel, ...]:
    """Return all rows."""
    rows: tuple[MediaModel, ...] = decoder(tuple[MediaModel, ...]).decode(
        file_beside(__file__, "media.json")
    )
    return rows


def media_model(family: str, kind: Makes, model: str) -> MediaModel | None:
    """Return the row of a model at a family of providers; `None` without one.

    >>> media_model("openai", "images", "a-model-of-next-year") is None
    True
    """
    for row in media_models():
        found = row.kind == kind and family in row.hosts
        if found and (not row.models or re.fullmatch(row.models, model, re.IGNORECASE)):
            return row
    return None
