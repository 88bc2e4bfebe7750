"""Batches and uploads of chats, at three vendors, on threads, asyncio and trio."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.joined import joined
from wire import AsyncChat, Batch, Chat, Media, Message, Pause, Request, openai, tool
from wire.chat.batches import batching_of, wait_flow
from wire.errors import (
    APIError,
    BadRequestError,
    ConfigurationError,
    NotFoundError,
    OutputError,
    RuleError,
    ServerError,
    StreamIncomplete,
    StreamInvalid,
    TotalClock,
    WireError,
)
from wire.neutral.batches import BatchCounts
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

MODELS = {
    "gemini": "gemini:gemini-3.8-flash",
    "anthropic": "anthropic:claude-sonnet-5",
    "chat": "openai@chat:gpt-5.4",
    "responses": "openai@responses:gpt-5.4",
}
TEXT = "This is an emulator, and no model. You said: "
EACH = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
STYLES = pytest.mark.parametrize("style", ["sync", "asyncio", "trio"])


class Door:
    """The methods of a chat and of its batches, called alike in each style."""

    def __init__(self, model: str, style: str, emulator: Emulator, **settings: Any) -> None:
        self._open = functools.partial(self._made, model, style, emulator, settings)
        self._style = style

    def _made(self, model: str, style: str, emulator: Emulator, settings: dict[str, Any]) -> Any:
        kind, transport = (
            (Chat, EmulatorTransport) if style == "sync" else (AsyncChat, AsyncEmulatorTransport)
        )
        return kind(model, api_key="fake-key", http=transport(emulator), retry=None, **settings)

    def do(self, work: Callable[[Any], Any]) -> Any:
        """`work(chat)`, whose result is awaited in the async styles."""
        if self._style == "sync":
            with self._open() as chat:
                return work(chat)

        async def main() -> Any:
            async with self._open() as chat:
                result = work(chat)
                return await result if isinstance(result, Awaitable) else result

        return anyio.run(main, backend=self._style)

    def finish(self, batch: Batch) -> Batch:
        ended: Batch = self.do(lambda chat: chat.batches.wait(batch.id, every=0.001, most=1))
        return ended


@STYLES
@EACH
def test_a_batch_is_submitted_polled_and_read(model: str, style: str) -> None:
    """Each step has a chat of its own: the id is all that another process needs."""
    emulator = Emulator([{"match": {"text": "two"}, "fault": "500"}])
    door = Door(model, style, emulator, system="Be brief.")
    lines = {
        "one": "one",
        "two": [Message.user("two")],
        "three": ["three", " and four"],
    }
    made = door.do(lambda chat: chat.batches.create(lines))
    assert (made.status, made.ended, made.answer.raw is not None) == ("running", False, True)
    assert door.do(lambda chat: chat.batches.get(made.id)).status == "running"
    ended = door.finish(made)
    assert (ended.id, ended.status, ended.provider) == (made.id, "completed", made.provider)
    assert (ended.counts.total, ended.counts.succeeded, ended.counts.failed) == (3, 2, 1)
    results = door.do(lambda chat: chat.batches.results(made.id))
    assert results.keys() == lines.keys()
    assert results["one"].text == f"{TEXT}one"
    assert results["three"].text.startswith(f"{TEXT}three")
    assert results["one"].usage.output > 5
    assert isinstance(results["two"], ServerError)
    assert results["two"].provider == made.provider
    assert door.do(lambda chat: chat.batches.results(ended)).keys() == results.keys()


@EACH
def test_a_batch_that_expires(model: str) -> None:
    emulator = Emulator([{"match": {"text": "slow"}, "fault": "expire"}])
    door = Door(model, "sync", emulator)
    made = door.do(lambda chat: chat.batches.create({"a": "one", "b": "slow"}))
    ended = door.finish(made)
    assert (ended.status, ended.ended) == ("expired", True)
    if model.startswith("gemini"):  # a batch that expires has no results there
        with pytest.raises(APIError, match="expired before") as caught:
            door.do(lambda chat: chat.batches.results(ended))
        assert caught.value.code == "batch_expired"
        return
    results = door.do(lambda chat: chat.batches.results(ended))
    assert results["a"].text == f"{TEXT}one"
    error = results["b"]
    assert (type(error), error.code, error.retryable) == (APIError, "batch_expired", True)


@STYLES
@EACH
def test_a_batch_is_cancelled(model: str, style: str) -> None:
    door = Door(model, style, Emulator())
    made = door.do(lambda chat: chat.batches.create({"a": "one"}))
    assert door.do(lambda chat: chat.batches.cancel(made)).status in ("cancelling", "cancelled")
    ended = door.finish(made)
    assert ended.status == "cancelled"
    if model.startswith("gemini"):
        with pytest.raises(APIError, match="was cancelled before"):
            door.do(lambda chat: chat.batches.results(ended))
        return
    results = door.do(lambda chat: chat.batches.results(ended))
    assert {id: each.code for id, each in results.items()} == (
        {"a": "batch_cancelled"} if model.startswith("anthropic") else {}
    )


@EACH
def test_results_of_a_running_batch_are_a_typed_error(model: str) -> None:
    door = Door(model, "sync", Emulator())
    made = door.do(lambda chat: chat.batches.create({"a": "one"}))
    with pytest.raises(NotFoundError, match="has no results yet: it is running") as caught:
        door.do(lambda chat: chat.batches.results(made))
    assert (caught.value.code, caught.value.retryable) == ("batch_not_ended", True)


@EACH
def test_an_unknown_batch(model: str) -> None:
    door = Door(model, "sync", Emulator())
    id = "batches/none" if model.startswith("gemini") else "none"
    with pytest.raises(NotFoundError):
        door.do(lambda chat: chat.batches.get(id))


class City(msgspec.Struct):
    """A city."""

    name: str


def get_weather(city: str) -> str:
    """The weather of a city."""
    raise AssertionError(city)


@EACH
def test_output_tools_and_settings_of_one_request(model: str) -> None:
    call = {"name": "get_weather", "args": {"city": "Brest"}}
    emulator = Emulator([
        {"match": {"text": "plain"}, "say": "Not JSON."},
        {"match": {"text": "call"}, "say": {"calls": [call]}},
    ])  # fmt: skip
    door = Door(model, "sync", emulator, tools=[tool(get_weather)])

    def lines(chat: Chat) -> dict[str, Any]:
        return {"call": "call", "own": chat.request("hi", system="Speak up.", max_tokens=99)}

    made = door.do(lambda chat: chat.batches.create(lines(chat)))
    ended = door.finish(made)
    first = door.do(lambda chat: chat.batches.results(ended))["call"].tool_calls[0]
    again = door.do(lambda chat: chat.batches.results(ended.id))["call"].tool_calls[0]
    assert (first.name, first.arguments) == ("get_weather", {"city": "Brest"})
    assert first.id == again.id
    plain = Door(model, "sync", emulator)
    made = plain.do(lambda chat: chat.batches.create({"a": "city", "b": "plain"}, output=City))
    ended = plain.finish(made)
    results = plain.do(lambda chat: chat.batches.results(ended, output=City))
    assert isinstance(results["a"].output, City)
    assert isinstance(results["b"], OutputError)


@EACH
def test_a_reply_of_a_batch_goes_on_as_a_conversation(model: str) -> None:
    door = Door(model, "sync", Emulator())
    ended = door.finish(door.do(lambda chat: chat.batches.create({"a": "one"})))
    reply = door.do(lambda chat: chat.batches.results(ended))["a"]
    origin = reply.message.origin
    assert origin is not None
    turns = [Message.user("one"), reply.message, Message.user("two")]
    assert door.do(lambda chat: chat.ask(messages=turns)).text == f"{TEXT}two"


# --- what is refused ------------------------------------------------------------------------------


@EACH
def test_lines_that_cannot_be_expressed_are_refused_with_line_and_path(model: str) -> None:
    emulator = Emulator()
    song = Media(data=b"...", media_type="video/x-none")
    lines = {
        "good": "one",
        "empty": [],
        "media": ["listen", song],
    }
    with pytest.raises(RuleError) as caught:
        Door(model, "sync", emulator).do(lambda chat: chat.batches.create(lines))
    found = [(each.path.split(".")[0], each.message[:7]) for each in caught.value.violations]
    assert ("requests['empty']", "line 2:") in found
    assert not [path for path, _ in found if path == "requests['good']"]
    if not model.startswith("gemini"):
        assert ("requests['media']", "line 3:") in found
    assert emulator.requests == []


@joined(
    ("requests", "path"),
    [
        ({}, "requests"),
        ([], "requests"),
        ({"": "x"}, "requests['']"),
        ({"a\nb": "x"}, r"requests['a\nb']"),
        ({3: "x"}, "requests[3]"),
        ({"a": 3}, "requests['a']"),
        ({"a": Request(messages=(Message.user("x"),), temperature="hot")}, "requests['a']"),
    ],
)
def test_requests_of_a_wrong_form(requests: Any, path: str) -> None:
    emulator = Emulator()
    with pytest.raises(RuleError) as caught:
        Door(MODELS["chat"], "sync", emulator).do(lambda chat: chat.batches.create(requests))
    assert caught.value.violations[0].path.startswith(path)
    assert emulator.requests == []


def test_anthropic_takes_ids_of_letters_and_digits_only() -> None:
    door = Door(MODELS["anthropic"], "sync", Emulator())
    with pytest.raises(RuleError, match="1 to 64 letters, digits"):
        door.do(lambda chat: chat.batches.create({"no blanks": "x"}))


def test_hosts_with_another_batch_api_are_refused() -> None:
    for model in ("xai:grok-4.3", "mistral:mistral-large-latest"):
        emulator = Emulator()
        with pytest.raises(ConfigurationError, match="batch API of its own"):
            Door(model, "sync", emulator).do(lambda chat: chat.batches.create({"a": "x"}))
        assert emulator.requests == []


def test_vertex_has_no_batches_of_this_kind() -> None:
    with (
        Chat("gemini@vertex:gemini-3.8-flash", project="p", location="global", token=lambda: "t",
             http=EmulatorTransport()) as chat,
        pytest.raises(ConfigurationError),
    ):  # fmt: skip
        chat.batches.create({"a": "x"})


def test_a_batch_of_another_vendor_is_refused() -> None:
    other = Batch(id="msgbatch_1", provider="anthropic", status="completed")
    door = Door(MODELS["chat"], "sync", Emulator())
    with pytest.raises(ConfigurationError, match="is one of anthropic"):
        door.do(lambda chat: chat.batches.get(other))


def test_a_batch_whose_file_is_refused_fails_with_its_lines() -> None:
    """A file that another program wrote: those of `create` are sound."""
    emulator = Emulator()
    with Chat(MODELS["chat"], api_key="fake-key", http=EmulatorTransport(emulator)) as chat:
        data = b'{"custom_id":"a"}\n'
        file = chat.client.send(openai.upload_file(data, purpose="batch", filename="x.jsonl"))
        made = chat.client.send(openai.create_batch(file.id or "", "/v1/chat/completions"))
        ended = chat.batches.wait(made.id or "", every=0.001)
        assert ended.status == "failed"
        with pytest.raises(BadRequestError, match=r"failed: The method must be POST. \(line 1\)"):
            chat.batches.results(ended)


def test_waiting_ends_in_a_clock_error() -> None:
    with Chat(MODELS["chat"], api_key="fake-key", http=EmulatorTransport()) as chat:
        made = chat.batches.create({"a": "x"})
        flow = wait_flow(chat, made, 5, 7)
        pauses: list[Any] = []
        with pytest.raises(TotalClock, match=f"{made.id} is still running after 7 s"):
            call = next(flow)
            while True:
                pauses.append(flow.send(msgspec.structs.replace(made.answer, status="validating")))
                call = next(flow)
    assert pauses == [Pause(5), Pause(2)]
    assert call.path == f"/batches/{made.id}"  # type: ignore[union-attr]


def test_what_was_left_out_of_the_requests_is_noted() -> None:
    door = Door(MODELS["gemini"], "sync", Emulator())
    image = Media(data=b"\x89PNG\r\n\x1a\n", media_type="image/png", detail="low")
    made = door.do(lambda chat: chat.batches.create({"a": "x", "b": ["what?", image]}))
    assert [str(note) for note in made.notes] == [
        "requests['b'].messages[0].parts[1].detail: left out: Gemini has no such field"
    ]


def test_a_result_that_is_no_response_is_an_error_of_its_request() -> None:
    """The others are read."""
    line = b'{"custom_id":"%b","response":{"status_code":200,"body":%b}}\n'
    data = line % (b"a", b"[]") + line % (b"b", b'{"choices":[]}')
    with Chat(MODELS["chat"], api_key="fake-key", http=EmulatorTransport()) as chat:
        file = chat.client.send(openai.upload_file(data, purpose="batch", filename="out.jsonl"))
        answer = openai.Batch(id="batch_1", output_file_id=file.id)
        ended = Batch(id="batch_1", provider="openai@chat", status="completed", answer=answer)
        results = chat.batches.results(ended)
    assert {id: type(each) for id, each in results.items()} == {
        "a": StreamIncomplete,
        "b": StreamInvalid,
    }


def test_counts_of_a_batch_that_was_not_read_yet_are_unknown() -> None:
    door = Door(MODELS["chat"], "sync", Emulator())
    assert door.do(lambda chat: chat.batches.create({"a": "x"})).counts == BatchCounts()


def test_betas_of_requests_are_those_of_the_batch() -> None:
    emulator = Emulator()
    door = Door(MODELS["anthropic"], "sync", emulator)
    report = door.do(lambda chat: chat.upload(b"%PDF-1.7", name="a.pdf"))
    door.do(lambda chat: chat.batches.create({"a": ["Read.", report], "b": "x"}))
    sent = emulator.requests[-1]
    assert sent["headers"]["anthropic-beta"] == "files-api-2025-04-14"
    assert sent["body"]["requests"][0]["params"]["messages"][0]["content"][1]["source"] == {
        "type": "file",
        "file_id": report.url,
    }


def test_a_large_batch_of_gemini_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wire.gemini.batching.MAX_INLINE_BYTES", 100)
    emulator = Emulator()
    door = Door(MODELS["gemini"], "sync", emulator)
    made = door.do(lambda chat: chat.batches.create({"a": "one", "b": "two"}))
    assert "fileName" in json.dumps(emulator.requests[-1]["body"])
    results = door.do(lambda chat: chat.batches.results(door.finish(made)))
    assert {id: each.text for id, each in results.items()} == {
        "a": f"{TEXT}one",
        "b": f"{TEXT}two",
    }


@EACH
def test_a_batch_whose_id_was_not_received_is_found(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, or by its size among those after another one; on any page of the list."""
    for module in ("wire.gemini", "wire.anthropic", "wire.openai.common"):
        monkeypatch.setattr(f"{module}.batching._PAGE", 2)
    with Chat(model, api_key="fake-key", http=EmulatorTransport()) as chat:
        wire, row = batching_of(chat.row), chat.row

        def create(number: int, name: str) -> Batch:
            calls = {str(at): chat._batch_call(chat.request("x"), None) for at in range(number)}
            return chat.client.run(wire.create_batch(calls, chat.model, row, name))

        for _ in range(3):
            create(2, "earlier")
        after = chat.client.run(wire.newest_batch(row))
        own = create(2, "own")
        for number in (1, 2, 3):
            create(number, "later")
        found = chat.client.run(wire.find_batch("own", 2, after, row))
        assert found is not None
        assert found.id == own.id
        assert chat.client.run(wire.find_batch("none", 9, after, row)) is None


