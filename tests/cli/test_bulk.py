"""`wire bulk` asks the rows of a file, reports how far it is, and goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command, at
from wire.testing.emulator import Emulator, Server, serve

ROWS = '"Why is it?"\n{"id": "b", "prompt": "How is it?", "max_tokens": 90}\n'


def test_rows_of_a_file(wire: Command, server: Server) -> None:
    Path("in.jsonl").write_text(ROWS, "utf-8")
    done = wire("bulk", "in.jsonl", "out.jsonl", *at(server, "gemini"), "--json")
    assert done.status == 0
    assert done.err.startswith("done: 2 of 2 rows, ")
    assert done.json["rows"] == done.json["answered"] == 2
    ids = {json.loads(line)["id"] for line in Path("out.jsonl").read_text("utf-8").splitlines()[1:]}
    assert ids == {"1", "b"}
    again = wire("bulk", "in.jsonl", "out.jsonl", *at(server, "gemini"), "--json")
    assert (again.status, again.json["earlier"], again.json["answered"]) == (0, 2, 0)


def test_rows_of_stdin_some_of_them_broken(wire: Command, server: Server) -> None:
    done = wire("bulk", "-", "out.jsonl", *at(server, "anthropic"), stdin=ROWS + "oops\n")
    assert done.status == 1
    assert done.err.splitlines()[1:] == ["1 rows failed: see out.jsonl.dead.jsonl"]


def test_rows_of_a_table(wire: Command, server: Server) -> None:
    Path("in.csv").write_text("id,text\na,Low tide.\nb,High tide.\n", "utf-8")
    command = ("bulk", "in.csv", "out.jsonl", *at(server, "gemini"))
    refused = wire(*command)
    assert refused.status == 2
    assert refused.err == (
        "wire bulk: --column: in.csv: there is no column 'prompt': there are 'id', 'text'; name "
        "one with column, or several with template\n"
    )
    done = wire(*command, "--template", "Summarise: {text}", "--json")
    assert (done.status, done.json["answered"]) == (0, 2)
    found = [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()[1:]]
    assert {each["id"]: each["text"].rpartition("said: ")[2] for each in found} == {
        "a": "Summarise: Low tide.",
        "b": "Summarise: High tide.",
    }
    again = wire(*command, "--column", "text")
    assert again.status == 2
    assert "row 2 was another one, with the id 'a'" in again.err


def test_a_table_and_prompts_on_stdin(wire: Command, server: Server) -> None:
    table = ("bulk", "-", "a.jsonl", *at(server, "gemini"), "--format", "csv", "--column", "q")
    assert wire(*table, stdin="q\nHi\n").status == 0
    assert (
        wire("bulk", "-", "b.jsonl", *at(server, "gemini"), "--format=txt", stdin="Hi\n").status
        == 0
    )
    for name in ("a.jsonl", "b.jsonl"):
        assert '"text":"This is an emulator, and no model. You said: Hi"' in Path(name).read_text()


def test_a_file_of_an_unknown_format_says_what_to_type(wire: Command, server: Server) -> None:
    Path("in.txt").write_text("Hi\n", "utf-8")
    done = wire("bulk", "in.txt", "out.jsonl", *at(server, "gemini"))
    assert done.status == 2
    assert done.err == (
        "wire bulk: --format: in.txt: .txt is not read: give --format 'txt' if each line is a "
        "prompt, or give --format 'jsonl' if each is JSON\n"
    )


def test_a_run_with_a_most_cost(wire: Command, server: Server) -> None:
    Path("in.jsonl").write_text(ROWS, "utf-8")
    command = ("bulk", "in.jsonl", "out.jsonl", *at(server, "gemini"), "--concurrent", 1)
    assert "--max-cost: expected USD above 0, not '-1'" in wire(*command, "--max-cost=-1").err
    done = wire(*command, "--max-cost", "0.000001")
    assert done.status == 1
    first, second = done.err.splitlines()
    assert first.startswith("stopped: 1 of 2 rows, ")
    assert second.startswith("wire bulk: WireError: max_cost: stopped, because 0.000")
    assert second.endswith("0.000001 USD are spent; a start with a higher max_cost goes on")
    assert wire(*command, "--max-cost", 5).err.startswith("done: 2 of 2 rows, ")


def test_rows_that_fail_alike_are_one_error(wire: Command, server: Server) -> None:
    rows = "".join(f'{{"promt": "Question {number}"}}\n' for number in range(501))
    Path("in.jsonl").write_text(rows, "utf-8")
    done = wire("bulk", "in.jsonl", "out.jsonl", *at(server, "gemini"))
    assert done.status == 1
    first, second = done.err.splitlines()
    assert first.startswith("stopped: 0 of 501 rows, ")
    assert second == (
        "wire bulk: WireError: first_rows_failed: stopped, because the first 10 rows failed alike, "
        "row 10 with: promt: no such key (did you mean 'prompt'?). A new start asks them again"
    )
    assert not Path("out.jsonl.dead.jsonl").exists()


def test_a_plan(wire: Command, server: Server) -> None:
    Path("in.jsonl").write_text(ROWS + "oops\n", "utf-8")
    options = ("--plan", "--max-tokens", 10, "--requests", 4)
    shown = wire("bulk", "in.jsonl", "out.jsonl", *at(server, "gemini"), *options)
    assert shown.status == 0
    assert shown.out.startswith("2 rows, 1 that cannot be sent, about 4 input tokens, at most 100 ")
    assert shown.out.endswith(" USD, 30 s at the given limits\n")
    assert shown.err == "row 3: JSON is malformed: invalid character (byte 0)\n"
    shown = wire("bulk", "in.jsonl", "out.jsonl", *at(server, "gemini"), *options, "--json")
    assert (shown.json["rows"], shown.json["seconds"]) == (2, 30)
    assert not Path("out.jsonl").exists()


def test_settings_and_schema(wire: Command) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    Path("schema.json").write_text(json.dumps(schema), "utf-8")
    Path("in.jsonl").write_text('"Hi"\n', "utf-8")
    with serve(Emulator([{"say": '{"a": 5}'}])) as server:
        options = ("--system", "Be brief.", "--output", "schema.json", "--concurrent", 1)
        done = wire("bulk", "in.jsonl", "out.jsonl", *at(server, "gemini"), *options)
        assert done.status == 0
        assert server.requests[0]["body"]["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert json.loads(Path("out.jsonl").read_text("utf-8").splitlines()[1])["output"] == {"a": 5}


def test_a_run_that_stops_says_how_to_go_on(wire: Command) -> None:
    Path("in.jsonl").write_text(ROWS, "utf-8")
    with serve(Emulator([{"fault": "401", "times": 0}])) as server:
        done = wire("bulk", "in.jsonl", "out.jsonl", *at(server, "openai"))
    assert done.status == 1
    assert done.err.splitlines()[0].startswith("stopped: 0 of 2 rows")
    assert done.err.splitlines()[0].endswith("give the command again to go on")
    assert done.err.splitlines()[1].startswith("wire bulk: AuthenticationError: ")


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    path.rename(path.with_name("moved.jsonl"))
    path.write_bytes(path.with_name("moved.jsonl").read_bytes())


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 9)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (removed, "was removed"),
        (replaced, "was replaced by another file"),
        (cut, "was cut from "),
    ],
)
def test_an_output_that_changes_ends_the_run_and_a_second_start_completes_it(
    change: Callable[[Path], None], problem: str, wire: Command
) -> None:
    rows = [{"id": f"r{number}", "prompt": f"Question {number}"} for number in range(1, 21)]
    Path("in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    asked: list[object] = []

    def script(request: object) -> None:
        asked.append(request)
        if len(asked) == 8:
            change(Path("out.jsonl"))

    with serve(Emulator(script)) as server:
        command = ("bulk", "in.jsonl", "out.jsonl", *at(server, "gemini"), "--concurrent", 1)
        stopped = wire(*command)
        assert stopped.status == 1
        first, second = stopped.err.splitlines()
        assert first.startswith("stopped: 7 of 20 rows, ")
        assert first.endswith("; give the command again to go on")
        assert second.startswith(f"wire bulk: WireError: stopped, because out.jsonl {problem}")
        assert second.endswith(". A new start asks each row that has no line in the file")
        assert len(asked) == 8
        done = wire(*command)
    assert done.status == 0
    assert done.err.startswith("done: 20 of 20 rows, ")
    found = [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()[1:]]
    assert sorted(each["row"] for each in found) == list(range(1, 21))
    assert all(each["text"].endswith(f"Question {each['row']}") for each in found)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--model", "gemini:gemini-3.8-flash", "--output", "no.json"), "--output: no.json: "),
        ((), "--model: missing; give PROVIDER:MODEL, or set WIRE_MODEL"),
        (("--model", "gemini"), "wire bulk: "),
    ],
)
def test_bad_input(options: tuple[str, ...], problem: str, wire: Command) -> None:
    Path("in.jsonl").write_text(ROWS, "utf-8")
    done = wire("bulk", "in.jsonl", "out.jsonl", *options)
    assert done.status == 2
    assert problem in done.err
    assert not Path("out.jsonl").exists()


def test_a_model_without_a_key_is_named_first(
    wire: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    done = wire("bulk", "missing.jsonl", "out.jsonl", "--model", "gemini:gemini-3.8-flash")
    assert done.status == 2
    assert done.err == "wire bulk: no API key: set the environment variable GEMINI_API_KEY\n"


def test_rows_in_batches(wire: Command, server: Server) -> None:
    Path("in.jsonl").write_text(ROWS, "utf-8")
    options = ("--batch", "--every", 0.01, "--json", *at(server, "anthropic"), "--max-tokens", 50)
    done = wire("bulk", "in.jsonl", "out.jsonl", *options)
    assert (done.status, done.json["answered"]) == (0, 2)
    assert Path("out.jsonl.jobs.jsonl").exists()
    refused = wire("bulk", "in.jsonl", "out.jsonl", *options, "--requests", 5)
    assert (refused.status, refused.err) == (
        2,
        "wire bulk: --requests: does not apply to batch\n",
    )
