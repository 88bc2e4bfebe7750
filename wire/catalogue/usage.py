"""Token counts, which have the same meaning for all vendors."""

from __future__ import annotations

import msgspec

from wire.core.lazy import Foreign
from wire.core.memory import MetadataStruct


class Usage(MetadataStruct, Foreign, frozen=True, kw_only=True):
    """Token counts with the same meaning for all vendors.

    >>> (Usage(input=10, output=5, total=15) + Usage(input=20, output=5, total=25)).total
    40

    `input` includes `cached`, and `output` includes `reasoning`. `sum` adds up the usages of
    replies. A reply whose vendor sent no counts has `None`, which adds nothing: the sum is then a
    lower bound. Type checkers want `sum(usages, Usage())` if some are `None`.

    >>> sum([Usage(input=10, total=10), None, Usage(input=20, total=20)]).input
    30
    """

    input: int = 0
    """Tokens of the request, `cached` included."""
    output: int = 0
    """Tokens of the reply, `reasoning` included."""
    cached: int = 0
    """Tokens of the request that were read from a cache."""
    cache_written: int = 0
    """Tokens of the request that were written to a cache."""
    cache_written_1h: int = 0
    """The part of `cache_written` that Anthropic keeps for an hour, at a price of its own."""
    reasoning: int = 0
    """Tokens of the thoughts."""
    total: int = 0
    """Tokens of the request and the reply, as the vendor counts them."""
    by_modality: dict[str, int] = msgspec.field(default_factory=dict)
    """Counts by kind of media, such as `input_audio`, if the vendor sends them."""

    def __add__(self, other: Usage | None) -> Usage:
        if other is None:
            return self
        if not isinstance(other, Usage):
            return NotImplemented
        kinds = {*self.by_modality, *other.by_modality}
        return Usage(
            **{
                name: getattr(self, name) + getattr(other, name)
                for name in self.__struct_fields__
                if name != "by_modality"
            },
            by_modality={
                kind: self.by_modality.get(kind, 0) + other.by_modality.get(kind, 0)
                for kind in sorted(kinds)
            },
        )

    def __radd__(self, other: int | None) -> Usage:
        # `sum` begins with 0; any other number is not a count.
        if other is None or (type(other) is int and other == 0):
            return self
        return NotImplemented
