"""Chunks folded into the response of the same call without streaming: text (Q5), lists, audio,
bytes.
"""

from __future__ import annotations

import copy
import itertools
import json
import pickle

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from tests.joined import joined
from tests.property import examples
from wire import Text
from wire.core.memory import encode
from wire.openai import ChatCompletion, Dialect, EventReader, parse_reply
from wire.openai.chat.fold import fold
from wire.openai.chat.reader import ChunkReader, parse_completion

from .bodies import DONE, REQUEST, chunk, piece, sse, streamed, told


def message(*datas):
    return streamed(*datas).answer.message


# --- Q5: content ----------------------------------------------------------------------------------


@pytest.mark.row("Q5")
@joined(
    ("contents", "folded"),
    [
        (["A", "B", ""], "AB"),
        (["", "A", None], "A"),
        ([None, None], None),
        ([""], ""),
        (
            [[{"type": "text", "text": "A"}], [{"type": "text", "text": "B"}]],
            [{"type": "text", "text": "AB"}],
        ),
        (["A", [{"type": "text", "text": "B"}], "C"], [{"type": "text", "text": "ABC"}]),
        ([[{"type": "text", "text": "A"}], ""], [{"type": "text", "text": "A"}]),
        (
            [
                [{"type": "text", "text": "A"}],
                [{"type": "reference", "reference_ids": [1]}],
                [{"type": "text", "text": "B"}],
            ],
            [
                {"type": "text", "text": "A"},
                {"type": "reference", "reference_ids": [1]},
                {"type": "text", "text": "B"},
            ],
        ),
        (
            [[{"type": "thinking", "thinking": "A"}], "", None],
            [{"type": "thinking", "thinking": "A"}],
        ),
        # a key that no one knows is not joined away
        (
            [[{"type": "text", "text": "A", "mood": 1}], "B"],
            [{"type": "text", "text": "A", "mood": 1}, {"type": "text", "text": "B"}],
        ),
        (
            ["A", [{"type": "text", "text": "B", "mood": 1}]],
            [{"type": "text", "text": "A"}, {"type": "text", "text": "B", "mood": 1}],
        ),
        (
            [
                [{"type": "thinking", "thinking": [{"type": "text", "text": "A"}]}],
                [{"type": "thinking", "thinking": [], "closed": True}],
            ],
            [{"type": "thinking", "thinking": [{"type": "text", "text": "A"}], "closed": True}],
        ),
        (
            [[{"type": "thinking", "thinking": "A"}], [{"type": "text", "text": "B"}]],
            [{"type": "thinking", "thinking": "A"}, {"type": "text", "text": "B"}],
        ),
    ],
)
def test_content(contents, folded):
    answer = streamed(*(chunk({"content": each}) for each in contents), chunk({}, "stop")).answer
    assert json.loads(answer.raw)["choices"][0]["message"]["content"] == folded


@pytest.mark.row("Q5")
@joined(
    ("choices", "text"),
    [
        (
            [{"message": {"content": "A"}}, {"message": {"content": "AB"}}],
            "A",
        ),  # the second comes to something that was collected
        ([{"delta": {"content": "A"}}, {"message": {"content": "AB"}}], "A"),
        ([{"delta": {"content": "A"}}, {"delta": {}}, {"message": {"content": "AB"}}], "A"),
        ([{"message": {"content": "A"}}, {"delta": {"content": "B"}}], "AB"),
        ([{"delta": {"content": "A"}, "message": {"content": "AX"}}], "A"),
        (
            [
                {"delta": {"role": "assistant", "content": ""}, "message": {"content": "A"}},
                {"delta": {}},
            ],
            "A",
        ),
        (
            [
                {"delta": {"content": None, "tool_calls": [], "refusal": ""}},
                {"delta": {}, "message": {"content": "A"}},
            ],
            "A",
        ),
        ([{"delta": {"mood": 1}, "message": {"content": "A"}}, {}], "A"),
        ([{"delta": None, "message": {"content": "A"}}, {}], "A"),
        ([{"delta": {"reasoning": "R"}, "message": {"content": "A"}}, {}], ""),
        ([{"delta": {"refusal": "R"}}, {"message": {"content": "A"}}], ""),
        ([{"delta": {"audio": {"data": "QUJD"}}}, {"message": {"content": "A"}}], ""),
        (
            [
                {"delta": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}},
                {"message": {"content": "A"}},
            ],
            "",
        ),
        ([{"delta": piece("{}", id="c", name="f")}, {"message": {"content": "A"}}], ""),
        (
            [
                {"delta": {"function_call": {"name": "f", "arguments": "{}"}}},
                {"message": {"content": "A"}},
            ],
            "",
        ),
    ],
)
def test_a_message_counts_where_nothing_was_collected(choices, text):
    seen = streamed(*({"choices": [each]} for each in choices), chunk({}, "stop"))
    message = seen.reply.message
    assert (message.text.removesuffix(message.refusal), seen.answer.text) == (text, text)


