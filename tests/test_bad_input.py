"""What is wrong is named by one typed error, before anything is sent, whichever door it comes in
by.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.joined import joined
from wire import Client, Retry, Timeouts, WireError, gemini

CALL = gemini.generate_content("m", gemini.GenerateContentRequest(contents=gemini.contents("Hi")))
CLIENT = Client("gemini", api_key="fake-key")


def asking(**fields: Any) -> Any:
    return gemini.generate_content(
        "m", gemini.GenerateContentRequest(contents=gemini.contents("Hi"), **fields)
    )


@joined(
    ("wrong", "told"),
    [
        (lambda: gemini.contents(5), "turns[0]: "),
        (
            lambda: gemini.function_response("get_weather", 1),
            "function_response: expected a FunctionCall, not str",
        ),
        (lambda: gemini.schema(5), "a schema must be an object, not int"),
        (lambda: gemini.tools("now"), "tools[0]: "),
        (lambda: gemini.function_declaration("two words"), "name: 'two words'"),
        (
            lambda: gemini.function_declaration("now", parameters={"properties": 5}),
            "parameters.properties: ",
        ),
        (lambda: gemini.get_model(""), "model: "),
        (lambda: gemini.list_models("ten"), "pageSize: "),
        (lambda: gemini.count_tokens("m", 5), "request: "),
        (lambda: asking(generation_config=5), "generationConfig: "),
        (
            lambda: asking(tools=[gemini.Tool(function_declarations=[{"name": 5}])]),
            "tools[0].functionDeclarations[0].name: ",
        ),
        (lambda: asking(system_instruction="Be terse."), "systemInstruction: "),
        (lambda: CALL.replace(query=5), "query: "),
        (lambda: CALL.replace(timeouts=5), "timeouts: "),
        (lambda: CALL.replace(body_extra=5), "body_extra: expected a mapping"),
        (lambda: CALL.replace(headers=5), "headers: "),
        (lambda: CLIENT.preview(5), "call: "),
        (lambda: CLIENT.send(5), "call: "),
        (lambda: Client(5), "provider: 5 is unknown"),
        (lambda: Client("gemini", colour="red"), "colour: no such option"),
        (lambda: Client("gemini", retry=5), "retry: "),
        (lambda: Timeouts(idle="long"), "timeouts.idle: "),
        (lambda: Retry(attempts=0), "retry.attempts: "),
    ],
)
def test_named(wrong: Any, told: str) -> None:
    with pytest.raises(WireError) as caught:
        wrong()
    assert told in str(caught.value)
    assert caught.value.__cause__ is None
