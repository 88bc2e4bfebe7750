"""Workload identity at Anthropic and OpenAI: the fields that their own clients send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

import wire.errors
from tests.auth.servers import Servers, bearers, body, call, sent_with, told
from tests.http.drive import EVERY, Drive
from wire import Client, openai
from wire.auth import AnthropicIdentity, OpenAIIdentity

TOKEN = {"access_token": "fake-token-0001", "expires_in": 600, "token_type": "Bearer"}
ANTHROPIC = "https://api.anthropic.com/v1/oauth/token"
OPENAI = "https://auth.openai.com/oauth/token"
SYNC = Drive("sync")


@pytest.mark.parametrize("drive", EVERY)
def test_an_identity_of_the_environment_at_anthropic(
    drive: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("fake-identity-token\n")
    monkeypatch.setenv("ANTHROPIC_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("ANTHROPIC_FEDERATION_RULE_ID", "rule-1")
    monkeypatch.setenv("ANTHROPIC_ORGANIZATION_ID", "organization-1")
    monkeypatch.setenv("ANTHROPIC_WORKSPACE_ID", "workspace-1")
    servers = Servers({ANTHROPIC: told(TOKEN)})
    betas = call("claude-opus-4-8").replace(headers={"anthropic-beta": "files-api-2025-04-14"})
    drive.session(
        lambda door: (door.send(betas), door.send(call("claude-opus-4-8"))),
        "anthropic",
        api_key=None,
        http=servers,
        credentials="anthropic",
    )
    (asked,) = servers.asked
    assert body(asked) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "assertion": "fake-identity-token",
        "federation_rule_id": "rule-1",
        "organization_id": "organization-1",
        "workspace_id": "workspace-1",
    }
    assert asked.headers["anthropic-beta"] == "oauth-2025-04-20,oidc-federation-2026-04-01"
    assert bearers(servers) == ["Bearer fake-token-0001"] * 2
    assert [each.headers["anthropic-beta"] for each in servers.sent] == [
        "files-api-2025-04-14,oauth-2025-04-20",
        "oauth-2025-04-20",
    ]
    assert "x-api-key" not in servers.sent[0].headers


def test_a_token_of_the_environment_at_anthropic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "fake-token-0001")
    servers = Servers()
    sent_with(SYNC, servers, "anthropic", credentials="anthropic")
    assert bearers(servers) == ["Bearer fake-token-0001"]


@pytest.mark.parametrize("drive", EVERY)
def test_an_identity_at_openai(drive: Drive) -> None:
    servers = Servers({OPENAI: told(TOKEN)})
    credentials = OpenAIIdentity("provider-1", "account-1", token=lambda: "fake-identity-token")
    drive.session(
        lambda door: door.send(openai.list_models()),
        "openai",
        api_key=None,
        http=servers,
        credentials=credentials,
    )
    assert body(servers.asked[0]) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": "fake-identity-token",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "identity_provider_id": "provider-1",
        "service_account_id": "account-1",
    }
    assert bearers(servers) == ["Bearer fake-token-0001"]


def test_a_refusal_hides_the_token_of_the_other_issuer() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        told = f"{body(request)['assertion']} has no rule"
        return httpx.Response(401, json={"error": "invalid_grant", "error_description": told})

    credentials = AnthropicIdentity("rule-1", "org-1", token=lambda: "fake-identity-token")
    with pytest.raises(wire.errors.AuthenticationError) as refused:
        sent_with(SYNC, Servers({ANTHROPIC: answer}), "anthropic", credentials=credentials)
    assert str(refused.value) == (
        "anthropic: 401 invalid_grant: credentials: the token endpoint of Anthropic refused: "
        "*** has no rule"
    )


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "identity: ANTHROPIC_FEDERATION_RULE_ID and ANTHROPIC_ORGANIZATION_ID and "),
        ({"ANTHROPIC_FEDERATION_RULE_ID": "r"}, "ANTHROPIC_ORGANIZATION_ID and ANTHROPIC_IDENT"),
        ({"ANTHROPIC_IDENTITY_TOKEN": "t"}, "ANTHROPIC_FEDERATION_RULE_ID and ANTHROPIC_ORGAN"),
    ],
    ids=["none", "a rule alone", "a token alone"],
)
def test_half_an_identity(
    variables: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(wire.errors.ConfigurationError) as refused:
        sent_with(SYNC, Servers(), "anthropic", credentials="anthropic")
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: OpenAIIdentity("p", ""), "OpenAIIdentity.account: it is missing"),
        (lambda: OpenAIIdentity("p", "a"), "OpenAIIdentity: it needs token_file= or token="),
        (lambda: OpenAIIdentity("p", "a", "f", kind="x"), "OpenAIIdentity.kind: expected one of"),
        (lambda: OpenAIIdentity("p", "a", "f", url="http://e.example"), "expected https for e"),
        (lambda: OpenAIIdentity("p", "a", token=5), "OpenAIIdentity.token: expected a function"),  # type: ignore[arg-type]
    ],
    ids=["account", "token", "kind", "url", "function"],
)
def test_half_a_value(make: Any, words: str) -> None:
    with pytest.raises(wire.errors.ConfigurationError, match=words):
        make()


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "is empty"), (b"\xff\xfe", "is no text"), (b"a" * 70_000, "so it is no token"),
     (b"a\nb", "token file")],
    ids=["empty", "no text", "large", "lines"],
)  # fmt: skip
def test_a_file_that_has_no_token(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(data)
    credentials = OpenAIIdentity("p", "a", str(path))
    with (
        Client("openai", credentials=credentials, http=Servers()) as client,
        pytest.raises(wire.errors.ConfigurationError, match=words),
    ):
        client.send(openai.list_models())
