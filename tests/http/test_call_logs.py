"""The log of calls: one line for each, bodies at DEBUG, and the variable `WIRE_LOG`."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wire
from tests.http.drive import CALL, STREAM_CALL, Drive
from tests.http.loopback import ANSWER, GOOD_STREAM, STREAM, event, loopback, text, whole
from wire import AsyncClient, Chat, Client, Message, Reply, Retry, Stop, Usage, errors, gemini
from wire.around import Around, CallEnded, CallFailed, Give, Outgoing
from wire.core.masking import Mask
from wire.core.secret import Secret
from wire.http.call_logs import BODY_CHARACTERS, StderrHandler, shown_body
from wire.testing.emulator import Emulator, EmulatorTransport

KEY = "fake-key-8f3b1c7d2e9a"


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines of the log without what differs from run to run."""
    shown = (f"{each.levelname} {each.getMessage()}" for each in caplog.records)
    return [
        re.sub(r"\d+\.\d\d s", "T", re.sub(r"127\.0\.0\.1:\d+", "HOST", each)) for each in shown
    ]


def test_a_call_that_succeeds_is_one_line(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "wire")
    with loopback([whole(ANSWER)]) as server:
        drive.send(base_url=server.url)
    with loopback(GOOD_STREAM) as server:
        drive.read(base_url=server.url)
    url = "POST http://HOST/v1beta/models/m"
    assert lines(caplog) == [
        f"INFO {url}:generateContent: model m, status 200, T, 1 attempt",
        f"INFO {url}:streamGenerateContent: model m, status 200, T, 1 attempt, 2 events",
    ]


def test_tokens_of_a_neutral_call_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "wire")
    http = EmulatorTransport(Emulator([{"say": "At 05:12."}] * 2))
    with Chat("openai:gpt-5.2", api_key=KEY, http=http) as chat:
        reply = chat.ask("When is high tide?")
        usage = reply.usage
        with chat.stream("When is high tide?") as stream:
            list(stream)
    tokens = f"{usage.input} tokens in, {usage.output} out, {reply.cost}"
    assert usage.input > 0
    assert len(caplog.records) == 2
    assert all(line.endswith(tokens) for line in lines(caplog))


