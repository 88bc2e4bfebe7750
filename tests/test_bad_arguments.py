"""Bad arguments at every public callable: one typed error that names them, or success (R-38).

`tests/callables.py` walks the public callables. The full number of calls is behind the marker
`faults`.
"""

from __future__ import annotations

import inspect
import io
import math
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wire
from tests.callables import (
    CLAUDE,
    EXCLUDED,
    GEMINI,
    GPT,
    KEY,
    Caller,
    Hostile,
    callables,
    chat,
    modules,
)
from tests.joined import joined
from wire import Chat, Client, Lanes, Limits, Message, Request, Retry, Timeouts
from wire.core import arguments
from wire.core.arguments import check_fields, checked_arguments, number, whole_number
from wire.core.secret import quoted
from wire.errors import ConfigurationError, RuleError, WireError
from wire.neutral.serving import ResponseHead


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no sleep, and no file outside a folder of the test."""
    monkeypatch.chdir(tmp_path)
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("a bad argument made a call sleep"))


def foreign(calls: int, seed: int) -> dict[str, str]:
    caller = Caller(seed)
    names = list(callables())
    try:
        for index in range(calls):
            caller.call(names[index % len(names)])
    finally:
        caller.close()
    assert caller.calls == calls
    print(f"{calls} calls of {len(names)} callables, {len(caller.foreign)} foreign")
    return caller.foreign


@pytest.mark.row("R-38", "R-36")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("alone")
def test_a_sample_of_bad_calls_raises_nothing_foreign() -> None:
    """R-38, R-36: 3,000 seeded calls, 0 foreign exceptions."""
    assert foreign(3000, seed=38) == {}


@pytest.mark.row("R-38", "R-36")
@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("alone")
def test_bad_calls_raise_nothing_foreign() -> None:
    """R-38, R-36: 350,000 seeded calls, 0 foreign exceptions."""
    assert foreign(350_000, seed=1) == {}


def test_every_public_callable_is_walked_or_excluded_with_a_reason() -> None:
    walked = callables()
    assert len(walked) > 500
    assert not EXCLUDED.keys() & walked.keys()
    for name in (
        "wire.tool",
        "gemini.check",
        "wire.Chat.ask",
        "history.prune",
        "wire.Message.text",
    ):
        assert name in walked


def decorated() -> Iterator[tuple[str, Any]]:
    for name, made in callables().items():
        if name not in ("gemini.Upload.raw",) and "." in name:
            value = inspect.unwrap(getattr(made, "args", (made,))[0])
            if inspect.isfunction(value) and value.__module__.startswith("wire"):
                yield name, value


def test_each_annotation_of_a_public_function_can_be_resolved() -> None:
    """An annotation that exists for type checkers only would not be checked."""
    unresolved = [
        f"{name}: {parameter}"
        for name, function in decorated()
        for parameter, annotation in function.__annotations__.items()
        if parameter != "return"
        and annotation not in ("Any", Any)
        and arguments._resolved(annotation, function) is Any
    ]
    assert unresolved == []


# --- options that would silently be something else ------------------------------------------------

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a misspelt provider": (
        {"options": {"open_ai": {}}},
        "options: no provider is called 'open_ai' (did you mean 'openai'?)",
    ),
    "an unknown provider": (
        {"options": {"sky": {}}},
        "options: no provider is called 'sky' (`wire providers` lists all)",
    ),
    "options of a type": (
        {"options": {"openai": 5}},
        "options.openai: expected a mapping, not int",
    ),
    "stop as mapping": ({"stop": {"a": 1}}, "stop: expected a text or a list of texts, not dict"),
    "stop empty": ({"stop": ""}, "stop[0]: expected a text that is not empty"),
    "stop of numbers": ({"stop": ["a", 1]}, "stop[1]: expected a text, not int"),
    "search_grounding": (
        {"search_grounding": "false"},
        "search_grounding: expected a bool, not str",
    ),
    "continue_long": ({"continue_long": 1}, "continue_long: expected a bool, not int"),
    "raw_schemas": ({"raw_schemas": 1}, "raw_schemas: expected a bool, not int"),
    "effort": ({"effort": "huge"}, "effort: expected none, minimal, low"),
    "max_tokens -1": ({"max_tokens": -1}, "max_tokens: expected a whole number from 1 up, not -1"),
    "max_tokens 0": ({"max_tokens": 0}, "max_tokens: expected a whole number from 1 up, not 0"),
    "max_tokens 1.5": (
        {"max_tokens": 1.5},
        "max_tokens: expected a whole number from 1 up, not 1.5",
    ),
    "max_tokens True": (
        {"max_tokens": True},
        "max_tokens: expected a whole number from 1 up, not True",
    ),
    "max_tokens text": (
        {"max_tokens": "100"},
        "max_tokens: expected a whole number from 1 up, not str",
    ),
    "top_p": ({"top_p": 5}, "top_p: expected a number from 0 to 1, not 5"),
    "temperature text": (
        {"temperature": "hot"},
        "temperature: expected a number from 0 up, not str",
    ),
    "temperature -1": ({"temperature": -1}, "temperature: expected a number from 0 up, not -1"),
    "temperature NaN": ({"temperature": math.nan}, "temperature: nan is not a JSON number"),
    "tool_choice": ({"tool_choice": ["now"]}, "tool_choice: no tool is called 'now'"),
    "tools": ({"tools": ["now"]}, "tools[0]: expected a function, a type or a Tool, not str"),
    "output": ({"output": 5}, "output: 5 cannot be the type of output"),
    "a setting": ({"colour": "red"}, "colour: no such setting"),
}


@pytest.mark.row("R-38")
@joined("model", [f"gemini:{GEMINI}", f"openai:{GPT}", f"anthropic:{CLAUDE}"])
@joined("what", REFUSED)
def test_a_setting_that_is_nonsense_is_refused_on_each_wire(what: str, model: str) -> None:
    settings, message = REFUSED[what]
    with Chat(model, api_key=KEY) as asked, pytest.raises(WireError) as caught:
        asked.call("Hi", **settings)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("model", [f"gemini:{GEMINI}", f"openai:{GPT}", f"anthropic:{CLAUDE}"])
def test_what_vendors_accept_is_accepted(model: str) -> None:
    given: dict[str, Any] = {
        "max_tokens": 16,
        "effort": "LOW",
        "stop": ["a"],
        "options": {"openai": {}, "kimi@cn": {}, "kimi": {}, "gemini@vertex": {}},
    }
    with Chat(model, api_key=KEY) as asked:
        assert asked.call("Hi", **given).body
        assert asked.call("Hi", search_grounding=False, raw_schemas=True).body


def test_options_of_the_chats_own_host_are_known() -> None:
    with Chat("relay:m", base_url="https://relay.example/v1", api_key=KEY) as asked:
        assert b'"mood":1' in asked.call("Hi", options={"relay": {"mood": 1}}).body


@pytest.mark.row("R-38")
@joined(
    ("wrong", "message"),
    [
        (
            lambda: Client("gemini", timeouts="fast"),
            "timeouts: expected a positive number of seconds, a Timeouts or None, not str",
        ),
        (lambda: Client("gemini", retry=3), "retry: expected a Retry, not int"),
        (lambda: Client("gemini", version=5), "gemini: version: 5 cannot be part of a path"),
        (lambda: Limits(event=-1), "limits.event: expected a positive integer, not -1"),
        (lambda: Limits(body="x"), "limits.body: expected a positive integer, not 'x'"),
        (lambda: Timeouts(total=True), "timeouts.total: expected a positive number"),
        (lambda: Retry(attempts=True), "retry.attempts: "),
        (lambda: Lanes(limit=0), "limit: expected a whole number from 1 up, not 0"),
        (lambda: wire.AsyncLanes(keep=-1), "keep: expected a whole number from 0 up, not -1"),
        (lambda: wire.Agent(chat(), max_tokens=-1), "max_tokens: "),
        (lambda: wire.Agent(chat(), temperature="hot"), "temperature: expected a number"),
        (
            lambda: wire.Agent(chat(), approve="yes"),
            "approve: expected a function or None, not str",
        ),
        (lambda: wire.Agent(chat(), retry=3), "retry: expected a Retry, not int"),
        (lambda: wire.Agent(chat(), "Hi", guard=5), "guard: expected a Guard or None, not int"),
        (lambda: wire.Agent(chat(), 5), "system_prompt: expected a str, not int"),
        (lambda: wire.Guard(steering=5), "guard.steering: expected a str, not int"),
        (
            lambda: wire.tool(len_of, read_only="no"),
            "tool len_of: read_only: expected a bool, not str",
        ),
        (
            lambda: wire.gemini.delete_document("fileSearchStores/a/documents/b", force="false"),
            "force: expected a bool, not str",
        ),
        (
            lambda: modules()["testing.emulator"].Emulator(seed="a"),
            "seed: expected a whole number",
        ),
        (lambda: modules()["testing.emulator"].Emulator(lenient="no"), "lenient: expected a bool"),
        (
            lambda: modules()["testing.emulator"].EmulatorTransport(5),
            "emulator: expected an Emulator or None, not int",
        ),
        (
            lambda: Lanes(connections=Hostile()),
            "connections: expected 'auto', 'direct' or 'httpx', not a Hostile",
        ),
        (lambda: wire.bulk.from_file(Hostile()), "rows: Hostile gives no path of a file"),
        (
            lambda: wire.bulk.from_file([], format=Hostile()),
            "format: expected one of jsonl, txt, csv, tsv, not Hostile",
        ),
        (
            lambda: wire.record("a.json", secrets=Hostile()).__enter__(),
            "secrets: expected texts and Secrets, not Hostile",
        ),
        (
            lambda: Client("gemini", api_key=KEY, around=list[int]),
            "around: expected a function that returns a generator, not GenericAlias",
        ),
        (
            lambda: wire.gemini.interactions.render_reply(chat().ask("Hi"), head=head_of(2**80)),
            "head.created: is no moment of the years 1 to 9999",
        ),
    ],
)
def test_an_option_that_is_nonsense_is_named(wrong: Callable[[], Any], message: str) -> None:
    with pytest.raises(WireError) as caught:
        wrong()
    assert str(caught.value).startswith(message)


def head_of(created: int) -> ResponseHead:
    return ResponseHead(id="r1", model="m", created=created)


def len_of(text: str) -> int:
    return len(text)


# --- the mechanism --------------------------------------------------------------------------------


@checked_arguments()
def labelled(items: list[Message], names: dict[str, int], *more: str, upper: bool = False) -> str:
    return " ".join([*(item.text for item in items), *(f"{k}{v + 1}" for k, v in names.items())])


def test_arguments_are_searched_when_the_function_raises() -> None:
    assert labelled([Message.user("Hi")], {"a": 1}) == "Hi a2"
    for wrong, message in [
        (lambda: labelled([5], {}), "items[0]: expected a Message, not int"),  # type: ignore[list-item]
        (lambda: labelled("Hi", {}), "items: expected a list, not str"),  # type: ignore[arg-type]
        (lambda: labelled([], {"a": "b"}), "names['a']: expected an int, not str"),  # type: ignore[dict-item]
        (lambda: labelled([], {}, upper="no"), "upper: expected a bool, not str"),  # type: ignore[arg-type]
        (
            lambda: labelled([Message("user", (wire.Text(5),))], {}),  # type: ignore[arg-type]
            "items[0].parts[0].text: expected a str, not int",
        ),
    ]:
        with pytest.raises(RuleError) as caught:
            wrong()
        assert str(caught.value) == message


def test_a_defect_of_a_function_is_not_blamed_on_its_arguments() -> None:
    @checked_arguments()
    def broken(text: str) -> int:
        return {}[text]

    with pytest.raises(KeyError):
        broken("a")


def test_a_generator_function_is_checked_when_it_is_called() -> None:
    @checked_arguments()
    def counted(most: int) -> Iterator[int]:
        yield from range(most)

    assert list(counted(2)) == [0, 1]
    with pytest.raises(RuleError, match=r"^most: expected an int, not str$"):
        counted("2")  # type: ignore[arg-type]


@pytest.mark.row("R-28")
def test_a_traceback_shows_no_argument_in_the_frames_of_the_check() -> None:
    """R-28: the frames that the check adds hold no argument, which may be a key."""

    @checked_arguments(ConfigurationError, before=True)
    def opened(key: int) -> None: ...

    for wrong in ("fake-canary-key", b"fake-canary-key"):
        try:
            opened(wrong)  # type: ignore[arg-type]
        except ConfigurationError as error:
            report = traceback.TracebackException.from_exception(error, capture_locals=True)
            for frame in report.stack[1:]:
                assert "canary" not in str(frame.locals), frame
            out = io.StringIO()
            out.write(str(error))
            assert out.getvalue() == f"key: expected an int, not {type(wrong).__name__}"
        else:
            pytest.fail("not refused")


def test_a_value_is_shown_in_one_short_line() -> None:
    class Loud:
        def __repr__(self) -> str:
            raise RuntimeError

    loop: list[Any] = []
    loop.append(loop)
    doubled: list[Any] = []
    for _ in range(60):
        doubled = [doubled, doubled]
    assert quoted(Loud()) == "a Loud"
    assert quoted(10**5000) == "a int"
    for value in (
        "a\nb" * 10_000,
        loop,
        doubled,
        [Loud()],
        {"a": "b" * 10_000},
        {1: {2: {3: {4: 5}}}},
    ):
        assert "\n" not in quoted(value)
        assert len(quoted(value)) <= 500


def test_numbers_are_no_bools_and_finite() -> None:
    for wrong in (True, math.inf, math.nan, "1", None, -1, 10**400):
        with pytest.raises(RuleError, match=r"^n: expected a number from 0 to 9, not "):
            number("n", wrong, least=0, most=9)
    for wrong in (True, 1.0, "1", None, 0):
        with pytest.raises(RuleError, match=r"^n: expected a whole number from 1 up, not "):
            whole_number("n", wrong, least=1)
    number("n", 9, least=0, most=9)
    whole_number("n", 1, least=1)


def test_the_fields_of_a_struct_are_checked() -> None:
    check_fields(wire.Note("a", "b"), "note")
    with pytest.raises(RuleError, match=r"^note\.message: expected a str, not int$"):
        check_fields(wire.Note("a", 5), "note")  # type: ignore[arg-type]


def test_a_request_takes_any_iterable_of_messages() -> None:
    assert Request(messages=[Message.user("Hi")]).messages == (Message.user("Hi"),)  # type: ignore[arg-type]
    with pytest.raises(RuleError, match=r"^messages: expected a list, not int$"):
        Request(messages=5)  # type: ignore[arg-type]
