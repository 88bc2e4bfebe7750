"""`gemini.contents`: an example for each rule, and the invariants of a request over random
histories.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.history.test_work import Work
from tests.joined import joined
from tests.property import examples
from wire.core.memory import encode, notes
from wire.errors import HistoryError, RuleError
from wire.gemini import (
    PLACEHOLDER,
    Blob,
    Candidate,
    Content,
    FunctionCall,
    FunctionResponse,
    FunctionResponseBlob,
    FunctionResponsePart,
    GenerateContentResponse,
    Part,
    contents,
    function_response,
)
from wire.gemini.reader import parse_response
from wire.gemini.turns import asks_for_signatures

from .conversations import SECOND, SIGNATURE, call, model, result

# --- the invariants, implemented a second time ----------------------------------------------------


def has_ref(value: Any) -> bool:
    if isinstance(value, Mapping):
        return "$ref" in value or any(has_ref(item) for item in value.values())
    return isinstance(value, list) and any(has_ref(item) for item in value)


def open_calls(content: Content) -> list[FunctionCall]:
    """Calls that need a result from the caller: all but those that a server answered in the same
    Content (G11).
    """
    ours = [
        part.function_call
        for part in content.parts
        if part.function_call and part.function_call.name
    ]
    for part in content.parts:
        if part.function_response:
            answered = [made for made in ours if made.name == part.function_response.name]
            ours.remove(answered[0])
    return ours


def is_results(content: Content) -> bool:
    return any(part.function_response for part in content.parts)


def broken(turns: list[Content], signatures: bool = True) -> list[str]:
    """The violations of invariants 1 to 5 in `turns`."""
    found = []
    if turns[0].role != "user" or turns[-1].role != "user":
        found.append("1: user first and last (G10, G15)")
    for index, turn in enumerate(turns):
        before = turns[index - 1] if index else None
        answers = [part.function_response for part in turn.parts if part.function_response]
        if turn.role not in ("user", "model"):
            found.append(f"{index}: role (G8)")
        if not turn.parts or any(part == Part() for part in turn.parts):
            found.append(f"{index}: an empty Content or Part (G5, G6)")
        if turn.role == "model":
            if before is None or before.role == "model":
                found.append(f"{index}: two model turns in a row (S2-02)")
            continue
        calls = open_calls(before) if before is not None and before.role == "model" else []
        if [(made.name, made.id) for made in calls] != [
            (answer.name, answer.id) for answer in answers
        ]:
            found.append(
                f"{index}: the calls before are not answered one by one (G11, G12, G16 to G18)"
            )
        if answers and len(answers) != len(turn.parts):
            found.append(f"{index}: something beside the results (G13)")
        if before is not None and before.role == "user" and (answers or not is_results(before)):
            found.append(f"{index}: two user turns in a row (S2-02)")
        if any(part.thought_signature is not None for part in turn.parts):
            found.append(f"{index}: a signed part of the user (S2-11)")
        if any(
            has_ref(answer.response) or not isinstance(answer.response, dict | None)
            for answer in answers
        ):
            found.append(f"{index}: a result that is no object, or has a $ref (G20, G21)")
    if signatures:
        for index, turn in enumerate(turns):
            calls = [part for part in turn.parts if part.function_call]
            ran = {part.function_response.name for part in turn.parts if part.function_response}
            # of two calls of one name the server ran the first
            first = next((part for part in calls if part.function_call.name not in ran), None)
            if first is None and len(calls) > len(ran):
                first = calls[-1]
            if (
                turn.role == "model"
                and first
                and first.thought_signature is None
                and first.raw is None
            ):
                found.append(f"{index}: the first call is not signed (G24, G27)")
    return found


@joined(
    ("turns", "rule"),
    [
        ([model(Part(text="a")), Content(role="user", parts=[Part(text="b")])], "1:"),
        ([Content(role="user", parts=[])], "G5"),
        (
            [
                Content(role="user", parts=[Part(text="a")]),
                model(call("f", SIGNATURE)),
                Content(role="user", parts=[Part(text="b")]),
            ],
            "G12",
        ),
        (
            [
                Content(role="user", parts=[Part(text="a")]),
                Content(role="user", parts=[Part(text="b")]),
            ],
            "S2-02",
        ),
        (
            [
                Content(role="user", parts=[Part(text="a")]),
                model(call("f")),
                Content(role="user", parts=[result("f", {})]),
            ],
            "G24",
        ),
        ([Content(role="user", parts=[Part(text="a", thought_signature=SIGNATURE)])], "S2-11"),
    ],
    ids=["model-first", "no-parts", "unanswered", "users-in-a-row", "unsigned", "signed-user"],
)
def test_the_checker_sees(turns, rule):
    assert any(rule in each for each in broken(turns))


# --- random histories -----------------------------------------------------------------------------

NAMES = st.sampled_from(["tide", "moon"])
IDS = st.sampled_from([None, "i1", "i2", "i3"])
TEXTS = st.sampled_from(["", "Hi", "and so", "\u2028é"])
SIGNATURES = st.sampled_from([None, None, SIGNATURE, SECOND])
BODIES = st.sampled_from([None, {}, {"m": 2}, {"a": [{"$ref": "#/x"}]}, {"error": "no"}])

user_text = st.builds(lambda text, sign: Part(text=text, thought_signature=sign), TEXTS, SIGNATURES)
image = st.just(Part(inline_data=Blob(mime_type="image/png", data="aWNvbg==")))
answer_part = st.builds(lambda name, body, id: result(name, body, id), NAMES, BODIES, IDS)
said = st.builds(
    lambda text, sign, thought: Part(text=text, thought_signature=sign, thought=thought),
    TEXTS,
    SIGNATURES,
    st.sampled_from([None, True]),
)
made_call = st.builds(lambda name, sign, id: call(name, sign, id, n=1), NAMES, SIGNATURES, IDS)
lone_signature = st.just(Part(thought_signature=SECOND))
empty = st.just(Part())


def received(parts: list[Part]) -> Content:
    """The turn as if it had been received, with an unknown key in each part."""
    plain = [{**json.loads(encode(part)), "mood": number} for number, part in enumerate(parts)]
    body = json.dumps(
        {"candidates": [{"content": {"parts": plain, "role": "model"}, "finishReason": "STOP"}]}
    )
    return parse_response(body.encode()).candidates[0].content


model_parts = st.lists(st.one_of(said, made_call, lone_signature), max_size=4)
user_turn = st.one_of(
    TEXTS,
    user_text,
    answer_part,
    st.lists(st.one_of(user_text, image, answer_part, empty), max_size=4).map(
        lambda parts: Content(role="user", parts=parts)
    ),
    st.lists(answer_part, max_size=3),
    st.lists(user_text, max_size=2).map(lambda parts: Content(parts=parts)),
)
model_turn = st.one_of(
    model_parts.map(lambda parts: model(*parts)),
    st.lists(st.one_of(said, made_call, empty), max_size=3).map(lambda parts: model(*parts)),
    model_parts.map(received),
    model_parts.map(lambda parts: Candidate(content=Content(parts=parts))),
    model_parts.map(
        lambda parts: GenerateContentResponse(candidates=[Candidate(content=model(*parts))])
    ),
    made_call,
    st.lists(made_call, min_size=2, max_size=3).map(lambda parts: model(*parts)),
)


@st.composite
def step(draw) -> list[Any]:
    """Calls, and most of their results in any order, in one turn or in several."""
    calls = draw(st.lists(made_call, min_size=1, max_size=3))
    results = [function_response(part.function_call, draw(BODIES)) for part in calls]
    results = draw(st.permutations(results))[: draw(st.integers(0, len(results)))]
    apart = draw(st.booleans())
    return [
        draw(st.sampled_from([received, lambda parts: model(*parts)]))(calls),
        *(results if apart else [results]),
    ]


histories = st.lists(
    st.one_of(user_turn.map(lambda turn: [turn]), model_turn.map(lambda turn: [turn]), step()),
    max_size=6,
).map(lambda steps: [turn for each in steps for turn in each])
endings = st.sampled_from([[], ["And now?"]])
beginnings = st.sampled_from([[], ["Hi"], ["Hi"]])


def parts_of(turn: Any) -> list[Part]:
    if isinstance(turn, str):
        return [Part(text=turn)]
    if isinstance(turn, Part):
        return [turn]
    if isinstance(turn, list):
        return [part for each in turn for part in parts_of(each)]
    if isinstance(turn, GenerateContentResponse):
        return parts_of(turn.candidates[0])
    return list((turn.content if isinstance(turn, Candidate) else turn).parts)


def is_of_model(turn: Any) -> bool:
    if isinstance(turn, Part):
        return turn.function_call is not None
    return (
        isinstance(turn, Candidate | GenerateContentResponse)
        or getattr(turn, "role", None) == "model"
    )


def texts(parts: list[Part]) -> list[str]:
    return [part.text for part in parts if part.text is not None]


def tried(turns: list[Any], model: str | None = None) -> list[Content] | None:
    try:
        return contents(*turns, model=model)
    except HistoryError as error:
        if error.violations[0].rule not in ("G4", "G10", "G15"):
            raise  # nothing else of these histories may be refused
        return None


@settings(max_examples=examples(600))
@given(
    beginnings,
    histories,
    endings,
    st.sampled_from([None, "gemini-2.5-flash", "gemini-3-pro-preview"]),
)
def test_invariants(first, turns, last, name):
    built = tried([*first, *turns, *last], name)
    if built is not None:
        assert broken(built, signatures=name != "gemini-2.5-flash") == []


def test_random_histories_are_mostly_built():
    """Most histories are accepted. Otherwise the property above would test little."""
    seen = []

    @settings(max_examples=examples(200), database=None)
    @given(beginnings, histories, endings)
    def look(first, turns, last):
        seen.append(tried([*first, *turns, *last]) is not None)

    look()
    assert sum(seen) > len(seen) / 3


@settings(max_examples=examples(300))
@given(histories)
def test_nothing_is_lost(turns):
    """Every text is sent, in order within its role. Every call is sent once, and every result once,
    as a result or as text.
    """
    turns = ["Hi", *turns, "And now?"]
    given_parts = [part for turn in turns for part in parts_of(turn)]
    built = contents(*turns)
    sent = [part for turn in built for part in turn.parts]
    orphans = [text for text in texts(sent) if text.startswith("Result of ")]
    assert sorted(text for text in texts(sent) if text not in orphans) == sorted(texts(given_parts))
    assert [part.function_call for part in sent if part.function_call] == [
        part.function_call for part in given_parts if part.function_call
    ]
    assert [part.inline_data for part in sent if part.inline_data] == [
        part.inline_data for part in given_parts if part.inline_data
    ]
    stubs = sum("has no result" in note.message for note in notes(built))
    answers = [part for part in sent if part.function_response]
    assert len(answers) - stubs + len(orphans) == sum(
        part.function_response is not None for part in given_parts
    )


@settings(max_examples=examples(300))
@given(histories)
def test_received_parts_keep_their_bytes_and_their_place(turns):
    turns = ["Hi", *turns, "And now?"]
    remembered = [part.raw for turn in turns for part in parts_of(turn) if part.raw is not None]
    built = contents(*turns)
    assert [part.raw for turn in built for part in turn.parts if part.raw is not None] == remembered
    body = encode(built)
    position = 0
    for raw in remembered:
        position = body.index(raw, position) + len(raw)


@settings(max_examples=examples(300))
@given(histories)
def test_signatures_stay_where_they_were(turns):
    """F-01: each signature stays on its part, and only the placeholder is added."""
    turns = ["Hi", *turns, "And now?"]
    came = [
        part
        for turn in turns
        if is_of_model(turn)
        for part in parts_of(turn)
        if part.thought_signature is not None
    ]
    sent = [part for turn in contents(*turns) if turn.role == "model" for part in turn.parts]
    assert [part for part in sent if part.thought_signature not in (None, PLACEHOLDER)] == came


@settings(max_examples=examples(300))
@given(beginnings, histories, endings)
def test_doing_it_again_changes_nothing(first, turns, last):
    once = tried([*first, *turns, *last])
    if once is not None:
        twice = contents(*once)
        assert (twice, encode(twice), notes(twice)) == (once, encode(once), ())


@settings(max_examples=examples(300))
@given(beginnings, histories, endings)
def test_inputs_are_not_changed(first, turns, last):
    turns = [*first, *turns, *last]
    before = copy.deepcopy(turns)
    tried(turns)
    assert turns == before
    assert encode(turns) == encode(before)


@given(histories)
def test_order_of_lists_is_the_order_of_turns(turns):
    assert contents("Hi", turns, "And now?") == contents("Hi", *turns, "And now?")


# --- one rule at a time ---------------------------------------------------------------------------

USER = Content(role="user", parts=[Part(text="Hi")])


def shape(built: list[Content]) -> list[str]:
    """A short form of each Content: `u:text`, `m:call f` and so on."""

    def one(part: Part) -> str:
        if part.function_call:
            return f"call {part.function_call.name}"
        if part.function_response:
            return (
                f"result {part.function_response.name} "
                f"{json.dumps(part.function_response.response)}"
            )
        return part.text if part.text is not None else "-"

    return [f"{turn.role[0]}:{'|'.join(map(one, turn.parts))}" for turn in built]


@joined(
    ("turns", "expected"),
    [
        (["a", "b"], ["u:a|b"]),
        (["a", model(Part(text="b")), model(Part(text="c")), "d"], ["u:a", "m:b|c", "u:d"]),
        ([["a", ["b", Part(text="c")]], ()], ["u:a|b|c"]),
        (["a", call("f"), result("f", {})], ["u:a", "m:call f", "u:result f {}"]),
        (["a", call("f"), "b", result("f", {})], ["u:a", "m:call f", "u:result f {}", "u:b"]),
        (
            ["a", call("f"), model(call("g")), result("g", {}), result("f", {})],
            ["u:a", "m:call f|call g", "u:result f {}|result g {}"],
        ),
        (["a", call("f"), "b"], ["u:a", "m:call f", 'u:result f {"error": "no result"}', "u:b"]),
        (
            ["a", call("f"), result("g", {"x": 1})],
            ["u:a", "m:call f", 'u:result f {"error": "no result"}', 'u:Result of g: {"x":1}'],
        ),
        (
            ["a", call("f"), result("f", {}), result("f", {"x": 1})],
            ["u:a", "m:call f", "u:result f {}", 'u:Result of f: {"x":1}'],
        ),
        ([result("f", {"x": 1})], ['u:Result of f: {"x":1}']),
        (
            ["a", model(call("f"), result("f", {}), Part(text="b")), "c"],
            ["u:a", "m:call f|result f {}|b", "u:c"],
        ),
        (
            ["a", model(call("f"), result("f", {}), call("f")), result("f", {})],
            ["u:a", "m:call f|result f {}|call f", "u:result f {}"],
        ),
        (["a", model(Part(), Part(text="b"), Part()), "c"], ["u:a", "m:b", "u:c"]),
        (["a", model(Part()), "b"], ["u:a|b"]),
        (["a", Content(role="model"), "b"], ["u:a|b"]),
        (["", model(Part(text="")), ""], ["u:", "m:", "u:"]),
    ],
    ids=[
        "merge-user",
        "merge-model",
        "lists",
        "call-part-is-the-models",
        "text-between-goes-after",
        "calls-apart-answered-at-once",
        "stub",
        "stub-and-orphan",
        "surplus",
        "orphan-first",
        "server-answered",
        "server-answered-one-of-two",
        "empty-parts",
        "empty-turn",
        "turn-without-parts",
        "empty-text-is-data",
    ],
)
def test_shape(turns, expected):
    built = contents(*turns)
    assert shape(built) == expected
    assert broken(built) == []


@joined(
    ("calls", "results", "expected"),
    [
        # by id first, whatever the order
        ([("f", "1"), ("f", "2")], [("f", "2", "b"), ("f", "1", "a")], ["a", "b"]),
        # the id of the call is given to a result without one; an id decides against the order of
        # names
        ([("f", "1"), ("f", "2")], [("f", None, "b"), ("f", "1", "a")], ["a", "b"]),
        # without ids by name, in order (G18b)
        (
            [("f", None), ("g", None), ("f", None)],
            [("g", None, "b"), ("f", None, "a"), ("f", None, "c")],
            ["a", "b", "c"],
        ),
        # a result has an id, its call has not: the id is taken off
        ([("f", None)], [("f", "1", "a")], ["a"]),
        # no name at all: by place
        ([("f", "1"), ("g", None)], [(None, None, "a"), (None, None, "b")], ["a", "b"]),
        # an id that no call has
        ([("f", "1")], [("f", "9", "a")], [None]),
        # the name is wrong, the id is right
        ([("f", "1")], [("g", "1", "a")], ["a"]),
    ],
    ids=["ids", "id-and-none", "names", "id-too-much", "places", "other-id", "name-of-call"],
)
def test_pairing(calls, results, expected):
    made = [Part(function_call=FunctionCall(name=name, id=id)) for name, id in calls]
    answers = [
        Part(function_response=FunctionResponse(name=name, id=id, response={"v": value}))
        for name, id, value in results
    ]
    built = contents("Hi", model(*made), answers)
    sent = [part.function_response for part in built[2].parts]
    assert [(answer.name, answer.id) for answer in sent] == calls
    assert [answer.response.get("v") for answer in sent] == expected
    assert broken(built) == []


@joined(
    ("turns", "path", "rule"),
    [
        ([], "contents", "G4"),
        ([[]], "contents", "G4"),
        ([Content(role="user", parts=[])], "contents", "G4"),
        ([model(Part(text="Hi")), "b"], "contents[0]", "G10"),
        (["a", model(Part(text="b"))], "contents[1]", "G15"),
        (["a", model(call("f"))], "contents[1]", "G15"),
        (["a", call("f"), result("f", {}), model(call("g"))], "contents[3]", "G15"),
        ([Content(role="system", parts=[Part(text="a")])], "turns[0].role", "G8"),
        (["a", Content(role="assistant", parts=[Part(text="a")])], "turns[1].role", "G8"),
        (["a", [Content(role="function", parts=[result("f", {})])]], "turns[1][0].role", "G8"),
        ([{"role": "user"}], "turns[0]", "G4"),
        (["a", None], "turns[1]", "G4"),
        ([b"a"], "turns[0]", "G4"),
    ],
)
def test_refused(turns, path, rule):
    with pytest.raises(HistoryError) as caught:
        contents(*turns)
    assert [(violation.path, violation.rule) for violation in caught.value.violations] == [
        (path, rule)
    ]


def test_a_refusal_names_the_call_that_waits():
    with pytest.raises(HistoryError, match="its call of tide has no result"):
        contents("Hi", model(call("tide")))


def test_parts_that_are_no_structs_are_refused_or_taken():
    """`generate_content` accepts a part as a dict. `contents` may refuse one, but with an error of
    this library.
    """
    taken = b'[{"parts":[{"text":"Hi"}],"role":"user"}]'
    try:
        sent = encode(contents(Content(role="user", parts=[{"text": "Hi"}])))
    except RuleError:
        sent = taken
    assert sent == taken


def test_an_unchanged_content_is_the_same_object():
    """Its bytes are sent unchanged."""
    answer = parse_response(
        b'{"candidates": [{"content": {"role": "model", "parts": [{"text": "Yo"}]}, '
        b'"finishReason": "STOP"}]}'
    )
    built = contents(USER, answer, USER)
    assert built[1] is answer.candidates[0].content
    assert built[0] is USER


def test_a_received_part_that_says_nothing_is_left_out():
    """G6: a Part without data is refused. `{}` occurs in responses; a part with an unknown key or a
    signature is not empty.
    """
    body = (
        b'{"candidates":[{"content":{"role":"model","parts":[{"text":"Yo"},{},{"song":1},'
        b'{"thoughtSignature":"QUJD"}]}}]}'
    )
    built = contents("Hi", parse_response(body), "Bye")
    assert [part.raw for part in built[1].parts] == [
        b'{"text":"Yo"}',
        b'{"song":1}',
        b'{"thoughtSignature":"QUJD"}',
    ]


def test_a_received_content_without_role_is_the_models():
    """Responses of older models lack the role; only a model makes calls."""
    answer = parse_response(
        b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]}'
    )
    built = contents(
        "Hi", answer.candidates[0].content, function_response(answer.function_calls[0], {})
    )
    assert shape(built) == ["u:Hi", "m:call f", "u:result f {}"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"promptFeedback":{"blockReason":"SAFETY"}}',
        b'{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}',
        b'{"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS"}]}',
    ],
    ids=["blocked", "no-content", "no-parts"],
)
def test_an_answer_that_says_nothing_is_left_out_and_noted(body):
    built = contents("Hi", parse_response(body), "Again.")
    assert shape(built) == ["u:Hi|Again."]
    assert notes(built)[0].message.endswith("was left out")


def test_the_first_candidate_is_taken():
    body = (
        b'{"candidates":[{"content":{"parts":[{"text":"A"}],"role":"model"}},'
        b'{"content":{"parts":[{"text":"B"}]},"index":1}]}'
    )
    assert shape(contents("Hi", parse_response(body), "Bye")) == ["u:Hi", "m:A", "u:Bye"]


# --- signatures -----------------------------------------------------------------------------------


@joined(
    ("turns", "signed"),
    [
        (["a", model(call("f"), call("g")), result("f", {}), result("g", {})], [PLACEHOLDER, None]),
        (
            ["a", model(call("f", SIGNATURE), call("g")), result("f", {}), result("g", {})],
            [SIGNATURE, None],
        ),
        (["a", call("f"), result("f", {}), call("g"), result("g", {})], [PLACEHOLDER, PLACEHOLDER]),
        (
            ["a", call("f", SIGNATURE), result("f", {}), call("g"), result("g", {})],
            [SIGNATURE, PLACEHOLDER],
        ),
        # calls of earlier turns too: from 3.5 on all are signed, or none (G27)
        (["a", call("f"), result("f", {}), "b"], [PLACEHOLDER]),
        (
            ["a", call("f"), result("f", {}), "b", call("g"), result("g", {})],
            [PLACEHOLDER, PLACEHOLDER],
        ),
        (
            ["a", call("f"), result("f", {}), "b", call("g", SIGNATURE), result("g", {})],
            [PLACEHOLDER, SIGNATURE],
        ),
        # a call that the server ran has its result beside it, and goes back as it came
        (["a", model(call("f"), result("f", {}), Part(text="b")), "c"], [None]),
        # a signature on a second call is none on the first (G24)
        (
            ["a", model(call("f"), call("g", SIGNATURE)), result("f", {}), result("g", {})],
            [PLACEHOLDER, SIGNATURE],
        ),
        # a signed text before the call is not the call's
        (
            ["a", model(Part(text="b", thought_signature=SECOND), call("f")), result("f", {})],
            [PLACEHOLDER],
        ),
        # what came unsigned from a model that does not sign, and goes to one that asks
        (["a", received([call("f")]), result("f", {})], [PLACEHOLDER]),
    ],
    ids=[
        "first-of-parallel",
        "signed",
        "steps",
        "second-step",
        "earlier-turn",
        "two-turns",
        "signed-after-unsigned",
        "ran-by-the-server",
        "second-signed",
        "text-signed",
        "received",
    ],
)
def test_placeholder(turns, signed):  # G24
    built = contents(*turns, model="gemini-3-pro-preview")
    assert [
        part.thought_signature for turn in built for part in turn.parts if part.function_call
    ] == signed
    assert sum("placeholder" in note.message for note in notes(built)) == signed.count(PLACEHOLDER)


def test_a_received_call_stays_as_it_came_unless_the_model_is_known_to_ask():
    turns = ["a", received([call("f")]), result("f", {})]
    for model_name in (None, "gemini-2.5-flash"):
        built = contents(*turns, model=model_name)
        assert [
            part.thought_signature for turn in built for part in turn.parts if part.function_call
        ] == [None]
        assert notes(built) == ()


@joined(
    ("name", "asks"),
    [
        ("gemini-2.5-flash", False),
        ("models/gemini-2.0-flash-001", False),
        ("publishers/google/models/gemini-2.5-pro", False),
        ("gemini-3-pro-preview", True),
        ("models/gemini-3.8-flash", True),
        ("gemini-10-pro", True),
        ("gemini-flash-latest", True),
        ("tunedModels/mine", True),
    ],
)
def test_models_that_ask_for_signatures(name, asks):
    assert asks_for_signatures(name) is asks
    [part] = contents("a", call("f"), result("f", {}), model=name)[1].parts
    assert part.thought_signature == (PLACEHOLDER if asks else None)


# --- results --------------------------------------------------------------------------------------

TIDE = FunctionCall(name="tide", id="t1")


@joined(
    ("given_result", "response"),
    [
        ({"m": 2}, {"m": 2}),
        ({}, {}),
        ("2 m", {"result": "2 m"}),
        ("", {"result": ""}),
        (0, {"result": 0}),
        (False, {"result": False}),
        (None, {"result": None}),
        ([1, {"a": 2}], {"result": [1, {"a": 2}]}),
        ({"$ref": "#/a"}, {"result": '{"$ref":"#/a"}'}),
        ([{"a": [{"$ref": 1}]}], {"result": '[{"a":[{"$ref":1}]}]'}),
        ({"a": "$ref"}, {"a": "$ref"}),
        (FunctionCall(name="x"), {"name": "x"}),
    ],
    ids=lambda value: json.dumps(value, default=str)[:30],
)
def test_result(given_result, response):
    part = function_response(TIDE, given_result)
    assert part == Part(function_response=FunctionResponse(name="tide", id="t1", response=response))
    assert len(notes(part)) == (
        "$ref" in json.dumps(given_result, default=str) and given_result != {"a": "$ref"}
    )


def test_result_error_and_media():
    picture = FunctionResponsePart(
        inline_data=FunctionResponseBlob(mime_type="image/png", data="aWNvbg==")
    )
    assert function_response(TIDE, error="").function_response.response == {"error": ""}
    assert function_response(TIDE, {"m": 2}, parts=[picture]).function_response.parts == [picture]
    assert function_response(FunctionCall(name="tide")).function_response.id is None


@pytest.mark.parametrize(
    ("bad", "path"),
    [
        (object(), "function_response.response"),
        ({"a": {1, object()}}, "function_response.response.a"),
        ({"a": object()}, "function_response.response.a"),
    ],
    ids=["object", "set", "inside"],
)
def test_result_that_json_cannot_say(bad, path):
    with pytest.raises(RuleError) as caught:
        function_response(TIDE, bad)
    assert [violation.path for violation in caught.value.violations] == [path]


def test_result_that_is_nested_too_deeply():
    deep: Any = {}
    for _ in range(900):
        deep = {"a": deep}
    try:
        sent = function_response(TIDE, deep).function_response.response
    except RuleError:
        sent = deep  # refused with an error of this library
    assert sent == deep


def test_the_result_is_not_shared_with_the_caller():
    """Changing the dict afterwards does not change the request."""
    given_result = {"m": [1]}
    part = function_response(TIDE, given_result)
    given_result["m"].append(2)
    assert part.function_response.response == {"m": [1]}


def test_an_orphans_media_is_not_lost():
    picture = FunctionResponsePart(
        inline_data=FunctionResponseBlob(mime_type="image/png", data="aWNvbg==")
    )
    orphan = function_response(TIDE, {"m": 2}, parts=[picture])
    assert b"aWNvbg==" in encode(contents("Hi", model(Part(text="Yo")), orphan))


@pytest.mark.row("R-11")
def test_pairing_results_in_any_order_is_linear() -> None:
    """R-11: four times the calls are four times the work, whatever the order of the results."""

    def work(count: int, *, ids: bool) -> int:
        calls = [
            FunctionCall(name=f"f{index}", id=f"c{index}" if ids else None)
            for index in range(count)
        ]
        results = [function_response(call, {"n": 1}) for call in reversed(calls)]
        model = Content(role="model", parts=[Part(function_call=call) for call in calls])
        with Work() as counted:
            turns = contents("Hi", model, results)
        assert [part.function_response.name for part in turns[-1].parts or ()] == [
            call.name for call in calls
        ]
        return counted.count

    for ids in (True, False):
        assert work(400, ids=ids) <= 5 * work(100, ids=ids)
