"""C-37: recordings of other programs are read, and written, with the same body bytes."""

from __future__ import annotations

import base64
import builtins
import copy
import gzip
import itertools
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import yaml

from tests.http.loopback import loopback, whole
from tests.joined import joined
from tests.property import sample
from tests.testing.cassette.layouts import BY_VALUE, EXACT, Layout, Recorded, as_compact, json_of
from tests.testing.cassette.samples import BODIES, ODD, STREAMS
from wire.errors import CassetteError
from wire.testing import Replay
from wire.testing.cassette.convert.conversion import NothingToConvert, convert
from wire.testing.cassette.convert.yaml_values import Plain, resolved
from wire.testing.cassette.format.bodies import body_bytes, read_body
from wire.testing.cassette.format.file import dump, load
from wire.testing.cassette.format.structs import Interaction, Request, Response

SENT = b'{"model": "m", "messages": [{"role": "user", "content": "Gr\\u00fc\xc3\x9fe"}], "n": 1.0}'
ALL = [
    *(Recorded(SENT, data) for data in STREAMS.values()),
    *(Recorded(SENT, data, "application/json", 429) for data in BODIES.values()),
    *(Recorded(data, data, "application/octet-stream") for data in ODD.values()),
]
SECRET = "fake-key-0123456789abcdef"


def read(text: str | bytes) -> list[Interaction]:
    return load(text.encode() if isinstance(text, str) else text, "x").interactions


def bodies(interactions: Sequence[Interaction]) -> list[tuple[bytes, bytes]]:
    return [
        (body_bytes(each.request.body), body_bytes(each.response.body)) for each in interactions
    ]


def held(layout: Layout, recorded: Sequence[Recorded]) -> list[Recorded]:
    """The exchanges that a layout can hold, since some have texts only."""
    return [each for each in recorded if listed(layout([each]))]


def listed(data: bytes) -> list[Any]:
    """The interactions of a document, as PyYAML and json read it."""
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    value = yaml.load(data, Loader=yaml.CSafeLoader) if data[:1] != b"{" else json.loads(data)
    if isinstance(value, list):
        return value
    return next(
        value[key] for key in ("interactions", "http_interactions", "requests") if key in value
    )


def vcr(request: dict[str, Any] | None = None, response: dict[str, Any] | None = None) -> bytes:
    """One interaction of vcrpy with other values."""
    exchange = {
        "request": {
            "method": "POST",
            "uri": "https://llm.example/v1",
            "body": "{}",
            "headers": {},
            **(request or {}),
        },
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": {},
            "body": {"string": "ok"},
            **(response or {}),
        },
    }
    return yaml.dump({"interactions": [exchange], "version": 1}).encode()


def entry(request: dict[str, Any] | None = None, response: dict[str, Any] | None = None) -> bytes:
    """A HAR of one entry with other values."""
    value = {
        "request": {"method": "GET", "url": "https://llm.example/v1", **(request or {})},
        "response": {
            "status": 200,
            "headers": [],
            "content": {"size": 2, "mimeType": "text/plain", "text": "ok"},
            **(response or {}),
        },
    }
    return json.dumps({"log": {"version": "1.2", "entries": [value]}}).encode()


# --- every layout ---------------------------------------------------------------------------------


@pytest.mark.row("C-37")
@joined("name", [name for name in EXACT if name != "har"])
def test_a_layout_that_holds_bytes_keeps_every_body(name: str) -> None:
    recorded = held(EXACT[name], ALL)
    assert len(recorded) >= len(ALL) - 4
    read_back = read(convert(EXACT[name](recorded), name).text)
    assert bodies(read_back) == [(each.sent, each.received) for each in recorded]
    assert [each.response.status for each in read_back] == [each.status for each in recorded]
    assert {each.request.url for each in read_back} == {recorded[0].url}
    assert {each.request.method.upper() for each in read_back} == {"POST"}
    assert [each.response.headers for each in read_back] == [
        {"content-type": each.content_type} for each in recorded
    ]


