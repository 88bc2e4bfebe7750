"""Bulk runs in batches, at three vendors, on asyncio and trio."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import httpx
import msgspec
import pytest

from tests.joined import joined
from tests.property import examples, sample
from wire import Chat, bulk, tool
from wire.bulk import vendor_jobs
from wire.core.retry import Retry
from wire.errors import (
    AccessDeniedError,
    APIError,
    AuthenticationError,
    ConfigurationError,
    OutputError,
    RuleError,
    ServerError,
    WireError,
)
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

MODELS = {
    "gemini": "gemini:gemini-3.8-flash",
    "anthropic": "anthropic:claude-sonnet-5",
    "chat": "openai@chat:gpt-5.4",
    "responses": "openai@responses:gpt-5.4",
}
VENDORS = {name: MODELS[name] for name in ("gemini", "anthropic", "chat")}
TEXT = "This is an emulator, and no model. You said: "
EACH = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
STYLES = pytest.mark.parametrize("style", ["asyncio", "trio"])


class Killed(BaseException):
    """The process ends here."""


class Faulty(AsyncEmulatorTransport):
    """Calls `fault` with each request that creates a batch, or with each one at all.

    `fault` gets the number of the request and whether the server has answered it; it may raise.
    """

    def __init__(
        self, emulator: Emulator, fault: Callable[[int, bool], object], *, creates: bool = True
    ) -> None:
        super().__init__(emulator)
        self._fault, self._creates, self.count = fault, creates, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._creates and not is_create(request.method, str(request.url)):
            return await super().handle_async_request(request)
        number, self.count = self.count, self.count + 1
        self._fault(number, False)
        response = await super().handle_async_request(request)
        self._fault(number, True)
        return response


def is_create(method: str, url: str) -> bool:
    path = url.partition("?")[0]
    return method == "POST" and path.endswith(("/batches", ":batchGenerateContent"))


def created(emulator: Emulator) -> int:
    """The number of batches that the vendor has created."""
    return sum(
        is_create(each["method"], each["target"]) and each["status"] == 200
        for each in emulator.requests
    )


def made(rows: Any, model: str, to: Path, http: Any, **options: Any) -> bulk.Run:
    rows = [{"prompt": each} if isinstance(each, str) else each for each in rows]
    given: dict[str, Any] = {"every": 0.0001, "retry": Retry(base=0), **options}
    return bulk.run(rows, model, to=to, batch=True, api_key="fake-key", http=http, **given)


def run(
    rows: Any, model: str, to: Path, http: Any, style: str = "asyncio", **options: Any
) -> dict[str, bulk.Result]:
    """The results of a run with batches, by id."""
    transport = AsyncEmulatorTransport(http) if isinstance(http, Emulator) else http

    async def main() -> dict[str, bulk.Result]:
        results = [result async for result in made(rows, model, to, transport, **options)]
        assert len({each.id for each in results}) == len(results)
        return {each.id: each for each in results}

    return anyio.run(main, backend=style)


def finish(rows: Any, model: str, to: Path, http: Any, style: str = "asyncio") -> None:
    anyio.run(made(rows, model, to, http).finish, backend=style)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def results_of(path: Path) -> dict[str, str]:
    """The texts of the results by id; fails for two lines of one row."""
    read = lines(path)[1:]
    texts = {each["id"]: each["text"].removeprefix(TEXT) for each in read}
    assert len(texts) == len(read)
    return texts


def events(path: Path) -> list[str]:
    return [each["event"] for each in lines(Path(f"{path}.jobs.jsonl"))[1:]]


@pytest.fixture
def three_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job has three rows at most."""
    monkeypatch.setattr(vendor_jobs, "MOST_ROWS", 3)


# --- one run --------------------------------------------------------------------------------------


