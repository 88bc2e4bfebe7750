"""A session of Live as the neutral one: what is sent, and what the server's messages mean.

The settings and the turns are rendered as a request of generateContent, so that its rules apply:
schemas, signatures, the order of turns. The server is sent nothing before it has confirmed the
settings.
"""

from __future__ import annotations

import base64
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from wire.catalogue.stops import stop_word, stopped
from wire.core.decoders import from_base64
from wire.core.errors import RuleError, Violation
from wire.core.lenient import plain_fields
from wire.core.memory import Note, notes
from wire.core.provider import Provider
from wire.gemini.live.endpoints import WIRE, socket
from wire.gemini.live.types import (
    ActivityEnd,
    ActivityStart,
    AutomaticActivityDetection,
    ClientContent,
    ClientMessage,
    LiveToolCall,
    LiveToolResponse,
    RealtimeInput,
    RealtimeInputConfig,
    ServerContent,
    ServerMessage,
    SessionResumptionConfig,
    Setup,
)
from wire.gemini.parse import usage_of
from wire.gemini.paths import resource
from wire.gemini.rendering import render_request
from wire.gemini.rows import provider_row
from wire.gemini.types import (
    AudioTranscriptionConfig,
    Blob,
    Content,
    FunctionResponse,
    GenerationConfig,
    Part,
    PrebuiltVoiceConfig,
    SpeechConfig,
    Transcription,
    UsageMetadata,
    VoiceConfig,
)
from wire.neutral.live import (
    CallsCancelled,
    Closing,
    Interrupted,
    LiveEvent,
    LiveRequest,
    SpeechEnd,
    SpeechStart,
    TranscriptDelta,
    refuse_settings,
    with_live_options,
)
from wire.neutral.live_turns import BYTES_A_SAMPLE, SPEECH, LiveRecord, LiveTurn
from wire.neutral.messages import (
    Done,
    MediaDelta,
    Message,
    Origin,
    ProviderEvent,
    Reply,
    Stop,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolCallEnd,
    ToolResult,
    with_answer,
    with_origin,
)
from wire.neutral.messages import Part as NeutralPart
from wire.neutral.request import Request

INPUT_RATE, OUTPUT_RATE = 16_000, 24_000
"""Samples in a second of the user's sound, and of the model's."""
_SETTINGS = (
    "system",
    "tools",
    "max_tokens",
    "temperature",
    "top_p",
    "effort",
    "search_grounding",
    "raw_schemas",
    "options",
)
_RATE = re.compile(r"rate=(\d+)")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")
_SPEECH: dict[str, SpeechStart | SpeechEnd] = {
    "ACTIVITY_START": SpeechStart(),
    "ACTIVITY_END": SpeechEnd(),
    "VAD_SIGNAL_TYPE_SOS": SpeechStart(),
    "VAD_SIGNAL_TYPE_EOS": SpeechEnd(),
}
_KNOWN = frozenset(
    {
        "goAway",
        "serverContent",
        "sessionResumptionUpdate",
        "setupComplete",
        "toolCall",
        "toolCallCancellation",
        "usageMetadata",
        "voiceActivity",
        "voiceActivityDetectionSignal",
    }
)


