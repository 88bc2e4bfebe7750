"""The small model that answers where no script does.

It is made of rules and gives the same output for the same request; it is not a language model. It
calls the declared functions whose names or descriptions the question mentions, once for each name
in the question, or for each value of an enum. If none is mentioned, it calls the most similar one,
unless a function was called before. It repeats the results of its tools, writes a value for a
schema, also for one that stands as JSON in the question or the system instruction, and otherwise
repeats the question.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from wire.catalogue.stops import Stop
from wire.catalogue.usage import Usage
from wire.neutral.messages import (
    Citation,
    Message,
    Part,
    Reply,
    Text,
    Thought,
    ToolCall,
    ToolResult,
)
from wire.neutral.request import Request, Tool
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


@dataclass(frozen=True)
class Prompt:
    """A request as the small model reads it."""

    request: Request
    thinking: int = 0
    """Tokens of thinking."""
    parallel: bool = True
    """Whether several functions may be called at once."""
    beside: bool = False
    """Whether a text of the user may stand beside results, and asks nothing anew."""
    enum: bool = False
    """Whether the output is one of the values of the schema, and no JSON."""
    continues: bool = False
    """Whether the request has a token that was given for an answer that goes on."""

    @functools.cached_property
    def question(self) -> str:
        """The last text of the user."""
        texts = (_words_of(each) for each in reversed(self.request.messages) if each.role == "user")
        return next(filter(None, texts), "")

    @property
    def asked(self) -> str:
        """As much of the question as the model reads."""
        return self.question[:_MAX_READ]

    @functools.cached_property
    def system(self) -> str:
        """The text of the system instruction."""
        texts = (_words_of(each) for each in self.request.messages if each.instructs)
        return " ".join(filter(None, (self.request.system, *texts)))[:_MAX_READ]

    @functools.cached_property
    def results(self) -> list[tuple[str, Any]]:
        """Name and result of each call that was answered after the last message of the model."""
        ends = ("assistant",) if self.beside else ("assistant", "user")
        messages = reversed(self.request.messages)
        last = itertools.takewhile(lambda each: each.role not in ends, messages)
        found = [result for message in reversed(list(last)) for result in message.tool_results]
        return [(each.name, _result(each)) for each in found]

    @property
    def called(self) -> bool:
        """Whether a function was called earlier in the conversation."""
        return any(each.tool_calls for each in self.request.messages)

    @property
    def functions(self) -> list[Tool]:
        """The functions that may be called."""
        choice = self.request.tool_choice
        functions = [each for each in self.request.tools if isinstance(each, Tool)]
        if not isinstance(choice, str | None):
            functions = [each for each in functions if each.name in choice]
        return [] if choice == "none" else functions

    @property
    def must(self) -> bool:
        """Whether a function must be called."""
        return self.request.tool_choice not in (None, "auto", "none")

    @property
    def schema(self) -> Any:
        """The schema of the answer; `None` for any."""
        return (self.request.output and self.request.output.schema) or None

    @property
    def prefill(self) -> str:
        """The text of a last message of the model, which the output continues."""
        last = self.request.messages[-1:]
        return _words_of(last[0]) if last and last[0].role == "assistant" else ""


def _words_of(message: Message) -> str:
    parts = (part.text for part in message.parts if isinstance(part, Text))
    return " ".join(filter(None, parts))


def _result(result: ToolResult) -> Any:
    """Return the result of a tool as the model reads it: an object, else under `result`."""
    content = result.content
    if isinstance(content, str):
        with contextlib.suppress(ValueError, RecursionError):
            content = json.loads(content)
    if isinstance(content, dict) and not result.error:
        return content
    return {"error" if result.error else "result": content}


def answer(
    text: str = "",
    thoughts: str = "",
    calls: Sequence[tuple[str, Any]] = (),
    stop: Stop | None = None,
    thinking: int = 0,
    citations: Sequence[Citation] = (),
) -> Reply:
    """Return the reply of a model, with names and arguments of its calls, which have no ids yet.

    `thinking` are tokens. The usage is that of the output.

    >>> answer("Hello!", thinking=8).usage
    Usage(output=11, reasoning=8)
    """
    parts: list[Part] = [Thought(thoughts)] if thoughts else []
    parts += [Text(text)] if text else []
    parts += [_call(name, args) for name, args in calls]
    stop = stop or Stop("end")
    if calls and stop.reason == "end":
        stop = msgspec.structs.replace(stop, reason="tool_calls")
    size = count(text) + sum(
        count(name) + count(json.dumps(args, ensure_ascii=False)) for name, args in calls
    )
    usage = Usage(output=size + thinking, reasoning=thinking)
    return Reply(Message("assistant", tuple(parts), citations=tuple(citations)), stop, usage)


def _call(name: str, args: Any) -> ToolCall:
    if isinstance(args, dict):
        return ToolCall(id="", name=name, arguments=args)
    text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
    return ToolCall(id="", name=name, arguments=None, text=text)


def given(call: ToolCall) -> Any:
    """Return the arguments of a call; a script may give one that are no object."""
    return call.text if call.arguments is None else call.arguments


def numbered(reply: Reply, id_of: Callable[[int, str], str]) -> list[ToolCall]:
    """Return the calls of a reply with the ids for their positions and names."""
    return [
        msgspec.structs.replace(call, id=id_of(position, call.name))
        for position, call in enumerate(reply.tool_calls)
    ]


def written(reply: Reply) -> int:
    """Return the tokens of a reply without thinking."""
    usage = reply.usage or Usage()
    return usage.output - usage.reasoning


def thinking(reply: Reply) -> int:
    """Return the tokens of a reply's thinking."""
    return (reply.usage or Usage()).reasoning


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


