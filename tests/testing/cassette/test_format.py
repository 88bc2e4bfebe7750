"""C-27, C-29 and files that are wrong: what a cassette looks like, how small its diffs are, what is
said of a bad one.
"""

from __future__ import annotations

import copy
import difflib
import json
import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from tests.property import ALL, sample
from tests.testing.cassette.json_schema import faults
from tests.testing.cassette.samples import BODIES, STREAMS
from tests.testing.cassette.ways import Way
from wire.errors import CassetteError
from wire.testing.cassette.format.bodies import body_bytes, read_body
from wire.testing.cassette.format.file import assembled, block, dump, load
from wire.testing.cassette.format.structs import Interaction, Request, Response

ROOT = Path(__file__).parents[3]
FIXTURES = sorted((ROOT / "tests" / "fixtures" / "cassettes").glob("*.cassette.json"))
CALLS = [path for path in FIXTURES if path.name != "session.cassette.json"]
"""Those without a session, which `test_sessions.py` plays."""
SCHEMA = json.loads((ROOT / "schemas" / "cassette.schema.json").read_text("utf-8"))

URL = "https://llm.example/v1/generate"


def interaction(sent: Any, received: bytes, content_type: str = "text/event-stream") -> Interaction:
    return Interaction(
        request=Request(
            method="POST",
            url=URL,
            headers={"content-type": "application/json"},
            body=read_body(json.dumps(sent).encode()),
        ),
        response=Response(
            status=200,
            headers={"content-type": content_type},
            body=read_body(received, content_type),
            end="eof",
        ),
    )


SENT: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "Hi"}, {"role": "user", "content": "There"}],
    "n": 1,
}
EVENTS = ['{"text":"a","index":0}', '{"text":"b","index":1}', '{"text":"c","index":2}', "[DONE]"]


def stream(events: list[str]) -> bytes:
    return "".join(f"data: {event}\n\n" for event in events).encode()


def changed(before: list[Interaction], after: list[Interaction]) -> tuple[int, int]:
    """Lines that a diff of the two cassettes takes out and puts in."""
    lines = list(
        difflib.unified_diff(dump(before).splitlines(), dump(after).splitlines(), n=0, lineterm="")
    )[2:]
    return sum(line.startswith("-") for line in lines), sum(line.startswith("+") for line in lines)


# --- the text -------------------------------------------------------------------------------------


@pytest.mark.row("C-27")
def test_what_it_looks_like():
    assert dump([interaction({"model": "m", "text": "Grüße"}, b'data: {"text":"a"}\n\n')]) == (
        """\
{
  "wire_cassette": 1,
  "interactions": [
    {
      "request": {
        "method": "POST",
        "url": "https://llm.example/v1/generate",
        "headers": {
          "content-type": "application/json"
        },
        "body": {
          "layout": "spaced",
          "escapes": "ascii",
          "json": {
            "model": "m",
            "text": "Grüße"
          }
        }
      },
      "response": {
        "status": 200,
        "headers": {
          "content-type": "text/event-stream"
        },
        "body": {
          "framing": "lf",
          "layout": "compact",
          "events": [
            {
              "json": {
                "text": "a"
              }
            }
          ]
        },
        "end": "eof"
      }
    }
  ]
}
"""
    )


@pytest.mark.row("C-27")
def test_no_interactions():
    assert dump([]) == '{\n  "wire_cassette": 1,\n  "interactions": []\n}\n'


BASE = [
    interaction(SENT, stream(EVENTS)),
    interaction({"other": 1}, b'{"a": 1, "b": 2}', "application/json"),
]


def _sent(**change: Any) -> list[Interaction]:
    return [interaction({**SENT, **change}, stream(EVENTS)), BASE[1]]


def _got(events: list[str]) -> list[Interaction]:
    return [interaction(SENT, stream(events)), BASE[1]]


