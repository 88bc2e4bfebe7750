"""What a run knows: keys and JSON values."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from wire.errors import PipelineError, RuleError
from wire.sessions.session_file import check_sayable


class Context(MutableMapping[str, Any]):
    """The values of a run, by key; several tasks and threads may use it at once.

    >>> context = Context({"seed": "a poem"})
    >>> branch = context.clone()
    >>> branch["tone"] = "glad"
    >>> sorted(context), branch.snapshot(), branch.changed
    (['seed'], {'seed': 'a poem', 'tone': 'glad'}, ('tone',))

    What goes in and what comes out are copies: nobody changes a value in it from outside. Raises
    `PipelineError`, which names the key, for what JSON cannot say.
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._lock = threading.RLock()
        self._values: dict[str, Any] = {}
        self._changed: dict[str, None] = {}
        self.update(values or {})
        self._changed.clear()

    def __getitem__(self, key: str) -> Any:
        with self._lock:
            return copy.deepcopy(self._values[key])

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str) or not key:
            raise PipelineError(f"context: a key is a text and not empty, not {key!r}")
        try:
            check_sayable(value, key)
        except RuleError as problem:
            raise PipelineError(f"context: {problem.message}") from None
        with self._lock:
            self._values[key] = _as_read_again(value)
            self._changed[key] = None

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
        """The keys that were set since it was made, whether or not their values are others now."""
        with self._lock:
            return tuple(self._changed)

    def snapshot(self) -> dict[str, Any]:
        """All keys and values, as copies."""
        with self._lock:
            return copy.deepcopy(self._values)

    def clone(self) -> Context:
        """A context of its own with the same values, in which nothing counts as changed."""
        return Context(self.snapshot())

    def merge(self, branches: Iterable[Context]) -> None:
        """Take over what branches have set; of those that set the same key, the last one wins
        (P-35).

        What a branch did not touch is not taken from it: its copy may be older than what another
        branch has set.
        """
        for branch in branches:
            values = branch.snapshot()
            for key in branch.changed:
                self[key] = values[key]


def _as_read_again(value: Any) -> Any:
    """A copy that is what a checkpoint gives back: tuples are lists."""
    if isinstance(value, dict):
        return {key: _as_read_again(item) for key, item in value.items()}
    return [_as_read_again(item) for item in value] if isinstance(value, list | tuple) else value


# --- what is given on the command line ------------------------------------------------------------


def variables(
    seed: str | None = None, file: str | bytes | None = None, assignments: Iterable[str] = ()
) -> dict[str, Any]:
    """What a run begins with: the seed, then the JSON object of a file, then `key=value` texts;
    later ones win (P-55).

    >>> variables("a poem", '{"tone": "glad"}', ["tone=sad", "sum=1+1=2"])
    {'seed': 'a poem', 'tone': 'sad', 'sum': '1+1=2'}

    Raises `PipelineError` for a text without `=` or key, and for a file that is no JSON object.
    """
    found: dict[str, Any] = {} if seed is None else {"seed": seed}
    if file is not None:
        found |= _object(file)
    for each in assignments:
        key, sign, value = each.partition("=")
        if not sign or not key.strip():
            raise PipelineError(f"--var: key=value is wanted, not {each!r}")
        found[key.strip()] = value
    return found


def _object(text: str | bytes) -> dict[str, Any]:
    try:
        found = json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
    except ValueError as problem:
        raise PipelineError(f"--var-file: no JSON: {problem}") from None
    except RecursionError:
        raise PipelineError("--var-file: nested too deeply") from None
    if not isinstance(found, dict):
        raise PipelineError(f"--var-file: a JSON object is wanted, not {type(found).__name__}")
    return found
