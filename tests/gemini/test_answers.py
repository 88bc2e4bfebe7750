"""Complete responses: their fields, the bytes they remember, and bodies that are not responses."""

from __future__ import annotations

import copy
import json
import pickle

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from tests.joined import joined
from tests.property import examples
from wire.core.memory import encode
from wire.errors import (
    BadRequestError,
    LimitError,
    OverloadedError,
    ServerError,
    StreamIncomplete,
    StreamInvalid,
    WireError,
)
from wire.gemini import (
    Candidate,
    Content,
    GenerateContentRequest,
    GenerateContentResponse,
    Part,
    PromptFeedback,
    UsageMetadata,
    contents,
    fold,
    generate_content,
)
from wire.gemini.reader import parse_response

from .conversations import SIGNATURE, call, model, result

PARTS = [
    b'{ "text":"caf\\u00e9", "thought" : true }',
    b'{"thoughtSignature":"QUJD+/==","text":""}',
    b'{"functionCall": {"args":{"x":1.50, "y":[{ }]},"name":"tide"}}',
    b'{"song":{"bars":4}}',
    b"{}",
]
CONTENT = b'{"role" : "model", "parts":[' + b" ,\n".join(PARTS) + b'],"tone":"low"}'
BODY = (
    b'\n {"candidates": [ {"content": '
    + CONTENT
    + b', "finishReason":"STOP","shade":1} ], "usageMetadata":{"promptTokenCount":3,'
    b'"wetTokenCount":1},"depth":[{"m":3}],"modelVersion":"gemini-3-pro-preview"}\r\n'
)


def test_answer():
    answer = parse_response(BODY)
    [candidate] = answer.candidates
    assert (answer.text, answer.finish_reason, answer.model_version) == (
        "",
        "STOP",
        "gemini-3-pro-preview",
    )
    assert [call.args for call in answer.function_calls] == [{"x": 1.5, "y": [{}]}]
    assert answer.usage_metadata == UsageMetadata(prompt_token_count=3)
    assert candidate.content.parts[:2] == [
        Part(text="café", thought=True),
        Part(text="", thought_signature="QUJD+/=="),
    ]


def test_bytes_are_remembered_as_they_came():
    answer = parse_response(BODY)
    content = answer.candidates[0].content
    assert (answer.raw, content.raw, [part.raw for part in content.parts]) == (BODY, CONTENT, PARTS)


def test_a_content_that_goes_back_is_the_slice_it_was():
    content = parse_response(BODY).candidates[0].content
    request = GenerateContentRequest(
        contents=[Content(role="user", parts=[Part(text="Hi")]), content]
    )
    assert (
        generate_content("gemini-3-pro-preview", request, checked=False).body
        == b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"},' + CONTENT + b"]}"
    )


def test_a_part_that_goes_back_in_another_content_is_the_slice_it_was():
    parts = parse_response(BODY).candidates[0].content.parts
    assert (
        encode(Content(role="model", parts=parts[1:3]))
        == b'{"parts":[' + PARTS[1] + b"," + PARTS[2] + b'],"role":"model"}'
    )


@pytest.mark.parametrize("holder", [list, tuple])
def test_bytes_are_sent_from_any_sequence(holder):
    content = parse_response(BODY).candidates[0].content
    assert (
        encode(GenerateContentRequest(contents=holder([content])))
        == b'{"contents":[' + CONTENT + b"]}"
    )


def test_unknown_keys():
    assert wire.unknown(parse_response(BODY)) == [
        ("candidates[0].content.parts[3].song", {"bars": 4}),
        ("candidates[0].content.tone", "low"),
        ("candidates[0].shade", 1),
        ("usageMetadata.wetTokenCount", 1),
        ("depth", [{"m": 3}]),
    ]


def test_a_changed_copy_forgets():
    content = parse_response(BODY).candidates[0].content
    part = content.parts[0]
    changed = msgspec.structs.replace(part, text="tea")
    assert (changed.raw, encode(changed)) == (None, b'{"text":"tea","thought":true}')
    with pytest.raises(AttributeError):
        part.text = "tea"
    with pytest.raises(TypeError):
        content.parts.append(part)
    with pytest.raises(TypeError):
        content.parts[2].function_call.args["y"] = 1
    assert encode(content) == CONTENT


