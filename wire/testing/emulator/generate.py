"""generateContent and its kin: the wish of a request, and an answer in the shapes of 2.5 and of
3.x.

Where signatures sit, how calls are spread over chunks and what usage says is as recorded traffic
has it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from wire.gemini.types import (
    Content,
    FunctionDeclaration,
    GenerateContentRequest,
    GenerationConfig,
    Part,
    ThinkingConfig,
)
from wire.testing.emulator.catalog import Traits
from wire.testing.emulator.model import Declared, Said, Wish, thinking_of
from wire.testing.emulator.signatures import Signatures, merged, steps
from wire.testing.emulator.tokens import count, counted, details

SAID_CALLS = "Model generated function call(s)."
CREATED = "2026-11-21T12:00:00.000000Z"


def wish_of(request: GenerateContentRequest, model: Traits) -> Wish:
    """What a request asks for."""
    config = request.generation_config or GenerationConfig()
    turns = merged(request.contents or ())
    last = turns[-1] if turns else Content()
    results = [
        part.function_response for part in last.parts or () if part.function_response is not None
    ]
    question = next(
        (
            text
            for content in reversed(turns)
            if content.role != "model" and (text := _text(content.parts or ()))
        ),
        "",
    )
    called = any(
        part.function_call is not None for content in turns for part in content.parts or ()
    )
    functions, mode = _functions(request)
    form, schema = _form(config)
    thinking = config.thinking_config or ThinkingConfig()
    thinks = model.thinks or (thinking.thinking_budget or 0) > 0
    level = None if thinking.thinking_level is None else str(thinking.thinking_level)
    return Wish(
        question=question,
        results=[(each.name or "", each.response) for each in results],
        called=called,
        functions=functions,
        mode=mode,
        schema=schema,
        form=form,
        most=config.max_output_tokens,
        stops=config.stop_sequences or (),
        thinking=thinking_of(level, thinking.thinking_budget) if thinks else 0,
    )


def _text(parts: Sequence[Part]) -> str:
    return " ".join(part.text for part in parts if part.text)


def _functions(request: GenerateContentRequest) -> tuple[list[Declared], str]:
    config = (
        request.tool_config.function_calling_config if request.tool_config is not None else None
    )
    mode = str(config.mode or "AUTO").upper() if config else "AUTO"
    allowed = (config.allowed_function_names or ()) if config else ()
    declared = [each for tool in request.tools or () for each in tool.function_declarations or ()]
    found = [Declared(each.name or "", each.description or "", _schema(each)) for each in declared]
    mode = {"1": "AUTO", "2": "ANY", "3": "NONE"}.get(mode, mode)
    return [each for each in found if not allowed or each.name in allowed], mode


def _schema(declaration: FunctionDeclaration) -> Any:
    if declaration.parameters_json_schema is not UNSET:
        return declaration.parameters_json_schema
    return None if declaration.parameters is None else msgspec.to_builtins(declaration.parameters)


def _form(config: GenerationConfig) -> tuple[str, Any]:
    schema: Any = config.response_json_schema
    mime = config.response_mime_type or ""
    if schema is UNSET or schema is None:
        schema = (
            None if config.response_schema is None else msgspec.to_builtins(config.response_schema)
        )
    text = config.response_format.text if config.response_format is not None else None
    if text is not None:
        schema = schema if text.schema is UNSET else text.schema
        mime = mime or (
            "application/json" if str(text.mime_type or "") == "APPLICATION_JSON" else ""
        )
    return (
        "enum" if mime == "text/x.enum" else "json" if mime == "application/json" else "text"
    ), schema


# --- answers --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who answers which request: what all chunks of an answer have in common."""

    request: GenerateContentRequest
    model: Traits
    host: str
    signatures: Signatures
    id: str
    cached: int = 0
    """Tokens that a cached content brings."""

    @property
    def shows_thoughts(self) -> bool:
        """Thoughts were asked for."""
        config = self.request.generation_config and self.request.generation_config.thinking_config
        return bool(config and config.include_thoughts)

    def whole(self, said: Said) -> dict[str, Any]:
        """One whole answer."""
        parts: list[dict[str, Any]] = list(self._thoughts(said))
        answer: list[dict[str, Any]] = [{"text": said.text}] if said.text else []
        answer += self._calls(said)
        if answer and not said.calls:
            self._sign(answer[0 if self.model.signs == "first" else -1], said)
        candidates = [
            self._candidate(parts + answer, said, index) for index in range(self._candidates)
        ]
        return self._chunk(
            candidates, self._usage(said, said.tokens * self._candidates, said.thinking)
        )

    def chunks(self, said: Said) -> Iterator[dict[str, Any]]:
        """The same answer as a stream."""
        for part in self._thoughts(said):
            yield self._piece([part], self._usage(said, 0, 0))
        told = said.pieces
        for place, text in enumerate(told):
            part = {"text": text}
            if place == 0 and self.model.signs == "first" and not said.calls:
                self._sign(part, said)
            ends = place == len(told) - 1 and not said.calls and self.model.signs != "last"
            spent = count("".join(told[: place + 1]))
            yield self._piece(
                [part], self._usage(said, spent, said.thinking), said if ends else None
            )
        calls = self._calls(said)
        if self.model.signs == "last":
            for call in calls:
                yield self._piece([call], self._usage(said, said.tokens, said.thinking))
            tail: dict[str, Any] = {"text": ""}
            if not calls and told:
                self._sign(tail, said)
            yield self._piece(
                [tail] if calls or told else [], self._usage(said, said.tokens, said.thinking), said
            )
        elif calls or not told:
            yield self._piece(calls, self._usage(said, said.tokens, said.thinking), said)

    def given(self, answer: dict[str, Any]) -> None:
        """Remember the ids of calls and what a script signed, so that it is known when it comes
        back.
        """
        step, place = len(steps(self.request.contents or ())), 0
        for candidate in answer.get("candidates") or ():
            for part in (candidate.get("content") or {}).get("parts") or ():
                if "functionCall" in part:
                    self.signatures.ids.add(part["functionCall"].get("id") or "")
                    if isinstance(part.get("thoughtSignature"), str):
                        self.signatures.remember(
                            part["thoughtSignature"],
                            part["functionCall"].get("name", ""),
                            step,
                            place,
                        )
                    place += 1

    def named(self, answer: dict[str, Any]) -> dict[str, Any]:
        """What a script says, with the fields that every answer has."""
        return {
            **answer,
            "modelVersion": answer.get("modelVersion", self.model.name),
            "responseId": answer.get("responseId", self.id),
        }

    @property
    def _candidates(self) -> int:
        config = self.request.generation_config
        return max(1, (config and config.candidate_count) or 1)

    def _thoughts(self, said: Said) -> Iterator[dict[str, Any]]:
        if self.shows_thoughts and said.thoughts:
            yield {"text": said.thoughts, "thought": True}

    def _calls(self, said: Said) -> list[dict[str, Any]]:
        step = len(steps(self.request.contents or ()))
        found: list[dict[str, Any]] = []
        for place, (name, args) in enumerate(said.calls):
            call: dict[str, Any] = {"name": name, "args": args}
            if self.model.numbers_calls:
                call["id"] = hashlib.sha256(f"{self.id} {place} {name}".encode()).hexdigest()[:8]
            part: dict[str, Any] = {"functionCall": call}
            if place == 0 and (self.model.signs == "last" or (self.model.signs and said.thinking)):
                part["thoughtSignature"] = self.signatures.of_call(self.model, name, step)
            found.append(part)
        return found

    def _sign(self, part: dict[str, Any], said: Said) -> None:
        """Texts of 3.x are signed always, those of 2.5 if it thought, and functions are
        declared.
        """
        declared = any(tool.function_declarations for tool in self.request.tools or ())
        if self.model.signs == "last" or (
            self.model.signs == "first" and declared and said.thinking
        ):
            part["thoughtSignature"] = self.signatures.of_text(said.text)

    def _piece(
        self, parts: list[dict[str, Any]], usage: dict[str, Any], last: Said | None = None
    ) -> dict[str, Any]:
        return self._chunk(
            [self._candidate(parts, last, index) for index in range(self._candidates)], usage
        )

    def _candidate(
        self, parts: list[dict[str, Any]], last: Said | None, index: int
    ) -> dict[str, Any]:
        content: dict[str, Any] = {"parts": parts, "role": "model"} if parts else {"role": "model"}
        said: dict[str, Any] = {"content": content}
        if last is not None:
            said["finishReason"] = last.finish
        if self.host == "gemini" or index:
            said["index"] = index
        if last is not None and last.calls and self.host == "gemini":
            said["finishMessage"] = SAID_CALLS
        return said

    def _usage(self, said: Said, spent: int, thinking: int) -> dict[str, Any]:
        found = counted(self.request.contents or (), self.request)
        prompt = sum(found.values()) + self.cached
        usage: dict[str, Any] = {"promptTokenCount": prompt}
        if spent:
            usage["candidatesTokenCount"] = spent
        usage["totalTokenCount"] = prompt + spent + thinking
        if self.cached:
            usage["cachedContentTokenCount"] = self.cached
            usage["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": self.cached}]
            found["TEXT"] = found.get("TEXT", 0) + self.cached
        usage["promptTokensDetails"] = details(found)
        if thinking:
            usage["thoughtsTokenCount"] = thinking
        usage["serviceTier" if self.host == "gemini" else "trafficType"] = (
            "standard" if self.host == "gemini" else "ON_DEMAND"
        )
        return usage

    def _chunk(self, candidates: list[dict[str, Any]], usage: dict[str, Any]) -> dict[str, Any]:
        said = {"candidates": candidates, "usageMetadata": usage, "modelVersion": self.model.name}
        return (
            said
            | ({"createTime": CREATED} if self.host == "vertex" else {})
            | {"responseId": self.id}
        )
