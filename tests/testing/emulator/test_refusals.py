"""What is refused, in the server's words, and what is taken though a stricter reading would refuse
it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gemini import refused_contents, refused_rest
from tests.gemini.refused_nearly import MISSES
from tests.joined import joined
from tests.testing.emulator.asks import (
    GEMINI_3,
    GEMINI_25,
    KEY,
    VERTEX,
    WEATHER,
    ask,
    error,
    model,
    parts,
    post,
    results,
    said,
    stream,
    user,
)
from wire.gemini import PLACEHOLDER
from wire.testing.emulator import Emulator

MISSING = (
    "Function call is missing a thought_signature in functionCall parts. This is "
    "required for tools to work correctly, and "
    "missing thought_signature may lead to degraded model performance. Additional data, "
    "function call `default_api:get_weather` , "
    "position {}. Please refer to "
    "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
)
CALL = {"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}}
DUMMY = {**CALL, "thoughtSignature": PLACEHOLDER}


def send(emulator: Emulator, contents: list[Any], target: str = GEMINI_3, **more: Any) -> Any:
    return post(
        emulator, f"{target}:generateContent", {"contents": contents, "tools": [WEATHER], **more}
    )


def refused(answer: Any) -> str:
    status, code, message = error(answer)
    assert (status, code) == (400, "INVALID_ARGUMENT")
    return message


# --- who asks -------------------------------------------------------------------------------------


def test_no_key_is_403_and_a_bad_one_400() -> None:
    emulator, path, body = (
        Emulator(),
        f"{GEMINI_3}:generateContent",
        json.dumps({"contents": [user("hi")]}).encode(),
    )
    nobody = emulator.answer("POST", path, {}, body)
    assert error(nobody) == (
        403,
        "PERMISSION_DENIED",
        "Method doesn't allow unregistered callers (callers without established "
        "identity). Please use API Key or other form of API "
        "consumer identity to call this API.",
    )
    bad = emulator.answer("POST", path, {"X-Goog-Api-Key": "bad-key"}, body)
    assert refused(bad) == "API key not valid. Please pass a valid API key."
    assert json.loads(bad.body)["error"]["details"][0]["reason"] == "API_KEY_INVALID"
    assert emulator.answer("POST", f"{path}?key=k", {}, body).status == 200
    assert emulator.answer("POST", path, {"authorization": "Bearer t"}, body).status == 200
    assert [each.get("rule") for each in emulator.requests] == ["G73", "G73", None, None]


def test_vertex_wants_a_token() -> None:
    emulator, path, body = (
        Emulator(),
        f"{VERTEX}:generateContent",
        json.dumps({"contents": [user("hi")]}).encode(),
    )
    assert error(emulator.answer("POST", path, {}, body))[:2] == (401, "UNAUTHENTICATED")
    assert error(emulator.answer("POST", path, KEY, body))[2].startswith(
        "API keys are not supported by this API."
    )
    assert emulator.answer("POST", path, {"Authorization": "Bearer token"}, body).status == 200
    express = "/v1beta1/publishers/google/models/gemini-3-flash-preview:generateContent"
    assert emulator.answer("POST", express, KEY, body).status == 200


# --- what is asked --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "/v1beta/models/gemini-3.6-flahs:generateContent",
            "models/gemini-3.6-flahs is not found for API version v1beta, or is not "
            "supported for generateContent. Call ListModels to see "
            "the list of available models and their supported methods.",
        ),
        (
            "/v1/models/gemini-embedding-001:streamGenerateContent?alt=sse",
            "models/gemini-embedding-001 is not found for API version v1, or is not "
            "supported for generateContent. Call ListModels to see "
            "the list of available models and their supported methods.",
        ),
        (
            "/v1beta/models/gemini-2.5-flash:batchEmbedContents",
            "models/gemini-2.5-flash is not found for API version v1beta, or is not "
            "supported for embedContent. Call ListModels to see the "
            "list of available models and their supported methods.",
        ),
    ],
)
def test_unknown_models(target: str, message: str) -> None:
    answer = post(Emulator(), target, {"contents": [user("hi")]})
    assert error(answer) == (404, "NOT_FOUND", message)
    # An error in place of a stream is plain JSON under the stream's label.
    assert dict(answer.headers)["content-type"] == (
        "text/event-stream" if "sse" in target else "application/json; charset=UTF-8"
    )


def test_unknown_model_of_vertex_and_a_name_that_is_none() -> None:
    wrong = VERTEX.replace("gemini-3-flash-preview", "gemini-does-not-exist")
    answer = post(
        Emulator(), f"{wrong}:generateContent", {"contents": [user("hi")]}, authorization="Bearer t"
    )
    assert (
        error(answer)[2] == "Publisher Model "
        "`projects/p/locations/global/publishers/google/models/gemini-does-not-exist` "
        "not found."
    )
    odd = post(Emulator(), "/v1beta/models/bad%20model:generateContent", {"contents": [user("hi")]})
    assert refused(odd) == "* GenerateContentRequest.model: unexpected model name format\n"


def test_paths_that_are_none() -> None:
    assert post(Emulator(), "/v1beta/nothing", {}).status == 404
    assert post(Emulator(), f"{GEMINI_3}:doSomething", {}).status == 404
    assert Emulator().answer("DELETE", "/v1beta/models", KEY, b"").status == 405
    assert Emulator().answer("GET", f"{GEMINI_3}:generateContent", KEY, b"").status == 405


def test_rules() -> None:
    emulator = Emulator()
    both = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 1, "thinking_level": "LOW"}}}
    assert refused(
        post(emulator, f"{GEMINI_3}:generateContent", {"contents": [user("hi")], **both})
    ) == ("You can only set only one of thinking budget and thinking level.")
    assert "contents is not specified" in refused(
        post(emulator, f"{GEMINI_3}:generateContent", {"contents": []})
    )
    cached = {
        "contents": [user("hi")],
        "cachedContent": "cachedContents/x",
        "systemInstruction": {"parts": [{"text": "a"}]},
    }
    assert "CachedContent can not be used with GenerateContent request setting" in refused(
        post(emulator, f"{GEMINI_3}:generateContent", cached)
    )
    assert refused(post(emulator, f"{GEMINI_3}:generateContent", b"{")).startswith(
        "Invalid JSON payload received."
    )
    assert [each.get("rule") for each in emulator.requests][:2] == ["G58", "G4"]


def test_lenient_takes_what_the_rules_refuse_and_every_model() -> None:
    body = {
        "contents": [user("hi")],
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 1, "thinkingLevel": "LOW"}},
    }
    assert (
        post(Emulator(lenient=True), "/v1beta/models/anything:generateContent", body).status == 200
    )
    assert (
        send(Emulator(lenient=True), [user("w"), model(CALL), results("get_weather")]).status == 200
    )


# --- signatures -----------------------------------------------------------------------------------


def test_a_call_without_its_signature() -> None:
    assert refused(
        send(Emulator(), [user("w"), model(CALL), results("get_weather")])
    ) == MISSING.format(2)
    two = [user("w"), model(DUMMY), results("get_weather"), model(CALL), results("get_weather")]
    assert refused(send(Emulator(), two)) == MISSING.format(4)
    vertex = post(
        Emulator(),
        f"{VERTEX}:generateContent",
        {"contents": [user("w"), model(CALL), results("get_weather")]},
        authorization="Bearer t",
    )
    assert refused(vertex) == (
        "Unable to submit request because function call `get_weather` in the 2. content "
        "block is missing a `thought_signature`."
    )


def test_the_signature_on_the_second_of_two_calls_alone() -> None:
    assert refused(
        send(Emulator(), [user("w"), model(CALL, DUMMY), results("get_weather", "get_weather")])
    ) == MISSING.format(2)


@pytest.mark.parametrize(
    "signature",
    [
        PLACEHOLDER,
        "skip_thought_signature_validator",
        "context_engineering_is_the_way_to_go",
        "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv",
    ],
)
def test_the_documented_stand_ins(signature: str) -> None:
    assert (
        send(
            Emulator(),
            [user("w"), model({**CALL, "thoughtSignature": signature}), results("get_weather")],
        ).status
        == 200
    )


def test_foreign_signatures() -> None:
    foreign = {**CALL, "thoughtSignature": "RXJRQ0NrZ0lCeEFCR0FJaVFBPT0="}
    contents = [user("w"), model(foreign), results("get_weather")]
    assert refused(send(Emulator(), contents)) == "Corrupted thought signature."
    assert send(Emulator(), contents, GEMINI_25).status == 200
    vertex = post(
        Emulator(), f"{VERTEX}:generateContent", {"contents": contents}, authorization="Bearer t"
    )
    assert refused(vertex) == "Unable to submit request because Thought signature is not valid.."


def test_earlier_turns_are_not_looked_at() -> None:
    contents = [
        user("w"),
        model(CALL),
        results("get_weather"),
        model({"text": "ok"}),
        user("and now?"),
    ]
    assert send(Emulator(), contents).status == 200


class Conversation:
    """A question, two parallel calls, their results: what the server signed comes back as `change`
    makes it.
    """

    def __init__(self) -> None:
        self.emulator = Emulator()
        self.question = user("Weather in Paris and in Oslo?")
        self.calls = parts(ask(self.emulator, "Weather in Paris and in Oslo?", tools=[WEATHER]))

    def back(self, *calls: Any) -> Any:
        return send(
            self.emulator, [self.question, model(*calls), results(*["get_weather"] * len(calls))]
        )


def test_what_was_given_comes_back() -> None:
    talk = Conversation()
    answer = said(talk.back(*talk.calls))
    assert (
        parts(answer)[0]["text"]
        == 'Your tool get_weather says {"result": "ok"} and get_weather says {"result": "ok"}.'
    )


def test_it_may_come_back_in_the_other_alphabet_and_without_padding() -> None:
    talk = Conversation()
    first, second = talk.calls
    other = first["thoughtSignature"].replace("+", "-").replace("/", "_").rstrip("=")
    assert talk.back({**first, "thoughtSignature": other}, second).status == 200


def test_wrong_moved_and_missing_signatures() -> None:
    talk = Conversation()
    first, second = talk.calls
    bare = {"functionCall": first["functionCall"]}
    signature = first["thoughtSignature"]
    mangled = signature[:10] + ("A" if signature[10] != "A" else "B") + signature[11:]
    assert (
        refused(talk.back({**first, "thoughtSignature": mangled}, second))
        == "Corrupted thought signature."
    )
    assert refused(talk.back(bare, second)) == MISSING.format(2)
    assert refused(talk.back(bare, {**second, "thoughtSignature": signature})) == MISSING.format(2)
    assert (
        refused(talk.back(first, {**second, "thoughtSignature": signature}))
        == "Corrupted thought signature."
    )
    renamed = {
        "functionCall": {**first["functionCall"], "name": "get_time"},
        "thoughtSignature": signature,
    }
    assert (
        refused(send(talk.emulator, [talk.question, model(renamed), results("get_time")]))
        == "Corrupted thought signature."
    )


def test_a_signature_of_another_step() -> None:
    talk = Conversation()
    first = talk.calls[0]
    forced = {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}
    answer = send(talk.emulator, [talk.question, model(first), results("get_weather")], **forced)
    later = parts(said(answer))[0]
    assert later["thoughtSignature"] != first["thoughtSignature"]
    contents = [
        talk.question,
        model(first),
        results("get_weather"),
        model(later),
        results("get_weather"),
    ]
    assert send(talk.emulator, contents).status == 200
    contents[3] = model({**later, "thoughtSignature": first["thoughtSignature"]})
    assert refused(send(talk.emulator, contents)) == "Corrupted thought signature."


def test_a_step_may_come_back_without_the_steps_before_it() -> None:
    """So do the turns of a client that keeps a long history short."""
    emulator, question = Emulator(), user("Weather in Oslo?")
    contents, asked = [question], {"tools": [WEATHER], "toolConfig": ANY}
    for _ in range(3):
        body = {"contents": contents, **asked}
        call = parts(said(post(emulator, f"{GEMINI_3}:generateContent", body)))[0]
        contents += [model(call), results("get_weather")]
    assert send(emulator, [question, *contents[-2:]]).status == 200


def test_another_server_with_another_seed_does_not_know_it() -> None:
    talk = Conversation()
    contents = [talk.question, model(*talk.calls), results("get_weather", "get_weather")]
    assert send(Emulator(), contents).status == 200
    assert refused(send(Emulator(seed=7), contents)) == "Corrupted thought signature."


# --- what Google's own clients send ---------------------------------------------------------------


def test_adjacent_contents_of_the_model_one_for_each_chunk() -> None:
    emulator, question = Emulator(), "Weather in Paris and in Oslo?"
    told = [
        chunk["candidates"][0]["content"] for chunk in stream(emulator, question, tools=[WEATHER])
    ]
    assert len(told) == 3
    assert parts(told[-1:] and [{"candidates": [{"content": told[-1]}]}]) == [{"text": ""}]
    assert (
        send(emulator, [user(question), *told, results("get_weather", "get_weather")]).status == 200
    )
    assert (
        send(
            emulator,
            [
                user("hi"),
                model({"text": "a"}),
                model({"text": "b"}),
                model({"text": ""}),
                user("and?"),
            ],
        ).status
        == 200
    )


def test_results_without_the_ids_that_their_calls_had() -> None:
    emulator, target = Emulator(), "/v1beta/models/gemini-3.5-flash"
    calls = parts(ask(emulator, "Weather in Oslo?", target, tools=[WEATHER]))
    assert "id" in calls[0]["functionCall"]
    assert (
        send(
            emulator, [user("Weather in Oslo?"), model(*calls), results("get_weather")], target
        ).status
        == 200
    )


def test_results_without_ids_of_somebody_elses_calls_and_with_wrong_ones() -> None:
    emulator, target = Emulator(), "/v1beta/models/gemini-3.5-flash"
    call = {
        "functionCall": {"name": "get_weather", "args": {}, "id": "abc123"},
        "thoughtSignature": PLACEHOLDER,
    }
    assert (
        refused(send(emulator, [user("w"), model(call), results("get_weather")], target))
        == "Request contains an invalid argument."
    )
    calls = parts(ask(emulator, "Weather in Oslo?", target, tools=[WEATHER]))
    wrong = {
        "role": "user",
        "parts": [{"functionResponse": {"name": "get_weather", "id": "x", "response": {}}}],
    }
    assert (
        refused(send(emulator, [user("Weather in Oslo?"), model(*calls), wrong], target))
        == "Request contains an invalid argument."
    )


# --- the cases of the rules -----------------------------------------------------------------------

HITS = {**refused_contents.HITS, **refused_rest.HITS}
ERA = "2025-06-01"
"""A day on which every model answered that a rule names."""
ANY = {"functionCallingConfig": {"mode": "ANY"}}
STATE = {"G25", "G68", "G72", "G84"}
"""What the server alone knows: who signed, which files, models and cached contents there are."""


def asked(case: Any, emulator: Emulator) -> Any:
    name = case.model or ("gemini-embedding-001" if "mbed" in case.endpoint else "gemini-2.5-flash")
    if case.host == "vertex":
        target = (
            f"/v1beta1/projects/p/locations/global/publishers/google/models/{name}:{case.endpoint}"
        )
        return post(emulator, target, case.body, authorization="Bearer t")
    return post(emulator, f"/{case.version}/models/{name}:{case.endpoint}", case.body)


@joined("name", [name for name, case in HITS.items() if case.severity == "error"])
def test_what_the_rules_find_is_refused_in_their_words(name: str) -> None:
    case = HITS[name]
    answer = asked(case, Emulator(date=ERA))
    assert (answer.status, answer.rule) == (400, case.rule)
    assert case.words in json.loads(answer.body)["error"]["message"]


@joined("name", [name for name, case in HITS.items() if case.severity == "warning" and case.words])
def test_what_was_refused_once_is_refused_in_the_mode_of_that_era_alone(name: str) -> None:
    case = HITS[name]
    assert asked(case, Emulator(warnings_too=True, date=ERA)).status == 400
    now = asked(case, Emulator())
    assert now.status == 200 or now.rule in STATE


@joined(
    "name",
    [name for name, case in MISSES.items() if case.host and case.model and "/" not in case.model],
)
def test_what_the_rules_take_is_answered(name: str) -> None:
    answer = asked(MISSES[name], Emulator())
    assert answer.status == 200 or answer.rule in STATE


def test_half_a_letter_in_the_words_of_a_refusal() -> None:
    assert "�" in refused(
        post(Emulator(), f"{GEMINI_3}:generateContent", b'{"contents": "\\ud800"}')
    )