@STYLES
@EACH
def test_rows_are_asked_in_a_batch(model: str, style: str, tmp_path: Path) -> None:
    """Ids that a vendor refuses, metadata, a row that fails and one that cannot be read."""
    emulator, to = Emulator([{"match": {"text": "two"}, "fault": "500"}]), tmp_path / "out"
    rows = [
        {"id": "a", "prompt": "one", "metadata": {"n": 1}},
        {"id": "b", "prompt": "two"},
        {"id": "no blanks?", "prompt": "three", "max_tokens": 99},
        {"id": "d", "promt": "four"},
        {"id": "a", "prompt": "five"},
    ]
    results = run(rows[:4], model, to, emulator, style, system="Be brief.")
    assert results["a"].reply is not None
    assert (results["a"].reply.text, results["a"].metadata) == (f"{TEXT}one", {"n": 1})
    assert results["no blanks?"].reply is not None
    assert isinstance(results["b"].error, ServerError)
    assert isinstance(results["d"].error, RuleError)
    assert results["d"].error.violations[0].path == "promt"
    assert created(emulator) == 1
    assert results_of(to) == {"a": "one", "no blanks?": "three"}
    dead = {each["id"]: each["error"].get("retryable") for each in lines(Path(f"{to}.dead.jsonl"))}
    assert dead == {"b": True, "d": None}
    assert events(to) == ["submitting", "created", "merged"]


@EACH
def test_a_line_is_that_of_a_run_without_batches(model: str, tmp_path: Path) -> None:
    """But for the vendor's id, the time and the price, which is half."""
    rows = [{"id": "a", "prompt": "one", "max_tokens": 500}]
    run(rows, model, tmp_path / "batch", Emulator())

    async def alone() -> None:
        http = AsyncEmulatorTransport()
        await bulk.run(rows, model, to=tmp_path / "alone", api_key="fake-key", http=http).finish()

    anyio.run(alone)
    batch, single = lines(tmp_path / "batch")[1], lines(tmp_path / "alone")[1]
    assert Decimal(batch["cost"]) * 2 == Decimal(single["cost"])
    for line in (batch, single):
        for name in ("response", "response_id", "cost"):
            line.pop(name, None)
    assert batch == single


def test_a_row_that_is_larger_than_a_batch_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wire.anthropic.batching.MAX_BYTES", 1000)
    results = run(["a" * 1000, "b"], MODELS["anthropic"], tmp_path / "out", Emulator())
    assert isinstance(results["1"].error, RuleError)
    assert "more than the 1,000 of a batch" in results["1"].error.message
    assert results["2"].reply is not None


@EACH
def test_a_reply_of_a_batch_costs_the_price_of_batches(model: str) -> None:
    with Chat(model, api_key="fake-key", http=EmulatorTransport()) as chat:
        ended = chat.batches.wait(chat.batches.create({"a": "one"}), every=0.001)
        reply = chat.batches.results(ended)["a"]
        assert not isinstance(reply, WireError)
        alone = chat.ask("one").cost.total
    assert alone
    assert reply.cost.total == alone / 2


class City(msgspec.Struct):
    """A city."""

    name: str


def get_weather(city: str) -> str:
    """The weather of a city."""
    raise AssertionError(city)


@EACH
def test_output_tools_and_settings_of_a_row(model: str, tmp_path: Path) -> None:
    call = {"name": "get_weather", "args": {"city": "Brest"}}
    emulator = Emulator([
        {"match": {"text": "plain"}, "say": "Not JSON."},
        {"match": {"text": "call"}, "say": {"calls": [call]}},
    ])  # fmt: skip
    own = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
    rows = [
        {"id": "a", "prompt": "city"},
        {"id": "b", "prompt": "plain"},
        {"id": "c", "prompt": "own", "output": own},
    ]
    results = run(rows, model, tmp_path / "out", emulator, output=City)
    assert results["a"].reply is not None
    assert isinstance(results["a"].reply.output, City)
    assert isinstance(results["b"].error, OutputError)
    assert results["c"].reply is not None
    assert set(results["c"].reply.output) == {"size"}
    rows = [{"id": "d", "prompt": "call"}]
    results = run(rows, model, tmp_path / "tools", emulator, tools=[tool(get_weather)])
    assert results["d"].reply is not None
    assert results["d"].reply.tool_calls[0].arguments == {"city": "Brest"}


@STYLES
def test_jobs_are_filled_up_to_their_limits(
    style: str, tmp_path: Path, three_rows: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vendor_jobs, "MOST_BYTES", 2000)
    rows: list[Any] = [f"{number}" for number in range(7)]
    emulator, to = Emulator(), tmp_path / "out"
    assert len(run(rows, MODELS["anthropic"], to, emulator, style, concurrent=2)) == 7
    jobs = [each["rows"] for each in lines(Path(f"{to}.jobs.jsonl")) if "rows" in each]
    assert jobs == [[[1, 3]], [[4, 6]], [[7, 7]]]
    rows = ["a" * 1500, "b" * 3000, "c", "d"]
    to = tmp_path / "bytes"
    assert len(run(rows, MODELS["anthropic"], to, emulator, style)) == 4
    jobs = [each["rows"] for each in lines(Path(f"{to}.jobs.jsonl")) if "rows" in each]
    assert jobs == [[[1, 1]], [[2, 2]], [[3, 4]]]


