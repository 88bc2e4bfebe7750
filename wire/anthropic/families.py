"""Names of models as families: what the rules of a model depend on, as data.

A name says its family and its version: `claude-sonnet-4-5-20250929` is sonnet, 4.5;
`claude-3-5-haiku-latest` is haiku, 3.5. A name that says neither (another vendor's, a later alias)
is of no range: only rules that hold for every model are its rules. Ranges and numbers are from
recorded traffic, public reports and the vendor's documentation, as of November 2026.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

Version = tuple[int, int]

_NAME = re.compile(
    r"claude-(?:(?P<name>opus|sonnet|haiku|fable|mythos)-(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2})(?!\d))?(?!\d)"
    r"|(?P<old>\d)(?:[-.](?P<old_minor>\d)(?!\d))?(?:-(?P<old_name>opus|sonnet|haiku))?)"
)


@dataclass(frozen=True)
class Family:
    """What a model's name says: `sonnet`, (4, 5); an empty name and no version where it says
    nothing.
    """

    name: str = ""
    version: Version | None = None

    def since(self, major: int, minor: int = 0) -> bool:
        """Of this version or a later one."""
        return self.version is not None and self.version >= (major, minor)

    def before(self, major: int, minor: int = 0) -> bool:
        """Of an earlier version."""
        return self.version is not None and self.version < (major, minor)

    def is_of(self, name: str, major: int, minor: int = 0) -> bool:
        """Of this name and this version."""
        return (self.name, self.version) == (name, (major, minor))


UNKNOWN = Family()


@functools.lru_cache(maxsize=256)
def family(model: str) -> Family:
    """The family of a model by its name, also where a host put something before it or behind it.

    >>> family("claude-sonnet-4-20250514"), family("us.anthropic.claude-3-5-haiku-20241022-v1:0")
    (Family(name='sonnet', version=(4, 0)), Family(name='haiku', version=(3, 5)))
    >>> family("anthropic/claude-haiku-4.5").version, family("kimi-k2.6").version
    ((4, 5), None)
    """
    found = _NAME.search(model.lower())
    if found is None:
        return UNKNOWN
    if found["name"]:
        return Family(found["name"], (int(found["major"]), int(found["minor"] or 0)))
    return Family(found["old_name"] or "", (int(found["old"]), int(found["old_minor"] or 0)))


EFFORTS = ("low", "medium", "high", "xhigh", "max")


def efforts(of: Family) -> tuple[str, ...]:
    """The levels of `output_config.effort` that a model takes; of one that nothing is known of,
    all.
    """
    if of.version is None or of.since(4, 7):
        return EFFORTS
    if of.since(4, 6):
        return ("low", "medium", "high", "max")
    return ("low", "medium", "high") if of.is_of("opus", 4, 5) else ()


def takes_budget(of: Family) -> bool:
    """Whether it knows `thinking.type: enabled`."""
    return of.version is None or (of.since(3, 7) and of.before(4, 7))


def takes_adaptive(of: Family) -> bool:
    """Whether it knows `thinking.type: adaptive`."""
    return of.version is None or of.since(4, 6)


def always_thinks(of: Family) -> bool:
    """Whether thinking cannot be switched off: said by the vendor, not seen in traffic."""
    return of.is_of("opus", 5, 5) or (of.name == "fable" and of.since(5))


def thinks_unasked(of: Family) -> bool:
    """Whether it thinks where the request says nothing of it."""
    return of.since(5)


def takes_forced_calls(of: Family) -> bool:
    """Whether `tool_choice` may be `any` or `tool`: said by the vendor, not seen in traffic."""
    return not of.is_of("opus", 5, 5) and not of.is_of("fable", 5, 1)


def takes_sampling(of: Family) -> bool:
    """Whether it takes `temperature`, `top_p` and `top_k`."""
    return not of.since(4, 7)


def takes_prefill(of: Family) -> bool:
    """Whether a conversation may end with the beginning of the answer."""
    return not of.since(4, 6)


def pairs_calls(of: Family) -> bool:
    """Whether it refuses calls and results that do not fit together: claude-3-opus was seen to
    answer them.
    """
    return not of.before(3, 5)


def takes_schema(of: Family) -> bool:
    """Whether it takes `output_config.format`."""
    return of.since(4, 5) or of.is_of("opus", 4, 1)


def answer_tokens(of: Family) -> int:
    """`max_tokens` of a request that names none: a number that every model of the range takes;
    thinking may need more.
    """
    if of.since(4, 6):
        return 16000
    return 8192 if of.since(3, 5) else 4096
