"""Neutral values: what they hold, what they refuse, and what lies beside their fields."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from wire.catalogue.usage import Usage
from wire.core.memory import Note, notes, with_notes
from wire.errors import BlockedError, RuleError
from wire.gemini import Content, GenerateContentResponse
from wire.neutral.messages import (
    Media,
    Message,
    Origin,
    Other,
    Reply,
    Stop,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    checked,
    source_of,
    with_answer,
    with_origin,
)
from wire.neutral.request import Request, Tool

NOW = Tool("now", "The time.")


@pytest.mark.row("S1-01")
def test_a_call_gets_an_id_of_its_own_once() -> None:
    one, other = (
        ToolCall(name="read", arguments={"path": "a"}),
        ToolCall(name="read", arguments={"path": "a"}),
    )
    assert one.id != other.id
    assert one.id.startswith("call_")
    assert len(one.id) == 29
    assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)
    assert ToolCall(id="a1", name="read", signature="c2ln").signature == "c2ln"
    assert ToolCall(name="read").arguments == {}


@pytest.mark.row("S1-03", "S0-04")
@joined(
    ("content", "error", "answer"),
    [
        ("15 degrees", False, {"result": "15 degrees"}),
        ({"temp": 15}, False, {"temp": 15}),
        ([1, 2], False, {"result": [1, 2]}),
        (None, False, {"result": None}),
        ("boom", True, {"error": "boom"}),
        ({"error": "boom", "code": 3}, True, {"error": "boom", "code": 3}),
        ({"code": 3}, True, {"error": {"code": 3}}),
    ],
)
def test_an_answer_is_an_object_with_name_id_and_flag(
    content: object, error: bool, answer: dict[str, object]
) -> None:
    result = ToolResult("call_1", "get_weather", content, error)
    assert (result.id, result.name, result.error, result.answer) == (
        "call_1",
        "get_weather",
        error,
        answer,
    )


@pytest.mark.row("S1-04")
@joined("kind", [Text, Other, ToolCall, ToolResult])
def test_a_part_without_its_field_is_a_type_error(kind: type) -> None:
    with pytest.raises(TypeError):
        kind()


@pytest.mark.row("S1-04")
def test_an_empty_text_is_a_part() -> None:
    assert Message.assistant(Text("", signature="c2ln")).parts == (Text("", signature="c2ln"),)


@pytest.mark.row("S1-05")
def test_four_constructors_and_the_order_of_parts() -> None:
    call, other = ToolCall(id="a", name="read"), ToolCall(id="b", name="read")
    assert Message.user("Hi") == Message("user", (Text("Hi"),))
    assert Message.assistant("I look.", call, "Done.").parts == (
        Text("I look."),
        call,
        Text("Done."),
    )
    assert Message.assistant_tool_calls([call, other], "Wait.") == Message(
        "assistant", (Text("Wait."), call, other)
    )
    one, two = ToolResult("a", "read", "x"), ToolResult("b", "read", "y")
    assert (
        Message.tool_response(one, two)
        == Message.tool_response([one, two])
        == Message("tool", (one, two))
    )
    assert Message.tool_result(call, "no", is_error=True) == Message(
        "tool", (ToolResult("a", "read", "no", True),)
    )
    assert Message.system("Be brief.").role == "system"


def test_what_a_message_says() -> None:
    call = ToolCall(id="a", name="read")
    message = Message.assistant(Thought("hm"), "hello", Thought("!"), "world", call)
    assert (message.text, message.thought, message.tool_calls, message.tool_results) == (
        "helloworld",
        "hm!",
        (call,),
        (),
    )


@joined(
    ("make", "said"),
    [
        (
            lambda: Message("model", ()),
            "message.role: expected one of system, developer, user, assistant, tool, not 'model'",
        ),
        (lambda: Message("user", (1,)), "message.parts: expected a text or a part, not int"),
        (
            lambda: Message.user({"text": "Hi"}),
            "message.parts: expected a text or a part, not dict",
        ),
        (lambda: Media(), "media: expected either data or url"),
        (
            lambda: Media(data=b"x", url="https://example.com", media_type="image/png"),
            "media: expected either data or url",
        ),
        (lambda: Media(data=b"x"), "media.media_type: data needs a media type, such as image/png"),
        (
            lambda: Media(url="data:image/png;base64,?"),
            "media.url: not a data URL: expected data:TYPE;base64,BYTES",
        ),
        (lambda: Tool("a b"), "tool.name: 'a b' is not a tool name [G28]"),
        (lambda: Tool("x" * 65), f"tool.name: '{'x' * 65}' is not a tool name [G28]"),
        (
            lambda: Tool("now", parameters={"type": "string"}),
            "tool now: parameters.type: expected the type object, not 'string' [G50]",
        ),
        (
            lambda: Tool("now", parameters=["x"]),
            "tool now: parameters: expected a JSON Schema as a mapping, not list",
        ),
        (lambda: Request(messages=("Hi",)), "messages[0]: expected a Message, not str"),
        (
            lambda: Request(messages=(), tools=({"name": "x"},)),
            "tools[0]: expected a Tool or ServerTool, not dict",
        ),
        (lambda: Request(messages=(), system=5), "system: expected a str, not int"),
        (lambda: Request(messages=(), effort=5), "effort: expected a str, not int"),
        (lambda: Request(messages=(), output={}), "output: expected a Output, not dict"),
        (lambda: Request(messages=(), options=5), "options: expected a Mapping, not int"),
        (
            lambda: Request(messages=(), tool_choice=5),
            "tool_choice: expected a str or tuple, not int",
        ),
        (lambda: Request(messages=(), tools=(NOW, NOW)), "tools: two tools are called now [G29]"),
        (
            lambda: Request(messages=(), tools=(NOW,), tool_choice="now"),
            "tool_choice: expected auto, none or required, not 'now'",
        ),
        (
            lambda: Request(messages=(), tool_choice=("now",)),
            "tool_choice: no tool is called 'now'",
        ),
    ],
)
def test_what_is_no_value_is_refused_when_it_is_made(make: object, said: str) -> None:
    with pytest.raises(RuleError) as refused:
        make()  # type: ignore[operator]
    assert str(refused.value).startswith(said)


def test_data_urls_become_bytes() -> None:
    assert Media(url="data:image/png;base64,iVBORw==") == Media(
        data=b"\x89PNG", media_type="image/png"
    )
    assert Media(url="data:,a%20b") == Media(data=b"a b", media_type="text/plain")
    assert Media(url="https://example.com/a.png").data is None


@pytest.mark.row("S1-06")
def test_a_schema_is_kept_as_it_is_given() -> None:
    schema = {"properties": {"location": {"type": "string"}}, "required": ["location"]}
    assert Tool("get_weather", "Weather", schema).parameters is schema
    assert Tool("Get-weather_2").parameters == {"type": "object", "properties": {}}


def test_usage_is_added_number_by_number() -> None:
    one = Usage(input=3, output=2, cached=1, total=5, by_modality={"input_audio": 2})
    other = Usage(input=10, reasoning=4, total=10, by_modality={"input_audio": 1, "input_text": 9})
    assert one + other == Usage(
        input=13,
        output=2,
        cached=1,
        reasoning=4,
        total=15,
        by_modality={"input_audio": 3, "input_text": 9},
    )


def test_the_usages_of_replies_have_a_sum() -> None:
    usages = [Usage(input=3, total=3), None, Usage(output=2, total=2)]
    assert sum(usages) == Usage(input=3, output=2, total=5)
    assert sum(usages[:2]) == sum(usages[1:2], usages[0]) == usages[0]
    assert None + usages[0] == usages[0] + None == usages[0]
    for other in (1, False, 0.0, "0"):
        with pytest.raises(TypeError):
            other + usages[0]  # type: ignore[operator]


@joined(
    ("fields", "problem"),
    [
        (
            {"data": "iVBORw=="},
            "media.data: expected bytes, not str (Media.file(path) reads a",
        ),
        ({"data": Path("a.png")}, "media.data: expected bytes, not PosixPath (Media.file(path)"),
        ({"data": 5}, "media.data: expected bytes, not int"),
        ({"data": b""}, "media.data: expected bytes, not an empty value"),
        ({"data": bytearray()}, "media.data: expected bytes, not an empty value"),
        ({"url": "data:image/png;base64,"}, "media.data: expected bytes, not an empty value"),
        ({"url": "FILE:///tmp/a.png"}, "media.url: no vendor can read a file: URL (Media.file("),
        ({"url": Path("a.png")}, "media.url: expected a text, not PosixPath (Media.file(path)"),
    ],
)
def test_media_that_no_wire_can_send_are_refused_where_they_are_made(
    fields: Any, problem: str
) -> None:
    with pytest.raises(RuleError) as caught:
        Media(media_type="image/png", **fields)
    assert str(caught.value).startswith(problem.replace("PosixPath", type(Path()).__name__))


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_media_of_any_bytes_become_bytes(kind: Any) -> None:
    assert Media(data=kind(b"\x89PNG"), media_type="image/png").data == b"\x89PNG"


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("a.png", b"x", "image/png"),
        ("A.JPEG", b"x", "image/jpeg"),
        ("talk.m4a", b"x", "audio/mp4"),
        ("notes.md", b"x", "text/markdown"),
        ("png", b"\x89PNG\r\n\x1a\n....", "image/png"),
        ("a.bin", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("a", b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ("a", b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
        ("a", b"\0\0\0\x18ftypheic\0\0", "image/heic"),
        ("a", b"\0\0\0\x18ftypisom\0\0", "video/mp4"),
        ("a", b"\x1a\x45\xdf\xa3\x9fB\x86\x81webm", "video/webm"),
        ("a", b"%PDF-1.7\n", "application/pdf"),
        ("a", b"ID3\x04", "audio/mpeg"),
    ],
)
def test_the_type_of_a_file_is_found(
    name: str, data: bytes, media_type: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert Media.file(path) == Media.file(str(path)) == Media(data=data, media_type=media_type)
    assert Media.file(path, media_type="a/b", name="n", detail="low") == Media(
        data=data, media_type="a/b", name="n", detail="low"
    )


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("a.xyz", b"Hi", "media.file: the media type of 'a.xyz' is unknown (name it, such as"),
        ("RIFF", b"RIFF\0\0\0\0????", "media.file: the media type of 'RIFF' is unknown"),
        ("a.png", b"", "media.file: 'a.png' is empty"),
        ("a.png", None, "{path}: cannot be read: No such file"),
        (".", None, "{path}: cannot be read: Is a directory"),
    ],
)
def test_a_file_that_gives_no_media(
    name: str, data: bytes | None, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(RuleError) as caught:
        Media.file(path)
    assert str(caught.value).startswith(problem.format(path=path))


def test_one_message_is_a_conversation() -> None:
    message = Message.user("Hi")
    request = Request(messages=message)  # type: ignore[arg-type]
    assert request.messages == (message,)


@pytest.mark.parametrize("wrong", ["Hi", {"role": "user", "content": "Hi"}])
def test_what_is_no_message_is_refused_with_how_to_write_one(wrong: Any) -> None:
    with pytest.raises(RuleError, match=r"^messages\[0\]: expected a Message, .*Message.user\("):
        Request(messages=(wrong,))


def test_a_reply_is_no_message() -> None:
    reply = Reply(Message.assistant("Hi"), Stop("end"))
    with pytest.raises(RuleError, match=r"not Reply \(reply.message is one\)"):
        Request(messages=(reply,))  # type: ignore[arg-type]


def test_a_message_is_no_part() -> None:
    with pytest.raises(RuleError, match=r"not Message \(give whole messages as messages=\)"):
        Message.user(Message.user("Hi"))  # type: ignore[arg-type]


def test_an_origin_lies_beside_the_fields_and_not_in_copies() -> None:
    origin = Origin("gemini", "gemini-3-pro-preview", "gemini", b'{"text": "Hi"}')
    said = with_origin(Text("Hi"), origin)
    assert said == Text("Hi")
    assert said.origin == origin
    assert pickle.loads(pickle.dumps(said)).origin == origin
    assert msgspec.structs.replace(said, text="Ho").origin is None
    assert with_origin(said, None).origin is None
    assert said.origin is origin
    assert origin.is_of("gemini", "gemini-3-pro-preview")
    assert not origin.is_of("gemini", "gemini-2.5-pro")
    assert not origin.is_of("gemini@vertex", "gemini-3-pro-preview")


def test_the_source_of_loaded_bytes_is_read_once() -> None:
    read: list[bytes] = []

    def reader(raw: bytes) -> Content:
        read.append(raw)
        return Content(role="model")

    loaded = Origin("gemini", "m", "gemini", b'{"role":"model"}')
    assert source_of(loaded, reader) is source_of(loaded, reader)
    assert read == [b'{"role":"model"}']
    assert Origin("gemini", "m", "gemini", Content(role="model")).raw == b'{"role":"model"}'


def test_a_reply_remembers_the_wires_struct_and_takes_notes() -> None:
    answer = GenerateContentResponse(response_id="r")
    reply = with_answer(Reply(Message.assistant("Hi"), Stop("end")), answer)
    assert reply.answer is answer
    assert reply == Reply(Message.assistant("Hi"), Stop("end"))
    assert notes(with_notes(reply, [Note("a", "b")])) == reply.notes == (Note("a", "b"),)


@pytest.mark.row("S1-14")
@joined(
    ("parts", "empty"),
    [
        ((), True),
        ((Text(""),), True),
        ((Thought("hm"),), True),
        ((Text("Hi"),), False),
        ((ToolCall(name="now"),), False),
    ],
)
def test_a_filter_that_left_nothing_is_an_error_and_one_that_left_something_is_not(
    parts: tuple[Text, ...], empty: bool
) -> None:
    reply = Reply(Message("assistant", parts), Stop("filter", "SAFETY", "no violence"))
    assert reply.empty is empty
    if not empty:
        assert checked(reply) is reply
        return
    with pytest.raises(BlockedError) as blocked:
        checked(reply)
    assert (str(blocked.value), blocked.value.code, blocked.value.partial) == (
        "SAFETY: blocked by the provider (SAFETY): no violence",
        "SAFETY",
        reply,
    )


@pytest.mark.row("S0-02", "S0-09")
@joined(
    ("loaded", "not_loaded"),
    [
        (
            "wire.neutral.messages wire.neutral.request wire.neutral.rendering wire.history",
            "httpx anyio wire.gemini wire.openai wire.anthropic wire.http",
        ),
        (
            "wire.openai.chat.rendering wire.openai.chat.endpoints wire.openai.chat.parse",
            "httpx anyio wire.gemini wire.anthropic wire.http",
        ),
        (
            "wire.anthropic.rendering wire.anthropic.endpoints wire.anthropic.parse",
            "httpx anyio wire.gemini wire.openai wire.http",
        ),
        # A vendor's structs and calls without the neutral door.
        (
            "wire.gemini.types wire.gemini.endpoints wire.gemini.reader wire.gemini.rules",
            "httpx anyio wire.openai wire.anthropic wire.http wire.history wire.chat",
        ),
        ("wire.gemini.rendering wire.gemini.parse", "httpx anyio wire.openai wire.http"),
    ],
)
def test_values_load_no_wire_and_no_transport(loaded: str, not_loaded: str) -> None:
    above = tuple(not_loaded.split())
    code = (
        f"import sys, {', '.join(loaded.split())}; above = {above!r};"
        "print(sorted(name for name in sys.modules if name.startswith(above)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
