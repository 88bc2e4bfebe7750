"""What users of other libraries type first, and the words with which each of it is refused.

Each row is a line of code and words that the message must hold: the name that was typed, and what
to write in its place.
"""

from __future__ import annotations

import asyncio
import copy
import importlib
import pickle
import sys
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

import wire
from tests.joined import joined
from wire import anthropic, errors, gemini, openai
from wire.core.fields import Fields
from wire.core.lazy import foreign_words
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

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

# --- values that are read -------------------------------------------------------------------------

READ = {
    "reply.content": "'Reply' | 'content' | here it is 'text'",
    "reply.choices[0].message.content": "'choices' | 'text'",
    "reply.output_text": "'output_text' | 'text'",
    "reply.candidates": "'candidates' | 'text'",
    "reply.parsed": "'parsed' | 'output'",
    "reply.finish_reason": "'finish_reason' | 'stop.reason'",
    "reply.usage_metadata": "'usage_metadata' | 'usage'",
    "reply.parts": "'parts' | 'message.parts'",
    "reply.model_dump()": "'model_dump' | msgspec.to_builtins(reply)",
    "reply.json()": "'json' | msgspec.json.encode(reply)",
    "reply.error": "'error' | 'stop.message'",
    "reply.usage.prompt_tokens": "'Usage' | 'prompt_tokens' | 'input'",
    "reply.usage.completion_tokens": "'completion_tokens' | 'output'",
    "reply.usage.total_tokens": "'total_tokens' | 'total'",
    "reply.message.content": "'Message' | 'content' | 'text'",
    "reply.message.tool_call": "'tool_call' | 'tool_calls'",
    "reply.message.parts[0].content": "'Text' | 'content' | 'text'",
    "reply.message.parts[0].function_call": "'function_call' | 'tool_call'",
    "reply.message.parts[0].type": "'type' | isinstance(part, wire.Text)",
    "call.function.name": "'ToolCall' | 'function' | call.name and call.arguments",
    "call.args": "'args' | 'arguments'",
    "call.input": "'input' | 'arguments'",
    "result.tool_call_id": "'ToolResult' | 'tool_call_id' | 'id'",
    "result.output": "'output' | 'content'",
    "event.content": "'TextDelta' | 'content' | 'text'",
    "event.choices[0].delta": "'choices' | 'text'",
    "Done(reply).message": "'Done' | 'message' | 'reply.message'",
    "reply['choices'][0]": "'Reply' object is not subscriptable | write .text",
    "reply['usage']": "not subscriptable | write .usage",
    "reply.message['content']": "'Message' object is not subscriptable | write .text",
    "reply.usage['prompt_tokens']": "'Usage' object is not subscriptable | write .input",
    "reply[0]": "'Reply' object is not subscriptable | it has attributes",
    "list(reply)": "'Reply' object is not iterable",
    "'text' in event": "TextDelta",
    "error.status_code": "'status_code' | 'status'",
    "error.response": "'response' | 'raw'",
    "error.request": "'request' | 'preview'",
}

# --- calls ----------------------------------------------------------------------------------------

