"""Decisions for all vendors: closed questions about one input, each answered with probabilities.

Each wire with such an endpoint converts a `DecideRequest` to a call, and its response to
`Decisions`. No text is generated. A host without the endpoint is refused: what a chat says is no
probability.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import msgspec

from wire.catalogue.usage import Usage
from wire.core import json_values
from wire.core.arguments import checked_arguments, items_of
from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.errors import RuleError, StreamInvalid, Violation
from wire.core.memory import MetadataStruct, Note
from wire.core.secret import quoted
from wire.neutral.conversion import converted
from wire.neutral.messages import Media, Message

if TYPE_CHECKING:
    from wire.catalogue.cost import Cost

A = TypeVar("A")

Kind: TypeAlias = Literal["yes_no", "one_of", "scale"]
Value: TypeAlias = str | bool
Content: TypeAlias = str | Media | dict[str, Any]
Part: TypeAlias = Content | Message

KINDS = ("yes_no", "one_of", "scale")
LEAST_OPTIONS, MOST_OPTIONS = 2, 255
"""Options of a choice and levels of a scale, at all hosts. Sources: openai 3.57.0, google-genai
3.6.1, OpenRouter's reference; November 2026."""


# --- questions ------------------------------------------------------------------------------------


class Question(MetadataStruct, frozen=True):
    """One closed question. `yes_no`, `one_of` and `scale` make them.

    >>> yes_no("The customer is angry.").kind
    'yes_no'

    Raises `RuleError` for instructions that are no text, for less than 2 and more than 255 options,
    and for an option twice.
    """

    kind: Kind
    """`yes_no`, `one_of`, `scale`."""
    instructions: str
    """The statement that is true or not, or what is to be chosen or rated."""
    options: dict[Value, str] = msgspec.field(default_factory=dict)
    """Each value to what it means; an empty text says nothing. Those of `yes_no` are True and
    False, or none; those of `scale` are in order, from the lowest."""

    def __post_init__(self) -> None:
        if not (isinstance(self.kind, str) and self.kind in KINDS):
            known = ", ".join(KINDS)
            raise _refused("kind", f"expected one of {known}, not {quoted(self.kind)}")
        _text("instructions", self.instructions)
        options = _options(self.options)
        for value, meaning in options.items():
            _value(self.kind, value)
            if meaning:
                _text(f"options[{value!r}]", meaning)
        least = 0 if self.kind == "yes_no" else LEAST_OPTIONS
        if not least <= len(options) <= MOST_OPTIONS:
            expected = f"expected {LEAST_OPTIONS} to {MOST_OPTIONS} options, not {len(options)}"
            raise _refused("options", expected)
        msgspec.structs.force_setattr(self, "options", options)


Options: TypeAlias = Mapping[Value, str | None] | Sequence[Value]
"""Values, or each value with its meaning."""


@checked_arguments()
def yes_no(instructions: str, *, yes: str = "", no: str = "") -> Question:
    """Ask whether a statement about the input is true.

    >>> yes_no("The customer wants their money back.", yes="They say so.").options
    {True: 'They say so.', False: ''}

    `yes` and `no` say more exactly when it is true, and when it is not. OpenAI has no field for
    them: they are added to the instructions there. Raises as `Question`.
    """
    return Question("yes_no", instructions, {True: yes, False: no} if yes or no else {})


@checked_arguments()
def one_of(
    instructions: str, options: Mapping[str | bool, str | None] | Sequence[str | bool]
) -> Question:
    """Ask which one of 2 to 255 options fits the input.

    >>> one_of("Which team?", {"billing": "Invoices, refunds.", "other": None}).options
    {'billing': 'Invoices, refunds.', 'other': ''}

    `options` are values, or a mapping of each value to what it means. Raises as `Question`.
    """
    return Question("one_of", instructions, _options(options))


@checked_arguments()
def scale(instructions: str, levels: Mapping[str, str | None] | Sequence[str]) -> Question:
    """Ask for a place on a scale of 2 to 255 levels, from the lowest to the highest.

    >>> list(scale("How angry?", ["calm", "annoyed", "furious"]).options)
    ['calm', 'annoyed', 'furious']

    `levels` are names, or a mapping of each name to what it means. Raises as `Question`.
    """
    return Question("scale", instructions, _options(levels, "levels"))


def _options(given: Any, path: str = "options") -> dict[Value, str]:
    if isinstance(given, Mapping):
        return {value: given[value] or "" for value in given}
    if isinstance(given, (str, bytes)):
        raise wrong_type(path, given, "list of values, or mapping of values to texts")
    found: dict[Value, str] = {}
    for index, value in enumerate(items_of(path, given)):
        # A dict takes 1 for True, so that only values of these types are keys of one.
        if isinstance(value, str | bool) and value in found:
            raise _refused(f"{path}[{index}]", f"{quoted(value)} is given twice")
        _value("one_of", value)
        found[value] = ""
    return found