def test_so_many_jobs_run_at_the_same_time(tmp_path: Path, three_rows: None) -> None:
    """A batch of the emulator ends at its second poll."""
    emulator, counts = Emulator(), []

    def count(number: int, answered: bool) -> None:
        ended = sum(
            each["target"].endswith("/results") and each["status"] == 200
            for each in emulator.requests
        )
        counts.append(created(emulator) - ended)

    rows = [f"{number}" for number in range(30)]
    http = Faulty(emulator, count)
    assert len(run(rows, MODELS["anthropic"], tmp_path / "out", http, concurrent=2)) == 30
    assert max(counts) == 2


# --- resumed --------------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("model", VENDORS.values(), ids=VENDORS)
def test_a_run_is_killed_at_each_request(model: str, tmp_path: Path, three_rows: None) -> None:
    """Before the server gets it, and after. No job is created twice, and each row has one line."""
    rows = [f"row {number}" for number in range(1, 6)]
    whole = Faulty(Emulator(), lambda *_: None, creates=False)
    finish(rows, model, tmp_path / "whole", whole)
    places = [(number, answered) for number in range(whole.count) for answered in (False, True)]
    for index, place in enumerate(sample(places, 8)):
        style = ("asyncio", "trio")[index % 2]

        def kill(number: int, answered: bool, place: tuple[int, bool] = place) -> None:
            if (number, answered) == place:
                raise Killed

        to, emulator = tmp_path / str(index), Emulator()
        with pytest.raises(BaseException) as caught:  # noqa: PT011
            finish(rows, model, to, Faulty(emulator, kill, creates=False), style)
        assert "Killed" in repr(caught.value)
        finish(rows, model, to, AsyncEmulatorTransport(emulator), style)
        assert results_of(to) == {str(at): f"row {at}" for at in range(1, 6)}, place
        assert created(emulator) == 2, place


@pytest.mark.sampled
@pytest.mark.parametrize("model", VENDORS.values(), ids=VENDORS)
def test_a_run_is_killed_at_each_byte_that_it_writes(model: str, tmp_path: Path) -> None:
    """The files are cut as if the process had ended there; the vendor has what was sent before."""
    rows = ["one", "two", {"promt": "three"}]
    to, emulator = tmp_path / "out", Emulator()
    finish(rows, model, to, AsyncEmulatorTransport(emulator))
    journal, dead = Path(f"{to}.jobs.jsonl"), Path(f"{to}.dead.jsonl")
    header, *results = to.read_bytes().splitlines(keepends=True)
    first, submitting, has_id, merged = journal.read_bytes().splitlines(keepends=True)
    written = [  # in this order
        (to, header),
        (journal, first),
        (dead, dead.read_bytes()),
        (journal, submitting),
        (journal, has_id),
        *((to, line) for line in results),
        (journal, merged),
    ]
    ends = list(itertools.accumulate(len(data) for _, data in written))
    near = sample([end + step for end in ends for step in (-1, 0, 1)], 2)
    for place in sorted({*near, *sample(range(ends[-1]), 800)}):
        left = place
        for path in (to, journal, dead):
            path.unlink(missing_ok=True)
        for path, data in written:
            if left > 0:
                with path.open("ab") as file:
                    file.write(data[:left])
            left -= len(data)
        is_sent = place >= ends[3]
        vendor = emulator if is_sent else Emulator()
        finish(rows, model, to, AsyncEmulatorTransport(vendor))
        assert results_of(to) == {"1": "one", "2": "two"}, place
        assert [each["row"] for each in lines(dead)] == [3], place
        assert events(to)[-1] == "merged", place
        assert created(vendor) == 1, place


