"""The facts about models that decide how a request must look, by the model's name.

`facts.json` has a row for each model, and lines: families of models whose newer names, which nobody
knows yet, are taken to be like the known ones. Each fact has a source, a date and the kind of its
evidence. A fact that is inherited from a line, or inferred, is no reason to refuse a request.
"""

from __future__ import annotations

import functools
import re
from datetime import date, timedelta
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec

from wire.core.decoders import decoder
from wire.core.errors import ConfigurationError, Violation
from wire.core.facts import Evidence
from wire.core.lazy import file_beside, lazy_pattern

T = TypeVar("T", bound=msgspec.Struct)

_NOTICE = timedelta(days=60)
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[str, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""All words for an effort, in ascending order."""
Day: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Modality: TypeAlias = Literal["text", "image", "audio", "video", "document"]


class Source(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The source of figures.

    >>> Source("models.dev", "2026-08-18").name
    'models.dev'
    """

    name: str
    """Name of a catalogue with its version; `vendor` if the response itself has the figure."""
    date: str = ""
    """The day, or the month, on which the source had the figure: `2026-08-18`."""
    license: str = ""
    """The licence of the catalogue."""
    evidence: Evidence | Literal[""] = ""
    """`documented` by the vendor, `recorded` in traffic, `thread` (a public report or a client's
    note of a probe), or `inferred` from other facts; empty for a catalogue's figures."""


class _Traits(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    forbid_unknown_fields=True,
):
    """The facts that a model or a line has; `None` and empty mean unknown."""

    wires: tuple[Literal["chat", "responses", "messages", "gemini"], ...] = ()
    """APIs that the model answers."""
    inputs: tuple[Modality, ...] = ()
    """Modalities that the model reads, where the catalogue does not know them or is wrong."""
    efforts: tuple[Effort, ...] | None = None
    """Efforts that the model accepts, in ascending order; `()`: it has none. `none` is among them
    if thinking can be switched off with that word."""
    efforts_on_chat: tuple[Effort, ...] | None = None
    """Those of chat completions, where they differ."""
    efforts_when_off: tuple[Effort, ...] | None = None
    """Those that it accepts while thinking is switched off, where they differ."""
    default_effort: Effort | None = None
    """The effort of a request that names none."""
    thinking: Literal["always", "default", "asked"] | None = None
    """When the model thinks: always, unless it is switched off, or when it is asked to."""
    off: Literal["accepted", "refused", "between_tools"] | None = None
    """How the host takes thinking that is switched off. `between_tools` names the setting of
    `thinking.type` that does it in the place of `disabled`."""
    adaptive: bool | None = None
    """Whether the model takes `thinking.type: adaptive`."""
    budget: bool | None = None
    """Whether the model takes a budget of thinking tokens."""
    sampling: (
        Literal["accepted", "off", "refused", "ignored", "ignored while thinking", "fixed"] | None
    ) = None
    """How the model takes `temperature` and `top_p`. `off`: only while it does not think; `fixed`:
    only the value 1."""
    forced_calls: Literal["accepted", "off", "refused", "unnamed"] | None = None
    """How the model takes a tool choice that forces a call. `off`: only while it does not think;
    `unnamed`: any call may be forced, a named one may not."""
    tools_on_chat: Literal["accepted", "off", "refused"] | None = None
    """How chat completions take function tools. `off`: only while the model does not think."""
    stop_on_chat: Literal["accepted", "refused"] | None = None
    """How chat completions take `stop`."""
    prefill: bool | None = None
    """Whether the conversation may end with a message of the assistant, which is continued."""
    schemas: bool | None = None
    """Whether the host enforces a JSON Schema for the answer."""
    binds_thoughts: bool | None = None
    """Whether a thought is refused in another conversation than its own."""
    caches: bool | None = None
    """Whether the host keeps explicit caches for the model."""
    continues: tuple[int, int] | None = None
    """Output tokens of one request, streamed and not, after which the answer has to be continued
    with a token."""
    released: Day | None = None
    """The first day of the model."""
    ends: dict[Literal["", "vertex"], Day] = {}
    """The first day without the model, at its vendor under `""`, and at other hosts."""
    successor: str = ""
    """The model that the vendor recommends in its place."""
    routed: bool | None = None
    """Whether the successor answers under the model's name after its end."""


_UNKNOWN = msgspec.structs.asdict(_Traits())


class Row(_Traits, frozen=True, kw_only=True):
    """A model in the file."""

    vendor: str
    id: str
    line: str = ""
    aliases: tuple[str, ...] = ()
    sources: dict[str, str] = {}
    """Figure to the key of its source; the key `*` is for all other figures."""


class Line(_Traits, frozen=True, kw_only=True):
    """What a name that has no row inherits, by a pattern of such names."""

    name: str
    vendor: str
    models: str
    """Regular expression of whole names. The first line that matches counts. Empty: it is a line of
    rows alone, because newer names are taken to be like another one."""


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Models that have something in common which is no fact of a row: a field that a host refuses
    for them, or a tool that it runs.
    """

    name: str
    """Host or vendor, and what they have in common: `kimi.thinks`."""
    models: str
    """Regular expression of whole names; upper and lower case are the same."""
    that: str
    """What the models do."""
    source: str
    """Key of the source."""


class ModelFacts(_Traits, frozen=True, kw_only=True):
    """What is known of a model by its name.

    >>> facts("gpt-6.1-sol").efforts
    ('low', 'medium', 'high', 'xhigh', 'max')
    >>> facts("gpt-6.1-sol").is_sure("efforts"), facts("gpt-7-sol").is_sure("efforts")
    (True, False)
    """

    vendor: str = ""
    """Empty for a model that has neither a row nor a line."""
    id: str = ""
    """The name in the row; empty if there is only a line."""
    line: str = ""
    gone: bool = False
    """Whether its vendor has ended it, on the day of the facts."""
    sources: dict[str, Source] = {}
    """Figure to its source; inherited figures have none."""

    def is_sure(self, figure: str) -> bool:
        """Return whether the evidence of a figure is a reason to refuse a request."""
        source = self.sources.get(figure)
        return source is not None and source.evidence != "inferred"

    def severity(self, figure: str) -> str:
        """Return the severity of a request that breaks a figure: `error` if the figure is sure."""
        return "error" if self.is_sure(figure) else "warning"

    def end(self, host: str = "") -> str:
        """Return the first day without the model at a host; empty if none is known."""
        return self.ends.get("vertex" if host.endswith("vertex") else "", "")

    def has_ended(self, day: str) -> bool:
        """Return whether the vendor has ended the model on a day."""
        return "" < self.end() <= day

    def notice(self, day: str, host: str = "") -> str:
        """Return when the model ends, and what answers then; empty until 60 days before.

        >>> facts("gpt-5").notice("2026-11-28"), facts("gpt-5").notice("2026-01-01")
        ('gpt-5 ends on 2026-12-11; its vendor recommends gpt-6.1-sol', '')
        """
        end = self.end(host)
        if not end or date.fromisoformat(end) > date.fromisoformat(day) + _NOTICE:
            return ""
        then = ""
        if self.successor:
            routed = f"{self.successor} answers in its place"
            then = f"; {routed if self.routed else f'its vendor recommends {self.successor}'}"
        return f"{self.id} {'ended' if end <= day else 'ends'} on {end}{then}"

    def chat_efforts(self) -> tuple[str, ...] | None:
        """Return the efforts that chat completions accept; `None` if they are unknown."""
        return self.efforts if self.efforts_on_chat is None else self.efforts_on_chat

    def thinks(self, effort: str | None) -> bool:
        """Return whether the model thinks in a request with this effort, `None` for none."""
        return bool(self.efforts) and (effort or self.default_effort or "none") != "none"


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: Literal[1]
    date: Day
    sources: dict[str, Source]
    lines: tuple[Line, ...]
    groups: tuple[Group, ...]
    models: tuple[Row, ...]


class Table:
    """Rows and lines by the names of models. `parse` reads one from the bytes of a file."""

    def __init__(self, file: _File) -> None:
        self.date, self.rows, self.lines = file.date, file.models, file.lines
        self.groups = {each.name: each for each in file.groups}
        self._sources = file.sources
        self._rows = {name.lower(): row for row in file.models for name in (row.id, *row.aliases)}
        self._lines = {line.name: line for line in file.lines}

    def facts(self, model: str) -> ModelFacts:
        """Return what is known of a model, in any host's spelling of its name."""
        if len(model) > _LONGEST_NAME:
            return UNKNOWN
        names = spellings(model)
        row = next((self._rows[name] for name in names if name in self._rows), None)
        if row is None:
            name = _undated(model)
            line = next((each for each in self.lines if re.fullmatch(each.models, name)), None)
            if line is None:
                return UNKNOWN
            own = {name: getattr(line, name) for name in _UNKNOWN}
            return self._known(own, line.vendor, "", line.name, {})
        line = self._lines.get(row.line)
        own, sources = {}, {}
        for name, unknown in _UNKNOWN.items():
            value = getattr(row, name)
            if value == unknown:
                value = unknown if line is None else getattr(line, name)
            elif key := row.sources.get(name, row.sources.get("*", "")):
                sources[name] = self._sources[key]
            own[name] = value
        return self._known(own, row.vendor, row.id, row.line, sources)

    def living(self, vendor: str, day: str = "") -> tuple[str, ...]:
        """Return the models that a vendor serves on a day; without one, on that of the file."""
        rows = [row for row in self.rows if row.vendor == vendor]
        return tuple(row.id for row in rows if not self.facts(row.id).has_ended(day or self.date))

    def _known(
        self, own: dict[str, Any], vendor: str, id: str, line: str, sources: dict[str, Source]
    ) -> ModelFacts:
        gone = "" < own["ends"].get("", "") <= self.date
        return ModelFacts(**own, vendor=vendor, id=id, line=line, gone=gone, sources=sources)


UNKNOWN = ModelFacts()

_PLACE = lazy_pattern(r"^(?:.*/|(?:[a-z-]+\.)?(?:anthropic|openai|google|mistral|deepseek|qwen)\.)")
_OF_HOST = lazy_pattern(r"(?:-v\d+)?(?::\w+)+$|-v\d+$")
_DATE = lazy_pattern(r"(?:-\d{4}-\d\d-\d\d|[-@]\d{8}|@\w+|-latest)$")
_LIMITS = ".limits-"
"""In the name of a group of models that have one rate limit together."""
_PREVIEW = lazy_pattern(r"-(?:preview-)?\d\d-\d{2,4}$|-\d{3,4}$")
_LONGEST_NAME = 512
"""Characters of a name that the patterns are matched with. The time of some grows with the square
of the length, and the clients of a gateway choose their names; the longest real ones, ARNs of
Bedrock, have some 150."""


def _bare(model: str) -> str:
    """Return a name without the places, versions and tags that hosts add to it."""
    if len(model) > _LONGEST_NAME:
        return model
    return _OF_HOST().sub("", _PLACE().sub("", model.lower().strip()))


def _undated(model: str) -> str:
    bare = _bare(model)
    return bare if len(bare) > _LONGEST_NAME else _PREVIEW().sub("", _DATE().sub("", bare))


def spellings(model: str) -> tuple[str, ...]:
    """Return the names under which a table may have a model, the most exact first.

    >>> spellings("us.anthropic.claude-haiku-4.5-20251001-v1:0")[-1]
    'claude-haiku-4-5'
    """
    bare, undated = _bare(model), _undated(model)
    # Some hosts write the version of a model with a point where its vendor has a hyphen.
    return _PLACE().sub("", model.lower().strip()), bare, undated, undated.replace(".", "-")


@functools.lru_cache(maxsize=256)
def counted_as(model: str) -> str:
    """Return the name under which a vendor counts the calls of a model against its rate limits.

    Snapshots count as their model, and some models of a family count together.

    >>> counted_as("claude-opus-4-6") == counted_as("claude-opus-4-8-20260701")
    True
    >>> counted_as("gpt-5.4-2026-03-05"), counted_as("claude-sonnet-5")
    ('gpt-5.4', 'claude-sonnet-5')
    """
    name = _undated(model)
    for group in shipped().groups.values():
        if _LIMITS in group.name and is_in(group.name, name):
            return group.name
    return name


def decoded_file(data: bytes, kind: type[T], name: str) -> T:
    """Decode the bytes of a JSON file of the catalogue.

    Raises `ConfigurationError` with `name`, and the JSON path of a value that is not valid.
    """
    try:
        file: T = decoder(kind).decode(data)
    except (ValueError, RecursionError) as cause:
        raise ConfigurationError(f"{name}: {cause}") from None
    return file


def parse(data: bytes, name: str) -> Table:
    """Decode the facts in the bytes of a file.

    Raises `ConfigurationError` with `name`, and the JSON path of a value that is not valid.
    """
    file = decoded_file(data, _File, name)
    lines = {line.name for line in file.lines}
    patterns = [
        *((f"lines[{at}]", line.models) for at, line in enumerate(file.lines)),
        *((f"groups[{at}]", group.models) for at, group in enumerate(file.groups)),
    ]
    for path, pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as cause:
            problem = f"is no regular expression: {cause}"
            raise ConfigurationError(f"{name}: $.{path}.models {problem}") from None
    for position, group in enumerate(file.groups):
        if group.source not in file.sources:
            problem = f"no source is called {group.source!r}"
            raise ConfigurationError(f"{name}: $.groups[{position}].source: {problem}")
    for position, row in enumerate(file.models):
        path = f"$.models[{position}]"
        if row.line and row.line not in lines:
            raise ConfigurationError(f"{name}: {path}.line: no line is called {row.line!r}")
        for figure, key in row.sources.items():
            if key not in file.sources or figure not in (*_UNKNOWN, "*"):
                raise ConfigurationError(
                    f"{name}: {path}.sources[{figure!r}]: no figure, or no source {key!r}"
                )
        limits = row.continues
        if limits is not None and not 0 < limits[1] <= limits[0]:
            raise ConfigurationError(f"{name}: {path}.continues: {limits} is upside down")
    return Table(file)


@functools.cache
def shipped() -> Table:
    """Return the facts that ship with the library; they are read at the first call."""
    return Table(decoded_file(file_beside(__file__, "facts.json"), _File, "facts.json"))


@functools.lru_cache(maxsize=256)
def facts(model: str) -> ModelFacts:
    """Return what is known of a model, in any host's spelling of its name.

    >>> facts("openai/gpt-6.1-sol").tools_on_chat, facts("llama-3").vendor
    ('refused', '')
    """
    return shipped().facts(model)


def ending(model: str, host: str, day: str) -> list[Violation]:
    """Return the warning that a model ends within 60 days of a day, or has ended; none without one.

    >>> print(ending("openai/gpt-5", "openai", "2026-11-28")[0])
    model: gpt-5 ends on 2026-12-11; its vendor recommends gpt-6.1-sol

    Raises `ConfigurationError` for a text that is no day.
    """
    if not day:
        return []
    try:
        notice = facts(model).notice(date.fromisoformat(day).isoformat(), host)
    except ValueError:
        problem = f"expected a day such as 2026-11-28, not {day!r}"
        raise ConfigurationError(f"date: {problem}") from None
    return [Violation("model", notice, severity="warning")] if notice else []


@functools.cache
def names_of(group: str) -> re.Pattern[str]:
    """Return the regular expression of the names in a group of the facts. Raises `KeyError`."""
    return re.compile(shipped().groups[group].models, re.IGNORECASE)


def is_in(group: str, model: str) -> bool:
    """Return whether a model belongs to a group of the facts.

    >>> is_in("openai.audio", "gpt-audio-mini"), is_in("openai.audio", "gpt-5.4")
    (True, False)
    """
    return len(model) <= _LONGEST_NAME and names_of(group).fullmatch(model) is not None


def needs_responses(model: str) -> bool:
    """Return whether chat completions do not serve a model, or not with tools while it thinks.

    >>> needs_responses("gpt-6.1-sol"), needs_responses("gpt-4.1")
    (True, False)
    """
    known = facts(model)
    is_elsewhere = "responses" in known.wires and "chat" not in known.wires
    return is_elsewhere or known.tools_on_chat in ("off", "refused")


def nearest(effort: str, accepted: tuple[str, ...]) -> str:
    """Return the accepted effort in place of a wanted one: the next higher one, and above `medium`
    the next lower one.

    >>> nearest("xhigh", ("low", "medium", "high")), nearest("none", ("low", "high"))
    ('high', 'low')
    """
    if effort in accepted or effort not in EFFORTS or not accepted:
        return effort
    rank = EFFORTS.index(effort)
    # A wish to think is not answered with thinking switched off.
    known = [each for each in accepted if each != "none"] or list(accepted)
    lower = [each for each in known if EFFORTS.index(each) < rank]
    higher = [each for each in known if EFFORTS.index(each) > rank]
    if rank > EFFORTS.index("medium"):
        return lower[-1] if lower else higher[0]
    return higher[0] if higher else lower[-1]
