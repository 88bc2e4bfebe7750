from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from wire.core.call import Call, StreamCall, Timeouts
from wire.core.memory import Note, WireStruct, remember
from wire.errors import APIError, ConfigurationError, RuleError
from wire.providers import PROVIDERS

BODY = b'{"a":[1.50, "\\u00e9"],"b" : { "x":1e2 },"c":null}'


class Part(WireStruct):
    text: str | None = None


def error_of(status: int, headers: Any, body: bytes) -> APIError:
    return APIError(status=status)


def call(body: bytes = BODY, path: str = "/models/m:x", **fields: Any) -> Call[bytes]:
    return Call("gemini", "POST", path, body, parse=bytes, read_error=error_of, **fields)


def stream(**fields: Any) -> StreamCall[bytes, bytes]:
    return StreamCall(
        "gemini",
        "POST",
        "/x",
        BODY,
        reader=lambda _: None,
        fold=b"".join,
        read_error=error_of,
        **fields,
    )


every_kind = pytest.mark.parametrize("kind", [call, stream], ids=["call", "stream"])

# --- replace --------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"headers": {"b": "3", "c": "4"}}, {"headers": {"a": "1", "b": "3", "c": "4"}}),
        ({"query": {"q": "2", "r": "3"}}, {"query": {"q": "2", "r": "3"}}),
        ({"timeouts": Timeouts(total=3.0)}, {"timeouts": Timeouts(total=3.0)}),
        ({"body_extra": {"c": 1}}, {"body": b'{"a":[1.50, "\\u00e9"],"b":{ "x":1e2 },"c":1}'}),
        ({"headers": {}, "query": {}, "body_extra": {}, "timeouts": None}, {}),
        ({}, {}),
    ],
    ids=["headers", "query", "timeouts", "body_extra", "empty", "nothing"],
)
def test_replace_changes_what_is_named_and_nothing_else(
    kind: Any, changes: dict[str, Any], found: dict[str, Any]
):
    before = kind(headers={"a": "1", "b": "2"}, query={"q": "1"}, timeouts=Timeouts(total=9.0))
    after = before.replace(**changes)
    assert msgspec.structs.asdict(after) == msgspec.structs.asdict(before) | found
    assert type(after) is type(before)


@every_kind
def test_the_call_itself_stays_as_it_was(kind: Any):
    before = kind(headers={"a": "1"}, query={"q": "1"})
    before.replace(headers={"a": "2"}, query={"q": "2"}, body_extra={"a": 2}, timeouts=Timeouts())
    assert (before.headers, before.query, before.body, before.timeouts) == (
        {"a": "1"},
        {"q": "1"},
        BODY,
        None,
    )


@joined(
    ("extra", "body"),
    [
        ({"d": {"e": [1]}}, b'{"a":[1.50, "\\u00e9"],"b":{ "x":1e2 },"c":null,"d":{"e":[1]}}'),
        ({"b": 1}, b'{"a":[1.50, "\\u00e9"],"b":1,"c":null}'),
        ({"c": "é"}, '{"a":[1.50, "\\u00e9"],"b":{ "x":1e2 },"c":"é"}'.encode()),
        ({"c": None}, b'{"a":[1.50, "\\u00e9"],"b":{ "x":1e2 },"c":null}'),
        (
            {"d": msgspec.Raw(b"[ 1.0 ]")},
            b'{"a":[1.50, "\\u00e9"],"b":{ "x":1e2 },"c":null,"d":[ 1.0 ]}',
        ),
        (
            {"d": Part(text="a")},
            b'{"a":[1.50, "\\u00e9"],"b":{ "x":1e2 },"c":null,"d":{"text":"a"}}',
        ),
    ],
    ids=["new", "existing", "not-ascii", "null", "raw", "struct"],
)
def test_body_extra_keeps_the_bytes_of_other_keys(extra: dict[str, Any], body: bytes):
    assert call().replace(body_extra=extra).body == body


@joined(
    ("path", "body"),
    [
        ("d", b'{"a":[1.50, {"x": 1e2}],"b":{ "y":{"z":1}},"d":0}'),
        ("b.d", b'{"a":[1.50, {"x": 1e2}],"b":{"y":{"z":1},"d":0}}'),
        ("b.y.z", b'{"a":[1.50, {"x": 1e2}],"b":{"y":{"z":0}}}'),
        ("a[1].d", b'{"a":[1.50,{"x":1e2,"d":0}],"b":{ "y":{"z":1}}}'),
        ("a[0]", b'{"a":[0,{"x": 1e2}],"b":{ "y":{"z":1}}}'),
        ("", b'{"a":[1.50, {"x": 1e2}],"b":{ "y":{"z":1}},"":0}'),
        ('["a.d"]', b'{"a":[1.50, {"x": 1e2}],"b":{ "y":{"z":1}},"a.d":0}'),
        ('b["a.d"]', b'{"a":[1.50, {"x": 1e2}],"b":{"y":{"z":1},"a.d":0}}'),
    ],
)
def test_body_extra_takes_paths(path: str, body: bytes):
    before = call(b'{"a":[1.50, {"x": 1e2}],"b":{ "y":{"z":1}}}')
    assert before.replace(body_extra={path: 0}).body == body


def test_body_extra_sets_one_path_after_another():
    after = call(b"{}").replace(body_extra={"a": {"b": []}, "a.c": 1, 'a["d.e"]': None})
    assert json.loads(after.body) == {"a": {"b": [], "c": 1, "d.e": None}}


