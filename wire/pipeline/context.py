"""The context of a run: JSON values by key."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from wire.core.errors import PipelineError, RuleError
from wire.core.forks import new_in_child
from wire.core.json_values import checked
from wire.core.secret import quoted

GIVEN_KEYS: dict[str, str] = {
    "seed": "`--seed`, `--var-file`, `--var`, else the start node's attribute `seed`",
    "start_time": "the start node: the time at which the run began",
    "exit_time": "the exit node: the time at which the run ended",
    "last_output": "the last agent, or a `set` node: what `attractor run` prints at the end",
    "outcome": "always `success`, for conditions of the other dialect: a node that fails ends the "
    "run",
    "preferred_label": "nobody but your own handlers; empty until then",
}
"""Keys with a fixed name, and who sets them, for docs/pipelines.md."""


class Context(MutableMapping[str, Any]):
    """The values of a run, by key. Tasks and threads may share it.

    >>> context = Context({"seed": "a poem"})
    >>> branch = context.clone()
    >>> branch["tone"] = "glad"
    >>> sorted(context), branch.snapshot(), branch.changed
    (['seed'], {'seed': 'a poem', 'tone': 'glad'}, ('tone',))

    Values are copied on the way in and out, so that nothing outside changes them. A value that JSON
    cannot express raises `PipelineError` with its key.
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._lock = threading.RLock()
        new_in_child(self, _lock=threading.RLock)
        self._values = _checked_copies(values or {})
        self._changed: dict[str, None] = {}

    def __getitem__(self, key: str) -> Any:
        with self._lock:
            return copy.deepcopy(self._values[key])

    def __setitem__(self, key: str, value: Any) -> None:
        self.set_all({key: value})

    def set_all(self, values: Mapping[str, Any]) -> None:
        """Set several keys, or none of them if a value cannot be stored."""
        copies = _checked_copies(values)
        with self._lock:
            self._values.update(copies)
            self._changed.update(dict.fromkeys(copies))

    def __delitem__(self, key: str) -> None:
        with self._lock:
            del self._values[key]
            self._changed.pop(key, None)

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(list(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Context({', '.join(self)})"

    @property
    def changed(self) -> tuple[str, ...]:
        """The keys that were set since the context was created, even to the value they had."""
        with self._lock:
            return tuple(self._changed)

    def snapshot(self) -> dict[str, Any]:
        """Return all keys and values, as copies."""
        with self._lock:
            return copy.deepcopy(self._values)

    def clone(self) -> Context:
        """Return a copy of the context, with no key in `changed`."""
        return Context(self.snapshot())

    def merge(self, branches: Iterable[Context]) -> None:
        """Copy the values that branches have set. For one key, the last branch wins (P-35).

        Values that a branch did not set are ignored, because another branch may have set them.
        """
        for branch in branches:
            values = branch.snapshot()
            for key in branch.changed:
                self[key] = values[key]


def _checked_copies(values: Mapping[str, Any]) -> dict[str, Any]:
    for key, value in values.items():
        if not isinstance(key, str) or not key:
            raise PipelineError(f"context: expected a non-empty text as key, not {quoted(key)}")
        try:
            checked(value, key, plain=True)
        except RuleError as problem:
            raise PipelineError(f"context: {problem.message}") from None
    return {key: _copied(value) for key, value in values.items()}


def _copied(value: Any) -> Any:
    """Copy a value as a checkpoint returns it: tuples become lists."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list | tuple) else value


# --- variables of the command line ----------------------------------------------------------------


def variables(
    seed: str | None = None, file: str | bytes | None = None, assignments: Iterable[str] = ()
) -> dict[str, Any]:
    """Build the first values of a context: the seed, a JSON object, and `key=value` texts (P-55).

    Of values with the same key, the later one wins.

    >>> variables("a poem", '{"tone": "glad"}', ["tone=sad", "sum=1+1=2"])
    {'seed': 'a poem', 'tone': 'sad', 'sum': '1+1=2'}

    Raises `PipelineError` for a text without `=` or key, and for a file without a JSON object.
    """
    values: dict[str, Any] = {} if seed is None else {"seed": seed}
    if file is not None:
        values |= _object(file)
    for each in assignments:
        key, sign, value = each.partition("=")
        if not sign or not key.strip():
            raise PipelineError(f"--var: expected key=value, not {each!r}")
        values[key.strip()] = value
    return values


def _object(text: str | bytes) -> dict[str, Any]:
    from wire.core.configuration import Unreadable, read_configuration

    try:
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        value = read_configuration(".json", data)
    except (Unreadable, UnicodeDecodeError) as problem:
        raise PipelineError(f"--var-file: {problem}") from None
    if not isinstance(value, dict):
        raise PipelineError(f"--var-file: expected a JSON object, not {type(value).__name__}")
    return value