@pytest.mark.row("Q5")
def test_calls_of_a_message_beside_nothing():
    calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}]
    seen = streamed(
        chunk({}),
        {
            "choices": [
                {"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}
            ]
        },
    )
    assert [(call.id, call.arguments) for call in seen.reply.message.tool_calls] == [
        ("c1", {"a": 1})
    ]


# --- messages -------------------------------------------------------------------------------------


def test_what_is_joined_and_what_is_last():
    seen = streamed(
        {
            "id": "",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [],
            "mood": 1,
        },
        chunk(
            {"role": "assistant", "content": "A", "refusal": None},
            id="x",
            created=2,
            service_tier="low",
            obfuscation="zz",
            mood=2,
        ),
        chunk(
            {"role": "", "content": "B", "refusal": "N"}, id="", system_fingerprint="", mood=None
        ),
        chunk(
            {"role": "tool", "refusal": "o"},
            "stop",
            choice={"stop_reason": 5, "native_finish_reason": "S"},
            citations=["u"],
        ),
    )
    assert json.loads(seen.answer.raw) == {
        "id": "x",
        "object": "chat.completion",
        "created": 2,
        "model": "m",
        "service_tier": "low",
        "system_fingerprint": "",
        "mood": 2,
        "citations": ["u"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "AB", "refusal": "No"},
                "stop_reason": 5,
                "native_finish_reason": "S",
                "finish_reason": "stop",
            }
        ],
    }
    assert wire.unknown(seen.answer) == [("mood", 2)]
    assert (seen.reply.stop.message, seen.reply.stop.reason) == ("No", "end")


def test_lists_go_on():
    first, second = (
        {"type": "url_citation", "url_citation": {"url": "a"}},
        {"type": "url_citation", "url_citation": {"url": "b"}},
    )
    seen = streamed(
        chunk(
            {"content": "A", "annotations": [first]},
            choice={"logprobs": {"content": [{"token": "A", "logprob": -1}], "refusal": None}},
        ),
        chunk({"annotations": None}, choice={"logprobs": None}),
        chunk(
            {"content": "B", "annotations": [second]},
            choice={"logprobs": {"content": [{"token": "B", "logprob": -2}]}},
        ),
        chunk({"annotations": []}, "stop", choice={"logprobs": {"content": []}}),
    )
    assert [each.url_citation.url for each in seen.answer.message.annotations] == ["a", "b"]
    logprobs = seen.answer.choices[0].logprobs
    assert ([each.token for each in logprobs.content], logprobs.refusal) == (["A", "B"], None)


@joined("odd", [5, "x", {"a": 1}, True])
def test_lists_that_were_none_at_first(odd):
    seen = streamed(
        chunk({"content": "A", "annotations": odd}),
        chunk({"annotations": [{"type": "file"}]}, "stop"),
    )
    assert [each.type for each in seen.answer.message.annotations] == ["file"]


def test_audio():
    """In all recorded streams each piece of base64 encodes a multiple of three bytes, so the joined
    pieces are valid base64.
    """
    seen = streamed(
        chunk({"audio": {"id": "audio_1", "transcript": "Lo"}}),
        chunk({"audio": {"data": "QUJD"}}),
        chunk({"audio": {"data": "REVG", "transcript": "w."}}),
        chunk({"audio": {"expires_at": 9}}),
        {"id": "x"},
    )
    audio = seen.answer.message.audio
    assert (audio.id, audio.data, audio.transcript, audio.expires_at) == (
        "audio_1",
        "QUJDREVG",
        "Low.",
        9,
    )


def test_no_audio_is_none():
    assert message(chunk({"content": "A", "audio": None}, "stop")).audio is None
    assert (
        message(
            chunk({"content": "A", "audio": None}),
            chunk({"audio": {"id": "a"}}),
            chunk({"audio": None}),
        ).audio.id
        == "a"
    )


