"""Speech and images of the assistant in chat completions: received, streamed, sent back."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.chat.test_chat import Door
from tests.joined import joined
from tests.openai.chat.neutral import HI
from wire import Chat, notes
from wire.history import hand_over
from wire.neutral.messages import (
    Media,
    MediaDelta,
    Message,
    Origin,
    Other,
    Part,
    Reply,
    Text,
    with_origin,
)
from wire.openai import parse_reply
from wire.openai.chat.fold import fold
from wire.openai.chat.media import Base64Pieces, joined_base64
from wire.openai.chat.reader import ChunkReader, parse_completion
from wire.sessions import dump_session, load_session
from wire.testing.emulator import Emulator

MP3 = b"ID3\x04 three tides"
PNG = b"\x89PNG\r\n\x1a\n"
SPEECH = {
    "id": "audio_1",
    "data": base64.b64encode(MP3).decode(),
    "expires_at": 1795262400,
    "transcript": "Ahoy.",
}
PNG_URL = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
IMAGE = {"type": "image_url", "image_url": {"url": PNG_URL}, "index": 0}
SPOKEN = Media(
    data=MP3,
    media_type="audio/mpeg",
    transcript="Ahoy.",
    extra={"id": "audio_1", "expires_at": 1795262400},
)
DRAWN = Media(data=PNG, media_type="image/png")


def completion(**message: Any) -> dict[str, Any]:
    whole = {"role": "assistant", "content": None, **message}
    return {"choices": [{"index": 0, "message": whole, "finish_reason": "stop"}]}


def chunks(*deltas: dict[str, Any]) -> list[dict[str, Any]]:
    ends: list[str | None] = [*[None] * (len(deltas) - 1), "stop"]
    return [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
        for delta, end in zip(deltas, ends, strict=True)
    ]


def read(provider: str = "openai", **message: Any) -> Reply:
    body = json.dumps(completion(**message)).encode()
    return parse_reply(parse_completion(body), provider=provider, model="m")


@joined(
    "message, parts",
    [
        ({"audio": SPEECH}, (SPOKEN,)),
        ({"content": "Ahoy!", "audio": SPEECH}, (Text("Ahoy!"), SPOKEN)),
        (
            {"audio": {"id": "audio_1", "data": "", "transcript": "Hi"}},
            (Media(url="audio_1", media_type="audio/*", transcript="Hi", extra={"id": "audio_1"}),),
        ),
        ({"audio": {"transcript": "Hi"}}, (Text("Hi"),)),
        (
            {"content": "4", "audio": {"id": "", "data": "", "expires_at": 0, "transcript": ""}},
            (Text("4"),),
        ),
        (
            {"audio": {"id": "audio_1", "data": "%%%", "transcript": "Hi"}},
            (Other("audio", {"id": "audio_1", "data": "%%%", "transcript": "Hi"}),),
        ),
        ({"content": "Here:", "images": [IMAGE]}, (Text("Here:"), DRAWN)),
        (
            {"images": [{"type": "image_url", "image_url": {"url": "https://a.example/b.webp?c"}}]},
            (Media(url="https://a.example/b.webp?c", media_type="image/webp"),),
        ),
        (
            {"content": [{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}]},
            (Text("a"), DRAWN, Text("b")),
        ),
        (
            {"images": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,%"}}]},
            (
                Other(
                    "image_url",
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,%"}},
                ),
            ),
        ),
    ],
)
def test_media_are_parts(message: dict[str, Any], parts: tuple[Part, ...]) -> None:
    reply = read(**message)
    assert reply.message.parts == parts
    assert reply.text == "".join(part.text for part in parts if isinstance(part, Text))
    assert reply.media == tuple(part for part in parts if isinstance(part, Media))
    assert not reply.empty
    saved = load_session(dump_session([reply.message]))
    assert (saved.messages, saved.notes) == ((reply.message,), ())
    assert saved.messages[0].origin == reply.message.origin


@joined(
    "pieces",
    [
        [base64.b64encode(MP3).decode()],
        list(base64.b64encode(MP3).decode()),
        [base64.b64encode(MP3[:4]).decode(), base64.b64encode(MP3[4:]).decode()],
        [base64.b64encode(bytes([each])).decode() for each in MP3],
        [base64.b64encode(MP3).decode().rstrip("=")],
    ],
    ids=["whole", "characters", "two padded", "bytes", "unpadded"],
)
def test_base64_in_pieces(pieces: list[str]) -> None:
    decoder = Base64Pieces()
    assert b"".join(map(decoder.feed, pieces)) + decoder.close() == MP3
    assert Base64Pieces().feed(joined_base64(pieces)) in (MP3, MP3[: len(MP3) // 3 * 3])


def test_malformed_base64_is_kept_as_it_came() -> None:
    assert joined_base64(["%=", "AAAA"]) == "%=AAAA"


STYLES = ["threads", "asyncio", "trio"]
SPEECH_STREAM = chunks(
    {"role": "assistant", "audio": {"id": "audio_1", "transcript": "Ah"}},
    {"audio": {"transcript": "oy.", "data": base64.b64encode(b"\x01").decode()}},
    {"audio": {"data": base64.b64encode(b"\x00\x02\x00").decode()}},
    {"audio": {"expires_at": 1795262400}},
)


@pytest.mark.parametrize("style", STYLES)
def test_speech_is_streamed(style: str) -> None:
    emulator = Emulator([{"stream": SPEECH_STREAM}])
    events, reply = Door(style).stream(emulator, "Hi", model="openai@chat:gpt-audio")
    kind = "audio/pcm;rate=24000"
    assert events[:-1] == [
        MediaDelta(position=0, transcript="Ah"),
        MediaDelta(position=0, transcript="oy.", data=b"\x01", media_type=kind),
        MediaDelta(position=0, data=b"\x00\x02\x00", media_type=kind),
    ]
    (speech,) = reply.media
    assert (speech.data, speech.media_type, speech.transcript, speech.extra) == (
        b"\x01\x00\x02\x00",
        kind,
        "Ahoy.",
        {"id": "audio_1", "expires_at": 1795262400},
    )
    assert (reply.text, reply.empty, reply.stop.reason) == ("", False, "end")


def test_the_media_type_is_that_of_the_first_bytes_of_all_pieces() -> None:
    pieces = [MP3[:1], MP3[1:]]
    stream = chunks(*({"audio": {"data": base64.b64encode(each).decode()}} for each in pieces))
    reply = Door("threads").stream(
        Emulator([{"stream": stream}]), "Hi", model="openai@chat:gpt-audio"
    )[1]
    assert reply.media == (Media(data=MP3, media_type="audio/mpeg"),)


@pytest.mark.parametrize("style", STYLES)
def test_images_are_streamed(style: str) -> None:
    stream = chunks({"content": "Here:"}, {"images": [IMAGE]}, {"images": [IMAGE]}, {"content": ""})
    events, reply = Door(style).stream(
        Emulator([{"stream": stream}]), "Hi", model="openrouter:google/gemini-2.5-flash-image"
    )
    assert [each for each in events if isinstance(each, MediaDelta)] == [
        MediaDelta(position=at, data=PNG, media_type="image/png") for at in (0, 1)
    ]
    assert (reply.text, reply.media) == ("Here:", (DRAWN, DRAWN))


def test_a_folded_stream_has_one_valid_base64() -> None:
    reader = ChunkReader()
    body = b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in SPEECH_STREAM)
    folded = fold([*reader.feed(body), *reader.close()])
    audio = (folded.choices or [])[0].message
    assert audio is not None
    assert audio.audio is not None
    assert audio.audio.data == base64.b64encode(b"\x01\x00\x02\x00").decode()


# --- what goes back -------------------------------------------------------------------------------


def sent(message: Message, model: str) -> tuple[Any, list[str]]:
    """The message as it is sent, `None` if it is left out, and the notes."""
    with Chat(model, api_key="fake-key") as chat:
        call = chat.call(messages=[HI, message, HI])
    body = json.loads(call.body)
    turns = body.get("messages") or body.get("contents") or body.get("input")
    is_left_out = len(turns) == 2
    return None if is_left_out else turns[1], [str(note) for note in notes(call)]


def of(provider: str, **message: Any) -> Message:
    """A message that the model `m` of this provider sent."""
    return read(provider, **message).message


NOT_READ = "withheld: this host is not known to accept it"


@joined(
    "message, model, back, said",
    [
        (
            of("openai@chat", audio=SPEECH),
            "openai@chat:m",
            {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
            [],
        ),
        (
            of("openrouter", content="Here:", images=[IMAGE]),
            "openrouter:m",
            {"role": "assistant", "content": "Here:", "images": [IMAGE]},
            [],
        ),
        (
            of("groq", audio=SPEECH),
            "groq:m",
            {"role": "assistant", "content": "Ahoy."},
            ["messages[1].audio: sent as its transcript"],
        ),
        (
            of("groq", content="Here:", images=[IMAGE]),
            "groq:m",
            {"role": "assistant", "content": "Here:"},
            [f"messages[1].images: {NOT_READ}"],
        ),
        # Edited: without the received bytes.
        (
            Message.assistant("Yes.", SPOKEN),
            "openai@chat:m",
            {"role": "assistant", "content": "Yes.", "audio": {"id": "audio_1"}},
            [],
        ),
        (
            Message.assistant(DRAWN),
            "openrouter:m",
            {
                "role": "assistant",
                "images": [{"type": "image_url", "image_url": {"url": PNG_URL}}],
            },
            [],
        ),
        (
            Message.assistant(Media(url="https://a.example/b")),
            "openrouter:m",
            {
                "role": "assistant",
                "images": [{"type": "image_url", "image_url": {"url": "https://a.example/b"}}],
            },
            [],
        ),
        (
            Message.assistant(SPOKEN),
            "deepseek:m",
            {"role": "assistant", "content": "Ahoy."},
            [
                "messages[1].parts[0]: sent as its transcript: this wire has no field for sounds "
                "of the assistant"
            ],
        ),
    ],
)
def test_media_go_back(message: Message, model: str, back: Any, said: list[str]) -> None:
    assert sent(message, model) == (back, said)


@joined(
    "model",
    ["anthropic:claude-sonnet-5", "gemini:gemini-3.8-flash", "openai@responses:gpt-5.4", "groq:n"],
)
def test_speech_goes_to_another_model_as_its_transcript(model: str) -> None:
    message = of("openai@chat", audio=SPEECH)
    turn, said = sent(message, model)
    assert "Ahoy." in json.dumps(turn)
    assert "audio_1" not in json.dumps(turn)
    assert "messages[1].parts[0]: sent as its transcript: a sound of another model" in said


@joined("model", ["anthropic:claude-sonnet-5", "openai@responses:gpt-5.4"])
def test_speech_of_ones_own_is_sent_as_its_transcript(model: str) -> None:
    turn, said = sent(Message.assistant(SPOKEN), model)
    assert "Ahoy." in json.dumps(turn)
    assert any("sent as its transcript" in note for note in said)


def test_an_id_goes_to_no_other_model() -> None:
    origin = Origin("openai@chat", "m", "openai")
    id_only = Media(url="audio_1", media_type="audio/*", extra={"id": "audio_1"})
    message = with_origin(
        Message.assistant("Hi", with_origin(id_only, origin), with_origin(DRAWN, origin)), origin
    )
    handed = hand_over([message], "gemini", "gemini-3.8-flash")
    assert handed[0].parts == (Text("Hi"), DRAWN)
    assert [str(note) for note in handed.notes] == [
        "messages[0].parts[1]: withheld: only its own vendor knows the id"
    ]
