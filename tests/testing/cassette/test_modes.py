"""C-16 to C-21: the modes of a cassette, and which recorded interaction answers a request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.joined import joined
from tests.testing.cassette.test_matching import URL, cassette
from tests.testing.cassette.ways import Way
from wire.errors import CassetteError, ConfigurationError
from wire.testing import AsyncCassette, Cassette, Difference, Match
from wire.testing.cassette.format.file import load
from wire.testing.cassette.modes import MODES, way_of

OLD, NEW = {"prompt": "old"}, {"prompt": "new"}

TABLE = {
    # mode: no file, a match, no match
    "none": ("refuse", "replay", "refuse"),
    "once": ("record", "replay", "refuse"),
    "new_episodes": ("record", "replay", "record"),
    "all": ("record", "record", "record"),
    "rewrite": ("record", "record", "record"),
    "verify": ("refuse", "verify", "refuse"),
}
KEPT = {
    # mode: prompts in the file after a match, and after no match
    "none": (["old"], ["old"]),
    "once": (["old"], ["old"]),
    "new_episodes": (["old"], ["old", "new"]),
    "all": (["old"], ["old", "new"]),
    "rewrite": (["old"], ["new"]),
    "verify": (["old"], ["old"]),
}


class Live:
    """A server behind httpx: answers with the number of the request."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.prompts.append(json.loads(request.content)["prompt"])
        return httpx.Response(200, json={"live": len(self.prompts)})


def opened(way: Way, path: Path, mode: str, live: Live, **options: Any) -> Any:
    inner: Any = httpx.MockTransport(live)
    made = Cassette if way.name == "sync" else AsyncCassette
    return made(path, mode, inner=inner, **options)


def prompts(path: Path) -> list[str]:
    interactions = load(path.read_bytes(), path.name).interactions
    return [json.loads(bytes(each.request.body.json))["prompt"] for each in interactions]  # type: ignore[union-attr, arg-type]


@pytest.mark.row("C-21")
def test_the_table_is_that_of_this_test():
    assert {
        mode: tuple(
            way_of(mode, has_file=has_file, is_recorded=is_recorded)
            for has_file, is_recorded in ((False, False), (True, True), (True, False))
        )
        for mode in MODES
    } == TABLE


@pytest.mark.row("C-21")
@pytest.mark.parametrize(
    ("recorded", "live", "drift"),
    [
        ({"text": "a", "n": 1}, {"text": "b", "n": 22}, []),
        ({"a": 1}, {"a": "1"}, ["interactions[0]: $.a"]),
        ({"a": 1}, {"a": 1, "b": {"c": True}}, ["interactions[0]: $.b"]),
        ({"a": 1, "b": 2}, {"b": 2}, ["interactions[0]: $.a"]),
    ],
)
def test_verify_reports_what_changed(
    way: Way, tmp_path: Path, recorded: Any, live: Any, drift: list[str]
):
    path = cassette(tmp_path, (URL, OLD, recorded))
    before = path.read_bytes()
    inner: Any = httpx.MockTransport(lambda _: httpx.Response(200, json=live))
    http = (Cassette if way.name == "sync" else AsyncCassette)(path, "verify", inner=inner)
    assert json.loads(way.get(http, URL, "read", json=OLD).body) == live
    assert [str(each)[: len(part)] for each, part in zip(http.drift, drift, strict=True)] == drift
    assert path.read_bytes() == before


@pytest.mark.row("C-21")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ["no file", "match", "no match"])
def test_modes(way: Way, tmp_path: Path, mode: str, case: str):
    path = tmp_path / "x.cassette.json"
    if case != "no file":
        path = cassette(tmp_path, (URL, OLD, {"recorded": 1}))
    done = TABLE[mode][["no file", "match", "no match"].index(case)]
    sent, live = (NEW if case == "no match" else OLD), Live()
    try:
        got = way.get(opened(way, path, mode, live), URL, "read", json=sent)
        error, body = got.error, got.body
    except CassetteError as raised:
        error, body = raised, b""
    if done == "refuse":
        assert isinstance(error, CassetteError)
        assert "to record it again, use " in str(error)
        assert live.prompts == []
        return
    assert error is None
    assert json.loads(body) == ({"recorded": 1} if done == "replay" else {"live": 1})
    assert live.prompts == ([] if done == "replay" else [sent["prompt"]])
    if case == "no file":
        assert prompts(path) == ["old"]
    else:
        assert prompts(path) == KEPT[mode][case == "no match"]
    recorded = json.loads(bytes(load(path.read_bytes(), "x").interactions[-1].response.body.json))  # type: ignore[union-attr, arg-type]
    assert recorded == ({"live": 1} if done == "record" else {"recorded": 1})