def _value(kind: str, value: object) -> None:
    allowed = {"yes_no": bool, "one_of": str | bool, "scale": str}[kind]
    if not isinstance(value, allowed):
        expected = {"yes_no": "True or False", "one_of": "text or a bool", "scale": "text"}[kind]
        raise wrong_type("options", value, expected)
    if isinstance(value, str):
        _text("options", value)


def _text(path: str, text: object) -> None:
    if not isinstance(text, str):
        raise wrong_type(path, text, "text")
    if not text.strip():
        raise _refused(path, "expected a text that is not empty")
    if not text.isascii():
        json_values.checked(text, path)


def _refused(path: str, problem: str) -> RuleError:
    return RuleError(violations=[Violation(path, problem)])


# --- a request ------------------------------------------------------------------------------------


class DecideRequest(MetadataStruct, frozen=True):
    """Questions about one input.

    >>> DecideRequest("Help!", {"urgent": yes_no("It is urgent.")}).input
    ('Help!',)

    Raises `RuleError` for an input that is empty or cannot be sent, and for what is no question.
    """

    input: tuple[Part, ...]
    """Texts, `Media` and JSON objects, or the messages of a conversation; one alone, or several.
    Stored as a tuple."""
    questions: dict[str, Question]
    """Each question by the name of its answer: at least one."""

    def __post_init__(self) -> None:
        given: Any = self.input
        alone = isinstance(given, (str, Media, Mapping, Message))
        parts = (given,) if alone else items_of("input", given)
        if not parts:
            raise _refused("input", "expected a text, a Media, a JSON object, or several of these")
        talks = isinstance(parts[0], Message)
        for index, part in enumerate(parts):
            path = "input" if alone else f"input[{index}]"
            if isinstance(part, Message) is not talks:
                raise _refused(path, "expected messages alone, or none")
            _check_part(path, part)
        questions: Any = self.questions
        if not isinstance(questions, Mapping):
            raise wrong_type("questions", questions, "mapping of names to questions")
        if not questions:
            raise _refused("questions", "expected at least one question")
        for name, question in questions.items():
            if not isinstance(name, str) or not name.strip():
                raise _refused("questions", f"expected a name that is a text, not {quoted(name)}")
            if not isinstance(question, Question):
                remedy = "yes_no(...), one_of(...) or scale(...)"
                raise wrong_type(f"questions.{name}", question, f"Question; use {remedy}")
        msgspec.structs.force_setattr(self, "input", tuple(parts))
        msgspec.structs.force_setattr(self, "questions", dict(questions))

    def contents(self) -> tuple[Content, ...]:
        """Return the input for a host that reads no conversation.

        Raises `RuleError` for messages.
        """
        found: list[Content] = []
        for index, part in enumerate(self.input):
            if isinstance(part, Message):
                told = "decisions of this host read no messages; send their texts"
                raise _refused(f"input[{index}]", told)
            found.append(part)
        return tuple(found)


def _check_part(path: str, part: object) -> None:
    if isinstance(part, Message):
        json_values.checked(part, path)
        return
    if isinstance(part, Media):
        return
    if isinstance(part, Mapping):
        json_values.checked(part, path)
        return
    if not isinstance(part, str):
        raise wrong_type(path, part, "text, a Media, a JSON object or a Message")
    _text(path, part)


def limited(request: DecideRequest, most: int) -> DecideRequest:
    """Return the request. Raises `RuleError` if it has more questions than the host takes."""
    if len(request.questions) > most:
        number = len(request.questions)
        raise _refused("questions", f"expected at most {most} questions at this host, not {number}")
    return request


# --- answers --------------------------------------------------------------------------------------


class Decision(MetadataStruct, frozen=True, kw_only=True):
    """The answer to one question.

    >>> Decision(kind="yes_no", value=True, probabilities={True: 0.9, False: 0.1}).probability
    0.9
    """

    kind: Kind
    """That of the question."""
    value: str | bool | float | None = None
    """Of `yes_no` whether it is true, of `one_of` the most probable option, of `scale` a place on
    the scale: 0 is the first level, 1.5 lies between the second and the third. `None` if the model
    refuses, or sent an answer of an unknown type."""
    level: str = ""
    """Of `scale`: the most probable level."""
    probabilities: dict[Value, float] = msgspec.field(default_factory=dict)
    """How probable each option is; of `yes_no` those of True and False. Empty if the host sends
    none."""
    confidence: float | None = None
    """How sure the model is of the value, from 0 to 1. Where the host sends none it is the
    probability of the most probable option."""
    refused: bool = False
    """The model declines this question; the other answers stand."""
    source: Any = None
    """The wire's own struct, with all fields that the host sent."""

    @property
    def probability(self) -> float | None:
        """The probability of the value; of `scale` that of `level`; `None` if it is unknown."""
        return self.probabilities.get(self.level if self.kind == "scale" else self.value)  # type: ignore[arg-type]


