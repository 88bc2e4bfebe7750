"""What users of other libraries type first, and the words with which each of it is refused.

Each row is a line of code and words that the message must hold: the name that was typed, and what
to write in its place.
"""

from __future__ import annotations

import copy
import pickle
import timeit
from typing import Any

import msgspec
import pytest

import wire
from tests.joined import joined
from wire import anthropic, errors, gemini, openai
from wire.core.fields import Fields
from wire.core.lazy import foreign_words

NAMES: dict[str, Any] = {
    **{name: getattr(wire, name) for name in wire.__all__},
    "wire": wire,
    "errors": errors,
    "gemini": gemini,
    "openai": openai,
    "anthropic": anthropic,
}

# --- structs that are built -----------------------------------------------------------------------

BUILT = {
    "Message(role='user', content='Hi')": "Message.content | no such field | Message.user('...')",
    "Message('user', content='Hi')": "Message.content | parts=...",
    "Message(content='Hi')": "Message.content | Message.user('...')",
    "Message()": "Message.role: it is missing | Message.user('...')",
    "Message('human', 'Hi')": "message.role | system, developer, user, assistant, tool | 'human'",
    "Message(role='model', parts='Hi')": "message.role | assistant | not 'model'",
    "Message(role='user', text='Hi')": "Message.text | Message.user('...')",
    "Message(role='user', parts='Hi', metadata={})": "Message.metadata | role, parts, name",
    "Message(role='tool', tool_call_id='c', content='x')": "Message.tool_result(call, content)",
    "Message(role='assistant', tool_calls=[])": "Message.assistant_tool_calls(calls)",
    "Message('user', 'Hi', '', False, (), 5)": "Message: it takes 5 values without a name",
    "Media('chart.png')": "Media.file(path) | Media(url=...)",
    "Media(path='chart.png')": "Media.path | Media.file(path)",
    "Media(file='chart.png')": "Media.file | no such field | write Media.file(path)",
    "Media(data=b'x', mime_type='image/png')": "Media.mime_type | 'media_type'",
    "Media(uri='https://example.com/a.png')": "Media.uri | 'url'",
    "Media(image_url='https://example.com/a.png')": "Media.image_url | 'url'",
    "Media(source={'type': 'base64'})": "Media.source | Media(data=..., media_type=...)",
    "Media(base64='aGk=')": "Media.base64 | data=base64.b64decode(...)",
    "Media(data='aGk=', media_type='image/png')": "media.data | expected bytes | Media.file(path)",
    "Media()": "media | either data or url",
    "ToolResult(tool_call_id='c', content='x')": "ToolResult.tool_call_id | 'id'",
    "ToolResult(tool_use_id='c', content='x')": "ToolResult.tool_use_id | 'id'",
    "ToolResult('c', 'f', 'x', is_error=True)": "ToolResult.is_error | 'error'",
    "ToolResult('c', output='x')": "ToolResult.output | 'content'",
    "ToolResult('c')": "ToolResult.name: it is missing | Message.tool_result(call, content)",
    "Tool(name='f', input_schema={})": "Tool.input_schema | 'parameters'",
    "Tool(name='f', inputSchema={})": "Tool.inputSchema | 'parameters'",
    "Tool(name='f', args_schema=int)": "Tool.args_schema | 'parameters'",
    "Tool(type='function', function={})": "Tool.type | Tool(name=..., parameters=...)",
    "Tool(func=print, description='x')": "Tool.func | wire.tool(function)",
    "Tool()": "Tool.name: it is missing",
    "Request(messages=[], max_output_tokens=5)": "Request.max_output_tokens | 'max_tokens'",
    "Request(messages=[], model='m')": "Request.model | Chat('provider:model')",
    "Request('Hi')": "no values without a name | messages=[Message.user('...')]",
    "Request()": "Request.messages: it is missing",
    "Output(json_schema={})": "Output.json_schema | 'schema'",
    "Location(town='Brest')": "Location.town | city, region, country",
    "Retry(max_retries=3)": "Retry.max_retries | 'attempts'",
    "Retry(max_attempts=3)": "Retry.max_attempts | 'attempts'",
    "Timeouts(read=5)": "Timeouts.read | 'idle'",
    "Timeouts(timeout=5)": "Timeouts.timeout | 'total'",
    "Timeouts(connect_timeout=5)": "Timeouts.connect_timeout | 'connect'",
    "Limits(max_body=5)": "Limits.max_body | did you mean 'body'?",
    "openai.Dialect(reasoning=('a',))": "Dialect.reasoning | did you mean 'reasoning_slots'?",
    "openai.Dialect(max_tokens='max_tokens')": "Dialect.max_tokens | no such field",
    "gemini.Dialect(vertex=True)": "Dialect.vertex | api='vertex'",
    "anthropic.Dialect(caching=True)": "Dialect.caching | there are vendor_rules",
    "openai.ChatCompletionRequest(model='m', messages=[], max_output_tokens=5)": (
        "ChatCompletionRequest.max_output_tokens | 'max_completion_tokens'"
    ),
    "openai.ChatCompletionRequest(model='m', input='Hi')": "ChatCompletionRequest.input | messages",
    "openai.ChatCompletionRequest(messages=[], max_token=5)": "did you mean 'max_tokens'?",
    "openai.ChatCompletionRequest('m', [])": "no values without a name | there are model, messages",
    "openai.ChatCompletionRequest(model='m')": "ChatCompletionRequest.messages: it is missing",
    "openai.ChatCompletionRequest(model='m', messages=[], json_schema={})": (
        "json_schema | ResponseFormat | response_format="
    ),
    "openai.responses.ResponseRequest(messages=[])": "ResponseRequest.messages | 'input'",
    "openai.responses.ResponseRequest(input='Hi', max_tokens=5)": "'max_output_tokens'",
    "anthropic.MessageRequest(model='m', messages=[], max_tokens=5, max_output_tokens=5)": (
        "MessageRequest.max_output_tokens | 'max_tokens'"
    ),
    "anthropic.MessageRequest(model='m', messages=[], max_tokens=5, stop=['x'])": (
        "MessageRequest.stop | 'stop_sequences'"
    ),
    "anthropic.MessageRequest(messages=[], max_tokens=5, system_instruction='x')": "'system'",
    "gemini.GenerateContentRequest(prompt='Hi')": "contents=gemini.contents('...')",
    "gemini.GenerateContentRequest(contents=[], config={})": "'generation_config'",
    "gemini.GenerateContentRequest(contents=[], systemInstruction='x')": "'system_instruction'",
    "gemini.GenerateContentRequest(contents=[], system='x')": "'system_instruction'",
    "gemini.GenerateContentRequest(contents=[], temperature=0)": (
        "temperature | a field of GenerationConfig | generation_config="
    ),
    "gemini.GenerateContentRequest(contents=[], max_tokens=5)": (
        "max_tokens | a field of GenerationConfig | max_output_tokens="
    ),
    "gemini.GenerationConfig(max_tokens=5)": "GenerationConfig.max_tokens | 'max_output_tokens'",
    "gemini.GenerationConfig(maxOutputTokens=5)": "'max_output_tokens'",
    "gemini.GenerationConfig(thinking_budget=5)": "a field of ThinkingConfig | thinking_config=",
    "Message.human('Hi')": "'human' | 'user'",
    "Message.ai('Hi')": "'ai' | 'assistant'",
    "Media.from_file('chart.png')": "'from_file' | 'file'",
    "Media.from_url('https://example.com/a.png')": "'from_url' | Media(url=...)",
    "Media.from_bytes(b'x')": "'from_bytes' | Media(data=..., media_type=...)",
    "Tool.from_function(print)": "'from_function' | wire.tool(function)",
}


