"""The emulator: a request in, an answer out, and what it remembers between them.

No socket, no clock, no thread but the caller's.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wire.anthropic.types import CountTokensRequest as CountMessages
from wire.anthropic.types import MessageRequest
from wire.errors import ConfigurationError
from wire.gemini.types import CachedContent, CountTokensRequest, GenerateContentRequest
from wire.testing.emulator import chat, claude, embeddings, messages, refusals
from wire.testing.emulator.answer import Answer, array, events, lines, whole
from wire.testing.emulator.caches import Caches
from wire.testing.emulator.catalog import Traits, described, listed, traits
from wire.testing.emulator.faults import Fault, fault_of, spoiled, status_answer
from wire.testing.emulator.files import Files
from wire.testing.emulator.generate import Speaker, wish_of
from wire.testing.emulator.keys import authorise
from wire.testing.emulator.model import Said, Wish, answered
from wire.testing.emulator.prompts import Prompts, length
from wire.testing.emulator.received import Received, Route, of_anthropic, received, route
from wire.testing.emulator.recorded import Recorded
from wire.testing.emulator.refusals import Refusal, refusal
from wire.testing.emulator.script import OF_A_MODEL, Script, Step, read, step_of, steps_of, together
from wire.testing.emulator.signatures import Signatures
from wire.testing.emulator.state import page
from wire.testing.emulator.tokens import counted, details

_TIER = {"x-gemini-service-tier": "standard"}


class Emulator:
    """A server that speaks as Gemini, chat completions and Claude do, and refuses what they refuse.

    >>> emulator = Emulator()
    >>> answer = emulator.answer("GET", "/v1beta/models/gemini-3-pro-preview", {"x-goog-api-key": "any"}, b"")
    >>> answer.status
    200

    `script` says what it answers: the path of a script or of a cassette, the steps themselves, a
    function (`wire.testing.emulator.script`); where it says nothing, a small model does.
    `warnings_too` refuses what only servers of an earlier time refused, `lenient` nothing that a
    rule is about. `seed` changes ids and signatures. Every key is good, but those that begin with
    bad, invalid, wrong or expired.
    """

    def __init__(
        self,
        script: Script = None,
        *,
        warnings_too: bool = False,
        lenient: bool = False,
        seed: int = 0,
    ) -> None:
        self._warnings_too, self._lenient, self._seed = warnings_too, lenient, seed
        self._cassette, self._script = _loaded(script)
        self._steps = steps_of(self._script)
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self._requests: list[dict[str, Any]] = []
        self._faults: Counter[tuple[str, bytes]] = Counter()
        self._seen: Counter[bytes] = Counter()
        self._files, self._caches, self._signatures, self._prompts = (
            Files(),
            Caches(),
            Signatures(self._seed),
            Prompts(),
        )

    def reset(self) -> None:
        """As it was when it was made: no requests, no files, no cached contents, the script at its
        beginning.
        """
        with self._lock:
            self._clear()
            self._steps = steps_of(self._script)
            if self._cassette is not None:
                self._cassette.rewind()

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What was received since it was last cleared: number, method, target, headers, body,
        status and rule; no keys.
        """
        with self._lock:
            return list(self._requests)

    def answer(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | Iterable[tuple[str, str]],
        body: bytes,
    ) -> Answer:
        """The answer to one request; the target is a path with its query, or a whole URL."""
        with self._lock:
            request = received(len(self._requests) + 1, method, target, headers, body)
            where = route(request)
            if where is not None and where.endpoint.startswith("wire."):
                return self._control(where)
            shown = request.shown()
            self._requests.append(shown)
            answer = self._answered(request, where)
            shown |= {"status": answer.status, **({"rule": answer.rule} if answer.rule else {})}
            return answer

    def _control(self, where: Route) -> Answer:
        if where.endpoint == "wire.clear":
            self._requests.clear()
            return whole({})
        return whole(
            {"requests": self._requests}
            if where.endpoint == "wire.requests"
            else {"status": "ok", "requests": len(self._requests)}
        )

    def _answered(self, request: Received, where: Route | None) -> Answer:
        to = where or Route("")
        try:
            fault = self._fault(request)
            answer = self._right(request, where, fault)
            if fault is not None and fault.kind != "status":
                answer = spoiled(answer, fault, to.name, to.wire)
        except Refusal as refused:
            answer = refused.answer
            if to.endpoint == "models.streamGenerateContent" and request.query.get("alt") == "sse":
                answer = refusals.as_stream(answer)
        if self._cassette is None and (
            to.wire == "anthropic" or (where is None and of_anthropic(request))
        ):
            return claude.finished(answer, request.number, request.body)
        return chat.as_google(answer) if to.host == "compat" and answer.status != 200 else answer

    def _right(self, request: Received, where: Route | None, fault: Fault | None) -> Answer:
        """The answer as it should be, or that of a fault in its place."""
        if self._cassette is None:
            if where is None or (where.endpoint and where.endpoint not in _ENDPOINTS):
                return refusals.not_a_path(request.path)
            if not where.known:
                return refusals.not_a_method(request.method, request.path)
            authorise(request, where)
        if fault is not None and fault.kind == "status":
            to = where or Route("")
            return status_answer(fault, to.name, to.errors)
        if self._cassette is not None:
            return self._cassette.play(request)
        assert where is not None
        return self._scripted(request, where) or _ENDPOINTS[where.endpoint](self, request, where)

    # --- who asks, and what goes wrong ------------------------------------------------------------

    def _fault(self, request: Received) -> Fault | None:
        said = request.headers.get("x-wire-fault")
        if not said:
            return None
        try:
            fault = fault_of(said)
        except ConfigurationError as error:
            raise refusal(400, f"x-wire-fault: {error.message}") from None
        same = said, hashlib.sha256(request.body).digest()
        self._faults[same] += 1
        return None if fault.times and self._faults[same] > fault.times else fault

    def _step(self, request: Received, where: Route, text: str) -> Step | None:
        for step in self._steps:
            if step.function is not None:
                said = step.function(request)
                if said is not None:
                    return step_of(said)
            elif step.fits(request, where, text):
                step.left = None if step.left is None else step.left - 1
                return step
        return None

    def _scripted(self, request: Received, where: Route) -> Answer | None:
        """What a script says in place of an endpoint that is no model; models are asked first
        whether they refuse.
        """
        if where.endpoint.removeprefix("models.") in OF_A_MODEL:
            return None
        step = self._step(request, where, "")
        if step is None:
            return None
        if step.fault is not None and step.fault.kind == "status":
            return status_answer(step.fault, where.name, where.errors)
        answer = (
            _ENDPOINTS[where.endpoint](self, request, where)
            if step.answer is None
            else whole(step.answer, step.status)
        )
        return (
            answer if step.fault is None else spoiled(answer, step.fault, where.name, where.errors)
        )

    # --- answers of a model -----------------------------------------------------------------------

    def _model(self, where: Route) -> Traits:
        action = where.endpoint.removeprefix("models.")
        host = "vertex" if where.host == "vertex" else "gemini"
        model = traits(where.name, host=host, lenient=self._lenient, era=self._warnings_too)
        if model is None or (
            action
            in ("embedContent", "batchEmbedContents", "generateContent", "streamGenerateContent")
            and not self._lenient
            and action not in model.methods
        ):
            raise refusals.unknown_model(where.name, where.place, host, where.version, action)
        return model

    def _generate(self, request: Received, where: Route) -> Answer:
        model = self._model(where)
        if not self._lenient:
            self._check(request, where, model)
        asked = refusals.typed(request.body, GenerateContentRequest)
        if not self._lenient:
            refusals.check_signatures(asked.contents or (), model, where.host, self._signatures)
            self._files.check(asked.contents or [])
        held, cached = self._caches.used(asked, model)
        wish = wish_of(held, model)
        speaker = Speaker(asked, model, where.host, self._signatures, self._id(request), cached)
        streams = where.endpoint == "models.streamGenerateContent"
        step = self._step(request, where, wish.question)
        if step is not None and step.fault is not None and step.fault.kind == "status":
            return status_answer(step.fault, where.name, where.errors)
        if step is not None and step.status != 200:
            return whole(step.answer, step.status)
        chunks = self._chunks(step, speaker, wish, streams)
        for chunk in chunks:
            speaker.given(chunk)
        if not streams:
            answer = whole(chunks[0], headers=_TIER if where.host == "gemini" else {})
        else:
            answer = events(chunks) if request.query.get("alt") == "sse" else array(chunks)
        return (
            answer
            if step is None or step.fault is None
            else spoiled(answer, step.fault, where.name)
        )

    def _check(self, request: Received, where: Route, model: Traits) -> None:
        endpoint = where.endpoint.removeprefix("models.")
        to = model.name, where.host, where.version, endpoint
        refusals.check_body(request.body, *to, era=self._warnings_too, signatures=self._signatures)

    def _chunks(
        self, step: Step | None, speaker: Speaker, wish: Wish, streams: bool
    ) -> list[dict[str, Any]]:
        """What is said: the chunks of a stream, or the one whole answer."""
        if step is not None and step.stream is not None:
            chunks = [speaker.named(chunk) for chunk in step.stream]
            return chunks if streams else [together(chunks)]
        if step is not None and step.answer is not None:
            return [speaker.named(step.answer) if "error" not in step.answer else step.answer]
        said = _said(step, wish)
        return list(speaker.chunks(said)) if streams else [speaker.whole(said)]

    def _count(self, request: Received, where: Route) -> Answer:
        model = self._model(where)
        if not self._lenient:
            self._check(request, where, model)
        asked = refusals.typed(request.body, CountTokensRequest)
        top = (
            refusals.typed(request.body, GenerateContentRequest) if where.host == "vertex" else None
        )
        inner = asked.generate_content_request
        if inner is not None and asked.contents:
            raise refusal(
                400,
                "* CountTokensRequest: contents and generate_content_request cannot both be set.\n",
            )
        contents = (inner.contents if inner is not None else asked.contents) or []
        if not contents:
            raise refusal(400, "* CountTokensRequest.contents: contents is not specified\n", "G4")
        found = counted(contents, inner or top)
        return whole({"totalTokens": sum(found.values()), "promptTokensDetails": details(found)})

    def _embed(self, request: Received, where: Route) -> Answer:
        model = self._model(where)
        if where.endpoint == "models.embedContent":
            return embeddings.embedded(request, model)
        return embeddings.embedded_batch(request, model, lenient=self._lenient)

    def _id(self, request: Received) -> str:
        """The same for the same request, another each time it comes."""
        self._seen[request.body] += 1
        words = f"{self._seed} {self._seen[request.body]} ".encode() + request.body
        return hashlib.sha256(words).hexdigest()[:22]

    # --- chat completions -------------------------------------------------------------------------

    def _chat(self, request: Received, where: Route) -> Answer:
        google = where.host == "compat"
        provider = "gemini@openai" if google else ""
        wanted = chat.chat_request(
            request.body, provider, era=self._warnings_too, lenient=self._lenient
        )
        where = replace(where, name=(wanted.model or "").removeprefix("models/"))
        model = (
            self._model(replace(where, endpoint="models.generateContent"))
            if google
            else Traits(where.name, 2.0, thinks=False)
        )
        asked = chat.as_gemini(wanted)
        if not self._lenient:
            refusals.check_signatures(asked.contents or (), model, "gemini", self._signatures)
        wish = wish_of(asked, model)
        step = self._step(request, where, wish.question)
        if step is not None and step.fault is not None and step.fault.kind == "status":
            return status_answer(step.fault, where.name, where.errors)
        if step is not None and step.answer is not None:
            answer = lines([step.answer]) if wanted.stream else whole(step.answer, step.status)
        elif step is not None and step.stream is not None:
            answer = lines(step.stream)
        else:
            said = _said(step, wish)
            if wanted.parallel_tool_calls is False:
                said = replace(said, calls=said.calls[:1])
            talker = chat.Talker(wanted, asked, model, self._signatures, self._id(request))
            answer = lines(talker.chunks(said)) if wanted.stream else talker.whole(said)
        return (
            answer
            if step is None or step.fault is None
            else spoiled(answer, step.fault, where.name, where.wire)
        )

    def _chat_models(self, request: Received, where: Route) -> Answer:
        names = (
            [each.name for each in listed()]
            if where.host == "compat"
            else ["gpt-5.4", "gpt-5.4-mini", *(each.name for each in listed())]
        )
        owner = "google" if where.host == "compat" else "wire"
        return whole(
            chat.described(where.name, owner) if where.name else chat.models(names, owner),
            kind="application/json",
        )

    # --- messages ---------------------------------------------------------------------------------

    def _messages(self, request: Received, where: Route) -> Answer:
        asked = messages.asked(
            request.body, MessageRequest, where.host, era=self._warnings_too, lenient=self._lenient
        )
        where, signs = replace(where, name=asked.model), where.host == "anthropic"
        if signs and not self._lenient:
            messages.check_thoughts(asked, self._signatures)
        wish = messages.wish_of(asked)
        step = self._step(request, where, wish.question)
        if step is not None and step.fault is not None and step.fault.kind == "status":
            return status_answer(step.fault, where.name, where.wire)
        if (
            step is not None
            and step.answer is not None
            and (step.status != 200 or not isinstance(step.answer, dict))
        ):
            return claude.whole(step.answer, step.status)
        teller = messages.Teller(
            asked,
            self._id(request),
            self._prompts.usage(json.loads(request.body)),
            self._signatures,
            signs,
        )
        if step is not None and step.stream is not None:
            message = teller.folded(step.stream)
        else:
            message = (
                teller.message(_said(step, wish))
                if step is None or step.answer is None
                else teller.named(step.answer)
            )
        if asked.stream:
            told = (
                messages.events_of(message) if step is None or step.stream is None else step.stream
            )
            answer = claude.events(told)
        else:
            answer = claude.whole(message)
        return (
            answer
            if step is None or step.fault is None
            else spoiled(answer, step.fault, where.name, where.wire)
        )

    def _count_messages(self, request: Received, where: Route) -> Answer:
        messages.asked(
            request.body, CountMessages, where.host, era=self._warnings_too, lenient=self._lenient
        )
        return claude.whole({"input_tokens": length(json.loads(request.body))})

    def _messages_models(self, request: Received, where: Route) -> Answer:
        if not where.name:
            return claude.whole(claude.listed(request.query))
        if not (self._lenient or claude.is_known(where.name)):
            raise claude.unknown_model(where.name)
        return claude.whole(claude.described(where.name))

    # --- the rest ---------------------------------------------------------------------------------

    def _models(self, request: Received, where: Route) -> Answer:
        if where.endpoint == "models.get":
            return whole(described(self._model(where)))
        return whole(page("models", [described(each) for each in listed()], request, 50, 1000))

    def _stored(self, request: Received, where: Route) -> Answer:
        """Files and cached contents."""
        kind, action = where.endpoint.split(".")
        if kind == "files":
            return _FILES[action](self._files, request, where)
        if action == "create":
            wanted = (refusals.typed(request.body, CachedContent).model or "").rpartition(
                "models/"
            )[2]
            return self._caches.create(
                request, self._model(replace(where, name=wanted)), where.place
            )
        return _CACHES[action](self._caches, request, where)


