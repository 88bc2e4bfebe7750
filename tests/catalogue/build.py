"""Writes `wire/catalogue/models.json` anew from the data of models.dev and of genai-prices.

    $ python -m tests.catalogue.build api.json --date 2026-11-23

It uses no network: download the file first. models.dev publishes one JSON object, `api.json`:
provider to its models, with limits, modalities and prices. genai-prices publishes a list of
providers, `data.json`, with prices alone, but with tiers of service and the days on which prices
change. Both are MIT; only their facts are read.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any, cast

import msgspec

from wire.catalogue.catalogue import Catalogue, Price, Row, Source, facts_of, load
from wire.catalogue.facts import is_in
from wire.core.errors import ConfigurationError
from wire.core.files import read_whole

SHIPPED = Path(__file__).parents[2] / "wire/catalogue/models.json"
LICENSE = "MIT"

_MODELS_DEV = {
    "google": "gemini",
    "anthropic": "anthropic",
    "openai": "openai",
    "azure": "azure",
    "deepseek": "deepseek",
    "zai": "glm",
    "moonshotai": "kimi",
    "minimax": "minimax",
    "alibaba": "qwen",
    "mistral": "mistral",
    "groq": "groq",
    "xai": "xai",
    "openrouter": "openrouter",
    "togetherai": "together",
    "fireworks-ai": "fireworks",
    "cerebras": "cerebras",
}
"""Provider of models.dev to the one in `wire.providers.PROVIDERS`."""

_GENAI_PRICES = {
    "google": "gemini",
    "x-ai": "xai",
    "zai": "glm",
    "moonshotai": "kimi",
    **{
        name: name
        for name in (
            "anthropic",
            "openai",
            "azure",
            "deepseek",
            "minimax",
            "mistral",
            "groq",
            "openrouter",
            "together",
            "fireworks",
            "cerebras",
        )
    },
}
"""Provider of genai-prices to the one in `wire.providers.PROVIDERS`."""

_CHOSEN = ("openrouter", "gemini", "azure")
"""Providers of which a group of models is in the catalogue."""
_HOSTS = ("openrouter", "together", "fireworks", "groq")
"""Hosts of others' models: only models that models.dev has too, which lists those of today."""

_Json = Mapping[str, Any]


def update(
    path: str | os.PathLike[str], base: Catalogue, *, date: str = "", name: str = ""
) -> Catalogue:
    """Build the catalogue `base` with the figures of a file of models.dev or genai-prices.

    The figures of `base` stay where the file has none. `date` is the day of the file's figures, by
    default the day on which the file was written; `name` is the name of their source, by default
    that of the format.

    Raises `ConfigurationError` with the file and the JSON path of a value that is not valid.
    """
    data = read_whole(path, ConfigurationError)
    file = os.fsdecode(path)
    try:
        content = json.loads(data, parse_float=Decimal)
    except (ValueError, RecursionError) as cause:
        raise ConfigurationError(f"{file}: {cause}") from None
    date = date or datetime.fromtimestamp(os.stat(path).st_mtime, UTC).strftime("%Y-%m-%d")
    is_prices = isinstance(content, list) or (isinstance(content, dict) and "providers" in content)
    kind = "genai-prices" if is_prices else "models.dev"
    key = next(key for n in count(1) if (key := f"{kind[0]}{n}") not in base.sources)
    read = _from_genai_prices if is_prices else _from_models_dev
    try:
        rows = read(content, base, key)
    except _Malformed as error:
        raise ConfigurationError(f"{file}: {error}") from None
    if not rows:
        raise ConfigurationError(
            f"{file}: has no model of a known provider; expected api.json of models.dev, or "
            "data.json of genai-prices"
        )
    merged = {(row.provider, row.id.lower()): row for row in base.rows}
    for row in rows:
        place = (row.provider, row.id.lower())
        merged[place] = _merged(merged.get(place), row)
    return Catalogue(
        tuple(merged.values()),
        {**base.sources, key: Source(name or kind, date, LICENSE)},
        datetime.now(UTC).strftime("%Y-%m-%d"),
    )


def _merged(old: Row | None, new: Row) -> Row:
    """Merge two rows; the figures of the new one count."""
    if old is None:
        return new
    facts = facts_of(new)
    if new.tools is None and old.context_window is not None:
        facts.pop("context_window", None)  # genai-prices rounds it
    default = old.sources.get("*", "")
    sources = {
        name: old.sources.get(name, default) for name in facts_of(old) if name not in facts
    } | dict.fromkeys(facts, new.sources["*"])
    keys = list(sources.values())
    common = max(set(keys), key=keys.count)
    aliases = tuple(dict.fromkeys((*old.aliases, *new.aliases)))
    return msgspec.structs.replace(
        old,
        **facts,
        aliases=aliases,
        sources={"*": common, **{name: key for name, key in sources.items() if key != common}},
    )


