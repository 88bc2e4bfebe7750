"""C-15: `scan` finds secrets by their form in each kind of file, and nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.joined import joined
from tests.testing.cassette.planted import planted, value_of
from wire.errors import ConfigurationError
from wire.testing.cassette.checks.scan import Hit, allowed_of, scan
from wire.testing.cassette.format.bodies import read_body
from wire.testing.cassette.format.file import dump
from wire.testing.cassette.format.structs import Interaction, Request, Response

ROOT = Path(__file__).parents[3]
KINDS = planted()


def hit(line: int, kind: str, value: str, path: str = "") -> Hit:
    return Hit(line, kind, path, (hashlib.sha256(value.encode()).hexdigest(),))


def _cassette(body: bytes, content_type: str = "application/json") -> str:
    request = Request(method="POST", url="https://llm.example/v1", body=read_body(b'{"a": 1}'))
    response = Response(status=200, body=read_body(body, content_type), end="eof")
    return dump([Interaction(request=request, response=response)])


def _events(secret: str) -> bytes:
    """A stream that brings the secret in two pieces."""
    middle = len(secret) // 2
    pieces = ("see ", secret[:middle], secret[middle:], " there")
    chunks = ({"delta": {"text": piece}} for piece in pieces)
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def _escaped(secret: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in secret)


def _vcr(string: str) -> str:
    return (
        "interactions:\n- request:\n    body: '{\"a\": 1}'\n    headers: {}\n    method: POST\n"
        f"    uri: https://llm.example/v1\n  response:\n    body:\n      string: {string}\n"
        "    status: {code: 200, message: OK}\nversion: 1\n"
    )


def _folded(secret: str) -> str:
    """A double-quoted text of YAML, which goes on in the next line at any letter."""
    text = json.dumps(secret)
    return f"{text[:12]}\\\n        {text[12:]}"


def _binary(data: bytes) -> str:
    lines = re.findall(".{1,70}", base64.b64encode(data).decode())
    return "!!binary |\n" + "\n".join(f"        {line}" for line in lines)


def _har(text: str) -> str:
    entry = {
        "request": {"method": "POST", "url": "https://llm.example/v1", "headers": []},
        "response": {"status": 200, "content": {"mimeType": "text/plain", "text": text}},
    }
    return json.dumps({"log": {"version": "1.2", "entries": [entry]}})


PLACES: dict[str, Callable[[str], str]] = {
    "a cassette: JSON": lambda secret: _cassette(json.dumps({"echo": [secret]}).encode()),
    "a cassette: escapes": lambda secret: _cassette(
        f'{{"echo": "see {_escaped(secret)}"}}'.encode()
    ),
    "a cassette: two events": lambda secret: _cassette(_events(secret), "text/event-stream"),
    "a cassette: lines of text": lambda secret: _cassette(f"<p>\n{secret}\n</p>".encode()),
    "a cassette: bytes": lambda secret: _cassette(b"\xff " + secret.encode() + b" \xff" * 60),
    "VCR YAML: text": lambda secret: _vcr(json.dumps(json.dumps({"echo": secret}))),
    "VCR YAML: text over lines": lambda secret: _vcr(_folded(secret)),
    "VCR YAML: gzip": lambda secret: _vcr(_binary(gzip.compress(secret.encode()))),
    "VCR YAML: two events": lambda secret: _vcr(
        "|\n" + "".join(f"        {line}\n" for line in _events(secret).decode().splitlines())
    ),
    "HAR: text": _har,
    "HAR: two events": lambda secret: _har(_events(secret).decode()),
    "HAR: base64": lambda secret: _har(base64.b64encode(f"see {secret}".encode()).decode()),
    "text": lambda secret: f"first line\n{secret}\n",
}


@pytest.mark.row("C-15")
@joined("place", PLACES)
def test_twelve_kinds_are_found_in_each_place(place: str):
    found = {
        kind: {hit.kind.removesuffix(", in base64") for hit in scan(PLACES[place](text))}
        for kind, text in KINDS.items()
    }
    assert len(found) == 12
    half = {"key of a known vendor"}  # as the first of two pieces looks
    assert {kind: hits - half for kind, hits in found.items()} == {
        kind: {kind.removesuffix(", in base64")} for kind in KINDS
    }


@pytest.mark.row("C-15")
def test_twelve_kinds_are_found_for_each_seed():
    """Whatever letters a secret has."""
    for seed in range(40):
        for kind, text in planted(seed).items():
            assert [hit.kind for hit in scan(f"({text})")] == [kind], seed


@pytest.mark.row("C-15")
def test_a_hit_has_line_and_path_and_no_value():
    secret = KINDS["Anthropic key"]
    text = _cassette(json.dumps({"echo": {"keys": [secret]}}).encode())
    line = next(number for number, each in enumerate(text.split("\n"), 1) if secret in each)
    path = "$.interactions[0].response.body.json.echo.keys[0]"
    assert scan(text) == [hit(line, "Anthropic key", secret, path)]
    assert str(scan(text)[0]) == f"{line}: Anthropic key, {path}"


@pytest.mark.row("C-15")
def test_values_of_headers_have_names():
    """A key without a known form is told by the name of its header or parameter."""
    value = value_of(KINDS["cookie"])
    har = json.loads(_har(""))
    request = har["log"]["entries"][0]["request"]
    request["headers"] = [{"name": "X-Api-Key", "value": value}]
    request["cookies"] = [{"name": "session", "value": value}]
    request["queryString"] = [{"name": "key", "value": value}]
    assert [each[1:3] for each in scan(json.dumps(har))] == [
        ("cookie", "$.log.entries[0].request.cookies[0].value"),
        ("key in a URL", "$.log.entries[0].request.queryString[0].value"),
        ("key in a header", "$.log.entries[0].request.headers[0].value"),
    ]
    yaml = (
        f"    headers:\n      Cookie:\n      - session={value}\n      x-api-key:\n      - {value}\n"
    )
    assert [each[:2] for each in scan(yaml)] == [(2, "cookie"), (4, "key in a header")]
    assert scan(f"https://me:{value}@host/v1") == [hit(1, "password in a URL", value)]


@pytest.mark.row("C-15")
@joined(
    "text",
    [
        "sk-" + "proj-fake-0123456789abcdefghij",
        "Authorization: Bearer ***",
        "x-api-key: <YOUR_API_KEY_OF_32_CHARACTERS>",
        "https://host/v1?alt=sse&key=***",
        "AKIAIOSFODNN7EXAMPLE",
        "Cookie: session=REDACTED-1234567; theme=dark",
        "Basic understanding of tokens in 24 lessons",
        "a bearer of 1234 good news",
        "the task" + "-force-of-twenty-four-people-2024",
        '{"nextPageToken": "eyJhIjoxLCJiIjoyLCJjIjozfQ", "thoughtSignature": "CqQBAVSoXO7kz1"}',
        "AIza" + "0" * 35,
        "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 40).decode(),
    ],
)
def test_what_is_masked_or_no_key_is_not_told(text: str):
    assert scan(text) == []


RIGHT_ALARMS = {
    "credential_forms.json": "the example of a private key is the line that all of them begin with",
    "sigv4.json": "a token of the vectors that AWS has published",
}
"""Files of this project in which a scan has to find something, and what."""


@pytest.mark.row("C-15")
@pytest.mark.parametrize(
    "folder",
    [
        "docs/guide",
        "examples",
        "tests/fixtures/cassettes",
        "tests/fixtures/openai/providers",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("docs", "tests/fixtures", "wire", "bench")
        ),
    ],
)
def test_no_false_alarm_in_this_project(folder: str):
    """Recordings of all wires, pages, examples, the library."""
    kinds = (".md", ".json", ".jsonl", ".py", ".sse")
    files = [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in kinds]
    assert len(files) > 5
    found = {path.name: hits for path in files if (hits := scan(path.read_text("utf-8")))}
    alarms = {path.name for path in files} & RIGHT_ALARMS.keys()
    assert set(found) == alarms


@pytest.mark.row("C-15")
def test_the_command_fails_on_a_hit_and_prints_no_value(wire: Command, tmp_path: Path):
    secret = KINDS["GitHub token"]
    (tmp_path / "good.json").write_text(_cassette(b'{"a": "sk-fake-1234"}'), "utf-8")
    assert wire("cassette", "scan", ".")[:2] == (0, "no secret in 1 file\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "bad.yaml").write_text(_vcr(f"'{secret}'"), "utf-8")
    (tmp_path / "deep" / "side").write_bytes(b"\xff\xfe" + KINDS["JWT"].encode())
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(secret, "utf-8")
    said = wire("cassette", "scan", ".", "deep/bad.yaml")
    assert said == (1, "deep/bad.yaml:9: GitHub token\ndeep/side:1: JWT\n", "")
    allow = f"GitHub token:{hashlib.sha256(secret.encode()).hexdigest()[:12]}"
    assert wire("cassette", "scan", "--json", "deep/bad.yaml").json == {
        "files": 1,
        "secrets": [
            {
                "file": "deep/bad.yaml",
                "line": 9,
                "kind": "GitHub token",
                "path": "",
                "allow": [allow],
            },
        ],
    }
    missing = wire("cassette", "scan", "nowhere")
    assert (missing.status, missing.err) == (
        2,
        "wire cassette: nowhere: no such file or folder\n",
    )


@pytest.mark.row("C-15")
@pytest.mark.parametrize("kind", ["cookie", "key in a URL"])
def test_a_placeholder_beside_a_secret_does_not_hide_it(kind: str):
    value = value_of(KINDS[kind])
    text = {
        "cookie": f"Cookie: other=fake-value; session={value}",
        "key in a URL": f"https://your-host.example/v1?secret_key={value}&key=fake",
    }[kind]
    assert [each[:2] for each in scan(text)] == [(1, kind)]


@pytest.mark.row("C-15")
def test_an_allowed_value_is_no_hit_and_others_stay():
    value, other = (planted(seed)["GitHub token"] for seed in (7, 8))
    digest = hashlib.sha256(value.encode()).hexdigest()
    text = f'{{"a": ["{value}"], "b": "see {value}"}}'
    allowed = [allowed_of(f"GitHub token:{digest[:8]}")]
    assert len(scan(text)) == 2
    assert scan(text, allowed) == []
    for others in (f"JWT:{digest}", f"GitHub token:{digest[1:9]}"):
        assert len(scan(text, [allowed_of(others)])) == 2
    # A second secret at the place of an allowed one is seen.
    assert scan(f"{value} {other}", allowed) == [hit(1, "GitHub token", other)]
    assert digest in scan(f"{value} {other}")[0].digests


@pytest.mark.row("C-15")
@joined("kind", KINDS)
def test_each_kind_can_be_allowed_where_it_is_found(kind: str):
    for place in PLACES:
        text = PLACES[place](KINDS[kind])
        allowed = [
            allowed_of(f"{each.kind}:{digest}") for each in scan(text) for digest in each.digests
        ]
        assert scan(text, allowed) == []
        assert scan(PLACES[place](planted(8)[kind]), allowed) != []


@pytest.mark.row("C-15")
@joined(
    ("text", "problem"),
    [
        (
            "GitHub tokens:3f2a91c04b7d",
            "expected KIND:DIGITS, as `wire cassette scan --json` shows them",
        ),
        ("3f2a91c04b7d", "expected KIND:DIGITS, as"),
        ("JWT:3f2a91c", "JWT: expected 8 to 64 hexadecimal digits of the SHA-256 of the value"),
        ("JWT:3F2A91C04B7D", "JWT: expected 8 to 64 hexadecimal digits"),
    ],
)
def test_a_malformed_exception_is_an_error(text: str, problem: str):
    with pytest.raises(ConfigurationError) as raised:
        allowed_of(text)
    assert raised.value.message.startswith(f"allow: {problem}")


@pytest.mark.row("C-15")
def test_the_command_takes_exceptions_of_its_option_and_of_the_project(
    wire: Command, tmp_path: Path
):
    (tmp_path / "a.txt").write_text(KINDS["JWT"], "utf-8")
    (tmp_path / "b.txt").write_text(KINDS["GitHub token"], "utf-8")
    found = wire("cassette", "scan", "--json", "a.txt", "b.txt").json["secrets"]
    [first], [second] = (each["allow"] for each in found)
    assert wire("cassette", "scan", "a.txt", "--allow", first).status == 0
    assert wire("cassette", "scan", "a.txt", "b.txt", "--allow", first).out == (
        "b.txt:1: GitHub token\n"
    )
    project = tmp_path / "pyproject.toml"
    project.write_text(f"[tool.wire.cassette]\nallow = ['{second}']\n", "utf-8")
    assert wire("cassette", "scan", "a.txt", "b.txt", "--allow", first).status == 0
    assert wire("cassette", "scan", "a.txt", "b.txt").status == 1
    cassette = tmp_path / "x.json"
    cassette.write_text(_cassette(json.dumps({"a": KINDS["GitHub token"]}).encode()), "utf-8")
    assert wire("cassette", "check", "x.json").status == 0
    project.unlink()
    assert wire("cassette", "check", "x.json").status == 1
    assert wire("cassette", "check", "x.json", "--allow", second).status == 0
    for text, problem in (
        ("[tool.wire.cassette]\nallow = 'x'", "tool.wire.cassette.allow: expected a list of texts"),
        ("[tool.wire.cassette]\nallow = ['x']", "--allow: expected KIND:DIGITS, as"),
        ("[tool", "not TOML: "),
    ):
        project.write_text(text, "utf-8")
        said = wire("cassette", "scan", "a.txt")
        assert said.status == 2
        assert problem in said.err
