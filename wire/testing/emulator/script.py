"""Scripts: what the emulator answers, as JSON or as Python functions.

A script is `{"steps": [...]}`, or the list alone. The first step that matches a request and is not
used up answers it; if none does, the small model answers. A step has these keys:

- `match`: `endpoint` (`generateContent`, `chat.completions`, `responses`, `messages`, `files.get`,
  `decisions`, ...), `model` (with `*`), `text` (a regular expression without look-arounds and
  references, searched in the last text of the user), `number` (of the request, from 1); all must
  fit. Without `endpoint`, only requests for output of a model match. `realtime`, `live` and
  `responses.socket` are sessions over WebSocket: a fault alone is about all their messages.
- `times`: how many requests it answers, 1 unless given; 0 means no limit.
- `say`: a text, or `{"text", "thoughts", "calls": [{"name", "args"}], "finish", "sources",
  "hops"}`: sent in the vendor's format as output of the model, streamed or not, signed. With
  `hops`, an answer of Gemini takes that many requests: each but the last ends with `CONTINUATION`,
  or with `requires_continuation` at Interactions, and a token; a request with the token gets what
  follows. Of the script, only a step that is a fault alone applies to such a request. `sources` is
  a list of `{"url", "title", "quote", "cites"}`: the pages that the text rests on, as a search
  finds them; `quote` is text of the page, `cites` the part of the answer, which is all of it if
  absent.
  `finish` of `responses` may be `refusal`, `content_filter`, `failed` or `error` (the stream ends
  with an `error` event alone). With `pause_turn`, a message ends with a call of the first tool of
  the request that the server runs; a request that ends with such a message gets its result first.
- `answer`: a whole body in the vendor's format; `status` is its status if not 200. A stream sends
  it as its one event, `messages` and `responses` as the events of a message or a response.
- `stream`: a list of events in the vendor's format; a request that wants no stream gets them
  combined.
- `fault`: as in `wire.testing.emulator.faults`, alone or with other keys.

A Python function takes the request (`wire.testing.emulator.received.Received`) and returns a step
without `match` and `times`, or `None` to leave the request to the next step.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wire.catalogue.stops import Stop, reason_of
from wire.core.errors import ConfigurationError
from wire.core.files import read_whole
from wire.core.json_values import json_of_file
from wire.neutral.messages import Citation, Reply
from wire.testing.cassette.faults import Fault
from wire.testing.emulator.faults import fault_of
from wire.testing.emulator.model import answer
from wire.testing.emulator.patterns import Unsearchable, searcher
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.sources import cited

Function = Callable[[Received], Mapping[str, Any] | None]
Script = str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any] | Function] | Function | None

_STEP_KEYS = frozenset({"match", "times", "say", "answer", "status", "stream", "fault"})
_MATCH_KEYS = frozenset({"endpoint", "model", "text", "number"})
_OUTPUT_KEYS = frozenset({"text", "thoughts", "calls", "finish", "thinking", "sources", "hops"})
_SOURCE_KEYS = frozenset({"url", "title", "quote", "cites"})
_CITATION_KEYS = (("url", "url"), ("title", "title"), ("text", "quote"))


@dataclass(slots=True)
class Step:
    """One step."""

    match: Mapping[str, Any] = field(default_factory=dict)
    left: int | None = 1
    """How many more requests it answers; `None` means no limit."""
    say: Reply | None = None
    hops: int = 1
    """Requests that `say` takes, at a vendor whose answers go on with a token."""
    answer: Any = None
    status: int = 200
    stream: Sequence[Any] | None = None
    fault: Fault | None = None
    function: Function | None = None
    path: str = "step"
    """Where it stands in the script."""

    @property
    def is_fault(self) -> bool:
        """Whether it is a fault alone."""
        return self.fault is not None and self.say is self.answer is self.stream is None

    def fits(self, number: int, route: Route, model: str, question: str) -> bool:
        """Return whether the step answers this request."""
        match = self.match
        return (
            self.left != 0
            and (route.endpoint == match["endpoint"] if "endpoint" in match else route.generates)
            and fnmatch.fnmatchcase(model, match.get("model", "*"))
            and match.get("number", number) == number
            and ("text" not in match or searcher(match["text"]).found(question))
        )


def choose(
    steps: Iterable[Step], request: Received, route: Route, model: str, question: str
) -> Step | None:
    """Return the step that answers a request, and use up one of its turns."""
    for step in steps:
        if step.function is not None:
            result = step.function(request)
            if result is not None:
                return step_of(result)
        elif step.fits(request.number, route, model, question):
            step.left = None if step.left is None else step.left - 1
            return step
    return None


def steps_of(script: Script) -> list[Step]:
    """Parse a script. Raises `ConfigurationError` that names the wrong step."""
    if script is None:
        return []
    if callable(script):
        return [Step(left=None, function=script)]
    if isinstance(script, (str, Path)):
        script = read(script)
    listed = script.get("steps") if isinstance(script, Mapping) else script
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)):
        raise ConfigurationError('script: expected {"steps": [...]} or a list of steps')
    return [
        Step(left=None, function=each) if callable(each) else step_of(each, f"steps[{index}]")
        for index, each in enumerate(listed)
    ]


def read(path: str | Path) -> Any:
    """Read the JSON of a script's file. Raises `ConfigurationError`."""
    try:
        data = read_whole(path, ConfigurationError)
    except ConfigurationError as cause:
        raise ConfigurationError(f"script: {cause.message}") from None
    return json_of_file(data, f"script: {path}", ConfigurationError)


