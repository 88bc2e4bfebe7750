"""`FallbackChat`, `AsyncFallbackChat`: the next model is asked where one fails."""

from __future__ import annotations

import copy
import pickle
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from tests.joined import joined
from wire import (
    Agent,
    AsyncChat,
    AsyncFallbackChat,
    Chat,
    Circuit,
    FallbackChat,
    Message,
    errors,
    fallback,
)
from wire.around import Around, Outgoing, Signal, Wait
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

NAMES = ("gemini:gemini-3.8-flash", "anthropic:claude-sonnet-5", "openai@chat:gpt-5.2")
KEY = "fake-key-4711"


@pytest.fixture(params=["sync", "asyncio", "trio"])
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def emulators(*scripts: Any) -> list[Emulator]:
    return [Emulator(script) for script in scripts]


def chats_of(kind: Any, models: list[Emulator], **options: Any) -> list[Any]:
    http = EmulatorTransport if kind is Chat else AsyncEmulatorTransport
    options = {"api_key": KEY, "retry": None, **options}
    return [kind(name, http=http(model), **options) for name, model in zip(NAMES, models)]  # noqa: B905


def run(style: str, models: list[Emulator], work: Callable[[Any], Any], **options: Any) -> Any:
    """`work` with a chat of the models whose methods are plain functions."""
    of_chat = {name: options.pop(name) for name in ("retry", "around") if name in options}
    if style == "sync":
        with FallbackChat(chats_of(Chat, models, **of_chat), **options) as chat:
            return work(_Sync(chat))

    async def main() -> Any:
        async with AsyncFallbackChat(chats_of(AsyncChat, models, **of_chat), **options) as chat:
            return await anyio.to_thread.run_sync(work, _Async(chat))

    return anyio.run(main, backend=style)


class _Sync:
    def __init__(self, chat: FallbackChat) -> None:
        self.chat = chat
        self.seen: list[Any] = []

    def ask(self, *args: Any, **options: Any) -> Any:
        return self.chat.ask(*args, **options)

    def read(self, *args: Any, **options: Any) -> Any:
        with self.chat.stream(*args, **options) as events:
            for event in events:
                self.seen.append(event)  # those before an error too
            return self.seen, events.reply()


class _Async:
    def __init__(self, chat: AsyncFallbackChat) -> None:
        self.chat = chat
        self.seen: list[Any] = []

    def ask(self, *args: Any, **options: Any) -> Any:
        async def ask() -> Any:
            return await self.chat.ask(*args, **options)

        return anyio.from_thread.run(ask)

    def read(self, *args: Any, **options: Any) -> Any:
        async def read() -> Any:
            async with self.chat.stream(*args, **options) as events:
                async for event in events:
                    self.seen.append(event)
                return self.seen, await events.reply()

        return anyio.from_thread.run(read)


def why(reply: Any) -> list[str]:
    """The notes that say why a model was asked."""
    return [str(note) for note in reply.notes if note.path == "model"]


def asked(models: list[Emulator]) -> list[int]:
    """How many requests each model has had."""
    return [len(model.requests) for model in models]


DOWN = [{"fault": "503", "times": 0}]


def test_the_first_model_answers_alone(style: str) -> None:
    models = emulators([{"say": "Hello."}], [])
    reply = run(style, models, lambda chat: chat.ask("Hi"))
    assert (reply.text, reply.notes, asked(models)) == ("Hello.", (), [1, 0])


def test_the_next_model_answers_where_one_fails(style: str) -> None:
    models = emulators(DOWN, [{"say": "Hello."}], [])
    reply = run(style, models, lambda chat: chat.ask("Hi"))
    assert (reply.text, reply.message.origin.provider) == ("Hello.", "anthropic")
    (note,) = why(reply)
    assert note.startswith(
        "model: anthropic:claude-sonnet-5 answered, because gemini:gemini-3.8-flash failed: "
        "gemini: 503"
    )
    assert asked(models) == [1, 1, 0]


def test_a_stream_falls_back_before_its_first_event(style: str) -> None:
    models = emulators([{"fault": "cut; after=0"}], [{"say": "Hello."}])
    events, reply = run(style, models, lambda chat: chat.read("Hi"))
    assert reply.text == "".join(getattr(event, "text", "") for event in events) == "Hello."
    assert events[-1].reply is reply
    assert len(why(reply)) == 1
    assert asked(models) == [1, 1]


def test_a_stream_is_not_asked_again_after_its_first_event(style: str) -> None:
    models = emulators([{"say": "At 05:12 in the morning.", "fault": "cut; after=2"}], [])
    with pytest.raises(errors.WireError) as caught:
        run(style, models, lambda chat: chat.read("Hi"))
    assert not isinstance(caught.value, errors.FallbackError)
    assert caught.value.partial.text
    assert asked(models) == [1, 0]


