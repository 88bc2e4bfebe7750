"""The small model that answers where no script does.

It is made of rules and gives the same output for the same request; it is not a language model. It
calls the declared functions whose names or descriptions the question mentions, once for each name
in the question, or for each value of an enum. If none is mentioned, it calls the most similar one,
unless a function was called before. It repeats the results of its tools, writes a value for a
schema, also for one that stands as JSON in the question or the system instruction, and otherwise
repeats the question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wire.testing.emulator.sources import Source
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
_MAX_READ = 100_000
"""Characters of a question, and of a system instruction, that the model reads."""
_MAX_SCHEMAS_TRIED = 200
"""Brackets of a text that may begin a schema; each try can read to the end of the text."""
_MAX_FUNCTIONS = 500
"""Functions, and values of an enum, that the model looks for in the question."""
_MAX_DESCRIPTION = 2_000
"""Characters of a description that the model reads."""
_MAX_CALLS = 100
_MAX_REPEATED = 400
"""Characters of the question that an answer repeats."""
_THINKING_TOKENS = 24
"""Tokens of thinking, unless the request limits them."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A function that may be called."""

    name: str
    description: str = ""
    schema: Any = None


@dataclass(frozen=True, slots=True)
class Wish:
    """The input and the limits of a request to the model, independent of any vendor."""

    question: str = ""
    system: str = ""
    """The text of the system instruction."""
    results: Sequence[tuple[str, Any]] = ()
    """Name and result of each call that the last turn answers."""
    called: bool = False
    """Whether a function was called earlier in the conversation."""
    functions: Sequence[Declared] = ()
    mode: str = "AUTO"
    """`AUTO`, `ANY`, `NONE`."""
    parallel: bool = True
    """Whether several functions may be called at once."""
    schema: Any = None
    format: str = "text"
    """`text`, `json`, `enum`."""
    max_tokens: int | None = None
    """Of the output, thinking included."""
    stop_sequences: Sequence[str] = ()
    thinking: int = 0
    """Tokens of thinking."""
    prefill: str = ""
    """The text of a last message of the model, which the output continues."""
    continues: bool = False
    """Whether the request has a token that was given for an answer that goes on."""


@dataclass(frozen=True, slots=True)
class Output:
    """Output of the model, in terms of no vendor."""

    text: str = ""
    thoughts: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    """Name and arguments of each call."""
    finish: str = "STOP"
    """`STOP`, `MAX_TOKENS`, or whatever a script says."""
    stop_sequence: str | None = None
    """The stop sequence that ended the text."""
    thinking: int = 0
    """Tokens of thinking."""
    sources: Sequence[Source] = ()
    """The pages that the text rests on, if a script names them."""
    hops: int = 1
    """Requests that the answer takes, at a vendor whose answers go on with a token."""

    @property
    def tokens(self) -> int:
        """Tokens without thinking."""
        return count(self.text) + sum(
            count(name) + count(json.dumps(args, ensure_ascii=False)) for name, args in self.calls
        )

    @property
    def pieces(self) -> list[str]:
        """The text in the pieces that a stream sends: at most eight, of whole words."""
        return pieces(self.text)