@pytest.mark.row("C-37")
def test_a_har_keeps_every_body() -> None:
    recorded = [each for each in ALL if each.sent == SENT]
    read_back = read(convert(EXACT["har"](recorded), "x").text)
    assert bodies(read_back) == [(each.sent, each.received) for each in recorded]
    assert {each.response.decoded for each in read_back} == {"br"}
    odd = [Recorded(SENT, data) for data in ODD.values()]
    assert [body for _, body in bodies(read(convert(EXACT["har"](odd), "x").text))] == [
        *ODD.values()
    ]


@pytest.mark.row("C-37")
@pytest.mark.parametrize("name", BY_VALUE)
def test_a_layout_that_holds_values_gives_compact_json_and_says_so(name: str) -> None:
    odd = ("escapes of all kinds", "half a pair", "no number for Python", "NaN", "deeper")
    recorded = [
        *(each for each in ALL if each.received not in [ODD[which] for which in odd]),
        Recorded(SENT, b'{"a":["1e5","yes","010","12:30","2026-11-23","~","<<","=",""],"b":1e-07}'),
    ]
    converted = convert(BY_VALUE[name](recorded), name)
    assert bodies(read(converted.text)) == [
        (as_compact(each.sent), as_compact(each.received)) for each in recorded
    ]
    values = sum(
        (json_of(each.sent) is not None) + (json_of(each.received) is not None) for each in recorded
    )
    assert converted.notes[0] == (
        "a JSON body is stored as a value: it is written as compact JSON, not as received "
        f"({values} times)"
    )


# --- writing --------------------------------------------------------------------------------------


def own() -> list[Interaction]:
    return [
        Interaction(
            request=Request(
                method="POST",
                url=each.url,
                headers={"content-type": "application/json"},
                body=read_body(each.sent, "application/json"),
            ),
            response=Response(
                status=each.status,
                headers={"content-type": each.content_type, "retry-after": "3"},
                body=read_body(each.received, each.content_type),
                end="eof",
            ),
        )
        for each in ALL
    ]


@pytest.mark.row("C-37")
@pytest.mark.parametrize("to", ["vcr", "har"])
def test_a_cassette_comes_back_from_another_format_as_it_was(to: Any) -> None:
    text = dump(own())
    converted = convert(text.encode(), "x", to)
    assert converted.interactions == len(ALL)
    assert convert(converted.text.encode(), "x").text == text


@pytest.mark.row("C-37")
def test_vcr_is_what_pyyaml_reads_with_text_where_it_is_text() -> None:
    value = yaml.safe_load(convert(dump(own()).encode(), "x", "vcr").text)
    assert value["version"] == 1
    first, binary = value["interactions"][0], value["interactions"][-2]
    assert first["request"] == {
        "body": SENT.decode(),
        "headers": {"content-type": ["application/json"]},
        "method": "POST",
        "uri": "https://llm.example/v1/generate?alt=sse",
    }
    assert first["response"] == {
        "body": {"string": STREAMS["gemini"].decode()},
        "headers": {"content-type": ["text/event-stream"], "retry-after": ["3"]},
        "status": {"code": 200, "message": "OK"},
    }
    assert binary["response"]["body"] == {"string": ODD["png"]}


HAR_FIELDS = {
    "log": {"version", "creator", "entries"},
    "entry": {"startedDateTime", "time", "request", "response", "cache", "timings"},
    "request": {
        "method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize",
        "bodySize",
    },
    "response": {
        "status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL",
        "headersSize", "bodySize",
    },
    "content": {"size", "mimeType"},
    "timings": {"send", "wait", "receive"},
}  # fmt: skip
"""The fields that HAR 1.2 requires."""


@pytest.mark.row("C-37")
def test_values_are_resolved_at_any_depth() -> None:
    deep: Any = Plain("1")
    for _ in range(5_000):
        deep = {"a": [deep]}
    found = resolved(deep)
    for _ in range(5_000):
        (found,) = found["a"]
    assert found == 1


