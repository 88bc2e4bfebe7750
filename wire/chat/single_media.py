"""`image`, `speak` and `transcribe`: one call with a client of its own, for threads."""

from __future__ import annotations

from typing import Any, Unpack

from wire.chat.state import model_name
from wire.core.arguments import checked_names
from wire.core.secret import sealed
from wire.http.client import Client
from wire.http.target import Options, seal
from wire.neutral.images import Images, ImageSettings
from wire.neutral.speech import Speech, SpeechSettings
from wire.neutral.transcripts import Sound, Transcript, TranscriptSettings
from wire.wires.providers import model_of


class ImageOptions(ImageSettings, Options, total=False):
    """The keyword arguments of `image`: settings of the images, and options of the client."""

    http: Any


class SpeechOptions(SpeechSettings, Options, total=False):
    """The keyword arguments of `speak`: settings of the speech, and options of the client."""

    http: Any


class TranscriptOptions(TranscriptSettings, Options, total=False):
    """The keyword arguments of `transcribe`: settings of the transcript, and of the client."""

    http: Any


_SETTINGS = frozenset(
    (
        *ImageSettings.__annotations__,
        *SpeechSettings.__annotations__,
        *TranscriptSettings.__annotations__,
    )
)


def _sealed(options: Any) -> None:
    """Replace what may be a key in the options by a `Secret`, in place."""
    seal(options, ("prompt", "text", "sound", *_SETTINGS))


@checked_names(seal=_sealed)
def image(prompt: str, model: str, **options: Unpack[ImageOptions]) -> Images:
    """Return images of a prompt, or changed pictures, as `Media` that go into messages.

    As `Client.image`, with a client for this call alone.

    >>> from wire.testing.emulator import EmulatorTransport
    >>> http = EmulatorTransport()
    >>> [picture] = image("A cat", "openai:gpt-image-2", api_key="fake-key", http=http)
    >>> picture.media_type
    'image/png'

    For asyncio and trio, for streams, and for many calls, `AsyncClient` and `Client` have the same.
    Raises as `Client.image`.

    Args:
        prompt: What the images show, or how the pictures change.
        model: `provider[@region]:model`, such as `openai:gpt-image-2`.
        options: The settings of `Client.image`, and the options of `Client`.
    """
    images: Images = _asked("image", prompt, model, options, ImageSettings)
    return images


@checked_names(seal=_sealed)
def speak(text: str, model: str, **options: Unpack[SpeechOptions]) -> Speech:
    """Return a text as sound: a `Media` that goes into messages, and its bytes.

    As `Client.speak`, with a client for this call alone.

    >>> from wire.testing.emulator import EmulatorTransport
    >>> http = EmulatorTransport()
    >>> model = "gemini:gemini-3.8-flash-tts"
    >>> speech = speak("Hello", model, voice="Kore", format="wav", api_key="fake-key", http=http)
    >>> speech.media.media_type, speech.data[:4]
    ('audio/wav', b'RIFF')

    For asyncio and trio, for streams, and for many calls, `AsyncClient` and `Client` have the same.
    Raises as `Client.speak`.

    Args:
        text: What is spoken.
        model: `provider[@region]:model`, such as `openai:gpt-4o-mini-tts`.
        options: The settings of `Client.speak`, and the options of `Client`.
    """
    speech: Speech = _asked("speak", text, model, options, SpeechSettings)
    return speech


@checked_names(seal=_sealed)
def transcribe(sound: Sound, model: str, **options: Unpack[TranscriptOptions]) -> Transcript:
    """Return what is said in a sound.

    As `Client.transcribe`, with a client for this call alone.

    >>> from wire import Media
    >>> from wire.testing.emulator import EmulatorTransport
    >>> sound = Media(data=b"RIFF\\x04\\0\\0\\0WAVE", media_type="audio/wav")
    >>> http = EmulatorTransport()
    >>> transcribe(sound, "openai:whisper-1", api_key="fake-key", http=http).text
    'This is audio.wav of 12 bytes.'

    For asyncio and trio, for streams, and for many calls, `AsyncClient` and `Client` have the same.
    Raises as `Client.transcribe`.

    Args:
        sound: A `Media`, a path, or a binary file that is open.
        model: `provider[@region]:model`, such as `openai:gpt-4o-transcribe`.
        options: The settings of `Client.transcribe`, and the options of `Client`.
    """
    transcript: Transcript = _asked("transcribe", sound, model, options, TranscriptSettings)
    return transcript


def _asked(method: str, what: Any, model: Any, options: Any, settings: Any) -> Any:
    model = sealed(model)  # before anything can raise
    provider, name = model_of(model_name(model, False))
    own = {each: options[each] for each in options if each in settings.__annotations__}
    others = {each: options[each] for each in options if each not in own}
    with Client(provider, **others) as client:
        return getattr(client, method)(what, name, **own)
