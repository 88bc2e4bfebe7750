"""The plugin of Dask's scheduler: rate limits of all runs, and their jobs until the workers ask."""

from __future__ import annotations

import asyncio
import math
from time import monotonic
from typing import Any

import msgspec
from distributed import SchedulerPlugin  # pyright: ignore[reportMissingImports]

from wire.bulk.build import build
from wire.bulk.leases import Leases, Terms, decode
from wire.core.decoders import decoder
from wire.core.logs import log_failure, logger

NAME = "wire-bulk"
"""Of the plugins, and the first word of all messages and of the keys of tasks."""
SAID, GO, END = f"{NAME}-said", f"{NAME}-go", f"{NAME}-end"

SLICE = 0.02
"""Seconds. Attempts are leased together for so long, and workers tell together what happened: a
message costs Dask a third of a millisecond. The first one after a pause does not wait."""

_LOG = logger(__name__)


class _Run(msgspec.Struct, frozen=True):
    """One run of a driver."""

    client: str
    job: bytes


class SchedulerSide(SchedulerPlugin):
    """Leases the quota of all runs to the workers. A run ends with the client that began it."""

    name = NAME
    idempotent = True

    async def start(self, scheduler: Any) -> None:
        """Take calls of drivers and workers, and what workers say."""
        self._scheduler = scheduler
        build()  # of the files that were imported just now
        self._runs: dict[str, _Run] = {}
        self._leases = Leases()
        self._timer: asyncio.TimerHandle | None = None
        self._granted_at, self._grants_at = -math.inf, math.inf
        scheduler.handlers["wire_bulk_begin"] = self.begin
        scheduler.handlers["wire_bulk_job"] = self.job
        scheduler.handlers["wire_bulk_end"] = self.end
        scheduler.stream_handlers[SAID] = self._said

    async def begin(self, version: str, **plan: Any) -> str:
        """Begin a run if the driver has the same build of `wire`; return the build here."""
        if version == build():
            self._begin(**plan)
        return build()

    def _begin(self, run: str, client: str, job: bytes, terms: bytes) -> None:
        self._leases.begin(run, decoder(Terms).decode(terms))
        self._runs[run] = _Run(client, job)

    async def job(self, run: str) -> tuple[str, bytes] | None:
        """Return the build of `wire` and the job of a run; `None` if there is no such run."""
        found = self._runs.get(run)
        return None if found is None else (build(), found.job)

    async def end(self, run: str) -> None:
        """End a run: its workers stop what they do for it."""
        if self._runs.pop(run, None) is not None:
            self._leases.end(run, monotonic())
            self._grant_in(0.0)
        for worker in list(self._scheduler.workers):
            self._scheduler.worker_send(worker, {"op": END, "run": run})

    def _said(self, run: str, said: bytes, worker: str) -> None:
        if run not in self._runs:
            self._scheduler.worker_send(worker, {"op": END, "run": run})
            return
        try:
            self._leases.hear(run, worker, decode(said), monotonic())
        except msgspec.DecodeError as error:  # an error would end the connection of the worker
            log_failure(_LOG, "%s says what is not understood: %s", worker, error=error)
            return
        self._grant_in(0.0)

    def _grant_in(self, seconds: float) -> None:
        """Grant after so many seconds, unless that is done earlier."""
        now = monotonic()
        at = max(now + seconds, self._granted_at + SLICE)
        if self._timer is not None:
            if self._grants_at <= at:
                return
            self._timer.cancel()
        self._grants_at = at
        self._timer = self._scheduler.loop.asyncio_loop.call_later(at - now, self._grant)

    def _grant(self) -> None:
        self._timer, self._granted_at = None, monotonic()
        granted, seconds = self._leases.grant(self._granted_at)
        for run, holders in granted.items():
            for worker, numbers in holders.items():
                if worker in self._scheduler.workers:
                    self._scheduler.worker_send(worker, {"op": GO, "run": run, "numbers": numbers})
        if seconds is not None:
            self._grant_in(seconds)

    def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
        """Free the attempts of a worker that is gone, so that others are let through."""
        self._leases.forget(worker, monotonic())
        self._grant_in(0.0)

    def remove_client(self, scheduler: Any, client: str) -> None:
        """End the runs of a driver that is gone."""
        for name, run in list(self._runs.items()):
            if run.client == client:
                scheduler.loop.add_callback(self.end, name)
