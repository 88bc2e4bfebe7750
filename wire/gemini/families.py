"""Model families: the properties of a model that rules depend on, read from its name.

A name has a family, a version and a variant: `gemini-2.5-flash-lite-preview-06-17` is gemini, 2.5,
flash-lite. A name without a version (`gemini-flash-latest`, a tuned model) is in no range of
versions, so only rules for all models apply to it. The ranges and numbers come from Google's
documentation and recorded traffic, as of November 2026.
"""

from __future__ import annotations

import functools

import msgspec

from wire.catalogue.facts import UNKNOWN as UNKNOWN_MODEL
from wire.catalogue.facts import ModelFacts, facts, names_of
from wire.core.lazy import lazy_pattern

Version = tuple[int, int]

_NOT_A_VARIANT = lazy_pattern(r"preview|exp|experimental|latest|\d+")


class Family(msgspec.Struct, frozen=True):
    """Family, version and variant of a model: `gemini`, (2, 5), `flash-lite`.

    An unknown model has an empty name and no version.
    """

    name: str = ""
    version: Version | None = None
    variant: str = ""
    known: ModelFacts = UNKNOWN_MODEL
    """What the catalogue knows of the model."""

    def __repr__(self) -> str:
        return f"Family(name={self.name!r}, version={self.version!r}, variant={self.variant!r})"

    def since(self, major: int, minor: int = 0) -> bool:
        """Return whether it is a Gemini of this version or a later one."""
        return self.name == "gemini" and self.version is not None and self.version >= (major, minor)

    def before(self, major: int, minor: int = 0) -> bool:
        """Return whether it is a Gemini older than this version."""
        return self.name == "gemini" and self.version is not None and self.version < (major, minor)

    @property
    def takes_json_beside_tools(self) -> bool:
        """Whether a request may demand JSON and have tools (G56)."""
        return not self.before(3)

    def within(self, first: Version, past: Version) -> bool:
        """Return whether it is a Gemini from version `first` on, `first` included, and before
        `past`.
        """
        return self.since(*first) and self.before(*past)


UNKNOWN = Family()


@functools.lru_cache(maxsize=256)
def family(model: str) -> Family:
    """Return the family of a model. `model` is its name, or a resource name that ends with it.

    >>> family("models/gemini-2.5-flash-lite-preview-06-17")
    Family(name='gemini', version=(2, 5), variant='flash-lite')
    >>> (
    ...     family("gemini-3-pro-image-preview").variant,
    ...     family("gemma-3-27b-it").version,
    ...     family("gemini-flash-latest").version,
    ... )
    ('pro-image', (3, 0), None)
    """
    match = names_of("gemini.name").fullmatch(model.rpartition("/")[2].lower())
    if match is None:
        return UNKNOWN
    known = facts(model)
    known = known if known.vendor == "gemini" else UNKNOWN_MODEL
    name, major, minor, rest = match.groups()
    variant = "-".join(
        piece for piece in rest.split("-") if piece and not _NOT_A_VARIANT().fullmatch(piece)
    )
    if major is None:
        # The models of version 1.0 had no number. `latest` stands for a version that changes, so
        # such a name has none.
        return Family(name, (1, 0) if rest in ("pro", "pro-vision") else None, variant, known)
    return Family(name, (int(major), int(minor or 0)), variant, known)


class Budget(msgspec.Struct, frozen=True):
    """The thinking budgets that a model accepts, in tokens: from `low` to `high`, -1 (the model
    decides), and, if `off`, 0 (no thinking).
    """

    low: int
    high: int
    off: bool

    def accepts(self, tokens: int) -> bool:
        """Return whether the model accepts this budget (G57)."""
        return tokens == -1 or (tokens == 0 and self.off) or self.low <= tokens <= self.high


# 3.x accepts budgets too, any that was recorded, so it has no row here.
BUDGETS: dict[tuple[Version, str], Budget] = {
    ((2, 5), "pro"): Budget(128, 32768, off=False),
    ((2, 5), "flash"): Budget(0, 24576, off=True),
    ((2, 5), "flash-lite"): Budget(512, 24576, off=True),
}

UNSIGNED = frozenset({((3, 0), "pro-image")})
"""Models of 3.x that accept calls without their signatures (G24)."""


def budget(of: Family) -> Budget | None:
    """Return the thinking budgets that a model accepts; `None` if they are unknown."""
    return BUDGETS.get((of.version, of.variant)) if of.name == "gemini" and of.version else None


def is_of(of: Family, version: Version, variant: str) -> bool:
    """Return whether the model is the Gemini of this version and variant."""
    return of.name == "gemini" and of.version == version and of.variant == variant


def ends_with_user(of: Family) -> bool:
    """Return whether the model requires that a user turn ends the conversation (G15)."""
    return of.since(3, 6) or is_of(of, (3, 5), "flash-lite")


def signs_calls(of: Family) -> bool:
    """Return whether the model signs its calls, and refuses one of the current turn without its
    signature (G24).
    """
    return of.since(3) and (of.version, of.variant) not in UNSIGNED