def test_the_error_names_all_attempts(style: str) -> None:
    lost = [{"fault": "reset; after=0", "times": 0}]
    models = emulators(DOWN, [{"fault": "401", "times": 0}], lost)
    for how in ("ask", "read"):
        with pytest.raises(errors.FallbackError) as caught:
            run(style, models, lambda chat, how=how: getattr(chat, how)("Hi"))
    error = caught.value
    assert list(error.failures) == list(NAMES)
    kinds = [type(each) for each in error.failures.values()]
    assert kinds[:2] == [errors.OverloadedError, errors.AuthenticationError]
    for name in NAMES:
        assert f"{name} failed: " in str(error)
    assert (error.attempts, error.retryable) == (3, True)
    again = pickle.loads(pickle.dumps(error))
    assert [type(each) for each in again.failures.values()] == kinds
    assert str(again) == str(error)


def test_a_request_that_is_wrong_in_itself_goes_to_nobody_else(style: str) -> None:
    models = emulators([{"fault": "400"}], [])
    with pytest.raises(errors.BadRequestError):
        run(style, models, lambda chat: chat.ask("Hi"))
    with pytest.raises(errors.RuleError):
        run(style, models, lambda chat: chat.ask(messages=[Message.assistant("Ho")]))
    with pytest.raises(errors.ConfigurationError, match="no such setting"):
        run(style, models, lambda chat: chat.ask("Hi", temprature=1))
    assert asked(models) == [1, 0]


def test_on_names_other_errors(style: str) -> None:
    models = emulators([{"fault": "400"}], [{"say": "Hello."}])
    on = (errors.BadRequestError,)
    assert run(style, models, lambda chat: chat.ask("Hi"), on=on).text == "Hello."
    with pytest.raises(errors.OverloadedError):
        run(style, emulators(DOWN, []), lambda chat: chat.ask("Hi"), on=on)


def test_the_conversation_is_handed_over_with_notes(style: str) -> None:
    def work(chat: Any) -> Any:
        first = chat.ask("Hi")
        history = (Message.user("Hi"), first.message, Message.user("And now?"))
        return chat.ask(messages=iter(history))  # read once, asked twice

    think = {"say": {"thoughts": "Well.", "text": "Hello."}}
    models = emulators([think, *DOWN], [{"say": "Again."}])
    reply = run(style, models, work)
    assert reply.text == "Again."
    assert "withheld: the signature of another model" in " ".join(map(str, reply.notes))
    sent = models[1].requests[-1]["body"]
    assert [turn["role"] for turn in sent["messages"]] == ["user", "assistant", "user"]


