"""Gemini's server, on the Gemini API and on Vertex."""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from itertools import count

from wire.catalogue.abilities import overflow
from wire.gemini.types import CountTokensRequest, GenerateContentRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.keys import is_wrong
from wire.testing.emulator.prefixes import Prefixes
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths, served
from wire.testing.emulator.sessions import Ask, Session
from wire.testing.emulator.signing import digest
from wire.testing.emulator.storage import Remembered
from wire.testing.emulator.tables import table
from wire.testing.emulator.vendor import Failure, Refusal, Settings
from wire.testing.emulator.vendors.gemini import bodies, refusals
from wire.testing.emulator.vendors.gemini.batches import Batches
from wire.testing.emulator.vendors.gemini.caches import Caches
from wire.testing.emulator.vendors.gemini.catalog import Traits, description, listed
from wire.testing.emulator.vendors.gemini.continuation import Continuations
from wire.testing.emulator.vendors.gemini.decisions import decide
from wire.testing.emulator.vendors.gemini.embeddings import embed, embed_batch
from wire.testing.emulator.vendors.gemini.files import Files
from wire.testing.emulator.vendors.gemini.generate import Generation, prompt_of
from wire.testing.emulator.vendors.gemini.live import Kept, LiveSession
from wire.testing.emulator.vendors.gemini.live_setup import Reader
from wire.testing.emulator.vendors.gemini.operations import Operations
from wire.testing.emulator.vendors.gemini.prediction import (
    compute_tokens,
    predict,
    predict_long_running,
)
from wire.testing.emulator.vendors.gemini.prompt_tokens import (
    details,
    implicitly_cached,
    prompt_tokens,
)
from wire.testing.emulator.vendors.gemini.responses import ResponseWriter
from wire.testing.emulator.vendors.gemini.signatures import Signatures, steps
from wire.testing.emulator.vendors.gemini.state import page
from wire.testing.emulator.vendors.gemini.stores import Stores
from wire.testing.emulator.vendors.gemini.uploads import Uploads

VERSION = r"(?P<version>v1|v1beta|v1alpha|v1beta1)"
_GENERATING = frozenset({"generateContent", "streamGenerateContent"})
PARENT = "projects/[^/]+/locations/[^/]+/"
_PATHS = paths(
    *table(__file__, "routes"),
    version=VERSION,
    name="(?P<name>[^/:]+)",
    parent=f"(?P<parent>{PARENT})",
    publisher=f"(?P<parent>(?:{PARENT})?)publishers/google/models",
    actions="generateContent|streamGenerateContent|countTokens|embedContent|predict"
    "|predictLongRunning|batchEmbedContents",
)
_SESSIONS = "/ws/"
_CONSTRAINED = "Constrained"
"""End of the path that takes tokens for one session."""
_MAX_KEPT = 1_000
"""Sessions that can be continued; the oldest are forgotten."""
# Versions of Google's APIs alone, and paths of Vertex.
_GOOGLE_PATH = re.compile(r"/(upload/)?(v1alpha|v1beta1?)(/.*)?|/v1/projects/.*")


