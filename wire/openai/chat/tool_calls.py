"""Which tool call a delta belongs to, and what its arguments are in the end (Q8 to Q12).

Servers number calls from any start, give all of them the number 0, give none, repeat what they
said, or send a call in one piece. No call is ever dropped, and arguments that cannot be read are
kept as they came.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from wire.core.lenient import Halves, said
from wire.core.memory import sayable
from wire.openai.chat.types import CustomCall, FunctionCall, ToolCall


def present(text: str | None) -> str | None:
    """`None` for what means absent: the empty text, and the word null that some servers
    write (Q8).
    """
    return None if text in ("", "null") else text


class OpenCall:
    """One call while it is being sent."""

    def __init__(self, index: int | None, kind: str) -> None:
        self.index = index
        self.kind = kind
        self.id: str | None = None
        self.name = ""
        self.extra: dict[str, Any] | None = None
        self._pieces: list[str] = []
        self._length = 0
        self._halves = Halves()
        self.snapshot = ""
        """The arguments, where they came as a value and not as text."""

    @property
    def text(self) -> str:
        """The arguments so far."""
        if self.snapshot:
            return self.snapshot
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return (self._pieces[0] if self._pieces else "") + self._halves.rest

    @property
    def rest(self) -> str:
        """What `add_arguments` has not given yet: a value that may still be replaced, or half a
        surrogate pair.
        """
        return ("" if self._pieces else self.snapshot) or self._halves.rest

    @property
    def complete(self) -> bool:
        """The arguments are a JSON object that says something."""
        text = self.text
        return text.rstrip()[-1:] == "}" and bool(arguments_of(text))

    def add_name(self, name: str) -> None:
        """A name that is there already is a repetition, any other one a further piece (Q10)."""
        if name != self.name:
            self.name = said(self.name + name)

    def add_arguments(self, arguments: Any) -> str:
        """Take a fragment; gives what it adds to the text (Q11).

        A value that is no text is a whole and replaces what was there, but for `{}`, with which
        some servers begin.
        """
        if arguments is None or arguments == "":
            return ""
        if not isinstance(arguments, str):
            if arguments != {} or not self._pieces:
                self.snapshot = _written(arguments)
            return ""
        if self.snapshot not in ("", "{}"):
            return ""
        self.snapshot = ""
        if len(arguments) == self._length and arguments == self.text and self.complete:
            return ""
        added = self._halves.feed(arguments)
        self._pieces.append(added)
        self._length += len(added)
        return added


class Calls:
    """Deltas in, calls in the order in which they were opened."""

    def __init__(self) -> None:
        self.all: list[OpenCall] = []
        self._last: OpenCall | None = None
        self._by_index: dict[int, OpenCall] = {}
        self._legacy: OpenCall | None = None

    def add(self, delta: ToolCall) -> tuple[OpenCall, str]:
        """The call that a delta belongs to, and what it adds to its arguments."""
        function, custom = delta.function or FunctionCall(), delta.custom or CustomCall()
        # Some fill in all fields of both kinds, most of them with "".
        kind = (
            "custom"
            if (delta.function is None and delta.custom is not None) or present(custom.name)
            else "function"
        )
        id = said(present(delta.id) or "") or None
        name = present(function.name) or present(custom.name)
        call = self._belongs(delta.index, id, name) or self._opened(delta.index, kind)
        call.id = call.id or id
        if name is not None:
            call.add_name(name)
        if delta.extra_content is not None:
            call.extra = {**(call.extra or {}), **delta.extra_content}
        added = call.add_arguments(function.arguments if call.kind == "function" else custom.input)
        self._last = call
        return call, added

    def add_legacy(self, delta: FunctionCall) -> tuple[OpenCall, str] | None:
        """The one call of `function_call`, which has no id (Q12); `None` if there is none yet, and
        this begins none.
        """
        if self._legacy is None:
            if not present(delta.name) and not delta.arguments:
                return None
            self._legacy = self._opened(None, "function")
        name = present(delta.name)
        if name is not None:
            self._legacy.add_name(name)
        return self._legacy, self._legacy.add_arguments(delta.arguments)

    def _belongs(self, index: int | None, id: str | None, name: str | None) -> OpenCall | None:
        """The open call of a delta, `None` if it opens one (Q9)."""
        if index is not None:
            call = self._by_index.get(index)
            if call is None or (id is not None and call.id is not None and call.id != id):
                return None
            fresh = id is None and name is not None and (call.id is None or call.name != name)
            return None if fresh and call.complete else call
        if id is not None:
            return next((call for call in self.all if call.id == id), None)
        return None if name is not None else self._last

    def _opened(self, index: int | None, kind: str) -> OpenCall:
        call = OpenCall(index, kind)
        self.all.append(call)
        if index is not None:
            self._by_index[index] = call
        return call


def _written(value: Any) -> str:
    """A value as JSON without blanks."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return sayable(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).decode()


def arguments_of(text: str, *, cut: bool = False) -> dict[str, Any] | None:
    """Arguments as an object; `None` for what is no JSON object (Q11).

    Nothing, and the word null, are a call without arguments; where the answer was cut off they are
    a call without its end.

    >>> (
    ...     arguments_of('{"city": "Paris"}'),
    ...     arguments_of(""),
    ...     arguments_of("", cut=True),
    ...     arguments_of("[1]"),
    ... )
    ({'city': 'Paris'}, {}, None, None)
    """
    if text.strip() in ("", "null"):
        return None if cut else {}
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        try:
            found = json.loads(
                text, parse_constant=_refused
            )  # of the standard library, since it reads half a surrogate pair
        except (ValueError, RecursionError):
            return None
    except (UnicodeEncodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
