"""A catalogue of round prices, so that each expected figure can be computed by hand."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from wire.catalogue import Catalogue, Price, Source, use
from wire.catalogue.catalogue import VARIABLE, Row

TEST = Source("test prices", "2026-11-23")


def price(
    *, above: int = 0, tier: str = "", since: str = "", hours: str = "", **usd: float
) -> Price:
    figures: dict[str, Any] = {name: Decimal(str(figure)) for name, figure in usd.items()}
    return Price(above=above, tier=tier, since=since, hours=hours, **figures)


def row(provider: str, id: str, *prices: Price, **facts: object) -> Row:
    return Row(provider=provider, id=id, prices=prices, sources={"*": "t"}, **facts)  # type: ignore[arg-type]


ROWS = (
    row(
        "gemini",
        "gemini-3.8-flash",
        price(input=1, output=4, cached=0.25, input_audio=3, cached_audio=0.75, search=14),
        price(input=2, output=6, cached=0.5, input_audio=3, cached_audio=0.75, above=200_000),
        price(tier="flex", input=0.5, output=2, cached=0.125),
    ),
    row(
        "anthropic",
        "claude-sonnet-5",
        price(input=2, output=10, cached=0.2, cache_written=2.5, cache_written_1h=4, search=10),
        price(tier="batch", input=1, output=5, cached=0.1, cache_written=1.25, cache_written_1h=2),
        price(tier="fast", input=20, output=100),
        context_window=1_000_000,
    ),
    row("openai", "gpt-5.4", price(input=2.5, output=15, cached=0.25, search=10)),
    row("openai", "gpt-5.6", price(input=4, output=20, cached=0.4, cache_written=5)),
    row("deepseek", "deepseek-v4-pro", price(input=1, output=2, cached=0.1)),
    row("xai", "grok-4.6", price(input=2, output=6, cached=0.5)),
    row("openrouter", "openai/gpt-5.4", price(input=2.5, output=15)),
)


@pytest.fixture(autouse=True)
def _shipped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test sees the catalogue of another one, or of the machine."""
    monkeypatch.delenv(VARIABLE, raising=False)
    use(None)
    yield
    use(None)


@pytest.fixture
def round_prices() -> Catalogue:
    catalogue = Catalogue(ROWS, {"t": TEST}, "2026-11-23")
    use(catalogue)
    return catalogue
