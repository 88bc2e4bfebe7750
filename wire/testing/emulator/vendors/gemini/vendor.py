"""Gemini's server, on the Gemini API and on Vertex."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from wire.catalogue.abilities import overflow
from wire.gemini.types import CachedContent, CountTokensRequest, GenerateContentRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.keys import is_wrong
from wire.testing.emulator.prefixes import Prefixes
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths
from wire.testing.emulator.vendor import Failure, Settings
from wire.testing.emulator.vendors.gemini import bodies, refusals
from wire.testing.emulator.vendors.gemini.batches import Batches
from wire.testing.emulator.vendors.gemini.caches import Caches
from wire.testing.emulator.vendors.gemini.catalog import Traits, description, listed, traits
from wire.testing.emulator.vendors.gemini.continuation import Continuations
from wire.testing.emulator.vendors.gemini.embeddings import embed, embed_batch
from wire.testing.emulator.vendors.gemini.files import Files
from wire.testing.emulator.vendors.gemini.generate import Generation, prompt_of
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
_PARENT = r"(?P<parent>projects/[^/]+/locations/[^/]+/)"
_PUBLISHER = r"(?P<parent>(?:projects/[^/]+/locations/[^/]+/)?)publishers/google/models"
_STORE = r"(?P<name>[^/:]+)"
_ACTIONS = "generateContent|streamGenerateContent|countTokens|embedContent|predict"
_GEMINI_ACTIONS = "batchEmbedContents|batchGenerateContent|asyncBatchEmbedContent"
_ACTION = rf"(?P<action>{_ACTIONS}|predictLongRunning|{_GEMINI_ACTIONS})"
_VERTEX_ACTION = rf"(?P<action>{_ACTIONS}|predictLongRunning|batchEmbedContents|computeTokens)"
_GENERATING = frozenset({"generateContent", "streamGenerateContent"})
_CACHES = {"GET": "cachedContents.list", "POST": "cachedContents.create"}
_CACHE = {
    "GET": "cachedContents.get",
    "PATCH": "cachedContents.patch",
    "DELETE": "cachedContents.delete",
}
_PATHS = paths(
    ("gemini", rf"/upload/{VERSION}/files", {"POST": "files.upload", "PUT": "files.upload"}),
    ("gemini", rf"/{VERSION}/files", {"GET": "files.list", "POST": "files.create"}),
    ("gemini", rf"/{VERSION}/files:register", {"POST": "files.register"}),
    (
        "gemini",
        rf"/{VERSION}/files/(?P<name>[^/:]+)",
        {"GET": "files.get", "DELETE": "files.delete"},
    ),
    ("gemini", rf"/{VERSION}/files/(?P<name>[^/:]+):download", {"GET": "files.redirect"}),
    ("gemini", rf"/download/{VERSION}/files/(?P<name>[^/:]+):download", {"GET": "files.download"}),
    ("gemini", rf"/{VERSION}/batches", {"GET": "batches.list"}),
    (
        "gemini",
        rf"/{VERSION}/batches/(?P<name>[^/:]+)",
        {"GET": "batches.get", "DELETE": "batches.delete"},
    ),
    ("gemini", rf"/{VERSION}/batches/(?P<name>[^/:]+):cancel", {"POST": "batches.cancel"}),
    (
        "gemini",
        rf"/{VERSION}/batches/(?P<name>[^/:]+):update(?:GenerateContent|EmbedContent)Batch",
        {"PATCH": "batches.update"},
    ),
    (
        "gemini",
        rf"/{VERSION}/fileSearchStores",
        {"GET": "fileSearchStores.list", "POST": "fileSearchStores.create"},
    ),
    (
        "gemini",
        rf"/{VERSION}/fileSearchStores/{_STORE}",
        {"GET": "fileSearchStores.get", "DELETE": "fileSearchStores.delete"},
    ),
    (
        "gemini",
        rf"/upload/{VERSION}/fileSearchStores/{_STORE}:uploadToFileSearchStore",
        {"POST": "fileSearchStores.upload", "PUT": "fileSearchStores.upload"},
    ),
    (
        "gemini",
        rf"/{VERSION}/fileSearchStores/{_STORE}:importFile",
        {"POST": "fileSearchStores.importFile"},
    ),
    ("gemini", rf"/{VERSION}/fileSearchStores/{_STORE}/documents", {"GET": "documents.list"}),
    (
        "gemini",
        rf"/{VERSION}/(?P<name>fileSearchStores/[^/:]+/documents/[^/:]+)",
        {"GET": "documents.get", "DELETE": "documents.delete"},
    ),
    (
        "gemini",
        rf"/{VERSION}/(?:models|fileSearchStores)/[^/:]+(?:/upload)?/operations/[^/:]+",
        {"GET": "operations.get"},
    ),
    ("gemini", rf"/{VERSION}/cachedContents", _CACHES),
    ("gemini", rf"/{VERSION}/cachedContents/(?P<name>[^/:]+)", _CACHE),
    ("vertex", rf"/{VERSION}/{_PARENT}cachedContents", _CACHES),
    ("vertex", rf"/{VERSION}/{_PARENT}cachedContents/(?P<name>[^/:]+)", _CACHE),
    ("vertex", rf"/{VERSION}/{_PUBLISHER}/(?P<name>[^/:]+):{_VERTEX_ACTION}", {"POST": "{action}"}),
    ("vertex", rf"/{VERSION}/{_PUBLISHER}(?:/(?P<name>[^/:]+))?", {"GET": "{list}"}),
    (
        "gemini",
        rf"/{VERSION}/(?P<name>(?:models|tunedModels)/[^/:]+):{_ACTION}",
        {"POST": "{action}"},
    ),
    ("gemini", rf"/{VERSION}/models(?:/(?P<name>[^/:]+))?", {"GET": "{list}"}),
)
# Versions of Google's APIs alone, and paths of Vertex.
_GOOGLE_PATH = re.compile(r"/(upload/)?(v1alpha|v1beta1?)(/.*)?|/v1/projects/.*")


class Gemini:
    """The server of the Gemini API and of Vertex."""

    wires = ("gemini",)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        storage = settings.storage
        self._files, self._caches = Files(storage), Caches(storage, settings.clock)
        self._prefixes = Prefixes(settings.clock)
        self._uploads, self._operations = Uploads(storage), Operations()
        self._stores = Stores(self._files, self._operations, storage)
        self._batches = Batches(self._files, settings.respond, storage)
        self._signatures = Signatures(settings.seed)
        self._continuations = Continuations()

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

    def no_endpoint(self, request: Received, route: Route | None) -> Answer:
        """Return 404 or 405 as a page."""
        if route is None:
            return refusals.unknown_path(request.path)
        return refusals.unknown_method(request.method, request.path)

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a missing or wrong key (G73)."""
        if "upload_id" in request.query and route.endpoint.endswith(".upload"):
            return  # the URL of an upload is a secret itself: clients send no key with it
        key = request.headers.get("x-goog-api-key") or request.query.get("key") or ""
        if not (request.bearer or key):
            raise refusals.no_key(route.host)
        if route.host == "vertex" and route.parent and not request.bearer:
            raise refusals.key_for_vertex()
        if is_wrong(key):
            raise refusals.bad_key()
        if is_wrong(request.bearer):
            raise refusals.bad_token()

    # --- generation -------------------------------------------------------------------------------

    def read(self, request: Received, route: Route) -> Generation:
        """Read a generateContent or streamGenerateContent request. Raises `Refusal`."""
        model, lenient = self._model(route), self._settings.lenient
        if not lenient:
            self._check(request, route, model)
        body = refusals.decoded(request.body, GenerateContentRequest)
        contents = body.contents or []
        over = overflow(
            "gemini",
            model.name,
            len(request.body),
            lambda: sum(prompt_tokens(contents, body).values()),
        )
        if over is not None:
            raise refusals.rule_refusal("G69", route.host, count=over[0], most=over[1])
        if not lenient:
            turn = steps(body.contents or ())
            refusals.check_signatures(turn, model, route.host, self._signatures)
            self._files.check(body.contents or [])
        with_cache, cached_tokens = self._caches.apply(body, model)
        continues = self._continuations.rest(body) is not None
        return Generation(
            prompt_of(with_cache, model, continues=continues),
            ResponseWriter(
                body,
                model,
                route.host,
                self._signatures,
                cached_tokens,
                functools.cache(lambda: implicitly_cached(body, model, self._prefixes)),
            ),
            streams=route.endpoint == "streamGenerateContent",
            sse=request.query.get("alt") == "sse",
            continuations=self._continuations,
        )

    def _model(self, route: Route) -> Traits:
        """Return the model of a route.

        Raises `Refusal` if it is unknown or lacks the method (G72).
        """
        lenient = self._settings.lenient
        model = traits(route.name, host=route.host, lenient=lenient, date=self._settings.date)
        needs_method = route.endpoint in _NEED_METHOD and not lenient
        if model is None or (needs_method and route.endpoint not in model.methods):
            raise refusals.unknown_model(
                route.name, route.parent, route.host, route.version, route.endpoint
            )
        return model

    def _check(self, request: Received, route: Route, model: Traits) -> None:
        refusals.check_body(
            request.body,
            model.name,
            route,
            warnings_too=self._settings.warnings_too,
            signatures=self._signatures,
        )

    # --- other endpoints --------------------------------------------------------------------------

    def serve(self, request: Received, route: Route) -> Answer:
        """Answer requests for all endpoints that do not generate."""
        return _ENDPOINTS[route.endpoint](self, request, route)

    def _list(self, request: Received, route: Route) -> Answer:
        models = [description(each) for each in listed(self._settings.date)]
        return bodies.whole(page("models", models, request, 50, 1000))

    def _count(self, request: Received, route: Route) -> Answer:
        model = self._model(route)
        if not self._settings.lenient:
            self._check(request, route, model)
        requested = refusals.decoded(request.body, CountTokensRequest)
        # Vertex takes the fields of a whole request beside `contents`.
        whole_request = (
            refusals.decoded(request.body, GenerateContentRequest)
            if route.host == "vertex"
            else None
        )
        inner = requested.generate_content_request
        if inner is not None and requested.contents:
            raise refusals.refusal(
                400,
                "* CountTokensRequest: contents and generate_content_request cannot both be set.\n",
            )
        contents = (inner.contents if inner is not None else requested.contents) or []
        if not contents:
            message = "* CountTokensRequest.contents: contents is not specified\n"
            raise refusals.refusal(400, message, "G4")
        counts = prompt_tokens(contents, inner or whole_request)
        return bodies.whole(
            {"totalTokens": sum(counts.values()), "promptTokensDetails": details(counts)}
        )

    def _create_cache(self, request: Received, route: Route) -> Answer:
        name = refusals.decoded(request.body, CachedContent).model or ""
        model = self._model(replace(route, name=name.rpartition("models/")[2]))
        return self._caches.create(request, model, route.parent)

    def _batch(self, request: Received, route: Route) -> Answer:
        self._model(route)
        return self._batches.create(request, route)

    def _upload_document(self, request: Received, route: Route) -> Answer:
        return self._uploads.receive(
            request, lambda uploaded: self._stores.uploaded(route.name, uploaded)
        )

    # --- responses --------------------------------------------------------------------------------

    def body_answer(self, value: Any, status: int) -> Answer:
        """Return a response with a script's JSON value."""
        return bodies.whole(value, status)

    def error(self, failure: Failure) -> dict[str, Any]:
        """Return the error object, in a stream as elsewhere."""
        return refusals.error(failure)

    def error_answer(self, failure: Failure) -> Answer:
        """Return the error response."""
        return refusals.error_answer(failure)

    def storage_full(self) -> Answer:
        """Return the quota error of stores."""
        return refusals.storage_full()

    def error_event(self, failure: Failure) -> bytes:
        """Encode the error as an event."""
        return bodies.frame(bodies.google_json(refusals.error(failure)))

    def frame(self, data: bytes) -> bytes:
        """Encode one event."""
        return bodies.frame(data)

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Label an error in place of a stream as the stream.

        Its body is plain JSON all the same (recorded).
        """
        wanted_stream = route is not None and route.endpoint == "streamGenerateContent"
        if not wanted_stream or request.query.get("alt") != "sse" or answer.status == 200:
            return answer
        headers = dict(answer.headers) | {"content-type": bodies.EVENTS}
        return replace(answer, headers=tuple(headers.items()))


_NEED_METHOD = frozenset(
    {
        "asyncBatchEmbedContent",
        "batchEmbedContents",
        "batchGenerateContent",
        "embedContent",
        "generateContent",
        "predict",
        "predictLongRunning",
        "streamGenerateContent",
    }
)
_ENDPOINTS: Mapping[str, Callable[[Gemini, Received, Route], Answer]] = {
    "list": Gemini._list,
    "get": lambda own, request, route: bodies.whole(description(own._model(route))),
    "countTokens": Gemini._count,
    "embedContent": lambda own, request, route: embed(request, own._model(route)),
    "batchEmbedContents": lambda own, request, route: embed_batch(
        request, own._model(route), lenient=own._settings.lenient
    ),
    "batchGenerateContent": Gemini._batch,
    "asyncBatchEmbedContent": Gemini._batch,
    "batches.get": lambda own, request, route: own._batches.get(route.name),
    "batches.list": lambda own, request, route: own._batches.listed(request),
    "batches.cancel": lambda own, request, route: own._batches.cancel(route.name),
    "batches.delete": lambda own, request, route: own._batches.delete(route.name),
    "batches.update": lambda own, request, route: own._batches.update(route.name, request),
    "predict": lambda own, request, route: predict(request, own._model(route)),
    "predictLongRunning": lambda own, request, route: predict_long_running(
        request, own._model(route), own._operations, own._files
    ),
    "computeTokens": lambda own, request, route: compute_tokens(request),
    "operations.get": lambda own, request, route: own._operations.get(
        request.path.partition(f"/{route.version}/")[2]
    ),
    "fileSearchStores.create": lambda own, request, route: own._stores.create(request),
    "fileSearchStores.get": lambda own, request, route: own._stores.get(route.name),
    "fileSearchStores.list": lambda own, request, route: own._stores.listed(request),
    "fileSearchStores.delete": lambda own, request, route: own._stores.delete(route.name, request),
    "fileSearchStores.upload": Gemini._upload_document,
    "fileSearchStores.importFile": lambda own, request, route: own._stores.import_file(
        route.name, request
    ),
    "documents.get": lambda own, request, route: own._stores.document(route.name),
    "documents.list": lambda own, request, route: own._stores.documents(route.name, request),
    "documents.delete": lambda own, request, route: own._stores.delete_document(
        route.name, request
    ),
    "files.upload": lambda own, request, route: own._uploads.receive(request, own._files.store),
    "files.register": lambda own, request, route: own._files.register(request),
    "files.download": lambda own, request, route: own._files.download(route.name),
    "files.redirect": lambda own, request, route: own._files.redirect(request, route.name),
    "files.create": lambda own, request, route: own._files.create(request),
    "files.get": lambda own, request, route: own._files.get(route.name),
    "files.delete": lambda own, request, route: own._files.delete(route.name),
    "files.list": lambda own, request, route: own._files.listed(request),
    "cachedContents.create": Gemini._create_cache,
    "cachedContents.get": lambda own, request, route: own._caches.get(route.name),
    "cachedContents.patch": lambda own, request, route: own._caches.patch(route.name, request),
    "cachedContents.delete": lambda own, request, route: own._caches.delete(route.name),
    "cachedContents.list": lambda own, request, route: own._caches.listed(request),
}