def pieces(text: str) -> list[str]:
    """Split a text into the pieces that a stream sends.

    >>> pieces("one two three four")
    ['one two three ', 'four']
    """
    words = re.findall(r"\S+\s*|^\s+", text)
    size = max(3, -(-len(words) // 8))
    return ["".join(words[at : at + size]) for at in range(0, len(words), size)]


def thinking_of(level: str | None, budget: int | None) -> int:
    """Return the tokens of thinking for a level or a budget.

    >>> thinking_of("LOW", None), thinking_of(None, 0), thinking_of(None, -1)
    (8, 0, 24)
    """
    if level is not None:
        levels = {"MINIMAL": 0, "LOW": 8, "MEDIUM": _THINKING_TOKENS, "HIGH": 2 * _THINKING_TOKENS}
        return levels.get(level.upper(), _THINKING_TOKENS)
    return _THINKING_TOKENS if budget is None or budget < 0 else min(budget, _THINKING_TOKENS)


def thoughts_on(question: str) -> str:
    """Return the thoughts of the model before it answers a question."""
    return f"**Reading the question**\n\nThe user said: {_short(question, 80)}\n\n"


def complete(wish: Wish) -> Output:
    """Generate the output of the model.

    Raises `ValueError` for an invalid schema.
    """
    wish = replace(wish, question=wish.question[:_MAX_READ], system=wish.system[:_MAX_READ])
    thoughts = thoughts_on(wish.question) if wish.thinking else ""
    calls = _calls(wish)
    text = "" if calls else _text(wish).removeprefix(wish.prefill)
    output = Output(text=text, thoughts=thoughts, calls=calls, thinking=wish.thinking)
    return _truncated(constrained(output, wish), wish.max_tokens)


def constrained(output: Output, wish: Wish) -> Output:
    """Cut the output at the first stop sequence; keep one call if the request wants no more.

    This applies to the output of a script, too.
    """
    if not wish.parallel:
        output = replace(output, calls=output.calls[:1])
    stops = [
        (at, stop) for stop in wish.stop_sequences if stop and (at := output.text.find(stop)) >= 0
    ]
    if not stops:
        return output
    at, stop = min(stops)
    return replace(output, text=output.text[:at], calls=(), stop_sequence=stop)


def _text(wish: Wish) -> str:
    schema = wish.schema
    if schema is None and not wish.results:
        schema = next(_schemas_in(f"{wish.question}\n{wish.system}"), None)
    if wish.format == "json" or (wish.format == "text" and schema is not None):
        if schema is None:
            schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
        return json.dumps(example(schema, _hints(wish.question)), ensure_ascii=False)
    if wish.format == "enum":
        return str(example(wish.schema or {"enum": ["yes"]}, _hints(wish.question)))
    if wish.results:
        results = " and ".join(
            f"{name} says {json.dumps(result, ensure_ascii=False)}" for name, result in wish.results
        )
        return f"Your tool {_short(results, 4 * _MAX_REPEATED)}."
    return (
        "This is an emulator, and no model. You said: "
        f"{_short(wish.question, _MAX_REPEATED) or 'nothing'}"
    )


def _schemas_in(text: str) -> Iterator[Any]:
    """Yield JSON Schemas of objects that stand in a text."""
    decoder, at = json.JSONDecoder(), text.find("{")
    for _ in range(_MAX_SCHEMAS_TRIED):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if isinstance(value.get("properties"), dict):
                yield value
        at = text.find("{", end)


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + "..."


def _truncated(output: Output, max_tokens: int | None) -> Output:
    if max_tokens is None or output.thinking + output.tokens <= max_tokens:
        return output
    # Thinking counts against the limit. A very small limit leaves nothing for the text, as with
    # the real models; otherwise half of it is left.
    thinking = output.thinking and (
        max_tokens if max_tokens <= 8 else min(output.thinking, max_tokens // 2)
    )
    thoughts = "".join(tokens(output.thoughts)[:thinking])
    output = replace(output, thinking=thinking, thoughts=thoughts)
    if thinking + output.tokens <= max_tokens:
        return output
    kept = () if output.calls else tokens(output.text)[: max_tokens - thinking]
    return replace(output, text="".join(kept), calls=(), finish="MAX_TOKENS", stop_sequence=None)


# --- calls ----------------------------------------------------------------------------------------


def _calls(wish: Wish) -> list[tuple[str, Any]]:
    must = wish.mode == "ANY"
    if wish.mode == "NONE" or not wish.functions or (wish.results and not must):
        return []
    question, functions = wish.question.lower(), wish.functions[:_MAX_FUNCTIONS]
    chosen = [each for each in functions if _is_named(each.name, question)]
    if not chosen:
        scores = [sum(word in question for word in _words(each.description)) for each in functions]
        best = max(range(len(scores)), key=scores.__getitem__)
        chosen = [functions[best]] if scores[best] or must or not wish.called else []
    hints = _hints(wish.question)
    if len(chosen) != 1:
        return [(each.name, _arguments(each, hints)) for each in chosen[:_MAX_CALLS]]
    function = chosen[0]
    times = next(
        (number for word, number in _SEVERAL.items() if re.search(rf"\b{word}\b", question)), 1
    )
    if len(hints.names) > 1 and _takes_one_text(function.schema):
        return [
            (function.name, _arguments(function, replace(hints, names=[name])))
            for name in hints.names[:_MAX_CALLS]
        ]
    chosen_values = _enum_values(function.schema, question)
    if len(chosen_values) > 1:
        return [
            (function.name, {**_arguments(function, hints), name: value})
            for name, value in chosen_values[:_MAX_CALLS]
        ]
    return [(function.name, _arguments(function, hints))] * times


def _is_named(name: str, question: str) -> bool:
    plain = re.sub(r"[_.\-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).lower().strip()
    return any(_place(each, question) is not None for each in {name.lower(), plain})


def _place(words: str, question: str) -> re.Match[str] | None:
    """Find words in the question, as complete words."""
    # Most do not stand there at all, and an expression is compiled for each that may.
    if words not in question:
        return None
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", question)


def _words(description: str) -> set[str]:
    return set(_WORDS.findall(description[:_MAX_DESCRIPTION].lower()))


def _hints(question: str) -> Hints:
    names = [name for name in _NAMES.findall(question) if not _NO_NAMES.fullmatch(name)]
    dates = _DATES.findall(question)
    numbers = [float(each) for each in _NUMBERS.findall(_DATES.sub("", question))]
    return Hints(list(dict.fromkeys(names)), dates, numbers, question)


def _takes_one_text(schema: Any) -> bool:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return False
    required = schema.get("required")
    names = required if isinstance(required, list) and required else properties
    requested = [properties.get(name) for name in names if isinstance(name, str)]
    free = [
        each
        for each in requested
        if isinstance(each, dict) and str(each.get("type", "")).lower() == "string"
    ]
    return (
        sum(
            not each.get("enum") and each.get("format") not in ("date", "date-time")
            for each in free
        )
        == 1
    )


def _enum_values(schema: Any, question: str) -> list[tuple[str, str]]:
    """Name and value of the first argument whose enum has several values in the question."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    for name, each in properties.items() if isinstance(properties, dict) else ():
        options = each.get("enum") if isinstance(each, dict) else None
        found = [
            (place.start(), value)
            for value in (options[:_MAX_FUNCTIONS] if isinstance(options, list) else ())
            if isinstance(value, str) and (place := _place(value.lower(), question))
        ]
        if len(found) > 1:
            return [(name, value) for _, value in sorted(found)]
    return []


def _arguments(function: Declared, hints: Hints) -> Any:
    if not isinstance(function.schema, dict) or not function.schema:
        return {}
    return example({**function.schema, "type": "object"}, hints, every=False)