class LiveGeminiConversation(LiveRecord):
    """One session; satisfies `wire.neutral.live.LiveConversation`."""

    input_rate, output_rate = INPUT_RATE, OUTPUT_RATE

    def __init__(self, request: LiveRequest, model: str, provider: Provider | str = "") -> None:
        self._row = provider_row(provider or "gemini")
        refuse_settings(request.request, _SETTINGS)
        super().__init__(request.before)
        self._model, self._request = model, request
        self.call = socket()
        self.outbox: deque[ClientMessage] = deque()
        self._held: deque[ClientMessage] | None = deque()
        """What waits for the server to confirm the settings; `None` afterwards."""
        state = request.state
        self.handle = state.handle if state is not None else ""
        self.kept = state.kept if state is not None and state.handle else 0
        self._setup, self._history = self._rendered(request.before)
        self._answer: LiveTurn | None = None
        self._count = 0
        self._usage: UsageMetadata | None = None
        self._speaker: LiveTurn | None = None
        self._is_cut = self._is_interrupted = self._is_speaking = False

    # --- to the server

    def begin(self) -> None:
        """Send the settings and the conversation before."""
        self.outbox.append(ClientMessage(setup=self._setup))
        if self._history:
            content = ClientContent(turns=self._history, turn_complete=False)
            self._send(ClientMessage(client_content=content))

    def _send(self, message: ClientMessage) -> None:
        (self.outbox if self._held is None else self._held).append(message)

    def send(self, parts: tuple[NeutralPart, ...]) -> None:
        """Send texts, media and results, and ask for an answer."""
        results = [part for part in parts if isinstance(part, ToolResult)]
        others = tuple(part for part in parts if not isinstance(part, ToolResult))
        turns = self._contents((Message("user", others),)) if others else None
        self._turns.answer(results)
        if results:
            self._send_results()
        if turns or not results:
            if turns:
                self._turns.add(LiveTurn("user")).parts = others
            content = ClientContent(turns=turns, turn_complete=True)
            self._send(ClientMessage(client_content=content))
            self._is_cut = False

    def _send_results(self) -> None:
        made = [
            FunctionResponse(id=each.id, name=each.name, response=each.answer)
            for each in self._turns.take_results()
        ]
        if made:
            self._send(ClientMessage(tool_response=LiveToolResponse(function_responses=made)))

    def send_sound(self, data: bytes) -> None:
        """Send a piece of sound."""
        if self._request.turns == "client" and not self._is_speaking:
            self._is_speaking = True
            self._send_input(RealtimeInput(activity_start=ActivityStart()))
        blob = Blob(mime_type=f"audio/pcm;rate={INPUT_RATE}", data=base64.b64encode(data).decode())
        self._send_input(RealtimeInput(audio=blob))
        self._is_cut = False

    def end_sound(self) -> None:
        """End the user's speech."""
        self._is_speaking = False
        if self._request.turns == "client":
            self._send_input(RealtimeInput(activity_end=ActivityEnd()))
        else:
            self._send_input(RealtimeInput(audio_stream_end=True))

    def _send_input(self, given: RealtimeInput) -> None:
        self._send(ClientMessage(realtime_input=given))

    def interrupt(self, heard: float | None) -> None:
        """Leave out the rest of the answer. The server can be told neither that, nor what of it
        was heard.
        """
        turn = self._turns.last_answer
        if self._answer is not None:
            self._is_cut = True
        if heard is not None and turn is not None:
            turn.heard = min(heard, turn.seconds)
            if turn.heard < turn.seconds:
                words = "the server believes that the user heard the whole answer"
                self.notes.append(Note("interrupt", words))

    # --- from the server

    def receive(self, message: ServerMessage) -> list[LiveEvent]:
        """Take a message of the server."""
        return list(self._read(message))

    def _read(self, message: ServerMessage) -> Iterator[LiveEvent]:
        if message.setup_complete is not None and self._held is not None:
            self.outbox += self._held
            self._held = None
        if message.usage_metadata is not None:
            self._usage = message.usage_metadata
        if (speech := _speech(message)) is not None:
            yield speech
        if message.server_content is not None:
            yield from self._content(message.server_content, message)
        if message.tool_call is not None:
            yield from self._calls(message.tool_call, message)
        if message.tool_call_cancellation is not None:
            ids = self._turns.cancel(message.tool_call_cancellation.ids or ())
            yield CallsCancelled(ids)
            self._send_results()
        if (update := message.session_resumption_update) is not None:
            self.handle = update.new_handle or "" if update.resumable else ""
            self.kept = len(self.messages)
        if message.go_away is not None:
            found = _SECONDS.fullmatch(message.go_away.time_left or "")
            yield Closing(float(found[1]) if found else None)
        others = _object(message)
        if not others.keys() & _KNOWN:
            yield ProviderEvent("", others)

    def _content(self, content: ServerContent, message: ServerMessage) -> Iterator[LiveEvent]:
        if content.interim_input_transcription is not None:
            yield from self._heard(content.interim_input_transcription, replaces=True)
        if content.input_transcription is not None:
            yield from self._heard(content.input_transcription, replaces=False)
        for part in (content.model_turn.parts if content.model_turn is not None else None) or ():
            yield from self._part(part)
        if (said := content.output_transcription) is not None and said.text:
            self._speaking().add(said.text)
            if not self._is_cut:
                yield TranscriptDelta("assistant", said.text)
        if content.interrupted:
            self._is_interrupted = True
            yield Interrupted()
        if content.turn_complete:
            yield Done(self._done(content, message))

    def _heard(self, said: Transcription, *, replaces: bool) -> Iterator[LiveEvent]:
        """Take words of the user. A guess is shown, but the words after it are the transcript."""
        if said.text:
            if self._speaker is None:
                self._speaker = self._turns.add(LiveTurn("user"))
            if not replaces:
                self._speaker.add(said.text)
            yield TranscriptDelta("user", said.text, replaces)

    def _speaking(self) -> LiveTurn:
        """Return the answer that is being made."""
        if self._answer is None:
            self._speaker = None
            self._answer = self._turns.add(LiveTurn("assistant"))
        return self._answer

    def _part(self, part: Part) -> Iterator[LiveEvent]:
        turn = self._speaking()
        if part.thought:
            turn.thoughts.append(part.text or "")
            yield ThoughtDelta(part.text or "")
        elif part.text is not None:
            turn.add(part.text)
            if not self._is_cut:
                yield TextDelta(part.text)
        elif part.inline_data is not None:
            kind = part.inline_data.mime_type or ""
            try:
                data = from_base64(part.inline_data.data or "")
            except ValueError:
                self.notes.append(Note("sound", "a piece of sound is not base64; it is left out"))
                return
            found = _RATE.search(kind)
            rate = int(found[1]) if found and int(found[1]) else OUTPUT_RATE
            turn.seconds += len(data) / (BYTES_A_SAMPLE * rate)
            if not self._is_cut:
                yield MediaDelta(position=0, data=data, media_type=kind)
        else:
            yield ProviderEvent("", _object(part))

    def _calls(self, given: LiveToolCall, message: ServerMessage) -> Iterator[LiveEvent]:
        """Take calls. They end an answer: the next one follows the results."""
        turn = self._speaking()
        for each in given.function_calls or ():
            call = ToolCall(
                id=each.id or f"call_{self._count}_{len(turn.calls)}",
                name=each.name or "",
                arguments=each.args or {},
            )
            turn.calls.append(call)
            yield ToolCallEnd(len(turn.calls) - 1, call)
        yield Done(self._reply(turn, "", "", message))
        self._answer = None

    def _done(self, content: ServerContent, message: ServerMessage) -> Reply:
        turn = self._speaking()
        word = content.turn_complete_reason or ("interrupted" if self._is_interrupted else "")
        reply = self._reply(turn, str(word or "turnComplete"), str(word), message)
        self._is_interrupted = self._is_cut = False
        self._answered, self._answer, self._usage, self._speaker = turn, None, None, None
        return reply

    def _reply(self, turn: LiveTurn, word: str, raw: str, message: ServerMessage) -> Reply:
        self._count += 1
        row = stop_word("live", word or "turnComplete", calls=bool(turn.calls))
        stop, told = stopped(row, raw or None)
        said = turn.message(turn.said) or Message("assistant")
        reply = Reply(
            with_origin(said, Origin(self._row.name, self._model, WIRE, message)),
            stop,
            usage=None if self._usage is None else usage_of(self._usage),
            notes=told,
            model=self._model,
        )
        return with_answer(reply, message)

    def partial(self) -> Done | None:
        """Return the answer that has begun and not ended."""
        if self._answer is None:
            return None
        message = self._answer.message(self._answer.said) or Message("assistant")
        return Done(Reply(message, Stop("other"), model=self._model))

    # --- settings

    def _contents(self, messages: tuple[Message, ...]) -> list[Content]:
        request = Request(messages=messages, tools=self._request.request.tools)
        rendered = render_request(request, self._model, self._row)
        self.notes += notes(rendered)
        return [*(rendered.contents or ())]

    def _resource(self) -> str:
        """Return the full name of the model; on Vertex, with its project."""
        if self._row.dialect.api != "vertex" or "/" in self._model:
            return resource(self._model)
        _, _, project = self._row.prefix.removeprefix("/").partition("/")
        return f"{project}/{resource(self._model)}"

    def _rendered(self, before: tuple[Message, ...]) -> tuple[Setup, list[Content]]:
        """Return the settings, and the turns that the server does not have."""
        asked, request = self._request, self._request.request
        # A request needs a message; that of a session without any is not sent.
        messages = before or (Message.user(SPEECH),)
        plain = msgspec.structs.replace(request, messages=messages, options={})
        rendered = render_request(plain, self._model, self._row)
        self.notes += notes(rendered)
        voice = PrebuiltVoiceConfig(voice_name=asked.voice) if asked.voice else None
        speech = SpeechConfig(
            language_code=asked.language,
            voice_config=VoiceConfig(prebuilt_voice_config=voice) if voice else None,
        )
        config = msgspec.structs.replace(
            rendered.generation_config or GenerationConfig(),
            response_modalities=["AUDIO" if asked.sound else "TEXT"],
            speech_config=speech if speech != SpeechConfig() else None,
        )
        if isinstance(asked.transcripts, str):
            problem = "Live chooses the model that writes down what the user says"
            raise RuleError(violations=[Violation("transcripts", problem)])
        listens = AudioTranscriptionConfig() if asked.transcripts else None
        detection = AutomaticActivityDetection(disabled=True)
        setup: dict[str, Any] = {
            "model": self._resource(),
            "generation_config": config,
            "system_instruction": rendered.system_instruction,
            "tools": rendered.tools,
            "session_resumption": SessionResumptionConfig(handle=self.handle or None),
            "input_audio_transcription": listens,
            "output_audio_transcription": AudioTranscriptionConfig() if asked.sound else None,
        }
        if asked.turns == "client":
            setup["realtime_input_config"] = RealtimeInputConfig(
                automatic_activity_detection=detection
            )
        new = before[self.kept :] if self.handle else before
        made = with_live_options(Setup(**setup), request.options, self._row, self.notes)
        return made, self._contents(new) if new else []


def _speech(message: ServerMessage) -> SpeechStart | SpeechEnd | None:
    """Return what a message says of the user's speech. Servers send it in one of two forms."""
    activity, signal = message.voice_activity, message.voice_activity_detection_signal
    word = activity.voice_activity_type if activity is not None else None
    if word is None and signal is not None:
        word = signal.vad_signal_type
    return _SPEECH.get(str(word))


def _object(value: Any) -> dict[str, Any]:
    fields = plain_fields(value)
    return fields if isinstance(fields, dict) else {}


def live_conversation(
    request: LiveRequest, model: str, provider: Provider | str = ""
) -> LiveGeminiConversation:
    """Build one session. Raises `RuleError` for settings that Live lacks, and as `render_request`
    of generateContent.
    """
    return LiveGeminiConversation(request, model, provider)
