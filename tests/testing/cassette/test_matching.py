"""C-16, C-18: which recorded answer a request gets, and what is said when there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.http.drive import CALL, Drive
from tests.joined import joined
from tests.testing.cassette.ways import Way
from wire import errors, gemini
from wire.errors import CassetteError, one_line
from wire.testing.cassette.matching import Match, closest, listed

compared = Match().compared
URL = "https://llm.example/v1/models/m:generate"

TOOLS = [
    {"name": "get_weather", "parameters": {"type": "object"}},
    {"name": "get_time", "parameters": {"type": "object"}},
]
BODY: dict[str, Any] = {
    "model": "m-1",
    "messages": [{"role": "user", "content": "Hi"}],
    "tools": TOOLS,
    "temperature": 1,
}


def cassette(tmp_path: Path, *interactions: tuple[str, Any, Any], method: str = "POST") -> Path:
    """A file as somebody would write it by hand: urls, bodies sent, bodies received."""
    path = tmp_path / "x.cassette.json"
    made = [
        {
            "request": {
                "method": method,
                "url": url,
                **({} if sent is None else {"body": {"json": sent}}),
            },
            "response": {
                "status": 200,
                "headers": {"content-type": "application/json"},
                "body": {"json": back},
                "end": "eof",
            },
        }
        for url, sent, back in interactions
    ]
    path.write_text(json.dumps({"wire_cassette": 1, "interactions": made}), "utf-8")
    return path


def play(way: Way, path: Path, url: str = URL, **request: Any) -> Any:
    """The answer, or the error."""
    got = way.get(way.replay(path), url, "read", **request)
    return got.error or json.loads(got.body)


SAME: dict[str, Any] = {
    "the same": json.dumps(BODY),
    "white space": json.dumps(BODY, indent=3),
    "order of keys": json.dumps(dict(reversed(BODY.items()))),
    "1.0 for 1": json.dumps({**BODY, "temperature": 1.0}),
    "10e-1 for 1": json.dumps(BODY).replace('"temperature": 1', '"temperature": 10e-1'),
    "escapes": json.dumps(BODY).replace("Hi", "\\u0048i"),
}
OTHER: dict[str, Any] = {
    "another prompt": {**BODY, "messages": [{"role": "user", "content": "Ho"}]},
    "order of an array": {**BODY, "tools": TOOLS[::-1]},
    "true for 1": {**BODY, "temperature": True},
    "text for a number": {**BODY, "temperature": "1"},
    "null for absent": {**BODY, "seed": None},
    "an absent key": {key: value for key, value in BODY.items() if key != "tools"},
}


@pytest.mark.row("C-16")
@pytest.mark.parametrize("change", SAME)
def test_what_matches(way: Way, tmp_path: Path, change: str):
    assert play(way, cassette(tmp_path, (URL, BODY, {"n": 1})), content=SAME[change].encode()) == {
        "n": 1
    }


@pytest.mark.row("C-16")
@pytest.mark.parametrize("change", OTHER)
def test_another_body_gets_no_old_answer(way: Way, tmp_path: Path, change: str):
    assert (
        type(play(way, cassette(tmp_path, (URL, BODY, {"n": 1})), json=OTHER[change]))
        is CassetteError
    )


@pytest.mark.row("C-16")
@pytest.mark.parametrize(
    ("recorded", "sent", "matches"),
    [
        (f"{URL}?alt=sse&key=***", f"{URL}?alt=sse&key=fake-key-of-mine", True),
        (f"{URL}?a=1&b=2", f"{URL}?b=2&a=1", True),
        (f"{URL}?a=1&a=2", f"{URL}?a=2&a=1", False),
        (f"{URL}?alt=sse", URL, False),
        (f"{URL}?pageToken=1", f"{URL}?pageToken=2", False),
        (URL, URL.replace("example", "EXAMPLE"), True),
        (URL, URL.replace("https", "http"), True),
        (URL, URL.replace("llm", "other"), False),
        (URL, URL.replace("llm.example", "llm.example:8080"), False),
        (URL, URL.replace("m:", "n:"), False),
        ("https://llm.example", "https://llm.example/", True),
    ],
)
def test_urls(way: Way, tmp_path: Path, recorded: str, sent: str, matches: bool):
    found = play(way, cassette(tmp_path, (recorded, BODY, {"n": 1})), sent, json=BODY)
    assert found == {"n": 1} if matches else type(found) is CassetteError


@pytest.mark.row("C-16")
def test_method(way: Way, tmp_path: Path):
    path = cassette(tmp_path, (URL, None, {"n": 1}), method="GET")
    assert type(play(way, path, method="POST")) is CassetteError
    assert play(way, path, method="GET") == {"n": 1}


@pytest.mark.row("C-16")
def test_other_bodies_match_by_their_bytes(way: Way, tmp_path: Path):
    path = tmp_path / "x.cassette.json"
    request = {"method": "POST", "url": URL, "body": {"text": ["a=1&", "b=2"]}}
    path.write_text(
        json.dumps(
            {
                "wire_cassette": 1,
                "interactions": [{"request": request, "response": {"status": 204, "end": "eof"}}],
            }
        )
    )
    assert way.get(way.replay(path), URL, content=b"a=1&b=2").status == 204
    assert type(way.get(way.replay(path), URL, content=b"a=1&b=3").error) is CassetteError


@pytest.mark.row("C-16")
def test_equal_requests_are_answered_in_recorded_order_once_each(way: Way, tmp_path: Path):
    path = cassette(
        tmp_path, (URL, BODY, {"n": 1}), (URL, {"other": 1}, {"n": 2}), (URL, BODY, {"n": 3})
    )
    got = way.gets(way.replay(path), [{"url": URL, "json": BODY}] * 3, "read")
    assert [json.loads(each.body) for each in got[:2]] == [{"n": 1}, {"n": 3}]
    assert (
        f"POST {URL}: it is recorded 2 times, and each was played once; to record it again"
        in str(got[2].error)
    )


_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(-5, 5), st.text(max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.row("C-16")
@given(_VALUES, _VALUES)
def test_bodies_match_if_and_only_if_nothing_is_different(one, other):
    first, second = (compared("POST", URL, json.dumps(value).encode()) for value in (one, other))
    found = closest(second, [first])
    assert found is not None
    assert (first.key == second.key) is (found[1] == [])


@pytest.mark.row("C-16")
@joined("body", [b"[" * 100_000, b"[" * 600 + b"]" * 600, b"\xff", b"{"])
def test_bodies_that_are_no_json_or_too_deep(body):
    assert compared("POST", URL, body).key == compared("POST", URL, body).key
    assert compared("POST", URL, body).key != compared(
        "POST", URL, body + b" "
    ).key or body.startswith(b"[[")


# --- no match -------------------------------------------------------------------------------------

LONG = "x" * 3000
CHANGES: dict[str, tuple[str, Any, str]] = {
    "changed field": (URL, {**BODY, "temperature": 0.5}, "$.temperature: recorded 1, sent 0.5"),
    "changed prompt": (
        URL,
        {**BODY, "messages": [{"role": "user", "content": "Ho"}]},
        '$.messages[0].content: recorded "Hi", sent "Ho"',
    ),
    "added message": (
        URL,
        {**BODY, "messages": [*BODY["messages"], {"role": "user", "content": "?"}]},
        '$.messages[1]: recorded nothing, sent {"role": "user", "content": "?"}',
    ),
    "missing tool": (
        URL,
        {**BODY, "tools": TOOLS[:1]},
        '$.tools[1]: recorded {"name": "get_time", "parameters": {"type": "object"}}, sent nothing',
    ),
    "different model": (URL, {**BODY, "model": "m-2"}, '$.model: recorded "m-1", sent "m-2"'),
    "a text for a number": (
        URL,
        {**BODY, "temperature": "1"},
        '$.temperature: recorded 1, sent "1"',
    ),
    "true for a number": (
        URL,
        {**BODY, "temperature": True},
        "$.temperature: recorded 1, sent true",
    ),
    "two fields": (
        URL,
        {**BODY, "model": "m-2", "temperature": 2},
        '$.model: recorded "m-1", sent "m-2"; $.temperature: recorded 1, sent 2',
    ),
    "different host": (
        URL.replace("llm", "other"),
        BODY,
        "host: recorded llm.example, sent other.example",
    ),
    "different path": (
        URL.replace("m:", "n:"),
        BODY,
        "path: recorded /v1/models/m:generate, sent /v1/models/n:generate",
    ),
    "different query": (f"{URL}?alt=sse", BODY, 'query: recorded [], sent [["alt", "sse"]]'),
    "no JSON": (URL, b"text", f'body: recorded {json.dumps(BODY)[:200]}..., sent "text"'),
    "a long text": (
        URL,
        {**BODY, "model": LONG},
        f'$.model: recorded "m-1", sent "{LONG[:200]}"...',
    ),
}


@pytest.mark.row("C-18")
@pytest.mark.parametrize("change", CHANGES)
def test_the_message_names_the_closest_and_what_is_different(way: Way, tmp_path: Path, change: str):
    url, sent, told = CHANGES[change]
    path = cassette(
        tmp_path, ("https://llm.example/v1/far", {"model": "far"}, {}), (URL, BODY, {"n": 1})
    )
    request = {"content": sent} if isinstance(sent, bytes) else {"json": sent}
    prefix = "" if way.name == "sync" else "Async"
    assert str(play(way, path, url, **request)) == (
        f"{path}: no recorded response to POST {url}: the closest is interactions[1], "
        f"different in {told}; "
        f"to record it again, call it once with http={prefix}Record({prefix}Lanes(), '{path}')"
    )


def _played_then(way: Way, path: Path, played: list[Any], sent: Any, **options: Any) -> str:
    """The message for a request after these, which are recorded."""
    bodies = [{"url": URL, "json": each} for each in [*played, sent]]
    *before, last = way.gets(way.replay(path, **options), bodies, "read")
    assert [each.error for each in before] == [None] * len(played)
    return str(last.error)


@pytest.mark.row("C-18")
def test_the_closest_is_one_that_was_not_played_yet(way: Way, tmp_path: Path):
    first, second, third = ({"messages": list(range(length))} for length in (1, 3, 5))
    path = cassette(tmp_path, (URL, first, 1), (URL, second, 2), (URL, third, 3))
    changed = {"messages": [0, 7]}  # nearer to the first, but that was sent
    message = _played_then(way, path, [first], changed)
    assert "the closest is interactions[1], different in $.messages[1]: recorded 1" in message
    message = _played_then(way, path, [first, second, third], {"messages": [0, 1, 7]})
    assert "the closest is interactions[1] (already played), different in $.messages[2]:" in message
    # One that repeats is not used up.
    message = _played_then(way, path, [first], changed, match=Match(repeats=True))
    assert "the closest is interactions[0], different in $.messages[1]: recorded nothing" in message


@pytest.mark.row("C-18")
def test_of_two_long_texts_the_part_is_shown_in_which_they_differ():
    first, second = (
        compared("POST", URL, json.dumps({"a": LONG + end + LONG}).encode())
        for end in ("old", "new")
    )
    found = closest(second, [first])
    assert found is not None
    assert [str(each) for each in found[1]] == [
        f'$.a: recorded ..."{"x" * 50}old{"x" * 147}"..., sent ..."{"x" * 50}new{"x" * 147}"...'
    ]


@pytest.mark.row("C-18")
def test_a_wall_of_differences_is_cut_and_counted():
    first = compared("POST", URL, json.dumps({f"k{n}": "a" * 100 for n in range(50)}).encode())
    second = compared("POST", URL, json.dumps({f"k{n}": "b" * 100 for n in range(50)}).encode())
    found = closest(second, [first])
    assert found is not None
    told = listed(found[1])
    assert told.startswith('$.k0: recorded "aaa')
    assert told.endswith("; and 47 more")
    assert one_line(told) == told


@pytest.mark.row("C-18")
def test_an_empty_cassette(way: Way, tmp_path: Path):
    assert "the cassette is empty; to record it again" in str(
        play(way, cassette(tmp_path), json={})
    )


@pytest.mark.row("C-18")
def test_the_error_passes_the_clients_unchanged(drive: Drive, tmp_path: Path):
    """Not a lost connection, not tried again."""
    path = cassette(
        tmp_path,
        (
            "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
            {"contents": []},
            {},
        ),
    )
    with pytest.raises(CassetteError) as caught:
        drive.send(http=Way(drive.name).replay(path))
    error = caught.value
    assert (error.retryable, error.attempts, error.status, error.provider) == (
        False,
        1,
        None,
        "gemini",
    )
    assert isinstance(error, errors.WireError)
    assert (
        '$.contents[0]: recorded nothing, sent {"parts": [{"text": "Hi"}], "role": "user"}'
        in str(error)
    )
    with pytest.raises(
        CassetteError, match=r"no recorded response to POST .*:streamGenerateContent"
    ):
        drive.read(http=Way(drive.name).replay(path))


@pytest.mark.row("C-16")
def test_a_client_is_answered_from_a_hand_written_cassette(drive: Drive, tmp_path: Path):
    url = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
    answer = {"candidates": [{"content": {"parts": [{"text": "Hello."}]}, "finishReason": "STOP"}]}
    path = cassette(
        tmp_path, (url, {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}, answer)
    )
    assert drive.send(CALL, http=Way(drive.name).replay(path)).text == "Hello."
    assert isinstance(
        drive.send(CALL, http=Way(drive.name).replay(path)), gemini.GenerateContentResponse
    )