@pytest.mark.row("C-21")
def test_once_records_all_of_the_first_run(way: Way, tmp_path: Path):
    path, live = tmp_path / "new" / "x.cassette.json", Live()
    requests = [{"url": URL, "json": each} for each in (OLD, NEW, OLD)]
    first = way.gets(opened(way, path, "once", live), requests, "read")
    assert prompts(path) == ["old", "new", "old"]
    second = way.gets(opened(way, path, "once", live), requests, "read")
    assert [each.body for each in first] == [each.body for each in second]
    assert len(live.prompts) == 3


@pytest.mark.row("C-21")
def test_all_keeps_the_order_and_what_was_not_sent(way: Way, tmp_path: Path):
    path = cassette(
        tmp_path, (URL, {"prompt": "a"}, {}), (URL, OLD, {}), (URL, {"prompt": "b"}, {})
    )
    http = opened(way, path, "all", Live())
    way.gets(http, [{"url": URL, "json": each} for each in (NEW, OLD)], "read")
    assert prompts(path) == ["a", "old", "b", "new"]
    assert http.unplayed == []


@pytest.mark.row("C-21")
def test_rewrite_keeps_a_malformed_file_until_something_is_recorded(way: Way, tmp_path: Path):
    path = tmp_path / "x.cassette.json"
    path.write_text("{")
    http = opened(way, path, "rewrite", Live())
    assert path.read_text() == "{"
    way.get(http, URL, "read", json=OLD)
    assert prompts(path) == ["old"]


@pytest.mark.row("C-21")
def test_the_name_of_a_mode(tmp_path: Path):
    assert Cassette(tmp_path / "x", "new").mode == "new_episodes"
    with pytest.raises(ConfigurationError, match="mode: expected one of none, once, new_episodes"):
        Cassette(tmp_path / "x", "never")


# --- which interaction ----------------------------------------------------------------------------

VOLATILE = {"prompt": "old", "metadata": {"id": "a1"}, "calls": [{"id": "b1"}, {"id": "b2"}]}


@pytest.mark.row("C-17")
@pytest.mark.parametrize(
    ("ignore", "changed"),
    [
        ("$.metadata.id", {"metadata": {"id": "other"}}),
        ("$.metadata", {"metadata": None}),
        ("$..id", {"metadata": {"id": "other"}, "calls": [{"id": "c1"}, {"id": "c2"}]}),
        ("$.calls[*].id", {"calls": [{"id": "c1"}, {}]}),
        ("$.calls[1]", {"calls": [{"id": "b1"}]}),
        ('$["calls"][0]["id"]', {"calls": [{"id": "c1"}, {"id": "b2"}]}),
    ],
)
def test_what_is_ignored(way: Way, tmp_path: Path, ignore: str, changed: dict[str, Any]):
    path = cassette(tmp_path, (URL, VOLATILE, {"n": 1}))
    sent = {**VOLATILE, **changed}
    exact = way.get(opened(way, path, "none", Live()), URL, "read", json=sent)
    assert isinstance(exact.error, CassetteError)
    match = Match(ignore=[ignore])
    got = way.get(opened(way, path, "none", Live(), match=match), URL, "read", json=sent)
    assert got.body == b'{"n":1}'
    other = {**sent, "prompt": "new"}
    got = way.get(opened(way, path, "none", Live(), match=match), URL, "read", json=other)
    assert isinstance(got.error, CassetteError)


@pytest.mark.row("C-17")
@joined("path", ["", "$", "metadata", "$metadata", "$.", "$.a[", "$.a[x]", "$..", 7])
def test_a_malformed_path(path: Any):
    with pytest.raises(ConfigurationError, match=r"^ignore\[0\]: expected"):
        Match(ignore=[path])


@pytest.mark.row("C-17")
def test_a_function_normalizes_both(way: Way, tmp_path: Path):
    path = cassette(tmp_path, (URL.replace("llm.", "eu.llm."), OLD, {"n": 1}))
    match = Match(normalize=lambda request: request._replace(host="any"))
    got = way.get(opened(way, path, "none", Live(), match=match), URL, "read", json=OLD)
    assert got.body == b'{"n":1}'