CALLED = {
    "Client('gemini', timeout=5)": "timeout | 'timeouts' | seconds",
    "Client('openai', organization='o')": "organization | headers={'OpenAI-Organization'",
    "Client('openai', max_retries=2)": "max_retries | 'retry' | Retry(attempts=3)",
    "Client()": "missing | 'name'",
    "Chat('gpt-5.6')": "'gpt-5.6' | write 'openai:gpt-5.6'",
    "Chat(provider='openai', model='gpt-5.6')": "provider | 'provider:model'",
    "Chat('openai:gpt-5.6', temprature=0)": "temprature | did you mean 'temperature'?",
    "chat.chat.completions.create(messages=[])": "'chat' | 'ask'",
    "chat.invoke('Hi')": "'invoke' | 'ask'",
    "chat.send_message('Hi')": "'send_message' | 'ask'",
    "chat.with_structured_output(int)": "'with_structured_output' | chat.ask(..., output=TYPE)",
    "chat.bind_tools([])": "'bind_tools' | chat.ask(..., tools=[...])",
    "client.chat.completions.create(model='m')": "'chat' | 'send'",
    "client.ask('Hi')": "'ask' | Chat('provider:model').ask('...')",
    "client.send('Hi')": "call | expected a Call, not str",
    "chat.ask('Hi', max_output_tokens=5)": "max_output_tokens | 'max_tokens'",
    "chat.ask('Hi', model='m')": "model | Chat('provider:model')",
    "chat.ask('Hi', stream=True)": "stream | chat.stream(...)",
    "chat.ask('Hi', temp=0.5)": "temp | 'temperature'",
    "chat.ask('Hi', thinking={'type': 'enabled'})": "thinking | 'effort'",
    "chat.ask('Hi', response_format={})": "response_format | 'output' | a type, a JSON Schema",
    "chat.ask('Hi', 'there')": "positional",
    "chat.ask()": "messages | either a prompt or messages",
    "chat.ask([{'role': 'user', 'content': 'Hi'}])": "not dict | messages=[Message.user('...')]",
    "chat.ask([{'type': 'text', 'text': 'Hi'}])": "not dict | Text('...'), Media(url=...)",
    "chat.ask(messages=[{'role': 'user', 'content': 'Hi'}])": "messages[0] | Message.user('Hi')",
    "chat.ask(messages=[reply])": "messages[0] | not Reply | reply.message",
    "chat.ask(messages='Hi')": "messages | expected a list | ask('...')",
    "chat.ask(Message.user('Hi'))": "message.parts | messages=",
    "chat.ask('Hi', tools=[{'type': 'function'}])": "tools[0] | Tool(name=..., parameters=...)",
    "chat.ask('Hi', tools=['web_search'])": "tools[0] | without quotes | wire.web_search()",
    "chat.ask('Hi', tools=print)": "tools | expected a list | tools=[...]",
    "chat.ask('Hi', output='json_object')": "output | 'json_object' | output='json'",
    "chat.ask('Hi', output={'type': 'json_object'})": "output | output='json'",
    "chat.ask('Hi', output={'type': 'json_schema', 'json_schema': {}})": "the schema itself",
    "chat.ask('Hi', output=point)": "output | the type, not a value of it",
    "chat.ask('Hi', output=Custom)": "output | Custom has no JSON form | a dataclass",
    "tool(of_custom)": "tool of_custom | parameter place | Custom has no JSON form",
    "tool(of_customs)": "parameter places | Custom has no JSON form",
    "tool(lambda x: x)": "parameter x | no type | annotate it",
    "tool('now')": "expected a function, not str",
    "tool(print, desc='x')": "desc | 'description'",
    "Agent(chat, instructions='x')": "instructions | 'system_prompt'",
    "Agent(chat).run_sync('Hi')": "'run_sync' | 'run'",
    "chat.stream('Hi').text": "text | with chat.stream(...) as events:",
    "list(chat.stream('Hi'))": "with chat.stream(...) as events:",
    "in_block(chat.stream('Hi'), 'text')": "'ChatStream' | 'text' | stream.reply().text",
    "in_block(chat.stream('Hi'), 'get_final_message')": "'get_final_message' | 'reply'",
}

# --- names ----------------------------------------------------------------------------------------

NAMED = {
    "wire.OpenAI": "'OpenAI' | wire.Chat('openai:MODEL')",
    "wire.completion": "'completion' | wire.Chat('provider:model').ask('...')",
    "wire.HumanMessage": "'HumanMessage' | wire.Message.user('...')",
    "wire.SystemMessage": "'SystemMessage' | wire.Message.system('...')",
    "wire.Image": "'Image' | 'Media'",
    "wire.RateLimitError": "'RateLimitError' | wire.errors has it",
    "wire.Mesage": "'Mesage' | did you mean 'Message'?",
    "openai.AsyncOpenAI": "'AsyncOpenAI' | wire.AsyncClient('openai')",
    "anthropic.MessagesRequest": "'MessagesRequest' | 'MessageRequest'",
    "gemini.GenerativeModel": "'GenerativeModel' | wire.Chat('gemini:MODEL')",
    "gemini.GenerateContentConfig": "'GenerateContentConfig' | 'GenerationConfig'",
    "errors.APIStatusError": "module 'wire.errors' | 'APIError'",
    "errors.APITimeoutError": "module 'wire.errors' | 'ClockError'",
    "errors.RateLimitedError": "did you mean 'RateLimitError'?",
}


class Custom:
    """A class without a JSON form."""


def of_custom(place: Custom) -> None:
    """A tool."""


def of_customs(places: list[Custom]) -> None:
    """A tool."""


@dataclass
class Point:
    x: int


def in_block(block: Any, name: str) -> Any:
    with block as events:
        return getattr(events, name)


