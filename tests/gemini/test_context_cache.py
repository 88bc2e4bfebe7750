"""`ContextCache`: creation, use, refresh, loss and deletion. The ids are rows of docs/seeds.md."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from wire.errors import (
    AccessDeniedError,
    APIError,
    BadRequestError,
    ConfigurationError,
    ConnectionLost,
    NotFoundError,
    QuotaError,
    RuleError,
    ServerError,
    WireError,
)
from wire.gemini import (
    ContextCache,
    FunctionCallingConfig,
    FunctionDeclaration,
    GenerateContentRequest,
    GenerationConfig,
    Tool,
    ToolConfig,
    contents,
    generate_content,
)
from wire.gemini.context_cache import shared_beginning
from wire.gemini.types import Content, Part

from .playing import play

MODEL = "gemini-2.5-flash"
BRIEF = Content(parts=[Part(text="Be brief.")])
TOOLS = [Tool(function_declarations=[FunctionDeclaration(name="f", description="d")])]
CONFIG = ToolConfig(function_calling_config=FunctionCallingConfig(mode="AUTO"))
SHARED = GenerateContentRequest(system_instruction=BRIEF, tools=TOOLS, tool_config=CONFIG)
ASK = GenerateContentRequest(
    contents=contents("Hi"), generation_config=GenerationConfig(temperature=0)
)
COUNTED, MADE = (
    b'{"totalTokens":2000}',
    b'{"name":"cachedContents/abc","model":"models/gemini-2.5-flash"}',
)
ANSWER = (
    b'{"candidates":[{"content":{"parts":[{"text":"Yo"}],"role":"model"},"finishReason":"STOP"}]}'
)
GONE = AccessDeniedError(
    "CachedContent not found (or permission denied)", status=403, code="PERMISSION_DENIED"
)


def cached(**options: Any) -> ContextCache:
    cache = ContextCache(MODEL, SHARED, ttl=600, **options)
    assert play(cache.tick(0), COUNTED, MADE).error is None
    return cache


def body(request: GenerateContentRequest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ContextCache(MODEL, SHARED).call(request).body)
    return found


WHOLE = {
    "contents": [{"parts": [{"text": "Hi"}], "role": "user"}],
    "generationConfig": {"temperature": 0},
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "tools": [{"functionDeclarations": [{"name": "f", "description": "d"}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
}
SHORT = {
    "contents": WHOLE["contents"],
    "generationConfig": WHOLE["generationConfig"],
    "cachedContent": "cachedContents/abc",
}


# --- life cycle -----------------------------------------------------------------------------------


@pytest.mark.row("S3-19")
def test_it_is_counted_and_made_with_tools_and_system_instruction():
    """The cache has the system instruction, the tools and the tool config."""
    cache = ContextCache(MODEL, SHARED, ttl=600, display_name="weather")
    assert body(cache.apply(ASK)) == WHOLE
    played = play(cache.tick(100.0), COUNTED, MADE)
    assert played.asked == [f"POST /models/{MODEL}:countTokens", "POST /cachedContents"]
    counted, made = (json.loads(call.body) for call in played.calls)
    assert counted["generateContentRequest"] == {
        "model": f"models/{MODEL}",
        "contents": [{"parts": [{"text": "Be brief."}], "role": "user"}],
        "tools": WHOLE["tools"],
    }
    assert made == {
        "model": f"models/{MODEL}",
        "displayName": "weather",
        "ttl": "600s",
        **{key: WHOLE[key] for key in ("systemInstruction", "tools", "toolConfig")},
    }
    assert (cache.name, cache.tokens, cache.due, cache.notes) == (
        "cachedContents/abc",
        2000,
        400.0,
        [],
    )


@pytest.mark.row("S3-27")
def test_requests_do_not_repeat_what_it_holds():
    """Requests are short while there is a cache, and have the whole beginning without it."""
    cache = cached()
    assert body(cache.apply(ASK)) == SHORT
    assert ASK.cached_content is None
    play(cache.close(), b"{}")
    assert body(cache.apply(ASK)) == WHOLE


@pytest.mark.row("S3-26")
def test_too_short_to_keep():
    cache = ContextCache(MODEL, SHARED)
    assert play(cache.tick(0), b'{"totalTokens":1023}').asked == [
        f"POST /models/{MODEL}:countTokens"
    ]
    assert (cache.name, cache.due) == (None, None)
    assert [str(note) for note in cache.notes] == [
        "contextCache: not created: 1023 tokens; the minimum is 1024"
    ]
    assert play(cache.tick(1e9)).calls == []
    assert body(cache.apply(ASK)) == WHOLE
    other = ContextCache(MODEL, SHARED, least=10)
    play(other.tick(0), b'{"totalTokens":10}', MADE)
    assert other.name == "cachedContents/abc"


@pytest.mark.row("S3-26")
def test_counting_that_fails_is_no_end():
    cache = ContextCache(MODEL, SHARED, ttl=600)
    played = play(cache.tick(0), ServerError("broke", status=500))
    assert (played.error, cache.name, cache.due) == (None, None, 300.0)
    assert [note.path for note in cache.notes] == ["contextCache.count"]
    assert play(cache.tick(299)).calls == []
    play(cache.tick(300), COUNTED, MADE)
    assert cache.name == "cachedContents/abc"


@pytest.mark.parametrize(
    ("error", "due"),
    [
        (ConnectionLost("gone"), 300.0),
        (
            BadRequestError(
                "Cached content is too small. total_token_count=97, min_total_token_count=1024"
            ),
            None,
        ),
    ],
    ids=["again", "never"],
)
def test_making_that_fails(error: WireError, due: float | None):
    cache = ContextCache(MODEL, SHARED, ttl=600)
    played = play(cache.tick(0), COUNTED, error)
    assert (played.error, cache.name, cache.due) == (None, None, due)
    then = "not tried again" if due is None else "tried again in 300 s"
    assert [str(note) for note in cache.notes] == [f"contextCache.create: {error}; {then}"]
    if due is not None:
        assert play(cache.tick(due), MADE).asked == ["POST /cachedContents"]


@joined("kind", [BadRequestError, AccessDeniedError, NotFoundError, QuotaError])
def test_a_refused_cache_is_tried_again_later_and_less_often_each_time(kind: type[APIError]):
    """The model may have caches one day; that a beginning is too small stays so."""
    refusal = kind("Model gemini-2.5-flash does not support cached content.", status=400)
    cache = ContextCache(MODEL, SHARED, ttl=600)
    play(cache.tick(0), COUNTED, refusal)
    dues = [cache.due]
    for _ in range(2):
        assert play(cache.tick((dues[-1] or 0) - 1)).calls == []
        assert play(cache.tick(dues[-1] or 0), refusal).asked == ["POST /cachedContents"]
        dues.append(cache.due)
    assert dues == [600.0, 1800.0, 4200.0]
    assert [str(note) for note in cache.notes] == [
        f"contextCache.create: {refusal}; tried again in {seconds} s"
        for seconds in (600, 1200, 2400)
    ]
    play(cache.tick(4200), MADE)
    assert (cache.name, cache.due) == ("cachedContents/abc", 4500.0)


@joined(("retry_after", "due"), [(None, 160.0), (5.0, 105.0), (0.0, 101.0), (9999.0, 400.0)])
@joined("step", ["count", "create"])
def test_a_failure_that_may_pass_is_tried_again_soon(
    step: str, retry_after: float | None, due: float
):
    busy = ServerError("busy", status=503, retryable=True, retry_after=retry_after)
    cache = ContextCache(MODEL, SHARED, ttl=600)
    play(cache.tick(100), *([busy] if step == "count" else [COUNTED, busy]))
    assert (cache.name, cache.due) == (None, due)
    [note] = cache.notes
    assert str(note) == f"contextCache.{step}: {busy}; tried again in {due - 100:g} s"
    play(cache.tick(due), *([COUNTED] if step == "count" else []), MADE)
    assert cache.name == "cachedContents/abc"


def test_what_cannot_live_longer_is_due_at_once():
    cache = cached()
    play(cache.tick(300), GONE)
    assert cache.due == 300.0
    assert play(cache.tick(300), MADE).asked == ["POST /cachedContents"]


def test_a_call_is_shortened_without_changing_another_byte():
    """The bytes beside the beginning stay, such as a number that is no float of Python."""
    cache = cached()
    call = generate_content(MODEL, msgspec.structs.replace(SHARED, contents=contents("Hi")))
    body = msgspec.structs.replace(call, body=call.body[:-1] + b',"labels":{"n":1.0e2}}')
    assert shared_beginning(body) == SHARED
    assert cache.shortened(body).body == (
        b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}],"labels":{"n":1.0e2},'
        b'"cachedContent":"cachedContents/abc"}'
    )
    assert body.body.endswith(b"1.0e2}}")
    assert ContextCache(MODEL, SHARED).shortened(body) is body
    assert shared_beginning(generate_content(MODEL, ASK)) is None
    own = msgspec.structs.replace(call, body=b'{"tools":[],"cachedContent":"cachedContents/x"}')
    assert shared_beginning(own) is None
    other = msgspec.structs.replace(SHARED, contents=contents("Hi"), tools=None, tool_config=None)
    longer = generate_content(MODEL, other)
    assert cache.shortened(longer) is longer


@pytest.mark.row("S3-28")
def test_it_lives_longer_at_half_its_time():
    cache = cached()
    assert play(cache.tick(299.9)).calls == []
    played = play(cache.tick(301.0), MADE)
    assert played.asked == ["PATCH /cachedContents/abc?updateMask=ttl"]
    assert (played.calls[0].body, cache.due) == (b'{"ttl":"600s"}', 601.0)


@pytest.mark.row("S3-28")
def test_what_cannot_live_longer_is_made_anew():
    cache = cached()
    assert play(cache.tick(300), GONE).error is None
    assert (cache.name, [note.path for note in cache.notes]) == (None, ["contextCache.refresh"])
    assert body(cache.apply(ASK)) == WHOLE
    assert play(cache.tick(600), MADE).asked == ["POST /cachedContents"]
    assert body(cache.apply(ASK)) == SHORT


def test_it_is_deleted_at_the_end():
    cache = cached()
    assert play(cache.close(), b"{}").asked == ["DELETE /cachedContents/abc"]
    assert play(cache.close()).calls == []
    assert play(cache.tick(1e9)).calls == []
    other = cached()
    assert play(other.close(), ServerError("broke")).error is None
    assert [note.path for note in other.notes] == ["contextCache.delete"]
    assert play(ContextCache(MODEL, SHARED).close()).calls == []


# --- requests -------------------------------------------------------------------------------------


def test_generate():
    cache = cached()
    played = play(cache.generate(ASK), ANSWER)
    assert (played.asked, json.loads(played.calls[0].body)) == (
        [f"POST /models/{MODEL}:generateContent"],
        SHORT,
    )
    assert played.answer.text == "Yo"


@pytest.mark.row("S3-29")
@joined(
    "error",
    [
        GONE,
        NotFoundError("CachedContent cachedContents/abc not found", status=404),
        NotFoundError("Cached content abc is not there", status=404),
        BadRequestError("Cache content abc is expired.", status=400),
        AccessDeniedError("no permission on cached_content", status=403),
    ],
    ids=lambda error: error.message,
)
def test_a_lost_cache_costs_one_more_request(error: WireError):
    cache = cached()
    played = play(cache.generate(ASK), error, ANSWER)
    assert [json.loads(call.body) for call in played.calls] == [SHORT, WHOLE]
    assert (played.answer.text, cache.name, cache.due) == ("Yo", None, 0.0)
    assert [note.path for note in cache.notes] == ["contextCache.use"]
    assert play(cache.tick(0), MADE).asked == ["POST /cachedContents"]


@joined(
    "error",
    [
        AccessDeniedError("this model is not for you", status=403),
        NotFoundError("models/x is not found", status=404),
        BadRequestError("contents[0]: bad", status=400),
        ServerError("cachedContents/abc broke", status=500),
        ConnectionLost("cachedContents/abc"),
    ],
    ids=lambda error: error.message,
)
def test_other_errors_are_the_callers(error: WireError):
    cache = cached()
    assert play(cache.generate(ASK), error).error is error
    assert cache.name == "cachedContents/abc"


def test_it_is_sent_once_more_and_not_twice():
    cache = cached()
    assert play(cache.generate(ASK), GONE, GONE).error is GONE
    assert play(cache.generate(ASK), GONE).error is GONE  # whole already


def test_the_cache_is_not_for_other_requests():
    """A request with equal fields uses the cache. One that sets a field to another value is sent
    with the rest of the beginning.
    """
    cache = cached()
    same = GenerateContentRequest(
        contents=contents("Hi"),
        generation_config=ASK.generation_config,
        system_instruction=BRIEF,
        tools=TOOLS,
    )
    assert body(cache.apply(same)) == SHORT
    forced = ToolConfig(function_calling_config=FunctionCallingConfig(mode="ANY"))
    other = GenerateContentRequest(
        contents=contents("Hi"), generation_config=ASK.generation_config, tool_config=forced
    )
    assert body(cache.apply(other)) == {
        **WHOLE,
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
    }
    named = GenerateContentRequest(contents=contents("Hi"), cached_content="cachedContents/mine")
    assert cache.apply(named) is named


def test_shared_contents_come_first():
    book = contents("A long book.")
    cache = ContextCache(MODEL, GenerateContentRequest(contents=book), ttl=600)
    assert [turn.parts[0].text for turn in cache.apply(ASK).contents or () if turn.parts] == [
        "A long book.",
        "Hi",
    ]
    played = play(cache.tick(0), COUNTED, MADE)
    assert json.loads(played.calls[1].body)["contents"] == [
        {"parts": [{"text": "A long book."}], "role": "user"}
    ]
    assert body(cache.apply(ASK)) == SHORT


def test_tools_alone_are_counted_with_a_dot():
    cache = ContextCache(MODEL, GenerateContentRequest(tools=TOOLS))
    counted = json.loads(play(cache.tick(0), COUNTED, MADE).calls[0].body)["generateContentRequest"]
    assert counted["contents"] == [{"parts": [{"text": "."}], "role": "user"}]


@pytest.mark.row("S2-31")
def test_key():
    """Equal beginnings have equal keys."""
    keys = [
        ContextCache(MODEL, SHARED).key,
        ContextCache(f"models/{MODEL}", SHARED, ttl=5, display_name="x").key,
        ContextCache("gemini-3-pro-preview", SHARED).key,
        ContextCache(MODEL, GenerateContentRequest(system_instruction=BRIEF)).key,
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert len(keys[0]) == 64


@pytest.mark.row("S3-21")
@joined(
    ("arguments", "options", "message"),
    [
        (("", SHARED), {}, "model: "),
        ((MODEL, None), {}, "shared: "),
        ((MODEL, ASK.__class__()), {}, "shared: "),
        ((MODEL, SHARED), {"ttl": 0}, "ttl: "),
        ((MODEL, SHARED), {"ttl": "600s"}, "ttl: "),
        ((MODEL, SHARED), {"display_name": " "}, "display_name: "),
        ((MODEL, SHARED), {"least": -1}, "least: "),
    ],
)
def test_bad_settings_name_the_field(arguments: Any, options: dict[str, Any], message: str):
    with pytest.raises((ConfigurationError, RuleError)) as caught:
        ContextCache(*arguments, **options)
    assert caught.value.message.startswith(message)
