"""Credentials of Google, with google-auth as the judge of requests and PyJWT of tokens."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import google.oauth2.credentials
import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import identity_pool
from google.oauth2 import service_account

import wire.errors
from tests.auth.servers import Servers, bearers, body, form, sent_with, told
from tests.http.drive import EVERY, Drive
from wire.auth import GoogleFile
from wire.auth.chains import chain_of

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
VERTEX = {"project": "my-project", "location": "global"}
TOKEN = {"access_token": "fake-token-0001", "expires_in": 3600, "token_type": "Bearer"}
TOKENS = "https://oauth2.googleapis.com/token"
STS = "https://sts.googleapis.com/v1/token"
SYNC = Drive("sync")
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
SERVICE = {
    "type": "service_account", "client_email": "me@p.iam.gserviceaccount.com",
    "private_key": PEM, "private_key_id": "id-1", "token_uri": TOKENS,
}  # fmt: skip
USER = {
    "type": "authorized_user", "client_id": "fake-client", "client_secret": "fake-client-secret",
    "refresh_token": "fake-refresh-token",
}  # fmt: skip
IMPERSONATE = (
    "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.c:generateAccessToken"
)


def workload(**source: Any) -> dict[str, Any]:
    return {
        "type": "external_account", "audience": "//iam.googleapis.com/projects/1/pools/2",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": STS,
        "credential_source": source,
    }  # fmt: skip


def kept(folder: Path, fields: Any) -> str:
    path = folder / "google.json"
    path.write_text(fields if isinstance(fields, str) else json.dumps(fields))
    path.chmod(0o600)
    return str(path)


def sent(drive: Drive, servers: Servers, **options: Any) -> Any:
    return sent_with(drive, servers, "anthropic@vertex", **VERTEX, **options)


class Judge:
    """What google-auth sends, as its transport."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers

    def __call__(
        self, url: str, method: str = "GET", body: Any = None, headers: Any = None, **_: Any
    ) -> Any:
        request = httpx.Request(method, url, content=body, headers=headers)
        answer = self.servers.handle_request(request)

        class Response:
            status, data, headers = answer.status_code, answer.content, answer.headers

        return Response


def judged(path: str, servers: Servers) -> list[httpx.Request]:
    """The requests of google-auth for a token of the same file."""
    made = {
        "service_account": service_account.Credentials.from_service_account_file,
        "authorized_user": google.oauth2.credentials.Credentials.from_authorized_user_file,
        "external_account": identity_pool.Credentials.from_file,
    }[json.loads(Path(path).read_text())["type"]]
    made(path, scopes=[SCOPE]).refresh(Judge(servers))
    return servers.asked


