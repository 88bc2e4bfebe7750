"""Sessions: what is loaded equals what was saved, and what is no session of this release is refused
and left as it is.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire import gemini, openai
from wire.core.memory import Note, notes
from wire.errors import ConfigurationError, RuleError
from wire.gemini.parse import parse_reply as parse_gemini
from wire.gemini.reader import parse_response
from wire.history import HistoryManager
from wire.neutral import messages as chat
from wire.neutral.messages import (
    Media,
    Message,
    Origin,
    Other,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    with_origin,
)
from wire.openai.chat.parse import parse_reply as parse_openai
from wire.openai.chat.reader import parse_completion
from wire.sessions import file_format as session_format
from wire.sessions.file_format import schema
from wire.sessions.session_file import (
    Session,
    deserialize_message,
    dump_session,
    load_session,
    read_session,
    save_session,
    serialize_message,
)

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "sessions"
SCHEMA = jsonschema_rs.validator_for(schema())

GEMINI = """{ "candidates": [ { "content": { "role" : "model", "parts": [
  {"text": "Let me see.", "laterKey": [1, 2.50, {"x": null}]},
  {"thought": true, "text": "caf\\u00e9 <b>"},
  {"functionCall": {"name": "get_weather", "args": {"city": "Kyōto", "n": 1.0, "big": 123456789012345678901234567890}},
   "thoughtSignature": "c2ln/+=="},
  {"functionCall": {"name": "get_weather", "args": {"city": "Kyōto", "n": 1.0, "big": 123456789012345678901234567890}, "id": "fc_2"}},
  {"executableCode": {"language": "PYTHON", "code": "1+1"}, "thoughtSignature": "Y29kZQ=="},
  {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
  {"text": "", "thoughtSignature": "ZW1wdHk="}
] , "unknown": {"deep": [true]} }, "finishReason": "STOP" } ] }""".encode()  # noqa: E501

OPENAI = b"""{"id": "c1", "choices": [{"index": 0, "message": {"role": "assistant", "content": "H\\u00e9llo", "reasoning_content": "hm",
  "unknown": {"a": 1.0}, "tool_calls": [ {"id": "call_a", "type": "function", "new": [1],
  "function": {"name": "now", "arguments": "{ \\"tz\\" :\\"Asia/Tokyo\\"}"}} ]}, "finish_reason": "tool_calls"}]}"""  # noqa: E501


def from_gemini() -> Message:
    return parse_gemini(
        parse_response(GEMINI), body=b"{}", provider="gemini", model="gemini-3-pro-preview"
    ).message


def from_openai() -> Message:
    return parse_openai(
        parse_completion(OPENAI), body=b"{}", provider="deepseek", model="deepseek-chat"
    ).message


def origins(message: Message) -> list[Any]:
    """Of a message, its parts, and the media of results: where each is from, bytes and all."""
    parts = [
        part
        for each in message.parts
        for part in (each, *(each.media if isinstance(each, ToolResult) else ()))
    ]
    return [
        (
            each.origin
            and (each.origin.provider, each.origin.model, each.origin.wire, each.origin.raw)
        )
        for each in (message, *parts)
    ]


def through_a_file(message: Message) -> Message:
    data = dump_session([message])
    SCHEMA.validate(json.loads(data))
    (loaded,) = load_session(data).messages
    return loaded


# --- there and back -------------------------------------------------------------------------------

EVERY_PART = Message(
    "assistant",
    (
        Text("a"),
        Text("", "c2ln"),
        Thought(
            "hm", "reasoning_content", ({"type": "reasoning.encrypted", "data": "eA=="},), "dGg="
        ),
        ToolCall(
            id="call_1",
            name="f",
            arguments={"x": [1, 2.0, None, {"y": "ü\u2028\x00"}]},
            signature="c2k=",
        ),
        ToolCall(
            id="call_2", name="f", arguments=None, text='{"cut', kind="custom", extra={"index": 0}
        ),
        ToolCall(id="call_3", name="f", arguments={}),
        Media(data=b"\x00\xff", media_type="image/png", name="a.png", detail="low"),
        Media(url="gs://b/c.mp4", media_type="video/mp4", start="1.5s", end="3s", fps=0.5),
        ToolResult(
            "call_1", "f", {"a": [1]}, False, (Media(data=b"\xfe", media_type="audio/wav"),)
        ),
        ToolResult("call_2", "f", "no", True),
        ToolResult("call_3", "f", None),
        Other("executableCode", {"code": "1+1"}),
    ),
)


@pytest.mark.row("S1-62")
def test_every_part_comes_back_as_it_was():
    assert deserialize_message(json.loads(json.dumps(serialize_message(EVERY_PART)))) == EVERY_PART
    assert [type(part) for part in through_a_file(EVERY_PART).parts] == [
        type(part) for part in EVERY_PART.parts
    ]


@pytest.mark.row("S1-62")
def test_what_is_serialized_is_plain_json():
    made = serialize_message(EVERY_PART)
    assert json.loads(json.dumps(made)) == made
    assert made["parts"][3] == {
        "type": "tool_call",
        "id": "call_1",
        "name": "f",
        "arguments": {"x": [1, 2.0, None, {"y": "ü\u2028\x00"}]},
        "signature": "c2k=",
    }
    assert made["parts"][6] == {
        "type": "media",
        "data": "AP8=",
        "media_type": "image/png",
        "name": "a.png",
        "detail": "low",
    }


TEXTS = st.text(max_size=8)
JSONS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXTS, JSONS, max_size=3)
MEDIA = st.builds(
    Media,
    data=st.binary(min_size=1, max_size=9),
    media_type=st.sampled_from(["image/png", "text/plain"]),
    name=TEXTS,
) | st.builds(Media, url=st.just("https://h/a"), start=TEXTS, fps=st.none() | st.floats(0, 60))
PARTS = st.one_of(
    st.builds(Text, TEXTS, TEXTS),
    st.builds(Thought, TEXTS, TEXTS, st.lists(OBJECTS, max_size=2).map(tuple), TEXTS),
    st.builds(
        ToolCall,
        id=TEXTS,
        name=TEXTS,
        arguments=st.none() | OBJECTS,
        text=TEXTS,
        kind=st.sampled_from(["function", "custom"]),
        extra=st.none() | OBJECTS,
        signature=TEXTS,
    ),
    st.builds(
        ToolResult, TEXTS, TEXTS, JSONS, st.booleans(), st.lists(MEDIA, max_size=2).map(tuple)
    ),
    MEDIA,
    st.builds(Other, TEXTS, JSONS),
)


@st.composite
def messages(draw: Any) -> Message:
    """Messages with origins of every kind: none, of bytes that are no UTF-8, of a slice of the
    message's, of another model.
    """
    whole = draw(
        st.none()
        | st.builds(Origin, TEXTS, TEXTS, TEXTS, st.binary(max_size=20) | TEXTS.map(str.encode))
    )

    def placed(value: Any) -> Any:
        kind = draw(st.sampled_from(["none", "own", "slice"]))
        if kind == "slice" and whole is not None:
            start, end = sorted(
                (draw(st.integers(0, len(whole.raw))), draw(st.integers(0, len(whole.raw))))
            )
            return with_origin(
                value, Origin(whole.provider, whole.model, whole.wire, whole.raw[start:end])
            )
        return (
            with_origin(value, Origin("p", "m", "w", draw(st.binary(max_size=9))))
            if kind == "own"
            else value
        )

    parts = tuple(placed(part) for part in draw(st.lists(PARTS, max_size=4)))
    return with_origin(
        Message(draw(st.sampled_from(["system", "assistant", "tool"])), parts), whole
    )


@pytest.mark.row("S1-62", "S1-63", "S2-01")
@given(messages())
def test_any_message_comes_back_with_its_bytes(message: Message):
    loaded = through_a_file(message)
    assert loaded == message
    assert repr(loaded) == repr(message)  # which tells 1 from 1.0 and True
    assert origins(loaded) == origins(message)
    assert notes(loaded) == ()


@pytest.mark.parametrize("message", [from_gemini(), from_openai()], ids=["gemini", "openai"])
def test_law3_s1_63_what_came_from_a_wire_keeps_its_bytes_in_a_file(message: Message):
    assert message.origin is not None
    assert b'"unknown"' in message.origin.raw
    loaded = through_a_file(message)
    assert loaded == message
    assert origins(loaded) == origins(message)
    assert origins(through_a_file(loaded)) == origins(message)


@pytest.mark.row("S2-01")
def test_a_part_that_is_a_signature_only_comes_back():
    loaded = through_a_file(from_gemini())
    assert loaded.parts[-1] == Text("", "ZW1wdHk=")
    assert [part.signature for part in loaded.tool_calls] == ["c2ln/+==", ""]
    assert loaded.parts[-1].origin is not None
    assert loaded.parts[-1].origin.raw == b'{"text": "", "thoughtSignature": "ZW1wdHk="}'


@pytest.mark.row("S1-63", "S2-01")
def test_the_next_request_carries_signatures_and_bytes():
    told = from_gemini()
    history = [
        Message.user("Hi"),
        told,
        *(Message.tool_result(call, "21") for call in told.tool_calls),
    ]
    loaded = load_session(dump_session(history)).messages
    bodies = [
        gemini.stream_call(
            chat_request(each), "gemini-3-pro-preview"
        ).body  # of those that were here, and of those from the file
        for each in (history, loaded)
    ]
    assert bodies[0] == bodies[1]
    assert told.origin is not None
    assert told.origin.raw in bodies[1]


def test_law3_the_next_request_to_a_host_of_chat_completions_is_the_same():
    told = from_openai()
    history = [Message.user("Hi"), told, Message.tool_result(told.tool_calls[0], "noon")]
    loaded = load_session(dump_session(history)).messages
    bodies = [
        openai.stream_call(chat_request(each), "deepseek-chat", provider="deepseek").body
        for each in (history, loaded)
    ]
    assert bodies[0] == bodies[1]


def chat_request(messages: Any) -> Any:
    from wire.neutral.request import Request

    return Request(messages=tuple(messages))


def test_bytes_of_parts_are_not_stored_twice():
    made = serialize_message(from_gemini())
    assert made["origin"]["raw"].encode() == from_gemini().origin.raw  # type: ignore[union-attr]
    assert all("origin" not in part and len(part["at"]) == 2 for part in made["parts"])
    start, end = made["parts"][0]["at"]
    assert (
        made["origin"]["raw"][start:end]
        == '{"text": "Let me see.", "laterKey": [1, 2.50, {"x": null}]}'
    )


def test_bytes_that_are_no_utf8_stand_as_base64():
    message = with_origin(Message.assistant("a"), Origin("p", "m", "w", b'{"a":"\xff"}'))
    assert serialize_message(message)["origin"] == {
        "provider": "p",
        "model": "m",
        "wire": "w",
        "base64": "eyJhIjoi/yJ9",
    }
    assert origins(through_a_file(message)) == origins(message)


def test_parts_of_another_model_keep_their_own_origin():
    part = with_origin(Text("b"), Origin("deepseek", "d", "openai", b'"b"'))
    message = with_origin(
        Message.assistant("a", part), Origin("gemini", "g", "later", b'{"parts":["b"]}')
    )
    assert serialize_message(message)["parts"][1]["origin"] == {
        "provider": "deepseek",
        "model": "d",
        "wire": "openai",
        "raw": '"b"',
    }
    assert origins(through_a_file(message)) == origins(message)


def test_metadata_comes_back():
    session = Session((Message.user("Hi"),), {"title": "ü", "n": [1, 2.5, None]})
    assert load_session(dump_session(session)) == session
    assert dump_session(load_session(dump_session(session))) == dump_session(session)


def test_a_session_of_nothing():
    assert load_session(dump_session([])) == Session()


def test_a_file_has_a_line_for_each_message():
    lines = dump_session([Message.user("a\nb"), Message.assistant("c")]).decode().splitlines()
    assert len(lines) == 4
    assert json.loads(lines[1].rstrip(",")) == {
        "role": "user",
        "parts": [{"type": "text", "text": "a\nb"}],
    }


# --- the schema -----------------------------------------------------------------------------------


def test_the_schema_in_the_repository_is_that_of_the_structs():
    """If it is not: json.dumps(wire.sessions.file_format.schema(), indent=2, ensure_ascii=False)
    and a newline is its text.
    """
    assert (ROOT / "schemas" / "session.schema.json").read_text("utf-8") == json.dumps(
        schema(), indent=2, ensure_ascii=False
    ) + "\n"


@joined("name", session_format.KINDS)
def test_the_file_has_every_field_of_a_part(name: str):
    fields = session_format.KINDS[name].__struct_fields__
    assert {*fields} - {"origin", "at"} == {*getattr(chat, name).__struct_fields__}


WRONG_FILES: dict[str, tuple[Any, str]] = {
    "unknown key": (
        {"title": 1},
        "x.json: title: no such key; there are format, version, metadata, notes, messages",
    ),
    "notes that are no list": ({"notes": 1}, "x.json: notes: expected `array`, got `int`"),
    "note without a message": (
        {"notes": [{"path": "messages[0]"}]},
        "x.json: notes[0]: object missing required field `message`",
    ),
    "unknown key of a message": (
        {"messages": [{"role": "user", "parts": [], "nick": "x"}]},
        "messages[0]: object contains unknown field `nick`",
    ),
    "unknown key of a part": (
        {"messages": [{"role": "user", "parts": [{"type": "text", "text": "a", "txt": 1}]}]},
        "x.json: messages[0].parts[0]: object contains unknown field `txt`",
    ),
    "unknown part": (
        {"messages": [{"role": "user", "parts": [{"type": "smell"}]}]},
        "messages[0].parts[0].type: invalid value 'smell'",
    ),
    "no type": (
        {"messages": [{"role": "user", "parts": [{"txt": "a"}]}]},
        "messages[0].parts[0]: object missing required field `type`",
    ),
    "no role": ({"messages": [{"parts": []}]}, "messages[0]"),
    "unknown role": (
        {"messages": [{"role": "narrator", "parts": []}]},
        "messages[0].role: invalid enum value 'narrator'",
    ),
    "no message": ({"messages": ["Hi"]}, "messages[0]: expected `object`, got `str`"),
    "messages": ({"messages": {}}, "messages: expected a list"),
    "metadata": ({"metadata": [], "messages": []}, "metadata: expected an object"),
    "base64": (
        {
            "messages": [
                {
                    "role": "user",
                    "parts": [{"type": "media", "data": "§", "media_type": "image/png"}],
                }
            ]
        },
        "messages[0].parts[0].data: invalid base64",
    ),
    "media of nothing": (
        {"messages": [{"role": "user", "parts": [{"type": "media"}]}]},
        "messages[0].parts[0]: media: expected either data or url",
    ),
    "bytes of no message": (
        {"messages": [{"role": "user", "parts": [{"type": "text", "text": "a", "at": [0, 3]}]}]},
        "messages[0].parts[0].at: the message has no bytes from 0 to 3",
    ),
    "bytes beyond the message": (
        {
            "messages": [
                {
                    "role": "user",
                    "parts": [{"type": "text", "text": "a", "at": [0, 3]}],
                    "origin": {"provider": "p", "model": "m", "wire": "w", "raw": "ab"},
                }
            ]
        },
        "messages[0].parts[0].at: the message has no bytes from 0 to 3",
    ),
    "two origins": (
        {
            "messages": [
                {
                    "role": "user",
                    "parts": [
                        {
                            "type": "text",
                            "text": "a",
                            "at": [0, 0],
                            "origin": {"provider": "p", "model": "m", "wire": "w"},
                        }
                    ],
                    "origin": {"provider": "p", "model": "m", "wire": "w"},
                }
            ]
        },
        "messages[0].parts[0]: origin and at: expected one of them, not both",
    ),
}


@joined("name", WRONG_FILES)
def test_what_is_wrong_is_named_with_its_path_and_is_wrong_by_the_schema(name: str):
    wrong, told = WRONG_FILES[name]
    document = {"format": "wire-session", "version": 1, "messages": [], **wrong}
    with pytest.raises(ConfigurationError) as caught:
        load_session(json.dumps(document), "x.json")
    assert told in str(caught.value)
    assert str(caught.value).startswith("x.json: ")
    if name not in (
        "base64",
        "media of nothing",
        "bytes of no message",
        "bytes beyond the message",
    ):  # which no schema can say
        assert not SCHEMA.is_valid(document)


# --- files that are refused -----------------------------------------------------------------------

REFUSED: dict[str, tuple[bytes, str]] = {
    "next version": (
        b'{"format": "wire-session", "version": 2, "messages": [], "shape": 1}',
        "version: unknown version 2; this release reads version 1",
    ),
    "version as text": (
        b'{"format": "wire-session", "version": "1", "messages": []}',
        "version: unknown version '1'",
    ),
    "version true": (
        b'{"format": "wire-session", "version": true, "messages": []}',
        "version: unknown version True",
    ),
    "no version": (
        b'{"format": "wire-session", "messages": []}',
        "version: unknown version None",
    ),
    "format": (
        b'{"format": "cassette", "version": 1}',
        "format: expected 'wire-session', not 'cassette'",
    ),
    "no format": (b'{"version": 1, "messages": []}', "format: expected 'wire-session', not None"),
    "another's version": (
        b'{"schema_version": "2.0", "conversation": {"messages": []}}',
        "schema_version: unknown version '2.0'; this release reads 1.0",
    ),
    "garbage": (b"\x00\x01 what", "not JSON: "),
    "nothing": (b"", "not JSON: "),
    "cut off": (b'{"format": "wire-session", "version": 1, "mess', "not JSON: "),
    "not UTF-8": (b'{"format": "\xff"}', "byte 12 is not UTF-8"),
    "half a pair": (rb'[{"role": "user", "parts": [{"text": "\ud83d"}]}]', "not JSON: "),
    "text": (b'"hello"', "expected an object or a list of messages, not str"),
    "something else": (
        b'{"name": "package.json"}',
        "not a session: it has neither a format nor messages",
    ),
    "deep": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
}


@pytest.mark.row("S1-63")
@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_none_of_ours_is_refused_in_one_sentence_and_left_as_it_is(
    name: str, tmp_path: Path
):
    data, told = REFUSED[name]
    path = tmp_path / "talk.json"
    path.write_bytes(data)
    before = path.stat()
    with pytest.raises(ConfigurationError) as caught:
        read_session(path)
    assert str(caught.value).startswith(f"{path}: {told}")
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == data
    after = path.stat()  # not all of it: reading the file may set its access time
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert os.listdir(tmp_path) == ["talk.json"]


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="cannot be read: No such file") as caught:
        read_session(tmp_path / "none.json")
    assert isinstance(caught.value.__cause__, FileNotFoundError)


# --- files that are written -----------------------------------------------------------------------


@pytest.mark.row("S1-63")
def test_a_file_is_written_and_read(tmp_path: Path):
    path = tmp_path / "sessions" / "talk.json"
    save_session(path, [Message.user("Hi"), from_gemini()])
    save_session(str(path), Session((Message.user("Hi"), from_gemini()), {"title": "t"}))
    assert origins(read_session(path).messages[1]) == origins(from_gemini())
    assert read_session(str(path)).metadata == {"title": "t"}
    assert os.listdir(path.parent) == ["talk.json"]
    path.read_bytes().decode("utf-8", "strict")


UNSAYABLE: dict[str, tuple[Message, str]] = {
    "half a pair": (
        Message.user("a\ud83d"),
        "messages[1].parts[0].text: this text contains half of a surrogate pair",
    ),
    "half a pair in a key": (
        Message.tool_result(ToolCall(id="c", name="f"), {"\udc00": 1}),
        "messages[1].parts[0].content: a key of this object",
    ),
    "NaN": (
        Message.tool_result(ToolCall(id="c", name="f"), {"a": [float("nan")]}),
        "messages[1].parts[0].content.a[0]: nan is not a JSON number",
    ),
    "infinity": (
        Message.assistant(ToolCall(id="c", name="f", arguments={"a": float("inf")})),
        "messages[1].parts[0].arguments.a: inf is not",
    ),
    "bytes": (
        Message.tool_result(ToolCall(id="c", name="f"), b"a"),
        "messages[1].parts[0].content: expected a JSON value, not bytes",
    ),
    "a set": (
        Message.assistant(Other("k", {1})),
        "messages[1].parts[0].data: expected a JSON value, not set",
    ),
    "a key that is no text": (
        Message.assistant(Other("k", {1: 2})),
        "messages[1].parts[0].data: expected a text as JSON key, not 1",
    ),
    "no text": (Message.user(Text(5)), "messages[1].parts[0].text: expected `str`, got `int`"),  # type: ignore
    "deep": (Message.assistant(Other("k", msgspec.json.decode(b"[" * 500 + b"]" * 500))), ""),
}


@pytest.mark.row("S1-63")
@pytest.mark.parametrize("name", UNSAYABLE)
def test_what_json_cannot_say_is_refused_and_the_old_file_stays(name: str, tmp_path: Path):
    message, told = UNSAYABLE[name]
    path = tmp_path / "talk.json"
    save_session(path, [Message.user("old")])
    before = path.read_bytes()
    if not told:
        save_session(path, [Message.user("old"), message])
        assert read_session(path).messages[1] == message
        return
    with pytest.raises(RuleError) as caught:
        save_session(path, [Message.user("old"), message])
    assert caught.value.message.startswith(told)
    assert path.read_bytes() == before
    with pytest.raises(RuleError) as caught:
        serialize_message(message)
    assert caught.value.message.startswith(told.replace("messages[1]", "message"))


def test_metadata_that_json_cannot_say_is_refused():
    with pytest.raises(RuleError, match=r"metadata\.when: expected a JSON value, not bytes"):
        dump_session(Session((), {"when": b""}))
    with pytest.raises(RuleError, match="metadata: expected an object, not list"):
        dump_session(Session((), []))  # type: ignore[arg-type]
    with pytest.raises(RuleError, match=r"messages\[0\]: expected a message, not str"):
        dump_session(["Hi"])  # type: ignore[list-item]


@pytest.mark.row("S1-63")
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "talk.json"
    save_session(path, [Message.user("old")])
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(ConfigurationError, match="cannot be written: No space left on device"):
        save_session(path, [Message.user("new")])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["talk.json"]


def test_a_private_file_stays_private_and_a_link_a_link(tmp_path: Path):
    path, link = tmp_path / "talk.json", tmp_path / "link.json"
    save_session(path, [Message.user("old")])
    path.chmod(0o600)
    link.symlink_to(path)
    save_session(link, [Message.user("new")])
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_session(path).messages == (Message.user("new"),)


# --- sessions from before there was a version -----------------------------------------------------


@pytest.mark.row("S1-48", "S1-62")
def test_old_names_of_roles_are_read():
    called = serialize_message(Message.assistant_tool_calls([ToolCall(id="c", name="f")]))
    told = deserialize_message({**called, "role": "model"})
    assert told == Message.assistant_tool_calls([ToolCall(id="c", name="f")])
    assert [str(note) for note in notes(told)] == ["message.role: model, read as assistant"]
    answered = serialize_message(
        Message.tool_response(ToolResult("c", "f", "21"), ToolResult("d", "f", "22"))
    )
    assert deserialize_message({**answered, "role": "user"}) == Message.tool_response(
        ToolResult("c", "f", "21"), ToolResult("d", "f", "22")
    )


@pytest.mark.row("S1-48", "S1-62")
def test_old_names_of_roles_are_read_in_a_file_of_today():
    document = json.loads(dump_session([Message.user("Hi"), Message.assistant("Hello")]))
    document["messages"][1]["role"] = "model"
    session = load_session(document)
    assert session.messages == (Message.user("Hi"), Message.assistant("Hello"))
    assert [str(note) for note in notes(session)] == ["messages[1].role: model, read as assistant"]
    assert document["messages"][1]["role"] == "model"  # of the caller, who gets it back as it was


OLD_PARTS: dict[str, tuple[dict[str, Any], Any]] = {
    "text": ({"text": "Hi"}, Text("Hi")),
    "flat text": ({"type": "text", "content": "Hi"}, Text("Hi")),
    "signed text": ({"text": "", "thought_signature": "c2ln"}, Text("", "c2ln")),
    "thought": ({"text": "hm", "thought": True}, Thought("hm")),
    "call": (
        {
            "function_call": {"name": "f", "arguments": {"a": 1}, "id": "c"},
            "thought_signature": "c2ln",
        },
        ToolCall(id="c", name="f", arguments={"a": 1}, signature="c2ln"),
    ),
    "call with its signature inside": (
        {"function_call": {"name": "f", "arguments": {}, "id": "c", "thought_signature": "c2ln"}},
        ToolCall(id="c", name="f", signature="c2ln"),
    ),
    "call of Gemini": (
        {"functionCall": {"name": "f", "args": {"a": 1}, "id": "c"}, "thoughtSignature": "c2ln"},
        ToolCall(id="c", name="f", arguments={"a": 1}, signature="c2ln"),
    ),
    "flat call": (
        {
            "type": "function_call",
            "name": "f",
            "args": {"a": 1},
            "id": "c",
            "thought_signature_b64": "c2ln",
        },
        ToolCall(id="c", name="f", arguments={"a": 1}, signature="c2ln"),
    ),
    "flat call of nothing": (
        {
            "type": "function_call",
            "name": "f",
            "args": None,
            "id": "c",
            "thought_signature_b64": None,
        },
        ToolCall(id="c", name="f"),
    ),
    "call beside an empty text": (
        {"text": "", "function_call": {"name": "f", "id": "c"}, "function_response": None},
        ToolCall(id="c", name="f"),
    ),
    "answer": (
        {"function_response": {"name": "f", "response": {"t": 21}, "call_id": "c"}},
        ToolResult("c", "f", {"t": 21}),
    ),
    "answer as text": (
        {"function_response": {"name": "f", "response": "21", "call_id": "c"}},
        ToolResult("c", "f", "21"),
    ),
    "flat answer": (
        {"type": "function_response", "name": "f", "response": "21", "call_id": "c"},
        ToolResult("c", "f", "21"),
    ),
    "answer of Gemini": (
        {"functionResponse": {"name": "f", "response": {"t": 21}, "id": "c"}},
        ToolResult("c", "f", {"t": 21}),
    ),
    "media": (
        {"inline_data": {"mime_type": "image/png", "data": "AP8="}},
        Media(data=b"\x00\xff", media_type="image/png"),
    ),
}


@pytest.mark.row("S1-62", "S2-01")
@joined("name", OLD_PARTS)
def test_old_parts_are_read(name: str):
    old, part = OLD_PARTS[name]
    before = json.dumps(old)
    assert deserialize_message({"role": "assistant", "parts": [old]}).parts == (part,)
    assert json.dumps(old) == before


@pytest.mark.row("S1-62")
def test_a_text_for_an_answer_goes_to_the_model_as_a_result():
    told = deserialize_message({"role": "user", "parts": [OLD_PARTS["answer as text"][0]]})
    assert told.role == "tool"
    assert told.tool_results[0].answer == {"result": "21"}


@joined(
    ("part", "problem"),
    [
        ({"text": "a", "colour": "red"}, "unknown field `colour`"),
        (
            {"function_call": {"name": "f", "arguments": "{}"}},
            "parts[0].arguments: expected `object | null`, got `str`",
        ),
        ({"function_call": {"arguments": {}}}, "missing required field `name`"),
        ({"function_response": {"name": "f", "response": "a", "mood": 1}}, "unknown field `mood`"),
        ({"function_call": {"name": "f", "args": {}, "arguments": {}}}, "unknown field `args`"),
        (
            {"function_response": {"name": "f", "response": "a", "id": "c", "call_id": "d"}},
            "unknown field `call_id`",
        ),
        ({"type": "text", "text": "a", "content": "b"}, "unknown field `content`"),
        (
            {"text": "a", "function_call": {"name": "f"}},
            "unknown field `text next to function_call`",
        ),
        ({"text": "a", "function_call": "f"}, "unknown field `function_call`"),
        ({"smell": 1}, "missing required field `type`"),
    ],
)
def test_old_parts_that_are_wrong_are_named(part: dict[str, Any], problem: str):
    with pytest.raises(ConfigurationError) as caught:
        deserialize_message({"role": "user", "parts": [part]})
    assert "message.parts[0]" in str(caught.value)
    assert problem in str(caught.value)


def old_session() -> list[dict[str, Any]]:
    return [
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {
            "role": "model",
            "parts": [{"function_call": {"name": "f", "args": {"n": n}}} for n in (1, 2)],
        },
        {
            "role": "user",
            "parts": [{"function_response": {"name": "f", "response": str(n)}} for n in (1, 2)],
        },
        {"role": "model", "parts": [{"text": "Fine."}]},
        {"role": "user", "parts": [{"text": "And now?"}]},
        {"role": "model", "parts": [{"function_call": {"name": "g", "args": {}}}]},
        {"role": "user", "parts": [{"text": "Never mind."}]},
        {"role": "model", "parts": [{"function_call": {"name": "g", "args": {}}}]},
        {
            "role": "user",
            "parts": [{"text": "Go on."}, {"function_response": {"name": "g", "response": "3"}}],
        },
    ]


@pytest.mark.row("S1-62")
@pytest.mark.parametrize(
    "wrap",
    [
        lambda each: each,
        lambda each: {"messages": each},
        lambda each: {"conversation": {"messages": each}},
    ],
)
def test_calls_without_ids_get_one_that_stays_and_their_answers_too(wrap: Any):
    session = load_session(wrap(old_session()))
    calls = [call for message in session.messages for call in message.tool_calls]
    results = [result for message in session.messages for result in message.tool_results]
    assert [message.role for message in session.messages] == [
        *(
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "assistant",
            "user",
            "assistant",
            "tool",
            "user",
        )
    ]
    assert len({call.id for call in calls}) == 4
    assert all(call.id.startswith("call_") and len(call.id) == 19 for call in calls)
    assert [result.id for result in results] == [calls[0].id, calls[1].id, calls[3].id]
    assert load_session(wrap(old_session())).messages == session.messages
    told = [str(note) for note in notes(session)]
    assert told[0] == "a session without a version, read as an older one"
    assert f"messages[1].parts[0]: a call without an id, now {calls[0].id}" in told
    assert "messages[8]: results among other parts, moved to a tool message before them" in told


def test_answers_with_ids_take_their_calls_first():
    session = load_session(
        [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {
                "role": "model",
                "parts": [{"function_call": {"name": "f", "id": i}} for i in ("a", "b")],
            },
            {
                "role": "tool",
                "parts": [{"function_response": {"name": "f", "response": "1", "call_id": "a"}}],
            },
            {"role": "tool", "parts": [{"function_response": {"name": "f", "response": "2"}}]},
            {"role": "tool", "parts": [{"function_response": {"name": "x", "response": "3"}}]},
        ]
    )
    assert [result.id for message in session.messages for result in message.tool_results] == [
        "a",
        "b",
        "",
    ]


def test_a_value_that_is_read_stays_as_it_was():
    old = [
        *old_session()[:2],
        {"role": "tool", "parts": [{"type": "tool_result", "id": "", "name": "f", "content": "1"}]},
    ]
    before = json.dumps(old)
    session = load_session(old)
    assert session.messages[2].tool_results[0].id == session.messages[1].tool_calls[0].id
    assert json.dumps(old) == before


def test_what_stands_beside_old_messages_is_kept():
    old = {
        "schema_version": "1.0",
        "session": {"id": "s"},
        "conversation": {"messages": old_session()[:1], "max_messages": 50},
    }
    session = load_session(old)
    assert session.metadata == {"session": {"id": "s"}, "conversation": {"max_messages": 50}}
    assert load_session(dump_session(session)) == session
    assert load_session({"messages": [], "title": "t"}).metadata == {"title": "t"}


# --- fixtures -------------------------------------------------------------------------------------


def test_law3_s1_63_the_fixture_of_today_is_what_would_be_written():
    """If it is not: the version has changed, or a file of an earlier release would not be read as
    it was written.
    """
    data = (FIXTURES / "both_wires.json").read_bytes()
    session = read_session(FIXTURES / "both_wires.json")
    assert dump_session(session) == data
    assert origins(session.messages[1]) == origins(from_gemini())
    assert origins(session.messages[4]) == origins(from_openai())
    SCHEMA.validate(json.loads(data))


@pytest.mark.row("S1-62")
def test_an_old_fixture_is_read():
    session = read_session(FIXTURES / "old_flat.json")
    assert [(message.role, message.text) for message in session.messages] == [
        ("user", "Read my notes."),
        ("assistant", "One moment."),
        ("tool", ""),
        ("assistant", "Three points."),
    ]
    call = session.messages[1].tool_calls[0]
    assert (call.name, call.arguments, call.signature) == (
        "file_read",
        {"path": "notes.md"},
        "c2lnbmF0dXJl",
    )
    assert session.messages[2].tool_results[0] == ToolResult(
        call.id, "file_read", "one\ntwo\nthree"
    )
    assert session.metadata["session"]["mode"] == "single-agent"


# --- notes ----------------------------------------------------------------------------------------


def test_what_a_limit_has_dropped_is_reported_when_it_is_saved_and_when_it_is_loaded(
    tmp_path: Path,
):
    history = HistoryManager(max_messages=2)
    for text in ("Hi", "And now?"):
        history.add_message(Message.user(text))
        history.add_message(Message.assistant("Hello."))
    dropped = Note("messages[0]", "dropped: 1 turn, 2 messages, for the limit of 2 messages")
    path = tmp_path / "session.json"
    assert save_session(path, history.messages) == (dropped,)
    loaded = read_session(path)
    assert (loaded.notes, notes(loaded), len(loaded.messages)) == ((dropped,), (dropped,), 2)
    assert save_session(path, loaded) == (dropped,)
    SCHEMA.validate(json.loads(path.read_text("utf-8")))
    assert save_session(path, [Message.user("Hi")]) == ()
    assert "notes" not in json.loads(path.read_text("utf-8"))