def test_har_has_the_required_fields_of_their_types() -> None:
    log = json.loads(convert(dump(own()).encode(), "x", "har").text)["log"]
    assert log.keys() == HAR_FIELDS["log"]
    assert log["version"] == "1.2"
    assert {type(each) for each in log["creator"].values()} == {str}
    for each in log["entries"]:
        assert each.keys() == HAR_FIELDS["entry"]
        request, response = each["request"], each["response"]
        assert request.keys() - {"postData"} == HAR_FIELDS["request"]
        assert response.keys() == HAR_FIELDS["response"]
        assert response["content"].keys() - {"text", "encoding"} == HAR_FIELDS["content"]
        assert each["timings"].keys() == HAR_FIELDS["timings"]
        assert request["queryString"] == [{"name": "alt", "value": "sse"}]
        for header in (*request["headers"], *response["headers"]):
            assert [*map(type, header.values())] == [str, str]
        assert "encoding" not in request["postData"]
        assert each["startedDateTime"] == "1970-01-01T00:00:00.000Z"


@pytest.mark.row("C-37")
def test_a_har_has_the_times_of_a_recording_with_times() -> None:
    times = ([300, 50, 25], [10])
    interactions = [
        msgspec.structs.replace(
            each,
            started=started,
            response=msgspec.structs.replace(each.response, times=recorded),
        )
        for each, started, recorded in zip(own()[:2], (0, 61_500), times, strict=True)
    ]
    converted = convert(dump(interactions).encode(), "x", "har")
    entries = json.loads(converted.text)["log"]["entries"]
    assert [(each["startedDateTime"], each["time"], each["timings"]) for each in entries] == [
        ("1970-01-01T00:00:00.000Z", 375, {"send": 0, "wait": 300, "receive": 75}),
        ("1970-01-01T00:01:01.500Z", 10, {"send": 0, "wait": 10, "receive": 0}),
    ]
    assert "fields of a response not kept: times of single chunks" in converted.notes


@pytest.mark.row("C-37")
def test_what_cannot_be_written_is_listed() -> None:
    cut = [
        Interaction(
            request=Request(method="GET", url="https://llm.example/v1"),
            response=Response(status=200, decoded="gzip", body=read_body(b"data: 1\n\n"), end=end),
        )
        for end in ("reset", "timeout", "cut", "closed by the caller")
    ]
    as_vcr = convert(dump(cut).encode(), "x", "vcr")
    assert as_vcr.notes == [
        f"response.end: {end!r} is not kept: vcrpy replays the body as a complete one"
        for end in ("reset", "timeout", "cut", "closed by the caller")
    ] + ["fields of a response not kept: decoded"]
    as_har = convert(dump(cut).encode(), "x", "har")
    back = read(convert(as_har.text.encode(), "x").text)
    assert [each.response.end for each in back] == [each.response.end for each in cut]


# --- details of reading ---------------------------------------------------------------------------


@pytest.mark.row("C-37")
def test_headers_outside_the_allow_list_are_left_out_and_listed() -> None:
    converted = convert(
        vcr({"headers": {"Authorization": ["Bearer **"], "Accept": "*/*", "X-Custom": ["1"]}}), "x"
    )
    assert read(converted.text)[0].request.headers == {"accept": "*/*"}
    assert converted.notes == ["headers of a request not kept: authorization, x-custom"]


@pytest.mark.row("C-37")
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_compressed_body_is_stored_decoded_with_its_coding(coding: str) -> None:
    data = gzip.compress(b'{"a":1}') if coding == "gzip" else zlib.compress(b'{"a":1}')
    headers = {"Content-Encoding": [coding]}
    [each] = read(convert(vcr(response={"headers": headers, "body": {"string": data}}), "x").text)
    assert body_bytes(each.response.body) == b'{"a":1}'
    assert (each.response.decoded, each.response.headers) == (coding, {})


@pytest.mark.row("C-37")
def test_a_body_that_was_decoded_already_is_not_decoded_again() -> None:
    for text in ("plain", b"plain"):
        [each] = read(
            convert(
                vcr(response={"headers": {"content-encoding": "br"}, "body": {"string": text}}), "x"
            ).text
        )
        assert body_bytes(each.response.body) == b"plain"
        assert (each.response.decoded, each.response.headers) == ("br", {})


