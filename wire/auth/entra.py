"""Where Azure's own clients look for credentials, in their order (azure-identity 1.27,
_credentials/default.py): the environment, a workload identity, a managed identity.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from wire.auth.credential import (
    Absent,
    Chain,
    Credential,
    Exchange,
    Fetch,
    Fetched,
    Place,
    checked_text,
    fields_of,
    kept_secret,
    token_of,
)
from wire.auth.files import checked_url, read, read_token
from wire.core.errors import ConfigurationError, WireError
from wire.core.secret import Secret

_SCOPE = "https://cognitiveservices.azure.com/.default"
"""The scope where the host names none."""
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
Form = Mapping[str, str | Secret]
_METADATA = "http://169.254.169.254"


class EntraSecret(Credential, frozen=True):
    """An application of Entra with a client secret."""

    tenant: str
    """Id of the tenant."""
    client: str
    """Id of the application."""
    secret: str | Secret
    """The client secret."""
    scope: str = ""
    """By default, that of the host."""

    name = "client-secret"

    def __post_init__(self) -> None:
        kept_secret(self, "secret")
        _checked(self)

    def _exchange(self, place: Place) -> Exchange:
        """Ask Entra for a token."""
        assert isinstance(self.secret, Secret)
        form = {"client_secret": self.secret}
        return (yield from _token(self.tenant, self.client, self.scope, form, place))


class EntraCertificate(Credential, frozen=True):
    """An application of Entra with a certificate, in one PEM file with its private key.

    It needs the extra `cloud`.
    """

    tenant: str
    """Id of the tenant."""
    client: str
    """Id of the application."""
    path: str
    """The PEM file."""
    password: str | Secret | None = None
    """That of the private key, if it is encrypted."""
    scope: str = ""
    """By default, that of the host."""

    name = "client-certificate"

    def __post_init__(self) -> None:
        kept_secret(self, "password", optional=True)
        _checked(self)
        checked_text(self, "path", needed=True)

    def _exchange(self, place: Place) -> Exchange:
        """Sign an assertion, and ask Entra for a token."""
        from wire.auth.jwt import private_key, signed_token, thumbprint

        try:
            data = read(os.path.expanduser(self.path), "the certificate", is_secret=True)
        except FileNotFoundError:
            raise ConfigurationError(f"credentials: {self.path} does not exist") from None
        pem = Secret.unchecked(data.decode("latin-1"))
        header = {"x5t#S256": thumbprint(data, self.path)}
        del data
        password = self.password if isinstance(self.password, Secret) else None
        key = private_key(pem, self.path, password)
        now = int(time.time())
        claims = {
            "aud": _endpoint(self.tenant),
            "iss": self.client,
            "sub": self.client,
            "jti": str(uuid.uuid4()),
            "iat": now,
            "nbf": now,
            "exp": now + 600,
        }
        assertion = signed_token(key, header, claims, "PS256")
        form: Form = {"client_assertion_type": _ASSERTION, "client_assertion": assertion}
        return (yield from _token(self.tenant, self.client, self.scope, form, place))


class EntraEnvironment(Credential, frozen=True):
    """`AZURE_TENANT_ID`, `AZURE_CLIENT_ID`, and `AZURE_CLIENT_SECRET` or
    `AZURE_CLIENT_CERTIFICATE_PATH`.
    """

    name = "environment"

    def _exchange(self, place: Place) -> Exchange:
        """Read the variables, and ask Entra for a token."""
        secret = Secret.unchecked(os.environ.get("AZURE_CLIENT_SECRET", "").strip())
        path = os.environ.get("AZURE_CLIENT_CERTIFICATE_PATH", "").strip()
        if not secret.reveal() and not path:
            raise Absent("neither AZURE_CLIENT_SECRET nor AZURE_CLIENT_CERTIFICATE_PATH is set")
        tenant, client = _tenant(), _client()
        given = "AZURE_CLIENT_SECRET" if secret.reveal() else "AZURE_CLIENT_CERTIFICATE_PATH"
        _need_all(given, {"AZURE_TENANT_ID": tenant, "AZURE_CLIENT_ID": client}, place)
        if secret.reveal():
            return (yield from EntraSecret(tenant, client, secret)._exchange(place))
        password = Secret.unchecked(os.environ.get("AZURE_CLIENT_CERTIFICATE_PASSWORD", ""))
        hidden = password if password.reveal() else None
        return (yield from EntraCertificate(tenant, client, path, hidden)._exchange(place))


class EntraWorkload(Credential, frozen=True):
    """A workload identity: a token in a file, as AKS mounts it, is exchanged for one of Entra."""

    tenant: str = ""
    """By default, `AZURE_TENANT_ID`."""
    client: str = ""
    """By default, `AZURE_CLIENT_ID`."""
    token_file: str = ""
    """By default, `AZURE_FEDERATED_TOKEN_FILE`."""
    scope: str = ""
    """By default, that of the host."""

    name = "workload-identity"

    def __post_init__(self) -> None:
        for field in ("tenant", "client", "token_file", "scope"):
            checked_text(self, field)

    def _exchange(self, place: Place) -> Exchange:
        """Read the token, and exchange it."""
        file = self.token_file or os.environ.get("AZURE_FEDERATED_TOKEN_FILE", "").strip()
        if not file:
            raise Absent("AZURE_FEDERATED_TOKEN_FILE is not set")
        tenant, client = self.tenant or _tenant(), self.client or _client()
        needed = {"AZURE_TENANT_ID": tenant, "AZURE_CLIENT_ID": client}
        _need_all("AZURE_FEDERATED_TOKEN_FILE", needed, place)
        token = read_token(file, "the token file")
        form: Form = {"client_assertion_type": _ASSERTION, "client_assertion": token}
        return (yield from _token(tenant, client, self.scope, form, place))


class EntraManagedIdentity(Credential, frozen=True):
    """The managed identity of an app of App Service, or of a virtual machine."""

    client: str = ""
    """Id of a user-assigned identity. By default, `AZURE_CLIENT_ID`, or the system's identity."""
    scope: str = ""
    """By default, that of the host."""

    name = "managed-identity"

    def __post_init__(self) -> None:
        checked_text(self, "client")
        checked_text(self, "scope")

    def _exchange(self, place: Place) -> Exchange:
        """Ask the server of identities of the app, or of the machine."""
        resource = (self.scope or place.service or _SCOPE).removesuffix("/.default")
        query = {"api-version": "2018-02-01", "resource": resource}
        if client := self.client or _client():
            query["client_id"] = client
        app = os.environ.get("IDENTITY_ENDPOINT", "").strip()
        header = Secret.unchecked(os.environ.get("IDENTITY_HEADER", "").strip())
        if bool(app) != bool(header.reveal()):
            given, missing = ("ENDPOINT", "HEADER") if app else ("HEADER", "ENDPOINT")
            problem = f"IDENTITY_{given} is set, and IDENTITY_{missing} is not"
            raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
        if app:
            checked_url(app, "IDENTITY_ENDPOINT", may_be_plain=True)
            what, query["api-version"] = "the identity of App Service", "2019-08-01"
            headers = {"x-identity-header": header}
            reply: Fetched = yield Fetch(what, "GET", f"{app}?{urlencode(query)}", headers)
            return token_of(fields_of(reply, what), what, time.time())
        base = os.environ.get("AZURE_POD_IDENTITY_AUTHORITY_HOST", "").rstrip("/") or _METADATA
        what = "the metadata server of Azure"
        url = f"{base}/metadata/identity/oauth2/token?{urlencode(query)}"
        try:
            reply = yield Fetch(what, "GET", url, {"metadata": "true"}, seconds=2.0)
        except WireError:
            raise Absent(f"{base.partition('://')[2]} does not answer") from None
        if reply.status == 400 and b"dentity not found" in reply.body:
            raise Absent("the machine has no managed identity")
        return token_of(fields_of(reply, what), what, time.time())


