"""Responses of generateContent in the formats of 2.5 and of 3.x.

Where signatures stand, how calls are spread over chunks and what the usage counts follows recorded
traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from wire.catalogue.stops import Stop
from wire.core.decoders import from_base64
from wire.gemini.replies import candidate_of
from wire.gemini.types import AudioTranscriptionConfig, Content, GenerateContentRequest
from wire.neutral.messages import Media, Message, Part, Reply, Text, Thought, ToolCall
from wire.testing.emulator.media import PIXEL, RATE, seconds_of, silence
from wire.testing.emulator.model import numbered, pieces, thinking, written
from wire.testing.emulator.moments import timestamp
from wire.testing.emulator.signing import digest
from wire.testing.emulator.sources import sources_of
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendor import Failed, Failure
from wire.testing.emulator.vendors.gemini.catalog import Traits
from wire.testing.emulator.vendors.gemini.metadata import metadata, searches
from wire.testing.emulator.vendors.gemini.prompt_tokens import details, prompt_tokens
from wire.testing.emulator.vendors.gemini.signatures import Signatures, steps

_CALLS_MESSAGE = "Model generated function call(s)."
_MAX_CANDIDATES = 8
"""The maximum of `candidateCount`, which multiplies the response."""


@dataclass(frozen=True, slots=True)
class ResponseWriter:
    """Writes the responses to one request; each method takes the id of the response."""

    request: GenerateContentRequest
    model: Traits
    host: str
    signatures: Signatures
    cached_tokens: int = 0
    """Of the cached content that the request names."""
    implicit_tokens: Callable[[], int] = int
    """Returns how many tokens of the request itself are cached."""

    def whole(self, reply: Reply, id: str) -> dict[str, Any]:
        """Build one complete response."""
        if self._transcription is not None:
            return self._transcript(self._transcription, id)
        texts: list[Text | ToolCall] = [Text(reply.text)] if reply.text else []
        calls = self._calls(reply, id)
        if texts and not calls:
            texts = [Text(reply.text, self._signature_of(reply))]
        media = self._media(reply)
        if media:
            texts = [*self._texts(reply)]
        parts = [*self._thoughts(reply), *texts, *calls, *media]
        usage = self._usage(written(reply) * self._candidate_count, thinking(reply))
        return self._response(parts, usage, id, reply)

    def chunks(self, reply: Reply, id: str) -> Iterator[dict[str, Any]]:
        """Yield the same response as the chunks of a stream."""
        if self._transcription is not None:
            yield self._transcript(self._transcription, id)
            return
        for part in self._thoughts(reply):
            yield self._response([part], self._usage(0, 0), id)
        media = self._media(reply)
        if media:
            yield self._response([*self._texts(reply), media[0]], self._usage(0, 0), id)
            usage = self._usage(written(reply), thinking(reply))
            yield self._response(media[1:], usage, id, reply)
            return
        texts, calls, last = pieces(reply.text), self._calls(reply, id), self.model.signs == "last"
        for index, text in enumerate(texts):
            first = index == 0 and self.model.signs == "first" and not calls
            part = Text(text, self._signature_of(reply) if first else "")
            ends = index == len(texts) - 1 and not calls and not last
            usage = self._usage(count("".join(texts[: index + 1])), thinking(reply))
            yield self._response([part], usage, id, reply if ends else None)
        usage = self._usage(written(reply), thinking(reply))
        if last:
            # 3.x sends each call in a chunk of its own, and ends with an empty, signed text.
            for call in calls:
                yield self._response([call], usage, id)
            end = Text("", "" if calls or not texts else self._signature_of(reply))
            yield self._response([end] if calls or texts else [], usage, id, reply)
        elif calls or not texts:
            yield self._response(calls, usage, id, reply)

    def with_ids(self, response: dict[str, Any], id: str) -> dict[str, Any]:
        """Add the fields that every response has to a response of a script."""
        return {
            **response,
            "modelVersion": response.get("modelVersion", self.model.name),
            "responseId": response.get("responseId", id),
        }

    def remember(self, response: dict[str, Any]) -> None:
        """Accept the ids and signatures of a response when they come back."""
        step, position = len(steps(self.request.contents or ())), 0
        for candidate in response.get("candidates") or ():
            for part in (candidate.get("content") or {}).get("parts") or ():
                if "functionCall" not in part:
                    continue
                call, signature = part["functionCall"], part.get("thoughtSignature")
                self.signatures.ids[call.get("id") or ""] = True
                if isinstance(signature, str):
                    self.signatures.remember(signature, call.get("name", ""), step, position)
                position += 1

    @property
    def _candidate_count(self) -> int:
        config = self.request.generation_config
        number = (config and config.candidate_count) or 1
        if number > _MAX_CANDIDATES:
            limit = f"must be in the range [1, {_MAX_CANDIDATES}], but was {number}"
            raise Failed(Failure(400, f"generation_config.candidate_count: {limit}"))
        return max(1, number)

    @property
    def _transcription(self) -> AudioTranscriptionConfig | None:
        config = self.request.generation_config
        return None if config is None else config.audio_transcription_config

    def _transcript(self, config: AudioTranscriptionConfig, id: str) -> dict[str, Any]:
        """Build a response that writes down each sound of the last message: which one it is."""
        parts = []
        for part in (self.request.contents or [Content()])[-1].parts or ():
            sound = from_base64((part.inline_data and part.inline_data.data) or "")
            end = f"{seconds_of(sound)}s"
            text = f"This is a sound of {len(sound)} bytes."
            found: dict[str, Any] = {"text": text, "startOffset": "0s", "endOffset": end}
            if config.word_timestamp:
                found["words"] = [{"word": text, "startOffset": "0s", "endOffset": end}]
            if config.diarization:
                found["speakerLabel"] = "spk_1"
            parts.append({"audioTranscription": found})
        content = {"role": "model", "parts": parts}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        usage = self._usage(count(str(parts)), 0)
        return self.with_ids({"candidates": [candidate], "usageMetadata": usage}, id)

    @property
    def _modalities(self) -> list[str]:
        config = self.request.generation_config
        return [str(each) for each in (config and config.response_modalities) or ()]

    def _texts(self, reply: Reply) -> list[Text]:
        """Return the text of a reply with media; none if only media were asked for."""
        return [Text(reply.text)] if reply.text and "TEXT" in self._modalities else []

    def _media(self, reply: Reply) -> list[Part]:
        """Return the media that were asked for: an image, or silence in two pieces."""
        if "AUDIO" in self._modalities:
            sound, kind = silence(reply.text, "pcm"), f"audio/L16;codec=pcm;rate={RATE}"
            half = len(sound) // 4 * 2  # samples have two bytes
            return [Media(data=each, media_type=kind) for each in (sound[:half], sound[half:])]
        if "IMAGE" in self._modalities:
            return [Media(data=PIXEL, media_type="image/png")]
        return []

    def _thoughts(self, reply: Reply) -> list[Part]:
        config = self.request.generation_config and self.request.generation_config.thinking_config
        shown = config and config.include_thoughts and reply.thought
        return [Thought(reply.thought)] if shown else []

    def _calls(self, reply: Reply, id: str) -> list[ToolCall]:
        step = len(steps(self.request.contents or ()))

        def id_of(position: int, name: str) -> str:
            made = digest(f"{id} {position} {name}")[:8]
            return made if self.model.numbers_calls else ""

        calls = numbered(reply, id_of)
        if calls and (self.model.signs == "last" or (self.model.signs and thinking(reply))):
            signature = self.signatures.of_call(self.model, calls[0].name, step)
            calls[0] = msgspec.structs.replace(calls[0], signature=signature)
        return calls

    def _signature_of(self, reply: Reply) -> str:
        """Return the signature of a text: 3.x always has one, 2.5 if it thought and functions are
        declared.
        """
        declared = any(tool.function_declarations for tool in self.request.tools or ())
        first = self.model.signs == "first" and declared and thinking(reply)
        return self.signatures.of_text(reply.text) if first or self.model.signs == "last" else ""

    def _candidate(self, parts: Sequence[Part], end: Reply | None, index: int) -> dict[str, Any]:
        """Build a candidate, or a chunk of one; `end` is the reply that it finishes."""
        sources = sources_of(end, searches=searches(self.request)) if end is not None else ()
        message = Message("assistant", tuple(parts), citations=tuple(sources))
        stop = Stop("end") if end is None else end.stop
        if end is not None and end.tool_calls and self.host == "gemini":
            stop = msgspec.structs.replace(stop, message=_CALLS_MESSAGE)
        # The positions of sources are those in the whole text.
        candidate = candidate_of(Reply(message, stop), text=None if end is None else end.text)
        if not parts:
            candidate["content"] = {"role": "model"}
        if end is None:
            candidate = {"content": candidate["content"]}
        if self.host == "gemini" or index:
            candidate["index"] = index
        else:
            candidate.pop("index", None)
        return candidate if end is None else candidate | metadata(self.request, end, candidate)

    def _usage(self, output_tokens: int, thinking: int) -> dict[str, Any]:
        modalities = prompt_tokens(self.request.contents or (), self.request)
        prompt = sum(modalities.values()) + self.cached_tokens
        usage: dict[str, Any] = {"promptTokenCount": prompt}
        if output_tokens:
            usage["candidatesTokenCount"] = output_tokens
        usage["totalTokenCount"] = prompt + output_tokens + thinking
        if cached := self.cached_tokens + self.implicit_tokens():
            usage["cachedContentTokenCount"] = cached
            usage["cacheTokensDetails"] = details({"TEXT": cached})
        if self.cached_tokens:
            modalities["TEXT"] = modalities.get("TEXT", 0) + self.cached_tokens
        usage["promptTokensDetails"] = details(modalities)
        if thinking:
            usage["thoughtsTokenCount"] = thinking
        tier = {"serviceTier": "standard"}
        return usage | (tier if self.host == "gemini" else {"trafficType": "ON_DEMAND"})

    def _response(
        self, parts: Sequence[Part], usage: dict[str, Any], id: str, end: Reply | None = None
    ) -> dict[str, Any]:
        """Build a response, or one chunk; `end` is the reply that it finishes."""
        candidates = [self._candidate(parts, end, index) for index in range(self._candidate_count)]
        created = {"createTime": timestamp(0)} if self.host == "vertex" else {}
        return {
            "candidates": candidates,
            "usageMetadata": usage,
            "modelVersion": self.model.name,
            **created,
            "responseId": id,
        }


def combined(chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Combine chunks into one response.

    It has all parts in order, and every other field of the last chunk that has it.
    """
    response: dict[str, Any] = {}
    parts: list[Any] = []
    candidate: dict[str, Any] = {}
    for chunk in chunks:
        response |= {key: value for key, value in chunk.items() if key != "candidates"}
        for each in (chunk.get("candidates") or ())[:1]:
            parts += (each.get("content") or {}).get("parts") or ()
            candidate |= {key: value for key, value in each.items() if key != "content"}
    return {"candidates": [{"content": {"parts": parts, "role": "model"}, **candidate}], **response}
