"""Bulk runs on a cluster of Dask. `make test-dask`."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.bulk.cluster import Cluster
from tests.bulk.killing import check_lines, driver, kill_and_go_on, points, write_rows
from tests.bulk.quota_server import counts, quota_server, text_of
from wire import bulk
from wire.bulk.build import build
from wire.bulk.rows import Row, read_row
from wire.core.version import VERSION
from wire.errors import AuthenticationError, ConfigurationError, WireError

pytestmark = [pytest.mark.dask, pytest.mark.timeout(300)]
MODEL = "openai@chat:gpt-5.4"
KEY = "fake-key-of-the-driver"
OTHER = f"{VERSION}, build 00000000"
"""Another commit with the same version."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that no test kills."""
    with Cluster(tmp_path_factory.mktemp("dask")) as started:
        yield started


def started(
    folder: Path, rows: int, url: str, cluster: Cluster, **options: Any
) -> subprocess.Popen[str]:
    """A driver in a process of its own, which has begun to write."""
    given, to = folder / "in.jsonl", folder / "out.jsonl"
    write_rows(given, rows)
    command = driver(given, to, f"{url}/v1", on=cluster.address, **options)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not to.exists() or to.read_bytes().count(b"\n") < 20:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The figures that a driver prints at its end."""
    try:
        out, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    figures: dict[str, Any] = json.loads(out)
    return figures


def test_all_rows_are_answered_by_both_workers(cluster: Cluster, tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", 500)
    with quota_server(latency=0.05) as url:

        async def ask() -> bulk.Progress:
            run = bulk.run(
                tmp_path / "in.jsonl",
                MODEL,
                to=tmp_path / "out.jsonl",
                base_url=f"{url}/v1",
                api_key=KEY,
                on=cluster.address,
            )
            return await run.finish()

        progress = asyncio.run(ask())
        received = counts(url)
    check_lines(tmp_path / "out.jsonl", 500)
    assert (progress.done, progress.answered, progress.failed) == (500, 500, 0)
    assert (received["answered"], received["repeated"]) == (500, {})
    assert received["most_at_once"] == 32  # for both workers together
    assert KEY not in cluster.logs()


def test_results_have_replies(cluster: Cluster) -> None:
    rows = [{"id": f"id-{n}", "prompt": f"row {n}", "metadata": {"n": n}} for n in range(1, 21)]
    rows.append({"id": "bad", "prompt": "x", "temprature": 1})
    with quota_server() as url:

        async def ask() -> dict[str, bulk.Result]:
            run = bulk.run(rows, MODEL, base_url=f"{url}/v1", api_key=KEY, on=cluster.address)
            return {result.id: result async for result in run}

        results = asyncio.run(ask())
    failed = results.pop("bad").error
    assert failed is not None
    assert "temprature: no such key" in str(failed)
    assert len(results) == 20
    for n in range(1, 21):
        result = results[f"id-{n}"]
        assert result.reply is not None
        assert (result.reply.text, result.metadata) == (text_of(n), {"n": n})


def test_a_worker_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster, quota_server(latency=0.1) as url:
        process = started(tmp_path, 1000, url, cluster)
        cluster.kill_worker()
        figures = ended(process)
        received = counts(url)
    check_lines(tmp_path / "out.jsonl", 1000)
    assert (figures["done"], figures["failed"]) == (1000, 0)
    assert received["rows"] == 1000
    # What the worker had in its chunks is asked again.
    assert received["answered"] - 1000 <= 64


def test_a_worker_that_joins_takes_part(tmp_path: Path) -> None:
    with Cluster(tmp_path, workers=1) as cluster, quota_server(latency=0.2) as url:
        process = started(tmp_path, 1000, url, cluster, concurrent=16)
        cluster.start_worker()
        cluster._wait_for(cluster.workers[1], b"Starting Worker plugin wire-bulk")
        cluster.kill_worker()  # the first one
        ended(process)
        received = counts(url)
    check_lines(tmp_path / "out.jsonl", 1000)
    assert received["most_at_once"] <= 32  # the killed worker's calls still run at the server


def test_a_scheduler_that_is_started_again(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster, quota_server(latency=0.1) as url:
        process = started(tmp_path, 1000, url, cluster)
        cluster.kill_scheduler()
        cluster.start_scheduler()
        for _ in range(2):
            cluster.start_worker()
        figures = ended(process)
        received = counts(url)
    check_lines(tmp_path / "out.jsonl", 1000)
    assert (figures["done"], figures["failed"]) == (1000, 0)
    assert received["answered"] - 1000 <= 64


def test_what_a_killed_driver_left_ends(tmp_path: Path) -> None:
    with Cluster(tmp_path) as cluster, quota_server(latency=0.1) as url:
        process = started(tmp_path, 5000, url, cluster)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        written = (tmp_path / "out.jsonl").read_bytes().count(b"\n")
        deadline = time.monotonic() + 30
        before = -1
        while (now := counts(url)["answered"]) != before:  # calls have ended, and none began
            assert time.monotonic() < deadline
            before = now
            time.sleep(0.5)
        assert before <= written + 128
        figures = ended(started(tmp_path, 5000, url, cluster))
    check_lines(tmp_path / "out.jsonl", 5000)
    assert figures["earlier"] >= 19


def test_a_run_that_is_left_ends_on_the_cluster(cluster: Cluster) -> None:
    rows = [f"row {n}" for n in range(2000)]
    with quota_server(latency=0.2) as url:

        async def ask() -> None:
            run = bulk.run(
                rows, MODEL, base_url=f"{url}/v1", api_key=KEY, on=cluster.address, concurrent=8
            )
            async with aclosing(aiter(run)) as results:
                await anext(results)

        asyncio.run(ask())
        time.sleep(0.5)
        first = counts(url)["answered"]
        time.sleep(0.5)
        assert counts(url)["answered"] == first
        assert first <= 64


# --- keys and errors ------------------------------------------------------------------------------


def test_a_key_of_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    key = {"OPENAI_API_KEY": "fake-key-of-the-workers"}
    with quota_server() as url:

        async def ask(on: str) -> bulk.Progress:
            return await bulk.run(["row 1"], MODEL, base_url=f"{url}/v1", on=on).finish()

        with Cluster(tmp_path, workers=1, environment=key) as cluster:
            assert asyncio.run(ask(cluster.address)).answered == 1
            assert key["OPENAI_API_KEY"] not in cluster.logs()


def test_workers_without_a_key(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def rows() -> Iterator[str]:
        raise AssertionError("a row was read")
        yield ""

    run = bulk.run(rows(), MODEL, on=cluster.address)
    with pytest.raises(ConfigurationError, match=r"on: the worker tcp://.*OPENAI_API_KEY"):
        asyncio.run(run.finish())


def test_a_refused_key_ends_the_run(cluster: Cluster) -> None:
    program = (
        "import http.server\n"
        "class Refuses(http.server.BaseHTTPRequestHandler):\n"
        "    def do_POST(self):\n"
        "        self.rfile.read(int(self.headers['content-length']))\n"
        "        self.send_response(401)\n"
        "        self.send_header('content-length', '0')\n"
        "        self.end_headers()\n"
        "    def log_message(self, *_): pass\n"
        "server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Refuses)\n"
        "print(server.server_port, flush=True)\n"
        "server.serve_forever()\n"
    )
    server = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        run = bulk.run(["row 1"] * 100, MODEL, base_url=url, api_key=KEY, on=cluster.address)
        with pytest.raises(AuthenticationError) as caught:
            asyncio.run(run.finish())
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    assert KEY not in repr(caught.value) + cluster.logs()


def test_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wire.bulk.dask_executor.CONNECT", 1.0)
    run = bulk.run(["x"], MODEL, api_key=KEY, on="tcp://127.0.0.1:9")
    with pytest.raises(ConfigurationError, match=r"on: tcp://127.0.0.1:9: nobody answers"):
        asyncio.run(run.finish())


@pytest.mark.parametrize("address", ["", "scheduler", "http://scheduler:8786", "tcp://:1", 8786])
def test_no_address(address: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"on: expected the address of a Dask scheduler"):
        bulk.run(["x"], MODEL, api_key=KEY, on=address)


PLAIN = ["tcp://scheduler:8786", "scheduler:8786", "tcp://10.0.0.7:8786", "ws://scheduler:8786"]
PLAIN += ["tcp://[2001:db8::1]:8786", "tcp://127.0.0.1.example:8786", "ucx://scheduler:8786"]
ENCRYPTED = ["tls://scheduler:8786", "wss://scheduler:8786", "tls://[2001:db8::1]:8786"]
LOOPBACK = [
    "tcp://127.0.0.1:9",
    "127.8.9.1:9",
    "tcp://localhost:9",
    "tcp://[::1]:9",
    "ws://localhost:9",
]
CREDENTIALS = [{"api_key": KEY}, {"headers": {"authorization": f"Bearer {KEY}"}}]


@pytest.mark.parametrize("address", PLAIN)
@pytest.mark.parametrize("options", CREDENTIALS, ids=["api_key", "headers"])
def test_a_key_over_a_plain_connection(address: str, options: Any) -> None:
    said = f"on: {address} would send the key to another machine unencrypted: use tls://, or "
    with pytest.raises(ConfigurationError, match=re.escape(said) + ".*plain_tcp=True permits it"):
        bulk.run(["x"], MODEL, on=address, **options)
    bulk.run(["x"], MODEL, on=address, plain_tcp=True, **options)  # connects when it is iterated


@pytest.mark.parametrize("address", ENCRYPTED + LOOPBACK)
def test_a_key_that_nobody_else_reads(address: str) -> None:
    bulk.run(["x"], MODEL, on=address, api_key=KEY)


def test_without_a_key_in_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)  # of the driver: it is not sent
    for address in PLAIN:
        bulk.run(["x"], MODEL, on=address, base_url="https://llm.example/v1", system="Be short.")


def test_plain_tcp_is_a_bool() -> None:
    problem = "plain_tcp: expected True or False, not str"
    with pytest.raises(ConfigurationError, match=problem):
        bulk.run(["x"], MODEL, api_key=KEY, on=PLAIN[0], plain_tcp="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["http", "around"])
def test_what_cannot_be_sent(name: str) -> None:
    value: Any = threading.Lock()
    with pytest.raises(ConfigurationError, match=rf"{name}: a lock cannot be sent to the workers"):
        bulk.run(["x"], MODEL, api_key=KEY, on="tcp://127.0.0.1:9", **{name: value})


def test_trio() -> None:
    trio = pytest.importorskip("trio")
    run = bulk.run(["x"], MODEL, api_key=KEY, on="tcp://127.0.0.1:9")
    with pytest.raises(ConfigurationError, match="on: Dask needs asyncio"):
        trio.run(run.finish)


def certificates(folder: Path) -> dict[str, str]:
    """Settings of Dask with a certificate that its own key has signed."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    made += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    settings = {"distributed.comm.tls.ca_file": str(certificate)}
    for part in ("scheduler", "worker", "client"):
        settings[f"distributed.comm.tls.{part}.key"] = str(key)
        settings[f"distributed.comm.tls.{part}.cert"] = str(certificate)
    return settings


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dask

    settings = certificates(tmp_path)
    environment = {f"DASK_{name.replace('.', '__').upper()}": settings[name] for name in settings}

    async def ask(url: str, on: str) -> list[bulk.Result]:
        run = bulk.run(["row 1", "row 2"], MODEL, base_url=f"{url}/v1", api_key=KEY, on=on)
        return [result async for result in run]

    with Cluster(tmp_path, environment=environment, protocol="tls") as cluster:
        assert cluster.address.startswith("tls://")
        with quota_server() as url, dask.config.set(settings):
            results = asyncio.run(ask(url, cluster.address))
            # Nobody answers a driver that speaks plain TCP, and it sends no job.
            monkeypatch.setattr("wire.bulk.dask_executor.CONNECT", 1.0)
            with pytest.raises(ConfigurationError, match="nobody answers"):
                asyncio.run(ask(url, cluster.address.replace("tls://", "tcp://")))
            assert counts(url)["answered"] == 2
        logs = cluster.logs()
    assert sorted(result.reply.text for result in results if result.reply) == [
        text_of(1),
        text_of(2),
    ]
    assert "tls://127.0.0.1" in logs
    assert "tcp://" not in logs  # between workers and scheduler neither
    assert KEY not in logs