def test_a_model_sits_out_as_its_server_asks(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("wire.core.circuits.time", SimpleNamespace(monotonic=lambda: now[0]))
    models = emulators([{"fault": "429; retry-after=20"}], [])

    def work(chat: Any) -> None:
        chat.ask("Hi")
        assert chat.chat.sits_out() == {NAMES[0]: 20.0}
        reply = chat.ask("Hi")
        assert why(reply)[0].endswith(f"because {NAMES[0]} sits out for another 20 s")
        assert asked(models) == [1, 2]
        now[0] = 20.0
        assert chat.ask("Hi").notes == ()
        assert (asked(models), chat.chat.sits_out()) == ([2, 2], {})

    run(style, models, work)


def test_all_sit_out(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("wire.core.circuits.time", SimpleNamespace(monotonic=lambda: now[0]))
    models = emulators([{"fault": "429; retry-after=20"}], [{"fault": "429; retry-after=9"}])

    def work(chat: Any) -> None:
        for expected in ("failed: ", "sits out for another "):
            with pytest.raises(errors.FallbackError) as caught:
                chat.ask("Hi")
            assert str(caught.value).count(expected) == 2
            assert (caught.value.retry_after, caught.value.retryable) == (9, True)
        assert caught.value.failures == {}

    run(style, models, work)
    assert asked(models) == [1, 1]


def test_an_open_circuit_spares_the_model(style: str) -> None:
    models = emulators(DOWN, [])

    def work(chat: Any) -> None:
        for _ in range(5):
            chat.ask("Hi")

    run(style, models, work, circuit=Circuit(failures=2, seconds=1000))
    assert asked(models) == [2, 5]


def test_a_model_that_cannot_hold_the_settings_is_named_at_once() -> None:
    with pytest.raises(errors.ConfigurationError) as caught:
        FallbackChat(chats_of(Chat, emulators([], [])), search_grounding=True)
    assert str(caught.value).startswith(f"anthropic: models[1] {NAMES[1]}: ")
    assert "search_grounding" in str(caught.value)


def test_a_model_without_a_key_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(errors.ConfigurationError, match=r"models\[1\] .*ANTHROPIC_API_KEY"):
        FallbackChat(NAMES[:2])
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with FallbackChat(NAMES[:2], temperature=None, max_tokens=5) as chat:
        assert chat.model == ",".join(NAMES[:2])


def test_a_model_has_the_name_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    http = EmulatorTransport(Emulator(DOWN))
    own = Chat("openai:gpt-5.4", http=http)
    for chat, name in (
        (FallbackChat(models=["openai:gpt-5.4"], http=http), "openai:gpt-5.4"),
        (FallbackChat(models=[own]), "openai@responses:gpt-5.4"),
    ):
        with pytest.raises(errors.FallbackError, match=f"{name} failed: ") as caught:
            chat.ask("Hi", retry=None)
        assert list(caught.value.failures) == [name]
        assert chat.model == name


def test_the_same_model_twice_loses_no_error(style: str) -> None:
    def chats(kind: Any, http: Any) -> list[Any]:
        faults = ("503", "401")
        scripts = [[{"fault": fault, "times": 0}] for fault in faults]
        return [
            kind(NAMES[0], api_key=KEY, retry=None, http=http(Emulator(script)))
            for script in scripts
        ]

    if style == "sync":
        with pytest.raises(errors.FallbackError) as caught:
            FallbackChat(chats(Chat, EmulatorTransport)).ask("Hi")
    else:
        with pytest.raises(errors.FallbackError) as caught:
            chat = AsyncFallbackChat(chats(AsyncChat, AsyncEmulatorTransport))
            anyio.run(chat.ask, "Hi", backend=style)
    failures = caught.value.failures
    assert {name: type(each) for name, each in failures.items()} == {
        NAMES[0]: errors.OverloadedError,
        f"{NAMES[0]} (models[1])": errors.AuthenticationError,
    }
    assert caught.value.attempts == 2


def test_a_reply_has_the_errors_of_the_models_before_it(style: str) -> None:
    for how in ("ask", "read"):
        models = emulators([{"fault": "401"}], DOWN, [{"say": "Hello."}, {"say": "Hello."}])
        got = run(style, models, lambda chat, how=how: getattr(chat, how)("Hi"))
        reply = got if how == "ask" else got[1]
        for each in (reply, copy.copy(reply), pickle.loads(pickle.dumps(reply))):
            kinds = {name: type(error) for name, error in each.failures.items()}
            assert kinds == {
                NAMES[0]: errors.AuthenticationError,
                NAMES[1]: errors.OverloadedError,
            }
    alone = run(style, emulators([{"say": "Hello."}], []), lambda chat: chat.ask("Hi"))
    assert alone.failures == {}


def test_a_reply_that_was_asked_for_again_keeps_the_errors(style: str) -> None:
    for how in ("ask", "read"):
        models = emulators(DOWN, [{"say": "no JSON"}, {"say": '{"a": 1}'}])
        got = run(style, models, lambda chat, how=how: getattr(chat, how)("Hi", output="json"))
        reply = got if how == "ask" else got[1]
        assert (reply.output, len(reply.reasks), list(reply.failures)) == ({"a": 1}, 1, [NAMES[0]])


def test_options_of_clients_go_to_the_models_given_by_name(
    style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("GEMINI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    moments: list[str] = []

    def seen(outgoing: Outgoing) -> Around:
        moments.append(outgoing.provider)
        yield

    emulator = Emulator([{"fault": "503"}, {"say": "Hello."}])
    options: Any = {"retry": None, "headers": {"x-team": "tides"}, "around": seen}
    if style == "sync":
        chat = FallbackChat(NAMES[:2], timeouts=20, http=EmulatorTransport(emulator), **options)
        reply = chat.ask("Hi")
        clients: list[Any] = [each.client for each in chat.chats]
    else:
        http = AsyncEmulatorTransport(emulator)
        fallen = AsyncFallbackChat(NAMES[:2], timeouts=20, http=http, **options)
        reply = anyio.run(fallen.ask, "Hi", backend=style)
        clients = [each.client for each in fallen.chats]
    assert (reply.text, moments) == ("Hello.", ["gemini", "anthropic"])
    assert [each.describe()["timeouts"].idle for each in clients] == [20, 20]
    assert [each["headers"]["x-team"] for each in emulator.requests] == ["tides", "tides"]


@joined(
    ("options", "words"),
    [
        (
            {"timeouts": 20},
            "timeouts: models[0] is a Chat with a client of its own; give timeouts= to that Chat, "
            "or give its name in place of it",
        ),
        (
            {"api_key": KEY},
            "api_key: it belongs to one provider; give that model as a Chat with api_key=",
        ),
    ],
)
def test_options_that_fit_no_client(options: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.ConfigurationError) as caught:
        FallbackChat(chats_of(Chat, emulators([])), **options)
    assert str(caught.value) == words


@joined(
    ("models", "options", "words"),
    [
        ([], {}, "models: expected at least one"),
        ("gemini:m", {}, "models: expected a list of names or chats, not str"),
        ([5], {}, "models[0]: expected a name or a Chat, not int"),
        (None, {"on": ValueError}, "on: expected classes of wire.errors, not a type"),
        (None, {"circuit": 3}, "circuit: expected a Circuit, not int"),
    ],
)
def test_bad_arguments(models: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(errors.ConfigurationError) as caught:
        FallbackChat(chats_of(Chat, emulators([])) if models is None else models, **options)
    assert str(caught.value) == words


def test_the_function_makes_the_chat_that_fits() -> None:
    assert isinstance(fallback(*chats_of(Chat, emulators([]))), FallbackChat)
    assert isinstance(fallback(*chats_of(AsyncChat, emulators([]))), AsyncFallbackChat)


def test_an_agent_asks_it() -> None:
    models = emulators(DOWN, [{"say": "Hello."}])
    with FallbackChat(chats_of(Chat, models)) as chat:
        assert Agent(chat).run("Hi").text == "Hello."


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_question_releases_the_model(backend: str) -> None:
    def never(outgoing: Outgoing) -> Around:
        yield Wait(Signal())

    async def main() -> None:
        chat = AsyncFallbackChat(
            chats_of(AsyncChat, emulators([]), around=never), circuit=Circuit(1, 0)
        )
        chat._circuits.failed(0, errors.ServerError("down", retryable=True))
        with anyio.move_on_after(0.01):
            await chat.ask("Hi")
        assert not chat._circuits._states[0].probing

    anyio.run(main, backend=backend)


# --- servers that die at random -------------------------------------------------------------------

FAULTS = (
    None,
    None,
    "503",
    "500",
    "401",
    "404",
    "429; retry-after=1",
    "reset; after=0",
    "cut; after=0",
    "cut; after=2",
    "garbage; after=1",
    "end; after=1",
)


def die_at_random(style: str, questions: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What came of so many questions to three servers that die at random."""
    now = [0.0]
    monkeypatch.setattr("wire.core.circuits.time", SimpleNamespace(monotonic=lambda: now[0]))
    dice = random.Random(7)
    asked: Counter[tuple[str, str]] = Counter()

    def script(name: str) -> Callable[[Any], dict[str, Any]]:
        def step(request: Any) -> dict[str, Any]:
            [question] = re.findall(r"Question \d+", request.body.decode())
            asked[name, question] += 1
            fault = dice.choice(FAULTS)
            return {"say": "At 05:12 in the morning."} | ({"fault": fault} if fault else {})

        return step

    outcomes: Counter[str] = Counter()

    def work(chat: Any) -> None:
        for number in range(questions):
            now[0] += dice.random()
            chat.seen.clear()
            question = f"Question {number}"
            try:
                _, reply = chat.read(question) if number % 2 else (0, chat.ask(question))
            except errors.FallbackError as error:
                assert chat.seen == []
                named = [name for name in NAMES if f"{name} " in str(error)]
                assert named == list(NAMES)
                outcomes["none"] += 1
            except errors.WireError:
                assert len(chat.seen) > 0  # broken off after its first event
                outcomes["broken"] += 1
            else:
                assert reply.text == "At 05:12 in the morning."
                outcomes[reply.message.origin.provider] += 1

    run(style, emulators(*map(script, NAMES)), work, circuit=Circuit(3, 5))
    assert set(asked.values()) == {1}  # no model gets a question twice
    return outcomes


def test_every_question_gets_an_answer_or_one_error(
    style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = die_at_random(style, 60, monkeypatch)
    assert sum(outcomes.values()) == 60
    assert {"gemini", "anthropic", "openai@chat", "broken"} <= outcomes.keys()


@pytest.mark.slow
def test_every_one_of_10_000_questions_gets_an_answer_or_one_error(
    style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = die_at_random(style, 10_000, monkeypatch)
    assert sum(outcomes.values()) == 10_000
    assert len(outcomes) == 5


def test_an_iterator_that_raises_is_refused_by_its_name() -> None:
    def broken() -> Iterator[str]:
        raise ValueError("no more")
        yield ""

    chat = Chat("gemini:gemini-3.8-flash", api_key="fake-key")
    with pytest.raises(errors.RuleError) as caught:
        FallbackChat([chat]).ask("Hi", stop=broken())  # type: ignore[arg-type]
    assert str(caught.value) == "stop: iterating over it raised ValueError"