ADDED = '{"text":"x","index":9}'
_EVENT_LINES = 6  # the brackets of the event and of its object, and two fields
GOLDEN: dict[str, tuple[list[Interaction], tuple[int, int]]] = {
    "a prompt": (_sent(messages=[{"role": "user", "content": "Ho"}, SENT["messages"][1]]), (1, 1)),
    "a number": (_sent(n=2), (1, 1)),
    "a message more": (
        _sent(messages=[*SENT["messages"], {"role": "user", "content": "?"}]),
        (0, 4),
    ),
    "an event more": (_got([EVENTS[0], ADDED, *EVENTS[1:]]), (0, _EVENT_LINES)),
    "an event more at the end": (_got([*EVENTS, ADDED]), (0, _EVENT_LINES)),
    "an event less": (_got([*EVENTS[:1], *EVENTS[2:]]), (_EVENT_LINES, 0)),
    "a field of an event": (_got([EVENTS[0].replace('"a"', '"z"'), *EVENTS[1:]]), (1, 1)),
    "an interaction less": (BASE[:1], (29, 0)),
}


@pytest.mark.row("C-27")
@joined("edit", GOLDEN)
def test_diffs_are_small(edit: str):
    after, lines = GOLDEN[edit]
    assert changed(BASE, after) == lines


@pytest.mark.row("C-27")
def test_order_of_keys_is_that_of_the_provider():
    for sent in ({"b": 1, "a": 2}, {"a": 2, "b": 1}):
        text = dump([interaction(sent, b"")])
        assert list(json.loads(text)["interactions"][0]["request"]["body"]["json"]) == list(sent)


@pytest.mark.row("C-27")
@joined("data", [*STREAMS.values(), *BODIES.values()], ids=[*STREAMS, *BODIES])
def test_text_utf8_lf_final_newline(data: bytes):
    text = dump([interaction({"é": "\u2028"}, data)])
    assert text.endswith("}\n")
    assert not text.endswith("\n\n")
    assert "\r" not in text
    assert len(text.splitlines()) == text.count("\n"), (
        "no letter that some editors take for a line end"
    )
    assert all(line == line.rstrip() for line in text.split("\n"))


EDITS: dict[str, tuple[Callable[[str], str], bytes]] = {
    "a text": (
        lambda text: text.replace('"text": "b"', '"text": "Grüße <b>"'),
        stream([EVENTS[0], '{"text":"Grüße <b>","index":1}', *EVENTS[2:]]),
    ),
    "indentation": (
        lambda text: "\n".join(line.strip() for line in text.split("\n")),
        stream(EVENTS),
    ),
    "line ends of Windows, a byte order mark": (
        lambda text: "\ufeff" + text.replace("\n", "\r\n"),
        stream(EVENTS),
    ),
    "an event taken out": (
        lambda text: json.dumps(_without_event(json.loads(text))),
        stream([EVENTS[0], *EVENTS[2:]]),
    ),
    "events in another order": (
        lambda text: json.dumps(_reordered(json.loads(text))),
        stream([*EVENTS[1:], EVENTS[0]]),
    ),
    "an event more": (
        lambda text: text.replace('"events": [', '"events": [{"data": "new"},'),
        stream(["new", *EVENTS]),
    ),
    "keys in another order": (
        lambda text: json.dumps(_backwards(json.loads(text))),
        stream(EVENTS),
    ),
    "another style": (
        lambda text: text.replace('"layout": "compact"', '"layout": "spaced"'),
        stream([event.replace(":", ": ").replace(",", ", ") for event in EVENTS]),
    ),
}


def _without_event(cassette: Any) -> Any:
    del cassette["interactions"][0]["response"]["body"]["events"][1]
    return cassette


def _reordered(cassette: Any) -> Any:
    events = cassette["interactions"][0]["response"]["body"]["events"]
    events.append(events.pop(0))
    return cassette


def _backwards(value: Any) -> Any:
    """The keys of the cassette itself from the last to the first; those of a body have an order."""
    if isinstance(value, dict):
        return {
            key: item if key == "json" else _backwards(item)
            for key, item in reversed(value.items())
        }
    return [_backwards(item) for item in value] if isinstance(value, list) else value


@pytest.mark.row("C-28")
@joined("edit", EDITS)
def test_a_cassette_can_be_edited_by_hand(edit: str):
    change, wanted = EDITS[edit]
    loaded = load(change(dump(BASE[:1])).encode(), "x").interactions[0]
    assert body_bytes(loaded.response.body) == wanted