def complete(prompt: Prompt) -> Reply:
    """Generate the reply of the model.

    Raises `ValueError` for an invalid schema.
    """
    thoughts = thoughts_on(prompt.asked) if prompt.thinking else ""
    calls = _calls(prompt)
    text = "" if calls else _text(prompt).removeprefix(prompt.prefill)
    reply = answer(text, thoughts, calls, thinking=prompt.thinking)
    return _truncated(constrained(reply, prompt), prompt.request.max_tokens)


def constrained(reply: Reply, prompt: Prompt) -> Reply:
    """Cut the reply at the first stop sequence; keep one call if the request wants no more.

    This applies to the reply of a script, too.
    """
    calls = reply.tool_calls if prompt.parallel else reply.tool_calls[:1]
    stops = [
        (at, stop) for stop in prompt.request.stop if stop and (at := reply.text.find(stop)) >= 0
    ]
    if stops:
        at, sequence = min(stops)
        return _cut(reply, reply.text[:at], stop=Stop("end", sequence=sequence))
    return reply if len(calls) == len(reply.tool_calls) else _cut(reply, reply.text, calls)


def _cut(
    reply: Reply,
    text: str,
    calls: Sequence[ToolCall] = (),
    *,
    stop: Stop | None = None,
    thoughts: str | None = None,
    spent: int | None = None,
) -> Reply:
    """Return a reply with a shorter text, fewer calls and, if given, less thinking."""
    return answer(
        text,
        reply.thought if thoughts is None else thoughts,
        [(call.name, given(call)) for call in calls],
        stop or reply.stop,
        thinking(reply) if spent is None else spent,
        [each for each in reply.citations if (each.end or 0) <= len(text)],
    )


def _text(prompt: Prompt) -> str:
    schema, question = prompt.schema, prompt.asked
    if prompt.enum:
        return str(example(schema or {"enum": ["yes"]}, _hints(question)))
    if schema is None and not prompt.results:
        schema = next(_schemas_in(f"{question}\n{prompt.system}"), None)
    if prompt.request.output is not None or schema is not None:
        if schema is None:
            schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
        return json.dumps(example(schema, _hints(question)), ensure_ascii=False)
    if prompt.results:
        results = " and ".join(
            f"{name} says {json.dumps(result, ensure_ascii=False)}"
            for name, result in prompt.results
        )
        return f"Your tool {_short(results, 4 * _MAX_REPEATED)}."
    return (
        "This is an emulator, and no model. You said: "
        f"{_short(question, _MAX_REPEATED) or 'nothing'}"
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


def _truncated(reply: Reply, max_tokens: int | None) -> Reply:
    if max_tokens is None or thinking(reply) + written(reply) <= max_tokens:
        return reply
    # Thinking counts against the limit. A very small limit leaves nothing for the text, as with
    # the real models; otherwise half of it is left.
    spent = thinking(reply) and (
        max_tokens if max_tokens <= 8 else min(thinking(reply), max_tokens // 2)
    )
    thoughts = "".join(tokens(reply.thought)[:spent])
    if spent + written(reply) <= max_tokens:
        return _cut(reply, reply.text, reply.tool_calls, thoughts=thoughts, spent=spent)
    kept = () if reply.tool_calls else tokens(reply.text)[: max_tokens - spent]
    return _cut(reply, "".join(kept), stop=Stop("length"), thoughts=thoughts, spent=spent)


# --- calls ----------------------------------------------------------------------------------------


def _calls(prompt: Prompt) -> list[tuple[str, Any]]:
    must, functions = prompt.must, prompt.functions[:_MAX_FUNCTIONS]
    if not functions or (prompt.results and not must):
        return []
    question = prompt.asked.lower()
    chosen = [each for each in functions if _is_named(each.name, question)]
    if not chosen:
        scores = [sum(word in question for word in _words(each.description)) for each in functions]
        best = max(range(len(scores)), key=scores.__getitem__)
        chosen = [functions[best]] if scores[best] or must or not prompt.called else []
    hints = _hints(prompt.asked)
    if len(chosen) != 1:
        return [(each.name, _arguments(each, hints)) for each in chosen[:_MAX_CALLS]]
    function = chosen[0]
    times = next(
        (number for word, number in _SEVERAL.items() if re.search(rf"\b{word}\b", question)), 1
    )
    if len(hints.names) > 1 and _takes_one_text(_schema_of(function)):
        return [
            (function.name, _arguments(function, replace(hints, names=[name])))
            for name in hints.names[:_MAX_CALLS]
        ]
    chosen_values = _enum_values(_schema_of(function), question)
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


_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def _schema_of(function: Tool) -> Any:
    return _FREE_TEXT if function.kind == "custom" else function.parameters


def _arguments(function: Tool, hints: Hints) -> Any:
    schema = _schema_of(function)
    if not isinstance(schema, dict) or not schema:
        return {}
    return example({**schema, "type": "object"}, hints, every=False)