@pytest.mark.row("C-37")
def test_interactions_of_one_time_format_are_put_in_order() -> None:
    text = b"""
interactions:
- request: {method: GET, uri: "http://a/2"}
  response: {status: 200}
  recorded_at: 2026-11-23T06:00:02Z
- request: {method: GET, uri: "http://a/1"}
  response: {status: 200}
  recorded_at: 2026-11-23T06:00:01Z
"""
    assert [each.request.url for each in read(convert(text, "x").text)] == [
        "http://a/1",
        "http://a/2",
    ]


@pytest.mark.row("C-37")
def test_a_plain_scalar_is_text_in_a_header_and_a_number_in_json() -> None:
    text = b"""
interactions:
- request:
    method: POST
    uri: http://a/1
    headers: {retry-after: 1, accept: [1.50, null]}
    parsed_body: {n: 1, f: 1.50, t: '1', y: yes, x: 1e5, nothing: , on: true, d: 2026-11-23}
  response: {status: {code: 200, message: }, headers: {retry-after: 007}, body: }
"""
    [each] = read(convert(text, "x").text)
    assert each.request.headers == {"accept": "1.50, null"}
    assert each.response.headers == {"retry-after": "007"}
    assert body_bytes(each.request.body) == (
        b'{"n":1,"f":1.5,"t":"1","y":"yes","x":"1e5","nothing":null,"on":true,"d":"2026-11-23"}'
    )


@pytest.mark.row("C-37")
@joined(
    ("request_", "response", "reason"),
    [
        ({}, {"status": 101}, "a WebSocket without its messages"),
        ({}, {"status": 0}, "it got no response"),
        ({"url": "data:text/plain,a"}, {}, "its URL is not http or https"),
        (
            {},
            {"content": {"size": 7, "mimeType": "a/b"}},
            "the archive does not hold the body of its response",
        ),
        ({"bodySize": 3}, {}, "the archive does not hold the body of its request"),
        (
            {"postData": {"mimeType": "multipart/form-data", "params": [{"name": "a"}]}},
            {},
            "the body of its request is given as parameters, not as its bytes",
        ),
    ],
)
def test_an_entry_of_a_har_that_cannot_be_replayed_is_named(
    request_: dict[str, Any], response: dict[str, Any], reason: str
) -> None:
    converted = convert(entry(request_, response), "x")
    assert converted.interactions == 0
    assert converted.notes[0] == f"$.log.entries[0]: not converted: {reason}"


@pytest.mark.row("C-37")
def test_parameters_of_a_form_are_its_body() -> None:
    params = [{"name": "a b", "value": "1&2"}, {"name": "c", "value": "ü"}]
    post = {"mimeType": "application/x-www-form-urlencoded; charset=UTF-8", "params": params}
    [each] = read(convert(entry({"method": "POST", "postData": post}), "x").text)
    assert body_bytes(each.request.body) == b"a+b=1%262&c=%C3%BC"


@pytest.mark.row("C-37")
def test_redirects_are_interactions_of_their_own() -> None:
    har = json.loads(entry(response={"status": 302, "redirectURL": "/v2", "content": {"size": 0}}))
    har["log"]["entries"].append(json.loads(entry())["log"]["entries"][0])
    each = read(convert(json.dumps(har).encode(), "x").text)
    assert [(one.response.status, body_bytes(one.response.body)) for one in each] == [
        (302, b""),
        (200, b"ok"),
    ]


@pytest.mark.row("C-37")
def test_other_protocols_are_named() -> None:
    text = b"interactions: []\nws_interactions: [{uri: 'ws://a'}]\ngrpc_interactions: []\n"
    assert convert(text, "x").notes == ["ws_interactions: not converted, only HTTP is"]