def test_the_first_batch_has_none_before_it() -> None:
    with Chat(MODELS["anthropic"], api_key="fake-key", http=EmulatorTransport()) as chat:
        wire, row = batching_of(chat.row), chat.row
        assert chat.client.run(wire.newest_batch(row)) == ""
        own = chat.batches.create({"a": "x"})
        found = chat.client.run(wire.find_batch("", 1, "", row))
        assert found is not None
        assert found.id == own.id


@EACH
def test_a_batch_that_is_too_large_is_refused(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Chat(model, api_key="fake-key", http=EmulatorTransport()) as chat:
        monkeypatch.setattr(batching_of(chat.row), "MAX_BYTES", 200)
        with pytest.raises(RuleError, match="bytes, more than the 200 of a batch"):
            chat.batches.create({"a": "x" * 200})


# --- uploads --------------------------------------------------------------------------------------


@STYLES
@EACH
def test_a_file_is_uploaded_asked_about_and_deleted(model: str, style: str, tmp_path: Path) -> None:
    path = tmp_path / "tides.pdf"
    path.write_bytes(b"%PDF-1.7 ebb")
    door = Door(model, style, Emulator())
    report = door.do(lambda chat: chat.upload(path))
    assert isinstance(report, Media)
    assert (report.media_type, report.data) == ("application/pdf", None)
    reply = door.do(lambda chat: chat.ask(["Read it.", report]))
    assert reply.text.startswith(TEXT)
    door.do(lambda chat: chat.delete_file(report))
    with pytest.raises(WireError):
        door.do(lambda chat: chat.delete_file(report.url))


@joined(
    ("name", "media_type", "taken"),
    [
        ("anthropic", "audio/mpeg", False),
        ("anthropic", "text/csv", True),
        ("anthropic", "image/png", True),
        ("anthropic", "image/heic", False),
        ("chat", "image/png", False),
        ("chat", "application/pdf", True),
        ("responses", "image/png", True),
        ("responses", "text/markdown", True),
        ("responses", "video/mp4", False),
        ("gemini", "audio/mpeg", True),
    ],
)
def test_a_type_that_the_model_does_not_take_is_refused_before_sending(
    name: str, media_type: str, taken: bool
) -> None:
    emulator = Emulator()
    door = Door(MODELS[name], "sync", emulator)
    upload = functools.partial(
        door.do, lambda chat: chat.upload(b"bytes of a file", media_type=media_type)
    )
    if taken:
        assert upload().url
        return
    with pytest.raises(RuleError) as caught:
        upload()
    assert caught.value.violations[0].path == "media_type"
    assert emulator.requests == []


def test_a_file_without_a_type_and_media_with_data() -> None:
    door = Door(MODELS["responses"], "sync", Emulator())
    with pytest.raises(RuleError, match="media_type: the media type is unknown"):
        door.do(lambda chat: chat.upload(b"bytes of a file"))
    with pytest.raises(ConfigurationError, match="file: expected what upload returned, or its url"):
        door.do(lambda chat: chat.delete_file(Media(data=b"x", media_type="a/b")))


BATCH = Batch(id="batch_1", provider="openai@responses", status="completed")
BAD: list[tuple[Callable[[Chat], Any], str]] = [
    (lambda chat: chat.batches.results(BATCH, output=5), "output: 5 cannot be the type of output"),
    (lambda chat: chat.batches.get(""), "batch: expected a Batch or its id, not an empty text"),
    (lambda chat: chat.batches.create({}), "requests: expected at least one request"),
    (lambda chat: chat.upload(io.StringIO("x"), media_type="a/pdf"), "data: expected a path"),
    (lambda chat: chat.delete_file("\ud800"), "file: this text contains half of a surrogate"),
]


@joined("call, words", BAD)
def test_bad_arguments_are_named_before_anything_is_sent(
    call: Callable[[Chat], Any], words: str
) -> None:
    emulator = Emulator()
    with pytest.raises(WireError) as caught:
        Door(MODELS["responses"], "sync", emulator).do(call)
    assert words in str(caught.value)
    assert emulator.requests == []