@pytest.mark.parametrize("drive", EVERY)
def test_a_service_account(drive: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kept(tmp_path, SERVICE)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
    servers = Servers({TOKENS: told(TOKEN)})
    sent(drive, servers)
    assert bearers(servers) == ["Bearer fake-token-0001"]
    ours, (theirs,) = (
        form(servers.asked[0]),
        map(form, judged(path, Servers({TOKENS: told(TOKEN)}))),
    )
    assert ours["grant_type"] == theirs["grant_type"]
    claims = []
    for each in (ours, theirs):
        token = each["assertion"]
        claims.append(jwt.decode(token, KEY.public_key(), algorithms=["RS256"], audience=TOKENS))
        assert jwt.get_unverified_header(token) == {"alg": "RS256", "typ": "JWT", "kid": "id-1"}
    moments = [{key: each.pop(key) for key in ("iat", "exp")} for each in claims]
    assert claims[0] == claims[1]
    assert moments[0]["exp"] - moments[0]["iat"] == 3600
    assert abs(moments[0]["iat"] - time.time()) < 60


@pytest.mark.parametrize("drive", EVERY)
def test_a_user_of_gcloud(drive: Drive, nobody: Path) -> None:
    folder = nobody / ".config" / "gcloud"
    folder.mkdir(parents=True)
    path = folder / "application_default_credentials.json"
    path.write_text(json.dumps({**USER, "quota_project_id": "p2"}))
    path.chmod(0o600)
    servers = Servers({TOKENS: told(TOKEN)})
    sent(drive, servers)
    ours, (theirs,) = servers.asked[0], judged(str(path), Servers({TOKENS: told(TOKEN)}))
    assert form(ours) == {key: each for key, each in form(theirs).items() if key != "scope"}
    assert servers.sent[0].headers["x-goog-user-project"] == "p2"


@pytest.mark.parametrize("drive", EVERY)
def test_a_workload_identity_in_a_file(drive: Drive, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(json.dumps({"id_token": "fake-identity-token"}))
    source = {"type": "json", "subject_token_field_name": "id_token"}
    fields = workload(file=str(tmp_path / "token"), format=source)
    path = kept(tmp_path, {**fields, "client_id": "fake-client", "client_secret": "fake-cs"})
    servers = Servers({STS: told(TOKEN)})
    sent(drive, servers, credentials=GoogleFile(path))
    ours, (theirs,) = servers.asked[0], judged(path, Servers({STS: told(TOKEN)}))
    assert form(ours) == form(theirs)
    assert ours.headers["authorization"] == theirs.headers["authorization"]
    assert form(ours)["subject_token"] == "fake-identity-token"


@pytest.mark.parametrize("drive", EVERY)
def test_a_workload_identity_of_a_url_that_impersonates(drive: Drive, tmp_path: Path) -> None:
    url = "http://169.254.169.254/identity?audience=a"
    fields = workload(url=url, headers={"x-thing": "1"})
    path = kept(tmp_path, {**fields, "service_account_impersonation_url": IMPERSONATE})

    def answers() -> Servers:
        impersonated = {"accessToken": "fake-token-0002", "expireTime": "2199-01-01T00:00:00Z"}
        return Servers(
            {
                "http://169.254.169.254/": lambda request: httpx.Response(
                    200, text="fake-identity-token"
                ),
                STS: told(TOKEN),
                IMPERSONATE: told(impersonated),
            }
        )

    servers, others = answers(), answers()
    sent(drive, servers, credentials=GoogleFile(path))
    theirs = judged(path, others)
    assert [(each.method, str(each.url)) for each in servers.asked] == [
        (each.method, str(each.url)) for each in theirs
    ]
    assert servers.asked[0].headers["x-thing"] == "1"
    ours_form, theirs_form = form(servers.asked[1]), form(theirs[1])
    assert {**ours_form, "scope": ""} == {**theirs_form, "scope": ""}
    assert body(servers.asked[2]) == {**body(theirs[2]), "delegates": []}
    assert servers.asked[2].headers["authorization"] == "Bearer fake-token-0001"
    assert bearers(servers) == ["Bearer fake-token-0002"]


def test_a_user_who_impersonates(tmp_path: Path) -> None:
    fields = {"type": "impersonated_service_account", "source_credentials": USER,
              "service_account_impersonation_url": IMPERSONATE, "delegates": ["d"]}  # fmt: skip
    path = kept(tmp_path, fields)
    answer = {"accessToken": "fake-token-0002", "expireTime": "2199-01-01T00:00:00Z"}
    servers = Servers({TOKENS: told(TOKEN), IMPERSONATE: told(answer)})
    sent(SYNC, servers, credentials=GoogleFile(path))
    assert body(servers.asked[1]) == {"delegates": ["d"], "scope": [SCOPE], "lifetime": "3600s"}
    assert bearers(servers) == ["Bearer fake-token-0002"]


METADATA = (
    "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"
)


@pytest.mark.parametrize("drive", EVERY)
def test_the_metadata_server(drive: Drive) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["metadata-flavor"] == "Google"
        assert dict(request.url.params) == {"scopes": SCOPE}
        return httpx.Response(200, json=TOKEN, headers={"metadata-flavor": "Google"})

    servers = Servers({METADATA: answer})
    sent(drive, servers)
    assert bearers(servers) == ["Bearer fake-token-0001"]


def test_a_server_that_is_not_that_of_metadata() -> None:
    servers = Servers({METADATA: told(TOKEN)})
    with pytest.raises(wire.errors.ConfigurationError) as refused:
        sent(SYNC, servers)
    assert "no credentials of Google: set GOOGLE_APPLICATION_CREDENTIALS, run" in str(refused.value)
    assert "file: GOOGLE_APPLICATION_CREDENTIALS is not set; gcloud: " in str(refused.value)
    assert "is not the metadata server of Google" in str(refused.value)
    assert servers.sent == []


BAD: dict[str, tuple[Any, str]] = {
    "no JSON": ("{fake", "is no JSON object"),
    "a list": ([], "is no JSON object"),
    "no type": ({"type": "x"}, "its type is none of service_account, authorized_user"),
    "no key": ({**SERVICE, "private_key": ""}, "has no private_key"),
    "a bad key": ({**SERVICE, "private_key": "fake-private-key"}, "no RSA private key that can be"),
    "no e-mail": ({**SERVICE, "client_email": 5}, "has no client_email"),
    "plain http": ({**SERVICE, "token_uri": "http://evil.example/"}, "expected https for evil.ex"),
    "no refresh token": ({**USER, "refresh_token": None}, "has no refresh_token"),
    "no source": (workload(), "has neither a file nor a url"),
    "a program": (workload(executable={"command": "x"}), "has neither a file nor a url"),
    "no token file": (workload(file="/nowhere"), "the token file /nowhere does not exist"),
    "a plain URL": (workload(url="http://evil.example/"), "expected https for evil.example"),
    "nothing to impersonate with": (
        {"type": "impersonated_service_account", "service_account_impersonation_url": IMPERSONATE},
        "has no source_credentials",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_none(name: str, tmp_path: Path) -> None:
    fields, words = BAD[name]
    servers = Servers()
    with pytest.raises(wire.errors.ConfigurationError) as refused:
        sent(SYNC, servers, credentials=GoogleFile(kept(tmp_path, fields)))
    assert words in str(refused.value)
    assert "fake" not in str(refused.value)
    assert servers.sent == servers.asked == []


def test_a_file_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere")
    with pytest.raises(wire.errors.ConfigurationError) as refused:
        sent(SYNC, Servers())
    assert "GOOGLE_APPLICATION_CREDENTIALS: /nowhere does not exist" in str(refused.value)


def test_the_order_is_that_of_google_auth() -> None:
    import inspect

    from google.auth import _default

    source = inspect.getsource(_default.default)
    marks = ["_get_explicit_environ_credentials", "_get_gcloud_sdk_credentials", "_get_gce_cred"]
    assert [source.index(each) for each in marks] == sorted(source.index(each) for each in marks)
    assert [each.name for each in chain_of("google").sources] == ["file", "gcloud", "metadata"]


def test_without_cryptography_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(wire.errors.ConfigurationError, match=r"pip install 'wire-llm\[cloud\]'"):
        sent(SYNC, Servers(), credentials=GoogleFile(kept(tmp_path, SERVICE)))
