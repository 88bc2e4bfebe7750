"""Responses of generateContent in the formats of 2.5 and of 3.x.

Where signatures stand, how calls are spread over chunks and what the usage counts follows recorded
traffic.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wire.gemini.types import GenerateContentRequest
from wire.testing.emulator.model import Output
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendor import Failed, Failure
from wire.testing.emulator.vendors.gemini.catalog import Traits
from wire.testing.emulator.vendors.gemini.metadata import metadata
from wire.testing.emulator.vendors.gemini.prompt_tokens import details, prompt_tokens
from wire.testing.emulator.vendors.gemini.signatures import Signatures, steps

_CALLS_MESSAGE = "Model generated function call(s)."
_MAX_CANDIDATES = 8
"""The maximum of `candidateCount`, which multiplies the response."""
_CREATE_TIME = "2026-11-21T12:00:00.000000Z"


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

    def whole(self, output: Output, id: str) -> dict[str, Any]:
        """Build one complete response."""
        parts: list[dict[str, Any]] = [{"text": output.text}] if output.text else []
        parts += self._calls(output, id)
        if parts and not output.calls:
            self._sign(parts[0 if self.model.signs == "first" else -1], output)
        parts = [*self._thoughts(output), *parts]
        candidates = [
            self._candidate(parts, output, index) for index in range(self._candidate_count)
        ]
        usage = self._usage(output.tokens * self._candidate_count, output.thinking)
        return self._response(candidates, usage, id)

    def chunks(self, output: Output, id: str) -> Iterator[dict[str, Any]]:
        """Yield the same response as the chunks of a stream."""
        for part in self._thoughts(output):
            yield self._chunk([part], self._usage(0, 0), id)
        pieces = output.pieces
        for index, text in enumerate(pieces):
            part = {"text": text}
            if index == 0 and self.model.signs == "first" and not output.calls:
                self._sign(part, output)
            ends = index == len(pieces) - 1 and not output.calls and self.model.signs != "last"
            usage = self._usage(count("".join(pieces[: index + 1])), output.thinking)
            yield self._chunk([part], usage, id, output if ends else None)
        calls = self._calls(output, id)
        usage = self._usage(output.tokens, output.thinking)
        if self.model.signs == "last":
            # 3.x sends each call in a chunk of its own, and ends with an empty, signed text.
            for call in calls:
                yield self._chunk([call], usage, id)
            end: dict[str, Any] = {"text": ""}
            if not calls and pieces:
                self._sign(end, output)
            yield self._chunk([end] if calls or pieces else [], usage, id, output)
        elif calls or not pieces:
            yield self._chunk(calls, usage, id, output)

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

    def _thoughts(self, output: Output) -> Iterator[dict[str, Any]]:
        config = self.request.generation_config and self.request.generation_config.thinking_config
        if config and config.include_thoughts and output.thoughts:
            yield {"text": output.thoughts, "thought": True}

    def _calls(self, output: Output, id: str) -> list[dict[str, Any]]:
        step = len(steps(self.request.contents or ()))
        signs = self.model.signs == "last" or (self.model.signs and output.thinking)
        parts: list[dict[str, Any]] = []
        for position, (name, args) in enumerate(output.calls):
            call: dict[str, Any] = {"name": name, "args": args}
            if self.model.numbers_calls:
                call["id"] = hashlib.sha256(f"{id} {position} {name}".encode()).hexdigest()[:8]
            part: dict[str, Any] = {"functionCall": call}
            if position == 0 and signs:
                part["thoughtSignature"] = self.signatures.of_call(self.model, name, step)
            parts.append(part)
        return parts

    def _sign(self, part: dict[str, Any], output: Output) -> None:
        """Sign a text: 3.x always does, 2.5 if it thought and functions are declared."""
        declared = any(tool.function_declarations for tool in self.request.tools or ())
        if self.model.signs == "last" or (
            self.model.signs == "first" and declared and output.thinking
        ):
            part["thoughtSignature"] = self.signatures.of_text(output.text)

    def _chunk(
        self,
        parts: list[dict[str, Any]],
        usage: dict[str, Any],
        id: str,
        end: Output | None = None,
    ) -> dict[str, Any]:
        """Build one chunk; `end` is the output that it finishes."""
        candidates = [self._candidate(parts, end, index) for index in range(self._candidate_count)]
        return self._response(candidates, usage, id)

    def _candidate(
        self, parts: list[dict[str, Any]], end: Output | None, index: int
    ) -> dict[str, Any]:
        content: dict[str, Any] = {"parts": parts, "role": "model"} if parts else {"role": "model"}
        candidate: dict[str, Any] = {"content": content}
        if end is not None:
            candidate["finishReason"] = end.finish
        if self.host == "gemini" or index:
            candidate["index"] = index
        if end is not None and end.calls and self.host == "gemini":
            candidate["finishMessage"] = _CALLS_MESSAGE
        if end is not None:
            candidate |= metadata(self.request, end)
        return candidate

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
        if self.host == "gemini":
            usage["serviceTier"] = "standard"
        else:
            usage["trafficType"] = "ON_DEMAND"
        return usage

    def _response(
        self, candidates: list[dict[str, Any]], usage: dict[str, Any], id: str
    ) -> dict[str, Any]:
        created = {"createTime": _CREATE_TIME} if self.host == "vertex" else {}
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