class Gemini:
    """The server of the Gemini API and of Vertex."""

    wires = ("gemini",)
    body_answer = staticmethod(bodies.whole)
    error = staticmethod(refusals.error)
    error_answer = staticmethod(refusals.error_answer)
    no_endpoint = staticmethod(refusals.no_endpoint)
    storage_full = staticmethod(refusals.storage_full)
    used_up = staticmethod(refusals.used_up)
    frame = staticmethod(bodies.frame)
    compute_tokens = staticmethod(compute_tokens)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._files, self._operations = Files(settings, Uploads(settings)), Operations()
        self._caches, self._prefixes = Caches(settings), Prefixes(settings.clock)
        self._batches = Batches(settings, self._files)
        stores = Stores(settings, self._files, self._operations)
        self._signatures = Signatures(settings.seed)
        self._check = functools.partial(refusals.check_body, settings, self._signatures)
        self._resources = {
            "": self,
            "files": self._files,
            "batches": self._batches,
            "cachedContents": self._caches,
            "fileSearchStores": stores,
            "documents": stores.documents,
            "operations": self._operations,
        }
        self._continuations = Continuations()
        self._sessions, self._kept = count(), Kept(settings.clock, Remembered(_MAX_KEPT))

    # --- routes and keys --------------------------------------------------------------------------

    def route(self, request: Received) -> Route | None:
        """Return the endpoint of a request, if it is one of Google's."""
        return match(_PATHS, request, _GENERATING)

    def recognises(self, request: Received) -> bool:
        """Return whether a request has `x-goog-api-key`, another `x-goog-` header or `?key=`."""
        return (
            "key" in request.query
            or any(name.startswith("x-goog-") for name in request.headers)
            or _GOOGLE_PATH.fullmatch(request.path) is not None
        )

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a missing or wrong key (G73)."""
        if "upload_id" in request.query and route.endpoint.endswith(".upload"):
            return  # the URL of an upload is a secret itself: clients send no key with it
        key = request.headers.get("x-goog-api-key") or request.query.get("key") or ""
        if request.in_session or request.path.endswith(_CONSTRAINED):
            key = key or _ephemeral_token(request)
        if not (request.bearer or key):
            raise refusals.stated(f"no_key {route.host}")
        if route.host == "vertex" and route.parent and not request.bearer:
            raise refusals.stated("key_for_vertex")
        if is_wrong(key):
            raise refusals.stated("bad_key")
        if is_wrong(request.bearer):
            raise refusals.stated("bad_token")

    # --- generation -------------------------------------------------------------------------------

    def read(self, request: Received, route: Route) -> Generation:
        """Read a generateContent or streamGenerateContent request. Raises `Refusal`."""
        lenient = self._settings.lenient
        # A session has checked that its model has sessions; it need not generate contents.
        played = replace(self._settings, lenient=True) if request.in_session else self._settings
        model = refusals.model_of(route, played)
        self._check(request.body, model.name, route)
        body = refusals.decoded(request.body, GenerateContentRequest)
        if request.in_session:
            model = replace(model, thinks=_is_told_to_think(body))
        contents = body.contents or []
        total = functools.partial(prompt_tokens, contents, body)
        over = overflow("gemini", model.name, len(request.body), lambda: sum(total().values()))
        if over is not None:
            raise refusals.rule_refusal("G69", route.host, count=over[0], most=over[1])
        if not lenient:
            refusals.check_signatures(steps(contents), model, route.host, self._signatures)
            self._files.check(contents)
        with_cache, cached_tokens = self._caches.apply(body, model)
        continues = self._continuations.rest(body) is not None
        implicit = functools.cache(lambda: implicitly_cached(body, model, self._prefixes))
        return Generation(
            prompt_of(with_cache, model, continues=continues),
            ResponseWriter(body, model, route.host, self._signatures, cached_tokens, implicit),
            streams=route.endpoint == "streamGenerateContent",
            sse=request.query.get("alt") == "sse",
            continuations=self._continuations,
        )

    # --- sessions ---------------------------------------------------------------------------------

    def session(self, request: Received, route: Route, ask: Ask) -> Session | None:
        """Open a session of Live. A wrong key is told when the client has sent its setup."""
        if not request.path.startswith(_SESSIONS):
            return None
        refused = None
        try:
            self.authorise(request, route)
        except Refusal as refusal:
            refused = refusal
        name = digest(f"live {self._settings.seed} {next(self._sessions)}")
        reader = Reader(self._settings, route, self._check)
        return LiveSession(reader, ask, self._kept, name, refused)

    # --- other endpoints --------------------------------------------------------------------------

    def serve(self, request: Received, route: Route) -> Answer:
        """Answer requests for all endpoints that do not generate."""
        return served(self._resources, request, route)

    def listed(self, request: Received, route: Route) -> Answer:
        """Return a page of the models."""
        models = [description(each) for each in listed(self._settings.date)]
        return bodies.whole(page("models", models, request, 50, 1000))

    def get(self, request: Received, route: Route) -> Answer:
        """Return one model."""
        return bodies.whole(description(self._model(route)))

    def _model(self, route: Route) -> Traits:
        return refusals.model_of(route, self._settings)

    def count_tokens(self, request: Received, route: Route) -> Answer:
        """Count the tokens of a prompt."""
        model = self._model(route)
        self._check(request.body, model.name, route)
        requested = refusals.decoded(request.body, CountTokensRequest)
        # Vertex takes the fields of a whole request beside `contents`.
        inner, whole_request = requested.generate_content_request, None
        if route.host == "vertex":
            whole_request = refusals.decoded(request.body, GenerateContentRequest)
        if inner is not None and requested.contents:
            problem = "contents and generate_content_request cannot both be set."
            raise refusals.refusal(400, f"* CountTokensRequest: {problem}\n")
        contents = (inner.contents if inner is not None else requested.contents) or []
        if not contents:
            message = "* CountTokensRequest.contents: contents is not specified\n"
            raise refusals.refusal(400, message, "G4")
        counts = prompt_tokens(contents, inner or whole_request)
        return bodies.whole(
            {"totalTokens": sum(counts.values()), "promptTokensDetails": details(counts)}
        )

    def embed_content(self, request: Received, route: Route) -> Answer:
        """Return the vector of a text."""
        return embed(request, self._model(route))

    def batch_embed_contents(self, request: Received, route: Route) -> Answer:
        """Return a vector for each text."""
        return embed_batch(request, self._model(route), lenient=self._settings.lenient)

    def decisions(self, request: Received, route: Route) -> Answer:
        """Answer closed questions."""
        return decide(request, lenient=self._settings.lenient)

    def batch_generate_content(self, request: Received, route: Route) -> Answer:
        """Make a batch."""
        return self._batches.create(request, route)

    async_batch_embed_content = batch_generate_content

    def predict(self, request: Received, route: Route) -> Answer:
        """Return predictions."""
        return predict(request, self._model(route))

    def predict_long_running(self, request: Received, route: Route) -> Answer:
        """Start a job that makes videos."""
        return predict_long_running(request, self._model(route), self._operations, self._files)

    # --- responses --------------------------------------------------------------------------------

    def error_event(self, failure: Failure) -> bytes:
        """Encode the error as an event."""
        return bodies.frame(bodies.google_json(refusals.error(failure)))

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Label an error in place of a stream as the stream.

        Its body is plain JSON all the same (recorded).
        """
        wanted_stream = route is not None and route.endpoint == "streamGenerateContent"
        if not wanted_stream or request.query.get("alt") != "sse" or answer.status == 200:
            return answer
        headers = dict(answer.headers) | {"content-type": bodies.EVENTS}
        return replace(answer, headers=tuple(headers.items()))


def _is_told_to_think(request: GenerateContentRequest) -> bool:
    """Return whether a session sets how much the model thinks; it shows thoughts in any case."""
    config = request.generation_config
    thinking = None if config is None else config.thinking_config
    return thinking is not None and (
        thinking.thinking_level is not None or thinking.thinking_budget is not None
    )


def _ephemeral_token(request: Received) -> str:
    """Return a token of `auth_tokens`; empty if there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme == "Token" else ""
