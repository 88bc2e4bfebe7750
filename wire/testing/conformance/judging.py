"""What a client did wrong in a case: its requests and its report against what is expected."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.testing.conformance.loading import Call, Case, Expectation, Sent
from wire.testing.conformance.paths import values_at

_EARLY_SECONDS = 0.05
"""Clocks of two processes and their rounding: so much less than a wait is still the wait."""


class Failed(msgspec.Struct, frozen=True):
    """An error as a client reports it."""

    type: str = ""
    message: str = ""
    status: int | None = None


class Counts(msgspec.Struct, frozen=True):
    """Tokens as a client reports them."""

    input: int | None = None
    output: int | None = None


class Report(msgspec.Struct, frozen=True):
    """What a client writes to stdout: one JSON object in the last line."""

    client: str = ""
    """Its name and version."""
    text: str | None = None
    """The text of the last answer; after an error what was read of it."""
    stop: str | None = None
    """Why the model stopped, in the words of the client."""
    calls: list[Call] = []
    """The calls of all answers."""
    usage: Counts | None = None
    """The tokens of the last answer."""
    error: Failed | None = None
    shown: list[str] = []
    """What a log would show, if the task asks for it."""
    skip: str | None = None
    """Why the client does not take part in this case."""


class Request(msgspec.Struct, frozen=True):
    """One request to the endpoint of the wire."""

    body: Any
    status: int
    rule: str = ""
    """The rule of the server that refused it; the script did not."""
    time: float = 0.0
    """Seconds, when it was answered."""


def judge(case: Case, requests: Sequence[Request], report: Report) -> list[str]:
    """Return what was wrong, one sentence each; none if the client did right."""
    found = [*_refused(requests), *_sent(case.expect, requests), *_told(case.expect, report)]
    return list(dict.fromkeys(found))


def leaked(key: str, outputs: Sequence[str]) -> list[str]:
    """Return a sentence if the key stands in the output of a client."""
    found = any(key in each for each in outputs)
    return ["the key stands in the output of the client"] if found else []


def _refused(requests: Sequence[Request]) -> Iterator[str]:
    for number, each in enumerate(requests, 1):
        if each.rule:
            yield f"request {number} was refused with {each.status} by the rule {each.rule}"


def _sent(expect: Expectation, requests: Sequence[Request]) -> Iterator[str]:
    if expect.requests is not None:
        least, most = expect.requests
        if not least <= len(requests) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            yield f"expected {wanted} requests, not {len(requests)}"
    for number, wanted_wait in enumerate(expect.waits, 1):
        if len(requests) > number:
            waited = requests[number].time - requests[number - 1].time
            if waited < wanted_wait - _EARLY_SECONDS:
                yield (
                    f"request {number + 1} came after {waited:.2f} s; the server wished "
                    f"{wanted_wait:g} s"
                )
    for check in expect.sent:
        yield from _checked(check, requests)


def _checked(check: Sent, requests: Sequence[Request]) -> Iterator[str]:
    index = check.request - 1 if check.request > 0 else check.request
    if not -len(requests) <= index < len(requests):
        yield f"request {check.request}: it was not sent"
        return
    found = values_at(requests[index].body, check.at)
    place = f"request {index % len(requests) + 1}: {check.at}"
    if check.equals is not None and found != check.equals:
        yield f"{place}: expected {_shown(check.equals)}, not {_shown(found)}"
    if check.texts is not None and not _contain(found, check.texts):
        yield f"{place}: expected texts with {_shown(check.texts)}, not {_shown(found)}"


def _contain(found: Sequence[Any], texts: Sequence[str]) -> bool:
    return len(found) == len(texts) and all(
        text in json.dumps(value, ensure_ascii=False)
        for value, text in zip(found, texts, strict=True)
    )


def _told(expect: Expectation, report: Report) -> Iterator[str]:
    error = report.error
    if expect.error and error is None:
        read = f"its text is {_shown(report.text)}, its stop {_shown(report.stop)}"
        yield f"the client told no error; {read}"
    if expect.error is False and error is not None:
        yield f"the client told an error: {error.type}: {error.message:.300}"
        return
    if expect.status is not None and error is not None and error.status != expect.status:
        yield f"expected the status {expect.status} with the error, not {error.status}"
    if expect.says is not None and error is not None and expect.says not in error.message:
        yield f"expected an error with {_shown(expect.says)}, not {_shown(error.message)}"
    if expect.words and error is not None:
        told = f"{error.type}: {error.message}"
        if not any(word in told.lower() for word in expect.words):
            yield f"expected an error with one of {_shown(expect.words)}, not {_shown(told)}"
    if expect.error is None and error is not None:
        return
    if expect.text is not None and report.text != expect.text:
        yield f"expected the text {_shown(expect.text)}, not {_shown(report.text)}"
    if expect.calls is not None and report.calls != expect.calls:
        wanted, made = (msgspec.to_builtins(each) for each in (expect.calls, report.calls))
        yield f"expected the calls {_shown(wanted)}, not {_shown(made)}"
    if expect.stop is not None and report.stop not in expect.stop:
        yield f"expected one of the stops {_shown(expect.stop)}, not {_shown(report.stop)}"
    usage = report.usage or Counts()
    if expect.usage is not None and (usage.input, usage.output) != (
        expect.usage.input,
        expect.usage.output,
    ):
        wanted = f"{expect.usage.input} and {expect.usage.output}"
        yield f"expected {wanted} tokens in and out, not {usage.input} and {usage.output}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 500 else f"{text[:500]}..."
