"""The prompt caches that the emulator plays, over raw requests of each wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wire.errors import ConfigurationError
from wire.testing.emulator import Emulator
from wire.testing.emulator.prefixes import Piece, Prefixes, prefixes_of

LONG = "All about the tides of Brest. " * 300
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
EXPLICIT = {"prompt_cache_breakpoint": {"mode": "explicit"}}


def post(
    emulator: Emulator, target: str, body: dict[str, Any], host: str = "api.openai.com"
) -> dict[str, Any]:
    headers = {"authorization": "Bearer fake-key", "content-type": "application/json"}
    answer = emulator.answer("POST", f"https://{host}{target}", headers, json.dumps(body).encode())
    made: dict[str, Any] = json.loads(answer.body)
    assert answer.status == 200, made
    return made


def chat(emulator: Emulator, *texts: str, model: str = "gpt-4.1", **keys: Any) -> dict[str, Any]:
    """The details of the prompt's tokens."""
    marked = keys.pop("marked", ())
    parts = [
        {"type": "text", "text": text, **(EXPLICIT if at in marked else {})}
        for at, text in enumerate(texts)
    ]
    messages = [{"role": "user", "content": [part]} for part in parts]
    usage = post(emulator, CHAT, {"model": model, "messages": messages, **keys})["usage"]
    details: dict[str, Any] = usage["prompt_tokens_details"]
    assert details.pop("audio_tokens") == 0
    assert details["cached_tokens"] <= usage["prompt_tokens"]
    return details


def test_prefixes_end_at_pieces_and_depend_on_all_before() -> None:
    first = prefixes_of("m", [Piece(b"a", 3), Piece(b"b", 4, "5m")])
    assert [(each.tokens, each.mark) for each in first] == [(3, ""), (7, "5m")]
    other = prefixes_of("m", [Piece(b"x", 3), Piece(b"b", 4)])
    assert {each.name for each in first}.isdisjoint(each.name for each in other)
    assert prefixes_of("m", [Piece(b"ab", 1)])[0].name not in {each.name for each in first}
    assert prefixes_of("n", [Piece(b"a", 3)])[0].name != first[0].name


def test_a_beginning_that_is_read_lives_on() -> None:
    now = 0.0
    prefixes = Prefixes(lambda: now)
    prefixes.keep("a", 300)
    read = []
    for seconds in (299, 299, 300):
        now += seconds
        read.append(prefixes.read("a"))
    assert read == [True, True, False]


