"""Answers of Gemini that take several requests, as the emulator gives them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.joined import joined
from wire import Client, gemini
from wire.errors import BadRequestError, ConfigurationError
from wire.gemini import Candidate, GenerateContentResponse
from wire.testing.emulator import Emulator, EmulatorTransport

MODEL = "gemini-3.8-flash"
WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"


def script(**say: Any) -> Emulator:
    return Emulator([{"say": {"text": WORDS, "hops": 3, **say}}])


def request(text: str = "Count.", token: str | None = None) -> gemini.GenerateContentRequest:
    return gemini.GenerateContentRequest(contents=gemini.contents(text), continuation_token=token)


def first(response: GenerateContentResponse) -> Candidate:
    assert response.candidates
    return response.candidates[0]


def whole(emulator: Emulator, token: str | None = None) -> GenerateContentResponse:
    with Client("gemini", api_key="fake-key", http=EmulatorTransport(emulator)) as client:
        return client.send(gemini.generate_content(MODEL, request(token=token)))


def chunks(emulator: Emulator, token: str | None = None) -> list[GenerateContentResponse]:
    with Client("gemini", api_key="fake-key", http=EmulatorTransport(emulator)) as client:
        with client.stream(gemini.stream_generate_content(MODEL, request(token=token))) as read:
            return list(read)


def test_each_request_gets_a_part_and_reads_what_came_before() -> None:
    emulator, texts, prompts = script(), [], []
    token = None
    for finish in ("CONTINUATION", "CONTINUATION", "STOP"):
        answer = whole(emulator, token)
        assert first(answer).finish_reason == finish
        token = first(answer).continuation_token
        texts.append(answer.text)
        assert answer.usage_metadata is not None
        prompts.append(answer.usage_metadata.prompt_token_count)
    assert "".join(texts) == WORDS
    assert all(texts)
    assert token is None
    assert prompts == sorted(set(prompts))


def test_a_stream_has_tokens_after_its_first_chunk_and_goes_on_at_each() -> None:
    emulator = script()
    told = chunks(emulator)
    tokens = [first(chunk).continuation_token for chunk in told]
    assert tokens[0] is None
    assert all(tokens[1:])
    text = ""
    for chunk, token in zip(told, tokens, strict=True):
        text += chunk.text
        if token is not None:
            rest = whole(emulator, token).text
            assert WORDS.startswith(text + rest)
            assert rest
    assert first(told[-1]).finish_reason == "CONTINUATION"
    token = tokens[-1]
    while token is not None:
        told = chunks(emulator, token)
        text += "".join(chunk.text for chunk in told)
        token = first(told[-1]).continuation_token
    assert text == WORDS


def test_calls_and_the_finish_come_last() -> None:
    emulator = script(calls=[{"name": "tide", "args": {}}], finish="MAX_TOKENS", thoughts="Hm.")
    answers = [whole(emulator)]
    for _ in range(2):
        answers.append(whole(emulator, first(answers[-1]).continuation_token))
    assert [len(answer.function_calls) for answer in answers] == [0, 0, 1]
    assert first(answers[-1]).finish_reason == "MAX_TOKENS"


def test_a_token_that_was_not_given_is_refused() -> None:
    with pytest.raises(BadRequestError, match=r"Invalid continuation token\."):
        whole(script(), "bm90IG1pbmU=")


def test_a_token_of_another_request_is_refused() -> None:
    emulator = script()
    token = first(whole(emulator)).continuation_token
    with Client("gemini", api_key="fake-key", http=EmulatorTransport(emulator)) as client:
        with pytest.raises(BadRequestError, match="does not match"):
            client.send(gemini.generate_content(MODEL, request("Count on.", token)))


def test_a_short_answer_takes_one_request() -> None:
    answer = whole(script(text="One."))
    assert (answer.text, first(answer).finish_reason) == ("One.", "STOP")
    assert first(answer).continuation_token is None


@joined("hops", [0, -1, "3", True])
def test_a_bad_number_of_requests_is_refused(hops: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"script: steps\[0\]\.say\.hops: expected a"):
        script(hops=hops)