def said(code: str) -> str:
    with pytest.raises((wire.WireError, AttributeError, TypeError)) as caught:
        eval(code, dict(NAMES))
    return str(caught.value)


@joined("code", BUILT)
def test_a_struct_that_is_built_wrongly_says_what_to_write(code: str) -> None:
    message = said(code)
    for words in BUILT[code].split(" | "):
        assert words in message


def test_it_is_a_type_error_too_and_hides_what_may_be_a_key() -> None:
    with pytest.raises(TypeError) as caught:
        wire.Media(**{"sk-proj-" + "a1B2" * 12: "x"})
    assert isinstance(caught.value, errors.ConfigurationError)
    assert "a1B2" not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_type_error_of_the_struct_itself_is_raised_as_it_is() -> None:
    class Odd(msgspec.Struct, metaclass=Fields):
        value: int

        def __post_init__(self) -> None:
            raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$") as caught:
        Odd(5)
    assert not isinstance(caught.value, wire.WireError)


def test_classes_with_the_guard_are_copied_and_pickled_and_decoded() -> None:
    message = wire.Message.user("Hi", wire.Media(url="https://example.com/a.png"))
    assert copy.deepcopy(message) == pickle.loads(pickle.dumps(message)) == message
    assert msgspec.json.decode(b'{"attempts": 2}', type=wire.Retry) == wire.Retry(attempts=2)
    assert not hasattr(wire.Message, "nothing")
    assert not hasattr(wire.Message, "__nothing__")


def test_the_rows_of_the_guard_lead_to_fields() -> None:
    kinds = [wire, openai, gemini, anthropic]
    for name, rows in foreign_words()["fields"].items():
        kind = next(getattr(each, name) for each in kinds if name in dir(each))
        for foreign, own in rows.items():
            assert foreign not in kind.__struct_fields__
            assert " " in own or own in kind.__struct_fields__, (name, foreign)
    for name, rows in foreign_words()["constructors"].items():
        kind = getattr(wire, name)
        for foreign, own in rows.items():
            assert not foreign or not hasattr(kind, foreign)
            assert " " in own or hasattr(kind, own), (name, foreign)


def test_the_guard_costs_little() -> None:
    """Ratios of one run. Parts that replies are full of do without the guard."""
    assert {type(each) for each in (wire.Text, wire.Thought, wire.ToolCall)} == {msgspec.StructMeta}

    def seconds(code: str) -> float:
        return min(
            timeit.repeat(
                code, globals={**NAMES, "raw": msgspec.StructMeta.__call__}, number=2000, repeat=15
            )
        )

    # A message by its constructors costs no call of the guard.
    assert seconds("Message.user('Hi')") < 2.5 * seconds("raw(Message, 'user', (Text('Hi'),))")
    assert seconds("Message('user', ())") < 4 * seconds("raw(Message, 'user', ())")
