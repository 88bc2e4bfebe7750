"""Gemini Live: sessions of texts, calls of functions, and silence in place of speech.

The replies are those of generateContent, so scripts apply. Speech is not found in audio: with
automatic detection of activity `audioStreamEnd` ends what the user says, without it `activityEnd`.
An answer that a pause of the script holds up can be interrupted.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from wire.testing.cassette.faults import Fault
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.broken_sessions import broken
from wire.testing.emulator.media import RATE, silence
from wire.testing.emulator.model import pieces
from wire.testing.emulator.routes import Route
from wire.testing.emulator.sessions import (
    Ask,
    Close,
    Later,
    SessionPiece,
    Speech,
    broken_off,
    message,
    object_of,
)
from wire.testing.emulator.signing import digest
from wire.testing.emulator.storage import Remembered
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.gemini.live_setup import (
    INVALID,
    Reader,
    as_request,
    closed,
    modality,
    with_thoughts,
)
from wire.testing.emulator.vendors.gemini.refusals import refusal

HANDLE_SECONDS = 2 * 60 * 60
"""How long a session can be continued on another connection."""
_SPEECH = "(speech)"
"""What the user said in audio."""
_REASONS = {
    "MALFORMED_FUNCTION_CALL": "MALFORMED_FUNCTION_CALL",
    "SAFETY": "RESPONSE_REJECTED",
    "PROHIBITED_CONTENT": "RESPONSE_REJECTED",
    "BLOCKLIST": "RESPONSE_REJECTED",
}
"""Why generateContent finished -> why a turn is complete."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a host writes its messages, as recorded."""

    sound: str
    """Media type of speech."""
    output: str
    """Beginning of the keys of the usage that count output."""
    names_sessions: bool = False
    transcribes_first: bool = False
    """Whether the transcript comes before the sound, between an empty one and a finished one."""
    takes_names: bool = False
    """Whether a result may have the name of its call alone."""


MANNERS = {
    "gemini": Manner(f"audio/pcm;rate={RATE}", "response"),
    "vertex": Manner(
        "audio/pcm", "candidates", names_sessions=True, transcribes_first=True, takes_names=True
    ),
}


@dataclass(frozen=True, slots=True)
class Kept:
    """Sessions that can be continued: handle -> contents, and when they were kept."""

    clock: Callable[[], float]
    contents: Remembered

    def keep(self, handle: str, contents: Sequence[Any]) -> None:
        """Keep the contents of a session."""
        self.contents[handle] = (self.clock(), list(contents))

    def of(self, handle: str) -> list[Any] | None:
        """Return the contents of a session; `None` if there is none."""
        since, contents = self.contents.get(handle, (0.0, None))
        return None if contents is None or self.clock() - since > HANDLE_SECONDS else list(contents)


