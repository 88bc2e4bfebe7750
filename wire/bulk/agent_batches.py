"""Runs the agents of rows in batches of the vendor: the requests that wait become one job.

Each row is a task with the loop of its agent. The model of that agent puts each request in a queue
and waits for the reply. When no row has anything else to do, or the queue is full, the requests are
submitted as one job. Its results go to their rows, which run their tools, are saved, and ask again.

The journal has the jobs, and the saved run of a row has the key of the job whose reply was the last
in it. So a new start knows which replies are still to be read, and asks for no reply twice.
"""

from __future__ import annotations

import copy
import hashlib
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from wire.agent.run_state import RunState
from wire.bulk.agent_rows import AgentAsker
from wire.bulk.batch_rows import LINE_BYTES, JobResults, batch_call, id_of, of_job, reply_of
from wire.bulk.executors import Executor, NextRow, Record
from wire.bulk.journal import BatchJob, JobsByRow, Journal, ranges_of
from wire.bulk.output_files import Header
from wire.bulk.rows import Row
from wire.bulk.vendor_jobs import Vendor
from wire.chat.batches import get_flow
from wire.chat.chat import AsyncChat
from wire.core.call import Call
from wire.core.errors import BadRequestError, NotFoundError, OutputError, WireError
from wire.core.memory import Note, with_notes
from wire.neutral.batches import Batch, ResultLine
from wire.neutral.messages import Message, Reply
from wire.neutral.output import OutputType

MOST_AGENTS = 5_000
"""Rows that have begun and have not ended. Each takes 50 kB of memory, and its conversation."""
AT_ONCE = 32
"""Rows that do something else than wait, such as run their tools."""


class AgentBatchExecutor(Executor):
    """Runs agents whose requests go through batches."""

    def __init__(
        self, asker: AgentAsker, header: Header, journal: str, *, jobs: int, every: float
    ) -> None:
        """Raise `ConfigurationError` for a provider without batches."""
        self._asker, [self._chat] = asker, asker.chats
        next(get_flow(self._chat, "batch")).judge(self._chat.row)  # type: ignore[union-attr]
        self._header, self._journal, self._jobs, self._every = header, journal, jobs, every

    @property
    def steps(self) -> int:
        """Replies that the agents of the rows have got."""
        return self._asker.steps

    async def open(self) -> None:
        """Do nothing: batches need no preparation."""

    async def ask_all(self, next_row: NextRow, record: Record, *, replies: bool) -> None:
        """Ask all remaining rows, as `Executor.ask_all`."""
        with closing(Journal(self._journal)) as journal:
            jobs = journal.open_jobs(self._header)
            vendor = Vendor(self._chat, journal, self._jobs, self._every)
            found = [await vendor.found(job) for job in jobs]
            earlier = [_Earlier(job) for job in found if job is not None]
            async with anyio.create_task_group() as tasks:
                await _Rounds(self._chat, self._asker, vendor, record, tasks, earlier).run(next_row)
            for each in earlier:
                journal.merged(each.job)

    async def aclose(self) -> None:
        """Close the connections. Jobs of the vendor go on."""
        await self._asker.aclose()


# --- one row --------------------------------------------------------------------------------------


class _Request:
    """A request of a row that waits for its reply."""

    def __init__(self, row: Row, call: Call[Reply]) -> None:
        self.number = row.number
        self.call: Call[Reply] | None = call
        """`None` once it is sent."""
        self.size = len(call.body) + LINE_BYTES
        self.digest = hashlib.blake2b(call.body, digest_size=8).hexdigest()
        self.answered = anyio.Event()
        self.job: _Sent | _Earlier | None = None
        self.found: tuple[Batch, ResultLine | None] | WireError | None = None


