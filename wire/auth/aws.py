"""Where AWS's own clients look for credentials, in their order (botocore 1.44, credentials.py)."""

from __future__ import annotations

import datetime
import os
import re
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from wire.auth import aws_config
from wire.auth.aws_config import Profile
from wire.auth.credential import (
    SIGNED,
    Absent,
    Chain,
    Credential,
    Exchange,
    Fetch,
    Fetched,
    Pairs,
    Place,
    SigV4,
    Unsent,
    Work,
    checked_text,
    fields_of,
    refused,
)
from wire.auth.files import home, read_json, read_token
from wire.core.errors import AuthenticationError, ConfigurationError, WireError
from wire.core.hosts import origin_of
from wire.core.secret import Secret

_METADATA = "http://169.254.169.254"
_CONTAINER = "http://169.254.170.2"
_CONTAINER_HOSTS = frozenset({"169.254.170.2", "169.254.170.23", "fd00:ec2::23", "localhost"})
"""The hosts that may be asked over plain http, besides loopback addresses (botocore, utils.py)."""
_SESSION = "wire"
_DEEPEST = 5
"""Profiles in a row, each of which names the next as its source."""


class _AwsSource(Credential, frozen=True):
    before = 900.0
    shown = SIGNED


class AwsEnvironment(_AwsSource, frozen=True):
    """`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`."""

    name = "environment"

    def _exchange(self, place: Place) -> Exchange:
        """Read the variables."""
        key = os.environ.get("AWS_ACCESS_KEY_ID", "").strip()
        secret = Secret.unchecked(os.environ.get("AWS_SECRET_ACCESS_KEY", "").strip())
        if not key and not secret.reveal():
            raise Absent("AWS_ACCESS_KEY_ID is not set")
        if not key or not secret.reveal():
            given, missing = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
            given, missing = (given, missing) if key else (missing, given)
            problem = f"{given} is set, and {missing} is not: set both or none"
            raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
        token = Secret.unchecked(os.environ.get("AWS_SESSION_TOKEN", "").strip())
        return SigV4(key, secret, token if token.reveal() else None)
        yield


class AwsProfile(_AwsSource, frozen=True):
    """A profile of `~/.aws/config` and `~/.aws/credentials`.

    It may have keys, a `credential_process`, a role with a `source_profile` or a web identity, or a
    session of IAM Identity Center that `aws sso login` has begun.
    """

    profile: str = ""
    """By default, that of `AWS_PROFILE`, or `default`."""

    name = "profile"

    def __post_init__(self) -> None:
        checked_text(self, "profile")

    def _exchange(self, place: Place) -> Exchange:
        """Read the profile, and get what it leads to."""
        name, variable = (self.profile, "profile") if self.profile else aws_config.profile_name()
        keys = aws_config.profile(name)
        if keys is None and not variable:
            raise Absent(f"{aws_config.credentials_path()} has no profile default")
        return (yield from _of_profile(name, keys, place, variable, ()))


class AwsWebIdentity(_AwsSource, frozen=True):
    """A role that is assumed with a token in a file, as Kubernetes mounts it."""

    role_arn: str = ""
    """By default, `AWS_ROLE_ARN`."""
    token_file: str = ""
    """By default, `AWS_WEB_IDENTITY_TOKEN_FILE`."""
    session_name: str = ""
    """By default, `AWS_ROLE_SESSION_NAME`, or `wire`."""

    name = "web-identity"

    def __post_init__(self) -> None:
        for field in ("role_arn", "token_file", "session_name"):
            checked_text(self, field)

    def _exchange(self, place: Place) -> Exchange:
        """Assume the role."""
        file = self.token_file or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE", "")
        role = self.role_arn or os.environ.get("AWS_ROLE_ARN", "")
        if not file:
            raise Absent("AWS_WEB_IDENTITY_TOKEN_FILE is not set")
        if not role:
            problem = "AWS_WEB_IDENTITY_TOKEN_FILE needs AWS_ROLE_ARN"
            raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
        session = self.session_name or os.environ.get("AWS_ROLE_SESSION_NAME", "") or _SESSION
        return (yield from _with_web_identity(role, file, session, place))