@pytest.mark.row("C-28")
def test_interactions_can_be_reordered_copied_and_taken_out():
    texts = [json.loads(dump([each]))["interactions"][0] for each in BASE]
    for chosen in ([1, 0], [0, 0, 1], [1], []):
        text = json.dumps({"wire_cassette": 1, "interactions": [texts[each] for each in chosen]})
        loaded = load(text.encode(), "x").interactions
        assert dump(loaded) == dump([BASE[each] for each in chosen])


@pytest.mark.row("C-06")
def test_times_stand_in_one_line_of_their_own():
    base = [msgspec.structs.replace(BASE[0].response, times=times) for times in ([0, 41], [0, 40])]
    texts = [dump([Interaction(request=BASE[0].request, response=each)]) for each in base]
    assert '        "times": [0, 41],\n' in texts[0]
    diff = difflib.unified_diff(texts[0].splitlines(), texts[1].splitlines(), n=0, lineterm="")
    assert len(list(diff)[2:]) == 3
    assert load(texts[0].encode(), "x").interactions[0].response.times == [0, 41]


@pytest.mark.row("C-06")
def test_a_body_with_a_key_times_stays_as_it_is():
    data = b'{"times": [1, 2], "a": {"times": []}, "chunks": [3, 4]}'
    [loaded] = load(dump([interaction({}, data)]).encode(), "x").interactions
    assert body_bytes(loaded.response.body) == data


# --- the schema -----------------------------------------------------------------------------------


def test_there_are_fixtures():
    assert [path.name.removesuffix(".cassette.json") for path in FIXTURES] == [
        "anthropic_stream",
        "closed_early",
        "every_form",
        "gemini_answer",
        "gemini_errors",
        "gemini_stream",
        "openai_stream",
        "session",
        "side_files",
    ]


@pytest.mark.row("C-29")
@joined("path", FIXTURES, ids=lambda path: path.name)
def test_every_fixture_keeps_to_the_schema_and_is_written_as_it_is(path: Path):
    text = path.read_text("utf-8")
    assert list(faults(json.loads(text), SCHEMA, SCHEMA)) == []
    interactions = load(path.read_bytes(), str(path)).interactions
    assert assembled(block(each).text for each in interactions) == text
    beside = path.with_name(path.name + ".files")
    files = {digest for each in interactions for digest in block(each).files}
    assert {each.name for each in beside.glob("*")} == files


@pytest.mark.row("C-29")
@joined("path", CALLS, ids=lambda path: path.name)
def test_every_fixture_is_played(way: Way, path: Path):
    interactions = load(path.read_bytes(), str(path)).interactions
    requests = [
        {
            "method": each.request.method,
            "url": each.request.url,
            "content": body_bytes(each.request.body),
            "headers": each.request.headers,
        }
        for each in interactions
    ]
    got = way.gets(way.replay(path), requests)
    assert [each.status for each in got] == [each.response.status for each in interactions]
    assert [each.body for each in got] == [body_bytes(each.response.body) for each in interactions]
    assert [each.error is None for each in got] == [
        each.response.end == "eof" for each in interactions
    ]


