"""Where Google's own clients look for credentials, in their order (google-auth 2.4x, _default.py):
the file of a variable, the file of gcloud, the metadata server.
"""

from __future__ import annotations

import base64
import datetime
import os
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from wire.auth.credential import (
    Absent,
    Bearer,
    Chain,
    Credential,
    Exchange,
    Fetch,
    Fetched,
    Place,
    checked_text,
    fields_of,
    token_of,
)
from wire.auth.files import checked_url, home, read_json, read_token, text_of
from wire.core.errors import ConfigurationError, WireError
from wire.core.secret import Secret

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TOKENS = "https://oauth2.googleapis.com/token"
_FORM: Mapping[str, str | Secret] = {"content-type": "application/x-www-form-urlencoded"}
_LIFETIME = 3600
Fields = Mapping[str, Any]


class _GoogleSource(Credential, frozen=True):
    before = 225.0


class GoogleFile(_GoogleSource, frozen=True):
    """A file of credentials of Google: a service account, a user of gcloud, a workload identity
    (`external_account`) or the impersonation of a service account.
    """

    path: str = ""
    """By default, that of `GOOGLE_APPLICATION_CREDENTIALS`."""
    scope: str = SCOPE
    """What the token is for; several with spaces between them."""

    name = "file"

    def __post_init__(self) -> None:
        checked_text(self, "path")
        checked_text(self, "scope", needed=True)

    def _exchange(self, place: Place) -> Exchange:
        """Read the file, and get a token with it."""
        path = self.path or os.environ.get("GOOGLE_APPLICATION_CREDENTIALS", "")
        if not path:
            raise Absent("GOOGLE_APPLICATION_CREDENTIALS is not set")
        try:
            fields = read_json(os.path.expanduser(path), "the file", is_secret=True)
        except FileNotFoundError:
            source = "" if self.path else "GOOGLE_APPLICATION_CREDENTIALS: "
            raise ConfigurationError(
                f"credentials: {source}{path} does not exist", provider=place.provider
            ) from None
        return (yield from _of_fields(fields, path, self.scope))


class GoogleGcloud(_GoogleSource, frozen=True):
    """The credentials that `gcloud auth application-default login` has stored."""

    scope: str = SCOPE
    """What the token is for."""

    name = "gcloud"

    def __post_init__(self) -> None:
        checked_text(self, "scope", needed=True)

    def _exchange(self, place: Place) -> Exchange:
        """Read the file of gcloud, and get a token with it."""
        folder = os.environ.get("CLOUDSDK_CONFIG", "") or _gcloud_folder()
        path = os.path.join(folder, "application_default_credentials.json")
        try:
            fields = read_json(path, "the file", is_secret=True)
        except FileNotFoundError:
            raise Absent(f"{path} does not exist") from None
        return (yield from _of_fields(fields, path, self.scope))


class GoogleMetadata(_GoogleSource, frozen=True):
    """The service account of an instance, a pod or a function, from the metadata server."""

    account: str = "default"
    """Its e-mail address, or `default`."""
    scope: str = SCOPE
    """What the token is for."""

    name = "metadata"

    def __post_init__(self) -> None:
        checked_text(self, "account", needed=True)
        checked_text(self, "scope", needed=True)

    def _exchange(self, place: Place) -> Exchange:
        """Ask the metadata server."""
        if os.environ.get("NO_GCE_CHECK", "").lower() == "true":
            raise Absent("NO_GCE_CHECK is true")
        host = os.environ.get("GCE_METADATA_HOST", "") or "metadata.google.internal"
        base = f"http://{host}/computeMetadata/v1/instance/service-accounts/{self.account}"
        query = urlencode({"scopes": self.scope.replace(" ", ",")})
        what, headers = "the metadata server of Google", {"metadata-flavor": "Google"}
        try:
            url = f"{base}/token?{query}"
            reply: Fetched = yield Fetch(what, "GET", url, headers, seconds=3.0)
        except WireError:
            raise Absent(f"{host} does not answer") from None
        if reply.headers.get("metadata-flavor") != "Google":
            raise Absent(f"{host} is not the metadata server of Google")
        return token_of(fields_of(reply, what), what, time.time())


def google_chain() -> Chain:
    """Return the chain of Google's own clients, their Application Default Credentials."""
    return Chain(
        "Google",
        (GoogleFile(), GoogleGcloud(), GoogleMetadata()),
        "set GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or give "
        "token= or credentials=",
    )


def _gcloud_folder() -> str:
    if os.name == "nt":
        return os.path.join(os.environ.get("APPDATA", ""), "gcloud")
    return home(".config", "gcloud")


# --- kinds of files -------------------------------------------------------------------------------


def _of_fields(fields: Fields, path: str, scope: str) -> Exchange:
    kinds = {
        "service_account": _service_account,
        "authorized_user": _authorized_user,
        "external_account": _external_account,
        "impersonated_service_account": _impersonating,
    }
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in kinds:
        known = ", ".join(kinds)
        raise ConfigurationError(f"credentials: {path}: its type is none of {known}")
    bearer = yield from kinds[kind](fields, path, scope)
    assert isinstance(bearer, Bearer)
    project = os.environ.get("GOOGLE_CLOUD_QUOTA_PROJECT", "") or fields.get("quota_project_id")
    if isinstance(project, str) and project:
        return msgspec.structs.replace(bearer, headers={"x-goog-user-project": project})
    return bearer


