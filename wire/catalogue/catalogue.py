"""The structs of the catalogue, its file, and the search for the row of a model's name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from wire.catalogue.facts import Modality as Modality
from wire.catalogue.facts import Source as Source
from wire.catalogue.facts import decoded_file, facts
from wire.core.arguments import checked_arguments, suggestion
from wire.core.errors import ConfigurationError
from wire.core.files import read_whole, write_whole
from wire.core.secret import quoted

VARIABLE = "WIRE_CATALOGUE"
"""The environment variable with the path of a catalogue that replaces the shipped one."""

_SHIPPED = Path(__file__).with_name("models.json")
_MOST_KEPT = 256
"""Number of models whose facts are kept after the first reply of each."""

Tokens: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


class Price(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    forbid_unknown_fields=True,
):
    """One row of a model's price list: USD for a million tokens, and the conditions of the row.

    `None` means that tokens of this kind have no price of their own: they cost what the other
    tokens of the input, or of the output, cost.
    """

    tier: str = ""
    """`batch`, `flex`, `priority` or `fast`; empty for the standard service."""
    above: Tokens = 0
    """The row applies to requests whose input has more tokens than this."""
    since: Annotated[str, msgspec.Meta(pattern=r"^$|^\d{4}-\d{2}-\d{2}$")] = ""
    """The row applies from this day on (UTC): `2027-01-01`. Empty: since before the catalogue."""
    hours: Annotated[str, msgspec.Meta(pattern=r"^$|^\d{2}:\d{2}-\d{2}:\d{2}$")] = ""
    """The row applies in these hours of a day (UTC): `01:00-04:00`. Empty: all day."""
    input: Decimal | None = None
    """Tokens of the request that no other figure covers."""
    output: Decimal | None = None
    """Tokens of the reply that no other figure covers."""
    cached: Decimal | None = None
    """Tokens that were read from a cache."""
    cache_written: Decimal | None = None
    """Tokens that were written to a cache, for 5 minutes if the vendor has several lifetimes."""
    cache_written_1h: Decimal | None = None
    """Tokens that were written to a cache for an hour."""
    reasoning: Decimal | None = None
    """Tokens of the thoughts."""
    input_audio: Decimal | None = None
    """Tokens of audio in the request."""
    input_image: Decimal | None = None
    """Tokens of images in the request."""
    input_video: Decimal | None = None
    """Tokens of video in the request."""
    cached_audio: Decimal | None = None
    """Tokens of audio that were read from a cache."""
    output_audio: Decimal | None = None
    """Tokens of audio in the reply."""
    output_image: Decimal | None = None
    """Tokens of images in the reply."""
    search: Decimal | None = None
    """1,000 web searches of the server, in USD."""
    request: Decimal | None = None
    """1,000 requests, in USD, beside their tokens."""

    @property
    def usd(self) -> dict[str, Decimal]:
        """The figures that are known, by name.

        >>> Price(input=Decimal(1), output=Decimal(4)).usd
        {'input': Decimal('1'), 'output': Decimal('4')}
        """
        figures = {name: getattr(self, name) for name in _FIGURES}
        return {name: figure for name, figure in figures.items() if figure is not None}

    @checked_arguments(ConfigurationError)
    def applies(self, tokens: int, tier: str, at: datetime) -> bool:
        """Return whether the row applies to a request of `tokens` input tokens at that time."""
        return (
            self.tier == tier
            and (tokens > self.above or not self.above)
            and (not self.since or self.since <= at.strftime("%Y-%m-%d"))
            and (not self.hours or self._in_hours(at.strftime("%H:%M")))
        )

    def _in_hours(self, time: str) -> bool:
        start, _, end = self.hours.partition("-")
        return start <= time < end if start < end else time >= start or time < end


_FIGURES = Price.__struct_fields__[Price.__struct_fields__.index("input") :]


class _Facts(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    forbid_unknown_fields=True,
):
    """The catalogue's facts about a model; `None` and empty mean unknown."""

    provider: str
    """The provider in `wire.providers.PROVIDERS` whose prices and limits these are."""
    id: str
    """The provider's name of the model, as requests contain it."""
    context_window: Tokens | None = None
    """Tokens that the request and the reply may have together."""
    longest_output: Tokens | None = None
    """Tokens that a reply may have."""
    inputs: tuple[Modality, ...] = ()
    """Modalities that the model reads: `text`, `image`, `audio`, `video`, `document`."""
    outputs: tuple[Modality, ...] = ()
    """Modalities that the model writes."""
    tools: bool | None = None
    """Whether the model calls tools."""
    structured_output: bool | None = None
    """Whether the host enforces a JSON Schema for the reply."""
    thinks: bool | None = None
    """Whether the model can think before it replies."""
    knowledge: str = ""
    """The month, or the day, up to which the model was trained: `2025-01`."""
    prices: tuple[Price, ...] = ()
    """Its price list; empty: unknown. `price` chooses a row."""