class Decisions(MetadataStruct, frozen=True):
    """The answers by the names of their questions. It can be indexed and iterated over as a dict.

    >>> decisions = Decisions({"urgent": Decision(kind="yes_no", value=True)})
    >>> decisions["urgent"].value, list(decisions), len(decisions)
    (True, ['urgent'], 1)
    """

    answers: dict[str, Decision]
    """By the names of the questions, in their order."""
    model: str = ""
    """The model that answered; the one that was asked if the host names none."""
    provider: str = ""
    """Name of the row of the host."""
    usage: Usage | None = None
    """Tokens; `None` if the host counts none."""
    notes: tuple[Note, ...] = ()
    """Notes on what was changed or not sent."""
    source: Any = None
    """The wire's own struct, with all fields that the host sent."""

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[str]:
        return iter(self.answers)

    def __getitem__(self, name: str) -> Decision:
        return self.answers[name]

    @property
    def cost(self) -> Cost:
        """The cost in USD, as the host reports it or by the catalogue's prices.

        >>> from wire.catalogue.usage import Usage
        >>> usage = Usage(input=20_000, total=20_000)
        >>> print(Decisions({}, "gpt-6-luna", "openai", usage).cost)
        0.002 USD

        Only the input is charged. `total` is `None`, and `reason` says why, if the model has no
        price in the catalogue, or the host sent no counts.
        """
        from wire.catalogue.cost import cost_of_answer  # loads a file at its first use

        usage = self.usage
        if usage is not None:
            usage = msgspec.structs.replace(usage, output=0, reasoning=0, total=usage.input)
        return cost_of_answer(self.source, usage, self.provider, (self.model,), "")


def yes_no_answer(probability: float | None, confidence: float | None, source: Any) -> Decision:
    """Build the answer to a `yes_no` from the probability that it is true.

    Raises `StreamInvalid` without one.
    """
    if probability is None:
        raise StreamInvalid("an answer has no probability")
    probabilities: dict[Value, float] = {True: probability, False: 1 - probability}
    return Decision(
        kind="yes_no",
        value=probability >= 0.5,
        probabilities=probabilities,
        confidence=_confidence(confidence, probabilities),
        source=source,
    )


def one_of_answer(
    choice: Value | None, probabilities: dict[Value, float], confidence: float | None, source: Any
) -> Decision:
    """Build the answer to a `one_of`. Raises `StreamInvalid` without a choice."""
    if choice is None:
        raise StreamInvalid("an answer has no choice")
    return Decision(
        kind="one_of",
        value=choice,
        probabilities=probabilities,
        confidence=_confidence(confidence, probabilities),
        source=source,
    )


def scale_answer(
    score: float | None, probabilities: dict[Value, float], confidence: float | None, source: Any
) -> Decision:
    """Build the answer to a `scale`; a score of 0 is the first level.

    Raises `StreamInvalid` without a score.
    """
    if score is None:
        raise StreamInvalid("an answer has no score")
    return Decision(
        kind="scale",
        value=score,
        level=str(max(probabilities, key=probabilities.__getitem__)) if probabilities else "",
        probabilities=probabilities,
        confidence=_confidence(confidence, probabilities),
        source=source,
    )


def unknown_answer(kind: Kind, source: Any) -> Decision:
    """Build the answer of a type that the question does not have: its struct is kept."""
    return Decision(kind=kind, source=source)


def _confidence(sent: float | None, probabilities: dict[Value, float]) -> float | None:
    return sent if sent is not None else max(probabilities.values(), default=None)


def decisions_call(
    call: Call[A],
    request: DecideRequest,
    convert: Callable[[A], Decisions],
    notes: Iterable[Note] = (),
) -> Call[Decisions]:
    """Make a call of a wire return the decisions of a request.

    The call raises `StreamInvalid` for a response that lacks the answer to a question.
    """
    return converted(
        call, functools.partial(_complete, convert, tuple(request.questions), tuple(notes))
    )


def _complete(
    convert: Callable[[A], Decisions], names: Sequence[str], notes: tuple[Note, ...], response: A
) -> Decisions:
    found = convert(response)
    for name in names:
        if name not in found.answers:
            raise StreamInvalid(f"there is no answer to the question {quoted(name)}")
    odd = (
        Note(
            f"answers.{name}", "the answer has an unknown type; `unknown(decisions.source)` has it"
        )
        for name, each in found.answers.items()
        if each.value is None and not each.refused
    )
    return msgspec.structs.replace(found, notes=(*notes, *odd))
