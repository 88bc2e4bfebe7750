"""Error bodies of Ollama as typed errors.

The body is `{"error": "text"}`, and so is the line of a stream. The codes are coarse: the text
tells more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from wire.core.arguments import checked_arguments
from wire.core.error_words import TOO_LONG, ErrorReader, Words
from wire.core.errors import (
    APIError,
    AuthenticationError,
    BadRequestError,
    ContextLengthError,
    NotFoundError,
)
from wire.core.lazy import lazy_pattern
from wire.ollama.types import ErrorObject

_LONG = lazy_pattern(r"input length exceeds the context length", re.IGNORECASE)
_MISSING = lazy_pattern(r"^model ['\"].*['\"] not found|file does not exist", re.IGNORECASE)
_IMAGE = lazy_pattern(r"failed to process inputs: image|image: unknown format", re.IGNORECASE)
_UNABLE = lazy_pattern(r"does not support (thinking|tools|chat|generate|insert|embeddings)")
_SIGN_IN = lazy_pattern(r"^unauthorized\b", re.IGNORECASE)
_PULL = lazy_pattern(r"^model ['\"](?P<model>[^'\"]+)['\"] not found", re.IGNORECASE)


class _Errors(ErrorReader[ErrorObject]):
    kind = ErrorObject
    flat_keys: ClassVar[tuple[str, ...]] = ("message",)
    beside_keys: ClassVar[tuple[str, ...]] = ("code", "status", "signin_url")
    type_keys: ClassVar[tuple[str, ...]] = ()
    classes: ClassVar[tuple[Words, ...]] = (
        Words(ContextLengthError, _LONG),
        Words(NotFoundError, _MISSING, frozenset({400, 404, 500})),
        Words(BadRequestError, _IMAGE, frozenset({400, 500})),
        Words(BadRequestError, _UNABLE, frozenset({400, 500})),
        Words(AuthenticationError, _SIGN_IN, frozenset({401})),
        TOO_LONG,
    )

    def code(self, error: ErrorObject) -> str | None:
        """Return `None`: errors have a text alone."""
        return None

    def message(self, error: ErrorObject) -> str:
        """Return the text, with the page for signing in, and the command that gets the model."""
        told = super().message(error)
        found = _PULL().search(told)
        if found is not None and "pulling" not in told:
            told = f"{told}; `ollama pull {found['model']}` gets it"
        return f"{told}; sign in at {error.signin_url}" if error.signin_url else told


ERRORS = _Errors()


@checked_arguments()
def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> APIError:
    """Build the typed error of a response with an error status.

    Its `details` has one `ErrorObject`.

    >>> error = parse_error(404, {}, b'{"error":"model \\'qwen3\\' not found"}')
    >>> type(error).__name__, error.message
    ('NotFoundError', "model 'qwen3' not found; `ollama pull qwen3` gets it")
    """
    return ERRORS.parse(status, body)


@checked_arguments()
def render_error(status: int, message: str, code: str = "") -> dict[str, Any]:
    """Return the error object that a client gets, as a body or as a line of a stream.

    >>> render_error(503, "server busy")
    {'error': 'server busy'}
    """
    return {"error": message}