def test_calls_keep_what_stands_beside_them():
    call = {
        "index": 0,
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": "{", "strict": True},
        "mood": 1,
    }
    [made] = message(
        chunk({"tool_calls": [call]}),
        chunk(
            {
                "tool_calls": [
                    {
                        "index": 0,
                        "function": {"arguments": "}"},
                        "extra_content": {"google": {"thought_signature": "s"}},
                        "mood": "",
                    }
                ]
            },
            "stop",
        ),
    ).tool_calls
    assert json.loads(made.raw) == {
        "id": "c1",
        "type": "function",
        "mood": 1,
        "function": {"name": "f", "arguments": "{}", "strict": True},
        "extra_content": {"google": {"thought_signature": "s"}},
    }


def test_two_choices_interleaved():
    datas = [
        {
            "choices": [
                {"index": 1, "delta": {"content": "Fl"}},
                {"index": 0, "delta": {"content": "E"}},
            ]
        },
        {"choices": [{"index": 0, "delta": {"content": "bb"}, "finish_reason": "stop"}]},
        {
            "choices": [
                {"index": 1, "delta": piece("{}", id="c", name="f"), "finish_reason": "tool_calls"}
            ]
        },
        {"choices": [{"index": 1, "delta": {"content": "ow"}}]},
    ]
    for choice, text, reason in ((0, "Ebb", "end"), (1, "Flow", "tool_calls")):
        seen = told(sse(*datas, DONE), choice=choice)
        assert (seen.reply.text, seen.reply.stop.reason) == (text, reason)
    assert [(each.index, each.message.text) for each in seen.answer.choices] == [
        (0, "Ebb"),
        (1, "Flow"),
    ]


def test_a_choice_whose_index_is_no_number_is_the_first():
    seen = streamed(
        chunk({"content": "A"}, choice={"index": "1"}),
        chunk({"content": "B"}, choice={"index": None}),
        chunk({"content": "C"}, "stop"),
    )
    assert (seen.reply.text, [each.message.text for each in seen.answer.choices]) == (
        "ABC",
        ["ABC"],
    )


def test_a_choice_that_is_not_there():
    seen = told(sse(chunk({"content": "A"}, "stop")), choice=3)
    assert (seen.reply.message.parts, seen.reply.stop.reason, seen.reply.stop.raw) == (
        (),
        "other",
        None,
    )


# --- bytes ----------------------------------------------------------------------------------------

FIRST = b'{"id":"c1" ,"function":{"name":"f","arguments":"{ }"}}'
SECOND = b'{"id":"c2","function":{"name":"g"}}'
MESSAGE = (
    b'{"role" : "assistant", "content":"caf\\u00e9", "tool_calls":[ '
    + FIRST
    + b", "
    + SECOND
    + b' ], "mood":1}'
)
BODY = (
    b' {"choices": [ {"index":0, "message": '
    + MESSAGE
    + b', "finish_reason":"tool_calls"}, {"index":1,"message":{"content":""}}]}\n'
)


def test_bytes_of_a_whole_answer():
    answer = parse_completion(BODY)
    assert answer.raw == BODY
    assert answer.message.raw == MESSAGE
    assert [call.raw for call in answer.tool_calls] == [FIRST, SECOND]
    assert answer.choices[1].message.raw == b'{"content":""}'
    assert encode([answer.message]) == b"[" + answer.message.raw + b"]"


def test_bytes_live_through_copies_and_pickles():
    answer = parse_completion(BODY)
    for again in (copy.copy(answer), copy.deepcopy(answer), pickle.loads(pickle.dumps(answer))):
        assert (again, again.message.raw, again.tool_calls[1].raw) == (
            answer,
            answer.message.raw,
            answer.tool_calls[1].raw,
        )


def test_what_came_is_read_only():
    for answer in (
        parse_completion(BODY),
        streamed(chunk(piece("{}", id="c", name="f"), "stop")).answer,
    ):
        with pytest.raises(TypeError, match="read-only"):
            answer.message.tool_calls.append(None)


def test_bytes_of_a_fold_are_those_of_its_message():
    answer = streamed(
        chunk({"content": "A"}), chunk(piece("{}", id="c1", name="f")), chunk({}, "tool_calls")
    ).answer
    assert json.loads(encode(answer.message)) == {
        "role": "assistant",
        "content": "A",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        ],
    }