class _Sent:
    """A job that this process has submitted."""

    def __init__(self, job: BatchJob, vendor: Vendor, rows: int) -> None:
        self.job, self._vendor = job, vendor
        self._unread = self._unsaved = rows
        self.all_read = anyio.Event()

    def read(self) -> None:
        """Note that a row has read its reply."""
        self._unread -= 1
        if not self._unread:
            self.all_read.set()

    def saved(self) -> None:
        """Note that a row is saved with its reply, or has its line."""
        self._unsaved -= 1
        if not self._unsaved:
            self._vendor.journal.merged(self.job)


class _Earlier:
    """A job that another process has submitted. It is merged when all rows have ended."""

    def __init__(self, job: BatchJob) -> None:
        self.job, self._rows = job, JobsByRow([job])
        self.is_read = False
        """Whether its results are read, or will be."""
        self.waiting: list[_Request] = []
        self.found: tuple[Batch, JobResults] | WireError | None = None

    def has(self, number: int) -> bool:
        """Return whether the job has a request of that row."""
        return self._rows.of(number) is not None

    def read(self) -> None:
        """Do nothing: rows may begin later, and read their replies then."""

    def saved(self) -> None:
        """Do nothing: which rows are left is not known before all have ended."""


class _Door:
    """The way of the requests of one row, as `agent_rows.Door`."""

    def __init__(self, rounds: _Rounds, chat: AsyncChat, row: Row) -> None:
        self._rounds, self._chat, self._row = rounds, chat, row
        self.model = _BatchChat.of(chat, self)
        self.job = ""
        self.raised: WireError | None = None
        """The error of the last request."""
        self.is_first = True
        """Whether the row has asked nothing in this process."""
        self._got: _Sent | _Earlier | None = None
        """The job whose reply is not saved yet."""
        self._seen: Any = None
        self._is_in_state = False
        self._notes: list[Note] = []

    @property
    def notes(self) -> tuple[Note, ...]:
        """What went otherwise than usual."""
        return tuple(self._notes)

    def note(self, words: str) -> None:
        """Add a note to the last reply."""
        self._notes.append(Note("", words))

    def changed(self, state: RunState) -> str:
        """Note a state of the run; return the key of the job whose reply was the last in it."""
        seen = state.asked, state.compacted
        if self._got is not None and seen != self._seen:
            self.job, self._is_in_state = self._got.job.key, True
        if self._got is None or self._is_in_state:
            self._seen = seen
        return self.job

    def saved(self) -> None:
        """Note that this state is saved."""
        if self._is_in_state:
            self.merge()

    def merge(self) -> None:
        """Note that nothing is lost any more if the results of the job are."""
        got, self._got, self._is_in_state = self._got, None, False
        if got is not None:
            got.saved()

    async def reply(self, call: Call[Reply], output: Any) -> Reply:
        """Send a request with the next job, and wait for its reply. Raises its error."""
        self.merge()  # an empty reply is asked for again
        request = _Request(self._row, call)
        await self._rounds.answer(self, request)
        self._got = request.job
        read = self._read(request, output)
        if self._got is not None:
            self._got.read()
        if isinstance(read, Reply):
            return with_notes(read, call.notes)
        self.raised = read
        if not isinstance(read, OutputError):
            read.attempts = max(read.attempts, 1)  # so that the agent does not ask again at once
        raise read

    def _read(self, request: _Request, output: Any) -> Reply | WireError:
        found = request.found
        assert found is not None
        if isinstance(found, WireError):
            return found
        output_type = None if output is None else OutputType(output)
        return reply_of(self._chat, *found, output_type)


class _BatchChat(AsyncChat):
    """A chat whose requests go through batches."""

    _door: _Door

    @classmethod
    def of(cls, chat: AsyncChat, door: _Door) -> _BatchChat:
        """Build a chat as another one, for one row."""
        made = cls.__new__(cls)
        vars(made).update(vars(chat), _door=door)
        return made

    async def ask(  # type: ignore[override]  # agents ask in one form
        self, *, messages: Sequence[Message], output: Any = None, **settings: Any
    ) -> Reply:
        """Return the reply to a conversation. Settings of the sending are those of the batch."""
        for name in ("retry", "output_retries", "headers"):
            settings.pop(name, None)
        return await self._door.reply(batch_call(self, messages, output=output, **settings), output)


