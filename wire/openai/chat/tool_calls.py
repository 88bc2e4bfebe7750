"""Assembles tool calls from the deltas of a stream (Q8 to Q12).

`index` should identify the call of a delta, but hosts number calls from any start, number all of
them 0, send no number, repeat fragments, or send a call in one piece. No call is dropped, and
arguments that are not valid JSON are kept as text: the caller decides what to do with them.
"""

from __future__ import annotations

import sys
from typing import Any

from wire.core.jsonstream import Cutter
from wire.core.lenient import Halves, well_formed
from wire.openai.chat.types import CustomCall, FunctionCall, ToolCall
from wire.openai.common.arguments import arguments_of, compact_json


def present(text: str | None) -> str | None:
    """Return `None` for the empty text and the text "null"; any other text unchanged.

    Some servers send "null" for an absent field (Q8).

    >>> present("null"), present("call_1")
    (None, 'call_1')
    """
    return None if text in ("", "null") else text


class OpenCall:
    """One tool call while its deltas arrive."""

    def __init__(self, position: int, index: int | None, kind: str) -> None:
        self.position = position
        """How many calls began before it."""
        self.index = index
        self.kind = kind
        self.id: str | None = None
        self.extra: dict[str, Any] | None = None
        self._names: list[str] = []  # fragments of the name
        self._name_length = 0
        self._pieces: list[str] = []  # fragments of the arguments
        self._length = 0
        self._unread: list[str] = []
        self._halves = Halves()
        self._unscanned: list[str] = []  # fragments that `complete` has not scanned
        self._objects = Cutter(sys.maxsize)
        self._ended: bool | None = None  # whether the first object in the text is all of it
        self.snapshot: str = ""
        """The arguments as JSON text, if they came as an object instead of text."""
        self._snapshot_ended: tuple[str, bool] = ("", False)

    @property
    def name(self) -> str:
        """The name so far."""
        if len(self._names) > 1:
            self._names = [well_formed("".join(self._names))]
        return self._names[0] if self._names else ""

    def is_named(self, name: str) -> bool:
        """Return whether `name` is the name so far; fragments are not joined for each delta."""
        return len(name) == self._name_length and name == self.name

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
        """The part of `text` that `add_arguments` has not returned: an object, which a later delta
        may still replace, or half a surrogate pair.
        """
        return ("" if self._pieces else self.snapshot) or self._halves.rest

    @property
    def complete(self) -> bool:
        """Whether the arguments so far are a non-empty JSON object."""
        if self.snapshot:
            if self._snapshot_ended[0] is not self.snapshot:
                self._snapshot_ended = self.snapshot, bool(arguments_of(self.snapshot))
            return self._snapshot_ended[1]
        # Each fragment is scanned once, and the text is parsed once, when its first object ends:
        # parsing it for each delta would be quadratic.
        for piece in self._unscanned:
            if self._ended is not None:
                self._ended = self._ended and not piece.strip()
            elif self._objects.feed(piece.encode()):
                self._ended = bool(arguments_of(self.text))
        self._unscanned.clear()
        return bool(self._ended)

    @property
    def has_arguments(self) -> bool:
        """Whether a fragment of the arguments arrived as text."""
        return self._length > 0

    def take(self) -> str:
        """Return the arguments that were added since the last call of `take`, without `rest`."""
        taken, self._unread = "".join(self._unread), []
        return taken

    def add_name(self, name: str) -> None:
        """Add a fragment of the name. The full name again is a repetition and is ignored (Q10)."""
        # Some servers repeat the name in each delta; joining the repetitions would name no tool.
        if not self.is_named(name):
            self._names.append(name if self._names else well_formed(name))
            self._name_length += len(name)

    def add_arguments(self, arguments: Any) -> None:
        """Add a fragment of the arguments (Q11).

        A value that is not a text is the complete arguments: it replaces the earlier ones, and text
        after it is ignored. The exception is `{}`: some servers begin with it and then send the
        arguments as text.
        """
        if arguments is None or arguments == "":
            return
        if not isinstance(arguments, str):
            if arguments != {} or not self._pieces:
                self.snapshot = compact_json(arguments)
            return
        if self.snapshot not in ("", "{}"):
            return
        self.snapshot = ""
        # Some servers end a call by sending its complete arguments again. Two equal fragments in
        # the middle of a text are not a repetition, hence `complete`.
        if len(arguments) == self._length and arguments == self.text and self.complete:
            return
        added = self._halves.feed(arguments)
        self._pieces.append(added)
        self._unread.append(added)
        self._unscanned.append(added)
        self._length += len(added)

    def add_extra(self, extra: dict[str, Any]) -> None:
        """Add further keys of the call."""
        self.extra = {} if self.extra is None else self.extra
        self.extra.update(extra)

    def ends_before(self, name: str | None, arguments: Any) -> bool:
        """Return whether this call is complete, so that a name and arguments belong to another one.

        Two JSON objects in a row are not JSON: glued together, both calls would be lost.
        """
        other_name = name is not None and not self.is_named(name)
        other_object = (
            isinstance(arguments, str)
            and arguments.lstrip()[:1] == "{"
            and not (len(arguments) == self._length and arguments == self.text)
        )
        return (other_name or other_object) and self.complete