def step_of(value: Any, path: str = "step") -> Step:
    """Parse one step. Raises `ConfigurationError`."""
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"script: {path}: expected an object, not {type(value).__name__}")
    _check_keys(value, _STEP_KEYS, path)
    match = value.get("match") or {}
    _check_match(match, f"{path}.match")
    _check_keys(match, _MATCH_KEYS, f"{path}.match")
    if not set(value) & {"say", "answer", "stream", "fault"}:
        remedy = f'; {{"fault": "{value["status"]}"}} is an error' if "status" in value else ""
        raise ConfigurationError(f"script: {path}: expected say, answer, stream or fault{remedy}")
    times, status, stream = value.get("times", 1), value.get("status", 200), value.get("stream")
    _check_type(times, int, f"{path}.times")
    _check_type(status, int, f"{path}.status")
    if times < 0 or not 200 <= status <= 599:
        raise ConfigurationError(f"script: {path}: expected times from 0, status from 200 to 599")
    if stream is not None:
        _check_type(stream, (list, tuple), f"{path}.stream")
    say, hops = _said(value["say"], f"{path}.say") if "say" in value else (None, 1)
    return Step(
        match=match,
        left=times or None,
        say=say,
        hops=hops,
        answer=value.get("answer"),
        status=status,
        stream=stream,
        fault=fault_of(value["fault"]) if "fault" in value else None,
        path=path,
    )


def _said(value: Any, path: str) -> tuple[Reply, int]:
    """Return a reply, and the requests that it takes."""
    if isinstance(value, str):
        return answer(value), 1
    _check_type(value, Mapping, path)
    _check_keys(value, _OUTPUT_KEYS, path)
    texts = {name: value.get(name) or "" for name in ("text", "thoughts", "finish")}
    for name, text in texts.items():
        _check_type(text, str, f"{path}.{name}")
    calls, thinking = value.get("calls") or [], value.get("thinking") or 0
    _check_type(thinking, int, f"{path}.thinking")
    hops = value.get("hops", 1)
    _check_type(hops, int, f"{path}.hops")
    if hops < 1:
        raise ConfigurationError(f"script: {path}.hops: expected a number from 1")
    _check_type(calls, (list, tuple), f"{path}.calls")
    sources = value.get("sources") or []
    _check_type(sources, (list, tuple), f"{path}.sources")
    for index, source in enumerate(sources):
        _check_source(source, texts["text"], f"{path}.sources[{index}]")
    for index, call in enumerate(calls):
        _check_type(call, Mapping, f"{path}.calls[{index}]")
        _check_type(call.get("name"), str, f"{path}.calls[{index}].name")
    finish, text = texts["finish"], texts["text"]
    reply = answer(
        text,
        texts["thoughts"],
        [(each["name"], each.get("args") or {}) for each in calls],
        Stop(reason_of(finish), raw=finish) if finish else None,
        thinking or (8 if texts["thoughts"] else 0),
        [_citation(each, text) for each in sources],
    )
    return reply, hops


def _citation(source: Mapping[str, str], text: str) -> Citation:
    page = {name: source.get(key, "") for name, key in _CITATION_KEYS}
    return cited(text, source.get("cites", ""), **page)


def _check_source(source: Any, text: str, path: str) -> None:
    _check_type(source, Mapping, path)
    _check_keys(source, _SOURCE_KEYS, path)
    _check_type(source.get("url"), str, f"{path}.url")
    for name, value in source.items():
        _check_type(value, str, f"{path}.{name}")
    if source.get("cites", "") not in text:
        raise ConfigurationError(f"script: {path}.cites: the text does not contain it")


def _check_match(match: Any, path: str) -> None:
    _check_type(match, Mapping, path)
    for name, kind in (("endpoint", str), ("model", str), ("text", str), ("number", int)):
        if name in match:
            _check_type(match[name], kind, f"{path}.{name}")
    try:
        searcher(match.get("text", ""))
    except Unsearchable as cause:
        raise ConfigurationError(f"script: {path}.text: regular expression: {cause}") from None


def _check_type(value: Any, kind: type | tuple[type, ...], path: str) -> None:
    if not isinstance(value, kind) or isinstance(value, bool):
        names = {list: "a list", str: "a text", int: "a whole number", Mapping: "an object"}
        expected = names[kind[0] if isinstance(kind, tuple) else kind]
        raise ConfigurationError(f"script: {path}: expected {expected}, not {value!r:.100}")


def _check_keys(value: Mapping[str, Any], keys: frozenset[str], path: str) -> None:
    for key in value:
        if key not in keys:
            remedy = '; {"say": {"calls": [{"name": ..., "args": ...}]}} calls a tool'
            raise ConfigurationError(
                f"script: {path}: {key!r} is unknown; there are {', '.join(sorted(keys))}"
                f"{remedy if keys is _STEP_KEYS and 'call' in str(key) else ''}"
            )