@pytest.mark.row("C-17")
@pytest.mark.parametrize("made", ["boundary={}", 'charset=x; boundary="{}"'])
def test_the_boundary_of_a_multipart_body(way: Way, tmp_path: Path, made: str):
    path = tmp_path / "x.cassette.json"

    def request(boundary: str, text: str = "Hi") -> dict[str, Any]:
        body = f'--{boundary}\r\ncontent-disposition: form-data; name="a"\r\n\r\n{text}\r\n'
        return {
            "headers": {"content-type": f"multipart/form-data; {made.format(boundary)}"},
            "content": f"{body}--{boundary}--\r\n".encode(),
        }

    inner: Any = httpx.MockTransport(lambda _: httpx.Response(200, json={"n": 1}))
    make = Cassette if way.name == "sync" else AsyncCassette
    way.get(make(path, "rewrite", inner=inner), URL, "read", **request("e5f1"))
    assert way.get(make(path), URL, "read", **request("77aa")).body == b'{"n":1}'
    assert isinstance(
        way.get(make(path), URL, "read", **request("e5f1", "Ho")).error, CassetteError
    )


@pytest.mark.row("C-18")
def test_the_differences_are_values(way: Way, tmp_path: Path):
    path = cassette(tmp_path, (URL, OLD, {}))
    got = way.get(opened(way, path, "none", Live()), URL, "read", json={**NEW, "n": 1})
    assert isinstance(got.error, CassetteError)
    assert got.error.differences == (
        Difference("$.prompt", '"old"', '"new"'),
        Difference("$.n", "nothing", "1"),
    )


@pytest.mark.row("C-18")
def test_the_message_ends_with_how_to_record_again(way: Way, tmp_path: Path):
    path = cassette(tmp_path, (URL, OLD, {}))
    http = opened(way, path, "none", Live(), again="run `make tape`")
    assert str(way.get(http, URL, "read", json=NEW).error).endswith("; run `make tape`")


@pytest.mark.row("C-19")
def test_repeats_are_asked_for(way: Way, tmp_path: Path):
    path = cassette(tmp_path, (URL, OLD, {"n": 1}), (URL, OLD, {"n": 2}))
    http = opened(way, path, "none", Live(), match=Match(repeats=True))
    got = way.gets(http, [{"url": URL, "json": OLD}] * 4, "read")
    assert [json.loads(each.body)["n"] for each in got] == [1, 2, 2, 2]


@pytest.mark.row("C-19")
@pytest.mark.parametrize("runs", [5, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_parallel_calls_get_the_responses_in_the_order_of_sending(
    tmp_path: Path, backend: str, runs: int
):
    """50 at once, 5 of them equal, recorded while the server answers in another order."""
    path = tmp_path / "x.cassette.json"
    bodies = [{"prompt": "equal" if n % 10 == 0 else str(n)} for n in range(50)]

    async def answer(request: httpx.Request) -> httpx.Response:
        number = int(request.headers["x-number"])
        for _ in range(50 - number):
            await anyio.lowlevel.checkpoint()
        return httpx.Response(200, json={"number": number})

    async def run(http: AsyncCassette) -> tuple[list[int], list[int]]:
        """What each call got, and what the equal calls got in the order of sending."""
        got: dict[int, int] = {}
        order: list[int] = []  # trio begins its tasks in another order each time

        async def send(client: httpx.AsyncClient, number: int) -> None:
            headers = {"x-number": str(number)}
            order.append(number)
            answered = await client.post(URL, json=bodies[number], headers=headers)
            got[number] = answered.json()["number"]

        async with httpx.AsyncClient(transport=http) as client, anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(send, client, number)
        equal = [got[number] for number in order if number % 10 == 0]
        return [got[number] for number in range(50)], equal

    inner: Any = httpx.MockTransport(answer)
    http = AsyncCassette(path, "rewrite", inner=inner)
    recorded, recorded_equal = anyio.run(run, http, backend=backend)
    assert recorded == list(range(50))
    unique = [number for number in range(50) if number % 10]
    for _ in range(runs):
        replayed, equal = anyio.run(run, AsyncCassette(path), backend=backend)
        assert [replayed[number] for number in unique] == unique
        assert equal == recorded_equal


@pytest.mark.row("C-20")
def test_what_was_not_played(way: Way, tmp_path: Path):
    path = cassette(tmp_path, (URL, OLD, {}), (f"{URL}?key=***", NEW, {}), (URL, {"n": 3}, {}))
    http = opened(way, path, "none", Live())
    way.get(http, URL, "read", json=OLD)
    assert http.unplayed == [
        f"interactions[1]: POST {URL}?key=***",
        f"interactions[2]: POST {URL}",
    ]
    with pytest.raises(
        CassetteError, match=r"2 recorded requests were not sent: interactions\[1\]"
    ):
        http.check_all_played()
    way.gets(http, [{"url": URL, "json": each} for each in (NEW, {"n": 3})], "read")
    assert http.unplayed == []
    http.check_all_played()