@pytest.mark.row("C-37")
def test_a_converted_recording_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "a.cassette.json"
    path.write_text(convert(EXACT["vcrpy, gzip bodies"](ALL), "x").text, "utf-8")
    with httpx.Client(transport=Replay(path), trust_env=False) as client:
        for each in ALL:
            got = client.post(each.url, content=each.sent)
            assert (got.status_code, got.content) == (each.status, each.received)


# --- bad input ------------------------------------------------------------------------------------


BAD: dict[str, tuple[bytes, str]] = {
    "a class": (
        b"interactions:\n- !!python/object/apply:os.system ['true']\n",
        "x, line 2: $.interactions[0]: the tag !!python/object/apply:os.system is refused",
    ),
    "a class as the body": (
        vcr().replace(b"body: '{}'", b"body: !!python/object/new:_io.BytesIO {}"),
        "x, line 3: $.interactions[0].request.body: the tag !!python/object/new:_io.BytesIO",
    ),
    "a tag of its own": (b"a: 1\nb: !env KEY\n", "x, line 2: $.b: the tag !env is refused"),
    "a key twice": (
        b"interactions:\n- request: {}\n  request: {}\n",
        "x, line 3: $.interactions[0]: the key 'request' occurs twice",
    ),
    "a key of JSON twice": (
        b'{"interactions": [\n{"request": {},\n"request": {}}]}',
        "x, line 3: $.interactions[0].request: the key occurs twice",
    ),
    "no YAML": (b"a: [1\nb: 2\n", "x, line 2: not YAML: did not find expected ',' or ']'"),
    "no JSON": (b'{"a":\n1,}', "x, line 2: not JSON: "),
    "no UTF-8": (b"a: 1\nb: \xff\n", "x, line 2: byte 0xff is not UTF-8"),
    "two documents": (b"a: 1\n--- \nb: 2\n", "x, line 2: a second YAML document"),
    "an alias of nothing": (b"a: *b\n", "x, line 1: "),
    "an alias of itself": (b"a: &a [*a]\n", "x, line 1: $.a[0]: the alias *a names no value"),
    "deep": (b"[" * 600, "x: JSON is nested more than 512 levels deep"),
    "deep YAML": (b"- " * 600 + b"a", "x, line 1: "),
    "base64": (b"a: !!binary '%'\n", "x, line 1: $.a: !!binary: "),
    "a status": (
        vcr(response={"status": {"code": "many"}}),
        "$.interactions[0].response.status.code: expected an HTTP status from 100 to 999",
    ),
    "no URL": (vcr({"uri": "**REDACTED**"}), "request.uri: expected a URL with http or https"),
    "half a URL": (vcr({"uri": "http://[a"}), "request.uri: not a URL: Invalid IPv6 URL"),
    "a header beyond ASCII": (
        vcr(response={"headers": {"content-type": "tëxt"}}),
        "$.interactions[0].response: the value of header content-type has characters beyond ASCII",
    ),
    "no request": (
        b"version: 1\ninteractions:\n- response: {}\n",
        "x, line 3: $.interactions[0]: the key 'request' is missing",
    ),
    "a body of another kind": (
        vcr(response={"body": {"file": "../x"}}),
        "$.interactions[0].response.body: unknown form of a body: file",
    ),
    "a list of headers": (
        vcr({"headers": ["a"]}),
        "$.interactions[0].request.headers[0]: expected a header as `name: value`, not str",
    ),
    "compressed with what": (
        vcr(
            response={"headers": {"content-encoding": "compress"}, "body": {"string": b"\xff\x00"}}
        ),
        "x, line 8: $.interactions[0].response: content-encoding: 'compress'",
    ),
    "a text in half pairs": (
        b'{"interactions": [{"request": {"method": "GET", "uri": "http://a", "body": "\\ud800"},'
        b'"response": {"status": 200}}]}',
        "$.interactions[0].request.body: character 0 is half of a surrogate pair",
    ),
    "HAR of another version": (
        entry().replace(b'"1.2"', b'"3"'),
        "x, line 1: $.log.version: unknown version of HAR; expected 1.2",
    ),
    "a bomb of gzip": (gzip.compress(bytes(20_000_000)), "x: more than 200 bytes come out of a"),
    "gzip": (gzip.compress(vcr())[:-20], "x: the gzip data is cut"),
}