# --- all rows -------------------------------------------------------------------------------------


class _Rounds:
    """The rows that have begun, and the requests that wait for a job."""

    def __init__(
        self,
        chat: AsyncChat,
        asker: AgentAsker,
        vendor: Vendor,
        record: Record,
        tasks: TaskGroup,
        earlier: Sequence[_Earlier],
    ) -> None:
        self._chat, self._asker, self._vendor, self._record = chat, asker, vendor, record
        self._tasks, self._earlier = tasks, earlier
        self._queue: deque[_Request] = deque()
        self._size = 0
        """Bytes of the queue."""
        self._begun = self._waiting = 0
        """Rows that have not ended, and those of them that wait for a reply."""
        self._has_read = False
        """Whether no row is left that has not begun."""
        self._places = anyio.CapacityLimiter(AT_ONCE)
        self._merging = anyio.Lock()
        self._changed = anyio.Event()

    async def run(self, next_row: NextRow) -> None:
        """Begin the rows, as many at a time as memory holds."""
        self._tasks.start_soon(self._submit_all)
        while True:
            while self._begun >= MOST_AGENTS:
                await self._changed.wait()
            row = await next_row()
            if row is None:
                break
            self._begun += 1
            self._tasks.start_soon(self._row, row)
        self._has_read = True
        self._notify()

    async def _row(self, row: Row) -> None:
        door = _Door(self, self._chat, row)
        await self._places.acquire_on_behalf_of(door)
        try:
            outcome = await self._asker.answer(row, door)
        finally:
            self._leave(door)
        error = outcome.result.error
        if error is not None and error is door.raised:
            error.attempts = 0  # as of rows that are asked once
            outcome = msgspec.structs.replace(outcome, is_settled=True)
        await self._record(outcome)
        door.merge()
        self._begun -= 1
        self._notify()

    def _leave(self, door: _Door) -> None:
        """Give back the place of a row, unless it was cancelled while it had none."""
        if door in self._places.statistics().borrowers:
            self._places.release_on_behalf_of(door)

    def _notify(self) -> None:
        """Wake who waits for room for a row, or for requests."""
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def answer(self, door: _Door, request: _Request) -> None:
        """Wait until a request is answered, while other rows have the place of this one."""
        self._waiting += 1
        self._leave(door)
        earlier = self._earlier_of(door, request)
        if earlier is None:
            self._wait(request)
        else:
            self._attach(door, request, earlier)
        await request.answered.wait()
        await self._places.acquire_on_behalf_of(door)

    def _wait(self, request: _Request) -> None:
        self._queue.append(request)
        self._size += request.size
        self._notify()

    def _deliver(
        self, request: _Request, found: tuple[Batch, ResultLine | None] | WireError
    ) -> None:
        # An error that several rows raise would collect the frames of all of them.
        request.found = copy.copy(found) if isinstance(found, WireError) else found
        self._waiting -= 1
        request.answered.set()

    # --- jobs

    async def _submit_all(self) -> None:
        """Submit the requests that wait, whenever no row may add another one to the job."""
        while self._begun or not self._has_read:
            may_grow = not self._has_read and self._begun < MOST_AGENTS
            is_full = self._size >= self._vendor.most_bytes
            is_full = is_full or len(self._queue) >= self._vendor.most_rows
            if self._queue and (is_full or not (may_grow or self._begun > self._waiting)):
                await self._vendor.room()
                await self._submit(self._taken())
            else:
                await self._changed.wait()

    def _taken(self) -> list[_Request]:
        """Remove and return the requests of the next job."""
        taken, size = [self._queue.popleft()], 0
        while self._queue and len(taken) < self._vendor.most_rows:
            size += taken[-1].size
            if size + self._queue[0].size > self._vendor.most_bytes:
                break
            taken.append(self._queue.popleft())
        self._size -= sum(each.size for each in taken)
        return sorted(taken, key=lambda each: each.number)

    async def _submit(self, requests: list[_Request]) -> None:
        """Create a job of the requests, and wait for it in a task of its own.

        If the vendor refuses it, the halves are tried, down to the request.
        """
        await self._vendor.room()
        job = await self._vendor.new_job(ranges_of(each.number for each in requests))
        calls = {
            id_of(job, each.number, each.digest): each.call
            for each in requests
            if each.call is not None
        }
        try:
            job = await self._vendor.created(job, calls)
        except BadRequestError as error:
            if len(requests) == 1:
                self._deliver(requests[0], error)
                return
            half = len(requests) // 2
            await self._submit(requests[:half])
            await self._submit(requests[half:])
            return
        sent = _Sent(job, self._vendor, len(requests))
        for each in requests:
            each.job, each.call = sent, None
        self._vendor.begins()
        self._tasks.start_soon(self._finish, sent, requests)

    async def _finish(self, sent: _Sent, requests: list[_Request]) -> None:
        """Wait for a job, and give its results to their rows."""
        found = await self._ended(sent.job)
        self._vendor.ends()
        if isinstance(found, WireError):
            for each in requests:
                self._deliver(each, found)
            return
        async with self._merging:  # the results of one job at a time are in memory
            results = await self._results(sent.job, found)
            for each in requests:
                if isinstance(results, WireError):
                    self._deliver(each, results)
                else:
                    _, line = results.found(each.number) or ("", None)
                    self._deliver(each, (found, line))
            await sent.all_read.wait()

    async def _ended(self, job: BatchJob) -> Batch | WireError:
        try:
            return await self._vendor.ended(job)
        except NotFoundError as error:
            of_job(error, self._chat)
            return error

    async def _results(self, job: BatchJob, batch: Batch) -> JobResults | WireError:
        results = await self._vendor.results(job, batch)
        if isinstance(results, WireError):
            of_job(results, self._chat)
        return results

    # --- jobs of earlier starts

    def _earlier_of(self, door: _Door, request: _Request) -> _Earlier | None:
        """Return the job that has the first request of a row, unless its reply is saved."""
        is_first, door.is_first = door.is_first, False
        if not is_first:
            return None
        having = (each for each in reversed(self._earlier) if each.has(request.number))
        earlier = next(having, None)
        return None if earlier is None or earlier.job.key == door.job else earlier

    def _attach(self, door: _Door, request: _Request, earlier: _Earlier) -> None:
        request.job = earlier
        self._tasks.start_soon(self._answer_by, door, request, earlier)

    async def _answer_by(self, door: _Door, request: _Request, earlier: _Earlier) -> None:
        """Answer a request by the results of an earlier job, which are read once."""
        while not isinstance(earlier.found, tuple | WireError):
            if not earlier.is_read:
                earlier.is_read = True
                await self._read(earlier)
                self._notify()
            else:
                await self._changed.wait()
        found = earlier.found
        if isinstance(found, WireError):
            self._deliver(request, found)
            return
        batch, results = found
        digest, line = results.found(request.number) or (request.digest, None)
        if digest == request.digest:
            self._deliver(request, (batch, line))
            return
        # A hook of the agent may have made another request of the same conversation.
        door.note(f"asked again: the reply in {batch.id} was to another request of the row")
        request.job = None
        self._wait(request)

    async def _read(self, earlier: _Earlier) -> None:
        self._vendor.begins()
        batch = await self._ended(earlier.job)
        self._vendor.ends()
        if isinstance(batch, WireError):
            earlier.found = batch
            return
        results = await self._results(earlier.job, batch)
        earlier.found = results if isinstance(results, WireError) else (batch, results)
