"""`TokenCount`: how many tokens a request has, by the vendor's count or by an estimate."""

from __future__ import annotations

from wire.core.memory import MetadataStruct


class TokenCount(MetadataStruct, frozen=True):
    """The tokens of a request, without those of its reply.

    >>> count = TokenCount(12, exact=False, source="estimate")
    >>> count.total, count.exact
    (12, False)
    """

    total: int
    """Tokens of the messages, the system prompt, the tools and the schema of the output."""
    exact: bool
    """Whether the vendor counted them. An estimate is often a quarter too low or too high."""
    source: str
    """The endpoint that counted: `countTokens`, `count_tokens` or `input_tokens`; or `estimate`."""
