"""No model refuses the order or the signatures of `contents(...)`. Other violations are the
caller's to fix.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.errors import HistoryError
from wire.gemini import (
    Candidate,
    Content,
    FunctionCall,
    FunctionDeclaration,
    FunctionResponse,
    GenerateContentRequest,
    GenerateContentResponse,
    Part,
    Tool,
    check,
    contents,
)

from .bodies import host_row
from .conversations import CONVERSATIONS, SECOND, SIGNATURE, single

ORDER = {
    "G4",
    "G5",
    "G6",
    "G8",
    "G9",
    "G10",
    "G11",
    "G12",
    "G13",
    "G14",
    "G15",
    "G16",
    "G17",
    "G18",
    "G18b",
    "G20",
    "G21",
    "G24",
    "G25",
}
MODELS = [
    "gemini-2.5-flash",
    "gemini-2.5-pro",
    "gemini-3-pro-preview",
    "gemini-3.5-flash",
    "gemini-3.6-flash",
    "gemini-3.8-flash",
]

names = st.sampled_from(["tide", "weather", "moon"])
ids = st.sampled_from([None, None, "a1", "b2"])
signatures = st.sampled_from([None, None, SIGNATURE, SECOND])
bodies = st.sampled_from([{"m": 2}, {}, "2 m", ["2 m"], None, {"a": [{"$ref": "#/x"}]}])
calls = st.builds(
    lambda name, id, signature: Part(
        function_call=FunctionCall(name=name, args={}, id=id), thought_signature=signature
    ),
    names,
    ids,
    signatures,
)
results = st.builds(
    lambda name, id, body: Part(
        function_response=FunctionResponse(name=name, id=id, response=body)
    ),
    st.sampled_from(["tide", "moon", "", None]),
    ids,
    bodies,
)
texts = st.builds(
    lambda text, signature: Part(text=text, thought_signature=signature),
    st.sampled_from(["Hi", "", "So?"]),
    signatures,
)
parts = st.one_of(calls, results, texts, st.just(Part()))
said = st.lists(parts, max_size=4)
# Results in a Content of the model are those that a server put there.
served = st.builds(
    lambda name: Part(function_response=FunctionResponse(name=name, response={"m": 2})), names
)
models = st.lists(st.one_of(calls, texts, served, st.just(Part())), max_size=4)
turns: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["Hi", "", "And?"]),
    parts,
    said,
    st.builds(lambda given: Content(role="user", parts=given), said),
    st.builds(
        lambda given: Content(parts=given),
        st.one_of(models, st.lists(st.one_of(results, texts), max_size=4)),
    ),
    st.builds(lambda given: Content(role="model", parts=given), models),
    st.builds(
        lambda given: Candidate(content=Content(role="model", parts=given)),
        st.lists(st.one_of(calls, texts), max_size=3),
    ),
    st.builds(
        lambda given: GenerateContentResponse(candidates=[Candidate(content=Content(parts=given))]),
        st.lists(st.one_of(calls, texts), max_size=3),
    ),
)


@pytest.mark.parametrize("host", ["gemini", "vertex"])
@pytest.mark.parametrize("model", MODELS)
@given(history=st.lists(turns, max_size=8))
def test_what_contents_makes_is_taken(model: str, host: str, history: list[Any]) -> None:
    try:
        made = contents("Hi", *history, "So?", model=model)
    except HistoryError:
        return
    found = check(GenerateContentRequest(contents=made), model, host_row(host))
    assert [
        str(violation)
        for violation in found
        if violation.rule in ORDER and violation.rule not in ("G18b", "G19")
    ] == []


@given(history=st.lists(turns, max_size=8))
def test_without_a_model_every_model_takes_it(history: list[Any]) -> None:
    """All unsigned calls get the placeholder: without a model name, the request may be for any
    model.
    """
    made = GenerateContentRequest(contents=contents("Hi", *history, "So?"))
    for model in MODELS:
        assert [str(violation) for violation in check(made, model) if violation.rule in ORDER] == []
    assert check(made) == []


def test_the_placeholder_is_for_models_that_ask() -> None:
    history = (
        "Sail?",
        Part(function_call=FunctionCall(name="tide")),
        Part(function_response=FunctionResponse(name="tide", response={})),
    )
    signed = [
        turn.parts[0].thought_signature
        for turn in contents(*history, model="gemini-3-pro-preview")
        if turn.parts
    ]
    assert signed == [None, "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=", None]
    for model in ("gemini-2.5-flash", "gemini-3-pro-image-preview"):
        assert all(
            turn.parts and turn.parts[0].thought_signature is None
            for turn in contents(*history, model=model)
        )


@joined("name", CONVERSATIONS)
@joined("host", ["gemini", "vertex"])
def test_conversations_are_taken(name: str, host: str) -> None:
    """3.6-flash accepts every conversation, except for the listed violations."""
    allowed = {
        "search-beside-functions": {"G1"},  # the flag that Vertex does not know
        "image-inline": set(),
    }
    found = check(CONVERSATIONS[name](), "gemini-3.6-flash", host_row(host))
    assert {violation.rule for violation in found if violation.severity == "error"} <= allowed.get(
        name, set()
    )


def test_names_of_functions_are_told_and_not_mapped() -> None:
    """`contents` does not rename functions with a name that Gemini refuses: only the caller could
    map the names of calls back.
    """
    declared = GenerateContentRequest(
        contents=single().contents,
        tools=[
            Tool(
                function_declarations=[
                    FunctionDeclaration(name="fs/read"),
                    FunctionDeclaration(name="9"),
                ]
            )
        ],
    )
    found = check(declared)
    assert [(violation.rule, violation.path) for violation in found] == [
        ("G28", "tools[0].functionDeclarations[0].name"),
        ("G28", "tools[0].functionDeclarations[1].name"),
    ]
    assert found[0].message == "'fs/read' is not a function name"
