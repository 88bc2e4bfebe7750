"""The model that answers where no script does: small, made of rules, the same answer every time. It
is no language model.

It calls the declared functions that the question names, by their names or by words of their
descriptions, once for each thing the question is about; where none fits, the first one, if none was
called before. It says what its tools answered; it writes a value where a schema is asked for; else
it repeats the question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from wire.testing.emulator.tokens import count, tokens
from wire.testing.emulator.values import Hints, example

_NAMES = re.compile(r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)*|[\u4e00-\u9fff]+(?=の)|[\u30a0-\u30ff]{2,}")
_NO_NAMES = re.compile(
    r"What|What's|How|Is|Will|Tell|The|And|Compare|Weather|Which|Where|When|Do|Does|Give|"
    r"Get|Please|Call|Use|Find|Can|Are|I|It|In|On|For|Both"
    r"|Then|Hello|Hi|Say|Ask|Now|Show|Check|Look|Yes|No|My|Me|You|Your|We|They|This|That|"
    r"Who|Why|If|Ok|Okay|Two|Three"
)
_DATES = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBERS = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-])")
_WORDS = re.compile(r"[a-z]{4,}|[\u4e00-\u9fff]{2,}")
_SEVERAL = {"both": 2, "two": 2, "twice": 2, "several": 2, "parallel": 2, "three": 3, "four": 4}
_LONGEST = 400
_THOUGHT = 24
"""Tokens that thinking costs, unless the request says less."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A function that may be called."""

    name: str
    description: str = ""
    schema: Any = None


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request asks for, whatever the wire."""

    question: str = ""
    results: Sequence[tuple[str, Any]] = ()
    """Name and result of the calls that the last turn answers."""
    called: bool = False
    """A function was called earlier in the conversation."""
    functions: Sequence[Declared] = ()
    mode: str = "AUTO"
    """`AUTO`, `ANY`, `NONE`."""
    schema: Any = None
    form: str = "text"
    """`text`, `json`, `enum`."""
    most: int | None = None
    """Tokens of the answer, thinking included."""
    stops: Sequence[str] = ()
    thinking: int = 0
    """Tokens of thinking."""


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, whatever the wire."""

    text: str = ""
    thoughts: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    finish: str = "STOP"
    thinking: int = 0
    parts: Sequence[Any] = field(default=())

    @property
    def tokens(self) -> int:
        """Tokens of the answer without thinking."""
        return count(self.text) + sum(
            count(name) + count(json.dumps(args, ensure_ascii=False)) for name, args in self.calls
        )

    @property
    def pieces(self) -> list[str]:
        """The text as a stream brings it: in words, some at a time."""
        words = re.findall(r"\S+\s*|^\s+", self.text)
        size = max(3, -(-len(words) // 8))
        return ["".join(words[at : at + size]) for at in range(0, len(words), size)]


def thinking_of(level: str | None, budget: int | None) -> int:
    """Tokens of thinking that a level or a budget means.

    >>> thinking_of("LOW", None), thinking_of(None, 0), thinking_of(None, -1), thinking_of(None, None)
    (8, 0, 24, 24)
    """
    if level is not None:
        return {"MINIMAL": 0, "LOW": 8, "MEDIUM": _THOUGHT, "HIGH": 2 * _THOUGHT}.get(
            level.upper(), _THOUGHT
        )
    return _THOUGHT if budget is None or budget < 0 else min(budget, _THOUGHT)


def answered(wish: Wish) -> Said:
    """What the model says."""
    thoughts = (
        f"**Reading the question**\n\nThe user said: {_short(wish.question, 80)}\n\n"
        if wish.thinking
        else ""
    )
    calls = _calls(wish)
    if calls:
        return _cut(Said(calls=calls, thoughts=thoughts, thinking=wish.thinking), wish)
    return _cut(Said(text=_text(wish), thoughts=thoughts, thinking=wish.thinking), wish)


def _text(wish: Wish) -> str:
    if wish.form == "json":
        schema = (
            wish.schema
            if wish.schema is not None
            else {"type": "object", "properties": {"answer": {"type": "string"}}}
        )
        return json.dumps(example(schema, _hints(wish.question)), ensure_ascii=False)
    if wish.form == "enum":
        return str(example(wish.schema or {"enum": ["yes"]}, _hints(wish.question)))
    if wish.results:
        said = " and ".join(
            f"{name} says {json.dumps(result, ensure_ascii=False)}" for name, result in wish.results
        )
        return f"Your tool {_short(said, 4 * _LONGEST)}."
    return (
        "This is an emulator, and no model. You said: "
        f"{_short(wish.question, _LONGEST) or 'nothing'}"
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "..."


def _cut(said: Said, wish: Wish) -> Said:
    """The answer up to the first stop sequence, and to the most tokens."""
    found = [at for stop in wish.stops if stop and (at := said.text.find(stop)) >= 0]
    if found:
        said = replace(said, text=said.text[: min(found)])
    if wish.most is None or said.thinking + said.tokens <= wish.most:
        return said
    # Thinking counts too. Of very few tokens nothing is left for the answer, as with the real
    # models; else half of them is.
    thinking = said.thinking and (
        wish.most if wish.most <= 8 else min(said.thinking, wish.most // 2)
    )
    thoughts = "".join(tokens(said.thoughts)[:thinking])
    if said.calls:
        fits = thinking + said.tokens <= wish.most
        return replace(
            said,
            thinking=thinking,
            thoughts=thoughts,
            calls=said.calls if fits else (),
            finish="STOP" if fits else "MAX_TOKENS",
        )
    kept = tokens(said.text)[: wish.most - thinking]
    finish = "STOP" if len(kept) == count(said.text) else "MAX_TOKENS"
    return replace(said, text="".join(kept), thinking=thinking, thoughts=thoughts, finish=finish)


# --- calls ----------------------------------------------------------------------------------------


def _calls(wish: Wish) -> list[tuple[str, Any]]:
    must = wish.mode == "ANY"
    if wish.mode == "NONE" or not wish.functions or (wish.results and not must):
        return []
    said = wish.question.lower()
    chosen = [each for each in wish.functions if _is_named(each.name, said)]
    if not chosen:
        scores = [
            sum(word in said for word in set(_WORDS.findall(each.description.lower())))
            for each in wish.functions
        ]
        best = max(range(len(scores)), key=scores.__getitem__)
        chosen = [wish.functions[best]] if scores[best] or must or not wish.called else []
    hints = _hints(wish.question)
    if len(chosen) != 1:
        return [(each.name, _arguments(each, hints)) for each in chosen]
    function = chosen[0]
    times = next(
        (number for word, number in _SEVERAL.items() if re.search(rf"\b{word}\b", said)), 1
    )
    if len(hints.names) > 1 and _takes_one_text(function.schema):
        return [
            (function.name, _arguments(function, replace(hints, names=[name])))
            for name in hints.names
        ]
    return [(function.name, _arguments(function, hints))] * times


def _is_named(name: str, said: str) -> bool:
    plain = re.sub(r"[_.\-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).lower().strip()
    return any(
        re.search(rf"(?<!\w){re.escape(each)}(?!\w)", said) for each in {name.lower(), plain}
    )


def _hints(question: str) -> Hints:
    names = [name for name in _NAMES.findall(question) if not _NO_NAMES.fullmatch(name)]
    dates = _DATES.findall(question)
    numbers = [float(each) for each in _NUMBERS.findall(_DATES.sub("", question))]
    return Hints(list(dict.fromkeys(names)), dates, numbers, question)


def _takes_one_text(schema: Any) -> bool:
    properties = schema.get("properties") or {} if isinstance(schema, dict) else {}
    wanted = (
        [properties.get(name) for name in schema.get("required") or properties]
        if properties
        else []
    )
    free = [
        each
        for each in wanted
        if isinstance(each, dict) and str(each.get("type", "")).lower() == "string"
    ]
    return (
        sum(
            not each.get("enum") and each.get("format") not in ("date", "date-time")
            for each in free
        )
        == 1
    )


def _arguments(function: Declared, hints: Hints) -> Any:
    if not isinstance(function.schema, dict) or not function.schema:
        return {}
    return example({**function.schema, "type": "object"}, hints, every=False)
