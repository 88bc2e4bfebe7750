"""Workload identity at Anthropic and at OpenAI: a token of another issuer is exchanged for one of
theirs (anthropic 2.14.0, lib/credentials/_workload.py; openai 3.57.0, auth/_workload.py; both read
on 2026-11-29).
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from wire.auth.callback import secret_of
from wire.auth.credential import (
    Absent,
    Bearer,
    Chain,
    Credential,
    Exchange,
    Fetch,
    Place,
    Work,
    checked_text,
    fields_of,
    token_of,
)
from wire.auth.files import checked_url, read_token
from wire.core.errors import ConfigurationError
from wire.core.secret import Secret, TokenSource

_MOST_BYTES = 16 * 1024
"""Bytes of a token of another issuer: a larger one is none (anthropic, _workload.py)."""
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_KINDS = ("jwt", "id_token")
Source = Callable[[], str | Awaitable[str]] | TokenSource | None


class AnthropicIdentity(Credential, frozen=True):
    """A workload identity at Anthropic.

    What is not given is read from `ANTHROPIC_FEDERATION_RULE_ID`, `ANTHROPIC_ORGANIZATION_ID`,
    `ANTHROPIC_SERVICE_ACCOUNT_ID`, `ANTHROPIC_WORKSPACE_ID`, and `ANTHROPIC_IDENTITY_TOKEN_FILE` or
    `ANTHROPIC_IDENTITY_TOKEN`.
    """

    rule: str = ""
    """Id of the federation rule."""
    organization: str = ""
    """Id of the organization."""
    account: str = ""
    """Id of the service account; not required."""
    workspace: str = ""
    """Id of the workspace of the token; not required."""
    token_file: str = ""
    """The file with the token of the other issuer."""
    token: Source = None
    """A function that returns that token, in place of a file."""

    name = "identity"
    before = 120.0

    def __post_init__(self) -> None:
        for field in ("rule", "organization", "account", "workspace", "token_file"):
            checked_text(self, field)
        _keep_source(self)

    @property
    def is_async(self) -> bool:
        """Whether `token` is an async function."""
        return isinstance(self.token, TokenSource) and self.token.is_async

    def _exchange(self, place: Place) -> Exchange:
        """Exchange the token of the other issuer."""
        file = self.token_file or os.environ.get("ANTHROPIC_IDENTITY_TOKEN_FILE", "").strip()
        literal = Secret.unchecked(os.environ.get("ANTHROPIC_IDENTITY_TOKEN", "").strip())
        rule = self.rule or os.environ.get("ANTHROPIC_FEDERATION_RULE_ID", "").strip()
        owner = self.organization or os.environ.get("ANTHROPIC_ORGANIZATION_ID", "").strip()
        has_token = bool(file or literal.reveal() or self.token is not None)
        given = {
            "ANTHROPIC_FEDERATION_RULE_ID": bool(rule),
            "ANTHROPIC_ORGANIZATION_ID": bool(owner),
            "ANTHROPIC_IDENTITY_TOKEN_FILE": has_token,
        }
        missing = [name for name, is_given in given.items() if not is_given]
        if not rule and not has_token:
            raise Absent(f"{' and '.join(missing)} are not set")
        if missing:
            problem = f"{' and '.join(missing)} is missing: a workload identity needs all three"
            raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
        subject = yield from _subject(self.token, file, literal, place)
        fields = {
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": subject.reveal(),
            "federation_rule_id": rule,
            "organization_id": owner,
        }
        account = self.account or os.environ.get("ANTHROPIC_SERVICE_ACCOUNT_ID", "").strip()
        workspace = self.workspace or os.environ.get("ANTHROPIC_WORKSPACE_ID", "").strip()
        fields |= {"service_account_id": account} if account else {}
        fields |= {"workspace_id": workspace} if workspace else {}
        body = msgspec.json.encode(fields)
        del fields
        # A token of one deployment is good for that one only.
        url, what = f"{place.base_url}/v1/oauth/token", "the token endpoint of Anthropic"
        headers = {
            "content-type": "application/json",
            "anthropic-beta": "oauth-2025-04-20,oidc-federation-2026-04-01",
        }
        reply = yield Fetch(what, "POST", url, headers, body, (subject,))
        bearer = token_of(fields_of(reply, what), what, time.time())
        return msgspec.structs.replace(bearer, headers={"anthropic-beta": "oauth-2025-04-20"})


class OpenAIIdentity(Credential, frozen=True):
    """A workload identity at OpenAI."""

    provider: str
    """Id of the identity provider."""
    account: str
    """Id of the service account."""
    token_file: str = ""
    """The file with the token of the other issuer."""
    token: Source = None
    """A function that returns that token, in place of a file."""
    kind: str = "jwt"
    """`jwt`, or `id_token` for an id token of OpenID Connect."""
    url: str = "https://auth.openai.com/oauth/token"
    """Where it is exchanged."""

    name = "identity"
    before = 1200.0

    def __post_init__(self) -> None:
        for field in ("provider", "account"):
            checked_text(self, field, needed=True)
        for field in ("token_file", "kind", "url"):
            checked_text(self, field)
        _keep_source(self)
        if self.kind not in _KINDS:
            raise ConfigurationError(f"OpenAIIdentity.kind: expected one of {', '.join(_KINDS)}")
        if not self.token_file and self.token is None:
            raise ConfigurationError("OpenAIIdentity: it needs token_file= or token=")
        checked_url(self.url, "OpenAIIdentity.url")

    @property
    def is_async(self) -> bool:
        """Whether `token` is an async function."""
        return isinstance(self.token, TokenSource) and self.token.is_async

    def _exchange(self, place: Place) -> Exchange:
        """Exchange the token of the other issuer."""
        subject = yield from _subject(self.token, self.token_file, Secret.unchecked(""), place)
        body = msgspec.json.encode(
            {
                "grant_type": _EXCHANGE,
                "subject_token": subject.reveal(),
                "subject_token_type": f"urn:ietf:params:oauth:token-type:{self.kind}",
                "identity_provider_id": self.provider,
                "service_account_id": self.account,
            }
        )
        what, headers = "the token endpoint of OpenAI", {"content-type": "application/json"}
        reply = yield Fetch(what, "POST", self.url, headers, body, (subject,), 10.0)
        return token_of(fields_of(reply, what), what, time.time())


class AnthropicToken(Credential, frozen=True):
    """The bearer token in `ANTHROPIC_AUTH_TOKEN`."""

    name = "environment"

    def _exchange(self, place: Place) -> Exchange:
        """Read the variable."""
        token = Secret.unchecked(os.environ.get("ANTHROPIC_AUTH_TOKEN", "").strip())
        if not token.reveal():
            raise Absent("ANTHROPIC_AUTH_TOKEN is not set")
        return Bearer(token)
        yield


def anthropic_chain() -> Chain:
    """Return what Anthropic's own client looks for, but for its profiles."""
    return Chain(
        "Anthropic",
        (AnthropicToken(), AnthropicIdentity()),
        "set ANTHROPIC_FEDERATION_RULE_ID, ANTHROPIC_ORGANIZATION_ID and "
        "ANTHROPIC_IDENTITY_TOKEN_FILE, or give credentials=",
    )


def _keep_source(owner: Any) -> None:
    """Hide the function of a token, as `Callback` does."""
    source = owner.token
    if source is not None and not isinstance(source, TokenSource):
        hidden = TokenSource(source)
        msgspec.structs.force_setattr(owner, "token", hidden)
        if not callable(source):
            raise ConfigurationError(f"{type(owner).__name__}.token: expected a function")


def _subject(source: Source, file: str, literal: Secret, place: Place) -> Any:
    """Return the token of the other issuer."""
    if source is not None:
        subject = secret_of((yield Work(source)), place)
    elif file:
        subject = read_token(file, "the token file")
    else:
        subject = literal
    if len(subject.reveal()) > _MOST_BYTES:
        problem = f"the token of the other issuer has more than {_MOST_BYTES:,} bytes: it is none"
        raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
    return subject
