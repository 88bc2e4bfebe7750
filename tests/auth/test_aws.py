"""Where credentials of AWS come from, with botocore as the judge of files and of the order."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import botocore.session
import httpx
import pytest

import wire.errors
from tests.auth.servers import Servers, form, sent_with, told
from tests.http.drive import EVERY, Drive
from wire import Client
from wire.auth import AwsProfile, AwsWebIdentity
from wire.auth.chains import chain_of
from wire.testing.emulator.aws_signatures import Signed, refusal

KEYS = {"aws_access_key_id": "fake-access-key", "aws_secret_access_key": "fake-secret-key"}
SYNC = Drive("sync")
DEAD = {"http://169.254.169.254": lambda request: httpx.Response(404)}
LATER = "2199-01-01T00:00:00Z"
OWN = {
    "AccessKeyId": "fake-access-key", "SecretAccessKey": "fake-secret-key",
    "Expiration": LATER,
}  # fmt: skip


def written(home: Path, **files: str) -> None:
    (home / ".aws").mkdir(exist_ok=True)
    for name, text in files.items():
        path = home / ".aws" / name
        path.write_text(text)
        path.chmod(0o600)


def section(name: str, **keys: str) -> str:
    lines = "".join(f"{key} = {value}\n" for key, value in keys.items())
    return f"[{name}]\n{lines}\n"


def key_of(servers: Servers) -> str:
    credential = servers.sent[-1].headers["authorization"].partition("Credential=")[2]
    return credential.partition("/")[0]


@pytest.mark.parametrize("drive", EVERY)
def test_the_environment(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "fake-access-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "fake-secret-key")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "fake-session-token")
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    servers = Servers()
    sent_with(drive, servers, region=None)
    assert key_of(servers) == "fake-access-key"
    assert servers.sent[0].headers["x-amz-security-token"] == "fake-session-token"


@pytest.mark.parametrize("drive", EVERY)
def test_the_profile_of_the_environment(
    drive: Drive, nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(nobody, credentials=section("dev", **KEYS))
    monkeypatch.setenv("AWS_PROFILE", "dev")
    servers = Servers()
    sent_with(drive, servers)
    assert key_of(servers) == "fake-access-key"


PROFILES = {
    "credentials": section("default", **KEYS),
    "credentials and config": section("default", **KEYS),
    "config": section("default", **KEYS),
    "config profile": section("profile default", **KEYS),
}


@pytest.mark.parametrize("name", PROFILES)
def test_botocore_reads_the_same_profile(name: str, nobody: Path) -> None:
    where = {"credentials": PROFILES[name]} if "credentials" in name else {"config": PROFILES[name]}
    if name == "credentials and config":
        where["config"] = section("default", aws_access_key_id="another", region="eu-west-1")
    written(nobody, **where)
    theirs = botocore.session.Session().get_credentials()
    servers = Servers()
    sent_with(SYNC, servers, credentials="aws:profile")
    assert theirs is not None
    assert key_of(servers) == theirs.access_key == "fake-access-key"


def test_the_order_is_that_of_botocore() -> None:
    theirs = botocore.session.Session().get_component("credential_provider").providers
    methods = [each.METHOD for each in theirs]
    marks = {
        "environment": "env",
        "web-identity": "assume-role-with-web-identity",
        "profile": "shared-credentials-file",
        "container": "container-role",
        "metadata": "iam-role",
    }
    assert [each.name for each in chain_of("aws").sources] == list(marks)
    assert sorted(marks.values(), key=methods.index) == list(marks.values())


def test_nothing_is_found() -> None:
    with pytest.raises(wire.errors.ConfigurationError) as refused:
        sent_with(SYNC, Servers(DEAD))
    assert str(refused.value) == (
        "bedrock@invoke: no API key and no credentials of AWS: give api_key= or set "
        "AWS_BEARER_TOKEN_BEDROCK; or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
        "AWS_PROFILE, or give credentials=; looked at environment: AWS_ACCESS_KEY_ID is not set; "
        "web-identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set; profile: "
        f"{os.environ['HOME']}/.aws/credentials has no profile default; container: "
        "AWS_CONTAINER_CREDENTIALS_FULL_URI is not set; metadata: 169.254.169.254 answers 404"
    )


BAD_ENVIRONMENTS: dict[str, tuple[dict[str, str], str]] = {
    "half, no secret": ({"AWS_ACCESS_KEY_ID": "a"}, "AWS_SECRET_ACCESS_KEY is not: set both"),
    "half, no id": ({"AWS_SECRET_ACCESS_KEY": "s"}, "AWS_ACCESS_KEY_ID is not: set both"),
    "no such profile": ({"AWS_PROFILE": "prod"}, "AWS_PROFILE: there is no profile 'prod'"),
    "no role": ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/t"}, "needs AWS_ROLE_ARN"),
    "no token file": (
        {"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere", "AWS_ROLE_ARN": "arn"},
        "the token file /nowhere does not exist",
    ),
    "a foreign container": (
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://evil.example/"},
        "plain http would send a token to evil.example",
    ),
    "no URL of a container": (
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "nothing"},
        "AWS_CONTAINER_CREDENTIALS_FULL_URI: expected",
    ),
}


@pytest.mark.parametrize("name", BAD_ENVIRONMENTS)
def test_a_bad_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables, words = BAD_ENVIRONMENTS[name]
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    servers = Servers(DEAD)
    with pytest.raises(wire.errors.ConfigurationError) as refused:
        sent_with(SYNC, servers)
    assert words in str(refused.value)
    assert servers.sent == servers.asked == []


BAD_PROFILES: dict[str, tuple[str, str]] = {
    "half": (section("profile p", aws_access_key_id="a"), "has no aws_secret_access_key"),
    "other half": (section("profile p", aws_secret_access_key="s"), "has no aws_access_key_id"),
    "empty": (section("profile p", region="r"), "has neither keys nor a role"),
    "no source": (section("profile p", role_arn="arn"), "no source_profile and no credential_sou"),
    "mfa": (
        section("profile p", role_arn="arn", mfa_serial="m", source_profile="q"),
        "a code of m",
    ),
    "no such source": (section("profile p", role_arn="arn", source_profile="q"), "profile 'q'"),
    "a circle": (
        section("profile p", role_arn="arn", source_profile="q")
        + section("profile q", role_arn="arn", source_profile="p"),
        "leads back to it",
    ),
    "no session": (section("profile p", sso_session="s"), "the sso-session 's', which does not"),
    "half a session": (
        section("profile p", sso_session="s") + section("sso-session s", sso_region="r"),
        "has no sso_start_url",
    ),
    "not logged in": (
        section(
            "profile p", sso_start_url="u", sso_region="r", sso_account_id="1", sso_role_name="n"
        ),
        "run `aws sso login --profile p`",
    ),
    "no section": ("fake-secret-key", ".aws/config, line 1 is no section"),
    "no line": ("[profile p]\nfake-secret-key\n", ".aws/config, line 2 is no section"),
    "no process": (section("profile p", credential_process="/nowhere"), "FileNotFoundError"),
    "no command line": (section("profile p", credential_process="'"), "is no command line"),
    "a process that fails": (section("profile p", credential_process="false"), "with status 1"),
    "a process without JSON": (section("profile p", credential_process="echo x"), "no JSON object"),
}


@pytest.mark.parametrize("name", BAD_PROFILES)
def test_a_bad_profile(name: str, nobody: Path) -> None:
    text, words = BAD_PROFILES[name]
    written(nobody, config=text)
    servers = Servers(DEAD)
    with pytest.raises(wire.errors.ConfigurationError) as refused:
        sent_with(SYNC, servers, credentials=AwsProfile("p"))
    assert words in str(refused.value)
    assert "fake-secret-key" not in str(refused.value)
    assert servers.sent == servers.asked == []


def test_a_file_that_others_can_read_is_told(
    nobody: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written(nobody, credentials=section("default", **KEYS))
    path = nobody / ".aws" / "credentials"
    path.chmod(0o644)
    with caplog.at_level(logging.WARNING, "wire"):
        sent_with(SYNC, Servers(), credentials="aws:profile")
    assert caplog.messages == [
        f"credentials: other users can read {path} (mode 0644); chmod 600 keeps it private"
    ]
    caplog.clear()
    path.chmod(0o600)
    sent_with(SYNC, Servers(), credentials="aws:profile")
    assert caplog.messages == []


def test_a_file_that_cannot_be_read(nobody: Path) -> None:
    (nobody / ".aws" / "credentials").mkdir(parents=True)
    with pytest.raises(wire.errors.ConfigurationError, match="credentials: Is a directory"):
        sent_with(SYNC, Servers(), credentials="aws:profile")


@pytest.mark.parametrize("drive", EVERY)
def test_a_process(drive: Drive, nobody: Path) -> None:
    script = nobody / "process.py"
    script.write_text(f"print({json.dumps({'Version': 1, **OWN})!r})")
    command = f'"{sys.executable}" "{script}"'
    written(nobody, config=section("profile p", credential_process=command))
    servers = Servers()
    sent_with(drive, servers, credentials=AwsProfile("p"))
    assert key_of(servers) == "fake-access-key"


ASSUMED = """<AssumeRoleResponse><AssumeRoleResult><Credentials>
<AccessKeyId>fake-access-key</AccessKeyId><SecretAccessKey>fake-secret-key</SecretAccessKey>
<SessionToken>fake&amp;session</SessionToken><Expiration>2199-01-01T00:00:00Z</Expiration>
</Credentials></AssumeRoleResult></AssumeRoleResponse>"""
STS = "https://sts.us-west-2.amazonaws.com/"


def assumed(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, text=ASSUMED)


@pytest.mark.parametrize("drive", EVERY)
def test_a_web_identity(drive: Drive, nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nobody / "token").write_text("fake-identity-token\n")
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(nobody / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/reader")
    servers = Servers({STS: assumed})
    sent_with(drive, servers)
    assert form(servers.asked[0]) == {
        "Action": "AssumeRoleWithWebIdentity",
        "Version": "2011-06-15",
        "RoleArn": "arn:aws:iam::123456789012:role/reader",
        "RoleSessionName": "wire",
        "WebIdentityToken": "fake-identity-token",
    }
    assert "authorization" not in servers.asked[0].headers
    assert servers.sent[0].headers["x-amz-security-token"] == "fake&session"


def test_a_web_identity_that_is_refused(nobody: Path) -> None:
    (nobody / "token").write_text("fake-identity-token")
    error = "<ErrorResponse><Error><Code>ExpiredToken</Code><Message>Token fake-identity-token ha"
    error += "s ended</Message></Error></ErrorResponse>"
    servers = Servers({STS: lambda request: httpx.Response(400, text=error)})
    credentials = AwsWebIdentity("arn", str(nobody / "token"))
    with pytest.raises(wire.errors.AuthenticationError) as refused:
        sent_with(SYNC, servers, credentials=credentials)
    assert str(refused.value) == (
        "bedrock@invoke: 400 ExpiredToken: credentials: STS (AssumeRoleWithWebIdentity) refused: "
        "Token *** has ended"
    )


def test_a_role_with_a_source_profile_is_asked_for_with_a_signature(nobody: Path) -> None:
    role = section("profile p", role_arn="arn:1", source_profile="q", external_id="e")
    written(nobody, config=role, credentials=section("q", **KEYS))

    def answer(request: httpx.Request) -> httpx.Response:
        import time

        parts = urlsplit(str(request.url))
        signed = Signed("POST", parts.path, dict(request.headers), request.content)
        keys = {"fake-access-key": "fake-secret-key"}
        assert refusal(signed, ("sts",), "us-west-2", keys.get, time.time()) is None
        return assumed(request)

    servers = Servers({STS: answer})
    sent_with(SYNC, servers, credentials=AwsProfile("p"))
    assert form(servers.asked[0])["ExternalId"] == "e"


@pytest.mark.parametrize("drive", EVERY)
def test_iam_identity_center(drive: Drive, nobody: Path) -> None:
    written(
        nobody,
        config=section("profile p", sso_session="s", sso_account_id="1", sso_role_name="n")
        + section("sso-session s", sso_region="eu-west-1", sso_start_url="https://u.example"),
    )
    cache = nobody / ".aws" / "sso" / "cache"
    cache.mkdir(parents=True)
    path = cache / f"{hashlib.sha1(b's').hexdigest()}.json"
    path.write_text(json.dumps({"accessToken": "fake-sso-token", "expiresAt": LATER}))
    path.chmod(0o600)
    answer = {
        "roleCredentials": {
            "accessKeyId": "fake-access-key", "secretAccessKey": "fake-secret-key",
            "sessionToken": "fake-session-token", "expiration": 7226582400000,
        }
    }  # fmt: skip
    portal = "https://portal.sso.eu-west-1.amazonaws.com/federation/credentials"
    servers = Servers({portal: told(answer)})
    sent_with(drive, servers, credentials=AwsProfile("p"))
    assert dict(servers.asked[0].url.params) == {"role_name": "n", "account_id": "1"}
    assert servers.asked[0].headers["x-amz-sso_bearer_token"] == "fake-sso-token"
    path.write_text(json.dumps({"accessToken": "fake", "expiresAt": "2020-01-01T00:00:00Z"}))
    with pytest.raises(wire.errors.ConfigurationError, match="has ended: run `aws sso login"):
        sent_with(drive, servers, credentials=AwsProfile("p"))


@pytest.mark.parametrize("drive", EVERY)
def test_a_container(drive: Drive, nobody: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (nobody / "token").write_text("fake-pod-token")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials")
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(nobody / "token"))
    servers = Servers({"http://169.254.170.23/v1/credentials": told({**OWN, "Token": "fake-t"})})
    sent_with(drive, servers)
    assert servers.asked[0].headers["authorization"] == "fake-pod-token"
    assert servers.sent[0].headers["x-amz-security-token"] == "fake-t"


def metadata(request: httpx.Request) -> httpx.Response:
    if request.method == "PUT":
        assert request.headers["x-aws-ec2-metadata-token-ttl-seconds"] == "21600"
        return httpx.Response(200, text="fake-metadata-token")
    assert request.headers["x-aws-ec2-metadata-token"] == "fake-metadata-token"
    if request.url.path.endswith("/security-credentials/"):
        return httpx.Response(200, text="my-role")
    assert request.url.path == "/latest/meta-data/iam/security-credentials/my-role"
    return httpx.Response(200, json={"Code": "Success", **OWN, "Token": "fake-t"})


@pytest.mark.parametrize("drive", EVERY)
def test_the_metadata_server(drive: Drive) -> None:
    servers = Servers({"http://169.254.169.254/": metadata})
    sent_with(drive, servers)
    assert [each.method for each in servers.asked] == ["PUT", "GET", "GET"]
    assert servers.sent[0].headers["x-amz-security-token"] == "fake-t"


def test_a_metadata_server_that_does_not_answer() -> None:
    def nothing(request: httpx.Request) -> httpx.Response:
        assert request.extensions["timeout"]["connect"] <= 1
        raise httpx.ConnectTimeout("")

    with pytest.raises(wire.errors.ConfigurationError, match=r"169\.254\.169\.254 does not answer"):
        sent_with(SYNC, Servers({"http://169.254.169.254/": nothing}))


def test_the_metadata_server_is_not_asked_if_it_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    servers = Servers(DEAD)
    with pytest.raises(wire.errors.ConfigurationError, match="AWS_EC2_METADATA_DISABLED is true"):
        sent_with(SYNC, servers)
    assert servers.asked == []


def test_one_source_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = Servers(DEAD)
    with pytest.raises(wire.errors.ConfigurationError) as refused:
        sent_with(SYNC, servers, credentials="aws:environment")
    assert "looked at environment: AWS_ACCESS_KEY_ID is not set" in str(refused.value)
    assert servers.asked == []


def test_a_key_counts_before_the_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "fake-bedrock-key")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "fake-access-key")
    servers = Servers()
    sent_with(SYNC, servers)
    assert servers.sent[0].headers["authorization"] == "Bearer fake-bedrock-key"


def test_describe_says_where_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "fake-access-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "fake-secret-key")
    from tests.auth.servers import call

    with Client("bedrock@invoke", region="us-west-2", http=Servers()) as client:
        assert client.describe()["credentials"] == "AWS"
        client.send(call())
        assert client.describe()["credentials"] == "AWS (environment)"


def test_credentials_of_the_environment_go_to_no_foreign_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(wire.errors.ConfigurationError, match="is a host of 'openai'"):
        Client("bedrock@invoke", region="us-west-2", base_url="https://api.openai.com/v1")
    with pytest.raises(wire.errors.ConfigurationError, match="expected https"):
        Client("bedrock@invoke", region="us-west-2", base_url="http://llm.example")