def _service_account(fields: Fields, path: str, scope: str) -> Exchange:
    from wire.auth.jwt import private_key, signed_token

    email, url = text_of(fields, "client_email", path), str(fields.get("token_uri") or _TOKENS)
    key = private_key(Secret.unchecked(text_of(fields, "private_key", path)), path)
    now = int(time.time())
    claims = {"iss": email, "scope": scope, "aud": url, "iat": now, "exp": now + _LIFETIME}
    named = fields.get("private_key_id")
    header = {"kid": named} if isinstance(named, str) else {}
    assertion = signed_token(key, header, claims, "RS256")
    form = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}
    return (yield from _token(url, path, {**form, "assertion": assertion}))


def _authorized_user(fields: Fields, path: str, scope: str) -> Exchange:
    form: dict[str, str | Secret] = {"grant_type": "refresh_token"}
    for key in ("client_id", "client_secret", "refresh_token"):
        form[key] = Secret.unchecked(text_of(fields, key, path))
    return (yield from _token(str(fields.get("token_uri") or _TOKENS), path, form))


def _token(
    url: str,
    path: str,
    form: Mapping[str, str | Secret],
    headers: Mapping[str, str | Secret] = _FORM,
) -> Exchange:
    """Ask a server of tokens."""
    checked_url(url, f"{path}: its token URL")
    secrets = tuple(each for each in form.values() if isinstance(each, Secret))
    shown = {key: each.reveal() if isinstance(each, Secret) else each for key, each in form.items()}
    body = urlencode(shown).encode()
    del shown
    what = "the token endpoint of Google"
    reply = yield Fetch(what, "POST", url, headers, body, secrets)
    return token_of(fields_of(reply, what), what, time.time())


def _impersonating(fields: Fields, path: str, scope: str) -> Exchange:
    source = fields.get("source_credentials")
    if not isinstance(source, dict) or source.get("type") == "impersonated_service_account":
        raise ConfigurationError(f"credentials: {path} has no source_credentials of another type")
    own = yield from _of_fields(source, path, SCOPE)
    url = text_of(fields, "service_account_impersonation_url", path)
    return (yield from _impersonated(url, own, fields.get("delegates"), path, scope, _LIFETIME))


def _impersonated(
    url: str, own: Any, delegates: Any, path: str, scope: str, seconds: int
) -> Exchange:
    """Get a token of another service account with one's own."""
    checked_url(url, f"{path}: service_account_impersonation_url")
    names = delegates if isinstance(delegates, list) else []
    body = msgspec.json.encode(
        {"delegates": names, "scope": scope.split(), "lifetime": f"{seconds}s"}
    )
    token = Secret.unchecked(f"Bearer {own.token.reveal()}")
    headers: dict[str, str | Secret] = {"content-type": "application/json", "authorization": token}
    what = "IAM Service Account Credentials"
    found = fields_of((yield Fetch(what, "POST", url, headers, body)), what)
    bearer = token_of(found, what, time.time(), "accessToken")
    try:
        end = datetime.datetime.fromisoformat(str(found.get("expireTime"))).timestamp()
    except ValueError:
        end = time.time() + seconds
    return msgspec.structs.replace(bearer, expires=end)


def _external_account(fields: Fields, path: str, scope: str) -> Exchange:
    """Exchange a token of another issuer (workload identity federation)."""
    other = fields.get("service_account_impersonation_url")
    subject = yield from _subject_token(fields, path)
    form: dict[str, str | Secret] = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "audience": text_of(fields, "audience", path),
        "scope": SCOPE if other else scope,
        "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "subject_token": subject,
        "subject_token_type": text_of(fields, "subject_token_type", path),
    }
    project = fields.get("workforce_pool_user_project")
    if isinstance(project, str) and project:
        form["options"] = msgspec.json.encode({"userProject": project}).decode()
    headers = dict(_FORM)
    if fields.get("client_id"):
        pair = f"{fields['client_id']}:{text_of(fields, 'client_secret', path)}".encode()
        headers["authorization"] = Secret.unchecked(f"Basic {base64.b64encode(pair).decode()}")
        del pair
    url = str(fields.get("token_url") or "https://sts.googleapis.com/v1/token")
    own = yield from _token(url, path, form, headers)
    if not isinstance(other, str) or not other:
        return own
    options = fields.get("service_account_impersonation")
    seconds = options.get("token_lifetime_seconds") if isinstance(options, dict) else None
    lifetime = seconds if isinstance(seconds, int) else _LIFETIME
    return (yield from _impersonated(other, own, None, path, scope, lifetime))


def _subject_token(fields: Fields, path: str) -> Any:
    """Return the token of the other issuer, from its file or its URL."""
    source = fields.get("credential_source")
    source = source if isinstance(source, dict) else {}
    where = f"{path}: credential_source"
    if file := source.get("file"):
        found = read_token(str(file), "the token file", is_json=True)
    elif url := source.get("url"):
        checked_url(str(url), where, may_be_plain=True)
        given = source.get("headers")
        headers: Any = given if isinstance(given, dict) else {}
        what = "the server of the credential_source"
        reply: Fetched = yield Fetch(what, "GET", str(url), headers)
        if reply.status != 200:
            fields_of(reply, what)
        found = Secret.unchecked(reply.body.decode("utf-8", "replace").strip())
    else:
        raise ConfigurationError(
            f"credentials: {where}: it has neither a file nor a url; give credentials=Callback(...)"
        )
    return _formatted(found, source.get("format"), where)


def _formatted(found: Secret, form: Any, where: str) -> Secret:
    if not isinstance(form, dict) or form.get("type", "text") == "text":
        return found
    name = form.get("subject_token_field_name")
    try:
        token = msgspec.json.decode(found.reveal())[name]
    except (msgspec.DecodeError, KeyError, TypeError, IndexError):
        token = None
    if not isinstance(token, str) or not token:
        raise ConfigurationError(f"credentials: {where}: there is no {name} in its JSON")
    return Secret.unchecked(token)