def test_fold_of_bytes_of_structs_and_of_nothing():
    chunks = told(sse(chunk({"content": "A"}), chunk({"content": "B"}, "stop"))).chunks
    before = [encode(each) for each in chunks]
    assert fold(chunks) == fold([wire.core.memory.kept_bytes(each) for each in chunks])
    assert [encode(each) for each in chunks] == before
    assert fold([]) == ChatCompletion()


def test_fold_of_one_chunk_that_is_the_answer():
    body = (
        b'{"choices":[{"message":{"content":"A"},"delta":{"role":"assistant",'
        b'"content":""},"finish_reason":"stop"}],'
        b'"usage":{"prompt_tokens":1}}'
    )
    assert streamed(body).answer.raw == body
    other = streamed(body.replace(b'"content":""', b'"content":"B"')).answer
    assert (other.text, other.object) == ("B", "chat.completion")


# --- stream and plain answer are one --------------------------------------------------------------

WORDS = st.text(st.sampled_from('ab é🌊"\\<\n\u2028'), max_size=12)
JSON = st.dictionaries(
    WORDS,
    st.none() | st.booleans() | st.integers() | WORDS | st.lists(st.integers(), max_size=2),
    max_size=3,
)
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["f", "get_tide"]),
        JSON.map(json.dumps) | st.sampled_from(["", "no json", "[1]", "{"]),
    ),
    max_size=3,
)
COUNTS = st.fixed_dictionaries(
    {"prompt_tokens": st.integers(0, 99), "completion_tokens": st.integers(0, 99)}
)


@st.composite
def answers(draw):
    said = {"role": "assistant", "content": draw(WORDS) or None}
    for name in draw(
        st.sampled_from(
            [
                (),
                ("reasoning",),
                ("reasoning_content",),
                ("reasoning_text",),
                ("refusal",),
                ("reasoning", "refusal"),
            ]
        )
    ):
        said[name] = draw(WORDS.filter(bool))
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": text}}
        for at, (name, text) in enumerate(draw(CALLS))
    ]
    if calls:
        said["tool_calls"] = calls
    notes = draw(
        st.lists(
            st.builds(lambda url: {"type": "url_citation", "url_citation": {"url": url}}, WORDS),
            max_size=2,
        )
    )
    if notes:
        said["annotations"] = notes
    finish = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter", "bored"]))
    answer = {
        "id": "x",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
    }
    usage = draw(st.none() | COUNTS)
    return answer | ({"usage": usage} if usage else {})


