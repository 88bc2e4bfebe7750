"""`wire conformance`: its cases, the reference adapter, and clients that do one thing wrong."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import sys
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import pytest

from tests.cli.conftest import Command
from tests.cli.conftest import wire as wire  # the fixture
from wire.errors import ConfigurationError
from wire.testing.conformance.adapter import report_of
from wire.testing.conformance.judging import Failed, Report, Request, judge
from wire.testing.conformance.loading import Aspect, Case, Expectation, Sent, Task, chosen, wires
from wire.testing.conformance.paths import values_at
from wire.testing.conformance.running import Verdict, Written, play, run, words_of
from wire.testing.emulator import Emulator

CASES = {case.id: (wire, case) for wire, case in chosen()}
ROOT = Path(__file__).parents[3]
FAKE = Path(__file__).with_name("client.py")
HELLO = "anthropic/retry-after"


def command(wrong: str) -> str:
    return shlex.join([sys.executable, str(FAKE), wrong])


def verdict(wrong: str, case: str, seconds: float = 60) -> Verdict:
    return run(command(wrong), *CASES[case], seconds)


# --- cases ----------------------------------------------------------------------------------------


def test_each_case_has_an_id_of_its_own_with_its_wire() -> None:
    assert len(CASES) == sum(len(wire.cases) for wire in wires())
    assert {id.partition("/")[0] for id in CASES} == {wire.wire for wire in wires()}
    assert all(case.id.startswith(f"{wire.wire}/") for wire, case in CASES.values())


def test_each_aspect_has_a_case() -> None:
    assert {case.aspect for _, case in CASES.values()} == set(get_args(Aspect))


def test_others_can_play_the_scripts() -> None:
    """Steps are bytes of the vendor and faults: no output that this emulator alone can render."""
    for _, case in CASES.values():
        Emulator(case.script)
        assert {key for step in case.script for key in step} <= {"answer", "stream", "fault"}


def test_the_paths_of_all_checks_can_be_read() -> None:
    checks = [each for _, case in CASES.values() for each in case.expect.sent]
    assert len(checks) > 50
    for check in checks:
        assert values_at({}, check.at) == []
        assert check.request != 0
        assert (check.equals is None) != (check.texts is None)


def test_a_path_that_is_none_is_an_error() -> None:
    for path in ("a..b", "a[x]", "a[]"):
        with pytest.raises(ValueError, match=r"': expected a key or an index at character 1"):
            values_at({}, path)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a[0].b", [1]),
        ("a[-1].b", [3]),
        ("a[5].b", []),
        ("a[*].b", [1, 2, 3]),
        ("a[k=x].b", [1, 3]),
        ("a[*].z|b", [1, 2, 3]),
        ("a[0].b|k", [1]),
        ("a.b", []),
        ("c[0]", []),
        ("", [{"a": [{"k": "x", "b": 1}, {"b": 2}, {"k": "x", "b": 3}], "c": 4}]),
    ],
)
def test_values_at_a_path(path: str, found: list[Any]) -> None:
    body = {"a": [{"k": "x", "b": 1}, {"b": 2}, {"k": "x", "b": 3}], "c": 4}
    assert values_at(body, path) == found


# --- the reference adapter ------------------------------------------------------------------------


@pytest.mark.parametrize("id", CASES)
def test_the_reference_adapter_keeps(id: str) -> None:
    def do(task: dict[str, Any], url: str) -> Written:
        return Written(True, json.dumps(report_of(task)), "")

    done = play(*CASES[id], do)
    assert (done.details, done.result) == ([], "kept")
    assert done.client.startswith("wire ")


def test_the_reference_adapter_is_a_command(wire: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # the command runs in another folder
    client = shlex.join([sys.executable, "-m", "wire.testing.conformance.adapter"])
    said = wire("conformance", client, "--case", "gemini/signature-of-call")
    assert said.status == 0
    assert "1 kept, 0 failed, 0 skipped" in said.out


# --- clients that do one thing wrong --------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [
        "anthropic/parallel-calls",
        "anthropic/signature-of-thought",
        "anthropic/redacted-thought",
        "anthropic/cut-stream",
        "anthropic/ended-stream",
        "anthropic/error-in-stream",
        "anthropic/broken-event",
        "anthropic/retry-after",
        "anthropic/connection-reset",
        "anthropic/bad-request",
        "anthropic/key-in-error",
        "anthropic/stopped-by-length",
        "anthropic/usage",
    ],
)
def test_a_small_client_that_does_right_is_right(case: str) -> None:
    done = verdict("right", case)
    assert (done.details, done.result, done.client) == ([], "kept", "fake 1")
    assert done.command == ""


WRONG = [
    (
        "drops-signatures",
        "anthropic/redacted-thought",
        r"request 2: messages\[1\]\.content\[0\]: expected .*redacted_thinking.*",
    ),
    ("drops-signatures", "anthropic/signature-of-thought", r"request 2 was refused with 400 .*"),
    ("swallows-cuts", "anthropic/cut-stream", 'the client told no error; its text is "Hello .*'),
    ("swallows-cuts", "anthropic/ended-stream", "the client told no error; its text is .*"),
    (
        "mixes-calls",
        "anthropic/parallel-calls",
        r"request 2: messages\[-1\]\.content\[tool_use_id=toolu_paris\]\.content: expected texts "
        r'with \["sunny"\], not \["rain, 4 degrees"\]',
    ),
    ("prints-key", "anthropic/usage", "the key stands in the output of the client"),
    ("prints-no-json", "anthropic/usage", "the last line of stdout is no report: .*"),
    (
        "writes-nothing",
        "anthropic/usage",
        "the client wrote nothing to stdout; stderr ends with .*No module named.*",
    ),
]


@pytest.mark.parametrize(("wrong", "case", "problem"), WRONG, ids=lambda each: each[:30])
def test_what_a_client_does_wrong_is_told(wrong: str, case: str, problem: str) -> None:
    done = verdict(wrong, case)
    assert done.result == "failed"
    assert any(re.fullmatch(problem, each) for each in done.details), done.details
    assert CASES[case][0].key not in str(done)
    assert shlex.split(done.command) == ["wire", "conformance", command(wrong), "--case", case]


def test_a_client_that_hangs_is_ended() -> None:
    done = verdict("hangs", "anthropic/usage", seconds=0.5)
    assert (done.result, done.details) == ("failed", ["the client did not end in time"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_what_a_client_leaves_behind_is_ended(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        child = [sys.executable, "-c", "import time; time.sleep(60)"]
        program = (
            f"import subprocess; subprocess.Popen({child!r}, stdout=open({str(pipe)!r}, 'wb')); "
            'print(\'{"skip": "it left a process"}\')'
        )
        done = run(shlex.join([sys.executable, "-c", program]), *CASES["openai/usage"], 60)
        assert done.details == ["it left a process"]
        # The end of the pipe can be read when no process has it open for writing.
        assert select.select([reader], [], [], 20)[0] == [reader]
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


def test_a_client_that_does_not_take_part_is_skipped() -> None:
    done = verdict("right", "gemini/usage")
    assert (done.result, done.details) == ("skipped", ["it speaks Messages alone"])


def test_a_client_gets_the_variables_of_the_emulator_and_no_key_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-real")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "real")
    program = (
        "import json, os; names = ['OPENAI_ORG_ID', 'HTTPS_PROXY', 'ANTHROPIC_API_KEY', "
        "'OPENAI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL']; "
        "print(json.dumps({'skip': str([os.environ.get(each) for each in names])}))"
    )
    done = run(shlex.join([sys.executable, "-c", program]), *CASES["openai/usage"], 60)
    # The key is in that output, which is told, and does not stand in what is told.
    assert (done.result, done.details) == ("failed", ["the key stands in the output of the client"])
    shown = program.replace("os.environ.get(each)", "os.environ.get(each, '').partition('-of-')[0]")
    done = run(shlex.join([sys.executable, "-c", shown]), *CASES["openai/usage"], 60)
    url = r"'http://127\.0\.0\.1:\d+"
    assert re.fullmatch(rf"\['', '', 'fake-key', {url}/v1', {url}'\]", done.details[0])


# --- judging --------------------------------------------------------------------------------------


def case_of(**expect: Any) -> Case:
    task, expectation = Task(turns=["Hi"]), Expectation(**expect)
    return Case(id="a/b", aspect="usage told", about="", task=task, script=[], expect=expectation)


@pytest.mark.parametrize(
    ("expect", "report", "problem"),
    [
        ({"requests": (1, 1)}, Report(), "expected 1 requests, not 2"),
        ({"requests": (3, 4)}, Report(), "expected 3 to 4 requests, not 2"),
        (
            {"error": True},
            Report(text="x"),
            'the client told no error; its text is "x", its stop null',
        ),
        ({}, Report(error=Failed("E", "odd")), "the client told an error: E: odd"),
        (
            {"error": True, "status": 400},
            Report(error=Failed(status=500)),
            "expected the status 400 with the error, not 500",
        ),
        (
            {"error": True, "says": "odd"},
            Report(error=Failed(message="even")),
            'expected an error with "odd", not "even"',
        ),
        (
            {"error": None, "words": ["limit"], "stop": ["length"]},
            Report(error=Failed("E", "odd")),
            'expected an error with one of ["limit"], not "E: odd"',
        ),
        ({"error": None, "words": ["limit"]}, Report(error=Failed("TokenLimitError")), None),
        (
            {"error": None, "words": ["limit"], "stop": ["length"]},
            Report(stop="stop"),
            'expected one of the stops ["length"], not "stop"',
        ),
        ({"text": "a"}, Report(text="b"), 'expected the text "a", not "b"'),
        ({"stop": ["a"]}, Report(stop="b"), 'expected one of the stops ["a"], not "b"'),
        ({"calls": []}, Report(), None),
        ({"waits": [5.0]}, Report(), "request 2 came after 1.00 s; the server wished 5 s"),
        ({"waits": [1.0]}, Report(), None),
        ({"sent": [Sent(request=3, at="a", equals=[])]}, Report(), "request 3: it was not sent"),
        (
            {"sent": [Sent(request=-1, at="a", equals=[2])]},
            Report(),
            "request 2: a: expected [2], not [1]",
        ),
        ({"sent": [Sent(request=1, at="a", equals=[])]}, Report(), None),
        ({"sent": [Sent(request=2, at="a", texts=["1"])]}, Report(), None),
        (
            {"sent": [Sent(request=2, at="a", texts=["1", "2"])]},
            Report(),
            'request 2: a: expected texts with ["1", "2"], not [1]',
        ),
    ],
)
def test_judging(expect: dict[str, Any], report: Report, problem: str | None) -> None:
    requests = [Request({}, 200, time=1.0), Request({"a": 1}, 200, time=2.0)]
    assert judge(case_of(**expect), requests, report) == ([problem] if problem else [])


def test_a_request_that_the_server_refused_is_told() -> None:
    problems = judge(case_of(), [Request({}, 400, "A5")], Report())
    assert problems == ["request 1 was refused with 400 by the rule A5"]


# --- files of the user ----------------------------------------------------------------------------


def own(folder: Path, name: str = "own.json", **changes: Any) -> Path:
    """A file with one case of Messages; keys of a change are paths such as `cases.0.id`."""
    case: Any = {
        "id": "anthropic/hello",
        "aspect": "usage told",
        "about": "The tokens are told.",
        "task": {"turns": ["Say hello."]},
        "script": [{"say": "Hello."}],
        "expect": {"requests": [1, 1], "sent": [{"request": 1, "at": "stream", "equals": [False]}]},
    }
    wire, _ = CASES[HELLO]
    rows = {each: getattr(wire, each) for each in wire.__struct_fields__} | {"cases": [case]}
    for path, value in changes.items():
        place: Any = rows
        *keys, last = (int(each) if each.isdigit() else each for each in path.split("."))
        for key in keys:
            place = place[key]
        place[last] = value
    file = folder / name
    file.write_text(json.dumps(rows), "utf-8")
    return file


def test_the_command_runs_the_cases_of_a_file(wire: Command, tmp_path: Path) -> None:
    file = str(own(tmp_path))
    assert wire("conformance", "--list", "--cases", file).out.split()[0] == "anthropic/hello"
    said = wire("conformance", command("right"), "--cases", file)
    assert (said.status, said.out.split("\n")[-2]) == (0, "fake 1: 1 kept, 0 failed, 0 skipped")


def test_a_failure_of_a_file_is_repeated_with_the_file(wire: Command, tmp_path: Path) -> None:
    own(tmp_path, **{"cases.0.expect.sent.0.equals": [True]})
    said = wire("conformance", command("right"), "--cases", str(tmp_path))
    again = said.out.splitlines()[2].strip()
    words = ["--cases", str(tmp_path), "--case", "anthropic/hello"]
    assert shlex.split(again) == ["wire", "conformance", command("right"), *words]
    assert "request 1: stream: expected [true], not [false]" in wire(*shlex.split(again)[1:]).out


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"cases.0.expect.stops": []}, "cases[0].expect: object contains unknown field `stops`"),
        ({"cases.0.aspect": "nice"}, "cases[0].aspect: invalid enum value 'nice'"),
        (
            {"cases.0.expect.sent.0.at": "a..b"},
            "cases[0].expect.sent[0].at: 'a..b': expected a key or an index at character 1",
        ),
        (
            {"cases.0.expect.sent.0.request": 0},
            "cases[0].expect.sent[0].request: expected a number from 1, or -1 for the last one",
        ),
        (
            {"cases.0.expect.sent.0.texts": [""]},
            "cases[0].expect.sent[0]: expected equals or texts, one of them",
        ),
        (
            {"cases.0.expect.requests": [2, 1]},
            "cases[0].expect.requests: expected the least number, then the most",
        ),
        (
            {"cases.0.script": [{"say": "Hi"}, {"fault": "hail"}]},
            "cases[0].script[1].fault: 'hail' is unknown; there are ",
        ),
        (
            {"cases.0.script.0": {"strem": []}},
            "cases[0].script[0]: 'strem' is unknown; there are ",
        ),
        ({"cases.0.id": "hello"}, "cases[0].id: expected anthropic/ and a name, not 'hello'"),
        ({"endpoint": "("}, "endpoint: no regular expression: missing ), "),
        ({"key": ""}, "key: expected a fake key, by which a leak is seen"),
        ({"cases": None}, "cases: expected `array`, got `null`"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_the_path(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    file = own(tmp_path, **changes)
    with pytest.raises(ConfigurationError) as caught:
        chosen((), [str(file)])
    assert caught.value.message.startswith(f"{file}: {problem}")


def test_an_id_of_two_files_and_a_folder_without_files_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no file \*\.json in this folder"):
        chosen((), [tmp_path])
    one, two = own(tmp_path), own(tmp_path, "two.json")
    with pytest.raises(ConfigurationError) as caught:
        chosen((), [tmp_path])
    place = f"{one}: cases[0].id"
    assert (
        caught.value.message == f"{two}: cases[0].id: 'anthropic/hello' is the id at {place}, too"
    )


def test_the_schema_takes_our_files(tmp_path: Path) -> None:
    written = json.loads((ROOT / "schemas" / "conformance.schema.json").read_text("utf-8"))
    validator = jsonschema_rs.validator_for(written)
    for file in (ROOT / "wire" / "testing" / "conformance" / "cases").glob("*.json"):
        assert validator.is_valid(json.loads(file.read_text("utf-8")))
    assert not validator.is_valid(json.loads(own(tmp_path, endpoint=1).read_text("utf-8")))


# --- the command ----------------------------------------------------------------------------------


def test_the_command_lists_the_cases(wire: Command) -> None:
    lines = wire("conformance", "--list").out.splitlines()
    assert len(lines) == len(CASES)
    assert lines[0].split()[0] == next(iter(CASES))
    listed = wire("conformance", "--list", "--json", "--case", "openai/cut*").json
    assert [(each["id"], each["aspect"]) for each in listed] == [
        ("openai/cut-stream", "cut streams told")
    ]


def test_the_command_prints_what_repeats_a_failure(wire: Command) -> None:
    client = command("swallows-cuts")
    said = wire("conformance", client, "--case", "anthropic/*d-stream", "--case", HELLO)
    assert said.status == 1
    again = [line.strip() for line in said.out.splitlines() if line.startswith("    wire conf")]
    assert [shlex.split(each)[-1] for each in again] == ["anthropic/ended-stream"]
    assert "1 kept, 1 failed, 0 skipped" in said.out
    repeated = wire(*shlex.split(again[0])[1:])
    assert repeated.status == 1
    assert "0 kept, 1 failed, 0 skipped" in repeated.out


def test_the_command_prints_json(wire: Command) -> None:
    said = wire("conformance", command("right"), "--case", HELLO, "--json")
    assert said.status == 0
    assert said.json["client"] == "fake 1"
    assert said.json["counts"] == {"kept": 1, "failed": 0, "skipped": 0}
    assert said.json["cases"][0]["case"] == HELLO


def test_a_client_that_takes_no_part_at_all_fails(wire: Command) -> None:
    said = wire("conformance", command("right"), "--case", "ollama/usage")
    assert said.status == 1
    assert said.err == "wire conformance: the client took part in no case\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "client: missing; such as 'python adapter.py'"),
        (("x", "--case", "no/such"), "--case: no case fits 'no/such'; --list prints them"),
        (("/no/such/program",), "client: '/no/such/program': No such file or directory"),
        (("'",), 'client: "\'": No closing quotation'),
    ],
)
def test_a_wrong_use_is_one_line(wire: Command, arguments: tuple[str, ...], problem: str) -> None:
    said = wire("conformance", *arguments)
    assert (said.status, said.err) == (2, f"wire conformance: {problem}\n")


def test_an_empty_command_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="client: missing"):
        words_of("  ")