class AwsContainer(_AwsSource, frozen=True):
    """The credentials of a task of ECS or of a pod of EKS."""

    name = "container"

    def _exchange(self, place: Place) -> Exchange:
        """Ask the server of the container."""
        relative = os.environ.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "")
        full = os.environ.get("AWS_CONTAINER_CREDENTIALS_FULL_URI", "")
        if not relative and not full:
            raise Absent("AWS_CONTAINER_CREDENTIALS_FULL_URI is not set")
        url = f"{_CONTAINER}{relative}" if relative else full
        _check_container(url, place)
        headers: dict[str, str | Secret] = {"accept": "application/json"}
        file = os.environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "")
        if file:
            headers["authorization"] = read_token(file, "the token file")
        elif token := os.environ.get("AWS_CONTAINER_AUTHORIZATION_TOKEN", ""):
            headers["authorization"] = Secret.unchecked(token)
        what = "the container's server of credentials"
        reply = yield Fetch(what, "GET", url, headers, seconds=5.0)
        return _keys_of(fields_of(reply, what), what, token="Token")


class AwsMetadata(_AwsSource, frozen=True):
    """The role of an instance of EC2 (IMDSv2)."""

    name = "metadata"

    def _exchange(self, place: Place) -> Exchange:
        """Ask the metadata server."""
        if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true":
            raise Absent("AWS_EC2_METADATA_DISABLED is true")
        base = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "").rstrip("/") or _METADATA
        what, seconds = "the metadata server of EC2", _metadata_seconds()
        headers: dict[str, str | Secret] = {"x-aws-ec2-metadata-token-ttl-seconds": "21600"}
        try:
            url = f"{base}/latest/api/token"
            reply: Fetched = yield Fetch(what, "PUT", url, headers, seconds=seconds)
        except WireError:
            raise Absent(f"{origin_of(base).host} does not answer") from None
        if reply.status != 200:
            raise Absent(f"{origin_of(base).host} answers {reply.status}")
        headers = {"x-aws-ec2-metadata-token": Secret.unchecked(reply.body.decode("latin-1"))}
        url = f"{base}/latest/meta-data/iam/security-credentials/"
        reply = yield Fetch(what, "GET", url, headers, seconds=seconds)
        if reply.status == 404:
            raise Absent("the instance has no role")
        if reply.status != 200:
            raise refused(reply, what, {})
        role = reply.body.decode("latin-1").split("\n")[0].strip()
        reply = yield Fetch(what, "GET", url + role, headers, seconds=seconds)
        return _keys_of(fields_of(reply, what), what, token="Token")


def aws_chain() -> Chain:
    """Return the chain of AWS's own clients."""
    return Chain(
        "AWS",
        (AwsEnvironment(), AwsWebIdentity(), AwsProfile(), AwsContainer(), AwsMetadata()),
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give credentials=",
    )


def _metadata_seconds() -> float:
    try:
        return min(60.0, max(0.1, float(os.environ.get("AWS_METADATA_SERVICE_TIMEOUT", "1"))))
    except ValueError:
        return 1.0


def _check_container(url: str, place: Place) -> None:
    try:
        origin = origin_of(url)
    except ValueError as problem:
        reason = f"AWS_CONTAINER_CREDENTIALS_FULL_URI: expected {problem}"
        raise ConfigurationError(f"credentials: {reason}", provider=place.provider) from None
    is_near = origin.is_loopback or origin.host.strip("[]") in _CONTAINER_HOSTS
    if origin.scheme != "https" and not is_near:
        reason = f"plain http would send a token to {origin.host}"
        raise ConfigurationError(
            f"credentials: AWS_CONTAINER_CREDENTIALS_FULL_URI: {reason}", provider=place.provider
        )


# --- profiles -------------------------------------------------------------------------------------


def _of_profile(
    name: str, keys: Profile | None, place: Place, variable: str, seen: tuple[str, ...]
) -> Exchange:
    """Get what a profile leads to. `seen` are the profiles that named this one as their source."""
    if keys is None:
        known = ", ".join(aws_config.names()) or "none"
        where = f"{aws_config.config_path()} and {aws_config.credentials_path()}"
        source = f"{variable}: " if variable else ""
        problem = f"{source}there is no profile {name!r} in {where}; there are: {known}"
        raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
    where = f"the profile {name!r}"
    if role := keys.get("role_arn"):
        session = keys.get("role_session_name") or _SESSION
        if file := keys.get("web_identity_token_file"):
            return (yield from _with_web_identity(role, file, session, place))
        return (yield from _with_source(name, keys, role, session, place, seen))
    if "sso_session" in keys or "sso_start_url" in keys:
        return (yield from _with_sso(name, keys, place))
    key, secret = keys.get("aws_access_key_id"), keys.get("aws_secret_access_key")
    if key or secret:
        if not key or not secret:
            missing = "aws_access_key_id" if not key else "aws_secret_access_key"
            problem = f"{where} has no {missing}: it needs both halves"
            raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
        token = keys.get("aws_session_token") or None
        hidden = None if token is None else Secret.unchecked(token)
        return SigV4(key, Secret.unchecked(secret), hidden)
    if process := keys.get("credential_process"):
        return (yield from _of_process(process, where))
    if not variable and not seen:
        raise Absent(f"{where} has no credentials")
    problem = f"{where} has neither keys nor a role, sso_session or credential_process"
    raise ConfigurationError(f"credentials: {problem}", provider=place.provider)


