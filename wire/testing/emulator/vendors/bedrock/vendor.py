"""Bedrock's server: Converse, token counts, and embeddings by InvokeModel."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from wire.converse.parse import WIRE
from wire.converse.received import parse_request
from wire.converse.rules import check
from wire.converse.types import ConverseRequest, CountTokensRequest
from wire.core.decoders import decoder
from wire.core.errors import RuleError
from wire.core.event_stream import frame_bytes
from wire.core.memory import WireStruct
from wire.core.provider import Provider
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.hosts import prefix_pattern, row_of
from wire.testing.emulator.keys import is_wrong
from wire.testing.emulator.model import Prompt, thinking_of
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths, served
from wire.testing.emulator.tables import table
from wire.testing.emulator.vendor import Failure, Settings
from wire.testing.emulator.vendors.bedrock import errors
from wire.testing.emulator.vendors.bedrock.answers import Generation, prompt_tokens
from wire.testing.emulator.vendors.bedrock.catalog import MODELS, model_summary, profile_summary
from wire.testing.emulator.vendors.bedrock.embeddings import embedded

R = TypeVar("R", bound=WireStruct)

_PATHS = paths(*table(__file__, "routes"), prefix=prefix_pattern(WIRE), name="(?P<name>.+)")
_GENERATING = frozenset({"converse", "converseStream"})
_MODEL = re.compile(r"(arn:aws[a-z-]*:bedrock:.+|[a-z0-9-]+(\.[a-z0-9-]+)?\.[\w.:-]+)")
"""The id of a model, with its vendor and the region of its profile; or an ARN."""
_KINDS = {"str": "STRING", "int": "NUMBER", "float": "NUMBER", "bool": "BOOLEAN"}


class Bedrock:
    """The server of Converse."""

    wires = (WIRE,)
    error = staticmethod(errors.error)
    no_endpoint = staticmethod(errors.no_endpoint)
    error_answer = staticmethod(errors.error_answer)
    error_event = staticmethod(errors.exception)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._resources = {"converse": self}

    # --- routes and keys --------------------------------------------------------------------------

    def route(self, request: Received) -> Route | None:
        """Return the endpoint of a request, if it is one of Bedrock."""
        return match(_PATHS, request, _GENERATING)

    def recognises(self, request: Received) -> bool:
        """Return whether a request is signed for AWS, or one of its SDKs sent it."""
        return "amz-sdk-request" in request.headers or "x-amz-date" in request.headers

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a missing or wrong key.

        Signatures are verified before; the id of their key stands for a key.
        """
        given = request.bearer
        host = self._host(request, route)
        if is_wrong(given) or (not given and (host is None or host.key_required)):
            raise errors.bad_key(given)

    def _host(self, request: Received, route: Route) -> Provider | None:
        return row_of(request, route, WIRE, self._settings.provider)

    # --- endpoints --------------------------------------------------------------------------------

    def read(self, request: Received, route: Route) -> Generation:
        """Read a request for an answer. Raises `Refusal`."""
        self._check_model(route.name)
        plain = _plain(request.body)
        _decoded(request.body, ConverseRequest)
        self._check(plain, route.name, self._host(request, route))
        return Generation(
            route.name, _prompt_of(request.body), plain, route.endpoint == "converseStream"
        )

    def serve(self, request: Received, route: Route) -> Answer:
        """Answer for token counts and embeddings."""
        return served(self._resources, request, route)

    def count_tokens(self, request: Received, route: Route) -> Answer:
        """Count the tokens of a prompt."""
        self._check_model(route.name)
        plain, body = _plain(request.body), _decoded(request.body, CountTokensRequest)
        prompt = (plain.get("input") or {}).get("converse")
        if body.input is None or not isinstance(prompt, dict):
            raise errors.refusal(400, "The provided model doesn't support counting tokens.")
        self._check(prompt, route.name, self._host(request, route))
        return self.body_answer({"inputTokens": prompt_tokens(prompt)}, 200)

    def invoke(self, request: Received, route: Route) -> Answer:
        """Return the vectors of texts."""
        self._check_model(route.name)
        return self.body_answer(embedded(route.name, _plain(request.body)), 200)

    def models(self, request: Received, route: Route) -> Answer:
        """List the models, or those of one vendor."""
        vendor = request.query.get("byProvider", "").lower()
        found = [each for each in MODELS if vendor in ("", each.partition(".")[0])]
        return self.body_answer({"modelSummaries": [model_summary(each) for each in found]}, 200)

    def profiles(self, request: Received, route: Route) -> Answer:
        """List the inference profiles, which are one page."""
        summaries = [profile_summary(each) for each in MODELS]
        return self.body_answer({"inferenceProfileSummaries": summaries}, 200)

    def _check_model(self, model: str) -> None:
        if not self._settings.lenient and not _MODEL.fullmatch(model):
            raise errors.refusal(400, "The provided model identifier is invalid.")

    def _check(self, plain: dict[str, Any], model: str, host: Provider | None) -> None:
        if self._settings.lenient:
            return
        for each in check(plain, model, host or ""):
            if self._settings.warnings_too or each.severity == "error":
                raise errors.refusal(each.status, each.words or each.message, each.rule)

    # --- responses --------------------------------------------------------------------------------

    def body_answer(self, value: Any, status: int) -> Answer:
        """Return a response with a script's JSON value."""
        return json_answer(json_bytes(value), status)

    def storage_full(self) -> Answer:
        """Return the error of an account whose quota is used up."""
        return errors.error_answer(Failure(400, "Quota exceeded."), "ServiceQuotaExceededException")

    def used_up(self, failure: Failure) -> Answer:
        """Return the error of an account whose quota is used up."""
        message = "Your account has reached its quota for this model."
        failed = replace(failure, status=400, message=message)
        return errors.error_answer(failed, "ServiceQuotaExceededException")

    def frame(self, data: bytes) -> bytes:
        """Encode one event with the name of a delta."""
        headers = {":event-type": "contentBlockDelta", ":content-type": "application/json"}
        return frame_bytes({**headers, ":message-type": "event"}, data)

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Add the id of the request, and the counts of an embedding."""
        digest = request.digest
        parts = (digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32])
        return replace(answer, headers=(*answer.headers, ("x-amzn-requestid", "-".join(parts))))


def _plain(body: bytes) -> dict[str, Any]:
    try:
        plain = json.loads(body)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict):
        message = "Unexpected character or token in the request body."
        raise errors.refusal(400, message, kind="SerializationException")
    return plain


def _decoded(body: bytes, kind: type[R]) -> R:
    """Decode a body. Raises `Refusal` with the server's words for a value of a wrong type."""
    try:
        request: R = decoder(kind).decode(body)
    except msgspec.ValidationError as cause:
        problem = str(cause)
        wanted = problem.removeprefix("Expected `").partition("`")[0].partition(" | ")[0]
        found = problem.partition("got `")[2].partition("`")[0]
        words = f"{_KINDS.get(found, found.upper())}_VALUE cannot be converted to {wanted.title()}"
        raise errors.refusal(400, words, kind="SerializationException") from None
    except (msgspec.DecodeError, ValueError, RecursionError) as cause:
        raise errors.refusal(400, str(cause), kind="SerializationException") from None
    return request


def _prompt_of(body: bytes) -> Prompt:
    """Return a request as the small model reads it."""
    try:
        received = parse_request(body)
    except RuleError as error:
        raise errors.refusal(400, error.message) from None
    effort, thinks = received.request.effort, received.thoughts
    spent = thinking_of(effort, None) if thinks else 0
    return Prompt(received.request, spent, beside=True)
