"""Gemini's endpoints as values: each function returns what to send and how to read the answer, and sends nothing.

Paths are relative to the version (`/v1beta`, or Vertex's project path), which the client knows. Source of paths and
bodies: Generative Language REST reference, v1beta, 2026-08-22.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from wire.bodies import checked_body, wrong_type
from wire.call import Call, StreamCall
from wire.errors import ConfigurationError, RuleError, Violation
from wire.gemini.fold import fold
from wire.gemini.parse import ChunkReader, parse_answer, parse_error, parse_plain
from wire.gemini.rules import check
from wire.gemini.types import (
    Content,
    CountTokensRequest,
    CountTokensResponse,
    GenerateContentRequest,
    GenerateContentResponse,
    ListModelsResponse,
    Model,
    Part,
)
from wire.memory import RAW, WireStruct

T = TypeVar("T", bound=WireStruct)

JSON = {"content-type": "application/json"}

_SEGMENT = re.compile(r"[A-Za-z0-9_.@-]*[A-Za-z0-9_@-][A-Za-z0-9_.@-]*")


def generate_content(model: str, request: GenerateContentRequest) -> Call[GenerateContentResponse]:
    """One request, one whole answer.

    >>> call = generate_content("gemini-3-pro-preview", GenerateContentRequest(contents=[Content(parts=[{"text": "Hi"}])]))
    >>> print(call.preview())
    POST /models/gemini-3-pro-preview:generateContent
    content-type: application/json
    <BLANKLINE>
    {"contents":[{"parts":[{"text":"Hi"}]}]}

    Raises `ConfigurationError` for a model name that no path can hold, `RuleError` for a request that is refused by every
    model, or that JSON cannot say; the error names the JSON path.
    """
    return Call(
        "gemini",
        "POST",
        f"/{resource(model)}:generateContent",
        _generate_body(request),
        headers=JSON,
        parse=parse_answer,
        read_error=parse_error,
    )


def stream_generate_content(model: str, request: GenerateContentRequest) -> StreamCall[GenerateContentResponse, GenerateContentResponse]:
    """One request, the answer as server-sent events; `reply()` of its stream is what `generate_content` would have given.

    Raises as `generate_content`.
    """
    return StreamCall(
        "gemini",
        "POST",
        f"/{resource(model)}:streamGenerateContent",
        _generate_body(request),
        query={"alt": "sse"},
        headers=JSON,
        reader=ChunkReader,
        fold=fold,
        read_error=parse_error,
    )


def count_tokens(model: str, request: CountTokensRequest | GenerateContentRequest | Sequence[Content]) -> Call[CountTokensResponse]:
    """How many tokens the input is; given a whole request, system instruction and tools are counted with it.

    Raises as `generate_content`.
    """
    name = resource(model)
    if isinstance(request, GenerateContentRequest):
        request = CountTokensRequest(generate_content_request=msgspec.structs.replace(request, model=name))
    elif isinstance(request, (list, tuple)):
        request = CountTokensRequest(contents=list(request))
    if not isinstance(request, CountTokensRequest):
        raise wrong_type("request", request, "CountTokensRequest, a GenerateContentRequest or a list of Contents")
    return Call(
        "gemini",
        "POST",
        f"/{name}:countTokens",
        _body(request)[0],
        headers=JSON,
        parse=functools.partial(parse_plain, CountTokensResponse),
        read_error=parse_error,
    )


def list_models(page_size: int | None = None, page_token: str | None = None) -> Call[ListModelsResponse]:
    """One page of the models; `next_page_token` of the answer asks for the next one.

    >>> list_models(50).target
    '/models?pageSize=50'
    """
    if not isinstance(page_size, int | None) or not isinstance(page_token, str | None):
        raise RuleError(violations=[Violation("pageSize", "a number and a text are wanted", "G1")])
    query = {"pageSize": None if page_size is None else str(page_size), "pageToken": page_token}
    return Call(
        "gemini",
        "GET",
        "/models",
        query={name: value for name, value in query.items() if value is not None},
        parse=functools.partial(parse_plain, ListModelsResponse),
        read_error=parse_error,
    )


def get_model(model: str) -> Call[Model]:
    """What a model is and can take. Raises `ConfigurationError` for a name that no path can hold."""
    path = f"/{resource(model)}"
    return Call("gemini", "GET", path, parse=functools.partial(parse_plain, Model), read_error=parse_error)


def resource(model: str) -> str:
    """`models/X` for `X` and `models/X`; `tunedModels/X` and other full names as they are (S2-19).

    >>> resource("gemini-3-pro-preview"), resource("tunedModels/mine")
    ('models/gemini-3-pro-preview', 'tunedModels/mine')
    """
    if not isinstance(model, str) or not model.strip():
        raise ConfigurationError("model: a name is wanted, such as gemini-3-pro-preview")
    name = model if "/" in model else f"models/{model}"
    if not all(map(_SEGMENT.fullmatch, name.split("/"))):
        raise ConfigurationError(f"model: {model!r} is no model name; letters, digits, dots, dashes and underscores make one")
    return name


# --- bodies ---------------------------------------------------------------------------------------------------------


def _generate_body(request: GenerateContentRequest) -> bytes:
    if not isinstance(request, GenerateContentRequest):
        raise wrong_type("request", request, "GenerateContentRequest")
    body, checked = _body(request)
    violations = check(checked)
    if violations:
        raise RuleError(violations=violations)
    return body


def _body(request: T) -> tuple[bytes, T]:
    return checked_body(request, "contents" if hasattr(request, "contents") else "", _is_sound, _recognised)


def _recognised(turn: object, read: Content) -> Content:
    """A Content as it was read back, with the parts of it that came from the wire: of those, reading back sees only what we know."""
    own = turn.parts if isinstance(turn, Content) and isinstance(turn.parts, (list, tuple)) else ()
    parts = [part if RAW in getattr(part, "__dict__", ()) else other for part, other in zip(own, read.parts or (), strict=False)]
    return msgspec.structs.replace(read, parts=parts) if parts else read


def _is_sound(turn: object) -> bool:
    if type(turn) is not Content:
        return False
    if RAW in turn.__dict__:
        return True
    return type(turn.role) is str and isinstance(turn.parts, (list, tuple)) and all(map(_is_sound_part, turn.parts))


def _is_sound_part(part: object) -> bool:
    return type(part) is Part and (RAW in part.__dict__ or (type(part.text) is str and part == Part(text=part.text)))