@pytest.mark.parametrize("seed", range(examples(24)))
def test_a_run_is_killed_many_times(seed: int, tmp_path: Path, three_rows: None) -> None:
    """At random requests, with rows that fail for a while and rows that always fail."""
    dice = random.Random(seed)
    model = dice.choice(list(VENDORS.values()))
    emulator = Emulator([
        {"match": {"text": "refused"}, "fault": "400"},
        {"match": {"text": "down"}, "fault": "503", "times": 2},
    ])  # fmt: skip
    kinds = ["row", "row", "row", "refused", "down"]
    rows = [f"{dice.choice(kinds)} {number}" for number in range(1, dice.randint(4, 12))]
    to = tmp_path / "out"

    def kill(number: int, answered: bool) -> None:
        if dice.random() < 0.15:
            raise Killed

    for _ in range(12):
        transport = Faulty(emulator, kill, creates=False)
        with suppress(Killed, BaseExceptionGroup):
            finish(rows, model, to, transport, dice.choice(["asyncio", "trio"]))
    for _ in range(4):
        finish(rows, model, to, AsyncEmulatorTransport(emulator))
    dead = [each["row"] for each in lines(Path(f"{to}.dead.jsonl"))]
    assert sorted([*map(int, results_of(to)), *dead]) == list(range(1, len(rows) + 1))
    assert {rows[number - 1].split()[0] for number in dead} <= {"refused"}
    jobs = lines(Path(f"{to}.jobs.jsonl"))[1:]
    assert sum(each["event"] == "created" for each in jobs) == created(emulator)


@STYLES
@EACH
def test_rows_of_a_job_that_expires_are_asked_again_by_the_next_run(
    model: str, style: str, tmp_path: Path
) -> None:
    emulator = Emulator([{"match": {"text": "slow"}, "fault": "expire", "times": 1}])
    to, rows = tmp_path / "out", ["one", "slow"]
    results = run(rows, model, to, emulator, style)
    error = results["2"].error
    assert isinstance(error, APIError)
    assert (error.code, error.retryable) == ("batch_expired", True)
    answered = results["1"].reply is not None
    assert answered is not model.startswith("gemini")  # whose jobs then have no results
    again = run(rows, model, to, emulator, style)
    assert set(again) == ({"2"} if answered else {"1", "2"})
    assert results_of(to) == {"1": "one", "2": "slow"}
    assert lines(Path(f"{to}.dead.jsonl")) == []
    assert created(emulator) == 2


@EACH
def test_rows_of_a_job_that_was_cancelled_are_asked_again(model: str, tmp_path: Path) -> None:
    emulator, to = Emulator(), tmp_path / "out"

    class Cancelling(AsyncEmulatorTransport):
        """Cancels the first batch before it is polled."""

        is_cancelled = False

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            is_poll = request.method == "GET" and "/batches/" in str(request.url)
            if is_poll and not self.is_cancelled:
                self.is_cancelled = True
                verb = ":cancel" if model.startswith("gemini") else "/cancel"
                url, headers = f"{request.url}{verb}", request.headers
                await super().handle_async_request(httpx.Request("POST", url, headers=headers))
            return await super().handle_async_request(request)

    rows = ["one", "two"]
    results = run(rows, model, to, Cancelling(emulator))
    assert {each.error and each.error.code for each in results.values()} == {"batch_cancelled"}
    assert {each.error and each.error.retryable for each in results.values()} == {True}
    assert len(run(rows, model, to, emulator)) == 2
    assert results_of(to) == {"1": "one", "2": "two"}


# --- submitting -----------------------------------------------------------------------------------


@STYLES
@EACH
def test_a_job_whose_response_is_lost_is_found_at_the_vendor(
    model: str, style: str, tmp_path: Path
) -> None:
    def lose(number: int, answered: bool) -> None:
        if answered and number == 0:
            raise httpx.ReadError("connection reset by peer")

    emulator, to = Emulator(), tmp_path / "out"
    assert len(run(["one", "two"], model, to, Faulty(emulator, lose), style)) == 2
    assert created(emulator) == 1
    assert events(to) == ["submitting", "created", "merged"]


@EACH
def test_a_job_that_did_not_arrive_is_sent_again(model: str, tmp_path: Path) -> None:
    def lose(number: int, answered: bool) -> None:
        if not answered and number == 0:
            raise httpx.ConnectError("connection refused")

    emulator, to = Emulator(), tmp_path / "out"
    assert len(run(["one", "two"], model, to, Faulty(emulator, lose))) == 2
    assert created(emulator) == 1


