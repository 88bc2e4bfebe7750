"""The cost of a reply: token counts and a price list in, USD out. Without I/O.

A vendor's own figure takes precedence. Otherwise the counts are split into kinds of tokens that
have a price of their own, and each kind is multiplied by its price. An unknown cost is `None`, with
the reason, and never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from wire.catalogue.catalogue import Model, Price, Source, current
from wire.core.secret import quoted

if TYPE_CHECKING:
    from wire.catalogue.usage import Usage

VENDOR = Source("vendor")
"""The source of a cost that the response itself has."""

_SENDS_USD = ("openrouter", "perplexity", "vercel", "xai")
"""Providers whose responses have their cost in USD. At OpenRouter and Vercel one credit is one
dollar. The figure of an unknown host may be in any currency."""

_STANDARD = ("", "auto", "default", "on_demand", "standard", "unspecified")
"""Words of all vendors for the service without a tier."""

SEARCHES_UNCOUNTED = "web searches are charged, and the response does not say how many of them"
"""Value of `Charges.unpriced`."""

_OWN_KEY = "the provider charges the caller's own key, and the response does not say how much"

# The user's own decimal context may round to a few digits; sums of money must not.
_EXACT = Context(prec=60)


class Cost(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True):
    """A cost in USD. `None` is unknown, and `reason` says why.

    >>> import wire
    >>> cost = wire.cost(wire.Usage(input=1000, output=100), "anthropic:claude-sonnet-5")
    >>> cost.input, cost.output, cost.total
    (Decimal('0.002'), Decimal('0.001'), Decimal('0.003'))
    >>> print(cost)
    0.003 USD

    Costs add up, from `Cost(total=Decimal(0))` on. If one is unknown, so is the sum; `known` has
    the sum of the others.
    """

    total: Decimal | None = None
    """The sum of all parts."""
    known: Decimal = Decimal(0)
    """The sum of the parts that are known: a lower bound if `total` is `None`."""
    input: Decimal | None = None
    """Tokens of the request that were neither read from a cache nor written to one."""
    output: Decimal | None = None
    """Tokens of the reply, without its thoughts."""
    cached: Decimal | None = None
    """Tokens that were read from a cache."""
    cache_written: Decimal | None = None
    """Tokens that were written to a cache."""
    reasoning: Decimal | None = None
    """Tokens of the thoughts."""
    searches: Decimal | None = None
    """Web searches of the server."""
    requests: Decimal | None = None
    """A price of the request itself."""
    reason: str = ""
    """Why `total` is unknown; empty if it is known."""
    source: Source | None = None
    """`vendor` for a figure of the response, else the catalogue with its date; `None` for an
    unknown cost, and for a sum of several sources."""

    def __str__(self) -> str:
        if self.total is not None:
            return f"{_plain(self.total)} USD"
        reason = f": {self.reason}" if self.reason else ""
        return f"unknown, at least {_plain(self.known)} USD{reason}"

    def __add__(self, other: Cost) -> Cost:
        if not isinstance(other, Cost):
            return NotImplemented
        return total_of((self, other))

    def __radd__(self, other: int) -> Cost:
        # `sum` begins with 0; any other number is not a cost.
        return self if type(other) is int and other == 0 else NotImplemented


_ZERO = Cost(total=Decimal(0))
_PARTS = ("input", "output", "cached", "cache_written", "reasoning", "searches", "requests")


def total_of(costs: Iterable[Cost]) -> Cost:
    """Add costs; the sum of no costs is 0."""
    costs = tuple(each for each in costs if each != _ZERO)  # which has no parts and no source
    unknown = [cost for cost in costs if cost.total is None]
    known = exact_sum(cost.known for cost in costs)
    parts = {name: [getattr(cost, name) for cost in costs] for name in _PARTS}
    sources = {cost.source for cost in costs}
    return Cost(
        total=None if unknown else known,
        known=known,
        **{name: exact_sum(each) for name, each in parts.items() if each and None not in each},
        reason=next((cost.reason for cost in unknown), ""),
        source=sources.pop() if len(sources) == 1 else None,
    )


def exact_sum(numbers: Iterable[Decimal]) -> Decimal:
    """Add numbers exactly, whatever precision the program's own decimal context has."""
    total = Decimal(0)
    for number in numbers:
        total = _EXACT.add(total, number)
    # Without trailing zeros, and without an exponent for 10 and more.
    return _EXACT.add(total.normalize(_EXACT), Decimal(0)) if total else Decimal(0)


def _plain(number: Decimal) -> str:
    """Return the number without an exponent and without trailing zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# --- prices in a response -------------------------------------------------------------------------


class VendorFigure(msgspec.Struct, frozen=True, kw_only=True):
    """The cost that a response itself has."""

    total: Decimal | None = None
    """All that the call costs; `None` if the response has the host's fee alone."""
    fee: Decimal = Decimal(0)
    """The host's fee, if the provider also charges the caller's own key."""
    is_usd: bool = False
    """Whether the response states that it is in USD. Otherwise it depends on the provider."""
    parts: Mapping[str, Decimal] = {}
    """Fields of `Cost` that the vendor reports one by one."""


