"""Answers that take several requests: long decode of Gemini 4.

A request gets the text up to the next border, with `CONTINUATION` and a token. In a stream every
chunk from the second on has one, and the answer goes on after the chunk whose token comes back.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from wire.catalogue.stops import Stop
from wire.core.memory import encode
from wire.gemini.types import GenerateContentRequest
from wire.neutral.messages import Reply
from wire.testing.emulator.model import answer, given, pieces, thinking
from wire.testing.emulator.storage import Remembered
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendors.gemini.refusals import refusal
from wire.testing.emulator.vendors.gemini.responses import ResponseWriter

_BAD_TOKEN = "Invalid continuation token."
_OTHER_REQUEST = "The request does not match the one that the continuation token is for."


@dataclass(frozen=True, slots=True)
class Rest:
    """The rest of an answer."""

    reply: Reply
    """The whole answer."""
    hops: int = 1
    """Requests that it takes."""
    at: int = 0
    """Where the rest begins in the text."""

    @property
    def end(self) -> int:
        """Where the part that one request gets ends."""
        texts, text = pieces(self.reply.text), self.reply.text
        borders = (number * len(texts) // self.hops for number in range(1, self.hops))
        ends = (len("".join(texts[:border])) for border in borders)
        return next((end for end in ends if end > self.at), len(text))

    def part(self) -> Reply:
        """Return the reply to one request."""
        reply, text = self.reply, self.reply.text[self.at : self.end]
        thoughts, spent = ("", 0) if self.at else (reply.thought, thinking(reply))
        if self.end < len(reply.text):
            return answer(text, thoughts, stop=Stop("pause", "CONTINUATION"), thinking=spent)
        calls = [(each.name, given(each)) for each in reply.tool_calls]
        return answer(text, thoughts, calls, reply.stop, spent, reply.citations)


@dataclass(slots=True)
class Continuations:
    """The rests of answers, by the tokens that were given for them."""

    _rests: Remembered = field(default_factory=Remembered)

    def rest(self, request: GenerateContentRequest) -> Rest | None:
        """Return the rest that a request asks for; `None` without a token that was given.

        Raises `Refusal` for a token that was given for another request.
        """
        rest, of = self._rests.get(request.continuation_token, (None, b""))
        if rest is not None and of != _without_token(request):
            raise refusal(400, _OTHER_REQUEST)
        found: Rest | None = rest
        return found

    def bodies(
        self, reply: Reply, hops: int, writer: ResponseWriter, id: str, *, streams: bool
    ) -> Iterator[dict[str, Any]]:
        """Yield the response to one request, or the chunks of it.

        `reply` answers a request without a token. Raises `Refusal` for a token that was not given.
        """
        rest = self.rest(writer.request)
        if rest is None and writer.request.continuation_token is not None:
            raise refusal(400, _BAD_TOKEN)
        rest = rest or Rest(reply, hops)
        part, at, written = rest.part(), rest.at, count(rest.reply.text[: rest.at])
        made = list(writer.chunks(part, id)) if streams else [writer.whole(part, id)]
        for index, body in enumerate(made):
            candidate = body["candidates"][0]
            at += sum(
                len(each.get("text", ""))
                for each in candidate["content"].get("parts", ())
                if not each.get("thought")
            )
            for key in ("promptTokenCount", "totalTokenCount"):
                body["usageMetadata"][key] += written  # what was written is read again
            ends = candidate.get("finishReason", "CONTINUATION") != "CONTINUATION"
            if rest.hops > 1 and not ends and (index or rest.at or not streams):
                candidate["continuationToken"] = self._token(replace(rest, at=at), writer, id)
            yield body

    def _token(self, rest: Rest, writer: ResponseWriter, id: str) -> str:
        token = base64.b64encode(f"{id} {rest.at}".encode()).decode()
        self._rests[token] = rest, _without_token(writer.request)
        return token


def _without_token(request: GenerateContentRequest) -> bytes:
    return encode(msgspec.structs.replace(request, continuation_token=None))