def test_a_stream_that_breaks_or_is_left_is_one_line(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wire")
    with loopback([STREAM, event(text("Hel")), "reset"]) as server:
        drive.read(base_url=server.url)
    with loopback([STREAM, event(text("Hel")), "hold"]) as server:
        drive.session(lambda door: door.read(STREAM_CALL, most=1), base_url=server.url)
    stream = "INFO POST http://HOST/v1beta/models/m:streamGenerateContent: model m"
    assert lines(caplog) == [
        "INFO attempt 1 failed: ConnectionLost, 200",
        f"{stream}, failed: ConnectionLost, status 200, T, 1 attempt, 1 event",
        f"{stream}, status 200, T, 1 attempt, 1 event, left before its end",
    ]
    assert [each.name for each in caplog.records] == ["wire.http", "wire", "wire"]


def test_bodies_are_logged_at_debug(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "wire")
    with loopback([whole(ANSWER, x_auth_token="fakefakefake")]) as server:
        drive.send(base_url=server.url, api_key=KEY)
    request, head, body, call = lines(caplog)
    assert request.startswith("DEBUG attempt 1: POST http://HOST/v1beta/models/m:generateContent {")
    assert "'x-goog-api-key': '***'" in request
    assert request.endswith(CALL.body.decode())
    assert head.startswith("DEBUG attempt 1: status 200 after T {")
    assert "'x-auth-token': '***'" in head
    assert body.startswith('DEBUG attempt 1: received {"candidates": ')
    assert call.startswith("INFO POST ")
    assert len({each.call for each in caplog.records}) == 1  # type: ignore[attr-defined]


def test_the_body_of_a_stream_is_one_line_at_its_end(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    """Texts of neighbours are joined, so that a key in letters is found."""
    caplog.set_level(logging.DEBUG, "wire")
    letters = [event(text(letter)) for letter in f"Your key is {KEY}"]
    with loopback([STREAM, *letters, event(text(".", "STOP")), b"0\r\n\r\n"]) as server:
        drive.read(base_url=server.url, api_key=KEY)
    shown = lines(caplog)
    assert len(shown) == 4
    assert "Your key is ***" in shown[2]
    assert KEY not in caplog.text


def test_the_body_of_an_error_is_logged(drive: Drive, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "wire")
    with loopback([whole(f"<p>no: {KEY}</p>".encode(), 400, "text/html")]) as server:
        with pytest.raises(errors.BadRequestError):
            drive.send(base_url=server.url, api_key=KEY)
    assert "DEBUG attempt 1: received <p>no: ***</p>" in lines(caplog)
    assert KEY not in caplog.text


def test_calls_have_numbers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "wire")
    with loopback([whole(ANSWER)]) as server:
        with Client("gemini", api_key=KEY, base_url=server.url) as client:
            client.send(CALL)
            client.send(CALL)
    first, second = (each.call for each in caplog.records)  # type: ignore[attr-defined]
    assert second == first + 1


def test_a_program_that_logs_everything_did_not_ask_for_bodies(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with loopback([whole(ANSWER)]) as server:
        drive.send(base_url=server.url)
    shown = [line for line in lines(caplog) if "attempt 1: " in line]
    assert shown[0].endswith(f" <{len(CALL.body)} bytes>")
    assert re.fullmatch(r"DEBUG attempt 1: received <\d+ bytes>", shown[2])
    assert "Hello." not in caplog.text


def test_a_long_body_is_cut_and_bytes_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "wire")
    mask = Mask([Secret(KEY)])
    long = b"x" * (BODY_CHARACTERS - 5) + KEY.encode() + b"y" * 10_000
    shown = shown_body(long, mask)
    assert shown == "x" * (BODY_CHARACTERS - 5) + f"*** ... ({len(long)} bytes)".replace(
        "***", "***yy"
    )
    assert shown_body(b"\0" * 9, mask) == "<9 bytes>"
    assert shown_body(b"sk-fake-1234567890", mask) == "***"
    assert shown_body(b"", mask) == ""


# --- fields ---------------------------------------------------------------------------------------


class JSONFormatter(logging.Formatter):
    """Writes the attributes that this library adds to a record."""

    _of_python = vars(logging.makeLogRecord({})).keys() | {"message"}

    def format(self, record: logging.LogRecord) -> str:
        fields = {k: v for k, v in vars(record).items() if k not in self._of_python}
        return json.dumps({"logger": record.name, "message": record.getMessage(), **fields})


def json_lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(JSONFormatter().format(each)) for each in caplog.records]


def documented(heading: str) -> set[str]:
    """The fields that a table of docs/guide/logging.md lists."""
    page = (Path(__file__).parents[2] / "docs/guide/logging.md").read_text("utf-8")
    table = page.partition(f"{heading}:\n\n")[2].partition("\n\n")[0]
    names = [row.split("|")[1] for row in table.splitlines()[2:]]
    return {name for each in names for name in re.findall(r"`(\w+)`", each)}