# --- without a cluster ----------------------------------------------------------------------------


def an_executor() -> Any:
    from wire.bulk.dask_executor import DaskExecutor
    from wire.bulk.job import Job
    from wire.bulk.leases import Terms

    return DaskExecutor("tcp://127.0.0.1:9", Job(models=(MODEL,)), Terms({}, 60.0, 32))


class Killing:
    """A session whose workers end when they ask row 3."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    async def ask(self, rows: list[Row], replies: bool) -> Any:
        from distributed import KilledWorker

        from wire.bulk.dask_worker import Answered, Chunk

        self.asked.append([row.number for row in rows])
        if any(row.number == 3 for row in rows):
            raise KilledWorker("task", None, 4)
        results = {row.number: bulk.Result(id=row.id, row=row.number) for row in rows}
        return Chunk({n: Answered(result, b"{}\n", {}) for n, result in results.items()})


def test_a_row_that_kills_its_workers_is_a_dead_letter() -> None:
    executor, session = an_executor(), Killing()
    executor._session = session
    rows = [read_row(number, "x") for number in range(1, 5)]

    async def ask() -> dict[int, bool]:
        return {each.row.number: each.failed async for each in executor._outcomes(rows, False)}

    assert asyncio.run(ask()) == {1: False, 2: False, 3: True, 4: False}
    assert session.asked == [[1, 2, 3, 4], [1], [2], [3], [4]]


def test_rows_that_a_closed_worker_has_left_are_sent_again() -> None:
    class Closing(Killing):
        async def ask(self, rows: list[Row], replies: bool) -> Any:
            return await super().ask(rows[:1] if rows[0].number == 1 else rows, replies)

    executor, session = an_executor(), Closing()
    executor._session = session
    rows = [read_row(number, "x") for number in (1, 3)]

    async def ask() -> dict[int, bool]:
        return {each.row.number: each.failed async for each in executor._outcomes(rows, False)}

    assert asyncio.run(ask()) == {1: False, 3: True}
    assert session.asked == [[1], [3]]


def test_a_scheduler_that_stays_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wire.bulk.dask_executor.PATIENCE", 0.5)
    monkeypatch.setattr("wire.bulk.dask_executor.CONNECT", 0.2)
    with pytest.raises(WireError, match=r"the scheduler was away for 0.5 s"):
        asyncio.run(an_executor()._opened())


def test_no_worker_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wire.bulk.dask_executor.PATIENCE", 1.0)
    with Cluster(tmp_path, workers=0) as cluster:
        run = bulk.run(["x"], MODEL, api_key=KEY, on=cluster.address)
        with pytest.raises(WireError, match=r"there was no worker for 1 s"):
            asyncio.run(run.finish())


def test_another_build(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wire.bulk.dask_executor.build", lambda: OTHER)
    run = bulk.run(["x"], MODEL, api_key=KEY, on=cluster.address)
    said = f"on: the scheduler has wire {build()}, and this is {OTHER}"
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        asyncio.run(run.finish())


@pytest.mark.parametrize(
    ("version", "problem"),
    [(OTHER, f"has wire {build()}, and the driver {OTHER}"), (build(), "cannot read")],
)
def test_a_worker_that_cannot_ask(version: str, problem: str) -> None:
    from wire.bulk.dask_worker import WorkerSide

    class Scheduler:
        calls = 0

        async def wire_bulk_job(self, run: str) -> tuple[str, bytes]:
            self.calls += 1
            return version, b"no job"

    scheduler = Scheduler()
    worker = types.SimpleNamespace(
        address="tcp://127.0.0.1:9", scheduler=scheduler, stream_handlers={}
    )

    async def begin() -> None:
        side = WorkerSide()
        side.setup(worker)
        for _ in range(2):  # it is asked again: the worker may have been mended
            with pytest.raises(ConfigurationError, match=rf"on: the worker tcp.*: {problem}"):
                await side.share("run")

    asyncio.run(begin())
    assert scheduler.calls == 2


def test_a_job_keeps_its_key_and_shows_none() -> None:
    from wire.bulk.job import Job
    from wire.bulk.sealed_job import opened_job, sealed_job
    from wire.core.secret import Secret

    sealed = sealed_job(Job(models=(MODEL,), options={"api_key": Secret(KEY)}))
    assert KEY.encode() not in sealed.data
    assert sealed.has_key
    assert opened_job(sealed.data).options["api_key"].reveal() == KEY


def test_the_page_runs(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs/guide/bulk-dask.md"
    code = page.read_text("utf-8").split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    monkeypatch.chdir(tmp_path)
    write_rows(Path("tides.jsonl"), 3)
    with quota_server() as url:
        options = {"base_url": f"{url}/v1", "api_key": KEY}
        progress = asyncio.run(names["ask"](cluster.address, MODEL, **options))
    assert progress.answered == 3
    check_lines(Path("answers.jsonl"), 3)


# --- kills and quota ------------------------------------------------------------------------------


def killed_run(folder: Path, cluster: Cluster, rows: int, kills: int, seed: int) -> None:
    """Kill the driver at random points, and compare its file with its rows and with the server."""
    given, to = folder / "in.jsonl", folder / "out.jsonl"
    write_rows(given, rows)
    with quota_server(requests=60_000, latency=0.01) as url:
        options = {"concurrent": 32, "requests": 60_000, "on": cluster.address}
        command = driver(given, to, f"{url}/v1", **options)
        killed = kill_and_go_on(command, to, points(seed, kills, rows))
        received = counts(url)
    assert killed.kills == kills
    check_lines(to, rows)
    assert (killed.summary["done"], killed.summary["left"]) == (rows, 0)
    assert received["rows"] == rows
    assert received["refused"] <= 0.005 * received["answered"]
    # What a driver had at the workers is asked again.
    assert received["answered"] - rows <= kills * 64


def test_a_driver_that_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    killed_run(tmp_path, cluster, 2000, 5, seed=3)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.timeout(900)
def test_fifty_kills_of_the_driver(cluster: Cluster, tmp_path: Path, seed: int) -> None:
    killed_run(tmp_path, cluster, 20_000, 50, seed)


LIMIT = {"requests": 3000}
QUOTAS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "learned": (LIMIT, {}),
    "named, not reported": ({**LIMIT, "headers": 0}, LIMIT),
}
"""Limits of the server in a minute, and options of the run."""


def check_use(received: dict[str, Any], limit: dict[str, int], *, is_reported: bool) -> None:
    """The quota was used, and hardly a request was refused.

    A limit that no header reports is used evenly: the full bucket at the start stays unused.
    """
    ((unit, most),) = limit.items()
    allowed = most * (received["seconds"] / 60 + is_reported)
    assert received["answered" if unit == "requests" else unit] >= 0.95 * allowed
    assert received["refused"] <= 0.005 * received["answered"]


@pytest.mark.parametrize("name", QUOTAS)
def test_a_minute_at_the_limits_of_a_server(name: str, cluster: Cluster, tmp_path: Path) -> None:
    limits, options = QUOTAS[name]
    given, to, rows = tmp_path / "in.jsonl", tmp_path / "out.jsonl", 2850 if options else 5700
    write_rows(given, rows)
    with quota_server(**limits, latency=0.1) as url:
        command = driver(given, to, f"{url}/v1", concurrent=64, on=cluster.address, **options)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        received = counts(url)
    assert done.returncode == 0, done.stderr
    check_lines(to, rows)
    check_use(received, LIMIT, is_reported=not options)


@pytest.mark.parametrize("name", QUOTAS)
def test_two_runs_share_the_quota_of_a_key(name: str, cluster: Cluster, tmp_path: Path) -> None:
    limits, options = QUOTAS[name]
    rows = 700 if options else 3500
    with quota_server(**limits, latency=0.1) as url:
        drivers = []
        for run in ("one", "two"):
            (folder := tmp_path / run).mkdir()
            write_rows(folder / "in.jsonl", rows)
            drivers.append(started(folder, rows, url, cluster, concurrent=32, **options))
        figures = [ended(each) for each in drivers]
        received = counts(url)
    assert [each["done"] for each in figures] == [rows, rows]
    check_use(received, LIMIT, is_reported=not options)


TOKENS = {"tokens": 300_000}


@pytest.mark.parametrize("is_named", [False, True], ids=["learned", "named, not reported"])
def test_a_quota_of_tokens(is_named: bool, cluster: Cluster, tmp_path: Path) -> None:
    limits, options = ({**TOKENS, "headers": 0}, TOKENS) if is_named else (TOKENS, {})
    rows = 500 if is_named else 3200
    with quota_server(**limits, latency=0.1) as url:
        figures = ended(started(tmp_path, rows, url, cluster, **options))
        received = counts(url)
    check_lines(tmp_path / "out.jsonl", rows)
    assert (figures["done"], figures["failed"]) == (rows, 0)
    check_use(received, TOKENS, is_reported=not is_named)
