"""Whole bodies that are one struct, as all families of OpenAI's endpoints send them."""

from __future__ import annotations

from typing import TypeVar

from wire.core import reading
from wire.core.memory import WireStruct
from wire.openai.common.error_body import ERRORS

W = TypeVar("W", bound=WireStruct)


def parse_plain(kind: type[W], body: bytes) -> W:
    """Parse a whole body that is one struct.

    Raises the provider's error if the body is one, `StreamInvalid` if it is not a JSON object.
    """
    bare = body.strip()
    if bare[:1] == b"[" and "data" in kind.__struct_fields__ and ERRORS.in_success(bare) is None:
        # Together and others send a list of models without the object around it.
        body = b'{"data":' + bare + b"}"
    return reading.parse_plain(kind, body, ERRORS, _is_response, may_be_empty=True)


def _is_response(response: WireStruct) -> bool:
    keys = "data", "id", "input_tokens", "answers"
    return any(getattr(response, key, None) is not None for key in keys)
