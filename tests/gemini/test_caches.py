"""Cached contents: the calls, their errors, and their paths on Vertex. Also the forms of other
calls on Vertex.
"""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from tests.joined import joined
from wire.core.call import Call
from wire.errors import AccessDeniedError, ConfigurationError, RuleError
from wire.gemini import (
    CachedContent,
    CachedContentUsageMetadata,
    Content,
    CountTokensRequest,
    Empty,
    GenerateContentRequest,
    GenerationConfig,
    Part,
    contents,
    count_tokens,
    create_cached_content,
    create_file_search_store,
    delete_cached_content,
    delete_document,
    delete_file_search_store,
    generate_content,
    get_cached_content,
    get_document,
    get_file_search_store,
    get_model,
    import_file,
    list_cached_contents,
    list_documents,
    list_file_search_stores,
    list_models,
    stream_generate_content,
    update_cached_content,
)
from wire.gemini.types import FileSearchStore, ImportFileRequest
from wire.http.target import target
from wire.providers import PROVIDERS

VERTEX = target("gemini@vertex", {"api_key": "fake-key", "project": "p", "location": "eu"})
HOST = "https://aiplatform.eu.rep.googleapis.com/v1beta1"
BRIEF = Content(parts=[Part(text="Be brief.")])
UTC = datetime.UTC