# --- reading of unchecked JSON --------------------------------------------------------------------


class _Malformed(Exception):
    """A value of the file has a wrong type; the message has its JSON path."""


def _get(value: _Json, name: str, kind: type | tuple[type, ...], path: str) -> Any:
    """Return the value of a key of an object; `None` if it is absent."""
    found = value.get(name)
    if found is None or isinstance(found, kind):
        return found
    names = " or ".join(each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,)))
    raise _Malformed(f"expected {names}, not {type(found).__name__} - at `{path}.{name}`")


def _object(value: object, path: str) -> _Json:
    if not isinstance(value, dict):
        raise _Malformed(f"expected an object, not {type(value).__name__} - at `{path}`")
    return value


def _number(value: object, path: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise _Malformed(f"expected a number, not {type(value).__name__} - at `{path}`")
    try:
        number = Decimal(value)
    except ArithmeticError:
        raise _Malformed(f"expected a number, not {value!r} - at `{path}`") from None
    if not number.is_finite() or number < 0:
        raise _Malformed(f"expected a number from 0 up, not {value!r} - at `{path}`")
    return number


def _count(value: _Json, name: str, path: str) -> int | None:
    count = _get(value, name, int, path)
    if count is not None and count < 0:
        raise _Malformed(f"expected a number from 0 up, not {count} - at `{path}.{name}`")
    return count or None  # models.dev writes 0 for an unknown limit


# --- models.dev -----------------------------------------------------------------------------------

_COSTS = {
    "input": "input",
    "output": "output",
    "cache_read": "cached",
    "cache_write": "cache_written",
    "reasoning": "reasoning",
    "input_audio": "input_audio",
    "output_audio": "output_audio",
}
_MODALITIES = {"pdf": "document"}
_KNOWN = ("text", "image", "audio", "video", "document")


def _from_models_dev(content: object, base: Catalogue, key: str) -> list[Row]:
    rows: list[Row] = []
    for name, provider in _MODELS_DEV.items():
        place = _object(content, "$").get(name)
        if place is None:
            continue
        models = _get(_object(place, f"$.{name}"), "models", dict, f"$.{name}") or {}
        for id, model in models.items():
            path = f"$.{name}.models[{id!r}]"
            model = _object(model, path)
            if model.get("status") != "deprecated" and _is_wanted(provider, id):
                rows.append(_models_dev_row(provider, id, model, path, key))
    return [row for row in rows if "text" in row.outputs]


def _models_dev_row(provider: str, id: str, model: _Json, path: str, key: str) -> Row:
    limit = _get(model, "limit", dict, path) or {}
    modalities = _get(model, "modalities", dict, path) or {}
    return Row(
        provider=provider,
        id=id,
        context_window=_count(limit, "context", f"{path}.limit"),
        longest_output=_count(limit, "output", f"{path}.limit"),
        inputs=_modalities(modalities, "input", path),
        outputs=_modalities(modalities, "output", path),
        tools=_get(model, "tool_call", bool, path),
        structured_output=_get(model, "structured_output", bool, path),
        thinks=_get(model, "reasoning", bool, path),
        knowledge=_get(model, "knowledge", str, path) or "",
        prices=_models_dev_prices(_get(model, "cost", dict, path) or {}, f"{path}.cost"),
        sources={"*": key},
    )


def _modalities(value: _Json, side: str, path: str) -> Any:
    names = _get(value, side, list, f"{path}.modalities") or ()
    # The order is that of `_KNOWN`, each of which the file has.
    given = {_MODALITIES.get(name, name) for name in names if isinstance(name, str)}
    return tuple(name for name in _KNOWN if name in given)


def _models_dev_prices(cost: _Json, path: str) -> tuple[Price, ...]:
    if not cost.get("input") and not cost.get("output"):
        return ()  # models.dev also writes 0 for an unknown price
    rows = [Price(**_figures(cost, _COSTS, path))]
    if isinstance(long := cost.get("context_over_200k"), dict):
        rows.append(Price(above=200_000, **_figures(long, _COSTS, f"{path}.context_over_200k")))
    for position, tier in enumerate(_get(cost, "tiers", list, path) or ()):
        at = f"{path}.tiers[{position}]"
        size = _count(_get(_object(tier, at), "tier", dict, at) or {}, "size", f"{at}.tier")
        if size and all(row.above != size for row in rows):
            rows.append(Price(above=size, **_figures(tier, _COSTS, at)))
    return tuple(rows)


def _figures(value: _Json, names: Mapping[str, str], path: str) -> dict[str, Any]:
    return {
        figure: _number(value[name], f"{path}.{name}")
        for name, figure in names.items()
        if value.get(name) is not None
    }


# --- genai-prices ---------------------------------------------------------------------------------

_PRICES = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cached",
    "cache_write_mtok": "cache_written",
    "cache_write_1h_mtok": "cache_written_1h",
    "output_reasoning_mtok": "reasoning",
    "input_audio_mtok": "input_audio",
    "cache_audio_read_mtok": "cached_audio",
    "output_audio_mtok": "output_audio",
    "input_image_mtok": "input_image",
    "input_video_mtok": "input_video",
    "output_image_mtok": "output_image",
    "web_searches_kcount": "search",
    "requests_kcount": "request",
}
_TIERS = {
    ("processing", "batch"): "batch",
    ("service_tier", "flex"): "flex",
    ("service_tier", "priority"): "priority",
    ("speed", "fast"): "fast",
}
"""Variant of genai-prices to `Price.tier`. OpenAI's `fast` has the prices of its `priority`, and no
response names it."""