def cut(draw, text: str) -> list[str]:
    """The text in pieces; may split a surrogate pair."""
    units = text.encode("utf-16-le", "surrogatepass")
    places = sorted(
        {
            0,
            len(units),
            *(2 * draw(st.integers(0, len(units) // 2)) for _ in range(draw(st.integers(0, 3)))),
        }
    )
    return [
        units[start:end].decode("utf-16-le", "surrogatepass")
        for start, end in itertools.pairwise(places)
    ]


def deltas_of(draw, said) -> list[dict]:
    """Deltas that add up to the message: pieces of each text in order, those of several mixed."""
    lines = [
        [{name: text} for text in cut(draw, said[name])]
        for name in ("content", "reasoning", "reasoning_content", "reasoning_text", "refusal")
        if said.get(name)
    ]
    lines.append([{"annotations": [each]} for each in said.get("annotations", ())])
    numbers = draw(st.sampled_from([(0, 1, 2), (1, 2, 3), (-1, 7, 3)]))
    opened = []
    for index, call in zip(numbers, said.get("tool_calls", ()), strict=False):
        name, text = call["function"]["name"], call["function"]["arguments"]
        opened.append(
            piece(
                draw(st.sampled_from([None, ""])),
                id=call["id"],
                name=name,
                index=index,
                type="function",
            )
        )
        again = draw(
            st.sampled_from(
                [{}, {"id": ""}, {"id": call["id"]}, {"name": ""}, {"id": call["id"], "name": name}]
            )
        )
        lines.append([piece(each, index=index, **again) for each in cut(draw, text)])
    lines = [line for line in lines if line]
    mixed = [*opened]
    while lines:
        line = draw(st.sampled_from(lines))
        mixed.append(line.pop(0))
        lines = [each for each in lines if each]
    return mixed


@st.composite
def streams(draw, answer):
    [choice] = answer["choices"]
    head = {"id": "x", "object": "chat.completion.chunk", "model": "m"}
    datas = [
        head
        | chunk(
            {"role": "assistant"} | draw(st.sampled_from([{}, {"content": ""}, {"content": None}]))
        )
    ]
    nothing = [
        head | {"choices": []},
        head | chunk({}),
        head | chunk({}, "", usage=None),
        b": ping",
        b"",
    ]
    for delta in deltas_of(draw, choice["message"]):
        datas.append(
            head
            | chunk(delta)
            | draw(
                st.sampled_from(
                    [{}, {"usage": None}, {"usage": {"prompt_tokens": 1}}]
                    if "usage" in answer
                    else [{}]
                )
            )
        )
        if draw(st.booleans()):
            datas.append(draw(st.sampled_from(nothing)))
    datas.append(head | chunk({}, choice["finish_reason"]))
    if "usage" in answer:
        datas.append(
            head
            | draw(
                st.sampled_from(
                    [{"choices": []}, {}, chunk({"content": ""}, choice["finish_reason"])]
                )
            )
            | {"usage": answer["usage"]}
        )
    return sse(*datas, *draw(st.sampled_from([[DONE], []])))


def shown(answer):
    """The response as JSON, where empty content equals absent content."""
    plain = json.loads(msgspec.json.encode(answer))
    for choice in plain["choices"]:
        choice["message"] = {key: value for key, value in choice["message"].items() if value}
    return plain


@settings(max_examples=examples(200))
@given(st.data())
def test_a_stream_says_what_the_plain_answer_says(data):
    plain = data.draw(answers())
    body = data.draw(streams(plain))
    whole = parse_completion(json.dumps(plain).encode())
    at = data.draw(st.integers(0, len(body)))
    seen = told(body[:at], body[at:])
    assert seen.error is None
    assert shown(seen.answer) == shown(whole)
    expected = parse_reply(whole, body=REQUEST)
    folded = parse_reply(seen.answer, body=REQUEST)
    assert folded == expected
    for reply in (seen.reply, expected):
        said = plain["choices"][0]["message"]
        # Pieces of the text and of the refusal may come in turns.
        texts = [part for part in reply.message.parts if isinstance(part, Text)]
        assert "".join(part.text for part in texts if not part.refusal) == (said["content"] or "")
        assert reply.message.refusal == (said.get("refusal") or "")
        assert reply.message.thought == "".join(
            said.get(name, "") for name in ("reasoning", "reasoning_content", "reasoning_text")
        )
        assert [(call.id, call.name, call.text) for call in reply.message.tool_calls] == [
            (call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in said.get("tool_calls", ())
        ]
    assert (seen.reply.message.tool_calls, seen.reply.stop, seen.reply.usage) == (
        expected.message.tool_calls,
        expected.stop,
        expected.usage,
    )


@settings(max_examples=examples(80))
@given(st.data())
def test_a_whole_answer_is_a_stream_of_one_chunk(data):
    plain = json.dumps(data.draw(answers())).encode()
    reader = ChunkReader()
    [one] = [*reader.feed(plain), *reader.close()]
    reading = EventReader(body=REQUEST)
    events = [*reading.feed(one), *reading.close(reader.error)]
    assert events[-1].reply == reading.reply() == parse_reply(parse_completion(plain), body=REQUEST)


def test_the_dialect_is_that_of_the_provider():
    details = [
        chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": text}]})
        for text in ("A", "AB")
    ]
    chunks = told(sse(*details, chunk({}, "stop"))).chunks
    assert fold(chunks, Dialect(cumulative_details=True)).message.reasoning_details[0].text == "AB"
    assert fold(chunks).message.reasoning_details[0].text == "AAB"


def test_a_message_beside_a_delta_of_another_type() -> None:
    """R-44: a chunk that repeats the message, and whose `delta` is a text."""
    message = {"role": "assistant", "content": "Hi."}
    choice = {"index": 0, "delta": "stop", "message": message}
    chunk = msgspec.Raw(msgspec.json.encode({"choices": [choice]}))
    [folded] = fold([chunk]).choices or ()
    assert folded.message is not None
    assert folded.message.content == "Hi."