class LiveSession:
    """One session of a client; satisfies `wire.testing.emulator.sessions.Session`."""

    endpoint = "live"
    binary = True
    listens = True

    def __init__(
        self, reader: Reader, ask: Ask, kept: Kept, name: str, refused: Refusal | None = None
    ) -> None:
        self._reader, self._ask, self._kept, self._refused = reader, ask, kept, refused
        self._manner = MANNERS[reader.route.host]
        self._name, self._numbers, self._consumed = name, itertools.count(1), 0
        self._route: Route | None = None
        """Of requests for the model; `None` before the setup."""
        self._setup: dict[str, Any] = {}
        self._contents: list[dict[str, Any]] = []
        self._speech: Speech | None = None
        """The answer that is being sent."""
        self._texts: list[str] = []
        """Its pieces."""
        self._usage: dict[str, Any] = {}
        self._calls: dict[str, dict[str, Any]] = {}
        """The calls that the client has to answer."""
        self._results: dict[str, dict[str, Any]] = {}
        self._heard: list[dict[str, Any]] = []
        """Parts of what the user says at this moment."""
        self._later: list[dict[str, Any]] = []
        """What the user said while the model spoke or waited for results."""
        self._active = False
        self._endpoints: dict[str, Callable[[dict[str, Any]], Iterator[SessionPiece]]] = {
            "setup": self._begin,
            "clientContent": self._client_content,
            "realtimeInput": self._realtime_input,
            "toolResponse": self._tool_response,
            "contextUpdate": self._context_update,
        }

    def begin(self) -> Sequence[SessionPiece]:
        """Return nothing: the client begins."""
        return []

    def receive(self, data: bytes) -> Iterator[SessionPiece]:
        """Answer a message of the client."""
        try:
            if self._refused is not None:
                raise self._refused
            ((kind, value),) = self._reader.message(data).items()
            if (kind == "setup") != (self._route is None):
                raise refusal(400, "setup must be the first message and only the first")
            self._consumed += 1
            yield from self._endpoints[kind](value)
        except Refusal as refused:
            said = object_of(refused.answer.body) or {}
            yield closed(refused.answer.status, said.get("error") or {})

    def error(self, fault: Fault) -> Sequence[SessionPiece]:
        """Return the close that tells an error: there is no message for one."""
        return [Close(1011, fault.message or "Internal error occurred.")]

    def farewell(self, seconds: float) -> Sequence[SessionPiece]:
        """Return the message that the session ends, and its end."""
        left = message({"goAway": {"timeLeft": f"{seconds:g}s"}})
        return [left, Later(seconds, [Close(1001, "The session has ended.")])]

    # --- what the client sends --------------------------------------------------------------------

    def _begin(self, setup: dict[str, Any]) -> Iterator[SessionPiece]:
        self._route = self._reader.setup(setup)
        self._setup = setup
        handle = (setup.get("sessionResumption") or {}).get("handle")
        if handle:
            contents = self._kept.of(handle)
            if contents is None:
                raise refusal(404, "BidiGenerateContent session not found")
            self._contents = contents
        named = {"sessionId": str(UUID(self._name[:32]))} if self._manner.names_sessions else {}
        yield message({"setupComplete": named})

    def _client_content(self, content: dict[str, Any]) -> Iterator[SessionPiece]:
        yield from self._interrupted()
        self._contents += ({"role": "user", **each} for each in content.get("turns") or ())
        if content.get("turnComplete"):
            yield from self._turn()

    def _realtime_input(self, given: dict[str, Any]) -> Iterator[SessionPiece]:
        config = self._setup.get("realtimeInputConfig") or {}
        by_hand = bool((config.get("automaticActivityDetection") or {}).get("disabled"))
        blobs = [given.get("audio"), given.get("video"), *(given.get("mediaChunks") or ())]
        self._hear([each for each in blobs if each is not None])
        if "activityStart" in given or "activityEnd" in given:
            if not by_hand:
                raise refusal(
                    400,
                    "Explicit activity control is not supported when automatic activity detection "
                    "is enabled.",
                )
            if ("activityStart" in given) == self._active:
                raise refusal(400, INVALID)
            self._active = "activityStart" in given
            if self._active and config.get("activityHandling") != "NO_INTERRUPTION":
                yield from self._interrupted()
        if given.get("audioStreamEnd") and by_hand:
            raise refusal(400, INVALID)
        if "text" in given:
            self._heard.append({"text": given["text"]})
        ends = "text" in given and not self._active
        if (ends or given.get("audioStreamEnd") or "activityEnd" in given) and self._heard:
            if config.get("activityHandling") != "NO_INTERRUPTION":
                yield from self._interrupted()
            yield from self._spoken()

    def _hear(self, blobs: Iterable[dict[str, Any]]) -> None:
        """Take sound and pictures. Of the sound only that there is some; of pictures the last."""
        for blob in blobs:
            kind = str(blob.get("mimeType") or "").partition("/")[0]
            part = {"text": _SPEECH} if kind == "audio" else {"inlineData": blob}
            if kind not in ("audio", "image") or not blob.get("data"):
                raise refusal(400, INVALID)
            if part in self._heard:
                continue
            if kind == "image":
                self._heard = [each for each in self._heard if "inlineData" not in each]
            self._heard.append(part)

    def _spoken(self) -> Iterator[SessionPiece]:
        """Make a turn of what the user said, and answer it."""
        parts, self._heard = self._heard, []
        self._later.append({"role": "user", "parts": parts})
        if {"text": _SPEECH} in parts and "inputAudioTranscription" in self._setup:
            yield _content(inputTranscription={"text": _SPEECH})
        if self._speech is None and not self._calls:
            yield from self._turn()

    def _tool_response(self, given: dict[str, Any]) -> Iterator[SessionPiece]:
        results = given.get("functionResponses") or []
        if not results:
            raise refusal(400, INVALID)
        for result in results:
            self._results[self._id_of(result)] = result
        waiting = [each for each in self._calls if not self._is_answered(each)]
        if waiting:
            return
        silent = all(self._results[id].get("scheduling") == "SILENT" for id in self._calls)
        parts = [
            {"functionResponse": _result(self._results[id], call)}
            for id, call in self._calls.items()
        ]
        self._calls, self._results = {}, {}
        self._contents.append({"role": "user", "parts": parts})
        if self._later or not silent:
            yield from self._turn()

    def _id_of(self, result: dict[str, Any]) -> str:
        """Return the id of the call that a result is of.

        Raises `Refusal` for one of no call that waits.
        """
        id = result.get("id") or ""
        if not id and self._manner.takes_names:
            named = (
                key
                for key, call in self._calls.items()
                if call.get("name") == result.get("name") and not self._is_answered(key)
            )
            id = next(named, "")
        if id not in self._calls or self._is_answered(id):
            raise refusal(400, INVALID)
        return id

    def _is_answered(self, id: str) -> bool:
        return id in self._results and not self._results[id].get("willContinue")

    def _context_update(self, given: dict[str, Any]) -> Iterator[SessionPiece]:
        if "systemInstruction" in given:
            self._setup = {**self._setup, "systemInstruction": given["systemInstruction"]}
        if "tools" in given:
            self._setup = {**self._setup, "tools": given["tools"].get("tools") or []}
        assert self._route is not None
        self._reader.setup(self._setup)
        yield from ()

    # --- what the model says ----------------------------------------------------------------------

    def _interrupted(self) -> Iterator[SessionPiece]:
        """End what is being said, and cancel calls."""
        if self._speech is not None:
            speech, self._speech = self._speech, None
            speech.stop()
            said = "".join(self._texts[: sum(map(_says, speech.sent))])
            if said:
                self._contents.append({"role": "model", "parts": [{"text": said}]})
            yield _content(interrupted=True)
            yield from self._ended({})
        if self._calls:
            yield message({"toolCallCancellation": {"ids": list(self._calls)}})
            self._calls, self._results = {}, {}
            called = self._contents.pop()
            left = [each for each in called["parts"] if "functionCall" not in each]
            self._contents += [{**called, "parts": left}] if left else []
        self._contents += self._later
        self._later = []

    def _turn(self) -> Iterator[SessionPiece]:
        """Answer what was said up to now."""
        assert self._route is not None
        self._contents += self._later
        self._later = []
        asked = with_thoughts({"contents": self._contents, **as_request(self._setup)})
        answer = self._ask(_path(self._route), json.dumps(asked).encode())
        content: dict[str, Any] = {}
        calls: dict[str, dict[str, Any]] = {}
        self._texts = []
        said = list(self._said(answer, content, calls))
        self._speech = speech = Speech(broken(self, answer, said))
        yield from speech
        if speech.interrupted:
            return
        self._speech, self._calls, self._results = None, calls, {}
        if content:
            self._contents.append(content)
        if calls:
            return
        yield from self._resumable()
        if self._later:
            yield from self._turn()

    def _said(
        self, answer: Answer, content: dict[str, Any], calls: dict[str, dict[str, Any]]
    ) -> Iterator[SessionPiece]:
        """Yield the messages of an answer; `content` and `calls` get what it has of them."""
        if (end := broken_off(answer)) is not None:
            yield end
            return
        said = object_of(answer.body) or {}
        if answer.status != 200:
            yield closed(answer.status, said.get("error") or {})
            return
        candidate = (said.get("candidates") or [{}])[0]
        content |= {"role": "model", **(candidate.get("content") or {})}
        parts = content.setdefault("parts", [])
        for part in parts:
            if part.get("thought"):
                yield _content(modelTurn={"parts": [part]})
        text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
        self._texts = pieces(text)
        yield from self._spoken_pieces()
        for part in parts:
            if "functionCall" in part:
                call = part["functionCall"]
                calls[call.get("id") or self._call_id()] = call
            elif "text" not in part:
                yield _content(modelTurn={"parts": [part]})
        if not parts:
            content.clear()
        self._usage = self._counted(said.get("usageMetadata") or {})
        if calls:
            shown = [
                {"name": call["name"], "args": call.get("args") or {}, "id": id}
                for id, call in calls.items()
            ]
            yield message({"toolCall": {"functionCalls": shown}})
            return
        yield _content(generationComplete=True)
        reason = _REASONS.get(str(candidate.get("finishReason")))
        more = {"turnCompleteReason": reason} if reason else {}
        if "groundingMetadata" in candidate:
            more["groundingMetadata"] = candidate["groundingMetadata"]
        yield from self._ended(more)

    def _spoken_pieces(self) -> Iterator[SessionPiece]:
        """Yield the text of an answer as text, or as silence and its transcript."""
        if modality(self._setup) == "TEXT":
            for text in self._texts:
                yield _content(modelTurn={"parts": [{"text": text}]})
            return
        transcribes = "outputAudioTranscription" in self._setup
        first = self._manner.transcribes_first
        if transcribes and first and self._texts:
            yield _content(outputTranscription={})
            for text in self._texts:
                yield _content(outputTranscription={"text": text})
            yield _content(outputTranscription={"finished": True})
        for text in self._texts:
            if transcribes and not first:
                yield _content(outputTranscription={"text": text})
            sound = base64.b64encode(silence(text, "pcm")).decode()
            blob = {"mimeType": self._manner.sound, "data": sound}
            yield _content(modelTurn={"parts": [{"inlineData": blob}]})

    def _ended(self, more: dict[str, Any]) -> Iterator[SessionPiece]:
        ended = {"turnComplete": True, **more}
        yield message({"serverContent": ended, "usageMetadata": self._usage})

    def _resumable(self) -> Iterator[SessionPiece]:
        """Keep the session for another connection, if asked to, and tell its handle."""
        config = self._setup.get("sessionResumption")
        if config is None:
            return
        handle = digest(f"{self._name} {next(self._numbers)}")
        self._kept.keep(handle, self._contents)
        update: dict[str, Any] = {"newHandle": handle, "resumable": True}
        if config.get("transparent"):
            update["lastConsumedClientMessageIndex"] = str(self._consumed)
        yield message({"sessionResumptionUpdate": update})

    def _call_id(self) -> str:
        number = int(digest(f"{self._name} {next(self._numbers)}")[:15], 16)
        return f"function-call-{number}"

    def _counted(self, usage: dict[str, Any]) -> dict[str, Any]:
        """Return the usage of a turn in the words of Live."""
        made = usage.get("candidatesTokenCount", 0)
        kept = ("promptTokenCount", "totalTokenCount", "promptTokensDetails", "thoughtsTokenCount")
        counted = {key: usage[key] for key in kept if key in usage}
        detail = {"modality": modality(self._setup), "tokenCount": made}
        output = self._manner.output
        return {**counted, f"{output}TokenCount": made, f"{output}TokensDetails": [detail]}


def _content(**fields: Any) -> bytes:
    return message({"serverContent": fields})


def _says(sent: bytes) -> bool:
    """Return whether a message is a piece of a text or its sound."""
    content = (object_of(sent) or {}).get("serverContent") or {}
    parts = (content.get("modelTurn") or {}).get("parts") or ()
    return any(not each.get("thought") for each in parts)


def _result(result: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    """Return a result as generateContent takes it: with an id if the call had one there."""
    kept = {key: result[key] for key in ("name", "response", "parts") if key in result}
    return kept | ({"id": call["id"]} if call.get("id") else {})


def _path(route: Route) -> str:
    where = f"{route.parent}publishers/google/" if route.host == "vertex" else ""
    return f"/{route.version}/{where}models/{route.name}:generateContent"
