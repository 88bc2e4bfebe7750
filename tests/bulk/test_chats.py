"""A run takes a chat where the name of a model is, with its settings, its key and its transport."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.bulk.test_run import MODEL, ROWS, STYLES, lines
from tests.joined import joined
from wire import AsyncChat, AsyncClient, Chat, bulk
from wire.bulk import Result
from wire.errors import AuthenticationError, ConfigurationError
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport, serve

OPTIONS: dict[str, Any] = {"api_key": "fake-key", "system": "Be kind.", "temperature": 0}


def asked(model: Any, rows: Any = ("Hi",), style: str = "asyncio", **options: Any) -> list[Result]:
    async def main() -> list[Result]:
        return [each async for each in bulk.run(rows, model, concurrent=1, **options)]

    return anyio.run(main, backend=style)


@STYLES
def test_an_async_chat_has_its_settings_and_its_transport_which_stays_open(
    style: str, tmp_path: Path
) -> None:
    emulator, path, ended = Emulator(), tmp_path / "out.jsonl", []

    class Told(AsyncEmulatorTransport):
        async def aclose(self) -> None:
            ended.append(self)

    async def main() -> None:
        async with AsyncChat(MODEL, http=Told(emulator), **OPTIONS) as chat:
            run = bulk.run(ROWS[:3], chat, to=path, max_tokens=50, temperature=1)
            assert repr(run) == f"Run({MODEL})"
            assert run.plan().output_tokens == 150
            assert (await run.finish()).answered == 3
            assert ended == []
            assert (await chat.ask("Still open?")).text.endswith("Still open?")
            assert chat.client._around == ()
        assert len(ended) == 1

    anyio.run(main, backend=style)
    *of_the_run, own = [each["body"] for each in emulator.requests]
    assert all(each["systemInstruction"]["parts"] == [{"text": "Be kind."}] for each in of_the_run)
    assert [each["generationConfig"]["temperature"] for each in of_the_run] == [1, 1, 1]
    assert own["generationConfig"] == {"temperature": 0}
    assert lines(path)[0]["settings"] == {"max_tokens": 50, "system": "Be kind.", "temperature": 1}
    assert lines(path)[0]["models"] == [MODEL]
    same: dict[str, Any] = {**OPTIONS, "temperature": 1, "max_tokens": 50}
    again = bulk.run(ROWS[:3], MODEL, to=path, **same)
    assert anyio.run(again.finish, backend=style).earlier == 3


@STYLES
def test_a_chat_of_threads_has_its_key_and_its_url(style: str) -> None:
    with serve(Emulator()) as server:
        with Chat(MODEL, base_url=server.url, **OPTIONS) as chat:
            [found] = asked(chat, style=style)
        assert found.reply is not None
        assert found.reply.text.endswith("Hi")
        assert server.requests[0]["body"]["systemInstruction"]["parts"] == [{"text": "Be kind."}]
        wrong = Chat(MODEL, base_url=server.url, api_key="wrong-key")
        with wrong, pytest.raises(AuthenticationError):
            asked(wrong, style=style)


def test_the_client_of_a_chat_and_its_functions_are_used() -> None:
    seen = []

    def around(outgoing: Any) -> Any:
        seen.append(outgoing)
        yield

    http = AsyncEmulatorTransport()
    client = AsyncClient("gemini", api_key="fake-key", http=http, around=around)
    found = asked(AsyncChat("gemini-3.8-flash", client=client), ROWS[:3])
    assert [each.error for each in found] == [None] * 3
    assert len(seen) == 3


def test_chats_stand_in_for_each_other_and_share_a_cache(tmp_path: Path) -> None:
    emulator = Emulator([{"match": {"model": "gemini-3.8-flash"}, "fault": "503", "times": 0}])
    http = AsyncEmulatorTransport(emulator)
    first = AsyncChat(MODEL, http=http, api_key="fake-key", retry=None)
    second = AsyncChat("anthropic:claude-sonnet-5", http=http, api_key="fake-key", max_tokens=9)
    [found] = asked([first, second])
    assert found.reply is not None
    assert found.reply.message.origin is not None
    assert found.reply.message.origin.provider == "anthropic"
    before = len(emulator.requests)
    for _ in range(2):
        assert asked(second, cache=tmp_path / "cache")[0].error is None
    assert len(emulator.requests) == before + 1


def test_rows_of_a_chat_in_batches(tmp_path: Path) -> None:
    http = AsyncEmulatorTransport()
    chat = AsyncChat("anthropic:claude-sonnet-5", http=http, api_key="fake-key", max_tokens=9)
    found = asked(chat, ROWS[:3], batch=True, every=0.01, to=tmp_path / "out.jsonl")
    assert [each.error for each in found] == [None] * 3


def closed() -> AsyncChat:
    chat = AsyncChat(MODEL, http=AsyncEmulatorTransport(), api_key="fake-key")
    anyio.run(chat.aclose)
    return chat


@joined(
    ("model", "options", "problem"),
    [
        (Chat(MODEL, http=EmulatorTransport(), **OPTIONS), {}, "model: the EmulatorTransport of "
            "the Chat is for threads: give an AsyncChat"),
        (AsyncChat(MODEL, **OPTIONS), {"api_key": "other-key"}, "api_key: an option of the chat; "
            "give it to the chat"),
        (AsyncChat(MODEL, **OPTIONS), {"http": AsyncEmulatorTransport()}, "http: an option of the "
            "chat; give it to the chat"),
        ([MODEL, AsyncChat(MODEL, **OPTIONS)], {"base_url": "http://127.0.0.1:9"}, "base_url: an "
            "option of the chat; give it to the chat"),
        (AsyncChat(MODEL, **OPTIONS), {"temprature": 1}, "temprature: no such option; did you "
            "mean 'temperature'?"),
        (closed(), {}, "the client is closed"),
        (AsyncChat(MODEL, **OPTIONS), {"on": "tcp://127.0.0.1:9"}, "model: a chat stays in this "
            "process; give its name and options"),
        (5, {}, "model: expected a list, not int"),
        ([5], {}, "model[0]: expected a name such as gemini:gemini-3.8-flash, or a chat, not int"),
        (AsyncChat("acme:small", base_url="http://127.0.0.1:9"), {"max_cost": 1}, "max_cost: the "
            "price of acme:small is not known"),
    ],
)  # fmt: skip
def test_a_chat_that_cannot_be_used_is_refused(
    model: Any, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        bulk.run(["Hi"], model, **options)
    assert refused.value.message.startswith(problem)
