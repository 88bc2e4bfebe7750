"""Thought signatures of Gemini: made for calls and texts, and checked when they come back.

A signature is valid for the name of its call, the step of the turn and the position among the calls
of that step, on a model of the same generation. A step may come back as an earlier one, since
clients leave out the first steps of a long turn. Signatures that a script sends are remembered.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from wire.gemini.turns import PLACEHOLDER
from wire.gemini.types import Content, Part
from wire.testing.emulator.signing import decoded, mac
from wire.testing.emulator.storage import Remembered
from wire.testing.emulator.vendors.gemini.catalog import Traits

STAND_INS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""Documented values for calls that no Gemini model made; accepted plain and in base64."""

_ACCEPTED = {raw for each in STAND_INS for raw in (each.encode(), decoded(each))} | {
    decoded(PLACEHOLDER)
}
_MAX_STEPS = 100
"""Steps of a turn that a client may leave out."""
# All of Gemini's signatures begin so; a client may tell providers apart by it.
_HEAD = b"\x12\x43\x0a\x41\x01"


@dataclass(frozen=True, slots=True)
class Step:
    """One Content of the model with calls, in the current turn."""

    index: int
    """Of the Content; adjacent Contents of the model count as one."""
    number: int
    """Among the steps of the turn."""
    calls: tuple[tuple[str, str | None], ...]
    """Name and signature of each call."""


@dataclass(slots=True)
class Signatures:
    """The signatures of one emulator."""

    seed: int = 0
    ids: Remembered = field(default_factory=Remembered)
    """Ids of the calls that were sent."""
    _scripted: Remembered = field(default_factory=Remembered)

    def of_call(self, model: Traits, name: str, step: int, position: int = 0) -> str:
        """Return the signature of a call.

        >>> from wire.testing.emulator.vendors.gemini.catalog import traits
        >>> model, signatures = traits("gemini-3.8-flash"), Signatures()
        >>> signature = signatures.of_call(model, "now", 0)
        >>> signature == signatures.of_call(model, "now", 0)
        True
        >>> signature == signatures.of_call(model, "now", 1)
        False
        """
        return self._signature(f"{int(model.generation)} call {name} {step} {position}")

    def of_text(self, text: str) -> str:
        """Return the signature at the end of a text; it is never checked."""
        return self._signature(f"text {text}")

    def remember(self, signature: str, name: str, step: int, position: int) -> None:
        """Accept a signature that a script sends with a call."""
        raw = decoded(signature)
        if raw is not None:
            used = self._scripted.get(raw, frozenset())
            self._scripted[raw] = used | {f"{name} {step} {position}"}

    def is_scripted(self, signature: str) -> bool:
        """Return whether a script sent this signature with any call."""
        return decoded(signature) in self._scripted

    def valid(self, signature: str, model: Traits, name: str, step: int, position: int) -> bool:
        """Return whether a signature belongs to this call, or is accepted with every call."""
        raw = decoded(signature)
        if raw is None:
            return False
        scripted = self._scripted.get(raw, ())
        return raw in _ACCEPTED or any(
            raw == decoded(self.of_call(model, name, made, position))
            or f"{name} {made} {position}" in scripted
            for made in range(step, step + _MAX_STEPS)
        )

    def _signature(self, message: str) -> str:
        first = mac(self.seed, message.encode())
        return base64.b64encode(_HEAD + first + mac(self.seed, first)).decode()


def merged(contents: Sequence[Content]) -> list[Content]:
    """Merge adjacent Contents of the model.

    The histories of Google's own clients have one Content for each chunk of a stream.
    """
    turns: list[Content] = []
    for content in contents:
        if content.role == "model" and turns and turns[-1].role == "model":
            parts = [*(turns[-1].parts or ()), *(content.parts or ())]
            turns[-1] = Content(role="model", parts=parts)
        else:
            turns.append(content)
    return turns


def steps(contents: Sequence[Content]) -> list[Step]:
    """List the steps of the current turn.

    The turn begins after the last Content of the user that holds more than results of calls.
    """
    turns = merged(contents)
    questions = [
        index
        for index, content in enumerate(turns)
        if content.role != "model" and _is_question(content.parts or ())
    ]
    turn: list[Step] = []
    for index in range(max(questions, default=-1) + 1, len(turns)):
        calls = tuple(_calls(turns[index].parts or ())) if turns[index].role == "model" else ()
        if calls:
            turn.append(Step(index, len(turn), calls))
    return turn


def _calls(parts: Sequence[Part]) -> Iterator[tuple[str, str | None]]:
    for part in parts:
        if part.function_call is not None and part.function_call.name:
            yield part.function_call.name, part.thought_signature


def _is_question(parts: Sequence[Part]) -> bool:
    return any(part.function_response is None for part in parts)