@EACH
def test_a_job_that_is_refused_is_split_down_to_the_row(model: str, tmp_path: Path) -> None:
    """The vendor's answer concerns the job as a whole, and does not name the row."""

    class Refusing(AsyncEmulatorTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            body = await request.aread()
            is_file = "/files" in str(request.url)
            if b"poison" in body and (is_file or is_create(request.method, str(request.url))):
                error = {"error": {"message": "invalid", "type": "invalid_request_error"}}
                return httpx.Response(400, json=error)
            return await super().handle_async_request(request)

    emulator, to = Emulator(), tmp_path / "out"
    rows = ["one", "two", "poison", "four", "five"]
    results = run(rows, model, to, Refusing(emulator))
    assert [id for id, each in results.items() if each.error is not None] == ["3"]
    assert results_of(to).keys() == {"1", "2", "4", "5"}
    assert events(to).count("dropped") == 3
    assert run(rows, model, to, Refusing(emulator)) == {}


@pytest.mark.parametrize(
    ("fault", "expected"), [("401", AuthenticationError), ("403", AccessDeniedError)]
)
def test_an_error_of_all_jobs_ends_the_run(
    fault: str, expected: type[WireError], tmp_path: Path
) -> None:
    emulator, to = Emulator([{"fault": fault, "times": 1}]), tmp_path / "out"
    refused = httpx.Response(int(fault), json={"error": {"message": "no", "type": "no"}})

    class Refusing(AsyncEmulatorTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if is_create(request.method, str(request.url)):
                return refused
            return await super().handle_async_request(request)

    with pytest.raises(expected):
        run(["one"], MODELS["anthropic"], to, Refusing(emulator))
    assert events(to) == ["submitting", "dropped"]
    emulator.reset()
    assert len(run(["one"], MODELS["anthropic"], to, Emulator())) == 1


def test_a_job_waits_for_room_at_the_vendor(tmp_path: Path, three_rows: None) -> None:
    """A 429 says that too many jobs run: the job is sent again when one of them has ended."""
    emulator, to = Emulator(), tmp_path / "out"
    refusals = 0

    class Full(AsyncEmulatorTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            nonlocal refusals
            ended = sum(each["target"].endswith("/results") for each in emulator.requests)
            is_new = is_create(request.method, str(request.url))
            if is_new and created(emulator) > ended:
                refusals += 1
                error = {"type": "error", "error": {"type": "rate_limit_error", "message": "full"}}
                return httpx.Response(429, json=error)
            return await super().handle_async_request(request)

    rows = [f"{number}" for number in range(12)]
    assert len(run(rows, MODELS["anthropic"], to, Full(emulator), retry=Retry(attempts=1))) == 12
    assert (created(emulator), refusals) == (4, 3)


@EACH
def test_polls_may_fail_for_a_while(model: str, tmp_path: Path) -> None:
    failures = 0

    class Down(AsyncEmulatorTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            nonlocal failures
            is_poll = request.method == "GET" and "/batches/" in str(request.url)
            if is_poll and failures < vendor_jobs.MOST_FAILED_POLLS:
                failures += 1
                raise httpx.ConnectError("no network")
            return await super().handle_async_request(request)

    results = run(["one"], model, tmp_path / "out", Down(), retry=None)
    assert (len(results), failures) == (1, vendor_jobs.MOST_FAILED_POLLS)


# --- what is refused ------------------------------------------------------------------------------


@joined(
    ("given", "words"),
    [
        ({"to": None}, "batch: needs to, the file of the results"),
        ({"cache": "folder"}, "cache: does not apply to batch"),
        ({"requests": 5}, "requests: does not apply to batch"),
        ({"tokens": 5}, "tokens: does not apply to batch"),
        ({"model": ["gemini:a", "openai:b"]}, "model: expected one"),
        ({"model": "xai:grok-4.3"}, "batch API of its own"),
        ({"model": "mistral:mistral-large-latest"}, "batch API of its own"),
        ({"every": 0}, "every: expected a positive number of seconds"),
        ({"batch": "yes"}, "batch: expected True or False, not str"),
        ({"output": 5}, "output: 5 cannot be the type of output"),
    ],
)
def test_options_that_do_not_apply_are_refused_at_once(given: dict[str, Any], words: str) -> None:
    options: dict[str, Any] = {"model": MODELS["chat"], "to": "out", "batch": True, **given}
    http = AsyncEmulatorTransport()
    with pytest.raises(WireError, match=words):
        bulk.run([], api_key="fake-key", http=http, **options)
    assert http.emulator.requests == []


def test_vertex_has_no_batches_of_this_kind(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="this host has no endpoint"):
        bulk.run(
            [], "gemini@vertex:gemini-3.8-flash", to=tmp_path / "out", batch=True, project="p",
            location="global", token=lambda: "t", http=AsyncEmulatorTransport(),
        )  # fmt: skip


def interrupted(rows: Any, to: Path, emulator: Emulator) -> None:
    """A run whose job was created and not merged."""

    def kill(number: int, answered: bool) -> None:
        if answered:
            raise Killed

    with suppress(Killed, BaseExceptionGroup):
        finish(rows, MODELS["chat"], to, Faulty(emulator, kill))
    assert created(emulator) == 1


def test_rows_of_open_jobs_are_not_asked_one_by_one(tmp_path: Path) -> None:
    emulator, to = Emulator(), tmp_path / "out"
    interrupted(["one"], to, emulator)
    http = AsyncEmulatorTransport(emulator)
    with pytest.raises(ConfigurationError, match="has 1 jobs whose results are not merged yet"):
        bulk.run(["one"], MODELS["chat"], to=to, api_key="fake-key", http=http)
    run(["one"], MODELS["chat"], to, emulator)
    bulk.run(["one"], MODELS["chat"], to=to, api_key="fake-key", http=http)


def test_other_rows_than_those_of_the_job_are_refused(tmp_path: Path) -> None:
    emulator, to = Emulator(), tmp_path / "out"
    interrupted(["one", "two"], to, emulator)
    with pytest.raises(ConfigurationError, match="rows: row 2 was another one when batch_"):
        run(["one", "zwei"], MODELS["chat"], to, emulator)


def test_the_journal_of_another_run_is_refused(tmp_path: Path) -> None:
    emulator, to = Emulator(), tmp_path / "out"
    interrupted(["one"], to, emulator)
    to.unlink()
    with pytest.raises(ConfigurationError, match="has the results of another run: system was"):
        run(["one"], MODELS["chat"], to, emulator, system="Be brief.")


@joined(
    ("line", "words"),
    [
        (b"[]\n", "line 2: Expected `object`"),
        (b'{"event":"eaten","job":"x"}\n', "line 2: Invalid enum value 'eaten'"),
        (b'{"event":"submitting","job":"x"}\n', "line 2: rows: expected at least one range"),
        (b"\xff\n", "line 2: "),
    ],
)
def test_a_journal_that_no_run_has_written(line: bytes, words: str, tmp_path: Path) -> None:
    to = tmp_path / str(len(words))
    run(["one"], MODELS["chat"], to, Emulator())
    journal = Path(f"{to}.jobs.jsonl")
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0] + line)
    with pytest.raises(ConfigurationError, match=words):
        run(["one"], MODELS["chat"], to, Emulator())


def test_a_job_that_the_vendor_has_forgotten_is_asked_again_by_the_next_run(tmp_path: Path) -> None:
    emulator, to = Emulator(), tmp_path / "out"
    interrupted(["one"], to, emulator)
    run_of = lines(Path(f"{to}.jobs.jsonl"))
    with Path(f"{to}.jobs.jsonl").open("ab") as file:
        created_line = {"event": "created", "job": run_of[-1]["job"], "batch": "batch_none"}
        file.write(json.dumps(created_line).encode() + b"\n")
    results = run(["one"], MODELS["chat"], to, emulator)
    assert results["1"].error is not None
    assert (results["1"].error.status, results["1"].error.retryable) == (404, True)
    assert len(run(["one"], MODELS["chat"], to, emulator)) == 1
    assert results_of(to) == {"1": "one"}


def test_a_batch_of_another_program_is_not_taken_for_the_job(tmp_path: Path) -> None:
    """Anthropic's batches have no names: one of the same size may be another."""
    model, emulator, to = MODELS["anthropic"], Emulator(), tmp_path / "out"

    def kill(number: int, answered: bool) -> None:
        raise Killed

    with suppress(Killed, BaseExceptionGroup):
        finish(["one"], model, to, Faulty(emulator, kill))
    with Chat(model, api_key="fake-key", http=EmulatorTransport(emulator)) as chat:
        chat.batches.create({"a": "other"})
    results = run(["one"], model, to, emulator)
    error = results["1"].error
    assert error is not None
    assert (error.code, error.retryable) == ("batch_lost", True)
    assert len(run(["one"], model, to, emulator)) == 1
    assert results_of(to) == {"1": "one"}
