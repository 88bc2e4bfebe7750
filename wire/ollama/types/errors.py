"""Errors: bodies of responses, and lines of streams."""

from __future__ import annotations

from wire.ollama.types.base import OllamaStruct


class ErrorObject(OllamaStruct, frozen=True, kw_only=True):
    """An error: the text under `error`, and the keys beside it."""

    message: str | None = None
    """The text of the key `error`."""
    signin_url: str | None = None
    """Of a 401: the page on which the server is connected with an account."""
    status: int | str | None = None
    """In a line of a stream, now and then."""


class ErrorBody(OllamaStruct, frozen=True, kw_only=True):
    """The body of a response with an error status, or a line of a stream."""

    error: str | None = None
    signin_url: str | None = None
    status: int | str | None = None
    """In a line of a stream, now and then."""
