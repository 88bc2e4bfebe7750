"""Thought signatures: given out with calls and texts, and known again when they come back.

One is valid for the name of its call, the step of the turn, and the place among the calls of that
step, on a model of the same family. It is made of these and a seed, so that it says nothing and
needs no memory; what a script signs is remembered.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from wire.gemini.turns import PLACEHOLDER
from wire.gemini.types import Content, FunctionCall, Part
from wire.testing.emulator.catalog import Traits

STAND_INS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""Documented for calls that no Gemini made; taken as they are, and in base64."""


_HEAD = b"\x12\x43\x0a\x41\x01"  # as all begin that Gemini makes, so that none is taken for another provider's
_CLAUDES_HEAD = b"\x12\xb6\x02\x0a\x23"  # as those begin that Claude makes
_NONCE = 8


@dataclass(frozen=True, slots=True)
class Step:
    """A model Content with calls in the current turn."""

    index: int
    """Of the Content, adjacent ones of the model taken as one."""
    number: int
    calls: tuple[tuple[FunctionCall, str | None], ...]


@dataclass(slots=True)
class Signatures:
    """What one emulator signs with."""

    seed: int = 0
    ids: set[str] = field(default_factory=set)
    """Of the calls that were given out."""
    _given: dict[bytes, set[str]] = field(default_factory=dict)
    _thoughts: set[tuple[str, str]] = field(default_factory=set)

    def of_call(self, model: Traits, name: str, step: int, place: int = 0) -> str:
        """The signature of a call.

        >>> from wire.testing.emulator.catalog import traits
        >>> model = traits("gemini-3-pro-preview")
        >>> Signatures().of_call(model, "now", 0) == Signatures().of_call(model, "now", 0) != Signatures().of_call(model, "now", 1)
        True
        """
        return self._made(f"{int(model.generation)} call {name} {step} {place}")

    def of_text(self, text: str) -> str:
        """The signature at the end of a text; nobody checks it."""
        return self._made(f"text {text}")

    def remember(self, signature: str, name: str, step: int, place: int) -> None:
        """A script signed a call itself."""
        raw = decoded(signature)
        if raw is not None:
            self._given.setdefault(raw, set()).add(f"{name} {step} {place}")

    def given(self, signature: str) -> bool:
        """Whether a script gave this signature to any call."""
        return decoded(signature) in self._given

    def valid(self, signature: str, model: Traits, name: str, step: int, place: int) -> bool:
        """Whether a signature is of this call, or stands for one that nobody signed."""
        raw = decoded(signature)
        if raw is None:
            return False
        known = raw in _STAND_INS or raw == decoded(self.of_call(model, name, step, place))
        return known or f"{name} {step} {place}" in self._given.get(raw, ())

    def of_thought(self, family: str, shown: str, id: str) -> str:
        """The signature of a thought of Claude's, of which `shown` is what the answer shows;
        another one in each answer.

        >>> signatures = Signatures()
        >>> signature = signatures.of_thought("sonnet 4.5", "Hm.", "msg_1")
        >>> [signatures.knows_thought(signature, *each) for each in (("sonnet 4.5", "Hm."), ("sonnet 4.5", "Oh."), ("opus 5", "Hm."))]
        [True, False, False]
        """
        return base64.b64encode(
            self._thought(family, shown, hashlib.sha256(id.encode()).digest()[:_NONCE])
        ).decode()

    def knows_thought(self, signature: str, family: str, shown: str) -> bool:
        """Whether a signature was given out with this thought, by a model of this family or by a
        script.
        """
        if (signature, shown) in self._thoughts:
            return True
        raw = decoded(signature)
        return raw is not None and raw == self._thought(
            family, shown, raw[len(_CLAUDES_HEAD) :][:_NONCE]
        )

    def remember_thought(self, signature: str, shown: str) -> None:
        """A script signed a thought itself."""
        self._thoughts.add((signature, shown))

    def _thought(self, family: str, shown: str, nonce: bytes) -> bytes:
        return (
            _CLAUDES_HEAD
            + nonce
            + self._mac(f"thought {family} {nonce.hex()} {shown}".encode("utf-8", "surrogatepass"))
        )

    def _made(self, words: str) -> str:
        first = self._mac(words.encode())
        return base64.b64encode(_HEAD + first + self._mac(first)).decode()

    def _mac(self, words: bytes) -> bytes:
        return hmac.new(f"wire emulator {self.seed}".encode(), words, hashlib.sha256).digest()


def decoded(signature: str) -> bytes | None:
    """The bytes of a signature in either alphabet, padded or not: Google's clients write the
    url-safe one.
    """
    text = signature.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


_STAND_INS = {raw for each in STAND_INS for raw in (each.encode(), decoded(each))} | {
    decoded(PLACEHOLDER)
}


def merged(contents: Sequence[Content]) -> list[Content]:
    """Adjacent Contents of the model as one: the histories of Google's own clients have one for
    each chunk.
    """
    found: list[Content] = []
    for content in contents:
        if content.role == "model" and found and found[-1].role == "model":
            found[-1] = Content(
                role="model", parts=[*(found[-1].parts or ()), *(content.parts or ())]
            )
        else:
            found.append(content)
    return found


def steps(contents: Sequence[Content]) -> list[Step]:
    """Steps of the current turn: what follows the last Content of the user that holds more than
    results.
    """
    turns = merged(contents)
    begin = max(
        (
            index
            for index, content in enumerate(turns)
            if content.role != "model" and _speaks(content.parts or ())
        ),
        default=-1,
    )
    found: list[Step] = []
    for index in range(begin + 1, len(turns)):
        calls = tuple(_calls(turns[index].parts or ())) if turns[index].role == "model" else ()
        if calls:
            found.append(Step(index, len(found), calls))
    return found


def _calls(parts: Sequence[Part]) -> Iterator[tuple[FunctionCall, str | None]]:
    for part in parts:
        if part.function_call is not None and part.function_call.name:
            yield part.function_call, part.thought_signature


def _speaks(parts: Sequence[Part]) -> bool:
    return any(part.function_response is None for part in parts)