@pytest.mark.parametrize(
    "through",
    [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_keep_the_bytes(through):
    answer = parse_response(BODY)
    again = through(answer)
    assert again == answer
    assert (
        again.raw,
        again.candidates[0].content.raw,
        encode(again.candidates[0].content.parts[3]),
    ) == (BODY, CONTENT, PARTS[3])


def test_both_candidates_are_cut():
    body = (
        b'{"candidates":[{"content":{"parts":[{"text":"A"}]}},{"index":1},{"content":null},'
        b'{"content":{"parts":[{"text":"B" }]}}]}'
    )
    contents_of = [candidate.content for candidate in parse_response(body).candidates]
    assert [content and content.parts[0].raw for content in contents_of] == [
        b'{"text":"A"}',
        None,
        None,
        b'{"text":"B" }',
    ]


@joined(
    ("body", "expected"),
    [
        (
            b'{"promptFeedback":{"blockReason":"SAFETY"}}',
            GenerateContentResponse(prompt_feedback=PromptFeedback(block_reason="SAFETY")),
        ),
        (
            b'{"candidates":[{"finishReason":"MAX_TOKENS"}]}',
            GenerateContentResponse(candidates=[Candidate(finish_reason="MAX_TOKENS")]),
        ),
        (
            b'{"candidates":[{"content":{},"finishReason":1}]}',
            GenerateContentResponse(candidates=[Candidate(content=Content(), finish_reason=1)]),
        ),
        (b'{"candidates":[]}', GenerateContentResponse(candidates=[])),
        (
            b'{"usageMetadata":{"totalTokenCount":3}}',
            GenerateContentResponse(usage_metadata=UsageMetadata(total_token_count=3)),
        ),
        (b'{"error":null,"candidates":[]}', GenerateContentResponse(candidates=[])),
        # "error" as text and as an argument is no error
        (
            b'{"candidates":[{"content":{"parts":[{"text":"\\"error\\""},'
            b'{"text":"error"}]}}],"result":{}}',
            GenerateContentResponse(
                candidates=[
                    Candidate(content=Content(parts=[Part(text='"error"'), Part(text="error")]))
                ]
            ),
        ),
        (
            b'{"result":{"candidates":[{"index":1}]}}',
            GenerateContentResponse(candidates=[Candidate(index=1)]),
        ),
    ],
    ids=[
        "blocked",
        "no-content",
        "empty-content",
        "no-candidate",
        "usage",
        "error-null",
        "error-as-text",
        "wrapped",
    ],
)
def test_odd_answers(body, expected):
    assert parse_response(body) == expected


@joined(
    ("body", "cls", "status", "message"),
    [
        (b"", StreamIncomplete, None, "ended before its first event"),
        (b" \r\n", StreamIncomplete, None, "ended before its first event"),
        (b"{}", StreamInvalid, None, "{}"),
        (b"[]", StreamIncomplete, None, "ended before its first event"),
        (b"null", StreamInvalid, None, "null"),
        (b'"Hi"', StreamInvalid, None, "Hi"),
        (b'{"id":"x","choices":[]}', StreamInvalid, None, "choices"),
        (b"<html><body>\n502\n</body></html>", StreamInvalid, None, "<html>"),
        (b'{"candidates":{}}', StreamInvalid, None, '{"candidates":{}}'),
        (b"\x89\x01\xff", StreamInvalid, None, ""),
        (
            b'{"error":{"code":503,"message":"Busy.","status":"UNAVAILABLE"}}',
            OverloadedError,
            503,
            "Busy.",
        ),
        (
            b'{"candidates":[],"error":{"code":503,"message":"Busy."}}',
            OverloadedError,
            503,
            "Busy.",
        ),
        (b'[{"error":{"code":400,"message":"No."}}]', BadRequestError, 400, "No."),
        (b'{"error":"gone"}', ServerError, 200, "gone"),
        (
            b'{"error":{"code":14,"message":"Busy."}}',
            ServerError,
            200,
            "Busy.",
        ),  # a google.rpc code is no HTTP status
    ],
    ids=[
        "empty",
        "blank",
        "empty-object",
        "empty-list",
        "null",
        "text",
        "other-wire",
        "html",
        "wrong-type",
        "binary",
        "error",
        "error-beside",
        "error-listed",
        "error-as-text",
        "rpc-code",
    ],
)
def test_no_answer(body, cls, status, message):
    with pytest.raises(WireError) as caught:
        parse_response(body)
    assert (type(caught.value), caught.value.status) == (cls, status)
    assert message in caught.value.message


@pytest.mark.parametrize("cut", [1, 30, 120])
def test_a_cut_answer_is_no_answer(cut):
    with pytest.raises(wire.errors.StreamError):
        parse_response(BODY.rstrip()[:-cut])


@pytest.mark.parametrize("depth", [300, 800, 100_000])
def test_what_is_nested_deeply(depth):
    """Any body gives an error of this library, or a response that can be sent back (R-12)."""
    content = (
        b'{"parts":[{"functionCall":{"name":"tide","args":'
        + b'{"a":' * depth
        + b"1"
        + b"}" * depth
        + b'}}],"role":"model"}'
    )
    try:
        sent = encode(
            parse_response(b'{"candidates":[{"content":' + content + b"}]}").candidates[0].content
        )
    except LimitError:
        sent = content  # refused with an error of this library
    assert sent == content


# --- any answer -----------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)
objects = st.dictionaries(st.text(max_size=3), json_values, max_size=3)
parts = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(max_size=5),
        "thought": st.booleans(),
        "thoughtSignature": st.just(SIGNATURE),
        "functionCall": st.fixed_dictionaries(
            {}, optional={"name": st.text(max_size=3), "args": objects, "id": st.text(max_size=3)}
        ),
        "executableCode": st.fixed_dictionaries(
            {}, optional={"code": st.text(max_size=4), "language": st.just("PYTHON")}
        ),
        "novelty": json_values,
    },
)
answers = st.fixed_dictionaries(
    {
        "candidates": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "content": st.fixed_dictionaries(
                        {},
                        optional={"parts": st.lists(parts, max_size=4), "role": st.just("model")},
                    ),
                    "finishReason": st.text("ABC", max_size=3) | st.integers(0, 9),
                    "index": st.integers(0, 3),
                    "shade": json_values,
                },
            ),
            max_size=3,
        )
    },
    optional={
        "usageMetadata": st.dictionaries(
            st.sampled_from(["promptTokenCount", "totalTokenCount", "x"]), st.integers(0, 9)
        ),
        "novelty": json_values,
    },
)


