"""Model families: the capabilities of a model, derived from its name.

Most names contain a family and a version: `claude-sonnet-4-5-20250929` is sonnet, 4.5;
`claude-3-5-haiku-latest` is haiku, 3.5. A name with neither (another vendor's, a later alias) is in
no version range, so only the rules that hold for every model apply to it. Ranges and numbers are
from recorded traffic, public reports and the vendor's documentation, as of November 2026.
"""

from __future__ import annotations

import functools

import msgspec

from wire.catalogue.facts import UNKNOWN as UNKNOWN_MODEL
from wire.catalogue.facts import ModelFacts, facts, names_of
from wire.catalogue.settings import setting

Version = tuple[int, int]


class Family(msgspec.Struct, frozen=True):
    """Family and version of a model, such as `sonnet`, (4, 5); empty if its name has none."""

    name: str = ""
    version: Version | None = None
    known: ModelFacts = UNKNOWN_MODEL
    """What the catalogue knows of the model; nothing, if it is another vendor's."""

    def __repr__(self) -> str:
        return f"Family(name={self.name!r}, version={self.version!r})"

    def since(self, major: int, minor: int = 0) -> bool:
        """Return whether the model has this version or a later one; false if its version is
        unknown.
        """
        return self.version is not None and self.version >= (major, minor)

    def before(self, major: int, minor: int = 0) -> bool:
        """Return whether the model has an earlier version; false if its version is unknown."""
        return self.version is not None and self.version < (major, minor)


@functools.lru_cache(maxsize=256)
def family(model: str) -> Family:
    """Return the family of a model, by its name. Prefixes and suffixes that hosts add are ignored.

    >>> family("claude-sonnet-4-20250514"), family("us.anthropic.claude-3-5-haiku-20241022-v1:0")
    (Family(name='sonnet', version=(4, 0)), Family(name='haiku', version=(3, 5)))
    >>> family("anthropic/claude-haiku-4.5").version, family("kimi-k2.6").version
    ((4, 5), None)
    """
    known = facts(model)
    known = known if known.vendor == "anthropic" else UNKNOWN_MODEL
    match = names_of("anthropic.name").fullmatch(model.lower())
    if match is None:
        return Family(known=known)
    if match["name"]:
        version = int(match["major"]), int(match["minor"] or 0)
        return Family(match["name"], version, known)
    version = int(match["old"]), int(match["old_minor"] or 0)
    return Family(match["old_name"] or "", version, known)


def all_efforts() -> tuple[str, ...]:
    """Return all values of `output_config.effort`, in ascending order."""
    return setting("effort").words("anthropic", "")


def efforts(model_family: Family) -> tuple[str, ...]:
    """Return the values of `output_config.effort` that a model accepts; all for an unknown one."""
    known = model_family.known.efforts
    return all_efforts() if known is None else known


def takes_budget(model_family: Family) -> bool:
    """Return whether the model accepts `thinking.type: enabled`."""
    return model_family.known.budget is not False


def takes_adaptive(model_family: Family) -> bool:
    """Return whether the model accepts `thinking.type: adaptive`."""
    return model_family.known.adaptive is not False


def always_thinks(model_family: Family) -> bool:
    """Return whether `thinking.type: disabled` is refused."""
    return model_family.known.off in ("refused", "between_tools")


def thinks_unasked(model_family: Family) -> bool:
    """Return whether the model thinks if the request has no `thinking`."""
    return model_family.known.thinking in ("always", "default")


def takes_sampling(model_family: Family) -> bool:
    """Return whether the model accepts `temperature`, `top_p` and `top_k`."""
    return model_family.known.sampling != "refused"


def takes_prefill(model_family: Family) -> bool:
    """Return whether the last message may be an assistant message that the model continues."""
    return model_family.known.prefill is not False


def pairs_calls(model_family: Family) -> bool:
    """Return whether the model refuses calls without results, and results without calls.

    claude-3-opus answered such requests in recorded traffic.
    """
    return not model_family.before(3, 5)


def takes_schema(model_family: Family) -> bool:
    """Return whether the model accepts `output_config.format`."""
    return model_family.known.schemas is True


def default_max_tokens(model_family: Family) -> int:
    """Return `max_tokens` for a request without it: a number that every model of the range accepts.

    Thinking may need more.
    """
    if model_family.since(4, 6):
        return 16000
    return 8192 if model_family.since(3, 5) else 4096
