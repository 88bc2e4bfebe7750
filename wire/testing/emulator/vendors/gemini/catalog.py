"""The models of Gemini, and how each behaves.

Facts and sources: docs/rules.md, recorded traffic up to November 2026.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wire.catalogue.catalogue import has_model
from wire.catalogue.facts import is_in, shipped
from wire.gemini.families import family
from wire.gemini.lifetimes import is_shut_down, lifetime


@dataclass(frozen=True, slots=True)
class Traits:
    """How a model behaves."""

    name: str
    generation: float
    embeds: bool = False
    decides: bool = False
    predicts: str = ""
    """`predict` for images, `predictLongRunning` for videos."""
    thinks: bool = True
    signs: str = ""
    """`last`: signs calls and the end of every text, as 3.x does. `first`: signs the first part if
    functions are declared, as 2.5 does. Empty: signs nothing.
    """
    numbers_calls: bool = False
    """Whether calls have ids."""
    min_cached_tokens: int = 1024
    """Minimum tokens of a cached content (G63)."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods it supports."""
        if self.predicts or self.decides:
            return (self.predicts or "createDecision",)
        return _EMBEDS if self.embeds else _GENERATES


_EMBEDS = ("embedContent", "batchEmbedContents", "asyncBatchEmbedContent", "countTokens", "predict")
_GENERATES = (
    "generateContent",
    "streamGenerateContent",
    "countTokens",
    "createCachedContent",
    "batchGenerateContent",
)


def traits(
    name: str, *, host: str = "gemini", lenient: bool = False, date: str = ""
) -> Traits | None:
    """Return the traits of a model, or `None` if no model of this name answers on that day.

    Another model answers for some models that were shut down; the traits then have its name.
    """
    days = lifetime(name)
    if is_shut_down(name, date) and not lenient:
        if not days.routed:
            return None
        name = days.successor
    if is_in("gemini.embeds", name):
        return Traits(name, 2.0, embeds=True, thinks=False)
    if is_in("gemini.draws", name) or is_in("gemini.films", name):
        method = "predict" if is_in("gemini.draws", name) else "predictLongRunning"
        return Traits(name, 2.0, predicts=method, thinks=False)
    if is_in("gemini.decides", name):
        return Traits(name, 2.0, decides=True, thinks=False)
    if not (lenient or is_in("gemini.all", name) or has_model("gemini", name)):
        return None
    of = family(name)
    if of.name == "gemma":
        return Traits(name, 2.0, thinks=False)
    major, minor = of.version or (3, 5)
    return _generated(name, major + minor / 10, host)


def _generated(name: str, generation: float, host: str) -> Traits:
    signs = "last" if generation >= 3 else "first" if generation >= 2.5 else ""
    # Recorded traffic: 2.5 sent one id in all, 3.x on the Gemini API nearly always does, Vertex
    # mostly does not.
    numbers = generation >= 3 and host == "gemini"
    thinks = generation >= 2.5 and not is_in("gemini.thinks-when-asked", name)
    return Traits(
        name,
        generation,
        thinks=thinks,
        signs=signs,
        numbers_calls=numbers,
        min_cached_tokens=4096 if family(name).variant.startswith("pro") else 1024,
    )


_UNLISTED_METHODS = frozenset({"streamGenerateContent", "batchEmbedContents", "predict"})


def listed(date: str = "") -> list[Traits]:
    """List the models that ListModels returns on a day."""
    table = shipped()
    day = date or table.date
    rows = [row for row in table.rows if row.vendor == "gemini" and (row.released or "9") <= day]
    rows.sort(key=lambda row: row.released or "", reverse=True)
    names = [row.id for row in rows if not is_shut_down(row.id, day)]
    found = (traits(name, date=date) for name in (*names, "gemini-embedding-001"))
    return [model for model in found if model is not None]


def description(model: Traits) -> dict[str, Any]:
    """Describe a model in the format of the models endpoint."""
    title = " ".join(word.capitalize() for word in model.name.split("-"))
    described: dict[str, Any] = {
        "name": f"models/{model.name}",
        "version": "001",
        "displayName": title,
        "description": f"{title}, played by an emulator",
        "inputTokenLimit": 2048 if model.embeds else 1048576,
        "outputTokenLimit": 1 if model.embeds else 65536,
        "supportedGenerationMethods": [
            each for each in model.methods if each not in _UNLISTED_METHODS
        ],
    }
    if not (model.embeds or model.predicts):
        described |= {"temperature": 1, "topP": 0.95, "topK": 64, "maxTemperature": 2}
    return described | ({"thinking": True} if model.thinks else {})