class Row(_Facts, frozen=True, kw_only=True):
    """A model in the file of a catalogue."""

    aliases: tuple[str, ...] = ()
    """Other names of the model at this provider."""
    sources: dict[str, str] = {}
    """Figure to the key of its source; the key `*` is for all other figures."""


class Model(_Facts, frozen=True, kw_only=True):
    """The known facts about a model, with the source of each figure.

    >>> import wire
    >>> wire.model("gemini-3.8-flash").provider
    'gemini'

    Of a model that the catalogue lacks, each figure is `None` or empty, and `reason` says why.
    """

    reason: str = ""
    """Why the figures are unknown; empty for a model of the catalogue."""
    refuses: dict[str, str] = {}
    """Settings that the provider refuses for this model, such as `temperature`, and its messages.

    They come from the rules that check requests before they are sent. `wire.model` fills the
    mapping."""
    sources: dict[str, Source] = {}
    """Figure, such as `context_window` or `prices`, to its source."""

    @checked_arguments(ConfigurationError)
    def source(self, figure: str) -> Source | None:
        """Return the source of a figure, with its date; `None` for an unknown figure."""
        return self.sources.get(figure)

    @checked_arguments(ConfigurationError)
    def price(self, tokens: int = 0, *, tier: str = "", at: datetime | None = None) -> Price | None:
        """Return the price row for a request of `tokens` input tokens; `None`: unknown.

        >>> import wire
        >>> wire.model("openai:gpt-5.4").price(300_000).above
        272000

        `tier` is the empty text for the standard service. `at` is now by default; without a time
        zone it is UTC.
        """
        at = datetime.now(UTC) if at is None else at
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        rows = [row for row in self.prices if row.applies(tokens, tier, at)]
        # The rows of certain hours first, then the newest, then the tier of the longest input.
        rows.sort(key=lambda row: (bool(row.hours), row.since, row.above))
        return rows[-1] if rows else None


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file of a catalogue."""

    format: Literal[1]
    date: str
    """The day on which the file was written."""
    sources: dict[str, Source]
    models: tuple[Row, ...]


class Catalogue:
    """Models by their names. `load` reads one from a file, `current` is the one in use.

    >>> current().model("anthropic:claude-sonnet-5").context_window
    1000000
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self, rows: tuple[Row, ...], sources: Mapping[str, Source], date: str, path: str = ""
    ) -> None:
        self.rows, self.sources, self.date, self.path = rows, dict(sources), date, path
        self._index: dict[str, dict[str, Row]] = {}
        self._kept: dict[str, Model] = {}
        for row in rows:
            names = self._index.setdefault(row.provider, {})
            names[row.id.lower()] = row
        for name_of in (_aliases, _undated_names):  # its own names precede those of rules
            for row in rows:
                for name in name_of(row):
                    self._index[row.provider].setdefault(name, row)

    def __repr__(self) -> str:
        return f"<Catalogue of {self.date}: {len(self.rows)} models>"

    @checked_arguments(ConfigurationError)
    def model(self, name: str) -> Model:
        """Return the facts about a model, named `provider:model` or by the model alone.

        >>> current().model("ollama:qwen3:8b").reason
        "the catalogue has no models of 'ollama'"

        Without a provider, vendors of models come before hosts of others' models. A name with a
        date, or with `-latest`, means the model without it unless the catalogue has that name.
        """
        if not isinstance(name, str) or not name.strip():
            raise ConfigurationError(f"model: expected the name of a model, not {quoted(name)}")
        provider, model = self._split(name.strip())
        places = [provider] if provider else list(self._index)
        for place in places:
            row = self._find(place, model)
            if row is not None:
                return self._model(row)
        return Model(provider=provider, id=model, reason=self._reason(provider, model))

    def _known(self, name: str) -> Model:
        """Look up a model as `model`, and keep the result.

        Replies name the same few models, and each reply looks for its price. Searching names near
        to an unknown one takes longer than reading a reply. The value is shared; nobody may change
        its `sources`.
        """
        found = self._kept.get(name)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:  # a server may name another model each time
                self._kept.clear()
            found = self._kept[name] = self.model(name)
        return found

    def _split(self, name: str) -> tuple[str, str]:
        """Split a name into the provider of its prices, and the model, which may contain colons."""
        first, colon, rest = name.partition(":")
        if not colon or first == "ft":
            return "", name
        family, _, surface = first.lower().partition("@")
        return (family if surface in _SURFACES else first.lower()), rest.strip()

    def _find(self, provider: str, model: str) -> Row | None:
        names = self._index.get(provider, {})
        return next((names[each] for each in _spellings(provider, model) if each in names), None)

    def _model(self, row: Row) -> Model:
        facts = {name: getattr(row, name) for name in _Facts.__struct_fields__}
        sources = {
            name: self.sources[key]
            for name, value in facts.items()
            if name not in ("provider", "id") and value not in (None, "", ())
            if (key := row.sources.get(name, row.sources.get("*", ""))) in self.sources
        }
        return Model(**facts, sources=sources)

    def _reason(self, provider: str, model: str) -> str:
        if model.startswith("ft:"):
            return "a fine-tuned model has a price of its own, which the catalogue lacks"
        if provider and provider not in self._index:
            return f"the catalogue has no models of {quoted(provider)}"
        known = self._index[provider] if provider else self._names()
        near = suggestion(model.lower(), list(known))
        of = f" of {provider}" if provider else ""
        return f"the catalogue of {self.date} has no model {quoted(model)}{of}" + (
            f"; {near}" if near else ""
        )

    def _names(self) -> list[str]:
        return [name for names in self._index.values() for name in names]

    @checked_arguments(ConfigurationError)
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the catalogue to a file, which `load` reads. Raises `ConfigurationError`."""
        rows = sorted(self.rows, key=lambda row: _ORDER.get(row.provider, len(_ORDER)))
        used = {key for row in rows for key in row.sources.values()}
        head = msgspec.json.encode(
            {
                "format": 1,
                "date": self.date,
                "sources": {key: source for key, source in self.sources.items() if key in used},
            }
        )
        # A line for each model, so that two catalogues can be compared.
        encoder = msgspec.json.Encoder(decimal_format="number")
        lines = b",\n".join(encoder.encode(row) for row in rows)
        write_whole(path, head[:-1] + b',"models":[\n' + lines + b"\n]}\n", ConfigurationError)


_SURFACES = ("", "anthropic", "beta", "chat", "openai", "responses", "vertex")
"""Suffixes after `@` in a provider's name that do not change its prices; a region or a subscription
does."""

PROVIDERS = (
    "gemini",
    "anthropic",
    "openai",
    "deepseek",
    "glm",
    "kimi",
    "minimax",
    "qwen",
    "mistral",
    "xai",
    "azure",
    "groq",
    "cerebras",
    "together",
    "fireworks",
    "openrouter",
)
"""The providers of the catalogue: vendors of models before hosts of others' models."""

