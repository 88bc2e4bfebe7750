"""C-37: `wire cassette convert`, of a file and of a folder."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Command
from tests.testing.cassette.layouts import Recorded, har, vcrpy, vcrpy_json
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.file import load
from wire.testing.fixtures.file_names import cassette_path

ONE = [Recorded(b'{"a": 1}', b'data: {"b": 2}\n\n')]
LOST = "  headers of a request not kept: user-agent\n  headers of a response not kept: set-cookie\n"
SECRET = "fake-key-0123456789abcdef"


def body_in(path: str) -> bytes:
    [each] = load(Path(path).read_bytes(), path).interactions
    return body_bytes(each.response.body)


def put(path: str, data: bytes = vcrpy(ONE)) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(data)
    return path


@pytest.mark.row("C-37")
def test_a_file_is_converted_there_and_back(wire: Command) -> None:
    put("a.yaml")
    done = f"a.yaml: 1 interaction\n{LOST}1 file converted, 0 refused\n"
    assert wire("cassette", "convert", "a.yaml", "new/a.cassette.json") == (0, done, "")
    assert body_in("new/a.cassette.json") == ONE[0].received
    assert stat.S_IMODE(Path("new/a.cassette.json").stat().st_mode) == 0o600
    assert wire("cassette", "convert", "new/a.cassette.json", "b.yaml", "--to", "vcr").status == 0
    value = yaml.safe_load(Path("b.yaml").read_text("utf-8"))
    assert value["interactions"][0]["response"]["body"] == {"string": ONE[0].received.decode()}
    assert wire("cassette", "convert", "b.yaml", "b.har", "--to", "har").status == 0
    log = json.loads(Path("b.har").read_text("utf-8"))["log"]
    assert log["entries"][0]["response"]["content"]["text"] == ONE[0].received.decode()


@pytest.mark.row("C-37")
def test_a_file_goes_into_a_folder_under_its_name(wire: Command) -> None:
    Path("to").mkdir()
    assert wire("cassette", "convert", put("a.yaml"), "to").status == 0
    assert [each.name for each in Path("to").iterdir()] == ["a.cassette.json"]


@pytest.mark.row("C-37")
def test_a_cassette_has_the_name_that_the_pytest_plugin_looks_for(wire: Command) -> None:
    put("a/test_tide/test_it.yaml")
    put("a/test_tide/TestA.test_it[Brest].yaml")
    assert wire("cassette", "convert", "a", "a", "--for-pytest").status == 0
    path = Path("a/test_tide.py")
    wanted = ["test_tide.py::test_it", "test_tide.py::TestA::test_it[Brest]"]
    names = {cassette_path(path, each).name for each in wanted}
    assert {each.name for each in Path("a/test_tide").glob("*.json")} == names
    refused = wire("cassette", "convert", "a", "b", "--for-pytest", "--to", "har")
    assert refused.status == 2
    assert "--for-pytest names cassettes, and --to har writes none" in refused.err


@pytest.mark.row("C-37")
def test_a_folder_is_converted_file_by_file(wire: Command) -> None:
    put("in/a.yaml")
    put("in/deep/b.json", vcrpy_json(ONE))
    put("in/deep/c.har", har(ONE))
    put("in/package.json", b'{"name": "x"}')
    put("in/notes.txt", b"no recording")
    put("in/done.cassette.json", b'{"wire_cassette": 1, "interactions": []}')
    put("in/bad.yaml", b"interactions: !!python/name:os.system\n")
    said = wire("cassette", "convert", "in", "out")
    assert said.status == 1
    assert said.err == ""
    assert said.out.splitlines()[-2:] == [
        "nothing to convert: done.cassette.json, package.json",
        "3 files converted, 1 refused: bad.yaml, line 1: $.interactions: the tag "
        "!!python/name:os.system is refused: only texts, !!binary, lists and mappings are read",
    ]
    written = sorted(str(each) for each in Path("out").rglob("*.*"))
    assert written == [f"out/{name}.cassette.json" for name in ("a", "deep/b", "deep/c")]
    assert {body_in(each) for each in written} == {ONE[0].received}


@pytest.mark.row("C-37")
def test_as_json(wire: Command) -> None:
    put("in/a.yaml")
    put("in/b.yaml", b"interactions: 1\n")
    assert wire("cassette", "convert", "in", "out", "--json").json == {
        "files": [
            {
                "source": "a.yaml",
                "format": "vcr",
                "target": "out/a.cassette.json",
                "interactions": 1,
                "notes": [each.strip() for each in LOST.splitlines()],
            },
            {
                "source": "b.yaml",
                "refused": "b.yaml, line 1: $.interactions: expected a list, not str",
            },
        ]
    }


@pytest.mark.row("C-37")
def test_no_file_is_replaced_unless_asked_for(wire: Command) -> None:
    put("a.yaml")
    put("a.cassette.json", b"old")
    assert wire("cassette", "convert", "a.yaml", "a.cassette.json") == (
        2,
        "",
        "wire cassette: a.yaml: a.cassette.json exists; --overwrite replaces it\n",
    )
    assert Path("a.cassette.json").read_bytes() == b"old"
    assert wire("cassette", "convert", "a.yaml", "a.cassette.json", "--overwrite").status == 0
    assert body_in("a.cassette.json") == ONE[0].received


@pytest.mark.row("C-37")
def test_two_files_never_become_one(wire: Command) -> None:
    put("in/a.yaml")
    put("in/a.yml")
    said = wire("cassette", "convert", "in", "out", "--overwrite")
    assert said.status == 1
    assert said.out.endswith(
        "1 file converted, 1 refused: a.yml: a.yaml is converted to the same file\n"
    )


@pytest.mark.row("C-37")
def test_a_symlink_does_not_lead_out_of_the_folder(wire: Command) -> None:
    put("secret.yaml")
    put("in/a.yaml")
    Path("in/b.yaml").symlink_to(Path("secret.yaml").resolve())
    said = wire("cassette", "convert", "in", "out")
    assert said.out.endswith("1 refused: b.yaml: a symlink that leads out of in\n")
    assert [each.name for each in Path("out").iterdir()] == ["a.cassette.json"]


@pytest.mark.row("C-37")
def test_a_file_with_a_secret_is_not_written(
    wire: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MADE_UP_API_KEY", SECRET)
    put("a.yaml", vcrpy([Recorded(b"{}", f"echo {SECRET}".encode(), "text/plain")]))
    assert wire("cassette", "convert", "a.yaml", "b.json") == (
        2,
        "",
        "wire cassette: a.yaml: not converted, because it contains a secret: environment variable "
        "MADE_UP_API_KEY is in the response's body (interactions[0])\n",
    )
    assert not Path("b.json").exists()


@pytest.mark.row("C-37")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("none.yaml", "b"), "none.yaml: cannot be read: No such file or directory"),
        (("a.yaml", "b", "--to", "vcr"), "a.yaml: it has the format 'vcr' already"),
        (("empty", "b"), "empty: no file ends with .yaml, .yml, .json, .har"),
        (("empty", "a.yaml"), "a.yaml: expected a folder, as empty is one"),
    ],
)
def test_bad_input(wire: Command, arguments: tuple[str, ...], reason: str) -> None:
    put("a.yaml")
    Path("empty").mkdir()
    assert wire("cassette", "convert", *arguments) == (2, "", f"wire cassette: {reason}\n")