def _from_genai_prices(content: object, base: Catalogue, key: str) -> list[Row]:
    providers = content["providers"] if isinstance(content, dict) else content
    rows: list[Row] = []
    for position, place in enumerate(cast("list[Any]", providers)):
        path = f"$[{position}]" if providers is content else f"$.providers[{position}]"
        provider = _GENAI_PRICES.get(_object(place, path).get("id", ""))
        if provider is None:
            continue
        known = [row.id for row in base.rows if row.provider == provider]
        models = _get(place, "models", list, path) or []
        rows += _genai_rows(provider, models, known, f"{path}.models", key)
    return rows


def _genai_rows(
    provider: str, models: Iterable[Any], known: Iterable[str], path: str, key: str
) -> list[Row]:
    """Build the rows of one provider.

    A model of genai-prices is a pattern of names: each known name takes its prices from the first
    pattern that it matches.
    """
    own: dict[str, Row] = {}
    matchers: list[tuple[Callable[[str], bool], Row]] = []
    for position, model in enumerate(models):
        at = f"{path}[{position}]"
        model = _object(model, at)
        id = _get(model, "id", str, at) or ""
        match = _object(model.get("match"), f"{at}.match")
        row = Row(
            provider=provider,
            id=id,
            aliases=tuple(name for name in _equal_names(match) if name.lower() != id.lower()),
            context_window=_count(model, "context_window", at),
            prices=_genai_prices(model, at),
            sources={"*": key},
        )
        matchers.append((_matcher(match, f"{at}.match"), row))
        chat = row.prices and row.prices[0].input is not None and row.prices[0].output is not None
        if provider in _HOSTS or model.get("deprecated"):
            continue
        if chat and _is_wanted(provider, id):
            own.setdefault(id.lower(), row)
    rows = list(own.values())
    for id in known:
        matched = next((row for matches, row in matchers if matches(id.lower())), None)
        if matched is not None and id.lower() not in own and matched.prices:
            # Its context window is that of the pattern's own model.
            rows.append(msgspec.structs.replace(matched, id=id, aliases=(), context_window=None))
    return rows


def _is_wanted(provider: str, id: str) -> bool:
    chosen = f"catalogue.{provider}"
    if provider in _CHOSEN and not is_in(chosen, id):
        return False
    return not is_in("catalogue.no-chat", id) and not is_in("catalogue.ended", id)


def _genai_prices(model: _Json, path: str) -> tuple[Price, ...]:
    prices, at = model.get("prices"), f"{path}.prices"
    rows: list[Price] = []
    if isinstance(prices, list):
        for position, each in enumerate(prices):
            rows += _conditional(each, "", f"{at}[{position}]")
    else:
        rows += _rows_of(_object(prices, at), {}, at)
    for position, each in enumerate(_get(model, "price_variants", list, path) or ()):
        at = f"{path}.price_variants[{position}]"
        when = _get(_object(each, at), "when", dict, at) or {}
        tier = _TIERS.get(next(iter(when.items()), ("", ""))) if len(when) == 1 else None
        if tier and each.get("prices"):
            rows += _conditional(each, tier, at)
    return tuple(dict.fromkeys(rows))


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"(\d{2}:\d{2})(:00)?(\.0+)?(Z|\+00:00)?")