@pytest.mark.row("C-37")
@joined("name", BAD)
def test_a_broken_file_is_named_with_line_and_path(name: str) -> None:
    data, expected = BAD[name]
    with pytest.raises(CassetteError) as caught:
        convert(data, "x")
    assert expected in caught.value.message
    assert caught.value.message.startswith("x")


WRONG: list[Any] = [None, 1, "x", b"\xff", [], {"x": {"y": []}}]


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for step in list(value) if isinstance(value, dict) else range(len(value)):
            yield from nodes(value[step], (*path, step))


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], by)
    return changed


@pytest.mark.row("C-37")
@pytest.mark.sampled
@joined("name", {**EXACT, **BY_VALUE})
def test_a_value_of_a_wrong_type_is_read_or_refused_with_its_path(name: str) -> None:
    data = {**EXACT, **BY_VALUE}[name]([Recorded(b'{"a": 1}', b'{"b": 2}')])
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    value = json.loads(data) if data[:1] == b"{" else yaml.safe_load(data)
    refused: list[str] = []
    for path, wrong in sample(list(itertools.product(nodes(value), WRONG))):
        changed = replaced(value, path, wrong)
        try:
            convert(yaml.dump(changed, Dumper=yaml.CSafeDumper).encode(), "x")
        except CassetteError as error:
            refused.append(error.message)
    assert len(refused) > len(WRONG)
    assert [each for each in refused if not each.startswith(("x: not a rec", "x, line "))] == []


@pytest.mark.row("C-37")
def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    with pytest.raises(CassetteError, match="its aliases expand to more than 10 times"):
        convert("\n".join(lines).encode(), "x")


@pytest.mark.row("C-37")
def test_aliases_of_shared_headers_are_read() -> None:
    headers = {"accept": ["*/*"]}
    exchange = {
        "request": {"method": "GET", "uri": "http://a/", "body": None, "headers": headers},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": headers},
    }
    data = yaml.dump({"interactions": [exchange]}).encode()
    assert b"*id001" in data
    assert read(convert(data, "x").text)[0].request.headers == headers | {"accept": "*/*"}


@pytest.mark.row("C-37")
def test_many_small_values_are_refused() -> None:
    with pytest.raises(CassetteError, match="more than 50,000 lists and mappings"):
        convert(b"interactions:\n" + b"- []\n" * 50_001, "x")


@pytest.mark.row("C-37")
def test_a_file_of_another_kind_is_no_recording() -> None:
    for data in (b'{"name": "x"}', b"services: {}\n", b"[]", b"", b"just text"):
        with pytest.raises(NothingToConvert, match="x: not a recording: expected one of the keys"):
            convert(data, "x")


@pytest.mark.row("C-37")
def test_a_format_is_not_converted_to_itself() -> None:
    with pytest.raises(CassetteError, match="x: it has the format 'vcr' already"):
        convert(vcr(), "x", "vcr")