@joined(
    ("call", "line", "body"),
    [
        (get_cached_content("abc"), "GET /cachedContents/abc", b""),
        (list_cached_contents(1, "t"), "GET /cachedContents?pageSize=1&pageToken=t", b""),
        (delete_cached_content("cachedContents/abc"), "DELETE /cachedContents/abc", b""),
        (
            update_cached_content("abc", ttl=300),
            "PATCH /cachedContents/abc?updateMask=ttl",
            b'{"ttl":"300s"}',
        ),
        (
            update_cached_content("abc", ttl=0.25),
            "PATCH /cachedContents/abc?updateMask=ttl",
            b'{"ttl":"0.25s"}',
        ),
        (
            update_cached_content("abc", ttl="120.5s"),
            "PATCH /cachedContents/abc?updateMask=ttl",
            b'{"ttl":"120.5s"}',
        ),
        (
            update_cached_content("abc", expire_time="2030-01-01T00:00:00Z"),
            "PATCH /cachedContents/abc?updateMask=expireTime",
            b'{"expireTime":"2030-01-01T00:00:00Z"}',
        ),
        (
            update_cached_content(
                "abc",
                expire_time=datetime.datetime(
                    2030, 1, 1, 9, tzinfo=datetime.timezone(datetime.timedelta(hours=9))
                ),
            ),
            "PATCH /cachedContents/abc?updateMask=expireTime",
            b'{"expireTime":"2030-01-01T00:00:00Z"}',
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_calls(call: Call[Any], line: str, body: bytes):
    assert (f"{call.method} {call.target}", call.body) == (line, body)


def test_create():
    cache = CachedContent(
        model="gemini-2.5-flash",
        system_instruction=BRIEF,
        contents=contents("Hi"),
        ttl="300s",
        display_name="d",
    )
    call = create_cached_content(cache)
    assert (call.method, call.target) == ("POST", "/cachedContents")
    assert json.loads(call.body) == {
        "model": "models/gemini-2.5-flash",
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"parts": [{"text": "Hi"}], "role": "user"}],
        "ttl": "300s",
        "displayName": "d",
    }
    assert cache.model == "gemini-2.5-flash"


@joined(
    ("cache", "path"),
    [
        (None, "cache"),
        ({"model": "x"}, "cache"),
        (CachedContent(model="x", ttl="300s", expire_time="2030-01-01T00:00:00Z"), "ttl"),
        (CachedContent(model="x", ttl=300), "ttl"),  # type: ignore[arg-type]
        (
            CachedContent(model="x", contents=[Content(parts=[Part(text=5)])]),  # type: ignore[arg-type]
            "contents[0].parts[0].text",
        ),
    ],
)
def test_bad_caches(cache: Any, path: str):
    with pytest.raises(RuleError) as caught:
        create_cached_content(cache)
    assert caught.value.violations[0].path == path


def test_a_cache_has_a_model():
    with pytest.raises(ConfigurationError, match=r"^model: "):
        create_cached_content(CachedContent(ttl="300s"))


@joined(
    ("options", "path"),
    [
        ({}, "ttl"),
        ({"ttl": 5, "expire_time": "2030-01-01T00:00:00Z"}, "ttl"),
        ({"ttl": 0}, "ttl"),
        ({"ttl": -1}, "ttl"),
        ({"ttl": True}, "ttl"),
        ({"ttl": float("nan")}, "ttl"),
        ({"ttl": float("inf")}, "ttl"),
        ({"ttl": [1]}, "ttl"),
        ({"expire_time": datetime.datetime(2030, 1, 1)}, "expireTime"),
        ({"expire_time": 5}, "expireTime"),
    ],
)
def test_bad_changes(options: dict[str, Any], path: str):
    with pytest.raises(RuleError) as caught:
        update_cached_content("abc", **options)
    assert caught.value.violations[0].path == path


@joined(
    "name", ["", None, 5, "models/abc", "a b", "cachedContents/../x", "cachedContents/a/b", "a#b"]
)
@joined(
    "endpoint",
    [get_cached_content, delete_cached_content, lambda name: update_cached_content(name, ttl=1)],
)
def test_bad_name(endpoint: Any, name: Any):
    with pytest.raises(ConfigurationError, match=r"^name: expected .*cachedContents/ID"):
        endpoint(name)


def test_answers():
    body = (
        b'{"name":"cachedContents/abc","model":"models/x","expireTime":"2030-01-01T00:00:00Z",'
        b'"usageMetadata":{"totalTokenCount":1081}}'
    )
    assert get_cached_content("abc").parse(body) == CachedContent(
        name="cachedContents/abc",
        model="models/x",
        expire_time="2030-01-01T00:00:00Z",
        usage_metadata=CachedContentUsageMetadata(total_token_count=1081),
    )
    assert (
        list_cached_contents()
        .parse(b'{"cachedContents":[{"name":"a"}],"nextPageToken":"t"}')
        .next_page_token
        == "t"
    )
    assert delete_cached_content("abc").parse(b"{}") == Empty()
    gone = (
        b'{"error":{"code":403,"message":"CachedContent not found (or permission denied)",'
        b'"status":"PERMISSION_DENIED"}}'
    )
    assert isinstance(delete_cached_content("abc").read_error(403, {}, gone), AccessDeniedError)


# --- Vertex ---------------------------------------------------------------------------------------

REQUEST = GenerateContentRequest(
    contents=contents("Hi"),
    system_instruction=BRIEF,
    generation_config=GenerationConfig(temperature=0),
)


def on_vertex(call: Call[Any]) -> Call[Any]:
    return VERTEX.accept(call, Call)


@joined(
    ("call", "url"),
    [
        (
            generate_content("m", REQUEST),
            "/projects/p/locations/eu/publishers/google/models/m:generateContent",
        ),
        (
            stream_generate_content("m", REQUEST),
            "/projects/p/locations/eu/publishers/google/models/m:streamGenerateContent?alt=sse",
        ),
        (
            count_tokens("m", REQUEST),
            "/projects/p/locations/eu/publishers/google/models/m:countTokens",
        ),
        (
            generate_content("publishers/other/models/m", REQUEST),
            "/projects/p/locations/eu/publishers/other/models/m:generateContent",
        ),
        (
            generate_content("projects/q/locations/us/endpoints/1", REQUEST),
            "/projects/q/locations/us/endpoints/1:generateContent",
        ),
        (list_cached_contents(), "/projects/p/locations/eu/cachedContents"),
        (
            create_cached_content(
                CachedContent(model="projects/p/locations/eu/publishers/google/models/m")
            ),
            "/projects/p/locations/eu/cachedContents",
        ),
        (get_cached_content("1"), "/projects/p/locations/eu/cachedContents/1"),
        (
            delete_cached_content("projects/1/locations/eu/cachedContents/2"),
            "/projects/1/locations/eu/cachedContents/2",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_vertex_urls(call: Any, url: str):
    assert VERTEX.url(VERTEX.accept(call, type(call))) == HOST + url


@joined(
    ("model", "full"),
    [
        ("m", "projects/p/locations/eu/publishers/google/models/m"),
        ("models/m", "projects/p/locations/eu/publishers/google/models/m"),
        ("publishers/other/models/m", "projects/p/locations/eu/publishers/other/models/m"),
        ("projects/q/locations/us/endpoints/1", "projects/q/locations/us/endpoints/1"),
    ],
)
def test_vertex_gets_the_full_name_of_a_caches_model(model: str, full: str):
    call = create_cached_content(CachedContent(model=model, ttl="300s"))
    assert json.loads(on_vertex(call).body) == {"model": full, "ttl": "300s"}
    # Without a client there is no project: the call stays as it is.
    assert call.judge(PROVIDERS["gemini@vertex"]).body == call.body
    assert call.judge(PROVIDERS["gemini"]).body == call.body


def test_vertex_counts_what_stands_beside_the_contents():
    body = json.loads(on_vertex(count_tokens("m", REQUEST)).body)
    assert body == {
        "contents": [{"parts": [{"text": "Hi"}], "role": "user"}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {"temperature": 0},
    }
    assert (
        json.loads(count_tokens("m", REQUEST).body)["generateContentRequest"]["model"] == "models/m"
    )
    call = count_tokens("m", CountTokensRequest(contents=contents("Hi"), system_instruction=BRIEF))
    assert on_vertex(call) == call
    changed = on_vertex(
        count_tokens("m", REQUEST).replace(headers={"x-a": "b"}, body_extra={"extra": 1})
    )
    assert (changed.headers["x-a"], json.loads(changed.body)["extra"]) == ("b", 1)


def test_vertex_counts_no_cache():
    call = count_tokens(
        "m", GenerateContentRequest(contents=contents("Hi"), cached_content="cachedContents/1")
    )
    with pytest.raises(RuleError, match=r"^gemini@vertex: generateContentRequest.cachedContent"):
        on_vertex(call)


@pytest.mark.parametrize(
    "call",
    [list_models(), get_model("m"), create_file_search_store(FileSearchStore())],
    ids=["list", "get", "store"],
)
def test_what_vertex_has_not_in_this_form(call: Call[Any]):
    with pytest.raises(ConfigurationError, match="has no"):
        on_vertex(call)
    assert target("gemini", {"api_key": "fake-key"}).accept(call, Call) == call


# --- file search stores ---------------------------------------------------------------------------


@joined(
    ("call", "line", "body"),
    [
        (
            create_file_search_store(FileSearchStore(display_name="d")),
            "POST /fileSearchStores",
            b'{"displayName":"d"}',
        ),
        (get_file_search_store("s"), "GET /fileSearchStores/s", b""),
        (list_file_search_stores(5), "GET /fileSearchStores?pageSize=5", b""),
        (delete_file_search_store("s"), "DELETE /fileSearchStores/s", b""),
        (
            delete_file_search_store("fileSearchStores/s", force=True),
            "DELETE /fileSearchStores/s?force=true",
            b"",
        ),
        (
            import_file("s", ImportFileRequest(file_name="files/a")),
            "POST /fileSearchStores/s:importFile",
            b'{"fileName":"files/a"}',
        ),
        (list_documents("s", page_token="t"), "GET /fileSearchStores/s/documents?pageToken=t", b""),
        (
            get_document("fileSearchStores/s/documents/d"),
            "GET /fileSearchStores/s/documents/d",
            b"",
        ),
        (
            delete_document("fileSearchStores/s/documents/d", force=True),
            "DELETE /fileSearchStores/s/documents/d?force=true",
            b"",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_stores(call: Call[Any], line: str, body: bytes):
    assert (f"{call.method} {call.target}", call.body) == (line, body)


@joined(
    "name",
    [
        "d",
        "documents/d",
        "fileSearchStores/s/documents/",
        "files/s/documents/d",
        "fileSearchStores/s/x/d",
        None,
    ],
)
def test_bad_document(name: Any):
    with pytest.raises(ConfigurationError, match=r"^name: "):
        get_document(name)