_ORDER = {name: position for position, name in enumerate(PROVIDERS)}

_PREFIX = re.compile(r"^(?:models/|(?:projects/[^/]+/locations/[^/]+/)?publishers/[^/]+/models/)")
_DATE = re.compile(r"(?:-\d{4}-\d{2}-\d{2}|[-@]\d{8}|[-@](?:latest|default))$")
_GEMINI_VERSION = re.compile(r"-\d{3}$")


def _undated(provider: str, name: str) -> str:
    """Remove the date or version, which vendors add to a name, from the name of a model.

    >>> _undated("anthropic", "claude-sonnet-5-20260101")
    'claude-sonnet-5'
    >>> _undated("gemini", "gemini-3.8-flash-001")
    'gemini-3.8-flash'
    """
    name = _DATE.sub("", name)
    return _GEMINI_VERSION.sub("", name) if provider == "gemini" else name


def _spellings(provider: str, model: str) -> Iterator[str]:
    """Yield the names under which a model may be listed, the most exact first."""
    name = _PREFIX.sub("", model.lower())
    yield name
    yield _undated(provider, name)


def _aliases(row: Row) -> list[str]:
    return [alias.lower() for alias in row.aliases]


def _undated_names(row: Row) -> list[str]:
    return [_undated(row.provider, row.id.lower())]