@pytest.mark.row("C-37")
def test_yaml_needs_an_extra_and_json_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    data = EXACT["vcrpy JSON"](ALL[:1])
    load_module: Callable[..., Any] = builtins.__import__

    def without_yaml(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "yaml":
            raise ImportError(name)
        return load_module(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    assert convert(data, "x").interactions == 1
    for read_or_write in (lambda: convert(vcr_text, "x"), lambda: convert(data, "x", "vcr")):
        with pytest.raises(CassetteError) as caught:
            read_or_write()
        assert "pip install 'wire-llm[yaml]'" in caught.value.message or "already" in (
            caught.value.message
        )


vcr_text = vcr()


# --- secrets --------------------------------------------------------------------------------------


@pytest.mark.row("C-37")
@joined(
    "request_",
    [
        {"headers": {"Authorization": [f"Bearer {SECRET}"]}},
        {"headers": {"x-api-key": SECRET}},
        {"headers": {"Cookie": [f"a=1; session={SECRET}"]}},
        {"uri": f"https://llm.example/v1?key={SECRET}"},
    ],
)
@joined(
    "body",
    [
        f"echo {SECRET}",
        base64.b64encode(f"a {SECRET}".encode()).decode(),
        f'data: {{"t": "{SECRET[:9]}"}}\n\ndata: {{"t": "{SECRET[9:]}"}}\n\n',
    ],
)
def test_a_recording_whose_body_has_a_secret_is_refused(
    request_: dict[str, Any], body: str
) -> None:
    with pytest.raises(CassetteError, match="x: not converted, because it contains a secret") as e:
        convert(vcr(request_, {"body": {"string": body}}), "x")
    assert SECRET not in str(e.value)
    converted = convert(vcr(request_), "x").text
    assert SECRET not in converted


@pytest.mark.row("C-37")
def test_a_secret_of_the_environment_is_refused_in_each_direction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "MADE_UP_API_KEY", SECRET)
    data = vcr(response={"body": {"string": f"echo {SECRET}"}})
    with pytest.raises(CassetteError, match="environment variable MADE_UP_API_KEY is in the resp"):
        convert(data, "x")
    monkeypatch.delitem(os.environ, "MADE_UP_API_KEY")
    cassette = convert(data, "x").text.encode()
    monkeypatch.setitem(os.environ, "MADE_UP_API_KEY", SECRET)
    with pytest.raises(CassetteError, match="environment variable MADE_UP_API_KEY is in the resp"):
        convert(cassette, "x", "har")


@pytest.mark.row("C-37")
def test_a_redacted_header_is_left_out() -> None:
    redacted = {"content-type": ["**REDACTED**"], "retry-after": ["2"]}
    converted = convert(vcr({"headers": redacted}, {"headers": redacted}), "x")
    [each] = read(converted.text)
    assert (each.request.headers, each.response.headers) == ({}, {"retry-after": "2"})
    assert "headers of a response not kept: content-type" in converted.notes


@pytest.mark.row("C-37")
def test_the_placeholder_of_another_recorder_is_no_secret() -> None:
    for placeholder in ("REDACTED", "<FILTERED>", "Bearer **********", "DUMMY-API-KEY", "XXXXXXXX"):
        word = placeholder.split()[-1]
        data = vcr({"headers": {"authorization": [placeholder]}}, {"body": {"string": f"a {word}"}})
        assert convert(data, "x").interactions == 1


# --- with vcrpy -----------------------------------------------------------------------------------


@pytest.mark.row("C-37")
def test_vcrpy_replays_what_is_written(tmp_path: Path) -> None:
    import vcr as vcrpy

    path = tmp_path / "a.yaml"
    path.write_text(convert(dump(own()).encode(), "x", "vcr").text, "utf-8")
    with vcrpy.use_cassette(str(path), record_mode="none", match_on=("method", "uri", "body")):
        with httpx.Client(trust_env=False) as client:
            for each in ALL:
                got = client.post(each.url, content=each.sent)
                assert (got.status_code, got.content) == (each.status, each.received)
                assert got.headers["content-type"] == each.content_type


@pytest.mark.row("C-37")
def test_what_vcrpy_records_is_replayed(tmp_path: Path) -> None:
    import vcr as vcrpy

    recorded = [each for each in ALL if each.received != ODD["deeper"]]
    answers = [
        whole(gzip.compress(each.received), kind=each.content_type, content_encoding="gzip")
        for each in recorded
    ]
    path = tmp_path / "a.yaml"
    with loopback(lambda number, request: [answers[number]]) as server:
        url = server.url
        with vcrpy.use_cassette(str(path)), httpx.Client(trust_env=False) as client:
            for each in recorded:
                client.post(url, content=each.sent, headers={"x-api-key": SECRET})
    converted = convert(path.read_bytes(), path.name).text
    assert SECRET not in converted
    assert bodies(read(converted)) == [(each.sent, each.received) for each in recorded]