class Calls:
    """The tool calls of one message, in the order in which their first deltas arrived."""

    def __init__(self) -> None:
        self.all: list[OpenCall] = []
        self._last: OpenCall | None = None
        self._by_index: dict[int, OpenCall] = {}
        self._by_id: dict[str, OpenCall] = {}
        self._legacy: OpenCall | None = None

    def add(self, delta: ToolCall) -> OpenCall:
        """Add a delta; returns its call."""
        function, custom = delta.function or FunctionCall(), delta.custom or CustomCall()
        # Some servers send the fields of both kinds, with "" in those of the other kind.
        kind = (
            "custom"
            if (delta.function is None and delta.custom is not None) or present(custom.name)
            else "function"
        )
        id = well_formed(present(delta.id) or "") or None
        name = present(function.name) or present(custom.name)
        arguments = function.arguments if kind == "function" else custom.input
        call = self._continued_call(delta.index, id, name, arguments)
        if call is None:
            call = self._new_call(delta.index, kind)
        if call.id is None and id is not None:
            call.id = id
            self._by_id[id] = call
        if name is not None:
            call.add_name(name)
        if delta.extra_content is not None:
            call.add_extra(delta.extra_content)
        call.add_arguments(function.arguments if call.kind == "function" else custom.input)
        self._last = call
        return call

    def add_legacy(self, delta: FunctionCall) -> OpenCall | None:
        """Add a delta of the deprecated `function_call`, a single call without an id (Q12).

        Returns its call; `None` if the delta is empty and there is no call yet.
        """
        if self._legacy is None:
            if not present(delta.name) and not delta.arguments:
                return None
            self._legacy = self._new_call(None, "function")
        name = present(delta.name)
        if name is not None:
            self._legacy.add_name(name)
        self._legacy.add_arguments(delta.arguments)
        return self._legacy

    def _continued_call(
        self, index: int | None, id: str | None, name: str | None, arguments: Any
    ) -> OpenCall | None:
        """Return the call that a delta continues; `None` if the delta begins a new call (Q9)."""
        if index is not None:
            # The index is only a key. Some hosts reuse one for the next call; another id shows it.
            call = self._by_index.get(index)
            if call is None or (id is not None and call.id is not None and call.id != id):
                return None
            # A host that numbers all calls 0 and sends no ids begins the next call with a name.
            # Complete arguments distinguish it from a host that sends a name in several pieces.
            has_new_name = (
                id is None and name is not None and (call.id is None or not call.is_named(name))
            )
            if has_new_name and call.complete:
                return None
            return None if id is not None and call.ends_before(name, arguments) else call
        # Without an index, an unknown id, or a name without an id, begins a call. A delta with
        # neither can only be arguments, which hosts send right after the call that they belong to.
        if id is not None:
            call = self._by_id.get(id)
            return None if call is None or call.ends_before(name, arguments) else call
        return None if name is not None else self._last

    def _new_call(self, index: int | None, kind: str) -> OpenCall:
        call = OpenCall(len(self.all), index, kind)
        self.all.append(call)
        if index is not None:
            self._by_index[index] = call
        return call
