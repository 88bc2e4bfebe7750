"""Credentials of Entra, with msal as the judge of requests and PyJWT of assertions."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import httpx
import jwt
import msal
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

import wire.errors
from tests.auth.servers import Servers, bearers, form, sent_with, told
from tests.http.drive import EVERY, Drive
from wire.auth import EntraCertificate, EntraSecret, EntraWorkload

TOKEN = {"access_token": "fake-token-0001", "expires_in": 3599, "token_type": "Bearer"}
TOKENS = "https://login.microsoftonline.com/my-tenant/oauth2/v2.0/token"
SCOPE = "https://ai.azure.com/.default"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
SYNC = Drive("sync")
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def certificate() -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "wire")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(KEY.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(KEY, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


def private(password: bytes = b"") -> bytes:
    hidden: Any = serialization.NoEncryption()
    if password:
        hidden = serialization.BestAvailableEncryption(password)
    return KEY.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden)


def kept(folder: Path, data: bytes) -> str:
    path = folder / "application.pem"
    path.write_bytes(data)
    path.chmod(0o600)
    return str(path)


def sent(drive: Drive, servers: Servers, **options: Any) -> Any:
    return sent_with(drive, servers, "azure@anthropic", resource="my-resource", **options)


class Judge:
    """What msal sends, as its HTTP client."""

    def __init__(self) -> None:
        self.forms: list[dict[str, str]] = []

    def get(self, url: str, **_: Any) -> Any:
        base = "https://login.microsoftonline.com/my-tenant"
        fields = {"token_endpoint": TOKENS, "authorization_endpoint": f"{base}/authorize",
                  "issuer": f"{base}/v2.0", "tenant_discovery_endpoint": url}  # fmt: skip
        return self._answer(fields)

    def post(self, url: str, data: Any = None, **_: Any) -> Any:
        self.forms.append(dict(data))
        return self._answer(TOKEN)

    def _answer(self, fields: Any) -> Any:
        answer = httpx.Response(200, json=fields)

        class Response:
            status_code, text, headers = 200, answer.text, answer.headers

            def raise_for_status(self) -> None: ...

        return Response()

    def close(self) -> None: ...


def judged(credential: Any) -> dict[str, str]:
    judge = Judge()
    application = msal.ConfidentialClientApplication(
        "my-client",
        client_credential=credential,
        authority="https://login.microsoftonline.com/my-tenant",
        http_client=judge,
        instance_discovery=False,
    )
    assert application.acquire_token_for_client([SCOPE])["access_token"] == "fake-token-0001"
    return {key: each for key, each in judge.forms[0].items() if key not in ("client_info",)}


@pytest.mark.parametrize("drive", EVERY)
def test_a_client_secret(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_TENANT_ID", "my-tenant")
    monkeypatch.setenv("AZURE_CLIENT_ID", "my-client")
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "fake-client-secret")
    servers = Servers({TOKENS: told(TOKEN)})
    sent(drive, servers)
    assert form(servers.asked[0]) == judged("fake-client-secret")
    assert bearers(servers) == ["Bearer fake-token-0001"]
    assert "x-api-key" not in servers.sent[0].headers


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize("password", ["", "fake-password"])
def test_a_certificate(drive: Drive, password: str, tmp_path: Path) -> None:
    path = kept(tmp_path, private(password.encode()) + certificate())
    servers = Servers({TOKENS: told(TOKEN)})
    sent(
        drive,
        servers,
        credentials=EntraCertificate("my-tenant", "my-client", path, password or None),
    )
    both = {"private_key": private().decode(), "public_certificate": certificate().decode()}
    ours, theirs = form(servers.asked[0]), judged(both)
    tokens = [each.pop("client_assertion") for each in (ours, theirs)]
    assert ours == theirs
    headers = [jwt.get_unverified_header(each) for each in tokens]
    assert headers[0]["alg"] == headers[1]["alg"] == "PS256"
    mine, other = (
        jwt.decode(each, KEY.public_key(), algorithms=["PS256"], audience=TOKENS) for each in tokens
    )
    assert {**mine, "nbf": 0, "jti": 0, "iat": 0, "exp": 0} == {
        **other, "nbf": 0, "jti": 0, "iat": 0, "exp": 0,
    }  # fmt: skip
    assert mine["exp"] - mine["iat"] == 600


def test_the_thumbprint_of_a_certificate_is_that_of_msal(tmp_path: Path) -> None:
    pem = certificate()
    path = kept(tmp_path, private() + pem)
    servers = Servers({TOKENS: told(TOKEN)})
    sent(SYNC, servers, credentials=EntraCertificate("my-tenant", "my-client", path))
    theirs = judged({"private_key": private().decode(), "public_certificate": pem.decode()})
    ours = form(servers.asked[0])
    prints = [
        jwt.get_unverified_header(each["client_assertion"])["x5t#S256"] for each in (ours, theirs)
    ]
    assert prints[0] == prints[1].rstrip("=")


@pytest.mark.parametrize("drive", EVERY)
def test_a_workload_identity(drive: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("fake-identity-token")
    monkeypatch.setenv("AZURE_TENANT_ID", "my-tenant")
    monkeypatch.setenv("AZURE_CLIENT_ID", "my-client")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(tmp_path / "token"))
    servers = Servers({TOKENS: told(TOKEN)})
    sent(drive, servers)
    assert form(servers.asked[0]) == {
        "grant_type": "client_credentials", "client_id": "my-client", "scope": SCOPE,
        "client_assertion_type": ASSERTION, "client_assertion": "fake-identity-token",
    }  # fmt: skip


IMDS = "http://169.254.169.254/metadata/identity/oauth2/token"


@pytest.mark.parametrize("drive", EVERY)
def test_a_managed_identity_of_a_machine(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_CLIENT_ID", "my-client")
    answer = {"access_token": "fake-token-0001", "expires_in": "86399", "expires_on": "4102444800"}
    servers = Servers({IMDS: told(answer)})
    sent(drive, servers)
    assert dict(servers.asked[0].url.params) == {
        "api-version": "2018-02-01", "resource": "https://ai.azure.com", "client_id": "my-client",
    }  # fmt: skip
    assert servers.asked[0].headers["metadata"] == "true"
    assert bearers(servers) == ["Bearer fake-token-0001"]


@pytest.mark.parametrize("drive", EVERY)
def test_a_managed_identity_of_app_service(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDENTITY_ENDPOINT", "http://127.0.0.1:41000/msi/token")
    monkeypatch.setenv("IDENTITY_HEADER", "fake-identity-header")
    answer = {"access_token": "fake-token-0001", "expires_on": "4102444800"}
    servers = Servers({"http://127.0.0.1:41000/msi/token": told(answer)})
    sent(drive, servers)
    assert dict(servers.asked[0].url.params) == {
        "api-version": "2019-08-01", "resource": "https://ai.azure.com",
    }  # fmt: skip
    assert servers.asked[0].headers["x-identity-header"] == "fake-identity-header"


def test_nothing_is_found() -> None:
    def nothing(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route")

    with pytest.raises(wire.errors.ConfigurationError) as refused:
        sent(SYNC, Servers({IMDS: nothing}))
    assert str(refused.value) == (
        "azure@anthropic: no API key and no credentials of Entra: give api_key= or set "
        "ANTHROPIC_FOUNDRY_API_KEY; or set AZURE_TENANT_ID, AZURE_CLIENT_ID and "
        "AZURE_CLIENT_SECRET, or give token= or credentials=; looked at environment: neither "
        "AZURE_CLIENT_SECRET nor AZURE_CLIENT_CERTIFICATE_PATH is set; workload-identity: "
        "AZURE_FEDERATED_TOKEN_FILE is not set; managed-identity: 169.254.169.254 does not answer"
    )


BAD: dict[str, tuple[dict[str, str], str]] = {
    "a secret alone": (
        {"AZURE_CLIENT_SECRET": "s"},
        "AZURE_CLIENT_SECRET is set, and AZURE_TENANT_ID and AZURE_CLIENT_ID is not",
    ),
    "a token alone": ({"AZURE_FEDERATED_TOKEN_FILE": "/t"}, "AZURE_FEDERATED_TOKEN_FILE is set"),
    "an endpoint alone": ({"IDENTITY_ENDPOINT": "http://127.0.0.1"}, "IDENTITY_HEADER is not"),
    "a header alone": ({"IDENTITY_HEADER": "s"}, "IDENTITY_ENDPOINT is not"),
    "a plain authority": (
        {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": "s",
         "AZURE_AUTHORITY_HOST": "http://evil.example"},
        "AZURE_AUTHORITY_HOST: expected https for evil.example",
    ),
    "no certificate": (
        {"AZURE_TENANT_ID": "t", "AZURE_CLIENT_ID": "c",
         "AZURE_CLIENT_CERTIFICATE_PATH": "/nowhere"},
        "/nowhere does not exist",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables, words = BAD[name]
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    servers = Servers()
    with pytest.raises(wire.errors.ConfigurationError) as refused:
        sent(SYNC, servers)
    assert words in str(refused.value)
    assert servers.sent == servers.asked == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (certificate(), "has no RSA private key"),
        (private(), "has no certificate"),
        (private(b"fake-password") + certificate(), "has no RSA private key"),
        (b"fake", "has no certificate"),
    ],
    ids=["no key", "no certificate", "no password", "nothing"],
)
def test_half_a_certificate(data: bytes, words: str, tmp_path: Path) -> None:
    credentials = EntraCertificate("my-tenant", "my-client", kept(tmp_path, data))
    with pytest.raises(wire.errors.ConfigurationError, match=words):
        sent(SYNC, Servers(), credentials=credentials)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: EntraSecret("", "c", "s"), "EntraSecret.tenant: it is missing"),
        (lambda: EntraSecret("t", "c", ""), "EntraSecret.secret: it is empty"),
        (lambda: EntraCertificate("t", "c", ""), "EntraCertificate.path: it is missing"),
        (lambda: EntraWorkload(scope=5), "EntraWorkload.scope: expected a str, not int"),  # type: ignore[arg-type]
    ],
    ids=["tenant", "secret", "path", "scope"],
)
def test_half_a_value(make: Any, words: str) -> None:
    with pytest.raises(wire.errors.ConfigurationError, match=words):
        make()
