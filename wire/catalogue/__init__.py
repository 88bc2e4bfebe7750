"""The catalogue of models: limits, modalities and prices, each with its source and date.

A dated file ships with the library. `use` replaces it, and so does the environment variable
`WIRE_CATALOGUE`.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.catalogue.catalogue": "Catalogue current load Model Price Source use",
    "wire.catalogue.cost": "Cost",
}

__getattr__, __dir__ = lazy_names("wire.catalogue", _NAMES)