def _conditional(value: object, tier: str, path: str) -> list[Price]:
    value = _object(value, path)
    constraint = _get(value, "constraint", dict, path) or {}
    to: dict[str, Any] = {"tier": tier}
    if "start_date" in constraint:
        day = constraint["start_date"]
        if not isinstance(day, str) or not _DAY.fullmatch(day):
            expected = f"expected a day such as 2027-01-01, not {day!r}"
            raise _Malformed(f"{expected} - at `{path}.constraint.start_date`")
        to["since"] = day
    if "start_time" in constraint:
        times = [_TIME.fullmatch(str(constraint.get(f"{end}_time"))) for end in ("start", "end")]
        if None in times:
            expected = f"expected times of UTC such as 01:00:00Z, not {constraint}"
            raise _Malformed(f"{expected} - at `{path}.constraint`")
        to["hours"] = "-".join(time[1] for time in times if time is not None)
    return _rows_of(_object(value.get("prices"), f"{path}.prices"), to, f"{path}.prices")


def _rows_of(prices: _Json, to: Mapping[str, Any], path: str) -> list[Price]:
    """Build the rows of a price list, one for each token count at which a figure changes."""
    figures = {
        figure: _steps(prices[name], f"{path}.{name}")
        for name, figure in _PRICES.items()
        if prices.get(name) is not None
    }
    starts = {0, *(start for steps in figures.values() for start, _ in steps)}
    rows = []
    for above in sorted(starts):
        usd: dict[str, Any] = {
            figure: [each for start, each in steps if start <= above][-1]
            for figure, steps in figures.items()
        }
        rows.append(Price(above=above, **to, **usd))
    return rows


def _steps(value: object, path: str) -> list[tuple[int, Decimal]]:
    """Convert a price to pairs: the number of tokens above which it applies, and the price."""
    if not isinstance(value, dict):
        return [(0, _number(value, path))]
    steps = [(0, _number(value.get("base"), f"{path}.base"))]
    for position, tier in enumerate(_get(value, "tiers", list, path) or ()):
        at = f"{path}.tiers[{position}]"
        start = int(_number(_object(tier, at).get("start"), f"{at}.start"))
        steps.append((start, _number(tier.get("price"), f"{at}.price")))
    return sorted(steps)


_SHORT_MATCHES: dict[str, Callable[[str, str], bool]] = {
    "equals": lambda text, name: name == text.lower(),
    "starts_with": lambda text, name: name.startswith(text.lower()),
    "ends_with": lambda text, name: name.endswith(text.lower()),
    "contains": lambda text, name: text.lower() in name,
    "regex": lambda text, name: re.search(text, name) is not None,
}


def _matcher(match: _Json, path: str) -> Callable[[str], bool]:
    """Return a function that tests whether a name matches a pattern of genai-prices."""
    for kind, text in match.items():
        if kind in _SHORT_MATCHES and isinstance(text, str):
            if kind == "regex":
                _check_regex(text, path)
            check = _SHORT_MATCHES[kind]
            return lambda name: check(text, name)
        if kind in ("or", "and") and isinstance(text, list):
            parts = [_matcher(_object(each, path), path) for each in text]
            if kind == "or":
                return lambda name: any(part(name) for part in parts)
            return lambda name: all(part(name) for part in parts)
    raise _Malformed(f"expected a pattern of names, not {list(match)} - at `{path}`")


def _check_regex(text: str, path: str) -> None:
    try:
        re.compile(text)
    except re.error as cause:
        raise _Malformed(f"{text!r} is no regular expression: {cause} - at `{path}`") from None


def _equal_names(match: _Json) -> list[str]:
    """Return the names that a pattern lists one by one."""
    if isinstance(text := match.get("equals"), str):
        return [text]
    names: list[str] = []
    for part in match.get("or") or ():
        names += _equal_names(part) if isinstance(part, dict) else ()
    return names


def main(arguments: list[str]) -> int:
    command = argparse.ArgumentParser(prog="python -m tests.catalogue.build")
    command.add_argument("file", help="api.json of models.dev, or data.json of genai-prices")
    command.add_argument("--date", default="", help="the day of the figures (default: the file's)")
    command.add_argument("--to", default=SHIPPED, help="the catalogue to bring up to date")
    chosen = command.parse_args(arguments)
    base = load(chosen.to)
    catalogue = update(chosen.file, base, date=chosen.date)
    catalogue.save(chosen.to)
    added = len(catalogue.rows) - len(base.rows)
    print(f"{chosen.to}: {len(catalogue.rows)} models, {added} of them new")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