def _said(step: Step | None, wish: Wish) -> Said:
    if step is not None and step.say is not None:
        return step.say
    try:
        return answered(wish)
    except ValueError:  # a schema that is none
        raise refusal(400, "Request contains an invalid argument.") from None


def _loaded(script: Script) -> tuple[Recorded | None, Script]:
    """The cassette that a path leads to, or a script."""
    if isinstance(script, (str, Path)):
        said = read(script)
        return (
            (Recorded(script), None)
            if isinstance(said, dict) and "wire_cassette" in said
            else (None, said)
        )
    return None, script


_FILES: dict[str, Callable[[Files, Received, Route], Answer]] = {
    "upload": lambda files, request, where: files.upload(request, where.version),
    "create": lambda files, request, where: files.create(request),
    "get": lambda files, request, where: files.get(where.name),
    "delete": lambda files, request, where: files.delete(where.name),
    "list": lambda files, request, where: files.listed(request),
}
_CACHES: dict[str, Callable[[Caches, Received, Route], Answer]] = {
    "get": lambda caches, request, where: caches.get(where.name),
    "patch": lambda caches, request, where: caches.patch(where.name, request),
    "delete": lambda caches, request, where: caches.delete(where.name),
    "list": lambda caches, request, where: caches.listed(request),
}
_ENDPOINTS: dict[str, Callable[[Emulator, Received, Route], Answer]] = {
    "models.generateContent": Emulator._generate,
    "models.streamGenerateContent": Emulator._generate,
    "models.countTokens": Emulator._count,
    "models.embedContent": Emulator._embed,
    "models.batchEmbedContents": Emulator._embed,
    "models.list": Emulator._models,
    "models.get": Emulator._models,
    "chat.completions": Emulator._chat,
    "chat.models": Emulator._chat_models,
    "messages": Emulator._messages,
    "messages.count_tokens": Emulator._count_messages,
    "messages.models": Emulator._messages_models,
    "chat.embeddings": lambda emulator, request, where: embeddings.embedded_openai(request),
    **{f"files.{action}": Emulator._stored for action in _FILES},
    **{f"cachedContents.{action}": Emulator._stored for action in ("create", *_CACHES)},
}
