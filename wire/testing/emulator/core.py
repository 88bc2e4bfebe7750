"""The core of the emulator: a request in, a response out, and the state in between.

It picks the vendor, the step of the script and the fault; everything that belongs to one vendor is
behind `wire.testing.emulator.vendor.Vendor`. No socket, no threads; only a quota reads a clock.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wire.core.arguments import checked_arguments, items_of, whole_number
from wire.core.errors import ConfigurationError, RuleError
from wire.core.forks import new_in_child
from wire.core.secret import quoted, sealed, type_name
from wire.neutral.messages import Reply
from wire.testing.cassette.faults import Fault
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.aws_signatures import KNOWN
from wire.testing.emulator.control import (
    control_answer,
    control_of,
    control_refusal,
    is_control,
    is_preflight,
    preflight,
    sent_steps,
    with_cors,
)
from wire.testing.emulator.faults import fault_of, with_fault
from wire.testing.emulator.forms import as_reference, verified
from wire.testing.emulator.handshakes import OF_HANDSHAKES, shake_hands
from wire.testing.emulator.hosts import check_provider, row_of, wires_of
from wire.testing.emulator.limits import DEFAULT_LIMITS, EmulatorLimits
from wire.testing.emulator.model import Prompt, complete, constrained
from wire.testing.emulator.outage import Failing, Outage
from wire.testing.emulator.quota import Meter, Quota
from wire.testing.emulator.received import Received, received
from wire.testing.emulator.recorded import Recorded
from wire.testing.emulator.routes import Route
from wire.testing.emulator.script import Script, Step, choose, read, steps_of
from wire.testing.emulator.sessions import Session
from wire.testing.emulator.storage import Remembered, Storage, StorageFull
from wire.testing.emulator.vendor import (
    Failed,
    Failure,
    Generation,
    Refusal,
    Settings,
    Vendor,
    vendor_of,
)
from wire.testing.emulator.vendors import VENDORS

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_BYTES_OF_A_VALUE = 100


class Emulator:
    """The servers of Gemini, OpenAI and Anthropic: refuses what they refuse, in their words.

    >>> emulator = Emulator()
    >>> path = "/v1beta/models/gemini-3.8-flash"
    >>> emulator.answer("GET", path, {"x-goog-api-key": "any"}, b"").status
    200

    `script` sets the answers: the path of a script or of a cassette, the steps themselves, or a
    function (`wire.testing.emulator.script`); a small model answers everything else.
    `warnings_too` refuses what only servers of an earlier date refused, `lenient` refuses nothing
    that a rule is about. `seed` changes ids and signatures. Every key is accepted, except those
    that begin with bad, invalid, wrong or expired. Signatures of AWS are verified
    (`wire.testing.emulator.aws_signatures`).

    Many providers serve chat completions and Messages, each with rules and messages of its own. A
    client's transport names the one that it means; a server on loopback goes by the path and the
    model's name. `provider` names it for both: `Emulator(provider="deepseek")`.

    Models that Google has shut down are refused as there. `date` plays an earlier or later day:
    `Emulator(date="2026-02-01")` still has `gemini-3-pro-preview`.

    `limits` bounds the size of requests and of what is stored (`EmulatorLimits`). `clock` returns
    the time in seconds, at which prompt caches and cached contents expire; without it they do not.

    `quota` refuses requests for a model's output that exceed it with 429 (`Quota`); `clock` is what
    its windows go by, in seconds since 1970. `outage` fails all or some requests (`Outage`); it may
    be set and removed between requests.

    Raises `ConfigurationError` for an invalid script, provider, date or quota, `CassetteError` for
    an invalid cassette.
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        script: Script | Recorded = None,
        *,
        warnings_too: bool = False,
        lenient: bool = False,
        seed: int = 0,
        provider: str = "",
        date: str = "",
        limits: EmulatorLimits = DEFAULT_LIMITS,
        quota: Quota | None = None,
        clock: Callable[[], float] | None = None,
        outage: Outage | None = None,
    ) -> None:
        # Before anything can raise: tracebacks show the arguments of this frame.
        provider, date = sealed(provider), sealed(date)
        check_provider(provider)
        if not isinstance(date, str) or (date and not _DATE.fullmatch(date)):
            raise ConfigurationError(f"date: expected a day such as 2026-03-09, not {quoted(date)}")
        self.limits = limits
        whole_number("seed", seed, error=ConfigurationError)
        if clock is not None and not callable(clock):
            problem = f"expected a function that returns seconds, not {type(clock).__name__}"
            raise ConfigurationError(f"clock: {problem}")
        self._settings = Settings(
            warnings_too=warnings_too,
            lenient=lenient,
            seed=seed,
            provider=provider,
            date=date,
            respond=self._respond,
            scripted=lambda: bool(self._script or self._steps),
            clock=float if clock is None else clock,
        )
        self._wires = frozenset(wires_of(provider))
        self._cassette, self._script = _loaded(script)
        self._lock = threading.RLock()
        new_in_child(self, _lock=threading.RLock)
        self._quota, self._clock = quota, time.time if clock is None else clock
        self.outage = outage
        self._clear()

    @property
    def outage(self) -> Outage | None:
        """The outage that fails requests; `None`: the vendor is up."""
        return self._outage

    @outage.setter
    def outage(self, outage: Outage | None) -> None:
        if not isinstance(outage, Outage | None):
            raise ConfigurationError(f"outage: expected an Outage, not {type_name(outage)}")
        with self._lock:
            self._outage = outage
            self._failing = None if outage is None else Failing(outage)

    def _clear(self) -> None:
        self._steps = steps_of(self._script)
        storage = Storage(self.limits.max_stored_items, self.limits.max_stored_bytes)
        meter = None if self._quota is None else Meter(self._quota, self._clock)
        self._meter = meter
        settings = replace(self._settings, storage=storage, meter=meter)
        self._vendors: list[Vendor] = [vendor(settings) for vendor in VENDORS]
        self._forget_requests()
        self._faults = Remembered()
        self._bodies = Remembered()

    def _forget_requests(self) -> None:
        self._number = 0
        self._requests: deque[tuple[dict[str, Any], int]] = deque()
        self._requests_size = 0

    def reset(self) -> None:
        """Forget all requests, files and cached contents, and start script and quota again."""
        with self._lock:
            self._clear()
            if self._cassette is not None:
                self._cassette.rewind()

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The requests since the list was last cleared, without keys.

        Each has number, method, target, headers, body, status and, if refused, the rule. The oldest
        are dropped beyond `EmulatorLimits.max_requests` and `max_request_bytes`.
        """
        with self._lock:
            return [report for report, _ in self._requests]

    @checked_arguments(ConfigurationError)
    def answer(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | Iterable[tuple[str, str]],
        body: bytes,
    ) -> Answer:
        """Answer one request; the target is a path with its query, or a complete URL."""
        return self._answered(method, target, _pairs(headers), body)

    def _answered(
        self,
        method: str,
        target: str,
        sent: list[tuple[str, str]],
        body: bytes,
        *,
        in_session: bool = False,
    ) -> Answer:
        status, message = _excess(target, sent, body, self.limits)
        if status:
            return self.rejected(method, target, sent, status, message)
        with self._lock:
            try:
                request = received(self._number + 1, method, target, sent, body, self.limits)
            except ValueError:  # such as http://[::1
                return self.rejected(method, "", (), 400, "The target of the request is malformed.")
            request = replace(request, in_session=in_session)
            if is_control(request):
                return self._control(request)
            if is_preflight(request):
                return preflight(request)
            report = self._listed(request)
            answer = with_cors(self._respond(request), request)
            report |= {"status": answer.status, **({"rule": answer.rule} if answer.rule else {})}
            return answer

    @checked_arguments(ConfigurationError, before=True)
    def session(
        self, target: str, headers: Mapping[str, str] | Iterable[tuple[str, str]]
    ) -> Session | Answer:
        """Open a session over WebSocket, or return the response that refuses it.

        The server on loopback calls it for a handshake. The messages of a session are requests
        as those over HTTP: they are in the list of requests, and scripts and faults apply. A step
        that is a fault alone and matches the endpoint of the session is about all its messages.
        """
        sent = [(name, value) for name, value in _pairs(headers) if name not in OF_HANDSHAKES]

        def ask(path: str, body: bytes) -> Answer:
            return self._answered("POST", path, sent, body, in_session=True)

        with self._lock:
            try:
                request = received(self._number + 1, "GET", target, sent, b"", self.limits)
            except ValueError:
                return self.rejected("GET", "", (), 400, "The target of the request is malformed.")
            vendor, route = self._vendor(request)
            opened = shake_hands(request, vendor, route, ask, self._steps)
            if opened is None:
                return self.answer("GET", target, sent, b"")
            status = opened.status if isinstance(opened, Answer) else 101
            self._listed(request)["status"] = status
            return opened

    @checked_arguments(ConfigurationError, before=True)
    def rejected(
        self,
        method: str,
        target: str,
        headers: Iterable[tuple[str, str]],
        status: int,
        message: str,
    ) -> Answer:
        """Return the error for a request that is not read, in the format of its vendor.

        The server on loopback calls it for a request that is malformed, too large or too slow.
        Without a target no vendor is known, and the body is `{"error": {"code", "message"}}`.
        """
        plain = json_answer(
            json_bytes({"error": {"code": status, "message": message}}, indent=2) + b"\n", status
        )
        # A target over the limit is cut: its beginning names the vendor.
        target, headers = target[: self.limits.max_target_bytes], list(headers)
        kept = headers[: self.limits.max_headers]
        with self._lock:
            try:
                request = received(self._number + 1, method, target, kept, b"", self.limits)
            except ValueError:
                return plain
            if not target or is_control(request):
                return plain
            report = self._listed(request)
            vendor, route = self._vendor(request)
            answer = vendor.error_answer(Failure(status, message, request=request, route=route))
            report["status"] = status
            return with_cors(vendor.finish(answer, request, route), request)

    def _listed(self, request: Received) -> dict[str, Any]:
        """Add the report of a request to `requests`, and return it."""
        report = request.report()
        size = len(request.target) + len(request.body)
        if not isinstance(report["body"], str):
            # A decoded value costs about so many bytes more than its JSON.
            values = sum(request.body.count(each) for each in (b",", b"{", b"["))
            size += _BYTES_OF_A_VALUE * values
        self._number += 1
        self._requests.append((report, size))
        self._requests_size += size
        limits = self.limits
        while len(self._requests) > 1 and (
            len(self._requests) > limits.max_requests
            or self._requests_size > limits.max_request_bytes
        ):
            self._requests_size -= self._requests.popleft()[1]
        return report

    def _control(self, request: Received) -> Answer:
        """Answer a request for one of the emulator's own endpoints."""
        refusal = control_refusal(request)
        if refusal is not None:
            return refusal
        try:
            return control_answer(self._controlled(request, control_of(request)))
        except ConfigurationError as error:
            return control_answer({"error": error.message}, 400)

    def _controlled(self, request: Received, name: str) -> dict[str, Any]:
        match request.method, name:
            case "GET", "requests":
                return {"requests": self.requests}
            case "DELETE", "requests":
                self._forget_requests()
                return {}
            case "POST", "reset":
                self.reset()
                return {}
            case "DELETE", "script":
                self._steps = []
            case "PUT", "script":
                self._steps = sent_steps(request, name)
            case "POST", _:
                self._steps = [*sent_steps(request, name), *self._steps]
            case _:
                return {"status": "ok", "requests": self._number}
        return {"steps": len(self._steps)}

    def _vendor(self, request: Received) -> tuple[Vendor, Route | None]:
        """Return the vendor of a request, and its endpoint."""
        return vendor_of(request, self._vendors, self._wires)

    def _respond(self, request: Received) -> Answer:
        """Answer a request, in the form of its host."""
        if self._cassette is not None:
            return self._in_reference(request)
        request, refused = verified(request, self._clock(), KNOWN.get)
        if refused is not None:
            return refused
        asked, form, failure = as_reference(request)
        if failure is None:
            answer = self._in_reference(asked)
        else:
            answer = self._vendor(request)[0].error_answer(failure)
        return answer if form is None else form.answered(answer)

    def _in_reference(self, request: Received) -> Answer:
        vendor, route = self._vendor(request)
        try:
            answer = self._admitted(request, vendor, route)
        except Refusal as refusal:
            answer = refusal.answer
        except Failed as failed:
            answer = vendor.error_answer(replace(failed.failure, request=request, route=route))
        except StorageFull:
            answer = vendor.storage_full()
        if self._cassette is not None:
            return answer
        if answer.status == 404:
            answer = replace(
                answer, headers=(*answer.headers, self._played(request, vendor, route))
            )
        return vendor.finish(answer, request, route)

    def _played(self, request: Received, vendor: Vendor, route: Route | None) -> tuple[str, str]:
        """Return the header of a 404 that says who did not find it."""
        wire, provider = vendor.wires[0], self._settings.provider
        row = None if route is None else row_of(request, route, wire, provider)
        name = provider or (wire if row is None else row.name)
        return "x-wire-emulator", f"plays {name}; provider= or --provider plays another host"

    def _admitted(self, request: Received, vendor: Vendor, route: Route | None) -> Answer:
        fault = self._fault(request)
        if fault is None and self._failing is not None:
            fault = self._failing.fault()
        model = "" if route is None else route.name
        failing = Failure(500, model=model, request=request, route=route)
        cassette = self._cassette
        if cassette is not None:
            return _played(cassette, request, fault, vendor, failing)
        if route is None or not route.endpoint:
            return vendor.no_endpoint(request, route)
        vendor.authorise(request, route)
        if request.excess and not route.takes_files:
            raise Failed(Failure(400, request.excess))
        return with_fault(fault, vendor, failing, lambda: self._metered(request, vendor, route))

    def _metered(self, request: Received, vendor: Vendor, route: Route) -> Answer:
        """Answer a request, unless it exceeds the quota."""
        if self._meter is None or not route.generates:
            return self._scripted(request, vendor, route)
        size = len(request.body)
        refused = self._meter.take(size)
        if refused is not None:
            limit, wait = refused
            raise Failed(Failure(429, model=route.name, retry_after=wait, limit=limit))
        answer = self._scripted(request, vendor, route)
        self._meter.settle(size, answer)
        return answer

    def _fault(self, request: Received) -> Fault | None:
        """Return the fault of the request's header, unless it was applied often enough."""
        spec = request.headers.get("x-wire-fault")
        if not spec:
            return None
        try:
            fault = fault_of(spec)
        except ConfigurationError as error:
            raise Failed(Failure(400, f"x-wire-fault: {error.message}")) from None
        key = spec, hashlib.sha256(request.body).digest()
        count = self._faults.counted(key)
        return fault if fault.applies(count) else None

    def _scripted(self, request: Received, vendor: Vendor, route: Route) -> Answer:
        """Answer with the script's step, else with the small model or the endpoint."""
        # A request for a model is read, and refused, before a step is used up on it.
        try:
            generation = vendor.read(request, route) if route.generates else None
        except RuleError as error:  # what no request may have, such as half of a data URL
            failure = Failure(400, error.message, request=request, route=route)
            raise Failed(failure) from None
        model = route.name if generation is None else generation.model
        question = "" if generation is None else generation.prompt.question
        continues = generation is not None and generation.prompt.continues
        steps = [each for each in self._steps if each.is_fault] if continues else self._steps
        step = choose(steps, request, route, model, question) or Step()

        def respond() -> Answer:
            own_body = step.status != 200 or not isinstance(step.answer, dict)
            if step.answer is not None and (own_body or generation is None):
                return vendor.body_answer(step.answer, step.status)
            if generation is None:
                return vendor.serve(request, route)
            return self._generated(generation, step, self._id(request))

        failing = Failure(500, model=model, request=request, route=route)
        return with_fault(step.fault, vendor, failing, respond, f"script: {step.path}: ")

    def _generated(self, generation: Generation, step: Step, id: str) -> Answer:
        if step.stream is not None:
            return generation.render_events(step.stream, id)
        if step.answer is not None:
            return generation.render_body(step.answer, id)
        return generation.render(_reply(step, generation.prompt), id, step.hops)

    def _id(self, request: Received) -> str:
        """Return an id that depends on the request and on how often it was repeated."""
        count = self._bodies.counted(hashlib.sha256(request.body).digest())
        repetition = f"{self._settings.seed} {count} ".encode()
        return hashlib.sha256(repetition + request.body).hexdigest()[:22]