@joined(
    ("path", "problem"),
    [
        ("c.d", "body_extra.c.d: the body has no such object or list item"),
        ("a[2]", "body_extra.a[2]: the body has no such object or list item"),
        ("a.x", "body_extra.a.x: the body has no such object or list item"),
        ("b[0].x", "body_extra.b[0].x: the body has no such object or list item"),
        ("b.y.z.w", "body_extra.b.y.z.w: the body has no such object or list item"),
        ("b..y", "body_extra: expected a JSON path as key, not 'b..y'"),
        ("a[-1]", "body_extra: expected a JSON path as key, not 'a[-1]'"),
        (7, "body_extra: expected a JSON path as key, not 7"),
    ],
)
def test_a_path_that_leads_nowhere_is_an_error(path: Any, problem: str):
    with pytest.raises(RuleError) as caught:
        call(b'{"a":[1, {"x": 1}],"b":{"y":{"z":1}}}').replace(body_extra={path: 0})
    assert str(caught.value).startswith(problem)


def test_body_extra_sends_what_came_from_the_wire_as_it_came():
    part = remember(Part(text="a"), b'{"text": "a", "later": 1.0}')
    assert (
        call(b"{}").replace(body_extra={"parts": [part]}).body
        == b'{"parts":[{"text": "a", "later": 1.0}]}'
    )


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


@joined(
    ("body", "extra", "path"),
    [
        (BODY, {"d": object()}, "body_extra.d"),
        (BODY, {"d": {1, object()}}, "body_extra.d"),
        (BODY, {"d": "\ud800"}, "body_extra.d"),
        (BODY, {"d": float("nan")}, "body_extra.d"),  # null would be another value
        (BODY, {"d": [float("inf")]}, "body_extra.d[0]"),
        (BODY, {"d": deep()}, "body_extra.d"),
        (b"", {"d": 1}, "body_extra"),
        (b"\x89PNG", {"d": 1}, "body_extra"),
        (b"[1]", {"d": 1}, "body_extra"),
    ],
    ids=[
        "object",
        "set",
        "lone-surrogate",
        "nan",
        "inf",
        "deep",
        "no-body",
        "no-json",
        "no-object",
    ],
)
def test_what_cannot_be_said_is_refused(body: bytes, extra: dict[str, Any], path: str):
    with pytest.raises(RuleError) as caught:
        call(body).replace(body_extra=extra)
    assert [violation.path for violation in caught.value.violations] == [path]


# --- target ---------------------------------------------------------------------------------------


@joined(
    ("path", "query", "target"),
    [
        ("/models/m:generateContent", {}, "/models/m:generateContent"),
        ("/tunedModels/a-b.c_d~e", {}, "/tunedModels/a-b.c_d~e"),
        ("/models/a b", {}, "/models/a%20b"),
        ("/models/a?b#c", {}, "/models/a%3Fb%23c"),
        ("/models/100%", {}, "/models/100%25"),
        ("/models/é語", {}, "/models/%C3%A9%E8%AA%9E"),
        ("/models/a\r\nb", {}, "/models/a%0D%0Ab"),
        ("/x", {"alt": "sse"}, "/x?alt=sse"),
        ("/x", {"a": "b c&d=e", "f": "ü/?+"}, "/x?a=b%20c%26d%3De&f=%C3%BC%2F%3F%2B"),
        ("/x", {"a": ""}, "/x?a="),
        ("/x", {"a[]": ["b", "c d"], "e": "f"}, "/x?a%5B%5D=b&a%5B%5D=c%20d&e=f"),
    ],
    ids=ascii,
)
def test_target(path: str, query: dict[str, str | list[str]], target: str):
    assert call(path=path, query=query).target == target


# --- a value --------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    "name", ["wire", "method", "path", "body", "query", "headers", "timeouts", "read_error"]
)
def test_a_call_is_frozen(kind: Any, name: str):
    with pytest.raises(AttributeError, match="immutable"):
        setattr(kind(), name, "x")


@every_kind
def test_a_call_takes_no_other_attributes(kind: Any):
    with pytest.raises((AttributeError, TypeError)):
        kind().other = 1


def test_equal_calls_are_equal():
    assert call(headers={"a": "1"}) == call(headers={"a": "1"})
    assert call() != call(b"{}")


def test_repr_shows_what_is_sent_and_no_functions():
    assert repr(call(b"{}", query={"a": "b"})) == (
        "Call(wire='gemini', method='POST', path='/models/m:x', body=b'{}', query={'a': "
        "'b'}, headers={}, timeouts=None, retry=None)"
    )


@every_kind
def test_a_pretty_printer_shows_what_repr_shows(kind: Any):
    link = "https://upload.example/f?grant=fake"
    made = msgspec.structs.replace(kind(), path="", url=link, notes=(Note("a", "b"),))
    shown = repr(made.__rich_repr__())
    assert "grant=fake" not in shown + repr(made)
    assert [name for name, _ in made.__rich_repr__()] == re.findall(r"(\w+)=", repr(made))


@every_kind
@pytest.mark.parametrize("value", ["x", 1, object()])
def test_a_field_that_is_no_function_is_named(kind: Any, value: object):
    made = kind()
    for name in made._functions:
        with pytest.raises(ConfigurationError, match=f"^{name}: expected a function, not "):
            msgspec.structs.replace(made, **{name: value})


@every_kind
@pytest.mark.parametrize("value", ["x", 1, (), int, len])
def test_a_field_that_is_no_type_of_structs_is_named(kind: Any, value: object):
    made = kind()
    for name in made._structs:
        with pytest.raises(ConfigurationError, match=f"^{name}: expected a type of structs, or "):
            msgspec.structs.replace(made, **{name: value})


def test_rules_of_a_host_that_return_no_call_are_told() -> None:
    made = call(host_rules=lambda call, provider: "fake-key")
    with pytest.raises(ConfigurationError, match=r"call\.host_rules returned a str, not a call"):
        made.judge(PROVIDERS["gemini"])
