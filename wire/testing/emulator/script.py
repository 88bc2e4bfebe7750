"""What a script says: steps as JSON or as Python functions.

A script is `{"steps": [...]}`, or the list alone. The first step that matches a request and has
turns left answers it; where none does, the model answers. A step:

- `match`: `endpoint` (`generateContent`, `chat.completions`, `messages`, `files.get`, ...), `model`
  (with `*`), `text` (a regular expression, looked for in the last words of the user), `number` (of
  the request, from 1); all must fit. Without `endpoint`, only requests for answers of a model
  match.
- `times`: how often it answers, 1 unless given; 0 is for ever.
- `say`: a text, or `{"text", "thoughts", "calls": [{"name", "args"}], "finish"}`: said as the model
  would, streamed or not, signed.
- `answer`: a whole body; `status` beside it if it is no 200. In a stream it is the one event; of
  `messages` it is told in events.
- `stream`: a list of chunks; for a request that is no stream they are put together.
- `fault`: as in `wire.testing.emulator.faults`, alone or beside the others.

A Python function takes the request (`wire.testing.emulator.received.Received`) and gives a step
without `match` and `times`, or `None` if it has nothing to say.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wire.errors import ConfigurationError
from wire.testing.emulator.faults import Fault, fault_of
from wire.testing.emulator.model import Said
from wire.testing.emulator.received import Received, Route

Function = Callable[[Received], Mapping[str, Any] | None]
Script = str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any] | Function] | Function | None

_KEYS = frozenset({"match", "times", "say", "answer", "status", "stream", "fault"})
_MATCHED = frozenset({"endpoint", "model", "text", "number"})
_SAID = frozenset({"text", "thoughts", "calls", "finish", "thinking"})
OF_A_MODEL = frozenset({"generateContent", "streamGenerateContent", "chat.completions", "messages"})


@dataclass(slots=True)
class Step:
    """One step."""

    match: Mapping[str, Any] = field(default_factory=dict)
    left: int | None = 1
    say: Said | None = None
    answer: Any = None
    status: int = 200
    stream: Sequence[Any] | None = None
    fault: Fault | None = None
    function: Function | None = None

    def fits(self, request: Received, where: Route, text: str) -> bool:
        """Whether a request is the one that this step waits for."""
        endpoint = where.endpoint.removeprefix("models.")
        wanted = self.match
        return (
            self.left != 0
            and (endpoint == wanted["endpoint"] if "endpoint" in wanted else endpoint in OF_A_MODEL)
            and fnmatch.fnmatchcase(where.name, wanted.get("model", "*"))
            and wanted.get("number", request.number) == request.number
            and ("text" not in wanted or re.search(wanted["text"], text) is not None)
        )


def steps_of(script: Script) -> list[Step]:
    """The steps of a script. Raises `ConfigurationError` that says which one is wrong, and why."""
    if script is None:
        return []
    if callable(script):
        return [Step(left=None, function=script)]
    if isinstance(script, (str, Path)):
        script = read(script)
    listed = script.get("steps") if isinstance(script, Mapping) else script
    if not isinstance(listed, Sequence) or isinstance(listed, (str, bytes)):
        raise ConfigurationError('script: {"steps": [...]} or a list of steps is wanted')
    return [
        Step(left=None, function=each) if callable(each) else step_of(each, f"steps[{index}]")
        for index, each in enumerate(listed)
    ]


def read(path: str | Path) -> Any:
    """The JSON of a script's file."""
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except OSError as cause:
        raise ConfigurationError(
            f"script: {path}: cannot be read: {cause.strerror or type(cause).__name__}"
        ) from None
    except ValueError as cause:
        raise ConfigurationError(f"script: {path}: no JSON: {cause}") from None


def step_of(said: Any, path: str = "step") -> Step:
    """One step out of its JSON."""
    if not isinstance(said, Mapping):
        raise ConfigurationError(f"script: {path}: an object is wanted, not {type(said).__name__}")
    _known(said, _KEYS, path)
    match = said.get("match") or {}
    _known(match, _MATCHED, f"{path}.match")
    if not set(said) & {"say", "answer", "stream", "fault"}:
        raise ConfigurationError(f"script: {path}: say, answer, stream or fault is wanted")
    times = said.get("times", 1)
    return Step(
        match=match,
        left=times or None,
        say=_said(said["say"], f"{path}.say") if "say" in said else None,
        answer=said.get("answer"),
        status=int(said.get("status", 200)),
        stream=said.get("stream"),
        fault=fault_of(said["fault"]) if "fault" in said else None,
    )


def _said(words: Any, path: str) -> Said:
    if isinstance(words, str):
        return Said(text=words)
    _known(words, _SAID, path)
    calls: Iterable[Any] = words.get("calls") or ()
    return Said(
        text=words.get("text") or "",
        thoughts=words.get("thoughts") or "",
        calls=[(each["name"], each.get("args") or {}) for each in calls],
        finish=words.get("finish") or "STOP",
        thinking=int(words.get("thinking") or (8 if words.get("thoughts") else 0)),
    )


def _known(said: Mapping[str, Any], keys: frozenset[str], path: str) -> None:
    for key in said:
        if key not in keys:
            raise ConfigurationError(
                f"script: {path}: {key!r} is not known; there are {', '.join(sorted(keys))}"
            )


def together(chunks: Sequence[Any]) -> dict[str, Any]:
    """Chunks as one answer: their parts in order, all else from the last one that has it."""
    found: dict[str, Any] = {}
    parts: list[Any] = []
    candidate: dict[str, Any] = {}
    for chunk in chunks:
        found |= {key: value for key, value in chunk.items() if key != "candidates"}
        for each in (chunk.get("candidates") or ())[:1]:
            parts += (each.get("content") or {}).get("parts") or ()
            candidate |= {key: value for key, value in each.items() if key != "content"}
    return {"candidates": [{"content": {"parts": parts, "role": "model"}, **candidate}], **found}