def test_each_record_has_its_facts_as_fields(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wire")
    refusal = whole({"error": {"code": 503, "message": "The tides"}}, 503, retry_after="0")
    good = whole(ANSWER, x_request_id="req_1")
    with loopback(lambda number, _: [refusal if number == 0 else good]) as server:
        drive.send(base_url=server.url, retry=Retry(base=0))
    failed, pause, call = json_lines(caplog)
    number = call["call"]
    assert failed == {
        "logger": "wire.http",
        "message": "attempt 1 failed: OverloadedError, 503",
        "call": number,
        "attempt": 1,
        "error": "OverloadedError",
        "status": 503,
        "retry_after": 0.0,
    }
    assert (pause["call"], pause["attempt"], pause["pause"]) == (number, 1, 0.0)
    timed = {call.pop(name) for name in ("message", "seconds", "first_byte")}
    assert None not in timed
    url = call.pop("url")
    assert url.endswith("/v1beta/models/m:generateContent")
    assert call == {
        "logger": "wire",
        "call": number,
        "outcome": "answered",
        "provider": "gemini",
        "model": "m",
        "method": "POST",
        "status": 200,
        "error": None,
        "attempts": 2,
        "waited": 0.0,
        "first_event": None,
        "events": 0,
        "sent_events": 0,
        "sent": len(CALL.body),
        "received": call["received"],
        "request_id": "req_1",
        "input_tokens": None,
        "output_tokens": None,
        "cost": None,
    }
    assert call["received"] > 0


def test_a_call_that_fails_is_one_record_with_the_class_of_its_error(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wire")
    script = [whole({"error": {"code": 503, "message": "The tides"}}, 503, retry_after="0")]
    for send in (drive.send, drive.read):
        caplog.clear()
        with loopback(script) as server, pytest.raises(errors.OverloadedError):
            send(base_url=server.url, retry=Retry(base=0, attempts=2))
        *steps, call = json_lines(caplog)
        assert [each["logger"] for each in steps] == ["wire.http"] * 3
        assert (call["logger"], call["outcome"]) == ("wire", "failed")
        assert (call["error"], call["status"], call["attempts"]) == ("OverloadedError", 503, 2)
        assert "tides" not in json.dumps([*steps, call])


def test_tokens_are_fields(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "wire")
    with Chat("openai:gpt-5.2", api_key=KEY, http=EmulatorTransport()) as chat:
        with chat.stream("When is high tide?") as events:
            usage = events.reply().usage
    (call,) = json_lines(caplog)
    assert (call["input_tokens"], call["output_tokens"]) == (usage.input, usage.output)
    assert (call["outcome"], call["model"]) == ("answered", "gpt-5.2")
    assert call["cost"] == float(wire.cost(usage, "openai:gpt-5.2").total) > 0
    assert 0 < call["first_byte"] <= call["first_event"] <= call["seconds"]


def test_an_unknown_cost_is_no_field(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "wire")
    with Chat("ollama:qwen3:8b", http=EmulatorTransport(Emulator([{"say": "Hi."}]))) as chat:
        usage = chat.ask("Hi").usage
    (call,) = json_lines(caplog)
    assert call["cost"] is None
    assert call["message"].endswith(f"{usage.input} tokens in, {usage.output} out")


# --- calls with `around=`, and calls that are not sent --------------------------------------------


RAW = Give("whole", events=[gemini.GenerateContentResponse()])


def given(outgoing: Outgoing) -> Around:
    yield RAW


def given_reply(outgoing: Outgoing) -> Around:
    yield Give(Reply(Message.assistant("Not now."), Stop("end"), Usage(input=10, output=5)))


def given_for_an_error(outgoing: Outgoing) -> Around:
    while not isinstance((yield), CallFailed):
        pass
    yield RAW


def given_for_an_answer(outgoing: Outgoing) -> Around:
    while not isinstance((yield), CallEnded):
        pass
    yield RAW


def refuses(outgoing: Outgoing) -> Around:
    raise errors.RuleError("no more money")
    yield


def refuses_answers(outgoing: Outgoing) -> Around:
    while not isinstance((yield), CallEnded):
        pass
    raise errors.BlockedError("not on our watch")


UNAVAILABLE = [whole({"error": {"code": 503, "message": "x"}}, 503, retry_after="0")]
"""What stands around a call and what its server sends, to what the only line has."""
AROUND: dict[str, tuple[Any, Any, tuple[str, str | None, int]]] = {
    "given before": (given, None, ("given", None, 0)),
    "given for an error": (given_for_an_error, UNAVAILABLE, ("given", None, 1)),
    "refused before": (refuses, None, ("failed", "RuleError", 0)),
    "refused by the server": ((lambda _: (yield)), UNAVAILABLE, ("failed", "OverloadedError", 1)),
}
WHOLE_ONLY: dict[str, tuple[Any, Any, tuple[str, str | None, int]]] = {
    "a reply given before": (given_reply, None, ("given", None, 0)),
    "given for an answer": (given_for_an_answer, [whole(ANSWER)], ("given", None, 1)),
    "an answer refused": (refuses_answers, [whole(ANSWER)], ("failed", "BlockedError", 1)),
    "answered": ((lambda _: (yield)), [whole(ANSWER)], ("answered", None, 1)),
}
STREAMED_ONLY: dict[str, tuple[Any, Any, tuple[str, str | None, int]]] = {
    "an answer refused": (refuses_answers, GOOD_STREAM, ("failed", "BlockedError", 1)),
    "answered": ((lambda _: (yield)), GOOD_STREAM, ("answered", None, 1)),
    "broken": (
        (lambda _: (yield)),
        [STREAM, event(text("Hel")), "reset"],
        ("failed", "ConnectionLost", 1),
    ),
}


@pytest.mark.parametrize("name", [*AROUND, *WHOLE_ONLY])
def test_a_call_with_around_is_one_record(
    name: str, drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    one_record({**AROUND, **WHOLE_ONLY}[name], drive.send, caplog)


@pytest.mark.parametrize("name", [*AROUND, *STREAMED_ONLY])
def test_a_stream_with_around_is_one_record(
    name: str, drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    one_record({**AROUND, **STREAMED_ONLY}[name], drive.read, caplog)


def one_record(case: Any, send: Any, caplog: pytest.LogCaptureFixture) -> None:
    around, script, wanted = case
    caplog.set_level(logging.INFO, "wire")
    with loopback(script or []) as server:
        with contextlib.suppress(errors.WireError):
            send(base_url=server.url, around=around, retry=None)
    (call,) = (each for each in json_lines(caplog) if each["logger"] == "wire")
    assert (call["outcome"], call["error"], call["attempts"]) == wanted
    assert (call["model"], call["method"], call["input_tokens"]) == ("m", "POST", None)
    assert ("given by around=" in call["message"]) is (wanted[0] == "given")
    assert "no more money" not in caplog.text  # a message may quote the prompt


def test_a_stream_with_around_that_is_left_is_one_record(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wire")
    with loopback([STREAM, event(text("Hel")), "hold"]) as server:
        session = {"base_url": server.url, "around": lambda _: (yield)}
        drive.session(lambda door: door.read(STREAM_CALL, most=1), **session)
    (call,) = json_lines(caplog)
    assert (call["outcome"], call["events"]) == ("left", 1)


def test_a_call_that_is_refused_before_its_first_attempt_is_one_record(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wire")
    for send in (drive.send, drive.read):
        with pytest.raises(errors.ConfigurationError, match="no API key"):
            send(api_key=None, base_url="http://127.0.0.1:9")
    url = "POST http://HOST/v1beta/models/m"
    shown = [each.replace("127.0.0.1:9", "HOST") for each in lines(caplog)]
    assert shown == [
        f"INFO {url}:{method}: model m, failed: ConfigurationError, no status, T, 0 attempts"
        for method in ("generateContent", "streamGenerateContent")
    ]
    with pytest.raises(errors.ConfigurationError, match="expected a Call"):
        drive.send(5, base_url="http://127.0.0.1:9")
    assert len(caplog.records) == 2  # what is no call has no record


def test_a_retried_and_changed_call_with_around_has_one_number(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "wire")
    steps = lambda number, _: UNAVAILABLE if number == 0 else [whole(ANSWER)]  # noqa: E731
    with loopback(steps) as server:
        drive.send(base_url=server.url, around=lambda _: (yield), retry=Retry(base=0))
    failed, pause, call = json_lines(caplog)
    assert failed["call"] == pause["call"] == call["call"]
    assert (call["outcome"], call["attempts"]) == ("answered", 2)


def test_the_guide_lists_each_field(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "wire")
    http = EmulatorTransport(Emulator([{"fault": "503"}, {"say": "At 05:12."}]))
    with Chat("openai:gpt-5.2", api_key=KEY, http=http, retry=Retry(base=0)) as chat:
        chat.ask("Hi")
    found: dict[str, set[str]] = {"wire": set(), "wire.http": set()}
    for each in json_lines(caplog):
        if each["logger"] in found:
            found[each["logger"]] |= each.keys() - {"logger", "message"}
    assert documented("Fields of a record of `wire`") == found["wire"]
    assert documented("Fields of a record of `wire.http`") == found["wire.http"]


def test_bodies_need_the_level_of_one_of_the_loggers(
    drive: Drive, caplog: pytest.LogCaptureFixture
) -> None:
    """`wire.http` at DEBUG asks for bodies as `wire` does."""
    caplog.set_level(logging.DEBUG, "wire.http")
    with loopback([whole(ANSWER)]) as server:
        drive.send(base_url=server.url)
    assert "Hello." in caplog.text
    assert {each.name for each in caplog.records} == {"wire.http"}


def test_a_tool_that_raises_prints_nothing_without_configuration() -> None:
    code = """
import anyio
from wire import Agent, AsyncChat, Chat, LLMAgent
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

def tide(port: str) -> str:
    "When the tide is high."
    raise ValueError("no table")

script = [{"say": {"calls": [{"name": "tide", "args": {"port": "Brest"}}]}}, {"say": "No idea."}]
http = EmulatorTransport(Emulator(script))
with Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=http) as chat:
    print(Agent(chat, tools=[tide]).run("When?").text)

async def main():
    http = AsyncEmulatorTransport(Emulator(script))
    chat = AsyncChat("gemini:gemini-3.8-flash", api_key="fake-key", http=http)
    async with LLMAgent(chat, tools=[tide]) as agent:
        print((await agent.run("When?")).text)

for backend in ("asyncio", "trio"):
    anyio.run(main, backend=backend)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, text=True
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "No idea.\n" * 3, "")


# --- WIRE_LOG -------------------------------------------------------------------------------------


@pytest.fixture
def wire_logger() -> Iterator[logging.Logger]:
    """The logger, which has its handlers and level of before after the test."""
    logger = logging.getLogger("wire")
    handlers, level = logger.handlers[:], logger.level
    yield logger
    logger.handlers[:] = handlers
    logger.setLevel(level)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_the_variable_installs_one_handler(
    kind: type, wire_logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WIRE_LOG", raising=False)
    kind("gemini")
    assert not [each for each in wire_logger.handlers if isinstance(each, StderrHandler)]
    monkeypatch.setenv("WIRE_LOG", " Debug ")
    kind("gemini")
    kind("gemini")
    assert len([each for each in wire_logger.handlers if isinstance(each, StderrHandler)]) == 1
    assert wire_logger.level == logging.DEBUG


@pytest.mark.parametrize("level", ["info", "debug"])
def test_the_lines_go_to_stderr(
    level: str,
    wire_logger: logging.Logger,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WIRE_LOG", level)
    request = gemini.GenerateContentRequest(contents=gemini.contents("About the tides"))
    http = EmulatorTransport(Emulator([{"say": "At 05:12."}]))
    with Client("gemini", api_key=KEY, http=http) as client:
        client.send(gemini.generate_content("gemini-3.8-flash", request))
    logging.getLogger("wire.tools").warning("no call")
    written = capsys.readouterr()
    assert written.out == ""
    *calls, other = written.err.splitlines()
    assert len(calls) == (4 if level == "debug" else 1)
    assert re.search(r" INFO wire, call \d+: POST https://generativelanguage\.", calls[-1])
    assert other.endswith(" WARNING wire.tools, call -: no call")
    assert ("About the tides" in written.err) is (level == "debug")
    assert KEY not in written.err


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_value_that_is_no_level_is_refused(
    kind: type, wire_logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIRE_LOG", "verbose")
    with pytest.raises(errors.ConfigurationError) as caught:
        kind("gemini")
    assert str(caught.value) == "WIRE_LOG: expected debug or info, not 'verbose'"


def test_nothing_is_printed_without_a_handler() -> None:
    """Python's handler of last resort would print the traceback of each tool that raises."""
    code = "from wire.core.logs import logger; logger('wire.agent').error('a tool raised')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