class Charges(msgspec.Struct, frozen=True, kw_only=True):
    """Facts in a response about its price besides its neutral token counts.

    The response struct of each wire has a method `charges` that returns it.
    """

    vendor: VendorFigure | None = None
    """The vendor's own figure, if it sends one."""
    tier: str = ""
    """The tier of service that served the request, in the vendor's word."""
    cached_audio: int | None = None
    """Tokens of audio that were read from a cache; `None` if the response does not report them."""
    searches: int = 0
    """Web searches of the server that are charged one by one."""
    unpriced: str = ""
    """Charges of the vendor besides tokens that the response does not count."""
    at: datetime | None = None
    """When the response was made."""


def vendor_figure(
    cost: object, details: object = None, *, own_key: bool = False, ticks: int | None = None
) -> VendorFigure | None:
    """Return the vendor's own figure in the fields of a response; `None` if it has none.

    - OpenRouter and Vercel send a number. With the caller's own key at the provider, it is the fee
      alone, and `cost_details.upstream_inference_cost` is what the provider charges.
    - Perplexity sends an object with the parts and `total_cost`; Venice one with `usd`.
    - xAI counts ticks, of which 10^10 are one USD.

    >>> vendor_figure(None, ticks=1_489_500).total
    Decimal('0.0001489500')
    """
    if ticks is not None:
        return VendorFigure(total=Decimal(ticks).scaleb(-10, _EXACT))
    if isinstance(cost, dict):
        total, usd = _number(cost.get("total_cost")), _number(cost.get("usd"))
        if usd is not None:
            return VendorFigure(total=usd, is_usd=True)
        parts = {name: _number(cost.get(key)) for name, key in _PERPLEXITY.items()}
        known = {name: part for name, part in parts.items() if part is not None}
        return VendorFigure(total=total, parts=known) if total is not None else None
    total = _number(cost)
    if total is None:
        return None
    if own_key:
        upstream = details.get("upstream_inference_cost") if isinstance(details, dict) else None
        provider = _number(upstream)
        if provider is None:
            return VendorFigure(fee=total)
        total = _EXACT.add(total, provider)
    return VendorFigure(total=total)


_PERPLEXITY = {
    "input": "input_tokens_cost",
    "output": "output_tokens_cost",
    "reasoning": "reasoning_tokens_cost",
    "searches": "search_queries_cost",
    "requests": "request_cost",
}
"""Field of `Cost` to the key of Perplexity's `cost`."""


def moment(seconds: float | None) -> datetime | None:
    """Convert a Unix time to a `datetime`; `None` for an invalid one."""
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (OverflowError, OSError, ValueError, TypeError):
        return None


