"""Facts about a field of a wire struct that its type cannot express.

They are part of the annotation, `Annotated[str | None, Facts(hosts=("vertex",))]`, and nothing
repeats them: rules, docs and the tests of the field inventories read them with `facts_of`.
Annotations are text until they are evaluated, so a declaration costs nothing at import. msgspec
ignores metadata that is not its own, so it costs nothing while decoding.
"""

from __future__ import annotations

import functools
import typing
from typing import Literal, TypeAlias

import msgspec

Evidence: TypeAlias = Literal["documented", "recorded", "thread", "inferred"]
"""What a row of a table rests on: the vendor's documents, traffic, a public report, other rows."""

SDK = "sdk"
"""`Facts.source`: only the vendor's SDK names the field; no use of it is recorded."""
TRAFFIC = "traffic"
"""`Facts.source`: the reference lacks the field; recorded requests that were accepted, or recorded
responses, have it.
"""
DOCS = "docs"
"""`Facts.source`: only a guide, a host's page or a public thread names the field."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about one field that its type does not express.

    >>> Facts(hosts=("vertex",), source=SDK).hosts
    ('vertex',)
    """

    hosts: tuple[str, ...] = ()
    """The hosts that have the field; empty means every host of the wire."""
    source: str = ""
    """Where the field is known from: `SDK`, `TRAFFIC`, `DOCS`; empty means the reference."""
    since: str = ""
    """The first day on which the reference has the field, as `2026-05-13`; empty means that it is
    older than the recorded history of the reference.
    """
    one_of: str = ""
    """Name of the group of which at most one field may be set."""
    base64: bool = False
    """The text is base64."""


NO_FACTS = Facts()
"""A field that the reference has, on every host, and that its type describes completely."""


@functools.cache
def facts_of(struct: type[msgspec.Struct]) -> dict[str, Facts]:
    """Map the JSON key of each field to its facts.

    >>> from wire.gemini.types import FunctionCall
    >>> facts_of(FunctionCall)["partialArgs"].hosts, facts_of(FunctionCall)["name"].hosts
    (('vertex',), ())
    """
    hints = typing.get_type_hints(struct, include_extras=True)
    return {
        key: next(
            (each for each in getattr(hints[name], "__metadata__", ()) if type(each) is Facts),
            NO_FACTS,
        )
        for name, key in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    }