def _with_source(
    name: str, keys: Profile, role: str, session: str, place: Place, seen: tuple[str, ...]
) -> Exchange:
    """Assume a role with the credentials of another profile, or of another source."""
    source, kind = keys.get("source_profile"), keys.get("credential_source")
    where = f"the profile {name!r}"
    sources = {
        "Environment": AwsEnvironment(),
        "EcsContainer": AwsContainer(),
        "Ec2InstanceMetadata": AwsMetadata(),
    }
    if not source and kind not in sources:
        problem = f"{where} has a role_arn, and no source_profile and no credential_source"
        raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
    if keys.get("mfa_serial"):
        problem = f"{where} needs a code of {keys['mfa_serial']}; give credentials=Callback(...)"
        raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
    if source in seen or len(seen) >= _DEEPEST:
        problem = f"{where}: its source_profile leads back to it"
        raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
    if source == name or not source:
        # A profile may be its own source: it has keys besides the role.
        if source:
            rest = {key: each for key, each in keys.items() if key != "role_arn"}
            own = yield from _of_profile(name, rest, place, "source_profile", (*seen, name))
        else:
            try:
                own = yield from sources[str(kind)]._exchange(place)
            except Absent as absent:
                problem = f"{where}: credential_source {kind}: {absent}"
                raise ConfigurationError(f"credentials: {problem}") from None
    else:
        theirs = aws_config.profile(source)
        own = yield from _of_profile(source, theirs, place, "source_profile", (*seen, name))
    assert isinstance(own, SigV4)
    fields = {"RoleArn": role, "RoleSessionName": session}
    fields |= {"ExternalId": keys["external_id"]} if "external_id" in keys else {}
    return (yield from _assumed("AssumeRole", fields, (), own, place))


def _with_web_identity(role: str, file: str, session: str, place: Place) -> Exchange:
    token = read_token(os.path.expanduser(file), "the token file")
    fields = {"RoleArn": role, "RoleSessionName": session, "WebIdentityToken": token.reveal()}
    return (yield from _assumed("AssumeRoleWithWebIdentity", fields, (token,), None, place))


def _assumed(
    action: str,
    fields: Mapping[str, str],
    secrets: tuple[Secret, ...],
    own: SigV4 | None,
    place: Place,
) -> Exchange:
    """Ask STS for the credentials of a role."""
    from urllib.parse import urlencode, urlsplit

    url = os.environ.get("AWS_ENDPOINT_URL_STS", "") or _sts(place.region)
    body = urlencode({"Action": action, "Version": "2011-06-15", **fields}).encode()
    headers: dict[str, str | Secret] = {"content-type": "application/x-www-form-urlencoded"}
    if own is not None:
        parts = urlsplit(url)
        target = parts.path or "/"
        unsent = Unsent("POST", target, _pairs(headers, parts.netloc), body)
        there = Place(place.provider, url, place.region or "us-east-1", "sts")
        signed = own._headed(unsent, there, time.time())
        headers = {name: Secret.unchecked(each) for name, each in signed if name != "host"}
        headers["content-type"] = "application/x-www-form-urlencoded"
    what = f"STS ({action})"
    reply = yield Fetch(what, "POST", url, headers, body, secrets)
    found = {name: _xml(reply.body, name) for name in ("Code", "Message")}
    if reply.status != 200:
        raise refused(reply, what, found)
    names = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")
    return _keys_of({name: _xml(reply.body, name) for name in names}, what)


def _pairs(headers: Mapping[str, Any], host: str) -> Pairs:
    return [("host", host), *((name, str(value)) for name, value in headers.items())]


def _sts(region: str) -> str:
    if not region:
        return "https://sts.amazonaws.com/"
    end = ".cn" if region.startswith("cn-") else ""
    return f"https://sts.{region}.amazonaws.com{end}/"


def _xml(body: bytes, name: str) -> str | None:
    """Return the text of an element that has no attributes; STS has no others."""
    found = re.search(rf"<{name}>([^<]*)</{name}>".encode(), body)
    if found is None:
        return None
    from html import unescape

    return unescape(found[1].decode("utf-8", "replace"))