@settings(max_examples=examples(300))
@given(answers, st.sampled_from([None, 2]), st.booleans())
def test_any_answer_goes_back_as_it_came(answer, indent, ascii_only):
    body = json.dumps(answer, indent=indent, ensure_ascii=ascii_only).encode()
    parsed = parse_response(body)
    assert encode(parsed) == body
    for candidate, plain in zip(parsed.candidates, answer["candidates"], strict=True):
        if "content" in plain:
            assert json.loads(encode(candidate.content)) == plain["content"]
            assert [json.loads(encode(part)) for part in candidate.content.parts or []] == plain[
                "content"
            ].get("parts", [])
            assert candidate.content.raw in body


@settings(max_examples=examples(200))
@given(answers)
def test_any_answer_without_its_memory_says_the_same(answer):
    """Decoding, encoding by the fields and decoding again gives an equal struct."""
    parsed = parse_response(json.dumps(answer).encode())
    assert parse_response(msgspec.json.encode(parsed)) == parsed


@pytest.mark.parametrize(
    ("role", "after"),
    [
        ('"role":"model"', []),
        ('"tone":"low"', []),
        ('"role":"model"', [model(call("tide", SIGNATURE)), result("tide", {})]),
    ],
    ids=["as-it-came", "role-added", "beside-a-call-by-hand"],
)
def test_an_unknown_kind_of_part_goes_back(role, after):
    """A part that is taken into a new Content keeps its bytes."""
    answer = parse_response(
        b'{"candidates":[{"content":{"parts":[{"song": {"bars":4}}],%s},"finishReason":"STOP"}]}'
        % role.encode()
    )
    request = GenerateContentRequest(contents=contents("Hi", answer, *after, "Bye"))
    assert b'{"song": {"bars":4}}' in generate_content("gemini-3-pro-preview", request).body


@settings(max_examples=examples(200))
@given(answers)
def test_any_answer_can_be_a_turn(answer):
    parsed = parse_response(json.dumps(answer).encode())
    built = contents("Hi", parsed, "Bye")
    sent = json.loads(
        generate_content("gemini-3-pro-preview", GenerateContentRequest(contents=built)).body
    )["contents"]
    first = answer["candidates"][0] if answer["candidates"] else {}
    given_parts = [part for part in first.get("content", {}).get("parts", []) if part]
    assert [
        part for turn in sent if turn["role"] == "model" for part in turn["parts"] if part
    ] == given_parts


def test_slices_of_many_parts_are_found_in_one_go(monkeypatch: pytest.MonkeyPatch):
    """The body is scanned once for the response and once for the Content, however many parts are
    read. Otherwise the time would grow with the square of the length.
    """
    parts = [b'{"text":"%d","thoughtSignature":"QUJD"}' % number for number in range(300)]
    answer = parse_response(
        b'{"candidates":[{"content":{"parts":['
        + b",".join(parts)
        + b'],"role":"model"},"finishReason":"STOP"}]}'
    )
    asked: list[object] = []
    real = fold.items_of
    monkeypatch.setattr(fold, "items_of", lambda raw: asked.append(raw) or real(raw))
    content = answer.candidates[0].content
    assert [part.raw for part in content.parts] == parts
    assert content.raw == b'{"parts":[' + b",".join(parts) + b'],"role":"model"}'
    assert len(asked) == 2
