"""`run`: checks what a bulk run is given, and makes it."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, cast, overload

from wire.around.pace import Pace
from wire.bulk.budget import budget
from wire.bulk.executors import Executor, LocalExecutor
from wire.bulk.job import AnyModel, Asked, Job
from wire.bulk.journal import JOURNAL, refuse_open_jobs
from wire.bulk.leases import Terms
from wire.bulk.output_files import DEAD, Header
from wire.bulk.plan import planned
from wire.bulk.rows import settings_json
from wire.bulk.running import Run
from wire.bulk.source import Rows, Source
from wire.chat.batches import EVERY_SECONDS
from wire.chat.chat import AsyncChat, Chat
from wire.chat.state import Settings, seal_settings
from wire.core.arguments import checked_names, items_of, unknown_name, whole_number
from wire.core.errors import ConfigurationError
from wire.core.polling import PollPolicy
from wire.core.secret import type_name
from wire.http.target import Options
from wire.neutral.decisions import Question

if TYPE_CHECKING:
    from wire.agent import Agent, LLMAgent
    from wire.agent.state import AgentState
    from wire.bulk.run_folder import RunFolder

T = TypeVar("T")

CONCURRENT = 32
STOP_AFTER = 100
MAX_STEPS = 20


class BulkOptions(Options, Settings, total=False):
    """The options of the client and the settings of all rows, as those of `AsyncChat`."""


class Choices(TypedDict, total=False):
    """The options of `run` itself, which documents each of them."""

    to: str | os.PathLike[str] | None
    dead: str | os.PathLike[str] | None
    format: str | None
    column: str | None
    template: str | None
    concurrent: int | None
    requests: int | None
    tokens: int | None
    window: float
    max_cost: float | Decimal | None
    cache: str | os.PathLike[str] | None
    in_order: bool
    set_aside: bool
    stop_after: int
    on: str | None
    plain_tcp: bool
    batch: bool
    every: float
    max_steps: int | None
    questions: Mapping[str, Question] | None


class RunOptions(Choices, BulkOptions, total=False):
    """All options of `run` except `output`, by which its results are typed."""

    http: Any


_OWN = ("rows", "model", "output", *Choices.__annotations__)


def _seal(options: Any) -> None:
    """Replace what may be a key in the options by a `Secret`, in place."""
    own = {name: options.pop(name) for name in _OWN if name in options}
    seal_settings(options)
    options.update(own)


@overload
def run(
    rows: Rows,
    model: AnyModel | Sequence[AnyModel] | Agent[Any] | LLMAgent[Any],
    *,
    output: type[T],
    **options: Unpack[RunOptions],
) -> Run[T]: ...
@overload
def run(
    rows: Rows,
    model: Agent[T] | LLMAgent[T],
    *,
    output: None = None,
    **options: Unpack[RunOptions],
) -> Run[T]: ...
@overload
def run(
    rows: Rows,
    model: AnyModel | Sequence[AnyModel] | Agent[Any] | LLMAgent[Any],
    *,
    output: Any = None,
    **options: Unpack[RunOptions],
) -> Run: ...
@checked_names(seal=_seal)
def run(
    rows: Rows,
    model: Any,
    *,
    to: str | os.PathLike[str] | None = None,
    dead: str | os.PathLike[str] | None = None,
    format: str | None = None,
    column: str | None = None,
    template: str | None = None,
    output: Any = None,
    concurrent: int | None = None,
    requests: int | None = None,
    tokens: int | None = None,
    window: float = 60.0,
    max_cost: float | Decimal | None = None,
    cache: str | os.PathLike[str] | None = None,
    in_order: bool = False,
    set_aside: bool = False,
    stop_after: int = STOP_AFTER,
    on: str | None = None,
    plain_tcp: bool = False,
    batch: bool = False,
    every: float = EVERY_SECONDS,
    max_steps: int | None = MAX_STEPS,
    questions: Mapping[str, Question] | None = None,
    http: Any = "auto",
    **options: Unpack[BulkOptions],
) -> Run:
    """Ask many rows, some at a time, within the rate limits of the provider.

    >>> import anyio
    >>> from wire.testing.emulator import AsyncEmulatorTransport
    >>> rows = [{"id": "a", "prompt": "Hello"}, {"id": "b", "prompt": "Goodbye"}]
    >>> async def main() -> None:
    ...     http = AsyncEmulatorTransport()
    ...     model = "gemini:gemini-3.8-flash"
    ...     async for result in run(rows, model, concurrent=1, api_key="fake-key", http=http):
    ...         print(result.id, result.reply.text)
    >>> anyio.run(main)
    a This is an emulator, and no model. You said: Hello
    b This is an emulator, and no model. You said: Goodbye

    A row that fails has a typed `error` in place of its `reply`, and the others go on. The run ends
    with an error if the key is refused, if the first ten rows fail alike, or if many rows in a row
    have failed.

    With `to`, each result is a line of that file. A run that was interrupted goes on where it was
    if it is started again with the same rows, model and settings: only rows without a line are
    asked, and those whose error may pass. The iteration then gives the new results alone.

    Raises `ConfigurationError` for a model without a key, an unknown option, and a file of another
    run, before anything is sent.

    Args:
        rows: Prompts, dicts and `Request`s, as an iterable or an async iterable; or the path of a
            file, an open file, or what `wire.bulk.from_file` returns. A dict, as an object in a
            line of JSON, has `prompt` or `messages`, settings and an `id`, or is a line of a batch
            file of OpenAI, Anthropic or Gemini.
        model: `provider:model`, or a `Chat` or `AsyncChat`, whose model, settings, key and
            transport are used; or several: the next is asked where one fails. Settings of the run
            replace those of a chat. With an `Agent` or `LLMAgent`, each row is a run of it with a
            history of its own: its tools are called, and its options hold.
        to: The file of the results, to which lines are appended. By default none is written.
        dead: The file of the dead letters: rows that failed, with the reason. By default that of
            the results with `.dead.jsonl` after its name.
        format: What a file has: `jsonl`, `txt` (a line is a prompt), `csv` or `tsv`. By default by
            the suffix of its name; without one, `jsonl`.
        column: The column of the prompts in a table, `prompt` by default. A column `id` has the ids
            of the rows; no other one is read.
        template: The prompt, with the names of columns in braces, in place of `column`, such as
            `"Summarise: {text}"`.
        output: A type or a JSON Schema; each `reply.output` is its value. A row may have its own.
        concurrent: The most rows that are asked at the same time, by default 32. At a server that
            is busy, fewer are for a while, as `Pace` says. With `batch`, the most jobs that run, by
            default 4.
        requests: Requests in a window; `None`: as many as the server reports in its headers.
        tokens: Tokens of requests and replies together in a window; `None` likewise.
        window: Seconds of the window of `requests` and `tokens`.
        max_cost: USD. When the replies of all starts of the run have cost it, no further row is
            asked, those in flight are waited for, and the run ends with an error whose `code` is
            `max_cost`. Those in flight count with the cost of the most expensive row so far. A
            start with a higher one goes on. It needs models whose price is known.
        cache: A folder of responses (`wire.testing.cassette.AsyncCache`): equal requests are sent
            once, in this run and in all that have the same folder.
        in_order: True writes the file of the results anew when all rows are done, in the order of
            the rows. Else lines stay in the order of the answers; `wire.bulk.read` sorts them.
        set_aside: True moves damaged lines of the results and the dead letters to a file with
            `.damaged` after the name of the results, and asks rows that have no other line again.
            Else a damaged line is an error before anything is sent.
        stop_after: The number of rows that may fail one after the other before the run ends.
        on: The address of a scheduler of Dask, such as `tcp://scheduler:8786`: its workers ask the
            rows, and all limits hold for them together. By default this process asks.
        plain_tcp: True permits a key over an unencrypted connection to a scheduler that is not on
            loopback. Everyone on the way can read the key.
        batch: Whether the rows are asked in batches of the vendor: at half the price, and within 24
            hours instead of at once. It needs `to`, and has one model, no `cache`, no limits and no
            `max_cost`, since a job is paid whole.
        every: Seconds between two polls of a job, with `batch`.
        max_steps: With an agent, the most requests of each row; `None`: no limit. The row then ends
            with the reason `max_steps`.
        questions: Closed questions by name, as for `wire.decide`: each row is an input about which
            they are asked, and its result has `decisions` in place of a reply.
        http: A transport or client of httpx or httpx2 for asyncio, or `"auto"`.
        options: The options and settings of `AsyncChat`, such as `base_url`, `retry`, `tools`,
            `system` and `max_tokens`. A row's own settings replace them.
    """
    flags = {"batch": batch, "in_order": in_order, "set_aside": set_aside, "plain_tcp": plain_tcp}
    _check_options(options, **flags)
    whole_number("stop_after", stop_after, least=1, error=ConfigurationError)
    PollPolicy(every, every)  # raises for a number that is not positive
    results, letters = _files(to, dead)
    cache = _path("cache", cache)
    asked = _asked(model, http, options, output, max_steps, questions, cache, on, batch)
    if batch:
        others = {"cache": cache, "requests": requests, "tokens": tokens, "max_cost": max_cost}
        _check_batch(to=to, asked=asked, on=on, **others)
    terms = _terms(requests, tokens, window, concurrent, results)
    settings = asked.settings()
    most = budget(max_cost, asked.names, str(settings.get("tier") or ""))
    header, runs = _header(asked, settings), _runs(asked, results)
    # Made before a row is read: a model may have no key.
    if batch:
        executor = _in_batches(asked, header, f"{results}{JOURNAL}", runs, concurrent, every)
    else:
        executor = _at_once(asked, terms, results, runs, on, plain_tcp)
    return Run(
        Source(rows, format=format, column=column, template=template),
        executor,
        header,
        to=results,
        dead=letters,
        stop_after=stop_after,
        max_cost=most,
        in_order=in_order,
        set_aside=set_aside,
        runs=runs,
        plan=functools.partial(
            planned,
            model=asked.names[0],
            settings=settings,
            limits=terms.limits,
            window=window,
            tier="batch" if batch else "",
            is_agent=asked.is_agent,
            beside=asked.beside,
        ),
    )


def _check_options(options: Mapping[str, Any], **flags: Any) -> None:
    for name in options:
        if name not in BulkOptions.__annotations__:
            raise unknown_name(name, (*_OWN, *BulkOptions.__annotations__))
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise ConfigurationError(f"{name}: expected True or False, not {type_name(value)}")


def _asked(
    model: Any,
    http: Any,
    options: Mapping[str, Any],
    output: Any,
    max_steps: int | None,
    questions: Mapping[str, Question] | None,
    cache: str | None,
    on: str | None,
    batch: bool,
) -> Asked:
    """Return what is asked, chats or an agent. Raises `ConfigurationError` for what it has not."""
    agent = _agent_of(model)
    if questions is not None:
        others = {"output": output, "cache": cache, "on": on, "batch": batch or None}
        return _decided(model, questions, http, options, **others)
    if agent is None:
        if max_steps != MAX_STEPS:
            raise ConfigurationError("max_steps: only an agent has steps")
        models = _models(model, http, options)
        return Job(models=models, options=options, output=output, cache=cache, http=http)
    from wire.bulk.agent_rows import AgentJob  # most runs ask chats

    if max_steps is not None:
        whole_number("max_steps", max_steps, least=1, error=ConfigurationError)
    if on is not None:
        raise ConfigurationError("on: an agent and its tools stay in this process; leave out on")
    if cache is not None:
        raise ConfigurationError("cache: does not apply to an agent")
    for name in (*options, *(["http"] if http != "auto" else [])):
        raise ConfigurationError(f"{name}: an option of the agent or its chat; give it to them")
    return AgentJob(agent, output, max_steps)


def _decided(
    model: Any,
    questions: Mapping[str, Question],
    http: Any,
    options: Mapping[str, Any],
    **others: Any,
) -> Asked:
    """Return who decides the questions. Raises `ConfigurationError` for what they do not have."""
    for name, value in others.items():
        if value is not None:
            raise ConfigurationError(f"{name}: does not apply to questions")
    is_agent = _agent_of(model) is not None
    first, *further = (model,) if is_agent else _models(model, http, options)
    if is_agent or further:
        raise ConfigurationError("model: expected one model, which decides the questions")
    from wire.bulk.decision_rows import DecisionJob  # most runs ask chats

    return DecisionJob(first, questions, options, http)


def _agent_of(model: Any) -> AgentState | None:
    """Return the agent, if the model is one. Who has made none does not load them here."""
    module = sys.modules.get("wire.agent.state")
    is_agent = module is not None and isinstance(model, module.AgentState)
    return cast("AgentState", model) if is_agent else None


def _runs(asked: Asked, results: str | None) -> RunFolder | None:
    """Return the folder of the runs that are saved; `None` if none are."""
    if results is None or not asked.is_agent:
        return None
    from wire.bulk.run_folder import RUNS, RunFolder  # only agents have runs

    return RunFolder(f"{results}{RUNS}")


def _header(asked: Asked, settings: Mapping[str, Any]) -> Header:
    return Header(models=asked.names, settings=settings_json(settings) | asked.header)


def _files(to: Any, dead: Any) -> tuple[str | None, str | None]:
    """Return the paths of the results and of the dead letters."""
    if to is None and dead is not None:
        raise ConfigurationError("dead: there is none without to, the file of the results")
    results = _path("to", to)
    return results, f"{results}{DEAD}" if dead is None else _path("dead", dead)


def _models(model: Any, http: Any, options: Mapping[str, Any]) -> tuple[AnyModel, ...]:
    is_one = isinstance(model, str | Chat | AsyncChat)
    models = (model,) if is_one else items_of("model", model, error=ConfigurationError)
    for position, each in enumerate(models):
        if not isinstance(each, str | Chat | AsyncChat):
            expected = f"a name such as gemini:gemini-3.8-flash, or a chat, not {type_name(each)}"
            raise ConfigurationError(f"model[{position}]: expected {expected}")
    if not models:
        raise ConfigurationError("model: expected at least one")
    if not all(isinstance(each, str) for each in models):
        of_client = [name for name in options if name in Options.__annotations__]
        if http != "auto":
            of_client.append("http")
        if of_client:
            raise ConfigurationError(f"{of_client[0]}: an option of the chat; give it to the chat")
    return models


# --- executors ------------------------------------------------------------------------------------


def _terms(
    requests: int | None,
    tokens: int | None,
    window: float,
    concurrent: int | None,
    results: str | None,
) -> Terms:
    """Check the limits of the run. Raises `ConfigurationError` that names the wrong one."""
    if concurrent is not None:
        whole_number("concurrent", concurrent, least=1, error=ConfigurationError)
    Pace(requests=requests, tokens=tokens, window=window)  # raises for a value that is wrong
    given = {"requests": requests, "tokens": tokens}
    limits = {unit: count for unit, count in given.items() if count is not None}
    idle = None
    if results is not None and os.path.exists(results):
        # The limits may have been used up when an earlier process wrote last.
        idle = max(0.0, time.time() - os.path.getmtime(results))
    return Terms(limits, window, CONCURRENT if concurrent is None else concurrent, idle)


def _at_once(
    asked: Asked,
    terms: Terms,
    results: str | None,
    runs: RunFolder | None,
    on: str | None,
    plain_tcp: bool,
) -> Executor:
    if results is not None:
        refuse_open_jobs(f"{results}{JOURNAL}")
    if on is not None and isinstance(asked, Job):
        return _on_dask(on, asked, terms, plain_tcp)
    pace = Pace(**terms.limits, window=terms.window, concurrent=terms.concurrent)
    pace.counts_queue = False
    if terms.idle is not None:
        pace._resume(terms.idle)
    return LocalExecutor(asked.asker(pace, runs=runs), pace, terms.concurrent)


def _in_batches(
    asked: Asked,
    header: Header,
    journal: str,
    runs: RunFolder | None,
    jobs: int | None,
    every: float,
) -> Executor:
    from wire.bulk.batch_executor import BatchExecutor  # most runs ask at once
    from wire.bulk.vendor_jobs import JOBS

    most = JOBS if jobs is None else jobs
    if not isinstance(asked, Job):
        from wire.bulk.agent_batches import AgentBatchExecutor  # and most ask chats

        return AgentBatchExecutor(asked.asker(runs=runs), header, journal, jobs=most, every=every)
    [chat] = asked.chats()
    return BatchExecutor(chat, asked.output, header, journal, jobs=most, every=every)


def _on_dask(on: str, job: Job, terms: Terms, plain_tcp: bool) -> Executor:
    if not all(isinstance(each, str) for each in job.models):
        raise ConfigurationError("model: a chat stays in this process; give its name and options")
    try:
        from wire.bulk.dask_executor import DaskExecutor
    except ImportError as cause:
        if (cause.name or "").partition(".")[0] == "wire":
            raise
        raise ConfigurationError(
            "on: Dask is not installed: pip install 'wire-llm[dask]'"
        ) from None
    return DaskExecutor(on, job, terms, plain_tcp=plain_tcp)


def _path(name: str, path: Any) -> str | None:
    if path is None:
        return None
    try:
        text = os.fsdecode(path)
    except Exception:  # whatever `__fspath__` raises
        raise ConfigurationError(f"{name}: expected a path, not {type_name(path)}") from None
    if not text:
        raise ConfigurationError(f"{name}: expected a path, not an empty text")
    return text


def _check_batch(*, to: Any, asked: Asked, **others: Any) -> None:
    """Raise `ConfigurationError` for what a run with batches does not have."""
    if to is None:
        raise ConfigurationError(
            "batch: needs to, the file of the results: jobs go on when this process ends, and "
            "their ids are kept beside it"
        )
    if len(asked.names) > 1:
        raise ConfigurationError("model: expected one, since a batch is asked of one model")
    if not isinstance(asked, Job) and asked.streams:
        raise ConfigurationError("early_tools: does not apply to batch, which streams no reply")
    for name, value in others.items():
        if value is not None:
            raise ConfigurationError(f"{name}: does not apply to batch")