CHAT = wire.Chat(
    "openai@chat:gpt-5.6",
    api_key="fake-key",
    http=EmulatorTransport(Emulator([{"say": "Hello."}] * 9)),
)
NAMES |= {
    "chat": CHAT,
    "client": CHAT.client,
    "reply": CHAT.ask("Hi"),
    "call": wire.ToolCall(name="f"),
    "result": wire.ToolResult("call_1", "f", "x"),
    "event": wire.TextDelta("Hi"),
    "error": errors.RateLimitError("slowly", status=429),
    "point": Point(1),
    **{each.__name__: each for each in (Custom, of_custom, of_customs, in_block)},
}


def said(code: str) -> str:
    with pytest.raises((wire.WireError, AttributeError, TypeError)) as caught:
        eval(code, dict(NAMES))
    return str(caught.value)


ROWS = BUILT | READ | CALLED | NAMED


@joined("code", ROWS)
def test_what_is_wrong_says_what_to_write(code: str) -> None:
    message = said(code)
    for words in ROWS[code].split(" | "):
        assert words in message


IN_TASKS = {
    "with chat: pass": "AsyncChat | async with | for threads there is Chat",
    "with chat.stream('Hi') as events: pass": "async with chat.stream(...) as events:",
    "for event in chat.stream('Hi'): pass": "async with chat.stream(...) as events:",
    "await chat.stream('Hi')": "async with chat.stream(...) as events:",
    "async with chat.stream('Hi') as events:\n  for event in events: pass": "write | async for",
    "async with chat.stream('Hi') as events:\n  list(events)": "AsyncChatStream | async for",
    "async with plain: pass": "Chat: | without async | AsyncChat",
    "with plain.stream('Hi') as events:\n  async for event in events: pass": "ChatStream | async",
}


@joined("code", IN_TASKS)
def test_async_and_plain_are_told_apart(code: str) -> None:
    http = AsyncEmulatorTransport(Emulator([{"say": "Hello."}]))
    chat = wire.AsyncChat("openai@chat:gpt-5.6", api_key="fake-key", http=http)
    names: dict[str, Any] = {"chat": chat, "plain": CHAT}
    exec(f"async def used():\n  {code.replace(chr(10), chr(10) + '  ')}", names)

    async def run() -> None:
        async with chat:
            await names["used"]()

    with pytest.raises(wire.WireError) as caught:
        asyncio.run(run())
    for words in IN_TASKS[code].split(" | "):
        assert words in str(caught.value)


def test_an_unawaited_call_is_named() -> None:
    chat = wire.AsyncChat("openai@chat:gpt-5.6", api_key="fake-key", http=AsyncEmulatorTransport())
    with (
        pytest.warns(RuntimeWarning, match=r"coroutine 'AsyncChat\.ask' was never awaited"),
        pytest.raises(AttributeError, match="'coroutine' object has no attribute 'text'"),
    ):
        _ = chat.ask("Hi").text  # type: ignore[attr-defined]


def test_parts_have_the_attributes_of_each_kind() -> None:
    call, result = wire.ToolCall(name="f"), wire.ToolResult("call_1", "f", "x")
    image = wire.Media(url="https://example.com/a.png")
    parts = (wire.Text("Hi"), wire.Thought("So"), call, result, image)
    assert [part.text for part in parts] == ["Hi", "So", "", None, None]
    assert [part.tool_call for part in parts] == [None, None, call, None, None]
    assert [part.tool_result for part in parts] == [None, None, None, result, None]


def test_the_rows_of_names_lead_to_public_names() -> None:
    for module, rows in foreign_words()["names"].items():
        own = importlib.import_module(module)
        for foreign, name in rows.items():
            assert foreign not in dir(own)
            assert " " in name or name in dir(own), (module, foreign)
    assert dir(errors) == sorted(errors.__all__)


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
    """Counted calls, since a time would depend on the machine. Parts that replies are full of do
    without the guard.
    """
    assert {type(each) for each in (wire.Text, wire.Thought, wire.ToolCall)} == {msgspec.StructMeta}

    def guarded(code: str) -> tuple[int, int]:
        """The calls of functions of Python, and those of the guard among them."""
        counted = [0, 0]

        def count(frame: Any, event: str, argument: Any) -> None:
            if event == "call":
                counted[0] += 1
                counted[1] += frame.f_code is Fields.__call__.__code__

        compiled = compile(code, "code", "eval")
        sys.setprofile(count)
        try:
            eval(compiled, NAMES)
        finally:
            sys.setprofile(None)
        return counted[0] - 1, counted[1]  # without that of `eval`

    # A message by its constructors costs no call of the guard.
    assert guarded("Message.user('Hi')")[1] == 0
    assert guarded("Message('user', ())") == (2, 1)  # and its `__post_init__`
