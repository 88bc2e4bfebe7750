"""Errors: bodies of responses, and exceptions in streams."""

from __future__ import annotations

from typing import Annotated

from wire.converse.types.base import ConverseStruct
from wire.core.facts import TRAFFIC, Facts


class ErrorObject(ConverseStruct, frozen=True, kw_only=True):
    """An error. Its type stands in a header: of the response, or of the frame."""

    message: str | None = None
    original_status_code: int | None = None
    """Of a ModelErrorException: the status with which the model failed."""
    original_message: str | None = None
    """Of a ModelStreamErrorException: the words of the model."""
    resource_name: str | None = None
    type: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Such as `ThrottlingException`, which the header says."""
    code: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Of a frame of the type `error`."""