def _with_sso(name: str, keys: Profile, place: Place) -> Exchange:
    """Get the keys of a role with the token that `aws sso login` has stored."""
    import hashlib

    session = keys.get("sso_session")
    shared = keys if session is None else aws_config.sso_session(session)
    where, login = f"the profile {name!r}", f"run `aws sso login --profile {name}`"
    if shared is None:
        problem = f"{where} names the sso-session {session!r}, which does not exist"
        raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
    needed = {**shared, **keys}
    for key in ("sso_region", "sso_start_url", "sso_account_id", "sso_role_name"):
        if not needed.get(key):
            raise ConfigurationError(f"credentials: {where} has no {key}", provider=place.provider)
    digest = hashlib.sha1((session or needed["sso_start_url"]).encode()).hexdigest()
    path = home(".aws", "sso", "cache", f"{digest}.json")
    try:
        kept = read_json(path, "the token of IAM Identity Center", is_secret=True)
    except FileNotFoundError:
        problem = f"{where} has no session of IAM Identity Center: {login}"
        raise ConfigurationError(f"credentials: {problem}", provider=place.provider) from None
    token, end = kept.get("accessToken"), _seconds(kept.get("expiresAt"))
    if not isinstance(token, str) or (end is not None and end <= time.time()):
        problem = f"the session of IAM Identity Center of {where} has ended: {login}"
        raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
    base = os.environ.get("AWS_ENDPOINT_URL_SSO", "").rstrip("/")
    base = base or f"https://portal.sso.{needed['sso_region']}.amazonaws.com"
    account, role = needed["sso_account_id"], needed["sso_role_name"]
    url = f"{base}/federation/credentials?role_name={role}&account_id={account}"
    what = "IAM Identity Center"
    reply = yield Fetch(what, "GET", url, {"x-amz-sso_bearer_token": Secret.unchecked(token)})
    if reply.status == 401:
        problem = f"the session of IAM Identity Center of {where} has ended: {login}"
        raise AuthenticationError(f"credentials: {problem}", status=401, provider=place.provider)
    found: Any = fields_of(reply, what).get("roleCredentials")
    found = found if isinstance(found, dict) else {}
    names = {"accessKeyId": "AccessKeyId", "secretAccessKey": "SecretAccessKey"}
    names |= {"sessionToken": "SessionToken"}
    ended = found.get("expiration")
    fields: dict[str, Any] = {ours: found.get(theirs) for theirs, ours in names.items()}
    if isinstance(ended, int | float):
        fields["Expiration"] = ended / 1000
    return _keys_of(fields, what)


def _of_process(command: str, where: str) -> Exchange:
    """Run the process of a profile, without a shell."""
    import shlex
    import subprocess

    try:
        words = shlex.split(command)
    except ValueError:
        raise ConfigurationError(
            f"credentials: {where}: credential_process is no command line"
        ) from None

    what = f"credential_process of {where}"

    def run() -> tuple[int, bytes]:
        try:
            done = subprocess.run(words, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.SubprocessError) as cause:
            raise ConfigurationError(f"credentials: {what}: {type(cause).__name__}") from None
        return done.returncode, done.stdout

    status, output = yield Work(run, blocks=True)
    if status != 0:
        raise ConfigurationError(f"credentials: {what} ended with status {status}")
    fields: Any = None
    try:
        fields = msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    del output
    if not isinstance(fields, dict) or fields.get("Version") != 1:
        raise ConfigurationError(f"credentials: {what} wrote no JSON object with Version 1")
    return _keys_of(fields, what)


def _keys_of(fields: Mapping[str, Any], what: str, *, token: str = "SessionToken") -> SigV4:
    """Return the keys in an answer."""
    key, session = fields.get("AccessKeyId"), fields.get(token)
    secret = Secret.unchecked(fields.get("SecretAccessKey"))
    if not isinstance(key, str) or not key or not secret.is_text or not secret.reveal():
        told = fields.get("Message") or fields.get("Code")
        words = f": {told}" if isinstance(told, str) else ""
        raise AuthenticationError(f"credentials: {what} gave no complete keys{words}")
    hidden = Secret.unchecked(session) if isinstance(session, str) and session else None
    return SigV4(key, secret, hidden, _seconds(fields.get("Expiration")))


def _seconds(value: Any) -> float | None:
    """Return a time in seconds since 1970; `None` for what is none."""
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.datetime.fromisoformat(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()
