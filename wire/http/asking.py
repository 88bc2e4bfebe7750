"""The methods of clients beside chats: embeddings, decisions, images, speech and transcripts.

The requests are in `wire.neutral`; each wire makes a call or a flow of them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack

from wire.core.provider import Provider

if TYPE_CHECKING:
    from wire.core.call import Call
    from wire.core.flow import Flow
    from wire.neutral.decisions import Decisions, Part, Question
    from wire.neutral.embeddings import Embeddings
    from wire.neutral.images import Images, ImageSettings, PartialImage
    from wire.neutral.media import TranscriptEvent
    from wire.neutral.messages import MediaDelta
    from wire.neutral.speech import Speech, SpeechSettings
    from wire.neutral.transcripts import Sound, Transcript, TranscriptSettings

Item_co = TypeVar("Item_co", covariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class MediaStream(Protocol[Item_co, Result_co]):
    """A stream of `Client`, which iterates over its items once."""

    def __iter__(self) -> Iterator[Item_co]: ...

    def result(self) -> Result_co:
        """Read to the end, and return what the call without a stream returns."""
        ...

    def partial(self) -> Result_co:
        """Return the result so far."""
        ...


class AsyncMediaStream(Protocol[Item_co, Result_co]):
    """A stream of `AsyncClient`, which iterates over its items once."""

    def __aiter__(self) -> AsyncIterator[Item_co]: ...

    async def result(self) -> Result_co:
        """Read to the end, and return what the call without a stream returns."""
        ...

    def partial(self) -> Result_co:
        """Return the result so far."""
        ...


def _embedding(
    texts: Any, model: Any, dimensions: int | None, task: str | None, row: Provider
) -> Flow[Embeddings]:
    from wire.wires.asking import embed_flow  # most programs chat only

    return embed_flow(texts, model, dimensions, task, row)


def _deciding(input: Any, questions: Any, model: Any, row: Provider) -> Call[Decisions]:
    from wire.wires.asking import decide_call

    return decide_call(input, questions, model, row)


def _image(kind: Any, prompt: Any, model: Any, settings: Any, row: Provider) -> Any:
    from wire.neutral.images import ImageRequest
    from wire.wires.asking import media_call

    return media_call(kind, ImageRequest(prompt, **settings), model, row)


def _speech(kind: Any, text: Any, model: Any, settings: Any, row: Provider) -> Any:
    from wire.neutral.speech import SpeechRequest
    from wire.wires.asking import media_call

    return media_call(kind, SpeechRequest(text, **settings), model, row)


def _transcript(kind: Any, sound: Any, model: Any, settings: Any, row: Provider) -> Any:
    from wire.neutral.transcripts import TranscriptRequest
    from wire.wires.asking import media_call

    return media_call(kind, TranscriptRequest(sound, **settings), model, row)


class AskingForThreads:
    """Methods of `Client`."""

    def embed(
        self: Any,
        texts: str | Sequence[str],
        model: str,
        *,
        dimensions: int | None = None,
        task: str | None = None,
    ) -> Embeddings:
        """Return the vectors of texts, in their order, in as many requests as the host needs.

        >>> from wire import Client
        >>> from wire.testing.emulator import EmulatorTransport
        >>> with Client("gemini", api_key="fake-key", http=EmulatorTransport()) as client:
        ...     found = client.embed(["High", "Low"], "gemini-embedding-001", dimensions=8)
        >>> len(found), len(found[0]), found.usage.input
        (2, 8, 2)

        Raises `RuleError` for texts that cannot be embedded, `ConfigurationError` for a provider
        without embeddings, and the `wire.WireError` of a failure, whose `partial` has the vectors
        of the requests before it.

        Args:
            texts: Texts, or one text. None may be empty.
            model: Name of the model, such as `gemini-embedding-001`.
            dimensions: Numbers of each vector, for models that let you choose. By default, as many
                as the model has.
            task: What the vectors are for: `query`, `document`, `similarity`, `classification`,
                `clustering`, `question`, `fact` or `code`. Only Gemini has it; `notes` of the
                result tell where it is not sent.
        """
        found: Embeddings = self.run(_embedding(texts, model, dimensions, task, self.row))
        return found

    def decide(
        self: Any, input: Part | Sequence[Part], questions: Mapping[str, Question], model: str
    ) -> Decisions:
        """Return the answers to closed questions about one input, with their probabilities.

        >>> from wire import Client, yes_no
        >>> from wire.testing.emulator import EmulatorTransport
        >>> questions = {"urgent": yes_no("The customer needs help today.")}
        >>> with Client("openai", api_key="fake-key", http=EmulatorTransport()) as client:
        ...     decisions = client.decide("Nothing works!", questions, "gpt-6-luna")
        >>> list(decisions), decisions["urgent"].refused
        (['urgent'], False)

        Raises `RuleError` for an input and for questions that cannot be sent, `ConfigurationError`
        for a provider without such an endpoint, `BlockedError` if its filters blocked the input,
        and the `wire.WireError` of a failure.

        Args:
            input: A text, a `Media`, a JSON object, or several of these, or the messages of a
                conversation: what all questions are about.
            questions: Each question by the name of its answer, made by `wire.yes_no`, `wire.one_of`
                and `wire.scale`.
            model: Name of the model, such as `gpt-6-luna`.
        """
        decisions: Decisions = self.send(_deciding(input, questions, model, self.row))
        return decisions

    def image(self: Any, prompt: str, model: str, **settings: Unpack[ImageSettings]) -> Images:
        """Return images of a prompt, or changed pictures, as `Media` that go into messages.

        >>> from wire import Client
        >>> from wire.testing.emulator import EmulatorTransport
        >>> with Client("openai", api_key="fake-key", http=EmulatorTransport()) as client:
        ...     [image] = client.image("A cat", "gpt-image-2", size="1024x1024")
        >>> image.media_type
        'image/png'

        Raises `RuleError` for a prompt and settings that the host does not take,
        `ConfigurationError` for a provider that makes no images, and the `wire.WireError` of a
        failure.

        Args:
            prompt: What the images show, or how the pictures change.
            model: Name of the model, such as `gpt-image-2`.
            settings: The fields of `wire.ImageRequest`: `pictures`, `mask`, `count`, `size`,
                `aspect_ratio`, `resolution`, `quality`, `background`, `format`, `seed`.
        """
        images: Images = self.send(_image("image", prompt, model, settings, self.row))
        return images

    def stream_image(
        self: Any, prompt: str, model: str, **settings: Unpack[ImageSettings]
    ) -> AbstractContextManager[MediaStream[PartialImage, Images]]:
        """Return the same as a stream of partial images; its `result()` has the complete ones.

        >>> from wire import Client
        >>> from wire.testing.emulator import EmulatorTransport
        >>> with Client("openai", api_key="fake-key", http=EmulatorTransport()) as client:
        ...     with client.stream_image("A cat", "gpt-image-2", partials=2) as stream:
        ...         numbers = [partial.index for partial in stream]
        ...         images = stream.result()
        >>> numbers, len(images)
        ([0, 1], 1)

        Raises as `image`.

        Args:
            prompt: What the images show, or how the pictures change.
            model: Name of the model, such as `gpt-image-2`.
            settings: Those of `image`, and `partials`, the number of partial images.
        """
        call = _image("stream_image", prompt, model, settings, self.row)
        stream: AbstractContextManager[MediaStream[PartialImage, Images]] = self.stream(call)
        return stream

    def speak(self: Any, text: str, model: str, **settings: Unpack[SpeechSettings]) -> Speech:
        """Return a text as sound: a `Media` that goes into messages, and its bytes.

        >>> from wire import Client
        >>> from wire.testing.emulator import EmulatorTransport
        >>> with Client("openai", api_key="fake-key", http=EmulatorTransport()) as client:
        ...     speech = client.speak("Hello", "gpt-4o-mini-tts", voice="alloy", format="wav")
        >>> speech.media.media_type, speech.data[:4]
        ('audio/wav', b'RIFF')

        Raises `RuleError` for a text and settings that the host does not take,
        `ConfigurationError` for a provider that makes no speech, and the `wire.WireError` of a
        failure.

        Args:
            text: What is spoken.
            model: Name of the model, such as `gpt-4o-mini-tts`.
            settings: The fields of `wire.SpeechRequest`: `voice`, `format`, `speed`,
                `instructions`, `language`. Most hosts need a voice.
        """
        speech: Speech = self.send(_speech("speech", text, model, settings, self.row))
        return speech

    def stream_speech(
        self: Any, text: str, model: str, **settings: Unpack[SpeechSettings]
    ) -> AbstractContextManager[MediaStream[MediaDelta, Speech]]:
        """Return the same as a stream of pieces of the sound; its `result()` has all of it.

        >>> from wire import Client
        >>> from wire.testing.emulator import EmulatorTransport
        >>> with Client("openai", api_key="fake-key", http=EmulatorTransport()) as client:
        ...     with client.stream_speech("Hello", "gpt-4o-mini-tts", voice="alloy") as stream:
        ...         pieces = [piece.data for piece in stream]
        ...         speech = stream.result()
        >>> b"".join(pieces) == speech.data
        True

        Raises as `speak`, and `StreamIncomplete` for sound that ends early.

        Args:
            text: What is spoken.
            model: Name of the model, such as `gpt-4o-mini-tts`.
            settings: Those of `speak`.
        """
        call = _speech("stream_speech", text, model, settings, self.row)
        stream: AbstractContextManager[MediaStream[MediaDelta, Speech]] = self.stream(call)
        return stream

    def transcribe(
        self: Any, sound: Sound, model: str, **settings: Unpack[TranscriptSettings]
    ) -> Transcript:
        """Return what is said in a sound.

        >>> from wire import Client, Media
        >>> from wire.testing.emulator import EmulatorTransport
        >>> sound = Media(data=b"RIFF\\x04\\0\\0\\0WAVE", media_type="audio/wav")
        >>> with Client("openai", api_key="fake-key", http=EmulatorTransport()) as client:
        ...     transcript = client.transcribe(sound, "whisper-1", timestamps="segment")
        >>> len(transcript.segments)
        1

        A path or an open file is read while it is sent. Raises `RuleError` for a sound and settings
        that the host does not take, `ConfigurationError` for a provider that reads no sound, and
        the `wire.WireError` of a failure.

        Args:
            sound: A `Media`, a path, or a binary file that is open.
            model: Name of the model, such as `gpt-4o-transcribe`.
            settings: The fields of `wire.TranscriptRequest`: `language`, `prompt`, `temperature`,
                `timestamps`, `speakers`, `translate`, `filename`.
        """
        call = _transcript("transcript", sound, model, settings, self.row)
        transcript: Transcript = self.send(call)
        return transcript

    def stream_transcript(
        self: Any, sound: Sound, model: str, **settings: Unpack[TranscriptSettings]
    ) -> AbstractContextManager[MediaStream[TranscriptEvent, Transcript]]:
        """Return the same as a stream of `TextDelta` and `TranscriptSegment`.

        >>> from wire import Client, Media
        >>> from wire.testing.emulator import EmulatorTransport
        >>> sound = Media(data=b"RIFF\\x04\\0\\0\\0WAVE", media_type="audio/wav")
        >>> with Client("openai", api_key="fake-key", http=EmulatorTransport()) as client:
        ...     with client.stream_transcript(sound, "gpt-4o-transcribe") as stream:
        ...         text = "".join(piece.text for piece in stream)
        ...         transcript = stream.result()
        >>> text == transcript.text
        True

        Raises as `transcribe`.

        Args:
            sound: A `Media`, a path, or a binary file that is open.
            model: Name of the model, such as `gpt-4o-transcribe`.
            settings: Those of `transcribe`.
        """
        call = _transcript("stream_transcript", sound, model, settings, self.row)
        stream: AbstractContextManager[MediaStream[TranscriptEvent, Transcript]] = self.stream(call)
        return stream


class AskingForTasks:
    """Methods of `AsyncClient`; those of `AskingForThreads` document them."""

    async def embed(
        self: Any,
        texts: str | Sequence[str],
        model: str,
        *,
        dimensions: int | None = None,
        task: str | None = None,
    ) -> Embeddings:
        """Return the vectors of texts, in their order, as `Client.embed`.

        Args:
            texts: Texts, or one text. None may be empty.
            model: Name of the model, such as `gemini-embedding-001`.
            dimensions: Numbers of each vector, for models that let you choose. By default, as many
                as the model has.
            task: What the vectors are for: `query`, `document`, `similarity`, `classification`,
                `clustering`, `question`, `fact` or `code`. Only Gemini has it; `notes` of the
                result tell where it is not sent.
        """
        found: Embeddings = await self.run(_embedding(texts, model, dimensions, task, self.row))
        return found

    async def decide(
        self: Any, input: Part | Sequence[Part], questions: Mapping[str, Question], model: str
    ) -> Decisions:
        """Return the answers to closed questions about one input, as `Client.decide`.

        Args:
            input: A text, a `Media`, a JSON object, or several of these, or the messages of a
                conversation: what all questions are about.
            questions: Each question by the name of its answer, made by `wire.yes_no`, `wire.one_of`
                and `wire.scale`.
            model: Name of the model, such as `gpt-6-luna`.
        """
        decisions: Decisions = await self.send(_deciding(input, questions, model, self.row))
        return decisions

    async def image(
        self: Any, prompt: str, model: str, **settings: Unpack[ImageSettings]
    ) -> Images:
        """Return images of a prompt, or changed pictures, as `Client.image`.

        Args:
            prompt: What the images show, or how the pictures change.
            model: Name of the model, such as `gpt-image-2`.
            settings: The fields of `wire.ImageRequest`.
        """
        images: Images = await self.send(_image("image", prompt, model, settings, self.row))
        return images

    def stream_image(
        self: Any, prompt: str, model: str, **settings: Unpack[ImageSettings]
    ) -> AbstractAsyncContextManager[AsyncMediaStream[PartialImage, Images]]:
        """Return a stream of partial images, as `Client.stream_image`.

        Args:
            prompt: What the images show, or how the pictures change.
            model: Name of the model, such as `gpt-image-2`.
            settings: The fields of `wire.ImageRequest`.
        """
        call = _image("stream_image", prompt, model, settings, self.row)
        stream: AbstractAsyncContextManager[AsyncMediaStream[PartialImage, Images]] = self.stream(
            call
        )
        return stream

    async def speak(self: Any, text: str, model: str, **settings: Unpack[SpeechSettings]) -> Speech:
        """Return a text as sound, as `Client.speak`.

        Args:
            text: What is spoken.
            model: Name of the model, such as `gpt-4o-mini-tts`.
            settings: The fields of `wire.SpeechRequest`.
        """
        speech: Speech = await self.send(_speech("speech", text, model, settings, self.row))
        return speech

    def stream_speech(
        self: Any, text: str, model: str, **settings: Unpack[SpeechSettings]
    ) -> AbstractAsyncContextManager[AsyncMediaStream[MediaDelta, Speech]]:
        """Return a stream of pieces of sound, as `Client.stream_speech`.

        Args:
            text: What is spoken.
            model: Name of the model, such as `gpt-4o-mini-tts`.
            settings: The fields of `wire.SpeechRequest`.
        """
        call = _speech("stream_speech", text, model, settings, self.row)
        stream: AbstractAsyncContextManager[AsyncMediaStream[MediaDelta, Speech]] = self.stream(
            call
        )
        return stream

    async def transcribe(
        self: Any, sound: Sound, model: str, **settings: Unpack[TranscriptSettings]
    ) -> Transcript:
        """Return what is said in a sound, as `Client.transcribe`.

        Args:
            sound: A `Media`, a path, or a binary file that is open.
            model: Name of the model, such as `gpt-4o-transcribe`.
            settings: The fields of `wire.TranscriptRequest`.
        """
        call = _transcript("transcript", sound, model, settings, self.row)
        transcript: Transcript = await self.send(call)
        return transcript

    def stream_transcript(
        self: Any, sound: Sound, model: str, **settings: Unpack[TranscriptSettings]
    ) -> AbstractAsyncContextManager[AsyncMediaStream[TranscriptEvent, Transcript]]:
        """Return a stream of pieces of text, as `Client.stream_transcript`.

        Args:
            sound: A `Media`, a path, or a binary file that is open.
            model: Name of the model, such as `gpt-4o-transcribe`.
            settings: The fields of `wire.TranscriptRequest`.
        """
        call = _transcript("stream_transcript", sound, model, settings, self.row)
        stream: AbstractAsyncContextManager[AsyncMediaStream[TranscriptEvent, Transcript]]
        stream = self.stream(call)
        return stream