def test_a_model_that_caches_unasked_reads_steps_of_128_from_1024_on() -> None:
    emulator = Emulator()
    assert chat(emulator, LONG, "a") == {"cached_tokens": 0}
    read = chat(emulator, LONG, "b")["cached_tokens"]
    assert (read % 128, read >= 1024) == (0, True)
    assert chat(emulator, "Other. " + LONG, "a") == {"cached_tokens": 0}
    assert chat(emulator, LONG, "a", model="gpt-4o") == {"cached_tokens": 0}
    short = LONG[: len(LONG) // 4]
    assert [chat(emulator, short, "a")["cached_tokens"] for _ in range(2)] == [0, 0]


def test_another_key_is_another_server() -> None:
    emulator = Emulator()
    read = [
        chat(emulator, LONG, prompt_cache_key=key)["cached_tokens"] > 0
        for key in ("a", "a", "b", "a")
    ]
    assert read == [False, True, False, True]


def test_the_key_of_xai_is_a_header() -> None:
    emulator = Emulator()
    body = json.dumps({"model": "grok-4.5", "messages": [{"role": "user", "content": LONG}]})
    read = []
    for key in ("a", "a", "b", "a", None, None):
        headers = {"authorization": "Bearer fake-key", "content-type": "application/json"}
        headers |= {} if key is None else {"x-grok-conv-id": key}
        answer = emulator.answer("POST", f"https://api.x.ai{CHAT}", headers, body.encode())
        details = json.loads(answer.body)["usage"]["prompt_tokens_details"]
        read.append(details["cached_tokens"] > 0)
    assert read == [False, True, False, True, False, True]


def test_gpt_5_6_reads_what_ends_at_a_breakpoint() -> None:
    emulator = Emulator()
    model = {"model": "gpt-5.6", "reasoning_effort": "none"}
    first = chat(emulator, LONG, "question a", **model)
    assert (first["cached_tokens"], first["cache_write_tokens"] > 1024) == (0, True)
    # It wrote the end alone: another question after the same text reads nothing.
    assert chat(emulator, LONG, "question b", **model)["cached_tokens"] == 0
    chat(emulator, LONG, "question c", marked=[0], **model)
    fourth = chat(emulator, LONG, "question d", **model)
    assert (fourth["cached_tokens"] > 1024, fourth["cache_write_tokens"] < 9) == (True, True)


def test_the_mode_explicit_writes_the_marked_alone() -> None:
    emulator = Emulator()
    model = {"model": "gpt-5.6", "reasoning_effort": "none"}
    explicit = {"prompt_cache_options": {"mode": "explicit"}, **model}
    assert chat(emulator, LONG, **explicit)["cache_write_tokens"] == 0
    assert chat(emulator, LONG, **explicit)["cached_tokens"] == 0
    assert chat(emulator, LONG, marked=[0], **explicit)["cache_write_tokens"] > 1024
    assert chat(emulator, LONG, **explicit)["cached_tokens"] > 1024


def test_the_last_four_marks_of_openrouter_are_written() -> None:
    emulator = Emulator()
    mark = {"cache_control": {"type": "ephemeral"}}
    texts = [LONG, "b", "c", "d", "e"]

    def read(count: int, marks: dict[str, Any]) -> int:
        messages = [
            {"role": "user", "content": [{"type": "text", "text": text, **marks}]}
            for text in texts[:count]
        ]
        body = {"model": "anthropic/claude-sonnet-5", "messages": messages}
        made = post(emulator, f"/api{CHAT}", body, "openrouter.ai")["usage"]
        return int(made["prompt_tokens_details"]["cached_tokens"])

    assert read(5, mark) == 0
    assert read(1, {}) == 0  # the first of five marks
    assert read(2, {}) > 1024


def test_responses_read_instructions_and_items() -> None:
    emulator = Emulator()
    body = {"model": "gpt-5.4", "instructions": LONG, "input": "a"}
    first = post(emulator, RESPONSES, body)["usage"]
    second = post(emulator, RESPONSES, {**body, "input": "b"})["usage"]
    assert first["input_tokens_details"] == {"cached_tokens": 0}
    assert second["input_tokens_details"]["cached_tokens"] > 1024
    assert second["input_tokens"] == first["input_tokens"]


def test_an_answer_that_fails_caches_nothing() -> None:
    emulator = Emulator([{"fault": "500"}, {"say": "Hi."}, {"say": "Hi."}])
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": LONG}]}
    headers = {"authorization": "Bearer fake-key"}
    url = f"https://api.openai.com{CHAT}"
    assert emulator.answer("POST", url, headers, json.dumps(body).encode()).status == 500
    assert chat(emulator, LONG) == {"cached_tokens": 0}
    assert chat(emulator, LONG)["cached_tokens"] > 1024


def test_a_stream_without_usage_is_cached_too() -> None:
    emulator = Emulator()
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": LONG}], "stream": True}
    headers = {"authorization": "Bearer fake-key"}
    emulator.answer("POST", f"https://api.openai.com{CHAT}", headers, json.dumps(body).encode())
    assert chat(emulator, LONG)["cached_tokens"] > 1024


def test_each_read_begins_the_lifetime_anew() -> None:
    now = 0.0
    emulator = Emulator(clock=lambda: now)
    read = []
    for seconds in (0, 599, 599, 600):
        now += seconds
        read.append(chat(emulator, LONG)["cached_tokens"] > 0)
    assert read == [False, True, True, False]


def test_a_cached_content_expires_by_the_clock() -> None:
    now = 0.0
    emulator = Emulator(clock=lambda: now)
    headers = {"x-goog-api-key": "fake-key"}
    url = "https://generativelanguage.googleapis.com/v1beta/"

    def answer(method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        made = emulator.answer(method, url + path, headers, data)
        return made.status, json.loads(made.body)

    content = [{"role": "user", "parts": [{"text": LONG}]}]
    made = {"model": "models/gemini-2.5-flash", "contents": content}
    names = [
        answer("POST", "cachedContents", {**made, "ttl": f"{ttl}s"})[1]["name"] for ttl in (60, 90)
    ]
    now = 59.0
    assert answer("PATCH", f"{names[0]}?updateMask=ttl", {"ttl": "60s"})[0] == 200
    now = 90.0
    assert [answer("GET", name)[0] for name in names] == [200, 403]
    assert [each["name"] for each in answer("GET", "cachedContents")[1]["cachedContents"]] == names[
        :1
    ]
    now = 119.0
    ask = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "cachedContent": names[0]}
    status, refused = answer("POST", "models/gemini-2.5-flash:generateContent", ask)
    assert (status, refused["error"]["message"]) == (
        403,
        "CachedContent not found (or permission denied)",
    )


def test_a_clock_is_a_function() -> None:
    with pytest.raises(ConfigurationError, match=r"^clock: expected a function that returns sec"):
        Emulator(clock=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(("blocks", "found"), [(20, True), (21, False)])
def test_messages_look_back_over_20_blocks(blocks: int, found: bool) -> None:
    emulator = Emulator()
    mark = {"cache_control": {"type": "ephemeral"}}

    def read(*texts: str) -> int:
        content = [{"type": "text", "text": text} for text in texts]
        content[-1] |= mark  # type: ignore[operator]
        body = {
            "model": "claude-sonnet-5",
            "max_tokens": 9,
            "messages": [{"role": "user", "content": content}],
        }
        headers = {"x-api-key": "fake-key", "anthropic-version": "2023-06-01"}
        url = "https://api.anthropic.com/v1/messages"
        answer = emulator.answer("POST", url, headers, json.dumps(body).encode())
        assert answer.status == 200, answer.body
        return int(json.loads(answer.body)["usage"]["cache_read_input_tokens"])

    assert read(LONG) == 0
    assert (read(LONG, *map(str, range(blocks))) > 1024) is found
