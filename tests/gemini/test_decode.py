"""Decoding of requests in the spellings of other clients."""

from __future__ import annotations

import pytest

import wire
from tests.joined import joined
from wire.core.memory import encode
from wire.errors import RuleError
from wire.gemini import types
from wire.gemini.decode import decode

PLAIN = types.GenerateContentRequest(
    contents=[types.Content(role="user", parts=[types.Part(text="Hi")])],
    generation_config=types.GenerationConfig(
        thinking_config=types.ThinkingConfig(thinking_budget=0)
    ),
)


@joined(
    "body",
    [
        b'{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],'
        b'"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}',
        b'{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],'
        b'"generation_config":{"thinking_config":{"thinking_budget":0}}}',
        b'{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],'
        b'"generationConfig":{"thinking_config":{"thinkingBudget":0}}}',
        b'{"contents":{"role":"user","parts":{"text":"Hi"}},'
        b'"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}',
        b'{"contents":[{"role":"user","parts":[{"text":"Hi","inline_data":null}]}],'
        b'"tools":null,"generationConfig":{"thinkingConfig":{"thinkingBudget":"0"}}}',
    ],
    ids=["camel", "snake", "both", "bare-objects", "nulls-and-text-numbers"],
)
def test_spellings_of_one_request(body: bytes) -> None:
    assert decode(body, types.GenerateContentRequest) == PLAIN


def test_names_of_properties_are_no_keys_of_ours() -> None:
    """A property `max_items` is data; a keyword `max_items` is a spelling of `maxItems`."""
    body = (
        b'{"tools":[{"function_declarations":[{"name":"f",'
        b'"parameters":{"properties":{"max_items":{"type":"ARRAY","max_items":3}}}}]}]}'
    )
    request = decode(body, types.GenerateContentRequest)
    assert request.tools[0].function_declarations[0].parameters.properties == {  # type: ignore[index]
        "max_items": types.Schema(type="ARRAY", max_items=3)
    }


def test_values_are_left_as_they_are() -> None:
    args = {"snake_case": None, "one": [{"a_b": 1}], "two": {"c_d": None}}
    body = (
        b'{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"snake_case":null,'
        b'"one":[{"a_b":1}],"two":{"c_d":null}}}}]}]}'
    )
    request = decode(body, types.GenerateContentRequest)
    assert request.contents[0].parts[0].function_call.args == args  # type: ignore[index,union-attr]


def test_integer_enums_and_unknown_keys() -> None:
    body = (
        b'{"contents":[{"parts":[{"text":"Hi","new_thing":{"a_b":1}}]}],'
        b'"safety_settings":[{"category":7,"threshold":4}],"newer":2}'
    )
    request = decode(body, types.GenerateContentRequest)
    assert request.safety_settings == [types.SafetySetting(category=7, threshold=4)]
    assert wire.unknown(request) == [("contents[0].parts[0].new_thing", {"a_b": 1}), ("newer", 2)]
    assert b'"new_thing":{"a_b":1}' in encode(request)


@joined(
    ("body", "problem"),
    [
        (b'{"contents":[{"parts":[{"text":5}]}]}', "contents[0].parts[0].text: "),
        (b'{"generation_config":{"temperature":"warm"}}', "generationConfig.temperature: "),
        (b"[]", "Expected `object`, got `array`"),
        (b"{", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
    ],
    ids=["text", "number", "array", "cut", "not-utf8"],
)
def test_what_no_spelling_allows_is_named(body: bytes, problem: str) -> None:
    with pytest.raises(RuleError) as caught:
        decode(body, types.GenerateContentRequest)
    assert problem in str(caught.value)


def test_half_a_surrogate_pair() -> None:
    request = decode(
        b'{"contents":[{"parts":[{"text":"a \\ud83d"}]}]}', types.GenerateContentRequest
    )
    assert request.contents[0].parts[0].text == "a \ufffd"  # type: ignore[index]
