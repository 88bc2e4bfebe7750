"""The catalogue of models: limits, modalities and prices, each with its source and date.

A dated file ships with the library. `use` replaces it, and so does the environment variable
`WIRE_CATALOGUE`. `wire catalogue update FILE` builds a file from models.dev or genai-prices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.catalogue.build import update as update
    from wire.catalogue.catalogue import Catalogue as Catalogue
    from wire.catalogue.catalogue import Model as Model
    from wire.catalogue.catalogue import Price as Price
    from wire.catalogue.catalogue import Source as Source
    from wire.catalogue.catalogue import current as current
    from wire.catalogue.catalogue import load as load
    from wire.catalogue.catalogue import use as use
    from wire.catalogue.cost import Cost as Cost

_NAMES = {
    "wire.catalogue.build": ("update",),
    "wire.catalogue.catalogue": (
        "Catalogue",
        "Model",
        "Price",
        "Source",
        "current",
        "load",
        "use",
    ),
    "wire.catalogue.cost": ("Cost",),
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names("wire.catalogue", _NAMES)