def entra_chain() -> Chain:
    """Return the chain of Azure's own clients, but for those of developers."""
    return Chain(
        "Entra",
        (EntraEnvironment(), EntraWorkload(), EntraManagedIdentity()),
        "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or give token= or "
        "credentials=",
    )


def _checked(owner: Any) -> None:
    for field in ("tenant", "client"):
        checked_text(owner, field, needed=True)
    checked_text(owner, "scope")


def _tenant() -> str:
    return os.environ.get("AZURE_TENANT_ID", "").strip()


def _client() -> str:
    return os.environ.get("AZURE_CLIENT_ID", "").strip()


def _need_all(given: str, needed: Mapping[str, str], place: Place) -> None:
    missing = [name for name, value in needed.items() if not value]
    if missing:
        problem = f"{given} is set, and {' and '.join(missing)} is not: set all of them"
        raise ConfigurationError(f"credentials: {problem}", provider=place.provider)


def _endpoint(tenant: str) -> str:
    host = os.environ.get("AZURE_AUTHORITY_HOST", "").strip().rstrip("/")
    host = host or "login.microsoftonline.com"
    base = host if "://" in host else f"https://{host}"
    checked_url(base, "AZURE_AUTHORITY_HOST")
    return f"{base}/{tenant}/oauth2/v2.0/token"


def _token(tenant: str, client: str, scope: str, form: Form, place: Place) -> Exchange:
    """Ask Entra for a token."""
    secrets = tuple(each for each in form.values() if isinstance(each, Secret))
    fields = {
        "grant_type": "client_credentials",
        "client_id": client,
        "scope": scope or place.service or _SCOPE,
        **{key: each.reveal() if isinstance(each, Secret) else each for key, each in form.items()},
    }
    body, what = urlencode(fields).encode(), "the token endpoint of Entra"
    del fields
    headers = {"content-type": "application/x-www-form-urlencoded"}
    reply = yield Fetch(what, "POST", _endpoint(tenant), headers, body, secrets)
    return token_of(fields_of(reply, what), what, time.time())