def _number(value: object) -> Decimal | None:
    """Convert a price in JSON to a number; `None` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except ArithmeticError:
        return None
    return number if number.is_finite() and number >= 0 else None


# --- the cost of token counts ---------------------------------------------------------------------


def cost_of_usage(usage: Usage | None, model: Model, tier: str, at: datetime | None) -> Cost:
    """Calculate the cost of the counts of one request, by the prices of a model."""
    return _priced(usage, model, Charges(tier=tier, at=at))


def cost_of_answer(
    answer: Any, usage: Usage | None, provider: str, models: Sequence[str], tier: str
) -> Cost:
    """Return the cost of a response by the vendor's own figure, or by the catalogue's prices.

    `answer` is the wire's struct. Of `models`, the first that the catalogue knows has the prices.
    `tier` is the tier of service of a response that does not name it.
    """
    family = provider.partition("@")[0]
    of_answer = getattr(answer, "charges", None)
    charges: Charges = of_answer() if of_answer is not None else Charges()
    if tier and _is_standard(charges.tier):
        charges = msgspec.structs.replace(charges, tier=tier)
    vendor = charges.vendor
    if vendor is not None and (vendor.is_usd or family in _SENDS_USD):
        if vendor.total is None:
            return Cost(known=vendor.fee, reason=_OWN_KEY)
        parts: dict[str, Any] = dict(vendor.parts)
        return Cost(total=vendor.total, known=vendor.total, source=VENDOR, **parts)
    return _priced(usage, _first_known(provider, *models), charges)


def unpriced(name: str) -> str:
    """Return why the cost of a model's replies cannot be known before they come; empty if it can.

    >>> unpriced("openrouter:acme/acme-1"), unpriced("ollama:qwen3:8b")
    ('', "the catalogue has no models of 'ollama'")
    """
    if name.partition(":")[0].partition("@")[0] in _SENDS_USD:
        return ""
    facts = current().model(name)
    price = facts.price()
    if facts.reason or (price is not None and price.input is not None and price.output is not None):
        return facts.reason
    return f"the catalogue has no price of {quoted(name)}"


def _first_known(provider: str, *models: str) -> Model:
    catalogue = current()
    facts = None
    for model in models:
        if model.strip():
            facts = catalogue._known(f"{provider}:{model}")
            if not facts.reason:
                return facts
    return facts or Model(provider=provider, id="", reason="the reply does not name its model")


def _priced(usage: Usage | None, model: Model, charges: Charges) -> Cost:
    if usage is None:
        return Cost(reason="the response has no token counts")
    if model.reason:
        return Cost(reason=model.reason)
    tier = "" if _is_standard(charges.tier) else _tier_word(charges.tier)
    price = model.price(usage.input, tier=tier, at=charges.at)
    named = quoted(f"{model.provider}:{model.id}")
    if price is None or price.input is None or price.output is None:
        of = f" in the tier {quoted(tier)}" if tier else ""
        return Cost(reason=f"the catalogue has no price of {named}{of}")
    try:
        parts = {
            **_input_parts(usage, price, charges.cached_audio),
            **_output_parts(usage, price),
        }
    except _Uncounted as error:
        return Cost(reason=str(error))
    if charges.searches:
        search = (
            price.search if price.search is not None else _standard_search(model, usage, charges)
        )
        if search is None:
            unpriced = f"the catalogue has no price of searches of {named}"
            return _of_parts(parts, model, charges.unpriced or unpriced)
        parts["searches"] = _times(charges.searches, search, -3)
    if price.request is not None:
        parts["requests"] = _times(1, price.request, -3)
    return _of_parts(parts, model, charges.unpriced)


def _tier_word(tier: str) -> str:
    return tier.lower().replace("-", "_")


def _is_standard(tier: str) -> bool:
    return _tier_word(tier) in _STANDARD


def _standard_search(model: Model, usage: Usage, charges: Charges) -> Decimal | None:
    """Return the price of a search in the standard row.

    A search costs the same in all tiers of service, so only the standard row may have it.
    """
    standard = model.price(usage.input, at=charges.at)
    return standard.search if standard is not None else None


def _of_parts(parts: Mapping[str, Decimal], model: Model, reason: str) -> Cost:
    known = exact_sum(parts.values())
    return Cost(
        total=None if reason else known,
        known=known,
        **parts,
        reason=reason,
        source=None if reason else model.sources.get("prices"),
    )


class _Uncounted(Exception):
    """The counts do not show how many tokens have which price."""


def _input_parts(usage: Usage, price: Price, cached_audio: int | None) -> dict[str, Decimal]:
    fresh = usage.input - usage.cached - usage.cache_written
    if fresh < 0:
        raise _Uncounted("the response counts more cached tokens than tokens of the request")
    base = price.input or Decimal(0)
    media: list[Decimal] = []
    for kind in ("audio", "image", "video"):
        own: Decimal | None = getattr(price, f"input_{kind}")
        tokens = usage.by_modality.get(f"input_{kind}", 0)
        if own is None or own == base or not tokens:
            continue
        if kind == "audio":
            tokens -= cached_audio or 0
        untold = usage.cached and (kind != "audio" or cached_audio is None)
        if untold or not 0 <= tokens <= fresh:
            raise _Uncounted(f"the response does not say which of its tokens are {kind}")
        media.append(_times(tokens, own))
        fresh -= tokens
    hour = usage.cache_written_1h
    if hour > usage.cache_written:
        raise _Uncounted("the response counts more tokens of an hour's cache than of all caches")
    if hour and price.cache_written_1h is None:
        raise _Uncounted("the catalogue has no price of a cache of one hour")
    read = base if price.cached is None else price.cached
    written = base if price.cache_written is None else price.cache_written
    heard = min(cached_audio or 0, usage.cached)
    audio = read if price.cached_audio is None else price.cached_audio
    return {
        "input": _EXACT.add(_times(fresh, base), exact_sum(media)),
        "cached": _EXACT.add(_times(usage.cached - heard, read), _times(heard, audio)),
        "cache_written": _EXACT.add(
            _times(usage.cache_written - hour, written),
            _times(hour, price.cache_written_1h or Decimal(0)),
        ),
    }


def _output_parts(usage: Usage, price: Price) -> dict[str, Decimal]:
    rest = usage.output - usage.reasoning
    base = price.output or Decimal(0)
    media: list[Decimal] = []
    for kind in ("audio", "image"):
        own: Decimal | None = getattr(price, f"output_{kind}")
        tokens = usage.by_modality.get(f"output_{kind}", 0)
        if own is not None and tokens:
            media.append(_times(tokens, own))
            rest -= tokens
    if rest < 0:
        raise _Uncounted("the response counts more thoughts and media than tokens of the reply")
    reasoning = base if price.reasoning is None else price.reasoning
    return {
        "output": _EXACT.add(_times(rest, base), exact_sum(media)),
        "reasoning": _times(usage.reasoning, reasoning),
    }


def _times(count: int, price: Decimal, exponent: int = -6) -> Decimal:
    """Multiply `count` by a price, which is for a million; for a thousand with the exponent -3."""
    if not count:
        return Decimal(0)
    return exact_sum([_EXACT.multiply(Decimal(count), price).scaleb(exponent, _EXACT)])
