"""The messages of OpenAI's Realtime as structs, with the fields that other hosts add.

Sources: the types of openai-python 3.57.0 of November 2026, called the reference here; recorded
conversations of OpenAI, Azure and xAI.

Rules of this folder:

- snake_case, as on the wire. One open struct for each concept instead of one for each type: an
  unknown type of event or item is not an error.
- Fields are keyword-only and optional: `None` is not sent; `0`, `False`, `""`, `[]` and an empty
  struct (`{}`) are sent. `null` is decoded as `None`. Where `null` switches something off, absent
  is `msgspec.UNSET`, and `None` is sent.
- Enums are text, so that unknown values can be read; docstrings list the known values.
- base64 is text and is not decoded.
- The hosts and the source of a field that is not the reference's are in the `Facts` of its
  annotation, and nowhere else; docs/fields.md lists them.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.openai.realtime.types.calls": """
        ClientSecret ClientSecretRequest ExpiresAfter Referral Rejection
    """,
    "wire.openai.realtime.types.events": "ClientEvent Conversation ErrorDetails ServerEvent",
    "wire.openai.realtime.types.items": """
        Part Item LogProb RateLimit Response ResponseOptions StatusDetails TokenDetails
        Usage
    """,
    "wire.openai.realtime.types.session": """
        Audio AudioFormat AudioInput AudioOutput FunctionTool NoiseReduction Reasoning Resumption
        Session TokenLimits Tool Tracing Transcription Truncation TurnDetection Voice
    """,
}

__getattr__, __dir__ = lazy_names("wire.openai.realtime.types", _NAMES)