def _mutants(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place of a cassette outside the providers' JSON, each with values of types that do not
    belong there.
    """
    kinds = {dict: [], list: {}, str: 7, int: "x", bool: 7}
    if path:
        yield path, kinds[type(value)]
        yield path, None
        if not isinstance(value, bool):
            yield path, True
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for step, item in items:
        if step != "json":
            yield from _mutants(item, (*path, step))
    if isinstance(value, dict):
        yield (*path, "unknown-key"), 5


@pytest.mark.row("C-29")
@pytest.mark.sampled
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name)
def test_each_field_of_another_type_is_refused_by_structs_and_schema(path: Path):
    whole = json.loads(path.read_text("utf-8"))
    count = 0
    for place, wrong in sample(list(_mutants(whole)), 6):
        mutant = copy.deepcopy(whole)
        inside = mutant
        for step in place[:-1]:
            inside = inside[step]
        inside[place[-1]] = wrong
        text = json.dumps(mutant, indent=2, ensure_ascii=False)
        assert list(faults(mutant, SCHEMA, SCHEMA)), (place, wrong)
        with pytest.raises(CassetteError) as caught:
            load(text.encode(), path.name)
        line = int(str(caught.value).partition("line ")[2].partition(":")[0])
        key = place[-1] if isinstance(place[-1], str) else json.dumps(wrong)
        assert json.dumps(key) in text.split("\n")[line - 1] or key in text.split("\n")[line - 1], (
            place,
            wrong,
            str(caught.value),
        )
        count += 1
    assert count > (15 if ALL else 5)


@pytest.mark.row("C-29")
@joined("path", FIXTURES, ids=lambda path: path.name)
def test_each_needed_key_is_missed_by_structs_and_schema(path: Path):
    whole = json.loads(path.read_text("utf-8"))
    for outer, name in (
        ((), "wire_cassette"),
        (("interactions", 0), "request"),
        (("interactions", 0, "response"), "end"),
    ):
        mutant = copy.deepcopy(whole)
        inside = mutant
        for step in outer:
            inside = inside[step]
        del inside[name]
        assert [
            fault
            for fault in faults(mutant, SCHEMA, SCHEMA)
            if fault.endswith(f".{name}: required")
        ] != []
        with pytest.raises(CassetteError, match=f"missing required field `{name}`"):
            load(json.dumps(mutant).encode(), path.name)


@pytest.mark.row("C-29")
def test_what_the_writer_makes_keeps_to_the_schema():
    dice = random.Random(29)
    pieces = [
        *STREAMS.values(),
        *BODIES.values(),
        b"\xff\n\n",
        b"data: \r\n",
        b": note\n\n",
        b"event: a\ndata: b\n\n",
        b"data: a\rb\n\n",
        b"\n",
    ]
    for _ in range(500):
        data = b"".join(dice.choices(pieces, k=dice.randrange(4)))
        made = json.loads(dump([interaction({}, data, dice.choice(["", "text/event-stream"]))]))
        assert list(faults(made, SCHEMA, SCHEMA)) == []


# --- files that are wrong -------------------------------------------------------------------------

_START = (
    '{\n"wire_cassette": 1,\n"interactions": [\n{\n"request": {"method": "POST",\n"url": '
    '"https://h"},\n"response": {\n'
)
_END = "}}]}"
WRONG: dict[str, tuple[str | bytes, str]] = {
    "nothing": ("", "line 1: not JSON: Expecting value, column 1"),
    "broken": (
        '{\n"wire_cassette": 1,\n"interactions": [}',
        "line 3: not JSON: Expecting value, column 18",
    ),
    "cut": (
        '{\n"wire_cassette": 1,',
        "line 2: not JSON: Expecting property name enclosed in double quotes, column 20",
    ),
    "not UTF-8": (b'{\n"wire_cassette": \xff}', "line 2: byte 0xff is not UTF-8"),
    "a list": ("[]", "line 1: $: expected `object`, got `array`"),
    "another version": (
        '{\n"wire_cassette": 2, "new": 1}',
        "line 2: $.wire_cassette: version 2 is unknown; this release reads version 1",
    ),
    "no version": (
        '{"interactions": []}',
        "line 1: $: object missing required field `wire_cassette`",
    ),
    "version in words": (
        '{"wire_cassette": "1"}',
        "line 1: $.wire_cassette: expected `int`, got `str`",
    ),
    "unknown key": (
        _START + '"status": 200,\n"end": "eof",\n"ended": 1' + _END,
        "line 10: $.interactions[0].response: object contains unknown field `ended`",
    ),
    "wrong type": (
        _START + '"end": "eof",\n"status": "200"' + _END,
        "line 9: $.interactions[0].response.status: expected `int`, got `str`",
    ),
    "no status": (
        _START + '"end": "eof",\n"status": 7' + _END,
        "line 9: $.interactions[0].response.status: expected `int` >= 100",
    ),
    "unknown end": (
        _START + '"status": 200,\n"end": "well"' + _END,
        "line 9: $.interactions[0].response.end: invalid enum value 'well'",
    ),
    "header": (
        _START + '"status": 200, "end": "eof", "headers": {\n"a": "b",\n"retry-after":\n3}' + _END,
        'line 10: $.interactions[0].response.headers["retry-after"]: expected `str`, got `int`',
    ),
    "two forms": (
        _START + '"status": 200, "end": "eof",\n"body": {"json": 1,\n"text": []}' + _END,
        "line 9: $.interactions[0].response.body: expected exactly one of json, events, text, "
        "base64, file, not json and text",
    ),
    "no form": (
        _START + '"status": 200, "end": "eof",\n"body": {}' + _END,
        "line 9: $.interactions[0].response.body: expected exactly one of json, events, text, "
        "base64, file, not none",
    ),
    "an event of no form": (
        _START
        + '"status": 200, "end": "eof", "body": {"events": [{"data": "a"},\n{"event": "x"}]}'
        + _END,
        "line 9: $.interactions[0].response.body.events[1]: expected exactly one of json, data, "
        "comment, text, base64, not none",
    ),
    "fields beside a text": (
        _START
        + '"status": 200, "end": "eof", "body": {"events": [\n{"event": "x", "text": ["data: a"]}]}'
        + _END,
        "line 9: $.interactions[0].response.body.events[0]: event, id and retry are "
        "allowed with json or data only, not with text",
    ),
    "a line end in a field": (
        _START + '"status": 200, "end": "eof", "body": {"events": [\n{"data": "a\\n"}]}' + _END,
        "line 9: $.interactions[0].response.body.events[0]: a field of an event "
        "cannot contain a line end; use text",
    ),
    "line ends of a text": (
        _START
        + '"status": 200, "end": "eof", "body": {"events": [\n{"text": ["a"], "end": ""}]}'
        + _END,
        "line 9: $.interactions[0].response.body.events[0]: before and end are not allowed "
        "with text, which has all bytes",
    ),
    "an end that is no line end": (
        _START
        + '"status": 200, "end": "eof", "body": {"events": [\n{"data": "a", "end": "x"}]}'
        + _END,
        "line 9: $.interactions[0].response.body.events[0].end: expected `str` matching regex "
        "'^[\\\\r\\\\n]*$'",
    ),
    "a kind outside of events": (
        _START
        + '"status": 200, "end": "eof", "body": {"events": [\n'
        + '{"event": "x", "outside": true, "json": {}}]}'
        + _END,
        "line 9: $.interactions[0].response.body.events[0]: outside is allowed with json only, "
        "without event, id and retry",
    ),
    "an event of many lines": (
        _START
        + '"status": 200, "end": "eof", "body": {"events": [\n{"layout": "tabs", "json": {}}]}'
        + _END,
        "line 9: $.interactions[0].response.body.events[0]: layout: expected a layout on one line "
        "for an event, not 'tabs'",
    ),
    "a layout of many lines": (
        _START
        + '"status": 200, "end": "eof", "body": {\n"layout": "indent 2", "events": []}'
        + _END,
        "line 8: $.interactions[0].response.body: layout: expected a layout on one line "
        "for events, not 'indent 2'",
    ),
    "no base64": (
        _START + '"status": 200, "end": "eof",\n"body": {"base64": ["a"]}' + _END,
        "line 9: $.interactions[0].response.body: base64: Invalid base64-encoded string: "
        "number of data characters (1) "
        "cannot be 1 more than a multiple of 4",
    ),
    "base64 beyond ASCII": (
        _START + '"status": 200, "end": "eof",\n"body": {"base64": ["é"]}' + _END,
        "line 9: $.interactions[0].response.body: base64: string argument should contain "
        "only ASCII characters",
    ),
    "half a pair": (
        _START + '"status": 200, "end": "eof",\n"body": {"json": "\\ud800"}' + _END,
        "line 9: not JSON: JSON is malformed: unexpected end of hex escape",
    ),
    "a key twice": (
        _START + '"status": 200,\n"end": "eof",\n"status": 500' + _END,
        'line 10: the key "status" occurs twice in one object',
    ),
    "a header twice": (
        _START + '"status": 200, "end": "eof", "headers": {"a": "b",\n"\\u0061": "c"}' + _END,
        'line 9: the key "\\u0061" occurs twice in one object',
    ),
    "times": (
        _START + '"status": 200, "end": "eof",\n"times": [1, 2.5]' + _END,
        "line 9: $.interactions[0].response.times[1]: expected `int`, got `float`",
    ),
    "a negative time": (
        _START + '"status": 200, "end": "eof",\n"times": [-1]' + _END,
        "line 9: $.interactions[0].response.times[0]: expected `int` >= 0",
    ),
    "not UTF-8 in a body": (
        (_START + '"status": 200, "end": "eof",\n"body": {"json": ["').encode() + b'\xff"]}}}]}',
        "line 9: byte 0xff is not UTF-8",
    ),
    "not a number in a body": (
        _START + '"status": 200, "end": "eof",\n"body": {"json": [\nNaN]}' + _END,
        "line 10: not JSON: JSON is malformed: invalid character",
    ),
    "too deep in a body": (
        _START
        + '"status": 200, "end": "eof",\n"body": {"json": '
        + "[" * 100_000
        + "]" * 100_000
        + "}"
        + _END,
        "nested too deeply",
    ),
    "not a number": (
        _START + '"status": NaN' + _END,
        "line 8: not JSON: JSON is malformed: invalid character",
    ),
    "brackets alone": ("[" * 100_000, "line 1: $: expected `object`, got `array`"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_file_is_told_with_line_and_path(way: Way, tmp_path: Path, fault: str):
    text, told = WRONG[fault]
    path = tmp_path / "bad.cassette.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CassetteError) as caught:
        way.replay(path)
    message = str(caught.value).removeprefix(f"{path}, ").removeprefix(f"{path}: ")
    assert message.partition(" (byte")[0] == told
    assert not caught.value.retryable


@pytest.mark.row("C-14")
@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['true']",
        '{"wire_cassette": 1, "interactions": "../other.json"}',
        '{"wire_cassette": 1, "interactions": [], "include": "/etc/passwd"}',
    ],
)
def test_nothing_is_run_and_no_other_file_is_read(text: str):
    with pytest.raises(CassetteError):
        load(text.encode(), "x")


@pytest.mark.row("C-14")
@pytest.mark.parametrize("where", ["json", "data"])
def test_keys_of_a_body_may_be_there_twice(where: str):
    text = dump([interaction({}, b'data: {"a":1,"a":{"b":2,"b":3},"json":[{}],"json":1}\n\n')])
    headers = text.replace('"headers": {', '"headers": {"x": "\\u0078",', 1)
    [loaded] = load(headers.encode(), "x").interactions
    assert loaded.request.headers["x"] == "x"


def _large(shape: str, size: int) -> str:
    """A valid cassette of about `size` bytes."""
    event = '{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"wörd"}}]}'
    if shape == "events":
        body = stream([event] * (size // 250)).decode()
    elif shape == "json":
        body = "[" + ",".join([event] * (size // 200)) + "]"
    else:
        body = "é" * (size // 2)
    return dump([interaction({}, body.encode())])


@pytest.mark.row("C-14")
@pytest.mark.parametrize("shape", ["events", "json", "line"])
def test_memory_is_less_than_ten_times_the_file(shape: str):
    data = _large(shape, 500_000).encode()
    load(data, "x")  # which builds the decoder
    tracemalloc.start()
    load(data, "x")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(data)
    assert len(data) > 400_000


@pytest.mark.row("C-14")
@pytest.mark.slow
def test_a_line_of_100_mib():
    data = _large("line", 100 * 1024 * 1024).encode()
    tracemalloc.start()
    [loaded] = load(data, "x").interactions
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * len(data)
    assert len(body_bytes(loaded.response.body)) == 100 * 1024 * 1024


def test_loading_calls_few_functions_for_each_event():
    """`make bench-cassette` prints the times. Calls of Python functions can be counted exactly."""

    def calls(events: int) -> int:
        data = dump([interaction({}, stream([EVENTS[0]] * events))]).encode()
        load(data, "x")
        count = 0

        def called(frame: Any, what: str, _: Any) -> None:
            nonlocal count
            count += what == "call"

        sys.setprofile(called)
        try:
            load(data, "x")
        finally:
            sys.setprofile(None)
        return count

    assert (calls(1100) - calls(100)) / 1000 <= 8