@checked_arguments(ConfigurationError)
def load(path: str | os.PathLike[str]) -> Catalogue:
    """Read a catalogue from a file.

    Raises `ConfigurationError` with the file, and the JSON path of a value that is not valid.
    """
    name = os.fsdecode(path)
    return parse_file(read_whole(path, ConfigurationError), name)


def parse_file(data: bytes, name: str) -> Catalogue:
    """Decode the catalogue in the bytes of a file; `name` is for errors."""
    file = decoded_file(data, _File, name)
    for position, row in enumerate(file.models):
        path = f"$.models[{position}]"
        for figure, key in row.sources.items():
            if key not in file.sources:
                problem = f"no source is called {key!r}"
                raise ConfigurationError(f"{name}: {problem} - at `{path}.sources[{figure!r}]`")
        for index, price in enumerate(row.prices):
            for figure, usd in price.usd.items():
                if not usd.is_finite() or usd < 0:
                    problem = f"expected a number from 0 up, not {usd}"
                    raise ConfigurationError(
                        f"{name}: {problem} - at `{path}.prices[{index}].{figure}`"
                    )
    return Catalogue(file.models, file.sources, file.date, name)


_in_use: dict[str, Catalogue] = {}
"""Catalogues by the path of their file; under `""` the shipped one, under `_REPLACED` that of
`use`."""

_REPLACED = "\0"


def shipped() -> Catalogue:
    """Return the catalogue that ships with the library."""
    if "" not in _in_use:
        name = str(_SHIPPED)
        file = decoded_file(_SHIPPED.read_bytes(), _File, name)  # a test validates the rest
        _in_use.setdefault("", Catalogue(file.models, file.sources, file.date, name))
    return _in_use[""]


def current() -> Catalogue:
    """Return the catalogue in use: that of `use`, of `WIRE_CATALOGUE`, or the shipped one.

    >>> current()
    <Catalogue of ...: ... models>

    A file is read at the first use. Raises as `load`.
    """
    replaced = _in_use.get(_REPLACED)
    if replaced is not None:
        return replaced
    path = os.environ.get(VARIABLE, "").strip()
    if not path:
        return shipped()
    place = os.path.abspath(path)
    if place not in _in_use:
        try:
            # Two threads may read it at the same time; the first result counts.
            _in_use.setdefault(place, load(path))
        except ConfigurationError as error:
            raise ConfigurationError(f"{VARIABLE}: {error.message}") from None
    return _in_use[place]


def has_model(provider: str, model: str) -> bool:
    """Return whether the shipped catalogue or the facts have a model of a provider.

    >>> has_model("openai", "gpt-6.1-sol"), has_model("openai", "gpt-6.1-sool")
    (True, False)
    """
    known = facts(model)
    return (bool(known.id) and known.vendor == provider) or shipped()._find(
        provider, model
    ) is not None


@checked_arguments(ConfigurationError)
def use(catalogue: Catalogue | str | os.PathLike[str] | None) -> None:
    """Use another catalogue in this process: a `Catalogue`, or the path of a file.

    `None` returns to that of `WIRE_CATALOGUE`, or the shipped one. Raises as `load`.
    """
    if catalogue is None:
        _in_use.pop(_REPLACED, None)
        return
    _in_use[_REPLACED] = catalogue if isinstance(catalogue, Catalogue) else load(catalogue)


def facts_of(row: Row) -> dict[str, Any]:
    """Return the known figures of a row."""
    defaults = Row(provider="", id="")
    return {
        name: value
        for name in _Facts.__struct_fields__
        if name not in ("provider", "id")
        and (value := getattr(row, name)) != getattr(defaults, name)
    }
