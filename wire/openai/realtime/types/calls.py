"""Client secrets, and what starts a call over WebRTC or SIP: the HTTP side of Realtime."""

from __future__ import annotations

from typing import Any

from wire.core.credentials import SHOWN
from wire.openai.common.types.base import OpenAIRequestStruct, OpenAIStruct
from wire.openai.realtime.types.session import Session


class ExpiresAfter(OpenAIRequestStruct, frozen=True, kw_only=True):
    """When a client secret ends."""

    anchor: str | None = None
    """`created_at`."""
    seconds: int | None = None
    """10 to 7200; by default 600."""


class ClientSecretRequest(OpenAIRequestStruct, frozen=True, kw_only=True):
    """A secret for a browser or a phone, which opens sessions with these settings."""

    expires_after: ExpiresAfter | None = None
    session: Session | None = None


class ClientSecret(OpenAIStruct, frozen=True, kw_only=True):
    """The secret, which opens sessions until it ends."""

    value: str | None = None
    """`ek_...`; a client sends it as its key."""
    expires_at: int | None = None
    """Unix time."""
    session: Session | None = None
    """The settings, with all defaults."""

    def _hidden(self) -> dict[str, Any]:
        return {} if self.value is None else {"value": SHOWN}


class Referral(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Where a call over SIP is transferred to."""

    target_uri: str | None = None
    """Such as `tel:+14155550123` or `sip:agent@example.com`."""


class Rejection(OpenAIRequestStruct, frozen=True, kw_only=True):
    """How a call over SIP is declined."""

    status_code: int | None = None
    """Status of SIP; by default 603, which declines."""
