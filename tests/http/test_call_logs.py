"""The log of calls: one line for each, bodies at DEBUG, and the variable `WIRE_LOG`."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive
from tests.http.loopback import ANSWER, GOOD_STREAM, STREAM, event, loopback, text, whole
from wire import AsyncClient, Chat, Client, errors, gemini
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
        usage = chat.ask("When is high tide?").usage
        with chat.stream("When is high tide?") as stream:
            list(stream)
    tokens = f"{usage.input} tokens in, {usage.output} out"
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
    assert lines(caplog) == [
        "INFO attempt 1 failed: ConnectionLost, 200",
        "INFO attempt 1: the stream was left after 1 events",
    ]


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