def _excess(
    target: str, headers: list[tuple[str, str]], body: bytes, limits: EmulatorLimits
) -> tuple[int, str]:
    """Return status and message for a request over a limit; the status is 0 if it is within all."""
    if len(target) > limits.max_target_bytes:
        return 414, f"The target of a request has at most {limits.max_target_bytes} bytes."
    if len(headers) > limits.max_headers:
        return 431, f"A request has at most {limits.max_headers} headers."
    if sum(len(name) + len(value) + 4 for name, value in headers) > limits.max_head_bytes:
        return 431, f"The headers of a request have at most {limits.max_head_bytes} bytes."
    if len(body) > limits.max_body_bytes:
        return 413, f"Request payload size exceeds the limit: {limits.max_body_bytes} bytes."
    return 0, ""


def _reply(step: Step, prompt: Prompt) -> Reply:
    if step.say is not None:
        return constrained(step.say, prompt)
    try:
        return complete(prompt)
    except ValueError:  # an invalid schema
        raise Failed(Failure(400, "Request contains an invalid argument.")) from None


def _played(
    cassette: Recorded, request: Received, fault: Fault | None, vendor: Vendor, failing: Failure
) -> Answer:
    """Return the recorded response, with the fault of the request's header or of the cassette."""
    if fault is not None:
        # A status in place of the response leaves the interaction for the next request.
        respond = lambda: cassette.answer(cassette.take(request)[0])  # noqa: E731
        return with_fault(fault, vendor, failing, respond)
    index, fault = cassette.take(request)
    answer = with_fault(fault, vendor, failing, lambda: cassette.answer(index))
    return cassette.in_chunks(answer)


def _loaded(script: Script | Recorded) -> tuple[Recorded | None, Script]:
    """Load the cassette that a path leads to, or a script."""
    if isinstance(script, Recorded):
        return script, None
    if not isinstance(script, (str, Path)):
        return None, script
    content = read(script)
    if isinstance(content, dict) and "wire_cassette" in content:
        return Recorded(script), None
    return None, content


def _pairs(headers: Mapping[str, str] | Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    pairs: Any = headers.items() if isinstance(headers, Mapping) else headers
    pairs = items_of("headers", pairs, error=ConfigurationError)
    if not all(isinstance(each, tuple) and len(each) == 2 for each in pairs):
        raise ConfigurationError("headers: expected pairs of a name and a value")
    return list(pairs)
